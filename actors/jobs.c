/* SPDX-License-Identifier: MIT */

/*
 * jobs.c - who runs the jobs of a runtime?
 *
 * 1. A job that is started waits for a place; while there are places the first
 *    of those that wait are admitted, and are in the queue.
 * 2. An idle thread takes the oldest. If there is none and there may be more
 *    threads, one is started: it is lazy, and a machine that gives no thread at
 *    all is told as -EAGAIN.
 * 3. The function runs. Then the place is given on, and the node in the record
 *    is pushed to the worker: a message like any other, so it ends a sleep.
 * 4. The node arrives, and the job is completed like every operation.
 *
 * A cancel takes a job out while it waits or is queued; after that it is a wish
 * that the function may ask for. A place is held until the function has
 * returned, whoever still wants to know.
 *
 * The worker does not close before the node has come, for the operation is
 * out; what a thread does behind its push is counted outside.
 */

#include "actors/jobs.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "actors/runtime.h"
#include "base/memory.h"
#include "capabilities/file.h"
#include "capabilities/operation.h"

#define CLEANUP_THREADS 1u

int (*rgi_job_thread_create)(pthread_t *, const pthread_attr_t *,
                              void *(*)(void *), void *) = pthread_create;

static __thread const struct rgm_runtime *job_thread_of;

const struct rgm_runtime *
rgi_job_thread_of(void)
{
    return job_thread_of;
}

