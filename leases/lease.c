/* SPDX-License-Identifier: MIT */

/*
 * lease.c - who is the one writer of a slot?
 *
 * 1. Acquire takes a free slot and notes the slot's stamp in the lease.
 * 2. Truncate shortens what the lease shows. The slot keeps its size.
 * 3. Freeze ends the lease and starts the slot's count of views at one; the
 *    slot goes home when view.c has counted down to zero.
 * 4. Drop ends the lease and brings the slot home.
 *
 * Ending a lease advances the stamp. A copy of the struct left behind by a move
 * has the old stamp and is refused. This is a courtesy to a program with a
 * mistake, not a lock: two copies used at the same moment on two threads are
 * beyond it, and so is a copy used after the pool's memory has gone.
 */

#include <errno.h>

#include "base/assert.h"
#include "base/ck.h"
#include "base/list.h"
#include "leases/parts.h"
#include "leases/poison.h"

static struct rgi_slot *
slot_of(const struct rgm_lease *lease)
{
    return rgi_container_of(lease->block, struct rgi_slot, block);
}

static uint32_t
slot_stamp(const struct rgi_slot *slot)
{
    /* slot-stamp: observes from the lease's own thread, or for a stale copy
     * from any, that the lease has ended. */
    return ck_pr_load_32(&slot->stamp);
}

static void
make_lease(struct rgm_pool *pool, uint32_t index, size_t length_bytes,
           struct rgm_lease *ret_lease)
{
    struct rgi_slot *slot = &pool->slots[index];

    ret_lease->data = rgi_pool_slot_memory(pool, index);
    ret_lease->length_bytes = length_bytes;
    ret_lease->block = &slot->block;
    ret_lease->stamp = slot_stamp(slot);
    rgi_slot_note_caller(slot);
    rgi_unpoison(ret_lease->data, length_bytes);
}

int
rgm_pool_try_acquire(struct rgm_pool *pool, struct rgm_lease *ret_lease)
{
    uint32_t index;
    int status;

    status = rgi_pool_take_slot(pool, &index);
    if (status < 0)
        return status;
    make_lease(pool, index, pool->slot_size_bytes, ret_lease);
    return 0;
}

void
rgi_pool_lease_of(struct rgm_pool *pool, uint32_t index, size_t length_bytes,
                  struct rgm_lease *ret_lease)
{
    rgi_assert(index < pool->slots_count);
    rgi_assert(length_bytes <= pool->slot_size_bytes);
    make_lease(pool, index, length_bytes, ret_lease);
}

bool
rgm_lease_active(const struct rgm_lease *lease)
{
    return lease->block != NULL && slot_stamp(slot_of(lease)) == lease->stamp;
}

int
rgm_lease_truncate(struct rgm_lease *lease, size_t length_bytes)
{
    if (!rgm_lease_active(lease) || length_bytes > lease->length_bytes)
        return -EINVAL;
    rgi_poison((char *)lease->data + length_bytes,
               lease->length_bytes - length_bytes);
    lease->length_bytes = length_bytes;
    return 0;
}

/* The one writer is none now: every copy of the lease is stale. */
static void
end_lease(struct rgm_lease *lease)
{
    struct rgi_slot *slot = slot_of(lease);

    /* slot-stamp: publishes the end to copies of the lease; the next lessee gets
     * it with the slot, or with the view it was frozen to. */
    ck_pr_store_32(&slot->stamp, lease->stamp + 1);
    *lease = (struct rgm_lease){NULL, 0, NULL, 0};
}

int
rgm_lease_freeze(struct rgm_lease *lease, struct rgm_view *ret_view)
{
    struct rgm_view view = {lease->data, lease->length_bytes, lease->block};

    if (!rgm_lease_active(lease))
        return -EINVAL;
    end_lease(lease);
    /* block-references: publishes nothing yet: whatever hands the view to
     * another thread carries this store with it. */
    ck_pr_store_32(&view.block->references, 1);
    *ret_view = view;
    return 0;
}

int
rgm_lease_drop(struct rgm_lease *lease)
{
    struct rgi_slot *slot;

    if (lease == NULL || lease->block == NULL)
        return 0;
    if (!rgm_lease_active(lease)) {
        *lease = (struct rgm_lease){NULL, 0, NULL, 0};
        return -EINVAL;
    }
    slot = slot_of(lease);
    end_lease(lease);
    rgi_pool_put_slot(slot->pool, slot->index);
    return 0;
}
