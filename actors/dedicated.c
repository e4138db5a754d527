/* SPDX-License-Identifier: MIT */

/*
 * dedicated.c - an actor gets a thread and a ring of its own.
 *
 * 1. Asked of worker 0, which alone hands out numbers, and does so in line with
 *    resizes: a worker is made that takes no placements (resize.c).
 * 2. The new worker lends one of its slots, the seat, borrows numbers of the
 *    others for what its actor may spawn, and reports; then the request is
 *    answered with the seat.
 * 3. In the answer's function a spawn on that number takes the seat: the actor
 *    travels as any other does. What is not taken by the end of the function is
 *    given back by the node that would have travelled, so that needs no memory.
 * 4. The worker retires by itself once the seat is taken or back and nobody
 *    lives there. Who retires so is not among those that stop together; worker 0
 *    is not quiet before it is gone, as with any other that retires.
 *
 * A seat that is never answered to anybody (its asker was lost with a provider)
 * goes back in the same way.
 */

#include "actors/runtime.h"

#include <ringmail/dedicated.h>

#include "capabilities/operation.h"

static inline struct rgm_dedicate *
dedicate_of(struct rgm_request *request)
{
    return rgi_container_of(request, struct rgm_dedicate, request);
}

/* ---- the worker ---- */

int
rgi_dedicated_sit(struct rgm_worker *worker, struct rgm_address *ret_seat)
{
    int status = rgi_slot_lend(worker, ret_seat);

    worker->seated = status == 0;
    return status;
}

/* The last of it has ended, or the seat came back unused. */
void
rgi_dedicated_step(struct rgm_worker *worker)
{
    if (!worker->seated || worker->draining || worker->actors_count > 0 ||
        worker->slots.lent > 0)
        return;
    worker->retiring = true;
    rgi_worker_drain(worker);
}

/* ---- who asks ---- */

/* The node is taken now, so that a seat can always be given back. A guest gives
 * it back by a trip. */
void
rgm_dedicate_actor(struct rgm_actor *self, struct rgm_dedicate *dedicate,
                   rgm_answer_function *answer)
{
    struct rgm_worker *worker = self->worker;

    rgi_assert(rgi_is_owner(worker));
    rgi_operation_prepare(&dedicate->operation, RGM_OP_DEDICATE,
                          &rgi_type_dedicate, rgm_worker_address(0));
    dedicate->worker = RGM_ANY_WORKER;
    dedicate->seat.bits = 0;
    dedicate->answer = answer;
    dedicate->spawn = worker->is_guest ? NULL : rgi_spawn_node(worker);
    if (dedicate->spawn == NULL && !worker->is_guest)
        rgi_operation_refuse(&dedicate->operation, -ENOMEM);
    rgm_ask_request(self, &dedicate->request, rgi_dedicated_answered);
}

/* The record's own part ends here: the function may ask it again. */
static struct rgi_seat
seat_from(struct rgm_dedicate *dedicate)
{
    bool there = dedicate->request.message.status == 0;
    struct rgi_seat seat = {.number = dedicate->seat,
                            .spawn = dedicate->spawn,
                            .taken = !there};

    dedicate->spawn = NULL;
    if (there)
        dedicate->worker = rgm_address_worker(seat.number);
    return seat;
}

static void
seat_leave(struct rgm_worker *worker, struct rgi_seat *seat)
{
    if (seat->taken && seat->spawn != NULL)
        rgi_spawn_node_free(worker, seat->spawn);
    else if (!seat->taken && worker->is_guest)
        rgi_guest_seat_back(worker, seat->number);
    else if (!seat->taken)
        rgi_spawn_node_send(worker, seat->spawn, NULL, seat->number);
}

void
rgi_dedicated_answered(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_worker *worker = self->worker;
    struct rgm_dedicate *dedicate = dedicate_of(request);
    struct rgi_seat seat = seat_from(dedicate);

    if (!seat.taken)
        worker->seat = &seat;
    dedicate->answer(self, request);
    worker->seat = NULL;
    seat_leave(worker, &seat);
}

void
rgi_dedicated_unheard(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgi_seat seat = seat_from(dedicate_of(request));

    seat_leave(worker, &seat);
}

bool
rgi_is_dedicate(const struct rgm_request *request)
{
    return request->message.type == &rgi_type_dedicate;
}

int
rgi_seat_spawn(struct rgm_worker *worker,
               const struct rgm_behaviour *behaviour, const void *argument,
               struct rgm_message *watch, struct rgm_address *ret_address)
{
    struct rgi_seat *seat = worker->seat;
    struct rgm_actor *actor;
    int status;

    if (seat->taken)
        return -EAGAIN;
    if (worker->is_guest) {
        seat->taken = true; /* whatever becomes of it */
        return rgi_guest_spawn_at(worker, seat->number, behaviour, argument,
                                  watch, ret_address);
    }
    if (worker->draining)
        return -EPIPE;
    status = rgi_actor_make(worker, behaviour, argument, &actor);
    if (status != 0)
        return status;
    if (watch != NULL)
        rgi_watch_begin(worker, watch, seat->number);
    rgi_spawn_node_send(worker, seat->spawn, actor, seat->number);
    *ret_address = seat->number;
    seat->spawn = NULL;
    seat->taken = true;
    return 0;
}

/* ---- a plain thread ---- */

struct outside {
    struct rgm_dedicate dedicate;
    const struct rgm_behaviour *behaviour;
    const void *argument;
    struct rgm_message *watch;
    struct rgm_address address;
    int status;
    bool answered;
};

static void
outside_seated(struct rgm_actor *self, struct rgm_request *request)
{
    struct outside *outside =
        rgi_container_of(dedicate_of(request), struct outside, dedicate);

    outside->answered = true;
    outside->status = request->message.status;
    if (outside->status == 0)
        outside->status = rgi_spawn_watched(
            self, outside->dedicate.worker, outside->behaviour,
            outside->argument, outside->watch, &outside->address);
}

int
rgi_guest_spawn_own(struct rgm_actor *self,
                    const struct rgm_behaviour *behaviour,
                    const void *argument, struct rgm_message *watch,
                    struct rgm_address *ret_address)
{
    struct rgm_guest *guest = rgi_container_of(self, struct rgm_guest, actor);
    struct outside outside = {.behaviour = behaviour,
                              .argument = argument,
                              .watch = watch,
                              .answered = false};

    rgm_dedicate_actor(self, &outside.dedicate, outside_seated);
    while (!outside.answered)
        (void)rgm_guest_wait(guest);
    if (outside.status == 0)
        *ret_address = outside.address;
    return outside.status;
}
