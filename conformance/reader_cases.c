/* SPDX-License-Identifier: MIT */

/* reader_cases.c - what must input in pieces and frames show? */

#include "conformance/reader_cases.h"

#include <sys/ioctl.h>
#include <sys/socket.h>

#include "conformance/order.h"
#include "conformance/shim.h"

STEP(next_step, rgm_next);
STEP(exact_step, rgm_exact);
STEP(reader_close_step, rgm_reader_close);

struct opening {
    struct rgm_stream *stream;
    struct rgm_reader *reader;
    struct rgm_reader_options options;
    int status;
};

static void
open_here(struct puppet *puppet, void *argument)
{
    struct opening *opening = argument;

    opening->status = rgm_reader_open(puppet, opening->stream,
                                      &opening->options, opening->reader);
}

static int
reader_open(struct stage *stage, struct rgm_stream *stream,
            struct rgm_pool *pool, uint32_t window, struct rgm_reader *reader)
{
    struct opening opening = {stream, reader, {pool, window}, 0};

    *reader = (struct rgm_reader){0};
    stage_do(stage, open_here, &opening);
    return opening.status;
}

static void
drop_here(struct puppet *puppet, void *argument)
{
    struct opening *opening = argument;

    opening->status = rgm_reader_drop(puppet, opening->reader);
}

static int
reader_drop(struct stage *stage, struct rgm_reader *reader)
{
    struct opening opening = {.reader = reader};

    stage_do(stage, drop_here, &opening);
    return opening.status;
}

static int
reader_close(struct stage *stage, struct rgm_reader *reader)
{
    struct rgm_reader_close record;

    rgm_reader_close(&record, reader);
    return rgm_call(stage->runtime, &record);
}

/* The next piece is this text. */
static void
expect_text(struct stage *stage, struct rgm_reader *reader, const char *text)
{
    struct rgm_next next;

    rgm_reader_next(&next, reader);
    rgi_check(rgm_call(stage->runtime, &next) == 0 && !next.end);
    rgi_check(next.count == strlen(text));
    rgi_check(memcmp(next.data, text, next.count) == 0);
    rgi_check(rgm_lease_drop(&next.lease) == 0);
}

static int
exact(struct stage *stage, struct rgm_reader *reader, void *memory,
      size_t length_bytes, bool peek, bool *ret_end)
{
    struct rgm_exact record;
    int status;

    rgm_reader_exact(&record, reader, memory, length_bytes);
    record.peek = peek;
    status = rgm_call(stage->runtime, &record);
    *ret_end = record.end;
    rgi_check(status < 0 || record.end || record.count == length_bytes);
    return status;
}

/* A connection, a pool, and a reader from the one into the other. */
struct desk {
    struct rgm_stream near;
    struct rgm_pool *pool;
    struct rgm_reader reader;
    int peer;
};

static void
desk_open(struct stage *stage, struct desk *desk, uint32_t slots_count,
          size_t slot_size_bytes, uint32_t window)
{
    desk->pool = pool_of(slots_count, slot_size_bytes);
    stage_open(stage);
    desk->peer = stage_pair(stage, &desk->near);
    rgi_check(reader_open(stage, &desk->near, desk->pool, window,
                          &desk->reader) == 0);
}

/* Every slot is home. */
static void
desk_close(struct stage *stage, struct desk *desk)
{
    rgi_check(reader_drop(stage, &desk->reader) == 0);
    rgi_check(desk->reader.input == NULL);
    while (stage_busy(stage, &desk->near) > 0)
        (void)stage_counters(stage);
    rgi_check(stage_close_stream(stage, &desk->near) == 0);
    peer_close(desk->peer);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(desk->pool) == rgm_pool_capacity(desk->pool));
    rgm_pool_destroy(desk->pool);
}

