/* SPDX-License-Identifier: MIT */

/*
 * cancel_test.c - does a cancel reach its request wherever that is, and does
 * the answer wait for both to be home?
 *
 * The races are written down: a handler that spins on a flag holds its worker
 * at a known point while the other one moves. Nothing else is waited for.
 */

#include <sched.h>
#include <stdatomic.h>

#include "actors/rig.h"


/* How far a play has got; both sides wait for it. */
struct play {
    struct script asked, other;
    struct rgm_address to, next;
    atomic_uint stage;
    atomic_uint handled, withdrawn;
    unsigned answers;
    int status;
    uint32_t withdrawn_on;
    bool keep; /* by the second asked */
};

static void
reach(struct play *play, unsigned stage)
{
    atomic_store(&play->stage, stage);
}

static void
await(struct play *play, unsigned stage)
{
    while (atomic_load(&play->stage) < stage)
        sched_yield();
}

RGM_ANSWER(robot, question, on_answer);

/* Both parts are home, and nothing is out any more. */
static void
on_answer(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    play->answers++;
    play->status = rgm_status(question);
    rgi_check(question->request.life == RGI_REQUEST_HOME);
    rgi_check(self->actor.out_count == 0);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
ask_the_actor(struct robot *self, struct play *play)
{
    question_prepare(&self->question, play->to);
    self->question.about = play;
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_answer));
}

static void
count_withdrawn(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    play->withdrawn_on = rgm_worker_number(&self->actor);
    rgi_check(rgi_current == self->actor.worker);
    rgi_check(RGM_KEPT(self, self->token, question) == NULL);
    rgi_check(rgm_answer(self, self->token, 0) == -EALREADY);
    atomic_fetch_add(&play->withdrawn, 1);
}

static void
keep_and_tell(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    atomic_fetch_add(&play->handled, 1);
    rgi_check(rgm_keep(self, question, &self->token) == 0);
    reach(play, 1);
}

static struct play *
play_begin(struct play *play)
{
    memset(play, 0, sizeof(*play));
    play->status = 1;
    return play;
}

static void
play_run(struct play *play, uint32_t workers,
         void (*started)(struct robot *self))
{
    struct script root = {.started = started, .test = play};

    rig_run(workers, &root);
    rgi_check(play->answers == 1);
}

/* ---------------------------------------------------------------- kept there */

static void
cancel_the_kept(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){
        .question = keep_and_tell, .withdrawn = count_withdrawn, .test = play};
    play->to = robot_spawn_on(self, rgm_workers_count(&self->actor) - 1,
                              &play->asked);
    ask_the_actor(self, play);
    rgm_flush(self);
    if (rgm_workers_count(&self->actor) > 1)
        await(play, 1);
    rgm_cancel(self, &self->question);
    rgm_cancel(self, &self->question); /* the first reason stands */
    rgi_check(play->answers == 0);
}

static void
mbx_09_a_cancel_withdraws_a_kept_request_on_its_keepers_worker(void)
{
    struct play play;

    play_run(play_begin(&play), 2, cancel_the_kept);
    rgi_check(play.status == -ECANCELED);
    rgi_check(play.handled == 1 && play.withdrawn == 1);
    rgi_check(play.withdrawn_on == 1);
}

static void
cancel_the_kept_next_time(struct robot *self, struct note *note)
{
    (void)note;
    rgm_cancel(self, &self->question);
}

static void
ask_here_and_go_on(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){
        .question = keep_and_tell, .withdrawn = count_withdrawn, .test = play};
    play->to = robot_spawn(self, &play->asked);
    ask_the_actor(self, play);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
a_request_kept_on_the_own_worker_needs_no_node(void)
{
    struct play play;
    struct script root = {.started = ask_here_and_go_on,
                          .note = cancel_the_kept_next_time,
                          .test = play_begin(&play)};

    rig_run(1, &root);
    rgi_check(play.answers == 1 && play.status == -ECANCELED);
    rgi_check(play.withdrawn == 1 && play.withdrawn_on == 0);
}

/* ----------------------------------------------------------- not handled yet */

static void
a_request_in_a_line_here_goes_home_unhandled(void)
{
    struct play play;

    play_run(play_begin(&play), 1, cancel_the_kept);
    rgi_check(play.status == -ECANCELED);
    rgi_check(play.handled == 0 && play.withdrawn == 0);
}

