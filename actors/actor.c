/* SPDX-License-Identifier: MIT */

/*
 * actor.c - the life of an actor, and the delivery of what reaches it.
 *
 *     install --> started --> deliveries, settled --> ... --> stopping
 *             --> (mail and kept requests go home, operations are cancelled,
 *                 answers arrive) --> stopped --> memory and slot go
 *
 * All user code runs from rgi_actor_run, out of the ready list: never while a
 * queue is walked or completions are collected. Whatever happens to an actor
 * in between (a stop, the runtime's end) only marks it and makes it ready.
 *
 * While an actor runs nothing is added to its line: own sends go through the
 * local FIFO, which is sorted in the next turn. So its line is finite.
 */

#include "actors/runtime.h"

#include <string.h>

#include "base/memory.h"

/* ---- deliveries ---- */

static inline void
dead_letter(struct rgm_worker *worker, struct rgm_message *message,
            int status)
{
    rgi_count(worker, dead_letters);
    rgi_send_home(worker, message, status);
}

/* After the handler: did it answer, forward or keep? */
static inline void
finish_handling(struct rgm_worker *worker, struct rgm_message *message)
{
    if (worker->handling != message)
        return;
    worker->handling = NULL;
    if (message->type->kind == RGM_KIND_MESSAGE)
        rgi_send_back(worker, message);
    else if (message->flags & RGI_MESSAGE_CANCELLED)
        rgi_send_home(worker, message, -ECANCELED);
    else
        rgi_send_home(worker, message, -EPROTO);
}

static inline void
handle_mail(struct rgm_worker *worker, struct rgm_actor *actor,
            struct rgm_message *message)
{
    const struct rgi_dispatch_entry *entry =
        rgi_dispatch_find(actor->dispatch, message->type);

    if (entry->type != message->type) {
        dead_letter(worker, message, -ENOSYS);
        return;
    }
    worker->handling = message;
    entry->handle(actor, rgi_record_of(message));
    finish_handling(worker, message);
}

/*
 * A chain that has waited long enough is pushed between deliveries. How many
 * of them pass between two looks at the clock follows from how long the last
 * ones took: sixteen quick ones, or a single slow one.
 */
#define OUTBOX_AGE_MAX_NS (50 * RGM_NS_PER_US)
#define DELIVERIES_PER_LOOK_MAX 16u

static uint64_t
deliveries_to_next_look(const struct rgm_worker *worker, uint64_t age_ns)
{
    uint64_t count = worker->counters.deliveries - worker->dirty_since_count;
    uint64_t fit = count * (OUTBOX_AGE_MAX_NS / 2) / (age_ns + 1);

    if (fit > DELIVERIES_PER_LOOK_MAX)
        return DELIVERIES_PER_LOOK_MAX;
    return fit > 0 ? fit : 1;
}

static void
look_at_clock(struct rgm_worker *worker)
{
    uint64_t now_ns = worker->provider->ops->now(worker->provider);

    if (worker->dirty_since_ns == 0) {
        worker->dirty_since_ns = now_ns;
        worker->dirty_since_count = worker->counters.deliveries;
    }
    if (now_ns - worker->dirty_since_ns >= OUTBOX_AGE_MAX_NS)
        rgi_flush_all(worker);
    else
        worker->next_look =
            worker->counters.deliveries +
            deliveries_to_next_look(worker, now_ns - worker->dirty_since_ns);
}

static inline void
flush_if_old(struct rgm_worker *worker)
{
    if (worker->dirty != 0 && worker->counters.deliveries >= worker->next_look)
        look_at_clock(worker);
}

/* What stays may be answered while its asker is about to leave. */
__attribute__((always_inline)) static inline void
answer_delivered(struct rgm_worker *worker, struct rgm_actor *actor,
                 struct rgm_message *message)
{
    rgi_request_answered(worker, actor, rgi_request_of(message));
    if (__builtin_expect(actor->life == RGI_LIFE_FROZEN, 0))
        rgi_move_spoke(actor);
}

