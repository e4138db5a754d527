/* SPDX-License-Identifier: MIT */

/*
 * store.c - what are one worker's keys worth, and until when?
 *
 * An entry is one allocation: uthash's handle, the key, and a room. A small
 * value lies in the room; otherwise a view of the value does: of a block of our
 * own, or of the one it arrived in. An own block may have space behind the
 * value, where an append goes without disturbing those who look at what is
 * before it.
 *
 * A slot's keys have a table of their own. In the heap all of a worker's keys
 * stand together, so those of a slot that leaves are taken out of it one by one.
 *
 * What can fail is memory. Whatever may fail is done before anything changes.
 */

#include <errno.h>
#include <stdlib.h>

#include "samples/kv/store.h"

enum store_kind {
    STORE_SMALL, /* the value is in the room */
    STORE_OWN,   /* a view of a block of ours is */
    STORE_KEPT   /* a view of a block that is not ours is */
};

struct store_block {
    struct rgm_block block;
    char bytes[];
};

/* The view has room, and any number: a counter stays in its place. */
#define ROOM_MIN sizeof(struct rgm_view)
#define HEAP_MIN 64

_Static_assert(ROOM_MIN >= BYTES_NUMBER_MAX, "a number fits in any room");

static size_t
round_up(size_t size_bytes)
{
    return (size_bytes + 7) & ~(size_t)7;
}

/* --------------------------------------------------------------- the values */

static char *
room_of(const struct store_entry *entry)
{
    return (char *)(uintptr_t)entry->bytes + round_up(entry->key_bytes);
}

/* The view in the room of an entry that is not small. */
static struct rgm_view *
view_of(const struct store_entry *entry)
{
    return (struct rgm_view *)(void *)room_of(entry);
}

static void
block_release(struct rgm_block *block)
{
    free((char *)block - offsetof(struct store_block, block));
}

/* A view of a copy, in a block with `capacity` bytes. */
static bool
copy_to_block(struct bytes bytes, size_t capacity, struct rgm_view *ret_view)
{
    struct store_block *block = malloc(sizeof(*block) + capacity);

    if (block == NULL)
        return false;
    if (bytes.length_bytes > 0)
        memcpy(block->bytes, bytes.data, bytes.length_bytes);
    rgm_block_init(&block->block, block_release);
    *ret_view = rgm_view_of(&block->block, block->bytes, bytes.length_bytes);
    rgm_block_drop(&block->block);
    return true;
}

struct bytes
store_get(const struct store_entry *entry)
{
    struct bytes value = {room_of(entry), entry->value_bytes};

    if (entry->kind != STORE_SMALL)
        value.data = view_of(entry)->data;
    return value;
}

bool
store_view(const struct store_entry *entry, struct rgm_view *ret_view)
{
    if (entry->kind == STORE_SMALL)
        return false;
    *ret_view = rgm_view_clone(view_of(entry));
    return true;
}

static void
entry_drop_view(struct store_entry *entry)
{
    if (entry->kind != STORE_SMALL)
        rgm_view_drop(view_of(entry));
    entry->kind = STORE_SMALL;
}

static void
entry_set_view(struct store_entry *entry, enum store_kind kind, size_t capacity,
               struct rgm_view view)
{
    entry_drop_view(entry);
    *view_of(entry) = view;
    entry->kind = (uint16_t)kind;
    entry->block_capacity = (uint32_t)capacity;
    entry->value_bytes = (uint32_t)view.length_bytes;
}

static int
entry_set_large(struct store_entry *entry, const struct store_value *value)
{
    struct bytes bytes = value->bytes;
    struct rgm_view view;

    if (value->view.block != NULL && value->own_bytes > 0 &&
        bytes.length_bytes >= value->own_bytes / 2) {
        view = rgm_view_of(value->view.block, bytes.data, bytes.length_bytes);
        entry_set_view(entry, STORE_KEPT, 0, view);
        return 0;
    }
    if (!copy_to_block(bytes, bytes.length_bytes, &view))
        return -ENOMEM;
    entry_set_view(entry, STORE_OWN, bytes.length_bytes, view);
    return 0;
}

