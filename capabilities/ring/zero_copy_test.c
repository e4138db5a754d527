/* SPDX-License-Identifier: MIT */

/* zero_copy_test.c - are bytes that are sent from where they are held until the
 * kernel has let go of them, whoever else has? */

#include <stdlib.h>

#include "capabilities/ring/shim.h"

static unsigned released;

static void
count_release(struct rgm_block *block)
{
    (void)block;
    released++;
}

struct play {
    struct world world;
    struct pair pair;
    struct rgm_block blocks[8]; /* each write has one of its own */
    unsigned blocks_used;
    struct rgm_view view;
    struct rgm_write write;
};

/* A connection whose notifications the test has. */
static void
play_open(struct play *play, uint32_t zero_copy_max)
{
    *play = (struct play){.world.options.zero_copy_max = zero_copy_max};
    shim_open(&play->world);
    pair_open(&play->world, &play->pair);
    shim.keeps_notices = true;
    released = 0;
}

static void
play_close(struct play *play)
{
    pair_close(&play->world, &play->pair);
    world_close(&play->world);
}

static void
prepare(struct play *play, const char *bytes, size_t length_bytes)
{
    struct rgm_block *block = &play->blocks[play->blocks_used++];

    rgm_block_init(block, count_release);
    play->view = rgm_view_of(block, bytes, length_bytes);
    rgm_block_drop(block);
    rgm_stream_write_view(&play->write, &play->pair.near, &play->view);
    play->write.zero_copy = true;
}

/* The kernel lets go of what it was sent as this entry. */
static void
tell(struct play *play, uint64_t identity)
{
    struct io_uring_sqe *entry =
        rgi_ring_entry(&play->world.parts->ring, identity);

    rgi_check(entry != NULL);
    entry->opcode = IORING_OP_NOP;
}

static void
tell_and_look(struct play *play, uint64_t identity)
{
    tell(play, identity);
    world_settle(&play->world);
}

static void
expect(struct play *play, const char *bytes, size_t length_bytes)
{
    char memory[64];
    size_t got = 0;

    while (got < length_bytes) {
        struct rgm_read read;

        rgm_stream_read(&read, &play->pair.far, memory + got,
                        length_bytes - got);
        rgi_check(world_do(&play->world, &read.operation) == 0 && !read.end);
        got += read.count;
    }
    rgi_check(memcmp(memory, bytes, length_bytes) == 0);
}

/* The result has been delivered, the record is somebody else's; only the second
 * notification brings the slot home. */
