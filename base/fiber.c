/* SPDX-License-Identifier: MIT */

/*
 * fiber.c - how does one thread play several, one at a time?
 *
 * By ucontext(3): a context is saved and another one loaded. A stack is mapped
 * with a page below it that faults, and is only as large in memory as it was
 * used.
 *
 * AddressSanitizer has a stack of its own beside each of ours and wants to hear
 * where we go before each change and that we have come after it; the last one
 * out says that it does not come back. ThreadSanitizer takes each fiber for a
 * thread.
 */

#include "base/fiber.h"

#include <stddef.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "base/assert.h"
#include "base/baton.h"
#include "base/memory.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

#define STACK_BYTES ((size_t)512 << 10)
#define GUARD_BYTES ((size_t)64 << 10) /* the largest page there is */

__thread struct rgi_baton *rgi_baton
    __attribute__((tls_model("initial-exec")));

struct rgi_fiber {
    ucontext_t here;  /* where it goes on */
    ucontext_t there; /* where who entered it goes on */
    void (*run)(void *argument);
    void *argument;
    char *memory; /* the guard, then the stack */
    bool over;
    /* AddressSanitizer's */
    void *fake_here;
    void *fake_there;
    const void *bottom_there;
    size_t size_there;
    /* ThreadSanitizer's */
    void *thread_here;
    void *thread_there;
};

static __thread struct rgi_fiber *running;

/* ---- sanitizers ---- */

static void
leave_for(void **ret_fake, const void *bottom, size_t size_bytes, void *thread)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(ret_fake, bottom, size_bytes);
#else
    (void)ret_fake;
    (void)bottom;
    (void)size_bytes;
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(thread, 0);
#else
    (void)thread;
#endif
}

static void
have_come(void *fake, const void **ret_bottom, size_t *ret_size_bytes)
{
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake, ret_bottom, ret_size_bytes);
#else
    (void)fake;
    (void)ret_bottom;
    (void)ret_size_bytes;
#endif
}

static void
thread_make(struct rgi_fiber *fiber)
{
#if defined(__SANITIZE_THREAD__)
    fiber->thread_here = __tsan_create_fiber(0);
#else
    (void)fiber;
#endif
}

static void
thread_unmake(struct rgi_fiber *fiber)
{
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(fiber->thread_here);
#else
    (void)fiber;
#endif
}

static void
thread_remember(struct rgi_fiber *fiber)
{
#if defined(__SANITIZE_THREAD__)
    fiber->thread_there = __tsan_get_current_fiber();
#else
    (void)fiber;
#endif
}

/* ---- changing over ---- */

static void
begin(void)
{
    struct rgi_fiber *fiber = running;

    have_come(NULL, &fiber->bottom_there, &fiber->size_there);
    fiber->run(fiber->argument);
    fiber->over = true;
    leave_for(NULL, fiber->bottom_there, fiber->size_there,
              fiber->thread_there);
    (void)swapcontext(&fiber->here, &fiber->there);
    rgi_unreachable();
}

void
rgi_fiber_enter(struct rgi_fiber *fiber)
{
    rgi_assert(running == NULL && !fiber->over);
    running = fiber;
    thread_remember(fiber);
    leave_for(&fiber->fake_there, fiber->memory + GUARD_BYTES, STACK_BYTES,
              fiber->thread_here);
    rgi_assert(swapcontext(&fiber->there, &fiber->here) == 0);
    have_come(fiber->fake_there, NULL, NULL);
    running = NULL;
}

void
rgi_fiber_yield(void)
{
    struct rgi_fiber *fiber = running;

    rgi_assert(fiber != NULL);
    leave_for(&fiber->fake_here, fiber->bottom_there, fiber->size_there,
              fiber->thread_there);
    rgi_assert(swapcontext(&fiber->here, &fiber->there) == 0);
    have_come(fiber->fake_here, &fiber->bottom_there, &fiber->size_there);
}

bool
rgi_fiber_is_over(const struct rgi_fiber *fiber)
{
    return fiber->over;
}

/* ---- making ---- */

static bool
stack_make(struct rgi_fiber *fiber)
{
    char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);

    if (memory == MAP_FAILED)
        return false;
    fiber->memory = memory;
    return mprotect(memory + GUARD_BYTES, STACK_BYTES,
                    PROT_READ | PROT_WRITE) == 0;
}

struct rgi_fiber *
rgi_fiber_create(void (*run)(void *argument), void *argument)
{
    struct rgi_fiber *fiber = rgi_alloc(sizeof(*fiber));

    if (fiber == NULL)
        return NULL;
    if (!stack_make(fiber) || getcontext(&fiber->here) != 0) {
        if (fiber->memory != NULL)
            (void)munmap(fiber->memory, GUARD_BYTES + STACK_BYTES);
        rgi_free(fiber);
        return NULL;
    }
    fiber->run = run;
    fiber->argument = argument;
    fiber->here.uc_stack.ss_sp = fiber->memory + GUARD_BYTES;
    fiber->here.uc_stack.ss_size = STACK_BYTES;
    fiber->here.uc_link = NULL;
    makecontext(&fiber->here, begin, 0);
    thread_make(fiber);
    return fiber;
}

void
rgi_fiber_destroy(struct rgi_fiber *fiber)
{
    if (fiber == NULL)
        return;
    rgi_assert(running != fiber);
    thread_unmake(fiber);
    (void)munmap(fiber->memory, GUARD_BYTES + STACK_BYTES);
    rgi_free(fiber);
}
