/* SPDX-License-Identifier: MIT */

/* race_cases.c - an operation and its cancel, in every order. */

#include "conformance/race_cases.h"

#include <stdlib.h>

#include "conformance/order.h"

#define HERE rgm_worker_address(0)
#define MUCH_BYTES ((size_t)16 << 20) /* more than all buffers on the way */

STEP(race_packet_step, rgm_packet_read);
STEP(race_datagram_step, rgm_packet_read_pooled);

/* ----------------------------------------------------------------- the order */

/* -------------------------------------------------------------------- a read */

void
cnf_09_a_read_and_its_cancel_in_every_order(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read(&read.op, &near, &byte, 1);

    /* The cancel, and nothing else. */
    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED && read.op.count == 0);

    /* The data, then the cancel. */
    stage_do(stage, order_hold_completions, NULL);
    stage_begin(stage, &read);
    peer_send(peer, "a", 1);
    order_await(stage, 1);
    stage_cancel(stage, &read);
    rgi_check(stage_is_out(stage, &read));
    stage_do(stage, order_let_go, NULL);
    rgi_check(stage_end(stage, &read) == 0 && read.op.count == 1);
    rgi_check(byte == 'a');

    /* The cancel, and the data before anybody has heard of it. */
    stage_do(stage, order_hold_cancels, NULL);
    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    peer_send(peer, "b", 1);
    rgi_check(stage_end(stage, &read) == 0 && byte == 'b');
    stage_do(stage, order_let_go, NULL);

    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------------- a write */

struct drain {
    pthread_t thread;
    int peer;
    size_t received_bytes;
};

static void *
drain_main(void *argument)
{
    struct drain *drain = argument;
    char *bytes = malloc(65536);
    size_t count = 1;

    rgi_check(bytes != NULL);
    while (count > 0) {
        count = peer_receive_some(drain->peer, bytes, 65536);
        rgi_check(pattern_holds(bytes, count, drain->received_bytes));
        drain->received_bytes += count;
    }
    free(bytes);
    return NULL;
}

static void
write_in_two_orders(struct stage *stage, struct rgm_stream *near, int peer)
{
    struct write_step write = {0};
    char bytes[3] = {0};

    /* It is out, then the cancel. */
    rgm_stream_write(&write.op, near, "abc", 3);
    stage_do(stage, order_hold_completions, NULL);
    stage_begin(stage, &write);
    order_await(stage, 1);
    stage_cancel(stage, &write);
    stage_do(stage, order_let_go, NULL);
    rgi_check(stage_end(stage, &write) == 0 && write.op.count == 3);

    /* The cancel, of which nobody hears before it is out. */
    stage_do(stage, order_hold_cancels, NULL);
    stage_begin(stage, &write);
    stage_cancel(stage, &write);
    rgi_check(stage_end(stage, &write) == 0 && write.op.count == 3);
    stage_do(stage, order_let_go, NULL);
    for (int i = 0; i < 2; i++) {
        peer_receive(peer, bytes, 3);
        rgi_check(memcmp(bytes, "abc", 3) == 0);
    }
}

void
cnf_09_a_write_and_its_cancel_in_every_order(struct stage *stage)
{
    char *much = malloc(MUCH_BYTES);
    struct write_step write = {0};
    struct rgm_stream near;
    struct drain drain = {0};

    rgi_check(much != NULL);
    pattern_fill(much, MUCH_BYTES, 0);
    stage->spied = true;
    stage_open(stage);
    drain.peer = stage_pair(stage, &near);
    write_in_two_orders(stage, &near, drain.peer);

    /* The cancel in the middle: what went out is what it says. */
    rgm_stream_write(&write.op, &near, much, MUCH_BYTES);
    stage_begin(stage, &write);
    stage_cancel(stage, &write);
    rgi_check(stage_end(stage, &write) == -ECANCELED);
    rgi_check(write.op.count < MUCH_BYTES);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(pthread_create(&drain.thread, NULL, drain_main, &drain) == 0);
    rgi_check(pthread_join(drain.thread, NULL) == 0);
    rgi_check(drain.received_bytes == write.op.count);
    peer_close(drain.peer);
    stage_close(stage);
    free(much);
}

/* ----------------------------------------------------------------- an accept */

/* The connection is somebody's, or is still to be had: never nobody's. */
static void
take_and_close(struct stage *stage, struct rgm_stream *near, int peer)
{
    rgi_check(stage_write(stage, near, "x", 1) == 0);
    peer_receive(peer, &(char){0}, 1);
    rgi_check(stage_close_stream(stage, near) == 0);
    peer_close(peer);
}

