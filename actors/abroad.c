/* SPDX-License-Identifier: MIT */

/*
 * abroad.c - an operation goes to the runtime its handle is of.
 *
 * A handle says in its address whose it is: a number, and the identity of the
 * worker that had it, which no other worker of the process has. Asked of an actor
 * of another runtime, the operation is that worker's all the same:
 *
 * 1. leave    the worker that finds the identity to be none of its runtime's looks
 *             for it among all workers of the process. The record remembers its own
 *             runtime in `hold`, `from` gets a number that no worker has, `holder`
 *             says ABROAD, and it is pushed
 * 2. there    it is an operation asked from elsewhere, as of any worker: begun,
 *             counted, drained and lost as those are
 * 3. home     whoever sends it home finds that it is from abroad: `from` is as it
 *             was, `holder` says HOME, and it is pushed to where it was asked, which
 *             counts it as out and so is there
 * 4. cancel   its node goes the same ways. While `holder` says ABROAD the record is
 *             that worker's, arrived or not, and may be marked; HOME, it is too late
 *
 * What can fail: a worker is in the table from when its inbox opens until it is
 * about to close, and does not close while somebody is between his look and his
 * push. So a push is never refused, and what was pushed is answered. Who is not
 * found has ended, or never was.
 *
 * A plain thread is not served: it names a runtime, and what it asks is ended with
 * that. Nor do timers go, whose places are their runtime's. Of more workers than the
 * table has entries, the latest are not found.
 *
 * Model: actors/models/abroad.pml.
 */

#include "actors/runtime.h"
#include "base/baton.h"
#include "capabilities/operation.h"

/* ---- the workers of the process ---- */

/* By identity; so many at once can be found. Pages that nobody enters anything in
 * are never there. */
#define ENTRIES 4096u

struct entry {
    void *worker;      /* abroad-worker: 0: free; odd: not to be found */
    uint32_t visitors; /* abroad-visitors: who is between look and push */
};

static struct entry entries[ENTRIES];

#define HIDDEN ((uintptr_t)1)

static struct entry *
entry_of(uint32_t identity)
{
    return &entries[identity % ENTRIES];
}

static bool
has_entry(const struct rgm_worker *worker)
{
    uintptr_t here =
        (uintptr_t)ck_pr_load_ptr(&entry_of(worker->identity)->worker);

    return (here & ~HIDDEN) == (uintptr_t)worker;
}

/* An identity is a generation that the address of a worker as such never has: 2 and
 * up. One whose entry is free is taken, if any is. Who could not start has one that
 * nobody has heard of, and keeps it. */
void
rgi_identity_take(struct rgm_worker *worker)
{
    static uint32_t last; /* runtime-identity: a count, publishes nothing */

    if (has_entry(worker))
        return;
    for (uint32_t i = 0; i < ENTRIES; i++) {
        worker->identity =
            2 + ck_pr_faa_32(&last, 1) % (RGI_GENERATION_MAX - 1);
        /* abroad-worker: observes that whoever had it has left. */
        if (ck_pr_cas_ptr(&entry_of(worker->identity)->worker, NULL,
                          (void *)((uintptr_t)worker | HIDDEN)))
            break;
    }
    ck_pr_fence_acquire();
}

void
rgi_abroad_open(struct rgm_worker *worker)
{
    if (!has_entry(worker))
        return;
    /* abroad-worker: publishes the worker, whose inbox is open. */
    ck_pr_fence_release();
    ck_pr_store_ptr(&entry_of(worker->identity)->worker, worker);
}

/* A player's turn comes again when that is so. */
static void
await_visitors(struct entry *entry)
{
    uint32_t visitors;

    while ((visitors = ck_pr_faa_32(&entry->visitors, 0)) != 0) {
        if (rgi_baton != NULL)
            rgi_futex_wait(&entry->visitors, visitors);
        else
            rgi_relax(); /* somebody pushes */
    }
}

void
rgi_abroad_close(struct rgm_worker *worker)
{
    struct entry *entry = entry_of(worker->identity);

    if (!has_entry(worker))
        return;
    /* abroad-visitors: whoever looks from now on finds nobody; who has found us
     * was counted before he looked, and has pushed and rung. */
    ck_pr_store_ptr(&entry->worker, (void *)((uintptr_t)worker | HIDDEN));
    ck_pr_fence_memory();
    await_visitors(entry);
    ck_pr_fence_acquire();
    /* abroad-worker: publishes that, to whoever takes the entry. */
    ck_pr_fence_release();
    ck_pr_store_ptr(&entry->worker, NULL);
}

static void
release(struct rgm_address where)
{
    /* abroad-visitors: publishes that the push is over. */
    ck_pr_fence_release();
    (void)ck_pr_faa_32(&entry_of(rgi_address_generation(where))->visitors,
                       UINT32_MAX);
}

static bool
is_abroad(const struct rgm_worker *worker, const struct rgm_worker *found,
          struct rgm_address where)
{
    return rgi_address_slot(where) == 0 && /* a handle's, and no actor's */
           found->identity == rgi_address_generation(where) &&
           found->number == rgm_address_worker(where) &&
           found->runtime != worker->runtime;
}

