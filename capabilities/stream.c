/* SPDX-License-Identifier: MIT */

/*
 * stream.c - how are stream operations prepared and admitted?
 *
 * 1. A prepare function zeroes the record, fills it in and checks the
 *    arguments. It makes no system call and touches neither socket nor pool; a
 *    bad argument is remembered and answered when the operation is asked.
 * 2. Admission, when it is asked, looks at the sockets: open, of the right
 *    kind, on this worker, not busy. It counts the operation in `busy`.
 * 3. Retirement, at completion, counts it out.
 *
 * One table says which socket each kind uses and which handle it fills.
 */

#include "capabilities/stream.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "capabilities/datagram.h"
#include "capabilities/detach.h"
#include "capabilities/endpoint.h"
#include "capabilities/file.h"
#include "capabilities/import.h"
#include "capabilities/operation.h"
#include "capabilities/packet.h"
#include "capabilities/receiver.h"
#include "capabilities/send_file.h"

/* Late: those that wait for a peer, for as long as it likes. */
RGI_OPERATION_TYPE(listen, rgm_listen, 0);
RGI_OPERATION_TYPE(accept, rgm_accept, 1);
RGI_OPERATION_TYPE(connect, rgm_connect, 1);
RGI_OPERATION_TYPE(read, rgm_read, 1);
RGI_OPERATION_TYPE(read_pooled, rgm_read_pooled, 1);
RGI_OPERATION_TYPE(write, rgm_write, 1);
RGI_OPERATION_TYPE(shutdown, rgm_shutdown, 0);
RGI_OPERATION_TYPE(close, rgm_close, 0);
RGI_OPERATION_TYPE(set_option, rgm_socket_option, 0);
RGI_OPERATION_TYPE(get_option, rgm_socket_option, 0);
RGI_OPERATION_TYPE(names, rgm_names, 0);
RGI_OPERATION_TYPE(await, rgm_await, 1);

/* Where in a record the pointers to its sockets are; 0: it has none. */
struct shape {
    uint16_t uses;
    uint16_t fills;
    uint8_t wants; /* enum rgi_socket_kind of the used one; 0: either */
};

/* Of all records about files; file.c makes sure of it. */
#define FILE_AT offsetof(struct rgm_file_sync, file)

static const struct shape shapes[RGM_OP_KINDS_COUNT] = {
    [RGM_OP_LISTEN] = {0, offsetof(struct rgm_listen, listener), 0},
    [RGM_OP_ACCEPT] = {offsetof(struct rgm_accept, listener),
                       offsetof(struct rgm_accept, stream),
                       RGI_SOCKET_LISTENER},
    [RGM_OP_CONNECT] = {offsetof(struct rgm_connect, over),
                        offsetof(struct rgm_connect, stream),
                        RGI_SOCKET_STREAM},
    [RGM_OP_READ] = {offsetof(struct rgm_read, stream), 0, RGI_SOCKET_STREAM},
    [RGM_OP_READ_POOLED] = {offsetof(struct rgm_read_pooled, stream), 0,
                            RGI_SOCKET_STREAM},
    [RGM_OP_RECEIVE] = {offsetof(struct rgm_receiver, stream), 0,
                        RGI_SOCKET_STREAM},
    [RGM_OP_WRITE] = {offsetof(struct rgm_write, stream), 0,
                      RGI_SOCKET_STREAM},
    [RGM_OP_SHUTDOWN] = {offsetof(struct rgm_shutdown, stream), 0,
                         RGI_SOCKET_STREAM},
    [RGM_OP_CLOSE] = {offsetof(struct rgm_close, socket), 0, 0},
    [RGM_OP_SET_OPTION] = {offsetof(struct rgm_socket_option, socket), 0, 0},
    [RGM_OP_GET_OPTION] = {offsetof(struct rgm_socket_option, socket), 0, 0},
    [RGM_OP_NAMES] = {offsetof(struct rgm_names, socket), 0, 0},
    [RGM_OP_AWAIT] = {offsetof(struct rgm_await, socket), 0, 0},
    [RGM_OP_FILE_OPEN] = {offsetof(struct rgm_file_open, within), FILE_AT,
                          RGI_SOCKET_FILE},
    [RGM_OP_DETACH] = {offsetof(struct rgm_detach, socket), 0, 0},
    [RGM_OP_ATTACH] = {0, offsetof(struct rgm_attach, socket), 0},
    [RGM_OP_FILE_READ] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_WRITE] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_SYNC] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_STAT] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_SEEK] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_TRUNCATE] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_ALLOCATE] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_ADVISE] = {FILE_AT, 0, RGI_SOCKET_FILE},
    [RGM_OP_SEND_FILE] = {offsetof(struct rgm_send_file, stream), 0,
                          RGI_SOCKET_STREAM},
    [RGM_OP_DIRECTORY_READ] = {offsetof(struct rgm_directory_read, directory),
                               0, RGI_SOCKET_FILE},
    [RGM_OP_FILE_JOB] = {offsetof(struct rgm_file_job, file), 0,
                         RGI_SOCKET_FILE},
    [RGM_OP_PACKET_OPEN] = {0, offsetof(struct rgm_packet_open, packet), 0},
    [RGM_OP_PACKET_READ] = {offsetof(struct rgm_packet_read, packet), 0,
                            RGI_SOCKET_PACKET},
    [RGM_OP_PACKET_READ_POOLED] = {offsetof(struct rgm_packet_read_pooled,
                                            packet),
                                   0, RGI_SOCKET_PACKET},
    [RGM_OP_PACKET_WRITE] = {offsetof(struct rgm_packet_write, packet), 0,
                             RGI_SOCKET_PACKET},
};

