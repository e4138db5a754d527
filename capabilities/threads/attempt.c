/* SPDX-License-Identifier: MIT */

/*
 * attempt.c - what does one try at an operation do?
 *
 * One function per kind. Every call on a socket is made non-blocking by its
 * own flag, whatever the descriptor's mode; only listeners are non-blocking
 * themselves, since accept has no such flag. EAGAIN and EINTR both mean later; of
 * them EAGAIN alone has an end that the descriptor tells.
 */

#include "capabilities/threads/attempt.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"
#include "capabilities/child.h"
#include "capabilities/datagram.h"
#include "capabilities/detach.h"
#include "capabilities/file.h"
#include "capabilities/import.h"
#include "capabilities/packet.h"
#include "capabilities/send_file.h"
#include "capabilities/socket.h"
#include "leases/pool.h"

_Static_assert(sizeof(struct rgm_vector) == sizeof(struct iovec) &&
                   offsetof(struct rgm_vector, length_bytes) ==
                       offsetof(struct iovec, iov_len),
               "a vector is what the kernel calls one");

static enum rgi_verdict
finished(struct rgi_attempt *attempt, int status)
{
    attempt->status = status;
    return RGI_FINISHED;
}

/* A call gave -1: is it too early, or is it over? */
static enum rgi_verdict
failed(struct rgi_attempt *attempt, int error)
{
    if (error == EAGAIN || error == EWOULDBLOCK)
        return RGI_LATER;
    return error == EINTR ? RGI_PAUSE : finished(attempt, -error);
}

static enum rgi_verdict
attempt_listen(struct rgm_listen *listen, struct rgi_attempt *attempt)
{
    return finished(attempt, rgi_socket_listen(listen, RGI_SOCKET_NON_BLOCKING,
                                               attempt->defaults,
                                               &attempt->made));
}

static enum rgi_verdict
attempt_accept(struct rgm_accept *record, struct rgi_attempt *attempt)
{
    struct sockaddr_storage peer;
    socklen_t length = sizeof(peer);
    int fd = accept4(attempt->uses, (struct sockaddr *)&peer, &length,
                     SOCK_CLOEXEC);

    if (fd < 0)
        return rgi_socket_accept_goes_on(-errno) ? RGI_AGAIN
                                                 : failed(attempt, errno);
    rgi_socket_defaults(fd, attempt->defaults);
    if (record->want_peer)
        rgi_endpoint_from_kernel(&peer, length, &record->peer);
    attempt->made = fd;
    return finished(attempt, 0);
}

/* ----------------------------------------------------------------- connect */

/* Of one that is open already, only the connection is made. */
static int
connect_socket(const struct rgm_connect *record,
               const struct rgi_attempt *attempt)
{
    return record->over != NULL ? attempt->uses : attempt->made;
}

static enum rgi_verdict
connect_finish(const struct rgm_connect *record, struct rgi_attempt *attempt,
               int status)
{
    if (record->over != NULL) /* it cannot be rolled back */
        return finished(attempt, status);
    if (status == 0)
        status = rgi_socket_make_blocking(attempt->made);
    if (status == 0)
        rgi_socket_defaults(attempt->made, attempt->defaults);
    attempt->connecting = false;
    return finished(attempt, status);
}

/* Returns: 0 or an errno. */
static int
connect_call(const struct rgm_connect *record,
             const struct rgi_attempt *attempt)
{
    struct sockaddr_storage address;
    socklen_t length = rgi_endpoint_to_kernel(&record->endpoint, &address);

    return connect(connect_socket(record, attempt),
                   (const struct sockaddr *)&address, length) < 0
               ? errno
               : 0;
}

/* EAGAIN is a Unix listener whose backlog is full: nothing was begun. EINTR is
 * of a connect that goes on by itself, EALREADY of one that did so before. */
static enum rgi_verdict
connect_begin(const struct rgm_connect *record, struct rgi_attempt *attempt)
{
    int error = connect_call(record, attempt);

    if (error == EAGAIN)
        return RGI_PAUSE;
    if (error != EINPROGRESS && error != EINTR && error != EALREADY)
        return connect_finish(record, attempt, -error);
    attempt->connecting = true;
    return RGI_LATER;
}

