/* SPDX-License-Identifier: MIT */

/*
 * task_test.c - does a handle own its actor, from any thread, to the end and
 * after it?
 */

#include <pthread.h>
#include <sched.h>

#include <ringmail/task.h>

#include "actors/rig.h"

struct goods {
    struct rgm_parcel parcel;
    atomic_uint *destroyed;
};

struct play {
    struct rgm_runtime *runtime;
    struct goods goods;
    atomic_uint started, stopped, handled, destroyed, go;
    struct rgm_task *task;
    struct rgm_down down;
    struct rgm_end end;
    unsigned told;
};

#define play_of(self) ((struct play *)test_of(self))

static void
goods_destroy(struct rgm_parcel *parcel)
{
    struct goods *goods = rgi_container_of(parcel, struct goods, parcel);

    atomic_fetch_add(goods->destroyed, 1);
}

static struct rgm_parcel *
goods_make(struct play *play)
{
    rgm_parcel_init(&play->goods.parcel, goods_destroy);
    play->goods.destroyed = &play->destroyed;
    return &play->goods.parcel;
}

static void
count_started(struct robot *self)
{
    atomic_fetch_add(&play_of(self)->started, 1);
}

static void
count_stopped(struct robot *self)
{
    atomic_fetch_add(&play_of(self)->stopped, 1);
}

static void
finish_at_once(struct robot *self)
{
    count_started(self);
    rgi_check(rgm_finish(self, goods_make(play_of(self))) == 0);
}

static void
fail_at_once(struct robot *self)
{
    count_started(self);
    rgm_fail(self, goods_make(play_of(self)));
}

static struct rgm_runtime *
start_runtime(struct play *play, uint32_t workers)
{
    memset(play, 0, sizeof(*play));
    fake_reset();
    play->runtime = rig_make(workers);
    rgi_check(rgm_runtime_start(play->runtime) == 0);
    return play->runtime;
}

static void
end_runtime(struct play *play)
{
    rgm_runtime_stop(play->runtime);
    rgi_check(rgm_runtime_wait(play->runtime) == 0);
    rig_destroy(play->runtime);
}

static struct rgm_task *
task_of_script(struct play *play, uint32_t worker, struct script *script)
{
    struct rgm_task *task;

    script->test = play;
    script->stopped = count_stopped;
    rgi_check(rgm_runtime_task(play->runtime, worker, &robot_behaviour, script,
                               &task) == 0);
    return task;
}

/* ------------------------------------------------------------------- joining */

static void
tsk_03_joining_gives_the_output_the_fault_or_cancelled(void)
{
    struct script scripts[] = {{.started = finish_at_once},
                               {.started = fail_at_once},
                               {.started = count_started}};
    static const enum rgm_end_kind kinds[] = {RGM_END_DONE, RGM_END_FAULT,
                                              RGM_END_STOPPED};
    struct rgm_end end;

    for (unsigned i = 0; i < 6; i++) {
        struct play play;
        struct rgm_task *task;

        (void)start_runtime(&play, 2);
        task = task_of_script(&play, i / 3, &scripts[i % 3]);
        if (i % 3 == 2)
            rgm_task_stop(task);
        rgi_check(rgm_task_join(task, &end) == 0);
        rgi_check(end.kind == kinds[i % 3]);
        rgi_check(end.status == (i % 3 == 2 ? -ECANCELED : 0));
        rgi_check(end.parcel == (i % 3 == 2 ? NULL : &play.goods.parcel));
        rgi_check(atomic_load(&play.stopped) == 1);
        rgi_check(atomic_load(&play.destroyed) == 0);
        rgm_parcel_drop(end.parcel);
        rgi_check(atomic_load(&play.destroyed) == (i % 3 != 2));
        end_runtime(&play);
    }
}

/* ------------------------------------------------------------------ dropping */

static void
drop_inside(struct robot *self, struct note *note)
{
    struct play *play = play_of(self);

    (void)note;
    if (atomic_fetch_add(&play->handled, 1) == 0) {
        atomic_store(&play->go, 1);
        while (atomic_load(&play->go) == 1)
            sched_yield(); /* until the handle is dropped */
        rgi_check(self->actor.life == RGI_LIFE_RUNNING);
    }
}

/* Ten notes are there, the first is being handled: the nine are not. */
static void
tsk_05_dropping_destroys_once_the_current_delivery_returns(void)
{
    struct script script = {.note = drop_inside};
    struct play play;
    struct rgm_guest guest;
    struct rgm_address who;
    struct rgm_task *task;

    (void)start_runtime(&play, 2);
    task = task_of_script(&play, 1, &script);
    who = rgm_task_who(task);
    rgi_check(rgm_guest_open(play.runtime, &guest) == 0);
    for (int i = 0; i < 10; i++) {
        struct note *note = note_take(&guest.actor, 0);

        rgi_check(note != NULL && rgm_send(&guest, who, note) == 0);
        while (i == 0 && atomic_load(&play.go) == 0)
            sched_yield();
    }
    rgm_task_drop(task);
    atomic_store(&play.go, 2);
    rgm_guest_close(&guest);
    while (atomic_load(&play.stopped) == 0)
        sched_yield();
    end_runtime(&play);
    rgi_check(atomic_load(&play.handled) == 1);
    rgi_check(atomic_load(&play.stopped) == 1);
}

