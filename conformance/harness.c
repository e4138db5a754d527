/* SPDX-License-Identifier: MIT */

/* harness.c - what does a conformance case stand on? The stage's half; the
 * peers are in peers.c. */

#include "conformance/harness.h"
#include "conformance/automaton.h"

#include <dirent.h>
#include <fcntl.h>
#include <time.h>

/* ------------------------------------------------------------------ errands */

struct errand {
    struct rgm_request request;
    errand_function *run;
    void *argument;
};
RGM_REQUEST(errand);

RGM_FACTORY(puppet, puppet, puppet_make);
RGM_HANDLER(puppet, errand, puppet_run);
RGM_HOOK(puppet, puppet_retiring);

static const struct rgm_handler puppet_handlers[] = {
    RGM_ON(puppet, errand, puppet_run),
};

/* It outlives the order to stop, so that cases about the end can go on; it
 * ends by stage_wait. */
static const struct rgm_behaviour puppet_behaviour = {
    .name = "puppet",
    .size_bytes = sizeof(struct puppet),
    RGM_HANDLERS(puppet_handlers),
    .factory = RGM_MAKE(puppet, puppet_make),
    .retiring = RGM_DO(puppet, puppet_retiring),
};

static int
puppet_make(struct puppet *self, const struct puppet *argument)
{
    self->stage = argument->stage;
    self->number = argument->number;
    return 0;
}

static void
puppet_run(struct puppet *self, struct errand *errand)
{
    errand->run(self, errand->argument);
    rgm_reply(self, errand, 0);
}

static void
puppet_retiring(struct puppet *self)
{
    (void)self;
}

void
stage_do_on(struct stage *stage, uint32_t worker, errand_function *run,
            void *argument)
{
    struct errand errand = {.run = run, .argument = argument};

    errand_prepare(&errand, stage->puppets[worker]);
    rgi_check(rgm_call(stage->runtime, &errand) == 0);
}

void
stage_do(struct stage *stage, errand_function *run, void *argument)
{
    stage_do_on(stage, 0, run, argument);
}

/* -------------------------------------------------------------------- steps */

static struct track *
track_of(struct rgm_request *request)
{
    return (struct track *)(void *)((char *)request +
                                    request->message.type->size_bytes);
}

static void
answered(struct rgm_actor *actor, struct rgm_request *request)
{
    struct puppet *puppet = (struct puppet *)(void *)actor;
    struct stage *stage = puppet->stage;

    pthread_mutex_lock(&stage->lock);
    track_of(request)->answered++;
    pthread_cond_broadcast(&stage->answered);
    pthread_mutex_unlock(&stage->lock);
}

void
puppet_ask(struct puppet *puppet, struct rgm_request *request)
{
    rgm_ask_request(&puppet->actor, request, answered);
}

void
puppet_ask_step(struct puppet *puppet, struct rgm_request *request,
                struct track *track)
{
    pthread_mutex_lock(&puppet->stage->lock);
    rgi_check(track->asked == track->answered);
    track->asked++;
    pthread_mutex_unlock(&puppet->stage->lock);
    puppet_ask(puppet, request);
}

struct step_errand {
    struct rgm_request *request;
    struct track *track;
};

static void
begin_here(struct puppet *puppet, void *argument)
{
    const struct step_errand *step = argument;

    puppet_ask_step(puppet, step->request, step->track);
}

void
stage_begin_request(struct stage *stage, uint32_t worker,
                    struct rgm_request *request, struct track *track)
{
    struct step_errand step = {request, track};

    stage_do_on(stage, worker, begin_here, &step);
}

static void
cancel_here(struct puppet *puppet, void *argument)
{
    rgm_cancel_request(&puppet->actor, argument);
}

void
stage_cancel_request(struct stage *stage, uint32_t worker,
                     struct rgm_request *request)
{
    stage_do_on(stage, worker, cancel_here, request);
}

static unsigned guard_s = GUARD_S; /* changed before a case only */

unsigned
stage_guard_s(void)
{
    return guard_s;
}

void
stage_guard_set(unsigned seconds)
{
    guard_s = seconds;
}

static struct timespec
guard(void)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += guard_s;
    return until;
}

int
stage_end_request(struct stage *stage, struct rgm_request *request,
                  struct track *track)
{
    struct timespec until = guard();

    pthread_mutex_lock(&stage->lock);
    rgi_check(track->asked > 0);
    while (track->answered < track->asked)
        rgi_check(pthread_cond_timedwait(&stage->answered, &stage->lock,
                                         &until) == 0);
    rgi_check(track->answered == track->asked);
    pthread_mutex_unlock(&stage->lock);
    return rgm_request_status(request);
}

uint32_t
stage_answers_track(struct stage *stage, const struct track *track)
{
    uint32_t count;

    pthread_mutex_lock(&stage->lock);
    count = track->answered;
    pthread_mutex_unlock(&stage->lock);
    return count;
}

