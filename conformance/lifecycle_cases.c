/* SPDX-License-Identifier: MIT */

/* lifecycle_cases.c - an operation's way from preparation to answer. */

#include "conformance/lifecycle_cases.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/order.h"
#include "conformance/shim.h"

#define BIG_BYTES ((size_t)8 << 20) /* more than the kernel takes at once */

static char *
big_new(void)
{
    char *bytes = malloc(BIG_BYTES);

    rgi_check(bytes != NULL);
    pattern_fill(bytes, BIG_BYTES, 0);
    return bytes;
}

/* One record of each kind, on the same sockets. */
struct one_of_each {
    struct rgm_stream fresh;
    struct rgm_listener fresh_listener;
    struct rgm_listen listen;
    struct rgm_accept accept;
    struct rgm_connect connect;
    struct rgm_read read;
    struct rgm_read_pooled pooled;
    struct rgm_write write;
    struct rgm_socket_option set, get;
    struct rgm_names names;
    struct rgm_sleep sleep;
    struct rgm_shutdown shutdown;
    struct rgm_close close;
    char bytes[8];
};

static void
prepare_all(struct one_of_each *all, struct stage *stage,
            struct rgm_stream *stream, struct rgm_pool *pool)
{
    struct rgm_address here = rgm_worker_address(0);

    memset(all, 0, sizeof(*all));
    rgm_stream_listen(&all->listen, here, &all->fresh_listener,
                      &stage->endpoint, false);
    rgm_stream_accept(&all->accept, &stage->listener, &all->fresh);
    rgm_stream_connect(&all->connect, here, &all->fresh, &stage->endpoint);
    rgm_stream_read(&all->read, stream, all->bytes, sizeof(all->bytes));
    rgm_stream_read_pooled(&all->pooled, stream, pool);
    rgm_stream_write(&all->write, stream, all->bytes, sizeof(all->bytes));
    rgm_socket_set(&all->set, &stream->socket, RGM_OPTION_NO_DELAY, 0);
    rgm_socket_get(&all->get, &stream->socket, RGM_OPTION_NO_DELAY);
    rgm_socket_names(&all->names, &stream->socket);
    rgm_sleep_for(&all->sleep, here, 1);
    rgm_stream_shutdown(&all->shutdown, stream);
    rgm_stream_close(&all->close, stream);
}

/* All but clean-up. Returns how many. */
static size_t
ordinary_of(struct one_of_each *all, struct rgm_request **ret_requests)
{
    struct rgm_request *requests[] = {
        &all->listen.request, &all->accept.request, &all->connect.request,
        &all->read.request,   &all->pooled.request, &all->write.request,
        &all->set.request,    &all->get.request,    &all->names.request,
        &all->sleep.request,
    };
    const size_t count = sizeof(requests) / sizeof(requests[0]);

    memcpy(ret_requests, requests, sizeof(requests));
    return count;
}

#define ORDINARY_COUNT 10

static void
count_submits(struct puppet *puppet, void *argument)
{
    const struct spy *spy = spy_of(puppet->number);
    uint64_t *sum = argument;

    *sum = 0;
    for (int i = 0; i < RGM_OP_KINDS_COUNT; i++)
        *sum += spy->submits[i];
}

static uint64_t
submits(struct stage *stage)
{
    uint64_t sum;

    stage_do(stage, count_submits, &sum);
    return sum;
}

/* ------------------------------------------------------------------ prepare */

/* In a process in which any system call but read, write and exit kills. */
static void
prepare_without_system_calls(struct stage *stage, struct rgm_stream *stream,
                             struct rgm_pool *pool)
{
    static struct one_of_each all;
    pid_t child;
    int how = -1;

    fflush(NULL);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0) {
        if (prctl(PR_SET_SECCOMP, 1 /* strict */) != 0)
            syscall(SYS_exit, 77);
        prepare_all(&all, stage, stream, pool);
        syscall(SYS_exit, 0);
    }
    rgi_check(waitpid(child, &how, 0) == child);
    rgi_check(WIFEXITED(how));
    rgi_check(WEXITSTATUS(how) == 0 || WEXITSTATUS(how) == 77);
}

void
opl_01_preparing_has_no_effect(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct rgm_stream near, before;
    struct one_of_each all;
    uint64_t submitted;
    int peer, ours, mode;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    ours = descriptor_of_peer(peer);
    mode = fcntl(ours, F_GETFL);
    submitted = submits(stage);
    before = near;
    prepare_all(&all, stage, &near, pool);
    prepare_without_system_calls(stage, &near, pool);
    rgi_check(stage_in_flight(stage) == 0);
    rgi_check(submits(stage) == submitted);
    rgi_check(fcntl(ours, F_GETFL) == mode);
    rgi_check(rgm_pool_free_count(pool) == 1);
    rgi_check(memcmp(&near, &before, sizeof(near)) == 0);
    rgi_check(all.fresh.socket.open == 0 && all.fresh.socket.busy == 0);
    peer_expect_nothing(peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* ---------------------------------------------------------------- admission */

static bool
pooled_is_as_prepared(const struct rgm_read_pooled *read,
                      const struct rgm_stream *stream,
                      const struct rgm_pool *pool)
{
    const struct rgm_lease none = {0};

    return read->stream == stream && read->pool == pool && read->count == 0 &&
           !read->end && memcmp(&read->lease, &none, sizeof(none)) == 0;
}

void
opl_02_admission_waits_in_line_or_refuses(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct pooled_step read = {0};
    struct rgm_read_pooled late;
    struct rgm_stream near, gone;
    struct rgm_lease lease;
    char bytes[8] = "as it is";
    struct rgm_read bad;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "data", 4);
    /* Full: it waits, and that wait can be cancelled. */
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    rgm_stream_read_pooled(&read.op, &near, pool);
    stage_begin(stage, &read);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &read));
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(pooled_is_as_prepared(&read.op, &near, pool));
    /* Still full: it waits until there is room. */
    stage_begin(stage, &read);
    rgi_check(stage_is_out(stage, &read));
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(stage_end(stage, &read) == 0 && read.op.count == 4);
    rgi_check(rgm_lease_drop(&read.op.lease) == 0);
    /* Refused by a bad argument, by closing, and by the end. */
    rgm_stream_read(&bad, &near, NULL, 8);
    rgi_check(rgm_call(stage->runtime, &bad) == -EINVAL);
    rgi_check(bad.stream == &near && bad.memory == NULL &&
              bad.capacity_bytes == 8 && bad.count == 0 && !bad.end);
    gone = near;
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgm_stream_read_pooled(&read.op, &near, pool);
    rgi_check(stage_run(stage, &read) == -EBADF);
    rgi_check(pooled_is_as_prepared(&read.op, &near, pool));
    rgm_stream_read_pooled(&late, &gone, pool);
    rgm_stream_read(&bad, &gone, bytes, 8);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    rgi_check(rgm_call(stage->runtime, &late) == -EPIPE);
    rgi_check(pooled_is_as_prepared(&late, &gone, pool));
    rgi_check(rgm_call(stage->runtime, &bad) == -EPIPE);
    rgi_check(bad.memory == bytes && memcmp(bytes, "as it is", 8) == 0);
    peer_close(peer);
    stage_wait(stage);
    rgm_pool_destroy(pool);
}

