/* SPDX-License-Identifier: MIT */

/* cancel_cases.c - what must every provider show of cancels, deadlines and what
 * was given up? */

#include "conformance/cancel_cases.h"

#include <stdlib.h>

#include "conformance/shim.h"

#define LARGE_BYTES (8u * 1024 * 1024)

/* What fits into no socket's buffers, and tells where it is from. */
static char *
large_pattern(void)
{
    char *bytes = malloc(LARGE_BYTES);

    rgi_check(bytes != NULL);
    pattern_fill(bytes, LARGE_BYTES, 0);
    return bytes;
}

/* The peer gets `count` bytes of the pattern. */
static void
peer_receive_pattern(int peer, size_t from, size_t end)
{
    static char piece[65536];

    for (size_t at = from; at < end;) {
        size_t length = end - at < sizeof(piece) ? end - at : sizeof(piece);

        peer_receive(peer, piece, length);
        rgi_check(pattern_holds(piece, length, at));
        at += length;
    }
}

/* ------------------------------------------------------------------- scopes */

struct scoped {
    struct rgm_scope scope;
    int opened, cancelled, closed;
};

static void
scope_open(struct puppet *puppet, void *argument)
{
    struct scoped *scoped = argument;

    scoped->opened = rgm_scope_open(puppet, &scoped->scope, NULL);
}

static void
scope_close(struct puppet *puppet, void *argument)
{
    struct scoped *scoped = argument;

    scoped->closed = rgm_scope_try_close(puppet, &scoped->scope);
}

static void
scope_cancel(struct puppet *puppet, void *argument)
{
    struct scoped *scoped = argument;

    (void)puppet;
    scoped->cancelled = rgm_scope_cancel(&scoped->scope);
}

void
can_10_waiting_in_a_scope_allocates_nothing(struct stage *stage)
{
    struct scoped scoped;
    struct sleep_step sleep = {0};
    uint64_t before = 0;

    stage_open(stage);
    stage_do(stage, scope_open, &scoped);
    rgi_check(scoped.opened == 0);
    for (uint64_t i = 0; i < 100 + rgi_scale(100000); i++) {
        if (i == 100)
            before = shim_allocations();
        rgm_sleep_for(&sleep.op, rgm_worker_address(0), i % 2);
        rgm_in_scope(&sleep.op, &scoped.scope);
        rgi_check(stage_run(stage, &sleep) == 0);
    }
    rgi_check(shim_allocations() == before);
    stage_do(stage, scope_close, &scoped);
    rgi_check(scoped.closed == 0);
    stage_close(stage);
}

