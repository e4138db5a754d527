/* SPDX-License-Identifier: MIT */

/*
 * map.c - where do the queues of a ring lie?
 *
 * Two mappings: both queues with their indices, and the entries. The kernel
 * says at which offsets; nothing but addresses is worked out here.
 */

#include "rings/ring.h"

#include <errno.h>
#include <sys/mman.h>

static void *
map(int fd, size_t bytes, off_t what)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                fd, what);
}

/* Place i of the queue is always entry i; liburing would say so each time. */
static void
lay_out_submissions(struct io_uring_sq *sq, char *base,
                    const struct io_uring_params *params)
{
    const struct io_sqring_offsets *offsets = &params->sq_off;

    sq->khead = (unsigned *)(void *)(base + offsets->head);
    sq->ktail = (unsigned *)(void *)(base + offsets->tail);
    sq->kflags = (unsigned *)(void *)(base + offsets->flags);
    sq->kdropped = (unsigned *)(void *)(base + offsets->dropped);
    sq->array = (unsigned *)(void *)(base + offsets->array);
    sq->kring_mask = (unsigned *)(void *)(base + offsets->ring_mask);
    sq->kring_entries = (unsigned *)(void *)(base + offsets->ring_entries);
    sq->ring_entries = params->sq_entries;
    sq->ring_mask = params->sq_entries - 1;
    for (unsigned i = 0; i < sq->ring_entries; i++)
        sq->array[i] = i;
}

static void
lay_out_completions(struct io_uring_cq *cq, char *base,
                    const struct io_uring_params *params)
{
    const struct io_cqring_offsets *offsets = &params->cq_off;

    cq->khead = (unsigned *)(void *)(base + offsets->head);
    cq->ktail = (unsigned *)(void *)(base + offsets->tail);
    cq->koverflow = (unsigned *)(void *)(base + offsets->overflow);
    cq->cqes = (struct io_uring_cqe *)(void *)(base + offsets->cqes);
    cq->kring_mask = (unsigned *)(void *)(base + offsets->ring_mask);
    cq->kring_entries = (unsigned *)(void *)(base + offsets->ring_entries);
    if (offsets->flags != 0)
        cq->kflags = (unsigned *)(void *)(base + offsets->flags);
    cq->ring_entries = params->cq_entries;
    cq->ring_mask = params->cq_entries - 1;
}

static size_t
queues_size(const struct io_uring_params *params)
{
    size_t submissions =
        params->sq_off.array + params->sq_entries * sizeof(unsigned);
    size_t completions =
        params->cq_off.cqes + params->cq_entries * sizeof(struct io_uring_cqe);

    return submissions > completions ? submissions : completions;
}

int
rgi_ring_map(struct rgi_ring *ring, int fd,
             const struct io_uring_params *params)
{
    struct io_uring *uring = &ring->uring;
    void *queues;
    void *entries;

    ring->queues_bytes = queues_size(params);
    ring->entries_bytes = params->sq_entries * sizeof(struct io_uring_sqe);
    queues = map(fd, ring->queues_bytes, IORING_OFF_SQ_RING);
    if (queues == MAP_FAILED)
        return -errno;
    entries = map(fd, ring->entries_bytes, IORING_OFF_SQES);
    if (entries == MAP_FAILED) {
        int status = -errno;

        munmap(queues, ring->queues_bytes);
        return status;
    }
    uring->sq.ring_ptr = queues;
    uring->sq.sqes = entries;
    lay_out_submissions(&uring->sq, queues, params);
    lay_out_completions(&uring->cq, queues, params);
    uring->flags = params->flags;
    uring->features = params->features;
    uring->ring_fd = fd;
    uring->enter_ring_fd = fd;
    return 0;
}

void
rgi_ring_unmap(struct rgi_ring *ring)
{
    munmap(ring->uring.sq.sqes, ring->entries_bytes);
    munmap(ring->uring.sq.ring_ptr, ring->queues_bytes);
}
