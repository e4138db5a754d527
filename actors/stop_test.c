/* SPDX-License-Identifier: MIT */

/*
 * stop_test.c - a stop with a limit, a forced end, a runtime that is given up,
 * and what is said meanwhile.
 */

#include <pthread.h>
#include <sched.h>

#include <ringmail/resize.h>

#include "actors/rig.h"

/* What the actors of a case and its test thread share. */
struct ending {
    struct rgm_runtime *runtime;
    atomic_uint told, stopped, answered, withdrawn;
    atomic_int status;
    atomic_bool inside, go;
    struct rgm_address other;
};

#define ending_of(self) ((struct ending *)test_of(self))

static void
await(atomic_bool *flag)
{
    while (!atomic_load(flag))
        sched_yield();
}

static void
stay(struct robot *self)
{
    atomic_fetch_add(&ending_of(self)->told, 1);
}

static void
count_stopped(struct robot *self)
{
    atomic_fetch_add(&ending_of(self)->stopped, 1);
}

static void
count_withdrawn(struct robot *self, struct question *question)
{
    (void)question;
    atomic_fetch_add(&ending_of(self)->withdrawn, 1);
}

static struct rgm_runtime *
begin_on(struct ending *ending, uint32_t workers, bool deaf,
         void (*on_wait)(struct fake *fake, uint64_t deadline_ns))
{
    struct rgm_runtime *runtime;

    fake_reset();
    fake_plan.deaf = deaf;
    fake_plan.on_wait = on_wait;
    runtime = rig_make(workers);
    rgi_check(rgm_runtime_start(runtime) == 0);
    ending->runtime = runtime;
    return runtime;
}

static struct rgm_runtime *
begin(struct ending *ending, uint32_t workers)
{
    return begin_on(ending, workers, false, NULL);
}

static struct rgm_address
put(struct ending *ending, uint32_t worker, const struct script *script)
{
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(ending->runtime, worker, &robot_behaviour,
                                script, &address) == 0);
    return address;
}

/* The entry of a kind, or NULL. */
static const struct rgm_blocker *
find(const struct rgm_blocker *list, uint32_t count, uint32_t worker,
     enum rgm_blocker_kind kind)
{
    for (uint32_t i = 0; i < count && i < RGM_STOP_REPORT_MAX; i++)
        if (list[i].worker == worker && list[i].kind == kind)
            return &list[i];
    return NULL;
}

/* Until the worker names a blocker of the kind. A plain look; the case's own
 * limit guards against a hang. */
static struct rgm_blocker
await_blocker(struct rgm_runtime *runtime, uint32_t worker,
              enum rgm_blocker_kind kind)
{
    struct rgm_blocker list[RGM_STOP_REPORT_MAX];
    const struct rgm_blocker *found;

    do {
        uint32_t count =
            rgm_runtime_blockers(runtime, list, RGM_STOP_REPORT_MAX);

        sched_yield();
        found = find(list, count, worker, kind);
    } while (found == NULL);
    return *found;
}

/* ------------------------------------------------------------------ a limit */

RGM_ANSWER(robot, rgm_listen, on_listened);
RGM_ANSWER(robot, question, on_answer);

static void
on_listened(struct robot *self, struct rgm_listen *listen)
{
    atomic_store(&ending_of(self)->status, rgm_status(listen));
    atomic_fetch_add(&ending_of(self)->answered, 1);
}

static void
listen_for_ever(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_listened));
    atomic_store(&ending_of(self)->inside, true);
}

static const struct rgm_stop_options quick = {
    .timeout_ns = 20 * RGM_NS_PER_MS,
    .linger_ns = RGM_NS_PER_MS,
    .grace_ns = 60 * RGM_NS_PER_S};

