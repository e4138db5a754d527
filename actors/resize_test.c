/* SPDX-License-Identifier: MIT */

/*
 * resize_test.c - do workers come and go, and is nothing lost with them?
 *
 * The provider is the fake one: who comes can be made to fail, and a worker's
 * operations end when the case says so.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include <ringmail/resize.h>
#include <ringmail/task.h>

#include "actors/rig.h"

static struct rgm_runtime *
begin_with(const struct rgm_runtime_options *options)
{
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make_with(options);
    rgi_check(rgm_runtime_start(runtime) == 0);
    return runtime;
}

static struct rgm_runtime *
begin(uint32_t workers, uint32_t workers_max)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .workers_max = workers_max,
                                          .provider = &fake_class};

    return begin_with(&options);
}

static void
end(struct rgm_runtime *runtime)
{
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

static void
resize(struct rgm_runtime *runtime, uint32_t workers)
{
    rgi_check(rgm_runtime_resize(runtime, workers) == 0);
    rgi_check(rgm_runtime_workers(runtime) == workers);
}

/* Returns when those that retired have ended. */
static void
resize_until_gone(struct rgm_runtime *runtime, uint32_t workers)
{
    struct rgm_resize request;

    rgm_resize_to(&request, workers);
    request.until_gone = true;
    rgi_check(rgm_call(runtime, &request) == 0);
    rgi_check(rgm_runtime_workers(runtime) == workers);
    rgi_check(rgm_runtime_threads(runtime) == workers);
}

static struct rgm_address
spawn_on(struct rgm_runtime *runtime, uint32_t worker,
         const struct script *script)
{
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(runtime, worker, &robot_behaviour, script,
                                &address) == 0);
    return address;
}

/* Ask the actor and return the answer's status. */
static int
ask(struct rgm_runtime *runtime, struct rgm_address to,
    struct question *question)
{
    question_prepare(question, to);
    question->value = 0;
    return rgm_call(runtime, question);
}

/* ------------------------------------------------------------ up and down */

static void
up_and_down_with_nobody_there(void)
{
    struct rgm_runtime *runtime = begin(1, 8);

    resize(runtime, 1); /* no change is an answer, too */
    resize(runtime, 8);
    rgi_check(rgm_runtime_live(runtime) == 0xff);
    rgi_check(rgm_runtime_threads(runtime) == 8);
    resize_until_gone(runtime, 3);
    rgi_check(rgm_runtime_live(runtime) == 0x7);
    resize_until_gone(runtime, 5);
    resize_until_gone(runtime, 1);
    rgi_check(atomic_load(&fake_plan.opened) == 10);
    rgi_check(atomic_load(&fake_plan.closed) == 9);
    end(runtime);
    rgi_check(atomic_load(&fake_plan.closed) == 10);
}

static void
many_times_in_a_row(void)
{
    struct rgm_runtime *runtime = begin(1, 8);
    uint32_t source = 1;

    for (unsigned i = 0; i < rgi_scale(10000); i++) {
        source = source * 1664525 + 1013904223;
        resize(runtime, 1 + (source >> 24) % 8);
    }
    resize_until_gone(runtime, 1);
    end(runtime);
}

static void
counts_that_make_no_sense_are_refused(void)
{
    struct rgm_runtime *runtime = begin(2, 4);

    rgi_check(rgm_runtime_resize(runtime, 0) == -EINVAL);
    rgi_check(rgm_runtime_resize(runtime, 5) == -EINVAL);
    rgi_check(rgm_runtime_resize(runtime, RGM_WORKERS_MAX + 1) == -EINVAL);
    rgi_check(rgm_runtime_workers(runtime) == 2);
    resize(runtime, 4);
    end(runtime);
}

/* ------------------------------------------------- a new worker is usable */

struct company {
    struct rgm_runtime *runtime;
    struct rgm_resize resize;
    struct rgm_address address;
    atomic_uint heard, answered, retired, stopped;
    uint32_t to;
    uint32_t threads;
    pthread_t thread;
    int status;
};

#define company_of(self) ((struct company *)test_of(self))

RGM_ANSWER(robot, rgm_resize, on_resized);

static void
answers(struct robot *self, struct question *question)
{
    question->value = rgm_worker_number(&self->actor);
    rgm_reply(self, question, 0);
}

static const struct script answering = {.question = answers};

RGM_ANSWER(robot, question, on_answered);

