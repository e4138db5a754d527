/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_WRITER_CASES_H
#define CONFORMANCE_WRITER_CASES_H

/* writer_cases.h - what must output that is handed over show? */

#include "conformance/harness.h"

#define WRITER_CASES(X, suite)                                                 \
    X(suite, swr_01_opening_a_writer_sends_nothing)                            \
    X(suite, swr_02_submit_waits_for_the_one_before)                           \
    X(suite, swr_03_refused_submit_has_its_owner_still)                        \
    X(suite, swr_04_submitted_write_goes_on_by_itself)                         \
    X(suite, swr_05_one_unfinished_write_in_submission_order)                  \
    X(suite, swr_06_failure_after_acceptance_is_the_end)                       \
    X(suite, swr_07_empty_submit_is_a_success)                                 \
    X(suite, swr_08_cancel_in_line_leaves_the_one_before)                      \
    X(suite, swr_09_cancel_after_acceptance_ends_the_output)                   \
    X(suite, swr_10_flush_answers_when_all_is_in_the_socket)                   \
    X(suite, swr_11_close_is_neither_flush_nor_shutdown)                       \
    X(suite, swr_11_error_is_told_once)                                        \
    X(suite, swr_12_drop_does_not_wait)                                        \
    X(suite, swr_12_forgotten_writers_are_safe)                                \
    X(suite, swr_13_submitted_lease_is_home_without_a_flush)                   \
    X(suite, swr_14_borrowed_write_keeps_to_the_end_of_the_output)             \
    X(suite, swr_22_two_writers_of_one_stream)                                 \
    X(suite, stop_of_the_opener_ends_the_output)

WRITER_CASES(CONFORM_DECLARE, writer)

/* The ring's alone. */
#define WRITER_RING_CASES(X, suite)                                            \
    X(suite, swr_16_nothing_is_lost_between_send_and_entry)                    \
    X(suite, swr_20_stalled_write_is_the_rings_own)                            \
    X(suite, swr_23_writer_goes_on_while_the_kernel_holds_a_piece)             \
    X(suite, urg_20_ready_submit_has_no_entry_and_a_read_has_one)

WRITER_RING_CASES(CONFORM_DECLARE, writer)

#endif /* CONFORMANCE_WRITER_CASES_H */
