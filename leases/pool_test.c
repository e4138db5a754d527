/* SPDX-License-Identifier: MIT */

/* pool_test.c - has a pool exactly its slots, from its creation to its end? */

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/cases.h"
#include "base/list.h"
#include "base/memory.h"
#include "leases/heap.h"
#include "leases/parts.h"

static struct rgm_pool *
make_pool(uint32_t slots_count)
{
    struct rgm_pool_options options = {.slots_count = slots_count,
                                       .slot_size_bytes = 64,
                                       .storage = heap_or_slab()};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgi_check(rgi_pool_valid(pool));
    return pool;
}

static struct rgm_lease
acquire(struct rgm_pool *pool)
{
    struct rgm_lease lease;

    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    return lease;
}

static void
drop(struct rgm_lease *lease)
{
    rgi_check(rgm_lease_drop(lease) == 0);
}

/* Ends a case: everything is home, and nothing is left when the pool goes. */
static void
finish(struct rgm_pool *pool)
{
    rgi_check(rgi_pool_valid(pool));
    rgi_check(rgm_pool_free_count(pool) == rgm_pool_capacity(pool));
    rgm_pool_destroy(pool);
    rgi_check(rgi_memory_live() == 0);
}

struct boundary {
    uint32_t slots_count;
    size_t slot_size_bytes;
    uint32_t alignment_bytes;
    int status;
};

static const struct boundary boundaries[] = {
    {0, 64, 64, -EINVAL},
    {1, 0, 64, -EINVAL},
    {RGM_POOL_SLOTS_MAX + 1, 1, 1, -EINVAL},
    {UINT32_MAX, 1, 1, -EINVAL},
    {1, 64, 3, -EINVAL},
    {1, 64, 48, -EINVAL},
    {1, 64, UINT32_MAX, -EINVAL},
    {1, 64, RGM_POOL_ALIGNMENT_MAX * 2, -EINVAL},
    {1, SIZE_MAX, 64, -EOVERFLOW},
    {1, SIZE_MAX - 62, 64, -EOVERFLOW},
    {2, SIZE_MAX / 2 + 1, 1, -EOVERFLOW},
    {3, SIZE_MAX / 4, 1, -EOVERFLOW},
    {1, 1, 1, 0},
    {1, 1, 0, 0},
    {31, 7, 2, 0},
    {32, 65, 16, 0},
    {33, 1500, 64, 0},
    {65, 4096, 4096, 0},
    {2, 1, RGM_POOL_ALIGNMENT_MAX, 0},
    {RGM_POOL_SLOTS_MAX, 1, 1, 0},
};

/* Every slot lies where it may, and is written to its last byte. */
static void
check_slots(struct rgm_pool *pool, const struct boundary *b)
{
    uint32_t alignment = b->alignment_bytes ? b->alignment_bytes : 64;
    struct rgm_lease *leases = rgi_alloc(b->slots_count * sizeof(*leases));
    struct rgm_lease none;

    rgi_check(leases != NULL);
    for (uint32_t i = 0; i < b->slots_count; i++) {
        leases[i] = acquire(pool);
        rgi_check((uintptr_t)leases[i].data % alignment == 0);
        rgi_check(leases[i].length_bytes == b->slot_size_bytes);
        memset(leases[i].data, (int)(i % 251), b->slot_size_bytes);
    }
    rgi_check(rgm_pool_try_acquire(pool, &none) == -EAGAIN);
    for (uint32_t i = 0; i < b->slots_count; i++) {
        unsigned char *data = leases[i].data;

        rgi_check(data[0] == i % 251);
        rgi_check(data[b->slot_size_bytes - 1] == i % 251);
        drop(&leases[i]);
    }
    rgi_free(leases);
}

/* Exact counts, sizes and alignments are kept; everything else is refused and
 * leaves the output alone. */