static void
shd_08_a_time_limit_turns_graceful_into_forced(void)
{
    size_t before = rgi_memory_live();
    struct ending ending = {.told = 0};
    struct script stuck = {.started = listen_for_ever,
                           .retiring = stay,
                           .stopped = count_stopped,
                           .test = &ending};
    struct script idle = {
        .retiring = stay, .stopped = count_stopped, .test = &ending};
    struct rgm_runtime *runtime = begin_on(&ending, 2, true, NULL);
    struct rgm_stop_report report;
    const struct rgm_blocker *blocker;

    (void)put(&ending, 0, &idle);
    (void)put(&ending, 1, &stuck);
    await(&ending.inside);
    rgm_runtime_stop(
        runtime); /* each says what is out when it has heard of it */
    (void)await_blocker(runtime, 0, RGM_BLOCKER_ACTOR);
    (void)await_blocker(runtime, 1, RGM_BLOCKER_OPERATION);
    rgi_check(rgm_runtime_stop_and_wait(runtime, &quick, &report) ==
              -ETIMEDOUT);
    rgi_check(report.forced && report.took_ns >= quick.timeout_ns);
    blocker = find(report.blockers, report.blockers_count, 0,
                   RGM_BLOCKER_ACTOR);
    rgi_check(blocker != NULL && blocker->count == 1);
    rgi_check(strcmp(blocker->name, "robot") == 0);
    blocker = find(report.blockers, report.blockers_count, 1,
                   RGM_BLOCKER_OPERATION);
    rgi_check(blocker != NULL && blocker->count == 1 && blocker->age_ns > 0);
    rgi_check(strcmp(blocker->name, "rgm_listen") == 0);
    rgi_check(report.left_count == 2); /* the operation and its asker */
    blocker = find(report.left, report.left_count, 1, RGM_BLOCKER_OPERATION);
    rgi_check(blocker != NULL && blocker->count == 1);
    rgi_check(find(report.left, report.left_count, 1, RGM_BLOCKER_ACTOR));
    rgi_check(ending.told == 2);
    rgi_check(ending.stopped == 1 && ending.answered == 0);
    rgi_check(atomic_load(&fake_plan.closed_in_flight) == 1);
    rgi_check(rgm_runtime_wait(runtime) == 0); /* no provider has failed */
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(rgi_memory_live() > before); /* it may still be written to */
}

static void
shd_08_what_ends_in_time_is_not_forced(void)
{
    struct ending ending = {.told = 0};
    struct script listens = {.started = listen_for_ever,
                             .stopped = count_stopped,
                             .test = &ending};
    struct rgm_stop_options options = {.timeout_ns = 60 * RGM_NS_PER_S};
    struct rgm_runtime *runtime = begin(&ending, 2);
    struct rgm_stop_report report;

    (void)put(&ending, 1, &listens);
    await(&ending.inside);
    rgi_check(rgm_runtime_stop_and_wait(runtime, &options, &report) == 0);
    rgi_check(!report.forced && report.left_count == 0);
    rgi_check(report.blockers_count == 0);
    rgi_check(ending.stopped == 1 && ending.status == -ECANCELED);
    rgi_check(rgm_runtime_stop_and_wait(runtime, NULL, NULL) == 0); /* again */
    rig_destroy(runtime);
}

/* Forced, but the provider gives back what was cancelled: nothing is lost. */
static void
shd_08_what_is_given_back_in_time_is_told(void)
{
    struct ending ending = {.told = 0};
    struct script stuck = {.started = listen_for_ever,
                           .retiring = stay,
                           .stopped = count_stopped,
                           .test = &ending};
    struct rgm_stop_options options = {.timeout_ns = RGM_NS_PER_MS,
                                       .linger_ns = 60 * RGM_NS_PER_S,
                                       .grace_ns = 60 * RGM_NS_PER_S};
    struct rgm_runtime *runtime = begin(&ending, 1);
    struct rgm_stop_report report;

    (void)put(&ending, 0, &stuck);
    await(&ending.inside);
    rgi_check(rgm_runtime_stop_and_wait(runtime, &options, &report) ==
              -ETIMEDOUT);
    rgi_check(report.forced && report.left_count == 0);
    rgi_check(ending.stopped == 1 && ending.status == -ECANCELED);
    rig_destroy(runtime);
}

/* Only a look that comes after the cancel, and does not wait, finds the end. */
static void
end_at_a_look(struct fake *fake, uint64_t deadline_ns)
{
    if (deadline_ns == 0 && fake->cancels > 0)
        (void)fake_complete_first(fake, -ECANCELED);
}

