/* SPDX-License-Identifier: MIT */
#ifndef KV_COMMAND_H
#define KV_COMMAND_H

/*
 * command.h - what travels from a connection to the keys, and back?
 *
 *     struct command   one key: to the shard that owns it
 *     struct group     several keys, or all: to the one shard that owns them
 *                      all, or to the sequencer, which asks those that do
 *     struct part      the sequencer's, to one of those shards: several groups
 *     struct pause     the manager's, to the sequencer: slots are to move
 *     struct gate      the manager's, to every shard: slots begin to move, or
 *                      have moved
 *
 * Each is a request and comes home with its answer in it. Short keys and values
 * are copied into the record; longer ones stay where they arrived and the
 * record holds a view of that.
 */

#include <ringmail/lease.h>
#include <ringmail/shards.h>

#include "samples/kv/bytes.h"
#include "samples/kv/store.h"

enum operation {
    OP_RAW,  /* the reply is known already; reaches no shard */
    OP_QUIT, /* likewise */
    /* of one key */
    OP_GET,
    OP_SET,
    OP_DELETE,
    OP_EXISTS,
    OP_ADD,
    OP_APPEND,
    OP_LENGTH,
    OP_EXPIRE,
    OP_TTL,
    OP_PTTL,
    OP_PERSIST,
    OP_TYPE,
    /* of several */
    OP_MGET,
    OP_MSET,
    OP_MDELETE,
    OP_MEXISTS,
    /* of all */
    OP_COUNT,
    OP_FLUSH,
    OP_INFO,
    /* of none: the manager's */
    OP_WORKERS
};

/* Conditions and options of a command. */
enum {
    COMMAND_NX = 1,
    COMMAND_XX = 2,
    COMMAND_GT = 4,
    COMMAND_LT = 8,
    COMMAND_GET = 16, /* answer with the old value */
    COMMAND_KEEP_TTL = 32,
    COMMAND_TTL = 64 /* ttl_ms is set */
};

enum reply_kind {
    REPLY_NIL,
    REPLY_OK,     /* the status of most */
    REPLY_TEXT,   /* text: a status */
    REPLY_ERROR,  /* text */
    REPLY_NUMBER, /* number */
    REPLY_BYTES,  /* value: a bulk string in `bytes` */
    REPLY_VIEW,   /* view: a bulk string */
    REPLY_RAW     /* value: as it is */
};

/* Room for a short key and value, or a short value as the reply. */
#define COMMAND_BYTES STORE_SMALL_MAX

struct command {
    struct rgm_request request;
    uint64_t hash; /* first: see RGM_SHARDED */
    struct bytes key;
    struct bytes value; /* to set; in the reply of REPLY_BYTES, REPLY_RAW */
    int64_t number;     /* to add; the reply of REPLY_NUMBER; with REPLY_RAW: is
                         * what follows said in RESP3? */
    int64_t ttl_ms;
    const char *text;     /* the reply of REPLY_TEXT, REPLY_ERROR */
    struct rgm_view view; /* keeps key and value; the reply of REPLY_VIEW */
    uint32_t own_bytes;   /* see struct store_value */
    uint8_t operation;    /* enum operation */
    uint8_t flags;
    uint8_t reply; /* enum reply_kind */
    char bytes[];  /* COMMAND_BYTES, or what a raw reply needs */
};
RGM_REQUEST(command);
RGM_SHARDED(command);

/* One key of a group. */
struct item {
    uint64_t hash;
    struct bytes key;
    struct bytes value;   /* to set; what MGET found, unless missing */
    struct rgm_view view; /* what keeps the value found, here or in an
                           * earlier item of the same shard */
    uint32_t shard;
    bool found;
};

/* What a shard adds to. */
enum {
    SUM_DONE, /* keys deleted, existing, present */
    SUM_EXPIRES,
    SUM_EXPIRED,
    SUM_CONNECTIONS,
    SUM_RECEIVED, /* connections, ever */
    SUM_COMMANDS,
    SUM_SLOTS_MOVED,
    SUM_HELD_NS, /* the longest: not added */
    SUMS_COUNT
};

struct group {
    struct rgm_request request;
    uint8_t operation;
    uint8_t flags;
    bool sequenced; /* asked of the sequencer (or manager), not of a shard */
    uint32_t items_count;
    uint32_t workers; /* OP_WORKERS: how many are wanted */
    uint32_t own_bytes;
    uint64_t shards; /* bit i: shard i takes part */
    uint64_t sums[SUMS_COUNT];
    struct rgm_view view; /* keeps the keys and values */
    struct item items[];
};
RGM_REQUEST(group);

/* Frees what came back in it; the record itself is given back after that. */
static inline void
group_clear(struct group *group)
{
    for (uint32_t i = 0; i < group->items_count; i++)
        rgm_view_drop(&group->items[i].view);
    rgm_view_drop(&group->view);
}

/*
 * A part is asked twice: to hold the shard, answered when no other part holds
 * it, and to carry out (or not) what is the shard's in each of the groups, in
 * order, and let go. The groups are the sequencer's meanwhile; a shard touches
 * its own items of them and no others, and its own outcomes.
 *
 * Answered late: a lane of its own, so that letting go never waits behind
 * commands that wait for it.
 */
enum part_phase { PART_HOLD, PART_RUN, PART_SKIP };

struct outcome {
    uint64_t sums[SUMS_COUNT];
    int status;
};

struct part {
    struct rgm_request request;
    struct group *const *groups;
    struct outcome *outcomes; /* one per group */
    uint32_t groups_count;
    uint32_t phase;
};
RGM_REQUEST_LATE(part);

/* Asked twice, as a part: answered when no batch is in progress, and none is
 * begun until it comes again. */
struct pause {
    struct rgm_request request;
    bool over;
};
RGM_REQUEST_LATE(pause);

/* While it is shut, groups of several keys go by the sequencer. Answered when
 * no other is out. */
struct gate {
    struct rgm_request request;
    bool shut;
    uint32_t owners_count;
    uint32_t members_count;
};
RGM_REQUEST_LATE(gate);

/*
 * Carry out on one store. Afterwards the record holds the reply, and no view
 * but a REPLY_VIEW's. Returns 0, or -ENOMEM and the store is as before.
 */
RGM_MUST_USE int
execute_command(struct store *store, struct command *command, uint64_t now_ms);

/* The same for those items of the group that are this shard's. sums[] is added
 * to. After -ENOMEM some items may be done and others not. */
RGM_MUST_USE int execute_group(struct store *store, struct group *group,
                               uint32_t shard, uint64_t now_ms, uint64_t *sums);

#endif /* KV_COMMAND_H */