static void
bpl_01_exact_sizes_or_einval(void)
{
    struct rgm_pool *const untouched = (struct rgm_pool *)&boundaries;

    rgi_check(rgm_pool_create(NULL, NULL) == -EINVAL);
    for (size_t i = 0; i < sizeof(boundaries) / sizeof(boundaries[0]); i++) {
        const struct boundary *b = &boundaries[i];
        struct rgm_pool_options options = {
            .slots_count = b->slots_count,
            .slot_size_bytes = b->slot_size_bytes,
            .alignment_bytes = b->alignment_bytes,
            .storage = heap_or_slab()};
        struct rgm_pool *pool = untouched;

        if (b->slots_count == RGM_POOL_SLOTS_MAX && heap_in_use != NULL)
            continue; /* a million allocations say no more than a hundred */
        rgi_check(rgm_pool_create(&options, &pool) == b->status);
        if (b->status < 0) {
            rgi_check(pool == untouched);
            continue;
        }
        rgi_check(rgm_pool_capacity(pool) == b->slots_count);
        rgi_check(rgm_pool_slot_size(pool) == b->slot_size_bytes);
        check_slots(pool, b);
        finish(pool);
    }
}

/* The name is kept, copied and cut. */
static void
name_is_copied(void)
{
    char name[] = "a name with more than thirty-one bytes";
    struct rgm_pool_options options = {
        .name = name, .slots_count = 1, .slot_size_bytes = 1};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    memset(name, '?', sizeof(name) - 1);
    rgi_check(strcmp(rgm_pool_name(pool), "a name with more than thirty-on") ==
              0);
    finish(pool);
    pool = make_pool(1);
    rgi_check(strcmp(rgm_pool_name(pool), "") == 0);
    finish(pool);
}

/* Any allocation may fail: the pool is not made and nothing is left behind. */
static void
create_survives_each_failed_allocation(void)
{
    struct rgm_pool_options options = {.slots_count = 100,
                                       .slot_size_bytes = 64};
    struct rgm_pool *pool = NULL;
    unsigned long nth = 0;
    int status;

    do {
        rgi_memory_fail_nth(++nth);
        status = rgm_pool_create(&options, &pool);
        rgi_check(rgi_memory_fail_off() == (status == -ENOMEM));
        rgi_check(status == 0 || (pool == NULL && rgi_memory_live() == 0));
    } while (status != 0);
    rgi_check(nth == 5); /* the pool, words, headers, slots; then none */
    finish(pool);
}

/* ------------------------------------------------------ from several threads */

#define GRABBERS 16

struct grab {
    struct rgm_pool *pool;
    pthread_barrier_t *barrier;
    struct rgm_lease leases[100];
    unsigned count;
};

/* Takes what it can get, and keeps it. */
static void *
grab(void *argument)
{
    struct grab *grab = argument;

    pthread_barrier_wait(grab->barrier);
    while (grab->count < 100 &&
           rgm_pool_try_acquire(grab->pool, &grab->leases[grab->count]) == 0)
        grab->count++;
    return NULL;
}

/* `threads_count` threads exhaust a pool of 100; returns the leases they got. */
static unsigned
grab_all(unsigned threads_count)
{
    struct rgm_pool *pool = make_pool(100);
    pthread_t threads[GRABBERS];
    struct grab *grabs = rgi_alloc(GRABBERS * sizeof(*grabs));
    pthread_barrier_t barrier;
    unsigned count = 0;

    rgi_check(grabs != NULL);
    pthread_barrier_init(&barrier, NULL, threads_count);
    for (unsigned i = 0; i < threads_count; i++) {
        grabs[i].pool = pool;
        grabs[i].barrier = &barrier;
        pthread_create(&threads[i], NULL, grab, &grabs[i]);
    }
    for (unsigned i = 0; i < threads_count; i++) {
        pthread_join(threads[i], NULL);
        count += grabs[i].count;
    }
    rgi_check(rgm_pool_free_count(pool) == 0);
    for (unsigned i = 0; i < threads_count; i++)
        while (grabs[i].count > 0)
            drop(&grabs[i].leases[--grabs[i].count]);
    pthread_barrier_destroy(&barrier);
    rgi_free(grabs);
    finish(pool);
    return count;
}

/* More workers never mean more slots. */
static void
bpl_02_budget_is_shared(void)
{
    rgi_check(grab_all(1) == 100);
    rgi_check(grab_all(GRABBERS) == 100);
}

static void *
churn(void *argument)
{
    struct rgm_pool *pool = argument;
    struct rgm_lease leases[10];

    for (unsigned round = 0; round < 100; round++) {
        for (unsigned i = 0; i < 10; i++)
            leases[i] = acquire(pool);
        for (unsigned i = 0; i < 10; i++)
            drop(&leases[i]);
    }
    return NULL;
}

