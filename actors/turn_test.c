/* SPDX-License-Identifier: MIT */

/*
 * turn_test.c - is every source of work served in every turn, and sleep never
 * entered with work at hand?
 *
 * The fake provider sees every look and every wait, and a clock of the case's
 * own makes deadlines exact.
 */

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <unistd.h>

#include "actors/rig.h"

struct turns {
    long count, served, sum;
    uint64_t batch, blocks, mark;
    struct rgm_address other, pair[2];
    struct rgm_listen listens[64];
    struct rgm_listener listeners[64];
    int status;
    unsigned cause;
    uint64_t now_ns; /* of the case's clock */
    sem_t gate, at_gate;
    pthread_t thread;
};

static struct turns *seen; /* by the hooks of the provider */

#define turns_of(self) ((struct turns *)test_of(self))
#define counters_of(self) (&(self)->actor.worker->counters)

static struct fake *
fake_here(struct robot *self)
{
    return fake_of(self->actor.worker->provider);
}

static void
stop_runtime(struct robot *self)
{
    rgm_runtime_stop(self->actor.worker->runtime);
}

/* One worker (or more) that never spins. */
static void
run(uint32_t workers, const struct script *root)
{
    struct rgm_runtime_options options = {
        .workers = workers, .provider = &fake_class, .spin_us = RGM_SPIN_OFF};

    rig_run_with(&options, root);
}

static struct turns *
turns_init(struct turns *turns)
{
    fake_reset();
    memset(turns, 0, sizeof(*turns));
    seen = turns;
    return turns;
}

RGM_ANSWER(robot, rgm_listen, on_listen);
RGM_ANSWER(robot, rgm_sleep, on_sleep);
RGM_ANSWER(robot, question, on_answer);

/* ------------------------------------------------------------------- batches */

/* Whoever is woken in a batch runs in a later one. */
static void
note_batch(struct robot *self)
{
    rgi_check(counters_of(self)->batches > turns_of(self)->batch);
    turns_of(self)->served++;
    if (turns_of(self)->served == 10)
        stop_runtime(self);
}

static void
spawn_ten(struct robot *self)
{
    static struct script child;

    child = (struct script){.started = note_batch, .test = test_of(self)};
    turns_of(self)->batch = counters_of(self)->batches;
    for (unsigned i = 0; i < 10; i++)
        (void)robot_spawn(self, &child);
    rgi_check(turns_of(self)->served == 0);
}

static void
wkr_01_what_is_woken_meanwhile_is_in_a_later_batch(void)
{
    struct turns turns;
    struct script root = {.started = spawn_ten, .test = turns_init(&turns)};

    run(1, &root);
    rgi_check(turns.served == 10);
}

/* One that always has mail for itself, and one that lives on completions, of
 * which the provider has one per look. */
#define COMPLETIONS 200

static void
send_self(struct robot *self, struct note *note)
{
    (void)note;
    turns_of(self)->count++;
    rgi_check(robot_send(self, rgm_self(self), 1) == 0);
}

static void
begin_sending(struct robot *self)
{
    rgi_check(robot_send(self, rgm_self(self), 1) == 0);
}

static void
on_listen(struct robot *self, struct rgm_listen *listen)
{
    struct turns *turns = turns_of(self);

    if (rgm_status(listen) != 0)
        return;
    if (++turns->served == COMPLETIONS)
        stop_runtime(self);
    else
        rgm_ask(self, listen, RGM_REPLY(robot, rgm_listen, on_listen));
}

static void
ask_and_spawn_sender(struct robot *self)
{
    static struct script sender;

    sender = (struct script){
        .started = begin_sending, .note = send_self, .test = test_of(self)};
    (void)robot_spawn(self, &sender);
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_listen));
}

static void
complete_one(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    (void)fake_complete_first(fake, 0);
}

static void
wkr_02_one_that_wakes_itself_does_not_keep_others_waiting(void)
{
    struct turns turns;
    struct script root = {.started = ask_and_spawn_sender,
                          .test = turns_init(&turns)};

    fake_plan.on_wait = complete_one;
    run(1, &root);
    rgi_check(turns.served == COMPLETIONS);
    rgi_check(turns.count <= 64L * COMPLETIONS);
}

/* A busy worker with a provider that says whether it has something is called
 * only then, and else from time to time: never left out. */
static void
field_b34_a_handler_that_feeds_itself_leaves_others_their_share(void)
{
    struct turns turns;
    struct script root = {.started = ask_and_spawn_sender,
                          .test = turns_init(&turns)};

    fake_plan.on_wait = complete_one;
    fake_plan.never_beckons = true;
    run(1, &root);
    rgi_check(turns.served == COMPLETIONS);
    rgi_check(turns.count <= 1024L * COMPLETIONS);
}

/* Actors that only make the next one: no delivery is ever made. */
static void
make_next(struct robot *self)
{
    struct rgm_address address;
    int status = rgm_spawn(self, &robot_behaviour, self->script, &address);

    rgi_check(status == 0 || status == -EPIPE); /* until the end */
    turns_of(self)->count++;
    rgm_stop(self);
}

static void
ask_and_start_chain(struct robot *self)
{
    static struct script link;

    link = (struct script){.started = make_next, .test = test_of(self)};
    (void)robot_spawn(self, &link);
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_listen));
}

/* Not at the first look, which is for the new entry, but at a later one. */
static void
complete_later(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if (seen->mark++ % 2 == 1)
        (void)fake_complete_first(fake, 0);
}

static void
field_b34_a_chain_of_spawns_leaves_the_provider_its_share(void)
{
    struct turns turns;
    struct script root = {.started = ask_and_start_chain,
                          .test = turns_init(&turns)};

    fake_plan.on_wait = complete_later;
    fake_plan.never_beckons = true;
    run(1, &root);
    rgi_check(turns.served == COMPLETIONS);
    rgi_check(turns.count <= 1024L * COMPLETIONS);
}

/* ------------------------------------------------------------ the wait itself */

static uint64_t case_clock(struct fake *fake);
static void pass_time(struct fake *fake, uint64_t deadline_ns);

