/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_PACKET_CASES_H
#define CONFORMANCE_PACKET_CASES_H

/* packet_cases.h - what must every provider show of packet sockets? */

#include "conformance/harness.h"

#define PACKET_CASES(X, suite)                                                 \
    X(suite, pkt_01_datagrams_of_any_length_are_messages)                      \
    X(suite, pkt_02_boundaries_are_kept_and_cuts_told)                         \
    X(suite, pkt_03_first_attempt_is_made_at_once)                             \
    X(suite, pkt_04_datagram_that_raced_a_cancel_is_not_lost)                  \
    X(suite, pkt_05_source_may_be_absent)                                      \
    X(suite, pkt_05_ipv6_source_has_its_scope)                                 \
    X(suite, pkt_07_streams_and_packets_refuse_each_other)                     \
    X(suite, pkt_08_both_ways_at_once)                                         \
    X(suite, pkt_09_pieces_and_flags_are_alike)                                \
    X(suite, pkt_10_record_may_move_until_it_is_asked)                         \
    X(suite, soc_01_packet_sockets_have_a_life)                                \
    X(suite, field_b70_order_cuts_and_empty_ones)                              \
    X(suite, packet_open_checks_its_ends)                                      \
    X(suite, refused_peer_is_an_answer_and_the_socket_lives)                   \
    X(suite, packets_leave_no_descriptor_and_no_memory)

PACKET_CASES(CONFORM_DECLARE, packet)

#endif /* CONFORMANCE_PACKET_CASES_H */