/* Give an entry its value, which is nothing of this entry's. */
static int
entry_set(struct store_entry *entry, const struct store_value *value)
{
    size_t length = value->bytes.length_bytes;

    if (length > entry->small_capacity)
        return entry_set_large(entry, value);
    entry_drop_view(entry);
    if (length > 0)
        memcpy(room_of(entry), value->bytes.data, length);
    entry->value_bytes = (uint32_t)length;
    return 0;
}

/* Behind the value, in its own block: nobody has looked there yet. */
static void
append_in_block(struct store_entry *entry, struct bytes more)
{
    struct rgm_view *view = view_of(entry);
    struct rgm_view longer;

    memcpy((char *)(uintptr_t)view->data + entry->value_bytes, more.data,
           more.length_bytes);
    longer = rgm_view_of(view->block, view->data,
                         entry->value_bytes + more.length_bytes);
    entry_set_view(entry, STORE_OWN, entry->block_capacity, longer);
}

int
store_append(struct store_entry *entry, struct bytes more)
{
    size_t length = entry->value_bytes + more.length_bytes;
    struct rgm_view view;

    if (length > STORE_VALUE_MAX)
        return -EFBIG;
    if (more.length_bytes == 0)
        return 0;
    if (entry->kind == STORE_SMALL && length <= entry->small_capacity) {
        memcpy(room_of(entry) + entry->value_bytes, more.data,
               more.length_bytes);
        entry->value_bytes = (uint32_t)length;
        return 0;
    }
    if (entry->kind != STORE_OWN || length > entry->block_capacity) {
        if (!copy_to_block(store_get(entry), length * 2, &view))
            return -ENOMEM;
        entry_set_view(entry, STORE_OWN, length * 2, view);
    }
    append_in_block(entry, more);
    return 0;
}

/* ----------------------------------------------------------------- the heap */

static void
heap_set(struct store *store, uint32_t at, struct store_deadline deadline)
{
    store->heap[at] = deadline;
    deadline.entry->heap_at = at;
}

/* Let a deadline find its place, from `at` upward or downward. */
static void
heap_place(struct store *store, uint32_t at, struct store_deadline deadline)
{
    while (at > 0) {
        uint32_t parent = (at - 1) / 2;

        if (store->heap[parent].expires_ms <= deadline.expires_ms)
            break;
        heap_set(store, at, store->heap[parent]);
        at = parent;
    }
    for (;;) {
        uint32_t child = at * 2 + 1;

        if (child + 1 < store->heap_count &&
            store->heap[child + 1].expires_ms < store->heap[child].expires_ms)
            child++;
        if (child >= store->heap_count ||
            store->heap[child].expires_ms >= deadline.expires_ms)
            break;
        heap_set(store, at, store->heap[child]);
        at = child;
    }
    heap_set(store, at, deadline);
}

static void
heap_remove(struct store *store, uint32_t at)
{
    struct store_deadline last = store->heap[--store->heap_count];

    if (at < store->heap_count)
        heap_place(store, at, last);
}

/* Room for so many more. */
static bool
heap_reserve(struct store *store, uint64_t more)
{
    uint64_t wanted = store->heap_count + more;
    uint32_t capacity = store->heap_capacity;
    struct store_deadline *heap;

    if (wanted <= capacity)
        return true;
    if (wanted > UINT32_MAX / 2)
        return false;
    if (capacity < HEAP_MIN)
        capacity = HEAP_MIN;
    while (capacity < wanted)
        capacity *= 2;
    heap = realloc(store->heap, capacity * sizeof(*heap));
    if (heap == NULL)
        return false;
    store->heap = heap;
    store->heap_capacity = capacity;
    return true;
}

int
store_expire(struct store *store, struct store_entry *entry,
             uint64_t expires_ms)
{
    bool was = entry->expires_ms != RGM_NEVER;
    bool is = expires_ms != RGM_NEVER;

    if (is && !was && !heap_reserve(store, 1))
        return -ENOMEM;
    entry->expires_ms = expires_ms;
    if (was && !is)
        heap_remove(store, entry->heap_at);
    if (is && !was)
        entry->heap_at = store->heap_count++;
    if (is)
        heap_place(store, entry->heap_at,
                   (struct store_deadline){expires_ms, entry});
    return 0;
}

