/* SPDX-License-Identifier: MIT */

/*
 * message_test.c - does every message come home once, and with what?
 *
 * Actors of one worker, and of two where the road between workers is the
 * point. Each case plays in the root's `started` and ends when the root stops.
 */

#include "actors/rig.h"

/* Types no robot has a handler for. */
struct strange {
    struct rgm_message message;
};
RGM_MESSAGE(strange);

struct riddle {
    struct rgm_request request;
};
RGM_REQUEST(riddle);

/* A note whose way home is watched. */
struct slip {
    struct rgm_message message;
    int *home_status;
    unsigned *home_count;
    int again; /* times it is to be sent again */
    struct robot *sender;
    struct rgm_address to;
};
RGM_MESSAGE_RETURNED(slip, slip_returned);

static void
slip_returned(struct slip *slip, int status)
{
    *slip->home_status = status;
    ++*slip->home_count;
    if (slip->again-- > 0)
        rgi_check(rgm_send(slip->sender, slip->to, slip) == 0);
}

/* ---------------------------------------------------------- one-way, by hand */

struct pair {
    struct rgm_address other;
    long sum;
    int status;
    unsigned answers;
    struct rgm_counters before;
};

#define pair_of(self) ((struct pair *)test_of(self))

static void
add_note(struct robot *self, struct note *note)
{
    pair_of(self)->sum += note->value;
    if (note->value == 0)
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
send_ten_and_end(struct robot *self)
{
    struct pair *pair = pair_of(self);
    struct script adder = {.note = add_note, .test = pair};
    static struct script kept;

    kept = adder;
    pair->other =
        robot_spawn_on(self, rgm_workers_count(&self->actor) - 1, &kept);
    for (long i = 10; i >= 0; i--)
        rgi_check(robot_send(self, pair->other, i) == 0);
}

static void
a_note_reaches_its_actor_on_one_worker_and_across_two(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct pair pair = {.sum = 0};
        struct script root = {.started = send_ten_and_end, .test = &pair};

        rig_run(workers, &root);
        rgi_check(pair.sum == 55);
    }
}

static void
play_local(struct robot *self)
{
    struct pair *pair = pair_of(self);
    const struct rgm_counters *counters = &self->actor.worker->counters;

    pair->before = *counters;
    send_ten_and_end(self);
    rgi_check(counters->sent_local == pair->before.sent_local + 11);
    rgi_check(counters->sent_remote == pair->before.sent_remote);
    rgi_check(counters->flushes == pair->before.flushes);
    rgi_check(counters->bells == pair->before.bells);
    rgi_check(!rgi_inbox_has_mail(self->actor.worker->inbox));
}

static void
mbx_06_own_sends_bypass_inbox_and_bell(void)
{
    struct pair pair = {.sum = 0};
    struct script root = {.started = play_local, .test = &pair};

    rig_run(1, &root);
    rgi_check(pair.sum == 55);
}

static void
count_and_stop_self(struct robot *self, struct note *note)
{
    (void)note;
    rgm_stop(self);
}

static void
send_slip(struct robot *self, struct rgm_address to, int again)
{
    struct slip *slip = slip_take(&self->actor, 0);

    slip->home_status = &pair_of(self)->status;
    slip->home_count = &pair_of(self)->answers;
    slip->again = again;
    slip->sender = self;
    slip->to = to;
    rgi_check(rgm_send(self, to, slip) == 0);
}

static void
play_return(struct robot *self)
{
    send_slip(self, rgm_self(self), 0);
    rgi_check(robot_send(self, rgm_self(self), 1) == 0);
}

/* The slip has no handler either: that is a dead letter, home all the same. */
static void
a_note_without_a_handler_is_a_dead_letter(void)
{
    struct pair pair = {.status = 1};
    struct script root = {
        .started = play_return, .note = count_and_stop_self, .test = &pair};
    struct rgm_runtime *runtime;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(pair.status == -ENOSYS);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rgi_check(counters.dead_letters == 1);
    rgi_check(counters.messages_out == 0);
    rig_destroy(runtime);
}

static void
play_again(struct robot *self)
{
    send_slip(self, rgm_self(self), 9);
}

