/* SPDX-License-Identifier: MIT */

/* owner_cases.c - memory a provider is told of: none at all, and memory that it
 * looks at late. */

#include "conformance/owner_cases.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "conformance/shim.h"

#define HERE rgm_worker_address(0)

STEP(open_step, rgm_file_open);
STEP(packet_read_step, rgm_packet_read);
STEP(packet_write_step, rgm_packet_write);

/* A file that holds `text`, with a name that is gone when it is closed. */
static void
file_of(struct stage *stage, struct rgm_file *file, const char *text)
{
    char path[] = "/tmp/ringmail-owner-XXXXXX";
    struct rgm_file_open open;
    int fd = mkstemp(path);

    rgi_check(fd >= 0);
    rgi_check(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    *file = (struct rgm_file){0};
    rgm_file_open(&open, HERE, file, path, RGM_FILE_READ | RGM_FILE_WRITE, 0);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    rgi_check(unlink(path) == 0);
}

static int
file_close(struct stage *stage, struct rgm_file *file)
{
    struct rgm_close close;

    rgm_file_close(&close, file);
    return rgm_call(stage->runtime, &close);
}

/* ------------------------------------------------------------ nothing at all */

static void
transfer_nothing(struct stage *stage, struct rgm_file *file)
{
    const struct rgm_vector nothing[2] = {{"x", 0}, {NULL, 0}};
    struct rgm_file_write write;
    struct rgm_file_read read;
    char byte = '#';

    rgm_file_read(&read, file, &byte, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 0 && !read.end);
    rgm_file_read_at(&read, file, NULL, 0, 1);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 0 && !read.end);
    rgm_file_read_vectors(&read, file, nothing, 2, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 0 && !read.end && byte == '#');
    rgm_file_write(&write, file, &byte, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 0);
    rgm_file_write_at(&write, file, &byte, 0, 1000);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 0);
}

/* Neither the kernel nor a thread hears of it, and the cursor stays. */
void
buf_07_nothing_of_a_file_asks_nobody(struct stage *stage)
{
    struct rgm_counters before, after;
    struct rgm_file_read read;
    struct rgm_file file;
    char bytes[8];

    stage_open(stage);
    file_of(stage, &file, "abc");
    before = stage_counters(stage);
    for (int i = 0; i < 10; i++)
        transfer_nothing(stage, &file);
    after = stage_counters(stage);
    rgi_check(after.entries_submitted == before.entries_submitted);
    rgm_file_read(&read, &file, bytes, sizeof(bytes));
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 3 && memcmp(bytes, "abc", 3) == 0);
    rgi_check(stage_counters(stage).entries_submitted ==
              after.entries_submitted + 1);
    rgi_check(file_close(stage, &file) == 0);
    stage_close(stage);
}

/* What a read of no bytes says. */
static int
asks_nothing(struct stage *stage, struct rgm_stream *stream)
{
    struct rgm_read read;
    int status;

    rgm_stream_read(&read, stream, NULL, 0);
    status = rgm_call(stage->runtime, &read);
    rgi_check(read.count == 0 && !read.end);
    return status;
}

/* Until what the peer has done has arrived at our end. */
static void
await_at(int ours, short event)
{
    struct pollfd entry = {ours, event, 0};

    rgi_check(poll(&entry, 1, GUARD_S * 1000) == 1);
    rgi_check((entry.revents & event) != 0);
}