/* -------------------------------------------------------------- the entries */

static void
entry_free(struct store_entry *entry)
{
    entry_drop_view(entry);
    free(entry);
}

static struct store_slot *
slot_of(struct store *store, uint64_t hash)
{
    return &store->slots[store_slot(hash)];
}

/* uthash makes the table with the first entry and frees it with the last. */
static void
slot_refresh(struct store_slot *slot)
{
    const struct UT_hash_table *table;

    slot->buckets = NULL;
    if (slot->entries == NULL)
        return;
    table = slot->entries->hh.tbl;
    slot->buckets = table->buckets;
    slot->mask = table->num_buckets - 1;
}

static void
slot_unlink(struct store *store, struct store_slot *slot,
            struct store_entry *entry)
{
    HASH_DEL(slot->entries, entry);
    slot_refresh(slot);
    store->count--;
}

void
store_delete(struct store *store, struct store_entry *entry)
{
    struct store_slot *slot = &store->slots[entry->slot];

    if (entry->expires_ms != RGM_NEVER)
        heap_remove(store, entry->heap_at);
    slot_unlink(store, slot, entry);
    entry_free(entry);
}

/* As HASH_FIND_BYHASHVALUE. */
static struct store_entry *
slot_find(const struct store_slot *slot, struct bytes key, uint64_t hash)
{
    const struct UT_hash_handle *at;

    if (slot->buckets == NULL)
        return NULL;
    at = slot->buckets[(uint32_t)hash & slot->mask].hh_head;
    for (; at != NULL; at = at->hh_next)
        if (at->hashv == (uint32_t)hash && at->keylen == key.length_bytes &&
            memcmp(at->key, key.data, key.length_bytes) == 0)
            return (struct store_entry *)((uintptr_t)at -
                                          offsetof(struct store_entry, hh));
    return NULL;
}

struct store_entry *
store_find(struct store *store, struct bytes key, uint64_t hash,
           uint64_t now_ms)
{
    struct store_entry *entry = slot_find(slot_of(store, hash), key, hash);

    if (entry == NULL || entry->expires_ms >= now_ms)
        return entry;
    store->expired++;
    store_delete(store, entry);
    return NULL;
}

static struct store_entry *
entry_make(struct bytes key, size_t value_bytes)
{
    struct store_entry *entry;
    size_t room = ROOM_MIN;

    if (value_bytes > room && value_bytes <= STORE_SMALL_MAX)
        room = round_up(value_bytes);
    entry = malloc(sizeof(*entry) + round_up(key.length_bytes) + room);
    if (entry == NULL)
        return NULL;
    memset(entry, 0, sizeof(*entry));
    entry->expires_ms = RGM_NEVER;
    entry->key_bytes = (uint32_t)key.length_bytes;
    entry->small_capacity = (uint32_t)room;
    entry->kind = STORE_SMALL;
    if (key.length_bytes > 0)
        memcpy(entry->bytes, key.data, key.length_bytes);
    return entry;
}

static int
entry_add(struct store *store, struct bytes key, uint64_t hash,
          const struct store_value *value, struct store_entry **ret_entry)
{
    struct store_slot *slot = slot_of(store, hash);
    struct store_entry *entry = entry_make(key, value->bytes.length_bytes);

    if (entry == NULL)
        return -ENOMEM;
    if (entry_set(entry, value) != 0)
        goto undo_make;
    entry->slot = (uint16_t)store_slot(hash);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, slot->entries, entry->bytes,
                                entry->key_bytes, (unsigned)hash, entry);
    slot_refresh(slot);
    if (entry->hh.tbl == NULL) /* uthash had no memory */
        goto undo_make;
    store->count++;
    *ret_entry = entry;
    return 0;
undo_make:
    entry_free(entry);
    return -ENOMEM;
}

