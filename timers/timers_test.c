/* SPDX-License-Identifier: MIT */

/*
 * timers_test.c - does the deadline queue keep every promise of its header?
 *
 * Time is a number here: no case reads a clock or waits.
 */

#include "timers/timers.h"

#include "base/cases.h"
#include "base/list.h"
#include "base/memory.h"

#define MS RGM_NS_PER_MS
#define TICK (UINT64_C(1) << RGI_TIMERS_TICK_BITS)

/* The queue of the running case, at an hour of the day of no significance. */
static struct rgi_timers queue;
static struct rgm_link due;
static const uint64_t start_ns = UINT64_C(1000000007) * 3600;

static void
set_up_at(uint64_t now_ns)
{
    rgi_timers_init(&queue, now_ns);
    rgi_list_init(&due);
}

static size_t
collect_all(uint64_t now_ns)
{
    size_t collected = rgi_timers_collect(&queue, now_ns, SIZE_MAX, &due);

    rgi_check(rgi_timers_valid(&queue));
    return collected;
}

/* Collects, and checks that exactly `timer` comes out. */
static bool
collects_only(uint64_t now_ns, const struct rgi_timer *timer)
{
    return collect_all(now_ns) == 1 && rgi_timers_pop(&due) == timer &&
           rgi_list_empty(&due);
}

/* A generator small enough to be seen through: the step of splitmix64. */
static uint64_t
next_random(uint64_t *state)
{
    uint64_t word = *state += UINT64_C(0x9e3779b97f4a7c15);

    word = (word ^ word >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    word = (word ^ word >> 27) * UINT64_C(0x94d049bb133111eb);
    return word ^ word >> 31;
}

/* An empty queue has nothing to say, at any time. */
static void
an_empty_queue_is_quiet(void)
{
    struct rgi_timer timer = {0};

    set_up_at(start_ns);
    rgi_check(rgi_timers_valid(&queue));
    rgi_check(rgi_timers_next(&queue) == RGM_NEVER);
    rgi_check(collect_all(0) == 0);
    rgi_check(collect_all(UINT64_MAX) == 0);
    rgi_check(rgi_timers_pop(&due) == NULL);
    rgi_check(!rgi_timer_pending(&timer));
    rgi_check(!rgi_timers_cancel(&queue, &timer));
    rgi_check(rgi_timers_count(&queue) == 0);
}

/* One timer, at every distance: never early, exact to the nanosecond. */
static void
tmr_18_one_timer_is_exact(void)
{
    for (unsigned bit = 0; bit < 62; bit++) {
        for (int offset = -1; offset <= 1; offset++) {
            struct rgi_timer timer = {0};
            uint64_t deadline_ns =
                start_ns + (UINT64_C(1) << bit) + (uint64_t)offset;

            set_up_at(start_ns);
            rgi_timers_arm(&queue, &timer, deadline_ns);
            rgi_check(rgi_timers_valid(&queue));
            rgi_check(rgi_timers_next(&queue) == deadline_ns);
            rgi_check(collect_all(deadline_ns - 1) == 0);
            rgi_check(rgi_timers_next(&queue) == deadline_ns);
            rgi_check(collects_only(deadline_ns, &timer));
            rgi_check(!rgi_timer_pending(&timer));
            rgi_check(rgi_timers_count(&queue) == 0);
        }
    }
}

/*
 * Whatever the order of arming, the order of collection is that of the
 * deadlines: timers around the edges of slots of every level, one nanosecond
 * apart, armed in a shuffled order.
 */
static void
tmr_18_order_is_exact_to_the_nanosecond(void)
{
    static struct rgi_timer timers[3 * 48];
    uint64_t random = rgi_seed();
    uint64_t last_ns = 0;
    struct rgi_timer *timer;

    set_up_at(start_ns);
    for (uint32_t i = 0; i < 3 * 48; i++) {
        uint32_t at = (uint32_t)(next_random(&random) % (i + 1));

        timers[i].kind = timers[at].kind;
        timers[at].kind = i;
    }
    for (uint32_t i = 0; i < 3 * 48; i++) {
        uint32_t kind = timers[i].kind;

        rgi_timers_arm(&queue, &timers[i],
                       (start_ns & -(UINT64_C(1) << kind / 3)) +
                           (UINT64_C(2) << kind / 3) + kind % 3 - 1);
    }
    rgi_check(collect_all(UINT64_MAX) == 3 * 48);
    while ((timer = rgi_timers_pop(&due)) != NULL) {
        rgi_check(timer->deadline_ns >= last_ns);
        last_ns = timer->deadline_ns;
    }
}

/*
 * Equal deadlines come in the order of arming, although the wheel moved on in
 * between and the timers were armed into slots of different levels.
 */
static void
tmr_18_ties_keep_the_order_of_arming(void)
{
    enum { ROUNDS = 40, EACH = 3 };
    static struct rgi_timer timers[ROUNDS * EACH];
    static struct rgi_timer steps[ROUNDS];
    const uint64_t deadline_ns = start_ns + 3600 * RGM_NS_PER_S;

    set_up_at(start_ns);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        /* Half of the distance that is left, then half of that, ... */
        uint64_t now_ns = deadline_ns - ((deadline_ns - start_ns) >> i);

        rgi_timers_arm(&queue, &steps[i], now_ns);
        rgi_check(collects_only(now_ns, &steps[i]));
        for (uint32_t k = i * EACH; k < (i + 1) * EACH; k++) {
            timers[k].kind = k;
            rgi_timers_arm(&queue, &timers[k], deadline_ns);
        }
    }
    rgi_check(collect_all(deadline_ns - 1) == 0);
    rgi_check(collect_all(deadline_ns) == ROUNDS * EACH);
    for (uint32_t k = 0; k < ROUNDS * EACH; k++)
        rgi_check(rgi_timers_pop(&due)->kind == k);
}

