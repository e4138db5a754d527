/* SPDX-License-Identifier: MIT */

/* pooled_cases.c - what must every provider show of reads into a pool? */

#include "conformance/pooled_cases.h"

#include <stdlib.h>

#include "conformance/hall.h"

/* An attempt may have the slot for a moment; a reader that waits has not. */
static void
acquire(struct rgm_pool *pool, struct rgm_lease *ret_lease)
{
    while (rgm_pool_try_acquire(pool, ret_lease) != 0)
        continue;
}

static void
begin_pooled(struct stage *stage, struct pooled_step *read,
             struct rgm_stream *stream, struct rgm_pool *pool)
{
    rgm_stream_read_pooled(&read->op, stream, pool);
    stage_begin(stage, read);
}

static void
end_pooled(struct stage *stage, struct pooled_step *read, const char *text)
{
    size_t length = strlen(text);

    rgi_check(stage_end(stage, read) == 0);
    rgi_check(read->op.count == length);
    rgi_check(read->op.lease.length_bytes == length);
    rgi_check(memcmp(read->op.lease.data, text, length) == 0);
    rgi_check(rgm_lease_drop(&read->op.lease) == 0);
}

void
srd_06_waiting_readers_hold_no_slot(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct pooled_step first = {0}, second = {0};
    struct rgm_stream near[2];
    struct rgm_lease lease;
    int peers[2];

    stage_open(stage);
    for (int i = 0; i < 2; i++)
        peers[i] = stage_pair(stage, &near[i]);
    begin_pooled(stage, &first, &near[0], pool);
    begin_pooled(stage, &second, &near[1], pool);
    (void)stage_counters(stage);
    acquire(pool, &lease);
    peer_send(peers[0], "one", 3); /* there is data now, and no slot */
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &first) && stage_is_out(stage, &second));
    rgi_check(rgm_lease_drop(&lease) == 0);
    end_pooled(stage, &first, "one");
    peer_send(peers[1], "two", 3);
    end_pooled(stage, &second, "two");
    for (int i = 0; i < 2; i++) {
        rgi_check(stage_close_stream(stage, &near[i]) == 0);
        peer_close(peers[i]);
    }
    stage_close(stage);
    rgm_pool_destroy(pool);
}

struct reader {
    struct rgm_stream stream;
    struct pooled_step read;
    int peer;
};

/* Many more than there are slots, or entries in the ring. */
void
srd_07_idle_connections_hold_nothing(struct stage *stage)
{
    uint32_t count = hall_descriptors(200 + (uint32_t)rgi_scale(10000));
    struct rgm_pool *pool = pool_of(4, 64);
    struct reader *readers = calloc(count, sizeof(*readers));
    struct rgm_stream fresh;
    struct pooled_step read = {0};
    struct rgm_lease lease;
    int peer;

    rgi_check(readers != NULL);
    stage->options.ring_entries = 8;
    stage_open(stage);
    for (uint32_t i = 0; i < count; i++) {
        readers[i].peer = stage_pair(stage, &readers[i].stream);
        begin_pooled(stage, &readers[i].read, &readers[i].stream, pool);
    }
    rgi_check(stage_in_flight(stage) == count);
    acquire(pool, &lease); /* nobody has all of them */
    rgi_check(rgm_lease_drop(&lease) == 0);
    peer = stage_pair(stage, &fresh);
    begin_pooled(stage, &read, &fresh, pool);
    peer_send(peer, "hello", 5);
    end_pooled(stage, &read, "hello");
    rgi_check(stage_write(stage, &fresh, "hello", 5) == 0);
    rgi_check(stage_close_stream(stage, &fresh) == 0);
    peer_close(peer);
    for (uint32_t i = 0; i < count; i++)
        peer_send(readers[i].peer, "x", 1);
    for (uint32_t left = count; left > 0;) /* whichever come first */
        for (uint32_t i = 0; i < count; i++)
            if (readers[i].peer >= 0 &&
                !stage_is_out(stage, &readers[i].read)) {
                end_pooled(stage, &readers[i].read, "x");
                peer_close(readers[i].peer);
                readers[i].peer = -1;
                left--;
            }
    for (uint32_t i = 0; i < count; i++)
        rgi_check(stage_close_stream(stage, &readers[i].stream) == 0);
    stage_close(stage);
    rgm_pool_destroy(pool);
    free(readers);
}