void
srd_01_opening_a_reader_does_nothing(struct stage *stage)
{
    struct rgm_endpoint here = loopback();
    struct rgm_packet packet = {0};
    struct rgm_stream none = {0};
    struct rgm_packet_open open;
    struct rgm_close close;
    struct desk desk;

    stage->spied = true;
    stage_open(stage);
    desk.pool = pool_of(2, 64);
    desk.peer = stage_pair(stage, &desk.near);
    peer_send(desk.peer, "x", 1);
    rgi_check(reader_open(stage, &desk.near, desk.pool, 0, &desk.reader) == 0);
    rgi_check(spy_of(0)->submits[RGM_OP_READ_POOLED] == 0);
    rgi_check(spy_of(0)->transfers == 0);
    rgi_check(rgm_pool_free_count(desk.pool) == 2);
    rgi_check(reader_drop(stage, &desk.reader) == 0);
    rgi_check(reader_drop(stage, &desk.reader) == 0); /* not open: nothing */
    rgi_check(reader_open(stage, &none, desk.pool, 0, &desk.reader) == -EBADF);
    rgi_check(reader_open(stage, &desk.near, desk.pool,
                          RGM_READER_WINDOW_MAX + 1, &desk.reader) == -EINVAL);
    rgi_check(reader_open(stage, (struct rgm_stream *)(void *)&stage->listener,
                          desk.pool, 0, &desk.reader) == -EINVAL);
    rgm_packet_open(&open, rgm_worker_address(0), &packet, &here, NULL);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    rgi_check(reader_open(stage, (struct rgm_stream *)(void *)&packet,
                          desk.pool, 0, &desk.reader) == -EINVAL);
    rgi_check(desk.reader.input == NULL);
    rgm_packet_close(&close, &packet);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
    rgi_check(reader_open(stage, &desk.near, desk.pool, RGM_READER_WINDOW_MAX,
                          &desk.reader) == 0);
    expect_text(stage, &desk.reader, "x");
    desk_close(stage, &desk);
}

/* A reader that was given no pool has none before its first piece. */
void
bpl_17_a_reader_without_a_pool_gets_one_when_it_reads(struct stage *stage)
{
    struct rgm_reader reader;
    struct rgm_stream near;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(reader_open(stage, &near, NULL, 0, &reader) == 0);
    rgi_check(stage_counters(stage).read_pools == 0);
    peer_send(peer, "piece", 5);
    expect_text(stage, &reader, "piece");
    rgi_check(stage_counters(stage).read_pools == 1);
    peer_send(peer, "another", 7);
    expect_text(stage, &reader, "another");
    rgi_check(stage_counters(stage).read_pools == 1);
    rgi_check(reader_drop(stage, &reader) == 0);
    while (stage_busy(stage, &near) > 0)
        (void)stage_counters(stage);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
srd_02_piece_then_end_and_end_again(struct stage *stage)
{
    struct desk desk;
    struct rgm_next next;

    desk_open(stage, &desk, 2, 64, 0);
    peer_send(desk.peer, "piece", 5);
    expect_text(stage, &desk.reader, "piece");
    peer_shutdown(desk.peer);
    for (int i = 0; i < 3; i++) {
        rgm_reader_next(&next, &desk.reader);
        rgi_check(rgm_call(stage->runtime, &next) == 0);
        rgi_check(next.end && next.count == 0 && next.data == NULL);
        rgi_check(!rgm_lease_active(&next.lease));
    }
    desk_close(stage, &desk);
}

/* ------------------------------------------------------------- urgent data */

static void
send_urgent(int peer)
{
    rgi_check(send(peer, "!", 1, MSG_OOB | MSG_NOSIGNAL) == 1);
}

/* It is not promised to be noticed; and then what follows must come. */
void
srd_10_urgent_data_stalls_nobody(struct stage *stage)
{
    struct next_step next = {0};
    struct desk desk;
    char got[16] = "";
    size_t count = 0;

    desk_open(stage, &desk, 2, 64, 0);
    rgm_reader_next(&next.op, &desk.reader);
    stage_begin(stage, &next);
    send_urgent(desk.peer);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &next));
    peer_send(desk.peer, "ab", 2);
    send_urgent(desk.peer);
    peer_send(desk.peer, "cd", 2);
    while (count < 4) {
        rgi_check(stage_end(stage, &next) == 0 && next.op.count > 0);
        memcpy(got + count, next.op.data, next.op.count);
        count += next.op.count;
        rgi_check(rgm_lease_drop(&next.op.lease) == 0);
        if (count < 4)
            stage_begin(stage, &next);
    }
    rgi_check(count == 4 && memcmp(got, "abcd", 4) == 0);
    desk_close(stage, &desk);
}

