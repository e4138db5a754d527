/* SPDX-License-Identifier: MIT */

/*
 * scripted.c - how do the workers meet a script?
 *
 * 1. submit puts the operation behind all others that wait, of any worker.
 * 2. The test decides (script.c): the operation goes into its provider's list.
 * 3. wait hands the list over, in the order of the decisions; handles are
 *    filled in and operations completed here, on the owner's thread.
 *
 * Without news a wait sleeps in poll until the worker's bell or ours rings. Its
 * deadline is of the script's time, so the machine's clock is not asked; who
 * moves the time rings. On a stepper's thread nothing sleeps: the stepper is
 * told what is waited for, and plays others meanwhile. A wait that does not
 * block is where a turn ends, and lets them go first, too.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <time.h>

#include "base/assert.h"
#include "base/baton.h"
#include "base/bell.h"
#include "base/memory.h"
#include "capabilities/detach.h"
#include "capabilities/operation.h"
#include "capabilities/scripted/parts.h"
#include "capabilities/stream.h"

/* All but the worker's own, and receivers, which are more than an end. */
#define SCRIPTED_KINDS                                                         \
    (((UINT64_C(1) << RGM_OP_KINDS_COUNT) - 1) &                               \
     ~(RGI_OWN_KIND_BITS | UINT64_C(1) << RGM_OP_RECEIVE |                     \
       UINT64_C(1) << RGM_OP_RECEIVE_NEXT))

static struct rgi_scripted *
scripted_of(struct rgm_provider *provider)
{
    return rgi_container_of(provider, struct rgi_scripted, head);
}

static void
lock(struct rgi_scripted *scripted)
{
    rgi_assert(pthread_mutex_lock(&scripted->script->lock) == 0);
}

static void
unlock(struct rgi_scripted *scripted)
{
    rgi_assert(pthread_mutex_unlock(&scripted->script->lock) == 0);
}

static uint64_t
scripted_now(struct rgm_provider *provider)
{
    return rgm_script_now(scripted_of(provider)->script);
}

/* ---- submit, cancel ---- */

void
rgi_scripted_decide(struct rgm_operation *operation, int status)
{
    struct rgi_scripted_note *note = rgi_scripted_note_of(operation);
    struct rgi_scripted *scripted = note->provider;

    rgi_assert(status <= 0);
    rgi_list_remove(&operation->link);
    note->status = status;
    rgi_list_push_back(&scripted->decided, &operation->link);
    rgi_bell_ring((void *)(intptr_t)scripted->news);
}

/* Whether this is the submission that was to be refused. Under the lock. */
static bool
is_refused(struct rgm_script *script)
{
    return script->refuse_in > 0 && --script->refuse_in == 0;
}

static void
scripted_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct rgi_scripted *scripted = scripted_of(provider);
    struct rgm_script *script = scripted->script;

    provider->in_flight++;
    provider->entries_submitted++;
    *rgi_scripted_note_of(operation) =
        (struct rgi_scripted_note){.provider = scripted};
    lock(scripted);
    rgi_list_push_back(&script->waiting, &operation->link);
    if (is_refused(script)) {
        rgi_scripted_decide(operation, script->refuse_status);
        unlock(scripted);
        return;
    }
    unlock(scripted);
    if (script->on_submit != NULL)
        script->on_submit(script, operation, script->on_submit_argument);
}

/* Whether it still waits to be decided. Under the lock. */
static bool
is_waiting(struct rgi_scripted *scripted, const struct rgm_operation *operation)
{
    const struct rgm_link *waiting = &scripted->script->waiting;

    for (const struct rgm_link *link = waiting->next; link != waiting;
         link = link->next)
        if (link == &operation->link)
            return true;
    return false;
}

static void
scripted_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct rgi_scripted *scripted = scripted_of(provider);

    lock(scripted);
    rgi_scripted_note_of(operation)->cancelled = true;
    if (!scripted->script->hold_cancels && is_waiting(scripted, operation))
        rgi_scripted_decide(operation, -ECANCELED);
    unlock(scripted);
}

/* ---- wait ---- */

