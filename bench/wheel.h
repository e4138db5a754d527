/* SPDX-License-Identifier: MIT */
#ifndef BENCH_WHEEL_H
#define BENCH_WHEEL_H

/*
 * wheel.h - what is the least a timer can cost?
 *
 * A bare hierarchical wheel: five levels of 64 slots, ticks of a millisecond,
 * intrusive lists. Insert and cancel are a few stores; nothing is kept in
 * order, nothing is exact below a tick, and the next deadline is not known.
 */

#include "bench/bench.h"

#define WHEEL_LEVELS 5
#define WHEEL_BITS 6
#define WHEEL_SLOTS (1u << WHEEL_BITS)

struct wheel_timer {
    struct wheel_timer *next, **link;
    uint64_t due_tick;
    uint32_t slot;
    void (*fire)(struct wheel_timer *);
};

struct wheel {
    uint64_t tick;
    uint64_t occupied[WHEEL_LEVELS];
    struct wheel_timer *slots[WHEEL_LEVELS][WHEEL_SLOTS];
};

static inline void
wheel_insert(struct wheel *wheel, struct wheel_timer *timer)
{
    uint64_t due = timer->due_tick < wheel->tick ? wheel->tick : timer->due_tick;
    uint64_t differs = due ^ wheel->tick;
    unsigned level = 0;
    unsigned slot;
    struct wheel_timer **head;

    if (differs >= WHEEL_SLOTS)
        level = (63u - (unsigned)__builtin_clzll(differs)) / WHEEL_BITS;
    if (level >= WHEEL_LEVELS)
        level = WHEEL_LEVELS - 1;
    slot = (unsigned)(due >> (level * WHEEL_BITS)) % WHEEL_SLOTS;
    head = &wheel->slots[level][slot];
    timer->slot = level * WHEEL_SLOTS + slot;
    timer->next = *head;
    if (timer->next != NULL)
        timer->next->link = &timer->next;
    timer->link = head;
    *head = timer;
    wheel->occupied[level] |= UINT64_C(1) << slot;
}

static inline void
wheel_cancel(struct wheel *wheel, struct wheel_timer *timer)
{
    unsigned level = timer->slot / WHEEL_SLOTS;
    unsigned slot = timer->slot % WHEEL_SLOTS;

    *timer->link = timer->next;
    if (timer->next != NULL)
        timer->next->link = timer->link;
    if (wheel->slots[level][slot] == NULL)
        wheel->occupied[level] &= ~(UINT64_C(1) << slot);
}

/* Sort the slots that begin at this tick into the levels below. */
static inline void
wheel_cascade(struct wheel *wheel)
{
    for (unsigned level = 1; level < WHEEL_LEVELS; level++) {
        unsigned slot =
            (unsigned)(wheel->tick >> (level * WHEEL_BITS)) % WHEEL_SLOTS;
        struct wheel_timer *timer = wheel->slots[level][slot], *next;

        wheel->slots[level][slot] = NULL;
        wheel->occupied[level] &= ~(UINT64_C(1) << slot);
        for (; timer != NULL; timer = next) {
            next = timer->next;
            wheel_insert(wheel, timer);
        }
        if (slot != 0)
            break;
    }
}

static inline void
wheel_advance(struct wheel *wheel, uint64_t until_tick)
{
    for (; wheel->tick <= until_tick; wheel->tick++) {
        unsigned slot = (unsigned)wheel->tick % WHEEL_SLOTS;
        struct wheel_timer *timer;

        if (slot == 0)
            wheel_cascade(wheel);
        while ((timer = wheel->slots[0][slot]) != NULL) {
            wheel_cancel(wheel, timer);
            timer->fire(timer);
        }
    }
}

#endif /* BENCH_WHEEL_H */
