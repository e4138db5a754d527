/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SIGNAL_BASE_CASES_H
#define CONFORMANCE_SIGNAL_BASE_CASES_H

/* signal_base_cases.h - what must be shown of subscribing to signals? No signal
 * is raised: for fixtures whose process has another dispatch that is alive. */

#include "conformance/harness.h"

#define SIGNAL_BASE_CASES(X, suite)                                            \
    X(suite, sig_01_subscribing_may_fail_and_returns_a_guard)                  \
    X(suite, sig_01_nothing_is_installed_before_somebody_subscribes)           \
    X(suite, sig_07_cases_leave_their_parent_alone)

SIGNAL_BASE_CASES(CONFORM_DECLARE, signal)

#endif /* CONFORMANCE_SIGNAL_BASE_CASES_H */
