/* SPDX-License-Identifier: MIT */

/*
 * deadline_test.c - does a request come home when its time is over, and only
 * then?
 *
 * Time is the test's: it stands still while anybody runs, and jumps to the
 * deadline a worker would sleep until. So nothing here waits, and every moment
 * is exact.
 */

#include <sched.h>
#include <stdatomic.h>

#include <ringmail/deadline.h>

#include "actors/rig.h"

#define START_NS (1000 * RGM_NS_PER_S)

static atomic_ullong virtual_now;
static atomic_uint clock_reads;

static uint64_t
virtual_clock(struct fake *fake)
{
    (void)fake;
    atomic_fetch_add(&clock_reads, 1);
    return atomic_load(&virtual_now);
}

/* Only worker 0 makes time pass; the others have no timers in these cases. */
static void
jump(struct fake *fake, uint64_t deadline_ns)
{
    if (fake->worker == 0 && deadline_ns != 0 && deadline_ns != RGM_NEVER &&
        deadline_ns > atomic_load(&virtual_now))
        atomic_store(&virtual_now, deadline_ns);
}

static void
time_begin(void)
{
    fake_reset();
    atomic_store(&virtual_now, START_NS);
    atomic_store(&clock_reads, 0);
    fake_plan.now = virtual_clock;
    fake_plan.on_wait = jump;
}

struct play {
    struct script asked, other, third;
    struct rgm_address to, next;
    struct question questions[4];
    atomic_uint stage, withdrawn;
    unsigned answers, reads, expected;
    int status[4];
    uint64_t ended_ns; /* the last; and each */
    uint64_t ends_ns[4];
    uint32_t lane_messages;
    bool distant;
    struct rgm_deadline foreign;
};

static void
play_run(struct play *play, uint32_t workers, const struct script *script)
{
    struct script root = *script;
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = &fake_class,
                                          .spin_us = RGM_SPIN_OFF,
                                          .lane_messages = play->lane_messages};

    root.test = play;
    rig_run_with(&options, &root);
}

static size_t
timers_of(const struct robot *self)
{
    return rgi_timers_count(self->actor.worker->timers);
}

RGM_ANSWER(robot, question, on_answer);

