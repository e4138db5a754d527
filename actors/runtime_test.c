/* SPDX-License-Identifier: MIT */

/*
 * runtime_test.c - does a runtime start whole, stop whole, and leave nothing?
 */

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ringmail/context.h>
#include <ringmail/deadline.h>
#include <ringmail/resize.h>
#include <ringmail/worker_lease.h>

#include "actors/rig.h"

struct run {
    struct rgm_runtime *runtime;
    pthread_t thread;
    int *stack_data;
    unsigned started, stopped, answers;
    int status;
    atomic_uint counted;
};

#define run_of(self) ((struct run *)test_of(self))

static void
stop_runtime(struct robot *self)
{
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
count_stopped(struct robot *self)
{
    atomic_fetch_add(&run_of(self)->counted, 1);
}

static const struct script idle_script = {.started = NULL};

static void
end(struct rgm_runtime *runtime)
{
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

/* ------------------------------------------------------------------ drivers */

/* A driver that cannot listen, and is told how much it may do at once. */
#define NO_LISTENING (FAKE_KINDS & ~(UINT64_C(1) << RGM_OP_LISTEN))

static int
poor_open(const struct rgm_provider_options *options,
          struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    int status = fake_open(options, ret_provider, why, why_size);

    rgi_check(options->in_flight_max == 7 && options->entries == 16 &&
              options->fixed_files_max == 5);
    if (status == 0)
        (*ret_provider)->kinds = NO_LISTENING;
    return status;
}

static const struct rgm_provider_class poor_class = {
    .name = "poor",
    .open = poor_open,
    .close = fake_close,
    .kinds = NO_LISTENING,
};

RGM_ANSWER(robot, rgm_listen, on_no_listener);

static void
on_no_listener(struct robot *self, struct rgm_listen *listen)
{
    run_of(self)->status = rgm_status(listen);
    rgm_stop(self);
}

static void
listen_in_vain(struct robot *self)
{
    struct rgm_endpoint any;

    rgi_check((rgm_own_kinds(self) >> RGM_OP_LISTEN & 1) == 0);
    rgi_check((rgm_own_kinds(self) >> RGM_OP_READ & 1) != 0);
    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &any) == 0);
    rgm_stream_listen(&self->listen, rgm_here(self), &self->listener, &any,
                      false);
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, on_no_listener));
}

static void
cmp_02_what_a_driver_lacks_is_absent_and_limits_are_its_own(void)
{
    struct run run = {.status = 1};
    struct script root = {.started = listen_in_vain, .test = &run};
    struct rgm_runtime_options options = {.workers = 2,
                                          .provider = &poor_class,
                                          .in_flight_max = 7,
                                          .fixed_files_max = 5,
                                          .ring_entries = 16};

    fake_reset();
    rig_run_with(&options, &root);
    rgi_check(run.status == -ENOTSUP);
    rgi_check((poor_class.kinds >> RGM_OP_LISTEN & 1) == 0); /* before start */
}

/* Which thread has driven each worker's driver, and run its actors. */
static atomic_long drivers[4], runners[4];

static void
note_driver(struct fake *fake, uint64_t deadline_ns)
{
    long self = syscall(SYS_gettid);
    long before = atomic_exchange(&drivers[fake->worker], self);

    (void)deadline_ns;
    rgi_check(before == 0 || before == self);
}

static void
note_runner(struct robot *self)
{
    atomic_store(&runners[rgm_worker_number(&self->actor)],
                 syscall(SYS_gettid));
}

static void
cmp_06_one_driver_per_worker_driven_by_its_thread(void)
{
    static const struct script script = {.started = note_runner};
    struct rgm_address address;
    struct rgm_runtime *runtime;

    fake_reset();
    for (unsigned i = 0; i < 4; i++) {
        atomic_store(&drivers[i], 0);
        atomic_store(&runners[i], 0);
    }
    fake_plan.on_wait = note_driver;
    runtime = rig_make(4);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(atomic_load(&fake_plan.opened) == 4);
    for (uint32_t i = 0; i < 4; i++)
        rgi_check(rgm_runtime_spawn(runtime, i, &robot_behaviour, &script,
                                    &address) == 0);
    for (unsigned i = 0; i < 4; i++)
        while (atomic_load(&drivers[i]) == 0 || atomic_load(&runners[i]) == 0)
            sched_yield();
    for (unsigned i = 0; i < 4; i++) {
        rgi_check(atomic_load(&drivers[i]) == atomic_load(&runners[i]));
        for (unsigned k = 0; k < i; k++)
            rgi_check(atomic_load(&drivers[i]) != atomic_load(&drivers[k]));
    }
    end(runtime);
    rgi_check(atomic_load(&fake_plan.closed) == 4);
}

/* ------------------------------------------------------------------ options */

static void
options_outside_their_range_are_refused(void)
{
    static const struct rgm_runtime_options bad[] = {
        {.workers = RGM_WORKERS_MAX + 1},
        {.lane_messages = UINT32_C(1) << 31},
        {.lane_bytes = UINT64_MAX},
        {.lent_slots = 1 << 20},
        {.spin_us = 5000000},
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rgm_runtime *untouched = NULL;

        rgi_check(rgm_runtime_create(&bad[i], &untouched) == -EINVAL);
        rgi_check(untouched == NULL);
    }
    rgi_check(rgi_memory_live() == 0);
}

