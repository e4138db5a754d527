/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_RETIRE_CASES_H
#define CONFORMANCE_RETIRE_CASES_H

/* retire_cases.h - what must every provider show when a worker goes, and its
 * actors do not? */

#include "conformance/harness.h"

#define RETIRE_CASES(X, suite)                                                 \
    X(suite, opl_09_an_operation_ends_where_it_was_accepted)                   \
    X(suite, opl_09_an_operation_stays_while_its_actor_moves)                  \
    X(suite, tmr_24_a_sleep_stays_with_the_worker_that_took_it)                \
    X(suite, tmr_24_a_sleep_goes_on_while_its_actor_moves)                     \
    X(suite, urg_33_what_waits_at_a_worker_that_closes_gets_an_error)          \
    X(suite, an_actor_moves_with_its_connection)

RETIRE_CASES(CONFORM_DECLARE, retire)

#endif /* CONFORMANCE_RETIRE_CASES_H */
