/* SPDX-License-Identifier: MIT */

/*
 * commands.c - which commands are there, and what do they ask of whom?
 *
 * 1. The name is looked up, in any case, and the number of arguments checked.
 * 2. Its function looks at the arguments. It makes a command or a group for
 *    those who own the keys, or knows the answer already.
 *
 * Errors are found in the order in which Redis finds them, in its words.
 */

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include <ringmail/clock.h>

#include "samples/kv/commands.h"
#include "samples/kv/info.h"

struct verb {
    const char *name;
    int arity; /* arguments, the name included; negative: at least so many */
    uint8_t operation;
    void (*make)(struct plan *plan, const struct verb *verb);
};

/* -------------------------------------------------------------- known answers */

static void
raw_text(struct plan *plan, const char *text)
{
    size_t length = strlen(text);

    memcpy(plan->raw, text, length);
    plan->raw_bytes = length;
    plan->kind = PLAN_RAW;
}

/* An error line: what would end the line becomes a blank. */
__attribute__((format(printf, 2, 3))) static void
raw_error(struct plan *plan, const char *format, ...)
{
    va_list arguments;
    int length;
    size_t end;

    va_start(arguments, format);
    length = vsnprintf(plan->raw, sizeof(plan->raw) - 2, format, arguments);
    va_end(arguments);
    end = length < 0 ? 0 : (size_t)length;
    if (end > sizeof(plan->raw) - 3)
        end = sizeof(plan->raw) - 3;
    for (size_t i = 0; i < end; i++)
        if (plan->raw[i] == '\r' || plan->raw[i] == '\n')
            plan->raw[i] = ' ';
    memcpy(plan->raw + end, "\r\n", 2);
    plan->raw_bytes = end + 2;
    plan->kind = PLAN_RAW;
}

static void
raw_number(struct plan *plan, uint64_t number)
{
    int length = snprintf(plan->raw, sizeof(plan->raw), ":%llu\r\n",
                          (unsigned long long)number);

    plan->raw_bytes = (size_t)length;
    plan->kind = PLAN_RAW;
}

static void
raw_ok(struct plan *plan)
{
    raw_text(plan, "+OK\r\n");
}

static void
raw_syntax_error(struct plan *plan)
{
    raw_text(plan, "-ERR syntax error\r\n");
}

static void
raw_not_an_integer(struct plan *plan)
{
    raw_text(plan, "-ERR value is not an integer or out of range\r\n");
}

static void
raw_bad_expire(struct plan *plan, const struct verb *verb)
{
    raw_error(plan, "-ERR invalid expire time in '%s' command", verb->name);
}

/* `command`: also "config|get". */
static void
raw_bad_arity(struct plan *plan, const char *command)
{
    raw_error(plan, "-ERR wrong number of arguments for '%s' command", command);
}

static struct bytes
argument(const struct plan *plan, uint32_t index)
{
    return resp_argument(plan->resp, index);
}

static uint32_t
arguments_count(const struct plan *plan)
{
    return plan->resp->arguments_count;
}

static void
raw_bad_subcommand(struct plan *plan, const char *upper)
{
    struct bytes name = argument(plan, 1);
    int length = name.length_bytes > 128 ? 128 : (int)name.length_bytes;

    raw_error(plan, "-ERR unknown subcommand '%.*s'. Try %s HELP.", length,
              name.data, upper);
}

/* ----------------------------------------------------------------- of one key */

/* A command for the owner of the first argument, with `value` if any. Returns
 * NULL, and the plan has failed, when there is no memory. */
static struct command *
command_make(struct plan *plan, const struct verb *verb, struct bytes value)
{
    const struct cluster *cluster = plan->worker->cluster;
    struct command *command = command_take(plan->self, COMMAND_BYTES);
    struct bytes key = argument(plan, 1);
    size_t own_bytes = 0;
    uint32_t shard;

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
    shard = cluster_shard(cluster, command->hash);
    if (shard == plan->worker->number)
        store_look_ahead(plan->worker->store, &plan->worker->ahead,
                         command->hash);
    rgm_request_to(&command->request, cluster->shards[shard]);
    return command;
}

static void
make_keyed(struct plan *plan, const struct verb *verb)
{
    (void)command_make(plan, verb, (struct bytes){NULL, 0});
}

/* INCR, DECR. */
static void
make_increment(struct plan *plan, const struct verb *verb)
{
    struct command *command = command_make(plan, verb, (struct bytes){NULL, 0});

    if (command != NULL)
        command->number = verb->name[0] == 'd' ? -1 : 1;
}

