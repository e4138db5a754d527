/* SPDX-License-Identifier: MIT */

/*
 * life_test.c - from spawn to stopped: who runs, where, how often?
 */

#include <pthread.h>

#include "actors/rig.h"

struct life {
    unsigned factories, started, handled, settled, retired, withdrawn, stopped;
    unsigned notes_home;
    int last_status;
    long value;
    pthread_t thread;
    struct rgm_address address, second;
};

#define life_of(self) ((struct life *)test_of(self))

/* A note whose way home is counted. */
struct parcel {
    struct rgm_message message;
    struct life *life;
};
RGM_MESSAGE_RETURNED(parcel, parcel_home);

static void
parcel_home(struct parcel *parcel, int status)
{
    parcel->life->notes_home++;
    parcel->life->last_status = status;
}

/* An actor of this file: it counts everything that happens to it. */
struct counted {
    struct rgm_actor actor;
    struct life *life;
    struct question question;
};

RGM_HANDLER(counted, parcel, counted_parcel);
RGM_HANDLER(counted, note, counted_note);
RGM_HOOK(counted, counted_started);
RGM_HOOK(counted, counted_settled);
RGM_HOOK(counted, counted_stopped);
RGM_FACTORY(counted, life, counted_make);

static const struct rgm_handler counted_handlers[] = {
    RGM_ON(counted, parcel, counted_parcel),
    RGM_ON(counted, note, counted_note),
};

/* No `retiring`: it is stopped at once. */
static const struct rgm_behaviour counted_behaviour = {
    .name = "counted",
    .size_bytes = sizeof(struct counted),
    RGM_HANDLERS(counted_handlers),
    .factory = RGM_MAKE(counted, counted_make),
    .started = RGM_DO(counted, counted_started),
    .settled = RGM_DO(counted, counted_settled),
    .stopped = RGM_DO(counted, counted_stopped),
};

static int
counted_make(struct counted *self, const struct life *life)
{
    self->life = (struct life *)(uintptr_t)life;
    self->life->factories++;
    if (self->life->value < 0)
        return (int)self->life->value;
    return 0;
}

static void
counted_started(struct counted *self)
{
    rgi_check(self->life->handled == 0);
    self->life->started++;
}

static void
counted_parcel(struct counted *self, struct parcel *parcel)
{
    (void)parcel;
    self->life->handled++;
}

/* The rest of this delivery still runs; nothing after it does. */
static void
counted_note(struct counted *self, struct note *note)
{
    rgm_stop(self);
    rgm_stop(self);
    rgi_check(self->life->stopped == 0);
    self->life->value = note->value;
}

static void
counted_settled(struct counted *self)
{
    self->life->settled++;
}

static void
counted_stopped(struct counted *self)
{
    rgi_check(self->actor.out_count == 0);
    self->life->stopped++;
}

static void
send_parcel(struct robot *self, struct rgm_address to)
{
    struct parcel *parcel = parcel_take(&self->actor, 0);

    parcel->life = life_of(self);
    rgi_check(rgm_send(self, to, parcel) == 0);
}

static struct rgm_address
spawn_counted(struct robot *self, uint32_t worker)
{
    struct rgm_address address;

    rgi_check(rgm_spawn_on(self, worker, &counted_behaviour, life_of(self),
                           &address) == 0);
    return address;
}

/* Keeps the root awake until the returns are in. */
static void
stop_when_home(struct robot *self)
{
    if (life_of(self)->notes_home >= 5 && life_of(self)->stopped == 1)
        rgm_stop(self);
    else
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
two_parcels_a_stop_and_three(struct robot *self)
{
    struct rgm_address to = spawn_counted(self, 0);

    send_parcel(self, to);
    send_parcel(self, to);
    rgi_check(robot_send(self, to, 42) == 0);
    for (unsigned i = 0; i < 3; i++)
        send_parcel(self, to);
}

static void
tsk_04_a_stop_runs_its_hook_and_nothing_else_of_the_behaviour(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = two_parcels_a_stop_and_three,
                          .settled = stop_when_home,
                          .test = &life};

    rig_run(1, &root);
    rgi_check(life.factories == 1 && life.started == 1 && life.stopped == 1);
    rgi_check(life.handled == 2 && life.notes_home == 5);
    rgi_check(life.last_status == -ESRCH && life.value == 42);
    rgi_check(life.settled == 0);
}

