/* SPDX-License-Identifier: MIT */

/* pooled_test.c - do pooled reads hold a slot only while there is data for it,
 * and does every slot come home? */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "base/memory.h"
#include "capabilities/ring/shim.h"

static struct rgm_pool *
make_pool(uint32_t slots_count, size_t slot_size_bytes)
{
    struct rgm_pool_options options = {.name = "test",
                                       .slots_count = slots_count,
                                       .slot_size_bytes = slot_size_bytes};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

/* All slots are home. */
static void
end_pool(struct rgm_pool *pool)
{
    rgi_check(rgi_pool_valid(pool));
    rgi_check(rgm_pool_free_count(pool) == rgm_pool_capacity(pool));
    rgm_pool_destroy(pool);
}

static void
start_read(struct world *world, struct rgm_read_pooled *read,
           struct rgm_stream *stream, struct rgm_pool *pool)
{
    rgm_stream_read_pooled(read, stream, pool);
    world_start(world, &read->operation);
}

static void
send_text(struct world *world, struct rgm_stream *stream, const char *text)
{
    struct rgm_write write;

    rgm_stream_write(&write, stream, text, strlen(text));
    rgi_check(world_do(world, &write.operation) == 0);
}

static void
expect_text(struct rgm_read_pooled *read, const char *text)
{
    size_t length_bytes = strlen(text);

    rgi_check(rgm_status(read) == 0);
    rgi_check(read->count == length_bytes && !read->end);
    rgi_check(rgm_lease_active(&read->lease));
    rgi_check(read->lease.length_bytes == length_bytes);
    rgi_check(memcmp(read->lease.data, text, length_bytes) == 0);
    rgi_check(rgm_lease_drop(&read->lease) == 0);
}

/* With slots lent to the ring, and with none. */
static void
srd_02_chunk_then_end(void)
{
    for (uint32_t slots = 1; slots <= 64; slots *= 4) {
        struct rgm_pool *pool = make_pool(slots, 32);
        struct world world = {0};
        struct pair pair;
        struct rgm_read_pooled read;
        struct rgm_shutdown shutdown;

        world_open(&world);
        pair_open(&world, &pair);
        for (int i = 0; i < 200; i++) {
            start_read(&world, &read, &pair.far, pool);
            send_text(&world, &pair.near, "chunk");
            rgi_check(world_finish(&world, &read.operation) == 0);
            expect_text(&read, "chunk");
        }
        rgm_stream_shutdown(&shutdown, &pair.near);
        rgi_check(world_do(&world, &shutdown.operation) == 0);
        for (int i = 0; i < 3; i++) {
            start_read(&world, &read, &pair.far, pool);
            rgi_check(world_finish(&world, &read.operation) == 0);
            rgi_check(read.count == 0 && read.end);
            rgi_check(!rgm_lease_active(&read.lease));
        }
        pair_close(&world, &pair);
        world_close(&world);
        end_pool(pool);
    }
}

/* More than a slot holds: the rest stays in the socket. */
static void
long_data_comes_in_slots(void)
{
    struct rgm_pool *pool = make_pool(64, 4);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;

    world_open(&world);
    pair_open(&world, &pair);
    send_text(&world, &pair.near, "abcdefghij");
    start_read(&world, &read, &pair.far, pool);
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "abcd");
    start_read(&world, &read, &pair.far, pool);
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "efgh");
    start_read(&world, &read, &pair.far, pool);
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "ij");
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

/* One slot, two reads that wait: a third party can have it. When it is out, the
 * data waits for it; when it is back the read goes on. */
