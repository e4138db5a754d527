/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SEND_FILE_CASES_H
#define CONFORMANCE_SEND_FILE_CASES_H

/* send_file_cases.h - what must every provider show of files that are sent, and
 * of paths that stay within a directory? */

#include "conformance/harness.h"

#define SEND_FILE_CASES(X, suite)                                              \
    X(suite, files_are_sent_whole_and_in_parts)                                \
    X(suite, sent_file_gets_through_a_small_buffer)                            \
    X(suite, sent_files_of_slow_peers_hold_no_descriptor)                      \
    X(suite, cancelled_send_file_says_how_much_went_out)                       \
    X(suite, send_file_ends_where_the_file_does)                               \
    X(suite, send_file_that_shrinks_under_way_says_what_went_out)              \
    X(suite, send_file_refuses_what_it_cannot_send)                            \
    X(suite, handles_are_busy_while_a_file_is_sent)                            \
    X(suite, field_b73_send_file_in_either_descriptor_mode)                    \
    X(suite, field_b74_no_signal_from_a_sent_file)                             \
    X(suite, paths_within_a_directory_stay_there)

SEND_FILE_CASES(CONFORM_DECLARE, send_file)

/* For a provider that needs pipes. */
void send_file_without_a_pipe_says_so(struct stage *stage);

#endif /* CONFORMANCE_SEND_FILE_CASES_H */
