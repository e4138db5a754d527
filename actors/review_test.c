/* SPDX-License-Identifier: MIT */

/*
 * review_test.c - does everything come home when everything happens at once?
 *
 * The storm: nodes on three workers, and plain threads beside them, do
 * whatever the verbs allow, at random, with tiny lanes, quotas and loans: send,
 * ask in every form, keep, forward, spawn, sleep, cancel, stop themselves and
 * each other. In the middle of it the runtime is stopped. Then the books are
 * compared:
 *
 * 1. every message sent has come home, every request was answered once
 * 2. every actor made has stopped, nothing is kept, in flight or allocated
 * 3. what one sender sent to one actor arrived in the order sent
 *
 * Before it, single cases: faults found by reading, one each.
 */

#include "actors/rig.h"

#include <pthread.h>
#include <sched.h>

/* ------------------------------------------------------- an old chain goes */

static _Atomic uint64_t clock_ns;

static uint64_t
clock_by_hand(struct fake *fake)
{
    (void)fake;
    return atomic_load(&clock_ns);
}

struct slow {
    struct rgm_address sink;
    struct script sink_script;
    unsigned handled;
    uint64_t flushes;
};

#define SLOW_COUNT 12u

static void
slow_started(struct robot *self)
{
    struct slow *slow = test_of(self);

    slow->sink = robot_spawn_on(self, 1, &slow->sink_script);
    for (unsigned i = 0; i < SLOW_COUNT; i++)
        rgi_check(robot_send(self, rgm_self(self), (long)i) == 0);
}

/* The first sends something to the other worker, then all take their time. */
static void
slow_note(struct robot *self, struct note *note)
{
    struct slow *slow = test_of(self);
    const struct rgm_counters *counters = &self->actor.worker->counters;

    if (note->value == 0) {
        slow->flushes = counters->flushes;
        rgi_check(robot_send(self, slow->sink, 1) == 0);
    }
    atomic_fetch_add(&clock_ns, 60 * RGM_NS_PER_US);
    if (++slow->handled == SLOW_COUNT) {
        rgi_check(counters->flushes > slow->flushes);
        rgm_stop(self);
    }
}

/* All within one batch, so its end does not flush, and 64 are never reached. */
static void
an_old_chain_is_pushed_between_slow_handlers(void)
{
    struct slow slow = {.handled = 0};
    struct script root = {
        .started = slow_started, .note = slow_note, .test = &slow};
    struct rgm_runtime_options options = {
        .workers = 2, .provider = &fake_class, .spin_us = RGM_SPIN_OFF};

    fake_reset();
    fake_plan.now = clock_by_hand;
    atomic_store(&clock_ns, RGM_NS_PER_S);
    rig_run_with(&options, &root);
    rgi_check(slow.handled == SLOW_COUNT);
}

/* --------------------------------------------------- short sleeps are slept */

#define NAPS 100u
RGM_ANSWER(robot, rgm_sleep, nap_over);

static void
nap(struct robot *self)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), 40 * RGM_NS_PER_US);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, nap_over));
}

static void
nap_over(struct robot *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == 0);
    if (++self->number < (long)NAPS)
        nap(self);
    else
        rgm_stop(self);
}

/* Where workers outnumber CPUs none may turn round and round until it is time:
 * a turn to sleep in, one to see that it was long enough, one to answer. */
static void
a_worker_that_may_not_spin_sleeps_however_short(void)
{
    struct script root = {.started = nap};
    struct rgm_runtime_options options = {
        .workers = 1, .provider = &fake_class, .spin_us = RGM_SPIN_OFF};
    struct rgm_runtime *runtime;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rgi_check(counters.timers_fired == NAPS);
    rgi_check(counters.turns <= 4 * NAPS + 10);
    rig_destroy(runtime);
}

/* ------------------------------------------------- the calling thread's CPU */

