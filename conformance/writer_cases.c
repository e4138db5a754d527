/* SPDX-License-Identifier: MIT */

/* writer_cases.c - what must output that is handed over show? */

#include "conformance/writer_cases.h"

#include <stdlib.h>
#include <sys/socket.h>

#define MIB ((size_t)1 << 20)
#define LARGE MIB        /* more than the sockets of a pair hold */
#define BUFFER_BYTES 65536

STEP(submit_step, rgm_submit);
STEP(flush_step, rgm_flush);
STEP(writer_close_step, rgm_writer_close);

/* -------------------------------------------------------------------- owners */

/* Bytes of the pattern with a count of who is alive. */
struct chunk {
    struct rgm_block block;
    uint32_t *live;
    char bytes[];
};

static void
chunk_release(struct rgm_block *block)
{
    struct chunk *chunk = (struct chunk *)(void *)block;

    __atomic_sub_fetch(chunk->live, 1, __ATOMIC_SEQ_CST);
    free(chunk);
}

static struct rgm_view
chunk_of(uint32_t *live, size_t length_bytes, uint64_t offset)
{
    struct chunk *chunk = malloc(sizeof(*chunk) + length_bytes);
    struct rgm_view view;

    rgi_check(chunk != NULL);
    rgm_block_init(&chunk->block, chunk_release);
    chunk->live = live;
    __atomic_add_fetch(live, 1, __ATOMIC_SEQ_CST);
    pattern_fill(chunk->bytes, length_bytes, offset);
    view = rgm_view_of(&chunk->block, chunk->bytes, length_bytes);
    rgm_block_drop(&chunk->block);
    return view;
}

static uint32_t
count_of(const uint32_t *live)
{
    return __atomic_load_n(live, __ATOMIC_SEQ_CST);
}

/* ------------------------------------------------------------------- writers */

/* A connection whose sockets together hold less than LARGE, however much its
 * peer has read: a buffer whose size was set does not grow by itself. */
static int
pair(struct stage *stage, struct rgm_stream *near)
{
    struct rgm_socket_option option;
    int peer = stage_pair(stage, near);
    int size_bytes = BUFFER_BYTES;

    rgi_check(setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &size_bytes,
                         sizeof(size_bytes)) == 0);
    rgm_socket_set(&option, &near->socket, RGM_OPTION_SEND_BUFFER,
                   BUFFER_BYTES);
    rgi_check(rgm_call(stage->runtime, &option) == 0);
    return peer;
}

struct opening {
    struct rgm_stream *stream;
    struct rgm_writer *writer;
    int status;
};

static void
open_here(struct puppet *puppet, void *argument)
{
    struct opening *opening = argument;

    opening->status = rgm_writer_open(puppet, opening->stream, opening->writer);
}

static int
writer_open(struct stage *stage, struct rgm_stream *stream,
            struct rgm_writer *writer)
{
    struct opening opening = {stream, writer, 0};

    *writer = (struct rgm_writer){0};
    stage_do(stage, open_here, &opening);
    return opening.status;
}

static void
drop_here(struct puppet *puppet, void *argument)
{
    struct opening *opening = argument;

    opening->status = rgm_writer_drop(puppet, opening->writer);
}

static int
writer_drop(struct stage *stage, struct rgm_writer *writer)
{
    struct opening opening = {.writer = writer};

    stage_do(stage, drop_here, &opening);
    return opening.status;
}

static void
submit_begin(struct stage *stage, struct rgm_writer *writer,
             struct submit_step *step, struct rgm_view view)
{
    rgm_writer_submit(&step->op, writer, &view);
    rgi_check(view.block == NULL); /* moved */
    stage_begin(stage, step);
}

static int
submit(struct stage *stage, struct rgm_writer *writer, struct rgm_view view)
{
    struct submit_step step = {0};
    int status;

    submit_begin(stage, writer, &step, view);
    status = stage_end(stage, &step);
    if (status == 0)
        rgi_check(step.op.owned.block == NULL);
    else
        rgm_view_drop(&step.op.owned);
    return status;
}

static int
flush(struct stage *stage, struct rgm_writer *writer)
{
    struct rgm_flush record;

    rgm_writer_flush(&record, writer);
    return rgm_call(stage->runtime, &record);
}