/* -------------------------------------------------------------- left alone */

struct forgotten {
    struct rgm_stream *stream;
    struct read_step *reads;
    struct sleep_step *sleeps;
    uint32_t count;
    char byte;
};

static void
begin_and_forget(struct puppet *puppet, void *argument)
{
    struct forgotten *forgotten = argument;

    for (uint32_t i = 0; i < forgotten->count; i++) {
        rgm_stream_read(&forgotten->reads[i].op, forgotten->stream,
                        &forgotten->byte, 1);
        puppet_begin(puppet, &forgotten->reads[i]);
        rgm_sleep_for(&forgotten->sleeps[i].op, rgm_here(puppet),
                      3600 * RGM_NS_PER_S);
        puppet_begin(puppet, &forgotten->sleeps[i]);
    }
}

void
opl_05_neither_awaited_nor_abandoned(struct stage *stage)
{
    enum { EACH = 500 };
    struct rgm_stream near;
    struct forgotten forgotten = {.stream = &near, .count = EACH};
    int peer;

    forgotten.reads = calloc(EACH, sizeof(*forgotten.reads));
    forgotten.sleeps = calloc(EACH, sizeof(*forgotten.sleeps));
    rgi_check(forgotten.reads != NULL && forgotten.sleeps != NULL);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, begin_and_forget, &forgotten);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    peer_close(peer);
    stage_wait(stage); /* the stream was nobody's to close: it is closed too */
    free(forgotten.reads);
    free(forgotten.sleeps);
}

/* ------------------------------------------------------------------- owners */

static void
read_outcomes(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char bytes[4];
    int peer = stage_pair(stage, &near);

    rgm_stream_read(&read.op, &near, bytes, sizeof(bytes));
    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(read.op.memory == bytes && read.op.capacity_bytes == 4);
    peer_send(peer, "ok", 2);
    rgi_check(stage_run(stage, &read) == 0);
    rgi_check(read.op.memory == bytes && read.op.capacity_bytes == 4);
    peer_reset(peer);
    rgi_check(stage_run(stage, &read) == -ECONNRESET);
    rgi_check(read.op.memory == bytes && read.op.capacity_bytes == 4);
    rgi_check(stage_close_stream(stage, &near) == 0);
}

static void
pooled_outcomes(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct pooled_step read = {0};
    struct rgm_stream near;
    int peer = stage_pair(stage, &near);

    rgm_stream_read_pooled(&read.op, &near, pool);
    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(pooled_is_as_prepared(&read.op, &near, pool));
    peer_send(peer, "ok", 2);
    rgi_check(stage_run(stage, &read) == 0 && read.op.pool == pool);
    rgi_check(rgm_lease_active(&read.op.lease));
    rgi_check(rgm_lease_drop(&read.op.lease) == 0);
    peer_reset(peer);
    rgi_check(stage_run(stage, &read) == -ECONNRESET);
    rgi_check(pooled_is_as_prepared(&read.op, &near, pool));
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgm_pool_destroy(pool);
}

static bool
write_holds(const struct rgm_write *write, const void *data, size_t length)
{
    return write->vectors == &write->single && write->vectors_count == 1 &&
           write->single.data == data && write->single.length_bytes == length;
}

static void
write_outcomes(struct stage *stage)
{
    char *bytes = big_new();
    struct write_step write = {0};
    struct rgm_stream near;
    int peer = stage_pair(stage, &near);

    rgm_stream_write(&write.op, &near, bytes, BIG_BYTES);
    write.op.some = true;
    rgi_check(stage_run(stage, &write) == 0);
    rgi_check(write_holds(&write.op, bytes, BIG_BYTES));
    write.op.some = false;
    stage_begin(stage, &write);
    (void)stage_counters(stage);
    stage_cancel(stage, &write);
    rgi_check(stage_end(stage, &write) == -ECANCELED);
    rgi_check(write_holds(&write.op, bytes, BIG_BYTES));
    peer_reset(peer);
    rgi_check(stage_run(stage, &write) < 0);
    rgi_check(write_holds(&write.op, bytes, BIG_BYTES));
    rgi_check(pattern_holds(bytes, BIG_BYTES, 0));
    rgi_check(stage_close_stream(stage, &near) == 0);
    free(bytes);
}

void
opl_06_owner_comes_back_on_every_outcome(struct stage *stage)
{
    stage_open(stage);
    read_outcomes(stage);
    pooled_outcomes(stage);
    write_outcomes(stage);
    stage_close(stage);
}

void
opl_07_short_counts_are_passed_through(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 10);
    struct rgm_read_pooled pooled;
    char *big = big_new();
    struct rgm_stream near;
    struct rgm_write write;
    char bytes[10];
    bool end;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    memset(bytes, '#', sizeof(bytes));
    peer_send(peer, "abc", 3);
    rgi_check(stage_read(stage, &near, bytes, 10, &end) == 3 && !end);
    rgi_check(memcmp(bytes, "abc#######", 10) == 0);
    peer_send(peer, "abc", 3);
    rgm_stream_read_pooled(&pooled, &near, pool);
    rgi_check(rgm_call(stage->runtime, &pooled) == 0);
    rgi_check(pooled.count == 3 && pooled.lease.length_bytes == 3);
    rgi_check(rgm_lease_truncate(&pooled.lease, 10) == -EINVAL);
    rgi_check(rgm_lease_drop(&pooled.lease) == 0);
    rgm_stream_write(&write, &near, big, BIG_BYTES);
    write.some = true;
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count > 0 && write.count < BIG_BYTES);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
    free(big);
}

