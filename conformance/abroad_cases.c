/* SPDX-License-Identifier: MIT */

/*
 * abroad_cases.c - what must every provider show of a handle that an actor of
 * another runtime uses?
 *
 * The stage owns the handles, and is all that carries anything out; the guest has
 * the actors that ask.
 */

#include "conformance/abroad_cases.h"

#include <stdlib.h>
#include <unistd.h>

#include <ringmail/detach.h>
#include <ringmail/file_lane.h>
#include <ringmail/raw.h>
#include <ringmail/receiver.h>
#include <ringmail/transfer.h>

#define GUEST_WORKERS 2

STEP(attach_step, rgm_attach);
STEP(detach_step, rgm_detach);
STEP(file_job_step, rgm_file_job);
STEP(next_step, rgm_next);
STEP(exact_step, rgm_exact);
STEP(submit_step, rgm_submit);
STEP(flush_step, rgm_flush);
STEP(file_read_step, rgm_file_read);
STEP(file_write_step, rgm_file_write);
STEP(file_stat_step, rgm_file_stat);
STEP(packet_read_step, rgm_packet_read);
STEP(packet_write_step, rgm_packet_write);
STEP(receiver_step, rgm_receiver);
STEP(received_step, rgm_received);

/* Asks on a worker of the guest's, and waits. */
#define ask_from(guest, worker, step)                                          \
    (stage_begin_on((guest), (worker), (step)), stage_end((guest), (step)))

static void
guest_open(struct stage *stage, struct stage *guest)
{
    *guest = (struct stage){.class = stage->class};
    guest->options.workers = GUEST_WORKERS;
    stage_init(guest);
    stage_open(guest);
}

static void
guest_close(struct stage *guest)
{
    stage_close(guest);
    stage_deinit(guest);
}

/* Nothing was carried out by the guest. */
static void
check_untouched(struct stage *guest)
{
    struct rgm_counters counters = stage_counters(guest);

    rgi_check(counters.operations == 0 && counters.completions == 0);
}

/* ------------------------------------------------------------------- streams */

static void
use_from(struct stage *stage, struct stage *guest, uint32_t worker)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct rgm_stream near;
    struct read_step read = {0};
    struct pooled_step pooled = {0};
    struct write_step write = {0};
    struct option_step set = {0}, get = {0};
    struct names_step names = {0};
    struct shutdown_step shutdown = {0};
    struct close_step close = {0};
    uint64_t before;
    char bytes[4];
    int own, peer = stage_pair(stage, &near);

    before = stage_counters(stage).operations;
    rgm_stream_read(&read.op, &near, bytes, 1);
    stage_begin_on(guest, worker, &read);
    peer_send(peer, "abc", 3);
    rgi_check(stage_end(guest, &read) == 0 && read.op.count == 1);
    rgi_check(bytes[0] == 'a');
    rgm_stream_read_pooled(&pooled.op, &near, pool);
    rgi_check(ask_from(guest, worker, &pooled) == 0);
    rgi_check(pooled.op.count == 2);
    rgi_check(memcmp(pooled.op.lease.data, "bc", 2) == 0);
    rgi_check(rgm_lease_drop(&pooled.op.lease) == 0);
    rgm_stream_write(&write.op, &near, "de", 2);
    rgi_check(ask_from(guest, worker, &write) == 0 && write.op.count == 2);
    peer_receive(peer, bytes, 2);
    rgi_check(memcmp(bytes, "de", 2) == 0);
    rgm_socket_set(&set.op, &near.socket, RGM_OPTION_NO_DELAY, 0);
    rgi_check(ask_from(guest, worker, &set) == 0);
    rgm_socket_get(&get.op, &near.socket, RGM_OPTION_NO_DELAY);
    rgi_check(ask_from(guest, worker, &get) == 0 && get.op.value == 0);
    rgm_socket_names(&names.op, &near.socket);
    own = rgm_call(stage->runtime, &names.op); /* not every provider has it */
    rgm_socket_names(&names.op, &near.socket);
    rgi_check(ask_from(guest, worker, &names) == own);
    rgm_stream_shutdown(&shutdown.op, &near);
    rgi_check(ask_from(guest, worker, &shutdown) == 0);
    peer_expect_end(peer);
    rgi_check(stage_busy(stage, &near) == 0);
    rgm_stream_close(&close.op, &near);
    rgi_check(ask_from(guest, worker, &close) == 0);
    rgi_check(near.socket.open == 0);
    rgi_check(stage_counters(stage).operations == before + 9);
    peer_close(peer);
    rgm_pool_destroy(pool);
}