/* With nothing left, looking and waiting is one call: no look right before. The
 * clock is the case's: a worker that is kept waiting is not late. */
static void
record_wait(struct fake *fake, uint64_t deadline_ns)
{
    struct rgm_worker *worker = rgi_current;

    if (deadline_ns == 0) {
        seen->mark = worker->counters.deliveries + 1;
        pass_time(fake, deadline_ns);
        return;
    }
    seen->sum++;
    /* the last look was before the last delivery */
    rgi_check(seen->mark < worker->counters.deliveries + 1 ||
              worker->counters.deliveries == 0);
    pass_time(fake, deadline_ns);
}

static void
on_sleep(struct robot *self, struct rgm_sleep *sleep)
{
    if (++turns_of(self)->served == 5)
        stop_runtime(self);
    else if (rgm_status(sleep) == 0)
        rgm_ask(self, sleep, RGM_REPLY(robot, rgm_sleep, on_sleep));
}

static void
sleep_a_little(struct robot *self)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), RGM_NS_PER_MS);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_sleep));
}

static void
wkr_04_an_idle_worker_waits_without_looking_first(void)
{
    struct turns turns;
    struct script root = {.started = sleep_a_little,
                          .test = turns_init(&turns)};

    turns.now_ns = 1;
    fake_plan.now = case_clock;
    fake_plan.on_wait = record_wait;
    run(1, &root);
    rgi_check(turns.served == 5 && turns.sum >= 5);
}

/* 64 completions in one call: the first to be told finds all of them told. */
RGM_ANSWER(robot, rgm_listen, on_many);

static void
on_many(struct robot *self, struct rgm_listen *listen)
{
    struct turns *turns = turns_of(self);

    (void)listen;
    if (turns->served++ == 0) {
        rgi_check(self->actor.worker->turn.first == NULL);
        rgi_check(self->actor.worker->operations_out == 0);
        for (unsigned i = 0; i < 64; i++)
            rgi_check(turns->listens[i].operation.state == RGM_OPERATION_HOME);
    }
    if (turns->served == 64)
        stop_runtime(self);
}

static void
ask_64(struct robot *self)
{
    struct turns *turns = turns_of(self);
    uint32_t last = 0;

    for (unsigned i = 0; i < 64; i++) {
        fake_prepare(&turns->listens[i], &turns->listeners[i], rgm_here(self));
        rgm_ask(self, &turns->listens[i],
                RGM_REPLY(robot, rgm_listen, on_many));
        rgi_check(turns->listens[i].operation.serial > last);
        last = turns->listens[i].operation.serial;
    }
}

static void
complete_all(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    while (fake_complete_first(fake, 0))
        ;
}

static void
wkr_05_all_completions_are_published_before_anybody_runs(void)
{
    struct turns turns;
    struct script root = {.started = ask_64, .test = turns_init(&turns)};

    fake_plan.on_wait = complete_all;
    run(1, &root);
    rgi_check(turns.served == 64);
}

/* --------------------------------------------------------- what ends a wait */

/* Each of the four causes, each at a worker that sleeps. */
enum cause { BY_MAIL, BY_COMPLETION, BY_TIMER, BY_STOP, CAUSES };

static void *
push_from_outside(void *argument)
{
    struct rgm_runtime *runtime = argument;
    struct rgm_guest guest;
    struct note *note;

    if (seen->cause == BY_STOP) {
        rgm_runtime_stop(runtime);
        return NULL;
    }
    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    note = note_take(&guest.actor, 0);
    rgi_check(rgm_send(&guest, seen->other, note) == 0);
    rgm_guest_close(&guest);
    return NULL;
}

/* In the blocking wait, after the worker said that it sleeps. */
static void
provoke(struct fake *fake, uint64_t deadline_ns)
{
    struct rgm_worker *worker = rgi_current;

    if (deadline_ns == 0 || seen->batch != 0)
        return;
    seen->batch = 1;
    seen->mark = fake->blocks;
    if (seen->cause == BY_COMPLETION)
        rgi_check(fake_complete_first(fake, 0));
    else if (seen->cause == BY_TIMER)
        pass_time(fake, deadline_ns);
    else
        rgi_check(pthread_create(&seen->thread, NULL, push_from_outside,
                                 worker->runtime) == 0);
}

RGM_ANSWER(robot, rgm_listen, on_woken);
RGM_ANSWER(robot, rgm_sleep, on_tick);

static void
on_woken(struct robot *self, struct rgm_listen *listen)
{
    turns_of(self)->status = rgm_status(listen);
    stop_runtime(self);
}

static void
on_tick(struct robot *self, struct rgm_sleep *sleep)
{
    turns_of(self)->status = rgm_status(sleep);
    stop_runtime(self);
}

static void
on_mail(struct robot *self, struct note *note)
{
    (void)note;
    stop_runtime(self);
}

static void
wait_for_cause(struct robot *self)
{
    struct turns *turns = turns_of(self);

    turns->other = rgm_self(self);
    if (turns->cause == BY_COMPLETION) {
        fake_prepare(&self->listen, &self->listener, rgm_here(self));
        rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_woken));
    } else if (turns->cause == BY_TIMER) {
        rgm_sleep_for(&self->sleep, rgm_here(self), 2 * RGM_NS_PER_MS);
        rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_tick));
    }
}

static void
wkr_07_mail_completions_timers_and_a_stop_end_the_wait(void)
{
    for (unsigned cause = 0; cause < CAUSES; cause++) {
        struct turns turns;
        struct script root = {.started = wait_for_cause,
                              .note = on_mail,
                              .test = turns_init(&turns)};
        struct rgm_runtime_options options = {
            .workers = 1, .provider = &fake_class, .spin_us = RGM_SPIN_OFF};
        struct rgm_runtime *runtime = rig_make_with(&options);
        struct rgm_counters counters;

        turns.cause = cause;
        turns.now_ns = 1;
        if (cause == BY_TIMER)
            fake_plan.now = case_clock; /* it is not late, whatever happens */
        fake_plan.on_wait = provoke;
        rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
        if (cause == BY_MAIL || cause == BY_STOP)
            pthread_join(turns.thread, NULL);
        rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
        rgi_check(counters.parks >= 1);
        rgi_check(counters.parks == counters.park_bell + counters.park_io +
                                        counters.park_deadline);
        rgi_check((counters.park_io == 1) == (cause == BY_COMPLETION));
        rgi_check((counters.park_deadline == 1) == (cause == BY_TIMER));
        rgi_check(turns.status == 0);
        rig_destroy(runtime);
    }
}

