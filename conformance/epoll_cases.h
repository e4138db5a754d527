/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_EPOLL_CASES_H
#define CONFORMANCE_EPOLL_CASES_H

/* epoll_cases.h - what must the epoll provider show besides? */

#include "conformance/harness.h"

#define EPOLL_CASES(X, suite)                                                  \
    X(suite, can_19b_end_of_the_worker_ends_the_wait)                          \
    X(suite, epo_01_sets_and_bells_are_all_it_has)                             \
    X(suite, epo_11_all_who_wait_at_a_worker_that_closes_are_told)

EPOLL_CASES(CONFORM_DECLARE, epoll)

#endif /* CONFORMANCE_EPOLL_CASES_H */
