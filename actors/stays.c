/* SPDX-License-Identifier: MIT */

/*
 * stays.c - an operation goes on where it is while its asker moves away.
 *
 * 1. leave    it is marked in its asker's part, with where that goes; its
 *             deadline leaves the worker's queue. Begun here, it gets a number, if
 *             it has none: from now on it is named, and not looked for in an
 *             actor's list
 * 2. arrive   deadlines count where the actor is now. A cancel begins there, too,
 *             and its node goes to whom `holder` names, as always
 * 3. home     is where it was asked. That worker counts it as out, so it does not
 *             close before; it is credited there, and goes on as its asker's mail:
 *             down the road he took, so behind his state, relayed by whoever he
 *             has left since, and found in the table where that one has closed.
 *             `holder` says HOME all the way: whoever cancels now is too late, and
 *             nobody writes to it but who has it
 * 4. there    it is an answer like any other
 *
 * The mark and the address are written before the asker leaves and not again
 * before he has the answer; so both workers may read them.
 *
 * An actor does not move while a node of its is out: that comes home to where it
 * was sent from. Model: actors/models/stays.pml.
 */

#include "actors/runtime.h"

#include "capabilities/operation.h"

/* ---- what stays ---- */

/* The worker's own kinds are of its own lists, but for these. */
static bool
kind_stays(const struct rgm_operation *operation)
{
    return (RGI_OWN_KIND_BITS >> operation->kind & 1) == 0 ||
           operation->kind == RGM_OP_SLEEP || operation->kind == RGM_OP_TIMER ||
           operation->kind == RGM_OP_JOB;
}

bool
rgi_may_stay(const struct rgm_actor *actor, const struct rgm_request *request)
{
    const uint32_t tied = RGI_ASKED_CHILD | RGI_ASKED_ORDERED |
                          RGI_ASKED_GATHERED | RGI_ASKED_STAYS;

    return actor->dispatch->behaviour->operations_stay &&
           request->message.type->kind == RGM_KIND_OPERATION &&
           (request->asker_flags & tied) == 0 &&
           request->bond != RGI_BOND_ASKER &&
           (request->life == RGI_REQUEST_OUT ||
            request->life == RGI_REQUEST_CANCELLING) &&
           kind_stays(
               rgi_container_of(request, const struct rgm_operation, request));
}

uint32_t
rgi_stays_count(const struct rgm_actor *actor)
{
    uint32_t count = 0;

    if (!actor->dispatch->behaviour->operations_stay)
        return 0;
    for (const struct rgm_link *link = actor->scope.next; link != &actor->scope;
         link = link->next)
        count += rgi_may_stay(
            actor, rgi_container_of((struct rgm_link *)(uintptr_t)link,
                                    struct rgm_request, scope.link));
    return count;
}

/* ---- its asker moves ---- */

/* Of one that another worker holds, only the asker's part is ours. */
static void
stay_here(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgm_operation *operation;

    if (rgi_holder(&request->message) != worker->number ||
        request->message.state != RGI_AT_PROVIDER)
        return;
    operation = rgm_operation_of(&request->message);
    rgi_name_give(worker, operation);
    rgi_list_push_back(&worker->strays, &operation->remote);
}

static void
leave_one(struct rgm_worker *worker, struct rgm_request *request,
          struct rgm_address to)
{
    if (request->asker_flags & RGI_ASKED_TIMED) {
        rgi_deadline_disarm(worker, request);
        request->asker_flags |= RGI_ASKED_TIMED; /* goes on there */
    }
    if (rgi_request_is_stray(request))
        return; /* of a worker before this one */
    request->bond = RGI_BOND_LEFT;
    request->with.next = to;
    worker->strays_out++;
    stay_here(worker, request);
}

void
rgi_stays_leave(struct rgm_worker *worker, struct rgm_actor *actor,
                struct rgm_address to)
{
    if (!actor->dispatch->behaviour->operations_stay)
        return;
    rgi_deadlines_arm(worker); /* durations are moments from here on */
    for (struct rgm_link *link = actor->scope.next; link != &actor->scope;
         link = link->next) {
        struct rgm_request *request =
            rgi_container_of(link, struct rgm_request, scope.link);

        if (rgi_may_stay(actor, request))
            leave_one(worker, request, to);
    }
}

void
rgi_stays_arrive(struct rgm_worker *worker, struct rgm_actor *actor)
{
    for (struct rgm_link *link = actor->scope.next; link != &actor->scope;
         link = link->next) {
        struct rgm_request *request =
            rgi_container_of(link, struct rgm_request, scope.link);

        if (rgi_request_is_stray(request) &&
            request->asker_flags & RGI_ASKED_TIMED)
            rgi_deadline_resume(worker, request);
    }
}

/* ---- and its answer follows ---- */

/* Whoever cancels now may have read `holder` before, and look at this: abroad.c. */
static void
name(struct rgm_message *message, struct rgm_address to)
{
    /* abroad-to: publishes nothing; an actor's is no handle's. */
    __atomic_store_n(&message->to.bits, to.bits, __ATOMIC_RELAXED);
}

static void
go_on(struct rgm_worker *worker, struct rgm_message *message,
      struct rgm_address to)
{
    name(message, to);
    rgi_post_answer(worker, message, rgm_address_worker(to));
}

bool
rgi_stray_home(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_request *request;

    if (message->type->kind != RGM_KIND_OPERATION)
        return false;
    request = rgi_request_of(message);
    if (!rgi_request_is_stray(request))
        return false;
    worker->strays_out--;
    message->flags =
        (uint8_t)((message->flags & (RGI_MESSAGE_TAKEN | RGI_MESSAGE_LOST)) |
                  RGI_MESSAGE_ANSWER);
    go_on(worker, message, request->with.next);
    return true;
}

static void
answer_here(struct rgm_worker *worker, struct rgm_actor *actor,
            struct rgm_request *request)
{
    rgi_assert(rgi_request_is_stray(request) && request->asker == actor);
    request->bond = RGI_BOND_NONE;
    if (request->asker_flags & RGI_ASKED_ABANDONED)
        rgi_abandoned_arrived(actor, request);
    if (request->message.flags & RGI_MESSAGE_LOST) {
        rgi_request_lost(worker, request);
        return;
    }
    if (rgi_request_arrives(request))
        rgi_actor_push(worker, request->asker, &request->message);
}

/* Its asker does not end before it has it, and his state is ahead of it. */
void
rgi_stray_arrived(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_slot *slot = rgi_slot_find(&worker->slots, message->to);

    rgi_assert(slot != NULL && slot->state != RGI_SLOT_LENT);
    if (slot->state == RGI_SLOT_MOVED)
        go_on(worker, message, (struct rgm_address){slot->u.moved_to});
    else
        answer_here(worker, slot->u.actor, rgi_request_of(message));
}

/* The asker has left that worker. To this one, perhaps: then his state may be in
 * the inbox still, and this goes behind it. */
void
rgi_stray_refused(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_address to = rgi_forward_find(worker->runtime, message->to);

    rgi_assert(to.bits != 0);
    if (rgm_address_worker(to) != worker->number) {
        go_on(worker, message, to);
        return;
    }
    name(message, to);
    worker->attention = true;
    rgi_mail_append(&worker->mail, RGI_REMOTE, message);
}