static void
stop_when_all_is_home(struct robot *self)
{
    if (pair_of(self)->answers == 10)
        rgm_stop(self);
    else
        rgi_check(robot_send(self, rgm_self(self), 1) == 0);
}

static void
a_returned_hook_may_send_it_again(void)
{
    struct pair pair = {.status = 1};
    struct script root = {
        .started = play_again, .settled = stop_when_all_is_home, .test = &pair};
    struct rgm_runtime *runtime;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rgi_check(counters.messages_out == 0);
    rgi_check(pair.status == -ENOSYS && pair.answers == 10);
    rgi_check(counters.dead_letters == 10);
    rig_destroy(runtime);
}

static void
play_misuse(struct robot *self)
{
    struct note *note = note_take(&self->actor, 0);
    struct question question;
    struct rgm_address nobody = {0};
    struct rgm_address far = rgi_address_make(40, 1, 1);

    rgi_check(rgm_send(self, nobody, note) == -ESRCH);
    rgi_check(rgm_send(self, far, note) == -ESRCH);
    rgi_check(rgm_send(self, rgm_here(self), note) == -ESRCH);
    rgi_check(rgm_send(self, rgm_self(self), note) == 0);
    rgi_check(rgm_send(self, rgm_self(self), note) == -EINVAL);
    question_prepare(&question, rgm_self(self));
    rgi_check(rgm_send_message(&self->actor, rgm_self(self),
                               &question.request.message) == -EINVAL);
}

static void
a_bad_send_is_refused_and_changes_nothing(void)
{
    struct pair pair = {.sum = 0};
    struct script root = {
        .started = play_misuse, .note = count_and_stop_self, .test = &pair};

    rig_run(1, &root);
}

struct big {
    struct rgm_message message;
    uint32_t length;
    unsigned char bytes[];
};
RGM_MESSAGE(big);

struct reader {
    struct rgm_actor actor;
    unsigned read;
};

RGM_HANDLER(reader, big, reader_read);
RGM_HOOK(reader, reader_started);

static const struct rgm_handler reader_handlers[] = {
    RGM_ON(reader, big, reader_read)};

static const struct rgm_behaviour reader_behaviour = {
    .name = "reader",
    .size_bytes = sizeof(struct reader),
    RGM_HANDLERS(reader_handlers),
    .started = RGM_DO(reader, reader_started),
};

static const size_t big_lengths[] = {0, 1, 16, 17, 1000, 2000, 5000, 100000};
#define BIG_COUNT (sizeof(big_lengths) / sizeof(big_lengths[0]))

static void
reader_started(struct reader *self)
{
    for (size_t i = 0; i < BIG_COUNT; i++) {
        struct big *big = big_take(&self->actor, big_lengths[i]);

        rgi_check(big != NULL);
        big->length = (uint32_t)big_lengths[i];
        memset(big->bytes, (int)i, big->length);
        rgi_check(rgm_send(self, rgm_self(self), big) == 0);
    }
    rgi_check(big_take(&self->actor, UINT32_MAX) == NULL);
}

static void
reader_read(struct reader *self, struct big *big)
{
    rgi_check(big->length == big_lengths[self->read]);
    for (uint32_t i = 0; i < big->length; i++)
        rgi_check(big->bytes[i] == self->read);
    if (++self->read == BIG_COUNT)
        rgm_stop(self);
}

static void
trailing_bytes_of_any_length_travel(void)
{
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_run(runtime, &reader_behaviour, NULL) == 0);
    rig_destroy(runtime);
}

/* --------------------------------------------------------------------- asks */

RGM_ANSWER(robot, question, on_answer);
RGM_ANSWER(robot, riddle, on_riddle);

static void
on_answer(struct robot *self, struct question *question)
{
    struct pair *pair = pair_of(self);

    pair->answers++;
    pair->status = rgm_status(question);
    pair->sum = question->value;
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
on_riddle(struct robot *self, struct riddle *riddle)
{
    struct pair *pair = pair_of(self);

    pair->answers++;
    pair->status = rgm_status(riddle);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
double_it(struct robot *self, struct question *question)
{
    question->value *= 2;
    rgm_reply(self, question, 0);
}

static void
refuse_it(struct robot *self, struct question *question)
{
    rgm_reply(self, question, -EDOM);
}

struct asking {
    struct pair pair;
    const struct script *other;
};

/* Ask an actor with the script on the last worker. */
static void
ask_other(struct robot *self)
{
    struct asking *asking = test_of(self);

    asking->pair.other = robot_spawn_on(
        self, rgm_workers_count(&self->actor) - 1, asking->other);
    question_prepare(&self->question, asking->pair.other);
    self->question.value = 21;
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_answer));
}

