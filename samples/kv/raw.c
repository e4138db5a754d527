/* SPDX-License-Identifier: MIT */

/*
 * raw.c - how is an answer said that needs nobody else?
 */

#include <stdarg.h>
#include <stdio.h>

#include "samples/kv/verbs.h"

void
raw_text(struct plan *plan, const char *text)
{
    size_t length = strlen(text);

    memcpy(plan->raw, text, length);
    plan->raw_bytes = length;
    plan->kind = PLAN_RAW;
}

/* An error line: what would end the line is left out at its end, and else becomes
 * a blank. */
void
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
    while (end > 0 &&
           (plan->raw[end - 1] == '\r' || plan->raw[end - 1] == '\n'))
        end--;
    for (size_t i = 0; i < end; i++)
        if (plan->raw[i] == '\r' || plan->raw[i] == '\n')
            plan->raw[i] = ' ';
    memcpy(plan->raw + end, "\r\n", 2);
    plan->raw_bytes = end + 2;
    plan->kind = PLAN_RAW;
}

void
raw_number(struct plan *plan, uint64_t number)
{
    int length = snprintf(plan->raw, sizeof(plan->raw), ":%llu\r\n",
                          (unsigned long long)number);

    plan->raw_bytes = (size_t)length;
    plan->kind = PLAN_RAW;
}

void
raw_ok(struct plan *plan)
{
    raw_text(plan, "+OK\r\n");
}

void
raw_syntax_error(struct plan *plan)
{
    raw_text(plan, "-ERR syntax error\r\n");
}

void
raw_not_an_integer(struct plan *plan)
{
    raw_text(plan, "-ERR value is not an integer or out of range\r\n");
}

void
raw_bad_expire(struct plan *plan, const struct verb *verb)
{
    raw_error(plan, "-ERR invalid expire time in '%s' command", verb->name);
}

/* `command`: also "config|get". */
void
raw_bad_arity(struct plan *plan, const char *command)
{
    raw_error(plan, "-ERR wrong number of arguments for '%s' command", command);
}

void
raw_bad_subcommand(struct plan *plan, const char *upper)
{
    struct bytes name = argument(plan, 1);
    int length = name.length_bytes > 128 ? 128 : (int)name.length_bytes;

    raw_error(plan, "-ERR unknown subcommand '%.*s'. Try %s HELP.", length,
              name.data, upper);
}
