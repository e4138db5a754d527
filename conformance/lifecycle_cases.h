/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_LIFECYCLE_CASES_H
#define CONFORMANCE_LIFECYCLE_CASES_H

/* lifecycle_cases.h - what must every provider show of an operation's way from
 * preparation to answer, and of cancelling it? */

#include "conformance/harness.h"

#define LIFECYCLE_CASES(X, suite)                                              \
    X(suite, opl_01_preparing_has_no_effect)                                   \
    X(suite, opl_02_admission_waits_in_line_or_refuses)                        \
    X(suite, opl_05_neither_awaited_nor_abandoned)                             \
    X(suite, opl_06_owner_comes_back_on_every_outcome)                         \
    X(suite, opl_07_short_counts_are_passed_through)                           \
    X(suite, opl_08_one_answer_for_each_ask)                                   \
    X(suite, opl_10_handle_of_another_runtime_is_refused)                      \
    X(suite, opl_12_reading_is_a_capability_by_itself)                         \
    X(suite, opl_14_concurrent_operations_have_no_order)                       \
    X(suite, opl_15_cleanup_works_while_all_else_is_cancelled)                 \
    X(suite, opl_16_cleanup_survives_who_asked)                                \
    X(suite, dropped_in_stopped_is_closed)                                     \
    X(suite, opl_17_clean_up_is_answered_or_only_admitted)                     \
    X(suite, opl_17_half_close_and_advice_need_no_answer)                      \
    X(suite, opl_18_checks_come_before_the_first_attempt)                      \
    X(suite, opl_19_blocking_wait_on_a_worker_is_refused)                      \
    X(suite, opl_21_runtime_outlives_its_handles)                              \
    X(suite, opl_22_no_allocation_and_one_indirect_call)                       \
    X(suite, opl_24_used_by_eight_threads_at_once)                             \
    X(suite, can_06_cancel_says_nothing_about_the_end)                         \
    X(suite, can_14_cancelled_scope_submits_nothing)                           \
    X(suite, can_15_progress_beats_a_cancel)                                   \
    X(suite, can_16_cancelled_is_not_interrupted)                              \
    X(suite, buf_02_only_the_bytes_of_the_transfer)                            \
    X(suite, buf_06_release_may_use_the_runtime)                               \
    X(suite, owners_are_released_once_whatever_happens)

LIFECYCLE_CASES(CONFORM_DECLARE, lifecycle)

#endif /* CONFORMANCE_LIFECYCLE_CASES_H */
