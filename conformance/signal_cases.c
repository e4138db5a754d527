/* SPDX-License-Identifier: MIT */

/* signal_cases.c - who is told of a signal, where, and until when? */

#include "conformance/signal_cases.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NUMBERS 64

/* ---- a process of its own ---- */

static void
dispositions(struct sigaction *ret_actions)
{
    memset(ret_actions, 0, (NUMBERS + 1) * sizeof(*ret_actions));
    for (int i = 1; i <= NUMBERS; i++)
        (void)sigaction(i, NULL, &ret_actions[i]);
}

static bool
same_dispositions(const struct sigaction *these)
{
    struct sigaction now[NUMBERS + 1];

    dispositions(now);
    for (int i = 1; i <= NUMBERS; i++)
        if (these[i].sa_handler != now[i].sa_handler)
            return false;
    return true;
}

static void
apart(struct stage *stage, stage_case_function *run)
{
    struct sigaction before[NUMBERS + 1];
    int status = 0;
    pid_t child;

#if defined(__SANITIZE_THREAD__)
    /* It follows no child of a program that has threads: the runner's is one. */
    fprintf(stderr, "# not under ThreadSanitizer\n");
    if (stage != NULL)
        return;
#endif
    dispositions(before);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)signal(SIGABRT, SIG_DFL);
        run(stage);
        _exit(0);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    rgi_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    rgi_check(same_dispositions(before));
}

#define APART(name)                                                            \
    static void name##_apart(struct stage *stage);                             \
    void name(struct stage *stage)                                             \
    {                                                                          \
        apart(stage, name##_apart);                                            \
    }                                                                          \
    static void name##_apart(struct stage *stage)

/* ---- what is told ---- */

/* What a callback has seen, and a gate it waits at. */
struct told {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t calls;
    uint32_t signals;
    uint32_t destroyed;
    int number;
    bool gated; /* callbacks wait until it is not */
    bool inside;
    pthread_t thread;
    struct rgm_signal_guard guard;
    struct rgm_runtime *runtime;
    struct rgm_parcel *faults[2]; /* to report: by a call, by a destroy */
};

static void
told_init(struct told *told)
{
    memset(told, 0, sizeof(*told));
    rgi_check(pthread_mutex_init(&told->lock, NULL) == 0);
    rgi_check(pthread_cond_init(&told->changed, NULL) == 0);
}

static void
on_told(void *argument, int32_t number, uint32_t count)
{
    struct told *told = argument;

    rgi_check(count > 0);
    pthread_mutex_lock(&told->lock);
    told->calls++;
    told->signals += count;
    told->number = number;
    told->thread = pthread_self();
    told->inside = true;
    pthread_cond_broadcast(&told->changed);
    while (told->gated)
        pthread_cond_wait(&told->changed, &told->lock);
    rgi_check(told->destroyed == 0);
    told->inside = false;
    pthread_cond_broadcast(&told->changed);
    pthread_mutex_unlock(&told->lock);
    if (told->faults[0] != NULL)
        rgm_signal_fault(told->faults[0]);
}

static void
on_destroyed(void *argument)
{
    struct told *told = argument;

    if (told->faults[1] != NULL)
        rgm_signal_fault(told->faults[1]);
    pthread_mutex_lock(&told->lock);
    rgi_check(!told->inside);
    told->destroyed++;
    pthread_cond_broadcast(&told->changed);
    pthread_mutex_unlock(&told->lock);
}

static void
subscribe(struct stage *stage, struct told *told, int number)
{
    told_init(told);
    told->runtime = stage->runtime;
    rgi_check(rgm_signal_call(stage->runtime, number, on_told, told,
                              on_destroyed, &told->guard) == 0);
}

#define AWAIT(told, condition)                                                 \
    do {                                                                       \
        pthread_mutex_lock(&(told)->lock);                                     \
        while (!(condition))                                                   \
            pthread_cond_wait(&(told)->changed, &(told)->lock);                \
        pthread_mutex_unlock(&(told)->lock);                                   \
    } while (0)

static void
gate_shut(struct told *told)
{
    pthread_mutex_lock(&told->lock);
    told->gated = true;
    pthread_mutex_unlock(&told->lock);
}

static void
gate_open(struct told *told)
{
    pthread_mutex_lock(&told->lock);
    told->gated = false;
    pthread_cond_broadcast(&told->changed);
    pthread_mutex_unlock(&told->lock);
}

/* All that came before has been told when this has. */
static void
settle(struct stage *stage)
{
    struct told last;

    subscribe(stage, &last, SIGURG);
    rgi_check(raise(SIGURG) == 0);
    AWAIT(&last, last.calls > 0);
    rgm_signal_drop(&last.guard);
    AWAIT(&last, last.destroyed == 1);
}

/* ---- the cases ---- */

static void
not_ours(int number)
{
    (void)number;
}

APART(sig_01_subscribing_may_fail_and_returns_a_guard)
{
    static const int bad[] = {0,       -1,      65,      INT32_MAX, SIGKILL,
                              SIGSTOP, SIGSEGV, SIGBUS,  SIGFPE,    SIGILL,
                              SIGTRAP, SIGSYS,  SIGABRT, 32,        33};
    struct sigaction before[NUMBERS + 1], now;
    struct rgm_signal_guard guard = {&guard};
    struct told told;

    (void)signal(SIGUSR1, not_ours);
    stage_open(stage);
    dispositions(before);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        rgi_check(rgm_signal_call(stage->runtime, bad[i], on_told, &told,
                                  on_destroyed, &guard) == -EINVAL);
    rgi_check(rgm_signal_call(stage->runtime, SIGUSR1, NULL, NULL, NULL,
                              &guard) == -EINVAL);
    rgi_check(guard.subscription == &guard && same_dispositions(before));
    subscribe(stage, &told, SIGUSR1);
    rgi_check(sigaction(SIGUSR1, NULL, &now) == 0);
    rgi_check(now.sa_handler != not_ours);
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&told, told.calls == 1);
    rgi_check(told.number == SIGUSR1 && told.signals == 1);
    rgm_signal_drop(&told.guard);
    rgi_check(told.guard.subscription == NULL);
    rgi_check(same_dispositions(before)); /* put back */
    rgm_signal_drop(&told.guard);         /* does nothing */
    stage_stop(stage);
    rgi_check(rgm_signal_stop(stage->runtime, SIGUSR1, &guard) == -EPIPE);
    stage_wait(stage);
}

