/* SPDX-License-Identifier: MIT */

/*
 * feed.c - who gets a slot that comes home while somebody waits?
 *
 * 1. A taker takes a place in the crowd, then leaves the mark in every word,
 *    and looks once more. Only then does it wait, and recalls the lenders.
 * 2. A slot that comes home to a marked word is not published: one taker is
 *    claimed, by one compare-and-swap, and the slot handed to it.
 * 3. If the crowd is empty the mark is left over. The slot is published, and
 *    the mark taken off in the same step, so that later ones take the short
 *    road.
 *
 * Why nobody waits beside a free slot. A word has one order of changes. A slot
 * published before the taker's mark is there when the taker looks once more (or
 * somebody took it, and will bring it home later). A slot that comes after the
 * mark finds the mark, and the taker was in the crowd before the mark: it is
 * seen.
 *
 * Step 3 is the one that could forget a taker: it may join, and find the mark in
 * place, between the look at the crowd and the removal of the mark. So the crowd
 * is looked at again after the removal. A taker whose marking the removal undid
 * had joined before, so this look sees it. The mark is then put back; what was
 * published in the gap, by us and by others on the short road, is taken again
 * and handed over, until either slots or takers have run out.
 *
 * Lenders are the same crowd with another question. A taker that waits was in
 * the crowd before it looks for lenders, and a lender became one before it looks
 * for takers, with a full fence in between on both sides: one sees the other.
 */

#include <errno.h>

#include "base/assert.h"
#include "base/ck.h"
#include "leases/parts.h"

/* ------------------------------------------------------------------- crowds */

/* Sets and clears bits of a mask, fully ordered; returns what it was. */
static uint64_t
mask_change(uint64_t *mask, uint64_t set, uint64_t clear)
{
    uint64_t seen = ck_pr_load_64(mask);

    /* crowd-ready, crowd-taken: publish what was written before to whoever
     * changes the mask next, observe what was from whoever changed it last. */
    ck_pr_fence_memory();
    while (!ck_pr_cas_64_value(mask, seen, (seen | set) & ~clear, &seen))
        ;
    ck_pr_fence_memory();
    return seen;
}

static inline uint64_t
place_bit(uint32_t place)
{
    return UINT64_C(1) << place % 64;
}

/* A bit is a place to look at; who stands there is the pointer's to say. */
static inline struct rgi_taker *
taker_at(const struct rgi_crowd *crowd, uint32_t place)
{
    /* crowd-takers: observes a moment; only a compare-and-swap claims. */
    return ck_pr_load_ptr(&crowd->takers[place]);
}

static bool
word_is_empty(const struct rgi_crowd *crowd, uint32_t word)
{
    /* crowd-ready: observes who waits; the callers order it. */
    uint64_t seen = ck_pr_load_64(&crowd->ready[word]);

    for (; seen != 0; seen &= seen - 1)
        if (taker_at(crowd, word * 64 + (uint32_t)__builtin_ctzll(seen)))
            return false;
    return true;
}

static bool
crowd_is_empty(const struct rgi_crowd *crowd)
{
    for (uint32_t i = 0; i < RGI_CROWD_WORDS; i++)
        if (!word_is_empty(crowd, i))
            return false;
    return true;
}

static int
place_take(struct rgi_crowd *crowd, uint32_t *ret_place)
{
    for (uint32_t i = 0; i < RGI_CROWD_WORDS; i++) {
        uint64_t seen = ck_pr_load_64(&crowd->taken[i]);

        while (seen != UINT64_MAX) {
            uint64_t bit = ~seen & (seen + 1); /* the lowest that is free */

            /* crowd-taken: observes that the last one has left the place. */
            if (ck_pr_cas_64_value(&crowd->taken[i], seen, seen | bit, &seen)) {
                ck_pr_fence_memory();
                *ret_place = i * 64 + (uint32_t)__builtin_ctzll(bit);
                return 0;
            }
        }
    }
    return -ENOBUFS;
}

static int
crowd_join(struct rgi_crowd *crowd, struct rgi_taker *taker)
{
    int status = place_take(crowd, &taker->place);

    if (status < 0)
        return status;
    (void)mask_change(&crowd->ready[taker->place / 64],
                      place_bit(taker->place), 0);
    /* crowd-takers: publishes the record to the one that claims it. The fence
     * before is mask_change's; the one after puts it before the marks, and
     * before a lender's look at those who wait. */
    ck_pr_store_ptr(&crowd->takers[taker->place], taker);
    ck_pr_fence_memory();
    return 0;
}

/* Takes a taker out of its place: of several that try, one succeeds. */
static bool
crowd_remove(struct rgi_crowd *crowd, uint32_t place, struct rgi_taker *taker)
{
    uint64_t bit = place_bit(place);

    ck_pr_fence_memory();
    /* crowd-takers: observes the record, and that nobody else claims it. */
    if (!ck_pr_cas_ptr(&crowd->takers[place], taker, NULL))
        return false;
    ck_pr_fence_memory();
    (void)mask_change(&crowd->ready[place / 64], 0, bit);
    (void)mask_change(&crowd->taken[place / 64], 0, bit);
    return true;
}

