/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_FIBER_H
#define RGI_BASE_FIBER_H

/*
 * fiber.h - how does one thread play several, one at a time?
 *
 *     thread --enter--> fiber --yield--> thread --enter--> ...
 *
 * A fiber is a function with a stack of its own. It runs when it is entered, on
 * the thread that enters it, until it yields or returns. The sanitizers are told
 * of every change of stack.
 *
 * For tests, by way of actors/stepper.c: nothing a program does in production
 * runs on a fiber.
 */

#include <stdbool.h>

#include <ringmail/base.h>

struct rgi_fiber;

/* Thread: any; all further calls are that thread's. Returns: NULL when there is
 * no memory. Owns: the caller, until rgi_fiber_destroy. */
RGM_MUST_USE struct rgi_fiber *rgi_fiber_create(void (*run)(void *argument),
                                                void *argument);

/* Run it from where it is until it yields or returns. Not from a fiber. */
void rgi_fiber_enter(struct rgi_fiber *fiber);

/* Back to who entered. In a fiber only. */
void rgi_fiber_yield(void);

/* Whether its function has returned. */
bool rgi_fiber_is_over(const struct rgi_fiber *fiber);

/* It is over, or was never entered. NULL is nothing. */
void rgi_fiber_destroy(struct rgi_fiber *fiber);

#endif /* RGI_BASE_FIBER_H */