/* A deadline may be as far away as 64 bits of nanoseconds say, and the slots of
 * the queue are what they are (timers.c): the tick is all that can be set. */
static void
tmr_23_tick_of_deadlines_is_validated(void)
{
    static const struct {
        uint32_t tick_us;
        int status;
    } table[] = {
        {0, 0},
        {1, 0},
        {RGM_DEADLINE_TICK_MAX_US, 0},
        {RGM_DEADLINE_TICK_MAX_US + 1, -EINVAL},
        {UINT32_MAX, -EINVAL},
    };

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        struct rgm_runtime_options options = {
            .workers = 1, .deadline_tick_us = table[i].tick_us};
        struct rgm_runtime *runtime = NULL;

        rgi_check(rgm_runtime_create(&options, &runtime) == table[i].status);
        rgi_check((runtime != NULL) == (table[i].status == 0));
        if (runtime != NULL)
            rgi_check(rgm_runtime_destroy(runtime) == 0);
    }
    rgi_check(rgi_memory_live() == 0);
}

static void
defaults_come_from_the_machine(void)
{
    uint32_t cpus = rgm_usable_cpus();
    struct rgm_runtime *runtime;

    rgi_check(cpus >= 1);
    rgi_check(rgm_runtime_create(NULL, &runtime) == 0);
    rgi_check(rgm_runtime_workers(runtime) ==
              (cpus < RGM_WORKERS_MAX ? cpus : RGM_WORKERS_MAX));
    rig_destroy(runtime);
    rgi_check(rgm_runtime_destroy(NULL) == 0);
}

/* ----------------------------------------------------------------- the order */

static void
starting_twice_is_refused(void)
{
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_start(runtime) == -EALREADY);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &idle_script) ==
              -EALREADY);
    rgi_check(rgm_runtime_destroy(runtime) == -EBUSY);
    rgm_runtime_stop(runtime);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_start(runtime) == -EALREADY);
    rgm_runtime_stop(runtime);
    rig_destroy(runtime);
}

static void
opl_21_a_runtime_in_use_is_not_freed(void)
{
    struct rgm_runtime *runtime;
    struct rgm_guest guest;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == -EBUSY);
    rgm_guest_close(&guest);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == -EBUSY);
    end(runtime);
}

static void
note_start(struct robot *self)
{
    run_of(self)->started++;
}

static void
a_stop_before_the_start_ends_it_at_once(void)
{
    struct run run = {.started = 0};
    struct script root = {
        .started = note_start, .stopped = count_stopped, .test = &run};
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(2);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(run.started == 1 && atomic_load(&run.counted) == 1);
    rig_destroy(runtime);

    runtime = rig_make(2);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);

    runtime = rig_make(2);
    rgm_runtime_stop(runtime);
    rig_destroy(runtime);
}

/* --------------------------------------------------------------------- root */

static void
look_at_thread(struct robot *self)
{
    struct run *run = run_of(self);

    rgi_check(pthread_equal(pthread_self(), run->thread));
    rgi_check(rgm_worker_number(&self->actor) == 0);
    rgi_check(*run->stack_data == 1234);
    *run->stack_data = 4321;
    rgm_stop(self);
}

static void
tsk_11_the_root_runs_on_the_calling_thread(void)
{
    int local = 1234;
    struct run run = {.stack_data = &local, .thread = pthread_self()};
    struct script root = {.started = look_at_thread, .test = &run};

    rig_run(2, &root);
    rgi_check(local == 4321);
}

struct census {
    pthread_t threads[4];
    struct rgm_provider *providers[4];
    atomic_uint counted;
};

static void
sign_in(struct robot *self)
{
    struct census *census = test_of(self);
    uint32_t number = rgm_worker_number(&self->actor);

    census->threads[number] = pthread_self();
    census->providers[number] = self->actor.worker->provider;
    if (atomic_fetch_add(&census->counted, 1) + 1 == 4)
        stop_runtime(self);
}

static void
call_the_roll(struct robot *self)
{
    static struct script member;
    struct rgm_address addresses[4];

    member = *self->script;
    member.started = sign_in;
    rgi_check(rgm_spawn_each(self, &robot_behaviour, &member, addresses, 4) ==
              4);
}

static void
tsk_12_the_caller_is_worker_0_and_nobody_shares_a_provider(void)
{
    struct census census = {.counted = 0};
    struct script root = {.started = call_the_roll, .test = &census};

    rig_run(4, &root);
    rgi_check(pthread_equal(census.threads[0], pthread_self()));
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned j = 0; j < i; j++) {
            rgi_check(!pthread_equal(census.threads[i], census.threads[j]));
            rgi_check(census.providers[i] != census.providers[j]);
        }
    }
    rgi_check(atomic_load(&fake_plan.opened) == 4);
    rgi_check(atomic_load(&fake_plan.closed) == 4);
}

static int
refuse_to_be(struct rgm_actor *self, const void *argument)
{
    (void)self;
    (void)argument;
    return -EDOM;
}

