/* SPDX-License-Identifier: MIT */

/*
 * stream.c - how does a ring carry out each stream operation?
 *
 * One section per kind: begin, prepare, end, and undo where something has to be
 * taken back. Sockets are in blocking mode, which to a ring means that it waits
 * for readiness itself; EAGAIN all the same (a descriptor somebody else made
 * non-blocking) is met by a poll on this ring and another attempt.
 *
 * What the kernel does without ever waiting, or only by a thread of its own
 * (bind, listen, shutdown, options, names), is a plain system call.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/memory.h"
#include "capabilities/detach.h"
#include "capabilities/import.h"
#include "capabilities/socket.h"

/* The kernel cuts a transfer at 2 GiB; a result must fit an int. */
#define TRANSFER_MAX_BYTES ((size_t)1 << 30)

_Static_assert(sizeof(struct rgm_vector) == sizeof(struct iovec) &&
                   offsetof(struct rgm_vector, data) ==
                       offsetof(struct iovec, iov_base),
               "a vector is an iovec");
_Static_assert(sizeof(struct msghdr) <= sizeof(((struct rgm_write *)0)->header),
               "a write has room for a message header");

int
rgi_ring_use(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    task->channel =
        rgi_channel_find(&p->channels, rgi_stream_uses(operation)->resource);
    if (task->channel == NULL)
        return -EBADF;
    task->fd = task->channel->fd;
    return 0;
}

static int
begin_attempt(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int status = rgi_ring_use(p, operation);

    if (status < 0 || rgi_stream_is_empty(operation))
        return status;
    return RGI_STEP_ATTEMPT;
}

static int
write_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int step = begin_attempt(p, operation);

    if (step == RGI_STEP_ATTEMPT)
        rgi_fixed_choose_socket(p, rgi_task_of(operation));
    return step;
}

/* The handle gets the channel, which gets the descriptor. */
static void
fill(struct rgm_operation *operation, int fd)
{
    struct rgi_task *task = rgi_task_of(operation);

    task->channel->fd = fd;
    rgi_stream_fill(operation, rgi_channel_resource(task->channel));
}

/* ------------------------------------------------------------------- rooms */

struct rgi_room *
rgi_ring_room_take(struct rgi_ring_provider *p)
{
    struct rgi_room *room = p->rooms;

    if (room == NULL)
        return rgi_alloc(sizeof(*room));
    p->rooms = room->next;
    return room;
}

void
rgi_ring_room_give(struct rgi_ring_provider *p, struct rgi_task *task)
{
    if (task->room == NULL)
        return;
    task->room->next = p->rooms;
    p->rooms = task->room;
    task->room = NULL;
}

/* ------------------------------------------------------------------ listen */

static int
listen_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status;
    int fd = -1;

    task->channel = rgi_channel_take(&p->channels);
    if (task->channel == NULL)
        return -ENOMEM;
    status =
        rgi_socket_listen(rgi_listen_of(operation), RGI_SOCKET_BLOCKING,
                          &p->streams, &fd);
    if (status < 0) {
        rgi_channel_give(&p->channels, task->channel);
        return status;
    }
    task->channel->imported = rgi_listen_of(operation)->imports;
    fill(operation, fd);
    return 0;
}

/* ------------------------------------------------------------------ accept */

static int
accept_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    if (rgi_accept_of(operation)->want_peer) {
        task->room = rgi_ring_room_take(p);
        if (task->room == NULL)
            return -ENOMEM;
    }
    /* The new one's: nothing is left that could fail once there is one. */
    task->channel = rgi_channel_take(&p->channels);
    if (task->channel != NULL)
        return RGI_STEP_ATTEMPT;
    rgi_ring_room_give(p, task);
    return -ENOMEM;
}

static void
accept_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
               struct io_uring_sqe *entry)
{
    struct rgi_task *task = rgi_task_of(operation);

    (void)p;
    entry->opcode = IORING_OP_ACCEPT;
    entry->fd = task->fd;
    entry->accept_flags = SOCK_CLOEXEC;
    if (task->room != NULL) {
        task->room->length = sizeof(task->room->address);
        entry->addr = (uint64_t)(uintptr_t)&task->room->address;
        entry->addr2 = (uint64_t)(uintptr_t)&task->room->length;
    }
}

static void
accept_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    rgi_ring_room_give(p, task);
    rgi_channel_give(&p->channels, task->channel);
}

