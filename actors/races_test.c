/* SPDX-License-Identifier: MIT */

/* races_test.c - do the races between workers end well, in each order? */

#include <unistd.h>

#include <ringmail/resize.h>
#include <ringmail/task.h>
#include <ringmail/worker_lease.h>

#include "actors/orders.h"
#include "actors/stepped.h"

/* How many in one run. One thread plays all, so a sanitizer sees the same in
 * fewer orders, and is slow. */
static unsigned
interruptions(unsigned quick, unsigned full)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    (void)full;
    return quick - 1;
#else
    return rgi_scale_is_full() ? full : quick;
#endif
}

/* ---- robots ---- */

struct seen {
    long notes;
    long questions;
    long started;
    long stopped;
    long kept;
    long withdrawn;
    long notes_when_stopped;
    struct rgm_address next; /* where a question is forwarded to; zero: kept */
    bool answers;            /* at once, instead */
};

static void
see_note(struct robot *self, struct note *note)
{
    struct seen *seen = test_of(self);

    (void)note;
    seen->notes++;
}

static void
see_question(struct robot *self, struct question *question)
{
    struct seen *seen = test_of(self);

    seen->questions++;
    if (seen->answers)
        rgm_reply(self, question, 0);
    else if (seen->next.bits != 0)
        rgm_forward(self, question, seen->next);
    else
        seen->kept += rgm_keep(self, question, &self->token) == 0;
}

static void
see_started(struct robot *self)
{
    struct seen *seen = test_of(self);

    seen->started++;
}

static void
see_stopped(struct robot *self)
{
    struct seen *seen = test_of(self);

    seen->stopped++;
    seen->notes_when_stopped = seen->notes;
}

static void
see_withdrawn(struct robot *self, struct question *question)
{
    struct seen *seen = test_of(self);

    (void)question;
    seen->withdrawn++;
}

#define SEER(record)                                                           \
    {.note = see_note, .question = see_question, .started = see_started,       \
     .stopped = see_stopped, .withdrawn = see_withdrawn, .test = (record)}

/* An actor that asks on a note of value 0, and cancels on any other. */
struct asker {
    struct rgm_address whom;
    int status; /* 1: none */
    unsigned answers;
    struct question *question;
};

static void on_question(struct robot *self, struct question *question);

RGM_ANSWER(robot, question, on_question);

static void
ask_or_cancel(struct robot *self, struct note *note)
{
    struct asker *asker = test_of(self);

    if (note->value != 0) {
        rgm_cancel(self, &self->question);
        return;
    }
    asker->status = 1;
    question_prepare(&self->question, asker->whom);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_question));
}

static void
on_question(struct robot *self, struct question *question)
{
    struct asker *asker = test_of(self);

    asker->status = rgm_status(question);
    asker->answers++;
}

/* ---- the bell ---- */

/* The sender has replaced "asleep" and not yet rung when the sleeper wakes by
 * itself, takes the note and sleeps again: the bell is for nothing, no more. */
static void
wkr_06_stale_bell_wakes_for_nothing(void)
{
    struct seen seen = {.notes = 0};
    struct asker asker = {.status = 1};
    struct script scripts[2] = {{.note = ask_or_cancel, .test = &asker},
                                SEER(&seen)};
    struct rgm_counters before, after;
    struct stepped_guest guest;
    struct rgm_address first;
    struct stepped play;

    seen.answers = true;
    stepped_begin(&play, 2);
    first = stepped_spawn(&play, 0, &scripts[0]);
    asker.whom = stepped_spawn(&play, 1, &scripts[1]);
    stepped_open(&play, &guest);
    before = stepped_counters(&play, 1);
    stepped_tell(&guest, first, 0);
    rgi_check(stepped_to(&play, 0, "bell"));
    rgm_script_interrupt(play.script, 1);
    stepped_rest(&play, 1);
    rgi_check(seen.questions == 1); /* handled without the bell */
    rgi_check(stepped_is_at(&play, 1, "wait"));
    stepped_step(&play, 0); /* it rings */
    rgi_check(rgm_stepper_is_ready(play.stepper, play.players[1]));
    stepped_settle(&play);
    after = stepped_counters(&play, 1);
    rgi_check(seen.questions == 1 && asker.status == 0 && asker.answers == 1);
    rgi_check(after.parks - before.parks >= 2);
    rgi_check(after.parks == after.park_bell + after.park_io +
                                 after.park_deadline);
    stepped_close(&guest);
    stepped_end(&play);
}