static void
a_root_that_is_refused_ends_the_runtime(void)
{
    static const struct rgm_behaviour refused = {.name = "refused",
                                                 .size_bytes =
                                                     sizeof(struct rgm_actor),
                                                 .factory = refuse_to_be};
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &refused, NULL) == -EDOM);
    rig_destroy(runtime);
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, NULL, NULL) == -EINVAL);
    rig_destroy(runtime);
}

/* -------------------------------------------------------------- start errors */

static void
leave_alone(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

static void
cmp_04_if_one_worker_cannot_start_none_is_left(void)
{
    for (uint32_t failing = 0; failing < 4; failing++) {
        for (int way = 0; way < 2; way++) {
            struct run run = {.started = 0};
            struct script root = {.started = note_start, .test = &run};
            struct rgm_runtime *runtime;

            fake_reset();
            fake_plan.open_error = -ENOTSUP;
            fake_plan.open_error_at = failing;
            runtime = rig_make(4);
            rgi_check((way == 0 ? rgm_runtime_start(runtime)
                                : rgm_runtime_run(runtime, &robot_behaviour,
                                                  &root)) == -ENOTSUP);
            rgi_check(strstr(rgm_runtime_error(runtime), "told to fail"));
            rgi_check(run.started == 0);
            rgi_check(atomic_load(&fake_plan.opened) == failing);
            rgi_check(atomic_load(&fake_plan.closed) == failing);
            rgi_check(rgm_runtime_start(runtime) == -EALREADY);
            rgm_runtime_stop(runtime);
            rgi_check(rgm_runtime_wait(runtime) == 0);
            rig_destroy(runtime);
        }
    }
}

/* What plain threads have asked by then is in inboxes of workers without a driver. */
static void
cmp_04_what_was_asked_before_a_start_that_fails_is_refused(void)
{
    struct rgm_lease_holders question;
    struct rgm_sleep sleep;
    struct rgm_resize resize;
    struct rgm_runtime *runtime;
    struct rgm_guest guest;

    fake_reset();
    fake_plan.open_error = -ENOTSUP;
    runtime = rig_make(2);
    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    rgm_lease_holders_of(&question, rgm_worker_address(0), NULL, 0);
    rgm_request_expire_after(&question.request, 1);
    rgm_sleep_for(&sleep, rgm_worker_address(1), 1);
    rgm_resize_to(&resize, 1);
    rgm_ask_request(&guest.actor, &question.request, leave_alone);
    rgm_ask_request(&guest.actor, &sleep.request, leave_alone);
    rgm_ask_request(&guest.actor, &resize.request, leave_alone);
    rgi_check(rgm_runtime_start(runtime) == -ENOTSUP);
    rgm_guest_close(&guest);
    rgi_check(rgm_status(&question) == -EPIPE);
    rgi_check(rgm_status(&sleep) == -EPIPE && rgm_status(&resize) == -EPIPE);
    rig_destroy(runtime);
}

/* Whatever allocation fails: an error, or nothing of it noticed; no leak. */
static void
exercise_keep(struct robot *self, struct question *question)
{
    int status = rgm_keep(self, question, &self->token);

    rgi_check(status == 0 || status == -ENOMEM);
    if (status == 0)
        rgi_check(rgm_answer(self, self->token, 0) == 0);
    else
        rgm_reply(self, question, status);
}

RGM_ANSWER(robot, question, exercise_over);

static void
exercise_over(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0 || rgm_status(question) == -ENOMEM);
    stop_runtime(self);
}

static void
exercise(struct robot *self)
{
    static const struct script keeper = {.question = exercise_keep};
    struct rgm_address address = {7}, each[2];
    int status;

    status = rgm_spawn_each(self, &robot_behaviour, &keeper, each, 2);
    rgi_check(status == 2 || status == -ENOMEM || status == -EAGAIN);
    status = rgm_spawn_on(self, 1, &robot_behaviour, &keeper, &address);
    rgi_check(status == 0 || status == -ENOMEM || status == -EAGAIN);
    if (status == 0) {
        struct note *note = note_take(&self->actor, 100000);

        if (note != NULL)
            rgi_check(rgm_send(self, address, note) == 0);
        status = rgm_stop_actor(self, each[0]);
        rgi_check(status == 0 || status == -ENOMEM);
        question_prepare(&self->question, address);
        rgm_ask(self, &self->question,
                RGM_REPLY(robot, question, exercise_over));
    } else {
        rgi_check(address.bits == 7);
        stop_runtime(self);
    }
}

static bool
exercise_once(unsigned long nth)
{
    struct script root = {.started = exercise};
    struct rgm_runtime_options options = {.workers = 2,
                                          .provider = &fake_class};
    struct rgm_runtime *runtime = NULL;
    bool failed;
    int status;

    fake_reset();
    rgi_memory_fail_nth(nth);
    status = rgm_runtime_create(&options, &runtime);
    if (status != 0) {
        rgi_check(status == -ENOMEM && runtime == NULL);
    } else {
        status = rgm_runtime_run(runtime, &robot_behaviour, &root);
        rgi_check(status == 0 || status == -ENOMEM);
    }
    failed = rgi_memory_fail_off();
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(rgi_memory_live() == 0);
    return failed;
}

