/* SPDX-License-Identifier: MIT */
#ifndef KV_TRANSACTION_H
#define KV_TRANSACTION_H

/*
 * transaction.h - the actor that orders what concerns several shards.
 *
 * Handles struct group. Spawned with the struct cluster; one, on worker 0.
 */

#include "samples/kv/cluster.h"

extern const struct rgm_behaviour sequencer_behaviour;

#endif /* KV_TRANSACTION_H */