void
opl_11_a_stream_is_used_by_another_runtime(struct stage *stage)
{
    struct stage guest;

    stage_open(stage);
    guest_open(stage, &guest);
    for (uint32_t i = 0; i < GUEST_WORKERS; i++)
        use_from(stage, &guest, i);
    check_untouched(&guest);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
}

/* What is accepted is the listener's runtime's, and is used by both; a lease of that
 * one's storage is whoever's. */
void
opl_11_a_listener_accepts_for_another_runtime(struct stage *stage)
{
    struct stage guest;
    struct rgm_stream near = {0};
    struct accept_step accept = {0};
    struct pooled_step pooled = {0};
    char byte;
    int peer;

    stage_open(stage);
    guest_open(stage, &guest);
    stage_listen(stage);
    rgm_stream_accept(&accept.op, &stage->listener, &near);
    stage_begin_on(&guest, 1, &accept);
    peer = peer_connect(&stage->endpoint);
    rgi_check(stage_end(&guest, &accept) == 0 && near.socket.open == 1);
    peer_send(peer, "x", 1);
    stage_read_all(stage, &near, &byte, 1);
    peer_send(peer, "y", 1);
    rgm_stream_read_pooled(&pooled.op, &near, NULL);
    rgi_check(ask_from(&guest, 1, &pooled) == 0 && pooled.op.count == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    check_untouched(&guest);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
    rgi_check(memcmp(pooled.op.lease.data, "y", 1) == 0);
    rgi_check(rgm_lease_drop(&pooled.op.lease) == 0);
}

void
opl_11_a_cancelled_read_loses_nothing(struct stage *stage)
{
    struct stage guest;
    struct rgm_stream near;
    struct read_step read = {0};
    char byte = 0;
    int peer;

    stage_open(stage);
    guest_open(stage, &guest);
    peer = stage_pair(stage, &near);
    for (uint32_t i = 0; i < GUEST_WORKERS; i++) {
        step_clear(&read);
        rgm_stream_read(&read.op, &near, &byte, 1);
        stage_begin_on(&guest, i, &read);
        while (stage_busy(stage, &near) == 0)
            continue;
        stage_cancel_on(&guest, i, &read);
        rgi_check(stage_end(&guest, &read) == -ECANCELED);
        rgi_check(stage_busy(stage, &near) == 0);
        step_clear(&read);
        rgm_stream_read(&read.op, &near, &byte, 1);
        rgm_expire_after(&read.op, RGM_NS_PER_MS);
        rgi_check(ask_from(&guest, i, &read) == -ETIMEDOUT);
    }
    peer_send(peer, "x", 1);
    stage_read_all(stage, &near, &byte, 1);
    rgi_check(byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
}

/* The guest's first: its read is cancelled, and the stream is as it was. Then the
 * stream's: the read is told, and its asker goes on. */
void
opl_11_the_stop_of_either_ends_it(struct stage *stage)
{
    struct stage first, second;
    struct rgm_stream near;
    struct read_step read = {0};
    char byte = 0;
    int peer;

    guest_open(stage, &second);
    stage_open(stage);
    guest_open(stage, &first);
    stage_listen(stage);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_listen(stage);
    first.descriptors++;
    peer = stage_pair(stage, &near);
    first.descriptors += 2;
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin_on(&first, 1, &read);
    guest_close(&first);
    rgi_check(read.track.answered == 1 && rgm_status(&read.op) == -ECANCELED);
    peer_send(peer, "x", 1);
    stage_read_all(stage, &near, &byte, 1);
    step_clear(&read);
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin_on(&second, 1, &read);
    while (stage_busy(stage, &near) == 0)
        continue;
    stage_stop(stage);
    rgi_check(stage_end(&second, &read) == -EPIPE);
    peer_close(peer);
    stage_wait(stage);
    step_clear(&read);
    rgm_stream_read(&read.op, &near, &byte, 1);
    rgi_check(ask_from(&second, 1, &read) == -EINVAL);
    guest_close(&second);
}

static void
drop_it(struct puppet *puppet, void *argument)
{
    rgi_check(rgm_stream_drop(puppet, (struct rgm_stream *)argument) == 0);
}

void
opl_11_what_is_dropped_is_closed_by_its_own(struct stage *stage)
{
    struct stage guest;
    struct rgm_stream near;
    int peer;

    stage_open(stage);
    guest_open(stage, &guest);
    peer = stage_pair(stage, &near);
    stage_do_on(&guest, 1, drop_it, &near);
    peer_expect_end(peer);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
}

/* It lasts, and is the asker's to end; where there are none, that is the answer. */
void
opl_11_a_receiver_fills_the_pool_of_another_runtime(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(4, 16);
    struct stage guest;
    struct rgm_stream near;
    struct receiver_step receiver = {0};
    struct received_step received = {0};
    int peer, got;

    stage_open(stage);
    guest_open(stage, &guest);
    peer = stage_pair(stage, &near);
    rgm_stream_receive(&receiver.op, &near, pool);
    stage_begin_on(&guest, 1, &receiver);
    rgm_receiver_next(&received.op, &receiver.op);
    stage_begin_on(&guest, 1, &received);
    peer_send(peer, "abc", 3);
    got = stage_end(&guest, &received);
    rgi_check(got == 0 || got == -ENOTSUP);
    if (got == 0) {
        rgi_check(received.op.count == 3);
        rgi_check(memcmp(received.op.view.data, "abc", 3) == 0);
        rgm_view_drop(&received.op.view);
        rgi_check(stage_is_out(&guest, &receiver));
        stage_cancel_on(&guest, 1, &receiver);
    }
    rgi_check(stage_end(&guest, &receiver) == (got == 0 ? -ECANCELED : got));
    check_untouched(&guest);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* Taken from its runtime by an actor of the other, which has it from then on. */
void
opl_11_a_connection_moves_over(struct stage *stage)
{
    struct stage guest;
    struct rgm_stream near, own = {0};
    struct detach_step detach = {0};
    struct attach_step attach = {0};
    struct read_step read = {0};
    char byte = 0;
    int peer;

    stage_open(stage);
    guest_open(stage, &guest);
    peer = stage_pair(stage, &near);
    rgm_stream_detach(&detach.op, &near);
    rgi_check(ask_from(&guest, 1, &detach) == 0 && near.socket.open == 0);
    check_untouched(&guest);
    rgm_stream_attach(&attach.op, rgm_worker_address(1), &own,
                      &detach.op.detached);
    rgi_check(ask_from(&guest, 1, &attach) == 0);
    peer_send(peer, "x", 1);
    rgm_stream_read(&read.op, &own, &byte, 1);
    rgi_check(ask_from(&guest, 1, &read) == 0 && byte == 'x');
    rgi_check(stage_counters(&guest).operations == 2);
    rgi_check(stage_close_stream(&guest, &own) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
}

/* -------------------------------------------------------------------- halves */

struct halves {
    struct rgm_stream *stream;
    struct rgm_pool *pool;
    struct rgm_reader reader;
    struct rgm_writer writer;
};

static void
open_halves(struct puppet *puppet, void *argument)
{
    struct halves *halves = argument;
    const struct rgm_reader_options options = {halves->pool, 0};

    rgi_check(rgm_reader_open(puppet, halves->stream, &options,
                              &halves->reader) == 0);
    rgi_check(rgm_writer_open(puppet, halves->stream, &halves->writer) == 0);
}

static void
drop_halves(struct puppet *puppet, void *argument)
{
    struct halves *halves = argument;

    rgi_check(rgm_reader_drop(puppet, &halves->reader) == 0);
    rgi_check(rgm_writer_drop(puppet, &halves->writer) == 0);
}

/* Opened where the stream is, they are asked from anywhere. */
void
opl_11_readers_and_writers_are_used(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(4, 16);
    struct stage guest;
    struct rgm_stream near;
    struct halves halves = {.stream = &near, .pool = pool};
    struct next_step next = {0};
    struct exact_step exact = {0};
    struct submit_step submit = {0};
    struct flush_step flush = {0};
    struct rgm_view view = {.data = "ghi", .length_bytes = 3};
    char bytes[4];
    int peer;

    stage_open(stage);
    guest_open(stage, &guest);
    peer = stage_pair(stage, &near);
    stage_do(stage, open_halves, &halves);
    rgm_reader_next(&next.op, &halves.reader);
    stage_begin_on(&guest, 1, &next);
    stage_cancel_on(&guest, 1, &next);
    rgi_check(stage_end(&guest, &next) == -ECANCELED);
    step_clear(&next);
    rgm_reader_next(&next.op, &halves.reader);
    stage_begin_on(&guest, 1, &next);
    peer_send(peer, "abc", 3);
    rgi_check(stage_end(&guest, &next) == 0 && next.op.count == 3);
    rgi_check(memcmp(next.op.data, "abc", 3) == 0);
    rgi_check(rgm_lease_drop(&next.op.lease) == 0);
    rgm_reader_exact(&exact.op, &halves.reader, bytes, 4);
    stage_begin_on(&guest, 0, &exact);
    peer_send(peer, "de", 2);
    peer_send(peer, "fg", 2);
    rgi_check(stage_end(&guest, &exact) == 0);
    rgi_check(memcmp(bytes, "defg", 4) == 0);
    rgm_writer_submit(&submit.op, &halves.writer, &view);
    rgi_check(ask_from(&guest, 1, &submit) == 0);
    rgm_writer_flush(&flush.op, &halves.writer);
    rgi_check(ask_from(&guest, 0, &flush) == 0);
    peer_receive(peer, bytes, 3);
    rgi_check(memcmp(bytes, "ghi", 3) == 0);
    check_untouched(&guest);
    stage_do(stage, drop_halves, &halves);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* --------------------------------------------------------- packets and files */

static void
use_packets(struct stage *stage, struct stage *guest)
{
    struct rgm_packet packet = {0};
    struct rgm_packet_open open;
    struct rgm_endpoint local = loopback();
    struct packet_write_step write = {0};
    struct packet_read_step read = {0};
    struct close_step close = {0};
    char bytes[4];

    rgm_packet_open(&open, rgm_worker_address(0), &packet, &local, NULL);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    rgm_packet_read(&read.op, &packet, bytes, sizeof(bytes), 0);
    stage_begin_on(guest, 1, &read);
    rgm_packet_write(&write.op, &packet, "abc", 3, &open.local);
    rgi_check(ask_from(guest, 0, &write) == 0);
    rgi_check(stage_end(guest, &read) == 0 && read.op.count == 3);
    rgi_check(memcmp(bytes, "abc", 3) == 0);
    rgm_packet_close(&close.op, &packet);
    rgi_check(ask_from(guest, 1, &close) == 0);
}

static int64_t
length_of(struct rgm_job *job)
{
    return lseek(((const struct rgm_file_job *)(const void *)job)->descriptor,
                 0, SEEK_END);
}

/* A new one, open on the stage. */
static void
file_make(struct stage *stage, struct rgm_file *file, char *path,
          size_t path_bytes)
{
    struct rgm_file_open open;
    int descriptor;

    scratch_path(path, path_bytes, "abroad");
    descriptor = mkstemp(path);
    rgi_check(descriptor >= 0 && close(descriptor) == 0);
    rgm_file_open(&open, rgm_worker_address(0), file, path,
                  RGM_FILE_READ | RGM_FILE_WRITE, 0);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
}

static void
use_files(struct stage *stage, struct stage *guest)
{
    struct rgm_file file = {0};
    struct file_write_step write = {0};
    struct file_read_step read = {0};
    struct file_stat_step stat = {0};
    struct file_job_step job = {0};
    struct close_step end = {0};
    char path[256], bytes[4];

    file_make(stage, &file, path, sizeof(path));
    rgm_file_write_all_at(&write.op, &file, "abc", 3, 1);
    rgi_check(ask_from(guest, 1, &write) == 0 && write.op.count == 3);
    rgm_file_read_at(&read.op, &file, bytes, 4, 1);
    rgi_check(ask_from(guest, 0, &read) == 0 && read.op.count == 3);
    rgi_check(memcmp(bytes, "abc", 3) == 0);
    rgm_file_stat(&stat.op, &file);
    rgi_check(ask_from(guest, 1, &stat) == 0);
    rgm_file_job(&job.op, &file, length_of);
    rgi_check(ask_from(guest, 0, &job) == 0 && job.op.job.result == 4);
    rgm_file_close(&end.op, &file);
    rgi_check(ask_from(guest, 1, &end) == 0);
    rgi_check(unlink(path) == 0);
}

void
opl_11_packets_and_files_are_used(struct stage *stage)
{
    struct stage guest;

    stage_open(stage);
    guest_open(stage, &guest);
    use_packets(stage, &guest);
    use_files(stage, &guest);
    check_untouched(&guest);
    guest_close(&guest);
    stage_close(stage);
}

struct at_once {
    struct rgm_stream *stream;
    struct rgm_file *file;
};

/* On the worker that has the number of the handles' own. */
static void
try_at_once(struct puppet *puppet, void *argument)
{
    struct at_once *at_once = argument;
    const struct rgm_reader_options options = {NULL, 0};
    struct rgm_file_share *share = NULL;
    struct rgm_reader reader = {0};
    struct rgm_writer writer = {0};
    struct rgm_raw raw;
    size_t count = 0;
    bool end = false;
    char byte;

    rgi_check(rgm_reader_open(puppet, at_once->stream, &options, &reader) ==
              -EINVAL);
    rgi_check(rgm_writer_open(puppet, at_once->stream, &writer) == -EINVAL);
    rgi_check(rgm_stream_try_read(puppet, at_once->stream, &byte, 1, 0, &count,
                                  &end) == -EINVAL);
    rgi_check(rgm_raw_borrow(puppet, &at_once->stream->socket, &raw) ==
              -EINVAL);
    rgi_check(rgm_file_share(puppet, at_once->file, &share) == -EINVAL);
}

/* What does not wait for an answer cannot go anywhere. */
void
opl_11_what_is_done_in_the_call_stays_at_home(struct stage *stage)
{
    struct stage guest;
    struct rgm_stream near;
    struct rgm_file file = {0};
    struct at_once at_once = {&near, &file};
    struct rgm_close end;
    char path[256];
    int peer;

    stage_open(stage);
    guest_open(stage, &guest);
    peer = stage_pair(stage, &near);
    file_make(stage, &file, path, sizeof(path));
    stage_do_on(&guest, 0, try_at_once, &at_once);
    rgi_check(near.socket.busy == 0 && file.handle.open == 1);
    rgm_file_close(&end, &file);
    rgi_check(rgm_call(stage->runtime, &end) == 0);
    rgi_check(unlink(path) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
}

/* --------------------------------------------------------------------- races */

/* One owner after the other ends, with reads out, on their way, and asked when it has
 * gone: each is answered, and the guest never notices more. */
void
opl_11_runtimes_end_while_they_are_asked(struct stage *stage)
{
    enum { READS = 4 };
    struct stage guest;
    struct read_step reads[READS];
    struct rgm_stream near;
    char bytes[READS];
    int peer;

    guest_open(stage, &guest);
    for (unsigned i = 0; i < rgi_scale(2000); i++) {
        stage_open(stage);
        peer = stage_pair(stage, &near);
        for (uint32_t at = 0; at < READS; at++) {
            step_clear(&reads[at]);
            rgm_stream_read(&reads[at].op, &near, &bytes[at], 1);
            if (at == READS / 2)
                stage_stop(stage);
            stage_begin_on(&guest, at % GUEST_WORKERS, &reads[at]);
        }
        for (uint32_t at = 0; at < READS; at++) {
            int status = stage_end(&guest, &reads[at]);

            rgi_check(status == -EPIPE || status == -EINVAL);
        }
        peer_close(peer);
        stage_wait(stage);
        stage->listener = (struct rgm_listener){0};
    }
    guest_close(&guest);
}

/* Reads from both workers of the guest's, and cancels that meet what comes: what
 * was sent is all that was read, in one order or another. */
void
opl_11_cancels_race_with_bytes(struct stage *stage)
{
    struct stage guest;
    struct rgm_stream near;
    struct read_step reads[GUEST_WORKERS];
    unsigned char bytes[GUEST_WORKERS];
    uint64_t random = rgi_seed();
    unsigned sent = 0, got = 0;
    int peer;

    stage_open(stage);
    guest_open(stage, &guest);
    peer = stage_pair(stage, &near);
    memset(reads, 0, sizeof(reads));
    for (unsigned i = 0; i < rgi_scale(20000); i++) {
        uint32_t at = i % GUEST_WORKERS;

        step_clear(&reads[at]);
        rgm_stream_read(&reads[at].op, &near, &bytes[at], 1);
        stage_begin_on(&guest, at, &reads[at]);
        if (next_random(&random) % 2 == 0) {
            peer_send(peer, "x", 1);
            sent++;
        }
        stage_cancel_on(&guest, at, &reads[at]);
        if (stage_end(&guest, &reads[at]) == 0)
            got++;
        else
            rgi_check(rgm_status(&reads[at].op) == -ECANCELED);
    }
    rgi_check(got <= sent);
    while (got < sent) {
        char byte;

        stage_read_all(stage, &near, &byte, 1);
        got++;
    }
    peer_expect_nothing(peer);
    rgi_check(stage_busy(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    guest_close(&guest);
    stage_close(stage);
}
