/* SPDX-License-Identifier: MIT */

/*
 * line.c - who waits for a descriptor, and who is tried when?
 *
 * 1. An operation whose direction has nobody in line, and may be ready, is tried in
 *    submit. Else it stands in line.
 * 2. It is the first in line that is tried, never more than once in a row, so that a
 *    fast peer does not keep the worker for itself: what can go on at once is
 *    runnable, and has its turn after the others.
 * 3. One that finds nothing takes the ready mark away and registers its descriptor,
 *    if that has not happened: the kernel then tells of what came in between.
 *    Whoever has to wait for something no descriptor tells is tried again after a
 *    pause.
 * 4. A file on its way into a socket is read by the threads, who may wait for a
 *    disk. It leaves the line for that and nobody is tried until it is back.
 *
 * When a descriptor cannot be registered, the one that would wait is told.
 */

#include <errno.h>
#include <poll.h>

#include "base/assert.h"
#include "capabilities/epoll/parts.h"
#include "capabilities/send_file.h"

/* What one turn of a line has come to. */
enum outcome {
    OVER,   /* that one is; the next may be tried */
    GONE,   /* so is its watch, or it is with the threads */
    AGAIN,  /* later in this turn */
    PAUSED, /* after a pause */
    WAITS   /* for the kernel */
};

static struct rgm_operation *
operation_at(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_operation, link);
}

struct rgi_watch *
rgi_line_watch_of(const struct rgm_operation *operation)
{
    const struct rgm_socket *socket = rgi_stream_uses(operation);

    return socket != NULL ? (struct rgi_watch *)(uintptr_t)socket->resource
                          : NULL;
}

/* The one whose lines an operation stands in. */
static struct rgi_watch *
watch_to_wait_for(const struct rgm_operation *operation)
{
    struct rgi_watch *used = rgi_line_watch_of(operation);

    return used != NULL
               ? used
               : rgi_attempt_of((struct rgm_operation *)(uintptr_t)operation)
                     ->owner;
}

static struct rgi_side *
side_of(struct rgi_watch *watch, const struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_CONNECT:
    case RGM_OP_WRITE:
    case RGM_OP_SEND_FILE:
    case RGM_OP_PACKET_WRITE:
        return &watch->out;
    case RGM_OP_AWAIT:
        return rgi_await_of(operation)->moment == RGM_READABLE ? &watch->in
                                                               : &watch->out;
    default:
        return &watch->in;
    }
}

/* -------------------------------------------------------- to stand in line */

static void
stand(struct rgi_epoll_provider *p, struct rgi_side *side,
      struct rgm_operation *operation)
{
    rgi_attempt_of(operation)->phase = RGI_PHASE_WAITING;
    rgi_list_push_back(&side->line, &operation->link);
    p->lined++;
}

static void
step_out(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    rgi_list_remove(&operation->link);
    p->lined--;
}

/* What it has made is a handle's from now on, or nobody's. */
static void
settle_owner(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);
    struct rgi_watch *watch = attempt->owner;

    if (attempt->status == 0 && attempt->made >= 0) {
        rgi_watch_own(watch, attempt->made);
        return;
    }
    rgi_watch_release(p, watch);
    attempt->owner = NULL;
    rgi_attempt_discard(operation);
}

bool
rgi_line_makes_one(const struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_LISTEN:
    case RGM_OP_ACCEPT:
    case RGM_OP_ATTACH:
    case RGM_OP_PACKET_OPEN:
    case RGM_OP_FILE_OPEN:
        return true;
    case RGM_OP_CONNECT:
        return rgi_connect_of(operation)->over == NULL;
    default:
        return false;
    }
}

void
rgi_line_finish(struct rgi_epoll_provider *p, struct rgm_operation *operation,
                int status)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);

    attempt->status = status;
    attempt->phase = RGI_PHASE_DONE;
    if (rgi_line_makes_one(operation) && attempt->owner != NULL)
        settle_owner(p, operation);
    rgi_list_push_back(&p->done, &operation->link);
}

void
rgi_line_lend(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    p->in_pool++;
    (void)rgi_jobs_add(&p->jobs, operation);
}

/* ------------------------------------------------------------------ a turn */

