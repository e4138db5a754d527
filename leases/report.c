/* SPDX-License-Identifier: MIT */

/*
 * report.c - who has the slots that are not free, and since when?
 *
 * 1. Whoever takes a slot for a lease notes in its header who that is and the
 *    time, to the coarseness of the kernel's tick: three stores and a clock that
 *    costs a few nanoseconds. Freezing notes nothing: the age of a view is that
 *    of the lease it was.
 * 2. A report walks the slots that are not free and reads the notes.
 *
 * The notes are written by the holder and read by whoever asks, without order: a
 * slot that changes hands meanwhile may be told with the name of one and the age
 * of another. What has been out for long does not change.
 *
 * leases/ does not know what an actor is. Whoever does says so by one function,
 * which is asked on the thread that takes the slot.
 */

#include <time.h>

#include "base/ck.h"
#include "leases/parts.h"

static const struct rgi_registry *asked;

static void
plain_thread(struct rgi_holder *ret_holder)
{
    *ret_holder = (struct rgi_holder){.name = "thread", .who = 0};
}

static const struct rgi_registry plain = {plain_thread};

void
rgi_pool_holders_by(const struct rgi_registry *registry)
{
    /* holder-ask: publishes what is there all the time; whoever sees nothing yet
     * says "thread". */
    ck_pr_store_ptr(&asked, (void *)(uintptr_t)registry);
}

static uint64_t
now_coarse_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void
rgi_slot_note(struct rgi_slot *slot, const struct rgi_holder *holder,
              enum rgm_slot_state state)
{
    /* slot-note: publishes nothing; see above. */
    ck_pr_store_64(&slot->since_ns, now_coarse_ns());
    ck_pr_store_64(&slot->who, holder->who);
    ck_pr_store_ptr(&slot->name, (void *)(uintptr_t)holder->name);
    ck_pr_store_32(&slot->state, (uint32_t)state);
}

void
rgi_slot_note_caller(struct rgi_slot *slot)
{
    /* holder-ask: observes the registry, or none. */
    const struct rgi_registry *registry = ck_pr_load_ptr(&asked);
    struct rgi_holder holder;

    if (registry == NULL)
        registry = &plain;
    registry->holder_of_thread(&holder);
    rgi_slot_note(slot, &holder, RGM_SLOT_LEASED);
}

void
rgi_pool_note(struct rgm_pool *pool, uint32_t index,
              const struct rgi_holder *holder, enum rgm_slot_state state)
{
    rgi_slot_note(&pool->slots[index], holder, state);
}

/* A slot's note, as of now. */
static struct rgm_pool_holder
note_of(const struct rgm_pool *pool, uint32_t index, uint64_t now_ns)
{
    const struct rgi_slot *slot = &pool->slots[index];
    /* block-references: observes how many views there are at the moment. */
    uint32_t views = ck_pr_load_32(&slot->block.references);
    /* slot-note: observes who wrote it, perhaps somebody else by now. */
    uint64_t since_ns = ck_pr_load_64(&slot->since_ns);
    const char *name = ck_pr_load_ptr(&slot->name);

    return (struct rgm_pool_holder){
        .slot = index,
        .state = views != 0 ? RGM_SLOT_VIEWED
                            : (enum rgm_slot_state)ck_pr_load_32(&slot->state),
        .views = views,
        .name = name != NULL ? name : "",
        .actor = ck_pr_load_64(&slot->who),
        .age_ns = now_ns > since_ns ? now_ns - since_ns : 0,
    };
}

/* A slot that was taken and not noted yet has no state. */
static bool
is_out(const struct rgm_pool *pool, uint32_t index)
{
    uint64_t bits = rgi_word_peek(&pool->words[index / RGI_WORD_SLOTS]);

    if (bits >> index % RGI_WORD_SLOTS & 1)
        return false;
    /* slot-note: observes that it is out, or has retired. */
    return ck_pr_load_32(&pool->slots[index].state) != 0;
}

uint32_t
rgm_pool_report(const struct rgm_pool *pool, rgm_pool_report_function *tell,
                void *argument)
{
    uint64_t now_ns = now_coarse_ns();
    uint32_t count = 0;

    for (uint32_t i = 0; i < pool->slots_count; i++) {
        struct rgm_pool_holder holder;

        if (!is_out(pool, i))
            continue;
        count++;
        holder = note_of(pool, i, now_ns);
        if (tell != NULL)
            tell(argument, &holder);
    }
    return count;
}
