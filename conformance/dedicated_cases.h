/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_DEDICATED_CASES_H
#define CONFORMANCE_DEDICATED_CASES_H

/* dedicated_cases.h - has an actor with a thread of its own a provider of its
 * own, on every provider? */

#include "conformance/harness.h"

#define DEDICATED_CASES(X, suite)                                              \
    X(suite, tsk_14_its_operations_are_its_own_providers)                      \
    X(suite, tsk_14_one_that_blocks_holds_up_nobody_else)

DEDICATED_CASES(CONFORM_DECLARE, dedicated)

#endif /* CONFORMANCE_DEDICATED_CASES_H */