void
bpl_09_one_byte_view_holds_the_slot(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct pooled_step read = {0};
    struct rgm_view view, byte;
    struct rgm_stream near;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "first", 5);
    begin_pooled(stage, &read, &near, pool);
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(rgm_lease_freeze(&read.op.lease, &view) == 0);
    rgi_check(rgm_view_range(&view, 2, 1, &byte) == 0);
    rgm_view_drop(&view);
    peer_send(peer, "second", 6);
    begin_pooled(stage, &read, &near, pool);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &read));
    rgi_check(memcmp(byte.data, "r", 1) == 0);
    rgm_view_drop(&byte);
    end_pooled(stage, &read, "second");
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* --------------------------------------------------------------- two slots */

/* Reads the next message while the last one is written. Worker 0's alone. */
struct two_slots {
    struct puppet *puppet;
    struct rgm_stream *stream;
    struct rgm_pool *pool;
    struct rgm_read_pooled read;
    struct rgm_write write;
    struct rgm_view written; /* what `write` writes */
    struct rgm_view next;    /* read, and waiting for its turn */
    bool writing;
    bool reading;
    bool holds; /* views are kept in `held` instead of dropped */
    struct rgm_view held[2];
    int held_count;
    bool over;
};

static struct two_slots *two_slots_now;

static void two_read(struct two_slots *echo);
static void two_answered(struct rgm_actor *self, struct rgm_request *request);

static void
two_write(struct two_slots *echo)
{
    if (echo->writing || echo->next.data == NULL)
        return;
    echo->written = echo->next;
    memset(&echo->next, 0, sizeof(echo->next));
    echo->writing = true;
    rgm_stream_write(&echo->write, echo->stream, echo->written.data,
                     echo->written.length_bytes);
    rgm_ask_request(&echo->puppet->actor, &echo->write.request, two_answered);
}

static void
two_read(struct two_slots *echo)
{
    if (echo->reading || echo->next.data != NULL || echo->over)
        return;
    echo->reading = true;
    rgm_stream_read_pooled(&echo->read, echo->stream, echo->pool);
    rgm_ask_request(&echo->puppet->actor, &echo->read.request, two_answered);
}

static void
two_has_read(struct two_slots *echo)
{
    echo->reading = false;
    if (rgm_status(&echo->read) != 0 || echo->read.end) {
        echo->over = true;
        return;
    }
    rgi_check(rgm_lease_freeze(&echo->read.lease, &echo->next) == 0);
}

static void
two_has_written(struct two_slots *echo)
{
    rgi_check(rgm_status(&echo->write) == 0);
    echo->writing = false;
    if (echo->holds && echo->held_count < 2)
        echo->held[echo->held_count++] = echo->written;
    else
        rgm_view_drop(&echo->written);
}

static void
two_answered(struct rgm_actor *self, struct rgm_request *request)
{
    struct two_slots *echo = two_slots_now;

    (void)self;
    if (request == &echo->read.request)
        two_has_read(echo);
    else
        two_has_written(echo);
    two_write(echo);
    two_read(echo);
}

static void
two_begin(struct puppet *puppet, void *argument)
{
    two_slots_now = argument;
    two_slots_now->puppet = puppet;
    two_read(two_slots_now);
}

/* Once nothing of before is being written. */
static void
two_hold(struct puppet *puppet, void *argument)
{
    (void)puppet;
    two_slots_now->holds = !two_slots_now->writing;
    *(bool *)argument = two_slots_now->holds;
}

static void
two_let_go(struct puppet *puppet, void *argument)
{
    struct two_slots *echo = argument;

    (void)puppet;
    echo->holds = false;
    while (echo->held_count > 0)
        rgm_view_drop(&echo->held[--echo->held_count]);
}

static void
two_is_over(struct puppet *puppet, void *argument)
{
    struct two_slots *echo = two_slots_now;

    (void)puppet;
    *(bool *)argument = echo->over && !echo->writing;
}

/* So many messages, each as long as a slot, are out at once. */
enum { BATCH = 32, MESSAGE_BYTES = 64 };