static enum rgi_verdict
connect_look(const struct rgm_connect *record, struct rgi_attempt *attempt)
{
    int fd = connect_socket(record, attempt);
    struct pollfd entry = {fd, POLLOUT, 0};
    int error;

    if (poll(&entry, 1, 0) <= 0)
        return RGI_LATER;
    if (record->over == NULL)
        return connect_finish(record, attempt, rgi_socket_error(fd));
    /* Asked again it tells how it ended, and can be connected after a failure;
     * its error alone, taken, would leave it half way. */
    error = connect_call(record, attempt);
    if (error == EALREADY || error == EINPROGRESS || error == EINTR)
        return RGI_LATER;
    return connect_finish(record, attempt, error == EISCONN ? 0 : -error);
}

static enum rgi_verdict
attempt_connect(struct rgm_connect *record, struct rgi_attempt *attempt)
{
    int status = 0;

    if (record->imports) {
        status = rgi_import_stream(record);
        attempt->made = status == 0 ? record->given : -1;
        return finished(attempt, status);
    }
    if (attempt->connecting)
        return connect_look(record, attempt);
    if (record->over == NULL && attempt->made < 0)
        status = rgi_socket_open(&record->endpoint, RGI_SOCKET_NON_BLOCKING,
                                 &attempt->made);
    return status < 0 ? finished(attempt, status)
                      : connect_begin(record, attempt);
}

/* --------------------------------------------------------------- transfers */

/* Without room for a byte it waits for nothing. */
static enum rgi_verdict
attempt_read(struct rgm_read *record, struct rgi_attempt *attempt)
{
    ssize_t count;

    if (record->capacity_bytes == 0)
        return finished(attempt, rgi_socket_condition(attempt->uses));
    count = recv(attempt->uses, record->memory, record->capacity_bytes,
                 MSG_DONTWAIT);
    if (count < 0)
        return failed(attempt, errno);
    record->count = (size_t)count;
    record->end = count == 0;
    return finished(attempt, 0);
}

/* Whoever asked for what is in the slot has it, and not the thread that is here. */
static void
note_holder(const struct rgm_operation *operation, struct rgm_lease *lease)
{
    struct rgi_holder holder = {"read", operation->request.message.from.bits};
    struct rgm_pool *pool;
    uint32_t slot;

    if (rgi_pool_slot_of(lease->block, &pool, &slot))
        rgi_pool_note(pool, slot, &holder, RGM_SLOT_LEASED);
}

/* Into a slot that is held for the length of the call only. */
static enum rgi_verdict
read_pooled_into(struct rgm_read_pooled *record, struct rgi_attempt *attempt,
                 struct rgm_lease *lease)
{
    ssize_t count = recv(attempt->uses, lease->data, lease->length_bytes,
                         MSG_DONTWAIT);
    int error = errno;

    if (count <= 0)
        rgm_lease_drop(lease);
    if (count < 0)
        return failed(attempt, error);
    record->count = (size_t)count;
    record->end = count == 0;
    if (count > 0) {
        rgi_assert(rgm_lease_truncate(lease, record->count) == 0);
        note_holder(&record->operation, lease);
        record->lease = *lease;
    }
    return finished(attempt, 0);
}

static enum rgi_verdict
attempt_read_pooled(struct rgm_read_pooled *record,
                    struct rgi_attempt *attempt)
{
    struct rgm_lease lease = {0};
    int status = rgm_pool_try_acquire(record->pool, &lease);

    attempt->starved = status == -EAGAIN;
    if (status < 0)
        return attempt->starved ? RGI_PAUSE : finished(attempt, status);
    return read_pooled_into(record, attempt, &lease);
}

/* The system is short of memory and the connection is sound: the bytes can go
 * out later, as when the socket is full. */
static bool
write_may_wait(int error)
{
    return error == ENOBUFS || error == ENOMEM;
}

/* One transfer: a write with more to say goes to the end of the line, so that
 * a fast peer does not keep a thread for itself. */
