/* SPDX-License-Identifier: MIT */

/* ending_cases.c - what must every provider show of a stop that has a limit, is
 * forced, or is waited for and explained? */

#include "conformance/ending_cases.h"

#include <sched.h>
#include <stdlib.h>

#include "conformance/order.h"

#define BIG_BYTES ((size_t)8 << 20)
#define SLOT_BYTES 64

/* An actor with a pooled read, a read and a stuck write out, and a lease and a
 * view in its hands. It takes no notice of the end. */
struct holder {
    struct rgm_actor actor;
    struct holder_stage *shared;
    struct rgm_read read;
    struct rgm_read_pooled pooled;
    struct rgm_write big;
    struct rgm_sleep sleep;
    struct rgm_lease lease;
    struct rgm_view view;
    char bytes[16];
};

/* What the test keeps of it. The streams are the test's, as are the bytes. */
struct holder_stage {
    struct rgm_stream read, pooled, stuck;
    struct rgm_pool *pool;
    char *big;
    bool cancels; /* in `retiring` */
    unsigned asked, answered, cancelled, stopped;
};

RGM_HOOK(holder, holder_started);
RGM_HOOK(holder, holder_retiring);
RGM_HOOK(holder, holder_stopped);

static int
holder_make(struct rgm_actor *self, const void *argument)
{
    ((struct holder *)(void *)self)->shared =
        *(struct holder_stage *const *)argument;
    return 0;
}

static const struct rgm_behaviour holder_behaviour = {
    .name = "holder",
    .size_bytes = sizeof(struct holder),
    .factory = holder_make,
    .started = RGM_DO(holder, holder_started),
    .retiring = RGM_DO(holder, holder_retiring),
    .stopped = RGM_DO(holder, holder_stopped),
};

static void
holder_answered(struct rgm_actor *actor, struct rgm_request *request)
{
    struct holder *self = (struct holder *)(void *)actor;

    self->shared->answered++;
    self->shared->cancelled += rgm_request_status(request) == -ECANCELED;
}

static void
holder_ask(struct holder *self, struct rgm_request *request)
{
    self->shared->asked++;
    rgm_ask_request(&self->actor, request, holder_answered);
}

static void
holder_started(struct holder *self)
{
    struct holder_stage *shared = self->shared;
    struct rgm_lease lease;

    rgi_check(rgm_pool_try_acquire(shared->pool, &self->lease) == 0);
    rgi_check(rgm_pool_try_acquire(shared->pool, &lease) == 0);
    rgi_check(rgm_lease_freeze(&lease, &self->view) == 0);
    rgm_stream_read(&self->read, &shared->read, self->bytes,
                    sizeof(self->bytes));
    holder_ask(self, &self->read.request);
    rgm_stream_read_pooled(&self->pooled, &shared->pooled, shared->pool);
    holder_ask(self, &self->pooled.request);
    rgm_stream_write(&self->big, &shared->stuck, shared->big, BIG_BYTES);
    holder_ask(self, &self->big.request);
    rgm_sleep_for(&self->sleep, rgm_here(self), 3600 * RGM_NS_PER_S);
    holder_ask(self, &self->sleep.request);
}

static void
holder_retiring(struct holder *self)
{
    (void)self; /* it stays */
}

static void
holder_stopped(struct holder *self)
{
    self->shared->stopped++;
    (void)rgm_lease_drop(&self->lease);
    rgm_view_drop(&self->view);
}

struct set {
    struct holder_stage shared;
    int peers[3];
};

static void
set_up(struct stage *stage, struct set *set)
{
    struct holder_stage *shared = &set->shared;
    struct rgm_address address;

    memset(set, 0, sizeof(*set));
    stage_open(stage);
    shared->pool = pool_of(4, SLOT_BYTES);
    shared->big = calloc(1, BIG_BYTES);
    rgi_check(shared->big != NULL);
    set->peers[0] = stage_pair(stage, &shared->read);
    set->peers[1] = stage_pair(stage, &shared->pooled);
    set->peers[2] = stage_pair(stage, &shared->stuck);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &holder_behaviour,
                                &(struct holder_stage *){shared},
                                &address) == 0);
    rgi_check(stage_in_flight(stage) == 4);
}

