/* SPDX-License-Identifier: MIT */

/*
 * store_test.c - does the store agree with a table anybody can check?
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cases.h"
#include "samples/kv/store.h"

#define KEYS 64
#define LENGTH_MAX 1000

static uint64_t state;

static size_t
random_below(size_t limit)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (size_t)((state * UINT64_C(2685821657736338717)) >> 33) % limit;
}

static struct bytes
bytes_of(const char *text)
{
    return (struct bytes){text, strlen(text)};
}

static struct store_entry *
find(struct store *store, const char *key, uint64_t now_ms)
{
    return store_find(store, bytes_of(key), store_hash(bytes_of(key)), now_ms);
}

static void
put(struct store *store, const char *key, struct bytes value,
    uint64_t expires_ms)
{
    struct store_value what = {.bytes = value};

    rgi_check(store_put(store, find(store, key, 0), bytes_of(key),
                        store_hash(bytes_of(key)), &what, expires_ms) == 0);
}

static bool
holds(struct store *store, const char *key, uint64_t now_ms,
      struct bytes expected)
{
    struct store_entry *entry = find(store, key, now_ms);

    return entry != NULL && bytes_same(store_get(entry), expected);
}

static void
put_get_delete(void)
{
    struct store store = {0};

    rgi_check(find(&store, "a", 0) == NULL);
    put(&store, "a", BYTES("one"), RGM_NEVER);
    put(&store, "", BYTES("empty key"), RGM_NEVER);
    put(&store, "b", BYTES(""), RGM_NEVER);
    rgi_check(holds(&store, "a", 0, BYTES("one")));
    rgi_check(holds(&store, "", 0, BYTES("empty key")));
    rgi_check(holds(&store, "b", 0, BYTES("")));
    rgi_check(store_count(&store) == 3);
    store_delete(&store, find(&store, "a", 0));
    rgi_check(find(&store, "a", 0) == NULL && store_count(&store) == 2);
    store_clear(&store);
    rgi_check(store_count(&store) == 0);
    put(&store, "a", BYTES("again"), RGM_NEVER);
    rgi_check(holds(&store, "a", 0, BYTES("again")));
    store_clear(&store);
}

/* A zero byte in a key or a value is a byte like any other. */
static void
bytes_may_be_zero(void)
{
    struct store store = {0};
    struct store_value value = {.bytes = {"v\0w", 3}};
    struct bytes first = {"k\0a", 3};
    struct bytes second = {"k\0b", 3};

    rgi_check(store_put(&store, NULL, first, store_hash(first), &value,
                        RGM_NEVER) == 0);
    rgi_check(store_find(&store, second, store_hash(second), 0) == NULL);
    rgi_check(
        bytes_same(store_get(store_find(&store, first, store_hash(first), 0)),
                   value.bytes));
    store_clear(&store);
}

/* Different keys with the same hash are different keys. */
static void
hashes_may_collide(void)
{
    struct store store = {0};
    struct store_value value = {.bytes = BYTES("1")};

    rgi_check(store_put(&store, NULL, BYTES("x"), 5, &value, RGM_NEVER) == 0);
    rgi_check(store_find(&store, BYTES("y"), 5, 0) == NULL);
    rgi_check(store_find(&store, BYTES("x"), 5, 0) != NULL);
    store_clear(&store);
}

static void
a_view_survives_its_key(void)
{
    struct store store = {0};
    char large[LENGTH_MAX];
    struct rgm_view view;
    struct rgm_view after;

    memset(large, 'v', sizeof(large));
    put(&store, "k", (struct bytes){large, sizeof(large)}, RGM_NEVER);
    rgi_check(store_view(find(&store, "k", 0), &view));
    rgi_check(store_append(find(&store, "k", 0), BYTES("more")) == 0);
    rgi_check(store_append(find(&store, "k", 0), BYTES("again")) == 0);
    rgi_check(store_view(find(&store, "k", 0), &after));
    put(&store, "k", BYTES("small"), RGM_NEVER);
    rgi_check(!store_view(find(&store, "k", 0), &view));
    store_clear(&store);
    rgi_check(view.length_bytes == sizeof(large));
    rgi_check(memcmp(view.data, large, sizeof(large)) == 0);
    rgi_check(after.length_bytes == sizeof(large) + 9);
    rgi_check(
        memcmp((const char *)after.data + sizeof(large), "moreagain", 9) == 0);
    rgm_view_drop(&view);
    rgm_view_drop(&after);
}

static int released;

static void
count_release(struct rgm_block *block)
{
    (void)block;
    released++;
}

