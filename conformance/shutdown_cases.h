/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SHUTDOWN_CASES_H
#define CONFORMANCE_SHUTDOWN_CASES_H

/* shutdown_cases.h - what must every provider show when a runtime ends? */

#include "conformance/harness.h"

#define SHUTDOWN_CASES(X, suite)                                               \
    X(suite, shd_01_graceful_end_goes_through_its_phases)                      \
    X(suite, shd_02_closing_wakes_and_refuses)                                 \
    X(suite, shd_03_root_ends_with_a_thousand_operations)                      \
    X(suite, shd_06_worker_stays_while_a_request_is_out)                       \
    X(suite, shd_07_actors_first_then_the_provider)                            \
    X(suite, shd_11_waiting_for_oneself_is_refused)                            \
    X(suite, shd_12_what_keeps_the_end_waiting_is_visible)                     \
    X(suite, shd_13_eight_callers_see_one_end)                                 \
    X(suite, shd_14_thread_destructors_are_their_own)

SHUTDOWN_CASES(CONFORM_DECLARE, shutdown)

#endif /* CONFORMANCE_SHUTDOWN_CASES_H */
