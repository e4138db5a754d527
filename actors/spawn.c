/* SPDX-License-Identifier: MIT */

/*
 * spawn.c - an actor appears, here or on another worker.
 *
 * Here: a slot is taken and the actor installed. There: every worker lends the
 * others slot numbers, generation included. Spawning takes one from the loan,
 * without an atomic and without asking: the address is valid at once, and mail
 * that overtakes the spawn waits in the lent slot. The spawn travels as
 * ordinary mail and needs no allowance, since lent numbers bound it.
 *
 * Each loan has one node that travels: it fetches new numbers (LEND) when the
 * stock is half gone, and brings unused ones back (BACK) when the runtime stops
 * or the owner wants them. A worker is quiet only when all its numbers are
 * spawned or back.
 *
 * An owner that comes tells each of the others so (JOIN), which goes home when
 * the first numbers are there; one that retires calls them back (RECALL).
 *
 * Model: actors/models/spawn.pml.
 */

#include "actors/runtime.h"

#include <string.h>

#include "base/memory.h"

struct rgi_spawn {
    struct rgm_message message;
    struct rgm_actor *actor;
};

static const struct rgm_message_type spawn_type = {
    "spawn", sizeof(struct rgi_spawn), 0, RGM_KIND_CONTROL, 0, NULL};
static const struct rgm_message_type loan_type = {
    "loan", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

/* ---- making ---- */

static bool
behaviour_valid(const struct rgm_behaviour *behaviour)
{
    return behaviour != NULL &&
           behaviour->size_bytes >= sizeof(struct rgm_actor) &&
           (behaviour->handlers_count == 0 || behaviour->handlers != NULL);
}

int
rgi_actor_make(struct rgm_worker *maker, const struct rgm_behaviour *behaviour,
               const void *argument, struct rgm_actor **ret_actor)
{
    const struct rgi_dispatch *dispatch;
    struct rgm_actor *actor;
    int status;

    if (!behaviour_valid(behaviour))
        return -EINVAL;
    status = rgi_dispatch_of(maker, behaviour, &dispatch);
    if (status < 0)
        return status;
    actor = rgi_slab_take(&maker->slab, rgi_actor_bytes(behaviour));
    if (actor == NULL)
        return -ENOMEM;
    memset(actor, 0, rgi_actor_bytes(behaviour));
    actor->dispatch = dispatch;
    status = behaviour->factory == NULL ? 0
                                        : behaviour->factory(actor, argument);
    if (status < 0) {
        rgi_actor_unmake(maker, actor);
        return status;
    }
    *ret_actor = actor;
    return 0;
}

void
rgi_actor_unmake(struct rgm_worker *worker, struct rgm_actor *actor)
{
    rgi_slab_give(&worker->slab, actor,
                  rgi_actor_bytes(actor->dispatch->behaviour));
}

/* ---- here ---- */

/* The slot first: nothing may fail once the factory has run. */
int
rgi_spawn_local(struct rgm_worker *worker,
                const struct rgm_behaviour *behaviour, const void *argument,
                struct rgm_actor **ret_actor)
{
    struct rgi_slot *slot;
    uint32_t index;
    int status = rgi_slots_take(&worker->slots, &slot, &index);

    if (status != 0)
        return status;
    status = rgi_actor_make(worker, behaviour, argument, ret_actor);
    if (status != 0) {
        rgi_slots_release(&worker->slots, index, false);
        return status;
    }
    rgi_actor_install(
        worker, *ret_actor,
        rgi_address_make(worker->number, index, slot->generation));
    return 0;
}

static int
spawn_here(struct rgm_worker *worker, const struct rgm_behaviour *behaviour,
           const void *argument, struct rgm_message *watch,
           struct rgm_address *ret_address)
{
    struct rgm_actor *actor;
    int status;

    if (worker->draining)
        return -EPIPE;
    status = rgi_spawn_local(worker, behaviour, argument, &actor);
    if (status != 0)
        return status;
    *ret_address = actor->address;
    if (watch != NULL)
        rgi_watch_begin(worker, watch, *ret_address);
    return 0;
}

int
rgm_spawn_here(struct rgm_actor *self, const struct rgm_behaviour *behaviour,
               const void *argument, struct rgm_address *ret_address)
{
    struct rgm_worker *worker = self->worker;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest)
        return rgi_guest_spawn(worker, RGM_ANY_WORKER, behaviour, argument,
                               NULL, ret_address);
    if (worker->dedicated) /* it is one actor's */
        return rgm_spawn_in_turn(self, behaviour, argument, ret_address);
    return spawn_here(worker, behaviour, argument, NULL, ret_address);
}