/* Somebody else takes the urgent byte through the same socket. */
void
srd_11_reads_cross_urgent_marks(struct stage *stage)
{
    struct rgm_stream near;
    char bytes[8], urgent = 0;
    int peer;

    stage_open(stage);
    for (int i = 0; i < 3; i++) {
        int ours;

        peer = stage_pair(stage, &near);
        ours = descriptor_of_peer(peer);
        peer_send(peer, "123", 3);
        send_urgent(peer);
        peer_send(peer, "456", 3);
        while (recv(ours, &urgent, 1, MSG_OOB | MSG_DONTWAIT) < 0)
            rgi_check(errno == EAGAIN || errno == EINVAL);
        rgi_check(urgent == '!');
        stage_read_all(stage, &near, bytes, 6);
        rgi_check(memcmp(bytes, "123456", 6) == 0);
        rgi_check(stage_close_stream(stage, &near) == 0);
        peer_close(peer);
    }
    stage_close(stage);
}

/* ------------------------------------------------------------ cancel and close */

void
srd_13_cancelled_requests_lose_no_piece(struct stage *stage)
{
    const uint32_t rounds = 50 + (uint32_t)rgi_scale(5000);
    struct next_step next = {0};
    struct desk desk;
    uint64_t total = 0;
    uint32_t sent = 0;

    desk_open(stage, &desk, 2, 64, 0);
    while (total < (uint64_t)rounds * 10) {
        rgm_reader_next(&next.op, &desk.reader);
        stage_begin(stage, &next);
        if (sent < rounds) {
            char bytes[10];

            pattern_fill(bytes, 10, (uint64_t)sent++ * 10);
            peer_send(desk.peer, bytes, 10);
            stage_cancel(stage, &next);
        }
        if (stage_end(stage, &next) == -ECANCELED)
            continue;
        rgi_check(rgm_status(&next.op) == 0 && next.op.count > 0);
        rgi_check(pattern_holds(next.op.data, next.op.count, total));
        total += next.op.count;
        rgi_check(rgm_lease_drop(&next.op.lease) == 0);
    }
    rgi_check(total == (uint64_t)rounds * 10);
    desk_close(stage, &desk);
}

static void
close_and_cancel(struct puppet *puppet, void *argument)
{
    struct reader_close_step *close = argument;

    puppet_begin(puppet, close);
    rgm_cancel_request(&puppet->actor, &close->op.request);
}

void
srd_14_close_answers_when_the_read_is_home(struct stage *stage)
{
    struct reader_close_step close = {0};
    struct next_step first = {0}, next = {0};
    struct desk desk;

    stage->spied = true;
    desk_open(stage, &desk, 2, 64, 0);
    peer_send(desk.peer, "kept", 4);
    rgm_reader_next(&first.op, &desk.reader);
    rgi_check(stage_run(stage, &first) == 0);
    rgm_reader_next(&next.op, &desk.reader);
    stage_begin(stage, &next);
    stage_do(stage, order_hold_cancels, NULL);
    rgm_reader_close(&close.op, &desk.reader);
    stage_do(stage, close_and_cancel, &close); /* no token reaches it */
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &close) && stage_is_out(stage, &next));
    stage_do(stage, order_release_cancels, NULL);
    rgi_check(stage_end(stage, &close) == 0);
    rgi_check(stage_end(stage, &next) == -EPIPE);
    rgi_check(stage_in_flight(stage) == 0);
    rgi_check(memcmp(first.op.data, "kept", 4) == 0);
    rgi_check(rgm_lease_drop(&first.op.lease) == 0);
    desk_close(stage, &desk);
}