static void
tsk_03_a_detached_actor_lives_on(void)
{
    struct script script = {.started = count_started};
    struct play play;

    (void)start_runtime(&play, 1);
    rgm_task_detach(task_of_script(&play, 0, &script));
    while (atomic_load(&play.started) == 0)
        sched_yield();
    rgi_check(atomic_load(&play.stopped) == 0);
    end_runtime(&play);
    rgi_check(atomic_load(&play.stopped) == 1);
}

/* ------------------------------------------------------- after the runtime */

static void *
join_elsewhere(void *argument)
{
    struct play *play = argument;

    rgi_check(rgm_task_join(play->task, &play->end) == 0);
    return NULL;
}

static void
tsk_18_a_result_is_there_after_the_end_of_the_runtime(void)
{
    struct script script = {.started = finish_at_once};
    struct script idle = {.started = count_started};
    struct play play;
    struct rgm_task *left;
    pthread_t thread;

    (void)start_runtime(&play, 2);
    play.task = task_of_script(&play, 1, &script);
    left = task_of_script(&play, 0, &idle);
    rgm_runtime_stop(play.runtime);
    rgi_check(rgm_runtime_wait(play.runtime) == 0);
    rgi_check(rgm_runtime_destroy(play.runtime) == 0);
    rgi_check(pthread_create(&thread, NULL, join_elsewhere, &play) == 0);
    pthread_join(thread, NULL);
    rgi_check(play.end.parcel == &play.goods.parcel);
    rgi_check(rgm_task_end(left)->kind == RGM_END_RETIRED ||
              rgm_task_end(left)->kind == RGM_END_DONE);
    rgm_task_stop(left); /* touches no runtime */
    rgm_task_drop(left);
    rgm_parcel_drop(play.end.parcel);
    rgi_check(rgi_memory_live() == 0);
}

/* ------------------------------------------------------------------ an actor */

RGM_ANSWER(robot, rgm_down, task_down);

