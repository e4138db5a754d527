/* SPDX-License-Identifier: MIT */

/* ring_test.c - does the ring provider keep the contract? */

#include "conformance/conformance.h"
#include "conformance/ring_cases.h"

#define SUITES(X)                                                              \
    CONFORM_ALL_CASES(X, ring)                                                 \
    RING_CASES(X, ring_only)                                                   \
    RING_FILE_LANE_CASES(X, ring_file_lane)                                    \
    RECEIVER_RING_CASES(X, ring_receiver)                                      \
    TRANSFER_RING_CASES(X, ring_transfer)                                      \
    WRITER_RING_CASES(X, ring_writer)

CONFORM(rgm_provider_ring, SUITES)
