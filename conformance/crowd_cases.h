/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_CROWD_CASES_H
#define CONFORMANCE_CROWD_CASES_H

/* crowd_cases.h - what must every provider show under many connections? */

#include "conformance/harness.h"

#define CROWD_CASES(X, suite)                                                  \
    X(suite, opl_23_one_source_of_a_protocol)                                  \
    X(suite, echo_round_trips_allocate_nothing)                                \
    X(suite, half_of_a_crowd_reset_and_the_others_go_on)                       \
    X(suite, short_transfers_everywhere)                                       \
    X(suite, descriptors_run_out_and_come_back)

CROWD_CASES(CONFORM_DECLARE, crowd)

/* For providers in which a connection that waits costs no time. */
void idle_connections_cost_no_time_and_little_memory(struct stage *stage);

#endif /* CONFORMANCE_CROWD_CASES_H */
