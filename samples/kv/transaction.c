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
 * While slots move no batch may be in progress. Who moves them asks for a pause,
 * and gets it when the batches that have begun are done; what comes meanwhile
 * waits, and is begun when the pause is over. Which shard has which key is found
 * out when a batch begins.
 *
 * At most two batches are in progress, since a shard cannot hold for the third
 * before it has answered the first. So the lane of the parts, which are
 * answered late, always has room for the one that lets go.
 */

#include <errno.h>
#include <stdlib.h>

#include "samples/kv/command.h"
#include "samples/kv/route.h"
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
    struct outcome *outcomes[RGM_WORKERS_MAX]; /* BATCH_MAX each, or NULL */
};

struct sequencer {
    struct rgm_actor actor;
    const struct cluster *cluster;
    struct batch *free;
    bool holding; /* a batch waits for its shards to hold */
    bool pausing; /* no batch is begun */
    uint32_t batches_out;
    struct rgm_token pause;
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
RGM_HANDLER(sequencer, pause, sequencer_pause);

static const struct rgm_handler sequencer_handlers[] = {
    RGM_ON(sequencer, group, sequencer_group),
    RGM_ON(sequencer, pause, sequencer_pause),
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

        for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++)
            free(self->free->outcomes[i]);
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

    if (batch != NULL)
        self->free = batch->next;
    else
        batch = calloc(1, sizeof(*batch));
    return batch;
}

/* Room for what each of the shards says. */
static bool
batch_grow(struct batch *batch, uint64_t shards)
{
    for (; shards != 0; shards &= shards - 1) {
        struct outcome **outcomes = &batch->outcomes[__builtin_ctzll(shards)];

        if (*outcomes == NULL)
            *outcomes = calloc(BATCH_MAX, sizeof(**outcomes));
        if (*outcomes == NULL)
            return false;
    }
    return true;
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

static void
sums_add(uint64_t *sums, const uint64_t *more)
{
    for (uint32_t sum = 0; sum < SUMS_COUNT; sum++)
        if (sum != SUM_HELD_NS)
            sums[sum] += more[sum];
        else if (more[sum] > sums[sum])
            sums[sum] = more[sum];
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
        sums_add(sums, part->outcomes[i].sums);
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
    self->batches_out--;
    if (self->pausing && self->batches_out == 0)
        (void)rgm_answer(self, self->pause, 0);
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
        part_prepare(part, self->cluster->roster->shards[shard]);
        part->groups = batch->groups;
        part->groups_count = batch->groups_count;
        part->outcomes = batch->outcomes[shard];
        part->phase = PART_HOLD;
        batch->requests[count++] = &part->request;
    }
    batch->parts_count = count;
    self->holding = true;
    self->batches_out++;
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

/* Those that wait, and the shards that have their keys. */
static uint64_t
batch_fill(struct sequencer *self, struct batch *batch)
{
    const struct cluster *cluster = self->cluster;
    uint64_t shards = 0;

    batch->groups_count = 0;
    while (self->waiting_count > 0 && batch->groups_count < BATCH_MAX) {
        uint32_t i = batch->groups_count++;

        batch->tokens[i] = waiting_pop(self);
        batch->groups[i] = RGM_KEPT(self, batch->tokens[i], group);
        group_shards(batch->groups[i], cluster->workers[0].slots,
                     cluster->roster->members_count);
        shards |= batch->groups[i]->shards;
    }
    return shards;
}

/* Begin a batch of those that wait. */
static void
begin_waiting(struct sequencer *self)
{
    struct batch *batch;
    uint64_t shards;

    if (self->holding || self->pausing || self->waiting_count == 0)
        return;
    batch = batch_take(self);
    while (batch == NULL && self->waiting_count > 0)
        (void)rgm_answer(self, waiting_pop(self), -ENOMEM);
    if (batch == NULL)
        return;
    shards = batch_fill(self, batch);
    if (batch_grow(batch, shards)) {
        begin(self, batch, shards);
        return;
    }
    for (uint32_t i = 0; i < batch->groups_count; i++)
        (void)rgm_answer(self, batch->tokens[i], -ENOMEM);
    batch_give(self, batch);
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

/* ----------------------------------------------------------------------- pauses */

static void
sequencer_pause(struct sequencer *self, struct pause *pause)
{
    int status = 0;

    if (pause->over) {
        self->pausing = false;
        rgm_reply(self, pause, 0);
        begin_waiting(self);
        return;
    }
    if (self->batches_out > 0)
        status = rgm_keep(self, pause, &self->pause);
    else
        rgm_reply(self, pause, 0);
    self->pausing = status == 0;
    if (status != 0)
        rgm_reply(self, pause, status);
}

/* After all that came with it: the larger the batch, the better. */
static void
sequencer_settled(struct sequencer *self)
{
    begin_waiting(self);
}
