/* SPDX-License-Identifier: MIT */

/*
 * mutants_test.c - which promises of the ring provider hang on a single line?
 *
 * Each case keeps one that other tests miss, or meet only by luck, when its
 * line is wrong; tools/mutants.txt says which lines.
 */

#include "capabilities/ring/shim.h"

/* The kernel looks for a request while it is on its way between two places,
 * and says that there is none, or that it is late. Nothing has ended it. */
static void
cancel_in_vain(int result)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
    world_start(&world, &read.operation);
    world_settle(&world);
    shim_expect(IORING_OP_ASYNC_CANCEL, result, 1); /* and does nothing */
    world_cancel(&world, &read.operation);
    rgi_check(world_finish(&world, &read.operation) == -ECANCELED);
    rgi_check(shim.seen[IORING_OP_ASYNC_CANCEL] == 2);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
a_cancel_in_vain_is_asked_again(void)
{
    cancel_in_vain(-ENOENT);
    cancel_in_vain(-EALREADY);
}

#define CASES(X) X(ring_mutants, a_cancel_in_vain_is_asked_again)

RGI_CASES(CASES)
