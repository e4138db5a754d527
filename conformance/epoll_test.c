/* SPDX-License-Identifier: MIT */

/* epoll_test.c - does the epoll provider keep the contract? */

#include "conformance/conformance.h"
#include "conformance/epoll_cases.h"

#define SUITES(X)                                                              \
    CONFORM_ALL_CASES(X, epoll)                                                \
    EPOLL_CASES(X, epoll_only)                                                 \
    THREADS_VECTOR_CASES(X, epoll_vector)

CONFORM(rgm_provider_epoll, SUITES)