static void
task_down(struct robot *self, struct rgm_down *down)
{
    struct play *play = play_of(self);

    rgi_check(rgm_status(down) == 0);
    rgi_check(rgm_task_end(play->task) != NULL);
    rgi_check(rgm_task_join(play->task, &play->end) == 0);
    play->told++;
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
join_by_monitor(struct robot *self)
{
    static struct script script;
    struct play *play = play_of(self);

    script = (struct script){.started = finish_at_once, .test = play};
    rgi_check(rgm_spawn_task(self, 1, &robot_behaviour, &script,
                             &play->task) == 0);
    rgi_check(rgm_task_wait(play->task) == -EDEADLK);
    rgm_monitor(self, &play->down, rgm_task_who(play->task),
                RGM_REPLY(robot, rgm_down, task_down));
}

static void
an_actor_joins_by_a_monitor(void)
{
    struct play play = {.told = 0};
    struct script root = {.started = join_by_monitor, .test = &play};

    rig_run(2, &root);
    rgi_check(play.told == 1 && play.end.kind == RGM_END_DONE);
    rgi_check(play.end.parcel == &play.goods.parcel);
    rgm_parcel_drop(play.end.parcel);
}

/* ------------------------------------------------------------- many threads */

#define HANDS 4
#define EACH 64

struct hand {
    struct play *play;
    struct rgm_task *tasks[EACH];
    pthread_t thread;
    unsigned number;
};

static struct script mortal_script;

/* Each has its own tasks and the neighbour's, which it stops only. */
static void *
handle_many(void *argument)
{
    struct hand *hand = argument;
    struct rgm_end end;

    for (unsigned i = 0; i < EACH; i++)
        rgi_check(rgm_runtime_task(hand->play->runtime, RGM_ANY_WORKER,
                                   &robot_behaviour, &mortal_script,
                                   &hand->tasks[i]) == 0);
    for (unsigned i = 0; i < EACH; i++) {
        switch ((i + hand->number) % 4) {
        case 0:
            rgm_task_drop(hand->tasks[i]);
            break;
        case 1:
            rgm_task_detach(hand->tasks[i]);
            break;
        case 2:
            rgm_task_stop(hand->tasks[i]);
            rgm_task_stop(hand->tasks[i]);
            rgi_check(rgm_task_wait(hand->tasks[i]) == 0);
            rgm_task_drop(hand->tasks[i]);
            break;
        default:
            rgm_task_stop(hand->tasks[i]);
            rgi_check(rgm_task_join(hand->tasks[i], &end) == 0);
            rgi_check(end.kind == RGM_END_STOPPED);
            break;
        }
    }
    return NULL;
}

static void
tsk_17_handles_may_be_used_from_any_thread(void)
{
    struct hand hands[HANDS];
    struct play play;

    (void)start_runtime(&play, 3);
    mortal_script = (struct script){
        .started = count_started, .stopped = count_stopped, .test = &play};
    for (unsigned i = 0; i < HANDS; i++) {
        hands[i] = (struct hand){.play = &play, .number = i};
        rgi_check(pthread_create(&hands[i].thread, NULL, handle_many,
                                 &hands[i]) == 0);
    }
    for (unsigned i = 0; i < HANDS; i++)
        pthread_join(hands[i].thread, NULL);
    end_runtime(&play);
    rgi_check(atomic_load(&play.started) == atomic_load(&play.stopped));
    rgi_check(atomic_load(&play.stopped) == HANDS * EACH);
}

/* A handle dropped while the runtime ends and is freed. */
static void *
drop_late(void *argument)
{
    struct play *play = argument;

    while (atomic_load(&play->go) == 0)
        sched_yield();
    rgm_task_drop(play->task);
    return NULL;
}

static void
tsk_17_a_drop_may_race_with_the_end_of_the_runtime(void)
{
    for (uint64_t left = rgi_scale(20000); left > 0; left--) {
        struct script script = {.started = count_started};
        struct play play;
        pthread_t thread;

        (void)start_runtime(&play, 2);
        play.task = task_of_script(&play, 1, &script);
        rgi_check(pthread_create(&thread, NULL, drop_late, &play) == 0);
        rgm_runtime_stop(play.runtime);
        atomic_store(&play.go, 1);
        rgi_check(rgm_runtime_wait(play.runtime) == 0);
        rgi_check(rgm_runtime_destroy(play.runtime) == 0);
        pthread_join(thread, NULL);
        rgi_check(atomic_load(&play.stopped) == 1);
        rgi_check(rgi_memory_live() == 0);
    }
}

/* -------------------------------------------------------------------- limits */

static void
a_task_is_refused_whole(void)
{
    struct script script = {.started = count_started};
    struct play play;
    struct rgm_task *task = NULL;

    (void)start_runtime(&play, 2);
    script.test = &play;
    rgi_check(rgm_runtime_task(play.runtime, 77, &robot_behaviour, &script,
                               &task) == -EINVAL);
    rgi_memory_fail_nth(1);
    rgi_check(rgm_runtime_task(play.runtime, 1, &robot_behaviour, &script,
                               &task) == -ENOMEM);
    rgi_check(rgi_memory_fail_off());
    rgi_check(task == NULL && atomic_load(&play.started) == 0);
    end_runtime(&play);
}

/* What is bound to a thread goes where it is told, or nowhere. */
static void
tsk_19_what_is_bound_to_a_thread_is_not_dealt_out(void)
{
    struct script script = {.started = count_started};
    struct rgm_behaviour bound = robot_behaviour;
    struct rgm_task *task = NULL;
    struct rgm_address address;
    struct rgm_guest guest;
    struct play play;

    bound.thread_bound = true;
    (void)start_runtime(&play, 2);
    script.test = &play;
    rgi_check(rgm_guest_open(play.runtime, &guest) == 0);
    rgi_check(rgm_runtime_spawn(play.runtime, RGM_ANY_WORKER, &bound, &script,
                                &address) == -EINVAL);
    rgi_check(rgm_runtime_task(play.runtime, RGM_ANY_WORKER, &bound, &script,
                               &task) == -EINVAL);
    rgi_check(rgm_spawn_next(&guest, &bound, &script, &address) == -EINVAL);
    rgi_check(task == NULL && atomic_load(&play.started) == 0);
    rgi_check(rgm_spawn_on(&guest, 1, &bound, &script, &address) == 0);
    rgm_guest_close(&guest);
    end_runtime(&play);
    rgi_check(atomic_load(&play.started) == 1);
}

#define CASES(X)                                                              \
    X(task, tsk_03_joining_gives_the_output_the_fault_or_cancelled)           \
    X(task, tsk_03_a_detached_actor_lives_on)                                 \
    X(task, tsk_05_dropping_destroys_once_the_current_delivery_returns)       \
    X(task, tsk_18_a_result_is_there_after_the_end_of_the_runtime)            \
    X(task, an_actor_joins_by_a_monitor)                                      \
    X(task, tsk_17_handles_may_be_used_from_any_thread)                       \
    X(task, tsk_17_a_drop_may_race_with_the_end_of_the_runtime)               \
    X(task, tsk_19_what_is_bound_to_a_thread_is_not_dealt_out)                \
    X(task, a_task_is_refused_whole)

RGI_CASES(CASES)
