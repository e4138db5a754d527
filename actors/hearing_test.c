/* SPDX-License-Identifier: MIT */

/*
 * hearing_test.c - is an ear rung by what is wanted, and by nothing else?
 *
 * Nobody listens here, so a bell that was rung stays rung: what the thread of a
 * runtime could hide, because it looks at all totals whoever has rung, shows.
 */

#include <signal.h>
#include <stdbool.h>

#include "actors/signals.h"
#include "base/cases.h"

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

#define CASES(X) X(hearing, an_ear_hears_until_all_have_forgotten)

RGI_CASES(CASES)
