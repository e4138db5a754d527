/* SPDX-License-Identifier: MIT */

/*
 * execute.c - what does a command do to a store?
 *
 * No actor, no message, no clock: a record, a store and the time. The texts are
 * Redis's.
 *
 * A short reply takes the place of the key and the value in the record's bytes,
 * so it is written last.
 */

#include <errno.h>
#include <stdlib.h>

#include "samples/kv/command.h"

static const char not_an_integer[] =
    "ERR value is not an integer or out of range";

/* --------------------------------------------------------------- the replies */

static int
reply_nil(struct command *command)
{
    command->reply = REPLY_NIL;
    return 0;
}

static int
reply_ok(struct command *command)
{
    command->reply = REPLY_OK;
    return 0;
}

static int
reply_text(struct command *command, const char *text)
{
    command->reply = REPLY_TEXT;
    command->text = text;
    return 0;
}

static int
reply_error(struct command *command, const char *text)
{
    command->reply = REPLY_ERROR;
    command->text = text;
    return 0;
}

static int
reply_number(struct command *command, int64_t number)
{
    command->reply = REPLY_NUMBER;
    command->number = number;
    return 0;
}

/* What the key and value lie in is not needed any more. */
static int
reply_value(struct command *command, const struct store_entry *entry)
{
    struct bytes value;
    struct rgm_view view;

    if (entry == NULL)
        return reply_nil(command);
    value = store_get(entry);
    if (value.length_bytes > COMMAND_BYTES && store_view(entry, &view)) {
        rgm_view_drop(&command->view);
        command->view = view;
        command->reply = REPLY_VIEW;
        return 0;
    }
    if (value.length_bytes > 0)
        memcpy(command->bytes, value.data, value.length_bytes);
    command->value.data = command->bytes;
    command->value.length_bytes = value.length_bytes;
    command->reply = REPLY_BYTES;
    return 0;
}

/* -------------------------------------------------------------- the commands */

/* A time to live, as a deadline. */
static uint64_t
deadline_of(int64_t ttl_ms, uint64_t now_ms)
{
    int64_t deadline;

    if (__builtin_add_overflow((int64_t)now_ms, ttl_ms, &deadline))
        return INT64_MAX;
    return deadline > 0 ? (uint64_t)deadline : 1;
}

static int
put(struct store *store, struct store_entry *entry, struct command *command,
    uint64_t now_ms)
{
    struct store_value value = {
        .bytes = command->value,
        .view = command->view,
        .own_bytes = command->own_bytes,
    };
    uint64_t expires_ms = RGM_NEVER;

    if (command->flags & COMMAND_TTL)
        expires_ms = deadline_of(command->ttl_ms, now_ms);
    else if (command->flags & COMMAND_KEEP_TTL)
        expires_ms = STORE_SAME_EXPIRY;
    return store_put(store, entry, command->key, command->hash, &value,
                     expires_ms);
}

/* SET with GET: the old value leaves in the record, whose bytes hold the new
 * one until it is put. */
static int
set_and_get(struct store *store, struct store_entry *entry,
            struct command *command, uint64_t now_ms)
{
    char small[COMMAND_BYTES];
    struct bytes old = {NULL, 0};
    struct rgm_view view = {NULL, 0, NULL};
    int status;

    if (entry != NULL) {
        old = store_get(entry);
        if (old.length_bytes <= COMMAND_BYTES || !store_view(entry, &view)) {
            memcpy(small, old.data, old.length_bytes);
            old.data = small;
        }
    }
    status = put(store, entry, command, now_ms);
    if (status != 0 || entry == NULL) {
        rgm_view_drop(&view);
        return status != 0 ? status : reply_nil(command);
    }
    rgm_view_drop(&command->view);
    command->view = view;
    command->reply = REPLY_VIEW;
    if (view.block != NULL)
        return 0;
    memcpy(command->bytes, small, old.length_bytes);
    command->value.data = command->bytes;
    command->value.length_bytes = old.length_bytes;
    command->reply = REPLY_BYTES;
    return 0;
}

static int
set(struct store *store, struct store_entry *entry, struct command *command,
    uint64_t now_ms)
{
    bool get = (command->flags & COMMAND_GET) != 0;
    int status;

    if ((command->flags & COMMAND_NX && entry != NULL) ||
        (command->flags & COMMAND_XX && entry == NULL))
        return get ? reply_value(command, entry) : reply_nil(command);
    if (get)
        return set_and_get(store, entry, command, now_ms);
    status = put(store, entry, command, now_ms);
    return status != 0 ? status : reply_ok(command);
}

