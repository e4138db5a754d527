/* SPDX-License-Identifier: MIT */

/*
 * scope_test.c - does a cancel reach everything under a scope, and nothing else?
 *
 * A waiter is a sleep that never ends, asked in a scope: it is answered when
 * that is cancelled.
 */

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ringmail/deadline.h>
#include <ringmail/scope.h>

#include "actors/rig.h"

#define WAITERS 4

/*
 * Counts rounds. Who waits for one looks for a while, so that the two threads
 * meet when there are CPUs for both, and then sleeps: where there are none, a
 * yield would cost each round a slice of everybody else's.
 */
struct tally {
    _Atomic uint32_t count, sleepers;
};

static void
tally_add(struct tally *tally)
{
    atomic_fetch_add(&tally->count, 1);
    if (atomic_load(&tally->sleepers) > 0)
        syscall(SYS_futex, &tally->count, FUTEX_WAKE_PRIVATE, INT_MAX);
}

static void
tally_await(struct tally *tally, uint32_t round)
{
    uint32_t count;

    for (unsigned looks = 0; looks < 2000; looks++)
        if (atomic_load(&tally->count) >= round)
            return;
    atomic_fetch_add(&tally->sleepers, 1);
    while ((count = atomic_load(&tally->count)) < round)
        syscall(SYS_futex, &tally->count, FUTEX_WAIT_PRIVATE, count, NULL);
    atomic_fetch_sub(&tally->sleepers, 1);
}

struct play {
    struct rgm_scope root, middle, leaf, beside;
    struct rgm_scope_close close;
    struct rgm_sleep waiters[WAITERS];
    int told[WAITERS]; /* 1: still waits */
    struct script asked;
    struct rgm_address to;
    struct tally set;
    atomic_uint stage;
    unsigned answers, firsts, rounds;
    int closed;
    uint64_t seed;
};

RGM_ANSWER(robot, rgm_sleep, waiter_told);

static void
waiter_told(struct robot *self, struct rgm_sleep *sleep)
{
    struct play *play = test_of(self);

    play->told[sleep - play->waiters] = rgm_status(sleep);
    play->answers++;
}

static void
wait_in(struct robot *self, int i, struct rgm_scope *scope)
{
    struct play *play = test_of(self);
    struct rgm_sleep *sleep = &play->waiters[i];

    play->told[i] = 1;
    rgm_sleep_until(sleep, rgm_here(self), RGM_NEVER);
    rgm_in_scope(sleep, scope);
    rgm_ask(self, sleep, RGM_REPLY(robot, rgm_sleep, waiter_told));
}

static void
play_begin(struct play *play)
{
    memset(play, 0, sizeof(*play));
    play->closed = 1;
}

static void
play_run(struct play *play, uint32_t workers, void (*started)(struct robot *),
         void (*note)(struct robot *, struct note *))
{
    struct script root = {.started = started, .note = note, .test = play};

    rig_run(workers, &root);
}

/* A note to oneself, so that everything before it was delivered. */
static void
go_on(struct robot *self)
{
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
open_all(struct robot *self)
{
    struct play *play = test_of(self);

    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    rgi_check(rgm_scope_open(self, &play->middle, &play->root) == 0);
    rgi_check(rgm_scope_open(self, &play->leaf, &play->middle) == 0);
    rgi_check(rgm_scope_open(self, &play->beside, &play->root) == 0);
    wait_in(self, 0, &play->root);
    wait_in(self, 1, &play->middle);
    wait_in(self, 2, &play->leaf);
    wait_in(self, 3, &play->beside);
}

/* ------------------------------------------------------------------- the tree */

static void
cancel_the_leaf(struct robot *self)
{
    struct play *play = test_of(self);

    open_all(self);
    rgi_check(rgm_scope_cancel(&play->leaf) == 1);
    rgi_check(rgm_scope_cancel(&play->leaf) == 0);
    rgi_check(rgm_scope_is_cancelled(&play->leaf));
    rgi_check(!rgm_scope_is_cancelled(&play->middle));
    go_on(self);
}

/* Then the middle goes, and the root is cancelled. */
static void
then_the_root(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    switch (play->rounds++) {
    case 0:
    case 1:
    case 2:
        go_on(self); /* the answers are delivered meanwhile */
        break;
    case 3:
        rgi_check(play->answers == 1 && play->told[2] == -ECANCELED);
        rgi_check(rgm_scope_try_close(self, &play->middle) == 0);
        rgi_check(rgm_scope_cancel(&play->root) == 1);
        rgi_check(rgm_scope_is_cancelled(&play->beside));
        go_on(self);
        break;
    default:
        if (play->answers < WAITERS) {
            go_on(self);
            break;
        }
        rgm_stop(self);
    }
}

static void
can_02_a_cancel_reaches_what_is_under_it_and_nothing_else(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, cancel_the_leaf, then_the_root);
    for (int i = 0; i < WAITERS; i++)
        rgi_check(play.told[i] == -ECANCELED);
}

