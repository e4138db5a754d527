/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_DATAGRAM_CASES_H
#define CONFORMANCE_DATAGRAM_CASES_H

/* datagram_cases.h - what must every provider show of packets that are read into
 * a pool? */

#include "conformance/harness.h"

#define DATAGRAM_CASES(X, suite)                                               \
    X(suite, pkt_01_pooled_datagrams_of_any_length)                            \
    X(suite, pkt_02_a_slot_cuts_and_says_so)                                   \
    X(suite, pkt_04_pooled_datagram_that_raced_a_cancel_is_not_lost)           \
    X(suite, pkt_05_pooled_source_may_be_absent)                               \
    X(suite, pkt_06_bytes_are_those_that_came)                                 \
    X(suite, pkt_06_who_changes_them_is_alone)                                 \
    X(suite, pkt_06_taken_out_is_exactly_the_bytes)                            \
    X(suite, pkt_09_borrowed_and_owned_are_alike)                              \
    X(suite, pkt_11_reads_that_wait_hold_no_slot)                              \
    X(suite, pkt_11_what_is_there_takes_one_attempt)                           \
    X(suite, pkt_11_data_without_a_slot_waits_in_line)                         \
    X(suite, bpl_10_datagram_waits_and_its_pool_is_closed)                     \
    X(suite, asked_again_a_datagram_is_not_overwritten)                        \
    X(suite, field_b70_pooled_bursts)

DATAGRAM_CASES(CONFORM_DECLARE, datagram)

#endif /* CONFORMANCE_DATAGRAM_CASES_H */