static bool
opens_a_handle(const struct rgm_operation *operation)
{
    return operation->kind == RGM_OP_LISTEN ||
           operation->kind == RGM_OP_ACCEPT ||
           (operation->kind == RGM_OP_CONNECT &&
            rgi_stream_uses(operation) == NULL) ||
           operation->kind == RGM_OP_ATTACH ||
           operation->kind == RGM_OP_FILE_OPEN ||
           operation->kind == RGM_OP_PACKET_OPEN;
}

static void
finish(struct rgi_scripted *scripted, struct rgm_operation *operation,
       struct rgm_turn *turn)
{
    const struct rgi_scripted_note *note = rgi_scripted_note_of(operation);
    int status = note->status;

    scripted->head.in_flight--;
    scripted->head.completions++;
    if (status == 0 && opens_a_handle(operation))
        rgi_stream_fill(operation, note->resource != 0
                                       ? note->resource
                                       : scripted->head.completions);
    if (status == 0 && operation->kind == RGM_OP_DETACH)
        status = rgi_detach_let_go(operation, RGI_DETACH_NOTHING);
    rgm_operation_complete(operation, status, turn);
}

/* Hand over what is decided. Returns: the failure, or 0. */
static int
collect(struct rgi_scripted *scripted, struct rgm_turn *turn)
{
    struct rgm_link decided;
    struct rgm_link *link;
    int failure;

    (void)rgi_bell_take(scripted->news); /* before the look */
    rgi_list_init(&decided);
    lock(scripted);
    rgi_list_splice_back(&decided, &scripted->decided);
    failure = scripted->failure;
    unlock(scripted);
    while ((link = rgi_list_pop_front(&decided)) != NULL)
        finish(scripted, rgi_container_of(link, struct rgm_operation, link),
               turn);
    return failure;
}

bool
rgi_scripted_has_news(struct rgi_scripted *scripted)
{
    bool has;

    lock(scripted);
    has = !rgi_list_empty(&scripted->decided) || scripted->interrupted ||
          scripted->failure != 0 ||
          scripted->deadline_ns <= rgm_script_now(scripted->script);
    unlock(scripted);
    return has;
}

static bool
may_return(void *argument)
{
    struct rgi_scripted *scripted = argument;

    return rgi_bell_is_rung(scripted->bell) || rgi_scripted_has_news(scripted);
}

/* How long to sleep at most, where nobody moves the time: NULL is for ever. */
static const struct timespec *
pause_of(struct rgi_scripted *scripted, struct timespec *ret_pause)
{
    uint64_t now_ns = rgm_script_now(scripted->script);
    uint64_t left_ns = scripted->deadline_ns > now_ns
                           ? scripted->deadline_ns - now_ns
                           : 0;

    if (!scripted->script->follows_clock || scripted->deadline_ns == RGM_NEVER)
        return NULL;
    ret_pause->tv_sec = (time_t)(left_ns / RGM_NS_PER_S);
    ret_pause->tv_nsec = (long)(left_ns % RGM_NS_PER_S);
    return ret_pause;
}

/* Until something is to be heard. */
static void
sleep_until_news(struct rgi_scripted *scripted, struct rgm_turn *turn)
{
    struct pollfd bells[2] = {{scripted->bell, POLLIN, 0},
                              {scripted->news, POLLIN, 0}};
    struct timespec pause;

    if (rgi_baton != NULL)
        rgi_baton->await(rgi_baton, "wait", may_return, scripted);
    while (!may_return(scripted)) {
        (void)rgi_bell_take(scripted->news);
        if (!rgi_scripted_has_news(scripted))
            (void)ppoll(bells, 2, pause_of(scripted, &pause), NULL);
    }
    turn->rang |= rgi_bell_take(scripted->bell);
}

static void
wait_begin(struct rgi_scripted *scripted, uint64_t deadline_ns)
{
    lock(scripted);
    scripted->deadline_ns = deadline_ns;
    unlock(scripted);
}

static void
wait_end(struct rgi_scripted *scripted)
{
    lock(scripted);
    scripted->deadline_ns = RGM_NEVER;
    scripted->interrupted = false;
    unlock(scripted);
}