static int
cpus_of_this_thread(void)
{
    cpu_set_t cpus;

    rgi_check(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
    return CPU_COUNT(&cpus);
}

static void
pinned_started(struct robot *self)
{
    rgi_check(cpus_of_this_thread() == 1);
    rgm_stop(self);
}

static void
worker_0_is_pinned_for_as_long_as_it_is_one(void)
{
    struct script root = {.started = pinned_started};
    struct rgm_runtime_options options = {
        .workers = 2, .provider = &fake_class, .pin = true};
    int before = cpus_of_this_thread();

    fake_reset();
    rig_run_with(&options, &root);
    rgi_check(cpus_of_this_thread() == before);
}

/* --------------------------------------------------- who stops leaves lines */

struct queue {
    struct rgm_address keeper;
    struct script keeper_script, waiter_script;
    unsigned refused, ended;
};

RGM_ANSWER(robot, question, queue_answer);

static void
keep_for_ever(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
}

static void
queue_ask(struct robot *self)
{
    struct queue *queue = test_of(self);

    question_prepare(&self->question, queue->keeper);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, queue_answer));
}

/* By then the root's question is kept, and fills the lane. */
static void
waiter_started(struct robot *self)
{
    queue_ask(self);
    rgm_stop(self);
}

static void
queue_answer(struct robot *self, struct question *question)
{
    struct queue *queue = test_of(self);

    if (self->script != &queue->waiter_script)
        return; /* the root's: cancelled by it, or given up by the keeper */
    queue->refused += rgm_status(question) == -ECANCELED;
}

/* Had the waiter to wait for the keeper, nobody would ever stop. */
static void
waiter_stopped(struct robot *self)
{
    struct queue *queue = test_of(self);

    if (++queue->ended == 2)
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
queue_started(struct robot *self)
{
    struct queue *queue = test_of(self);

    queue->keeper = robot_spawn_on(self, rgm_workers_count(&self->actor) - 1,
                                   &queue->keeper_script);
    queue_ask(self);
    (void)robot_spawn(self, &queue->waiter_script);
    (void)robot_spawn(self, &queue->waiter_script);
}

static void
who_stops_does_not_wait_for_allowance(void)
{
    for (uint32_t workers = 1; workers <= 2; workers++) {
        struct queue queue = {.refused = 0};
        struct script root = {.started = queue_started, .test = &queue};
        struct rgm_runtime_options options = {
            .workers = workers, .provider = &fake_class, .lane_messages = 1};

        queue.keeper_script = (struct script){.question = keep_for_ever};
        queue.waiter_script = (struct script){.started = waiter_started,
                                              .stopped = waiter_stopped,
                                              .test = &queue};
        fake_reset();
        rig_run_with(&options, &root);
        rgi_check(queue.refused == 2 && queue.ended == 2);
    }
}

/* --------------------------------------------------- a runtime in a handler */

static void
nested_started(struct robot *self)
{
    struct rgm_runtime *runtime = rig_make(1);
    static const struct script idle;

    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &idle) == -EDEADLK);
    rgi_check(rgm_runtime_start(runtime) == -EDEADLK);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgm_stop(self);
}

static void
a_worker_may_not_run_a_runtime(void)
{
    struct script root = {.started = nested_started};

    rig_run(1, &root);
}

/* ---------------------------------------------------------------- the storm */

#define STORM_WORKERS 3u
#define STORM_GUESTS 2u
#define KNOWN 8u
#define HEARD 64u
#define BALLS 4u
#define GATHERED 3u
#define KEPT 2u

static struct {
    atomic_ulong sent, sent_home, asked, answered, made, stopped, handled;
    atomic_ulong names; /* of senders */
    _Atomic bool over;
} storm;

/* One way; `about` is gossip: somebody's address. */
struct spark {
    struct rgm_message message;
    uint64_t sender, number;
    struct rgm_address about;
    uint32_t strength; /* how much it may still set off */
    bool forwarded;
};
RGM_MESSAGE_RETURNED(spark, spark_home);

