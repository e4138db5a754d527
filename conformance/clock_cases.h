/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_CLOCK_CASES_H
#define CONFORMANCE_CLOCK_CASES_H

/* clock_cases.h - what must every provider show of time? */

#include "conformance/harness.h"

#define CLOCK_CASES(X, suite)                                                  \
    X(suite, clk_01_time_never_steps_back)                                     \
    X(suite, clk_04_sleep_counts_from_the_ask)                                 \
    X(suite, clk_05_what_wins_when_both_have_come)                             \
    X(suite, clk_06_withdrawn_sleep_leaves_nothing)                            \
    X(suite, clk_13_wall_clock_may_jump)                                       \
    X(suite, clk_14_sleeps_occupy_no_thread)                                   \
    X(suite, tmr_13_close_with_sleeps_of_all_kinds)                            \
    X(suite, tmr_15_nearest_deadline_limits_the_wait)                          \
    X(suite, tmr_16_shortest_deadlines_to_a_worker_that_falls_asleep)          \
    X(suite, tmr_17_sleep_is_asked_from_a_wake)                                \
    X(suite, due_sleeps_come_while_the_worker_is_busy)                         \
    X(suite, field_b79_never_early_and_huge_is_not_now)                        \
    X(suite, field_b80_absolute_and_without_spinning)

CLOCK_CASES(CONFORM_DECLARE, clock)

#endif /* CONFORMANCE_CLOCK_CASES_H */
