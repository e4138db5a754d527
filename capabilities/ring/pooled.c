/* SPDX-License-Identifier: MIT */

/*
 * pooled.c - when does a read get a slot for its data?
 *
 * 1. It is tried, then it waits in the kernel, both by one entry. A few slots are
 *    lent to the ring, no more than there are such reads; data takes one of them,
 *    and an attempt that finds none gives it back before it waits.
 * 2. When none is left the kernel says ENOBUFS, to an attempt without data, too.
 *    With a free slot the read tries once more, on its own; without one it
 *    waits for data first, and stands in no line.
 * 3. There is data, and none is lent: the read gets a slot of its own from the
 *    pool and an attempt that does not wait. Should the data be gone the slot goes
 *    back, and the read waits again. When the pool has none either, the read
 *    stands in line and the ring in the pool's, which hands it a slot that comes
 *    home.
 * 4. Where nothing can be lent, a slot is taken for the first attempt alone.
 * 5. When anybody else has to wait for the pool, it recalls what is lent. The
 *    kernel's queue is taken back, and what no receive has taken goes home. Only
 *    when half of the pool is free again, and nobody waits, are slots lent anew.
 *
 * So a connection that waits holds nothing, and a pool of one slot serves any
 * number of them. All that is shared with other threads is a slot handed over,
 * a recall, and the bell.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <string.h>

#include "base/assert.h"
#include "base/bell.h"
#include "base/memory.h"

/* By default a ring gets one slot in eight, and never more than this. */
#define LENT_SHARE 8u
#define LENT_DEFAULT_MAX 256u

/* ------------------------------------------------------------------- pools */

void
rgi_ring_hand(struct rgi_ring_provider *p, uint64_t *word, uint64_t what)
{
    bool own = rgi_ring_is_mine(&p->ring);

    /* ring-ringers: goes with the store. */
    if (!own)
        __atomic_fetch_add(&p->ringers, 1, __ATOMIC_RELAXED);
    /* pool-handed, pool-recalled, source-handed: publishes what is handed over, and
     * that nothing of its pool or source is touched after that. */
    __atomic_store_n(word, what, __ATOMIC_RELEASE);
    if (own)
        return;
    rgi_bell_ring((void *)(intptr_t)p->bell);
    /* ring-ringers: publishes that the bell is not needed any more. */
    __atomic_fetch_sub(&p->ringers, 1, __ATOMIC_RELEASE);
}

void
rgi_ring_await_ringers(struct rgi_ring_provider *p)
{
    /* ring-ringers: observes that all who have handed something over have rung. */
    while (__atomic_load_n(&p->ringers, __ATOMIC_ACQUIRE) != 0)
        sched_yield();
}

/* Thread: any. */
static void
pool_handed(struct rgi_taker *taker, uint32_t slot)
{
    struct rgi_ring_pool *pool =
        rgi_container_of(taker, struct rgi_ring_pool, taker);

    rgi_ring_hand(pool->provider, &pool->handed, UINT64_C(1) + slot);
}

/* Thread: any. We are a lender no more. */
static void
pool_recalled(struct rgi_taker *lender, uint32_t no_slot)
{
    struct rgi_ring_pool *pool =
        rgi_container_of(lender, struct rgi_ring_pool, lender);

    (void)no_slot;
    rgi_ring_hand(pool->provider, &pool->recalled, 1);
}

static uint32_t
lent_max_of(const struct rgi_ring_provider *p, const struct rgm_pool *pool)
{
    uint32_t share = rgm_pool_capacity(pool) / LENT_SHARE;

    if (p->lent_max != 0)
        return p->lent_max < rgm_pool_capacity(pool) ? p->lent_max
                                                     : rgm_pool_capacity(pool);
    return share < LENT_DEFAULT_MAX ? share : LENT_DEFAULT_MAX;
}

static void
pool_bind(struct rgi_ring_provider *p, struct rgi_ring_pool *pool,
          struct rgm_pool *slots, uint16_t group)
{
    rgi_buffers_open(&p->ring, slots, group, lent_max_of(p, slots),
                     &pool->buffers);
    pool->identity = rgi_pool_identity(slots);
    pool->unlent_reads = 0;
}

/* From there on they are receivers' (receive.c). */
#define GROUPS 32768u

static struct rgi_ring_pool *
pool_add(struct rgi_ring_provider *p, struct rgm_pool *slots)
{
    struct rgi_ring_pool *pool;

    if (p->pools_count == GROUPS)
        return NULL;
    pool = rgi_alloc(sizeof(*pool));
    if (pool == NULL)
        return NULL;
    pool->provider = p;
    pool->taker.hand = pool_handed;
    pool->lender.hand = pool_recalled;
    rgi_list_init(&pool->starved);
    pool_bind(p, pool, slots, p->pools_count++);
    pool->next = p->pools;
    p->pools = pool;
    return pool;
}

