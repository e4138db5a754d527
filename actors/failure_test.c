/* SPDX-License-Identifier: MIT */

/*
 * failure_test.c - a provider fails: what ends, what is told, what stays?
 *
 * An operation that the failed provider still holds may be written to by the
 * kernel at any time. Its record, the actor around it and the memory of both
 * are given up. Everything else comes home, and the runtime ends with the
 * error.
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ringmail/abandon.h>
#include <ringmail/reader.h>
#include <ringmail/writer.h>

#include "actors/rig.h"

struct failure {
    struct rgm_runtime *runtime;
    struct rgm_address other, loser;
    unsigned told, stopped, withdrawn, answered, refused;
    int last_status;
    long number;
    struct rgm_order order;
    struct rgm_timeout timeout;
    const struct robot *lost;
};

#define failure_of(self) ((struct failure *)test_of(self))

static void
stopped_once(struct robot *self)
{
    failure_of(self)->stopped++;
}

static void
fail_worker(uint32_t worker)
{
    atomic_store(&fake_plan.wait_error[worker], -EIO);
}

/* Runs the root and ends with the error. Memory of the lost may be left. */
static void
run_to_failure(uint32_t workers, const struct script *root, size_t lost)
{
    size_t before = rgi_memory_live();
    struct rgm_runtime *runtime = rig_make(workers);

    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, root) == -EIO);
    rgi_check(rgm_runtime_wait(runtime) == -EIO);
    rgi_check(strstr(rgm_runtime_error(runtime), "fake"));
    rgi_check(atomic_load(&fake_plan.closed) == workers);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(rgi_memory_live() == before + lost);
}

/* ------------------------------------------------- nothing is out: all is well */

static void
fail_mine(struct robot *self)
{
    fail_worker(rgm_worker_number(&self->actor));
}

static void
cmp_09_a_failed_provider_ends_the_runtime_with_its_error(void)
{
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct failure failure = {.told = 0};
        struct script root = {
            .started = fail_mine, .stopped = stopped_once, .test = &failure};

        fake_reset();
        run_to_failure(workers, &root, 0);
        rgi_check(failure.stopped == 1);
    }
}

/* It fails while it sleeps, and on another thread than the caller's. */
static void
fail_other(struct robot *self)
{
    (void)self;
    fail_worker(1);
    rgi_bell_ring(
        (void *)(intptr_t)self->actor.worker->runtime->places[1].bell);
}

static void
a_provider_may_fail_in_its_sleep(void)
{
    struct failure failure = {.told = 0};
    struct script root = {
        .started = fail_other, .stopped = stopped_once, .test = &failure};

    fake_reset();
    run_to_failure(2, &root, 0);
    rgi_check(failure.stopped == 1);
}

/* Whoever looks until there is something to read waits for nothing else. */
static void *
read_why(void *runtime)
{
    const char *why;

    while ((why = rgm_runtime_error(runtime))[0] == '\0')
        sched_yield();
    rgi_check(strstr(why, "fake") != NULL);
    return NULL;
}

static void
why_it_has_failed_may_be_read_by_anybody(void)
{
    static const struct script failing = {.started = fail_mine};
    struct rgm_runtime *runtime;
    struct rgm_address address;
    pthread_t reader;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(pthread_create(&reader, NULL, read_why, runtime) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 0, &robot_behaviour, &failing,
                                &address) == 0);
    rgi_check(rgm_runtime_wait(runtime) == -EIO);
    pthread_join(reader, NULL);
    rig_destroy(runtime);
}

/* -------------------------------------------------- the worker itself goes on */

/* After the failure: messages, asks across workers, sleeps, parks. */
RGM_ANSWER(robot, question, on_exchange);
RGM_ANSWER(robot, rgm_sleep, on_sleep);
RGM_ANSWER(robot, rgm_listen, on_refused);

static void
reply_it(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
on_exchange(struct robot *self, struct question *question)
{
    struct failure *failure = failure_of(self);

    rgi_check(rgm_status(question) == 0);
    if (++failure->answered < 100) {
        rgm_ask(self, question, RGM_REPLY(robot, question, on_exchange));
        return;
    }
    rgm_sleep_for(&self->sleep, rgm_here(self), 2 * RGM_NS_PER_MS);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_sleep));
}

static void
on_sleep(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == 0);
    rgi_check(self->actor.worker->counters.park_deadline > 0 ||
              self->actor.worker->counters.parks > 0);
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_refused));
}

