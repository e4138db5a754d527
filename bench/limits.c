/* SPDX-License-Identifier: MIT */

/*
 * limits.c - what does this machine allow at most, without any runtime?
 *
 *     bench_limits line N      one cache line between two cores, there and back
 *     bench_limits futex N     the same between threads that sleep
 *     bench_limits local N     two bare actors on one thread, round trip
 *     bench_limits one-way N   batched ring, one producer and one consumer
 *     bench_limits both-ways N two such rings, half of N each way
 *     bench_limits actors N    make N bare actors, message each, have each act
 *     bench_limits wheel N     insert, cancel and fire N timers
 *
 * All but `actors` are also played by the programs of ours, in slices; here they
 * stand alone, to look at the machine. `actors` and `wheel` are run before and
 * after ours.
 */

#include "bench/duet.h"
#include "bench/solo.h"
#include "bench/wheel.h"

#include <pthread.h>

static struct duet duet;
static enum duet_piece piece;
static uint64_t count;

static void *
other_side(void *unused)
{
    bench_pin(1);
    duet_play(&duet, piece, 1, count);
    return unused;
}

static void
run_duet(const char *name, enum duet_piece played)
{
    pthread_t thread;
    uint64_t ns;
    int status;

    piece = played;
    status = pthread_create(&thread, NULL, other_side, NULL);
    if (status != 0)
        bench_fail("thread", status);
    ns = duet_play(&duet, piece, 0, count);
    pthread_join(thread, NULL);
    bench_report(name, "ns", (double)ns / (double)count, "ns");
}

static void
run_line(void)
{
    run_duet("line", DUET_LINE);
}

static void
run_futex(void)
{
    run_duet("futex", DUET_FUTEX);
}

static void
run_one_way(void)
{
    run_duet("one-way", DUET_ONE_WAY);
}

static void
run_both_ways(void)
{
    run_duet("both-ways", DUET_BOTH_WAYS);
}

static void
run_local(void)
{
    bench_report("local", "ns", (double)solo_bounce(count) / (double)count,
                 "ns");
}

/* The least an actor can be: what it does, what it got, and some state. */
struct bare_actor {
    void (*handle)(struct bare_actor *, uint64_t);
    struct bare_actor *ready_next;
    uint64_t message;
    uint64_t state[5];
};

static uint64_t answers;

static void
bare_handle(struct bare_actor *self, uint64_t value)
{
    self->state[0] += value;
    answers++;
}

static struct bare_actor *
bare_make(void)
{
    struct bare_actor *actor = malloc(sizeof(*actor));

    if (actor == NULL)
        bench_fail("actor", ENOMEM);
    memset(actor, 0, sizeof(*actor));
    actor->handle = bare_handle;
    return actor;
}

static void
run_actors(void)
{
    struct bare_actor **all = malloc(count * sizeof(*all));
    struct bare_actor *queue = NULL, **last = &queue;
    double before_bytes;
    uint64_t begin_ns, made_ns, end_ns;

    if (all == NULL)
        bench_fail("actors", ENOMEM);
    memset(all, 1, count * sizeof(*all));
    before_bytes = bench_resident_bytes();
    begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++)
        all[i] = bare_make();
    made_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        all[i]->message = 1;
        *last = all[i];
        last = &all[i]->ready_next;
    }
    for (; queue != NULL; queue = queue->ready_next)
        queue->handle(queue, queue->message);
    end_ns = bench_now_ns();
    if (answers != count)
        bench_fail("answers", EPROTO);
    bench_report("actors", "create_ns",
                 (double)(made_ns - begin_ns) / (double)count, "ns");
    bench_report("actors", "ns", (double)(end_ns - begin_ns) / (double)count,
                 "ns");
    bench_report("actors", "bytes",
                 (bench_resident_bytes() - before_bytes) / (double)count,
                 "bytes");
}

static uint64_t fired;

static void
count_fired(struct wheel_timer *timer)
{
    (void)timer;
    fired++;
}

static void
wheel_fill(struct wheel *wheel, struct wheel_timer *timers, uint64_t from_ms,
           uint64_t spread_ms)
{
    for (uint64_t i = 0; i < count; i++) {
        timers[i].fire = count_fired;
        timers[i].due_tick = wheel->tick + from_ms + i * 7919 % spread_ms;
        wheel_insert(wheel, &timers[i]);
    }
}

static void
run_wheel(void)
{
    static struct wheel wheel;
    struct wheel_timer *timers = malloc(count * sizeof(*timers));
    uint64_t begin_ns, inserted_ns, cancelled_ns;

    if (timers == NULL)
        bench_fail("timers", ENOMEM);
    memset(timers, 1, count * sizeof(*timers));
    wheel.tick = bench_now_ns() / 1000000;
    begin_ns = bench_now_ns();
    wheel_fill(&wheel, timers, 60000, 60000);
    inserted_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++)
        wheel_cancel(&wheel, &timers[i]);
    cancelled_ns = bench_now_ns();
    bench_report("wheel", "insert_cancel_ns",
                 (double)(cancelled_ns - begin_ns) / (double)count, "ns");
    bench_report("wheel", "insert_ns",
                 (double)(inserted_ns - begin_ns) / (double)count, "ns");
    wheel_fill(&wheel, timers, 0, 1000);
    begin_ns = bench_now_ns();
    wheel_advance(&wheel, wheel.tick + 1000);
    bench_report("wheel", "fire_ns",
                 (double)(bench_now_ns() - begin_ns) / (double)count, "ns");
    if (fired != count)
        bench_fail("timers fired", EPROTO);
}

static const struct limit {
    const char *name;
    void (*run)(void);
} limits[] = {
    {"line", run_line},           {"futex", run_futex},
    {"one-way", run_one_way},     {"both-ways", run_both_ways},
    {"local", run_local},         {"actors", run_actors},
    {"wheel", run_wheel},
};

int
main(int argc, char **argv)
{
    if (argc == 3) {
        for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
            if (strcmp(limits[i].name, argv[1]) != 0)
                continue;
            count = bench_number(argv[2], UINT64_C(1) << 40);
            bench_pin(0);
            limits[i].run();
            return 0;
        }
    }
    fputs("usage: bench_limits "
          "line|futex|local|one-way|both-ways|actors|wheel N\n",
          stderr);
    return 2;
}
