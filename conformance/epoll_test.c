/* SPDX-License-Identifier: MIT */

/* epoll_test.c - does the epoll provider keep the contract? */

#include "conformance/conformance.h"

#define SUITES(X)                                                              \
    CONFORM_ALL_CASES(X, epoll)

CONFORM(rgm_provider_epoll, SUITES)
