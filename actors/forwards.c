/* SPDX-License-Identifier: MIT */

/*
 * forwards.c - where has the actor gone that had this address?
 *
 * One table per number, made by a retiring worker when the first of its actors
 * moves, by slot: the generation that had the slot, and the address the actor
 * has gone to. While the worker is open it relays by itself; whoever finds its
 * inbox CLOSED looks here, and by then everything he sent by the old road has
 * been relayed. So nobody looks before, and nothing overtakes.
 *
 * An actor that moves again gets an entry in the next table: a sender follows
 * from one closed number to the next, each time by the same argument. Its
 * entries form a chain, and go together when it ends; zero says so.
 *
 * A table counts the actors that live, and its worker until that has gone; the
 * last one tells worker 0, which may then open the number again, and frees the
 * table when nobody is looking. Model: actors/models/move.pml.
 */

#include <sched.h>

#include "actors/runtime.h"

#include "base/memory.h"

struct rgi_forward {
    uint64_t to; /* forward-to: an address; 0: ended */
    uint32_t generation;
    struct rgi_forwards *table;
    struct rgi_forward *previous; /* of the same actor, older */
    bool arrives;                 /* `moved` has not run yet */
};

struct rgi_forwards {
    struct rgm_message message; /* to worker 0, when none lives */
    uint32_t living;            /* forward-living */
    uint32_t count;
    struct rgi_forward entries[];
};

static const struct rgm_message_type forwards_type = {
    "forwards", sizeof(struct rgi_forwards), 0, RGM_KIND_CONTROL, 0, NULL};

static struct rgi_forwards *
table_of(struct rgm_worker *worker)
{
    struct rgi_place *place = &worker->runtime->places[worker->number];
    uint32_t count = worker->slots.last + 1; /* by slot */
    struct rgi_forwards *table = place->forwards;

    if (table != NULL)
        return table;
    table = rgi_alloc(sizeof(*table) + count * sizeof(table->entries[0]));
    if (table == NULL)
        return NULL;
    table->message.type = &forwards_type;
    table->message.control = RGI_CONTROL_FORGET;
    table->message.flags = RGI_MESSAGE_URGENT;
    table->message.from = rgm_worker_address(worker->number);
    table->message.to = rgm_worker_address(0);
    table->living = 1; /* the worker itself, until it has gone */
    table->count = count;
    /* forwards: published to senders by the closing of the inbox. */
    ck_pr_store_ptr(&place->forwards, table);
    return table;
}

bool
rgi_forwards_ready(struct rgm_worker *worker)
{
    return table_of(worker) != NULL;
}

/* Every slot in use was in use when retirement was admitted: a retiring worker
 * makes no new ones. */
struct rgi_forward *
rgi_forward_make(struct rgm_worker *worker, struct rgm_address from,
                 struct rgm_address to, struct rgi_forward *previous)
{
    struct rgi_forwards *table = table_of(worker);
    struct rgi_forward *forward;

    rgi_assert(table != NULL);
    rgi_assert(rgi_address_slot(from) < table->count);
    forward = &table->entries[rgi_address_slot(from)];
    forward->generation = rgi_address_generation(from);
    forward->table = table;
    forward->previous = previous;
    forward->arrives = true;
    (void)ck_pr_faa_32(&table->living, 1); /* forward-living: a count */
    /* forward-to: published to senders by the closing of the inbox. */
    ck_pr_store_64(&forward->to, to.bits);
    return forward;
}

bool
rgi_forward_arrives(struct rgi_forward *forward)
{
    bool arrives = forward->arrives;

    forward->arrives = false;
    return arrives;
}

/* True for the last. */
static bool
table_leave(struct rgi_forwards *table)
{
    bool last;

    /* forward-living: publishes that an entry is not used any more; the last
     * one observes all. */
    ck_pr_fence_release();
    last = ck_pr_faa_32(&table->living, UINT32_MAX) == 1;
    ck_pr_fence_acquire();
    return last;
}

void
rgi_forwards_end(struct rgm_worker *worker, struct rgi_forward *forward)
{
    while (forward != NULL) {
        struct rgi_forward *previous = forward->previous;
        struct rgi_forwards *table = forward->table;

        ck_pr_store_64(&forward->to, 0); /* forward-to */
        if (table_leave(table))
            rgi_post(worker, &table->message, 0);
        forward = previous;
    }
}

bool
rgi_forwards_worker_gone(struct rgm_runtime *runtime, uint32_t number)
{
    struct rgi_forwards *table = runtime->places[number].forwards;

    return table == NULL || table_leave(table);
}

void
rgi_forwards_free(struct rgm_runtime *runtime, uint32_t number)
{
    struct rgi_place *place = &runtime->places[number];
    struct rgi_forwards *table = place->forwards;

    /* forwards: whoever looks from now on finds none; who looks already has
     * been counted before he read the pointer. */
    ck_pr_store_ptr(&place->forwards, NULL);
    ck_pr_fence_memory();
    while (ck_pr_faa_32(&place->readers, 0) != 0)
        sched_yield(); /* somebody is reading two words */
    ck_pr_fence_acquire();
    rgi_free(table);
}

struct rgm_address
rgi_forward_find(struct rgm_runtime *runtime, struct rgm_address old)
{
    struct rgi_place *place = &runtime->places[rgm_address_worker(old)];
    struct rgm_address found = {0};
    uint32_t slot = rgi_address_slot(old);
    const struct rgi_forwards *table;

    if (ck_pr_load_ptr(&place->forwards) == NULL)
        return found;
    /* forwards: counted before the pointer is read that will be followed. */
    (void)ck_pr_faa_32(&place->readers, 1);
    ck_pr_fence_memory();
    table = ck_pr_load_ptr(&place->forwards);
    ck_pr_fence_acquire();
    if (table != NULL && slot < table->count &&
        table->entries[slot].generation == rgi_address_generation(old))
        found.bits = ck_pr_load_64(&table->entries[slot].to);
    ck_pr_fence_release();
    (void)ck_pr_faa_32(&place->readers, UINT32_MAX);
    return found;
}

bool
rgi_forwards_any(struct rgm_runtime *runtime, uint32_t number)
{
    return ck_pr_load_ptr(&runtime->places[number].forwards) != NULL;
}
