/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_BELL_H
#define RGI_BASE_BELL_H

/*
 * bell.h - how does one thread wake another that sleeps in the kernel?
 *
 * A bell is a non-blocking eventfd. It belongs to a worker's slot and is used
 * by one incarnation after the other, so a late ring is a wake for nothing and
 * never a write into somebody else's descriptor.
 *
 * A sleeper hears it by a poll. Two kinds of sleeper must be served:
 *
 *   edge    (a multishot poll of a ring, never read): every write is an edge,
 *           except one that fails because the counter is full. So the ringer
 *           then empties the counter and writes again.
 *   level   (poll, ppoll): it stays ringing until rgi_bell_take.
 */

#include <ringmail/base.h>

/* Opens a bell, close-on-exec. Thread: setup. Owns: the caller, until
 * rgi_bell_close. Returns: 0, -EMFILE, -ENFILE or -ENOMEM. */
RGM_MUST_USE int rgi_bell_open(int *ret_fd);

/*
 * Rings. The argument is the descriptor: (void *)(intptr_t)fd, so that this can
 * be the function of an inbox. No cancellation point, and leaves errno alone,
 * so a signal handler may ring too.
 * Thread: any.
 */
void rgi_bell_ring(void *argument);

/*
 * Silences it, for a sleeper that polls by level: before it looks at what it
 * was woken for, or a ring between the look and this would be lost.
 * Thread: the sleeper's. Returns: whether it had been rung.
 */
bool rgi_bell_take(int fd);

/* Whether it has been rung and not silenced. Thread: the sleeper's. */
bool rgi_bell_is_rung(int fd);

/*
 * Sleeps until it rings, `pause_ns` have gone by (RGM_NEVER: however long that
 * takes) or a signal comes, and silences it.
 * Thread: the sleeper's. Returns: whether it had been rung.
 */
bool rgi_bell_await(int fd, uint64_t pause_ns);

/* Thread: setup; nobody can ring any more. */
void rgi_bell_close(int fd);

#endif /* RGI_BASE_BELL_H */