/* ------------------------------------------------------------------- storm */

enum { STORM_SLEEPS = 32, STORM_READS = 8, STORM_WRITES = 8, STORM_CLOSES = 4 };
enum {
    STORM_RECORDS = STORM_SLEEPS + STORM_READS + STORM_WRITES + STORM_CLOSES
};

/* Operations asked again and again from their answers, and cancelled at
 * random. `out` is what each record should be. */
struct storm {
    struct stage *stage;
    struct puppet *puppet;
    struct rgm_stream *near, *far;
    struct read_step keeper; /* so that no close succeeds */
    struct sleep_step sleeps[STORM_SLEEPS];
    struct read_step reads[STORM_READS];
    struct write_step writes[STORM_WRITES];
    struct close_step closes[STORM_CLOSES];
    struct rgm_request *records[STORM_RECORDS];
    bool out[STORM_RECORDS];
    char bytes[16];
    uint64_t random, left;
    uint64_t cancels, cancelled;
    uint32_t running;
    bool over;
};

static struct storm *storm_now; /* one at a time */

static void storm_answered(struct rgm_actor *self, struct rgm_request *request);

static size_t
storm_index(const struct storm *storm, const struct rgm_request *request)
{
    size_t i = 0;

    while (storm->records[i] != request)
        i++;
    return i;
}

static void
storm_ask(struct storm *storm, size_t i)
{
    uint64_t random = next_random(&storm->random);

    if (i < STORM_SLEEPS)
        rgm_sleep_for(&storm->sleeps[i].op, rgm_here(storm->puppet),
                      random % 100000);
    storm->out[i] = true;
    storm->left--;
    storm->running++;
    rgm_ask_request(&storm->puppet->actor, storm->records[i], storm_answered);
}

static void
storm_cancel_some(struct storm *storm)
{
    while (next_random(&storm->random) % 3 != 0) {
        size_t i = next_random(&storm->random) % STORM_RECORDS;

        if (!storm->out[i])
            continue;
        storm->cancels++;
        rgm_cancel_request(&storm->puppet->actor, storm->records[i]);
    }
}

static void
storm_answered(struct rgm_actor *self, struct rgm_request *request)
{
    struct storm *storm = storm_now;
    size_t i = storm_index(storm, request);

    (void)self;
    rgi_check(storm->out[i]); /* asked once, answered once */
    storm->out[i] = false;
    storm->running--;
    storm->cancelled += rgm_request_status(request) == -ECANCELED;
    if (storm->left > 0)
        storm_ask(storm, i);
    if (storm->left > 0)
        storm_cancel_some(storm);
    else
        for (size_t j = 0; j < STORM_RECORDS; j++)
            if (storm->out[j])
                rgm_cancel_request(self, storm->records[j]);
    pthread_mutex_lock(&storm->stage->lock);
    storm->over = storm->running == 0;
    pthread_cond_broadcast(&storm->stage->answered);
    pthread_mutex_unlock(&storm->stage->lock);
}

static void
storm_prepare(struct storm *storm)
{
    size_t n = 0;

    for (size_t i = 0; i < STORM_SLEEPS; i++)
        storm->records[n++] = &storm->sleeps[i].op.request;
    for (size_t i = 0; i < STORM_READS; i++) {
        rgm_stream_read(&storm->reads[i].op, storm->near, storm->bytes, 16);
        storm->records[n++] = &storm->reads[i].op.request;
    }
    for (size_t i = 0; i < STORM_WRITES; i++) {
        rgm_stream_write(&storm->writes[i].op, storm->far, "x", 1);
        storm->records[n++] = &storm->writes[i].op.request;
    }
    for (size_t i = 0; i < STORM_CLOSES; i++) {
        rgm_stream_close(&storm->closes[i].op, storm->far);
        storm->records[n++] = &storm->closes[i].op.request;
    }
}

static void
storm_begin(struct puppet *puppet, void *argument)
{
    struct storm *storm = argument;

    storm->puppet = puppet;
    storm_prepare(storm);
    rgm_stream_read(&storm->keeper.op, storm->far, storm->bytes, 1);
    puppet_begin(puppet, &storm->keeper);
    for (size_t i = 0; i < STORM_RECORDS; i++)
        storm_ask(storm, i);
}

void
opl_08_one_answer_for_each_ask(struct stage *stage)
{
    struct storm *storm = calloc(1, sizeof(*storm));
    struct rgm_stream near, far;

    rgi_check(storm != NULL);
    storm_now = storm;
    storm->stage = stage;
    storm->near = &near;
    storm->far = &far;
    storm->random = rgi_seed();
    storm->left = rgi_scale(10000000);
    stage_open(stage);
    stage_pair_own(stage, &near, &far);
    stage_do(stage, storm_begin, storm);
    pthread_mutex_lock(&stage->lock);
    while (!storm->over)
        pthread_cond_wait(&stage->answered, &stage->lock);
    pthread_mutex_unlock(&stage->lock);
    (void)stage_counters(stage); /* a second answer would have come by now */
    fprintf(stderr, "# %llu cancels, %llu cancelled\n",
            (unsigned long long)storm->cancels,
            (unsigned long long)storm->cancelled);
    rgi_check(storm->cancelled > 0 && storm->cancelled < storm->cancels);
    stage_cancel(stage, &storm->keeper);
    rgi_check(stage_end(stage, &storm->keeper) == -ECANCELED);
    rgi_check(stage_in_flight(stage) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &far) == 0);
    stage_close(stage);
    free(storm);
}

/* ------------------------------------------------------ runtimes and handles */