static void
look_held(struct puppet *puppet, void *argument)
{
    *(uint32_t *)argument = spy_of(puppet->number)->done.count;
}

static void
release_completions(struct puppet *puppet, void *argument)
{
    (void)argument;
    spy_release_completions(spy_of(puppet->number));
}

/* The piece was there when its asker was cancelled, and nobody else asks: the
 * next one gets it. */
void
srd_13_piece_that_came_for_nobody_is_kept(struct stage *stage)
{
    struct next_step next = {0};
    struct desk desk;
    uint32_t held = 0;

    stage->spied = true;
    desk_open(stage, &desk, 2, 64, 0);
    rgm_reader_next(&next.op, &desk.reader);
    stage_begin(stage, &next);
    stage_do(stage, order_hold_completions, NULL);
    peer_send(desk.peer, "late", 4);
    while (held == 0)
        stage_do(stage, look_held, &held);
    stage_cancel(stage, &next);
    rgi_check(stage_end(stage, &next) == -ECANCELED && next.op.count == 0);
    stage_do(stage, release_completions, NULL);
    stage_begin(stage, &next);
    rgi_check(stage_end(stage, &next) == 0 && next.op.count == 4);
    rgi_check(memcmp(next.op.data, "late", 4) == 0);
    rgi_check(rgm_lease_drop(&next.op.lease) == 0);
    desk_close(stage, &desk);
}

/* The bytes have come, and nobody has been told, when the close is asked. */
void
srd_14_delivery_that_wins_the_race_is_delivered(struct stage *stage)
{
    struct reader_close_step close = {0};
    struct next_step next = {0}, second = {0};
    struct desk desk;
    uint32_t held = 0;

    stage->spied = true;
    desk_open(stage, &desk, 2, 64, 0);
    rgm_reader_next(&next.op, &desk.reader);
    stage_begin(stage, &next);
    rgm_reader_next(&second.op, &desk.reader);
    stage_begin(stage, &second);
    stage_do(stage, order_hold_completions, NULL);
    peer_send(desk.peer, "won", 3);
    while (held == 0)
        stage_do(stage, look_held, &held);
    rgm_reader_close(&close.op, &desk.reader);
    stage_begin(stage, &close);
    rgi_check(stage_is_out(stage, &close) && stage_is_out(stage, &next));
    stage_do(stage, release_completions, NULL);
    rgi_check(stage_end(stage, &next) == 0 && next.op.count == 3);
    rgi_check(memcmp(next.op.data, "won", 3) == 0);
    rgi_check(rgm_lease_drop(&next.op.lease) == 0);
    rgi_check(stage_end(stage, &second) == -EPIPE);
    rgi_check(stage_end(stage, &close) == 0);
    desk_close(stage, &desk);
}

void
srd_15_only_a_close_follows_a_close(struct stage *stage)
{
    struct desk desk;
    struct rgm_next next;
    bool is_end;
    char byte;

    desk_open(stage, &desk, 2, 64, 0);
    peer_send(desk.peer, "xy", 2);
    rgi_check(exact(stage, &desk.reader, &byte, 1, false, &is_end) == 0);
    rgi_check(reader_close(stage, &desk.reader) == 0);
    rgm_reader_next(&next, &desk.reader);
    rgi_check(rgm_call(stage->runtime, &next) == -EPIPE && next.count == 0);
    rgi_check(exact(stage, &desk.reader, &byte, 1, false, &is_end) == -EPIPE);
    rgi_check(reader_close(stage, &desk.reader) == 0);
    desk_close(stage, &desk);
}

