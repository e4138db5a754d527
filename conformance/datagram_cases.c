/* SPDX-License-Identifier: MIT */

/* datagram_cases.c - what must every provider show of packets that are read into
 * a pool? */

#include "conformance/datagram_cases.h"

#include <unistd.h>

#include "conformance/shim.h"

STEP(datagram_step, rgm_packet_read_pooled);

#define HERE rgm_worker_address(0)

/* Two sockets; `near` is connected to `far`, and `far` reads into the pool. */
struct pooled_two {
    struct rgm_packet near;
    struct rgm_packet far;
    struct rgm_endpoint near_at;
    struct rgm_pool *pool;
};

static void
open_at(struct stage *stage, struct rgm_packet *packet,
        const struct rgm_endpoint *peer, struct rgm_endpoint *ret_bound)
{
    struct rgm_endpoint local = loopback();
    struct rgm_packet_open open;

    rgm_packet_open(&open, HERE, packet, &local, peer);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    *ret_bound = open.local;
}

static void
two_open(struct stage *stage, struct pooled_two *two, uint32_t slots_count,
         size_t slot_size_bytes)
{
    struct rgm_endpoint far_at;

    *two = (struct pooled_two){.pool = pool_of(slots_count, slot_size_bytes)};
    stage_open(stage);
    open_at(stage, &two->far, NULL, &far_at);
    open_at(stage, &two->near, &far_at, &two->near_at);
}

static void
packet_close(struct stage *stage, struct rgm_packet *packet)
{
    struct rgm_close close;

    rgm_packet_close(&close, packet);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
}

/* Nothing of the pool is out by then. */
static void
two_close(struct stage *stage, struct pooled_two *two)
{
    packet_close(stage, &two->near);
    packet_close(stage, &two->far);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(two->pool) == rgm_pool_capacity(two->pool));
    rgm_pool_destroy(two->pool);
}

static void
send_one(struct stage *stage, struct pooled_two *two, const void *data,
         size_t length_bytes)
{
    struct rgm_packet_write write;

    rgm_packet_write(&write, &two->near, data, length_bytes, NULL);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
}

static int
read_one(struct stage *stage, struct pooled_two *two,
         struct rgm_packet_read_pooled *read, uint32_t flags)
{
    rgm_packet_read_pooled(read, &two->far, two->pool, flags);
    return rgm_call(stage->runtime, read);
}

static void
begin(struct stage *stage, struct pooled_two *two, struct datagram_step *step)
{
    rgm_packet_read_pooled(&step->op, &two->far, two->pool, 0);
    stage_begin(stage, step);
}

/* Its bytes are these, and it is dropped. */
static void
holds(struct rgm_packet_read_pooled *read, const char *text)
{
    const void *data;

    rgi_check(read->count == strlen(text));
    rgi_check(rgm_datagram_bytes(read, 0, read->count, &data) == 0);
    rgi_check(memcmp(data, text, read->count) == 0);
    rgm_datagram_drop(read);
}

/* An attempt may have the slot for a moment; a read that waits has not. */
static void
acquire(struct rgm_pool *pool, struct rgm_lease *ret_lease)
{
    while (rgm_pool_try_acquire(pool, ret_lease) != 0)
        continue;
}

/* ------------------------------------------------------------------- messages */

void
pkt_01_pooled_datagrams_of_any_length(struct stage *stage)
{
    enum { LARGE_BYTES = 60000 };
    static const size_t lengths[] = {0, 1, LARGE_BYTES, 0, 2};
    static unsigned char out[LARGE_BYTES];
    struct rgm_packet_read_pooled read;
    struct rgm_datagram_address address;
    struct rgm_endpoint source = {0};
    struct pooled_two two;
    const void *data;

    two_open(stage, &two, 1, LARGE_BYTES);
    pattern_fill(out, sizeof(out), 0);
    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        send_one(stage, &two, out, lengths[i]);
        rgi_check(read_one(stage, &two, &read, 0) == 0);
        rgi_check(read.count == lengths[i] && !read.truncated);
        rgi_check(read.length_bytes == lengths[i]);
        if (lengths[i] > 0) {
            rgi_check(rgm_datagram_bytes(&read, 0, read.count, &data) == 0);
            rgi_check(pattern_holds(data, read.count, 0));
        } else { /* a message, and no slot for it */
            rgi_check(rgm_pool_free_count(two.pool) == 1);
            rgi_check(rgm_datagram_bytes(&read, 0, 0, &data) == -ENODATA);
        }
        rgi_check(rgm_datagram_address(&read, &address) == 0);
        rgi_check(rgm_datagram_endpoint(&address, &source) == 0);
        rgi_check(source.family == RGM_IPV4 && source.port == two.near_at.port);
        rgm_datagram_drop(&read);
    }
    two_close(stage, &two);
}

