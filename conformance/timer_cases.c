/* SPDX-License-Identifier: MIT */

/* timer_cases.c - who has a place for time, from when, and until when? */

#include "conformance/timer_cases.h"

#include <stdlib.h>
#include <time.h>

STEP(timer_step, rgm_timer);

#define HERE rgm_worker_address(0)
#define FAR_NS (3600 * RGM_NS_PER_S)

/* Both providers' clock is this one. */
static uint64_t
now_ns(void)
{
    struct timespec now;

    rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t
places(struct stage *stage)
{
    return stage_counters(stage).timers;
}

static void
begin_on(struct stage *stage, uint32_t worker, struct timer_step *timer,
         uint64_t deadline_ns)
{
    rgi_check(rgm_timer_wait(&timer->op, rgm_worker_address(worker),
                             deadline_ns) == 0);
    stage_begin_on(stage, worker, timer);
}

/* Waits, and looks that it was not too early. */
static int
wait_on(struct stage *stage, uint32_t worker, struct timer_step *timer,
        uint64_t deadline_ns)
{
    int status;

    begin_on(stage, worker, timer, deadline_ns);
    status = stage_end(stage, timer);
    rgi_check(status != 0 || now_ns() >= deadline_ns);
    return status;
}

static void
release_on(struct stage *stage, uint32_t worker, struct timer_step *timer)
{
    rgi_check(rgm_timer_release(&timer->op) == 0);
    stage_begin_on(stage, worker, timer);
    rgi_check(stage_end(stage, timer) == 0);
}

static void
cancel(struct stage *stage, struct timer_step *timer)
{
    stage_cancel(stage, timer);
    rgi_check(stage_end(stage, timer) == -ECANCELED);
}

/* The same of one that may have come before the cancel, on a slow machine. */
static void
cancel_or_not(struct stage *stage, struct timer_step *timer)
{
    int status;

    stage_cancel(stage, timer);
    status = stage_end(stage, timer);
    rgi_check(status == -ECANCELED || status == 0);
}

/* What a timer keeps from one wait to the next. */
static bool
keeps(const struct rgm_timer *timer, const struct rgm_timer *before)
{
    return timer->domain == before->domain &&
           timer->owner.bits == before->owner.bits &&
           timer->place == before->place &&
           timer->generation == before->generation;
}

/* It has ended, and is not freed. */
static void
end(struct stage *stage)
{
    stage_stop(stage);
    for (uint32_t i = 0; i < stage->options.workers; i++)
        (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[i]);
    rgi_check(rgm_runtime_wait(stage->runtime) == 0);
}

void
tmr_01_making_a_timer_registers_nothing(struct stage *stage)
{
    struct rgm_counters before, after;
    struct rgm_timer timers[100];
    uint32_t i;

    stage_open(stage);
    before = stage_counters(stage);
    for (i = 0; i < 100; i++) {
        rgm_timer_init(&timers[i], stage->runtime);
        rgi_check(timers[i].owner.bits == 0);
    }
    after = stage_counters(stage);
    rgi_check(after.timers == 0 && after.operations == before.operations);
    end(stage);
    rgm_timer_init(&timers[0], stage->runtime); /* after the end, too */
    rgi_check(rgm_timer_wait(&timers[0], HERE, 0) == 0);
    rgi_check(rgm_call(stage->runtime, &timers[0]) == -EPIPE);
    stage_wait(stage);
}

/* A scope that is cancelled, opened by the puppet for the ask. */
struct scoped {
    struct rgm_scope scope;
    struct timer_step *timer;
};

static void
ask_in_cancelled_scope(struct puppet *puppet, void *argument)
{
    struct scoped *scoped = argument;

    rgi_check(rgm_scope_open(puppet, &scoped->scope, NULL) == 0);
    rgi_check(rgm_scope_cancel(&scoped->scope) == 1);
    rgm_in_scope(&scoped->timer->op, &scoped->scope);
    puppet_begin(puppet, scoped->timer);
}

static void
close_scope(struct puppet *puppet, void *argument)
{
    struct scoped *scoped = argument;

    rgi_check(rgm_scope_try_close(puppet, &scoped->scope) == 0);
}

static void
refused_in_scope(struct stage *stage, struct timer_step *timer)
{
    struct scoped scoped = {.timer = timer};
    struct rgm_timer before = timer->op;

    rgi_check(rgm_timer_wait(&timer->op, HERE, now_ns() + FAR_NS) == 0);
    stage_do(stage, ask_in_cancelled_scope, &scoped);
    rgi_check(stage_end(stage, timer) == -ECANCELED);
    rgi_check(keeps(&timer->op, &before));
    stage_do(stage, close_scope, &scoped);
}

void
tmr_02_what_is_not_begun_changes_nothing(struct stage *stage)
{
    struct timer_step timer = {0};
    struct rgm_timer before;

    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    before = timer.op;
    rgi_check(rgm_timer_wait(&timer.op, HERE, 1) == 0); /* and never asked */
    rgi_check(keeps(&timer.op, &before));
    refused_in_scope(stage, &timer);
    rgi_check(places(stage) == 0);
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    before = timer.op;
    rgi_check(timer.op.owner.bits != 0 && places(stage) == 1);
    rgi_check(rgm_timer_wait(&timer.op, HERE, 1) == 0);
    rgi_check(keeps(&timer.op, &before));
    refused_in_scope(stage, &timer);
    rgi_check(places(stage) == 1);
    stage_close(stage);
}

/* Its time has come, but the worker has not looked since. */
static void
let_it_come_and_cancel(struct puppet *puppet, void *argument)
{
    struct timer_step *timer = argument;

    puppet_begin(puppet, timer);
    while (now_ns() < timer->op.deadline_ns)
        continue;
    rgm_cancel(puppet, &timer->op);
}

static void
cancel_at_once(struct puppet *puppet, void *argument)
{
    struct timer_step *timer = argument;

    puppet_begin(puppet, timer);
    rgm_cancel(puppet, &timer->op);
}

void
tmr_02_a_cancel_disarms_and_an_expiry_wins(struct stage *stage)
{
    struct timer_step timer = {0};

    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    for (int i = 0; i < 20; i++) {
        rgi_check(rgm_timer_wait(&timer.op, HERE,
                                 now_ns() + 50 * RGM_NS_PER_US) == 0);
        stage_do(stage, let_it_come_and_cancel, &timer);
        rgi_check(stage_end(stage, &timer) == 0);
        rgi_check(rgm_timer_wait(&timer.op, HERE, now_ns() + FAR_NS) == 0);
        stage_do(stage, cancel_at_once, &timer);
        rgi_check(stage_end(stage, &timer) == -ECANCELED);
    }
    stage_close(stage);
}

void
tmr_02_one_wait_at_a_time(struct stage *stage)
{
    struct timer_step timer = {0}, copy;

    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    copy = timer;
    begin_on(stage, 0, &timer, now_ns() + FAR_NS);
    rgi_check(rgm_timer_wait(&timer.op, HERE, 0) == -EBUSY);
    rgi_check(rgm_timer_release(&timer.op) == -EBUSY);
    rgi_check(wait_on(stage, 0, &copy, now_ns()) == -EBUSY);
    rgi_check(rgm_timer_release(&copy.op) == 0);
    stage_begin(stage, &copy);
    rgi_check(stage_end(stage, &copy) == -EBUSY && places(stage) == 1);
    cancel(stage, &timer);
    rgi_check(wait_on(stage, 0, &copy, now_ns()) == 0);
    release_on(stage, 0, &timer);
    rgi_check(wait_on(stage, 0, &copy, now_ns()) == -EINVAL); /* no more */
    release_on(stage, 0, &copy);
    rgi_check(places(stage) == 0);
    stage_close(stage);
}

/* The next timer to come gets the place, and a copy of the last one has it not:
 * neither to wait in it nor to give it back. */
void
tmr_02_a_place_is_not_its_last_owners(struct stage *stage)
{
    struct timer_step timer = {0}, next = {0}, stale;

    stage->options.timers_max = 1; /* so that there is one place to have */
    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    rgm_timer_init(&next.op, stage->runtime);
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    stale = timer;
    release_on(stage, 0, &timer);
    rgi_check(wait_on(stage, 0, &next, now_ns()) == 0);
    rgi_check(next.op.place == stale.op.place);
    rgi_check(wait_on(stage, 0, &stale, now_ns()) == -EINVAL);
    release_on(stage, 0, &stale);
    rgi_check(places(stage) == 1);
    rgi_check(wait_on(stage, 0, &next, now_ns()) == 0);
    release_on(stage, 0, &next);
    rgi_check(places(stage) == 0);
    stage_close(stage);
}

void
tmr_03_a_timer_of_another_runtime_is_refused(struct stage *stage)
{
    struct stage other = {.class = stage->class};
    struct timer_step timer = {0};

    stage_init(&other);
    stage_open(stage);
    stage_open(&other);
    rgm_timer_init(&timer.op, stage->runtime);
    rgi_check(wait_on(&other, 0, &timer, now_ns()) == -EINVAL);
    rgi_check(timer.op.owner.bits == 0 && places(&other) == 0);
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    rgi_check(wait_on(&other, 0, &timer, now_ns()) == -EINVAL);
    rgi_check(rgm_timer_release(&timer.op) == 0);
    stage_begin(&other, &timer);
    rgi_check(stage_end(&other, &timer) == -EINVAL);
    rgi_check(places(&other) == 0 && places(stage) == 1);
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    stage_close(&other);
    stage_close(stage);
    stage_deinit(&other);
}

void
tmr_04_a_registration_outlives_its_waits(struct stage *stage)
{
    struct timer_step timer = {0};

    stage->options.timers_max = 1; /* so that another place would be missed */
    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    for (int i = 0; i < 5; i++) {
        begin_on(stage, 0, &timer, now_ns() + RGM_NS_PER_MS + FAR_NS);
        rgi_check(places(stage) == 1);
        cancel(stage, &timer); /* withdrawn */
        rgi_check(places(stage) == 1);
        /* Longer than the one before: that one's alarm is no expiry of it. */
        rgi_check(wait_on(stage, 0, &timer, now_ns() + RGM_NS_PER_MS) == 0);
        rgi_check(places(stage) == 1); /* expired */
    }
    release_on(stage, 0, &timer);
    rgi_check(places(stage) == 0);
    stage_close(stage);
}

static void
drop_errand(struct puppet *puppet, void *argument)
{
    struct timer_step *timer = argument;

    rgi_check(rgm_timer_drop(puppet, &timer->op) == 0);
}

void
tmr_05_a_release_retires_the_registration(struct stage *stage)
{
    struct timer_step timer = {0}, elsewhere = {0};

    stage->options.workers = 2;
    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    rgm_timer_init(&elsewhere.op, stage->runtime);
    release_on(stage, 0, &timer); /* not registered: nothing happens */
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    rgi_check(wait_on(stage, 1, &elsewhere, now_ns()) == 0);
    rgi_check(places(stage) == 2);
    release_on(stage, 0, &timer);
    release_on(stage, 0, &elsewhere); /* by another worker than its own */
    rgi_check(places(stage) == 0);
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0); /* anew */
    rgi_check(wait_on(stage, 1, &elsewhere, now_ns()) == 0);
    stage_do(stage, drop_errand, &timer);
    stage_do(stage, drop_errand, &elsewhere);
    stage_do(stage, drop_errand, &elsewhere); /* does nothing */
    rgi_check(places(stage) == 0);
    /* To change the owner: one that the other runtime made. */
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    stage_do(stage, drop_errand, &timer);
    stage_close(stage);
    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    rgi_check(wait_on(stage, 1, &timer, now_ns()) == 0);
    rgi_check(places(stage) == 1);
    stage_close(stage);
}

