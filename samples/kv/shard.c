/* SPDX-License-Identifier: MIT */

/*
 * shard.c - who carries a command out, and when must it wait?
 *
 * 1. A command, or a group whose keys all live here, is carried out at once: here,
 *    or by the connection that has it, if that is of this worker (shard_run).
 * 2. A part holds the shard: from its answer until it comes again, everything
 *    else is kept, in the order it came; another part too. Then the part's
 *    groups are carried out and the kept ones follow.
 * 3. Keys are here by slots, which may move to another worker's shard: then a
 *    slot's table goes as it is. Nothing is held while slots move, and no slot
 *    moves while anything is held: manager.c sees to it.
 * 4. After each batch one sleep is kept that ends when the next key expires;
 *    then some are removed, and if there are more, the sleep is short.
 *
 * What can fail: memory, and then the asker is told.
 */

#include <errno.h>
#include <stdlib.h>

#include <ringmail/clock.h>

#include "samples/kv/command.h"
#include "samples/kv/shard.h"

#define EXPIRE_BUDGET 256 /* keys removed between other work */
/* A sleep is no longer than this, whatever the deadline. */
#define SLEEP_MAX_NS (3600 * RGM_NS_PER_S)

/* A kept request; which of the three it is. */
struct waiting {
    struct rgm_token token;
    const struct rgm_message_type *type;
};

struct shard {
    struct rgm_actor actor;
    struct kv_worker *worker;
    struct rgm_shard slots;
    struct store store;
    struct rgm_token gate; /* shut, and waits */
    /* Requests kept while held: a ring. */
    struct waiting *waiting;
    uint32_t waiting_first;
    uint32_t waiting_count;
    uint32_t waiting_capacity;
    bool held;
    uint64_t left_expired; /* counted, and with its worker */
    uint64_t left_moved;
    /* The sleep until the next key expires. */
    bool sleeping;
    bool waking; /* cancelled, for an earlier one */
    uint64_t sleeps_until_ms;
    struct rgm_sleep sleep;
};

RGM_SHARD(shard, slots);
RGM_FACTORY(shard, kv_worker, shard_make);
RGM_HOOK(shard, shard_settled);
RGM_HOOK(shard, shard_retiring);
RGM_HOOK(shard, shard_stopped);
RGM_HANDLER(shard, command, shard_command);
RGM_HANDLER(shard, group, shard_group);
RGM_HANDLER(shard, part, shard_part);
RGM_HANDLER(shard, gate, shard_gate);
RGM_HANDLER(shard, drained, shard_drained);
RGM_HANDLER(shard, evacuate, shard_evacuate);
RGM_HANDLER(shard, handover, shard_handover);
RGM_ANSWER(shard, rgm_sleep, shard_slept);

static const struct rgm_handler shard_handlers[] = {
    RGM_ON(shard, command, shard_command), RGM_ON(shard, group, shard_group),
    RGM_ON(shard, part, shard_part),       RGM_ON(shard, gate, shard_gate),
    RGM_ON(shard, drained, shard_drained), RGM_SHARD_ON(shard),
    RGM_ON(shard, evacuate, shard_evacuate),
    RGM_ON(shard, handover, shard_handover),
};

const struct rgm_behaviour shard_behaviour = {
    .name = "shard",
    .size_bytes = sizeof(struct shard),
    RGM_HANDLERS(shard_handlers),
    .factory = RGM_MAKE(shard, shard_make),
    .settled = RGM_DO(shard, shard_settled),
    .retiring = RGM_DO(shard, shard_retiring),
    .stopped = RGM_DO(shard, shard_stopped),
};

/* ----------------------------------------------------------------------- slots */

/* A slot is one chunk: its entries, and how many of them expire. */
static int
slot_hand_out(struct rgm_actor *actor, uint32_t slot,
              struct rgm_shard_chunk *chunk)
{
    struct shard *self = (struct shard *)(void *)actor;

    chunk->state = store_take_slot(&self->store, slot, &chunk->count);
    return RGM_SHARD_DONE;
}

static int
slot_take_in(struct rgm_actor *actor, uint32_t slot,
             struct rgm_shard_chunk *chunk)
{
    struct shard *self = (struct shard *)(void *)actor;

    return store_put_slot(&self->store, slot, chunk->state, chunk->count);
}

static void
slot_drop(struct rgm_actor *actor, struct rgm_shard_chunk *chunk)
{
    (void)actor;
    store_drop_slot(chunk->state);
}

