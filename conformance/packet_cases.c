/* SPDX-License-Identifier: MIT */

/* packet_cases.c - what must every provider show of packet sockets? */

#include "conformance/packet_cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "conformance/shim.h"

STEP(packet_read_step, rgm_packet_read);
STEP(packet_write_step, rgm_packet_write);

#define HERE rgm_worker_address(0)
#define LARGE_BYTES 60000

/* Opens, and says where it is bound. */
static int
packet_open(struct stage *stage, struct rgm_packet *packet,
            const struct rgm_endpoint *local, const struct rgm_endpoint *peer,
            struct rgm_endpoint *ret_bound)
{
    struct rgm_packet_open open;
    int status;

    rgm_packet_open(&open, HERE, packet, local, peer);
    status = rgm_call(stage->runtime, &open);
    if (ret_bound != NULL)
        *ret_bound = open.local;
    return status;
}

static int
packet_close(struct stage *stage, struct rgm_packet *packet)
{
    struct rgm_close close;

    rgm_packet_close(&close, packet);
    return rgm_call(stage->runtime, &close);
}

static int
packet_send(struct stage *stage, struct rgm_packet *packet, const void *data,
            size_t length_bytes, const struct rgm_endpoint *to)
{
    struct rgm_packet_write write;
    int status;

    rgm_packet_write(&write, packet, data, length_bytes, to);
    status = rgm_call(stage->runtime, &write);
    rgi_check(status < 0 || write.count == length_bytes);
    return status;
}

/* Two sockets; `near` is connected to `far`. */
struct two {
    struct rgm_packet near;
    struct rgm_packet far;
    struct rgm_endpoint near_at;
    struct rgm_endpoint far_at;
};

static void
two_open(struct stage *stage, struct two *two)
{
    struct rgm_endpoint local = loopback();

    *two = (struct two){0};
    stage_open(stage);
    rgi_check(packet_open(stage, &two->far, &local, NULL, &two->far_at) == 0);
    rgi_check(two->far_at.port != 0);
    rgi_check(packet_open(stage, &two->near, &local, &two->far_at,
                          &two->near_at) == 0);
}

static void
two_close(struct stage *stage, struct two *two)
{
    rgi_check(packet_close(stage, &two->near) == 0);
    rgi_check(packet_close(stage, &two->far) == 0);
    stage_close(stage);
}

void
pkt_01_datagrams_of_any_length_are_messages(struct stage *stage)
{
    static const size_t lengths[] = {0, 1, LARGE_BYTES, 0, 2};
    static unsigned char out[LARGE_BYTES];
    static unsigned char in[LARGE_BYTES + 1];
    struct rgm_endpoint source = {0};
    struct rgm_packet_read read;
    struct two two;

    two_open(stage, &two);
    pattern_fill(out, sizeof(out), 0);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        rgi_check(packet_send(stage, &two.near, out, lengths[i], NULL) == 0);
        rgm_packet_read(&read, &two.far, in, sizeof(in), 0);
        rgi_check(rgm_call(stage->runtime, &read) == 0);
        rgi_check(read.count == lengths[i] && !read.truncated);
        rgi_check(read.length_bytes == lengths[i]);
        rgi_check(pattern_holds(in, read.count, 0));
        rgi_check(rgm_packet_source(&read, &source) == 0);
        rgi_check(source.family == RGM_IPV4);
        rgi_check(source.port == two.near_at.port);
    }
    two_close(stage, &two);
}

void
pkt_02_boundaries_are_kept_and_cuts_told(struct stage *stage)
{
    unsigned char out[100];
    unsigned char in[100];
    struct rgm_packet_read read;
    struct two two;

    two_open(stage, &two);
    pattern_fill(out, sizeof(out), 0);
    rgi_check(packet_send(stage, &two.near, out, 100, NULL) == 0);
    rgi_check(packet_send(stage, &two.near, out, 7, NULL) == 0);
    memset(in, 0xee, sizeof(in));
    rgm_packet_read(&read, &two.far, in, 10, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 10 && read.truncated && read.length_bytes == 100);
    rgi_check(pattern_holds(in, 10, 0) && in[10] == 0xee);
    rgm_packet_read(&read, &two.far, in, sizeof(in), 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 7 && !read.truncated);
    two_close(stage, &two);
}

/* What is queued is taken by the first call: no other is made, and nothing is
 * waited for in between. */