void
pkt_02_a_slot_cuts_and_says_so(struct stage *stage)
{
    struct rgm_packet_read_pooled read;
    struct pooled_two two;
    const void *data;
    char out[100];

    two_open(stage, &two, 1, 16);
    pattern_fill(out, sizeof(out), 0);
    send_one(stage, &two, out, sizeof(out));
    send_one(stage, &two, "next", 4);
    rgi_check(read_one(stage, &two, &read, 0) == 0);
    rgi_check(read.truncated && read.count == 16 && read.length_bytes == 100);
    rgi_check(rgm_datagram_bytes(&read, 0, 16, &data) == 0);
    rgi_check(pattern_holds(data, 16, 0));
    rgm_datagram_drop(&read);
    rgi_check(read_one(stage, &two, &read, 0) == 0 && !read.truncated);
    holds(&read, "next");
    two_close(stage, &two);
}

void
pkt_04_pooled_datagram_that_raced_a_cancel_is_not_lost(struct stage *stage)
{
    const uint32_t rounds = 20 + (uint32_t)rgi_scale(10000);
    struct datagram_step read = {0};
    struct pooled_two two;

    two_open(stage, &two, 1, 16);
    for (uint32_t sent = 0; sent < rounds; sent++) {
        size_t length_bytes = sent % 2 == 0 ? sizeof(sent) : 0;
        const void *seen;
        int status;

        begin(stage, &two, &read);
        send_one(stage, &two, &sent, length_bytes);
        stage_cancel(stage, &read);
        status = stage_end(stage, &read);
        rgi_check(status == 0 || status == -ECANCELED);
        if (status != 0) /* then it is still there */
            rgi_check(read_one(stage, &two, &read.op, 0) == 0);
        rgi_check(read.op.count == length_bytes);
        if (length_bytes > 0) {
            rgi_check(rgm_datagram_bytes(&read.op, 0, 4, &seen) == 0);
            rgi_check(memcmp(seen, &sent, 4) == 0);
        }
        rgm_datagram_drop(&read.op);
    }
    two_close(stage, &two);
}

void
pkt_05_pooled_source_may_be_absent(struct stage *stage)
{
    struct rgm_packet_read_pooled read;
    struct rgm_datagram_address address;
    struct rgm_pool *pool = pool_of(1, 16);
    struct rgm_packet packet = {0};
    struct rgm_packet_open import;
    int fds[2];

    stage_open(stage);
    rgi_check(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, fds) == 0);
    rgm_packet_import(&import, HERE, &packet, fds[0]);
    rgi_check(rgm_call(stage->runtime, &import) == 0);
    rgi_check(send(fds[1], "abc", 3, 0) == 3);
    rgm_packet_read_pooled(&read, &packet, pool, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 3);
    rgi_check(rgm_datagram_address(&read, &address) == -ENODATA);
    rgm_datagram_drop(&read);
    packet_close(stage, &packet);
    close(fds[1]);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* -------------------------------------------------------------- what has come */

