/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_SHARDS_TEST_H
#define RGI_ACTORS_SHARDS_TEST_H

/*
 * shards_test.h - how does a test see a request overtake another, or a slot
 * lose what was in it?
 *
 * Keepers own cells, a few per slot. A write says which number the cell gets,
 * and that must be one more than it has: so a lost state, a lost or a doubled
 * write and one that overtakes another are all seen at once, by the keeper. A
 * cell is handed out as a chunk of its own.
 */

#include <stdatomic.h>

#include "actors/rig.h"
#include "actors/shards.h"

#define STAGE_SLOTS 16
#define STAGE_CELLS 4 /* per slot */

struct op {
    struct rgm_request request;
    uint64_t hash;
    uint32_t cell;
    bool write;
    long value;  /* to write, or what was read */
    long wanted; /* the client's: what a read has to see */
    void *about;
};
RGM_REQUEST(op);
RGM_SHARDED(op);

/* The same, charged to the other lane. */
struct late_op {
    struct rgm_request request;
    uint64_t hash;
    uint32_t cell;
    long value;
};
RGM_REQUEST_LATE(late_op);
RGM_SHARDED(late_op);

/* One cell on its way. */
struct stage_state {
    uint32_t cell;
    long value;
};

struct keeper {
    struct rgm_actor actor;
    struct rgm_shard shard;
    long cells[STAGE_SLOTS][STAGE_CELLS];
    uint32_t handing[STAGE_SLOTS]; /* next cell to hand out */
    struct rgm_token kept;
    uint32_t handled;
};

/* What the keepers do; zero: all goes well. */
static struct stage {
    struct rgm_shards_options options;
    struct keeper *keepers[RGM_WORKERS_MAX];
    struct rgm_address addresses[RGM_WORKERS_MAX];
    atomic_int take_in_errors; /* that many times it fails */
    atomic_int hand_out_errors;
    atomic_int chunks_now, chunks_most, dropped;
    atomic_bool keeps;   /* reads are kept until handed out */
    atomic_bool blocked; /* take_in fails until this is cleared */
    atomic_int refused;  /* ... and did, so often */
    atomic_bool stops;   /* who refuses also stops */
    atomic_bool spins;   /* hand_out holds its worker until this is */
} stage;

static uint64_t
stage_hash(uint32_t slot)
{
    return (uint64_t)slot << 60; /* STAGE_SLOTS of them */
}

RGM_SHARD(keeper, shard);
RGM_HANDLER(keeper, op, keeper_op);
RGM_HANDLER(keeper, late_op, keeper_late_op);
RGM_HOOK(keeper, keeper_started);
RGM_HOOK(keeper, keeper_stopped);
RGM_FACTORY(keeper, stage, keeper_make);

static const struct rgm_handler keeper_handlers[] = {
    RGM_ON(keeper, op, keeper_op),
    RGM_ON(keeper, late_op, keeper_late_op),
    RGM_SHARD_ON(keeper),
};

static const struct rgm_behaviour keeper_behaviour = {
    .name = "keeper",
    .size_bytes = sizeof(struct keeper),
    RGM_HANDLERS(keeper_handlers),
    .factory = RGM_MAKE(keeper, keeper_make),
    .started = RGM_DO(keeper, keeper_started),
    .stopped = RGM_DO(keeper, keeper_stopped),
};

static int
keeper_make(struct keeper *self, const struct stage *unused)
{
    (void)unused;
    return rgm_shard_init(&self->shard, &stage.options);
}

/* For the askers of this worker. */
static void
keeper_started(struct keeper *self)
{
    stage.keepers[rgm_worker_number(&self->actor)] = self;
}

static void
keeper_stopped(struct keeper *self)
{
    rgm_shard_close(&self->shard);
}

static void
keeper_op(struct keeper *self, struct op *op)
{
    bool owned = rgm_shard_owns(&self->shard, op->hash);
    long *cell;

    if (!rgm_shard_admit(self, &self->shard, op)) {
        rgi_check(!owned);
        return;
    }
    rgi_check(owned);
    self->handled++;
    cell = &self->cells[rgm_shard_slot(&self->shard, op->hash)][op->cell];
    if (op->write) {
        rgi_check(op->value == *cell + 1);
        *cell = op->value;
    }
    op->value = *cell;
    if (!op->write && atomic_load(&stage.keeps) &&
        rgm_kept_request(&self->actor, self->kept) == NULL)
        rgi_check(rgm_keep(self, op, &self->kept) == 0);
    else
        rgm_reply(self, op, 0);
}

