/* SPDX-License-Identifier: MIT */

/*
 * abandon_test.c - is a record that was given up released once, when it is home,
 * and is nobody told?
 *
 * Time is the test's, as in deadline_test.c.
 */

#include <sched.h>
#include <stdatomic.h>

#include <ringmail/abandon.h>

#include "actors/rig.h"

#define START_NS (1000 * RGM_NS_PER_S)

static atomic_ullong virtual_now;
static atomic_uint clock_reads;
static atomic_bool time_stands; /* while something is still to happen */

static uint64_t
virtual_clock(struct fake *fake)
{
    (void)fake;
    atomic_fetch_add(&clock_reads, 1);
    return atomic_load(&virtual_now);
}

static void
jump(struct fake *fake, uint64_t deadline_ns)
{
    if (fake->worker == 0 && deadline_ns != 0 && deadline_ns != RGM_NEVER &&
        !atomic_load(&time_stands) &&
        deadline_ns > atomic_load(&virtual_now))
        atomic_store(&virtual_now, deadline_ns);
}

struct play {
    struct script asked;
    struct rgm_address to;
    atomic_uint stage;
    unsigned released, answers, expected;
    int status, released_status;
    uint32_t reads;
    bool on_owner, gone;
    struct rgm_timeout timeout;
    uint64_t duration_ns;
};

static struct play *now_playing;

static void
play_run(struct play *play, uint32_t workers, void (*started)(struct robot *))
{
    struct script root = {.started = started, .test = play};
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = &fake_class,
                                          .spin_us = RGM_SPIN_OFF};

    fake_reset();
    atomic_store(&virtual_now, START_NS);
    atomic_store(&clock_reads, 0);
    fake_plan.now = virtual_clock;
    fake_plan.on_wait = jump;
    now_playing = play;
    rig_run_with(&options, &root);
}

/* A request whose record may be released. */
struct errand {
    struct rgm_request request;
    struct play *play;
    struct rgm_token token;
};
RGM_REQUEST_RELEASED(errand, errand_released);

static void
errand_released(struct errand *errand, int status)
{
    struct play *play = errand->play;

    play->released++;
    play->released_status = status;
    play->on_owner = rgi_current != NULL && rgi_current->number == 0;
    rgi_check(errand->request.life == RGI_REQUEST_HOME);
}

/* Who runs errands, and does not answer before it is told to. */
struct runner {
    struct rgm_actor actor;
    struct play *play;
    struct rgm_token token;
};

RGM_HANDLER(runner, errand, runner_errand);
RGM_HANDLER(runner, note, runner_note);

static const struct rgm_handler runner_handlers[] = {
    RGM_ON(runner, errand, runner_errand), RGM_ON(runner, note, runner_note)};
static const struct rgm_behaviour runner_behaviour = {
    .name = "runner",
    .size_bytes = sizeof(struct runner),
    RGM_HANDLERS(runner_handlers),
};

static void
runner_errand(struct runner *self, struct errand *errand)
{
    rgi_check(rgm_keep(self, errand, &self->token) == 0);
    atomic_store(&now_playing->stage, 1);
}

static void
runner_note(struct runner *self, struct note *note)
{
    (void)note;
    rgi_check(rgm_answer(self, self->token, 0) == 0);
}

RGM_ANSWER(robot, errand, never_told);

static void
never_told(struct robot *self, struct errand *errand)
{
    (void)self;
    (void)errand;
    rgi_check(false);
}

/* For a runner on the last worker. */
static struct errand *
errand_for_a_runner(struct robot *self)
{
    struct errand *errand = errand_take(&self->actor, 0);
    struct play *play = test_of(self);

    rgi_check(rgm_spawn_on(self, rgm_workers_count(&self->actor) - 1,
                           &runner_behaviour, NULL, &play->to) == 0);
    errand->play = play;
    rgm_request_to(&errand->request, play->to);
    return errand;
}

/* ------------------------------------------------------------------- given up */

