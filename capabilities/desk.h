/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_DESK_H
#define CAPABILITIES_DESK_H

/*
 * desk.h - how does a test play the worker of a provider?
 *
 * A desk has a bell and a provider, starts operations and waits for them: what
 * actors/ does, without actors. A lost completion is a wait that never ends,
 * which the guard of desk_turn makes a failure.
 */

#include <errno.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/cases.h"
#include "capabilities/operation.h"
#include "capabilities/stream.h"

#define DESK_GUARD_NS (60 * RGM_NS_PER_S)

struct desk {
    int bell;
    struct rgm_provider *provider;
    uint64_t completed; /* so far */
};

static const struct rgm_address desk_here = {(UINT64_C(3) << 54) | 1};

__attribute__((unused)) static void
desk_open(struct desk *desk, const struct rgm_provider_class *class,
          uint32_t threads)
{
    struct rgm_provider_options options = {
        .threads = threads, .streams = {.no_delay = RGM_SETTING_ON}};
    char why[100] = "";

    *desk = (struct desk){0};
    rgi_check(rgi_bell_open(&desk->bell) == 0);
    options.bell = desk->bell;
    rgi_check(class->open(&options, &desk->provider, why, sizeof(why)) == 0);
    rgi_check(desk->provider->kinds == class->kinds);
}

__attribute__((unused)) static void
desk_close(struct desk *desk, const struct rgm_provider_class *class)
{
    rgi_check(desk->provider->in_flight == 0);
    class->close(desk->provider);
    rgi_bell_close(desk->bell);
}

/* Takes what there is; blocks until there is something if `deadline_ns` lets
 * it. Returns: how many operations are home now. */
__attribute__((unused)) static uint32_t
desk_take(struct desk *desk, uint64_t deadline_ns)
{
    struct rgm_turn turn = {0};
    struct rgm_message *message;
    struct rgm_message *next;

    rgi_check(desk->provider->ops->wait(desk->provider, deadline_ns, &turn) ==
              0);
    for (message = turn.first; message != NULL; message = next) {
        next = message->next;
        rgi_operation_home(rgm_operation_of(message));
        desk->completed++;
    }
    return turn.count;
}

__attribute__((unused)) static void
desk_turn(struct desk *desk)
{
    uint64_t now_ns = desk->provider->ops->now(desk->provider);

    rgi_check(desk_take(desk, now_ns + DESK_GUARD_NS) > 0);
}

#define desk_start(desk, record)                                              \
    rgi_check(rgi_operation_start(&(record)->operation, (desk)->provider) == 0)
#define desk_cancel(desk, record)                                             \
    rgi_operation_cancel(&(record)->operation, (desk)->provider)
#define desk_is_home(record)                                                  \
    ((record)->operation.state == RGM_OPERATION_HOME)
#define desk_await(desk, record) desk_await_one(desk, &(record)->operation)
#define desk_run(desk, record) desk_run_one(desk, &(record)->operation)

__attribute__((unused)) static int
desk_await_one(struct desk *desk, struct rgm_operation *operation)
{
    while (operation->state != RGM_OPERATION_HOME)
        desk_turn(desk);
    return operation->request.message.status;
}

/* Starts, waits, answers with the status, also of a refusal. */
__attribute__((unused)) static int
desk_run_one(struct desk *desk, struct rgm_operation *operation)
{
    int status = rgi_operation_start(operation, desk->provider);

    return status < 0 ? status : desk_await_one(desk, operation);
}

__attribute__((unused)) static int
desk_listen(struct desk *desk, struct rgm_listener *listener,
            struct rgm_endpoint *endpoint)
{
    struct rgm_listen listen;
    int status;

    rgm_stream_listen(&listen, desk_here, listener, endpoint, false);
    status = desk_run(desk, &listen);
    *endpoint = listen.endpoint;
    return status;
}

/* Two streams that are connected to each other. */
__attribute__((unused)) static void
desk_connect(struct desk *desk, struct rgm_listener *listener,
             const struct rgm_endpoint *endpoint, struct rgm_stream *near,
             struct rgm_stream *far)
{
    struct rgm_accept accept;
    struct rgm_connect connect;

    rgm_stream_accept(&accept, listener, far);
    rgm_stream_connect(&connect, desk_here, near, endpoint);
    desk_start(desk, &accept);
    rgi_check(desk_run(desk, &connect) == 0);
    rgi_check(desk_await(desk, &accept) == 0);
}

__attribute__((unused)) static int
desk_close_socket(struct desk *desk, struct rgm_socket *socket)
{
    struct rgm_close close;

    rgm_stream_close(&close, (struct rgm_stream *)(void *)socket);
    return desk_run(desk, &close);
}

__attribute__((unused)) static int
desk_write(struct desk *desk, struct rgm_stream *stream, const void *data,
           size_t length_bytes)
{
    struct rgm_write write;
    int status;

    rgm_stream_write(&write, stream, data, length_bytes);
    status = desk_run(desk, &write);
    rgi_check(status < 0 || write.count == length_bytes);
    return status;
}

/* Reads once, `capacity_bytes` at most. Returns the count, or the error. */
__attribute__((unused)) static long
desk_read(struct desk *desk, struct rgm_stream *stream, void *memory,
          size_t capacity_bytes, bool *ret_end)
{
    struct rgm_read read;
    int status;

    rgm_stream_read(&read, stream, memory, capacity_bytes);
    status = desk_run(desk, &read);
    if (status < 0)
        return status;
    *ret_end = read.end;
    return (long)read.count;
}

#endif /* CAPABILITIES_DESK_H */
