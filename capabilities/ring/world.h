/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_RING_WORLD_H
#define CAPABILITIES_RING_WORLD_H

/*
 * world.h - how do tests drive a ring provider without a worker? For tests.
 *
 * A world is a provider, its bell and the operations that came home. The tests
 * are the worker: they start operations and turn until they are answered.
 */

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/cases.h"
#include "capabilities/ring/parts.h"

/* A guard against hanging. */
#define WORLD_LIMIT_NS (60 * RGM_NS_PER_S)

struct world {
    struct rgm_provider_options options;
    struct rgm_provider *provider;
    struct rgi_ring_provider *parts;
    const struct rgi_ring_calls *calls;
    unsigned answered;
    bool rang;
};

static struct rgm_address world_here = {1};

__attribute__((unused)) static void
world_open(struct world *world)
{
    char why[512] = "";

    rgi_check(rgi_bell_open(&world->options.bell) == 0);
    world->options.streams.no_delay = RGM_SETTING_ON;
    if (rgi_ring_provider_open(&world->options, world->calls, &world->provider,
                               why, sizeof(why)) < 0)
        rgi_check_failed(__FILE__, __LINE__, why);
    world->parts = (struct rgi_ring_provider *)(void *)world->provider;
}

__attribute__((unused)) static void
world_close(struct world *world)
{
    rgm_provider_ring.close(world->provider);
    rgi_bell_close(world->options.bell);
}

__attribute__((unused)) static int
world_turn(struct world *world, uint64_t deadline_ns)
{
    struct rgm_turn turn = {NULL, NULL, 0, false};
    int status =
        world->provider->ops->wait(world->provider, deadline_ns, &turn);

    world->answered += turn.count;
    for (struct rgm_message *message = turn.first; message != NULL;
         message = message->next, turn.count--)
        rgi_operation_home(rgm_operation_of(message));
    rgi_check(turn.count == 0);
    world->rang = world->rang || turn.rang;
    return status;
}

/* As anybody else would. */
static inline void
world_ring(struct world *world)
{
    rgi_bell_ring((void *)(intptr_t)world->options.bell);
}

static inline uint64_t
world_now(struct world *world)
{
    return world->provider->ops->now(world->provider);
}

static inline bool
is_home(const struct rgm_operation *operation)
{
    return operation->state == RGM_OPERATION_HOME;
}

static inline void
world_start(struct world *world, struct rgm_operation *operation)
{
    rgi_check(rgi_operation_start(operation, world->provider) == 0);
}

/* Turn until it is answered. Returns: the answer. */
__attribute__((unused)) static int
world_finish(struct world *world, struct rgm_operation *operation)
{
    uint64_t limit_ns = world_now(world) + WORLD_LIMIT_NS;

    while (!is_home(operation)) {
        rgi_check(world_turn(world, limit_ns) == 0);
        rgi_check(world_now(world) < limit_ns);
    }
    return operation->request.message.status;
}

static inline int
world_do(struct world *world, struct rgm_operation *operation)
{
    world_start(world, operation);
    return world_finish(world, operation);
}

/* So many turns that do not block: what can come, has come. */
static inline void
world_settle(struct world *world)
{
    for (int i = 0; i < 50; i++)
        rgi_check(world_turn(world, 0) == 0);
}

static inline void
world_cancel(struct world *world, struct rgm_operation *operation)
{
    rgi_operation_cancel(operation, world->provider);
}

/* A listener and both ends of a connection to it, on the same ring. */
struct pair {
    struct rgm_listener listener;
    struct rgm_stream near;
    struct rgm_stream far;
    struct rgm_endpoint endpoint;
};

__attribute__((unused)) static void
pair_open(struct world *world, struct pair *pair)
{
    struct rgm_listen listen;
    struct rgm_accept accept;
    struct rgm_connect connect;
    struct rgm_endpoint any;

    memset(pair, 0, sizeof(*pair));
    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &any) == 0);
    rgm_stream_listen(&listen, world_here, &pair->listener, &any, false);
    rgi_check(world_do(world, &listen.operation) == 0);
    pair->endpoint = listen.endpoint;
    rgm_stream_accept(&accept, &pair->listener, &pair->far);
    world_start(world, &accept.operation);
    rgm_stream_connect(&connect, world_here, &pair->near, &pair->endpoint);
    rgi_check(world_do(world, &connect.operation) == 0);
    rgi_check(world_finish(world, &accept.operation) == 0);
}

static inline void
world_close_stream(struct world *world, struct rgm_stream *stream)
{
    struct rgm_close close;

    rgm_stream_close(&close, stream);
    rgi_check(world_do(world, &close.operation) == 0);
}

__attribute__((unused)) static void
pair_close(struct world *world, struct pair *pair)
{
    struct rgm_close close;

    world_close_stream(world, &pair->near);
    world_close_stream(world, &pair->far);
    rgm_listener_close(&close, &pair->listener);
    rgi_check(world_do(world, &close.operation) == 0);
}

/* The descriptor behind a handle, to do things behind the provider's back. */
static inline int
world_fd(struct world *world, const struct rgm_socket *socket)
{
    return rgi_channel_find(&world->parts->channels, socket->resource)->fd;
}

#endif /* CAPABILITIES_RING_WORLD_H */