static void
abandon_the_kept(struct robot *self)
{
    struct errand *errand = errand_for_a_runner(self);
    struct play *play = test_of(self);

    rgi_check(rgm_abandon(self, errand) == -EALREADY);
    rgm_ask(self, errand, RGM_REPLY(robot, errand, never_told));
    rgi_check(self->actor.out_count == 1);
    rgi_check(rgm_abandon(self, errand) == 0);
    rgi_check(self->actor.out_count == 0 && play->released == 0);
    rgi_check(robot_send(self, play->to, 0) == 0);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
stop_when_released(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    if (play->released == 0 || play->answers < play->expected)
        (void)robot_send(self, rgm_self(self), 0);
    else
        rgm_stop(self);
}

/* On so many workers, in real time: until all is released and told. */
static void
play_released(struct play *play, uint32_t workers,
              void (*started)(struct robot *))
{
    struct script root = {
        .started = started, .note = stop_when_released, .test = play};

    now_playing = play;
    rig_run(workers, &root);
}

static void
opl_04_an_abandoned_record_is_released_once_when_it_is_home(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct play play = {.released = 0};

        play_released(&play, workers, abandon_the_kept);
        rgi_check(play.released == 1 && play.released_status == 0);
        rgi_check(play.on_owner);
    }
}

/* Kept for ever: the end of the runtime fetches it. */
static void
abandon_and_leave(struct robot *self)
{
    struct errand *errand = errand_for_a_runner(self);

    rgm_ask(self, errand, RGM_REPLY(robot, errand, never_told));
    rgi_check(rgm_abandon(self, errand) == 0);
    rgm_stop(self);
}

static void
opl_05_what_was_given_up_does_not_keep_a_runtime_from_its_end(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct play play = {.released = 0};

        play_run(&play, workers, abandon_and_leave);
        rgi_check(play.released == 1);
        rgi_check(play.released_status != 0);
    }
}

/* ---------------------------------------------------------------------- left */

/* Whoever keeps it does not answer: it is fetched. */
static void
leave_the_kept(struct robot *self)
{
    struct errand *errand = errand_for_a_runner(self);
    struct play *play = test_of(self);

    rgi_check(rgm_leave(self, errand) == -EALREADY);
    rgm_ask(self, errand, RGM_REPLY(robot, errand, never_told));
    rgi_check(rgm_leave(self, errand) == 0);
    rgi_check(self->actor.out_count == 0 && play->released == 0);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
what_is_left_is_fetched_and_released_once(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct play play = {.released = 0};

        play_released(&play, workers, leave_the_kept);
        rgi_check(play.released == 1 && play.on_owner);
        rgi_check(play.released_status == -ECANCELED);
    }
}

/* --------------------------------------------------------------- and refused */

RGM_ANSWER(robot, question, refused_answer);

static void
refused_answer(struct robot *self, struct question *question)
{
    (void)question;
    rgm_stop(self);
}

static void
reply_at_once(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
abandon_in_vain(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){.question = reply_at_once};
    question_prepare(&self->question, robot_spawn(self, &play->asked));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, refused_answer));
    rgi_check(rgm_abandon(self, &self->question) == -EINVAL);
    rgi_check(rgm_leave(self, &self->question) == -EINVAL);
    rgi_check(self->actor.out_count == 1);
}

static void
a_record_that_nobody_may_release_is_not_given_up(void)
{
    struct play play = {.released = 0};

    play_run(&play, 1, abandon_in_vain);
}

/* Home, but in the line of the actor that gives it up. */
struct twice {
    struct question first;
    struct errand *second;
    struct play play;
};

RGM_ANSWER(robot, question, give_the_other_up);

static void
give_the_other_up(struct robot *self, struct question *question)
{
    struct twice *twice = test_of(self);

    (void)question;
    rgi_check(twice->second->request.life == RGI_REQUEST_ANSWERED);
    rgi_check(rgm_abandon(self, twice->second) == 0);
    rgm_stop(self);
}

static void
ask_twice(struct robot *self)
{
    struct twice *twice = test_of(self);
    struct script *script = &twice->play.asked;

    *script = (struct script){.question = reply_at_once};
    question_prepare(&twice->first, robot_spawn(self, script));
    rgm_ask(self, &twice->first,
            RGM_REPLY(robot, question, give_the_other_up));
    twice->second = errand_take(&self->actor, 0);
    twice->second->play = &twice->play;
    rgm_request_to(&twice->second->request, twice->first.request.message.to);
    rgm_ask(self, twice->second, RGM_REPLY(robot, errand, never_told));
}

