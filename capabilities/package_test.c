/* SPDX-License-Identifier: MIT */

/* package_test.c - are several buffers one, and again what they were? */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ringmail/package.h>

#include "base/cases.h"
#include "base/memory.h"

#define PIECES 9

static struct rgm_pool *
pool_make(uint32_t slots)
{
    const struct rgm_pool_options options = {.slots_count = slots,
                                             .slot_size_bytes = 32};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

static const char text[] = "abcdefghijklmnopqrstuvwxyz0123456789";

/* Views of the text, of lengths that have some empty ones among them. */
static void
views_make(struct rgm_view *views)
{
    static const size_t lengths[PIECES] = {0, 3, 0, 1, 7, 0, 5, 2, 0};
    size_t at = 0;

    for (size_t i = 0; i < PIECES; i++) {
        views[i] = rgm_view_of(NULL, text + at, lengths[i]);
        at += lengths[i];
    }
}

#define WHOLE 18 /* bytes of those */

/* What is left of the package, as bytes. */
static size_t
flatten(const struct rgm_package *package, char *bytes)
{
    size_t count;
    size_t length_bytes = 0;
    const struct rgm_vector *vectors = rgm_package_vectors(package, &count);

    for (size_t i = 0; i < count; i++) {
        if (vectors[i].length_bytes > 0)
            memcpy(bytes + length_bytes, vectors[i].data,
                   vectors[i].length_bytes);
        length_bytes += vectors[i].length_bytes;
    }
    return length_bytes;
}

static bool
is_left(const struct rgm_package *package, size_t from)
{
    char bytes[WHOLE];
    size_t length_bytes = flatten(package, bytes);

    return length_bytes == WHOLE - from &&
           length_bytes == rgm_package_length(package) &&
           memcmp(bytes, text + from, length_bytes) == 0;
}

static void
vec_01_nothing_that_was_advanced_over_can_be_reached(void)
{
    struct rgm_view views[PIECES];
    struct rgm_view back[PIECES];
    struct rgm_package *package;
    struct rgm_view before[PIECES];

    views_make(views);
    memcpy(before, views, sizeof(views));
    rgi_check(rgm_package_of_views(views, PIECES, &package) == 0);
    for (size_t i = 0; i < PIECES; i++)
        rgi_check(views[i].data == NULL && views[i].length_bytes == 0);
    rgi_check(rgm_package_count(package) == PIECES);
    for (size_t from = 0; from <= WHOLE; from++) {
        rgi_check(is_left(package, from));
        if (from < WHOLE)
            rgi_check(rgm_package_advance(package, 1) == 0);
    }
    rgi_check(rgm_package_take_views(&package, back) == 0 && package == NULL);
    rgi_check(memcmp(back, before, sizeof(back)) == 0);
}

static void
vec_02_no_allocation_for_vectors_beside_the_package(void)
{
    struct rgm_view views[4];
    struct rgm_package *package;
    uint64_t live = rgi_memory_live();
    size_t count;

    for (int i = 0; i < 4; i++)
        views[i] = rgm_view_of(NULL, text + i, 1);
    rgi_check(rgm_package_of_views(views, 4, &package) == 0);
    rgi_check(rgi_memory_live() == live + 1);
    rgi_check(rgm_package_vectors(package, &count) != NULL && count == 4);
    rgi_check(rgi_memory_live() == live + 1);
    rgm_package_drop(&package);
    rgi_check(rgi_memory_live() == live && package == NULL);
    rgm_package_drop(&package);
}

static void
vec_03_array_stays_where_it_is(void)
{
    struct rgm_view views[PIECES];
    struct rgm_package *package;
    struct rgm_package *moved;
    const struct rgm_vector *array;
    uint64_t live;
    size_t count;

    views_make(views);
    rgi_check(rgm_package_of_views(views, PIECES, &package) == 0);
    array = rgm_package_vectors(package, &count);
    live = rgi_memory_live();
    moved = package;
    for (int i = 0; i < 10000; i++) {
        rgi_check(rgm_package_vectors(moved, &count) == array);
        rgi_check(count == PIECES && is_left(moved, 0));
        rgi_check(rgm_package_advance(moved, (size_t)i % WHOLE) == 0);
        rgm_package_rewind(moved);
    }
    rgi_check(rgi_memory_live() == live);
    rgm_package_drop(&moved);
}

static void
vec_04_taking_apart_gives_the_originals_back(void)
{
    struct rgm_pool *pool = pool_make(3);
    struct rgm_package *package;
    struct rgm_lease leases[3];
    struct rgm_lease before[3];
    struct rgm_lease back[3];
    struct rgm_view view;

    for (size_t advanced = 0; advanced <= 96; advanced += 7) {
        for (int i = 0; i < 3; i++)
            rgi_check(rgm_pool_try_acquire(pool, &leases[i]) == 0);
        memcpy(before, leases, sizeof(leases));
        rgi_check(rgm_package_of_leases(leases, 3, &package) == 0);
        rgi_check(leases[0].block == NULL && leases[2].block == NULL);
        rgi_check(rgm_package_advance(package, advanced) == 0);
        rgi_check(rgm_package_take_views(&package, &view) == -EINVAL);
        rgi_check(rgm_package_take_leases(&package, back) == 0);
        rgi_check(memcmp(back, before, sizeof(back)) == 0);
        for (int i = 0; i < 3; i++)
            (void)rgm_lease_drop(&back[i]);
    }
    rgm_pool_destroy(pool);
}

/* Against plain counting of bytes. */
static void
vec_05_advancing_is_as_counting_bytes(void)
{
    uint64_t random = rgi_seed();
    struct rgm_view views[PIECES];
    struct rgm_package *package;

    views_make(views);
    rgi_check(rgm_package_of_views(views, PIECES, &package) == 0);
    for (uint64_t round = 0; round < rgi_scale(100000); round++) {
        size_t from = 0;

        rgm_package_rewind(package);
        rgi_check(is_left(package, 0));
        for (int step = 0; step < 6; step++) {
            size_t bytes;

            random = random * UINT64_C(6364136223846793005) + 1;
            bytes = (size_t)(random >> 33) % 9;
            if (from + bytes > WHOLE) { /* too far: refused as a whole */
                rgi_check(rgm_package_advance(package, bytes) == -EINVAL);
            } else {
                rgi_check(rgm_package_advance(package, bytes) == 0);
                from += bytes;
            }
            rgi_check(is_left(package, from));
        }
    }
    rgm_package_drop(&package);
}

static void
vec_05_zero_leaves_out_what_is_empty_at_the_front(void)
{
    struct rgm_view views[PIECES];
    struct rgm_package *package;
    const struct rgm_vector *vectors;
    size_t count;

    views_make(views);
    rgi_check(rgm_package_of_views(views, PIECES, &package) == 0);
    rgi_check(rgm_package_advance(package, 0) == 0);
    vectors = rgm_package_vectors(package, &count);
    rgi_check(count == PIECES - 1 && vectors[0].length_bytes == 3);
    rgi_check(rgm_package_advance(package, WHOLE) == 0);
    (void)rgm_package_vectors(package, &count);
    rgi_check(count == 0 && rgm_package_length(package) == 0);
    rgi_check(rgm_package_advance(package, 0) == 0);
    rgi_check(rgm_package_advance(package, 1) == -EINVAL);
    rgm_package_rewind(package);
    rgi_check(is_left(package, 0));
    rgm_package_drop(&package);
}

static void
vec_07_leases_that_overlap_are_refused(void)
{
    struct rgm_pool *pool = pool_make(2);
    struct rgm_package *package = NULL;
    struct rgm_lease leases[3];

    rgi_check(rgm_pool_try_acquire(pool, &leases[0]) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &leases[1]) == 0);
    leases[2] = leases[0]; /* a stale copy */
    rgi_check(rgm_package_of_leases(leases, 3, &package) == -EINVAL);
    rgi_check(package == NULL && leases[0].block != NULL);
    leases[2] = (struct rgm_lease){0}; /* no lease */
    rgi_check(rgm_package_of_leases(leases, 3, &package) == -EINVAL);
    rgi_check(rgm_package_of_leases(leases, 0, &package) == -EINVAL);
    rgi_check(rgm_package_of_leases(leases, 2, &package) == 0);
    rgm_package_drop(&package);
    rgm_pool_destroy(pool);
}