void
srd_16_reader_keeps_its_stream_from_closing(struct stage *stage)
{
    struct desk desk;

    desk_open(stage, &desk, 1, 64, 0);
    rgi_check(stage_close_stream(stage, &desk.near) == -EBUSY);
    rgi_check(reader_close(stage, &desk.reader) == 0);
    rgi_check(stage_close_stream(stage, &desk.near) == -EBUSY);
    desk_close(stage, &desk);
}

/* ---------------------------------------------------------------- what it costs */

void
srd_20_warm_reads_allocate_nothing(struct stage *stage)
{
    const uint32_t rounds = (uint32_t)rgi_scale(100000);
    struct next_step next = {0};
    struct desk desk;
    uint64_t allocations = 0;

    desk_open(stage, &desk, 2, 64, 0);
    for (uint32_t i = 0; i < rounds + 10; i++) {
        if (i == 10)
            allocations = shim_allocations();
        rgm_reader_next(&next.op, &desk.reader);
        stage_begin(stage, &next);
        peer_send(desk.peer, "x", 1);
        rgi_check(stage_end(stage, &next) == 0 && next.op.count == 1);
        rgi_check(rgm_lease_drop(&next.op.lease) == 0);
    }
    rgi_check(shim_allocations() == allocations);
    desk_close(stage, &desk);
}

/* What is lent to a ring comes back when somebody waits for it. */
static void
acquire_and_drop(struct stage *stage, struct rgm_pool *pool)
{
    struct acquire_step acquire = {0};

    rgm_pool_acquire(&acquire.op, rgm_worker_address(0), pool);
    rgi_check(stage_run(stage, &acquire) == 0);
    rgi_check(rgm_lease_drop(&acquire.op.lease) == 0);
}

struct borrowed {
    struct rgm_stream *stream;
    char byte;
    int status;
};

static void
read_borrowed(struct puppet *puppet, void *argument)
{
    struct borrowed *borrowed = argument;
    size_t count;
    bool is_end;

    borrowed->status = rgm_stream_try_read(
        puppet, borrowed->stream, &borrowed->byte, 1, 0, &count, &is_end);
}

void
srd_21_nothing_is_held_between_reads(struct stage *stage)
{
    struct borrowed borrowed;
    struct desk desk;

    stage->spied = true;
    desk_open(stage, &desk, 1, 64, 0);
    borrowed.stream = &desk.near;
    peer_send(desk.peer, "b", 1);
    do
        stage_do(stage, read_borrowed, &borrowed);
    while (borrowed.status == -EAGAIN);
    rgi_check(borrowed.status == 0 && borrowed.byte == 'b');
    rgi_check(spy_of(0)->submits[RGM_OP_READ_POOLED] == 0);
    for (uint32_t i = 0; i < 5; i++) {
        peer_send(desk.peer, "x", 1);
        expect_text(stage, &desk.reader, "x");
        rgi_check(stage_in_flight(stage) == 0);
        rgi_check(spy_of(0)->submits[RGM_OP_READ_POOLED] == i + 1);
        acquire_and_drop(stage, desk.pool); /* the only slot */
    }
    rgi_check(stage_close_stream(stage, &desk.near) == -EBUSY);
    desk_close(stage, &desk);
}

/* ----------------------------------------------------------------------- frames */

