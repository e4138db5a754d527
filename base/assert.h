/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_ASSERT_H
#define RGI_BASE_ASSERT_H

/*
 * assert.h - what happens when an invariant of ours is broken?
 *
 * rgi_assert        stays on in every build: a runtime that goes on after its
 *                   own invariant failed corrupts somebody else's data.
 * rgi_assert_slow   walks lists or compares with a model; only in builds with
 *                   RGI_SLOW_ASSERTS (the dev, asan and tsan presets).
 * rgi_unreachable   marks a place no input can lead to.
 *
 * These are for our mistakes only. A mistake of the caller that is cheap to see
 * is refused with -EINVAL instead.
 */

#include <stdio.h>
#include <stdlib.h>

/* Out of line and cold, so that a check costs its caller one branch. */
__attribute__((noreturn, noinline, cold, unused)) static void
rgi_assert_failed(const char *file, int line, const char *expression)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    fflush(stderr);
    abort();
}

#define rgi_assert(expression)                                                 \
    (__builtin_expect(!(expression), 0)                                        \
         ? rgi_assert_failed(__FILE__, __LINE__, #expression)                  \
         : (void)0)

/* sizeof keeps the expression compiled, and its variables used, in all builds. */
#ifdef RGI_SLOW_ASSERTS
#define rgi_assert_slow(expression) rgi_assert(expression)
#else
#define rgi_assert_slow(expression) ((void)sizeof((expression) ? 1 : 0))
#endif

#define rgi_unreachable() rgi_assert_failed(__FILE__, __LINE__, "unreachable")

#endif /* RGI_BASE_ASSERT_H */