static void
cancel_before_the_flush(struct robot *self)
{
    struct play *play = test_of(self);
    struct rgm_worker *worker = self->actor.worker;
    uint64_t dirty;

    play->asked = (struct script){.question = keep_and_tell, .test = play};
    play->to = robot_spawn_on(self, 1, &play->asked);
    rgm_flush(self);
    dirty = worker->dirty;
    rgi_check(dirty == 0);
    ask_the_actor(self, play);
    rgi_check(worker->dirty != 0);
    rgm_cancel(self, &self->question);
    rgi_check(worker->dirty == 0 && worker->outboxes[1].count == 0);
    rgi_check(self->question.request.life != RGI_REQUEST_CHASED);
}

static void
one_that_is_not_flushed_never_leaves(void)
{
    struct play play;

    play_run(play_begin(&play), 2, cancel_before_the_flush);
    rgi_check(play.status == -ECANCELED && play.handled == 0);
}

/* Held in a handler, the actor's worker takes request and node together. */
static void
hold_the_worker(struct robot *self, struct note *note)
{
    struct play *play = note->about;

    (void)self;
    reach(play, 1);
    await(play, 2);
}

static void
cancel_what_is_in_the_inbox(struct robot *self)
{
    struct play *play = test_of(self);
    struct note *note = note_take(&self->actor, 0);

    play->asked = (struct script){
        .note = hold_the_worker, .question = keep_and_tell, .test = play};
    play->to = robot_spawn_on(self, 1, &play->asked);
    note->about = play;
    rgi_check(rgm_send(self, play->to, note) == 0);
    rgm_flush(self);
    await(play, 1);
    ask_the_actor(self, play);
    rgm_flush(self);
    rgm_cancel(self, &self->question);
    rgi_check(self->question.request.life == RGI_REQUEST_CHASED);
    rgm_flush(self);
    reach(play, 2);
}

static void
a_cancel_that_arrives_with_its_request_is_first(void)
{
    struct play play;

    play_begin(&play);
    {
        struct script root = {.started = cancel_what_is_in_the_inbox,
                              .test = &play};

        rig_run(2, &root);
    }
    rgi_check(play.status == -ECANCELED && play.handled == 0);
}

/* ------------------------------------------------------- two-part home-coming */

