/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_STREAM_H
#define RINGMAIL_STREAM_H

/*
 * stream.h - TCP and Unix stream sockets, as requests to the worker that
 * holds them.
 *
 *     rgm_listen --> rgm_accept --.
 *     rgm_connect ----------------+--> rgm_read, rgm_read_pooled, rgm_write
 *                                 '--> rgm_shutdown, rgm_close
 *
 * Preparing (the rgm_stream_* functions) has no effect; rgm_ask starts.
 * Memory and arrays an operation points to stay the operation's until its
 * answer is delivered. The handles (struct rgm_stream, struct rgm_listener)
 * are yours, are filled in by the operation, and live on one worker of one
 * runtime. Whatever actor of the process asks, of whichever runtime, that worker
 * carries it out, and the asker is answered, cancelled and stopped as with one of
 * its own; an asker that is forced to end waits for the other runtime, though. A
 * plain thread names a runtime, and is refused with -EINVAL when that is not the
 * handle's. What is left open is closed with its worker.
 *
 * Three different answers: data (count > 0), end of stream (end is true), and
 * an empty read (capacity 0: count 0, end false; it waits for nothing, and is
 * answered with the connection's error if it has one). Transfers of a read may be
 * short; rgm_stream_write writes all of it or says with `count` how much went
 * out. A success that raced a cancel is reported as the success.
 *
 * Receives are on demand: nothing is read ahead, and a connection that waits
 * holds no buffer when it reads into a pool. Who wants the opposite has a receiver
 * (receiver.h).
 *
 * Beside what each declaration lists, any answer may be -EINVAL (bad arguments,
 * or a handle whose worker or runtime has ended), -ENOTSUP (a kind the provider has not),
 * -ECANCELED (cancelled, or its actor is stopping: a close and a shutdown are
 * not), -EPIPE (asked of another worker, which stops), -ESRCH (no such worker),
 * or the error that ended the provider.
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/clock.h>
#include <ringmail/lease.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rgm_family { RGM_IPV4 = 1, RGM_IPV6 = 2, RGM_UNIX = 3 };

/* The address of a socket. */
struct rgm_endpoint {
    uint8_t family; /* enum rgm_family; 0: none */
    uint8_t reserved;
    uint16_t port;  /* in the machine's byte order; 0: chosen by the kernel */
    uint32_t scope; /* IPv6 */
    uint8_t address[16]; /* in network order; IPv4 uses the first four */
    char path[108];      /* Unix */
};

/*
 * Parse a numeric IPv4 or IPv6 address, or a path beginning with '/'.
 *
 * Thread:  any.
 * Returns: 0, or -EINVAL and *ret_endpoint untouched.
 */
RGM_API RGM_MUST_USE int rgm_endpoint_parse(const char *text, uint16_t port,
                                            struct rgm_endpoint *ret_endpoint);

/* Write "127.0.0.1:80", "[::1]:80" or a path; always ends the string.
 * Thread: any. Returns the length, or -ENOSPC. */
RGM_API int rgm_endpoint_format(const struct rgm_endpoint *endpoint,
                                char *ret_text, size_t size_bytes);

/* What a socket is to its provider. Zero: not open. */
struct rgm_socket {
    struct rgm_address worker;
    uint64_t resource;
    uint8_t open;  /* 1 while it may be used */
    uint8_t kind;  /* 1 stream, 2 listener */
    uint16_t reserved;
    uint32_t busy; /* operations that are out and point to it */
};

struct rgm_stream {
    struct rgm_socket socket;
};

struct rgm_listener {
    struct rgm_socket socket;
};

struct rgm_listen {
    RGM_OPERATION_HEAD;
    struct rgm_listener *listener;
    struct rgm_endpoint endpoint; /* when home: as bound, with its port */
    uint32_t backlog;             /* 0: the system's largest */
    bool shared_port;             /* one listener per worker on one port */
    bool imports;                 /* import.h: what it listens on is there */
    int given;                    /* of an import */
};

struct rgm_accept {
    RGM_OPERATION_HEAD;
    struct rgm_listener *listener;
    struct rgm_stream *stream;
    struct rgm_endpoint peer; /* when home, if want_peer was set */
    bool want_peer;
};

