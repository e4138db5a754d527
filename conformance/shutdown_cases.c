/* SPDX-License-Identifier: MIT */

/* shutdown_cases.c - what must every provider show when a runtime ends? */

#include "conformance/shutdown_cases.h"

#include <stdlib.h>
#include <time.h>

#include "conformance/order.h"

#define BIG_BYTES ((size_t)8 << 20)

/* ------------------------------------------------------------------ the log */

/* What happened, in its order, from any thread. */
static struct {
    pthread_mutex_t lock;
    const char *events[64];
    unsigned count;
} diary = {PTHREAD_MUTEX_INITIALIZER, {NULL}, 0};

static void
log_event(const char *event)
{
    pthread_mutex_lock(&diary.lock);
    rgi_check(diary.count < sizeof(diary.events) / sizeof(diary.events[0]));
    diary.events[diary.count++] = event;
    pthread_mutex_unlock(&diary.lock);
}

/* For the next case, when it runs in the same process. */
static void
log_clear(void)
{
    pthread_mutex_lock(&diary.lock);
    diary.count = 0;
    pthread_mutex_unlock(&diary.lock);
}

static unsigned
logged_at(const char *event)
{
    unsigned at = 0;

    pthread_mutex_lock(&diary.lock);
    while (at < diary.count && strcmp(diary.events[at], event) != 0)
        at++;
    rgi_check(at < diary.count);
    pthread_mutex_unlock(&diary.lock);
    return at;
}

static bool
is_logged(const char *event)
{
    bool found = false;

    pthread_mutex_lock(&diary.lock);
    for (unsigned i = 0; i < diary.count; i++)
        found = found || strcmp(diary.events[i], event) == 0;
    pthread_mutex_unlock(&diary.lock);
    return found;
}

/* ------------------------------------------------------------------ waiting */

/* A thread that waits for the runtime and writes down when that was over. */
struct waiter {
    pthread_t thread;
    struct rgm_runtime *runtime;
    int status;
};

static void *
waiter_main(void *argument)
{
    struct waiter *waiter = argument;

    waiter->status = rgm_runtime_wait(waiter->runtime);
    log_event("waited");
    return NULL;
}

static void
waiter_start(struct waiter *waiter, struct stage *stage)
{
    waiter->runtime = stage->runtime;
    rgi_check(pthread_create(&waiter->thread, NULL, waiter_main, waiter) == 0);
}

static void
waiter_join(struct waiter *waiter)
{
    rgi_check(pthread_join(waiter->thread, NULL) == 0);
    rgi_check(waiter->status == 0);
}

/* Long enough for a wrong end to come; a right one has no limit. */
static void
a_while(void)
{
    const struct timespec while_ns = {0, 30 * 1000 * 1000};

    nanosleep(&while_ns, NULL);
}

static void
stop_puppets(struct stage *stage)
{
    for (uint32_t i = 0; i < stage->options.workers; i++)
        (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[i]);
}

