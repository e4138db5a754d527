/* SPDX-License-Identifier: MIT */

/*
 * lane_test.c - is what one worker may have out with another bounded, and does
 * nobody stop for ever because of it?
 *
 * Within one handler nothing comes home, so the very message that is refused
 * is known beforehand.
 */

#include <semaphore.h>

#include "actors/rig.h"

struct late_question {
    struct rgm_request request;
    long value;
};
RGM_REQUEST_LATE(late_question);

#define MANY 64

struct lane_case {
    struct question questions[MANY];
    struct late_question late[MANY];
    struct rgm_token tokens[MANY];
    struct rgm_address other, third;
    long handled, answered, kept, passed;
    size_t trailing_bytes;
    sem_t gate;
};

#define case_of(self) ((struct lane_case *)test_of(self))

static void
run(const struct rgm_runtime_options *limits, const struct script *root)
{
    struct rgm_runtime_options options = *limits;

    fake_reset();
    options.provider = &fake_class;
    rig_run_with(&options, root);
}

static int
send_sized(struct robot *self, struct rgm_address to, size_t trailing_bytes)
{
    struct note *note = note_take(&self->actor, trailing_bytes);
    int status = rgm_send(self, to, note);

    if (status != 0)
        note_give(&self->actor, note);
    return status;
}

static void
stop_runtime(struct robot *self)
{
    rgm_runtime_stop(self->actor.worker->runtime);
}

/* Fill the lane; returns how many passed. */
static long
fill(struct robot *self, size_t trailing_bytes)
{
    long passed = 0;
    int status;

    while ((status = send_sized(self, case_of(self)->other, trailing_bytes)) ==
           0)
        passed++;
    rgi_check(status == -EAGAIN);
    rgi_check(send_sized(self, case_of(self)->other, trailing_bytes) ==
              -EAGAIN);
    return passed;
}

static void
count_note(struct robot *self, struct note *note)
{
    (void)note;
    case_of(self)->handled++;
}

static void
spawn_counter(struct robot *self, uint32_t worker)
{
    static struct script counter;

    counter = (struct script){.note = count_note, .test = test_of(self)};
    case_of(self)->other = robot_spawn_on(self, worker, &counter);
}

/* Three times: fill it, and when all is home, fill it again. */
static void
fill_thrice(struct robot *self)
{
    struct lane_case *test = case_of(self);

    if (self->number == 0)
        spawn_counter(self, 1);
    if (self->actor.worker->lanes[2].count == 0) {
        long passed;

        rgi_check(test->handled == self->number * test->passed);
        if (self->number == 3) {
            rgm_stop(self);
            return;
        }
        passed = fill(self, test->trailing_bytes);
        rgi_check(self->number == 0 || passed == test->passed);
        test->passed = passed;
        self->number++;
    }
    /* stay awake, by another lane than the one under test */
    rgi_check(robot_send(self, rgm_self(self), 0) != -ESRCH);
}

static void
wake_for_settled(struct robot *self, struct note *note)
{
    (void)self;
    (void)note;
}

static long
passed_with(const struct rgm_runtime_options *limits, size_t trailing_bytes)
{
    static struct lane_case test;
    struct script root = {.started = fill_thrice,
                          .note = wake_for_settled,
                          .settled = fill_thrice,
                          .test = &test};

    memset(&test, 0, sizeof(test));
    test.trailing_bytes = trailing_bytes;
    run(limits, &root);
    rgi_check(test.handled == 3 * test.passed);
    return test.passed;
}

/* Refused at once, never blocking, and only until something is home. */
static void
field_b25_a_full_lane_refuses_by_count(void)
{
    struct rgm_runtime_options limits = {.workers = 2, .lane_messages = 8};

    rgi_check(passed_with(&limits, 0) == 8);
    limits.lane_messages = 1;
    rgi_check(passed_with(&limits, 0) == 1);
}

