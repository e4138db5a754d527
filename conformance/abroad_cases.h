/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_ABROAD_CASES_H
#define CONFORMANCE_ABROAD_CASES_H

/* abroad_cases.h - what must every provider show of a handle that an actor of
 * another runtime uses? */

#include "conformance/harness.h"

#define ABROAD_CASES(X, suite)                                                 \
    X(suite, opl_11_a_stream_is_used_by_another_runtime)                       \
    X(suite, opl_11_a_listener_accepts_for_another_runtime)                    \
    X(suite, opl_11_a_cancelled_read_loses_nothing)                            \
    X(suite, opl_11_the_stop_of_either_ends_it)                                \
    X(suite, opl_11_what_is_dropped_is_closed_by_its_own)                      \
    X(suite, opl_11_a_receiver_fills_the_pool_of_another_runtime)              \
    X(suite, opl_11_a_connection_moves_over)                                   \
    X(suite, opl_11_readers_and_writers_are_used)                              \
    X(suite, opl_11_packets_and_files_are_used)                                \
    X(suite, opl_11_what_is_done_in_the_call_stays_at_home)                    \
    X(suite, opl_11_runtimes_end_while_they_are_asked)                         \
    X(suite, opl_11_cancels_race_with_bytes)

ABROAD_CASES(CONFORM_DECLARE, abroad)

#endif /* CONFORMANCE_ABROAD_CASES_H */
