/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_STREAM_H
#define CAPABILITIES_STREAM_H

/*
 * stream.h - what do all providers do alike with stream operations?
 *
 * Admission (is the socket open, here, and not busy?) and the bookkeeping of
 * how much of a write has gone out. No system calls; those that both kernel
 * providers share are in capabilities/socket.h.
 */

#include <ringmail/stream.h>
#include <ringmail/transfer.h>

enum rgi_socket_kind {
    RGI_SOCKET_STREAM = 1,
    RGI_SOCKET_LISTENER = 2,
    RGI_SOCKET_FILE = 3,
    RGI_SOCKET_PACKET = 4
};

/* The kinds of file.h, as bits. */
#define RGI_FILE_KIND_BITS                                                    \
    ((UINT64_C(1) << RGM_OP_FILE_OPEN) | (UINT64_C(1) << RGM_OP_FILE_READ) |  \
     (UINT64_C(1) << RGM_OP_FILE_WRITE) | (UINT64_C(1) << RGM_OP_FILE_SYNC) | \
     (UINT64_C(1) << RGM_OP_FILE_STAT) | (UINT64_C(1) << RGM_OP_FILE_SEEK) |  \
     (UINT64_C(1) << RGM_OP_FILE_TRUNCATE) |                                  \
     (UINT64_C(1) << RGM_OP_FILE_ALLOCATE) |                                  \
     (UINT64_C(1) << RGM_OP_FILE_ADVISE) | (UINT64_C(1) << RGM_OP_PATH) |     \
     (UINT64_C(1) << RGM_OP_DIRECTORY_READ))

/* The record of a stream operation. */
#define rgi_listen_of(operation) ((struct rgm_listen *)(void *)(operation))
#define rgi_accept_of(operation) ((struct rgm_accept *)(void *)(operation))
#define rgi_connect_of(operation) ((struct rgm_connect *)(void *)(operation))
#define rgi_read_of(operation) ((struct rgm_read *)(void *)(operation))
#define rgi_read_pooled_of(operation)                                         \
    ((struct rgm_read_pooled *)(void *)(operation))
#define rgi_write_of(operation) ((struct rgm_write *)(void *)(operation))
#define rgi_close_of(operation) ((struct rgm_close *)(void *)(operation))
#define rgi_option_of(operation)                                              \
    ((struct rgm_socket_option *)(void *)(operation))
#define rgi_await_of(operation) ((struct rgm_await *)(void *)(operation))
#define rgi_names_of(operation) ((struct rgm_names *)(void *)(operation))

/*
 * Called by rgi_operation_start before the provider sees the operation: checks
 * its sockets, counts it in their `busy`, clears the outputs of an earlier ask.
 * A close that is admitted finds the handle not open, its resource still there.
 * Returns: 0; -EBADF, -EBUSY or -EINVAL and nothing changed.
 */
RGM_MUST_USE int rgi_stream_admit(struct rgm_operation *operation);

/* Called by rgm_operation_complete: the sockets are no longer busy with it.
 * What ends because of that goes into the list. */
void rgi_stream_retire(struct rgm_operation *operation, struct rgm_turn *turn);

/* The socket an admitted operation uses; NULL for those that make one. */
struct rgm_socket *rgi_stream_uses(const struct rgm_operation *operation);

/* Opens the handle that a listen, accept or connect fills. To be called on the
 * owner's thread, just before it is completed with 0. */
void rgi_stream_fill(struct rgm_operation *operation, uint64_t resource);

/* Whether it is over before it begins: it has no bytes. Not so the read of a
 * stream, which tells of the connection all the same. */
bool rgi_stream_is_empty(const struct rgm_operation *operation);

/* Whether the pieces are memory, and a count of their bytes is a count. */
bool rgi_vectors_are_valid(const struct rgm_vector *vectors,
                           size_t vectors_count);

/* Whether they have no bytes. */
bool rgi_vectors_are_empty(const struct rgm_vector *vectors,
                           size_t vectors_count);

/* How far a write has got, beside write->count. Zero at the beginning. */
struct rgi_write_place {
    uint64_t vector;       /* the first that is not all written */
    uint64_t offset_bytes; /* written of it */
};

/* What the next attempt hands to the kernel. */
struct rgi_pieces {
    const struct rgm_vector *first;
    uint32_t count; /* 0: nothing is left */
};

/*
 * What is left from a place on, up to RGM_VECTORS_MAX pieces, the first of which
 * is not empty: the caller's array as it is, or, where the place is inside a
 * piece, `window` (RGM_WRITE_WINDOW), which is laid out for that.
 */
struct rgi_pieces rgi_vectors_next(const struct rgm_vector *vectors,
                                   size_t vectors_count,
                                   const struct rgi_write_place *place,
                                   struct rgm_vector *window);

/* Moves the place on. Returns: whether it is at the end. */
bool rgi_vectors_advance(const struct rgm_vector *vectors,
                         size_t vectors_count, struct rgi_write_place *place,
                         size_t bytes);

/* The same for a write. */
struct rgi_pieces rgi_write_next(struct rgm_write *write,
                                 const struct rgi_write_place *place);

/* Counts bytes that have gone out. Returns: whether the write is over. */
bool rgi_write_advance(struct rgm_write *write, struct rgi_write_place *place,
                       size_t bytes);

#endif /* CAPABILITIES_STREAM_H */