/* ------------------------------------------------------------- preparation */

/* For operations on a socket: it says where they go. */
static void
prepare_front_on(struct rgm_operation *operation, enum rgm_operation_kind kind,
                 const struct rgm_message_type *type,
                 const struct rgm_socket *socket, size_t front_bytes)
{
    rgi_operation_prepare_on(operation, kind, type,
                             socket != NULL ? &socket->worker : NULL,
                             front_bytes);
}

static void
prepare_on(struct rgm_operation *operation, enum rgm_operation_kind kind,
           const struct rgm_message_type *type,
           const struct rgm_socket *socket)
{
    prepare_front_on(operation, kind, type, socket, type->size_bytes);
}

static void
refuse_if(struct rgm_operation *operation, bool bad)
{
    if (bad)
        rgi_operation_refuse(operation, -EINVAL);
}

/* A stream or listener begins with its socket; NULL stays NULL. */
#define SOCKET_OF(handle) ((handle) == NULL ? NULL : &(handle)->socket)

void
rgm_stream_listen(struct rgm_listen *listen, struct rgm_address where,
                  struct rgm_listener *listener,
                  const struct rgm_endpoint *endpoint, bool shared_port)
{
    rgi_operation_prepare(&listen->operation, RGM_OP_LISTEN, &rgi_type_listen,
                          where);
    listen->listener = listener;
    listen->shared_port = shared_port;
    refuse_if(&listen->operation,
              listener == NULL || !rgi_endpoint_is_valid(endpoint));
    if (endpoint != NULL)
        listen->endpoint = *endpoint;
}

void
rgm_stream_accept(struct rgm_accept *accept, struct rgm_listener *listener,
                  struct rgm_stream *stream)
{
    prepare_on(&accept->operation, RGM_OP_ACCEPT, &rgi_type_accept,
               SOCKET_OF(listener));
    accept->listener = listener;
    accept->stream = stream;
    refuse_if(&accept->operation, stream == NULL);
}

void
rgm_stream_connect(struct rgm_connect *connect, struct rgm_address where,
                   struct rgm_stream *stream,
                   const struct rgm_endpoint *endpoint)
{
    rgi_operation_prepare(&connect->operation, RGM_OP_CONNECT,
                          &rgi_type_connect, where);
    connect->stream = stream;
    refuse_if(&connect->operation,
              stream == NULL || !rgi_endpoint_is_valid(endpoint));
    if (endpoint != NULL)
        connect->endpoint = *endpoint;
}

