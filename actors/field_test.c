/* SPDX-License-Identifier: MIT */

/* field_test.c - are faults that others had in the field none of ours? Those
 * that need an order, or a long life, to show. */

#include <ringmail/deadline.h>
#include <ringmail/identity.h>

#include "actors/stepped.h"

/* ---- far from zero ---- */

/* What a run came to; equal for equal runs. */
struct outcome {
    uint64_t digest;
    uint64_t answered;
    uint64_t cancelled;
    uint64_t missed;
    uint64_t children;
    uint64_t naps;
    uint64_t notes;
};

#define ROUNDS 120 /* more than what is left to the end of each count */

struct life {
    struct rgm_address partner; /* on the other worker */
    struct rgm_address child;
    struct rgm_cancellation cancellation;
    struct rgm_identity identity;
    struct question question;
    const struct script *newborn;
    unsigned round;
    struct outcome *outcome;
};

static void on_told(struct robot *self, struct question *question);
static void on_awake(struct robot *self, struct rgm_sleep *sleep);
static void on_stopped(struct robot *self, struct rgm_cancellation *command);
static void on_ended(struct robot *self, struct rgm_listen *listen);

RGM_ANSWER(robot, question, on_told);
RGM_ANSWER(robot, rgm_sleep, on_awake);
RGM_ANSWER(robot, rgm_cancellation, on_stopped);
RGM_ANSWER(robot, rgm_listen, on_ended);

/* A round: a spawn elsewhere, a note and a stop for it; an ask that is kept
 * there; a sleep; an operation there that is cancelled by its identity. */
static void
live_one_round(struct robot *self, struct note *note)
{
    struct life *life = test_of(self);
    struct rgm_address here = rgm_worker_address(0);
    struct rgm_address there = rgm_worker_address(1);

    (void)note;
    if (rgm_spawn_on(self, 1, &robot_behaviour, life->newborn, &life->child) ==
        0) {
        (void)robot_send(self, life->child, 1);
        rgi_check(rgm_stop_actor(self, life->child) == 0);
    }
    question_prepare(&life->question, life->partner);
    rgm_ask(self, &life->question, RGM_REPLY(robot, question, on_told));
    rgm_sleep_for(&self->sleep, here, 1000);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_awake));
    self->listener = (struct rgm_listener){.socket = {.open = 0}};
    fake_prepare(&self->listen, &self->listener, there);
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_ended));
    rgi_check(rgm_identify(self, &self->listen, &life->identity) == 0);
}

static void
on_told(struct robot *self, struct question *question)
{
    struct life *life = test_of(self);

    life->outcome->answered += rgm_status(question) == 0;
}

/* What comes last in a round begins the next. */
static void
on_awake(struct robot *self, struct rgm_sleep *sleep)
{
    struct life *life = test_of(self);

    rgi_check(rgm_status(sleep) == 0);
    life->outcome->naps++;
    rgm_cancel_identity(&life->cancellation, life->identity);
    rgm_ask(self, &life->cancellation,
            RGM_REPLY(robot, rgm_cancellation, on_stopped));
}

static void
on_stopped(struct robot *self, struct rgm_cancellation *command)
{
    struct life *life = test_of(self);

    life->outcome->missed += rgm_status(command) == -ESRCH;
}

static void
on_ended(struct robot *self, struct rgm_listen *listen)
{
    struct life *life = test_of(self);

    life->outcome->cancelled += rgm_status(listen) == -ECANCELED;
    if (++life->round < ROUNDS)
        live_one_round(self, NULL);
}

