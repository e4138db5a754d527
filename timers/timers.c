/* SPDX-License-Identifier: MIT */

/*
 * timers.c - which deadlines of a worker have come, and which comes next?
 *
 * The way of a timer:
 *   1. arm:     push to the slot of the wheel that covers its deadline, the
 *               finest one that does not also cover the tick of today;
 *   2. enter:   when the first slot in time may hold something due, the wheel
 *               moves on to where that slot begins;
 *   3. unpack:  a coarse slot is spread over finer ones, a bounded number of
 *               timers per call;
 *   4. settle:  a finest slot is sorted and merged into the run, the list of
 *               what the wheel has reached;
 *   5. take:    the due part of the run moves to the caller's list.
 *
 * Equal deadlines keep the order of arming because at every moment they all
 * go to the same slot, at its end, and each of these steps keeps the order.
 *
 * Nothing here can fail. A cancel only unlinks; it leaves the slot's bit and
 * its earliest time behind, both of which may err on the early side and are
 * put right when the wheel looks there.
 */

#include "timers/timers.h"

#include "base/list.h"

_Static_assert((64 - RGI_TIMERS_TICK_BITS) % RGI_TIMERS_LEVEL_BITS == 0,
               "the levels reach exactly as far as a deadline can");
_Static_assert(RGI_TIMERS_SLOTS == 64, "one word holds a level's bits");
_Static_assert(RGI_TIMERS_SLOTS * RGI_TIMERS_LEVELS <= 1u << 20,
               "slots are few, and reach as far as 64 bits do");
_Static_assert(sizeof(struct rgi_timer) <= 48, "a timer must stay small");

static struct rgi_timer *
timer_of(const struct rgm_link *link)
{
    return rgi_container_of(link, struct rgi_timer, link);
}

static uint64_t
deadline_of(const struct rgm_link *link)
{
    return timer_of(link)->deadline_ns;
}

static uint64_t
tick_of(uint64_t deadline_ns)
{
    return deadline_ns >> RGI_TIMERS_TICK_BITS;
}

/* Which slot of `level` covers `tick`. */
static unsigned
index_at(uint64_t tick, unsigned level)
{
    return (tick >> (level * RGI_TIMERS_LEVEL_BITS)) & (RGI_TIMERS_SLOTS - 1);
}

/* The first tick of a slot on the wheel's present circle of `level`. */
static uint64_t
slot_start(const struct rgi_timers *timers, unsigned level, unsigned index)
{
    unsigned shift = level * RGI_TIMERS_LEVEL_BITS;
    uint64_t circle = timers->tick >> shift >> RGI_TIMERS_LEVEL_BITS;

    return ((circle << RGI_TIMERS_LEVEL_BITS) + index) << shift;
}

/* The level at which `tick`, later than the wheel's, first differs from it. */
static unsigned
level_of(const struct rgi_timers *timers, uint64_t tick)
{
    unsigned bit = 63u - (unsigned)__builtin_clzll(tick ^ timers->tick);

    return bit / RGI_TIMERS_LEVEL_BITS;
}

static void
slot_init(struct rgi_timers_slot *slot)
{
    rgi_list_init(&slot->list);
    slot->earliest_ns = RGM_NEVER;
}

static void
slot_push(struct rgi_timers_slot *slot, struct rgi_timer *timer)
{
    if (rgi_list_empty(&slot->list) || timer->deadline_ns < slot->earliest_ns)
        slot->earliest_ns = timer->deadline_ns;
    rgi_list_push_back(&slot->list, &timer->link);
}

/* Moves everything from `source` to `slot`, which is empty. */
static void
slot_move(struct rgi_timers_slot *slot, struct rgi_timers_slot *source)
{
    rgi_assert(rgi_list_empty(&slot->list));
    slot->earliest_ns = source->earliest_ns;
    rgi_list_splice_back(&slot->list, &source->list);
}

static uint64_t
slot_earliest(const struct rgi_timers_slot *slot)
{
    return rgi_list_empty(&slot->list) ? RGM_NEVER : slot->earliest_ns;
}

void
rgi_timers_init(struct rgi_timers *timers, uint64_t now_ns)
{
    timers->tick = tick_of(now_ns);
    timers->count = 0;
    rgi_list_init(&timers->run);
    slot_init(&timers->fresh);
    slot_init(&timers->unpacked);
    timers->unpacked_level = 0;
    for (unsigned level = 0; level < RGI_TIMERS_LEVELS; level++) {
        timers->occupied[level] = 0;
        for (unsigned index = 0; index < RGI_TIMERS_SLOTS; index++)
            slot_init(&timers->slots[level][index]);
    }
}

