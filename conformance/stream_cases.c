/* SPDX-License-Identifier: MIT */

/* stream_cases.c - what must every provider of streams show? */

#include "conformance/stream_cases.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/shim.h"
#include "conformance/short.h"

#define MIB ((size_t)1 << 20)

/* ------------------------------------------------------------ peers' threads */

/* A peer that moves bytes of the pattern on a thread of its own. */
struct mover {
    pthread_t thread;
    int peer;
    size_t length_bytes;
    size_t moved_bytes;
    uint64_t random; /* 0: pieces as large as possible */
    bool ends;       /* a sender half-closes at the end */
};

static size_t
mover_piece(struct mover *mover, size_t most)
{
    size_t left = mover->length_bytes - mover->moved_bytes;

    if (mover->random != 0)
        most = 1 + next_random(&mover->random) % most;
    return most < left ? most : left;
}

static void *
sender_main(void *argument)
{
    struct mover *mover = argument;
    char *bytes = malloc(65536);

    rgi_check(bytes != NULL);
    while (mover->moved_bytes < mover->length_bytes) {
        size_t piece = mover_piece(mover, 65536);

        pattern_fill(bytes, piece, mover->moved_bytes);
        peer_send(mover->peer, bytes, piece);
        mover->moved_bytes += piece;
    }
    if (mover->ends)
        peer_shutdown(mover->peer);
    free(bytes);
    return NULL;
}

/* Until `length_bytes` are there, or the end if that comes before. */
static void *
receiver_main(void *argument)
{
    struct mover *mover = argument;
    char *bytes = malloc(65536);
    size_t count = 1;

    rgi_check(bytes != NULL);
    while (mover->moved_bytes < mover->length_bytes && count > 0) {
        count =
            peer_receive_some(mover->peer, bytes, mover_piece(mover, 65536));
        rgi_check(pattern_holds(bytes, count, mover->moved_bytes));
        mover->moved_bytes += count;
    }
    free(bytes);
    return NULL;
}

static void
mover_start(struct mover *mover, void *(*run)(void *))
{
    rgi_check(pthread_create(&mover->thread, NULL, run, mover) == 0);
}

static void
mover_join(struct mover *mover)
{
    rgi_check(pthread_join(mover->thread, NULL) == 0);
}

static char *
bytes_of(size_t length_bytes)
{
    char *bytes = malloc(length_bytes);

    rgi_check(bytes != NULL);
    pattern_fill(bytes, length_bytes, 0);
    return bytes;
}

/* Our reads of a pattern until its end. Returns how much it was. */
static size_t
read_pattern_to_end(struct stage *stage, struct rgm_stream *stream)
{
    char *bytes = malloc(65536);
    size_t total = 0;
    bool end = false;

    rgi_check(bytes != NULL);
    while (!end) {
        long count = stage_read(stage, stream, bytes, 65536, &end);

        rgi_check(count >= 0);
        rgi_check(pattern_holds(bytes, (size_t)count, total));
        total += (size_t)count;
    }
    free(bytes);
    return total;
}

/* ------------------------------------------------------------------- simple */

void
bytes_arrive_as_they_were_sent(struct stage *stage)
{
    struct rgm_stream near;
    char bytes[5];
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "hello", 5);
    stage_read_all(stage, &near, bytes, 5);
    rgi_check(memcmp(bytes, "hello", 5) == 0);
    rgi_check(stage_write(stage, &near, "world", 5) == 0);
    peer_receive(peer, bytes, 5);
    rgi_check(memcmp(bytes, "world", 5) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
}

void
srd_02_chunk_then_end_and_end_again(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(2, 64);
    struct rgm_read_pooled read;
    struct rgm_stream near;
    size_t got = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "chunk", 5);
    for (;;) {
        rgm_stream_read_pooled(&read, &near, pool);
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        rgi_check(read.count > 0 && !read.end);
        rgi_check(rgm_lease_active(&read.lease));
        rgi_check(read.lease.length_bytes == read.count);
        rgi_check(memcmp(read.lease.data, "chunk" + got, read.count) == 0);
        got += read.count;
        if (got == 5)
            break;
        rgi_check(rgm_lease_drop(&read.lease) == 0);
    }
    peer_close(peer);
    rgi_check(((const char *)read.lease.data)[read.count - 1] == 'k');
    rgi_check(rgm_lease_drop(&read.lease) == 0);
    for (int i = 0; i < 3; i++) {
        rgm_stream_read_pooled(&read, &near, pool);
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        rgi_check(read.count == 0 && read.end);
        rgi_check(!rgm_lease_active(&read.lease));
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(pool) == 2);
    rgm_pool_destroy(pool);
}

