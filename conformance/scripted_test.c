/* SPDX-License-Identifier: MIT */

/* scripted_test.c - does the scripted provider keep the contract? An automaton
 * plays the machine for those cases that know of no script (automaton.h), and its
 * time follows the machine's. It has streams and nothing else: no files, packets,
 * children, names of hosts. Left out are also cases that go on for long with
 * somebody who only looks now and then. */

#include "conformance/abroad_cases.h"
#include "conformance/acquire_cases.h"
#include "conformance/cancel_cases.h"
#include "conformance/clock_cases.h"
#include "conformance/crowd_cases.h"
#include "conformance/ending_cases.h"
#include "conformance/lifecycle_cases.h"
#include "conformance/owner_cases.h"
#include "conformance/pooled_cases.h"
#include "conformance/shutdown_cases.h"
#include "conformance/stream_cases.h"

#define SUITES(X)                                                              \
    X(scripted_abroad, opl_11_a_stream_is_used_by_another_runtime)             \
    X(scripted_abroad, opl_11_a_listener_accepts_for_another_runtime)          \
    X(scripted_abroad, opl_11_a_cancelled_read_loses_nothing)                  \
    X(scripted_abroad, opl_11_the_stop_of_either_ends_it)                      \
    X(scripted_abroad, opl_11_what_is_dropped_is_closed_by_its_own)            \
    X(scripted_abroad, opl_11_readers_and_writers_are_used)                    \
    X(scripted_acquire, bpl_02_workers_share_one_budget)                       \
    X(scripted_acquire, bpl_03_acquire_waits_and_try_does_not)                 \
    X(scripted_acquire, bpl_03_cancel_leaves_the_slot_to_the_next)             \
    X(scripted_acquire, bpl_03_plain_thread_waits)                             \
    X(scripted_acquire, bpl_05_freed_anywhere_wakes_any_worker)                \
    X(scripted_acquire, bpl_05_view_that_dies_elsewhere_wakes_the_waiter)      \
    X(scripted_acquire, bpl_12_eight_returns_wake_eight_workers)               \
    X(scripted_acquire, bpl_14_closed_pool_ends_every_wait)                    \
    X(scripted_acquire, bpl_14_pool_outlives_its_runtime)                      \
    X(scripted_acquire, can_14_bad_acquires_are_answers)                       \
    X(scripted_acquire, bpl_15_leak_is_told_with_its_holder)                   \
    X(scripted_acquire, acquires_of_a_worker_come_in_order)                    \
    X(scripted_acquire, acquires_and_reads_share_a_slot)                       \
    X(scripted_acquire, stop_ends_the_waits)                                   \
    X(scripted_acquire, waits_for_several_pools_are_apart)                     \
    X(scripted_acquire, can_15_slot_on_its_way_beats_a_cancel)                 \
    X(scripted_acquire, can_17_wait_on_another_worker_is_cancelled)            \
    X(scripted_acquire, cancel_races_with_the_slot)                            \
    X(scripted_cancel, can_10_waiting_in_a_scope_allocates_nothing)            \
    X(scripted_cancel, can_14_a_cancelled_scope_reaches_no_provider)           \
    X(scripted_cancel, opl_04_an_abandoned_read_holds_its_memory_to_the_end)   \
    X(scripted_cancel, opl_15_a_cancelled_scope_lets_clean_up_through)         \
    X(scripted_cancel, clk_11_a_write_that_timed_out_still_arrives)            \
    X(scripted_cancel, a_deadline_ends_a_read_and_the_stream_goes_on)          \
    X(scripted_cancel, a_blocking_call_has_a_time_limit)                       \
    X(scripted_cancel, an_operation_of_another_worker_expires)                 \
    X(scripted_cancel, field_b43_memory_is_ours_when_the_answer_is_there)      \
    X(scripted_cancel, field_b44_bytes_that_came_with_the_cancel_are_told)     \
    X(scripted_cancel, field_b50_answers_just_before_the_deadline)             \
    X(scripted_cancel, field_b52_a_write_after_one_that_expired)               \
    X(scripted_lifecycle, opl_01_preparing_has_no_effect)                      \
    X(scripted_lifecycle, opl_02_admission_waits_in_line_or_refuses)           \
    X(scripted_lifecycle, opl_05_neither_awaited_nor_abandoned)                \
    X(scripted_lifecycle, opl_06_owner_comes_back_on_every_outcome)            \
    X(scripted_lifecycle, opl_07_short_counts_are_passed_through)              \
    X(scripted_lifecycle, opl_08_one_answer_for_each_ask)                      \
    X(scripted_lifecycle, opl_10_handle_of_another_runtime_is_refused)         \
    X(scripted_lifecycle, opl_12_reading_is_a_capability_by_itself)            \
    X(scripted_lifecycle, opl_15_cleanup_works_while_all_else_is_cancelled)    \
    X(scripted_lifecycle, opl_16_cleanup_survives_who_asked)                   \
    X(scripted_lifecycle, dropped_in_stopped_is_closed)                        \
    X(scripted_lifecycle, opl_17_clean_up_is_answered_or_only_admitted)        \
    X(scripted_lifecycle, opl_18_checks_come_before_the_first_attempt)         \
    X(scripted_lifecycle, opl_19_blocking_wait_on_a_worker_is_refused)         \
    X(scripted_lifecycle, opl_21_runtime_outlives_its_handles)                 \
    X(scripted_lifecycle, opl_24_used_by_eight_threads_at_once)                \
    X(scripted_lifecycle, can_06_cancel_says_nothing_about_the_end)            \
    X(scripted_lifecycle, can_14_cancelled_scope_submits_nothing)              \
    X(scripted_lifecycle, can_15_progress_beats_a_cancel)                      \
    X(scripted_lifecycle, can_16_cancelled_is_not_interrupted)                 \
    X(scripted_lifecycle, buf_02_only_the_bytes_of_the_transfer)               \
    X(scripted_lifecycle, buf_06_release_may_use_the_runtime)                  \
    X(scripted_lifecycle, owners_are_released_once_whatever_happens)           \
    X(scripted_pooled, srd_06_waiting_readers_hold_no_slot)                    \
    X(scripted_pooled, bpl_09_one_byte_view_holds_the_slot)                    \
    X(scripted_pooled, bpl_10_write_keeps_its_slot_until_it_is_over)           \
    X(scripted_pooled, bpl_23_frames_are_views_and_tails_are_copied)           \
    X(scripted_pooled, buf_05_owner_outlives_its_asker)                        \
    X(scripted_pooled, swr_13_slot_is_home_with_the_answer)                    \
    X(scripted_pooled, slot_freed_on_one_worker_feeds_another)                 \
    X(scripted_pooled, closed_pool_ends_reads)                                 \
    X(scripted_pooled, pooled_reads_come_in_order)                             \
    X(scripted_stream, bytes_arrive_as_they_were_sent)                         \
    X(scripted_stream, srd_02_chunk_then_end_and_end_again)                    \
    X(scripted_stream, srd_05_nothing_is_read_ahead)                           \
    X(scripted_stream, srd_09_data_and_end_in_one_burst)                       \
    X(scripted_stream, srd_13_cancelled_reads_lose_nothing)                    \
    X(scripted_stream, srd_15_after_close_only_closes)                         \
    X(scripted_stream, srd_16_teardown_has_an_order)                           \
    X(scripted_stream, srd_17_stream_is_used_from_every_worker)                \
    X(scripted_stream, srd_18_waiting_read_blocks_nobody)                      \
    X(scripted_stream, swr_01_making_a_writer_sends_nothing)                   \
    X(scripted_stream, swr_04_accepted_write_goes_on_by_itself)                \
    X(scripted_stream, swr_07_empty_write_is_a_success)                        \
    X(scripted_stream, swr_21_write_all_gets_through_a_small_buffer)           \
    X(scripted_stream, vec_06_vectors_stay_as_they_were)                       \
    X(scripted_stream, many_vectors_are_one_write)                             \
    X(scripted_stream, some_is_one_short_transfer)                             \
    X(scripted_stream, cancelled_write_says_how_much_went_out)                 \
    X(scripted_stream, failed_connect_leaves_the_handle)                       \
    X(scripted_stream, reset_is_an_error_with_its_number)                      \
    X(scripted_stream, field_b61_shutdown_after_a_reset)                       \
    X(scripted_stream, field_b71_half_closed_and_drained)                      \
    X(scripted_stream, field_b74_no_signal_from_any_send)                      \
    X(scripted_crowd, opl_23_one_source_of_a_protocol)                         \
    X(scripted_owner, buf_07_nothing_of_a_stream_tells_its_condition)          \
    X(scripted_owner, bpl_17_a_pool_is_made_by_the_first_read_that_needs_it)   \
    X(scripted_owner, bpl_17_what_is_leased_outlives_its_worker)               \
    X(scripted_clock, clk_01_time_never_steps_back)                            \
    X(scripted_clock, clk_04_sleep_counts_from_the_ask)                        \
    X(scripted_clock, clk_05_what_wins_when_both_have_come)                    \
    X(scripted_clock, clk_06_withdrawn_sleep_leaves_nothing)                   \
    X(scripted_clock, clk_13_wall_clock_may_jump)                              \
    X(scripted_clock, tmr_13_close_with_sleeps_of_all_kinds)                   \
    X(scripted_clock, tmr_15_nearest_deadline_limits_the_wait)                 \
    X(scripted_clock, tmr_16_shortest_deadlines_to_a_worker_that_falls_asleep) \
    X(scripted_clock, tmr_17_sleep_is_asked_from_a_wake)                       \
    X(scripted_clock, due_sleeps_come_while_the_worker_is_busy)                \
    X(scripted_clock, field_b79_never_early_and_huge_is_not_now)               \
    X(scripted_clock, field_b80_absolute_and_without_spinning)                 \
    X(scripted_ending, shd_08_a_job_that_runs_is_waited_for_and_named)         \
    X(scripted_ending, shd_11_stop_and_wait_for_oneself_is_refused)            \
    X(scripted_ending, shd_13_eight_callers_with_limits_see_one_end)           \
    X(scripted_ending, shd_15_no_end_before_the_last_callback_and_the_driver)  \
    X(scripted_shutdown, shd_11_waiting_for_oneself_is_refused)                \
    X(scripted_shutdown, shd_13_eight_callers_see_one_end)                     \
    X(scripted_shutdown, shd_14_thread_destructors_are_their_own)

static const struct stage_fixture scripted = {
    .class = &rgm_provider_scripted,
    .set_up = stage_script_begin,
    .clean_up = stage_script_end,
};

CONFORM_FIXTURE(scripted, SUITES)
