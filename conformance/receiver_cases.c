/* SPDX-License-Identifier: MIT */

/* receiver_cases.c - what must receivers show, where there are any? */

#include "conformance/receiver_cases.h"

#include <stdatomic.h>
#include <stdlib.h>

#include <ringmail/abandon.h>
#include <ringmail/deadline.h>
#include <ringmail/import.h>

STEP(receiver_step, rgm_receiver);
STEP(received_step, rgm_received);

/* A connection, a pool, and a receiver that may be out. */
struct inlet {
    struct rgm_stream near;
    struct rgm_pool *pool;
    struct receiver_step receiver;
    int peer;
};

static void
inlet_open(struct stage *stage, struct inlet *inlet, uint32_t slots_count,
           size_t slot_size_bytes)
{
    memset(inlet, 0, sizeof(*inlet));
    inlet->pool = pool_of(slots_count, slot_size_bytes);
    inlet->peer = stage_pair(stage, &inlet->near);
}

static void
inlet_begin(struct stage *stage, struct inlet *inlet)
{
    rgm_stream_receive(&inlet->receiver.op, &inlet->near, inlet->pool);
    stage_begin(stage, &inlet->receiver);
}

static void
inlet_close(struct stage *stage, struct inlet *inlet)
{
    rgi_check(stage_close_stream(stage, &inlet->near) == 0);
    peer_close(inlet->peer);
    rgi_check(rgm_pool_free_count(inlet->pool) ==
              rgm_pool_capacity(inlet->pool));
    rgm_pool_destroy(inlet->pool);
}

static void
begin_next(struct stage *stage, uint32_t worker, struct received_step *next,
           struct inlet *inlet)
{
    rgm_receiver_next(&next->op, &inlet->receiver.op);
    stage_begin_on(stage, worker, next);
}

static void
expect_piece(struct stage *stage, struct received_step *next, const char *text)
{
    rgi_check(stage_end(stage, next) == 0);
    rgi_check(next->op.count == strlen(text) && !next->op.end);
    rgi_check(memcmp(next->op.view.data, text, next->op.count) == 0);
}

static void
expect_end(struct stage *stage, struct inlet *inlet)
{
    struct received_step next = {0};

    begin_next(stage, 0, &next, inlet);
    rgi_check(stage_end(stage, &next) == 0);
    rgi_check(next.op.end && next.op.count == 0);
    rgi_check(next.op.view.block == NULL);
    rgi_check(stage_end(stage, &inlet->receiver) == 0);
}

/* A provider that has none says so and touches nothing. */
void
receivers_are_carried_out_or_refused(struct stage *stage)
{
    bool has = (stage->class->kinds >> RGM_OP_RECEIVE & 1) != 0;
    struct received_step next = {0};
    struct inlet inlet;
    bool end;
    char byte;

    rgi_check(has == (stage->class->kinds >> RGM_OP_RECEIVE_NEXT & 1));
    stage_open(stage);
    inlet_open(stage, &inlet, 2, 8);
    peer_send(inlet.peer, "x", 1);
    inlet_begin(stage, &inlet);
    begin_next(stage, 0, &next, &inlet);
    if (has) {
        expect_piece(stage, &next, "x");
        rgm_view_drop(&next.op.view);
        stage_cancel(stage, &inlet.receiver);
        rgi_check(stage_end(stage, &inlet.receiver) == -ECANCELED);
    } else {
        rgi_check(stage_end(stage, &inlet.receiver) == -ENOTSUP);
        rgi_check(stage_end(stage, &next) == -ENOTSUP);
        rgi_check(stage_read(stage, &inlet.near, &byte, 1, &end) == 1);
    }
    inlet_close(stage, &inlet);
    stage_close(stage);
}

/* ------------------------------------------------------------------- MSH-01 */

struct torrent {
    int peer;
    size_t bytes;
};

/* In pieces of all lengths; then no more. */
static void *
torrent_main(void *argument)
{
    const struct torrent *torrent = argument;
    char bytes[1500];
    size_t length;

    for (size_t sent = 0; sent < torrent->bytes; sent += length) {
        length = 1 + sent * 7 % sizeof(bytes);
        if (length > torrent->bytes - sent)
            length = torrent->bytes - sent;
        pattern_fill(bytes, length, sent);
        peer_send(torrent->peer, bytes, length);
    }
    peer_shutdown(torrent->peer);
    return NULL;
}