void
buf_07_nothing_of_a_stream_tells_its_condition(struct stage *stage)
{
    struct rgm_stream near, second;
    int peer, ours;
    char byte;
    bool end;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    ours = descriptor_of_peer(peer);
    rgi_check(asks_nothing(stage, &near) == 0); /* and does not wait */
    peer_send(peer, "x", 1);
    await_at(ours, POLLIN);
    rgi_check(asks_nothing(stage, &near) == 0); /* and takes nothing */
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == 1 && byte == 'x');
    peer_shutdown(peer);
    await_at(ours, POLLRDHUP);
    rgi_check(asks_nothing(stage, &near) == 0); /* and is not the end */
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == 0 && end);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(asks_nothing(stage, &near) == -EBADF);
    peer_close(peer);
    peer = stage_pair(stage, &second);
    ours = descriptor_of_peer(peer);
    peer_reset(peer);
    await_at(ours, POLLERR);
    rgi_check(asks_nothing(stage, &second) == -ECONNRESET);
    rgi_check(stage_close_stream(stage, &second) == 0);
    stage_close(stage);
}

/* ------------------------------------------------------------ whose storage */

static uint64_t
pools_made(struct stage *stage)
{
    return stage_counters(stage).read_pools;
}

/* Reads what the peer says into `pool`. */
static void
reads_into(struct stage *stage, struct rgm_stream *near, int peer,
           struct rgm_pool *pool)
{
    struct rgm_read_pooled read;

    peer_send(peer, "abc", 3);
    rgm_stream_read_pooled(&read, near, pool);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 3 && memcmp(read.lease.data, "abc", 3) == 0);
    rgi_check(read.pool == pool && !read.unnamed);
    rgi_check(pool == NULL || rgm_pool_free_count(pool) < 4);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
}

void
bpl_17_a_pool_is_made_by_the_first_read_that_needs_it(struct stage *stage)
{
    struct rgm_pool *shared = pool_of(4, 64);
    struct rgm_read_pooled pooled;
    struct rgm_stream near, closed = {0};
    char bytes[3];
    int peer;

    stage->options.workers = 2;
    stage->options.read_slots = 2;
    stage->options.read_slot_bytes = 100;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (int i = 0; i < 10; i++) { /* borrowed, and shared: none is made */
        peer_send(peer, "abc", 3);
        stage_read_all(stage, &near, bytes, 3);
        reads_into(stage, &near, peer, shared);
    }
    rgm_stream_read_pooled(&pooled, &closed, NULL);
    rgi_check(rgm_call(stage->runtime, &pooled) == -EBADF);
    peer_close(stage_pair(stage, &closed));
    rgm_stream_read_pooled(&pooled, &closed, NULL); /* and before it begins */
    rgi_check(stage_close_stream(stage, &closed) == 0);
    rgi_check(rgm_call(stage->runtime, &pooled) == -EBADF);
    rgi_check(pools_made(stage) == 0);
    for (int i = 0; i < 10; i++)
        reads_into(stage, &near, peer, NULL);
    rgi_check(pools_made(stage) == 1); /* one worker's, once */
    reads_into(stage, &near, peer, shared);
    rgi_check(pools_made(stage) == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(shared) == 4);
    rgm_pool_destroy(shared);
}

/* As large as was asked for, waited for when it is empty, and valid when the
 * runtime is gone. */
void
bpl_17_what_is_leased_outlives_its_worker(struct stage *stage)
{
    struct pooled_step reads[3] = {0};
    struct rgm_stream near;
    char out[300];
    int peer;

    stage->options.read_slots = 2;
    stage->options.read_slot_bytes = 100;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    pattern_fill(out, sizeof(out), 0);
    peer_send(peer, out, sizeof(out));
    for (int i = 0; i < 2; i++) {
        rgm_stream_read_pooled(&reads[i].op, &near, NULL);
        stage_begin(stage, &reads[i]);
        rgi_check(stage_end(stage, &reads[i]) == 0);
        rgi_check(reads[i].op.count == 100 && reads[i].op.pool == NULL);
    }
    rgm_stream_read_pooled(&reads[2].op, &near, NULL);
    stage_begin(stage, &reads[2]);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &reads[2])); /* there are two */
    rgi_check(rgm_lease_drop(&reads[0].op.lease) == 0);
    rgi_check(stage_end(stage, &reads[2]) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgi_check(pattern_holds(reads[1].op.lease.data, 100, 100));
    rgi_check(pattern_holds(reads[2].op.lease.data, 100, 200));
    rgi_check(rgm_lease_drop(&reads[1].op.lease) == 0);
    rgi_check(rgm_lease_drop(&reads[2].op.lease) == 0);
}

