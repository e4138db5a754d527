/* SPDX-License-Identifier: MIT */

/*
 * file.c - how does a ring carry out each operation on a file?
 *
 * Everything that may wait for a disk is an entry of its own. What only looks
 * at or moves numbers in memory (a seek, an import) is a plain call, and so is
 * truncating where the kernel has no entry for it (before Linux 6.9). For reading
 * a directory it has none at all: that is not in this provider's kinds, and the
 * runtime lends it to a thread.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "capabilities/file.h"

#define TRANSFER_MAX_BYTES ((size_t)1 << 30)

#define OP_FTRUNCATE 55 /* Linux 6.9; not in every libc's headers */

static int
use(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int status = rgi_ring_use(p, operation);

    return status < 0 ? status : RGI_STEP_ATTEMPT;
}

/* What there is no entry for, or not on this kernel. */
static int
call_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    return rgi_file_call_status(
        rgi_file_call(operation, rgi_task_of(operation)->fd, NULL));
}

/* Interrupted, it is made again; a file says EAGAIN only when whoever opened it
 * wanted no waiting, and polling it would say "ready" at once. */
static int
plain_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
          int result, uint32_t flags)
{
    (void)p;
    (void)operation;
    (void)flags;
    if (result == -EINTR)
        return RGI_STEP_ATTEMPT;
    if (result == -EAGAIN)
        return RGI_STEP_PAUSE;
    return result < 0 ? result : 0;
}

/* ------------------------------------------------------------ open, import */

static void
fill(struct rgm_operation *operation, int fd)
{
    struct rgi_task *task = rgi_task_of(operation);

    task->channel->fd = fd;
    rgi_file_fill(operation, rgi_channel_resource(task->channel), fd);
}

static int
import(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int fd = rgi_open_of(operation)->descriptor;
    int status = rgi_file_check_import(fd);

    if (status < 0)
        rgi_channel_give(&p->channels, rgi_task_of(operation)->channel);
    else
        fill(operation, fd);
    return status;
}

/* Finds the directory, if there is one. */
static int
within(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    const struct rgm_file_open *open = rgi_open_of(operation);
    struct rgi_task *task = rgi_task_of(operation);
    const struct rgi_channel *directory;

    task->fd = AT_FDCWD;
    if (open->within == NULL)
        return RGI_STEP_ATTEMPT;
    directory = rgi_channel_find(&p->channels, open->within->handle.resource);
    if (directory == NULL) {
        rgi_channel_give(&p->channels, task->channel);
        return -EBADF;
    }
    task->fd = directory->fd;
    return RGI_STEP_ATTEMPT;
}

static int
open_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    task->channel = rgi_channel_take(&p->channels);
    if (task->channel == NULL)
        return -ENOMEM;
    if (rgi_open_of(operation)->path == NULL)
        return import(p, operation);
    return within(p, operation);
}

static void
open_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
             struct io_uring_sqe *entry)
{
    struct rgm_file_open *open = rgi_open_of(operation);

    (void)p;
    entry->fd = rgi_task_of(operation)->fd;
    entry->addr = (uint64_t)(uintptr_t)open->path;
    if (open->within != NULL) {
        entry->opcode = IORING_OP_OPENAT2;
        entry->len = (uint32_t)rgi_file_how(open, 0);
        entry->off = (uint64_t)(uintptr_t)open->how;
        return;
    }
    entry->opcode = IORING_OP_OPENAT;
    entry->len = open->mode;
    entry->open_flags = (uint32_t)rgi_file_flags(open);
}

static int
open_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
         int result, uint32_t flags)
{
    int step = plain_end(p, operation, result, flags);

    if (step == 0)
        fill(operation, result);
    return step;
}

static void
open_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    rgi_channel_give(&p->channels, rgi_task_of(operation)->channel);
}

/* ---------------------------------------------------------------- transfers */

static int
transfer_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int step = use(p, operation);

    if (step != RGI_STEP_ATTEMPT)
        return step;
    if (rgi_stream_is_empty(operation))
        return 0;
    rgi_fixed_choose(p, rgi_task_of(operation));
    return step;
}

static void
transfer_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                 struct io_uring_sqe *entry)
{
    struct rgm_file_transfer *transfer = rgi_transfer_of(operation);
    struct rgi_task *task = rgi_task_of(operation);
    struct rgi_file_attempt next = rgi_file_next(transfer, &task->place);
    bool reads = operation->kind == RGM_OP_FILE_READ;

    (void)p;
    entry->fd = task->fd;
    entry->off = (uint64_t)next.offset_bytes;
    if (next.pieces.count == 1) {
        size_t length_bytes = next.pieces.first->length_bytes;

        entry->opcode = reads ? IORING_OP_READ : IORING_OP_WRITE;
        entry->addr = (uint64_t)(uintptr_t)next.pieces.first->data;
        entry->len =
            (uint32_t)(length_bytes < TRANSFER_MAX_BYTES ? length_bytes
                                                         : TRANSFER_MAX_BYTES);
        return;
    }
    entry->opcode = reads ? IORING_OP_READV : IORING_OP_WRITEV;
    entry->addr = (uint64_t)(uintptr_t)next.pieces.first;
    entry->len = next.pieces.count;
}

static int
transfer_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
             int result, uint32_t flags)
{
    int status;

    if (result < 0)
        return plain_end(p, operation, result, flags);
    status = rgi_file_judge(operation, &rgi_task_of(operation)->place, result);
    return status == 1 ? RGI_STEP_ATTEMPT : status;
}

/* --------------------------------------------------------------------- sync */