static void
close_peers(struct set *set)
{
    for (int i = 0; i < 3; i++)
        peer_close(set->peers[i]);
}

static const struct rgm_blocker *
find(const struct rgm_blocker *list, uint32_t count, enum rgm_blocker_kind kind)
{
    for (uint32_t i = 0; i < count && i < RGM_STOP_REPORT_MAX; i++)
        if (list[i].kind == kind)
            return &list[i];
    return NULL;
}

/* After a stop, until that worker says what it has; it does so in its turns. */
static struct rgm_blocker
await_blocker(struct stage *stage, uint32_t worker, enum rgm_blocker_kind kind)
{
    struct rgm_blocker list[RGM_STOP_REPORT_MAX];

    for (;;) {
        uint32_t count =
            rgm_runtime_blockers(stage->runtime, list, RGM_STOP_REPORT_MAX);

        for (uint32_t i = 0; i < count && i < RGM_STOP_REPORT_MAX; i++)
            if (list[i].kind == kind && list[i].worker == worker)
                return list[i];
        sched_yield();
    }
}

/* --------------------------------------------------------------------- SHD-08 */

/* The kernel hears of no cancel, so what is in it stays there, and goes on
 * using the memory: data that comes afterwards does no harm. */
void
shd_08_expiry_with_leases_and_operations_is_safe(struct stage *stage)
{
    struct rgm_stop_options options = {.timeout_ns = 100 * RGM_NS_PER_MS,
                                       .linger_ns = 5 * RGM_NS_PER_MS,
                                       .grace_ns = 60 * RGM_NS_PER_S};
    const struct rgm_blocker *blocker;
    static struct set set; /* who knows how long it is written to */
    struct rgm_stop_report report;

    stage->spied = true;
    set_up(stage, &set);
    stage_do(stage, order_hold_cancels, NULL);
    rgi_check(rgm_runtime_stop_and_wait(stage->runtime, &options, &report) ==
              -ETIMEDOUT);
    rgi_check(report.forced && report.took_ns >= options.timeout_ns);
    blocker = find(report.left, report.left_count, RGM_BLOCKER_OPERATION);
    rgi_check(blocker != NULL && blocker->worker == 0 && blocker->count == 3);
    rgi_check(blocker->name != NULL);
    rgi_check(find(report.left, report.left_count, RGM_BLOCKER_ACTOR));
    rgi_check(set.shared.stopped == 0); /* it does not hear of it */
    rgi_check(spy_of(0)->closed && spy_of(0)->left == 3);
    peer_send(set.peers[0], "late", 4);
    peer_send(set.peers[1], "late", 4);
    close_peers(&set);
    rgi_check(rgm_runtime_wait(stage->runtime) == 0);
    rgi_check(rgm_runtime_destroy(stage->runtime) == 0);
    stage->runtime = NULL;
    rgm_pool_destroy(set.shared.pool);
}

void
shd_08_what_can_be_cancelled_is_not_left_behind(struct stage *stage)
{
    struct rgm_stop_options options = {.timeout_ns = 100 * RGM_NS_PER_MS,
                                       .linger_ns = 60 * RGM_NS_PER_S};
    struct rgm_stop_report report;
    struct set set;

    set_up(stage, &set);
    stage_stop(stage);
    (void)await_blocker(stage, 0, RGM_BLOCKER_OPERATION);
    rgi_check(rgm_runtime_stop_and_wait(stage->runtime, &options, &report) ==
              -ETIMEDOUT);
    rgi_check(report.forced && report.left_count == 0);
    rgi_check(
        find(report.blockers, report.blockers_count, RGM_BLOCKER_OPERATION));
    rgi_check(set.shared.asked == 4 && set.shared.answered == 4);
    rgi_check(set.shared.cancelled == 4 && set.shared.stopped == 1);
    close_peers(&set);
    rgi_check(rgm_pool_free_count(set.shared.pool) == 4);
    rgm_pool_destroy(set.shared.pool);
    stage_wait(stage);
    free(set.shared.big);
}

