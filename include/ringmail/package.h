/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_PACKAGE_H
#define RINGMAIL_PACKAGE_H

/*
 * package.h - several buffers as one: prepared vectors for scatter and gather.
 *
 *     views or leases --make--> package --vectors--> a write, a read
 *            ^                     |  ^                  |
 *            '------dissolve-------'  '-----advance------'
 *
 * A package takes its owners in, hides them, and lays out one array of vectors
 * that stays where it is. What a transfer was short of is left out by advancing:
 * nothing is copied, and nothing advances by itself. Dissolving gives all owners
 * back as they were, whatever was advanced.
 *
 * The array is what every transfer takes:
 *
 *     vectors = rgm_package_vectors(package, &count);
 *     rgm_stream_write_vectors(&write, stream, vectors, count);
 *     ...                              // when it is home
 *     (void)rgm_package_advance(package, write.count);
 *
 * Thread: whoever has the package, one at a time.
 */

#include <ringmail/lease.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGM_PACKAGE_OWNERS_MAX 65536

struct rgm_package; /* opaque; lives in capabilities/package.c */

/*
 * Make a package of views, to be written from. Empty ones have their place.
 *
 * Owns:    on 0 the package has the views, and views[] is emptied.
 * Returns: 0, -EINVAL for no view at all or more than RGM_PACKAGE_OWNERS_MAX,
 *          or lengths whose sum is no size; -ENOMEM. On error nothing changed.
 * Cost:    one allocation; everything below but dissolve is free of them.
 */
RGM_API RGM_MUST_USE int rgm_package_of_views(struct rgm_view *views,
                                              size_t count,
                                              struct rgm_package **ret_package);

/*
 * Make a package of leases, to be read into, and to be written from afterwards.
 *
 * Returns: as above; -EINVAL also when two of them overlap, which two leases of
 *          a pool cannot unless one is a stale copy of the other, or when one is
 *          no lease.
 */
RGM_API RGM_MUST_USE int rgm_package_of_leases(
    struct rgm_lease *leases, size_t count, struct rgm_package **ret_package);

/*
 * What is not advanced over, in order: never an owner, and never a byte before.
 * Valid until the package is advanced, rewound or dissolved.
 */
RGM_API const struct rgm_vector *
rgm_package_vectors(const struct rgm_package *package, size_t *ret_count);

/* The bytes of that. */
RGM_API size_t rgm_package_length(const struct rgm_package *package);

/*
 * Leave out the first bytes. 0 leaves out empty vectors at the front.
 *
 * Returns: 0; -EINVAL when there are not so many: nothing changed.
 * Cost:    of the vectors that are used up.
 */
RGM_API RGM_MUST_USE int rgm_package_advance(struct rgm_package *package,
                                             size_t bytes);

/* As it was made. Cost: two stores. */
RGM_API void rgm_package_rewind(struct rgm_package *package);

/* How many owners there are. */
RGM_API size_t rgm_package_count(const struct rgm_package *package);

/*
 * Take the package apart: its owners are in ret_owners[], of which there are
 * rgm_package_count(), as they were when it was made. *package is NULL then.
 *
 * Returns: 0; -EINVAL when it was made of the others, or *package is NULL.
 */
RGM_API RGM_MUST_USE int
rgm_package_take_views(struct rgm_package **package,
                       struct rgm_view *ret_views);
RGM_API RGM_MUST_USE int
rgm_package_take_leases(struct rgm_package **package,
                        struct rgm_lease *ret_leases);

/* Let go of the package and all its owners. NULL does nothing. */
RGM_API void rgm_package_drop(struct rgm_package **package);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_PACKAGE_H */
