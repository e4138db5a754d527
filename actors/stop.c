/* SPDX-License-Identifier: MIT */

/*
 * stop.c - a runtime is waited for with a limit, forced, or given up.
 *
 * Forced, by one more control node per place, which worker 0 hands on:
 *
 *   1. every actor stops now; what waits in lent slots goes home, and nothing
 *      more waits there
 *   2. the provider gets its time to give back what was cancelled
 *   3. worker leases are given up, and what it still has then, as when it had
 *      failed: askers here are stopped without being told and their memory is
 *      kept, askers on other workers are told by the header; the provider is
 *      left with it
 *   4. from there on it is an ordinary end: quiet, counted, closed
 *
 * What a plain thread has asked is not given up: its memory is its own, and it
 * would be told nothing. Nor does anybody interrupt a handler or a job.
 */

#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "actors/runtime.h"
#include "base/baton.h"
#include "capabilities/operation.h"

#define LINGER_NS (100 * RGM_NS_PER_MS)
#define GRACE_NS (1 * RGM_NS_PER_S)

static uint64_t
later(uint64_t now_ns, uint64_t pause_ns)
{
    return pause_ns < RGM_NEVER - now_ns ? now_ns + pause_ns : RGM_NEVER;
}

/* ---- on the worker ---- */

/* Mail for actors that will not come any more. */
static void
turn_waiting_home(struct rgm_worker *worker, struct rgi_slot *slot)
{
    struct rgm_message *message = slot->u.waiting;

    slot->u.waiting = NULL;
    while (message != NULL) {
        struct rgm_message *older = message->next;

        rgi_send_home(worker, message, -EPIPE);
        message = older;
    }
}

static void
force_here(struct rgm_worker *worker)
{
    struct rgm_provider *provider = worker->provider;
    uint64_t now_ns = provider != NULL ? provider->ops->now(provider) : 0;

    worker->forced = true;
    worker->give_up_ns = later(now_ns, worker->runtime->linger_ns);
    for (uint32_t i = 1; i <= worker->slots.last; i++) {
        struct rgi_slot *slot = rgi_slot_at(&worker->slots, i);

        if (slot->state == RGI_SLOT_LIVE) {
            rgi_end_decide(slot->u.actor, RGM_END_RETIRED, -ESHUTDOWN);
            rgi_actor_stop(worker, slot->u.actor);
        } else if (slot->state == RGI_SLOT_LENT) {
            turn_waiting_home(worker, slot);
            rgi_watch_give_up(worker, i);
        }
    }
}

/* Worker 0 alone knows who there is; one that has closed by now needs none. */
static void
force_others(struct rgm_runtime *runtime)
{
    for (uint32_t i = 1; i < runtime->places_count; i++) {
        struct rgi_place *place = &runtime->places[i];

        if (runtime->open & rgi_bit(i))
            (void)rgi_inbox_push(&place->inbox, &place->force, &place->force);
    }
}

/* The others, and whoever retires, are told when all are known that end
 * together: when the stop takes effect. */
void
rgi_force(struct rgm_worker *worker)
{
    struct rgm_runtime *runtime = worker->runtime;

    if (worker->number == 0 && !worker->draining) {
        runtime->steward.force_waits = true;
        return;
    }
    if (worker->number == 0)
        force_others(runtime);
    force_here(worker);
}

void
rgi_force_waited(struct rgm_worker *worker)
{
    bool *waits = &worker->runtime->steward.force_waits;

    if (worker->number != 0 || !*waits)
        return;
    *waits = false;
    rgi_force(worker);
}

/* Does a plain thread wait for what our provider has? */
static bool
guests_wait(const struct rgm_worker *worker)
{
    const struct rgm_link *link = worker->remote.next;

    for (; link != &worker->remote; link = link->next) {
        const struct rgm_operation *operation = rgi_container_of(
            (struct rgm_link *)(uintptr_t)link, struct rgm_operation, remote);

        if (!rgi_operation_is_own(operation) &&
            operation->request.message.control != RGI_CONTROL_ABROAD &&
            rgm_address_worker(operation->request.message.from) >=
                RGM_WORKERS_MAX)
            return true;
    }
    return false;
}

static bool
may_give_up(const struct rgm_worker *worker)
{
    return worker->failure == 0 && worker->provider != NULL &&
           worker->provider->in_flight > 0 && !guests_wait(worker);
}

uint64_t
rgi_force_deadline(const struct rgm_worker *worker, uint64_t deadline_ns)
{
    bool may = may_give_up(worker) || worker->leases_count > 0;

    return may && worker->give_up_ns < deadline_ns
               ? worker->give_up_ns
               : deadline_ns;
}

/* Whoever has the token of a worker lease keeps it, and it means nothing. */
static void
give_up_leases(struct rgm_worker *worker)
{
    if (worker->leases_count == 0)
        return;
    rgi_blockers_give_up_leases(worker);
    (void)rgi_worker_leases_give_up(worker);
}

