/* SPDX-License-Identifier: MIT */

/*
 * mutants_test.c - which promises of the actors hang on a single line?
 *
 * Each case keeps one promise that no other test would miss if its line were
 * wrong; tools/mutants.txt says which lines. Where a moment matters, the fake
 * provider's clock or a hook is that moment, so nothing here is a race.
 */

#include "actors/rig.h"

static void
stop_all(struct robot *self)
{
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
stop_all_on_note(struct robot *self, struct note *note)
{
    (void)note;
    stop_all(self);
}

/* ------------------------------------------------------------------- tokens */

struct keeping {
    struct rgm_token spent;
    unsigned handled, answered;
    struct question second;
};

#define keeping_of(self) ((struct keeping *)test_of(self))

RGM_ANSWER(robot, question, on_kept_answer);

/* The second takes the place the first has left in the table. */
static void
keep_in_turn(struct robot *self, struct question *question)
{
    struct keeping *keeping = keeping_of(self);
    struct rgm_token token;

    rgi_check(rgm_keep(self, question, &token) == 0);
    if (keeping->handled++ == 0) {
        rgi_check(rgm_answer(self, token, 0) == 0);
        keeping->spent = token;
        return;
    }
    rgi_check(token.index == keeping->spent.index);
    rgi_check(rgm_answer(self, keeping->spent, -EIO) == -EALREADY);
    rgi_check(RGM_KEPT(self, keeping->spent, question) == NULL);
    rgi_check(RGM_KEPT(self, token, question) == question);
    rgi_check(rgm_answer(self, token, 0) == 0);
}

static void
on_kept_answer(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    if (++keeping_of(self)->answered == 2)
        stop_all(self);
}

static void
ask_two(struct robot *self)
{
    struct keeping *keeping = keeping_of(self);
    static struct script keeper;
    struct rgm_address address;

    keeper = (struct script){.question = keep_in_turn, .test = keeping};
    address = robot_spawn(self, &keeper);
    question_prepare(&self->question, address);
    question_prepare(&keeping->second, address);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_kept_answer));
    rgm_ask(self, &keeping->second, RGM_REPLY(robot, question, on_kept_answer));
}

static void
a_spent_token_is_not_good_for_the_next_kept(void)
{
    struct keeping keeping = {.answered = 0};
    struct script root = {.started = ask_two, .test = &keeping};

    rig_run(1, &root);
    rgi_check(keeping.answered == 2);
}

/* ------------------------------------------------------------------ outboxes */

static void
send_many_far(struct robot *self)
{
    static const struct script listener;
    struct rgm_worker *worker = self->actor.worker;
    const struct rgi_outbox *outbox = &worker->outboxes[1];
    struct rgm_address far = robot_spawn_on(self, 1, &listener);

    for (long i = 0; i < 3 * RGI_OUTBOX_FLUSH_AT; i++) {
        rgi_check(robot_send(self, far, i) == 0);
        rgi_check(outbox->count < RGI_OUTBOX_FLUSH_AT);
    }
    rgi_check(worker->counters.flushes == 3);
    stop_all(self);
}

static void
a_full_outbox_is_pushed_inside_the_handler(void)
{
    struct script root = {.started = send_many_far};

    rig_run(2, &root);
}

/* A one-way message whose way home is seen. */
struct slip {
    struct rgm_message message;
    struct robot *sender;
    void (*home)(struct robot *sender);
};
RGM_MESSAGE_RETURNED(slip, slip_returned);

static void
slip_returned(struct slip *slip, int status)
{
    (void)status;
    if (slip->home != NULL)
        slip->home(slip->sender);
}

#define SLIPS 3

/* The other's inbox is closing, then closed, by the test's own hand. */
static void
a_chain_waits_for_a_closing_inbox_and_turns_home_from_a_closed_one(void)
{
    struct rgm_runtime *runtime;
    struct rgm_worker *worker;
    struct rgi_inbox *inbox;
    struct slip slips[SLIPS];

    fake_reset();
    runtime = rig_make(2);
    worker = runtime->workers[0];
    inbox = &runtime->places[1].inbox;
    rgi_check(rgi_inbox_close_begin(inbox) == NULL);
    for (unsigned i = 0; i < SLIPS; i++) {
        slip_init(&slips[i]);
        slips[i].message.from = rgm_worker_address(0);
        rgi_post(worker, &slips[i].message, 1);
    }
    rgi_flush_all(worker);
    rgi_check(worker->dirty == UINT64_C(1) << 1);
    rgi_check(worker->outboxes[1].count == SLIPS);
    rgi_inbox_close_end(inbox);
    rgi_flush_all(worker);
    rgi_check(worker->dirty == 0 && worker->outboxes[1].count == 0);
    for (unsigned i = 0; i < SLIPS; i++) {
        rgi_check(rgi_mail_next_urgent(&worker->mail) == &slips[i].message);
        rgi_check(slips[i].message.status == -EPIPE);
    }
    rgi_check(!rgi_mail_pending(&worker->mail));
    rig_destroy(runtime);
}