void
cnf_09_an_accept_and_its_cancel_in_every_order(struct stage *stage)
{
    struct accept_step accept = {0};
    struct rgm_stream near = {0};
    int peer;

    stage->spied = true;
    stage_open(stage);
    stage_listen(stage);
    rgm_stream_accept(&accept.op, &stage->listener, &near);

    stage_begin(stage, &accept);
    stage_cancel(stage, &accept);
    rgi_check(stage_end(stage, &accept) == -ECANCELED);
    rgi_check(near.socket.open == 0);

    /* The connection, then the cancel. */
    stage_do(stage, order_hold_completions, NULL);
    stage_begin(stage, &accept);
    peer = peer_connect(&stage->endpoint);
    order_await(stage, 1);
    stage_cancel(stage, &accept);
    stage_do(stage, order_let_go, NULL);
    rgi_check(stage_end(stage, &accept) == 0);
    take_and_close(stage, &near, peer);

    /* The cancel, and a connection before anybody has heard of it. */
    stage_do(stage, order_hold_cancels, NULL);
    stage_begin(stage, &accept);
    stage_cancel(stage, &accept);
    peer = peer_connect(&stage->endpoint);
    rgi_check(stage_end(stage, &accept) == 0);
    stage_do(stage, order_let_go, NULL);
    take_and_close(stage, &near, peer);
    stage_close(stage);
}

/* ------------------------------------------------------------------ a packet */

static int
open_packet(struct stage *stage, struct rgm_packet *packet,
            struct rgm_endpoint *endpoint, const struct rgm_endpoint *peer)
{
    struct rgm_packet_open open;
    int status;

    *packet = (struct rgm_packet){0};
    rgm_packet_open(&open, HERE, packet, endpoint, peer);
    status = rgm_call(stage->runtime, &open);
    *endpoint = open.local;
    return status;
}

static void
close_packet(struct stage *stage, struct rgm_packet *packet)
{
    struct rgm_close close;

    rgm_packet_close(&close, packet);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
}

static void
send_packet(struct stage *stage, struct rgm_packet *packet, const char *byte)
{
    struct rgm_packet_write write;

    rgm_packet_write(&write, packet, byte, 1, NULL);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
}

/* The spy is taken away before: it would hold what is sent, too. */
void
cnf_09_a_packet_and_its_cancel_in_every_order(struct stage *stage)
{
    struct rgm_endpoint near_at = loopback(), far_at = loopback();
    struct race_packet_step read = {0};
    struct rgm_packet near, far;
    char byte = 0;

    stage->spied = true;
    stage_open(stage);
    rgi_check(open_packet(stage, &near, &near_at, NULL) == 0);
    rgi_check(open_packet(stage, &far, &far_at, &near_at) == 0);
    rgm_packet_read(&read.op, &near, &byte, 1, 0);

    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);

    send_packet(stage, &far, "a");
    stage_do(stage, order_hold_completions, NULL);
    stage_begin(stage, &read);
    order_await(stage, 1);
    stage_cancel(stage, &read);
    stage_do(stage, order_let_go, NULL);
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(read.op.count == 1 && byte == 'a');

    stage_do(stage, order_hold_cancels, NULL);
    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    send_packet(stage, &far, "b");
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(read.op.count == 1 && byte == 'b');
    stage_do(stage, order_let_go, NULL);

    close_packet(stage, &near);
    close_packet(stage, &far);
    stage_close(stage);
}

