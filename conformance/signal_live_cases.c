/* SPDX-License-Identifier: MIT */

/* signal_live_cases.c - which functions are told of a signal, on what thread, and until when? */

#include "conformance/signal_live_cases.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/signal_told.h"

APART(sig_02_who_has_subscribed_is_told)
{
    struct told told;

    (void)signal(SIGUSR1, SIG_IGN);
    stage_open(stage);
    told_subscribe(stage, &told, SIGUSR1);
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&told, told.calls == 1);
    rgi_check(told.number == SIGUSR1 && told.signals == 1);
    rgm_signal_drop(&told.guard);
    rgi_check(told.guard.subscription == NULL);
    stage_close(stage);
}

struct busy {
    struct told told;
    pthread_mutex_t held; /* by the one who raises the signal */
    bool done;
};

static void
be_busy(void *argument, int32_t number, uint32_t count)
{
    struct busy *busy = argument;
    struct rgm_runtime *runtime = busy->told.runtime;
    struct rgm_signal_guard other;
    struct rgm_sleep sleep;
    void *memory = malloc(4096);

    rgi_check(memory != NULL);
    free(memory);
    pthread_mutex_lock(&busy->held);
    pthread_mutex_unlock(&busy->held);
    rgi_check(rgm_signal_stop(runtime, SIGUSR2, &other) == 0);
    rgm_signal_drop(&other);
    rgm_sleep_for(&sleep, rgm_worker_address(0), 1);
    rgi_check(rgm_call(runtime, &sleep) == 0);
    rgi_check(rgm_runtime_wait(runtime) == -EDEADLK);
    told_call(&busy->told, number, count);
}

APART(sig_02_callbacks_run_in_ordinary_code)
{
    struct busy busy;

    stage_open(stage);
    told_init(&busy.told);
    busy.told.runtime = stage->runtime;
    rgi_check(pthread_mutex_init(&busy.held, NULL) == 0);
    rgi_check(rgm_signal_call(stage->runtime, SIGUSR1, be_busy, &busy, NULL,
                              &busy.told.guard) == 0);
    pthread_mutex_lock(&busy.held);
    rgi_check(raise(SIGUSR1) == 0); /* in a handler it would hang here */
    pthread_mutex_unlock(&busy.held);
    TOLD_AWAIT(&busy.told, busy.told.calls == 1);
    rgi_check(!pthread_equal(busy.told.thread, pthread_self()));
    rgm_signal_drop(&busy.told.guard);
    stage_close(stage);
}

static void
drop_and_tell(void *argument, int32_t number, uint32_t count)
{
    struct told *told = argument;

    rgm_signal_drop(&told->guard);
    told_call(told, number, count); /* checks that it is not destroyed yet */
}

APART(sig_03_drop_from_inside_the_callback)
{
    struct told told;

    (void)signal(SIGUSR1, SIG_IGN);
    stage_open(stage);
    told_init(&told);
    rgi_check(rgm_signal_call(stage->runtime, SIGUSR1, drop_and_tell, &told,
                              told_destroyed, &told.guard) == 0);
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&told, told.destroyed == 1);
    rgi_check(raise(SIGUSR1) == 0);
    told_settle(stage);
    rgi_check(told.calls == 1);
    stage_close(stage);
}

APART(sig_03_drop_does_not_wait_for_a_callback)
{
    struct told told, other;

    (void)signal(SIGUSR1, SIG_IGN);
    stage_open(stage);
    told_subscribe(stage, &told, SIGUSR1);
    told_subscribe(stage, &other, SIGUSR1);
    told_gate_shut(&told);
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&told, told.inside);
    rgi_check(raise(SIGUSR1) == 0);
    rgm_signal_drop(&told.guard); /* returns, with the callback at its gate */
    TOLD_AWAIT(&told, told.destroyed == 0);
    told_gate_open(&told);
    TOLD_AWAIT(&told, told.destroyed == 1);
    TOLD_AWAIT(&other, other.signals == 2);
    rgi_check(told.calls == 1);
    rgm_signal_drop(&other.guard);
    stage_close(stage);
}

