/* SPDX-License-Identifier: MIT */
#ifndef KV_COMMANDS_H
#define KV_COMMANDS_H

/*
 * commands.h - what is to be done about a command that was parsed?
 *
 *     struct plan plan = {.self = ..., .worker = ..., .resp = ..., .id = ...};
 *
 *     plan_make(&plan);       // looks the name up, checks the arguments
 *     switch (plan.kind) ...
 */

#include "samples/kv/cluster.h"
#include "samples/kv/command.h"
#include "samples/kv/resp.h"

enum plan_kind {
    PLAN_RAW,     /* answer with raw[] */
    PLAN_ECHO,    /* answer with echo, as a bulk string */
    PLAN_COMMAND, /* ask command, which has its address */
    PLAN_GROUP,   /* ask group, likewise */
    PLAN_QUIT,    /* answer with raw[], then close */
    PLAN_FAILED   /* there is no memory to say anything */
};

#define PLAN_RAW_MAX 1024

struct plan {
    /* Given. */
    struct rgm_actor *self;
    struct kv_worker *worker;
    const struct resp *resp; /* with a command found */
    uint64_t id;             /* of the connection */
    bool resp3;              /* it speaks that; the command may change it */
    /* Made. The command or group is the caller's. */
    enum plan_kind kind;
    struct command *command;
    struct group *group;
    struct bytes echo;
    size_t raw_bytes;
    char raw[PLAN_RAW_MAX];
};

/* Make the table of names. Thread: setup. */
void plan_setup(void);

/* Thread: owner. */
void plan_make(struct plan *plan);

#endif /* KV_COMMANDS_H */
