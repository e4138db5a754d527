/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_SCRIPTED_H
#define RINGMAIL_SCRIPTED_H

/*
 * scripted.h - a provider a test holds in its hands.
 *
 * Nothing is carried out. What workers submit waits, in the order it was
 * submitted, until the test says how it ends; time stands still until the test
 * moves it. So a race is written down: complete this one, then cancel it, then
 * let the other fail.
 *
 *     struct rgm_runtime_options options = {.spin_us = RGM_SPIN_OFF};
 *     struct rgm_operation *read;
 *
 *     status = rgm_script_create(&script);
 *     options.provider = &rgm_provider_scripted;
 *     options.provider_argument = script;
 *     ...                                          an actor asks for a read
 *     read = rgm_script_find(script, RGM_OP_READ, 0);
 *     rgm_script_complete_read(script, read, "ab", 2, false);
 *
 * One script may serve all workers of several runtimes. It needs no sockets and
 * no clock of the machine's. With a stepper (stepper.h) one thread plays all
 * workers and the same script gives the same run.
 *
 * Thread: any, unless a declaration says otherwise. An operation may be looked
 * at and decided from when it is found until it is completed; two threads that
 * decide about the same one are a mistake.
 */

#include <ringmail/provider.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_script;

RGM_API extern const struct rgm_provider_class rgm_provider_scripted;

/*
 * Make a script. Its time is one second; all kinds of operations are there.
 *
 * Owns:    the caller, until rgm_script_destroy.
 * Returns: 0 or -ENOMEM.
 */
RGM_API RGM_MUST_USE int rgm_script_create(struct rgm_script **ret_script);

/* No provider of its is open: its runtimes have ended. NULL does nothing. */
RGM_API void rgm_script_destroy(struct rgm_script *script);

/* Which kinds the providers opened from now on have; bit k: kind k. */
RGM_API void rgm_script_kinds(struct rgm_script *script, uint64_t kinds);

/* ------------------------------------------------------------------- time */

/* Now, in ns. */
RGM_API uint64_t rgm_script_now(const struct rgm_script *script);

/*
 * Let the script's time be the machine's (CLOCK_MONOTONIC) from now on, for
 * tests that do not care what time it is. advance and jump do nothing then.
 *
 * Thread: setup.
 */
RGM_API void rgm_script_follow_clock(struct rgm_script *script);

/* Let time pass; workers whose deadline has come wake. */
RGM_API void rgm_script_advance(struct rgm_script *script, uint64_t ns);

/*
 * Let time pass until the nearest deadline that a worker sleeps for.
 *
 * Returns: false, and nothing happens, when none sleeps for one.
 */
RGM_API bool rgm_script_jump(struct rgm_script *script);

/* --------------------------------------------------- what has been submitted */

#define RGM_SCRIPT_ANY RGM_OP_KINDS_COUNT

/* How many operations of a kind (or RGM_SCRIPT_ANY) wait to be decided. */
RGM_API size_t rgm_script_count(struct rgm_script *script,
                                enum rgm_operation_kind kind);

/* The oldest of them after `skip` others, or NULL. */
RGM_API struct rgm_operation *rgm_script_find(struct rgm_script *script,
                                              enum rgm_operation_kind kind,
                                              size_t skip);

/* The number of the worker that submitted it. */
RGM_API uint32_t
rgm_script_worker(const struct rgm_operation *operation);

/* Whether it has been asked to stop. */
RGM_API bool rgm_script_is_cancelled(struct rgm_script *script,
                                     const struct rgm_operation *operation);

/* ----------------------------------------------------------------- deciding */

/*
 * Decide how an operation ends. Its worker gets it with its next look; what is
 * decided first comes first. With status 0 a listen, accept or connect opens
 * its handle; a write has written all, a read has read nothing unless it was
 * said how much. Outputs of other kinds (options, names) are written into the
 * record before.
 *
 * status: 0 or a negative errno. After a cancel -EAGAIN and -EINTR become
 * -ECANCELED, as for every provider.
 */
RGM_API void rgm_script_complete(struct rgm_script *script,
                                 struct rgm_operation *operation, int status);

/*
 * The same with status 0 for one that opens a handle, whose `resource` is this
 * number, to be found in what is asked of it later. Otherwise it is one of the
 * provider's.
 */
RGM_API void rgm_script_complete_open(struct rgm_script *script,
                                      struct rgm_operation *operation,
                                      uint64_t resource);

/* A write that has written so much, and then ended with status. */
RGM_API void rgm_script_complete_write(struct rgm_script *script,
                                       struct rgm_operation *operation,
                                       size_t count, int status);

/*
 * A read, pooled or not, that has read these bytes (copied here) and perhaps
 * seen the end.
 *
 * Returns: 0; -EINVAL for more bytes than there is room for; -EAGAIN when its
 *          pool has no free slot. Then it is not decided.
 */
RGM_API RGM_MUST_USE int
rgm_script_complete_read(struct rgm_script *script,
                         struct rgm_operation *operation, const void *bytes,
                         size_t count, bool end);

/*
 * Cancels are held: a cancelled operation waits for the test to decide which
 * of the two was first. Otherwise (the beginning) a cancel is honoured at once.
 */
RGM_API void rgm_script_hold_cancels(struct rgm_script *script, bool hold);

/* The nth submission from now (1: the next) ends with this status at once, as
 * one for which the kernel has no entry, no memory or no buffer. 0: none. */
RGM_API void rgm_script_refuse_nth(struct rgm_script *script, uint64_t nth,
                                   int status);

/* Call a function after each submission, on the worker's thread, where it may
 * decide. NULL: none. Thread: setup. */
typedef void rgm_script_function(struct rgm_script *script,
                                 struct rgm_operation *operation,
                                 void *argument);
RGM_API void rgm_script_on_submit(struct rgm_script *script,
                                  rgm_script_function *function,
                                  void *argument);

/* -------------------------------------------------------- what the waits see */

/* Ring a worker's bell, though there is nothing to hear. */
RGM_API void rgm_script_ring(struct rgm_script *script, uint32_t worker);

/* End a worker's wait, or its next one, with nothing: an interrupted call. */
RGM_API void rgm_script_interrupt(struct rgm_script *script, uint32_t worker);

/* The worker's provider fails: its next wait, and every one after, gives this
 * negative errno. */
RGM_API void rgm_script_fail(struct rgm_script *script, uint32_t worker,
                             int error);

/* The providers of workers from this number on cannot be opened. 0: they can. */
RGM_API void rgm_script_refuse_open(struct rgm_script *script, uint32_t worker,
                                    int error);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_SCRIPTED_H */
