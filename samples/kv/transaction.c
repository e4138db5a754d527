/* SPDX-License-Identifier: MIT */

/*
 * transaction.c - how is a command atomic whose keys live on several workers?
 *
 * 1. All of them come here, and are begun in the order they came: as a batch
 *    of all that wait, since a batch costs as much time as one.
 * 2. A batch begins by asking each shard concerned to hold. A shard hears from
 *    one sender, in order, so all shards hold for the batches in the same
 *    order: nobody waits for somebody who waits for him.
 * 3. When all hold, nobody can see or change any of the keys: that is the
 *    moment the batch happens at. Each shard is asked to carry its items out,
 *    group by group, and let go. Whoever looks at a key after that finds it
 *    done; keys that are not done yet are still held.
 * 4. When all are done the groups are answered. The next batch begins already
 *    at 3: its hold follows on the heels of this one's end.
 *
 * A shard that cannot hold (no memory) makes the batch fail: the others let go
 * without carrying anything out.
 *
 * At most two batches are in progress, since a shard cannot hold for the third
 * before it has answered the first. So the lane of the parts, which are
 * answered late, always has room for the one that lets go.
 */

#include <errno.h>
#include <stdlib.h>

#include "samples/kv/command.h"
#include "samples/kv/transaction.h"

#define BATCH_MAX 128 /* groups */

struct batch {
    struct rgm_gather gather;
    struct batch *next;
    uint32_t groups_count;
    uint32_t parts_count;
    struct group *groups[BATCH_MAX];
    struct rgm_token tokens[BATCH_MAX];
    struct rgm_request *requests[RGM_WORKERS_MAX];
    struct part parts[RGM_WORKERS_MAX];
    struct outcome outcomes[]; /* BATCH_MAX per worker there is */
};

struct sequencer {
    struct rgm_actor actor;
    const struct cluster *cluster;
    struct batch *free;
    bool holding; /* a batch waits for its shards to hold */
    /* Groups that wait for their beginning: a ring of tokens. */
    struct rgm_token *waiting;
    uint32_t waiting_first;
    uint32_t waiting_count;
    uint32_t waiting_capacity;
};

RGM_FACTORY(sequencer, cluster, sequencer_make);
RGM_HOOK(sequencer, sequencer_settled);
RGM_HOOK(sequencer, sequencer_retiring);
RGM_HOOK(sequencer, sequencer_stopped);
RGM_HANDLER(sequencer, group, sequencer_group);

static const struct rgm_handler sequencer_handlers[] = {
    RGM_ON(sequencer, group, sequencer_group),
};

const struct rgm_behaviour sequencer_behaviour = {
    .name = "sequencer",
    .size_bytes = sizeof(struct sequencer),
    RGM_HANDLERS(sequencer_handlers),
    .factory = RGM_MAKE(sequencer, sequencer_make),
    .settled = RGM_DO(sequencer, sequencer_settled),
    .retiring = RGM_DO(sequencer, sequencer_retiring),
    .stopped = RGM_DO(sequencer, sequencer_stopped),
};

static int
sequencer_make(struct sequencer *self, const struct cluster *cluster)
{
    self->cluster = cluster;
    return 0;
}

/* The server stops it, when nobody is left to ask it. */
static void
sequencer_retiring(struct sequencer *self)
{
    (void)self;
}

static void
sequencer_stopped(struct sequencer *self)
{
    while (self->free != NULL) {
        struct batch *next = self->free->next;

        free(self->free);
        self->free = next;
    }
    free(self->waiting);
}

/* -------------------------------------------------------------------- batches */

static struct batch *
batch_take(struct sequencer *self)
{
    struct batch *batch = self->free;
    size_t outcomes_count = (size_t)self->cluster->workers_count * BATCH_MAX;

    if (batch != NULL)
        self->free = batch->next;
    else
        batch =
            calloc(1, sizeof(*batch) + outcomes_count * sizeof(struct outcome));
    return batch;
}

static void
batch_give(struct sequencer *self, struct batch *batch)
{
    batch->next = self->free;
    self->free = batch;
}

static struct batch *
batch_of(struct rgm_gather *gather)
{
    return (struct batch *)(void *)((char *)gather -
                                    offsetof(struct batch, gather));
}

/* A group's answer: the sums of its shards, and the first error. */
static int
batch_outcome(const struct batch *batch, uint32_t i, uint64_t *sums)
{
    int status = 0;

    for (uint32_t at = 0; at < batch->parts_count; at++) {
        const struct part *part = &batch->parts[at];

        if (part->phase != PART_RUN)
            return -ENOMEM;
        if (status == 0)
            status = rgm_status(part);
        if (status == 0)
            status = part->outcomes[i].status;
        for (uint32_t sum = 0; sum < SUMS_COUNT; sum++)
            sums[sum] += part->outcomes[i].sums[sum];
    }
    return status;
}

