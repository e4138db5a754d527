/* SPDX-License-Identifier: MIT */
#ifndef KV_SERVER_H
#define KV_SERVER_H

/*
 * server.h - the actor that outlives the others.
 *
 * Spawned with the struct cluster; one, on worker 0. When every acceptor has
 * retired it stops the shards, the sequencer and itself.
 */

#include "samples/kv/cluster.h"

extern const struct rgm_behaviour server_behaviour;

#endif /* KV_SERVER_H */
