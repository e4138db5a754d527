/* SPDX-License-Identifier: MIT */

/*
 * commands_keys.c - which commands ask the owners of keys, and what?
 *
 * Each looks at its arguments and makes a command for the shard of its key, or
 * a group for the shards of its keys, or says what is wrong. To whom it goes is
 * looked up when it is asked. Errors are found in the order in which Redis finds
 * them, in its words.
 */

#include <time.h>

#include "samples/kv/info.h"
#include "samples/kv/verbs.h"

/* ----------------------------------------------------------------- of one key */

/* A command for the owner of the first argument, with `value` if any. Returns
 * NULL, and the plan has failed, when there is no memory. */
static struct command *
command_make(struct plan *plan, const struct verb *verb, struct bytes value)
{
    struct command *command = command_take(plan->self, COMMAND_BYTES);
    struct bytes key = argument(plan, 1);
    size_t own_bytes = 0;

    plan->command = command;
    plan->kind = command != NULL ? PLAN_COMMAND : PLAN_FAILED;
    if (command == NULL)
        return NULL;
    command->operation = verb->operation;
    command->hash = store_hash(key);
    command->key = key;
    command->value = value;
    if (key.length_bytes + value.length_bytes <= COMMAND_BYTES) {
        memcpy(command->bytes, key.data, key.length_bytes);
        command->key.data = command->bytes;
        if (value.length_bytes > 0)
            memcpy(command->bytes + key.length_bytes, value.data,
                   value.length_bytes);
        command->value.data = command->bytes + key.length_bytes;
    } else {
        command->view = resp_hold(plan->resp, &own_bytes);
        command->own_bytes = (uint32_t)own_bytes;
    }
    return command;
}

void
make_keyed(struct plan *plan, const struct verb *verb)
{
    (void)command_make(plan, verb, (struct bytes){NULL, 0});
}

/* INCR, DECR. */
void
make_increment(struct plan *plan, const struct verb *verb)
{
    struct command *command = command_make(plan, verb, (struct bytes){NULL, 0});

    if (command != NULL)
        command->number = verb->name[0] == 'd' ? -1 : 1;
}

/* INCRBY, DECRBY. */
void
make_add(struct plan *plan, const struct verb *verb)
{
    bool decrement = verb->name[0] == 'd';
    struct command *command;
    int64_t number = 0;

    if (!bytes_to_number(argument(plan, 2), &number)) {
        raw_not_an_integer(plan);
        return;
    }
    if (decrement && number == INT64_MIN) {
        raw_text(plan, "-ERR decrement would overflow\r\n");
        return;
    }
    command = command_make(plan, verb, (struct bytes){NULL, 0});
    if (command != NULL)
        command->number = decrement ? -number : number;
}

void
make_append(struct plan *plan, const struct verb *verb)
{
    (void)command_make(plan, verb, argument(plan, 2));
}

/* ------------------------------------------------------------------ expiration */

static int64_t
wall_clock_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A time given in s or ms, in ms; false when it does not fit. */
static bool
to_ms(int64_t time, bool is_seconds, int64_t *ret_ms)
{
    if (is_seconds && (time > INT64_MAX / 1000 || time < INT64_MIN / 1000))
        return false;
    *ret_ms = is_seconds ? time * 1000 : time;
    return true;
}

/* How SET says when the key expires. */
struct set_expiry {
    struct bytes time; /* NULL: not said */
    bool is_seconds;
    bool is_absolute;
};

/* Returns false, and the plan says why. */
static bool
set_expiry(struct plan *plan, const struct verb *verb,
           const struct set_expiry *expiry, int64_t *ret_ttl_ms)
{
    int64_t now_ms = wall_clock_ms();
    int64_t time = 0;

    if (!bytes_to_number(expiry->time, &time)) {
        raw_not_an_integer(plan);
        return false;
    }
    if (time <= 0 || !to_ms(time, expiry->is_seconds, &time) ||
        (!expiry->is_absolute && time > INT64_MAX - now_ms)) {
        raw_bad_expire(plan, verb);
        return false;
    }
    *ret_ttl_ms = expiry->is_absolute ? time - now_ms : time;
    return true;
}

