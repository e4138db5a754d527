/* SPDX-License-Identifier: MIT */
#ifndef RGI_TIMERS_TIMERS_H
#define RGI_TIMERS_TIMERS_H

/*
 * timers.h - which deadlines of a worker have come, and which comes next?
 *
 * One queue per worker, for sleeps, request deadlines and reusable timers
 * alike. A timer is a record inside a larger one of its owner's; arming and
 * cancelling allocate nothing, never fail and cost the same at a million
 * timers as at one. Time is an argument: the queue reads no clock, so that a
 * simulation and a test decide what time it is.
 *
 *     rgi_timers_arm(&timers, &sleep->timer, now_ns + 5 * RGM_NS_PER_MS);
 *     ...
 *     rgi_timers_collect(&timers, now_ns, QUOTA, &due);
 *     while ((timer = rgi_timers_pop(&due)) != NULL)
 *         deliver(rgi_container_of(timer, struct sleep, timer));
 *
 * Promises, all of them tested:
 *   - a timer is never collected before its deadline;
 *   - timers are collected in the order of their deadlines, exact to the
 *     nanosecond, and in the order of arming where deadlines are equal;
 *   - from arming until it is popped a timer can be cancelled or armed anew,
 *     also between collection and delivery; afterwards it is idle;
 *   - a cancelled timer leaves nothing behind;
 *   - RGM_NEVER is a deadline that does not come, at any time.
 *
 * Everything here belongs to one thread at a time. How it works: README.md.
 */

#include <stddef.h>
#include <stdint.h>

#include <ringmail/base.h>

/* Nanoseconds of one tick, the width of a lowest slot, as a power of two. */
#define RGI_TIMERS_TICK_BITS 16

/* Slots of one level, as a power of two: its occupation fits in one word. */
#define RGI_TIMERS_LEVEL_BITS 6
#define RGI_TIMERS_SLOTS (1u << RGI_TIMERS_LEVEL_BITS)

/* Enough levels for every deadline that 64 bits can express. */
#define RGI_TIMERS_LEVELS ((64 - RGI_TIMERS_TICK_BITS) / RGI_TIMERS_LEVEL_BITS)

/* How many timers one collect may sort into finer slots, beside its limit. */
#define RGI_TIMERS_MOVES 4096u

enum rgi_timer_place {
    RGI_TIMER_IDLE,      /* zero: armed never, or already popped */
    RGI_TIMER_ARMED,     /* in the queue, counted */
    RGI_TIMER_COLLECTED, /* due, in a list of the caller's */
};

/*
 * One deadline. Zeroed means idle. Owned by the record it lies in; while it is
 * armed or collected the record must stay where it is.
 */
struct rgi_timer {
    struct rgm_link link;
    uint64_t deadline_ns;       /* of the last arming; stays after delivery */
    enum rgi_timer_place place; /* meaningful while `link` is linked */
    uint32_t kind;              /* the owner's word, never looked at here */
};

/* Timers whose deadlines lie in one stretch of time, in order of arming. */
struct rgi_timers_slot {
    struct rgm_link list;
    uint64_t earliest_ns; /* no deadline in `list` is earlier */
};

/* The queue; its fields are timers.c's alone. */
struct rgi_timers {
    uint64_t tick;       /* the wheel stands here; it never goes back */
    size_t count;        /* timers armed */
    struct rgm_link run; /* up to `tick`, in order of delivery */
    struct rgi_timers_slot fresh;    /* up to `tick`, not yet merged in `run` */
    struct rgi_timers_slot unpacked; /* being spread over the finer levels */
    unsigned unpacked_level; /* where it came from; 0 when there is none */
    uint64_t occupied[RGI_TIMERS_LEVELS]; /* a clear bit is an empty slot */
    struct rgi_timers_slot slots[RGI_TIMERS_LEVELS][RGI_TIMERS_SLOTS];
};

/*
 * Makes an empty queue. `now_ns` is only a starting point: earlier and later
 * deadlines are both legal. Nothing needs to be undone at the end.
 */
void rgi_timers_init(struct rgi_timers *timers, uint64_t now_ns);

/*
 * Arms `timer` for `deadline_ns`; one in the past is due at the next collect.
 * A timer that is armed or collected is taken from there first.
 * Owns: the queue holds the timer until it is cancelled or collected.
 * Cost: O(1).
 */
void rgi_timers_arm(struct rgi_timers *timers, struct rgi_timer *timer,
                    uint64_t deadline_ns);

/*
 * Takes `timer` back, out of the queue or out of the list it was collected
 * into; the next moment it may be armed again or freed.
 * Returns: whether it was there, that is, whether this prevented a delivery.
 * Cost: O(1).
 */
bool rgi_timers_cancel(struct rgi_timers *timers, struct rgi_timer *timer);

/* Whether `timer` is armed or collected: whether a cancel would find it. */
bool rgi_timer_pending(const struct rgi_timer *timer);

/*
 * Moves timers with deadlines up to `now_ns`, at most `limit`, to the end of
 * `due`, a list of the caller's. With SIZE_MAX everything due is moved. With
 * less, one call also spreads at most RGI_TIMERS_MOVES timers over finer
 * slots; what is left is for the next call, and rgi_timers_next() then answers
 * with a time that is not after `now_ns`.
 * Returns: how many were moved.
 * Cost: over its whole life a timer is spread at most RGI_TIMERS_LEVELS times
 * and sorted once, among those of the same tick. Time in which nothing falls
 * due costs nothing.
 */
size_t rgi_timers_collect(struct rgi_timers *timers, uint64_t now_ns,
                          size_t limit, struct rgm_link *due);

/*
 * Takes the first timer out of a list that collect filled, and makes it idle.
 * Returns: the timer, or NULL when the list is empty.
 */
struct rgi_timer *rgi_timers_pop(struct rgm_link *due);

/*
 * How long a worker may sleep: no timer is due before the answer, in absolute
 * nanoseconds; RGM_NEVER when none will ever be. Exact, except that each timer
 * cancelled or armed anew while it was the earliest can make one answer too
 * early; a collect at that time makes up for it.
 * Cost: O(1).
 */
uint64_t rgi_timers_next(struct rgi_timers *timers);

/* How many timers are armed; collected ones are not. */
size_t rgi_timers_count(const struct rgi_timers *timers);

/* Whether every invariant of README.md holds. For tests: walks everything. */
bool rgi_timers_valid(const struct rgi_timers *timers);

#endif /* RGI_TIMERS_TIMERS_H */
