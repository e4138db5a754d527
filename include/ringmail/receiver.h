/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_RECEIVER_H
#define RINGMAIL_RECEIVER_H

/*
 * receiver.h - input that the kernel puts into a pool by itself, ahead of those
 * who ask for it.
 *
 *     rgm_stream_receive --- out ------------------------------> home
 *           rgm_receiver_next --> a view, a view, ... the end --'
 *
 * A receiver is an operation that lasts. While it is out the free slots of its
 * pool are the kernel's, and one request of the kernel's fills them, one after
 * the other, with what the peer sends. `rgm_receiver_next` asks for the next piece
 * as an immutable view. A slot is the kernel's again when the last view of it is
 * dropped, on whatever thread. When the pool has none left the receiver is
 * dormant: it costs no time, nothing grows, and the peer is held up by its own
 * window until a view is dropped.
 *
 * Which form is right? rgm_stream_read and rgm_stream_read_pooled are for most
 * programs: nothing is received that nobody asked for, and a connection that
 * waits holds no slot. A receiver is for few connections that speak much: it
 * spares an entry and an answer's way into the kernel for each piece, and pays
 * with a pool of its own, which its peer can fill.
 *
 * It is over when its end has been told: the end of the stream, or an error,
 * comes behind the pieces that came before, to all who wait for a piece; then the
 * receiver is answered likewise. To end it before that, cancel it, as any request.
 * Pieces nobody has asked for are dropped then, and what had come into the socket
 * since is there for other reads.
 *
 * On a ring only: other providers have not these kinds of operation, and answer
 * -ENOTSUP, as a ring does on Linux before 6.0.
 */

#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Stays where it is while it is out, or a request that names it is. */
struct rgm_receiver {
    RGM_OPERATION_HEAD;
    struct rgm_stream *stream;
    struct rgm_pool *pool;
    struct rgm_address worker; /* private */
    void *source;              /* the provider's while it is out */
    uint32_t queued_max; /* the most pieces that waited to be asked for, so far;
                            the owner of the stream's worker may look */
};

/* One piece, as it came. */
struct rgm_received {
    RGM_OPERATION_HEAD;
    struct rgm_receiver *receiver;
    struct rgm_view view; /* when home: the bytes, or empty */
    size_t count;         /* when home: how many */
    bool end;             /* when home: the peer sends no more */
};

/*
 * Prepare: receive from a stream into a pool until the end. One receiver of a
 * stream is out at a time; reads beside it take what they get, and what goes where
 * is then nobody's promise.
 *
 * The pool is best the receiver's alone: it takes all slots that are free, up to
 * 32,768, and gives none back before its end. As many pieces wait for those who
 * ask as the pool has slots. From its first entry to its answer, dormant or not,
 * a receiver takes up one place among the operations in the kernel
 * (in_flight_max).
 *
 * Thread: owner; the record is at home.
 * Owns:   the pool may be destroyed while the receiver is out: what is received
 *         already is told, then the end is -EPIPE.
 * Answer: 0 when the end of the stream has been told; what ended the input (as
 *         recvmsg(2)), likewise; -ECANCELED; -ETIMEDOUT; -EBADF when the stream is
 *         not open; -EBUSY when a receiver of it is out; -EINVAL without a pool;
 *         -EPIPE when the pool is closed; -ENOMEM: no memory, here or where the
 *         kernel keeps the queue of slots (locked memory, a page for each 256);
 *         -ENOBUFS: too many wait for the pool.
 *         The stream can neither be closed nor detached before (-EBUSY).
 * Cost:   three system calls, two at its begin and one at its end, and an allocation
 *         of 40 bytes per slot. Then one entry of the ring until the pool is
 *         exhausted; on a Unix socket one for each piece.
 */
RGM_API void rgm_stream_receive(struct rgm_receiver *receiver,
                                struct rgm_stream *stream,
                                struct rgm_pool *pool);

/*
 * Prepare: the next piece. Several may wait; they are answered in the order asked.
 *
 * A cancel of one that waits ends what the kernel has begun; it is answered when
 * that has ended, and not before, because what comes until then is the piece it
 * waits for. The receiver goes on with whoever waits, or asks next.
 *
 * Thread: owner of the record, of any worker.
 * Owns:   the view is the asker's when count > 0. A view of one byte keeps the
 *         whole slot.
 * Answer: 0 with the view and count, or with end; what ended the input;
 *         -ECANCELED with nothing taken; -EPIPE when the receiver is not out
 *         (any more).
 * Cost:   allocates nothing, and asks the kernel nothing.
 */
RGM_API void rgm_receiver_next(struct rgm_received *received,
                               struct rgm_receiver *receiver);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_RECEIVER_H */
