/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_TIMER_CASES_H
#define CONFORMANCE_TIMER_CASES_H

/* timer_cases.h - what must be shown of timers that keep their place? */

#include "conformance/harness.h"

#define TIMER_CASES(X, suite)                                                  \
    X(suite, tmr_01_making_a_timer_registers_nothing)                          \
    X(suite, tmr_02_what_is_not_begun_changes_nothing)                         \
    X(suite, tmr_02_a_cancel_disarms_and_an_expiry_wins)                       \
    X(suite, tmr_02_a_place_is_not_its_last_owners)                            \
    X(suite, tmr_02_one_wait_at_a_time)                                        \
    X(suite, tmr_03_a_timer_of_another_runtime_is_refused)                     \
    X(suite, tmr_04_a_registration_outlives_its_waits)                         \
    X(suite, tmr_05_a_release_retires_the_registration)                        \
    X(suite, tmr_05_a_forgotten_timer_costs_its_place)                         \
    X(suite, tmr_06_deadlines_move_both_ways)                                  \
    X(suite, tmr_07_a_registration_stays_with_its_worker)                      \
    X(suite, tmr_08_capacity_is_per_worker)                                    \
    X(suite, tmr_09_a_fired_timer_keeps_its_place)                             \
    X(suite, tmr_10_cancelled_timers_make_room)                                \
    X(suite, tmr_11_plain_threads_take_workers_in_turn)                        \
    X(suite, tmr_12_a_requester_that_left_keeps_no_place)                      \
    X(suite, tmr_14_due_timers_are_collected_by_a_busy_worker)                 \
    X(suite, timers_end_with_the_worker_that_retires)                          \
    X(suite, timers_option_has_limits)

TIMER_CASES(CONFORM_DECLARE, timer)

#endif /* CONFORMANCE_TIMER_CASES_H */
