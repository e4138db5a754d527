/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_WORKER_LEASE_CASES_H
#define CONFORMANCE_WORKER_LEASE_CASES_H

/* worker_lease_cases.h - what must every provider show of worker leases, and of
 * workers that retire? */

#include "conformance/harness.h"

#define WORKER_LEASE_CASES(X, suite)                                           \
    X(suite, lse_01_taking_is_a_call_and_sends_nothing)                        \
    X(suite, lse_02_outside_a_worker_and_after_the_end_it_is_refused)          \
    X(suite, lse_03_taken_before_the_retirement_or_refused)                    \
    X(suite, lse_04_the_thread_stays_while_a_lease_is_held)                    \
    X(suite, lse_05_nested_calls_stay_children_spread)                         \
    X(suite, lse_06_foreign_threads_reach_it_on_its_worker)                    \
    X(suite, lse_07_a_child_elsewhere_ends_and_the_parent_goes_on_at_home)     \
    X(suite, lse_08_producer_and_consumer_stay_where_they_are)                 \
    X(suite, lse_09_the_end_of_a_holder_runs_on_its_worker)                    \
    X(suite, lse_10_a_foreign_thread_hands_over_by_message)                    \
    X(suite, lse_11_tokens_move_and_know_whether_they_hold)                    \
    X(suite, lse_12_number_and_identity_open_no_door)                          \
    X(suite, lse_13_a_release_from_outside_wakes_a_sleeping_owner)             \
    X(suite, lse_14_who_took_it_is_its_holder_whoever_has_the_token)           \
    X(suite, lse_15_inactive_tokens_outlive_the_runtime)                       \
    X(suite, lse_16_a_lease_counts_where_nothing_else_is_out)                  \
    X(suite, lse_17_a_draining_worker_serves_those_who_yield_for_ever)         \
    X(suite, lse_18_a_token_gives_access_to_nothing)                           \
    X(suite, lse_19_a_graceful_stop_waits_for_leases)                          \
    X(suite, lse_19_a_stop_with_a_limit_gives_leases_up)                       \
    X(suite, lse_19_a_forced_stop_gives_leases_up)                             \
    X(suite, lse_20_capabilities_count_by_themselves)                          \
    X(suite, lse_21_a_parked_holder_is_served_by_its_thread)                   \
    X(suite, lse_22_drained_destroyed_released_then_shut_down)                 \
    X(suite, rsz_03_counts_include_who_retires)                                \
    X(suite, met_04_leases_and_workers_have_identities_that_never_repeat)

WORKER_LEASE_CASES(CONFORM_DECLARE, worker_lease)

#endif /* CONFORMANCE_WORKER_LEASE_CASES_H */