/* Its cancel is answered inside the provider, after the last wait. */
static void
shd_08_what_was_completed_at_the_last_moment_is_told(void)
{
    struct ending ending = {.told = 0};
    struct script stuck = {.started = listen_for_ever,
                           .retiring = stay,
                           .stopped = count_stopped,
                           .test = &ending};
    struct rgm_runtime *runtime = begin_on(&ending, 1, true, end_at_a_look);

    (void)put(&ending, 0, &stuck);
    await(&ending.inside);
    rgm_runtime_force(runtime, 0); /* no time at all */
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(ending.stopped == 1 && ending.status == -ECANCELED);
    rgi_check(atomic_load(&fake_plan.closed_in_flight) == 0);
    rig_destroy(runtime);
}

/* -------------------------------------------------------- kept, out, in line */

static void
keep_it(struct robot *self, struct question *question)
{
    rgi_check(rgm_keep(self, question, &self->token) == 0);
    atomic_store(&ending_of(self)->inside, true);
}

static void
on_answer(struct robot *self, struct question *question)
{
    atomic_store(&ending_of(self)->status, rgm_status(question));
    atomic_fetch_add(&ending_of(self)->answered, 1);
}

static void
ask_other(struct robot *self)
{
    question_prepare(&self->question, ending_of(self)->other);
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_answer));
}

static void
shd_09_forced_everything_queued_or_kept_is_answered(void)
{
    struct ending ending = {.told = 0};
    struct script keeper = {.question = keep_it,
                            .retiring = stay,
                            .withdrawn = count_withdrawn,
                            .stopped = count_stopped,
                            .test = &ending};
    struct script asker = {.started = ask_other,
                           .retiring = stay,
                           .stopped = count_stopped,
                           .test = &ending};
    struct rgm_runtime *runtime = begin(&ending, 2);

    ending.other = put(&ending, 1, &keeper);
    (void)put(&ending, 0, &asker);
    await(&ending.inside);
    rgm_runtime_force(runtime, 0);
    rgm_runtime_force(runtime, 0); /* nothing more */
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(ending.stopped == 2 && ending.withdrawn == 1);
    rgi_check(ending.answered == 1 && ending.status < 0);
    rig_destroy(runtime);
}

/* ------------------------------------------------------------- plain threads */

struct caller {
    struct rgm_runtime *runtime;
    pthread_t thread;
    int status;
};

static void *
call_listen(void *argument)
{
    struct caller *caller = argument;
    struct rgm_listener listener = {.socket = {.open = 0}};
    struct rgm_listen listen;

    fake_prepare(&listen, &listener, rgm_worker_address(0));
    caller->status = rgm_call(caller->runtime, &listen);
    return NULL;
}

static atomic_bool let_it_end;

static void
end_when_told(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    if (atomic_load(&let_it_end))
        (void)fake_complete_first(fake, 0);
}

static void
shd_08_what_a_plain_thread_waits_for_is_not_given_up(void)
{
    struct ending ending = {.told = 0};
    struct rgm_stop_options options = quick;
    struct rgm_runtime *runtime = begin_on(&ending, 1, true, end_when_told);
    struct caller caller = {.runtime = runtime};
    struct rgm_stop_report report;
    struct rgm_counters counters;

    atomic_store(&let_it_end, false);
    options.grace_ns = 20 * RGM_NS_PER_MS;
    rgi_check(pthread_create(&caller.thread, NULL, call_listen, &caller) == 0);
    do
        rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    while (counters.operations == 0);
    rgm_runtime_stop(runtime);
    (void)await_blocker(runtime, 0, RGM_BLOCKER_OPERATION);
    rgi_check(rgm_runtime_stop_and_wait(runtime, &options, &report) == -EBUSY);
    rgi_check(report.forced);
    rgi_check(find(report.left, report.left_count, 0, RGM_BLOCKER_OPERATION));
    rgi_check(rgm_runtime_destroy(runtime) == -EBUSY);
    atomic_store(&let_it_end, true);
    rgi_bell_ring((void *)(intptr_t)runtime->places[0].bell);
    rgi_check(rgm_runtime_stop_and_wait(runtime, NULL, &report) == -ETIMEDOUT);
    rgi_check(report.left_count == 0);
    pthread_join(caller.thread, NULL);
    rgi_check(caller.status == 0); /* what was achieved is told */
    rig_destroy(runtime);
}