/* The middle is closed, the leaf is under the root then. */
static void
close_the_middle(struct robot *self)
{
    struct play *play = test_of(self);

    open_all(self);
    rgi_check(rgm_scope_try_close(self, &play->middle) == 0);
    memset(&play->middle, 0xee, sizeof(play->middle)); /* ours again */
    rgi_check(play->leaf.parent == &play->root);
    go_on(self);
}

static void
see_nothing_cancelled(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    if (play->rounds++ < 3) {
        go_on(self);
        return;
    }
    if (play->rounds == 4) {
        rgi_check(play->answers == 0);
        rgi_check(rgm_scope_cancel(&play->root) == 1);
    }
    if (play->answers < WAITERS)
        go_on(self);
    else
        rgm_stop(self);
}

static void
can_04_a_close_cancels_nothing_and_the_root_still_reaches_the_leaf(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, close_the_middle, see_nothing_cancelled);
    for (int i = 0; i < WAITERS; i++)
        rgi_check(play.told[i] == -ECANCELED);
}

/* ----------------------------------------------------- cancelled from the start */

static void
ask_in_a_cancelled_scope(struct robot *self)
{
    struct play *play = test_of(self);
    struct rgm_sleep refused;

    rgi_check(rgm_scope_open(self, &play->root, &rgm_scope_never) == 0);
    rgi_check(rgm_scope_cancel(&play->root) == 1);
    rgi_check(rgm_scope_open(self, &play->leaf, &play->root) == 0);
    rgi_check(rgm_scope_is_cancelled(&play->leaf));
    rgi_check(rgm_scope_cancel(&play->leaf) == 0);
    wait_in(self, 0, &play->leaf);
    wait_in(self, 1, &play->root);
    rgi_check(self->actor.worker->counters.operations == 0);
    rgm_sleep_until(&refused, rgm_here(self), RGM_NEVER);
    rgm_in_scope(&refused, &play->leaf);
    rgi_check(rgm_try_ask(self, &refused,
                          RGM_REPLY(robot, rgm_sleep, waiter_told)) ==
              -ECANCELED);
    rgm_stop(self);
}

static void
can_03_what_is_under_a_cancelled_scope_starts_cancelled(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, ask_in_a_cancelled_scope, NULL);
    rgi_check(play.told[0] == -ECANCELED && play.told[1] == -ECANCELED);
}

static void
cancel_never(struct robot *self)
{
    struct play *play = test_of(self);
    int64_t blocks = (int64_t)rgi_memory_live();

    rgi_check(rgm_scope_cancel(&rgm_scope_never) == -EINVAL);
    rgi_check(!rgm_scope_is_cancelled(&rgm_scope_never));
    rgi_check(rgm_scope_open(self, &play->root, &rgm_scope_never) == 0);
    rgi_check(rgm_scope_open(self, &play->leaf, &rgm_scope_never) == 0);
    wait_in(self, 0, &play->root);
    wait_in(self, 1, &rgm_scope_never);
    rgi_check(rgm_scope_cancel(&play->root) == 1);
    rgi_check(!rgm_scope_is_cancelled(&play->leaf));
    rgi_check((int64_t)rgi_memory_live() == blocks);
    rgm_stop(self);
}

static void
can_05_the_one_that_is_never_cancelled(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, cancel_never, NULL);
}

/* ----------------------------------------------------------------- one waiter */

static void
withdraw_the_second(struct robot *self)
{
    struct play *play = test_of(self);

    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    for (int i = 0; i < 3; i++)
        wait_in(self, i, &play->root);
    rgm_cancel(self, &play->waiters[1]);
    play->told[3] = 1;
    go_on(self);
}