static void
vec_08_what_was_read_into_is_written_from(void)
{
    struct rgm_pool *pool = pool_make(2);
    struct rgm_package *package;
    struct rgm_lease leases[2];
    const struct rgm_vector *into;
    const struct rgm_vector *from;
    size_t count;

    for (int i = 0; i < 2; i++)
        rgi_check(rgm_pool_try_acquire(pool, &leases[i]) == 0);
    memset(leases[0].data, 'x', 32);
    memset(leases[1].data, 'y', 32);
    rgi_check(rgm_package_of_leases(leases, 2, &package) == 0);
    into = rgm_package_vectors(package, &count);
    rgi_check(rgm_package_advance(package, 40) == 0); /* a read brought 40 */
    rgm_package_rewind(package);
    from = rgm_package_vectors(package, &count);
    rgi_check(from == into && count == 2);
    rgi_check(*(const char *)from[0].data == 'x');
    rgi_check(*(const char *)from[1].data == 'y');
    rgm_package_drop(&package);
    rgi_check(rgm_pool_try_acquire(pool, &leases[0]) == 0); /* all are home */
    rgi_check(rgm_pool_try_acquire(pool, &leases[1]) == 0);
    (void)rgm_lease_drop(&leases[0]);
    (void)rgm_lease_drop(&leases[1]);
    rgm_pool_destroy(pool);
}

