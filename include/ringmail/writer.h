/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_WRITER_H
#define RINGMAIL_WRITER_H

/*
 * writer.h - output that is handed over, and goes on by itself.
 *
 *     open --> submit, submit, ... --> flush --> close --> drop --> rgm_stream_close
 *                 |  '-- waits while the one before it is unfinished
 *                 '-- answered when the output has it, not when it is sent
 *
 * Which form is right? rgm_stream_write answers when everything is out, and
 * that is what most programs want to know. With a writer the answer says that
 * the bytes are the writer's now: the next piece can be made while they go out,
 * and nobody has to come back for them. rgm_stream_try_write is for bytes that
 * are not to be handed over at all.
 *
 * Of a writer at most one submitted piece is unfinished; a submit waits for the
 * piece before it, and takes its own as a whole. A piece that can go out at once
 * does so in one system call, and no request is made for it; otherwise it is a
 * write of the worker's, and its submit is answered when the kernel has seen its
 * first entry, not before. The view of a piece is dropped the moment its bytes
 * are out, whoever has looked.
 *
 * A failure after a piece was taken ends the output. It is told by the next
 * flush, or by submits, which from then on come back with their views and
 * nothing of them sent. Two writers of one stream have each their own order.
 *
 * The writer belongs to the actor that opens it: a stop of that actor cancels
 * what is unfinished, like everything it has asked, and ends the output. While
 * there is a writer, a close of its stream is refused with -EBUSY.
 */

#include <ringmail/actor.h>
#include <ringmail/scope.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgi_output;

/* Fields are the runtime's. Zero: not open. It stays where it is while requests
 * that name it are out. */
struct rgm_writer {
    struct rgm_address worker;
    struct rgi_output *output;
};

struct rgm_submit {
    RGM_OPERATION_HEAD;
    struct rgm_writer *writer;
    struct rgm_view owned;   /* the piece, until the writer has it */
    struct rgm_scope *scope; /* the write's, once accepted; NULL: none */
};

struct rgm_flush {
    RGM_OPERATION_HEAD;
    struct rgm_writer *writer;
};

struct rgm_writer_close {
    RGM_OPERATION_HEAD;
    struct rgm_writer *writer;
};

/*
 * Make a writer of an open stream. Nothing is sent.
 *
 * Thread:  owner, on the stream's worker.
 * Owns:    *ret_writer is the caller's to drop, before the stream is closed.
 * Returns: 0
 *          -EINVAL  no stream socket (a listener, a datagram socket); the caller
 *                   is a guest; or the handle is of another runtime
 *          -EXDEV   the stream is of another worker
 *          -EBADF   it is not open
 *          -ENOMEM  and *ret_writer untouched, as always
 * Cost:    a block of the worker's slab; no system call.
 */
#define rgm_writer_open(self, stream, ret_writer)                              \
    rgm_output_open(&(self)->actor, (stream), (ret_writer))
RGM_API RGM_MUST_USE int rgm_output_open(struct rgm_actor *self,
                                         struct rgm_stream *stream,
                                         struct rgm_writer *ret_writer);

/*
 * From now on pieces of so many bytes and more are sent without a copy, where that
 * is possible (rgm_stream_write_view says what it means): they are not tried at
 * once, and a writer goes on with its next piece while the kernel may still hold
 * this one. 0, as at first: none. A writer that is not open: nothing happens.
 *
 * Thread: owner, on the writer's worker.
 */
#define rgm_writer_zero_copy(self, writer, least_bytes)                        \
    rgm_output_zero_copy(&(self)->actor, (writer), (least_bytes))
RGM_API void rgm_output_zero_copy(struct rgm_actor *self,
                                  struct rgm_writer *writer,
                                  size_t least_bytes);