/* ---- loans ---- */

static void
loan_send(struct rgm_worker *worker, struct rgi_loan *loan, uint32_t owner,
          enum rgi_control what)
{
    loan->out = true;
    loan->message.control = (uint8_t)what;
    loan->message.flags = RGI_MESSAGE_URGENT;
    loan->message.from = rgm_worker_address(worker->number);
    loan->message.to = rgm_worker_address(owner);
    rgi_post(worker, &loan->message, owner);
}

static void
loan_refill(struct rgm_worker *worker, struct rgi_loan *loan, uint32_t owner)
{
    uint32_t full = worker->runtime->options.lent_slots;

    if (loan->out || !loan->open ||
        (worker->draining && worker->frozen_count == 0) ||
        loan->held_count > full / 2)
        return;
    loan->travelling_wanted = full - loan->held_count;
    loan->travelling_count = 0;
    loan_send(worker, loan, owner, RGI_CONTROL_LEND);
}

int
rgi_slot_lend(struct rgm_worker *worker, struct rgm_address *ret_number)
{
    struct rgi_slot *slot;
    uint32_t index;
    int status = rgi_slots_take(&worker->slots, &slot, &index);

    if (status != 0)
        return status;
    slot->state = RGI_SLOT_LENT;
    slot->u.waiting = NULL;
    worker->slots.lent++;
    *ret_number = rgi_address_make(worker->number, index, slot->generation);
    return 0;
}

/* Nobody was told of the number; whoever guessed it gets his mail back. */
void
rgi_slot_take_back(struct rgm_worker *worker, struct rgm_address number)
{
    static const struct rgm_end nobody = {RGM_END_GONE, -ESRCH, NULL};
    struct rgi_slot *slot = rgi_slot_find(&worker->slots, number);
    struct rgm_message *waiting = slot->u.waiting;

    rgi_assert(slot->state == RGI_SLOT_LENT);
    worker->slots.lent--;
    if (slot->watched)
        (void)rgi_watch_tell(worker, number, &nobody);
    rgi_slots_release(&worker->slots, rgi_address_slot(number), false);
    while (waiting != NULL) {
        struct rgm_message *next = waiting->next;

        rgi_send_home(worker, waiting, -ESRCH);
        waiting = next;
    }
}

/* Owner: fill the borrower's node with numbers. Fewer are no error. */
static void
lend(struct rgm_worker *worker, struct rgi_loan *loan)
{
    while (loan->travelling_count < loan->travelling_wanted &&
           !worker->draining &&
           rgi_slot_lend(worker, &loan->travelling[loan->travelling_count]) ==
               0)
        loan->travelling_count++;
}

/* Owner: numbers come back unused; nobody was ever told of them. */
static void
take_back(struct rgm_worker *worker, struct rgi_loan *loan)
{
    while (loan->travelling_count > 0)
        rgi_slot_take_back(worker,
                           loan->travelling[--loan->travelling_count]);
}

/* Borrower: the numbers in the node are at hand. */
static void
loan_receive(struct rgi_loan *loan)
{
    for (uint32_t i = 0; i < loan->travelling_count; i++)
        loan->held[loan->held_count++] = loan->travelling[i];
    loan->travelling_count = 0;
}

static void
loan_give_back(struct rgm_worker *worker, struct rgi_loan *loan,
               uint32_t owner)
{
    if (loan->out || loan->held_count == 0)
        return;
    memcpy(loan->travelling, loan->held,
           loan->held_count * sizeof(*loan->held));
    loan->travelling_count = loan->held_count;
    loan->held_count = 0;
    loan_send(worker, loan, owner, RGI_CONTROL_BACK);
}

/* Borrower: the node is home. Its owner may want the numbers back meanwhile,
 * or wait to hear that they have arrived. */
