/* SPDX-License-Identifier: MIT */
#ifndef BENCH_DUET_H
#define BENCH_DUET_H

/*
 * duet.h - what do two cores reach at most, with nothing in between?
 *
 * Each limit is a piece for two threads. Both call duet_play with the same
 * piece and count, one as side 0 and the other as side 1; it begins when both
 * are there and ends when both are through. The threads may be plain ones, or
 * workers inside a handler: so the limit and the runtime can be measured in
 * alternating slices on the same two threads.
 *
 *   DUET_LINE       a number goes to the other core and comes back; one round
 *                   trip of a cache line
 *   DUET_FUTEX      the same between threads that sleep meanwhile: each works for
 *                   DUET_WORK_NS before it throws, so that the other is asleep
 *                   for certain; the work is not counted
 *   DUET_ONE_WAY    pointers through a ring of one producer and one consumer,
 *                   each with a private copy of the other's index, published
 *                   once per 64
 *   DUET_BOTH_WAYS  two such rings, each side sending half of the count
 */

#include "bench/bench.h"

#include <linux/futex.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>

#define DUET_RING 4096u
#define DUET_PUBLISH 64u
#define DUET_WORK_NS UINT64_C(20000)

enum duet_piece {
    DUET_LINE,
    DUET_FUTEX,
    DUET_ONE_WAY,
    DUET_BOTH_WAYS,
    DUET_PIECES_COUNT
};

struct duet_line {
    _Alignas(BENCH_CACHE_LINES) _Atomic uint64_t value;
};

struct duet_item {
    uint64_t value;
    struct duet_item *next; /* unused: the size of the smallest message */
};

struct duet_ring {
    _Alignas(BENCH_CACHE_LINES) _Atomic uint32_t tail; /* producer's */
    _Alignas(BENCH_CACHE_LINES) _Atomic uint32_t head; /* consumer's */
    _Alignas(BENCH_CACHE_LINES) uint32_t put;          /* producer's */
    uint32_t head_seen;
    _Alignas(BENCH_CACHE_LINES) uint32_t got; /* consumer's */
    uint32_t tail_seen;
    _Alignas(BENCH_CACHE_LINES) struct duet_item *slots[DUET_RING];
};

struct duet {
    struct duet_line here[2]; /* how often each side has come */
    struct duet_line ball[2]; /* written by that side */
    struct {
        _Alignas(BENCH_CACHE_LINES) _Atomic uint32_t word;
    } bed[2];                  /* where each side sleeps */
    struct duet_ring rings[2]; /* towards that side */
    struct duet_item items[2][2 * DUET_RING];
    struct {
        _Alignas(BENCH_CACHE_LINES) uint64_t sum;
    } seen[2]; /* so that reading a message is not optimised away */
};

/* Waits, spinning, until the other side has come as often. */
static inline void
duet_meet(struct duet *duet, unsigned side)
{
    struct duet_line *own = &duet->here[side], *other = &duet->here[!side];
    uint64_t times = atomic_load_explicit(&own->value, memory_order_relaxed) + 1;

    /* Publishes all earlier work of this side to the other. */
    atomic_store_explicit(&own->value, times, memory_order_release);
    /* Observes it from the other. */
    while (atomic_load_explicit(&other->value, memory_order_acquire) < times)
        ;
}

static inline void
duet_line_throw(struct duet *duet, unsigned side, uint64_t number)
{
    /* Publishes the number to the other side. */
    atomic_store_explicit(&duet->ball[side].value, number,
                          memory_order_release);
}

static inline void
duet_line_catch(struct duet *duet, unsigned side, uint64_t number)
{
    /* Observes the number from the other side. */
    while (atomic_load_explicit(&duet->ball[!side].value,
                                memory_order_acquire) != number)
        ;
}

static inline void
duet_line(struct duet *duet, unsigned side, uint64_t count)
{
    uint64_t first = atomic_load_explicit(&duet->ball[side].value,
                                          memory_order_relaxed);

    for (uint64_t i = first + 1; i <= first + count; i++) {
        if (side == 0)
            duet_line_throw(duet, side, i);
        duet_line_catch(duet, side, i);
        if (side == 1)
            duet_line_throw(duet, side, i);
    }
}

static inline void
duet_work(void)
{
    uint64_t begin_ns = bench_now_ns();

    while (bench_now_ns() < begin_ns + DUET_WORK_NS)
        ;
}

