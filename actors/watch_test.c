/* SPDX-License-Identifier: MIT */

/*
 * watch_test.c - is an end told to whoever watches, once and as it was?
 *
 * A boss on worker 0 watches mortals here and on worker 1. A mortal ends in the
 * way a note tells it to.
 */

#include <pthread.h>
#include <sched.h>

#include <ringmail/watch.h>

#include "actors/rig.h"

#define DOWNS 64

enum way {
    STOPS = 1,
    STOPS_WITH_7,
    FINISHES,
    FAILS,
    FAILS_TWICE,
    FAILS_IN_STOPPED,
    IS_STOPPED,
    WAYS
};

struct goods {
    struct rgm_parcel parcel;
    int number;
};

struct stage {
    struct rgm_runtime *runtime;
    struct rgm_down downs[DOWNS];
    struct rgm_address mortals[DOWNS];
    struct goods goods[2 * DOWNS];
    atomic_uint goods_used, stopped;
    unsigned told, wanted, canceled, notes;
    void (*on_down)(struct robot *self, struct rgm_down *down);
    long last_note;
};

#define stage_of(self) ((struct stage *)test_of(self))

RGM_ANSWER(robot, rgm_down, boss_down);

static void
boss_down(struct robot *self, struct rgm_down *down)
{
    struct stage *stage = stage_of(self);

    stage->told++;
    if (rgm_status(down) == -ECANCELED)
        stage->canceled++;
    else
        rgi_check(rgm_status(down) == 0);
    if (stage->on_down != NULL)
        stage->on_down(self, down);
    if (stage->told == stage->wanted)
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
watch(struct robot *self, unsigned i, struct rgm_address who)
{
    rgm_monitor(self, &stage_of(self)->downs[i], who,
                RGM_REPLY(robot, rgm_down, boss_down));
}

/* ---- mortals ---- */

static void
goods_destroy(struct rgm_parcel *parcel)
{
    struct goods *goods = rgi_container_of(parcel, struct goods, parcel);

    goods->number = -1;
}

static struct rgm_parcel *
goods_make(struct stage *stage)
{
    unsigned i = atomic_fetch_add(&stage->goods_used, 1);

    rgi_check(i < 2 * DOWNS);
    stage->goods[i].number = (int)i;
    rgm_parcel_init(&stage->goods[i].parcel, goods_destroy);
    return &stage->goods[i].parcel;
}

static unsigned
goods_destroyed(const struct stage *stage)
{
    unsigned count = 0;

    for (unsigned i = 0; i < atomic_load(&stage->goods_used); i++)
        count += stage->goods[i].number == -1;
    return count;
}

static void
mortal_note(struct robot *self, struct note *note)
{
    struct stage *stage = stage_of(self);

    self->number = note->value;
    switch ((enum way)note->value) {
    case STOPS:
        rgm_stop(self);
        break;
    case STOPS_WITH_7:
        rgm_stop_with(self, 7);
        rgm_stop_with(self, 8); /* it is decided */
        break;
    case FINISHES:
        rgi_check(rgm_finish(self, goods_make(stage)) == 0);
        rgi_check(rgm_finish(self, NULL) == -EALREADY);
        break;
    case FAILS:
        rgm_fail(self, goods_make(stage));
        break;
    case FAILS_TWICE:
        rgm_fail(self, goods_make(stage));
        rgm_fail(self, goods_make(stage));
        break;
    case FAILS_IN_STOPPED:
        rgi_check(rgm_finish(self, goods_make(stage)) == 0);
        break;
    default:
        rgi_check(false);
    }
}

static void
mortal_stopped(struct robot *self)
{
    struct stage *stage = stage_of(self);

    if (self->number == FAILS_IN_STOPPED)
        rgm_fail(self, goods_make(stage));
    atomic_fetch_add(&stage->stopped, 1);
}

static struct script mortal;

static void
mortals_prepare(struct stage *stage)
{
    mortal = (struct script){
        .note = mortal_note, .stopped = mortal_stopped, .test = stage};
}

static void
end_it(struct robot *self, struct rgm_address who, enum way way)
{
    if (way == IS_STOPPED)
        rgi_check(rgm_stop_actor(self, who) == 0);
    else
        rgi_check(robot_send(self, who, way) == 0);
}

/* ------------------------------------------------------------- every end */

static void
check_end(const struct stage *stage, enum way way, const struct rgm_end *end)
{
    const struct goods *goods =
        end->parcel == NULL
            ? NULL
            : rgi_container_of(end->parcel, struct goods, parcel);

    rgi_check((goods != NULL) ==
              (way == FINISHES || way == FAILS || way == FAILS_TWICE ||
               way == FAILS_IN_STOPPED));
    rgi_check(goods == NULL || (goods >= stage->goods && goods->number >= 0));
    rgi_check((end->kind == RGM_END_DONE) ==
              (way == STOPS || way == STOPS_WITH_7 || way == FINISHES));
    rgi_check((end->kind == RGM_END_STOPPED) == (way == IS_STOPPED));
    rgi_check((end->kind == RGM_END_FAULT) ==
              (way == FAILS || way == FAILS_TWICE || way == FAILS_IN_STOPPED));
    rgi_check(end->status == (way == STOPS_WITH_7 ? 7
                              : way == IS_STOPPED ? -ECANCELED
                                                  : 0));
}

/* Downs 2 * way and 2 * way + 1 are of the same mortal. */
static void
check_and_drop(struct robot *self, struct rgm_down *down)
{
    struct stage *stage = stage_of(self);
    unsigned i = (unsigned)(down - stage->downs);

    rgi_check(rgm_address_same(rgm_down_who(down), stage->mortals[i]));
    check_end(stage, (enum way)(i / 2), &down->end);
    rgi_check(i % 2 == 0 || stage->downs[i - 1].end.parcel == NULL ||
              stage->downs[i - 1].end.parcel == down->end.parcel);
    rgm_parcel_drop(down->end.parcel);
}

static void
watch_all_ways(struct robot *self)
{
    struct stage *stage = stage_of(self);
    uint32_t worker = stage->last_note != 0;

    stage->runtime = self->actor.worker->runtime;
    for (unsigned way = STOPS; way < WAYS; way++) {
        struct rgm_address who = robot_spawn_on(self, worker, &mortal);

        stage->mortals[2 * way] = stage->mortals[2 * way + 1] = who;
        watch(self, 2 * way, who);
        watch(self, 2 * way + 1, who);
        end_it(self, who, (enum way)way);
    }
}

static void
every_end_is_told_as_it_was(uint32_t worker)
{
    struct stage stage = {.wanted = 2 * (WAYS - 1),
                          .on_down = check_and_drop,
                          .last_note = worker};
    struct script boss = {.started = watch_all_ways, .test = &stage};

    mortals_prepare(&stage);
    rig_run(2, &boss);
    rgi_check(stage.told == stage.wanted && stage.canceled == 0);
    rgi_check(atomic_load(&stage.stopped) == WAYS - 1);
    /* and the fault that came second, which nobody heard of, at the end */
    rgi_check(goods_destroyed(&stage) == atomic_load(&stage.goods_used));
}

static void
tsk_03_every_end_is_told_here_as_it_was(void)
{
    every_end_is_told_as_it_was(0);
}

static void
tsk_03_every_end_is_told_elsewhere_as_it_was(void)
{
    every_end_is_told_as_it_was(1);
}

/* --------------------------------------------------------- nobody is there */

static void
check_gone(struct robot *self, struct rgm_down *down)
{
    (void)self;
    rgi_check(down->end.kind == RGM_END_GONE && down->end.status == -ESRCH);
}

static void
watch_the_gone(struct robot *self)
{
    struct stage *stage = stage_of(self);

    if (self->number++ == 0) {
        stage->mortals[0] = robot_spawn_on(self, 0, &mortal);
        stage->mortals[1] = robot_spawn_on(self, 1, &mortal);
        end_it(self, stage->mortals[0], STOPS);
        end_it(self, stage->mortals[1], STOPS);
    }
    if (atomic_load(&stage->stopped) < 2 || stage->wanted != 0) {
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
        return;
    }
    stage->wanted = 6;
    watch(self, 0, stage->mortals[0]);
    watch(self, 1, stage->mortals[1]);
    watch(self, 2, (struct rgm_address){0});            /* the zero address */
    watch(self, 3, rgi_address_make(77, 1, 1));         /* no such worker */
    watch(self, 4, rgi_address_make(1, 9999, 1));       /* never used */
    watch(self, 5, (struct rgm_address){stage->mortals[0].bits + 1}); /* yet */
}

static void
one_already_gone_is_told_at_once(void)
{
    struct stage stage = {.on_down = check_gone};
    struct script boss = {.settled = watch_the_gone, .test = &stage};

    mortals_prepare(&stage);
    rig_run(2, &boss);
    rgi_check(stage.told == 6 && stage.canceled == 0);
}

/* -------------------------------------------------------------------- order */

#define LAST_WORDS 300

static void
talk_and_stop(struct robot *self, struct note *note)
{
    struct stage *stage = stage_of(self);

    if (note->value != 0)
        return;
    /* A note to itself comes first, so that the rest stands in line, too. */
    rgi_check(robot_send(self, rgm_self(self), 1) == 0);
    for (long i = 1; i <= LAST_WORDS; i++)
        rgi_check(robot_send(self, stage->mortals[DOWNS - 1], i) == 0);
    rgm_stop(self);
}

static void
hear_last_words(struct robot *self, struct note *note)
{
    struct stage *stage = stage_of(self);

    rgi_check(note->value == stage->last_note + 1);
    stage->last_note = note->value;
}

static void
check_heard_all(struct robot *self, struct rgm_down *down)
{
    (void)down;
    rgi_check(stage_of(self)->last_note == LAST_WORDS);
}

static void
listen(struct robot *self)
{
    struct stage *stage = stage_of(self);
    static struct script rambler;

    rambler = (struct script){.note = talk_and_stop, .test = stage};
    stage->mortals[DOWNS - 1] = rgm_self(self);
    stage->mortals[0] = robot_spawn_on(self, stage->notes, &rambler);
    watch(self, 0, stage->mortals[0]);
    rgi_check(robot_send(self, stage->mortals[0], 0) == 0);
}

/* Also when the mail is more than a worker sorts in one turn. */
static void
a_down_comes_after_all_the_dead_has_sent(void)
{
    for (uint32_t worker = 0; worker < 2; worker++) {
        for (uint32_t quota = 16; quota <= 1024; quota *= 8) {
            struct rgm_runtime_options options = {
                .workers = 2, .provider = &fake_class, .quota = quota};
            struct stage stage = {.wanted = 1,
                                  .notes = worker,
                                  .on_down = check_heard_all};
            struct script boss = {
                .started = listen, .note = hear_last_words, .test = &stage};

            fake_reset();
            rig_run_with(&options, &boss);
            rgi_check(stage.told == 1);
        }
    }
}

/* --------------------------------------------------------------- demonitor */

static void
watch_and_not(struct robot *self)
{
    struct stage *stage = stage_of(self);

    for (unsigned i = 0; i < 12; i++) {
        stage->mortals[i] = robot_spawn_on(self, i % 2, &mortal);
        watch(self, i, stage->mortals[i]);
        if (i % 3 == 0)
            watch(self, 12 + i, stage->mortals[i]);
    }
    for (unsigned i = 0; i < 12; i++) {
        rgm_demonitor(self, &stage->downs[i]);
        rgm_demonitor(self, &stage->downs[i]); /* once is enough */
        if (i % 3 == 0)
            end_it(self, stage->mortals[i], STOPS_WITH_7);
    }
    rgi_check(stage->told == 0); /* never inside the call */
}

static void
check_canceled_or_seven(struct robot *self, struct rgm_down *down)
{
    bool second = down - stage_of(self)->downs >= 12;

    rgi_check((rgm_status(down) == 0) == second);
    rgi_check(!second || down->end.status == 7);
}

static void
a_demonitor_is_answered_once_and_leaves_the_others(void)
{
    struct stage stage = {.wanted = 16, .on_down = check_canceled_or_seven};
    struct script boss = {.started = watch_and_not, .test = &stage};

    mortals_prepare(&stage);
    rig_run(2, &boss);
    rgi_check(stage.told == 16 && stage.canceled == 12);
}

/* The same record again and again, from its own answer. */
static void
watch_again(struct robot *self, struct rgm_down *down)
{
    struct stage *stage = stage_of(self);

    if (stage->told < stage->wanted) {
        watch(self, 0, stage->mortals[0]);
        if (stage->told % 2 == 0)
            rgm_flush(self); /* the cancel catches it up on its way */
        rgm_demonitor(self, down);
    }
}

static void
watch_for_long(struct robot *self)
{
    struct stage *stage = stage_of(self);

    stage->mortals[0] = robot_spawn_on(self, stage->notes, &mortal);
    watch(self, 0, stage->mortals[0]);
    rgm_demonitor(self, &stage->downs[0]);
}

static void
a_record_may_watch_again_from_its_own_answer(void)
{
    for (uint32_t worker = 0; worker < 2; worker++) {
        struct stage stage = {
            .wanted = 500, .notes = worker, .on_down = watch_again};
        struct script boss = {.started = watch_for_long, .test = &stage};

        mortals_prepare(&stage);
        rig_run(2, &boss);
        rgi_check(stage.told == 500 && stage.canceled == 500);
    }
}

/* ------------------------------------------------------ watchers that stop */

static void
watch_and_stop(struct robot *self)
{
    struct stage *stage = stage_of(self);

    watch(self, 0, stage->mortals[0]);
    watch(self, 1, stage->mortals[1]);
    watch(self, 2, rgm_self(self)); /* nobody waits for himself */
    rgm_stop(self);
}

static void
watcher_stopped(struct robot *self)
{
    rgi_check(stage_of(self)->told == 3);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
send_a_watcher(struct robot *self)
{
    static struct script watcher;
    struct stage *stage = stage_of(self);

    watcher = (struct script){
        .started = watch_and_stop, .stopped = watcher_stopped, .test = stage};
    stage->mortals[0] = robot_spawn_on(self, 0, &mortal);
    stage->mortals[1] = robot_spawn_on(self, 1, &mortal);
    (void)robot_spawn(self, &watcher);
}

static void
a_watcher_that_stops_watches_no_longer(void)
{
    struct stage stage = {.wanted = 0};
    struct script boss = {.started = send_a_watcher, .test = &stage};

    mortals_prepare(&stage);
    rig_run(2, &boss);
    rgi_check(stage.told == 3 && stage.canceled == 3);
}

/* ---------------------------------------------- the end of the runtime, ... */

static void
retire_later(struct robot *self)
{
    self->number = 1; /* stops when all it watches have */
}

static void
check_retired(struct robot *self, struct rgm_down *down)
{
    struct stage *stage = stage_of(self);

    rgi_check(down->end.kind == RGM_END_RETIRED);
    rgi_check(down->end.status == -ESHUTDOWN);
    if (stage->told == 4)
        rgm_stop(self);
}

static const struct rgm_behaviour meek_behaviour = {
    .name = "meek", .size_bytes = sizeof(struct rgm_actor)};

static void
watch_meek(struct robot *self)
{
    for (unsigned i = 0; i < 4; i++) {
        struct rgm_address who;

        rgi_check(rgm_spawn_on(self, i % 2, &meek_behaviour, NULL, &who) == 0);
        watch(self, i, who);
    }
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
an_end_by_the_runtimes_is_told_to_who_has_time(void)
{
    struct stage stage = {.wanted = 99, .on_down = check_retired};
    struct script boss = {
        .started = watch_meek, .retiring = retire_later, .test = &stage};

    rig_run(2, &boss);
    rgi_check(stage.told == 4 && stage.canceled == 0);
}

/* Without the parked watcher the first would be lost with the second's slot. */
static void
end_at_once(struct robot *self)
{
    rgm_stop_with(self, 41);
}

static void
check_at_once(struct robot *self, struct rgm_down *down);

static void
spawn_short_lives(struct robot *self)
{
    static struct script mayfly;
    struct stage *stage = stage_of(self);
    unsigned told = stage->told;

    mayfly = (struct script){.started = end_at_once, .test = stage};
    for (unsigned i = 0; i < 8; i++)
        rgi_check(rgm_spawn_watched(self, i % 3, &robot_behaviour, &mayfly,
                                    &stage->downs[i],
                                    RGM_REPLY(robot, rgm_down, boss_down),
                                    &stage->mortals[i]) == 0);
    rgi_check(rgm_spawn_watched(self, 99, &robot_behaviour, &mayfly,
                                &stage->downs[9],
                                RGM_REPLY(robot, rgm_down, boss_down),
                                &stage->mortals[9]) == -EINVAL);
    rgi_check(stage->told == told);
}

static void
check_at_once(struct robot *self, struct rgm_down *down)
{
    struct stage *stage = stage_of(self);

    rgi_check(down->end.kind == RGM_END_DONE && down->end.status == 41);
    if (++stage->notes == 8 && stage->told < stage->wanted) {
        stage->notes = 0;
        spawn_short_lives(self);
    }
}

static void
one_that_is_watched_from_the_start_ends_as_it_did(void)
{
    struct stage stage = {.wanted = 80, .on_down = check_at_once};
    struct script boss = {.started = spawn_short_lives, .test = &stage};

    rig_run(3, &boss);
    rgi_check(stage.told == 80 && stage.canceled == 0);
}

/* A watcher's message is there before the actor: a third worker was told of
 * the address while the spawn had not left its outbox yet. */
static void
watch_the_unborn(struct robot *self, struct note *note)
{
    struct stage *stage = stage_of(self);

    (void)note;
    watch(self, 0, stage->mortals[0]);
    rgm_flush(self);
    atomic_store(&stage->goods_used, 1);
}

static void *
tell_the_address(void *argument)
{
    struct stage *stage = argument;
    struct rgm_guest guest;
    struct note *note;

    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    note = note_take(&guest.actor, 0);
    rgi_check(note != NULL &&
              rgm_send(&guest, stage->mortals[1], note) == 0);
    rgm_guest_close(&guest);
    return NULL;
}

static void
spawn_slowly(struct robot *self)
{
    static struct script third;
    struct stage *stage = stage_of(self);
    pthread_t thread;

    third = (struct script){.note = watch_the_unborn, .test = stage};
    stage->runtime = self->actor.worker->runtime;
    stage->mortals[1] = robot_spawn_on(self, 2, &third);
    rgm_flush(self);
    stage->mortals[0] = robot_spawn_on(self, 1, &mortal);
    rgi_check(pthread_create(&thread, NULL, tell_the_address, stage) == 0);
    pthread_join(thread, NULL);
    while (atomic_load(&stage->goods_used) == 0)
        sched_yield();
    end_it(self, stage->mortals[0], STOPS_WITH_7);
}

static void
check_seven(struct robot *self, struct rgm_down *down)
{
    (void)self;
    rgi_check(down->end.kind == RGM_END_DONE && down->end.status == 7);
}

static void
a_monitor_that_overtakes_the_spawn_waits_for_it(void)
{
    struct stage stage = {.wanted = 1, .on_down = check_seven};
    struct script boss = {.started = spawn_slowly, .test = &stage};

    mortals_prepare(&stage);
    rig_run(3, &boss);
    rgi_check(stage.told == 1);
}

/* ------------------------------------------------------------------- faults */

static void
fail_now(struct robot *self)
{
    rgm_fail(self, goods_make(stage_of(self)));
}

static struct script faulty[4]; /* one for every hook */

static void
faulty_prepare(struct stage *stage)
{
    faulty[0] = (struct script){.started = fail_now, .test = stage};
    faulty[1] = (struct script){.note = mortal_note, .test = stage};
    faulty[2] = (struct script){.settled = fail_now, .test = stage};
    faulty[3] = (struct script){
        .started = end_at_once, .stopped = fail_now, .test = stage};
}

static void
check_fault(struct robot *self, struct rgm_down *down)
{
    struct stage *stage = stage_of(self);
    unsigned i = (unsigned)(down - stage->downs);

    rgi_check(down->end.kind == RGM_END_FAULT && down->end.status == 0);
    rgi_check(down->end.parcel != NULL);
    if (i % 2 == 1)
        rgi_check(stage->downs[i - 1].end.parcel == down->end.parcel);
}

static void
spawn_faulty(struct robot *self)
{
    struct stage *stage = stage_of(self);

    stage->runtime = self->actor.worker->runtime;
    for (unsigned hook = 0; hook < 4; hook++) {
        const struct script *script = &faulty[hook];
        struct rgm_address alone;

        for (uint32_t worker = 0; worker < 2; worker++) {
            unsigned i = 2 * (2 * hook + worker);

            rgi_check(rgm_spawn_watched(self, worker, &robot_behaviour, script,
                                        &stage->downs[i],
                                        RGM_REPLY(robot, rgm_down, boss_down),
                                        &stage->mortals[i]) == 0);
            watch(self, i + 1, stage->mortals[i]);
            alone = robot_spawn_on(self, worker, script);
            if (hook == 1) {
                rgi_check(robot_send(self, stage->mortals[i], FAILS) == 0);
                rgi_check(robot_send(self, alone, FAILS) == 0);
            }
        }
    }
}

static void
tsk_06_faults_are_contained_heard_untouched_and_kept_unheard(void)
{
    struct stage stage = {.wanted = 16, .on_down = check_fault};
    struct script boss = {.started = spawn_faulty, .test = &stage};
    struct rgm_runtime *runtime;
    struct rgm_parcel *kept;
    unsigned count = 0;

    fake_reset();
    faulty_prepare(&stage);
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &boss) == 0);
    rgi_check(stage.told == 16 && goods_destroyed(&stage) == 0);
    for (unsigned i = 0; i < 16; i += 2)
        rgm_parcel_drop(stage.downs[i].end.parcel);
    rgi_check(goods_destroyed(&stage) == 0);
    for (unsigned i = 1; i < 16; i += 2)
        rgm_parcel_drop(stage.downs[i].end.parcel);
    rgi_check(goods_destroyed(&stage) == 8);
    kept = rgm_runtime_faults(runtime);
    rgi_check(rgm_runtime_faults(runtime) == NULL);
    rig_destroy(runtime);
    for (; kept != NULL; count++) {
        struct rgm_parcel *next = kept->next;

        rgm_parcel_drop(kept);
        kept = next;
    }
    rgi_check(count == 8 && goods_destroyed(&stage) == 16);
}

static void
finish_unwatched(struct robot *self)
{
    struct stage *stage = stage_of(self);

    if (self->number++ == 0) {
        end_it(self, robot_spawn(self, &mortal), FINISHES);
        end_it(self, robot_spawn(self, &mortal), FAILS);
    }
    if (atomic_load(&stage->stopped) < 2) {
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
        return;
    }
    rgi_check(goods_destroyed(stage) == 1); /* the output; not the fault */
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
tsk_06_an_output_nobody_wants_is_destroyed_once(void)
{
    struct stage stage = {.wanted = 0};
    struct script boss = {.settled = finish_unwatched, .test = &stage};

    mortals_prepare(&stage);
    rig_run(1, &boss);
    rgi_check(goods_destroyed(&stage) == 2); /* a kept one goes at the end */
}

/* ----------------------------------------------------- a provider that fails */

static void
check_lost(struct robot *self, struct rgm_down *down)
{
    rgi_check(down->end.kind == RGM_END_LOST && down->end.status == -EIO);
    rgm_stop(self);
}

static void
ask_what_never_ends(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener,
                 rgm_worker_address(rgm_worker_number(&self->actor)));
    rgm_ask_request(&self->actor, &self->listen.operation.request, NULL);
    atomic_store(&fake_plan.wait_error[1], -EIO);
}

static void
watch_the_loser(struct robot *self)
{
    static struct script loser;
    struct stage *stage = stage_of(self);

    loser = (struct script){.started = ask_what_never_ends, .test = stage};
    rgi_check(rgm_spawn_watched(self, 1, &robot_behaviour, &loser,
                                &stage->downs[0],
                                RGM_REPLY(robot, rgm_down, boss_down),
                                &stage->mortals[0]) == 0);
}

static void
one_that_is_lost_with_its_provider_is_told_so(void)
{
    struct stage stage = {.wanted = 9, .on_down = check_lost};
    struct script boss = {
        .started = watch_the_loser, .retiring = retire_later, .test = &stage};
    struct rgm_runtime *runtime;

    fake_reset();
    fake_plan.deaf = true;
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &boss) == -EIO);
    rgi_check(stage.told == 1);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
}