static void
place_in_wheel(struct rgi_timers *timers, struct rgi_timer *timer,
               unsigned level, uint64_t tick)
{
    unsigned index = index_at(tick, level);

    slot_push(&timers->slots[level][index], timer);
    timers->occupied[level] |= UINT64_C(1) << index;
}

/*
 * While a slot is being unpacked, a new timer that belongs to its stretch of
 * time waits there behind the older ones: were it placed at once, it would
 * overtake one of them with the same deadline.
 */
static void
place(struct rgi_timers *timers, struct rgi_timer *timer)
{
    uint64_t tick = tick_of(timer->deadline_ns);
    unsigned level;

    if (tick < timers->tick) {
        slot_push(&timers->fresh, timer);
        return;
    }
    level = tick == timers->tick ? 0 : level_of(timers, tick);
    if (level < timers->unpacked_level)
        slot_push(&timers->unpacked, timer);
    else if (tick == timers->tick)
        slot_push(&timers->fresh, timer);
    else
        place_in_wheel(timers, timer, level, tick);
}

void
rgi_timers_arm(struct rgi_timers *timers, struct rgi_timer *timer,
               uint64_t deadline_ns)
{
    rgi_timers_cancel(timers, timer);
    timer->deadline_ns = deadline_ns;
    timer->place = RGI_TIMER_ARMED;
    timers->count++;
    place(timers, timer);
}

bool
rgi_timers_cancel(struct rgi_timers *timers, struct rgi_timer *timer)
{
    if (!rgi_timer_pending(timer))
        return false;
    if (timer->place == RGI_TIMER_ARMED)
        timers->count--;
    rgi_list_remove(&timer->link);
    timer->place = RGI_TIMER_IDLE;
    return true;
}

bool
rgi_timer_pending(const struct rgi_timer *timer)
{
    return rgi_list_is_linked(&timer->link);
}

struct rgi_timer *
rgi_timers_pop(struct rgm_link *due)
{
    struct rgm_link *link = rgi_list_pop_front(due);

    if (link == NULL)
        return NULL;
    timer_of(link)->place = RGI_TIMER_IDLE;
    return timer_of(link);
}

size_t
rgi_timers_count(const struct rgi_timers *timers)
{
    return timers->count;
}

/*
 * The slot whose time comes first, clearing the bits of slots that cancels
 * have emptied. Finer levels come first: all of them lie within the coarser
 * slot in which the wheel stands. Returns NULL when the wheel is empty.
 */
static struct rgi_timers_slot *
first_slot(struct rgi_timers *timers, unsigned *ret_level, unsigned *ret_index)
{
    for (unsigned level = 0; level < RGI_TIMERS_LEVELS; level++) {
        while (timers->occupied[level] != 0) {
            unsigned index = (unsigned)__builtin_ctzll(timers->occupied[level]);
            struct rgi_timers_slot *slot = &timers->slots[level][index];

            if (!rgi_list_empty(&slot->list)) {
                *ret_level = level;
                *ret_index = index;
                return slot;
            }
            timers->occupied[level] &= timers->occupied[level] - 1;
        }
    }
    return NULL;
}

uint64_t
rgi_timers_next(struct rgi_timers *timers)
{
    unsigned level, index;
    const struct rgi_timers_slot *slot;
    uint64_t next_ns = RGM_NEVER;

    if (timers->count == 0)
        return RGM_NEVER;
    if (!rgi_list_empty(&timers->run))
        next_ns = deadline_of(timers->run.next);
    if (slot_earliest(&timers->fresh) < next_ns)
        next_ns = timers->fresh.earliest_ns;
    if (slot_earliest(&timers->unpacked) < next_ns)
        next_ns = timers->unpacked.earliest_ns;
    slot = first_slot(timers, &level, &index);
    if (slot != NULL && slot->earliest_ns < next_ns)
        next_ns = slot->earliest_ns;
    return next_ns;
}

/*
 * Sorting works on chains: links joined by `next` alone, NULL at the end.
 * Merges two of them; what is equal comes from `older` first.
 */
static struct rgm_link *
merge(struct rgm_link *older, struct rgm_link *newer)
{
    struct rgm_link *chain;
    struct rgm_link **end = &chain;

    while (older != NULL && newer != NULL) {
        struct rgm_link **first =
            deadline_of(older) <= deadline_of(newer) ? &older : &newer;

        *end = *first;
        end = &(*first)->next;
        *first = *end;
    }
    *end = older != NULL ? older : newer;
    return chain;
}