struct ball {
    struct rgm_request request;
    uint64_t sender, number;
    uint32_t strength;
    bool forwarded;
    bool out;
};
RGM_REQUEST(ball);

static void
spark_home(struct spark *spark, int status)
{
    (void)spark;
    rgi_check(status == 0 || status == -ESRCH || status == -EPIPE ||
              status == -ELOOP || status == -ENOSYS);
    atomic_fetch_add(&storm.sent_home, 1);
}

struct heard {
    uint64_t sender, number;
};

struct seed {
    uint64_t random;
    struct rgm_address known;
};

struct node {
    struct rgm_actor actor;
    uint64_t random;
    uint64_t name, number;
    struct rgm_address known[KNOWN];
    struct heard heard[HEARD];
    struct ball balls[BALLS];
    struct rgm_order order;
    struct rgm_gather gather;
    struct ball gathered[GATHERED];
    bool gathering;
    struct rgm_token kept[KEPT];
    unsigned kept_count;
    struct rgm_sleep sleep;
    bool sleeping;
    struct rgm_listen listen;
    struct rgm_listener listener;
    bool listening;
};

RGM_HANDLER(node, spark, node_spark);
RGM_HANDLER(node, ball, node_ball);
RGM_HOOK(node, node_started);
RGM_HOOK(node, node_retiring);
RGM_HOOK(node, node_stopped);
RGM_FACTORY(node, seed, node_make);
RGM_ANSWER(node, ball, on_ball);
RGM_ANSWER(node, rgm_sleep, on_sleep);
RGM_ANSWER(node, rgm_listen, on_listen);

static void
node_withdrawn(struct rgm_actor *self, struct rgm_request *request)
{
    (void)request;
    ((struct node *)(void *)self)->kept_count = 0; /* all are, one by one */
}

static const struct rgm_handler node_handlers[] = {
    RGM_ON(node, spark, node_spark),
    RGM_ON(node, ball, node_ball),
};

static const struct rgm_behaviour node_behaviour = {
    .name = "node",
    .size_bytes = sizeof(struct node),
    RGM_HANDLERS(node_handlers),
    .factory = RGM_MAKE(node, node_make),
    .started = RGM_DO(node, node_started),
    .retiring = RGM_DO(node, node_retiring),
    .withdrawn = node_withdrawn,
    .stopped = RGM_DO(node, node_stopped),
};

static uint32_t
random_below(uint64_t *state, uint32_t limit)
{
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % limit;
}

static uint32_t
roll(struct node *self, uint32_t limit)
{
    return random_below(&self->random, limit);
}

static struct rgm_address
anybody(struct node *self)
{
    return self->known[roll(self, KNOWN)];
}

static bool
is_refusal(int status)
{
    return status == -EAGAIN || status == -ESRCH || status == -EPIPE;
}

/* ---- one node ---- */

static int
node_make(struct node *self, const struct seed *seed)
{
    self->random = seed->random;
    if (roll(self, 16) == 0)
        return -EDOM;
    for (uint32_t i = 0; i < KNOWN; i++)
        self->known[i] = seed->known;
    for (uint32_t i = 0; i < BALLS; i++)
        ball_init(&self->balls[i]);
    for (uint32_t i = 0; i < GATHERED; i++)
        ball_init(&self->gathered[i]);
    rgm_order_init(&self->order, 2);
    self->name = atomic_fetch_add(&storm.names, 1) + 1;
    atomic_fetch_add(&storm.made, 1);
    return 0;
}

static void
node_started(struct node *self)
{
    self->known[0] = rgm_self(self);
}

/* Some linger until their sleep has ended. */
static void
node_retiring(struct node *self)
{
    if (!self->sleeping || roll(self, 2) == 0)
        rgm_stop(self);
}