static void
srd_06_waiting_reads_hold_no_slot(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct pair pairs[2];
    struct rgm_read_pooled reads[2];
    struct rgm_lease lease;

    world_open(&world);
    for (int i = 0; i < 2; i++) {
        pair_open(&world, &pairs[i]);
        start_read(&world, &reads[i], &pairs[i].far, pool);
    }
    world_settle(&world);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    for (int i = 0; i < 2; i++)
        send_text(&world, &pairs[i].near, "data");
    world_settle(&world);
    rgi_check(!is_home(&reads[0].operation) && !is_home(&reads[1].operation));
    rgi_check(world.provider->waiting == 2);
    rgi_check(world.provider->pool_waits == 2);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(world_finish(&world, &reads[0].operation) == 0);
    world_settle(&world);
    rgi_check(!is_home(&reads[1].operation)); /* in line, one slot */
    expect_text(&reads[0], "data");
    rgi_check(world_finish(&world, &reads[1].operation) == 0);
    expect_text(&reads[1], "data");
    for (int i = 0; i < 2; i++)
        pair_close(&world, &pairs[i]);
    world_close(&world);
    end_pool(pool);
}

/* A slot that was fetched for data that is gone goes back before the wait. */
static void
srd_06_false_readiness(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;
    unsigned receives;

    shim_open(&world);
    pair_open(&world, &pair);
    receives = shim.seen[IORING_OP_RECV];
    shim_expect(IORING_OP_POLL_ADD, POLLIN, 1); /* there is nothing */
    start_read(&world, &read, &pair.far, pool);
    world_settle(&world);
    rgi_check(shim.seen[IORING_OP_RECV] == receives + 2);
    rgi_check(shim.last[IORING_OP_RECV].msg_flags & MSG_DONTWAIT);
    rgi_check(!is_home(&read.operation));
    rgi_check(rgm_pool_free_count(pool) == 1);
    send_text(&world, &pair.near, "data");
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "data");
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

/* ------------------------------------------------------------- tried first */

static unsigned
entries_for_reads(void)
{
    return shim.seen[IORING_OP_RECV] + shim.seen[IORING_OP_POLL_ADD];
}

/* Whether it has to wait or there is something already, of a full slot or not:
 * one entry, which tries before it waits. */
static void
srd_24_a_pooled_read_tries_first_and_is_one_entry(void)
{
    struct rgm_pool *pool = make_pool(64, 4);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;
    unsigned before;

    shim_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 40; i++) {
        const char *text = i % 4 < 2 ? "full" : "few";

        before = entries_for_reads();
        if (i % 2 == 0)
            send_text(&world, &pair.near, text);
        start_read(&world, &read, &pair.far, pool);
        if (i % 2 == 1) {
            world_settle(&world);
            send_text(&world, &pair.near, text);
        }
        rgi_check(world_finish(&world, &read.operation) == 0);
        expect_text(&read, text);
        rgi_check(entries_for_reads() == before + 1);
        rgi_check(shim.last[IORING_OP_RECV].ioprio == 0);
    }
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

/* What a read looked for is there for the others: one lent slot is tried with by
 * twenty, and is still the kernel's when data comes for the last of them. */
static void
srd_24_an_attempt_in_vain_uses_no_lent_slot_up(void)
{
    struct rgm_pool *pool = make_pool(64, 32);
    struct world world = {.options = {.pool_slots_max = 1}};
    struct pair pairs[20];
    struct rgm_read_pooled reads[20];

    shim_open(&world);
    for (int i = 0; i < 20; i++) {
        pair_open(&world, &pairs[i]);
        start_read(&world, &reads[i], &pairs[i].far, pool);
        world_settle(&world);
        rgi_check(shim.seen[IORING_OP_RECV] == (unsigned)i + 1);
        rgi_check(shim.last[IORING_OP_RECV].ioprio == 0);
        rgi_check(rgm_pool_free_count(pool) == 63);
    }
    for (int i = 20; i-- > 0;) {
        send_text(&world, &pairs[i].near, "data");
        rgi_check(world_finish(&world, &reads[i].operation) == 0);
        expect_text(&reads[i], "data");
        start_read(&world, &reads[i], &pairs[i].far, pool); /* lent again */
        world_settle(&world);
        rgi_check(!is_home(&reads[i].operation));
    }
    rgi_check(shim.seen[IORING_OP_RECV] == 40);
    rgi_check(world.provider->waiting == 0);
    for (int i = 0; i < 20; i++) {
        world_cancel(&world, &reads[i].operation);
        rgi_check(world_finish(&world, &reads[i].operation) == -ECANCELED);
        pair_close(&world, &pairs[i]);
    }
    world_close(&world);
    end_pool(pool);
}