static void
loan_home(struct rgm_worker *worker, struct rgi_loan *loan, uint32_t owner)
{
    struct rgm_message *join = loan->join;

    loan->out = false;
    loan_receive(loan);
    loan->join = NULL;
    if (join != NULL)
        rgi_post(worker, join, owner);
    if (!loan->open)
        loan_give_back(worker, loan, owner);
    rgi_worker_met(worker);
}

bool
rgi_loans_give_back(struct rgm_worker *worker)
{
    bool all_home = true;

    for (uint32_t owner = 0; owner < worker->workers_count; owner++) {
        struct rgi_loan *loan = &worker->loans[owner];

        loan_give_back(worker, loan, owner);
        all_home = all_home && !loan->out;
    }
    return all_home;
}

static void
loan_init(struct rgi_loan *loan)
{
    loan->message.type = &loan_type;
    loan->message.lane = RGI_LANE_NONE;
    loan->notice = loan->message;
    loan->notice.flags = RGI_MESSAGE_URGENT;
}

int
rgi_loans_init(struct rgm_worker *worker)
{
    uint32_t count = worker->runtime->places_count;

    worker->loans = rgi_alloc(count * sizeof(*worker->loans));
    if (worker->loans == NULL)
        return -ENOMEM;
    for (uint32_t owner = 0; owner < count; owner++)
        loan_init(&worker->loans[owner]);
    return 0;
}

/* Room for an owner's numbers is made when there is such an owner. */
static int
loan_open(struct rgm_worker *worker, struct rgi_loan *loan)
{
    uint32_t capacity = worker->runtime->options.lent_slots;

    if (loan->travelling == NULL)
        loan->travelling = rgi_alloc(2 * capacity * sizeof(*loan->travelling));
    if (loan->travelling == NULL)
        return -ENOMEM;
    loan->held = loan->travelling + capacity;
    loan->open = true;
    return 0;
}

int
rgi_loans_fill(struct rgm_worker *borrower, struct rgm_worker *owner)
{
    struct rgi_loan *loan = &borrower->loans[owner->number];

    if (loan_open(borrower, loan) != 0)
        return -ENOMEM;
    loan->travelling_wanted = borrower->runtime->options.lent_slots;
    lend(owner, loan);
    loan_receive(loan);
    return 0;
}

void
rgi_loans_deinit(struct rgm_worker *worker)
{
    if (worker->loans == NULL)
        return;
    for (uint32_t i = 0; i < worker->runtime->places_count; i++)
        rgi_free(worker->loans[i].travelling);
    rgi_free(worker->loans);
    worker->loans = NULL;
}

/* ---- coming and going ---- */

static void
notice_send(struct rgm_worker *worker, uint32_t number, enum rgi_control what,
            uint32_t workers_count)
{
    struct rgi_loan *loan = &worker->loans[number];

    rgi_assert(!loan->notice_out);
    loan->notice_out = true;
    worker->notices_out++;
    loan->notice.control = (uint8_t)what;
    loan->notice.status = (int)workers_count; /* with or without us */
    loan->notice.from = rgm_worker_address(worker->number);
    loan->notice.to = rgm_worker_address(number);
    rgi_post(worker, &loan->notice, number);
}

/* Without memory for them a worker has no numbers of that owner. */
static bool
loan_begin(struct rgm_worker *worker, uint32_t owner)
{
    struct rgi_loan *loan = &worker->loans[owner];

    if (loan_open(worker, loan) != 0)
        return false;
    loan_refill(worker, loan, owner);
    return true;
}

void
rgi_loans_meet(struct rgm_worker *worker, uint64_t peers)
{
    uint32_t count = (uint32_t)__builtin_popcountll(peers);

    for (; peers != 0; peers &= peers - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(peers);

        if (number == worker->number)
            continue;
        (void)rgi_number_learn(worker, number);
        (void)loan_begin(worker, number);
        notice_send(worker, number, RGI_CONTROL_JOIN, count);
    }
}

void
rgi_loans_borrow(struct rgm_worker *worker, uint64_t peers)
{
    for (; peers != 0; peers &= peers - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(peers);

        (void)rgi_number_learn(worker, number);
        (void)loan_begin(worker, number);
    }
}