struct rgm_connect {
    RGM_OPERATION_HEAD;
    struct rgm_stream *stream;
    struct rgm_endpoint endpoint;
    struct rgm_stream *over; /* import.h: it is open already; else NULL */
    bool imports;            /* likewise: there is nothing to connect */
    int given;               /* of an import */
};

struct rgm_read {
    RGM_OPERATION_HEAD;
    struct rgm_stream *stream;
    void *memory;
    size_t capacity_bytes;
    size_t count; /* when home: bytes read */
    bool end;     /* when home: the peer sends no more */
    bool urgent;  /* urgent data is expected: tried before it waits */
};

struct rgm_read_pooled {
    RGM_OPERATION_HEAD;
    struct rgm_stream *stream;
    struct rgm_pool *pool;
    struct rgm_lease lease; /* when home: the bytes, or inactive */
    size_t count;
    bool end;
    bool unnamed; /* the worker's: it is read into the worker's own */
};

/* One piece of memory to write; the layout of struct iovec. */
struct rgm_vector {
    const void *data;
    size_t length_bytes;
};

/* Vectors handed to the kernel at once: the caller's own array, in batches. It
 * is laid out anew only while a piece is half done, so many of it at a time. */
#define RGM_VECTORS_MAX 1024
#define RGM_WRITE_WINDOW 16

struct rgm_write {
    RGM_OPERATION_HEAD;
    struct rgm_stream *stream;
    const struct rgm_vector *vectors;
    size_t vectors_count;
    size_t count;    /* when home: bytes written */
    bool some;       /* one transfer, which may be short */
    bool zero_copy;  /* of a view: from where the bytes are */
    struct rgm_vector single; /* of the one-piece form */
    struct rgm_view owned;    /* of the view form: until its bytes are out */
    struct rgm_vector window[RGM_WRITE_WINDOW]; /* the provider's */
    uint64_t header[8];                         /* the provider's */
};

struct rgm_shutdown {
    RGM_OPERATION_HEAD;
    struct rgm_stream *stream;
};

struct rgm_close {
    RGM_OPERATION_HEAD;
    struct rgm_socket *socket;
};

enum rgm_option {
    RGM_OPTION_NO_DELAY = 1,     /* TCP: 0 or 1; on by default */
    RGM_OPTION_KEEP_ALIVE,       /* 0 or 1 */
    RGM_OPTION_RECEIVE_BUFFER,   /* bytes; Linux doubles it, socket(7) */
    RGM_OPTION_SEND_BUFFER,      /* bytes; likewise */
    RGM_OPTION_LINGER_SECONDS,   /* -1: off */
    RGM_OPTION_REUSE_ADDRESS,    /* 0 or 1 */
    RGM_OPTION_REUSE_PORT,       /* 0 or 1 */
    RGM_OPTION_IPV6_ONLY,        /* IPv6: 0 or 1; not once it is bound */
    RGM_OPTION_TRANSFER_TIMEOUT_MS /* TCP: 0: the system's own */
};

/* Set or get one typed option: `value` in or out. */
struct rgm_socket_option {
    RGM_OPERATION_HEAD;
    struct rgm_socket *socket;
    uint32_t option; /* enum rgm_option */
    int32_t value;
};

struct rgm_names {
    RGM_OPERATION_HEAD;
    struct rgm_socket *socket;
    struct rgm_endpoint local; /* when home */
    struct rgm_endpoint peer;  /* when home; family 0 for a listener */
};

/*
 * Prepare: listen on the endpoint, on the worker `where`. With shared_port
 * every worker may listen on the same port and the kernel deals connections
 * out (SO_REUSEPORT, socket(7)).
 *
 * Thread: owner; the record is at home. The same for all below.
 * Answer: 0 and *listener open; -EADDRINUSE, -EADDRNOTAVAIL, -EACCES,
 *         -EMFILE, ... as bind(2) and listen(2); -EINVAL for a bad endpoint;
 *         -ENOTSUP for a shared port of a Unix socket; -EBUSY when *listener
 *         (below: *stream) is open already or being opened;
 *         *listener untouched on failure.
 */
