/* SPDX-License-Identifier: MIT */
#ifndef KV_MANAGER_PARTS_H
#define KV_MANAGER_PARTS_H

/*
 * manager_parts.h - what do the manager's two halves share? manager.c is how
 * keys move and workers come, shrink.c how workers go.
 */

#include <ringmail/resize.h>

#include "samples/kv/command.h"

struct manager {
    struct rgm_actor actor;
    const struct cluster *cluster;
    struct rgm_token client; /* its group */
    bool busy;               /* until the client has its answer */
    uint32_t wanted;
    int status; /* of what has failed; else 0 */
    struct rgm_resize resize;
    struct rgm_listen listen;
    struct rgm_attach attach;
    struct rgm_listener listener;
    struct pause pause;
    struct rgm_reshard reshard;
    struct rgm_gather gather;
    struct rgm_request *requests[RGM_WORKERS_MAX];
    struct gate gates[RGM_WORKERS_MAX];
    /* Acceptors here for the listeners of workers that have gone. */
    struct rgm_address spares[RGM_WORKERS_MAX];
    uint32_t spares_count;
    struct evacuate evacuate;
    uint32_t evacuating; /* the number of that worker */
    /* Workers that go, after the answer to the client. */
    bool shrinking;
    uint32_t remaining;   /* members when they are gone */
    uint32_t to_depart;   /* whose connections are not elsewhere yet */
    bool retired;         /* they have been told */
    struct rgm_token next; /* a client that waits for it */
    uint32_t next_wanted;
    bool has_next;
};

/* manager.c: shut or open the gates of all members, and tell them how many
 * there are. */
void manager_gates(struct manager *self, bool shut,
                   void (*done)(struct rgm_actor *actor,
                                struct rgm_gather *gather));

/* manager.c: the client is answered. */
void manager_answer(struct manager *self);

/* manager.c: the gates are open: workers go, or that was all. */
void manager_gates_open(struct rgm_actor *actor, struct rgm_gather *gather);

/* manager.c: a change begins, for the client in self->client. */
void manager_begin(struct manager *self, uint32_t wanted);

/* shrink.c: nothing of the workers from `wanted` on is needed for keys any
 * more. Ends by manager_gates_open. */
void shrink_evacuate(struct manager *self);

/* shrink.c: the workers go; the client is answered when they know. */
void shrink_begin(struct manager *self);

/* shrink.c: an acceptor's worker is empty. */
void shrink_departed(struct manager *self);

#endif /* KV_MANAGER_PARTS_H */
