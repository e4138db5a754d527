/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_TRANSFER_H
#define RINGMAIL_TRANSFER_H

/*
 * transfer.h - reads and writes of a stream at once, and waiting for the moment.
 *
 *     try --- done, short, end, error
 *      ^  '-- -EAGAIN --> rgm_socket_await --.
 *      '-------------------------------------'
 *
 * Which form is right? An operation (rgm_stream_read, rgm_stream_write, ...)
 * keeps your memory until its answer, and is what most programs want: one ask,
 * one answer, no system call of your own thread. The forms of this page borrow
 * memory for the length of one call: it may lie on the stack, and be gone
 * afterwards. What waits in between is a request that points to the socket and
 * to nothing else; forgotten, cancelled or answered without cause, it can touch
 * no memory of yours and loses no byte. Output whose owner is to be handed over,
 * and that is to go on by itself, is writer.h's.
 *
 * The vectors of a try are never changed; you advance your own.
 *
 * Thread: owner, on the worker the handle is of.
 */

#include <ringmail/actor.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a transfer at once is to be made. The set every provider has. */
enum rgm_transfer_flag {
    RGM_TRANSFER_PEEK = 1,     /* a read that leaves the bytes where they are */
    RGM_TRANSFER_WAIT_ALL = 2, /* as much as there is: MSG_WAITALL, recv(2);
                                  nothing here ever waits for more */
    RGM_TRANSFER_NO_SIGNAL = 4 /* no SIGPIPE: never raised here anyway */
};

/*
 * Read what is there, now: one receive that does not wait, whatever mode the
 * descriptor is in (recvmsg(2)).
 *
 * Thread:  owner, on the stream's worker.
 * Owns:    memory and vectors stay the caller's; nothing is kept of them.
 * Returns: 0 with *ret_count bytes, which may be few, and *ret_end: the peer
 *          sends no more; a capacity of nothing gives 0 bytes and no end.
 *          -EAGAIN   nothing is there: rgm_socket_await, and try again
 *          -EINVAL   a flag that is none, or memory that is none; the caller is
 *                    a guest; or the handle is of another runtime
 *          -EXDEV    the handle is of another worker
 *          -EBADF    it is not open, or not a stream
 *          -ENOTSUP  the provider transfers nothing at once
 *          -ECONNRESET, ... as recvmsg(2)
 *          Outputs are untouched on failure. More than 1,024 vectors: the first
 *          1,024 are used.
 * Cost:    one system call; no request, no place in the kernel, no allocation.
 */
#define rgm_stream_try_read(self, stream, memory, capacity_bytes, flags,      \
                            ret_count, ret_end)                               \
    rgm_transfer_read(&(self)->actor, (stream), (memory), (capacity_bytes),   \
                      (flags), (ret_count), (ret_end))
#define rgm_stream_try_read_vectors(self, stream, vectors, vectors_count,     \
                                    ret_count, ret_end)                       \
    rgm_transfer_read_vectors(&(self)->actor, (stream), (vectors),            \
                              (vectors_count), (ret_count), (ret_end))
RGM_API RGM_MUST_USE int
rgm_transfer_read(struct rgm_actor *self, struct rgm_stream *stream,
                  void *memory, size_t capacity_bytes, uint32_t flags,
                  size_t *ret_count, bool *ret_end);
RGM_API RGM_MUST_USE int
rgm_transfer_read_vectors(struct rgm_actor *self, struct rgm_stream *stream,
                          const struct rgm_vector *vectors,
                          size_t vectors_count, size_t *ret_count,
                          bool *ret_end);

/*
 * Write what goes, now: one send that does not wait (sendmsg(2)).
 *
 * A write that is out for the same stream, or a writer with unfinished output,
 * has its own order: what is written here may land between its pieces. A
 * writer's own form (writer.h) keeps to the end of its output.
 *
 * Thread:  owner, on the stream's worker.
 * Owns:    data and vectors stay the caller's; nothing is kept of them.
 * Returns: 0 with *ret_count bytes, which may be few
 *          -EAGAIN   nothing goes now: rgm_socket_await, and try again
 *          -EINVAL   as above; RGM_TRANSFER_PEEK, too, is none of a write
 *          -EXDEV, -EBADF, -ENOTSUP as above
 *          -EPIPE, -ECONNRESET, ... as sendmsg(2), without a signal
 * Cost:    as above.
 */
#define rgm_stream_try_write(self, stream, data, length_bytes, flags,         \
                             ret_count)                                       \
    rgm_transfer_write(&(self)->actor, (stream), (data), (length_bytes),      \
                       (flags), (ret_count))
#define rgm_stream_try_write_vectors(self, stream, vectors, vectors_count,    \
                                     ret_count)                               \
    rgm_transfer_write_vectors(&(self)->actor, (stream), (vectors),           \
                               (vectors_count), (ret_count))
RGM_API RGM_MUST_USE int
rgm_transfer_write(struct rgm_actor *self, struct rgm_stream *stream,
                   const void *data, size_t length_bytes, uint32_t flags,
                   size_t *ret_count);
RGM_API RGM_MUST_USE int
rgm_transfer_write_vectors(struct rgm_actor *self, struct rgm_stream *stream,
                           const struct rgm_vector *vectors,
                           size_t vectors_count, size_t *ret_count);

enum rgm_moment {
    RGM_READABLE = 1, /* data, an end, an error, or a connection to accept */
    RGM_WRITABLE = 2
};

/* A wait for the moment at which a socket can be used. */
struct rgm_await {
    RGM_OPERATION_HEAD;
    struct rgm_socket *socket;
    uint32_t moment; /* enum rgm_moment */
};

/*
 * Prepare: wait until the socket (of a stream, listener or packet socket) looks
 * readable or writable. It takes nothing from the socket, and remembers nothing:
 * asked twice with one byte there, it answers twice. It may answer without
 * cause, so what follows is a try like any other. Source: poll(2), POLLIN and
 * POLLOUT.
 *
 * Thread: owner; the record is at home.
 * Answer: 0; -ECANCELED; -EINVAL for another moment; -EBADF when it is not open;
 *         the others of stream.h.
 */
RGM_API void rgm_socket_await(struct rgm_await *await,
                              struct rgm_socket *socket,
                              enum rgm_moment moment);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_TRANSFER_H */
