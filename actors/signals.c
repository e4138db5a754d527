/* SPDX-License-Identifier: MIT */

/*
 * signals.c - the subscriptions of a runtime, and the thread that tells them.
 *
 * 1. Subscribing lists the subscription under the lock, makes the thread if
 *    there is none, and lets the ear want the signal.
 * 2. The thread is woken, takes the first subscription whose total has moved on,
 *    puts it last, lets go of the lock, and calls its function. So none is told
 *    twice before another that is due.
 * 3. A scope is cancelled under the lock instead: whoever drops the guard knows
 *    then that nobody looks at it any more.
 * 4. For an actor a node goes to worker 0, which alone lives as long as the
 *    runtime, and which sends the message, again when it is home if there is more
 *    to tell.
 * 5. Worker 0 closes it when the runtime stops; the thread is one of those that
 *    the end waits for.
 *
 * A subscription is kept by its guard, by the list, by a call in progress, and by
 * what is with worker 0. The last one destroys it, outside the lock; its target
 * goes before that when the runtime ends.
 */

#include "actors/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include <ringmail/end.h>
#include <ringmail/scope.h>

#include "actors/runtime.h"
#include "base/baton.h"
#include "base/memory.h"

enum target { CALL, TELL, CANCEL, STOP };

struct subscription {
    struct rgm_link link; /* in the runtime's list, while it is in effect */
    struct rgm_runtime *runtime; /* NULL: ended */
    uint32_t references;
    uint32_t seen; /* the total that was told */
    int32_t number;
    enum target target;
    /* CALL */
    rgm_signal_function *function;
    void *argument;
    void (*destroy)(void *argument);
    /* CANCEL */
    struct rgm_scope *scope;
    /* TELL */
    struct rgm_address to;
    uint32_t owed; /* signals that no message has told */
    bool node_out;
    bool notice_out;
    struct rgm_message node; /* to worker 0 */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The runtime whose function runs on this thread, or whose target is destroyed
 * here. */
static __thread struct rgm_runtime *calling;
static __thread const struct rgm_runtime *signal_thread_of;

const struct rgm_runtime *
rgi_signal_thread_of(void)
{
    return calling != NULL ? calling : signal_thread_of;
}

static inline struct subscription *
linked(struct rgm_link *link)
{
    return rgi_container_of(link, struct subscription, link);
}

/* ---- letting go ---- */

/* By the one that has taken `destroy` out of it, outside the lock. */
static void
target_destroy(void (*destroy)(void *argument), void *argument,
               struct rgm_runtime *runtime)
{
    struct rgm_runtime *outer = calling;

