/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_THREADS_ATTEMPT_H
#define CAPABILITIES_THREADS_ATTEMPT_H

/*
 * attempt.h - what does one try at an operation do?
 *
 * An attempt is a system call or two that never wait for a peer. It either
 * finishes the operation or finds that it is too early; between two attempts
 * an operation holds no thread, no pool slot and no lock.
 */

#include "capabilities/stream.h"

enum rgi_phase {
    RGI_PHASE_READY,   /* in line for a thread */
    RGI_PHASE_RUNNING, /* an attempt is being made */
    RGI_PHASE_WAITING, /* for the next pulse */
    RGI_PHASE_DONE     /* for the owner to fetch it */
};

enum rgi_verdict {
    RGI_FINISHED, /* its status is set */
    RGI_AGAIN,    /* there was progress and may be more */
    RGI_LATER,    /* the kernel has nothing now; the descriptor tells when */
    RGI_PAUSE     /* later, too, and nothing tells when */
};

/* The status, between two of them, of one whose owner is to wait for the socket. */
#define RGI_TOO_EARLY 1

/* Lies in operation->scratch, which is declared as words: may_alias. While an
 * attempt is running it is that thread's, except `phase` and `stopping`, which
 * the lock of the jobs protects at all times. */
struct __attribute__((may_alias)) rgi_attempt {
    uint8_t phase;   /* enum rgi_phase */
    bool stopping;   /* do not try again */
    bool connecting; /* `made` is on its way to be connected */
    bool starved;    /* the pool had no slot */
    int32_t status;
    int32_t uses; /* descriptor of the socket it is about */
    int32_t made; /* descriptor that it made; -1: none */
    int32_t source; /* of the file that is sent */
    const struct rgm_stream_defaults *defaults; /* of those it makes */
    union {
        struct rgi_write_place place;
        void *owner; /* of one that makes a descriptor: its provider's own */
    };
};

_Static_assert(sizeof(struct rgi_attempt) <=
                   sizeof(((struct rgm_operation *)0)->scratch),
               "an attempt fits the scratch of an operation");

static inline struct rgi_attempt *
rgi_attempt_of(struct rgm_operation *operation)
{
    return (struct rgi_attempt *)(void *)operation->scratch;
}

/* Thread: the owner's, at submission. */
void rgi_attempt_prepare(struct rgm_operation *operation,
                         const struct rgm_stream_defaults *defaults);

/* Thread: any that took the operation out of the line. */
enum rgi_verdict rgi_attempt_run(struct rgm_operation *operation);

/* Closes what one that has failed made, if it made anything. */
void rgi_attempt_discard(struct rgm_operation *operation);

/* There will be no other attempt: lets go of what is between two of them and
 * sets -ECANCELED. Thread: the one that would run it. */
void rgi_attempt_give_up(struct rgm_operation *operation);

/* Whether it is clean-up: never refused, never cancelled, has a thread of its
 * own. */
static inline bool
rgi_attempt_is_cleanup(const struct rgm_operation *operation)
{
    return operation->kind == RGM_OP_CLOSE ||
           operation->kind == RGM_OP_SHUTDOWN ||
           operation->kind == RGM_OP_FILE_ADVISE;
}

#endif /* CAPABILITIES_THREADS_ATTEMPT_H */