/* -------------------------------------------------------- looked at too late */

enum { PLACES = 4, PIECES = 20 };

/* All of a ring's places, and all of the threads, are taken by reads of this
 * connection: what is asked now is begun when its peer speaks. */
struct crowd_out {
    struct rgm_stream stream;
    struct read_step reads[PLACES];
    char bytes[PLACES];
    int peer;
};

static void
take_all_places(struct stage *stage, struct crowd_out *out)
{
    out->peer = stage_pair(stage, &out->stream);
    if (stage_can_be_gated(stage))
        shim_gate_shut(descriptor_of_peer(out->peer));
    for (int i = 0; i < PLACES; i++) {
        rgm_stream_read(&out->reads[i].op, &out->stream, &out->bytes[i], 1);
        stage_begin(stage, &out->reads[i]);
    }
}

static void
give_places_back(struct stage *stage, struct crowd_out *out)
{
    shim_gate_open();
    peer_send(out->peer, "abcd", PLACES);
    for (int i = 0; i < PLACES; i++)
        rgi_check(stage_end(stage, &out->reads[i]) == 0);
    rgi_check(stage_close_stream(stage, &out->stream) == 0);
    peer_close(out->peer);
}

/* Six kinds, whose system calls want structures beside the data. */
struct latecomers {
    struct write_step gather;
    struct connect_step connect;
    struct accept_step accept;
    struct packet_read_step receive;
    struct packet_write_step send;
    struct open_step open;
    struct rgm_stream near, made, taken;
    struct rgm_packet packet;
    struct rgm_endpoint packet_at, plain_at;
    struct rgm_vector pieces[PIECES];
    struct rgm_file file;
    char text[PIECES + 1];
    char mail[16];
    char path[64];
    int near_peer, plain, caller;
};

static void
latecomers_open(struct stage *stage, struct latecomers *late)
{
    struct rgm_endpoint local = loopback();
    struct rgm_packet_open open;
    int fd;

    rgm_packet_open(&open, HERE, &late->packet, &local, NULL);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    late->packet_at = open.local;
    late->plain_at = local;
    late->plain = peer_listen(&late->plain_at, 1);
    late->near_peer = stage_pair(stage, &late->near);
    memcpy(late->text, "what the pieces say:", PIECES);
    for (int i = 0; i < PIECES; i++)
        late->pieces[i] = (struct rgm_vector){&late->text[i], 1};
    snprintf(late->path, sizeof(late->path), "/tmp/ringmail-late-XXXXXX");
    fd = mkstemp(late->path);
    rgi_check(fd >= 0 && write(fd, "in the file", 11) == 11);
    close(fd);
}

/* Everything that may be forgotten after preparation lies on this stack. */
__attribute__((noinline)) static void
latecomers_begin(struct stage *stage, struct latecomers *late)
{
    struct rgm_endpoint plain_at = late->plain_at;
    struct rgm_endpoint packet_at = late->packet_at;

    rgm_stream_write_vectors(&late->gather.op, &late->near, late->pieces,
                             PIECES);
    rgm_stream_connect(&late->connect.op, HERE, &late->made, &plain_at);
    rgm_stream_accept(&late->accept.op, &stage->listener, &late->taken);
    late->accept.op.want_peer = true;
    rgm_packet_read(&late->receive.op, &late->packet, late->mail,
                    sizeof(late->mail), 0);
    rgm_packet_write(&late->send.op, &late->packet, "to myself", 9,
                     &packet_at);
    rgm_file_open(&late->open.op, HERE, &late->file, late->path,
                  RGM_FILE_READ, 0);
    stage_begin(stage, &late->gather);
    stage_begin(stage, &late->connect);
    stage_begin(stage, &late->accept);
    stage_begin(stage, &late->receive);
    stage_begin(stage, &late->send);
    stage_begin(stage, &late->open);
    memset(&plain_at, 0xa5, sizeof(plain_at));
    memset(&packet_at, 0xa5, sizeof(packet_at));
}

