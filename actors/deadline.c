/* SPDX-License-Identifier: MIT */

/*
 * deadline.c - a request that is not waited for for ever.
 *
 * 1. A deadline is set on a record at home: a moment, or a duration.
 * 2. Asked, the record is put in a list of its worker's; its timer is in the
 *    part of the record that a cancel's node will use, for the two are never
 *    needed together.
 * 3. What is answered before the worker flushes or goes to its provider leaves
 *    the list and that was all. Then the clock is read once, durations become
 *    moments, and the timers are armed. A record travels with its deadline, for
 *    whoever asks on its behalf.
 *    A moment that is far goes into a list of such first, and from there into the
 *    queue when a millisecond has passed, a turn without another one, or before
 *    the worker sleeps: most are answered sooner, and the queue stays empty, for
 *    which there is no clock to read.
 * 4. A timer that is due cancels its request, and the answer says -ETIMEDOUT if
 *    that was why. One that is far away is due at the next tick.
 * 5. An operation whose moment has passed when it is asked is not begun at all; a
 *    provider that would have to try one again looks at the time itself.
 * 6. A delivered answer disarms it, in a list, in the queue, or among those
 *    that were collected.
 */

#include "actors/runtime.h"

#include <ringmail/deadline.h>

#include "base/baton.h"
#include "base/memory.h"
#include "capabilities/operation.h"

static inline struct rgi_timer *
timer_of(struct rgm_request *request)
{
    _Static_assert(sizeof(struct rgi_timer) <=
                       sizeof(((struct rgm_request *)0)->aside.timer),
                   "a request has room for its timer");
    return (struct rgi_timer *)(void *)request->aside.timer;
}

static inline struct rgm_request *
timed_by(struct rgi_timer *timer)
{
    return rgi_container_of((uint64_t *)(void *)timer, struct rgm_request,
                            aside.timer);
}

/* Worker 0 is there as long as its runtime, and no other has its identity. */
uint64_t
rgi_domain(const struct rgm_worker *worker)
{
    return worker->runtime->workers[0]->identity;
}

static uint64_t
after(uint64_t now_ns, uint64_t duration_ns)
{
    return duration_ns >= RGM_NEVER - now_ns ? RGM_NEVER
                                             : now_ns + duration_ns;
}

/* A guest has no provider, and the clock that providers have. */
static uint64_t
clock_of(const struct rgm_worker *worker)
{
    return worker->is_guest ? rgi_clock_now()
                            : worker->provider->ops->now(worker->provider);
}

/* ---- setting ---- */

struct rgm_deadline
rgm_deadline_from_now(struct rgm_actor *self, uint64_t duration_ns)
{
    struct rgm_worker *worker = self->worker;
    struct rgm_deadline deadline = {.domain = rgi_domain(worker)};

    deadline.at_ns = after(clock_of(worker), duration_ns);
    return deadline;
}

void
rgm_request_expire_at(struct rgm_request *request,
                      struct rgm_deadline deadline)
{
    rgi_assert(rgi_request_is_home(request));
    request->deadline_ns = deadline.at_ns;
    request->hold.domain = deadline.domain;
    request->asker_flags &= ~(uint32_t)RGI_ASKED_AFTER;
    request->asker_flags |= RGI_ASKED_AT;
}

void
rgm_request_expire_after(struct rgm_request *request, uint64_t duration_ns)
{
    rgi_assert(rgi_request_is_home(request));
    request->deadline_ns = duration_ns;
    request->asker_flags &= ~(uint32_t)RGI_ASKED_AT;
    request->asker_flags |= RGI_ASKED_AFTER;
}

/* Of a guest's number: made with its first deadline, and kept. */
static int
guest_timers(struct rgm_worker *worker)
{
    if (rgi_baton != NULL)
        return -EINVAL; /* who waits for a player has no time of his own */
    if (worker->timers != NULL)
        return 0;
    worker->timers = rgi_alloc(sizeof(*worker->timers));
    if (worker->timers == NULL)
        return -ENOMEM;
    rgi_timers_init(worker->timers, rgi_clock_now());
    return 0;
}

int
rgi_deadline_check(struct rgm_worker *worker,
                   const struct rgm_request *request)
{
    if (request->asker_flags & RGI_ASKED_AT) {
        if (request->hold.domain != rgi_domain(worker))
            return -EINVAL;
        if (request->message.type->kind == RGM_KIND_OPERATION &&
            !rgi_is_cleanup(&request->message) &&
            request->deadline_ns <= clock_of(worker))
            return -ETIMEDOUT;
    }
    return worker->is_guest ? guest_timers(worker) : 0;
}

bool
rgi_deadline_has_come(struct rgm_worker *worker,
                      const struct rgm_message *message)
{
    return message->flags & RGI_MESSAGE_DEADLINE &&
           rgi_operation_is_late(rgm_operation_of(
                                     (struct rgm_message *)(uintptr_t)message),
                                 worker->provider) &&
           !rgi_is_cleanup(message);
}

/* Whoever dials without a limit has the runtime's. A player, who has no time of
 * his own, has none. */
