/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_THREADS_JOBS_H
#define CAPABILITIES_THREADS_JOBS_H

/*
 * jobs.h - who makes the attempts, and when?
 *
 *     add --> line --> a thread --> done --> fetch
 *               ^         |
 *               '- pulse -+-> waiting
 *
 * Two lines: the ordinary one, with the bounded pool of threads, and that of
 * clean-up, with one thread, so that a close never waits behind reads. One
 * more thread gives the pulse: about every 2 ms it puts what waits back in
 * line; it sleeps while nothing waits and never looks at an operation.
 *
 * One lock protects all of it; no system call on a socket is made under it,
 * except closing a connection that was never made.
 */

#include <pthread.h>

#include "base/list.h"
#include "capabilities/threads/attempt.h"

#define RGI_JOBS_THREADS_MAX 64
#define RGI_PULSE_NS (2 * RGM_NS_PER_MS)

struct rgi_jobs;

struct rgi_line {
    struct rgi_jobs *jobs;
    struct rgm_link ready;
    pthread_cond_t filled;
};

struct rgi_jobs {
    pthread_mutex_t lock;
    pthread_cond_t pulse;    /* something waits, or it is over */
    struct rgi_line ordinary;
    struct rgi_line cleanup;
    struct rgm_link waiting; /* for the next pulse */
    struct rgm_link done;    /* for the owner */
    uint32_t done_count;     /* atomic: jobs-done; also read without the lock */
    uint64_t starved_count;  /* attempts that found their pool empty */
    bool pulse_sleeps;
    bool owner_sleeps;
    bool hands_back; /* of a socket what came too early is the owner's again */
    bool closing;
    bool abandoned;          /* no other attempt at anything */
    int bell;                /* rung when the owner sleeps and one is done */

    /* the owner's alone */
    pthread_t threads[RGI_JOBS_THREADS_MAX + 2];
    uint32_t threads_count;
};

/*
 * Starts all threads: `ordinary_count` (1 .. RGI_JOBS_THREADS_MAX), and two.
 * Returns: 0; -EAGAIN or -ENOMEM, nothing left running.
 */
RGM_MUST_USE int rgi_jobs_open(struct rgi_jobs *jobs, uint32_t ordinary_count);

/* Joins all threads. Nothing is in line, running or waiting. */
void rgi_jobs_close(struct rgi_jobs *jobs);

/* Before that, when something is: makes no other attempt at anything, and waits
 * for the attempts that are running. Operations that were in line stay as they
 * are, unanswered, and are not touched any more. Thread: the owner's. */
void rgi_jobs_abandon(struct rgi_jobs *jobs);

/* Thread of all below: the owner's. */

/* Of a prepared one. Returns: whether a thread is needed; otherwise it is done
 * already. */
bool rgi_jobs_add(struct rgi_jobs *jobs, struct rgm_operation *operation);

/* Ends it at once if no attempt is running, else after that attempt. */
void rgi_jobs_cancel(struct rgi_jobs *jobs, struct rgm_operation *operation);

/* Whether rgi_jobs_fetch would find something. Cost: one load. */
bool rgi_jobs_has_done(const struct rgi_jobs *jobs);

/* Moves all that is done, oldest first, to the end of the list.
 * Returns: how many attempts have found their pool empty so far. */
uint64_t rgi_jobs_fetch(struct rgi_jobs *jobs, struct rgm_link *list);

/* The next operation that is done rings the bell.
 * Returns: false if one is done already: do not sleep. */
bool rgi_jobs_sleep(struct rgi_jobs *jobs);

/* The owner is awake. Whether it takes the bell is up to what it has seen. */
void rgi_jobs_awake(struct rgi_jobs *jobs);

#endif /* CAPABILITIES_THREADS_JOBS_H */