/* The last answer ends the play; a deadline that was set is no more. */
static void
on_answer(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    play->status[question - play->questions] = rgm_status(question);
    play->ended_ns = atomic_load(&virtual_now);
    play->ends_ns[question - play->questions] = play->ended_ns;
    rgi_check(question->request.asker_flags == 0);
    if (++play->answers < play->expected)
        return;
    rgi_check(timers_of(self) == 0);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static struct question *
prepare(struct play *play, int i)
{
    question_prepare(&play->questions[i], play->to);
    play->questions[i].about = play;
    return &play->questions[i];
}

static void
keep_it(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    rgi_check(rgm_keep(self, question, &self->token) == 0);
    atomic_fetch_add(&play->stage, 1);
}

static void
count_withdrawn(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    rgi_check(rgi_current == self->actor.worker);
    atomic_fetch_add(&play->withdrawn, 1);
}

static void
reply_at_once(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

/* ------------------------------------------------------------------- expired */

static void
ask_who_keeps(struct robot *self)
{
    struct play *play = test_of(self);
    struct question *question;

    play->expected = 2;
    play->asked = (struct script){.question = keep_it,
                                  .withdrawn = count_withdrawn};
    play->to = robot_spawn_on(self, rgm_workers_count(&self->actor) - 1,
                              &play->asked);
    question = prepare(play, 0);
    rgm_expire_after(question, 5 * RGM_NS_PER_MS);
    rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
    question = prepare(play, 1);
    rgm_expire_at(question, rgm_deadline_in(self, 7 * RGM_NS_PER_MS));
    rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
}

static void
clk_02_a_kept_request_expires_by_the_providers_clock(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct play play = {.answers = 0};
        struct script root = {.started = ask_who_keeps};

        time_begin();
        play_run(&play, workers, &root);
        rgi_check(play.status[0] == -ETIMEDOUT);
        rgi_check(play.status[1] == -ETIMEDOUT);
        rgi_check(play.ended_ns == START_NS + 7 * RGM_NS_PER_MS);
    }
}

/* Its worker never sleeps: it asks and is answered, without a deadline or with a
 * new one each time, and what is far comes all the same. */
#define STEP_NS (100 * RGM_NS_PER_US)

RGM_ANSWER(robot, question, on_far_answer);
RGM_ANSWER(robot, question, go_on);

static void
on_far_answer(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    play->status[0] = rgm_status(question);
    play->ended_ns = atomic_load(&virtual_now);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
ask_the_quick(struct robot *self, struct play *play, struct question *question)
{
    if (play->distant)
        rgm_expire_after(question, 60 * RGM_NS_PER_S);
    rgm_ask(self, question, RGM_REPLY(robot, question, go_on));
}

static void
go_on(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    if (play->ended_ns != 0)
        return;
    rgi_check(atomic_fetch_add(&virtual_now, STEP_NS) <
              START_NS + 20 * RGM_NS_PER_MS);
    ask_the_quick(self, play, question);
}

/* It asks, too: in the turns in between, so that none passes without an ask. */
static void
reply_and_ask(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    rgm_reply(self, question, 0);
    if (!play->distant || play->reads++ > 0)
        return;
    question = prepare(play, 2);
    rgm_request_to(&question->request, play->next);
    ask_the_quick(self, play, question);
}

static void
ask_and_be_busy(struct robot *self)
{
    struct play *play = test_of(self);
    struct question *kept = prepare(play, 0);

    play->asked = (struct script){.question = keep_it,
                                  .withdrawn = count_withdrawn};
    play->other = (struct script){.question = reply_and_ask, .test = play};
    play->third = (struct script){.question = reply_at_once};
    play->next = robot_spawn(self, &play->third);
    rgm_request_to(&kept->request, robot_spawn(self, &play->asked));
    rgm_expire_after(kept, 5 * RGM_NS_PER_MS);
    rgm_ask(self, kept, RGM_REPLY(robot, question, on_far_answer));
    play->to = robot_spawn(self, &play->other);
    ask_the_quick(self, play, prepare(play, 1));
}

static void
clk_02_what_is_far_comes_to_a_worker_that_never_sleeps(void)
{
    for (int distant = 0; distant < 2; distant++) {
        struct play play = {.distant = distant};
        struct script root = {.started = ask_and_be_busy};

        time_begin();
        fake_plan.on_wait = NULL; /* nothing else makes time pass */
        play_run(&play, 1, &root);
        rgi_check(play.status[0] == -ETIMEDOUT);
        rgi_check(play.ended_ns >= START_NS + 5 * RGM_NS_PER_MS);
        rgi_check(play.ended_ns < START_NS + 10 * RGM_NS_PER_MS);
    }
}

/* Whether it is in the list or in the queue by then, an answer takes it out. */
static void
count_and_reply(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    play->reads++;
    rgm_reply(self, question, 0);
}

RGM_ANSWER(robot, question, ask_ten_times);

static void
ask_ten_times(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    rgi_check(rgm_status(question) == 0 && timers_of(self) == 0);
    rgi_check(rgi_list_empty(&self->actor.worker->distant));
    if (play->reads == 10) {
        rgm_runtime_stop(self->actor.worker->runtime);
        return;
    }
    rgm_expire_after(question, 60 * RGM_NS_PER_S);
    rgm_ask(self, question, RGM_REPLY(robot, question, ask_ten_times));
}

static void
ask_the_far(struct robot *self)
{
    struct play *play = test_of(self);
    struct question *question;

    play->asked = (struct script){.question = count_and_reply};
    play->to = robot_spawn_on(self, 1, &play->asked);
    question = prepare(play, 0);
    rgm_expire_after(question, 60 * RGM_NS_PER_S);
    rgm_ask(self, question, RGM_REPLY(robot, question, ask_ten_times));
}

static void
field_b50_a_far_deadline_leaves_nothing_behind(void)
{
    struct play play = {.reads = 0};
    struct script root = {.started = ask_the_far};

    time_begin();
    fake_plan.on_wait = NULL;
    play_run(&play, 2, &root);
    rgi_check(play.reads == 10);
}

/* One fills the lane, and is kept; the other two wait in line. */
static void
ask_in_line(struct robot *self)
{
    struct play *play = test_of(self);

    play->expected = 3;
    play->asked = (struct script){.question = keep_it};
    play->to = robot_spawn_on(self, 1, &play->asked);
    for (int i = 0; i < 3; i++) {
        struct question *question = prepare(play, i);

        rgm_expire_after(question, (uint64_t)(5 - i) * RGM_NS_PER_MS);
        rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
    }
    rgi_check(play->questions[2].request.life == RGI_REQUEST_WAITING);
}

static void
a_request_in_line_expires_there(void)
{
    struct play play = {.lane_messages = 1};
    struct script root = {.started = ask_in_line};

    time_begin();
    play_run(&play, 2, &root);
    for (int i = 0; i < 3; i++)
        rgi_check(play.status[i] == -ETIMEDOUT);
    rgi_check(atomic_load(&play.stage) <= 1); /* the others never left */
}

/* ------------------------------------------------------------- ready at once */

static void
look_at_clock_reads(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    rgi_check(atomic_load(&clock_reads) == play->reads);
    rgm_reply(self, question, 0);
}

static void
ask_who_is_quick(struct robot *self)
{
    struct play *play = test_of(self);
    static const uint64_t durations[] = {0, 1, RGM_NEVER - 1, RGM_NEVER};

    play->expected = 4;
    play->asked = (struct script){.question = look_at_clock_reads};
    play->to = robot_spawn(self, &play->asked);
    for (int i = 0; i < 4; i++) {
        struct question *question = prepare(play, i);

        rgm_expire_after(question, durations[i]);
        rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
    }
    play->reads = atomic_load(&clock_reads);
}

static void
clk_07_what_is_ready_at_once_reads_no_clock_and_arms_no_timer(void)
{
    struct play play = {.answers = 0};
    struct script root = {.started = ask_who_is_quick};

    time_begin();
    fake_plan.never_beckons = true; /* one turn is enough for it all */
    play_run(&play, 1, &root);
    for (int i = 0; i < 4; i++)
        rgi_check(play.status[i] == 0);
}

/* The handler that asks takes its time after that. */
static void
ask_and_dawdle(struct robot *self)
{
    struct play *play = test_of(self);
    struct question *question;

    play->expected = 1;
    play->asked = (struct script){.question = keep_it};
    play->to = robot_spawn(self, &play->asked);
    question = prepare(play, 0);
    rgm_expire_after(question, 10);
    rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
    atomic_fetch_add(&virtual_now, RGM_NS_PER_S);
}

static void
clk_08_the_time_runs_from_the_first_wait(void)
{
    struct play play = {.answers = 0};
    struct script root = {.started = ask_and_dawdle};

    time_begin();
    play_run(&play, 1, &root);
    rgi_check(play.status[0] == -ETIMEDOUT);
    rgi_check(play.ended_ns == START_NS + RGM_NS_PER_S + 10);
}

/* ------------------------------------------------------------------ in time */

/* Answered by worker 1 before its deadline; then time goes on. */
RGM_ANSWER(robot, question, ask_again);

static void
ask_again(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    rgi_check(rgm_status(question) == 0);
    rgi_check(timers_of(self) == 0);
    rgi_check(!rgi_timer_pending(
        (struct rgi_timer *)(void *)question->request.aside.timer));
    if (++play->answers < 5) {
        rgm_expire_after(question, RGM_NS_PER_MS);
        rgm_ask(self, question, RGM_REPLY(robot, question, ask_again));
        return;
    }
    /* Without a deadline, and kept until long after the last one. */
    play->expected = play->answers + 1;
    rgm_request_to(&question->request, play->next);
    rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
    rgm_sleep_for(&self->sleep, rgm_here(self), RGM_NS_PER_S);
}

RGM_ANSWER(robot, rgm_sleep, answer_late);

/* Of the keeper: a second later it answers. */
static void
answer_late(struct robot *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    rgi_check(rgm_answer(self, self->token, 0) == 0);
}

static void
keep_for_a_second(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
    rgm_sleep_for(&self->sleep, rgm_here(self), RGM_NS_PER_S);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, answer_late));
}

