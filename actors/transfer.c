/* SPDX-License-Identifier: MIT */

/*
 * transfer.c - how does an actor read or write without asking?
 *
 * The arguments are checked, the handle is compared with the worker that runs,
 * and its provider makes one transfer in the call. No request, no place among
 * those in the kernel, no message: the worker does not learn of it.
 */

#include <ringmail/transfer.h>

#include <errno.h>

#include "actors/worker.h"
#include "capabilities/stream.h"

/* More than the kernel takes in one call are an error there: IOV_MAX. */
#define VECTORS_MAX 1024u

#define READ_FLAGS                                                             \
    (RGM_TRANSFER_PEEK | RGM_TRANSFER_WAIT_ALL | RGM_TRANSFER_NO_SIGNAL)
#define WRITE_FLAGS (RGM_TRANSFER_WAIT_ALL | RGM_TRANSFER_NO_SIGNAL)

int
rgi_transfer_check(const struct rgm_worker *worker,
                   const struct rgm_socket *socket)
{
    if (socket->open != 1 || socket->kind != RGI_SOCKET_STREAM)
        return -EBADF;
    if (rgm_address_worker(socket->worker) != worker->number)
        return -EXDEV;
    return rgi_handle_is_here(worker, socket->worker) ? 0 : -EINVAL;
}

int64_t
rgi_transfer(struct rgm_worker *worker, const struct rgm_socket *socket,
             struct rgm_transfer *transfer)
{
    int status = rgi_transfer_check(worker, socket);
    int64_t count;

    if (status < 0)
        return status;
    if (worker->failure != 0)
        return worker->failure;
    if (worker->provider->ops->transfer == NULL)
        return -ENOTSUP;
    transfer->resource = socket->resource;
    count = worker->provider->ops->transfer(worker->provider, transfer);
    if (count >= 0 && transfer->writes)
        rgi_traffic_write(worker, (uint64_t)count);
    else if (count >= 0 && !(transfer->flags & RGM_TRANSFER_PEEK))
        rgi_traffic_read(worker, (uint64_t)count);
    return count;
}

/* Returns: bytes, or a negative errno. *ret_empty: there was nothing to do. */
static int64_t
make(struct rgm_actor *self, const struct rgm_stream *stream,
     const struct rgm_vector *vectors, size_t vectors_count, uint32_t flags,
     bool writes, bool *ret_empty)
{
    struct rgm_worker *worker = self->worker;
    struct rgm_transfer transfer = {
        .vectors = vectors,
        .vectors_count = (uint32_t)(vectors_count < VECTORS_MAX ? vectors_count
                                                                : VECTORS_MAX),
        .flags = flags,
        .writes = writes,
    };
    int status;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest || stream == NULL ||
        (flags & ~(uint32_t)(writes ? WRITE_FLAGS : READ_FLAGS)) != 0 ||
        !rgi_vectors_are_valid(vectors, vectors_count))
        return -EINVAL;
    status = rgi_transfer_check(worker, &stream->socket);
    *ret_empty = rgi_vectors_are_empty(vectors, transfer.vectors_count);
    if (status < 0 || *ret_empty)
        return status;
    return rgi_transfer(worker, &stream->socket, &transfer);
}

static int
read_pieces(struct rgm_actor *self, struct rgm_stream *stream,
            const struct rgm_vector *vectors, size_t vectors_count,
            uint32_t flags, size_t *ret_count, bool *ret_end)
{
    bool empty;
    int64_t count =
        make(self, stream, vectors, vectors_count, flags, false, &empty);

    if (count < 0)
        return (int)count;
    *ret_count = (size_t)count;
    *ret_end = count == 0 && !empty;
    return 0;
}

static int
write_pieces(struct rgm_actor *self, struct rgm_stream *stream,
             const struct rgm_vector *vectors, size_t vectors_count,
             uint32_t flags, size_t *ret_count)
{
    bool empty;
    int64_t count =
        make(self, stream, vectors, vectors_count, flags, true, &empty);

    if (count < 0)
        return (int)count;
    *ret_count = (size_t)count;
    return 0;
}

int
rgm_transfer_read(struct rgm_actor *self, struct rgm_stream *stream,
                  void *memory, size_t capacity_bytes, uint32_t flags,
                  size_t *ret_count, bool *ret_end)
{
    const struct rgm_vector piece = {memory, capacity_bytes};

    return read_pieces(self, stream, &piece, 1, flags, ret_count, ret_end);
}

int
rgm_transfer_read_vectors(struct rgm_actor *self, struct rgm_stream *stream,
                          const struct rgm_vector *vectors,
                          size_t vectors_count, size_t *ret_count,
                          bool *ret_end)
{
    return read_pieces(self, stream, vectors, vectors_count, 0, ret_count,
                       ret_end);
}

int
rgm_transfer_write(struct rgm_actor *self, struct rgm_stream *stream,
                   const void *data, size_t length_bytes, uint32_t flags,
                   size_t *ret_count)
{
    const struct rgm_vector piece = {data, length_bytes};

    return write_pieces(self, stream, &piece, 1, flags, ret_count);
}

int
rgm_transfer_write_vectors(struct rgm_actor *self, struct rgm_stream *stream,
                           const struct rgm_vector *vectors,
                           size_t vectors_count, size_t *ret_count)
{
    return write_pieces(self, stream, vectors, vectors_count, 0, ret_count);
}