/* Arming anew counts as arming: the timer goes behind its equals. */
static void
tmr_18_rearming_goes_behind_equal_deadlines(void)
{
    struct rgi_timer timers[3] = {0};

    set_up_at(start_ns);
    for (int i = 0; i < 3; i++)
        rgi_timers_arm(&queue, &timers[i], start_ns + MS);
    rgi_timers_arm(&queue, &timers[0], start_ns + MS);
    rgi_check(rgi_timers_count(&queue) == 3);
    rgi_check(collect_all(start_ns + MS) == 3);
    rgi_check(rgi_timers_pop(&due) == &timers[1]);
    rgi_check(rgi_timers_pop(&due) == &timers[2]);
    rgi_check(rgi_timers_pop(&due) == &timers[0]);
}

/* A limit cuts the order anywhere, in a tick or in a tie, and loses nothing. */
static void
tmr_18_a_limit_takes_a_prefix(void)
{
    enum { TIMERS = 100 };
    static struct rgi_timer timers[TIMERS];

    for (size_t limit = 1; limit < 40; limit += 3) {
        uint32_t expected = 0;

        set_up_at(start_ns);
        for (uint32_t i = 0; i < TIMERS; i++) {
            timers[i].kind = i;
            rgi_timers_arm(&queue, &timers[i],
                           start_ns + i / 10 * 10 * TICK / 25);
        }
        rgi_check(rgi_timers_collect(&queue, UINT64_MAX, 0, &due) == 0);
        while (expected < TIMERS) {
            size_t left = TIMERS - expected;
            size_t collected =
                rgi_timers_collect(&queue, start_ns + MS, limit, &due);

            rgi_check(collected == (left < limit ? left : limit));
            rgi_check(rgi_timers_count(&queue) == left - collected);
            rgi_check(rgi_timers_valid(&queue));
            while (!rgi_list_empty(&due))
                rgi_check(rgi_timers_pop(&due)->kind == expected++);
        }
    }
}

/* What is collected goes behind what the caller's list held before. */
static void
tmr_18_collecting_appends(void)
{
    struct rgi_timer timers[2] = {0};

    set_up_at(start_ns);
    rgi_timers_arm(&queue, &timers[0], start_ns + 9);
    rgi_check(collect_all(start_ns + 9) == 1);
    rgi_timers_arm(&queue, &timers[1], start_ns);
    rgi_check(collect_all(start_ns + 9) == 1);
    rgi_check(rgi_timers_pop(&due) == &timers[0]);
    rgi_check(rgi_timers_pop(&due) == &timers[1]);
}