/* What one thread freed, another gets at its first try, down to the last slot:
 * there is no cache between them. */
static void
bpl_05_freed_here_is_free_there(void)
{
    struct rgm_pool *pool = make_pool(10);
    struct rgm_lease leases[10];
    pthread_t thread;

    for (unsigned round = 0; round < 3; round++) {
        pthread_create(&thread, NULL, churn, pool);
        pthread_join(thread, NULL);
        for (unsigned i = 0; i < 10; i++)
            leases[i] = acquire(pool);
        for (unsigned i = 0; i < 10; i++)
            drop(&leases[i]);
    }
    finish(pool);
}

/* The capacity is the same whatever state the slots are in. */
static void
bpl_06_capacity_counts_all_slots(void)
{
    struct rgm_pool *pool = make_pool(3);
    struct rgm_lease lease, kept;
    struct rgm_view view;
    uint32_t lent;

    rgi_check(rgm_pool_capacity(pool) == 3);
    lease = acquire(pool);
    kept = acquire(pool);
    rgi_check(rgi_pool_take_slot(pool, &lent) == 0);
    rgi_check(rgm_pool_capacity(pool) == 3 && rgm_pool_free_count(pool) == 0);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgi_check(rgm_pool_capacity(pool) == 3);
    rgm_view_drop(&view);
    drop(&kept);
    rgi_check(rgm_pool_capacity(pool) == 3 && rgm_pool_free_count(pool) == 2);
    rgi_pool_put_slot(pool, lent);
    finish(pool);
}

/* Coming and going allocates nothing and leaves the shared count alone. */
static void
bpl_13_steady_state_shares_no_count(void)
{
    struct rgm_pool *pool = make_pool(4);
    uint32_t references = pool->references;
    struct rgm_lease lease;
    struct rgm_view view, clone;

    rgi_memory_fail_nth(1);
    for (unsigned i = 0; i < 1000; i++) {
        lease = acquire(pool);
        rgi_check(rgm_lease_freeze(&lease, &view) == 0);
        clone = rgm_view_clone(&view);
        rgm_view_drop(&view);
        rgm_view_drop(&clone);
        rgi_check(pool->references == references);
    }
    rgi_check(!rgi_memory_fail_off()); /* nobody asked for memory */
    finish(pool);
}

/* A taker that keeps what it is handed. */
struct waiter {
    struct rgi_taker taker;
    unsigned wakes;
    uint32_t slot;
};

static void
keep(struct rgi_taker *taker, uint32_t slot)
{
    struct waiter *waiter = rgi_container_of(taker, struct waiter, taker);

    waiter->wakes++;
    waiter->slot = slot;
}

static void
wait_for(struct rgm_pool *pool, struct waiter *waiter)
{
    waiter->taker.hand = keep;
    waiter->slot = RGI_NO_SLOT;
    rgi_check(rgi_pool_wait(pool, &waiter->taker, &waiter->slot) == -EAGAIN);
}

/* A mark that is left over costs one slot the long road, not all of them. */
static void
bpl_13_leftover_mark_is_removed(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool);
    struct waiter waiter = {0};

    wait_for(pool, &waiter);
    rgi_check(rgi_pool_leave(pool, &waiter.taker));
    rgi_check(pool->words[0].bits & RGI_WORD_HUNGRY);
    drop(&lease);
    rgi_check((pool->words[0].bits & RGI_WORD_HUNGRY) == 0);
    rgi_check(waiter.wakes == 0);
    finish(pool);
}

/* ---------------------------------------------------------- closing, ending */

/* After close nothing can be had, what is out stays valid, and what comes home
 * retires instead of being free again. */