static void
any_allocation_may_fail(void)
{
    unsigned long nth = 1;

    while (exercise_once(nth))
        nth++;
    rgi_check(nth > 20);
}

static bool
exercise_guest_once(struct rgm_runtime *runtime, unsigned long nth)
{
    struct rgm_guest guest;
    struct rgm_address address;
    bool failed;
    int status;

    rgi_memory_fail_nth(nth);
    status = rgm_guest_open(runtime, &guest);
    rgi_check(status == 0 || status == -ENOMEM);
    if (status == 0) {
        status =
            rgm_spawn_on(&guest, 1, &robot_behaviour, &idle_script, &address);
        rgi_check(status == 0 || status == -ENOMEM);
        if (status == 0) {
            status = rgm_stop_actor(&guest, address);
            rgi_check(status == 0 || status == -ENOMEM);
        }
        rgm_guest_close(&guest);
    }
    failed = rgi_memory_fail_off();
    return failed;
}

static void
any_allocation_of_a_guest_may_fail(void)
{
    bool failed = true;

    for (unsigned long nth = 1; failed; nth++) {
        struct rgm_runtime *runtime;

        fake_reset();
        runtime = rig_make(2);
        rgi_check(rgm_runtime_start(runtime) == 0);
        failed = exercise_guest_once(runtime, nth);
        end(runtime);
    }
}

/* ------------------------------------------------------------------- signals */

/* ThreadSanitizer keeps a signal that comes between its own look and a call that
 * sleeps, until that call ends: here never. */
#if defined(__SANITIZE_THREAD__)
#define SIGNALS_ARE_KEPT true
#else
#define SIGNALS_ARE_KEPT false
#endif

static struct rgm_runtime *stopped_by_signal;

static void
stop_by_signal(int number)
{
    (void)number;
    rgm_runtime_stop(stopped_by_signal);
    rgm_runtime_stop(stopped_by_signal);
}

static void
raise_signal(struct robot *self)
{
    errno = ELOOP;
    raise(SIGUSR1);
    rgi_check(errno == ELOOP);
    run_of(self)->started++;
}

static void *
signal_process(void *argument)
{
    (void)argument;
    kill(getpid(), SIGUSR1);
    return NULL;
}

static void
a_signal_handler_may_stop(void)
{
    struct sigaction action = {.sa_handler = stop_by_signal}, before;
    struct run run = {.started = 0};
    struct script busy = {.started = raise_signal, .test = &run};
    pthread_t thread;

    sigemptyset(&action.sa_mask);
    rgi_check(sigaction(SIGUSR1, &action, &before) == 0);
    /* in the middle of a handler of ours */
    fake_reset();
    stopped_by_signal = rig_make(2);
    rgi_check(rgm_runtime_run(stopped_by_signal, &robot_behaviour, &busy) == 0);
    rig_destroy(stopped_by_signal);
    rgi_check(run.started == 1);
    /* while all sleep, or are about to */
    if (!SIGNALS_ARE_KEPT) {
        stopped_by_signal = rig_make(2);
        rgi_check(pthread_create(&thread, NULL, signal_process, NULL) == 0);
        rgi_check(rgm_runtime_run(stopped_by_signal, &robot_behaviour,
                                  &idle_script) == 0);
        pthread_join(thread, NULL);
        rig_destroy(stopped_by_signal);
    }
    rgi_check(sigaction(SIGUSR1, &before, NULL) == 0);
}

/* Threads of ours take no signals: another thread of the program does. */
static void
look_at_mask(struct robot *self)
{
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    rgi_check(sigismember(&mask, SIGTERM) == 1);
    rgi_check(sigismember(&mask, SIGUSR1) == 1);
    stop_runtime(self);
}

static void
workers_leave_signals_to_the_program(void)
{
    struct script looker = {.started = look_at_mask};
    struct rgm_runtime *runtime;
    struct rgm_address address;
    sigset_t before, after;

    pthread_sigmask(SIG_SETMASK, NULL, &before);
    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_start(runtime) == 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    rgi_check(sigismember(&before, SIGTERM) == sigismember(&after, SIGTERM));
    rgi_check(rgm_runtime_spawn(runtime, 1, &robot_behaviour, &looker,
                                &address) == 0);
    end(runtime);
}

/* ------------------------------------------------------------------ shutdown */

static void *
stop_and_wait(void *argument)
{
    struct run *run = argument;

    rgm_runtime_stop(run->runtime);
    rgi_check(rgm_runtime_wait(run->runtime) == 0);
    atomic_fetch_add(&run->counted, 1);
    return NULL;
}

static void
shd_13_all_who_wait_see_the_end(void)
{
    for (uint64_t i = rgi_scale(1000); i > 0; i--) {
        struct run run = {.started = 0};
        pthread_t threads[8];

        fake_reset();
        run.runtime = rig_make(4);
        rgi_check(rgm_runtime_start(run.runtime) == 0);
        for (unsigned j = 0; j < 8; j++)
            rgi_check(pthread_create(&threads[j], NULL, stop_and_wait, &run) ==
                      0);
        for (unsigned j = 0; j < 8; j++)
            pthread_join(threads[j], NULL);
        rgi_check(atomic_load(&run.counted) == 8);
        rig_destroy(run.runtime);
    }
}