void
opl_10_handle_of_another_runtime_is_refused(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct stage other = {.class = stage->class, .spied = true};
    struct one_of_each all;
    struct rgm_stream near;
    char byte;
    int peer;

    stage_init(&other);
    stage_open(stage);
    stage_open(&other);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    prepare_all(&all, stage, &near, pool);
    rgi_check(rgm_call(other.runtime, &all.accept) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.read) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.pooled) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.write) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.set) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.get) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.names) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.shutdown) == -EINVAL);
    rgi_check(rgm_call(other.runtime, &all.close) == -EINVAL);
    rgi_check(submits(&other) == 0);
    stage_read_all(stage, &near, &byte, 1); /* nothing has happened to it */
    peer_expect_nothing(peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_close(&other);
    stage_deinit(&other);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

struct kinds {
    uint64_t set; /* 0: leave them */
    uint64_t were;
};

static void
change_kinds(struct puppet *puppet, void *argument)
{
    struct kinds *kinds = argument;
    struct rgm_provider *provider = spy_of(puppet->number)->provider;

    kinds->were = provider->kinds;
    provider->kinds = kinds->set;
}

void
opl_12_reading_is_a_capability_by_itself(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct kinds reads = {.set = UINT64_C(1) << RGM_OP_READ};
    struct rgm_stream near, before;
    struct one_of_each all;
    char bytes[4];
    bool end;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, change_kinds, &reads);
    before = near;
    prepare_all(&all, stage, &near, pool);
    rgi_check(rgm_call(stage->runtime, &all.listen) == -ENOTSUP);
    rgi_check(rgm_call(stage->runtime, &all.accept) == -ENOTSUP);
    rgi_check(rgm_call(stage->runtime, &all.connect) == -ENOTSUP);
    rgi_check(rgm_call(stage->runtime, &all.pooled) == -ENOTSUP);
    rgi_check(rgm_call(stage->runtime, &all.write) == -ENOTSUP);
    rgi_check(rgm_call(stage->runtime, &all.names) == -ENOTSUP);
    rgi_check(rgm_call(stage->runtime, &all.close) == -ENOTSUP);
    rgi_check(memcmp(&before, &near, sizeof(near)) == 0);
    peer_send(peer, "word", 4); /* a protocol that only reads */
    stage_read_all(stage, &near, bytes, 4);
    rgi_check(memcmp(bytes, "word", 4) == 0);
    peer_shutdown(peer);
    rgi_check(stage_read(stage, &near, bytes, 4, &end) == 0 && end);
    reads.set = reads.were;
    stage_do(stage, change_kinds, &reads);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

void
opl_14_concurrent_operations_have_no_order(struct stage *stage)
{
    char *bytes = big_new();
    struct write_step big = {0}, small = {0};
    struct rgm_socket_option option;
    struct rgm_names names;
    struct rgm_stream near;
    size_t received = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_write(&big.op, &near, bytes, BIG_BYTES);
    rgm_stream_write(&small.op, &near, "!", 1);
    stage_begin(stage, &big);
    (void)stage_counters(stage);
    stage_begin(stage, &small);
    /* Control operations do not wait for either. */
    rgm_socket_get(&option, &near.socket, RGM_OPTION_NO_DELAY);
    rgi_check(rgm_call(stage->runtime, &option) == 0);
    rgm_socket_names(&names, &near.socket);
    rgi_check(rgm_call(stage->runtime, &names) == 0);
    rgi_check(stage_is_out(stage, &big));
    while (received < BIG_BYTES + 1) { /* wherever the one byte is */
        char piece[4096];
        size_t left = BIG_BYTES + 1 - received;
        size_t count = left < sizeof(piece) ? left : sizeof(piece);

        peer_receive(peer, piece, count);
        received += count;
    }
    rgi_check(stage_end(stage, &big) == 0 && big.op.count == BIG_BYTES);
    rgi_check(stage_end(stage, &small) == 0 && small.op.count == 1);
    for (size_t i = 0; i < 200; i++) /* awaited: in order */
        rgi_check(stage_write(stage, &near, bytes + i * 7, 7) == 0);
    peer_receive(peer, bytes, 1400);
    rgi_check(pattern_holds(bytes, 1400, 0));
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    free(bytes);
}

/* --------------------------------------------------------------- a departure */

/* An actor that plays something, under a scope that is cancelled: it has begun
 * to stop. */
struct quitter {
    struct rgm_actor actor;
    struct departure *departure;
};

struct departure {
    struct stage *stage;
    void (*play)(struct rgm_actor *self, struct departure *departure);
    void *argument;
    rgm_answer_function *then; /* after each answer */
    struct rgm_stream *leaves; /* dropped as the last thing */
    struct rgm_actor *actor;
    uint32_t asked, answered;
    bool over; /* under the stage's lock */
};

RGM_FACTORY(quitter, departure, quitter_make);
RGM_HOOK(quitter, quitter_started);
RGM_HOOK(quitter, quitter_stopped);

static const struct rgm_behaviour quitter_behaviour = {
    .name = "quitter",
    .size_bytes = sizeof(struct quitter),
    .factory = RGM_MAKE(quitter, quitter_make),
    .started = RGM_DO(quitter, quitter_started),
    .stopped = RGM_DO(quitter, quitter_stopped),
};

static struct departure *departure_now; /* one at a time */

static int
quitter_make(struct quitter *self, const struct departure *argument)
{
    (void)argument;
    self->departure = departure_now;
    return 0;
}

static void
quitter_started(struct quitter *self)
{
    self->departure->actor = &self->actor;
    rgm_stop(self);
    self->departure->play(&self->actor, self->departure);
}

static void
quitter_stopped(struct quitter *self)
{
    struct stage *stage = self->departure->stage;
    struct rgm_stream *leaves = self->departure->leaves;

    if (leaves != NULL) {
        rgi_check(rgm_stream_drop(self, leaves) == 0);
        rgi_check(!leaves->socket.open);
        rgi_check(rgm_stream_drop(self, leaves) == 0); /* nothing is open */
    }
    pthread_mutex_lock(&stage->lock);
    self->departure->over = true;
    pthread_cond_broadcast(&stage->answered);
    pthread_mutex_unlock(&stage->lock);
}

static void
departure_answered(struct rgm_actor *self, struct rgm_request *request)
{
    struct departure *departure = ((struct quitter *)(void *)self)->departure;

    departure->answered++;
    if (departure->then != NULL)
        departure->then(self, request);
}

static void
departure_ask(struct departure *departure, struct rgm_request *request)
{
    departure->asked++;
    rgm_ask_request(departure->actor, request, departure_answered);
}

/* Spawns it and waits until it has stopped. */
static void
depart(struct departure *departure)
{
    struct stage *stage = departure->stage;
    struct rgm_address address;

    departure_now = departure;
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &quitter_behaviour, NULL,
                                &address) == 0);
    pthread_mutex_lock(&stage->lock);
    while (!departure->over)
        pthread_cond_wait(&stage->answered, &stage->lock);
    pthread_mutex_unlock(&stage->lock);
    rgi_check(departure->asked == departure->answered);
}

