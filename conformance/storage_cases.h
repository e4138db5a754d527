/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_STORAGE_CASES_H
#define CONFORMANCE_STORAGE_CASES_H

/* storage_cases.h - what must every provider show of pools without a slab? */

#include "conformance/harness.h"

#define STORAGE_CASES(X, suite)                                                \
    X(suite, bpl_16_pool_of_heap_memory_serves_acquires)                       \
    X(suite, bpl_16_pool_of_heap_memory_feeds_reads)                           \
    X(suite, bpl_16_pool_of_heap_memory_feeds_a_reader)                        \
    X(suite, bpl_16_read_without_memory_is_told)

STORAGE_CASES(CONFORM_DECLARE, storage)

#endif /* CONFORMANCE_STORAGE_CASES_H */
