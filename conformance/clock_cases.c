/* SPDX-License-Identifier: MIT */

/* clock_cases.c - what must every provider show of time? */

#include "conformance/clock_cases.h"

#include <stdlib.h>
#include <time.h>

#include "conformance/shim.h"

/* Both providers' clock is this one. */
static uint64_t
now_ns(void)
{
    struct timespec now;

    rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Waits as a busy worker does: without giving it up. */
static void
burn_until(uint64_t deadline_ns)
{
    while (now_ns() < deadline_ns)
        continue;
}

static int
nap(struct stage *stage, uint64_t duration_ns)
{
    struct rgm_sleep sleep;

    rgm_sleep_for(&sleep, rgm_worker_address(0), duration_ns);
    return rgm_call(stage->runtime, &sleep);
}

/* --------------------------------------------------------------- a chain */

/* Sleeps asked one after the other from their answers. */
struct chain {
    struct puppet *puppet;
    struct rgm_sleep sleep;
    uint64_t duration_ns;
    uint64_t left;
    uint64_t last_ns;
    uint32_t readings; /* of the clock per turn */
    bool over;         /* under the stage's lock */
};

static __thread struct chain *chain_here; /* one per worker */

static void
chain_look(struct chain *chain)
{
    for (uint32_t i = 0; i < chain->readings; i++) {
        uint64_t now = rgm_now(&chain->puppet->actor);

        rgi_check(now >= chain->last_ns);
        chain->last_ns = now;
    }
}

static void chain_answered(struct rgm_actor *self, struct rgm_request *request);

static void
chain_ask(struct chain *chain)
{
    rgm_sleep_for(&chain->sleep, rgm_here(chain->puppet), chain->duration_ns);
    rgm_ask_request(&chain->puppet->actor, &chain->sleep.request,
                    chain_answered);
}

static void
chain_answered(struct rgm_actor *self, struct rgm_request *request)
{
    struct chain *chain = chain_here;
    struct stage *stage = chain->puppet->stage;

    (void)self;
    rgi_check(rgm_request_status(request) == 0);
    chain_look(chain);
    if (--chain->left > 0) {
        chain_ask(chain);
        return;
    }
    pthread_mutex_lock(&stage->lock);
    chain->over = true;
    pthread_cond_broadcast(&stage->answered);
    pthread_mutex_unlock(&stage->lock);
}

static void
chain_begin(struct puppet *puppet, void *argument)
{
    chain_here = argument;
    chain_here->puppet = puppet;
    chain_ask(chain_here);
}

static void
chain_end(struct stage *stage, const struct chain *chain)
{
    pthread_mutex_lock(&stage->lock);
    while (!chain->over)
        pthread_cond_wait(&stage->answered, &stage->lock);
    pthread_mutex_unlock(&stage->lock);
}

void
clk_01_time_never_steps_back(struct stage *stage)
{
    struct chain chains[2] = {{.left = rgi_scale(1000000), .readings = 1},
                              {.left = rgi_scale(1000000), .readings = 1}};

    stage->options.workers = 2;
    stage_open(stage);
    for (uint32_t i = 0; i < 2; i++)
        stage_do_on(stage, i, chain_begin, &chains[i]);
    for (uint32_t i = 0; i < 2; i++)
        chain_end(stage, &chains[i]);
    stage_close(stage);
}

/* ------------------------------------------------------------------- clock */

void
clk_04_sleep_counts_from_the_ask(struct stage *stage)
{
    const uint64_t duration_ns = 5 * RGM_NS_PER_MS;
    struct sleep_step sleep = {0};
    uint64_t asked_ns;

    stage_open(stage);
    rgm_sleep_for(&sleep.op, rgm_worker_address(0), duration_ns);
    burn_until(now_ns() + 2 * duration_ns);
    asked_ns = now_ns();
    rgi_check(stage_run(stage, &sleep) == 0);
    rgi_check(now_ns() >= asked_ns + duration_ns);
    rgi_check(nap(stage, UINT64_MAX) == -EINVAL);
    rgi_check(nap(stage, UINT64_MAX - 1) == -EINVAL);
    rgi_check(nap(stage, UINT64_MAX - 1000) == -EINVAL);
    stage_close(stage);
}

struct both {
    struct sleep_step sleep;
    bool due;   /* when the cancel comes */
    bool stops; /* the actor stops, which cancels its scope */
};

/* In one delivery, so that the worker sees both at once. */
static void
let_both_come(struct puppet *puppet, void *argument)
{
    struct both *both = argument;
    uint64_t duration_ns = both->due ? 1000 : 3600 * RGM_NS_PER_S;

    rgm_sleep_for(&both->sleep.op, rgm_here(puppet), duration_ns);
    puppet_begin(puppet, &both->sleep);
    if (both->due)
        burn_until(now_ns() + 2000);
    if (both->stops)
        rgm_stop(puppet);
    else
        rgm_cancel_request(&puppet->actor, &both->sleep.op.request);
}

static int
both_come(struct stage *stage, bool due, bool stops)
{
    struct both both = {.due = due, .stops = stops};
    int status;

    stage_open(stage);
    stage_do(stage, let_both_come, &both);
    status = stage_end(stage, &both.sleep);
    stage_close(stage);
    return status;
}

static void
ask_under_cancelled_scope(struct puppet *puppet, void *argument)
{
    struct both *both = argument;
    uint64_t deadline_ns = both->due ? 1 : now_ns() + 3600 * RGM_NS_PER_S;

    rgm_stop(puppet);
    rgm_sleep_until(&both->sleep.op, rgm_here(puppet), deadline_ns);
    puppet_begin(puppet, &both->sleep);
}

static int
starts_cancelled(struct stage *stage, bool due)
{
    struct both both = {.due = due};
    int status;

    stage_open(stage);
    stage_do(stage, ask_under_cancelled_scope, &both);
    status = stage_end(stage, &both.sleep);
    stage_close(stage);
    return status;
}

static void
guest_answer(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

static void
burn_and_close(struct puppet *puppet, void *argument)
{
    burn_until(now_ns() + *(const uint64_t *)argument);
    rgm_runtime_stop(puppet->stage->runtime);
}

/* A guest's sleep, and a runtime that closes. The worker, kept busy past the
 * deadline, sees both when it is let go. */
static int
close_comes(struct stage *stage, bool due)
{
    uint64_t duration_ns = due ? 20 * RGM_NS_PER_MS : 3600 * RGM_NS_PER_S;
    uint64_t busy_ns = due ? duration_ns : 0;
    struct rgm_guest guest;
    struct rgm_sleep sleep;

    stage_open(stage);
    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    rgm_sleep_for(&sleep, rgm_worker_address(0), duration_ns);
    rgm_ask_request(&guest.actor, &sleep.request, guest_answer);
    stage_do(stage, burn_and_close, &busy_ns);
    rgi_check(rgm_guest_wait(&guest) == 1);
    rgm_guest_close(&guest);
    stage_wait(stage);
    return rgm_status(&sleep);
}

void
clk_05_what_wins_when_both_have_come(struct stage *stage)
{
    /* At the start the cancel wins, due or not. */
    rgi_check(starts_cancelled(stage, false) == -ECANCELED);
    rgi_check(starts_cancelled(stage, true) == -ECANCELED);
    /* While it waits, the expiry. */
    rgi_check(both_come(stage, false, false) == -ECANCELED);
    rgi_check(both_come(stage, true, false) == 0);
    rgi_check(both_come(stage, false, true) == -ECANCELED);
    rgi_check(both_come(stage, true, true) == 0);
    rgi_check(close_comes(stage, false) == -EPIPE);
    rgi_check(close_comes(stage, true) == 0);
}

static void
sleep_and_withdraw(struct puppet *puppet, void *argument)
{
    struct sleep_step *sleep = argument;

    rgm_sleep_for(&sleep->op, rgm_here(puppet), 3600 * RGM_NS_PER_S);
    puppet_begin(puppet, sleep);
    rgm_cancel_request(&puppet->actor, &sleep->op.request);
}

void
clk_06_withdrawn_sleep_leaves_nothing(struct stage *stage)
{
    const uint64_t rounds = 100 + rgi_scale(100000);
    struct sleep_step sleep = {0};
    uint64_t allocations = 0;

    stage_open(stage);
    for (uint64_t i = 0; i < rounds + 100; i++) {
        if (i == 100) /* warm */
            allocations = shim_allocations();
        stage_do(stage, sleep_and_withdraw, &sleep);
        rgi_check(stage_end(stage, &sleep) == -ECANCELED);
    }
    rgi_check(shim_allocations() == allocations);
    rgi_check(stage_in_flight(stage) == 0);
    stage_close(stage);
}

/* A day forward, a day back: as long as it should be, and no longer. The guard
 * against a sleep that lasts a day is the case's. */
void
clk_13_wall_clock_may_jump(struct stage *stage)
{
    const int64_t day_s = 86400;
    const uint64_t duration_ns = 20 * RGM_NS_PER_MS;

    stage_open(stage);
    for (int64_t step = -day_s; step <= day_s; step += 2 * day_s) {
        struct sleep_step sleep = {0};
        uint64_t asked_ns = now_ns();

        rgm_sleep_for(&sleep.op, rgm_worker_address(0), duration_ns);
        stage_begin(stage, &sleep);
        shim_wall_clock_step(step);
        rgi_check(stage_end(stage, &sleep) == 0);
        rgi_check(now_ns() >= asked_ns + duration_ns);
        rgi_check(nap(stage, duration_ns) == 0);
        shim_wall_clock_step(0);
    }
    stage_close(stage);
}

struct many {
    struct sleep_step *sleeps;
    uint32_t count;
    uint64_t duration_ns;
};

static void
begin_many(struct puppet *puppet, void *argument)
{
    struct many *many = argument;

    for (uint32_t i = 0; i < many->count; i++) {
        rgm_sleep_for(&many->sleeps[i].op, rgm_here(puppet), many->duration_ns);
        puppet_begin(puppet, &many->sleeps[i]);
    }
}

static void
cancel_many(struct puppet *puppet, void *argument)
{
    struct many *many = argument;

    for (uint32_t i = 0; i < many->count; i++)
        rgm_cancel_request(&puppet->actor, &many->sleeps[i].op.request);
}

void
clk_14_sleeps_occupy_no_thread(struct stage *stage)
{
    enum { SLEEPS = 1000 }; /* many more than any pool has threads */
    struct sleep_step *sleeps = calloc(SLEEPS, sizeof(*sleeps));
    struct many many = {sleeps, SLEEPS, 3600 * RGM_NS_PER_S};
    struct rgm_stream near;
    char byte;
    int peer;

    rgi_check(sleeps != NULL);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, begin_many, &many);
    rgi_check(stage_in_flight(stage) == SLEEPS);
    peer_send(peer, "x", 1);
    stage_read_all(stage, &near, &byte, 1);
    rgi_check(stage_write(stage, &near, "y", 1) == 0);
    peer_receive(peer, &byte, 1);
    rgi_check(stage_in_flight(stage) == SLEEPS);
    stage_do(stage, cancel_many, &many);
    for (uint32_t i = 0; i < SLEEPS; i++)
        rgi_check(stage_end(stage, &sleeps[i]) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    free(sleeps);
}

/* ------------------------------------------------------------------- timers */

/* Own and foreign, waiting and not yet asked. */
void
tmr_13_close_with_sleeps_of_all_kinds(struct stage *stage)
{
    enum { EACH = 100 };
    struct sleep_step own[EACH] = {0};
    struct many many = {own, EACH, 3600 * RGM_NS_PER_S};
    struct rgm_sleep foreign[EACH], late;
    struct rgm_guest guest;

    stage_open(stage);
    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    stage_do(stage, begin_many, &many);
    for (int i = 0; i < EACH; i++) {
        rgm_sleep_for(&foreign[i], rgm_worker_address(0), 3600 * RGM_NS_PER_S);
        rgm_ask_request(&guest.actor, &foreign[i].request, guest_answer);
    }
    rgm_sleep_for(&late, rgm_worker_address(0), 1);
    stage_stop(stage);
    rgm_ask_request(&guest.actor, &late.request, guest_answer);
    while (rgm_guest_wait(&guest) > 0)
        continue;
    for (int i = 0; i < EACH; i++) {
        rgi_check(rgm_status(&foreign[i]) == -EPIPE); /* drained */
        rgi_check(stage_is_out(stage, &own[i]));      /* the owner's to end */
    }
    rgi_check(rgm_status(&late) == -EPIPE); /* refused */
    rgm_guest_close(&guest);
    stage_wait(stage);
    for (int i = 0; i < EACH; i++)
        rgi_check(stage_end(stage, &own[i]) == -ECANCELED); /* notified */
}

static void
chain_of_five_ms(struct stage *stage, uint64_t count)
{
    struct chain chain = {.left = count, .duration_ns = 5 * RGM_NS_PER_MS};
    uint64_t begin_ns = now_ns();

    stage_do(stage, chain_begin, &chain);
    chain_end(stage, &chain);
    rgi_check(now_ns() >= begin_ns + count * 5 * RGM_NS_PER_MS);
}

/* Nothing else could end the wait: no mail, no I/O. A worker that is kept from
 * running until a deadline is past does not sleep for it, so chains are asked until
 * it has slept for as many as one has; one that sleeps by no deadline never has. */
void
tmr_15_nearest_deadline_limits_the_wait(struct stage *stage)
{
    enum { LINKS = 20, CHAINS_MAX = 20 };
    struct rgm_counters before, after;
    uint64_t chains = 0;

    stage_open(stage);
    before = stage_counters(stage);
    do {
        rgi_check(chains++ < CHAINS_MAX);
        chain_of_five_ms(stage, LINKS);
        after = stage_counters(stage);
        rgi_check(after.timers_fired == before.timers_fired + chains * LINKS);
    } while (after.park_deadline < before.park_deadline + LINKS);
    stage_close(stage);
}

/* Each comes from outside, while the worker falls asleep or sleeps; the long
 * one keeps it from waiting for ever by luck. */
void
tmr_16_shortest_deadlines_to_a_worker_that_falls_asleep(struct stage *stage)
{
    const uint64_t rounds = 100 + rgi_scale(200000);
    struct sleep_step longest = {0};
    uint64_t random = rgi_seed();

    stage->options.spin_us = RGM_SPIN_OFF;
    stage_open(stage);
    rgm_sleep_for(&longest.op, rgm_worker_address(0), 3600 * RGM_NS_PER_S);
    stage_begin(stage, &longest);
    for (uint64_t i = 0; i < rounds; i++) {
        rgi_check(nap(stage, next_random(&random) % 2) == 0);
        burn_until(now_ns() + next_random(&random) % 20000);
    }
    rgi_check(stage_is_out(stage, &longest));
    stage_cancel(stage, &longest);
    rgi_check(stage_end(stage, &longest) == -ECANCELED);
    stage_close(stage);
}

void
tmr_17_sleep_is_asked_from_a_wake(struct stage *stage)
{
    struct chain chain = {.left = 1000 + rgi_scale(100000)};
    struct rgm_counters before, after;
    uint64_t count = chain.left;

    stage_open(stage);
    before = stage_counters(stage);
    stage_do(stage, chain_begin, &chain);
    chain_end(stage, &chain);
    after = stage_counters(stage);
    rgi_check(after.timers_fired == before.timers_fired + count);
    stage_close(stage);
}

/* ------------------------------------------------------------ a busy worker */

/* An actor that sends to itself without end, and must not be interrupted. */
struct tick {
    struct rgm_message message;
};
RGM_MESSAGE(tick);

struct busy {
    struct rgm_actor actor;
    const bool *over; /* atomic */
    bool inside;
};

RGM_FACTORY(busy, busy, busy_make);
RGM_HOOK(busy, busy_started);
RGM_HANDLER(busy, tick, busy_tick);

static const struct rgm_handler busy_handlers[] = {
    RGM_ON(busy, tick, busy_tick),
};
static const struct rgm_behaviour busy_behaviour = {
    .name = "busy",
    .size_bytes = sizeof(struct busy),
    RGM_HANDLERS(busy_handlers),
    .factory = RGM_MAKE(busy, busy_make),
    .started = RGM_DO(busy, busy_started),
};

static __thread bool in_a_handler;

static int
busy_make(struct busy *self, const struct busy *argument)
{
    self->over = argument->over;
    return 0;
}

static void
busy_started(struct busy *self)
{
    struct tick *tick = tick_take(&self->actor, 0);

    rgi_check(tick != NULL);
    rgi_check(rgm_send(self, rgm_self(self), tick) == 0);
}

static void
busy_tick(struct busy *self, struct tick *tick)
{
    (void)tick;
    rgi_check(!in_a_handler);
    in_a_handler = true;
    if (!__atomic_load_n(self->over, __ATOMIC_RELAXED))
        busy_started(self);
    in_a_handler = false;
}

static void
no_handler_runs(struct puppet *puppet, void *argument)
{
    (void)puppet;
    *(bool *)argument = in_a_handler;
}

void
due_sleeps_come_while_the_worker_is_busy(struct stage *stage)
{
    struct rgm_counters before, after;
    struct rgm_address address;
    bool over = false, interrupted;
    const struct busy busy = {.over = &over};

    stage_open(stage);
    before = stage_counters(stage);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &busy_behaviour, &busy,
                                &address) == 0);
    for (int i = 0; i < 20; i++) {
        rgi_check(nap(stage, RGM_NS_PER_MS) == 0);
        stage_do(stage, no_handler_runs, &interrupted);
        rgi_check(!interrupted);
    }
    __atomic_store_n(&over, true, __ATOMIC_RELAXED);
    after = stage_counters(stage);
    rgi_check(after.timers_fired >= before.timers_fired + 20);
    stage_close(stage);
}