static void
run_ask(struct asking *asking, const struct script *other)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct script root = {.started = ask_other, .test = asking};

        memset(asking, 0, sizeof(*asking));
        asking->other = other;
        rig_run(workers, &root);
        rgi_check(asking->pair.answers == 1);
    }
}

static void
an_answer_comes_to_its_function_with_its_status(void)
{
    struct script doubler = {.question = double_it};
    struct script refuser = {.question = refuse_it};
    struct asking asking;

    run_ask(&asking, &doubler);
    rgi_check(asking.pair.status == 0 && asking.pair.sum == 42);
    run_ask(&asking, &refuser);
    rgi_check(asking.pair.status == -EDOM && asking.pair.sum == 21);
}

static void
a_question_left_unanswered_goes_home_with_eproto(void)
{
    struct script silent = {.question = NULL};
    struct asking asking;

    run_ask(&asking, &silent);
    rgi_check(asking.pair.status == -EPROTO);
}

static void
ask_riddle(struct robot *self)
{
    struct riddle *riddle = riddle_take(&self->actor, 0);

    rgm_request_to(&riddle->request,
                   robot_spawn_on(self, rgm_workers_count(&self->actor) - 1,
                                  ((struct asking *)test_of(self))->other));
    rgm_ask(self, riddle, RGM_REPLY(robot, riddle, on_riddle));
}

static void
a_question_without_a_handler_goes_home_with_enosys(void)
{
    struct script silent = {.question = NULL};
    struct asking asking = {.other = &silent};
    struct script root = {.started = ask_riddle, .test = &asking};

    rig_run(2, &root);
    rgi_check(asking.pair.answers == 1 && asking.pair.status == -ENOSYS);
}

static void
answer_twice(struct robot *self, struct question *question)
{
    struct rgm_token token = {7, 7};

    rgi_check(rgm_try_reply(self, question, 0) == 0);
    rgi_check(rgm_try_reply(self, question, -EIO) == -EALREADY);
    rgi_check(rgm_forward(self, question, rgm_self(self)) == -EALREADY);
    rgi_check(rgm_keep(self, question, &token) == -EALREADY);
    rgi_check(token.index == 7 && token.generation == 7);
}

static void
forward_and_answer(struct robot *self, struct question *question)
{
    if (self->number++ == 0) {
        rgi_check(rgm_forward(self, question, rgm_self(self)) == 0);
        rgi_check(rgm_try_reply(self, question, -EIO) == -EALREADY);
    } else {
        rgm_reply(self, question, 0);
    }
}

static void
keep_and_answer(struct robot *self, struct question *question)
{
    struct rgm_token token;

    rgi_check(rgm_keep(self, question, &token) == 0);
    rgi_check(rgm_try_reply(self, question, -EIO) == -EALREADY);
    rgi_check(RGM_KEPT(self, token, question) == question);
    rgi_check(rgm_answer(self, token, 0) == 0);
    rgi_check(rgm_answer(self, token, -EIO) == -EALREADY);
    rgi_check(RGM_KEPT(self, token, question) == NULL);
}

static void
a_second_answer_is_refused(void)
{
    struct script scripts[] = {{.question = answer_twice},
                               {.question = forward_and_answer},
                               {.question = keep_and_answer}};

    for (size_t i = 0; i < 3; i++) {
        struct asking asking;

        run_ask(&asking, &scripts[i]);
        rgi_check(asking.pair.status == 0);
    }
}

