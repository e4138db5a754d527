/* SPDX-License-Identifier: MIT */

/* scripted_test.c - does the scripted provider keep the contract? It has no
 * sockets, so these are the cases that need none: of time and of the end. Its
 * time follows the machine's. */

#include "conformance/clock_cases.h"
#include "conformance/ending_cases.h"
#include "conformance/shutdown_cases.h"

#define SUITES(X)                                                              \
    X(scripted_clock, clk_01_time_never_steps_back)                            \
    X(scripted_clock, clk_04_sleep_counts_from_the_ask)                        \
    X(scripted_clock, clk_05_what_wins_when_both_have_come)                    \
    X(scripted_clock, clk_06_withdrawn_sleep_leaves_nothing)                   \
    X(scripted_clock, clk_13_wall_clock_may_jump)                              \
    X(scripted_clock, tmr_13_close_with_sleeps_of_all_kinds)                   \
    X(scripted_clock, tmr_15_nearest_deadline_limits_the_wait)                 \
    X(scripted_clock, tmr_16_shortest_deadlines_to_a_worker_that_falls_asleep) \
    X(scripted_clock, tmr_17_sleep_is_asked_from_a_wake)                       \
    X(scripted_clock, due_sleeps_come_while_the_worker_is_busy)                \
    X(scripted_clock, field_b79_never_early_and_huge_is_not_now)               \
    X(scripted_clock, field_b80_absolute_and_without_spinning)                 \
    X(scripted_ending, shd_08_a_job_that_runs_is_waited_for_and_named)         \
    X(scripted_ending, shd_11_stop_and_wait_for_oneself_is_refused)            \
    X(scripted_ending, shd_13_eight_callers_with_limits_see_one_end)           \
    X(scripted_ending, shd_15_no_end_before_the_last_callback_and_the_driver)  \
    X(scripted_shutdown, shd_11_waiting_for_oneself_is_refused)                \
    X(scripted_shutdown, shd_13_eight_callers_see_one_end)                     \
    X(scripted_shutdown, shd_14_thread_destructors_are_their_own)

CONFORM(rgm_provider_scripted, SUITES)