/* ----------------------------------------------------------------- own mail */

#define NUMBERS 10

struct writing {
    long sent, read;
    bool other_ran;
};

#define writing_of(self) ((struct writing *)test_of(self))

static void
write_next(struct robot *self)
{
    rgi_check(robot_send(self, rgm_self(self), writing_of(self)->sent++) == 0);
}

static void
read_next(struct robot *self, struct note *note)
{
    struct writing *writing = writing_of(self);

    rgi_check(note->value == writing->read++);
    if (writing->sent < NUMBERS)
        write_next(self);
    if (writing->read == writing->sent)
        stop_all(self);
}

static void
write_from_the_hook(struct robot *self)
{
    writing_of(self)->other_ran = true;
    write_next(self);
}

static void
write_with_a_slip_on_its_way(struct robot *self)
{
    static const struct script listener;
    struct slip *slip = slip_take(&self->actor, 0);

    slip->sender = self;
    slip->home = write_from_the_hook;
    rgi_check(rgm_send(self, robot_spawn(self, &listener), slip) == 0);
    write_next(self);
}

/* The hook of a return runs while the note before it still waits. */
static void
what_a_hook_sends_stays_behind_what_was_sent_before(void)
{
    struct writing writing = {.sent = 0};
    struct script root = {.started = write_with_a_slip_on_its_way,
                          .note = read_next,
                          .test = &writing};

    rig_run(1, &root);
    rgi_check(writing.other_ran && writing.read == NUMBERS);
}

static void
note_that_it_ran(struct robot *self, struct note *note)
{
    (void)note;
    writing_of(self)->other_ran = true;
}

static void
write_for_ever(struct robot *self, struct note *note)
{
    struct writing *writing = writing_of(self);

    (void)note;
    rgi_check(writing->sent < 1000);
    if (writing->other_ran)
        stop_all(self);
    else
        write_next(self);
}

static void
write_to_two(struct robot *self)
{
    static struct script other;

    other = (struct script){.note = note_that_it_ran, .test = test_of(self)};
    write_next(self);
    rgi_check(robot_send(self, robot_spawn(self, &other), 0) == 0);
}

static void
writing_to_oneself_leaves_others_their_turn(void)
{
    struct writing writing = {.sent = 0};
    struct script root = {
        .started = write_to_two, .note = write_for_ever, .test = &writing};

    rig_run(1, &root);
    rgi_check(writing.other_ran);
}

/* -------------------------------------------------------------------- turns */

#define QUOTA 4
#define FLOOD 100

struct flood {
    unsigned handled, settled_at;
};

#define flood_of(self) ((struct flood *)test_of(self))

static void
flood_self(struct robot *self)
{
    for (long i = 0; i < FLOOD; i++)
        rgi_check(robot_send(self, rgm_self(self), i) == 0);
}

static void
count_flood(struct robot *self, struct note *note)
{
    (void)note;
    flood_of(self)->handled++;
}

static void
settle_flood(struct robot *self)
{
    struct flood *flood = flood_of(self);

    rgi_check(flood->handled - flood->settled_at <= QUOTA);
    flood->settled_at = flood->handled;
    if (flood->handled == FLOOD)
        stop_all(self);
}

static void
a_turn_serves_no_more_mail_than_its_quota(void)
{
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .quota = QUOTA};
    struct flood flood = {.handled = 0};
    struct script root = {.started = flood_self,
                          .note = count_flood,
                          .settled = settle_flood,
                          .test = &flood};

    fake_reset();
    rig_run_with(&options, &root);
    rgi_check(flood.handled == FLOOD);
}

/* A plain thread that is, for the test, the worker's own thread. */
struct stranger {
    struct rgm_guest guest;
    struct question question;
    struct rgm_address root;
    struct rgi_inbox *inbox; /* the worker's */
    unsigned answered;
    int status;
    bool armed;
};

static struct stranger stranger;