static void
ask_in_time(struct robot *self)
{
    struct play *play = test_of(self);
    struct question *question;

    play->asked = (struct script){.question = reply_at_once};
    play->other = (struct script){.question = keep_for_a_second};
    play->to = robot_spawn_on(self, rgm_workers_count(&self->actor) - 1,
                              &play->asked);
    play->next = robot_spawn(self, &play->other);
    question = prepare(play, 0);
    rgm_expire_after(question, RGM_NS_PER_MS);
    rgm_ask(self, question, RGM_REPLY(robot, question, ask_again));
}

static void
no_jump_yet(struct fake *fake, uint64_t deadline_ns)
{
    /* Time stands still while worker 1 may still answer. */
    if (deadline_ns < START_NS + RGM_NS_PER_S / 2)
        return;
    jump(fake, deadline_ns);
}

static void
field_b50_a_deadline_does_not_outlive_its_answer(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct play play = {.answers = 0};
        struct script root = {.started = ask_in_time};

        time_begin();
        fake_plan.on_wait = no_jump_yet;
        play_run(&play, workers, &root);
        rgi_check(play.status[0] == 0);
        rgi_check(play.ended_ns == START_NS + RGM_NS_PER_S);
    }
}

/* ------------------------------------------------- progress, in the same turn */

