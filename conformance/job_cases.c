/* SPDX-License-Identifier: MIT */

/* job_cases.c - what must a runtime on any provider show of jobs? */

#include "conformance/job_cases.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "conformance/shim.h"

#define HERE rgm_worker_address(0)

/* ------------------------------------------------------------------ the gate */

/* Jobs that are held in their function until the case lets them go. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    uint32_t inside;
    bool open;
};

#define GATE_INITIALIZER                                                       \
    {                                                                          \
        .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER   \
    }

struct held {
    struct rgm_job job;
    struct track track;
    struct gate *gate;
    long thread;
    uint32_t runs;
};

/* A step needs its record to be called op. */
#define op job
_Static_assert(offsetof(struct held, track) == sizeof(struct rgm_job),
               "the track lies right behind the record");

static int64_t
held_run(struct rgm_job *job)
{
    struct held *held = (struct held *)(void *)job;
    struct gate *gate = held->gate;

    held->runs++;
    held->thread = syscall(SYS_gettid);
    if (gate == NULL)
        return 1;
    pthread_mutex_lock(&gate->lock);
    gate->inside++;
    pthread_cond_broadcast(&gate->moved);
    while (!gate->open)
        pthread_cond_wait(&gate->moved, &gate->lock);
    gate->inside--;
    pthread_mutex_unlock(&gate->lock);
    return rgm_job_is_cancelled(job) ? 3 : 2;
}

static void
gate_await(struct gate *gate, uint32_t inside)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->inside != inside)
        pthread_cond_wait(&gate->moved, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void
gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->moved);
    pthread_mutex_unlock(&gate->lock);
}

static void
held_prepare(struct held *held, struct gate *gate)
{
    memset(held, 0, sizeof(*held));
    rgm_job_run(&held->job, HERE, held_run);
    held->gate = gate;
}

/* ---------------------------------------------------------------- cancelling */

/* A job that is in a system call until somebody writes. */
struct in_a_call {
    struct rgm_job job;
    struct track track;
    struct gate *gate;
    int pipe[2];
    char bytes[16];
};

static int64_t
in_a_call_run(struct rgm_job *job)
{
    struct in_a_call *call = (struct in_a_call *)(void *)job;

    pthread_mutex_lock(&call->gate->lock);
    call->gate->inside++;
    pthread_cond_broadcast(&call->gate->moved);
    pthread_mutex_unlock(&call->gate->lock);
    return read(call->pipe[0], call->bytes, sizeof(call->bytes));
}

/* The wish changes nothing: what the call has done is what is told. */
void
opl_20_job_that_has_begun_runs_on(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct in_a_call call = {.gate = &gate};

    rgi_check(pipe(call.pipe) == 0);
    stage_open(stage);
    rgm_job_run(&call.job, HERE, in_a_call_run);
    stage_begin(stage, &call);
    gate_await(&gate, 1);
    stage_cancel(stage, &call);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &call));
    rgi_check(write(call.pipe[1], "12345", 5) == 5);
    rgi_check(stage_end(stage, &call) == 0);
    rgi_check(call.job.ran && call.job.result == 5);
    rgi_check(memcmp(call.bytes, "12345", 5) == 0);
    stage_close(stage);
    close(call.pipe[0]);
    close(call.pipe[1]);
}

void
blk_01_nothing_runs_before_it_is_asked(struct stage *stage)
{
    struct held held;

    stage_open(stage);
    held_prepare(&held, NULL);
    rgi_check(held.runs == 0);
    rgi_check(stage_run(stage, &held) == 0);
    rgi_check(held.runs == 1 && held.job.ran && held.job.result == 1);
    rgi_check(stage_run(stage, &held) == 0 && held.runs == 2);
    rgm_job_run(&held.job, HERE, NULL);
    rgi_check(stage_run(stage, &held) == -EINVAL && held.runs == 2);
    stage_close(stage);
}

void
blk_01_cancelled_before_admission_it_never_runs(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct held first;
    struct held second;
    struct held third;

    stage->options.job_threads = 1;
    stage->options.jobs_max = 1;
    stage_open(stage);
    held_prepare(&first, &gate);
    held_prepare(&second, NULL);
    held_prepare(&third, NULL);
    stage_begin(stage, &first);
    gate_await(&gate, 1);
    stage_begin(stage, &second); /* wait for the one place */
    stage_begin(stage, &third);
    stage_cancel(stage, &second);
    rgi_check(stage_end(stage, &second) == -ECANCELED);
    rgi_check(!second.job.ran && second.runs == 0);
    rgi_check(stage_is_out(stage, &third));
    gate_open(&gate);
    rgi_check(stage_end(stage, &first) == 0);
    rgi_check(stage_end(stage, &third) == 0 && third.runs == 1);
    stage_close(stage);
}