static void
on_done(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct sequencer *self = (struct sequencer *)(void *)actor;
    struct batch *batch = batch_of(gather);

    for (uint32_t i = 0; i < batch->groups_count; i++) {
        int status = batch_outcome(batch, i, batch->groups[i]->sums);

        (void)rgm_answer(self, batch->tokens[i], status);
    }
    batch_give(self, batch);
}

static void begin_waiting(struct sequencer *self);

/* All have answered that they hold, or some that they cannot: those that hold
 * are asked again. */
static void
on_held(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct sequencer *self = (struct sequencer *)(void *)actor;
    struct batch *batch = batch_of(gather);
    enum part_phase phase = gather->failed == 0 ? PART_RUN : PART_SKIP;
    uint32_t count = 0;

    for (uint32_t i = 0; i < batch->parts_count; i++) {
        struct part *part = &batch->parts[i];

        part->phase = phase;
        if (rgm_status(part) == 0)
            batch->requests[count++] = &part->request;
    }
    if (count > 0)
        rgm_gather_requests(actor, gather, batch->requests, count, on_done);
    else
        on_done(actor, gather);
    self->holding = false;
    begin_waiting(self);
}

static void
begin(struct sequencer *self, struct batch *batch, uint64_t shards)
{
    uint32_t count = 0;

    while (shards != 0) {
        struct part *part = &batch->parts[count];
        uint32_t shard = (uint32_t)__builtin_ctzll(shards);

        shards &= shards - 1;
        part_prepare(part, self->cluster->shards[shard]);
        part->groups = batch->groups;
        part->groups_count = batch->groups_count;
        part->outcomes = &batch->outcomes[(size_t)count * BATCH_MAX];
        part->phase = PART_HOLD;
        batch->requests[count++] = &part->request;
    }
    batch->parts_count = count;
    self->holding = true;
    rgm_gather_requests(&self->actor, &batch->gather, batch->requests, count,
                        on_held);
}

/* --------------------------------------------------------------------- waiting */

static bool
waiting_grow(struct sequencer *self)
{
    uint32_t capacity = self->waiting_capacity * 2;
    struct rgm_token *waiting;

    if (capacity == 0)
        capacity = 64;
    waiting = malloc(capacity * sizeof(*waiting));
    if (waiting == NULL)
        return false;
    for (uint32_t i = 0; i < self->waiting_count; i++)
        waiting[i] =
            self->waiting[(self->waiting_first + i) % self->waiting_capacity];
    free(self->waiting);
    self->waiting = waiting;
    self->waiting_first = 0;
    self->waiting_capacity = capacity;
    return true;
}

static struct rgm_token
waiting_pop(struct sequencer *self)
{
    struct rgm_token token = self->waiting[self->waiting_first];

    self->waiting_first = (self->waiting_first + 1) % self->waiting_capacity;
    self->waiting_count--;
    return token;
}

/* Begin a batch of those that wait. */
static void
begin_waiting(struct sequencer *self)
{
    struct batch *batch;
    uint64_t shards = 0;

    if (self->holding || self->waiting_count == 0)
        return;
    batch = batch_take(self);
    while (batch == NULL && self->waiting_count > 0)
        (void)rgm_answer(self, waiting_pop(self), -ENOMEM);
    if (batch == NULL)
        return;
    batch->groups_count = 0;
    while (self->waiting_count > 0 && batch->groups_count < BATCH_MAX) {
        uint32_t i = batch->groups_count++;

        batch->tokens[i] = waiting_pop(self);
        batch->groups[i] = RGM_KEPT(self, batch->tokens[i], group);
        shards |= batch->groups[i]->shards;
    }
    begin(self, batch, shards);
}

static void
sequencer_group(struct sequencer *self, struct group *group)
{
    struct rgm_token token;
    int status;

    if (self->waiting_count == self->waiting_capacity && !waiting_grow(self)) {
        rgm_reply(self, group, -ENOMEM);
        return;
    }
    status = rgm_keep(self, group, &token);
    if (status != 0) {
        rgm_reply(self, group, status);
        return;
    }
    self->waiting[(self->waiting_first + self->waiting_count++) %
                  self->waiting_capacity] = token;
}

/* After all that came with it: the larger the batch, the better. */
static void
sequencer_settled(struct sequencer *self)
{
    begin_waiting(self);
}
