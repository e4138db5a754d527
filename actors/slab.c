/* SPDX-License-Identifier: MIT */

/*
 * slab.c - blocks by size class.
 *
 * 1. Take pops the class's free list; else takes all the runtime has to spare;
 *    else cuts a block from the fresh chunk; else gets a new chunk and hangs it
 *    into the runtime's list.
 * 2. Give appends: first back, first out (slab.h says why). Nothing is returned
 *    to libc before the runtime ends.
 * 3. Spare blocks are pushed singly and taken all at once, so no block can be
 *    taken and pushed again behind the back of a compare-and-swap.
 *
 * What is left of a chunk when a larger block does not fit goes to the free
 * list of its own size, so nothing is wasted.
 */

#include "actors/slab.h"

#include <string.h>

#include "base/assert.h"
#include "base/ck.h"
#include "base/memory.h"

struct rgi_slab_chunk {
    struct rgi_slab_chunk *next;
};

/* What is in a free list is poisoned, its links included. */
static void
list_append(struct rgi_slab_list *list, struct rgi_slab_block *first,
            struct rgi_slab_block *last)
{
    if (list->first == NULL) {
        list->first = first;
    } else {
        rgi_slab_unpoison(list->last, sizeof(*list->last));
        list->last->next = first;
        rgi_slab_poison(list->last, sizeof(*list->last));
    }
    list->last = last;
}

static void
free_append(struct rgi_slab *slab, unsigned class, void *memory)
{
    struct rgi_slab_block *block = memory;

    /* What is left of a chunk is poisoned. */
    rgi_slab_unpoison(block, sizeof(*block));
    block->next = NULL;
    block->ahead = block;
    list_append(&slab->free[class], block, block);
    rgi_slab_poison(block, rgi_slab_class_size(class));
}

/* Hang a chunk where the runtime finds it at its end. */
static void
store_add(struct rgi_slab_store *store, struct rgi_slab_chunk *chunk)
{
    void *first = NULL; /* a guess; the exchange says what there is */
    void *seen;

    for (;;) {
        chunk->next = first;
        /* slab-store: publishes the chunk's link to the one who frees. */
        ck_pr_fence_release();
        if (ck_pr_cas_ptr_value(&store->first, first, chunk, &seen))
            return;
        first = seen;
    }
}

/* Whether the runtime had any to spare. */
static bool
claim_spare(struct rgi_slab *slab, unsigned class)
{
    struct rgi_slab_block **spare = &slab->store->spare[class];
    struct rgi_slab_block *block;

    block = ck_pr_fas_ptr(spare, NULL);
    /* slab-spare: observes the links and whatever was written before. */
    ck_pr_fence_acquire();
    while (block != NULL) {
        struct rgi_slab_block *next = block->next;

        free_append(slab, class, block);
        block = next;
    }
    return slab->free[class].first != NULL;
}

static bool
refill(struct rgi_slab *slab)
{
    struct rgi_slab_chunk *chunk;

    if (slab->fresh_bytes >= RGI_SLAB_STEP)
        free_append(slab, rgi_slab_class(slab->fresh_bytes), slab->fresh);
    slab->fresh_bytes = 0;
    chunk = rgi_alloc_aligned(RGI_SLAB_STEP, RGI_SLAB_CHUNK_BYTES);
    if (chunk == NULL)
        return false;
    store_add(slab->store, chunk);
    slab->fresh = (char *)chunk + RGI_SLAB_STEP;
    slab->fresh_bytes = RGI_SLAB_CHUNK_BYTES - RGI_SLAB_STEP;
    rgi_slab_poison(slab->fresh, slab->fresh_bytes);
    return true;
}

static void *
cut(struct rgi_slab *slab, unsigned class)
{
    size_t size_bytes = rgi_slab_class_size(class);
    char *memory;

    if (slab->fresh_bytes < size_bytes && !refill(slab))
        return NULL;
    memory = slab->fresh;
    slab->fresh += size_bytes;
    slab->fresh_bytes -= size_bytes;
    rgi_slab_unpoison(memory, size_bytes);
    return memory;
}

void *
rgi_slab_take_other(struct rgi_slab *slab, size_t size_bytes)
{
    unsigned class = rgi_slab_class(size_bytes);

    rgi_assert(size_bytes > 0);
    if (class == RGI_SLAB_LARGE)
        return rgi_alloc_aligned(RGI_SLAB_STEP, size_bytes);
    if (claim_spare(slab, class))
        return rgi_slab_take(slab, size_bytes);
    return cut(slab, class);
}

void
rgi_slab_give(struct rgi_slab *slab, void *memory, size_t size_bytes)
{
    unsigned class = rgi_slab_class(size_bytes);

    if (class == RGI_SLAB_LARGE)
        rgi_free(memory);
    else
        free_append(slab, class, memory);
}

/* Only a sanitizer's build looks at each. */
static void
poison_list(struct rgi_slab_block *block, const struct rgi_slab_block *last,
            unsigned class)
{
#if defined(__SANITIZE_ADDRESS__)
    while (block != last) {
        struct rgi_slab_block *next = block->next;

        rgi_slab_poison(block, rgi_slab_class_size(class));
        block = next;
    }
    rgi_slab_poison(block, rgi_slab_class_size(class));
#else
    (void)block;
    (void)last;
    (void)class;
#endif
}

void
rgi_slab_give_list(struct rgi_slab *slab, struct rgi_slab_block *first,
                   struct rgi_slab_block *last, size_t size_bytes)
{
    unsigned class = rgi_slab_class(size_bytes);

    rgi_assert(class != RGI_SLAB_LARGE);
    rgi_assert_slow(last->next == NULL);
    list_append(&slab->free[class], first, last);
    poison_list(first, last, class);
}

void
rgi_slab_give_away(struct rgi_slab *slab, void *memory, size_t size_bytes)
{
    unsigned class = rgi_slab_class(size_bytes);
    struct rgi_slab_block **spare = &slab->store->spare[class];
    struct rgi_slab_block *block = memory;
    void *first, *seen;

    if (class == RGI_SLAB_LARGE) {
        rgi_free(memory);
        return;
    }
    first = NULL; /* a guess; the exchange says what there is */
    for (;;) {
        block->next = first;
        /* slab-spare: publishes the block to whoever takes the list. */
        ck_pr_fence_release();
        if (ck_pr_cas_ptr_value(spare, first, block, &seen))
            return;
        first = seen;
    }
}

void
rgi_slab_store_free(struct rgi_slab_store *store)
{
    struct rgi_slab_chunk *chunk = store->first;

    while (chunk != NULL) {
        struct rgi_slab_chunk *next = chunk->next;

        rgi_slab_unpoison(chunk, RGI_SLAB_CHUNK_BYTES);
        rgi_free(chunk);
        chunk = next;
    }
    store->first = NULL;
}

/* Not forgotten, only never given back. */
static struct rgi_slab_store lost;

void
rgi_slab_store_lose(struct rgi_slab_store *store)
{
    struct rgi_slab_chunk *chunk = store->first;

    while (chunk != NULL) {
        struct rgi_slab_chunk *next = chunk->next;

        store_add(&lost, chunk);
        chunk = next;
    }
    store->first = NULL;
}

void
rgi_slab_lose(void *memory, size_t size_bytes)
{
    if (rgi_slab_class(size_bytes) == RGI_SLAB_LARGE)
        store_add(&lost, memory);
}