RGM_ANSWER(robot, rgm_listen, on_listen);

static void
on_listen(struct robot *self, struct rgm_listen *listen)
{
    struct play *play = test_of(self);

    play->status[0] = rgm_status(listen);
    play->answers++;
    rgm_stop(self);
}

static void
operate_until(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_expire_after(&self->listen, RGM_NS_PER_MS);
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_listen));
}

/* It completes in the very wait that its deadline ends. */
static void
complete_at_the_deadline(struct fake *fake, uint64_t deadline_ns)
{
    if (deadline_ns == 0 || deadline_ns == RGM_NEVER)
        return;
    jump(fake, deadline_ns);
    (void)fake_complete_first(fake, 0);
}

/* It completes after its deadline has asked it to stop. */
static void
complete_after_the_cancel(struct fake *fake, uint64_t deadline_ns)
{
    jump(fake, deadline_ns);
    if (fake->cancels > 0)
        (void)fake_complete_first(fake, 0);
}

static void
clk_09_what_is_finished_beats_the_expiry_that_comes_with_it(void)
{
    static void (*const orders[])(struct fake *, uint64_t) = {
        complete_at_the_deadline, complete_after_the_cancel};

    for (int i = 0; i < 2; i++) {
        struct play play = {.answers = 0};
        struct script root = {.started = operate_until};

        time_begin();
        fake_plan.on_wait = orders[i];
        fake_plan.deaf = true;
        play_run(&play, 1, &root);
        rgi_check(play.answers == 1 && play.status[0] == 0);
    }
}

static void
an_operation_that_expires_is_told_to_stop(void)
{
    struct play play = {.answers = 0};
    struct script root = {.started = operate_until};

    time_begin();
    play_run(&play, 1, &root);
    rgi_check(play.answers == 1 && play.status[0] == -ETIMEDOUT);
}

RGM_ANSWER(robot, rgm_listen, on_refused);

/* It was in time when it was asked, and is not when it comes to its worker. */
static void
operate_elsewhere(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_worker_address(1));
    rgm_expire_at(&self->listen, rgm_deadline_in(self, 1));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_refused));
    atomic_fetch_add(&virtual_now, RGM_NS_PER_S);
}

static void
on_refused(struct robot *self, struct rgm_listen *listen)
{
    struct rgm_runtime *runtime = self->actor.worker->runtime;
    struct play *play = test_of(self);
    struct rgm_counters counters;

    play->status[0] = rgm_status(listen);
    rgi_check(rgm_runtime_counters(runtime, 1, &counters) == 0);
    rgi_check(counters.operations == 0);
    rgm_runtime_stop(runtime);
}

static void
tmr_22_too_late_on_the_way_is_not_begun(void)
{
    struct play play = {.answers = 0};
    struct script root = {.started = operate_elsewhere};

    time_begin();
    play_run(&play, 2, &root);
    rgi_check(play.status[0] == -ETIMEDOUT);
}

/* Near ones are exact; of those far away two that end between the same ticks end
 * in one wake. */
static void
ask_near_and_far(struct robot *self)
{
    static const uint64_t durations_ns[3] = {
        300 * RGM_NS_PER_MS + 1, RGM_NS_PER_S + 1,
        RGM_NS_PER_S + 3 * RGM_NS_PER_MS};
    struct play *play = test_of(self);

    play->expected = 3;
    play->asked = (struct script){.question = keep_it};
    play->to = robot_spawn(self, &play->asked);
    for (int i = 0; i < 3; i++) {
        struct question *question = prepare(play, i);

        rgm_expire_after(question, durations_ns[i]);
        rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
    }
}