void
pkt_06_bytes_are_those_that_came(struct stage *stage)
{
    struct rgm_packet_read_pooled read;
    const void *data = &read;
    struct pooled_two two;

    two_open(stage, &two, 1, 64);
    send_one(stage, &two, "0123456789", 10);
    rgi_check(read_one(stage, &two, &read, 0) == 0);
    rgi_check(rgm_datagram_bytes(&read, 0, 11, &data) == -EINVAL);
    rgi_check(rgm_datagram_bytes(&read, 10, 1, &data) == -EINVAL);
    rgi_check(rgm_datagram_bytes(&read, 11, 0, &data) == -EINVAL);
    rgi_check(rgm_datagram_bytes(&read, 1, SIZE_MAX, &data) == -EINVAL);
    rgi_check(data == &read); /* untouched */
    rgi_check(rgm_datagram_bytes(&read, 10, 0, &data) == 0);
    rgi_check(rgm_datagram_bytes(&read, 3, 7, &data) == 0);
    rgi_check(memcmp(data, "3456789", 7) == 0);
    rgm_datagram_drop(&read);
    rgi_check(rgm_datagram_bytes(&read, 0, 0, &data) == -ENODATA);
    rgm_datagram_drop(&read); /* nothing happens */
    two_close(stage, &two);
}

void
pkt_06_who_changes_them_is_alone(struct stage *stage)
{
    struct rgm_datagram_edit edit, second = {0};
    struct rgm_packet_read_pooled read;
    struct rgm_lease lease = {0};
    struct pooled_two two;
    const void *data;

    two_open(stage, &two, 1, 64);
    send_one(stage, &two, "abc", 3);
    rgi_check(read_one(stage, &two, &read, 0) == 0);
    rgi_check(rgm_datagram_edit(&read, &edit) == 0);
    rgi_check(edit.length_bytes == 3);
    rgi_check(rgm_datagram_edit(&read, &second) == -EBUSY);
    rgi_check(rgm_datagram_bytes(&read, 0, 1, &data) == -EBUSY);
    rgi_check(rgm_datagram_extract(&read, &lease) == -EBUSY);
    rgi_check(second.data == NULL && lease.block == NULL);
    memcpy(edit.data, "xyz", 3);
    rgi_check(rgm_datagram_edited(&edit) == 0 && edit.data == NULL);
    rgi_check(rgm_datagram_edit(&read, &edit) == 0);
    rgi_check(rgm_datagram_edited(&edit) == 0);
    holds(&read, "xyz");
    rgi_check(rgm_datagram_edit(&read, &edit) == -ENODATA);
    two_close(stage, &two);
}

void
pkt_06_taken_out_is_exactly_the_bytes(struct stage *stage)
{
    struct rgm_packet_read_pooled read;
    struct rgm_datagram_address address;
    struct rgm_lease lease = {0}, none = {0};
    struct pooled_two two;
    struct rgm_view view;
    const void *data;

    two_open(stage, &two, 2, 64);
    send_one(stage, &two, "taken out", 9);
    rgi_check(read_one(stage, &two, &read, 0) == 0);
    rgi_check(rgm_datagram_address(&read, &address) == 0);
    rgi_check(rgm_datagram_extract(&read, &lease) == 0);
    rgi_check(lease.length_bytes == 9);
    rgi_check(rgm_lease_truncate(&lease, 10) == -EINVAL); /* nothing beyond */
    rgi_check(rgm_datagram_bytes(&read, 0, 0, &data) == -ENODATA);
    rgi_check(rgm_datagram_extract(&read, &none) == -ENODATA);
    rgi_check(none.block == NULL);
    rgi_check(rgm_datagram_address(&read, &address) == -ENODATA);
    send_one(stage, &two, "next", 4); /* the record serves again meanwhile */
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    holds(&read, "next");
    rgi_check(memcmp(lease.data, "taken out", 9) == 0);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgi_check(view.length_bytes == 9);
    rgm_view_drop(&view);
    two_close(stage, &two);
}