/* Somebody waits while somebody else is still starting. */
static void *
wait_only(void *argument)
{
    struct run *run = argument;

    while (ck_pr_load_32(&run->runtime->state) == RGI_RUNTIME_NEW)
        sched_yield();
    rgi_check(rgm_runtime_wait(run->runtime) == 0);
    rgi_check(ck_pr_load_32(&run->runtime->running) == 0);
    return NULL;
}

static void
waiting_may_begin_before_the_start_is_over(void)
{
    for (uint64_t i = rgi_scale(2000); i > 0; i--) {
        struct run run = {.started = 0};
        struct script root = {.started = stop_runtime};
        pthread_t thread;

        fake_reset();
        run.runtime = rig_make(2);
        rgi_check(pthread_create(&thread, NULL, wait_only, &run) == 0);
        if (i % 2 == 0) {
            rgi_check(rgm_runtime_run(run.runtime, &robot_behaviour, &root) ==
                      0);
        } else {
            rgi_check(rgm_runtime_start(run.runtime) == 0);
            rgm_runtime_stop(run.runtime);
            rgi_check(rgm_runtime_wait(run.runtime) == 0);
        }
        pthread_join(thread, NULL);
        rig_destroy(run.runtime);
    }
}

static void
wait_inside(struct robot *self)
{
    run_of(self)->status = rgm_runtime_wait(self->actor.worker->runtime);
    rgm_stop(self);
}

static void
shd_11_a_worker_may_not_await_its_own_runtime(void)
{
    struct run run = {.status = 0};
    struct script root = {.started = wait_inside, .test = &run};

    rig_run(2, &root);
    rgi_check(run.status == -EDEADLK);
}

RGM_ANSWER(robot, rgm_listen, never_ends);

static void
never_ends(struct robot *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) == -ECANCELED);
    run_of(self)->answers++;
}

static void
ask_for_ever(struct robot *self)
{
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, never_ends));
}

