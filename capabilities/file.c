/* SPDX-License-Identifier: MIT */

/*
 * file.c - how are operations on files prepared and admitted?
 *
 * As those on streams (stream.c), whose table of handles they share. What is
 * theirs: the cursor has one user at a time, a handle in append mode takes no
 * positioned writes, and a sync that failed once fails from then on.
 */

#include "capabilities/file.h"

#include <errno.h>
#include <string.h>

#include "base/list.h"
#include "capabilities/file_lane.h"
#include "capabilities/operation.h"

RGI_OPERATION_TYPE(file_open, rgm_file_open, 0);
RGI_OPERATION_TYPE(file_read, rgm_file_read, 0);
RGI_OPERATION_TYPE(file_write, rgm_file_write, 0);
RGI_OPERATION_TYPE(file_sync, rgm_file_sync, 0);
RGI_OPERATION_TYPE(file_stat, rgm_file_stat, 0);
RGI_OPERATION_TYPE(file_seek, rgm_file_seek, 0);
RGI_OPERATION_TYPE(file_truncate, rgm_file_truncate, 0);
RGI_OPERATION_TYPE(file_allocate, rgm_file_allocate, 0);
RGI_OPERATION_TYPE(file_advise, rgm_file_advise, 0);
RGI_OPERATION_TYPE(path, rgm_path, 0);
RGI_OPERATION_TYPE(directory_read, rgm_directory_read, 0);
RGI_OPERATION_TYPE(file_job, rgm_file_job, 0);

#define OFFSET_MAX_BYTES ((uint64_t)INT64_MAX)

_Static_assert(offsetof(struct rgm_file_write, window) ==
                       offsetof(struct rgm_file_transfer, window) &&
                   offsetof(struct rgm_file_read, window) ==
                       offsetof(struct rgm_file_transfer, window),
               "reads and writes begin alike");

/* ------------------------------------------------------------- preparation */

static void
refuse_if(struct rgm_operation *operation, bool bad)
{
    if (bad)
        rgi_operation_refuse(operation, -EINVAL);
}

/* For operations on a handle: it says where they go. */
static void
prepare_front_on(struct rgm_operation *operation, enum rgm_operation_kind kind,
                 const struct rgm_message_type *type,
                 const struct rgm_file *file, size_t front_bytes)
{
    rgi_operation_prepare_on(operation, kind, type,
                             file != NULL ? &file->handle.worker : NULL,
                             front_bytes);
}

static void
prepare_on(struct rgm_operation *operation, enum rgm_operation_kind kind,
           const struct rgm_message_type *type, const struct rgm_file *file)
{
    prepare_front_on(operation, kind, type, file, type->size_bytes);
}

static bool
flags_are_valid(uint32_t flags)
{
    const uint32_t all = RGM_FILE_READ | RGM_FILE_WRITE | RGM_FILE_CREATE |
                         RGM_FILE_EXCLUSIVE | RGM_FILE_TRUNCATE |
                         RGM_FILE_APPEND | RGM_FILE_DIRECT | RGM_FILE_SYNC |
                         RGM_FILE_DIRECTORY | RGM_FILE_NO_FOLLOW;
    const uint32_t writing =
        RGM_FILE_CREATE | RGM_FILE_TRUNCATE | RGM_FILE_APPEND | RGM_FILE_WRITE;

    if ((flags & ~all) != 0 || (flags & (RGM_FILE_READ | RGM_FILE_WRITE)) == 0)
        return false;
    if ((flags & RGM_FILE_EXCLUSIVE) && !(flags & RGM_FILE_CREATE))
        return false;
    if ((flags & (RGM_FILE_TRUNCATE | RGM_FILE_APPEND)) &&
        !(flags & RGM_FILE_WRITE))
        return false;
    return !(flags & RGM_FILE_DIRECTORY) || !(flags & writing);
}

void
rgm_file_open(struct rgm_file_open *open, struct rgm_address where,
              struct rgm_file *file, const char *path, uint32_t flags,
              uint32_t mode)
{
    rgi_operation_prepare(&open->operation, RGM_OP_FILE_OPEN,
                          &rgi_type_file_open, where);
    open->file = file;
    open->path = path;
    open->flags = flags;
    open->mode = mode;
    open->descriptor = -1;
    refuse_if(&open->operation, file == NULL || path == NULL ||
                                    !flags_are_valid(flags) ||
                                    (mode & ~07777U) != 0);
}

