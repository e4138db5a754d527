/* SPDX-License-Identifier: MIT */

/*
 * locality_cases.c - does anything depend on which worker a thread is?
 *
 * A library built with slow assertions does not use it to save a detour while
 * RGM_LOCALITY=off is in the environment: what a worker does for itself then
 * takes the road of any other thread, by the inbox and the bell. Cases of the
 * other lists show the same there. Other builds run them as they are.
 */

#include "conformance/locality_cases.h"

#include <stdlib.h>

#include "conformance/acquire_cases.h"
#include "conformance/cancel_cases.h"
#include "conformance/job_cases.h"
#include "conformance/lifecycle_cases.h"
#include "conformance/pooled_cases.h"
#include "conformance/worker_lease_cases.h"

static void
run_far(struct stage *stage, void (*const cases[])(struct stage *),
        unsigned cases_count)
{
    struct rgm_runtime_options options = stage->options;

    rgi_check(setenv("RGM_LOCALITY", "off", 1) == 0);
    for (unsigned i = 0; i < cases_count; i++) {
        stage->options = options;
        cases[i](stage);
    }
    rgi_check(unsetenv("RGM_LOCALITY") == 0);
}

#define RUN_FAR(stage, cases)                                                  \
    run_far(stage, cases, sizeof(cases) / sizeof((cases)[0]))

void
wkr_15_acquires_go_round_by_the_inbox(struct stage *stage)
{
    static void (*const cases[])(struct stage *) = {
        bpl_02_workers_share_one_budget,
        bpl_03_acquire_waits_and_try_does_not,
        bpl_03_cancel_leaves_the_slot_to_the_next,
        bpl_05_freed_anywhere_wakes_any_worker,
        bpl_14_closed_pool_ends_every_wait,
        acquires_of_a_worker_come_in_order,
        acquires_and_reads_share_a_slot,
        can_15_slot_on_its_way_beats_a_cancel,
        bpl_19_echo_lives_on_two_slots,
    };

    RUN_FAR(stage, cases);
}

void
wkr_15_cancels_go_round_by_the_inbox(struct stage *stage)
{
    static void (*const cases[])(struct stage *) = {
        can_10_waiting_in_a_scope_allocates_nothing,
        can_14_a_cancelled_scope_reaches_no_provider,
        can_18_a_cancel_undoes_nothing,
        opl_15_a_cancelled_scope_lets_clean_up_through,
    };

    RUN_FAR(stage, cases);
}

void
wkr_15_jobs_go_round_by_the_inbox(struct stage *stage)
{
    static void (*const cases[])(struct stage *) = {
        blk_02_cancelled_in_the_queue_it_never_runs,
        blk_05_stopped_actors_queued_jobs_are_skipped,
        blk_09_each_runs_once_in_whatever_order,
    };

    RUN_FAR(stage, cases);
}

void
wkr_15_leases_go_round_by_the_inbox(struct stage *stage)
{
    static void (*const cases[])(struct stage *) = {
        lse_03_taken_before_the_retirement_or_refused,
        lse_04_the_thread_stays_while_a_lease_is_held,
        lse_09_the_end_of_a_holder_runs_on_its_worker,
        lse_11_tokens_move_and_know_whether_they_hold,
        lse_14_who_took_it_is_its_holder_whoever_has_the_token,
        lse_16_a_lease_counts_where_nothing_else_is_out,
        lse_22_drained_destroyed_released_then_shut_down,
    };

    RUN_FAR(stage, cases);
}

void
wkr_15_blocking_waits_are_refused_all_the_same(struct stage *stage)
{
    static void (*const cases[])(struct stage *) = {
        opl_19_blocking_wait_on_a_worker_is_refused,
        jobs_run_on_no_worker_and_cannot_await_the_end,
    };

    RUN_FAR(stage, cases);
}
