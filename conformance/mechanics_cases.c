/* SPDX-License-Identifier: MIT */

/* mechanics_cases.c - faults of the field that lie between a worker and whoever
 * does its work. */

#include "conformance/mechanics_cases.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* ------------------------------------------------------------------ one job */

/* An actor with one operation out and nothing else in its worker: no timer, no
 * traffic, no spinning. If the wake for its completion is lost, nothing else
 * comes to cover that up. */
struct worker_bee {
    struct rgm_actor actor;
    struct bee_state *state;
    struct rgm_names names;
    uint64_t rounds;
};

struct bee_state {
    struct rgm_listener *listener;
    uint64_t rounds;
    pthread_mutex_t lock;
    pthread_cond_t done;
    bool is_done;
};

RGM_HOOK(worker_bee, bee_started);
RGM_ANSWER(worker_bee, rgm_names, bee_answered);

static int
bee_make(struct rgm_actor *self, const void *argument)
{
    ((struct worker_bee *)(void *)self)->state =
        *(struct bee_state *const *)argument;
    return 0;
}

static const struct rgm_behaviour bee_behaviour = {
    .name = "bee",
    .size_bytes = sizeof(struct worker_bee),
    .factory = bee_make,
    .started = RGM_DO(worker_bee, bee_started),
};

static void
bee_started(struct worker_bee *self)
{
    rgm_socket_names(&self->names, &self->state->listener->socket);
    rgm_ask(self, &self->names, RGM_REPLY(worker_bee, rgm_names,
                                          bee_answered));
}

static void
bee_answered(struct worker_bee *self, struct rgm_names *names)
{
    struct bee_state *state = self->state;

    rgi_check(rgm_status(names) == 0);
    if (++self->rounds < state->rounds) {
        bee_started(self);
        return;
    }
    pthread_mutex_lock(&state->lock);
    state->is_done = true;
    pthread_cond_signal(&state->done);
    pthread_mutex_unlock(&state->lock);
    rgm_stop(self);
}

void
field_b02_one_job_at_a_time_and_nothing_else(struct stage *stage)
{
    struct bee_state state = {.listener = &stage->listener,
                              .rounds = rgi_scale(1000000),
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .done = PTHREAD_COND_INITIALIZER};
    struct bee_state *argument = &state;
    struct rgm_address address;

    stage->options.spin_us = RGM_SPIN_OFF;
    stage_open(stage);
    stage_listen(stage);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &bee_behaviour, &argument,
                                &address) == 0);
    pthread_mutex_lock(&state.lock);
    while (!state.is_done)
        pthread_cond_wait(&state.done, &state.lock);
    pthread_mutex_unlock(&state.lock);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_close(stage);
}

/* -------------------------------------------------------------------- slots */

enum { SLOTS = 4, SLOT_BYTES = 64 };

/* Reads into the pool up to the end. Returns: how many bytes came. */
static size_t
read_to_the_end(struct stage *stage, struct rgm_stream *near,
                struct rgm_pool *pool)
{
    struct rgm_read_pooled read;
    size_t total = 0;

    do {
        rgm_stream_read_pooled(&read, near, pool);
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        rgi_check(read.count <= SLOT_BYTES);
        rgi_check(read.end == (read.count == 0));
        if (read.count > 0) {
            rgi_check(pattern_holds(read.lease.data, read.count, total));
            rgi_check(rgm_lease_drop(&read.lease) == 0);
        }
        total += read.count;
    } while (!read.end);
    return total;
}

/* Every size up to two slots and a bit, each followed by the end: what a slot
 * was filled with, and whether that was all, changes nothing about whose it
 * is afterwards. */
void
field_b58_every_size_and_the_end_give_all_slots_back(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(SLOTS, SLOT_BYTES);
    char bytes[2 * SLOT_BYTES + 2];

    pattern_fill(bytes, sizeof(bytes), 0);
    stage_open(stage);
    for (size_t size = 0; size <= sizeof(bytes); size += size < 4 ? 1 : 7) {
        struct rgm_stream near;
        int peer = stage_pair(stage, &near);

        if (size > 0)
            peer_send(peer, bytes, size);
        peer_shutdown(peer);
        rgi_check(read_to_the_end(stage, &near, pool) == size);
        rgi_check(stage_close_stream(stage, &near) == 0);
        peer_close(peer);
    }
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(pool) == SLOTS);
    rgm_pool_destroy(pool);
}

/* -------------------------------------------------------------------- order */

enum { RECORDS = 1000 };

struct record {
    uint32_t number;
    char fill[60];
};

