/* SPDX-License-Identifier: MIT */

/*
 * timers_fuzz.c - does the queue ever differ from a sorted array?
 *
 * How it works:
 *   1. A round takes a seed, and from it the number of timers, the time it
 *      starts at (any, also the last second of the clock), and how its
 *      deadlines spread: near, far, equal, past, never, around edges of slots.
 *   2. It arms, arms anew, cancels, collects with and without a limit,
 *      delivers a part of what is collected, and moves the time, at random.
 *   3. Beside the queue stands the model: an array sorted by deadline,
 *      and by arming where that is equal. Each collect must give exactly its beginning.
 *   4. At the end the time jumps from one answer of rgi_timers_next() to the
 *      next until nothing is left: a jump on which nothing comes out must be
 *      explained by a timer that was cancelled or armed anew.
 *   5. Rounds go on with the next seed for RGM_FUZZ_SECONDS (2). A failure
 *      prints the seed of its round; RGM_SEED starts with that round.
 */

#ifndef RGI_PLAIN_MAIN
#define RGI_PLAIN_MAIN 1
#endif

#include "timers/timers.h"

#include "base/cases.h"
#include "base/list.h"

enum { TIMERS_MOST = RGI_TIMERS_MOVES + 1000, STEPS = 1500 };

/* A timer armed, as the model sees it. */
struct entry {
    uint64_t deadline_ns;
    uint32_t index;
};

struct round {
    uint64_t random;
    uint64_t now_ns;
    unsigned spread_bits; /* deadlines lie about 2^spread_bits ns away */
    uint32_t timer_count;
    bool always_limited; /* so that full slots are met in small pieces */
    size_t withdrawn;    /* cancelled or armed anew while armed */
    struct rgm_link due;
    size_t due_count; /* of `expected`: collected, not delivered */
    size_t entry_count;
};

static struct rgi_timers queue;
static struct rgi_timer timers[TIMERS_MOST];
static struct entry model[TIMERS_MOST];    /* armed, sorted */
static struct entry expected[TIMERS_MOST]; /* collected, in order */

