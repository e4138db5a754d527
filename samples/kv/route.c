/* SPDX-License-Identifier: MIT */

/*
 * route.c - to whom does a group go?
 */

#include "samples/kv/route.h"

void
group_shards(struct group *group, const struct rgm_shard *slots,
             uint32_t members_count)
{
    if (group->items_count == 0) {
        group->shards = UINT64_MAX >> (64 - members_count);
        return;
    }
    group->shards = 0;
    for (uint32_t i = 0; i < group->items_count; i++) {
        struct item *item = &group->items[i];

        item->shard = rgm_shard_owner(slots, item->hash);
        group->shards |= UINT64_C(1) << item->shard;
    }
}

void
group_route(struct group *group, const struct kv_worker *worker)
{
    group->sequenced = true;
    if (group->operation == OP_WORKERS) {
        rgm_request_to(&group->request, worker->cluster->manager);
        return;
    }
    rgm_request_to(&group->request, worker->cluster->sequencer);
    if (!worker->direct)
        return; /* the sequencer asks when nothing moves */
    group_shards(group, worker->slots, worker->members_count);
    if ((group->shards & (group->shards - 1)) != 0)
        return;
    group->sequenced = false;
    rgm_request_to(&group->request,
                   rgm_shard_address(worker->slots,
                                     (uint32_t)__builtin_ctzll(group->shards)));
}
