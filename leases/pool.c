/* SPDX-License-Identifier: MIT */

/*
 * pool.c - which slots are free, and when does their memory go?
 *
 * 1. Create allocates everything and sets the bit of every slot.
 * 2. Take clears a bit, put sets it; one compare-and-swap each, on the word
 *    that the slot's number names. Nothing else is shared while slots come and
 *    go, in particular no count of them.
 * 3. Close marks every word. It retires the slots that were free, and from then
 *    on a slot that comes home sees the mark and retires instead of being free.
 * 4. Each slot that has not retired is a reference to the pool, and so is the
 *    handle; the last one frees the memory.
 *
 * Put cannot use the pool after it has published the slot, because the slot may
 * be taken, put and retired by others at once. When it sees that somebody waits
 * it takes a reference first; feed.c goes on from there.
 *
 * The slots' memory is one slab, or a storage's: then a slot gets it when it is
 * taken, and gives it up before it is published (storage.c).
 *
 * Create fails for bad sizes or lack of memory; without a storage nothing else
 * can fail.
 */

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/ck.h"
#include "base/list.h"
#include "base/memory.h"
#include "leases/parts.h"
#include "leases/poison.h"

/* The sanitizer's grain: with less, two slots would share one. */
#define STRIDE_ALIGNMENT_MIN_BYTES 8

/* ------------------------------------------------------------------- words */

uint64_t
rgi_word_peek(const struct rgi_word *word)
{
    /* pool-word: observes a moment of the word; every use of it is confirmed by
     * a compare-and-swap or is for diagnosis. */
    return ck_pr_load_64(&word->bits);
}

uint64_t
rgi_word_change(struct rgi_word *word, uint64_t set, uint64_t clear)
{
    uint64_t seen = rgi_word_peek(word);

    /* pool-word: publishes all before to whoever changes the word next, and
     * observes all from whoever changed it last. Full fences on both sides: this
     * is the slow road, and one rule is easier to check than four. */
    ck_pr_fence_memory();
    while (!ck_pr_cas_64_value(&word->bits, seen, (seen | set) & ~clear, &seen))
        ;
    ck_pr_fence_memory();
    return seen;
}

static int
word_take(struct rgi_word *word, uint32_t *ret_bit)
{
    uint64_t seen = rgi_word_peek(word);
    uint64_t bit;

    do {
        if (seen & RGI_WORD_CLOSED)
            return -EPIPE;
        if ((seen & RGI_WORD_FREE) == 0)
            return -EAGAIN;
        bit = seen & (0 - seen); /* lowest: the slot most likely in cache */
        /* pool-word: observes from the last holder of the slot all that it did
         * with the memory. */
    } while (!ck_pr_cas_64_value(&word->bits, seen, seen & ~bit, &seen));
    ck_pr_fence_acquire();
    *ret_bit = (uint32_t)__builtin_ctzll(bit);
    return 0;
}

/* How many slots a word has: all have 32 but the last. */
static uint32_t
word_slots(const struct rgm_pool *pool, uint32_t number)
{
    uint32_t rest = pool->slots_count - number * RGI_WORD_SLOTS;

    return rest < RGI_WORD_SLOTS ? rest : RGI_WORD_SLOTS;
}

/* --------------------------------------------------------- beginning, ending */

