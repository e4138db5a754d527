/* SPDX-License-Identifier: MIT */
#ifndef KV_CLUSTER_H
#define KV_CLUSTER_H

/*
 * cluster.h - who is there, and what do the actors of one worker share?
 *
 *     key --hash--> slot --> worker --> its shard        <ringmail/shards.h>
 *
 * struct cluster is written before the first connection and constant from then
 * on. Each struct kv_worker is touched by the actors of that worker alone;
 * struct roster by those of worker 0.
 *
 * When the server stops, who goes last? Connections finish what they have and
 * go; the acceptor of a worker goes when its last connection has (`emptied`);
 * the server hears from each acceptor (`retired`) and then stops those that
 * were asked until then: the shards and the sequencer.
 *
 * When only a worker goes, its connections and its listener go elsewhere:
 * shrink.c.
 */

#include <ringmail/detach.h>
#include <ringmail/runtime.h>
#include <ringmail/shards.h>
#include <ringmail/stream.h>

#include "samples/kv/bytes.h"
#include "samples/kv/store.h"

struct flight;
struct shard;

/* A connection to its worker's shard: the last group that had gone directly to
 * one shard is home. */
struct drained {
    struct rgm_request request;
};
RGM_REQUEST(drained);

/* The limits, with their defaults; 0 in an option means the default. */
struct limits {
    uint32_t pipeline;     /* commands of a connection that are out */
    uint32_t bulk_bytes;   /* of one bulk string */
    uint32_t output_bytes; /* replies not yet written: then no more commands */
    uint64_t grace_ns;     /* for replies to be written when stopping */
};
#define LIMIT_PIPELINE 1024
#define LIMIT_OUTPUT_BYTES (1024 * 1024)
#define LIMIT_GRACE_NS (5 * RGM_NS_PER_S)

/* The pool of a worker: what its connections read into. Each of these may hold
 * a slot: a read that has data, a command that is out and points into what was
 * read, and the rest of what was read while such commands are out. */
#define POOL_SLOT_BYTES 16384
#define POOL_SLOTS 256

/* What the actors of one worker share. Its own cache lines. */
struct kv_worker {
    _Alignas(64) const struct cluster *cluster;
    struct rgm_pool *pool;
    struct rgm_address acceptor;
    struct shard *shard;       /* what it has: shard.h */
    struct rgm_shard *slots;   /* the shard's: whom to ask */
    const struct store *store; /* likewise; to look ahead in, no more */
    struct store_ahead ahead;
    /* Groups of keys that one shard has may go to it directly, except while
     * slots move. Of shard.c and connection.c. */
    bool direct;
    bool gated; /* the shard waits for those that are out */
    uint32_t direct_out;
    struct drained drained;
    uint32_t owners_count;  /* workers that own keys, as far as is known */
    uint32_t members_count; /* and all */
    /* Of connection.c and acceptor.c. */
    uint32_t connections_count;
    uint32_t listeners_count;
    bool retiring; /* the acceptor waits for the last of both */
    /* It is to retire: where its connections go, in turn. */
    bool leaving;
    uint32_t refuges_count;
    uint32_t refuge_turn;
    const struct rgm_address *refuges; /* shards, for their acceptors */
    /* Of output.c: flights that are not in use. */
    struct flight *flights;
    uint32_t flights_count;
    uint32_t number;
    uint64_t connections_total; /* for their numbers */
    /* Counted here, and at workers that have gone. */
    uint64_t commands_total;
    uint64_t received_total; /* connections */
    uint64_t expired_total;  /* of shard.c */
    uint64_t moved_total;
    uint64_t longest_hold_ns;
};

/* Who is there: worker i has the shard shards[i]. Worker 0's alone. */
struct roster {
    uint32_t members_count;
    uint32_t acceptors_count; /* fewer only while workers come and go */
    struct rgm_address shards[RGM_WORKERS_MAX];
};

struct cluster {
    struct rgm_endpoint endpoint; /* where it listens */
    struct limits limits;
    uint64_t started_ns;
    const char *provider;
    struct rgm_address sequencer;
    struct rgm_address manager;
    struct rgm_address server;
    struct roster *roster;
    struct kv_worker *workers; /* RGM_WORKERS_MAX of them */
};

/* A connection, or a spare acceptor, to its worker's acceptor: the last one of
 * the worker has closed, or is elsewhere. */
struct emptied {
    struct rgm_request request;
};
RGM_REQUEST(emptied);

/* An acceptor to the server: its worker has no connections any more, since the
 * server stops; or, having left, since the worker goes, and to the manager, too. */
struct retired {
    struct rgm_request request;
    bool left;
};
RGM_REQUEST(retired);

/* The manager to an acceptor, by way of its shard: give up the listener. With
 * refuges, the worker's connections are to go there as soon as it retires. */
struct evacuate {
    struct rgm_request request;
    struct rgm_detached listener; /* when home with 0 */
    const struct rgm_address *refuges;
    uint32_t refuges_count;
};
RGM_REQUEST_LATE(evacuate);

/* A connection to an acceptor elsewhere, by way of its shard: go on where I have
 * stopped. Until it is home the connection's memory is the acceptor's. */
struct handover {
    struct rgm_request request;
    struct rgm_detached detached;
    void *connection;
};
RGM_REQUEST(handover);

#endif /* KV_CLUSTER_H */