static inline void
duet_futex_wake(_Atomic uint32_t *word)
{
    /* Publishes one more turn to the side that sleeps here. */
    atomic_fetch_add_explicit(word, 1, memory_order_release);
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void
duet_futex_wait(_Atomic uint32_t *word, uint32_t old)
{
    /* Observes the turn from the side that wakes. */
    while (atomic_load_explicit(word, memory_order_acquire) == old)
        syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}

static inline void
duet_futex(struct duet *duet, unsigned side, uint64_t count)
{
    _Atomic uint32_t *own = &duet->bed[side].word;
    static _Thread_local uint32_t turn;

    for (uint64_t i = 0; i < count; i++, turn++) {
        if (side == 1)
            duet_futex_wait(own, turn);
        duet_work();
        duet_futex_wake(&duet->bed[!side].word);
        if (side == 0)
            duet_futex_wait(own, turn);
    }
}

static inline bool
duet_ring_put(struct duet_ring *ring, struct duet_item *item)
{
    if (ring->put - ring->head_seen == DUET_RING) {
        /* Observes from the consumer which slots are free again. */
        ring->head_seen = atomic_load_explicit(&ring->head,
                                               memory_order_acquire);
        if (ring->put - ring->head_seen == DUET_RING)
            return false;
    }
    ring->slots[ring->put++ % DUET_RING] = item;
    return true;
}

static inline void
duet_ring_publish(struct duet_ring *ring)
{
    /* Publishes the slots up to here to the consumer. */
    atomic_store_explicit(&ring->tail, ring->put, memory_order_release);
}

static inline void
duet_ring_release(struct duet_ring *ring)
{
    /* Publishes to the producer that the slots up to here are free. */
    atomic_store_explicit(&ring->head, ring->got, memory_order_release);
}

static inline struct duet_item *
duet_ring_get(struct duet_ring *ring)
{
    struct duet_item *item;

    if (ring->got == ring->tail_seen) {
        duet_ring_release(ring);
        /* Observes filled slots from the producer. */
        ring->tail_seen = atomic_load_explicit(&ring->tail,
                                               memory_order_acquire);
        if (ring->got == ring->tail_seen)
            return NULL;
    }
    item = ring->slots[ring->got++ % DUET_RING];
    if (ring->got % DUET_PUBLISH == 0)
        duet_ring_release(ring);
    return item;
}

static inline void
duet_produce(struct duet *duet, uint64_t count)
{
    struct duet_ring *ring = &duet->rings[1];

    for (uint64_t i = 0; i < count; i++) {
        struct duet_item *item = &duet->items[0][i % (2 * DUET_RING)];

        item->value = i;
        while (!duet_ring_put(ring, item))
            duet_ring_publish(ring);
        if (i % DUET_PUBLISH == 0)
            duet_ring_publish(ring);
    }
    duet_ring_publish(ring);
}

static inline void
duet_consume(struct duet *duet, uint64_t count)
{
    uint64_t sum = 0;

    for (uint64_t i = 0; i < count;) {
        struct duet_item *item = duet_ring_get(&duet->rings[1]);

        if (item != NULL) {
            sum += item->value;
            i++;
        }
    }
    duet->seen[1].sum = sum;
}

static inline void
duet_one_way(struct duet *duet, unsigned side, uint64_t count)
{
    if (side == 0)
        duet_produce(duet, count);
    else
        duet_consume(duet, count);
}

/* Send at most one publication's worth; how many of `left` it was. */
static inline uint64_t
duet_send_some(struct duet *duet, unsigned side, uint64_t next, uint64_t left)
{
    struct duet_ring *ring = &duet->rings[!side];
    uint64_t sent = 0;

    while (sent < DUET_PUBLISH && sent < left) {
        struct duet_item *item =
            &duet->items[side][(next + sent) % (2 * DUET_RING)];

        item->value = next + sent;
        if (!duet_ring_put(ring, item))
            break;
        sent++;
    }
    duet_ring_publish(ring);
    return sent;
}

static inline uint64_t
duet_receive_some(struct duet *duet, unsigned side, uint64_t left)
{
    uint64_t received = 0;

    while (received < DUET_PUBLISH && received < left) {
        struct duet_item *item = duet_ring_get(&duet->rings[side]);

        if (item == NULL)
            break;
        duet->seen[side].sum += item->value;
        received++;
    }
    return received;
}

static inline void
duet_both_ways(struct duet *duet, unsigned side, uint64_t count)
{
    uint64_t half = count / 2, sent = 0, received = 0;

    while (sent < half || received < half) {
        sent += duet_send_some(duet, side, sent, half - sent);
        received += duet_receive_some(duet, side, half - received);
    }
}

/* Play one side of a piece. Returns how long it took, in ns. */
static inline uint64_t
duet_play(struct duet *duet, enum duet_piece piece, unsigned side,
          uint64_t count)
{
    static void (*const pieces[DUET_PIECES_COUNT])(struct duet *, unsigned,
                                                   uint64_t) = {
        [DUET_LINE] = duet_line,
        [DUET_FUTEX] = duet_futex,
        [DUET_ONE_WAY] = duet_one_way,
        [DUET_BOTH_WAYS] = duet_both_ways,
    };
    uint64_t begin_ns, work_ns = 0;

    if (piece == DUET_FUTEX)
        work_ns = 2 * count * DUET_WORK_NS;
    duet_meet(duet, side);
    begin_ns = bench_now_ns();
    pieces[piece](duet, side, count);
    duet_meet(duet, side);
    return bench_now_ns() - begin_ns - work_ns;
}

#endif /* BENCH_DUET_H */
