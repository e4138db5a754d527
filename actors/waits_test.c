/* SPDX-License-Identifier: MIT */

/*
 * waits_test.c - is a circle of asks found and named, and nothing else?
 *
 * The test plays the workers itself, so "asleep" is a place in the script. A
 * note tells a robot whom to ask, or to answer what it keeps.
 */

#include <ringmail/deadline.h>

#include "actors/stepped.h"

#include "actors/waits.h"

#if defined(RGI_SLOW_ASSERTS) && RGI_SLOW_ASSERTS

struct circle {
    struct rgm_address robots[3];
    bool with_deadline;
    unsigned answers;
};

static char told_text[1024];
static unsigned told;

static void
on_circle(const char *text)
{
    told++;
    snprintf(told_text, sizeof(told_text), "%s", text);
}

RGM_ANSWER(robot, question, on_answer);
RGM_ANSWER(robot, rgm_sleep, on_slept);

static void
on_answer(struct robot *self, struct question *question)
{
    struct circle *circle = test_of(self);

    (void)question;
    circle->answers++;
}

static void
on_slept(struct robot *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    if (self->token.index != 0)
        (void)rgm_answer(self, self->token, 0);
}

static void
keep(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
}

enum { ASK_0, ASK_1, ASK_2, ANSWER, SLEEP };

static void
do_as_told(struct robot *self, struct note *note)
{
    struct circle *circle = test_of(self);

    if (note->value == ANSWER) {
        rgi_check(rgm_answer(self, self->token, 0) == 0);
    } else if (note->value == SLEEP) {
        rgm_sleep_for(&self->sleep, rgm_here(self), RGM_NS_PER_S);
        rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_slept));
    } else {
        question_prepare(&self->question, circle->robots[note->value]);
        if (circle->with_deadline)
            rgm_expire_after(&self->question, 3600 * RGM_NS_PER_S);
        rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_answer));
    }
}

static const struct script *
script_of(struct circle *circle)
{
    static struct script script;

    script = (struct script){
        .note = do_as_told, .question = keep, .test = circle};
    return &script;
}

struct stage {
    struct stepped play;
    struct stepped_guest guest;
    struct circle circle;
};

/* Robot i lives on worker i, or all on worker 0. */
static void
stage_begin(struct stage *stage, uint32_t workers)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .on_circle = on_circle};

    memset(&stage->circle, 0, sizeof(stage->circle));
    told = 0;
    stepped_begin_with(&stage->play, &options);
    for (uint32_t i = 0; i < 3; i++)
        stage->circle.robots[i] = stepped_spawn(&stage->play, i % workers,
                                                script_of(&stage->circle));
    stepped_open(&stage->play, &stage->guest);
}

static void
stage_tell(struct stage *stage, uint32_t robot, long what)
{
    stepped_tell(&stage->guest, stage->circle.robots[robot], what);
    stepped_settle(&stage->play);
}

/* Time passes, as far as anybody waits for it. */
static void
stage_jump(struct stage *stage)
{
    while (rgm_script_jump(stage->play.script))
        stepped_settle(&stage->play);
}

static void
stage_end(struct stage *stage)
{
    stepped_close(&stage->guest);
    stepped_end(&stage->play);
}

static void
circle_of_two(uint32_t workers)
{
    struct stage stage;

    stage_begin(&stage, workers);
    stage_tell(&stage, 0, ASK_1);
    rgi_check(told == 0); /* one waits for one that waits for nobody */
    stage_tell(&stage, 1, ASK_0);
    rgi_check(told == 1);
    rgi_check(strstr(told_text, "robot (0:") != NULL);
    rgi_check(strstr(told_text, "waits for robot") != NULL);
    rgi_check(strstr(told_text, "which keeps its question; ") != NULL);
    stage_tell(&stage, 2, ASK_0); /* stuck behind them, and no news */
    rgi_check(told == 1);
    stage_end(&stage); /* a stop ends it: nothing is left */
}

static void
two_on_two_workers_that_wait_for_each_other_are_named(void)
{
    circle_of_two(2);
}

static void
two_on_one_worker_that_wait_for_each_other_are_named(void)
{
    circle_of_two(1);
}

