/* SPDX-License-Identifier: MIT */

/* fiber_test.c - does a fiber stop and go on where it was, on its own stack? */

#include <stdint.h>

#include "base/baton.h"
#include "base/cases.h"
#include "base/fiber.h"
#include "base/memory.h"

struct walk {
    char trace[64];
    unsigned length;
};

static void
mark(struct walk *walk, char letter)
{
    rgi_check(walk->length + 1 < sizeof(walk->trace));
    walk->trace[walk->length++] = letter;
}

static void
walker(void *argument)
{
    struct walk *walk = argument;
    char local = 'a';

    for (int i = 0; i < 3; i++) {
        mark(walk, local++);
        rgi_fiber_yield();
    }
    mark(walk, local);
}

static void
each_goes_on_where_it_was(void)
{
    struct walk walk = {.length = 0};
    struct rgi_fiber *one = rgi_fiber_create(walker, &walk);
    struct rgi_fiber *two = rgi_fiber_create(walker, &walk);

    rgi_check(one != NULL && two != NULL);
    rgi_fiber_enter(one);
    rgi_fiber_enter(one);
    while (!rgi_fiber_is_over(two))
        rgi_fiber_enter(two);
    mark(&walk, '.');
    while (!rgi_fiber_is_over(one))
        rgi_fiber_enter(one);
    rgi_check(strcmp(walk.trace, "ababcd.cd") == 0);
    rgi_fiber_destroy(one);
    rgi_fiber_destroy(two);
    rgi_check(rgi_memory_live() == 0);
}

/* Deeper than a page, so that it is mapped where it is said to be. */
static unsigned
deep(unsigned levels)
{
    volatile char room[512];

    room[0] = (char)levels;
    if (levels == 0) {
        rgi_fiber_yield();
        return 0;
    }
    return deep(levels - 1) + (room[0] == (char)levels);
}

static void
diver(void *argument)
{
    *(unsigned *)argument = deep(200);
}

static void
a_hundred_have_a_stack_each(void)
{
    struct rgi_fiber *fibers[100];
    unsigned depths[100] = {0};

    for (unsigned i = 0; i < 100; i++) {
        fibers[i] = rgi_fiber_create(diver, &depths[i]);
        rgi_check(fibers[i] != NULL);
        rgi_fiber_enter(fibers[i]);
    }
    for (unsigned i = 0; i < 100; i++) {
        rgi_fiber_enter(fibers[99 - i]);
        rgi_check(rgi_fiber_is_over(fibers[99 - i]));
        rgi_check(depths[99 - i] == 200);
    }
    for (unsigned i = 0; i < 100; i++)
        rgi_fiber_destroy(fibers[i]);
    rgi_check(rgi_memory_live() == 0);
}

static void
one_never_entered_is_destroyed(void)
{
    rgi_fiber_destroy(NULL);
    rgi_fiber_destroy(rgi_fiber_create(walker, NULL));
    rgi_check(rgi_memory_live() == 0);
    rgi_memory_fail_nth(1);
    rgi_check(rgi_fiber_create(walker, NULL) == NULL);
    rgi_check(rgi_memory_fail_off());
    rgi_check(rgi_baton == NULL);
}

#define CASES(X)                                                               \
    X(base, each_goes_on_where_it_was)                                         \
    X(base, a_hundred_have_a_stack_each)                                       \
    X(base, one_never_entered_is_destroyed)

RGI_CASES(CASES)