/* The owner has looked and is about to sleep when a note is pushed: nobody has
 * to ring, because it does not fall asleep. */
static void
wkr_06_push_between_look_and_sleep(void)
{
    struct seen seen = {.notes = 0};
    struct script script = SEER(&seen);
    struct rgm_counters before;
    struct stepped_guest guest;
    struct rgm_address address;
    struct stepped play;

    stepped_begin(&play, 1);
    address = stepped_spawn(&play, 0, &script);
    stepped_open(&play, &guest);
    stepped_tell(&guest, address, 1);
    rgi_check(stepped_to(&play, 0, "sleep"));
    rgi_check(seen.notes == 1);
    before = stepped_counters(&play, 0);
    stepped_tell(&guest, address, 2);
    rgi_check(!rgi_bell_is_rung(play.runtime->places[0].bell));
    rgi_check(stepped_to(&play, 0, "run")); /* and not "wait" */
    rgi_check(stepped_counters(&play, 0).parks == before.parks);
    stepped_settle(&play);
    rgi_check(seen.notes == 2);
    stepped_close(&guest);
    stepped_end(&play);
}

/* ---- closing ---- */

struct sender {
    struct stepped *play;
    struct rgm_address whom;
    struct note note;
    struct rgm_guest guest;
    int sent;
};

static void
send_one(void *argument)
{
    struct sender *sender = argument;

    rgi_check(rgm_guest_open(sender->play->runtime, &sender->guest) == 0);
    note_init(&sender->note);
    sender->sent = rgm_send(&sender->guest, sender->whom, &sender->note);
    rgm_guest_close(&sender->guest);
}

/* A plain thread pushes while the last worker stands at `place` of its close,
 * and comes as far as `sender_at`. Accepted or refused, the note is home once,
 * and the runtime ends. */
static void
push_while_closing(const char *place, const char *sender_at)
{
    struct seen seen = {.notes = 0};
    struct script script = SEER(&seen);
    struct sender sender;
    struct stepped play;
    int player;

    stepped_begin(&play, 1);
    sender = (struct sender){.play = &play, .sent = 1};
    sender.whom = stepped_spawn(&play, 0, &script);
    player = rgm_stepper_play(play.stepper, "sender", send_one, &sender);
    rgi_check(player >= 0);
    rgm_runtime_stop(play.runtime);
    rgi_check(stepped_to(&play, 0, place));
    rgi_check(
        rgm_stepper_step_to(play.stepper, (uint32_t)player, sender_at));
    rgi_check(rgm_runtime_wait(play.runtime) == 0);
    stepped_settle(&play);
    rgi_check(strcmp(rgm_stepper_at(play.stepper, (uint32_t)player), "over") ==
              0);
    rgi_check(sender.sent == 0 && seen.notes == 0);
    rgi_check(sender.note.message.state == RGI_MESSAGE_HOME);
    rgi_check(sender.note.message.status == -EPIPE ||
              sender.note.message.status == -ESRCH);
    stepped_leave(&play);
}

static void
mbx_12_push_before_the_closing_exchange(void)
{
    push_while_closing("close", "futex"); /* pushed, and waits for it */
}

static void
mbx_12_push_between_closing_and_closed(void)
{
    push_while_closing("closing", "yield"); /* refused, and looks again */
}

/* ---- a worker retires, others still send to it ---- */

static void
shrink_to_one(void *argument)
{
    struct stepped *play = argument;

    rgi_check(rgm_runtime_resize(play->runtime, 1) == 0);
}

/* Until worker 1 stands between CLOSING and CLOSED. */
static void
retire_to_closing(struct stepped *play)
{
    rgi_check(rgm_stepper_play(play->stepper, "resizer", shrink_to_one, play) >=
              0);
    while (!stepped_is_at(play, 1, "closing"))
        rgi_check(stepped_anyone(play));
}

