/* SPDX-License-Identifier: MIT */

/* memory_test.c - is memory zeroed, aligned, counted, and short on demand? */

#include "base/memory.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/cases.h"

static bool
is_zero(const unsigned char *memory, size_t size_bytes)
{
    for (size_t i = 0; i < size_bytes; i++)
        if (memory[i] != 0)
            return false;
    return true;
}

/* A block is zero even where an earlier one was written. */
static void
blocks_are_zeroed(void)
{
    for (size_t size_bytes = 1; size_bytes < 5000; size_bytes += 61) {
        unsigned char *memory = rgi_alloc(size_bytes);

        rgi_check(memory != NULL && is_zero(memory, size_bytes));
        memset(memory, 0xa5, size_bytes);
        rgi_free(memory);
        memory = rgi_alloc_aligned(64, size_bytes);
        rgi_check(memory != NULL && is_zero(memory, size_bytes));
        memset(memory, 0xa5, size_bytes);
        rgi_free(memory);
    }
}

/* Every power of two up to a large page, whatever the size. */
static void
blocks_are_aligned(void)
{
    for (size_t alignment = 1; alignment <= 1u << 21; alignment *= 2) {
        void *memory = rgi_alloc_aligned(alignment, 100);

        rgi_check(memory != NULL);
        rgi_check((uintptr_t)memory % alignment == 0);
        rgi_free(memory);
    }
}

/* Size 0 gives a block; NULL may be freed; an absurd size is refused. */
static void
sizes_at_the_edges(void)
{
    /* The compiler must not see that these cannot succeed. */
    volatile size_t absurd_bytes = SIZE_MAX - 7;
    void *memory = rgi_alloc(0);

    rgi_check(memory != NULL);
    rgi_free(memory);
    rgi_free(NULL);
    memory = rgi_alloc_aligned(64, absurd_bytes);
    rgi_check(memory == NULL);
    rgi_check(rgi_memory_live() == 0);
}

/* The count of live blocks follows every allocation and release. */
static void
live_blocks_are_counted(void)
{
    void *blocks[10];

    for (size_t i = 0; i < 10; i++) {
        rgi_check(rgi_memory_live() == i);
        blocks[i] = i % 2 ? rgi_alloc(16) : rgi_alloc_aligned(128, 16);
        rgi_check(blocks[i] != NULL);
    }
    for (size_t i = 10; i-- > 0;) {
        rgi_free(blocks[i]);
        rgi_check(rgi_memory_live() == i);
    }
}

/* Exactly the nth allocation fails, and it is not counted as live. */
static void
the_nth_allocation_fails(void)
{
    for (unsigned long nth = 1; nth <= 5; nth++) {
        rgi_memory_fail_nth(nth);
        for (unsigned long i = 1; i <= 6; i++) {
            void *memory = i % 2 ? rgi_alloc(8) : rgi_alloc_aligned(64, 8);

            rgi_check((memory == NULL) == (i == nth));
            rgi_free(memory);
        }
        rgi_check(rgi_memory_fail_off());
        rgi_check(rgi_memory_live() == 0);
    }
}

/* A failure that is never reached is reported as such and leaves no trace. */
static void
a_failure_not_reached_is_told(void)
{
    void *memory;

    rgi_check(!rgi_memory_fail_off());
    rgi_memory_fail_nth(2);
    memory = rgi_alloc(8);
    rgi_check(memory != NULL);
    rgi_check(!rgi_memory_fail_off());
    rgi_free(memory);
    memory = rgi_alloc(8);
    rgi_check(memory != NULL);
    rgi_free(memory);
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *
allocate_in_a_thread(void *argument)
{
    unsigned *failures = argument;

    for (int i = 0; i < ROUNDS; i++) {
        void *memory = rgi_alloc(24);

        if (memory == NULL)
            (*failures)++;
        rgi_free(memory);
    }
    return NULL;
}

/* Over many threads too, one allocation fails and the count comes out even. */
static void
one_failure_over_all_threads(void)
{
    pthread_t threads[THREADS];
    unsigned failures[THREADS] = {0};
    unsigned sum = 0;

    rgi_memory_fail_nth(ROUNDS);
    for (int i = 0; i < THREADS; i++)
        rgi_check(pthread_create(&threads[i], NULL, allocate_in_a_thread,
                                 &failures[i]) == 0);
    for (int i = 0; i < THREADS; i++) {
        rgi_check(pthread_join(threads[i], NULL) == 0);
        sum += failures[i];
    }
    rgi_check(sum == 1);
    rgi_check(rgi_memory_fail_off());
    rgi_check(rgi_memory_live() == 0);
}

static unsigned own_allocations, own_releases;

static void *
own_allocate(size_t alignment, size_t size_bytes)
{
    (void)alignment;
    own_allocations++;
    return calloc(1, size_bytes);
}

static void
own_release(void *memory)
{
    own_releases++;
    free(memory);
}

/* Another allocator takes over whole, and hands back whole. */
static void
an_allocator_can_be_put_underneath(void)
{
    static const struct rgi_allocator own = {own_allocate, own_release};
    void *memory;

    rgi_memory_use(&own);
    memory = rgi_alloc(8);
    rgi_check(memory != NULL);
    rgi_free(memory);
    rgi_memory_use(NULL);
    rgi_free(rgi_alloc(8));
    rgi_check(own_allocations == 1 && own_releases == 1);
}

#define CASES(X)                                                               \
    X(memory, blocks_are_zeroed)                                               \
    X(memory, blocks_are_aligned)                                              \
    X(memory, sizes_at_the_edges)                                              \
    X(memory, live_blocks_are_counted)                                         \
    X(memory, the_nth_allocation_fails)                                        \
    X(memory, a_failure_not_reached_is_told)                                   \
    X(memory, one_failure_over_all_threads)                                    \
    X(memory, an_allocator_can_be_put_underneath)

RGI_CASES(CASES)