/* More than the pool holds, several waiting at a time, all in order. */
static void
whole_stream(struct stage *stage, struct inlet *inlet)
{
    enum { WAITING = 3 };
    struct received_step next[WAITING] = {0};
    struct torrent torrent = {.peer = inlet->peer, .bytes = 200000};
    pthread_t sender;
    size_t got = 0;
    bool end = false;

    inlet_begin(stage, inlet);
    rgi_check(pthread_create(&sender, NULL, torrent_main, &torrent) == 0);
    for (int i = 0; i < WAITING; i++)
        begin_next(stage, 0, &next[i], inlet);
    for (int i = 0; !end; i = (i + 1) % WAITING) {
        rgi_check(stage_end(stage, &next[i]) == 0);
        rgi_check(pattern_holds(next[i].op.view.data, next[i].op.count, got));
        got += next[i].op.count;
        end = next[i].op.end;
        rgm_view_drop(&next[i].op.view);
        if (!end)
            begin_next(stage, 0, &next[i], inlet);
    }
    rgi_check(got == torrent.bytes);
    for (int i = 0; i < WAITING; i++) { /* all who waited hear of it, or ... */
        int status = stage_end(stage, &next[i]);

        rgi_check(status == -EPIPE || (status == 0 && next[i].op.end));
    }
    rgi_check(stage_end(stage, &inlet->receiver) == 0);
    rgi_check(pthread_join(sender, NULL) == 0);
}

void
msh_01_whole_stream_comes_in_views(struct stage *stage)
{
    struct inlet inlet;

    stage_open(stage);
    inlet_open(stage, &inlet, 8, 512);
    whole_stream(stage, &inlet);
    inlet_close(stage, &inlet);
    stage_close(stage);
}

/* A connected pair of Unix sockets, one of which is imported. */
static void
inlet_open_unix(struct stage *stage, struct inlet *inlet, uint32_t slots_count,
                size_t slot_size_bytes)
{
    struct rgm_connect import;
    int ends[2];

    memset(inlet, 0, sizeof(*inlet));
    inlet->pool = pool_of(slots_count, slot_size_bytes);
    rgi_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    inlet->peer = ends[1];
    rgm_stream_import(&import, rgm_worker_address(0), &inlet->near, ends[0]);
    rgi_check(rgm_call(stage->runtime, &import) == 0);
}

/* A Unix socket keeps what was sent in pieces of its own; it comes as one stream,
 * and a wait that is cancelled or a dormant time in between loses nothing. */
void
msh_01_unix_streams_come_in_views(struct stage *stage)
{
    struct received_step next = {0};
    struct inlet inlet;

    stage_open(stage);
    inlet_open_unix(stage, &inlet, 8, 512);
    whole_stream(stage, &inlet);
    inlet_close(stage, &inlet);

    inlet_open_unix(stage, &inlet, 2, 4);
    inlet_begin(stage, &inlet);
    begin_next(stage, 0, &next, &inlet);
    stage_cancel(stage, &next);
    rgi_check(stage_end(stage, &next) == -ECANCELED);
    peer_send(inlet.peer, "ab", 2);
    peer_send(inlet.peer, "cdefgh", 6);
    peer_send(inlet.peer, "ijklm", 5); /* two slots do not hold it all */
    peer_shutdown(inlet.peer);
    for (size_t got = 0; got < 13; got += next.op.count) {
        begin_next(stage, 0, &next, &inlet);
        rgi_check(stage_end(stage, &next) == 0 && !next.op.end);
        rgi_check(memcmp(next.op.view.data, "abcdefghijklm" + got,
                         next.op.count) == 0);
        rgm_view_drop(&next.op.view);
    }
    expect_end(stage, &inlet);
    inlet_close(stage, &inlet);
    stage_close(stage);
}

/* ------------------------------------------------------------------- MSH-02 */

/* One with nothing to do, one with a piece that waits, one that is dormant with
 * somebody waiting; a view outlives them all. */