void
srd_05_nothing_is_read_ahead(struct stage *stage)
{
    const int sent_bytes = 65536;
    char *bytes = bytes_of(65536);
    struct rgm_stream near;
    int peer, ours, queued;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    ours = descriptor_of_peer(peer);
    stage_read_all(stage, (peer_send(peer, "x", 1), &near), bytes, 1);
    pattern_fill(bytes, 65536, 0);
    peer_send(peer, bytes, 65536);
    do /* loopback delivers within the send, but nobody promises it */
        rgi_check(ioctl(ours, FIONREAD, &queued) == 0);
    while (queued < sent_bytes);
    (void)stage_counters(stage); /* turns pass */
    rgi_check(ioctl(ours, FIONREAD, &queued) == 0 && queued == sent_bytes);
    stage_read_all(stage, &near, bytes, 100);
    rgi_check(ioctl(ours, FIONREAD, &queued) == 0);
    rgi_check(queued == sent_bytes - 100);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    free(bytes);
}

void
srd_09_data_and_end_in_one_burst(struct stage *stage)
{
    struct rgm_stream near;
    char bytes[4];
    int peer;

    stage_open(stage);
    for (int i = 0; i < 20; i++) {
        bool end = false;

        peer = stage_pair(stage, &near);
        peer_send(peer, "0123456789", 10);
        peer_close(peer);
        for (size_t total = 0; total < 10;) {
            long count = stage_read(stage, &near, bytes, 4, &end);

            rgi_check(count > 0 && !end);
            rgi_check(memcmp(bytes, "0123456789" + total, (size_t)count) == 0);
            total += (size_t)count;
        }
        rgi_check(stage_read(stage, &near, bytes, 4, &end) == 0 && end);
        rgi_check(stage_close_stream(stage, &near) == 0);
    }
    stage_close(stage);
}

/* A peer sends on and on; every read is raced by a cancel. */
void
srd_13_cancelled_reads_lose_nothing(struct stage *stage)
{
    struct mover sender = {.length_bytes = 4 * MIB, .random = rgi_seed()};
    struct rgm_stream near;
    struct read_step read = {0};
    size_t total = 0, cancelled = 0, succeeded = 0;
    char bytes[2048];

    sender.length_bytes = short_bulk((size_t)rgi_scale(100 * MIB) + 100000);
    sender.ends = true;
    stage_open(stage);
    sender.peer = stage_pair(stage, &near);
    mover_start(&sender, sender_main);
    for (;;) {
        int status;

        rgm_stream_read(&read.op, &near, bytes, sizeof(bytes));
        stage_begin(stage, &read);
        if (total % 3 != 0 || cancelled < 10)
            stage_cancel(stage, &read);
        status = stage_end(stage, &read);
        if (status == -ECANCELED) {
            rgi_check(read.op.count == 0 && !read.op.end);
            cancelled++;
            continue;
        }
        rgi_check(status == 0);
        if (read.op.end)
            break;
        rgi_check(pattern_holds(bytes, read.op.count, total));
        total += read.op.count;
        succeeded++;
    }
    rgi_check(total == sender.length_bytes);
    rgi_check(succeeded > 0);
    mover_join(&sender);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(sender.peer);
    stage_close(stage);
}

/* ----------------------------------------------------------------- teardown */

static void
set_mode(int fd, bool blocking)
{
    int flags = fcntl(fd, F_GETFL) & ~O_NONBLOCK;

    rgi_check(fcntl(fd, F_SETFL, flags | (blocking ? 0 : O_NONBLOCK)) == 0);
}

static void
close_and_cancel(struct puppet *puppet, void *argument)
{
    struct close_step *close = argument;

    puppet_begin(puppet, close);
    rgm_cancel_request(&puppet->actor, &close->op.request);
}

