/* SPDX-License-Identifier: MIT */

/*
 * jobs.c - who makes the attempts, and when?
 *
 * 1. rgi_jobs_add puts an operation in line and wakes a thread.
 * 2. The thread runs one attempt without the lock, then settles: done, in line
 *    again, or waiting.
 * 3. The pulse puts everything that waits back in line.
 * 4. The owner fetches what is done.
 *
 * No wake is lost: a thread looks at its line, the pulse at `waiting` and the
 * owner at `done` under the lock, in which they also say that they will sleep,
 * and in which whoever changes the list sees that they do.
 */

#include "capabilities/threads/jobs.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/bell.h"

static struct rgm_operation *
operation_at(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_operation, link);
}

static void
set_phase(struct rgm_operation *operation, enum rgi_phase phase)
{
    rgi_attempt_of(operation)->phase = (uint8_t)phase;
}

/* -------------------------------------------------------- under the lock */

static void
put_in_line(struct rgi_jobs *jobs, struct rgm_operation *operation)
{
    struct rgi_line *line = rgi_attempt_is_cleanup(operation)
                                ? &jobs->cleanup
                                : &jobs->ordinary;

    set_phase(operation, RGI_PHASE_READY);
    rgi_list_push_back(&line->ready, &operation->link);
    pthread_cond_signal(&line->filled);
}

static void
put_to_wait(struct rgi_jobs *jobs, struct rgm_operation *operation)
{
    rgi_assert(!rgi_attempt_is_cleanup(operation));
    if (rgi_attempt_of(operation)->starved)
        jobs->starved_count++;
    set_phase(operation, RGI_PHASE_WAITING);
    rgi_list_push_back(&jobs->waiting, &operation->link);
    if (jobs->pulse_sleeps)
        pthread_cond_signal(&jobs->pulse);
}

static void
put_to_done(struct rgi_jobs *jobs, struct rgm_operation *operation)
{
    uint32_t count = jobs->done_count + 1;

    set_phase(operation, RGI_PHASE_DONE);
    rgi_list_push_back(&jobs->done, &operation->link);
    /* jobs-done: tells the owner to come for the list. It publishes nothing
     * else: the list itself is handed over by the lock. */
    __atomic_store_n(&jobs->done_count, count, __ATOMIC_RELAXED);
    if (jobs->owner_sleeps)
        rgi_bell_ring((void *)(intptr_t)jobs->bell);
    jobs->owner_sleeps = false;
}

/* Nobody is to hear of it: what it has made goes. */
static void
forget(struct rgm_operation *operation, enum rgi_verdict verdict)
{
    int made = rgi_attempt_of(operation)->made;

    set_phase(operation, RGI_PHASE_DONE);
    if (verdict != RGI_FINISHED)
        rgi_attempt_give_up(operation);
    else if (made >= 0)
        close(made);
}

static void
forget_all(struct rgm_link *list, enum rgi_verdict verdict)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(list)) != NULL)
        forget(operation_at(link), verdict);
}

/* It waits for its socket, and the owner hears of that before any pulse. */
static bool
goes_back(const struct rgi_jobs *jobs, const struct rgm_operation *operation,
          enum rgi_verdict verdict)
{
    return jobs->hands_back && verdict == RGI_LATER &&
           operation->kind == RGM_OP_SEND_FILE;
}

static void
settle(struct rgi_jobs *jobs, struct rgm_operation *operation,
       enum rgi_verdict verdict)
{
    if (jobs->abandoned) {
        forget(operation, verdict);
    } else if (verdict == RGI_FINISHED) {
        put_to_done(jobs, operation);
    } else if (rgi_attempt_of(operation)->stopping) {
        rgi_attempt_give_up(operation);
        put_to_done(jobs, operation);
    } else if (verdict == RGI_AGAIN) {
        put_in_line(jobs, operation);
    } else if (goes_back(jobs, operation, verdict)) {
        rgi_attempt_of(operation)->status = RGI_TOO_EARLY;
        put_to_done(jobs, operation);
    } else {
        put_to_wait(jobs, operation);
    }
}

