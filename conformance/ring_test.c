/* SPDX-License-Identifier: MIT */

/* ring_test.c - does the ring provider keep the contract? */

#include "conformance/clock_cases.h"
#include "conformance/lifecycle_cases.h"
#include "conformance/socket_cases.h"
#include "conformance/stream_cases.h"

#define SUITES(X)                                                             \
    CLOCK_CASES(X, ring_clock)                                                 \
    LIFECYCLE_CASES(X, ring_lifecycle)                                          \
    STREAM_CASES(X, ring_stream)                                              \
    SOCKET_CASES(X, ring_socket)

CONFORM(rgm_provider_ring, SUITES)
