/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SIGNAL_TOLD_H
#define CONFORMANCE_SIGNAL_TOLD_H

/*
 * signal_told.h - what does a case about signals stand on?
 *
 * A process of its own, because dispositions are the process's, and somebody
 * who is told, who can be held at a gate meanwhile.
 */

#include <signal.h>

#include "conformance/harness.h"

#define SIGNAL_NUMBERS 64

/* ------------------------------------------------------ a process of its own */

/* Into SIGNAL_NUMBERS + 1 places. */
void apart_dispositions(struct sigaction *ret_actions);
bool apart_same_dispositions(const struct sigaction *these);

/* Runs it in a child process, and checks that this one's dispositions are what
 * they were. Under ThreadSanitizer it only says that it does not. */
void apart_run(struct stage *stage, stage_case_function *run);

#define APART(name)                                                            \
    static void name##_apart(struct stage *stage);                             \
    void name(struct stage *stage)                                             \
    {                                                                          \
        apart_run(stage, name##_apart);                                        \
    }                                                                          \
    static void name##_apart(struct stage *stage)

/* ------------------------------------------------------------- what is told */

/* What a callback has seen, and a gate it waits at. */
struct told {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t calls;
    uint32_t signals;
    uint32_t destroyed;
    int number;
    bool gated; /* callbacks wait until it is not */
    bool inside;
    pthread_t thread;
    struct rgm_signal_guard guard;
    struct rgm_runtime *runtime;
    struct rgm_parcel *faults[2]; /* to report: by a call, by a destroy */
};

void told_init(struct told *told);

/* The functions that are subscribed; the argument is a struct told. */
void told_call(void *argument, int32_t number, uint32_t count);
void told_destroyed(void *argument);

void told_subscribe(struct stage *stage, struct told *told, int number);

#define TOLD_AWAIT(told, condition)                                            \
    do {                                                                       \
        pthread_mutex_lock(&(told)->lock);                                     \
        while (!(condition))                                                   \
            pthread_cond_wait(&(told)->changed, &(told)->lock);                \
        pthread_mutex_unlock(&(told)->lock);                                   \
    } while (0)

void told_gate_shut(struct told *told);
void told_gate_open(struct told *told);

/* All that came before has been told when this has. */
void told_settle(struct stage *stage);

#endif /* CONFORMANCE_SIGNAL_TOLD_H */