void
rgi_loans_recall(struct rgm_worker *worker, uint64_t peers)
{
    uint32_t count = (uint32_t)__builtin_popcountll(rgi_live(worker));

    for (; peers != 0; peers &= peers - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(peers);

        if (number != worker->number)
            notice_send(worker, number, RGI_CONTROL_RECALL, count);
    }
}

/* A new worker, or one more incarnation of an old one, lends. */
static void
joined(struct rgm_worker *worker, struct rgm_message *notice, uint32_t owner)
{
    struct rgi_loan *loan = &worker->loans[owner];

    (void)rgi_number_learn(worker, owner);
    if (loan_begin(worker, owner) && loan->out)
        loan->join = notice;
    else
        rgi_post(worker, notice, owner);
}

static void
recalled(struct rgm_worker *worker, struct rgm_message *notice, uint32_t owner)
{
    struct rgi_loan *loan = &worker->loans[owner];

    loan->open = false;
    loan_give_back(worker, loan, owner);
    rgi_post(worker, notice, owner);
}

void
rgi_notice_control(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t owner = rgm_address_worker(message->from);

    if (owner == worker->number) {
        rgi_container_of(message, struct rgi_loan, notice)->notice_out = false;
        worker->notices_out--;
        rgi_worker_met(worker);
    } else {
        rgi_spin_allow(worker, (uint32_t)message->status);
        if (message->control == RGI_CONTROL_JOIN)
            joined(worker, message, owner);
        else
            recalled(worker, message, owner);
    }
}

bool
rgi_loan_spend(struct rgm_worker *worker, uint32_t owner,
               struct rgm_address *ret_number)
{
    struct rgi_loan *loan = &worker->loans[owner];
    bool there = loan->open && loan->held_count > 0;

    if (there)
        *ret_number = loan->held[--loan->held_count];
    loan_refill(worker, loan, owner);
    return there;
}

/* ---- there ---- */

struct rgi_spawn *
rgi_spawn_node(struct rgm_worker *worker)
{
    struct rgi_spawn *spawn = rgi_slab_take(&worker->slab, sizeof(*spawn));

    if (spawn != NULL)
        memset(spawn, 0, sizeof(*spawn));
    return spawn;
}

void
rgi_spawn_node_free(struct rgm_worker *worker, struct rgi_spawn *spawn)
{
    rgi_slab_give(&worker->slab, spawn, sizeof(*spawn));
}

void
rgi_spawn_node_send(struct rgm_worker *worker, struct rgi_spawn *spawn,
                    struct rgm_actor *actor, struct rgm_address number)
{
    spawn->actor = actor;
    spawn->message.type = &spawn_type;
    spawn->message.control = RGI_CONTROL_SPAWN;
    spawn->message.lane = RGI_LANE_NONE;
    spawn->message.from = rgm_worker_address(worker->number);
    spawn->message.to = number;
    worker->messages_out++;
    rgi_post(worker, &spawn->message, rgm_address_worker(number));
}

/* 0, or why there is no number of the owner's at hand. A worker made for one
 * actor was not told who has come since: it finds out here. */
static int
loan_look(struct rgm_worker *worker, uint32_t owner)
{
    struct rgi_loan *loan = &worker->loans[owner];

    if (!loan->open && worker->dedicated && !worker->draining)
        (void)loan_begin(worker, owner);
    if (!loan->open)
        return -EPIPE; /* it retires, or is still to be met */
    if (loan->held_count > 0)
        return 0;
    loan_refill(worker, loan, owner);
    return -EAGAIN;
}

/* A watcher goes first: it waits in the slot, and misses nothing. */
static int
spawn_remote(struct rgm_worker *worker, uint32_t owner,
             const struct rgm_behaviour *behaviour, const void *argument,
             struct rgm_message *watch, struct rgm_address *ret_address)
{
    struct rgi_loan *loan = &worker->loans[owner];
    struct rgi_spawn *spawn;
    struct rgm_actor *actor;
    int status = loan_look(worker, owner);

