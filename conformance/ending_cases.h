/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_ENDING_CASES_H
#define CONFORMANCE_ENDING_CASES_H

/* ending_cases.h - what must every provider show of a stop that has a limit, is
 * forced, or is waited for and explained? */

#include "conformance/harness.h"

#define ENDING_CASES(X, suite)                                                 \
    X(suite, shd_08_expiry_with_leases_and_operations_is_safe)                 \
    X(suite, shd_08_what_can_be_cancelled_is_not_left_behind)                  \
    X(suite, shd_08_a_job_that_runs_is_waited_for_and_named)                   \
    X(suite, shd_09_torn_down_with_everything_out)                             \
    X(suite, shd_10_given_up_by_its_own_actor)                                 \
    X(suite, shd_11_stop_and_wait_for_oneself_is_refused)                      \
    X(suite, shd_12_the_blocker_has_a_name_and_an_age)                         \
    X(suite, shd_13_eight_callers_with_limits_see_one_end)                     \
    X(suite, shd_15_no_end_before_the_last_callback_and_the_driver)

ENDING_CASES(CONFORM_DECLARE, ending)

#endif /* CONFORMANCE_ENDING_CASES_H */