/* Worker 0 flushes into the inbox of worker 1, which stands between CLOSING and
 * CLOSED: it keeps the chain, does not sleep, and turns it home when it is
 * refused; what comes home through the local FIFO is served before it sleeps. */
static void
flush_meets_closing_and_closed(void)
{
    struct seen seen = {.notes = 0};
    struct asker asker = {.status = 1};
    struct script scripts[2] = {{.note = ask_or_cancel, .test = &asker},
                                SEER(&seen)};
    struct stepped_guest guest;
    struct rgm_address first;
    struct stepped play;

    stepped_begin(&play, 2);
    first = stepped_spawn(&play, 0, &scripts[0]);
    asker.whom = stepped_spawn(&play, 1, &scripts[1]);
    stepped_open(&play, &guest);
    retire_to_closing(&play);
    stepped_tell(&guest, first, 0);
    for (unsigned i = 0; i < 50; i++) {
        rgi_check(stepped_step(&play, 0)); /* it could sleep, and does not */
        rgi_check(!stepped_is_at(&play, 0, "wait"));
    }
    rgi_check(asker.status == 1);
    stepped_settle(&play);
    rgi_check(asker.status == -EPIPE && asker.answers == 1);
    rgi_check(seen.questions == 0);
    stepped_tell(&guest, first, 0); /* closed for long */
    stepped_settle(&play);
    rgi_check(asker.status == -EPIPE && asker.answers == 2);
    stepped_close(&guest);
    stepped_end(&play);
}

/* ---- a stop for an actor that is still on its way ---- */

struct spawner {
    const struct script *child;
    struct rgm_address address;
    int spawned;
    bool tells; /* sends it a note, too */
};

static void
spawn_on_1(struct robot *self, struct note *note)
{
    struct spawner *spawner = test_of(self);

    (void)note;
    spawner->spawned = rgm_spawn_on(self, 1, &robot_behaviour, spawner->child,
                                    &spawner->address);
    if (spawner->tells)
        rgi_check(robot_send(self, spawner->address, 1) == 0);
}

static void
stop_it(struct robot *self, struct note *note)
{
    struct spawner *spawner = test_of(self);

    (void)note;
    rgi_check(rgm_stop_actor(self, spawner->address) == 0);
}

/* The spawn is held before its push; the stop gets there first, and waits. */
static void
stop_comes_before_the_spawn_into_a_lent_slot(void)
{
    struct seen seen = {.notes = 0};
    struct script child = SEER(&seen);
    struct spawner spawner = {.child = &child, .spawned = 1, .tells = true};
    struct script scripts[2] = {{.note = spawn_on_1, .test = &spawner},
                                {.note = stop_it, .test = &spawner}};
    struct stepped_guest guest;
    struct rgm_address first, other;
    struct stepped play;

    stepped_begin(&play, 3);
    first = stepped_spawn(&play, 0, &scripts[0]);
    other = stepped_spawn(&play, 2, &scripts[1]);
    stepped_open(&play, &guest);
    stepped_tell(&guest, first, 0);
    rgi_check(stepped_to(&play, 0, "push"));
    rgi_check(spawner.spawned == 0 && seen.started == 0);
    stepped_tell(&guest, other, 0);
    stepped_rest(&play, 2);
    stepped_rest(&play, 1); /* the stop is there, in the slot */
    rgi_check(seen.started == 0 && seen.stopped == 0);
    stepped_settle(&play);
    rgi_check(seen.started == 1 && seen.stopped == 1 && seen.notes == 0);
    stepped_close(&guest);
    stepped_end(&play);
}

/* Each order of spawn, note and stop: it starts and stops once, and a note
 * that was handled was handled before the stop. */
