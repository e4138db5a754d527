/* SPDX-License-Identifier: MIT */

/* threads_cases.c - what must the threads provider show besides? */

#include "conformance/threads_cases.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "conformance/scratch.h"
#include "conformance/shim.h"

/* A read that is inside recv, and is cancelled there. */
static void
cancel_inside(struct stage *stage, struct read_step *read,
              struct rgm_stream *near, int peer, char *byte)
{
    shim_gate_shut(descriptor_of_peer(peer));
    rgm_stream_read(&read->op, near, byte, 1);
    stage_begin(stage, read);
    shim_gate_await(1);
    stage_cancel(stage, read);
    (void)stage_counters(stage); /* turns pass; the cancel is long over */
    rgi_check(stage_is_out(stage, read) && stage_busy(stage, near) == 1);
}

void
opl_03_all_is_kept_until_the_call_has_returned(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    cancel_inside(stage, &read, &near, peer, &byte);
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    rgi_check(read.op.memory == &byte && read.op.stream == &near);
    shim_gate_open(); /* finds nothing, and does not try again */
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
opl_20_call_that_has_begun_runs_on(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    cancel_inside(stage, &read, &near, peer, &byte);
    peer_send(peer, "x", 1);
    shim_gate_open();
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(read.op.count == 1 && byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

STEP(packet_step, rgm_packet_read);
STEP(datagram_step, rgm_packet_read_pooled);

/* A read that has nothing to read yet is inside its call. */
#define is_tried_first(stage, step, peer)                                      \
    request_is_tried_first((stage), &(step)->op.request, &(step)->track, (peer))

static void
request_is_tried_first(struct stage *stage, struct rgm_request *request,
                       struct track *track, int peer)
{
    shim_gate_shut(descriptor_of_peer(peer));
    stage_begin_request(stage, 0, request, track);
    shim_gate_await(1);
    shim_gate_open();
    peer_send(peer, "x", 1);
    rgi_check(stage_end_request(stage, request, track) == 0);
}

/* Likewise of a packet's read; none ever comes. */
#define packet_is_tried_first(stage, step)                                     \
    message_is_tried_first((stage), &(step)->op.request, &(step)->track)

static void
message_is_tried_first(struct stage *stage, struct rgm_request *request,
                       struct track *track)
{
    unsigned calls = shim_message_receives();

    stage_begin_request(stage, 0, request, track);
    while (shim_message_receives() == calls)
        (void)stage_counters(stage);
    stage_cancel_request(stage, 0, request);
    rgi_check(stage_end_request(stage, request, track) == -ECANCELED);
}

void
srd_24_each_receive_is_a_call_before_any_wait(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct pooled_step pooled = {0};
    struct read_step urgent = {0};
    struct packet_step packet = {0};
    struct datagram_step datagram = {0};
    struct rgm_endpoint local = loopback();
    struct rgm_packet socket = {0};
    struct rgm_packet_open open;
    struct rgm_stream near;
    struct rgm_close close;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read_pooled(&pooled.op, &near, pool);
    is_tried_first(stage, &pooled, peer);
    rgi_check(rgm_lease_drop(&pooled.op.lease) == 0);
    rgm_stream_read(&urgent.op, &near, &byte, 1);
    urgent.op.urgent = true;
    is_tried_first(stage, &urgent, peer);
    rgm_packet_open(&open, rgm_worker_address(0), &socket, &local, NULL);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    rgm_packet_read(&packet.op, &socket, &byte, 1, RGM_PACKET_PEEK);
    packet_is_tried_first(stage, &packet);
    rgm_packet_read_pooled(&datagram.op, &socket, pool, 0);
    packet_is_tried_first(stage, &datagram);
    rgm_packet_close(&close, &socket);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

void
field_b61_interrupted_call_is_made_again(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    shim_receive_fail(descriptor_of_peer(peer), EINTR);
    rgm_stream_read(&read.op, &near, &byte, 1);
    rgi_check(stage_run(stage, &read) == 0);
    rgi_check(shim_receive_failed());
    rgi_check(read.op.count == 1 && byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------- in our hands */

STEP(moment_step, rgm_await);

/* A try in the puppet's delivery; the memory is of its stack. */
struct borrowed {
    struct rgm_stream *stream;
    bool writes;
    int status;
    size_t count;
    bool mine; /* the call was made by the thread that asked for it */
};

static void
borrow(struct puppet *puppet, void *argument)
{
    struct borrowed *borrowed = argument;
    char byte = 'w';
    bool end;

    if (borrowed->writes)
        borrowed->status = rgm_stream_try_write(puppet, borrowed->stream,
                                                &byte, 1, 0, &borrowed->count);
    else
        borrowed->status =
            rgm_stream_try_read(puppet, borrowed->stream, &byte, 1, 0,
                                &borrowed->count, &end);
    borrowed->mine = shim_message_thread() == (int)syscall(SYS_gettid);
}

void
dir_06_borrowed_calls_are_made_by_whoever_asks(struct stage *stage)
{
    struct borrowed borrowed = {0};
    struct moment_step moment = {0};
    struct rgm_stream near;
    unsigned receives;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    borrowed.stream = &near;
    stage_do(stage, borrow, &borrowed);
    rgi_check(borrowed.status == -EAGAIN && borrowed.mine);
    rgm_socket_await(&moment.op, &near.socket, RGM_READABLE);
    receives = shim_message_receives();
    stage_begin(stage, &moment);
    (void)stage_counters(stage); /* pulses pass, and read nothing */
    rgi_check(stage_is_out(stage, &moment));
    peer_send(peer, "r", 1);
    rgi_check(stage_end(stage, &moment) == 0);
    rgi_check(shim_message_receives() == receives);
    stage_do(stage, borrow, &borrowed);
    rgi_check(borrowed.status == 0 && borrowed.count == 1 && borrowed.mine);
    borrowed.writes = true;
    stage_do(stage, borrow, &borrowed);
    rgi_check(borrowed.status == 0 && borrowed.count == 1 && borrowed.mine);
    peer_receive(peer, &byte, 1);
    rgi_check(byte == 'w');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------ the end of it */

struct guest_read {
    struct rgm_runtime *runtime;
    struct rgm_read read;
    int status;
};

static void *
guest_read_main(void *argument)
{
    struct guest_read *mine = argument;

    mine->status = rgm_call(mine->runtime, &mine->read);
    return NULL;
}

/* One call in progress, one that waits to be made again, one of a guest that
 * waits, one that nobody has started; then no more is let in. */
void
dir_07_closing_lets_the_application_clean_up_first(struct stage *stage)
{
    struct guest_read guest = {0};
    struct read_step inside = {0};
    struct read_step waits = {0};
    struct rgm_stream streams[3];
    struct rgm_close late;
    struct rgm_read never;
    pthread_t thread;
    char bytes[4] = "";
    int peers[3];

    stage_open(stage);
    for (int i = 0; i < 3; i++)
        peers[i] = stage_pair(stage, &streams[i]);
    shim_gate_shut(descriptor_of_peer(peers[0]));
    rgm_stream_read(&inside.op, &streams[0], &bytes[0], 1);
    stage_begin(stage, &inside);
    shim_gate_await(1);
    rgm_stream_read(&waits.op, &streams[1], &bytes[1], 1);
    stage_begin(stage, &waits);
    guest.runtime = stage->runtime;
    rgm_stream_read(&guest.read, &streams[2], &bytes[2], 1);
    rgi_check(pthread_create(&thread, NULL, guest_read_main, &guest) == 0);
    while (stage_in_flight(stage) < 3)
        continue;
    rgm_stream_read(&never, &streams[1], &bytes[3], 1); /* and not asked */
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    rgi_check(pthread_join(thread, NULL) == 0);
    rgi_check(guest.status == -EPIPE); /* its wait is over, no byte has come */
    rgi_check(stage_is_out(stage, &inside) && stage_is_out(stage, &waits));
    stage_cancel(stage, &waits); /* the application cleans up */
    rgi_check(stage_end(stage, &waits) == -ECANCELED);
    rgi_check(streams[1].socket.busy == 0);
    peer_send(peers[0], "x", 1);
    shim_gate_open(); /* what is in progress is drained, with its result */
    rgi_check(stage_end(stage, &inside) == 0 && bytes[0] == 'x');
    rgm_stream_close(&late, &streams[0]);
    (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]);
    rgi_check(rgm_runtime_wait(stage->runtime) == 0);
    rgi_check(rgm_call(stage->runtime, &late) < 0);
    for (int i = 0; i < 3; i++)
        peer_close(peers[i]);
    stage_wait(stage);
}

/* ------------------------------------------------------------------- costs */

/* What every operation is done to; `bench_costs` prints such a table. */
struct bill {
    struct stage *stage;
    struct rgm_stream near;
    struct rgm_stream far;
    struct rgm_file file;
    struct rgm_pool *pool;
    char bytes[64];
};

static void
bill_stream(struct bill *bill)
{
    bool end;

    rgi_check(stage_write(bill->stage, &bill->near, "abc", 3) == 0);
    rgi_check(stage_read(bill->stage, &bill->far, bill->bytes, 3, &end) == 3);
}

static void
bill_pooled(struct bill *bill)
{
    struct rgm_read_pooled read;

    rgi_check(stage_write(bill->stage, &bill->near, "abc", 3) == 0);
    rgm_stream_read_pooled(&read, &bill->far, bill->pool);
    rgi_check(rgm_call(bill->stage->runtime, &read) == 0);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
}

static void
bill_file(struct bill *bill)
{
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file_stat stat;

    rgm_file_write_at(&write, &bill->file, "abc", 3, 0);
    rgi_check(rgm_call(bill->stage->runtime, &write) == 0);
    rgm_file_read_at(&read, &bill->file, bill->bytes, 3, 0);
    rgi_check(rgm_call(bill->stage->runtime, &read) == 0);
    rgm_file_stat(&stat, &bill->file);
    rgi_check(rgm_call(bill->stage->runtime, &stat) == 0);
}

static void
bill_file_open(struct bill *bill)
{
    struct rgm_file file = {0};

    rgi_check(file_open(bill->stage, &file, "/dev/null", RGM_FILE_READ) == 0);
    rgi_check(file_close(bill->stage, &file) == 0);
}

static void
bill_sleep(struct bill *bill)
{
    struct rgm_sleep sleep;

    rgm_sleep_for(&sleep, HERE, 1);
    rgi_check(rgm_call(bill->stage->runtime, &sleep) == 0);
}

static int64_t
nothing_run(struct rgm_job *job)
{
    (void)job;
    return 0;
}

static void
bill_job(struct bill *bill)
{
    struct rgm_job job;

    rgm_job_run(&job, HERE, nothing_run);
    rgi_check(rgm_call(bill->stage->runtime, &job) == 0);
}

void
dir_10_no_operation_costs_an_allocation(struct stage *stage)
{
    static void (*const table[])(struct bill *) = {
        bill_stream, bill_pooled, bill_file,
        bill_file_open, bill_sleep, bill_job,
    };
    struct bill bill = {.stage = stage};
    struct scratch scratch;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &bill.file);
    bill.pool = pool_of(2, 64);
    stage_pair_own(stage, &bill.near, &bill.far);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint64_t before = 0;

        for (int round = 0; round < 16; round++) {
            if (round == 8) /* warm */
                before = shim_allocations();
            table[i](&bill);
        }
        rgi_check(shim_allocations() == before);
    }
    rgi_check(stage_close_stream(stage, &bill.near) == 0);
    rgi_check(stage_close_stream(stage, &bill.far) == 0);
    rgi_check(file_close(stage, &bill.file) == 0);
    rgm_pool_destroy(bill.pool);
    scratch_close(stage, &scratch);
}