void
rgm_file_open_within(struct rgm_file_open *open, struct rgm_file *directory,
                     struct rgm_file *file, const char *path, uint32_t flags,
                     uint32_t mode)
{
    struct rgm_address where = {0};

    if (directory != NULL)
        where = directory->handle.worker;
    rgm_file_open(open, where, file, path, flags, mode);
    open->within = directory;
    refuse_if(&open->operation, directory == NULL || directory == file);
    if (where.bits == 0)
        rgi_operation_refuse(&open->operation, -EBADF);
}

void
rgm_file_import(struct rgm_file_open *import, struct rgm_address where,
                struct rgm_file *file, int descriptor)
{
    rgi_operation_prepare(&import->operation, RGM_OP_FILE_OPEN,
                          &rgi_type_file_open, where);
    import->file = file;
    import->descriptor = descriptor;
    refuse_if(&import->operation, file == NULL);
    if (descriptor < 0)
        rgi_operation_refuse(&import->operation, -EBADF);
}

/* ---------------------------------------------------------------- transfers */

/* Whether the pieces are memory and their end is a place in a file. */
static bool
range_is_valid(const struct rgm_file_transfer *transfer)
{
    uint64_t left_bytes = OFFSET_MAX_BYTES;

    if (transfer->offset_bytes != RGM_FILE_CURSOR) {
        if (transfer->offset_bytes > left_bytes)
            return false;
        left_bytes -= transfer->offset_bytes;
    }
    for (size_t i = 0; i < transfer->vectors_count; i++) {
        const struct rgm_vector *vector = &transfer->vectors[i];

        if (vector->data == NULL && vector->length_bytes > 0)
            return false;
        if (vector->length_bytes > left_bytes)
            return false;
        left_bytes -= vector->length_bytes;
    }
    return true;
}

static void
transfer_prepare(struct rgm_file_transfer *transfer, struct rgm_file *file,
                 enum rgm_operation_kind kind,
                 const struct rgm_message_type *type,
                 const struct rgm_vector *vectors, size_t vectors_count,
                 uint64_t offset_bytes)
{
    bool no_vectors = vectors == NULL && vectors_count > 0;

    /* The window is half of the record, and laid out when it is needed. */
    prepare_front_on(&transfer->operation, kind, type, file,
                     offsetof(struct rgm_file_transfer, window));
    if (type == &rgi_type_file_write)
        ((struct rgm_file_write *)(void *)transfer)->view =
            (struct rgm_view){0};
    transfer->file = file;
    transfer->vectors = vectors;
    transfer->vectors_count = no_vectors ? 0 : vectors_count;
    transfer->offset_bytes = offset_bytes;
    refuse_if(&transfer->operation, no_vectors || !range_is_valid(transfer));
}

static void
transfer_single(struct rgm_file_transfer *transfer, struct rgm_file *file,
                enum rgm_operation_kind kind,
                const struct rgm_message_type *type, const void *memory,
                size_t length_bytes, uint64_t offset_bytes)
{
    struct rgm_vector piece = {memory, length_bytes};

    transfer_prepare(transfer, file, kind, type, &piece, 1, offset_bytes);
    transfer->single = piece;
    transfer->vectors = &transfer->single;
}

void
rgi_transfer_prepare(struct rgm_file_transfer *transfer,
                     enum rgm_operation_kind kind, struct rgm_file *file,
                     const void *memory, size_t length_bytes,
                     uint64_t offset_bytes)
{
    _Static_assert(sizeof(struct rgm_file_read) ==
                       sizeof(struct rgm_file_transfer),
                   "a read is a transfer and no more");
    transfer_single(transfer, file, kind, &rgi_type_file_read, memory,
                    length_bytes, offset_bytes);
}

#define READ_OF(read) ((struct rgm_file_transfer *)(void *)(read))
#define WRITE_OF(write) ((struct rgm_file_transfer *)(void *)(write))

void
rgm_file_read_at(struct rgm_file_read *read, struct rgm_file *file,
                 void *memory, size_t capacity_bytes, uint64_t offset_bytes)
{
    transfer_single(READ_OF(read), file, RGM_OP_FILE_READ, &rgi_type_file_read,
                    memory, capacity_bytes, offset_bytes);
}

void
rgm_file_read(struct rgm_file_read *read, struct rgm_file *file, void *memory,
              size_t capacity_bytes)
{
    rgm_file_read_at(read, file, memory, capacity_bytes, RGM_FILE_CURSOR);
}