/* The next in line; waits for one. NULL: it is over. */
static struct rgm_operation *
line_take(struct rgi_line *line)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&line->ready)) == NULL) {
        if (line->jobs->closing)
            return NULL;
        pthread_cond_wait(&line->filled, &line->jobs->lock);
    }
    set_phase(operation_at(link), RGI_PHASE_RUNNING);
    return operation_at(link);
}

static void
pulse_once(struct rgi_jobs *jobs)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&jobs->waiting)) != NULL)
        put_in_line(jobs, operation_at(link));
}

static void
pulse_pause(struct rgi_jobs *jobs)
{
    struct timespec until;
    int status = 0;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)RGI_PULSE_NS;
    if (until.tv_nsec >= (long)RGM_NS_PER_S) {
        until.tv_nsec -= (long)RGM_NS_PER_S;
        until.tv_sec++;
    }
    while (status == 0 && !jobs->closing)
        status = pthread_cond_timedwait(&jobs->pulse, &jobs->lock, &until);
}

/* ----------------------------------------------------------------- threads */

static void *
line_main(void *argument)
{
    struct rgi_line *line = argument;
    struct rgi_jobs *jobs = line->jobs;
    struct rgm_operation *operation;
    enum rgi_verdict verdict;

    pthread_mutex_lock(&jobs->lock);
    while ((operation = line_take(line)) != NULL) {
        pthread_mutex_unlock(&jobs->lock);
        verdict = rgi_attempt_run(operation);
        if (verdict == RGI_FINISHED && rgi_attempt_of(operation)->status < 0)
            rgi_attempt_discard(operation);
        pthread_mutex_lock(&jobs->lock);
        settle(jobs, operation, verdict);
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

static void *
pulse_main(void *argument)
{
    struct rgi_jobs *jobs = argument;

    pthread_mutex_lock(&jobs->lock);
    while (!jobs->closing) {
        if (rgi_list_empty(&jobs->waiting)) {
            jobs->pulse_sleeps = true;
            pthread_cond_wait(&jobs->pulse, &jobs->lock);
            jobs->pulse_sleeps = false;
        } else {
            pulse_pause(jobs);
            pulse_once(jobs);
        }
    }
    pthread_mutex_unlock(&jobs->lock);
    return NULL;
}

static int
start_one(struct rgi_jobs *jobs, void *(*run)(void *), void *argument)
{
    int error = pthread_create(&jobs->threads[jobs->threads_count], NULL, run,
                               argument);

    if (error == 0)
        jobs->threads_count++;
    return -error;
}

static int
start_all(struct rgi_jobs *jobs, uint32_t ordinary_count)
{
    int status = start_one(jobs, pulse_main, jobs);

    if (status == 0)
        status = start_one(jobs, line_main, &jobs->cleanup);
    for (uint32_t i = 0; i < ordinary_count && status == 0; i++)
        status = start_one(jobs, line_main, &jobs->ordinary);
    return status;
}

/* Signals are for the program's own threads: these inherit a full mask. */
static int
start_all_masked(struct rgi_jobs *jobs, uint32_t ordinary_count)
{
    sigset_t all;
    sigset_t before;
    int status;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    status = start_all(jobs, ordinary_count);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

static void
line_init(struct rgi_line *line, struct rgi_jobs *jobs)
{
    line->jobs = jobs;
    rgi_list_init(&line->ready);
    pthread_cond_init(&line->filled, NULL);
}

static void
jobs_init(struct rgi_jobs *jobs)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&jobs->lock, NULL);
    pthread_cond_init(&jobs->pulse, &monotonic);
    pthread_condattr_destroy(&monotonic);
    line_init(&jobs->ordinary, jobs);
    line_init(&jobs->cleanup, jobs);
    rgi_list_init(&jobs->waiting);
    rgi_list_init(&jobs->done);
}

int
rgi_jobs_open(struct rgi_jobs *jobs, uint32_t ordinary_count)
{
    int status = rgi_bell_open(&jobs->bell);

    if (status < 0)
        return status;
    jobs_init(jobs);
    status = start_all_masked(jobs, ordinary_count);
    if (status < 0)
        rgi_jobs_close(jobs);
    return status;
}

void
rgi_jobs_close(struct rgi_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    rgi_assert(rgi_list_empty(&jobs->waiting));
    rgi_assert(rgi_list_empty(&jobs->done));
    jobs->closing = true;
    pthread_cond_broadcast(&jobs->ordinary.filled);
    pthread_cond_broadcast(&jobs->cleanup.filled);
    pthread_cond_broadcast(&jobs->pulse);
    pthread_mutex_unlock(&jobs->lock);
    while (jobs->threads_count > 0)
        pthread_join(jobs->threads[--jobs->threads_count], NULL);
    pthread_cond_destroy(&jobs->ordinary.filled);
    pthread_cond_destroy(&jobs->cleanup.filled);
    pthread_cond_destroy(&jobs->pulse);
    pthread_mutex_destroy(&jobs->lock);
    rgi_bell_close(jobs->bell);
}

void
rgi_jobs_abandon(struct rgi_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->abandoned = true;
    forget_all(&jobs->ordinary.ready, RGI_LATER);
    forget_all(&jobs->cleanup.ready, RGI_LATER);
    forget_all(&jobs->waiting, RGI_LATER);
    forget_all(&jobs->done, RGI_FINISHED);
    pthread_mutex_unlock(&jobs->lock);
}

/* --------------------------------------------------------------- the owner */

/* An operation without bytes is done without a thread and a system call. */
bool
rgi_jobs_add(struct rgi_jobs *jobs, struct rgm_operation *operation)
{
    bool needs_a_thread = !rgi_stream_is_empty(operation);

    pthread_mutex_lock(&jobs->lock);
    if (needs_a_thread)
        put_in_line(jobs, operation);
    else
        put_to_done(jobs, operation);
    pthread_mutex_unlock(&jobs->lock);
    return needs_a_thread;
}

void
rgi_jobs_cancel(struct rgi_jobs *jobs, struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);

    if (rgi_attempt_is_cleanup(operation))
        return;
    pthread_mutex_lock(&jobs->lock);
    attempt->stopping = true;
    if (attempt->phase == RGI_PHASE_READY ||
        attempt->phase == RGI_PHASE_WAITING) {
        rgi_list_remove(&operation->link);
        rgi_attempt_give_up(operation);
        put_to_done(jobs, operation);
    }
    pthread_mutex_unlock(&jobs->lock);
}