/* The same into a pool's slot: the record has the datagram, or the socket. */
void
cnf_09_a_pooled_datagram_and_its_cancel_in_every_order(struct stage *stage)
{
    struct rgm_endpoint near_at = loopback(), far_at = loopback();
    struct rgm_pool *pool = pool_of(1, 64);
    struct race_datagram_step read = {0};
    struct rgm_packet near, far;
    const void *bytes = NULL;
    int status;

    stage->spied = true;
    stage_open(stage);
    rgi_check(open_packet(stage, &near, &near_at, NULL) == 0);
    rgi_check(open_packet(stage, &far, &far_at, &near_at) == 0);
    rgm_packet_read_pooled(&read.op, &near, pool, 0);

    stage_begin(stage, &read);
    stage_cancel(stage, &read);
    rgi_check(stage_end(stage, &read) == -ECANCELED);

    for (int round = 0; round < 2; round++) {
        if (round == 0) { /* it comes, and then the cancel */
            send_packet(stage, &far, "a");
            stage_do(stage, order_hold_completions, NULL);
            stage_begin(stage, &read);
            order_await(stage, 1);
            stage_cancel(stage, &read);
            stage_do(stage, order_let_go, NULL);
        } else { /* the cancel, of which nobody hears before it has come */
            stage_do(stage, order_hold_cancels, NULL);
            stage_begin(stage, &read);
            stage_cancel(stage, &read);
            send_packet(stage, &far, "b");
        }
        status = stage_end(stage, &read);
        if (round == 1 &&
            status == -ECANCELED) { /* it had only waited so far */
            stage_do(stage, order_let_go, NULL);
            status = stage_run(stage, &read);
        }
        rgi_check(status == 0 && read.op.count == 1);
        rgi_check(rgm_datagram_bytes(&read.op, 0, 1, &bytes) == 0);
        rgi_check(*(const char *)bytes == "ab"[round]);
        rgm_datagram_drop(&read.op);
    }
    stage_do(stage, order_let_go, NULL);
    rgi_check(rgm_pool_free_count(pool) == 1);
    close_packet(stage, &near);
    close_packet(stage, &far);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------------ who left */

/* Asks for a read in its own name; its end does not wait for anything else. */
struct leaver {
    struct rgm_actor actor;
    struct leaver_order *order;
};

struct leaver_order {
    struct rgm_read *read;
    uint32_t answered; /* atomic */
};

RGM_HOOK(leaver, leaver_started);
RGM_FACTORY(leaver, leaver, leaver_make);

static const struct rgm_behaviour leaver_behaviour = {
    .name = "leaver",
    .size_bytes = sizeof(struct leaver),
    .factory = RGM_MAKE(leaver, leaver_make),
    .started = RGM_DO(leaver, leaver_started),
};

static int
leaver_make(struct leaver *self, const struct leaver *argument)
{
    self->order = argument->order;
    return 0;
}

static void
leaver_answered(struct rgm_actor *actor, struct rgm_request *request)
{
    struct leaver *self = (struct leaver *)(void *)actor;

    (void)request;
    __atomic_store_n(&self->order->answered, 1, __ATOMIC_RELEASE);
}

static void
leaver_started(struct leaver *self)
{
    rgm_ask_request(&self->actor, &self->order->read->request, leaver_answered);
    rgm_stop(self);
}

/* It has asked and is about to go. Nobody has heard of the cancel that comes
 * with that: the memory is the operation's, and the stream is busy. */
void
cnf_09_what_stays_held_when_the_asker_has_left(struct stage *stage)
{
    struct rgm_read read;
    struct leaver_order order = {.read = &read};
    struct leaver argument = {.order = &order};
    struct rgm_stream near;
    struct rgm_address leaver;
    char byte = 0;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, order_hold_cancels, NULL);
    rgm_stream_read(&read, &near, &byte, 1);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &leaver_behaviour, &argument,
                                &leaver) == 0);
    (void)stage_counters(stage);
    rgi_check(stage_busy(stage, &near) == 1);
    rgi_check(__atomic_load_n(&order.answered, __ATOMIC_ACQUIRE) == 0);
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    peer_send(peer, "x", 1);
    while (stage_busy(stage, &near) != 0)
        continue;
    (void)stage_counters(stage);
    rgi_check(__atomic_load_n(&order.answered, __ATOMIC_ACQUIRE) == 1);
    rgi_check(read.count == 1 && byte == 'x');
    stage_do(stage, order_let_go, NULL);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* -------------------------------------------------------------------- others */

void
empty_reads_of_streams_are_no_ends(struct stage *stage)
{
    struct rgm_stream near;
    struct rgm_read read;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (int i = 0; i < 2; i++) { /* without data, and with */
        rgm_stream_read(&read, &near, &byte, 0);
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        rgi_check(read.count == 0 && !read.end);
        peer_send(peer, "x", 1);
    }
    stage_read_all(stage, &near, &byte, 1);
    rgi_check(byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
accept_says_who_has_connected(struct stage *stage)
{
    struct rgm_stream near = {0};
    struct rgm_accept accept;
    struct rgm_names names;
    int peer;

    stage_open(stage);
    stage_listen(stage);
    peer = peer_connect(&stage->endpoint);
    rgm_stream_accept(&accept, &stage->listener, &near);
    accept.want_peer = true;
    rgi_check(rgm_call(stage->runtime, &accept) == 0);
    rgi_check(accept.peer.family == RGM_IPV4 && accept.peer.port != 0);
    rgm_socket_names(&names, &near.socket);
    rgi_check(rgm_call(stage->runtime, &names) == 0);
    rgi_check(names.peer.port == accept.peer.port);
    rgi_check(names.local.port == stage->endpoint.port);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}