struct last_words {
    struct rgm_read read;
    struct rgm_shutdown shutdown;
    struct rgm_close close, close_listener;
    char byte;
};

static void
clean_up(struct rgm_actor *self, struct departure *departure)
{
    struct last_words *words = departure->argument;

    (void)self;
    departure_ask(departure, &words->read.request);
    departure_ask(departure, &words->shutdown.request);
}

/* The shutdown has been answered; only then nothing is out on the stream. */
static void
clean_up_more(struct rgm_actor *self, struct rgm_request *request)
{
    struct departure *departure = ((struct quitter *)(void *)self)->departure;
    struct last_words *words = departure->argument;

    if (request == &words->shutdown.request) {
        departure_ask(departure, &words->close.request);
        departure_ask(departure, &words->close_listener.request);
    }
}

void
opl_15_cleanup_works_while_all_else_is_cancelled(struct stage *stage)
{
    struct read_step reads[8] = {0};
    struct rgm_stream busy, near;
    struct last_words words;
    struct departure departure = {.stage = stage,
                                  .play = clean_up,
                                  .then = clean_up_more,
                                  .argument = &words};
    char bytes[8];
    int busy_peer, peer;

    stage->options.in_flight_max = 8;
    stage_open(stage);
    busy_peer = stage_pair(stage, &busy);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    for (int i = 0; i < 8; i++) { /* ordinary capacity is used up */
        rgm_stream_read(&reads[i].op, &busy, &bytes[i], 1);
        stage_begin(stage, &reads[i]);
    }
    rgm_stream_read(&words.read, &near, &words.byte, 1);
    rgm_stream_shutdown(&words.shutdown, &near);
    rgm_stream_close(&words.close, &near);
    rgm_listener_close(&words.close_listener, &stage->listener);
    depart(&departure);
    rgi_check(departure.answered == 4);
    rgi_check(rgm_status(&words.read) == -ECANCELED);
    rgi_check(rgm_status(&words.shutdown) == 0);
    rgi_check(rgm_status(&words.close) == 0);
    rgi_check(rgm_status(&words.close_listener) == 0);
    peer_expect_end(peer);
    for (int i = 0; i < 8; i++) {
        stage_cancel(stage, &reads[i]);
        rgi_check(stage_end(stage, &reads[i]) == -ECANCELED);
    }
    rgi_check(stage_close_stream(stage, &busy) == 0);
    peer_close(busy_peer);
    peer_close(peer);
    stage_close(stage);
}

static void
leave_at_once(struct rgm_actor *self, struct departure *departure)
{
    (void)self;
    (void)departure;
}

/* An actor that is stopped from outside has no answer left to close in. */
void
dropped_in_stopped_is_closed(struct stage *stage)
{
    struct rgm_stream near;
    struct departure departure = {
        .stage = stage, .play = leave_at_once, .leaves = &near};
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    depart(&departure);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
}

static void
close_and_leave(struct rgm_actor *self, struct departure *departure)
{
    struct last_words *words = departure->argument;

    departure_ask(departure, &words->close.request);
    rgm_runtime_stop(departure->stage->runtime);
    (void)self;
}

void
opl_16_cleanup_survives_who_asked(struct stage *stage)
{
    struct rgm_stream near;
    struct last_words words;
    struct departure departure = {
        .stage = stage, .play = close_and_leave, .argument = &words};
    int peer, ours, other;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    ours = descriptor_of_peer(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    rgm_stream_close(&words.close, &near);
    depart(&departure); /* it stops, and so does the runtime */
    rgi_check(rgm_status(&words.close) == 0);
    other = fcntl(peer, F_DUPFD_CLOEXEC, ours); /* the number is free ... */
    rgi_check(other == ours);
    peer_close(peer);
    stage->descriptors++;
    stage_wait(stage);
    rgi_check(fcntl(other, F_GETFD) >= 0); /* ... and was closed only once */
    peer_close(other);
}

/* ---------------------------------------------------- answered or admitted */

enum { CLEANUPS = 2 };

struct cleaning {
    struct rgm_stream streams[CLEANUPS + 2];
    struct close_step close;
};

/* All in one delivery, so that none is over in between. */
static void
fill_up_and_close(struct puppet *puppet, void *argument)
{
    struct cleaning *cleaning = argument;
    struct rgm_stream *over = &cleaning->streams[CLEANUPS];
    struct rgm_stream before = *over;

    for (int i = 0; i < CLEANUPS; i++)
        rgi_check(rgm_stream_drop(puppet, &cleaning->streams[i]) == 0);
    rgi_check(rgm_stream_drop(puppet, over) == -EAGAIN);
    rgi_check(memcmp(over, &before, sizeof(before)) == 0);
    /* The other form needs no admission: it has memory of its own. */
    rgm_stream_close(&cleaning->close.op, &cleaning->streams[CLEANUPS + 1]);
    puppet_begin(puppet, &cleaning->close);
}

static void
drop_the_rest(struct puppet *puppet, void *argument)
{
    struct cleaning *cleaning = argument;

    rgi_check(rgm_stream_drop(puppet, &cleaning->streams[CLEANUPS]) == 0);
}

/* With its one place taken a ring, too, closes by a plain call, which can be
 * made to fail. */
void
opl_17_clean_up_is_answered_or_only_admitted(struct stage *stage)
{
    struct cleaning cleaning = {0};
    struct read_step read = {0};
    struct rgm_stream busy;
    int peers[CLEANUPS + 2];
    int busy_peer;
    char byte;

    stage->options.cleanups_max = CLEANUPS;
    stage->options.in_flight_max = 1;
    stage_open(stage);
    busy_peer = stage_pair(stage, &busy);
    for (int i = 0; i < CLEANUPS + 2; i++)
        peers[i] = stage_pair(stage, &cleaning.streams[i]);
    rgm_stream_read(&read.op, &busy, &byte, 1);
    stage_begin(stage, &read);
    shim_close_fail(descriptor_of_peer(peers[CLEANUPS + 1]), EIO);
    stage_do(stage, fill_up_and_close, &cleaning);
    rgi_check(stage_end(stage, &cleaning.close) == -EIO);
    rgi_check(shim_closes() == 1);
    shim_close_fail(-1, 0);
    for (int i = 0; i < CLEANUPS; i++)
        peer_expect_end(peers[i]);
    while (stage_counters(stage).in_flight > 1) /* but for the read */
        continue;
    stage_do(stage, drop_the_rest, &cleaning);
    for (int i = 0; i < CLEANUPS + 2; i++) {
        rgi_check(cleaning.streams[i].socket.open == 0);
        peer_expect_end(peers[i]);
        peer_close(peers[i]);
    }
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &busy) == 0);
    peer_close(busy_peer);
    stage_close(stage);
}

