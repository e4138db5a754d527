/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SPY_H
#define CONFORMANCE_SPY_H

/*
 * spy.h - what passes between a worker and its provider?
 *
 * A provider that stands in front of a real one: it counts what passes, can
 * hold cancels and completions back, and can answer an operation itself. So a
 * case decides in which order things happen instead of hoping.
 *
 * Thread of everything: the worker's, in an errand of its puppet, except where
 * a declaration says otherwise.
 */

#include <ringmail/provider.h>

struct spy {
    const struct rgm_provider_ops *real;
    struct rgm_provider *provider;
    uint64_t submits[RGM_OP_KINDS_COUNT];
    uint64_t transfers; /* at once */
    uint64_t cancels;
    uint64_t waits;
    uint64_t waits_blocking;
    bool opened;
    bool closed;
    uint32_t left; /* operations it had when it was closed */

    bool holds_cancels; /* they wait in `held` */
    struct rgm_operation *held[128];
    uint32_t held_count;
    bool holds_completions; /* they wait in `done` */
    struct rgm_turn done;

    bool answers; /* the next operation is answered with `answer` */
    int answer;
};

/* The class in front of `real`. One real class at a time in a process.
 * Thread: any, before the runtime starts. */
const struct rgm_provider_class *
spy_class(const struct rgm_provider_class *real);

/* The spy of a worker. Counters may be read by any thread after the worker has
 * ended. */
struct spy *spy_of(uint32_t worker);

/* From their next turn on all spies hold nothing any more, until the next
 * runtime. Thread: any. */
void spy_let_go(void);

/* Let go of what is held, in the order in which it came, and hold no more. */
void spy_release_cancels(struct spy *spy);
void spy_release_completions(struct spy *spy);

#endif /* CONFORMANCE_SPY_H */