/* Whoever has changed a disposition meanwhile keeps his. */
APART(sig_01_nothing_is_installed_before_somebody_subscribes)
{
    struct sigaction before[NUMBERS + 1], now;
    struct told first, second;

    dispositions(before);
    stage_open(stage);
    rgi_check(same_dispositions(before));
    subscribe(stage, &first, SIGUSR1);
    subscribe(stage, &second, SIGUSR1);
    rgm_signal_drop(&first.guard);
    rgi_check(!same_dispositions(before)); /* one is left */
    (void)signal(SIGUSR1, not_ours);
    rgm_signal_drop(&second.guard);
    rgi_check(sigaction(SIGUSR1, NULL, &now) == 0);
    rgi_check(now.sa_handler == not_ours);
    (void)signal(SIGUSR1, SIG_DFL);
    subscribe(stage, &first, SIGUSR1);
    stage_close(stage); /* with a guard that was not dropped */
    rgi_check(same_dispositions(before));
    rgi_check(first.destroyed == 1);
    rgm_signal_drop(&first.guard);
}

struct busy {
    struct told told;
    pthread_mutex_t held; /* by the one who raises the signal */
    bool done;
};

static void
be_busy(void *argument, int32_t number, uint32_t count)
{
    struct busy *busy = argument;
    struct rgm_runtime *runtime = busy->told.runtime;
    struct rgm_signal_guard other;
    struct rgm_sleep sleep;
    void *memory = malloc(4096);

    rgi_check(memory != NULL);
    free(memory);
    pthread_mutex_lock(&busy->held);
    pthread_mutex_unlock(&busy->held);
    rgi_check(rgm_signal_stop(runtime, SIGUSR2, &other) == 0);
    rgm_signal_drop(&other);
    rgm_sleep_for(&sleep, rgm_worker_address(0), 1);
    rgi_check(rgm_call(runtime, &sleep) == 0);
    rgi_check(rgm_runtime_wait(runtime) == -EDEADLK);
    on_told(&busy->told, number, count);
}

