/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_READER_H
#define RINGMAIL_READER_H

/*
 * reader.h - input that comes in pieces of a pool, framed or read ahead.
 *
 *     open --> next, exact, ... --> close --> drop --> rgm_stream_close
 *
 * Which form is right? rgm_stream_read and rgm_stream_read_pooled are all that
 * most programs need: one read, one answer, nothing kept in between. A reader is
 * for those that want one of three things more: an exact number of bytes, with a
 * look ahead; a close that ends all reads at once; or a bounded window of pieces
 * that are received before anybody asks.
 *
 * Without a window nothing is read that nobody asked for, with one exception: a
 * piece that came while its asker cancelled is kept for the next one. So no byte
 * is ever lost. A reader that nobody waits for holds neither a slot nor a place
 * in the kernel (pieces of its window apart); its one request is made at open and
 * used again and again.
 *
 * Requests of a reader are answered in their order. An end and an error are told
 * to everybody who asks from then on, behind the pieces that came before.
 *
 * The reader belongs to the actor that opens it: a stop of that actor cancels
 * what is out and ends the input. While there is a reader, a close of its stream
 * is refused with -EBUSY. Reads of the stream beside the reader take what they
 * get; what goes where is then nobody's promise.
 */

#include <ringmail/actor.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGM_READER_WINDOW_MAX 64 /* pieces received ahead */
#define RGM_READER_PEEK_PIECES 8 /* pieces that a look ahead may need besides */

struct rgi_input;

/* Fields are the runtime's. Zero: not open. It stays where it is while requests
 * that name it are out. */
struct rgm_reader {
    struct rgm_address worker;
    struct rgi_input *input;
};

struct rgm_reader_options {
    struct rgm_pool *pool; /* of the pieces; outlives the reader. NULL: one of
                              the worker's, made with the first piece */
    uint32_t window; /* pieces received ahead, from the first request on; 0:
                        none, at most RGM_READER_WINDOW_MAX */
};

/* One piece, as it came. */
struct rgm_next {
    RGM_OPERATION_HEAD;
    struct rgm_reader *reader;
    struct rgm_lease lease; /* when home: what holds the bytes, or inactive */
    const void *data;       /* when home: the bytes, in the lease */
    size_t count;           /* when home: how many */
    bool end;               /* when home: the peer sends no more */
};

/* An exact number of bytes. */
struct rgm_exact {
    RGM_OPERATION_HEAD;
    struct rgm_reader *reader;
    void *memory;
    size_t length_bytes;
    size_t count; /* when home: bytes in memory */
    bool peek;    /* they stay in the reader */
    bool end;     /* when home: the peer sends no more, and sent nothing */
};

struct rgm_reader_close {
    RGM_OPERATION_HEAD;
    struct rgm_reader *reader;
};

/*
 * Make a reader of an open stream. Nothing is read, and no slot is taken.
 *
 * Thread:  owner, on the stream's worker.
 * Owns:    *ret_reader is the caller's to drop, before the stream is closed.
 * Returns: 0
 *          -EINVAL  no stream socket; a window that is too large; the
 *                   caller is a guest; or the handle is of another runtime
 *          -EXDEV   the stream is of another worker
 *          -EBADF   it is not open
 *          -ENOMEM  and *ret_reader untouched, as always
 */
#define rgm_reader_open(self, stream, options, ret_reader)                     \
    rgm_input_open(&(self)->actor, (stream), (options), (ret_reader))
RGM_API RGM_MUST_USE int
rgm_input_open(struct rgm_actor *self, struct rgm_stream *stream,
               const struct rgm_reader_options *options,
               struct rgm_reader *ret_reader);

/*
 * Prepare: the next piece.
 *
 * Thread: owner of the record, of any worker.
 * Owns:   the lease is the asker's when count > 0.
 * Answer: 0 with data and count, or with end; what ended the input (as
 *         recvmsg(2)); -ECANCELED with nothing taken; -EPIPE when the reader is
 *         closed or dropped, its actor has ended, or bytes of it were lost;
 *         -EBADF when it is not open.
 * Cost:   allocates nothing.
 */
RGM_API void rgm_reader_next(struct rgm_next *next, struct rgm_reader *reader);

/*
 * Prepare: exactly so many bytes, into your memory. With `exact->peek`, set
 * afterwards, they are copied and stay where they are; so many must fit into
 * RGM_READER_PEEK_PIECES pieces.
 *
 * A receive that has taken some of its bytes and then fails, is cancelled or is
 * too late has lost them, and with them the frame: from then on everything asked
 * of the reader is answered -EPIPE. Output is not concerned. A look ahead loses
 * nothing.
 *
 * Thread: owner of the record, of any worker.
 * Owns:   the memory is the operation's until the answer.
 * Answer: 0 with all of them, or with end and none; -ENODATA when the stream ends
 *         in between; -ENOBUFS when a look ahead needs more pieces than there may
 *         be; -EINVAL for memory that is none; the others as above.
 */
RGM_API void rgm_reader_exact(struct rgm_exact *exact,
                              struct rgm_reader *reader, void *memory,
                              size_t length_bytes);

/*
 * Prepare: end the input. Nothing more is received; what waits is answered
 * -EPIPE, except that a piece which came all the same is delivered to whoever was
 * first. Pieces that were handed over stay what they are. It cannot be cancelled;
 * closing again is the one thing that may follow, and is answered likewise.
 *
 * Thread: owner of the record, of any worker.
 * Answer: 0 when nothing of the reader's is out; -EBADF when it is not open.
 */
RGM_API void rgm_reader_close(struct rgm_reader_close *close,
                              struct rgm_reader *reader);

/*
 * Let go of the reader, at once as far as the caller is concerned: as
 * rgm_writer_drop. Pieces that nobody took are dropped.
 *
 * Thread:  owner, on the reader's worker.
 * Owns:    nothing is kept of the handle.
 * Returns: 0
 *          -EXDEV  the caller is of another worker, and nothing has changed
 */
#define rgm_reader_drop(self, reader) rgm_input_drop(&(self)->actor, (reader))
RGM_API int rgm_input_drop(struct rgm_actor *self, struct rgm_reader *reader);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_READER_H */
