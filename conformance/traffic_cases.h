/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_TRAFFIC_CASES_H
#define CONFORMANCE_TRAFFIC_CASES_H

/* traffic_cases.h - do the counters say what has happened? */

#include "conformance/harness.h"

#define TRAFFIC_CASES(X, suite)                                                \
    X(suite, met_03_counters_equal_the_workload)                               \
    X(suite, met_03_process_counts_its_pools_and_memory)

TRAFFIC_CASES(CONFORM_DECLARE, traffic)

#endif /* CONFORMANCE_TRAFFIC_CASES_H */