bool
rgi_jobs_has_done(const struct rgi_jobs *jobs)
{
    /* jobs-done: observes from the threads that the list is not empty. */
    return __atomic_load_n(&jobs->done_count, __ATOMIC_RELAXED) != 0;
}

uint64_t
rgi_jobs_fetch(struct rgi_jobs *jobs, struct rgm_link *list)
{
    uint64_t starved_count;

    pthread_mutex_lock(&jobs->lock);
    rgi_list_splice_back(list, &jobs->done);
    __atomic_store_n(&jobs->done_count, 0, __ATOMIC_RELAXED);
    starved_count = jobs->starved_count;
    pthread_mutex_unlock(&jobs->lock);
    return starved_count;
}

bool
rgi_jobs_sleep(struct rgi_jobs *jobs)
{
    bool may_sleep;

    pthread_mutex_lock(&jobs->lock);
    may_sleep = rgi_list_empty(&jobs->done);
    jobs->owner_sleeps = may_sleep;
    pthread_mutex_unlock(&jobs->lock);
    return may_sleep;
}

void
rgi_jobs_awake(struct rgi_jobs *jobs)
{
    pthread_mutex_lock(&jobs->lock);
    jobs->owner_sleeps = false;
    pthread_mutex_unlock(&jobs->lock);
}
