/* SPDX-License-Identifier: MIT */
#ifndef KV_INFO_H
#define KV_INFO_H

/* info.h - what does INFO say? */

#include "samples/kv/cluster.h"
#include "samples/kv/command.h"

/* Clients look at it to learn what they may ask for. */
#define INFO_REDIS_VERSION "7.0.0"

enum {
    INFO_SERVER = 1,
    INFO_CLIENTS = 2,
    INFO_MEMORY = 4,
    INFO_STATS = 8,
    INFO_KEYSPACE = 16,
    INFO_ALL = 31
};

#define INFO_BYTES_MAX 4096

/* The bit of a section's name; 0 for one we do not have. Thread: any. */
uint8_t info_section(struct bytes name);

/* Write the sections, from the sums of all shards. Returns the length. */
size_t info_write(const struct kv_worker *worker, uint64_t now_ns,
                  const uint64_t *sums, uint8_t sections, char *ret_text,
                  size_t size_bytes);

#endif /* KV_INFO_H */