/* Arming and cancelling never ask for memory. */
static void
tmr_18_nothing_is_allocated(void)
{
    enum { TIMERS = 1000 };
    static struct rgi_timer timers[TIMERS];
    uint64_t random = rgi_seed();

    rgi_memory_fail_nth(1);
    set_up_at(start_ns);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < TIMERS; i++)
            rgi_timers_arm(&queue, &timers[i],
                           start_ns + (next_random(&random) >> 20));
        for (int i = round; i < TIMERS; i += 3)
            rgi_timers_cancel(&queue, &timers[i]);
    }
    collect_all(UINT64_MAX);
    rgi_check(!rgi_memory_fail_off());
}

static size_t
length(const struct rgm_link *list)
{
    size_t count = 0;

    for (const struct rgm_link *link = list->next; link != list;
         link = link->next)
        count++;
    return count;
}

/*
 * A coarse slot full of timers is spread out piece by piece: a call moves no
 * more than its budget, tells that there is more, and gets there in the end.
 */
static void
tmr_18_work_of_one_collect_is_bounded(void)
{
    enum { TIMERS = 10 * RGI_TIMERS_MOVES };
    struct rgi_timer *timers = rgi_alloc(TIMERS * sizeof(*timers));
    struct rgi_timer late = {0};
    uint64_t now_ns = start_ns + 3600 * RGM_NS_PER_S;
    size_t left = TIMERS, calls = 0, collected = 0;

    rgi_check(timers != NULL);
    set_up_at(start_ns);
    for (uint32_t i = 0; i < TIMERS; i++) {
        timers[i].kind = i;
        rgi_timers_arm(&queue, &timers[i], now_ns);
    }
    while (left > RGI_TIMERS_MOVES) {
        rgi_check(rgi_timers_collect(&queue, now_ns, 16, &due) == 0);
        rgi_check(rgi_timers_next(&queue) <= now_ns);
        rgi_check(rgi_timers_valid(&queue));
        rgi_check(left - length(&queue.unpacked.list) == RGI_TIMERS_MOVES);
        left = length(&queue.unpacked.list);
    }
    /* One more, in the middle of it, still goes behind its equals. */
    rgi_timers_arm(&queue, &late, now_ns);
    while (collected < TIMERS) {
        collected += rgi_timers_collect(&queue, now_ns, 16, &due);
        rgi_check(calls++ < TIMERS);
    }
    for (uint32_t i = 0; i < TIMERS; i++)
        rgi_check(rgi_timers_pop(&due)->kind == i);
    rgi_check(collects_only(now_ns, &late));
    rgi_free(timers);
}

/* A cancelled slot in the middle of being spread leaves nothing to spread. */
static void
tmr_18_cancel_while_a_slot_is_unpacked(void)
{
    enum { TIMERS = 3 * RGI_TIMERS_MOVES };
    struct rgi_timer *timers = rgi_alloc(TIMERS * sizeof(*timers));
    uint64_t now_ns = start_ns + 3600 * RGM_NS_PER_S;

    rgi_check(timers != NULL);
    set_up_at(start_ns);
    for (uint64_t i = 0; i < TIMERS; i++)
        rgi_timers_arm(&queue, &timers[i], now_ns + i * MS);
    rgi_check(rgi_timers_collect(&queue, now_ns, 1, &due) == 0);
    rgi_check(queue.unpacked_level != 0);
    /* What waits goes; what is placed already stays, and is what is next. */
    for (size_t i = RGI_TIMERS_MOVES; i < TIMERS; i++)
        rgi_check(rgi_timers_cancel(&queue, &timers[i]));
    rgi_timers_arm(&queue, &timers[TIMERS - 1], now_ns + 99 * MS);
    rgi_check(rgi_timers_valid(&queue));
    rgi_check(rgi_timers_next(&queue) == now_ns);
    rgi_check(rgi_timers_cancel(&queue, &timers[TIMERS - 1]));
    rgi_check(rgi_timers_count(&queue) == RGI_TIMERS_MOVES);
    rgi_check(collects_only(now_ns, &timers[0]));
    rgi_check(rgi_timers_next(&queue) == now_ns + MS);
    rgi_free(timers);
}

