/* SPDX-License-Identifier: MIT */

/*
 * stop_stress.c - does a runtime end, whatever is going on, and lose nothing?
 *
 * 1. again      thousands of starts and stops, with nothing done in between
 * 2. load       stops while timers, kept requests, waiting asks, far spawns and
 *               operations are out, from inside and from outside
 * 3. guests     plain threads that call, send and spawn while it ends
 * 4. books      what was made has ended, what was sent is home, once
 */

#include <pthread.h>
#include <sched.h>

#include "actors/rig.h"

struct books {
    struct rgm_runtime *runtime;
    atomic_ullong made, started, stopped, sent, home, asked, answered;
    struct rgm_address peers[8];
    uint32_t workers;
    atomic_uint ready;
    uint64_t seed;
};

#define books_of(self) ((struct books *)test_of(self))

static uint64_t
random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* -------------------------------------------------------------------- again */

static void
count_stopped(struct robot *self)
{
    atomic_fetch_add(&books_of(self)->stopped, 1);
}

/* One actor on every worker, and nothing to do. */
static void
stand_by(struct robot *self)
{
    static struct script idle;
    struct rgm_address addresses[8];
    int count = (int)rgm_workers_count(&self->actor);

    idle = *self->script;
    idle.started = NULL;
    rgi_check(rgm_spawn_each(self, &robot_behaviour, &idle, addresses, 8) ==
              count);
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
field_b16_starting_and_stopping_again_and_again(void)
{
    static const uint32_t counts[] = {1, 2, 4, 8};

    for (unsigned i = 0; i < 4; i++) {
        for (uint64_t left = rgi_scale(5000); left > 0; left--) {
            struct books books = {.made = 0};
            struct script root = {
                .started = stand_by, .stopped = count_stopped, .test = &books};

            rig_run(counts[i], &root);
            rgi_check(atomic_load(&books.stopped) == counts[i] + 1);
        }
    }
}

static void *
stop_it(void *argument)
{
    rgm_runtime_stop(argument);
    return NULL;
}

/* Eight workers, of which some are gone already when the others wake. */
static void
field_b08_a_stop_from_a_ninth_thread(void)
{
    for (uint64_t left = rgi_scale(20000); left > 0; left--) {
        struct rgm_runtime *runtime;
        pthread_t thread;

        fake_reset();
        runtime = rig_make(8);
        rgi_check(pthread_create(&thread, NULL, stop_it, runtime) == 0);
        rgi_check(rgm_runtime_start(runtime) == 0);
        rgi_check(rgm_runtime_wait(runtime) == 0);
        pthread_join(thread, NULL);
        rig_destroy(runtime);
    }
}

/* --------------------------------------------------------------------- load */

#define CROWD 100 /* no more are made */

/* A worker's busybody: always something out, of each kind. */
struct busy {
    struct rgm_actor actor;
    struct books *books;
    uint64_t random;
    struct question questions[8];
    struct rgm_sleep sleeps[4];
    struct rgm_listen listens[4];
    struct rgm_listener listeners[4];
    struct rgm_token kept;
    bool keeps;
};

/* A note that is counted when it is home. */
struct counted {
    struct rgm_message message;
    struct books *books;
};
RGM_MESSAGE_RETURNED(counted, counted_home);

RGM_HANDLER(busy, counted, busy_note);
RGM_HANDLER(busy, question, busy_question);
RGM_HOOK(busy, busy_started);
RGM_HOOK(busy, busy_stopped);
RGM_FACTORY(busy, books, busy_make);
RGM_ANSWER(busy, question, busy_answer);
RGM_ANSWER(busy, rgm_sleep, busy_slept);
RGM_ANSWER(busy, rgm_listen, busy_listened);

static const struct rgm_handler busy_handlers[] = {
    RGM_ON(busy, counted, busy_note),
    RGM_ON(busy, question, busy_question),
};

static const struct rgm_behaviour busy_behaviour = {
    .name = "busy",
    .size_bytes = sizeof(struct busy),
    RGM_HANDLERS(busy_handlers),
    .factory = RGM_MAKE(busy, busy_make),
    .started = RGM_DO(busy, busy_started),
    .stopped = RGM_DO(busy, busy_stopped),
};

static void
counted_home(struct counted *counted, int status)
{
    rgi_check(status <= 0);
    atomic_fetch_add(&counted->books->home, 1);
}

static int
busy_make(struct busy *self, const struct books *books)
{
    self->books = (struct books *)(uintptr_t)books;
    self->random = books->seed + atomic_fetch_add(&self->books->made, 1) + 1;
    return 0;
}

static struct rgm_address
busy_peer(struct busy *self)
{
    uint64_t choice = random_next(&self->random) % self->books->workers;

    return self->books->peers[choice];
}

static void
busy_ask(struct busy *self, struct question *question)
{
    question_prepare(question, busy_peer(self));
    question->value = 0;
    atomic_fetch_add(&self->books->asked, 1);
    rgm_ask(self, question, RGM_REPLY(busy, question, busy_answer));
}

static void
busy_sleep(struct busy *self, struct rgm_sleep *sleep)
{
    rgm_sleep_for(sleep, rgm_here(self),
                  random_next(&self->random) % (200 * RGM_NS_PER_US));
    atomic_fetch_add(&self->books->asked, 1);
    rgm_ask(self, sleep, RGM_REPLY(busy, rgm_sleep, busy_slept));
}

static void
busy_listen(struct busy *self, unsigned which)
{
    uint32_t where =
        (uint32_t)(random_next(&self->random) % self->books->workers);

    fake_prepare(&self->listens[which], &self->listeners[which],
                 rgm_worker_address(where));
    atomic_fetch_add(&self->books->asked, 1);
    rgm_ask(self, &self->listens[which],
            RGM_REPLY(busy, rgm_listen, busy_listened));
}

static void
busy_send(struct busy *self)
{
    struct counted *counted = counted_take(&self->actor, 0);

    counted->books = self->books;
    if (rgm_send(self, busy_peer(self), counted) == 0)
        atomic_fetch_add(&self->books->sent, 1);
    else
        counted_give(&self->actor, counted);
}

static void
busy_started(struct busy *self)
{
    atomic_fetch_add(&self->books->started, 1);
    while (atomic_load(&self->books->ready) == 0)
        sched_yield(); /* until all addresses are known */
    for (unsigned i = 0; i < 8; i++)
        busy_ask(self, &self->questions[i]);
    for (unsigned i = 0; i < 4; i++) {
        busy_sleep(self, &self->sleeps[i]);
        busy_listen(self, i);
        busy_send(self);
    }
}

static void
busy_stopped(struct busy *self)
{
    atomic_fetch_add(&self->books->stopped, 1);
}

static void
busy_note(struct busy *self, struct counted *counted)
{
    (void)counted;
    if (random_next(&self->random) % 4 != 0)
        busy_send(self);
}

/* Replies, keeps and replies later, forwards, or says nothing. */
static void
busy_question(struct busy *self, struct question *question)
{
    switch (random_next(&self->random) % 8) {
    case 0:
        break;
    case 1:
        rgi_check(rgm_forward(self, question, busy_peer(self)) == 0);
        break;
    case 2:
    case 3:
        if (self->keeps)
            (void)rgm_answer(self, self->kept, 0);
        rgi_check(rgm_keep(self, question, &self->kept) == 0);
        self->keeps = true;
        break;
    default:
        rgm_reply(self, question, 0);
    }
}

static void
busy_answer(struct busy *self, struct question *question)
{
    atomic_fetch_add(&self->books->answered, 1);
    if (rgm_status(question) == 0 || rgm_status(question) == -EPROTO)
        busy_ask(self, question);
}

static void
busy_slept(struct busy *self, struct rgm_sleep *sleep)
{
    struct rgm_address address;

    atomic_fetch_add(&self->books->answered, 1);
    if (rgm_status(sleep) != 0)
        return;
    busy_send(self);
    if (random_next(&self->random) % 4 == 0 &&
        atomic_load(&self->books->made) < CROWD)
        (void)!rgm_spawn_next(self, &busy_behaviour, self->books, &address);
    if (random_next(&self->random) % 64 == 0)
        rgm_stop(self);
    else
        busy_sleep(self, sleep);
}

static void
busy_listened(struct busy *self, struct rgm_listen *listen)
{
    atomic_fetch_add(&self->books->answered, 1);
    if (rgm_status(listen) == 0)
        busy_listen(self, (unsigned)(listen - self->listens));
}

/* Now and then something is completed. */
static void
complete_some(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if ((fake->waits + fake->looks) % 4 == 0)
        (void)fake_complete_first(fake, 0);
}

static void
check_books(const struct books *books, const struct rgm_runtime *runtime)
{
    struct rgm_counters counters;

    rgi_check(atomic_load(&books->started) == atomic_load(&books->made));
    rgi_check(atomic_load(&books->stopped) == atomic_load(&books->made));
    rgi_check(atomic_load(&books->home) == atomic_load(&books->sent));
    rgi_check(atomic_load(&books->answered) == atomic_load(&books->asked));
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &counters) == 0);
    rgi_check(counters.spawned == counters.stopped);
    rgi_check(counters.kept == 0 && counters.in_flight == 0);
    rgi_check(counters.messages_out == 0 && counters.actors == 0);
}