void
pkt_03_first_attempt_is_made_at_once(struct stage *stage)
{
    struct rgm_packet_read read;
    struct two two;
    uint64_t entries;
    unsigned calls;
    char byte = 0;

    two_open(stage, &two);
    rgi_check(packet_send(stage, &two.near, "x", 1, NULL) == 0);
    entries = stage_counters(stage).entries_submitted;
    calls = shim_message_receives();
    rgm_packet_read(&read, &two.far, &byte, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && byte == 'x');
    if (stage_is_shimmed(stage))
        rgi_check(shim_message_receives() == calls + 1);
    rgi_check(stage_counters(stage).entries_submitted == entries + 1);
    two_close(stage, &two);
}

void
pkt_04_datagram_that_raced_a_cancel_is_not_lost(struct stage *stage)
{
    uint32_t rounds = (uint32_t)rgi_scale(20000);
    struct packet_read_step read;
    uint32_t next = 0;
    struct two two;

    two_open(stage, &two);
    for (uint32_t sent = 0; sent < rounds; sent++) {
        uint32_t seen = UINT32_MAX;
        size_t length_bytes = sent % 2 == 0 ? sizeof(sent) : 0;
        int status;

        step_clear(&read);
        rgm_packet_read(&read.op, &two.far, &seen, sizeof(seen), 0);
        stage_begin(stage, &read);
        rgi_check(packet_send(stage, &two.near, &sent, length_bytes, NULL) ==
                  0);
        stage_cancel(stage, &read);
        status = stage_end(stage, &read);
        rgi_check(status == 0 || status == -ECANCELED);
        if (status != 0) { /* then it is still there */
            rgm_packet_read(&read.op, &two.far, &seen, sizeof(seen), 0);
            rgi_check(stage_run(stage, &read) == 0);
        }
        rgi_check(read.op.count == length_bytes);
        rgi_check(length_bytes == 0 || seen == next);
        next++;
    }
    two_close(stage, &two);
}

/* ---------------------------------------------------------------- sources */

static void
unix_at(struct rgm_endpoint *endpoint, const char *directory)
{
    *endpoint = (struct rgm_endpoint){.family = RGM_UNIX};
    snprintf(endpoint->path, sizeof(endpoint->path), "%s/socket", directory);
}

void
pkt_05_source_may_be_absent(struct stage *stage)
{
    char directory[] = "/tmp/ringmail-packets-XXXXXX";
    const struct rgm_endpoint unnamed = {.family = RGM_UNIX};
    struct rgm_endpoint source = {.port = 77};
    struct rgm_packet named = {0};
    struct rgm_packet nameless = {0};
    struct rgm_packet_read read;
    struct rgm_endpoint at;
    char bytes[8];

    rgi_check(mkdtemp(directory) != NULL);
    unix_at(&at, directory);
    stage_open(stage);
    rgi_check(packet_open(stage, &named, &at, NULL, NULL) == 0);
    rgi_check(packet_open(stage, &nameless, &unnamed, NULL, NULL) == 0);
    rgi_check(packet_send(stage, &nameless, "abc", 3, &at) == 0);
    rgm_packet_read(&read, &named, bytes, sizeof(bytes), 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 3);
    rgi_check(rgm_packet_source(&read, &source) == -ENODATA);
    rgi_check(source.port == 77);
    rgi_check(packet_send(stage, &named, "de", 2, &at) == 0); /* to itself */
    rgm_packet_read(&read, &named, bytes, sizeof(bytes), 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 2);
    rgi_check(rgm_packet_source(&read, &source) == 0);
    rgi_check(strcmp(source.path, at.path) == 0);
    rgi_check(packet_close(stage, &named) == 0);
    rgi_check(packet_close(stage, &nameless) == 0);
    rgi_check(unlink(at.path) == 0 && rmdir(directory) == 0);
    stage_close(stage);
}