static bool
of_import(const struct rgi_ring_provider *p,
          const struct rgm_operation *operation)
{
    const struct rgi_channel *listener =
        rgi_channel_find(&p->channels, rgi_stream_uses(operation)->resource);

    return listener != NULL && listener->imported;
}

static int
accept_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
           int result, uint32_t flags)
{
    struct rgi_task *task = rgi_task_of(operation);

    (void)flags;
    if (result == -EAGAIN)
        return RGI_STEP_INPUT;
    if (result == -EINTR || rgi_socket_accept_goes_on(result))
        return RGI_STEP_ATTEMPT;
    if (result < 0)
        return result;
    if (fcntl(result, F_GETFD) < 0)
        return -EIO; /* some kernels have returned descriptors that were none */
    if (task->room != NULL)
        rgi_endpoint_from_kernel(&task->room->address, task->room->length,
                                 &rgi_accept_of(operation)->peer);
    rgi_ring_room_give(p, task);
    if (of_import(p, operation))
        rgi_socket_defaults(result, &p->streams);
    fill(operation, result);
    return 0;
}

/* ----------------------------------------------------------------- connect */

static int
connect_open(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    const struct rgm_endpoint *endpoint = &rgi_connect_of(operation)->endpoint;
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_socket_open(endpoint, RGI_SOCKET_BLOCKING, &task->fd);

    if (status < 0)
        return status;
    task->channel->fd = task->fd;
    task->room = rgi_ring_room_take(p);
    if (task->room == NULL) {
        close(task->fd);
        return -ENOMEM;
    }
    rgi_socket_defaults(task->fd, &p->streams);
    task->room->length = rgi_endpoint_to_kernel(endpoint, &task->room->address);
    return RGI_STEP_ATTEMPT;
}

/* The socket is there, and stays: an attempt is all there is to it. */
static int
connect_over(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    task->room = rgi_ring_room_take(p);
    if (task->room == NULL)
        return -ENOMEM;
    task->room->length = rgi_endpoint_to_kernel(
        &rgi_connect_of(operation)->endpoint, &task->room->address);
    return RGI_STEP_ATTEMPT;
}

static int
import(struct rgm_operation *operation)
{
    int status = rgi_import_stream(rgi_connect_of(operation));

    if (status == 0)
        fill(operation, rgi_connect_of(operation)->given);
    return status;
}

static int
connect_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int step;

    if (rgi_connect_of(operation)->over != NULL)
        return connect_over(p, operation);
    task->channel = rgi_channel_take(&p->channels);
    if (task->channel == NULL)
        return -ENOMEM;
    step = rgi_connect_of(operation)->imports ? import(operation)
                                              : connect_open(p, operation);
    if (step < 0)
        rgi_channel_give(&p->channels, task->channel);
    return step;
}

static void
connect_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                struct io_uring_sqe *entry)
{
    struct rgi_task *task = rgi_task_of(operation);

    (void)p;
    entry->opcode = IORING_OP_CONNECT;
    entry->fd = task->fd;
    entry->addr = (uint64_t)(uintptr_t)&task->room->address;
    entry->off = task->room->length;
}

static void
connect_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    rgi_ring_room_give(p, task);
    if (rgi_connect_of(operation)->over != NULL)
        return; /* it cannot be rolled back */
    close(task->fd);
    rgi_channel_give(&p->channels, task->channel);
}

/* There is a connection. EISCONN is one that was there before, unless the
 * kernel has told us to wait. */
static int
connect_done(struct rgi_ring_provider *p, struct rgm_operation *operation,
             int result)
{
    struct rgi_task *task = rgi_task_of(operation);
    bool over = rgi_connect_of(operation)->over != NULL;

    if (over && result == -EISCONN && !task->begun)
        return -EISCONN;
    rgi_ring_room_give(p, task);
    if (!over)
        fill(operation, task->fd);
    return 0;
}

/* An interrupted connect goes on in the kernel: wait until it can be written
 * and ask again. The second answer is EISCONN, or what went wrong. */
static int
connect_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
            int result, uint32_t flags)
{
    struct rgi_task *task = rgi_task_of(operation);

    (void)flags;
    switch (result) {
    case 0:
    case -EISCONN:
        return connect_done(p, operation, result);
    case -EINTR:
    case -EALREADY:
    case -EINPROGRESS:
        task->begun = true;
        return RGI_STEP_OUTPUT;
    case -EAGAIN: /* the backlog of a Unix listener is full */
        return RGI_STEP_PAUSE;
    default:
        return result;
    }
}

