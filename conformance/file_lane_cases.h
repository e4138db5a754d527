/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_FILE_LANE_CASES_H
#define CONFORMANCE_FILE_LANE_CASES_H

/* file_lane_cases.h - what must every provider show of lanes of files? A named
 * pipe is the gate: what is read from it waits until the case writes. */

#include "conformance/harness.h"

#define FILE_LANE_CASES(X, suite)                                              \
    X(suite, fil_04_lanes_overlap_and_outlive_the_share)                       \
    X(suite, fil_05_lane_takes_one_until_it_is_collected)                      \
    X(suite, fil_06_four_forms_answer_with_admission)                          \
    X(suite, fil_06_completion_outlives_lane_scope_and_share)                  \
    X(suite, fil_07_accepted_work_goes_on_uncollected)                         \
    X(suite, fil_08_close_waits_for_access_not_for_collection)                 \
    X(suite, fil_10_dropped_while_gated_it_is_kept_until_the_end)              \
    X(suite, fil_12_rest_is_written_while_somebody_drives)                     \
    X(suite, fil_17_live_lane_keeps_the_file_open)                             \
    X(suite, fil_19_lane_is_free_before_the_outcome_is_read)                   \
    X(suite, fil_20_close_and_collect_wait_side_by_side)                       \
    X(suite, fil_21_late_cancel_names_nobody)                                  \
    X(suite, fil_22_steady_state_allocates_nothing)                            \
    X(suite, lanes_refuse_what_they_cannot_do)                                 \
    X(suite, dropped_completion_keeps_no_runtime)

#define RING_FILE_LANE_CASES(X, suite)                                         \
    X(suite, fil_11_cancel_is_noticed_and_a_drop_asks_for_one)

FILE_LANE_CASES(CONFORM_DECLARE, file_lane)
RING_FILE_LANE_CASES(CONFORM_DECLARE, file_lane)

#endif /* CONFORMANCE_FILE_LANE_CASES_H */