void
srd_15_after_close_only_closes(struct stage *stage)
{
    struct close_step close = {0};
    struct rgm_stream near;
    char byte;
    bool end;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    rgm_stream_close(&close.op, &near);
    stage_do(stage, close_and_cancel, &close);
    /* Begun: whether answered yet or not, it is not open any more. */
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == -EBADF);
    rgi_check(stage_write(stage, &near, "x", 1) == -EBADF);
    rgi_check(stage_shutdown(stage, &near) == -EBADF);
    rgi_check(stage_end(stage, &close) == 0); /* not stopped by the cancel */
    rgi_check(stage_run(stage, &close) == -EBADF); /* answered all the same */
    rgi_check(stage_close_stream(stage, &near) == -EBADF);
    peer_close(peer);
    stage_close(stage);
}

void
srd_16_teardown_has_an_order(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin(stage, &read);
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    rgi_check(near.socket.open == 1 && stage_is_out(stage, &read));
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
}

void
srd_17_stream_is_used_from_every_worker(struct stage *stage)
{
    enum { WORKERS = 8 };
    struct write_step write = {0};
    struct read_step read = {0};
    struct rgm_stream near;
    char byte;
    int peer;

    stage->options.workers = WORKERS;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (uint32_t i = 0; i < 2 * WORKERS; i++) {
        char ask = (char)('a' + i), answer = 0;

        peer_send(peer, &ask, 1);
        rgm_stream_read(&read.op, &near, &byte, 1);
        stage_begin_on(stage, i % WORKERS, &read);
        rgi_check(stage_end(stage, &read) == 0);
        rgi_check(read.op.count == 1 && byte == ask);
        rgm_stream_write(&write.op, &near, &byte, 1);
        stage_begin_on(stage, i % WORKERS, &write);
        rgi_check(stage_end(stage, &write) == 0);
        peer_receive(peer, &answer, 1);
        rgi_check(answer == ask);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* One byte for two readers is a readiness that turns out to be false for one of
 * them. Meanwhile others go on. */
static void
wait_twice(struct stage *stage, bool blocking)
{
    struct read_step first = {0}, second = {0};
    struct rgm_stream near, other;
    char bytes[2], byte;
    int peer, other_peer;

    peer = stage_pair(stage, &near);
    other_peer = stage_pair(stage, &other);
    set_mode(descriptor_of_peer(peer), blocking);
    rgm_stream_read(&first.op, &near, &bytes[0], 1);
    rgm_stream_read(&second.op, &near, &bytes[1], 1);
    stage_begin(stage, &first);
    stage_begin(stage, &second);
    for (int i = 0; i < 10; i++) {
        rgi_check(stage_write(stage, &other, "x", 1) == 0);
        peer_receive(other_peer, &byte, 1);
    }
    peer_send(peer, "1", 1);
    while (stage_answers(stage, &first) + stage_answers(stage, &second) == 0)
        rgi_check(stage_write(stage, &other, "x", 0) == 0);
    rgi_check(stage_write(stage, &other, "x", 1) == 0);
    rgi_check(stage_answers(stage, &first) + stage_answers(stage, &second) ==
              1);
    peer_send(peer, "2", 1);
    rgi_check(stage_end(stage, &first) == 0 && first.op.count == 1);
    rgi_check(stage_end(stage, &second) == 0 && second.op.count == 1);
    rgi_check(bytes[0] + bytes[1] == '1' + '2');
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &other) == 0);
    peer_close(peer);
    peer_close(other_peer);
}

/* Whatever mode the descriptor is in. */
void
srd_18_waiting_read_blocks_nobody(struct stage *stage)
{
    stage_open(stage);
    wait_twice(stage, true);
    wait_twice(stage, false);
    stage_close(stage);
}

/* ------------------------------------------------------------------- writes */

struct owned {
    struct rgm_block block;
    char bytes[8];
    unsigned released;
};

static void
owned_release(struct rgm_block *block)
{
    ((struct owned *)(void *)block)->released++;
}

static void
write_view(struct stage *stage, struct rgm_stream *stream, int peer,
           struct rgm_view *view)
{
    char bytes[8];

    rgi_check(view->length_bytes <= sizeof(bytes));
    rgi_check(stage_write(stage, stream, view->data, view->length_bytes) == 0);
    peer_receive(peer, bytes, view->length_bytes);
    rgi_check(memcmp(bytes, view->data, view->length_bytes) == 0);
    rgm_view_drop(view);
}