/* One slot is lent and three try at once: for the first and the second there is
 * data, for the third there is none. He who finds no slot and no data waits, and
 * holds nothing. */
static void
srd_24_who_finds_the_lent_slots_used_up_holds_nothing(void)
{
    struct rgm_pool *pool = make_pool(64, 32);
    struct world world = {.options = {.pool_slots_max = 1}};
    struct pair pairs[3];
    struct rgm_read_pooled reads[3];
    unsigned before;

    shim_open(&world);
    for (int i = 0; i < 3; i++)
        pair_open(&world, &pairs[i]);
    for (int i = 0; i < 2; i++)
        send_text(&world, &pairs[i].near, "data");
    before = entries_for_reads();
    for (int i = 0; i < 3; i++)
        start_read(&world, &reads[i], &pairs[i].far, pool);
    for (int i = 0; i < 2; i++) {
        rgi_check(world_finish(&world, &reads[i].operation) == 0);
        expect_text(&reads[i], "data");
    }
    world_settle(&world);
    /* One, two with a slot of its own, and three: that, and to wait. */
    rgi_check(entries_for_reads() == before + 6);
    rgi_check(shim.last[IORING_OP_RECV].ioprio == IORING_RECVSEND_POLL_FIRST);
    rgi_check(world.provider->waiting == 0);
    rgi_check(rgm_pool_free_count(pool) == 63); /* one is lent */
    send_text(&world, &pairs[2].near, "late");
    rgi_check(world_finish(&world, &reads[2].operation) == 0);
    expect_text(&reads[2], "late");
    rgi_check(entries_for_reads() == before + 6);
    for (int i = 0; i < 3; i++)
        pair_close(&world, &pairs[i]);
    world_close(&world);
    end_pool(pool);
}

/* Every slot is out, lent ones included, or the lent ones are not to be had:
 * reads without data stand in no line, and wait by one entry, or one more. */
static void
srd_24_idle_reads_stand_in_no_line_for_a_slot(void)
{
    enum { COUNT = 100 };
    struct rgm_pool *pool = make_pool(8, 32);
    struct world world = {.options = {.pool_slots_max = 1}};
    struct pair pairs[COUNT], busy;
    struct rgm_read_pooled reads[COUNT], read;
    struct rgm_lease leases[7];
    unsigned before;

    shim_open(&world);
    pair_open(&world, &busy);
    start_read(&world, &read, &busy.far, pool);
    world_settle(&world);
    for (int i = 0; i < 7; i++)
        rgi_check(rgm_pool_try_acquire(pool, &leases[i]) == 0);
    before = entries_for_reads();
    shim_expect(IORING_OP_RECV, -ENOBUFS, 1); /* somebody else was faster */
    for (int i = 0; i < COUNT; i++) {
        pair_open(&world, &pairs[i]);
        start_read(&world, &reads[i], &pairs[i].far, pool);
        world_settle(&world);
        if (i != COUNT / 2)
            continue;
        rgi_check(entries_for_reads() == before + (unsigned)i + 2);
        send_text(&world, &busy.near, "last"); /* takes what is lent */
        rgi_check(world_finish(&world, &read.operation) == 0);
    }
    rgi_check(entries_for_reads() == before + COUNT + 1);
    rgi_check(world.provider->waiting == 0);
    rgi_check(world.provider->pool_waits == 0);
    expect_text(&read, "last");
    for (int i = 0; i < COUNT; i++) { /* and one slot serves them all */
        send_text(&world, &pairs[i].near, "data");
        rgi_check(world_finish(&world, &reads[i].operation) == 0);
        expect_text(&reads[i], "data");
        pair_close(&world, &pairs[i]);
    }
    for (int i = 0; i < 7; i++)
        rgi_check(rgm_lease_drop(&leases[i]) == 0);
    pair_close(&world, &busy);
    world_close(&world);
    end_pool(pool);
}

