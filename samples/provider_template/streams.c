/* SPDX-License-Identifier: MIT */

/* streams.c - listeners, and connections that are two pipes. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "samples/provider_template/parts.h"

#define PEER_GUARD_S 60

/* -------------------------------------------------------------------- pipes */

static size_t
pipe_put(struct memory_pipe *pipe, const void *data, size_t length_bytes)
{
    size_t room = MEMORY_PIPE_BYTES - pipe->count;
    size_t count = length_bytes < room ? length_bytes : room;

    for (size_t i = 0; i < count; i++)
        pipe->bytes[(pipe->first + pipe->count + i) % MEMORY_PIPE_BYTES] =
            ((const unsigned char *)data)[i];
    pipe->count += count;
    return count;
}

static size_t
pipe_get(struct memory_pipe *pipe, void *memory, size_t capacity_bytes)
{
    size_t count = capacity_bytes < pipe->count ? capacity_bytes : pipe->count;

    for (size_t i = 0; i < count; i++)
        ((unsigned char *)memory)[i] =
            pipe->bytes[(pipe->first + i) % MEMORY_PIPE_BYTES];
    pipe->first = (pipe->first + count) % MEMORY_PIPE_BYTES;
    pipe->count -= count;
    return count;
}

/* -------------------------------------------------------------- connections */

static struct memory_listener *
listener_at(struct memory_world *world, uint16_t port)
{
    struct memory_listener *listener = world->listeners;

    while (listener != NULL && listener->port != port)
        listener = listener->next;
    return listener;
}

static int
listen_on(struct memory_world *world, struct rgm_endpoint *endpoint,
          struct memory_handle **ret_handle)
{
    struct memory_listener *listener;
    struct memory_handle *handle;

    if (endpoint->port == 0)
        endpoint->port = ++world->last_port;
    if (listener_at(world, endpoint->port) != NULL)
        return -EADDRINUSE;
    listener = calloc(1, sizeof(*listener));
    handle =
        listener != NULL ? memory_handle_new(world, MEMORY_LISTENER) : NULL;
    if (handle == NULL) {
        free(listener);
        return -ENOMEM;
    }
    listener->port = endpoint->port;
    listener->next = world->listeners;
    world->listeners = listener;
    handle->listener = listener;
    *ret_handle = handle;
    return 0;
}

static int
connect_to(struct memory_world *world, const struct rgm_endpoint *endpoint,
           struct memory_handle **ret_handle)
{
    struct memory_listener *listener = listener_at(world, endpoint->port);
    struct memory_connection *connection;
    struct memory_handle *handle;

    if (listener == NULL)
        return -ECONNREFUSED;
    connection = calloc(1, sizeof(*connection));
    handle =
        connection != NULL ? memory_handle_new(world, MEMORY_STREAM) : NULL;
    if (handle == NULL) {
        free(connection);
        return -ENOMEM;
    }
    connection->names[0] = *endpoint;
    connection->names[0].port = ++world->last_port;
    connection->names[1] = *endpoint;
    if (listener->last != NULL)
        listener->last->next = connection;
    else
        listener->first = connection;
    listener->last = connection;
    handle->connection = connection;
    *ret_handle = handle;
    memory_changed(world);
    return 0;
}

static int
accept_from(struct memory_world *world, struct memory_listener *listener,
            struct memory_handle **ret_handle)
{
    struct memory_connection *connection = listener->first;
    struct memory_handle *handle;

    if (connection == NULL)
        return MEMORY_WAITS;
    handle = memory_handle_new(world, MEMORY_STREAM);
    if (handle == NULL)
        return -ENOMEM;
    listener->first = connection->next;
    if (listener->first == NULL)
        listener->last = NULL;
    connection->next = NULL;
    handle->connection = connection;
    handle->side = 1;
    *ret_handle = handle;
    return 0;
}

static ssize_t
send_to(struct memory_world *world, struct memory_handle *handle,
        const void *data, size_t length_bytes)
{
    struct memory_connection *connection = handle->connection;
    struct memory_pipe *pipe = &connection->pipes[handle->side];
    size_t count;

    if (connection->reset && !connection->told[handle->side]) {
        connection->told[handle->side] = true;
        return -ECONNRESET;
    }
    if (pipe->ended || connection->shut[!handle->side])
        return -EPIPE;
    count = pipe_put(pipe, data, length_bytes);
    if (count > 0)
        memory_changed(world);
    return count > 0 || length_bytes == 0 ? (ssize_t)count : -EAGAIN;
}