bool
stage_is_out_track(struct stage *stage, const struct track *track)
{
    bool out;

    pthread_mutex_lock(&stage->lock);
    out = track->answered < track->asked;
    pthread_mutex_unlock(&stage->lock);
    return out;
}

struct busy_errand {
    const struct rgm_stream *stream;
    uint32_t busy;
};

static void
look_busy(struct puppet *puppet, void *argument)
{
    struct busy_errand *look = argument;

    (void)puppet;
    look->busy = look->stream->socket.busy;
}

uint32_t
stage_busy(struct stage *stage, const struct rgm_stream *stream)
{
    struct busy_errand look = {.stream = stream};

    stage_do(stage, look_busy, &look);
    return look.busy;
}

/* ----------------------------------------------------------------- counters */

static void
nothing(struct puppet *puppet, void *argument)
{
    (void)puppet;
    (void)argument;
}

/* A worker publishes its counters when it falls asleep, and counts that when it
 * wakes: after two, one began after this call did. */
static void
await_published(struct stage *stage, uint32_t worker)
{
    const struct timespec longer_than_a_spin = {0, 200000};
    struct timespec until = guard();
    struct rgm_counters before, after;
    struct timespec now;

    rgi_check(rgm_runtime_counters(stage->runtime, worker, &before) == 0);
    do {
        stage_do_on(stage, worker, nothing, NULL);
        nanosleep(&longer_than_a_spin, NULL);
        rgi_check(rgm_runtime_counters(stage->runtime, worker, &after) == 0);
        clock_gettime(CLOCK_MONOTONIC, &now);
        rgi_check(now.tv_sec < until.tv_sec);
    } while (after.parks < before.parks + 2);
}

struct rgm_counters
stage_counters(struct stage *stage)
{
    struct rgm_counters counters;

    for (uint32_t i = 0; i < rgm_runtime_workers(stage->runtime); i++)
        await_published(stage, i);
    rgi_check(rgm_runtime_counters(stage->runtime, RGM_ANY_WORKER, &counters) ==
              0);
    return counters;
}

uint64_t
stage_in_flight(struct stage *stage)
{
    return stage_counters(stage).in_flight;
}

/* ------------------------------------------------------------ open and close */

void
scratch_path(char *ret_path, size_t size_bytes, const char *what)
{
    const char *place = getenv("TMPDIR");

    snprintf(ret_path, size_bytes, "%s/ringmail-%s-XXXXXX",
             place != NULL && place[0] != 0 ? place : "/tmp", what);
}

unsigned
descriptors_open(void)
{
    DIR *descriptors = opendir("/proc/self/fd");
    unsigned count = 0;

    rgi_check(descriptors);
    for (struct dirent *entry; (entry = readdir(descriptors));)
        count += entry->d_name[0] != '.';
    closedir(descriptors);
    count--; /* the directory's own */
    return count;
}

static void
spawn_puppet(struct stage *stage, uint32_t worker)
{
    struct puppet argument = {.stage = stage, .number = worker};

    rgi_check(rgm_runtime_spawn(stage->runtime, worker, &puppet_behaviour,
                                &argument, &stage->puppets[worker]) == 0);
}

bool
stage_is_on(const struct stage *stage, const char *class_name)
{
    return strcmp(stage->class->name, class_name) == 0;
}

bool
stage_is_shimmed(const struct stage *stage)
{
    return stage_is_on(stage, "threads") || stage_is_on(stage, "epoll");
}

bool
stage_can_be_gated(const struct stage *stage)
{
    return !stage_is_on(stage, "epoll");
}

void
stage_renew_puppet(struct stage *stage, uint32_t worker)
{
    spawn_puppet(stage, worker);
}

/* Of the case that runs; a second stage of it shares it. */
static struct rgm_script *script_now;

void
stage_open(struct stage *stage)
{
    stage->descriptors = descriptors_open();
    if (stage->options.workers == 0)
        stage->options.workers = 1;
    stage->options.provider =
        stage->spied ? spy_class(stage->class) : stage->class;
    if (stage->class == &rgm_provider_scripted)
        stage->options.provider_argument = script_now;
    rgi_check(rgm_runtime_create(&stage->options, &stage->runtime) == 0);
    rgi_check(rgm_runtime_start(stage->runtime) == 0);
    for (uint32_t i = 0; i < stage->options.workers; i++)
        spawn_puppet(stage, i);
}

void
stage_stop(struct stage *stage)
{
    rgm_runtime_stop(stage->runtime);
}

void
stage_wait(struct stage *stage)
{
    for (uint32_t i = 0; i < stage->options.workers; i++)
        (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[i]);
    rgi_check(rgm_runtime_wait(stage->runtime) == 0);
    rgi_check(rgm_runtime_destroy(stage->runtime) == 0);
    stage->runtime = NULL;
    automaton_close_all(stage->automaton);
    rgi_check(descriptors_open() == stage->descriptors);
}

void
stage_close(struct stage *stage)
{
    if (stage->listener.socket.open)
        rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    stage_wait(stage);
}

