/* SPDX-License-Identifier: MIT */

/* file_faults.c - what can be wrong with a file? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"
#include "conformance/faults/kit.h"

/* --------------------------------------------------------------------- files */

SET_MEANWHILE(file_write_goes_beside, RGM_OP_FILE_WRITE, rgm_file_write,
              offset_bytes,
              it->offset_bytes != RGM_FILE_CURSOR ? it->offset_bytes + 1
                                                  : it->offset_bytes)

SET_MEANWHILE(file_read_goes_beside, RGM_OP_FILE_READ, rgm_file_read,
              offset_bytes,
              it->offset_bytes != RGM_FILE_CURSOR ? it->offset_bytes + 1
                                                  : it->offset_bytes)

SET_MEANWHILE(file_read_at_uses_the_cursor, RGM_OP_FILE_READ, rgm_file_read,
              offset_bytes, RGM_FILE_CURSOR)

SET_MEANWHILE(file_read_starts_over, RGM_OP_FILE_READ, rgm_file_read,
              offset_bytes,
              it->offset_bytes == RGM_FILE_CURSOR ? 0 : it->offset_bytes)

ON_COMPLETE(file_read_grows, RGM_OP_FILE_READ, rgm_file_read)
{
    if (*status == 0 && it->vectors_count > 0 && it->count > 0)
        it->count = it->vectors[0].length_bytes;
}

ON_COMPLETE(file_end_is_lost, RGM_OP_FILE_READ, rgm_file_read)
{
    (void)status;
    it->end = false;
}

ON_COMPLETE(file_empty_read_is_an_end, RGM_OP_FILE_READ, rgm_file_read)
{
    if (*status == 0 && it->count == 0)
        it->end = true;
}

SET_MEANWHILE(file_read_forgets_to_retry, RGM_OP_FILE_READ, rgm_file_read, all,
              false)

SET_MEANWHILE(file_write_forgets_to_retry, RGM_OP_FILE_WRITE, rgm_file_write,
              all, false)

SET_MEANWHILE(file_takes_one_vector, RGM_OP_FILE_WRITE, rgm_file_write,
              vectors_count, it->vectors_count > 1 ? 1 : it->vectors_count)

ON_COMPLETE(file_truncates_silently, RGM_OP_FILE_WRITE, rgm_file_write)
{
    it->count = 0;
    for (size_t i = 0; i < it->vectors_count; i++)
        it->count += it->vectors[i].length_bytes;
    *status = 0;
}

ON_COMPLETE(file_read_hides_its_error, RGM_OP_FILE_READ, rgm_file_read)
{
    (void)it;
    *status = 0;
}

ON_COMPLETE(file_read_keeps_the_lease, RGM_OP_FILE_READ, rgm_file_read)
{
    (void)status;
    it->lease = (struct rgm_lease){0};
}

ON_COMPLETE(file_write_syncs_unasked, RGM_OP_FILE_WRITE, rgm_file_write)
{
    (void)status;
    (void)it;
    (void)fsync(-1);
}

SET_MEANWHILE(file_truncate_cuts_one_more, RGM_OP_FILE_TRUNCATE,
              rgm_file_truncate, size_bytes,
              it->size_bytes > 0 ? it->size_bytes - 1 : 0)

SET_MEANWHILE(file_allocation_has_one_mode, RGM_OP_FILE_ALLOCATE,
              rgm_file_allocate, allocation, RGM_FILE_ALLOCATE)

ON_COMPLETE(file_advice_fails, RGM_OP_FILE_ADVISE, rgm_file_advise)
{
    (void)it;
    *status = -EINVAL;
}

SET_MEANWHILE(file_seek_has_one_origin, RGM_OP_FILE_SEEK, rgm_file_seek, whence,
              RGM_FILE_FROM_START)

ON_COMPLETE(file_stat_has_no_size, RGM_OP_FILE_STAT, rgm_file_stat)
{
    (void)status;
    it->size_bytes = 0;
}

ON_COMPLETE(file_stat_has_no_times, RGM_OP_FILE_STAT, rgm_file_stat)
{
    (void)status;
    it->modified_ns = 0;
}

SET_MEANWHILE(file_stat_follows, RGM_OP_FILE_STAT, rgm_file_stat, no_follow,
              false)

SET_MEANWHILE(file_open_forgets_truncate, RGM_OP_FILE_OPEN, rgm_file_open,
              flags, it->flags & ~(uint32_t)RGM_FILE_TRUNCATE)

SET_MEANWHILE(file_open_forgets_exclusive, RGM_OP_FILE_OPEN, rgm_file_open,
              flags, it->flags & ~(uint32_t)RGM_FILE_EXCLUSIVE)

SET_MEANWHILE(file_open_forgets_append, RGM_OP_FILE_OPEN, rgm_file_open, flags,
              it->flags & ~(uint32_t)RGM_FILE_APPEND)

