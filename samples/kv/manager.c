/* SPDX-License-Identifier: MIT */

/*
 * manager.c - how does the number of workers change while clients go on?
 *
 * 1. More are wanted than there are: the runtime grows, and each new worker
 *    gets a shard. It owns nothing yet.
 * 2. The gates are shut: on no worker does a group of several keys go directly
 *    to a shard any more, since its keys may be on two from now on. Each shard
 *    answers when the last that has gone so is home.
 * 3. Rounds of moves: the sequencer pauses, some slots move, it goes on. So
 *    a group sees each of its keys in one place, and waits no longer than one
 *    round. Commands of one key do not notice: <ringmail/shards.h>.
 * 4. New workers begin to listen: they know the map by now. A listener of a
 *    worker that has gone is used again.
 * 5. The gates are opened, and the client is told.
 * 6. Fewer are wanted than there are: the others own nothing any more, and go:
 *    shrink.c.
 *
 * What can fail: making a worker. Then it is as it was, or as far as it got, and
 * the client is told why.
 */

#include <errno.h>

#include "samples/kv/acceptor.h"
#include "samples/kv/manager.h"
#include "samples/kv/manager_parts.h"
#include "samples/kv/shard.h"

/* Moves until groups that wait have their turn. */
#define MOVES_PER_ROUND 2

RGM_FACTORY(manager, cluster, manager_make);
RGM_HOOK(manager, manager_retiring);
RGM_HANDLER(manager, group, manager_group);
RGM_HANDLER(manager, retired, manager_retired);
RGM_ANSWER(manager, rgm_resize, on_resized);
RGM_ANSWER(manager, rgm_listen, on_listening);
RGM_ANSWER(manager, evacuate, on_spare_given_up);
RGM_ANSWER(manager, rgm_attach, on_listener_there);
RGM_ANSWER(manager, pause, on_paused);
RGM_ANSWER(manager, pause, on_gone_on);
RGM_ANSWER(manager, rgm_reshard, on_moved);

static const struct rgm_handler manager_handlers[] = {
    RGM_ON(manager, group, manager_group),
    RGM_ON(manager, retired, manager_retired),
};

const struct rgm_behaviour manager_behaviour = {
    .name = "manager",
    .size_bytes = sizeof(struct manager),
    RGM_HANDLERS(manager_handlers),
    .factory = RGM_MAKE(manager, manager_make),
    .retiring = RGM_DO(manager, manager_retiring),
};

static int
manager_make(struct manager *self, const struct cluster *cluster)
{
    self->cluster = cluster;
    return 0;
}

/* The server stops it. */
static void
manager_retiring(struct manager *self)
{
    (void)self;
}

void
manager_answer(struct manager *self)
{
    self->busy = false;
    (void)rgm_answer(self, self->client, self->status);
}

/* ----------------------------------------------------------------------- gates */

void
manager_gates(struct manager *self, bool shut,
              void (*done)(struct rgm_actor *actor, struct rgm_gather *gather))
{
    const struct roster *roster = self->cluster->roster;

    for (uint32_t i = 0; i < roster->members_count; i++) {
        struct gate *gate = &self->gates[i];

        gate_prepare(gate, roster->shards[i]);
        gate->shut = shut;
        gate->owners_count = self->wanted;
        gate->members_count = roster->members_count;
        self->requests[i] = &gate->request;
    }
    rgm_gather_requests(&self->actor, &self->gather, self->requests,
                        roster->members_count, done);
}

void
manager_gates_open(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct manager *self = (struct manager *)(void *)actor;

    (void)gather;
    if (self->status == 0 &&
        self->wanted < self->cluster->roster->members_count)
        shrink_begin(self);
    else
        manager_answer(self);
}

static void move(struct manager *self);
static void listen_on_next(struct manager *self);

static void
on_gates_shut(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct manager *self = (struct manager *)(void *)actor;

    if (gather->failed == 0) {
        move(self);
        return;
    }
    self->status = -ENOMEM;
    self->wanted = self->cluster->workers[0].owners_count; /* as it was */
    manager_gates(self, false, manager_gates_open);
}

/* ------------------------------------------------------------------------ moves */

static void
move(struct manager *self)
{
    pause_prepare(&self->pause, self->cluster->sequencer);
    self->pause.over = false;
    rgm_ask(self, &self->pause, RGM_REPLY(manager, pause, on_paused));
}

static void
on_paused(struct manager *self, struct pause *pause)
{
    const struct roster *roster = self->cluster->roster;
    struct rgm_reshard *reshard = &self->reshard;

    self->status = rgm_status(pause);
    if (self->status != 0) { /* there is none */
        listen_on_next(self);
        return;
    }
    rgm_reshard_by(reshard, roster->shards[0]);
    for (uint32_t i = 0; i < roster->members_count; i++)
        reshard->members[i] = roster->shards[i];
    reshard->members_count = roster->members_count;
    reshard->owners_count = self->wanted;
    reshard->moves_max = MOVES_PER_ROUND;
    reshard->left_count = 0;
    rgm_ask(self, reshard, RGM_REPLY(manager, rgm_reshard, on_moved));
}

static void
on_moved(struct manager *self, struct rgm_reshard *reshard)
{
    self->status = rgm_status(reshard);
    self->pause.over = true;
    rgm_ask(self, &self->pause, RGM_REPLY(manager, pause, on_gone_on));
}

static void
on_gone_on(struct manager *self, struct pause *pause)
{
    (void)pause;
    if (self->status == 0 && self->reshard.left_count > 0)
        move(self);
    else
        listen_on_next(self);
}

/* ------------------------------------------------------------------ new workers */