void
srd_22_exact_receives_and_looks_ahead(struct stage *stage)
{
    struct exact_step step = {0};
    struct desk desk;
    char bytes[100], sent[100];
    bool is_end;

    pattern_fill(sent, sizeof(sent), 0);
    desk_open(stage, &desk, 16, 16, 0);
    peer_send(desk.peer, sent, 3);
    rgm_reader_exact(&step.op, &desk.reader, bytes, 4);
    step.op.peek = true;
    stage_begin(stage, &step);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &step)); /* three are not four */
    stage_cancel(stage, &step);
    rgi_check(stage_end(stage, &step) == -ECANCELED); /* and nothing is lost */
    peer_send(desk.peer, sent + 3, 97);
    rgi_check(exact(stage, &desk.reader, bytes, 4, true, &is_end) == 0);
    rgi_check(pattern_holds(bytes, 4, 0));
    rgi_check(exact(stage, &desk.reader, bytes, 4, true, &is_end) == 0);
    rgi_check(pattern_holds(bytes, 4, 0));
    rgi_check(exact(stage, &desk.reader, bytes, 4, false, &is_end) == 0);
    rgi_check(pattern_holds(bytes, 4, 0));
    rgi_check(exact(stage, &desk.reader, bytes, 90, false, &is_end) == 0);
    rgi_check(pattern_holds(bytes, 90, 4));
    rgi_check(exact(stage, &desk.reader, bytes, 0, false, &is_end) == 0 &&
              !is_end);
    peer_shutdown(desk.peer);
    rgi_check(exact(stage, &desk.reader, bytes, 7, true, &is_end) == -ENODATA);
    rgi_check(exact(stage, &desk.reader, bytes, 6, false, &is_end) == 0);
    rgi_check(pattern_holds(bytes, 6, 94));
    rgi_check(exact(stage, &desk.reader, bytes, 1, false, &is_end) == 0 &&
              is_end);
    rgi_check(exact(stage, &desk.reader, NULL, 1, false, &is_end) == -EINVAL);
    desk_close(stage, &desk);
}

struct taken {
    const struct rgm_exact *record;
    size_t count;
};

/* On its worker, which is who writes it. */
static void
look_taken(struct puppet *puppet, void *argument)
{
    struct taken *taken = argument;

    (void)puppet;
    taken->count = taken->record->count;
}

static void
wait_until_taken(struct stage *stage, const struct rgm_exact *record,
                 size_t count)
{
    struct taken taken = {record, 0};

    while (taken.count < count)
        stage_do(stage, look_taken, &taken);
}

void
srd_22_lost_bytes_end_the_input_alone(struct stage *stage)
{
    struct exact_step step = {0};
    struct desk desk;
    struct rgm_next next;
    char bytes[8];
    bool is_end;

    desk_open(stage, &desk, 16, 16, 0);
    rgm_reader_exact(&step.op, &desk.reader, bytes, 8);
    stage_begin(stage, &step);
    stage_cancel(stage, &step);
    rgi_check(stage_end(stage, &step) == -ECANCELED); /* it had taken nothing */
    peer_send(desk.peer, "abcd", 4);
    rgi_check(exact(stage, &desk.reader, bytes, 4, true, &is_end) == 0);
    stage_begin(stage, &step);
    wait_until_taken(stage, &step.op, 4);
    stage_cancel(stage, &step);
    rgi_check(stage_end(stage, &step) == -ECANCELED);
    peer_send(desk.peer, "efgh", 4);
    rgi_check(exact(stage, &desk.reader, bytes, 4, false, &is_end) == -EPIPE);
    rgm_reader_next(&next, &desk.reader);
    rgi_check(rgm_call(stage->runtime, &next) == -EPIPE && next.count == 0);
    rgi_check(stage_write(stage, &desk.near, "out", 3) == 0);
    peer_receive(desk.peer, bytes, 3);
    rgi_check(memcmp(bytes, "out", 3) == 0);
    rgi_check(reader_close(stage, &desk.reader) == 0);
    desk_close(stage, &desk);
}

/* The read that was out then brings bytes of which nobody knows the frame. */
void
srd_22_what_comes_after_lost_bytes_is_handed_to_nobody(struct stage *stage)
{
    struct exact_step step = {0};
    struct desk desk;
    struct rgm_next next;
    char bytes[8];

    desk_open(stage, &desk, 16, 16, 2);
    peer_send(desk.peer, "abcd", 4);
    rgm_reader_exact(&step.op, &desk.reader, bytes, 8);
    stage_begin(stage, &step);
    wait_until_taken(stage, &step.op, 4);
    stage_cancel(stage, &step); /* a read stays out, for the window */
    rgi_check(stage_end(stage, &step) == -ECANCELED);
    peer_send(desk.peer, "efgh", 4);
    for (unsigned i = 0; i < 200; i++) {
        rgm_reader_next(&next, &desk.reader);
        rgi_check(rgm_call(stage->runtime, &next) == -EPIPE);
        rgi_check(next.count == 0);
    }
    desk_close(stage, &desk);
}