struct submitting {
    struct rgm_stream *stream;
    struct rgm_file *file;
};

static void
submit_each(struct puppet *puppet, void *argument)
{
    struct submitting *submitting = argument;
    struct rgm_file_advise advise;
    struct rgm_shutdown shutdown;
    struct rgm_close close;
    struct rgm_sleep sleep;
    struct rgm_stream none = {0};

    rgm_stream_shutdown(&shutdown, submitting->stream);
    rgi_check(rgm_submit_cleanup(puppet, &shutdown) == 0);
    rgm_file_advise(&advise, submitting->file, RGM_FILE_ADVISE_SEQUENTIAL, 0,
                    0);
    rgi_check(rgm_submit_cleanup(puppet, &advise) == 0);
    rgi_check(rgm_submit_cleanup(puppet, &advise) == -EAGAIN);
    rgm_stream_close(&close, submitting->stream);
    rgi_check(rgm_submit_cleanup(puppet, &close) < 0); /* full, or busy yet */
    rgm_stream_shutdown(&shutdown, &none);
    rgi_check(rgm_submit_cleanup(puppet, &shutdown) == -EBADF);
    rgm_file_advise(&advise, submitting->file, (enum rgm_file_advice)77, 0, 0);
    rgi_check(rgm_submit_cleanup(puppet, &advise) == -EINVAL);
    rgm_sleep_for(&sleep, rgm_here(puppet), 1);
    rgi_check(rgm_submit_cleanup(puppet, &sleep) == -EINVAL);
}

static void
submit_closes(struct puppet *puppet, void *argument)
{
    struct submitting *submitting = argument;
    struct rgm_close close;

    rgm_stream_close(&close, submitting->stream);
    rgi_check(rgm_submit_cleanup(puppet, &close) == 0);
    rgi_check(rgm_submit_cleanup(puppet, &close) == -EBADF);
    rgm_file_close(&close, submitting->file);
    rgi_check(rgm_submit_cleanup(puppet, &close) == 0);
}

/* One that has been reset cannot be shut down: one form says so. */
static void
half_close_of_a_reset(struct stage *stage)
{
    struct rgm_stream near;
    int peer = stage_pair(stage, &near);
    char byte;
    bool end;

    peer_reset(peer);
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == -ECONNRESET);
    rgi_check(stage_shutdown(stage, &near) == -ENOTCONN);
    rgi_check(stage_close_stream(stage, &near) == 0);
}

void
opl_17_half_close_and_advice_need_no_answer(struct stage *stage)
{
    char path[] = "/tmp/ringmail-advice-XXXXXX";
    struct rgm_file file = {0};
    struct rgm_stream near;
    struct submitting submitting = {&near, &file};
    struct rgm_file_open open;
    int fd = mkstemp(path);
    int peer;

    rgi_check(fd >= 0);
    close(fd);
    stage->options.cleanups_max = CLEANUPS;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_file_open(&open, rgm_worker_address(0), &file, path, RGM_FILE_READ, 0);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    stage_do(stage, submit_each, &submitting);
    peer_expect_end(peer);
    peer_send(peer, "x", 1); /* half of it is open still */
    while (stage_busy(stage, &near) > 0 || stage_counters(stage).in_flight > 0)
        continue;
    stage_do(stage, submit_closes, &submitting);
    half_close_of_a_reset(stage);
    rgi_check(unlink(path) == 0);
    peer_close(peer);
    stage_close(stage);
}

static void
ask_read(struct rgm_actor *self, struct departure *departure)
{
    struct last_words *words = departure->argument;

    (void)self;
    departure_ask(departure, &words->read.request);
}

