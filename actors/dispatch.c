/* SPDX-License-Identifier: MIT */

/*
 * dispatch.c - how does a message find its handler in one step?
 *
 * A behaviour lists its handlers; the first spawn of it in a runtime makes a
 * table from that list: a power of two of entries, and a multiplier found by
 * trial under which no two types collide. A look-up is a multiplication, a
 * shift and one comparison.
 *
 * Tables hang in a list of the runtime's that only grows until it is
 * destroyed; each worker keeps a small cache by behaviour. Two workers may
 * make the same table at the same time; both are right.
 */

#include "actors/runtime.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"

#define TRIALS 4096u

static bool
place_all(struct rgi_dispatch *dispatch, uint64_t seed)
{
    const struct rgm_behaviour *behaviour = dispatch->behaviour;
    size_t size = (size_t)1 << (64 - dispatch->shift);

    memset(dispatch->entries, 0, size * sizeof(dispatch->entries[0]));
    dispatch->seed = seed;
    for (size_t i = 0; i < behaviour->handlers_count; i++) {
        const struct rgm_handler *handler = &behaviour->handlers[i];
        struct rgi_dispatch_entry *entry =
            (struct rgi_dispatch_entry *)(uintptr_t)rgi_dispatch_find(
                dispatch, handler->type);

        if (entry->type != NULL && entry->type != handler->type)
            return false;
        entry->type = handler->type;
        entry->handle = handler->handle;
    }
    return true;
}

/* A table of 2^bits entries, or NULL: no memory, or (see *ret_again) no
 * multiplier without a collision. */
static struct rgi_dispatch *
make_sized(const struct rgm_behaviour *behaviour, unsigned bits,
           bool *ret_again)
{
    uint64_t seed = UINT64_C(0x9E3779B97F4A7C15);
    size_t size = (size_t)1 << bits;
    struct rgi_dispatch *dispatch =
        rgi_alloc(sizeof(*dispatch) + size * sizeof(dispatch->entries[0]));

    *ret_again = false;
    if (dispatch == NULL)
        return NULL;
    dispatch->behaviour = behaviour;
    dispatch->settled = behaviour->settled;
    dispatch->shift = 64 - bits;
    for (unsigned i = 0; i < TRIALS; i++) {
        if (place_all(dispatch, seed))
            return dispatch;
        seed = seed * UINT64_C(6364136223846793005) + 2 * i + 1;
        seed |= 1;
    }
    rgi_free(dispatch);
    *ret_again = true;
    return NULL;
}

static struct rgi_dispatch *
make(const struct rgm_behaviour *behaviour)
{
    unsigned bits = 1;
    bool again = true;
    struct rgi_dispatch *dispatch = NULL;

    while (((size_t)1 << bits) < 2 * behaviour->handlers_count)
        bits++;
    for (; dispatch == NULL && again; bits++)
        dispatch = make_sized(behaviour, bits, &again);
    return dispatch;
}

/* Each entry has a type and a function, and no type has two. */
static bool
handlers_valid(const struct rgm_behaviour *behaviour)
{
    const struct rgm_handler *handlers = behaviour->handlers;

    for (size_t i = 0; i < behaviour->handlers_count; i++) {
        if (handlers[i].type == NULL || handlers[i].handle == NULL)
            return false;
        for (size_t before = 0; before < i; before++)
            if (handlers[before].type == handlers[i].type)
                return false;
    }
    return true;
}

static struct rgi_dispatch *
list_find(struct rgi_dispatch *first, const struct rgm_behaviour *behaviour)
{
    while (first != NULL && first->behaviour != behaviour)
        first = first->next;
    return first;
}

static void
list_add(struct rgm_runtime *runtime, struct rgi_dispatch *dispatch)
{
    void *first = ck_pr_load_ptr(&runtime->dispatches);
    void *seen;

    for (;;) {
        dispatch->next = first;
        /* dispatch-list: publishes the table to every worker's look-up. */
        ck_pr_fence_release();
        if (ck_pr_cas_ptr_value(&runtime->dispatches, first, dispatch, &seen))
            return;
        first = seen;
    }
}

static int
find_or_make(struct rgm_runtime *runtime, const struct rgm_behaviour *behaviour,
             const struct rgi_dispatch **ret_dispatch)
{
    struct rgi_dispatch *dispatch;
    void *first;

    /* dispatch-list: observes the table behind the pointer; by a
     * read-modify-write, which the thread sanitizer understands. */
    (void)ck_pr_cas_ptr_value(&runtime->dispatches, NULL, NULL, &first);
    ck_pr_fence_acquire();
    dispatch = list_find(first, behaviour);
    if (dispatch == NULL) {
        if (!handlers_valid(behaviour))
            return -EINVAL;
        dispatch = make(behaviour);
        if (dispatch == NULL)
            return -ENOMEM;
        list_add(runtime, dispatch);
    }
    *ret_dispatch = dispatch;
    return 0;
}

int
rgi_dispatch_of(struct rgm_worker *worker,
                const struct rgm_behaviour *behaviour,
                const struct rgi_dispatch **ret_dispatch)
{
    size_t place = ((uintptr_t)behaviour >> 4) % RGI_DISPATCH_CACHE;
    const struct rgi_dispatch **cached = &worker->dispatch_cache[place];
    int status = 0;

    if (*cached == NULL || (*cached)->behaviour != behaviour)
        status = find_or_make(worker->runtime, behaviour, cached);
    *ret_dispatch = *cached;
    return status;
}

void
rgi_dispatch_free_all(struct rgi_dispatch *first)
{
    while (first != NULL) {
        struct rgi_dispatch *next = first->next;

        rgi_free(first);
        first = next;
    }
}