/* One delivery: an answer, or mail while the actor runs. */
__attribute__((always_inline)) static inline void
deliver_one(struct rgm_worker *worker, struct rgm_actor *actor,
            struct rgm_message *message)
{
    if (message->flags & RGI_MESSAGE_ANSWER)
        answer_delivered(worker, actor, message);
    else if (__builtin_expect(message->flags & RGI_MESSAGE_CANCELLED, 0))
        rgi_deliver_cancelled(worker, actor, message);
    else if (actor->life == RGI_LIFE_RUNNING)
        handle_mail(worker, actor, message);
    else if (actor->life == RGI_LIFE_FROZEN)
        rgi_move_collect(actor, message);
    else
        dead_letter(worker, message, -ESRCH);
    rgi_count(worker, deliveries);
}

/* What stands first in the line and is of a one-way type, as long as the actor
 * runs: its handler is looked up once. Returns: whether it was delivered. */
__attribute__((noinline)) static bool
deliver_row(struct rgm_worker *worker, struct rgm_actor *actor,
            const struct rgm_message_type *type)
{
    const struct rgi_dispatch_entry *entry =
        rgi_dispatch_find(actor->dispatch, type);
    struct rgm_message *message = actor->mail_first;

    if (entry->type != type || actor->life != RGI_LIFE_RUNNING)
        return false;
    while (message != NULL && message->type == type &&
           actor->life == RGI_LIFE_RUNNING) {
        actor->mail_first = message->next;
        flush_if_old(worker);
        worker->handling = message;
        entry->handle(actor, rgi_record_of(message));
        if (worker->handling == message) {
            worker->handling = NULL;
            rgi_send_back(worker, message);
        }
        rgi_count(worker, deliveries);
        message = actor->mail_first;
    }
    return true;
}

/* Expanded where it is hot: for one message the call costs as much again. */
__attribute__((always_inline)) static inline void
deliver_line(struct rgm_worker *worker, struct rgm_actor *actor)
{
    struct rgm_message *message;

    while ((message = actor->mail_first) != NULL) {
        if (message->next != NULL && message->type->kind == RGM_KIND_MESSAGE &&
            deliver_row(worker, actor, message->type))
            continue;
        actor->mail_first = message->next;
        flush_if_old(worker);
        deliver_one(worker, actor, message);
    }
}

/* ---- the end of a life ---- */

__attribute__((noinline)) static void
begin_stopping(struct rgm_worker *worker, struct rgm_actor *actor)
{
    actor->flags &= (uint8_t)~RGI_ACTOR_RETIRES;
    rgi_move_give_up(worker, actor);
    rgi_withdraw_all(worker, actor);
    if (!(actor->flags & RGI_ACTOR_ENDING)) {
        actor->flags |= RGI_ACTOR_ENDING;
        rgi_scopes_end(worker, actor);
        rgi_requests_cancel(worker, &actor->scope);
    }
    deliver_line(worker, actor); /* mail turns home, answers are delivered */
}

/* The memory of one that has lost a record may still be written to. */
static void
leave_memory(struct rgm_worker *worker, struct rgm_actor *actor)
{
    size_t size_bytes = rgi_actor_bytes(actor->dispatch->behaviour);

    if (actor->flags & RGI_ACTOR_LOST)
        rgi_slab_lose(actor, size_bytes);
    else if (actor->flags & RGI_ACTOR_FOREIGN)
        rgi_slab_give_away(&worker->slab, actor, size_bytes);
    else
        rgi_slab_give(&worker->slab, actor, size_bytes);
}

static void
end_life(struct rgm_worker *worker, struct rgm_actor *actor)
{
    const struct rgm_behaviour *behaviour = actor->dispatch->behaviour;
    bool root = (actor->flags & RGI_ACTOR_ROOT) != 0;

    actor->life = RGI_LIFE_STOPPED;
    if (behaviour->stopped != NULL && !(actor->flags & RGI_ACTOR_LOST))
        behaviour->stopped(actor);
    rgi_end_tell(worker, actor);
    rgi_slots_release(&worker->slots, rgi_address_slot(actor->address), true);
    if (actor->flags & RGI_ACTOR_MOVED)
        rgi_forwards_end(worker, rgi_roam_of(actor)->forward);
    leave_memory(worker, actor);
    worker->actors_count--;
    rgi_count(worker, stopped);
    if (root)
        rgm_runtime_stop(worker->runtime);
}

/* ---- one turn of an actor ---- */

static void
retire(struct rgm_worker *worker, struct rgm_actor *actor)
{
    rgi_end_decide(actor, RGM_END_RETIRED, -ESHUTDOWN);
    rgi_actor_stop(worker, actor);
}

