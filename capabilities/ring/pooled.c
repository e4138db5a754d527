/* SPDX-License-Identifier: MIT */

/*
 * pooled.c - when does a read that waits for data get a slot for it?
 *
 * 1. It waits in the kernel without one. A few slots are lent to the ring, no
 *    more than there are such reads; data that arrives takes one of them.
 * 2. When none is left the kernel says ENOBUFS. There is data, so the read gets
 *    a slot of its own from the pool and an attempt that does not wait. Should
 *    the data be gone the slot goes back, and 1 again.
 * 3. When the pool has none either, the read stands in line and the ring leaves
 *    its mark in the pool, which wakes it when a slot comes home.
 *
 * So a connection that waits holds nothing, and a pool of one slot serves any
 * number of them. The only thing shared with other threads is the wake: two
 * flags and the bell.
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

/* Thread: any. Called by the pool, which must not be used here. */
static void
pool_wake(void *argument)
{
    struct rgi_ring_pool *pool = argument;
    struct rgi_ring_provider *p = pool->provider;
    int bell = p->bell;
    bool own = rgi_ring_is_mine(&p->ring);

    /* pool-fed: publishes to the provider that its mark is gone. After that
     * the provider may be closed; the bell is the worker's and stays. */
    __atomic_store_n(&pool->fed, 1, __ATOMIC_RELEASE);
    if (!own)
        rgi_bell_ring((void *)(intptr_t)bell);
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
    rgi_pool_watch(slots, p->worker, pool_wake, pool);
}

static struct rgi_ring_pool *
pool_add(struct rgi_ring_provider *p, struct rgm_pool *slots)
{
    struct rgi_ring_pool *pool;

    if (p->pools_count == UINT16_MAX)
        return NULL;
    pool = rgi_alloc(sizeof(*pool));
    if (pool == NULL)
        return NULL;
    pool->provider = p;
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
    if (!rgi_pool_is_watched_by(slots, p->worker, pool)) {
        rgi_buffers_close(&p->ring, &pool->buffers);
        pool_bind(p, pool, slots, pool->buffers.group);
    }
    return pool;
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

/* The order of leases/pool.h: mark, look once more, sleep. */
static void
pool_feed(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    uint32_t slot;

    while (!rgi_list_empty(&pool->starved)) {
        int status = rgi_pool_take_slot(pool->buffers.pool, &slot);

        if (status == 0) {
            starved_give(p, pool, slot);
        } else if (status == -EPIPE) {
            starved_fail(p, pool, status);
        } else if (!pool->hungry) {
            pool->hungry = true;
            rgi_pool_hungry(pool->buffers.pool, p->worker);
        } else {
            return;
        }
    }
    if (pool->hungry && rgi_pool_sated(pool->buffers.pool, p->worker))
        pool->hungry = false;
}

void
rgi_pooled_feed(struct rgi_ring_provider *p)
{
    for (struct rgi_ring_pool *pool = p->pools; pool != NULL;
         pool = pool->next) {
        /* pool-fed: observes from the pool that our mark is gone. */
        if (__atomic_exchange_n(&pool->fed, 0, __ATOMIC_ACQUIRE) == 0)
            continue;
        pool->hungry = false;
        pool_feed(p, pool);
    }
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

/* A mark that a slot has claimed is a wake that is on its way, on a thread that
 * does nothing in between. */
static void
pool_end_hunger(struct rgi_ring_provider *p, struct rgi_ring_pool *pool)
{
    if (!pool->hungry || rgi_pool_sated(pool->buffers.pool, p->worker))
        return;
    /* pool-fed: observes that the wake has come and touches nothing more. */
    while (__atomic_load_n(&pool->fed, __ATOMIC_ACQUIRE) == 0)
        sched_yield();
}

void
rgi_pooled_leave(struct rgi_ring_provider *p)
{
    for (struct rgi_ring_pool *pool = p->pools; pool != NULL; pool = pool->next)
        pool_end_hunger(p, pool);
}

void
rgi_pooled_close(struct rgi_ring_provider *p)
{
    struct rgi_ring_pool *pool;

    while ((pool = p->pools) != NULL) {
        p->pools = pool->next;
        rgi_assert(rgi_list_empty(&pool->starved));
        pool_end_hunger(p, pool);
        rgi_buffers_close(&p->ring, &pool->buffers);
        rgi_free(pool);
    }
}

/* ---------------------------------------------------------------- the read */

int
rgi_pooled_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    task->pool = pool_find(p, rgi_read_pooled_of(operation)->pool);
    return task->pool != NULL ? RGI_STEP_ATTEMPT : -ENOMEM;
}

static void
prepare_own_slot(struct rgi_task *task, struct io_uring_sqe *entry)
{
    const struct rgi_buffers *buffers = &task->pool->buffers;

    entry->addr =
        (uint64_t)(uintptr_t)rgi_pool_slot_memory(buffers->pool, task->slot);
    entry->len = buffers->length_bytes;
    entry->msg_flags = MSG_DONTWAIT;
}

/* An attempt of its own when it has a slot; else one that picks a lent slot;
 * else, where nothing can be lent, only a look. */
void
rgi_pooled_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                   struct io_uring_sqe *entry)
{
    struct rgi_task *task = rgi_task_of(operation);
    struct rgi_buffers *buffers = &task->pool->buffers;

    (void)p;
    entry->fd = task->fd;
    entry->opcode = IORING_OP_RECV;
    if (task->has_slot) {
        prepare_own_slot(task, entry);
    } else if (buffers->queue != NULL) {
        task->chooses = true;
        rgi_buffers_lend(buffers, ++task->pool->choosing);
        entry->flags = IOSQE_BUFFER_SELECT;
        entry->buf_group = buffers->group;
        if (!task->channel->more)
            entry->ioprio = IORING_RECVSEND_POLL_FIRST;
    } else {
        rgi_ring_poll(entry, task->fd, POLLIN);
    }
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

static void
drop_slot(struct rgi_task *task)
{
    if (!task->has_slot)
        return;
    task->has_slot = false;
    rgi_pool_put_slot(task->pool->buffers.pool, task->slot);
}

void
rgi_pooled_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    (void)p;
    drop_slot(rgi_task_of(operation));
}

static void
deliver(struct rgm_read_pooled *read, struct rgi_task *task, int result)
{
    read->count = (size_t)result;
    read->end = result == 0;
    if (result == 0) {
        drop_slot(task);
        return;
    }
    rgi_assert(task->has_slot);
    task->has_slot = false;
    rgi_pool_lease_of(task->pool->buffers.pool, task->slot, read->count,
                      &read->lease);
}

int
rgi_pooled_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
               int result, uint32_t flags)
{
    struct rgi_task *task = rgi_task_of(operation);
    bool looked = !task->chooses && !task->has_slot;

    (void)p;
    end_choosing(task, flags);
    task->channel->more = (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
    if (result == -ENOBUFS || (looked && result >= 0))
        return task->has_slot ? RGI_STEP_PAUSE : RGI_STEP_SLOT;
    if (result == -EINTR || result == -EAGAIN) {
        drop_slot(task);
        return result == -EINTR ? RGI_STEP_ATTEMPT : RGI_STEP_INPUT;
    }
    if (result < 0)
        return result;
    deliver(rgi_read_pooled_of(operation), task, result);
    return 0;
}