/* Nothing can be lent of a pool this small: a free slot is had for one attempt,
 * and is back while the read waits. */
static void
srd_24_without_lending_a_free_slot_is_tried_with(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct rgm_lease lease;
    struct pair pair;
    struct rgm_read_pooled read;

    shim_open(&world);
    pair_open(&world, &pair);
    memset(shim.seen, 0, sizeof(shim.seen));
    send_text(&world, &pair.near, "there");
    start_read(&world, &read, &pair.far, pool);
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "there");
    rgi_check(shim.seen[IORING_OP_RECV] == 1);
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == 0);

    start_read(&world, &read, &pair.far, pool);
    world_settle(&world);
    rgi_check(shim.seen[IORING_OP_RECV] == 2);
    rgi_check(shim.last[IORING_OP_RECV].msg_flags & MSG_DONTWAIT);
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == 1);
    rgi_check(rgm_pool_free_count(pool) == 1);
    send_text(&world, &pair.near, "later");
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "later");
    rgi_check(shim.seen[IORING_OP_RECV] == 3);

    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    start_read(&world, &read, &pair.far, pool); /* without one: only a look */
    world_settle(&world);
    rgi_check(shim.seen[IORING_OP_RECV] == 3);
    rgi_check(world.provider->waiting == 0);
    rgi_check(rgm_lease_drop(&lease) == 0);
    send_text(&world, &pair.near, "last");
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "last");
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

/* Reads that wait by the thousand over four slots and a ring of eight. */
static void
srd_07_idle_connections(void)
{
    size_t count = (size_t)rgi_scale(10000) / 2;
    struct rgm_pool *pool = make_pool(4, 64);
    struct world world = {.options = {.entries = 8}};
    struct pair *idle = calloc(count, sizeof(*idle));
    struct rgm_read_pooled *reads = calloc(count, sizeof(*reads));
    struct pair busy;
    struct rgm_read_pooled read;

    rgi_check(idle != NULL && reads != NULL);
    world_open(&world);
    for (size_t i = 0; i < count; i++) {
        pair_open(&world, &idle[i]);
        start_read(&world, &reads[i], &idle[i].far, pool);
    }
    world_settle(&world);
    rgi_check(rgm_pool_free_count(pool) == 4);
    rgi_check(world.provider->waiting == 0);
    pair_open(&world, &busy);
    for (int i = 0; i < 100; i++) {
        start_read(&world, &read, &busy.far, pool);
        send_text(&world, &busy.near, "ping");
        rgi_check(world_finish(&world, &read.operation) == 0);
        expect_text(&read, "ping");
    }
    for (size_t i = 0; i < count; i++)
        send_text(&world, &idle[i].near, "wake");
    for (size_t i = 0; i < count; i++) {
        rgi_check(world_finish(&world, &reads[i].operation) == 0);
        expect_text(&reads[i], "wake");
        pair_close(&world, &idle[i]);
    }
    pair_close(&world, &busy);
    world_close(&world);
    end_pool(pool);
    free(idle);
    free(reads);
}

/* No more than its share is lent, however many reads wait. */
static void
lending_has_a_limit(void)
{
    struct rgm_pool *pool = make_pool(64, 32);
    struct world world = {0};
    struct pair pairs[20];
    struct rgm_read_pooled reads[20];

    world_open(&world);
    for (int i = 0; i < 20; i++) {
        pair_open(&world, &pairs[i]);
        start_read(&world, &reads[i], &pairs[i].far, pool);
        world_settle(&world);
        rgi_check(64 - rgm_pool_free_count(pool) ==
                  (i + 1 < 8 ? (uint32_t)i + 1 : 8));
    }
    for (int i = 0; i < 20; i++)
        send_text(&world, &pairs[i].near, "data");
    for (int i = 0; i < 20; i++) {
        rgi_check(world_finish(&world, &reads[i].operation) == 0);
        expect_text(&reads[i], "data");
        pair_close(&world, &pairs[i]);
    }
    world_close(&world);
    end_pool(pool);
}

