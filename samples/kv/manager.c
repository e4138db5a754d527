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
 * 4. New workers begin to listen: they know the map by now.
 * 5. The gates are opened, and the client is told.
 *
 * Fewer are wanted than there are: the others own nothing any more, but go on
 * serving their connections, which are not to be reset.
 *
 * What can fail: making a worker. Then it is as it was, or as far as it got, and
 * the client is told why.
 */

#include <errno.h>

#include <ringmail/resize.h>

#include "samples/kv/acceptor.h"
#include "samples/kv/command.h"
#include "samples/kv/manager.h"
#include "samples/kv/shard.h"

/* Moves until groups that wait have their turn. */
#define MOVES_PER_ROUND 2

struct manager {
    struct rgm_actor actor;
    const struct cluster *cluster;
    struct rgm_token client; /* its group */
    bool busy;
    uint32_t wanted;
    int status; /* of what has failed; else 0 */
    struct rgm_resize resize;
    struct rgm_listen listen;
    struct rgm_listener listener;
    struct pause pause;
    struct rgm_reshard reshard;
    struct rgm_gather gather;
    struct rgm_request *requests[RGM_WORKERS_MAX];
    struct gate gates[RGM_WORKERS_MAX];
};

RGM_FACTORY(manager, cluster, manager_make);
RGM_HOOK(manager, manager_retiring);
RGM_HANDLER(manager, group, manager_group);
RGM_ANSWER(manager, rgm_resize, on_resized);
RGM_ANSWER(manager, rgm_listen, on_listening);
RGM_ANSWER(manager, pause, on_paused);
RGM_ANSWER(manager, pause, on_gone_on);
RGM_ANSWER(manager, rgm_reshard, on_moved);

static const struct rgm_handler manager_handlers[] = {
    RGM_ON(manager, group, manager_group),
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

static void
end(struct manager *self)
{
    self->busy = false;
    (void)rgm_answer(self, self->client, self->status);
}

/* ----------------------------------------------------------------------- gates */

static void
ask_gates(struct manager *self, bool shut,
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

static void
on_gates_open(struct rgm_actor *actor, struct rgm_gather *gather)
{
    (void)gather;
    end((struct manager *)(void *)actor);
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
    ask_gates(self, false, on_gates_open);
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
        ask_gates(self, true, on_gates_shut);
    else
        end(self);
}

/* Those that have a shard and do not listen yet. */
static void
listen_on_next(struct manager *self)
{
    const struct roster *roster = self->cluster->roster;

    if (self->status != 0 || roster->acceptors_count == roster->members_count) {
        ask_gates(self, false, on_gates_open);
        return;
    }
    rgm_stream_listen(&self->listen,
                      rgm_worker_address(roster->acceptors_count),
                      &self->listener, &self->cluster->endpoint, true);
    rgm_ask(self, &self->listen, RGM_REPLY(manager, rgm_listen, on_listening));
}

static void
on_listening(struct manager *self, struct rgm_listen *listen)
{
    struct roster *roster = self->cluster->roster;
    uint32_t number = roster->acceptors_count;
    struct listening listening = {&self->cluster->workers[number],
                                  &self->listener};
    struct rgm_address acceptor;

    self->status = rgm_status(listen);
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

/* ---------------------------------------------------------------------- request */

static void
manager_group(struct manager *self, struct group *group)
{
    const struct roster *roster = self->cluster->roster;
    uint32_t wanted = group->workers;
    int status = self->busy ? -EBUSY : rgm_keep(self, group, &self->client);

    if (status != 0) {
        rgm_reply(self, group, status);
        return;
    }
    self->busy = true;
    self->status = 0;
    self->wanted = wanted;
    if (wanted <= roster->members_count) {
        ask_gates(self, true, on_gates_shut);
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