static void
books_open(struct books *books, uint32_t workers)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = &fake_class,
                                          .lane_messages = 64,
                                          .lent_slots = 8};

    memset(books, 0, sizeof(*books));
    fake_reset();
    fake_plan.on_wait = complete_some;
    books->workers = workers;
    books->seed = rgi_seed();
    books->runtime = rig_make_with(&options);
}

/* The first generation; the rest they spawn themselves. */
static void
busy_begin(struct books *books)
{
    for (uint32_t i = 0; i < books->workers; i++)
        rgi_check(rgm_runtime_spawn(books->runtime, i, &busy_behaviour, books,
                                    &books->peers[i]) == 0);
    atomic_store(&books->ready, 1);
}

/* Until there were so many deliveries, or nobody is left to make any. */
static void
wait_for_load(struct books *books, uint64_t deliveries)
{
    struct rgm_counters counters;

    do {
        sched_yield();
        rgi_check(rgm_runtime_counters(books->runtime, RGM_ANY_WORKER,
                                       &counters) == 0);
    } while (counters.deliveries < deliveries &&
             atomic_load(&books->stopped) < atomic_load(&books->made));
}

static void
field_b32_stopping_with_everything_out(void)
{
    static struct books books;
    uint64_t random = rgi_seed();

    for (uint64_t left = rgi_scale(10000); left > 0; left--) {
        books_open(&books, (uint32_t)(1 + left % 4));
        rgi_check(rgm_runtime_start(books.runtime) == 0);
        busy_begin(&books);
        wait_for_load(&books, random_next(&random) % 2000);
        rgm_runtime_stop(books.runtime);
        rgi_check(rgm_runtime_wait(books.runtime) == 0);
        check_books(&books, books.runtime);
        rig_destroy(books.runtime);
    }
}