static void
field_b23_a_full_lane_refuses_by_bytes(void)
{
    struct rgm_runtime_options limits = {.workers = 2, .lane_bytes = 10000};

    rgi_check(passed_with(&limits, 1000) ==
              10000 / (1000 + (long)sizeof(struct note)));
    limits.lane_bytes = 0; /* the default, and messages of 1 MiB */
    rgi_check(passed_with(&limits, 1 << 20) == 3);
}

static void
a_message_larger_than_the_limit_passes_alone(void)
{
    struct rgm_runtime_options limits = {.workers = 2, .lane_bytes = 1000};

    rgi_check(passed_with(&limits, 5000) == 1);
}

/* ------------------------------------------------------------------ waiters */

RGM_ANSWER(robot, question, on_turn);

static void
on_turn(struct robot *self, struct question *question)
{
    struct lane_case *test = case_of(self);

    rgi_check(rgm_status(question) == 0);
    rgi_check(question->value == test->answered);
    if (++test->answered == MANY)
        rgm_stop(self);
}

static void
in_turn(struct robot *self, struct question *question)
{
    rgi_check(question->value == case_of(self)->handled++);
    rgm_reply(self, question, 0);
}

static void
ask_many(struct robot *self)
{
    static struct script other;
    struct lane_case *test = case_of(self);
    struct question extra;

    other = (struct script){.question = in_turn, .test = test};
    test->other = robot_spawn_on(self, 1, &other);
    for (long i = 0; i < MANY; i++) {
        question_prepare(&test->questions[i], test->other);
        test->questions[i].value = i;
        /* one in three as large as the whole limit */
        if (i % 3 == 2)
            test->questions[i].request.message.charged_bytes = 4000;
        rgm_ask(self, &test->questions[i], RGM_REPLY(robot, question, on_turn));
    }
    question_prepare(&extra, test->other);
    rgi_check(rgm_try_ask(self, &extra, RGM_REPLY(robot, question, on_turn)) ==
              -EAGAIN);
    rgi_check(send_sized(self, test->other, 0) == -EAGAIN);
}

/* A small one behind a large one waits, else the large one might for ever. */
static void
those_who_wait_go_first_in_first_out(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {
        .workers = 2, .lane_messages = 5, .lane_bytes = 4000};
    struct script root = {.started = ask_many, .test = &test};

    memset(&test, 0, sizeof(test));
    run(&limits, &root);
    rgi_check(test.answered == MANY && test.handled == MANY);
}

static void
who_is_larger_than_the_limit_waits_and_goes_alone(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 2, .lane_bytes = 100};
    struct script root = {.started = ask_many, .test = &test};

    memset(&test, 0, sizeof(test));
    run(&limits, &root);
    rgi_check(test.answered == MANY && test.handled == MANY);
}

/* Somebody waits although there is room for a small message. */
static void
ask_large_and_try_small(struct robot *self)
{
    static struct script other;
    struct lane_case *test = case_of(self);

    other = (struct script){.question = in_turn, .test = test};
    test->other = robot_spawn_on(self, 1, &other);
    for (long i = 0; i < 2; i++) {
        question_prepare(&test->questions[i], test->other);
        test->questions[i].value = i;
        test->questions[i].request.message.charged_bytes = 3000;
        rgm_ask(self, &test->questions[i], RGM_REPLY(robot, question, on_turn));
    }
    rgi_check(self->actor.worker->counters.lane_waits == 1);
    rgi_check(send_sized(self, test->other, 0) == -EAGAIN);
    test->answered = 0;
}

static void
stop_after_two(struct robot *self)
{
    if (case_of(self)->answered == 2)
        rgm_stop(self);
}

static void
nobody_is_let_past_those_who_wait(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 2, .lane_bytes = 4000};
    struct script root = {.started = ask_large_and_try_small,
                          .settled = stop_after_two,
                          .test = &test};

    memset(&test, 0, sizeof(test));
    run(&limits, &root);
    rgi_check(test.handled == 2);
}