static void
one_that_is_home_and_not_told_yet_is_given_up_all_the_same(void)
{
    struct twice twice = {.second = NULL};
    struct script root = {.started = ask_twice, .test = &twice};

    now_playing = &twice.play;
    rig_run(1, &root);
    rgi_check(twice.play.released == 1);
    rgi_check(twice.play.released_status == -ENOSYS);
}

/* ------------------------------------------------------------------ timeouts */

struct call {
    struct rgm_listen listen;
    struct rgm_listener listener;
    struct play *play;
};

RGM_RELEASE(rgm_listen, call_release);

static void
call_release(struct rgm_listen *listen)
{
    struct call *call = rgi_container_of(listen, struct call, listen);

    call->play->released++;
    call->play->released_status = rgm_status(listen);
    free(call);
}

RGM_ANSWER(robot, rgm_timeout, on_timeout);

static void
on_timeout(struct robot *self, struct rgm_timeout *timeout)
{
    struct play *play = test_of(self);

    play->status = rgm_status(timeout);
    play->gone = timeout->inner == NULL;
    play->answers++;
    rgi_check(rgi_timers_count(self->actor.worker->timers) == 0);
    if (!play->gone) {
        rgi_check(timeout->inner->life == RGI_REQUEST_HOME);
        free(rgi_container_of(timeout->inner, struct call, listen.request));
    } else {
        rgi_check(play->released == 0); /* it goes on, and nobody waits */
    }
    rgm_stop(self);
}

static void
ask_with_timeout(struct robot *self, struct call *call)
{
    struct play *play = test_of(self);

    call->play = play;
    rgm_timeout(&play->timeout, self, &call->listen, play->duration_ns,
                RGM_RELEASE_BY(rgm_listen, call_release));
    rgm_ask(self, &play->timeout, RGM_REPLY(robot, rgm_timeout, on_timeout));
}

static void
start_with_timeout(struct robot *self)
{
    struct call *call = calloc(1, sizeof(*call));

    fake_prepare(&call->listen, &call->listener, rgm_here(self));
    ask_with_timeout(self, call);
}

/* The provider never ends by itself; a drain cancels. */
static void
clk_11_a_timeout_abandons_and_neither_cancels_nor_waits(void)
{
    struct play play = {.duration_ns = RGM_NS_PER_MS};

    play_run(&play, 1, start_with_timeout);
    rgi_check(play.answers == 1 && play.status == -ETIMEDOUT && play.gone);
    rgi_check(play.released == 1); /* at its own end */
    rgi_check(atomic_load(&virtual_now) == START_NS + RGM_NS_PER_MS);
}

static void
complete_one(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    (void)fake_complete_first(fake, 0);
}

static void
clk_15_whichever_is_over_first_withdraws_the_other(void)
{
    struct play play = {.duration_ns = RGM_NS_PER_MS};
    struct script root = {.started = start_with_timeout, .test = &play};
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = &fake_class};

    fake_reset();
    fake_plan.on_wait = complete_one;
    now_playing = &play;
    rig_run_with(&options, &root);
    rgi_check(play.answers == 1 && play.status == 0 && !play.gone);
    rgi_check(play.released == 0);
}

/* It completes in the very wait that its time ends. */
static void
complete_at_the_deadline(struct fake *fake, uint64_t deadline_ns)
{
    if (deadline_ns == 0 || deadline_ns == RGM_NEVER)
        return;
    jump(fake, deadline_ns);
    (void)fake_complete_first(fake, 0);
}

static void
clk_09_what_is_finished_beats_a_timeout_that_comes_with_it(void)
{
    struct play play = {.duration_ns = RGM_NS_PER_MS};
    struct script root = {.started = start_with_timeout, .test = &play};
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = &fake_class,
                                          .spin_us = RGM_SPIN_OFF};

    fake_reset();
    atomic_store(&virtual_now, START_NS);
    fake_plan.now = virtual_clock;
    fake_plan.on_wait = complete_at_the_deadline;
    now_playing = &play;
    rig_run_with(&options, &root);
    rgi_check(play.answers == 1 && play.status == 0 && !play.gone);
    rgi_check(play.released == 0);
}