static struct rgi_ring_pool *
pool_find(struct rgi_ring_provider *p, struct rgm_pool *slots)
{
    struct rgi_ring_pool *pool = p->pools;

    while (pool != NULL && pool->buffers.pool != slots)
        pool = pool->next;
    if (pool == NULL)
        return pool_add(p, slots);
    /* Another pool may have been made where an older one was. */
    if (pool->identity != rgi_pool_identity(slots)) {
        rgi_assert(!pool->lends && !pool->in_line); /* it would be there yet */
        rgi_buffers_close(&p->ring, &pool->buffers);
        pool_bind(p, pool, slots, pool->buffers.group);
    }
    return pool;
}

/* ----------------------------------------------------------------- lending */

/* So many reads go by between two looks at a pool that had to recall. */
#define READS_PER_LOOK 64u

/* Once recalled, lending begins again when there is plenty. */
static bool
may_lend(struct rgi_ring_pool *pool)
{
    const struct rgm_pool *slots = pool->buffers.pool;

    if (pool->buffers.queue == NULL || pool->collects)
        return false;
    if (pool->buffers.enrolled)
        return !rgi_pool_is_hungry(slots);
    if (++pool->unlent_reads % READS_PER_LOOK != 0)
        return false;
    return !rgi_pool_is_hungry(slots) &&
           rgm_pool_free_count(slots) >= rgm_pool_capacity(slots) / 2;
}

/* Returns: whether slots may be lent, and will be recalled when needed. */
static bool
lends(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    if (pool->lends)
        return pool->buffers.enrolled;
    if (!may_lend(pool) || !rgi_buffers_enroll(&p->ring, &pool->buffers) ||
        rgi_pool_lend(pool->buffers.pool, &pool->lender) < 0)
        return false;
    pool->lends = true;
    if (!rgi_pool_is_hungry(pool->buffers.pool))
        return true;
    /* Who waited before has not looked at lenders since. */
    if (rgi_pool_unlend(pool->buffers.pool, &pool->lender)) {
        pool->lends = false;
        rgi_pool_unlent(pool->buffers.pool);
    }
    return false;
}

/* The kernel chooses no slot any more; what it has chosen is in completions. */
static void
lent_recall(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    p->head.pool_recalls++;
    rgi_buffers_recall(&p->ring, &pool->buffers);
    pool->collects = true;
}

/* The pool may be gone when this returns. */
static void
lent_home(struct rgi_ring_pool *pool)
{
    pool->collects = false;
    pool->lends = false;
    rgi_buffers_collect(&pool->buffers);
    rgi_pool_unlent(pool->buffers.pool);
}

/* Nobody recalls anything after this. A recall that has been claimed is on its
 * way, on a thread that does nothing in between. */