static void
then_cancel_the_rest(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    if (play->answers == 1 && play->rounds++ == 3) {
        rgi_check(play->told[0] == 1 && play->told[2] == 1);
        rgi_check(rgm_scope_cancel(&play->root) == 1);
    }
    if (play->answers == 3)
        rgm_stop(self);
    else
        go_on(self);
}

static void
can_08_withdrawing_one_waiter_leaves_the_others(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, withdraw_the_second, then_cancel_the_rest);
    rgi_check(play.answers == 3); /* each was told once */
}

/* ------------------------------------------------------------ from any thread */

static void *
cancel_it(void *argument)
{
    struct play *play = argument;

    tally_await(&play->set, 1);
    if (rgm_scope_cancel(&play->root) == 1)
        atomic_fetch_add(&play->stage, 1);
    rgi_check(rgm_scope_is_cancelled(&play->root));
    return NULL;
}

RGM_ANSWER(robot, rgm_sleep, told_by_a_thread);

static void
told_by_a_thread(struct robot *self, struct rgm_sleep *sleep)
{
    struct play *play = test_of(self);

    rgi_check(rgm_status(sleep) == -ECANCELED);
    play->answers++;
    rgi_check(rgm_scope_is_cancelled(&play->root));
    rgm_stop(self);
}

static void
wait_for_threads(struct robot *self)
{
    struct play *play = test_of(self);

    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    rgm_sleep_until(&play->waiters[0], rgm_here(self), RGM_NEVER);
    rgm_in_scope(&play->waiters[0], &play->root);
    rgm_ask(self, &play->waiters[0],
            RGM_REPLY(robot, rgm_sleep, told_by_a_thread));
    tally_add(&play->set);
}

static void
can_01_the_first_of_eight_threads_is_told_so(void)
{
    for (uint64_t round = rgi_scale(10000); round > 0; round--) {
        struct play play;
        pthread_t threads[8];

        play_begin(&play);
        for (int i = 0; i < 8; i++)
            rgi_check(pthread_create(&threads[i], NULL, cancel_it, &play) ==
                      0);
        play_run(&play, 1, wait_for_threads, NULL);
        for (int i = 0; i < 8; i++)
            pthread_join(threads[i], NULL);
        rgi_check(atomic_load(&play.stage) == 1 && play.answers == 1);
    }
}

/* A waiter enrols while another thread cancels: told once, and never lost. */
struct race {
    struct rgm_scope scope;
    struct rgm_scope_close close;
    struct rgm_sleep sleep;
    struct tally opened, cancelled;
    uint32_t rounds, told;
};

RGM_ANSWER(robot, rgm_sleep, race_told);
RGM_ANSWER(robot, rgm_scope_close, race_closed);

static void
race_round(struct robot *self)
{
    struct race *race = test_of(self);

    rgi_check(rgm_scope_open(self, &race->scope, NULL) == 0);
    tally_add(&race->opened);
    for (uint32_t i = race->told * 7 % 50; i > 0; i--)
        (void)rgm_scope_is_cancelled(&race->scope);
    rgm_sleep_until(&race->sleep, rgm_here(self), RGM_NEVER);
    rgm_in_scope(&race->sleep, &race->scope);
    rgm_ask(self, &race->sleep, RGM_REPLY(robot, rgm_sleep, race_told));
}

static void
race_told(struct robot *self, struct rgm_sleep *sleep)
{
    struct race *race = test_of(self);

    rgi_check(rgm_status(sleep) == -ECANCELED);
    race->told++;
    rgm_scope_close(&race->close, self, &race->scope);
    rgm_ask(self, &race->close, RGM_REPLY(robot, rgm_scope_close, race_closed));
}

/* The memory is ours: the canceller has left it. */
static void
race_closed(struct robot *self, struct rgm_scope_close *close)
{
    struct race *race = test_of(self);

    rgi_check(rgm_status(close) == 0);
    tally_await(&race->cancelled, race->told);
    memset(&race->scope, 0xee, sizeof(race->scope));
    if (race->told < race->rounds)
        race_round(self);
    else
        rgm_stop(self);
}

static void *
race_cancel(void *argument)
{
    struct race *race = argument;

    for (uint32_t round = 1; round <= race->rounds; round++) {
        tally_await(&race->opened, round);
        rgi_check(rgm_scope_cancel(&race->scope) == 1);
        tally_add(&race->cancelled);
    }
    return NULL;
}