void
stage_init(struct stage *stage)
{
    pthread_condattr_t monotonic;

    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&stage->answered, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&stage->lock, NULL);
}

void
stage_deinit(struct stage *stage)
{
    rgi_check(stage->runtime == NULL);
    pthread_mutex_destroy(&stage->lock);
    pthread_cond_destroy(&stage->answered);
}

void
stage_script_begin(struct stage *stage)
{
    rgi_check(rgm_script_create(&script_now) == 0);
    rgm_script_follow_clock(script_now);
    stage->automaton = automaton_start(script_now);
}

void
stage_script_end(struct stage *stage)
{
    automaton_stop(stage->automaton);
    rgm_script_destroy(script_now);
    script_now = NULL;
}

/* ------------------------------------------------------------------ streams */

struct rgm_endpoint
loopback(void)
{
    struct rgm_endpoint endpoint;

    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &endpoint) == 0);
    return endpoint;
}

void
stage_listen(struct stage *stage)
{
    struct rgm_endpoint endpoint = loopback();
    struct rgm_listen listen;

    rgm_stream_listen(&listen, rgm_worker_address(0), &stage->listener,
                      &endpoint, false);
    rgi_check(rgm_call(stage->runtime, &listen) == 0);
    rgi_check(stage->listener.socket.open == 1);
    stage->endpoint = listen.endpoint;
    rgi_check(stage->endpoint.port != 0);
}

int
stage_pair(struct stage *stage, struct rgm_stream *near)
{
    struct rgm_accept accept;
    int peer;

    if (!stage->listener.socket.open)
        stage_listen(stage);
    peer = peer_connect(&stage->endpoint);
    memset(near, 0, sizeof(*near));
    rgm_stream_accept(&accept, &stage->listener, near);
    rgi_check(rgm_call(stage->runtime, &accept) == 0);
    rgi_check(near->socket.open == 1);
    return peer;
}

void
stage_pair_own(struct stage *stage, struct rgm_stream *near,
               struct rgm_stream *far)
{
    struct accept_step accept = {0};
    struct rgm_connect connect;

    if (!stage->listener.socket.open)
        stage_listen(stage);
    memset(near, 0, sizeof(*near));
    memset(far, 0, sizeof(*far));
    rgm_stream_accept(&accept.op, &stage->listener, far);
    stage_begin(stage, &accept);
    rgm_stream_connect(&connect, rgm_worker_address(0), near, &stage->endpoint);
    rgi_check(rgm_call(stage->runtime, &connect) == 0);
    rgi_check(stage_end(stage, &accept) == 0);
}

int
stage_write(struct stage *stage, struct rgm_stream *stream, const void *data,
            size_t length_bytes)
{
    struct rgm_write write;
    int status;

    rgm_stream_write(&write, stream, data, length_bytes);
    status = rgm_call(stage->runtime, &write);
    rgi_check(status < 0 || write.count == length_bytes);
    return status;
}

long
stage_read(struct stage *stage, struct rgm_stream *stream, void *memory,
           size_t capacity_bytes, bool *ret_end)
{
    struct rgm_read read;
    int status;

    rgm_stream_read(&read, stream, memory, capacity_bytes);
    status = rgm_call(stage->runtime, &read);
    if (status < 0)
        return status;
    rgi_check(read.count <= capacity_bytes);
    rgi_check(!read.end || read.count == 0);
    *ret_end = read.end;
    return (long)read.count;
}

void
stage_read_all(struct stage *stage, struct rgm_stream *stream, void *memory,
               size_t length_bytes)
{
    size_t count = 0;
    bool end = false;

    while (count < length_bytes) {
        long got = stage_read(stage, stream, (char *)memory + count,
                              length_bytes - count, &end);

        rgi_check(got > 0);
        count += (size_t)got;
    }
}

int
stage_shutdown(struct stage *stage, struct rgm_stream *stream)
{
    struct rgm_shutdown shutdown;

    rgm_stream_shutdown(&shutdown, stream);
    return rgm_call(stage->runtime, &shutdown);
}

int
stage_close_stream(struct stage *stage, struct rgm_stream *stream)
{
    struct rgm_close close;

    rgm_stream_close(&close, stream);
    return rgm_call(stage->runtime, &close);
}

int
stage_close_listener(struct stage *stage, struct rgm_listener *listener)
{
    struct rgm_close close;

    rgm_listener_close(&close, listener);
    return rgm_call(stage->runtime, &close);
}

static struct rgm_pool_storage *storage_in_use;

void
pools_use(struct rgm_pool_storage *storage)
{
    storage_in_use = storage;
}

struct rgm_pool *
pool_of(uint32_t slots_count, size_t slot_size_bytes)
{
    struct rgm_pool_options options = {.slots_count = slots_count,
                                       .slot_size_bytes = slot_size_bytes,
                                       .storage = storage_in_use};
    struct rgm_pool *pool = NULL;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}