void
bpl_19_echo_lives_on_two_slots(struct stage *stage)
{
    const uint64_t batches = 30 + rgi_scale(1000000) / BATCH;
    struct rgm_pool *pool = pool_of(2, MESSAGE_BYTES);
    struct rgm_stream near;
    struct two_slots echo = {.stream = &near, .pool = pool};
    bool over = false, holds = false;
    char sent[BATCH * MESSAGE_BYTES], answer[BATCH * MESSAGE_BYTES];
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, two_begin, &echo);
    for (uint64_t i = 0; i < batches; i++) {
        pattern_fill(sent, sizeof(sent), i * sizeof(sent));
        peer_send(peer, sent, sizeof(sent));
        peer_receive(peer, answer, sizeof(answer));
        rgi_check(memcmp(answer, sent, sizeof(sent)) == 0);
    }
    while (!holds)
        stage_do(stage, two_hold, &holds);
    for (int i = 0; i < 2; i++) {
        peer_send(peer, "keep", 4);
        peer_receive(peer, answer, 4);
    }
    peer_send(peer, "more", 4);
    (void)stage_counters(stage);
    peer_expect_nothing(peer); /* both slots are held: it stalls by design */
    stage_do(stage, two_let_go, &echo);
    peer_receive(peer, answer, 4);
    rgi_check(memcmp(answer, "more", 4) == 0);
    peer_close(peer);
    while (!over)
        stage_do(stage, two_is_over, &over);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------- other workers */

static void
drop_here(struct puppet *puppet, void *argument)
{
    (void)puppet;
    rgi_check(rgm_lease_drop(argument) == 0);
}