void
rgm_stream_connect_over(struct rgm_connect *connect, struct rgm_stream *stream,
                        const struct rgm_endpoint *endpoint)
{
    prepare_on(&connect->operation, RGM_OP_CONNECT, &rgi_type_connect,
               SOCKET_OF(stream));
    connect->over = stream;
    refuse_if(&connect->operation, !rgi_endpoint_is_valid(endpoint));
    if (endpoint != NULL)
        connect->endpoint = *endpoint;
}

void
rgm_stream_read(struct rgm_read *read, struct rgm_stream *stream, void *memory,
                size_t capacity_bytes)
{
    prepare_on(&read->operation, RGM_OP_READ, &rgi_type_read,
               SOCKET_OF(stream));
    read->stream = stream;
    read->memory = memory;
    read->capacity_bytes = capacity_bytes;
    refuse_if(&read->operation, memory == NULL && capacity_bytes > 0);
}

void
rgm_stream_read_pooled(struct rgm_read_pooled *read, struct rgm_stream *stream,
                       struct rgm_pool *pool)
{
    prepare_on(&read->operation, RGM_OP_READ_POOLED, &rgi_type_read_pooled,
               SOCKET_OF(stream));
    read->stream = stream;
    read->pool = pool;
}

void
rgm_stream_write(struct rgm_write *write, struct rgm_stream *stream,
                 const void *data, size_t length_bytes)
{
    struct rgm_vector piece = {data, length_bytes};

    rgm_stream_write_vectors(write, stream, &piece, 1);
    write->single = piece;
    write->vectors = &write->single;
}

bool
rgi_vectors_are_valid(const struct rgm_vector *vectors, size_t vectors_count)
{
    size_t left_bytes = SIZE_MAX / 2;

    if (vectors == NULL)
        return vectors_count == 0;
    for (size_t i = 0; i < vectors_count; i++) {
        if (vectors[i].data == NULL && vectors[i].length_bytes > 0)
            return false;
        if (vectors[i].length_bytes > left_bytes)
            return false;
        left_bytes -= vectors[i].length_bytes;
    }
    return true;
}

void
rgm_stream_write_vectors(struct rgm_write *write, struct rgm_stream *stream,
                         const struct rgm_vector *vectors,
                         size_t vectors_count)
{
    /* What is behind is half of the record, and written once per request. */
    prepare_front_on(&write->operation, RGM_OP_WRITE, &rgi_type_write,
                     SOCKET_OF(stream), offsetof(struct rgm_write, window));
    write->stream = stream;
    write->vectors = vectors;
    write->vectors_count = vectors_count;
    refuse_if(&write->operation, !rgi_vectors_are_valid(vectors, vectors_count));
}

void
rgm_stream_write_view(struct rgm_write *write, struct rgm_stream *stream,
                      struct rgm_view *view)
{
    static const struct rgm_view nothing;
    struct rgm_view owned = view != NULL ? *view : nothing;

    rgm_stream_write(write, stream, owned.data, owned.length_bytes);
    refuse_if(&write->operation, view == NULL);
    write->owned = owned;
    if (view != NULL)
        *view = nothing;
}

void
rgm_stream_shutdown(struct rgm_shutdown *shutdown, struct rgm_stream *stream)
{
    prepare_on(&shutdown->operation, RGM_OP_SHUTDOWN, &rgi_type_shutdown,
               SOCKET_OF(stream));
    shutdown->stream = stream;
}

static void
close_prepare(struct rgm_close *close, struct rgm_socket *socket)
{
    prepare_on(&close->operation, RGM_OP_CLOSE, &rgi_type_close, socket);
    close->socket = socket;
}

void
rgm_stream_close(struct rgm_close *close, struct rgm_stream *stream)
{
    close_prepare(close, SOCKET_OF(stream));
}

void
rgm_listener_close(struct rgm_close *close, struct rgm_listener *listener)
{
    close_prepare(close, SOCKET_OF(listener));
}

static bool
option_is_valid(enum rgm_option which)
{
    return which >= RGM_OPTION_NO_DELAY &&
           which <= RGM_OPTION_TRANSFER_TIMEOUT_MS;
}

static bool
option_value_is_valid(enum rgm_option which, int32_t value)
{
    switch (which) {
    case RGM_OPTION_LINGER_SECONDS:
        return value >= -1;
    case RGM_OPTION_RECEIVE_BUFFER:
    case RGM_OPTION_SEND_BUFFER:
        return value > 0;
    case RGM_OPTION_TRANSFER_TIMEOUT_MS:
        return value >= 0;
    default:
        return value == 0 || value == 1;
    }
}