static void
can_07_a_cancel_that_races_a_waiter_is_told_once(void)
{
    static struct race race;
    struct script root = {.started = race_round, .test = &race};
    pthread_t thread;

    memset(&race, 0, sizeof(race));
    race.rounds = (uint32_t)rgi_scale(1000000);
    rgi_check(pthread_create(&thread, NULL, race_cancel, &race) == 0);
    rig_run(1, &root);
    pthread_join(thread, NULL);
    rgi_check(race.told == race.rounds);
}

/* Cancelled elsewhere while its owner is in a handler: the node is behind it. */
RGM_ANSWER(robot, rgm_scope_close, closed_after_all);

static void
closed_after_all(struct robot *self, struct rgm_scope_close *close)
{
    struct play *play = test_of(self);

    play->closed = rgm_status(close);
    memset(&play->root, 0xee, sizeof(play->root));
    rgm_stop(self);
}

static void
close_what_is_cancelled_elsewhere(struct robot *self)
{
    struct play *play = test_of(self);

    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    tally_add(&play->set);
    while (!rgm_scope_is_cancelled(&play->root))
        sched_yield();
    rgi_check(rgm_scope_try_close(self, &play->root) == -EBUSY);
    rgm_scope_close(&play->close, self, &play->root);
    rgm_ask(self, &play->close,
            RGM_REPLY(robot, rgm_scope_close, closed_after_all));
}

static void *
cancel_it_once(void *argument)
{
    struct play *play = argument;

    tally_await(&play->set, 1);
    rgi_check(rgm_scope_cancel(&play->root) == 1);
    return NULL;
}

static void
one_whose_cancel_is_on_its_way_is_not_closed(void)
{
    for (int round = 0; round < 20; round++) {
        struct play play;
        pthread_t thread;

        play_begin(&play);
        rgi_check(pthread_create(&thread, NULL, cancel_it_once, &play) == 0);
        play_run(&play, 1, close_what_is_cancelled_elsewhere, NULL);
        pthread_join(thread, NULL);
        rgi_check(play.closed == 0);
    }
}

/* -------------------------------------------------------------- other workers */

/* Of worker 1: opens under the root's scope, and waits in it. */
struct branch {
    struct rgm_scope scope;
    struct rgm_sleep sleep;
    struct rgm_token token;
    struct rgm_scope_close close;
    bool opened;
};

static struct branch branch;

RGM_ANSWER(robot, rgm_sleep, branch_told);
RGM_ANSWER(robot, rgm_scope_close, branch_closed);

static void
branch_told(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == -ECANCELED);
    rgi_check(rgm_scope_is_cancelled(&branch.scope));
    rgi_check(rgm_worker_number(&self->actor) == 1);
    rgm_scope_close(&branch.close, self, &branch.scope);
    rgm_ask(self, &branch.close,
            RGM_REPLY(robot, rgm_scope_close, branch_closed));
}

static void
branch_closed(struct robot *self, struct rgm_scope_close *close)
{
    struct play *play = test_of(self);

    rgi_check(rgm_status(close) == 0);
    memset(&branch.scope, 0xee, sizeof(branch.scope));
    branch.opened = false;
    atomic_fetch_add(&play->stage, 1);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
branch_open(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    rgi_check(rgm_scope_open(self, &branch.scope, &play->middle) == 0);
    rgi_check(rgm_scope_try_close(self, &branch.scope) ==
              (branch.scope.tie_out ? -EBUSY : 0));
    branch.opened = true;
    if (question->value == 0) {
        rgm_sleep_until(&branch.sleep, rgm_here(self), RGM_NEVER);
        rgm_in_scope(&branch.sleep, &branch.scope);
        rgm_ask(self, &branch.sleep, RGM_REPLY(robot, rgm_sleep, branch_told));
    } else {
        rgm_scope_close(&branch.close, self, &branch.scope);
        rgm_ask(self, &branch.close,
                RGM_REPLY(robot, rgm_scope_close, branch_closed));
    }
    rgm_reply(self, question, 0);
}

RGM_ANSWER(robot, question, branch_is_open);

static void
grow_a_branch(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){.question = branch_open, .test = play};
    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    rgi_check(rgm_scope_open(self, &play->middle, &play->root) == 0);
    question_prepare(&self->question, robot_spawn_on(self, 1, &play->asked));
    self->question.value = play->rounds;
    rgm_ask(self, &self->question,
            RGM_REPLY(robot, question, branch_is_open));
}