static void
keeper_late_op(struct keeper *self, struct late_op *op)
{
    if (!rgm_shard_admit(self, &self->shard, op))
        return;
    op->value = self->cells[rgm_shard_slot(&self->shard, op->hash)][op->cell];
    rgm_reply(self, op, 0);
}

/* ---- the state on its way ---- */

static bool
stage_fails(atomic_int *errors)
{
    int left = atomic_load(errors);

    while (left > 0)
        if (atomic_compare_exchange_weak(errors, &left, left - 1))
            return true;
    return false;
}

static int
stage_hand_out(struct rgm_actor *actor, uint32_t slot,
               struct rgm_shard_chunk *chunk)
{
    struct keeper *self = (struct keeper *)(void *)actor;
    uint32_t cell = self->handing[slot];
    struct stage_state *state;
    int now;

    rgi_check(!rgm_shard_owns(&self->shard, stage_hash(slot)));
    if (stage_fails(&stage.hand_out_errors))
        return -ENOMEM;
    if (atomic_load(&stage.spins))
        rgm_flush_worker(actor); /* the first chunk is on its way */
    while (atomic_load(&stage.spins))
        continue;
    if (rgm_kept_request(actor, self->kept) != NULL)
        rgi_check(rgm_shard_forward_kept(self, &self->shard, self->kept) == 0);
    state = malloc(sizeof(*state));
    rgi_check(state != NULL);
    *state = (struct stage_state){cell, self->cells[slot][cell]};
    self->cells[slot][cell] = -1000; /* whoever looks now is wrong */
    chunk->state = state;
    now = atomic_fetch_add(&stage.chunks_now, 1) + 1;
    if (now > atomic_load(&stage.chunks_most))
        atomic_store(&stage.chunks_most, now);
    self->handing[slot] = (cell + 1) % STAGE_CELLS;
    return self->handing[slot] == 0 ? RGM_SHARD_DONE : RGM_SHARD_MORE;
}

static int
stage_take_in(struct rgm_actor *actor, uint32_t slot,
              struct rgm_shard_chunk *chunk)
{
    struct keeper *self = (struct keeper *)(void *)actor;
    struct stage_state *state = chunk->state;

    rgi_check(!rgm_shard_owns(&self->shard, stage_hash(slot)));
    if (atomic_load(&stage.blocked)) {
        atomic_fetch_add(&stage.refused, 1);
        if (atomic_load(&stage.stops))
            rgm_stop(self);
        return -ENOMEM;
    }
    if (stage_fails(&stage.take_in_errors))
        return -ENOMEM;
    self->cells[slot][state->cell] = state->value;
    free(state);
    atomic_fetch_sub(&stage.chunks_now, 1);
    return 0;
}

static void
stage_drop(struct rgm_actor *actor, struct rgm_shard_chunk *chunk)
{
    (void)actor;
    free(chunk->state);
    atomic_fetch_add(&stage.dropped, 1);
}

__attribute__((unused)) static void
stage_reset(void)
{
    memset(&stage, 0, sizeof(stage));
    stage.options = (struct rgm_shards_options){
        .slots = STAGE_SLOTS,
        .slots_per_move = 2,
        .hand_out = stage_hand_out,
        .take_in = stage_take_in,
        .drop = stage_drop,
    };
}

/* ---- for the scripts ---- */

/* A keeper on each worker. */
__attribute__((unused)) static void
stage_spawn(struct robot *self)
{
    uint32_t count = rgm_workers_count(&self->actor);

    for (uint32_t i = 0; i < count; i++)
        rgi_check(rgm_spawn_on(self, i, &keeper_behaviour, &stage,
                               &stage.addresses[i]) == 0);
}

/* The first `owners` of the first `members` workers own the slots. */
__attribute__((unused)) static void
stage_prepare(struct rgm_reshard *reshard, uint32_t members, uint32_t owners)
{
    rgm_reshard_by(reshard, stage.addresses[0]);
    memset(reshard->members, 0, sizeof(reshard->members));
    for (uint32_t i = 0; i < members; i++)
        reshard->members[i] = stage.addresses[i];
    reshard->members_count = members;
    reshard->owners_count = owners;
    reshard->moves_max = 0;
}

#endif /* RGI_ACTORS_SHARDS_TEST_H */
