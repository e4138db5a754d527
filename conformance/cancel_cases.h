/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_CANCEL_CASES_H
#define CONFORMANCE_CANCEL_CASES_H

/* cancel_cases.h - what must every provider show of cancels, deadlines and what
 * was given up? */

#include "conformance/harness.h"

#define CANCEL_CASES(X, suite)                                                 \
    X(suite, can_10_waiting_in_a_scope_allocates_nothing)                      \
    X(suite, can_14_a_cancelled_scope_reaches_no_provider)                     \
    X(suite, can_18_a_cancel_undoes_nothing)                                   \
    X(suite, opl_04_an_abandoned_read_holds_its_memory_to_the_end)             \
    X(suite, opl_15_a_cancelled_scope_lets_clean_up_through)                   \
    X(suite, clk_11_a_write_that_timed_out_still_arrives)                      \
    X(suite, a_deadline_ends_a_read_and_the_stream_goes_on)                    \
    X(suite, a_blocking_call_has_a_time_limit)                                 \
    X(suite, an_operation_of_another_worker_expires)                           \
    X(suite, field_b43_memory_is_ours_when_the_answer_is_there)                \
    X(suite, field_b44_bytes_that_came_with_the_cancel_are_told)               \
    X(suite, field_b50_answers_just_before_the_deadline)                       \
    X(suite, field_b52_a_write_after_one_that_expired)

CANCEL_CASES(CONFORM_DECLARE, cancel)

#endif /* CONFORMANCE_CANCEL_CASES_H */
