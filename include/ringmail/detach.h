/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_DETACH_H
#define RINGMAIL_DETACH_H

/*
 * detach.h - a connection leaves its worker and goes on at another.
 *
 *     rgm_stream_detach --> struct rgm_detached --> rgm_stream_attach
 *        its worker         in any message          any worker
 *
 * What is detached is a plain value: it may be copied, stored and sent. It is
 * of no worker, so it outlives the one it comes from. The first who attaches or
 * closes it has it; a copy that comes later is told -EBADF and does nothing,
 * also when the descriptor's number is somebody else's by then. What the kernel
 * has received and nobody has read goes along by itself, and so does what is
 * not sent yet. What the program has read and not used yet goes along as a view:
 * set `unread` of the value, and take it out where it arrives.
 *
 * Whoever has the value looks after it: a message that carries one and comes
 * home undelivered has it still. What nobody has attached or closed by the time
 * the runtime it comes from is destroyed is closed then. It may be attached in
 * another runtime of the process, whatever its provider, as long as that of its
 * origin is there.
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Zero: nothing. */
struct rgm_detached {
    uint64_t serial; /* 0: nothing, or not any more */
    uint64_t origin; /* the library's */
    int32_t resource; /* likewise */
    uint8_t kind;    /* 1 stream, 2 listener */
    uint8_t reserved[3];
    struct rgm_view unread; /* the program's; empty at first */
};

struct rgm_detach {
    RGM_OPERATION_HEAD;
    struct rgm_socket *socket;
    struct rgm_detached detached; /* when home with 0 */
};

struct rgm_attach {
    RGM_OPERATION_HEAD;
    struct rgm_socket *socket;
    struct rgm_detached detached; /* with an error: what it was asked for; with
                                     0: nothing, but for what is unread */
};

/*
 * Prepare: take the connection, or the listener with the connections that wait
 * in its backlog, from its worker. Operations on the handle are finished (or
 * cancelled and home) first.
 *
 * Thread: owner; the record is at home. The same for the next.
 * Owns:   with 0 the asker has detach->detached, and the handle is empty.
 * Answer: 0; -EBUSY while operations on the handle are out; -EBADF when it is
 *         not open; -EMFILE when its descriptor is 2^20 or more; -ENOMEM when it is
 *         the first of the process and 16 MiB of address space for a table cannot
 *         be had. On failure the handle is as it was, and detach->detached is nothing.
 * Cost:   no system call; one for a connection that was used much, which a ring
 *         has in a table of its own. If the kernel will not take it out of there
 *         that error is the answer.
 */
RGM_API void rgm_stream_detach(struct rgm_detach *detach,
                               struct rgm_stream *stream);
RGM_API void rgm_listener_detach(struct rgm_detach *detach,
                                 struct rgm_listener *listener);

/*
 * Prepare: open the handle, on the worker `where`, for what was detached.
 *
 * Owns:   *detached is emptied; attach->detached is the same. With 0 the
 *         connection is the handle's, and attach->detached.unread is the
 *         asker's. Asked in vain, or never, the record has all of it still: ask
 *         again, or close it.
 * Answer: 0; -EBADF when there is nothing: attached, closed, or its runtime is
 *         gone; -EINVAL when it is of the other kind; -EBUSY when the handle is
 *         open already or being opened; -ENOMEM.
 */
RGM_API void rgm_stream_attach(struct rgm_attach *attach,
                               struct rgm_address where,
                               struct rgm_stream *stream,
                               struct rgm_detached *detached);
RGM_API void rgm_listener_attach(struct rgm_attach *attach,
                                 struct rgm_address where,
                                 struct rgm_listener *listener,
                                 struct rgm_detached *detached);

/*
 * Close what is detached, drop what is unread, and empty the value. Nothing: it
 * does nothing. A connection that was told to linger (RGM_OPTION_LINGER_SECONDS)
 * blocks the caller as long as it lingers: attach it, and close it as a request.
 *
 * Thread:  any; the value is the caller's.
 * Returns: 0
 *          -EBADF  there was nothing behind it any more
 *          or the error that close(2) gave, which is never retried
 */
RGM_API int rgm_detached_close(struct rgm_detached *detached);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_DETACH_H */
