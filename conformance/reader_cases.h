/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_READER_CASES_H
#define CONFORMANCE_READER_CASES_H

/* reader_cases.h - what must input in pieces and frames show? */

#include "conformance/harness.h"

#define READER_CASES(X, suite)                                                 \
    X(suite, srd_01_opening_a_reader_does_nothing)                             \
    X(suite, bpl_17_a_reader_without_a_pool_gets_one_when_it_reads)            \
    X(suite, srd_02_piece_then_end_and_end_again)                              \
    X(suite, srd_10_urgent_data_stalls_nobody)                                 \
    X(suite, srd_11_reads_cross_urgent_marks)                                  \
    X(suite, srd_13_cancelled_requests_lose_no_piece)                          \
    X(suite, srd_13_piece_that_came_for_nobody_is_kept)                        \
    X(suite, srd_14_close_answers_when_the_read_is_home)                       \
    X(suite, srd_14_delivery_that_wins_the_race_is_delivered)                  \
    X(suite, srd_15_only_a_close_follows_a_close)                              \
    X(suite, srd_16_reader_keeps_its_stream_from_closing)                      \
    X(suite, srd_20_warm_reads_allocate_nothing)                               \
    X(suite, srd_21_nothing_is_held_between_reads)                             \
    X(suite, srd_22_exact_receives_and_looks_ahead)                            \
    X(suite, srd_22_lost_bytes_end_the_input_alone)                            \
    X(suite, srd_22_what_comes_after_lost_bytes_is_handed_to_nobody)           \
    X(suite, window_is_filled_and_no_further)                                  \
    X(suite, forgotten_readers_give_their_slots_back)                          \
    X(suite, stop_of_the_opener_ends_the_input)

READER_CASES(CONFORM_DECLARE, reader)

#endif /* CONFORMANCE_READER_CASES_H */
