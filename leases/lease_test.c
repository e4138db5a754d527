/* SPDX-License-Identifier: MIT */

/* lease_test.c - has a slot one writer, then only readers, then none? */

#include <errno.h>
#include <string.h>

#include <ringmail/lease.h>

#include "base/cases.h"
#include "base/list.h"
#include "base/memory.h"
#include "leases/heap.h"
#include "leases/poison.h"
#include "leases/pool.h"

#define SLOT_BYTES 100

static struct rgm_pool *
make_pool(uint32_t slots_count)
{
    struct rgm_pool_options options = {.name = "test",
                                       .slots_count = slots_count,
                                       .slot_size_bytes = SLOT_BYTES,
                                       .storage = heap_or_slab()};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

static struct rgm_lease
acquire(struct rgm_pool *pool)
{
    struct rgm_lease lease;

    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    rgi_check(rgm_lease_active(&lease));
    return lease;
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

static bool
lease_is_empty(const struct rgm_lease *lease)
{
    return lease->data == NULL && lease->length_bytes == 0 &&
           lease->block == NULL && !rgm_lease_active(lease);
}

/* A fresh slot is all zero, and readable to its last byte. */
static void
bpl_04_lease_is_initialised(void)
{
    static const char zero[SLOT_BYTES];
    struct rgm_pool *pool = make_pool(40);
    struct rgm_lease leases[40];

    for (unsigned i = 0; i < 40; i++) {
        leases[i] = acquire(pool);
        rgi_check(leases[i].length_bytes == SLOT_BYTES);
        rgi_check(memcmp(leases[i].data, zero, SLOT_BYTES) == 0);
        memset(leases[i].data, 0x5a, SLOT_BYTES);
    }
    for (unsigned i = 0; i < 40; i++)
        rgi_check(rgm_lease_drop(&leases[i]) == 0);
    finish(pool);
}

/* Shorter, in place, never longer; and the next lessee gets the whole slot. */
static void
bpl_07_truncate_only_shortens(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool);
    void *data = lease.data;

    memset(data, 'x', SLOT_BYTES);
    rgi_check(rgm_lease_truncate(&lease, SLOT_BYTES + 1) == -EINVAL);
    rgi_check(rgm_lease_truncate(&lease, SIZE_MAX) == -EINVAL);
    rgi_check(lease.length_bytes == SLOT_BYTES);
    rgi_check(rgm_lease_truncate(&lease, SLOT_BYTES) == 0);
    rgi_check(rgm_lease_truncate(&lease, 10) == 0);
    rgi_check(lease.length_bytes == 10 && lease.data == data);
    rgi_check(rgm_lease_truncate(&lease, 11) == -EINVAL);
    rgi_check(lease.length_bytes == 10);
    rgi_check(memcmp(lease.data, "xxxxxxxxxx", 10) == 0);
    rgi_check(rgm_lease_truncate(&lease, 0) == 0);
    rgi_check(rgm_lease_drop(&lease) == 0);

    lease = acquire(pool);
    rgi_check(lease.data == data || heap_in_use != NULL);
    rgi_check(lease.length_bytes == SLOT_BYTES);
    memset(lease.data, 'y', SLOT_BYTES);
    rgi_check(rgm_lease_drop(&lease) == 0);
    finish(pool);
}

/* Freezing keeps the visible bytes, ends the lease, and a hundred views of one
 * slot lie inside it. That views have no write entry point is their type:
 * `data` is a pointer to const. */
static void
bpl_08_freeze_gives_views_without_copies(void)
{
    struct rgm_pool *pool = make_pool(2);
    struct rgm_lease lease = acquire(pool);
    char *data = lease.data;
    struct rgm_view whole, views[100];

    for (unsigned i = 0; i < SLOT_BYTES; i++)
        data[i] = (char)i;
    rgi_check(rgm_lease_truncate(&lease, 99) == 0);
    rgi_check(rgm_lease_freeze(&lease, &whole) == 0);
    rgi_check(lease_is_empty(&lease));
    rgi_check(whole.data == data && whole.length_bytes == 99);
    for (unsigned i = 0; i < 99; i++) {
        rgi_check(rgm_view_range(&whole, i, 99 - i, &views[i]) == 0);
        rgi_check(views[i].data == data + i);
        rgi_check(*(const char *)views[i].data == (char)i);
    }
    rgi_check(rgm_view_range(&whole, 0, 100, &views[99]) == -EINVAL);
    views[99] = rgm_view_clone(&whole);
    rgi_check(views[99].data == whole.data);
    rgi_check(rgm_pool_free_count(pool) == 1);
    rgm_view_drop(&whole);
    for (unsigned i = 0; i < 100; i++)
        rgm_view_drop(&views[i]);
    finish(pool);
}

struct waiter {
    struct rgi_taker taker;
    uint32_t slot;
    unsigned wakes;
};

static void
handed(struct rgi_taker *taker, uint32_t slot)
{
    struct waiter *waiter = rgi_container_of(taker, struct waiter, taker);

    waiter->slot = slot;
    waiter->wakes++;
}

/* One byte of one view holds the whole slot, and the taker that waits for it
 * waits on. */
static void
bpl_09_one_byte_holds_the_slot(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool), next;
    struct rgm_view whole, byte;
    struct waiter waiter = {.taker.hand = handed};

    rgi_check(rgm_lease_freeze(&lease, &whole) == 0);
    rgi_check(rgm_view_range(&whole, SLOT_BYTES - 1, 1, &byte) == 0);
    rgi_check(rgi_pool_wait(pool, &waiter.taker, &waiter.slot) == -EAGAIN);
    rgm_view_drop(&whole);
    rgi_check(waiter.wakes == 0);
    rgi_check(rgm_pool_try_acquire(pool, &next) == -EAGAIN);
    rgm_view_drop(&byte);
    rgi_check(waiter.wakes == 1);
    rgi_pool_lease_of(pool, waiter.slot, SLOT_BYTES, &next);
    rgi_check(rgm_lease_drop(&next) == 0);
    rgi_check(waiter.wakes == 1); /* nobody waits any more */
    finish(pool);
}

