/* SPDX-License-Identifier: MIT */

/*
 * feed.c - which taker gets to know that a slot has come home?
 *
 * 1. A taker sets its bit in the pool's mask, then the hungry mark in every
 *    word, and looks once more before it sleeps.
 * 2. A slot that comes home to a marked word is published first; then one bit of
 *    the mask is claimed, and its taker woken.
 * 3. If the mask is empty the marks are left over. The word's mark is taken
 *    off, so that later slots go home by the short road.
 *
 * Why no wake is lost. A word has one order of changes. A slot published before
 * the taker's mark is there when the taker looks once more (or somebody took it,
 * and will bring it home later). A slot published after the mark carries the
 * mark in the value it replaced, and the mask was set before the mark: the bit
 * is seen.
 *
 * Step 3 is the one that could lose a taker: it may set its bit, and find the
 * mark in place, between the look at the mask and the removal of the mark. So
 * the mask is looked at again after the removal. A taker whose marking the
 * removal undid set its bit before that marking, so this look sees the bit. The
 * mark is then put back, and as many takers are woken as the word has free slots:
 * their return may have fallen into the gap. That is the only case in which more
 * takers can wake than slots came home; the ones too many find nothing and wait
 * again.
 */

#include <ck_pr.h>

#include "base/assert.h"
#include "leases/parts.h"

static uint64_t
taker_bit(unsigned index)
{
    rgi_assert(index < RGI_POOL_TAKERS_MAX);
    return UINT64_C(1) << index;
}

void
rgi_pool_watch(struct rgm_pool *pool, unsigned index, void (*wake)(void *),
               void *argument)
{
    /* pool-hungry: observes that no slot is about to wake this taker. */
    rgi_assert((ck_pr_load_64(&pool->hungry) & taker_bit(index)) == 0);
    pool->takers[index].wake = wake;
    pool->takers[index].argument = argument;
}

bool
rgi_pool_is_watched_by(const struct rgm_pool *pool, unsigned index,
                       const void *argument)
{
    return pool->takers[index].argument == argument;
}

/* Sets and clears bits of the mask, fully ordered; returns what it was. */
static uint64_t
mask_change(struct rgm_pool *pool, uint64_t set, uint64_t clear)
{
    uint64_t seen = ck_pr_load_64(&pool->hungry);

    /* pool-hungry: publishes the taker's record to the slot that will claim the
     * bit, or observes it from the taker. */
    ck_pr_fence_memory();
    while (!ck_pr_cas_64_value(&pool->hungry, seen, (seen | set) & ~clear,
                               &seen))
        ;
    ck_pr_fence_memory();
    return seen;
}

void
rgi_pool_hungry(struct rgm_pool *pool, unsigned index)
{
    rgi_assert(pool->takers[index].wake != NULL);
    mask_change(pool, taker_bit(index), 0);
    for (uint32_t i = 0; i < pool->words_count; i++)
        (void)rgi_word_change(&pool->words[i], RGI_WORD_HUNGRY, 0);
}

/* The bit to claim: the next one after the taker woken last, going round, so
 * that no taker is always the last. */
static unsigned
next_taker(struct rgm_pool *pool, uint64_t hungry)
{
    /* pool-woken-last: observes a hint. Any value would do. */
    unsigned last = ck_pr_load_32(&pool->woken_last) % RGI_POOL_TAKERS_MAX;
    uint64_t after = last == 63 ? 0 : hungry & (UINT64_MAX << (last + 1));

    return (unsigned)__builtin_ctzll(after != 0 ? after : hungry);
}

/* Claims one hungry taker and wakes it; false when there is none. */
static bool
wake_one(struct rgm_pool *pool)
{
    uint64_t seen;
    unsigned index;

    do {
        /* pool-hungry: observes who waits. */
        seen = ck_pr_load_64(&pool->hungry);
        if (seen == 0)
            return false;
        index = next_taker(pool, seen);
        seen = mask_change(pool, 0, taker_bit(index));
    } while ((seen & taker_bit(index)) == 0); /* another slot claimed it */
    /* pool-woken-last: publishes a hint to the next slot. */
    ck_pr_store_32(&pool->woken_last, index);
    pool->takers[index].wake(pool->takers[index].argument);
    return true;
}

static void
unmark(struct rgm_pool *pool, struct rgi_word *word)
{
    uint64_t before;
    int free_slots;

    (void)rgi_word_change(word, 0, RGI_WORD_HUNGRY);
    /* pool-hungry: observes from every taker whose mark was just removed. */
    if (ck_pr_load_64(&pool->hungry) == 0)
        return;
    before = rgi_word_change(word, RGI_WORD_HUNGRY, 0);
    free_slots = __builtin_popcountll(before & RGI_WORD_FREE);
    while (free_slots-- > 0 && wake_one(pool))
        ;
}

void
rgi_pool_feed(struct rgm_pool *pool, struct rgi_word *word)
{
    if (!wake_one(pool))
        unmark(pool, word);
}

void
rgi_pool_feed_nobody(struct rgm_pool *pool)
{
    while (wake_one(pool))
        ;
}

bool
rgi_pool_sated(struct rgm_pool *pool, unsigned index)
{
    uint64_t before = mask_change(pool, 0, taker_bit(index));

    if (before & taker_bit(index))
        return true;
    /* A slot has claimed this taker. Nobody else would be woken for it. */
    if (rgm_pool_free_count(pool) != 0)
        (void)wake_one(pool);
    return false;
}