static void
stop_and_spawn_in_each_order(void)
{
    struct orders orders;

    orders_begin(&orders, interruptions(2, 3));
    do {
        struct seen seen = {.notes = 0};
        struct script child = SEER(&seen);
        struct spawner spawner = {.child = &child, .tells = true};
        struct script scripts[2] = {{.note = spawn_on_1, .test = &spawner},
                                    {.note = stop_it, .test = &spawner}};
        struct stepped_guest guest;
        struct rgm_address first, other;
        struct stepped play;

        stepped_begin(&play, 3);
        first = stepped_spawn(&play, 0, &scripts[0]);
        other = stepped_spawn(&play, 2, &scripts[1]);
        stepped_open(&play, &guest);
        stepped_tell(&guest, first, 0);
        rgi_check(stepped_to(&play, 0, "push"));
        stepped_tell(&guest, other, 0);
        rgm_stepper_choose(play.stepper, orders_choose, &orders);
        (void)rgm_stepper_settle(play.stepper);
        rgm_stepper_choose(play.stepper, NULL, NULL);
        orders_check(seen.started == 1 && seen.stopped == 1);
        orders_check(seen.notes == seen.notes_when_stopped);
        stepped_close(&guest);
        stepped_end(&play);
    } while (orders_next(&orders));
    rgi_check(orders.runs > 10);
}

/* ---- cancels: the witnesses of ask.pml and cancel.pml ---- */

/* An asker on worker 0, a robot on worker 1 that forwards to one on worker 2,
 * and what they saw. */
struct trio {
    struct stepped play;
    struct stepped_guest guest;
    struct asker asker;
    struct seen seen[2];
    struct script scripts[3];
    struct rgm_address addresses[3];
};

static void
trio_open(struct trio *trio)
{
    memset(trio, 0, sizeof(*trio));
    stepped_begin(&trio->play, 3);
    for (uint32_t i = 0; i < 2; i++)
        trio->scripts[i + 1] = (struct script)SEER(&trio->seen[i]);
    trio->scripts[0] =
        (struct script){.note = ask_or_cancel, .test = &trio->asker};
    for (uint32_t i = 0; i < 3; i++)
        trio->addresses[i] = stepped_spawn(&trio->play, i, &trio->scripts[i]);
    trio->asker.whom = trio->addresses[1];
    trio->asker.status = 1;
    trio->seen[0].next = trio->addresses[2];
    stepped_open(&trio->play, &trio->guest);
}

static void
trio_close(struct trio *trio)
{
    rgi_check(trio->asker.answers == 1);
    stepped_close(&trio->guest);
    stepped_end(&trio->play);
}

static void
trio_asks(struct trio *trio)
{
    stepped_tell(&trio->guest, trio->addresses[0], 0);
}

static void
trio_cancels(struct trio *trio)
{
    stepped_tell(&trio->guest, trio->addresses[0], 1);
}

/* Worker 1 has named worker 2 and not yet pushed: the cancel goes to worker 2
 * and is there first; the request goes home unhandled when it comes. */
static void
can_17_cancel_ahead_of_its_request(void)
{
    struct trio trio;

    trio_open(&trio);
    trio_asks(&trio);
    stepped_rest(&trio.play, 0);
    rgi_check(stepped_to(&trio.play, 1, "push"));
    rgi_check(trio.seen[0].questions == 1);
    trio_cancels(&trio);
    stepped_rest(&trio.play, 0);
    stepped_rest(&trio.play, 2); /* marked before it has come */
    stepped_rest(&trio.play, 0); /* the node is home; the request is not */
    rgi_check(trio.asker.answers == 0);
    stepped_settle(&trio.play);
    rgi_check(trio.asker.status == -ECANCELED);
    rgi_check(trio.seen[1].questions == 0 && trio.seen[1].withdrawn == 0);
    trio_close(&trio);
}

/* The cancel is on its way to worker 1 when the request is forwarded and kept:
 * it is passed on, and finds it. */
static void
can_17_cancel_chases_a_forward(void)
{
    struct trio trio;

    trio_open(&trio);
    trio_asks(&trio);
    stepped_rest(&trio.play, 0);
    trio_cancels(&trio);
    rgi_check(stepped_to(&trio.play, 0, "push")); /* its node, to worker 1 */
    stepped_rest(&trio.play, 1);
    stepped_rest(&trio.play, 2);
    rgi_check(trio.seen[1].questions == 1 && trio.seen[1].withdrawn == 0);
    stepped_rest(&trio.play, 0);
    stepped_rest(&trio.play, 1);
    rgi_check(trio.seen[1].withdrawn == 0);
    stepped_settle(&trio.play);
    rgi_check(trio.seen[1].withdrawn == 1);
    rgi_check(trio.asker.status == -ECANCELED);
    trio_close(&trio);
}