/* ... and one read that waits is lent one slot, after however many. */
static void
lending_follows_the_reads(void)
{
    struct rgm_pool *pool = make_pool(64, 32);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;

    world_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 50; i++) {
        start_read(&world, &read, &pair.far, pool);
        world_settle(&world);
        rgi_check(rgm_pool_free_count(pool) == 63);
        send_text(&world, &pair.near, "data");
        rgi_check(world_finish(&world, &read.operation) == 0);
        expect_text(&read, "data");
    }
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

/* Cancelled at the moment of arrival: no slot is lost, nor a byte. */
static void
field_b40_cancel_at_arrival(void)
{
    struct rgm_pool *pool = make_pool(64, 32);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;
    struct rgm_write write;
    uint64_t received = 0;
    uint64_t rounds = rgi_scale(200000);

    world_open(&world);
    pair_open(&world, &pair);
    for (uint64_t i = 0; i < rounds; i++) {
        start_read(&world, &read, &pair.far, pool);
        rgm_stream_write(&write, &pair.near, "x", 1);
        world_start(&world, &write.operation);
        for (uint64_t turns = i % 3; turns > 0; turns--)
            rgi_check(world_turn(&world, 0) == 0);
        world_cancel(&world, &read.operation);
        if (world_finish(&world, &read.operation) == 0) {
            received += read.count;
            rgi_check(rgm_lease_drop(&read.lease) == 0);
        } else {
            rgi_check(rgm_status(&read) == -ECANCELED);
            rgi_check(!rgm_lease_active(&read.lease));
        }
        rgi_check(world_finish(&world, &write.operation) == 0);
    }
    while (received < rounds) {
        start_read(&world, &read, &pair.far, pool);
        rgi_check(world_finish(&world, &read.operation) == 0);
        received += read.count;
        rgi_check(rgm_lease_drop(&read.lease) == 0);
    }
    rgi_check(received == rounds);
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

static void
field_b40_close_at_arrival(void)
{
    struct rgm_pool *pool = make_pool(64, 32);
    struct world world = {0};

    world_open(&world);
    for (uint64_t i = 0; i < rgi_scale(20000); i++) {
        struct rgm_read_pooled read;
        struct rgm_write write;
        struct rgm_close close;
        struct pair pair;

        pair_open(&world, &pair);
        start_read(&world, &read, &pair.far, pool);
        rgm_stream_write(&write, &pair.near, "x", 1);
        world_start(&world, &write.operation);
        rgi_check(world_finish(&world, &write.operation) == 0);
        world_close_stream(&world, &pair.near);
        if (i % 2)
            world_cancel(&world, &read.operation);
        if (world_finish(&world, &read.operation) == 0 && read.count > 0)
            rgi_check(rgm_lease_drop(&read.lease) == 0);
        world_close_stream(&world, &pair.far);
        rgm_listener_close(&close, &pair.listener);
        rgi_check(world_do(&world, &close.operation) == 0);
    }
    world_close(&world);
    end_pool(pool);
}

/* Reads in line for a slot can be cancelled there; the slot goes to the next. */
static void
starved_reads_can_be_cancelled(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct pair pairs[3];
    struct rgm_read_pooled reads[3];
    struct rgm_lease lease;

    world_open(&world);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    for (int i = 0; i < 3; i++) {
        pair_open(&world, &pairs[i]);
        start_read(&world, &reads[i], &pairs[i].far, pool);
        send_text(&world, &pairs[i].near, "data");
        world_settle(&world);
    }
    rgi_check(world.provider->waiting == 3);
    world_cancel(&world, &reads[0].operation);
    world_cancel(&world, &reads[2].operation);
    rgi_check(world_finish(&world, &reads[0].operation) == -ECANCELED);
    rgi_check(world_finish(&world, &reads[2].operation) == -ECANCELED);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(world_finish(&world, &reads[1].operation) == 0);
    expect_text(&reads[1], "data");
    start_read(&world, &reads[0], &pairs[0].far, pool);
    rgi_check(world_finish(&world, &reads[0].operation) == 0);
    expect_text(&reads[0], "data");
    for (int i = 0; i < 3; i++)
        pair_close(&world, &pairs[i]);
    world_close(&world);
    end_pool(pool);
}

static void *
drop_elsewhere(void *lease)
{
    rgi_check(rgm_lease_drop(lease) == 0);
    return NULL;
}

/* The last cancelled read leaves the mark; the wake that comes is for nobody. */
static void
slot_dropped_by_another_thread(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;
    struct rgm_lease lease;
    pthread_t thread;

    world_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 50; i++) {
        rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
        start_read(&world, &read, &pair.far, pool);
        send_text(&world, &pair.near, "data");
        world_settle(&world);
        rgi_check(!is_home(&read.operation));
        rgi_check(pthread_create(&thread, NULL, drop_elsewhere, &lease) == 0);
        rgi_check(world_finish(&world, &read.operation) == 0);
        rgi_check(pthread_join(thread, NULL) == 0);
        expect_text(&read, "data");
    }
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

/* Nobody can ring it before it is read. */
static int
full_bell(void)
{
    uint64_t most = UINT64_MAX - 1;
    int bell = eventfd(0, EFD_CLOEXEC);

    rgi_check(bell >= 0);
    rgi_check(write(bell, &most, sizeof(most)) == (ssize_t)sizeof(most));
    return bell;
}

struct answerer {
    int ring;
    int bell;
    atomic_bool closed; /* the provider is */
};

#define YIELDS_FOR_A_CLOSE 10000

static void *
hear_when_the_ring_is_closed(void *argument)
{
    struct answerer *answerer = argument;
    uint64_t count;

    while (fcntl(answerer->ring, F_GETFD) >= 0)
        sched_yield();
    /* A close that waits for nobody gets on meanwhile; ours does not. */
    for (int i = 0; i < YIELDS_FOR_A_CLOSE; i++) {
        if (atomic_load(&answerer->closed))
            return NULL;
        sched_yield();
    }
    rgi_check(read(answerer->bell, &count, sizeof(count)) ==
              (ssize_t)sizeof(count));
    return NULL;
}

/* The slot has come, and whoever brought it has not rung yet: until then the ring is
 * there, and so is the bell. */
static void
a_close_waits_for_who_is_about_to_ring(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled reading;
    struct rgm_lease lease;
    struct answerer answerer = {.closed = false};
    pthread_t dropper, hearer;
    uint64_t count = 0;

    world_open(&world);
    pair_open(&world, &pair);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    start_read(&world, &reading, &pair.far, pool);
    send_text(&world, &pair.near, "data");
    world_settle(&world);
    answerer.bell = full_bell();
    answerer.ring = world.parts->ring.uring.ring_fd;
    world.parts->bell = answerer.bell;
    rgi_check(pthread_create(&dropper, NULL, drop_elsewhere, &lease) == 0);
    while (!is_home(&reading.operation))
        rgi_check(world_turn(&world, 0) == 0);
    expect_text(&reading, "data");
    pair_close(&world, &pair);
    rgi_check(pthread_create(&hearer, NULL, hear_when_the_ring_is_closed,
                             &answerer) == 0);
    world_close(&world);
    atomic_store(&answerer.closed, true);
    rgi_check(fcntl(answerer.bell, F_SETFL, O_NONBLOCK) == 0);
    rgi_check(read(answerer.bell, &count, sizeof(count)) > 0 && count == 1);
    pthread_join(hearer, NULL);
    pthread_join(dropper, NULL);
    close(answerer.bell);
    end_pool(pool);
}

static void
pool_that_closes_ends_its_reads(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;
    struct rgm_lease lease;

    world_open(&world);
    pair_open(&world, &pair);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    start_read(&world, &read, &pair.far, pool);
    send_text(&world, &pair.near, "data");
    world_settle(&world);
    rgm_pool_close(pool);
    rgi_check(world_finish(&world, &read.operation) == -EPIPE);
    start_read(&world, &read, &pair.far, pool);
    rgi_check(world_finish(&world, &read.operation) == -EPIPE);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgm_pool_destroy(pool);
    pool = make_pool(1, 16); /* most likely where the other one was */
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    start_read(&world, &read, &pair.far, pool);
    world_settle(&world);
    rgi_check(world.provider->waiting == 1);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(world_finish(&world, &read.operation) == 0);
    expect_text(&read, "data");
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

static int
refuse_buffers(unsigned fd, unsigned opcode, void *argument, unsigned count)
{
    if (opcode == IORING_REGISTER_PBUF_RING)
        return -ENOMEM;
    return rgi_ring_kernel.enroll(fd, opcode, argument, count);
}

/* Lending is a short cut only. */
static void
bpl_18_works_without_buffer_rings(void)
{
    struct rgi_ring_calls calls = rgi_ring_kernel;
    struct rgm_pool *pool = make_pool(64, 32);
    struct world world = {.calls = &calls};
    struct pair pair;
    struct rgm_read_pooled read;

    calls.enroll = refuse_buffers;
    world_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 100; i++) {
        start_read(&world, &read, &pair.far, pool);
        world_settle(&world);
        rgi_check(rgm_pool_free_count(pool) == 64);
        send_text(&world, &pair.near, "data");
        rgi_check(world_finish(&world, &read.operation) == 0);
        expect_text(&read, "data");
    }
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

static void
several_pools_on_one_ring(void)
{
    struct rgm_pool *pools[4];
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;

    world_open(&world);
    pair_open(&world, &pair);
    for (uint32_t i = 0; i < 4; i++)
        pools[i] = make_pool(8u << i, 32);
    for (int i = 0; i < 100; i++) {
        start_read(&world, &read, &pair.far, pools[i % 4]);
        send_text(&world, &pair.near, "data");
        rgi_check(world_finish(&world, &read.operation) == 0);
        expect_text(&read, "data");
    }
    pair_close(&world, &pair);
    world_close(&world);
    for (uint32_t i = 0; i < 4; i++)
        end_pool(pools[i]);
}

/* Interrupted, or refused once more, with a slot of its own in hand. */
static void
own_slot_survives_moods(void)
{
    struct rgm_pool *pool = make_pool(1, 32);
    struct world world = {0};
    struct pair pair;
    struct rgm_read_pooled read;

    shim_open(&world);
    pair_open(&world, &pair);
    shim_expect(IORING_OP_RECV, -EINTR, 1);
    shim_expect(IORING_OP_RECV, -ENOBUFS, 1);
    shim_expect(IORING_OP_RECV, -EAGAIN, 1);
    start_read(&world, &read, &pair.far, pool);
    send_text(&world, &pair.near, "data");
    rgi_check(world_finish(&world, &read.operation) == 0);
    rgi_check(shim.script[2].times == 0);
    expect_text(&read, "data");
    shim_expect(IORING_OP_RECV, -ECONNRESET, 1);
    start_read(&world, &read, &pair.far, pool);
    send_text(&world, &pair.near, "data");
    rgi_check(world_finish(&world, &read.operation) == -ECONNRESET);
    pair_close(&world, &pair);
    world_close(&world);
    end_pool(pool);
}

static void
lack_of_memory_is_an_answer(void)
{
    size_t live = rgi_memory_live();
    bool failed = true;

    for (unsigned long nth = 1; failed; nth++) {
        struct rgm_pool *pool = make_pool(64, 32);
        struct world world = {0};
        struct pair pair;
        struct rgm_read_pooled read;

        world_open(&world);
        pair_open(&world, &pair);
        send_text(&world, &pair.near, "data");
        rgi_memory_fail_nth(nth);
        start_read(&world, &read, &pair.far, pool);
        if (world_finish(&world, &read.operation) == 0)
            expect_text(&read, "data");
        else
            rgi_check(rgm_status(&read) == -ENOMEM);
        failed = rgi_memory_fail_off();
        pair_close(&world, &pair);
        world_close(&world);
        end_pool(pool);
    }
    rgi_check(rgi_memory_live() == live);
}

/* ------------------------------------------------------------ several rings */

#define SHARERS 3

struct sharer {
    struct rgm_pool *pool;
    uint32_t worker;
};

/* Five connections each on three rings, and three slots for all of them. */
static void *
share(void *argument)
{
    struct sharer *sharer = argument;
    struct world world = {.options = {.worker = sharer->worker}};
    struct pair pairs[5];
    struct rgm_read_pooled reads[5];

    world_open(&world);
    for (int i = 0; i < 5; i++)
        pair_open(&world, &pairs[i]);
    for (uint64_t round = 0; round < rgi_scale(20000); round++) {
        for (int i = 0; i < 5; i++) {
            start_read(&world, &reads[i], &pairs[i].far, sharer->pool);
            send_text(&world, &pairs[i].near, "shared");
        }
        for (int left = 5; left > 0;) {
            uint64_t limit_ns = world_now(&world) + WORLD_LIMIT_NS;

            for (int i = 0; i < 5; i++)
                if (is_home(&reads[i].operation) && reads[i].count > 0) {
                    expect_text(&reads[i], "shared");
                    reads[i].count = 0;
                    left--;
                }
            if (left == 0)
                break;
            rgi_check(world_turn(&world, limit_ns) == 0);
            rgi_check(world_now(&world) < limit_ns);
        }
    }
    for (int i = 0; i < 5; i++)
        pair_close(&world, &pairs[i]);
    world_close(&world);
    return NULL;
}

static void
rings_share_a_small_pool(void)
{
    struct rgm_pool *pool = make_pool(3, 32);
    struct sharer sharers[SHARERS];
    pthread_t threads[SHARERS];

    for (uint32_t i = 0; i < SHARERS; i++) {
        sharers[i] = (struct sharer){pool, i};
        rgi_check(pthread_create(&threads[i], NULL, share, &sharers[i]) == 0);
    }
    for (int i = 0; i < SHARERS; i++)
        rgi_check(pthread_join(threads[i], NULL) == 0);
    end_pool(pool);
}

#define CASES(X)                                                               \
    X(ring_pooled, srd_02_chunk_then_end)                                      \
    X(ring_pooled, long_data_comes_in_slots)                                   \
    X(ring_pooled, srd_06_waiting_reads_hold_no_slot)                          \
    X(ring_pooled, srd_06_false_readiness)                                     \
    X(ring_pooled, srd_07_idle_connections)                                    \
    X(ring_pooled, srd_24_a_pooled_read_tries_first_and_is_one_entry)          \
    X(ring_pooled, srd_24_an_attempt_in_vain_uses_no_lent_slot_up)             \
    X(ring_pooled, srd_24_who_finds_the_lent_slots_used_up_holds_nothing)      \
    X(ring_pooled, srd_24_idle_reads_stand_in_no_line_for_a_slot)              \
    X(ring_pooled, srd_24_without_lending_a_free_slot_is_tried_with)           \
    X(ring_pooled, lending_has_a_limit)                                        \
    X(ring_pooled, lending_follows_the_reads)                                  \
    X(ring_pooled, field_b40_cancel_at_arrival)                                \
    X(ring_pooled, field_b40_close_at_arrival)                                 \
    X(ring_pooled, starved_reads_can_be_cancelled)                             \
    X(ring_pooled, slot_dropped_by_another_thread)                             \
    X(ring_pooled, a_close_waits_for_who_is_about_to_ring)                     \
    X(ring_pooled, pool_that_closes_ends_its_reads)                            \
    X(ring_pooled, bpl_18_works_without_buffer_rings)                          \
    X(ring_pooled, several_pools_on_one_ring)                                  \
    X(ring_pooled, own_slot_survives_moods)                                    \
    X(ring_pooled, lack_of_memory_is_an_answer)                                \
    X(ring_pooled, rings_share_a_small_pool)

RGI_CASES(CASES)
