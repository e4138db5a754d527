/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_OWNER_CASES_H
#define CONFORMANCE_OWNER_CASES_H

/* owner_cases.h - what must every provider show of the memory it is told of? */

#include "conformance/harness.h"

#define OWNER_CASES(X, suite)                                                  \
    X(suite, buf_07_nothing_of_a_file_asks_nobody)                             \
    X(suite, buf_07_nothing_of_a_stream_tells_its_condition)                   \
    X(suite, bpl_17_a_pool_is_made_by_the_first_read_that_needs_it)            \
    X(suite, bpl_17_what_is_leased_outlives_its_worker)                        \
    X(suite, field_b46_what_is_said_early_is_read_late)

OWNER_CASES(CONFORM_DECLARE, owner)

#endif /* CONFORMANCE_OWNER_CASES_H */