/* Asking for something already out is a broken program; everything before. */
static void
try_everything(struct robot *self)
{
    struct pair *pair = pair_of(self);
    struct question question;
    struct rgm_address nobody = {0};

    question_prepare(&question, nobody);
    rgi_check(rgm_try_ask(self, &question,
                          RGM_REPLY(robot, question, on_answer)) == -ESRCH);
    rgm_request_to(&question.request, rgi_address_make(63, 1, 1));
    rgi_check(rgm_try_ask(self, &question,
                          RGM_REPLY(robot, question, on_answer)) == -ESRCH);
    question_prepare(&self->question, rgm_self(self));
    rgi_check(rgm_try_ask(self, &self->question,
                          RGM_REPLY(robot, question, on_answer)) == 0);
    rgi_check(rgm_try_ask(self, &self->question,
                          RGM_REPLY(robot, question, on_answer)) == -EINVAL);
    pair->sum = 0;
}

static void
a_refused_try_leaves_the_record_at_home(void)
{
    struct pair pair = {.answers = 0};
    struct script root = {
        .started = try_everything, .question = double_it, .test = &pair};

    rig_run(1, &root);
    rgi_check(pair.answers == 1 && pair.status == 0);
}

RGM_ANSWER(robot, question, ask_again);

static void
ask_again(struct robot *self, struct question *question)
{
    struct pair *pair = pair_of(self);

    rgi_check(rgm_status(question) == 0);
    if (++pair->answers < 100)
        rgm_ask(self, question, RGM_REPLY(robot, question, ask_again));
    else
        rgm_stop(self);
}

static void
ask_hundred_times(struct robot *self)
{
    static const struct script doubler = {.question = double_it};

    question_prepare(
        &self->question,
        robot_spawn_on(self, rgm_workers_count(&self->actor) - 1, &doubler));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, ask_again));
}

static void
a_record_may_be_asked_again_in_its_own_answer(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct pair pair = {.answers = 0};
        struct script root = {.started = ask_hundred_times, .test = &pair};

        rig_run(workers, &root);
        rgi_check(pair.answers == 100);
    }
}

/* ------------------------------------------------------------------ forward */

static void
forward_to_self(struct robot *self, struct question *question)
{
    self->number++;
    question->value = self->number;
    rgi_check(rgm_forward(self, question, rgm_self(self)) == 0);
}

/* One handling at first, and one more for each forward. */
static void
sixteen_forwards_and_no_more(void)
{
    struct script looper = {.question = forward_to_self};
    struct asking asking;

    run_ask(&asking, &looper);
    rgi_check(asking.pair.status == -ELOOP);
    rgi_check(asking.pair.sum == RGM_FORWARDS_MAX + 1);
}

static void
forward_to_nobody(struct robot *self, struct question *question)
{
    struct rgm_address nobody = {question->value == 21 ? 0 : UINT64_MAX};

    rgi_check(rgm_forward(self, question, nobody) == 0);
}

static void
a_forward_to_nobody_tells_the_asker(void)
{
    struct script loser = {.question = forward_to_nobody};
    struct asking asking;

    run_ask(&asking, &loser);
    rgi_check(asking.pair.status == -ESRCH);
}

static void
forward_note(struct robot *self, struct note *note)
{
    rgi_check(rgm_forward_one_way(self, note,
                                  *(struct rgm_address *)test_of(self)) == 0);
    rgi_check(rgm_forward_one_way(self, note, rgm_self(self)) == -EALREADY);
}

static void
play_forward_note(struct robot *self)
{
    static struct script adder, forwarder;
    struct pair *pair = pair_of(self);
    struct rgm_address via;

    adder = (struct script){.note = add_note, .test = pair};
    forwarder = (struct script){.note = forward_note, .test = &pair->other};
    pair->other = robot_spawn(self, &adder);
    via = robot_spawn_on(self, 1, &forwarder);
    for (long i = 5; i >= 0; i--)
        rgi_check(robot_send(self, via, i) == 0);
}

static void
a_note_may_be_forwarded(void)
{
    struct pair pair = {.sum = 0};
    struct script root = {.started = play_forward_note, .test = &pair};
    struct rgm_runtime *runtime;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(pair.sum == 15);
    rgi_check(rgm_runtime_counters(runtime, 1, &counters) == 0);
    rgi_check(counters.forwarded == 6);
    rig_destroy(runtime);
}

/* --------------------------------------------------------------------- keep */

#define KEPT_COUNT 1000