static int
add(struct store *store, struct store_entry *entry, struct command *command)
{
    char text[BYTES_NUMBER_MAX];
    struct store_value value = {.bytes = {text, 0}};
    int64_t number = 0;
    int status;

    if (entry != NULL && !bytes_to_number(store_get(entry), &number))
        return reply_error(command, not_an_integer);
    if (__builtin_add_overflow(number, command->number, &number))
        return reply_error(command,
                           "ERR increment or decrement would overflow");
    value.bytes.length_bytes = bytes_from_number(number, text);
    status = store_put(store, entry, command->key, command->hash, &value,
                       STORE_SAME_EXPIRY);
    return status != 0 ? status : reply_number(command, number);
}

static int
append(struct store *store, struct store_entry *entry, struct command *command,
       uint64_t now_ms)
{
    size_t length = command->value.length_bytes;
    int status;

    if (entry == NULL) {
        status = put(store, entry, command, now_ms);
    } else {
        status = store_append(entry, command->value);
        length = entry->value_bytes;
    }
    if (status == -EFBIG)
        return reply_error(command, "ERR string exceeds maximum allowed size "
                                    "(proto-max-bulk-len)");
    return status != 0 ? status : reply_number(command, (int64_t)length);
}

/* Do the options of EXPIRE allow it? No expiry counts as one never reached. */
static bool
may_expire(const struct store_entry *entry, uint32_t flags, uint64_t expires_ms)
{
    bool expires = entry->expires_ms != RGM_NEVER;

    if ((flags & COMMAND_NX && expires) || (flags & COMMAND_XX && !expires))
        return false;
    if (flags & COMMAND_GT && expires_ms <= entry->expires_ms)
        return false;
    return !(flags & COMMAND_LT && expires_ms >= entry->expires_ms);
}

static int
expire(struct store *store, struct store_entry *entry, struct command *command,
       uint64_t now_ms)
{
    uint64_t expires_ms = deadline_of(command->ttl_ms, now_ms);
    int status = 0;

    if (entry == NULL || !may_expire(entry, command->flags, expires_ms))
        return reply_number(command, 0);
    if (command->ttl_ms <= 0)
        store_delete(store, entry);
    else
        status = store_expire(store, entry, expires_ms);
    return status != 0 ? status : reply_number(command, 1);
}

static int
ttl(const struct store_entry *entry, struct command *command, uint64_t now_ms)
{
    int64_t left_ms;

    if (entry == NULL)
        return reply_number(command, -2);
    if (entry->expires_ms == RGM_NEVER)
        return reply_number(command, -1);
    left_ms = (int64_t)(entry->expires_ms - now_ms);
    if (command->operation == OP_PTTL)
        return reply_number(command, left_ms);
    return reply_number(command, left_ms / 1000 + (left_ms % 1000 >= 500));
}

static int
persist(struct store *store, struct store_entry *entry, struct command *command)
{
    int status;

    if (entry == NULL || entry->expires_ms == RGM_NEVER)
        return reply_number(command, 0);
    status = store_expire(store, entry, RGM_NEVER);
    return status != 0 ? status : reply_number(command, 1);
}

static int delete (struct store *store, struct store_entry *entry,
                   struct command *command)
{
    if (entry != NULL)
        store_delete(store, entry);
    return reply_number(command, entry != NULL);
}

static int
execute(struct store *store, struct store_entry *entry, struct command *command,
        uint64_t now_ms)
{
    switch ((enum operation)command->operation) {
    case OP_GET:
        return reply_value(command, entry);
    case OP_SET:
        return set(store, entry, command, now_ms);
    case OP_DELETE:
        return delete (store, entry, command);
    case OP_EXISTS:
        return reply_number(command, entry != NULL);
    case OP_ADD:
        return add(store, entry, command);
    case OP_APPEND:
        return append(store, entry, command, now_ms);
    case OP_LENGTH:
        return reply_number(command, entry != NULL ? entry->value_bytes : 0);
    case OP_EXPIRE:
        return expire(store, entry, command, now_ms);
    case OP_TTL:
    case OP_PTTL:
        return ttl(entry, command, now_ms);
    case OP_PERSIST:
        return persist(store, entry, command);
    case OP_TYPE:
        return reply_text(command, entry != NULL ? "string" : "none");
    default:
        return -ENOSYS;
    }
}

int
execute_command(struct store *store, struct command *command, uint64_t now_ms)
{
    struct store_entry *entry =
        store_find(store, command->key, command->hash, now_ms);
    int status = execute(store, entry, command, now_ms);

    if (status != 0 || command->reply != REPLY_VIEW)
        rgm_view_drop(&command->view);
    return status;
}

