/* SPDX-License-Identifier: MIT */

/*
 * commands.c - which commands are there?
 *
 * 1. The name is looked up, in any case, and the number of arguments checked.
 * 2. Its function looks at the arguments: see commands_keys.c for those that
 *    ask somebody, commands_connection.c for those that do not.
 */

#include <stdio.h>

#include "samples/kv/verbs.h"

/* Letters only, lower case, at most 16. */
static const struct verb verbs[] = {
    {"append", 3, OP_APPEND, make_append},
    {"client", -2, OP_RAW, make_client},
    {"command", -1, OP_RAW, make_command},
    {"config", -2, OP_RAW, make_config},
    {"dbsize", 1, OP_COUNT, make_all},
    {"decr", 2, OP_ADD, make_increment},
    {"decrby", 3, OP_ADD, make_add},
    {"del", -2, OP_DELETE, make_one_or_more},
    {"echo", 2, OP_RAW, make_echo},
    {"exists", -2, OP_EXISTS, make_one_or_more},
    {"expire", -3, OP_EXPIRE, make_expire},
    {"flushall", -1, OP_FLUSH, make_flush},
    {"flushdb", -1, OP_FLUSH, make_flush},
    {"get", 2, OP_GET, make_keyed},
    {"hello", -1, OP_RAW, make_hello},
    {"incr", 2, OP_ADD, make_increment},
    {"incrby", 3, OP_ADD, make_add},
    {"info", -1, OP_INFO, make_info},
    {"mget", -2, OP_MGET, make_mget},
    {"mset", -3, OP_MSET, make_mset},
    {"persist", 2, OP_PERSIST, make_keyed},
    {"pexpire", -3, OP_EXPIRE, make_expire},
    {"ping", -1, OP_RAW, make_ping},
    {"pttl", 2, OP_PTTL, make_keyed},
    {"quit", -1, OP_RAW, make_quit},
    {"reset", 1, OP_RAW, make_reset},
    {"select", 2, OP_RAW, make_select},
    {"set", -3, OP_SET, make_set},
    {"strlen", 2, OP_LENGTH, make_keyed},
    {"ttl", 2, OP_TTL, make_keyed},
    {"type", 2, OP_TYPE, make_keyed},
};
#define VERBS_COUNT (sizeof(verbs) / sizeof(verbs[0]))

size_t
verbs_count(void)
{
    return VERBS_COUNT;
}

/* A name as two words, lower case. Setting the bit makes letters lower and
 * nothing else a letter. By bytes: most names are so short that anything else
 * costs more. */
struct name {
    uint64_t words[2];
};

static struct name
name_of(struct bytes bytes)
{
    struct name name = {{0, 0}};

    for (size_t i = 0; i < bytes.length_bytes; i++)
        name.words[i / 8] =
            name.words[i / 8] << 8 | (unsigned char)(bytes.data[i] | 0x20);
    return name;
}

#define NAMES_BITS 7

static struct {
    struct name name;
    const struct verb *verb; /* NULL: free */
} names[1 << NAMES_BITS];

static uint32_t
name_place(struct name name)
{
    uint64_t mixed = name.words[0] ^ (name.words[1] << 1);

    return (uint32_t)((mixed * UINT64_C(0x9E3779B97F4A7C15)) >>
                      (64 - NAMES_BITS));
}

static uint32_t
name_find(struct name name)
{
    uint32_t at = name_place(name);

    while (names[at].verb != NULL &&
           (names[at].name.words[0] != name.words[0] ||
            names[at].name.words[1] != name.words[1]))
        at = (at + 1) % (1u << NAMES_BITS);
    return at;
}

void
plan_setup(void)
{
    for (size_t i = 0; i < VERBS_COUNT; i++) {
        struct name name =
            name_of((struct bytes){verbs[i].name, strlen(verbs[i].name)});
        uint32_t at = name_find(name);

        names[at].name = name;
        names[at].verb = &verbs[i];
    }
}

static const struct verb *
verb_find(struct bytes name)
{
    if (name.length_bytes == 0 || name.length_bytes > sizeof(struct name))
        return NULL;
    return names[name_find(name_of(name))].verb;
}

/* Names what was not understood, cut to 128 bytes, and its arguments likewise,
 * all together. */
static void
raw_unknown(struct plan *plan)
{
    char words[256];
    size_t length = 0;
    struct bytes name = argument(plan, 0);

    words[0] = '\0';
    for (uint32_t i = 1; i < arguments_count(plan) && length < 128; i++) {
        struct bytes word = argument(plan, i);
        size_t room = 128 - length;
        size_t count = word.length_bytes < room ? word.length_bytes : room;

        length += (size_t)snprintf(words + length, sizeof(words) - length,
                                   "'%.*s' ", (int)count, word.data);
    }
    raw_error(plan, "-ERR unknown command '%.*s', with args beginning with: %s",
              name.length_bytes > 128 ? 128 : (int)name.length_bytes, name.data,
              words);
}

/* What an HTTP client begins its lines with. A web page can make a browser send
 * requests to this machine, with commands in their bodies. */
static bool
is_of_http(struct bytes name)
{
    return bytes_is(name, "post") || bytes_is(name, "host:");
}

void
plan_make(struct plan *plan)
{
    const struct verb *verb = verb_find(argument(plan, 0));
    int count = (int)arguments_count(plan);

    if (verb == NULL && is_of_http(argument(plan, 0))) {
        plan->kind = PLAN_QUIT;
        plan->raw_bytes = 0;
    } else if (verb == NULL) {
        raw_unknown(plan);
    } else if (verb->arity > 0 ? count != verb->arity : count < -verb->arity) {
        raw_bad_arity(plan, verb->name);
    } else {
        verb->make(plan, verb);
    }
}