/* --------------------------------------------------------------- late lanes */

struct waiter {
    struct rgm_actor actor;
    struct lane_case *test;
};

RGM_HANDLER(waiter, late_question, waiter_keep);
RGM_HANDLER(waiter, question, waiter_reply);
RGM_FACTORY(waiter, lane_case, waiter_make);

static const struct rgm_handler waiter_handlers[] = {
    RGM_ON(waiter, late_question, waiter_keep),
    RGM_ON(waiter, question, waiter_reply),
};

static const struct rgm_behaviour waiter_behaviour = {
    .name = "waiter",
    .size_bytes = sizeof(struct waiter),
    RGM_HANDLERS(waiter_handlers),
    .factory = RGM_MAKE(waiter, waiter_make),
};

static int
waiter_make(struct waiter *self, const struct lane_case *test)
{
    self->test = (struct lane_case *)(uintptr_t)test;
    return 0;
}

static void
waiter_keep(struct waiter *self, struct late_question *question)
{
    rgi_check(
        rgm_keep(self, question, &self->test->tokens[self->test->kept++]) == 0);
}

/* An ordinary question tells it to answer the late ones. */
static void
waiter_reply(struct waiter *self, struct question *question)
{
    rgi_check(self->test->kept == question->value);
    while (self->test->kept > 0)
        rgi_check(rgm_answer(self, self->test->tokens[--self->test->kept], 0) ==
                  0);
    rgm_reply(self, question, 0);
}

RGM_ANSWER(robot, late_question, on_late);
RGM_ANSWER(robot, question, on_ordinary);

static void
on_late(struct robot *self, struct late_question *question)
{
    rgi_check(rgm_status(question) == 0);
    if (++case_of(self)->answered == 5)
        rgm_stop(self);
}

static void
on_ordinary(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    if (++case_of(self)->answered == 5)
        rgm_stop(self);
}

static void
fill_late_lane(struct robot *self)
{
    struct lane_case *test = case_of(self);

    rgi_check(rgm_spawn_on(self, 1, &waiter_behaviour, test, &test->other) ==
              0);
    for (unsigned i = 0; i < 5; i++)
        late_question_prepare(&test->late[i], test->other);
    for (unsigned i = 0; i < 4; i++)
        rgi_check(rgm_try_ask(self, &test->late[i],
                              RGM_REPLY(robot, late_question, on_late)) == 0);
    rgi_check(rgm_try_ask(self, &test->late[4],
                          RGM_REPLY(robot, late_question, on_late)) == -EAGAIN);
    question_prepare(&self->question, test->other);
    self->question.value = 4;
    rgi_check(rgm_try_ask(self, &self->question,
                          RGM_REPLY(robot, question, on_ordinary)) == 0);
}

static void
what_is_answered_late_has_a_lane_of_its_own(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 2, .lane_messages = 4};
    struct script root = {.started = fill_late_lane, .test = &test};

    memset(&test, 0, sizeof(test));
    run(&limits, &root);
    rgi_check(test.answered == 5 && test.kept == 0);
}

/* ------------------------------------------------------------------ forward */

static void
pass_on(struct robot *self, struct question *question)
{
    struct rgm_worker *worker = self->actor.worker;

    rgi_check(rgm_forward(self, question, case_of(self)->third) == 0);
    for (unsigned i = 0; i < 2 * worker->workers_count; i++)
        rgi_check(worker->lanes[i].count == 0);
}

static void
look_at_lane_and_reply(struct robot *self, struct question *question)
{
    /* the asker lives here: charged until it is home */
    rgi_check(self->actor.worker->lanes[2].count > 0);
    rgm_reply(self, question, 0);
}

RGM_ANSWER(robot, question, on_forwarded);

