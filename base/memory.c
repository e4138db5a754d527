/* SPDX-License-Identifier: MIT */

/*
 * memory.c - where does every byte of the library come from?
 *
 * An allocation is: 1. ask whether this is the one that must fail; 2. ask the
 * allocator in use; 3. count. Nothing is stored beside the block, so what an
 * address sanitizer or a heap profiler sees is the caller's own allocation.
 */

#include "base/memory.h"

#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"

static void *
libc_allocate(size_t alignment, size_t size_bytes)
{
    size_t rounded_bytes = (size_bytes + alignment - 1) & ~(alignment - 1);
    void *memory;

    if (alignment <= _Alignof(max_align_t))
        return calloc(1, size_bytes);
    if (rounded_bytes < size_bytes)
        return NULL;
    memory = aligned_alloc(alignment, rounded_bytes);
    if (memory != NULL)
        memset(memory, 0, rounded_bytes);
    return memory;
}

static const struct rgi_allocator libc_allocator = {
    .allocate = libc_allocate,
    .release = free,
};

static const struct rgi_allocator *current = &libc_allocator;

/* Blocks out. Relaxed: a count, which orders no other memory. */
static atomic_size_t live_blocks;

/* No failure is wanted. Far from both ends, so that a late count is harmless. */
#define FAILURE_OFF (LONG_MIN / 2)

/* How many allocations are left up to the one that fails; 0 once it did. */
static atomic_long until_failure = FAILURE_OFF;

void
rgi_memory_use(const struct rgi_allocator *allocator)
{
    rgi_assert(rgi_memory_live() == 0);
    current = allocator != NULL ? allocator : &libc_allocator;
}

static bool
must_fail(void)
{
    /*
     * Observes from the test's thread whether a failure is wanted at all:
     * without one, the counter stays unwritten and its line shared.
     */
    if (atomic_load_explicit(&until_failure, memory_order_relaxed) <= 0)
        return false;
    /*
     * Publishes to the other allocating threads that one more has passed;
     * exactly one of them sees the count go from 1 to 0.
     */
    return atomic_fetch_sub_explicit(&until_failure, 1, memory_order_relaxed) ==
           1;
}

void *
rgi_alloc_aligned(size_t alignment, size_t size_bytes)
{
    void *memory;

    rgi_assert(alignment != 0 && (alignment & (alignment - 1)) == 0);
    if (must_fail())
        return NULL;
    memory = current->allocate(alignment, size_bytes != 0 ? size_bytes : 1);
    if (memory != NULL) {
        /* Publishes one more block to whoever reads the count. */
        atomic_fetch_add_explicit(&live_blocks, 1, memory_order_relaxed);
    }
    return memory;
}

void *
rgi_alloc(size_t size_bytes)
{
    return rgi_alloc_aligned(_Alignof(max_align_t), size_bytes);
}

void
rgi_free(void *memory)
{
    size_t blocks;

    if (memory == NULL)
        return;
    /* Publishes one block less to whoever reads the count. */
    blocks = atomic_fetch_sub_explicit(&live_blocks, 1, memory_order_relaxed);
    rgi_assert(blocks != 0);
    current->release(memory);
}

void
rgi_memory_fail_nth(unsigned long nth)
{
    rgi_assert(nth != 0 && nth <= LONG_MAX);
    /* Publishes the wish to every allocating thread. */
    atomic_store_explicit(&until_failure, (long)nth, memory_order_relaxed);
}

bool
rgi_memory_fail_off(void)
{
    /*
     * Observes from the allocating threads how far the count went, and
     * publishes to them that no failure is wanted any more.
     */
    long left = atomic_exchange_explicit(&until_failure, FAILURE_OFF,
                                         memory_order_relaxed);

    return left <= 0 && left > FAILURE_OFF;
}

size_t
rgi_memory_live(void)
{
    /* Observes the blocks of the threads the caller is ordered after. */
    return atomic_load_explicit(&live_blocks, memory_order_relaxed);
}