static int
writer_close(struct stage *stage, struct rgm_writer *writer)
{
    struct rgm_writer_close record;

    rgm_writer_close(&record, writer);
    return rgm_call(stage->runtime, &record);
}

/* A step came back with its owner, which is as it was. */
static void
check_returned(struct submit_step *step, size_t length_bytes, uint64_t offset)
{
    rgi_check(step->op.owned.length_bytes == length_bytes);
    rgi_check(pattern_holds(step->op.owned.data, length_bytes, offset));
    rgm_view_drop(&step->op.owned);
}

/* The next so many bytes are the pattern's, from `offset` on. */
static void
expect(int peer, size_t length_bytes, uint64_t offset)
{
    char *bytes = malloc(length_bytes);

    rgi_check(bytes != NULL);
    peer_receive(peer, bytes, length_bytes);
    rgi_check(pattern_holds(bytes, length_bytes, offset));
    free(bytes);
}

/* Receives until a byte has come twice in a row, as none of the pattern does. */
static void
expect_twice(int peer, char wanted)
{
    char bytes[4096], last = 0;

    for (;;) {
        ssize_t count = recv(peer, bytes, sizeof(bytes), 0);

        rgi_check(count > 0);
        for (ssize_t i = 0; i < count; last = bytes[i++])
            if (bytes[i] == wanted && last == wanted)
                return;
    }
}

/* What comes until the end is the pattern's beginning. Returns how much. */
static size_t
expect_prefix(int peer)
{
    size_t total = 0;
    char bytes[4096];
    ssize_t count;

    while ((count = recv(peer, bytes, sizeof(bytes), 0)) > 0) {
        rgi_check(pattern_holds(bytes, (size_t)count, total));
        total += (size_t)count;
    }
    rgi_check(count == 0);
    return total;
}

static void
end(struct stage *stage, struct rgm_stream *near, struct rgm_writer *writer,
    int peer)
{
    rgi_check(writer_drop(stage, writer) == 0);
    rgi_check(writer->output == NULL);
    rgi_check(stage_close_stream(stage, near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
swr_01_opening_a_writer_sends_nothing(struct stage *stage)
{
    struct rgm_stream near, none = {0};
    struct rgm_writer writer;
    struct rgm_packet packet = {0};
    struct rgm_packet_open open;
    struct rgm_endpoint here = loopback();
    struct rgm_close close;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(spy_of(0)->transfers == 0);
    rgi_check(spy_of(0)->submits[RGM_OP_WRITE] == 0);
    peer_expect_nothing(peer);
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    rgi_check(writer_drop(stage, &writer) == 0);
    rgi_check(writer_drop(stage, &writer) == 0); /* not open: nothing */
    rgi_check(writer_open(stage, &none, &writer) == -EBADF);
    rgi_check(writer_open(stage, (struct rgm_stream *)(void *)&stage->listener,
                          &writer) == -EINVAL);
    rgm_packet_open(&open, rgm_worker_address(0), &packet, &here, NULL);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    rgi_check(writer_open(stage, (struct rgm_stream *)(void *)&packet,
                          &writer) == -EINVAL);
    rgi_check(writer.output == NULL);
    rgm_packet_close(&close, &packet);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
    rgi_check(flush(stage, &writer) == -EBADF);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
swr_02_submit_waits_for_the_one_before(struct stage *stage)
{
    struct submit_step second = {0};
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    rgi_check(count_of(&live) == 1); /* admitted, and far from sent */
    submit_begin(stage, &writer, &second, chunk_of(&live, 100, LARGE));
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &second) && count_of(&live) == 2);
    expect(peer, LARGE, 0);
    rgi_check(stage_end(stage, &second) == 0);
    expect(peer, 100, LARGE);
    rgi_check(flush(stage, &writer) == 0);
    rgi_check(count_of(&live) == 0);
    end(stage, &near, &writer, peer);
}

void
swr_03_refused_submit_has_its_owner_still(struct stage *stage)
{
    struct submit_step cancelled = {0}, closed = {0}, late = {0};
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    size_t got;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    submit_begin(stage, &writer, &cancelled, chunk_of(&live, 64, 5));
    stage_cancel(stage, &cancelled);
    rgi_check(stage_end(stage, &cancelled) == -ECANCELED);
    check_returned(&cancelled, 64, 5);
    submit_begin(stage, &writer, &closed, chunk_of(&live, 64, 5));
    rgi_check(writer_close(stage, &writer) == 0);
    rgi_check(stage_end(stage, &closed) == -EPIPE);
    check_returned(&closed, 64, 5);
    submit_begin(stage, &writer, &late, chunk_of(&live, 64, 5));
    rgi_check(stage_end(stage, &late) == -EPIPE);
    check_returned(&late, 64, 5);
    rgi_check(count_of(&live) == 0); /* the first one's went with the close */
    rgi_check(writer_drop(stage, &writer) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    got = expect_prefix(peer); /* nothing of the three */
    rgi_check(got > 0 && got < LARGE);
    peer_close(peer);
    stage_close(stage);
}

void
swr_04_submitted_write_goes_on_by_itself(struct stage *stage)
{
    const size_t length_bytes = (rgi_scale_is_full() ? 8 : 1) * MIB;
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, length_bytes, 0)) == 0);
    expect(peer, length_bytes, 0); /* and nobody touches the writer */
    rgi_check(flush(stage, &writer) == 0 && count_of(&live) == 0);
    end(stage, &near, &writer, peer);
}