static inline void
run_hooks_before(struct rgm_worker *worker, struct rgm_actor *actor)
{
    const struct rgm_behaviour *behaviour = actor->dispatch->behaviour;

    if (actor->flags & RGI_ACTOR_STARTS) {
        actor->flags &= (uint8_t)~RGI_ACTOR_STARTS;
        if (behaviour->started != NULL)
            behaviour->started(actor);
    }
    if (actor->flags & RGI_ACTOR_MOVED)
        rgi_moved_runs(actor);
    if (actor->flags & RGI_ACTOR_RETIRES && actor->life == RGI_LIFE_RUNNING) {
        actor->flags &= (uint8_t)~RGI_ACTOR_RETIRES;
        if (behaviour->retiring != NULL)
            behaviour->retiring(actor);
        else if (!rgi_move_begin(worker, actor))
            retire(worker, actor);
    }
}

/* It stops, or is about to move. */
__attribute__((noinline)) static void
go_on_ending(struct rgm_worker *worker, struct rgm_actor *actor)
{
    if (actor->life == RGI_LIFE_STOPPING) {
        begin_stopping(worker, actor);
        if (actor->out_count == 0 && actor->scopes == NULL && !actor->ready)
            end_life(worker, actor);
    } else if (actor->life == RGI_LIFE_FROZEN) {
        rgi_move_look(worker, actor);
    }
}

__attribute__((noinline)) static void
settle(struct rgm_actor *actor)
{
    if (actor->life == RGI_LIFE_RUNNING)
        actor->dispatch->settled(actor);
}

void
rgi_actor_run(struct rgm_worker *worker, struct rgm_actor *actor)
{
    worker->running = actor;
    /* stop-watch: publishes nothing but whose code may be running. */
    __atomic_store_n(&worker->running_dispatch, actor->dispatch,
                     __ATOMIC_RELAXED);
    if (actor->flags &
        (RGI_ACTOR_STARTS | RGI_ACTOR_MOVED | RGI_ACTOR_RETIRES))
        run_hooks_before(worker, actor);
    deliver_line(worker, actor);
    if (__builtin_expect(actor->dispatch->settled != NULL, 0))
        settle(actor);
    if (actor->kept_first != 0)
        rgi_waits_ran(worker, actor);
    if (__builtin_expect(actor->life != RGI_LIFE_RUNNING, 0))
        go_on_ending(worker, actor);
}

void
rgi_actor_stop(struct rgm_worker *worker, struct rgm_actor *actor)
{
    if (actor->life >= RGI_LIFE_STOPPING)
        return;
    if (actor->end_kind == RGM_END_STOPPED)
        actor->end_status = -ECANCELED;
    actor->life = RGI_LIFE_STOPPING;
    if (worker->running != actor)
        rgi_actor_wake(worker, actor);
}

/* ---- mail for an address ---- */

/* The spawn has not come yet: what is addressed to the slot waits in it. */
static void
wait_in_slot(struct rgm_worker *worker, struct rgi_slot *slot,
             struct rgm_message *message)
{
    bool moving = message->type->kind == RGM_KIND_REQUEST &&
                  message->state == RGI_AT_MOVING;

    if (message->flags & RGI_MESSAGE_CANCELLED && !moving) {
        rgi_send_home(worker, message, -ECANCELED);
        return;
    }
    if (message->type->kind == RGM_KIND_REQUEST && !moving)
        message->state = RGI_AT_SLOT;
    message->next = slot->u.waiting;
    slot->u.waiting = message;
}

void
rgi_slot_withdraw(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_slot *slot = rgi_slot_find(&worker->slots, message->to);
    struct rgm_message **link = &slot->u.waiting;

    rgi_assert(slot->state == RGI_SLOT_LENT);
    while (*link != message)
        link = &(*link)->next;
    *link = message->next;
    rgi_send_home(worker, message, -ECANCELED);
}

void
rgi_deliver(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_slot *slot;

    if (message->type->kind == RGM_KIND_OPERATION) {
        if (__builtin_expect(message->flags & RGI_MESSAGE_ANSWER, 0))
            rgi_stray_arrived(worker, message);
        else
            rgi_operate(worker, message);
        return;
    }
    slot = rgi_slot_find(&worker->slots, message->to);
    if (slot != NULL && slot->state == RGI_SLOT_LIVE)
        rgi_actor_push(worker, slot->u.actor, message);
    else if (slot != NULL && slot->state == RGI_SLOT_LENT && !worker->forced)
        wait_in_slot(worker, slot, message);
    else if (slot != NULL && slot->state == RGI_SLOT_MOVED)
        rgi_move_relay(worker, slot, message);
    else
        dead_letter(worker, message, worker->draining ? -EPIPE : -ESRCH);
}