static void
bpl_14_close_retires_and_keeps_what_is_out(void)
{
    struct rgm_pool *pool = make_pool(70);
    struct rgm_lease lease = acquire(pool), other = acquire(pool), none;
    struct rgm_view view;
    uint32_t index = 12345;

    memcpy(lease.data, "kept", 4);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgm_pool_close(pool);
    rgm_pool_close(pool);
    rgi_check(rgi_pool_valid(pool) && rgm_pool_free_count(pool) == 0);
    memset(&none, 0x77, sizeof(none));
    rgi_check(rgm_pool_try_acquire(pool, &none) == -EPIPE);
    rgi_check(*(unsigned char *)&none == 0x77);
    rgi_check(rgi_pool_take_slot(pool, &index) == -EPIPE && index == 12345);
    drop(&other);
    rgi_check(rgm_pool_free_count(pool) == 0 && rgm_pool_capacity(pool) == 70);
    rgi_check(rgm_pool_try_acquire(pool, &none) == -EPIPE);

    rgm_pool_destroy(pool);
    rgi_check(rgi_memory_live() != 0);
    rgi_check(memcmp(view.data, "kept", 4) == 0);
    rgm_view_drop(&view);
    rgi_check(rgi_memory_live() == 0);
}

/* The memory goes with the last of them, whichever kind it is. */
static void
bpl_14_slab_goes_with_the_last(void)
{
    struct rgm_pool *pool = make_pool(4);
    struct rgm_lease lease = acquire(pool), frozen = acquire(pool);
    struct rgm_view view, part;
    uint32_t lent;

    rgi_check(rgi_pool_take_slot(pool, &lent) == 0);
    rgi_check(rgm_lease_freeze(&frozen, &view) == 0);
    rgi_check(rgm_view_range(&view, 3, 1, &part) == 0);
    rgm_pool_destroy(pool);
    memset(lease.data, 1, lease.length_bytes);
    rgi_check(rgm_lease_truncate(&lease, 5) == 0);
    drop(&lease);
    rgm_view_drop(&view);
    rgi_pool_put_slot(pool, lent);
    rgi_check(rgi_memory_live() != 0);
    rgm_view_drop(&part);
    rgi_check(rgi_memory_live() == 0);

    pool = make_pool(4);
    rgm_pool_destroy(pool);
    rgm_pool_destroy(NULL);
    rgi_check(rgi_memory_live() == 0);
}

/* ------------------------------------------------------------------- takers */

/* With nobody waiting nobody is told; with eight waiting, eight slots go to
 * eight of them. */
static void
bpl_12_each_return_wakes_a_different_taker(void)
{
    struct rgm_pool *pool = make_pool(40);
    struct rgm_lease leases[40];
    struct waiter waiters[8] = {0};

    for (unsigned i = 0; i < 40; i++)
        leases[i] = acquire(pool);
    drop(&leases[39]);
    leases[39] = acquire(pool);
    for (unsigned i = 0; i < 8; i++)
        wait_for(pool, &waiters[i]);
    for (unsigned i = 0; i < 8; i++) {
        unsigned total = 0;

        drop(&leases[i * 5]);
        for (unsigned k = 0; k < 8; k++) {
            rgi_check(waiters[k].wakes <= 1);
            total += waiters[k].wakes;
        }
        rgi_check(total == i + 1 && rgm_pool_free_count(pool) == 0);
    }
    for (unsigned i = 0; i < 8; i++)
        for (unsigned k = 0; k < i; k++)
            rgi_check(waiters[i].slot != waiters[k].slot);
    for (unsigned i = 0; i < 40; i++)
        rgi_check(rgm_lease_drop(&leases[i]) == 0);
    for (unsigned i = 0; i < 8; i++) {
        rgi_check(waiters[i].wakes == 1);
        rgi_pool_put_slot(pool, waiters[i].slot);
    }
    finish(pool);
}

/* The taker next to the one served last comes first: none starves. */
static void
takers_are_served_in_turn(void)
{
    struct rgm_pool *pool = make_pool(1);
    static struct waiter waiters[100];
    struct rgm_lease lease = acquire(pool);

    memset(waiters, 0, sizeof(waiters));
    for (unsigned i = 0; i < 100; i++)
        wait_for(pool, &waiters[i]);
    drop(&lease);
    for (unsigned round = 1; round <= 1000; round++) {
        unsigned low = UINT32_MAX, high = 0, holder = 100;

        for (unsigned i = 0; i < 100; i++) {
            low = waiters[i].wakes < low ? waiters[i].wakes : low;
            high = waiters[i].wakes > high ? waiters[i].wakes : high;
            if (waiters[i].slot != RGI_NO_SLOT)
                holder = i;
        }
        rgi_check(holder < 100 && high - low <= 1);
        waiters[holder].slot = RGI_NO_SLOT;
        rgi_pool_put_slot(pool, 0);
        wait_for(pool, &waiters[holder]);
    }
    for (unsigned i = 0; i < 100; i++)
        if (waiters[i].slot == RGI_NO_SLOT)
            rgi_check(rgi_pool_leave(pool, &waiters[i].taker));
    rgi_pool_put_slot(pool, 0);
    finish(pool);
}