/*
 * A million timers: all counted, half of them cancelled, the rest collected
 * in quotas, each once, in order, none early.
 */
static void
tmr_18_a_million_timers(void)
{
    const uint64_t timer_count = 1000000;
    const uint64_t spread_ns = 100 * RGM_NS_PER_S;
    struct rgi_timer *timers = rgi_alloc(timer_count * sizeof(*timers));
    uint64_t random = rgi_seed(), last_ns = 0, now_ns = start_ns;
    size_t delivered = 0;

    rgi_check(timers != NULL);
    set_up_at(start_ns);
    for (uint64_t i = 0; i < timer_count; i++)
        rgi_timers_arm(&queue, &timers[i],
                       start_ns + next_random(&random) % spread_ns);
    rgi_check(rgi_timers_count(&queue) == timer_count);
    for (uint64_t i = 0; i < timer_count; i += 2)
        rgi_check(rgi_timers_cancel(&queue, &timers[i]));
    rgi_check(rgi_timers_count(&queue) == timer_count / 2);
    rgi_check(rgi_timers_valid(&queue));
    while (delivered < timer_count / 2) {
        struct rgi_timer *timer;

        now_ns += 10 * MS;
        while (rgi_timers_next(&queue) <= now_ns)
            rgi_timers_collect(&queue, now_ns, 256, &due);
        while ((timer = rgi_timers_pop(&due)) != NULL) {
            rgi_check((size_t)(timer - timers) % 2 == 1);
            rgi_check(timer->deadline_ns >= last_ns);
            rgi_check(timer->deadline_ns <= now_ns);
            rgi_check(timer->deadline_ns > now_ns - 10 * MS);
            last_ns = timer->deadline_ns;
            delivered++;
        }
    }
    rgi_check(rgi_timers_count(&queue) == 0);
    rgi_check(rgi_timers_valid(&queue));
    rgi_free(timers);
}

/* A later deadline is never early; an earlier one counts at once. */
static void
tmr_06_rearming_later_and_earlier(void)
{
    struct rgi_timer timer = {0};

    set_up_at(start_ns);
    rgi_timers_arm(&queue, &timer, start_ns + 10 * MS);
    rgi_timers_arm(&queue, &timer, start_ns + 5000 * MS);
    rgi_check(collect_all(start_ns + 10 * MS) == 0);
    rgi_check(collect_all(start_ns + 5000 * MS - 1) == 0);
    rgi_timers_arm(&queue, &timer, start_ns + 9000 * MS);
    rgi_timers_arm(&queue, &timer, start_ns + 6000 * MS);
    rgi_check(rgi_timers_next(&queue) == start_ns + 6000 * MS);
    rgi_check(collects_only(start_ns + 6000 * MS, &timer));
    rgi_check(collect_all(UINT64_MAX) == 0);
}

/*
 * A timer's record is used again: nothing of the use before reaches the new
 * one. Not its deadline, not its place in a list of collected timers, and a
 * second cancel finds nothing.
 */
static void
tmr_19_an_old_use_never_affects_a_newer_one(void)
{
    struct rgi_timer timer = {0}, other = {0};

    set_up_at(start_ns);
    rgi_timers_arm(&queue, &other, start_ns + 2 * MS);
    rgi_timers_arm(&queue, &timer, start_ns + MS);
    rgi_check(rgi_timers_cancel(&queue, &timer));
    rgi_check(!rgi_timers_cancel(&queue, &timer));
    rgi_check(rgi_timers_count(&queue) == 1);

    rgi_timers_arm(&queue, &timer, start_ns + 3 * MS);
    rgi_check(collects_only(start_ns + 2 * MS, &other));

    /* Armed anew out of the collected list: the old expiry is taken back. */
    rgi_check(collect_all(start_ns + 3 * MS) == 1);
    rgi_timers_arm(&queue, &timer, start_ns + 4 * MS);
    rgi_check(rgi_list_empty(&due));
    rgi_check(rgi_timers_count(&queue) == 1);
    rgi_check(collects_only(start_ns + 4 * MS, &timer));
    rgi_check(!rgi_timers_cancel(&queue, &timer));
}

