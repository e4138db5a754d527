/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_JOBS_H
#define RGI_ACTORS_JOBS_H

/*
 * jobs.h - who runs the jobs of a runtime?
 *
 *     worker --add--> waiting --admit--> queued --> a thread --node--> worker
 *
 * Three sides, ordinary, clean-up and look-ups, each with its threads, its places and its
 * two lists. One lock protects all; no function of a user's runs under it.
 */

#include <pthread.h>

#include "base/list.h"
#include "capabilities/job.h"

struct rgi_job_side {
    struct rgm_link waiting; /* for a place */
    struct rgm_link queued;  /* have one, and wait for a thread */
    pthread_cond_t filled;
    uint32_t places;      /* how many jobs may be admitted */
    uint32_t admitted;    /* queued or running */
    uint32_t threads_max;
    uint32_t threads_count;
    uint32_t threads_idle;
};

struct rgi_job_pool {
    pthread_mutex_t lock;
    struct rgi_job_side sides[RGI_JOB_KINDS_COUNT];
    pthread_t *threads; /* of all sides, as they were started */
    uint32_t threads_started;
    bool closing;
};

struct rgm_runtime;
struct rgm_worker;

/* pthread_create, unless a test says otherwise. */
extern int (*rgi_job_thread_create)(pthread_t *, const pthread_attr_t *,
                                     void *(*)(void *), void *);

/* Starts no thread. Returns 0 or -ENOMEM. */
RGM_MUST_USE int rgi_job_pool_init(struct rgi_job_pool *jobs,
                                   uint32_t threads_max,
                                   uint32_t lookup_threads_max,
                                   uint32_t places);

/* Joins the threads; nothing is queued or running. Thread: any, once. */
void rgi_job_pool_close(struct rgi_job_pool *jobs);
void rgi_job_pool_deinit(struct rgi_job_pool *jobs);

/* ---- of a worker. Thread: it. ---- */

/* Whether an operation is the pool's: a job, or what the provider has not. */
bool rgi_job_lend(const struct rgm_provider *provider,
                  struct rgm_operation *operation);
int rgi_job_start(struct rgm_worker *worker, struct rgm_operation *operation);
void rgi_job_cancel(struct rgm_worker *worker,
                    struct rgm_operation *operation);
/* Its node has come. */
void rgi_job_arrived(struct rgm_worker *worker, struct rgm_message *message);

/* The runtime whose job this thread runs; NULL: none. */
const struct rgm_runtime *rgi_job_thread_of(void);

#endif /* RGI_ACTORS_JOBS_H */
