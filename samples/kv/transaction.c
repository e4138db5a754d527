/* SPDX-License-Identifier: MIT */

/*
 * transaction.c - how is a command atomic whose keys live on several workers?
 *
 * 1. All of them come here, and are begun in the order they came.
 * 2. A group begins by asking each shard concerned to hold. A shard hears from
 *    one sender, in order, so all shards hold for the groups in the same
 *    order: nobody waits for somebody who waits for him.
 * 3. When all hold, nobody can see or change any of the keys: that is the
 *    moment the command happens at. Each shard is asked to carry its items out
 *    and let go, and whoever looks at a key after that finds it done; keys
 *    that are not done yet are still held.
 * 4. When all are done the group is answered.
 *
 * A shard that cannot hold (no memory) makes the group fail: the others let
 * go without carrying anything out.
 *
 * The number of groups in progress is limited, so that the lane of the parts,
 * which are answered late, always has room for the one that lets go.
 */

#include <errno.h>
#include <stdlib.h>

#include "samples/kv/command.h"
#include "samples/kv/transaction.h"

#define TRANSACTIONS_MAX 256 /* below the lane's 4,096 messages */

struct transaction {
    struct rgm_gather gather;
    struct rgm_token token; /* of the group */
    struct transaction *next;
    uint32_t parts_count;
    struct rgm_request *requests[RGM_WORKERS_MAX];
    struct part parts[]; /* one per worker there is */
};

struct sequencer {
    struct rgm_actor actor;
    const struct cluster *cluster;
    struct transaction *free;
    uint32_t running_count;
    /* Groups that wait for their beginning: a ring of tokens. */
    struct rgm_token *waiting;
    uint32_t waiting_first;
    uint32_t waiting_count;
    uint32_t waiting_capacity;
};

RGM_FACTORY(sequencer, cluster, sequencer_make);
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
        struct transaction *next = self->free->next;

        free(self->free);
        self->free = next;
    }
    free(self->waiting);
}

/* ---------------------------------------------------------------- transactions */

static struct transaction *
transaction_take(struct sequencer *self)
{
    struct transaction *transaction = self->free;
    uint32_t workers_count = self->cluster->workers_count;

    if (transaction != NULL) {
        self->free = transaction->next;
        return transaction;
    }
    transaction =
        calloc(1, sizeof(*transaction) + workers_count * sizeof(struct part));
    if (transaction == NULL)
        return NULL;
    for (uint32_t i = 0; i < workers_count; i++)
        part_init(&transaction->parts[i]);
    return transaction;
}

static void begin_waiting(struct sequencer *self);

static struct transaction *
transaction_of(struct rgm_gather *gather)
{
    return (struct transaction *)(void *)((char *)gather -
                                          offsetof(struct transaction, gather));
}

/* The group's answer: the sums of all, and the first error. */
static void
finish(struct sequencer *self, struct transaction *transaction,
       struct group *group)
{
    int status = 0;

    for (uint32_t i = 0; i < transaction->parts_count; i++) {
        struct part *part = &transaction->parts[i];

        if (status == 0)
            status = part->phase == PART_RUN ? rgm_status(part) : -ENOMEM;
        for (uint32_t at = 0; at < SUMS_COUNT; at++)
            group->sums[at] += part->sums[at];
    }
    (void)rgm_answer(self, transaction->token, status);
    transaction->next = self->free;
    self->free = transaction;
    self->running_count--;
    begin_waiting(self);
}

static void
on_done(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct sequencer *self = (struct sequencer *)(void *)actor;
    struct transaction *transaction = transaction_of(gather);

    finish(self, transaction, transaction->parts[0].group);
}

/* All have answered that they hold, or some that they cannot: those that hold
 * are asked again. */
static void
on_held(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct transaction *transaction = transaction_of(gather);
    enum part_phase phase = gather->failed == 0 ? PART_RUN : PART_SKIP;
    uint32_t count = 0;

    for (uint32_t i = 0; i < transaction->parts_count; i++) {
        struct part *part = &transaction->parts[i];

        part->phase = phase;
        if (rgm_status(part) == 0)
            transaction->requests[count++] = &part->request;
    }
    if (count > 0)
        rgm_gather_requests(actor, gather, transaction->requests, count,
                            on_done);
    else
        on_done(actor, gather);
}

static void
begin(struct sequencer *self, struct transaction *transaction,
      struct rgm_token token)
{
    struct group *group = RGM_KEPT(self, token, group);
    uint64_t shards = group->shards;
    uint32_t count = 0;

    transaction->token = token;
    while (shards != 0) {
        struct part *part = &transaction->parts[count];
        uint32_t shard = (uint32_t)__builtin_ctzll(shards);

        shards &= shards - 1;
        part_prepare(part, self->cluster->shards[shard]);
        part->group = group;
        part->shard = shard;
        part->phase = PART_HOLD;
        memset(part->sums, 0, sizeof(part->sums));
        transaction->requests[count++] = &part->request;
    }
    transaction->parts_count = count;
    self->running_count++;
    rgm_gather_requests(&self->actor, &transaction->gather,
                        transaction->requests, count, on_held);
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

static void
begin_waiting(struct sequencer *self)
{
    while (self->waiting_count > 0 && self->running_count < TRANSACTIONS_MAX) {
        struct rgm_token token = self->waiting[self->waiting_first];
        struct transaction *transaction = transaction_take(self);

        if (transaction == NULL && self->running_count > 0)
            return; /* one that ends will go on with it */
        self->waiting_first =
            (self->waiting_first + 1) % self->waiting_capacity;
        self->waiting_count--;
        if (transaction != NULL)
            begin(self, transaction, token);
        else
            (void)rgm_answer(self, token, -ENOMEM);
    }
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
    begin_waiting(self);
}