/* ---------------------------------------------------------------- many, SWR-05 */

#define PENDING 3

struct drainer {
    pthread_t thread;
    int peer;
    size_t length_bytes;
    uint64_t random;
};

/* Reads pieces of any length, and now and then lets everything stall. */
static void *
drain_main(void *argument)
{
    struct drainer *drainer = argument;
    char bytes[16384];
    size_t total = 0;

    while (total < drainer->length_bytes) {
        size_t most = 1 + next_random(&drainer->random) % sizeof(bytes);
        ssize_t count = recv(drainer->peer, bytes, most, 0);

        rgi_check(count > 0);
        rgi_check(pattern_holds(bytes, (size_t)count, total));
        total += (size_t)count;
        if (next_random(&drainer->random) % 64 == 0)
            sched_yield();
    }
    return NULL;
}

void
swr_05_one_unfinished_write_in_submission_order(struct stage *stage)
{
    const uint32_t chunks = 20 + (uint32_t)rgi_scale(1000);
    const size_t chunk_bytes = 60000;
    struct submit_step steps[PENDING] = {0};
    struct drainer drainer = {.length_bytes = chunks * chunk_bytes};
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0, peak = 0;

    drainer.random = rgi_seed();
    stage_open(stage);
    drainer.peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(pthread_create(&drainer.thread, NULL, drain_main, &drainer) == 0);
    for (uint32_t i = 0; i < chunks; i++) {
        struct submit_step *step = &steps[i % PENDING];

        if (i >= PENDING)
            rgi_check(stage_end(stage, step) == 0);
        submit_begin(stage, &writer, step,
                     chunk_of(&live, chunk_bytes, i * chunk_bytes));
        peak = count_of(&live) > peak ? count_of(&live) : peak;
    }
    for (uint32_t i = 0; i < PENDING; i++)
        rgi_check(stage_end(stage, &steps[i]) == 0);
    rgi_check(peak <= 1 + PENDING);
    rgi_check(flush(stage, &writer) == 0 && count_of(&live) == 0);
    rgi_check(pthread_join(drainer.thread, NULL) == 0);
    end(stage, &near, &writer, drainer.peer);
}

/* ------------------------------------------------------------- how it can end */