static const struct rgm_message_type node_type = {
    "job", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

static inline struct rgm_job *
job_of(struct rgm_operation *operation)
{
    return rgi_container_of(operation, struct rgm_job, operation);
}

static inline struct rgm_job *
linked(struct rgm_link *link)
{
    return job_of(rgi_container_of(link, struct rgm_operation, link));
}

static inline struct rgi_job_side *
side_of(struct rgi_job_pool *jobs, const struct rgm_job *job)
{
    return &jobs->sides[rgi_job_place(job)->kind];
}

/* ------------------------------------------------------------- the threads */

/* Thread: the pool's, or (with no thread to be had) the worker's. */
static void
send_back(struct rgm_job *job, int status)
{
    struct rgi_job_place *place = rgi_job_place(job);
    struct rgm_worker *worker = place->worker;
    int pushed;

    place->status = status;
    if (rgi_here() == worker) {
        worker->attention = true;
        rgi_mail_post_local(&worker->mail, &place->node);
        return;
    }
    pushed = rgi_push_outside(worker->runtime, worker->inbox, &place->node);
    rgi_assert(pushed >= 0);
}

/* Under the lock: places go to those that wait, in order. */
static void
admit(struct rgi_job_side *side)
{
    while (side->admitted < side->places && !rgi_list_empty(&side->waiting)) {
        struct rgm_link *link = rgi_list_pop_front(&side->waiting);

        rgi_job_place(linked(link))->phase = RGI_JOB_QUEUED;
        rgi_list_push_back(&side->queued, link);
        side->admitted++;
        pthread_cond_signal(&side->filled);
    }
}

/* Under the lock. Returns: NULL when it is over. */
static struct rgm_job *
next_job(struct rgi_job_pool *jobs, struct rgi_job_side *side)
{
    struct rgm_link *link;

    side->threads_idle++;
    while ((link = rgi_list_pop_front(&side->queued)) == NULL &&
           !jobs->closing)
        pthread_cond_wait(&side->filled, &jobs->lock);
    side->threads_idle--;
    if (link == NULL)
        return NULL;
    rgi_job_place(linked(link))->phase = RGI_JOB_RUNNING;
    return linked(link);
}

static void
run_one(struct rgm_job *job)
{
    const struct rgm_worker *worker = rgi_job_place(job)->worker;

    job_thread_of = worker->runtime;
    job->ran = true;
    job->result = job->run(job);
    job_thread_of = NULL;
}

static void
thread_loop(struct rgi_job_pool *jobs, struct rgi_job_side *side)
{
    struct rgm_job *job;

    pthread_mutex_lock(&jobs->lock);
    while ((job = next_job(jobs, side)) != NULL) {
        pthread_mutex_unlock(&jobs->lock);
        run_one(job);
        pthread_mutex_lock(&jobs->lock);
        rgi_job_place(job)->phase = RGI_JOB_DONE;
        side->admitted--;
        admit(side);
        pthread_mutex_unlock(&jobs->lock);
        send_back(job, 0); /* from here on it is the worker's */
        pthread_mutex_lock(&jobs->lock);
    }
    pthread_mutex_unlock(&jobs->lock);
}

static void *
ordinary_thread(void *argument)
{
    struct rgi_job_pool *jobs = argument;

    thread_loop(jobs, &jobs->sides[RGI_JOB_ORDINARY]);
    return NULL;
}

static void *
cleanup_thread(void *argument)
{
    struct rgi_job_pool *jobs = argument;

    thread_loop(jobs, &jobs->sides[RGI_JOB_CLEANUP]);
    return NULL;
}

static void *
lookup_thread(void *argument)
{
    struct rgi_job_pool *jobs = argument;

    thread_loop(jobs, &jobs->sides[RGI_JOB_LOOKUP]);
    return NULL;
}

/* Signals are for threads of the program's. */
static int
thread_start(struct rgi_job_pool *jobs, enum rgi_job_kind kind)
{
    static void *(*const loops[])(void *argument) = {
        ordinary_thread, cleanup_thread, lookup_thread};
    sigset_t all;
    sigset_t before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = rgi_job_thread_create(&jobs->threads[jobs->threads_started], NULL,
                                   loops[kind], jobs);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

/* Under the lock: a thread for what is queued. Returns 0, or why there is none
 * at all. */
static int
thread_for(struct rgi_job_pool *jobs, struct rgi_job_side *side,
           enum rgi_job_kind kind)
{
    int status;

    if (side->threads_count == side->threads_max)
        return 0;
    status = thread_start(jobs, kind);
    if (status == 0) {
        jobs->threads_started++;
        side->threads_count++;
    }
    return side->threads_count > 0 ? 0 : status;
}

/* -------------------------------------------------------------- the workers */

static void
place_init(struct rgm_worker *worker, struct rgm_job *job)
{
    struct rgi_job_place *place = rgi_job_place(job);

    memset(place, 0, sizeof(*place));
    place->node.type = &node_type;
    place->node.control = RGI_CONTROL_JOB;
    place->node.flags = RGI_MESSAGE_URGENT;
    place->node.lane = RGI_LANE_NONE;
    place->worker = worker;
    place->kind = job->lookup    ? RGI_JOB_LOOKUP
                  : job->cleanup ? RGI_JOB_CLEANUP
                                 : RGI_JOB_ORDINARY;
    place->phase = RGI_JOB_WAITING;
    job->ran = false;
    job->result = 0;
}

/* Idle ones are told apart from queued ones: a thread that was signalled is
 * idle until it has the lock. */
static bool
wants_thread(const struct rgi_job_side *side)
{
    uint32_t queued = 0;

    for (struct rgm_link *link = side->queued.next;
         link != &side->queued && queued <= side->threads_idle;
         link = link->next)
        queued++;
    return queued > side->threads_idle;
}

bool
rgi_job_lend(const struct rgm_provider *provider,
             struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_DIRECTORY_READ)
        job_of(operation)->run =
            provider->kinds >> RGM_OP_DIRECTORY_READ & 1 ? NULL
                                                         : rgi_directory_run;
    return rgi_operation_is_job(operation);
}

int
rgi_job_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgi_job_pool *jobs = &worker->runtime->jobs;
    struct rgm_job *job = job_of(operation);
    struct rgi_job_side *side;
    int status = rgi_operation_begin(operation, worker->provider);

    if (status != 0)
        return status;
    if (operation->kind == RGM_OP_FILE_JOB) {
        struct rgm_file_job *with = (struct rgm_file_job *)(void *)job;

        with->descriptor = with->file->descriptor;
    }
    place_init(worker, job);
    side = side_of(jobs, job);
    pthread_mutex_lock(&jobs->lock);
    rgi_list_push_back(&side->waiting, &operation->link);
    admit(side);
    if (wants_thread(side))
        status = thread_for(jobs, side,
                            (enum rgi_job_kind)rgi_job_place(job)->kind);
    if (status < 0) { /* no thread at all: nobody would ever take it */
        rgi_list_remove(&operation->link);
        if (rgi_job_place(job)->phase == RGI_JOB_QUEUED)
            side->admitted--;
    }
    pthread_mutex_unlock(&jobs->lock);
    if (status < 0)
        send_back(job, status);
    return 0;
}

