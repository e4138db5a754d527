/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_STEPPER_H
#define RINGMAIL_STEPPER_H

/*
 * stepper.h - one thread plays all workers, in an order the test chooses.
 *
 * While a thread has a stepper, a runtime that is started there starts no
 * threads: each worker becomes a player, which runs when it is stepped, until
 * it stops at a place where others may go first. Calls that would block let the
 * others play meanwhile. With the scripted provider (scripted.h) nothing is
 * left to chance: the same steps give the same run.
 *
 *     status = rgm_stepper_create(&stepper);
 *     status = rgm_runtime_create(&options, &runtime);     // scripted
 *     status = rgm_runtime_start(runtime);
 *     zero = rgm_stepper_find(stepper, "worker 0");
 *     while (rgm_stepper_step(stepper, zero))              // until it sleeps
 *         continue;
 *     rgm_stepper_settle(stepper);                         // until all do
 *     rgm_runtime_stop(runtime);
 *     rgm_runtime_wait(runtime);                           // plays to the end
 *     rgm_runtime_destroy(runtime);
 *     rgm_stepper_destroy(stepper);
 *
 * A player stops
 *
 *     "begin"   before its first step
 *     "look"    at the end of a turn that does not sleep
 *     "wait"    asleep: until its bell, a completion or its deadline
 *     "futex"   in a call that blocks: until what it waits for has come
 *     "over"    after its last
 *
 * and, when the library was compiled with RGI_GATES, at the gates inside a turn
 * (base/baton.h). The test's own code may be a player, too: rgm_stepper_play.
 *
 * Players must not block on anything but this library: nobody would go on.
 *
 * Thread: the one that created it, and not a player, for all of it. Runtimes are
 * created, used and destroyed on that thread, between create and destroy.
 */

#include <ringmail/base.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_stepper;

/*
 * Thread:  any that has none and is no worker's.
 * Owns:    the caller, until rgm_stepper_destroy.
 * Returns: 0, -EDEADLK on such a thread, -ENOMEM.
 */
RGM_API RGM_MUST_USE int rgm_stepper_create(struct rgm_stepper **ret_stepper);

/* All players are over. NULL does nothing. */
RGM_API void rgm_stepper_destroy(struct rgm_stepper *stepper);

/*
 * Make a player of a function: a plain thread of the program's, which may use
 * guests and all calls that block.
 *
 * Returns: its number, or -ENOMEM.
 */
RGM_API RGM_MUST_USE int rgm_stepper_play(struct rgm_stepper *stepper,
                                          const char *name,
                                          void (*run)(void *argument),
                                          void *argument);

/* How many players there have been; they are numbered from 0. */
RGM_API uint32_t rgm_stepper_count(const struct rgm_stepper *stepper);

/* The number of the last player of that name, or -ENOENT. A worker's is
 * "worker N". */
RGM_API int rgm_stepper_find(const struct rgm_stepper *stepper,
                             const char *name);

/* Where it has stopped; a constant string. */
RGM_API const char *rgm_stepper_at(const struct rgm_stepper *stepper,
                                   uint32_t player);

/* Whether it would go on: it is not over, and what it waits for has come. */
RGM_API bool rgm_stepper_is_ready(const struct rgm_stepper *stepper,
                                  uint32_t player);

/* Let it go on to its next stop. Returns: false, and nothing happens, when it
 * is not ready. */
RGM_API bool rgm_stepper_step(struct rgm_stepper *stepper, uint32_t player);

/* Step it until it stops at `place`, at least once. Returns: false when it was
 * not ready any more before it came there. */
RGM_API bool rgm_stepper_step_to(struct rgm_stepper *stepper, uint32_t player,
                                 const char *place);

/*
 * Step whoever is ready, in turn or as rgm_stepper_choose says, until nobody
 * is. Returns: the steps made.
 */
RGM_API uint64_t rgm_stepper_settle(struct rgm_stepper *stepper);

/*
 * Who goes next, where the test does not say: `choose` is given how many are
 * ready (more than one) and picks one of them. They are counted from the one
 * that went last, so 0 goes on with that one if it is ready. NULL: in turn.
 */
RGM_API void rgm_stepper_choose(struct rgm_stepper *stepper,
                                uint32_t (*choose)(void *argument,
                                                   uint32_t count),
                                void *argument);

/*
 * What to do in a call that blocks when nobody is ready: `idle` makes something
 * happen (moves the time, completes an operation), or returns false. Then, or
 * without it, nothing ever would: that is a stall, and ends the program with a
 * list of who stands where.
 */
RGM_API void rgm_stepper_on_idle(struct rgm_stepper *stepper,
                                 bool (*idle)(void *argument), void *argument);

/* Of who stepped where so far: equal runs have equal digests. */
RGM_API uint64_t rgm_stepper_digest(const struct rgm_stepper *stepper);

/* "worker 0: wait, worker 1: look"; always ends the string. */
RGM_API void rgm_stepper_describe(const struct rgm_stepper *stepper,
                                  char *ret_text, size_t size_bytes);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_STEPPER_H */