/* Kept; answered when the asker says so, with no message of his. */
static void
keep_and_poll(struct robot *self, struct question *question)
{
    keep_and_tell(self, question);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
answer_when_told(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    if (atomic_load(&play->stage) < 2) {
        (void)robot_send(self, rgm_self(self), 0);
        return;
    }
    rgi_check(rgm_answer(self, self->token, 0) == 0);
    rgm_flush(self);
    reach(play, 3);
    await(play, 4);
}

/* The answer is in our inbox before the node leaves; and the node is held up
 * until we have sorted the answer. */
static void
let_the_answer_win(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){
        .question = keep_and_poll, .note = answer_when_told, .test = play};
    play->to = robot_spawn_on(self, 1, &play->asked);
    ask_the_actor(self, play);
    rgm_flush(self);
    await(play, 1);
    rgm_cancel(self, &self->question);
    rgi_check(self->question.request.life == RGI_REQUEST_CHASED);
    reach(play, 2);
    await(play, 3);
    rgi_check(rgi_inbox_has_mail(self->actor.worker->inbox));
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
see_it_wait(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    rgi_check(play->answers == 0);
    rgi_check(self->question.request.life == RGI_REQUEST_AWAITING);
    reach(play, 4);
}

static void
can_15_an_answer_beats_a_cancel_and_waits_for_its_node(void)
{
    struct play play;
    struct script root = {.started = let_the_answer_win,
                          .note = see_it_wait,
                          .test = play_begin(&play)};

    rig_run(2, &root);
    rgi_check(play.answers == 1 && play.status == 0);
    rgi_check(play.withdrawn == 0);
}

/* ------------------------------------------------------------------- forwards */

static void
forward_when_told(struct robot *self, struct note *note)
{
    struct play *play = test_of(self);

    (void)note;
    if (atomic_load(&play->stage) < 2) {
        (void)robot_send(self, rgm_self(self), 0);
        return;
    }
    rgi_check(rgm_forward_kept(self, self->token, play->next) == 0);
    rgm_flush(self);
}

static void
keep_for_good(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    rgi_check(rgm_keep(self, question, &self->token) == 0);
    reach(play, 4);
}

/* The node is for worker 1; by the time it leaves, worker 2 has the request. */
static void
cancel_and_see_it_forwarded(struct robot *self)
{
    struct play *play = test_of(self);

    play->other = (struct script){
        .question = keep_for_good, .withdrawn = count_withdrawn, .test = play};
    play->asked = (struct script){
        .question = keep_and_poll, .note = forward_when_told, .test = play};
    play->next = robot_spawn_on(self, 2, &play->other);
    play->to = robot_spawn_on(self, 1, &play->asked);
    ask_the_actor(self, play);
    rgm_flush(self);
    await(play, 1);
    rgm_cancel(self, &self->question);
    reach(play, 2);
    await(play, 4);
}

static void
a_cancel_follows_its_request_through_a_forward(void)
{
    struct play play;

    play_run(play_begin(&play), 3, cancel_and_see_it_forwarded);
    rgi_check(play.status == -ECANCELED);
    rgi_check(play.withdrawn == 1 && play.withdrawn_on == 2);
}

/* Marked while it is being handled: by its own asker, who asks himself. */
static void
cancel_in_the_handler(struct robot *self, struct question *question)
{
    struct play *play = question->about;

    rgm_cancel(self, question);
    rgi_check(rgm_keep(self, question, &self->token) == -ECANCELED);
    if (play->keep)
        rgi_check(rgm_forward(self, question, rgm_self(self)) == 0);
}

static void
ask_oneself(struct robot *self)
{
    struct play *play = test_of(self);

    play->to = rgm_self(self);
    ask_the_actor(self, play);
}

static void
what_is_cancelled_while_it_is_handled_is_not_kept_nor_forwarded(void)
{
    for (int forwards = 0; forwards < 2; forwards++) {
        struct play play;
        struct script root = {.started = ask_oneself,
                              .question = cancel_in_the_handler,
                              .test = play_begin(&play)};

        play.keep = forwards;
        rig_run(1, &root);
        rgi_check(play.answers == 1 && play.status == -ECANCELED);
    }
}

/* ------------------------------------------------------------------ in a line */

#define LINE 5

struct line {
    struct question questions[LINE];
    struct script keeper;
    unsigned answers;
    int status[LINE];
};

RGM_ANSWER(robot, question, line_answer);

static void
line_answer(struct robot *self, struct question *question)
{
    struct line *line = test_of(self);

    line->status[question - line->questions] = rgm_status(question);
    if (++line->answers < LINE)
        return;
    rgm_stop(self);
}

static void
line_reply(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

/* The lane holds one; two of those in line are cancelled. */
static void
line_started(struct robot *self)
{
    struct line *line = test_of(self);
    struct rgm_address to;

    line->keeper = (struct script){.question = line_reply};
    to = robot_spawn_on(self, 1, &line->keeper);
    for (int i = 0; i < LINE; i++) {
        question_prepare(&line->questions[i], to);
        rgm_ask(self, &line->questions[i],
                RGM_REPLY(robot, question, line_answer));
    }
    for (int i = 1; i < LINE; i++)
        rgi_check(line->questions[i].request.life == RGI_REQUEST_WAITING);
    rgm_cancel(self, &line->questions[1]);
    rgm_cancel(self, &line->questions[LINE - 1]);
    rgi_check(line->questions[1].request.life != RGI_REQUEST_WAITING);
    rgi_check(line->questions[2].request.life == RGI_REQUEST_WAITING);
    rgi_check(line->questions[LINE - 1].request.life != RGI_REQUEST_WAITING);
}

static void
opl_02_a_cancel_takes_a_request_out_of_its_line(void)
{
    struct line line = {.answers = 0};
    struct script root = {.started = line_started, .test = &line};
    struct rgm_runtime_options options = {
        .workers = 2, .provider = &fake_class, .lane_messages = 1};

    fake_reset();
    rig_run_with(&options, &root);
    rgi_check(line.answers == LINE);
    for (int i = 0; i < LINE; i++)
        rgi_check(line.status[i] ==
                  (i == 1 || i == LINE - 1 ? -ECANCELED : 0));
}

/* ------------------------------------------------------------- a slot to come */

/* A number that is lent, and that nobody has spawned into. */
static void
ask_a_lent_slot(struct robot *self)
{
    struct play *play = test_of(self);
    struct rgi_loan *loan = &self->actor.worker->loans[1];

    rgi_check(loan->held_count > 0);
    play->to = loan->held[0];
    ask_the_actor(self, play);
    rgm_flush(self);
    play->asked = (struct script){.note = hold_the_worker, .test = play};
    play->next = robot_spawn_on(self, 1, &play->asked);
    {
        struct note *note = note_take(&self->actor, 0);

        note->about = play;
        rgi_check(rgm_send(self, play->next, note) == 0);
    }
    rgm_flush(self);
    await(play, 1); /* it is behind our question, which waits now */
    rgm_cancel(self, &self->question);
    reach(play, 2);
}

static void
a_request_that_waits_for_a_spawn_is_taken_back(void)
{
    struct play play;

    play_run(play_begin(&play), 2, ask_a_lent_slot);
    rgi_check(play.status == -ECANCELED);
}

/* ----------------------------------------------------- operations elsewhere */

RGM_ANSWER(robot, rgm_listen, on_listen);

static void
on_listen(struct robot *self, struct rgm_listen *listen)
{
    struct play *play = test_of(self);

    play->answers++;
    play->status = rgm_status(listen);
    rgm_stop(self);
}

static struct play *watched;

static void
see_the_operation(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if (fake->worker == 1 && fake->head.in_flight > 0 &&
        atomic_load(&watched->stage) == 0)
        reach(watched, 1);
    if (fake->worker == 1 && fake->cancels > 0 && fake_plan.deaf)
        (void)fake_complete_first(fake, 0);
}

static void
cancel_the_operation(struct robot *self)
{
    struct play *play = test_of(self);

    fake_prepare(&self->listen, &self->listener, rgm_worker_address(1));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_listen));
    rgm_flush(self);
    await(play, 1);
    rgm_cancel(self, &self->listen);
}