static const struct rgm_shards_options slots_options = {
    .slots = STORE_SLOTS,
    .slots_per_move = SHARD_SLOTS_PER_MOVE,
    .chunks = SHARD_SLOTS_PER_MOVE,
    .hand_out = slot_hand_out,
    .take_in = slot_take_in,
    .drop = slot_drop,
};

/* ------------------------------------------------------------- beginning and end */

static int
shard_make(struct shard *self, const struct kv_worker *worker)
{
    int status = rgm_shard_init(&self->slots, &slots_options);

    if (status != 0)
        return status;
    self->worker = (struct kv_worker *)(uintptr_t)worker;
    self->worker->shard = self;
    self->worker->store = &self->store;
    self->worker->slots = &self->slots;
    return 0;
}

/* The server stops the shards, when nobody is left to ask them. */
static void
shard_retiring(struct shard *self)
{
    (void)self;
}

/* What it has counted is not lost: what is new goes to its worker. */
static void
leave_counters(struct shard *self)
{
    struct kv_worker *worker = self->worker;
    struct rgm_shard_counters counters;

    rgm_shard_counters(&self->slots, &counters);
    worker->expired_total += self->store.expired - self->left_expired;
    worker->moved_total += counters.moved_in - self->left_moved;
    if (counters.longest_hold_ns > worker->longest_hold_ns)
        worker->longest_hold_ns = counters.longest_hold_ns;
    self->left_expired = self->store.expired;
    self->left_moved = counters.moved_in;
}

static void
shard_stopped(struct shard *self)
{
    leave_counters(self);
    rgm_shard_close(&self->slots);
    store_clear(&self->store);
    free(self->waiting);
}

static uint64_t
now_ms(const struct shard *self)
{
    return rgm_now(&self->actor) / RGM_NS_PER_MS;
}

/* ------------------------------------------------------------------ carry out */

static int
run_command(struct shard *self, struct command *command)
{
    return execute_command(&self->store, command, now_ms(self));
}

bool
shard_may_run(const struct kv_worker *worker, const struct command *command)
{
    const struct shard *self = worker->shard;
    /* The sleep until the next key expires is set after the shard's own batches. */
    bool expires =
        command->flags & COMMAND_TTL || command->operation == OP_EXPIRE;

    return rgm_shard_owns(&self->slots, command->hash) && !self->held &&
           !expires;
}

int
shard_run(const struct kv_worker *worker, struct command *command)
{
    return run_command(worker->shard, command);
}

static void
info_of_worker(struct shard *self, uint64_t *sums)
{
    const struct kv_worker *worker = self->worker;

    leave_counters(self);
    sums[SUM_CONNECTIONS] += worker->connections_count;
    sums[SUM_RECEIVED] += worker->received_total;
    sums[SUM_COMMANDS] += worker->commands_total;
    sums[SUM_EXPIRED] += worker->expired_total;
    sums[SUM_SLOTS_MOVED] += worker->moved_total;
    if (worker->longest_hold_ns > sums[SUM_HELD_NS])
        sums[SUM_HELD_NS] = worker->longest_hold_ns;
}

static int
run_group(struct shard *self, struct group *group, uint64_t *sums)
{
    if (group->operation == OP_INFO)
        info_of_worker(self, sums);
    return execute_group(&self->store, group, self->worker->number,
                         now_ms(self), sums);
}

/* --------------------------------------------------------------------- waiting */

