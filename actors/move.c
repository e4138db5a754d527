/* SPDX-License-Identifier: MIT */

/*
 * move.c - an actor leaves a worker that retires, and keeps its address.
 *
 * 1. freeze   its mail collects, what it asks waits, what it has out is
 *             cancelled and awaited, or stays (stays.c), leases it took are
 *             awaited
 * 2. leave    what it has sent must not be overtaken by what it will send from
 *             elsewhere: its node passes through the local FIFO, behind what it
 *             sent to neighbours, and all outboxes are pushed. A slot number
 *             that another worker has lent is taken; everything goes down the
 *             road to that worker, in this order: the requests it
 *             keeps, its state (one node; the actor's memory stays where it
 *             is), the mail that has collected, and from then on whatever
 *             arrives for the old address
 * 3. arrive   it is installed in the lent slot: what waited in it are the kept
 *             requests; then `moved` runs, its asks start, its mail follows
 * 4. forget   when it ends, its entries in the forwarding tables go
 *
 * The old address stays the actor's name. Tokens of kept requests stay good: a
 * token says in which worker's table it was made, and the new entry remembers
 * it. An order holds because the old worker relays until it closes, and nobody
 * looks into the table before (forwards.c).
 *
 * What can fail: without memory to freeze the actor is stopped instead; without
 * memory or a number to leave it waits for a later turn; without memory to keep
 * on arrival the request is withdrawn. When the runtime stops meanwhile, who is
 * frozen stops. Model: actors/models/move.pml.
 */

#include "actors/runtime.h"

#include <string.h>

#include "base/memory.h"

#define MOVES_PER_TURN 64u

/* A kept request on its way, and the token the actor has of it. */
struct moved_token {
    struct rgm_message *message;
    struct rgm_token token;
};

/* One move: frozen, then under way, then home. The old worker's. */
struct rgi_move {
    struct rgm_message message;
    struct rgm_actor *actor;
    struct rgm_link link;        /* in `movers`, once nothing is out */
    struct rgi_chain asked;      /* requests that wait */
    uint32_t asked_count;
    struct rgi_chain collected;  /* mail that waits */
    struct moved_token *tokens;
    uint32_t tokens_count;
    bool passes;  /* the node is in the local FIFO */
    bool passed;  /* and has been: all it sent to neighbours is delivered */
    bool leaves;  /* the node is under way, or home again */
};

static const struct rgm_message_type move_type = {
    "move", sizeof(struct rgi_move), 0, RGM_KIND_CONTROL, 0, NULL};

static bool try_leave(struct rgm_worker *worker, struct rgi_move *move);

struct rgi_roam *
rgi_roam_of(const struct rgm_actor *actor)
{
    const struct rgm_behaviour *behaviour = actor->dispatch->behaviour;
    size_t bytes = rgi_actor_bytes(behaviour) - sizeof(struct rgi_roam);

    rgi_assert_slow(behaviour->movable);
    return (struct rgi_roam *)(void *)((char *)(uintptr_t)actor + bytes);
}

struct rgm_address
rgm_address_of_moved(const struct rgm_actor *actor)
{
    return rgi_roam_of(actor)->name;
}

/* ---- 1. freeze ---- */

static int
freeze(struct rgm_worker *worker, struct rgm_actor *actor)
{
    struct rgi_move *move;

    if (actor->scopes != NULL || rgi_watch_by_task(worker, actor->address))
        return -EBUSY;
    move = rgi_slab_take(&worker->slab, sizeof(*move));
    if (move == NULL)
        return -ENOMEM;
    memset(move, 0, sizeof(*move));
    move->message.type = &move_type;
    move->message.control = RGI_CONTROL_MOVE;
    move->message.lane = RGI_LANE_NONE;
    move->actor = actor;
    rgi_roam_of(actor)->move = move;
    actor->life = RGI_LIFE_FROZEN;
    worker->frozen_count++;
    rgi_requests_cancel_to_move(worker, actor);
    rgi_actor_wake(worker, actor);
    return 0;
}

int
rgm_move_self(struct rgm_actor *self)
{
    struct rgm_worker *worker = self->worker;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest || !self->dispatch->behaviour->movable ||
        !worker->retiring || self->life != RGI_LIFE_RUNNING)
        return -EINVAL;
    if (worker->stays)
        return -EPIPE;
    return freeze(worker, self);
}

bool
rgi_move_begin(struct rgm_worker *worker, struct rgm_actor *actor)
{
    return worker->retiring && !worker->stays &&
           actor->dispatch->behaviour->movable && freeze(worker, actor) == 0;
}