/* Keeps the question for a turn: a token of each round. */
static void
keep_for_a_turn(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
answer_what_is_kept(struct robot *self, struct note *note)
{
    (void)note;
    rgi_check(rgm_answer(self, self->token, 0) == 0);
}

static void
newborn_started(struct robot *self)
{
    ((struct outcome *)test_of(self))->children++;
}

static void
newborn_note(struct robot *self, struct note *note)
{
    (void)note;
    ((struct outcome *)test_of(self))->notes++;
}

/* Everything that counts up counts from here. */
static void
begin_at(struct rgm_runtime *runtime, uint64_t start)
{
    for (uint32_t i = 0; i < runtime->workers_count; i++) {
        struct rgm_worker *worker = runtime->workers[i];
        uint64_t *counters = (uint64_t *)(void *)&worker->counters;

        for (size_t k = 0; k < sizeof(worker->counters) / sizeof(uint64_t);
             k++)
            counters[k] += start;
        worker->names_last = start;
        worker->provider->serial = (uint32_t)start;
        worker->spawn_turn = (uint32_t)start & ~UINT32_C(1);
        worker->provider_seen += start;
        worker->next_look += start;
        for (uint32_t k = 1; k < worker->kept_size; k++)
            worker->kept[k].generation = (uint32_t)start;
    }
    runtime->spawn_turn = (uint32_t)start;
}

static struct outcome
live_from(uint64_t start)
{
    struct outcome outcome = {.digest = 0};
    struct life life = {.outcome = &outcome};
    struct script scripts[3] = {
        {.note = live_one_round, .test = &life},
        {.question = keep_for_a_turn, .note = answer_what_is_kept},
        {.started = newborn_started, .note = newborn_note, .test = &outcome}};
    struct stepped_guest guest;
    struct rgm_address first;
    struct stepped play;

    stepped_begin(&play, 2);
    life.newborn = &scripts[2];
    life.partner = stepped_spawn(&play, 1, &scripts[1]);
    first = stepped_spawn(&play, 0, &scripts[0]);
    begin_at(play.runtime, start);
    rgm_script_advance(play.script, start / 4);
    stepped_open(&play, &guest);
    stepped_tell(&guest, first, 0);
    do
        (void)rgm_stepper_settle(play.stepper);
    while (rgm_script_jump(play.script));
    outcome.digest = rgm_stepper_digest(play.stepper);
    stepped_close(&guest);
    stepped_end(&play);
    return outcome;
}

static void
field_b29_far_from_zero_all_is_the_same(void)
{
    static const uint64_t ends[] = {UINT64_C(1) << 30, UINT64_C(1) << 31,
                                    UINT64_C(1) << 32, UINT64_C(1) << 53,
                                    UINT64_C(1) << 54, UINT64_C(1) << 63,
                                    0};
    struct outcome zero = live_from(0);

    rgi_check(zero.answered == ROUNDS && zero.naps == ROUNDS);
    rgi_check(zero.cancelled == ROUNDS && zero.missed == 0);
    rgi_check(zero.children > 0);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        struct outcome far = live_from(ends[i] - ROUNDS / 2);

        rgi_check(memcmp(&far, &zero, sizeof(zero)) == 0);
    }
}

/* ---- a context that leaks ---- */

/* An actor that asks on behalf of what it is asked, and then for itself. */
struct errand {
    struct rgm_address keeper;
    struct question child;   /* on behalf of the parent */
    struct question own[2];  /* when the child is answered; when a timer fires */
    struct rgm_token parent;
    int status[2]; /* of its own; 1: none yet */
    uint64_t duration_ns;
};

static void on_child(struct robot *self, struct question *question);
static void on_own(struct robot *self, struct question *question);
static void on_timer(struct robot *self, struct rgm_sleep *sleep);
static void on_parent(struct robot *self, struct question *question);

RGM_ANSWER(robot, question, on_child);
RGM_ANSWER(robot, question, on_own);
RGM_ANSWER(robot, rgm_sleep, on_timer);
RGM_ANSWER(robot, question, on_parent);

static void
run_errand(struct robot *self, struct question *question)
{
    struct errand *errand = test_of(self);

    rgi_check(rgm_keep(self, question, &errand->parent) == 0);
    question_prepare(&errand->child, errand->keeper);
    rgm_ask_for(self, question, &errand->child,
                RGM_REPLY(robot, question, on_child));
}

static void
ask_for_oneself(struct robot *self, unsigned which)
{
    struct errand *errand = test_of(self);

    errand->status[which] = 1;
    question_prepare(&errand->own[which], errand->keeper);
    rgm_ask(self, &errand->own[which], RGM_REPLY(robot, question, on_own));
}