static void
spawn_thousand_and_end(struct robot *self)
{
    static struct script asker;

    asker = (struct script){.started = ask_for_ever,
                            .stopped = count_stopped,
                            .test = test_of(self)};
    for (unsigned i = 0; i < 1000; i++)
        (void)robot_spawn(self, &asker);
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
end_when_all_ask(struct robot *self, struct note *note)
{
    (void)note;
    if (self->actor.worker->operations_out < 1000)
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
    else
        rgm_stop(self);
}

/* Nobody cares for the operations any more; they are ended, and told. */
static void
shd_03_the_root_returns_with_a_thousand_operations_open(void)
{
    struct run run = {.answers = 0};
    struct script root = {.started = spawn_thousand_and_end,
                          .note = end_when_all_ask,
                          .test = &run};
    struct rgm_runtime *runtime;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(run.answers == 1000 && atomic_load(&run.counted) == 1000);
    rgi_check(rgm_runtime_counters(runtime, 0, &counters) == 0);
    rgi_check(counters.in_flight == 0 && counters.operations == 1000);
    rig_destroy(runtime);
}

/* It cannot be cancelled; only the fortieth wait ends it. The gauge names what
 * is waited for, and the worker stays. */
static struct run *run_waiting;

static void
end_at_last(struct fake *fake, uint64_t deadline_ns)
{
    if (fake->cancels == 0 || fake->head.in_flight == 0)
        return;
    rgi_check(atomic_load(&fake_plan.closed) == 0);
    rgi_check(rgi_current->operations_out == 1);
    if (deadline_ns != 0 && fake->waits > 2)
        run_waiting->status = (int)rgi_current->counters.in_flight;
    if (fake->waits + fake->looks >= 40)
        rgi_check(fake_complete_first(fake, -ECANCELED));
    else
        rgi_bell_ring((void *)(intptr_t)fake->bell);
}

static void
ask_and_stop(struct robot *self)
{
    ask_for_ever(self);
    rgm_stop(self);
}

static void
shd_06_an_operation_that_cannot_be_stopped_is_waited_for(void)
{
    struct run run = {.answers = 0};
    struct script root = {
        .started = ask_and_stop, .stopped = count_stopped, .test = &run};
    struct rgm_runtime_options options = {
        .workers = 2, .provider = &fake_class, .spin_us = RGM_SPIN_OFF};
    struct rgm_runtime *runtime;

    fake_reset();
    fake_plan.deaf = true;
    fake_plan.on_wait = end_at_last;
    run_waiting = &run;
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(run.answers == 1 && atomic_load(&run.counted) == 1);
    rgi_check(run.status == 1); /* the gauge said so meanwhile */
    rig_destroy(runtime);
}

/* Phases of a graceful stop, with something in every state. */
static void
log_retiring(struct robot *self)
{
    struct rgm_address address;

    rgi_check(run_of(self)->answers == 0);
    rgi_check(rgm_spawn(self, &robot_behaviour, self->script, &address) ==
              -EPIPE);
    run_of(self)->started++;
    /* admission is closed, but what is here goes on */
    question_prepare(&self->question, rgm_self(self));
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
log_note(struct robot *self, struct note *note)
{
    (void)note;
    rgi_check(self->actor.worker->operations_out == 1);
    rgm_stop(self);
}

static void
log_stopped(struct robot *self)
{
    rgi_check(run_of(self)->answers == 1 && run_of(self)->started == 1);
    rgi_check(self->actor.out_count == 0);
    atomic_fetch_add(&run_of(self)->counted, 1);
}

static void
ask_and_stop_runtime(struct robot *self)
{
    ask_for_ever(self);
    stop_runtime(self);
}

static void
shd_01_a_graceful_stop_lets_everybody_finish(void)
{
    struct run run = {.answers = 0};
    struct script root = {.started = ask_and_stop_runtime,
                          .note = log_note,
                          .retiring = log_retiring,
                          .stopped = log_stopped,
                          .test = &run};

    rig_run(2, &root);
    rgi_check(atomic_load(&run.counted) == 1);
}

/* 50 more turns of work on the last worker before its actor is done. */
static void
clean_up_slowly(struct robot *self, struct note *note)
{
    (void)note;
    if (++self->number == 50) {
        run_of(self)->status = -EIO; /* the failure it publishes at the end */
        rgm_stop(self);
    } else {
        rgi_check(robot_send(self, rgm_self(self), 0) == 0);
    }
}

static void
begin_cleaning(struct robot *self)
{
    rgi_check(robot_send(self, rgm_self(self), 0) == 0);
}

static void
spawn_cleaner(struct robot *self)
{
    static struct script cleaner;

    cleaner = (struct script){.note = clean_up_slowly,
                              .retiring = begin_cleaning,
                              .test = test_of(self)};
    (void)robot_spawn_on(self, 3, &cleaner);
    rgm_stop(self);
}

static void
shd_04_the_end_waits_for_every_workers_clean_up(void)
{
    struct run run = {.status = 0};
    struct script root = {.started = spawn_cleaner, .test = &run};

    rig_run(4, &root);
    rgi_check(run.status == -EIO);
}

static pthread_key_t tls_key;
static atomic_uint tls_destroyed;

static void
tls_destroy(void *data)
{
    unsigned *own = data;

    rgi_check(*own == 77);
    free(own);
    atomic_fetch_add(&tls_destroyed, 1);
}

static void
set_tls(struct robot *self)
{
    unsigned *own = malloc(sizeof(*own));

    rgi_check(own != NULL);
    *own = 77;
    rgi_check(pthread_setspecific(tls_key, own) == 0);
    if (atomic_fetch_add(&run_of(self)->counted, 1) + 1 == 3)
        stop_runtime(self);
}

static void
shd_14_thread_locals_may_go_last(void)
{
    struct run run = {.started = 0};
    struct script setter = {.started = set_tls, .test = &run};
    struct rgm_runtime *runtime;
    struct rgm_address address;

    atomic_store(&tls_destroyed, 0);
    rgi_check(pthread_key_create(&tls_key, tls_destroy) == 0);
    fake_reset();
    runtime = rig_make(3);
    rgi_check(rgm_runtime_start(runtime) == 0);
    for (uint32_t i = 0; i < 3; i++)
        rgi_check(rgm_runtime_spawn(runtime, i, &robot_behaviour, &setter,
                                    &address) == 0);
    end(runtime);
    rgi_check(atomic_load(&tls_destroyed) == 3);
    rgi_check(pthread_key_delete(tls_key) == 0);
}

/* Started, and never looked at again. */
static void
opl_05_operations_left_alone_cost_memory_only(void)
{
    struct run run = {.answers = 0};
    struct script root = {.started = spawn_thousand_and_end,
                          .settled = NULL,
                          .note = end_when_all_ask,
                          .test = &run};

    rig_run(2, &root);
    rgi_check(run.answers == 1000);
}

/* ------------------------------------------------------- several, and metrics */

static void
cmp_07_several_runtimes_live_side_by_side(void)
{
    static const struct rgm_provider_class *const classes[] = {
        NULL, &rgm_provider_threads, &fake_class, &rgm_provider_epoll};
    struct rgm_runtime *runtimes[4];
    struct rgm_address addresses[4];

    fake_reset();
    for (unsigned i = 0; i < 4; i++) {
        struct rgm_runtime_options options = {.workers = 1 + i % 2,
                                              .provider = classes[i]};

        runtimes[i] = rig_make_with(&options);
        rgi_check(rgm_runtime_start(runtimes[i]) == 0);
        rgi_check(rgm_runtime_provider(runtimes[i])[0] != '\0');
        rgi_check(rgm_runtime_spawn(runtimes[i], 0, &robot_behaviour,
                                    &idle_script, &addresses[i]) == 0);
    }
    for (unsigned round = 0; round < 10; round++) {
        for (unsigned i = 0; i < 4; i++) {
            struct rgm_sleep sleep;
            struct question question;

            rgm_sleep_for(&sleep, rgm_worker_address(0), 1000);
            rgi_check(rgm_call(runtimes[i], &sleep) == 0);
            question_prepare(&question, addresses[i]);
            rgi_check(rgm_call(runtimes[i], &question) == -EPROTO);
        }
    }
    for (unsigned i = 0; i < 4; i++) {
        rgm_runtime_stop(runtimes[i]);
        rgi_check(rgm_runtime_wait(runtimes[i]) == 0);
        rgi_check(rgm_runtime_destroy(runtimes[i]) == 0);
    }
    rgi_check(rgi_memory_live() == 0);
}

struct scrape {
    struct rgm_runtime *runtime;
    atomic_bool over;
};

static void *
scrape_counters(void *argument)
{
    struct scrape *scrape = argument;
    uint64_t last = 0;

    while (!atomic_load(&scrape->over)) {
        struct rgm_counters counters;

        rgi_check(rgm_runtime_counters(scrape->runtime, RGM_ANY_WORKER,
                                       &counters) == 0);
        rgi_check(counters.deliveries >= last);
        last = counters.deliveries;
    }
    return NULL;
}

static void
echo(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
}

RGM_ANSWER(robot, question, ask_on);

static void
ask_on(struct robot *self, struct question *question)
{
    if (++self->number == (long)rgi_scale(1000000))
        stop_runtime(self);
    else
        rgm_ask(self, question, RGM_REPLY(robot, question, ask_on));
}

static void
begin_asking(struct robot *self)
{
    static const struct script echoer = {.question = echo};

    question_prepare(&self->question, robot_spawn_on(self, 1, &echoer));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, ask_on));
}

