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

#include "actors/worker.h"

/* What a number (worker or guest) keeps from one owner to the next. */
struct rgi_place {
    struct rgi_inbox inbox;
    int bell; /* eventfd of a worker's place */
    struct rgm_message stop;  /* control nodes of the place */
    struct rgm_message close;
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
    uint32_t workers_count;
    struct rgi_place *places;    /* of workers */
    struct rgm_worker **workers;
    pthread_t *threads;
    uint32_t cpus;
    uint32_t identity; /* no other runtime of the process has it */
    const struct rgm_provider_class *provider;

    /* Written by the starting thread. */
    uint32_t state;              /* runtime-state; futex word */
    bool first_is_caller;        /* worker 0 runs on the thread of run */
    char provider_text[160];
    char error_text[256];
    char failure_text[128]; /* when all have ended */

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
    uint32_t outside;        /* runtime-outside: threads inside a push */
    uint32_t spawn_turn;     /* runtime-spawn-turn */
    uint64_t guests_taken[RGM_GUESTS_MAX / 64]; /* runtime-guests */
    struct rgi_guest_home *guests[RGM_GUESTS_MAX]; /* by their taker */
    uint32_t lost; /* runtime-lost: records went with a provider */
    struct rgi_dispatch *dispatches; /* dispatch-list */
    struct rgi_slab_store slabs;
};

/* The inbox of a worker or guest number, or NULL. */
struct rgi_inbox *rgi_runtime_inbox(struct rgm_runtime *runtime,
                                    uint32_t number);

/* Make and unmake the sending half of a worker or guest. */
int rgi_home_init(struct rgm_worker *worker, struct rgm_runtime *runtime,
                  uint32_t number, struct rgi_inbox *inbox);
void rgi_home_deinit(struct rgm_worker *worker);

/* futex(2): sleep while *word == seen; wake all sleepers. */
void rgi_futex_wait(uint32_t *word, uint32_t seen);
void rgi_futex_wake(uint32_t *word);

#endif /* RGI_ACTORS_RUNTIME_H */