/* A small value that outgrew its room gets an entry with a larger one, so that
 * the next of its size is put in place. */
static int
entry_replace(struct store *store, struct store_entry *old, struct bytes key,
              uint64_t hash, const struct store_value *value,
              struct store_entry **ret_entry)
{
    int status = entry_add(store, key, hash, value, ret_entry);

    if (status != 0)
        return status;
    (*ret_entry)->expires_ms = old->expires_ms;
    (*ret_entry)->heap_at = old->heap_at;
    if (old->expires_ms != RGM_NEVER)
        store->heap[old->heap_at].entry = *ret_entry;
    slot_unlink(store, slot_of(store, hash), old);
    entry_free(old);
    return 0;
}

int
store_put(struct store *store, struct store_entry *entry, struct bytes key,
          uint64_t hash, const struct store_value *value, uint64_t expires_ms)
{
    size_t length = value->bytes.length_bytes;
    int status;

    if (expires_ms == STORE_SAME_EXPIRY)
        expires_ms = entry != NULL ? entry->expires_ms : RGM_NEVER;
    if (expires_ms != RGM_NEVER && !heap_reserve(store, 1))
        return -ENOMEM;
    if (entry == NULL)
        status = entry_add(store, key, hash, value, &entry);
    else if (length <= STORE_SMALL_MAX && length > entry->small_capacity)
        status = entry_replace(store, entry, key, hash, value, &entry);
    else
        status = entry_set(entry, value);
    if (status == 0 && expires_ms != entry->expires_ms)
        status = store_expire(store, entry, expires_ms);
    return status;
}

size_t
store_remove_expired(struct store *store, uint64_t now_ms, size_t limit)
{
    size_t count = 0;

    while (count < limit && store_next_expiry(store) < now_ms) {
        store_delete(store, store->heap[0].entry);
        count++;
    }
    store->expired += count;
    return count;
}

/* ---------------------------------------------------------------- the slots */

struct store_entry *
store_take_slot(struct store *store, uint32_t slot, uint64_t *ret_expiring)
{
    struct store_entry *entries = store->slots[slot].entries;
    uint64_t expiring = 0;

    if (entries == NULL)
        return NULL;
    store->count -= HASH_COUNT(entries);
    store->slots[slot] = (struct store_slot){NULL, NULL, 0};
    if (store->heap_count > 0) {
        for (struct store_entry *at = entries; at != NULL; at = at->hh.next) {
            if (at->expires_ms == RGM_NEVER)
                continue;
            heap_remove(store, at->heap_at);
            expiring++;
        }
    }
    *ret_expiring = expiring;
    return entries;
}

int
store_put_slot(struct store *store, uint32_t slot, struct store_entry *entries,
               uint64_t expiring)
{
    if (expiring > 0 && !heap_reserve(store, expiring))
        return -ENOMEM;
    store->slots[slot].entries = entries;
    slot_refresh(&store->slots[slot]);
    store->count += HASH_COUNT(entries);
    if (expiring == 0)
        return 0;
    for (struct store_entry *at = entries; at != NULL; at = at->hh.next) {
        if (at->expires_ms == RGM_NEVER)
            continue;
        at->heap_at = store->heap_count++;
        heap_place(store, at->heap_at,
                   (struct store_deadline){at->expires_ms, at});
    }
    return 0;
}

void
store_drop_slot(struct store_entry *entries)
{
    struct store_entry *entry = entries;

    /* The entries stay linked in the order they were added. */
    HASH_CLEAR(hh, entries);
    while (entry != NULL) {
        struct store_entry *next = entry->hh.next;

        entry_free(entry);
        entry = next;
    }
}

void
store_clear(struct store *store)
{
    for (uint32_t i = 0; i < STORE_SLOTS; i++) {
        if (store->slots[i].entries != NULL)
            store_drop_slot(store->slots[i].entries);
        store->slots[i] = (struct store_slot){NULL, NULL, 0};
    }
    free(store->heap);
    store->heap = NULL;
    store->heap_count = 0;
    store->heap_capacity = 0;
    store->count = 0;
}