/*
 * Nothing is kept of a cancelled timer, whatever the pattern: the queue holds
 * exactly what is armed, and its own size never changes.
 */
static void
tmr_20_cancelled_timers_leave_nothing(void)
{
    enum { TIMERS = 4096 };
    static struct rgi_timer timers[TIMERS];
    uint64_t random = rgi_seed();
    size_t armed = 0;

    set_up_at(start_ns);
    for (int round = 0; round < 4; round++) {
        for (int i = 0; i < TIMERS; i++) {
            armed += !rgi_timer_pending(&timers[i]);
            rgi_timers_arm(&queue, &timers[i],
                           start_ns + (next_random(&random) >> (i % 50)));
        }
        rgi_check(armed == TIMERS && rgi_timers_count(&queue) == armed);
        rgi_check(rgi_timers_valid(&queue));
        for (int i = 0; i < TIMERS; i++)
            if (i % 128 != 0 || round == 3)
                armed -= rgi_timers_cancel(&queue, &timers[i]);
        rgi_check(rgi_timers_count(&queue) == armed);
        rgi_check(rgi_timers_valid(&queue));
    }
    rgi_check(rgi_timers_next(&queue) == RGM_NEVER);
    rgi_check(collect_all(UINT64_MAX) == 0);
    /* The memory of all of them may go: nothing points there any more. */
    memset(timers, 0xff, sizeof(timers));
    rgi_check(rgi_timers_valid(&queue));
}

/* Bits of slots that cancels emptied are cleared when they are looked at. */
static void
tmr_20_an_emptied_slot_costs_one_look(void)
{
    struct rgi_timer timers[64] = {0}, last = {0};

    set_up_at(start_ns);
    for (uint64_t i = 0; i < 64; i++)
        rgi_timers_arm(&queue, &timers[i], start_ns + i * TICK);
    rgi_timers_arm(&queue, &last, start_ns + 3600 * RGM_NS_PER_S);
    for (int i = 0; i < 64; i++)
        rgi_check(rgi_timers_cancel(&queue, &timers[i]));
    rgi_check(rgi_timers_next(&queue) == last.deadline_ns);
    rgi_check(queue.occupied[0] == 0 && queue.occupied[1] == 0);
}

/* B14: a cancel before, during and after collection answers, and at once. */
static void
field_b14_cancel_before_during_and_after(void)
{
    struct rgi_timer timers[3] = {0};

    set_up_at(start_ns);
    for (int i = 0; i < 3; i++)
        rgi_timers_arm(&queue, &timers[i], start_ns + MS);
    rgi_check(rgi_timers_cancel(&queue, &timers[0]));
    rgi_check(collect_all(start_ns + MS) == 2);

    /* During: collected, not yet delivered. Its delivery does not happen. */
    rgi_check(rgi_timer_pending(&timers[2]));
    rgi_check(rgi_timers_cancel(&queue, &timers[2]));
    rgi_check(rgi_list_valid(&due));
    rgi_check(rgi_timers_count(&queue) == 0);
    rgi_check(rgi_timers_pop(&due) == &timers[1]);
    rgi_check(rgi_timers_pop(&due) == NULL);

    for (int i = 0; i < 3; i++)
        rgi_check(!rgi_timers_cancel(&queue, &timers[i]));
}

/* B14: one that is being delivered may cancel any other that was collected. */
static void
field_b14_one_delivery_cancels_the_rest(void)
{
    enum { TIMERS = 50 };
    struct rgi_timer timers[TIMERS] = {0};
    struct rgi_timer *timer;
    int delivered = 0;

    set_up_at(start_ns);
    for (uint64_t i = 0; i < TIMERS; i++)
        rgi_timers_arm(&queue, &timers[i], start_ns + i);
    rgi_check(collect_all(start_ns + TIMERS) == TIMERS);
    while ((timer = rgi_timers_pop(&due)) != NULL) {
        delivered++;
        for (int i = 0; i < TIMERS; i++)
            if (i % 7 != 0)
                rgi_timers_cancel(&queue, &timers[i]);
    }
    rgi_check(delivered == (TIMERS + 6) / 7);
}