/* Whoever leaves too late has a slot, and brings it home: to the next. */
static void
slot_of_one_that_left_goes_to_the_next(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool), none;
    struct waiter first = {0}, second = {0};

    wait_for(pool, &first);
    wait_for(pool, &second);
    drop(&lease);
    rgi_check(first.wakes == 1 && second.wakes == 0);
    rgi_check(rgm_pool_try_acquire(pool, &none) == -EAGAIN);
    rgi_check(!rgi_pool_leave(pool, &first.taker));
    rgi_pool_put_slot(pool, first.slot);
    rgi_check(second.wakes == 1 && second.slot == first.slot);
    rgi_check(!rgi_pool_leave(pool, &second.taker));
    rgi_pool_put_slot(pool, second.slot);
    finish(pool);
}

/* The place of one that has been served is another's by now. */
static void
leaving_late_removes_nobody_else(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool);
    struct waiter first = {0}, second = {0};

    wait_for(pool, &first);
    drop(&lease);
    wait_for(pool, &second);
    rgi_check(second.taker.place == first.taker.place);
    rgi_check(!rgi_pool_leave(pool, &first.taker));
    rgi_pool_put_slot(pool, first.slot);
    rgi_check(second.wakes == 1);
    rgi_pool_put_slot(pool, second.slot);
    finish(pool);
}

/* As many can wait as the limit says; one more is told at once. */
static void
takers_have_a_limit(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool);
    static struct waiter waiters[RGI_POOL_TAKERS_MAX + 1];
    struct waiter *last = &waiters[RGI_POOL_TAKERS_MAX];

    memset(waiters, 0, sizeof(waiters));
    for (unsigned i = 0; i < RGI_POOL_TAKERS_MAX; i++)
        wait_for(pool, &waiters[i]);
    last->taker.hand = keep;
    last->slot = 7;
    rgi_check(rgi_pool_wait(pool, &last->taker, &last->slot) == -ENOBUFS);
    rgi_check(last->slot == 7);
    rgi_check(rgi_pool_leave(pool, &waiters[77].taker));
    wait_for(pool, last);
    for (unsigned i = 0; i <= RGI_POOL_TAKERS_MAX; i++)
        if (i != 77)
            rgi_check(rgi_pool_leave(pool, &waiters[i].taker));
    drop(&lease);
    finish(pool);
}

/* Whoever waits learns that there is nothing to wait for any more. */
static void
close_ends_every_wait(void)
{
    struct rgm_pool *pool = make_pool(40);
    struct rgm_lease leases[40];
    struct waiter waiters[3] = {0}, late = {0};
    uint32_t slot = 7;

    for (unsigned i = 0; i < 40; i++)
        leases[i] = acquire(pool);
    for (unsigned i = 0; i < 3; i++)
        wait_for(pool, &waiters[i]);
    rgm_pool_close(pool);
    for (unsigned i = 0; i < 3; i++)
        rgi_check(waiters[i].wakes == 1 && waiters[i].slot == RGI_NO_SLOT);
    rgi_check(rgi_pool_wait(pool, &late.taker, &slot) == -EPIPE && slot == 7);
    for (unsigned i = 0; i < 40; i++)
        drop(&leases[i]);
    for (unsigned i = 0; i < 3; i++)
        rgi_check(waiters[i].wakes == 1);
    rgm_pool_destroy(pool);
    rgi_check(rgi_memory_live() == 0);
}

/* Who has to wait recalls every lender once, and those who lent nothing more are
 * left alone. The pool stays until the last of them has done. */
