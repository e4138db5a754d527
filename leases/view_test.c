/* SPDX-License-Identifier: MIT */

/* view_test.c - does shared memory live as long as its views, and no longer? */

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include <ringmail/lease.h>

#include "base/cases.h"
#include "base/list.h"

/* Memory of a user's own, counted on release. */
struct owner {
    struct rgm_block block;
    unsigned released; /* atomic where threads race */
    char bytes[64];
};

static void
owner_release(struct rgm_block *block)
{
    struct owner *owner = rgi_container_of(block, struct owner, block);

    owner->released++;
}

static void
owner_init(struct owner *owner)
{
    memset(owner, 0, sizeof(*owner));
    for (size_t i = 0; i < sizeof(owner->bytes); i++)
        owner->bytes[i] = (char)i;
    rgm_block_init(&owner->block, owner_release);
}

static bool
is_empty(const struct rgm_view *view)
{
    return view->data == NULL && view->length_bytes == 0 && view->block == NULL;
}

/* A range is a checked part of its parent, keeps it alive, and copies nothing. */
static void
buf_03_slice_is_checked_and_aliases(void)
{
    struct owner owner;
    struct rgm_view whole, part;

    owner_init(&owner);
    whole = rgm_view_of(&owner.block, owner.bytes, sizeof(owner.bytes));
    rgm_block_drop(&owner.block);
    rgi_check(rgm_view_range(&whole, 10, 5, &part) == 0);
    rgi_check(part.data == owner.bytes + 10 && part.length_bytes == 5);
    rgm_view_drop(&whole);
    rgi_check(owner.released == 0); /* the part keeps it */
    rgm_view_drop(&part);
    rgi_check(owner.released == 1);
}

static uint64_t random_state;