static void
node_stopped(struct node *self)
{
    rgi_check(!self->gathering && !self->sleeping && !self->listening);
    rgi_check(self->order.count == 0 && self->actor.out_count == 0);
    for (uint32_t i = 0; i < BALLS; i++)
        rgi_check(!self->balls[i].out);
    atomic_fetch_add(&storm.stopped, 1);
}

/* Numbers of one sender grow from delivery to delivery. */
static void
check_order(struct node *self, uint64_t sender, uint64_t number)
{
    struct heard *heard = &self->heard[sender % HEARD];

    rgi_check(heard->sender != sender || heard->number < number);
    heard->sender = sender;
    heard->number = number;
}

/* ---- what a node may do ---- */

static void
send_spark(struct node *self, struct rgm_address to, uint32_t strength)
{
    struct spark *spark = spark_take(&self->actor, roll(self, 200));
    int status;

    spark->sender = self->name;
    spark->number = ++self->number;
    spark->about = anybody(self);
    spark->strength = strength;
    spark->forwarded = false;
    atomic_fetch_add(&storm.sent, 1);
    status = rgm_send(self, to, spark);
    if (status == 0)
        return;
    rgi_check(is_refusal(status));
    atomic_fetch_sub(&storm.sent, 1);
    spark_give(&self->actor, spark);
}

static void
send_two(struct node *self, uint32_t strength)
{
    struct rgm_address to[2] = {anybody(self), anybody(self)};
    struct rgm_message *messages[2];
    struct spark *sparks[2];

    for (int i = 0; i < 2; i++) {
        sparks[i] = spark_take(&self->actor, 0);
        sparks[i]->sender = self->name;
        sparks[i]->number = ++self->number;
        sparks[i]->about = rgm_self(self);
        sparks[i]->strength = strength;
        messages[i] = &sparks[i]->message;
    }
    atomic_fetch_add(&storm.sent, 2);
    if (rgm_broadcast_messages(&self->actor, to, messages, 2) == 0)
        return;
    atomic_fetch_sub(&storm.sent, 2);
    spark_give(&self->actor, sparks[0]);
    spark_give(&self->actor, sparks[1]);
}

static void
ball_aim(struct node *self, struct ball *ball, uint32_t strength)
{
    rgm_request_to(&ball->request, anybody(self));
    ball->sender = self->name;
    ball->number = ++self->number;
    ball->strength = strength;
    ball->forwarded = false;
    ball->out = true;
    atomic_fetch_add(&storm.asked, 1);
}

static void
throw_ball(struct node *self, uint32_t strength)
{
    struct ball *ball = &self->balls[roll(self, BALLS)];
    uint32_t how = roll(self, 4);
    int status;

    if (ball->out)
        return;
    ball_aim(self, ball, strength);
    if (how == 0) {
        rgm_ask(self, ball, RGM_REPLY(node, ball, on_ball));
    } else if (how == 1) {
        rgm_ask_in(self, &self->order, ball, RGM_REPLY(node, ball, on_ball));
    } else if (how == 2) {
        rgm_answered_in(self, &self->order, ball, 0,
                        RGM_REPLY(node, ball, on_ball));
    } else {
        status = rgm_try_ask(self, ball, RGM_REPLY(node, ball, on_ball));
        if (status == 0)
            return;
        rgi_check(is_refusal(status) || status == -ECANCELED);
        ball->out = false;
        atomic_fetch_sub(&storm.asked, 1);
    }
}

static void
on_ball(struct node *self, struct ball *ball)
{
    rgi_check(ball->out);
    ball->out = false;
    atomic_fetch_add(&storm.answered, 1);
    if (rgm_status(ball) == 0 && ball->strength > 0 && roll(self, 3) == 0)
        throw_ball(self, ball->strength - 1);
}

static void
on_gathered(struct rgm_actor *actor, struct rgm_gather *gather)
{
    struct node *self = (struct node *)(void *)actor;

    rgi_check(self->gathering && gather == &self->gather && gather->out == 0);
    self->gathering = false;
    atomic_fetch_add(&storm.answered, GATHERED);
}