/* A worker that only talks to itself writes to no eventfd, and sleeps never. */
static void
on_answer(struct robot *self, struct question *question)
{
    if (++turns_of(self)->served == 1000)
        stop_runtime(self);
    else
        rgm_ask(self, question, RGM_REPLY(robot, question, on_answer));
}

static void
reply_it(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
ask_neighbour(struct robot *self)
{
    static const struct script neighbour = {.question = reply_it};

    question_prepare(&self->question, robot_spawn(self, &neighbour));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_answer));
}

static void
wkr_08_waking_oneself_rings_no_bell(void)
{
    struct turns turns;
    struct script root = {.started = ask_neighbour, .test = turns_init(&turns)};
    struct rgm_runtime *runtime = rig_make(1);
    struct rgm_counters counters;

    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rgi_check(turns.served == 1000);
    rgi_check(counters.bells == 0 && counters.flushes == 0);
    rgi_check(counters.parks == 0);
    rig_destroy(runtime);
}

/* Worker 1 stands in its wait, having said that it sleeps, while a thousand
 * messages are sent to it. */
static void
stand_in_wait(struct fake *fake, uint64_t deadline_ns)
{
    if (fake->worker != 1 || deadline_ns == 0 || seen->batch != 0)
        return;
    seen->batch = 1;
    sem_post(&seen->at_gate);
    while (sem_wait(&seen->gate) != 0)
        ;
}

static void
count_mail(struct robot *self, struct note *note)
{
    (void)note;
    if (++turns_of(self)->served == 1000)
        stop_runtime(self);
}

static void
send_thousand(struct robot *self)
{
    static struct script receiver;
    struct turns *turns = turns_of(self);
    uint64_t bells;

    receiver = (struct script){.note = count_mail, .test = turns};
    while (sem_wait(&turns->at_gate) != 0)
        ;
    turns->other = robot_spawn_on(self, 1, &receiver);
    bells = counters_of(self)->bells;
    for (unsigned i = 0; i < 1000; i++)
        rgi_check(robot_send(self, turns->other, i) == 0);
    rgm_flush(self);
    rgi_check(counters_of(self)->bells == bells + 1);
    rgi_check(counters_of(self)->flushes >= 1000 / RGI_OUTBOX_FLUSH_AT);
    sem_post(&turns->gate);
}

static atomic_uint few_served; /* on both workers */

static void
count_few(struct robot *self, struct note *note)
{
    (void)note;
    if (atomic_fetch_add(&few_served, 1) + 1 == 2)
        stop_runtime(self);
}

/* Both workers are of one group. The one that sends is known by itself, not by
 * the group: its own actor is woken without a bell, the sibling's with one. */
static void
wake_self_and_sibling(struct robot *self)
{
    static struct script receiver;
    struct turns *turns = turns_of(self);
    uint64_t bells = counters_of(self)->bells;
    struct rgm_address mine;

    receiver = (struct script){.note = count_few, .test = turns};
    while (sem_wait(&turns->at_gate) != 0)
        ;
    mine = robot_spawn(self, &receiver);
    rgi_check(robot_send(self, mine, 0) == 0);
    rgm_flush(self);
    rgi_check(counters_of(self)->bells == bells);
    turns->other = robot_spawn_on(self, 1, &receiver);
    rgi_check(robot_send(self, turns->other, 0) == 0);
    rgm_flush(self);
    rgi_check(counters_of(self)->bells == bells + 1);
    sem_post(&turns->gate);
}

static void
wkr_11_a_worker_knows_itself_and_rings_for_its_sibling(void)
{
    struct turns turns;
    struct script root = {.started = wake_self_and_sibling,
                          .test = turns_init(&turns)};

    atomic_store(&few_served, 0);
    sem_init(&turns.gate, 0, 0);
    sem_init(&turns.at_gate, 0, 0);
    fake_plan.on_wait = stand_in_wait;
    run(2, &root);
    rgi_check(atomic_load(&few_served) == 2);
    sem_destroy(&turns.gate);
    sem_destroy(&turns.at_gate);
}

static void
wkr_09_a_thousand_sends_to_a_sleeper_ring_once(void)
{
    struct turns turns;
    struct script root = {.started = send_thousand, .test = turns_init(&turns)};

    sem_init(&turns.gate, 0, 0);
    sem_init(&turns.at_gate, 0, 0);
    fake_plan.on_wait = stand_in_wait;
    run(2, &root);
    rgi_check(turns.served == 1000);
    sem_destroy(&turns.gate);
    sem_destroy(&turns.at_gate);
}

/* ------------------------------------------- what may wake somebody, one by one */

enum event {
    REFUSED_OPERATION,
    CANCELLED_OPERATION,
    CANCELLED_SLEEP,
    FAILED_ASK,
    OWN_MAIL,
    ENDED_ACTOR,
    EVENTS
};

RGM_ANSWER(robot, rgm_listen, listen_over);
RGM_ANSWER(robot, rgm_sleep, sleep_over);
RGM_ANSWER(robot, question, question_over);

static void
event_over(struct robot *self)
{
    rgi_check(fake_here(self)->blocks == turns_of(self)->blocks);
    turns_of(self)->served++;
    stop_runtime(self);
}

static void
listen_over(struct robot *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) != 0);
    event_over(self);
}

static void
sleep_over(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == -ECANCELED);
    event_over(self);
}

static void
question_over(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == -ESRCH);
    event_over(self);
}

static void
note_over(struct robot *self, struct note *note)
{
    (void)note;
    event_over(self);
}

