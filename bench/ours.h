/* SPDX-License-Identifier: MIT */
#ifndef BENCH_OURS_H
#define BENCH_OURS_H

/*
 * ours.h - how does a bench program run actors on one or two pinned workers?
 *
 * With the options a user would have who names only the number of workers, and
 * pinned, so that worker i and side i of a limit are the same core.
 */

#include "bench/bench.h"

#include <ringmail/ringmail.h>

static struct rgm_runtime *ours_runtime;

static inline void
ours_check(const char *what, int status)
{
    if (status < 0)
        bench_fail(what, status);
}

/* Start workers in the background, on a provider or (NULL) the usual one. spin_us
 * as in the runtime's options. */
static inline void
ours_start_on(const struct rgm_provider_class *provider, uint32_t workers,
              uint32_t spin_us)
{
    struct rgm_runtime_options options = {
        .provider = provider,
        .workers = workers,
        .pin = true,
        .spin_us = spin_us,
    };
    int status = rgm_runtime_create(&options, &ours_runtime);

    ours_check("create", status);
    status = rgm_runtime_start(ours_runtime);
    if (status < 0)
        bench_fail(rgm_runtime_error(ours_runtime), status);
}

static inline void
ours_start(uint32_t workers, uint32_t spin_us)
{
    ours_start_on(NULL, workers, spin_us);
}

static inline struct rgm_address
ours_spawn(uint32_t worker, const struct rgm_behaviour *behaviour,
           const void *argument)
{
    struct rgm_address address = {0};

    ours_check("spawn", rgm_runtime_spawn(ours_runtime, worker, behaviour,
                                          argument, &address));
    return address;
}

/* Wait until an actor has called rgm_runtime_stop. */
static inline void
ours_wait(void)
{
    ours_check("run", rgm_runtime_wait(ours_runtime));
    ours_check("destroy", rgm_runtime_destroy(ours_runtime));
}

#endif /* BENCH_OURS_H */