static bool
waiting_grow(struct shard *self)
{
    uint32_t capacity = self->waiting_capacity * 2;
    struct waiting *waiting;

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

/* Keep the request being handled. Returns 0, or -ENOMEM: answer it. */
static int
wait_in_line(struct shard *self, struct rgm_request *request)
{
    struct waiting waiting = {.type = request->message.type};
    int status;

    if (self->waiting_count == self->waiting_capacity && !waiting_grow(self))
        return -ENOMEM;
    status = rgm_keep_request(&self->actor, request, &waiting.token);
    if (status != 0)
        return status;
    self->waiting[(self->waiting_first + self->waiting_count++) %
                  self->waiting_capacity] = waiting;
    return 0;
}

/* Answer the first in line; a part takes the hold with it. */
static void
serve_first(struct shard *self)
{
    struct waiting first = self->waiting[self->waiting_first];
    struct command *command;
    struct group *group;
    int status = 0;

    self->waiting_first = (self->waiting_first + 1) % self->waiting_capacity;
    self->waiting_count--;
    if (first.type == &command_type) {
        command = RGM_KEPT(self, first.token, command);
        if (command != NULL)
            status = run_command(self, command);
    } else if (first.type == &group_type) {
        group = RGM_KEPT(self, first.token, group);
        if (group != NULL)
            status = run_group(self, group, group->sums);
    } else {
        self->held = true;
    }
    (void)rgm_answer(self, first.token, status);
}

/* ------------------------------------------------------------------- handlers */

static void
shard_command(struct shard *self, struct command *command)
{
    int status;

    if (!rgm_shard_admit(self, &self->slots, command))
        return;
    if (!self->held) {
        rgm_reply(self, command, run_command(self, command));
        return;
    }
    status = wait_in_line(self, &command->request);
    if (status != 0) {
        rgm_view_drop(&command->view);
        rgm_reply(self, command, status);
    }
}

static void
shard_group(struct shard *self, struct group *group)
{
    int status;

    if (!self->held) {
        rgm_reply(self, group, run_group(self, group, group->sums));
        return;
    }
    status = wait_in_line(self, &group->request);
    if (status != 0)
        rgm_reply(self, group, status);
}

static void
hold(struct shard *self, struct part *part)
{
    int status;

    if (!self->held) {
        self->held = true;
        rgm_reply(self, part, 0);
        return;
    }
    status = wait_in_line(self, &part->request);
    if (status != 0)
        rgm_reply(self, part, status);
}

static void
run_part(struct shard *self, struct part *part)
{
    uint64_t mine = UINT64_C(1) << self->worker->number;

    for (uint32_t i = 0; i < part->groups_count; i++) {
        struct group *group = part->groups[i];
        struct outcome *outcome = &part->outcomes[i];

        memset(outcome, 0, sizeof(*outcome));
        if (group->shards & mine)
            outcome->status = run_group(self, group, outcome->sums);
    }
}

static void
shard_part(struct shard *self, struct part *part)
{
    if (part->phase == PART_HOLD) {
        hold(self, part);
        return;
    }
    if (part->phase == PART_RUN)
        run_part(self, part);
    rgm_reply(self, part, 0);
    self->held = false;
    while (self->waiting_count > 0 && !self->held)
        serve_first(self);
}

/* ------------------------------------------------------------------------ gate */

static void
shard_gate(struct shard *self, struct gate *gate)
{
    struct kv_worker *worker = self->worker;
    int status;

    if (gate->shut && worker->direct_out > 0) {
        status = rgm_keep(self, gate, &self->gate);
        if (status != 0) {
            rgm_reply(self, gate, status);
            return;
        }
        worker->direct = false;
        worker->gated = true;
        return;
    }
    worker->direct = !gate->shut;
    worker->owners_count = gate->owners_count;
    worker->members_count = gate->members_count;
    rgm_reply(self, gate, 0);
}

static void
shard_drained(struct shard *self, struct drained *drained)
{
    self->worker->gated = false;
    rgm_reply(self, drained, 0);
    (void)rgm_answer(self, self->gate, 0);
}

/* ------------------------------------------------------------ for the acceptor */

/* Shards are known to all from the beginning, acceptors to their worker. */
static void
shard_evacuate(struct shard *self, struct evacuate *evacuate)
{
    leave_counters(self); /* its keys are elsewhere: it counts no more */
    rgm_forward(self, evacuate, self->worker->acceptor);
}

static void
shard_handover(struct shard *self, struct handover *handover)
{
    rgm_forward(self, handover, self->worker->acceptor);
}

/* ---------------------------------------------------------------------- expiry */

static void
sleep_until(struct shard *self, uint64_t expires_ms)
{
    uint64_t now_ns = rgm_now(&self->actor);
    uint64_t latest_ms = (now_ns + SLEEP_MAX_NS) / RGM_NS_PER_MS;

    /* A key is gone when its last millisecond has passed. */
    self->sleeps_until_ms = expires_ms < latest_ms ? expires_ms : latest_ms;
    rgm_sleep_until(&self->sleep, rgm_here(self),
                    (self->sleeps_until_ms + 1) * RGM_NS_PER_MS);
    self->sleeping = true;
    self->waking = false;
    rgm_ask(self, &self->sleep, RGM_REPLY(shard, rgm_sleep, shard_slept));
}

static void
shard_settled(struct shard *self)
{
    uint64_t expires_ms = store_next_expiry(&self->store);

    if (expires_ms == RGM_NEVER)
        return;
    if (!self->sleeping) {
        sleep_until(self, expires_ms);
    } else if (expires_ms < self->sleeps_until_ms && !self->waking) {
        self->waking = true;
        rgm_cancel(self, &self->sleep);
    }
}

static void
shard_slept(struct shard *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    self->sleeping = false;
    store_remove_expired(&self->store, now_ms(self), EXPIRE_BUDGET);
}