/* ------------------------------------------------------------ ways to stop */

static void
stop_by(struct robot *self)
{
    struct life *life = life_of(self);
    uint32_t last = rgm_workers_count(&self->actor) - 1;

    life->address = spawn_counted(self, last);
    switch (life->last_status) {
    case 0: /* from its own handler */
        rgi_check(robot_send(self, life->address, 1) == 0);
        break;
    case 1: /* by its address, which the spawn has not reached yet */
        rgi_check(rgm_stop_actor(self, life->address) == 0);
        rgi_check(rgm_stop_actor(self, life->address) == 0);
        break;
    default: /* by the end of the runtime */
        break;
    }
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
tsk_03_every_stop_ends_in_one_stopped(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        for (int how = 0; how < 3; how++) {
            struct life life = {.last_status = how};
            struct script root = {.started = stop_by, .test = &life};

            rig_run(workers, &root);
            rgi_check(life.factories == 1 && life.started == 1);
            rgi_check(life.stopped == 1);
        }
    }
}

static void
stop_nobody(struct robot *self)
{
    struct rgm_address nobody = {0}, far = {UINT64_MAX};
    struct rgm_address stale = rgi_address_make(0, 1, 77);

    rgi_check(rgm_stop_actor(self, nobody) == 0);
    rgi_check(rgm_stop_actor(self, far) == 0);
    rgi_check(rgm_stop_actor(self, stale) == 0);
    rgi_check(rgm_stop_actor(self, rgi_address_make(1, 999, 1)) == 0);
    rgi_check(self->actor.life == RGI_LIFE_RUNNING);
    rgi_check(rgm_stop_actor(self, rgm_self(self)) == 0);
    rgi_check(self->actor.life == RGI_LIFE_STOPPING);
}

static void
a_stop_of_nobody_does_nothing(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = stop_nobody, .test = &life};

    rig_run(2, &root);
}

/* ------------------------------------------------------------------ factory */

static int
make_note_of_thread(struct rgm_actor *self, const void *argument)
{
    struct life *life = (struct life *)(uintptr_t)argument;

    (void)self;
    rgi_check(pthread_equal(pthread_self(), life->thread));
    life->factories++;
    return 0;
}

static const struct rgm_behaviour bare_behaviour = {
    .name = "bare",
    .size_bytes = sizeof(struct rgm_actor),
    .factory = make_note_of_thread,
};

static void
spawn_bare(struct robot *self)
{
    struct life *life = life_of(self);
    struct rgm_address address;

    life->thread = pthread_self();
    for (uint32_t i = 0; i < rgm_workers_count(&self->actor); i++) {
        rgi_check(rgm_spawn_on(self, i, &bare_behaviour, life, &address) == 0);
        rgi_check(life->factories == i + 1);
        rgi_check(rgm_address_worker(address) == i);
    }
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
tsk_13_the_factory_runs_inside_the_call_on_the_callers_thread(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = spawn_bare, .test = &life};
    struct rgm_runtime *runtime;
    struct rgm_address address;

    rig_run(3, &root);
    rgi_check(life.factories == 3);
    runtime = rig_make(2);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 1, &bare_behaviour, &life, &address) ==
              0);
    rgi_check(life.factories == 4 && rgm_address_worker(address) == 1);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