    calling = runtime;
    if (destroy != NULL)
        destroy(argument);
    calling = outer;
}

/* Under the lock, which is let go of. The runtime, or NULL, is not freed before
 * a target of its has been destroyed. */
static void
let_go_unlock(struct subscription *subscription, struct rgm_runtime *runtime)
{
    bool last = --subscription->references == 0;

    /* runtime-outside: as in rgm_runtime_stop. */
    if (last && runtime != NULL)
        ck_pr_inc_32(&runtime->outside);
    pthread_mutex_unlock(&lock);
    if (!last)
        return;
    target_destroy(subscription->destroy, subscription->argument, runtime);
    rgi_free(subscription);
    if (runtime != NULL) {
        ck_pr_fence_release();
        ck_pr_dec_32(&runtime->outside);
    }
}

/* Under the lock: it is told nothing more, and the list lets go of it; somebody
 * else has it. */
static void
end_subscription(struct subscription *subscription)
{
    if (subscription->runtime == NULL)
        return;
    rgi_list_remove(&subscription->link);
    rgi_ear_forget(subscription->runtime->signals.ear, subscription->number);
    subscription->runtime = NULL;
    subscription->owed = 0;
    subscription->references--;
    rgi_assert(subscription->references > 0);
}

void
rgm_signal_drop(struct rgm_signal_guard *guard)
{
    struct subscription *subscription = guard->subscription;
    struct rgm_runtime *runtime;

    if (subscription == NULL)
        return;
    guard->subscription = NULL;
    pthread_mutex_lock(&lock);
    runtime = subscription->runtime;
    end_subscription(subscription);
    let_go_unlock(subscription, runtime);
}

void
rgm_signal_fault(struct rgm_parcel *fault)
{
    if (calling != NULL)
        rgi_fault_keep(calling, fault);
    else
        rgm_parcel_drop(fault);
}

/* ---- telling: the runtime's thread ---- */

static bool
is_over(struct rgm_runtime *runtime)
{
    return runtime->signals.closing ||
           ck_pr_load_32(&runtime->stop_requested) != 0;
}

/* Under the lock: the first that has something to be told. */
static struct subscription *
next_due(struct rgi_signals *signals, uint32_t *ret_count)
{
    for (struct rgm_link *link = signals->listed.next;
         link != &signals->listed; link = link->next) {
        struct subscription *subscription = linked(link);
        uint32_t total = rgi_signal_total(subscription->number);

        if (total == subscription->seen)
            continue;
        *ret_count = total - subscription->seen;
        subscription->seen = total;
        rgi_list_remove(link);
        rgi_list_push_back(&signals->listed, link);
        return subscription;
    }
    return NULL;
}

/* Under the lock: there is something for worker 0. */
static void
node_push(struct rgm_runtime *runtime, struct subscription *subscription)
{
    if (subscription->node_out)
        return;
    subscription->node_out = true;
    subscription->references++;
    if (rgi_push_outside(runtime, &runtime->places[0].inbox,
                         &subscription->node) >= 0)
        return;
    subscription->node_out = false; /* it has closed */
    subscription->references--;
}

static void
call(struct rgm_runtime *runtime, struct subscription *subscription,
     uint32_t count)
{
    subscription->references++;
    pthread_mutex_unlock(&lock);
    /* signal-busy: tells readers of blockers since when. */
    ck_pr_store_64(&runtime->signals.busy_ns, rgi_clock_now());
    calling = runtime;
    subscription->function(subscription->argument, subscription->number,
                           count);
    calling = NULL;
    pthread_mutex_lock(&lock);
    let_go_unlock(subscription, runtime);
    ck_pr_store_64(&runtime->signals.busy_ns, 0);
    pthread_mutex_lock(&lock);
}

/* Under the lock. */
static void
tell(struct rgm_runtime *runtime, struct subscription *subscription,
     uint32_t count)
{
    switch (subscription->target) {
    case CALL:
        call(runtime, subscription, count);
        break;
    case TELL:
        subscription->owed += count;
        node_push(runtime, subscription);
        break;
    case CANCEL:
        (void)rgm_scope_cancel(subscription->scope);
        break;
    case STOP:
        rgm_runtime_stop(runtime);
        break;
    default:
        rgi_unreachable();
    }
}

/* Returns: whether there is more to come. */
static bool
tell_all(struct rgm_runtime *runtime)
{
    struct subscription *subscription;
    uint32_t count;
    bool over;

    pthread_mutex_lock(&lock);
    while (!(over = is_over(runtime)) &&
           (subscription = next_due(&runtime->signals, &count)) != NULL)
        tell(runtime, subscription, count);
    pthread_mutex_unlock(&lock);
    return !over;
}

static void *
thread_run(void *argument)
{
    struct rgm_runtime *runtime = argument;

    signal_thread_of = runtime;
    do
        rgi_ear_await(runtime->signals.ear);
    while (tell_all(runtime));
    rgi_report_ended(runtime);
    return NULL;
}

/* ---- worker 0 ---- */

/* Under the lock. */
static void
notice_send(struct rgm_worker *worker, struct subscription *subscription)
{
    struct rgm_signal *notice;

    if (worker->draining || subscription->notice_out ||
        subscription->owed == 0)
        return;
    notice = rgm_take(&worker->janitor, &rgm_signal_type, 0);
    if (notice == NULL)
        return; /* told with the next one */
    notice->number = subscription->number;
    notice->count = subscription->owed;
    notice->subscription = subscription;
    if (rgi_send_uncharged(&worker->janitor, subscription->to,
                           &notice->message) == 0) {
        subscription->owed = 0;
        subscription->notice_out = true;
        subscription->references++;
    } else {
        rgm_give(&worker->janitor, &rgm_signal_type, notice);
        end_subscription(subscription); /* there is nobody */
    }
}

void
rgi_signal_arrived(struct rgm_worker *worker, struct rgm_message *message)
{
    struct subscription *subscription =
        rgi_container_of(message, struct subscription, node);

    pthread_mutex_lock(&lock);
    subscription->node_out = false;
    notice_send(worker, subscription);
    let_go_unlock(subscription, worker->runtime);
}

static void
notice_home(void *record, int status)
{
    struct subscription *subscription =
        ((struct rgm_signal *)record)->subscription;

    pthread_mutex_lock(&lock);
    subscription->notice_out = false;
    if (status != -ESRCH && status != -EPIPE)
        notice_send(rgi_current, subscription);
    else
        end_subscription(subscription);
    let_go_unlock(subscription, rgi_current->runtime);
}

const struct rgm_message_type rgm_signal_type = {
    "rgm_signal", sizeof(struct rgm_signal), 0, RGM_KIND_MESSAGE, 0,
    notice_home};

static const struct rgm_message_type node_type = {
    "signal", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

/* ---- subscribing ---- */

/* Under the lock: an ear and a thread, if there are none. */
static int
signals_open(struct rgm_runtime *runtime)
{
    struct rgi_signals *signals = &runtime->signals;
    sigset_t all, mask;
    int error;

    if (signals->ear != NULL)
        return 0;
    signals->ear = rgi_ear_take();
    if (signals->ear == NULL)
        return -EAGAIN;
    /* runtime-running: the end waits for this one, too. */
    ck_pr_inc_32(&runtime->running);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    error = rgi_job_thread_create(&signals->thread, NULL, thread_run, runtime);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (error != 0) {
        ck_pr_dec_32(&runtime->running);
        rgi_ear_give(signals->ear);
        signals->ear = NULL;
    }
    return -error;
}

/* Under the lock. */
static int
subscribe(struct subscription *subscription)
{
    struct rgm_runtime *runtime = subscription->runtime;
    int status = -EPIPE;

    if (!is_over(runtime) &&
        ck_pr_load_32(&runtime->state) != RGI_RUNTIME_ENDED)
        status = signals_open(runtime);
    if (status != 0)
        return status;
    subscription->seen = rgi_signal_total(subscription->number);
    status = rgi_ear_want(runtime->signals.ear, subscription->number);
    if (status != 0)
        return status;
    rgi_list_push_back(&runtime->signals.listed, &subscription->link);
    rgi_ear_ring(runtime->signals.ear); /* its thread is to let it in */
    return 0;
}

static int
subscription_add(const struct subscription *draft,
                 struct rgm_signal_guard *ret_guard)
{
    struct subscription *subscription;
    int status;

    if (!rgi_may_be_heard(draft->number))
        return -EINVAL; /* before anything is opened for it */
    if (rgi_baton != NULL)
        return -ENOTSUP;
    subscription = rgi_alloc(sizeof(*subscription));
    if (subscription == NULL)
        return -ENOMEM;
    *subscription = *draft;
    subscription->references = 2; /* the guard and the list */
    subscription->node.type = &node_type;
    subscription->node.control = RGI_CONTROL_SIGNAL;
    subscription->node.flags = RGI_MESSAGE_URGENT;
    subscription->node.lane = RGI_LANE_NONE;
    pthread_mutex_lock(&lock);
    status = subscribe(subscription);
    pthread_mutex_unlock(&lock);
    if (status != 0)
        rgi_free(subscription);
    else
        ret_guard->subscription = subscription;
    return status;
}

int
rgm_signal_call(struct rgm_runtime *runtime, int number,
                rgm_signal_function *function, void *argument,
                void (*destroy_argument)(void *argument),
                struct rgm_signal_guard *ret_guard)
{
    struct subscription draft = {.runtime = runtime,
                                 .number = number,
                                 .target = CALL,
                                 .function = function,
                                 .argument = argument,
                                 .destroy = destroy_argument};

    return function == NULL ? -EINVAL : subscription_add(&draft, ret_guard);
}

int
rgm_signal_tell(struct rgm_runtime *runtime, int number,
                struct rgm_address to, struct rgm_signal_guard *ret_guard)
{
    struct subscription draft = {
        .runtime = runtime, .number = number, .target = TELL, .to = to};

    if (ck_pr_load_32(&runtime->state) == RGI_RUNTIME_NEW)
        return -ESRCH; /* nor is anybody who would take our node */
    return subscription_add(&draft, ret_guard);
}

int
rgm_signal_cancel(struct rgm_runtime *runtime, int number,
                  struct rgm_scope *scope, struct rgm_signal_guard *ret_guard)
{
    struct subscription draft = {.runtime = runtime,
                                 .number = number,
                                 .target = CANCEL,
                                 .scope = scope};

    return scope->runtime != runtime ? -EINVAL
                                     : subscription_add(&draft, ret_guard);
}

int
rgm_signal_stop(struct rgm_runtime *runtime, int number,
                struct rgm_signal_guard *ret_guard)
{
    struct subscription draft = {
        .runtime = runtime, .number = number, .target = STOP};

    return subscription_add(&draft, ret_guard);
}

/* ---- the end ---- */

void
rgi_signals_init(struct rgi_signals *signals)
{
    rgi_list_init(&signals->listed);
}

void
rgi_signals_stop(struct rgm_runtime *runtime)
{
    pthread_mutex_lock(&lock);
    runtime->signals.closing = true;
    if (runtime->signals.ear != NULL)
        rgi_ear_ring(runtime->signals.ear);
    pthread_mutex_unlock(&lock);
}

void
rgi_signals_end(struct rgm_runtime *runtime)
{
    struct rgi_signals *signals = &runtime->signals;

    rgi_signals_stop(runtime);
    if (signals->ear == NULL)
        return;
    pthread_join(signals->thread, NULL);
    pthread_mutex_lock(&lock);
    while (!rgi_list_empty(&signals->listed)) {
        struct subscription *subscription = linked(signals->listed.next);

        void (*destroy)(void *argument) = subscription->destroy;

        /* Whoever has a guard keeps the subscription, but not its target. */
        subscription->destroy = NULL;
        subscription->references++;
        end_subscription(subscription);
        pthread_mutex_unlock(&lock);
        target_destroy(destroy, subscription->argument, runtime);
        pthread_mutex_lock(&lock);
        let_go_unlock(subscription, NULL);
        pthread_mutex_lock(&lock);
    }
    rgi_ear_give(signals->ear);
    signals->ear = NULL;
    pthread_mutex_unlock(&lock);
}