static void
gather_some(struct node *self, uint32_t strength)
{
    struct rgm_request *requests[GATHERED];

    if (self->gathering)
        return;
    self->gathering = true;
    for (uint32_t i = 0; i < GATHERED; i++) {
        ball_aim(self, &self->gathered[i], strength);
        requests[i] = &self->gathered[i].request;
    }
    rgm_gather_requests(&self->actor, &self->gather, requests, GATHERED,
                        on_gathered);
}

static void
on_sleep(struct node *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    self->sleeping = false;
    if (self->actor.worker->draining)
        rgm_stop(self);
}

static void
sleep_or_cancel(struct node *self)
{
    if (self->sleeping) {
        rgm_cancel(self, &self->sleep);
        return;
    }
    self->sleeping = true;
    rgm_sleep_for(&self->sleep, rgm_worker_address(roll(self, STORM_WORKERS)),
                  roll(self, 300) * RGM_NS_PER_US);
    rgm_ask(self, &self->sleep, RGM_REPLY(node, rgm_sleep, on_sleep));
}

static void
on_listen(struct node *self, struct rgm_listen *listen)
{
    (void)listen;
    self->listening = false;
}

/* The fake never does it: only a cancel or a stop ends it. */
static void
listen_or_cancel(struct node *self)
{
    if (self->listening) {
        rgm_cancel(self, &self->listen);
        return;
    }
    self->listening = true;
    fake_prepare(&self->listen, &self->listener,
                 roll(self, 4) != 0
                     ? rgm_here(self)
                     : rgm_worker_address(roll(self, STORM_WORKERS)));
    rgm_ask(self, &self->listen, RGM_REPLY(node, rgm_listen, on_listen));
}

static void
spawn_one(struct node *self, uint32_t strength)
{
    struct seed seed = {self->random, anybody(self)};
    struct rgm_address child = {0};
    uint32_t where = roll(self, STORM_WORKERS + 2);
    int status;

    if (where < STORM_WORKERS)
        status = rgm_spawn_on(self, where, &node_behaviour, &seed, &child);
    else if (where == STORM_WORKERS)
        status = rgm_spawn_next(self, &node_behaviour, &seed, &child);
    else
        status = rgm_spawn(self, &node_behaviour, &seed, &child);
    rgi_check(status == 0 || status == -EAGAIN || status == -EPIPE ||
              status == -EDOM);
    if (status != 0)
        return;
    self->known[roll(self, KNOWN)] = child;
    send_spark(self, child, strength);
    if (roll(self, 8) == 0)
        rgi_check(rgm_stop_actor(self, child) == 0);
}

static void
answer_oldest(struct node *self)
{
    struct rgm_token token = self->kept[0];
    int status;

    if (self->kept_count == 0)
        return;
    self->kept[0] = self->kept[1];
    self->kept_count--;
    if (roll(self, 3) == 0)
        status = rgm_forward_kept(self, token, anybody(self));
    else
        status = rgm_answer(self, token, 0);
    /* Withdrawn, if its asker has stopped meanwhile. */
    rgi_check(status == 0 || status == -EALREADY);
    rgi_check(rgm_answer(self, token, 0) == -EALREADY);
}

static void
act(struct node *self, uint32_t strength)
{
    switch (roll(self, 16)) {
    case 0:
        if (roll(self, 8) == 0)
            rgm_stop(self);
        break;
    case 1:
        if (roll(self, 8) == 0)
            (void)rgm_stop_actor(self, anybody(self));
        break;
    case 2:
    case 3:
        spawn_one(self, strength);
        break;
    case 4:
    case 5:
    case 6:
        throw_ball(self, strength);
        break;
    case 7:
        gather_some(self, strength);
        break;
    case 8:
        sleep_or_cancel(self);
        break;
    case 9:
        listen_or_cancel(self);
        break;
    case 10:
        answer_oldest(self);
        break;
    case 11:
        rgm_flush(self);
        break;
    case 12:
        send_two(self, strength);
        break;
    default:
        send_spark(self, anybody(self), strength);
    }
}