static void
clk_10_a_clock_that_fails_is_told_apart_from_an_expiry(void)
{
    struct play play = {.duration_ns = RGM_NEVER - 1};

    play_run(&play, 1, start_with_timeout);
    rgi_check(play.answers == 1 && play.status == -EINVAL && play.gone);
    rgi_check(play.released == 1);
}

/* Ready at once: refused by the preparation, before any wait. */
static void
ready_with_timeout(struct robot *self)
{
    struct call *call = calloc(1, sizeof(*call));

    rgm_stream_listen(&call->listen, rgm_here(self), &call->listener, NULL,
                      false);
    ask_with_timeout(self, call);
}

static void
clk_07_a_timeout_of_what_is_ready_is_no_timeout(void)
{
    static const uint64_t durations[] = {0, RGM_NEVER - 1, RGM_NEVER};

    for (int i = 0; i < 3; i++) {
        struct play play = {.duration_ns = durations[i]};

        play_run(&play, 1, ready_with_timeout);
        rgi_check(play.answers == 1 && play.status == -EINVAL && !play.gone);
    }
}

RGM_RELEASE(rgm_timeout, timeout_release);

static void
timeout_release(struct rgm_timeout *timeout)
{
    now_playing->answers++;
    rgi_check(timeout->request.life == RGI_REQUEST_HOME);
}

static void
abandon_the_wrapper(struct robot *self)
{
    struct play *play = test_of(self);

    start_with_timeout(self);
    rgi_check(rgm_abandon_to(self, &play->timeout,
                             RGM_RELEASE_BY(rgm_timeout, timeout_release)) ==
              0);
    rgi_check(self->actor.out_count == 0);
    rgm_stop(self);
}

static void
clk_12_abandoning_the_wrapper_abandons_both_sides(void)
{
    struct play play = {.duration_ns = RGM_NS_PER_MS};

    play_run(&play, 1, abandon_the_wrapper);
    rgi_check(play.answers == 1 && play.released == 1);
    rgi_check(play.timeout.inner == NULL);
}

static void
leave_the_wrapper(struct robot *self)
{
    struct play *play = test_of(self);

    start_with_timeout(self);
    rgi_check(rgm_leave_to(self, &play->timeout,
                           RGM_RELEASE_BY(rgm_timeout, timeout_release)) == 0);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

/* What it waits for would not end by itself. */
static void
leaving_the_wrapper_cancels_what_it_waits_for(void)
{
    struct play play = {.duration_ns = RGM_NEVER / 2, .expected = 1};

    play_released(&play, 1, leave_the_wrapper);
    rgi_check(play.answers == 1 && play.released == 1);
    rgi_check(play.released_status == -ECANCELED);
}

static void
cancel_the_wrapper(struct robot *self)
{
    struct play *play = test_of(self);

    start_with_timeout(self);
    rgm_cancel(self, &play->timeout);
}

static void
a_cancel_of_the_wrapper_is_one_of_the_request(void)
{
    struct play play = {.duration_ns = RGM_NS_PER_MS};

    play_run(&play, 1, cancel_the_wrapper);
    rgi_check(play.answers == 1 && play.status == -ECANCELED && !play.gone);
}

#define CASES(X)                                                               \
    X(abandon, opl_04_an_abandoned_record_is_released_once_when_it_is_home)    \
    X(abandon, opl_05_what_was_given_up_does_not_keep_a_runtime_from_its_end)  \
    X(abandon, what_is_left_is_fetched_and_released_once)                      \
    X(abandon, leaving_the_wrapper_cancels_what_it_waits_for)                  \
    X(abandon, a_record_that_nobody_may_release_is_not_given_up)               \
    X(abandon, one_that_is_home_and_not_told_yet_is_given_up_all_the_same)     \
    X(abandon, clk_11_a_timeout_abandons_and_neither_cancels_nor_waits)        \
    X(abandon, clk_15_whichever_is_over_first_withdraws_the_other)             \
    X(abandon, clk_09_what_is_finished_beats_a_timeout_that_comes_with_it)     \
    X(abandon, clk_10_a_clock_that_fails_is_told_apart_from_an_expiry)         \
    X(abandon, clk_07_a_timeout_of_what_is_ready_is_no_timeout)                \
    X(abandon, clk_12_abandoning_the_wrapper_abandons_both_sides)              \
    X(abandon, a_cancel_of_the_wrapper_is_one_of_the_request)

RGI_CASES(CASES)
