/* SPDX-License-Identifier: MIT */

/* threads_test.c - does the threads provider keep the contract? */

#include "conformance/conformance.h"
#include "conformance/threads_cases.h"

#define SUITES(X)                                                              \
    CONFORM_ALL_CASES(X, threads)                                              \
    THREADS_CASES(X, threads_only)                                             \
    THREADS_VECTOR_CASES(X, threads_vector)

CONFORM(rgm_provider_threads, SUITES)