static void
met_01_counters_may_be_read_under_load(void)
{
    struct script root = {.started = begin_asking};
    struct scrape scrape = {.over = false};
    struct rgm_counters counters;
    pthread_t thread;

    fake_reset();
    scrape.runtime = rig_make(2);
    rgi_check(rgm_runtime_counters(scrape.runtime, 2, &counters) == -EINVAL);
    rgi_check(pthread_create(&thread, NULL, scrape_counters, &scrape) == 0);
    rgi_check(rgm_runtime_run(scrape.runtime, &robot_behaviour, &root) == 0);
    atomic_store(&scrape.over, true);
    pthread_join(thread, NULL);
    rgi_check(rgm_runtime_counters(scrape.runtime, RGM_ANY_WORKER, &counters) ==
              0);
    rgi_check(counters.home == rgi_scale(1000000));
    rgi_check(counters.deliveries == 2 * rgi_scale(1000000));
    rgi_check(counters.actors == 0 && counters.messages_out == 0);
    rgi_check(counters.kept == 0 && counters.in_flight == 0);
    rgi_check(counters.spawned == 2 && counters.stopped == 2);
    rig_destroy(scrape.runtime);
}

/* What the tests of this folder rely on is counted by the library. */
static void
met_05_what_tests_rely_on_is_counted(void)
{
    struct run run = {.answers = 0};
    struct script root = {.started = spawn_thousand_and_end,
                          .note = end_when_all_ask,
                          .test = &run};
    struct rgm_runtime *runtime;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make(2);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &counters) == 0);
    rgi_check(counters.kernel_entries > 0);
    rgi_check(counters.entries_submitted == 1000);
    rgi_check(counters.operations == 1000 && counters.completions == 1000);
    rgi_check(counters.turns > 0 && counters.batches > 0);
    rgi_check(counters.sent_local > 0 && counters.sent_remote == 0);
    rgi_check(counters.flushes > 0); /* the order to close */
    rgi_check(counters.spawned == 1001 && counters.stopped == 1001);
    rgi_check(counters.bells >= 1 && counters.parks >= 1);
    rgi_check(counters.overflows == 0 && counters.pool_waits == 0);
    rig_destroy(runtime);
}

/* All gauges, summed over workers that have ended. */
static void
met_02_gauges_are_back_at_zero(void)
{
    struct run run = {.answers = 0};
    struct script root = {.started = ask_and_stop_runtime, .test = &run};
    struct rgm_runtime *runtime;
    struct rgm_counters counters;

    fake_reset();
    runtime = rig_make(3);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(rgm_runtime_counters(runtime, RGM_ANY_WORKER, &counters) == 0);
    rgi_check(counters.actors == 0 && counters.messages_out == 0);
    rgi_check(counters.kept == 0 && counters.in_flight == 0);
    rgi_check(counters.ready == 0 && run.answers == 1);
    rig_destroy(runtime);
}

/* Every number that counts up begins just below where it wraps. */
static void
raise_numbers(struct robot *self)
{
    struct rgm_worker *worker = self->actor.worker;

    rgi_check(worker->kept_size > 0);
    for (uint32_t i = 1; i < worker->kept_size; i++)
        worker->kept[i].generation = UINT32_MAX - 1;
    worker->provider->serial = UINT32_MAX - 2;
    worker->runtime->spawn_turn = UINT32_MAX - 2;
    worker->counters.deliveries = (UINT64_C(1) << 32) - 20;
    worker->counters.turns = (UINT64_C(1) << 32) - 2;
    worker->counters.spawned = UINT64_MAX - worker->counters.deliveries - 5;
}

RGM_ANSWER(robot, question, on_old);

