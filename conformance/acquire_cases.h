/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_ACQUIRE_CASES_H
#define CONFORMANCE_ACQUIRE_CASES_H

/* acquire_cases.h - what must every provider show of waits for a buffer? */

#include "conformance/harness.h"

#define ACQUIRE_CASES(X, suite)                                                \
    X(suite, bpl_02_workers_share_one_budget)                                  \
    X(suite, bpl_03_acquire_waits_and_try_does_not)                            \
    X(suite, bpl_03_cancel_leaves_the_slot_to_the_next)                        \
    X(suite, bpl_03_plain_thread_waits)                                        \
    X(suite, bpl_05_freed_anywhere_wakes_any_worker)                           \
    X(suite, bpl_05_view_that_dies_elsewhere_wakes_the_waiter)                 \
    X(suite, bpl_05_slot_freed_in_a_wait_of_the_provider_ends_it)              \
    X(suite, bpl_05_slot_freed_while_the_worker_spins_is_seen)                 \
    X(suite, bpl_05_what_is_lent_comes_back_to_its_own_worker)                 \
    X(suite, bpl_12_eight_returns_wake_eight_workers)                          \
    X(suite, bpl_14_closed_pool_ends_every_wait)                               \
    X(suite, bpl_14_pool_outlives_its_runtime)                                 \
    X(suite, can_14_bad_acquires_are_answers)                                  \
    X(suite, bpl_15_leak_is_told_with_its_holder)                              \
    X(suite, acquires_of_a_worker_come_in_order)                               \
    X(suite, acquires_and_reads_share_a_slot)                                  \
    X(suite, stop_ends_the_waits)                                              \
    X(suite, waits_for_several_pools_are_apart)                                \
    X(suite, can_15_slot_on_its_way_beats_a_cancel)                            \
    X(suite, can_17_wait_on_another_worker_is_cancelled)                       \
    X(suite, cancel_races_with_the_slot)

ACQUIRE_CASES(CONFORM_DECLARE, acquire)

#endif /* CONFORMANCE_ACQUIRE_CASES_H */