/* The middle goes; what is under it elsewhere is under the root then. */
static void
branch_is_open(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    rgi_check(rgm_status(question) == 0);
    if (play->rounds != 0)
        return;
    rgi_check(!rgi_list_empty(&play->middle.children));
    rgi_check(rgm_scope_try_close(self, &play->middle) == 0);
    rgi_check(!rgi_list_empty(&play->root.children));
    rgi_check(rgm_scope_cancel(&play->root) == 1);
    rgi_check(rgi_list_empty(&play->root.children));
}

static void
can_02_a_cancel_reaches_other_workers_though_the_middle_is_closed(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 2, grow_a_branch, NULL);
    rgi_check(atomic_load(&play.stage) == 1 && !branch.opened);
}

static void
a_scope_under_another_workers_is_closed_by_a_request(void)
{
    struct play play;

    play_begin(&play);
    play.rounds = 1;
    play_run(&play, 2, grow_a_branch, NULL);
    rgi_check(atomic_load(&play.stage) == 1 && !branch.opened);
}

/* Whoever stops leaves nothing open, here and elsewhere. */
RGM_ANSWER(robot, rgm_sleep, told_while_stopping);

static void
told_while_stopping(struct robot *self, struct rgm_sleep *sleep)
{
    (void)self;
    rgi_check(rgm_status(sleep) == -ECANCELED);
}

static void
stop_in_the_middle(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    rgi_check(rgm_scope_open(self, &branch.scope, &play->middle) == 0);
    rgm_sleep_until(&branch.sleep, rgm_here(self), RGM_NEVER);
    rgm_in_scope(&branch.sleep, &branch.scope);
    rgm_ask(self, &branch.sleep,
            RGM_REPLY(robot, rgm_sleep, told_while_stopping));
    rgm_reply(self, question, 0);
    rgm_stop(self);
    rgi_check(rgm_scope_open(self, &play->leaf, NULL) == -ECANCELED);
}

static void
branch_stopped(struct robot *self)
{
    struct play *play = test_of(self);

    rgi_check(self->actor.scopes == NULL);
    rgi_check(branch.scope.state == 0 && !branch.scope.tie_out);
    atomic_fetch_add(&play->stage, 1);
    rgm_runtime_stop(self->actor.worker->runtime);
}

RGM_ANSWER(robot, question, branch_has_answered);

static void
branch_has_answered(struct robot *self, struct question *question)
{
    (void)self;
    rgi_check(rgm_status(question) == 0);
}

static void
grow_a_branch_that_stops(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){.question = stop_in_the_middle,
                                  .stopped = branch_stopped,
                                  .test = play};
    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    rgi_check(rgm_scope_open(self, &play->middle, &play->root) == 0);
    question_prepare(&self->question, robot_spawn_on(self, 1, &play->asked));
    rgm_ask(self, &self->question,
            RGM_REPLY(robot, question, branch_has_answered));
}

static void
a_stop_cancels_and_closes_what_is_open_also_elsewhere(void)
{
    for (int round = 0; round < 20; round++) {
        struct play play;

        play_begin(&play);
        play_run(&play, 2, grow_a_branch_that_stops, NULL);
        rgi_check(atomic_load(&play.stage) == 1);
    }
}

/* ------------------------------------------------------------- flat and deep */

static void
ten_million_looks(struct robot *self)
{
    struct play *play = test_of(self);
    int64_t blocks = (int64_t)rgi_memory_live();
    uint64_t seen = 0;

    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    rgi_memory_fail_nth(1);
    for (uint64_t i = rgi_scale(10000000); i > 0; i--)
        seen += rgm_scope_is_cancelled(&play->root);
    rgi_check(seen == 0 && (int64_t)rgi_memory_live() == blocks);
    rgi_check(!rgi_memory_fail_off());
    rgm_stop(self);
}

static void
can_09_looking_allocates_nothing(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, ten_million_looks, NULL);
}

