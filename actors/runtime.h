/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_RUNTIME_H
#define RGI_ACTORS_RUNTIME_H

/*
 * runtime.h - what do the workers of a runtime share?
 *
 * Little: the inboxes by number, the list of dispatch tables, a few words for
 * starting and stopping. Fields are grouped by who writes them; everything
 * that several threads write while workers run is marked with its row in
 * docs/THREADS.md.
 */

#include <pthread.h>

#include <ringmail/runtime.h>

#include "actors/jobs.h"
#include "actors/waits.h"
#include "actors/signals.h"
#include "actors/worker.h"

/* What a number (worker or guest) keeps from one owner to the next. */
struct rgi_place {
    struct rgi_inbox inbox;
    int bell; /* place-bell: eventfd, made once, before the first opening */
    struct rgm_message stop;  /* control nodes of the place */
    struct rgm_message close;
    struct rgm_message force;
    struct rgm_message order;  /* of worker 0, to retire or to meet the others */
    struct rgm_message report; /* to worker 0: the thread has come, has gone */
    uint64_t peers; /* whom to meet; goes with the order */
    struct rgm_address seat; /* of a dedicated worker; comes with the order */
    struct rgi_forwards *forwards; /* forwards: of the last that retired */
    uint32_t readers;              /* forwards: who looks into them */
};

/* How worker 0 changes the number of workers: actors/resize.c. Its own. */
struct rgi_steward {
    struct rgm_link waiting;   /* resizes and the like, in order */
    struct rgm_link lingering; /* in effect, and to be told when all are gone */
    uint64_t growing;  /* numbers that are on their way */
    uint64_t draining; /* numbers that retire */
    uint64_t named;    /* numbers whose last actors live elsewhere */
    uint64_t dedicated; /* numbers that are one actor's */
    struct rgm_dedicate *seating; /* its worker is on its way */
    uint32_t to_come;  /* threads that have not reported */
    uint32_t orders;   /* that are out */
    int status;        /* of the growth under way */
    bool stop_waits;   /* a stop came meanwhile */
    bool force_waits;  /* an end by force, for the stop to take effect */
};

/* A guest number's inbox and home, kept from one guest to the next. */
struct rgi_guest_home {
    struct rgi_inbox inbox;
    struct rgm_worker worker;
};

enum rgi_runtime_state {
    RGI_RUNTIME_NEW,
    RGI_RUNTIME_STARTING,
    RGI_RUNTIME_RUNNING,
    RGI_RUNTIME_ENDED /* all workers have ended and are joined */
};

struct rgm_runtime {
    /* Constant after create. */
    struct rgm_runtime_options options;
    uint32_t workers_count;      /* to start with */
    uint32_t places_count;       /* and at most */
    struct rgi_place *places;    /* of workers */
    uint32_t cpus;
    const struct rgm_provider_class *provider;
    bool nobody_is_here; /* rgi_here() says so: slow assertions only */

    /* Written by the starting thread. */
    uint32_t state;              /* runtime-state; futex word */
    bool first_is_caller;        /* worker 0 runs on the thread of run */
    char provider_text[160];
    char error_text[256];
    char failure_text[128]; /* when all have ended */

    /* Written by worker 0, while workers run. */
    struct rgm_worker **workers; /* by number; NULL: never used */
    pthread_t *threads;          /* of those in `open` */
    uint64_t live;         /* runtime-live: numbers that take placements */
    uint64_t open;         /* runtime-live: numbers that have a thread */
    uint32_t numbers_used; /* runtime-numbers: one above the highest ever used */
    uint64_t members;      /* who stops together; goes with the stop nodes */
    struct rgi_steward steward;

    /* Written by workers while they start and end. */
    uint32_t started;  /* runtime-started; futex word */
    uint32_t released; /* runtime-released: go, or go home; futex word */
    int32_t start_error;
    uint32_t quiet;   /* runtime-quiet */
    uint32_t running; /* runtime-running: workers not ended; futex word */
    uint32_t joining; /* runtime-joining: who joins the threads */
    int32_t failure;  /* runtime-failure: of the first provider that failed */

    /* Written by anyone. */
    uint32_t stop_requested; /* runtime-stop */
    uint32_t force_requested; /* runtime-stop */
    uint64_t stop_ns;         /* runtime-stop: when; CLOCK_MONOTONIC */
    uint64_t linger_ns;       /* by the first that forces; goes with the push */
    uint32_t outside;        /* runtime-outside: threads inside a push */
    uint32_t awaited;        /* runtime-outside: of these, who waits or runs it */
    uint32_t spawn_turn;     /* runtime-spawn-turn */
    uint64_t guests_taken[RGM_GUESTS_MAX / 64]; /* runtime-guests */
    struct rgi_guest_home *guests[RGM_GUESTS_MAX]; /* by their taker */
    struct rgm_parcel *faults; /* runtime-faults: nobody heard of them */
    uint32_t lost; /* runtime-lost: records went with a provider */
    struct rgi_dispatch *dispatches; /* dispatch-list */
    struct rgi_name *contexts;       /* name-list */
    struct rgi_slab_store slabs;
    struct rgi_job_pool jobs; /* under its own lock */
#if defined(RGI_SLOW_ASSERTS) && RGI_SLOW_ASSERTS
    struct rgi_waits waits; /* likewise */
#endif
    struct rgi_signals signals; /* under the lock of signals.c */
};