/* Claims one of those a word says are ready; NULL when they are gone. */
static struct rgi_taker *
claim_of(struct rgi_crowd *crowd, uint32_t word, uint64_t ready)
{
    for (; ready != 0; ready &= ready - 1) {
        uint32_t place = word * 64 + (uint32_t)__builtin_ctzll(ready);
        struct rgi_taker *taker = taker_at(crowd, place);

        if (taker == NULL || !crowd_remove(crowd, place, taker))
            continue;
        /* crowd-last: publishes a hint. */
        ck_pr_store_32(&crowd->claimed_last, place);
        return taker;
    }
    return NULL;
}

/* Claims the next one after the one claimed last, going round, so that nobody
 * is always the last; NULL when nobody is there. */
static struct rgi_taker *
crowd_claim(struct rgi_crowd *crowd)
{
    /* crowd-last: observes a hint. Any value would do. */
    uint32_t last = ck_pr_load_32(&crowd->claimed_last) % RGI_POOL_TAKERS_MAX;
    uint64_t after = last % 64 == 63 ? 0 : UINT64_MAX << (last % 64 + 1);
    struct rgi_taker *taker = NULL;

    for (uint32_t i = 0; i <= RGI_CROWD_WORDS && taker == NULL; i++) {
        uint32_t word = (last / 64 + i) % RGI_CROWD_WORDS;
        /* crowd-ready: observes who waits. */
        uint64_t ready = ck_pr_load_64(&crowd->ready[word]);

        taker = claim_of(crowd, word, i == 0 ? ready & after : ready);
    }
    return taker;
}

/* ------------------------------------------------------------------ waiting */

bool
rgi_pool_is_hungry(const struct rgm_pool *pool)
{
    return (rgi_word_peek(&pool->words[0]) & RGI_WORD_CLOSED) != 0 ||
           !crowd_is_empty(&pool->hungry);
}

static void
recall_lenders(struct rgm_pool *pool)
{
    struct rgi_taker *lender;

    while ((lender = crowd_claim(&pool->lenders)) != NULL)
        lender->hand(lender, RGI_NO_SLOT);
}

/* In the crowd, marked: is there something all the same? */
static int
look_once_more(struct rgm_pool *pool, struct rgi_taker *taker,
               uint32_t *ret_slot)
{
    uint32_t slot;
    int status = rgi_pool_take_slot(pool, &slot);

    if (status == -EAGAIN)
        return status;
    if (!rgi_pool_leave(pool, taker)) { /* and another is on its way */
        if (status == 0)
            rgi_pool_put_slot(pool, slot);
        return -EAGAIN;
    }
    if (status == 0)
        *ret_slot = slot;
    return status;
}

int
rgi_pool_wait(struct rgm_pool *pool, struct rgi_taker *taker,
              uint32_t *ret_slot)
{
    int status = rgi_pool_take_slot(pool, ret_slot);

    if (status != -EAGAIN)
        return status;
    status = crowd_join(&pool->hungry, taker);
    if (status < 0)
        return status;
    for (uint32_t i = 0; i < pool->words_count; i++)
        (void)rgi_word_change(&pool->words[i], RGI_WORD_HUNGRY, 0);
    status = look_once_more(pool, taker, ret_slot);
    if (status == -EAGAIN)
        recall_lenders(pool);
    return status;
}

bool
rgi_pool_leave(struct rgm_pool *pool, struct rgi_taker *taker)
{
    return crowd_remove(&pool->hungry, taker->place, taker);
}

void
rgi_pool_hold(struct rgm_pool *pool)
{
    /* pool-references: publishes that the pool is in use; its owner has not
     * let go of it, or a slot is out. */
    ck_pr_faa_32(&pool->references, 1);
}

int
rgi_pool_lend(struct rgm_pool *pool, struct rgi_taker *lender)
{
    int status;

    rgi_pool_hold(pool);
    status = crowd_join(&pool->lenders, lender);
    if (status < 0)
        rgi_pool_let_go(pool, 1);
    return status;
}

bool
rgi_pool_unlend(struct rgm_pool *pool, struct rgi_taker *lender)
{
    return crowd_remove(&pool->lenders, lender->place, lender);
}

void
rgi_pool_unlent(struct rgm_pool *pool)
{
    rgi_pool_let_go(pool, 1);
}

/* ------------------------------------------------------------------ feeding */

/* Hands a slot over; false when nobody waits. Those for whom a storage has no
 * memory wait no longer: it may be that no other slot ever comes home. */
static bool
hand_over(struct rgm_pool *pool, uint32_t index)
{
    struct rgi_taker *taker;

    while ((taker = crowd_claim(&pool->hungry)) != NULL) {
        if (index == RGI_NO_SLOT || rgi_slot_fill(pool, index) == 0) {
            taker->hand(taker, index);
            return true;
        }
        taker->hand(taker, RGI_NO_MEMORY);
    }
    return false;
}

void
rgi_pool_feed(struct rgm_pool *pool, uint32_t index)
{
    while (!hand_over(pool, index)) {
        if (!rgi_pool_publish(pool, index) || crowd_is_empty(&pool->hungry))
            return;
        (void)rgi_word_change(&pool->words[index / RGI_WORD_SLOTS],
                              RGI_WORD_HUNGRY, 0);
        do {
            if (rgi_pool_claim_slot(pool, &index) != 0)
                return;
        } while (hand_over(pool, index));
    }
}

void
rgi_pool_feed_nobody(struct rgm_pool *pool)
{
    while (hand_over(pool, RGI_NO_SLOT))
        ;
    recall_lenders(pool);
}
