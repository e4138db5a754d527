/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_DETACH_CASES_H
#define CONFORMANCE_DETACH_CASES_H

/* detach_cases.h - what must every provider show of sockets that move? */

#include "conformance/harness.h"

#define DETACH_CASES(X, suite)                                                 \
    X(suite, connection_moves_with_what_is_unread)                             \
    X(suite, listener_moves_with_its_backlog)                                  \
    X(suite, detach_needs_the_handle_alone)                                    \
    X(suite, refused_attach_hands_back)                                        \
    X(suite, stale_copy_attaches_nothing)                                      \
    X(suite, undelivered_message_has_it_still)                                 \
    X(suite, detached_outlives_its_worker)                                     \
    X(suite, what_nobody_attached_is_closed_with_its_runtime)                  \
    X(suite, cancelled_detach_is_all_or_nothing)                               \
    X(suite, soc_12_what_is_detached_is_of_no_runtime)

DETACH_CASES(CONFORM_DECLARE, detach)

#endif /* CONFORMANCE_DETACH_CASES_H */
