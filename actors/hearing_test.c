/* SPDX-License-Identifier: MIT */

/*
 * hearing_test.c - is an ear rung by what is wanted, and by nothing else?
 *
 * Nobody listens here, so a bell that was rung stays rung: what the thread of a
 * runtime could hide, because it looks at all totals whoever has rung, shows.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actors/signals.h"
#include "base/cases.h"
#include "base/ck.h"

static bool
was_rung(struct rgi_ear *ear)
{
    if (sem_trywait(&ear->bell) != 0)
        return false;
    ear->rung = 0;
    return true;
}

/* Two want the signal, one forgets it: the other still hears. */
static void
an_ear_hears_until_all_have_forgotten(void)
{
    struct rgi_ear *ear = rgi_ear_take();
    struct rgi_ear *other = rgi_ear_take();

    rgi_check(ear != NULL && other != NULL && ear != other);
    rgi_check(signal(SIGUSR1, SIG_IGN) != SIG_ERR);
    rgi_check(rgi_ear_want(ear, SIGUSR1) == 0);
    rgi_check(rgi_ear_want(ear, SIGUSR1) == 0);
    rgi_check(rgi_ear_want(other, SIGUSR1) == 0);
    rgi_check(raise(SIGUSR1) == 0);
    rgi_check(was_rung(ear) && was_rung(other));
    rgi_ear_forget(ear, SIGUSR1);
    rgi_check(raise(SIGUSR1) == 0);
    rgi_check(was_rung(ear) && was_rung(other));
    rgi_ear_forget(ear, SIGUSR1);
    rgi_check(raise(SIGUSR1) == 0);
    rgi_check(!was_rung(ear) && was_rung(other));
    rgi_ear_forget(other, SIGUSR1);
    rgi_check(raise(SIGUSR1) == 0); /* ignored, as before */
    rgi_check(!was_rung(ear) && !was_rung(other));
    rgi_ear_give(ear);
    rgi_ear_give(other);
}

/* ---- what is blocked everywhere else ---- */

#define ROUNDS rgi_scale(50000)

static uint8_t over;

/* Rung all the time, so that it looks all the time at what is wanted. */
static void *
listen(void *argument)
{
    struct rgi_ear *ear = argument;

    while (!ck_pr_load_8(&over)) {
        rgi_ear_ring(ear);
        rgi_ear_await(ear);
    }
    return NULL;
}

/* In a process of its own, which a signal without a handler would end: the signal
 * is pending all the time, except for when it was just heard. */
static void
hear_and_forget(void)
{
    struct rgi_ear *ear = rgi_ear_take();
    pthread_t thread;
    sigset_t all;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
    rgi_check(signal(SIGUSR1, SIG_DFL) != SIG_ERR);
    rgi_check(pthread_create(&thread, NULL, listen, ear) == 0);
    for (uint64_t round = ROUNDS; round > 0; round--) {
        uint32_t total = rgi_signal_total(SIGUSR1);

        rgi_check(kill(getpid(), SIGUSR1) == 0);
        rgi_check(rgi_ear_want(ear, SIGUSR1) == 0);
        while (rgi_signal_total(SIGUSR1) == total)
            (void)sched_yield();
        rgi_ear_forget(ear, SIGUSR1);
    }
    ck_pr_store_8(&over, 1);
    rgi_check(pthread_join(thread, NULL) == 0);
}

static void
nothing_is_let_in_that_has_no_handler(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        hear_and_forget();
        _exit(0);
    }
    rgi_check(child > 0 && waitpid(child, &status, 0) == child);
    rgi_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

#define CASES(X)                                                               \
    X(hearing, an_ear_hears_until_all_have_forgotten)                          \
    X(hearing, nothing_is_let_in_that_has_no_handler)

RGI_CASES(CASES)
