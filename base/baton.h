/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_BATON_H
#define RGI_BASE_BATON_H

/*
 * baton.h - what does a thread do instead of sleeping, when it plays many?
 *
 * Ordinarily rgi_baton is NULL: a worker is a thread, and sleeps in the kernel.
 * While a stepper (actors/stepper.c) is at work on a thread, that thread plays
 * all the others in turn, and nothing on it may sleep: every place that would
 * asks the baton to wait instead, and every place that would start a thread
 * asks it for a player.
 *
 * A gate is a place between two steps that other threads may see one of. It is
 * there only when compiled with RGI_GATES, which the stepped tests are; the
 * library has none.
 */

#include <pthread.h>
#include <stdbool.h>

struct rgi_baton {
    /*
     * Let others go on until `ready` says so (NULL: until it is our turn
     * again). `at` names the place; it is a constant string.
     */
    void (*await)(struct rgi_baton *baton, const char *at,
                  bool (*ready)(void *argument), void *argument);
    /* Let others go on once: the end of a turn, or a loop that polls. */
    void (*relax)(struct rgi_baton *baton, const char *at);
    /* As pthread_create and pthread_join. The name is copied. */
    int (*start)(struct rgi_baton *baton, const char *name,
                 pthread_t *ret_thread, void *(*run)(void *argument),
                 void *argument);
    void (*join)(struct rgi_baton *baton, pthread_t thread);
};

/* This thread's; NULL on all but a stepper's. */
extern __thread struct rgi_baton *rgi_baton
    __attribute__((tls_model("initial-exec")));

#if defined(RGI_GATES)
#define RGI_GATE(at)                                                           \
    (rgi_baton != NULL ? rgi_baton->await(rgi_baton, (at), NULL, NULL)         \
                       : (void)0)
#else
#define RGI_GATE(at) ((void)0)
#endif

#endif /* RGI_BASE_BATON_H */