void
slot_freed_on_one_worker_feeds_another(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct pooled_step read = {0};
    struct rgm_stream near;
    struct rgm_lease lease;
    int peer;

    stage->options.workers = 2;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (int i = 0; i < 20; i++) {
        rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
        peer_send(peer, "data", 4);
        begin_pooled(stage, &read, &near, pool);
        if (i % 2 == 0)
            (void)stage_counters(stage); /* it is in line for certain */
        rgi_check(stage_is_out(stage, &read));
        stage_do_on(stage, 1, drop_here, &lease);
        end_pooled(stage, &read, "data");
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* What waits for a slot of a pool that closes is told so; what has no data yet
 * hears of it when there is some, or is cancelled. */
void
closed_pool_ends_reads(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct pooled_step starved = {0};
    struct rgm_stream near;
    struct rgm_lease lease;
    int peer, status;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    peer_send(peer, "data", 4);
    begin_pooled(stage, &starved, &near, pool);
    (void)stage_counters(stage);
    rgm_pool_close(pool);
    rgi_check(rgm_lease_drop(&lease) == 0);
    status = stage_end(stage, &starved);
    rgi_check(status == -EPIPE);
    rgi_check(!rgm_lease_active(&starved.op.lease));
    begin_pooled(stage, &starved, &near, pool);
    rgi_check(stage_end(stage, &starved) == -EPIPE);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

void
pooled_reads_come_in_order(struct stage *stage)
{
    const size_t total = 200000;
    struct rgm_pool *pool = pool_of(3, 1000);
    char *bytes = malloc(total);
    struct pooled_step read = {0};
    struct rgm_stream near;
    size_t received = 0, sent = 0;
    int peer;

    rgi_check(bytes != NULL);
    pattern_fill(bytes, total, 0);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    while (received < total) {
        if (sent < total && sent - received < 50000) {
            size_t piece = total - sent < 10000 ? total - sent : 10000;

            peer_send(peer, bytes + sent, piece);
            sent += piece;
        }
        begin_pooled(stage, &read, &near, pool);
        rgi_check(stage_end(stage, &read) == 0 && read.op.count > 0);
        rgi_check(pattern_holds(read.op.lease.data, read.op.count, received));
        received += read.op.count;
        rgi_check(rgm_lease_drop(&read.op.lease) == 0);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
    free(bytes);
}

/* -------------------------------------------------------- writes that own */

#define LARGE_BYTES ((size_t)8 << 20) /* more than the kernel takes at once */

static void
take_view(struct rgm_pool *pool, struct rgm_view *ret_view)
{
    struct rgm_lease lease;

    acquire(pool, &lease);
    pattern_fill(lease.data, lease.length_bytes, 0);
    rgi_check(rgm_lease_freeze(&lease, ret_view) == 0);
}

/* The peer does not read: the slot is the write's, though nobody here holds it
 * any more, until the write is over. */
void
bpl_10_write_keeps_its_slot_until_it_is_over(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, LARGE_BYTES);
    struct write_step write = {0};
    struct rgm_stream near;
    struct rgm_lease lease;
    struct rgm_view view;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    take_view(pool, &view);
    rgm_stream_write_view(&write.op, &near, &view);
    rgi_check(view.block == NULL);
    stage_begin(stage, &write);
    peer_receive(peer, &byte, 1); /* it has begun */
    rgi_check(stage_is_out(stage, &write));
    rgi_check(rgm_pool_try_acquire(pool, &lease) == -EAGAIN);
    stage_cancel(stage, &write);
    rgi_check(stage_end(stage, &write) == -ECANCELED);
    rgi_check(write.op.count > 0 && write.op.count < LARGE_BYTES);
    rgi_check(write.op.owned.block == NULL);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

struct receiver {
    int peer;
    size_t length_bytes;
};

static void *
receive_all(void *argument)
{
    struct receiver *receiver = argument;
    char *bytes = malloc(receiver->length_bytes);

    rgi_check(bytes != NULL);
    peer_receive(receiver->peer, bytes, receiver->length_bytes);
    rgi_check(pattern_holds(bytes, receiver->length_bytes, 0));
    free(bytes);
    return NULL;
}

/* One slot, and somebody waits for it: neither the answer need be looked at nor
 * anything dropped. */
void
swr_13_slot_is_home_with_the_answer(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, LARGE_BYTES);
    struct acquire_step next = {.track = {0, 0}};
    struct write_step write = {0};
    struct receiver receiver;
    struct rgm_stream near;
    struct rgm_view view;
    pthread_t thread;

    stage_open(stage);
    receiver = (struct receiver){stage_pair(stage, &near), LARGE_BYTES};
    take_view(pool, &view);
    rgm_stream_write_view(&write.op, &near, &view);
    stage_begin(stage, &write);
    rgm_pool_acquire(&next.op, rgm_worker_address(0), pool);
    stage_begin(stage, &next);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &next));
    rgi_check(pthread_create(&thread, NULL, receive_all, &receiver) == 0);
    rgi_check(stage_end(stage, &next) == 0);
    rgi_check(rgm_lease_drop(&next.op.lease) == 0);
    rgi_check(stage_end(stage, &write) == 0 && write.op.count == LARGE_BYTES);
    rgi_check(pthread_join(thread, NULL) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(receiver.peer);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(pool) == 1);
    rgm_pool_destroy(pool);
}

/* Memory of the test's own, which counts how often it was let go. */
struct owner {
    struct rgm_block block;
    _Atomic uint32_t released;
    size_t length_bytes;
    char *bytes;
};

static void
owner_release(struct rgm_block *block)
{
    struct owner *owner = (struct owner *)(void *)block;

    owner->released++;
    memset(owner->bytes, 0xee, owner->length_bytes); /* nobody may look now */
}

static void
owner_init(struct owner *owner, size_t length_bytes, struct rgm_view *ret_view)
{
    owner->released = 0;
    owner->length_bytes = length_bytes;
    owner->bytes = malloc(length_bytes);
    rgi_check(owner->bytes != NULL);
    pattern_fill(owner->bytes, length_bytes, 0);
    rgm_block_init(&owner->block, owner_release);
    *ret_view = rgm_view_of(&owner->block, owner->bytes, length_bytes);
    rgm_block_drop(&owner->block);
}

void
buf_05_owner_is_released_once_and_afterwards(struct stage *stage)
{
    struct write_step write = {0};
    struct receiver receiver;
    struct rgm_stream near, closed = {0};
    struct owner owner;
    struct rgm_view view;
    pthread_t thread;

    stage_open(stage);
    receiver = (struct receiver){stage_pair(stage, &near), LARGE_BYTES};

    owner_init(&owner, 16, &view); /* never asked: it is the record's still */
    rgm_stream_write_view(&write.op, &near, &view);
    rgi_check(owner.released == 0);
    rgm_view_drop(&write.op.owned);
    rgi_check(owner.released == 1);
    free(owner.bytes);

    owner_init(&owner, 16, &view); /* refused: unchanged */
    rgm_stream_write_view(&write.op, &closed, &view);
    rgi_check(stage_run(stage, &write) == -EBADF);
    rgi_check(owner.released == 0 && write.op.owned.data == owner.bytes);
    rgi_check(write.op.owned.length_bytes == 16);
    rgm_view_drop(&write.op.owned);
    rgi_check(owner.released == 1);
    free(owner.bytes);

    owner_init(&owner, LARGE_BYTES, &view); /* success: every byte arrives */
    rgm_stream_write_view(&write.op, &near, &view);
    stage_begin(stage, &write);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &write) && owner.released == 0);
    rgi_check(pthread_create(&thread, NULL, receive_all, &receiver) == 0);
    rgi_check(stage_end(stage, &write) == 0 && owner.released == 1);
    rgi_check(pthread_join(thread, NULL) == 0);
    free(owner.bytes);

    /* An error, half-way. Another pair: who has read much is given a buffer that
     * all of it may fit into. */
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(receiver.peer);
    receiver.peer = stage_pair(stage, &near);
    owner_init(&owner, LARGE_BYTES, &view);
    rgm_stream_write_view(&write.op, &near, &view);
    stage_begin(stage, &write);
    (void)stage_counters(stage);
    rgi_check(owner.released == 0);
    peer_reset(receiver.peer);
    rgi_check(stage_end(stage, &write) < 0 && owner.released == 1);
    free(owner.bytes);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
}

