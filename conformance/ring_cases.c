/* SPDX-License-Identifier: MIT */

/* ring_cases.c - what must the ring provider show besides? */

#include "conformance/ring_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <ringmail/deadline.h>

#include "conformance/order.h"
#include "conformance/scratch.h"
#include "conformance/shim.h"

/* Many reads of one stream, asked and cancelled in one delivery each. */
struct reads {
    struct rgm_stream *stream;
    struct read_step *steps;
    uint32_t count;
    char byte;
};

static void
begin_reads(struct puppet *puppet, void *argument)
{
    struct reads *reads = argument;

    for (uint32_t i = 0; i < reads->count; i++) {
        rgm_stream_read(&reads->steps[i].op, reads->stream, &reads->byte, 1);
        puppet_begin(puppet, &reads->steps[i]);
    }
}

static void
cancel_reads(struct puppet *puppet, void *argument)
{
    struct reads *reads = argument;

    for (uint32_t i = 0; i < reads->count; i++)
        rgm_cancel_request(&puppet->actor, &reads->steps[i].op.request);
}

static void *
wait_main(void *argument)
{
    rgi_check(rgm_runtime_wait(argument) == 0);
    return NULL;
}

/* One actor waits for a listener and a hundred connections. A connection that
 * speaks costs an entry when it is asked again, and nobody else one. */
void
srd_19_waking_for_one_repeats_no_other(struct stage *stage)
{
    enum { CONNECTIONS = 100, FEW = 5 };
    struct rgm_stream streams[CONNECTIONS], fresh = {0};
    struct read_step steps[CONNECTIONS] = {0};
    struct accept_step accept = {0};
    struct rgm_counters before, after;
    int peers[CONNECTIONS], peer;
    char bytes[CONNECTIONS];

    stage_open(stage);
    for (int i = 0; i < CONNECTIONS; i++) {
        peers[i] = stage_pair(stage, &streams[i]);
        rgm_stream_read(&steps[i].op, &streams[i], &bytes[i], 1);
        stage_begin(stage, &steps[i]);
    }
    rgm_stream_accept(&accept.op, &stage->listener, &fresh);
    stage_begin(stage, &accept);
    before = stage_counters(stage);
    for (int i = 0; i < CONNECTIONS; i++) {
        peer_send(peers[i], "x", 1);
        rgi_check(stage_end(stage, &steps[i]) == 0);
    }
    after = stage_counters(stage);
    rgi_check(after.entries_submitted - before.entries_submitted <= FEW);
    for (int i = 0; i < CONNECTIONS; i++) {
        stage_begin(stage, &steps[i]);
        peer_send(peers[i], "x", 1);
        rgi_check(stage_end(stage, &steps[i]) == 0);
    }
    before = stage_counters(stage);
    rgi_check(before.entries_submitted - after.entries_submitted <=
              CONNECTIONS + FEW);
    rgi_check(stage_is_out(stage, &accept));
    peer = peer_connect(&stage->endpoint);
    rgi_check(stage_end(stage, &accept) == 0);
    rgi_check(stage_close_stream(stage, &fresh) == 0);
    peer_close(peer);
    for (int i = 0; i < CONNECTIONS; i++) {
        rgi_check(stage_close_stream(stage, &streams[i]) == 0);
        peer_close(peers[i]);
    }
    stage_close(stage);
}

/* A read that waits, then the message it waits for: into a pool as into memory
 * that is one entry, which has tried before it waited. */