static void
run_operation(struct play *play, bool deaf)
{
    struct script root = {.started = cancel_the_operation,
                          .test = play_begin(play)};
    struct rgm_runtime_options options = {.workers = 2,
                                          .provider = &fake_class};

    fake_reset();
    watched = play;
    fake_plan.deaf = deaf;
    fake_plan.on_wait = see_the_operation;
    rig_run_with(&options, &root);
    rgi_check(play->answers == 1);
}

static void
can_17_an_operation_at_another_worker_is_told_by_message(void)
{
    struct play play;

    run_operation(&play, false);
    rgi_check(play.status == -ECANCELED);
}

static void
can_15_what_an_operation_elsewhere_achieved_beats_its_cancel(void)
{
    struct play play;

    run_operation(&play, true);
    rgi_check(play.status == 0);
}

/* ----------------------------------------------------------------- at home */

RGM_ANSWER(robot, question, cancel_and_ask_again);

/* Home: nothing happens to it, nor to the next ask of the same record. */
static void
cancel_and_ask_again(struct robot *self, struct question *question)
{
    struct play *play = test_of(self);

    rgi_check(rgm_status(question) == 0);
    rgm_cancel(self, question);
    rgi_check(question->request.life == RGI_REQUEST_HOME);
    if (++play->answers == 3) {
        rgm_stop(self);
        return;
    }
    rgm_ask(self, question, RGM_REPLY(robot, question, cancel_and_ask_again));
}

static void
ask_three_times(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){.question = line_reply, .test = play};
    question_prepare(
        &self->question,
        robot_spawn_on(self, rgm_workers_count(&self->actor) - 1,
                       &play->asked));
    rgm_cancel(self, &self->question);
    rgm_ask(self, &self->question,
            RGM_REPLY(robot, question, cancel_and_ask_again));
}

static void
field_b41_a_late_cancel_does_not_reach_the_next_ask(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct play play;
        struct script root = {.started = ask_three_times,
                              .test = play_begin(&play)};

        rig_run(workers, &root);
        rgi_check(play.answers == 3);
    }
}

/* ------------------------------------------------------------ without memory */

static void
cancel_without_memory(struct robot *self)
{
    struct play *play = test_of(self);

    play->asked = (struct script){
        .question = keep_and_tell, .withdrawn = count_withdrawn, .test = play};
    play->to = robot_spawn_on(self, 1, &play->asked);
    ask_the_actor(self, play);
    rgm_flush(self);
    await(play, 1);
    rgi_memory_fail_nth(1);
    rgm_cancel(self, &self->question);
}

/* Not one allocation is tried between the cancel and the end of the stop. */
static void
mbx_10_a_cancel_and_a_stop_need_no_memory(void)
{
    struct play play;
    struct script root = {.started = cancel_without_memory,
                          .test = play_begin(&play)};
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(!rgi_memory_fail_off());
    rgi_check(play.answers == 1 && play.status == -ECANCELED);
    rig_destroy(runtime);
}