SET_MEANWHILE(file_open_forgets_no_follow, RGM_OP_FILE_OPEN, rgm_file_open,
              flags, it->flags & ~(uint32_t)RGM_FILE_NO_FOLLOW)

SET_MEANWHILE(file_open_has_one_mode, RGM_OP_FILE_OPEN, rgm_file_open, mode,
              0777)

SET_MEANWHILE(path_rename_is_never_exclusive, RGM_OP_PATH, rgm_path, act,
              it->act == RGM_PATH_RENAME_EXCLUSIVE ? RGM_PATH_RENAME : it->act)

ON_COMPLETE(directory_ends_early, RGM_OP_DIRECTORY_READ, rgm_directory_read)
{
    (void)status;
    it->end = true;
    it->count = 0;
}

ON_COMPLETE(file_sync_hides_its_error, RGM_OP_FILE_SYNC, rgm_file_sync)
{
    (void)it;
    *status = 0;
}

ON_COMPLETE(file_sync_is_refused, RGM_OP_FILE_SYNC, rgm_file_sync)
{
    (void)it;
    *status = -EINVAL;
}

ON_COMPLETE(file_open_has_one_error, RGM_OP_FILE_OPEN, rgm_file_open)
{
    (void)it;
    if (*status < 0)
        *status = -EIO;
}

SET_MEANWHILE(file_open_forgets_where, RGM_OP_FILE_OPEN, rgm_file_open, within,
              NULL)

/* ----------------------------------------------------------------------- all */

const struct fault file_faults[] = {
    WRAPS(file_write_goes_beside, FILE_WRITE, file_write_goes_beside),
    WRAPS(file_read_goes_beside, FILE_READ, file_read_goes_beside),
    WRAPS(file_read_at_uses_the_cursor, FILE_READ,
          file_read_at_uses_the_cursor),
    WRAPS(file_read_starts_over, FILE_READ, file_read_starts_over),
    COMPLETES(file_read_grows, FILE_READ),
    COMPLETES(file_end_is_lost, FILE_READ),
    COMPLETES(file_empty_read_is_an_end, FILE_READ),
    WRAPS(file_read_forgets_to_retry, FILE_READ, file_read_forgets_to_retry),
    WRAPS(file_write_forgets_to_retry, FILE_WRITE, file_write_forgets_to_retry),
    WRAPS(file_takes_one_vector, FILE_WRITE, file_takes_one_vector),
    COMPLETES(file_truncates_silently, FILE_WRITE),
    COMPLETES(file_read_hides_its_error, FILE_READ),
    COMPLETES(file_read_keeps_the_lease, FILE_READ),
    COMPLETES(file_write_syncs_unasked, FILE_WRITE),
    DOES_NOTHING(file_sync_is_skipped, FILE_SYNC),
    DOES_NOTHING(file_truncate_is_skipped, FILE_TRUNCATE),
    WRAPS(file_truncate_cuts_one_more, FILE_TRUNCATE,
          file_truncate_cuts_one_more),
    WRAPS(file_allocation_has_one_mode, FILE_ALLOCATE,
          file_allocation_has_one_mode),
    DOES_NOTHING(file_allocation_is_skipped, FILE_ALLOCATE),
    COMPLETES(file_advice_fails, FILE_ADVISE),
    DOES_NOTHING(file_seek_is_skipped, FILE_SEEK),
    WRAPS(file_seek_has_one_origin, FILE_SEEK, file_seek_has_one_origin),
    COMPLETES(file_stat_has_no_size, FILE_STAT),
    COMPLETES(file_stat_has_no_times, FILE_STAT),
    WRAPS(file_stat_follows, FILE_STAT, file_stat_follows),
    WRAPS(file_open_forgets_truncate, FILE_OPEN, file_open_forgets_truncate),
    WRAPS(file_open_forgets_exclusive, FILE_OPEN, file_open_forgets_exclusive),
    WRAPS(file_open_forgets_append, FILE_OPEN, file_open_forgets_append),
    WRAPS(file_open_forgets_no_follow, FILE_OPEN, file_open_forgets_no_follow),
    WRAPS(file_open_has_one_mode, FILE_OPEN, file_open_has_one_mode),
    WRAPS(path_rename_is_never_exclusive, PATH, path_rename_is_never_exclusive),
    DOES_NOTHING(path_does_nothing, PATH),
    COMPLETES(directory_ends_early, DIRECTORY_READ),
    COMPLETES(file_sync_is_refused, FILE_SYNC),
    COMPLETES(file_sync_hides_its_error, FILE_SYNC),
    COMPLETES(file_open_has_one_error, FILE_OPEN),
    WRAPS(file_open_forgets_where, FILE_OPEN, file_open_forgets_where),
    CANCEL_IS_LOST(file_read_cancel_is_not_heard, FILE_READ),
    {.name = NULL},
};