void
tmr_05_a_forgotten_timer_costs_its_place(struct stage *stage)
{
    struct timer_step other = {0};
    struct timer_step *timer = calloc(1, sizeof(*timer));

    rgi_check(timer != NULL);
    stage->options.timers_max = 2;
    stage_open(stage);
    rgm_timer_init(&timer->op, stage->runtime);
    rgm_timer_init(&other.op, stage->runtime);
    begin_on(stage, 0, timer, now_ns() + 2 * RGM_NS_PER_MS);
    cancel_or_not(stage, timer);
    free(timer);
    /* Past the time of what it was armed for. */
    rgi_check(wait_on(stage, 0, &other, now_ns() + 4 * RGM_NS_PER_MS) == 0);
    rgi_check(places(stage) == 2);
    stage_close(stage);
}

void
tmr_06_deadlines_move_both_ways(struct stage *stage)
{
    struct timer_step timer = {0};
    uint64_t start_ns;

    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    start_ns = now_ns();
    begin_on(stage, 0, &timer, start_ns + 2 * RGM_NS_PER_MS);
    cancel_or_not(stage, &timer);
    rgi_check(wait_on(stage, 0, &timer, start_ns + 6 * RGM_NS_PER_MS) == 0);
    begin_on(stage, 0, &timer, start_ns + FAR_NS);
    cancel(stage, &timer);
    rgi_check(wait_on(stage, 0, &timer, now_ns() + RGM_NS_PER_MS) == 0);
    rgi_check(now_ns() < start_ns + FAR_NS); /* the earlier one took effect */
    stage_close(stage);
}