void
pkt_05_ipv6_source_has_its_scope(struct stage *stage)
{
    struct rgm_packet first = {0};
    struct rgm_packet second = {0};
    struct rgm_packet_read read;
    struct rgm_endpoint any;
    struct rgm_endpoint at;
    struct rgm_endpoint source;
    int status;
    char byte;

    rgi_check(rgm_endpoint_parse("::1", 0, &any) == 0);
    stage_open(stage);
    status = packet_open(stage, &first, &any, NULL, &at);
    if (status == -EADDRNOTAVAIL || status == -EAFNOSUPPORT) {
        stage_close(stage); /* a machine without IPv6 */
        return;
    }
    rgi_check(status == 0);
    rgi_check(packet_open(stage, &second, &any, &at, NULL) == 0);
    rgi_check(packet_send(stage, &second, "x", 1, NULL) == 0);
    rgm_packet_read(&read, &first, &byte, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(rgm_packet_source(&read, &source) == 0);
    rgi_check(source.family == RGM_IPV6 && source.scope == 0);
    rgi_check(memcmp(source.address, any.address, 16) == 0);
    rgi_check(packet_close(stage, &first) == 0);
    rgi_check(packet_close(stage, &second) == 0);
    stage_close(stage);
}

/* ----------------------------------------------------------------- refusals */

void
pkt_07_streams_and_packets_refuse_each_other(struct stage *stage)
{
    struct rgm_stream stream = {0};
    struct rgm_packet_write write;
    struct rgm_packet_read read;
    struct rgm_read stream_read;
    struct rgm_packet as_packet;
    struct rgm_stream as_stream;
    struct two two;
    char byte;
    int peer;

    two_open(stage, &two);
    peer = stage_pair(stage, &stream);
    as_packet.socket = stream.socket;
    as_stream.socket = two.near.socket;
    rgm_packet_read(&read, &as_packet, &byte, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == -EBADF);
    rgm_packet_write(&write, &as_packet, "x", 1, NULL);
    rgi_check(rgm_call(stage->runtime, &write) == -EBADF);
    rgm_stream_read(&stream_read, &as_stream, &byte, 1);
    rgi_check(rgm_call(stage->runtime, &stream_read) == -EBADF);
    rgi_check(stage_write(stage, &as_stream, "x", 1) == -EBADF);
    rgi_check(stage_close_stream(stage, &stream) == 0);
    peer_close(peer);
    two_close(stage, &two);
}

void
packet_open_checks_its_ends(struct stage *stage)
{
    const struct rgm_endpoint unnamed = {.family = RGM_UNIX};
    struct rgm_endpoint local = loopback();
    struct rgm_packet_open open;
    struct rgm_packet packet = {0};
    struct rgm_endpoint six;
    struct rgm_endpoint at;

    stage_open(stage);
    rgi_check(rgm_endpoint_parse("::1", 9, &six) == 0);
    rgi_check(packet_open(stage, &packet, NULL, NULL, NULL) == -EINVAL);
    rgi_check(packet_open(stage, &packet, &local, &six, NULL) == -EINVAL);
    rgi_check(packet_open(stage, NULL, &local, NULL, NULL) == -EINVAL);
    rgm_packet_open(&open, HERE, &packet, &unnamed, NULL);
    open.shared_port = true;
    rgi_check(rgm_call(stage->runtime, &open) == -ENOTSUP);
    rgi_check(packet.socket.open == 0 && packet.socket.busy == 0);
    rgi_check(packet_open(stage, &packet, &local, NULL, &at) == 0);
    rgi_check(packet_open(stage, &packet, &local, NULL, NULL) == -EBUSY);
    {
        struct rgm_packet second = {0};

        rgi_check(packet_open(stage, &second, &at, NULL, NULL) == -EADDRINUSE);
        rgi_check(second.socket.open == 0);
    }
    rgi_check(packet_send(stage, &packet, "x", 1, NULL) == -EDESTADDRREQ);
    rgi_check(packet_close(stage, &packet) == 0);
    stage_close(stage);
}

void
refused_peer_is_an_answer_and_the_socket_lives(struct stage *stage)
{
    struct rgm_packet_read read;
    struct two two;
    char byte = 0;
    int status;

    two_open(stage, &two);
    rgi_check(packet_close(stage, &two.far) == 0);
    rgi_check(packet_send(stage, &two.near, "x", 1, NULL) == 0);
    rgm_packet_read(&read, &two.near, &byte, 1, 0);
    status = rgm_call(stage->runtime, &read);
    rgi_check(status == -ECONNREFUSED);
    rgi_check(packet_open(stage, &two.far, &two.far_at, &two.near_at, NULL) ==
              0);
    rgi_check(packet_send(stage, &two.far, "y", 1, NULL) == 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && byte == 'y');
    two_close(stage, &two);
}

/* ---------------------------------------------------------------- both ways */

void
pkt_08_both_ways_at_once(struct stage *stage)
{
    uint32_t rounds = (uint32_t)rgi_scale(10000);
    struct packet_read_step near_read = {0};
    struct packet_read_step far_read = {0};
    struct packet_write_step write = {0};
    struct two two;
    uint32_t seen;
    uint32_t echoed;

    two_open(stage, &two);
    for (uint32_t i = 0; i < rounds; i++) {
        rgm_packet_read(&near_read.op, &two.near, &echoed, sizeof(echoed), 0);
        rgm_packet_read(&far_read.op, &two.far, &seen, sizeof(seen), 0);
        rgm_packet_write(&write.op, &two.near, &i, sizeof(i), NULL);
        stage_begin(stage, &near_read); /* out all the while */
        stage_begin(stage, &far_read);
        rgi_check(stage_run(stage, &write) == 0);
        rgi_check(stage_end(stage, &far_read) == 0 && seen == i);
        rgm_packet_write(&write.op, &two.far, &seen, sizeof(seen),
                         &two.near_at);
        rgi_check(stage_run(stage, &write) == 0);
        rgi_check(stage_end(stage, &near_read) == 0 && echoed == i);
    }
    two_close(stage, &two);
}

void
pkt_09_pieces_and_flags_are_alike(struct stage *stage)
{
    const struct rgm_vector out[] = {{"ab", 2}, {"", 0}, {"cde", 3}};
    static struct rgm_vector many[RGM_PACKET_VECTORS_MAX + 1];
    char first[2];
    char second[2];
    const struct rgm_vector in[] = {{first, 2}, {second, 2}};
    struct rgm_packet_write write;
    struct rgm_packet_read read;
    struct two two;
    char flat[8];

    two_open(stage, &two);
    rgm_packet_write_vectors(&write, &two.near, out, 3, NULL);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 5);
    rgm_packet_read(&read, &two.far, flat, 4, RGM_PACKET_PEEK);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 4 && read.truncated && read.length_bytes == 5);
    rgm_packet_read_vectors(&read, &two.far, in, 2, RGM_PACKET_PEEK);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 4 && read.truncated && read.length_bytes == 5);
    rgi_check(memcmp(first, "ab", 2) == 0 && memcmp(second, "cd", 2) == 0);
    rgm_packet_read(&read, &two.far, flat, sizeof(flat), 0x80);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgm_packet_read_vectors(&read, &two.far, many, RGM_PACKET_VECTORS_MAX + 1,
                            0);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgm_packet_read(&read, &two.far, flat, sizeof(flat), 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 5);
    rgi_check(memcmp(flat, "abcde", 5) == 0 && !read.truncated);
    for (size_t i = 0; i < RGM_PACKET_VECTORS_MAX; i++)
        many[i] = (struct rgm_vector){"z", 1};
    rgm_packet_write_vectors(&write, &two.near, many, RGM_PACKET_VECTORS_MAX,
                             NULL);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count == RGM_PACKET_VECTORS_MAX);
    two_close(stage, &two);
}