static enum rgi_verdict
attempt_write(struct rgm_write *record, struct rgi_attempt *attempt)
{
    struct rgi_pieces pieces = rgi_write_next(record, &attempt->place);
    struct msghdr header = {
        .msg_iov = (struct iovec *)(uintptr_t)pieces.first,
        .msg_iovlen = pieces.count,
    };
    ssize_t count = sendmsg(attempt->uses, &header,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

    if (count < 0)
        return write_may_wait(errno) ? RGI_PAUSE : failed(attempt, errno);
    if (count == 0) /* would go on like that for ever */
        return finished(attempt, -ENODATA);
    if (!rgi_write_advance(record, &attempt->place, (size_t)count))
        return RGI_AGAIN;
    return finished(attempt, 0);
}

/* ------------------------------------------------------------------- rest */

static enum rgi_verdict
attempt_shutdown(struct rgi_attempt *attempt)
{
    return finished(attempt, shutdown(attempt->uses, SHUT_WR) < 0 ? -errno : 0);
}

/* Never a second time: whatever close(2) says, the number is free again and may
 * be somebody else's. */
static enum rgi_verdict
attempt_close(struct rgi_attempt *attempt)
{
    return finished(attempt, close(attempt->uses) < 0 ? -errno : 0);
}

static enum rgi_verdict
attempt_option(struct rgm_socket_option *record, struct rgi_attempt *attempt)
{
    int fd = attempt->uses;
    int status = record->operation.kind == RGM_OP_SET_OPTION
                     ? rgi_socket_option_set(fd, record->option, record->value)
                     : rgi_socket_option_get(fd, record->option,
                                             &record->value);

    return finished(attempt, status);
}

static enum rgi_verdict
attempt_names(struct rgm_names *record, struct rgi_attempt *attempt)
{
    return finished(attempt, rgi_socket_names(attempt->uses, &record->local,
                                              &record->peer));
}

/* A look, and nothing taken. */
static enum rgi_verdict
attempt_await(const struct rgm_await *record, struct rgi_attempt *attempt)
{
    struct pollfd entry = {attempt->uses, rgi_socket_moment(record), 0};
    int count = poll(&entry, 1, 0);

    if (count < 0)
        return failed(attempt, errno);
    return count == 0 ? RGI_LATER : finished(attempt, 0);
}

/* An accept has no flag of its own that keeps it from waiting. */
static enum rgi_verdict
attempt_attach(struct rgm_operation *operation, struct rgi_attempt *attempt)
{
    int fd = rgi_attach_claim(operation);
    int flags;

    if (fd < 0)
        return finished(attempt, fd);
    attempt->made = fd;
    if (rgi_attach_of(operation)->detached.kind != RGI_SOCKET_LISTENER)
        return finished(attempt, 0);
    flags = fcntl(fd, F_GETFL);
    if (flags >= 0)
        (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    return finished(attempt, 0);
}

/* ------------------------------------------------------------------- files */

/* An import is a handle on what is there; nothing is opened. */
static enum rgi_verdict
attempt_import(const struct rgm_file_open *import, struct rgi_attempt *attempt)
{
    int status = rgi_file_check_import(import->descriptor);

    if (status == 0)
        attempt->made = import->descriptor;
    return finished(attempt, status);
}

/* Without O_NONBLOCK a pipe or a terminal would keep the thread. */
static int
open_within(struct rgm_file_open *record, int directory)
{
    size_t size_bytes = rgi_file_how(record, O_NONBLOCK);

    return (int)syscall(SYS_openat2, directory, record->path, record->how,
                        size_bytes);
}

static enum rgi_verdict
attempt_open(struct rgm_file_open *record, struct rgi_attempt *attempt)
{
    int fd;

    if (record->path == NULL)
        return attempt_import(record, attempt);
    if (record->within != NULL)
        fd = open_within(record, attempt->uses);
    else
        fd = open(record->path, rgi_file_flags(record) | O_NONBLOCK,
                  record->mode);
    if (fd < 0)
        return failed(attempt, errno);
    attempt->made = fd;
    return finished(attempt, 0);
}

static enum rgi_verdict
attempt_transfer(struct rgm_operation *operation, struct rgi_attempt *attempt)
{
    int64_t result = rgi_file_call(operation, attempt->uses, &attempt->place);
    int status;

    if (result < 0)
        return failed(attempt, (int)-result);
    status = rgi_file_judge(operation, &attempt->place, result);
    return status == 1 ? RGI_AGAIN : finished(attempt, status);
}

/* What was interrupted may have happened: it is not made again. */
static enum rgi_verdict
attempt_path(struct rgm_operation *operation, struct rgi_attempt *attempt)
{
    return finished(attempt,
                    rgi_file_call_status(rgi_file_call(operation, -1, NULL)));
}

static enum rgi_verdict
attempt_on_file(struct rgm_operation *operation, struct rgi_attempt *attempt)
{
    int64_t result = rgi_file_call(operation, attempt->uses, NULL);

    return result < 0 ? failed(attempt, (int)-result) : finished(attempt, 0);
}

/* ----------------------------------------------------------------- packets */

static enum rgi_verdict
attempt_packet(struct rgm_operation *operation, struct rgi_attempt *attempt)
{
    struct msghdr *header = rgi_packet_header(operation);
    int flags = rgi_packet_flags(operation) | MSG_DONTWAIT;
    bool reads = operation->kind == RGM_OP_PACKET_READ;
    ssize_t count = reads ? recvmsg(attempt->uses, header, flags)
                          : sendmsg(attempt->uses, header, flags);

    if (count < 0)
        return !reads && write_may_wait(errno) ? RGI_PAUSE
                                               : failed(attempt, errno);
    rgi_packet_done(operation, (size_t)count);
    return finished(attempt, 0);
}

/* Into a slot that is held for the length of the call only. */
static enum rgi_verdict
read_datagram_into(struct rgm_packet_read_pooled *record,
                   struct rgi_attempt *attempt, struct rgm_lease *lease)
{
    struct msghdr *header =
        rgi_datagram_header(record, lease->data, lease->length_bytes);
    ssize_t count = recvmsg(attempt->uses, header, rgi_datagram_flags(record));
    int error = errno;

    if (count < 0) {
        rgm_lease_drop(lease);
        return failed(attempt, error);
    }
    rgi_datagram_done(record, (size_t)count);
    if (record->count == 0) {
        rgm_lease_drop(lease);
    } else {
        rgi_assert(rgm_lease_truncate(lease, record->count) == 0);
        note_holder(&record->operation, lease);
    }
    record->lease = *lease;
    return finished(attempt, 0);
}

static enum rgi_verdict
attempt_datagram(struct rgm_packet_read_pooled *record,
                 struct rgi_attempt *attempt)
{
    struct rgm_lease lease = {0};
    int status = rgm_pool_try_acquire(record->pool, &lease);

    attempt->starved = status == -EAGAIN;
    if (status < 0)
        return attempt->starved ? RGI_PAUSE : finished(attempt, status);
    return read_datagram_into(record, attempt, &lease);
}

/* --------------------------------------------------------------- whole files */

/* So much in one attempt: then others have their turn. */
#define SEND_AT_ONCE_BYTES (UINT64_C(1) << 20)

/* The socket is left non-blocking: another thread may be at it, and to this
 * provider it makes no difference. */
static enum rgi_verdict
attempt_send_file(struct rgm_send_file *record, struct rgi_attempt *attempt)
{
    uint64_t left_bytes = rgi_send_file_left(record);
    int64_t sent = rgi_send_from_file(
        attempt->uses, attempt->source, record->offset_bytes + record->count,
        left_bytes < SEND_AT_ONCE_BYTES ? left_bytes : SEND_AT_ONCE_BYTES,
        RGI_SEND_LEAVE);

    if (sent < 0)
        return write_may_wait((int)-sent) ? RGI_PAUSE
                                          : failed(attempt, (int)-sent);
    if (sent == 0)
        return finished(attempt, -ENODATA); /* the file ends here */
    record->count += (uint64_t)sent;
    return rgi_send_file_left(record) > 0 ? RGI_AGAIN : finished(attempt, 0);
}

/* It never waits in the system: a cancel is never too late for that. */
static enum rgi_verdict
attempt_child(struct rgm_child_wait *wait, struct rgi_attempt *attempt)
{
    int status = rgi_child_look(wait);

    return status < 0 ? failed(attempt, -status) : finished(attempt, 0);
}

void
rgi_attempt_prepare(struct rgm_operation *operation,
                    const struct rgm_stream_defaults *defaults)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);
    const struct rgm_socket *socket = rgi_stream_uses(operation);

    memset(attempt, 0, sizeof(*attempt));
    attempt->uses = socket != NULL ? (int32_t)socket->resource : -1;
    attempt->made = -1;
    attempt->defaults = defaults;
    if (operation->kind == RGM_OP_SEND_FILE)
        attempt->source = (int32_t)rgi_send_file_source(operation)->resource;
}