static void
on_refused(struct robot *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) == -EIO);
    failure_of(self)->refused++;
    (void)rgm_stop_actor(self, failure_of(self)->other);
    rgm_stop(self);
}

/* Told to retire because of the failure, it uses its time. */
static void
go_on(struct robot *self)
{
    rgi_check(self->actor.worker->failure == -EIO);
    failure_of(self)->told++;
    question_prepare(&self->question, failure_of(self)->other);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_exchange));
}

static void
stay(struct robot *self)
{
    (void)self; /* until it is stopped */
}

static void
spawn_partner_and_fail(struct robot *self)
{
    static struct script partner;

    partner = (struct script){.question = reply_it, .retiring = stay};
    failure_of(self)->other = robot_spawn_on(self, 1, &partner);
    fail_worker(0);
}

static void
wkr_14_actors_go_on_when_the_provider_is_gone(void)
{
    struct failure failure = {.told = 0};
    struct script root = {.started = spawn_partner_and_fail,
                          .retiring = go_on,
                          .stopped = stopped_once,
                          .test = &failure};

    fake_reset();
    run_to_failure(2, &root, 0);
    rgi_check(failure.told == 1 && failure.answered == 100);
    rgi_check(failure.refused == 1 && failure.stopped == 1);
}

/* -------------------------------------------------------- operations are out */

RGM_ANSWER(robot, rgm_listen, never_told);
RGM_ANSWER(robot, question, on_withdrawn_answer);

static void
never_told(struct robot *self, struct rgm_listen *listen)
{
    (void)listen;
    failure_of(self)->last_status = 1;
}

static void
never_released(struct rgm_actor *janitor, struct rgm_request *request)
{
    (void)janitor;
    (void)request;
    rgi_check(false);
}

/* The last that a loser hears: its listen has gone. */
static void
count_withdrawn(struct robot *self, struct question *question)
{
    (void)question;
    failure_of(self)->withdrawn++;
    rgm_cancel(self, &self->listen);
    rgi_check(rgm_abandon_request_to(&self->actor, &self->listen.request,
                                     never_released) == -EALREADY);
}

static void
keep_it(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
}

/* Has an operation out, a kept question, an ask of its own, mail. */
static void
ask_for_ever(struct robot *self)
{
    failure_of(self)->lost = self;
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, never_told));
}

static void
on_withdrawn_answer(struct robot *self, struct question *question)
{
    failure_of(self)->last_status = rgm_status(question);
}

static void
spawn_loser(struct robot *self)
{
    static struct script loser;
    struct failure *failure = failure_of(self);

    loser = (struct script){.started = ask_for_ever,
                            .question = keep_it,
                            .withdrawn = count_withdrawn,
                            .stopped = stopped_once,
                            .test = failure};
    failure->loser =
        robot_spawn_on(self, rgm_workers_count(&self->actor) - 1, &loser);
    question_prepare(&self->question, failure->loser);
    rgm_ask(self, &self->question,
            RGM_REPLY(robot, question, on_withdrawn_answer));
}

/* When its question is kept the operation is out: then the provider fails. */
static void
fail_when_kept(struct fake *fake, uint64_t deadline_ns)
{
    struct rgm_worker *worker = rgi_current;

    (void)deadline_ns;
    if (worker->kept_count == 1 && fake->head.in_flight == 1)
        fail_worker(worker->number);
}

static void
leave_gracefully(struct robot *self)
{
    rgm_stop(self);
}

static void
urg_24_what_is_in_flight_is_given_up_and_all_else_comes_home(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct failure failure = {.told = 0};
        struct script root = {.started = spawn_loser,
                              .retiring = leave_gracefully,
                              .stopped = stopped_once,
                              .test = &failure};

        fake_reset();
        fake_plan.on_wait = fail_when_kept;
        run_to_failure(workers, &root, 1);
        rgi_check(failure.withdrawn == 1);
        rgi_check(failure.last_status == -ESRCH || /* the keeper was first */
                  failure.last_status == -ECANCELED);
        rgi_check(failure.stopped == 1); /* the root; not the loser */
        /* whose memory nobody else has had since */
        rgi_check(rgm_address_same(rgm_self(failure.lost), failure.loser));
        rgi_check(failure.lost->script->question == keep_it);
        rgi_check(atomic_load(&fake_plan.closed_in_flight) == 1);
    }
}

