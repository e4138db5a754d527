/* SPDX-License-Identifier: MIT */
#ifndef KV_ROUTE_H
#define KV_ROUTE_H

/*
 * route.h - to whom does a group go?
 *
 * A command goes to the shard of its key, and <ringmail/shards.h> knows which
 * that is. A group may be of many keys, whose slots may be on their way: it goes
 * directly only to a shard that has them all, and only while nothing moves.
 */

#include "samples/kv/cluster.h"
#include "samples/kv/command.h"

/* Find out which shard has which of the keys. Thread: owner of `slots`. */
void group_shards(struct group *group, const struct rgm_shard *slots,
                  uint32_t members_count);

/* Decide, and set the address. Thread: owner of the worker. */
void group_route(struct group *group, const struct kv_worker *worker);

#endif /* KV_ROUTE_H */