static uint64_t
random_next(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Values where sums wrap and where ranges just fit. */
static size_t
near_an_edge(size_t length)
{
    size_t edges[] = {0, 1, length, SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - length};
    size_t edge = edges[random_next() % (sizeof(edges) / sizeof(edges[0]))];

    return edge + random_next() % 5 - 2;
}

/* Bad ranges, those that wrap among them, are refused without effect. */
static void
buf_03_bad_ranges_have_no_effect(void)
{
    struct owner owner;
    struct rgm_view whole, before;

    random_state = rgi_seed();
    owner_init(&owner);
    whole = rgm_view_of(&owner.block, owner.bytes, sizeof(owner.bytes));
    before = whole;
    for (uint64_t i = 0; i < rgi_scale(2000000); i++) {
        size_t offset = near_an_edge(sizeof(owner.bytes));
        size_t length = near_an_edge(sizeof(owner.bytes));
        struct rgm_view part = {&part, 77, NULL};
        bool inside = offset <= 64 && length <= 64 && offset + length <= 64;

        if (rgm_view_range(&whole, offset, length, &part) == 0) {
            rgi_check(inside);
            rgi_check(part.data == owner.bytes + offset);
            rgi_check(part.length_bytes == length);
            rgm_view_drop(&part);
        } else {
            rgi_check(!inside);
            rgi_check(part.data == &part && part.length_bytes == 77);
            rgi_check(rgm_view_narrow(&whole, offset, length) == -EINVAL);
        }
        rgi_check(memcmp(&whole, &before, sizeof(whole)) == 0);
        rgi_check(owner.block.references == 2 && owner.released == 0);
    }
    rgm_block_drop(&owner.block);
    rgm_view_drop(&whole);
    rgi_check(owner.released == 1);
}

/* Three ranges deep and moved, the owner and the full range are still there. */
static void
buf_04_slices_compose(void)
{
    struct owner owner, *found;
    struct rgm_view whole, one, two, three, moved;

    owner_init(&owner);
    whole = rgm_view_of(&owner.block, owner.bytes, sizeof(owner.bytes));
    rgi_check(rgm_view_range(&whole, 8, 48, &one) == 0);
    rgi_check(rgm_view_range(&one, 8, 32, &two) == 0);
    rgi_check(rgm_view_range(&two, 8, 16, &three) == 0);
    rgi_check(three.data == owner.bytes + 24 && three.length_bytes == 16);
    rgi_check(rgm_view_range(&three, 16, 1, &moved) == -EINVAL);
    rgi_check(rgm_view_range(&three, 16, 0, &moved) == 0);
    rgm_view_drop(&moved);
    moved = three;
    found = rgi_container_of(moved.block, struct owner, block);
    rgi_check(found == &owner && found->bytes == whole.data);
    rgi_check(sizeof(found->bytes) == whole.length_bytes);
    rgm_block_drop(&owner.block);
    rgm_view_drop(&whole);
    rgm_view_drop(&two);
    rgm_view_drop(&one);
    rgi_check(owner.released == 0);
    rgm_view_drop(&moved);
    rgi_check(owner.released == 1);
}

/* Release runs once, whoever is last: the maker or a view. */
static void
buf_05_release_runs_exactly_once(void)
{
    struct owner owner;
    struct rgm_view view;

    owner_init(&owner);
    rgm_block_drop(&owner.block);
    rgi_check(owner.released == 1);

    owner_init(&owner);
    view = rgm_view_of(&owner.block, owner.bytes, 1);
    rgm_view_drop(&view);
    rgi_check(owner.released == 0);
    rgm_block_drop(&owner.block);
    rgi_check(owner.released == 1);

    owner_init(&owner);
    view = rgm_view_of(&owner.block, owner.bytes, 1);
    rgm_block_drop(&owner.block);
    rgm_view_drop(&view);
    rgm_view_drop(&view); /* empty by now */
    rgi_check(owner.released == 1);
}

#define SHARERS 4

struct shared {
    struct owner owner;
    struct rgm_view views[SHARERS];
    pthread_barrier_t barrier;
    uint64_t rounds;
};

struct sharer {
    struct shared *shared;
    unsigned number;
};

/* Reads through clones, then drops its view in a race with the others. */
static void *
share(void *argument)
{
    struct sharer *sharer = argument;
    struct shared *shared = sharer->shared;

    for (uint64_t i = 0; i < shared->rounds; i++) {
        struct rgm_view clone, part;

        pthread_barrier_wait(&shared->barrier);
        clone = rgm_view_clone(&shared->views[sharer->number]);
        rgm_view_drop(&shared->views[sharer->number]);
        rgi_check(rgm_view_range(&clone, sharer->number, 1, &part) == 0);
        rgm_view_drop(&clone);
        rgi_check(*(const char *)part.data == (char)sharer->number);
        rgm_view_drop(&part);
        pthread_barrier_wait(&shared->barrier);
    }
    return NULL;
}

/* The last of four threads to let go runs the release, and may reuse all that
 * the others have read. */
static void
buf_05_release_once_from_racing_threads(void)
{
    struct shared shared = {.rounds = rgi_scale(200000)};
    struct sharer sharers[SHARERS];
    pthread_t threads[SHARERS];

    pthread_barrier_init(&shared.barrier, NULL, SHARERS + 1);
    for (unsigned i = 0; i < SHARERS; i++) {
        sharers[i] = (struct sharer){&shared, i};
        pthread_create(&threads[i], NULL, share, &sharers[i]);
    }
    for (uint64_t round = 0; round < shared.rounds; round++) {
        owner_init(&shared.owner);
        for (unsigned i = 0; i < SHARERS; i++)
            shared.views[i] = rgm_view_of(&shared.owner.block,
                                          shared.owner.bytes, SHARERS);
        rgm_block_drop(&shared.owner.block);
        pthread_barrier_wait(&shared.barrier);
        pthread_barrier_wait(&shared.barrier);
        rgi_check(shared.owner.released == 1);
    }
    for (unsigned i = 0; i < SHARERS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&shared.barrier);
}

/* The empty view can be cloned, ranged and dropped like any other. */
static void
empty_view_is_a_view(void)
{
    struct rgm_view empty = {NULL, 0, NULL}, other;

    other = rgm_view_clone(&empty);
    rgi_check(is_empty(&other));
    rgi_check(rgm_view_range(&empty, 0, 0, &other) == 0 && is_empty(&other));
    rgi_check(rgm_view_range(&empty, 0, 1, &other) == -EINVAL);
    rgi_check(rgm_view_range(&empty, 1, 0, &other) == -EINVAL);
    rgi_check(rgm_view_narrow(&empty, 0, 0) == 0 && is_empty(&empty));
    rgm_view_drop(&empty);
    rgm_view_drop(NULL);
    rgm_block_drop(NULL);
}

/* Memory that lives for ever needs no block. */
static void
view_of_a_constant(void)
{
    static const char text[] = "+PONG\r\n";
    struct rgm_view view = rgm_view_of(NULL, text, sizeof(text) - 1);
    struct rgm_view part;

    rgi_check(rgm_view_range(&view, 1, 4, &part) == 0);
    rgi_check(memcmp(part.data, "PONG", 4) == 0);
    rgm_view_drop(&part);
    rgm_view_drop(&view);
    rgi_check(is_empty(&view) && is_empty(&part));
}

/* Narrowing walks through a view without touching the count. */
static void
narrow_is_in_place(void)
{
    struct owner owner;
    struct rgm_view view;

    owner_init(&owner);
    view = rgm_view_of(&owner.block, owner.bytes, sizeof(owner.bytes));
    for (size_t left = sizeof(owner.bytes); left > 0; left--) {
        rgi_check(*(const char *)view.data == (char)(64 - left));
        rgi_check(rgm_view_narrow(&view, 1, left - 1) == 0);
    }
    rgi_check(view.length_bytes == 0 && owner.block.references == 2);
    rgi_check(rgm_view_range(&view, 0, 0, &view) == -EINVAL); /* onto itself */
    rgm_view_drop(&view);
    rgm_block_drop(&owner.block);
    rgi_check(owner.released == 1);
}

#define CASES(X)                                        \
    X(buffers, buf_03_slice_is_checked_and_aliases)     \
    X(buffers, buf_03_bad_ranges_have_no_effect)        \
    X(buffers, buf_04_slices_compose)                   \
    X(buffers, buf_05_release_runs_exactly_once)        \
    X(buffers, buf_05_release_once_from_racing_threads) \
    X(leases, empty_view_is_a_view)                     \
    X(leases, view_of_a_constant)                       \
    X(leases, narrow_is_in_place)

RGI_CASES(CASES)