static void
zcp_01_slot_is_held_until_the_notification(void)
{
    struct play play;
    struct rgm_pool_options one = {.slots_count = 1,
                                   .slot_size_bytes = 64};
    struct rgm_pool *pool;
    struct rgm_lease lease;
    struct rgm_view view;

    play_open(&play, 0);
    rgi_check(rgm_pool_create(&one, &pool) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    memcpy(lease.data, "zero", 4);
    rgi_check(rgm_lease_truncate(&lease, 4) == 0);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgm_stream_write_view(&play.write, &play.pair.near, &view);
    play.write.zero_copy = true;
    rgi_check(world_do(&play.world, &play.write.operation) == 0);
    rgi_check(play.write.count == 4 && shim.seen[IORING_OP_SEND_ZC] == 1);
    memset(&play.write, 0xff, sizeof(play.write));
    world_settle(&play.world);
    rgi_check(shim.kept_count == 1 && rgm_pool_free_count(pool) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == -EAGAIN);
    expect(&play, "zero", 4);
    tell_and_look(&play, shim.kept[0]);
    rgi_check(rgm_pool_free_count(pool) == 1);
    play_close(&play);
    rgm_pool_destroy(pool);
}

/* A result that promises none is all there is. */
static void
zcp_01_without_a_promise_nothing_is_held(void)
{
    struct play play;

    play_open(&play, 0);
    shim_expect(IORING_OP_SEND_ZC, -ECONNRESET, 1);
    prepare(&play, "abcd", 4);
    rgi_check(world_do(&play.world, &play.write.operation) == -ECONNRESET);
    rgi_check(released == 1 && play.world.parts->notices.out == 0);
    play_close(&play);
}

/* The prefix has an owner, the rest has one, and so has the program. */
static void
zcp_02_short_send_and_the_rest_have_owners_each(void)
{
    struct play play;
    struct rgm_view mine;
    uint64_t first;

    play_open(&play, 0);
    shim.changes_promise = true;
    shim_expect(IORING_OP_SEND_ZC, 3, 1);
    prepare(&play, "abcdefgh", 8);
    mine = rgm_view_clone(&play.write.owned);
    world_start(&play.world, &play.write.operation);
    rgi_check(world_turn(&play.world, 0) == 0);
    first = shim.first_zero_copy;
    rgi_check(world_finish(&play.world, &play.write.operation) == 0);
    rgi_check(play.write.count == 8 && shim.seen[IORING_OP_SEND_ZC] == 2);
    world_settle(&play.world);
    expect(&play, "defgh", 5); /* what was changed went nowhere */
    rgi_check(shim.kept_count == 1 && shim.kept[0] != first && released == 0);
    tell_and_look(&play, first);
    rgi_check(play.world.parts->notices.out == 1 && released == 0);
    tell_and_look(&play, shim.kept[0]);
    rgi_check(play.world.parts->notices.out == 0 && released == 0);
    rgi_check(memcmp(mine.data, "abcdefgh", 8) == 0);
    rgm_view_drop(&mine);
    rgi_check(released == 1);
    play_close(&play);
}

/* Cancelled while it waits for the peer: what had gone out is held all the same,
 * and nobody has to keep the record for that. */
static void
zcp_03_cancelled_write_holds_what_went_out(void)
{
    const size_t length_bytes = 32 << 20;
    struct play play;
    struct rgm_write *write = malloc(sizeof(*write));
    char *bytes = calloc(1, length_bytes);

    rgi_check(bytes != NULL && write != NULL);
    play_open(&play, 0);
    prepare(&play, bytes, length_bytes);
    rgm_stream_write_view(write, &play.pair.near, &play.write.owned);
    write->zero_copy = true;
    world_start(&play.world, &write->operation);
    world_settle(&play.world);
    rgi_check(!is_home(&write->operation));
    world_cancel(&play.world, &write->operation);
    rgi_check(world_finish(&play.world, &write->operation) == -ECANCELED);
    rgi_check(write->count < length_bytes);
    free(write);
    rgi_check(play.world.parts->notices.out == 1 && released == 0);
    pair_close(&play.world, &play.pair); /* now nobody can acknowledge it */
    shim.keeps_notices = false;
    if (shim.kept_count > 0)
        tell(&play, shim.kept[0]);
    while (play.world.parts->notices.out > 0)
        rgi_check(world_turn(&play.world, world_now(&play.world) +
                                              WORLD_LIMIT_NS) == 0);
    rgi_check(released == 1);
    world_close(&play.world);
    free(bytes);
}

/* At the bound a write is an ordinary one; below it, one without a copy again. */
static void
swr_23_finished_owners_are_bounded(void)
{
    struct play play;

    play_open(&play, 2);
    for (unsigned i = 0; i < 3; i++) {
        prepare(&play, "abcd", 4);
        rgi_check(world_do(&play.world, &play.write.operation) == 0);
        expect(&play, "abcd", 4);
    }
    rgi_check(shim.seen[IORING_OP_SEND_ZC] == 2 && shim.seen[IORING_OP_SEND] == 1);
    rgi_check(shim.kept_count == 2 && released == 1);
    tell_and_look(&play, shim.kept[1]);
    rgi_check(released == 2);
    prepare(&play, "abcd", 4);
    rgi_check(world_do(&play.world, &play.write.operation) == 0);
    expect(&play, "abcd", 4);
    rgi_check(shim.seen[IORING_OP_SEND_ZC] == 3);
    tell_and_look(&play, shim.kept[0]);
    tell_and_look(&play, shim.kept[2]);
    rgi_check(released == 4);
    play_close(&play);
    play_open(&play, UINT32_MAX);
    prepare(&play, "abcd", 4);
    rgi_check(world_do(&play.world, &play.write.operation) == 0);
    rgi_check(shim.seen[IORING_OP_SEND_ZC] == 0 && released == 1);
    play_close(&play);
}

/* Without memory to lock the write is copied; on a socket that cannot, all are. */
static void
what_cannot_do_without_copies_copies(void)
{
    struct play play;

    play_open(&play, 0);
    shim_expect(IORING_OP_SEND_ZC, -ENOMEM, 1);
    shim_expect(IORING_OP_SEND_ZC, -EOPNOTSUPP, 1);
    for (unsigned i = 0; i < 3; i++) {
        prepare(&play, "abcd", 4);
        rgi_check(world_do(&play.world, &play.write.operation) == 0);
        expect(&play, "abcd", 4);
        rgi_check(released == i + 1);
        rgi_check(shim.seen[IORING_OP_SEND] == i + 1);
    }
    rgi_check(shim.seen[IORING_OP_SEND_ZC] == 2);
    play_close(&play);
}

/* What the kernel says at the end: it has copied, it has not. */
static void
zcp_05_what_was_copied_after_all_is_counted(void)
{
    static const int says[] = {1, INT32_MIN, INT32_MIN}; /* any other; copied */
    struct play play;

    play_open(&play, 0);
    shim.keeps_notices = false;
    for (unsigned i = 0; i < 3; i++) {
        shim.notice_result = says[i];
        prepare(&play, "abcd", 4);
        rgi_check(world_do(&play.world, &play.write.operation) == 0);
        rgi_check(shim.last[IORING_OP_SEND_ZC].ioprio ==
                  RGI_SEND_TELLS_USAGE);
        expect(&play, "abcd", 4);
        while (released < i + 1)
            world_settle(&play.world);
        rgi_check(play.world.provider->zero_copies == i + 1);
        rgi_check(play.world.provider->zero_copies_copied == i);
    }
    play_close(&play);
}

/* Asked once more in its old form, the send is made. */
static void
kernel_that_cannot_say_so_is_not_asked(void)
{
    struct play play;

    play_open(&play, 0);
    shim_expect(IORING_OP_SEND_ZC, -EINVAL, 1);
    shim.keeps_notices = false;
    shim.notice_result = INT32_MIN; /* of no meaning then */
    prepare(&play, "abcd", 4);
    rgi_check(world_do(&play.world, &play.write.operation) == 0);
    rgi_check(shim.seen[IORING_OP_SEND_ZC] == 2);
    rgi_check(shim.last[IORING_OP_SEND_ZC].ioprio == 0);
    expect(&play, "abcd", 4);
    while (released == 0)
        world_settle(&play.world);
    rgi_check(play.world.provider->zero_copies == 1);
    rgi_check(play.world.provider->zero_copies_copied == 0);
    play_close(&play);
}

static void
close_waits_for_what_is_held(void)
{
    struct play play;

    play_open(&play, 0);
    prepare(&play, "abcd", 4);
    rgi_check(world_do(&play.world, &play.write.operation) == 0);
    world_settle(&play.world);
    pair_close(&play.world, &play.pair);
    rgi_check(released == 0);
    tell(&play, shim.kept[0]);
    world_close(&play.world);
    rgi_check(released == 1);
}

#define CASES(X)                                                               \
    X(ring_zero_copy, zcp_01_slot_is_held_until_the_notification)              \
    X(ring_zero_copy, zcp_01_without_a_promise_nothing_is_held)                \
    X(ring_zero_copy, zcp_02_short_send_and_the_rest_have_owners_each)         \
    X(ring_zero_copy, zcp_03_cancelled_write_holds_what_went_out)              \
    X(ring_zero_copy, swr_23_finished_owners_are_bounded)                      \
    X(ring_zero_copy, what_cannot_do_without_copies_copies)                    \
    X(ring_zero_copy, zcp_05_what_was_copied_after_all_is_counted)             \
    X(ring_zero_copy, kernel_that_cannot_say_so_is_not_asked)                  \
    X(ring_zero_copy, close_waits_for_what_is_held)

RGI_CASES(CASES)