void
srd_24_a_pooled_read_costs_one_entry_a_message(struct stage *stage)
{
    enum { MESSAGES = 200, FEW = 5 };
    struct rgm_pool *pool = pool_of(64, 16);
    struct pooled_step read = {0};
    struct rgm_counters before;
    struct rgm_stream near;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    before = stage_counters(stage);
    for (int i = 0; i < MESSAGES; i++) {
        rgm_stream_read_pooled(&read.op, &near, pool);
        if (i % 4 == 0)
            peer_send(peer, "x", 1); /* or it is there already */
        stage_begin(stage, &read);
        if (i % 4 != 0) {
            (void)stage_counters(stage); /* it is in the kernel */
            peer_send(peer, "x", 1);
        }
        rgi_check(stage_end(stage, &read) == 0 && read.op.count == 1);
        rgi_check(rgm_lease_drop(&read.op.lease) == 0);
    }
    rgi_check(stage_counters(stage).entries_submitted -
                  before.entries_submitted <=
              MESSAGES + FEW);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

static uint32_t
threads_now(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    uint32_t count = 0;
    char line[256];

    rgi_check(status != NULL);
    while (fgets(line, sizeof(line), status) != NULL)
        if (strncmp(line, "Threads:", 8) == 0)
            count = (uint32_t)strtoul(line + 8, NULL, 10);
    fclose(status);
    rgi_check(count > 0);
    return count;
}

static int64_t
count_threads(struct rgm_job *job)
{
    (void)job;
    return threads_now();
}

/* Threads while each of so many workers has had a job done. */
static uint32_t
census(struct stage *stage, uint32_t workers)
{
    uint32_t most = 0;

    stage->options.workers = workers;
    stage->options.workers_max = 0;
    stage->options.job_threads = 2;
    stage_open(stage);
    for (uint32_t i = 0; i < 2 * workers; i++) {
        struct rgm_job job;

        rgm_job_run(&job, rgm_worker_address(i % workers), count_threads);
        rgi_check(rgm_call(stage->runtime, &job) == 0);
        if ((uint32_t)job.result > most)
            most = (uint32_t)job.result;
    }
    stage_close(stage);
    return most;
}

/* What rings do not do is done by one pool of threads, however many there are:
 * another worker is another thread, and that is all. */
void
urg_21_rings_share_one_fallback(struct stage *stage)
{
    uint32_t before = threads_now();
    uint32_t one = census(stage, 1);
    uint32_t sixteen = census(stage, 16);

    rgi_check(one >= before + 2 && sixteen >= before + 17);
    /* Of the pool's two threads and the one for clean-up any may be there. */
    rgi_check(one <= before + 1 + 3);
    rgi_check(sixteen <= before + 16 + 3);
}

/* A hundred reads that no cancel has reached yet: the worker goes on. */
void
urg_23_close_turns_until_all_are_out(struct stage *stage)
{
    enum { READS = 100 };
    const struct timespec a_while = {0, 30 * 1000 * 1000};
    struct reads reads = {.count = READS};
    struct rgm_stream near;
    pthread_t waiter;
    int peer;

    reads.steps = calloc(READS, sizeof(*reads.steps));
    reads.stream = &near;
    rgi_check(reads.steps != NULL);
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, begin_reads, &reads);
    stage_do(stage, order_hold_cancels, NULL);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    rgi_check(pthread_create(&waiter, NULL, wait_main, stage->runtime) == 0);
    stage_do(stage, cancel_reads, &reads); /* asked, and not passed on */
    nanosleep(&a_while, NULL);
    for (uint32_t i = 0; i < READS; i++)
        rgi_check(stage_is_out(stage, &reads.steps[i]));
    stage_do(stage, order_release_cancels, NULL);
    for (uint32_t i = 0; i < READS; i++)
        rgi_check(stage_end(stage, &reads.steps[i]) == -ECANCELED);
    (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]);
    rgi_check(pthread_join(waiter, NULL) == 0);
    peer_close(peer);
    stage_wait(stage);
    free(reads.steps);
}

static void
guest_answer(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    rgi_check(rgm_request_status(request) == -EPIPE);
}