static void
a_million_come_and_go(struct robot *self)
{
    struct play *play = test_of(self);
    struct rgm_scope live[32];
    int64_t blocks = (int64_t)rgi_memory_live();

    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    rgi_memory_fail_nth(1);
    for (uint64_t i = 0; i < rgi_scale(1000000); i++) {
        struct rgm_scope *scope = &live[i % 32];

        if (i >= 32)
            rgi_check(rgm_scope_try_close(self, scope) == 0);
        rgi_check(rgm_scope_open(self, scope, &play->root) == 0);
    }
    rgi_check(!rgi_memory_fail_off());
    rgi_check((int64_t)rgi_memory_live() == blocks);
    for (int i = 0; i < 32; i++)
        rgi_check(rgm_scope_try_close(self, &live[i]) == 0);
    rgi_check(rgi_list_empty(&play->root.children));
    rgm_stop(self);
}

static void
can_11_turnover_of_children_needs_no_memory(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, a_million_come_and_go, NULL);
}

#define CHAIN 100000

static struct rgm_scope *chain;

static void
a_long_chain(struct robot *self)
{
    for (int i = 0; i < CHAIN; i++)
        rgi_check(rgm_scope_open(self, &chain[i],
                                 i == 0 ? NULL : &chain[i - 1]) == 0);
    wait_in(self, 0, &chain[CHAIN - 1]);
    rgi_check(rgm_scope_cancel(&chain[0]) == 1);
    rgi_check(rgm_scope_is_cancelled(&chain[CHAIN - 1]));
    for (int i = 0; i < CHAIN; i++)
        rgi_check(rgm_scope_try_close(self, &chain[i]) == 0);
    rgm_stop(self);
}

static void *
play_long_chain(void *argument)
{
    play_run(argument, 1, a_long_chain, NULL);
    return NULL;
}

/* A sanitizer's frames are larger, and not what is meant. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SMALL_STACK (1024 * 1024)
#else
#define SMALL_STACK (64 * 1024)
#endif

static void
can_12_a_chain_of_100000_is_cancelled_on_a_small_stack(void)
{
    struct play play;
    pthread_attr_t attributes;
    pthread_t thread;

    chain = malloc(CHAIN * sizeof(*chain));
    rgi_check(chain != NULL);
    play_begin(&play);
    rgi_check(pthread_attr_init(&attributes) == 0);
    rgi_check(pthread_attr_setstacksize(&attributes, SMALL_STACK) == 0);
    rgi_check(pthread_create(&thread, &attributes, play_long_chain, &play) ==
              0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    rgi_check(play.told[0] == -ECANCELED);
    free(chain);
}

/* A waiter that cancels another scope from its own answer. */
RGM_ANSWER(robot, rgm_sleep, cancel_the_next);

static void
cancel_the_next(struct robot *self, struct rgm_sleep *sleep)
{
    struct play *play = test_of(self);

    play->answers++;
    if (sleep == &play->waiters[0]) {
        rgi_check(rgm_scope_cancel(&play->beside) == 1);
        return;
    }
    rgi_check(rgm_status(sleep) == -ECANCELED);
    rgm_stop(self);
}

static void
two_that_know_of_each_other(struct robot *self)
{
    struct play *play = test_of(self);
    struct rgm_scope *scopes[2] = {&play->root, &play->beside};

    for (int i = 0; i < 2; i++) {
        rgi_check(rgm_scope_open(self, scopes[i], NULL) == 0);
        rgm_sleep_until(&play->waiters[i], rgm_here(self), RGM_NEVER);
        rgm_in_scope(&play->waiters[i], scopes[i]);
        rgm_ask(self, &play->waiters[i],
                RGM_REPLY(robot, rgm_sleep, cancel_the_next));
    }
    rgi_check(rgm_scope_cancel(&play->root) == 1);
}

static void
can_12_who_is_told_may_cancel_another(void)
{
    struct play play;

    play_begin(&play);
    play_run(&play, 1, two_that_know_of_each_other, NULL);
    rgi_check(play.answers == 2);
}

/* ------------------------------------------------- work that is not interrupted */

/* What is asked in no scope is not cancelled by one; a waiter in the scope is
 * the hook that runs when it is. */
RGM_ANSWER(robot, question, protected_done);

static void
protected_done(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    play->closed = rgm_status(question);
    if (play->told[0] == 1)
        rgi_check(rgm_scope_cancel(&play->root) == 1);
    go_on(self);
}

