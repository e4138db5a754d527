/* SPDX-License-Identifier: MIT */

/*
 * package.c - how do several buffers become one array of vectors, and again
 * several buffers?
 *
 * One block of memory: the package, its vectors, its owners. Advancing moves
 * `first` on and narrows the one vector that is used in part, whose whole is
 * kept aside; so rewinding is putting that one back.
 */

#include <ringmail/package.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct rgm_package {
    size_t count;
    size_t first;            /* of the vectors that are left */
    size_t length_bytes;     /* left */
    size_t whole_bytes;      /* at first */
    struct rgm_vector whole; /* of vectors[first], which may be narrowed */
    struct rgm_view *views;  /* or NULL */
    struct rgm_lease *leases; /* or NULL */
    struct rgm_vector vectors[];
};

/* ---------------------------------------------------------------- making one */

static struct rgm_package *
make(size_t count, size_t owner_bytes)
{
    struct rgm_package *package;
    size_t vectors_bytes = count * sizeof(package->vectors[0]);

    package = rgi_alloc(sizeof(*package) + vectors_bytes +
                        count * owner_bytes);
    if (package == NULL)
        return NULL;
    package->count = count;
    return package;
}

static void *
owners_of(struct rgm_package *package)
{
    return &package->vectors[package->count];
}

static void
start(struct rgm_package *package)
{
    package->first = 0;
    package->length_bytes = package->whole_bytes;
    package->whole = package->vectors[0];
}

/* Adds a length. Returns: false when the sum is no size. */
static bool
add(size_t *sum, size_t length_bytes)
{
    if (length_bytes > SIZE_MAX / 2 - *sum)
        return false;
    *sum += length_bytes;
    return true;
}

int
rgm_package_of_views(struct rgm_view *views, size_t count,
                     struct rgm_package **ret_package)
{
    struct rgm_package *package;
    size_t sum_bytes = 0;

    if (count == 0 || count > RGM_PACKAGE_OWNERS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (!add(&sum_bytes, views[i].length_bytes))
            return -EINVAL;
    package = make(count, sizeof(*views));
    if (package == NULL)
        return -ENOMEM;
    package->views = owners_of(package);
    package->whole_bytes = sum_bytes;
    for (size_t i = 0; i < count; i++) {
        package->views[i] = views[i];
        package->vectors[i] =
            (struct rgm_vector){views[i].data, views[i].length_bytes};
        views[i] = (struct rgm_view){0};
    }
    start(package);
    *ret_package = package;
    return 0;
}

static int
by_address(const void *a, const void *b)
{
    const struct rgm_vector *first = a;
    const struct rgm_vector *second = b;

    if (first->data == second->data)
        return 0;
    return (uintptr_t)first->data < (uintptr_t)second->data ? -1 : 1;
}

/* Sorts the vectors, which are laid out again afterwards. */
static bool
overlap(struct rgm_vector *vectors, size_t count)
{
    qsort(vectors, count, sizeof(*vectors), by_address);
    for (size_t i = 1; i < count; i++)
        if ((uintptr_t)vectors[i - 1].data + vectors[i - 1].length_bytes >
            (uintptr_t)vectors[i].data)
            return true;
    return false;
}

static void
lay_out_leases(struct rgm_package *package, const struct rgm_lease *leases)
{
    for (size_t i = 0; i < package->count; i++)
        package->vectors[i] =
            (struct rgm_vector){leases[i].data, leases[i].length_bytes};
}

int
rgm_package_of_leases(struct rgm_lease *leases, size_t count,
                      struct rgm_package **ret_package)
{
    struct rgm_package *package;
    size_t sum_bytes = 0;

    if (count == 0 || count > RGM_PACKAGE_OWNERS_MAX)
        return -EINVAL;
    for (size_t i = 0; i < count; i++)
        if (leases[i].block == NULL ||
            !add(&sum_bytes, leases[i].length_bytes))
            return -EINVAL;
    package = make(count, sizeof(*leases));
    if (package == NULL)
        return -ENOMEM;
    lay_out_leases(package, leases);
    if (overlap(package->vectors, count)) {
        rgi_free(package);
        return -EINVAL;
    }
    lay_out_leases(package, leases);
    package->leases = owners_of(package);
    package->whole_bytes = sum_bytes;
    for (size_t i = 0; i < count; i++) {
        package->leases[i] = leases[i];
        leases[i] = (struct rgm_lease){0};
    }
    start(package);
    *ret_package = package;
    return 0;
}

/* ------------------------------------------------------------- looking, moving */

const struct rgm_vector *
rgm_package_vectors(const struct rgm_package *package, size_t *ret_count)
{
    *ret_count = package->count - package->first;
    return &package->vectors[package->first];
}

size_t
rgm_package_length(const struct rgm_package *package)
{
    return package->length_bytes;
}

size_t
rgm_package_count(const struct rgm_package *package)
{
    return package->count;
}

/* The first vector is used up: put its whole back and go on to the next. */
static void
leave_first(struct rgm_package *package)
{
    package->vectors[package->first++] = package->whole;
    if (package->first < package->count)
        package->whole = package->vectors[package->first];
}

int
rgm_package_advance(struct rgm_package *package, size_t bytes)
{
    if (bytes > package->length_bytes)
        return -EINVAL;
    package->length_bytes -= bytes;
    while (package->first < package->count) {
        struct rgm_vector *vector = &package->vectors[package->first];

        if (bytes < vector->length_bytes) {
            vector->data = (const char *)vector->data + bytes;
            vector->length_bytes -= bytes;
            break;
        }
        bytes -= vector->length_bytes;
        leave_first(package);
    }
    return 0;
}

void
rgm_package_rewind(struct rgm_package *package)
{
    if (package->first < package->count)
        package->vectors[package->first] = package->whole;
    start(package);
}

/* ----------------------------------------------------------------- taking apart */

int
rgm_package_take_views(struct rgm_package **package,
                       struct rgm_view *ret_views)
{
    struct rgm_package *taken = *package;

    if (taken == NULL || taken->views == NULL)
        return -EINVAL;
    memcpy(ret_views, taken->views, taken->count * sizeof(*ret_views));
    rgi_free(taken);
    *package = NULL;
    return 0;
}

int
rgm_package_take_leases(struct rgm_package **package,
                        struct rgm_lease *ret_leases)
{
    struct rgm_package *taken = *package;

    if (taken == NULL || taken->leases == NULL)
        return -EINVAL;
    memcpy(ret_leases, taken->leases, taken->count * sizeof(*ret_leases));
    rgi_free(taken);
    *package = NULL;
    return 0;
}

void
rgm_package_drop(struct rgm_package **package)
{
    struct rgm_package *dropped = *package;

    *package = NULL;
    if (dropped == NULL)
        return;
    for (size_t i = 0; i < dropped->count; i++) {
        if (dropped->views != NULL)
            rgm_view_drop(&dropped->views[i]);
        else
            (void)rgm_lease_drop(&dropped->leases[i]);
    }
    rgi_free(dropped);
}