void
tmr_07_a_registration_stays_with_its_worker(struct stage *stage)
{
    struct timer_step timer = {0};
    struct rgm_address owner;
    struct rgm_counters counters;

    stage->options.workers = 4;
    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    rgi_check(wait_on(stage, 2, &timer, now_ns()) == 0);
    owner = timer.op.owner;
    rgi_check(rgm_address_worker(owner) == 2);
    for (uint32_t i = 0; i < 8; i++) {
        rgi_check(wait_on(stage, i % 4, &timer, now_ns()) == 0);
        rgi_check(timer.op.owner.bits == owner.bits);
        begin_on(stage, i % 4, &timer, now_ns() + FAR_NS);
        stage_cancel_on(stage, i % 4, &timer);
        rgi_check(stage_end(stage, &timer) == -ECANCELED);
    }
    (void)stage_counters(stage);
    for (uint32_t i = 0; i < 4; i++) {
        rgi_check(rgm_runtime_counters(stage->runtime, i, &counters) == 0);
        rgi_check(counters.timers == (i == 2));
        rgi_check(i == 2 || counters.timers_fired == 0);
    }
    release_on(stage, 3, &timer);
    rgi_check(places(stage) == 0);
    rgi_check(wait_on(stage, 1, &timer, now_ns()) == 0);
    rgi_check(rgm_address_worker(timer.op.owner) == 1); /* anew */
    stage_close(stage);
    /* The runtime is gone: what is released now is nobody's any more. */
    stage_open(stage);
    rgi_check(rgm_timer_release(&timer.op) == 0);
    stage_begin(stage, &timer);
    rgi_check(stage_end(stage, &timer) == -EINVAL);
    stage_close(stage);
}

