/* SPDX-License-Identifier: MIT */
#ifndef LEASES_HEAP_H
#define LEASES_HEAP_H

/*
 * heap.h - how do the same cases run on a pool that has no slab?
 *
 * Every slot is allocated when it is taken and freed when it is home. A program
 * that includes this makes its pools with `.storage = heap_or_slab()`, and
 * heap_runs() its list once more.
 */

#include <errno.h>

#include <ringmail/lease.h>

#include "base/cases.h"
#include "base/ck.h"
#include "base/memory.h"

struct heap {
    struct rgm_pool_storage storage;
    uint32_t out;   /* slots that have memory; atomic: test-heap */
    uint32_t taken; /* in all; atomic: test-heap */
    uint32_t ended;
    int refuse;     /* nothing is left: set while one thread uses it */
};

/* NULL: slabs. */
static struct heap *heap_in_use;

static int
heap_obtain(struct rgm_pool_storage *storage, uint32_t slot, size_t size_bytes,
            size_t alignment_bytes, void **ret_memory)
{
    struct heap *heap = (struct heap *)(void *)storage;
    void *memory;

    (void)slot;
    if (heap->refuse)
        return -EBUSY;
    memory = rgi_alloc_aligned(alignment_bytes, size_bytes);
    if (memory == NULL)
        return -ENOMEM;
    /* test-heap: counts of a test, observed when its threads are joined. */
    ck_pr_inc_32(&heap->out);
    ck_pr_inc_32(&heap->taken);
    *ret_memory = memory;
    return 0;
}

static void
heap_release(struct rgm_pool_storage *storage, uint32_t slot, void *memory)
{
    struct heap *heap = (struct heap *)(void *)storage;

    (void)slot;
    ck_pr_dec_32(&heap->out);
    rgi_free(memory);
}

static void
heap_ended(struct rgm_pool_storage *storage)
{
    struct heap *heap = (struct heap *)(void *)storage;

    rgi_check(ck_pr_load_32(&heap->out) == 0);
    heap->ended++;
}

static struct rgm_pool_storage *
heap_or_slab(void)
{
    return heap_in_use != NULL ? &heap_in_use->storage : NULL;
}

static inline void
heap_init(struct heap *heap)
{
    *heap = (struct heap){.storage = {heap_obtain, heap_release, heap_ended}};
}

/* What runs in between finds no slab; whatever pools it makes have ended, and
 * given everything back. */
static inline void
heap_begin(struct heap *heap)
{
    heap_init(heap);
    heap_in_use = heap;
}

static inline void
heap_end(struct heap *heap)
{
    heap_in_use = NULL;
    rgi_check(heap->ended > 0 && heap->taken > 0 && heap->out == 0);
}

#endif /* LEASES_HEAP_H */