    if (status != 0)
        return status;
    spawn = rgi_spawn_node(worker);
    if (spawn == NULL)
        return -ENOMEM;
    status = rgi_actor_make(worker, behaviour, argument, &actor);
    if (status != 0) {
        rgi_spawn_node_free(worker, spawn);
        return status;
    }
    *ret_address = loan->held[--loan->held_count];
    if (watch != NULL)
        rgi_watch_begin(worker, watch, *ret_address);
    rgi_spawn_node_send(worker, spawn, actor, *ret_address);
    loan_refill(worker, loan, owner);
    return 0;
}

/* The number that has just been answered: see dedicated.h. */
static bool
is_seat(const struct rgm_worker *worker, uint32_t number)
{
    return worker->seat != NULL &&
           number == rgm_address_worker(worker->seat->number);
}

static int
spawn_there(struct rgm_worker *worker, uint32_t number,
            const struct rgm_behaviour *behaviour, const void *argument,
            struct rgm_message *watch, struct rgm_address *ret_address)
{
    if (__builtin_expect(is_seat(worker, number), 0))
        return rgi_seat_spawn(worker, behaviour, argument, watch, ret_address);
    if (number >= worker->workers_count && !rgi_number_learn(worker, number))
        return -EINVAL;
    if (!(rgi_live(worker) & rgi_bit(number)))
        return -EPIPE;
    if (worker->is_guest)
        return rgi_guest_spawn(worker, number, behaviour, argument, watch,
                               ret_address);
    if (number == worker->number)
        return spawn_here(worker, behaviour, argument, watch, ret_address);
    if (worker->draining)
        return -EPIPE;
    return spawn_remote(worker, number, behaviour, argument, watch,
                        ret_address);
}

int
rgm_spawn_there(struct rgm_actor *self, uint32_t number,
                const struct rgm_behaviour *behaviour, const void *argument,
                struct rgm_address *ret_address)
{
    rgi_assert(rgi_is_owner(self->worker));
    return spawn_there(self->worker, number, behaviour, argument, NULL,
                       ret_address);
}

uint32_t
rgi_next_of(uint64_t set, uint32_t from)
{
    uint64_t later = from < 64 ? set & (UINT64_MAX << from) : 0;

    return (uint32_t)__builtin_ctzll(later != 0 ? later : set);
}

int
rgi_spawn_watched(struct rgm_actor *self, uint32_t number,
                  const struct rgm_behaviour *behaviour, const void *argument,
                  struct rgm_message *watch, struct rgm_address *ret_address)
{
    struct rgm_worker *worker = self->worker;
    bool in_turn = number == RGM_ANY_WORKER;
    int status;

    rgi_assert(rgi_is_owner(worker));
    if (in_turn && behaviour != NULL && behaviour->thread_bound)
        return -EINVAL;
    if (number == RGM_OWN_THREAD && worker->is_guest)
        return rgi_guest_spawn_own(self, behaviour, argument, watch,
                                   ret_address);
    if (in_turn && worker->is_guest)
        return rgi_guest_spawn(worker, number, behaviour, argument, watch,
                               ret_address);
    if (in_turn)
        number = rgi_next_of(rgi_live(worker), worker->spawn_turn);
    status = spawn_there(worker, number, behaviour, argument, watch,
                         ret_address);
    if (status == 0 && in_turn)
        worker->spawn_turn = number + 1;
    return status;
}

int
rgm_spawn_in_turn(struct rgm_actor *self,
                  const struct rgm_behaviour *behaviour, const void *argument,
                  struct rgm_address *ret_address)
{
    return rgi_spawn_watched(self, RGM_ANY_WORKER, behaviour, argument, NULL,
                             ret_address);
}

int
rgm_spawn_everywhere(struct rgm_actor *self,
                     const struct rgm_behaviour *behaviour,
                     const void *argument, struct rgm_address *ret_addresses,
                     size_t capacity)
{
    uint64_t left = rgi_live(self->worker);
    uint32_t count = 0;

    if (capacity < (uint32_t)__builtin_popcountll(left))
        return -ENOSPC;
    for (; left != 0; left &= left - 1) {
        int status =
            rgm_spawn_there(self, (uint32_t)__builtin_ctzll(left), behaviour,
                            argument, &ret_addresses[count]);

        if (status == 0) {
            count++;
            continue;
        }
        while (count-- > 0)
            (void)rgm_stop_address(self, ret_addresses[count]);
        return status;
    }
    return (int)count;
}