static void
end_recalls(struct rgi_ring_pool *pool)
{
    if (!pool->lends || pool->collects ||
        rgi_pool_unlend(pool->buffers.pool, &pool->lender))
        return;
    /* pool-recalled: observes that nothing more is touched. */
    while (__atomic_load_n(&pool->recalled, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
}

static void
lent_end(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    if (!pool->lends)
        return;
    end_recalls(pool);
    rgi_buffers_recall(&p->ring, &pool->buffers);
    lent_home(pool);
}

/* ----------------------------------------------------------------- hunger */

static void
starved_give(struct rgi_ring_provider *p, struct rgi_ring_pool *pool,
             uint32_t slot)
{
    struct rgm_operation *operation = rgi_ring_dequeue(p, &pool->starved);
    struct rgi_task *task = rgi_task_of(operation);

    task->slot = slot;
    task->has_slot = true;
    rgi_ring_go_on(p, operation, RGI_STEP_ATTEMPT);
}

static void
starved_fail(struct rgi_ring_provider *p, struct rgi_ring_pool *pool,
             int status)
{
    while (!rgi_list_empty(&pool->starved))
        rgi_ring_go_on(p, rgi_ring_dequeue(p, &pool->starved), status);
}

static void
pool_feed(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    uint32_t slot;

    while (!rgi_list_empty(&pool->starved) && !pool->in_line) {
        int status = rgi_pool_wait(pool->buffers.pool, &pool->taker, &slot);

        if (status == 0)
            starved_give(p, pool, slot);
        else if (status == -EAGAIN)
            pool->in_line = true;
        else
            starved_fail(p, pool, status);
    }
}

/* The first in line has it; if all were cancelled, whoever else waits. */
static void
take_handed(struct rgi_ring_provider *p, struct rgi_ring_pool *pool,
            uint32_t slot)
{
    int status = rgi_handed_status(slot);

    pool->in_line = false;
    if (status < 0)
        starved_fail(p, pool, status);
    else if (!rgi_list_empty(&pool->starved))
        starved_give(p, pool, slot);
    else
        rgi_pool_put_slot(pool->buffers.pool, slot);
}

/* Every completion that was posted has been looked at. */
static bool
all_is_seen(const struct rgi_ring_provider *p)
{
    return !rgi_ring_has_completions(&p->ring) &&
           !rgi_ring_has_overflow(&p->ring);
}

static void
feed_one(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    uint64_t handed;

    /* pool-handed: observes the slot, and what its last holder did. */
    handed = __atomic_exchange_n(&pool->handed, 0, __ATOMIC_ACQUIRE);
    if (handed != 0) {
        take_handed(p, pool, (uint32_t)(handed - 1));
        pool_feed(p, pool);
    }
    /* pool-recalled: observes that we are a lender no more. */
    if (__atomic_exchange_n(&pool->recalled, 0, __ATOMIC_ACQUIRE) != 0)
        lent_recall(p, pool);
    if (pool->collects && all_is_seen(p))
        lent_home(pool);
}

void
rgi_pooled_feed(struct rgi_ring_provider *p)
{
    for (struct rgi_ring_pool *pool = p->pools; pool != NULL; pool = pool->next)
        feed_one(p, pool);
}

void
rgi_pooled_starve(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    p->head.pool_waits++;
    rgi_ring_enqueue(p, &task->pool->starved, operation);
    pool_feed(p, task->pool);
}

void
rgi_pooled_fail(struct rgi_ring_provider *p, int status)
{
    for (struct rgi_ring_pool *pool = p->pools; pool != NULL; pool = pool->next)
        starved_fail(p, pool, status);
}

/* Nobody is in line for a slot any more. */
static void
leave_line(struct rgi_ring_pool *pool)
{
    if (pool->in_line && rgi_list_empty(&pool->starved) &&
        rgi_pool_leave(pool->buffers.pool, &pool->taker))
        pool->in_line = false;
}

/* What has been claimed for us is on its way, on a thread that does nothing in
 * between. */
static void
end_line(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    uint64_t handed;

    if (!pool->in_line)
        return;
    /* pool-handed: observes that the slot has come and nothing more is
     * touched. */
    while ((handed = __atomic_load_n(&pool->handed, __ATOMIC_ACQUIRE)) == 0)
        sched_yield();
    take_handed(p, pool, (uint32_t)(handed - 1));
}

/* What is lent stays where it is, and the pool with it: the kernel may write to
 * it. */
void
rgi_pooled_leave(struct rgi_ring_provider *p)
{
    for (struct rgi_ring_pool *pool = p->pools; pool != NULL;
         pool = pool->next) {
        end_line(p, pool);
        end_recalls(pool);
    }
}

void
rgi_pooled_close(struct rgi_ring_provider *p)
{
    struct rgi_ring_pool *pool;

    while ((pool = p->pools) != NULL) {
        p->pools = pool->next;
        rgi_assert(rgi_list_empty(&pool->starved));
        end_line(p, pool);
        lent_end(p, pool);
        rgi_buffers_close(&p->ring, &pool->buffers);
        rgi_free(pool);
    }
}

/* ---------------------------------------------------------------- the read */

int
rgi_pooled_begin(struct rgi_ring_provider *p, struct rgm_operation *operation,
                 struct rgm_pool *pool)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    task->pool = pool_find(p, pool);
    if (task->pool == NULL)
        return -ENOMEM;
    rgi_fixed_choose_socket(p, task);
    task->probes = true;
    return RGI_STEP_ATTEMPT;
}

static bool
take_slot(struct rgi_task *task)
{
    if (!task->has_slot &&
        rgi_pool_take_slot(task->pool->buffers.pool, &task->slot) == 0)
        task->has_slot = true;
    return task->has_slot;
}

bool
rgi_pooled_may_try(struct rgi_task *task)
{
    return task->has_slot || (task->probes && take_slot(task));
}

int
rgi_pooled_fetch(struct rgi_task *task)
{
    if (rgi_list_empty(&task->pool->starved) && take_slot(task))
        return RGI_STEP_ATTEMPT;
    return RGI_STEP_SLOT;
}

static void
prepare_own_slot(struct rgi_task *task, struct io_uring_sqe *entry)
{
    const struct rgi_buffers *buffers = &task->pool->buffers;

    entry->opcode = IORING_OP_RECV;
    entry->addr =
        (uint64_t)(uintptr_t)rgi_pool_slot_memory(buffers->pool, task->slot);
    entry->len = buffers->length_bytes;
    entry->msg_flags = MSG_DONTWAIT;
}

/* Where the kernel has none to choose from, trying would be in vain. */
static void
prepare_choice(struct rgi_task *task, struct io_uring_sqe *entry)
{
    struct rgi_buffers *buffers = &task->pool->buffers;

    task->chooses = true;
    rgi_buffers_lend(buffers, ++task->pool->choosing);
    if (buffers->lent == 0)
        task->probes = false;
    entry->opcode = IORING_OP_RECV;
    entry->flags = IOSQE_BUFFER_SELECT;
    entry->buf_group = buffers->group;
    if (!task->probes)
        entry->ioprio = IORING_RECVSEND_POLL_FIRST;
}

/* An attempt of its own when it has a slot; else one that picks a lent slot;
 * else, where nothing can be lent, one of its own, once, or only a look. */
void
rgi_pooled_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                   struct io_uring_sqe *entry)
{
    struct rgi_task *task = rgi_task_of(operation);

    entry->fd = task->fd;
    if (!task->has_slot && lends(p, task->pool))
        prepare_choice(task, entry);
    else if (rgi_pooled_may_try(task))
        prepare_own_slot(task, entry);
    else
        rgi_ring_poll(entry, task->fd, POLLIN);
}

