/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_TRANSFER_CASES_H
#define CONFORMANCE_TRANSFER_CASES_H

/* transfer_cases.h - what must transfers at once show, and waiting for them? */

#include "conformance/harness.h"

#define TRANSFER_CASES(X, suite)                                               \
    X(suite, srd_03_one_short_transfer_leaves_the_vectors)                     \
    X(suite, srd_04_waiting_read_holds_no_memory)                              \
    X(suite, srd_04_waiting_write_holds_no_memory)                             \
    X(suite, srd_18_false_readiness_leads_back_to_waiting)                     \
    X(suite, srd_23_flags_are_checked_before_any_attempt)                      \
    X(suite, srd_23_peek_wait_all_and_no_signal)                               \
    X(suite, swr_15_ready_write_asks_nothing)                                  \
    X(suite, mbx_08_ready_borrowed_transfer_takes_no_route)                    \
    X(suite, soc_11_readiness_uses_nothing_up)                                 \
    X(suite, transfers_are_made_where_the_handle_is)                           \
    X(suite, data_end_and_nothing_are_three_answers)

TRANSFER_CASES(CONFORM_DECLARE, transfer)

/* The ring's alone. */
#define TRANSFER_RING_CASES(X, suite)                                          \
    X(suite, urg_18_borrowed_transfers_wait_by_one_poll)                       \
    X(suite, urg_19_readiness_keeps_only_the_socket)

TRANSFER_RING_CASES(CONFORM_DECLARE, transfer)

#endif /* CONFORMANCE_TRANSFER_CASES_H */