static void
on_answered(struct robot *self, struct question *question)
{
    struct company *company = company_of(self);

    rgi_check(question->request.message.status == 0);
    rgi_check(question->value == company->to - 1);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
on_resized(struct robot *self, struct rgm_resize *request)
{
    struct company *company = company_of(self);

    rgi_check(request->operation.request.message.status == 0);
    rgi_check(rgm_workers_count(&self->actor) == company->to);
    for (uint32_t i = 0; i < company->to; i++)
        company->address = robot_spawn_on(self, i, &answering);
    question_prepare(&self->question, company->address);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_answered));
}

static void
grow_as_a_request(struct robot *self)
{
    struct company *company = company_of(self);

    rgm_resize_to(&company->resize, company->to);
    rgm_ask(self, &company->resize, RGM_REPLY(robot, rgm_resize, on_resized));
}

static void
rsz_05_an_actor_asks_and_is_answered_when_all_can_spawn_there(void)
{
    struct company company = {.to = 6};
    struct script boss = {.started = grow_as_a_request, .test = &company};

    rig_run(2, &boss);
}

static void
try_to_block(struct robot *self)
{
    struct company *company = company_of(self);

    company->status = rgm_runtime_resize(self->actor.worker->runtime, 2);
    rgm_stop(self);
}

static void
rsz_05_the_blocking_form_is_refused_on_a_worker(void)
{
    struct company company = {.status = 0};
    struct script boss = {.started = try_to_block, .test = &company};

    rig_run(1, &boss);
    rgi_check(company.status == -EDEADLK);
}

/* --------------------------------------------------- retiring takes its time */

static void
stay(struct robot *self)
{
    atomic_fetch_add(&company_of(self)->retired, 1);
}

/* "Go" is value 1; anything else is answered from here. */
static void
answer_or_go(struct robot *self, struct question *question)
{
    if (question->value == 1)
        rgm_stop(self);
    answers(self, question);
}

static void
rsz_01_the_smaller_count_shows_at_once_the_thread_stays(void)
{
    struct company company = {.to = 0};
    struct script stays = {.question = answer_or_go,
                           .retiring = stay,
                           .test = &company};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address address = spawn_on(runtime, 1, &stays);
    struct question question;

    resize(runtime, 1);
    rgi_check(atomic_load(&company.retired) <= 1);
    for (unsigned i = 0; i < 100; i++) {
        rgi_check(ask(runtime, address, &question) == 0);
        rgi_check(question.value == 1); /* where it always was */
        rgi_check(rgm_runtime_threads(runtime) == 2);
    }
    rgi_check(atomic_load(&company.retired) == 1);
    question_prepare(&question, address);
    question.value = 1;
    rgi_check(rgm_call(runtime, &question) == 0);
    resize_until_gone(runtime, 1);
    end(runtime);
}

static void
rsz_02_who_retires_gets_no_new_placement(void)
{
    struct company company = {.to = 0};
    struct script stays = {.question = answer_or_go,
                           .retiring = stay,
                           .test = &company};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address address = spawn_on(runtime, 1, &stays);
    struct question question;

    resize(runtime, 1);
    for (unsigned i = 0; i < 20; i++)
        rgi_check(rgm_address_worker(spawn_on(runtime, RGM_ANY_WORKER,
                                              &answering)) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 1, &robot_behaviour, &answering,
                                &company.address) == -EPIPE);
    question_prepare(&question, address);
    question.value = 1;
    rgi_check(rgm_call(runtime, &question) == 0);
    resize_until_gone(runtime, 1);
    rgi_check(rgm_runtime_spawn(runtime, 1, &robot_behaviour, &answering,
                                &company.address) == -EPIPE);
    end(runtime);
}

struct grower {
    struct rgm_runtime *runtime;
    atomic_bool done;
};

static void *
grow_to_two(void *argument)
{
    struct grower *grower = argument;

    rgi_check(rgm_runtime_resize(grower->runtime, 2) == 0);
    atomic_store(&grower->done, true);
    return NULL;
}

static void
rsz_04_growing_waits_for_the_number_and_generations_go_on(void)
{
    struct company company = {.to = 0};
    struct script stays = {.question = answer_or_go,
                           .retiring = stay,
                           .test = &company};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address address = spawn_on(runtime, 1, &stays), next;
    struct grower grower = {.runtime = runtime};
    struct question question;
    uint32_t identity = runtime->workers[1]->identity;
    pthread_t thread;

    resize(runtime, 1);
    rgi_check(pthread_create(&thread, NULL, grow_to_two, &grower) == 0);
    for (unsigned i = 0; i < 100; i++) {
        rgi_check(ask(runtime, address, &question) == 0);
        rgi_check(!atomic_load(&grower.done));
        rgi_check(rgm_runtime_workers(runtime) == 1);
    }
    question_prepare(&question, address);
    question.value = 1;
    rgi_check(rgm_call(runtime, &question) == 0);
    pthread_join(thread, NULL);
    rgi_check(rgm_runtime_workers(runtime) == 2);
    rgi_check(runtime->workers[1]->identity > identity);
    next = spawn_on(runtime, 1, &answering);
    rgi_check(rgm_address_worker(next) == 1 && next.bits != address.bits);
    rgi_check(ask(runtime, next, &question) == 0);
    rgi_check(ask(runtime, address, &question) == -ESRCH);
    end(runtime);
}