/* A packet for a Unix socket that is full: ours is writable, and nobody tells when
 * that one is not full any more. */
static bool
is_told_by_nobody(const struct rgi_watch *watch,
                  const struct rgm_operation *operation)
{
    struct pollfd entry = {watch->fd, POLLOUT, 0};

    return operation->kind == RGM_OP_PACKET_WRITE && poll(&entry, 1, 0) > 0;
}

/* The mark goes, unless the kernel has told something since it was seen. */
static void
mark_empty(struct rgi_side *side, uint32_t seen)
{
    if (side->generation == seen)
        side->ready = false;
}

static int
wait_for_kernel(struct rgi_epoll_provider *p, struct rgi_watch *watch,
                struct rgi_side *side, uint32_t seen)
{
    int status = watch->registered ? 0 : rgi_watch_register(p, watch);

    if (status == 0)
        mark_empty(side, seen);
    return status;
}

/* A read that was given less than it has room for has emptied the socket: the next
 * one need not ask in vain. Not so where urgent bytes may part what is there. */
static void
learn_from_read(const struct rgi_watch *watch, struct rgi_side *side,
                uint32_t seen, const struct rgm_operation *operation)
{
    const struct rgm_read *read = rgi_read_of(operation);

    if (operation->kind == RGM_OP_READ && !read->urgent && watch->registered &&
        watch->short_is_all && !watch->lasting && read->count > 0 &&
        read->count < read->capacity_bytes)
        mark_empty(side, seen);
}

static enum outcome
end_turn(struct rgi_epoll_provider *p, struct rgm_operation *operation,
         int status)
{
    bool alone = operation->kind == RGM_OP_CONNECT ||
                 operation->kind == RGM_OP_CHILD_WAIT;

    step_out(p, operation);
    if (operation->kind == RGM_OP_CHILD_WAIT)
        rgi_epoll_child_end(p, operation);
    rgi_line_finish(p, operation, status);
    return alone && rgi_line_watch_of(operation) == NULL ? GONE : OVER;
}

static enum outcome
turn_too_early(struct rgi_epoll_provider *p, struct rgi_watch *watch,
               struct rgi_side *side, uint32_t seen,
               struct rgm_operation *operation)
{
    int status;

    if (is_told_by_nobody(watch, operation))
        return PAUSED;
    if (operation->kind == RGM_OP_CHILD_WAIT && watch->registered) {
        step_out(p, operation);
        rgi_epoll_child_look_on(p, operation);
        return GONE;
    }
    status = wait_for_kernel(p, watch, side, seen);
    if (status < 0)
        return end_turn(p, operation, status);
    return side->ready ? AGAIN : WAITS;
}

/* An attempt asks the kernel, as a look at the set does. */
static enum rgi_verdict
attempt_now(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    p->provider.kernel_entries++;
    return rgi_attempt_run(operation);
}

/* Tries the first in line. */
static enum outcome
turn(struct rgi_epoll_provider *p, struct rgi_watch *watch,
     struct rgi_side *side)
{
    struct rgm_operation *operation = operation_at(rgi_list_first(&side->line));
    struct rgi_attempt *attempt = rgi_attempt_of(operation);
    uint32_t seen = side->generation;
    enum rgi_verdict verdict;

    if (operation->kind == RGM_OP_SEND_FILE) {
        step_out(p, operation);
        side->lent = operation;
        side->lent_generation = seen;
        rgi_line_lend(p, operation);
        return GONE;
    }
    verdict = attempt_now(p, operation);
    if (operation->kind == RGM_OP_CONNECT && attempt->made >= 0)
        rgi_watch_own(watch, attempt->made);
    switch (verdict) {
    case RGI_FINISHED:
        learn_from_read(watch, side, seen, operation);
        return end_turn(p, operation, attempt->status);
    case RGI_AGAIN:
        return AGAIN;
    case RGI_PAUSE:
        p->provider.pool_waits += attempt->starved;
        return PAUSED;
    case RGI_LATER:
        return turn_too_early(p, watch, side, seen, operation);
    default:
        rgi_unreachable();
    }
}

static bool
may_try(const struct rgi_side *side)
{
    return side->ready && side->lent == NULL && !rgi_list_empty(&side->line);
}

