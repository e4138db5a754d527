/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_LOCALITY_CASES_H
#define CONFORMANCE_LOCALITY_CASES_H

/* locality_cases.h - does anything depend on which worker a thread is? */

#include "conformance/harness.h"

#define LOCALITY_CASES(X, suite)                                               \
    X(suite, wkr_15_acquires_go_round_by_the_inbox)                            \
    X(suite, wkr_15_cancels_go_round_by_the_inbox)                             \
    X(suite, wkr_15_jobs_go_round_by_the_inbox)                                \
    X(suite, wkr_15_leases_go_round_by_the_inbox)                              \
    X(suite, wkr_15_blocking_waits_are_refused_all_the_same)

LOCALITY_CASES(CONFORM_DECLARE, locality)

#endif /* CONFORMANCE_LOCALITY_CASES_H */