/* ------------------------------------------------------------------- guests */

struct caller {
    struct books *books;
    pthread_t thread;
    uint64_t random;
};

static bool
call_once(struct caller *caller)
{
    struct books *books = caller->books;
    struct question question;
    struct rgm_sleep sleep;
    struct rgm_address address;
    uint64_t choice = random_next(&caller->random);
    struct rgm_address peer = books->peers[choice % books->workers];
    int status;

    switch (choice >> 32 & 3) {
    case 0:
        question_prepare(&question, peer);
        status = rgm_call(books->runtime, &question);
        break;
    case 1:
        rgm_sleep_for(&sleep, rgm_worker_address(0), choice % 100000);
        status = rgm_call(books->runtime, &sleep);
        break;
    case 2:
        status = rgm_runtime_spawn(books->runtime, RGM_ANY_WORKER,
                                   &busy_behaviour, books, &address);
        break;
    default:
        status = rgm_runtime_stop_actor(books->runtime, peer);
        break;
    }
    rgi_check(status == 0 || status == -EPIPE || status == -ESRCH ||
              status == -EPROTO || status == -ELOOP || status == -EAGAIN ||
              status == -ECANCELED);
    return status != -EPIPE;
}

static void *
call_until_closed(void *argument)
{
    struct caller *caller = argument;
    struct books *books = caller->books;
    struct rgm_guest guest;
    int status = rgm_guest_open(books->runtime, &guest);

    if (status != 0) {
        rgi_check(status == -EPIPE);
        return NULL;
    }
    while (call_once(caller)) {
        struct counted *counted = counted_take(&guest.actor, 10);

        counted->books = books;
        if (rgm_send(&guest, books->peers[0], counted) == 0)
            atomic_fetch_add(&books->sent, 1);
        else
            counted_give(&guest.actor, counted);
        if (random_next(&caller->random) % 8 == 0)
            (void)rgm_guest_wait(&guest);
    }
    rgm_guest_close(&guest); /* with mail still out */
    return NULL;
}

