/* SPDX-License-Identifier: MIT */

/* file_cases.c - what must every provider show of files and directories? */

#include "conformance/file_cases.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conformance/scratch.h"
#include "conformance/shim.h"
#include "conformance/short.h"

STEP(file_read_step, rgm_file_read);
STEP(file_job_step, rgm_file_job);
STEP(directory_step, rgm_directory_read);

/* Where what is left of a transfer goes on. */
static uint64_t
offset_behind(uint64_t offset_bytes, size_t count)
{
    return offset_bytes == RGM_FILE_CURSOR ? RGM_FILE_CURSOR
                                           : offset_bytes + count;
}

/* Writes at an offset or the cursor, in as many transfers as it takes. Returns
 * the count or the error. */
static long
file_write(struct stage *stage, struct rgm_file *file, const char *text,
           uint64_t offset_bytes)
{
    size_t length_bytes = strlen(text);
    size_t count = 0;

    do {
        struct rgm_file_write write;
        int status;

        rgm_file_write_at(&write, file, text + count, length_bytes - count,
                          offset_behind(offset_bytes, count));
        status = rgm_call(stage->runtime, &write);
        if (status < 0)
            return status;
        rgi_check(write.count > 0 || length_bytes == 0);
        count += write.count;
    } while (count < length_bytes);
    return (long)count;
}

/* Reads at an offset or the cursor and compares: that much, and nothing more
 * where there is room for it. */
static bool
reads(struct stage *stage, struct rgm_file *file, const char *text,
      size_t capacity_bytes, uint64_t offset_bytes)
{
    size_t length_bytes = strlen(text);
    size_t count = 0;
    char bytes[64];

    rgi_check(capacity_bytes <= sizeof(bytes));
    do {
        struct rgm_file_read read;

        rgm_file_read_at(&read, file, bytes + count, capacity_bytes - count,
                         offset_behind(offset_bytes, count));
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        if (read.end != (read.count == 0 && capacity_bytes > count))
            return false;
        if (read.count == 0)
            break;
        count += read.count;
    } while (count < length_bytes);
    return count == length_bytes && memcmp(bytes, text, count) == 0;
}

static int
file_seek(struct stage *stage, struct rgm_file *file, int64_t offset_bytes,
          enum rgm_file_whence whence, uint64_t *ret_position)
{
    struct rgm_file_seek seek;
    int status;

    rgm_file_seek(&seek, file, offset_bytes, whence);
    status = rgm_call(stage->runtime, &seek);
    *ret_position = seek.position_bytes;
    return status;
}

/* ------------------------------------------------------- opening, importing */

