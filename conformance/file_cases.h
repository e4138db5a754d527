/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_FILE_CASES_H
#define CONFORMANCE_FILE_CASES_H

/* file_cases.h - what must every provider show of files and directories?
 * Everything lies in a directory of the case's own, and is looked at by plain
 * system calls. */

#include "conformance/harness.h"

#define FILE_CASES(X, suite)                                                   \
    X(suite, fil_01_append_mode_is_told_apart)                                 \
    X(suite, fil_01_foreign_descriptors_are_refused)                           \
    X(suite, fil_01_import_takes_a_file_over)                                  \
    X(suite, fil_02_handles_share_one_cursor)                                  \
    X(suite, fil_02_seek_moves_it_for_all)                                     \
    X(suite, fil_03_positioned_transfers_leave_the_cursor)                     \
    X(suite, fil_03_offsets_end_at_the_signed_range)                           \
    X(suite, fil_05_cursor_has_one_user_until_collected)                       \
    X(suite, fil_09_sync_only_when_asked)                                      \
    X(suite, fil_10_lease_comes_back_on_every_path)                            \
    X(suite, fil_13_short_reads_ends_and_errors_pass)                          \
    X(suite, fil_14_metadata_is_what_fstat_says)                               \
    X(suite, fil_14_truncate_both_ways)                                        \
    X(suite, fil_15_allocation_modes_are_told_apart)                           \
    X(suite, fil_16_advice_needs_no_room)                                      \
    X(suite, fil_17_close_needs_sole_use)                                      \
    X(suite, fil_18_fault_of_a_file_job_reaches_its_asker)                     \
    X(suite, fil_23_copy_with_two_slots)                                       \
    X(suite, field_b76_preallocating_keeps_what_is_there)                      \
    X(suite, field_b77_failed_sync_is_remembered_until_acknowledged)           \
    X(suite, names_of_files_are_what_the_system_says)                          \
    X(suite, directories_are_read_by_a_thread_where_the_provider_cannot)       \
    X(suite, open_flags_are_checked_and_mean_what_open_means)                  \
    X(suite, many_positioned_transfers_at_once)                                \
    X(suite, vectors_scatter_and_gather)                                       \
    X(suite, all_forms_finish_what_is_short)                                   \
    X(suite, paths_are_renamed_made_and_removed)                               \
    X(suite, directories_are_listed)                                           \
    X(suite, empty_transfers_are_no_ends)                                      \
    X(suite, file_work_leaves_no_descriptor_and_no_memory)

FILE_CASES(CONFORM_DECLARE, file)

#endif /* CONFORMANCE_FILE_CASES_H */