void
msh_02_receivers_are_out_when_the_runtime_stops(struct stage *stage)
{
    struct received_step idle = {0}, held = {0}, waits = {0};
    struct inlet inlets[3];

    stage_open(stage);
    for (int i = 0; i < 3; i++) {
        inlet_open(stage, &inlets[i], 1, 4);
        inlet_begin(stage, &inlets[i]);
    }
    begin_next(stage, 0, &idle, &inlets[0]);
    peer_send(inlets[1].peer, "abcd", 4);
    peer_send(inlets[2].peer, "abcdefgh", 8);
    begin_next(stage, 0, &held, &inlets[2]);
    expect_piece(stage, &held, "abcd");
    begin_next(stage, 0, &waits, &inlets[2]);
    (void)stage_counters(stage);
    for (int i = 0; i < 3; i++)
        rgi_check(stage_is_out(stage, &inlets[i].receiver));
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]) == 0);
    for (int i = 0; i < 3; i++)
        rgi_check(stage_end(stage, &inlets[i].receiver) == -ECANCELED);
    rgi_check(stage_end(stage, &idle) == -ECANCELED ||
              stage_end(stage, &idle) == -EPIPE);
    rgi_check(stage_end(stage, &waits) == -ECANCELED ||
              stage_end(stage, &waits) == -EPIPE);
    for (int i = 0; i < 3; i++)
        peer_close(inlets[i].peer);
    stage_wait(stage);
    rgi_check(memcmp(held.op.view.data, "abcd", 4) == 0);
    rgm_view_drop(&held.op.view);
    for (int i = 0; i < 3; i++) {
        rgi_check(rgm_pool_free_count(inlets[i].pool) == 1);
        rgm_pool_destroy(inlets[i].pool);
    }
}

static _Atomic int released;

RGM_RELEASE(rgm_receiver, receiver_release);

static void
receiver_release(struct rgm_receiver *receiver)
{
    rgi_check(rgm_status(receiver) == -ECANCELED);
    atomic_fetch_add(&released, 1);
    free(receiver);
}

struct desertion {
    struct inlet *inlet;
    struct rgm_receiver *receiver;
    struct received_step *next;
};

static void
ask_and_abandon(struct puppet *puppet, void *argument)
{
    struct desertion *desertion = argument;

    rgm_stream_receive(desertion->receiver, &desertion->inlet->near,
                       desertion->inlet->pool);
    puppet_ask(puppet, &desertion->receiver->request);
    rgm_receiver_next(&desertion->next->op, desertion->receiver);
    puppet_begin(puppet, desertion->next);
    rgi_check(rgm_abandon_to(puppet, desertion->receiver,
                             RGM_RELEASE_BY(rgm_receiver, receiver_release)) ==
              0);
}

/* It goes on for whoever waits for a piece, until its worker ends. */
void
msh_02_given_up_a_receiver_ends_with_its_worker(struct stage *stage)
{
    struct rgm_receiver *receiver = calloc(1, sizeof(*receiver));
    struct received_step next = {0};
    struct inlet inlet;
    struct desertion desertion = {&inlet, receiver, &next};

    rgi_check(receiver != NULL);
    atomic_store(&released, 0);
    stage_open(stage);
    inlet_open(stage, &inlet, 2, 8);
    stage_do(stage, ask_and_abandon, &desertion);
    peer_send(inlet.peer, "abcd", 4);
    expect_piece(stage, &next, "abcd");
    rgm_view_drop(&next.op.view);
    rgi_check(atomic_load(&released) == 0);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_stop(stage);
    peer_close(inlet.peer);
    stage_close(stage);
    rgi_check(atomic_load(&released) == 1);
    rgi_check(rgm_pool_free_count(inlet.pool) == 2);
    rgm_pool_destroy(inlet.pool);
}

/* ------------------------------------------------------------------- MSH-04 */

static void
drop_view(struct puppet *puppet, void *argument)
{
    (void)puppet;
    rgm_view_drop(argument);
}

/* Asked for and dropped by worker 1, of a receiver of worker 0's; every other
 * one by a thread that is no worker. With one slot each drop wakes it. */