/* The worker of another runtime that an address is of, which does not close before
 * `release`; NULL: there is none. */
static struct rgm_worker *
hold(const struct rgm_worker *worker, struct rgm_address where)
{
    struct entry *entry = entry_of(rgi_address_generation(where));
    struct rgm_worker *found;

    /* abroad-visitors: counted before the pointer is read that is followed. */
    (void)ck_pr_faa_32(&entry->visitors, 1);
    ck_pr_fence_memory();
    found = ck_pr_load_ptr(&entry->worker);
    ck_pr_fence_acquire(); /* abroad-worker: observes the worker */
    if (found != NULL && ((uintptr_t)found & HIDDEN) == 0 &&
        is_abroad(worker, found, where))
        return found;
    release(where);
    return NULL;
}

static void
count_push(struct rgm_worker *worker, int status)
{
    rgi_assert(status >= 0);
    rgi_count(worker, flushes);
    if (status == RGI_PUSHED_AND_RANG)
        rgi_count(worker, bells);
}

static void
push(struct rgm_worker *worker, struct rgm_worker *there,
     struct rgm_message *message)
{
    count_push(worker, rgi_inbox_push(there->inbox, message, message));
}

/* ---- where it is from ---- */

static struct rgm_address
at_number(struct rgm_address address, uint32_t number)
{
    return rgi_address_make(number, rgi_address_slot(address),
                            rgi_address_generation(address));
}

/* To where it counts as out, so the runtime is there until it has it, and waits for
 * us behind that. */
static void
push_home(struct rgm_worker *worker, struct rgm_runtime *runtime,
          struct rgm_message *message)
{
    uint32_t number = rgm_address_worker(message->from);
    int status = rgi_push_outside(runtime, rgi_runtime_inbox(runtime, number),
                                  message);

    count_push(worker, status);
}

/* ---- the record ---- */

#define BIT(kind) (UINT64_C(1) << (kind))

/* Of what a worker carries out itself, these are on a handle, and any worker may ask
 * for them; of what a provider does, everything. */
static const uint64_t on_a_handle =
    BIT(RGM_OP_SUBMIT) | BIT(RGM_OP_FLUSH) | BIT(RGM_OP_WRITER_CLOSE) |
    BIT(RGM_OP_NEXT) | BIT(RGM_OP_EXACT) | BIT(RGM_OP_READER_CLOSE) |
    BIT(RGM_OP_FILE_JOB);

static bool
may_leave(struct rgm_message *message)
{
    const struct rgm_operation *operation;

    if (message->type->kind != RGM_KIND_OPERATION ||
        message->flags & RGI_MESSAGE_CANCELLED ||
        rgm_address_worker(message->from) >= RGM_WORKERS_MAX)
        return false;
    operation = rgm_operation_of(message);
    return rgi_operation_refused(operation) == 0 &&
           ((~RGI_OWN_KIND_BITS | on_a_handle) >> operation->kind & 1) != 0;
}

/* Its deadline is its asker's to keep, by that runtime's time. */
static void
leave(struct rgm_worker *worker, struct rgm_worker *there,
      struct rgm_message *message)
{
    rgi_request_of(message)->hold.origin = worker->runtime;
    message->from =
        at_number(message->from,
                  RGM_WORKERS_MAX + rgm_address_worker(message->from));
    message->control = RGI_CONTROL_ABROAD;
    message->flags &= RGI_MESSAGE_TAKEN;
    rgi_holder_set(message, RGI_HOLDER_ABROAD);
    RGI_GATE("abroad");
    push(worker, there, message);
}

bool
rgi_abroad_leaves(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_address where = message->to;
    struct rgm_worker *there;

    if (!may_leave(message))
        return false;
    there = hold(worker, where);
    if (there == NULL)
        return false;
    leave(worker, there, message);
    release(where);
    return true;
}

void
rgi_abroad_returns(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_runtime *origin = rgi_request_of(message)->hold.origin;

    message->from =
        at_number(message->from,
                  rgm_address_worker(message->from) - RGM_WORKERS_MAX);
    message->control = RGI_CONTROL_NONE;
    rgi_request_of(message)->hold.children = NULL;
    rgi_holder_set(message, RGI_HOLDER_HOME);
    RGI_GATE("abroad");
    push_home(worker, origin, message);
}

/* ---- its cancel's node ---- */

bool
rgi_abroad_chase(struct rgm_worker *worker, struct rgm_message *node,
                 const struct rgm_message *message)
{
    /* abroad-to: a handle's, or it is home by now and goes after its asker. */
    struct rgm_address where = {
        __atomic_load_n(&message->to.bits, __ATOMIC_RELAXED)};
    struct rgm_worker *there = hold(worker, where);

    if (there == NULL)
        return false; /* it closes, and what came there goes home */
    node->to.bits = (uintptr_t)worker->runtime;
    node->control = RGI_CONTROL_CANCEL_ABROAD;
    push(worker, there, node);
    release(where);
    return true;
}

void
rgi_abroad_chased(struct rgm_worker *worker, struct rgm_message *node)
{
    node->control = RGI_CONTROL_CANCEL_HOME;
    push_home(worker, (struct rgm_runtime *)(uintptr_t)node->to.bits, node);
}
