/* SPDX-License-Identifier: MIT */

/* read_faults.c - what can be wrong with a read? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"
#include "conformance/faults/kit.h"

/* --------------------------------------------------------------------- reads */

ON_COMPLETE(read_grows, RGM_OP_READ, rgm_read)
{
    if (*status == 0 && it->count > 0)
        it->count = it->capacity_bytes;
}

ON_COMPLETE(read_end_is_lost, RGM_OP_READ, rgm_read)
{
    (void)status;
    it->end = false;
}

ON_COMPLETE(read_end_comes_with_data, RGM_OP_READ, rgm_read)
{
    if (*status == 0 && it->count < it->capacity_bytes)
        it->end = true;
}

ON_COMPLETE(read_empty_is_an_end, RGM_OP_READ, rgm_read)
{
    if (*status == 0 && it->capacity_bytes == 0)
        it->end = true;
}

ON_COMPLETE(read_reset_is_an_end, RGM_OP_READ, rgm_read)
{
    if (*status == -ECONNRESET) {
        *status = 0;
        it->end = true;
    }
}

ON_COMPLETE(read_cancelled_is_interrupted, RGM_OP_READ, rgm_read)
{
    (void)it;
    if (*status == -ECANCELED)
        *status = -EINTR;
}

ON_COMPLETE(read_cancelled_is_empty, RGM_OP_READ, rgm_read)
{
    (void)it;
    if (*status == -ECANCELED)
        *status = 0;
}

/* What comes behind it is taken, too, and is gone. */
ON_COMPLETE(read_takes_too_much, RGM_OP_READ, rgm_read)
{
    char byte;
    const struct rgm_vector vector = {&byte, 1};
    const struct rgm_transfer more = {.resource = it->stream->socket.resource,
                                      .vectors = &vector,
                                      .vectors_count = 1};

    if (*status == 0 && it->count > 0)
        (void)fault_transfer(&more);
}

static void
cancelled_completes_twice_complete(struct rgm_operation *operation)
{
    if (fault_unmark(operation) != 0)
        fault_answer(operation, -ECANCELED);
}

static bool
cancelled_completes_twice_cancel(struct rgm_operation *operation)
{
    fault_mark(operation, 1);
    return false;
}

/* --------------------------------------------------------- reads into a pool */

ON_COMPLETE(pooled_end_is_lost, RGM_OP_READ_POOLED, rgm_read_pooled)
{
    (void)status;
    it->end = false;
}

ON_COMPLETE(pooled_leaks_when_cancelled, RGM_OP_READ_POOLED, rgm_read_pooled)
{
    struct rgm_lease lost = {0};

    if (*status == -ECANCELED && rgm_pool_try_acquire(it->pool, &lost) < 0)
        return;
}

ON_COMPLETE(pooled_leaks_at_the_end, RGM_OP_READ_POOLED, rgm_read_pooled)
{
    struct rgm_lease lost = {0};

    if (*status == 0 && it->end && rgm_pool_try_acquire(it->pool, &lost) < 0)
        return;
}

ON_COMPLETE(pooled_hides_its_error, RGM_OP_READ_POOLED, rgm_read_pooled)
{
    (void)it;
    *status = 0;
}

ON_COMPLETE(pooled_is_longer_than_read, RGM_OP_READ_POOLED, rgm_read_pooled)
{
    if (*status == 0 && it->count > 0)
        it->count++;
}

/* A reader that waits has a slot. */
static bool
pooled_slot_is_held_submit(struct rgm_operation *operation)
{
    struct rgm_read_pooled *it =
        AS(RGM_OP_READ_POOLED, rgm_read_pooled, operation);
    struct rgm_lease *lease;

    if (it == NULL)
        return false;
    lease = calloc(1, sizeof(*lease));
    rgi_check(lease != NULL);
    if (rgm_pool_try_acquire(it->pool, lease) == 0)
        fault_mark(operation, (uintptr_t)lease);
    else
        free(lease);
    return false;
}

static void
pooled_slot_is_held_restore(struct rgm_operation *operation)
{
    struct rgm_lease *lease = (void *)fault_unmark(operation);

    if (lease == NULL)
        return;
    (void)rgm_lease_drop(lease);
    free(lease);
}

/* ----------------------------------------------------------------------- all */

const struct fault read_faults[] = {
    COMPLETES(read_grows, READ),
    COMPLETES(read_end_is_lost, READ),
    COMPLETES(read_end_comes_with_data, READ),
    COMPLETES(read_empty_is_an_end, READ),
    COMPLETES(read_reset_is_an_end, READ),
    COMPLETES(read_cancelled_is_interrupted, READ),
    COMPLETES(read_cancelled_is_empty, READ),
    COMPLETES(read_takes_too_much, READ),
    CANCEL_WINS(read_cancel_beats_progress, READ),
    CANCEL_IS_LOST(read_cancel_is_not_heard, READ),
    WAKE_IS_LOST(read_wake_is_lost, READ),
    {.name = "read_memory_is_freed_at_the_cancel",
     .kind = RGM_OP_READ,
     .frees_at_cancel = true},
    {.name = "cancelled_completes_twice",
     .kind = FAULT_OF_ALL,
     .cancel = cancelled_completes_twice_cancel,
     .complete = cancelled_completes_twice_complete},
    COMPLETES(pooled_end_is_lost, READ_POOLED),
    COMPLETES(pooled_leaks_when_cancelled, READ_POOLED),
    COMPLETES(pooled_leaks_at_the_end, READ_POOLED),
    COMPLETES(pooled_hides_its_error, READ_POOLED),
    COMPLETES(pooled_is_longer_than_read, READ_POOLED),
    WRAPS(pooled_slot_is_held_while_it_waits, READ_POOLED, pooled_slot_is_held),
    CANCEL_IS_LOST(pooled_cancel_is_not_heard, READ_POOLED),
    WAKE_IS_LOST(pooled_wake_is_lost, READ_POOLED),
    {.name = NULL},
};