/* -------------------------------------------------------------------- read */

/* Without room for a byte it waits for nothing, and takes no entry. */
static int
read_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int status = rgi_ring_use(p, operation);

    if (status == 0 && rgi_read_of(operation)->capacity_bytes == 0)
        return rgi_socket_condition(rgi_task_of(operation)->fd);
    if (status < 0)
        return status;
    rgi_fixed_choose_socket(p, rgi_task_of(operation));
    return RGI_STEP_ATTEMPT;
}

static void
read_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
             struct io_uring_sqe *entry)
{
    struct rgm_read *read = rgi_read_of(operation);
    struct rgi_task *task = rgi_task_of(operation);

    (void)p;
    entry->opcode = IORING_OP_RECV;
    entry->fd = task->fd;
    entry->addr = (uint64_t)(uintptr_t)read->memory;
    entry->len = (uint32_t)(read->capacity_bytes < TRANSFER_MAX_BYTES
                                ? read->capacity_bytes
                                : TRANSFER_MAX_BYTES);
    if (!task->channel->more && !read->urgent)
        entry->ioprio = IORING_RECVSEND_POLL_FIRST;
}

static int
read_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
         int result, uint32_t flags)
{
    struct rgm_read *read = rgi_read_of(operation);

    (void)p;
    rgi_task_of(operation)->channel->more =
        (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
    if (result == -EINTR)
        return RGI_STEP_ATTEMPT;
    if (result == -EAGAIN)
        return RGI_STEP_INPUT;
    if (result < 0)
        return result;
    read->count = (size_t)result;
    read->end = result == 0;
    return 0;
}

static int
read_pooled_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    return rgi_pooled_begin(p, operation, rgi_read_pooled_of(operation)->pool);
}

/* ------------------------------------------------------------------- write */

static void
write_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
              struct io_uring_sqe *entry)
{
    struct rgm_write *write = rgi_write_of(operation);
    struct rgi_task *task = rgi_task_of(operation);
    struct rgi_pieces pieces = rgi_write_next(write, &task->place);
    struct msghdr *message = (void *)write->header;

    entry->fd = task->fd;
    entry->msg_flags = MSG_NOSIGNAL | (write->some ? 0 : MSG_WAITALL);
    if (pieces.count == 1) {
        size_t length_bytes = pieces.first->length_bytes;

        task->no_copy = rgi_notice_begin(p, operation);
        entry->opcode =
            task->no_copy ? IORING_OP_SEND_ZC : IORING_OP_SEND;
        entry->ioprio = task->no_copy ? rgi_notice_asks(p) : 0;
        entry->addr = (uint64_t)(uintptr_t)pieces.first->data;
        entry->len =
            (uint32_t)(length_bytes < TRANSFER_MAX_BYTES ? length_bytes
                                                         : TRANSFER_MAX_BYTES);
        return;
    }
    memset(message, 0, sizeof(*message));
    message->msg_iov = (struct iovec *)(uintptr_t)pieces.first;
    message->msg_iovlen = pieces.count;
    entry->opcode = IORING_OP_SENDMSG;
    entry->addr = (uint64_t)(uintptr_t)message;
    entry->len = 1;
}

static int
write_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
          int result, uint32_t flags)
{
    struct rgm_write *write = rgi_write_of(operation);
    struct rgi_task *task = rgi_task_of(operation);

    (void)flags;
    if (result > 0)
        return rgi_write_advance(write, &task->place, (size_t)result)
                   ? 0
                   : RGI_STEP_ATTEMPT;
    if (task->no_copy && rgi_notice_copies(p, task, result))
        return RGI_STEP_ATTEMPT;
    switch (result) {
    case 0: /* not what a socket does; and it would be asked for ever */
        return -ENODATA;
    case -EINTR:
        return RGI_STEP_ATTEMPT;
    case -EAGAIN:
        return RGI_STEP_OUTPUT;
    case -ENOBUFS: /* the machine's trouble, not the connection's */
    case -ENOMEM:
        return RGI_STEP_PAUSE;
    default:
        return result;
    }
}

/* --------------------------------------------------------- shutdown, close */

static int
shutdown_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0 || task->channel->shut)
        return status;
    if (shutdown(task->fd, SHUT_WR) < 0)
        return -errno;
    task->channel->shut = true;
    return 0;
}

