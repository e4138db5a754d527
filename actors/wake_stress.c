/* SPDX-License-Identifier: MIT */

/*
 * wake_stress.c - is every wake heard, by whichever way of sleeping?
 *
 * Each case runs on the fake provider (poll), on threads (poll, several bells)
 * and on the default one (a ring, where there is one), and with and without
 * spinning. A lost wake is a case that never ends; its time limit ends it.
 */

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include "actors/rig.h"

struct way {
    const struct rgm_provider_class *provider;
    uint32_t spin_us;
};

#define WAYS 5

static const struct way ways[WAYS] = {
    {&fake_class, RGM_SPIN_OFF},
    {&fake_class, 50},
    {&rgm_provider_threads, RGM_SPIN_OFF},
    {NULL, RGM_SPIN_OFF},
    {NULL, 50},
};

struct wakes {
    uint64_t left;
    struct rgm_address other;
    struct rgm_counters counters;
};

#define wakes_of(self) ((struct wakes *)test_of(self))

static struct rgm_runtime *
make(unsigned way, uint32_t workers)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = ways[way].provider,
                                          .spin_us = ways[way].spin_us};

    fake_reset();
    return rig_make_with(&options);
}

/* Every park has one cause; nobody is rung for who did not sleep. */
static void
check_parks(const struct rgm_runtime *runtime, struct rgm_counters *ret_sum)
{
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, ret_sum) == 0);
    rgi_check(ret_sum->parks ==
              ret_sum->park_bell + ret_sum->park_io + ret_sum->park_deadline);
    rgi_check(ret_sum->messages_out == 0);
}

/* --------------------------------------------------------------- ping-pong */

RGM_ANSWER(robot, question, on_pong);

static void
on_pong(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    if (--wakes_of(self)->left == 0)
        rgm_runtime_stop(self->actor.worker->runtime);
    else
        rgm_ask(self, question, RGM_REPLY(robot, question, on_pong));
}

static void
pong(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
ping(struct robot *self)
{
    static const struct script other = {.question = pong};

    question_prepare(&self->question, robot_spawn_on(self, 1, &other));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_pong));
}

static void
field_b01_two_that_only_wake_each_other(void)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct wakes wakes = {.left = rgi_scale(2000000)};
        struct script root = {.started = ping, .test = &wakes};
        struct rgm_runtime *runtime = make(way, 2);

        rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
        check_parks(runtime, &wakes.counters);
        rig_destroy(runtime);
    }
}

/* ----------------------------------------------------------- from a thread */

/* Sometimes at once, sometimes while the worker is just about to sleep. */
static void
field_b07_a_word_from_outside_at_any_moment(void)
{
    for (unsigned way = 0; way < WAYS; way++) {
        static const struct script other = {.question = pong};
        uint64_t random = rgi_seed() | 1;
        struct rgm_runtime *runtime = make(way, 1);
        struct rgm_address address;
        struct rgm_guest guest;
        struct rgm_counters counters;

        rgi_check(rgm_runtime_start(runtime) == 0);
        rgi_check(rgm_runtime_spawn(runtime, 0, &robot_behaviour, &other,
                                    &address) == 0);
        rgi_check(rgm_guest_open(runtime, &guest) == 0);
        for (uint64_t i = rgi_scale(500000); i > 0; i--) {
            struct question question;

            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            for (volatile uint64_t j = random % 2048; j > 0; j--)
                ;
            question_prepare(&question, address);
            rgi_check(rgm_call(runtime, &question) == 0);
        }
        rgm_guest_close(&guest);
        rgm_runtime_stop(runtime);
        rgi_check(rgm_runtime_wait(runtime) == 0);
        check_parks(runtime, &counters);
        rig_destroy(runtime);
    }
}

/* The counter of a bell is full, so that one more would not fit: who rings
 * never blocks, and is heard. */
static void
field_b11_a_full_bell_is_heard(void)
{
    for (unsigned way = 0; way < WAYS; way++) {
        static const struct script other = {.question = pong};
        struct rgm_runtime *runtime = make(way, 1);
        struct rgm_counters counters;
        struct rgm_address address;

        rgi_check(rgm_runtime_start(runtime) == 0);
        rgi_check(rgm_runtime_spawn(runtime, 0, &robot_behaviour, &other,
                                    &address) == 0);
        for (uint64_t i = rgi_scale(50000); i > 0; i--) {
            uint64_t almost_full = UINT64_MAX - 1;
            struct question question;

            if (write(runtime->places[0].bell, &almost_full,
                      sizeof(almost_full)) < 0)
                rgi_check(errno == EAGAIN);
            question_prepare(&question, address);
            rgi_check(rgm_call(runtime, &question) == 0);
        }
        rgm_runtime_stop(runtime);
        rgi_check(rgm_runtime_wait(runtime) == 0);
        check_parks(runtime, &counters);
        rig_destroy(runtime);
    }
}

/* ------------------------------------------------------------------- floods */

#define SENDERS 8

struct flood {
    struct rgm_runtime *runtime;
    struct rgm_address sink;
    uint64_t each;
    bool running; /* in a delivery: one at a time */
    uint64_t got;
};

static void
absorb(struct robot *self, struct note *note)
{
    struct flood *flood = test_of(self);

    rgi_check(!flood->running);
    flood->running = true;
    rgi_check(note->message.state == RGI_MESSAGE_OUT);
    flood->got++;
    rgi_check(self->actor.worker->ready_first == NULL ||
              self->actor.worker->ready_first->ready_next == NULL);
    flood->running = false;
}