struct keeping {
    struct question questions[KEPT_COUNT];
    struct rgm_token tokens[KEPT_COUNT];
    unsigned kept, answered, withdrawn;
    int expected;
    struct rgm_address keeper, second;
    bool forwards;
};

#define keeping_of(self) ((struct keeping *)test_of(self))

static void
answer_all_odd_ways(struct robot *self)
{
    struct keeping *keeping = keeping_of(self);

    for (unsigned i = 0; i < KEPT_COUNT; i++) {
        unsigned at = (i * 7) % KEPT_COUNT; /* another order */
        struct rgm_token token = keeping->tokens[at];
        struct rgm_token never = {token.index, token.generation + 1};

        rgi_check(RGM_KEPT(self, token, question) == &keeping->questions[at]);
        rgi_check(rgm_answer(self, never, 0) == -EALREADY);
        if (keeping->forwards)
            rgi_check(rgm_forward_kept(self, token, keeping->second) == 0);
        else
            rgi_check(rgm_answer(self, token, 0) == 0);
        rgi_check(rgm_answer(self, token, 0) == -EALREADY);
        rgi_check(rgm_forward_kept(self, token, rgm_self(self)) == -EALREADY);
    }
    rgi_check(self->actor.worker->kept_count == 0);
}

static void
keep_it(struct robot *self, struct question *question)
{
    struct keeping *keeping = keeping_of(self);

    rgi_check(rgm_keep(self, question, &keeping->tokens[question->value]) == 0);
    if (++keeping->kept == KEPT_COUNT) {
        if (keeping->expected == -ESRCH)
            rgm_stop(self);
        else
            answer_all_odd_ways(self);
    }
}

RGM_ANSWER(robot, question, on_kept_answer);

static void
on_kept_answer(struct robot *self, struct question *question)
{
    struct keeping *keeping = keeping_of(self);

    rgi_check(rgm_status(question) == keeping->expected);
    if (++keeping->answered == KEPT_COUNT)
        rgm_stop(self);
}

static void
on_withdrawn(struct robot *self, struct question *question)
{
    struct keeping *keeping = keeping_of(self);
    struct rgm_token token = keeping->tokens[question->value];

    keeping->withdrawn++;
    rgi_check(RGM_KEPT(self, token, question) == NULL);
    rgi_check(rgm_answer(self, token, 0) == -EALREADY);
    rgi_check(rgm_try_reply(self, question, 0) == -EALREADY);
}

static void
reply_zero(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
ask_keeper(struct robot *self)
{
    static struct script keeper;
    static const struct script replier = {.question = reply_zero};
    struct keeping *keeping = keeping_of(self);

    keeper = (struct script){
        .question = keep_it, .withdrawn = on_withdrawn, .test = keeping};
    keeping->keeper = robot_spawn_on(self, 1, &keeper);
    keeping->second = robot_spawn(self, &replier);
    for (unsigned i = 0; i < KEPT_COUNT; i++) {
        question_prepare(&keeping->questions[i], keeping->keeper);
        keeping->questions[i].value = i;
        rgm_ask(self, &keeping->questions[i],
                RGM_REPLY(robot, question, on_kept_answer));
    }
}

static void
run_keep(int expected, bool forwards)
{
    static struct keeping keeping;
    struct script root = {.started = ask_keeper, .test = &keeping};

    memset(&keeping, 0, sizeof(keeping));
    keeping.expected = expected;
    keeping.forwards = forwards;
    rig_run(2, &root);
    rgi_check(keeping.answered == KEPT_COUNT);
    rgi_check(keeping.withdrawn == (expected == 0 ? 0 : KEPT_COUNT));
}

static void
kept_questions_are_answered_in_any_order_once(void)
{
    run_keep(0, false);
}

static void
kept_questions_may_be_forwarded(void)
{
    run_keep(0, true);
}

static void
a_stop_withdraws_what_is_kept(void)
{
    run_keep(-ESRCH, false);
}

/* ----------------------------------------------------------- gone and stale */

struct gone {
    struct rgm_address address;
    struct question questions[100];
    unsigned refused, answers;
    int slip_status;
};

#define gone_of(self) ((struct gone *)test_of(self))

RGM_ANSWER(robot, question, on_gone_answer);

static void
on_gone_answer(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == -ESRCH);
    if (++gone_of(self)->answers == 100)
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
knock_at_the_empty_house(struct robot *self)
{
    struct gone *gone = gone_of(self);
    bool local =
        rgm_address_worker(gone->address) == rgm_worker_number(&self->actor);

    for (unsigned i = 0; i < 100; i++) {
        int status = robot_send(self, gone->address, 1);

        rgi_check(status == (local ? -ESRCH : 0));
        question_prepare(&gone->questions[i], gone->address);
        rgm_ask(self, &gone->questions[i],
                RGM_REPLY(robot, question, on_gone_answer));
    }
}

static void
tell_root_of_end(struct robot *self)
{
    struct gone *gone = gone_of(self);

    rgi_check(robot_send(self, gone->address, 0) == 0);
    gone->address = rgm_self(self);
}

static void
spawn_and_stop(struct robot *self)
{
    static struct script mortal;
    struct gone *gone = gone_of(self);
    struct rgm_address address;

    mortal = (struct script){
        .note = count_and_stop_self, .stopped = tell_root_of_end, .test = gone};
    gone->address = rgm_self(self);
    address =
        robot_spawn_on(self, rgm_workers_count(&self->actor) - 1, &mortal);
    rgi_check(robot_send(self, address, 1) == 0);
}

static void
knock(struct robot *self, struct note *note)
{
    (void)note;
    knock_at_the_empty_house(self);
}

static void
field_b26_what_is_sent_to_the_gone_is_told_and_counted(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct gone gone = {.answers = 0};
        struct script root = {
            .started = spawn_and_stop, .note = knock, .test = &gone};
        struct rgm_runtime *runtime;
        struct rgm_counters counters;

        fake_reset();
        runtime = rig_make(workers);
        rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
        rgi_check(gone.answers == 100);
        rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &counters) ==
                  0);
        rgi_check(counters.dead_letters + counters.refused == 200);
        rig_destroy(runtime);
    }
}