RGM_API void rgm_stream_listen(struct rgm_listen *listen,
                               struct rgm_address where,
                               struct rgm_listener *listener,
                               const struct rgm_endpoint *endpoint,
                               bool shared_port);

/*
 * Prepare: accept one connection; it is close-on-exec and has what the runtime
 * gives to its streams (stream_defaults.h).
 *
 * Answer: 0 and *stream open on the listener's worker; -EMFILE, -ENFILE,
 *         -ENOBUFS, -ENOMEM: the connection stays in the backlog, ask again
 *         after a while; -ECANCELED; -EBADF when the listener is not open.
 *         ECONNABORTED and its like are not errors of the listener: the
 *         operation goes on waiting.
 */
RGM_API void rgm_stream_accept(struct rgm_accept *accept,
                               struct rgm_listener *listener,
                               struct rgm_stream *stream);

/*
 * Prepare: connect to the endpoint from the worker `where`. Without a deadline of
 * its own it has the runtime's (stream_defaults.h).
 *
 * Answer: 0 and *stream open; or as connect(2), and *stream untouched.
 */
RGM_API void rgm_stream_connect(struct rgm_connect *connect,
                                struct rgm_address where,
                                struct rgm_stream *stream,
                                const struct rgm_endpoint *endpoint);

/*
 * Prepare: one read into your memory, or into a slot of a pool.
 *
 * Owns:   `memory` is the operation's until the answer. A pooled read hands
 *         over a lease when count > 0; it is yours to freeze or drop.
 * Answer: 0 with count and end; -ECONNRESET and the like; -ECANCELED with
 *         nothing read; -EBADF when the stream is not open.
 *         A pool without a free slot makes the read wait. Without a pool (NULL)
 *         it is read into one of the stream's worker, which is made with the first
 *         such read (read_slots of the runtime's options); -ENOMEM when it cannot
 *         be. What is leased of it may outlive the worker.
 *
 *         `read->urgent`, set afterwards, is for peers that send urgent data
 *         (MSG_OOB), which somebody else takes out: a mark of it makes a socket
 *         look readable that is not, and the other way round, so the read asks
 *         the socket itself before every wait. It is the read's and not the
 *         stream's: with or without, the next one goes on where this one ended.
 */
RGM_API void rgm_stream_read(struct rgm_read *read, struct rgm_stream *stream,
                             void *memory, size_t capacity_bytes);
RGM_API void rgm_stream_read_pooled(struct rgm_read_pooled *read,
                                    struct rgm_stream *stream,
                                    struct rgm_pool *pool);

/*
 * Prepare: write all of one piece, or of several in order. At most one write
 * of a stream is asked at a time (a second one may interleave with it).
 * With `some` set afterwards it is one transfer, which may be short.
 *
 * Owns:   data and vectors are the operation's until the answer; it changes
 *         neither.
 * Answer: 0 and count is everything; -EPIPE, -ECONNRESET, ... with what went
 *         out in count; -ECANCELED likewise; -EINVAL when the lengths
 *         overflow. No SIGPIPE is raised.
 */
RGM_API void rgm_stream_write(struct rgm_write *write,
                              struct rgm_stream *stream, const void *data,
                              size_t length_bytes);
RGM_API void rgm_stream_write_vectors(struct rgm_write *write,
                                      struct rgm_stream *stream,
                                      const struct rgm_vector *vectors,
                                      size_t vectors_count);

/*
 * Prepare: write all bytes of a view, which the write keeps until it is over.
 * So the asker may end, or forget the record's outcome, and the bytes stay what
 * they are as long as anybody can still look at them; a slot of a pool is home by
 * the time the answer is delivered.
 *
 * Owns:   *view is emptied; `write->owned` is the same view. It is dropped when
 *         the write is over, on the stream's worker, before its answer: after
 *         success, error or cancel alike. A write that was refused, or never
 *         asked, has it still, unchanged: drop it, or move it out.
 * Answer: as above.
 */
RGM_API void rgm_stream_write_view(struct rgm_write *write,
                                   struct rgm_stream *stream,
                                   struct rgm_view *view);