/* Returns: AGAIN or PAUSED, or something else when the line can do no more. */
static enum outcome
side_serve(struct rgi_epoll_provider *p, struct rgi_watch *watch,
           struct rgi_side *side)
{
    enum outcome outcome = WAITS;

    while (may_try(side)) {
        outcome = turn(p, watch, side);
        if (outcome != OVER)
            break;
    }
    return outcome;
}

static void
go_on_later(struct rgi_epoll_provider *p, struct rgi_watch *watch,
            enum outcome outcome)
{
    if (outcome == AGAIN)
        rgi_watch_run_later(p, watch);
    else if (outcome == PAUSED)
        rgi_watch_pause(p, watch);
}

void
rgi_line_submit(struct rgi_epoll_provider *p, struct rgi_watch *watch,
                struct rgm_operation *operation)
{
    struct rgi_side *side = side_of(watch, operation);
    bool first = rgi_list_empty(&side->line);

    stand(p, side, operation);
    if (first && may_try(side))
        go_on_later(p, watch, side_serve(p, watch, side));
}

void
rgi_line_try_once(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    enum rgi_verdict verdict = attempt_now(p, operation);

    rgi_assert(verdict == RGI_FINISHED);
    rgi_line_finish(p, operation, rgi_attempt_of(operation)->status);
}

void
rgi_line_leave(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    struct rgi_watch *watch = watch_to_wait_for(operation);
    struct rgi_side *side = side_of(watch, operation);

    step_out(p, operation);
    if (may_try(side))
        rgi_watch_run_later(p, watch);
}

static enum outcome
side_take_back(struct rgi_epoll_provider *p, struct rgi_watch *watch,
               struct rgi_side *side, struct rgm_operation *operation)
{
    rgi_attempt_of(operation)->phase = RGI_PHASE_WAITING;
    rgi_list_push_front(&side->line, &operation->link);
    p->lined++;
    return turn_too_early(p, watch, side, side->lent_generation, operation);
}

bool
rgi_line_returned(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    struct rgi_watch *watch = rgi_line_watch_of(operation);
    struct rgi_side *side = &watch->out;
    struct rgi_attempt *attempt = rgi_attempt_of(operation);
    bool over;

    side->lent = NULL;
    if (attempt->stopping && attempt->status == RGI_TOO_EARLY)
        attempt->status = -ECANCELED;
    over = attempt->status != RGI_TOO_EARLY;
    if (!over)
        (void)side_take_back(p, watch, side, operation);
    if (may_try(side))
        rgi_watch_run_later(p, watch);
    return over;
}

/* ------------------------------------------------------------------ everybody */

static void
serve(struct rgi_epoll_provider *p, struct rgm_link *link)
{
    struct rgi_watch *watch = rgi_container_of(link, struct rgi_watch, link);
    enum outcome in = side_serve(p, watch, &watch->in);
    enum outcome out = side_serve(p, watch, &watch->out);

    if (in == AGAIN || out == AGAIN)
        rgi_watch_run_later(p, watch);
    else if (in == PAUSED || out == PAUSED)
        rgi_watch_pause(p, watch);
}

/* Some of them: whoever is in vain once more goes to the end. */
static void
pauses_end(struct rgi_epoll_provider *p)
{
    struct rgm_link *link;

    for (int i = 0; i < RGI_EPOLL_STARVED_MAX &&
                    (link = rgi_list_pop_front(&p->paused)) != NULL;
         i++)
        rgi_list_push_back(&p->runnable, link);
    if (!rgi_list_empty(&p->paused))
        p->pause_end_ns = rgi_epoll_now(p) + RGI_EPOLL_PAUSE_NS;
}

void
rgi_line_serve(struct rgi_epoll_provider *p)
{
    struct rgm_link now;
    struct rgm_link *link;

    if (!rgi_list_empty(&p->paused) && rgi_epoll_now(p) >= p->pause_end_ns)
        pauses_end(p);
    rgi_list_init(&now);
    rgi_list_splice_back(&now, &p->runnable);
    while ((link = rgi_list_pop_front(&now)) != NULL)
        serve(p, link);
}