#define CALLERS 6

static void
stopping_while_plain_threads_call_send_and_spawn(void)
{
    static struct books books;

    for (uint64_t left = rgi_scale(5000); left > 0; left--) {
        struct caller callers[CALLERS];
        uint64_t random = rgi_seed() + left;

        books_open(&books, (uint32_t)(1 + left % 3));
        rgi_check(rgm_runtime_start(books.runtime) == 0);
        busy_begin(&books);
        for (unsigned i = 0; i < CALLERS; i++) {
            callers[i] = (struct caller){.books = &books,
                                         .random = random_next(&random) | 1};
            rgi_check(pthread_create(&callers[i].thread, NULL,
                                     call_until_closed, &callers[i]) == 0);
        }
        wait_for_load(&books, random_next(&random) % 1000);
        rgm_runtime_stop(books.runtime);
        rgi_check(rgm_runtime_wait(books.runtime) == 0);
        for (unsigned i = 0; i < CALLERS; i++)
            pthread_join(callers[i].thread, NULL);
        check_books(&books, books.runtime);
        rig_destroy(books.runtime);
    }
}

/* ------------------------------------------------------ accepted is answered */

#define QUEUED 10000

struct queue {
    struct question *questions;
    uint64_t answered, refused;
};

RGM_ANSWER(robot, question, on_queued);

static void
on_queued(struct robot *self, struct question *question)
{
    struct queue *queue = test_of(self);

    queue->answered++;
    queue->refused += rgm_status(question) != 0;
}

