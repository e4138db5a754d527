/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SIGNAL_ACTOR_CASES_H
#define CONFORMANCE_SIGNAL_ACTOR_CASES_H

/* signal_actor_cases.h - what must be shown of actors, tokens and runtimes that hear of
 * a signal? It is raised, and a delivery may be under way meanwhile. */

#include "conformance/harness.h"

#define SIGNAL_ACTOR_CASES(X, suite)                                           \
    X(suite, sig_04_sigterm_cancels_a_token_and_the_server_drains)             \
    X(suite, sig_04_an_actor_gets_a_message)                                   \
    X(suite, sig_04_a_signal_stops_the_runtime)                                \
    X(suite, sig_06_nothing_is_told_after_the_stop)                            \
    X(suite, signals_that_come_fast_are_counted)

SIGNAL_ACTOR_CASES(CONFORM_DECLARE, signal)

#endif /* CONFORMANCE_SIGNAL_ACTOR_CASES_H */
