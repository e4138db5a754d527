/* SPDX-License-Identifier: MIT */
#ifndef KV_MANAGER_H
#define KV_MANAGER_H

/*
 * manager.h - the actor that changes the number of workers.
 *
 * Handles struct group with OP_WORKERS. Spawned with the struct cluster; one,
 * on worker 0.
 */

#include "samples/kv/cluster.h"

/*
 * Make ready what worker `number` needs: its pool, and what its actors share.
 *
 * Thread:  setup, of that worker's struct.
 * Returns: 0, or as rgm_pool_create.
 */
RGM_MUST_USE int kv_worker_open(const struct cluster *cluster, uint32_t number);
void kv_worker_close(struct kv_worker *worker);

extern const struct rgm_behaviour manager_behaviour;

#endif /* KV_MANAGER_H */