static bool
is_power_of_two(size_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

static int
check_options(const struct rgm_pool_options *options)
{
    if (options == NULL || options->slots_count == 0 ||
        options->slots_count > RGM_POOL_SLOTS_MAX ||
        options->slot_size_bytes == 0)
        return -EINVAL;
    if (options->alignment_bytes != 0 &&
        (!is_power_of_two(options->alignment_bytes) ||
         options->alignment_bytes > RGM_POOL_ALIGNMENT_MAX))
        return -EINVAL;
    if (options->storage != NULL && (options->storage->obtain == NULL ||
                                     options->storage->release == NULL))
        return -EINVAL;
    return 0;
}

/* The slab: `slots_count` strides, each a multiple of the alignment. */
static int
lay_out(struct rgm_pool *pool, size_t alignment, size_t *ret_slab_bytes)
{
    size_t stride;
    size_t slab;

    if (__builtin_add_overflow(pool->slot_size_bytes, alignment - 1, &stride))
        return -EOVERFLOW;
    stride &= ~(alignment - 1);
    if (__builtin_mul_overflow(stride, pool->slots_count, &slab) ||
        slab > PTRDIFF_MAX)
        return -EOVERFLOW;
    pool->alignment_bytes = alignment;
    pool->stride_bytes = stride;
    *ret_slab_bytes = slab;
    return 0;
}

static void
pool_free(struct rgm_pool *pool)
{
    if (pool->slab != NULL)
        rgi_unpoison(pool->slab, pool->slots_count * pool->stride_bytes);
    rgi_free(pool->slab);
    rgi_free(pool->memories);
    rgi_free(pool->slots);
    rgi_free(pool->words);
    rgi_free(pool);
}

static int
allocate_parts(struct rgm_pool *pool, size_t alignment, size_t slab_bytes)
{
    pool->words = rgi_alloc_aligned(RGI_CACHE_LINE_BYTES,
                                    pool->words_count * sizeof(*pool->words));
    if (pool->words == NULL)
        return -ENOMEM;
    pool->slots = rgi_alloc_aligned(RGI_CACHE_LINE_BYTES,
                                    pool->slots_count * sizeof(*pool->slots));
    if (pool->slots == NULL)
        return -ENOMEM;
    if (pool->storage != NULL) {
        pool->memories =
            rgi_alloc(pool->slots_count * sizeof(*pool->memories));
        return pool->memories != NULL ? 0 : -ENOMEM;
    }
    pool->slab = rgi_alloc_aligned(alignment, slab_bytes);
    return pool->slab != NULL ? 0 : -ENOMEM;
}

/* Called when the last holder of a slot lets go of its block. */
static void
slot_release(struct rgm_block *block)
{
    struct rgi_slot *slot = rgi_container_of(block, struct rgi_slot, block);

    rgi_pool_put_slot(slot->pool, slot->index);
}

static void
fill(struct rgm_pool *pool)
{
    for (uint32_t i = 0; i < pool->slots_count; i++) {
        struct rgi_slot *slot = &pool->slots[i];

        slot->block.release = slot_release;
        slot->pool = pool;
        slot->index = i;
    }
    for (uint32_t i = 0; i < pool->words_count; i++)
        pool->words[i].bits = RGI_WORD_FREE >>
                              (RGI_WORD_SLOTS - word_slots(pool, i));
    if (pool->slab != NULL)
        rgi_poison(pool->slab, pool->slots_count * pool->stride_bytes);
}

static uint64_t identity_last;   /* pool-identity: a count, publishes nothing */
static uint64_t exhausted_times; /* pool-exhausted: likewise */

static uint64_t
identity_next(void)
{
    return ck_pr_faa_64(&identity_last, 1) + 1;
}

uint64_t
rgi_pools_created(void)
{
    return ck_pr_load_64(&identity_last); /* pool-identity */
}

uint64_t
rgi_pools_exhausted(void)
{
    return ck_pr_load_64(&exhausted_times); /* pool-exhausted */
}

int
rgm_pool_create(const struct rgm_pool_options *options,
                struct rgm_pool **ret_pool)
{
    struct rgm_pool *pool;
    size_t alignment;
    size_t slab_bytes;
    int status;

    status = check_options(options);
    if (status < 0)
        return status;
    alignment = options->alignment_bytes != 0 ? options->alignment_bytes
                                              : RGI_CACHE_LINE_BYTES;
    if (alignment < STRIDE_ALIGNMENT_MIN_BYTES)
        alignment = STRIDE_ALIGNMENT_MIN_BYTES;

    pool = rgi_alloc_aligned(alignof(struct rgm_pool), sizeof(*pool));
    if (pool == NULL)
        return -ENOMEM;
    pool->slots_count = options->slots_count;
    pool->words_count =
        (options->slots_count + RGI_WORD_SLOTS - 1) / RGI_WORD_SLOTS;
    pool->slot_size_bytes = options->slot_size_bytes;
    pool->identity = identity_next();
    pool->storage = options->storage;
    pool->leaked = options->leaked;
    pool->leaked_argument = options->leaked_argument;
    pool->references = options->slots_count + 1;
    pool->hungry.claimed_last = RGI_POOL_TAKERS_MAX - 1;
    pool->lenders.claimed_last = RGI_POOL_TAKERS_MAX - 1;
    if (options->name != NULL)
        strncpy(pool->name, options->name, sizeof(pool->name) - 1);

    status = lay_out(pool, alignment, &slab_bytes);
    if (status == 0)
        status = allocate_parts(pool, alignment, slab_bytes);
    if (status < 0) {
        pool_free(pool);
        return status;
    }
    fill(pool);
    *ret_pool = pool;
    return 0;
}

void
rgi_pool_let_go(struct rgm_pool *pool, uint32_t count)
{
    struct rgm_pool_storage *storage;
    uint32_t before;

    /* pool-references: publishes all that this holder did with the pool to the
     * one that frees it. */
    ck_pr_fence_release();
    before = ck_pr_faa_32(&pool->references, 0 - count);
    rgi_assert(before >= count);
    if (before != count)
        return;
    /* pool-references: observes from all others that they have done. */
    ck_pr_fence_acquire();
    storage = pool->storage;
    pool_free(pool);
    if (storage != NULL && storage->ended != NULL)
        storage->ended(storage);
}

void
rgm_pool_close(struct rgm_pool *pool)
{
    uint32_t retired = 0;

    for (uint32_t i = 0; i < pool->words_count; i++) {
        uint64_t before = rgi_word_change(&pool->words[i], RGI_WORD_CLOSED,
                                          RGI_WORD_FREE);

        retired += (uint32_t)__builtin_popcountll(before & RGI_WORD_FREE);
    }
    rgi_pool_feed_nobody(pool);
    /* The handle is a reference still, so this is not the last one. */
    if (retired != 0)
        rgi_pool_let_go(pool, retired);
}

void
rgm_pool_destroy(struct rgm_pool *pool)
{
    if (pool == NULL)
        return;
    if (pool->leaked != NULL)
        (void)rgm_pool_report(pool, pool->leaked, pool->leaked_argument);
    rgm_pool_close(pool);
    rgi_pool_let_go(pool, 1);
}

/* ------------------------------------------------------------ come and go */

/*
 * The word where this thread found a slot last, in whatever pool. It begins with
 * a number of its own, so that threads spread over the words, and follows the
 * free slots when a pool is nearly empty, so that a search is short.
 */
static _Thread_local uint32_t search_hint;

static inline uint32_t
search_begins(void)
{
    static uint32_t threads_seen;
    static _Thread_local bool numbered;

    /* pool-threads-seen: publishes only that a number is taken. */
    if (!numbered)
        search_hint = ck_pr_faa_32(&threads_seen, 1);
    numbered = true;
    return search_hint;
}

int
rgi_pool_claim_slot(struct rgm_pool *pool, uint32_t *ret_index)
{
    uint32_t first = search_begins() % pool->words_count;
    uint32_t number = first;
    uint32_t bit;
    int status;

    do {
        status = word_take(&pool->words[number], &bit);
        if (status == 0) {
            if (number != first)
                search_hint = number;
            *ret_index = number * RGI_WORD_SLOTS + bit;
            return 0;
        }
        if (++number == pool->words_count)
            number = 0;
    } while (status == -EAGAIN && number != first);
    if (status == -EAGAIN)
        ck_pr_inc_64(&exhausted_times); /* pool-exhausted */
    return status;
}

__attribute__((noinline)) static int
take_stored(struct rgm_pool *pool, uint32_t *ret_index)
{
    uint32_t index;
    int status = rgi_pool_claim_slot(pool, &index);

    if (status < 0)
        return status;
    status = rgi_slot_obtain(pool, index);
    if (status < 0)
        rgi_pool_put_slot(pool, index);
    else
        *ret_index = index;
    return status;
}

int
rgi_pool_take_slot(struct rgm_pool *pool, uint32_t *ret_index)
{
    if (pool->storage != NULL)
        return take_stored(pool, ret_index);
    return rgi_pool_claim_slot(pool, ret_index);
}

bool
rgi_pool_publish(struct rgm_pool *pool, uint32_t index)
{
    struct rgi_word *word = &pool->words[index / RGI_WORD_SLOTS];
    uint64_t bit = UINT64_C(1) << index % RGI_WORD_SLOTS;
    uint64_t seen;

    rgi_slot_empty(pool, index);
    seen = rgi_word_peek(word);
    do {
        rgi_assert((seen & bit) == 0); /* the slot was free already */
        if (seen & RGI_WORD_CLOSED) {
            rgi_pool_let_go(pool, 1);
            return false;
        }
        /* pool-word: publishes the slot to the next taker of it, and observes
         * from whoever left the mark that it is in the crowd. */
        ck_pr_fence_memory();
    } while (!ck_pr_cas_64_value(&word->bits, seen,
                                 (seen | bit) & ~RGI_WORD_HUNGRY, &seen));
    ck_pr_fence_memory();
    return true;
}

/* The slow road of put: somebody waits, or did. */
static void
put_and_feed(struct rgm_pool *pool, uint32_t index)
{
    /* pool-references: publishes that the pool is in use to whoever lets go.
     * The slot is a reference still, so the count is not zero; after the slot
     * is somebody else's this one is what keeps the pool. */
    ck_pr_faa_32(&pool->references, 1);
    rgi_pool_feed(pool, index);
    rgi_pool_let_go(pool, 1);
}

/* Twice, so that a slab knows nothing of storages. */
__attribute__((always_inline)) static inline void
bring_home(struct rgm_pool *pool, uint32_t index, bool stored)
{
    struct rgi_word *word = &pool->words[index / RGI_WORD_SLOTS];
    uint64_t bit = UINT64_C(1) << index % RGI_WORD_SLOTS;
    uint64_t seen;

    rgi_assert(index < pool->slots_count);
    rgi_slot_poison(pool, index);
    /* slot-note: publishes with the slot that nobody has it. */
    ck_pr_store_32(&pool->slots[index].state, 0);
    /* pool-word: publishes all that was done with the memory to the next taker
     * of the slot. */
    ck_pr_fence_release();
    seen = rgi_word_peek(word);
    do {
        rgi_assert((seen & bit) == 0); /* the slot was free already */
        if (stored && (seen & (RGI_WORD_CLOSED | RGI_WORD_HUNGRY)) !=
                          RGI_WORD_HUNGRY)
            rgi_slot_give_up(pool, index); /* before anybody can take it */
        if (seen & RGI_WORD_CLOSED) {
            rgi_pool_let_go(pool, 1);
            return;
        }
        if (seen & RGI_WORD_HUNGRY) {
            put_and_feed(pool, index);
            return;
        }
        if (stored)
            ck_pr_fence_release(); /* what was done with its entry, too */
    } while (!ck_pr_cas_64_value(&word->bits, seen, seen | bit, &seen));
}

__attribute__((noinline)) static void
put_stored(struct rgm_pool *pool, uint32_t index)
{
    bring_home(pool, index, true);
}

void
rgi_pool_put_slot(struct rgm_pool *pool, uint32_t index)
{
    if (pool->storage != NULL)
        put_stored(pool, index);
    else
        bring_home(pool, index, false);
}

/* --------------------------------------------------------------- questions */

void *
rgi_pool_slot_memory(const struct rgm_pool *pool, uint32_t index)
{
    if (pool->storage != NULL)
        return pool->memories[index];
    return pool->slab + index * pool->stride_bytes;
}

bool
rgi_pool_slot_of(struct rgm_block *block, struct rgm_pool **ret_pool,
                 uint32_t *ret_index)
{
    struct rgi_slot *slot;

    if (block == NULL || block->release != slot_release)
        return false;
    slot = rgi_container_of(block, struct rgi_slot, block);
    *ret_pool = slot->pool;
    *ret_index = slot->index;
    return true;
}

uint64_t
rgi_pool_identity(const struct rgm_pool *pool)
{
    return pool->identity;
}

uint32_t
rgm_pool_capacity(const struct rgm_pool *pool)
{
    return pool->slots_count;
}

size_t
rgm_pool_slot_size(const struct rgm_pool *pool)
{
    return pool->slot_size_bytes;
}

const char *
rgm_pool_name(const struct rgm_pool *pool)
{
    return pool->name;
}

uint32_t
rgm_pool_free_count(const struct rgm_pool *pool)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < pool->words_count; i++)
        count += (uint32_t)__builtin_popcountll(
            rgi_word_peek(&pool->words[i]) & RGI_WORD_FREE);
    return count;
}

bool
rgi_pool_valid(const struct rgm_pool *pool)
{
    for (uint32_t i = 0; i < pool->words_count; i++) {
        uint64_t bits = rgi_word_peek(&pool->words[i]);
        uint64_t slots = RGI_WORD_FREE >> (RGI_WORD_SLOTS - word_slots(pool, i));

        if (bits & ~(slots | RGI_WORD_HUNGRY | RGI_WORD_CLOSED))
            return false;
        if ((bits & RGI_WORD_CLOSED) && (bits & RGI_WORD_FREE))
            return false;
    }
    for (uint32_t i = 0; i < pool->slots_count; i++)
        if (pool->slots[i].pool != pool || pool->slots[i].index != i)
            return false;
    return true;
}
