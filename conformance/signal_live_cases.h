/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SIGNAL_LIVE_CASES_H
#define CONFORMANCE_SIGNAL_LIVE_CASES_H

/* signal_live_cases.h - what must be shown of functions that are told of a signal? It
 * is raised, and a call may be under way meanwhile. */

#include "conformance/harness.h"

#define SIGNAL_LIVE_CASES(X, suite)                                            \
    X(suite, sig_01_who_is_refused_takes_no_ear)                               \
    X(suite, sig_02_who_has_subscribed_is_told)                                \
    X(suite, sig_02_callbacks_run_in_ordinary_code)                            \
    X(suite, sig_03_drop_from_inside_the_callback)                             \
    X(suite, sig_03_drop_does_not_wait_for_a_callback)                         \
    X(suite, sig_03_what_is_destroyed_awaits_no_end)                           \
    X(suite, sig_05_a_fault_silences_nobody_else)                              \
    X(suite, sig_05_runtimes_are_told_for_themselves)                          \
    X(suite, sig_06_the_end_waits_for_a_callback)                              \
    X(suite, signals_blocked_everywhere_else_are_told)                         \
    X(suite, signals_of_a_forked_child_stay_with_it)                           \
    X(suite, signals_have_ears_for_so_many_runtimes)

SIGNAL_LIVE_CASES(CONFORM_DECLARE, signal)

#endif /* CONFORMANCE_SIGNAL_LIVE_CASES_H */