void
rgi_move_collect(struct rgm_actor *actor, struct rgm_message *message)
{
    rgi_chain_append(&rgi_roam_of(actor)->move->collected, message);
}

void
rgi_move_hold(struct rgm_actor *actor, struct rgm_request *request)
{
    struct rgi_move *move = rgi_roam_of(actor)->move;

    rgi_request_waits(request);
    rgi_chain_append(&move->asked, &request->message);
    move->asked_count++;
}

static void
pass_local(struct rgm_worker *worker, struct rgi_move *move)
{
    if (move->passes)
        return;
    move->passes = true;
    worker->attention = true;
    move->message.from = rgm_worker_address(worker->number);
    rgi_mail_post_local(&worker->mail, &move->message);
}

/* Nothing of its is out but what stays, and what waits to be asked. */
static bool
nothing_is_out(struct rgm_worker *worker, const struct rgm_actor *actor)
{
    const struct rgi_move *move = rgi_roam_of(actor)->move;

    return actor->scopes == NULL &&
           actor->out_count == move->asked_count + rgi_stays_count(actor) &&
           !rgi_worker_has_lease_of(worker, actor);
}

/* It may not leave from where it is in the ready list. */
void
rgi_move_look(struct rgm_worker *worker, struct rgm_actor *actor)
{
    struct rgi_move *move = rgi_roam_of(actor)->move;

    if (!nothing_is_out(worker, actor))
        return;
    if (!move->passed) {
        pass_local(worker, move);
        return;
    }
    if (!rgi_list_is_linked(&move->link))
        rgi_list_push_back(&worker->movers, &move->link);
    if (!actor->ready)
        (void)try_leave(worker, move);
}

/* Code of its has run since: what it sent is to be delivered, too. */
void
rgi_move_spoke(struct rgm_actor *actor)
{
    rgi_roam_of(actor)->move->passed = false;
}

/* It stops after all: what it asked is not asked, its mail turns home. */
void
rgi_move_give_up(struct rgm_worker *worker, struct rgm_actor *actor)
{
    struct rgi_move *move = actor->dispatch->behaviour->movable
                                ? rgi_roam_of(actor)->move
                                : NULL;
    struct rgm_message *message;

    if (move == NULL)
        return;
    rgi_roam_of(actor)->move = NULL;
    worker->frozen_count--;
    if (rgi_list_is_linked(&move->link))
        rgi_list_remove(&move->link);
    while ((message = rgi_chain_pop(&move->asked)) != NULL) {
        rgi_request_goes(rgi_request_of(message));
        rgi_request_fail(worker, rgi_request_of(message), -ECANCELED);
    }
    while ((message = rgi_chain_pop(&move->collected)) != NULL)
        rgi_send_home(worker, message, -ESRCH);
    move->actor = NULL;
    if (!move->passes)
        rgi_slab_give(&worker->slab, move, sizeof(*move));
}

static void
frozen_each(struct rgm_worker *worker,
            void (*visit)(struct rgm_worker *worker, struct rgm_actor *actor))
{
    for (uint32_t i = 1; worker->frozen_count > 0 && i <= worker->slots.last;
         i++) {
        struct rgi_slot *slot = rgi_slot_at(&worker->slots, i);

        if (slot->state == RGI_SLOT_LIVE &&
            slot->u.actor->life == RGI_LIFE_FROZEN)
            visit(worker, slot->u.actor);
    }
}

void
rgi_moves_look_again(struct rgm_worker *worker)
{
    frozen_each(worker, rgi_move_look);
}

/* The runtime stops: there is nowhere to go. */
void
rgi_moves_stop(struct rgm_worker *worker)
{
    worker->stays = true;
    frozen_each(worker, rgi_actor_stop);
}

/* ---- 2. leave ---- */

/* A slot number of a worker that takes placements, in turn. */
static bool
number_find(struct rgm_worker *worker, struct rgm_address *ret_number)
{
    uint64_t left = rgi_live(worker);

    for (; left != 0; left &= left - 1) {
        uint32_t first = rgi_next_of(rgi_live(worker), worker->spawn_turn);

        worker->spawn_turn = first + 1;
        if (rgi_loan_spend(worker, first, ret_number))
            return true;
    }
    return false;
}

static bool
tokens_take(struct rgm_worker *worker, struct rgi_move *move)
{
    uint32_t count = rgi_kept_count(worker, move->actor);

    if (count == 0)
        return true;
    move->tokens =
        rgi_slab_take(&worker->slab, count * sizeof(*move->tokens));
    if (move->tokens == NULL)
        return false;
    move->tokens_count = count;
    return true;
}