void
rgm_file_read_all_at(struct rgm_file_read *read, struct rgm_file *file,
                     void *memory, size_t capacity_bytes, uint64_t offset_bytes)
{
    rgm_file_read_at(read, file, memory, capacity_bytes, offset_bytes);
    read->all = true;
}

void
rgm_file_read_vectors(struct rgm_file_read *read, struct rgm_file *file,
                      const struct rgm_vector *vectors, size_t vectors_count,
                      uint64_t offset_bytes)
{
    transfer_prepare(READ_OF(read), file, RGM_OP_FILE_READ, &rgi_type_file_read,
                     vectors, vectors_count, offset_bytes);
}

/* The lease moves, good or bad: the record gives it back in any case. */
static struct rgm_lease
lease_take(struct rgm_lease *lease)
{
    struct rgm_lease taken = *lease;

    *lease = (struct rgm_lease){0};
    return taken;
}

void
rgm_file_read_lease(struct rgm_file_read *read, struct rgm_file *file,
                    struct rgm_lease *lease, uint64_t offset_bytes)
{
    struct rgm_lease taken = lease_take(lease);

    rgm_file_read_at(read, file, taken.data, taken.length_bytes, offset_bytes);
    read->lease = taken;
    refuse_if(&read->operation, taken.block == NULL);
}

void
rgm_file_write_at(struct rgm_file_write *write, struct rgm_file *file,
                  const void *data, size_t length_bytes, uint64_t offset_bytes)
{
    transfer_single(WRITE_OF(write), file, RGM_OP_FILE_WRITE,
                    &rgi_type_file_write, data, length_bytes, offset_bytes);
}

void
rgm_file_write(struct rgm_file_write *write, struct rgm_file *file,
               const void *data, size_t length_bytes)
{
    rgm_file_write_at(write, file, data, length_bytes, RGM_FILE_CURSOR);
}

void
rgm_file_write_all_at(struct rgm_file_write *write, struct rgm_file *file,
                      const void *data, size_t length_bytes,
                      uint64_t offset_bytes)
{
    rgm_file_write_at(write, file, data, length_bytes, offset_bytes);
    write->all = true;
}

void
rgm_file_write_vectors(struct rgm_file_write *write, struct rgm_file *file,
                       const struct rgm_vector *vectors, size_t vectors_count,
                       uint64_t offset_bytes)
{
    transfer_prepare(WRITE_OF(write), file, RGM_OP_FILE_WRITE,
                     &rgi_type_file_write, vectors, vectors_count,
                     offset_bytes);
}

void
rgm_file_write_lease(struct rgm_file_write *write, struct rgm_file *file,
                     struct rgm_lease *lease, size_t length_bytes,
                     uint64_t offset_bytes)
{
    struct rgm_lease taken = lease_take(lease);

    rgm_file_write_at(write, file, taken.data, length_bytes, offset_bytes);
    write->lease = taken;
    refuse_if(&write->operation,
              taken.block == NULL || length_bytes > taken.length_bytes);
}

void
rgm_file_write_view(struct rgm_file_write *write, struct rgm_file *file,
                    struct rgm_view *view, uint64_t offset_bytes)
{
    struct rgm_view taken = *view;

    *view = (struct rgm_view){0};
    rgm_file_write_at(write, file, taken.data, taken.length_bytes,
                      offset_bytes);
    write->view = taken;
}

/* ------------------------------------------------------------------- others */

static void
sync_prepare(struct rgm_file_sync *sync, struct rgm_file *file, bool data_only)
{
    prepare_on(&sync->operation, RGM_OP_FILE_SYNC, &rgi_type_file_sync, file);
    sync->file = file;
    sync->data_only = data_only;
}

void
rgm_file_sync(struct rgm_file_sync *sync, struct rgm_file *file)
{
    sync_prepare(sync, file, false);
}

void
rgm_file_datasync(struct rgm_file_sync *sync, struct rgm_file *file)
{
    sync_prepare(sync, file, true);
}

void
rgm_file_stat(struct rgm_file_stat *stat, struct rgm_file *file)
{
    prepare_on(&stat->operation, RGM_OP_FILE_STAT, &rgi_type_file_stat, file);
    stat->file = file;
}