/* Operations and sleeps are cancelled in a later turn than they are asked in. */
static void
provoke_event(struct robot *self)
{
    static const struct script mortal = {.started = NULL};
    static struct script ending;
    struct rgm_address nobody = {0};

    turns_of(self)->blocks = fake_here(self)->blocks;
    switch (turns_of(self)->cause) {
    case REFUSED_OPERATION:
        rgm_stream_listen(&self->listen, rgm_here(self), NULL, NULL, false);
        rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, listen_over));
        break;
    case CANCELLED_OPERATION:
        rgm_cancel(self, &self->listen);
        break;
    case CANCELLED_SLEEP:
        rgm_cancel(self, &self->sleep);
        break;
    case FAILED_ASK:
        question_prepare(&self->question, nobody);
        rgm_ask(self, &self->question,
                RGM_REPLY(robot, question, question_over));
        break;
    case OWN_MAIL:
        rgi_check(robot_send(self, rgm_self(self), 1) == 0);
        break;
    default:
        ending = mortal;
        ending.test = test_of(self);
        ending.stopped = event_over;
        rgi_check(rgm_stop_actor(self, robot_spawn(self, &ending)) == 0);
        break;
    }
}

static void
prepare_event(struct robot *self)
{
    struct turns *turns = turns_of(self);

    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_sleep_for(&self->sleep, rgm_here(self), 3600 * RGM_NS_PER_S);
    if (turns->cause == CANCELLED_OPERATION)
        rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, listen_over));
    if (turns->cause == CANCELLED_SLEEP)
        rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, sleep_over));
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
after_preparation(struct robot *self, struct note *note)
{
    if (self->number++ == 0)
        provoke_event(self);
    else
        note_over(self, note);
}

static void
wkr_12_whatever_may_wake_somebody_keeps_the_worker_awake(void)
{
    for (unsigned event = 0; event < EVENTS; event++) {
        struct turns turns;
        struct script root = {.started = prepare_event,
                              .note = after_preparation,
                              .test = turns_init(&turns)};

        turns.cause = event;
        run(1, &root);
        rgi_check(turns.served == 1);
    }
}

/* More own mail than one turn serves, and nothing else: it is served at once,
 * though nobody rings for it. */
static void
serve_one_more(struct robot *self, struct note *note)
{
    (void)note;
    rgi_check(fake_here(self)->blocks == turns_of(self)->blocks);
    if (++turns_of(self)->served == 5)
        stop_runtime(self);
}

static void
send_five(struct robot *self)
{
    turns_of(self)->blocks = fake_here(self)->blocks;
    for (unsigned i = 0; i < 5; i++)
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
mbx_05_what_the_quota_leaves_over_keeps_the_worker_awake(void)
{
    struct turns turns;
    struct script root = {.started = send_five,
                          .note = serve_one_more,
                          .test = turns_init(&turns)};
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = &fake_class,
                                          .spin_us = RGM_SPIN_OFF,
                                          .quota = 4};

    rig_run_with(&options, &root);
    rgi_check(turns.served == 5);
}

/* The least there can be: a return that its sender wants to see, a number of
 * another worker's to give back, an order to stop. */
struct parcel {
    struct rgm_message message;
    struct robot *sender;
};
RGM_MESSAGE_RETURNED(parcel, parcel_home);

static void
parcel_home(struct parcel *parcel, int status)
{
    rgi_check(status == -ENOSYS);
    event_over(parcel->sender);
}

static void
send_parcel(struct robot *self)
{
    static const struct script nobody_home = {.started = NULL};
    struct rgm_address to = robot_spawn(self, &nobody_home);
    struct parcel *parcel = parcel_take(&self->actor, 0);

    turns_of(self)->blocks = fake_here(self)->blocks;
    parcel->sender = self;
    rgi_check(rgm_send(self, to, parcel) == 0);
}

static void
field_b05_the_least_of_work_keeps_a_worker_awake(void)
{
    struct turns turns;
    struct script root = {.started = send_parcel, .test = turns_init(&turns)};

    run(1, &root);
    rgi_check(turns.served == 1);
}

/* ------------------------------------------------------ answered elsewhere */

RGM_ANSWER(robot, rgm_listen, on_far_listen);

static void
on_far_listen(struct robot *self, struct rgm_listen *listen)
{
    struct turns *turns = turns_of(self);

    rgi_check(pthread_equal(pthread_self(), turns->thread));
    rgi_check(rgm_status(listen) == 0 && listen->backlog == 1);
    if (++turns->served == 200)
        stop_runtime(self);
    else
        rgm_ask(self, listen, RGM_REPLY(robot, rgm_listen, on_far_listen));
}

static void
ask_far(struct robot *self)
{
    turns_of(self)->thread = pthread_self();
    fake_prepare(&self->listen, &self->listener, rgm_worker_address(1));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_far_listen));
}

/* What it writes on its thread, plainly, is there when the asker is told. */
static void
complete_on_worker_1(struct fake *fake, uint64_t deadline_ns)
{
    struct rgm_link *link = rgi_list_first(&fake->submitted);

    (void)deadline_ns;
    if (link == NULL)
        return;
    rgi_check(fake->worker == 1);
    rgi_container_of(link, struct rgm_listen, operation.link)->backlog = 1;
    (void)fake_complete_first(fake, 0);
}

static void
mbx_14_an_operation_carried_out_elsewhere_is_answered_here(void)
{
    struct turns turns;
    struct script root = {.started = ask_far, .test = turns_init(&turns)};

    fake_plan.on_wait = complete_on_worker_1;
    run(2, &root);
    rgi_check(turns.served == 200);
}

/* ------------------------------------------------------------------ lateness */

/* A worker that is never idle, and a tick every millisecond of a clock that
 * goes on by ten microseconds with each look: none is late by much. */
RGM_ANSWER(robot, rgm_sleep, on_metronome);