void
pkt_10_record_may_move_until_it_is_asked(struct stage *stage)
{
    struct rgm_packet_write *writes = calloc(2, sizeof(*writes));
    struct rgm_packet_read *reads = calloc(2, sizeof(*reads));
    struct two two;
    char byte = 0;

    rgi_check(writes != NULL && reads != NULL);
    two_open(stage, &two);
    rgm_packet_write(&writes[0], &two.near, "m", 1, &two.far_at);
    writes[1] = writes[0];
    memset(&writes[0], 0xa5, sizeof(writes[0]));
    rgi_check(rgm_call(stage->runtime, &writes[1]) == 0);
    rgm_packet_read(&reads[0], &two.far, &byte, 1, 0);
    reads[1] = reads[0];
    memset(&reads[0], 0xa5, sizeof(reads[0]));
    rgi_check(rgm_call(stage->runtime, &reads[1]) == 0 && byte == 'm');
    two_close(stage, &two);
    free(writes);
    free(reads);
}

/* -------------------------------------------------------------------- bursts */

enum { BURST = 64, JUMBO_BYTES = 9000, SMALL_BYTES = 1500 };

/* Numbered; every other one is empty, and four are longer than the memory. */
static size_t
burst_length(uint32_t number)
{
    if (number % 2 == 1)
        return 0;
    return number % 16 == 0 ? JUMBO_BYTES : 4 + number;
}

