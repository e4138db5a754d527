/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_OWNER_CASES_H
#define CONFORMANCE_OWNER_CASES_H

/* owner_cases.h - what must every provider show of the memory it is told of? */

#include "conformance/harness.h"

#define OWNER_CASES(X, suite)                                                  \
    X(suite, buf_07_nothing_of_a_file_asks_nobody)                             \
    X(suite, buf_07_nothing_of_a_stream_tells_its_condition)                   \
    X(suite, field_b46_what_is_said_early_is_read_late)

OWNER_CASES(CONFORM_DECLARE, owner)

#endif /* CONFORMANCE_OWNER_CASES_H */