static void
spawn_refused(struct robot *self)
{
    struct life *life = life_of(self);
    uint32_t slots = self->actor.worker->slots.last;
    struct rgm_address untouched = {7};
    struct rgm_behaviour small = counted_behaviour, loose = counted_behaviour;
    struct rgm_behaviour twice = counted_behaviour, untyped = counted_behaviour;
    const struct rgm_handler *any = counted_behaviour.handlers;
    const struct rgm_handler handlers_twice[] = {any[0], any[0]};
    const struct rgm_handler handler_untyped = {NULL, any[0].handle};

    life->value = -EDOM;
    for (uint32_t i = 0; i < 20; i++)
        rgi_check(rgm_spawn_on(self, i % 2, &counted_behaviour, life,
                               &untouched) == -EDOM);
    rgi_check(self->actor.worker->slots.last <= slots + 1);
    small.size_bytes = sizeof(struct rgm_actor) - 1;
    twice.handlers = handlers_twice;
    twice.handlers_count = 2;
    untyped.handlers = &handler_untyped;
    untyped.handlers_count = 1;
    loose.handlers = NULL;
    rgi_check(rgm_spawn(self, &twice, life, &untouched) == -EINVAL);
    rgi_check(rgm_spawn(self, &untyped, life, &untouched) == -EINVAL);
    rgi_check(rgm_spawn(self, &small, life, &untouched) == -EINVAL);
    rgi_check(rgm_spawn(self, &loose, life, &untouched) == -EINVAL);
    rgi_check(rgm_spawn(self, NULL, life, &untouched) == -EINVAL);
    rgi_check(rgm_spawn_on(self, 2, &counted_behaviour, life, &untouched) ==
              -EINVAL);
    rgi_check(untouched.bits == 7);
    rgi_check(self->actor.worker->actors_count == 1);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
a_refused_spawn_leaves_nothing(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = spawn_refused, .test = &life};

    rig_run(2, &root);
    rgi_check(life.factories == 20 && life.started == 0 && life.stopped == 0);
}

static void
spawn_while_retiring(struct robot *self)
{
    struct life *life = life_of(self);
    struct rgm_address untouched = {7};
    uint32_t count = rgm_workers_count(&self->actor);

    for (uint32_t i = 0; i < count; i++)
        rgi_check(rgm_spawn_on(self, i, &counted_behaviour, life, &untouched) ==
                  -EPIPE);
    rgi_check(rgm_spawn_next(self, &counted_behaviour, life, &untouched) ==
              -EPIPE);
    rgi_check(untouched.bits == 7);
    rgm_stop(self);
}

static void
stop_the_runtime(struct robot *self)
{
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
tsk_02_a_stopping_runtime_refuses_spawns_and_runs_nothing(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = stop_the_runtime,
                          .retiring = spawn_while_retiring,
                          .test = &life};
    struct rgm_runtime *runtime;
    struct rgm_address address;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 0, &counted_behaviour, &life,
                                &address) == -EPIPE);
    rgi_check(life.factories == 0 && life.started == 0);
    rig_destroy(runtime);
}

/* ---------------------------------------------------------------- placement */

static void
no_life_on(struct robot *self, struct note *note)
{
    (void)self;
    (void)note;
}

struct quiet_life {
    struct rgm_actor actor;
};

static const struct rgm_behaviour quiet_behaviour = {
    .name = "quiet", .size_bytes = sizeof(struct quiet_life)};

static void
deal_quiet(struct robot *self)
{
    while (self->number < 1000) {
        struct rgm_address address;
        int status = rgm_spawn_next(self, &quiet_behaviour, NULL, &address);

        if (status == -EAGAIN)
            break;
        rgi_check(status == 0);
        self->number++;
    }
    if (self->number < 1000)
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
    else
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
tsk_09_a_thousand_over_four_are_two_hundred_and_fifty_each(void)
{
    struct script root = {.settled = deal_quiet, .note = no_life_on};
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(4);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    for (uint32_t i = 0; i < 4; i++) {
        struct rgm_counters counters;

        rgi_check(rgm_runtime_counters(runtime, i, &counters) == 0);
        rgi_check(counters.spawned == (i == 0 ? 251 : 250));
        rgi_check(counters.stopped == counters.spawned);
    }
    rig_destroy(runtime);
}

/* From outside they are dealt too, by a turn that nobody inside advances. */
static void
spawn_a_few(struct robot *self)
{
    struct rgm_address address;

    for (unsigned i = 0; i < 7; i++)
        rgi_check(rgm_spawn_next(self, &quiet_behaviour, NULL, &address) == 0);
}

static void
mbx_07_outsiders_take_turns_of_their_own(void)
{
    static const struct script inside = {.started = spawn_a_few};
    struct rgm_runtime *runtime;
    struct rgm_address address;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make(4);
    rgi_check(rgm_runtime_start(runtime) == 0);
    for (uint32_t i = 0; i < 100; i++) {
        rgi_check(rgm_runtime_spawn(runtime, RGM_ANY_WORKER, &quiet_behaviour,
                                    NULL, &address) == 0);
        rgi_check(rgm_address_worker(address) == i % 4);
        if (i == 50)
            rgi_check(rgm_runtime_spawn(runtime, 2, &robot_behaviour, &inside,
                                        &address) == 0);
    }
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &counters) == 0);
    rgi_check(counters.spawned == 108 && counters.stopped == 108);
    rig_destroy(runtime);
}