void
tmr_08_capacity_is_per_worker(struct stage *stage)
{
    struct timer_step timers[4] = {0}, more = {0};
    struct sleep_step sleep = {0};

    stage->options.workers = 2;
    stage->options.timers_max = 4;
    stage_open(stage);
    for (int i = 0; i < 4; i++) {
        rgm_timer_init(&timers[i].op, stage->runtime);
        begin_on(stage, 0, &timers[i], now_ns() + FAR_NS);
    }
    rgm_timer_init(&more.op, stage->runtime);
    rgi_check(wait_on(stage, 0, &more, now_ns()) == -EAGAIN);
    rgi_check(more.op.owner.bits == 0);
    rgm_sleep_for(&sleep.op, HERE, 1);
    rgi_check(stage_run(stage, &sleep) == -EAGAIN);
    rgi_check(wait_on(stage, 1, &more, now_ns()) == 0); /* others have room */
    rgm_sleep_for(&sleep.op, rgm_worker_address(1), 1);
    rgi_check(stage_run(stage, &sleep) == 0);
    for (int i = 0; i < 4; i++) {
        cancel(stage, &timers[i]);
        rgi_check(wait_on(stage, 0, &timers[i], now_ns()) == 0); /* its own */
    }
    rgi_check(places(stage) == 5);
    release_on(stage, 0, &timers[0]);
    rgm_sleep_for(&sleep.op, HERE, 1);
    rgi_check(stage_run(stage, &sleep) == 0);
    end(stage);
    rgi_check(rgm_timer_wait(&more.op, HERE, now_ns()) == 0);
    rgi_check(rgm_call(stage->runtime, &more.op) == -EPIPE);
    stage_wait(stage);
}