void
fil_01_append_mode_is_told_apart(struct stage *stage)
{
    struct rgm_file file = {0};
    struct scratch scratch;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    rgi_check(file_open(stage, &file, scratch.path,
                        RGM_FILE_WRITE | RGM_FILE_APPEND) == 0);
    rgi_check(file_write(stage, &file, "X", 0) == -EINVAL);
    rgi_check(scratch_holds(scratch.path, "abc"));
    rgi_check(file_write(stage, &file, "de", RGM_FILE_CURSOR) == 2);
    rgi_check(scratch_holds(scratch.path, "abcde"));
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
fil_01_foreign_descriptors_are_refused(struct stage *stage)
{
    struct rgm_file file = {0};
    struct scratch scratch;
    int pipes[2];
    int fd;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    fd = open(scratch.path, O_WRONLY | O_APPEND);
    rgi_check(file_import(stage, &file, fd) == -EINVAL);
    rgi_check(file.handle.open == 0 && fcntl(fd, F_GETFD) >= 0);
    close(fd);
    rgi_check(file_import(stage, &file, fd) == -EBADF);
    rgi_check(file_import(stage, &file, -1) == -EBADF);
    rgi_check(pipe(pipes) == 0);
    rgi_check(file_import(stage, &file, pipes[0]) == -EINVAL);
    close(pipes[0]);
    close(pipes[1]);
    scratch_close(stage, &scratch);
}

void
fil_01_import_takes_a_file_over(struct stage *stage)
{
    struct rgm_file file = {0};
    struct scratch scratch;
    int fd;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abcdef");
    fd = open(scratch.path, O_RDONLY);
    rgi_check(file_import(stage, &file, fd) == 0);
    rgi_check(reads(stage, &file, "cd", 2, 2));
    rgi_check(file_close(stage, &file) == 0);
    rgi_check(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
    scratch_close(stage, &scratch);
}

void
open_flags_are_checked_and_mean_what_open_means(struct stage *stage)
{
    static const uint32_t bad[] = {
        0,
        RGM_FILE_CREATE,
        RGM_FILE_READ | RGM_FILE_TRUNCATE,
        RGM_FILE_READ | RGM_FILE_APPEND,
        RGM_FILE_READ | RGM_FILE_EXCLUSIVE,
        RGM_FILE_WRITE | RGM_FILE_DIRECTORY,
        RGM_FILE_READ | 0x80000000U,
    };
    struct rgm_file file = {0};
    struct rgm_file second = {0};
    struct scratch scratch;

    scratch_open(stage, &scratch);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        rgi_check(file_open(stage, &file, scratch.path, bad[i]) == -EINVAL);
    rgi_check(file_open(stage, &file, scratch.path, RGM_FILE_READ) == -ENOENT);
    file_open_both(stage, &scratch, &file);
    rgi_check(file_open(stage, &file, scratch.path, RGM_FILE_READ) == -EBUSY);
    rgi_check(file_open(stage, &second, scratch.path,
                        RGM_FILE_WRITE | RGM_FILE_CREATE |
                            RGM_FILE_EXCLUSIVE) == -EEXIST);
    rgi_check(file_write(stage, &file, "abc", 0) == 3);
    rgi_check(file_open(stage, &second, scratch.path,
                        RGM_FILE_WRITE | RGM_FILE_TRUNCATE) == 0);
    rgi_check(scratch_holds(scratch.path, ""));
    rgi_check(file_close(stage, &second) == 0);
    rgi_check(symlink(scratch.path, scratch.other) == 0);
    rgi_check(file_open(stage, &second, scratch.other,
                        RGM_FILE_READ | RGM_FILE_NO_FOLLOW) == -ELOOP);
    rgi_check(file_open(stage, &second, scratch.path,
                        RGM_FILE_READ | RGM_FILE_DIRECTORY) == -ENOTDIR);
    rgi_check(second.handle.open == 0 && second.handle.busy == 0);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* ------------------------------------------------------------- the cursor */

void
fil_02_handles_share_one_cursor(struct stage *stage)
{
    struct rgm_file first = {0};
    struct rgm_file second = {0};
    struct scratch scratch;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abcdefgh");
    rgi_check(file_open(stage, &first, scratch.path, RGM_FILE_READ) == 0);
    rgi_check(file_import(stage, &second,
                          fcntl(scratch_descriptor(scratch.path),
                                F_DUPFD_CLOEXEC, 3)) == 0);
    rgi_check(reads(stage, &first, "ab", 2, RGM_FILE_CURSOR));
    rgi_check(reads(stage, &second, "cd", 2, RGM_FILE_CURSOR));
    rgi_check(reads(stage, &first, "ef", 2, RGM_FILE_CURSOR));
    rgi_check(file_close(stage, &first) == 0);
    rgi_check(reads(stage, &second, "gh", 8, RGM_FILE_CURSOR));
    rgi_check(reads(stage, &second, "", 8, RGM_FILE_CURSOR));
    rgi_check(file_close(stage, &second) == 0);
    scratch_close(stage, &scratch);
}

void
fil_02_seek_moves_it_for_all(struct stage *stage)
{
    struct rgm_file file;
    struct scratch scratch;
    uint64_t position = 7;
    int fd;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abcdefgh");
    file_open_both(stage, &scratch, &file);
    fd = scratch_descriptor(scratch.path);
    rgi_check(file_seek(stage, &file, -3, RGM_FILE_FROM_END, &position) == 0);
    rgi_check(position == 5 && lseek(fd, 0, SEEK_CUR) == 5);
    rgi_check(file_seek(stage, &file, -2, RGM_FILE_FROM_CURSOR, &position) ==
              0);
    rgi_check(position == 3);
    rgi_check(reads(stage, &file, "de", 2, RGM_FILE_CURSOR));
    rgi_check(file_seek(stage, &file, -1, RGM_FILE_FROM_START, &position) ==
              -EINVAL);
    rgi_check(file_seek(stage, &file, 0, (enum rgm_file_whence)3, &position) ==
              -EINVAL);
    rgi_check(lseek(fd, 0, SEEK_CUR) == 5);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
fil_03_positioned_transfers_leave_the_cursor(struct stage *stage)
{
    struct rgm_file file;
    struct scratch scratch;
    int fd;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abcdefgh");
    file_open_both(stage, &scratch, &file);
    fd = scratch_descriptor(scratch.path);
    rgi_check(lseek(fd, 2, SEEK_SET) == 2);
    rgi_check(reads(stage, &file, "ef", 2, 4));
    rgi_check(file_write(stage, &file, "XY", 6) == 2);
    rgi_check(lseek(fd, 0, SEEK_CUR) == 2);
    rgi_check(reads(stage, &file, "cdefXY", 20, RGM_FILE_CURSOR));
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
fil_03_offsets_end_at_the_signed_range(struct stage *stage)
{
    static const struct {
        uint64_t offset_bytes;
        size_t length_bytes;
        int status;
    } table[] = {
        {(uint64_t)INT64_MAX + 1, 0, -EINVAL},
        {UINT64_MAX - 1, 1, -EINVAL},
        {INT64_MAX, 1, -EINVAL},
        {INT64_MAX - 1, 2, -EINVAL},
        {INT64_MAX - 1, 1, 0}, /* nothing is there: the end */
        {0, (size_t)INT64_MAX + 1, -EINVAL},
    };
    struct rgm_file_read read;
    struct rgm_file file;
    struct scratch scratch;
    char bytes[4];

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        rgm_file_read_at(&read, &file, bytes, table[i].length_bytes,
                         table[i].offset_bytes);
        rgi_check(rgm_call(stage->runtime, &read) == table[i].status);
    }
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* Asks two reads at the cursor in one delivery: neither is collected. */
struct two_reads {
    struct file_read_step first;
    struct file_read_step second;
};

static void
begin_two(struct puppet *puppet, void *argument)
{
    struct two_reads *two = argument;

    puppet_begin(puppet, &two->first);
    puppet_begin(puppet, &two->second);
}

void
fil_05_cursor_has_one_user_until_collected(struct stage *stage)
{
    struct two_reads two = {0};
    struct rgm_file file;
    struct scratch scratch;
    char bytes[4] = "";

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abcd");
    file_open_both(stage, &scratch, &file);
    rgm_file_read(&two.first.op, &file, bytes, 1);
    rgm_file_read(&two.second.op, &file, bytes + 1, 1);
    stage_do(stage, begin_two, &two);
    rgi_check(stage_end(stage, &two.second) == -EAGAIN);
    rgi_check(stage_end(stage, &two.first) == 0 && two.first.op.count == 1);
    rgi_check(stage_run(stage, &two.second) == 0 && two.second.op.count == 1);
    rgi_check(memcmp(bytes, "ab", 2) == 0);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* --------------------------------------------------------------- transfers */

#define MANY 64

static void
begin_many(struct puppet *puppet, void *argument)
{
    struct file_read_step *steps = argument;

    for (size_t i = 0; i < MANY; i++)
        puppet_begin(puppet, &steps[i]);
}

void
many_positioned_transfers_at_once(struct stage *stage)
{
    static struct file_read_step steps[MANY];
    static unsigned char bytes[MANY * 512];
    const size_t piece_bytes = short_is_on() ? 2 : 512;
    const size_t length_bytes = MANY * piece_bytes;
    struct rgm_file_write write;
    struct rgm_file file;
    struct scratch scratch;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    pattern_fill(bytes, length_bytes, 0);
    rgm_file_write_all_at(&write, &file, bytes, length_bytes, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count == length_bytes);
    memset(bytes, 0, length_bytes);
    for (size_t i = 0; i < MANY; i++) {
        rgm_file_read_all_at(&steps[i].op, &file, bytes + i * piece_bytes,
                             piece_bytes, i * piece_bytes);
        step_clear(&steps[i]);
    }
    stage_do(stage, begin_many, steps);
    for (size_t i = 0; i < MANY; i++)
        rgi_check(stage_end(stage, &steps[i]) == 0 &&
                  steps[i].op.count == piece_bytes);
    rgi_check(pattern_holds(bytes, length_bytes, 0));
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
vectors_scatter_and_gather(struct stage *stage)
{
    const struct rgm_vector out[] = {{"ab", 2}, {"", 0}, {"cdef", 4}};
    char first[3] = "";
    char second[5] = "";
    const struct rgm_vector in[] = {{first, 2}, {NULL, 0}, {second, 4}};
    const struct rgm_vector bad[] = {{NULL, 1}};
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file file;
    struct scratch scratch;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    rgm_file_write_vectors(&write, &file, out, 3, 1);
    write.all = true;
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 6);
    rgm_file_read_vectors(&read, &file, in, 3, 1);
    read.all = true;
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 6);
    rgi_check(strcmp(first, "ab") == 0 && strcmp(second, "cdef") == 0);
    rgm_file_read_vectors(&read, &file, bad, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgm_file_read_vectors(&read, &file, NULL, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* More pieces than go to the system at once: one transfer is short. */
#define PIECES (2 * RGM_VECTORS_MAX + 3)

void
all_forms_finish_what_is_short(struct stage *stage)
{
    struct rgm_vector pieces[PIECES];
    unsigned char bytes[PIECES];
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file file;
    struct scratch scratch;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    pattern_fill(bytes, sizeof(bytes), 0);
    for (size_t i = 0; i < PIECES; i++)
        pieces[i] = (struct rgm_vector){&bytes[i], 1};
    rgm_file_write_vectors(&write, &file, pieces, PIECES, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count == (short_is_on() ? 1 : RGM_VECTORS_MAX));
    write.all = true; /* asked again, of the same record */
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count == PIECES);
    memset(bytes, 0, sizeof(bytes));
    rgm_file_read_vectors(&read, &file, pieces, PIECES, 0);
    read.all = true;
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == PIECES && !read.end);
    rgi_check(pattern_holds(bytes, PIECES, 0));
    rgm_file_read_all_at(&read, &file, bytes, PIECES, 3);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == PIECES - 3 && read.end);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
empty_transfers_are_no_ends(struct stage *stage)
{
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file file;
    struct scratch scratch;
    char byte = 0;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    rgm_file_read(&read, &file, &byte, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 0 && !read.end);
    rgm_file_write(&write, &file, &byte, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 0);
    rgm_file_read(&read, &file, &byte, 1);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 0 && read.end);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
fil_13_short_reads_ends_and_errors_pass(struct stage *stage)
{
    struct rgm_file directory = {0};
    struct rgm_file_read read;
    struct rgm_file file = {0};
    struct scratch scratch;
    char bytes[16];

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    rgi_check(file_open(stage, &file, scratch.path, RGM_FILE_READ) == 0);
    rgi_check(reads(stage, &file, "bc", 10, 1));
    rgi_check(truncate(scratch.path, 1) == 0);
    rgi_check(reads(stage, &file, "", 10, 1));
    rgi_check(truncate(scratch.path, 100) == 0); /* sparse */
    rgm_file_read_all_at(&read, &file, bytes, sizeof(bytes), 50);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 16);
    for (size_t i = 0; i < sizeof(bytes); i++)
        rgi_check(bytes[i] == 0);
    rgi_check(file_write(stage, &file, "x", 0) == -EBADF);
    rgi_check(file_open(stage, &directory, scratch.directory,
                        RGM_FILE_READ | RGM_FILE_DIRECTORY) == 0);
    rgm_file_read_at(&read, &directory, bytes, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == -EISDIR);
    rgi_check(file_close(stage, &directory) == 0);
    rgi_check(file_close(stage, &file) == 0);
    rgm_file_read_at(&read, &file, bytes, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == -EBADF);
    scratch_close(stage, &scratch);
}

/* A lease that was asked with, wherever the road ended. */
static void
lease_is_back(const struct rgm_lease *gone, struct rgm_lease *back,
              const void *data)
{
    rgi_check(gone->data == NULL && back->data == data);
    rgm_lease_drop(back);
}

void
fil_10_lease_comes_back_on_every_path(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 64);
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file file = {0};
    struct rgm_lease lease;
    struct scratch scratch;
    const void *data;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    file_open_both(stage, &scratch, &file);
    for (int round = 0; round < 4; round++) {
        rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
        data = lease.data;
        switch (round) {
        case 0: /* success */
            rgm_file_read_lease(&read, &file, &lease, 0);
            rgi_check(rgm_call(stage->runtime, &read) == 0);
            rgi_check(read.count > 0 && read.count <= 3);
            rgi_check(memcmp(data, "abc", read.count) == 0);
            break;
        case 1: /* refused before it began */
            rgm_file_read_lease(&read, &file, &lease, UINT64_MAX - 5);
            rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
            break;
        case 2: /* more than the lease has */
            rgm_file_write_lease(&write, &file, &lease, 65, 0);
            rgi_check(rgm_call(stage->runtime, &write) == -EINVAL);
            read.lease = write.lease;
            break;
        default: /* the system's error */
            rgi_check(file_close(stage, &file) == 0);
            rgi_check(file_open(stage, &file, scratch.path, RGM_FILE_READ) ==
                      0);
            rgm_file_write_lease(&write, &file, &lease, 3, 0);
            rgi_check(rgm_call(stage->runtime, &write) == -EBADF);
            read.lease = write.lease;
        }
        lease_is_back(&lease, &read.lease, data);
    }
    rgi_check(file_close(stage, &file) == 0);
    rgm_pool_destroy(pool);
    scratch_close(stage, &scratch);
}

/* ------------------------------------------------------------ sync, metadata */

void
fil_09_sync_only_when_asked(struct stage *stage)
{
    struct rgm_file_sync sync;
    struct rgm_file directory = {0};
    struct rgm_file file;
    struct scratch scratch;
    unsigned before = shim_syncs();

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    rgi_check(file_write(stage, &file, "abc", 0) == 3);
    rgi_check(shim_syncs() == before);
    rgm_file_datasync(&sync, &file);
    rgi_check(rgm_call(stage->runtime, &sync) == 0);
    rgm_file_sync(&sync, &file);
    rgi_check(rgm_call(stage->runtime, &sync) == 0);
    rgi_check(file_open(stage, &directory, scratch.directory,
                        RGM_FILE_READ | RGM_FILE_DIRECTORY) == 0);
    rgm_file_sync(&sync, &directory);
    rgi_check(rgm_call(stage->runtime, &sync) == 0);
    /* A ring's go to the kernel by another road, and as few. */
    if (stage_is_shimmed(stage))
        rgi_check(shim_syncs() == before + 3);
    else
        rgi_check(shim_syncs() == before);
    rgi_check(file_close(stage, &directory) == 0);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

static int64_t
ns_of(struct timespec time)
{
    return (int64_t)time.tv_sec * (int64_t)RGM_NS_PER_S + time.tv_nsec;
}

static void
is_what_fstat_says(const struct rgm_file_stat *seen, const struct stat *about)
{
    rgi_check(seen->size_bytes == (uint64_t)about->st_size);
    rgi_check(seen->stored_bytes == (uint64_t)about->st_blocks * 512);
    rgi_check(seen->mode == (about->st_mode & 07777));
    rgi_check(seen->links == about->st_nlink && seen->inode == about->st_ino);
    rgi_check(seen->modified_ns == ns_of(about->st_mtim));
    rgi_check(seen->changed_ns == ns_of(about->st_ctim));
}

void
fil_14_metadata_is_what_fstat_says(struct stage *stage)
{
    struct rgm_file_stat seen;
    struct rgm_file file;
    struct scratch scratch;
    struct stat about;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    file_open_both(stage, &scratch, &file);
    rgi_check(stat(scratch.path, &about) == 0);
    rgm_file_stat(&seen, &file);
    rgi_check(rgm_call(stage->runtime, &seen) == 0);
    is_what_fstat_says(&seen, &about);
    rgi_check(seen.kind == RGM_FILE_KIND_REGULAR);
    rgm_path_stat(&seen, HERE, scratch.directory, false);
    rgi_check(stat(scratch.directory, &about) == 0);
    rgi_check(rgm_call(stage->runtime, &seen) == 0);
    is_what_fstat_says(&seen, &about);
    rgi_check(seen.kind == RGM_FILE_KIND_DIRECTORY);
    rgi_check(symlink("nowhere", scratch.other) == 0);
    rgm_path_stat(&seen, HERE, scratch.other, false);
    rgi_check(rgm_call(stage->runtime, &seen) == -ENOENT);
    rgm_path_stat(&seen, HERE, scratch.other, true);
    rgi_check(rgm_call(stage->runtime, &seen) == 0);
    rgi_check(seen.kind == RGM_FILE_KIND_LINK);
    rgm_path_stat(&seen, HERE, NULL, false);
    rgi_check(rgm_call(stage->runtime, &seen) == -EINVAL);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
fil_14_truncate_both_ways(struct stage *stage)
{
    struct rgm_file_truncate truncate;
    struct rgm_file file;
    struct scratch scratch;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abcdef");
    file_open_both(stage, &scratch, &file);
    rgm_file_truncate(&truncate, &file, 2);
    rgi_check(rgm_call(stage->runtime, &truncate) == 0);
    rgi_check(scratch_holds(scratch.path, "ab"));
    rgm_file_truncate(&truncate, &file, 4);
    rgi_check(rgm_call(stage->runtime, &truncate) == 0);
    rgi_check(reads(stage, &file, "ab", 2, 0));
    {
        struct rgm_file_read read;
        char bytes[4] = "xxxx";

        rgm_file_read_all_at(&read, &file, bytes, 4, 2);
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        rgi_check(read.count == 2 && bytes[0] == 0 && bytes[1] == 0);
    }
    rgm_file_truncate(&truncate, &file, UINT64_MAX);
    rgi_check(rgm_call(stage->runtime, &truncate) == -EINVAL);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* Each mode against the plain call, on a twin. */
void
fil_15_allocation_modes_are_told_apart(struct stage *stage)
{
    static const struct {
        enum rgm_file_allocation ours;
        int system;
    } modes[] = {
        {RGM_FILE_ALLOCATE, 0},
        {RGM_FILE_ALLOCATE_KEEP_SIZE, FALLOC_FL_KEEP_SIZE},
        {RGM_FILE_PUNCH_HOLE, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE},
        {RGM_FILE_ZERO_RANGE, FALLOC_FL_ZERO_RANGE},
        {RGM_FILE_COLLAPSE_RANGE, FALLOC_FL_COLLAPSE_RANGE},
        {RGM_FILE_INSERT_RANGE, FALLOC_FL_INSERT_RANGE},
    };
    struct rgm_file_allocate allocate;
    struct rgm_file file;
    struct scratch scratch;

    scratch_open(stage, &scratch);
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct stat ours;
        struct stat twin;
        int status;
        int fd;

        scratch_put(scratch.path, "abc");
        scratch_put(scratch.other, "abc");
        rgi_check(truncate(scratch.path, 65536) == 0);
        rgi_check(truncate(scratch.other, 65536) == 0);
        file_open_both(stage, &scratch, &file);
        fd = open(scratch.other, O_RDWR);
        status = fallocate(fd, modes[i].system, 4096, 8192) < 0 ? -errno : 0;
        rgm_file_allocate(&allocate, &file, modes[i].ours, 4096, 8192);
        rgi_check(rgm_call(stage->runtime, &allocate) == status);
        rgi_check(stat(scratch.path, &ours) == 0 && fstat(fd, &twin) == 0);
        rgi_check(ours.st_size == twin.st_size);
        rgi_check(ours.st_blocks == twin.st_blocks);
        close(fd);
        rgi_check(file_close(stage, &file) == 0);
        (void)unlink(scratch.path);
    }
    file_open_both(stage, &scratch, &file);
    rgm_file_allocate(&allocate, &file, RGM_FILE_ALLOCATE, 0, 0);
    rgi_check(rgm_call(stage->runtime, &allocate) == -EINVAL);
    rgm_file_allocate(&allocate, &file, (enum rgm_file_allocation)9, 0, 1);
    rgi_check(rgm_call(stage->runtime, &allocate) == -EINVAL);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
fil_16_advice_needs_no_room(struct stage *stage)
{
    struct read_step waits[3] = {0};
    struct rgm_file_advise advise;
    struct rgm_stream near;
    struct rgm_file file;
    struct scratch scratch;
    char bytes[3];
    int peer;

    stage->options.in_flight_max = 2;
    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    file_open_both(stage, &scratch, &file);
    peer = stage_pair(stage, &near);
    for (int i = 0; i < 3; i++) { /* all places are taken, and one waits */
        rgm_stream_read(&waits[i].op, &near, &bytes[i], 1);
        stage_begin(stage, &waits[i]);
    }
    for (uint32_t advice = 0; advice <= RGM_FILE_ADVISE_ONCE; advice++) {
        rgm_file_advise(&advise, &file, (enum rgm_file_advice)advice, 0, 0);
        rgi_check(rgm_call(stage->runtime, &advise) == 0);
    }
    rgm_file_advise(&advise, &file, (enum rgm_file_advice)6, 0, 0);
    rgi_check(rgm_call(stage->runtime, &advise) == -EINVAL);
    rgi_check(scratch_holds(scratch.path, "abc"));
    peer_send(peer, "xyz", 3);
    for (int i = 0; i < 3; i++)
        rgi_check(stage_end(stage, &waits[i]) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* Asks a read and, while it is out, the close. */
struct read_and_close {
    struct file_read_step read;
    struct close_step close;
};

static void
begin_read_and_close(struct puppet *puppet, void *argument)
{
    struct read_and_close *both = argument;

    puppet_begin(puppet, &both->read);
    puppet_begin(puppet, &both->close);
}

void
fil_17_close_needs_sole_use(struct stage *stage)
{
    struct read_and_close both = {0};
    struct rgm_file file;
    struct scratch scratch;
    char byte;
    int fd;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "a");
    file_open_both(stage, &scratch, &file);
    fd = scratch_descriptor(scratch.path);
    rgm_file_read_at(&both.read.op, &file, &byte, 1, 0);
    rgm_file_close(&both.close.op, &file);
    stage_do(stage, begin_read_and_close, &both);
    rgi_check(stage_end(stage, &both.close) == -EBUSY);
    rgi_check(stage_end(stage, &both.read) == 0 && byte == 'a');
    rgi_check(file.handle.open == 1 && fcntl(fd, F_GETFD) >= 0);
    rgi_check(stage_run(stage, &both.close) == 0);
    rgi_check(fcntl(fd, F_GETFD) < 0);
    rgi_check(file_close(stage, &file) == -EBADF); /* once */
    scratch_close(stage, &scratch);
}

/* --------------------------------------------------------------------- jobs */

static int fault_destroyed;

static void
fault_destroy(void *fault)
{
    rgi_check(*(int *)fault == 7);
    fault_destroyed++;
}

/* What goes wrong is told as a fault, and what it returns is no status. */
static int64_t
faulty_run(struct rgm_job *job)
{
    static int fault = 7;
    const struct rgm_file_job *with = (const void *)job;

    rgi_check(pwrite(with->descriptor, "job", 3, 0) == 3);
    rgm_job_fault(job, &fault, fault_destroy);
    return -EIO;
}

static int64_t
length_run(struct rgm_job *job)
{
    const struct rgm_file_job *with = (const void *)job;

    return lseek(with->descriptor, 0, SEEK_END);
}

void
fil_18_fault_of_a_file_job_reaches_its_asker(struct stage *stage)
{
    struct file_job_step job = {0};
    struct rgm_file file;
    struct scratch scratch;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    fault_destroyed = 0;
    rgm_file_job(&job.op, &file, faulty_run);
    rgi_check(stage_run(stage, &job) == 0);
    rgi_check(job.op.job.ran && job.op.job.result == -EIO);
    rgi_check(job.op.job.fault != NULL && *(int *)job.op.job.fault == 7);
    rgi_check(file.handle.busy == 0 && file.sync_status == 0);
    rgm_job_fault_drop(&job.op.job);
    rgi_check(fault_destroyed == 1);
    rgi_check(scratch_holds(scratch.path, "job"));
    rgm_file_job(&job.op, &file, length_run); /* the file is as good as ever */
    rgi_check(stage_run(stage, &job) == 0 && job.op.job.result == 3);
    rgm_file_job(&job.op, &file, NULL);
    rgi_check(stage_run(stage, &job) == -EINVAL);
    rgi_check(file_close(stage, &file) == 0);
    rgm_file_job(&job.op, &file, length_run);
    rgi_check(stage_run(stage, &job) == -EBADF);
    scratch_close(stage, &scratch);
}

/* Asks the read and, while it is out, another and the close. */
struct read_twice {
    struct directory_step first;
    struct directory_step second;
    struct close_step close;
};

static void
begin_twice(struct puppet *puppet, void *argument)
{
    struct read_twice *twice = argument;

    puppet_begin(puppet, &twice->first);
    puppet_begin(puppet, &twice->second);
    puppet_begin(puppet, &twice->close);
}

void
directories_are_read_by_a_thread_where_the_provider_cannot(struct stage *stage)
{
    static _Alignas(8) char memory[2][RGM_DIRECTORY_ROOM_LEAST];
    bool lent = (stage->class->kinds >> RGM_OP_DIRECTORY_READ & 1) == 0;
    struct read_twice twice = {0};
    struct rgm_file directory = {0};
    struct scratch scratch;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "");
    rgi_check(file_open(stage, &directory, scratch.directory,
                        RGM_FILE_READ | RGM_FILE_DIRECTORY) == 0);
    rgm_directory_read(&twice.first.op, &directory, memory[0],
                       sizeof(memory[0]));
    rgm_directory_read(&twice.second.op, &directory, memory[1],
                       sizeof(memory[1]));
    rgm_file_close(&twice.close.op, &directory);
    stage_do(stage, begin_twice, &twice);
    rgi_check(stage_end(stage, &twice.close) == -EBUSY);
    rgi_check(stage_end(stage, &twice.second) == -EAGAIN);
    rgi_check(stage_end(stage, &twice.first) == 0);
    rgi_check(twice.first.op.count > 0 && twice.first.op.job.ran == lent);
    rgi_check(stage_run(stage, &twice.second) == 0 && twice.second.op.end);
    rgi_check(file_close(stage, &directory) == 0);
    scratch_put(scratch.other, "");
    rgi_check(file_open(stage, &directory, scratch.other, RGM_FILE_READ) == 0);
    rgm_directory_read(&twice.first.op, &directory, memory[0],
                       sizeof(memory[0]));
    rgi_check(stage_run(stage, &twice.first) == -ENOTDIR);
    rgi_check(file_close(stage, &directory) == 0);
    scratch_close(stage, &scratch);
}

/* ------------------------------------------------------------- field faults */

static int
preallocate(struct stage *stage, struct rgm_file *file,
            enum rgm_file_allocation how, uint64_t length_bytes)
{
    struct rgm_file_allocate allocate;

    rgm_file_allocate(&allocate, file, how, 0, length_bytes);
    return rgm_call(stage->runtime, &allocate);
}

void
field_b76_preallocating_keeps_what_is_there(struct stage *stage)
{
    static const char text[] = "what was there";
    struct rgm_file file;
    struct scratch scratch;
    struct stat about;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    scratch_put(scratch.path, text);
    rgi_check(preallocate(stage, &file, RGM_FILE_ALLOCATE_KEEP_SIZE, 1 << 20) ==
              0);
    rgi_check(scratch_holds(scratch.path, text)); /* and its size */
    rgi_check(stat(scratch.path, &about) == 0);
    rgi_check(about.st_blocks * 512 >= 1 << 20);
    rgi_check(preallocate(stage, &file, RGM_FILE_ALLOCATE, 4) == 0);
    rgi_check(scratch_holds(scratch.path, text)); /* never shorter */
    rgi_check(preallocate(stage, &file, RGM_FILE_ALLOCATE, 1 << 21) == 0);
    rgi_check(reads(stage, &file, text, sizeof(text) - 1, 0));
    rgi_check(stat(scratch.path, &about) == 0 && about.st_size == 1 << 21);
    rgi_check(file_close(stage, &file) == 0);
    /* One whose file system has no such thing: told, and nothing is written
     * in its place (which this file would refuse, and say so). */
    rgi_check(file_open(stage, &file, "/proc/self/oom_score_adj",
                        RGM_FILE_READ | RGM_FILE_WRITE) == 0);
    rgi_check(preallocate(stage, &file, RGM_FILE_ALLOCATE, 4096) ==
              -EOPNOTSUPP);
    rgi_check(preallocate(stage, &file, RGM_FILE_ALLOCATE_KEEP_SIZE, 4096) ==
              -EOPNOTSUPP);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* Lets the next sync fail: the system's own call where it can be seen. */
static void
fail_next(struct puppet *puppet, void *argument)
{
    struct spy *spy = spy_of(puppet->number);

    (void)argument;
    spy->answers = true;
    spy->answer = -EIO;
}

static void
count_syncs(struct puppet *puppet, void *argument)
{
    *(uint64_t *)argument = spy_of(puppet->number)->submits[RGM_OP_FILE_SYNC];
}

static int
sync_of(struct stage *stage, struct rgm_file *file, bool data_only)
{
    struct rgm_file_sync sync;

    if (data_only)
        rgm_file_datasync(&sync, file);
    else
        rgm_file_sync(&sync, file);
    rgi_check(sync.file == file); /* leads to its name */
    return rgm_call(stage->runtime, &sync);
}

void
field_b77_failed_sync_is_remembered_until_acknowledged(struct stage *stage)
{
    struct rgm_file other = {0};
    struct rgm_file file;
    struct scratch scratch;
    uint64_t before = 0;
    uint64_t after = 0;
    char name[128];

    stage->spied = true;
    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    rgi_check(file_write(stage, &file, "lost", 0) == 4);
    if (stage_is_shimmed(stage))
        shim_sync_fail(scratch_descriptor(scratch.path), EIO);
    else
        stage_do(stage, fail_next, NULL);
    rgi_check(sync_of(stage, &file, false) == -EIO);
    rgi_check(rgm_file_name(&file, name, sizeof(name)) ==
              (int)strlen(scratch.path));
    rgi_check(strcmp(name, scratch.path) == 0);
    /* Somebody else's sync, by a handle of its own, is its own. */
    rgi_check(file_open(stage, &other, scratch.path, RGM_FILE_WRITE) == 0);
    rgi_check(sync_of(stage, &other, false) == 0);
    stage_do(stage, count_syncs, &before);
    for (int round = 0; round < 4; round++)
        rgi_check(sync_of(stage, &file, round % 2 == 0) == -EIO);
    stage_do(stage, count_syncs, &after);
    rgi_check(after == before); /* the system would say that all is well */
    rgi_check(rgm_file_acknowledge(&file) == -EIO);
    rgi_check(rgm_file_acknowledge(&file) == 0);
    rgi_check(sync_of(stage, &file, true) == 0);
    stage_do(stage, count_syncs, &after);
    rgi_check(after == before + 1);
    rgi_check(file_close(stage, &other) == 0);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

void
names_of_files_are_what_the_system_says(struct stage *stage)
{
    struct rgm_file file = {0};
    struct scratch scratch;
    char name[128] = "x";

    scratch_open(stage, &scratch);
    rgi_check(rgm_file_name(&file, name, sizeof(name)) == -EBADF);
    rgi_check(name[0] == '\0');
    file_open_both(stage, &scratch, &file);
    rgi_check(rgm_file_name(&file, name, strlen(scratch.path)) == -ENOSPC);
    rgi_check(name[0] == '\0');
    rgi_check(rgm_file_name(&file, name, strlen(scratch.path) + 1) ==
              (int)strlen(scratch.path));
    rgi_check(rename(scratch.path, scratch.other) == 0);
    rgi_check(rgm_file_name(&file, name, sizeof(name)) > 0);
    rgi_check(strcmp(name, scratch.other) == 0);
    rgi_check(file_close(stage, &file) == 0);
    rgi_check(rgm_file_name(&file, name, sizeof(name)) == -EBADF);
    scratch_close(stage, &scratch);
}

/* ------------------------------------------------------------------- a copy */

#define COPY_CHUNK ((size_t)65536)

/* Two leases go round: filled from the source, emptied into the copy. */
struct copier {
    struct puppet *puppet;
    struct rgm_file *from;
    struct rgm_file *to;
    struct lane {
        struct rgm_file_read read;
        struct rgm_file_write write;
        struct rgm_lease lease;
    } lanes[2];
    uint64_t next_bytes;
    uint64_t copied_bytes;
    uint32_t busy;
    bool over; /* under the stage's lock */
};

static __thread struct copier *copier_here;

static void copy_more(struct copier *copier, struct lane *lane);

static void
copy_written(struct rgm_actor *self, struct rgm_request *request)
{
    struct copier *copier = copier_here;
    struct rgm_file_write *write = (struct rgm_file_write *)(void *)request;
    struct lane *lane = &copier->lanes[write != &copier->lanes[0].write];

    (void)self;
    rgi_check(rgm_status(write) == 0);
    copier->copied_bytes += write->count;
    lane->lease = write->lease;
    copy_more(copier, lane);
}

static void
copy_end(struct copier *copier, struct lane *lane)
{
    struct stage *stage = copier->puppet->stage;

    rgm_lease_drop(&lane->lease);
    if (--copier->busy > 0)
        return;
    pthread_mutex_lock(&stage->lock);
    copier->over = true;
    pthread_cond_broadcast(&stage->answered);
    pthread_mutex_unlock(&stage->lock);
}

static void
copy_read(struct rgm_actor *self, struct rgm_request *request)
{
    struct copier *copier = copier_here;
    struct rgm_file_read *read = (struct rgm_file_read *)(void *)request;
    struct lane *lane = &copier->lanes[read != &copier->lanes[0].read];

    rgi_check(rgm_status(read) == 0);
    lane->lease = read->lease;
    if (read->count == 0) {
        copy_end(copier, lane);
        return;
    }
    rgm_file_write_lease(&lane->write, copier->to, &lane->lease, read->count,
                         read->offset_bytes);
    lane->write.all = true;
    rgm_ask_request(self, &lane->write.request, copy_written);
}

static void
copy_more(struct copier *copier, struct lane *lane)
{
    rgm_file_read_lease(&lane->read, copier->from, &lane->lease,
                        copier->next_bytes);
    lane->read.all = true;
    copier->next_bytes += COPY_CHUNK;
    rgm_ask_request(&copier->puppet->actor, &lane->read.request, copy_read);
}

static void
copy_begin(struct puppet *puppet, void *argument)
{
    copier_here = argument;
    copier_here->puppet = puppet;
    copier_here->busy = 2;
    for (int i = 0; i < 2; i++)
        copy_more(copier_here, &copier_here->lanes[i]);
}

void
fil_23_copy_with_two_slots(struct stage *stage)
{
    uint64_t size_bytes =
        short_bulk(rgi_scale(1u << 30) / COPY_CHUNK * COPY_CHUNK + 17);
    struct rgm_pool *pool = pool_of(2, COPY_CHUNK);
    struct copier copier = {0};
    struct rgm_file from = {0};
    struct rgm_file to = {0};
    struct scratch scratch;
    struct rgm_lease extra;
    struct stat about;
    char byte = 0;
    int fd;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "begin");
    fd = open(scratch.path, O_WRONLY);
    rgi_check(pwrite(fd, "end", 3, (off_t)size_bytes - 3) == 3);
    close(fd);
    rgi_check(file_open(stage, &from, scratch.path, RGM_FILE_READ) == 0);
    rgi_check(file_open(stage, &to, scratch.other,
                        RGM_FILE_WRITE | RGM_FILE_CREATE) == 0);
    copier.from = &from;
    copier.to = &to;
    for (int i = 0; i < 2; i++)
        rgi_check(rgm_pool_try_acquire(pool, &copier.lanes[i].lease) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &extra) == -EAGAIN);
    stage_do(stage, copy_begin, &copier);
    pthread_mutex_lock(&stage->lock);
    while (!copier.over)
        pthread_cond_wait(&stage->answered, &stage->lock);
    pthread_mutex_unlock(&stage->lock);
    rgi_check(copier.copied_bytes == size_bytes);
    rgi_check(stat(scratch.other, &about) == 0);
    rgi_check((uint64_t)about.st_size == size_bytes);
    fd = open(scratch.other, O_RDONLY);
    rgi_check(pread(fd, &byte, 1, 0) == 1 && byte == 'b');
    rgi_check(pread(fd, &byte, 1, (off_t)size_bytes - 1) == 1 && byte == 'd');
    close(fd);
    rgi_check(file_close(stage, &from) == 0);
    rgi_check(file_close(stage, &to) == 0);
    rgm_pool_destroy(pool);
    scratch_close(stage, &scratch);
}

/* -------------------------------------------------------- paths, directories */

#define PATH_DO(prepare, ...)                                                  \
    (prepare(&path, HERE, __VA_ARGS__), rgm_call(stage->runtime, &path))

void
paths_are_renamed_made_and_removed(struct stage *stage)
{
    struct rgm_path path;
    struct scratch scratch;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    rgi_check(PATH_DO(rgm_path_rename, scratch.path, scratch.other, false) ==
              0);
    rgi_check(scratch_holds(scratch.other, "abc"));
    scratch_put(scratch.path, "new");
    rgi_check(PATH_DO(rgm_path_rename, scratch.path, scratch.other, true) ==
              -EEXIST);
    rgi_check(PATH_DO(rgm_path_rename, scratch.path, scratch.other, false) ==
              0);
    rgi_check(scratch_holds(scratch.other, "new"));
    rgi_check(PATH_DO(rgm_path_unlink, scratch.other) == 0);
    rgi_check(PATH_DO(rgm_path_unlink, scratch.other) == -ENOENT);
    rgi_check(PATH_DO(rgm_path_make_directory, scratch.path, 0700) == 0);
    rgi_check(PATH_DO(rgm_path_make_directory, scratch.path, 0700) == -EEXIST);
    rgi_check(PATH_DO(rgm_path_unlink, scratch.path) == -EISDIR);
    rgi_check(PATH_DO(rgm_path_remove_directory, scratch.path) == 0);
    rgi_check(PATH_DO(rgm_path_remove_directory, scratch.path) == -ENOENT);
    rgi_check(PATH_DO(rgm_path_unlink, NULL) == -EINVAL);
    rgi_check(PATH_DO(rgm_path_rename, scratch.path, NULL, false) == -EINVAL);
    scratch_close(stage, &scratch);
}

#define NAMES 40

static void
listed(struct stage *stage, struct rgm_file *directory, unsigned *seen)
{
    static _Alignas(8) char memory[RGM_DIRECTORY_ROOM_LEAST];
    struct rgm_directory_read read;
    struct rgm_directory_entry entry;

    do {
        rgm_directory_read(&read, directory, memory, sizeof(memory));
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        while (rgm_directory_next(&read, &entry)) {
            rgi_check(entry.kind == RGM_FILE_KIND_REGULAR);
            rgi_check(entry.inode != 0);
            seen[strtol(entry.name, NULL, 10)]++;
        }
    } while (!read.end);
}

void
directories_are_listed(struct stage *stage)
{
    struct rgm_directory_read read;
    struct rgm_file directory = {0};
    struct scratch scratch;
    unsigned seen[NAMES] = {0};
    uint64_t position;
    char name[128];
    char unaligned[1024];

    scratch_open(stage, &scratch);
    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "%s/%d", scratch.directory, i);
        scratch_put(name, "");
    }
    rgi_check(file_open(stage, &directory, scratch.directory,
                        RGM_FILE_READ | RGM_FILE_DIRECTORY) == 0);
    listed(stage, &directory, seen);
    rgi_check(file_seek(stage, &directory, 0, RGM_FILE_FROM_START, &position) ==
              0);
    listed(stage, &directory, seen);
    for (int i = 0; i < NAMES; i++) {
        rgi_check(seen[i] == 2);
        snprintf(name, sizeof(name), "%s/%d", scratch.directory, i);
        rgi_check(unlink(name) == 0);
    }
    rgm_directory_read(&read, &directory, unaligned + 1, 1000);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgm_directory_read(&read, &directory, unaligned, 16);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgi_check(file_close(stage, &directory) == 0);
    scratch_close(stage, &scratch);
}

/* ------------------------------------------------------------------ leftovers */

void
file_work_leaves_no_descriptor_and_no_memory(struct stage *stage)
{
    const uint32_t rounds = short_is_on() ? 40 : 200;
    struct rgm_file file = {0};
    struct scratch scratch;
    unsigned descriptors;
    uint64_t allocations = 0;

    scratch_open(stage, &scratch);
    scratch_put(scratch.path, "abc");
    descriptors = descriptors_open();
    for (uint32_t i = 0; i < rounds; i++) {
        struct rgm_file_stat about;

        if (i == rounds / 2)
            allocations = shim_allocations();
        rgi_check(file_open(stage, &file, scratch.path, RGM_FILE_READ) == 0);
        rgi_check(reads(stage, &file, "abc", 10, 0));
        rgm_file_stat(&about, &file);
        rgi_check(rgm_call(stage->runtime, &about) == 0);
        rgi_check(file_close(stage, &file) == 0);
    }
    rgi_check(shim_allocations() == allocations);
    rgi_check(descriptors_open() == descriptors);
    scratch_close(stage, &scratch);
}