void
opl_18_checks_come_before_the_first_attempt(struct stage *stage)
{
    struct rgm_stream near;
    struct rgm_read read;
    struct last_words words;
    struct departure departure = {
        .stage = stage, .play = ask_read, .argument = &words};
    int peer, ours, queued = 0;
    char byte;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    ours = descriptor_of_peer(peer);
    peer_send(peer, "x", 1);
    while (queued == 0)
        rgi_check(ioctl(ours, FIONREAD, &queued) == 0);
    rgm_stream_read(&read, &near, NULL, 10);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgm_stream_read(&words.read, &near, &words.byte, 1);
    depart(&departure);
    rgi_check(rgm_status(&words.read) == -ECANCELED);
    rgi_check(ioctl(ours, FIONREAD, &queued) == 0 && queued == 1);
    stage_read_all(stage, &near, &byte, 1);
    rgi_check(byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

static void
ask_everything(struct rgm_actor *self, struct departure *departure)
{
    struct rgm_request *requests[ORDINARY_COUNT];
    size_t count = ordinary_of(departure->argument, requests);

    (void)self;
    rgi_check(count == ORDINARY_COUNT);
    for (size_t i = 0; i < count; i++)
        departure_ask(departure, requests[i]);
}

void
can_14_cancelled_scope_submits_nothing(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct rgm_request *requests[ORDINARY_COUNT];
    struct one_of_each all, before;
    struct departure departure = {
        .stage = stage, .play = ask_everything, .argument = &all};
    struct rgm_stream near;
    uint64_t submitted;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    prepare_all(&all, stage, &near, pool);
    before = all;
    submitted = submits(stage);
    depart(&departure);
    rgi_check(submits(stage) == submitted);
    rgi_check(departure.answered == ordinary_of(&all, requests));
    for (size_t i = 0; i < ORDINARY_COUNT; i++)
        rgi_check(rgm_request_status(requests[i]) == -ECANCELED);
    rgi_check(all.read.memory == before.read.memory);
    rgi_check(all.pooled.pool == pool && !rgm_lease_active(&all.pooled.lease));
    rgi_check(write_holds(&all.write, all.bytes, sizeof(all.bytes)));
    rgi_check(all.accept.stream == &all.fresh && all.fresh.socket.open == 0);
    rgi_check(rgm_pool_free_count(pool) == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------- misuse, costs */

static void
call_here(struct puppet *puppet, void *argument)
{
    struct rgm_sleep sleep;
    int *status = argument;

    rgm_sleep_for(&sleep, rgm_here(puppet), 1);
    *status = rgm_call(puppet->stage->runtime, &sleep);
}

void
opl_19_blocking_wait_on_a_worker_is_refused(struct stage *stage)
{
    int status = 0;

    stage_open(stage);
    stage_do(stage, call_here, &status);
    rgi_check(status == -EDEADLK);
    stage_close(stage);
}

static void
guest_answer(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

void
opl_21_runtime_outlives_its_handles(struct stage *stage)
{
    struct rgm_guest guest;
    struct rgm_stream near;
    struct rgm_read read;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    rgm_stream_read(&read, &near, &byte, 1);
    rgm_ask_request(&guest.actor, &read.request, guest_answer);
    rgi_check(rgm_runtime_destroy(stage->runtime) == -EBUSY);
    peer_send(peer, "x", 1);
    rgi_check(rgm_guest_wait(&guest) == 1);
    rgi_check(rgm_status(&read) == 0 && read.count == 1);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_stop(stage);
    for (uint32_t i = 0; i < stage->options.workers; i++)
        (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[i]);
    rgi_check(rgm_runtime_wait(stage->runtime) == 0);
    rgi_check(rgm_runtime_destroy(stage->runtime) == -EBUSY); /* the guest */
    rgm_guest_close(&guest);
    /* Ended: the handle leads nowhere, and says so. */
    rgi_check(rgm_call(stage->runtime, &read) == -EPIPE);
    rgi_check(rgm_runtime_destroy(stage->runtime) == 0);
    stage->runtime = NULL;
    peer_close(peer);
    rgi_check(descriptors_open() == stage->descriptors);
}

static void
exchange(struct stage *stage, struct rgm_stream *near, int peer,
         uint32_t rounds)
{
    struct write_step write = {0};
    struct read_step read = {0};
    char byte;

    for (uint32_t i = 0; i < rounds; i++) {
        peer_send(peer, "x", 1);
        rgm_stream_read(&read.op, near, &byte, 1);
        rgi_check(stage_run(stage, &read) == 0);
        rgm_stream_write(&write.op, near, &byte, 1);
        rgi_check(stage_run(stage, &write) == 0);
        peer_receive(peer, &byte, 1);
    }
}

void
opl_22_no_allocation_and_one_indirect_call(struct stage *stage)
{
    const uint32_t rounds = 100 + (uint32_t)rgi_scale(20000);
    struct rgm_stream near;
    uint64_t before, submitted;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    exchange(stage, &near, peer, 100); /* warm */
    submitted = submits(stage);
    before = shim_allocations();
    exchange(stage, &near, peer, rounds);
    rgi_check(shim_allocations() == before);
    rgi_check(submits(stage) == submitted + 2 * rounds);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* ----------------------------------------------------------- eight at a time */

struct user {
    pthread_t thread;
    struct stage *stage;
    struct rgm_pool *pool;
    uint32_t rounds;
};

/* Accepts its own stream from the one listener, reads into the one pool. */
static void
use_once(struct user *user)
{
    struct stage *stage = user->stage;
    struct rgm_read_pooled read;
    struct rgm_accept accept;
    struct rgm_stream stream = {0};
    struct rgm_sleep sleep;
    int peer = peer_connect(&stage->endpoint);

    peer_send(peer, "mine", 4);
    rgm_stream_accept(&accept, &stage->listener, &stream);
    rgi_check(rgm_call(stage->runtime, &accept) == 0);
    rgm_stream_read_pooled(&read, &stream, user->pool);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 4 && memcmp(read.lease.data, "mine", 4) == 0);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
    rgm_sleep_for(&sleep, rgm_worker_address(0), 1000);
    rgi_check(rgm_call(stage->runtime, &sleep) == 0);
    rgi_check(stage_close_stream(stage, &stream) == 0);
    peer_close(peer);
}

static void *
user_main(void *argument)
{
    struct user *user = argument;

    for (uint32_t i = 0; i < user->rounds; i++)
        use_once(user);
    return NULL;
}

void
opl_24_used_by_eight_threads_at_once(struct stage *stage)
{
    enum { USERS = 8 };
    struct rgm_pool *pool = pool_of(3, 16);
    struct user users[USERS];

    stage_open(stage);
    stage_listen(stage);
    for (int i = 0; i < USERS; i++) {
        users[i] = (struct user){.stage = stage,
                                 .pool = pool,
                                 .rounds = 5 + (uint32_t)rgi_scale(1000)};
        rgi_check(
            pthread_create(&users[i].thread, NULL, user_main, &users[i]) == 0);
    }
    for (int i = 0; i < USERS; i++)
        rgi_check(pthread_join(users[i].thread, NULL) == 0);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(pool) == 3);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------------- cancel */

/* The cancel has returned; the work goes on and its memory is still in use. */
void
can_06_cancel_says_nothing_about_the_end(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, order_hold_cancels, NULL);
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &read) && stage_busy(stage, &near) == 1);
    peer_send(peer, "x", 1);
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(read.op.count == 1 && byte == 'x');
    stage_do(stage, order_let_go, NULL);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
can_15_progress_beats_a_cancel(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (int cancel_first = 0; cancel_first < 2; cancel_first++) {
        stage_do(stage, order_hold_cancels, NULL);
        stage_do(stage, order_hold_completions, NULL);
        rgm_stream_read(&read.op, &near, &byte, 1);
        stage_begin(stage, &read);
        if (cancel_first)
            stage_cancel(stage, &read);
        peer_send(peer, "x", 1);
        order_await(stage, 1);
        if (!cancel_first)
            stage_cancel(stage, &read);
        rgi_check(stage_is_out(stage, &read));
        stage_do(stage, order_let_go, NULL);
        rgi_check(stage_end(stage, &read) == 0 && read.op.count == 1);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

static void
answer_next(struct puppet *puppet, void *argument)
{
    struct spy *spy = spy_of(puppet->number);

    spy->answers = true;
    spy->answer = *(const int *)argument;
}

void
can_16_cancelled_is_not_interrupted(struct stage *stage)
{
    int errors[] = {-EINTR, -ECONNRESET, -EHOSTUNREACH, -ENOBUFS, -EIO};
    struct read_step read = {0};
    struct rgm_stream near;
    char byte;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        rgm_stream_read(&read.op, &near, &byte, 1);
        stage_do(stage, answer_next, &errors[i]);
        rgi_check(stage_run(stage, &read) == errors[i]);
    }
    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------------- memory */

void
buf_02_only_the_bytes_of_the_transfer(struct stage *stage)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct rgm_stream near;
    char *pages, *memory;
    char bytes[16];
    bool end;
    int peer;

    pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rgi_check(pages != MAP_FAILED);
    rgi_check(mprotect(pages + page, page, PROT_NONE) == 0);
    memory = pages + page - 8; /* nothing may touch what is behind it */
    memset(pages, '#', page);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "012", 3);
    rgi_check(stage_read(stage, &near, memory, 8, &end) == 3);
    rgi_check(memcmp(memory, "012#####", 8) == 0);
    peer_send(peer, "0123456789abc", 13);
    stage_read_all(stage, &near, memory, 8);
    rgi_check(memcmp(memory - 8, "########01234567", 16) == 0);
    rgi_check(stage_write(stage, &near, memory, 8) == 0);
    peer_receive(peer, bytes, 8);
    rgi_check(memcmp(bytes, "01234567", 8) == 0);
    peer_expect_nothing(peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgi_check(munmap(pages, 2 * page) == 0);
}

struct counted {
    struct rgm_block block;
    unsigned released;
};

static void
counted_release(struct rgm_block *block)
{
    ((struct counted *)(void *)block)->released++;
}

/* An owner of one's own is held by a view as long as the write is out. */
static void
write_counted(struct stage *stage, struct rgm_stream *near, const char *big,
              bool cancel, int expected)
{
    struct counted counted = {.released = 0};
    struct write_step write = {0};
    struct rgm_view view;
    int status;

    rgm_block_init(&counted.block, counted_release);
    view = rgm_view_of(&counted.block, big, cancel ? BIG_BYTES : 10);
    rgm_block_drop(&counted.block);
    rgm_stream_write(&write.op, near, view.data, view.length_bytes);
    stage_begin(stage, &write);
    if (cancel) {
        (void)stage_counters(stage);
        stage_cancel(stage, &write);
    }
    rgi_check(counted.released == 0);
    status = stage_end(stage, &write);
    rgi_check(status == expected);
    rgi_check(counted.released == 0);
    rgm_view_drop(&view);
    rgi_check(counted.released == 1);
}

void
owners_are_released_once_whatever_happens(struct stage *stage)
{
    char *big = big_new();
    struct rgm_stream near;
    char byte;
    bool end;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    write_counted(stage, &near, big, false, 0);
    write_counted(stage, &near, big, true, -ECANCELED);
    peer_reset(peer);
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == -ECONNRESET);
    write_counted(stage, &near, big, false, -EPIPE);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
    free(big);
}

/* A block whose release, run by the last drop, asks, cancels, sends and gives a
 * slot back. */
struct meddler {
    struct rgm_block block;
    struct puppet *puppet;
    struct sleep_step *begins, *ends;
    struct rgm_lease lease;
    struct note *note;
    unsigned released;
};

struct note {
    struct rgm_message message;
};
RGM_MESSAGE_RETURNED(note, note_returned);

static uint32_t notes_returned; /* worker 0's */

static void
note_returned(struct note *note, int status)
{
    (void)note;
    rgi_check(status == -ENOSYS); /* a puppet does not know it */
    notes_returned++;
}

static void
meddler_release(struct rgm_block *block)
{
    struct meddler *meddler = (struct meddler *)(void *)block;
    struct puppet *puppet = meddler->puppet;

    meddler->released++;
    puppet_begin(puppet, meddler->begins);
    rgm_cancel_request(&puppet->actor, &meddler->ends->op.request);
    rgi_check(rgm_lease_drop(&meddler->lease) == 0);
    rgi_check(rgm_send(puppet, rgm_self(puppet), meddler->note) == 0);
}

static void
meddle(struct puppet *puppet, void *argument)
{
    struct meddler *meddler = argument;
    struct rgm_view view;

    meddler->puppet = puppet;
    meddler->note = note_take(&puppet->actor, 0);
    rgi_check(meddler->note != NULL);
    rgm_sleep_for(&meddler->begins->op, rgm_here(puppet), 1);
    rgm_sleep_for(&meddler->ends->op, rgm_here(puppet), 3600 * RGM_NS_PER_S);
    puppet_begin(puppet, meddler->ends);
    rgm_block_init(&meddler->block, meddler_release);
    view = rgm_view_of(&meddler->block, "x", 1);
    rgm_block_drop(&meddler->block);
    rgm_view_drop(&view);
}

static void
look_returned(struct puppet *puppet, void *argument)
{
    (void)puppet;
    *(uint32_t *)argument = notes_returned;
}

void
buf_06_release_may_use_the_runtime(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct sleep_step begins = {0}, ends = {0};
    struct meddler meddler = {.begins = &begins, .ends = &ends};
    struct pooled_step read = {0};
    struct rgm_stream near;
    uint32_t returned = 0;
    int peer;

    notes_returned = 0;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "data", 4);
    rgi_check(rgm_pool_try_acquire(pool, &meddler.lease) == 0);
    rgm_stream_read_pooled(&read.op, &near, pool);
    stage_begin(stage, &read); /* gets the slot that is given back */
    stage_do(stage, meddle, &meddler);
    rgi_check(meddler.released == 1);
    rgi_check(stage_end(stage, &begins) == 0);
    rgi_check(stage_end(stage, &ends) == -ECANCELED);
    rgi_check(stage_end(stage, &read) == 0 && read.op.count == 4);
    rgi_check(rgm_lease_drop(&read.op.lease) == 0);
    while (returned == 0)
        stage_do(stage, look_returned, &returned);
    rgi_check(returned == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}
