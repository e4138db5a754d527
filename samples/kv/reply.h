/* SPDX-License-Identifier: MIT */
#ifndef KV_REPLY_H
#define KV_REPLY_H

/*
 * reply.h - an answer, as RESP2 says it.
 *
 * Each moves what it needs out of the record (views), which can be given back
 * after that. Thread: owner.
 */

#include "samples/kv/command.h"
#include "samples/kv/output.h"

/* `status`: how it went, which is in the record only if it was asked. */
void reply_command(struct output *output, struct kv_worker *worker,
                   struct command *command, int status);
void reply_group(struct output *output, struct kv_worker *worker,
                 struct group *group, uint64_t now_ns);
void
reply_bulk(struct output *output, struct kv_worker *worker, struct bytes bytes);

#endif /* KV_REPLY_H */