static void
spawn_one_on_each(struct robot *self)
{
    struct rgm_address addresses[5];
    struct life *life = life_of(self);

    rgi_check(rgm_spawn_each(self, &counted_behaviour, life, addresses, 3) ==
              -ENOSPC);
    rgi_check(rgm_spawn_each(self, &quiet_behaviour, NULL, addresses, 5) == 4);
    for (uint32_t i = 0; i < 4; i++)
        rgi_check(rgm_address_worker(addresses[i]) == i);
    life->value = -EDOM;
    rgi_check(rgm_spawn_each(self, &counted_behaviour, life, addresses, 4) ==
              -EDOM);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
one_on_every_worker(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = spawn_one_on_each, .test = &life};

    rig_run(4, &root);
    rgi_check(life.factories == 1);
}

/* Numbers lent run out, which is said at once, and come anew. */
static void
use_up(struct robot *self)
{
    struct rgm_address address;
    int status;

    while ((status = rgm_spawn_on(self, 1, &quiet_behaviour, NULL, &address)) ==
           0)
        self->number++;
    rgi_check(status == -EAGAIN);
    if (self->number >= 64)
        rgm_runtime_stop(self->actor.worker->runtime);
    else
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
lent_numbers_run_out_and_come_anew(void)
{
    struct rgm_runtime_options options = {
        .workers = 2, .provider = &fake_class, .lent_slots = 4};
    struct script root = {.settled = use_up, .note = no_life_on};

    fake_reset();
    rig_run_with(&options, &root);
    options.lent_slots = 1;
    rig_run_with(&options, &root);
}

/* ------------------------------------------------------ before it arrives */

/* It goes behind the spawn, in the same chain. */
static void
spawn_and_send(struct robot *self)
{
    struct life *life = life_of(self);

    life->address = spawn_counted(self, 1);
    send_parcel(self, life->address);
    rgi_check(life->started == 0);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
mail_behind_its_own_spawn_is_handled(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = spawn_and_send, .test = &life};

    rig_run(2, &root);
    rgi_check(life.started == 1 && life.stopped == 1);
    rgi_check(life.notes_home == 1);
    rgi_check(life.handled == 1 || life.last_status == -ESRCH);
}

/* The owner of the slot itself is told the address before the spawn comes: the
 * spawner's chain waits in its outbox, and a plain thread brings the news. */
struct early {
    struct life life;
    struct rgm_runtime *runtime;
    pthread_t thread;
    bool stops;
};

#define LOOK_AGAIN 1

/* Not before: a stop of the runtime would end the actor, too. */
static void
stop_runtime_when_all_are_home(struct robot *self)
{
    struct early *early = test_of(self);

    if (early->life.notes_home == 5)
        rgm_runtime_stop(early->runtime);
    else
        rgi_check(robot_send(self, rgm_self(self), LOOK_AGAIN) == 0);
}

static void
on_news(struct robot *self, struct note *note)
{
    struct early *early = test_of(self);
    struct rgm_address address;
    struct rgi_slot *slot;

    if (note->value == LOOK_AGAIN)
        return;
    address = early->life.address; /* known since the news was sent */
    slot = rgi_slot_find(&self->actor.worker->slots, address);
    rgi_check(slot != NULL && slot->state == RGI_SLOT_LENT);
    for (unsigned i = 0; i < 5; i++) {
        struct parcel *parcel = parcel_take(&self->actor, 0);

        parcel->life = &early->life;
        rgi_check(rgm_send(self, address, parcel) == 0);
    }
    if (early->stops)
        rgi_check(rgm_stop_actor(self, address) == 0);
}

static void *
bring_news(void *argument)
{
    struct early *early = argument;
    struct rgm_guest guest;
    struct note news, later;

    rgi_check(rgm_guest_open(early->runtime, &guest) == 0);
    note_init(&news);
    rgi_check(rgm_send(&guest, early->life.second, &news) == 0);
    rgi_check(rgm_guest_wait(&guest) == 1);
    /* What was sent for the news has reached the slot when this is handled. */
    note_init(&later);
    later.value = LOOK_AGAIN;
    rgi_check(rgm_send(&guest, early->life.second, &later) == 0);
    rgm_guest_close(&guest);
    return NULL;
}

/* Runs on worker 0: spawns on worker 1 and sits on it until the thread is
 * back, so that worker 1 hears of the address first. */
static void
spawn_and_sit(struct robot *self, struct note *note)
{
    struct early *early = test_of(self);

    (void)note;
    rgi_check(rgm_spawn_on(self, 1, &counted_behaviour, &early->life,
                           &early->life.address) == 0);
    rgi_check(pthread_create(&early->thread, NULL, bring_news, early) == 0);
    pthread_join(early->thread, NULL);
}

static void
start_early(struct robot *self)
{
    static struct script newsreader;
    struct early *early = test_of(self);

    newsreader = (struct script){.note = on_news,
                                 .settled = stop_runtime_when_all_are_home,
                                 .test = early};
    early->runtime = self->actor.worker->runtime;
    early->life.second = robot_spawn_on(self, 1, &newsreader);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
on_early_note(struct robot *self, struct note *note)
{
    struct early *early = test_of(self);

    if (early->life.address.bits == 0)
        spawn_and_sit(self, note);
}

static void
run_early(struct early *early, bool stops)
{
    struct script root = {.started = start_early,
                          .note = on_early_note,
                          .test = early};

    memset(early, 0, sizeof(*early));
    early->stops = stops;
    rig_run(2, &root);
    rgi_check(early->life.started == 1 && early->life.stopped == 1);
    rgi_check(early->life.notes_home == 5);
}

static void
mail_that_overtakes_a_spawn_waits_for_it(void)
{
    struct early early;

    run_early(&early, false);
    rgi_check(early.life.handled == 5 || early.life.last_status != 0);
}

static void
a_stop_that_overtakes_a_spawn_waits_for_it_and_acts_first(void)
{
    struct early early;

    run_early(&early, true);
    rgi_check(early.life.handled == 0);
    rgi_check(early.life.last_status == -ESRCH);
}

/* ----------------------------------------------------------- reused slots */

static void
respawn(struct robot *self)
{
    struct life *life = life_of(self);

    if (self->number == 0)
        life->address = spawn_counted(self, 0);
    else if (self->number == 1)
        rgi_check(rgm_stop_actor(self, life->address) == 0);
    else if (life->stopped == 1 && life->second.bits == 0)
        life->second = spawn_counted(self, 0);
    else if (life->second.bits != 0) {
        struct parcel *parcel = parcel_take(&self->actor, 0);

        rgi_check(rgi_address_slot(life->address) ==
                  rgi_address_slot(life->second));
        rgi_check(!rgm_address_same(life->address, life->second));
        rgi_check(rgm_send(self, life->address, parcel) == -ESRCH);
        parcel_give(&self->actor, parcel);
        rgi_check(rgm_stop_actor(self, life->address) == 0);
        rgi_check(rgi_slot_find(&self->actor.worker->slots, life->second)
                      ->u.actor->life == RGI_LIFE_RUNNING);
        rgm_runtime_stop(self->actor.worker->runtime);
        return;
    }
    self->number++;
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
tsk_08_what_is_stale_never_reaches_the_next_tenant(void)
{
    struct life life = {.value = 0};
    struct script root = {
        .settled = respawn, .note = no_life_on, .test = &life};

    rig_run(1, &root);
    rgi_check(life.started == 2 && life.stopped == 2 && life.handled == 0);
}

/* A slot whose generations are used up is never used again. */
static void
use_up_generations(struct robot *self)
{
    struct life *life = life_of(self);
    struct rgm_worker *worker = self->actor.worker;

    if (self->number == 0)
        worker->slots.generation_start = RGI_GENERATION_MAX - 2;
    if (life->stopped == (unsigned)self->number && self->number < 7) {
        struct rgm_address address = spawn_counted(self, 0);

        /* three tenants in each slot */
        rgi_check(rgi_address_generation(address) ==
                  RGI_GENERATION_MAX - 2 + (uint32_t)self->number % 3);
        rgi_check(rgi_address_slot(address) ==
                  rgi_address_slot(rgm_self(self)) + 1 +
                      (uint32_t)self->number / 3);
        rgi_check(rgm_stop_actor(self, address) == 0);
        self->number++;
    }
    if (life->stopped == 7)
        rgm_runtime_stop(worker->runtime);
    else
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
field_b29_generations_end_and_never_wrap(void)
{
    struct life life = {.value = 0};
    struct script root = {
        .settled = use_up_generations, .note = no_life_on, .test = &life};

    rig_run(1, &root);
    rgi_check(life.started == 7);
}

/* --------------------------------------------------- stopping, in all states */

RGM_ANSWER(robot, question, late_answer);

static void
late_answer(struct robot *self, struct question *question)
{
    rgi_check(self->actor.life == RGI_LIFE_STOPPING);
    rgi_check(rgm_status(question) == -ECANCELED);
    life_of(self)->handled++;
}

static void
hold_or_answer(struct robot *self, struct question *question)
{
    if (question->value == 0)
        rgi_check(rgm_keep(self, question, &self->token) == 0);
    else
        rgm_reply(self, question, 0);
}

static void
ask_and_stop(struct robot *self)
{
    question_prepare(&self->question, life_of(self)->address);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, late_answer));
    rgm_stop(self);
}

static void
check_out(struct robot *self)
{
    rgi_check(self->actor.out_count == 0);
    life_of(self)->stopped++;
}

RGM_ANSWER(robot, question, end_of_play);

static void
end_of_play(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
play_stopping(struct robot *self)
{
    static struct script holder, asker;
    struct life *life = life_of(self);

    holder = (struct script){.question = hold_or_answer};
    asker = (struct script){
        .started = ask_and_stop, .stopped = check_out, .test = life};
    life->address = robot_spawn_on(self, 1, &holder);
    (void)robot_spawn(self, &asker);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

/* The asker has stopped by now. */
static void
ask_who_held_it(struct robot *self, struct note *note)
{
    (void)note;
    question_prepare(&self->question, life_of(self)->address);
    self->question.value = 1;
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, end_of_play));
}

static void
a_stopping_actor_cancels_and_waits_for_its_answers(void)
{
    struct life life = {.value = 0};
    struct script root = {
        .started = play_stopping, .note = ask_who_held_it, .test = &life};

    rig_run(2, &root);
    rgi_check(life.handled == 1 && life.stopped == 1);
}

RGM_ANSWER(robot, question, refused_answer);

static void
refused_answer(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == -ECANCELED);
    life_of(self)->handled++;
}

static void
ask_after_stop(struct robot *self)
{
    struct question other;

    rgm_stop(self);
    question_prepare(&self->question, rgm_self(self));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, refused_answer));
    question_prepare(&other, rgm_self(self));
    rgi_check(
        rgm_try_ask(self, &other, RGM_REPLY(robot, question, refused_answer)) ==
        -ECANCELED);
}