static int
scripted_wait(struct rgm_provider *provider, uint64_t deadline_ns,
              struct rgm_turn *turn)
{
    struct rgi_scripted *scripted = scripted_of(provider);
    int failure;

    if (deadline_ns == 0 && rgi_baton != NULL)
        rgi_baton->relax(rgi_baton, "look");
    failure = collect(scripted, turn);
    if (failure != 0 || deadline_ns == 0 || turn->first != NULL)
        return failure;
    provider->kernel_entries++;
    wait_begin(scripted, deadline_ns);
    sleep_until_news(scripted, turn);
    wait_end(scripted);
    return collect(scripted, turn);
}

static void
scripted_wake(struct rgm_provider *provider)
{
    rgi_bell_ring((void *)(intptr_t)scripted_of(provider)->bell);
}

/* ---- open, close ---- */

static const struct rgm_provider_ops scripted_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = scripted_now,
    .submit = scripted_submit,
    .cancel = scripted_cancel,
    .wait = scripted_wait,
    .wake = scripted_wake,
};

static int
open_fail(int error, const char *what, char *why, size_t why_size)
{
    snprintf(why, why_size, "scripted: %s", what);
    return error;
}

/* What the script says about opening this one. */
static int
may_open(struct rgm_script *script, uint32_t worker)
{
    int error = 0;

    rgi_assert(pthread_mutex_lock(&script->lock) == 0);
    if (worker >= script->refuse_open_from)
        error = script->refuse_open_error;
    rgi_assert(pthread_mutex_unlock(&script->lock) == 0);
    return error;
}

static void
meet(struct rgi_scripted *scripted, const struct rgm_provider_options *options)
{
    scripted->head.ops = &scripted_ops;
    scripted->head.mode = "scripted";
    scripted->script = options->argument;
    scripted->worker = options->worker;
    scripted->bell = options->bell;
    scripted->deadline_ns = RGM_NEVER;
    rgi_list_init(&scripted->decided);
    lock(scripted);
    scripted->head.kinds = scripted->script->kinds;
    rgi_list_push_back(&scripted->script->providers, &scripted->link);
    unlock(scripted);
}

static int
scripted_open(const struct rgm_provider_options *options,
              struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    struct rgi_scripted *scripted;
    int status;

    if (options->argument == NULL || options->bell < 0)
        return open_fail(-EINVAL, "no script", why, why_size);
    status = may_open(options->argument, options->worker);
    if (status != 0)
        return open_fail(status, "refused by its script", why, why_size);
    scripted = rgi_alloc(sizeof(*scripted));
    if (scripted == NULL)
        return open_fail(-ENOMEM, "no memory", why, why_size);
    status = rgi_bell_open(&scripted->news);
    if (status != 0) {
        rgi_free(scripted);
        return open_fail(status, "no bell", why, why_size);
    }
    meet(scripted, options);
    *ret_provider = &scripted->head;
    return 0;
}

/* What went with a provider that has failed is nobody's any more. */
static void
forget_all(struct rgi_scripted *scripted)
{
    struct rgm_link *waiting = &scripted->script->waiting;
    struct rgm_link *link = waiting->next;

    while (rgi_list_pop_front(&scripted->decided) != NULL)
        continue;

    while (link != waiting) {
        struct rgm_operation *operation =
            rgi_container_of(link, struct rgm_operation, link);

        link = link->next;
        if (rgi_scripted_note_of(operation)->provider == scripted)
            rgi_list_remove(&operation->link);
    }
}

static void
scripted_close(struct rgm_provider *provider)
{
    struct rgi_scripted *scripted;

    if (provider == NULL)
        return;
    scripted = scripted_of(provider);
    rgi_assert(provider->in_flight == 0 || scripted->failure != 0 ||
               provider->abandoned);
    lock(scripted);
    rgi_list_remove(&scripted->link);
    forget_all(scripted);
    unlock(scripted);
    rgi_bell_close(scripted->news);
    rgi_free(scripted);
}

const struct rgm_provider_class rgm_provider_scripted = {
    .name = "scripted",
    .open = scripted_open,
    .close = scripted_close,
    .kinds = SCRIPTED_KINDS,
};
