/* SPDX-License-Identifier: MIT */

/*
 * waits_test.c - is a circle of asks found and named, and nothing else? And is a
 * worker that runs empty told to who waits for that?
 *
 * The test plays the workers itself, so "asleep" is a place in the script. A
 * note tells a robot whom to ask, or to answer what it keeps.
 */

#include <ringmail/deadline.h>
#include <ringmail/drain.h>

#include "actors/stepped.h"

#include "actors/waits.h"

/* -------------------------------------------------- a worker that runs empty */

struct emptying {
    struct stepped play;
    struct stepped_guest guest;
    struct rgm_drain drains[2];
    unsigned told[2];
    struct rgm_address robot;
};

static struct emptying *emptying; /* the case's own */

static void
on_drained(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    emptying->told[request == &emptying->drains[1].request]++;
}

/* Its last act is a word to itself, which nobody will be there to hear. */
static void
talk_and_stop(struct robot *self, struct note *note)
{
    (void)note;
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
    rgm_stop(self);
}

static const struct script talker = {.note = talk_and_stop};

static void
emptying_begin(struct emptying *self, uint32_t workers)
{
    memset(self, 0, sizeof(*self));
    emptying = self;
    stepped_begin(&self->play, workers);
    self->robot = stepped_spawn(&self->play, workers - 1, &talker);
    stepped_open(&self->play, &self->guest);
}

static void
wait_for_empty(struct emptying *self, unsigned which)
{
    rgm_drain_worker(&self->drains[which],
                     rgm_worker_address(self->play.workers - 1));
    rgm_ask_request(&self->guest.guest.actor, &self->drains[which].request,
                    on_drained);
}

/* What has come home for the plain thread, if it is something. */
static void
hear(struct emptying *self, unsigned which, unsigned times)
{
    while (self->told[which] < times)
        rgi_check(rgm_guest_wait(&self->guest.guest) > 0);
}

static void
emptying_end(struct emptying *self)
{
    stepped_close(&self->guest);
    stepped_end(&self->play);
}

static void
tsk_16_mail_for_one_that_has_ended_is_waited_for(void)
{
    struct emptying self;
    const struct rgm_worker *worker;

    emptying_begin(&self, 2);
    worker = self.play.runtime->workers[1];
    wait_for_empty(&self, 0);
    stepped_settle(&self.play);
    rgi_check(worker->operations_out == 1); /* somebody lives there: it waits */
    stepped_tell(&self.guest, self.robot, 1);
    rgi_check(stepped_to(&self.play, 1, "flushed"));
    rgi_check(worker->actors_count == 0); /* its state has gone */
    rgi_check(rgi_mail_pending(&worker->mail)); /* and its last entry has not */
    rgi_check(stepped_to(&self.play, 1, "turn")); /* that looked at it */
    rgi_check(worker->operations_out == 1);
    rgi_check(stepped_counters(&self.play, 1).drained == 0);
    stepped_settle(&self.play);
    rgi_check(worker->operations_out == 0);
    rgi_check(stepped_counters(&self.play, 1).drained == 1);
    hear(&self, 0, 1);
    rgi_check(rgm_status(&self.drains[0]) == 0);
    emptying_end(&self);
}

static void
tsk_16_the_notice_is_armed_by_the_first_wait_and_stays(void)
{
    struct emptying self;

    emptying_begin(&self, 1);
    stepped_tell(&self.guest, self.robot, 1);
    stepped_settle(&self.play); /* empty, and nobody was told */
    rgi_check(stepped_counters(&self.play, 0).drained == 0);
    self.robot = stepped_spawn(&self.play, 0, &talker);
    wait_for_empty(&self, 0);
    wait_for_empty(&self, 1);
    stepped_settle(&self.play);
    rgm_cancel_request(&self.guest.guest.actor, &self.drains[0].request);
    hear(&self, 0, 1);
    rgi_check(rgm_status(&self.drains[0]) == -ECANCELED);
    rgi_check(self.told[1] == 0); /* the other one waits on */
    stepped_tell(&self.guest, self.robot, 1);
    hear(&self, 1, 1);
    rgi_check(rgm_status(&self.drains[1]) == 0);
    rgi_check(stepped_counters(&self.play, 0).drained == 1);
    self.robot = stepped_spawn(&self.play, 0, &talker);
    stepped_tell(&self.guest, self.robot, 1);
    stepped_settle(&self.play); /* nobody waits; the look is armed still */
    rgi_check(stepped_counters(&self.play, 0).drained == 2);
    wait_for_empty(&self, 0); /* of an empty one: at once */
    hear(&self, 0, 2);
    rgi_check(rgm_status(&self.drains[0]) == 0);
    emptying_end(&self);
}

RGM_ANSWER(robot, rgm_drain, on_own_drain);

static void
on_own_drain(struct robot *self, struct rgm_drain *drain)
{
    rgi_check(rgm_status(drain) == -EDEADLK);
    rgi_check(drain == &emptying->drains[0]);
    rgm_stop(self);
}

static void
wait_for_oneself(struct robot *self, struct note *note)
{
    (void)note;
    rgm_drain_worker(&emptying->drains[0], rgm_here(self));
    rgm_ask(self, &emptying->drains[0],
            RGM_REPLY(robot, rgm_drain, on_own_drain));
}

static void
nobody_waits_for_himself_nor_beyond_the_end(void)
{
    static const struct script fool = {.note = wait_for_oneself};
    struct emptying self;

    emptying_begin(&self, 1);
    stepped_tell(&self.guest, stepped_spawn(&self.play, 0, &fool), 1);
    stepped_settle(&self.play);
    wait_for_empty(&self, 1);
    stepped_settle(&self.play);
    rgm_runtime_stop(self.play.runtime);
    hear(&self, 1, 1); /* it is empty at its end, or closes before that */
    rgi_check(rgm_status(&self.drains[1]) == 0 ||
              rgm_status(&self.drains[1]) == -EPIPE);
    emptying_end(&self);
}

#define DRAINS(X)                                                              \
    X(drains, tsk_16_mail_for_one_that_has_ended_is_waited_for)                \
    X(drains, tsk_16_the_notice_is_armed_by_the_first_wait_and_stays)          \
    X(drains, nobody_waits_for_himself_nor_beyond_the_end)

/* ---------------------------------------------------------- circles of asks */

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
    DRAINS(X)                                                                  \
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

#define CASES(X) DRAINS(X) X(waits, nothing_of_it_is_there)

#endif

RGI_CASES(CASES)