static void
guest_answer(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

/* ------------------------------------------------------------------- phases */

/* An actor with something in every state: it reads, sleeps, has a write that is
 * stuck. Told of the end it takes leave in good order. */
struct host {
    struct rgm_actor actor;
    struct rgm_stream *stream, *stuck;
    struct rgm_read read;
    struct rgm_sleep sleep;
    struct rgm_write big, bye;
    struct rgm_shutdown shutdown;
    struct rgm_close close, close_stuck;
    const char *bytes;
    char byte;
};

struct host_argument {
    struct rgm_stream *stream, *stuck;
    const char *bytes;
};

RGM_FACTORY(host, host_argument, host_make);
RGM_HOOK(host, host_started);
RGM_HOOK(host, host_retiring);
RGM_HOOK(host, host_stopped);
RGM_ANSWER(host, rgm_read, host_read_done);
RGM_ANSWER(host, rgm_sleep, host_sleep_done);
RGM_ANSWER(host, rgm_write, host_big_done);
RGM_ANSWER(host, rgm_write, host_bye_done);
RGM_ANSWER(host, rgm_shutdown, host_shut_down);
RGM_ANSWER(host, rgm_close, host_closed);

static const struct rgm_behaviour host_behaviour = {
    .name = "host",
    .size_bytes = sizeof(struct host),
    .factory = RGM_MAKE(host, host_make),
    .started = RGM_DO(host, host_started),
    .retiring = RGM_DO(host, host_retiring),
    .stopped = RGM_DO(host, host_stopped),
};

static int
host_make(struct host *self, const struct host_argument *argument)
{
    self->stream = argument->stream;
    self->stuck = argument->stuck;
    self->bytes = argument->bytes;
    return 0;
}

static void
host_started(struct host *self)
{
    rgm_stream_read(&self->read, self->stream, &self->byte, 1);
    rgm_ask(self, &self->read, RGM_REPLY(host, rgm_read, host_read_done));
    rgm_sleep_for(&self->sleep, rgm_here(self), 3600 * RGM_NS_PER_S);
    rgm_ask(self, &self->sleep, RGM_REPLY(host, rgm_sleep, host_sleep_done));
    rgm_stream_write(&self->big, self->stuck, self->bytes, BIG_BYTES);
    rgm_ask(self, &self->big, RGM_REPLY(host, rgm_write, host_big_done));
}

static void
host_retiring(struct host *self)
{
    log_event("told");
    rgm_cancel(self, &self->read);
    rgm_cancel(self, &self->sleep);
    rgm_cancel(self, &self->big);
}

static void
host_read_done(struct host *self, struct rgm_read *read)
{
    rgi_check(rgm_status(read) == -ECANCELED);
    log_event("read");
    rgm_stream_write(&self->bye, self->stream, "bye", 3);
    rgm_ask(self, &self->bye, RGM_REPLY(host, rgm_write, host_bye_done));
}

static void
host_sleep_done(struct host *self, struct rgm_sleep *sleep)
{
    (void)self;
    rgi_check(rgm_status(sleep) == -ECANCELED);
    log_event("sleep");
}

static void
host_big_done(struct host *self, struct rgm_write *write)
{
    rgi_check(rgm_status(write) == -ECANCELED);
    rgi_check(write->count > 0 && write->count < BIG_BYTES);
    log_event("stuck write");
    rgm_stream_close(&self->close_stuck, self->stuck);
    rgm_ask(self, &self->close_stuck, RGM_REPLY(host, rgm_close, host_closed));
}

static void
host_bye_done(struct host *self, struct rgm_write *write)
{
    rgi_check(rgm_status(write) == 0);
    log_event("bye");
    rgm_stream_shutdown(&self->shutdown, self->stream);
    rgm_ask(self, &self->shutdown,
            RGM_REPLY(host, rgm_shutdown, host_shut_down));
}

static void
host_shut_down(struct host *self, struct rgm_shutdown *shutdown)
{
    rgi_check(rgm_status(shutdown) == 0);
    rgm_stream_close(&self->close, self->stream);
    rgm_ask(self, &self->close, RGM_REPLY(host, rgm_close, host_closed));
    rgm_stop(self); /* the close goes on all the same */
}

static void
host_closed(struct host *self, struct rgm_close *close)
{
    rgi_check(rgm_status(close) == 0);
    log_event(close == &self->close ? "closed" : "stuck closed");
}

static void
host_stopped(struct host *self)
{
    (void)self;
    rgi_check(!spy_of(0)->closed);
    log_event("stopped");
}

void
shd_01_graceful_end_goes_through_its_phases(struct stage *stage)
{
    char *bytes = calloc(1, BIG_BYTES);
    struct rgm_stream stream, stuck;
    struct host_argument argument = {&stream, &stuck, bytes};
    struct rgm_address address;
    struct waiter waiter;
    int peer, stuck_peer;
    char bye[3];

    rgi_check(bytes != NULL);
    log_clear();
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &stream);
    stuck_peer = stage_pair(stage, &stuck);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &host_behaviour, &argument,
                                &address) == 0);
    peer_receive(stuck_peer, bye, 1); /* it has begun, and is stuck all the same */
    stage_do(stage, order_hold_cancels, NULL); /* what is in the kernel stays */
    stage_stop(stage);
    waiter_start(&waiter, stage);
    while (!is_logged("sleep")) /* the worker's own; needs no provider */
        a_while();
    rgi_check(is_logged("told") && !is_logged("stopped"));
    rgi_check(stage_busy(stage, &stream) == 1);
    rgi_check(stage_busy(stage, &stuck) == 1);
    rgi_check(stage_in_flight(stage) == 2);
    stage_do(stage, order_release_cancels, NULL);
    peer_receive(peer, bye, 3);
    peer_expect_end(peer);
    stop_puppets(stage);
    waiter_join(&waiter);
    rgi_check(spy_of(0)->closed);
    rgi_check(logged_at("told") < logged_at("read"));
    rgi_check(logged_at("told") < logged_at("stuck write"));
    rgi_check(logged_at("stuck write") < logged_at("stuck closed"));
    rgi_check(logged_at("read") < logged_at("bye"));
    rgi_check(logged_at("bye") < logged_at("closed"));
    rgi_check(logged_at("closed") < logged_at("stopped"));
    rgi_check(logged_at("stuck closed") < logged_at("stopped"));
    rgi_check(logged_at("stopped") < logged_at("waited"));
    peer_close(peer);
    peer_close(stuck_peer);
    stage_wait(stage);
    free(bytes);
}