static void
on_metronome(struct robot *self, struct rgm_sleep *sleep)
{
    uint64_t late_ns = rgm_now(&self->actor) - turns_of(self)->mark;

    rgi_check(rgm_status(sleep) == 0);
    rgi_check(late_ns <= 100 * RGM_NS_PER_US);
    if (++turns_of(self)->served == 100) {
        stop_runtime(self);
        return;
    }
    turns_of(self)->mark += RGM_NS_PER_MS;
    rgm_sleep_until(sleep, rgm_here(self), turns_of(self)->mark);
    rgm_ask(self, sleep, RGM_REPLY(robot, rgm_sleep, on_metronome));
}

static void
tick_and_talk(struct robot *self)
{
    static struct script sender;

    sender = (struct script){
        .started = begin_sending, .note = send_self, .test = test_of(self)};
    (void)robot_spawn(self, &sender);
    turns_of(self)->mark = seen->now_ns + RGM_NS_PER_MS;
    rgm_sleep_until(&self->sleep, rgm_here(self), turns_of(self)->mark);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_metronome));
}

static uint64_t
clock_that_goes_on(struct fake *fake)
{
    (void)fake;
    return seen->now_ns += 10 * RGM_NS_PER_US;
}

static void
field_b35_ticks_come_in_time_on_a_busy_worker(void)
{
    struct turns turns;
    struct script root = {.started = tick_and_talk, .test = turns_init(&turns)};

    turns.now_ns = 1;
    fake_plan.now = clock_that_goes_on;
    run(1, &root);
    rgi_check(turns.served == 100);
    rgi_check(turns.count > 100);
}

/* One that tries again and again what is refused, woken by a stream of control
 * messages and of mail: once per delivery, and others get their turn. */
static void
try_again(struct robot *self, struct note *note)
{
    struct turns *turns = turns_of(self);

    (void)note;
    turns->count++;
    rgi_check(robot_send(self, turns->other, 0) == -EAGAIN);
    if (turns->served < 100)
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
order_stops(struct robot *self, struct note *note)
{
    struct turns *turns = turns_of(self);

    (void)note;
    rgi_check(rgm_stop_actor(self, rgi_address_make(1, 1, 999)) == 0);
    if (++turns->served < 100) {
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
    } else {
        sem_post(&turns->gate);
        stop_runtime(self);
    }
}

static void
stand_at_gate(struct robot *self, struct note *note)
{
    struct turns *turns = turns_of(self);

    (void)note;
    if (self->number++ == 0)
        while (sem_wait(&turns->gate) != 0)
            ;
}

static void
begin_trying(struct robot *self)
{
    static struct script stuck, trier, orderer;
    struct turns *turns = turns_of(self);
    struct rgm_address address;

    stuck = (struct script){.note = stand_at_gate, .test = turns};
    trier = (struct script){.note = try_again, .test = turns};
    orderer = (struct script){.note = order_stops, .test = turns};
    turns->other = robot_spawn_on(self, 1, &stuck);
    while (robot_send(self, turns->other, 0) == 0)
        ;
    address = robot_spawn(self, &trier);
    rgi_check(robot_send(self, address, 0) == 0);
    address = robot_spawn(self, &orderer);
    rgi_check(robot_send(self, address, 0) == 0);
}

static void
field_b31_a_refused_send_is_not_tried_for_ever_in_one_turn(void)
{
    struct turns turns;
    struct script root = {.started = begin_trying, .test = turns_init(&turns)};
    struct rgm_runtime_options options = {
        .workers = 2, .provider = &fake_class, .lane_messages = 16};

    sem_init(&turns.gate, 0, 0);
    rig_run_with(&options, &root);
    rgi_check(turns.served == 100);
    rgi_check(turns.count >= 1 && turns.count <= 400);
    sem_destroy(&turns.gate);
}

static uint64_t
case_clock(struct fake *fake)
{
    (void)fake;
    return seen->now_ns;
}

/* Time jumps to the deadline of a wait. */
static void
jump(struct fake *fake, uint64_t deadline_ns)
{
    (void)fake;
    if (deadline_ns != 0 && deadline_ns != RGM_NEVER &&
        deadline_ns > seen->now_ns)
        seen->now_ns = deadline_ns;
}

RGM_ANSWER(robot, rgm_sleep, on_late);

static void
on_late(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == 0);
    rgi_check(rgm_now(&self->actor) >= turns_of(self)->mark);
    turns_of(self)->served++;
    if (turns_of(self)->served == 1) { /* nobody held it up: exact */
        rgi_check(rgm_now(&self->actor) == turns_of(self)->mark);
        rgi_check(counters_of(self)->timers_late == 0);
        turns_of(self)->mark = seen->now_ns + RGM_NS_PER_MS;
        rgm_ask(self, sleep, RGM_REPLY(robot, rgm_sleep, on_late));
        seen->now_ns += 50 * RGM_NS_PER_MS; /* a handler that takes long */
    } else { /* 49 ms late, never cut short, and counted */
        rgi_check(rgm_now(&self->actor) ==
                  turns_of(self)->mark + 49 * RGM_NS_PER_MS);
        rgi_check(counters_of(self)->timers_late == 1);
        rgi_check(counters_of(self)->timers_fired == 2);
        stop_runtime(self);
    }
}

static void
ask_late(struct robot *self)
{
    turns_of(self)->mark = seen->now_ns + RGM_NS_PER_MS;
    rgm_sleep_for(&self->sleep, rgm_here(self), RGM_NS_PER_MS);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_late));
}

static void
wkr_13_a_long_handler_delays_its_worker_and_it_shows(void)
{
    struct turns turns;
    struct script root = {.started = ask_late, .test = turns_init(&turns)};

    turns.now_ns = 1000;
    fake_plan.now = case_clock;
    fake_plan.on_wait = jump;
    run(1, &root);
    rgi_check(turns.served == 2);
}

/* ------------------------------------------------------ sleeps on both sides */

/* The first thing a fresh worker does is a short sleep; and none at all, and
 * one that is over before it was asked. */