static struct rgm_runtime *
stranger_open(void)
{
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .spin_us = RGM_SPIN_OFF};
    struct rgm_runtime *runtime;

    fake_reset();
    memset(&stranger, 0, sizeof(stranger));
    runtime = rig_make_with(&options);
    rgi_check(rgm_guest_open(runtime, &stranger.guest) == 0);
    return runtime;
}

static void
arm_stranger(struct robot *self)
{
    stranger.root = rgm_self(self);
    stranger.inbox = self->actor.worker->inbox;
    stranger.armed = true;
}

/* The clock is read once between "nothing to do" and "asleep". */
static uint64_t
send_while_the_clock_is_read(struct fake *fake)
{
    struct note *note;

    (void)fake;
    if (stranger.armed) {
        stranger.armed = false;
        note = note_take(&stranger.guest.actor, 0);
        rgi_check(rgm_send(&stranger.guest, stranger.root, note) == 0);
    }
    return fake_clock();
}

static void
never_sleep_over_mail(struct fake *fake, uint64_t deadline_ns)
{
    (void)fake;
    if (deadline_ns != 0 && stranger.inbox != NULL)
        rgi_check(!rgi_inbox_has_mail(stranger.inbox));
}

static void
mail_of_the_last_moment_keeps_a_worker_awake(void)
{
    struct script root = {.started = arm_stranger, .note = stop_all_on_note};
    struct rgm_runtime *runtime = stranger_open();

    fake_plan.now = send_while_the_clock_is_read;
    fake_plan.on_wait = never_sleep_over_mail;
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(stranger.inbox != NULL && !stranger.armed);
    rgm_guest_close(&stranger.guest);
    rig_destroy(runtime);
}

RGM_ANSWER(rgm_guest, question, stranger_answered);

static void
stranger_answered(struct rgm_guest *guest, struct question *question)
{
    (void)guest;
    stranger.answered++;
    stranger.status = rgm_status(question);
}

/* The last word of the last actor: the worker closes in this very turn. */
static void
ask_as_a_stranger(struct robot *self)
{
    question_prepare(&stranger.question, rgm_self(self));
    rgm_ask(&stranger.guest, &stranger.question,
            RGM_REPLY(rgm_guest, question, stranger_answered));
}

static void
what_the_closing_worker_catches_goes_home(void)
{
    struct script root = {.started = stop_all, .stopped = ask_as_a_stranger};
    struct rgm_runtime *runtime = stranger_open();

    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgi_inbox_has_mail(stranger.guest.actor.worker->inbox));
    rgi_check(rgm_guest_wait(&stranger.guest) == 1);
    rgi_check(stranger.answered == 1 && stranger.status == -EPIPE);
    rgm_guest_close(&stranger.guest);
    rig_destroy(runtime);
}

RGM_ANSWER(robot, rgm_listen, on_own_answer);

static void
on_own_answer(struct robot *self, struct rgm_listen *listen)
{
    (void)self;
    rgi_check(rgm_status(listen) == -EIO);
}

static void
ask_and_go_idle(struct robot *self)
{
    stranger.root = rgm_self(self);
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_own_answer));
}

/* The clock is read again when the park is over. */
static void
complete_when_it_sleeps(struct fake *fake, uint64_t deadline_ns)
{
    if (deadline_ns != 0)
        stranger.armed = fake_complete_first(fake, -EIO);
}

static void
a_worker_woken_by_its_own_work_is_not_rung(void)
{
    struct script root = {.started = ask_and_go_idle, .note = stop_all_on_note};
    struct rgm_runtime *runtime = stranger_open();

    fake_plan.on_wait = complete_when_it_sleeps;
    fake_plan.now = send_while_the_clock_is_read;
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(stranger.guest.actor.worker->counters.sent_remote == 1);
    rgi_check(stranger.guest.actor.worker->counters.bells == 0);
    rgm_guest_close(&stranger.guest);
    rig_destroy(runtime);
}

static void
one_provider_that_fails_ends_its_runtime(void)
{
    struct script root = {.started = NULL};
    struct rgm_runtime *runtime;

    fake_reset();
    atomic_store(&fake_plan.wait_error[1], -EBADR);
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == -EBADR);
    rig_destroy(runtime);
}

/* --------------------------------------------------------------- operations */

struct far_work {
    unsigned answered;
};

RGM_ANSWER(robot, rgm_listen, on_far_answer);

static void
ask_far(struct robot *self)
{
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_far_answer));
}