/* ------------------------------------------------------------------- orders */

#define ORDERED 50

struct ordering {
    struct rgm_order order;
    struct question questions[ORDERED];
    struct rgm_token tokens[ORDERED];
    unsigned kept, next, expected_count;
    bool stops;
};

#define ordering_of(self) ((struct ordering *)test_of(self))

RGM_ANSWER(robot, question, on_ordered);

static void
on_ordered(struct robot *self, struct question *question)
{
    struct ordering *ordering = ordering_of(self);

    rgi_check(question == &ordering->questions[ordering->next]);
    rgi_check(question->value == ordering->next);
    if (rgm_status(question) != 0)
        rgi_check(rgm_status(question) ==
                  (ordering->stops ? -ECANCELED : -ENOBUFS));
    ordering->next++;
    rgi_check(ordering->order.count == ORDERED - ordering->next);
    if (ordering->next == ORDERED && !ordering->stops)
        rgm_stop(self);
}

/* Keeps all, and answers the last first. */
static void
answer_backwards(struct robot *self, struct question *question)
{
    struct ordering *ordering = ordering_of(self);

    rgi_check(rgm_keep(self, question, &ordering->tokens[ordering->kept++]) ==
              0);
    if (ordering->kept < ordering->expected_count)
        return;
    while (ordering->kept > 0)
        rgi_check(rgm_answer(self, ordering->tokens[--ordering->kept], 0) == 0);
}

static void
ask_in_order(struct robot *self)
{
    static struct script answerer;
    struct ordering *ordering = ordering_of(self);
    struct rgm_address to;

    answerer = (struct script){.question = answer_backwards, .test = ordering};
    to = robot_spawn_on(self, 1, &answerer);
    for (unsigned i = 0; i < ORDERED; i++) {
        struct question *question = &ordering->questions[i];

        question_prepare(question, to);
        question->value = i;
        rgi_check(rgm_order_full(&ordering->order) ==
                  (i >= ordering->order.capacity));
        if (i % 5 == 4)
            rgm_answered_in(self, &ordering->order, question, 0,
                            RGM_REPLY(robot, question, on_ordered));
        else
            rgm_ask_in(self, &ordering->order, question,
                       RGM_REPLY(robot, question, on_ordered));
    }
    if (ordering->stops)
        rgm_stop(self);
}

