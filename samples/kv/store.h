/* SPDX-License-Identifier: MIT */
#ifndef KV_STORE_H
#define KV_STORE_H

/*
 * store.h - what are one worker's keys worth, and until when?
 *
 * Slots, a hash table of keys with a value each, and a heap of those that
 * expire. A slot is what moves to another worker: its table goes as it is, so
 * that it takes no longer with many keys than with few.
 *
 * Small values lie behind their key and are copied in and out. Larger ones are
 * blocks that are never changed: a view of one is all a reader needs, and it
 * stays right whatever happens to the key.
 *
 * Time is an argument, in ms, and a key is gone when its deadline has passed:
 * it is never early. The hash is an argument too, since whoever chose the
 * worker has computed it.
 *
 * Thread: owner, for all of it; views may be dropped anywhere.
 */

#define XXH_INLINE_ALL
#include <xxhash.h>

/* For the macros that hash by themselves; ours are given the hash. */
#define HASH_FUNCTION(key, length, result)                                     \
    ((result) = (unsigned)XXH3_64bits((key), (length)))
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
/* There are many tables: each begins small. */
#undef HASH_INITIAL_NUM_BUCKETS
#undef HASH_INITIAL_NUM_BUCKETS_LOG2
#define HASH_INITIAL_NUM_BUCKETS 8U
#define HASH_INITIAL_NUM_BUCKETS_LOG2 3U
/* Grow before a chain has more than this: every key in it is a cache miss. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 4U

#include <ringmail/lease.h>

#include "samples/kv/bytes.h"

/* Values up to here may be copied; larger ones are views. */
#define STORE_SMALL_MAX 128
#define STORE_VALUE_MAX (UINT32_C(512) * 1024 * 1024)

struct store_entry {
    UT_hash_handle hh;
    uint64_t expires_ms; /* RGM_NEVER: it does not */
    uint32_t heap_at;
    uint32_t key_bytes;
    uint32_t value_bytes;
    uint32_t small_capacity; /* of the room behind the key */
    uint32_t block_capacity; /* of the block, when it is our own */
    uint16_t kind;           /* enum store_kind, store.c */
    uint16_t slot;
    _Alignas(8) char bytes[]; /* the key, then the room */
};

struct store_deadline {
    uint64_t expires_ms;
    struct store_entry *entry;
};

/* The slot of a key is the upper bits of its hash. */
#define STORE_SLOTS 1024
#define STORE_SLOT_SHIFT 54

/* What a look-up needs of a slot's table is here, not two steps away. */
struct store_slot {
    struct store_entry *entries;    /* uthash's head */
    struct UT_hash_bucket *buckets; /* NULL: it is empty */
    uint32_t mask;                  /* number of buckets - 1 */
};

struct store {
    struct store_slot slots[STORE_SLOTS];
    size_t count;
    struct store_deadline *heap; /* [0] is the next to expire */
    uint32_t heap_count;
    uint32_t heap_capacity;
    uint64_t expired; /* how many ever were */
};

/* What to store. */
struct store_value {
    struct bytes bytes;
    /* When not empty: keeps `bytes`, which is a part of it. The store may keep
     * a view of its own instead of a copy if that wastes little of own_bytes,
     * the memory the view keeps from being used otherwise. */
    struct rgm_view view;
    size_t own_bytes;
};

static inline uint64_t
store_hash(struct bytes key)
{
    return XXH3_64bits(key.data, key.length_bytes);
}

/* All zero is an empty store. Clearing frees everything and keeps nothing. */
void store_clear(struct store *store);

static inline size_t
store_count(const struct store *store)
{
    return store->count;
}

static inline uint32_t
store_slot(uint64_t hash)
{
    return (uint32_t)(hash >> STORE_SLOT_SHIFT);
}

/* The entry of the key, or NULL; an expired one is removed instead. It is
 * valid until the store is changed. */
struct store_entry *store_find(struct store *store, struct bytes key,
                               uint64_t hash, uint64_t now_ms);

/* A function that does nothing but fetch does nothing, says the compiler, and leaves
 * out the calls of it: the empty statement is something. */
static inline void
store_fetch(const void *address)
{
    __builtin_prefetch(address);
    __asm__ volatile("");
}

/*
 * Look-ups to come: the processor may fetch their memory meanwhile. The lines
 * that a look-up needs depend on one another: first its bucket's, then, when that
 * may have come, those of the first entry in it, then those of the next: every
 * other key is not the first. With many keys nothing else costs as much as to wait
 * for them.
 */

