/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_REENTRANCY_CASES_H
#define CONFORMANCE_REENTRANCY_CASES_H

/* reentrancy_cases.h - may a callback end whatever it stands on? */

#include "conformance/harness.h"

#define REENTRANCY_CASES(X, suite)                                             \
    X(suite, field_b47_answers_end_what_they_stand_on)                         \
    X(suite, field_b47_hooks_end_what_they_stand_on)

REENTRANCY_CASES(CONFORM_DECLARE, reentrancy)

#endif /* CONFORMANCE_REENTRANCY_CASES_H */