/* User code is not interrupted, on whatever thread it runs. */
struct held_job {
    struct rgm_job job;
    struct track track;
    bool inside, open; /* atomics */
    struct rgm_runtime *runtime;
    int awaited;
};

static int64_t
held_run(struct rgm_job *job)
{
    struct held_job *held = (struct held_job *)(void *)job;

    held->awaited = rgm_runtime_stop_and_wait(held->runtime, NULL, NULL);
    __atomic_store_n(&held->inside, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&held->open, __ATOMIC_SEQ_CST))
        sched_yield();
    return 7;
}

static void
ask_job(struct puppet *puppet, void *argument)
{
    struct held_job *held = argument;

    puppet_ask_step(puppet, &held->job.request, &held->track);
}

void
shd_08_a_job_that_runs_is_waited_for_and_named(struct stage *stage)
{
    struct rgm_stop_options options = {.timeout_ns = 100 * RGM_NS_PER_MS,
                                       .linger_ns = RGM_NS_PER_MS,
                                       .grace_ns = 100 * RGM_NS_PER_MS};
    const struct rgm_blocker *blocker;
    struct held_job held = {.inside = false};
    struct rgm_stop_report report;

    stage_open(stage);
    held.runtime = stage->runtime;
    rgm_job_run(&held.job, rgm_worker_address(0), held_run);
    stage_do(stage, ask_job, &held);
    while (!__atomic_load_n(&held.inside, __ATOMIC_SEQ_CST))
        sched_yield();
    rgi_check(held.awaited == -EDEADLK); /* of its own runtime */
    stage_stop(stage);
    (void)await_blocker(stage, 0, RGM_BLOCKER_OPERATION);
    rgi_check(rgm_runtime_stop_and_wait(stage->runtime, &options, &report) ==
              -EBUSY);
    blocker = find(report.left, report.left_count, RGM_BLOCKER_OPERATION);
    rgi_check(blocker != NULL && blocker->count == 1);
    rgi_check(strcmp(blocker->name, "rgm_job") == 0);
    __atomic_store_n(&held.open, true, __ATOMIC_SEQ_CST);
    rgi_check(rgm_runtime_stop_and_wait(stage->runtime, NULL, &report) ==
              -ETIMEDOUT);
    rgi_check(report.left_count == 0); /* nothing was given up */
    rgi_check(stage_end_request(stage, &held.job.request, &held.track) == 0);
    rgi_check(held.job.result == 7);
    stage_wait(stage);
}

/* --------------------------------------------------------------------- SHD-09 */

struct asker {
    struct rgm_guest guest;
    struct rgm_sleep sleep;
    struct rgm_read read;
    struct rgm_accept accept;
    struct rgm_stream fresh;
    unsigned answered;
};

static void
guest_answered(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    rgi_check(rgm_request_status(request) == -EPIPE);
}

/* What plain threads wait for is answered, whatever else is left. */
void
shd_09_torn_down_with_everything_out(struct stage *stage)
{
    struct asker asker = {.answered = 0};
    struct rgm_stream near;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(rgm_guest_open(stage->runtime, &asker.guest) == 0);
    rgm_sleep_for(&asker.sleep, rgm_worker_address(0), 3600 * RGM_NS_PER_S);
    rgm_stream_read(&asker.read, &near, &byte, 1);
    rgm_stream_accept(&asker.accept, &stage->listener, &asker.fresh);
    rgm_ask_request(&asker.guest.actor, &asker.sleep.request, guest_answered);
    rgm_ask_request(&asker.guest.actor, &asker.read.request, guest_answered);
    rgm_ask_request(&asker.guest.actor, &asker.accept.request, guest_answered);
    rgi_check(stage_in_flight(stage) == 3);
    rgm_runtime_force(stage->runtime, 0);
    for (uint32_t answers = 0; answers < 3;)
        answers += rgm_guest_wait(&asker.guest);
    rgm_guest_close(&asker.guest);
    peer_close(peer);
    stage_wait(stage);
}