/* Answers in an order behind the lost one have nowhere to go: nor are they
 * waited for. */
RGM_ANSWER(robot, question, never_in_turn);

static void
never_in_turn(struct robot *self, struct question *question)
{
    (void)question;
    failure_of(self)->told++;
}

static void
ask_in_order(struct robot *self)
{
    struct failure *failure = failure_of(self);

    rgm_order_init(&failure->order, 10);
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask_in(self, &failure->order, &self->listen,
               RGM_REPLY(robot, rgm_listen, never_told));
    question_prepare(&self->question, failure->other);
    rgm_ask_in(self, &failure->order, &self->question,
               RGM_REPLY(robot, question, never_in_turn));
}

/* In a wait that may block: all that could be delivered has been. */
static void
fail_when_idle(struct fake *fake, uint64_t deadline_ns)
{
    if (deadline_ns != 0 && fake->head.in_flight == 1)
        fail_worker(fake->worker);
}

/* The time of a timeout need not come when what it waits for is lost. */
RGM_ANSWER(robot, rgm_timeout, never_over);

static void
never_over(struct robot *self, struct rgm_timeout *timeout)
{
    (void)timeout;
    failure_of(self)->told++;
}

static void
ask_with_timeout(struct robot *self)
{
    struct failure *failure = failure_of(self);

    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_timeout_prepare(&failure->timeout, &self->actor, &self->listen.request,
                        1000 * RGM_NS_PER_S, never_released);
    rgm_ask(self, &failure->timeout, RGM_REPLY(robot, rgm_timeout, never_over));
}

static void
urg_24_a_timeout_ends_with_what_is_lost(void)
{
    struct failure failure = {.told = 0};
    struct script root = {
        .started = ask_with_timeout, .stopped = stopped_once, .test = &failure};

    fake_reset();
    fake_plan.on_wait = fail_when_idle;
    run_to_failure(1, &root, 1);
    rgi_check(failure.told == 0 && failure.stopped == 0);
}

static void
spawn_orderly(struct robot *self)
{
    static struct script orderly;
    static const struct script replier = {.question = reply_it};
    struct failure *failure = failure_of(self);

    orderly = (struct script){
        .started = ask_in_order, .stopped = stopped_once, .test = failure};
    failure->other = robot_spawn(self, &replier);
    (void)robot_spawn(self, &orderly);
}

static void
an_order_behind_a_lost_operation_is_given_up_too(void)
{
    struct failure failure = {.told = 0};
    struct script root = {.started = spawn_orderly, .test = &failure};

    fake_reset();
    fake_plan.on_wait = fail_when_idle;
    run_to_failure(1, &root, 1);
    rgi_check(failure.told == 0 && failure.stopped == 0);
}

/* Asked from another worker: that worker's actor is given up, by message. */
static void
ask_far(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_worker_address(1));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, never_told));
}

static void
fail_when_asked(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if (fake->worker == 1 && fake->head.in_flight == 1)
        fail_worker(1);
}

static void
spawn_far_asker(struct robot *self)
{
    static struct script asker;

    asker = (struct script){
        .started = ask_far, .stopped = stopped_once, .test = failure_of(self)};
    (void)robot_spawn(self, &asker);
}

static void
an_asker_elsewhere_is_given_up_by_message(void)
{
    struct failure failure = {.told = 0};
    struct script root = {
        .started = spawn_far_asker, .stopped = stopped_once, .test = &failure};

    fake_reset();
    fake_plan.on_wait = fail_when_asked;
    run_to_failure(2, &root, 1);
    rgi_check(failure.stopped == 1 && failure.last_status == 0);
}

/* One fails of four, with work on all: the others' work is completed. */
RGM_ANSWER(robot, rgm_listen, completed);

static void
completed(struct robot *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) == 0 || rgm_status(listen) == -ECANCELED);
    __atomic_fetch_add(&failure_of(self)->answered, 1, __ATOMIC_RELAXED);
}

static void
ask_here(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, completed));
    if (__atomic_add_fetch(&failure_of(self)->told, 1, __ATOMIC_RELAXED) == 4)
        fail_worker(3);
    rgi_bell_ring(
        (void *)(intptr_t)self->actor.worker->runtime->places[3].bell);
}

