/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_MECHANICS_CASES_H
#define CONFORMANCE_MECHANICS_CASES_H

/* mechanics_cases.h - faults of the field that lie between a worker and whoever
 * does its work: a wake that is lost, a slot that is, an order that is. */

#include "conformance/harness.h"

#define MECHANICS_CASES(X, suite)                                              \
    X(suite, field_b02_one_job_at_a_time_and_nothing_else)                     \
    X(suite, field_b58_every_size_and_the_end_give_all_slots_back)             \
    X(suite, field_b59_records_keep_their_order_and_a_sync_comes_after)        \
    X(suite, field_b83_more_workers_than_cpus_stay_in_the_set)

MECHANICS_CASES(CONFORM_DECLARE, mechanics)

#endif /* CONFORMANCE_MECHANICS_CASES_H */