/* B79: short delays, widths of words and "infinite" ones, never early. */
static void
field_b79_every_width_of_delay(void)
{
    static const uint64_t delays_ns[] = {
        0,
        1,
        999999,
        1000000,
        (UINT64_C(1) << 31) - 1,
        UINT64_C(1) << 31,
        UINT64_C(1) << 32,
        UINT64_C(30) * 60 * RGM_NS_PER_S,
        (UINT64_C(1) << 31) * RGM_NS_PER_MS,
        (UINT64_C(1) << 32) * RGM_NS_PER_MS,
        INT64_MAX,
    };

    for (size_t i = 0; i < sizeof(delays_ns) / sizeof(delays_ns[0]); i++) {
        struct rgi_timer timer = {0};
        uint64_t deadline_ns = start_ns + delays_ns[i];

        set_up_at(start_ns);
        rgi_timers_arm(&queue, &timer, deadline_ns);
        rgi_check(rgi_timers_next(&queue) == deadline_ns);
        rgi_check(collect_all(deadline_ns - 1) == 0);
        rgi_check(collects_only(deadline_ns, &timer));
    }
}

/* B79: the largest deadlines are far away, and RGM_NEVER is not a time. */
static void
field_b79_huge_means_not_in_this_run(void)
{
    static const uint64_t deadlines_ns[] = {INT64_MAX, (uint64_t)INT64_MAX + 1,
                                            UINT64_MAX - 1, RGM_NEVER};
    struct rgi_timer timers[4] = {0};

    set_up_at(start_ns);
    for (int i = 3; i >= 0; i--)
        rgi_timers_arm(&queue, &timers[i], deadlines_ns[i]);
    rgi_check(collect_all(start_ns + 3600 * RGM_NS_PER_S) == 0);
    rgi_check(collect_all(INT64_MAX - UINT64_C(1)) == 0);
    for (int i = 0; i < 3; i++) {
        rgi_check(rgi_timers_next(&queue) == deadlines_ns[i]);
        rgi_check(collects_only(deadlines_ns[i], &timers[i]));
    }
    rgi_check(rgi_timers_next(&queue) == RGM_NEVER);
    rgi_check(collect_all(UINT64_MAX) == 0);
    rgi_check(rgi_timers_count(&queue) == 1);
    rgi_check(rgi_timers_cancel(&queue, &timers[3]));
    rgi_check(rgi_timers_count(&queue) == 0);
}

/* B79: a zero delay armed in its own delivery waits for the next collect. */
static void
field_b79_rearming_zero_lets_others_proceed(void)
{
    struct rgi_timer eager = {0}, other = {0};
    uint64_t now_ns = start_ns;

    set_up_at(start_ns);
    rgi_timers_arm(&queue, &eager, now_ns);
    rgi_timers_arm(&queue, &other, now_ns + 50);
    for (int i = 0; i < 100; i++) {
        size_t collected = collect_all(now_ns);

        rgi_check(collected == (i == 50 ? 2 : 1));
        rgi_check(rgi_timers_pop(&due) == &eager);
        rgi_timers_arm(&queue, &eager, now_ns);
        rgi_check(rgi_timers_next(&queue) == now_ns);
        rgi_check((rgi_timers_pop(&due) == &other) == (i == 50));
        rgi_check(rgi_list_empty(&due));
        now_ns++;
    }
}