/* One of EX, PX, EXAT, PXAT; false: another word. */
static bool
is_expiry_option(struct bytes word, struct set_expiry *expiry)
{
    expiry->is_seconds = bytes_is(word, "ex") || bytes_is(word, "exat");
    expiry->is_absolute = bytes_is(word, "exat") || bytes_is(word, "pxat");
    return expiry->is_seconds || expiry->is_absolute || bytes_is(word, "px");
}

/* The options of SET; false when they do not go together. */
static bool
set_options(struct plan *plan, uint8_t *ret_flags, struct set_expiry *expiry)
{
    struct set_expiry next = {.time = {NULL, 0}};
    uint8_t flags = 0;

    for (uint32_t i = 3; i < arguments_count(plan); i++) {
        struct bytes word = argument(plan, i);

        if (bytes_is(word, "nx") && !(flags & COMMAND_XX)) {
            flags |= COMMAND_NX;
        } else if (bytes_is(word, "xx") && !(flags & COMMAND_NX)) {
            flags |= COMMAND_XX;
        } else if (bytes_is(word, "get")) {
            flags |= COMMAND_GET;
        } else if (bytes_is(word, "keepttl") && !(flags & COMMAND_TTL)) {
            flags |= COMMAND_KEEP_TTL;
        } else if (is_expiry_option(word, &next) &&
                   !(flags & COMMAND_KEEP_TTL) &&
                   i + 1 < arguments_count(plan)) {
            if (flags & COMMAND_TTL &&
                (next.is_seconds != expiry->is_seconds ||
                 next.is_absolute != expiry->is_absolute))
                return false;
            flags |= COMMAND_TTL;
            next.time = argument(plan, ++i);
            *expiry = next;
        } else {
            return false;
        }
    }
    *ret_flags = flags;
    return true;
}

void
make_set(struct plan *plan, const struct verb *verb)
{
    struct set_expiry expiry = {.time = {NULL, 0}};
    struct command *command;
    uint8_t flags = 0;
    int64_t ttl_ms = 0;

    if (arguments_count(plan) > 3) {
        if (!set_options(plan, &flags, &expiry)) {
            raw_syntax_error(plan);
            return;
        }
        if (flags & COMMAND_TTL && !set_expiry(plan, verb, &expiry, &ttl_ms))
            return;
    }
    command = command_make(plan, verb, argument(plan, 2));
    if (command == NULL)
        return;
    command->flags = flags;
    command->ttl_ms = ttl_ms;
}

/* The options of EXPIRE; false, and the plan says why. */
static bool
expire_options(struct plan *plan, uint8_t *ret_flags)
{
    static const char *const words[] = {"nx", "xx", "gt", "lt"};
    uint8_t flags = 0;

    for (uint32_t i = 3; i < arguments_count(plan); i++) {
        struct bytes word = argument(plan, i);
        uint8_t flag = 0;

        for (unsigned at = 0; at < 4; at++)
            if (bytes_is(word, words[at]))
                flag = (uint8_t)(COMMAND_NX << at);
        if (flag == 0) {
            raw_error(plan, "-ERR Unsupported option %.*s",
                      word.length_bytes > 128 ? 128 : (int)word.length_bytes,
                      word.data);
            return false;
        }
        flags |= flag;
    }
    if (flags & COMMAND_NX && flags & (COMMAND_XX | COMMAND_GT | COMMAND_LT)) {
        raw_text(plan, "-ERR NX and XX, GT or LT options at the same time are "
                       "not compatible\r\n");
        return false;
    }
    if (flags & COMMAND_GT && flags & COMMAND_LT) {
        raw_text(plan, "-ERR GT and LT options at the same time are not "
                       "compatible\r\n");
        return false;
    }
    *ret_flags = flags;
    return true;
}

