/* SPDX-License-Identifier: MIT */

/*
 * timers_micro.c - what does the order of timers cost over a bare wheel?
 *
 *     bench_timers SLICES N
 *
 * N timers are armed 60 to 120 s ahead and cancelled in that order; then N are
 * armed within a second and all fall due. Slices of the bare wheel alternate
 * with slices of the queue the workers have, which also keeps the order, is
 * exact to the nanosecond and knows the next deadline. The only program here
 * that looks behind the public headers: through them a timer is always part of
 * a request (see w7_ours.c).
 */

#include "bench/wheel.h"
#include "timers/timers.h"

#define MS RGM_NS_PER_MS

static uint64_t count, fired;
static struct bench_slices cancel_slices, fire_slices;

static struct wheel wheel;
static struct wheel_timer *wheel_timers;
static struct rgi_timers queue;
static struct rgi_timer *queue_timers;

static void *
memory(size_t size_bytes)
{
    void *bytes = malloc(count * size_bytes);

    if (bytes == NULL)
        bench_fail("timers", ENOMEM);
    memset(bytes, 0, count * size_bytes);
    return bytes;
}

static double
per_timer(uint64_t begin_ns)
{
    return (double)(bench_now_ns() - begin_ns) / (double)count;
}

static uint64_t
ahead_ms(uint64_t i)
{
    return 60000 + i * 7919 % 60000;
}

static void
count_fired(struct wheel_timer *timer)
{
    (void)timer;
    fired++;
}

static double
wheel_cancel_all(void)
{
    uint64_t begin_ns = bench_now_ns();

    for (uint64_t i = 0; i < count; i++) {
        wheel_timers[i].fire = count_fired;
        wheel_timers[i].due_tick = wheel.tick + ahead_ms(i);
        wheel_insert(&wheel, &wheel_timers[i]);
    }
    for (uint64_t i = 0; i < count; i++)
        wheel_cancel(&wheel, &wheel_timers[i]);
    return per_timer(begin_ns);
}

static double
wheel_fire_all(void)
{
    uint64_t begin_ns;

    for (uint64_t i = 0; i < count; i++) {
        wheel_timers[i].due_tick = wheel.tick + i * 7919 % 1000;
        wheel_insert(&wheel, &wheel_timers[i]);
    }
    begin_ns = bench_now_ns();
    wheel_advance(&wheel, wheel.tick + 1000);
    return per_timer(begin_ns);
}

static double
queue_cancel_all(uint64_t now_ns)
{
    uint64_t begin_ns = bench_now_ns();

    for (uint64_t i = 0; i < count; i++)
        rgi_timers_arm(&queue, &queue_timers[i], now_ns + ahead_ms(i) * MS);
    for (uint64_t i = 0; i < count; i++)
        rgi_timers_cancel(&queue, &queue_timers[i]);
    return per_timer(begin_ns);
}

static double
queue_fire_all(uint64_t now_ns)
{
    uint64_t begin_ns;
    struct rgm_link due = {&due, &due};

    for (uint64_t i = 0; i < count; i++)
        rgi_timers_arm(&queue, &queue_timers[i], now_ns + i * 7919 % 1000 * MS);
    begin_ns = bench_now_ns();
    while (rgi_timers_collect(&queue, now_ns + 1000 * MS, 256, &due) != 0 ||
           rgi_timers_next(&queue) <= now_ns + 1000 * MS)
        while (rgi_timers_pop(&due) != NULL)
            fired++;
    return per_timer(begin_ns);
}

int
main(int argc, char **argv)
{
    size_t slices;
    uint64_t now_ns;

    if (argc != 3) {
        fputs("usage: bench_timers SLICES N\n", stderr);
        return 2;
    }
    slices = bench_number(argv[1], BENCH_SLICES_MAX);
    count = bench_number(argv[2], UINT64_C(1) << 24);
    bench_pin(0);
    now_ns = bench_now_ns();
    wheel.tick = now_ns / MS;
    rgi_timers_init(&queue, now_ns);
    wheel_timers = memory(sizeof(*wheel_timers));
    queue_timers = memory(sizeof(*queue_timers));
    cancel_slices.count = fire_slices.count = slices;
    for (size_t i = 0; i <= slices; i++, now_ns += 2000 * MS) {
        cancel_slices.limit[i] = wheel_cancel_all();
        fire_slices.limit[i] = wheel_fire_all();
        if (i == slices)
            break;
        cancel_slices.ours[i] = queue_cancel_all(now_ns);
        fire_slices.ours[i] = queue_fire_all(now_ns);
    }
    if (fired != count * (2 * slices + 1))
        bench_fail("timers fired", EPROTO);
    bench_slices_report(&cancel_slices, "insert_cancel", 0);
    bench_slices_report(&fire_slices, "fire", 0);
    return 0;
}