APART(sig_02_callbacks_run_in_ordinary_code)
{
    struct busy busy;

    stage_open(stage);
    told_init(&busy.told);
    busy.told.runtime = stage->runtime;
    rgi_check(pthread_mutex_init(&busy.held, NULL) == 0);
    rgi_check(rgm_signal_call(stage->runtime, SIGUSR1, be_busy, &busy, NULL,
                              &busy.told.guard) == 0);
    pthread_mutex_lock(&busy.held);
    rgi_check(raise(SIGUSR1) == 0); /* in a handler it would hang here */
    pthread_mutex_unlock(&busy.held);
    AWAIT(&busy.told, busy.told.calls == 1);
    rgi_check(!pthread_equal(busy.told.thread, pthread_self()));
    rgm_signal_drop(&busy.told.guard);
    stage_close(stage);
}

static void
drop_and_tell(void *argument, int32_t number, uint32_t count)
{
    struct told *told = argument;

    rgm_signal_drop(&told->guard);
    on_told(told, number, count); /* checks that it is not destroyed yet */
}

APART(sig_03_drop_from_inside_the_callback)
{
    struct told told;

    (void)signal(SIGUSR1, SIG_IGN);
    stage_open(stage);
    told_init(&told);
    rgi_check(rgm_signal_call(stage->runtime, SIGUSR1, drop_and_tell, &told,
                              on_destroyed, &told.guard) == 0);
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&told, told.destroyed == 1);
    rgi_check(raise(SIGUSR1) == 0);
    settle(stage);
    rgi_check(told.calls == 1);
    stage_close(stage);
}

APART(sig_03_drop_does_not_wait_for_a_callback)
{
    struct told told, other;

    (void)signal(SIGUSR1, SIG_IGN);
    stage_open(stage);
    subscribe(stage, &told, SIGUSR1);
    subscribe(stage, &other, SIGUSR1);
    gate_shut(&told);
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&told, told.inside);
    rgi_check(raise(SIGUSR1) == 0);
    rgm_signal_drop(&told.guard); /* returns, with the callback at its gate */
    AWAIT(&told, told.destroyed == 0);
    gate_open(&told);
    AWAIT(&told, told.destroyed == 1);
    AWAIT(&other, other.signals == 2);
    rgi_check(told.calls == 1);
    rgm_signal_drop(&other.guard);
    stage_close(stage);
}

/* A server that reads from as many connections as there are, all of it in its
 * root token, and stops when nothing of it is out any more. */
#define READERS 3

struct server {
    struct rgm_actor actor;
    struct rgm_scope root;
    struct rgm_signal_guard guard;
    struct rgm_sleep sleeps[READERS];
    struct serving *serving;
    uint32_t out;
};

struct serving {
    struct told told; /* counts answers, and signals that came as messages */
    uint32_t wanted;  /* messages before it stops; 0: it waits for the token */
};

RGM_HOOK(server, server_started);
RGM_HOOK(server, server_stopped);
RGM_FACTORY(server, serving, server_make);
RGM_HANDLER(server, rgm_signal, server_signal);
RGM_ANSWER(server, rgm_sleep, server_slept);

static const struct rgm_handler server_handlers[] = {
    RGM_ON(server, rgm_signal, server_signal)};
static const struct rgm_behaviour server_behaviour = {
    .name = "server",
    .size_bytes = sizeof(struct server),
    RGM_HANDLERS(server_handlers),
    .factory = RGM_MAKE(server, server_make),
    .started = RGM_DO(server, server_started),
    .stopped = RGM_DO(server, server_stopped),
};

static int
server_make(struct server *self, const struct serving *serving)
{
    self->serving = (struct serving *)(uintptr_t)serving;
    return 0;
}

static void
server_started(struct server *self)
{
    struct told *told = &self->serving->told;

    if (self->serving->wanted > 0)
        return;
    rgi_check(rgm_scope_open(self, &self->root, NULL) == 0);
    rgi_check(rgm_signal_cancel(told->runtime, SIGTERM, &self->root,
                                &self->guard) == 0);
    for (int i = 0; i < READERS; i++) {
        rgm_sleep_until(&self->sleeps[i], rgm_here(self), RGM_NEVER);
        rgm_in_scope(&self->sleeps[i], &self->root);
        rgm_ask(self, &self->sleeps[i],
                RGM_REPLY(server, rgm_sleep, server_slept));
        self->out++;
    }
    pthread_mutex_lock(&told->lock);
    told->inside = true;
    pthread_cond_broadcast(&told->changed);
    pthread_mutex_unlock(&told->lock);
}

