/* SPDX-License-Identifier: MIT */

/*
 * cancel.c - a request is told to come home, wherever it has got to.
 *
 * 1. What its asker's worker can reach is reached at once: a request in line
 *    for allowance, one that is not flushed, one that is at this worker.
 * 2. Otherwise the node in its record goes after it: to the worker `holder`
 *    names. There the cancel is applied, whether the request has arrived or
 *    not: it is marked; a kept one is withdrawn, an operation is told to stop.
 *    Then the node goes home.
 * 3. Named somebody else, the worker sends the node there; HOME, home. Forwards
 *    are limited, so the chase ends.
 * 4. Its answer is delivered when both are home: the record is nobody else's
 *    then, not even to be looked at.
 *
 * What can fail: nothing needs memory. A node that meets a closed inbox goes
 * home if `holder` names that worker still, because the request will be refused
 * there as well; else it goes on. Where actors have moved from the number the
 * request will be sent after one of them: then it tries again, until whoever
 * has the request has flushed it.
 *
 * The record of an operation on a handle of another runtime is that one's: `holder`
 * says ABROAD, and the node goes there (abroad.c).
 *
 * The first reason stands: a second cancel of the same ask does nothing, and
 * what has been achieved is told as it is.
 *
 * Model: actors/models/cancel.pml.
 */

#include "actors/runtime.h"

#include <string.h>