static void
on_child(struct robot *self, struct question *question)
{
    struct errand *errand = test_of(self);

    rgi_check(rgm_status(question) == 0);
    ask_for_oneself(self, 0);
    rgm_sleep_for(&self->sleep, rgm_worker_address(1), errand->duration_ns);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_timer));
}

static void
on_timer(struct robot *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    ask_for_oneself(self, 1);
}

static void
on_own(struct robot *self, struct question *question)
{
    struct errand *errand = test_of(self);

    errand->status[question == &errand->own[1]] = rgm_status(question);
}

/* ---- who keeps all questions until he is told to answer them ---- */

struct keeping {
    struct rgm_token tokens[4];
    unsigned kept;
};

static void
keep_all(struct robot *self, struct question *question)
{
    struct keeping *keeping = test_of(self);

    rgi_check(rgm_keep(self, question, &keeping->tokens[keeping->kept++]) ==
              0);
}

static void
answer_all(struct robot *self, struct note *note)
{
    struct keeping *keeping = test_of(self);

    (void)note;
    while (keeping->kept > 0)
        rgi_check(rgm_answer(self, keeping->tokens[--keeping->kept], 0) == 0);
}

/* ---- who asks with a deadline ---- */

struct patience {
    struct rgm_address whom;
    uint64_t duration_ns;
    int status;
};

static void
ask_with_deadline(struct robot *self, struct note *note)
{
    struct patience *patience = test_of(self);

    (void)note;
    patience->status = 1;
    question_prepare(&self->question, patience->whom);
    rgm_expire_after(&self->question, patience->duration_ns);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_parent));
}

static void
on_parent(struct robot *self, struct question *question)
{
    ((struct patience *)test_of(self))->status = rgm_status(question);
}

/* What an actor asks in an answer, or in a timer, while a request with a deadline
 * is out, has no deadline of anybody's: the parent's comes, and it stays. */
static void
field_b37_a_deadline_does_not_leak_through_an_answer(void)
{
    struct errand errand = {.duration_ns = 10};
    struct keeping keeping = {.kept = 0};
    struct patience patience = {.duration_ns = 1000, .status = 2};
    struct script scripts[3] = {
        {.note = ask_with_deadline, .test = &patience},
        {.question = run_errand, .test = &errand},
        {.question = keep_all, .note = answer_all, .test = &keeping}};
    struct rgm_address addresses[3];
    struct stepped_guest guest;
    struct stepped play;

    stepped_begin(&play, 3);
    for (uint32_t i = 0; i < 3; i++)
        addresses[i] = stepped_spawn(&play, i, &scripts[i]);
    patience.whom = addresses[1];
    errand.keeper = addresses[2];
    stepped_open(&play, &guest);
    stepped_tell(&guest, addresses[0], 0);
    stepped_settle(&play);
    rgi_check(keeping.kept == 1); /* the child */
    stepped_tell(&guest, addresses[2], 0);
    stepped_settle(&play);
    rgi_check(keeping.kept == 1 && errand.status[0] == 1);
    rgm_script_advance(play.script, 10);
    stepped_settle(&play);
    rgi_check(keeping.kept == 2 && errand.status[1] == 1);
    rgi_check(patience.status == 1);
    rgm_script_advance(play.script, 5000);
    stepped_settle(&play);
    rgi_check(patience.status == -ETIMEDOUT); /* the parent, and it alone */
    rgi_check(errand.status[0] == 1 && errand.status[1] == 1);
    stepped_tell(&guest, addresses[2], 0);
    stepped_settle(&play);
    rgi_check(errand.status[0] == 0 && errand.status[1] == 0);
    stepped_close(&guest);
    stepped_end(&play);
}

#define CASES(X)                                                               \
    X(field, field_b29_far_from_zero_all_is_the_same)                          \
    X(field, field_b37_a_deadline_does_not_leak_through_an_answer)

RGI_CASES(CASES)