/* All of it, if key and value are short. */
static inline void
store_fetch_handle(const struct UT_hash_handle *handle)
{
    store_fetch(handle);
    store_fetch((const char *)handle + 64);
    store_fetch((const char *)handle + 96);
}

static inline void
store_fetch_bucket(const struct store *store, uint64_t hash)
{
    const struct store_slot *slot = &store->slots[store_slot(hash)];

    if (slot->buckets != NULL)
        store_fetch(&slot->buckets[(uint32_t)hash & slot->mask]);
}

static inline void
store_fetch_first(const struct store *store, uint64_t hash)
{
    const struct store_slot *slot = &store->slots[store_slot(hash)];

    if (slot->buckets != NULL)
        store_fetch_handle(slot->buckets[(uint32_t)hash & slot->mask].hh_head);
}

static inline void
store_fetch_next(const struct store *store, uint64_t hash)
{
    const struct store_slot *slot = &store->slots[store_slot(hash)];
    const struct UT_hash_handle *first;

    if (slot->buckets == NULL)
        return;
    first = slot->buckets[(uint32_t)hash & slot->mask].hh_head;
    if (first != NULL)
        store_fetch_handle(first->hh_next);
}

/* The same where nobody knows which is the last: a hash is noted, and the second
 * step is done when a few more have been. */
#define STORE_AHEAD 8
struct store_ahead {
    uint64_t hashes[STORE_AHEAD];
    uint32_t count;
};

/* Changes nothing but `ahead`. */
static inline void
store_look_ahead(const struct store *store, struct store_ahead *ahead,
                 uint64_t hash)
{
    uint64_t *place = &ahead->hashes[ahead->count++ % STORE_AHEAD];

    store_fetch_first(store, *place);
    store_fetch_bucket(store, hash);
    *place = hash;
}

/* As an expiry: leave it as it is. */
#define STORE_SAME_EXPIRY 0

/*
 * Set a key's value, whether or not it exists. `entry` is what store_find()
 * gave for it.
 *
 * Returns: 0, or -ENOMEM and nothing has changed.
 */
RGM_MUST_USE int
store_put(struct store *store, struct store_entry *entry, struct bytes key,
          uint64_t hash, const struct store_value *value, uint64_t expires_ms);

/* Put more behind a value. Returns: 0, -ENOMEM, or -EFBIG when it would become
 * longer than STORE_VALUE_MAX; then nothing has changed. */
RGM_MUST_USE int store_append(struct store_entry *entry, struct bytes more);

/* Set when it expires, or RGM_NEVER. Returns: 0, or -ENOMEM. */
RGM_MUST_USE int store_expire(struct store *store, struct store_entry *entry,
                              uint64_t expires_ms);

void store_delete(struct store *store, struct store_entry *entry);

/* The value, for now. */
struct bytes store_get(const struct store_entry *entry);

/*
 * The value, for as long as you like.
 *
 * Owns:    on true the caller owns *ret_view.
 * Returns: false for a value that lies behind its key: it must be copied.
 */
bool store_view(const struct store_entry *entry, struct rgm_view *ret_view);

/* When the next key expires, RGM_NEVER if none does. */
static inline uint64_t
store_next_expiry(const struct store *store)
{
    return store->heap_count > 0 ? store->heap[0].expires_ms : RGM_NEVER;
}

/*
 * Take a slot out of the store, with everything in it. *ret_expiring: how many
 * of its keys expire.
 *
 * Owns:    the caller owns what is returned, for store_put_slot() or
 *          store_drop_slot().
 * Returns: its entries, or NULL: it is empty.
 */
struct store_entry *
store_take_slot(struct store *store, uint32_t slot, uint64_t *ret_expiring);

/* The reverse, into a slot that is empty.
 * Owns:    on 0 the entries are the store's.
 * Returns: 0, or -ENOMEM and nothing has changed. */
RGM_MUST_USE int store_put_slot(struct store *store, uint32_t slot,
                                struct store_entry *entries, uint64_t expiring);

void store_drop_slot(struct store_entry *entries);

/* Remove at most `limit` keys whose time has come. Returns how many. */
size_t store_remove_expired(struct store *store, uint64_t now_ms, size_t limit);

#endif /* KV_STORE_H */