static void
on_forwarded(struct robot *self, struct question *question)
{
    struct lane_case *test = case_of(self);

    rgi_check(rgm_status(question) == 0);
    if (++test->answered < MANY)
        return;
    rgi_check(self->actor.worker->lanes[2].count == 0);
    rgi_check(self->actor.worker->lanes[2].bytes == 0);
    rgm_stop(self);
}

static void
ask_through_other(struct robot *self)
{
    static struct script forwarder, last;
    struct lane_case *test = case_of(self);

    last = (struct script){.question = look_at_lane_and_reply, .test = test};
    forwarder = (struct script){.question = pass_on, .test = test};
    test->third = robot_spawn(self, &last);
    test->other = robot_spawn_on(self, 1, &forwarder);
    for (unsigned i = 0; i < MANY; i++) {
        question_prepare(&test->questions[i], test->other);
        rgm_ask(self, &test->questions[i],
                RGM_REPLY(robot, question, on_forwarded));
    }
}

static void
a_forward_is_charged_nothing_and_credited_once(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 2, .lane_messages = 3};
    struct script root = {.started = ask_through_other, .test = &test};

    memset(&test, 0, sizeof(test));
    run(&limits, &root);
    rgi_check(test.answered == MANY);
}

static void
stop_at_four(struct robot *self, struct note *note)
{
    (void)note;
    if (++case_of(self)->handled == 4)
        stop_runtime(self);
}

static void
broadcast_too_many(struct robot *self)
{
    static struct script counter;
    struct lane_case *test = case_of(self);
    struct rgm_address addresses[5];
    struct rgm_message *messages[5];

    counter = (struct script){.note = stop_at_four, .test = test};
    test->other = robot_spawn(self, &counter);
    for (unsigned i = 0; i < 5; i++) {
        addresses[i] = test->other;
        messages[i] = &note_take(&self->actor, 0)->message;
    }
    rgi_check(rgm_broadcast_messages(&self->actor, addresses, messages, 5) ==
              -EAGAIN);
    rgi_check(self->actor.worker->lanes[0].count == 0);
    rgi_check(self->actor.worker->lanes[0].bytes == 0);
    rgi_check(rgm_broadcast_messages(&self->actor, addresses, messages, 4) ==
              0);
    rgi_check(self->actor.worker->lanes[0].count == 4);
    note_give(&self->actor, (struct note *)(void *)messages[4]);
}

static void
a_broadcast_is_charged_to_all_or_to_none(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 1, .lane_messages = 4};
    struct script root = {.started = broadcast_too_many, .test = &test};

    memset(&test, 0, sizeof(test));
    run(&limits, &root);
    rgi_check(test.handled == 4);
}

/* ------------------------------------------------------- faults of the field */

/* 128 questions wait for what only the asker can give, over a full lane. The
 * lane says so at once, and what relieves it is charged to no lane. */
RGM_ANSWER(robot, question, on_relief);

static void
on_relief(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    if (++case_of(self)->answered == MANY)
        stop_runtime(self);
}

static void
give_token(struct robot *self, struct question *question)
{
    struct lane_case *test = case_of(self);

    rgi_check(send_sized(self, test->other, 0) == -EAGAIN);
    question->value = 42;
    rgm_reply(self, question, 0);
}

RGM_ANSWER(robot, question, on_token);

static void
on_token(struct robot *self, struct question *question)
{
    struct lane_case *test = case_of(self);

    rgi_check(rgm_status(question) == 0 && question->value == 42);
    while (test->kept > 0)
        rgi_check(rgm_answer(self, test->tokens[--test->kept], 0) == 0);
}

static void
wait_for_token(struct robot *self, struct question *question)
{
    struct lane_case *test = case_of(self);

    rgi_check(rgm_keep(self, question, &test->tokens[test->kept++]) == 0);
    if (test->kept < MANY)
        return;
    question_prepare(&self->question, test->third);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_token));
}