/* Two are in the kernel, the others stand in line when the runtime ends. */
void
urg_25_queue_is_handed_back_before_the_end(struct stage *stage)
{
    enum { READS = 20 };
    struct rgm_read reads[READS];
    struct rgm_guest guest;
    struct rgm_stream near;
    char byte;
    int peer;

    stage->spied = true;
    stage->options.in_flight_max = 2;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    for (int i = 0; i < READS; i++) {
        rgm_stream_read(&reads[i], &near, &byte, 1);
        rgm_ask_request(&guest.actor, &reads[i].request, guest_answer);
    }
    rgi_check(stage_in_flight(stage) == READS);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    while (rgm_guest_wait(&guest) > 0)
        continue;
    rgm_guest_close(&guest);
    peer_close(peer);
    stage_wait(stage);
    rgi_check(spy_of(0)->closed && spy_of(0)->left == 0);
}

/* Two reads have both places; what they wait for is to be written by two that
 * stand in line. A deadline passes, one read is cancelled, and all is well. */
void
urg_26_two_places_and_four_operations(struct stage *stage)
{
    struct read_step reads[2] = {0};
    struct write_step writes[2] = {0};
    struct sleep_step deadline = {0};
    struct rgm_stream near, far;
    char bytes[2];

    stage->options.in_flight_max = 2;
    stage_open(stage);
    stage_pair_own(stage, &near, &far);
    for (int i = 0; i < 2; i++) {
        rgm_stream_read(&reads[i].op, &near, &bytes[i], 1);
        stage_begin(stage, &reads[i]);
    }
    for (int i = 0; i < 2; i++) {
        rgm_stream_write(&writes[i].op, &far, "x", 1);
        stage_begin(stage, &writes[i]);
    }
    rgm_sleep_for(&deadline.op, rgm_worker_address(0), 20 * RGM_NS_PER_MS);
    rgi_check(stage_run(stage, &deadline) == 0);
    for (int i = 0; i < 2; i++)
        rgi_check(stage_is_out(stage, &reads[i]) &&
                  stage_is_out(stage, &writes[i])); /* stuck */
    stage_cancel(stage, &reads[0]);
    rgi_check(stage_end(stage, &reads[0]) == -ECANCELED);
    rgi_check(stage_end(stage, &writes[0]) == 0);
    rgi_check(stage_end(stage, &writes[1]) == 0);
    rgi_check(stage_end(stage, &reads[1]) == 0 && reads[1].op.count == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &far) == 0);
    stage_close(stage);
}

/* Reads that are asked when their moment has come, or before. */
struct hurry {
    struct read_step *step;
    struct rgm_deadline at;
    uint64_t after_ns;
};

static void
make_moment(struct puppet *puppet, void *argument)
{
    struct hurry *hurry = argument;

    hurry->at = rgm_deadline_in(puppet, 0);
}

static void
begin_in_a_hurry(struct puppet *puppet, void *argument)
{
    struct hurry *hurry = argument;

    if (hurry->at.at_ns != 0)
        rgm_expire_at(&hurry->step->op, hurry->at);
    else
        rgm_expire_after(&hurry->step->op, hurry->after_ns);
    puppet_begin(puppet, hurry->step);
}

static uint64_t
entries_of(struct stage *stage)
{
    return stage_counters(stage).entries_submitted;
}

/* Nothing of it is ever staged, whichever worker asks: not even where it could
 * be answered at once. */