/* On its worker: one sleep fires, and nobody has looked at it yet. */
struct uncollected {
    struct sleep_step fired;
    struct sleep_step refused;
};

static void
fire_and_ask(struct puppet *puppet, void *argument)
{
    struct uncollected *uncollected = argument;
    uint64_t until_ns = now_ns() + RGM_NS_PER_MS;

    rgm_sleep_until(&uncollected->fired.op, HERE, until_ns);
    puppet_begin(puppet, &uncollected->fired);
    while (now_ns() <= until_ns)
        continue;
    rgm_sleep_for(&uncollected->refused.op, HERE, 0);
    puppet_begin(puppet, &uncollected->refused);
}

void
tmr_09_a_fired_timer_keeps_its_place(struct stage *stage)
{
    struct uncollected uncollected = {0};
    struct timer_step timer = {0};

    stage->options.timers_max = 1;
    stage_open(stage);
    stage_do(stage, fire_and_ask, &uncollected);
    rgi_check(stage_end(stage, &uncollected.refused) == -EAGAIN);
    rgi_check(stage_end(stage, &uncollected.fired) == 0);
    rgi_check(stage_run(stage, &uncollected.refused) == 0); /* collected */
    rgm_timer_init(&timer.op, stage->runtime);
    rgi_check(wait_on(stage, 0, &timer, now_ns()) == 0);
    rgi_check(stage_run(stage, &uncollected.refused) == -EAGAIN);
    release_on(stage, 0, &timer); /* dropped */
    rgi_check(stage_run(stage, &uncollected.refused) == 0);
    stage_close(stage);
}

#define FULL 64

void
tmr_10_cancelled_timers_make_room(struct stage *stage)
{
    static struct sleep_step sleeps[FULL];
    uint64_t start_ns = now_ns();

    stage->options.timers_max = FULL;
    stage_open(stage);
    for (uint32_t i = 0; i < FULL; i++) {
        step_clear(&sleeps[i]);
        rgm_sleep_until(&sleeps[i].op, HERE,
                        start_ns + FAR_NS + i * RGM_NS_PER_S);
        stage_begin(stage, &sleeps[i]);
    }
    for (uint32_t i = 1; i < FULL; i = i * 2 + 1) { /* none of them the first */
        struct sleep_step other = {0};

        stage_cancel(stage, &sleeps[i]);
        rgi_check(stage_end(stage, &sleeps[i]) == -ECANCELED);
        rgm_sleep_until(&sleeps[i].op, HERE, start_ns + 2 * FAR_NS);
        stage_begin(stage, &sleeps[i]);
        rgm_sleep_for(&other.op, HERE, 0);
        rgi_check(stage_run(stage, &other) == -EAGAIN); /* full again */
    }
    for (uint32_t i = 0; i < FULL; i++) {
        stage_cancel(stage, &sleeps[i]);
        rgi_check(stage_end(stage, &sleeps[i]) == -ECANCELED);
    }
    rgi_check(places(stage) == 0);
    stage_close(stage);
}