/* Slots that are leaked are gone; what is left goes on as before. */
static void
bpl_15_leaked_lease_costs_capacity(void)
{
    struct rgm_pool *pool = make_pool(8);
    struct rgm_lease leaked[3], leases[5], none;

    for (unsigned i = 0; i < 3; i++)
        leaked[i] = acquire(pool);
    for (uint64_t round = 0; round < rgi_scale(100000); round++) {
        for (unsigned i = 0; i < 5; i++) {
            leases[i] = acquire(pool);
            for (unsigned k = 0; k < 3; k++)
                rgi_check(leases[i].data != leaked[k].data);
            for (unsigned k = 0; k < i; k++)
                rgi_check(leases[i].data != leases[k].data);
        }
        rgi_check(rgm_pool_try_acquire(pool, &none) == -EAGAIN);
        for (unsigned i = 0; i < 5; i++)
            rgi_check(rgm_lease_drop(&leases[i]) == 0);
    }
    rgi_check(rgm_pool_capacity(pool) == 8 && rgm_pool_free_count(pool) == 5);
    for (unsigned i = 0; i < 3; i++)
        rgi_check(rgm_lease_drop(&leaked[i]) == 0);
    finish(pool);
}

/* What is empty can be dropped again and refuses the rest. */
static void
empty_lease_does_nothing(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool);
    struct rgm_view view = {&view, 7, NULL};

    rgi_check(rgm_lease_drop(&lease) == 0 && lease_is_empty(&lease));
    rgi_check(rgm_lease_drop(&lease) == 0 && lease_is_empty(&lease));
    rgi_check(rgm_lease_drop(NULL) == 0);
    rgi_check(rgm_lease_truncate(&lease, 0) == -EINVAL);
    rgi_check(rgm_lease_freeze(&lease, &view) == -EINVAL);
    rgi_check(view.data == &view && view.length_bytes == 7);
    finish(pool);
}

