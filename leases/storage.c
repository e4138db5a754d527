/* SPDX-License-Identifier: MIT */

/*
 * storage.c - where is the memory of a slot that is not in a slab?
 *
 * 1. Whoever has a slot's bit in hand has the slot's number, and with it the
 *    entry in `memories`, to himself. Nothing else is to be ordered here.
 * 2. A slot that is taken obtains its memory from the storage. Where that fails
 *    the slot is brought home again, as any other.
 * 3. A slot that comes home gives its memory up before its bit is published, so
 *    the storage is never asked for a slot whose memory is out. When somebody
 *    waits the memory goes along with the slot instead.
 *
 * A slot that was on its way to be free when somebody began to wait has no memory
 * any more and is filled anew; so a wait can end for lack of memory, too.
 */

#include <errno.h>

#include "base/assert.h"
#include "leases/parts.h"
#include "leases/poison.h"

int
rgi_slot_obtain(struct rgm_pool *pool, uint32_t index)
{
    void *memory = NULL;

    if (pool->memories[index] != NULL)
        return 0;
    if (pool->storage->obtain(pool->storage, index, pool->slot_size_bytes,
                              pool->alignment_bytes, &memory) < 0)
        return -ENOMEM;
    rgi_assert(memory != NULL);
    rgi_assert((uintptr_t)memory % pool->alignment_bytes == 0);
    rgi_poison(memory, pool->slot_size_bytes);
    pool->memories[index] = memory;
    return 0;
}

void
rgi_slot_give_up(struct rgm_pool *pool, uint32_t index)
{
    void *memory = pool->memories[index];

    if (memory == NULL)
        return;
    pool->memories[index] = NULL;
    rgi_unpoison(memory, pool->slot_size_bytes);
    pool->storage->release(pool->storage, index, memory);
}
