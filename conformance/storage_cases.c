/* SPDX-License-Identifier: MIT */

/*
 * storage_cases.c - what must every provider show of pools without a slab?
 *
 * What they show of pools with one: cases of the other lists are run again, on
 * slots that are allocated when they are taken and freed when they are home.
 */

#include "conformance/storage_cases.h"

#include <stdlib.h>

#include "conformance/acquire_cases.h"
#include "conformance/pooled_cases.h"
#include "conformance/reader_cases.h"

struct heap {
    struct rgm_pool_storage storage;
    uint32_t out;   /* atomic: heap-out: counts, observed when all is over */
    uint32_t taken; /* atomic: likewise */
    uint32_t pools_ended;
    uint32_t refuses; /* atomic: heap-refuses: told by who made the pool */
};

static int
heap_obtain(struct rgm_pool_storage *storage, uint32_t slot, size_t size_bytes,
            size_t alignment_bytes, void **ret_memory)
{
    struct heap *heap = (struct heap *)(void *)storage;
    void *memory;

    (void)slot;
    if (__atomic_load_n(&heap->refuses, __ATOMIC_RELAXED) != 0 ||
        posix_memalign(&memory, alignment_bytes, size_bytes) != 0)
        return -ENOMEM;
    memset(memory, 0, size_bytes);
    __atomic_fetch_add(&heap->out, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&heap->taken, 1, __ATOMIC_RELAXED);
    *ret_memory = memory;
    return 0;
}

static void
heap_release(struct rgm_pool_storage *storage, uint32_t slot, void *memory)
{
    struct heap *heap = (struct heap *)(void *)storage;

    (void)slot;
    __atomic_fetch_sub(&heap->out, 1, __ATOMIC_RELAXED);
    free(memory);
}

static void
heap_ended(struct rgm_pool_storage *storage)
{
    struct heap *heap = (struct heap *)(void *)storage;

    rgi_check(__atomic_load_n(&heap->out, __ATOMIC_RELAXED) == 0);
    heap->pools_ended++;
}

static const struct heap heap_initial = {
    .storage = {heap_obtain, heap_release, heap_ended}};

static void
run_on_heap(struct stage *stage, void (*const cases[])(struct stage *),
            unsigned cases_count)
{
    struct rgm_runtime_options options = stage->options;

    for (unsigned i = 0; i < cases_count; i++) {
        struct heap heap = heap_initial;

        stage->options = options;
        pools_use(&heap.storage);
        cases[i](stage);
        pools_use(NULL);
        rgi_check(heap.pools_ended > 0 && heap.taken > 0);
    }
}

#define RUN_ON_HEAP(stage, cases)                                              \
    run_on_heap(stage, cases, sizeof(cases) / sizeof((cases)[0]))

void
bpl_16_pool_of_heap_memory_serves_acquires(struct stage *stage)
{
    static void (*const cases[])(struct stage *) = {
        bpl_02_workers_share_one_budget,
        bpl_03_acquire_waits_and_try_does_not,
        bpl_03_cancel_leaves_the_slot_to_the_next,
        bpl_03_plain_thread_waits,
        bpl_05_view_that_dies_elsewhere_wakes_the_waiter,
        bpl_12_eight_returns_wake_eight_workers,
        bpl_14_closed_pool_ends_every_wait,
        acquires_of_a_worker_come_in_order,
    };

    RUN_ON_HEAP(stage, cases);
}

void
bpl_16_pool_of_heap_memory_feeds_reads(struct stage *stage)
{
    static void (*const cases[])(struct stage *) = {
        srd_06_waiting_readers_hold_no_slot,
        bpl_09_one_byte_view_holds_the_slot,
        bpl_10_write_keeps_its_slot_until_it_is_over,
        bpl_19_echo_lives_on_two_slots,
        bpl_23_frames_are_views_and_tails_are_copied,
        slot_freed_on_one_worker_feeds_another,
        closed_pool_ends_reads,
        acquires_and_reads_share_a_slot,
    };

    RUN_ON_HEAP(stage, cases);
}

struct input {
    struct rgm_stream *stream;
    struct rgm_pool *pool;
    struct rgm_reader reader;
};

static void
open_here(struct puppet *puppet, void *argument)
{
    struct input *input = argument;
    struct rgm_reader_options options = {.pool = input->pool, .window = 2};

    rgi_check(rgm_reader_open(puppet, input->stream, &options,
                              &input->reader) == 0);
}

static void
drop_here(struct puppet *puppet, void *argument)
{
    struct input *input = argument;

    rgi_check(rgm_reader_drop(puppet, &input->reader) == 0);
}

/* Pieces arrive in memory that was not there before they were asked for. */
void
bpl_16_pool_of_heap_memory_feeds_a_reader(struct stage *stage)
{
    struct heap heap = heap_initial;
    struct rgm_reader_close close;
    struct rgm_stream near;
    struct input input = {.stream = &near};
    int peer;

    pools_use(&heap.storage);
    input.pool = pool_of(4, 16);
    pools_use(NULL);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do(stage, open_here, &input);
    for (unsigned i = 0; i < 50; i++) {
        struct rgm_next next;

        peer_send(peer, "piece", 5);
        rgm_reader_next(&next, &input.reader);
        rgi_check(rgm_call(stage->runtime, &next) == 0 && next.count == 5);
        rgi_check(memcmp(next.data, "piece", 5) == 0);
        rgi_check(rgm_lease_drop(&next.lease) == 0);
    }
    rgm_reader_close(&close, &input.reader);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
    stage_do(stage, drop_here, &input);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(input.pool);
    rgi_check(heap.pools_ended == 1 && heap.taken > 0);
}

/* There is data, and a slot, but nothing it could be made of. Once there is, the
 * data is still where it was. */
void
bpl_16_read_without_memory_is_told(struct stage *stage)
{
    struct heap heap = heap_initial;
    struct rgm_acquire acquire;
    struct rgm_pool *pool;
    struct rgm_stream near;
    struct pooled_step read = {0};
    int peer;

    pools_use(&heap.storage);
    pool = pool_of(1, 16);
    pools_use(NULL);
    heap.refuses = 1;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "kept", 4);
    rgm_stream_read_pooled(&read.op, &near, pool);
    stage_begin(stage, &read);
    rgi_check(stage_end(stage, &read) == -ENOMEM);
    rgm_pool_acquire(&acquire, rgm_worker_address(0), pool);
    rgi_check(rgm_call(stage->runtime, &acquire) == -ENOMEM);
    rgi_check(rgm_pool_free_count(pool) == 1);
    __atomic_store_n(&heap.refuses, 0, __ATOMIC_RELAXED);
    step_clear(&read);
    rgm_stream_read_pooled(&read.op, &near, pool);
    stage_begin(stage, &read);
    rgi_check(stage_end(stage, &read) == 0 && read.op.count == 4);
    rgi_check(memcmp(read.op.lease.data, "kept", 4) == 0);
    rgi_check(rgm_lease_drop(&read.op.lease) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
    rgi_check(heap.pools_ended == 1);
}