__attribute__((noinline)) static void
stack_is_used_for_something_else(void)
{
    volatile char other[32768];

    for (size_t i = 0; i < sizeof(other); i++)
        other[i] = (char)0xa5;
}

static void
latecomers_are_right(struct stage *stage, struct latecomers *late)
{
    struct rgm_endpoint source = {0};
    char bytes[PIECES] = {0};
    struct rgm_file_read read;
    int accepted;

    rgi_check(stage_end(stage, &late->gather) == 0);
    peer_receive(late->near_peer, bytes, PIECES);
    rgi_check(memcmp(bytes, late->text, PIECES) == 0);
    rgi_check(stage_end(stage, &late->connect) == 0);
    accepted = peer_accept(late->plain);
    rgi_check(stage_end(stage, &late->accept) == 0);
    rgi_check(late->accept.op.peer.family == RGM_IPV4);
    rgi_check(late->accept.op.peer.port != 0);
    rgi_check(stage_end(stage, &late->send) == 0);
    rgi_check(stage_end(stage, &late->receive) == 0);
    rgi_check(late->receive.op.count == 9);
    rgi_check(memcmp(late->mail, "to myself", 9) == 0);
    rgi_check(rgm_packet_source(&late->receive.op, &source) == 0);
    rgi_check(source.port == late->packet_at.port);
    rgi_check(stage_end(stage, &late->open) == 0);
    rgm_file_read(&read, &late->file, bytes, sizeof(bytes));
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 11);
    rgi_check(memcmp(bytes, "in the file", 11) == 0);
    rgi_check(file_close(stage, &late->file) == 0);
    peer_close(accepted);
}

static void
latecomers_close(struct stage *stage, struct latecomers *late)
{
    struct rgm_close close_it;

    rgi_check(stage_close_stream(stage, &late->near) == 0);
    rgi_check(stage_close_stream(stage, &late->made) == 0);
    rgi_check(stage_close_stream(stage, &late->taken) == 0);
    rgm_packet_close(&close_it, &late->packet);
    rgi_check(rgm_call(stage->runtime, &close_it) == 0);
    rgi_check(unlink(late->path) == 0);
    close(late->plain);
    peer_close(late->near_peer);
    peer_close(late->caller);
}

/* A ring with three places (the accept and the receive keep two) and four
 * entries, threads of which none is free; a sleep that is asked meanwhile needs
 * neither, and ends. */
void
field_b46_what_is_said_early_is_read_late(struct stage *stage)
{
    struct latecomers late = {0};
    struct crowd_out out = {0};
    struct sleep_step sleep = {0};

    stage->options.in_flight_max = 3;
    stage->options.ring_entries = 4;
    stage_open(stage);
    latecomers_open(stage, &late);
    take_all_places(stage, &out);
    latecomers_begin(stage, &late);
    stack_is_used_for_something_else();
    rgm_sleep_for(&sleep.op, HERE, RGM_NS_PER_MS);
    rgi_check(stage_run(stage, &sleep) == 0);
    if (stage_can_be_gated(stage)) { /* else nobody waits for a place */
        rgi_check(stage_is_out(stage, &late.gather));
        rgi_check(stage_is_out(stage, &late.connect));
        rgi_check(stage_is_out(stage, &late.send));
        rgi_check(stage_is_out(stage, &late.open));
    }
    give_places_back(stage, &out);
    late.caller = peer_connect(&stage->endpoint);
    latecomers_are_right(stage, &late);
    latecomers_close(stage, &late);
    stage_close(stage);
}