/* A factory on a plain thread holds a number of a worker's slots. */
static int
slow_make(struct rgm_actor *self, const void *argument)
{
    struct ending *ending = *(struct ending *const *)argument;

    (void)self;
    atomic_store(&ending->inside, true);
    await(&ending->go);
    return 0;
}

static const struct rgm_behaviour slow_behaviour = {
    .name = "slow", .size_bytes = sizeof(struct rgm_actor),
    .factory = slow_make};

static void *
spawn_slowly(void *argument)
{
    struct ending *ending = argument;
    struct rgm_address address;

    ending->status = rgm_runtime_spawn(ending->runtime, 0, &slow_behaviour,
                                       &ending, &address);
    return NULL;
}

static void
a_factory_that_takes_its_time_is_named_and_not_waited_for_when_forced(void)
{
    struct ending ending = {.told = 0};
    struct rgm_runtime *runtime = begin(&ending, 2);
    struct rgm_blocker blocker;
    pthread_t spawner;

    rgi_check(pthread_create(&spawner, NULL, spawn_slowly, &ending) == 0);
    await(&ending.inside);
    rgm_runtime_stop(runtime);
    blocker = await_blocker(runtime, 0, RGM_BLOCKER_SLOT);
    rgi_check(blocker.count >= 1);
    blocker = await_blocker(runtime, RGM_ANY_WORKER, RGM_BLOCKER_GUEST);
    rgi_check(blocker.count == 1);
    rgm_runtime_force(runtime, 0);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == -EBUSY); /* the guest */
    atomic_store(&ending.go, true);
    pthread_join(spawner, NULL);
    rgi_check(ending.status == -EPIPE);
    rig_destroy(runtime);
}

/* ------------------------------------------------------------ handlers, names */

static void
sit(struct robot *self, struct note *note)
{
    (void)note;
    atomic_store(&ending_of(self)->inside, true);
    await(&ending_of(self)->go);
}

static void
send_one(struct rgm_runtime *runtime, struct rgm_address to)
{
    struct rgm_guest guest;
    struct note *note;

    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    note = note_take(&guest.actor, 0);
    rgi_check(note != NULL);
    rgi_check(rgm_send_message(&guest.actor, to, &note->message) == 0);
    rgm_flush_worker(&guest.actor);
    rgm_guest_close(&guest);
}

static void *
send_and_wait(void *argument)
{
    struct ending *ending = argument;

    send_one(ending->runtime, ending->other);
    return NULL;
}

/* A handler before the stop was heard, and one after it. */
static void
shd_12_a_handler_that_does_not_return_is_named(void)
{
    struct ending ending = {.told = 0};
    struct script sits = {.note = sit, .retiring = stay, .test = &ending};
    struct rgm_stop_options options = {.timeout_ns = 20 * RGM_NS_PER_MS,
                                       .linger_ns = RGM_NS_PER_MS,
                                       .grace_ns = 20 * RGM_NS_PER_MS};
    struct rgm_runtime *runtime = begin(&ending, 2);
    const struct rgm_blocker *left;
    struct rgm_stop_report report;
    struct rgm_blocker blocker;
    pthread_t sender;
    char text[128];

    rgi_check(rgm_runtime_blockers(runtime, &blocker, 1) == 0);
    ending.other = put(&ending, 1, &sits);
    rgi_check(pthread_create(&sender, NULL, send_and_wait, &ending) == 0);
    await(&ending.inside);
    rgi_check(rgm_runtime_stop_and_wait(runtime, &options, &report) == -EBUSY);
    left = find(report.left, report.left_count, 1, RGM_BLOCKER_HANDLER);
    rgi_check(left != NULL && strcmp(left->name, "robot") == 0);
    rgi_check(left->age_ns >= RGM_BLOCKER_HANDLER_NS);
    rgm_blocker_describe(left, text, sizeof(text));
    rgi_check(strncmp(text, "worker 1: 1 handler that does not return (robot)",
                      48) == 0);
    atomic_store(&ending.go, true);
    pthread_join(sender, NULL);
    rgi_check(rgm_runtime_stop_and_wait(runtime, NULL, NULL) == -ETIMEDOUT);
    rig_destroy(runtime);
}

