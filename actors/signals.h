/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_SIGNALS_H
#define RGI_ACTORS_SIGNALS_H

/*
 * signals.h - who is told of signals?
 *
 *     handler --counts, rings--> ear --> the runtime's thread --> functions
 *     (any thread)                          |                     scopes
 *                                           '--node--> worker 0 --> actors
 *
 * hearing.c has what the process has once: totals, dispositions and the ears of
 * runtimes, which are static and never freed, so that a late handler harms
 * nothing. signals.c has the subscriptions and the thread of a runtime. All of it
 * is under one lock of the process, except for what the handler touches.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>

#include <ringmail/signal.h>

#include "base/list.h"

#define RGI_SIGNALS_MAX 64 /* numbers 1 .. 64 */

/* Of one runtime: what it wants to hear, and what wakes its thread. */
struct rgi_ear {
    uint64_t wanted; /* signal-wanted: bit n - 1 */
    uint64_t open;   /* signal-open: what its thread lets in */
    uint32_t listener; /* the process whose thread does */
    uint32_t rung;   /* signal-rung: the bell is, or is about to be */
    bool taken;
    bool made; /* the bell is */
    sem_t bell;
    uint32_t interest[RGI_SIGNALS_MAX + 1];
};

/* ---- hearing.c. Under the lock, but for ring, await and total. ---- */

/* Returns: an ear that nobody has, or NULL. */
struct rgi_ear *rgi_ear_take(void);
void rgi_ear_give(struct rgi_ear *ear);

/* Whether it is a signal, and one that may be wanted. Thread: any. */
bool rgi_may_be_heard(int number);
/* From here on, until as many times forgotten, the ear is rung. Returns: 0 or
 * -EINVAL. */
int rgi_ear_want(struct rgi_ear *ear, int number);
void rgi_ear_forget(struct rgi_ear *ear, int number);

/* Wake the ear's thread. Thread: any, signal handlers included. */
void rgi_ear_ring(struct rgi_ear *ear);
/* Let in what is wanted, and nothing else, and sleep until it is rung. Thread: the
 * ear's, which has all signals blocked before and afterwards. */
void rgi_ear_await(struct rgi_ear *ear);

/* How often a signal has come while anybody wanted it; wraps. */
uint32_t rgi_signal_total(int number);

/* ---- signals.c ---- */

/* Of a runtime. */
struct rgi_signals {
    struct rgi_ear *ear;      /* NULL: never subscribed */
    struct rgm_link listed;   /* subscriptions; the next one to be told first */
    pthread_t thread;
    bool closing;
    uint64_t busy_ns; /* signal-busy: since when a function runs; 0: none does */
};

void rgi_signals_init(struct rgi_signals *signals);
/* The runtime stops. Thread: worker 0. */
void rgi_signals_stop(struct rgm_runtime *runtime);
/* It has ended, or never started: the thread is joined, all is forgotten. */
void rgi_signals_end(struct rgm_runtime *runtime);
/* A node for worker 0. */
void rgi_signal_arrived(struct rgm_worker *worker,
                        struct rgm_message *message);
/* The runtime whose functions this thread calls, or destroys a target of; NULL:
 * none. */
const struct rgm_runtime *rgi_signal_thread_of(void);

#endif /* RGI_ACTORS_SIGNALS_H */
