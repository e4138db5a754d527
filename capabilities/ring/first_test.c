/* SPDX-License-Identifier: MIT */

/* first_test.c - which receives ask their socket before they wait? All but plain
 * reads of streams (srd_08 in stream_test); those into a pool are pooled_test's. */

#include <ringmail/datagram.h>

#include "capabilities/ring/shim.h"

#define ROUNDS 20
#define MEMORY_BYTES 4

/* Two sockets that are connected to each other: streams, or packets. */
struct ends {
    struct world world;
    struct pair pair;
    struct rgm_packet near;
    struct rgm_packet far;
};

static void
packet_open(struct ends *ends, struct rgm_packet *packet,
            const struct rgm_endpoint *peer, struct rgm_endpoint *ret_bound)
{
    struct rgm_packet_open open;
    struct rgm_endpoint any;

    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &any) == 0);
    rgm_packet_open(&open, world_here, packet, &any, peer);
    rgi_check(world_do(&ends->world, &open.operation) == 0);
    *ret_bound = open.local;
}

static void
ends_open(struct ends *ends)
{
    struct rgm_endpoint near, far;

    memset(ends, 0, sizeof(*ends));
    shim_open(&ends->world);
    pair_open(&ends->world, &ends->pair);
    packet_open(ends, &ends->far, NULL, &far);
    packet_open(ends, &ends->near, &far, &near);
    world_settle(&ends->world); /* the bell is watched by now */
}

static void
ends_close(struct ends *ends)
{
    struct rgm_close close;

    rgm_packet_close(&close, &ends->near);
    rgi_check(world_do(&ends->world, &close.operation) == 0);
    rgm_packet_close(&close, &ends->far);
    rgi_check(world_do(&ends->world, &close.operation) == 0);
    pair_close(&ends->world, &ends->pair);
    world_close(&ends->world);
}

/* Behind the ring's back. */
static void
feed(struct ends *ends, const struct rgm_socket *from, const char *text)
{
    rgi_check(send(world_fd(&ends->world, from), text, strlen(text),
                   MSG_NOSIGNAL) == (ssize_t)strlen(text));
}

static unsigned
seen(uint8_t opcode)
{
    return shim.seen[opcode] + shim.seen[IORING_OP_POLL_ADD];
}

/* All that the memory holds, or less. */
static const char *
text_of(unsigned round)
{
    return round % 3 == 0 ? "full" : "few";
}

/*
 * Asked before there is anything, or when it is there: one entry, which does not
 * wait first, whatever the one before had brought. An interrupted attempt is made
 * again likewise, and so is one that had nothing, behind a poll.
 */
static void
each_goes_first(struct ends *ends, struct rgm_operation *operation,
                const struct rgm_socket *from, uint8_t opcode)
{
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        unsigned before = seen(opcode);
        bool interrupted = round % 5 == 4;
        bool vain = round % 7 == 6;

        if (interrupted)
            shim_expect(opcode, -EINTR, 1);
        if (vain)
            shim_expect(opcode, -EAGAIN, 1);
        if (round % 2 == 0)
            feed(ends, from, text_of(round));
        world_start(&ends->world, operation);
        if (round % 2 == 1) {
            world_settle(&ends->world);
            rgi_check(!is_home(operation));
            feed(ends, from, text_of(round));
        }
        rgi_check(world_finish(&ends->world, operation) == 0);
        rgi_check(seen(opcode) == before + 1 + interrupted + 2 * vain);
        rgi_check(shim.last[opcode].ioprio == 0);
    }
}

static void
srd_24_reads_with_urgent_support_go_first(void)
{
    char memory[MEMORY_BYTES];
    struct rgm_read read;
    struct ends ends;

    ends_open(&ends);
    rgm_stream_read(&read, &ends.pair.far, memory, sizeof(memory));
    read.urgent = true;
    each_goes_first(&ends, &read.operation, &ends.pair.near.socket,
                    IORING_OP_RECV);
    ends_close(&ends);
}

static void
srd_24_packet_reads_go_first(void)
{
    char memory[MEMORY_BYTES];
    struct rgm_packet_read read;
    struct ends ends;

    ends_open(&ends);
    rgm_packet_read(&read, &ends.far, memory, sizeof(memory), 0);
    each_goes_first(&ends, &read.operation, &ends.near.socket,
                    IORING_OP_RECVMSG);
    ends_close(&ends);
}

/* With a flag, and into several pieces: the datagram stays where it is, and the
 * next look is an attempt, too. */
static void
srd_24_flagged_message_receives_go_first(void)
{
    char first[2], second[2];
    const struct rgm_vector pieces[] = {{first, 2}, {second, 2}};
    struct rgm_packet_read look, take;
    struct ends ends;

    ends_open(&ends);
    rgm_packet_read_vectors(&look, &ends.far, pieces, 2, RGM_PACKET_PEEK);
    rgm_packet_read_vectors(&take, &ends.far, pieces, 2, 0);
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        unsigned before = seen(IORING_OP_RECVMSG);

        if (round % 2 == 0)
            feed(&ends, &ends.near.socket, text_of(round));
        world_start(&ends.world, &look.operation);
        if (round % 2 == 1) {
            world_settle(&ends.world);
            feed(&ends, &ends.near.socket, text_of(round));
        }
        rgi_check(world_finish(&ends.world, &look.operation) == 0);
        rgi_check(seen(IORING_OP_RECVMSG) == before + 1);
        rgi_check(world_do(&ends.world, &look.operation) == 0);
        rgi_check(world_do(&ends.world, &take.operation) == 0);
        rgi_check(look.count == take.count);
        rgi_check(seen(IORING_OP_RECVMSG) == before + 3);
        rgi_check(shim.last[IORING_OP_RECVMSG].ioprio == 0);
    }
    ends_close(&ends);
}

/* Without data it is tried, the slot goes back, it waits and tries again. */
static void
srd_24_packets_into_a_pool_go_first(void)
{
    struct rgm_pool_options options = {
        .name = "packets", .slots_count = 64, .slot_size_bytes = MEMORY_BYTES};
    struct rgm_packet_read_pooled read;
    struct rgm_pool *pool;
    struct ends ends;

    ends_open(&ends);
    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgm_packet_read_pooled(&read, &ends.far, pool, 0);
    for (unsigned round = 0; round < 2 * ROUNDS; round++) {
        unsigned before = shim.seen[IORING_OP_RECVMSG];
        unsigned polls = shim.seen[IORING_OP_POLL_ADD];
        unsigned waits = round % 2;

        if (!waits)
            feed(&ends, &ends.near.socket, text_of(round));
        world_start(&ends.world, &read.operation);
        if (waits) {
            world_settle(&ends.world);
            rgi_check(rgm_pool_free_count(pool) == 64);
            rgi_check(shim.seen[IORING_OP_RECVMSG] == before + 1);
            feed(&ends, &ends.near.socket, text_of(round));
        }
        rgi_check(world_finish(&ends.world, &read.operation) == 0);
        rgi_check(shim.seen[IORING_OP_RECVMSG] == before + 1 + waits);
        rgi_check(shim.seen[IORING_OP_POLL_ADD] == polls + waits);
        rgm_datagram_drop(&read);
    }
    ends_close(&ends);
    rgm_pool_destroy(pool);
}

#define CASES(X)                                                               \
    X(ring_first, srd_24_reads_with_urgent_support_go_first)                   \
    X(ring_first, srd_24_packet_reads_go_first)                                \
    X(ring_first, srd_24_flagged_message_receives_go_first)                    \
    X(ring_first, srd_24_packets_into_a_pool_go_first)

RGI_CASES(CASES)