/* A copy left behind by a move is refused, and the slot is left to whoever has
 * it now: the next lessee, or a view. */
static void
stale_copy_is_refused(void)
{
    struct rgm_pool *pool = make_pool(1);
    struct rgm_lease lease = acquire(pool), stale = lease, next, copy;
    struct rgm_view view;

    rgi_check(rgm_lease_drop(&lease) == 0);
    copy = stale;
    rgi_check(rgm_lease_drop(&copy) == -EINVAL && lease_is_empty(&copy));

    next = acquire(pool);
    rgi_check(next.data == stale.data || heap_in_use != NULL);
    rgi_check(!rgm_lease_active(&stale) && rgm_lease_active(&next));
    rgi_check(rgm_lease_truncate(&stale, 1) == -EINVAL);
    rgi_check(rgm_lease_freeze(&stale, &view) == -EINVAL);
    copy = stale;
    rgi_check(rgm_lease_drop(&copy) == -EINVAL);
    rgi_check(rgm_pool_free_count(pool) == 0 && rgm_lease_active(&next));

    stale = next;
    rgi_check(rgm_lease_freeze(&next, &view) == 0);
    rgi_check(rgm_lease_drop(&stale) == -EINVAL);
    rgi_check(rgm_pool_free_count(pool) == 0);
    rgm_view_drop(&view);
    finish(pool);
}

/* Under AddressSanitizer a byte is the program's exactly as long as it is part
 * of a lease or a view, and what lies between two slots never is. */
static void
free_slots_are_poisoned(void)
{
#ifdef RGI_POISONS
    struct rgm_pool *pool = make_pool(2);
    struct rgm_lease lease = acquire(pool);
    char *data = lease.data;
    struct rgm_view view;
    uint32_t lent;

    rgi_check(!__asan_address_is_poisoned(data));
    rgi_check(!__asan_address_is_poisoned(data + SLOT_BYTES - 1));
    /* behind the last byte a storage may have things of its own */
    rgi_check(__asan_address_is_poisoned(data + SLOT_BYTES) ||
              heap_in_use != NULL);
    rgi_check(rgm_lease_truncate(&lease, 13) == 0);
    rgi_check(!__asan_address_is_poisoned(data + 12));
    rgi_check(__asan_address_is_poisoned(data + 13));
    rgi_check(__asan_address_is_poisoned(data + SLOT_BYTES - 8));
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgi_check(!__asan_address_is_poisoned(data));
    rgm_view_drop(&view);
    rgi_check(__asan_address_is_poisoned(data));

    rgi_check(rgi_pool_take_slot(pool, &lent) == 0);
    data = rgi_pool_slot_memory(pool, lent);
    rgi_check(__asan_address_is_poisoned(data)); /* the kernel's, not ours */
    rgi_pool_lease_of(pool, lent, 20, &lease);
    rgi_check(!__asan_address_is_poisoned(data + 19));
    rgi_check(__asan_address_is_poisoned(data + 20));
    rgi_check(rgm_lease_drop(&lease) == 0);
    finish(pool);
#endif
}

/* What is promised of leases and views is promised whatever they are made of. */
#define CASES_OF_ANY(X)                                  \
    X(pool, bpl_04_lease_is_initialised)                 \
    X(pool, bpl_07_truncate_only_shortens)               \
    X(pool, bpl_08_freeze_gives_views_without_copies)    \
    X(pool, bpl_09_one_byte_holds_the_slot)              \
    X(pool, bpl_15_leaked_lease_costs_capacity)          \
    X(leases, empty_lease_does_nothing)                  \
    X(leases, stale_copy_is_refused)                     \
    X(leases, free_slots_are_poisoned)

#define RUN(suite, name) name();

static void
bpl_16_leases_of_heap_memory_are_leases(void)
{
    struct heap heap;

    heap_begin(&heap);
    CASES_OF_ANY(RUN)
    heap_end(&heap);
}

#define CASES(X)    \
    CASES_OF_ANY(X) \
    X(pool, bpl_16_leases_of_heap_memory_are_leases)

RGI_CASES(CASES)
