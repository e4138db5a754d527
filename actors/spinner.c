/* SPDX-License-Identifier: MIT */

/*
 * spinner.c - how long is it worth looking for work before sleeping?
 *
 * A wake costs tens of microseconds, so a short look can pay. The budget
 * learns: a hit grows it by a quarter, a miss cuts an eighth, a park that was
 * shorter than the threshold grows it by half and raises a floor that decays
 * by a sixteenth per miss. Everything stays between minimum and maximum. Pure
 * arithmetic; actors/turn.c does the looking.
 */

#include "actors/worker.h"

static uint32_t
clamp(const struct rgi_spinner *spinner, uint64_t budget_ns)
{
    if (budget_ns > spinner->maximum_ns)
        return spinner->maximum_ns;
    if (budget_ns < spinner->floor_ns)
        budget_ns = spinner->floor_ns;
    if (budget_ns < spinner->minimum_ns)
        return spinner->minimum_ns;
    return (uint32_t)budget_ns;
}

int
rgi_spinner_init(struct rgi_spinner *spinner, uint32_t minimum_ns,
                 uint32_t maximum_ns, uint32_t threshold_ns)
{
    if (minimum_ns > maximum_ns)
        return -EINVAL;
    *spinner = (struct rgi_spinner){
        .minimum_ns = minimum_ns,
        .maximum_ns = maximum_ns,
        .threshold_ns = threshold_ns,
        .budget_ns = minimum_ns,
    };
    return 0;
}

void
rgi_spinner_hit(struct rgi_spinner *spinner)
{
    uint64_t budget_ns = spinner->budget_ns;

    spinner->budget_ns = clamp(spinner, budget_ns + budget_ns / 4);
}

void
rgi_spinner_miss(struct rgi_spinner *spinner)
{
    uint64_t budget_ns = spinner->budget_ns;

    spinner->floor_ns -= spinner->floor_ns / 16;
    spinner->budget_ns = clamp(spinner, budget_ns - budget_ns / 8);
}

void
rgi_spinner_parked(struct rgi_spinner *spinner, uint64_t parked_ns)
{
    uint64_t grown_ns = (uint64_t)spinner->budget_ns +
                        spinner->budget_ns / 2;

    if (spinner->maximum_ns == 0 || parked_ns >= spinner->threshold_ns)
        return;
    spinner->floor_ns = clamp(spinner, parked_ns);
    spinner->budget_ns = clamp(spinner, grown_ns);
}