static void
tmr_22_far_deadlines_end_at_a_tick(void)
{
    struct play play = {.answers = 0};
    struct script root = {.started = ask_near_and_far};
    uint64_t tick_ns = START_NS + RGM_NS_PER_S + 5 * RGM_NS_PER_MS;

    time_begin();
    play_run(&play, 1, &root);
    for (int i = 0; i < 3; i++)
        rgi_check(play.status[i] == -ETIMEDOUT);
    rgi_check(play.ends_ns[0] == START_NS + 300 * RGM_NS_PER_MS + 1);
    rgi_check(play.ends_ns[1] == tick_ns && play.ends_ns[2] == tick_ns);
}

/* A cancel that came first is why it ends, whatever the time. */
static void
cancel_and_let_time_pass(struct robot *self)
{
    struct play *play = test_of(self);
    struct question *question;

    play->expected = 1;
    play->asked = (struct script){.question = keep_it};
    play->to = robot_spawn(self, &play->asked);
    question = prepare(play, 0);
    rgm_expire_after(question, 1);
    rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
    rgm_cancel(self, question);
    atomic_fetch_add(&virtual_now, RGM_NS_PER_S);
}

static void
the_first_reason_stands(void)
{
    struct play play = {.answers = 0};
    struct script root = {.started = cancel_and_let_time_pass};

    time_begin();
    play_run(&play, 1, &root);
    rgi_check(play.status[0] == -ECANCELED);
}

/* ------------------------------------------------------------------- domains */

static void
make_a_deadline(struct robot *self)
{
    struct play *play = test_of(self);

    play->foreign = rgm_deadline_in(self, RGM_NS_PER_S);
    rgm_stop(self);
}

static void
use_a_foreign_deadline(struct robot *self)
{
    struct play *play = test_of(self);
    struct question *question;

    play->expected = 1;
    play->asked = (struct script){.question = reply_at_once};
    play->to = robot_spawn(self, &play->asked);
    question = prepare(play, 0);
    rgm_expire_at(question, play->foreign);
    rgi_check(rgm_try_ask(self, question,
                          RGM_REPLY(robot, question, on_answer)) == -EINVAL);
    rgi_check(question->request.life == RGI_REQUEST_HOME);
    rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
}

static void
clk_03_a_deadline_of_another_runtime_is_refused(void)
{
    struct play play = {.answers = 0};
    struct script first = {.started = make_a_deadline};
    struct script second = {.started = use_a_foreign_deadline};

    time_begin();
    play_run(&play, 1, &first);
    time_begin();
    play_run(&play, 1, &second);
    rgi_check(play.status[0] == -EINVAL);
}

static void
guest_done(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

/* ----------------------------------------------------------- plain threads */

static void
keep_for_ever(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
}

static void
keep_or_reply(struct robot *self, struct question *question)
{
    if (question->value == 0)
        keep_for_ever(self, question);
    else
        rgm_reply(self, question, 0);
}

struct visit {
    struct rgm_runtime *runtime;
    struct script host_script;
    struct rgm_address host;
};

static void
visit_begin(struct visit *visit)
{
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .lane_messages = 2};

    fake_reset();
    visit->host_script = (struct script){.question = keep_or_reply};
    visit->runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(visit->runtime) == 0);
    rgi_check(rgm_runtime_spawn(visit->runtime, 0, &robot_behaviour,
                                &visit->host_script, &visit->host) == 0);
}

static void
visit_end(struct visit *visit)
{
    rgm_runtime_stop(visit->runtime);
    rgi_check(rgm_runtime_wait(visit->runtime) == 0);
    rig_destroy(visit->runtime);
}