static ssize_t
receive_from(struct memory_world *world, struct memory_handle *handle,
             void *memory, size_t capacity_bytes)
{
    struct memory_connection *connection = handle->connection;
    struct memory_pipe *pipe = &connection->pipes[!handle->side];
    size_t count;

    if (connection->reset) {
        bool told = connection->told[handle->side];

        connection->told[handle->side] = true;
        return told ? 0 : -ECONNRESET;
    }
    count = pipe_get(pipe, memory, capacity_bytes);
    if (count > 0)
        memory_changed(world);
    return count > 0 || pipe->ended ? (ssize_t)count : -EAGAIN;
}

void
memory_stream_close(struct memory_world *world, struct memory_handle *handle,
                    bool reset)
{
    struct memory_connection *connection = handle->connection;

    (void)world;
    connection->shut[handle->side] = true;
    connection->reset = connection->reset || reset;
    if (!connection->reset)
        connection->pipes[handle->side].ended = true;
    if (connection->shut[!handle->side])
        free(connection);
}

/* Who connected and was not accepted finds it reset. */
void
memory_listener_close(struct memory_world *world,
                      struct memory_listener *listener)
{
    struct memory_listener **link = &world->listeners;
    struct memory_connection *connection;

    while (*link != listener)
        link = &(*link)->next;
    *link = listener->next;
    while ((connection = listener->first) != NULL) {
        listener->first = connection->next;
        connection->shut[1] = true;
        connection->reset = true;
        if (connection->shut[0])
            free(connection);
    }
    free(listener);
}

/* --------------------------------------------------------------- operations */

static int
do_accept(struct memory_world *world, struct rgm_accept *accept)
{
    struct memory_handle *handle = NULL;
    int status = accept_from(
        world, memory_handle_at(&accept->listener->socket)->listener, &handle);

    if (status != 0)
        return status;
    if (accept->want_peer)
        accept->peer = handle->connection->names[0];
    rgm_operation_open(&accept->operation, (uintptr_t)handle);
    return 0;
}

static int
do_open(struct rgm_operation *operation, int status,
        struct memory_handle *handle)
{
    if (status == 0)
        rgm_operation_open(operation, (uintptr_t)handle);
    return status;
}

static int
do_read(struct memory_world *world, struct rgm_read *read)
{
    ssize_t count;

    if (read->capacity_bytes == 0)
        return 0;
    count = receive_from(world, memory_handle_at(&read->stream->socket),
                         read->memory, read->capacity_bytes);
    if (count == -EAGAIN)
        return MEMORY_WAITS;
    if (count < 0)
        return (int)count;
    read->count = (size_t)count;
    read->end = count == 0;
    return 0;
}

/* Goes on where the last attempt ended: after `count` bytes. */
static int
do_write(struct memory_world *world, struct rgm_write *write)
{
    struct memory_handle *handle = memory_handle_at(&write->stream->socket);
    size_t before = 0;

    for (size_t i = 0; i < write->vectors_count; i++) {
        const struct rgm_vector *piece = &write->vectors[i];

        while (write->count < before + piece->length_bytes) {
            size_t done = write->count - before;
            ssize_t count =
                send_to(world, handle, (const char *)piece->data + done,
                        piece->length_bytes - done);

            if (count == -EAGAIN)
                return write->some && write->count > 0 ? 0 : MEMORY_WAITS;
            if (count < 0)
                return (int)count;
            write->count += (size_t)count;
        }
        before += piece->length_bytes;
    }
    return 0;
}

static int
do_shutdown(struct memory_world *world, struct rgm_shutdown *shutdown)
{
    struct memory_handle *handle = memory_handle_at(&shutdown->stream->socket);

    if (handle->connection->reset)
        return -ENOTCONN;
    handle->connection->pipes[handle->side].ended = true;
    memory_changed(world);
    return 0;
}

static int
do_names(struct rgm_names *names)
{
    struct memory_handle *handle = memory_handle_at(names->socket);

    names->peer = (struct rgm_endpoint){0};
    if (handle->what == MEMORY_LISTENER)
        return rgm_endpoint_parse("127.0.0.1", handle->listener->port,
                                  &names->local);
    names->local = handle->connection->names[handle->side];
    names->peer = handle->connection->names[!handle->side];
    return 0;
}

int
memory_attempt_stream(struct memory_world *world,
                      struct rgm_operation *operation)
{
    struct rgm_listen *listen = (void *)operation;
    struct rgm_connect *connect = (void *)operation;
    struct memory_handle *handle = NULL;
    int status;

