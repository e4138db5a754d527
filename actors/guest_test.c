/* SPDX-License-Identifier: MIT */

/*
 * guest_test.c - may a plain thread do what an actor may, and come to no harm?
 */

#include <pthread.h>
#include <sched.h>

#include "actors/rig.h"

struct visit {
    struct rgm_runtime *runtime;
    struct rgm_address host;
    unsigned answers, returns;
    int last_status, card_status;
    long sum;
};

/* A note that tells its visit when it is home. */
struct card {
    struct rgm_message message;
    struct visit *visit;
};
RGM_MESSAGE_RETURNED(card, card_home);

static void
card_home(struct card *card, int status)
{
    card->visit->returns++;
    card->visit->card_status = status;
}

static void
add_one(struct robot *self, struct question *question)
{
    question->value++;
    rgm_reply(self, question, 0);
}

static const struct script host_script = {.question = add_one};

static void
visit_open(struct visit *visit, uint32_t workers)
{
    memset(visit, 0, sizeof(*visit));
    fake_reset();
    visit->runtime = rig_make(workers);
    rgi_check(rgm_runtime_start(visit->runtime) == 0);
    rgi_check(rgm_runtime_spawn(visit->runtime, workers - 1, &robot_behaviour,
                                &host_script, &visit->host) == 0);
}

static void
visit_end(struct visit *visit)
{
    rgm_runtime_stop(visit->runtime);
    rgi_check(rgm_runtime_wait(visit->runtime) == 0);
    rig_destroy(visit->runtime);
}

/* ------------------------------------------------------------------- a guest */

static void
on_answer(struct rgm_actor *self, struct rgm_request *request)
{
    struct question *question = (struct question *)(void *)request;
    struct visit *visit = question->about;

    (void)self;
    visit->answers++;
    visit->last_status = rgm_status(question);
    visit->sum += question->value;
}

static void
ask(struct rgm_guest *guest, struct visit *visit, struct question *question,
    long value)
{
    question_prepare(question, visit->host);
    question->value = value;
    question->about = visit;
    rgm_ask_request(&guest->actor, &question->request, on_answer);
}

static void
a_guest_asks_and_is_answered(void)
{
    struct visit visit;
    struct rgm_guest guest;
    struct question questions[10];

    visit_open(&visit, 2);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    rgi_check(rgm_guest_wait(&guest) == 0);
    for (unsigned i = 0; i < 10; i++)
        ask(&guest, &visit, &questions[i], i);
    while (visit.answers < 10)
        rgi_check(rgm_guest_wait(&guest) > 0);
    rgi_check(visit.sum == 55 && visit.last_status == 0);
    rgi_check(rgm_guest_wait(&guest) == 0);
    rgm_guest_close(&guest);
    visit_end(&visit);
}

static void
closing_waits_until_all_is_home(void)
{
    struct visit visit;
    struct rgm_guest guest;
    struct question questions[100];

    visit_open(&visit, 2);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    for (unsigned i = 0; i < 100; i++) {
        struct card *card = card_take(&guest.actor, i * 10);

        card->visit = &visit;
        rgi_check(rgm_send(&guest, visit.host, card) == 0);
        ask(&guest, &visit, &questions[i], 0);
    }
    rgm_guest_close(&guest);
    rgi_check(visit.answers == 100 && visit.sum == 100);
    rgi_check(visit.returns == 100 && visit.card_status == -ENOSYS);
    visit_end(&visit);
}

/* What is answered at once never reached anybody. */
static void
a_guest_is_told_of_what_cannot_be_asked(void)
{
    struct visit visit;
    struct rgm_guest guest;
    struct question question;
    struct note note;
    struct rgm_address nobody = {0};

    visit_open(&visit, 1);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    visit.host = rgi_address_make(50, 1, 1);
    ask(&guest, &visit, &question, 0);
    rgi_check(rgm_guest_wait(&guest) == 1);
    rgi_check(visit.answers == 1 && visit.last_status == -ESRCH);
    ask(&guest, &visit, &question, 0);
    rgm_guest_close(&guest);
    rgi_check(visit.answers == 2);

    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    note_init(&note);
    rgi_check(rgm_send(&guest, visit.host, &note) == -ESRCH);
    rgi_check(rgm_send(&guest, rgm_self(&guest), &note) == -ESRCH);
    visit.host = nobody;
    ask(&guest, &visit, &question, 0);
    rgm_guest_close(&guest);
    rgi_check(visit.answers == 3 && visit.last_status == -ESRCH);
    visit_end(&visit);
}