static void
a_call_is_waited_for_until_its_deadline(void)
{
    struct question question;
    struct visit visit;

    visit_begin(&visit);
    for (unsigned i = 0; i < 20; i++) {
        question_prepare(&question, visit.host);
        question.value = i % 2; /* answered, or kept */
        rgm_expire_after(&question, i % 2 ? 60 * RGM_NS_PER_S : 1000);
        rgi_check(rgm_call(visit.runtime, &question) ==
                  (i % 2 ? 0 : -ETIMEDOUT));
        rgi_check(question.request.life == RGI_REQUEST_HOME);
    }
    question_prepare(&question, visit.host); /* and never: none at all */
    question.value = 1;
    rgm_expire_after(&question, RGM_NEVER);
    rgi_check(rgm_call(visit.runtime, &question) == 0);
    visit_end(&visit);
}

/* Two are out, the third stands in line for allowance; all expire, the fourth
 * is cancelled by hand before. */
static void
a_guests_deadlines_reach_it_wherever_it_waits(void)
{
    struct question questions[4];
    struct rgm_guest guest;
    struct visit visit;
    unsigned count = 0;

    visit_begin(&visit);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    for (unsigned i = 0; i < 4; i++) {
        question_prepare(&questions[i], visit.host);
        questions[i].value = 0;
        if (i == 3)
            rgm_expire_after(&questions[i], 60 * RGM_NS_PER_S);
        else
            rgm_expire_at(&questions[i],
                          rgm_deadline_in(&guest, RGM_NS_PER_MS));
        rgm_ask_request(&guest.actor, &questions[i].request, guest_done);
    }
    rgm_cancel_request(&guest.actor, &questions[3].request);
    while (count < 4)
        count += rgm_guest_wait(&guest);
    for (unsigned i = 0; i < 4; i++)
        rgi_check(rgm_status(&questions[i]) ==
                  (i == 3 ? -ECANCELED : -ETIMEDOUT));
    rgm_guest_close(&guest);
    visit_end(&visit);
}

static void
a_guests_first_deadline_may_find_no_memory(void)
{
    struct question question;
    struct rgm_guest guest;
    struct visit visit;

    visit_begin(&visit);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    for (unsigned i = 0; i < 2; i++) {
        question_prepare(&question, visit.host);
        question.value = 1;
        rgm_expire_after(&question, 60 * RGM_NS_PER_S);
        if (i == 0)
            rgi_memory_fail_nth(1);
        rgm_ask_request(&guest.actor, &question.request, guest_done);
        (void)rgi_memory_fail_off();
        rgi_check(rgm_guest_wait(&guest) == 1);
        rgi_check(rgm_status(&question) == (i == 0 ? -ENOMEM : 0));
    }
    rgm_guest_close(&guest);
    visit_end(&visit);
}

/* -------------------------------------------------------- asked for another */

/* The middle: asks the end for what it was asked, and keeps that. */
struct chain {
    struct play play;
    struct robot *middle;
    atomic_uint ended; /* the last of the two answers ends the play */
    unsigned middle_answers;
    int middle_status;
    uint64_t child_deadline_ns;
    int how; /* what the middle does in the end */
};

enum { ANSWERS, FORWARDS, WAITS, STOPS };

RGM_ANSWER(robot, question, middle_answer);

