/* SPDX-License-Identifier: MIT */

/*
 * worker_lease_test.c - what of worker leases only the inside can show: no
 * memory, a forced end, records that are used again.
 *
 * What a program sees is in conformance/worker_lease_cases.c.
 */

#include <pthread.h>
#include <sched.h>

#include <ringmail/worker_lease.h>

#include "actors/rig.h"

struct office {
    struct rgm_runtime *runtime;
    struct rgm_worker_lease lease, other;
    atomic_bool released, taken;
    pthread_t thread;
    size_t live;
};

#define office_of(self) ((struct office *)test_of(self))

/* ------------------------------------------------------------------ no memory */

static void
take_without_memory(struct robot *self)
{
    struct office *office = office_of(self);

    rgi_memory_fail_nth(1);
    rgi_check(rgm_worker_lease_take(self, &office->lease) == -ENOMEM);
    rgi_check(rgi_memory_fail_off());
    rgi_check(!rgm_worker_lease_active(&office->lease));
    rgi_check(self->actor.worker->leases_count == 0);
    rgi_check(rgm_worker_lease_take(self, &office->lease) == 0);

    /* A token that holds one keeps it when the next cannot be had. */
    rgi_memory_fail_nth(1);
    rgi_check(rgm_worker_lease_take(self, &office->lease) == -ENOMEM);
    rgi_check(rgi_memory_fail_off());
    rgi_check(rgm_worker_lease_active(&office->lease));
    rgm_worker_lease_release(&office->lease);
    rgm_stop(self);
}

static void
lse_02_without_memory_there_is_no_obligation(void)
{
    struct office office = {.runtime = NULL};
    struct script root = {.started = take_without_memory, .test = &office};

    rig_run(1, &root);
}

static void
take_again_and_again(struct robot *self)
{
    struct office *office = office_of(self);

    rgi_check(rgm_worker_lease_take(self, &office->lease) == 0);
    office->live = rgi_memory_live();
    for (unsigned i = 0; i < 1000; i++) {
        rgm_worker_lease_release(&office->lease);
        rgi_check(rgm_worker_lease_take(self, &office->lease) == 0);
    }
    rgi_check(rgi_memory_live() == office->live);
    rgm_worker_lease_release(&office->lease);
    rgm_stop(self);
}

static void
records_are_used_again(void)
{
    struct office office = {.runtime = NULL};
    struct script root = {.started = take_again_and_again, .test = &office};

    rig_run(1, &root);
}

/* --------------------------------------------------------------- a forced end */

static void
take_and_be_forced(struct robot *self)
{
    struct office *office = office_of(self);

    rgi_check(rgm_worker_lease_take(self, &office->lease) == 0);
    rgi_check(rgm_worker_lease_take(self, &office->other) == 0);
    rgm_worker_lease_release(&office->other);
    rgi_check(rgi_worker_leases_give_up(self->actor.worker));
    rgi_check(self->actor.worker->leases_count == 0);
    rgm_stop(self);
}

static void
lse_15_a_token_kept_past_a_forced_end_is_harmless(void)
{
    struct office office = {.runtime = NULL};
    struct script root = {.started = take_and_be_forced, .test = &office};
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(rgm_worker_lease_active(&office.lease));
    rgi_check(rgi_memory_live() == 1); /* the token's record, nothing else */
    rgm_worker_lease_release(&office.lease);
    rgi_check(rgi_memory_live() == 0);
}

static void *
release_it(void *argument)
{
    struct office *office = argument;

    while (!atomic_load(&office->taken))
        sched_yield();
    rgm_worker_lease_release(&office->lease);
    atomic_store(&office->released, true);
    return NULL;
}

/* Gives up while somebody releases: either he frees the record, or it is about
 * to arrive. */
static void
take_and_give_up(struct robot *self)
{
    struct office *office = office_of(self);

    rgi_check(rgm_worker_lease_take(self, &office->lease) == 0);
    atomic_store(&office->taken, true);
    if (office->live % 2 == 0)
        sched_yield();
    (void)rgi_worker_leases_give_up(self->actor.worker);
    rgm_stop(self); /* quiet only when one that was claimed is home */
}

static void
lse_19_a_release_that_races_with_a_forced_end(void)
{
    for (size_t i = 0; i < rgi_scale(20000); i++) {
        struct office office = {.live = i};
        struct script root = {.started = take_and_give_up, .test = &office};
        struct rgm_runtime *runtime;

        fake_reset();
        runtime = rig_make(1);
        rgi_check(pthread_create(&office.thread, NULL, release_it, &office) ==
                  0);
        rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
        rgi_check(rgm_runtime_destroy(runtime) == 0);
        pthread_join(office.thread, NULL);
        rgi_check(rgi_memory_live() == 0);
    }
}

#define CASES(X)                                                               \
    X(worker_lease, lse_02_without_memory_there_is_no_obligation)              \
    X(worker_lease, records_are_used_again)                                    \
    X(worker_lease, lse_15_a_token_kept_past_a_forced_end_is_harmless)         \
    X(worker_lease, lse_19_a_release_that_races_with_a_forced_end)

RGI_CASES(CASES)