/* ----------------------------------------------------------------------- windows */

/* Ten pieces are sent; the first is asked for, two more are received. */
void
window_is_filled_and_no_further(struct stage *stage)
{
    enum { PIECE = 16, PIECES = 10, WINDOW = 2 };
    char sent[PIECES * PIECE];
    struct rgm_next next;
    struct desk desk;
    int ours, queued = 0;

    pattern_fill(sent, sizeof(sent), 0);
    desk_open(stage, &desk, PIECES, PIECE, WINDOW);
    ours = descriptor_of_peer(desk.peer);
    peer_send(desk.peer, sent, sizeof(sent));
    do
        rgi_check(ioctl(ours, FIONREAD, &queued) == 0);
    while (queued < (int)sizeof(sent)); /* nothing is read before an ask */
    for (uint64_t i = 0; i < PIECES; i++) {
        int left = PIECES - 1 - (int)i - WINDOW;

        rgm_reader_next(&next, &desk.reader);
        rgi_check(rgm_call(stage->runtime, &next) == 0 && next.count == PIECE);
        rgi_check(pattern_holds(next.data, PIECE, i * PIECE));
        rgi_check(rgm_lease_drop(&next.lease) == 0);
        left = left > 0 ? left * PIECE : 0;
        do
            rgi_check(ioctl(ours, FIONREAD, &queued) == 0 && queued >= left);
        while (queued > left);
        (void)stage_counters(stage); /* and it stays like that */
        rgi_check(ioctl(ours, FIONREAD, &queued) == 0 && queued == left);
    }
    desk_close(stage, &desk);
}

void
forgotten_readers_give_their_slots_back(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(4, 16);
    struct rgm_reader ahead, idle, large;
    struct rgm_stream near, other, third;
    struct rgm_next next;
    int peers[3], ours, queued;

    stage_open(stage);
    peers[0] = stage_pair(stage, &near);
    peers[1] = stage_pair(stage, &other);
    peers[2] = stage_pair(stage, &third);
    rgi_check(reader_open(stage, &near, pool, 2, &ahead) == 0);
    rgi_check(reader_open(stage, &other, pool, 0, &idle) == 0);
    rgi_check(reader_open(stage, &third, pool, RGM_READER_WINDOW_MAX, &large) ==
              0);
    ours = descriptor_of_peer(peers[0]);
    peer_send(peers[0], "0123456789abcdef0123456789abcdef", 32);
    rgm_reader_next(&next, &ahead);
    rgi_check(rgm_call(stage->runtime, &next) == 0);
    rgi_check(rgm_lease_drop(&next.lease) == 0);
    do
        rgi_check(ioctl(ours, FIONREAD, &queued) == 0);
    while (queued > 0);
    stage->descriptors += 3; /* the peers' */
    stage_close(stage);
    rgi_check(rgm_pool_free_count(pool) == 4);
    rgm_pool_destroy(pool);
    for (int i = 0; i < 3; i++)
        peer_close(peers[i]);
}

void
stop_of_the_opener_ends_the_input(struct stage *stage)
{
    struct desk desk;
    struct rgm_next next;

    desk_open(stage, &desk, 1, 16, 1);
    peer_send(desk.peer, "x", 1);
    expect_text(stage, &desk.reader, "x"); /* and the window's read is out */
    rgi_check(rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]) == 0);
    rgm_reader_next(&next, &desk.reader);
    rgi_check(rgm_call(stage->runtime, &next) == -ECANCELED);
    stage_renew_puppet(stage, 0);
    rgm_reader_next(&next, &desk.reader);
    rgi_check(rgm_call(stage->runtime, &next) == -ECANCELED);
    desk_close(stage, &desk);
}