/* A large value keeps the memory it came in, unless that wastes too much. */
static void
kept_or_copied(void)
{
    static char arrived[4096];
    struct store store = {0};
    struct rgm_block block;
    struct store_value value = {.bytes = {arrived + 96, 4000}};

    released = 0;
    rgm_block_init(&block, count_release);
    value.view = rgm_view_of(&block, arrived, sizeof(arrived));
    rgm_block_drop(&block);
    value.own_bytes = sizeof(arrived);
    rgi_check(store_put(&store, NULL, BYTES("k"), store_hash(BYTES("k")),
                        &value, RGM_NEVER) == 0);
    rgi_check(store_get(find(&store, "k", 0)).data == arrived + 96);
    rgi_check(store_append(find(&store, "k", 0), BYTES("x")) == 0);
    rgi_check(store_get(find(&store, "k", 0)).data != arrived + 96);

    put(&store, "k", BYTES("v"), RGM_NEVER);
    value.own_bytes = sizeof(arrived) * 10;
    rgi_check(store_put(&store, NULL, BYTES("l"), store_hash(BYTES("l")),
                        &value, RGM_NEVER) == 0);
    value.own_bytes = 0; /* a pool's slot is never kept */
    rgi_check(store_put(&store, NULL, BYTES("m"), store_hash(BYTES("m")),
                        &value, RGM_NEVER) == 0);
    rgi_check(store_get(find(&store, "l", 0)).data != arrived + 96);
    rgi_check(released == 0);
    rgm_view_drop(&value.view);
    rgi_check(released == 1);
    store_clear(&store);
}

static void
appending_ends_at_the_limit(void)
{
    struct store store = {0};
    struct bytes most = {NULL, STORE_VALUE_MAX};

    put(&store, "k", BYTES("v"), RGM_NEVER);
    rgi_check(store_append(find(&store, "k", 0), most) == -EFBIG);
    rgi_check(holds(&store, "k", 0, BYTES("v")));
    store_clear(&store);
}

static void
keys_expire_after_their_deadline(void)
{
    struct store store = {0};

    put(&store, "a", BYTES("1"), 100);
    put(&store, "b", BYTES("2"), 50);
    put(&store, "c", BYTES("3"), RGM_NEVER);
    rgi_check(store_next_expiry(&store) == 50);
    rgi_check(holds(&store, "b", 50, BYTES("2")));
    rgi_check(find(&store, "b", 51) == NULL);
    rgi_check(store_next_expiry(&store) == 100 && store.expired == 1);
    put(&store, "a", BYTES("4"), STORE_SAME_EXPIRY);
    rgi_check(store_next_expiry(&store) == 100);
    put(&store, "a", BYTES("5"), RGM_NEVER);
    rgi_check(store_next_expiry(&store) == RGM_NEVER);
    rgi_check(store_expire(&store, find(&store, "a", 0), 70) == 0);
    rgi_check(store_remove_expired(&store, 70, 10) == 0);
    rgi_check(store_remove_expired(&store, 71, 10) == 1);
    rgi_check(store_count(&store) == 1);
    store_clear(&store);
}

static void
removal_has_a_budget(void)
{
    struct store store = {0};
    char key[16];

    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof(key), "%d", i);
        put(&store, key, BYTES("v"), 10);
    }
    rgi_check(store_remove_expired(&store, 11, 4) == 4);
    rgi_check(store_remove_expired(&store, 11, 100) == 6);
    rgi_check(store_count(&store) == 0);
    store_clear(&store);
}

/* ------------------------------------------------- beside a plain table */

struct model {
    bool exists;
    uint64_t expires_ms;
    size_t length;
    char value[LENGTH_MAX * 2];
};

static struct model models[KEYS];

static void
model_change(struct store *store, struct model *model, const char *name,
             uint64_t now_ms)
{
    static char value[LENGTH_MAX];
    size_t length =
        random_below(4) == 0 ? random_below(LENGTH_MAX) : random_below(140);
    uint64_t expires_ms =
        random_below(2) == 0 ? RGM_NEVER : now_ms + 1 + random_below(50);
    struct store_entry *entry = find(store, name, now_ms);

    memset(value, (int)random_below(256), length);
    switch (random_below(entry == NULL ? 1 : 5)) {
    case 0:
    case 1:
        put(store, name, (struct bytes){value, length}, expires_ms);
        memcpy(model->value, value, length);
        model->length = length;
        model->expires_ms = expires_ms;
        model->exists = true;
        break;
    case 2:
        if (model->length + length > sizeof(model->value))
            break;
        rgi_check(store_append(entry, (struct bytes){value, length}) == 0);
        memcpy(model->value + model->length, value, length);
        model->length += length;
        break;
    case 3:
        rgi_check(store_expire(store, entry, expires_ms) == 0);
        model->expires_ms = expires_ms;
        break;
    default:
        store_delete(store, entry);
        model->exists = false;
        break;
    }
}

