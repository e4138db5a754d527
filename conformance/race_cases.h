/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_RACE_CASES_H
#define CONFORMANCE_RACE_CASES_H

/*
 * race_cases.h - an operation and its cancel, in every order; and a few things
 * that a faulty provider got away with.
 *
 * The spy decides the order: it holds cancels or completions back until the
 * case has seen what it wanted to see.
 */

#include "conformance/harness.h"

#define RACE_CASES(X, suite)                                                   \
    X(suite, cnf_09_a_read_and_its_cancel_in_every_order)                      \
    X(suite, cnf_09_a_write_and_its_cancel_in_every_order)                     \
    X(suite, cnf_09_an_accept_and_its_cancel_in_every_order)                   \
    X(suite, cnf_09_a_packet_and_its_cancel_in_every_order)                    \
    X(suite, cnf_09_a_pooled_datagram_and_its_cancel_in_every_order)           \
    X(suite, cnf_09_what_stays_held_when_the_asker_has_left)                   \
    X(suite, empty_reads_of_streams_are_no_ends)                               \
    X(suite, accept_says_who_has_connected)

RACE_CASES(CONFORM_DECLARE, race)

#endif /* CONFORMANCE_RACE_CASES_H */