static void
spawn_four(struct robot *self)
{
    static struct script asker;
    struct rgm_address addresses[4];

    asker = *self->script;
    asker.started = ask_here;
    rgi_check(rgm_spawn_each(self, &robot_behaviour, &asker, addresses, 4) ==
              4);
}

static void
cmp_05_one_failure_of_four_lets_the_others_finish(void)
{
    struct failure failure = {.told = 0};
    struct script root = {.started = spawn_four, .test = &failure};

    fake_reset();
    run_to_failure(4, &root, 1);
    rgi_check(failure.answered == 3);
    rgi_check(atomic_load(&fake_plan.closed_in_flight) == 1);
}

/* All fail at once. */
static void
fail_all(struct robot *self)
{
    for (uint32_t i = 0; i < 4; i++) {
        fail_worker(i);
        rgi_bell_ring(
            (void *)(intptr_t)self->actor.worker->runtime->places[i].bell);
    }
}

static void
all_may_fail_at_once(void)
{
    struct failure failure = {.told = 0};
    struct script root = {
        .started = fail_all, .stopped = stopped_once, .test = &failure};

    fake_reset();
    run_to_failure(4, &root, 0);
    rgi_check(failure.stopped == 1);
}

/* Completions handed over by the call that fails count. */
static void
complete_and_fail(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if (fake_complete_first(fake, 0))
        fail_worker(fake->worker);
}

RGM_ANSWER(robot, rgm_listen, told_at_last);

static void
told_at_last(struct robot *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) == 0);
    failure_of(self)->told++;
}

static void
ask_once(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, told_at_last));
}

static void
what_the_last_call_brought_is_told(void)
{
    struct failure failure = {.told = 0};
    struct script root = {
        .started = ask_once, .stopped = stopped_once, .test = &failure};

    fake_reset();
    fake_plan.on_wait = complete_and_fail;
    run_to_failure(1, &root, 0);
    rgi_check(failure.told == 1 && failure.stopped == 1);
}

/* A plain thread that waits for a lost operation: a fault, in a process of its
 * own. */
static void *
call_and_lose(void *argument)
{
    struct rgm_runtime *runtime = argument;
    struct rgm_listener listener = {.socket = {.open = 0}};
    struct rgm_listen listen;

    fake_prepare(&listen, &listener, rgm_worker_address(1));
    _exit(rgm_call(runtime, &listen) != 0); /* it went on: wrong */
}

static void
lose_a_call(void)
{
    struct rgm_runtime *runtime;
    pthread_t thread;

    fake_reset();
    fake_plan.on_wait = fail_when_asked;
    runtime = rig_make(2);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(pthread_create(&thread, NULL, call_and_lose, runtime) == 0);
    pthread_join(thread, NULL);
    _exit(0);
}

