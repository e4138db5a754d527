/* SPDX-License-Identifier: MIT */

/*
 * leases_ours.c - what do acquire and release of a buffer cost, here and across?
 *
 *     bench_leases N
 *
 *   try     take a free slot and drop it, N times in one handler
 *   ask     the same by a request: asked, answered, dropped, asked again
 *   across  one slot and two workers: whoever has it drops it and waits for it
 *           again, so each drop hands it over to the other worker, which begins
 *           with it; per hand-over
 *
 * There is no limit beside it: a bare compare-and-swap is a few nanoseconds, and
 * what a line costs between two cores is in `bench_limits line`.
 */

#include "bench/ours.h"

static uint64_t count;
static struct rgm_pool *pool;

struct taker {
    struct rgm_actor actor;
    struct rgm_acquire acquire;
    uint64_t done;
    uint64_t begin_ns;
};

RGM_HOOK(taker, taker_asks);
RGM_HOOK(taker, taker_tries);
RGM_ANSWER(taker, rgm_acquire, taker_has);

static void
taker_wait(struct taker *self)
{
    rgm_pool_acquire(&self->acquire, rgm_here(self), pool);
    rgm_ask(self, &self->acquire, RGM_REPLY(taker, rgm_acquire, taker_has));
}

static void
taker_asks(struct taker *self)
{
    self->begin_ns = bench_now_ns();
    taker_wait(self);
}

static void
report(const struct taker *self, const char *part, uint64_t operations)
{
    bench_report("lease", part,
                 (double)(bench_now_ns() - self->begin_ns) /
                     (double)operations,
                 "ns");
    rgm_runtime_stop(ours_runtime);
}

static void
taker_has(struct taker *self, struct rgm_acquire *acquire)
{
    bool alone = rgm_workers_count(&self->actor) == 1;

    if (rgm_status(acquire) == -ECANCELED)
        return; /* the other one was the last */
    ours_check("acquire", rgm_status(acquire));
    ours_check("drop", rgm_lease_drop(&acquire->lease));
    if (++self->done < count)
        taker_wait(self);
    else
        report(self, alone ? "ask_ns" : "across_ns", alone ? count : 2 * count);
}

static void
taker_tries(struct taker *self)
{
    self->begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        struct rgm_lease lease;

        ours_check("try", rgm_pool_try_acquire(pool, &lease));
        ours_check("drop", rgm_lease_drop(&lease));
    }
    report(self, "try_ns", count);
}

static const struct rgm_behaviour trier_behaviour = {
    .name = "trier",
    .size_bytes = sizeof(struct taker),
    .started = RGM_DO(taker, taker_tries),
};
static const struct rgm_behaviour asker_behaviour = {
    .name = "asker",
    .size_bytes = sizeof(struct taker),
    .started = RGM_DO(taker, taker_asks),
};

static void
play(uint32_t workers, uint32_t slots, const struct rgm_behaviour *behaviour)
{
    struct rgm_pool_options options = {
        .name = "bench", .slots_count = slots, .slot_size_bytes = 4096};

    ours_check("pool", rgm_pool_create(&options, &pool));
    ours_start(workers, 0);
    for (uint32_t i = 0; i < workers; i++)
        ours_spawn(i, behaviour, NULL);
    ours_wait();
    rgm_pool_destroy(pool);
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: bench_leases N\n", stderr);
        return 2;
    }
    count = bench_number(argv[1], UINT64_C(1) << 32);
    play(1, 1024, &trier_behaviour);
    play(1, 1024, &asker_behaviour);
    play(2, 1, &asker_behaviour);
    return 0;
}
