/* SPDX-License-Identifier: MIT */

/*
 * w7_ours.c - what does a sleep cost, asked and cancelled through the runtime?
 *
 *     bench_w7 N
 *
 * One actor asks N sleeps of one to two minutes, then cancels each and is told
 * so N times: the whole road of a deadline that does not come, as a server has
 * it for every request. The queue of timers alone is measured by
 * bench_timers; the limit is `bench_limits wheel`.
 */

#include "bench/ours.h"

static uint64_t count;

struct next {
    struct rgm_message message;
};
RGM_MESSAGE(next);

struct sleeper {
    struct rgm_actor actor;
    struct rgm_sleep *sleeps;
    struct next next;
    uint64_t answered;
    uint64_t begin_ns, asked_ns, armed_ns;
};

RGM_HOOK(sleeper, sleeper_started);
RGM_HANDLER(sleeper, next, sleeper_next);
RGM_ANSWER(sleeper, rgm_sleep, sleeper_told);

static void
sleeper_started(struct sleeper *self)
{
    self->sleeps = malloc(count * sizeof(*self->sleeps));
    if (self->sleeps == NULL)
        bench_fail("sleeps", ENOMEM);
    memset(self->sleeps, 0, count * sizeof(*self->sleeps));
    self->begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++) {
        rgm_sleep_for(&self->sleeps[i], rgm_here(self),
                      (60000 + i * 7919 % 60000) * RGM_NS_PER_MS);
        rgm_ask(self, &self->sleeps[i],
                RGM_REPLY(sleeper, rgm_sleep, sleeper_told));
    }
    self->asked_ns = bench_now_ns();
    next_init(&self->next);
    ours_check("next", rgm_send(self, rgm_self(self), &self->next));
}

/* Behind the sleeps: by now all are armed. */
static void
sleeper_next(struct sleeper *self, struct next *next)
{
    (void)next;
    self->armed_ns = bench_now_ns();
    for (uint64_t i = 0; i < count; i++)
        rgm_cancel(self, &self->sleeps[i]);
}

static void
sleeper_told(struct sleeper *self, struct rgm_sleep *sleep)
{
    double all = (double)count;
    uint64_t end_ns;

    if (rgm_status(sleep) != -ECANCELED)
        bench_fail("sleep", EPROTO);
    if (++self->answered < count)
        return;
    end_ns = bench_now_ns();
    bench_report("sleep", "ask_ns",
                 (double)(self->armed_ns - self->begin_ns) / all, "ns");
    bench_report("sleep", "cancel_ns",
                 (double)(end_ns - self->armed_ns) / all, "ns");
    bench_report("sleep", "ns", (double)(end_ns - self->begin_ns) / all, "ns");
    rgm_runtime_stop(ours_runtime);
}

static const struct rgm_handler sleeper_handlers[] = {
    RGM_ON(sleeper, next, sleeper_next),
};
static const struct rgm_behaviour sleeper_behaviour = {
    .name = "sleeper",
    .size_bytes = sizeof(struct sleeper),
    .started = RGM_DO(sleeper, sleeper_started),
    RGM_HANDLERS(sleeper_handlers),
};

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: bench_w7 N\n", stderr);
        return 2;
    }
    count = bench_number(argv[1], UINT64_C(1) << 23);
    ours_start(1, 0);
    ours_spawn(0, &sleeper_behaviour, NULL);
    ours_wait();
    return 0;
}