static void
who_is_stopping_asks_nothing_new(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = ask_after_stop, .test = &life};

    rig_run(1, &root);
    rgi_check(life.handled == 1);
}

/* A hook that sends is the last word: it goes out, and comes home. */
static void
last_words(struct robot *self)
{
    struct life *life = life_of(self);

    send_parcel(self, life->address);
    send_parcel(self, life->second);
    life->stopped++;
}

static void
prepare_last_words(struct robot *self)
{
    static const struct script listener = {.note = no_life_on};
    struct life *life = life_of(self);

    life->address = robot_spawn_on(self, 1, &listener);
    life->second = robot_spawn_on(self, 2, &listener);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
shd_05_last_words_to_every_worker_arrive(void)
{
    struct life life = {.value = 0};
    struct script root = {
        .started = prepare_last_words, .stopped = last_words, .test = &life};

    rig_run(3, &root);
    rgi_check(life.stopped == 1 && life.notes_home == 2);
}

/* A guessed address may be a lent one: its mail comes back with the number, or
 * behind it, when the number was faster. */
static void
guess(struct robot *self)
{
    struct rgi_slot *slot = rgi_slot_at(&self->actor.worker->slots, 1);

    rgi_check(slot->state == RGI_SLOT_LENT);
    send_parcel(self, rgi_address_make(0, 1, slot->generation));
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
mail_to_a_guessed_number_comes_home(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = guess, .test = &life};

    rig_run(2, &root);
    rgi_check(life.notes_home == 1);
    rgi_check(life.last_status == -ESRCH || life.last_status == -EPIPE);
}

/* --------------------------------------------------------------- retirement */

static void
note_retiring(struct robot *self)
{
    life_of(self)->retired++;
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

/* Told once, it takes a few more messages before it stops. */
static void
finish_slowly(struct robot *self, struct note *note)
{
    (void)note;
    if (++self->number == 10)
        rgm_stop(self);
    else
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
count_stopped(struct robot *self)
{
    life_of(self)->stopped++;
}

static void
retiring_is_told_once_and_given_time(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = stop_the_runtime,
                          .note = finish_slowly,
                          .retiring = note_retiring,
                          .stopped = count_stopped,
                          .test = &life};

    rig_run(2, &root);
    rgi_check(life.retired == 1 && life.stopped == 1);
}

/* The end of the root is the end of the runtime, whoever else lives. */
static void
spawn_crowd_and_end(struct robot *self)
{
    static struct script crowd;

    crowd = (struct script){.stopped = count_stopped, .test = test_of(self)};
    for (unsigned i = 0; i < 50; i++)
        (void)robot_spawn_on(self, 0, &crowd);
    rgm_stop(self);
}

static void
shd_03_the_end_of_the_root_stops_everybody(void)
{
    struct life life = {.value = 0};
    struct script root = {.started = spawn_crowd_and_end, .test = &life};

    rig_run(2, &root);
    rgi_check(life.stopped == 50);
}

/* ------------------------------------------------------------ memory of far */

/* Actors made here that end there, for ever: no memory is needed anew. */
static void
spawn_far_for_ever(struct robot *self)
{
    struct rgm_address address;
    struct life *life = life_of(self);

    if (self->actor.worker->messages_out == 0 && self->number > 2000 &&
        life->handled == 0) {
        life->handled = (unsigned)rgi_memory_live();
        self->number = 1;
    }
    while (rgm_spawn_on(self, 1, &quiet_behaviour, NULL, &address) == 0) {
        rgi_check(rgm_stop_actor(self, address) == 0);
        self->number++;
    }
    if (life->handled > 0 && self->number > 20000) {
        rgi_check(rgi_memory_live() <= life->handled + 2);
        rgm_runtime_stop(self->actor.worker->runtime);
        return;
    }
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
field_b22_spawning_elsewhere_for_ever_needs_no_new_memory(void)
{
    struct life life = {.value = 0};
    struct script root = {
        .settled = spawn_far_for_ever, .note = no_life_on, .test = &life};

    rig_run(2, &root);
}

#define CASES(X)                                                               \
    X(life, tsk_04_a_stop_runs_its_hook_and_nothing_else_of_the_behaviour)     \
    X(life, tsk_03_every_stop_ends_in_one_stopped)                             \
    X(life, a_stop_of_nobody_does_nothing)                                     \
    X(life, tsk_13_the_factory_runs_inside_the_call_on_the_callers_thread)     \
    X(life, a_refused_spawn_leaves_nothing)                                    \
    X(life, tsk_02_a_stopping_runtime_refuses_spawns_and_runs_nothing)         \
    X(life, tsk_09_a_thousand_over_four_are_two_hundred_and_fifty_each)        \
    X(life, mbx_07_outsiders_take_turns_of_their_own)                          \
    X(life, one_on_every_worker)                                               \
    X(life, lent_numbers_run_out_and_come_anew)                                \
    X(life, mail_behind_its_own_spawn_is_handled)                              \
    X(life, mail_that_overtakes_a_spawn_waits_for_it)                          \
    X(life, a_stop_that_overtakes_a_spawn_waits_for_it_and_acts_first)         \
    X(life, tsk_08_what_is_stale_never_reaches_the_next_tenant)                \
    X(life, field_b29_generations_end_and_never_wrap)                          \
    X(life, a_stopping_actor_cancels_and_waits_for_its_answers)                            \
    X(life, who_is_stopping_asks_nothing_new)                                  \
    X(life, shd_05_last_words_to_every_worker_arrive)                          \
    X(life, mail_to_a_guessed_number_comes_home)                               \
    X(life, retiring_is_told_once_and_given_time)                              \
    X(life, shd_03_the_end_of_the_root_stops_everybody)                        \
    X(life, field_b22_spawning_elsewhere_for_ever_needs_no_new_memory)

RGI_CASES(CASES)
