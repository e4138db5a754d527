/* SPDX-License-Identifier: MIT */

/*
 * reap.c - how do completions leave the ring?
 *
 * They are copied, and their places are the kernel's again before anybody looks
 * at one: whoever handles a completion may submit, and submitting may enter the
 * kernel, which may need the places.
 */

#include "rings/ring.h"

unsigned
rgi_ring_reap(struct rgi_ring *ring, struct rgi_completion *ret_completions,
              unsigned room)
{
    const struct io_uring_cq *cq = &ring->uring.cq;
    unsigned head = *cq->khead;
    /* ring-completions: observes the completions the kernel has published. */
    unsigned count = __atomic_load_n(cq->ktail, __ATOMIC_ACQUIRE) - head;

    if (count > room)
        count = room;
    for (unsigned i = 0; i < count; i++) {
        const struct io_uring_cqe *cqe = &cq->cqes[(head + i) & cq->ring_mask];

        ret_completions[i].identity = cqe->user_data;
        ret_completions[i].result = cqe->res;
        ret_completions[i].flags = cqe->flags;
    }
    /* ring-places: publishes to the kernel that it may write there again. */
    __atomic_store_n(cq->khead, head + count, __ATOMIC_RELEASE);
    return count;
}
