/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_BASE_H
#define RINGMAIL_BASE_H

/*
 * base.h - the words every other header uses.
 *
 * Errors are negative errno values, success is 0 or a count, and errno itself
 * is never set. Outputs are named ret_* and stay untouched on failure.
 * A duration ends in _ns, a point in time in deadline_ns: nanoseconds of
 * CLOCK_MONOTONIC, or of the provider's own clock.
 *
 * The words after "Thread:" in every declaration:
 *   any    any thread, at any moment
 *   owner  the thread of the worker (or guest) that owns the object
 *   setup  while no other thread can reach the object
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RGM_VERSION_MAJOR 0
#define RGM_VERSION_MINOR 1
#define RGM_VERSION_PATCH 0

#define RGM_API __attribute__((visibility("default")))
#define RGM_MUST_USE __attribute__((warn_unused_result))

/* "Never": a deadline that does not come. */
#define RGM_NEVER UINT64_MAX

#define RGM_NS_PER_US UINT64_C(1000)
#define RGM_NS_PER_MS UINT64_C(1000000)
#define RGM_NS_PER_S UINT64_C(1000000000)

/* A place in an intrusive list. Zero while it is in none. */
struct rgm_link {
    struct rgm_link *next;
    struct rgm_link *previous;
};

/*
 * RGM_SAME_TYPE: a compile-time check that two pointers have the same type: a hard
 * error, not a warning, when they differ. Evaluates neither.
 */
#ifdef __cplusplus
#define RGM_SAME_TYPE(a, b) ((void)sizeof(rgm_same_type_cxx((a), (b))))
template <typename T> char rgm_same_type_cxx(T *, T *);
#define RGM_UNION_(name, member) (name{member})
#else
#define RGM_SAME_TYPE(a, b) ((void)_Generic((a), __typeof__(b): 0))
#define RGM_UNION_(name, member) ((union name){member})
#endif

#endif /* RINGMAIL_BASE_H */