/* Spawning blocks; what comes home meanwhile is delivered afterwards. */
static void
answers_that_come_during_a_spawn_are_not_lost(void)
{
    struct visit visit;
    struct rgm_guest guest;
    struct question questions[5];
    struct rgm_address address;

    visit_open(&visit, 1);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    for (unsigned i = 0; i < 5; i++)
        ask(&guest, &visit, &questions[i], 0);
    rgi_check(rgm_spawn(&guest, &robot_behaviour, &host_script, &address) == 0);
    rgi_check(
        rgm_spawn_on(&guest, 0, &robot_behaviour, &host_script, &address) == 0);
    rgi_check(guest.actor.worker->messages_out == 0);
    rgi_check(visit.answers == 0);
    rgm_guest_close(&guest);
    rgi_check(visit.answers == 5);
    visit_end(&visit);
}

static void
a_guest_may_use_an_order(void)
{
    struct visit visit;
    struct rgm_guest guest;
    struct rgm_order order;
    struct question questions[20];

    visit_open(&visit, 2);
    rgm_order_init(&order, 20);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    for (unsigned i = 0; i < 20; i++) {
        question_prepare(&questions[i], visit.host);
        questions[i].about = &visit;
        questions[i].value = 0;
        if (i % 2 == 0)
            rgm_ask_request_in(&guest.actor, &order, &questions[i].request,
                               on_answer);
        else
            rgm_answered_request_in(&guest.actor, &order, &questions[i].request,
                                    0, on_answer);
    }
    rgm_guest_close(&guest);
    rgi_check(visit.answers == 20 && visit.sum == 10 && order.count == 0);
    visit_end(&visit);
}

/* -------------------------------------------------------------------- lanes */

static void
a_guest_waits_for_allowance_like_anybody(void)
{
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .lane_messages = 3};
    struct visit visit = {.answers = 0};
    struct rgm_guest guest;
    struct question questions[50];

    fake_reset();
    visit.runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(visit.runtime) == 0);
    rgi_check(rgm_runtime_spawn(visit.runtime, 0, &robot_behaviour,
                                &host_script, &visit.host) == 0);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    for (unsigned i = 0; i < 50; i++)
        ask(&guest, &visit, &questions[i], 0);
    rgm_guest_close(&guest);
    rgi_check(visit.answers == 50 && visit.last_status == 0);
    visit_end(&visit);
}

/* -------------------------------------------------------------------- calls */

static void
a_call_blocks_for_the_answer(void)
{
    struct visit visit;
    struct question question;
    struct rgm_sleep sleep;

    visit_open(&visit, 2);
    question_prepare(&question, visit.host);
    question.value = 41;
    rgi_check(rgm_call(visit.runtime, &question) == 0);
    rgi_check(question.value == 42);
    rgm_sleep_for(&sleep, rgm_worker_address(1), RGM_NS_PER_MS);
    rgi_check(rgm_call(visit.runtime, &sleep) == 0);
    rgm_sleep_for(&sleep, rgm_worker_address(1), RGM_NEVER);
    rgi_check(rgm_call(visit.runtime, &sleep) == -EINVAL);
    rgi_check(rgm_runtime_stop_actor(visit.runtime, visit.host) == 0);
    do {
        question_prepare(&question, visit.host);
    } while (rgm_call(visit.runtime, &question) == 0);
    rgi_check(rgm_status(&question) == -ESRCH);
    visit_end(&visit);
    rgi_check(rgi_memory_live() == 0);
}

struct blocked {
    int call, open, spawn, stop, wait;
};

static void
try_to_block(struct robot *self)
{
    struct blocked *blocked = test_of(self);
    struct rgm_runtime *runtime = self->actor.worker->runtime;
    struct question question;
    struct rgm_guest guest;
    struct rgm_address address;

    question_prepare(&question, rgm_self(self));
    blocked->call = rgm_call(runtime, &question);
    blocked->open = rgm_guest_open(runtime, &guest);
    blocked->spawn =
        rgm_runtime_spawn(runtime, 0, &robot_behaviour, self->script, &address);
    blocked->stop = rgm_runtime_stop_actor(runtime, rgm_self(self));
    blocked->wait = rgm_runtime_wait(runtime);
    rgi_check(rgm_runtime_destroy(runtime) == -EBUSY);
    rgi_check(question.request.message.state == RGI_MESSAGE_HOME);
    rgm_stop(self);
}