/* B80: a clock that starts just under each wrap of a width or unit. */
static void
field_b80_a_clock_just_under_each_wrap(void)
{
    static const uint64_t wraps_ns[] = {
        TICK,
        UINT64_C(1) << 31,
        UINT64_C(1) << 32,
        (UINT64_C(1) << 31) * RGM_NS_PER_US,
        (UINT64_C(1) << 32) * RGM_NS_PER_US,
        (UINT64_C(1) << 31) * RGM_NS_PER_MS,
        (UINT64_C(1) << 32) * RGM_NS_PER_MS,
        UINT64_C(1) << 48,
        UINT64_C(1) << 58,
        UINT64_C(1) << 63,
        UINT64_MAX,
    };

    for (size_t i = 0; i < sizeof(wraps_ns) / sizeof(wraps_ns[0]); i++) {
        uint64_t wrap_ns = wraps_ns[i];
        struct rgi_timer timers[5] = {0};

        set_up_at(wrap_ns - 3);
        rgi_timers_arm(&queue, &timers[4], UINT64_MAX - 1);
        rgi_timers_arm(&queue, &timers[3], wrap_ns);
        rgi_timers_arm(&queue, &timers[2], wrap_ns - 1);
        rgi_timers_arm(&queue, &timers[1], wrap_ns - 2);
        rgi_timers_arm(&queue, &timers[0], wrap_ns - 4);
        rgi_check(collects_only(wrap_ns - 3, &timers[0]));
        rgi_check(collects_only(wrap_ns - 2, &timers[1]));
        if (wrap_ns == UINT64_MAX) {
            /* Two are due in the last nanosecond there is, one is never. */
            rgi_check(collect_all(UINT64_MAX) == 2);
            rgi_check(rgi_timers_pop(&due) == &timers[4]);
            rgi_check(rgi_timers_pop(&due) == &timers[2]);
            rgi_check(rgi_timers_next(&queue) == RGM_NEVER);
            continue;
        }
        rgi_check(collects_only(wrap_ns - 1, &timers[2]));
        rgi_check(rgi_timers_next(&queue) == wrap_ns);
        rgi_check(collects_only(wrap_ns, &timers[3]));
        rgi_check(rgi_timers_next(&queue) == UINT64_MAX - 1);
    }
}

/* B80: absolute deadlines in the past are due, in their order, at once. */
static void
field_b80_deadlines_in_the_past(void)
{
    static const uint64_t deadlines_ns[] = {7, 0, start_ns - 1, 7,
                                            start_ns - 3600 * RGM_NS_PER_S};
    static const int order[] = {1, 0, 3, 4, 2};
    struct rgi_timer timers[5] = {0};

    set_up_at(start_ns);
    for (int i = 0; i < 5; i++)
        rgi_timers_arm(&queue, &timers[i], deadlines_ns[i]);
    rgi_check(rgi_timers_valid(&queue));
    rgi_check(rgi_timers_next(&queue) == 0);
    rgi_check(collect_all(start_ns) == 5);
    for (int i = 0; i < 5; i++)
        rgi_check(rgi_timers_pop(&due) == &timers[order[i]]);
}

/* B80: a clock that steps back makes nothing due, and nothing is lost. */
static void
field_b80_a_clock_that_steps_back(void)
{
    struct rgi_timer timers[3] = {0};

    set_up_at(start_ns);
    rgi_timers_arm(&queue, &timers[0], start_ns + MS);
    rgi_timers_arm(&queue, &timers[1], start_ns + MS + 1);
    rgi_check(collects_only(start_ns + MS, &timers[0]));
    rgi_check(collect_all(start_ns) == 0);
    rgi_timers_arm(&queue, &timers[2], start_ns + MS / 2);
    rgi_check(collect_all(start_ns + MS / 2 - 1) == 0);
    rgi_check(collects_only(start_ns + MS / 2, &timers[2]));
    rgi_check(collect_all(start_ns + MS) == 0);
    rgi_check(collects_only(start_ns + MS + 1, &timers[1]));
}

/* Sleeps to the next deadline until something is due. Returns the wakes. */
static int
wakes_until_due(void)
{
    int wakes = 0;

    while (rgi_list_empty(&due)) {
        collect_all(rgi_timers_next(&queue));
        wakes++;
    }
    return wakes;
}

/* B80: a wait of 1.5 ms, or any other, is one wake and not a busy loop. */
static void
field_b80_one_wake_for_one_timer(void)
{
    for (unsigned bit = 0; bit < 62; bit++) {
        struct rgi_timer timer = {0};

        set_up_at(start_ns);
        rgi_timers_arm(&queue, &timer, start_ns + (UINT64_C(3) << bit) / 2);
        rgi_check(wakes_until_due() == 1);
    }
}