/* Cuts off the longest beginning of `*chain` that is already in order. */
static struct rgm_link *
cut_ordered(struct rgm_link **chain)
{
    struct rgm_link *first = *chain;
    struct rgm_link *last = first;

    while (last->next != NULL && deadline_of(last) <= deadline_of(last->next))
        last = last->next;
    *chain = last->next;
    last->next = NULL;
    return first;
}

/*
 * A merge sort from the bottom up, stable and without recursion: pile n holds
 * what was merged from 2^n ordered pieces. Timers armed in the order of their
 * deadlines, the usual case, are one piece and cost one look each.
 */
static struct rgm_link *
sort(struct rgm_link *chain)
{
    struct rgm_link *piles[64] = {NULL};
    struct rgm_link *sorted = NULL;
    unsigned height = 0;

    while (chain != NULL) {
        struct rgm_link *piece = cut_ordered(&chain);
        unsigned n = 0;

        for (; piles[n] != NULL; n++) {
            piece = merge(piles[n], piece);
            piles[n] = NULL;
        }
        piles[n] = piece;
        if (n >= height)
            height = n + 1;
    }
    for (unsigned n = 0; n < height; n++)
        sorted = merge(piles[n], sorted);
    return sorted;
}

/* Takes everything out of `list`, as a chain. */
static struct rgm_link *
unlink_all(struct rgm_link *list)
{
    struct rgm_link *chain = rgi_list_first(list);

    list->previous->next = NULL;
    rgi_list_init(list);
    return chain;
}

/*
 * Merges what is fresh into the run. The place is looked for from the end,
 * where newly armed timers mostly belong.
 */
static void
settle(struct rgi_timers *timers)
{
    struct rgm_link *chain = sort(unlink_all(&timers->fresh.list));
    struct rgm_link *run = &timers->run;
    struct rgm_link *behind = run;

    while (behind->previous != run &&
           deadline_of(behind->previous) > deadline_of(chain))
        behind = behind->previous;
    while (chain != NULL) {
        struct rgm_link *link = chain;

        chain = chain->next;
        while (behind != run && deadline_of(behind) <= deadline_of(link))
            behind = behind->next;
        link->next = behind;
        link->previous = behind->previous;
        behind->previous->next = link;
        behind->previous = link;
    }
}

/* Moves the due beginning of the run to the caller. Returns how many. */
static size_t
take(struct rgi_timers *timers, uint64_t now_ns, size_t limit,
     struct rgm_link *due)
{
    struct rgm_link *first = timers->run.next;
    struct rgm_link *end = first;
    size_t taken = 0;

    while (taken < limit && end != &timers->run && deadline_of(end) <= now_ns) {
        timer_of(end)->place = RGI_TIMER_COLLECTED;
        end = end->next;
        taken++;
    }
    if (taken == 0)
        return 0;
    first->previous = due->previous;
    due->previous->next = first;
    due->previous = end->previous;
    end->previous->next = due;
    timers->run.next = end;
    end->previous = &timers->run;
    timers->count -= taken;
    return taken;
}

/* Spreads over the finer slots what fits into `*moves`, and counts it off. */
static void
unpack(struct rgi_timers *timers, size_t *moves)
{
    struct rgm_link *link;

    while (*moves > 0) {
        struct rgi_timer *timer;
        uint64_t tick;

        link = rgi_list_pop_front(&timers->unpacked.list);
        if (link == NULL) {
            timers->unpacked_level = 0;
            return;
        }
        timer = timer_of(link);
        tick = tick_of(timer->deadline_ns);
        if (tick == timers->tick)
            slot_push(&timers->fresh, timer);
        else
            place_in_wheel(timers, timer, level_of(timers, tick), tick);
        (*moves)--;
    }
}

/*
 * Moves the wheel into its first slot if that may hold something due, right to
 * the earliest time in there, so that a lonely timer goes from any slot
 * straight to the run. If nothing is due, moves the wheel as far as today if no
 * slot begins before that: the nearer the wheel is, the finer the slot a new
 * timer finds. Returns whether a slot was entered.
 */
