/* SPDX-License-Identifier: MIT */

/*
 * loop_ours.c - what does an ask cost, and how long does it stand in line?
 *
 *     bench_loop ACTORS PROBES
 *
 * One worker. A probe is an ask of an actor on it, told one from the other: its
 * cost, when nothing else is runnable, and its delay, when ACTORS others are and
 * each burns two microseconds and then sends itself its next message. Nobody is
 * served twice before everybody was once, so a delay of more than a few rounds of
 * all would be a fault.
 */

#include "bench/ours.h"

#define BURN_NS 2000

static uint64_t actors_count, probes_count;
static double *delays;

struct tick {
    struct rgm_message message;
};
RGM_MESSAGE(tick);

struct probe {
    struct rgm_request request;
};
RGM_REQUEST(probe);

struct worker_bee {
    struct rgm_actor actor;
    struct tick tick;
};
RGM_HOOK(worker_bee, bee_send);
RGM_HANDLER(worker_bee, tick, bee_tick);
RGM_HANDLER(worker_bee, probe, bee_probe);

static void
bee_send(struct worker_bee *self)
{
    struct tick *tick = tick_take(&self->actor, 0);

    if (tick == NULL)
        bench_fail("tick", ENOMEM);
    ours_check("send", rgm_send(self, rgm_self(self), tick));
}

static void
bee_tick(struct worker_bee *self, struct tick *tick)
{
    uint64_t end_ns = bench_now_ns() + BURN_NS;

    (void)tick;
    while (bench_now_ns() < end_ns)
        continue;
    bee_send(self);
}

static void
bee_probe(struct worker_bee *self, struct probe *probe)
{
    rgm_reply(self, probe, 0);
}

static const struct rgm_handler bee_handlers[] = {
    RGM_ON(worker_bee, tick, bee_tick),
    RGM_ON(worker_bee, probe, bee_probe),
};
static const struct rgm_behaviour busy_behaviour = {
    .name = "busy",
    .size_bytes = sizeof(struct worker_bee),
    .started = RGM_DO(worker_bee, bee_send),
    RGM_HANDLERS(bee_handlers),
};
static const struct rgm_behaviour echo_behaviour = {
    .name = "echo",
    .size_bytes = sizeof(struct worker_bee),
    RGM_HANDLERS(bee_handlers),
};

struct prober {
    struct rgm_actor actor;
    struct rgm_address echo;
    struct probe probe;
    uint64_t done;
    uint64_t begin_ns;
};
RGM_FACTORY(prober, rgm_address, prober_make);
RGM_HOOK(prober, prober_ask);
RGM_ANSWER(prober, probe, prober_told);

static int
prober_make(struct prober *self, const struct rgm_address *echo)
{
    self->echo = *echo;
    return 0;
}

static void
prober_ask(struct prober *self)
{
    probe_prepare(&self->probe, self->echo);
    self->begin_ns = bench_now_ns();
    rgm_ask(self, &self->probe, RGM_REPLY(prober, probe, prober_told));
}

static void
prober_told(struct prober *self, struct probe *probe)
{
    ours_check("probe", rgm_status(probe));
    delays[self->done++] = (double)(bench_now_ns() - self->begin_ns);
    if (self->done < probes_count)
        prober_ask(self);
    else
        rgm_runtime_stop(ours_runtime);
}

static const struct rgm_behaviour prober_behaviour = {
    .name = "prober",
    .size_bytes = sizeof(struct prober),
    .factory = RGM_MAKE(prober, prober_make),
    .started = RGM_DO(prober, prober_ask),
};

/* Sorts the delays. */
static void
report(const char *part)
{
    char series[64];
    static const struct {
        const char *name;
        double share;
    } points[] = {{"p50", 0.5}, {"p99", 0.99}, {"max", 1}};

    qsort(delays, probes_count, sizeof(*delays), bench_compare);
    for (size_t i = 0; i < 3; i++) {
        size_t at = (size_t)((double)(probes_count - 1) * points[i].share);

        snprintf(series, sizeof(series), "%s_ns", points[i].name);
        bench_report(part, series, delays[at], "ns");
    }
}

static void
play(const char *part, uint64_t busy)
{
    struct rgm_address echo;

    ours_start(1, 0);
    echo = ours_spawn(0, &echo_behaviour, NULL);
    for (uint64_t i = 0; i < busy; i++)
        ours_spawn(0, &busy_behaviour, NULL);
    ours_spawn(0, &prober_behaviour, &echo);
    ours_wait();
    report(part);
}

int
main(int argc, char **argv)
{
    if (argc != 3) {
        fputs("usage: bench_loop ACTORS PROBES\n", stderr);
        return 2;
    }
    actors_count = bench_number(argv[1], 100000);
    probes_count = bench_number(argv[2], 10000000);
    delays = malloc(probes_count * sizeof(*delays));
    if (delays == NULL)
        bench_fail("delays", ENOMEM);
    play("cost", 0);
    play("delay", actors_count);
    bench_report("delay", "round_ns", (double)(actors_count * BURN_NS), "ns");
    free(delays);
    return 0;
}