void
rgm_path_stat(struct rgm_file_stat *stat, struct rgm_address where,
              const char *path, bool no_follow)
{
    rgi_operation_prepare(&stat->operation, RGM_OP_FILE_STAT,
                          &rgi_type_file_stat, where);
    stat->path = path;
    stat->no_follow = no_follow;
    refuse_if(&stat->operation, path == NULL);
}

void
rgm_file_seek(struct rgm_file_seek *seek, struct rgm_file *file,
              int64_t offset_bytes, enum rgm_file_whence whence)
{
    prepare_on(&seek->operation, RGM_OP_FILE_SEEK, &rgi_type_file_seek, file);
    seek->file = file;
    seek->offset_bytes = offset_bytes;
    seek->whence = (uint32_t)whence;
    refuse_if(&seek->operation, seek->whence > RGM_FILE_FROM_END);
}

void
rgm_file_truncate(struct rgm_file_truncate *truncate, struct rgm_file *file,
                  uint64_t size_bytes)
{
    prepare_on(&truncate->operation, RGM_OP_FILE_TRUNCATE,
               &rgi_type_file_truncate, file);
    truncate->file = file;
    truncate->size_bytes = size_bytes;
    refuse_if(&truncate->operation, size_bytes > OFFSET_MAX_BYTES);
}

void
rgm_file_allocate(struct rgm_file_allocate *allocate, struct rgm_file *file,
                  enum rgm_file_allocation allocation, uint64_t offset_bytes,
                  uint64_t length_bytes)
{
    prepare_on(&allocate->operation, RGM_OP_FILE_ALLOCATE,
               &rgi_type_file_allocate, file);
    allocate->file = file;
    allocate->allocation = (uint32_t)allocation;
    allocate->offset_bytes = offset_bytes;
    allocate->length_bytes = length_bytes;
    refuse_if(&allocate->operation,
              allocate->allocation > RGM_FILE_INSERT_RANGE ||
                  offset_bytes > OFFSET_MAX_BYTES || length_bytes == 0 ||
                  length_bytes > OFFSET_MAX_BYTES - offset_bytes);
}

void
rgm_file_advise(struct rgm_file_advise *advise, struct rgm_file *file,
                enum rgm_file_advice advice, uint64_t offset_bytes,
                uint64_t length_bytes)
{
    prepare_on(&advise->operation, RGM_OP_FILE_ADVISE, &rgi_type_file_advise,
               file);
    advise->file = file;
    advise->advice = (uint32_t)advice;
    advise->offset_bytes = offset_bytes;
    advise->length_bytes = length_bytes;
    refuse_if(&advise->operation,
              advise->advice > RGM_FILE_ADVISE_ONCE ||
                  offset_bytes > OFFSET_MAX_BYTES ||
                  length_bytes > OFFSET_MAX_BYTES - offset_bytes);
}

static void
path_prepare(struct rgm_path *path, struct rgm_address where,
             enum rgm_path_act act, const char *from)
{
    rgi_operation_prepare(&path->operation, RGM_OP_PATH, &rgi_type_path, where);
    path->act = (uint32_t)act;
    path->from = from;
    refuse_if(&path->operation, from == NULL);
}

void
rgm_path_rename(struct rgm_path *path, struct rgm_address where,
                const char *from, const char *to, bool exclusive)
{
    path_prepare(path, where,
                 exclusive ? RGM_PATH_RENAME_EXCLUSIVE : RGM_PATH_RENAME, from);
    path->to = to;
    refuse_if(&path->operation, to == NULL);
}

void
rgm_path_unlink(struct rgm_path *path, struct rgm_address where,
                const char *name)
{
    path_prepare(path, where, RGM_PATH_UNLINK, name);
}

void
rgm_path_make_directory(struct rgm_path *path, struct rgm_address where,
                        const char *name, uint32_t mode)
{
    path_prepare(path, where, RGM_PATH_MAKE_DIRECTORY, name);
    path->mode = mode;
    refuse_if(&path->operation, (mode & ~07777U) != 0);
}

void
rgm_path_remove_directory(struct rgm_path *path, struct rgm_address where,
                          const char *name)
{
    path_prepare(path, where, RGM_PATH_REMOVE_DIRECTORY, name);
}

void
rgm_directory_read(struct rgm_directory_read *read, struct rgm_file *directory,
                   void *memory, size_t capacity_bytes)
{
    prepare_on(&read->operation, RGM_OP_DIRECTORY_READ,
               &rgi_type_directory_read, directory);
    read->directory = directory;
    read->memory = memory;
    read->capacity_bytes = capacity_bytes;
    refuse_if(&read->operation, memory == NULL || (uintptr_t)memory % 8 != 0 ||
                                    capacity_bytes < RGM_DIRECTORY_ROOM_LEAST);
}

