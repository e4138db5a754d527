/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_POOLED_CASES_H
#define CONFORMANCE_POOLED_CASES_H

/* pooled_cases.h - what must every provider show of reads into a pool? */

#include "conformance/harness.h"

#define POOLED_CASES(X, suite)                                                 \
    X(suite, srd_06_waiting_readers_hold_no_slot)                              \
    X(suite, srd_07_idle_connections_hold_nothing)                             \
    X(suite, bpl_09_one_byte_view_holds_the_slot)                              \
    X(suite, bpl_10_write_keeps_its_slot_until_it_is_over)                     \
    X(suite, bpl_23_frames_are_views_and_tails_are_copied)                     \
    X(suite, buf_05_owner_is_released_once_and_afterwards)                     \
    X(suite, buf_05_owner_outlives_its_asker)                                  \
    X(suite, swr_13_slot_is_home_with_the_answer)                              \
    X(suite, bpl_19_echo_lives_on_two_slots)                                   \
    X(suite, slot_freed_on_one_worker_feeds_another)                           \
    X(suite, closed_pool_ends_reads)                                           \
    X(suite, pooled_reads_come_in_order)

POOLED_CASES(CONFORM_DECLARE, pooled)

#endif /* CONFORMANCE_POOLED_CASES_H */
