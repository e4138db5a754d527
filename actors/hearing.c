/* SPDX-License-Identifier: MIT */

/*
 * hearing.c - which signals have come to the process?
 *
 * 1. The first who wants a signal puts its disposition aside and installs the
 *    one handler there is; the last who wanted it puts it back.
 * 2. The handler counts the signal and rings every ear that wants it, if that is
 *    not rung already. It allocates and locks nothing; sem_post(3) is all it
 *    calls.
 * 3. Whoever listens clears "rung" first and reads the totals then, so a signal
 *    that finds it set is seen by him.
 * 4. He lets the wanted signals in while he listens, and at no other time: the
 *    program may block them everywhere else. Nothing is let in that has no
 *    handler: it would do what it does by default. So who puts a disposition
 *    back waits until the signal is kept out again, which is a matter of one
 *    system call, since he rings.
 *
 * Totals only grow, and each subscription knows up to which it was told; so they
 * are independent of each other, and nothing has to be cleared.
 *
 * A forked child has its own copies of all of this, the bells included: what it
 * catches before it executes another program stays with it.
 */

#include "actors/signals.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/ck.h"

#define YIELDS_MAX 100

static struct rgi_ear ears[RGM_SIGNAL_RUNTIMES_MAX];
static uint32_t ears_used; /* signal-wanted: one above the highest ever taken */
static uint32_t totals[RGI_SIGNALS_MAX + 1]; /* signal-total */
static uint32_t interest[RGI_SIGNALS_MAX + 1]; /* of all ears */
static struct sigaction before[RGI_SIGNALS_MAX + 1];

static inline uint64_t
bit_of(int number)
{
    return UINT64_C(1) << (number - 1);
}

/* ---- the handler ---- */

void
rgi_ear_ring(struct rgi_ear *ear)
{
    /* signal-rung: publishes what the one who rings has done to the listener,
     * who clears it before he looks. */
    ck_pr_fence_release();
    if (ck_pr_fas_32(&ear->rung, 1) == 0)
        (void)sem_post(&ear->bell);
}

static void
heard(int number)
{
    uint32_t used = ck_pr_load_32(&ears_used);
    int saved = errno;

    /* signal-total: goes with signal-rung. */
    ck_pr_inc_32(&totals[number]);
    for (uint32_t i = 0; i < used; i++)
        /* signal-wanted: a bell is made before anything is wanted. */
        if (ck_pr_load_64(&ears[i].wanted) & bit_of(number))
            rgi_ear_ring(&ears[i]);
    errno = saved;
}

/* ---- dispositions ---- */

/* What says that the program is broken would come again at once, for ever. Of those
 * that are its own the C library says nothing. */
bool
rgi_may_be_heard(int number)
{
    static const int never[] = {SIGSEGV, SIGBUS, SIGFPE,  SIGILL, SIGTRAP,
                                SIGSYS,  SIGABRT, SIGKILL, SIGSTOP};
    struct sigaction now;

    if (number < 1 || number > RGI_SIGNALS_MAX ||
        sigaction(number, NULL, &now) != 0)
        return false;
    for (size_t i = 0; i < sizeof(never) / sizeof(never[0]); i++)
        if (number == never[i])
            return false;
    return true;
}

static int
handler_install(int number)
{
    struct sigaction action;

    memset(&action, 0, sizeof(action));
    action.sa_handler = heard;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    return sigaction(number, &action, &before[number]) == 0 ? 0 : -EINVAL;
}

/* Whoever has put another handler in place of ours keeps it. */
static void
handler_remove(int number)
{
    struct sigaction now;

    if (sigaction(number, NULL, &now) == 0 && now.sa_handler == heard)
        (void)sigaction(number, &before[number], NULL);
}

/* ---- ears ---- */

struct rgi_ear *
rgi_ear_take(void)
{
    uint32_t i = 0;

    while (i < RGM_SIGNAL_RUNTIMES_MAX && ears[i].taken)
        i++;
    if (i == RGM_SIGNAL_RUNTIMES_MAX)
        return NULL;
    if (!ears[i].made && sem_init(&ears[i].bell, 0, 0) != 0)
        return NULL;
    ears[i].made = true;
    ears[i].taken = true;
    if (i >= ears_used)
        ck_pr_store_32(&ears_used, i + 1);
    return &ears[i];
}

void
rgi_ear_give(struct rgi_ear *ear)
{
    rgi_assert(ear->taken && ck_pr_load_64(&ear->wanted) == 0);
    ear->taken = false;
}

/* The handler first: as soon as the signal is wanted, it may be let in. What the
 * handler counts before that rings nobody, so whoever wants it looks at the total
 * afterwards. */
int
rgi_ear_want(struct rgi_ear *ear, int number)
{
    if (interest[number] == 0 && handler_install(number) != 0)
        return -EINVAL;
    interest[number]++;
    if (ear->interest[number]++ == 0) {
        /* signal-wanted: publishes the bell, and the handler. */
        ck_pr_fence_release();
        ck_pr_or_64(&ear->wanted, bit_of(number));
    }
    return 0;
}

/* The listener needs a turn. To yield gives none to one of lower priority. */
static void
wait_a_little(unsigned round)
{
    static const struct timespec pause = {0, 50000};

    if (round < YIELDS_MAX)
        (void)sched_yield();
    else
        (void)nanosleep(&pause, NULL);
}

/* In a forked child nobody listens, whatever was let in when it was forked. */
static void
keep_out(struct rgi_ear *ear, int number)
{
    unsigned round = 0;

    /* signal-open: either this sees that it is let in, or the listener sees that
     * it is not wanted. */
    ck_pr_and_64(&ear->wanted, ~bit_of(number));
    ck_pr_fence_memory();
    if (!(ck_pr_load_64(&ear->open) & bit_of(number)))
        return;
    rgi_ear_ring(ear);
    while (ck_pr_load_64(&ear->open) & bit_of(number) &&
           ck_pr_load_32(&ear->listener) == (uint32_t)getpid())
        wait_a_little(round++);
}

void
rgi_ear_forget(struct rgi_ear *ear, int number)
{
    if (--ear->interest[number] == 0)
        keep_out(ear, number);
    if (--interest[number] == 0)
        handler_remove(number);
}

static void
let_in(uint64_t wanted)
{
    sigset_t closed;

    sigfillset(&closed);
    for (int number = 1; number <= RGI_SIGNALS_MAX; number++)
        if (wanted & bit_of(number))
            (void)sigdelset(&closed, number);
    pthread_sigmask(SIG_SETMASK, &closed, NULL);
}

void
rgi_ear_await(struct rgi_ear *ear)
{
    uint64_t wanted;

    ck_pr_store_32(&ear->listener, (uint32_t)getpid());
    do {
        wanted = ck_pr_load_64(&ear->wanted);
        /* signal-open: as in keep_out. */
        ck_pr_store_64(&ear->open, wanted);
        ck_pr_fence_memory();
    } while (ck_pr_load_64(&ear->wanted) != wanted);
    let_in(wanted);
    while (sem_wait(&ear->bell) != 0)
        rgi_assert(errno == EINTR);
    let_in(0);
    ck_pr_store_64(&ear->open, 0);
    /* signal-rung: observes what those have done who found it set. */
    (void)ck_pr_fas_32(&ear->rung, 0);
    ck_pr_fence_acquire();
}

uint32_t
rgi_signal_total(int number)
{
    return ck_pr_load_32(&totals[number]);
}