/* INCRBY, DECRBY. */
static void
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

static void
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

static void
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
static void
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

static void
group_address(struct plan *plan, struct group *group, uint64_t shards)
{
    const struct cluster *cluster = plan->worker->cluster;
    bool one = (shards & (shards - 1)) == 0;

    group->shards = shards;
    rgm_request_to(&group->request,
                   one ? cluster->shards[__builtin_ctzll(shards)]
                       : cluster->sequencer);
}

/* `step` arguments to an item: its key, and for 2 its value. */
static void
make_items(struct plan *plan, const struct verb *verb, uint32_t step)
{
    const struct cluster *cluster = plan->worker->cluster;
    uint32_t count = (arguments_count(plan) - 1) / step;
    struct group *group = group_make(plan, verb->operation, count);
    size_t own_bytes = 0;
    uint64_t shards = 0;

    if (group == NULL)
        return;
    group->view = resp_hold(plan->resp, &own_bytes);
    group->own_bytes = (uint32_t)own_bytes;
    for (uint32_t i = 0; i < count; i++) {
        struct bytes key = argument(plan, 1 + i * step);
        uint64_t hash = store_hash(key);

        group->items[i] = (struct item){
            .hash = hash,
            .key = key,
            .shard = cluster_shard(cluster, hash),
        };
        if (step == 2)
            group->items[i].value = argument(plan, 2 + i * step);
        shards |= UINT64_C(1) << group->items[i].shard;
    }
    group_address(plan, group, shards);
}

static void
make_mget(struct plan *plan, const struct verb *verb)
{
    make_items(plan, verb, 1);
}

static void
make_mset(struct plan *plan, const struct verb *verb)
{
    if (arguments_count(plan) % 2 == 0)
        raw_bad_arity(plan, verb->name);
    else
        make_items(plan, verb, 2);
}

/* DEL and EXISTS: of one key as a rule. */
static void
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

static void
make_all(struct plan *plan, const struct verb *verb)
{
    struct group *group = group_make(plan, verb->operation, 0);

    if (group != NULL)
        group_address(plan, group, cluster_all(plan->worker->cluster));
}

static void
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

static void
make_info(struct plan *plan, const struct verb *verb)
{
    uint8_t sections = arguments_count(plan) == 1 ? INFO_ALL : 0;

    for (uint32_t i = 1; i < arguments_count(plan); i++)
        sections |= info_section(argument(plan, i));
    make_all(plan, verb);
    if (plan->kind == PLAN_GROUP)
        plan->group->flags = sections;
}

/* ---------------------------------------------------------- of the connection */

static void
make_ping(struct plan *plan, const struct verb *verb)
{
    if (arguments_count(plan) == 1) {
        raw_text(plan, "+PONG\r\n");
    } else if (arguments_count(plan) == 2) {
        plan->kind = PLAN_ECHO;
        plan->echo = argument(plan, 1);
    } else {
        raw_bad_arity(plan, verb->name);
    }
}

static void
make_echo(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    plan->kind = PLAN_ECHO;
    plan->echo = argument(plan, 1);
}

static void
make_select(struct plan *plan, const struct verb *verb)
{
    int64_t number = 0;

    (void)verb;
    if (!bytes_to_number(argument(plan, 1), &number))
        raw_not_an_integer(plan);
    else if (number != 0)
        raw_text(plan, "-ERR DB index is out of range\r\n");
    else
        raw_ok(plan);
}

static void
make_quit(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    raw_ok(plan);
    plan->kind = PLAN_QUIT;
}

static void
make_reset(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    raw_text(plan, "+RESET\r\n");
}

static void
make_hello(struct plan *plan, const struct verb *verb)
{
    int64_t version = 2;

    (void)verb;
    if (arguments_count(plan) > 1 &&
        (!bytes_to_number(argument(plan, 1), &version) || version != 2)) {
        raw_text(plan, "-NOPROTO unsupported protocol version\r\n");
        return;
    }
    plan->raw_bytes = (size_t)snprintf(
        plan->raw, sizeof(plan->raw),
        "*14\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$%zu\r\n%s\r\n"
        "$5\r\nproto\r\n:2\r\n$2\r\nid\r\n:%llu\r\n$4\r\nmode\r\n"
        "$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
        "$7\r\nmodules\r\n*0\r\n",
        sizeof(INFO_REDIS_VERSION) - 1, INFO_REDIS_VERSION,
        (unsigned long long)plan->id);
    plan->kind = PLAN_RAW;
}