static void
urg_24_waiting_for_a_lost_operation_is_a_fault(void)
{
    pid_t child = fork();
    int status;

    rgi_check(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(0);
        lose_a_call();
    }
    rgi_check(waitpid(child, &status, 0) == child);
    rgi_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

/* ---------------------------------------------- writers and readers with a line */

static struct {
    struct rgm_stream stream;
    struct rgm_writer writer;
    struct rgm_reader reader;
    struct rgm_pool *pool;
    struct rgm_submit taken, waiting;
    struct rgm_flush flush;
    struct rgm_next first, next;
} ends;

RGM_ANSWER(robot, rgm_submit, never_taken);
RGM_ANSWER(robot, rgm_next, never_read);
RGM_ANSWER(robot, rgm_submit, on_waiting_submit);
RGM_ANSWER(robot, rgm_flush, on_waiting_flush);
RGM_ANSWER(robot, rgm_next, on_waiting_next);
RGM_ANSWER(robot, question, on_ends_open);

static void
never_taken(struct robot *self, struct rgm_submit *submit)
{
    (void)submit;
    failure_of(self)->last_status = 1;
}

static void
never_read(struct robot *self, struct rgm_next *next)
{
    (void)next;
    failure_of(self)->last_status = 1;
}

/* A stream as a provider would have filled it in: the fake knows no difference. */
static void
open_ends(struct robot *self)
{
    struct rgm_reader_options options = {.pool = ends.pool};
    struct rgm_worker *worker = self->actor.worker;
    struct rgm_view piece = {"1", 1, NULL};

    ends.stream.socket = (struct rgm_socket){
        .worker = rgi_address_make(worker->number, 0, worker->identity),
        .open = 1,
        .kind = 1};
    rgi_check(rgm_writer_open(self, &ends.stream, &ends.writer) == 0);
    rgi_check(rgm_reader_open(self, &ends.stream, &options, &ends.reader) == 0);
    rgm_writer_submit(&ends.taken, &ends.writer, &piece);
    rgm_ask(self, &ends.taken, RGM_REPLY(robot, rgm_submit, never_taken));
    rgm_reader_next(&ends.first, &ends.reader);
    rgm_ask(self, &ends.first, RGM_REPLY(robot, rgm_next, never_read));
}

static void
on_waiting_submit(struct robot *self, struct rgm_submit *submit)
{
    rgi_check(rgm_status(submit) == -EIO && submit->owned.length_bytes == 1);
    failure_of(self)->told++;
}

static void
on_waiting_flush(struct robot *self, struct rgm_flush *flush)
{
    rgi_check(rgm_status(flush) == -EIO);
    failure_of(self)->told++;
}

static void
on_waiting_next(struct robot *self, struct rgm_next *next)
{
    rgi_check(rgm_status(next) == -EIO && next->count == 0);
    failure_of(self)->told++;
}

static void
on_ends_open(struct robot *self, struct question *question)
{
    struct rgm_view piece = {"2", 1, NULL};

    rgi_check(rgm_status(question) == 0);
    rgm_writer_submit(&ends.waiting, &ends.writer, &piece);
    rgm_ask(self, &ends.waiting,
            RGM_REPLY(robot, rgm_submit, on_waiting_submit));
    rgm_writer_flush(&ends.flush, &ends.writer);
    rgm_ask(self, &ends.flush, RGM_REPLY(robot, rgm_flush, on_waiting_flush));
    rgm_reader_next(&ends.next, &ends.reader);
    rgm_ask(self, &ends.next, RGM_REPLY(robot, rgm_next, on_waiting_next));
}

static void
spawn_ends(struct robot *self)
{
    static struct script opener;

    opener = (struct script){.started = open_ends,
                             .question = reply_it,
                             .stopped = stopped_once,
                             .test = failure_of(self)};
    failure_of(self)->other = robot_spawn_on(self, 1, &opener);
    question_prepare(&self->question, failure_of(self)->other);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_ends_open));
}

/* The write, its receipt and the read are out, and three stand in line. */
static void
fail_when_all_wait(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if (fake->worker == 1 && fake->head.in_flight == 3 &&
        rgi_current->remote_count == 3)
        fail_worker(1);
}

static void
who_waits_in_line_is_told_that_the_provider_failed(void)
{
    struct rgm_pool_options options = {.slots_count = 1, .slot_size_bytes = 64};
    struct failure failure = {.told = 0};
    struct script root = {.started = spawn_ends, .test = &failure};

    memset(&ends, 0, sizeof(ends));
    rgi_check(rgm_pool_create(&options, &ends.pool) == 0);
    fake_reset();
    fake_plan.on_wait = fail_when_all_wait;
    run_to_failure(2, &root, 2); /* a chunk of each worker's */
    rgi_check(failure.told == 3 && failure.stopped == 0);
    rgi_check(failure.last_status == 0);
    rgm_pool_destroy(ends.pool);
}

#define CASES(X)                                                               \
    X(failure, cmp_09_a_failed_provider_ends_the_runtime_with_its_error)       \
    X(failure, a_provider_may_fail_in_its_sleep)                               \
    X(failure, why_it_has_failed_may_be_read_by_anybody)                       \
    X(failure, wkr_14_actors_go_on_when_the_provider_is_gone)                  \
    X(failure, urg_24_what_is_in_flight_is_given_up_and_all_else_comes_home)   \
    X(failure, an_order_behind_a_lost_operation_is_given_up_too)               \
    X(failure, urg_24_a_timeout_ends_with_what_is_lost)                        \
    X(failure, an_asker_elsewhere_is_given_up_by_message)                      \
    X(failure, cmp_05_one_failure_of_four_lets_the_others_finish)              \
    X(failure, all_may_fail_at_once)                                           \
    X(failure, what_the_last_call_brought_is_told)                             \
    X(failure, urg_24_waiting_for_a_lost_operation_is_a_fault)                 \
    X(failure, who_waits_in_line_is_told_that_the_provider_failed)

RGI_CASES(CASES)