/* The end waits for it, so it would wait for itself. */
static void
await_the_end(void *argument)
{
    struct told *told = argument;

    rgi_check(rgm_runtime_wait(told->runtime) == -EDEADLK);
    rgi_check(rgm_runtime_stop_and_wait(told->runtime, NULL, NULL) == -EDEADLK);
    told_destroyed(told);
}

APART(sig_03_what_is_destroyed_awaits_no_end)
{
    struct told told;

    stage_open(stage);
    told_init(&told);
    told.runtime = stage->runtime;
    rgi_check(rgm_signal_call(stage->runtime, SIGUSR1, told_call, &told,
                              await_the_end, &told.guard) == 0);
    stage_close(stage);
    rgi_check(told.destroyed == 1);
    rgm_signal_drop(&told.guard);
}

static void
parcel_gone(struct rgm_parcel *parcel)
{
    parcel->owner = parcel; /* seen */
}

APART(sig_05_a_fault_silences_nobody_else)
{
    struct rgm_parcel faults[2], *kept;
    struct told bad, good;
    uint32_t count = 0;

    (void)signal(SIGUSR1, SIG_IGN);
    stage_open(stage);
    for (int i = 0; i < 2; i++)
        rgm_parcel_init(&faults[i], parcel_gone);
    told_subscribe(stage, &bad, SIGUSR1);
    told_subscribe(stage, &good, SIGUSR1);
    bad.faults[0] = &faults[0];
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&good, good.calls == 1); /* the later of the two */
    told_settle(stage);
    bad.faults[0] = NULL;
    bad.faults[1] = &faults[1];
    rgm_signal_drop(&bad.guard);
    rgi_check(bad.destroyed == 1 && bad.calls == 1);
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&good, good.calls == 2);
    for (kept = rgm_runtime_faults(stage->runtime); kept != NULL; count++) {
        struct rgm_parcel *next = kept->next;

        rgi_check(kept == &faults[1 - count]); /* the newest first */
        rgm_parcel_drop(kept);
        kept = next;
    }
    rgi_check(count == 2);
    stage_close(stage);
    rgm_signal_drop(&good.guard);
}

APART(sig_05_runtimes_are_told_for_themselves)
{
    struct stage other = {.class = stage->class};
    struct told here, there;

    stage_init(&other);
    stage_open(stage);
    stage_open(&other);
    told_subscribe(stage, &here, SIGUSR1);
    told_subscribe(&other, &there, SIGUSR1);
    told_gate_shut(&here); /* holds up nobody but its own */
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&there, there.calls == 1);
    TOLD_AWAIT(&here, here.inside);
    stage_close(&other);
    rgi_check(there.destroyed == 1);
    told_gate_open(&here);
    rgi_check(raise(SIGUSR1) == 0); /* the handler is still there for one */
    TOLD_AWAIT(&here, here.signals == 2);
    rgi_check(there.calls == 1);
    rgm_signal_drop(&there.guard);
    stage_close(stage);
    rgm_signal_drop(&here.guard);
    stage_deinit(&other);
}

APART(sig_06_the_end_waits_for_a_callback)
{
    const struct rgm_stop_options options = {
        .timeout_ns = 1, .linger_ns = 1, .grace_ns = 20 * RGM_NS_PER_MS};
    struct rgm_stop_report report;
    struct told told;
    char text[96];

    stage_open(stage);
    told_subscribe(stage, &told, SIGUSR1);
    told_gate_shut(&told);
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&told, told.inside);
    rgi_check(rgm_runtime_stop_and_wait(stage->runtime, &options, &report) ==
              -EBUSY);
    rgi_check(report.left_count >= 1);
    rgi_check(report.left[report.left_count - 1].kind == RGM_BLOCKER_SIGNAL);
    rgm_blocker_describe(&report.left[report.left_count - 1], text,
                         sizeof(text));
    rgi_check(strstr(text, "runtime: 1 function called for a signal") == text);
    rgi_check(rgm_runtime_destroy(stage->runtime) == -EBUSY);
    told_gate_open(&told);
    stage_wait(stage);
    rgi_check(told.destroyed == 1);
    rgm_signal_drop(&told.guard);
}