/* ------------------------------------------------------------------ closing */

static void
is_well(struct puppet *puppet, void *argument)
{
    *(bool *)argument = rgm_now(&puppet->actor) > 0;
}

void
shd_02_closing_wakes_and_refuses(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    char *bytes = calloc(1, BIG_BYTES);
    struct rgm_endpoint busy = loopback();
    struct rgm_stream near, other, fresh = {0}, dialled = {0};
    struct rgm_accept accept;
    struct rgm_connect connect;
    struct rgm_read read, late_read;
    struct rgm_read_pooled pooled;
    struct rgm_write write, late_write;
    struct rgm_sleep sleep, late_sleep;
    struct rgm_guest guest;
    struct rgm_request *requests[] = {&accept.request, &connect.request,
                                      &read.request,   &pooled.request,
                                      &write.request,  &sleep.request};
    enum { REQUESTS = sizeof(requests) / sizeof(requests[0]) };
    bool well = false;
    int peer, other_peer, listener, first;

    rgi_check(bytes != NULL);
    stage_open(stage);
    listener = peer_listen(&busy, 0);
    first = peer_connect(&busy);
    peer = stage_pair(stage, &near);
    other_peer = stage_pair(stage, &other);
    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    rgm_stream_accept(&accept, &stage->listener, &fresh);
    rgm_stream_connect(&connect, rgm_worker_address(0), &dialled, &busy);
    rgm_stream_read(&read, &near, bytes, 1);
    rgm_stream_read_pooled(&pooled, &other, pool);
    rgm_stream_write(&write, &near, bytes, BIG_BYTES);
    rgm_sleep_for(&sleep, rgm_worker_address(0), 3600 * RGM_NS_PER_S);
    rgm_stream_read(&late_read, &near, bytes, 1);
    rgm_stream_write(&late_write, &near, bytes, 1);
    rgm_sleep_for(&late_sleep, rgm_worker_address(0), 0);
    for (int i = 0; i < REQUESTS; i++)
        rgm_ask_request(&guest.actor, requests[i], guest_answer);
    rgi_check(stage_in_flight(stage) == REQUESTS);
    stage_stop(stage); /* returns, with all of it out */
    stage_do(stage, is_well, &well);
    rgi_check(well); /* owners go on */
    while (rgm_guest_wait(&guest) > 0)
        continue;
    for (int i = 0; i < REQUESTS; i++)
        rgi_check(rgm_request_status(requests[i]) == -EPIPE);
    rgi_check(rgm_call(stage->runtime, &late_read) == -EPIPE);
    rgi_check(rgm_call(stage->runtime, &late_write) == -EPIPE);
    rgi_check(rgm_call(stage->runtime, &late_sleep) == -EPIPE);
    rgi_check(fresh.socket.open == 0 && dialled.socket.open == 0);
    rgm_guest_close(&guest);
    peer_close(peer);
    peer_close(other_peer);
    peer_close(first);
    peer_close(listener);
    stage_wait(stage);
    rgm_pool_destroy(pool);
    free(bytes);
}

/* --------------------------------------------------------------------- root */

enum { ROOT_OPERATIONS = 1000 };

struct root {
    struct rgm_actor actor;
    struct ending *ending;
};

struct ending {
    struct rgm_sleep sleeps[ROOT_OPERATIONS];
    struct rgm_listener listener;
    struct rgm_endpoint endpoint;
    struct rgm_listen listen;
    struct rgm_stream streams[2];
    struct rgm_accept accepts[2];
    struct rgm_close close;
    uint32_t asked, answered, cancelled;
    bool child_told, child_stopped;
    int spawn_status;
};