static void
reply_it(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

static void
stay_until_answered(struct robot *self)
{
    (void)self; /* the root stops it */
}

static void
end_when_answered(struct robot *self)
{
    struct queue *queue = test_of(self);

    if (queue->answered < QUEUED)
        return;
    (void)rgm_stop_actor(self, queue->questions[0].request.message.to);
    rgm_stop(self);
}

static void
queue_and_stop(struct robot *self)
{
    static const struct script replier = {.question = reply_it,
                                          .retiring = stay_until_answered};
    struct queue *queue = test_of(self);
    struct rgm_address to = robot_spawn_on(self, 1, &replier);

    for (unsigned i = 0; i < QUEUED; i++) {
        question_prepare(&queue->questions[i], to);
        rgm_ask(self, &queue->questions[i],
                RGM_REPLY(robot, question, on_queued));
    }
    rgm_runtime_stop(self->actor.worker->runtime);
}

/* More than the allowance lets out: the rest waits in line, and is sent. */
static void
mbx_13_ten_thousand_accepted_before_the_close_are_answered(void)
{
    struct queue queue = {.questions = calloc(QUEUED, sizeof(struct question))};
    struct script root = {.started = queue_and_stop,
                          .settled = end_when_answered,
                          .retiring = stay_until_answered,
                          .test = &queue};

    rig_run(2, &root);
    rgi_check(queue.answered == QUEUED && queue.refused == 0);
    free(queue.questions);
}

/* A relay across all workers while everybody retires: nobody takes the silence
 * in between for the end. */
struct relay {
    struct rgm_address runners[4];
    unsigned hops;
    atomic_uint stopped;
};

static void
carry(struct robot *self, struct note *note)
{
    struct relay *relay = test_of(self);
    uint32_t next = (rgm_worker_number(&self->actor) + 1) % 4;

    (void)note;
    if (++relay->hops < 200)
        rgi_check(robot_send(self, relay->runners[next], 0) == 0);
    if (relay->hops >= 197)
        rgm_stop(self);
}

static void
note_stopped(struct robot *self)
{
    struct relay *relay = test_of(self);

    atomic_fetch_add(&relay->stopped, 1);
}

static void
start_relay(struct robot *self)
{
    static struct script runner;
    struct relay *relay = test_of(self);

    runner = (struct script){.note = carry,
                             .retiring = stay_until_answered,
                             .stopped = note_stopped,
                             .test = relay};
    for (uint32_t i = 0; i < 4; i++)
        relay->runners[i] = robot_spawn_on(self, i, &runner);
    rgi_check(robot_send(self, relay->runners[1], 0) == 0);
    rgm_stop(self);
}

static void
field_b20_a_message_under_way_is_not_the_end(void)
{
    for (uint64_t left = rgi_scale(5000); left > 0; left--) {
        struct relay relay = {.hops = 0};
        struct script root = {.started = start_relay, .test = &relay};

        rig_run(4, &root);
        rgi_check(relay.hops == 200);
        rgi_check(atomic_load(&relay.stopped) == 4);
    }
}

/* ------------------------------------------------------------ spawn and stop */

struct mayfly {
    struct rgm_actor actor;
    struct books *books;
};

RGM_HOOK(mayfly, mayfly_started);
RGM_HOOK(mayfly, mayfly_stopped);
RGM_FACTORY(mayfly, books, mayfly_hatch);

static const struct rgm_behaviour mayfly_behaviour = {
    .name = "mayfly",
    .size_bytes = sizeof(struct mayfly),
    .factory = RGM_MAKE(mayfly, mayfly_hatch),
    .started = RGM_DO(mayfly, mayfly_started),
    .stopped = RGM_DO(mayfly, mayfly_stopped),
};

static int
mayfly_hatch(struct mayfly *self, const struct books *books)
{
    self->books = (struct books *)(uintptr_t)books;
    atomic_fetch_add(&self->books->made, 1);
    return 0;
}

/* Each makes one more, on the next worker, until that is refused. */
static void
mayfly_started(struct mayfly *self)
{
    struct rgm_address address;

    atomic_fetch_add(&self->books->started, 1);
    (void)!rgm_spawn_next(self, &mayfly_behaviour, self->books, &address);
    rgm_stop(self);
}

static void
mayfly_stopped(struct mayfly *self)
{
    atomic_fetch_add(&self->books->stopped, 1);
}

static void *
spawn_until_closed(void *argument)
{
    struct books *books = argument;
    struct rgm_address address;
    int status;

    do
        status = rgm_runtime_spawn(books->runtime, RGM_ANY_WORKER,
                                   &mayfly_behaviour, books, &address);
    while (status == 0);
    rgi_check(status == -EPIPE);
    return NULL;
}

static void
tsk_01_a_stop_that_races_with_spawns_loses_none(void)
{
    for (uint64_t left = rgi_scale(5000); left > 0; left--) {
        struct books books = {.made = 0};
        pthread_t threads[3];

        fake_reset();
        books.runtime = rig_make((uint32_t)(1 + left % 4));
        rgi_check(rgm_runtime_start(books.runtime) == 0);
        for (unsigned i = 0; i < 3; i++)
            rgi_check(pthread_create(&threads[i], NULL, spawn_until_closed,
                                     &books) == 0);
        while (atomic_load(&books.started) < left % 100)
            sched_yield();
        rgm_runtime_stop(books.runtime);
        rgi_check(rgm_runtime_wait(books.runtime) == 0);
        for (unsigned i = 0; i < 3; i++)
            pthread_join(threads[i], NULL);
        rgi_check(atomic_load(&books.started) == atomic_load(&books.made));
        rgi_check(atomic_load(&books.stopped) == atomic_load(&books.made));
        rig_destroy(books.runtime);
    }
}

/* ----------------------------------------------------------- one answer each */

#define RECORDS 64

struct race {
    struct rgm_listen listens[RECORDS];
    struct rgm_sleep sleeps[RECORDS];
    struct rgm_listener listeners[RECORDS];
    unsigned char out[2 * RECORDS];
    uint64_t random, left, answers;
};

static struct race *racing;

RGM_ANSWER(robot, rgm_listen, on_raced);
RGM_ANSWER(robot, rgm_sleep, on_slept);

static void
one_answer(struct robot *self, size_t which)
{
    rgi_check(racing->out[which] == 1);
    racing->out[which] = 0;
    racing->answers++;
    if (racing->left > 0)
        return;
    for (size_t i = 0; i < 2 * RECORDS; i++)
        if (racing->out[i] != 0)
            return;
    rgm_stop(self);
}

static void
on_raced(struct robot *self, struct rgm_listen *listen)
{
    int status = rgm_status(listen);

    rgi_check(status == 0 || status == -ECANCELED || status == -EINVAL);
    one_answer(self, (size_t)(listen - racing->listens));
}

static void
on_slept(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == 0 || rgm_status(sleep) == -ECANCELED);
    one_answer(self, RECORDS + (size_t)(sleep - racing->sleeps));
}

