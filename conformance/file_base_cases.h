/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_FILE_BASE_CASES_H
#define CONFORMANCE_FILE_BASE_CASES_H

/*
 * file_base_cases.h - what must every provider of files show, wherever they lie?
 *
 * All that a case knows of the store is what store.h offers. What only files of
 * the system can show is in file_cases.h.
 *
 *     ownership           owned transfers and their leases
 *     nothing too early   before the ask, and in a cancelled scope
 *     transfers           at the cursor, at an offset, at the end
 *     metadata, truncation, sync, errors
 */

#include "conformance/harness.h"

#define FILE_BASE_CASES(X, suite)                                              \
    X(suite, cnf_10_what_was_written_is_in_the_store)                          \
    X(suite, cnf_10_what_is_in_the_store_is_read)                              \
    X(suite, cnf_16_file_owners_come_back)                                     \
    X(suite, cnf_16_file_transfers_begin_with_the_ask)                         \
    X(suite, cnf_16_file_transfers_in_a_cancelled_scope_do_nothing)            \
    X(suite, cnf_16_file_cursor_and_offsets_are_apart)                         \
    X(suite, cnf_16_file_ends_and_empty_reads_are_told_apart)                  \
    X(suite, cnf_16_file_size_is_what_the_store_says)                          \
    X(suite, cnf_16_file_truncation_cuts_and_fills)                            \
    X(suite, cnf_16_file_sync_answers)                                         \
    X(suite, cnf_16_file_errors_have_their_numbers)                            \
    X(suite, cnf_16_file_flags_mean_what_they_say)

FILE_BASE_CASES(CONFORM_DECLARE, file_base)

#endif /* CONFORMANCE_FILE_BASE_CASES_H */
