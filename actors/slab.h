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

#define RGI_SLAB_STEP 64u
#define RGI_SLAB_CLASSES 32u /* 64 .. 2048 bytes; larger: one by one */
#define RGI_SLAB_LARGE RGI_SLAB_CLASSES
#define RGI_SLAB_CHUNK_BYTES 65536u

struct rgi_slab_block;
struct rgi_slab_chunk;

/* All chunks of a runtime; any thread adds, destroy frees. And blocks that
 * ended on another worker than they were taken on, for whoever runs out. */
struct rgi_slab_store {
    struct rgi_slab_chunk *first;                  /* slab-store */
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
    struct rgi_slab_list free[RGI_SLAB_CLASSES];
    char *fresh; /* the rest of the newest chunk */
    size_t fresh_bytes;
};

static inline unsigned
rgi_slab_class(size_t size_bytes)
{
    size_t class = (size_bytes + RGI_SLAB_STEP - 1) / RGI_SLAB_STEP - 1;

    return class < RGI_SLAB_CLASSES ? (unsigned)class : RGI_SLAB_LARGE;
}

/* Memory with undefined content, or NULL. Thread: owner. */
void *rgi_slab_take(struct rgi_slab *slab, size_t size_bytes);
/* Give back what was taken with that size. Thread: owner of this slab. */
void rgi_slab_give(struct rgi_slab *slab, void *memory, size_t size_bytes);
/* Give back what another worker took: to the runtime, else the one who always
 * gives would hoard what the one who always takes has to get anew. */
void rgi_slab_give_away(struct rgi_slab *slab, void *memory,
                        size_t size_bytes);

void rgi_slab_store_free(struct rgi_slab_store *store);
/* Leave it all where it is, for ever: somebody may still write to it. */
void rgi_slab_store_lose(struct rgi_slab_store *store);

#endif /* RGI_ACTORS_SLAB_H */