/* Asks what is home, cancels what is out, both at random. */
static void
race_one(struct robot *self)
{
    uint64_t choice = random_next(&racing->random);
    size_t which = choice % RECORDS;
    bool sleeps = choice >> 32 & 1;
    unsigned char *out = &racing->out[sleeps ? RECORDS + which : which];

    if (*out != 0) {
        if (sleeps)
            rgm_cancel(self, &racing->sleeps[which]);
        else
            rgm_cancel(self, &racing->listens[which]);
        return;
    }
    if (racing->left == 0)
        return;
    racing->left--;
    *out = 1;
    if (sleeps) {
        rgm_sleep_for(&racing->sleeps[which], rgm_here(self), choice % 20000);
        rgm_ask(self, &racing->sleeps[which],
                RGM_REPLY(robot, rgm_sleep, on_slept));
    } else {
        fake_prepare(&racing->listens[which], &racing->listeners[which],
                     rgm_here(self));
        if (choice >> 33 & 1)
            racing->listens[which].operation.refused = EINVAL;
        rgm_ask(self, &racing->listens[which],
                RGM_REPLY(robot, rgm_listen, on_raced));
    }
}

static void
race_on(struct robot *self, struct note *note)
{
    (void)note;
    for (unsigned i = 0; i < 16; i++)
        race_one(self);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
race_begin(struct robot *self)
{
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
complete_at_random(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    for (uint64_t some = random_next(&racing->random) % 8; some > 0; some--)
        (void)fake_complete_first(fake, 0);
}

static void
opl_08_each_operation_is_answered_once(void)
{
    static struct race race;
    struct script root = {
        .started = race_begin, .note = race_on, .test = &race};

    for (int deaf = 0; deaf < 2; deaf++) {
        struct rgm_runtime *runtime;

        memset(&race, 0, sizeof(race));
        race.random = rgi_seed() + (uint64_t)deaf;
        race.left = rgi_scale(10000000);
        racing = &race;
        fake_reset();
        fake_plan.deaf = deaf;
        fake_plan.on_wait = complete_at_random;
        runtime = rig_make(1);
        rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
        rgi_check(race.answers == rgi_scale(10000000));
        rig_destroy(runtime);
    }
}

#define CASES(X)                                                               \
    X(stop, field_b16_starting_and_stopping_again_and_again)                   \
    X(stop, field_b08_a_stop_from_a_ninth_thread)                              \
    X(stop, field_b32_stopping_with_everything_out)                            \
    X(stop, stopping_while_plain_threads_call_send_and_spawn)                  \
    X(stop, mbx_13_ten_thousand_accepted_before_the_close_are_answered)        \
    X(stop, field_b20_a_message_under_way_is_not_the_end)                      \
    X(stop, tsk_01_a_stop_that_races_with_spawns_loses_none)                   \
    X(stop, opl_08_each_operation_is_answered_once)

RGI_CASES(CASES)