void
blk_02_cancelled_in_the_queue_it_never_runs(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct held first;
    struct held second;

    stage->options.job_threads = 1;
    stage_open(stage);
    held_prepare(&first, &gate);
    held_prepare(&second, NULL);
    stage_begin(stage, &first);
    gate_await(&gate, 1);
    stage_begin(stage, &second); /* admitted, and no thread for it */
    stage_cancel(stage, &second);
    rgi_check(stage_end(stage, &second) == -ECANCELED);
    gate_open(&gate);
    rgi_check(stage_end(stage, &first) == 0);
    rgi_check(second.runs == 0 && !second.job.ran);
    stage_close(stage);
}

void
blk_02_once_begun_its_own_result_stands(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct held held;

    stage_open(stage);
    held_prepare(&held, &gate);
    stage_begin(stage, &held);
    gate_await(&gate, 1);
    stage_cancel(stage, &held);
    (void)stage_counters(stage); /* turns pass */
    rgi_check(stage_is_out(stage, &held));
    gate_open(&gate);
    rgi_check(stage_end(stage, &held) == 0);
    rgi_check(held.job.ran && held.job.result == 3);
    stage_close(stage);
}

void
blk_03_place_is_held_until_the_function_returns(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct held first;
    struct held second;

    stage->options.job_threads = 2;
    stage->options.jobs_max = 1;
    stage_open(stage);
    held_prepare(&first, &gate);
    held_prepare(&second, NULL);
    stage_begin(stage, &first);
    gate_await(&gate, 1);
    stage_cancel(stage, &first); /* nobody wants it any more */
    stage_begin(stage, &second);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &second) && second.runs == 0);
    gate_open(&gate);
    rgi_check(stage_end(stage, &first) == 0);
    rgi_check(stage_end(stage, &second) == 0 && second.runs == 1);
    stage_close(stage);
}

void
blk_04_only_who_asks_hears_the_wish(struct stage *stage)
{
    struct gate first_gate = GATE_INITIALIZER;
    struct gate second_gate = GATE_INITIALIZER;
    struct held cooperative;
    struct held untouched;

    stage_open(stage);
    held_prepare(&cooperative, &first_gate);
    held_prepare(&untouched, &second_gate);
    stage_begin(stage, &cooperative);
    stage_begin(stage, &untouched);
    gate_await(&first_gate, 1);
    gate_await(&second_gate, 1);
    stage_cancel(stage, &cooperative);
    gate_open(&first_gate);
    gate_open(&second_gate);
    rgi_check(stage_end(stage, &cooperative) == 0);
    rgi_check(stage_end(stage, &untouched) == 0);
    rgi_check(cooperative.job.result == 3 && untouched.job.result == 2);
    stage_close(stage);
}

/* ------------------------------------------------------------------- the end */

/* Begins two jobs, of which one runs and one is queued, and a clean-up. */
static void
begin_three(struct stage *stage, struct gate *gate, struct held *held)
{
    stage->options.job_threads = 1;
    stage_open(stage);
    held_prepare(&held[0], gate);
    held_prepare(&held[1], NULL);
    held_prepare(&held[2], NULL);
    held[2].job.cleanup = true;
    stage_begin(stage, &held[0]);
    gate_await(gate, 1);
    stage_begin(stage, &held[1]);
}

static void
stop_puppet(struct puppet *puppet, void *argument)
{
    (void)argument;
    rgm_stop(puppet);
}

void
blk_05_stopped_actors_queued_jobs_are_skipped(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct held held[3];

    begin_three(stage, &gate, held);
    stage_do(stage, stop_puppet, NULL);
    rgi_check(stage_end(stage, &held[1]) == -ECANCELED);
    rgi_check(held[1].runs == 0);
    gate_open(&gate);
    rgi_check(stage_end(stage, &held[0]) == 0 && held[0].job.result == 3);
    stage_close(stage);
}

void
blk_06_admission_and_result_are_apart(struct stage *stage)
{
    struct held held;

    stage_open(stage);
    held_prepare(&held, NULL);
    rgi_check(stage_run(stage, &held) == 0);
    rgi_check(held.job.result == 1 && held.job.fault == NULL);
    stage_stop(stage);
    held_prepare(&held, NULL);
    rgi_check(rgm_call(stage->runtime, &held.job) != 0);
    rgi_check(held.runs == 0);
    stage_close(stage);
}