static void
limits_and_lack_of_memory_change_nothing(void)
{
    struct rgm_view *many =
        calloc(RGM_PACKAGE_OWNERS_MAX + 1, sizeof(*many));
    struct rgm_package *package = NULL;
    struct rgm_view huge[2] = {{text, SIZE_MAX / 2, NULL}, {text, 1, NULL}};

    rgi_check(many != NULL);
    rgi_check(rgm_package_of_views(many, RGM_PACKAGE_OWNERS_MAX + 1,
                                   &package) == -EINVAL);
    rgi_check(rgm_package_of_views(many, 0, &package) == -EINVAL);
    rgi_check(rgm_package_of_views(huge, 2, &package) == -EINVAL);
    rgi_memory_fail_nth(1);
    rgi_check(rgm_package_of_views(huge + 1, 1, &package) == -ENOMEM);
    rgi_check(rgi_memory_fail_off());
    rgi_check(package == NULL && huge[1].data == text);
    rgi_check(rgm_package_of_views(many, RGM_PACKAGE_OWNERS_MAX, &package) ==
              0);
    rgm_package_drop(&package);
    free(many);
}

#define CASES(X)                                                              \
    X(package, vec_01_nothing_that_was_advanced_over_can_be_reached)          \
    X(package, vec_02_no_allocation_for_vectors_beside_the_package)           \
    X(package, vec_03_array_stays_where_it_is)                                \
    X(package, vec_04_taking_apart_gives_the_originals_back)                  \
    X(package, vec_05_advancing_is_as_counting_bytes)                         \
    X(package, vec_05_zero_leaves_out_what_is_empty_at_the_front)             \
    X(package, vec_07_leases_that_overlap_are_refused)                        \
    X(package, vec_08_what_was_read_into_is_written_from)                     \
    X(package, limits_and_lack_of_memory_change_nothing)

RGI_CASES(CASES)