    switch (operation->kind) {
    case RGM_OP_LISTEN:
        if (listen->imports)
            return -ENOTSUP;
        status = listen_on(world, &listen->endpoint, &handle);
        return do_open(operation, status, handle);
    case RGM_OP_CONNECT:
        if (connect->imports)
            return -ENOTSUP;
        if (connect->over != NULL)
            return -EISCONN; /* no stream of ours is anything else */
        status = connect_to(world, &connect->endpoint, &handle);
        return do_open(operation, status, handle);
    case RGM_OP_ACCEPT:
        return do_accept(world, (void *)operation);
    case RGM_OP_READ:
        return do_read(world, (void *)operation);
    case RGM_OP_WRITE:
        return do_write(world, (void *)operation);
    case RGM_OP_SHUTDOWN:
        return do_shutdown(world, (void *)operation);
    default:
        return do_names((void *)operation);
    }
}

/* -------------------------------------------------------------------- peers */

static int
peer_new(struct memory_world *world, struct memory_handle *handle)
{
    for (int i = 0; i < MEMORY_PEERS_MAX; i++)
        if (world->peers[i] == NULL) {
            world->peers[i] = handle;
            return i;
        }
    memory_handle_free(world, handle, false);
    return -EMFILE;
}

/* Under the lock. Returns: false when the guard's time is over. */
static bool
await_change(struct memory_world *world, const struct timespec *until)
{
    return pthread_cond_timedwait(&world->changed, &world->lock, until) == 0;
}

static struct timespec
guard(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PEER_GUARD_S;
    return until;
}

int
memory_peer_connect(struct memory_world *world,
                    const struct rgm_endpoint *endpoint)
{
    struct memory_handle *handle = NULL;
    int status;

    pthread_mutex_lock(&world->lock);
    status = connect_to(world, endpoint, &handle);
    if (status == 0)
        status = peer_new(world, handle);
    pthread_mutex_unlock(&world->lock);
    return status;
}

int
memory_peer_listen(struct memory_world *world, struct rgm_endpoint *endpoint)
{
    struct memory_handle *handle = NULL;
    int status;

    pthread_mutex_lock(&world->lock);
    status = listen_on(world, endpoint, &handle);
    if (status == 0)
        status = peer_new(world, handle);
    pthread_mutex_unlock(&world->lock);
    return status;
}

int
memory_peer_accept(struct memory_world *world, int listener)
{
    const struct timespec until = guard();
    struct memory_handle *handle = NULL;
    int status;

    pthread_mutex_lock(&world->lock);
    do
        status = accept_from(world, world->peers[listener]->listener, &handle);
    while (status == MEMORY_WAITS && await_change(world, &until));
    if (status == 0)
        status = peer_new(world, handle);
    pthread_mutex_unlock(&world->lock);
    return status == MEMORY_WAITS ? -ETIMEDOUT : status;
}

ssize_t
memory_peer_send(struct memory_world *world, int peer, const void *data,
                 size_t length_bytes)
{
    const struct timespec until = guard();
    ssize_t count;

    pthread_mutex_lock(&world->lock);
    do
        count = send_to(world, world->peers[peer], data, length_bytes);
    while (count == -EAGAIN && await_change(world, &until));
    pthread_mutex_unlock(&world->lock);
    return count;
}

ssize_t
memory_peer_receive(struct memory_world *world, int peer, void *memory,
                    size_t capacity_bytes, bool waits)
{
    const struct timespec until = guard();
    ssize_t count;

    pthread_mutex_lock(&world->lock);
    do
        count = receive_from(world, world->peers[peer], memory, capacity_bytes);
    while (count == -EAGAIN && waits && await_change(world, &until));
    pthread_mutex_unlock(&world->lock);
    return count;
}

int
memory_peer_shutdown(struct memory_world *world, int peer)
{
    struct memory_handle *handle;

    pthread_mutex_lock(&world->lock);
    handle = world->peers[peer];
    handle->connection->pipes[handle->side].ended = true;
    memory_changed(world);
    pthread_mutex_unlock(&world->lock);
    return 0;
}

int
memory_peer_close(struct memory_world *world, int peer, bool reset)
{
    pthread_mutex_lock(&world->lock);
    memory_handle_free(world, world->peers[peer], reset);
    world->peers[peer] = NULL;
    pthread_mutex_unlock(&world->lock);
    return 0;
}
