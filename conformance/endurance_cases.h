/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_ENDURANCE_CASES_H
#define CONFORMANCE_ENDURANCE_CASES_H

/* endurance_cases.h - does anything grow when an operation is repeated a million
 * times? */

#include "conformance/harness.h"

#define ENDURANCE_CASES(X, suite)                                              \
    X(suite, no_kind_of_operation_grows)

ENDURANCE_CASES(CONFORM_DECLARE, endurance)

#endif /* CONFORMANCE_ENDURANCE_CASES_H */
