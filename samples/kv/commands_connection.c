/* SPDX-License-Identifier: MIT */

/*
 * commands_connection.c - which commands can be answered without any key?
 */

#include <stdio.h>

#include "samples/kv/info.h"
#include "samples/kv/verbs.h"

void
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

void
make_echo(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    plan->kind = PLAN_ECHO;
    plan->echo = argument(plan, 1);
}

void
make_select(struct plan *plan, const struct verb *verb)
{
    int64_t number = 0;

    (void)verb;
    if (!bytes_to_number(argument(plan, 1), &number))
        raw_not_an_integer(plan);
    else if (number < INT32_MIN || number > INT32_MAX)
        raw_text(plan, "-ERR value is out of range, value must between "
                       "-2147483648 and 2147483647\r\n");
    else if (number != 0)
        raw_text(plan, "-ERR DB index is out of range\r\n");
    else
        raw_ok(plan);
}

void
make_quit(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    raw_ok(plan);
    plan->kind = PLAN_QUIT;
}

void
make_reset(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    raw_text(plan, "+RESET\r\n");
    plan->resp3 = false;
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
raw_bad_name(struct plan *plan)
{
    raw_text(plan, "-ERR Client names cannot contain spaces, newlines or "
                   "special characters.\r\n");
}

/* There is one user, who has no password. Returns false, and the plan says why. */
static bool
hello_options(struct plan *plan)
{
    uint32_t count = arguments_count(plan);

    for (uint32_t i = 2; i < count; i++) {
        struct bytes word = argument(plan, i);

        if (bytes_is(word, "auth") && i + 2 < count) {
            if (!bytes_is(argument(plan, i + 1), "default")) {
                raw_text(plan, "-WRONGPASS invalid username-password pair or "
                               "user is disabled.\r\n");
                return false;
            }
            i += 2;
        } else if (bytes_is(word, "setname") && i + 1 < count) {
            if (!is_plain_name(argument(plan, ++i))) {
                raw_bad_name(plan);
                return false;
            }
        } else {
            raw_error(plan, "-ERR Syntax error in HELLO option '%.*s'",
                      word.length_bytes > 128 ? 128 : (int)word.length_bytes,
                      word.data);
            return false;
        }
    }
    return true;
}

void
make_hello(struct plan *plan, const struct verb *verb)
{
    int64_t version = plan->resp3 ? 3 : 2;

    (void)verb;
    if (arguments_count(plan) > 1 &&
        !bytes_to_number(argument(plan, 1), &version)) {
        raw_text(plan, "-ERR Protocol version is not an integer or out of "
                       "range\r\n");
        return;
    }
    if (version < 2 || version > 3) {
        raw_text(plan, "-NOPROTO unsupported protocol version\r\n");
        return;
    }
    if (!hello_options(plan))
        return;
    plan->resp3 = version == 3;
    plan->raw_bytes = (size_t)snprintf(
        plan->raw, sizeof(plan->raw),
        "%s\r\n$6\r\nserver\r\n$5\r\nredis\r\n$7\r\nversion\r\n$%zu\r\n%s\r\n"
        "$5\r\nproto\r\n:%d\r\n$2\r\nid\r\n:%llu\r\n$4\r\nmode\r\n"
        "$10\r\nstandalone\r\n$4\r\nrole\r\n$6\r\nmaster\r\n"
        "$7\r\nmodules\r\n*0\r\n",
        plan->resp3 ? "%7" : "*14", sizeof(INFO_REDIS_VERSION) - 1,
        INFO_REDIS_VERSION, (int)version, (unsigned long long)plan->id);
    plan->kind = PLAN_RAW;
}

void
make_client(struct plan *plan, const struct verb *verb)
{
    struct bytes what = argument(plan, 1);
    uint32_t count = arguments_count(plan);

    (void)verb;
    if (bytes_is(what, "id") && count == 2)
        raw_number(plan, plan->id);
    else if (bytes_is(what, "getname") && count == 2)
        raw_text(plan, plan->resp3 ? "_\r\n" : "$-1\r\n");
    else if (bytes_is(what, "setname") && count == 3 &&
             !is_plain_name(argument(plan, 2)))
        raw_bad_name(plan);
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

struct found {
    char text[PLAN_RAW_MAX / 2];
    size_t length;
    int count;
};

static void
found_add(struct plan *plan, struct found *found, const char *name,
          const char *value)
{
    bool wanted = false;

    for (uint32_t i = 2; i < arguments_count(plan); i++)
        wanted = wanted || bytes_is(argument(plan, i), "*") ||
                 bytes_is(argument(plan, i), name);
    if (!wanted)
        return;
    found->length += (size_t)snprintf(found->text + found->length,
                                      sizeof(found->text) - found->length,
                                      "$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                                      strlen(name), name, strlen(value), value);
    found->count++;
}

static void
make_config_get(struct plan *plan)
{
    struct found found = {.text = ""};
    char workers[16];

    for (size_t at = 0; at < SETTINGS_COUNT; at++)
        found_add(plan, &found, settings[at].name, settings[at].value);
    snprintf(workers, sizeof(workers), "%u", plan->worker->owners_count);
    found_add(plan, &found, "workers", workers);
    plan->raw_bytes =
        plan->resp3
            ? (size_t)snprintf(plan->raw, sizeof(plan->raw), "%%%d\r\n%s",
                               found.count, found.text)
            : (size_t)snprintf(plan->raw, sizeof(plan->raw), "*%d\r\n%s",
                               2 * found.count, found.text);
    plan->kind = PLAN_RAW;
}

/* Of what there is only the number of workers can be changed. */
static void
make_config_set(struct plan *plan)
{
    struct bytes name = argument(plan, 2);
    int64_t count = 0;

    if (arguments_count(plan) != 4 || !bytes_is(name, "workers"))
        raw_error(plan,
                  "-ERR Unknown option or number of arguments for CONFIG SET - "
                  "'%.*s'",
                  name.length_bytes > 128 ? 128 : (int)name.length_bytes,
                  name.data);
    else if (!bytes_to_number(argument(plan, 3), &count) || count < 1 ||
             count > RGM_WORKERS_MAX)
        raw_error(plan,
                  "-ERR CONFIG SET failed (possibly related to argument "
                  "'workers') - argument must be between 1 and %d inclusive",
                  RGM_WORKERS_MAX);
    else
        make_workers(plan, (uint32_t)count);
}

void
make_config(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    if (bytes_is(argument(plan, 1), "resetstat") && arguments_count(plan) == 2)
        raw_ok(plan);
    else if (bytes_is(argument(plan, 1), "resetstat"))
        raw_bad_arity(plan, "config|resetstat");
    else if (bytes_is(argument(plan, 1), "set") && arguments_count(plan) > 3)
        make_config_set(plan);
    else if (bytes_is(argument(plan, 1), "set"))
        raw_bad_arity(plan, "config|set");
    else if (!bytes_is(argument(plan, 1), "get"))
        raw_bad_subcommand(plan, "CONFIG");
    else if (arguments_count(plan) < 3)
        raw_bad_arity(plan, "config|get");
    else
        make_config_get(plan);
}

void
make_command(struct plan *plan, const struct verb *verb)
{
    (void)verb;
    if (arguments_count(plan) > 1 && bytes_is(argument(plan, 1), "docs"))
        raw_text(plan, plan->resp3 ? "%0\r\n" : "*0\r\n");
    else if (arguments_count(plan) == 1 ||
             bytes_is(argument(plan, 1), "info") ||
             bytes_is(argument(plan, 1), "list"))
        raw_text(plan, "*0\r\n");
    else if (bytes_is(argument(plan, 1), "count") && arguments_count(plan) > 2)
        raw_bad_arity(plan, "command|count");
    else if (bytes_is(argument(plan, 1), "count"))
        raw_number(plan, verbs_count());
    else
        raw_bad_subcommand(plan, "COMMAND");
}