/* --------------------------------------------------------------------- SHD-10 */

static void
give_up(struct puppet *puppet, void *argument)
{
    *(int *)argument = rgm_runtime_drop(puppet->stage->runtime);
}

struct destruction {
    struct rgm_runtime *runtime;
    int status;
};

static void
destroy_it(struct puppet *puppet, void *argument)
{
    struct destruction *destruction = argument;

    (void)puppet;
    destruction->status = rgm_runtime_destroy(destruction->runtime);
}

/* Its own runtime is not freed under it; another one that has ended is, in a
 * handler, without a join. */
void
shd_10_given_up_by_its_own_actor(struct stage *stage)
{
    struct stage other = {.class = stage->class};
    struct destruction destruction = {.status = 1};
    int status = 0;

    stage_init(&other);
    stage_open(stage);
    stage_do(stage, give_up, &status);
    rgi_check(status == -EBUSY); /* the errand's own guest is open */
    stage_open(&other);
    for (uint32_t i = 0; i < other.options.workers; i++)
        (void)rgm_runtime_stop_actor(other.runtime, other.puppets[i]);
    rgi_check(rgm_runtime_stop_and_wait(other.runtime, NULL, NULL) == 0);
    destruction.runtime = other.runtime;
    stage_do(stage, destroy_it, &destruction);
    rgi_check(destruction.status == 0);
    other.runtime = NULL;
    stage_deinit(&other);
    stage_close(stage);
}

/* --------------------------------------------------------------------- SHD-11 */

static void
stop_and_wait_here(struct puppet *puppet, void *argument)
{
    *(int *)argument =
        rgm_runtime_stop_and_wait(puppet->stage->runtime, NULL, NULL);
}

void
shd_11_stop_and_wait_for_oneself_is_refused(struct stage *stage)
{
    int status = 0;

    stage_open(stage);
    stage_do(stage, stop_and_wait_here, &status);
    rgi_check(status == -EDEADLK);
    stage_do(stage, stop_and_wait_here, &status); /* and nothing was stopped */
    stage_close(stage);
}

/* --------------------------------------------------------------------- SHD-12 */

static struct rgm_blocker
await_operation(struct stage *stage)
{
    struct rgm_blocker list[RGM_STOP_REPORT_MAX];
    const struct rgm_blocker *found;

    do {
        uint32_t count =
            rgm_runtime_blockers(stage->runtime, list, RGM_STOP_REPORT_MAX);

        sched_yield();
        found = find(list, count, RGM_BLOCKER_OPERATION);
    } while (found == NULL);
    return *found;
}

/* A read that no cancel reaches keeps the end waiting: it is named as long as
 * it does, and older at every look. */
void
shd_12_the_blocker_has_a_name_and_an_age(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_blocker first, second, none[4];
    struct rgm_stream near;
    char text[128], byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_do(stage, order_hold_cancels, NULL);
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin(stage, &read);
    rgi_check(rgm_runtime_blockers(stage->runtime, none, 4) == 0);
    stage_stop(stage);
    (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]);
    first = await_operation(stage);
    rgi_check(first.worker == 0 && first.count == 1);
    rgi_check(strcmp(first.name, "rgm_read") == 0);
    do
        second = await_operation(stage);
    while (second.age_ns <= first.age_ns);
    rgm_blocker_describe(&second, text, sizeof(text));
    rgi_check(strstr(text, "1 operation (rgm_read)") != NULL);
    peer_send(peer, "x", 1);
    rgi_check(stage_end(stage, &read) == 0);
    peer_close(peer);
    stage_wait(stage);
}

/* --------------------------------------------------------------------- SHD-13 */

struct caller {
    pthread_t thread;
    struct rgm_runtime *runtime;
    struct rgm_stop_options options;
    struct rgm_stop_report report;
    int status;
};

static void *
caller_main(void *argument)
{
    struct caller *caller = argument;

    caller->status = rgm_runtime_stop_and_wait(
        caller->runtime, &caller->options, &caller->report);
    return NULL;
}

