/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_STREAM_CASES_H
#define CONFORMANCE_STREAM_CASES_H

/* stream_cases.h - what must every provider of streams show? */

#include "conformance/harness.h"

/* What any stream can show, whatever it is made of. */
#define STREAM_BASE_CASES(X, suite)                                            \
    X(suite, bytes_arrive_as_they_were_sent)                                   \
    X(suite, srd_09_data_and_end_in_one_burst)                                 \
    X(suite, srd_13_cancelled_reads_lose_nothing)                              \
    X(suite, srd_15_after_close_only_closes)                                   \
    X(suite, srd_16_teardown_has_an_order)                                     \
    X(suite, srd_17_stream_is_used_from_every_worker)                          \
    X(suite, swr_01_making_a_writer_sends_nothing)                             \
    X(suite, swr_04_accepted_write_goes_on_by_itself)                          \
    X(suite, swr_07_empty_write_is_a_success)                                  \
    X(suite, swr_22_two_writers_keep_their_own_order)                          \
    X(suite, vec_06_vectors_stay_as_they_were)                                 \
    X(suite, many_vectors_are_one_write)                                       \
    X(suite, some_is_one_short_transfer)                                       \
    X(suite, cancelled_write_says_how_much_went_out)                           \
    X(suite, reset_is_an_error_with_its_number)                                \
    X(suite, field_b61_shutdown_after_a_reset)                                 \
    X(suite, field_b71_half_closed_and_drained)

/* What takes descriptors, options or a pool. */
#define STREAM_SOCKET_CASES(X, suite)                                          \
    X(suite, srd_02_chunk_then_end_and_end_again)                              \
    X(suite, srd_05_nothing_is_read_ahead)                                     \
    X(suite, srd_18_waiting_read_blocks_nobody)                                \
    X(suite, swr_21_write_all_gets_through_a_small_buffer)                     \
    X(suite, failed_connect_leaves_the_handle)                                 \
    X(suite, field_b73_either_descriptor_mode)                                 \
    X(suite, field_b74_no_signal_from_any_send)

#define STREAM_CASES(X, suite)                                                 \
    STREAM_BASE_CASES(X, suite)                                                \
    STREAM_SOCKET_CASES(X, suite)

STREAM_CASES(CONFORM_DECLARE, stream)

#endif /* CONFORMANCE_STREAM_CASES_H */