/* ---------------------------------------------------------------- the groups */

/* The short values of one MGET, copied: they may change before it is home. */
struct found_block {
    struct rgm_block block;
    char bytes[];
};

static void
found_release(struct rgm_block *block)
{
    free((char *)block - offsetof(struct found_block, block));
}

/* The keys to come are known: before each few of them, let the memory come. */
#define ITEMS_AHEAD 16

static void
look_ahead(const struct store *store, const struct group *group, uint32_t from)
{
    uint32_t to = from + ITEMS_AHEAD;

    if (from % ITEMS_AHEAD != 0 || group->items_count == 1)
        return;
    if (to > group->items_count)
        to = group->items_count;
    for (uint32_t i = from; i < to; i++)
        store_fetch_bucket(store, group->items[i].hash);
    for (uint32_t i = from; i < to; i++)
        store_fetch_first(store, group->items[i].hash);
    for (uint32_t i = from; i < to; i++)
        store_fetch_next(store, group->items[i].hash);
}

/* Look all up. Large values leave as views; how many bytes are the others? */
static size_t
mget_find(struct store *store, struct group *group, uint32_t shard,
          uint64_t now_ms)
{
    size_t small_bytes = 0;

    for (uint32_t i = 0; i < group->items_count; i++) {
        struct item *item = &group->items[i];
        struct store_entry *entry;

        look_ahead(store, group, i);
        if (item->shard != shard)
            continue;
        entry = store_find(store, item->key, item->hash, now_ms);
        item->found = entry != NULL;
        if (entry == NULL)
            continue;
        item->value = store_get(entry);
        if (!store_view(entry, &item->view))
            small_bytes += item->value.length_bytes;
    }
    return small_bytes;
}

/* Nothing is removed between the two passes: the time is the same, so what
 * expires has gone in the first. */
static int
mget(struct store *store, struct group *group, uint32_t shard, uint64_t now_ms)
{
    size_t small_bytes = mget_find(store, group, shard, now_ms);
    struct found_block *found = NULL;
    char *at;

    if (small_bytes == 0)
        return 0;
    found = malloc(sizeof(*found) + small_bytes);
    if (found == NULL)
        return -ENOMEM;
    rgm_block_init(&found->block, found_release);
    at = found->bytes;
    for (uint32_t i = 0; i < group->items_count; i++) {
        struct item *item = &group->items[i];

        if (item->shard != shard || !item->found || item->view.block != NULL)
            continue;
        memcpy(at, item->value.data, item->value.length_bytes);
        item->value.data = at;
        if (at == found->bytes && item->value.length_bytes > 0)
            item->view = rgm_view_of(&found->block, at, small_bytes);
        at += item->value.length_bytes;
    }
    rgm_block_drop(&found->block);
    return 0;
}

static int
mset(struct store *store, struct group *group, const struct item *item,
     uint64_t now_ms)
{
    struct store_value value = {
        .bytes = item->value,
        .view = group->view,
        .own_bytes = group->own_bytes,
    };
    struct store_entry *entry =
        store_find(store, item->key, item->hash, now_ms);

    return store_put(store, entry, item->key, item->hash, &value, RGM_NEVER);
}

/* One key of MSET, DEL or EXISTS. */
static int
execute_item(struct store *store, struct group *group, struct item *item,
             uint64_t now_ms, uint64_t *sums)
{
    struct store_entry *entry;

    if (group->operation == OP_MSET)
        return mset(store, group, item, now_ms);
    entry = store_find(store, item->key, item->hash, now_ms);
    if (entry == NULL)
        return 0;
    sums[SUM_DONE]++;
    if (group->operation == OP_MDELETE)
        store_delete(store, entry);
    return 0;
}

int
execute_group(struct store *store, struct group *group, uint32_t shard,
              uint64_t now_ms, uint64_t *sums)
{
    int status = 0;

    switch ((enum operation)group->operation) {
    case OP_MGET:
        return mget(store, group, shard, now_ms);
    case OP_FLUSH:
        store_clear(store);
        return 0;
    case OP_COUNT:
    case OP_INFO:
        sums[SUM_DONE] += store_count(store);
        sums[SUM_EXPIRES] += store->heap_count;
        return 0;
    default:
        break;
    }
    for (uint32_t i = 0; i < group->items_count && status == 0; i++) {
        look_ahead(store, group, i);
        if (group->items[i].shard == shard)
            status = execute_item(store, group, &group->items[i], now_ms, sums);
    }
    return status;
}
