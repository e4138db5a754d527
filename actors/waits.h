/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_WAITS_H
#define RGI_ACTORS_WAITS_H

/*
 * waits.h - do actors wait for each other for ever?
 *
 * Only in builds with RGI_SLOW_ASSERTS; in others nothing of this is there.
 *
 * A row says that an actor waits for a request that another one keeps. Actors
 * are stuck when each of them has nothing out but such requests, all kept by
 * others of them, and the workers of all are asleep: then nothing of their own
 * will ever make one of them answer. So an ask that its keeper answers later, by
 * a sleep or by what it has asked elsewhere, is no alarm, nor is one with a
 * deadline, nor one of a type that is answered late.
 */

#include "actors/worker.h"

#if defined(RGI_SLOW_ASSERTS) && RGI_SLOW_ASSERTS

#define RGI_WAITS_MAX 128u /* more are not looked at */

/* One kept request. Row 0 is unused. */
struct rgi_wait {
    struct rgm_address asker;
    struct rgm_address keeper;
    const char *type;  /* of the request; NULL: the row is free */
    const char *keeper_name;
    uint32_t keeper_out; /* what the keeper had out when it last ran */
    uint64_t stamp;      /* of that; 0: not said in this row */
    uint32_t next_free;
    bool told;
};

struct rgi_waits {
    uint32_t lock; /* waits-lock */
    uint32_t used; /* rows ever used, and row 0 */
    uint32_t free;
    uint64_t stamp;
    uint32_t count; /* rows in use */
    struct rgi_wait rows[RGI_WAITS_MAX + 1];
};

void rgi_waits_keep(struct rgm_worker *worker, struct rgi_kept *kept);
void rgi_waits_release(struct rgm_worker *worker, struct rgi_kept *kept);
/* An actor has run; if it keeps something, say what it has out. */
void rgi_waits_ran(struct rgm_worker *worker, const struct rgm_actor *actor);
/* This worker has fallen asleep. */
void rgi_waits_look(struct rgm_worker *worker);

#else

#define rgi_waits_keep(worker, kept) ((void)0)
#define rgi_waits_release(worker, kept) ((void)0)
#define rgi_waits_ran(worker, actor) ((void)0)
#define rgi_waits_look(worker) ((void)0)

#endif

#endif /* RGI_ACTORS_WAITS_H */
