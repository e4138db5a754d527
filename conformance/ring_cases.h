/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_RING_CASES_H
#define CONFORMANCE_RING_CASES_H

/* ring_cases.h - what must the ring provider show besides? */

#include "conformance/crowd_cases.h"

#define RING_CASES(X, suite)                                                   \
    X(suite, srd_19_waking_for_one_repeats_no_other)                           \
    X(suite, srd_24_a_pooled_read_costs_one_entry_a_message)                   \
    X(suite, tmr_22_expired_before_staging_takes_no_entry)                     \
    X(suite, tmr_22_in_flight_costs_one_cancel)                                \
    X(suite, tmr_22_queued_ends_without_the_kernel)                            \
    X(suite, urg_21_rings_share_one_fallback)                                  \
    X(suite, urg_23_close_turns_until_all_are_out)                             \
    X(suite, urg_25_queue_is_handed_back_before_the_end)                       \
    X(suite, urg_26_two_places_and_four_operations)                            \
    X(suite, urg_28_registered_writes_are_carried_out)                         \
    X(suite, urg_28_given_up_in_line_a_write_is_carried_out)                   \
    X(suite, urg_28_a_read_that_is_left_is_cancelled)                          \
    X(suite, urg_19_a_wait_that_is_left_is_cancelled)                          \
    X(suite, urg_28_writes_in_line_outlive_asker_and_worker)                   \
    X(suite, urg_27_more_cancels_than_entries)                                 \
    X(suite, waiting_reads_allocate_nothing)                                   \
    X(suite, idle_connections_cost_no_time_and_little_memory)                  \
    X(suite, send_file_without_a_pipe_says_so)

RING_CASES(CONFORM_DECLARE, ring)

#endif /* CONFORMANCE_RING_CASES_H */