void
swr_06_failure_after_acceptance_is_the_end(struct stage *stage)
{
    struct submit_step waiting = {0}, late = {0};
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer, status;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    submit_begin(stage, &writer, &waiting, chunk_of(&live, 10, 3));
    peer_reset(peer);
    status = stage_end(stage, &waiting);
    rgi_check(status == -ECONNRESET || status == -EPIPE);
    check_returned(&waiting, 10, 3);
    rgi_check(flush(stage, &writer) == status);
    for (int i = 0; i < 2; i++) {
        submit_begin(stage, &writer, &late, chunk_of(&live, 10, 3));
        rgi_check(stage_end(stage, &late) == status);
        check_returned(&late, 10, 3);
    }
    rgi_check(count_of(&live) == 0);
    rgi_check(writer_close(stage, &writer) == 0); /* it was told */
    rgi_check(writer_drop(stage, &writer) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
}

void
swr_07_empty_submit_is_a_success(struct stage *stage)
{
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, (struct rgm_view){0}) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, 0, 0)) == 0);
    rgi_check(count_of(&live) == 0);
    rgi_check(flush(stage, &writer) == 0);
    peer_expect_nothing(peer);
    rgi_check(submit(stage, &writer, chunk_of(&live, 10, 0)) == 0);
    expect(peer, 10, 0);
    end(stage, &near, &writer, peer);
}

void
swr_08_cancel_in_line_leaves_the_one_before(struct stage *stage)
{
    struct submit_step steps[3] = {0};
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    submit_begin(stage, &writer, &steps[0], chunk_of(&live, LARGE, 0));
    submit_begin(stage, &writer, &steps[1], chunk_of(&live, 50, 7));
    submit_begin(stage, &writer, &steps[2], chunk_of(&live, 50, LARGE));
    stage_cancel(stage, &steps[1]);
    rgi_check(stage_end(stage, &steps[1]) == -ECANCELED);
    check_returned(&steps[1], 50, 7);
    rgi_check(stage_end(stage, &steps[0]) == 0);
    expect(peer, LARGE, 0);
    rgi_check(stage_end(stage, &steps[2]) == 0);
    expect(peer, 50, LARGE);
    rgi_check(flush(stage, &writer) == 0);
    end(stage, &near, &writer, peer);
}

struct scoped {
    struct rgm_scope scope;
    int status;
};

static void
scope_open(struct puppet *puppet, void *argument)
{
    struct scoped *scoped = argument;

    scoped->status = rgm_scope_open(puppet, &scoped->scope, NULL);
}

static void
scope_close(struct puppet *puppet, void *argument)
{
    struct scoped *scoped = argument;

    scoped->status = rgm_scope_try_close(puppet, &scoped->scope);
}

void
swr_09_cancel_after_acceptance_ends_the_output(struct stage *stage)
{
    struct submit_step step = {0}, next = {0};
    struct rgm_view view;
    struct rgm_writer writer;
    struct rgm_stream near;
    struct scoped scoped;
    uint32_t live = 0;
    size_t got;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    stage_do(stage, scope_open, &scoped);
    rgi_check(scoped.status == 0);
    view = chunk_of(&live, LARGE, 0);
    rgm_writer_submit(&step.op, &writer, &view);
    step.op.scope = &scoped.scope;
    stage_begin(stage, &step);
    rgi_check(stage_end(stage, &step) == 0);
    rgi_check(rgm_scope_cancel(&scoped.scope) == 1);
    rgi_check(flush(stage, &writer) == -ECANCELED);
    submit_begin(stage, &writer, &next, chunk_of(&live, 10, 3));
    rgi_check(stage_end(stage, &next) == -ECANCELED);
    check_returned(&next, 10, 3);
    rgi_check(count_of(&live) == 0);
    stage_do(stage, scope_close, &scoped);
    rgi_check(scoped.status == 0);
    rgi_check(writer_drop(stage, &writer) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    got = expect_prefix(peer);
    rgi_check(got > 0 && got < LARGE);
    peer_close(peer);
    stage_close(stage);
}

void
swr_10_flush_answers_when_all_is_in_the_socket(struct stage *stage)
{
    struct flush_step waiting = {0};
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, 1000, 0)) == 0);
    rgi_check(flush(stage, &writer) == 0); /* and nobody has read */
    expect(peer, 1000, 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    rgm_writer_flush(&waiting.op, &writer);
    stage_begin(stage, &waiting);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &waiting));
    stage_cancel(stage, &waiting);
    rgi_check(stage_end(stage, &waiting) == -ECANCELED);
    stage_begin(stage, &waiting);
    expect(peer, LARGE, 0); /* the write went on */
    rgi_check(stage_end(stage, &waiting) == 0 && count_of(&live) == 0);
    end(stage, &near, &writer, peer);
}