uint32_t
rgi_deliver_run(struct rgm_worker *worker, struct rgi_chain *chain,
                uint32_t most)
{
    struct rgm_message *first = chain->first, *last = first, *next;
    struct rgm_address to = first->to;
    const struct rgi_slot *slot;
    uint32_t count = 1;

    if (first->type->kind >= RGM_KIND_OPERATION)
        return 0;
    slot = rgi_slot_find(&worker->slots, to);
    if (slot == NULL || slot->state != RGI_SLOT_LIVE)
        return 0;
    while ((next = last->next) != NULL && count < most &&
           rgm_address_same(next->to, to) && next->type == first->type) {
        last = next;
        count++;
    }
    chain->first = next;
    rgi_actor_push_all(worker, slot->u.actor, first, last);
    return count;
}

struct rgm_message *
rgi_reversed(struct rgm_message *newest)
{
    struct rgm_message *ordered = NULL;

    while (newest != NULL) {
        struct rgm_message *older = newest->next;

        newest->next = ordered;
        ordered = newest;
        newest = older;
    }
    return ordered;
}

/* Hand over what waited, oldest first. */
static void
install_waiting(struct rgm_worker *worker, struct rgm_actor *actor,
                struct rgm_message *newest)
{
    struct rgm_message *ordered = rgi_reversed(newest);

    while (ordered != NULL) {
        struct rgm_message *next = ordered->next;

        if (ordered->type->kind == RGM_KIND_REQUEST)
            ordered->state = RGI_AT_ROAD;
        rgi_actor_push(worker, actor, ordered);
        ordered = next;
    }
}

void
rgi_actor_install(struct rgm_worker *worker, struct rgm_actor *actor,
                  struct rgm_address address)
{
    struct rgi_slot *slot =
        rgi_slot_at(&worker->slots, rgi_address_slot(address));
    struct rgm_message *waiting = NULL;
    bool stop_waits = slot->stop_waits;

    if (slot->state == RGI_SLOT_LENT) {
        waiting = slot->u.waiting;
        worker->slots.lent--;
    }
    slot->state = RGI_SLOT_LIVE;
    slot->stop_waits = 0;
    slot->u.actor = actor;
    actor->address = address;
    actor->worker = worker;
    actor->flags |= RGI_ACTOR_STARTS;
    rgi_list_init(&actor->scope);
    worker->actors_count++;
    rgi_count(worker, spawned);
    rgi_actor_wake(worker, actor);
    install_waiting(worker, actor, waiting);
    if (worker->draining)
        actor->flags |= RGI_ACTOR_RETIRES;
    if (stop_waits || worker->forced)
        rgi_actor_stop(worker, actor);
}

/* A stop for an address: of an actor, or of one that is still to come. */
void
rgi_actor_stop_at(struct rgm_worker *worker, struct rgm_address address)
{
    struct rgi_slot *slot = rgi_slot_find(&worker->slots, address);

    if (slot != NULL && slot->state == RGI_SLOT_LIVE)
        rgi_actor_stop(worker, slot->u.actor);
    else if (slot != NULL && slot->state == RGI_SLOT_LENT)
        slot->stop_waits = 1;
}

void
rgi_actors_retire(struct rgm_worker *worker)
{
    for (uint32_t i = 1; i <= worker->slots.last; i++) {
        struct rgi_slot *slot = rgi_slot_at(&worker->slots, i);

        if (slot->state != RGI_SLOT_LIVE)
            continue;
        if (slot->u.actor->life == RGI_LIFE_RUNNING)
            slot->u.actor->flags |= RGI_ACTOR_RETIRES;
        rgi_actor_wake(worker, slot->u.actor);
    }
}

void
rgm_stop_self(struct rgm_actor *self)
{
    rgi_assert(rgi_is_owner(self->worker));
    rgi_end_decide(self, RGM_END_DONE, 0);
    rgi_actor_stop(self->worker, self);
}