/* What the system said to one that was lent is its answer. */
static void
done(struct rgm_worker *worker, struct rgm_job *job, int status)
{
    if (status == 0 && rgi_operation_is_lent(&job->operation))
        status = rgi_file_call_status(job->result);
    worker->attention = true;
    rgm_operation_complete(&job->operation, status, &worker->turn);
}

void
rgi_job_arrived(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_job_place *place =
        rgi_container_of(message, struct rgi_job_place, node);
    struct rgm_job *job =
        rgi_container_of((uint64_t *)(void *)place, struct rgm_job, place);

    done(worker, job, place->status);
}

void
rgi_job_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgi_job_pool *jobs = &worker->runtime->jobs;
    struct rgm_job *job = job_of(operation);
    struct rgi_job_place *place = rgi_job_place(job);
    struct rgi_job_side *side = side_of(jobs, job);
    bool taken = false;

    if (place->kind == RGI_JOB_CLEANUP || !rgi_operation_stop(operation))
        return;
    /* job-cancelled: publishes a wish, and nothing else. */
    __atomic_store_n(&place->cancelled, 1, __ATOMIC_RELAXED);
    pthread_mutex_lock(&jobs->lock);
    if (rgi_list_is_linked(&operation->link)) { /* it has not begun */
        taken = true;
        rgi_list_remove(&operation->link);
        if (place->phase == RGI_JOB_QUEUED)
            side->admitted--;
        admit(side);
    }
    pthread_mutex_unlock(&jobs->lock);
    if (taken)
        done(worker, job, -ECANCELED);
}

/* ----------------------------------------------------------- open and close */

static void
side_init(struct rgi_job_side *side, uint32_t threads_max, uint32_t places)
{
    rgi_list_init(&side->waiting);
    rgi_list_init(&side->queued);
    side->threads_max = threads_max;
    side->places = places;
    pthread_cond_init(&side->filled, NULL);
}

int
rgi_job_pool_init(struct rgi_job_pool *jobs, uint32_t threads_max,
                  uint32_t lookup_threads_max, uint32_t places)
{
    uint32_t all = threads_max + CLEANUP_THREADS + lookup_threads_max;

    memset(jobs, 0, sizeof(*jobs));
    jobs->threads = rgi_alloc(all * sizeof(*jobs->threads));
    if (jobs->threads == NULL)
        return -ENOMEM;
    pthread_mutex_init(&jobs->lock, NULL);
    side_init(&jobs->sides[RGI_JOB_ORDINARY], threads_max, places);
    side_init(&jobs->sides[RGI_JOB_CLEANUP], CLEANUP_THREADS, places);
    side_init(&jobs->sides[RGI_JOB_LOOKUP], lookup_threads_max, places);
    return 0;
}

void
rgi_job_pool_close(struct rgi_job_pool *jobs)
{
    if (jobs->threads == NULL)
        return;
    pthread_mutex_lock(&jobs->lock);
    jobs->closing = true;
    for (int kind = 0; kind < RGI_JOB_KINDS_COUNT; kind++)
        pthread_cond_broadcast(&jobs->sides[kind].filled);
    pthread_mutex_unlock(&jobs->lock);
    for (uint32_t i = 0; i < jobs->threads_started; i++)
        pthread_join(jobs->threads[i], NULL);
    jobs->threads_started = 0;
}

void
rgi_job_pool_deinit(struct rgi_job_pool *jobs)
{
    if (jobs->threads == NULL)
        return;
    rgi_job_pool_close(jobs);
    for (int kind = 0; kind < RGI_JOB_KINDS_COUNT; kind++)
        pthread_cond_destroy(&jobs->sides[kind].filled);
    pthread_mutex_destroy(&jobs->lock);
    rgi_free(jobs->threads);
    jobs->threads = NULL;
}