/* ------------------------------------------------------------- field faults */

void
field_b79_never_early_and_huge_is_not_now(struct stage *stage)
{
    static const uint64_t small_ns[] = {0,       1,       999,    999999,
                                        1000000, 1000001, 2500000};
    static const uint64_t huge_ns[] = {
        (uint64_t)INT32_MAX * RGM_NS_PER_MS, (UINT64_C(1) << 31) * 1000000,
        (UINT64_C(1) << 32) * 1000000, INT64_MAX, (uint64_t)INT64_MAX + 1};
    enum { HUGE = sizeof(huge_ns) / sizeof(huge_ns[0]) };
    struct sleep_step huge[HUGE] = {0};
    struct chain zero = {.left = 1000};

    stage_open(stage);
    for (int i = 0; i < HUGE; i++) {
        rgm_sleep_for(&huge[i].op, rgm_worker_address(0), huge_ns[i]);
        stage_begin(stage, &huge[i]);
    }
    for (size_t i = 0; i < sizeof(small_ns) / sizeof(small_ns[0]); i++) {
        for (int j = 0; j < 5; j++) {
            uint64_t asked_ns = now_ns();

            rgi_check(nap(stage, small_ns[i]) == 0);
            rgi_check(now_ns() >= asked_ns + small_ns[i]);
        }
    }
    /* Asked again with nothing from its own answer: others go on. */
    stage_do(stage, chain_begin, &zero);
    for (int i = 0; i < 10; i++)
        rgi_check(nap(stage, 1) == 0);
    chain_end(stage, &zero);
    for (int i = 0; i < HUGE; i++) {
        rgi_check(stage_is_out(stage, &huge[i]));
        stage_cancel(stage, &huge[i]);
        rgi_check(stage_end(stage, &huge[i]) == -ECANCELED);
    }
    stage_close(stage);
}

void
field_b80_absolute_and_without_spinning(struct stage *stage)
{
    struct sleep_step sleep = {0};
    struct rgm_counters before, after;
    uint64_t deadline_ns;

    stage->options.spin_us = RGM_SPIN_OFF;
    stage_open(stage);
    for (uint64_t past = 0; past < 3; past++) { /* 0, 1, a second ago */
        deadline_ns = past < 2 ? past : now_ns() - RGM_NS_PER_S;
        rgm_sleep_until(&sleep.op, rgm_worker_address(0), deadline_ns);
        rgi_check(stage_run(stage, &sleep) == 0);
    }
    deadline_ns = now_ns() + 3 * RGM_NS_PER_MS;
    rgm_sleep_until(&sleep.op, rgm_worker_address(0), deadline_ns);
    rgi_check(stage_run(stage, &sleep) == 0);
    rgi_check(now_ns() >= deadline_ns);
    /* Until 1.5 ms have passed the worker turns as often as something comes:
     * the ask, the deadline, and a few empty ones around its naps. */
    before = stage_counters(stage);
    rgi_check(nap(stage, 1500000) == 0);
    after = stage_counters(stage);
    rgi_check(after.turns - before.turns < 60);
    stage_close(stage);
}