/* ------------------------------------------------------------------- guests */

static unsigned guest_told;

static void
guest_down(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
    guest_told++;
}

static struct rgm_runtime *
rig_start(uint32_t workers)
{
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(workers);
    rgi_check(rgm_runtime_start(runtime) == 0);
    return runtime;
}

static void
a_guest_watches_until_it_closes(void)
{
    struct stage stage = {.wanted = 0};
    struct rgm_down watched, never, late;
    struct rgm_runtime *runtime = rig_start(2);
    struct rgm_address first, second;
    struct rgm_guest guest;

    mortals_prepare(&stage);
    guest_told = 0;
    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    rgi_check(rgm_spawn_watched_actor(&guest.actor, 1, &robot_behaviour,
                                      &mortal, &watched, guest_down,
                                      &first) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 0, &robot_behaviour, &mortal,
                                &second) == 0);
    rgm_monitor_actor(&guest.actor, &never, second, guest_down);
    rgi_check(rgm_stop_actor(&guest, first) == 0);
    while (guest_told == 0)
        (void)rgm_guest_wait(&guest);
    rgi_check(guest_told == 1 && watched.end.kind == RGM_END_STOPPED);
    rgm_guest_close(&guest);
    rgi_check(guest_told == 2 && rgm_status(&never) == -ECANCELED);

    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgm_monitor_actor(&guest.actor, &late, first, guest_down);
    rgi_check(rgm_guest_wait(&guest) == 1);
    rgi_check(rgm_status(&late) == 0 && late.end.kind == RGM_END_GONE &&
              late.end.status == -EPIPE);
    rgm_guest_close(&guest);
    rig_destroy(runtime);
}

