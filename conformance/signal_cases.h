/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SIGNAL_CASES_H
#define CONFORMANCE_SIGNAL_CASES_H

/*
 * signal_cases.h - what must be shown of signals?
 *
 * Each case is played in a child process of its own, and its parent's
 * dispositions are looked at. Whoever shares a process with a dispatch of
 * somebody else's claims the base list and leaves the others.
 */

#include "conformance/signal_actor_cases.h"
#include "conformance/signal_base_cases.h"
#include "conformance/signal_live_cases.h"

#define SIGNAL_CASES(X, suite)                                                 \
    SIGNAL_BASE_CASES(X, suite)                                                \
    SIGNAL_LIVE_CASES(X, suite)                                                \
    SIGNAL_ACTOR_CASES(X, suite)

#endif /* CONFORMANCE_SIGNAL_CASES_H */
