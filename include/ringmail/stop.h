/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_STOP_H
#define RINGMAIL_STOP_H

/*
 * stop.h - how does a runtime end, and what keeps it from ending?
 *
 *     graceful   rgm_runtime_stop: actors are told, finish, and stop; the
 *                runtime is over when nothing of anybody's is out
 *     limited    rgm_runtime_stop_and_wait with a time limit: graceful until
 *                then, forced afterwards
 *     forced     rgm_runtime_force: all actors stop at once; what the provider
 *                does not give back in time is given up, memory included
 *
 * A graceful stop waits as long as it takes, and says for what:
 *
 *     struct rgm_blocker blockers[8];
 *     uint32_t count = rgm_runtime_blockers(runtime, blockers, 8);
 *
 *     for (uint32_t i = 0; i < count && i < 8; i++) {
 *         rgm_blocker_describe(&blockers[i], text, sizeof(text));
 *         puts(text);     // worker 2: 1 operation (rgm_read), for 12.041 s
 *     }
 */

#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What can keep a worker, or the runtime, from ending. */
enum rgm_blocker_kind {
    RGM_BLOCKER_HANDLER,   /* user code that has not returned for a while */
    RGM_BLOCKER_ACTOR,     /* actors that have not stopped */
    RGM_BLOCKER_OPERATION, /* operations that are out */
    RGM_BLOCKER_REQUEST,   /* asks, messages, returns that are not home */
    RGM_BLOCKER_KEPT,      /* requests kept by actors of the worker */
    RGM_BLOCKER_SLOT,      /* slot numbers lent for spawning, not yet back */
    RGM_BLOCKER_LEASE,     /* worker leases */
    RGM_BLOCKER_GUEST,     /* open guests: they keep only destroy from freeing */
    RGM_BLOCKER_SIGNAL,    /* a function called for a signal has not returned */
    RGM_BLOCKER_KINDS_COUNT
};

struct rgm_blocker {
    uint32_t worker; /* RGM_ANY_WORKER: of none (guests, signals) */
    enum rgm_blocker_kind kind;
    uint64_t count;
    uint64_t age_ns; /* for how long, since the stop, there has been one */
    /* One of them by name: the behaviour of the actor or handler, the type of
     * the operation or request. NULL: not known. */
    const char *name;
    struct rgm_address actor; /* ACTOR: the address of the one named */
};

/* User code counts as a blocker when it has not returned for so long. */
#define RGM_BLOCKER_HANDLER_NS (10 * RGM_NS_PER_MS)

/*
 * What keeps the runtime from ending, or, before a stop was asked for, what keeps
 * workers that retire; in the order of workers and kinds. Each number is as of
 * the worker's last turn.
 *
 * Thread:  any.
 * Returns: how many there are; `ret_blockers` has the first `room` of them.
 */
RGM_API uint32_t rgm_runtime_blockers(struct rgm_runtime *runtime,
                                      struct rgm_blocker *ret_blockers,
                                      uint32_t room);

/* "worker 2: 1 operation (rgm_read), for 12.041 s", cut to the size given.
 * Thread: any. */
RGM_API void rgm_blocker_describe(const struct rgm_blocker *blocker,
                                  char *text, size_t size_bytes);

/*
 * Force the end; returns at once. A graceful stop comes with it. All actors
 * stop, whatever they think of it; kept requests and mail go home. Operations
 * that have not ended `linger_ns` after they were cancelled are given up: their
 * askers end without hearing of them and without `stopped`, and their memory
 * is kept, since the kernel may still write to it. Worker leases are given up
 * then, too, which makes nothing safe that they stood for. Operations that a plain
 * thread waits for are not given up, as their memory is that thread's, nor those on
 * a handle of another runtime, which may still write to it (its end gives them
 * back); nor is user code interrupted, in handlers or in jobs. Calling it again does
 * nothing.
 *
 * Thread: any, signal handlers included.
 */
RGM_API void rgm_runtime_force(struct rgm_runtime *runtime,
                               uint64_t linger_ns);

struct rgm_stop_options {
    /* Graceful for so long; 0: without limit, never forced. */
    uint64_t timeout_ns;
    /* See rgm_runtime_force. Default 100 ms. */
    uint64_t linger_ns;
    /* How long to wait for the end after it was forced and lingered. Default
     * 1 s. RGM_NEVER: without limit. */
    uint64_t grace_ns;
};

#define RGM_STOP_REPORT_MAX 32

struct rgm_stop_report {
    bool forced;
    uint64_t took_ns; /* the call */
    /* What was in the way when the time was up; how many, and the first. */
    uint32_t blockers_count;
    struct rgm_blocker blockers[RGM_STOP_REPORT_MAX];
    /* What is left behind: given up when it was forced, or, after -EBUSY, what
     * still keeps it from ending. */
    uint32_t left_count;
    struct rgm_blocker left[RGM_STOP_REPORT_MAX];
};

/*
 * Stop and wait for the end, within a time limit if there is one. Any number of
 * threads may call it; the shortest limit counts for all, all see the end.
 *
 * options: NULL is all defaults. ret_report may be NULL; it is written whatever
 * the status, except -EDEADLK.
 *
 * Thread:  any but the runtime's own.
 * Returns: 0           it has ended gracefully
 *          -ETIMEDOUT  it has ended by force
 *          -EBUSY      it was forced, and has not ended: the report says why.
 *                      It may be waited for again
 *          -EDEADLK    on a worker of this runtime, or in one of its jobs
 *          or the error that ended the first provider that failed.
 */
RGM_API RGM_MUST_USE int
rgm_runtime_stop_and_wait(struct rgm_runtime *runtime,
                          const struct rgm_stop_options *options,
                          struct rgm_stop_report *ret_report);

/*
 * Give the runtime up: it is asked to stop, ends in its own time and then frees
 * itself. Never waits and never joins, so a handler may give up the runtime it
 * runs in.
 *
 * Thread:  any, workers included; the last call that is given the runtime,
 *          except for what its own actors do until they have stopped.
 * Owns:    on 0 the runtime is its own.
 * Returns: 0; -EBUSY when guests are open or somebody is in rgm_runtime_run or
 *          rgm_runtime_wait; -EAGAIN, -ENOMEM: no thread can be made to see it
 *          to its end; -ENOTSUP: it has not ended, and is played by a stepper.
 *          On error nothing has changed.
 */
RGM_API RGM_MUST_USE int rgm_runtime_drop(struct rgm_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_STOP_H */