/* ------------------------------------------------------- memory, and numbers */

#define CROWD 3000u

struct crowd {
    struct rgm_address actors[CROWD];
    struct rgm_down downs[2 * CROWD];
    unsigned told, canceled;
    bool short_of_memory;
    uint64_t source;
};

RGM_ANSWER(robot, rgm_down, crowd_down);

static void
crowd_down(struct robot *self, struct rgm_down *down)
{
    struct crowd *crowd = test_of(self);
    unsigned i = (unsigned)(down - crowd->downs);

    rgi_check(rgm_address_same(rgm_down_who(down), crowd->actors[i % CROWD]));
    if (rgm_status(down) == -ECANCELED)
        crowd->canceled++;
    else
        rgi_check(down->end.kind == RGM_END_STOPPED);
    if (++crowd->told == 2 * CROWD) {
        rgi_check(!rgi_memory_fail_off());
        rgm_runtime_stop(self->actor.worker->runtime);
    }
}

/* In an order that is not the slots': those dead, then those left alone. */
static void
end_the_crowd(struct crowd *crowd, struct robot *self)
{
    for (unsigned i = 0; i < CROWD; i++) {
        unsigned victim = (i * 1009u) % CROWD;

        if (victim % 4 == 1)
            rgm_demonitor(self, &crowd->downs[victim]);
        if (victim % 4 == 2)
            rgm_demonitor(self, &crowd->downs[CROWD + victim]);
        rgi_check(rgm_stop_actor(self, crowd->actors[victim]) == 0);
    }
}

