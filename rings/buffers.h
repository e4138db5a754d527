/* SPDX-License-Identifier: MIT */
#ifndef RINGS_BUFFERS_H
#define RINGS_BUFFERS_H

/*
 * buffers.h - how does the kernel get at a pool's slots before it knows which
 * connection will need one?
 *
 * A provided-buffer ring per pool. Slots are lent to it; a receive that finds
 * data takes one and says which. Nothing depends on a slot being there: with
 * none the receive ends with -ENOBUFS, and the caller fetches one from the pool
 * itself. So lending is a short cut, and few slots are lent.
 *
 * Thread of all of them: owner of the ring.
 */

#include "leases/pool.h"
#include "rings/ring.h"

struct rgi_buffers {
    struct rgm_pool *pool;
    struct io_uring_buf_ring *queue; /* NULL: nothing can be lent */
    uint32_t *slots;    /* of each buffer, or NO_SLOT while it is not lent */
    uint16_t *free_ids; /* the first places - lent of them */
    uint32_t places;    /* of the queue, a power of two */
    uint32_t lent;
    uint32_t lent_max;
    uint32_t length_bytes; /* of every buffer */
    uint16_t tail;
    uint16_t group; /* its number on this ring */
    bool enrolled;  /* the kernel knows the queue */
};

/*
 * Begin with nothing lent. lent_max 0, no memory, or a kernel that will not
 * register the queue leave `queue` NULL, which is no error.
 */
void
rgi_buffers_open(struct rgi_ring *ring, struct rgm_pool *pool, uint16_t group,
                 uint32_t lent_max, struct rgi_buffers *buffers);

/* Tell the kernel of the queue again, after all was collected. Returns: whether
 * it knows the queue now. */
bool rgi_buffers_enroll(struct rgi_ring *ring, struct rgi_buffers *buffers);

/* Take the queue from the kernel: no receive chooses a slot any more. Those
 * that have chosen are completed, and their completions posted. */
void rgi_buffers_recall(struct rgi_ring *ring, struct rgi_buffers *buffers);

/* After a recall, when every completion posted by then has been looked at: the
 * slots that nobody took go home. */
void rgi_buffers_collect(struct rgi_buffers *buffers);

/* All of that, at the end: no receive that could choose is in the kernel. */
void rgi_buffers_close(struct rgi_ring *ring, struct rgi_buffers *buffers);

/* Lend until `wanted` slots or lent_max are out, or the pool has no more. */
void rgi_buffers_lend(struct rgi_buffers *buffers, uint32_t wanted);

/* Lend this slot, which the caller has; the kernel knows the queue, and fewer
 * than lent_max are out. */
void rgi_buffers_give(struct rgi_buffers *buffers, uint32_t slot);

/* The kernel has filled this buffer: the slot is the caller's now. */
RGM_MUST_USE uint32_t rgi_buffers_take(struct rgi_buffers *buffers,
                                       uint32_t id);

#endif /* RINGS_BUFFERS_H */