static void
on_old(struct robot *self, struct question *question)
{
    rgi_check(rgm_status(question) == 0);
    if (self->number++ == 0)
        raise_numbers(self);
    if (self->number == 20) {
        stop_runtime(self);
        return;
    }
    fake_prepare(&self->listen, &self->listener, rgm_here(self));
    rgm_ask(self, &self->listen, RGM_REPLY(robot, rgm_listen, never_ends));
    rgm_cancel(self, &self->listen);
    rgm_ask(self, question, RGM_REPLY(robot, question, on_old));
}

static void
keep_twice(struct robot *self, struct question *question)
{
    struct rgm_token before = self->token;

    rgi_check(rgm_keep(self, question, &self->token) == 0);
    rgi_check(rgm_answer(self, before, 0) == -EALREADY);
    rgi_check(rgm_answer(self, self->token, 0) == 0);
}

static void
begin_old(struct robot *self)
{
    static const struct script keeper = {.question = keep_twice};

    question_prepare(&self->question, robot_spawn(self, &keeper));
    rgm_ask(self, &self->question, RGM_REPLY(robot, question, on_old));
}

static void
field_b29_numbers_that_wrap_change_nothing(void)
{
    struct run run = {.answers = 0};
    struct script root = {.started = begin_old, .test = &run};
    struct rgm_runtime *runtime;
    struct rgm_address address;

    fake_reset();
    runtime = rig_make(1);
    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, &root) == 0);
    rgi_check(run.answers == 19);
    rig_destroy(runtime);

    runtime = rig_make(4);
    rgi_check(rgm_runtime_start(runtime) == 0);
    runtime->spawn_turn = UINT32_MAX - 1;
    for (uint32_t i = 0; i < 8; i++) {
        rgi_check(rgm_runtime_spawn(runtime, RGM_ANY_WORKER, &robot_behaviour,
                                    &idle_script, &address) == 0);
        rgi_check(rgm_address_worker(address) == (i + 2) % 4);
    }
    end(runtime);
}

/* Of more workers than can be found at once (abroad.c), one after the other: who
 * has gone keeps nobody from the next number, whether he has ever run or not. */
static void
met_04_every_worker_has_an_identity_of_its_own(void)
{
    uint32_t last = 0;

    for (unsigned i = 0; i < 4200; i++) {
        struct rgm_runtime *runtime = rig_make(1);

        rgi_check(i == 0 || runtime->workers[0]->identity == last + 1);
        last = runtime->workers[0]->identity;
        rig_destroy(runtime);
    }
}

#define CASES(X)                                                               \
    X(runtime, options_outside_their_range_are_refused)                        \
    X(runtime, tmr_23_tick_of_deadlines_is_validated)                          \
    X(runtime, defaults_come_from_the_machine)                                 \
    X(runtime, starting_twice_is_refused)                                      \
    X(runtime, opl_21_a_runtime_in_use_is_not_freed)                           \
    X(runtime, a_stop_before_the_start_ends_it_at_once)                        \
    X(runtime, tsk_11_the_root_runs_on_the_calling_thread)                     \
    X(runtime, tsk_12_the_caller_is_worker_0_and_nobody_shares_a_provider)     \
    X(runtime, a_root_that_is_refused_ends_the_runtime)                        \
    X(runtime, cmp_04_if_one_worker_cannot_start_none_is_left)                 \
    X(runtime, cmp_04_what_was_asked_before_a_start_that_fails_is_refused)     \
    X(runtime, any_allocation_may_fail)                                        \
    X(runtime, any_allocation_of_a_guest_may_fail)                             \
    X(runtime, a_signal_handler_may_stop)                                      \
    X(runtime, workers_leave_signals_to_the_program)                           \
    X(runtime, shd_13_all_who_wait_see_the_end)                                \
    X(runtime, waiting_may_begin_before_the_start_is_over)                     \
    X(runtime, shd_11_a_worker_may_not_await_its_own_runtime)                  \
    X(runtime, shd_03_the_root_returns_with_a_thousand_operations_open)        \
    X(runtime, shd_06_an_operation_that_cannot_be_stopped_is_waited_for)       \
    X(runtime, shd_01_a_graceful_stop_lets_everybody_finish)                   \
    X(runtime, shd_04_the_end_waits_for_every_workers_clean_up)                \
    X(runtime, shd_14_thread_locals_may_go_last)                               \
    X(runtime, opl_05_operations_left_alone_cost_memory_only)                  \
    X(runtime, cmp_02_what_a_driver_lacks_is_absent_and_limits_are_its_own)    \
    X(runtime, cmp_06_one_driver_per_worker_driven_by_its_thread)              \
    X(runtime, cmp_07_several_runtimes_live_side_by_side)                      \
    X(runtime, met_01_counters_may_be_read_under_load)                         \
    X(runtime, met_02_gauges_are_back_at_zero)                                 \
    X(runtime, met_05_what_tests_rely_on_is_counted)                           \
    X(runtime, field_b29_numbers_that_wrap_change_nothing)                     \
    X(runtime, met_04_every_worker_has_an_identity_of_its_own)

RGI_CASES(CASES)