static void
opl_19_a_worker_refuses_to_block(void)
{
    struct blocked blocked = {0};
    struct script root = {.started = try_to_block, .test = &blocked};

    rig_run(1, &root);
    rgi_check(blocked.call == -EDEADLK && blocked.open == -EDEADLK);
    rgi_check(blocked.spawn == -EDEADLK && blocked.stop == -EDEADLK);
    rgi_check(blocked.wait == -EDEADLK);
}

static void *
call_once(void *argument)
{
    struct visit *visit = argument;
    struct rgm_address address;

    visit->last_status = rgm_runtime_spawn(visit->runtime, 0, &robot_behaviour,
                                           &host_script, &address);
    return NULL;
}

/* Until something of the thread's has been pushed to worker 0. */
static void
await_push(struct rgm_runtime *runtime)
{
    while (!rgi_inbox_has_mail(&runtime->places[0].inbox))
        sched_yield();
}

static void
a_spawn_before_the_start_waits_for_it(void)
{
    struct visit visit = {.last_status = 1};
    pthread_t thread;

    fake_reset();
    visit.runtime = rig_make(1);
    rgi_check(pthread_create(&thread, NULL, call_once, &visit) == 0);
    await_push(visit.runtime);
    rgi_check(rgm_runtime_start(visit.runtime) == 0);
    pthread_join(thread, NULL);
    rgi_check(visit.last_status == 0);
    visit_end(&visit);
}

static void
a_spawn_before_a_failed_start_is_told(void)
{
    struct visit visit = {.last_status = 1};
    pthread_t thread;

    fake_reset();
    fake_plan.open_error = -ENOSYS;
    visit.runtime = rig_make(2);
    rgi_check(pthread_create(&thread, NULL, call_once, &visit) == 0);
    await_push(visit.runtime);
    rgi_check(rgm_runtime_start(visit.runtime) == -ENOSYS);
    pthread_join(thread, NULL);
    rgi_check(visit.last_status == -EPIPE);
    rig_destroy(visit.runtime);
}

/* ------------------------------------------------------------- after the end */

static void
mbx_12_a_closed_runtime_sends_mail_back(void)
{
    struct visit visit;
    struct rgm_guest guest, late;
    struct question questions[3];
    struct card card;
    struct rgm_address address = {7};

    visit_open(&visit, 2);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    rgm_runtime_stop(visit.runtime);
    rgi_check(rgm_runtime_wait(visit.runtime) == 0);
    rgi_check(rgm_runtime_destroy(visit.runtime) == -EBUSY);
    for (unsigned i = 0; i < 3; i++)
        ask(&guest, &visit, &questions[i], 0);
    card_init(&card);
    card.visit = &visit;
    rgi_check(rgm_send(&guest, visit.host, &card) == 0);
    rgi_check(rgm_spawn(&guest, &robot_behaviour, &host_script, &address) ==
              -EPIPE);
    rgi_check(address.bits == 7);
    rgi_check(rgm_stop_actor(&guest, visit.host) == 0);
    rgm_guest_close(&guest);
    rgi_check(visit.answers == 3 && visit.returns == 1);
    rgi_check(visit.last_status == -EPIPE && visit.card_status == -EPIPE);
    rgi_check(rgm_guest_open(visit.runtime, &late) == -EPIPE);
    question_prepare(&questions[0], visit.host);
    rgi_check(rgm_call(visit.runtime, &questions[0]) == -EPIPE);
    rig_destroy(visit.runtime);
}

/* The answer was given while the runtime lived; it is read long after. */
static void
tsk_18_an_answer_is_there_after_the_end(void)
{
    struct visit visit;
    struct rgm_guest guest;
    struct question question;

    visit_open(&visit, 2);
    rgi_check(rgm_guest_open(visit.runtime, &guest) == 0);
    ask(&guest, &visit, &question, 6);
    rgm_runtime_stop(visit.runtime);
    rgi_check(rgm_runtime_wait(visit.runtime) == 0);
    rgi_check(visit.answers == 0);
    rgm_guest_close(&guest);
    rig_destroy(visit.runtime);
    rgi_check(visit.answers == 1);
    if (rgm_status(&question) == 0)
        rgi_check(question.value == 7);
    else
        rgi_check(rgm_status(&question) == -EPIPE ||
                  rgm_status(&question) == -ESRCH);
}

static void *
sleep_long(void *argument)
{
    struct visit *visit = argument;
    struct rgm_sleep sleep;

    rgm_sleep_for(&sleep, rgm_worker_address(1), 3600 * RGM_NS_PER_S);
    visit->last_status = rgm_call(visit->runtime, &sleep);
    return NULL;
}