static void
watch_the_crowd(struct robot *self)
{
    struct crowd *crowd = test_of(self);

    for (unsigned i = 0; i < CROWD; i++)
        rgi_check(rgm_spawn(self, &meek_behaviour, NULL, &crowd->actors[i]) ==
                  0);
    for (unsigned i = 0; i < 2 * CROWD; i++) {
        if (crowd->short_of_memory)
            rgi_memory_fail_nth(1);
        rgm_monitor(self, &crowd->downs[i], crowd->actors[i % CROWD],
                    RGM_REPLY(robot, rgm_down, crowd_down));
    }
    rgi_check(self->actor.worker->watchers.count == 2 * CROWD);
    rgi_check((self->actor.worker->watchers.size == 0) == crowd->short_of_memory);
    rgi_memory_fail_nth(1); /* from here on nothing is allocated */
    end_the_crowd(crowd, self);
}

static void
watch_a_crowd(bool short_of_memory)
{
    static struct crowd crowd;
    struct script boss = {.started = watch_the_crowd, .test = &crowd};

    memset(&crowd, 0, sizeof(crowd));
    crowd.short_of_memory = short_of_memory;
    rig_run(1, &boss);
    rgi_check(crowd.told == 2 * CROWD && crowd.canceled == 2 * (CROWD / 4));
}