static void *
send_many(void *argument)
{
    const struct flood *flood = argument;
    struct rgm_guest guest;

    rgi_check(rgm_guest_open(flood->runtime, &guest) == 0);
    for (uint64_t sent = 0; sent < flood->each;) {
        struct note *note = note_take(&guest.actor, 0);
        int status = rgm_send(&guest, flood->sink, note);

        rgi_check(status == 0 || status == -EAGAIN);
        if (status == 0) {
            sent++;
            continue;
        }
        note_give(&guest.actor, note);
        (void)rgm_guest_wait(&guest);
    }
    rgm_guest_close(&guest);
    return NULL;
}

/* Eight threads wake one actor faster than it runs: one at a time it runs, it
 * is in the ready list once, and nothing is missing. */
static void
tsk_07_a_storm_of_wakes_is_one_entry_and_one_delivery_at_a_time(void)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct flood flood = {.each = rgi_scale(500000)};
        struct script sink = {.note = absorb, .test = &flood};
        pthread_t threads[SENDERS];
        struct rgm_counters counters;

        flood.runtime = make(way, 1);
        rgi_check(rgm_runtime_start(flood.runtime) == 0);
        rgi_check(rgm_runtime_spawn(flood.runtime, 0, &robot_behaviour, &sink,
                                    &flood.sink) == 0);
        for (unsigned i = 0; i < SENDERS; i++)
            rgi_check(pthread_create(&threads[i], NULL, send_many, &flood) ==
                      0);
        for (unsigned i = 0; i < SENDERS; i++)
            pthread_join(threads[i], NULL);
        rgm_runtime_stop(flood.runtime);
        rgi_check(rgm_runtime_wait(flood.runtime) == 0);
        rgi_check(flood.got == SENDERS * flood.each);
        check_parks(flood.runtime, &counters);
        rig_destroy(flood.runtime);
    }
}

/* From worker to worker, as much as the allowance lets out at a time: far
 * fewer bells than messages. */
static void
send_what_fits(struct robot *self)
{
    struct wakes *wakes = wakes_of(self);

    while (wakes->left > 0 && robot_send(self, wakes->other, 0) == 0)
        wakes->left--;
    if (wakes->left > 0)
        rgi_check(robot_send(self, rgm_self(self), 0) != -ESRCH);
    else
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
nothing(struct robot *self, struct note *note)
{
    (void)self;
    (void)note;
}

static void
begin_flood(struct robot *self)
{
    static const struct script sink = {.note = nothing};

    wakes_of(self)->other = robot_spawn_on(self, 1, &sink);
}

static void
field_b28_bells_are_far_fewer_than_messages(void)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct wakes wakes = {.left = rgi_scale(5000000)};
        struct script root = {.started = begin_flood,
                              .note = nothing,
                              .settled = send_what_fits,
                              .test = &wakes};
        struct rgm_runtime *runtime = make(way, 2);

        rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
        check_parks(runtime, &wakes.counters);
        rgi_check(wakes.counters.sent_remote >= rgi_scale(5000000));
        rgi_check(wakes.counters.bells * 8 <= wakes.counters.sent_remote);
        rgi_check(wakes.counters.flushes * 8 <= wakes.counters.sent_remote);
        rig_destroy(runtime);
    }
}

/* ----------------------------------------------- all of it, with every sleep */

/* A ring of workers, each sending to the next and sleeping in between, with
 * timers so short that deadlines and bells meet. */
#define RING 4

struct circle {
    struct rgm_address members[RING];
    uint64_t left;
};

RGM_ANSWER(robot, rgm_sleep, slept);

static void
pass_on(struct robot *self)
{
    struct circle *circle = test_of(self);
    uint32_t next = (rgm_worker_number(&self->actor) + 1) % RING;

    rgi_check(robot_send(self, circle->members[next], 0) == 0);
}

static void
slept(struct robot *self, struct rgm_sleep *sleep)
{
    if (rgm_status(sleep) == 0)
        pass_on(self);
}

static void
receive(struct robot *self, struct note *note)
{
    struct circle *circle = test_of(self);

    (void)note;
    if (rgm_worker_number(&self->actor) == 0 && --circle->left == 0) {
        rgm_runtime_stop(self->actor.worker->runtime);
        return;
    }
    if (++self->number % 3 != 0) {
        pass_on(self);
        return;
    }
    rgm_sleep_for(&self->sleep, rgm_here(self),
                  (uint64_t)self->number % 7 * 20 * RGM_NS_PER_US);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, slept));
}

static void
make_circle(struct robot *self)
{
    static struct script member;
    struct circle *circle = test_of(self);

    member = (struct script){.note = receive, .test = circle};
    for (uint32_t i = 0; i < RING; i++)
        circle->members[i] = robot_spawn_on(self, i, &member);
    rgi_check(robot_send(self, circle->members[1], 0) == 0);
}

static void
field_b10_every_way_of_sleeping_hears_every_wake(void)
{
    for (unsigned way = 0; way < WAYS; way++) {
        struct circle circle = {.left = rgi_scale(200000)};
        struct script root = {.started = make_circle, .test = &circle};
        struct rgm_runtime *runtime = make(way, RING);
        struct rgm_counters counters;

        rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
        check_parks(runtime, &counters);
        rig_destroy(runtime);
    }
}

#define CASES(X)                                                               \
    X(wake, field_b01_two_that_only_wake_each_other)                           \
    X(wake, field_b07_a_word_from_outside_at_any_moment)                       \
    X(wake, tsk_07_a_storm_of_wakes_is_one_entry_and_one_delivery_at_a_time)   \
    X(wake, field_b11_a_full_bell_is_heard)                                    \
    X(wake, field_b28_bells_are_far_fewer_than_messages)                       \
    X(wake, field_b10_every_way_of_sleeping_hears_every_wake)

RGI_CASES(CASES)