static struct ending *ending_now;

RGM_HOOK(root, root_started);
RGM_HOOK(root, child_retiring);
RGM_HOOK(root, child_stopped);

static const struct rgm_behaviour root_behaviour = {
    .name = "root",
    .size_bytes = sizeof(struct root),
    .started = RGM_DO(root, root_started),
};
static const struct rgm_behaviour child_behaviour = {
    .name = "child",
    .size_bytes = sizeof(struct root),
    .retiring = RGM_DO(root, child_retiring),
    .stopped = RGM_DO(root, child_stopped),
};

static void
root_answered(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    ending_now->answered++;
    ending_now->cancelled += rgm_request_status(request) == -ECANCELED;
}

static void
root_ask(struct root *self, struct rgm_request *request)
{
    ending_now->asked++;
    rgm_ask_request(&self->actor, request, root_answered);
}

/* The listener is there: now everything is asked, and the root ends. */
static void
root_listens(struct rgm_actor *actor, struct rgm_request *request)
{
    struct root *self = (struct root *)(void *)actor;
    struct ending *ending = ending_now;

    rgi_check(rgm_request_status(request) == 0);
    for (int i = 0; i < ROOT_OPERATIONS - 2; i++) {
        rgm_sleep_for(&ending->sleeps[i], rgm_here(self), 3600 * RGM_NS_PER_S);
        root_ask(self, &ending->sleeps[i].request);
    }
    for (int i = 0; i < 2; i++) {
        rgm_stream_accept(&ending->accepts[i], &ending->listener,
                          &ending->streams[i]);
        root_ask(self, &ending->accepts[i].request);
    }
    rgm_stop(self);
}

static void
root_started(struct root *self)
{
    struct rgm_address child;

    rgi_check(rgm_spawn(self, &child_behaviour, NULL, &child) == 0);
    ending_now->endpoint = loopback();
    rgm_stream_listen(&ending_now->listen, rgm_here(self),
                      &ending_now->listener, &ending_now->endpoint, false);
    rgm_ask_request(&self->actor, &ending_now->listen.request, root_listens);
}

static void
child_retiring(struct root *self)
{
    struct rgm_address nobody;

    ending_now->child_told = true;
    ending_now->spawn_status = rgm_spawn(self, &child_behaviour, NULL, &nobody);
    rgm_stop(self);
}

static void
child_stopped(struct root *self)
{
    (void)self;
    ending_now->child_stopped = true;
}

void
shd_03_root_ends_with_a_thousand_operations(struct stage *stage)
{
    struct rgm_runtime_options options = {.workers = 1,
                                          .provider = stage->class};
    unsigned descriptors = descriptors_open();
    struct rgm_runtime *runtime;
    struct rgm_sleep late;

    ending_now = calloc(1, sizeof(*ending_now));
    rgi_check(ending_now != NULL);
    rgi_check(rgm_runtime_create(&options, &runtime) == 0);
    rgi_check(rgm_runtime_run(runtime, &root_behaviour, NULL) == 0);
    rgi_check(ending_now->asked == ROOT_OPERATIONS);
    rgi_check(ending_now->answered == ROOT_OPERATIONS);
    rgi_check(ending_now->cancelled == ROOT_OPERATIONS);
    rgi_check(ending_now->child_told && ending_now->child_stopped);
    rgi_check(ending_now->spawn_status == -EPIPE);
    rgm_sleep_for(&late, rgm_worker_address(0), 1);
    rgi_check(rgm_call(runtime, &late) == -EPIPE);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(descriptors_open() == descriptors);
    free(ending_now);
}

/* ------------------------------------------------------------ what keeps it */

/* A read that no cancel reaches, a runtime that is told to end, and a thread
 * that waits for it. */
static void
begin_the_end(struct stage *stage, struct read_step *read,
              struct rgm_stream *near, char *byte, struct waiter *waiter)
{
    log_clear();
    stage_do(stage, order_hold_cancels, NULL);
    rgm_stream_read(&read->op, near, byte, 1);
    stage_begin(stage, read);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    (void)stage_counters(stage);
    stage_stop(stage);
    stop_puppets(stage);
    waiter_start(waiter, stage);
    a_while();
    rgi_check(!is_logged("waited") && stage_is_out(stage, read));
}

