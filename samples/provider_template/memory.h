/* SPDX-License-Identifier: MIT */
#ifndef PROVIDER_TEMPLATE_MEMORY_H
#define PROVIDER_TEMPLATE_MEMORY_H

/*
 * memory.h - a provider of streams and files that live in memory.
 *
 * A place to start from for a provider of your own: it has few kinds of
 * operations, does each the plainest way, and passes the suites it claims
 * (memory_test.c). Runtimes that share a world meet in it.
 *
 *     struct rgm_runtime_options options = {
 *         .provider = &memory_provider, .provider_argument = world};
 *
 * Thread: any, unless a declaration says otherwise.
 */

#include <sys/types.h>

#include <ringmail/provider.h>
#include <ringmail/stream.h>

extern const struct rgm_provider_class memory_provider;

struct memory_world;

/* Owns: the caller, until its runtimes have ended. Returns: NULL without
 * memory. */
struct memory_world *memory_world_create(void);
void memory_world_destroy(struct memory_world *world);

/* The other ends of streams, for threads of a test: numbers, and calls that
 * block for a minute at most. Returns: 0 or more, or a negative errno. */
int memory_peer_connect(struct memory_world *world,
                        const struct rgm_endpoint *endpoint);
int
memory_peer_listen(struct memory_world *world, struct rgm_endpoint *endpoint);
int memory_peer_accept(struct memory_world *world, int listener);
ssize_t memory_peer_send(struct memory_world *world, int peer, const void *data,
                         size_t length_bytes);
ssize_t memory_peer_receive(struct memory_world *world, int peer, void *memory,
                            size_t capacity_bytes, bool waits);
int memory_peer_shutdown(struct memory_world *world, int peer);
int memory_peer_close(struct memory_world *world, int peer, bool reset);

/* Files, looked at and made without a provider. Returns: the length, or
 * -ENOENT; 0 or -ENOMEM. */
ssize_t memory_file_look(struct memory_world *world, const char *path,
                         void *memory, size_t capacity_bytes);
int memory_file_put(struct memory_world *world, const char *path,
                    const void *bytes, size_t length_bytes);

#endif /* PROVIDER_TEMPLATE_MEMORY_H */
