/* SPDX-License-Identifier: MIT */

/* report_test.c - does a report name who has each slot, and since when? And is
 * a slot that is nobody's out of reach? */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cases.h"
#include "base/memory.h"
#include "leases/parts.h"
#include "leases/poison.h"

#define SLOT_BYTES 64

struct told {
    struct rgm_pool_holder holders[8];
    unsigned count;
};

static void
write_down(void *argument, const struct rgm_pool_holder *holder)
{
    struct told *told = argument;

    rgi_check(told->count < 8);
    told->holders[told->count++] = *holder;
}

static struct rgm_pool *
make_pool(struct told *leaks)
{
    struct rgm_pool_options options = {.name = "told",
                                       .slots_count = 8,
                                       .slot_size_bytes = SLOT_BYTES,
                                       .leaked = leaks ? write_down : NULL,
                                       .leaked_argument = leaks};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

static struct rgm_lease
acquire(struct rgm_pool *pool)
{
    struct rgm_lease lease;

    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    return lease;
}

static void
actor_of_this_test(struct rgi_holder *ret_holder)
{
    *ret_holder = (struct rgi_holder){"reader", 0x77};
}

static const struct rgi_registry registry = {actor_of_this_test};

/* Leased, viewed and lent are told apart, with the name of who took it. */
static void
bpl_15_report_names_the_holders(void)
{
    struct rgm_pool *pool = make_pool(NULL);
    struct told told = {.count = 0};
    struct rgm_lease lease, frozen;
    struct rgm_view view, clone;
    uint32_t lent;

    rgi_check(rgm_pool_report(pool, write_down, &told) == 0);
    lease = acquire(pool);
    rgi_pool_holders_by(&registry);
    frozen = acquire(pool);
    rgi_check(rgm_lease_freeze(&frozen, &view) == 0);
    clone = rgm_view_clone(&view);
    rgi_check(rgi_pool_take_slot(pool, &lent) == 0);
    rgi_pool_note(pool, lent, &(struct rgi_holder){"ring", 0}, RGM_SLOT_LENT);

    rgi_check(rgm_pool_report(pool, write_down, &told) == 3);
    rgi_check(told.count == 3);
    for (unsigned i = 0; i < 3; i++)
        rgi_check(told.holders[i].age_ns < 60u * 1000000000u);
    rgi_check(told.holders[0].state == RGM_SLOT_LEASED);
    rgi_check(strcmp(told.holders[0].name, "thread") == 0);
    rgi_check(told.holders[0].actor == 0 && told.holders[0].views == 0);
    rgi_check(told.holders[1].state == RGM_SLOT_VIEWED);
    rgi_check(strcmp(told.holders[1].name, "reader") == 0);
    rgi_check(told.holders[1].actor == 0x77 && told.holders[1].views == 2);
    rgi_check(told.holders[2].state == RGM_SLOT_LENT);
    rgi_check(strcmp(told.holders[2].name, "ring") == 0);

    rgi_check(rgm_lease_drop(&lease) == 0);
    rgm_view_drop(&view);
    rgm_view_drop(&clone);
    rgi_pool_put_slot(pool, lent);
    rgi_check(rgm_pool_report(pool, NULL, NULL) == 0);
    rgm_pool_destroy(pool);
    rgi_check(rgi_memory_live() == 0);
}

/* Ages grow while a slot is held, and begin anew with the next holder. */
static void
age_is_since_it_was_taken(void)
{
    struct rgm_pool *pool = make_pool(NULL);
    struct rgm_lease lease = acquire(pool);
    struct told told = {.count = 0};
    /* Taken when the machine was half as old, however young it is now. */
    const uint64_t long_ns = pool->slots[0].since_ns / 2;

    pool->slots[0].since_ns -= long_ns;
    rgi_check(rgm_pool_report(pool, write_down, &told) == 1);
    rgi_check(told.holders[0].age_ns >= long_ns);
    rgi_check(rgm_lease_drop(&lease) == 0);
    lease = acquire(pool);
    rgi_check(rgm_pool_report(pool, write_down, &told) == 1);
    rgi_check(told.holders[1].age_ns < long_ns);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgm_pool_destroy(pool);
}

/* What is out at the end is told, once; what is at home is not. */
static void
bpl_14_destroy_tells_what_is_out(void)
{
    struct told leaks = {.count = 0};
    struct rgm_pool *pool = make_pool(&leaks);
    struct rgm_lease lease = acquire(pool), other = acquire(pool);

    rgi_check(rgm_lease_drop(&other) == 0);
    rgm_pool_close(pool);
    rgi_check(leaks.count == 0);
    rgm_pool_destroy(pool);
    rgi_check(leaks.count == 1 && leaks.holders[0].slot == 0);
    rgi_check(leaks.holders[0].state == RGM_SLOT_LEASED);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(leaks.count == 1 && rgi_memory_live() == 0);

    pool = make_pool(&leaks);
    rgm_pool_destroy(pool);
    rgi_check(leaks.count == 1);
}

/* ------------------------------------------------- memory that is nobody's */

#ifdef RGI_POISONS
#define IS_POISONED(byte) (__asan_address_is_poisoned(byte) != 0)

/* Does touching that byte end a process? */
static bool
is_caught(volatile char *byte)
{
    int status = 0;
    pid_t child = fork();

    rgi_check(child >= 0);
    if (child == 0) {
        (void)close(STDERR_FILENO); /* its report is not ours */
        *byte = 1;
        _exit(0);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Free slots, what truncation gave up, and what lies behind a lease, are out of
 * reach; what is leased again is not. A write that goes astray ends there. */
static void
free_slots_are_poisoned(void)
{
    struct rgm_pool_options options = {.slots_count = 2, .slot_size_bytes = 50};
    struct rgm_pool *pool;
    struct rgm_lease lease;
    struct rgm_view view;
    char *data;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgi_check(IS_POISONED(pool->slab) && IS_POISONED(pool->slab + 64));
    lease = acquire(pool);
    data = lease.data;
    memset(data, 1, 50);
    rgi_check(IS_POISONED(data + 50) && IS_POISONED(data + 63));
    rgi_check(is_caught(data + 50)); /* one byte too far, not the neighbour's */
    rgi_check(rgm_lease_truncate(&lease, 10) == 0);
    rgi_check(!IS_POISONED(data + 9) && IS_POISONED(data + 16));
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgi_check(!IS_POISONED(data + 9) && !is_caught(data + 9));
    rgm_view_drop(&view);
    rgi_check(IS_POISONED(data) && is_caught(data)); /* late writes are seen */
    lease = acquire(pool);
    rgi_check(lease.data == data && !IS_POISONED(data + 49));
    rgi_check(!is_caught(data + 49));
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgm_pool_destroy(pool);
    rgi_check(rgi_memory_live() == 0);
}

/* A slot that is lent to a ring is the kernel's: the program may not touch it
 * until it is a lease. */
static void
lent_slots_stay_poisoned(void)
{
    struct rgm_pool *pool = make_pool(NULL);
    struct rgm_lease lease;
    uint32_t lent;
    char *data;

    rgi_check(rgi_pool_take_slot(pool, &lent) == 0);
    data = rgi_pool_slot_memory(pool, lent);
    rgi_check(IS_POISONED(data));
    rgi_pool_lease_of(pool, lent, 16, &lease);
    rgi_check(!IS_POISONED(data + 15) && IS_POISONED(data + 16));
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(IS_POISONED(data));
    rgm_pool_destroy(pool);
}
#define POISON_CASES(X)                  \
    X(poison, free_slots_are_poisoned)   \
    X(poison, lent_slots_stay_poisoned)
#else
#define POISON_CASES(X)
#endif

#define CASES(X)                                  \
    POISON_CASES(X)                               \
    X(report, bpl_15_report_names_the_holders)    \
    X(report, age_is_since_it_was_taken)          \
    X(report, bpl_14_destroy_tells_what_is_out)

RGI_CASES(CASES)