/* The peer, in the end, sends what the read has been waiting for. */
static void
end_the_end(struct stage *stage, struct read_step *read, char *byte,
            struct waiter *waiter, int peer)
{
    peer_send(peer, "x", 1);
    rgi_check(stage_end(stage, read) == 0);
    rgi_check(read->op.count == 1 && *byte == 'x');
    waiter_join(waiter);
    peer_close(peer);
    stage_wait(stage);
}

void
shd_06_worker_stays_while_a_request_is_out(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    struct waiter waiter;
    char byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    begin_the_end(stage, &read, &near, &byte, &waiter);
    rgi_check(rgm_runtime_destroy(stage->runtime) == -EBUSY);
    end_the_end(stage, &read, &byte, &waiter, peer);
}

/* The provider is still turning while the last request is out, and is closed
 * when nothing is; only then is the end announced. */
void
shd_07_actors_first_then_the_provider(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    struct rgm_counters before, after;
    struct waiter waiter;
    char byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    begin_the_end(stage, &read, &near, &byte, &waiter);
    rgi_check(rgm_runtime_counters(stage->runtime, 0, &before) == 0);
    (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]);
    do /* it still turns, when there is a reason to */
        rgi_check(rgm_runtime_counters(stage->runtime, 0, &after) == 0);
    while (after.turns == before.turns);
    rgi_check(after.actors == 1 && after.stopped == 0);
    end_the_end(stage, &read, &byte, &waiter, peer);
    rgi_check(spy_of(0)->opened && spy_of(0)->closed);
}

static void
wait_here(struct puppet *puppet, void *argument)
{
    *(int *)argument = rgm_runtime_wait(puppet->stage->runtime);
}

void
shd_11_waiting_for_oneself_is_refused(struct stage *stage)
{
    int status = 0;

    stage_open(stage);
    stage_do(stage, wait_here, &status);
    rgi_check(status == -EDEADLK);
    stage_close(stage);
}

void
shd_12_what_keeps_the_end_waiting_is_visible(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    struct rgm_counters counters;
    struct waiter waiter;
    char byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    begin_the_end(stage, &read, &near, &byte, &waiter);
    rgi_check(rgm_runtime_counters(stage->runtime, 0, &counters) == 0);
    rgi_check(counters.in_flight == 1); /* an operation, and nothing else */
    rgi_check(counters.messages_out == 1 && counters.kept == 0);
    rgi_check(counters.actors == 1);
    end_the_end(stage, &read, &byte, &waiter, peer);
}

/* ------------------------------------------------------------------ callers */

static void *
stop_and_wait(void *argument)
{
    struct waiter *waiter = argument;

    rgm_runtime_stop(waiter->runtime);
    waiter->status = rgm_runtime_wait(waiter->runtime);
    return NULL;
}

void
shd_13_eight_callers_see_one_end(struct stage *stage)
{
    enum { CALLERS = 8 };
    struct waiter callers[CALLERS];

    for (int round = 0; round < 5; round++) {
        stage->options.workers = 2;
        stage_open(stage);
        for (int i = 0; i < CALLERS; i++) {
            callers[i].runtime = stage->runtime;
            rgi_check(pthread_create(&callers[i].thread, NULL, stop_and_wait,
                                     &callers[i]) == 0);
        }
        stop_puppets(stage);
        for (int i = 0; i < CALLERS; i++)
            waiter_join(&callers[i]);
        stage_wait(stage);
    }
}

static pthread_key_t key_of_own;

static void
own_destructor(void *value)
{
    (*(uint32_t *)value)++;
}

static void
set_own(struct puppet *puppet, void *argument)
{
    uint32_t *counts = argument;

    rgi_check(pthread_setspecific(key_of_own, &counts[puppet->number]) == 0);
}

/* The thread's own data and nothing else; by the end it has run. */
void
shd_14_thread_destructors_are_their_own(struct stage *stage)
{
    uint32_t counts[2] = {0, 0};

    rgi_check(pthread_key_create(&key_of_own, own_destructor) == 0);
    stage->options.workers = 2;
    stage_open(stage);
    for (uint32_t i = 0; i < 2; i++)
        stage_do_on(stage, i, set_own, counts);
    stage_close(stage);
    rgi_check(counts[0] == 1 && counts[1] == 1);
    rgi_check(pthread_key_delete(key_of_own) == 0);
}
