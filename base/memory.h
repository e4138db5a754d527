/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_MEMORY_H
#define RGI_BASE_MEMORY_H

/*
 * memory.h - where does every byte of the library come from?
 *
 * The one place that asks libc for memory. Going through it gives three
 * things: another allocator can be put underneath, a test can make the nth
 * allocation fail, and the number of live blocks shows a leak at once.
 *
 * Memory is taken when something is set up, never per message, request or
 * timer; the two counters shared by all threads therefore cost nothing that
 * matters.
 */

#include <stddef.h>

#include <ringmail/base.h>

/* An allocator. `release` gets only what `allocate` returned, never NULL. */
struct rgi_allocator {
    /*
     * `size_bytes` bytes, set to zero, at a multiple of `alignment` (a power
     * of two); NULL when there are none.
     */
    void *(*allocate)(size_t alignment, size_t size_bytes);
    void (*release)(void *memory);
};

/*
 * Puts `allocator` under everything that follows; NULL means libc's.
 * Thread: setup, and while no block is live, since a block must go back to
 * the allocator it came from.
 */
void rgi_memory_use(const struct rgi_allocator *allocator);

/*
 * Zeroed memory, aligned for any ordinary object. A size of 0 gives a block
 * that may be freed and not used.
 * Thread: any. Owns: the caller, until rgi_free. Returns: NULL when there is
 * no memory.
 */
RGM_MUST_USE void *rgi_alloc(size_t size_bytes);

/*
 * The same at a multiple of `alignment`, a power of two.
 * Thread: any. Owns: the caller, until rgi_free. Returns: NULL when there is
 * no memory, or when `size_bytes` is too large to round up.
 */
RGM_MUST_USE void *rgi_alloc_aligned(size_t alignment, size_t size_bytes);

/* Gives back what either of the two returned; NULL is nothing. Thread: any. */
void rgi_free(void *memory);

/*
 * Lets the nth allocation from now, counting from 1 and over all threads,
 * fail; the ones after it succeed again. Replaces what was set before.
 * Thread: any.
 */
void rgi_memory_fail_nth(unsigned long nth);

/*
 * Ends fault injection. Thread: any. Returns: whether the failure asked for
 * has happened, so that a test may count up until it no longer does.
 */
bool rgi_memory_fail_off(void);

/* Blocks allocated and not yet freed, over all threads. Thread: any. */
size_t rgi_memory_live(void);

#endif /* RGI_BASE_MEMORY_H */