enum rgi_verdict
rgi_attempt_run(struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);

    switch (operation->kind) {
    case RGM_OP_LISTEN:
        return attempt_listen(rgi_listen_of(operation), attempt);
    case RGM_OP_ACCEPT:
        return attempt_accept(rgi_accept_of(operation), attempt);
    case RGM_OP_CONNECT:
        return attempt_connect(rgi_connect_of(operation), attempt);
    case RGM_OP_READ:
        return attempt_read(rgi_read_of(operation), attempt);
    case RGM_OP_READ_POOLED:
        return attempt_read_pooled(rgi_read_pooled_of(operation), attempt);
    case RGM_OP_WRITE:
        return attempt_write(rgi_write_of(operation), attempt);
    case RGM_OP_SHUTDOWN:
        return attempt_shutdown(attempt);
    case RGM_OP_CLOSE:
        return attempt_close(attempt);
    case RGM_OP_SET_OPTION:
    case RGM_OP_GET_OPTION:
        return attempt_option(rgi_option_of(operation), attempt);
    case RGM_OP_NAMES:
        return attempt_names(rgi_names_of(operation), attempt);
    case RGM_OP_DETACH: /* its worker does it */
        return finished(attempt, 0);
    case RGM_OP_ATTACH:
        return attempt_attach(operation, attempt);
    case RGM_OP_FILE_OPEN:
        return attempt_open(rgi_open_of(operation), attempt);
    case RGM_OP_FILE_READ:
    case RGM_OP_FILE_WRITE:
        return attempt_transfer(operation, attempt);
    case RGM_OP_PATH:
        return attempt_path(operation, attempt);
    case RGM_OP_FILE_SYNC:
    case RGM_OP_FILE_STAT:
    case RGM_OP_FILE_SEEK:
    case RGM_OP_FILE_TRUNCATE:
    case RGM_OP_FILE_ALLOCATE:
    case RGM_OP_FILE_ADVISE:
    case RGM_OP_DIRECTORY_READ:
        return attempt_on_file(operation, attempt);
    case RGM_OP_PACKET_OPEN:
        return finished(attempt, rgi_packet_open(rgi_packet_open_of(operation),
                                                 RGI_SOCKET_BLOCKING,
                                                 &attempt->made));
    case RGM_OP_PACKET_READ:
    case RGM_OP_PACKET_WRITE:
        return attempt_packet(operation, attempt);
    case RGM_OP_PACKET_READ_POOLED:
        return attempt_datagram(rgi_datagram_of(operation), attempt);
    case RGM_OP_RECEIPT: /* what it is about is in line, or was: no entries */
        return finished(attempt, 0);
    case RGM_OP_AWAIT:
        return attempt_await(rgi_await_of(operation), attempt);
    case RGM_OP_CHILD_WAIT:
        return attempt_child(rgi_child_of(operation), attempt);
    case RGM_OP_SEND_FILE:
        return attempt_send_file(rgi_send_file_of(operation), attempt);
    default:
        rgi_unreachable();
    }
}

void
rgi_attempt_discard(struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);

    if (attempt->made >= 0)
        close(attempt->made);
    attempt->made = -1;
}

void
rgi_attempt_give_up(struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);

    rgi_attempt_discard(operation);
    attempt->connecting = false;
    attempt->status = -ECANCELED;
}