static void
shd_12_each_blocker_is_named_while_it_lasts(void)
{
    struct ending ending = {.told = 0};
    struct script keeper = {.question = keep_it,
                            .retiring = stay,
                            .withdrawn = count_withdrawn,
                            .test = &ending};
    struct script asker = {
        .started = ask_other, .retiring = stay, .test = &ending};
    struct rgm_runtime *runtime = begin(&ending, 2);
    struct rgm_blocker blocker;

    ending.other = put(&ending, 1, &keeper);
    (void)put(&ending, 0, &asker);
    await(&ending.inside);
    rgm_runtime_stop(runtime);
    blocker = await_blocker(runtime, 1, RGM_BLOCKER_KEPT);
    rgi_check(blocker.count == 1);
    blocker = await_blocker(runtime, 0, RGM_BLOCKER_REQUEST);
    rgi_check(blocker.count == 1);
    blocker = await_blocker(runtime, 1, RGM_BLOCKER_ACTOR);
    rgi_check(rgm_address_same(blocker.actor, ending.other));
    rgi_check(strcmp(blocker.name, "robot") == 0);
    rgi_check(rgm_runtime_blockers(runtime, NULL, 0) >= 4);
    rgi_check(rgm_runtime_stop_actor(runtime, ending.other) == 0);
    while (ending.answered == 0) /* ... and the request is home */
        sched_yield();
    rgm_runtime_force(runtime, 0);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_blockers(runtime, &blocker, 1) == 0);
    rig_destroy(runtime);
}

/* ------------------------------------------------------------------- callers */

static void
stop_from_inside(struct robot *self)
{
    struct rgm_stop_report report = {.took_ns = 7};

    atomic_store(&ending_of(self)->status,
                 rgm_runtime_stop_and_wait(ending_of(self)->runtime, NULL,
                                           &report));
    rgi_check(report.took_ns == 7); /* untouched */
    atomic_store(&ending_of(self)->inside, true);
}

static void
shd_11_stopping_and_awaiting_ones_own_runtime_is_refused(void)
{
    struct ending ending = {.told = 0};
    struct script inside = {
        .started = stop_from_inside, .retiring = stay, .test = &ending};
    struct rgm_runtime *runtime = begin(&ending, 1);

    (void)put(&ending, 0, &inside);
    await(&ending.inside);
    rgi_check(ending.status == -EDEADLK && ending.told == 0); /* not stopped */
    rgm_runtime_force(runtime, 0);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

struct limited {
    pthread_t thread;
    struct rgm_runtime *runtime;
    struct rgm_stop_options options;
    struct rgm_stop_report report;
    int status;
};

static void *
stop_limited(void *argument)
{
    struct limited *limited = argument;

    limited->status = rgm_runtime_stop_and_wait(
        limited->runtime, &limited->options, &limited->report);
    return NULL;
}

static void
shd_13_the_shortest_limit_counts_and_all_see_the_end(void)
{
    enum { CALLERS = 8 };
    struct ending ending = {.told = 0};
    struct script stubborn = {
        .retiring = stay, .stopped = count_stopped, .test = &ending};
    struct rgm_runtime *runtime = begin(&ending, 2);
    struct limited callers[CALLERS] = {{.status = 0}};

    (void)put(&ending, 1, &stubborn);
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i].runtime = runtime;
        callers[i].options.grace_ns = 60 * RGM_NS_PER_S;
        callers[i].options.timeout_ns = i == 5 ? 20 * RGM_NS_PER_MS
                                        : i % 2 ? 3600 * RGM_NS_PER_S
                                                : 0;
        rgi_check(pthread_create(&callers[i].thread, NULL, stop_limited,
                                 &callers[i]) == 0);
    }
    for (unsigned i = 0; i < CALLERS; i++) {
        pthread_join(callers[i].thread, NULL);
        rgi_check(callers[i].status == -ETIMEDOUT);
        rgi_check(callers[i].report.forced);
    }
    rgi_check(ending.stopped == 1);
    rig_destroy(runtime);
}