static void
close_and_cancel(struct puppet *puppet, void *argument)
{
    struct writer_close_step *close = argument;

    puppet_begin(puppet, close);
    rgm_cancel_request(&puppet->actor, &close->op.request);
}

void
swr_11_close_is_neither_flush_nor_shutdown(struct stage *stage)
{
    struct writer_close_step close = {0};
    struct rgm_writer writer, other;
    struct flush_step waiting = {0};
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    rgm_writer_flush(&waiting.op, &writer);
    stage_begin(stage, &waiting);
    rgm_writer_close(&close.op, &writer);
    stage_do(stage, close_and_cancel, &close);
    rgi_check(stage_end(stage, &close) == 0); /* no token reaches it */
    rgi_check(count_of(&live) == 0);          /* retired by then */
    rgi_check(stage_end(stage, &waiting) == -EPIPE);
    rgi_check(submit(stage, &writer, chunk_of(&live, 10, 0)) == -EPIPE);
    rgi_check(flush(stage, &writer) == -EPIPE);
    rgi_check(writer_close(stage, &writer) == 0);
    rgi_check(stage_close_stream(stage, &near) == -EBUSY); /* not dropped */
    /* The connection is open for another writer. */
    rgi_check(writer_open(stage, &near, &other) == 0);
    rgi_check(submit(stage, &other, (struct rgm_view){"zz", 2, NULL}) == 0);
    expect_twice(peer, 'z');
    rgi_check(flush(stage, &other) == 0);
    rgi_check(writer_drop(stage, &other) == 0);
    end(stage, &near, &writer, peer);
}

