/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_SERVER_H
#define STATIC_HTTP_SERVER_H

/*
 * server.h - what all connections have in common: limits, and per worker the
 * directory, the files that are known and the output buffers that are free.
 *
 * A struct site belongs to one worker; only that worker's actors touch it.
 */

#include <ringmail/ringmail.h>

struct file_entry;
struct output;
struct request;

struct limits {
    uint64_t idle_ns;    /* between two requests */
    uint64_t header_ns;  /* from a request's first byte to its header's end */
    uint64_t stall_ns;   /* in which a client takes something of an answer */
    uint64_t fresh_ns;   /* in which a file is not looked at again */
    size_t cached_bytes; /* files up to this are kept in memory, */
    size_t cache_bytes;  /* so much of them per worker */
    uint32_t cache_files; /* files known per worker, each with a descriptor */
};

#define LIMIT_HEADER_BYTES 8192       /* of a request; more: 431 */
#define LIMIT_TARGET_BYTES 2048       /* of its target; more: 414 */
#define LIMIT_BODY_BYTES 65536        /* that it may bring; more: 413 */
#define LIMIT_LINGER_NS RGM_NS_PER_S  /* for a peer to take the last answer */
#define LIMIT_PIECE_BYTES (1u << 20)  /* of a large file, sent at once */

#define RECENT_TARGET_BYTES 64 /* longer ones are looked up each time */

struct site {
    _Alignas(64) struct rgm_file root;
    struct rgm_pool *pool;
    struct file_entry *files;  /* by path; used longest ago first */
    struct file_entry *recent; /* NULL, or the listed one that was found last, */
    uint32_t recent_bytes;     /* by this target */
    char recent_target[RECENT_TARGET_BYTES];
    uint32_t files_count;
    size_t files_bytes;        /* of those in memory */
    struct output *outputs; /* unused ones */
    uint32_t outputs_count;
    struct request *requests; /* likewise */
    uint32_t requests_count;
    uint64_t date_until_ns;
    char date[64]; /* "Date: ...\r\n" */
    uint32_t date_bytes;
};

struct server {
    struct limits limits;
    struct rgm_pool *pool;
    struct site *sites; /* one per worker */
};

extern struct server server;

/* The Date field as of now. */
void site_date(struct site *site, uint64_t now_ns);

#endif /* STATIC_HTTP_SERVER_H */