/*
 * Prepare: hand a piece over. `submit->scope`, set afterwards, is a scope of the
 * actor that opened the writer; the write of this piece will be in it, so that a
 * cancel of the scope reaches it also after the answer. A write that is cancelled
 * half-way ends the output.
 *
 * Thread: owner of the record, of any worker.
 * Owns:   *view is emptied, submit->owned is the same view. A submit that is
 *         answered 0 has none any more; one that is refused, or was cancelled
 *         before its turn, has it still, unchanged and with nothing of it sent:
 *         drop it or move it out.
 * Answer: 0; -ECANCELED before it was taken; what ended the output before (as of
 *         write(2), or -ECANCELED); -EPIPE when the writer is closed, dropped, or
 *         its actor has ended; -EBADF when it is not open; -EINVAL for a scope
 *         that is not the opener's.
 */
RGM_API void rgm_writer_submit(struct rgm_submit *submit,
                               struct rgm_writer *writer,
                               struct rgm_view *view);

/*
 * Prepare: wait until everything submitted before is in the socket. Whether the
 * peer has got it is another question. Cancelling ends the wait, not the output.
 *
 * Thread: owner of the record, of any worker.
 * Answer: 0; what ended the output; -ECANCELED; -EPIPE, -EBADF as above.
 */
RGM_API void rgm_writer_flush(struct rgm_flush *flush,
                              struct rgm_writer *writer);

/*
 * Prepare: end the output. From the ask on, submits and flushes are refused, and
 * those that wait come back; an unfinished write is cancelled, and what of it
 * was not out yet never will be. It is no flush and no half-close: the stream is
 * as open as before. It cannot be cancelled. Closing again is the one thing that
 * may follow, and is answered likewise.
 *
 * Thread: owner of the record, of any worker.
 * Answer: 0 when nothing of the writer's is out; or the error that ended the
 *         output, if nobody was told it yet; -EBADF when it is not open.
 */
RGM_API void rgm_writer_close(struct rgm_writer_close *close,
                              struct rgm_writer *writer);

/*
 * Let go of the writer, at once as far as the caller is concerned. An unfinished
 * write is cancelled and finishes by itself; until then a close of the stream is
 * refused with -EBUSY. What waits in line comes back with -EPIPE. May be called
 * in `stopped`. One that is not open: nothing happens.
 *
 * Thread:  owner, on the writer's worker.
 * Owns:    nothing is kept of the handle.
 * Returns: 0
 *          -EXDEV  the caller is of another worker, and nothing has changed
 */
#define rgm_writer_drop(self, writer) rgm_output_drop(&(self)->actor, (writer))
RGM_API int rgm_output_drop(struct rgm_actor *self, struct rgm_writer *writer);

/*
 * Write borrowed bytes behind the output, now, in one transfer that may be short.
 * While something is unfinished or in line it is -EAGAIN: a flush is the way to
 * wait for that, and rgm_socket_await for a full socket.
 *
 * Thread:  owner, on the writer's worker.
 * Owns:    nothing is kept of data and vectors.
 * Returns: as rgm_stream_try_write; besides, what ended the output, and -EPIPE
 *          when it is closed.
 */
#define rgm_writer_try_write(self, writer, data, length_bytes, flags,          \
                             ret_count)                                        \
    rgm_output_write(&(self)->actor, (writer), (data), (length_bytes),         \
                     (flags), (ret_count))
#define rgm_writer_try_write_vectors(self, writer, vectors, vectors_count,     \
                                     ret_count)                                \
    rgm_output_write_vectors(&(self)->actor, (writer), (vectors),              \
                             (vectors_count), (ret_count))
RGM_API RGM_MUST_USE int
rgm_output_write(struct rgm_actor *self, struct rgm_writer *writer,
                 const void *data, size_t length_bytes, uint32_t flags,
                 size_t *ret_count);
RGM_API RGM_MUST_USE int
rgm_output_write_vectors(struct rgm_actor *self, struct rgm_writer *writer,
                         const struct rgm_vector *vectors, size_t vectors_count,
                         size_t *ret_count);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_WRITER_H */