void
swr_11_error_is_told_once(struct stage *stage)
{
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer, status;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    peer_reset(peer);
    while (stage_busy(stage, &near) > 1) /* the write, beside the writer */
        (void)stage_counters(stage);
    status = writer_close(stage, &writer);
    rgi_check(status == -ECONNRESET || status == -EPIPE);
    rgi_check(writer_close(stage, &writer) == 0);
    rgi_check(writer_drop(stage, &writer) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(count_of(&live) == 0);
    stage_close(stage);
}

void
swr_12_drop_does_not_wait(struct stage *stage)
{
    struct submit_step waiting = {0};
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    submit_begin(stage, &writer, &waiting, chunk_of(&live, 10, 3));
    (void)stage_counters(stage);
    rgi_check(writer_drop(stage, &writer) == 0); /* back from the delivery */
    rgi_check(writer.output == NULL && spy_of(0)->cancels == 1);
    rgi_check(stage_end(stage, &waiting) == -EPIPE);
    check_returned(&waiting, 10, 3);
    while (count_of(&live) > 0 || stage_busy(stage, &near) > 0)
        (void)stage_counters(stage);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* The runtime ends with writers that nobody has dropped, one of them stalled. */
void
swr_12_forgotten_writers_are_safe(struct stage *stage)
{
    struct rgm_writer idle, stalled;
    struct rgm_stream first, second;
    uint32_t live = 0;
    int peer, other;

    stage_open(stage);
    peer = pair(stage, &first);
    other = pair(stage, &second);
    rgi_check(writer_open(stage, &first, &idle) == 0);
    rgi_check(writer_open(stage, &second, &stalled) == 0);
    rgi_check(submit(stage, &stalled, chunk_of(&live, LARGE, 0)) == 0);
    rgi_check(count_of(&live) == 1);
    stage->descriptors += 2; /* the peers' */
    stage_close(stage);
    rgi_check(count_of(&live) == 0);
    peer_close(peer);
    peer_close(other);
}

/* ------------------------------------------------------------------- the rest */

void
swr_13_submitted_lease_is_home_without_a_flush(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 4096);
    struct acquire_step acquire = {0};
    struct rgm_writer writer;
    struct rgm_stream near;
    struct rgm_lease lease;
    struct rgm_view view;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    for (int i = 0; i < 3; i++) {
        rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
        pattern_fill(lease.data, 4096, 0);
        rgi_check(rgm_lease_freeze(&lease, &view) == 0);
        rgi_check(submit(stage, &writer, view) == 0);
        rgm_pool_acquire(&acquire.op, rgm_worker_address(0), pool);
        rgi_check(stage_run(stage, &acquire) == 0);
        rgi_check(rgm_lease_drop(&acquire.op.lease) == 0);
        expect(peer, 4096, 0);
    }
    end(stage, &near, &writer, peer);
    rgm_pool_destroy(pool);
}

struct borrowed {
    struct rgm_writer *writer;
    struct rgm_vector vectors[2];
    size_t count;
    int status;
};

static void
write_borrowed(struct puppet *puppet, void *argument)
{
    struct borrowed *borrowed = argument;

    borrowed->count = 0;
    borrowed->status = rgm_writer_try_write_vectors(
        puppet, borrowed->writer, borrowed->vectors, 2, &borrowed->count);
}

static void
write_borrowed_scalar(struct puppet *puppet, void *argument)
{
    struct borrowed *borrowed = argument;

    borrowed->status = rgm_writer_try_write(
        puppet, borrowed->writer, borrowed->vectors[0].data,
        borrowed->vectors[0].length_bytes, 0, &borrowed->count);
}

void
swr_14_borrowed_write_keeps_to_the_end_of_the_output(struct stage *stage)
{
    char *bytes = malloc(LARGE);
    struct borrowed borrowed;
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    rgi_check(bytes != NULL);
    pattern_fill(bytes, LARGE, LARGE);
    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    borrowed.writer = &writer;
    borrowed.vectors[0] = (struct rgm_vector){bytes, 10};
    borrowed.vectors[1] = (struct rgm_vector){bytes + 10, LARGE - 10};
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    stage_do(stage, write_borrowed, &borrowed);
    rgi_check(borrowed.status == -EAGAIN);
    expect(peer, LARGE, 0);
    rgi_check(flush(stage, &writer) == 0);
    stage_do(stage, write_borrowed, &borrowed);
    rgi_check(borrowed.status == 0);
    rgi_check(borrowed.count > 10 && borrowed.count < LARGE); /* one transfer */
    expect(peer, borrowed.count, LARGE);
    peer_expect_nothing(peer);
    stage_do(stage, write_borrowed_scalar, &borrowed);
    rgi_check(borrowed.status == 0 && borrowed.count == 10);
    expect(peer, 10, LARGE);
    rgi_check(writer_close(stage, &writer) == 0);
    stage_do(stage, write_borrowed, &borrowed);
    rgi_check(borrowed.status == -EPIPE);
    end(stage, &near, &writer, peer);
    free(bytes);
}

/* Bytes 0.. of the one, 128.. of the other; they may mingle. */
void
swr_22_two_writers_of_one_stream(struct stage *stage)
{
    enum { EACH = 100 };
    static const char low[4] = {0, 1, 2, 3};
    static const char high[4] = {(char)128, (char)129, (char)130, (char)131};
    struct rgm_writer writers[2];
    struct rgm_stream near;
    uint8_t next[2] = {0, 0};
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    for (int i = 0; i < 2; i++)
        rgi_check(writer_open(stage, &near, &writers[i]) == 0);
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < 2; j++)
            rgi_check(submit(stage, &writers[j],
                             (struct rgm_view){j == 0 ? low : high, 4,
                                               NULL}) == 0);
    for (int i = 0; i < 2 * EACH * 4; i++) {
        uint8_t byte;

        peer_receive(peer, &byte, 1);
        rgi_check((byte & 127) == next[byte >> 7]);
        next[byte >> 7] = (uint8_t)((next[byte >> 7] + 1) % 4);
    }
    rgi_check(writer_drop(stage, &writers[1]) == 0);
    end(stage, &near, &writers[0], peer);
}

/* Asked by a plain thread; it is the actor that opened it whose end counts. */
void
stop_of_the_opener_ends_the_output(struct stage *stage)
{
    struct rgm_writer writer;
    struct rgm_stream near;
    struct rgm_flush record;
    uint32_t live = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]) == 0);
    rgm_writer_flush(&record, &writer);
    rgi_check(rgm_call(stage->runtime, &record) == -ECANCELED);
    rgi_check(count_of(&live) == 0);
    stage_renew_puppet(stage, 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, 10, 0)) == -ECANCELED);
    end(stage, &near, &writer, peer);
}

/* ------------------------------------------------------------- the ring's own */

