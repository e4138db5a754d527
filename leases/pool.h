/* SPDX-License-Identifier: MIT */
#ifndef LEASES_POOL_H
#define LEASES_POOL_H

/*
 * pool.h - what do rings and workers need of a pool that users do not?
 *
 * Slots by number, for memory that is lent to the kernel; and takers, for
 * whoever wants to sleep until a slot comes home. leases/ does not know what a
 * worker is: a taker is a number below 64 and a function that wakes it.
 *
 * The order a taker must keep, so that no wake is lost:
 *
 *     rgi_pool_hungry(pool, me);                      1. leave the mark
 *     if (rgm_pool_try_acquire(pool, &lease) == 0)    2. look once more
 *         rgi_pool_sated(pool, me);                   3a. not needed any more
 *     else
 *         sleep until the wake function was called;   3b. then try again
 *
 * The wake may come before the taker sleeps, so it must be remembered, as a bell
 * or a semaphore does. A slot that comes home wakes one taker, and its mark is
 * gone by then. A newcomer may be faster than the woken taker, which then begins
 * again at 1.
 */

#include <ringmail/lease.h>

/* Takers one pool can know: one word of marks. */
#define RGI_POOL_TAKERS_MAX 64

/*
 * Makes taker `index` (below RGI_POOL_TAKERS_MAX) known. `wake` runs on the
 * thread that brings a slot home or closes the pool, so it may be any, and must
 * neither block nor use the pool. `argument` must live until the taker is not
 * hungry: rgi_pool_sated() has returned true, or the wake has come.
 * Thread: setup for this index.
 */
void rgi_pool_watch(struct rgm_pool *pool, unsigned index,
                    void (*wake)(void *argument), void *argument);

/* Whether that has been done, with this argument: the pool may be a new one
 * where an older one was. Thread: the taker's. */
bool rgi_pool_is_watched_by(const struct rgm_pool *pool, unsigned index,
                            const void *argument);

/* Marks a known taker as waiting; marking twice is marking once.
 * Thread: the taker's. Cost: one compare-and-swap per 32 slots. */
void rgi_pool_hungry(struct rgm_pool *pool, unsigned index);

/*
 * Takes the mark back. If a slot had claimed it already, its wake comes or has
 * come, and what it promised is passed on to another hungry taker as long as
 * there is a free slot.
 * Thread: the taker's. Returns: whether the wake will not come any more.
 */
bool rgi_pool_sated(struct rgm_pool *pool, unsigned index);

/*
 * Takes a slot to lend its memory. Under AddressSanitizer the memory stays
 * poisoned: it is not the program's until rgi_pool_lease_of().
 * Thread: any. Returns: 0, -EAGAIN (all are out) or -EPIPE (closed).
 */
RGM_MUST_USE int rgi_pool_take_slot(struct rgm_pool *pool,
                                    uint32_t *ret_index);

/* Where slot `index` lies. Thread: any. */
RGM_MUST_USE void *rgi_pool_slot_memory(const struct rgm_pool *pool,
                                        uint32_t index);

/* Turns a slot taken by number into a lease of its first bytes. The caller does
 * not have the slot by number any more.
 * Thread: any that took the slot. */
void rgi_pool_lease_of(struct rgm_pool *pool, uint32_t index,
                       size_t length_bytes, struct rgm_lease *ret_lease);

/*
 * Brings home a slot taken by number. Bringing a free one home aborts. The pool
 * may be gone when this returns, if it was destroyed and this was its last slot.
 * Thread: any that took the slot.
 */
void rgi_pool_put_slot(struct rgm_pool *pool, uint32_t index);

/*
 * Which pool and slot is this block, taken from a lease or a view?
 * Thread: any that holds the block. Returns: false for a block of the user's.
 */
bool rgi_pool_slot_of(struct rgm_block *block, struct rgm_pool **ret_pool,
                      uint32_t *ret_index);

/* Whether the numbers agree with each other; for slow assertions and tests.
 * Thread: any that may use the pool. */
bool rgi_pool_valid(const struct rgm_pool *pool);

#endif /* LEASES_POOL_H */
