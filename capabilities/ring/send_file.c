/* SPDX-License-Identifier: MIT */

/*
 * send_file.c - how does a ring send a file over a stream?
 *
 * 1. A pipe is taken, and an entry fills it with pages of the file; that may
 *    wait for a disk, on a thread of the kernel's.
 * 2. When it is full, or the range is in it, it is emptied into the socket by a
 *    plain call that does not wait.
 * 3. What the socket does not take is thrown away with the pipe, the operation
 *    waits until there is room, and 1 begins again behind what went out. So one
 *    whose peer is slow holds no pipe, and occupies no thread of the kernel's.
 *
 * A pipe only ever has pages in it between an entry and its end. Empty ones are
 * kept for the next, up to RGI_PIPES_KEPT.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "capabilities/send_file.h"

#define READ_END 0
#define WRITE_END 1

/* What a pipe should hold; a user with many gets less, pipe(7). */
#define PIPE_BYTES (256 << 10)

/* ------------------------------------------------------------------- pipes */

static int
pipe_take(struct rgi_ring_provider *p, int *ret_ends)
{
    if (p->pipes_count > 0) {
        p->pipes_count--;
        ret_ends[READ_END] = p->pipes[p->pipes_count][READ_END];
        ret_ends[WRITE_END] = p->pipes[p->pipes_count][WRITE_END];
        return 0;
    }
    if (pipe2(ret_ends, O_CLOEXEC) < 0)
        return -errno;
    (void)fcntl(ret_ends[WRITE_END], F_SETPIPE_SZ, PIPE_BYTES);
    return 0;
}

static void
pipe_close(const int *ends)
{
    close(ends[READ_END]);
    close(ends[WRITE_END]);
}

static void
pipe_give(struct rgi_ring_provider *p, const int *ends, bool is_empty)
{
    if (!is_empty || p->pipes_count == RGI_PIPES_KEPT) {
        pipe_close(ends);
        return;
    }
    p->pipes[p->pipes_count][READ_END] = ends[READ_END];
    p->pipes[p->pipes_count][WRITE_END] = ends[WRITE_END];
    p->pipes_count++;
}

void
rgi_ring_pipes_close(struct rgi_ring_provider *p)
{
    while (p->pipes_count > 0)
        pipe_close(p->pipes[--p->pipes_count]);
}

/* ----------------------------------------------------------------- sending */

static bool
has_pipe(const struct rgi_task *task)
{
    return task->send.pipe[READ_END] >= 0;
}

static int
send_file_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    const struct rgi_channel *source;
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    source = rgi_channel_find(&p->channels,
                              rgi_send_file_source(operation)->resource);
    if (source == NULL)
        return -EBADF;
    task->send.source = source->fd;
    task->send.pipe[READ_END] = -1;
    return rgi_stream_is_empty(operation) ? 0 : RGI_STEP_ATTEMPT;
}

/* Without a pipe the entry does nothing, and its end says why. */
static void
send_file_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                  struct io_uring_sqe *entry)
{
    const struct rgm_send_file *send = rgi_send_file_of(operation);
    struct rgi_task *task = rgi_task_of(operation);
    uint64_t left_bytes = rgi_send_file_left(send);

    entry->opcode = IORING_OP_NOP;
    task->send.status = has_pipe(task) ? 0 : pipe_take(p, task->send.pipe);
    if (task->send.status < 0)
        return;
    entry->opcode = IORING_OP_SPLICE;
    entry->fd = task->send.pipe[WRITE_END];
    entry->off = UINT64_MAX;
    entry->splice_fd_in = task->send.source;
    entry->splice_off_in = send->offset_bytes + send->count;
    entry->len = left_bytes < PIPE_BYTES ? (uint32_t)left_bytes : PIPE_BYTES;
    entry->splice_flags = SPLICE_F_NONBLOCK;
}

/* Empties the pipe as far as the socket allows. Returns: what went out, or the
 * error of the first call. */
static int64_t
drain(struct rgi_task *task, size_t filled_bytes)
{
    size_t sent = 0;

    while (sent < filled_bytes) {
        int64_t result =
            rgi_send_from_pipe(task->fd, task->send.pipe[READ_END],
                               filled_bytes - sent, RGI_SEND_RESTORE);

        if (result <= 0)
            return sent > 0 ? (int64_t)sent : result;
        sent += (size_t)result;
    }
    return (int64_t)sent;
}

static int
not_sent(int64_t error)
{
    switch (error) {
    case -EAGAIN:
        return RGI_STEP_OUTPUT;
    case -EINTR:
        return RGI_STEP_ATTEMPT;
    case -ENOBUFS: /* the machine's trouble, not the connection's */
    case -ENOMEM:
        return RGI_STEP_PAUSE;
    case 0: /* not what a socket does; and it would be asked for ever */
        return -ENODATA;
    default:
        return (int)error;
    }
}

static void
release(struct rgi_ring_provider *p, struct rgi_task *task, bool is_empty)
{
    pipe_give(p, task->send.pipe, is_empty);
    task->send.pipe[READ_END] = -1;
}

static int
send_filled(struct rgi_ring_provider *p, struct rgm_operation *operation,
            size_t filled_bytes)
{
    struct rgm_send_file *send = rgi_send_file_of(operation);
    struct rgi_task *task = rgi_task_of(operation);
    int64_t sent = drain(task, filled_bytes);

    release(p, task, sent == (int64_t)filled_bytes);
    if (sent <= 0)
        return not_sent(sent);
    send->count += (uint64_t)sent;
    if (rgi_send_file_left(send) == 0)
        return 0;
    return sent == (int64_t)filled_bytes ? RGI_STEP_ATTEMPT : RGI_STEP_OUTPUT;
}

static void
send_file_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    if (has_pipe(task))
        release(p, task, false);
}

/* What is in the pipe when it is to stop does not go out. */
static int
send_file_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
              int result, uint32_t flags)
{
    (void)flags;
    if (rgi_task_of(operation)->send.status < 0)
        return rgi_task_of(operation)->send.status;
    if (result == -EINTR || result == -EAGAIN)
        return result == -EINTR ? RGI_STEP_ATTEMPT : RGI_STEP_PAUSE;
    if (result < 0)
        return result;
    if (result == 0)
        return -ENODATA; /* the file ends here */
    if (rgi_operation_is_stopping(operation))
        return -ECANCELED;
    return send_filled(p, operation, (size_t)result);
}

const struct rgi_ring_kind rgi_ring_send_file = {
    send_file_begin, send_file_prepare, send_file_end, send_file_undo};