static void
burst_send(struct stage *stage, struct two *two, uint32_t round)
{
    unsigned char out[JUMBO_BYTES];

    pattern_fill(out, sizeof(out), 0);
    for (uint32_t i = 0; i < BURST; i++) {
        uint32_t number = round * BURST + i;

        memcpy(out, &number, sizeof(number));
        rgi_check(packet_send(stage, &two->near, out, burst_length(i), NULL) ==
                  0);
    }
}

static void
burst_holds(const struct rgm_packet_read *read, const unsigned char *bytes,
            uint32_t round, uint32_t i)
{
    size_t length_bytes = burst_length(i);
    uint32_t number = round * BURST + i;

    rgi_check(read->length_bytes == length_bytes);
    rgi_check(read->truncated == (length_bytes > SMALL_BYTES));
    rgi_check(read->count ==
              (length_bytes > SMALL_BYTES ? SMALL_BYTES : length_bytes));
    if (length_bytes > 0)
        rgi_check(memcmp(bytes, &number, sizeof(number)) == 0 &&
                  pattern_holds(bytes + 4, read->count - 4, 4));
}

void
field_b70_order_cuts_and_empty_ones(struct stage *stage)
{
    const uint32_t rounds = 2 + (uint32_t)rgi_scale(400);
    unsigned char in[SMALL_BYTES];
    struct packet_read_step next;
    struct rgm_packet_read read;
    struct two two;

    step_clear(&next);
    two_open(stage, &two);
    for (uint32_t round = 0; round < rounds; round++) {
        burst_send(stage, &two, round);
        for (uint32_t i = 0; i < BURST; i++) {
            rgm_packet_read(&read, &two.far, in, sizeof(in), 0);
            rgi_check(rgm_call(stage->runtime, &read) == 0);
            burst_holds(&read, in, round, i);
        }
        rgm_packet_read(&next.op, &two.far, in, sizeof(in), 0);
        stage_begin(stage, &next); /* nothing more is no empty datagram */
        (void)stage_counters(stage);
        rgi_check(stage_is_out(stage, &next));
        stage_cancel(stage, &next);
        rgi_check(stage_end(stage, &next) == -ECANCELED);
    }
    two_close(stage, &two);
}

/* -------------------------------------------------------------------- a life */

void
soc_01_packet_sockets_have_a_life(struct stage *stage)
{
    struct rgm_socket_option option;
    struct rgm_names names;
    struct two two;

    two_open(stage, &two);
    rgm_socket_names(&names, &two.near.socket);
    rgi_check(rgm_call(stage->runtime, &names) == 0);
    rgi_check(names.local.port == two.near_at.port);
    rgi_check(names.peer.port == two.far_at.port);
    rgm_socket_set(&option, &two.far.socket, RGM_OPTION_RECEIVE_BUFFER, 65536);
    rgi_check(rgm_call(stage->runtime, &option) == 0);
    rgm_socket_get(&option, &two.far.socket, RGM_OPTION_RECEIVE_BUFFER);
    rgi_check(rgm_call(stage->runtime, &option) == 0);
    rgi_check(option.value >= 65536);
    rgi_check(packet_close(stage, &two.far) == 0);
    rgi_check(packet_close(stage, &two.far) == -EBADF);
    rgi_check(packet_open(stage, &two.far, &two.far_at, NULL, NULL) == 0);
    two_close(stage, &two);
}

void
packets_leave_no_descriptor_and_no_memory(struct stage *stage)
{
    uint64_t allocations = 0;
    struct rgm_packet_read read;
    unsigned descriptors;
    struct two two;
    char byte;

    two_open(stage, &two);
    descriptors = descriptors_open();
    for (uint32_t i = 0; i < 2000; i++) {
        if (i == 200)
            allocations = shim_allocations();
        rgi_check(packet_send(stage, &two.near, "x", 1, NULL) == 0);
        rgm_packet_read(&read, &two.far, &byte, 1, 0);
        rgi_check(rgm_call(stage->runtime, &read) == 0);
    }
    rgi_check(shim_allocations() == allocations);
    rgi_check(descriptors_open() == descriptors);
    two_close(stage, &two);
}
