/* SPDX-License-Identifier: MIT */

/*
 * memory_test.c - does the memory provider keep what it claims?
 *
 * The fixture gives every case a world of its own, in which also the other ends
 * of streams and the look into the store are. What is not listed is not
 * claimed: there are no pools, options, packets, directories, children.
 */

#include <errno.h>
#include <stdio.h>

#include "conformance/conformance.h"
#include "conformance/peers.h"
#include "conformance/store.h"
#include "samples/provider_template/memory.h"

static struct memory_world *world; /* of the case that runs */

static int
peer_connects(const struct rgm_endpoint *endpoint)
{
    return memory_peer_connect(world, endpoint);
}

static int
peer_listens(struct rgm_endpoint *endpoint, int backlog)
{
    (void)backlog;
    return memory_peer_listen(world, endpoint);
}

static int
peer_accepts(int listener)
{
    return memory_peer_accept(world, listener);
}

static ssize_t
peer_sends(int peer, const void *data, size_t length_bytes)
{
    return memory_peer_send(world, peer, data, length_bytes);
}

static ssize_t
peer_receives(int peer, void *memory, size_t capacity_bytes, bool waits)
{
    return memory_peer_receive(world, peer, memory, capacity_bytes, waits);
}

static int
peer_shuts_down(int peer)
{
    return memory_peer_shutdown(world, peer);
}

static int
peer_closes(int peer)
{
    return memory_peer_close(world, peer, false);
}

static int
peer_resets(int peer)
{
    return memory_peer_close(world, peer, true);
}

static const struct peer_ops peers = {
    .connect = peer_connects,
    .listen = peer_listens,
    .accept = peer_accepts,
    .send = peer_sends,
    .receive = peer_receives,
    .shutdown = peer_shuts_down,
    .close = peer_closes,
    .reset = peer_resets,
};

static void
store_path(struct stage *stage, const char *name, char *ret_path,
           size_t size_bytes)
{
    (void)stage;
    snprintf(ret_path, size_bytes, "/%s", name);
}

static void
store_put(struct stage *stage, const char *path, const void *bytes,
          size_t length_bytes)
{
    (void)stage;
    rgi_check(memory_file_put(world, path, bytes, length_bytes) == 0);
}

static ssize_t
store_look(struct stage *stage, const char *path, void *memory,
           size_t capacity_bytes)
{
    (void)stage;
    return memory_file_look(world, path, memory, capacity_bytes);
}

static void
store_empty(struct stage *stage)
{
    (void)stage; /* the world goes with the case */
}

static const struct store_ops store = {
    .path = store_path,
    .put = store_put,
    .look = store_look,
    .empty = store_empty,
};

static void
set_up(struct stage *stage)
{
    world = memory_world_create();
    rgi_check(world != NULL);
    stage->options.provider_argument = world;
}

static void
clean_up(struct stage *stage)
{
    (void)stage;
    memory_world_destroy(world);
    world = NULL;
}

static const struct stage_fixture memory = {
    .class = &memory_provider,
    .set_up = set_up,
    .clean_up = clean_up,
    .peers = &peers,
    .store = &store,
};

#define SUITES(X)                                                              \
    FILE_BASE_CASES(X, memory_file_base)                                       \
    JOB_CASES(X, memory_job)                                                   \
    STREAM_BASE_CASES(X, memory_stream)                                        \
    CLOCK_CASES(X, memory_clock)

CONFORM_FIXTURE(memory, SUITES)