static void
reply_at_once(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
protect(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){.question = reply_at_once};
    rgi_check(rgm_scope_open(self, &play->root, NULL) == 0);
    if (play->rounds == 0)
        rgi_check(rgm_scope_cancel(&play->root) == 1);
    wait_in(self, 0, &play->root);
    question_prepare(&self->question, robot_spawn(self, &play->asked));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, protected_done));
    if (play->rounds == 1)
        rgi_check(rgm_scope_cancel(&play->root) == 1);
}

static void
end_when_told(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    if (play->told[0] == 1)
        go_on(self);
    else
        rgm_stop(self);
}

static void
can_13_protected_work_ends_as_it_does_and_the_hook_runs_once(void)
{
    for (unsigned when = 0; when < 3; when++) {
        struct play play;

        play_begin(&play);
        play.rounds = when; /* before, meanwhile, together with the result */
        play_run(&play, 1, protect, end_when_told);
        rgi_check(play.closed == 0 && play.answers == 1);
        rgi_check(play.told[0] == -ECANCELED);
    }
}

/* ------------------------------------------------------- asks of other actors */

struct kept {
    struct script keeper;
    struct rgm_scope scope;
    struct question question;
    unsigned answers;
    int status;
};

/* Whoever keeps it cancels the scope it was asked in, from wherever he is. */
static void
keep_and_cancel(struct robot *self, struct question *question)
{
    struct kept *kept = question->about;

    rgi_check(rgm_keep(self, question, &self->token) == 0);
    rgi_check(rgm_scope_cancel(&kept->scope) == 1);
}

RGM_ANSWER(robot, question, kept_told);

static void
kept_told(struct robot *self, struct question *question)
{
    struct kept *kept = test_of(self);

    kept->status = rgm_status(question);
    kept->answers++;
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
ask_in_a_scope(struct robot *self)
{
    struct kept *kept = test_of(self);
    uint32_t last = rgm_workers_count(&self->actor) - 1;

    rgi_check(rgm_scope_open(self, &kept->scope, NULL) == 0);
    question_prepare(&kept->question,
                     robot_spawn_on(self, last, &kept->keeper));
    kept->question.about = kept;
    rgm_in_scope(&kept->question, &kept->scope);
    rgm_expire_after(&kept->question, 3600 * RGM_NS_PER_S);
    rgm_ask(self, &kept->question, RGM_REPLY(robot, question, kept_told));
}

static void
an_ask_of_another_actor_ends_with_its_scope(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct kept kept = {.keeper = {.question = keep_and_cancel}};
        struct script root = {.started = ask_in_a_scope, .test = &kept};

        rig_run(workers, &root);
        rgi_check(kept.answers == 1 && kept.status == -ECANCELED);
    }
}

#define CASES(X)                                                               \
    X(scope, can_01_the_first_of_eight_threads_is_told_so)                     \
    X(scope, can_02_a_cancel_reaches_what_is_under_it_and_nothing_else)        \
    X(scope, can_02_a_cancel_reaches_other_workers_though_the_middle_is_closed) \
    X(scope, an_ask_of_another_actor_ends_with_its_scope)                      \
    X(scope, can_03_what_is_under_a_cancelled_scope_starts_cancelled)          \
    X(scope, can_04_a_close_cancels_nothing_and_the_root_still_reaches_the_leaf) \
    X(scope, can_05_the_one_that_is_never_cancelled)                           \
    X(scope, can_07_a_cancel_that_races_a_waiter_is_told_once)                 \
    X(scope, can_08_withdrawing_one_waiter_leaves_the_others)                  \
    X(scope, can_09_looking_allocates_nothing)                                 \
    X(scope, can_11_turnover_of_children_needs_no_memory)                      \
    X(scope, can_12_a_chain_of_100000_is_cancelled_on_a_small_stack)           \
    X(scope, can_12_who_is_told_may_cancel_another)                            \
    X(scope, can_13_protected_work_ends_as_it_does_and_the_hook_runs_once)     \
    X(scope, one_whose_cancel_is_on_its_way_is_not_closed)                     \
    X(scope, a_scope_under_another_workers_is_closed_by_a_request)             \
    X(scope, a_stop_cancels_and_closes_what_is_open_also_elsewhere)

RGI_CASES(CASES)