static void
tokens_give(struct rgm_worker *worker, struct rgi_move *move)
{
    if (move->tokens != NULL)
        rgi_slab_give(&worker->slab, move->tokens,
                      move->tokens_count * sizeof(*move->tokens));
    move->tokens = NULL;
    move->tokens_count = 0;
}

static void
relay(struct rgm_worker *worker, struct rgm_message *message,
      struct rgm_address to)
{
    message->to = to;
    rgi_post(worker, message, rgm_address_worker(to));
}

static void
send_kept(struct rgm_worker *worker, struct rgi_move *move,
          struct rgm_address to)
{
    for (uint32_t i = 0; i < move->tokens_count; i++) {
        struct moved_token *moved = &move->tokens[i];

        moved->message =
            &rgi_kept_remove(worker, move->actor, &moved->token)->message;
        moved->message->state = RGI_AT_MOVING;
        relay(worker, moved->message, to);
    }
}

static void
send_state(struct rgm_worker *worker, struct rgi_move *move,
           struct rgm_address to)
{
    struct rgm_actor *actor = move->actor;

    worker->actors_count--;
    worker->frozen_count--;
    worker->messages_out -= move->asked_count; /* the new worker counts them */
    worker->messages_out++;
    rgi_count(worker, moved);
    move->leaves = true;
    actor->flags |= RGI_ACTOR_FOREIGN | RGI_ACTOR_MOVED;
    actor->flags &= (uint8_t)~RGI_ACTOR_RETIRES;
    relay(worker, &move->message, to);
}

/* Held requests take their deadlines along. */
static void
deadlines_stop(struct rgm_worker *worker, struct rgi_move *move)
{
    struct rgm_message *message = move->asked.first;

    if (message != NULL)
        rgi_deadlines_arm(worker); /* durations are moments from here on */
    for (; message != NULL; message = message->next) {
        struct rgm_request *request = rgi_request_of(message);

        if (request->asker_flags & RGI_ASKED_TIMED) {
            rgi_deadline_disarm(worker, request);
            request->asker_flags |= RGI_ASKED_TIMED; /* begins again there */
        }
    }
}

/* Of an actor that has left, the old worker may touch nothing. */
static void
leave(struct rgm_worker *worker, struct rgi_move *move,
      struct rgi_forward *forward, struct rgm_address to)
{
    struct rgm_actor *actor = move->actor;
    struct rgi_slot *slot =
        rgi_slot_at(&worker->slots, rgi_address_slot(actor->address));
    struct rgi_chain collected = move->collected;
    struct rgm_message *message;

    rgi_list_remove(&move->link);
    move->collected = (struct rgi_chain){NULL, NULL};
    slot->state = RGI_SLOT_MOVED;
    slot->u.moved_to = to.bits;
    if (!(actor->flags & RGI_ACTOR_MOVED))
        rgi_roam_of(actor)->name = actor->address;
    rgi_roam_of(actor)->forward = forward;
    deadlines_stop(worker, move);
    rgi_stays_leave(worker, actor, to);
    rgi_watch_move(worker, actor->address, to);
    send_kept(worker, move, to);
    send_state(worker, move, to);
    while ((message = rgi_chain_pop(&collected)) != NULL)
        relay(worker, message, to);
}

static bool
try_leave(struct rgm_worker *worker, struct rgi_move *move)
{
    struct rgm_actor *actor = move->actor;
    struct rgi_forward *forward;
    struct rgm_address to;

    if (!move->passed || !nothing_is_out(worker, actor) ||
        !rgi_forwards_ready(worker))
        return false;
    rgi_flush_all(worker);
    if (worker->dirty != 0 || !tokens_take(worker, move))
        return false; /* somebody is just closing */
    if (!number_find(worker, &to)) {
        tokens_give(worker, move);
        return false;
    }
    forward = rgi_forward_make(worker, actor->address, to,
                               rgi_roam_of(actor)->forward);
    leave(worker, move, forward, to);
    return true;
}

void
rgi_moves_step(struct rgm_worker *worker)
{
    struct rgm_link *link = worker->movers.next;

    for (uint32_t left = MOVES_PER_TURN; left > 0 && link != &worker->movers;
         left--) {
        struct rgi_move *move = rgi_container_of(link, struct rgi_move, link);

        link = link->next;
        if (!move->actor->ready && !try_leave(worker, move))
            return;
    }
}

/* Mail for one that has left, while its old worker is open. */
void
rgi_move_relay(struct rgm_worker *worker, const struct rgi_slot *slot,
               struct rgm_message *message)
{
    struct rgm_address to = {slot->u.moved_to};

    if (message->flags & RGI_MESSAGE_CANCELLED)
        rgi_send_home(worker, message, -ECANCELED);
    else
        relay(worker, message, to);
}

