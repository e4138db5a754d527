/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_JOB_H
#define RINGMAIL_JOB_H

/*
 * job.h - a function that blocks or computes long, on a thread that may: a
 * request to a worker, like everything else.
 *
 *     struct digest { struct rgm_job job; const char *path; uint64_t sum; };
 *
 *     static int64_t digest_run(struct rgm_job *job);   // on a pool thread
 *     ...
 *     rgm_job_run(&digest->job, rgm_here(self), digest_run);
 *     rgm_ask(self, &digest->job, RGM_REPLY(summer, rgm_job, on_digest));
 *
 * The threads belong to the runtime and are as many as its options say, however
 * many workers there are. They are started when they are needed. Of all jobs so
 * many are admitted (queued or running), and more wait for admission, in the
 * order they came to their worker. No order is promised between jobs.
 *
 * Until its function has begun a job can be cancelled, and then never runs; from
 * there on its own result stands, and rgm_job_is_cancelled tells it what is
 * wished. A job that runs keeps its place and delays the end of the runtime,
 * whatever became of its asker.
 *
 * Clean-up jobs have a thread and places of their own, so that letting go of
 * something never waits behind what is stuck.
 *
 * The record, and what it points to, is the pool's from the ask to the answer;
 * nothing of it may lie on a stack that goes. Which thread runs it is not said.
 */

#include <ringmail/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGM_JOB_THREADS_DEFAULT 4 /* and at most RGM_JOB_THREADS_MAX */
#define RGM_JOB_THREADS_MAX 256
#define RGM_JOBS_DEFAULT 512 /* admitted at once; at most RGM_JOBS_MAX */
#define RGM_JOBS_MAX (UINT32_C(1) << 20)

struct rgm_job;

/*
 * The function of a job. What it returns is in job->result when the job is home.
 *
 * Thread: one of the pool's: no worker, so it may block, and open a guest, but
 * not wait for the runtime's end (-EDEADLK).
 */
typedef int64_t rgm_job_function(struct rgm_job *job);

struct rgm_job {
    RGM_OPERATION_HEAD;
    rgm_job_function *run;
    bool cleanup;    /* set after preparing: use the clean-up thread */
    bool lookup;     /* the runtime's: it is of a name; see resolve.h */
    bool ran;        /* when home: the function was called */
    int64_t result;  /* when home with 0: what it returned */
    void *fault;     /* when home: what rgm_job_fault was given; else NULL */
    void (*fault_destroy)(void *fault);
    uint64_t place[10]; /* the runtime's */
};

/* Begins a record that is a job and more; all names are the same memory. */
#define RGM_JOB_HEAD                                                           \
    union {                                                                    \
        struct rgm_request request;                                            \
        struct rgm_operation operation;                                        \
        struct rgm_job job;                                                    \
    }

/*
 * Prepare a job; the worker `where` (usually rgm_here(self)) hands it over and
 * gets it back.
 *
 * Thread: owner; the record is at home.
 * Answer: 0: it ran, see result and fault. Otherwise it never ran:
 *         -ECANCELED  cancelled, or its actor stopped, before it began
 *         -EPIPE      asked of another worker, which stops
 *         -EAGAIN, -ENOMEM  there is no thread, and none can be started
 *         -EINVAL     run is NULL
 *         -ESRCH      there is no such worker
 * Cost:   one lock at each end; no allocation once its thread is there.
 */
RGM_API void rgm_job_run(struct rgm_job *job, struct rgm_address where,
                         rgm_job_function *run);

/*
 * Whether the asker wishes it to stop. A hint: nothing happens if it goes on.
 *
 * Thread: the one that runs the job.
 * Cost:   a load.
 */
RGM_API bool rgm_job_is_cancelled(const struct rgm_job *job);

/*
 * Report a fault: something that went wrong with the function itself and is no
 * result. It reaches the asker as it is, in job->fault, and is the asker's to
 * destroy then, by rgm_job_fault_drop. A second one replaces the first, which
 * is destroyed.
 *
 * Thread: the one that runs the job.
 * Owns:   the job has the fault.
 */
RGM_API void rgm_job_fault(struct rgm_job *job, void *fault,
                           void (*destroy)(void *fault));

/* Destroy the fault of a job that is home; none: nothing happens. A job that is
 * asked again with a fault keeps it until it has another. Thread: owner. */
RGM_API void rgm_job_fault_drop(struct rgm_job *job);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_JOB_H */