/* The same table through both. */
void
pkt_09_borrowed_and_owned_are_alike(struct stage *stage)
{
    static const struct {
        size_t length_bytes;
        uint32_t flags;
    } table[] = {{0, 0},  {0, RGM_PACKET_PEEK},  {7, 0}, {7, RGM_PACKET_PEEK},
                 {16, 0}, {16, RGM_PACKET_PEEK}, {40, 0}, {40, RGM_PACKET_PEEK}};
    struct rgm_packet_read_pooled owned;
    struct rgm_endpoint from[2];
    struct rgm_datagram_address address;
    struct rgm_packet_read borrowed;
    struct pooled_two two;
    char out[40], in[16];
    const void *data;

    two_open(stage, &two, 1, sizeof(in));
    pattern_fill(out, sizeof(out), 0);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        bool stays = table[i].flags != 0;

        send_one(stage, &two, out, table[i].length_bytes);
        if (!stays) /* else both see the one */
            send_one(stage, &two, out, table[i].length_bytes);
        rgm_packet_read(&borrowed, &two.far, in, sizeof(in), table[i].flags);
        rgi_check(rgm_call(stage->runtime, &borrowed) == 0);
        rgi_check(read_one(stage, &two, &owned, table[i].flags) == 0);
        rgi_check(owned.count == borrowed.count);
        rgi_check(owned.length_bytes == borrowed.length_bytes);
        rgi_check(owned.truncated == borrowed.truncated);
        rgi_check(rgm_packet_source(&borrowed, &from[0]) == 0);
        rgi_check(rgm_datagram_address(&owned, &address) == 0);
        rgi_check(rgm_datagram_endpoint(&address, &from[1]) == 0);
        rgi_check(from[0].port == from[1].port);
        if (owned.count > 0) {
            rgi_check(rgm_datagram_bytes(&owned, 0, owned.count, &data) == 0);
            rgi_check(memcmp(data, in, owned.count) == 0);
        }
        rgm_datagram_drop(&owned);
        if (stays) {
            rgm_packet_read(&borrowed, &two.far, in, sizeof(in), 0);
            rgi_check(rgm_call(stage->runtime, &borrowed) == 0);
        }
    }
    rgi_check(read_one(stage, &two, &owned, 0x80) == -EINVAL);
    two_close(stage, &two);
}

/* ----------------------------------------------------------------------- slots */

void
pkt_11_reads_that_wait_hold_no_slot(struct stage *stage)
{
    struct datagram_step first = {0}, second = {0};
    struct pooled_two two;
    struct rgm_lease lease;
    bool first_has;

    two_open(stage, &two, 1, 16);
    begin(stage, &two, &first);
    begin(stage, &two, &second);
    (void)stage_counters(stage);
    acquire(two.pool, &lease);
    rgi_check(stage_is_out(stage, &first) && stage_is_out(stage, &second));
    rgi_check(rgm_lease_drop(&lease) == 0);
    send_one(stage, &two, "one", 3);
    while (stage_is_out(stage, &first) && stage_is_out(stage, &second))
        (void)stage_counters(stage);
    first_has = !stage_is_out(stage, &first);
    holds(first_has ? &first.op : &second.op, "one");
    send_one(stage, &two, "two", 3);
    rgi_check(stage_end(stage, &first) == 0);
    rgi_check(stage_end(stage, &second) == 0);
    holds(first_has ? &second.op : &first.op, "two");
    two_close(stage, &two);
}

/* One when it is there; one and a wait when it is not. */
void
pkt_11_what_is_there_takes_one_attempt(struct stage *stage)
{
    struct rgm_packet_read_pooled read;
    struct datagram_step waits = {0};
    struct pooled_two two;
    uint64_t entries;
    unsigned calls;

    two_open(stage, &two, 1, 16);
    send_one(stage, &two, "x", 1);
    entries = stage_counters(stage).entries_submitted;
    calls = shim_message_receives();
    rgi_check(read_one(stage, &two, &read, 0) == 0);
    rgi_check(stage_counters(stage).entries_submitted == entries + 1);
    if (stage_is_shimmed(stage))
        rgi_check(shim_message_receives() == calls + 1);
    holds(&read, "x");
    entries = stage_counters(stage).entries_submitted;
    begin(stage, &two, &waits);
    for (int i = 0; i < 3; i++)
        rgi_check(stage_counters(stage).entries_submitted <= entries + 2);
    rgi_check(stage_is_out(stage, &waits));
    send_one(stage, &two, "y", 1);
    rgi_check(stage_end(stage, &waits) == 0);
    /* The write is one, the attempt that brought it another. */
    rgi_check(stage_counters(stage).entries_submitted <= entries + 4);
    holds(&waits.op, "y");
    two_close(stage, &two);
}