static void
on_far_answer(struct robot *self, struct rgm_listen *listen)
{
    struct far_work *work = test_of(self);

    rgi_check(rgm_status(listen) == -EIO);
    if (++work->answered < 3)
        ask_far(self);
    else
        stop_all(self);
}

static void
prepare_far(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_worker_address(1));
    ask_far(self);
}

static void
complete_at_once(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    (void)fake_complete_first(fake, -EIO);
}

static void
an_operation_asked_from_afar_may_be_asked_again(void)
{
    struct far_work work = {.answered = 0};
    struct script root = {.started = prepare_far, .test = &work};
    struct rgm_runtime *runtime;

    fake_reset();
    fake_plan.on_wait = complete_at_once;
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(work.answered == 3);
    rig_destroy(runtime);
}

static uint64_t slow_clock_ns;

static uint64_t
slow_clock(struct fake *fake)
{
    (void)fake;
    return slow_clock_ns;
}

static void
pass_time(struct fake *fake, uint64_t deadline_ns)
{
    (void)fake;
    (void)deadline_ns;
    slow_clock_ns += RGM_NS_PER_MS;
}

RGM_ANSWER(robot, rgm_sleep, on_awake);

static void
on_awake(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == 0);
    stop_all(self);
}

/* The handler has looked at the time, and then worked for a second. */
static void
sleep_after_long_work(struct robot *self)
{
    rgi_check(rgm_now(&self->actor) == slow_clock_ns);
    slow_clock_ns += RGM_NS_PER_S;
    rgm_sleep_for(&self->sleep, rgm_here(self), 10 * RGM_NS_PER_MS);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_awake));
    rgi_check(rgi_timers_next(self->actor.worker->timers) ==
              slow_clock_ns + 10 * RGM_NS_PER_MS);
}

static void
a_sleep_counts_from_its_ask_and_not_from_its_turn(void)
{
    struct script root = {.started = sleep_after_long_work};
    struct rgm_runtime *runtime;

    fake_reset();
    slow_clock_ns = RGM_NS_PER_S;
    fake_plan.now = slow_clock;
    fake_plan.on_wait = pass_time;
    runtime = rig_make(1);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rig_destroy(runtime);
}

/* -------------------------------------------------------------------- slots */

static void
a_slot_without_generations_left_is_never_used_again(void)
{
    struct rgi_slots slots = {.last = 0};
    struct rgi_slot *slot, *again;
    struct rgm_address last;
    uint32_t index, other;

    rgi_check(rgi_slots_init(&slots) == 0);
    slots.generation_start = RGI_GENERATION_MAX - 1;
    rgi_check(rgi_slots_take(&slots, &slot, &index) == 0);
    rgi_slots_release(&slots, index, true);
    rgi_check(rgi_slots_take(&slots, &again, &other) == 0);
    rgi_check(again == slot && slot->generation == RGI_GENERATION_MAX);
    last = rgi_address_make(0, index, RGI_GENERATION_MAX);
    rgi_check(rgi_slot_find(&slots, last) == slot);
    rgi_slots_release(&slots, index, true);
    rgi_check(rgi_slot_find(&slots, last) == NULL);
    rgi_check(rgi_slots_take(&slots, &again, &other) == 0);
    rgi_check(other != index);
    rgi_slots_deinit(&slots);
}

#define CASES(X)                                                               \
    X(mutants, a_spent_token_is_not_good_for_the_next_kept)                    \
    X(mutants, a_full_outbox_is_pushed_inside_the_handler)                     \
    X(mutants,                                                                 \
      a_chain_waits_for_a_closing_inbox_and_turns_home_from_a_closed_one)      \
    X(mutants, what_a_hook_sends_stays_behind_what_was_sent_before)            \
    X(mutants, writing_to_oneself_leaves_others_their_turn)                    \
    X(mutants, a_turn_serves_no_more_mail_than_its_quota)                      \
    X(mutants, mail_of_the_last_moment_keeps_a_worker_awake)                   \
    X(mutants, what_the_closing_worker_catches_goes_home)                      \
    X(mutants, a_worker_woken_by_its_own_work_is_not_rung)                     \
    X(mutants, one_provider_that_fails_ends_its_runtime)                       \
    X(mutants, an_operation_asked_from_afar_may_be_asked_again)                \
    X(mutants, a_sleep_counts_from_its_ask_and_not_from_its_turn)              \
    X(mutants, a_slot_without_generations_left_is_never_used_again)

RGI_CASES(CASES)