static void
run_ordered(uint32_t capacity, bool stops)
{
    static struct ordering ordering;
    struct script root = {.started = ask_in_order, .test = &ordering};

    memset(&ordering, 0, sizeof(ordering));
    rgm_order_init(&ordering.order, capacity);
    ordering.stops = stops;
    for (unsigned i = 0; i < ORDERED && i < capacity; i++)
        ordering.expected_count += i % 5 != 4;
    rig_run(2, &root);
    rgi_check(ordering.next == ORDERED);
    rgi_check(ordering.order.count == 0 && ordering.order.first == NULL);
}

static void
answers_come_in_the_order_asked(void)
{
    run_ordered(ORDERED, false);
}

static void
what_is_asked_through_a_full_order_is_refused_in_its_turn(void)
{
    run_ordered(20, false);
}

/* The asker stops at once, which cancels what it asked; it ends only when its
 * order is empty. */
static void
a_stopping_actor_still_gets_its_ordered_answers(void)
{
    run_ordered(ORDERED, true);
}

/* ------------------------------------------------------- gather, broadcast */

struct gathering {
    struct rgm_gather gather;
    struct question questions[10];
    unsigned done;
    unsigned rounds;
};

static void
fail_odd(struct robot *self, struct question *question)
{
    rgm_reply(self, question, question->value % 2 == 0 ? 0 : -EDOM);
}

static void gather_ten(struct robot *self);

static void
on_gathered(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct robot *self = (struct robot *)(void *)actor;
    struct gathering *gathering = test_of(self);

    rgi_check(gather == &gathering->gather);
    rgi_check(gather->out == 0 && gather->failed == 5);
    for (unsigned i = 0; i < 10; i++)
        rgi_check(rgm_status(&gathering->questions[i]) == (i == 9 ? -ESRCH
                                                           : i % 2 == 0
                                                               ? 0
                                                               : -EDOM));
    gathering->done++;
    if (gathering->done < 3)
        gather_ten(self);
    else
        rgm_stop(self);
}

static void
gather_ten(struct robot *self)
{
    static const struct script answerer = {.question = fail_odd};
    struct gathering *gathering = test_of(self);
    struct rgm_request *requests[10];
    struct rgm_address nobody = {0};

    for (unsigned i = 0; i < 10; i++) {
        struct question *question = &gathering->questions[i];

        question_prepare(
            question, i == 9 ? nobody : robot_spawn_on(self, i % 2, &answerer));
        question->value = i;
        requests[i] = &question->request;
    }
    rgm_gather_requests(&self->actor, &gathering->gather, requests, 10,
                        on_gathered);
}

static void
a_gather_is_told_once_when_all_are_home(void)
{
    struct gathering gathering = {.done = 0};
    struct script root = {.started = gather_ten, .test = &gathering};

    rig_run(2, &root);
    rgi_check(gathering.done == 3);
}

static void
play_broadcast(struct robot *self)
{
    static struct script adder;
    struct pair *pair = pair_of(self);
    struct rgm_address addresses[3];
    struct rgm_message *messages[3];
    struct note *notes[3];

    adder = (struct script){.note = add_note, .test = pair};
    for (unsigned i = 0; i < 3; i++) {
        addresses[i] = robot_spawn(self, &adder);
        notes[i] = note_take(&self->actor, 0);
        notes[i]->value = i + 1;
        messages[i] = &notes[i]->message;
    }
    rgi_check(rgm_broadcast_messages(&self->actor, addresses, messages, 3) ==
              0);
    rgi_check(rgm_broadcast_messages(&self->actor, addresses, messages, 3) ==
              -EINVAL);
    addresses[2].bits = 0;
    for (unsigned i = 0; i < 3; i++) {
        notes[i] = note_take(&self->actor, 0);
        notes[i]->value = 100;
        messages[i] = &notes[i]->message;
    }
    rgi_check(rgm_broadcast_messages(&self->actor, addresses, messages, 3) ==
              -ESRCH);
    messages[2] = messages[0]; /* the same one twice */
    addresses[2] = addresses[0];
    rgi_check(rgm_broadcast_messages(&self->actor, addresses, messages, 3) ==
              -EINVAL);
    rgi_check(self->actor.worker->lanes[0].count == 3);
    for (unsigned i = 0; i < 3; i++)
        note_give(&self->actor, notes[i]);
    rgi_check(robot_send(self, addresses[0], 0) == 0);
}