static void
a_circle_of_three_is_named_whole(void)
{
    struct stage stage;
    const char *second;

    stage_begin(&stage, 3);
    stage_tell(&stage, 0, ASK_1);
    stage_tell(&stage, 1, ASK_2);
    rgi_check(told == 0);
    stage_tell(&stage, 2, ASK_0);
    rgi_check(told == 1);
    second = strchr(told_text, ';');
    rgi_check(second != NULL && strchr(second + 1, ';') != NULL);
    for (unsigned i = 0; i < 3; i++) {
        char name[16];

        snprintf(name, sizeof(name), "robot (%u:", i);
        rgi_check(strstr(told_text, name) != NULL);
    }
    stage_end(&stage);
}

static void
one_that_keeps_its_own_ask_is_named(void)
{
    struct stage stage;

    stage_begin(&stage, 1);
    stage_tell(&stage, 0, ASK_0);
    rgi_check(told == 1);
    stage_end(&stage);
}

/* The keeper has a sleep out, after which it answers. */
static void
what_is_kept_and_answered_later_is_no_alarm(void)
{
    struct stage stage;

    stage_begin(&stage, 2);
    stepped_tell(&stage.guest, stage.circle.robots[1], SLEEP);
    stepped_tell(&stage.guest, stage.circle.robots[0], ASK_1);
    stepped_tell(&stage.guest, stage.circle.robots[1], ASK_0);
    stepped_settle(&stage.play);
    rgi_check(stage.circle.answers == 0);
    stage_jump(&stage);
    rgi_check(told == 0);
    rgi_check(stage.circle.answers == 1);
    stage_end(&stage);
}

static void
a_keeper_that_waits_for_nobody_is_no_alarm(void)
{
    struct stage stage;

    stage_begin(&stage, 2);
    for (unsigned i = 0; i < 3; i++) {
        stage_tell(&stage, 0, ASK_1);
        stage_tell(&stage, 1, ANSWER);
        rgi_check(stage.circle.answers == i + 1);
    }
    rgi_check(told == 0);
    stage_end(&stage);
}

static void
an_ask_with_a_deadline_ends_by_itself(void)
{
    struct stage stage;

    stage_begin(&stage, 2);
    stage.circle.with_deadline = true;
    stepped_tell(&stage.guest, stage.circle.robots[0], ASK_1);
    stepped_tell(&stage.guest, stage.circle.robots[1], ASK_0);
    stepped_settle(&stage.play);
    stage_jump(&stage); /* to the end of the hour, and both expire */
    rgi_check(stage.circle.answers == 2);
    rgi_check(told == 0);
    stage_end(&stage);
}

/* Where there is no room for a row, its asker waits for something unknown. */
static void
a_full_table_looks_at_fewer(void)
{
    struct stage stage;
    struct rgi_waits *waits;

    stage_begin(&stage, 2);
    waits = &stage.play.runtime->waits;
    waits->used = RGI_WAITS_MAX; /* all of them with nothing in them */
    stage_tell(&stage, 0, ASK_1);
    rgi_check(waits->count == 0);
    waits->used = 0;
    stage_tell(&stage, 1, ASK_0);
    rgi_check(waits->count == 1 && told == 0);
    stage_tell(&stage, 1, ANSWER);
    stage_tell(&stage, 0, ASK_1);
    rgi_check(waits->count == 2 && told == 1);
    stage_tell(&stage, 1, ANSWER);
    rgi_check(waits->count == 1);
    stage_end(&stage);
}

#define CASES(X)                                                               \
    X(waits, two_on_two_workers_that_wait_for_each_other_are_named)            \
    X(waits, two_on_one_worker_that_wait_for_each_other_are_named)             \
    X(waits, a_circle_of_three_is_named_whole)                                 \
    X(waits, one_that_keeps_its_own_ask_is_named)                              \
    X(waits, what_is_kept_and_answered_later_is_no_alarm)                      \
    X(waits, a_keeper_that_waits_for_nobody_is_no_alarm)                       \
    X(waits, an_ask_with_a_deadline_ends_by_itself)                            \
    X(waits, a_full_table_looks_at_fewer)

#else

static void
nothing_of_it_is_there(void)
{
    rgi_check(sizeof(struct rgi_kept) <= 64);
}

#define CASES(X) X(waits, nothing_of_it_is_there)

#endif

RGI_CASES(CASES)