void
swr_01_making_a_writer_sends_nothing(struct stage *stage)
{
    struct owned owned = {.bytes = "my own"};
    struct rgm_pool *pool = pool_of(1, 8);
    struct rgm_lease lease;
    struct rgm_stream near;
    struct rgm_write write;
    struct rgm_view view;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_write(&write, &near, "text", 4);
    (void)stage_counters(stage);
    peer_expect_nothing(peer);
    rgm_stream_write(&write, (struct rgm_stream *)(void *)&stage->listener,
                     "text", 4);
    rgi_check(rgm_call(stage->runtime, &write) == -EBADF);
    /* A chunk of a pool, and an owner of one's own: the same rules. */
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    memcpy(lease.data, "pooled", 6);
    rgi_check(rgm_lease_truncate(&lease, 6) == 0);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    write_view(stage, &near, peer, &view);
    rgi_check(rgm_pool_free_count(pool) == 1);
    rgm_block_init(&owned.block, owned_release);
    view = rgm_view_of(&owned.block, owned.bytes, 6);
    rgm_block_drop(&owned.block);
    write_view(stage, &near, peer, &view);
    rgi_check(owned.released == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* Nobody touches the writer between the ask and the answer. */
void
swr_04_accepted_write_goes_on_by_itself(struct stage *stage)
{
    const size_t length_bytes = short_bulk(8 * MIB);
    struct mover receiver = {.length_bytes = length_bytes,
                             .random = rgi_seed()};
    char *bytes = bytes_of(length_bytes);
    struct write_step write = {0};
    struct rgm_stream near;

    stage_open(stage);
    receiver.peer = stage_pair(stage, &near);
    rgm_stream_write(&write.op, &near, bytes, length_bytes);
    stage_begin(stage, &write);
    (void)stage_counters(stage);
    /* More than the kernel takes. */
    rgi_check(short_is_on() || stage_is_out(stage, &write));
    mover_start(&receiver, receiver_main);
    rgi_check(stage_end(stage, &write) == 0);
    rgi_check(write.op.count == length_bytes);
    mover_join(&receiver);
    rgi_check(receiver.moved_bytes == length_bytes);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(receiver.peer);
    stage_close(stage);
    free(bytes);
}

void
swr_07_empty_write_is_a_success(struct stage *stage)
{
    const struct rgm_vector empty[3] = {{NULL, 0}, {"x", 0}, {"y", 0}};
    struct rgm_stream near;
    struct rgm_write write;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(stage_write(stage, &near, "x", 0) == 0);
    rgi_check(stage_write(stage, &near, NULL, 0) == 0);
    rgm_stream_write_vectors(&write, &near, empty, 3);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 0);
    rgm_stream_write_vectors(&write, &near, NULL, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 0);
    peer_expect_nothing(peer); /* not even an end */
    rgi_check(stage_write(stage, &near, "z", 1) == 0);
    peer_receive(peer, &byte, 1);
    rgi_check(byte == 'z');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

static void
set_option(struct stage *stage, struct rgm_socket *socket,
           enum rgm_option option, int32_t value)
{
    struct rgm_socket_option record;

    rgm_socket_set(&record, socket, option, value);
    rgi_check(rgm_call(stage->runtime, &record) == 0);
}

/* The kernel takes a few KiB at a time, the peer a few bytes. */
void
swr_21_write_all_gets_through_a_small_buffer(struct stage *stage)
{
    const size_t length_bytes = short_bulk(200000);
    struct mover receiver = {.length_bytes = length_bytes,
                             .random = rgi_seed()};
    char *bytes = bytes_of(length_bytes);
    struct rgm_stream near;

    stage_open(stage);
    receiver.peer = stage_pair(stage, &near);
    set_option(stage, &near.socket, RGM_OPTION_SEND_BUFFER, 2048);
    mover_start(&receiver, receiver_main);
    rgi_check(stage_write(stage, &near, bytes, length_bytes) == 0);
    mover_join(&receiver);
    rgi_check(receiver.moved_bytes == length_bytes);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(receiver.peer);
    stage_close(stage);
    free(bytes);
}

/* Each byte says whose it is (bit 7) and which of his (the others). */
struct writer {
    pthread_t thread;
    struct stage *stage;
    struct rgm_stream *stream;
    unsigned number;
    unsigned rounds;
};

#define WRITER_CHUNK 3000

static void *
writer_main(void *argument)
{
    struct writer *writer = argument;
    uint8_t bytes[WRITER_CHUNK];
    unsigned next = 0;

    for (unsigned i = 0; i < writer->rounds; i++) {
        for (size_t j = 0; j < WRITER_CHUNK; j++)
            bytes[j] = (uint8_t)(writer->number << 7 | (next++ & 127));
        rgi_check(stage_write(writer->stage, writer->stream, bytes,
                              WRITER_CHUNK) == 0);
    }
    return NULL;
}

void
swr_22_two_writers_keep_their_own_order(struct stage *stage)
{
    const unsigned rounds = short_is_on() ? 2 : 20 + (unsigned)rgi_scale(1000);
    struct writer writers[2];
    struct rgm_stream near;
    unsigned next[2] = {0, 0};
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (unsigned i = 0; i < 2; i++) {
        writers[i] = (struct writer){
            .stage = stage, .stream = &near, .number = i, .rounds = rounds};
        rgi_check(pthread_create(&writers[i].thread, NULL, writer_main,
                                 &writers[i]) == 0);
    }
    for (size_t left = (size_t)2 * rounds * WRITER_CHUNK; left > 0; left--) {
        uint8_t byte;
        unsigned whose;

        peer_receive(peer, &byte, 1);
        whose = byte >> 7;
        rgi_check((byte & 127) == (next[whose]++ & 127));
    }
    for (int i = 0; i < 2; i++)
        rgi_check(pthread_join(writers[i].thread, NULL) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* Short, failed, cancelled: the vectors are as the caller made them. */
void
vec_06_vectors_stay_as_they_were(struct stage *stage)
{
    char *bytes = bytes_of(8 * MIB);
    const struct rgm_vector before[3] = {
        {bytes, 10}, {bytes + 10, 8 * MIB - 20}, {bytes + 8 * MIB - 10, 10}};
    struct rgm_vector vectors[3];
    struct write_step write = {0};
    struct rgm_stream near;
    int peer;

    memcpy(vectors, before, sizeof(vectors));
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_write_vectors(&write.op, &near, vectors, 3);
    write.op.some = true;
    rgi_check(stage_run(stage, &write) == 0);
    rgi_check(write.op.count > 0 && write.op.count < 8 * MIB);
    rgi_check(memcmp(vectors, before, sizeof(vectors)) == 0);
    rgi_check(write.op.vectors == vectors && write.op.vectors_count == 3);
    rgm_stream_write_vectors(&write.op, &near, vectors, 3);
    stage_begin(stage, &write);
    (void)stage_counters(stage);
    stage_cancel(stage, &write);
    rgi_check(stage_end(stage, &write) == -ECANCELED);
    rgi_check(memcmp(vectors, before, sizeof(vectors)) == 0);
    rgi_check(write.op.vectors == vectors && write.op.vectors_count == 3);
    peer_reset(peer);
    rgm_stream_write_vectors(&write.op, &near, vectors, 3);
    rgi_check(stage_run(stage, &write) < 0);
    rgi_check(memcmp(vectors, before, sizeof(vectors)) == 0);
    rgi_check(write.op.vectors == vectors && write.op.vectors_count == 3);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
    free(bytes);
}

/* More vectors than the kernel takes at once, empty ones among them. */
void
many_vectors_are_one_write(struct stage *stage)
{
    enum { VECTORS = 5000 };
    struct mover receiver = {0};
    struct rgm_vector *vectors = calloc(VECTORS, sizeof(*vectors));
    uint64_t random = rgi_seed();
    uint64_t piece_bytes = short_is_on() ? 2 : 200;
    struct rgm_stream near;
    struct rgm_write write;
    size_t total = 0;
    char *bytes;

    rgi_check(vectors != NULL);
    bytes = bytes_of((size_t)VECTORS * 200);
    for (size_t i = 0; i < VECTORS; i++) {
        vectors[i].data = bytes + total;
        vectors[i].length_bytes = next_random(&random) % piece_bytes;
        if (i % 7 == 0)
            vectors[i].length_bytes = 0;
        total += vectors[i].length_bytes;
    }
    stage_open(stage);
    receiver.peer = stage_pair(stage, &near);
    receiver.length_bytes = total;
    mover_start(&receiver, receiver_main);
    rgm_stream_write_vectors(&write, &near, vectors, VECTORS);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count == total);
    mover_join(&receiver);
    rgi_check(receiver.moved_bytes == total);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(receiver.peer);
    stage_close(stage);
    free(bytes);
    free(vectors);
}

void
some_is_one_short_transfer(struct stage *stage)
{
    struct mover receiver = {0};
    char *bytes = bytes_of(8 * MIB);
    struct rgm_stream near;
    struct rgm_write write;

    stage_open(stage);
    receiver.peer = stage_pair(stage, &near);
    rgm_stream_write(&write, &near, bytes, 8 * MIB);
    write.some = true;
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count > 0 && write.count < 8 * MIB);
    receiver.length_bytes = write.count;
    mover_start(&receiver, receiver_main);
    mover_join(&receiver);
    peer_expect_nothing(receiver.peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(receiver.peer);
    stage_close(stage);
    free(bytes);
}

/* What has gone out stays out, and its count is the truth. */
void
cancelled_write_says_how_much_went_out(struct stage *stage)
{
    char *bytes = bytes_of(8 * MIB), *seen = malloc(8 * MIB);
    struct write_step write = {0};
    struct rgm_stream near;
    int peer;

    rgi_check(seen != NULL);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_write(&write.op, &near, bytes, 8 * MIB);
    stage_begin(stage, &write);
    peer_receive(peer, seen, 1); /* some of it is out */
    stage_cancel(stage, &write);
    rgi_check(stage_end(stage, &write) == -ECANCELED);
    rgi_check(write.op.count > 0 && write.op.count < 8 * MIB);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_receive(peer, seen + 1, write.op.count - 1);
    rgi_check(memcmp(seen, bytes, write.op.count) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
    free(seen);
    free(bytes);
}

/* ------------------------------------------------------------------- errors */

void
failed_connect_leaves_the_handle(struct stage *stage)
{
    struct rgm_endpoint nobody = loopback();
    struct rgm_connect connect;
    struct rgm_stream stream = {0};
    const struct rgm_stream before = {0};
    struct rgm_endpoint somebody = loopback();
    int listener, peer;
    char byte;

    stage_open(stage);
    peer_close(peer_listen(&nobody, 1));
    listener = peer_listen(&somebody, 1);
    rgm_stream_connect(&connect, rgm_worker_address(0), &stream, &nobody);
    rgi_check(rgm_call(stage->runtime, &connect) == -ECONNREFUSED);
    rgi_check(memcmp(&stream, &before, sizeof(stream)) == 0);
    rgm_stream_connect(&connect, rgm_worker_address(0), &stream, &somebody);
    rgi_check(rgm_call(stage->runtime, &connect) == 0);
    peer = peer_accept(listener);
    for (int i = 0; i < 100; i++) {
        rgi_check(stage_write(stage, &stream, "x", 1) == 0);
        peer_receive(peer, &byte, 1);
    }
    rgi_check(stage_close_stream(stage, &stream) == 0);
    peer_close(peer);
    peer_close(listener);
    stage_close(stage);
}

void
reset_is_an_error_with_its_number(struct stage *stage)
{
    struct rgm_stream near;
    char byte;
    bool end;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_reset(peer);
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == -ECONNRESET);
    rgi_check(stage_write(stage, &near, "x", 1) == -EPIPE);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
}

void
field_b61_shutdown_after_a_reset(struct stage *stage)
{
    struct rgm_stream near;
    char byte;
    bool end;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(stage_shutdown(stage, &near) == 0);
    rgi_check(stage_shutdown(stage, &near) == 0);
    peer_expect_end(peer);
    peer_send(peer, "x", 1); /* reading goes on */
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    peer = stage_pair(stage, &near);
    peer_reset(peer);
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == -ECONNRESET);
    for (int i = 0; i < 3; i++) {
        int status = stage_shutdown(stage, &near);

        rgi_check(status == 0 || status == -ENOTCONN);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
}

/* Reading is paused until the answer is out; nothing is lost at either end. */
void
field_b71_half_closed_and_drained(struct stage *stage)
{
    const size_t length_bytes = short_bulk(MIB);
    struct mover sender = {.length_bytes = length_bytes, .ends = true};
    struct mover receiver = {.length_bytes = length_bytes};
    char *bytes = bytes_of(length_bytes);
    struct write_step write = {0};
    struct rgm_stream near;

    stage_open(stage);
    sender.peer = stage_pair(stage, &near);
    receiver.peer = sender.peer;
    mover_start(&sender, sender_main);
    mover_start(&receiver, receiver_main);
    rgm_stream_write(&write.op, &near, bytes, length_bytes);
    rgi_check(stage_run(stage, &write) == 0);
    rgi_check(stage_shutdown(stage, &near) == 0);
    rgi_check(read_pattern_to_end(stage, &near) == length_bytes);
    mover_join(&sender);
    mover_join(&receiver);
    rgi_check(receiver.moved_bytes == length_bytes);
    peer_expect_end(sender.peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(sender.peer);
    stage_close(stage);
    free(bytes);
}

static void
transfer_both_ways(struct stage *stage, bool blocking, size_t length_bytes)
{
    struct mover sender = {.length_bytes = length_bytes, .ends = true};
    struct mover receiver = {.length_bytes = length_bytes};
    char *bytes = bytes_of(length_bytes);
    struct write_step write = {0};
    struct rgm_stream near;

    sender.peer = stage_pair(stage, &near);
    receiver.peer = sender.peer;
    set_mode(descriptor_of_peer(sender.peer), blocking);
    mover_start(&sender, sender_main);
    rgm_stream_write(&write.op, &near, bytes, length_bytes);
    stage_begin(stage, &write);
    rgi_check(read_pattern_to_end(stage, &near) == length_bytes);
    mover_start(&receiver, receiver_main);
    rgi_check(stage_end(stage, &write) == 0);
    mover_join(&sender);
    mover_join(&receiver);
    rgi_check(receiver.moved_bytes == length_bytes);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(sender.peer);
    free(bytes);
}

/* No EAGAIN reaches the user, and no call blocks the worker: the write waits
 * for its peer while the reads go on. */
void
field_b73_either_descriptor_mode(struct stage *stage)
{
    size_t length_bytes = short_bulk(rgi_scale_is_full() ? 64 * MIB : 8 * MIB);

    stage_open(stage);
    transfer_both_ways(stage, true, length_bytes);
    transfer_both_ways(stage, false, length_bytes);
    stage_close(stage);
}

static void
no_signal_is_pending(struct puppet *puppet, void *argument)
{
    sigset_t pending;

    (void)puppet;
    (void)argument;
    rgi_check(sigpending(&pending) == 0);
    rgi_check(sigismember(&pending, SIGPIPE) == 0);
}

static void
write_until_broken(struct stage *stage, struct rgm_stream *stream,
                   size_t vectors_count, bool some)
{
    const struct rgm_vector vectors[2] = {{"one", 3}, {"two", 3}};
    struct rgm_write write;
    int status = 0;

    while (status == 0) {
        rgm_stream_write_vectors(&write, stream, vectors, vectors_count);
        write.some = some;
        status = rgm_call(stage->runtime, &write);
    }
    rgi_check(status == -EPIPE || status == -ECONNRESET);
    rgm_stream_write_vectors(&write, stream, vectors, vectors_count);
    write.some = some;
    rgi_check(rgm_call(stage->runtime, &write) == -EPIPE);
}

/* Each way to send, to a peer that has gone, by TCP and by a Unix socket. */
void
field_b74_no_signal_from_any_send(struct stage *stage)
{
    char path[64];
    struct rgm_stream near;

    snprintf(path, sizeof(path), "/tmp/ringmail-b74-%ld", (long)getpid());
    (void)unlink(path);
    rgi_check(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    stage_open(stage);
    for (int unix_socket = 0; unix_socket < 2; unix_socket++) {
        for (size_t i = 0; i < 4; i++) {
            peer_close(stage_pair(stage, &near));
            write_until_broken(stage, &near, 1 + i % 2, i / 2 == 1);
            rgi_check(stage_close_stream(stage, &near) == 0);
        }
        rgi_check(stage_close_listener(stage, &stage->listener) == 0);
        if (unix_socket == 0) {
            struct rgm_listen listen;

            rgi_check(rgm_endpoint_parse(path, 0, &stage->endpoint) == 0);
            memset(&stage->listener, 0, sizeof(stage->listener));
            rgm_stream_listen(&listen, rgm_worker_address(0), &stage->listener,
                              &stage->endpoint, false);
            rgi_check(rgm_call(stage->runtime, &listen) == 0);
        }
    }
    stage_do(stage, no_signal_is_pending, NULL);
    rgi_check(shim_sends_with_signal() == 0);
    rgi_check(unlink(path) == 0);
    stage_close(stage);
}