static void
chain_ends(struct robot *self, struct chain *chain)
{
    if (atomic_fetch_add(&chain->ended, 1) == 1)
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
middle_answer(struct robot *self, struct question *question)
{
    struct chain *chain = test_of(self);

    chain->middle_answers++;
    chain->middle_status = rgm_status(question);
    rgi_check(!(question->request.asker_flags & RGI_ASKED_CHILD));
    chain_ends(self, chain);
}

static void
ask_on(struct robot *self, struct question *parent)
{
    struct chain *chain = test_of(self);

    question_prepare(&self->question, chain->play.next);
    self->question.about = &chain->play;
    rgm_ask_for(self, parent, &self->question,
                RGM_REPLY(robot, question, middle_answer));
    if (self->question.request.asker_flags & (RGI_ASKED_AT | RGI_ASKED_AFTER))
        chain->child_deadline_ns = self->question.request.deadline_ns;
    rgi_check(rgm_keep(self, parent, &self->token) == 0);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

/* When the end has its question: the middle ends its parent's stay. */
static void
end_the_stay(struct robot *self, struct note *note)
{
    struct chain *chain = test_of(self);

    (void)note;
    if (atomic_load(&chain->play.stage) == 0) {
        (void)robot_send(self, rgm_self(self), 0);
        return;
    }
    if (chain->how == ANSWERS)
        rgi_check(rgm_answer(self, self->token, 0) == 0);
    if (chain->how == FORWARDS)
        rgi_check(rgm_forward_kept(self, self->token, chain->play.to) == 0);
    if (chain->how == STOPS)
        rgm_stop(self);
}

RGM_ANSWER(robot, question, chain_answer);

static void
chain_answer(struct robot *self, struct question *question)
{
    struct chain *chain = test_of(self);

    chain->play.status[0] = rgm_status(question);
    chain->play.answers++;
    chain_ends(self, chain);
}

static void
chain_begin(struct robot *self)
{
    struct chain *chain = test_of(self);
    struct play *play = &chain->play;
    uint32_t workers = rgm_workers_count(&self->actor);
    static struct script replier;
    struct rgm_address middle;

    replier = (struct script){.question = reply_at_once};
    play->asked = (struct script){
        .question = ask_on, .note = end_the_stay, .test = chain};
    play->other = (struct script){.question = keep_it,
                                  .withdrawn = count_withdrawn};
    play->to = robot_spawn_on(self, 0, &replier);
    play->next = robot_spawn_on(self, workers - 1, &play->other);
    middle = robot_spawn_on(self, workers > 1, &play->asked);
    question_prepare(&self->question, middle);
    if (chain->how == WAITS)
        rgm_expire_after(&self->question, RGM_NS_PER_MS);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, chain_answer));
}

static void
run_chain(struct chain *chain, int how, uint32_t workers)
{
    struct script root = {.started = chain_begin, .test = chain};
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = &fake_class,
                                          .spin_us = RGM_SPIN_OFF};

    memset(chain, 0, sizeof(*chain));
    chain->how = how;
    time_begin();
    if (how == WAITS)
        fake_plan.on_wait = NULL;
    rig_run_with(&options, &root);
    rgi_check(chain->play.answers == 1);
    rgi_check(chain->middle_answers == 1);
    rgi_check(chain->middle_status == -ECANCELED);
    rgi_check(atomic_load(&chain->play.withdrawn) == 1);
}

static void
answering_the_parent_cancels_what_was_asked_for_it(void)
{
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct chain chain;

        run_chain(&chain, ANSWERS, workers);
        rgi_check(chain.play.status[0] == 0);
    }
}

static void
forwarding_the_parent_cancels_what_was_asked_for_it(void)
{
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct chain chain;

        run_chain(&chain, FORWARDS, workers);
        rgi_check(chain.play.status[0] == 0);
    }
}

static void
a_stop_of_the_keeper_cancels_what_it_asked_for_others(void)
{
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct chain chain;

        run_chain(&chain, STOPS, workers);
        rgi_check(chain.play.status[0] == -ESRCH);
    }
}

/* ------------------------------------------------------------ and inherited */

static atomic_uint kept_at_the_end;

/* Time passes when the end of the chain has its question. */
static void
jump_when_kept(struct fake *fake, uint64_t deadline_ns)
{
    (void)fake;
    (void)deadline_ns;
    if (rgi_current->kept_count > 0)
        atomic_fetch_or(&kept_at_the_end, 1u << rgi_current->number);
    if (atomic_load(&kept_at_the_end) & 4u)
        atomic_store(&virtual_now, START_NS + RGM_NS_PER_MS);
}

static void
clk_12_a_deadline_reaches_all_that_was_asked_on_behalf(void)
{
    struct chain chain;
    struct script root = {.started = chain_begin, .test = &chain};
    struct rgm_runtime_options options = {.workers = 3,
                                          .provider = &fake_class,
                                          .spin_us = RGM_SPIN_OFF};

    memset(&chain, 0, sizeof(chain));
    chain.how = WAITS;
    time_begin();
    atomic_store(&kept_at_the_end, 0);
    fake_plan.on_wait = jump_when_kept;
    rig_run_with(&options, &root);
    rgi_check(chain.play.answers == 1 && chain.middle_answers == 1);
    rgi_check(chain.play.status[0] == -ETIMEDOUT);
    rgi_check(chain.child_deadline_ns == START_NS + RGM_NS_PER_MS);
    rgi_check(chain.middle_status == -ETIMEDOUT ||
              chain.middle_status == -ECANCELED); /* whichever was first */
    rgi_check(atomic_load(&chain.play.withdrawn) == 1);
}

