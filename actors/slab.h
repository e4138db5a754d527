/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_SLAB_H
#define RGI_ACTORS_SLAB_H

/*
 * slab.h - where do messages and actors get their memory without asking libc?
 *
 * Free blocks by size class, one list per class and worker, no atomics: a
 * message always comes home to the worker that took it. Blocks are multiples
 * of 64 bytes, aligned to a cache line. An actor may end on another worker than
 * made it; its chunk belongs to the runtime, and its block goes there.
 */

#include <stddef.h>
#include <stdint.h>

#include <ringmail/base.h>

#include "base/prefetch.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define rgi_slab_poison(memory, size) ASAN_POISON_MEMORY_REGION(memory, size)
#define rgi_slab_unpoison(memory, size)                                        \
    ASAN_UNPOISON_MEMORY_REGION(memory, size)
#else
#define rgi_slab_poison(memory, size) ((void)(memory), (void)(size))
#define rgi_slab_unpoison(memory, size) ((void)(memory), (void)(size))
#endif

#define RGI_SLAB_STEP 64u
#define RGI_SLAB_CLASSES 32u /* 64 .. 2048 bytes; larger: one by one */
#define RGI_SLAB_LARGE RGI_SLAB_CLASSES
#define RGI_SLAB_CHUNK_BYTES 65536u

struct rgi_slab_chunk;

/*
 * A free block. `ahead` is the block that many places behind it in the list, or
 * itself; it is only ever prefetched. Blocks that were away have been written by
 * another core: taken one by one, each would be waited for.
 */
#define RGI_SLAB_AHEAD 8u

struct rgi_slab_block {
    struct rgi_slab_block *next;
    struct rgi_slab_block *ahead;
};

/* All chunks of a runtime; any thread adds, destroy frees. And blocks that
 * ended on another worker than they were taken on, for whoever runs out. */
struct rgi_slab_store {
    struct rgi_slab_chunk *first;                   /* slab-store */
    struct rgi_slab_block *spare[RGI_SLAB_CLASSES]; /* slab-spare */
};

/* Free blocks, taken in the order they were given back: blocks that were
 * neighbours in memory stay neighbours in the list, and a chain of messages is
 * a walk forward through memory, which the caches foresee. */
struct rgi_slab_list {
    struct rgi_slab_block *first;
    struct rgi_slab_block *last;
};

struct rgi_slab {
    struct rgi_slab_store *store;
    struct rgi_slab_list free[RGI_SLAB_CLASSES + 1]; /* the last: empty */
    char *fresh; /* the rest of the newest chunk */
    size_t fresh_bytes;
};

static inline unsigned
rgi_slab_class(size_t size_bytes)
{
    size_t class = (size_bytes + RGI_SLAB_STEP - 1) / RGI_SLAB_STEP - 1;

    return class < RGI_SLAB_CLASSES ? (unsigned)class : RGI_SLAB_LARGE;
}

static inline size_t
rgi_slab_class_size(unsigned class)
{
    return (size_t)(class + 1) * RGI_SLAB_STEP;
}

/* Where there is no free block. Thread: owner. */
void *rgi_slab_take_other(struct rgi_slab *slab, size_t size_bytes);

/* Memory with undefined content, or NULL. Thread: owner. */
static inline void *
rgi_slab_take(struct rgi_slab *slab, size_t size_bytes)
{
    unsigned class = rgi_slab_class(size_bytes);
    struct rgi_slab_block *block = slab->free[class].first;

    if (__builtin_expect(block == NULL, 0))
        return rgi_slab_take_other(slab, size_bytes);
    rgi_slab_unpoison(block, rgi_slab_class_size(class));
    slab->free[class].first = block->next;
    rgi_prefetch_write(block->ahead);
    return block;
}

/* The same for a size that has a class, and is not 0. NULL: the list of its class
 * is empty, and nothing else was tried. */
static inline void *
rgi_slab_take_small(struct rgi_slab *slab, size_t size_bytes)
{
    struct rgi_slab_list *list = &slab->free[(size_bytes - 1) / RGI_SLAB_STEP];
    struct rgi_slab_block *block = list->first;

    if (__builtin_expect(block == NULL, 0))
        return NULL;
    rgi_slab_unpoison(block, rgi_slab_class_size(rgi_slab_class(size_bytes)));
    list->first = block->next;
    rgi_prefetch_write(block->ahead);
    return block;
}

/* Give back what was taken with that size. Thread: owner of this slab. */
void rgi_slab_give(struct rgi_slab *slab, void *memory, size_t size_bytes);
/* Give back a list, oldest first, of blocks that were taken with that size, no
 * large ones. Thread: owner of this slab. */
void rgi_slab_give_list(struct rgi_slab *slab, struct rgi_slab_block *first,
                        struct rgi_slab_block *last, size_t size_bytes);
/* Never give it back: it may still be written to. Its first word is ours from
 * now on, so that it stays findable. Thread: owner. */
void rgi_slab_lose(void *memory, size_t size_bytes);
/* Give back what another worker took: to the runtime, else the one who always
 * gives would hoard what the one who always takes has to get anew. */
void rgi_slab_give_away(struct rgi_slab *slab, void *memory, size_t size_bytes);

void rgi_slab_store_free(struct rgi_slab_store *store);
/* Leave it all where it is, for ever: somebody may still write to it. */
void rgi_slab_store_lose(struct rgi_slab_store *store);

#endif /* RGI_ACTORS_SLAB_H */
