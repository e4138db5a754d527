/* SPDX-License-Identifier: MIT */

/*
 * shrink.c - how do workers go, and their clients do not notice?
 *
 * 1. The keys of the workers that go are elsewhere: manager.c. Their shards
 *    still ask for their connections.
 * 2. One after the other their acceptors give up their listeners, which go on
 *    at worker 0, by spare acceptors: a listener on a shared port that is closed
 *    resets the connections in its backlog.
 * 3. The workers are told to retire, and then the client: its own connection may
 *    be among those that go, and has begun no other command by then.
 * 4. Each of their connections comes to rest and goes on elsewhere:
 *    connection.c. The last one of a worker tells its acceptor, which tells the
 *    server and us.
 * 5. The sequencer pauses; the shards of those workers are members no more, and
 *    stop; it goes on. All others hear how many there are.
 * 6. The threads have ended. Only now does the next change begin.
 *
 * What can fail: to give up a listener, when there is no memory or the server
 * stops. Then the workers stay, and the client is told why.
 */

#include "samples/kv/acceptor.h"
#include "samples/kv/manager_parts.h"

RGM_ANSWER(manager, evacuate, on_evacuated);
RGM_ANSWER(manager, rgm_attach, on_listener_here);
RGM_ANSWER(manager, rgm_resize, on_told_to_go);
RGM_ANSWER(manager, pause, on_sequencer_waits);
RGM_ANSWER(manager, rgm_reshard, on_forgotten);
RGM_ANSWER(manager, pause, on_sequencer_goes_on);
RGM_ANSWER(manager, rgm_resize, on_gone);

/* ------------------------------------------------------------------- listeners */

static void
evacuate_next(struct manager *self)
{
    const struct roster *roster = self->cluster->roster;

    if (self->status != 0 || self->evacuating == self->wanted) {
        manager_gates(self, false, manager_gates_open);
        return;
    }
    self->evacuating--;
    evacuate_prepare(&self->evacuate, roster->shards[self->evacuating]);
    self->evacuate.refuges = roster->shards;
    self->evacuate.refuges_count = self->wanted;
    rgm_ask(self, &self->evacuate, RGM_REPLY(manager, evacuate, on_evacuated));
}

void
shrink_evacuate(struct manager *self)
{
    self->evacuating = self->cluster->roster->members_count;
    evacuate_next(self);
}

static void
on_evacuated(struct manager *self, struct evacuate *evacuate)
{
    self->status = rgm_status(evacuate);
    if (self->status != 0 || evacuate->listener.serial == 0) {
        evacuate_next(self); /* the end, or it was given up before */
        return;
    }
    rgm_listener_attach(&self->attach, rgm_here(self), &self->listener,
                        &evacuate->listener);
    rgm_ask(self, &self->attach,
            RGM_REPLY(manager, rgm_attach, on_listener_here));
}

static void
on_listener_here(struct manager *self, struct rgm_attach *attach)
{
    struct listening listening = {&self->cluster->workers[0], &self->listener,
                                  true};

    self->status = rgm_status(attach);
    if (self->status == 0)
        self->status = rgm_spawn(self, &acceptor_behaviour, &listening,
                                 &self->spares[self->spares_count]);
    if (self->status == 0) {
        self->spares_count++;
    } else {
        (void)rgm_detached_close(&attach->detached);
        (void)rgm_listener_drop(self, &self->listener);
    }
    self->listener = (struct rgm_listener){0}; /* it is the acceptor's */
    evacuate_next(self);
}

/* ---------------------------------------------------------------------- workers */

static void
end(struct manager *self)
{
    self->shrinking = false;
    if (!self->has_next)
        return;
    self->has_next = false;
    self->client = self->next;
    manager_begin(self, self->next_wanted);
}

void
shrink_begin(struct manager *self)
{
    const struct roster *roster = self->cluster->roster;

    self->shrinking = true;
    self->remaining = self->wanted;
    self->to_depart = roster->members_count - self->wanted;
    self->retired = false;
    rgm_resize_to(&self->resize, self->remaining);
    rgm_ask(self, &self->resize,
            RGM_REPLY(manager, rgm_resize, on_told_to_go));
}

static void
forget_when_empty(struct manager *self)
{
    if (!self->retired || self->to_depart > 0)
        return;
    pause_prepare(&self->pause, self->cluster->sequencer);
    self->pause.over = false;
    rgm_ask(self, &self->pause, RGM_REPLY(manager, pause, on_sequencer_waits));
}

static void
on_told_to_go(struct manager *self, struct rgm_resize *resize)
{
    self->status = rgm_status(resize);
    manager_answer(self);
    if (self->status != 0) { /* the server stops */
        end(self);
        return;
    }
    self->retired = true;
    forget_when_empty(self);
}

void
shrink_departed(struct manager *self)
{
    self->to_depart--;
    forget_when_empty(self);
}

static void
on_sequencer_waits(struct manager *self, struct pause *pause)
{
    const struct roster *roster = self->cluster->roster;
    struct rgm_reshard *reshard = &self->reshard;

    if (rgm_status(pause) != 0) { /* there is none: the server stops */
        end(self);
        return;
    }
    rgm_reshard_by(reshard, roster->shards[0]);
    for (uint32_t i = 0; i < self->remaining; i++)
        reshard->members[i] = roster->shards[i];
    reshard->members_count = self->remaining;
    reshard->owners_count = self->remaining;
    reshard->moves_max = 0;
    rgm_ask(self, reshard, RGM_REPLY(manager, rgm_reshard, on_forgotten));
}

/* Nobody writes there any more: its shard has no keys, and its connections have
 * gone. */
static void
take_counters(struct kv_worker *to, struct kv_worker *from)
{
    to->commands_total += from->commands_total;
    to->received_total += from->received_total;
    to->expired_total += from->expired_total;
    to->moved_total += from->moved_total;
    if (from->longest_hold_ns > to->longest_hold_ns)
        to->longest_hold_ns = from->longest_hold_ns;
    from->commands_total = 0;
    from->received_total = 0;
    from->expired_total = 0;
    from->moved_total = 0;
    from->longest_hold_ns = 0;
}

/* From here on nobody asks them anything. What they have counted is not lost. */
static void
on_forgotten(struct manager *self, struct rgm_reshard *reshard)
{
    struct roster *roster = self->cluster->roster;

    (void)reshard;
    while (roster->members_count > self->remaining) {
        uint32_t number = --roster->members_count;

        take_counters(&self->cluster->workers[0],
                      &self->cluster->workers[number]);
        rgm_stop_actor(self, roster->shards[number]);
    }
    self->pause.over = true;
    rgm_ask(self, &self->pause,
            RGM_REPLY(manager, pause, on_sequencer_goes_on));
}

static void
on_members_known(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct manager *self = (struct manager *)(void *)actor;

    (void)gather;
    rgm_resize_to(&self->resize, self->remaining);
    self->resize.until_gone = true;
    rgm_ask(self, &self->resize, RGM_REPLY(manager, rgm_resize, on_gone));
}

static void
on_sequencer_goes_on(struct manager *self, struct pause *pause)
{
    (void)pause;
    manager_gates(self, false, on_members_known);
}

static void
on_gone(struct manager *self, struct rgm_resize *resize)
{
    (void)resize;
    end(self);
}
