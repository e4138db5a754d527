/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_CLOCK_H
#define RINGMAIL_CLOCK_H

/*
 * clock.h - wait for time: a request to a worker, like everything else.
 *
 * Time is the provider's clock: it never steps back, and a deadline means
 * something only to the runtime it was taken from. Waiting occupies no thread
 * and no entry of the ring.
 */

#include <ringmail/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A sleep. Its answer's status: 0 when the time has come, -ECANCELED when it
 * was cancelled (or its actor stopped) before, -EPIPE when it was asked of
 * another worker and that one stops, -ESRCH when there is no such worker,
 * -EINVAL when the duration overflows the clock, -EAGAIN when the worker has as
 * many timers as the option timers_max lets it. */
struct rgm_sleep {
    RGM_OPERATION_HEAD;
    uint64_t duration_ns; /* counted from the ask, not from the preparation */
    uint64_t deadline_ns; /* used when duration_ns is RGM_NEVER */
    uint64_t timer[6];    /* the worker's */
};

/*
 * Prepare a sleep on the worker `where` (usually rgm_here(self)). Has no
 * effect until it is asked. Late by as much as the worker is busy; never early.
 *
 * Thread: owner; the record is at home.
 */
RGM_API void rgm_sleep_for(struct rgm_sleep *sleep, struct rgm_address where,
                           uint64_t duration_ns);
RGM_API void rgm_sleep_until(struct rgm_sleep *sleep,
                             struct rgm_address where, uint64_t deadline_ns);

/* The address of a worker itself: where capabilities are asked. */
static inline struct rgm_address
rgm_worker_address(uint32_t worker)
{
    struct rgm_address address = {((uint64_t)worker << 54) | 1};

    return address;
}
#define rgm_here(self)                                                        \
    rgm_worker_address(rgm_address_worker((self)->actor.address))

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_CLOCK_H */