void
tmr_22_expired_before_staging_takes_no_entry(struct stage *stage)
{
    struct read_step step = {0};
    struct hurry hurry = {&step, {0}, 0};
    struct rgm_stream near;
    uint64_t entries;
    char byte;
    int peer;

    stage->options.workers = 2;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    stage_do(stage, make_moment, &hurry);
    entries = entries_of(stage);
    for (uint32_t worker = 0; worker < 2; worker++) {
        rgm_stream_read(&step.op, &near, &byte, 1);
        stage_do_on(stage, worker, begin_in_a_hurry, &hurry);
        rgi_check(stage_end(stage, &step) == -ETIMEDOUT);
    }
    rgi_check(entries_of(stage) == entries);
    rgm_stream_read(&step.op, &near, &byte, 1);
    rgi_check(stage_run(stage, &step) == 0 && byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* Its own entry, and one that cancels it. A worker that is kept from running until
 * the time is over stages neither; so it is asked until it was in time. */
void
tmr_22_in_flight_costs_one_cancel(struct stage *stage)
{
    struct read_step step = {0};
    struct hurry hurry = {&step, {0}, RGM_NS_PER_MS};
    struct rgm_stream near;
    uint64_t entries, before;
    unsigned tries = 100;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    entries = entries_of(stage);
    do {
        rgi_check(tries-- > 0);
        before = entries;
        rgm_stream_read(&step.op, &near, &byte, 1);
        stage_do(stage, begin_in_a_hurry, &hurry);
        rgi_check(stage_end(stage, &step) == -ETIMEDOUT);
        entries = entries_of(stage);
    } while (entries == before);
    rgi_check(entries == before + 2);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* In line for room in the kernel, which it never sees. */
void
tmr_22_queued_ends_without_the_kernel(struct stage *stage)
{
    struct read_step first = {0}, second = {0};
    struct hurry hurry = {&second, {0}, RGM_NS_PER_MS};
    struct rgm_stream near;
    uint64_t entries;
    char bytes[2];
    int peer;

    stage->options.in_flight_max = 1;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read(&first.op, &near, &bytes[0], 1);
    stage_begin(stage, &first);
    entries = entries_of(stage);
    rgm_stream_read(&second.op, &near, &bytes[1], 1);
    stage_do(stage, begin_in_a_hurry, &hurry);
    rgi_check(stage_end(stage, &second) == -ETIMEDOUT);
    rgi_check(entries_of(stage) == entries);
    peer_send(peer, "x", 1);
    rgi_check(stage_end(stage, &first) == 0 && bytes[0] == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* Each is cancelled by one entry; none is lost. */
void
urg_27_more_cancels_than_entries(struct stage *stage)
{
    enum { READS = 1000, FEW = 20 };
    struct reads reads = {.count = READS};
    struct rgm_counters before, after;
    struct rgm_stream near;
    int peer;

    reads.steps = calloc(READS, sizeof(*reads.steps));
    reads.stream = &near;
    rgi_check(reads.steps != NULL);
    stage->options.ring_entries = 8;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, begin_reads, &reads);
    before = stage_counters(stage);
    rgi_check(before.in_flight == READS);
    stage_do(stage, cancel_reads, &reads);
    for (uint32_t i = 0; i < READS; i++)
        rgi_check(stage_end(stage, &reads.steps[i]) == -ECANCELED);
    after = stage_counters(stage);
    rgi_check(after.entries_submitted - before.entries_submitted >= READS);
    rgi_check(after.entries_submitted - before.entries_submitted < READS + FEW);
    rgi_check(after.in_flight == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    free(reads.steps);
}

/* Reads into memory and into a pool in turn, each of which has to wait. */
void
waiting_reads_allocate_nothing(struct stage *stage)
{
    const uint64_t rounds = 100 + rgi_scale(100000);
    struct rgm_pool *pool = pool_of(16, 64);
    struct pooled_step pooled = {0};
    struct read_step read = {0};
    struct rgm_stream near;
    uint64_t allocations = 0;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (uint64_t i = 0; i < rounds; i++) {
        if (i == 50) /* warm */
            allocations = shim_allocations();
        rgm_stream_read(&read.op, &near, &byte, 1);
        stage_begin(stage, &read);
        peer_send(peer, "x", 1);
        rgi_check(stage_end(stage, &read) == 0 && byte == 'x');
        rgm_stream_read_pooled(&pooled.op, &near, pool);
        stage_begin(stage, &pooled);
        peer_send(peer, "y", 1);
        rgi_check(stage_end(stage, &pooled) == 0 && pooled.op.count == 1);
        rgi_check(rgm_lease_drop(&pooled.op.lease) == 0);
    }
    rgi_check(shim_allocations() == allocations);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* --------------------------------------------------------------- to the end */

STEP(file_write_step, rgm_file_write);
STEP(file_read_step, rgm_file_read);
STEP(file_sync_step, rgm_file_sync);

/* The one place in the kernel is a stream's read; all else stands in line. */
struct in_line {
    struct scratch scratch;
    struct rgm_file file;
    struct rgm_stream near;
    struct read_step holds; /* has the place */
    struct read_step reads; /* network */
    struct file_read_step looks;
    struct file_write_step write;
    struct file_sync_step sync;
    char byte, other, memory[8];
    int peer;
};

static void
line_begin(struct puppet *puppet, void *argument)
{
    struct in_line *line = argument;

    rgm_stream_read(&line->holds.op, &line->near, &line->byte, 1);
    puppet_begin(puppet, &line->holds);
    rgm_file_write_at(&line->write.op, &line->file, "written", 7, 0);
    line->write.op.to_the_end = true;
    puppet_begin(puppet, &line->write);
    rgm_file_sync(&line->sync.op, &line->file);
    line->sync.op.to_the_end = true;
    puppet_begin(puppet, &line->sync);
    rgm_file_read_at(&line->looks.op, &line->file, line->memory, 8, 0);
    puppet_begin(puppet, &line->looks);
    rgm_stream_read(&line->reads.op, &line->near, &line->other, 1);
    puppet_begin(puppet, &line->reads);
}

static void
line_open(struct stage *stage, struct in_line *line)
{
    *line = (struct in_line){.peer = -1};
    stage->options.in_flight_max = 1;
    scratch_open(stage, &line->scratch);
    file_open_both(stage, &line->scratch, &line->file);
    line->peer = stage_pair(stage, &line->near);
    stage_do(stage, line_begin, line);
    (void)stage_counters(stage);
}

/* Whatever else is cancelled ends in line, and has let go of its memory while
 * nothing has moved. */
void
urg_28_registered_writes_are_carried_out(struct stage *stage)
{
    struct in_line line;

    line_open(stage, &line);
    stage_cancel(stage, &line.write);
    stage_cancel(stage, &line.sync);
    stage_cancel(stage, &line.looks);
    stage_cancel(stage, &line.reads);
    rgi_check(stage_end(stage, &line.looks) == -ECANCELED);
    rgi_check(stage_end(stage, &line.reads) == -ECANCELED);
    rgi_check(stage_is_out(stage, &line.write));
    rgi_check(stage_is_out(stage, &line.sync));
    rgi_check(stage_is_out(stage, &line.holds));
    rgi_check(scratch_holds(line.scratch.path, ""));
    peer_send(line.peer, "x", 1); /* and the place is free */
    rgi_check(stage_end(stage, &line.holds) == 0);
    rgi_check(stage_end(stage, &line.write) == 0);
    rgi_check(line.write.op.count == 7);
    rgi_check(stage_end(stage, &line.sync) == 0);
    rgi_check(scratch_holds(line.scratch.path, "written"));
    rgi_check(file_close(stage, &line.file) == 0);
    rgi_check(stage_close_stream(stage, &line.near) == 0);
    peer_close(line.peer);
    scratch_close(stage, &line.scratch);
}

static uint32_t let_go; /* atomic: records that were released */

static void
line_release(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
    __atomic_add_fetch(&let_go, 1, __ATOMIC_ACQ_REL);
}

static void
line_leave(struct puppet *puppet, void *argument)
{
    struct in_line *line = argument;
    struct rgm_request *given_up[] = {&line->write.op.request,
                                      &line->sync.op.request,
                                      &line->looks.op.request,
                                      &line->reads.op.request};

    for (int i = 0; i < 4; i++)
        rgi_check(rgm_leave_request_to(&puppet->actor, given_up[i],
                                       line_release) == 0);
}

/* Nobody waits for any of them. The reads are told to stop and released at once,
 * in line as they are; the writes are when they are done. */
void
urg_28_given_up_in_line_a_write_is_carried_out(struct stage *stage)
{
    struct in_line line;

    __atomic_store_n(&let_go, 0, __ATOMIC_RELEASE);
    line_open(stage, &line);
    stage_do(stage, line_leave, &line);
    while (__atomic_load_n(&let_go, __ATOMIC_ACQUIRE) < 2)
        (void)stage_counters(stage);
    rgi_check(rgm_status(&line.looks.op) == -ECANCELED);
    rgi_check(rgm_status(&line.reads.op) == -ECANCELED);
    rgi_check(stage_is_out(stage, &line.holds));
    rgi_check(scratch_holds(line.scratch.path, ""));
    peer_send(line.peer, "x", 1);
    while (__atomic_load_n(&let_go, __ATOMIC_ACQUIRE) < 4)
        (void)stage_counters(stage);
    rgi_check(rgm_status(&line.write.op) == 0 && line.write.op.count == 7);
    rgi_check(rgm_status(&line.sync.op) == 0);
    rgi_check(scratch_holds(line.scratch.path, "written"));
    rgi_check(stage_end(stage, &line.holds) == 0);
    rgi_check(file_close(stage, &line.file) == 0);
    rgi_check(stage_close_stream(stage, &line.near) == 0);
    peer_close(line.peer);
    scratch_close(stage, &line.scratch);
}

static void
ask_to_leave(struct puppet *puppet, void *argument)
{
    rgm_ask_request(&puppet->actor, argument, line_release);
}

static void
leave(struct puppet *puppet, void *argument)
{
    rgi_check(rgm_leave_request_to(&puppet->actor, argument, line_release) ==
              0);
}

/* In the kernel, what is left is told to stop: nothing ever comes. */
static void
left_is_cancelled(struct stage *stage, struct rgm_request *request)
{
    struct rgm_counters before, after;

    __atomic_store_n(&let_go, 0, __ATOMIC_RELEASE);
    stage_do(stage, ask_to_leave, request);
    before = stage_counters(stage);
    rgi_check(before.in_flight == 1);
    stage_do(stage, leave, request);
    while (__atomic_load_n(&let_go, __ATOMIC_ACQUIRE) == 0)
        (void)stage_counters(stage);
    rgi_check(request->message.status == -ECANCELED);
    after = stage_counters(stage);
    rgi_check(after.entries_submitted == before.entries_submitted + 1);
    rgi_check(after.in_flight == 0);
}

void
urg_28_a_read_that_is_left_is_cancelled(struct stage *stage)
{
    struct rgm_stream near;
    struct rgm_read read;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read(&read, &near, &byte, 1);
    left_is_cancelled(stage, &read.request);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
urg_19_a_wait_that_is_left_is_cancelled(struct stage *stage)
{
    struct rgm_stream near;
    struct rgm_await await;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_socket_await(&await, &near.socket, RGM_READABLE);
    left_is_cancelled(stage, &await.request);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* Its asker is stopped, and its worker stops: the rest is cancelled, it is not. */
void
urg_28_writes_in_line_outlive_asker_and_worker(struct stage *stage)
{
    struct in_line line;

    line_open(stage, &line);
    stage_stop(stage);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]) == 0);
    rgi_check(rgm_runtime_wait(stage->runtime) == 0);
    rgi_check(rgm_status(&line.holds.op) == -ECANCELED);
    rgi_check(rgm_status(&line.looks.op) == -ECANCELED);
    rgi_check(rgm_status(&line.reads.op) == -ECANCELED);
    rgi_check(rgm_status(&line.write.op) == 0 && line.write.op.count == 7);
    rgi_check(rgm_status(&line.sync.op) == 0);
    rgi_check(scratch_holds(line.scratch.path, "written"));
    peer_close(line.peer);
    rgi_check(rgm_runtime_destroy(stage->runtime) == 0);
    stage->runtime = NULL;
    rgi_check(descriptors_open() == stage->descriptors);
    rgi_check(unlink(line.scratch.path) == 0);
    rgi_check(rmdir(line.scratch.directory) == 0);
}