/*
 * B80: a cancelled timer, or one armed anew, costs one wake at most, however
 * far away the others are.
 */
static void
field_b80_one_wake_for_a_cancelled_timer(void)
{
    for (unsigned bit = 0; bit < 60; bit++) {
        struct rgi_timer cancelled = {0}, rearmed = {0}, timer = {0};

        set_up_at(start_ns);
        rgi_timers_arm(&queue, &timer, start_ns + (UINT64_C(5) << bit));
        rgi_timers_arm(&queue, &cancelled, start_ns + (UINT64_C(3) << bit));
        rgi_timers_arm(&queue, &rearmed, start_ns + (UINT64_C(3) << bit) / 2);
        rgi_timers_arm(&queue, &rearmed, start_ns + (UINT64_C(6) << bit));
        rgi_timers_cancel(&queue, &cancelled);
        rgi_check(wakes_until_due() <= 3);
        rgi_check(rgi_timers_pop(&due) == &timer);
        rgi_check(wakes_until_due() == 1);
        rgi_check(rgi_timers_pop(&due) == &rearmed);
    }
}

/* The check for invariants sees each kind of damage. */
static void
valid_sees_damage(void)
{
    struct rgi_timer timers[2] = {0};

    set_up_at(start_ns);
    rgi_timers_arm(&queue, &timers[0], start_ns + 100 * MS);
    rgi_timers_arm(&queue, &timers[1], start_ns + 100 * MS);
    rgi_check(rgi_timers_valid(&queue));
    queue.count++;
    rgi_check(!rgi_timers_valid(&queue));
    queue.count -= 2;
    rgi_check(!rgi_timers_valid(&queue));
    queue.count++;
    timers[0].deadline_ns += 1000 * MS;
    rgi_check(!rgi_timers_valid(&queue));
    timers[0].deadline_ns -= 1001 * MS;
    rgi_check(!rgi_timers_valid(&queue));
    timers[0].deadline_ns += MS;
    queue.occupied[1] = 0;
    queue.occupied[0] = 0;
    rgi_check(!rgi_timers_valid(&queue));
}

#define CASES(X)                                                               \
    X(timers, an_empty_queue_is_quiet)                                         \
    X(timers, tmr_18_one_timer_is_exact)                                       \
    X(timers, tmr_18_order_is_exact_to_the_nanosecond)                         \
    X(timers, tmr_18_ties_keep_the_order_of_arming)                            \
    X(timers, tmr_18_rearming_goes_behind_equal_deadlines)                     \
    X(timers, tmr_18_a_limit_takes_a_prefix)                                   \
    X(timers, tmr_18_collecting_appends)                                       \
    X(timers, tmr_18_nothing_is_allocated)                                     \
    X(timers, tmr_18_work_of_one_collect_is_bounded)                           \
    X(timers, tmr_18_cancel_while_a_slot_is_unpacked)                          \
    X(timers, tmr_18_a_million_timers)                                         \
    X(timers, tmr_06_rearming_later_and_earlier)                               \
    X(timers, tmr_19_an_old_use_never_affects_a_newer_one)                     \
    X(timers, tmr_20_cancelled_timers_leave_nothing)                           \
    X(timers, tmr_20_an_emptied_slot_costs_one_look)                           \
    X(timers, field_b14_cancel_before_during_and_after)                        \
    X(timers, field_b14_one_delivery_cancels_the_rest)                         \
    X(timers, field_b79_every_width_of_delay)                                  \
    X(timers, field_b79_huge_means_not_in_this_run)                            \
    X(timers, field_b79_rearming_zero_lets_others_proceed)                     \
    X(timers, field_b80_a_clock_just_under_each_wrap)                          \
    X(timers, field_b80_deadlines_in_the_past)                                 \
    X(timers, field_b80_a_clock_that_steps_back)                               \
    X(timers, field_b80_one_wake_for_one_timer)                                \
    X(timers, field_b80_one_wake_for_a_cancelled_timer)                        \
    X(timers, valid_sees_damage)

RGI_CASES(CASES)
