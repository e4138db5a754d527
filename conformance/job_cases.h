/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_JOB_CASES_H
#define CONFORMANCE_JOB_CASES_H

/* job_cases.h - what must a runtime on any provider show of jobs? */

#include "conformance/harness.h"

#define JOB_CASES(X, suite)                                                    \
    X(suite, blk_01_cancelled_before_admission_it_never_runs)                  \
    X(suite, blk_01_nothing_runs_before_it_is_asked)                           \
    X(suite, blk_02_cancelled_in_the_queue_it_never_runs)                      \
    X(suite, blk_02_once_begun_its_own_result_stands)                          \
    X(suite, blk_03_place_is_held_until_the_function_returns)                  \
    X(suite, blk_04_only_who_asks_hears_the_wish)                              \
    X(suite, blk_05_stopped_actors_queued_jobs_are_skipped)                    \
    X(suite, blk_06_admission_and_result_are_apart)                            \
    X(suite, blk_07_cleanup_has_a_thread_of_its_own)                           \
    X(suite, blk_08_end_discards_what_is_queued_but_no_cleanup)                \
    X(suite, blk_09_each_runs_once_in_whatever_order)                          \
    X(suite, blk_10_fault_reaches_the_asker_unchanged)                         \
    X(suite, blk_11_nothing_is_allocated_free_or_waiting)                      \
    X(suite, blk_12_threads_are_the_runtimes_own)                              \
    X(suite, cnf_16_abandoned_jobs_run_and_are_released_once)                  \
    X(suite, opl_20_job_that_has_begun_runs_on)                                \
    X(suite, jobs_run_on_no_worker_and_cannot_await_the_end)                   \
    X(suite, jobs_do_not_hold_a_worker_up)

JOB_CASES(CONFORM_DECLARE, job)

#endif /* CONFORMANCE_JOB_CASES_H */
