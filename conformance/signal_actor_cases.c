/* SPDX-License-Identifier: MIT */

/* signal_actor_cases.c - how do actors, tokens and runtimes hear of a signal? */

#include "conformance/signal_actor_cases.h"

#include "conformance/signal_told.h"

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

    told_call(told, notice->number, notice->count);
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
    TOLD_AWAIT(&serving.told, serving.told.inside);
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
        TOLD_AWAIT(&serving.told, serving.told.signals == i);
    }
    rgi_check(rgm_task_join(task, &end) == 0);
    rgi_check(end.kind == RGM_END_DONE && serving.told.calls == 5);
    rgi_check(serving.told.number == SIGUSR1);
    /* Nobody is there any more: it ends by itself, guard or not. */
    for (int i = 0; i < 3; i++)
        rgi_check(raise(SIGUSR1) == 0);
    told_settle(stage);
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
    told_gate_shut(&serving.told);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &server_behaviour, &serving,
                                &server) == 0);
    rgi_check(rgm_signal_tell(stage->runtime, SIGUSR2, server, &guard) == 0);
    told_subscribe(stage, &told, SIGUSR1);
    rgi_check(raise(SIGUSR1) == 0 && raise(SIGUSR2) == 0);
    TOLD_AWAIT(&told, told.calls == 1);
    TOLD_AWAIT(&serving.told, serving.told.inside); /* and worker 0 with it */
    rgm_runtime_stop(stage->runtime);
    rgi_check(raise(SIGUSR1) == 0); /* caught, and told to nobody */
    pause_on_worker_1(stage);
    told_gate_open(&serving.told);
    stage_wait(stage);
    rgi_check(told.calls == 1 && told.destroyed == 1);
    rgm_signal_drop(&told.guard);
    rgm_signal_drop(&guard);
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
    told_subscribe(stage, &told, SIGUSR1);
    told_gate_shut(&serving.told);
    told_gate_shut(&told);
    rgi_check(raise(SIGUSR1) == 0);
    TOLD_AWAIT(&told, told.inside);
    TOLD_AWAIT(&serving.told, serving.told.inside);
    for (int i = 0; i < BURST; i++)
        rgi_check(raise(SIGUSR1) == 0);
    told_gate_open(&told);
    TOLD_AWAIT(&told, told.signals == BURST + 1);
    rgi_check(told.calls == 2);
    /* Worker 0 has heard of the rest, with the message out. */
    rgm_sleep_for(&sleep, rgm_worker_address(0), 0);
    rgi_check(rgm_call(stage->runtime, &sleep) == 0);
    told_gate_open(&serving.told);
    TOLD_AWAIT(&serving.told, serving.told.signals == BURST + 1);
    rgi_check(serving.told.calls == 2);
    stage_close(stage);
    rgm_signal_drop(&told.guard);
    rgm_signal_drop(&guard);
}
