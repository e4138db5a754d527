/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_THREADS_CASES_H
#define CONFORMANCE_THREADS_CASES_H

/* threads_cases.h - what must the threads provider show besides? Its calls can
 * be held at a gate. */

#include "conformance/harness.h"

#define THREADS_CASES(X, suite)                                                \
    X(suite, dir_06_borrowed_calls_are_made_by_whoever_asks)                   \
    X(suite, dir_07_closing_lets_the_application_clean_up_first)               \
    X(suite, dir_10_no_operation_costs_an_allocation)                          \
    X(suite, opl_03_all_is_kept_until_the_call_has_returned)                   \
    X(suite, opl_20_call_that_has_begun_runs_on)                               \
    X(suite, srd_24_each_receive_is_a_call_before_any_wait)                    \
    X(suite, field_b61_interrupted_call_is_made_again)

THREADS_CASES(CONFORM_DECLARE, threads)

#endif /* CONFORMANCE_THREADS_CASES_H */