void
blk_07_cleanup_has_a_thread_of_its_own(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct held held[3];

    begin_three(stage, &gate, held);
    rgi_check(stage_run(stage, &held[2]) == 0); /* while all else is stuck */
    rgi_check(held[2].runs == 1 && held[2].thread != held[0].thread);
    gate_open(&gate);
    rgi_check(stage_end(stage, &held[0]) == 0);
    rgi_check(stage_end(stage, &held[1]) == 0);
    stage_close(stage);
}

void
blk_08_end_discards_what_is_queued_but_no_cleanup(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct gate cleanup_gate = GATE_INITIALIZER;
    struct held held[3];
    struct held behind;

    begin_three(stage, &gate, held);
    held[2].gate = &cleanup_gate;
    held_prepare(&behind, NULL);
    behind.job.cleanup = true;
    stage_begin(stage, &held[2]);
    gate_await(&cleanup_gate, 1);
    stage_begin(stage, &behind);  /* queued, too */
    stage_cancel(stage, &behind); /* clean-up goes on */
    stage_stop(stage);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]) == 0);
    rgi_check(stage_end(stage, &held[1]) == -ECANCELED);
    gate_open(&cleanup_gate);
    rgi_check(stage_end(stage, &held[2]) == 0);
    rgi_check(stage_end(stage, &behind) == 0 && behind.runs == 1);
    gate_open(&gate);
    rgi_check(stage_end(stage, &held[0]) == 0 && held[1].runs == 0);
    stage_close(stage);
}

/* -------------------------------------------------------------------- many */

#define MANY 300

static void
begin_many(struct puppet *puppet, void *argument)
{
    struct held *held = argument;

    for (uint32_t i = 0; i < MANY; i++)
        puppet_begin(puppet, &held[i]);
}

void
blk_09_each_runs_once_in_whatever_order(struct stage *stage)
{
    static struct held held[MANY];

    stage->options.job_threads = 3;
    stage->options.jobs_max = 7;
    stage_open(stage);
    for (uint32_t round = 0; round < 5; round++) {
        for (uint32_t i = 0; i < MANY; i++)
            held_prepare(&held[i], NULL);
        stage_do(stage, begin_many, held);
        for (uint32_t i = 0; i < MANY; i++)
            rgi_check(stage_end(stage, &held[i]) == 0 && held[i].runs == 1);
    }
    stage_close(stage);
}

static int64_t
faulty_run(struct rgm_job *job)
{
    static int first;
    static int second;

    rgm_job_fault(job, &first, NULL);
    rgm_job_fault(job, &second, NULL);
    ((struct held *)(void *)job)->thread = (long)(intptr_t)&second;
    return -5;
}

void
blk_10_fault_reaches_the_asker_unchanged(struct stage *stage)
{
    struct held held;

    stage_open(stage);
    held_prepare(&held, NULL);
    held.job.run = faulty_run;
    rgi_check(stage_run(stage, &held) == 0);
    rgi_check((long)(intptr_t)held.job.fault == held.thread);
    rgi_check(held.job.result == -5);
    rgm_job_fault_drop(&held.job);
    rgi_check(held.job.fault == NULL);
    stage_close(stage);
}

void
blk_11_nothing_is_allocated_free_or_waiting(struct stage *stage)
{
    static struct held held[MANY];
    uint64_t allocations = 0;

    stage->options.job_threads = 1;
    stage->options.jobs_max = 1;
    stage_open(stage);
    for (uint32_t round = 0; round < 2; round++) {
        if (round == 1)
            allocations = shim_allocations();
        for (uint32_t i = 0; i < MANY; i++)
            held_prepare(&held[i], NULL);
        stage_do(stage, begin_many, held);
        for (uint32_t i = 0; i < MANY; i++)
            rgi_check(stage_end(stage, &held[i]) == 0);
    }
    rgi_check(shim_allocations() == allocations);
    stage_close(stage);
}