static void
act_twice(struct node *self, uint32_t strength)
{
    atomic_fetch_add(&storm.handled, 1);
    if (strength == 0)
        return;
    act(self, strength - 1);
    act(self, strength - 1);
}

static void
node_spark(struct node *self, struct spark *spark)
{
    uint32_t strength = spark->strength;

    if (!spark->forwarded)
        check_order(self, spark->sender, spark->number);
    self->known[roll(self, KNOWN)] = spark->about;
    if (roll(self, 8) == 0) {
        spark->forwarded = true;
        rgi_check(rgm_forward_one_way(self, spark, anybody(self)) == 0);
    }
    act_twice(self, strength);
}

static void
node_ball(struct node *self, struct ball *ball)
{
    uint32_t strength = ball->strength;

    if (!ball->forwarded)
        check_order(self, ball->sender, ball->number);
    ball->forwarded = true;
    switch (roll(self, 5)) {
    case 0:
        rgi_check(rgm_forward(self, ball, anybody(self)) == 0);
        break;
    case 1:
        if (self->kept_count == KEPT)
            answer_oldest(self);
        if (rgm_keep(self, ball, &self->kept[self->kept_count]) == 0)
            self->kept_count++;
        break;
    case 2:
        break; /* goes home with -EPROTO */
    default:
        rgm_reply(self, ball, 0);
    }
    act_twice(self, strength);
}

/* ---- plain threads ---- */

struct visitor {
    struct rgm_runtime *runtime;
    uint64_t random;
    struct rgm_address known;
    pthread_t thread;
};

static void
on_guest_ball(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
    atomic_fetch_add(&storm.answered, 1);
}

static void
visit_send(struct visitor *visitor, struct rgm_guest *guest, uint64_t name)
{
    for (uint64_t number = 1; number <= 20; number++) {
        struct spark *spark = spark_take(&guest->actor, 0);

        spark->sender = name;
        spark->number = number;
        spark->about = visitor->known;
        spark->strength = 5;
        atomic_fetch_add(&storm.sent, 1);
        if (rgm_send(guest, visitor->known, spark) == 0)
            continue;
        atomic_fetch_sub(&storm.sent, 1);
        spark_give(&guest->actor, spark);
    }
}

static void
visit_ask(struct visitor *visitor, struct rgm_guest *guest, struct ball *balls,
          uint64_t name)
{
    for (uint32_t i = 0; i < BALLS; i++) {
        ball_prepare(&balls[i], visitor->known);
        balls[i].sender = name;
        balls[i].number = 100 + i;
        balls[i].strength = 3;
        balls[i].forwarded = false;
        atomic_fetch_add(&storm.asked, 1);
        rgm_ask_request(&guest->actor, &balls[i].request, on_guest_ball);
    }
}

static void
visit_spawn(struct visitor *visitor, struct rgm_guest *guest)
{
    struct seed seed = {visitor->random, visitor->known};
    int status =
        rgm_spawn_on(guest, random_below(&visitor->random, STORM_WORKERS),
                     &node_behaviour, &seed, &visitor->known);

    rgi_check(status == 0 || status == -EPIPE || status == -EDOM);
}

static void
visit(struct visitor *visitor, struct rgm_guest *guest)
{
    struct ball balls[BALLS];
    uint64_t name = atomic_fetch_add(&storm.names, 1) + 1;

    visit_spawn(visitor, guest);
    visit_send(visitor, guest, name);
    visit_ask(visitor, guest, balls, name);
    if (random_below(&visitor->random, 2) == 0)
        visit_spawn(visitor, guest);
    if (random_below(&visitor->random, 2) == 0)
        (void)rgm_guest_wait(guest);
    (void)rgm_stop_actor(guest, visitor->known); /* else some keep for long */
    rgm_guest_close(guest);
}