int
kv_worker_open(const struct cluster *cluster, uint32_t number)
{
    const struct rgm_pool_options pool = {
        .name = "input",
        .slots_count = POOL_SLOTS,
        .slot_size_bytes = POOL_SLOT_BYTES,
    };
    struct kv_worker *worker = &cluster->workers[number];

    worker->cluster = cluster;
    worker->number = number;
    return rgm_pool_create(&pool, &worker->pool);
}

/* Returns 0, or why there is no such worker with a shard. */
static int
equip(struct manager *self, uint32_t number)
{
    const struct cluster *cluster = self->cluster;
    struct roster *roster = cluster->roster;
    struct kv_worker *worker = &cluster->workers[number];
    int status = worker->pool != NULL ? 0 : kv_worker_open(cluster, number);

    if (status != 0)
        return status;
    worker->owners_count = cluster->workers[0].owners_count;
    worker->members_count = number + 1;
    worker->direct = false;
    worker->gated = false;
    worker->retiring = false; /* it may have been here before */
    worker->leaving = false;
    status = rgm_spawn_on(self, number, &shard_behaviour, worker,
                          &roster->shards[number]);
    if (status == 0)
        roster->members_count++;
    return status;
}

static void
on_resized(struct manager *self, struct rgm_resize *resize)
{
    self->status = rgm_status(resize);
    while (self->status == 0 &&
           self->cluster->roster->members_count < self->wanted)
        self->status = equip(self, self->cluster->roster->members_count);
    if (self->status == 0)
        manager_gates(self, true, on_gates_shut);
    else
        manager_answer(self);
}

/* Those that have a shard and do not listen yet. */
static void
listen_on_next(struct manager *self)
{
    const struct roster *roster = self->cluster->roster;

    if (self->status == 0 && self->wanted < roster->members_count) {
        shrink_evacuate(self);
        return;
    }
    if (self->status != 0 || roster->acceptors_count == roster->members_count) {
        manager_gates(self, false, manager_gates_open);
        return;
    }
    if (self->spares_count > 0) {
        evacuate_prepare(&self->evacuate, self->spares[--self->spares_count]);
        self->evacuate.refuges_count = 0;
        rgm_ask(self, &self->evacuate,
                RGM_REPLY(manager, evacuate, on_spare_given_up));
        return;
    }
    rgm_stream_listen(&self->listen,
                      rgm_worker_address(roster->acceptors_count),
                      &self->listener, &self->cluster->endpoint, true);
    rgm_ask(self, &self->listen, RGM_REPLY(manager, rgm_listen, on_listening));
}

/* The next worker's listener, if status is 0. */
static void
accept_on_next(struct manager *self, int status)
{
    struct roster *roster = self->cluster->roster;
    uint32_t number = roster->acceptors_count;
    struct listening listening = {&self->cluster->workers[number],
                                  &self->listener, false};
    struct rgm_address acceptor;

    self->status = status;
    if (self->status == 0) {
        self->status = rgm_spawn_on(self, number, &acceptor_behaviour,
                                    &listening, &acceptor);
        if (self->status == 0)
            roster->acceptors_count++;
        else
            (void)rgm_listener_drop(self, &self->listener);
        self->listener = (struct rgm_listener){0}; /* it is the acceptor's */
    }
    listen_on_next(self);
}

static void
on_listening(struct manager *self, struct rgm_listen *listen)
{
    accept_on_next(self, rgm_status(listen));
}

static void
on_spare_given_up(struct manager *self, struct evacuate *evacuate)
{
    self->status = rgm_status(evacuate);
    if (self->status != 0) {
        listen_on_next(self);
        return;
    }
    rgm_listener_attach(
        &self->attach,
        rgm_worker_address(self->cluster->roster->acceptors_count),
        &self->listener, &evacuate->listener);
    rgm_ask(self, &self->attach,
            RGM_REPLY(manager, rgm_attach, on_listener_there));
}

static void
on_listener_there(struct manager *self, struct rgm_attach *attach)
{
    int status = rgm_status(attach);

    if (status != 0)
        (void)rgm_detached_close(&attach->detached);
    accept_on_next(self, status);
}

/* ---------------------------------------------------------------------- request */

/* A change that waits until workers have gone; but not for one whose own
 * connection cannot go while it waits. */
static int
wait_for_next(struct manager *self, struct group *group)
{
    uint32_t asker = rgm_address_worker(group->request.message.from);
    int status;

    if (self->has_next || asker >= self->remaining)
        return -EBUSY;
    status = rgm_keep(self, group, &self->next);
    self->has_next = status == 0;
    self->next_wanted = group->workers;
    return status;
}

static void
manager_group(struct manager *self, struct group *group)
{
    int status = -EBUSY;

    if (self->shrinking && !self->busy)
        status = wait_for_next(self, group);
    else if (!self->busy)
        status = rgm_keep(self, group, &self->client);
    if (status != 0)
        rgm_reply(self, group, status);
    else if (!self->shrinking)
        manager_begin(self, group->workers);
}

static void
manager_retired(struct manager *self, struct retired *retired)
{
    rgm_reply(self, retired, 0);
    shrink_departed(self);
}

void
manager_begin(struct manager *self, uint32_t wanted)
{
    self->busy = true;
    self->status = 0;
    self->wanted = wanted;
    if (wanted <= self->cluster->roster->members_count) {
        manager_gates(self, true, on_gates_shut);
        return;
    }
    rgm_resize_to(&self->resize, wanted);
    rgm_ask(self, &self->resize, RGM_REPLY(manager, rgm_resize, on_resized));
}

void
kv_worker_close(struct kv_worker *worker)
{
    rgm_pool_destroy(worker->pool);
    worker->pool = NULL;
}