static void
write_and_end(struct puppet *puppet, void *argument)
{
    struct write_step *write = argument;

    puppet_begin(puppet, write);
    rgm_stop(puppet);
}

/* Its asker stops in the very moment. */
void
buf_05_owner_outlives_its_asker(struct stage *stage)
{
    struct write_step write = {0};
    struct rgm_stream near;
    struct owner owner;
    struct rgm_view view;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    owner_init(&owner, LARGE_BYTES, &view);
    rgm_stream_write_view(&write.op, &near, &view);
    stage_do(stage, write_and_end, &write);
    rgi_check(stage_end(stage, &write) == -ECANCELED);
    rgi_check(owner.released == 1);
    free(owner.bytes);
    peer_close(peer);
    stage_close(stage);
    rgi_check(owner.released == 1 && stage_answers(stage, &write) == 1);
}

/* ----------------------------------------------------------------- framing */

/* Cuts lines out of chunks, as a parser of the user's does: whole lines are
 * views of their chunk, and only what a chunk leaves unfinished is copied. */
struct cutter {
    struct rgm_view lines[64];
    unsigned count;
    char tail[64];
    size_t tail_bytes;
    size_t copied_bytes;
    unsigned joined; /* lines that had to be put together */
};

static void
cutter_keep_tail(struct cutter *cutter, const char *from, size_t length_bytes)
{
    rgi_check(cutter->tail_bytes + length_bytes <= sizeof(cutter->tail));
    memcpy(cutter->tail + cutter->tail_bytes, from, length_bytes);
    cutter->tail_bytes += length_bytes;
    cutter->copied_bytes += length_bytes;
}

static void
cutter_feed(struct cutter *cutter, const struct rgm_view *chunk)
{
    const char *bytes = chunk->data;
    size_t begin = 0;

    for (size_t i = 0; i < chunk->length_bytes; i++) {
        if (bytes[i] != '\n')
            continue;
        if (cutter->tail_bytes > 0) {
            cutter_keep_tail(cutter, bytes, i + 1);
            cutter->joined++;
            cutter->tail_bytes = 0;
        } else {
            rgi_check(cutter->count < 64);
            rgi_check(rgm_view_range(chunk, begin, i + 1 - begin,
                                     &cutter->lines[cutter->count++]) == 0);
        }
        begin = i + 1;
    }
    cutter_keep_tail(cutter, bytes + begin, chunk->length_bytes - begin);
}

void
bpl_23_frames_are_views_and_tails_are_copied(struct stage *stage)
{
    static const char text[] = "alpha\nbeta\ngam" "ma\ndelta\nepsil" "on\n";
    struct rgm_pool *pool = pool_of(3, 14);
    struct cutter cutter = {.count = 0};
    struct rgm_stream near;
    const char *slots[3];
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, text, sizeof(text) - 1);
    for (size_t left = sizeof(text) - 1, i = 0; left > 0; i++) {
        struct pooled_step read = {0};
        struct rgm_view chunk;

        begin_pooled(stage, &read, &near, pool);
        rgi_check(stage_end(stage, &read) == 0);
        slots[i] = read.op.lease.data;
        left -= read.op.count;
        rgi_check(rgm_lease_freeze(&read.op.lease, &chunk) == 0);
        cutter_feed(&cutter, &chunk);
        rgm_view_drop(&chunk);
    }
    rgi_check(cutter.count == 3 && cutter.joined == 2);
    rgi_check(cutter.copied_bytes == strlen("gamma\nepsilon\n"));
    for (unsigned i = 0; i < 3; i++) {
        const char *line = cutter.lines[i].data;

        rgi_check((line >= slots[0] && line < slots[0] + 14) ||
                  (line >= slots[1] && line < slots[1] + 14));
    }
    rgi_check(memcmp(cutter.lines[2].data, "delta\n", 6) == 0);
    rgm_view_drop(&cutter.lines[0]);
    rgi_check(rgm_pool_free_count(pool) == 1); /* "beta" holds the first */
    rgm_view_drop(&cutter.lines[1]);
    rgi_check(rgm_pool_free_count(pool) == 2);
    cutter.tail_bytes = 0;
    cutter_keep_tail(&cutter, cutter.lines[2].data, 6); /* copied out */
    rgm_view_drop(&cutter.lines[2]);
    rgi_check(rgm_pool_free_count(pool) == 3);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}