void
rgm_socket_set(struct rgm_socket_option *option, struct rgm_socket *socket,
               enum rgm_option which, int32_t value)
{
    prepare_on(&option->operation, RGM_OP_SET_OPTION, &rgi_type_set_option,
               socket);
    option->socket = socket;
    option->option = (uint32_t)which;
    option->value = value;
    refuse_if(&option->operation, !option_is_valid(which) ||
                                      !option_value_is_valid(which, value));
}

void
rgm_socket_get(struct rgm_socket_option *option, struct rgm_socket *socket,
               enum rgm_option which)
{
    prepare_on(&option->operation, RGM_OP_GET_OPTION, &rgi_type_get_option,
               socket);
    option->socket = socket;
    option->option = (uint32_t)which;
    refuse_if(&option->operation, !option_is_valid(which));
}

void
rgm_socket_names(struct rgm_names *names, struct rgm_socket *socket)
{
    prepare_on(&names->operation, RGM_OP_NAMES, &rgi_type_names, socket);
    names->socket = socket;
}

void
rgm_socket_await(struct rgm_await *await, struct rgm_socket *socket,
                 enum rgm_moment moment)
{
    prepare_on(&await->operation, RGM_OP_AWAIT, &rgi_type_await, socket);
    await->socket = socket;
    await->moment = (uint32_t)moment;
    refuse_if(&await->operation,
              moment != RGM_READABLE && moment != RGM_WRITABLE);
}

/* --------------------------------------------------------------- admission */

/* The pointer at `offset` of the record: to a socket, a stream or a listener,
 * which begin with one, so it is read as the bytes it is. */
static struct rgm_socket *
socket_at(const struct rgm_operation *operation, uint16_t offset)
{
    void *socket = NULL;

    if (offset != 0)
        memcpy(&socket, (const char *)operation + offset, sizeof(socket));
    return socket;
}

static struct rgm_socket *
fills(const struct rgm_operation *operation)
{
    return socket_at(operation, shapes[operation->kind].fills);
}

struct rgm_socket *
rgi_stream_uses(const struct rgm_operation *operation)
{
    return socket_at(operation, shapes[operation->kind].uses);
}

/* The second one it uses; of most there is none. */
static struct rgm_socket *
also(const struct rgm_operation *operation)
{
    if (operation->kind != RGM_OP_SEND_FILE)
        return NULL;
    return rgi_send_file_source(operation);
}

/* After which the handle is not open any more. */
static bool
is_the_last(const struct rgm_operation *operation)
{
    return operation->kind == RGM_OP_CLOSE || operation->kind == RGM_OP_DETACH;
}

/* Its worker gives it a pool when it names none. */
static bool
reads_nowhere(const struct rgm_operation *operation)
{
    return ((const struct rgm_read_pooled *)(const void *)operation)->pool ==
           NULL;
}

/* Before any system call: a file has none, TCP's are no packets'. */
static int
admit_option(const struct rgm_operation *operation,
             const struct rgm_socket *socket)
{
    const struct rgm_socket_option *option = (const void *)operation;

    if (socket->kind == RGI_SOCKET_FILE)
        return -EBADF;
    return socket->kind == RGI_SOCKET_PACKET &&
                   (option->option == RGM_OPTION_NO_DELAY ||
                    option->option == RGM_OPTION_TRANSFER_TIMEOUT_MS)
               ? -ENOTSUP
               : 0;
}

static int
admit_used(const struct rgm_operation *operation,
           const struct rgm_socket *socket)
{
    uint8_t wants = shapes[operation->kind].wants;

    if (socket->open != 1 ||
        !rgm_address_same(socket->worker, operation->request.message.to))
        return -EBADF;
    if (wants != 0 && socket->kind != wants)
        return -EBADF;
    if (operation->kind == RGM_OP_READ_POOLED && reads_nowhere(operation))
        return -EINVAL;
    if (operation->kind == RGM_OP_PACKET_READ_POOLED)
        return rgi_datagram_admit(operation);
    if (operation->kind == RGM_OP_SET_OPTION ||
        operation->kind == RGM_OP_GET_OPTION)
        return admit_option(operation, socket);
    if (is_the_last(operation) && socket->busy > 0)
        return -EBUSY;
    return 0;
}

