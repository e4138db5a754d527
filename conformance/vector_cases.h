/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_VECTOR_CASES_H
#define CONFORMANCE_VECTOR_CASES_H

/* vector_cases.h - what must every provider show of many pieces at once? */

#include "conformance/harness.h"

#define VECTOR_CASES(X, suite)                                                 \
    X(suite, vec_10_abandoned_package_goes_as_a_whole_on_a_stream)             \
    X(suite, vec_10_abandoned_package_goes_as_a_whole_on_a_file)               \
    X(suite, vec_11_more_pieces_than_a_call_takes_are_sent_in_batches)

/* Where the calls can be seen. */
#define THREADS_VECTOR_CASES(X, suite)                                         \
    X(suite, vec_09_arrays_reach_the_call_as_they_are)

VECTOR_CASES(CONFORM_DECLARE, vector)
THREADS_VECTOR_CASES(CONFORM_DECLARE, vector)

#endif /* CONFORMANCE_VECTOR_CASES_H */
