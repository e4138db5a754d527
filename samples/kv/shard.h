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
#include "samples/kv/command.h"

/* Slots that move together: what is asked for them waits so long. */
#define SHARD_SLOTS_PER_MOVE 32

extern const struct rgm_behaviour shard_behaviour;

/*
 * What is on the same thread need not be a message. A connection that has nothing
 * out may have a command of its worker's shard carried out at once: it comes between
 * two of the shard's handlers, as if it had been asked. Not while the shard is held,
 * nor if the key's slot is not here, nor if a key would expire earlier for it: then
 * it is to be asked.
 *
 * Thread: the worker's.
 */
bool
shard_may_run(const struct kv_worker *worker, const struct command *command);
/* Returns: as execute_command. Nothing else has run since shard_may_run(). */
RGM_MUST_USE int
shard_run(const struct kv_worker *worker, struct command *command);

#endif /* KV_SHARD_H */