/* ---- 3. arrive ---- */

static void
keep_again(struct rgm_worker *worker, struct rgi_move *move,
           struct rgm_message *message)
{
    struct rgm_actor *actor = move->actor;
    uint32_t i = 0;

    while (move->tokens[i].message != message)
        i++;
    if (message->flags & RGI_MESSAGE_CANCELLED ||
        rgi_keep_moved(worker, actor, message, move->tokens[i].token) != 0) {
        message->flags |= RGI_MESSAGE_CANCELLED;
        message->state = RGI_AT_WITHDRAWN;
        rgi_actor_push(worker, actor, message);
    }
}

static void
take_waiting(struct rgm_worker *worker, struct rgi_move *move,
             struct rgm_message *newest)
{
    struct rgm_message *ordered = rgi_reversed(newest);

    while (ordered != NULL) {
        struct rgm_message *next = ordered->next;

        if (ordered->state == RGI_AT_MOVING &&
            ordered->type->kind == RGM_KIND_REQUEST) {
            keep_again(worker, move, ordered);
        } else {
            if (ordered->type->kind == RGM_KIND_REQUEST)
                ordered->state = RGI_AT_ROAD;
            rgi_actor_push(worker, move->actor, ordered);
        }
        ordered = next;
    }
}

static void
start_asked(struct rgm_worker *worker, struct rgi_move *move)
{
    struct rgm_message *message;

    worker->messages_out += move->asked_count;
    while ((message = rgi_chain_pop(&move->asked)) != NULL) {
        struct rgm_request *request = rgi_request_of(message);

        if (request->asker_flags & RGI_ASKED_TIMED)
            rgi_deadline_begin(worker, request);
        rgi_ask_again(worker, move->actor, request);
    }
}

static void
arrive(struct rgm_worker *worker, struct rgi_move *move)
{
    struct rgm_actor *actor = move->actor;
    struct rgm_address here = move->message.to;
    struct rgi_slot *slot =
        rgi_slot_at(&worker->slots, rgi_address_slot(here));
    struct rgm_message *waiting = slot->u.waiting;
    bool stop_waits = slot->stop_waits;

    rgi_assert(slot->state == RGI_SLOT_LENT);
    worker->slots.lent--;
    slot->state = RGI_SLOT_LIVE;
    slot->stop_waits = 0;
    slot->u.actor = actor;
    actor->address = here;
    actor->worker = worker;
    rgi_roam_of(actor)->move = NULL;
    actor->life = RGI_LIFE_RUNNING;
    actor->ready = 0;
    actor->mail_first = NULL;
    worker->actors_count++;
    rgi_actor_wake(worker, actor);
    rgi_stays_arrive(worker, actor);
    take_waiting(worker, move, waiting);
    start_asked(worker, move);
    if (worker->draining)
        actor->flags |= RGI_ACTOR_RETIRES;
    if (stop_waits || worker->forced)
        rgi_actor_stop(worker, actor);
}

/* Out of the local FIFO: all that its actor sent to neighbours is delivered. */
static void
move_passed(struct rgm_worker *worker, struct rgi_move *move)
{
    move->passes = false;
    if (move->actor == NULL) { /* it has stopped meanwhile */
        rgi_slab_give(&worker->slab, move, sizeof(*move));
        return;
    }
    move->passed = true;
    rgi_move_look(worker, move->actor);
}

/*
 * An actor that has moved runs. To whom its mail is addressed was its slot's
 * address here; whoever asked it asked its name, and may ask again.
 */
void
rgi_moved_runs(struct rgm_actor *actor)
{
    const struct rgm_behaviour *behaviour = actor->dispatch->behaviour;
    struct rgm_message *message = actor->mail_first;
    struct rgm_address name = rgi_name_of(actor);

    for (; message != NULL; message = message->next)
        if (!(message->flags & RGI_MESSAGE_ANSWER))
            message->to = name;
    if (rgi_forward_arrives(rgi_roam_of(actor)->forward) && behaviour->moved != NULL &&
        actor->life == RGI_LIFE_RUNNING)
        behaviour->moved(actor);
}

void
rgi_move_control(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_move *move =
        rgi_container_of(message, struct rgi_move, message);

    if (rgm_address_worker(message->from) != worker->number) {
        arrive(worker, move);
        rgi_send_home(worker, message, 0);
        return;
    }
    if (move->leaves) {
        worker->messages_out--;
        tokens_give(worker, move);
        rgi_slab_give(&worker->slab, move, sizeof(*move));
    } else {
        move_passed(worker, move);
    }
}
