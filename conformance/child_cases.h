/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_CHILD_CASES_H
#define CONFORMANCE_CHILD_CASES_H

/* child_cases.h - what must every provider show of child processes? Each case
 * has children of its own and leaves none. */

#include "conformance/harness.h"

#define CHILD_CASES(X, suite)                                                  \
    X(suite, prw_01_selection_is_as_the_system_has_it)                         \
    X(suite, prw_02_exit_kill_stop_and_continue_are_told)                      \
    X(suite, prw_05_cancelled_wait_has_reaped_nothing)                         \
    X(suite, prw_06_no_path_ends_the_child)                                    \
    X(suite, prw_07_one_of_two_waits_gets_the_child)                           \
    X(suite, prw_08_end_leaves_the_child_to_the_program)                       \
    X(suite, prw_09_end_waits_for_no_child)                                    \
    X(suite, field_b82_each_end_reaches_its_owner_once)                        \
    X(suite, child_waits_are_checked_and_leave_nothing)

CHILD_CASES(CONFORM_DECLARE, child)

#endif /* CONFORMANCE_CHILD_CASES_H */