static void
a_broadcast_goes_to_all_or_to_none(void)
{
    struct pair pair = {.sum = 0};
    struct script root = {.started = play_broadcast, .test = &pair};

    rig_run(1, &root);
    rgi_check(pair.sum == 6);
}

/* -------------------------------------------------------------------- order */

#define SEQUENCE 200

struct sequence {
    struct question questions[SEQUENCE];
    struct rgm_address to, via;
    long next;
};

static void
expect_next(struct robot *self, long value)
{
    struct sequence *sequence = test_of(self);

    rgi_check(value == sequence->next);
    if (++sequence->next == SEQUENCE)
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
sequence_note(struct robot *self, struct note *note)
{
    expect_next(self, note->value);
}

static void
sequence_question(struct robot *self, struct question *question)
{
    expect_next(self, question->value);
    rgm_reply(self, question, 0);
}

RGM_ANSWER(robot, question, ignore_answer);

static void
ignore_answer(struct robot *self, struct question *question)
{
    (void)self;
    (void)question;
}

/* Sends and asks in turn, some of them flushed in between. */
static void
send_sequence(struct robot *self)
{
    static struct script receiver;
    struct sequence *sequence = test_of(self);

    receiver = (struct script){
        .note = sequence_note, .question = sequence_question, .test = sequence};
    sequence->to =
        robot_spawn_on(self, rgm_workers_count(&self->actor) - 1, &receiver);
    for (long i = 0; i < SEQUENCE; i++) {
        struct question *question = &sequence->questions[i];

        if (i % 3 == 0) {
            rgi_check(robot_send(self, sequence->to, i) == 0);
        } else {
            question_prepare(question, sequence->to);
            question->value = i;
            rgm_ask(self, question, RGM_REPLY(robot, question, ignore_answer));
        }
        if (i % 17 == 0)
            rgm_flush(self);
    }
}

static void
mbx_01_sends_and_asks_of_one_actor_keep_their_order(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        static struct sequence sequence;
        struct script root = {.started = send_sequence, .test = &sequence};

        sequence.next = 0;
        rig_run(workers, &root);
        rgi_check(sequence.next == SEQUENCE);
    }
}

#define CASES(X)                                                               \
    X(message, a_note_reaches_its_actor_on_one_worker_and_across_two)          \
    X(message, mbx_06_own_sends_bypass_inbox_and_bell)                         \
    X(message, a_note_without_a_handler_is_a_dead_letter)                      \
    X(message, a_returned_hook_may_send_it_again)                              \
    X(message, a_bad_send_is_refused_and_changes_nothing)                      \
    X(message, trailing_bytes_of_any_length_travel)                            \
    X(message, an_answer_comes_to_its_function_with_its_status)                \
    X(message, a_question_left_unanswered_goes_home_with_eproto)               \
    X(message, a_question_without_a_handler_goes_home_with_enosys)             \
    X(message, a_second_answer_is_refused)                                     \
    X(message, a_refused_try_leaves_the_record_at_home)                        \
    X(message, a_record_may_be_asked_again_in_its_own_answer)                  \
    X(message, sixteen_forwards_and_no_more)                                   \
    X(message, a_forward_to_nobody_tells_the_asker)                            \
    X(message, a_note_may_be_forwarded)                                        \
    X(message, kept_questions_are_answered_in_any_order_once)                  \
    X(message, kept_questions_may_be_forwarded)                                \
    X(message, a_stop_withdraws_what_is_kept)                                  \
    X(message, field_b26_what_is_sent_to_the_gone_is_told_and_counted)         \
    X(message, answers_come_in_the_order_asked)                                \
    X(message, what_is_asked_through_a_full_order_is_refused_in_its_turn)      \
    X(message, a_stopping_actor_still_gets_its_ordered_answers)                \
    X(message, a_gather_is_told_once_when_all_are_home)                        \
    X(message, a_broadcast_goes_to_all_or_to_none)                             \
    X(message, mbx_01_sends_and_asks_of_one_actor_keep_their_order)

RGI_CASES(CASES)