void
tmr_11_plain_threads_take_workers_in_turn(struct stage *stage)
{
    struct rgm_counters before[4], after[4];
    struct sleep_step sleep = {0};
    struct rgm_sleep ours;

    stage->options.workers = 4;
    stage_open(stage);
    (void)stage_counters(stage);
    for (uint32_t i = 0; i < 4; i++)
        rgi_check(rgm_runtime_counters(stage->runtime, i, &before[i]) == 0);
    for (int i = 0; i < 12; i++) {
        rgm_sleep_for(&ours, rgm_runtime_any(stage->runtime), 1);
        rgi_check(rgm_call(stage->runtime, &ours) == 0);
    }
    (void)stage_counters(stage);
    for (uint32_t i = 0; i < 4; i++) {
        rgi_check(rgm_runtime_counters(stage->runtime, i, &after[i]) == 0);
        rgi_check(after[i].timers_fired == before[i].timers_fired + 3);
        rgi_check(after[i].operations == before[i].operations + 3);
    }
    /* A worker's own goes to nobody else. */
    rgm_sleep_for(&sleep.op, rgm_worker_address(1), 1);
    stage_begin_on(stage, 1, &sleep);
    rgi_check(stage_end(stage, &sleep) == 0);
    (void)stage_counters(stage);
    rgi_check(rgm_runtime_counters(stage->runtime, 1, &before[1]) == 0);
    rgi_check(before[1].timers_fired == after[1].timers_fired + 1);
    rgi_check(before[1].sent_remote == after[1].sent_remote);
    stage_close(stage);
}

/* Asks another worker, and leaves. */
struct leaving {
    struct rgm_timer timer;
    uint32_t released; /* by the runtime; read when it has ended */
};

RGM_RELEASE(rgm_timer, leaving_released);

static void
leaving_released(struct rgm_timer *timer)
{
    struct leaving *leaving =
        (struct leaving *)(void *)((char *)timer -
                                   offsetof(struct leaving, timer));

    leaving->released++;
}

static void
leaving_answered(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
    rgi_check(!"somebody is told who has left");
}

static void
ask_and_leave(struct puppet *puppet, void *argument)
{
    struct leaving *leaving = argument;

    rgm_ask_request(&puppet->actor, &leaving->timer.request, leaving_answered);
    rgi_check(rgm_abandon_to(puppet, &leaving->timer,
                             RGM_RELEASE_BY(rgm_timer, leaving_released)) ==
              0);
}

void
tmr_12_a_requester_that_left_keeps_no_place(struct stage *stage)
{
    static const uint64_t after_ns[] = {0, RGM_NS_PER_MS, FAR_NS};
    struct leaving leaving[6];

    stage->options.workers = 2;
    stage_open(stage);
    for (uint32_t i = 0; i < 6; i++) {
        leaving[i].released = 0;
        rgm_timer_init(&leaving[i].timer, stage->runtime);
        rgi_check(rgm_timer_wait(&leaving[i].timer, rgm_worker_address(i % 2),
                                 now_ns() + after_ns[i / 2]) == 0);
        stage_do_on(stage, 1, ask_and_leave, &leaving[i]);
    }
    while (places(stage) != 0)
        continue; /* on their way */
    stage_close(stage);
    for (uint32_t i = 0; i < 6; i++)
        rgi_check(leaving[i].released == 1);
}

/* A worker that always has something else to do: every delivery asks for the
 * next one. Timers come all the same, and never inside one. */
struct busy {
    struct puppet *puppet;
    struct rgm_sleep next;  /* due at once, again and again */
    struct rgm_sleep timer; /* the one that counts */
    uint32_t fired;
    uint32_t deliveries;
    bool inside;
    bool over; /* under the stage's lock */
};

static __thread struct busy *busy_here;

static void busy_next(struct rgm_actor *self, struct rgm_request *request);
static void busy_fired(struct rgm_actor *self, struct rgm_request *request);