static int
admit_second(const struct rgm_operation *operation,
             const struct rgm_socket *socket)
{
    if (socket->open != 1 || socket->kind != RGI_SOCKET_FILE ||
        !rgm_address_same(socket->worker, operation->request.message.to))
        return -EBADF;
    return 0;
}

/* What an ask before this one left in the record. */
static void
admit_clear_outputs(struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_READ) {
        rgi_read_of(operation)->count = 0;
        rgi_read_of(operation)->end = false;
    } else if (operation->kind == RGM_OP_READ_POOLED) {
        rgi_read_pooled_of(operation)->lease = (struct rgm_lease){0};
        rgi_read_pooled_of(operation)->count = 0;
        rgi_read_pooled_of(operation)->end = false;
    } else if (operation->kind == RGM_OP_WRITE) {
        rgi_write_of(operation)->count = 0;
    } else if (operation->kind == RGM_OP_PACKET_WRITE) {
        rgi_packet_write_of(operation)->count = 0;
    } else if (operation->kind == RGM_OP_PACKET_READ) {
        rgi_packet_read_of(operation)->count = 0;
        rgi_packet_read_of(operation)->length_bytes = 0;
        rgi_packet_read_of(operation)->source_length_bytes = 0;
        rgi_packet_read_of(operation)->truncated = false;
    } else if (operation->kind == RGM_OP_PACKET_READ_POOLED) {
        rgi_datagram_clear(rgi_datagram_of(operation));
    } else if (operation->kind == RGM_OP_SEND_FILE) {
        rgi_send_file_of(operation)->count = 0;
    } else if (operation->kind == RGM_OP_DETACH) {
        rgi_detach_clear(operation);
    } else if (operation->kind == RGM_OP_RECEIVE ||
               operation->kind == RGM_OP_RECEIVE_NEXT) {
        rgi_receiver_clear(operation);
    }
}

static bool
is_of_file(const struct rgm_operation *operation)
{
    return (RGI_FILE_KIND_BITS >> operation->kind & 1) != 0;
}

int
rgi_stream_admit(struct rgm_operation *operation)
{
    struct rgm_socket *used = rgi_stream_uses(operation);
    struct rgm_socket *filled = fills(operation);
    struct rgm_socket *second = also(operation);
    int status = used != NULL ? admit_used(operation, used) : 0;

    if (status < 0)
        return status;
    if (second != NULL && admit_second(operation, second) < 0)
        return -EBADF;
    if (filled != NULL && (filled->open != 0 || filled->busy != 0))
        return -EBUSY;
    if (is_of_file(operation)) {
        status = rgi_file_admit(operation);
        if (status < 0)
            return status;
    }
    if (used != NULL)
        used->busy++;
    if (second != NULL)
        second->busy++;
    if (filled != NULL)
        filled->busy++;
    if (is_the_last(operation))
        used->open = 0;
    admit_clear_outputs(operation);
    return 0;
}

static void
retire(struct rgm_socket *socket)
{
    if (socket == NULL)
        return;
    rgi_assert(socket->busy > 0);
    socket->busy--;
}

/* The handle is empty, or as it was. */
static void
retire_detach(struct rgm_operation *operation)
{
    struct rgm_socket *socket = rgi_stream_uses(operation);

    if (operation->request.message.status == 0)
        memset(socket, 0, sizeof(*socket));
    else
        socket->open = 1;
}

void
rgi_stream_retire(struct rgm_operation *operation, struct rgm_turn *turn)
{
    retire(rgi_stream_uses(operation));
    retire(also(operation));
    retire(fills(operation));
    if (operation->kind == RGM_OP_DETACH)
        retire_detach(operation);
    if (is_of_file(operation))
        rgi_file_retire(operation, turn);
}