/* --------------------------------------------------------------- who stops */

struct leaver {
    struct play play;
    struct question questions[3];
    unsigned home, stopped;
};

RGM_ANSWER(robot, question, leaver_answer);

static void
leaver_answer(struct robot *self, struct question *question)
{
    struct leaver *leaver = test_of(self);

    rgi_check(rgm_status(question) == -ECANCELED);
    rgi_check(self->actor.life == RGI_LIFE_STOPPING);
    leaver->home++;
}

static void
leaver_stopped(struct robot *self)
{
    struct leaver *leaver = test_of(self);

    rgi_check(leaver->home == 3);
    leaver->stopped++;
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
keep_all(struct robot *self, struct question *question)
{
    struct rgm_token token;
    struct leaver *leaver = question->about;

    rgi_check(rgm_keep(self, question, &token) == 0);
    atomic_fetch_add(&leaver->play.stage, 1);
}

static void
leaver_started(struct robot *self)
{
    struct leaver *leaver = test_of(self);
    struct rgm_address to;

    leaver->play.asked = (struct script){.question = keep_all};
    to = robot_spawn_on(self, 1, &leaver->play.asked);
    for (int i = 0; i < 3; i++) {
        question_prepare(&leaver->questions[i], to);
        leaver->questions[i].about = leaver;
        rgm_ask(self, &leaver->questions[i],
                RGM_REPLY(robot, question, leaver_answer));
    }
    rgm_flush(self);
    await(&leaver->play, 3);
    rgm_stop(self);
}

/* Nobody would ever have answered them. */
static void
who_stops_cancels_what_others_keep_of_his(void)
{
    struct leaver leaver = {.home = 0};
    struct script root = {.started = leaver_started,
                          .stopped = leaver_stopped,
                          .test = &leaver};

    rig_run(2, &root);
    rgi_check(leaver.stopped == 1);
}

/* -------------------------------------------------------------------- guests */

static void
guest_done(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

static void
a_guest_cancels_what_an_actor_keeps(void)
{
    struct play play;
    struct rgm_runtime *runtime;
    struct question question;
    struct rgm_guest guest;

    fake_reset();
    play_begin(&play);
    play.asked = (struct script){
        .question = keep_and_tell, .withdrawn = count_withdrawn, .test = &play};
    runtime = rig_make(2);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 1, &robot_behaviour, &play.asked,
                                &play.to) == 0);
    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    question_prepare(&question, play.to);
    question.about = &play;
    rgm_ask_request(&guest.actor, &question.request, guest_done);
    await(&play, 1);
    rgm_cancel(&guest, &question);
    rgi_check(rgm_guest_wait(&guest) == 1);
    rgi_check(rgm_status(&question) == -ECANCELED);
    rgi_check(play.withdrawn == 1 && play.withdrawn_on == 1);
    rgm_guest_close(&guest);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

#define CASES(X)                                                               \
    X(cancel, mbx_09_a_cancel_withdraws_a_kept_request_on_its_keepers_worker)  \
    X(cancel, a_request_kept_on_the_own_worker_needs_no_node)                  \
    X(cancel, a_request_in_a_line_here_goes_home_unhandled)                    \
    X(cancel, one_that_is_not_flushed_never_leaves)                            \
    X(cancel, a_cancel_that_arrives_with_its_request_is_first)                 \
    X(cancel, can_15_an_answer_beats_a_cancel_and_waits_for_its_node)          \
    X(cancel, a_cancel_follows_its_request_through_a_forward)                  \
    X(cancel, what_is_cancelled_while_it_is_handled_is_not_kept_nor_forwarded) \
    X(cancel, opl_02_a_cancel_takes_a_request_out_of_its_line)                 \
    X(cancel, a_request_that_waits_for_a_spawn_is_taken_back)                  \
    X(cancel, can_17_an_operation_at_another_worker_is_told_by_message)        \
    X(cancel, can_15_what_an_operation_elsewhere_achieved_beats_its_cancel)    \
    X(cancel, field_b41_a_late_cancel_does_not_reach_the_next_ask)             \
    X(cancel, mbx_10_a_cancel_and_a_stop_need_no_memory)                       \
    X(cancel, who_stops_cancels_what_others_keep_of_his)                       \
    X(cancel, a_guest_cancels_what_an_actor_keeps)

RGI_CASES(CASES)