void
pkt_11_data_without_a_slot_waits_in_line(struct stage *stage)
{
    struct datagram_step first = {0}, second = {0};
    struct rgm_lease lease;
    struct pooled_two two;

    two_open(stage, &two, 1, 16);
    acquire(two.pool, &lease);
    send_one(stage, &two, "one", 3);
    begin(stage, &two, &first);
    begin(stage, &two, &second);
    for (int i = 0; i < 3; i++)
        (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &first) && stage_is_out(stage, &second));
    stage_cancel(stage, &second); /* out of the line, too */
    rgi_check(stage_end(stage, &second) == -ECANCELED);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(stage_end(stage, &first) == 0);
    holds(&first.op, "one");
    two_close(stage, &two);
}

void
bpl_10_datagram_waits_and_its_pool_is_closed(struct stage *stage)
{
    struct datagram_step read = {0};
    struct rgm_lease lease;
    struct pooled_two two;

    two_open(stage, &two, 1, 16);
    acquire(two.pool, &lease);
    send_one(stage, &two, "x", 1);
    begin(stage, &two, &read);
    (void)stage_counters(stage);
    rgm_pool_close(two.pool);
    rgi_check(stage_end(stage, &read) == -EPIPE);
    rgi_check(rgm_lease_drop(&lease) == 0);
    packet_close(stage, &two.near);
    packet_close(stage, &two.far);
    stage_close(stage);
    rgm_pool_destroy(two.pool);
}

void
asked_again_a_datagram_is_not_overwritten(struct stage *stage)
{
    struct rgm_packet_read_pooled read;
    struct pooled_two two;

    two_open(stage, &two, 2, 16);
    send_one(stage, &two, "one", 3);
    send_one(stage, &two, "two", 3);
    rgi_check(read_one(stage, &two, &read, 0) == 0);
    rgi_check(rgm_call(stage->runtime, &read) == -EBUSY);
    holds(&read, "one");
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    holds(&read, "two");
    rgm_packet_read_pooled(&read, &two.far, NULL, 0);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    two_close(stage, &two);
}

/* ---------------------------------------------------------------------- bursts */

enum { BURST = 64, JUMBO_BYTES = 9000, SLOT_BYTES = 1500 };

/* Numbered; every other one is empty, and four are longer than a slot. */
static size_t
burst_length(uint32_t number)
{
    if (number % 2 == 1)
        return 0;
    return number % 16 == 0 ? JUMBO_BYTES : 4 + number;
}

static void
burst_holds(struct rgm_packet_read_pooled *read, uint32_t number)
{
    size_t length_bytes = burst_length(number);
    const void *data;

    rgi_check(read->length_bytes == length_bytes);
    rgi_check(read->truncated == (length_bytes > SLOT_BYTES));
    rgi_check(read->count ==
              (length_bytes > SLOT_BYTES ? SLOT_BYTES : length_bytes));
    if (length_bytes > 0) {
        rgi_check(rgm_datagram_bytes(read, 0, read->count, &data) == 0);
        rgi_check(memcmp(data, &number, sizeof(number)) == 0);
        rgi_check(pattern_holds((const char *)data + 4, read->count - 4, 4));
    }
    rgm_datagram_drop(read);
}

void
field_b70_pooled_bursts(struct stage *stage)
{
    const uint32_t rounds = 2 + (uint32_t)rgi_scale(400);
    unsigned char out[JUMBO_BYTES];
    struct rgm_packet_read_pooled read;
    struct pooled_two two;

    two_open(stage, &two, 2, SLOT_BYTES);
    pattern_fill(out, sizeof(out), 0);
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < BURST; i++) {
            memcpy(out, &i, sizeof(i));
            send_one(stage, &two, out, burst_length(i));
        }
        for (uint32_t i = 0; i < BURST; i++) {
            rgi_check(read_one(stage, &two, &read, 0) == 0);
            burst_holds(&read, i);
        }
    }
    two_close(stage, &two);
}