/* -------------------------------------------------------------- giving it up */

static void
give_it_up(struct robot *self, struct note *note)
{
    (void)note;
    await(&ending_of(self)->go); /* until the spawning guests are closed */
    atomic_store(&ending_of(self)->status,
                 rgm_runtime_drop(ending_of(self)->runtime));
}

/* The providers' ends order what the workers have done before what we do. */
static void
await_freed(uint32_t workers)
{
    while (atomic_load(&fake_plan.closed) != workers)
        sched_yield();
    while (rgi_memory_live() != 0)
        sched_yield();
}

static void
send_and_forget(struct robot *self)
{
    rgi_check(robot_send(self, ending_of(self)->other, 1) == 0);
    atomic_store(&ending_of(self)->inside, true);
}

static void
shd_10_a_handler_gives_up_the_runtime_it_runs_in(void)
{
    /* The count of memory says that it is gone, and orders nothing. */
    static struct ending ending = {.status = 1};
    static const struct script giver = {
        .note = give_it_up, .stopped = count_stopped, .test = &ending};
    static const struct script teller = {.started = send_and_forget, .test = &ending};

    (void)begin(&ending, 2);
    ending.other = put(&ending, 1, &giver);
    (void)put(&ending, 0, &teller);
    atomic_store(&ending.go, true);
    await_freed(2);
    rgi_check(ending.status == 0 && ending.stopped == 1);
}

static void
shd_10_what_is_over_or_never_began_is_freed_at_once(void)
{
    struct ending ending = {.told = 0};
    struct rgm_runtime *runtime = rig_make(2);

    rgi_check(rgm_runtime_drop(runtime) == 0);
    rgi_check(rgi_memory_live() == 0);
    runtime = begin(&ending, 2);
    rgi_check(rgm_runtime_stop_and_wait(runtime, NULL, NULL) == 0);
    rgi_check(rgm_runtime_drop(runtime) == 0);
    rgi_check(rgi_memory_live() == 0);
}

static void
drop_in_run(struct robot *self)
{
    struct rgm_runtime *runtime = self->actor.worker->runtime;

    rgi_check(rgm_runtime_drop(runtime) == -EBUSY); /* its caller has it */
    rgi_check(rgm_runtime_destroy(runtime) == -EBUSY);
    rgm_stop(self);
}

static void
shd_10_a_runtime_that_somebody_awaits_is_not_given_up(void)
{
    struct ending ending = {.told = 0};
    struct script root = {.started = drop_in_run, .test = &ending};
    struct rgm_runtime *runtime;
    struct rgm_guest guest;

    rig_run(2, &root);
    runtime = begin(&ending, 1);
    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    rgi_check(rgm_runtime_drop(runtime) == -EBUSY);
    rgm_guest_close(&guest);
    rgi_check(rgm_runtime_drop(runtime) == 0);
    await_freed(1);
}

/* Whoever runs it has it until he returns: while it starts, and when all that he
 * was for is over, and others may have seen the end. */
static struct rgm_runtime *being_run;

static int
drop_in_open(const struct rgm_provider_options *options,
             struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    rgi_check(rgm_runtime_drop(being_run) == -EBUSY);
    return fake_open(options, ret_provider, why, why_size);
}

static void
look_in_close(struct rgm_provider *provider)
{
    if (fake_of(provider)->worker == 0)
        rgi_check(ck_pr_load_32(&being_run->outside) != 0);
    fake_close(provider);
}

static void
shd_10_a_runtime_that_is_being_run_is_not_freed(void)
{
    static const struct rgm_provider_class class = {.name = "fake",
                                                    .open = drop_in_open,
                                                    .close = look_in_close,
                                                    .kinds = FAKE_KINDS};
    const struct rgm_runtime_options options = {.workers = 2,
                                                .provider = &class};
    const struct script root = {.started = drop_in_run};

    fake_reset();
    being_run = rig_make_with(&options);
    rgi_check(rgm_runtime_run(being_run, &robot_behaviour, &root) == 0);
    rig_destroy(being_run);
}