static void
server_slept(struct server *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == -ECANCELED);
    if (--self->out == 0)
        rgm_stop(self);
}

static void
server_stopped(struct server *self)
{
    rgm_signal_drop(&self->guard);
}

static void
server_signal(struct server *self, struct rgm_signal *notice)
{
    struct told *told = &self->serving->told;

    on_told(told, notice->number, notice->count);
    if (told->signals == self->serving->wanted)
        rgm_stop(self);
}

APART(sig_04_sigterm_cancels_a_token_and_the_server_drains)
{
    struct serving serving = {.wanted = 0};
    struct rgm_task *task;
    struct rgm_end end;

    stage_open(stage);
    told_init(&serving.told);
    serving.told.runtime = stage->runtime;
    rgi_check(rgm_runtime_task(stage->runtime, 0, &server_behaviour, &serving,
                               &task) == 0);
    AWAIT(&serving.told, serving.told.inside);
    rgi_check(raise(SIGTERM) == 0);
    rgi_check(rgm_task_join(task, &end) == 0);
    rgi_check(end.kind == RGM_END_DONE && end.status == 0);
    stage_close(stage);
}

/* One of another worker, so that the message travels. */
APART(sig_04_an_actor_gets_a_message)
{
    struct serving serving = {.wanted = 5};
    struct rgm_signal_guard guard;
    struct rgm_task *task;
    struct rgm_end end;

    (void)signal(SIGUSR1, SIG_IGN);
    stage->options.workers = 2;
    stage_open(stage);
    told_init(&serving.told);
    rgi_check(rgm_runtime_task(stage->runtime, 1, &server_behaviour, &serving,
                               &task) == 0);
    rgi_check(rgm_signal_tell(stage->runtime, SIGUSR1, rgm_task_who(task),
                              &guard) == 0);
    for (uint32_t i = 1; i <= 5; i++) {
        rgi_check(raise(SIGUSR1) == 0);
        AWAIT(&serving.told, serving.told.signals == i);
    }
    rgi_check(rgm_task_join(task, &end) == 0);
    rgi_check(end.kind == RGM_END_DONE && serving.told.calls == 5);
    rgi_check(serving.told.number == SIGUSR1);
    /* Nobody is there any more: it ends by itself, guard or not. */
    for (int i = 0; i < 3; i++)
        rgi_check(raise(SIGUSR1) == 0);
    settle(stage);
    rgm_signal_drop(&guard);
    stage_close(stage);
}

APART(sig_04_a_signal_stops_the_runtime)
{
    struct rgm_signal_guard guard;

    stage_open(stage);
    rgi_check(rgm_signal_stop(stage->runtime, SIGINT, &guard) == 0);
    rgi_check(raise(SIGINT) == 0);
    stage_wait(stage);
    rgm_signal_drop(&guard);
}

static void
parcel_gone(struct rgm_parcel *parcel)
{
    parcel->owner = parcel; /* seen */
}

APART(sig_05_a_fault_silences_nobody_else)
{
    struct rgm_parcel faults[2], *kept;
    struct told bad, good;
    uint32_t count = 0;

    (void)signal(SIGUSR1, SIG_IGN);
    stage_open(stage);
    for (int i = 0; i < 2; i++)
        rgm_parcel_init(&faults[i], parcel_gone);
    subscribe(stage, &bad, SIGUSR1);
    subscribe(stage, &good, SIGUSR1);
    bad.faults[0] = &faults[0];
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&good, good.calls == 1); /* the later of the two */
    settle(stage);
    bad.faults[0] = NULL;
    bad.faults[1] = &faults[1];
    rgm_signal_drop(&bad.guard);
    rgi_check(bad.destroyed == 1 && bad.calls == 1);
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&good, good.calls == 2);
    for (kept = rgm_runtime_faults(stage->runtime); kept != NULL; count++) {
        struct rgm_parcel *next = kept->next;

        rgi_check(kept == &faults[1 - count]); /* the newest first */
        rgm_parcel_drop(kept);
        kept = next;
    }
    rgi_check(count == 2);
    stage_close(stage);
    rgm_signal_drop(&good.guard);
}