static const struct rgm_message_type cancel_type = {
    "cancel", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

static struct rgm_request *
chased_by(struct rgm_message *node)
{
    return rgi_container_of(node, struct rgm_request, aside.cancel);
}

/* ---- at the worker that holds it ---- */

static void
apply(struct rgm_worker *worker, struct rgm_message *message)
{
    message->flags |= RGI_MESSAGE_CANCELLED;
    if (message->state == RGI_AT_KEEPER)
        rgi_withdraw_one(worker, message);
    else if (message->state == RGI_AT_SLOT)
        rgi_slot_withdraw(worker, message);
    else if (message->state == RGI_AT_WATCH)
        rgi_watch_withdraw(worker, message);
    else if (message->state == RGI_AT_PROVIDER)
        rgi_operate_cancel(worker, message);
    /* On its way here, or in a line: the mark is read when it comes up. */
}

/* ---- the node ---- */

/* Both parts are home, or the request is still on its way. */
static void
node_is_home(struct rgm_worker *worker, struct rgm_request *request)
{
    worker->messages_out--;
    if (request->life == RGI_REQUEST_LOST)
        return;
    if (request->life == RGI_REQUEST_CHASED) {
        rgi_request_told(request);
        if (request->asker->life == RGI_LIFE_FROZEN)
            rgi_actor_wake(worker, request->asker); /* it waited for the node */
        return;
    }
    (void)rgi_request_arrives(request);
    rgi_actor_push(worker, request->asker, &request->message);
}

static void
node_goes_home(struct rgm_worker *worker, struct rgm_message *node)
{
    if (rgm_address_worker(node->from) == worker->number) {
        node_is_home(worker, chased_by(node));
        return;
    }
    node->control = RGI_CONTROL_CANCEL_HOME;
    rgi_send_home(worker, node, 0);
}

/* After the record, to who has it. */
static void
node_post(struct rgm_worker *worker, struct rgm_message *node, uint32_t holder)
{
    if (holder != RGI_HOLDER_ABROAD)
        rgi_post(worker, node, holder);
    else if (!rgi_abroad_chase(worker, node, &chased_by(node)->message))
        node_goes_home(worker, node);
}

/* The node is here and in no list. */
static void
node_goes_on(struct rgm_worker *worker, struct rgm_message *node)
{
    struct rgm_message *message = &chased_by(node)->message;
    uint32_t holder = rgi_holder(message);

    if (holder == worker->number) {
        apply(worker, message);
        node_goes_home(worker, node);
    } else if (holder == RGI_HOLDER_HOME) {
        node_goes_home(worker, node);
    } else {
        node_post(worker, node, holder);
    }
}

/* Its record is of another runtime, and was this worker's to carry out. */
void
rgi_cancel_visited(struct rgm_worker *worker, struct rgm_message *node)
{
    struct rgm_message *message = &chased_by(node)->message;

    if (rgi_holder(message) == RGI_HOLDER_ABROAD)
        apply(worker, message);
    rgi_abroad_chased(worker, node);
}

void
rgi_cancel_arrived(struct rgm_worker *worker, struct rgm_message *node)
{
    bool ours = rgm_address_worker(node->from) == worker->number;

    if (ours && (node->control == RGI_CONTROL_CANCEL_HOME ||
                 chased_by(node)->life != RGI_REQUEST_CHASED))
        node_is_home(worker, chased_by(node));
    else
        node_goes_on(worker, node);
}

void
rgi_cancel_refused(struct rgm_worker *worker, struct rgm_message *node,
                   uint32_t destination)
{
    bool refused = rgi_holder(&chased_by(node)->message) == destination;

    if (refused && !rgi_forwards_any(worker->runtime, destination))
        node_goes_home(worker, node);
    else
        node_goes_on(worker, node);
}

static void
node_send(struct rgm_worker *worker, struct rgm_request *request,
          uint32_t holder)
{
    struct rgm_message *node = &request->aside.cancel;

    memset(node, 0, sizeof(*node));
    node->type = &cancel_type;
    node->from = rgm_worker_address(worker->number);
    node->lane = RGI_LANE_NONE;
    node->flags = RGI_MESSAGE_URGENT;
    node->control = RGI_CONTROL_CANCEL;
    worker->messages_out++;
    rgi_request_chased(request);
    node_post(worker, node, holder);
}

/* ---- at its asker's worker ---- */

static void
cancel_out(struct rgm_worker *worker, struct rgm_request *request,
           uint32_t why)
{
    struct rgm_message *message = &request->message;
    uint32_t holder = rgi_holder(message);

    if (holder == RGI_HOLDER_HOME)
        return; /* on its way home: what happened wins */
    request->asker_flags |= why;
    if (holder == worker->number) {
        rgi_request_told(request);
        apply(worker, message);
    } else if (holder != RGI_HOLDER_ABROAD && !rgi_is_child(request) &&
               rgi_unpost(worker, message, holder)) {
        rgi_request_told(request);
        rgi_send_home(worker, message, -ECANCELED);
    } else {
        node_send(worker, request, holder);
    }
}

void
rgi_request_cancel(struct rgm_worker *worker, struct rgm_request *request,
                   uint32_t why)
{
    if (request->life == RGI_REQUEST_OUT ||
        request->life == RGI_REQUEST_WAITING)
        rgi_deadline_disarm(worker, request); /* the node needs its memory */
    if (request->life == RGI_REQUEST_OUT) {
        cancel_out(worker, request, why);
    } else if (request->life == RGI_REQUEST_WAITING) {
        request->asker_flags |= why;
        request->message.flags |= RGI_MESSAGE_CANCELLED;
    }
}

/* mover: NULL, or whose it is, and what stays when he moves is let be. */
static void
cancel_each(struct rgm_worker *worker, struct rgm_link *list,
            const struct rgm_actor *mover)
{
    struct rgm_link *link = list->next;
    bool waits = false;

    while (link != list) {
        struct rgm_request *request =
            rgi_container_of(link, struct rgm_request, scope.link);

        link = link->next;
        if (request->asker_flags & RGI_ASKED_STAYS ||
            rgi_is_cleanup(&request->message) ||
            (mover != NULL && rgi_may_stay(mover, request)))
            continue;
        waits = waits || request->life == RGI_REQUEST_WAITING;
        rgi_request_cancel(worker, request, 0);
    }
    if (waits)
        rgi_lanes_leave(worker);
}

void
rgi_requests_cancel(struct rgm_worker *worker, struct rgm_link *list)
{
    cancel_each(worker, list, NULL);
}

void
rgi_requests_cancel_to_move(struct rgm_worker *worker, struct rgm_actor *actor)
{
    cancel_each(worker, &actor->scope, actor);
}

void
rgm_cancel_request(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_worker *worker = self->worker;

    rgi_assert(rgi_is_owner(worker));
    rgi_request_cancel(worker, request, 0);
    if (request->life == RGI_REQUEST_WAITING)
        rgi_lanes_leave(worker);
}