/* A sleep on a closing worker does not keep it, and is told the difference. */
static void
a_call_under_way_ends_when_its_worker_closes(void)
{
    struct visit visit;
    pthread_t thread;
    struct rgm_counters counters;

    visit_open(&visit, 2);
    rgi_check(pthread_create(&thread, NULL, sleep_long, &visit) == 0);
    do {
        sched_yield();
        rgi_check(rgm_runtime_counters(visit.runtime, 1, &counters) == 0);
    } while (counters.operations == 0);
    rgm_runtime_stop(visit.runtime);
    rgi_check(rgm_runtime_wait(visit.runtime) == 0);
    pthread_join(thread, NULL);
    rgi_check(visit.last_status == -EPIPE);
    rig_destroy(visit.runtime);
}

/* --------------------------------------------------------------- many guests */

static void
numbers_of_guests_run_out_and_come_back(void)
{
    static struct rgm_guest guests[RGM_GUESTS_MAX + 1];
    struct visit visit;
    struct question question;

    visit_open(&visit, 1);
    for (unsigned i = 0; i < RGM_GUESTS_MAX; i++)
        rgi_check(rgm_guest_open(visit.runtime, &guests[i]) == 0);
    rgi_check(rgm_guest_open(visit.runtime, &guests[RGM_GUESTS_MAX]) ==
              -EAGAIN);
    question_prepare(&question, visit.host);
    rgi_check(rgm_call(visit.runtime, &question) == -EAGAIN);
    rgi_check(question.request.message.state == RGI_MESSAGE_HOME);
    ask(&guests[RGM_GUESTS_MAX - 1], &visit, &question, 1);
    rgm_guest_close(&guests[RGM_GUESTS_MAX - 1]);
    rgi_check(visit.answers == 1);
    rgi_check(rgm_call(visit.runtime, &question) == 0);
    for (unsigned i = 0; i < RGM_GUESTS_MAX - 1; i++)
        rgm_guest_close(&guests[i]);
    visit_end(&visit);
}

static void *
be_a_guest_again_and_again(void *argument)
{
    const struct visit *visit = argument;

    for (uint64_t i = rgi_scale(10000); i > 0; i--) {
        struct visit mine = *visit;
        struct rgm_guest guest;
        struct question questions[3];
        struct card *card;

        rgi_check(rgm_guest_open(mine.runtime, &guest) == 0);
        for (unsigned j = 0; j < 3; j++)
            ask(&guest, &mine, &questions[j], j);
        card = card_take(&guest.actor, 100);
        card->visit = &mine;
        rgi_check(rgm_send(&guest, mine.host, card) == 0);
        if (i % 2 == 0)
            (void)rgm_guest_wait(&guest);
        rgm_guest_close(&guest);
        rgi_check(mine.answers == 3 && mine.sum == 6 && mine.returns == 1);
    }
    return NULL;
}

#define CROWD 16

static void
many_guests_come_and_go_at_once(void)
{
    struct visit visit;
    pthread_t threads[CROWD];

    visit_open(&visit, 2);
    for (unsigned i = 0; i < CROWD; i++)
        rgi_check(pthread_create(&threads[i], NULL, be_a_guest_again_and_again,
                                 &visit) == 0);
    for (unsigned i = 0; i < CROWD; i++)
        pthread_join(threads[i], NULL);
    visit_end(&visit);
}

#define CASES(X)                                                               \
    X(guest, a_guest_asks_and_is_answered)                                     \
    X(guest, closing_waits_until_all_is_home)                                  \
    X(guest, a_guest_is_told_of_what_cannot_be_asked)                          \
    X(guest, answers_that_come_during_a_spawn_are_not_lost)                    \
    X(guest, a_guest_may_use_an_order)                                         \
    X(guest, a_guest_waits_for_allowance_like_anybody)                         \
    X(guest, a_call_blocks_for_the_answer)                                     \
    X(guest, opl_19_a_worker_refuses_to_block)                                 \
    X(guest, a_spawn_before_the_start_waits_for_it)                            \
    X(guest, a_spawn_before_a_failed_start_is_told)                            \
    X(guest, mbx_12_a_closed_runtime_sends_mail_back)                          \
    X(guest, tsk_18_an_answer_is_there_after_the_end)                          \
    X(guest, a_call_under_way_ends_when_its_worker_closes)                     \
    X(guest, numbers_of_guests_run_out_and_come_back)                          \
    X(guest, many_guests_come_and_go_at_once)

RGI_CASES(CASES)