static void
sync_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
             struct io_uring_sqe *entry)
{
    (void)p;
    entry->opcode = IORING_OP_FSYNC;
    entry->fd = rgi_task_of(operation)->fd;
    entry->fsync_flags =
        rgi_sync_of(operation)->data_only ? IORING_FSYNC_DATASYNC : 0;
}

/* --------------------------------------------------------------------- stat */

static int
stat_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    task->fd = AT_FDCWD;
    if (rgi_stat_of(operation)->path == NULL) {
        int status = rgi_ring_use(p, operation);

        if (status < 0)
            return status;
    }
    task->room = rgi_ring_room_take(p);
    return task->room == NULL ? -ENOMEM : RGI_STEP_ATTEMPT;
}

static void
stat_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
             struct io_uring_sqe *entry)
{
    const struct rgm_file_stat *stat = rgi_stat_of(operation);
    struct rgi_task *task = rgi_task_of(operation);
    const char *path = stat->path == NULL ? "" : stat->path;

    (void)p;
    entry->opcode = IORING_OP_STATX;
    entry->fd = task->fd;
    entry->addr = (uint64_t)(uintptr_t)path;
    entry->len = RGI_STATX_MASK;
    entry->off = (uint64_t)(uintptr_t)&task->room->about;
    entry->statx_flags = (uint32_t)rgi_file_statx_flags(stat);
}

static int
stat_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
         int result, uint32_t flags)
{
    struct rgi_task *task = rgi_task_of(operation);
    int step = plain_end(p, operation, result, flags);

    if (step == 0) {
        rgi_file_stat_fill(rgi_stat_of(operation), &task->room->about);
        rgi_ring_room_give(p, task);
    }
    return step;
}

static void
stat_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    rgi_ring_room_give(p, rgi_task_of(operation));
}

/* ----------------------------------------------- truncate, allocate, advise */

static int
truncate_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    if ((p->ring.opcodes >> OP_FTRUNCATE & 1) == 0)
        return call_begin(p, operation);
    return use(p, operation);
}

static void
truncate_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                 struct io_uring_sqe *entry)
{
    (void)p;
    entry->opcode = OP_FTRUNCATE;
    entry->fd = rgi_task_of(operation)->fd;
    entry->off = rgi_truncate_of(operation)->size_bytes;
}

static void
allocate_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                 struct io_uring_sqe *entry)
{
    const struct rgm_file_allocate *allocate = rgi_allocate_of(operation);

    (void)p;
    entry->opcode = IORING_OP_FALLOCATE;
    entry->fd = rgi_task_of(operation)->fd;
    entry->off = allocate->offset_bytes;
    entry->addr = allocate->length_bytes;
    entry->len = (uint32_t)rgi_file_allocate_mode(allocate->allocation);
}

/* The length in an entry has 32 bits on every kernel. Without room it is a
 * plain call, for it is clean-up. */
static int
advise_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    if (rgi_advise_of(operation)->length_bytes > UINT32_MAX ||
        p->started >= p->started_max || !rgi_list_empty(&p->waiting))
        return call_begin(p, operation);
    return use(p, operation);
}

static void
advise_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
               struct io_uring_sqe *entry)
{
    const struct rgm_file_advise *advise = rgi_advise_of(operation);

    (void)p;
    entry->opcode = IORING_OP_FADVISE;
    entry->fd = rgi_task_of(operation)->fd;
    entry->off = advise->offset_bytes;
    entry->len = (uint32_t)advise->length_bytes;
    entry->fadvise_advice = (uint32_t)rgi_file_advice(advise->advice);
}

/* -------------------------------------------------------------------- paths */

static int
path_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    (void)p;
    (void)operation;
    return RGI_STEP_ATTEMPT;
}

static void
path_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
             struct io_uring_sqe *entry)
{
    const struct rgm_path *path = rgi_path_of(operation);

    (void)p;
    entry->fd = AT_FDCWD;
    entry->addr = (uint64_t)(uintptr_t)path->from;
    switch ((enum rgm_path_act)path->act) {
    case RGM_PATH_RENAME:
    case RGM_PATH_RENAME_EXCLUSIVE:
        entry->opcode = IORING_OP_RENAMEAT;
        entry->len = (uint32_t)AT_FDCWD;
        entry->off = (uint64_t)(uintptr_t)path->to;
        entry->rename_flags =
            path->act == RGM_PATH_RENAME ? 0 : RENAME_NOREPLACE;
        break;
    case RGM_PATH_UNLINK:
    case RGM_PATH_REMOVE_DIRECTORY:
        entry->opcode = IORING_OP_UNLINKAT;
        entry->unlink_flags = path->act == RGM_PATH_UNLINK ? 0 : AT_REMOVEDIR;
        break;
    case RGM_PATH_MAKE_DIRECTORY:
        entry->opcode = IORING_OP_MKDIRAT;
        entry->len = path->mode;
        break;
    }
}

/* An act that was interrupted may have happened: it is not made again. */
static int
path_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
         int result, uint32_t flags)
{
    (void)p;
    (void)operation;
    (void)flags;
    return result < 0 ? result : 0;
}

const struct rgi_ring_kind rgi_ring_file_kinds[RGI_FILE_KINDS] = {
    {open_begin, open_prepare, open_end, open_undo},
    {transfer_begin, transfer_prepare, transfer_end, NULL},
    {transfer_begin, transfer_prepare, transfer_end, NULL},
    {use, sync_prepare, plain_end, NULL},
    {stat_begin, stat_prepare, stat_end, stat_undo},
    {call_begin, NULL, NULL, NULL},
    {truncate_begin, truncate_prepare, plain_end, NULL},
    {use, allocate_prepare, plain_end, NULL},
    {advise_begin, advise_prepare, plain_end, NULL},
    {path_begin, path_prepare, path_end, NULL},
};