void
can_14_a_cancelled_scope_reaches_no_provider(struct stage *stage)
{
    struct read_step read = {0};
    struct scoped scoped;
    struct rgm_stream near;
    uint64_t submitted;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    stage_do(stage, scope_open, &scoped);
    rgi_check(rgm_scope_cancel(&scoped.scope) == 1); /* from this thread */
    submitted = stage_counters(stage).operations;
    rgm_stream_read(&read.op, &near, &byte, 1);
    rgm_in_scope(&read.op, &scoped.scope);
    rgi_check(stage_run(stage, &read) == -ECANCELED);
    rgi_check(stage_counters(stage).operations == submitted);
    rgi_check(read.op.memory == &byte && byte == 0);
    stage_read_all(stage, &near, &byte, 1); /* the data is there still */
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
opl_15_a_cancelled_scope_lets_clean_up_through(struct stage *stage)
{
    struct read_step reads[2] = {0};
    struct shutdown_step shutdown = {0};
    struct close_step close = {0};
    struct scoped scoped;
    struct rgm_stream near;
    char bytes[2];
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, scope_open, &scoped);
    rgm_stream_read(&reads[0].op, &near, bytes, 1);
    rgm_in_scope(&reads[0].op, &scoped.scope);
    stage_begin(stage, &reads[0]);
    stage_do(stage, scope_cancel, &scoped);
    rgi_check(scoped.cancelled == 1);
    rgi_check(stage_end(stage, &reads[0]) == -ECANCELED);
    rgm_stream_shutdown(&shutdown.op, &near);
    rgm_in_scope(&shutdown.op, &scoped.scope);
    rgi_check(stage_run(stage, &shutdown) == 0);
    peer_expect_end(peer);
    rgm_stream_close(&close.op, &near);
    rgm_in_scope(&close.op, &scoped.scope);
    rgi_check(stage_run(stage, &close) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------ what was done */

void
can_18_a_cancel_undoes_nothing(struct stage *stage)
{
    struct write_step write = {0};
    struct rgm_stream near;
    char *bytes = large_pattern();
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_write(&write.op, &near, bytes, LARGE_BYTES);
    stage_begin(stage, &write);
    peer_receive_pattern(peer, 0, 100000);
    stage_cancel(stage, &write);
    rgi_check(stage_end(stage, &write) == -ECANCELED);
    rgi_check(write.op.count >= 100000 && write.op.count < LARGE_BYTES);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_receive_pattern(peer, 100000, write.op.count);
    peer_expect_end(peer); /* all that was told, and no more */
    peer_close(peer);
    stage_close(stage);
    free(bytes);
}

/* ------------------------------------------------------------------ given up */

/* A read whose record goes by itself. */
struct loose_read {
    struct rgm_read read;
    uint32_t *released;
    char bytes[64];
};

RGM_RELEASE(rgm_read, loose_release);

static void
loose_release(struct rgm_read *read)
{
    struct loose_read *loose = (struct loose_read *)(void *)read;

    *loose->released += rgm_status(read) == 0 ? 101u : 1u;
    free(loose);
}

static void
never(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
    rgi_check(false);
}

static void
ask_and_abandon(struct puppet *puppet, void *argument)
{
    struct loose_read *loose = argument;

    rgm_ask_request(&puppet->actor, &loose->read.request, never);
    rgi_check(rgm_abandon_to(puppet, &loose->read,
                             RGM_RELEASE_BY(rgm_read, loose_release)) == 0);
}

static void
look(struct puppet *puppet, void *argument)
{
    uint32_t **words = argument;

    (void)puppet;
    *words[1] = *words[0];
}

/* As the worker sees it. */
static uint32_t
released_now(struct stage *stage, uint32_t *released)
{
    uint32_t seen;
    uint32_t *words[2] = {released, &seen};

    stage_do(stage, look, words);
    return seen;
}

void
opl_04_an_abandoned_read_holds_its_memory_to_the_end(struct stage *stage)
{
    struct loose_read *loose = calloc(1, sizeof(*loose));
    struct rgm_stream near;
    uint32_t released = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    loose->released = &released;
    rgm_stream_read(&loose->read, &near, loose->bytes, sizeof(loose->bytes));
    stage_do(stage, ask_and_abandon, loose);
    for (int i = 0; i < 10; i++)
        rgi_check(released_now(stage, &released) == 0);
    rgi_check(stage_busy(stage, &near) == 1); /* it goes on */
    peer_send(peer, "x", 1);
    while (released_now(stage, &released) == 0)
        continue;
    rgi_check(released == 101); /* once, with what it read */
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

struct loose_write {
    struct rgm_write write;
    uint32_t *released;
};

RGM_RELEASE(rgm_write, loose_written);

static void
loose_written(struct rgm_write *write)
{
    struct loose_write *loose = (struct loose_write *)(void *)write;

    *loose->released += rgm_status(write) == 0 ? 101u : 1u;
    free(loose);
}

struct timeout_step {
    struct rgm_timeout op;
    struct track track;
};

struct timed_write {
    struct timeout_step timeout;
    struct loose_write *loose;
};

static void
prepare_timeout(struct puppet *puppet, void *argument)
{
    struct timed_write *timed = argument;

    rgm_timeout(&timed->timeout.op, puppet, &timed->loose->write,
                RGM_NS_PER_MS, RGM_RELEASE_BY(rgm_write, loose_written));
}

void
clk_11_a_write_that_timed_out_still_arrives(struct stage *stage)
{
    struct timed_write timed = {.loose = calloc(1, sizeof(*timed.loose))};
    struct rgm_stream near;
    char *bytes = large_pattern();
    uint32_t released = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    timed.loose->released = &released;
    rgm_stream_write(&timed.loose->write, &near, bytes, LARGE_BYTES);
    stage_do(stage, prepare_timeout, &timed);
    rgi_check(stage_run(stage, &timed.timeout) == -ETIMEDOUT);
    rgi_check(timed.timeout.op.inner == NULL);
    rgi_check(released_now(stage, &released) == 0);
    peer_receive_pattern(peer, 0, LARGE_BYTES);
    while (released_now(stage, &released) == 0)
        continue;
    rgi_check(released == 101);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
    free(bytes);
}

/* ----------------------------------------------------------------- deadlines */

void
a_deadline_ends_a_read_and_the_stream_goes_on(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (int i = 0; i < 20; i++) {
        rgm_stream_read(&read.op, &near, &byte, 1);
        /* the first by more than a worker looks ahead for */
        rgm_expire_after(&read.op,
                         i == 0 ? 3 * RGM_NS_PER_MS
                                : (uint64_t)i * RGM_NS_PER_US * 50);
        rgi_check(stage_run(stage, &read) == -ETIMEDOUT);
        peer_send(peer, "x", 1);
        stage_read_all(stage, &near, &byte, 1);
        rgi_check(byte == 'x');
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
an_operation_of_another_worker_expires(struct stage *stage)
{
    struct sleep_step sleep = {0};

    stage->options.workers = 2;
    stage_open(stage);
    for (int i = 0; i < 20; i++) {
        rgm_sleep_until(&sleep.op, rgm_worker_address(1), RGM_NEVER);
        rgm_expire_after(&sleep.op, (uint64_t)i * RGM_NS_PER_US * 20);
        rgi_check(stage_run(stage, &sleep) == -ETIMEDOUT);
    }
    rgi_check(stage_in_flight(stage) == 0);
    stage_close(stage);
}

void
field_b43_memory_is_ours_when_the_answer_is_there(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char bytes[64], kept[64];
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    memset(kept, 0x5a, sizeof(kept));
    for (uint64_t i = 0; i < 50 + rgi_scale(1000); i++) {
        int status;

        rgm_stream_read(&read.op, &near, bytes, sizeof(bytes));
        if (i % 2 == 0)
            rgm_expire_after(&read.op, 1);
        stage_begin(stage, &read);
        if (i % 2 == 1)
            stage_cancel(stage, &read);
        status = stage_end(stage, &read);
        rgi_check(status == (i % 2 == 0 ? -ETIMEDOUT : -ECANCELED));
        memset(bytes, 0x5a, sizeof(bytes));
        peer_send(peer, "abc", 3); /* for nobody, for a while */
        (void)stage_counters(stage);
        rgi_check(memcmp(bytes, kept, sizeof(bytes)) == 0);
        stage_read_all(stage, &near, bytes, 3);
        rgi_check(memcmp(bytes, "abc", 3) == 0);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* Whichever comes first: no byte is lost, and there is one answer. */
void
field_b44_bytes_that_came_with_the_cancel_are_told(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    uint64_t rounds = 100 + rgi_scale(10000), told = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (uint64_t i = 0; i < rounds; i++) {
        char byte = 0;

        rgm_stream_read(&read.op, &near, &byte, 1);
        stage_begin(stage, &read);
        peer_send(peer, "x", 1);
        stage_cancel(stage, &read);
        if (stage_end(stage, &read) == 0) {
            rgi_check(read.op.count == 1 && byte == 'x');
            told++;
        } else {
            rgi_check(rgm_status(&read.op) == -ECANCELED);
            stage_read_all(stage, &near, &byte, 1); /* it is there still */
        }
        rgi_check(stage_answers(stage, &read) == i + 1);
    }
    rgi_check(told <= rounds);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* A plain thread reads where nothing comes, and goes on with the stream. */
void
a_blocking_call_has_a_time_limit(struct stage *stage)
{
    struct rgm_stream near;
    struct rgm_read read;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (unsigned i = 0; i < 5; i++) {
        rgm_stream_read(&read, &near, &byte, 1);
        rgm_expire_after(&read, RGM_NS_PER_MS);
        rgi_check(rgm_call(stage->runtime, &read) == -ETIMEDOUT);
    }
    peer_send(peer, "x", 1);
    rgm_stream_read(&read, &near, &byte, 1);
    rgm_expire_after(&read, GUARD_S * RGM_NS_PER_S);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 1 && byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
field_b50_answers_just_before_the_deadline(struct stage *stage)
{
    struct sleep_step sleep = {0};
    uint64_t in_time = 0;

    stage->options.workers = 2;
    stage_open(stage);
    for (uint64_t i = 0; i < 200 + rgi_scale(20000); i++) {
        int status;

        rgm_sleep_for(&sleep.op, rgm_worker_address(i % 2),
                      20 * RGM_NS_PER_US);
        rgm_expire_after(&sleep.op, (15 + i % 100) * RGM_NS_PER_US);
        status = stage_run(stage, &sleep);
        rgi_check(status == 0 || status == -ETIMEDOUT);
        in_time += status == 0;
    }
    rgi_check(in_time > 0);
    stage_close(stage); /* at once: nothing is armed any more */
}

void
field_b52_a_write_after_one_that_expired(struct stage *stage)
{
    struct write_step write = {0};
    struct rgm_stream near;
    char *bytes = large_pattern();
    size_t went;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_write(&write.op, &near, bytes, LARGE_BYTES);
    rgm_expire_after(&write.op, RGM_NS_PER_MS);
    rgi_check(stage_run(stage, &write) == -ETIMEDOUT);
    went = write.op.count;
    rgi_check(went < LARGE_BYTES);
    rgm_stream_write(&write.op, &near, bytes + went, LARGE_BYTES - went);
    stage_begin(stage, &write);
    peer_receive_pattern(peer, 0, LARGE_BYTES);
    rgi_check(stage_end(stage, &write) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    free(bytes);
}