/* It was kept where it was forwarded to, before anybody cancelled. */
static void
can_17_withdrawn_after_the_last_forward(void)
{
    struct trio trio;

    trio_open(&trio);
    trio_asks(&trio);
    stepped_settle(&trio.play);
    rgi_check(trio.seen[1].questions == 1);
    trio_cancels(&trio);
    stepped_rest(&trio.play, 0);
    stepped_rest(&trio.play, 2); /* straight there */
    rgi_check(trio.seen[1].withdrawn == 1);
    rgi_check(trio.asker.answers == 0);
    stepped_settle(&trio.play);
    rgi_check(trio.asker.status == -ECANCELED);
    trio_close(&trio);
}

/* The answer has left when the cancel comes: it is told as it is, but only when
 * the node is home, because that lies in its record. */
static void
can_05_result_that_wins(void)
{
    struct trio trio;

    trio_open(&trio);
    trio.seen[0].answers = true;
    trio_asks(&trio);
    stepped_rest(&trio.play, 0);
    trio_cancels(&trio);
    rgi_check(stepped_to(&trio.play, 0, "push"));
    stepped_rest(&trio.play, 1); /* answers */
    rgi_check(trio.seen[0].questions == 1);
    stepped_rest(&trio.play, 0); /* pushes the node, gets the answer */
    rgi_check(trio.asker.answers == 0);
    stepped_rest(&trio.play, 1);
    stepped_rest(&trio.play, 0);
    rgi_check(trio.asker.answers == 1 && trio.asker.status == 0);
    stepped_settle(&trio.play);
    trio_close(&trio);
}

/* Ask, forward, keep or answer, and cancel, in each order of what the three
 * workers do: one answer, and it is a cancelled one exactly if nobody answered;
 * a keeper was told exactly if it had kept it. */
static void
cancel_in_each_order(bool last_answers, unsigned most)
{
    static struct orders orders;
    uint64_t cancelled = 0, answered = 0;

    orders_begin(&orders, most);
    do {
        struct trio trio;

        trio_open(&trio);
        trio.seen[1].answers = last_answers;
        trio_asks(&trio);
        rgi_check(stepped_to(&trio.play, 0, "push"));
        trio_cancels(&trio);
        rgm_stepper_choose(trio.play.stepper, orders_choose, &orders);
        (void)rgm_stepper_settle(trio.play.stepper);
        rgm_stepper_choose(trio.play.stepper, NULL, NULL);
        orders_check(trio.asker.answers == 1);
        orders_check(trio.asker.status == 0 ||
                     trio.asker.status == -ECANCELED);
        orders_check(last_answers || trio.asker.status == -ECANCELED);
        orders_check(trio.asker.status == 0 ||
                     trio.seen[1].withdrawn == trio.seen[1].kept);
        cancelled += trio.asker.status != 0;
        answered += trio.asker.status == 0;
        trio_close(&trio);
    } while (orders_next(&orders));
    rgi_check(cancelled > 0 && (answered > 0) == last_answers);
    fprintf(stderr, "# %" PRIu64 " orders\n", orders.runs);
}

static void
can_17_cancel_of_what_is_kept_in_each_order(void)
{
    cancel_in_each_order(false, interruptions(3, 4));
}

static void
can_05_cancel_of_what_is_answered_in_each_order(void)
{
    cancel_in_each_order(true, interruptions(3, 4));
}

/* ---- the end ---- */

