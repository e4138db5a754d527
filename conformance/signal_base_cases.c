/* SPDX-License-Identifier: MIT */

/* signal_base_cases.c - who may be told of a signal, and what is left of it? */

#include "conformance/signal_base_cases.h"

#include <unistd.h>

#include "conformance/signal_told.h"

static void
not_ours(int number)
{
    (void)number;
}

APART(sig_01_subscribing_may_fail_and_returns_a_guard)
{
    static const int bad[] = {0,       -1,      65,      INT32_MAX, SIGKILL,
                              SIGSTOP, SIGSEGV, SIGBUS,  SIGFPE,    SIGILL,
                              SIGTRAP, SIGSYS,  SIGABRT, 32,        33};
    struct sigaction before[SIGNAL_NUMBERS + 1], now;
    struct rgm_signal_guard guard = {&guard};
    struct told told;

    (void)signal(SIGUSR1, not_ours);
    stage_open(stage);
    apart_dispositions(before);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        rgi_check(rgm_signal_call(stage->runtime, bad[i], told_call, &told,
                                  told_destroyed, &guard) == -EINVAL);
    rgi_check(rgm_signal_call(stage->runtime, SIGUSR1, NULL, NULL, NULL,
                              &guard) == -EINVAL);
    rgi_check(guard.subscription == &guard && apart_same_dispositions(before));
    told_subscribe(stage, &told, SIGUSR1);
    rgi_check(sigaction(SIGUSR1, NULL, &now) == 0);
    rgi_check(now.sa_handler != not_ours);
    rgm_signal_drop(&told.guard);
    rgi_check(told.guard.subscription == NULL);
    rgi_check(apart_same_dispositions(before)); /* put back */
    rgm_signal_drop(&told.guard);               /* does nothing */
    stage_stop(stage);
    rgi_check(rgm_signal_stop(stage->runtime, SIGUSR1, &guard) == -EPIPE);
    stage_wait(stage);
}

/* Whoever has changed a disposition meanwhile keeps his. */
APART(sig_01_nothing_is_installed_before_somebody_subscribes)
{
    struct sigaction before[SIGNAL_NUMBERS + 1], now;
    struct told first, second;

    apart_dispositions(before);
    stage_open(stage);
    rgi_check(apart_same_dispositions(before));
    told_subscribe(stage, &first, SIGUSR1);
    told_subscribe(stage, &second, SIGUSR1);
    rgm_signal_drop(&first.guard);
    rgi_check(!apart_same_dispositions(before)); /* one is left */
    (void)signal(SIGUSR1, not_ours);
    rgm_signal_drop(&second.guard);
    rgi_check(sigaction(SIGUSR1, NULL, &now) == 0);
    rgi_check(now.sa_handler == not_ours);
    (void)signal(SIGUSR1, SIG_DFL);
    told_subscribe(stage, &first, SIGUSR1);
    stage_close(stage); /* with a guard that was not dropped */
    rgi_check(apart_same_dispositions(before));
    rgi_check(first.destroyed == 1);
    rgm_signal_drop(&first.guard);
}

/* The parent's side of it is in `apart`. */
APART(sig_07_cases_leave_their_parent_alone)
{
    struct told told;

    stage_open(stage);
    for (int i = 1; i <= SIGNAL_NUMBERS; i++)
        if (rgm_signal_call(stage->runtime, i, told_call, &told, NULL,
                            &told.guard) != 0)
            rgi_check(i == SIGKILL || i == SIGSTOP || i == SIGSEGV ||
                      i == SIGBUS || i == SIGFPE || i == SIGILL ||
                      i == SIGTRAP || i == SIGSYS || i == SIGABRT || i == 32 ||
                      i == 33);
    _exit(0); /* with all of them in place */
}