static uint8_t
kind_filled(struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_FILE_OPEN:
        return RGI_SOCKET_FILE;
    case RGM_OP_PACKET_OPEN:
        return RGI_SOCKET_PACKET;
    case RGM_OP_LISTEN:
        return RGI_SOCKET_LISTENER;
    case RGM_OP_ATTACH:
        return rgi_attach_filled(operation);
    default:
        return RGI_SOCKET_STREAM;
    }
}

void
rgi_stream_fill(struct rgm_operation *operation, uint64_t resource)
{
    struct rgm_socket *socket = fills(operation);

    rgi_assert(socket->open == 0);
    socket->worker = operation->request.message.to;
    socket->resource = resource;
    socket->kind = kind_filled(operation);
    if (socket->kind == RGI_SOCKET_FILE)
        rgi_file_filled(operation, socket);
    socket->open = 1;
}

/* --------------------------------------------------------------- transfers */

bool
rgi_vectors_are_empty(const struct rgm_vector *vectors, size_t vectors_count)
{
    for (size_t i = 0; i < vectors_count; i++)
        if (vectors[i].length_bytes > 0)
            return false;
    return true;
}

bool
rgi_stream_is_empty(const struct rgm_operation *operation)
{
    const struct rgm_write *write = (const void *)operation;
    const struct rgm_file_transfer *transfer = (const void *)operation;

    switch (operation->kind) {
    case RGM_OP_WRITE:
        return rgi_vectors_are_empty(write->vectors, write->vectors_count);
    case RGM_OP_FILE_READ:
    case RGM_OP_FILE_WRITE:
        return rgi_vectors_are_empty(transfer->vectors, transfer->vectors_count);
    case RGM_OP_SEND_FILE:
        return rgi_send_file_left((const void *)operation) == 0;
    default:
        return false;
    }
}

/* From inside a piece on; empty ones are left out. */
static struct rgi_pieces
lay_out(const struct rgm_vector *vectors, size_t vectors_count,
        const struct rgi_write_place *place, struct rgm_vector *window)
{
    size_t offset_bytes = place->offset_bytes;
    uint32_t count = 0;

    for (size_t i = place->vector;
         i < vectors_count && count < RGM_WRITE_WINDOW; i++) {
        const struct rgm_vector *vector = &vectors[i];

        if (vector->length_bytes > offset_bytes) {
            window[count].data = (const char *)vector->data + offset_bytes;
            window[count].length_bytes = vector->length_bytes - offset_bytes;
            count++;
        }
        offset_bytes = 0;
    }
    return (struct rgi_pieces){window, count};
}

struct rgi_pieces
rgi_vectors_next(const struct rgm_vector *vectors, size_t vectors_count,
                 const struct rgi_write_place *place, struct rgm_vector *window)
{
    size_t first = place->vector;
    size_t count;

    if (place->offset_bytes != 0)
        return lay_out(vectors, vectors_count, place, window);
    while (first < vectors_count && vectors[first].length_bytes == 0)
        first++; /* nothing but these would be told as an end */
    count = vectors_count - first;
    return (struct rgi_pieces){
        &vectors[first],
        (uint32_t)(count < RGM_VECTORS_MAX ? count : RGM_VECTORS_MAX)};
}

bool
rgi_vectors_advance(const struct rgm_vector *vectors, size_t vectors_count,
                    struct rgi_write_place *place, size_t bytes)
{
    place->offset_bytes += bytes;
    while (place->vector < vectors_count &&
           place->offset_bytes >= vectors[place->vector].length_bytes) {
        place->offset_bytes -= vectors[place->vector].length_bytes;
        place->vector++;
    }
    return place->vector == vectors_count;
}

struct rgi_pieces
rgi_write_next(struct rgm_write *write, const struct rgi_write_place *place)
{
    return rgi_vectors_next(write->vectors, write->vectors_count, place,
                            write->window);
}

bool
rgi_write_advance(struct rgm_write *write, struct rgi_write_place *place,
                  size_t bytes)
{
    bool over =
        rgi_vectors_advance(write->vectors, write->vectors_count, place, bytes);

    write->count += bytes;
    return write->some || over;
}

void
rgm_operation_open(struct rgm_operation *operation, uint64_t resource)
{
    rgi_assert(fills(operation) != NULL);
    rgi_stream_fill(operation, resource);
}