/* The puppets stay until they are forced, after the one short limit. */
void
shd_13_eight_callers_with_limits_see_one_end(struct stage *stage)
{
    enum { CALLERS = 8 };
    struct caller callers[CALLERS] = {{.status = 0}};

    stage->options.workers = 2;
    stage_open(stage);
    stage_stop(stage);
    (void)await_blocker(stage, 0, RGM_BLOCKER_ACTOR);
    for (int i = 0; i < CALLERS; i++) {
        callers[i].runtime = stage->runtime;
        callers[i].options.grace_ns = 60 * RGM_NS_PER_S;
        callers[i].options.timeout_ns =
            i == 3 ? 20 * RGM_NS_PER_MS : 3600 * RGM_NS_PER_S;
        rgi_check(pthread_create(&callers[i].thread, NULL, caller_main,
                                 &callers[i]) == 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        rgi_check(pthread_join(callers[i].thread, NULL) == 0);
        rgi_check(callers[i].status == -ETIMEDOUT);
        rgi_check(callers[i].report.forced);
    }
    rgi_check(find(callers[3].report.blockers, callers[3].report.blockers_count,
                   RGM_BLOCKER_ACTOR));
    stage_wait(stage);
}

/* --------------------------------------------------------------------- SHD-15 */

/* The last callback of a timer is inside when the end comes. */
struct gate {
    struct rgm_actor actor;
    struct gate_state *state;
    struct rgm_sleep sleep;
};

struct gate_state {
    bool inside, open, over; /* atomics */
    struct rgm_runtime *runtime;
};

RGM_HOOK(gate, gate_started);
RGM_ANSWER(gate, rgm_sleep, gate_woken);

static int
gate_make(struct rgm_actor *self, const void *argument)
{
    ((struct gate *)(void *)self)->state =
        *(struct gate_state *const *)argument;
    return 0;
}

static const struct rgm_behaviour gate_behaviour = {
    .name = "gate",
    .size_bytes = sizeof(struct gate),
    .factory = gate_make,
    .started = RGM_DO(gate, gate_started),
};

static void
gate_started(struct gate *self)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), 1);
    rgm_ask(self, &self->sleep, RGM_REPLY(gate, rgm_sleep, gate_woken));
}

static void
gate_woken(struct gate *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    __atomic_store_n(&self->state->inside, true, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&self->state->open, __ATOMIC_SEQ_CST))
        sched_yield();
}

static void *
await_over(void *argument)
{
    struct gate_state *state = argument;

    rgi_check(rgm_runtime_stop_and_wait(state->runtime, NULL, NULL) == 0);
    rgi_check(spy_of(0)->closed && spy_of(1)->closed); /* the drivers */
    __atomic_store_n(&state->over, true, __ATOMIC_SEQ_CST);
    return NULL;
}

void
shd_15_no_end_before_the_last_callback_and_the_driver(struct stage *stage)
{
    struct gate_state state = {.inside = false};
    struct gate_state *argument = &state;
    struct rgm_blocker handler;
    struct rgm_address address;
    pthread_t waiter;

    stage->spied = true;
    stage->options.workers = 2;
    stage_open(stage);
    state.runtime = stage->runtime;
    rgi_check(rgm_runtime_spawn(stage->runtime, 1, &gate_behaviour, &argument,
                                &address) == 0);
    while (!__atomic_load_n(&state.inside, __ATOMIC_SEQ_CST))
        sched_yield();
    stage_stop(stage);
    rgi_check(pthread_create(&waiter, NULL, await_over, &state) == 0);
    /* Long enough for a wrong end to come. */
    handler = await_blocker(stage, 1, RGM_BLOCKER_HANDLER);
    rgi_check(strcmp(handler.name, "gate") == 0);
    rgi_check(!__atomic_load_n(&state.over, __ATOMIC_SEQ_CST));
    rgi_check(!spy_of(1)->closed);
    __atomic_store_n(&state.open, true, __ATOMIC_SEQ_CST);
    for (uint32_t i = 0; i < 2; i++)
        (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[i]);
    rgi_check(pthread_join(waiter, NULL) == 0);
    rgi_check(state.over);
    stage_wait(stage);
}
