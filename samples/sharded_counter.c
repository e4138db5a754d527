/* SPDX-License-Identifier: MIT */

/*
 * sharded_counter.c - how is state split over workers, and added up again?
 *
 * One shard per worker; the root sends each its share of the additions, one
 * way and without waiting, then gathers all the sums.
 */

#include <ringmail/ringmail.h>

#include <stdio.h>
#include <stdlib.h>

#define ADDITIONS 1000

struct add { struct rgm_message message; long amount; };
RGM_MESSAGE(add);
struct sum { struct rgm_request request; long value; };
RGM_REQUEST(sum);
struct shard { struct rgm_actor actor; long value; };
RGM_HANDLER(shard, add, shard_add);
RGM_HANDLER(shard, sum, shard_sum);

static void
shard_add(struct shard *self, struct add *add)
{
    self->value += add->amount;
}

static void
shard_sum(struct shard *self, struct sum *sum)
{
    sum->value = self->value;
    rgm_reply(self, sum, 0);
}

static const struct rgm_handler shard_handlers[] = {
    RGM_ON(shard, add, shard_add), RGM_ON(shard, sum, shard_sum)};
static const struct rgm_behaviour shard_behaviour = {
    "shard", sizeof(struct shard), RGM_HANDLERS(shard_handlers)};

struct root {
    struct rgm_actor actor;
    struct rgm_address shards[RGM_WORKERS_MAX];
    struct sum sums[RGM_WORKERS_MAX];
    struct rgm_gather gather;
    int count;
};
RGM_HOOK(root, root_started);

static void
root_gathered(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct root *self = (struct root *)(void *)actor;
    long total = 0;

    for (int i = 0; i < self->count; i++)
        total += self->sums[i].value;
    printf("%d shards, %u failed, total %ld\n", self->count, gather->failed,
           total);
    rgm_stop(self);
}

static void
root_started(struct root *self)
{
    struct rgm_request *requests[RGM_WORKERS_MAX];

    self->count = rgm_spawn_each(self, &shard_behaviour, NULL, self->shards,
                                 RGM_WORKERS_MAX);
    for (int i = 0; i < ADDITIONS; i++) {
        struct add *add = add_take(&self->actor, 0);

        add->amount = i;
        if (rgm_send(self, self->shards[i % self->count], add) != 0)
            exit(1);
    }
    for (int i = 0; i < self->count; i++) {
        sum_prepare(&self->sums[i], self->shards[i]);
        requests[i] = &self->sums[i].request;
    }
    rgm_gather_requests(&self->actor, &self->gather, requests,
                        (size_t)self->count, root_gathered);
}

static const struct rgm_behaviour root_behaviour = {
    "root", sizeof(struct root), .started = RGM_DO(root, root_started)};

int
main(void)
{
    struct rgm_runtime *runtime;

    if (rgm_runtime_create(NULL, &runtime) != 0 ||
        rgm_runtime_run(runtime, &root_behaviour, NULL) != 0)
        return 1;
    return rgm_runtime_destroy(runtime);
}