static bool
is_plain_name(struct bytes name)
{
    for (size_t i = 0; i < name.length_bytes; i++)
        if (name.data[i] < '!' || name.data[i] > '~')
            return false;
    return true;
}

static void
make_client(struct plan *plan, const struct verb *verb)
{
    struct bytes what = argument(plan, 1);
    uint32_t count = arguments_count(plan);

    (void)verb;
    if (bytes_is(what, "id") && count == 2)
        raw_number(plan, plan->id);
    else if (bytes_is(what, "getname") && count == 2)
        raw_text(plan, "$-1\r\n");
    else if (bytes_is(what, "setname") && count == 3 &&
             !is_plain_name(argument(plan, 2)))
        raw_text(plan, "-ERR Client names cannot contain spaces, newlines or "
                       "special characters.\r\n");
    else if ((bytes_is(what, "setname") && count == 3) ||
             (bytes_is(what, "setinfo") && count == 4))
        raw_ok(plan);
    else if (bytes_is(what, "id"))
        raw_bad_arity(plan, "client|id");
    else if (bytes_is(what, "getname"))
        raw_bad_arity(plan, "client|getname");
    else if (bytes_is(what, "setname"))
        raw_bad_arity(plan, "client|setname");
    else
        raw_bad_subcommand(plan, "CLIENT");
}

/* What CONFIG GET knows. */
static const struct {
    const char *name;
    const char *value;
} settings[] = {
    {"appendonly", "no"}, {"databases", "1"},
    {"maxmemory", "0"},   {"proto-max-bulk-len", "536870912"},
    {"save", ""},         {"timeout", "0"},
};
#define SETTINGS_COUNT (sizeof(settings) / sizeof(settings[0]))

static void
make_config_get(struct plan *plan)
{
    char found[PLAN_RAW_MAX / 2];
    size_t length = 0;
    int count = 0;

    found[0] = '\0';
    for (size_t at = 0; at < SETTINGS_COUNT; at++) {
        bool wanted = false;

        for (uint32_t i = 2; i < arguments_count(plan); i++)
            wanted = wanted || bytes_is(argument(plan, i), "*") ||
                     bytes_is(argument(plan, i), settings[at].name);
        if (!wanted)
            continue;
        length += (size_t)snprintf(
            found + length, sizeof(found) - length,
            "$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(settings[at].name),
            settings[at].name, strlen(settings[at].value), settings[at].value);
        count += 2;
    }
    plan->raw_bytes = (size_t)snprintf(plan->raw, sizeof(plan->raw),
                                       "*%d\r\n%s", count, found);
    plan->kind = PLAN_RAW;
}

static void
make_config(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    if (bytes_is(argument(plan, 1), "resetstat"))
        raw_ok(plan);
    else if (!bytes_is(argument(plan, 1), "get"))
        raw_bad_subcommand(plan, "CONFIG");
    else if (arguments_count(plan) < 3)
        raw_bad_arity(plan, "config|get");
    else
        make_config_get(plan);
}

static size_t verbs_count(void);

static void
make_command(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    if (arguments_count(plan) == 1 || bytes_is(argument(plan, 1), "docs") ||
        bytes_is(argument(plan, 1), "info") ||
        bytes_is(argument(plan, 1), "list"))
        raw_text(plan, "*0\r\n");
    else if (bytes_is(argument(plan, 1), "count"))
        raw_number(plan, verbs_count());
    else
        raw_bad_subcommand(plan, "COMMAND");
}

/* ------------------------------------------------------------------- the names */

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

static size_t
verbs_count(void)
{
    return VERBS_COUNT;
}

/* A name as two words, lower case. Setting the bit makes letters lower and
 * nothing else a letter. */
struct name {
    uint64_t words[2];
};

static struct name
name_of(struct bytes bytes)
{
    const uint64_t lower = UINT64_C(0x2020202020202020);
    struct name name = {{0, 0}};
    struct name mask = {{0, 0}};

    memcpy(&name, bytes.data, bytes.length_bytes);
    memset(&mask, 0xff, bytes.length_bytes);
    name.words[0] |= lower & mask.words[0];
    name.words[1] |= lower & mask.words[1];
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

void
plan_make(struct plan *plan)
{
    const struct verb *verb = verb_find(argument(plan, 0));
    int count = (int)arguments_count(plan);

    if (verb == NULL)
        raw_unknown(plan);
    else if (verb->arity > 0 ? count != verb->arity : count < -verb->arity)
        raw_bad_arity(plan, verb->name);
    else
        verb->make(plan, verb);
}
