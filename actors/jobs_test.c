/* SPDX-License-Identifier: MIT */

/*
 * jobs_test.c - what becomes of a job when there are no threads?
 *
 * The rest of what a pool of jobs must show is in conformance/job_cases.c.
 */

#include <errno.h>

#include <ringmail/job.h>

#include "actors/rig.h"

static uint32_t creations_left; /* then no thread is made any more */

static int
create_some(pthread_t *thread, const pthread_attr_t *attributes,
            void *(*function)(void *), void *argument)
{
    if (creations_left == 0)
        return EAGAIN;
    creations_left--;
    return pthread_create(thread, attributes, function, argument);
}

static struct rgm_runtime *
begin(uint32_t threads)
{
    struct rgm_runtime_options options = {.workers = 1,
                                          .job_threads = threads,
                                          .provider = &fake_class};
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(runtime) == 0);
    return runtime;
}

static void
end(struct rgm_runtime *runtime)
{
    rgi_job_thread_create = pthread_create;
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

static int64_t
answer_7(struct rgm_job *job)
{
    (void)job;
    return 7;
}

static int
call(struct rgm_runtime *runtime, struct rgm_job *job, bool cleanup)
{
    rgm_job_run(job, rgm_worker_address(0), answer_7);
    job->cleanup = cleanup;
    return rgm_call(runtime, job);
}

static void
blk_06_no_thread_at_all_is_an_error_of_admission(void)
{
    struct rgm_runtime *runtime = begin(2);
    struct rgm_job job;

    creations_left = 0;
    rgi_job_thread_create = create_some;
    for (int round = 0; round < 2; round++) {
        bool cleanup = round == 1;

        rgi_check(call(runtime, &job, cleanup) == -EAGAIN);
        rgi_check(!job.ran && job.result == 0);
    }
    rgi_check(runtime->jobs.sides[0].admitted == 0);
    rgi_check(runtime->jobs.sides[1].admitted == 0);
    creations_left = 1;
    rgi_check(call(runtime, &job, false) == 0); /* and it recovers */
    rgi_check(job.ran && job.result == 7);
    end(runtime);
}

static void
blk_06_one_thread_is_enough_when_no_more_can_be_had(void)
{
    struct rgm_runtime *runtime = begin(4);
    struct rgm_job job;

    creations_left = 1;
    rgi_job_thread_create = create_some;
    for (int i = 0; i < 10; i++)
        rgi_check(call(runtime, &job, false) == 0 && job.result == 7);
    rgi_check(runtime->jobs.threads_started == 1);
    end(runtime);
}

static void
threads_are_started_when_they_are_needed(void)
{
    struct rgm_runtime *runtime = begin(3);
    struct rgm_job job;

    rgi_check(runtime->jobs.threads_started == 0);
    rgi_check(call(runtime, &job, false) == 0);
    rgi_check(runtime->jobs.threads_started == 1);
    rgi_check(call(runtime, &job, true) == 0);
    rgi_check(runtime->jobs.threads_started == 2);
    end(runtime);
}

static void
options_have_limits(void)
{
    struct rgm_runtime_options options = {
        .workers = 1, .job_threads = RGM_JOB_THREADS_MAX,
        .jobs_max = RGM_JOBS_MAX, .provider = &fake_class};
    struct rgm_runtime *runtime = rig_make_with(&options);

    rig_destroy(runtime);
    options.job_threads++;
    rgi_check(rgm_runtime_create(&options, &runtime) == -EINVAL);
    options.job_threads--;
    options.jobs_max++;
    rgi_check(rgm_runtime_create(&options, &runtime) == -EINVAL);
    options.jobs_max--;
    options.resolve_threads = RGM_JOB_THREADS_MAX + 1;
    rgi_check(rgm_runtime_create(&options, &runtime) == -EINVAL);
}

#define CASES(X)                                                              \
    X(jobs, blk_06_no_thread_at_all_is_an_error_of_admission)                 \
    X(jobs, blk_06_one_thread_is_enough_when_no_more_can_be_had)              \
    X(jobs, threads_are_started_when_they_are_needed)                         \
    X(jobs, options_have_limits)

RGI_CASES(CASES)