void
blk_12_threads_are_the_runtimes_own(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct stage other = {0};
    struct held held[3];

    stage->options.workers = 2;
    stage->options.job_threads = 2;
    stage_open(stage);
    stage_init(&other);
    other.class = stage->class;
    other.options.workers = 1;
    other.options.job_threads = 1;
    other.options.provider_argument = stage->options.provider_argument;
    stage_open(&other);
    for (int i = 0; i < 3; i++)
        held_prepare(&held[i], &gate);
    stage_begin(stage, &held[0]);
    stage_begin(stage, &held[1]);
    stage_begin(&other, &held[2]);
    gate_await(&gate, 3);
    rgi_check(held[0].thread != held[1].thread);
    rgi_check(held[0].thread != held[2].thread);
    rgi_check(held[1].thread != held[2].thread);
    gate_open(&gate);
    rgi_check(stage_end(stage, &held[0]) == 0);
    rgi_check(stage_end(stage, &held[1]) == 0);
    rgi_check(stage_end(&other, &held[2]) == 0);
    stage_close(&other);
    stage_deinit(&other);
    stage_close(stage);
}

/* ---------------------------------------------------------------- given up */

/* Two that nobody waits for: one is in its function, one in the queue. */
struct loose_job {
    struct held held;
    uint32_t *released;
};

RGM_RELEASE(rgm_job, loose_release);

static void
loose_release(struct rgm_job *job)
{
    struct loose_job *loose = (struct loose_job *)(void *)job;

    *loose->released += job->ran ? 101 : 1;
    free(loose);
}

static void
never_told(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
    rgi_check(false);
}

static void
ask_and_give_up(struct puppet *puppet, void *argument)
{
    struct loose_job *loose = argument;

    rgm_ask_request(&puppet->actor, &loose->held.job.request, never_told);
    rgi_check(rgm_abandon_to(puppet, &loose->held.job,
                             RGM_RELEASE_BY(rgm_job, loose_release)) == 0);
}

struct released {
    uint32_t *word;
    uint32_t seen;
};

static void
look_at_released(struct puppet *puppet, void *argument)
{
    struct released *released = argument;

    (void)puppet;
    released->seen = *released->word;
}

void
cnf_16_abandoned_jobs_run_and_are_released_once(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    uint32_t words[2] = {0, 0};
    struct released released[2] = {{&words[0], 0}, {&words[1], 0}};

    stage->options.job_threads = 1;
    stage_open(stage);
    for (int i = 0; i < 2; i++) {
        struct loose_job *loose = calloc(1, sizeof(*loose));

        rgi_check(loose != NULL);
        held_prepare(&loose->held, &gate);
        loose->released = &words[i];
        stage_do(stage, ask_and_give_up, loose);
        if (i == 0)
            gate_await(&gate, 1);
    }
    (void)stage_counters(stage);
    for (int i = 0; i < 2; i++) {
        stage_do(stage, look_at_released, &released[i]);
        rgi_check(released[i].seen == 0);
    }
    gate_open(&gate);
    for (int i = 0; i < 2; i++) {
        while (released[i].seen == 0)
            stage_do(stage, look_at_released, &released[i]);
        rgi_check(released[i].seen == 101);
    }
    stage_close(stage);
    rgi_check(words[0] == 101 && words[1] == 101);
}

/* -------------------------------------------------------------- the threads */

struct inside {
    struct held held;
    struct rgm_runtime *runtime;
    int awaited;
    int slept;
};

static int64_t
inside_run(struct rgm_job *job)
{
    struct inside *inside = (struct inside *)(void *)job;
    struct rgm_sleep sleep;

    inside->awaited = rgm_runtime_wait(inside->runtime);
    rgm_sleep_for(&sleep, HERE, 1);
    inside->slept = rgm_call(inside->runtime, &sleep);
    return 0;
}

void
jobs_run_on_no_worker_and_cannot_await_the_end(struct stage *stage)
{
    struct inside inside = {.awaited = 1, .slept = 1};

    stage_open(stage);
    rgm_job_run(&inside.held.job, HERE, inside_run);
    inside.runtime = stage->runtime;
    rgi_check(stage_run(stage, &inside.held) == 0);
    rgi_check(inside.awaited == -EDEADLK && inside.slept == 0);
    stage_close(stage);
}

void
jobs_do_not_hold_a_worker_up(struct stage *stage)
{
    struct gate gate = GATE_INITIALIZER;
    struct rgm_sleep sleep;
    struct held held;

    stage_open(stage);
    held_prepare(&held, &gate);
    stage_begin(stage, &held);
    gate_await(&gate, 1);
    rgm_sleep_for(&sleep, HERE, 1);
    rgi_check(rgm_call(stage->runtime, &sleep) == 0);
    rgi_check(stage_is_out(stage, &held));
    gate_open(&gate);
    rgi_check(stage_end(stage, &held) == 0);
    stage_close(stage);
}