/* Takes back the kernel's claim on a slot of the ring, and the slot if it took
 * one. What follows is the same for a slot the read brought itself. */
static void
end_choosing(struct rgi_task *task, uint32_t flags)
{
    if (!task->chooses)
        return;
    task->chooses = false;
    task->pool->choosing--;
    if (flags & IORING_CQE_F_BUFFER) {
        task->slot = rgi_buffers_take(&task->pool->buffers,
                                      flags >> IORING_CQE_BUFFER_SHIFT);
        task->has_slot = true;
    }
}

void
rgi_pooled_drop_slot(struct rgi_task *task)
{
    if (!task->has_slot)
        return;
    task->has_slot = false;
    rgi_pool_put_slot(task->pool->buffers.pool, task->slot);
}

void
rgi_pooled_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    (void)p;
    if (task->pool == NULL)
        return;
    rgi_pooled_drop_slot(task);
    leave_line(task->pool);
}

void
rgi_pooled_hand_over(struct rgi_task *task,
                     const struct rgm_operation *operation,
                     size_t length_bytes, struct rgm_lease *ret_lease)
{
    rgi_assert(task->has_slot);
    task->has_slot = false;
    rgi_pool_lease_of(task->pool->buffers.pool, task->slot, length_bytes,
                      ret_lease);
    rgi_pool_note(
        task->pool->buffers.pool, task->slot,
        &(struct rgi_holder){"read", operation->request.message.from.bits},
        RGM_SLOT_LEASED);
}

static void
deliver(struct rgm_read_pooled *read, struct rgi_task *task, int result)
{
    read->count = (size_t)result;
    read->end = result == 0;
    if (result == 0) {
        rgi_pooled_drop_slot(task);
        return;
    }
    rgi_pooled_hand_over(task, &read->operation, read->count, &read->lease);
}

/* The kernel found no lent slot. One that has not waited may have found no data
 * either: that is not worth standing in line for. */
static int
end_without_slot(struct rgi_task *task)
{
    int step = rgi_pooled_fetch(task);

    if (task->probes)
        step = RGI_STEP_ATTEMPT;
    task->probes = false;
    return step;
}

int
rgi_pooled_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
               int result, uint32_t flags)
{
    struct rgi_task *task = rgi_task_of(operation);
    bool looked = !task->chooses && !task->has_slot;
    bool chose = task->chooses;

    (void)p;
    end_choosing(task, flags);
    task->channel->more = (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
    if (result == -EINTR)
        return RGI_STEP_ATTEMPT;
    if (result == -EAGAIN) {
        rgi_pooled_drop_slot(task);
        task->probes = chose;
        return chose ? RGI_STEP_INPUT : RGI_STEP_ATTEMPT;
    }
    if (looked && result >= 0)
        return rgi_pooled_fetch(task);
    if (result == -ENOBUFS)
        return task->has_slot ? RGI_STEP_PAUSE : end_without_slot(task);
    if (result < 0)
        return result;
    deliver(rgi_read_pooled_of(operation), task, result);
    return 0;
}
