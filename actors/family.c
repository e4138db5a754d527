/* SPDX-License-Identifier: MIT */

/*
 * family.c - requests that are asked on behalf of a received one.
 *
 * The received one, the parent, is in our hands: being handled, or kept. Its
 * children are linked in it, in a field that is its holder's, so their asker and
 * its holder are one worker, and no atomic is needed. Whatever ends the parent's
 * stay (an answer, a forward, a withdrawal) goes through rgi_family_ends: all
 * that are still out are let go and cancelled. One whose answer is delivered
 * leaves the family first.
 *
 * Model: actors/models/family.pml.
 */

#include "actors/runtime.h"

#include <ringmail/deadline.h>

/* Is the request this actor's to do something for? */
static bool
is_ours(const struct rgm_worker *worker, const struct rgm_actor *self,
        const struct rgm_message *message)
{
    if (worker->handling == message)
        return worker->running == self;
    return !worker->is_guest && rgi_holder(message) == worker->number &&
           message->state == RGI_AT_KEEPER &&
           rgi_keeper_of(worker, message) == self;
}

static void
inherit(struct rgm_worker *worker, const struct rgm_request *parent,
        struct rgm_request *child)
{
    struct rgm_deadline deadline = {
        .at_ns = rgi_deadline_of(worker, parent),
        .domain = rgi_domain(worker)};

    if (deadline.at_ns == RGM_NEVER)
        return;
    /* A duration of its own would have to be compared now: the child's worker
     * is awake, so this is the moment from which it would count. */
    if (child->asker_flags & RGI_ASKED_AFTER)
        rgi_deadline_settle(worker, child);
    if (child->asker_flags & RGI_ASKED_AT &&
        child->deadline_ns <= deadline.at_ns)
        return;
    rgm_request_expire_at(child, deadline);
}

static void
join(struct rgm_request *parent, struct rgm_request *child)
{
    struct rgm_request **first = &parent->hold.children;

    if (!(parent->message.flags & RGI_MESSAGE_PARENT))
        *first = NULL;
    parent->message.flags |= RGI_MESSAGE_PARENT;
    child->asker_flags |= RGI_ASKED_CHILD;
    child->with.family.next = *first;
    child->with.family.previous = first;
    if (*first != NULL)
        (*first)->with.family.previous = &child->with.family.next;
    *first = child;
}

void
rgi_family_leave(struct rgm_request *child)
{
    struct rgm_request *next = child->with.family.next;

    child->asker_flags &= ~(uint32_t)RGI_ASKED_CHILD;
    *child->with.family.previous = next;
    if (next != NULL)
        next->with.family.previous = child->with.family.previous;
}

void
rgi_family_ends(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_request *parent = rgi_request_of(message);
    bool waits = false;

    message->flags &= (uint8_t)~RGI_MESSAGE_PARENT;
    while (parent->hold.children != NULL) {
        struct rgm_request *child = parent->hold.children;

        rgi_family_leave(child);
        waits = waits || child->life == RGI_REQUEST_WAITING;
        rgi_request_cancel(worker, child, 0);
    }
    if (waits)
        rgi_lanes_leave(worker);
}

void
rgm_ask_request_for(struct rgm_actor *self, struct rgm_request *parent,
                    struct rgm_request *request, rgm_answer_function *answer)
{
    struct rgm_worker *worker = self->worker;
    int status = 0;

    if (!is_ours(worker, self, &parent->message))
        status = -EINVAL;
    else if (parent->message.flags & RGI_MESSAGE_CANCELLED)
        status = -ECANCELED;
    else
        inherit(worker, parent, request);
    rgi_ask_checked(self, request, answer, status);
    if (status == 0)
        join(parent, request);
}
