/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_SHARDS_H
#define RGI_ACTORS_SHARDS_H

/*
 * shards.h - what does a worker know of the slots, and of the move in progress?
 *
 * One move at a time: some slots of one old owner to one new owner. So each
 * part that a shard may play in it is there once, and no step of a move needs
 * memory it could fail to get, except to keep a request.
 *
 *     shards.c        asks, admissions: the two roads every request takes
 *     shards_move.c   the move: old owner, new owner, everybody else
 *     shards_deal.c   who gets what: the coordinator
 */

#include <ringmail/clock.h>
#include <ringmail/shards.h>

#include "actors/runtime.h"

/* What a shard has of a slot. */
enum rgi_shard_slot {
    RGI_SLOT_AWAY,     /* nothing: it is where the road leads */
    RGI_SLOT_OWNED,    /* all */
    RGI_SLOT_ARRIVING, /* some: its requests are kept */
    RGI_SLOT_LEAVING   /* nothing any more: its requests are forwarded */
};

/* A road: the worker's number, with this while its slot is on the move. */
#define RGI_ROAD_HELD 0x8000u
#define RGI_ROAD_NONE 0x7fffu

/* What a note says. */
enum rgi_note {
    RGI_NOTE_MEMBERS, /* coordinator to all: who there is; home at once */
    RGI_NOTE_MOVE,    /* coordinator to old owner: home when it has moved */
    RGI_NOTE_NEWS,    /* new owner to all: it is mine; home when heard by all
                       * that is on the old road */
    RGI_NOTE_MARK     /* all to old owner, forwarded: home at once */
};

enum rgi_chunk_phase { RGI_CHUNK_FIRST, RGI_CHUNK_STATE, RGI_CHUNK_LAST };

/* The move in progress: the coordinator's, constant while its note is out.
 * What is told of it later is told by messages that follow that note. */
struct rgi_move {
    uint32_t from; /* workers */
    uint32_t to;
    uint32_t count;
    uint16_t slots[RGM_SHARD_SLOTS_PER_MOVE_MAX];
};

/* Who there is: the coordinator's, constant while a note about it is out. */
struct rgi_deal {
    struct rgm_address members[RGM_WORKERS_MAX];
    const uint16_t *roads;
};

/* Requests kept, in order. */
struct rgi_shard_line {
    struct rgm_token *tokens; /* a ring */
    uint32_t first;
    uint32_t count;
    uint32_t capacity;
};

/* As one of all workers. */
struct rgi_shard_client {
    const struct rgi_move *move; /* NULL: none is known of */
    struct rgi_hold hold;        /* asks of this worker's actors */
    struct rgm_token news;
    struct rgm_shard_note mark;
    uint64_t heard_ns;
};

/* As the old owner. */
struct rgi_shard_giver {
    const struct rgi_move *move;
    struct rgm_token token; /* of the note that ordered it */
    struct rgm_shard_chunk *chunks;
    uint32_t at;      /* in move->slots: being handed out */
    uint32_t out;     /* chunks that are not home */
    uint32_t waiting; /* chunks home with an error, to be asked again */
    int failed;       /* the new owner is gone */
    bool starved;     /* hand_out had an error */
    bool ended;       /* the last chunk is made */
};

/* As the new owner. */
struct rgi_shard_taker {
    const struct rgi_move *move;
    struct rgm_token last; /* the last chunk, once complete */
    bool complete;
    struct rgm_shard_note *news; /* by worker */
    uint32_t news_out;
    uint32_t news_waiting; /* home with an error, to be asked again */
};

/* As the coordinator. */
struct rgi_shard_dealer {
    bool is; /* asked for a reshard before */
    bool busy;
    struct rgm_token token;
    struct rgi_deal told; /* what all members know */
    uint16_t *roads;      /* as of the last move that ended */
    struct rgm_address wanted[RGM_WORKERS_MAX];
    uint64_t newcomers; /* bit per worker: has not been told the map */
    uint64_t owners;    /* bit per worker: gets slots */
    uint32_t owners_count;
    uint32_t moves_left;
    uint32_t moved;
    struct rgm_gather gather;
    struct rgm_request *requests[RGM_WORKERS_MAX];
    struct rgm_shard_note *notes; /* by worker */
    uint32_t notes_out;
    struct rgm_shard_note order;
    struct rgi_move move;
};

struct rgi_shard {
    const struct rgm_shards_options *options;
    uint32_t slots_count;
    uint32_t slots_per_move;
    uint32_t chunks_count;
    struct rgm_address members[RGM_WORKERS_MAX];
    bool joined;
    struct rgi_shard_line kept; /* for a slot that arrives, or is held */
    struct rgi_shard_client client;
    struct rgi_shard_giver giver;
    struct rgi_shard_taker taker;
    struct rgi_shard_dealer dealer;
    struct rgm_sleep retry;
    bool retrying;
    struct rgm_shard_counters counters;
};

/* ---- shards.c ---- */

/* Keep the request being handled, at the end of the line. Returns 0 or
 * -ENOMEM, and it is still to be answered. */
int rgi_shard_keep(struct rgm_actor *self, struct rgm_shard *shard,
                   struct rgm_request *request);
/* The slots are complete: what was kept for them is delivered again, before
 * what came later. */
void rgi_shard_kept_deliver(struct rgm_actor *self, struct rgm_shard *shard);
/* What was kept goes on its way, to the owner. */
void rgi_shard_kept_forward(struct rgm_actor *self, struct rgm_shard *shard,
                            struct rgm_address to);
/* The slots of the move are held, on this worker; those in line for the old
 * owner, too. */
void rgi_shard_hold(struct rgm_actor *self, struct rgm_shard *shard);
/* Their road is the new one, and those held take it. */
void rgi_shard_release(struct rgm_actor *self, struct rgm_shard *shard);

/* ---- shards_move.c ---- */

void rgi_shard_on_order(struct rgm_actor *self, struct rgm_shard *shard,
                        struct rgm_shard_note *note);
void rgi_shard_on_news(struct rgm_actor *self, struct rgm_shard *shard,
                       struct rgm_shard_note *note);
void rgi_shard_on_mark(struct rgm_actor *self, struct rgm_shard *shard,
                       struct rgm_shard_note *note);
void rgi_shard_on_chunk(struct rgm_actor *self, struct rgm_shard *shard,
                        struct rgm_shard_chunk *chunk);

/* ---- shards_deal.c ---- */

void rgi_shard_on_reshard(struct rgm_actor *self, struct rgm_shard *shard,
                          struct rgm_reshard *reshard);
void rgi_shard_on_members(struct rgm_actor *self, struct rgm_shard *shard,
                          struct rgm_shard_note *note);

#endif /* RGI_ACTORS_SHARDS_H */