static void
drop_in_bell(void *runtime)
{
    rgi_check(rgm_runtime_drop(runtime) == 0);
    while (atomic_load(&fake_plan.closed) != 1)
        sched_yield(); /* it ends, and is there until we have rung */
    rgi_check(rgi_memory_live() != 0);
}

/* Whoever pushes something to it at that moment does not wait for its end: a slot,
 * what a job has done, what another runtime sends home. */
static void
shd_10_a_push_from_outside_keeps_nobody_from_giving_it_up(void)
{
    static const struct rgm_message_type type = {.kind = RGM_KIND_CONTROL};
    struct ending ending = {.told = 0};
    struct rgm_runtime *runtime = begin(&ending, 1);
    struct rgm_message node = {.type = &type};
    struct rgi_inbox inbox; /* of somebody who sleeps */

    rgi_inbox_init(&inbox, drop_in_bell, runtime);
    rgi_inbox_open(&inbox);
    rgi_check(rgi_inbox_sleep(&inbox));
    rgi_check(rgi_push_outside(runtime, &inbox, &node) == RGI_PUSHED_AND_RANG);
    await_freed(1);
}

/* ------------------------------------------------------------------ the rest */

static void
a_runtime_that_never_started_is_over_at_once(void)
{
    struct rgm_runtime *runtime = rig_make(2);
    struct rgm_stop_report report;

    rgi_check(rgm_runtime_stop_and_wait(runtime, &quick, &report) == 0);
    rgi_check(!report.forced);
    rig_destroy(runtime);
}

/* ------------------------------------------------------- while workers change */

static void *
resize_for_ever(void *argument)
{
    struct ending *ending = argument;
    uint32_t wanted = 0;
    int status;

    atomic_store(&ending->inside, true);
    do
        status = rgm_runtime_resize(ending->runtime, 1 + wanted++ % 4);
    while (status == 0);
    rgi_check(status == -EPIPE);
    return NULL;
}

/* An end by force comes in the middle of growing and shrinking; whoever is on
 * his way, and whoever goes, ends with the rest. */
static void
shd_08_force_while_workers_come_and_go(void)
{
    uint64_t rounds = rgi_scale(30000);

    for (uint64_t i = 0; i < rounds; i++) {
        struct ending ending = {.told = 0};
        struct script stubborn = {
            .retiring = stay, .stopped = count_stopped, .test = &ending};
        struct rgm_runtime *runtime = begin(&ending, 2);
        pthread_t resizer;

        (void)put(&ending, 0, &stubborn);
        (void)put(&ending, 1, &stubborn);
        rgi_check(pthread_create(&resizer, NULL, resize_for_ever, &ending) ==
                  0);
        await(&ending.inside);
        for (uint64_t yields = i % 17; yields > 0; yields--)
            sched_yield();
        rgm_runtime_force(runtime, i % 3 * RGM_NS_PER_US);
        rgi_check(rgm_runtime_wait(runtime) == 0);
        pthread_join(resizer, NULL);
        rgi_check(ending.stopped == 2);
        rig_destroy(runtime);
    }
}

static void
force_before_the_start_ends_what_starts(void)
{
    struct ending ending = {.told = 0};
    struct rgm_runtime *runtime;
    struct rgm_address address;
    struct script idle = {.retiring = stay, .test = &ending};

    fake_reset();
    runtime = rig_make(2);
    rgm_runtime_force(runtime, 0);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_spawn(runtime, 0, &robot_behaviour, &idle,
                                &address) == -EPIPE);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
    fake_reset();
    fake_plan.open_error = -EMFILE;
    runtime = rig_make(2);
    rgm_runtime_force(runtime, 0);
    rgi_check(rgm_runtime_start(runtime) == -EMFILE);
    rig_destroy(runtime);
}

/* A handle is dropped by an actor that ends, and the provider fails with the
 * close: there is nobody to tell, and the worker ends all the same. */