void
rgm_file_job(struct rgm_file_job *job, struct rgm_file *file,
             rgm_job_function *run)
{
    prepare_on(&job->operation, RGM_OP_FILE_JOB, &rgi_type_file_job, file);
    job->file = file;
    job->job.run = run;
    refuse_if(&job->operation, run == NULL);
}

void
rgm_file_close(struct rgm_close *close, struct rgm_file *file)
{
    prepare_on(&close->operation, RGM_OP_CLOSE, &rgi_type_close, file);
    close->socket = file == NULL ? NULL : &file->handle;
}

/* --------------------------------------------------------------- admission */

static bool
uses_cursor(const struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_FILE_READ:
    case RGM_OP_FILE_WRITE:
        return ((const struct rgm_file_transfer *)(const void *)operation)
                   ->offset_bytes == RGM_FILE_CURSOR;
    case RGM_OP_FILE_SEEK:
    case RGM_OP_DIRECTORY_READ:
        return true;
    default:
        return false;
    }
}

/* Every record about a handle has it right behind the operation, but for one
 * that is a job. */
static struct rgm_file *
file_of(const struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_DIRECTORY_READ)
        return ((const struct rgm_directory_read *)(const void *)operation)
            ->directory;
    return ((const struct rgm_file_sync *)(const void *)operation)->file;
}

#define FILE_IS_FIRST(record, member)                                          \
    _Static_assert(offsetof(struct record, member) ==                          \
                       offsetof(struct rgm_file_sync, file),                   \
                   "the handle lies right behind the operation")
FILE_IS_FIRST(rgm_file_transfer, file);
FILE_IS_FIRST(rgm_file_seek, file);

static void
clear_outputs(struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_FILE_READ ||
        operation->kind == RGM_OP_FILE_WRITE) {
        rgi_transfer_of(operation)->count = 0;
        rgi_transfer_of(operation)->end = false;
    } else if (operation->kind == RGM_OP_DIRECTORY_READ) {
        rgi_directory_of(operation)->count = 0;
        rgi_directory_of(operation)->end = false;
        rgi_directory_of(operation)->next = 0;
    }
}

int
rgi_file_admit(struct rgm_operation *operation)
{
    struct rgm_file *file = file_of(operation);
    bool cursor = uses_cursor(operation);

    if (operation->kind == RGM_OP_FILE_SYNC && file->sync_status != 0)
        return file->sync_status;
    if (operation->kind == RGM_OP_FILE_WRITE && !cursor && file->append)
        return -EINVAL;
    if (cursor && file->cursor_busy)
        return -EAGAIN;
    if (cursor)
        file->cursor_busy = 1;
    clear_outputs(operation);
    return 0;
}

/* Interrupted or cancelled it has said nothing about the disk. */
static bool
sync_has_failed(int status)
{
    return status < 0 && status != -EINTR && status != -ECANCELED &&
           status != -EBADF;
}

void
rgi_file_retire(struct rgm_operation *operation, struct rgm_turn *turn)
{
    int status = operation->request.message.status;

    if (rgi_is_lane_transfer(operation))
        rgi_lane_access_ends(operation, turn);
    if (operation->kind == RGM_OP_FILE_SYNC && sync_has_failed(status))
        file_of(operation)->sync_status = status;
}

void
rgi_file_home(struct rgm_operation *operation)
{
    if (uses_cursor(operation))
        file_of(operation)->cursor_busy = 0;
}

void
rgi_file_filled(struct rgm_operation *operation, struct rgm_socket *handle)
{
    struct rgm_file *file = rgi_container_of(handle, struct rgm_file, handle);

    file->append = (rgi_open_of(operation)->flags & RGM_FILE_APPEND) != 0;
    file->sync_status = 0;
    file->cursor_busy = 0;
    file->descriptor = -1;
}

void
rgi_file_fill(struct rgm_operation *operation, uint64_t resource,
              int descriptor)
{
    rgi_stream_fill(operation, resource);
    rgi_open_of(operation)->file->descriptor = descriptor;
}

int
rgm_file_acknowledge(struct rgm_file *file)
{
    int status = file->sync_status;

    file->sync_status = 0;
    return status;
}
