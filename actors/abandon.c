/* SPDX-License-Identifier: MIT */

/*
 * abandon.c - a request is given up, and a request that is, in time.
 *
 * Giving up: the record leaves its asker's list and count, and is from then on
 * asked by the worker's janitor, who does not end and is told in its line like
 * any asker; the answer is a call of the release function. So the worker is not
 * quiet before the record is home, and an actor may end before it.
 *
 * One that is home already, in the line of the actor that gives it up, stays in
 * that line; who is told stands in the record.
 *
 * A timeout is an operation of the worker's own:
 * 1. Begun, it asks its request, in the name of the same actor.
 * 2. If that is not home before the worker goes on, its timer is armed
 *    (deadline.c).
 * 3. The request's answer disarms it and completes the timeout. Or the timer is
 *    due: the request is given up, which completes it, too.
 */

#include "actors/runtime.h"

#include <ringmail/abandon.h>

#include "capabilities/operation.h"

static inline struct rgm_timeout *
timeout_of(struct rgm_operation *operation)
{
    return rgi_container_of(operation, struct rgm_timeout, operation);
}

static inline struct rgi_timer *
timer_of(struct rgm_timeout *timeout)
{
    _Static_assert(sizeof(struct rgi_timer) <=
                       sizeof(((struct rgm_timeout *)0)->timer),
                   "a timeout has room for its timer");
    return (struct rgi_timer *)(void *)timeout->timer;
}

static bool
is_timeout(const struct rgm_request *request)
{
    return request->message.type == &rgi_type_timeout;
}

/* ---- giving up ---- */

static void
release_by_type(struct rgm_actor *janitor, struct rgm_request *request)
{
    struct rgm_message *message = &request->message;
    const struct rgm_message_type *type = message->type;
    bool taken = (message->flags & RGI_MESSAGE_TAKEN) != 0;
    uint32_t size_bytes = message->charged_bytes;

    type->returned(request, message->status);
    if (taken)
        rgi_slab_give(&janitor->worker->slab, request, size_bytes);
}

static void
say_who_is_told(struct rgm_request *request, rgm_answer_function *release)
{
    request->answer = release;
    request->asker_flags |= RGI_ASKED_ABANDONED;
}

static void
move_to_janitor(struct rgm_actor *self, struct rgm_request *request,
                rgm_answer_function *release)
{
    struct rgm_actor *janitor = &self->worker->janitor;

    if (request->asker_flags & RGI_ASKED_CHILD)
        rgi_family_leave(request);
    rgi_list_remove(&request->scope.link);
    self->out_count--;
    rgi_list_push_back(&janitor->scope, &request->scope.link);
    janitor->out_count++;
    request->asker = janitor;
    say_who_is_told(request, release);
}

static int
may_give_up(const struct rgm_actor *self, const struct rgm_request *request)
{
    if (self->worker->is_guest ||
        request->asker_flags & (RGI_ASKED_ORDERED | RGI_ASKED_GATHERED))
        return -EINVAL;
    return rgi_request_is_home(request) || request->life == RGI_REQUEST_LOST
               ? -EALREADY
               : 0;
}

static int
give_up(struct rgm_actor *self, struct rgm_request *request,
        rgm_answer_function *release)
{
    struct rgm_worker *worker = self->worker;
    int status = may_give_up(self, request);

    if (status != 0)
        return status;
    if (rgi_request_is_stray(request)) { /* it comes to its asker by name */
        say_who_is_told(request, release);
        return 0;
    }
    move_to_janitor(self, request, release);
    if (worker->draining)
        rgi_requests_cancel(worker, &worker->janitor.scope);
    return 0;
}

void
rgi_abandoned_arrived(struct rgm_actor *actor, struct rgm_request *request)
{
    move_to_janitor(actor, request, request->answer);
}

int
rgm_abandon_request_to(struct rgm_actor *self, struct rgm_request *request,
                       rgm_answer_function *release)
{
    int status;

    rgi_assert(rgi_is_owner(self->worker));
    status = give_up(self, request, release);
    if (status == 0 && is_timeout(request))
        rgi_timeout_abandoned(self->worker, rgm_operation_of(
                                                &request->message));
    else if (status == 0)
        rgi_timer_abandoned(self->worker, request);
    return status;
}

static bool
is_released_by_type(const struct rgm_request *request)
{
    const struct rgm_message_type *type = request->message.type;

    return type != NULL && type->kind != RGM_KIND_MESSAGE &&
           type->returned != NULL;
}

int
rgm_abandon_request(struct rgm_actor *self, struct rgm_request *request)
{
    if (!is_released_by_type(request))
        return -EINVAL;
    return rgm_abandon_request_to(self, request, release_by_type);
}