static void
telling_needs_no_memory(void)
{
    watch_a_crowd(false);
}

static void
a_table_that_cannot_grow_works_as_it_is(void)
{
    watch_a_crowd(true);
}

/* Each slot has a tenant after the other, each with a watcher of its own. */
static void
watch_tenants(struct robot *self)
{
    struct stage *stage = stage_of(self);

    if (self->number == 0)
        self->actor.worker->slots.generation_start = RGI_GENERATION_MAX - 3;
    if (stage->told == 40) {
        rgm_runtime_stop(self->actor.worker->runtime);
        return;
    }
    if (stage->told == (unsigned)self->number) {
        unsigned i = (unsigned)self->number++;

        stage->mortals[i] = robot_spawn(self, &mortal);
        watch(self, i, stage->mortals[i]);
        if (i > 0) {
            stage->wanted = 1000; /* the one before is gone by now */
            watch(self, DOWNS - 1, stage->mortals[i - 1]);
        }
        end_it(self, stage->mortals[i], STOPS_WITH_7);
    }
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
check_tenant(struct robot *self, struct rgm_down *down)
{
    struct stage *stage = stage_of(self);

    (void)self;
    if (down == &stage->downs[DOWNS - 1]) {
        rgi_check(down->end.kind == RGM_END_GONE);
        stage->told--;
    } else {
        rgi_check(down->end.kind == RGM_END_DONE && down->end.status == 7);
    }
}

static void
field_b29_downs_arrive_however_far_the_generations_are(void)
{
    struct stage stage = {.wanted = 1000, .on_down = check_tenant};
    struct script boss = {.settled = watch_tenants, .test = &stage};

    mortals_prepare(&stage);
    rig_run(1, &boss);
    rgi_check(stage.told == 40);
}

#define CASES(X)                                                              \
    X(watch, tsk_03_every_end_is_told_here_as_it_was)                         \
    X(watch, tsk_03_every_end_is_told_elsewhere_as_it_was)                    \
    X(watch, one_already_gone_is_told_at_once)                                \
    X(watch, a_down_comes_after_all_the_dead_has_sent)                        \
    X(watch, a_demonitor_is_answered_once_and_leaves_the_others)              \
    X(watch, a_record_may_watch_again_from_its_own_answer)                    \
    X(watch, a_watcher_that_stops_watches_no_longer)                          \
    X(watch, an_end_by_the_runtimes_is_told_to_who_has_time)                  \
    X(watch, one_that_is_watched_from_the_start_ends_as_it_did)               \
    X(watch, a_monitor_that_overtakes_the_spawn_waits_for_it)                 \
    X(watch, tsk_06_faults_are_contained_heard_untouched_and_kept_unheard)    \
    X(watch, tsk_06_an_output_nobody_wants_is_destroyed_once)                 \
    X(watch, a_guest_watches_until_it_closes)                                 \
    X(watch, telling_needs_no_memory)                                         \
    X(watch, a_table_that_cannot_grow_works_as_it_is)                         \
    X(watch, field_b29_downs_arrive_however_far_the_generations_are)          \
    X(watch, one_that_is_lost_with_its_provider_is_told_so)

RGI_CASES(CASES)
