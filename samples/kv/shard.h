/* SPDX-License-Identifier: MIT */
#ifndef KV_SHARD_H
#define KV_SHARD_H

/*
 * shard.h - the actor that owns one worker's keys.
 *
 * Handles struct command, struct group and struct part. Spawned with its
 * struct kv_worker; one per worker.
 */

#include "samples/kv/cluster.h"

/* Slots that move together: what is asked for them waits so long. */
#define SHARD_SLOTS_PER_MOVE 32

extern const struct rgm_behaviour shard_behaviour;

#endif /* KV_SHARD_H */
