/* SPDX-License-Identifier: MIT */
#ifndef LEASES_PARTS_H
#define LEASES_PARTS_H

/*
 * parts.h - what is a pool made of? For the files of this folder only.
 *
 * A word says which of its 32 slots are free, and carries two marks in the same
 * 64 bits: somebody waits, and the pool is closed. Whoever brings a slot home
 * therefore learns both in the very step that publishes the slot, and has no
 * reason to touch the pool afterwards, when it may be gone already.
 *
 *     bit 63   closed: free slots have retired, others retire as they come
 *     bit 62   hungry: a slot that comes home must look for a taker
 *     31 .. 0  slot free
 *
 * Each word has a cache line, and each thread begins its search at a word of
 * its own, so that threads with slots to spare do not meet.
 */

#include <stdalign.h>

#include "leases/poison.h"
#include "leases/pool.h"

#define RGI_CACHE_LINE_BYTES 64
#define RGI_POOL_NAME_BYTES 32

#define RGI_WORD_SLOTS 32u
#define RGI_WORD_FREE UINT64_C(0xffffffff)
#define RGI_WORD_HUNGRY (UINT64_C(1) << 62)
#define RGI_WORD_CLOSED (UINT64_C(1) << 63)

struct rgi_word {
    alignas(RGI_CACHE_LINE_BYTES) uint64_t bits; /* atomic: pool-word */
};

/* A slot's header. It is not in the payload, so that a writer who runs over the
 * end of a slot does not change who owns the next one. */
struct rgi_slot {
    alignas(RGI_CACHE_LINE_BYTES) struct rgm_block block;
    struct rgm_pool *pool;
    uint32_t index;
    uint32_t stamp; /* leases that have ended here; atomic: slot-stamp */

    /* who has it, for reports; atomic: slot-note */
    uint64_t since_ns;
    uint64_t who;
    const char *name;
    uint32_t state; /* enum rgm_slot_state; 0: free, or not noted yet */
};

_Static_assert(sizeof(struct rgi_slot) == RGI_CACHE_LINE_BYTES,
               "a slot's header is one line");

/* Takers in no order, each in a place of its own. A bit of `taken` is a place
 * that is not free, a bit of `ready` one where a taker may stand. */
#define RGI_CROWD_WORDS ((RGI_POOL_TAKERS_MAX + 63) / 64)

struct rgi_crowd {
    alignas(RGI_CACHE_LINE_BYTES) uint64_t ready[RGI_CROWD_WORDS];
    uint64_t taken[RGI_CROWD_WORDS];
    uint32_t claimed_last; /* a place; atomic: crowd-last */
    struct rgi_taker *takers[RGI_POOL_TAKERS_MAX]; /* atomic: crowd-takers */
};

struct rgm_pool {
    /* written once, before anybody else can see the pool */
    uint32_t slots_count;
    uint32_t words_count;
    uint64_t identity;
    size_t slot_size_bytes;
    size_t alignment_bytes;
    size_t stride_bytes; /* from one slot to the next */
    char *slab;                       /* NULL with a storage */
    struct rgm_pool_storage *storage; /* NULL: the slab */
    void **memories; /* with a storage, by slot: written by who has the slot */
    struct rgi_slot *slots;
    struct rgi_word *words;
    char name[RGI_POOL_NAME_BYTES];
    rgm_pool_report_function *leaked;
    void *leaked_argument;

    /* written when a slot retires or finds the mark, not otherwise */
    alignas(RGI_CACHE_LINE_BYTES) uint32_t references; /* slots not retired,
                                                          + the handle, + who
                                                          looks for a taker */

    /* written by takers that wait and slots that are handed to them */
    struct rgi_crowd hungry; /* atomic: crowd-ready, crowd-taken */
    struct rgi_crowd lenders;
};

/* A word's bits while other threads change them. No order is implied. */
uint64_t rgi_word_peek(const struct rgi_word *word);

/* Sets and clears bits of a word in one step that orders everything before it
 * before everything after it. Returns what the word was. */
uint64_t rgi_word_change(struct rgi_word *word, uint64_t set, uint64_t clear);

/* Lets go of `count` references; the last one frees the pool. */
void rgi_pool_let_go(struct rgm_pool *pool, uint32_t count);

/* storage.c: a slot that somebody has gets its memory, unless it has it, and
 * gives it up, if it has it. Without a storage there is nothing to do.
 * Returns: 0 or -ENOMEM. */
int rgi_slot_obtain(struct rgm_pool *pool, uint32_t index);
void rgi_slot_give_up(struct rgm_pool *pool, uint32_t index);

static inline int
rgi_slot_fill(struct rgm_pool *pool, uint32_t index)
{
    return pool->storage == NULL ? 0 : rgi_slot_obtain(pool, index);
}

static inline void
rgi_slot_empty(struct rgm_pool *pool, uint32_t index)
{
    if (pool->storage != NULL)
        rgi_slot_give_up(pool, index);
}

/* Nobody's for now. A slot in a slab has its stride to itself. */
static inline void
rgi_slot_poison(struct rgm_pool *pool, uint32_t index)
{
    if (pool->storage == NULL)
        rgi_poison(pool->slab + index * pool->stride_bytes, pool->stride_bytes);
    else if (pool->memories[index] != NULL)
        rgi_poison(pool->memories[index], pool->slot_size_bytes);
}

/* A free slot's number, without memory yet. As rgi_pool_take_slot(). */
int rgi_pool_claim_slot(struct rgm_pool *pool, uint32_t *ret_index);

/* Puts a slot in its word, free for anybody, unless the pool is closed: then it
 * retires. Clears the word's mark. Returns: whether it is free. The caller has a
 * reference to the pool beside the slot's. */
bool rgi_pool_publish(struct rgm_pool *pool, uint32_t index);

/* Brings a slot home whose word carries the mark. The caller has a reference to
 * the pool beside the slot's. */
void rgi_pool_feed(struct rgm_pool *pool, uint32_t index);

/* Ends every wait: there is nothing to wait for any more. */
void rgi_pool_feed_nobody(struct rgm_pool *pool);

/* report.c: notes who has a slot. Thread: the one that took it. */
void rgi_slot_note(struct rgi_slot *slot, const struct rgi_holder *holder,
                   enum rgm_slot_state state);
void rgi_slot_note_caller(struct rgi_slot *slot);

#endif /* LEASES_PARTS_H */
