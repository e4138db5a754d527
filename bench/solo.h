/* SPDX-License-Identifier: MIT */
#ifndef BENCH_SOLO_H
#define BENCH_SOLO_H

/*
 * solo.h - what is the least that passing a message on one thread can cost?
 *
 * A bare actor has an intrusive mailbox and a place in a run queue; its
 * handler is called through a pointer, once per message. Nothing is counted,
 * checked, bounded or brought home.
 */

#include "bench/bench.h"

struct solo_message {
    struct solo_message *next;
    uint64_t value;
};

struct solo_actor {
    struct solo_message *first, **last;
    struct solo_actor *ready_next;
    struct solo_actor *peer;
    void (*handle)(struct solo_actor *, struct solo_message *);
    int ready;
};

struct solo_queue {
    struct solo_actor *first, **last;
};

/* One run queue per thread, as a worker has. */
static _Thread_local struct solo_queue solo_queue;

static inline void
solo_send(struct solo_actor *to, struct solo_message *message)
{
    message->next = NULL;
    *to->last = message;
    to->last = &message->next;
    if (!to->ready) {
        to->ready = 1;
        to->ready_next = NULL;
        *solo_queue.last = to;
        solo_queue.last = &to->ready_next;
    }
}

static inline struct solo_actor *
solo_next(void)
{
    struct solo_actor *actor = solo_queue.first;

    if (actor == NULL)
        return NULL;
    solo_queue.first = actor->ready_next;
    if (solo_queue.first == NULL)
        solo_queue.last = &solo_queue.first;
    actor->ready = 0;
    return actor;
}

static inline void
solo_run(void)
{
    struct solo_actor *actor;

    while ((actor = solo_next()) != NULL) {
        struct solo_message *message = actor->first, *next;

        actor->first = NULL;
        actor->last = &actor->first;
        for (; message != NULL; message = next) {
            next = message->next;
            actor->handle(actor, message);
        }
    }
}

__attribute__((noinline)) static void
solo_bounced(struct solo_actor *self, struct solo_message *message)
{
    if (message->value-- != 0)
        solo_send(self->peer, message);
}

/* Bounce one message between two bare actors. Returns the time in ns. */
static inline uint64_t
solo_bounce(uint64_t round_trips)
{
    struct solo_actor actors[2];
    struct solo_message message = {NULL, 2 * round_trips};
    uint64_t begin_ns;

    for (int i = 0; i < 2; i++)
        actors[i] = (struct solo_actor){
            .last = &actors[i].first,
            .peer = &actors[!i],
            .handle = solo_bounced,
        };
    solo_queue.first = NULL;
    solo_queue.last = &solo_queue.first;
    begin_ns = bench_now_ns();
    solo_send(&actors[1], &message);
    solo_run();
    return bench_now_ns() - begin_ns;
}

#endif /* BENCH_SOLO_H */
