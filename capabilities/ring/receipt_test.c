/* SPDX-License-Identifier: MIT */

/* receipt_test.c - when does a receipt say that the kernel has an entry? */

#include "capabilities/ring/shim.h"
#include "capabilities/writer.h"

struct taken {
    struct rgm_write write;
    struct rgm_receipt receipt;
};

static void
taken_start(struct world *world, struct taken *taken, struct rgm_stream *stream)
{
    rgm_stream_write(&taken->write, stream, "x", 1);
    world_start(world, &taken->write.operation);
    rgi_receipt_prepare(&taken->receipt, &taken->write.operation, world_here);
    world_start(world, &taken->receipt.operation);
}

/* What one wait hands over, in its order. Returns: how many. */
static unsigned
turn_of(struct world *world, struct rgm_operation **order, unsigned most)
{
    struct rgm_turn turn = {NULL, NULL, 0, false};
    unsigned count = 0;

    rgi_check(world->provider->ops->wait(
                  world->provider, world_now(world) + WORLD_LIMIT_NS, &turn) ==
              0);
    for (struct rgm_message *message = turn.first; message != NULL;
         message = message->next) {
        rgi_check(count < most);
        order[count++] = rgm_operation_of(message);
        rgi_operation_home(order[count - 1]);
    }
    return count;
}

static void
swr_17_receipt_comes_with_the_entry_and_before_its_result(void)
{
    struct rgm_operation *order[4];
    struct world world = {0};
    struct taken taken;
    struct pair pair;

    shim_open(&world);
    pair_open(&world, &pair);
    shim.holds = true;
    taken_start(&world, &taken, &pair.near);
    world_settle(&world);
    rgi_check(!is_home(&taken.receipt.operation));
    rgi_check(!is_home(&taken.write.operation));
    shim.holds = false;
    rgi_check(turn_of(&world, order, 4) >= 1);
    rgi_check(order[0] == &taken.receipt.operation);
    rgi_check(rgm_status(&taken.receipt) == 0);
    rgi_check(world_finish(&world, &taken.write.operation) == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

static struct {
    const struct rgm_operation *last; /* receipt of */
    unsigned open;                    /* sleeps while it was out */
} watch;

static void
watch_sleeps(void)
{
    if (!is_home(watch.last) && watch.last->state != RGM_OPERATION_COMPLETED)
        watch.open = shim.sleeps;
}

/* The queue is emptied one entry at a time; a wait that may sleep is asked for
 * from the first. */
static void
swr_18_receipts_come_in_order_and_nobody_sleeps(void)
{
    enum { WRITES = 5 };
    struct world world = {0};
    struct taken taken[WRITES];
    struct rgm_operation *order[2 * WRITES];
    struct pair pair;
    unsigned next = 0;

    shim_open(&world);
    pair_open(&world, &pair);
    world_settle(&world);
    shim.one_by_one = true;
    shim.sleeps = 0;
    for (int i = 0; i < WRITES; i++)
        taken_start(&world, &taken[i], &pair.near);
    watch.last = &taken[WRITES - 1].receipt.operation;
    watch.open = 0;
    shim.before = watch_sleeps;
    while (next < WRITES) {
        unsigned count = turn_of(&world, order, 2 * WRITES);

        for (unsigned i = 0; i < count; i++)
            if (order[i]->kind == RGM_OP_RECEIPT)
                rgi_check(order[i] == &taken[next++].receipt.operation);
    }
    rgi_check(watch.open == 0);
    shim.before = NULL;
    for (int i = 0; i < WRITES; i++)
        rgi_check(world_finish(&world, &taken[i].write.operation) == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

/* One that waits for room has no entry to wait for: the ring sleeps. */
static void
receipt_of_one_in_line_waits_without_turning(void)
{
    struct world world = {.options.in_flight_max = 2};
    struct rgm_read reads[2];
    struct taken taken;
    struct pair pair;
    unsigned enters;
    char bytes[2];

    shim_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 2; i++) {
        rgm_stream_read(&reads[i], &pair.near, &bytes[i], 1);
        world_start(&world, &reads[i].operation);
    }
    world_settle(&world);
    taken_start(&world, &taken, &pair.near);
    world_settle(&world);
    enters = shim.enters;
    rgi_check(world_turn(&world, world_now(&world) + RGM_NS_PER_MS) == 0);
    rgi_check(shim.enters <= enters + 3);
    rgi_check(!is_home(&taken.receipt.operation));
    world_cancel(&world, &reads[0].operation);
    rgi_check(world_finish(&world, &reads[0].operation) == -ECANCELED);
    rgi_check(world_finish(&world, &taken.receipt.operation) == 0);
    rgi_check(world_finish(&world, &taken.write.operation) == 0);
    world_cancel(&world, &reads[1].operation);
    rgi_check(world_finish(&world, &reads[1].operation) == -ECANCELED);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
receipt_of_one_that_is_over_is_answered(void)
{
    struct world world = {0};
    struct taken taken;
    struct pair pair;

    shim_open(&world);
    pair_open(&world, &pair);
    rgm_stream_write(&taken.write, &pair.near, "x", 1);
    rgi_check(world_do(&world, &taken.write.operation) == 0);
    rgi_receipt_prepare(&taken.receipt, &taken.write.operation, world_here);
    rgi_check(world_do(&world, &taken.receipt.operation) == 0);
    /* Cancelled before the kernel has seen it. */
    shim.holds = true;
    taken_start(&world, &taken, &pair.near);
    world_settle(&world);
    world_cancel(&world, &taken.receipt.operation);
    rgi_check(world_finish(&world, &taken.receipt.operation) == -ECANCELED);
    shim.holds = false;
    rgi_check(world_finish(&world, &taken.write.operation) == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

#define CASES(X)                                                               \
    X(ring_receipt, swr_17_receipt_comes_with_the_entry_and_before_its_result) \
    X(ring_receipt, swr_18_receipts_come_in_order_and_nobody_sleeps)           \
    X(ring_receipt, receipt_of_one_in_line_waits_without_turning)              \
    X(ring_receipt, receipt_of_one_that_is_over_is_answered)

RGI_CASES(CASES)