static void
field_b13_a_first_sleep_of_any_length_ends(void)
{
    static const uint64_t durations_ns[] = {0, 1, 1000, RGM_NS_PER_MS};

    for (unsigned i = 0; i < 4; i++) {
        struct rgm_runtime *runtime;
        struct rgm_sleep sleep;

        fake_reset();
        runtime = rig_make(1);
        rgi_check(rgm_runtime_start(runtime) == 0);
        rgm_sleep_for(&sleep, rgm_worker_address(0), durations_ns[i]);
        rgi_check(rgm_call(runtime, &sleep) == 0);
        rgm_sleep_until(&sleep, rgm_worker_address(0), 1);
        rgi_check(rgm_call(runtime, &sleep) == 0);
        rgm_runtime_stop(runtime);
        rgi_check(rgm_runtime_wait(runtime) == 0);
        rig_destroy(runtime);
    }
}

/* Cancelled before it is due, when it is due, and after. */
RGM_ANSWER(robot, rgm_sleep, on_cancelled);

static void
on_cancelled(struct robot *self, struct rgm_sleep *sleep)
{
    struct turns *turns = turns_of(self);

    rgm_cancel(self, sleep); /* it is home: nothing happens */
    turns->served++;
    if (turns->served == 1) {
        rgi_check(rgm_status(sleep) == -ECANCELED);
        rgm_sleep_for(sleep, rgm_here(self), 5);
        rgm_ask(self, sleep, RGM_REPLY(robot, rgm_sleep, on_cancelled));
        seen->now_ns += 10; /* due, and not yet told */
        rgm_cancel(self, sleep);
        rgm_cancel(self, sleep);
    } else {
        rgi_check(rgm_status(sleep) == 0);
        stop_runtime(self);
    }
}

static void
cancel_at_once(struct robot *self)
{
    rgm_cancel(self, &self->sleep);
    rgm_sleep_for(&self->sleep, rgm_here(self), 1000);
    rgm_cancel(self, &self->sleep);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_cancelled));
    rgm_cancel(self, &self->sleep);
}

static void
field_b14_a_cancel_is_answered_before_during_and_after(void)
{
    struct turns turns;
    struct script root = {.started = cancel_at_once,
                          .test = turns_init(&turns)};

    turns.now_ns = 1000;
    fake_plan.now = case_clock;
    fake_plan.on_wait = jump;
    run(1, &root);
    rgi_check(turns.served == 2);
}

/* A sleep of nothing, asked again in its own answer: others get their turn. */
RGM_ANSWER(robot, rgm_sleep, on_nothing);

static void
on_nothing(struct robot *self, struct rgm_sleep *sleep)
{
    turns_of(self)->count++;
    if (turns_of(self)->served < 100)
        rgm_ask(self, sleep, RGM_REPLY(robot, rgm_sleep, on_nothing));
    else
        stop_runtime(self);
}

static void
count_own(struct robot *self, struct note *note)
{
    (void)note;
    if (++turns_of(self)->served < 100)
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
sleep_for_nothing(struct robot *self)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), 0);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_nothing));
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
field_b79_a_sleep_of_nothing_lets_others_in_between(void)
{
    struct turns turns;
    struct script root = {.started = sleep_for_nothing,
                          .note = count_own,
                          .test = turns_init(&turns)};

    run(1, &root);
    rgi_check(turns.served == 100);
    rgi_check(turns.count >= 1 && turns.count <= 300);
}

/* At every edge of the clock, and from a clock that starts just below one. */
static void
field_b80_deadlines_near_every_edge_are_exact(void)
{
    static const uint64_t starts_ns[] = {
        1, (UINT64_C(1) << 31) - 3, (UINT64_C(1) << 32) - 3,
        (UINT64_C(1) << 63) - 3, UINT64_MAX - 100 * RGM_NS_PER_MS};

    for (unsigned i = 0; i < 5; i++) {
        struct turns turns;
        struct script root = {.started = ask_late, .test = turns_init(&turns)};

        turns.now_ns = starts_ns[i];
        fake_plan.now = case_clock;
        fake_plan.on_wait = jump;
        run(1, &root);
        rgi_check(turns.served == 2);
    }
}

/* Two turns to sleep, no more: a wait is not rounded down to a busy loop. */
RGM_ANSWER(robot, rgm_sleep, on_counted);

static void
on_counted(struct robot *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    turns_of(self)->sum =
        (long)(counters_of(self)->turns - turns_of(self)->mark);
    stop_runtime(self);
}

static void
sleep_counting_turns(struct robot *self)
{
    turns_of(self)->mark = counters_of(self)->turns;
    rgm_sleep_for(&self->sleep, rgm_here(self), 1500 * RGM_NS_PER_US);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_counted));
}

static void
field_b80_a_sleep_takes_two_turns(void)
{
    struct turns turns;
    struct script root = {.started = sleep_counting_turns,
                          .test = turns_init(&turns)};

    turns.now_ns = 1;
    fake_plan.now = case_clock;
    fake_plan.on_wait = jump;
    run(1, &root);
    rgi_check(turns.sum <= 2);
}

/* ----------------------------------------------------------------- fairness */

/* Two that never stop talking to each other, and one word from outside: it is
 * heard within so many deliveries of its being there. */
static void
chatter(struct robot *self, struct note *note)
{
    struct turns *turns = turns_of(self);

    (void)note;
    if (turns->served == 0 && rgi_inbox_has_mail(self->actor.worker->inbox))
        turns->count++;
    if (turns->served == 0)
        rgi_check(robot_send(self, turns->other, 0) == 0);
}

static void
hear(struct robot *self, struct note *note)
{
    (void)note;
    turns_of(self)->served = 1;
    stop_runtime(self);
}

static void *
say_one_word(void *argument)
{
    struct turns *turns = seen;
    struct rgm_guest guest;
    struct note note;

    while (sem_wait(&turns->gate) != 0)
        ;
    rgi_check(rgm_guest_open(argument, &guest) == 0);
    note_init(&note);
    rgi_check(rgm_send(&guest, turns->listens[0].request.message.to, &note) ==
              0);
    rgm_guest_close(&guest);
    return NULL;
}