/* The peer makes room after the send that found none, before the entry. */
void
swr_16_nothing_is_lost_between_send_and_entry(struct stage *stage)
{
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    uint64_t offset = 0;
    int peer;

    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    for (int i = 0; i < 3; i++) {
        struct submit_step step = {0};

        submit_begin(stage, &writer, &step, chunk_of(&live, LARGE, offset));
        expect(peer, LARGE, offset); /* while the entry is on its way */
        rgi_check(stage_end(stage, &step) == 0);
        rgi_check(flush(stage, &writer) == 0);
        offset += LARGE;
    }
    end(stage, &near, &writer, peer);
}

void
swr_20_stalled_write_is_the_rings_own(struct stage *stage)
{
    struct rgm_counters before, after;
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    before = stage_counters(stage);
    for (int i = 0; i < 3; i++) {
        rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
        expect(peer, LARGE, 0);
        rgi_check(flush(stage, &writer) == 0);
    }
    after = stage_counters(stage);
    rgi_check(after.spawned == before.spawned);
    rgi_check(spy_of(0)->submits[RGM_OP_WRITE] == 3);
    rgi_check(spy_of(0)->submits[RGM_OP_RECEIPT] == 3);
    rgi_check(spy_of(0)->submits[RGM_OP_JOB] == 0);
    end(stage, &near, &writer, peer);
}

static void
want_no_copies(struct puppet *puppet, void *argument)
{
    rgm_writer_zero_copy(puppet, (struct rgm_writer *)argument, 4096);
}

/* A piece is out, the next one goes, and what the kernel still looks at is held
 * by nobody who waits for it: the order is kept, every owner comes home, also
 * after the stream is closed. Small pieces are tried at once as ever. */
void
swr_23_writer_goes_on_while_the_kernel_holds_a_piece(struct stage *stage)
{
    enum { PIECES = 20 };
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    stage_do(stage, want_no_copies, &writer);
    for (uint64_t i = 0; i < PIECES; i++) {
        size_t length_bytes = i % 2 == 0 ? 8192 : 100;

        rgi_check(submit(stage, &writer,
                         chunk_of(&live, length_bytes, 0)) == 0);
        rgi_check(flush(stage, &writer) == 0);
        expect(peer, length_bytes, 0);
    }
    rgi_check(spy_of(0)->submits[RGM_OP_WRITE] == PIECES / 2);
    rgi_check(submit(stage, &writer, chunk_of(&live, LARGE, 0)) == 0);
    rgi_check(writer_close(stage, &writer) == 0);
    end(stage, &near, &writer, peer);
    rgi_check(count_of(&live) == 0); /* the runtime has ended */
}

void
urg_20_ready_submit_has_no_entry_and_a_read_has_one(struct stage *stage)
{
    const uint32_t rounds = 100;
    struct rgm_counters before, after;
    struct rgm_writer writer;
    struct rgm_stream near;
    uint32_t live = 0;
    bool is_end;
    char byte;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = pair(stage, &near);
    rgi_check(writer_open(stage, &near, &writer) == 0);
    before = stage_counters(stage);
    for (uint32_t i = 0; i < rounds; i++) {
        rgi_check(submit(stage, &writer, chunk_of(&live, 100, 0)) == 0);
        expect(peer, 100, 0);
    }
    after = stage_counters(stage);
    rgi_check(after.entries_submitted == before.entries_submitted);
    rgi_check(spy_of(0)->submits[RGM_OP_WRITE] == 0);
    for (uint32_t i = 0; i < rounds; i++) {
        peer_send(peer, "x", 1); /* ready, and an entry all the same */
        rgi_check(stage_read(stage, &near, &byte, 1, &is_end) == 1);
    }
    after = stage_counters(stage);
    rgi_check(after.entries_submitted == before.entries_submitted + rounds);
    rgi_check(spy_of(0)->submits[RGM_OP_READ] == rounds);
    /* What fails for good does so without an entry, too. */
    rgi_check(stage_shutdown(stage, &near) == 0);
    rgi_check(submit(stage, &writer, chunk_of(&live, 1, 0)) == -EPIPE);
    rgi_check(spy_of(0)->submits[RGM_OP_WRITE] == 0 && count_of(&live) == 0);
    end(stage, &near, &writer, peer);
}
