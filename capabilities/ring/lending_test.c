/* SPDX-License-Identifier: MIT */

/* lending_test.c - does a ring give back what is lent to it when others wait,
 * when it ends, and when the pool does? */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/bell.h"
#include "base/memory.h"
#include "capabilities/ring/shim.h"

#define READS 8

static struct rgm_pool *
make_pool(uint32_t slots_count)
{
    struct rgm_pool_options options = {.name = "lent",
                                       .slots_count = slots_count,
                                       .slot_size_bytes = 32};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

static void
end_pool(struct rgm_pool *pool)
{
    rgi_check(rgi_pool_valid(pool));
    rgi_check(rgm_pool_free_count(pool) == rgm_pool_capacity(pool));
    rgm_pool_destroy(pool);
}

/* Reads that wait, with slots lent for them. */
struct crowd {
    struct world world;
    struct pair pairs[READS];
    struct rgm_read_pooled reads[READS];
    struct rgm_lease rest[64];
    uint32_t rest_count;
};

static void
crowd_start(struct crowd *crowd, int i, struct rgm_pool *pool)
{
    rgm_stream_read_pooled(&crowd->reads[i], &crowd->pairs[i].far, pool);
    world_start(&crowd->world, &crowd->reads[i].operation);
}

static void
crowd_open(struct crowd *crowd, struct rgm_pool *pool)
{
    world_open(&crowd->world);
    for (int i = 0; i < READS; i++) {
        pair_open(&crowd->world, &crowd->pairs[i]);
        crowd_start(crowd, i, pool);
    }
    world_settle(&crowd->world);
}

/* Everything that is not lent is out: whoever comes has to wait. */
static void
crowd_take_rest(struct crowd *crowd, struct rgm_pool *pool)
{
    while (rgm_pool_try_acquire(pool, &crowd->rest[crowd->rest_count]) == 0)
        crowd->rest_count++;
}

static void
crowd_drop_rest(struct crowd *crowd)
{
    while (crowd->rest_count > 0)
        rgi_check(rgm_lease_drop(&crowd->rest[--crowd->rest_count]) == 0);
}

/* The peer, behind the ring's back: no turn is needed for it. */
static void
crowd_feed(struct crowd *crowd, int i, const char *text)
{
    int fd = world_fd(&crowd->world, &crowd->pairs[i].near.socket);

    rgi_check(send(fd, text, strlen(text), MSG_NOSIGNAL) ==
              (ssize_t)strlen(text));
}

static void
crowd_expect(struct crowd *crowd, int i, const char *text)
{
    struct rgm_read_pooled *read = &crowd->reads[i];

    rgi_check(world_finish(&crowd->world, &read->operation) == 0);
    rgi_check(read->count == strlen(text));
    rgi_check(memcmp(read->lease.data, text, read->count) == 0);
    rgi_check(rgm_lease_drop(&read->lease) == 0);
}

static void
crowd_close(struct crowd *crowd)
{
    for (int i = 0; i < READS; i++) {
        if (!is_home(&crowd->reads[i].operation)) {
            world_cancel(&crowd->world, &crowd->reads[i].operation);
            rgi_check(world_finish(&crowd->world,
                                   &crowd->reads[i].operation) == -ECANCELED);
        }
        pair_close(&crowd->world, &crowd->pairs[i]);
    }
    world_close(&crowd->world);
}

/* Waits in the pool's line, and notes which thread it was served by. */
struct waiter {
    struct rgi_taker taker;
    _Atomic uint64_t slot; /* 1 + its number */
    pthread_t server;
};

static void
served(struct rgi_taker *taker, uint32_t slot)
{
    struct waiter *waiter = rgi_container_of(taker, struct waiter, taker);

    waiter->server = pthread_self();
    atomic_store(&waiter->slot, UINT64_C(1) + slot);
}

static void
wait_in_line(struct rgm_pool *pool, struct waiter *waiter)
{
    uint32_t slot;

    *waiter = (struct waiter){.taker.hand = served};
    rgi_check(rgi_pool_wait(pool, &waiter->taker, &slot) == -EAGAIN);
}

static uint32_t
slot_of(struct waiter *waiter)
{
    uint64_t slot = atomic_load(&waiter->slot);

    rgi_check(slot != 0 && slot != UINT64_C(1) + RGI_NO_SLOT);
    return (uint32_t)(slot - 1);
}

struct other {
    struct rgm_pool *pool;
    int bell;
    struct waiter waiter;
};

/* The ring that served us may have gone to sleep in that very turn: it has
 * nothing else to do. */
static void *
wait_elsewhere(void *argument)
{
    struct other *other = argument;
    uint32_t slot;

    rgi_check(rgi_pool_wait(other->pool, &other->waiter.taker, &slot) ==
              -EAGAIN);
    while (atomic_load(&other->waiter.slot) == 0)
        sched_yield();
    rgi_bell_ring((void *)(intptr_t)other->bell);
    return NULL;
}

/* Somebody on another thread waits: the bell ends this ring's sleep, and the
 * slots are brought home by the thread that has them. */
static void
mbx_09_lent_slots_are_returned_by_their_ring(void)
{
    struct rgm_pool *pool = make_pool(64);
    struct other other = {.pool = pool, .waiter.taker.hand = served};
    struct crowd crowd = {0};
    pthread_t thread;
    uint64_t limit_ns;

    crowd_open(&crowd, pool);
    rgi_check(rgm_pool_free_count(pool) == 64 - READS);
    crowd_take_rest(&crowd, pool);
    other.bell = crowd.world.options.bell;
    limit_ns = world_now(&crowd.world) + WORLD_LIMIT_NS;
    rgi_check(pthread_create(&thread, NULL, wait_elsewhere, &other) == 0);
    while (atomic_load(&other.waiter.slot) == 0)
        rgi_check(world_turn(&crowd.world, limit_ns) == 0);
    rgi_check(world_now(&crowd.world) < limit_ns); /* the bell woke us */
    rgi_check(pthread_join(thread, NULL) == 0);
    rgi_check(pthread_equal(other.waiter.server, pthread_self()));
    rgi_check(crowd.world.provider->pool_recalls == 1);
    rgi_check(rgm_pool_free_count(pool) == READS - 1);
    rgi_pool_put_slot(pool, slot_of(&other.waiter));
    crowd_drop_rest(&crowd);
    for (int i = 0; i < READS; i++)
        crowd_feed(&crowd, i, "data");
    for (int i = 0; i < READS; i++)
        crowd_expect(&crowd, i, "data");
    crowd_close(&crowd);
    end_pool(pool);
}

/* Data has taken some of the slots by the time they are recalled, and nobody
 * has looked yet: those are the reads', with their bytes. */
static void
field_b40_recall_leaves_what_was_taken(const char *mode)
{
    struct rgm_pool *pool = make_pool(64);
    struct crowd crowd = {0};
    struct waiter waiter;

    rgi_check(setenv("RGM_RING_MODE", mode, 1) == 0);
    for (int round = 0; round < 20; round++) {
        crowd = (struct crowd){0};
        crowd_open(&crowd, pool);
        crowd_take_rest(&crowd, pool);
        for (int i = 0; i < READS / 2; i++)
            crowd_feed(&crowd, i, "before");
        if (round % 2) /* or they are all still in the kernel */
            (void)getppid();
        wait_in_line(pool, &waiter);
        world_settle(&crowd.world);
        rgi_pool_put_slot(pool, slot_of(&waiter));
        for (int i = READS / 2; i < READS; i++)
            crowd_feed(&crowd, i, "after");
        for (int i = 0; i < READS; i++)
            crowd_expect(&crowd, i, i < READS / 2 ? "before" : "after");
        crowd_drop_rest(&crowd);
        crowd_close(&crowd);
        rgi_check(rgm_pool_free_count(pool) == 64);
    }
    unsetenv("RGM_RING_MODE");
    end_pool(pool);
}

static void
field_b40_recall_loses_no_bytes(void)
{
    field_b40_recall_leaves_what_was_taken("defer");
}

static void
field_b40_recall_loses_no_bytes_cooperative(void)
{
    field_b40_recall_leaves_what_was_taken("coop");
}

static void
field_b40_recall_loses_no_bytes_plain(void)
{
    field_b40_recall_leaves_what_was_taken("plain");
}

/* While anybody waits nothing is lent; when half of the pool is free again it
 * is. */
static void
lending_begins_again_when_there_is_plenty(void)
{
    struct rgm_pool *pool = make_pool(64);
    struct crowd crowd = {0};
    struct waiter waiter;
    int reads = 0;

    crowd_open(&crowd, pool);
    crowd_take_rest(&crowd, pool);
    wait_in_line(pool, &waiter);
    world_settle(&crowd.world);
    rgi_pool_put_slot(pool, slot_of(&waiter));
    for (; reads < 200; reads++) {
        crowd_feed(&crowd, 0, "data");
        crowd_expect(&crowd, 0, "data");
        crowd_start(&crowd, 0, pool);
        world_settle(&crowd.world);
        rgi_check(rgm_pool_free_count(pool) == READS);
    }
    crowd_drop_rest(&crowd);
    for (; reads < 400 && rgm_pool_free_count(pool) == 64; reads++) {
        crowd_feed(&crowd, 0, "data");
        crowd_expect(&crowd, 0, "data");
        crowd_start(&crowd, 0, pool);
        world_settle(&crowd.world);
    }
    rgi_check(rgm_pool_free_count(pool) == 64 - READS);
    rgi_check(crowd.world.provider->pool_recalls == 1);
    crowd_feed(&crowd, 0, "data");
    crowd_expect(&crowd, 0, "data");
    crowd_close(&crowd);
    end_pool(pool);
}

/* Nobody waits, and the pool ends: its memory goes with the ring's next turn,
 * not with the ring. */
static void
bpl_14_lent_slots_do_not_keep_an_ended_pool(void)
{
    struct rgm_pool *pool = make_pool(64);
    struct crowd crowd = {0};
    size_t live;

    crowd_open(&crowd, pool);
    for (int i = 0; i < READS; i++) {
        crowd_feed(&crowd, i, "data");
        crowd_expect(&crowd, i, "data");
    }
    live = rgi_memory_live();
    crowd_start(&crowd, 0, pool);
    world_settle(&crowd.world);
    crowd_feed(&crowd, 0, "data");
    crowd_expect(&crowd, 0, "data");
    rgm_pool_destroy(pool);
    rgi_check(rgi_memory_live() == live);
    rgi_check(world_turn(&crowd.world, 0) == 0);
    rgi_check(rgi_memory_live() == live - 4); /* the pool and its parts */
    crowd_close(&crowd);
}

/* What was lent is of the old pool, and the kernel's queue of it: at the same
 * address there is another pool now, and its slots are what is read into. */
static void
buf_08_pool_where_another_was_is_another(void)
{
    struct rgm_pool *pool = make_pool(64), *before = NULL;
    struct crowd crowd = {0};
    int seen = 0;

    crowd_open(&crowd, pool);
    for (int i = 0; i < READS; i++) {
        crowd_feed(&crowd, i, "data");
        crowd_expect(&crowd, i, "data");
    }
    for (int round = 0; round < 50; round++) {
        rgm_pool_destroy(pool);
        rgi_check(world_turn(&crowd.world, 0) == 0);
        before = pool;
        pool = make_pool(64);
        seen += pool == before;
        crowd_start(&crowd, 0, pool);
        world_settle(&crowd.world);
        rgi_check(rgm_pool_free_count(pool) < 64); /* lent anew */
        crowd_feed(&crowd, 0, "fresh");
        rgi_check(world_finish(&crowd.world, &crowd.reads[0].operation) == 0);
        rgi_check((char *)crowd.reads[0].lease.data >=
                      (char *)rgi_pool_slot_memory(pool, 0) &&
                  (char *)crowd.reads[0].lease.data <=
                      (char *)rgi_pool_slot_memory(pool, 63));
        rgi_check(memcmp(crowd.reads[0].lease.data, "fresh", 5) == 0);
        rgi_check(rgm_lease_drop(&crowd.reads[0].lease) == 0);
    }
    fprintf(stderr, "# %d of 50 were where another was\n", seen);
    crowd_close(&crowd);
    end_pool(pool);
}

static int
refuse_second(unsigned fd, unsigned opcode, void *argument, unsigned count)
{
    static int seen;

    if (opcode == IORING_REGISTER_PBUF_RING && ++seen > 1)
        return -ENOMEM;
    return rgi_ring_kernel.enroll(fd, opcode, argument, count);
}

/* The kernel may refuse the queue the second time: then nothing is lent. */
static void
bpl_18_queue_refused_after_a_recall(void)
{
    struct rgi_ring_calls calls = rgi_ring_kernel;
    struct rgm_pool *pool = make_pool(64);
    struct crowd crowd = {.world.calls = &calls};
    struct waiter waiter;

    calls.enroll = refuse_second;
    crowd_open(&crowd, pool);
    crowd_take_rest(&crowd, pool);
    wait_in_line(pool, &waiter);
    world_settle(&crowd.world);
    rgi_pool_put_slot(pool, slot_of(&waiter));
    crowd_drop_rest(&crowd);
    for (int i = 0; i < 300; i++) {
        crowd_feed(&crowd, 0, "data");
        crowd_expect(&crowd, 0, "data");
        crowd_start(&crowd, 0, pool);
    }
    world_settle(&crowd.world);
    rgi_check(rgm_pool_free_count(pool) == 64);
    crowd_close(&crowd);
    end_pool(pool);
}

/* ------------------------------------------------------------ several rings */

#define RINGS 3

struct ringer {
    struct rgm_pool *pool;
    uint32_t worker;
    _Atomic uint32_t *running;
    uint64_t rounds;
};

/* Lends, takes what it can get, and waits for one more: somebody else's ring
 * has it. */
static void *
lend_and_wait(void *argument)
{
    struct ringer *ringer = argument;
    struct crowd crowd = {.world.options = {.worker = ringer->worker,
                                             .pool_slots_max = READS}};

    crowd_open(&crowd, ringer->pool);
    for (uint64_t i = 0; i < ringer->rounds; i++) {
        struct waiter waiter = {.taker.hand = served};
        uint32_t slot;
        int status = rgi_pool_wait(ringer->pool, &waiter.taker, &slot);

        if (status == -EAGAIN) {
            while (atomic_load(&waiter.slot) == 0)
                rgi_check(world_turn(&crowd.world, 0) == 0);
            slot = slot_of(&waiter);
        }
        crowd_feed(&crowd, (int)(i % READS), "data");
        rgi_pool_put_slot(ringer->pool, slot);
        crowd_expect(&crowd, (int)(i % READS), "data");
        crowd_start(&crowd, (int)(i % READS), ringer->pool);
    }
    atomic_fetch_sub(ringer->running, 1);
    while (atomic_load(ringer->running) != 0)
        rgi_check(world_turn(&crowd.world, 0) == 0); /* who waits for ours? */
    crowd_close(&crowd);
    return NULL;
}

static void
rings_lend_and_wait_for_each_other(void)
{
    struct rgm_pool *pool = make_pool(16); /* fewer than reads that wait */
    _Atomic uint32_t running = RINGS;
    struct ringer ringers[RINGS];
    pthread_t threads[RINGS];

    for (uint32_t i = 0; i < RINGS; i++) {
        ringers[i] = (struct ringer){pool, i, &running, rgi_scale(50000)};
        rgi_check(pthread_create(&threads[i], NULL, lend_and_wait,
                                 &ringers[i]) == 0);
    }
    for (int i = 0; i < RINGS; i++)
        rgi_check(pthread_join(threads[i], NULL) == 0);
    end_pool(pool);
}

#define CASES(X)                                                 \
    X(ring_lending, mbx_09_lent_slots_are_returned_by_their_ring) \
    X(ring_lending, field_b40_recall_loses_no_bytes)             \
    X(ring_lending, field_b40_recall_loses_no_bytes_cooperative) \
    X(ring_lending, field_b40_recall_loses_no_bytes_plain)       \
    X(ring_lending, lending_begins_again_when_there_is_plenty)   \
    X(ring_lending, bpl_14_lent_slots_do_not_keep_an_ended_pool) \
    X(ring_lending, buf_08_pool_where_another_was_is_another)    \
    X(ring_lending, bpl_18_queue_refused_after_a_recall)         \
    X(ring_lending, rings_lend_and_wait_for_each_other)

RGI_CASES(CASES)