static void
begin_chatter(struct robot *self)
{
    static struct script chatterer, hearer;
    struct turns *turns = turns_of(self);

    hearer = (struct script){.note = hear, .test = turns};
    chatterer = (struct script){.note = chatter, .test = turns};
    turns->listens[0].request.message.to = robot_spawn(self, &hearer);
    turns->other = robot_spawn(self, &chatterer);
    rgi_check(robot_send(self, turns->other, 0) == 0);
    rgi_check(pthread_create(&turns->thread, NULL, say_one_word,
                             self->actor.worker->runtime) == 0);
    sem_post(&turns->gate);
}

static void
wkr_16_endless_own_mail_does_not_shut_out_the_inbox(void)
{
    struct turns turns;
    struct script root = {.started = begin_chatter, .test = turns_init(&turns)};

    struct rgm_runtime *runtime = rig_make(1);

    sem_init(&turns.gate, 0, 0);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    pthread_join(turns.thread, NULL);
    rig_destroy(runtime);
    rgi_check(turns.served == 1);
    rgi_check(turns.count <= 64);
    sem_destroy(&turns.gate);
}

/* Two that pass a word on, in batches of one, and words from outside at every
 * step of a turn: each is heard after a few deliveries, not in the next turn. */
#define WORDS 32
#define PASSES_BETWEEN 17 /* a turn is 16: another step of it each time */
#define PASSES_UNHEARD 6

static void
pass_on(struct robot *self, struct note *note)
{
    struct turns *turns = turns_of(self);

    if (turns->served == WORDS)
        return;
    if (++turns->count % PASSES_BETWEEN == 0 && turns->mark == 0) {
        sem_post(&turns->gate);
        while (sem_wait(&turns->at_gate) != 0)
            ;
        turns->mark = (uint64_t)turns->count; /* it is in the inbox now */
    }
    rgi_check(robot_send(self, turns->pair[note->value], !note->value) == 0);
}

static void
overhear(struct robot *self, struct note *note)
{
    struct turns *turns = turns_of(self);

    (void)note;
    rgi_check(turns->mark != 0);
    if (turns->count - (long)turns->mark > turns->sum)
        turns->sum = turns->count - (long)turns->mark;
    turns->mark = 0;
    if (++turns->served == WORDS)
        stop_runtime(self);
}

static void *
say_words(void *argument)
{
    static struct note notes[WORDS];
    struct turns *turns = seen;
    struct rgm_guest guest;

    rgi_check(rgm_guest_open(argument, &guest) == 0);
    for (int i = 0; i < WORDS; i++) {
        while (sem_wait(&turns->gate) != 0)
            ;
        note_init(&notes[i]);
        rgi_check(rgm_send(&guest, turns->other, &notes[i]) == 0);
        sem_post(&turns->at_gate);
    }
    rgm_guest_close(&guest);
    return NULL;
}

static void
begin_passing(struct robot *self)
{
    static struct script passer, hearer;
    struct turns *turns = turns_of(self);

    hearer = (struct script){.note = overhear, .test = turns};
    passer = (struct script){.note = pass_on, .test = turns};
    turns->other = robot_spawn(self, &hearer);
    turns->pair[0] = robot_spawn(self, &passer);
    turns->pair[1] = robot_spawn(self, &passer);
    rgi_check(pthread_create(&turns->thread, NULL, say_words,
                             self->actor.worker->runtime) == 0);
    rgi_check(robot_send(self, turns->pair[0], 1) == 0);
}

static void
wkr_16_a_word_from_outside_is_heard_within_a_turn(void)
{
    struct turns turns;
    struct script root = {.started = begin_passing, .test = turns_init(&turns)};
    struct rgm_runtime *runtime = rig_make(1);

    sem_init(&turns.gate, 0, 0);
    sem_init(&turns.at_gate, 0, 0);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    pthread_join(turns.thread, NULL);
    rig_destroy(runtime);
    rgi_check(turns.served == WORDS);
    rgi_check(turns.sum <= PASSES_UNHEARD);
    sem_destroy(&turns.gate);
    sem_destroy(&turns.at_gate);
}

/* A flood of mail in every line, and a question of control between. */
static void
drown(struct robot *self, struct note *note)
{
    (void)note;
    turns_of(self)->count++;
}

static void
note_end(struct robot *self)
{
    turns_of(self)->served = 1;
    stop_runtime(self);
}

static void
flood_and_stop(struct robot *self)
{
    static struct script drowning;
    struct turns *turns = turns_of(self);
    unsigned sent = 0;

    drowning =
        (struct script){.note = drown, .stopped = note_end, .test = turns};
    while (sem_wait(&turns->at_gate) != 0)
        ;
    turns->other = robot_spawn_on(self, 1, &drowning);
    while (robot_send(self, turns->other, 0) == 0)
        sent++;
    rgi_check(sent == 4096);
    rgi_check(rgm_stop_actor(self, turns->other) == 0);
    rgm_flush(self);
    sem_post(&turns->gate);
}

/* Sent behind 4,096 messages, it acts before the first of them. */
static void
field_b38_control_overtakes_bulk(void)
{
    struct turns turns;
    struct script root = {.started = flood_and_stop,
                          .test = turns_init(&turns)};

    sem_init(&turns.gate, 0, 0);
    sem_init(&turns.at_gate, 0, 0);
    fake_plan.on_wait = stand_in_wait;
    run(2, &root);
    rgi_check(turns.served == 1 && turns.count == 0);
    sem_destroy(&turns.gate);
    sem_destroy(&turns.at_gate);
}

/* ------------------------------------------------------------------ idleness */