static void
rsz_06_mail_for_one_that_has_closed_comes_home_with_an_error(void)
{
    struct rgm_runtime *runtime = begin(3, 3);
    struct rgm_address gone = spawn_on(runtime, 2, &answering);
    struct question question;

    rgi_check(ask(runtime, gone, &question) == 0);
    resize_until_gone(runtime, 2);
    rgi_check(ask(runtime, gone, &question) == -EPIPE);
    resize(runtime, 3);
    rgi_check(ask(runtime, gone, &question) == -ESRCH);
    end(runtime);
}

/* A handle of the last worker of a number means nothing to the next one. */
static void
a_stale_handle_is_refused_by_the_next_worker(void)
{
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_read read;
    struct rgm_stream stream = {.socket = {.open = 1, .kind = 1}};
    char byte;

    stream.socket.worker =
        rgi_address_make(1, 0, runtime->workers[1]->identity);
    resize_until_gone(runtime, 1);
    resize(runtime, 2);
    rgm_stream_read(&read, &stream, &byte, 1);
    rgi_check(rgm_call(runtime, &read) == -EINVAL);
    end(runtime);
}

/* ------------------------------------------------------------ what can fail */

static void
who_cannot_come_leaves_all_as_it_was(void)
{
    struct rgm_runtime *runtime = begin(2, 8);
    struct rgm_address address;
    struct question question;

    fake_plan.open_error = -EMFILE;
    fake_plan.open_error_at = 4; /* 2 and 3 come, and have to go */
    rgi_check(rgm_runtime_resize(runtime, 6) == -EMFILE);
    rgi_check(rgm_runtime_workers(runtime) == 2);
    rgi_check(rgm_runtime_spawn(runtime, 3, &robot_behaviour, &answering,
                                &address) == -EPIPE);
    fake_plan.open_error = 0;
    resize(runtime, 6);
    address = spawn_on(runtime, 5, &answering);
    rgi_check(ask(runtime, address, &question) == 0);
    end(runtime);
}

/* So whoever tries again and again uses up none of what is there for all workers of
 * the process (abroad.c). */
static void
met_04_who_cannot_come_keeps_its_identity(void)
{
    struct rgm_runtime *runtime = begin(1, 2);
    uint32_t identity = 0;

    fake_plan.open_error = -EMFILE;
    fake_plan.open_error_at = 1;
    for (unsigned i = 0; i < 3; i++) {
        rgi_check(rgm_runtime_resize(runtime, 2) == -EMFILE);
        rgi_check(i == 0 || runtime->workers[1]->identity == identity);
        identity = runtime->workers[1]->identity;
    }
    fake_plan.open_error = 0;
    resize(runtime, 2);
    rgi_check(runtime->workers[1]->identity == identity);
    resize_until_gone(runtime, 1);
    resize(runtime, 2);
    rgi_check(runtime->workers[1]->identity != identity);
    end(runtime);
}

static void
any_allocation_of_a_growth_may_fail(void)
{
    unsigned nth = 0;
    bool failed;

    do {
        struct rgm_runtime *runtime = begin(1, 3);
        int status;

        rgi_memory_fail_nth(++nth);
        status = rgm_runtime_resize(runtime, 3);
        failed = rgi_memory_fail_off();
        rgi_check(status == 0 || (status == -ENOMEM && failed));
        rgi_check(rgm_runtime_workers(runtime) == (status == 0 ? 3 : 1));
        resize(runtime, 3);
        end(runtime);
    } while (failed);
    rgi_check(nth > 10);
}

/* ---------------------------------------------------- with a stop, in a race */

static void *
stop_it(void *argument)
{
    rgm_runtime_stop(argument);
    return NULL;
}

static void
a_stop_may_come_at_any_moment(void)
{
    for (unsigned i = 0; i < rgi_scale(10000); i++) {
        struct rgm_runtime *runtime = begin(i % 2 == 0 ? 8 : 1, 8);
        pthread_t thread;
        int status;

        rgi_check(pthread_create(&thread, NULL, stop_it, runtime) == 0);
        status = rgm_runtime_resize(runtime, i % 2 == 0 ? 1 : 8);
        rgi_check(status == 0 || status == -EPIPE);
        pthread_join(thread, NULL);
        end(runtime);
    }
}