static void *
visitor_thread(void *argument)
{
    struct visitor *visitor = argument;
    struct rgm_guest guest;

    while (!atomic_load(&storm.over) &&
           rgm_guest_open(visitor->runtime, &guest) == 0)
        visit(visitor, &guest);
    return NULL;
}

/* ---- the books ---- */

static void
check_counters(struct rgm_runtime *runtime)
{
    for (uint32_t i = 0; i < STORM_WORKERS; i++) {
        struct rgm_counters c;

        rgi_check(rgm_runtime_counters(runtime, i, &c) == 0);
        rgi_check(c.actors == 0 && c.messages_out == 0);
        rgi_check(c.kept == 0 && c.in_flight == 0);
        rgi_check(c.spawned == c.stopped);
        rgi_check(c.parks == c.park_bell + c.park_io + c.park_deadline);
    }
}

static void
check_books(struct rgm_runtime *runtime)
{
    rgi_check(storm.sent == storm.sent_home);
    rgi_check(storm.asked == storm.answered);
    rgi_check(storm.made == storm.stopped);
    check_counters(runtime);
}

/* One-way messages always come home, so this never waits for long. */
static void
fan_storm(struct rgm_runtime *runtime, uint64_t *random, uint64_t handled)
{
    struct visitor visitor = {runtime, *random, {0}, 0};
    struct rgm_guest guest;

    while (atomic_load(&storm.handled) < handled) {
        rgi_check(rgm_guest_open(runtime, &guest) == 0);
        visit_spawn(&visitor, &guest);
        visit_send(&visitor, &guest, atomic_fetch_add(&storm.names, 1) + 1);
        rgm_guest_close(&guest);
    }
    *random = visitor.random;
}

static void
storm_once(uint64_t random, uint64_t handled, bool spins)
{
    struct rgm_runtime_options options = {
        .workers = STORM_WORKERS,
        .provider = &fake_class,
        .lane_messages = 1 + random_below(&random, 8),
        .lane_bytes = 256 + random_below(&random, 4096),
        .quota = 1 + random_below(&random, 16),
        .lent_slots = 1 + random_below(&random, 4),
        .spin_us = spins ? 20 : RGM_SPIN_OFF,
    };
    struct visitor visitors[STORM_GUESTS];
    struct rgm_runtime *runtime;

    fake_reset();
    memset(&storm, 0, sizeof(storm));
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(runtime) == 0);
    for (uint32_t i = 0; i < STORM_GUESTS; i++) {
        visitors[i] = (struct visitor){runtime, random + i, {0}, 0};
        rgi_check(pthread_create(&visitors[i].thread, NULL, visitor_thread,
                                 &visitors[i]) == 0);
    }
    fan_storm(runtime, &random, handled);
    rgm_runtime_stop(runtime);
    atomic_store(&storm.over, true);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    for (uint32_t i = 0; i < STORM_GUESTS; i++)
        pthread_join(visitors[i].thread, NULL);
    check_books(runtime);
    rig_destroy(runtime);
}

static void
in_a_storm_everything_comes_home(void)
{
    uint64_t random = rgi_seed();
    uint64_t rounds = rgi_scale(2000);

    for (uint64_t i = 0; i < rounds; i++)
        storm_once(random + i * 1000, random_below(&random, 8000), i % 2);
}

/* -------------------------------------------------------------------- cases */

#define CASES(X)                                                               \
    X(review, an_old_chain_is_pushed_between_slow_handlers)                    \
    X(review, a_worker_that_may_not_spin_sleeps_however_short)                 \
    X(review, worker_0_is_pinned_for_as_long_as_it_is_one)                     \
    X(review, who_stops_does_not_wait_for_allowance)                           \
    X(review, a_worker_may_not_run_a_runtime)                                  \
    X(review, in_a_storm_everything_comes_home)

RGI_CASES(CASES)