static void
spn_05_an_idle_runtime_does_nothing_at_all(void)
{
    struct rgm_runtime *runtime;
    struct rgm_runtime *observer;
    struct rgm_counters before, after;
    struct rgm_address address;
    struct rgm_sleep sleep;
    static const struct script idle = {.started = NULL};

    fake_reset();
    observer = rig_make(1);
    rgi_check(rgm_runtime_start(observer) == 0);
    runtime = rig_make(2);
    rgi_check(rgm_runtime_start(runtime) == 0);
    for (uint32_t i = 0; i < 2; i++)
        rgi_check(rgm_runtime_spawn(runtime, i, &robot_behaviour, &idle,
                                    &address) == 0);
    for (uint32_t i = 0; i < 2; i++)
        while (ck_pr_load_ptr(&runtime->places[i].inbox.head) !=
                   RGI_INBOX_ASLEEP ||
               ck_pr_load_64(&runtime->workers[i]->parked_ns) == 0)
            sched_yield(); /* its counters are told after the first of these */
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &before) == 0);
    rgm_sleep_for(&sleep, rgm_worker_address(0), 200 * RGM_NS_PER_MS);
    rgi_check(rgm_call(observer, &sleep) == 0);
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &after) == 0);
    rgi_check(after.turns == before.turns && after.parks == before.parks);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgm_runtime_stop(observer);
    rgi_check(rgm_runtime_wait(observer) == 0);
    rig_destroy(observer);
}

/* Spinning is looking: not at all when it is off, or a deadline is near. */
static void
spn_01_without_a_budget_nobody_looks(void)
{
    struct turns turns;
    struct script root = {.started = sleep_a_little,
                          .test = turns_init(&turns)};
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .spin_us = RGM_SPIN_OFF};
    struct rgm_runtime *runtime = rig_make_with(&options);
    struct rgm_counters counters;

    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rgi_check(counters.spins_hit == 0 && counters.spins_missed == 0);
    rgi_check(turns.served == 5);
    rig_destroy(runtime);
}

/* The case's clock: a spin sees time pass, by one look. */
static void
pass_time(struct fake *fake, uint64_t deadline_ns)
{
    if (deadline_ns == 0)
        seen->now_ns += 100;
    else
        jump(fake, deadline_ns);
}

static void
spn_04_a_spin_ends_by_its_budget_and_in_a_park(void)
{
    struct rgm_counters counters;
    struct turns turns;
    struct script root = {.started = sleep_a_little,
                          .test = turns_init(&turns)};
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .spin_us = 20};
    struct rgm_runtime *runtime = rig_make_with(&options);

    turns.now_ns = 1;
    fake_plan.now = case_clock;
    fake_plan.on_wait = pass_time;
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rig_destroy(runtime);
    rgi_check(counters.spins_missed >= 5);
    rgi_check(counters.spins_hit == 0);
    rgi_check(counters.parks >= 5);
}

/* Four microseconds, when five would be spun: the deadline is waited for. */
RGM_ANSWER(robot, rgm_sleep, on_short);

static void
on_short(struct robot *self, struct rgm_sleep *sleep)
{
    if (++turns_of(self)->served == 20)
        stop_runtime(self);
    else
        rgm_ask(self, sleep, RGM_REPLY(robot, rgm_sleep, on_short));
}

static void
sleep_shortly(struct robot *self)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), 4 * RGM_NS_PER_US);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_short));
}

static void
spn_04_nobody_spins_past_a_deadline(void)
{
    struct rgm_counters counters;
    struct turns turns;
    struct script root = {.started = sleep_shortly, .test = turns_init(&turns)};
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .spin_us = 20};
    struct rgm_runtime *runtime = rig_make_with(&options);

    turns.now_ns = 1;
    fake_plan.now = case_clock;
    fake_plan.on_wait = pass_time;
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rig_destroy(runtime);
    rgi_check(counters.spins_hit == 0 && counters.spins_missed == 0);
}

#define CASES(X)                                                               \
    X(turn, wkr_01_what_is_woken_meanwhile_is_in_a_later_batch)                \
    X(turn, wkr_02_one_that_wakes_itself_does_not_keep_others_waiting)         \
    X(turn, field_b34_a_handler_that_feeds_itself_leaves_others_their_share)   \
    X(turn, field_b34_a_chain_of_spawns_leaves_the_provider_its_share)         \
    X(turn, wkr_04_an_idle_worker_waits_without_looking_first)                 \
    X(turn, wkr_05_all_completions_are_published_before_anybody_runs)          \
    X(turn, wkr_07_mail_completions_timers_and_a_stop_end_the_wait)            \
    X(turn, wkr_08_waking_oneself_rings_no_bell)                               \
    X(turn, wkr_09_a_thousand_sends_to_a_sleeper_ring_once)                    \
    X(turn, wkr_11_a_worker_knows_itself_and_rings_for_its_sibling)            \
    X(turn, wkr_12_whatever_may_wake_somebody_keeps_the_worker_awake)          \
    X(turn, mbx_05_what_the_quota_leaves_over_keeps_the_worker_awake)          \
    X(turn, mbx_14_an_operation_carried_out_elsewhere_is_answered_here)        \
    X(turn, field_b05_the_least_of_work_keeps_a_worker_awake)                  \
    X(turn, field_b31_a_refused_send_is_not_tried_for_ever_in_one_turn)        \
    X(turn, field_b35_ticks_come_in_time_on_a_busy_worker)                     \
    X(turn, wkr_13_a_long_handler_delays_its_worker_and_it_shows)              \
    X(turn, wkr_16_endless_own_mail_does_not_shut_out_the_inbox)               \
    X(turn, wkr_16_a_word_from_outside_is_heard_within_a_turn)                 \
    X(turn, field_b13_a_first_sleep_of_any_length_ends)                        \
    X(turn, field_b14_a_cancel_is_answered_before_during_and_after)            \
    X(turn, field_b38_control_overtakes_bulk)                                  \
    X(turn, field_b79_a_sleep_of_nothing_lets_others_in_between)               \
    X(turn, field_b80_deadlines_near_every_edge_are_exact)                     \
    X(turn, field_b80_a_sleep_takes_two_turns)                                 \
    X(turn, spn_01_without_a_budget_nobody_looks)                              \
    X(turn, spn_04_a_spin_ends_by_its_budget_and_in_a_park)                    \
    X(turn, spn_04_nobody_spins_past_a_deadline)                               \
    X(turn, spn_05_an_idle_runtime_does_nothing_at_all)

RGI_CASES(CASES)