static void
drop_listener(struct robot *self)
{
    struct rgm_worker *worker = self->actor.worker;

    self->listener.socket = (struct rgm_socket){
        .open = 1,
        .worker = rgi_address_make(worker->number, 0, worker->identity)};
    rgi_check(rgm_socket_drop(&self->actor, &self->listener.socket) == 0);
    atomic_store(&ending_of(self)->inside, true);
}

static void
a_close_that_goes_with_its_provider_keeps_nobody_waiting(void)
{
    struct ending ending = {.told = 0};
    struct script dropper = {.started = drop_listener,
                             .stopped = count_stopped,
                             .test = &ending};
    struct rgm_runtime *runtime = begin_on(&ending, 2, true, NULL);

    (void)put(&ending, 1, &dropper);
    await(&ending.inside);
    atomic_store(&fake_plan.wait_error[1], -EIO);
    rgi_bell_ring((void *)(intptr_t)runtime->places[1].bell);
    rgi_check(rgm_runtime_wait(runtime) == -EIO);
    rgi_check(ending.stopped == 1);
    rgi_check(atomic_load(&fake_plan.closed_in_flight) == 1);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
}

static void
a_description_is_cut_and_ends(void)
{
    struct rgm_blocker blocker = {.worker = 2,
                                  .kind = RGM_BLOCKER_OPERATION,
                                  .count = 1,
                                  .age_ns = 12041 * RGM_NS_PER_MS,
                                  .name = "rgm_read"};
    char text[64], little[8];

    rgm_blocker_describe(&blocker, text, sizeof(text));
    rgi_check(strcmp(text, "worker 2: 1 operation (rgm_read), for 12.041 s") ==
              0);
    rgm_blocker_describe(&blocker, little, sizeof(little));
    rgi_check(strcmp(little, "worker ") == 0);
    blocker = (struct rgm_blocker){.worker = RGM_ANY_WORKER,
                                   .kind = RGM_BLOCKER_GUEST,
                                   .count = 2};
    rgm_blocker_describe(&blocker, text, sizeof(text));
    rgi_check(strcmp(text, "runtime: 2 guests, for 0.000 s") == 0);
}

/* The last two leave memory behind on purpose. */
#define CASES(X)                                                               \
    X(stop, shd_08_what_ends_in_time_is_not_forced)                            \
    X(stop, shd_08_what_is_given_back_in_time_is_told)                         \
    X(stop, shd_08_what_was_completed_at_the_last_moment_is_told)              \
    X(stop, shd_08_what_a_plain_thread_waits_for_is_not_given_up)              \
    X(stop, shd_09_forced_everything_queued_or_kept_is_answered)               \
    X(stop,                                                                    \
      a_factory_that_takes_its_time_is_named_and_not_waited_for_when_forced)   \
    X(stop, shd_08_force_while_workers_come_and_go)                            \
    X(stop, shd_12_a_handler_that_does_not_return_is_named)                    \
    X(stop, shd_12_each_blocker_is_named_while_it_lasts)                       \
    X(stop, shd_11_stopping_and_awaiting_ones_own_runtime_is_refused)          \
    X(stop, shd_13_the_shortest_limit_counts_and_all_see_the_end)              \
    X(stop, shd_10_a_handler_gives_up_the_runtime_it_runs_in)                  \
    X(stop, shd_10_what_is_over_or_never_began_is_freed_at_once)               \
    X(stop, shd_10_a_runtime_that_somebody_awaits_is_not_given_up)             \
    X(stop, shd_10_a_runtime_that_is_being_run_is_not_freed)                   \
    X(stop, shd_10_a_push_from_outside_keeps_nobody_from_giving_it_up)         \
    X(stop, a_runtime_that_never_started_is_over_at_once)                      \
    X(stop, force_before_the_start_ends_what_starts)                           \
    X(stop, a_description_is_cut_and_ends)                                     \
    X(stop, shd_08_a_time_limit_turns_graceful_into_forced)                    \
    X(stop, a_close_that_goes_with_its_provider_keeps_nobody_waiting)

RGI_CASES(CASES)
