/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_SIGNAL_H
#define RINGMAIL_SIGNAL_H

/*
 * signal.h - be told of signals, in ordinary code.
 *
 *     static struct rgm_signal_guard guard;
 *
 *     status = rgm_signal_stop(runtime, SIGTERM, &guard);    it ends well
 *     status = rgm_signal_tell(runtime, SIGHUP, server, &guard);
 *     status = rgm_signal_cancel(runtime, SIGINT, &scope, &guard);
 *     status = rgm_signal_call(runtime, SIGUSR1, dump, log, NULL, &guard);
 *     ...
 *     rgm_signal_drop(&guard);
 *
 * A subscription names a signal and a target: a function, an actor that gets a
 * message, a scope, or the end of the runtime. Any number may name one signal,
 * in any number of runtimes of the process; each is told for itself. What is
 * behind it: a handler that counts and wakes, and one thread per runtime that
 * has ever subscribed, which sleeps until then. Functions run on that thread, so
 * they may lock, allocate, block, subscribe and drop, and one that blocks delays
 * only what is subscribed in the same runtime.
 *
 * Signals are facts, not messages: those of one number that come faster than a
 * target takes them are told at once, with their count.
 *
 * The first subscription to a signal in the process puts its disposition aside,
 * and the last that goes puts it back, unless somebody else has changed it by
 * then. Before the first nothing is touched. The thread lets the signals in that
 * its runtime wants, so a program may block them everywhere else, but it need not.
 *
 * A stop of the runtime ends the telling: no notification begins after it, and
 * the runtime has not ended before the one in progress has. The signals are
 * caught (and told to nobody) until then, so a second SIGTERM harms nothing.
 *
 * A child process that is forked has the handlers until it executes another
 * program; what it catches is told to nobody. Workers have all signals blocked,
 * and what they start inherits that: posix_spawnattr_setsigmask(3).
 *
 * Source: signal(7), sigaction(2), signal-safety(7).
 */

#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_scope;
struct rgm_parcel;

/* Runtimes of a process that have subscribed and not ended. */
#define RGM_SIGNAL_RUNTIMES_MAX 32

/* What an actor is told: RGM_ON(server, rgm_signal, on_signal). It goes home by
 * itself, as any one-way message. */
struct rgm_signal {
    struct rgm_message message;
    int32_t number;
    uint32_t count; /* how often it came since the last message; at least 1 */
    void *subscription; /* the runtime's */
};
RGM_API extern const struct rgm_message_type rgm_signal_type;

/* A subscription; zeroed: none. Moved by copying: then the other is to be
 * forgotten. */
struct rgm_signal_guard {
    void *subscription;
};

/*
 * Thread: the runtime's own for this; it is no worker's, so it may block, and
 *         open a guest, but not wait for the runtime's end (-EDEADLK).
 */
typedef void rgm_signal_function(void *argument, int32_t number,
                                 uint32_t count);

/*
 * Subscribe, with a function. `destroy` (or NULL) is called with the argument
 * when the guard has been dropped, or the runtime has ended, and no call is in
 * progress: on the thread that saw to the last of these. The end waits for it, so it
 * may not wait for the end (-EDEADLK).
 *
 * Thread:  any, workers included; not in a signal handler.
 * Owns:    on 0 the subscription has the argument, and *ret_guard must be
 *          dropped, which may be after the end of the runtime.
 * Returns: 0: a signal that comes from here on is told
 *          -EINVAL   no signal, or one that cannot be caught (SIGKILL, SIGSTOP,
 *                    the C library's own), or one that says that the program is
 *                    broken (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS,
 *                    SIGABRT)
 *          -EPIPE    the runtime stops, or has ended
 *          -EAGAIN   RGM_SIGNAL_RUNTIMES_MAX others have subscribed; or there is
 *                    no thread to be had
 *          -ENOMEM
 *          -ENOTSUP  the runtime is played by a stepper
 *          On an error nothing has changed.
 */
RGM_API RGM_MUST_USE int
rgm_signal_call(struct rgm_runtime *runtime, int number,
                rgm_signal_function *function, void *argument,
                void (*destroy)(void *argument),
                struct rgm_signal_guard *ret_guard);

/*
 * Subscribe, for an actor: it gets a struct rgm_signal, at most one at a time;
 * worker 0 sends it. When there is no such actor any more the subscription ends
 * by itself.
 *
 * Thread:  as rgm_signal_call; Owns and Returns, too, and
 *          -ESRCH  before the start, when there are no actors
 */
RGM_API RGM_MUST_USE int
rgm_signal_tell(struct rgm_runtime *runtime, int number,
                struct rgm_address to, struct rgm_signal_guard *ret_guard);

/*
 * Subscribe, for a scope: it is cancelled. It must stay open until the guard is
 * dropped, or end with its actor, whose `stopped` drops the guard.
 *
 * Thread:  as rgm_signal_call; Owns and Returns, too, and
 *          -EINVAL  the scope is of another runtime
 */
RGM_API RGM_MUST_USE int
rgm_signal_cancel(struct rgm_runtime *runtime, int number,
                  struct rgm_scope *scope,
                  struct rgm_signal_guard *ret_guard);

/* Subscribe, for the runtime: it stops (rgm_runtime_stop).
 * Thread: as rgm_signal_call; Owns and Returns, too. */
RGM_API RGM_MUST_USE int
rgm_signal_stop(struct rgm_runtime *runtime, int number,
                struct rgm_signal_guard *ret_guard);

/*
 * End a subscription: no notification begins any more. One in progress is not
 * waited for: the target lives until it is over. (A message that was sent to an
 * actor may still arrive.) The guard is empty then; an empty one does nothing.
 *
 * Thread: any, the function of the subscription included; not in a signal
 *         handler.
 */
RGM_API void rgm_signal_drop(struct rgm_signal_guard *guard);

/*
 * Report a fault: in a function that was called for a signal, or in `destroy`. It
 * is kept (rgm_runtime_faults), and the others are told as if nothing was.
 *
 * Thread: the one that runs the function, or `destroy`.
 * Owns:   the runtime has the parcel; one that has ended drops it.
 */
RGM_API void rgm_signal_fault(struct rgm_parcel *fault);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_SIGNAL_H */