APART(sig_05_runtimes_are_told_for_themselves)
{
    struct stage other = {.class = stage->class};
    struct told here, there;

    stage_init(&other);
    stage_open(stage);
    stage_open(&other);
    subscribe(stage, &here, SIGUSR1);
    subscribe(&other, &there, SIGUSR1);
    gate_shut(&here); /* holds up nobody but its own */
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&there, there.calls == 1);
    AWAIT(&here, here.inside);
    stage_close(&other);
    rgi_check(there.destroyed == 1);
    gate_open(&here);
    rgi_check(raise(SIGUSR1) == 0); /* the handler is still there for one */
    AWAIT(&here, here.signals == 2);
    rgi_check(there.calls == 1);
    rgm_signal_drop(&there.guard);
    stage_close(stage);
    rgm_signal_drop(&here.guard);
    stage_deinit(&other);
}

/* Worker 1 answers, and then has had a while, with worker 0 at its gate. */
static void
pause_on_worker_1(struct stage *stage)
{
    struct rgm_sleep sleep;

    rgm_sleep_for(&sleep, rgm_worker_address(1), 10 * RGM_NS_PER_MS);
    rgi_check(rgm_call(stage->runtime, &sleep) == 0);
}

/* The stop counts from its call on, not from when a worker has heard of it. */
APART(sig_06_nothing_is_told_after_the_stop)
{
    struct serving serving = {.wanted = 2};
    struct rgm_signal_guard guard;
    struct rgm_address server;
    struct told told;

    stage->options.workers = 2;
    stage_open(stage);
    told_init(&serving.told);
    gate_shut(&serving.told);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &server_behaviour, &serving,
                                &server) == 0);
    rgi_check(rgm_signal_tell(stage->runtime, SIGUSR2, server, &guard) == 0);
    subscribe(stage, &told, SIGUSR1);
    rgi_check(raise(SIGUSR1) == 0 && raise(SIGUSR2) == 0);
    AWAIT(&told, told.calls == 1);
    AWAIT(&serving.told, serving.told.inside); /* and worker 0 with it */
    rgm_runtime_stop(stage->runtime);
    rgi_check(raise(SIGUSR1) == 0); /* caught, and told to nobody */
    pause_on_worker_1(stage);
    gate_open(&serving.told);
    stage_wait(stage);
    rgi_check(told.calls == 1 && told.destroyed == 1);
    rgm_signal_drop(&told.guard);
    rgm_signal_drop(&guard);
}

APART(sig_06_the_end_waits_for_a_callback)
{
    const struct rgm_stop_options options = {.timeout_ns = 1,
                                             .linger_ns = 1,
                                             .grace_ns = 20 * RGM_NS_PER_MS};
    struct rgm_stop_report report;
    struct told told;
    char text[96];

    stage_open(stage);
    subscribe(stage, &told, SIGUSR1);
    gate_shut(&told);
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&told, told.inside);
    rgi_check(rgm_runtime_stop_and_wait(stage->runtime, &options, &report) ==
              -EBUSY);
    rgi_check(report.left_count >= 1);
    rgi_check(report.left[report.left_count - 1].kind == RGM_BLOCKER_SIGNAL);
    rgm_blocker_describe(&report.left[report.left_count - 1], text,
                         sizeof(text));
    rgi_check(strstr(text, "runtime: 1 function called for a signal") == text);
    rgi_check(rgm_runtime_destroy(stage->runtime) == -EBUSY);
    gate_open(&told);
    stage_wait(stage);
    rgi_check(told.destroyed == 1);
    rgm_signal_drop(&told.guard);
}

/* The parent's side of it is in `apart`. */
APART(sig_07_cases_leave_their_parent_alone)
{
    struct told told;

    stage_open(stage);
    for (int i = 1; i <= NUMBERS; i++)
        if (rgm_signal_call(stage->runtime, i, on_told, &told, NULL,
                            &told.guard) != 0)
            rgi_check(i == SIGKILL || i == SIGSTOP || i == SIGSEGV ||
                      i == SIGBUS || i == SIGFPE || i == SIGILL ||
                      i == SIGTRAP || i == SIGSYS || i == SIGABRT || i == 32 ||
                      i == 33);
    _exit(0); /* with all of them in place */
}

