/* SPDX-License-Identifier: MIT */

/*
 * w7_ours.c - what does waiting for time cost, asked and cancelled through the
 * runtime?
 *
 *     bench_w7 N
 *
 * One actor asks for N waits of one to two minutes, then cancels each and is told
 * so N times: the whole road of a deadline that does not come, as a server has it
 * for every request. Three times:
 *
 *   sleep   a fresh sleep for each
 *   timer   a reusable timer for each, registered by a round before
 *   later   a message that is to be sent later, which is a sleep of the runtime's
 *           with a block of its slab around it
 *
 * It is the cost of keeping books. No time comes here: how late a wait ends is
 * another question. The queue of timers alone is measured by bench_timers; the
 * limit is `bench_limits wheel`.
 */

#include "bench/ours.h"

#include <ringmail/timer.h>

static uint64_t count;

/* From one part of a phase to the next, behind all that was asked before. */
struct next {
    struct rgm_message message;
};
RGM_MESSAGE(next);

/* To be sent later, and never is. */
struct note {
    struct rgm_message message;
};
RGM_MESSAGE_RETURNED(note, note_home);

enum phase { FRESH, REGISTERING, REUSED, LATER, PHASES };

static const char *const series[PHASES] = {"sleep", NULL, "timer", "later"};

#define LATER_AT_ONCE 1024 /* what a lane allows is more */

struct sleeper {
    struct rgm_actor actor;
    struct rgm_sleep *sleeps;
    struct rgm_timer *timers;
    struct rgm_identity identities[LATER_AT_ONCE];
    enum phase phase;
    uint64_t batch; /* asked at once */
    uint64_t answered; /* of the phase, in batches before */
    uint64_t batch_answered;
    uint64_t begin_ns, asking_ns; /* of the batch; in all */
    uint64_t all_ns;
    bool cancelled; /* the batch */
};
static uint64_t notes_home;

RGM_HOOK(sleeper, sleeper_started);
RGM_HOOK(sleeper, sleeper_stopped);
RGM_HANDLER(sleeper, next, sleeper_next);
RGM_ANSWER(sleeper, rgm_sleep, sleeper_told);
RGM_ANSWER(sleeper, rgm_timer, sleeper_timed);

static uint64_t
duration_ns(uint64_t index)
{
    return (60000 + index * 7919 % 60000) * RGM_NS_PER_MS;
}

static void
ask(struct sleeper *self, uint64_t i)
{
    struct note *note;

    if (self->phase == FRESH) {
        rgm_sleep_for(&self->sleeps[i], rgm_here(self), duration_ns(i));
        rgm_ask(self, &self->sleeps[i],
                RGM_REPLY(sleeper, rgm_sleep, sleeper_told));
    } else if (self->phase == LATER) {
        note = note_take(&self->actor, 0);
        if (note == NULL)
            bench_fail("note", ENOMEM);
        ours_check("later", rgm_send_after(self, rgm_self(self), note,
                                           duration_ns(i),
                                           &self->identities[i]));
    } else {
        ours_check("wait",
                   rgm_timer_wait(&self->timers[i], rgm_here(self),
                                  self->begin_ns + duration_ns(i)));
        rgm_ask(self, &self->timers[i],
                RGM_REPLY(sleeper, rgm_timer, sleeper_timed));
    }
}

static void
cancel(struct sleeper *self, uint64_t i)
{
    if (self->phase == FRESH)
        rgm_cancel(self, &self->sleeps[i]);
    else if (self->phase == LATER)
        ours_check("cancel", rgm_send_cancel(self, self->identities[i]));
    else
        rgm_cancel(self, &self->timers[i]);
}

static void
come_back(struct sleeper *self)
{
    struct next *next = next_take(&self->actor, 0);

    if (next == NULL)
        bench_fail("next", ENOMEM);
    ours_check("next", rgm_send(self, rgm_self(self), next));
}

static void
batch_begin(struct sleeper *self)
{
    self->batch = count - self->answered;
    if (self->phase == LATER && self->batch > LATER_AT_ONCE)
        self->batch = LATER_AT_ONCE;
    self->batch_answered = 0;
    self->cancelled = false;
    notes_home = 0;
    self->begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < self->batch; i++)
        ask(self, i);
    come_back(self);
}

static void
phase_over(struct sleeper *self)
{
    const char *name = series[self->phase];
    double all = (double)count;

    if (name != NULL) {
        bench_report(name, "ask_ns", (double)self->asking_ns / all, "ns");
        bench_report(name, "cancel_ns",
                     (double)(self->all_ns - self->asking_ns) / all, "ns");
        bench_report(name, "ns", (double)self->all_ns / all, "ns");
    }
    self->answered = 0;
    self->asking_ns = 0;
    self->all_ns = 0;
    if (++self->phase == PHASES)
        rgm_runtime_stop(ours_runtime);
    else
        batch_begin(self);
}

static void
batch_over(struct sleeper *self)
{
    self->all_ns += bench_now_ns() - self->begin_ns;
    self->answered += self->batch;
    if (self->answered < count)
        batch_begin(self);
    else
        phase_over(self);
}

/* Behind what was asked: by now all are armed. Messages that are not sent come
 * home without an answer, so they are waited for. */
static void
sleeper_next(struct sleeper *self, struct next *next)
{
    (void)next;
    if (!self->cancelled) {
        self->cancelled = true;
        self->asking_ns += bench_now_ns() - self->begin_ns;
        for (uint64_t i = 0; i < self->batch; i++)
            cancel(self, i);
    }
    if (self->phase == LATER && notes_home == self->batch)
        batch_over(self);
    else if (self->phase == LATER)
        come_back(self);
}

static void
told(struct sleeper *self, int status)
{
    if (status != -ECANCELED)
        bench_fail("wait", EPROTO);
    if (++self->batch_answered == self->batch)
        batch_over(self);
}

static void
sleeper_told(struct sleeper *self, struct rgm_sleep *sleep)
{
    told(self, rgm_status(sleep));
}

static void
sleeper_timed(struct sleeper *self, struct rgm_timer *timer)
{
    told(self, rgm_status(timer));
}

static void
note_home(struct note *note, int status)
{
    (void)note;
    if (status != -ECANCELED)
        bench_fail("later", EPROTO);
    notes_home++;
}

static void
sleeper_started(struct sleeper *self)
{
    self->sleeps = calloc(count, sizeof(*self->sleeps));
    self->timers = calloc(count, sizeof(*self->timers));
    if (self->sleeps == NULL || self->timers == NULL)
        bench_fail("waits", ENOMEM);
    memset(self->sleeps, 0, count * sizeof(*self->sleeps));
    for (uint64_t i = 0; i < count; i++)
        rgm_timer_init(&self->timers[i], ours_runtime);
    batch_begin(self);
}

static void
sleeper_stopped(struct sleeper *self)
{
    for (uint64_t i = 0; i < count; i++)
        ours_check("drop", rgm_timer_drop(self, &self->timers[i]));
    free(self->timers);
    free(self->sleeps);
}

static const struct rgm_handler sleeper_handlers[] = {
    RGM_ON(sleeper, next, sleeper_next),
};
static const struct rgm_behaviour sleeper_behaviour = {
    .name = "sleeper",
    .size_bytes = sizeof(struct sleeper),
    .started = RGM_DO(sleeper, sleeper_started),
    .stopped = RGM_DO(sleeper, sleeper_stopped),
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
