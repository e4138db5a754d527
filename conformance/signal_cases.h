/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SIGNAL_CASES_H
#define CONFORMANCE_SIGNAL_CASES_H

/* signal_cases.h - what must be shown of signals? Each case is played in a child
 * process of its own, and its parent's dispositions are looked at. */

#include "conformance/harness.h"

#define SIGNAL_CASES(X, suite)                                                 \
    X(suite, sig_01_subscribing_may_fail_and_returns_a_guard)                  \
    X(suite, sig_01_nothing_is_installed_before_somebody_subscribes)           \
    X(suite, sig_02_callbacks_run_in_ordinary_code)                            \
    X(suite, sig_03_drop_from_inside_the_callback)                             \
    X(suite, sig_03_drop_does_not_wait_for_a_callback)                         \
    X(suite, sig_04_sigterm_cancels_a_token_and_the_server_drains)             \
    X(suite, sig_04_an_actor_gets_a_message)                                   \
    X(suite, sig_04_a_signal_stops_the_runtime)                                \
    X(suite, sig_05_a_fault_silences_nobody_else)                              \
    X(suite, sig_05_runtimes_are_told_for_themselves)                          \
    X(suite, sig_06_nothing_is_told_after_the_stop)                            \
    X(suite, sig_06_the_end_waits_for_a_callback)                              \
    X(suite, sig_07_cases_leave_their_parent_alone)                            \
    X(suite, signals_blocked_everywhere_else_are_told)                         \
    X(suite, signals_of_a_forked_child_stay_with_it)                           \
    X(suite, signals_that_come_fast_are_counted)                               \
    X(suite, signals_have_ears_for_so_many_runtimes)

SIGNAL_CASES(CONFORM_DECLARE, signal)

#endif /* CONFORMANCE_SIGNAL_CASES_H */