void
rgi_deadline_default(struct rgm_worker *worker, struct rgm_request *request)
{
    const uint32_t timed = RGI_ASKED_AT | RGI_ASKED_AFTER;
    uint64_t timeout_ns = worker->runtime->options.streams.dial_timeout_ns;

    if (request->message.type != &rgi_type_connect ||
        (request->asker_flags & timed) != 0 || timeout_ns == RGM_NEVER ||
        (worker->is_guest && rgi_baton != NULL))
        return;
    rgm_request_expire_after(request, timeout_ns);
}

/* ---- waiting ---- */

void
rgi_deadline_begin(struct rgm_worker *worker, struct rgm_request *request)
{
    rgi_deadline_resume(worker, request);
    request->message.flags |= RGI_MESSAGE_DEADLINE;
}

void
rgi_deadline_resume(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgi_timer *timer = timer_of(request);

    *timer = (struct rgi_timer){.kind = RGI_TIMER_DEADLINE,
                                .place = RGI_TIMER_COLLECTED};
    rgi_list_push_back(&worker->deadlines, &timer->link);
    request->asker_flags |= RGI_ASKED_TIMED;
}

void
rgi_deadline_settle(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgm_deadline deadline = {
        .at_ns = after(clock_of(worker), request->deadline_ns),
        .domain = rgi_domain(worker)};

    rgm_request_expire_at(request, deadline);
}

/* When the timer of one is due. */
static uint64_t
due_at(const struct rgm_worker *worker, uint64_t deadline_ns, uint64_t now_ns)
{
    uint64_t tick_ns =
        worker->runtime->options.deadline_tick_us * RGM_NS_PER_US;
    uint64_t over_ns = deadline_ns % tick_ns;

    if (over_ns == 0 || deadline_ns < now_ns ||
        deadline_ns - now_ns <= RGM_DEADLINE_EXACT_TICKS * tick_ns)
        return deadline_ns;
    return after(deadline_ns, tick_ns - over_ns);
}

/* Far is what cannot come while it is in the list, and a turn more. */
#define DISTANT_NS (2 * RGM_NS_PER_MS)
#define DISTANT_FOR_NS RGM_NS_PER_MS

void
rgi_deadlines_queue(struct rgm_worker *worker)
{
    struct rgi_timer *timer;

    while ((timer = rgi_timers_pop(&worker->distant)) != NULL)
        rgi_timers_arm(worker->timers, timer, timer->deadline_ns);
}

static void
put(struct rgm_worker *worker, struct rgi_timer *timer, uint64_t deadline_ns,
    uint64_t now_ns)
{
    if (worker->is_guest || deadline_ns < after(now_ns, DISTANT_NS)) {
        rgi_timers_arm(worker->timers, timer, deadline_ns);
        return;
    }
    if (rgi_list_empty(&worker->distant))
        worker->distant_since_ns = now_ns;
    timer->deadline_ns = deadline_ns;
    timer->place = RGI_TIMER_COLLECTED;
    rgi_list_push_back(&worker->distant, &timer->link);
}

void
rgi_deadlines_arm(struct rgm_worker *worker)
{
    uint64_t now_ns = 0; /* read once, if anything is there */
    struct rgi_timer *timer;

    while ((timer = rgi_timers_pop(&worker->deadlines)) != NULL) {
        struct rgm_request *request = timed_by(timer);

        if (timer->kind == RGI_TIMER_TIMEOUT ? rgi_timeout_is_over(timer)
                                             : rgi_request_is_over(request))
            continue; /* ready at once: no clock, no timer */
        if (now_ns == 0)
            now_ns = clock_of(worker);
        if (timer->kind == RGI_TIMER_TIMEOUT) {
            rgi_timeout_arm(worker, timer, now_ns);
            continue;
        }
        if (request->asker_flags & RGI_ASKED_AFTER) {
            request->deadline_ns = after(now_ns, request->deadline_ns);
            request->asker_flags ^= RGI_ASKED_AFTER | RGI_ASKED_AT;
        }
        put(worker, timer, due_at(worker, request->deadline_ns, now_ns),
            now_ns);
    }
    if (now_ns == 0)
        return;
    worker->distant_turn = worker->counters.turns;
    if (now_ns - worker->distant_since_ns >= DISTANT_FOR_NS)
        rgi_deadlines_queue(worker);
}

void
rgi_deadline_disarm(struct rgm_worker *worker, struct rgm_request *request)
{
    if (!(request->asker_flags & RGI_ASKED_TIMED))
        return;
    request->asker_flags &= ~(uint32_t)RGI_ASKED_TIMED;
    (void)rgi_timers_cancel(worker->timers, timer_of(request));
}

bool
rgi_deadline_expired(struct rgm_worker *worker, struct rgi_timer *timer)
{
    struct rgm_request *request = timed_by(timer);

    request->asker_flags &= ~(uint32_t)RGI_ASKED_TIMED;
    rgi_count(worker, deadlines_expired);
    rgi_request_cancel(worker, request, RGI_ASKED_EXPIRED);
    return request->life == RGI_REQUEST_WAITING;
}

/* A duration is one no more when the record has been flushed; on this very
 * worker it may be one still. */
uint64_t
rgi_deadline_of(struct rgm_worker *worker, const struct rgm_request *request)
{
    const struct rgm_message *message = &request->message;

    if (!(message->flags & RGI_MESSAGE_DEADLINE))
        return RGM_NEVER;
    if (rgm_address_worker(message->from) == worker->number)
        rgi_deadlines_arm(worker);
    return request->deadline_ns;
}