/* A child of its own deadline; a parent that is nobody's; a child in time. */
struct odd {
    struct script script;
    unsigned answers;
    int status;
};

RGM_ANSWER(robot, question, odd_child);
RGM_ANSWER(robot, question, odd_answer);

static void
odd_child(struct robot *self, struct question *question)
{
    struct odd *odd = test_of(self);

    odd->status = rgm_status(question);
    odd->answers++;
    rgm_reply(self, question, 0); /* not ours: refused */
    rgi_check(rgm_answer(self, self->token, 0) == 0);
}

static void
odd_question(struct robot *self, struct question *question)
{
    struct odd *odd = test_of(self);

    if (question == &self->question) {
        rgm_reply(self, question, 0);
        return;
    }
    question_prepare(&self->question, rgm_self(self));
    rgm_expire_after(&self->question, 1);
    rgm_ask_for(self, question, &self->question,
                RGM_REPLY(robot, question, odd_child));
    rgi_check(self->question.request.deadline_ns == START_NS + 1);
    rgi_check(rgm_keep(self, question, &self->token) == 0);
    (void)odd;
}

static void
odd_answer(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    rgm_runtime_stop(self->actor.worker->runtime);
}

RGM_ANSWER(robot, question, odd_refused);

static void
odd_refused(struct robot *self, struct question *question)
{
    struct odd *odd = test_of(self);

    rgi_check(rgm_status(question) == -EINVAL);
    question_prepare(&self->question, robot_spawn(self, &odd->script));
    rgm_expire_after(&self->question, RGM_NS_PER_S);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, odd_answer));
}

static struct question nobodys;

static void
odd_started(struct robot *self)
{
    struct odd *odd = test_of(self);

    odd->script = (struct script){.question = odd_question, .test = odd};
    question_init(&nobodys);
    question_prepare(&self->question, rgm_self(self));
    rgm_ask_for(self, &nobodys, &self->question,
                RGM_REPLY(robot, question, odd_refused));
}

static void
a_child_in_time_leaves_its_family_and_the_parent_is_answered(void)
{
    struct odd odd = {.answers = 0};
    struct script root = {.started = odd_started, .test = &odd};
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = &fake_class,
                                          .spin_us = RGM_SPIN_OFF};

    time_begin();
    rig_run_with(&options, &root);
    rgi_check(odd.answers == 1 && odd.status == 0);
}

#define CASES(X)                                                               \
    X(deadline, clk_02_a_kept_request_expires_by_the_providers_clock)          \
    X(deadline, clk_02_what_is_far_comes_to_a_worker_that_never_sleeps)        \
    X(deadline, field_b50_a_far_deadline_leaves_nothing_behind)                \
    X(deadline, a_request_in_line_expires_there)                               \
    X(deadline, clk_07_what_is_ready_at_once_reads_no_clock_and_arms_no_timer) \
    X(deadline, clk_08_the_time_runs_from_the_first_wait)                      \
    X(deadline, field_b50_a_deadline_does_not_outlive_its_answer)              \
    X(deadline, clk_09_what_is_finished_beats_the_expiry_that_comes_with_it)   \
    X(deadline, an_operation_that_expires_is_told_to_stop)                     \
    X(deadline, tmr_22_too_late_on_the_way_is_not_begun)                       \
    X(deadline, tmr_22_far_deadlines_end_at_a_tick)                            \
    X(deadline, the_first_reason_stands)                                       \
    X(deadline, clk_03_a_deadline_of_another_runtime_is_refused)               \
    X(deadline, a_call_is_waited_for_until_its_deadline)                       \
    X(deadline, a_guests_deadlines_reach_it_wherever_it_waits)                 \
    X(deadline, a_guests_first_deadline_may_find_no_memory)                    \
    X(deadline, answering_the_parent_cancels_what_was_asked_for_it)            \
    X(deadline, forwarding_the_parent_cancels_what_was_asked_for_it)           \
    X(deadline, a_stop_of_the_keeper_cancels_what_it_asked_for_others)         \
    X(deadline, clk_12_a_deadline_reaches_all_that_was_asked_on_behalf)        \
    X(deadline, a_child_in_time_leaves_its_family_and_the_parent_is_answered)

RGI_CASES(CASES)