static void
lenders_are_recalled_by_who_waits(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct waiter first = {0}, second = {0}, waiter = {0};
    uint32_t lent;

    first.taker.hand = second.taker.hand = keep;
    rgi_check(rgi_pool_lend(pool, &first.taker) == 0);
    rgi_check(rgi_pool_lend(pool, &second.taker) == 0);
    rgi_check(rgi_pool_take_slot(pool, &lent) == 0);
    rgi_check(rgi_pool_unlend(pool, &second.taker));
    rgi_pool_unlent(pool);
    rgi_check(!rgi_pool_is_hungry(pool) && first.wakes == 0);

    wait_for(pool, &waiter);
    rgi_check(first.wakes == 1 && second.wakes == 0);
    rgi_check(rgi_pool_is_hungry(pool));
    rgi_check(!rgi_pool_unlend(pool, &first.taker));
    rgi_pool_put_slot(pool, lent);
    rgi_pool_unlent(pool);
    rgi_check(waiter.wakes == 1 && waiter.slot == lent);
    rgi_check(!rgi_pool_is_hungry(pool));
    rgi_pool_put_slot(pool, waiter.slot);

    rgi_check(rgi_pool_lend(pool, &first.taker) == 0);
    rgm_pool_destroy(pool);
    rgi_check(first.wakes == 2 && rgi_pool_is_hungry(pool));
    rgi_pool_unlent(pool);
    rgi_check(rgi_memory_live() == 0);
}

/* --------------------------------------------------------- slots by number */

/* A slot taken by number becomes a lease of what was filled in, and goes home
 * from there. */
static void
slot_by_number_becomes_a_lease(void)
{
    struct rgm_pool *pool = make_pool(3), *found = NULL;
    struct rgm_lease lease;
    struct rgm_view view;
    struct rgm_block block;
    uint32_t index, found_index = 99;

    rgi_check(rgi_pool_take_slot(pool, &index) == 0);
    rgi_pool_lease_of(pool, index, 5, &lease);
    rgi_check(lease.data == rgi_pool_slot_memory(pool, index));
    rgi_check(lease.length_bytes == 5 && rgm_lease_active(&lease));
    rgi_check(rgi_pool_slot_of(lease.block, &found, &found_index));
    rgi_check(found == pool && found_index == index);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgi_check(rgi_pool_slot_of(view.block, &found, &found_index));
    rgm_view_drop(&view);
    rgm_block_init(&block, NULL);
    rgi_check(!rgi_pool_slot_of(&block, &found, &found_index));
    rgi_check(!rgi_pool_slot_of(NULL, &found, &found_index));
    finish(pool);
}

/* A storage is asked once for every slot that is taken, in turn with what comes
 * home; a slot that is handed over brings its memory along. */
static void
bpl_16_a_slot_has_memory_while_somebody_has_it(void)
{
    struct waiter waiter = {0};
    struct rgm_pool *pool;
    struct rgm_lease lease;
    struct rgm_view view;
    struct heap heap;

    heap_begin(&heap);
    pool = make_pool(2);
    rgi_check(heap.taken == 0);
    lease = acquire(pool);
    rgi_check(heap.out == 1 && heap.taken == 1);
    drop(&lease);
    rgi_check(heap.out == 0);

    lease = acquire(pool);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    lease = acquire(pool);
    wait_for(pool, &waiter);
    rgm_view_drop(&view);
    rgi_check(waiter.wakes == 1 && heap.out == 2 && heap.taken == 3);
    rgm_pool_destroy(pool);
    rgi_pool_put_slot(pool, waiter.slot); /* to a word that is marked, too */
    rgi_check(heap.out == 1 && heap.ended == 0);
    drop(&lease);
    heap_end(&heap);
    rgi_check(heap.ended == 1 && rgi_memory_live() == 0);
}

/* Whoever wants a slot for which there is no memory is told so, and the slot is
 * free for the next. */
static void
bpl_16_storage_that_refuses_is_an_error(void)
{
    struct waiter waiter = {.taker.hand = keep};
    struct rgm_pool *pool;
    struct rgm_lease lease, untouched;
    struct heap heap;

    heap_begin(&heap);
    pool = make_pool(1);
    heap.refuse = 1;
    memset(&untouched, 0x77, sizeof(untouched));
    rgi_check(rgm_pool_try_acquire(pool, &untouched) == -ENOMEM);
    rgi_check(*(unsigned char *)&untouched == 0x77);
    rgi_check(rgi_pool_wait(pool, &waiter.taker, &waiter.slot) == -ENOMEM);
    rgi_check(rgm_pool_free_count(pool) == 1 && waiter.wakes == 0);
    heap.refuse = 0;
    lease = acquire(pool);
    heap.refuse = 1; /* and what has memory keeps it on its way */
    wait_for(pool, &waiter);
    drop(&lease);
    rgi_check(waiter.wakes == 1 && waiter.slot == 0);
    rgi_pool_put_slot(pool, 0);
    heap.refuse = 0;
    finish(pool);
    heap_end(&heap);
}