/* Clean-up needs no room: where there is none it is a plain call. */
static int
close_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    task->kept = rgi_fixed_take_out(p, task->channel);
    rgi_channel_give(&p->channels, task->channel);
    if (p->started < p->started_max && rgi_list_empty(&p->waiting))
        return RGI_STEP_ATTEMPT;
    return close(task->fd) < 0 ? -errno : task->kept;
}

static void
close_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
              struct io_uring_sqe *entry)
{
    (void)p;
    entry->opcode = IORING_OP_CLOSE;
    entry->fd = rgi_task_of(operation)->fd;
}

/* Never again, whatever it says: the descriptor may be somebody else's now. */
static int
close_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
          int result, uint32_t flags)
{
    (void)p;
    (void)flags;
    return result < 0 ? result : rgi_task_of(operation)->kept;
}

/* ------------------------------------------------------------------- await */

static void
await_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
              struct io_uring_sqe *entry)
{
    (void)p;
    rgi_ring_poll(entry, rgi_task_of(operation)->fd,
                  (uint32_t)rgi_socket_moment(rgi_await_of(operation)));
}

static int
await_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
          int result, uint32_t flags)
{
    (void)p;
    (void)operation;
    (void)flags;
    if (result == -EINTR || result == -EAGAIN)
        return RGI_STEP_ATTEMPT;
    return result < 0 ? result : 0;
}

int64_t
rgi_ring_transfer(struct rgi_ring_provider *p,
                  const struct rgm_transfer *transfer)
{
    const struct rgi_channel *channel =
        rgi_channel_find(&p->channels, transfer->resource);

    return channel == NULL ? -EBADF
                           : rgi_socket_transfer(channel->fd, transfer);
}

/* ---------------------------------------------------------- options, names */

static int
set_option_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgm_socket_option *option = rgi_option_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    return rgi_socket_option_set(rgi_task_of(operation)->fd, option->option,
                                 option->value);
}

static int
get_option_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgm_socket_option *option = rgi_option_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    return rgi_socket_option_get(rgi_task_of(operation)->fd, option->option,
                                 &option->value);
}

static int
names_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgm_names *names = rgi_names_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    return rgi_socket_names(rgi_task_of(operation)->fd, &names->local,
                            &names->peer);
}

/* ---------------------------------------------------------- detach, attach */

static int
detach_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status == 0)
        status = rgi_fixed_take_out(p, task->channel);
    if (status == 0)
        status = rgi_detach_let_go(operation, task->fd);
    if (status == 0)
        rgi_channel_give(&p->channels, task->channel);
    return status;
}

/* A listener that does not block, of another provider, is met by polls. */
static int
attach_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    task->channel = rgi_channel_take(&p->channels);
    if (task->channel == NULL)
        return -ENOMEM;
    task->fd = rgi_attach_claim(operation);
    if (task->fd < 0) {
        rgi_channel_give(&p->channels, task->channel);
        return task->fd;
    }
    fill(operation, task->fd);
    return 0;
}

const struct rgi_ring_kind rgi_ring_kinds[RGM_OP_KINDS_COUNT] = {
    [RGM_OP_LISTEN] = {listen_begin, NULL, NULL, NULL},
    [RGM_OP_ACCEPT] = {accept_begin, accept_prepare, accept_end, accept_undo},
    [RGM_OP_CONNECT] = {connect_begin, connect_prepare, connect_end,
                        connect_undo},
    [RGM_OP_READ] = {read_begin, read_prepare, read_end, NULL},
    [RGM_OP_READ_POOLED] = {read_pooled_begin, rgi_pooled_prepare,
                            rgi_pooled_end, rgi_pooled_undo},
    [RGM_OP_WRITE] = {write_begin, write_prepare, write_end, NULL},
    [RGM_OP_SHUTDOWN] = {shutdown_begin, NULL, NULL, NULL},
    [RGM_OP_CLOSE] = {close_begin, close_prepare, close_end, NULL},
    [RGM_OP_SET_OPTION] = {set_option_begin, NULL, NULL, NULL},
    [RGM_OP_GET_OPTION] = {get_option_begin, NULL, NULL, NULL},
    [RGM_OP_NAMES] = {names_begin, NULL, NULL, NULL},
    [RGM_OP_AWAIT] = {begin_attempt, await_prepare, await_end, NULL},
    [RGM_OP_DETACH] = {detach_begin, NULL, NULL, NULL},
    [RGM_OP_ATTACH] = {attach_begin, NULL, NULL, NULL},
};