APART(signals_blocked_everywhere_else_are_told)
{
    struct told told;
    sigset_t all;

    sigfillset(&all);
    rgi_check(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    stage_open(stage);
    subscribe(stage, &told, SIGHUP);
    rgi_check(kill(getpid(), SIGHUP) == 0);
    AWAIT(&told, told.calls == 1);
    stage_close(stage);
    rgm_signal_drop(&told.guard);
}

APART(signals_of_a_forked_child_stay_with_it)
{
    struct told told;
    int status = 0;
    pid_t child;

    stage_open(stage);
    subscribe(stage, &told, SIGUSR1);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0) {
        (void)kill(getpid(), SIGUSR1);
        _exit(7);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    rgi_check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    settle(stage);
    rgi_check(told.calls == 0);
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&told, told.calls == 1);
    rgi_check(told.signals == 1);
    stage_close(stage);
    rgm_signal_drop(&told.guard);
}

#define BURST 100

APART(signals_that_come_fast_are_counted)
{
    struct serving serving = {.wanted = BURST + 1};
    struct rgm_signal_guard guard;
    struct rgm_address server;
    struct rgm_sleep sleep;
    struct told told;

    stage->options.workers = 2;
    stage_open(stage);
    told_init(&serving.told);
    rgi_check(rgm_runtime_spawn(stage->runtime, 1, &server_behaviour, &serving,
                                &server) == 0);
    rgi_check(rgm_signal_tell(stage->runtime, SIGUSR1, server, &guard) == 0);
    subscribe(stage, &told, SIGUSR1);
    gate_shut(&serving.told);
    gate_shut(&told);
    rgi_check(raise(SIGUSR1) == 0);
    AWAIT(&told, told.inside);
    AWAIT(&serving.told, serving.told.inside);
    for (int i = 0; i < BURST; i++)
        rgi_check(raise(SIGUSR1) == 0);
    gate_open(&told);
    AWAIT(&told, told.signals == BURST + 1);
    rgi_check(told.calls == 2);
    /* Worker 0 has heard of the rest, with the message out. */
    rgm_sleep_for(&sleep, rgm_worker_address(0), 0);
    rgi_check(rgm_call(stage->runtime, &sleep) == 0);
    gate_open(&serving.told);
    AWAIT(&serving.told, serving.told.signals == BURST + 1);
    rgi_check(serving.told.calls == 2);
    stage_close(stage);
    rgm_signal_drop(&told.guard);
    rgm_signal_drop(&guard);
}

APART(signals_have_ears_for_so_many_runtimes)
{
    struct rgm_runtime *runtimes[RGM_SIGNAL_RUNTIMES_MAX + 1];
    struct rgm_signal_guard guards[RGM_SIGNAL_RUNTIMES_MAX + 1] = {0};
    const uint32_t last = RGM_SIGNAL_RUNTIMES_MAX;

    stage->options.workers = 1;
    stage->options.workers_max = 1;
    for (uint32_t i = 0; i <= last; i++) {
        rgi_check(rgm_runtime_create(&stage->options, &runtimes[i]) == 0);
        rgi_check(rgm_signal_stop(runtimes[i], SIGUSR1, &guards[i]) ==
                  (i < last ? 0 : -EAGAIN));
    }
    rgi_check(rgm_signal_tell(runtimes[0], SIGUSR1, rgm_worker_address(0),
                              &guards[last]) == -ESRCH); /* not started */
    rgi_check(rgm_runtime_destroy(runtimes[0]) == 0); /* gives up its ear */
    rgi_check(rgm_signal_stop(runtimes[last], SIGUSR1, &guards[last]) == 0);
    rgi_check(raise(SIGUSR1) == 0);
    for (uint32_t i = 1; i <= last; i++) {
        rgi_check(rgm_runtime_start(runtimes[i]) == 0);
        rgi_check(rgm_runtime_wait(runtimes[i]) == 0);
        rgi_check(rgm_runtime_destroy(runtimes[i]) == 0);
    }
    for (uint32_t i = 0; i <= last; i++)
        rgm_signal_drop(&guards[i]);
}