APART(signals_blocked_everywhere_else_are_told)
{
    struct told told;
    sigset_t all;

    sigfillset(&all);
    rgi_check(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    stage_open(stage);
    told_subscribe(stage, &told, SIGHUP);
    rgi_check(kill(getpid(), SIGHUP) == 0);
    TOLD_AWAIT(&told, told.calls == 1);
    stage_close(stage);
    rgm_signal_drop(&told.guard);
}

APART(signals_of_a_forked_child_stay_with_it)
{
    struct told told;
    int status = 0;
    pid_t child;

    stage_open(stage);
    told_subscribe(stage, &told, SIGUSR1);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0) {
        (void)kill(getpid(), SIGUSR1);
        _exit(7);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    rgi_check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    told_settle(stage);
    rgi_check(told.calls == 0);
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&told, told.calls == 1);
    rgi_check(told.signals == 1);
    stage_close(stage);
    rgm_signal_drop(&told.guard);
}

APART(signals_have_ears_for_so_many_runtimes)
{
    struct rgm_runtime *runtimes[RGM_SIGNAL_RUNTIMES_MAX + 1];
    struct rgm_signal_guard guards[RGM_SIGNAL_RUNTIMES_MAX + 1] = {0};
    const uint32_t last = RGM_SIGNAL_RUNTIMES_MAX;

    stage->options.workers = 1;
    stage->options.workers_max = 1;
    for (uint32_t i = 0; i <= last; i++) {
        rgi_check(rgm_runtime_create(&stage->options, &runtimes[i]) == 0);
        rgi_check(rgm_signal_stop(runtimes[i], SIGUSR1, &guards[i]) ==
                  (i < last ? 0 : -EAGAIN));
    }
    rgi_check(rgm_signal_tell(runtimes[0], SIGUSR1, rgm_worker_address(0),
                              &guards[last]) == -ESRCH); /* not started */
    rgi_check(rgm_runtime_destroy(runtimes[0]) == 0);    /* gives up its ear */
    rgi_check(rgm_signal_stop(runtimes[last], SIGUSR1, &guards[last]) == 0);
    rgi_check(raise(SIGUSR1) == 0);
    for (uint32_t i = 1; i <= last; i++) {
        rgi_check(rgm_runtime_start(runtimes[i]) == 0);
        rgi_check(rgm_runtime_wait(runtimes[i]) == 0);
        rgi_check(rgm_runtime_destroy(runtimes[i]) == 0);
    }
    for (uint32_t i = 0; i <= last; i++)
        rgm_signal_drop(&guards[i]);
}

/* Whoever names what cannot be caught has not subscribed: so many and one more do,
 * and there is an ear left. */
APART(sig_01_who_is_refused_takes_no_ear)
{
    struct rgm_signal_guard guard = {NULL};
    struct rgm_runtime *runtimes[RGM_SIGNAL_RUNTIMES_MAX + 1];
    const uint32_t last = RGM_SIGNAL_RUNTIMES_MAX;

    stage->options.workers = 1;
    stage->options.workers_max = 1;
    for (uint32_t i = 0; i <= last; i++) {
        rgi_check(rgm_runtime_create(&stage->options, &runtimes[i]) == 0);
        rgi_check(rgm_signal_stop(runtimes[i], SIGKILL, &guard) == -EINVAL);
        rgi_check(rgm_signal_stop(runtimes[i], 32, &guard) == -EINVAL);
    }
    rgi_check(rgm_signal_stop(runtimes[last], SIGUSR1, &guard) == 0);
    rgm_signal_drop(&guard);
    for (uint32_t i = 0; i <= last; i++)
        rgi_check(rgm_runtime_destroy(runtimes[i]) == 0);
}
