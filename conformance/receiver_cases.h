/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_RECEIVER_CASES_H
#define CONFORMANCE_RECEIVER_CASES_H

/* receiver_cases.h - what must receivers show, where there are any? */

#include "conformance/harness.h"

#define RECEIVER_CASES(X, suite)                                               \
    X(suite, receivers_are_carried_out_or_refused)

RECEIVER_CASES(CONFORM_DECLARE, receiver)

/* The ring's alone. */
#define RECEIVER_RING_CASES(X, suite)                                          \
    X(suite, msh_01_whole_stream_comes_in_views)                               \
    X(suite, msh_01_unix_streams_come_in_views)                                \
    X(suite, msh_02_receivers_are_out_when_the_runtime_stops)                  \
    X(suite, msh_02_given_up_a_receiver_ends_with_its_worker)                  \
    X(suite, msh_04_views_are_dropped_on_another_worker)                       \
    X(suite, msh_05_cancelled_and_late_waits_lose_nothing)                     \
    X(suite, msh_06_one_operation_from_start_to_end)

RECEIVER_RING_CASES(CONFORM_DECLARE, receiver)

#endif /* CONFORMANCE_RECEIVER_CASES_H */