static struct record *
records_make(struct rgm_vector *vectors)
{
    struct record *records = calloc(RECORDS, sizeof(*records));

    rgi_check(records != NULL);
    for (uint32_t i = 0; i < RECORDS; i++) {
        records[i].number = i;
        vectors[i] = (struct rgm_vector){&records[i], sizeof(records[i])};
    }
    return records;
}

/* One write of a thousand pieces through a small buffer: the kernel takes them
 * in parts, and none overtakes another. */
static void
records_through_a_stream(struct stage *stage, struct rgm_vector *vectors)
{
    struct write_step write = {0};
    struct rgm_stream near;
    int small = 16384;
    int peer;

    stage_listen(stage);
    peer = stage_pair(stage, &near);
    rgi_check(setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) ==
              0);
    rgm_stream_write_vectors(&write.op, &near, vectors, RECORDS);
    stage_begin(stage, &write);
    for (uint32_t i = 0; i < RECORDS; i++) {
        struct record record;

        peer_receive(peer, &record, sizeof(record));
        rgi_check(record.number == i);
    }
    rgi_check(stage_end(stage, &write) == 0);
    rgi_check(write.op.count == RECORDS * sizeof(struct record));
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
}

/* Each append is asked when the last one is whole, the sync after all. */
static void
records_into_a_file(struct stage *stage, const struct record *records)
{
    char path[] = "/tmp/ringmail-records-XXXXXX";
    struct rgm_file_open open;
    struct rgm_file file = {0};
    struct rgm_file_write write;
    struct rgm_file_sync sync;
    struct rgm_close close_it;
    struct record record;
    int fd = mkstemp(path);

    rgi_check(fd >= 0);
    rgm_file_open(&open, rgm_worker_address(0), &file, path,
                  RGM_FILE_WRITE | RGM_FILE_APPEND, 0600);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    for (uint32_t i = 0; i < RECORDS; i++) {
        rgm_file_write(&write, &file, &records[i], sizeof(records[i]));
        rgi_check(rgm_call(stage->runtime, &write) == 0);
        rgi_check(write.count == sizeof(records[i]));
    }
    rgm_file_sync(&sync, &file);
    rgi_check(rgm_call(stage->runtime, &sync) == 0);
    for (uint32_t i = 0; i < RECORDS; i++) {
        rgi_check(read(fd, &record, sizeof(record)) ==
                  (ssize_t)sizeof(record));
        rgi_check(record.number == i);
    }
    rgi_check(read(fd, &record, 1) == 0);
    rgm_file_close(&close_it, &file);
    rgi_check(rgm_call(stage->runtime, &close_it) == 0);
    close(fd);
    rgi_check(unlink(path) == 0);
}

void
field_b59_records_keep_their_order_and_a_sync_comes_after(struct stage *stage)
{
    static struct rgm_vector vectors[RECORDS];
    struct record *records = records_make(vectors);

    stage_open(stage);
    records_through_a_stream(stage, vectors);
    records_into_a_file(stage, records);
    stage_close(stage);
    free(records);
}

/* ------------------------------------------------------------ the machine's CPUs */

static void
where_it_may_run(struct puppet *puppet, void *argument)
{
    (void)puppet;
    rgi_check(sched_getaffinity(0, sizeof(cpu_set_t), argument) == 0);
}

/* The last one: numbers below it are missing from the set. */
static void
last_of(const cpu_set_t *set, cpu_set_t *ret_one)
{
    CPU_ZERO(ret_one);
    for (size_t cpu = CPU_SETSIZE; cpu-- > 0;)
        if (CPU_ISSET(cpu, set)) {
            CPU_SET(cpu, ret_one);
            return;
        }
}

/* Asked for three that are pinned where only one may run, and for as many as
 * there may be. */
void
field_b83_more_workers_than_cpus_stay_in_the_set(struct stage *stage)
{
    struct rgm_runtime_options usual = {.provider = stage->class};
    struct rgm_runtime *runtime;
    cpu_set_t before, one, seen;

    rgi_check(sched_getaffinity(0, sizeof(before), &before) == 0);
    last_of(&before, &one);
    rgi_check(sched_setaffinity(0, sizeof(one), &one) == 0);
    rgi_check(rgm_usable_cpus() == 1);
    stage->options.workers = 3;
    stage->options.pin = true;
    stage_open(stage);
    for (uint32_t i = 0; i < 3; i++) {
        CPU_ZERO(&seen);
        stage_do_on(stage, i, where_it_may_run, &seen);
        rgi_check(CPU_EQUAL(&seen, &one));
    }
    stage_close(stage);
    rgi_check(rgm_runtime_create(&usual, &runtime) == 0);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(rgm_runtime_workers(runtime) == 1);
    rgi_check(strlen(rgm_runtime_provider(runtime)) > 0);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(sched_setaffinity(0, sizeof(before), &before) == 0);
}
