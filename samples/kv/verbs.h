/* SPDX-License-Identifier: MIT */
#ifndef KV_VERBS_H
#define KV_VERBS_H

/*
 * verbs.h - for the commands themselves: what each is given, and how it answers
 * at once when it can. Thread: owner, for all of it.
 */

#include "samples/kv/commands.h"

struct verb {
    const char *name;
    int arity; /* arguments, the name included; negative: at least so many */
    uint8_t operation; /* enum operation */
    void (*make)(struct plan *plan, const struct verb *verb);
};

size_t verbs_count(void);

static inline struct bytes
argument(const struct plan *plan, uint32_t index)
{
    return resp_argument(plan->resp, index);
}

static inline uint32_t
arguments_count(const struct plan *plan)
{
    return plan->resp->arguments_count;
}

/* Answers that are known already: raw.c. */
void raw_text(struct plan *plan, const char *text);
/* An error line: what would end the line becomes a blank. */
__attribute__((format(printf, 2, 3))) void
raw_error(struct plan *plan, const char *format, ...);
void raw_number(struct plan *plan, uint64_t number);
void raw_ok(struct plan *plan);
void raw_syntax_error(struct plan *plan);
void raw_not_an_integer(struct plan *plan);
void raw_bad_expire(struct plan *plan, const struct verb *verb);
/* `command`: also "config|get". */
void raw_bad_arity(struct plan *plan, const char *command);
void raw_bad_subcommand(struct plan *plan, const char *upper);

/* The commands: commands_keys.c, commands_connection.c. */
void make_keyed(struct plan *plan, const struct verb *verb);
void make_increment(struct plan *plan, const struct verb *verb);
void make_add(struct plan *plan, const struct verb *verb);
void make_append(struct plan *plan, const struct verb *verb);
void make_set(struct plan *plan, const struct verb *verb);
void make_expire(struct plan *plan, const struct verb *verb);
void make_mget(struct plan *plan, const struct verb *verb);
void make_mset(struct plan *plan, const struct verb *verb);
void make_one_or_more(struct plan *plan, const struct verb *verb);
void make_all(struct plan *plan, const struct verb *verb);
void make_flush(struct plan *plan, const struct verb *verb);
void make_info(struct plan *plan, const struct verb *verb);
void make_workers(struct plan *plan, uint32_t workers_count);
void make_ping(struct plan *plan, const struct verb *verb);
void make_echo(struct plan *plan, const struct verb *verb);
void make_select(struct plan *plan, const struct verb *verb);
void make_quit(struct plan *plan, const struct verb *verb);
void make_reset(struct plan *plan, const struct verb *verb);
void make_hello(struct plan *plan, const struct verb *verb);
void make_client(struct plan *plan, const struct verb *verb);
void make_config(struct plan *plan, const struct verb *verb);
void make_command(struct plan *plan, const struct verb *verb);

#endif /* KV_VERBS_H */