static uint64_t
draw(struct round *round)
{
    uint64_t word = round->random += UINT64_C(0x9e3779b97f4a7c15);

    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

static uint64_t
draw_below(struct round *round, uint64_t bound)
{
    return draw(round) % bound;
}

/* `time_ns` + `delay_ns`, stopping at the end of time. */
static uint64_t
later(uint64_t time_ns, uint64_t delay_ns)
{
    return delay_ns > UINT64_MAX - time_ns ? UINT64_MAX : time_ns + delay_ns;
}

/* The end of a slot of some level that lies after now, give or take 1 ns. */
static uint64_t
draw_edge(struct round *round)
{
    uint64_t level = draw_below(round, RGI_TIMERS_LEVELS);
    uint64_t width_ns =
        UINT64_C(1) << (RGI_TIMERS_TICK_BITS + level * RGI_TIMERS_LEVEL_BITS);
    uint64_t edge_ns = later(round->now_ns, width_ns) & ~(width_ns - 1);

    return later(edge_ns, draw_below(round, 3)) - 1;
}

static uint64_t
draw_deadline(struct round *round)
{
    uint64_t width_ns = UINT64_C(1) << round->spread_bits;

    switch (draw_below(round, 16)) {
    case 0:
        return round->now_ns - draw_below(round, round->now_ns / 2 + 1);
    case 1:
        return round->now_ns;
    case 2:
        return draw_edge(round);
    case 3:
        return later(0, draw(round) >> draw_below(round, 64)); /* any width */
    case 4:
        return draw_below(round, 4) == 0 ? RGM_NEVER : UINT64_MAX - 1;
    case 5:
    case 6:
        /* One of few, so that there are ties. */
        return later(round->now_ns & ~(width_ns - 1),
                     width_ns + draw_below(round, 3));
    default:
        return later(round->now_ns, draw_below(round, width_ns));
    }
}

/* How many of the model come out before all that is due at `deadline_ns`. */
static size_t
model_find(const struct round *round, uint64_t deadline_ns)
{
    size_t low = 0, high = round->entry_count;

    while (low < high) {
        size_t middle = (low + high) / 2;

        if (model[middle].deadline_ns >= deadline_ns)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* Behind all that is as early: what is armed later comes out later. */
static void
model_insert(struct round *round, uint32_t index, uint64_t deadline_ns)
{
    size_t at = deadline_ns == UINT64_MAX ? round->entry_count
                                          : model_find(round, deadline_ns + 1);

    memmove(&model[at + 1], &model[at],
            (round->entry_count - at) * sizeof(model[0]));
    model[at] = (struct entry){deadline_ns, index};
    round->entry_count++;
}

/*
 * Takes timer `index` out of `entries`, looking from place `at` on. Returns
 * whether it was there.
 */
static bool
model_remove(struct entry *entries, size_t *count, size_t at, uint32_t index)
{
    while (at < *count && entries[at].index != index)
        at++;
    if (at == *count)
        return false;
    (*count)--;
    memmove(&entries[at], &entries[at + 1], (*count - at) * sizeof(entries[0]));
    return true;
}

/* Returns whether the timer was armed or collected. */
static bool
model_withdraw(struct round *round, uint32_t index)
{
    size_t at = model_find(round, timers[index].deadline_ns);

    if (!rgi_timer_pending(&timers[index]))
        return false;
    if (model_remove(expected, &round->due_count, 0, index))
        return true;
    rgi_check(model_remove(model, &round->entry_count, at, index));
    round->withdrawn++;
    return true;
}

static void
arm(struct round *round, uint32_t index, uint64_t deadline_ns)
{
    model_withdraw(round, index);
    model_insert(round, index, deadline_ns);
    rgi_timers_arm(&queue, &timers[index], deadline_ns);
    rgi_check(rgi_timer_pending(&timers[index]));
}

static void
cancel(struct round *round, uint32_t index)
{
    bool pending = model_withdraw(round, index);

    rgi_check(rgi_timers_cancel(&queue, &timers[index]) == pending);
    rgi_check(!rgi_timer_pending(&timers[index]));
}

/* How many of the model are due, at most `limit`. */
static size_t
model_due(const struct round *round, size_t limit)
{
    size_t count = 0;

    while (count < limit && count < round->entry_count &&
           model[count].deadline_ns <= round->now_ns &&
           model[count].deadline_ns != RGM_NEVER)
        count++;
    return count;
}

/* Collects, and compares with the beginning of the model. Returns how many. */
static size_t
collect(struct round *round, size_t limit)
{
    size_t wanted = model_due(round, limit);
    struct rgm_link fresh, *link;
    size_t collected;

    rgi_list_init(&fresh);
    collected = rgi_timers_collect(&queue, round->now_ns, limit, &fresh);
    /* The budget may end a call early, but then it must say so. */
    rgi_check(collected <= wanted);
    if (collected < wanted) {
        rgi_check(limit != SIZE_MAX);
        rgi_check(round->timer_count > RGI_TIMERS_MOVES / RGI_TIMERS_LEVELS);
        rgi_check(rgi_timers_next(&queue) <= round->now_ns);
    }
    link = &fresh;
    for (size_t i = 0; i < collected; i++) {
        link = link->next;
        rgi_check(link == &timers[model[i].index].link);
        rgi_check(timers[model[i].index].deadline_ns == model[i].deadline_ns);
        expected[round->due_count++] = model[i];
    }
    rgi_check(link->next == &fresh);
    rgi_list_splice_back(&round->due, &fresh);
    round->entry_count -= collected;
    memmove(model, model + collected, round->entry_count * sizeof(model[0]));
    return collected;
}

/* Delivers up to `count` of what was collected. */
static void
deliver(struct round *round, size_t count)
{
    if (count > round->due_count)
        count = round->due_count;
    for (size_t i = 0; i < count; i++) {
        struct rgi_timer *timer = rgi_timers_pop(&round->due);

        rgi_check(timer == &timers[expected[i].index]);
        rgi_check(!rgi_timer_pending(timer));
    }
    round->due_count -= count;
    memmove(expected, expected + count, round->due_count * sizeof(expected[0]));
}

static void
check_next(const struct round *round)
{
    uint64_t true_ns =
        round->entry_count == 0 ? RGM_NEVER : model[0].deadline_ns;
    uint64_t next_ns = rgi_timers_next(&queue);

    rgi_check(next_ns <= true_ns);
    rgi_check(next_ns == true_ns || round->withdrawn > 0);
    rgi_check(rgi_timers_count(&queue) == round->entry_count);
}

/* Moves the time a little, a lot, to the next deadline, or back. */
static void
move_time(struct round *round)
{
    switch (draw_below(round, 8)) {
    case 0:
        round->now_ns = later(round->now_ns, draw(round) >> 20);
        break;
    case 1:
        round->now_ns = rgi_timers_next(&queue) - draw_below(round, 2);
        break;
    case 2:
        round->now_ns -= draw_below(round, round->now_ns / 4 + 1);
        break;
    default:
        round->now_ns =
            later(round->now_ns, draw(round) >> (64 - round->spread_bits) >>
                                     draw_below(round, 10));
    }
}

/*
 * Arms more timers than one collect may spread into one stretch of time, and
 * goes there.
 */
static void
fill_one_slot(struct round *round)
{
    uint64_t base_ns = draw_deadline(round);
    unsigned bits = (unsigned)draw_below(round, 30);

    for (uint32_t i = 0; i < round->timer_count; i++)
        arm(round, i, later(base_ns, draw(round) >> 34 >> bits));
    if (base_ns > round->now_ns)
        round->now_ns = base_ns;
    deliver(round, SIZE_MAX);
}

static void
step(struct round *round)
{
    uint32_t index = (uint32_t)draw_below(round, round->timer_count);

    if (round->always_limited && draw_below(round, 256) == 0)
        fill_one_slot(round);
    switch (draw_below(round, 16)) {
    case 0:
    case 1:
        move_time(round);
        collect(round, !round->always_limited && draw_below(round, 2) == 0
                           ? SIZE_MAX
                           : draw_below(round, 50));
        break;
    case 2:
        collect(round, draw_below(round, 20));
        break;
    case 3:
        deliver(round, draw_below(round, 30));
        break;
    case 4:
    case 5:
    case 6:
        cancel(round, index);
        break;
    default:
        arm(round, index, draw_deadline(round));
    }
    check_next(round);
}

/* Follows rgi_timers_next() until nothing is left but what never comes. */
static void
drain(struct round *round)
{
    size_t idle_wakes = 0;

    while (rgi_timers_next(&queue) != RGM_NEVER) {
        if (round->now_ns < rgi_timers_next(&queue))
            round->now_ns = rgi_timers_next(&queue);
        idle_wakes += collect(round, SIZE_MAX) == 0;
        rgi_check(rgi_timers_next(&queue) > round->now_ns ||
                  rgi_timers_next(&queue) == RGM_NEVER);
        rgi_check(idle_wakes <= round->withdrawn);
        deliver(round, SIZE_MAX);
    }
    rgi_check(model_due(round, SIZE_MAX) == 0);
}

/* Where a round starts: anywhere, with a liking for the ends of time. */
static uint64_t
draw_start(struct round *round)
{
    switch (draw_below(round, 4)) {
    case 0:
        return UINT64_MAX - (draw(round) >> draw_below(round, 64));
    case 1:
        return (UINT64_C(1) << draw_below(round, 64)) - 1;
    default:
        return draw(round) >> draw_below(round, 64);
    }
}

static void
run_round(uint64_t seed)
{
    struct round round = {.random = seed};

    rgi_seed_in_use = seed;
    round.always_limited = draw_below(&round, 8) == 0;
    round.timer_count = round.always_limited
                            ? TIMERS_MOST
                            : (uint32_t)1 << draw_below(&round, 13);
    round.spread_bits = 1 + (unsigned)draw_below(&round, 62);
    round.now_ns = draw_start(&round);
    rgi_list_init(&round.due);
    rgi_timers_init(&queue, round.now_ns);
    memset(timers, 0, round.timer_count * sizeof(timers[0]));

    if (round.always_limited || draw_below(&round, 2) == 0)
        for (uint32_t i = 0; i < round.timer_count; i++)
            arm(&round, i, draw_deadline(&round));
    for (int i = 0; i < STEPS; i++) {
        step(&round);
        if (i % 64 == 0)
            rgi_check(rgi_timers_valid(&queue));
    }
    rgi_check(rgi_timers_valid(&queue));
    drain(&round);
    rgi_check(rgi_timers_valid(&queue));
}

int
main(void)
{
    const char *text = getenv("RGM_FUZZ_SECONDS");
    time_t seconds = text != NULL ? (time_t)strtol(text, NULL, 10) : 2;
    uint64_t first_seed = rgi_seed();
    uint64_t seed = first_seed;
    struct timespec now, end;

    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds;
    do {
        run_round(seed++);
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec < end.tv_sec ||
             (now.tv_sec == end.tv_sec && now.tv_nsec < end.tv_nsec));
    printf("%" PRIu64 " rounds of %d steps agree with the model\n",
           seed - first_seed, STEPS);
    return 0;
}
