/* SPDX-License-Identifier: MIT */

/*
 * clock.c - how is a sleep prepared, and when does it end?
 *
 * A relative sleep counts from the ask, which may be long after it was
 * prepared, so the sum is made then; only "for ever" is refused here.
 */

#include <ringmail/clock.h>

#include <errno.h>

#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_sleep = {
    .name = "rgm_sleep",
    .size_bytes = sizeof(struct rgm_sleep),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

/* Prepared by actors/timer.c, which knows runtimes. */
const struct rgm_message_type rgi_type_timer = {
    .name = "rgm_timer",
    .size_bytes = sizeof(struct rgm_timer),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

static void
sleep_prepare(struct rgm_sleep *sleep, struct rgm_address where)
{
    rgi_operation_prepare(&sleep->operation, RGM_OP_SLEEP, &rgi_type_sleep,
                          where);
}

void
rgm_sleep_for(struct rgm_sleep *sleep, struct rgm_address where,
              uint64_t duration_ns)
{
    sleep_prepare(sleep, where);
    sleep->duration_ns = duration_ns;
    if (duration_ns == RGM_NEVER)
        rgi_operation_refuse(&sleep->operation, -EINVAL);
}

void
rgm_sleep_until(struct rgm_sleep *sleep, struct rgm_address where,
                uint64_t deadline_ns)
{
    sleep_prepare(sleep, where);
    sleep->duration_ns = RGM_NEVER;
    sleep->deadline_ns = deadline_ns;
}

int
rgi_sleep_deadline(const struct rgm_sleep *sleep, uint64_t now_ns,
                   uint64_t *ret_deadline_ns)
{
    uint64_t deadline_ns = sleep->deadline_ns;

    if (sleep->duration_ns != RGM_NEVER) {
        if (sleep->duration_ns >= RGM_NEVER - now_ns)
            return -EINVAL;
        deadline_ns = now_ns + sleep->duration_ns;
    }
    *ret_deadline_ns = deadline_ns;
    return 0;
}