/* What has ended is told first, though it may have done so just now. */
void
rgi_force_turn(struct rgm_worker *worker)
{
    struct rgm_provider *provider = worker->provider;
    uint32_t out;

    if (provider == NULL ||
        provider->ops->now(provider) < worker->give_up_ns)
        return;
    give_up_leases(worker);
    if (!may_give_up(worker))
        return;
    (void)provider->ops->wait(provider, 0, &worker->turn);
    if (worker->turn.first != NULL)
        return;
    rgi_blockers_publish(worker);
    out = worker->operations_out;
    worker->failure = -ECANCELED;
    worker->gave_up = true;
    provider->abandoned = true;
    rgi_operations_lose(worker);
    rgi_blockers_give_up(worker, out - worker->operations_out);
}

/* ---- the calls ---- */

void
rgm_runtime_force(struct rgm_runtime *runtime, uint64_t linger_ns)
{
    rgm_runtime_stop(runtime);
    /* runtime-outside: as in rgm_runtime_stop. */
    ck_pr_inc_32(&runtime->outside);
    if (ck_pr_fas_32(&runtime->force_requested, 1) == 0) {
        struct rgi_place *first = &runtime->places[0];

        runtime->linger_ns = linger_ns; /* goes with the push */
        (void)rgi_inbox_push(&first->inbox, &first->force, &first->force);
    }
    ck_pr_fence_release();
    ck_pr_dec_32(&runtime->outside);
}

static void
options_complete(const struct rgm_stop_options *options,
                 struct rgm_stop_options *ret_options)
{
    static const struct rgm_stop_options all_defaults;

    *ret_options = options != NULL ? *options : all_defaults;
    if (ret_options->timeout_ns == 0)
        ret_options->timeout_ns = RGM_NEVER;
    if (ret_options->linger_ns == 0)
        ret_options->linger_ns = LINGER_NS;
    if (ret_options->grace_ns == 0)
        ret_options->grace_ns = GRACE_NS;
}

/* The time is up. Returns: as rgm_runtime_stop_and_wait. */
static int
end_by_force(struct rgm_runtime *runtime,
             const struct rgm_stop_options *options,
             struct rgm_stop_report *report)
{
    uint64_t until_ns;
    int status;

    report->blockers_count = rgm_runtime_blockers(runtime, report->blockers,
                                                  RGM_STOP_REPORT_MAX);
    rgm_runtime_force(runtime, options->linger_ns);
    until_ns = later(later(rgi_clock_now(), options->linger_ns),
                     options->grace_ns);
    status = rgi_runtime_await_end(runtime, until_ns);
    if (status != -ETIMEDOUT)
        return status != 0 ? status : -ETIMEDOUT;
    report->left_count =
        rgm_runtime_blockers(runtime, report->left, RGM_STOP_REPORT_MAX);
    return -EBUSY;
}

static int
end(struct rgm_runtime *runtime, const struct rgm_stop_options *options,
    struct rgm_stop_report *report)
{
    uint64_t start_ns = rgi_clock_now();
    int status;

    rgm_runtime_stop(runtime);
    status = rgi_runtime_await_end(runtime,
                                   later(start_ns, options->timeout_ns));
    if (status == -ETIMEDOUT)
        status = end_by_force(runtime, options, report);
    else if (status == 0 && ck_pr_load_32(&runtime->force_requested) != 0)
        status = -ETIMEDOUT; /* somebody else's time was up */
    report->forced = ck_pr_load_32(&runtime->force_requested) != 0;
    if (report->forced && status != -EBUSY)
        report->left_count = rgi_blockers_given_up(runtime, report->left,
                                                   RGM_STOP_REPORT_MAX);
    report->took_ns = rgi_clock_now() - start_ns;
    return status;
}

int
rgm_runtime_stop_and_wait(struct rgm_runtime *runtime,
                          const struct rgm_stop_options *options,
                          struct rgm_stop_report *ret_report)
{
    struct rgm_stop_options all;
    struct rgm_stop_report report;
    int status;

    if (rgi_is_inside(runtime))
        return -EDEADLK;
    options_complete(options, &all);
    memset(&report, 0, sizeof(report));
    status = end(runtime, &all, &report);
    if (ret_report != NULL)
        *ret_report = report;
    return status;
}

/* ---- giving it up ---- */

static void *
see_to_its_end(void *argument)
{
    struct rgm_runtime *runtime = argument;

    rgm_runtime_stop(runtime);
    (void)rgi_runtime_await_end(runtime, RGM_NEVER);
    (void)rgm_runtime_destroy(runtime);
    return NULL;
}

static int
thread_detached(void *(*run)(void *), void *argument)
{
    pthread_attr_t detached;
    sigset_t all, before;
    pthread_t thread;
    int error;

    if (pthread_attr_init(&detached) != 0)
        return -ENOMEM;
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&thread, &detached, run, argument);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    return -error;
}

int
rgm_runtime_drop(struct rgm_runtime *runtime)
{
    int status = rgm_runtime_destroy(runtime); /* none started, or all over */

    if (status == 0)
        return 0;
    /* Who only pushes is not in its way: it is freed when he has left. */
    if (rgi_guests_open(runtime) || ck_pr_load_32(&runtime->awaited) != 0)
        return -EBUSY;
    if (rgi_baton != NULL)
        return -ENOTSUP; /* no other thread can join players */
    return thread_detached(see_to_its_end, runtime);
}