static bool
enter(struct rgi_timers *timers, uint64_t now_ns)
{
    unsigned level = 0, index = 0;
    struct rgi_timers_slot *slot = first_slot(timers, &level, &index);
    uint64_t today = tick_of(now_ns);
    uint64_t start =
        slot == NULL ? UINT64_MAX : slot_start(timers, level, index);

    if (slot == NULL || slot->earliest_ns > now_ns) {
        if (today > timers->tick && today < start)
            timers->tick = today;
        return false;
    }
    timers->tick = tick_of(slot->earliest_ns);
    timers->unpacked_level = level;
    slot_move(level == 0 ? &timers->fresh : &timers->unpacked, slot);
    timers->occupied[level] &= ~(UINT64_C(1) << index);
    return true;
}

size_t
rgi_timers_collect(struct rgi_timers *timers, uint64_t now_ns, size_t limit,
                   struct rgm_link *due)
{
    size_t moves = limit == SIZE_MAX ? SIZE_MAX : RGI_TIMERS_MOVES;
    size_t taken = 0;

    if (now_ns == RGM_NEVER)
        now_ns--;
    do {
        if (timers->unpacked_level != 0)
            unpack(timers, &moves);
        if (timers->unpacked_level != 0)
            break;
        if (slot_earliest(&timers->fresh) <= now_ns)
            settle(timers);
        taken += take(timers, now_ns, limit - taken, due);
        /* What the run still has is not due, and all else is later. */
    } while (taken < limit && enter(timers, now_ns));
    return taken;
}

static bool
list_valid(const struct rgi_timers *timers, const struct rgm_link *list,
           uint64_t earliest_ns, size_t *count)
{
    if (!rgi_list_valid(list))
        return false;
    for (const struct rgm_link *link = list->next; link != list;
         link = link->next) {
        if (timer_of(link)->place != RGI_TIMER_ARMED ||
            deadline_of(link) < earliest_ns || (*count)++ == timers->count)
            return false;
    }
    return true;
}

/* Whether every timer is where a new one of the same deadline would go. */
static bool
slot_valid(const struct rgi_timers *timers, unsigned level, unsigned index,
           size_t *count)
{
    const struct rgi_timers_slot *slot = &timers->slots[level][index];

    if (!list_valid(timers, &slot->list, slot->earliest_ns, count))
        return false;
    if (!rgi_list_empty(&slot->list) &&
        (timers->occupied[level] >> index & 1) == 0)
        return false;
    for (const struct rgm_link *link = slot->list.next; link != &slot->list;
         link = link->next) {
        uint64_t tick = tick_of(deadline_of(link));

        if (tick <= timers->tick || level_of(timers, tick) != level ||
            index_at(tick, level) != index)
            return false;
    }
    return true;
}

/* Whether the run is in order and has nothing the wheel has not reached. */
static bool
run_valid(const struct rgi_timers *timers, size_t *count)
{
    const struct rgm_link *run = &timers->run;

    if (!list_valid(timers, run, 0, count) ||
        !list_valid(timers, &timers->fresh.list, timers->fresh.earliest_ns,
                    count))
        return false;
    for (const struct rgm_link *link = run->next; link != run;
         link = link->next) {
        if (tick_of(deadline_of(link)) > timers->tick ||
            (link->next != run && deadline_of(link) > deadline_of(link->next)))
            return false;
    }
    for (const struct rgm_link *link = timers->fresh.list.next;
         link != &timers->fresh.list; link = link->next)
        if (tick_of(deadline_of(link)) > timers->tick)
            return false;
    return true;
}

/* Whether what waits to be unpacked lies in the slot that is being unpacked. */
static bool
unpacked_valid(const struct rgi_timers *timers, size_t *count)
{
    const struct rgm_link *list = &timers->unpacked.list;
    unsigned shift = timers->unpacked_level * RGI_TIMERS_LEVEL_BITS;

    if (!list_valid(timers, list, timers->unpacked.earliest_ns, count))
        return false;
    for (const struct rgm_link *link = list->next; link != list;
         link = link->next)
        if (shift == 0 ||
            tick_of(deadline_of(link)) >> shift != timers->tick >> shift)
            return false;
    return true;
}

bool
rgi_timers_valid(const struct rgi_timers *timers)
{
    size_t count = 0;

    if (!run_valid(timers, &count) || !unpacked_valid(timers, &count))
        return false;
    for (unsigned level = 0; level < RGI_TIMERS_LEVELS; level++)
        for (unsigned index = 0; index < RGI_TIMERS_SLOTS; index++)
            if (!slot_valid(timers, level, index, &count))
                return false;
    return count == timers->count;
}