static void
ask_all_for_token(struct robot *self)
{
    static struct script other;
    struct lane_case *test = case_of(self);

    other = (struct script){.question = wait_for_token, .test = test};
    test->third = rgm_self(self);
    test->other = robot_spawn_on(self, 1, &other);
    for (unsigned i = 0; i < MANY; i++) {
        question_prepare(&test->questions[i], test->other);
        rgm_ask(self, &test->questions[i],
                RGM_REPLY(robot, question, on_relief));
    }
    rgi_check(send_sized(self, test->other, 0) == -EAGAIN);
}

static void
field_b17_a_full_lane_does_not_lock_what_empties_it(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 2, .lane_messages = MANY};
    struct script root = {
        .started = ask_all_for_token, .question = give_token, .test = &test};

    memset(&test, 0, sizeof(test));
    run(&limits, &root);
    rgi_check(test.answered == MANY);
}

/* One worker stands still in a handler. Senders are refused, memory does not
 * grow, and they go on with everything else, the gate included. */
static void
stand_still(struct robot *self, struct note *note)
{
    struct lane_case *test = case_of(self);

    (void)note;
    if (test->handled++ == 0)
        while (sem_wait(&test->gate) != 0)
            ;
}

static void
open_the_gate(struct robot *self, struct note *note)
{
    (void)note;
    sem_post(&case_of(self)->gate);
    stop_runtime(self);
}

static void
flood(struct robot *self)
{
    static struct script still;
    struct lane_case *test = case_of(self);
    uint64_t tries = rgi_scale(1000000);
    size_t blocks;

    still = (struct script){.note = stand_still, .test = test};
    test->other = robot_spawn_on(self, 1, &still);
    test->passed = fill(self, 0);
    blocks = rgi_memory_live();
    for (uint64_t i = 0; i < tries; i++)
        rgi_check(send_sized(self, test->other, 0) == -EAGAIN);
    rgi_check(rgi_memory_live() == blocks);
    rgi_check(self->actor.worker->counters.refused >= tries);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
field_b22_a_slow_consumer_costs_bounded_memory(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 2};
    struct script root = {
        .started = flood, .note = open_the_gate, .test = &test};

    memset(&test, 0, sizeof(test));
    sem_init(&test.gate, 0, 0);
    run(&limits, &root);
    rgi_check(test.passed == 4096);
    sem_destroy(&test.gate);
}

/* The one who is refused is also the one who can relieve: it keeps running. */
static void
field_b19_only_the_offending_send_is_refused(void)
{
    static struct lane_case test;
    struct rgm_runtime_options limits = {.workers = 2, .lane_messages = 16};
    struct script root = {
        .started = flood, .note = open_the_gate, .test = &test};

    memset(&test, 0, sizeof(test));
    sem_init(&test.gate, 0, 0);
    run(&limits, &root);
    rgi_check(test.passed == 16);
    sem_destroy(&test.gate);
}

#define CASES(X)                                                               \
    X(lane, field_b25_a_full_lane_refuses_by_count)                            \
    X(lane, field_b23_a_full_lane_refuses_by_bytes)                            \
    X(lane, a_message_larger_than_the_limit_passes_alone)                      \
    X(lane, those_who_wait_go_first_in_first_out)                              \
    X(lane, who_is_larger_than_the_limit_waits_and_goes_alone)                 \
    X(lane, nobody_is_let_past_those_who_wait)                                 \
    X(lane, what_is_answered_late_has_a_lane_of_its_own)                       \
    X(lane, a_forward_is_charged_nothing_and_credited_once)                    \
    X(lane, a_broadcast_is_charged_to_all_or_to_none)                          \
    X(lane, field_b17_a_full_lane_does_not_lock_what_empties_it)               \
    X(lane, field_b19_only_the_offending_send_is_refused)                      \
    X(lane, field_b22_a_slow_consumer_costs_bounded_memory)

RGI_CASES(CASES)