/* ---- control of this file ---- */

/* The spawn has arrived; its node goes home. A number that was lent is always
 * good for it, also while the worker drains: the actor is then told so. Without
 * one the number is back. */
static void
spawn_arrived(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_spawn *spawn =
        rgi_container_of(message, struct rgi_spawn, message);

    if (spawn->actor != NULL) {
        spawn->actor->flags |= RGI_ACTOR_FOREIGN;
        rgi_actor_install(worker, spawn->actor, message->to);
        spawn->actor = NULL;
    } else {
        rgi_slot_take_back(worker, message->to);
    }
    rgi_send_home(worker, message, 0);
}

void
rgi_spawn_control(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_loan *loan;
    bool ours = rgm_address_worker(message->from) == worker->number;

    if (message->control == RGI_CONTROL_SPAWN) {
        if (ours)
            rgi_spawn_home(worker, message);
        else
            spawn_arrived(worker, message);
        return;
    }
    loan = rgi_container_of(message, struct rgi_loan, message);
    if (ours) {
        loan_home(worker, loan, (uint32_t)(loan - worker->loans));
        return;
    }
    if (message->control == RGI_CONTROL_LEND)
        lend(worker, loan);
    else
        take_back(worker, loan);
    rgi_post(worker, message, rgm_address_worker(message->from));
}

void
rgi_spawn_home(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_spawn *spawn;

    rgi_assert(message->control == RGI_CONTROL_SPAWN);
    spawn = rgi_container_of(message, struct rgi_spawn, message);
    if (spawn->actor != NULL)
        rgi_actor_unmake(worker, spawn->actor);
    rgi_spawn_node_free(worker, spawn);
    worker->messages_out--;
}

/* ---- stopping an address ---- */

static const struct rgm_message_type stop_type = {
    "stop", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

static int
stop_remote(struct rgm_worker *worker, struct rgm_address address)
{
    struct rgm_message *message =
        rgi_slab_take(&worker->slab, sizeof(*message));

    if (message == NULL)
        return -ENOMEM;
    memset(message, 0, sizeof(*message));
    message->type = &stop_type;
    message->control = RGI_CONTROL_STOP_ACTOR;
    message->flags = RGI_MESSAGE_URGENT;
    message->charged_bytes = sizeof(*message);
    message->lane = RGI_LANE_NONE;
    message->from = rgm_worker_address(worker->number);
    message->to = address;
    worker->messages_out++;
    rgi_post(worker, message, rgm_address_worker(address));
    return 0;
}

void
rgi_stop_control(struct rgm_worker *worker, struct rgm_message *message)
{
    const struct rgi_slot *slot;

    /* Not by whose it is: it may have been relayed to whom it comes from. */
    if (rgi_holder(message) == RGI_HOLDER_HOME) {
        rgi_slab_give(&worker->slab, message, message->charged_bytes);
        worker->messages_out--;
        return;
    }
    slot = rgi_slot_find(&worker->slots, message->to);
    if (slot != NULL && slot->state == RGI_SLOT_MOVED) {
        rgi_move_relay(worker, slot, message);
        return;
    }
    rgi_actor_stop_at(worker, message->to);
    rgi_send_home(worker, message, 0);
}

int
rgm_stop_address(struct rgm_actor *self, struct rgm_address address)
{
    struct rgm_worker *worker = self->worker;
    uint32_t number = rgm_address_worker(address);
    const struct rgi_slot *slot;

    rgi_assert(rgi_is_owner(worker));
    if (number >= worker->workers_count && !rgi_number_learn(worker, number))
        return 0;
    slot = number == worker->number && !worker->is_guest
               ? rgi_slot_find(&worker->slots, address)
               : NULL;
    if (slot != NULL && slot->state == RGI_SLOT_MOVED)
        address.bits = slot->u.moved_to;
    number = rgm_address_worker(address);
    if (number != worker->number)
        return stop_remote(worker, address);
    rgi_actor_stop_at(worker, address);
    return 0;
}
