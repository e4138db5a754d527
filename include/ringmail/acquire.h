/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_ACQUIRE_H
#define RINGMAIL_ACQUIRE_H

/*
 * acquire.h - wait for a buffer: a request to a worker, like everything else.
 *
 *     rgm_pool_acquire(&acquire, rgm_here(self), pool);          // prepare
 *     rgm_ask(self, &acquire, RGM_REPLY(loader, rgm_acquire, on_buffer));
 *
 * Where rgm_pool_try_acquire() says -EAGAIN, this waits. A slot that comes home
 * while somebody waits, on whatever thread, is handed to one that waits: nobody
 * who comes later is faster, and rgm_pool_try_acquire() gets none meanwhile.
 * Acquires of one worker are served in the order they were asked; workers that
 * wait, and reads into the pool that have data and no slot, take turns.
 *
 * What is lent to a ring, so that data that arrives finds a slot, is taken back
 * for those who wait.
 */

#include <ringmail/lease.h>
#include <ringmail/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A wait for a slot of a pool. */
struct rgm_acquire {
    RGM_OPERATION_HEAD;
    struct rgm_pool *pool;
    struct rgm_lease lease; /* when home with 0; no lease otherwise */
    uint64_t place[12];     /* the worker's */
};

/*
 * Prepare an acquire of one slot; the worker `where` (usually rgm_here(self))
 * does the waiting. Has no effect until it is asked. The pool must not be
 * destroyed while acquires are out; rgm_pool_close() ends them.
 *
 * Thread: owner; the record is at home.
 * Owns:   with 0 the lease is the asker's, to drop or freeze.
 * Answer: 0           `lease` is set, as long as the slot
 *         -ECANCELED  cancelled, or its actor stopped, before a slot came; a slot
 *                     that came first is told, and is the asker's to drop
 *         -EPIPE      the pool is closed; or it was asked of another worker, and
 *                     that one stops
 *         -ENOBUFS    256 workers and rings wait for this pool already
 *         -ENOMEM     the pool has a storage (lease.h), and that had no memory
 *                     for the slot that came
 *         -EINVAL     pool is NULL
 *         -ESRCH      there is no such worker
 * Cost:   of a free slot, one compare-and-swap. No allocation, no system call
 *         but the bell of a worker that sleeps.
 */
RGM_API void rgm_pool_acquire(struct rgm_acquire *acquire,
                              struct rgm_address where, struct rgm_pool *pool);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_ACQUIRE_H */