/* EXPIRE, PEXPIRE. */
void
make_expire(struct plan *plan, const struct verb *verb)
{
    bool is_seconds = verb->name[0] == 'e';
    struct command *command;
    uint8_t flags = 0;
    int64_t ttl_ms = 0;

    if (!expire_options(plan, &flags))
        return;
    if (!bytes_to_number(argument(plan, 2), &ttl_ms)) {
        raw_not_an_integer(plan);
        return;
    }
    if (!to_ms(ttl_ms, is_seconds, &ttl_ms) ||
        ttl_ms > INT64_MAX - wall_clock_ms()) {
        raw_bad_expire(plan, verb);
        return;
    }
    command = command_make(plan, verb, (struct bytes){NULL, 0});
    if (command == NULL)
        return;
    command->flags = flags;
    command->ttl_ms = ttl_ms;
}

/* -------------------------------------------------------------------- of several */

/* A group of `count` items, to be filled in, or NULL. */
static struct group *
group_make(struct plan *plan, uint8_t operation, uint32_t count)
{
    struct group *group = group_take(plan->self, count * sizeof(struct item));

    plan->group = group;
    plan->kind = group != NULL ? PLAN_GROUP : PLAN_FAILED;
    if (group == NULL)
        return NULL;
    group->operation = operation;
    group->items_count = count;
    return group;
}

/* `step` arguments to an item: its key, and for 2 its value. */
static void
make_items(struct plan *plan, const struct verb *verb, uint32_t step)
{
    uint32_t count = (arguments_count(plan) - 1) / step;
    struct group *group = group_make(plan, verb->operation, count);
    size_t own_bytes = 0;

    if (group == NULL)
        return;
    group->view = resp_hold(plan->resp, &own_bytes);
    group->own_bytes = (uint32_t)own_bytes;
    for (uint32_t i = 0; i < count; i++) {
        struct bytes key = argument(plan, 1 + i * step);

        group->items[i] = (struct item){.hash = store_hash(key), .key = key};
        if (step == 2)
            group->items[i].value = argument(plan, 2 + i * step);
    }
}

void
make_mget(struct plan *plan, const struct verb *verb)
{
    make_items(plan, verb, 1);
}

void
make_mset(struct plan *plan, const struct verb *verb)
{
    if (arguments_count(plan) % 2 == 0)
        raw_bad_arity(plan, verb->name);
    else
        make_items(plan, verb, 2);
}

/* DEL and EXISTS: of one key as a rule. */
void
make_one_or_more(struct plan *plan, const struct verb *verb)
{
    struct verb several = *verb;

    several.operation = verb->operation == OP_DELETE ? OP_MDELETE : OP_MEXISTS;
    if (arguments_count(plan) == 2)
        make_keyed(plan, verb);
    else
        make_items(plan, &several, 1);
}

/* ------------------------------------------------------------------------ of all */

void
make_all(struct plan *plan, const struct verb *verb)
{
    (void)group_make(plan, verb->operation, 0);
}

void
make_flush(struct plan *plan, const struct verb *verb)
{
    bool known =
        arguments_count(plan) == 1 ||
        (arguments_count(plan) == 2 && (bytes_is(argument(plan, 1), "sync") ||
                                        bytes_is(argument(plan, 1), "async")));

    if (known)
        make_all(plan, verb);
    else
        raw_syntax_error(plan);
}

void
make_info(struct plan *plan, const struct verb *verb)
{
    uint8_t sections = arguments_count(plan) == 1 ? INFO_ALL : 0;

    for (uint32_t i = 1; i < arguments_count(plan); i++)
        sections |= info_section(argument(plan, i));
    make_all(plan, verb);
    if (plan->kind == PLAN_GROUP)
        plan->group->flags = sections;
}

/* ---------------------------------------------------------------------- of none */

void
make_workers(struct plan *plan, uint32_t workers_count)
{
    struct group *group = group_make(plan, OP_WORKERS, 0);

    if (group != NULL)
        group->workers = workers_count;
}