static void
busy_ask(struct busy *busy, struct rgm_sleep *sleep, uint64_t after,
         rgm_answer_function *answer)
{
    rgm_sleep_for(sleep, rgm_here(busy->puppet), after);
    rgm_ask_request(&busy->puppet->actor, &sleep->request, answer);
}

/* Neither keeps the other from its turn: not even where the worker is kept from
 * running until both are due. */
static bool
busy_goes_on(struct busy *busy)
{
    struct stage *stage = busy->puppet->stage;

    if (busy->fired < 10 || busy->deliveries <= 10)
        return true;
    pthread_mutex_lock(&stage->lock);
    busy->over = true;
    pthread_cond_broadcast(&stage->answered);
    pthread_mutex_unlock(&stage->lock);
    return false;
}

static void
busy_next(struct rgm_actor *self, struct rgm_request *request)
{
    struct busy *busy = busy_here;
    uint64_t until_ns = now_ns() + 20 * RGM_NS_PER_US;

    (void)self;
    (void)request;
    rgi_check(!busy->inside);
    busy->inside = true;
    while (now_ns() < until_ns)
        continue;
    busy->deliveries++;
    if (busy_goes_on(busy))
        busy_ask(busy, &busy->next, 0, busy_next);
    busy->inside = false;
}

static void
busy_fired(struct rgm_actor *self, struct rgm_request *request)
{
    struct busy *busy = busy_here;

    (void)self;
    rgi_check(!busy->inside && rgm_request_status(request) == 0);
    if (++busy->fired < 10)
        busy_ask(busy, &busy->timer, 200 * RGM_NS_PER_US, busy_fired);
    (void)busy_goes_on(busy);
}

static void
busy_begin(struct puppet *puppet, void *argument)
{
    busy_here = argument;
    busy_here->puppet = puppet;
    busy_ask(busy_here, &busy_here->timer, 200 * RGM_NS_PER_US, busy_fired);
    busy_ask(busy_here, &busy_here->next, 0, busy_next);
}

void
tmr_14_due_timers_are_collected_by_a_busy_worker(struct stage *stage)
{
    struct busy busy = {.fired = 0};

    stage_open(stage);
    stage_do(stage, busy_begin, &busy);
    pthread_mutex_lock(&stage->lock);
    while (!busy.over)
        pthread_cond_wait(&stage->answered, &stage->lock);
    pthread_mutex_unlock(&stage->lock);
    stage_close(stage);
    rgi_check(busy.fired == 10);
}

void
timers_end_with_the_worker_that_retires(struct stage *stage)
{
    struct timer_step timer = {0};
    int status;

    stage->options.workers = 2;
    stage_open(stage);
    rgm_timer_init(&timer.op, stage->runtime);
    rgi_check(wait_on(stage, 1, &timer, now_ns()) == 0);
    (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[1]);
    rgi_check(rgm_runtime_resize(stage->runtime, 1) == 0);
    status = wait_on(stage, 0, &timer, now_ns());
    rgi_check(status == -EPIPE || status == -EINVAL);
    rgi_check(rgm_runtime_resize(stage->runtime, 2) == 0);
    stage_renew_puppet(stage, 1);
    rgi_check(wait_on(stage, 1, &timer, now_ns()) == -EINVAL); /* not it */
    rgi_check(places(stage) == 0);
    rgm_timer_init(&timer.op, stage->runtime);
    rgi_check(wait_on(stage, 1, &timer, now_ns()) == 0);
    stage_close(stage);
}

void
timers_option_has_limits(struct stage *stage)
{
    struct rgm_runtime *runtime;

    stage->options.timers_max = RGM_TIMERS_MAX + 1;
    rgi_check(rgm_runtime_create(&stage->options, &runtime) == -EINVAL);
    stage->options.timers_max = RGM_TIMERS_MAX;
    rgi_check(rgm_runtime_create(&stage->options, &runtime) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
}