/* Cancelled first: of a timeout both are still together. What comes home of it
 * stands in this actor's line, and is told to whom it is moved to. */
int
rgm_leave_request_to(struct rgm_actor *self, struct rgm_request *request,
                     rgm_answer_function *release)
{
    int status;

    rgi_assert(rgi_is_owner(self->worker));
    status = may_give_up(self, request);
    if (status != 0)
        return status;
    if (!rgi_is_cleanup(&request->message))
        rgm_cancel_request(self, request);
    return rgm_abandon_request_to(self, request, release);
}

int
rgm_leave_request(struct rgm_actor *self, struct rgm_request *request)
{
    if (!is_released_by_type(request))
        return -EINVAL;
    return rgm_leave_request_to(self, request, release_by_type);
}

/* ---- timeouts ---- */

static void
done(struct rgm_worker *worker, struct rgm_timeout *timeout, int status)
{
    (void)rgi_timers_cancel(worker->timers, timer_of(timeout));
    worker->attention = true;
    rgm_operation_complete(&timeout->operation, status, &worker->turn);
}

/* In the asker's turn. */
static void
inner_answered(struct rgm_actor *self, struct rgm_request *request)
{
    done(self->worker, request->with.wrapper, request->message.status);
}

int
rgi_timeout_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_timeout *timeout = timeout_of(operation);
    struct rgm_request *inner = timeout->inner;
    int status;

    if (rgm_address_worker(operation->request.message.from) != worker->number ||
        !rgi_request_is_home(inner))
        return -EINVAL;
    status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    *timer_of(timeout) = (struct rgi_timer){.kind = RGI_TIMER_TIMEOUT,
                                            .place = RGI_TIMER_COLLECTED};
    rgi_list_push_back(&worker->deadlines, &timer_of(timeout)->link);
    rgm_ask_request(operation->request.asker, inner, inner_answered);
    inner->with.wrapper = timeout;
    return 0;
}

static inline struct rgm_timeout *
timed_by(struct rgi_timer *timer)
{
    return rgi_container_of((uint64_t *)(void *)timer, struct rgm_timeout,
                            timer);
}

/* Home, and only not delivered yet, is finished: its answer is told. */
static void
give_up_inner(struct rgm_worker *worker, struct rgm_timeout *timeout,
              int status)
{
    struct rgm_request *inner = timeout->inner;
    int given_up;

    if (rgi_request_is_over(inner))
        return;
    given_up = give_up(inner->asker, inner, timeout->release);
    rgi_assert(given_up == 0);
    timeout->inner = NULL;
    done(worker, timeout, status);
}

bool
rgi_timeout_is_over(struct rgi_timer *timer)
{
    return rgi_request_is_over(timed_by(timer)->inner);
}

void
rgi_timeout_arm(struct rgm_worker *worker, struct rgi_timer *timer,
                uint64_t now_ns)
{
    struct rgm_timeout *timeout = timed_by(timer);

    if (worker->failure != 0)
        give_up_inner(worker, timeout, -EPIPE);
    else if (timeout->duration_ns >= RGM_NEVER - now_ns)
        give_up_inner(worker, timeout, -EINVAL);
    else
        rgi_timers_arm(worker->timers, timer, now_ns + timeout->duration_ns);
}

void
rgi_timeout_expired(struct rgm_worker *worker, struct rgi_timer *timer)
{
    give_up_inner(worker, timed_by(timer), -ETIMEDOUT);
}

void
rgi_timeout_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_request *inner = timeout_of(operation)->inner;

    if (!rgi_operation_stop(operation))
        return;
    rgi_request_cancel(worker, inner, 0);
    if (inner->life == RGI_REQUEST_WAITING)
        rgi_lanes_leave(worker);
}

/* So is what the timeout would tell: its asker hears of nothing any more, and its
 * time need not come. */
void
rgi_timeout_lost(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgm_timeout *timeout = request->with.wrapper;

    if (request->answer != inner_answered)
        return;
    timeout->inner = NULL;
    done(worker, timeout, -EPIPE);
}

/* Both are: giving the request up ends this one; so does its answer, if it is
 * about to come. */
void
rgi_timeout_abandoned(struct rgm_worker *worker,
                      struct rgm_operation *operation)
{
    struct rgm_timeout *timeout = timeout_of(operation);

    if (operation->request.life == RGI_REQUEST_ANSWERED ||
        operation->state == RGM_OPERATION_COMPLETED)
        return;
    give_up_inner(worker, timeout, -ECANCELED);
}