static inline uint64_t
rgi_bit(uint32_t number)
{
    return UINT64_C(1) << number;
}

/* Whether this thread must end before the runtime can: a worker's, or one that
 * runs a job, or is called for a signal, or destroys what was. */
static inline bool
rgi_is_inside(const struct rgm_runtime *runtime)
{
    return (rgi_current != NULL && rgi_current->runtime == runtime) ||
           rgi_job_thread_of() == runtime ||
           rgi_signal_thread_of() == runtime;
}

/* As rgm_runtime_run, with a watcher of the root, or NULL. */
int rgi_runtime_run(struct rgm_runtime *runtime,
                    const struct rgm_behaviour *root, const void *argument,
                    struct rgm_message *watch);

/* ---- runtime.c, for resize.c ---- */

/* Everything a number needs before its thread: bell and worker, made the first
 * time, renewed later. Thread: worker 0. Returns 0, -ENOMEM, -EMFILE, ... */
int rgi_worker_prepare(struct rgm_runtime *runtime, uint32_t number);
/* Make a thread of ours. Returns 0 or a negative errno. */
int rgi_thread_create(struct rgm_runtime *runtime, uint32_t number,
                      void *(*function)(void *worker));
void rgi_thread_join(struct rgm_runtime *runtime, uint32_t number);
/* Pin, if that is wanted, and open the provider. Thread: the worker's. */
int rgi_worker_open(struct rgm_worker *worker, char *ret_why, size_t size);
/* Live until closed. Thread: the worker's. */
void rgi_worker_live(struct rgm_worker *worker);
/* A thread of the runtime's has ended. */
void rgi_report_ended(struct rgm_runtime *runtime);
/* Spinning is off where workers outnumber CPUs. Thread: the worker's. */
void rgi_spin_allow(struct rgm_worker *worker, uint32_t workers_count);
/* Push the stop nodes of those that stop together. Thread: worker 0. */
void rgi_stop_distribute(struct rgm_runtime *runtime);

/*
 * Push a node from whatever thread, and ring. Whoever frees the runtime waits
 * until the push is over, however late its thread gets on.
 * Returns: as rgi_inbox_push.
 */
int rgi_push_outside(struct rgm_runtime *runtime, struct rgi_inbox *inbox,
                     struct rgm_message *node);

/* The inbox of a worker or guest number, or NULL. */
struct rgi_inbox *rgi_runtime_inbox(struct rgm_runtime *runtime,
                                    uint32_t number);

/* Make and unmake the sending half of a worker or guest. */
int rgi_home_init(struct rgm_worker *worker, struct rgm_runtime *runtime,
                  uint32_t number, struct rgi_inbox *inbox);
void rgi_home_deinit(struct rgm_worker *worker);

/* The numbers that have ever been used, and the workers behind them. Thread:
 * any. */
uint32_t rgi_numbers_known(struct rgm_runtime *runtime);

/* Keep a fault that nobody waits for. Thread: any. */
void rgi_fault_keep(struct rgm_runtime *runtime, struct rgm_parcel *fault);

/* Whether any guest is open. */
bool rgi_guests_open(struct rgm_runtime *runtime);

/*
 * Wait for the end until a time of CLOCK_MONOTONIC; RGM_NEVER: without limit.
 * Returns: 0; -ETIMEDOUT; or the error of the first provider that failed.
 */
int rgi_runtime_await_end(struct rgm_runtime *runtime, uint64_t deadline_ns);

/* futex(2): sleep while *word == seen; wake all sleepers. */
void rgi_futex_wait(uint32_t *word, uint32_t seen);
/* The same until a time of CLOCK_MONOTONIC; false: that has come. */
bool rgi_futex_wait_until(uint32_t *word, uint32_t seen, uint64_t deadline_ns);
void rgi_futex_wake(uint32_t *word);
/* Somebody else is in the middle of something short: let him go on. */
void rgi_relax(void);

/* What is detached in this runtime says so: capabilities/transit.h. */
static inline uint64_t
rgi_origin(const struct rgm_runtime *runtime)
{
    return (uintptr_t)runtime;
}

#endif /* RGI_ACTORS_RUNTIME_H */