/*
 * With `write->zero_copy` set afterwards, a ring may send from where the bytes are
 * instead of copying them: worth it for tens of KiB to a real network, and for
 * nothing else. The answer comes as always; the ring holds a view of its own until
 * the kernel has let go of the bytes, which may be when the peer has acknowledged
 * them, long after the write is over and the stream is closed. Nobody may write to
 * them before the last view is gone, as ever. A ring holds so many sends at most
 * (zero_copy_max); beyond that, without a view, with several pieces, and on other
 * providers the bytes are copied. A worker that ends waits a second for what it
 * still holds; after that the bytes are never released. Some devices, and loopback,
 * copy all the same: zero_copies_copied (counters.h) says how many were.
 */

/* Prepare: no more output (half-close); reading goes on. Twice is fine.
 * Answer: 0, -ENOTCONN, -EBADF. */
RGM_API void rgm_stream_shutdown(struct rgm_shutdown *shutdown,
                                 struct rgm_stream *stream);

/*
 * Prepare: close. Operations on the handle are finished (or cancelled and
 * home) first. The handle is not open any more once this is asked, whatever
 * the answer.
 *
 * Answer: 0 or the error close(2) gave, which is never retried; -EBUSY, and
 *         the handle still open, while operations on it are out;
 *         -EBADF when it was not open.
 */
RGM_API void rgm_stream_close(struct rgm_close *close,
                              struct rgm_stream *stream);
RGM_API void rgm_listener_close(struct rgm_close *close,
                                struct rgm_listener *listener);

/*
 * Close without an answer, at once as far as the caller is concerned: the
 * handle is empty afterwards. The one thing of this page that may be done in
 * an actor's `stopped`, which is where an actor that was stopped from outside
 * lets go of its connections. A handle that is not open: nothing happens.
 *
 * Owns:    nothing is kept of the handle.
 * Returns: 0, which says that it will be closed and not with what result
 *          -EBUSY   operations on it are out
 *          -EAGAIN  as many are out as may be (cleanups_max of the runtime's
 *                   options); the handle is as it was
 *          -ENOMEM  no memory for the close; the handle is as it was
 *          -EINVAL  the caller is a guest
 */
#define rgm_stream_drop(self, stream)                                         \
    rgm_socket_drop(&(self)->actor, &(stream)->socket)
#define rgm_listener_drop(self, listener)                                     \
    rgm_socket_drop(&(self)->actor, &(listener)->socket)
RGM_API int rgm_socket_drop(struct rgm_actor *self, struct rgm_socket *socket);

/*
 * Ask a prepared close, shutdown or advice (file.h) without an answer. The record
 * is copied and stays yours. What the system says of it nobody hears; until it is
 * over the handle stays where it is, and a close of it is refused as always. (A
 * close takes the handle along, as a drop does.)
 *
 * Returns: 0 when it is admitted; -EAGAIN, -ENOMEM, -EBUSY as rgm_stream_drop;
 *          -EBADF when the handle is not open; -EINVAL for any other record, bad
 *          arguments, or a guest.
 */
#define rgm_submit_cleanup(self, record)                                      \
    rgm_submit_cleanup_request(&(self)->actor, &(record)->request)
RGM_API RGM_MUST_USE int
rgm_submit_cleanup_request(struct rgm_actor *self,
                           const struct rgm_request *request);

/* Prepare: options and names. Answer: 0; -EINVAL for an option or value that
 * is none, or that the system does not take (any more); -ENOTSUP for one this
 * socket does not have, which for a packet socket and an option of TCP's is found
 * without a system call; -EBADF, also for a file. Source: socket(7), tcp(7),
 * ipv6(7). */
RGM_API void rgm_socket_set(struct rgm_socket_option *option,
                            struct rgm_socket *socket, enum rgm_option which,
                            int32_t value);
RGM_API void rgm_socket_get(struct rgm_socket_option *option,
                            struct rgm_socket *socket, enum rgm_option which);
RGM_API void rgm_socket_names(struct rgm_names *names,
                              struct rgm_socket *socket);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_STREAM_H */
