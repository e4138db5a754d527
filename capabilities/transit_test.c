/* SPDX-License-Identifier: MIT */

/* transit_test.c - is a descriptor that no worker has claimed once, by the one
 * who may, and closed if by nobody? */

#include "capabilities/transit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ringmail/detach.h>

#include "base/cases.h"

#define HERE 1
#define ELSEWHERE 2

static int
some_descriptor(void)
{
    int descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC);

    rgi_check(descriptor >= 0);
    return descriptor;
}

static bool
is_open(int descriptor)
{
    return fcntl(descriptor, F_GETFD) >= 0;
}

/* The first of the process, with no address space to be had: told, and the
 * next one with some is as if there had been none. */
static void
a_first_one_without_room_is_told(void)
{
    struct rlimit limit, none = {0, 0};
    uint64_t serial = 7;

    rgi_check(!rgi_transit_claim(0, 1) && rgi_transit_sweep(HERE) == 0);
    rgi_check(getrlimit(RLIMIT_AS, &limit) == 0);
    none.rlim_max = limit.rlim_max;
    rgi_check(setrlimit(RLIMIT_AS, &none) == 0);
    rgi_check(rgi_transit_enter(HERE, 0, &serial) == -ENOMEM && serial == 7);
    rgi_check(setrlimit(RLIMIT_AS, &limit) == 0);
    rgi_check(!rgi_transit_claim(0, 1) && rgi_transit_sweep(HERE) == 0);
    rgi_check(rgi_transit_enter(HERE, 0, &serial) == 0);
    rgi_check(rgi_transit_claim(0, serial));
}

static void
is_claimed_once(void)
{
    int descriptor = some_descriptor();
    uint64_t first, second;

    rgi_check(rgi_transit_enter(HERE, descriptor, &first) == 0 && first != 0);
    rgi_check(!rgi_transit_claim(descriptor, first + 1));
    rgi_check(!rgi_transit_claim(descriptor, 0));
    rgi_check(!rgi_transit_claim(-1, first));
    rgi_check(!rgi_transit_claim(RGI_TRANSIT_MAX, first));
    rgi_check(rgi_transit_claim(descriptor, first));
    rgi_check(!rgi_transit_claim(descriptor, first));
    rgi_check(!rgi_transit_claim(descriptor, 0)); /* as nothing is */
    rgi_check(rgi_transit_enter(HERE, descriptor, &second) == 0);
    rgi_check(second != first && !rgi_transit_claim(descriptor, first));
    rgi_check(rgi_transit_claim(descriptor, second));
    close(descriptor);
}

/* At the limit, and one below, where no descriptor is behind the number. */
static void
limit_is_named_and_kept(void)
{
    uint64_t serial = 7;

    rgi_check(rgi_transit_enter(HERE, RGI_TRANSIT_MAX, &serial) == -EMFILE);
    rgi_check(serial == 7);
    rgi_check(rgi_transit_enter(HERE, RGI_TRANSIT_MAX - 1, &serial) == 0);
    rgi_check(rgi_transit_claim(RGI_TRANSIT_MAX - 1, serial));
}

static void
sweep_closes_what_is_of_one_origin(void)
{
    int left = some_descriptor(), taken = some_descriptor();
    int others = some_descriptor();
    uint64_t serial_left, serial_taken, serial_others;

    rgi_check(rgi_transit_enter(HERE, left, &serial_left) == 0);
    rgi_check(rgi_transit_enter(HERE, taken, &serial_taken) == 0);
    rgi_check(rgi_transit_enter(ELSEWHERE, others, &serial_others) == 0);
    rgi_check(rgi_transit_claim(taken, serial_taken));
    rgi_check(rgi_transit_sweep(HERE) == 1);
    rgi_check(!is_open(left) && is_open(taken) && is_open(others));
    rgi_check(!rgi_transit_claim(left, serial_left));
    rgi_check(rgi_transit_sweep(HERE) == 0);
    rgi_check(rgi_transit_claim(others, serial_others));
    close(taken);
    close(others);
}

/* A value is emptied whatever comes of it. */
static void
closing_a_value_is_once(void)
{
    struct rgm_detached detached = {.kind = 1}, copy;
    struct rgm_detached scripted = {.serial = RGI_TRANSIT_SCRIPTED,
                                    .resource = -1};

    detached.resource = some_descriptor();
    rgi_check(rgi_transit_enter(HERE, detached.resource, &detached.serial) == 0);
    copy = detached;
    rgi_check(rgm_detached_close(&detached) == 0);
    rgi_check(!is_open(copy.resource));
    rgi_check(detached.serial == 0 && rgm_detached_close(&detached) == 0);
    rgi_check(rgm_detached_close(&copy) == -EBADF && copy.serial == 0);
    rgi_check(rgm_detached_close(&scripted) == 0 && scripted.serial == 0);
}

#define CLAIMERS 4

struct contest {
    pthread_barrier_t gate;
    int descriptor;
    uint64_t serial;
    unsigned rounds;
    unsigned won; /* atomic */
};

static void *
claimer_main(void *argument)
{
    struct contest *contest = argument;

    for (unsigned i = 0; i < contest->rounds; i++) {
        pthread_barrier_wait(&contest->gate);
        if (rgi_transit_claim(contest->descriptor, contest->serial))
            __atomic_add_fetch(&contest->won, 1, __ATOMIC_RELAXED);
        pthread_barrier_wait(&contest->gate);
    }
    return NULL;
}

static void
of_several_one_claims(void)
{
    struct contest contest = {.rounds = 20 + (unsigned)rgi_scale(20000)};
    pthread_t threads[CLAIMERS];

    contest.descriptor = some_descriptor();
    rgi_check(pthread_barrier_init(&contest.gate, NULL, CLAIMERS + 1) == 0);
    for (int i = 0; i < CLAIMERS; i++)
        rgi_check(pthread_create(&threads[i], NULL, claimer_main, &contest) ==
                  0);
    for (unsigned i = 0; i < contest.rounds; i++) {
        rgi_check(rgi_transit_enter(HERE, contest.descriptor,
                                    &contest.serial) == 0);
        pthread_barrier_wait(&contest.gate);
        pthread_barrier_wait(&contest.gate);
        rgi_check(__atomic_load_n(&contest.won, __ATOMIC_RELAXED) == i + 1);
    }
    for (int i = 0; i < CLAIMERS; i++)
        rgi_check(pthread_join(threads[i], NULL) == 0);
    pthread_barrier_destroy(&contest.gate);
    close(contest.descriptor);
}

#define CASES(X)                                                               \
    X(transit, a_first_one_without_room_is_told) /* of the process */          \
    X(transit, is_claimed_once)                                                \
    X(transit, limit_is_named_and_kept)                                        \
    X(transit, sweep_closes_what_is_of_one_origin)                             \
    X(transit, closing_a_value_is_once)                                        \
    X(transit, of_several_one_claims)

RGI_CASES(CASES)