void
msh_04_views_are_dropped_on_another_worker(struct stage *stage)
{
    struct received_step next = {0};
    struct inlet inlet;
    char text[5] = "0000";

    stage->options.workers = 2;
    stage_open(stage);
    inlet_open(stage, &inlet, 1, 4);
    inlet_begin(stage, &inlet);
    for (int i = 0; i < 100; i++)
        peer_send(inlet.peer, "abcd", 4);
    memcpy(text, "abcd", 4);
    for (int i = 0; i < 100; i++) {
        begin_next(stage, 1, &next, &inlet);
        expect_piece(stage, &next, text);
        if (i % 2 == 0)
            stage_do_on(stage, 1, drop_view, &next.op.view);
        else
            rgm_view_drop(&next.op.view);
    }
    peer_shutdown(inlet.peer);
    expect_end(stage, &inlet);
    inlet_close(stage, &inlet);
    stage_close(stage);
}

/* ------------------------------------------------------------------- MSH-05 */

static void
begin_late(struct puppet *puppet, void *argument)
{
    struct received_step *next = argument;

    rgm_expire_at(&next->op, rgm_deadline_in(puppet, RGM_NS_PER_MS));
    puppet_begin(puppet, next);
}

/* Whatever comes, comes to somebody, once: a wait that is cancelled, or late, has
 * its piece or leaves it to the next. */
void
msh_05_cancelled_and_late_waits_lose_nothing(struct stage *stage)
{
    struct received_step next = {0};
    struct inlet inlet;
    uint32_t got = 0, sent = 0;

    stage_open(stage);
    inlet_open(stage, &inlet, 4, 1);
    inlet_begin(stage, &inlet);
    for (uint32_t asked = 0; got < 60; asked++) {
        char byte = (char)('a' + sent % 26);
        int status;

        rgm_receiver_next(&next.op, &inlet.receiver.op);
        if (asked % 3 == 0)
            stage_do(stage, begin_late, &next);
        else
            stage_begin(stage, &next);
        if (sent == got) {
            peer_send(inlet.peer, &byte, 1);
            sent++;
        }
        if (asked % 2 == 0)
            stage_cancel(stage, &next);
        status = stage_end(stage, &next);
        rgi_check(status == 0 || status == -ECANCELED || status == -ETIMEDOUT);
        rgi_check((status == 0) == (next.op.count == 1));
        if (status == 0) {
            rgi_check(*(const char *)next.op.view.data ==
                      (char)('a' + got % 26));
            rgm_view_drop(&next.op.view);
            got++;
        }
    }
    peer_shutdown(inlet.peer);
    expect_end(stage, &inlet);
    inlet_close(stage, &inlet);
    stage_close(stage);
}

/* ------------------------------------------------------------------- MSH-06 */

/* The gauge of operations that are out counts it as one: idle, with pieces that
 * wait, dormant, and until its end has been told. */
void
msh_06_one_operation_from_start_to_end(struct stage *stage)
{
    struct received_step next = {0};
    struct inlet inlet;

    stage_open(stage);
    inlet_open(stage, &inlet, 3, 4);
    rgi_check(stage_in_flight(stage) == 0);
    inlet_begin(stage, &inlet);
    rgi_check(stage_in_flight(stage) == 1);
    rgi_check(stage_busy(stage, &inlet.near) == 1);
    peer_send(inlet.peer, "aaaabbbbccccdddd", 16);
    peer_shutdown(inlet.peer);
    for (int i = 0; i < 4; i++) {
        begin_next(stage, 0, &next, &inlet);
        rgi_check(stage_end(stage, &next) == 0 && next.op.count == 4);
        rgm_view_drop(&next.op.view);
        rgi_check(stage_in_flight(stage) == 1);
    }
    rgi_check(stage_busy(stage, &inlet.near) == 1);
    expect_end(stage, &inlet);
    rgi_check(inlet.receiver.op.queued_max >= 1);
    rgi_check(inlet.receiver.op.queued_max <= 3);
    rgi_check(stage_in_flight(stage) == 0);
    inlet_close(stage, &inlet);
    stage_close(stage);
}
