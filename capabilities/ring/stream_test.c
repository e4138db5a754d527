/* SPDX-License-Identifier: MIT */

/* stream_test.c - do stream operations on a ring do what stream.h says? */

#include "capabilities/ring/world.h"

static void
echo_and_end(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;
    struct rgm_read read;
    struct rgm_shutdown shutdown;
    char memory[64] = "";

    world_open(&world);
    pair_open(&world, &pair);
    rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
    world_start(&world, &read.operation);
    rgm_stream_write(&write, &pair.near, "hello", 5);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(write.count == 5);
    rgi_check(world_finish(&world, &read.operation) == 0);
    rgi_check(read.count == 5 && !read.end && memcmp(memory, "hello", 5) == 0);

    rgm_stream_shutdown(&shutdown, &pair.near);
    rgi_check(world_do(&world, &shutdown.operation) == 0);
    rgi_check(world_do(&world, &shutdown.operation) == 0);
    for (int i = 0; i < 2; i++) {
        rgi_check(world_do(&world, &read.operation) == 0);
        rgi_check(read.count == 0 && read.end);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

static void
pooled_read(void)
{
    struct rgm_pool_options options = {"test", 16, 32, 0};
    struct world world = {0};
    struct pair pair;
    struct rgm_pool *pool;
    struct rgm_write write;
    struct rgm_read_pooled read;

    world_open(&world);
    pair_open(&world, &pair);
    rgi_check(rgm_pool_create(&options, &pool) == 0);
    for (int i = 0; i < 1000; i++) {
        rgm_stream_read_pooled(&read, &pair.far, pool);
        world_start(&world, &read.operation);
        rgm_stream_write(&write, &pair.near, "hello", 5);
        rgi_check(world_do(&world, &write.operation) == 0);
        rgi_check(world_finish(&world, &read.operation) == 0);
        rgi_check(read.count == 5 && !read.end);
        rgi_check(read.lease.length_bytes == 5);
        rgi_check(memcmp(read.lease.data, "hello", 5) == 0);
        rgi_check(rgm_lease_drop(&read.lease) == 0);
    }
    pair_close(&world, &pair);
    world_close(&world);
    rgi_check(rgm_pool_free_count(pool) == 16);
    rgm_pool_destroy(pool);
}

#define CASES(X)                                                              \
    X(ring_stream, echo_and_end)                                              \
    X(ring_stream, pooled_read)

RGI_CASES(CASES)