static void
model_check(struct store *store, struct model *model, const char *name,
            uint64_t now_ms)
{
    struct store_entry *entry = find(store, name, now_ms);
    bool exists = model->exists && model->expires_ms >= now_ms;

    rgi_check((entry != NULL) == exists);
    if (!exists) {
        model->exists = false;
        return;
    }
    rgi_check(entry->expires_ms == model->expires_ms);
    rgi_check(bytes_same(store_get(entry),
                         (struct bytes){model->value, model->length}));
}

static void
agrees_with_a_plain_table(void)
{
    struct store store = {0};
    uint64_t now_ms = 1;
    uint64_t rounds = rgi_scale(2000000);
    char name[KEYS][16];

    state = rgi_seed();
    for (size_t i = 0; i < KEYS; i++)
        snprintf(name[i], sizeof(name[i]), "key:%0*zu", (int)(i % 9), i);
    for (uint64_t i = 0; i < rounds; i++) {
        size_t key = random_below(KEYS);
        uint64_t next = RGM_NEVER;

        model_check(&store, &models[key], name[key], now_ms);
        model_change(&store, &models[key], name[key], now_ms);
        model_check(&store, &models[key], name[key], now_ms);
        if (random_below(3) == 0)
            store_remove_expired(&store, now_ms, random_below(4));
        now_ms += random_below(3);
        if (i % 64 != 0)
            continue;
        store_remove_expired(&store, now_ms, SIZE_MAX);
        for (size_t at = 0; at < KEYS; at++) {
            model_check(&store, &models[at], name[at], now_ms);
            if (models[at].exists && models[at].expires_ms < next)
                next = models[at].expires_ms;
        }
        rgi_check(store_next_expiry(&store) == next);
    }
    store_clear(&store);
}

/* Of many keys, those of one slot: half of them expire. */
static void
a_slot_moves_with_its_keys_and_deadlines(void)
{
    struct store from = {0};
    struct store to = {0};
    struct store_entry *entries;
    char key[32];
    uint64_t expiring = 0;
    uint32_t slot = store_slot(store_hash(BYTES("key:0")));
    size_t moved = 0;

    rgi_check(store_take_slot(&from, slot, &expiring) == NULL);
    for (int i = 0; i < 20000; i++) {
        snprintf(key, sizeof(key), "key:%d", i);
        put(&from, key, bytes_of(key),
            i % 2 ? RGM_NEVER : (uint64_t)(1000 + i));
        moved += store_slot(store_hash(bytes_of(key))) == slot;
    }
    put(&to, "other", BYTES("x"), 5000);
    entries = store_take_slot(&from, slot, &expiring);
    rgi_check(entries != NULL && expiring > 0 && expiring < moved);
    rgi_check(store_count(&from) == 20000 - moved);
    rgi_check(from.heap_count == 10000 - expiring);
    rgi_check(find(&from, "key:0", 0) == NULL);
    rgi_check(store_put_slot(&to, slot, entries, expiring) == 0);
    rgi_check(store_count(&to) == moved + 1);
    rgi_check(holds(&to, "key:0", 1000, BYTES("key:0")));
    rgi_check(store_next_expiry(&to) == 1000);
    rgi_check(find(&to, "key:0", 1001) == NULL);
    rgi_check(store_remove_expired(&to, RGM_NEVER - 1, SIZE_MAX) == expiring);
    rgi_check(store_remove_expired(&from, RGM_NEVER - 1, SIZE_MAX) ==
              10000 - expiring);
    put(&from, "key:0", BYTES("new"), RGM_NEVER);
    entries = store_take_slot(&from, slot, &expiring);
    rgi_check(expiring == 0);
    store_drop_slot(entries);
    store_clear(&from);
    store_clear(&to);
}

#define CASES(X)                                                               \
    X(store, a_slot_moves_with_its_keys_and_deadlines)                         \
    X(store, put_get_delete)                                                   \
    X(store, bytes_may_be_zero)                                                \
    X(store, hashes_may_collide)                                               \
    X(store, a_view_survives_its_key)                                          \
    X(store, kept_or_copied)                                                   \
    X(store, appending_ends_at_the_limit)                                      \
    X(store, keys_expire_after_their_deadline)                                 \
    X(store, removal_has_a_budget)                                             \
    X(store, agrees_with_a_plain_table)

RGI_CASES(CASES)