/* ----------------------------------------- placed by a thread that is held up */

static struct {
    struct rgm_runtime *runtime;
    atomic_bool inside, paused, resume;
} held;

/* Until the order to retire lies in the inbox, behind what came before. */
static void
hold_worker(struct robot *self)
{
    struct rgm_park park = {.since_ns = 0};

    (void)self;
    atomic_store(&held.inside, true);
    while (rgm_runtime_live(held.runtime) != 1 || park.since_ns == 0) {
        sched_yield();
        rgi_check(rgm_runtime_park(held.runtime, 0, &park) == 0);
    }
}

static void
pause_here(int number)
{
    (void)number;
    atomic_store(&held.paused, true);
    while (!atomic_load(&held.resume))
        sched_yield();
}

static void *
place_anywhere(void *argument)
{
    static const struct script nothing;
    struct rgm_address address;

    (void)argument;
    rgi_check(rgm_runtime_spawn(held.runtime, RGM_ANY_WORKER, &robot_behaviour,
                                &nothing, &address) == 0);
    return NULL;
}

static void *
place_a_task(void *argument)
{
    static const struct script nothing;
    struct rgm_task *task;

    (void)argument;
    rgi_check(rgm_runtime_task(held.runtime, RGM_ANY_WORKER, &robot_behaviour,
                               &nothing, &task) == 0);
    rgm_task_drop(task);
    return NULL;
}

/* It has asked a worker, which retires before it has looked, and while the thread
 * has not read the refusal the number is somebody else's already. */
static void
place_while_the_number_changes_hands(void *(*place)(void *argument))
{
    static const struct script holding = {.started = hold_worker};
    struct sigaction action = {.sa_handler = pause_here}, before;
    struct rgi_guest_home *guest;
    pthread_t thread;

    sigemptyset(&action.sa_mask);
    rgi_check(sigaction(SIGUSR1, &action, &before) == 0);
    memset(&held, 0, sizeof(held));
    held.runtime = begin(2, 2);
    (void)spawn_on(held.runtime, 1, &holding);
    while (!atomic_load(&held.inside))
        sched_yield();
    guest = held.runtime->guests[0]; /* of the thread, as of each before */
    held.runtime->spawn_turn = 1;
    guest->worker.spawn_turn = 1;
    rgi_check(pthread_create(&thread, NULL, place, NULL) == 0);
    while (rgi_inbox_word(&guest->inbox) != RGI_INBOX_ASLEEP)
        sched_yield();
    rgi_check(pthread_kill(thread, SIGUSR1) == 0);
    while (!atomic_load(&held.paused))
        sched_yield();
    resize(held.runtime, 1);
    resize(held.runtime, 2);
    atomic_store(&held.resume, true);
    pthread_join(thread, NULL);
    rgi_check(sigaction(SIGUSR1, &before, NULL) == 0);
    end(held.runtime);
}

static void
rsz_02_a_thread_that_may_place_anywhere_is_told_of_no_retirement(void)
{
    place_while_the_number_changes_hands(place_anywhere);
    place_while_the_number_changes_hands(place_a_task);
}

#define CASES(X)                                                               \
    X(resize, up_and_down_with_nobody_there)                                   \
    X(resize, many_times_in_a_row)                                             \
    X(resize, counts_that_make_no_sense_are_refused)                           \
    X(resize, rsz_05_an_actor_asks_and_is_answered_when_all_can_spawn_there)   \
    X(resize, rsz_05_the_blocking_form_is_refused_on_a_worker)                 \
    X(resize, rsz_01_the_smaller_count_shows_at_once_the_thread_stays)         \
    X(resize, rsz_02_who_retires_gets_no_new_placement)                        \
    X(resize, rsz_04_growing_waits_for_the_number_and_generations_go_on)       \
    X(resize, rsz_06_mail_for_one_that_has_closed_comes_home_with_an_error)    \
    X(resize, a_stale_handle_is_refused_by_the_next_worker)                    \
    X(resize, who_cannot_come_leaves_all_as_it_was)                            \
    X(resize, met_04_who_cannot_come_keeps_its_identity)                       \
    X(resize, any_allocation_of_a_growth_may_fail)                             \
    X(resize, a_stop_may_come_at_any_moment)                                   \
    X(resize, rsz_02_a_thread_that_may_place_anywhere_is_told_of_no_retirement)

RGI_CASES(CASES)