/* A stop at any moment of an exchange: all is answered, and the runtime ends. */
static void
shd_01_stop_in_each_order(void)
{
    static struct orders orders;

    orders_begin(&orders, interruptions(2, 2));
    do {
        struct trio trio;

        trio_open(&trio);
        trio.seen[1].answers = true;
        trio_asks(&trio);
        rgi_check(stepped_to(&trio.play, 0, "run"));
        stepped_close(&trio.guest);
        rgm_runtime_stop(trio.play.runtime);
        rgm_stepper_choose(trio.play.stepper, orders_choose, &orders);
        orders_check(rgm_runtime_wait(trio.play.runtime) == 0);
        rgm_stepper_choose(trio.play.stepper, NULL, NULL);
        orders_check(trio.asker.answers == 1);
        stepped_leave(&trio.play);
    } while (orders_next(&orders));
    rgi_check(orders.runs > 10);
}

/* ---- an end by force, between the two trips of a plain thread's spawn ---- */

static struct stepped *forced;
static const char *forced_to; /* where its worker stands then */

static int
force_meanwhile(struct rgm_actor *self, const void *argument)
{
    (void)self;
    (void)argument;
    rgm_runtime_force(forced->runtime, 0);
    rgi_check(stepped_to(forced, 0, forced_to));
    return 0;
}

static const struct rgm_behaviour late_behaviour = {
    .name = "late",
    .size_bytes = sizeof(struct rgm_actor),
    .factory = force_meanwhile};

static void
spawn_late(struct stepped *play)
{
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(play->runtime, 0, &late_behaviour, NULL,
                                &address) == -EPIPE);
}

static void
spawn_late_with_a_handle(struct stepped *play)
{
    struct rgm_task *task;
    struct rgm_end end;

    rgi_check(
        rgm_runtime_task(play->runtime, 0, &late_behaviour, NULL, &task) == 0);
    rgi_check(rgm_task_join(task, &end) == 0);
    rgi_check(end.kind == RGM_END_GONE);
}

/* A worker that ends by force does not wait for a number that a plain thread has.
 * Once it has counted itself quiet nobody can live there any more, caught by its
 * closing or not. */
static void
shd_08_a_spawn_that_comes_when_all_is_quiet_is_refused(void)
{
    static const char *const places[] = {"quiet", "close", "closing"};

    for (unsigned i = 0; i < 2 * sizeof(places) / sizeof(places[0]); i++) {
        struct stepped play;

        stepped_begin(&play, 1);
        forced = &play;
        forced_to = places[i / 2];
        (i % 2 == 0 ? spawn_late : spawn_late_with_a_handle)(&play);
        stepped_end(&play);
    }
}

/* ---- what comes when all are quiet ---- */

/* A worker that has counted itself quiet carries nothing out, not even what it is
 * asked for until then. */
static void
a_question_that_comes_when_all_is_quiet_is_refused(void)
{
    static const char *const places[] = {"quiet", "close", "closing"};

    for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        struct rgm_lease_holders question;
        struct stepped play;

        stepped_begin(&play, 1);
        rgm_runtime_stop(play.runtime);
        rgi_check(stepped_to(&play, 0, places[i]));
        rgm_lease_holders_of(&question, rgm_worker_address(0), NULL, 0);
        rgi_check(rgm_call(play.runtime, &question) == -EPIPE);
        stepped_end(&play);
    }
}

#define CASES(X)                                                               \
    X(races, wkr_06_stale_bell_wakes_for_nothing)                              \
    X(races, wkr_06_push_between_look_and_sleep)                               \
    X(races, mbx_12_push_before_the_closing_exchange)                          \
    X(races, mbx_12_push_between_closing_and_closed)                           \
    X(races, flush_meets_closing_and_closed)                                   \
    X(races, stop_comes_before_the_spawn_into_a_lent_slot)                     \
    X(races, stop_and_spawn_in_each_order)                                     \
    X(races, can_17_cancel_ahead_of_its_request)                               \
    X(races, can_17_cancel_chases_a_forward)                                   \
    X(races, can_17_withdrawn_after_the_last_forward)                          \
    X(races, can_05_result_that_wins)                                          \
    X(races, can_17_cancel_of_what_is_kept_in_each_order)                      \
    X(races, can_05_cancel_of_what_is_answered_in_each_order)                  \
    X(races, shd_08_a_spawn_that_comes_when_all_is_quiet_is_refused)           \
    X(races, a_question_that_comes_when_all_is_quiet_is_refused)               \
    X(races, shd_01_stop_in_each_order)

RGI_CASES(CASES)
