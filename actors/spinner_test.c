/* SPDX-License-Identifier: MIT */

/*
 * spinner_test.c - does the budget learn what the text of spinner.c says?
 */

#include <errno.h>

#include "actors/rig.h"

static struct rgi_spinner
made(uint32_t minimum_ns, uint32_t maximum_ns, uint32_t threshold_ns)
{
    struct rgi_spinner spinner;

    rgi_check(
        rgi_spinner_init(&spinner, minimum_ns, maximum_ns, threshold_ns) == 0);
    return spinner;
}

static void
spn_03_a_minimum_above_the_maximum_is_refused(void)
{
    struct rgi_spinner untouched = {.budget_ns = 77};

    rgi_check(rgi_spinner_init(&untouched, 11, 10, 5) == -EINVAL);
    rgi_check(untouched.budget_ns == 77);
    rgi_check(rgi_spinner_init(&untouched, 10, 10, 5) == 0);
    rgi_check(untouched.budget_ns == 10);
}

static void
spn_02_a_hit_grows_by_a_quarter_up_to_the_maximum(void)
{
    struct rgi_spinner spinner = made(1000, 2000, 500);

    rgi_spinner_hit(&spinner);
    rgi_check(spinner.budget_ns == 1250);
    rgi_spinner_hit(&spinner);
    rgi_check(spinner.budget_ns == 1562);
    rgi_spinner_hit(&spinner);
    rgi_spinner_hit(&spinner);
    rgi_check(spinner.budget_ns == 2000);
    rgi_spinner_hit(&spinner);
    rgi_check(spinner.budget_ns == 2000);
}

static void
spn_02_a_miss_cuts_an_eighth_down_to_the_minimum(void)
{
    struct rgi_spinner spinner = made(1000, 2000, 500);

    spinner.budget_ns = 1600;
    rgi_spinner_miss(&spinner);
    rgi_check(spinner.budget_ns == 1400);
    rgi_spinner_miss(&spinner);
    rgi_check(spinner.budget_ns == 1225);
    for (unsigned i = 0; i < 10; i++)
        rgi_spinner_miss(&spinner);
    rgi_check(spinner.budget_ns == 1000);
}

/* A short park was a mistake: grow by half, and remember how long it was. */
static void
spn_02_a_short_park_grows_and_raises_a_floor(void)
{
    struct rgi_spinner spinner = made(100, 10000, 5000);

    spinner.budget_ns = 1000;
    rgi_spinner_parked(&spinner, 3200);
    rgi_check(spinner.floor_ns == 3200);
    rgi_check(spinner.budget_ns == 3200);
    rgi_spinner_parked(&spinner, 3200);
    rgi_check(spinner.budget_ns == 4800);
    rgi_spinner_parked(&spinner, 5000); /* not short: nothing happens */
    rgi_check(spinner.floor_ns == 3200 && spinner.budget_ns == 4800);
}

static void
spn_02_the_floor_decays_by_a_sixteenth_per_miss(void)
{
    struct rgi_spinner spinner = made(100, 10000, 5000);
    uint32_t floor_ns = 3200;

    rgi_spinner_parked(&spinner, 3200);
    for (unsigned i = 0; i < 8; i++) {
        rgi_spinner_miss(&spinner);
        floor_ns -= floor_ns / 16;
        rgi_check(spinner.floor_ns == floor_ns);
        rgi_check(spinner.budget_ns >= floor_ns);
    }
    for (unsigned i = 0; i < 200; i++)
        rgi_spinner_miss(&spinner);
    rgi_check(spinner.budget_ns == 100);
}

/* Whatever happens, in any order, it stays between its bounds. */
static void
spn_02_the_budget_stays_between_its_bounds(void)
{
    uint64_t random = rgi_seed();
    struct rgi_spinner spinner = made(7, UINT32_MAX, UINT32_MAX);

    for (unsigned i = 0; i < 100000; i++) {
        random = random * UINT64_C(6364136223846793005) + 1;
        switch (random >> 60) {
        case 0:
            rgi_spinner_parked(&spinner, random & UINT32_MAX);
            break;
        case 1:
        case 2:
        case 3:
            rgi_spinner_hit(&spinner);
            break;
        default:
            rgi_spinner_miss(&spinner);
        }
        rgi_check(spinner.budget_ns >= 7);
        rgi_check(spinner.budget_ns >= spinner.floor_ns);
    }
}

static void
spn_01_a_maximum_of_nothing_stays_nothing(void)
{
    struct rgi_spinner spinner = made(0, 0, 0);

    rgi_spinner_parked(&spinner, 0);
    rgi_spinner_hit(&spinner);
    rgi_spinner_miss(&spinner);
    rgi_check(spinner.budget_ns == 0 && spinner.floor_ns == 0);
}

/* In microseconds, small by default, and off with more workers than CPUs. */
static void
spn_05_defaults_are_small(void)
{
    struct rgm_runtime_options options = {.workers = 1};
    struct rgm_runtime *runtime = rig_make_with(&options);

    rgi_check(runtime->workers[0]->spinner.maximum_ns == 50000);
    rgi_check(runtime->workers[0]->spinner.budget_ns == 5000);
    rig_destroy(runtime);
    options.spin_us = 3;
    runtime = rig_make_with(&options);
    rgi_check(runtime->workers[0]->spinner.maximum_ns == 3000);
    rgi_check(runtime->workers[0]->spinner.budget_ns == 3000);
    rig_destroy(runtime);
    if (rgm_usable_cpus() >= RGM_WORKERS_MAX)
        return;
    options.workers = rgm_usable_cpus() + 1;
    runtime = rig_make_with(&options);
    rgi_check(runtime->workers[0]->spinner.maximum_ns == 0);
    rig_destroy(runtime);
}

#define CASES(X)                                                               \
    X(spinner, spn_03_a_minimum_above_the_maximum_is_refused)                  \
    X(spinner, spn_02_a_hit_grows_by_a_quarter_up_to_the_maximum)              \
    X(spinner, spn_02_a_miss_cuts_an_eighth_down_to_the_minimum)               \
    X(spinner, spn_02_a_short_park_grows_and_raises_a_floor)                   \
    X(spinner, spn_02_the_floor_decays_by_a_sixteenth_per_miss)                \
    X(spinner, spn_02_the_budget_stays_between_its_bounds)                     \
    X(spinner, spn_01_a_maximum_of_nothing_stays_nothing)                      \
    X(spinner, spn_05_defaults_are_small)

RGI_CASES(CASES)