/* A slot that comes home without memory, because the last one who wanted it got
 * none, ends every wait: it may be that no other ever comes home. */
static void
bpl_16_who_waits_is_told_that_there_is_no_memory(void)
{
    struct waiter waiters[2] = {0};
    struct rgm_pool *pool;
    uint32_t slot;
    struct heap heap;

    heap_begin(&heap);
    pool = make_pool(1);
    rgi_check(rgi_pool_take_slot(pool, &slot) == 0);
    rgi_slot_give_up(pool, slot); /* it was nearly free when they came */
    for (unsigned i = 0; i < 2; i++)
        wait_for(pool, &waiters[i]);
    heap.refuse = 1;
    rgi_pool_put_slot(pool, slot);
    for (unsigned i = 0; i < 2; i++) {
        rgi_check(waiters[i].wakes == 1);
        rgi_check(waiters[i].slot == RGI_NO_MEMORY);
        rgi_check(rgi_handed_status(waiters[i].slot) == -ENOMEM);
    }
    heap.refuse = 0;
    finish(pool);
    heap_end(&heap);
}

/* The two functions are needed; an end nobody hears of is not. */
static void
bpl_16_half_a_storage_is_refused(void)
{
    struct rgm_pool_storage storage = {heap_obtain, NULL, NULL};
    struct rgm_pool_options options = {
        .slots_count = 1, .slot_size_bytes = 1, .storage = &storage};
    struct rgm_pool *pool = NULL;

    rgi_check(rgm_pool_create(&options, &pool) == -EINVAL && pool == NULL);
    storage = (struct rgm_pool_storage){NULL, heap_release, NULL};
    rgi_check(rgm_pool_create(&options, &pool) == -EINVAL && pool == NULL);
    storage.obtain = heap_obtain;
    rgi_check(rgm_pool_create(&options, &pool) == 0);
    finish(pool);
}

/* What is promised of a pool is promised whatever its slots are made of. */
#define CASES_OF_ANY(X)                                 \
    X(pool, bpl_01_exact_sizes_or_einval)               \
    X(pool, bpl_02_budget_is_shared)                    \
    X(pool, bpl_05_freed_here_is_free_there)            \
    X(pool, bpl_06_capacity_counts_all_slots)           \
    X(pool, bpl_12_each_return_wakes_a_different_taker) \
    X(pool, bpl_13_leftover_mark_is_removed)            \
    X(pool, bpl_14_close_retires_and_keeps_what_is_out) \
    X(pool, bpl_14_slab_goes_with_the_last)             \
    X(leases, name_is_copied)                           \
    X(leases, takers_are_served_in_turn)                \
    X(leases, slot_of_one_that_left_goes_to_the_next)   \
    X(leases, leaving_late_removes_nobody_else)         \
    X(leases, takers_have_a_limit)                      \
    X(leases, close_ends_every_wait)                    \
    X(leases, lenders_are_recalled_by_who_waits)        \
    X(leases, slot_by_number_becomes_a_lease)

#define RUN(suite, name) name();

static void
bpl_16_pool_of_heap_memory_is_a_pool(void)
{
    struct heap heap;

    heap_begin(&heap);
    CASES_OF_ANY(RUN)
    heap_end(&heap);
}

#define CASES(X)                                              \
    CASES_OF_ANY(X)                                           \
    X(pool, bpl_13_steady_state_shares_no_count)              \
    X(leases, create_survives_each_failed_allocation)         \
    X(pool, bpl_16_pool_of_heap_memory_is_a_pool)             \
    X(pool, bpl_16_a_slot_has_memory_while_somebody_has_it)   \
    X(pool, bpl_16_storage_that_refuses_is_an_error)          \
    X(pool, bpl_16_who_waits_is_told_that_there_is_no_memory) \
    X(pool, bpl_16_half_a_storage_is_refused)

RGI_CASES(CASES)
