/* SPDX-License-Identifier: MIT */

/*
 * slots.c - which actor is an address?
 *
 * A worker's table of slots, in chunks that never move. Each slot counts
 * generations: an address is good while its generation is the slot's. A slot
 * whose generations are used up is never used again. Slot 0 stands for the
 * worker itself.
 *
 * Free slots form a list, last freed first; a slot's number and generation
 * never name two actors.
 */

#include "actors/worker.h"

#include "base/memory.h"

#define CHUNKS (RGI_SLOTS_MAX / RGI_SLOT_CHUNK)

int
rgi_slots_init(struct rgi_slots *slots)
{
    slots->chunks = rgi_alloc(CHUNKS * sizeof(*slots->chunks));
    if (slots->chunks == NULL)
        return -ENOMEM;
    slots->last = 0;
    slots->generation_start = 1;
    return 0;
}

void
rgi_slots_deinit(struct rgi_slots *slots)
{
    if (slots->chunks == NULL)
        return;
    for (uint32_t i = 0; i < CHUNKS && slots->chunks[i] != NULL; i++)
        rgi_free(slots->chunks[i]);
    rgi_free(slots->chunks);
    slots->chunks = NULL;
}

/* A slot that was never used, or NULL. */
static struct rgi_slot *
slot_new(struct rgi_slots *slots, uint32_t *ret_index)
{
    uint32_t index = slots->last + 1;
    struct rgi_slot **chunk;
    struct rgi_slot *slot;

    if (index == RGI_SLOTS_MAX)
        return NULL;
    chunk = &slots->chunks[index / RGI_SLOT_CHUNK];
    if (*chunk == NULL)
        *chunk = rgi_alloc(RGI_SLOT_CHUNK * sizeof(**chunk));
    if (*chunk == NULL)
        return NULL;
    slots->last = index;
    slot = &(*chunk)[index % RGI_SLOT_CHUNK];
    slot->generation = slots->generation_start;
    *ret_index = index;
    return slot;
}

int
rgi_slots_take(struct rgi_slots *slots, struct rgi_slot **ret_slot,
               uint32_t *ret_index)
{
    uint32_t index = slots->first_free;
    struct rgi_slot *slot;

    if (index != 0) {
        slot = rgi_slot_at(slots, index);
        slots->first_free = (uint32_t)slot->u.next_free;
    } else {
        slot = slot_new(slots, &index);
        if (slot == NULL)
            return -ENOMEM;
    }
    rgi_assert(slot->state == RGI_SLOT_FREE);
    slot->u.actor = NULL;
    slot->stop_waits = 0;
    slot->watched = 0;
    *ret_slot = slot;
    *ret_index = index;
    return 0;
}

void
rgi_slots_release(struct rgi_slots *slots, uint32_t index, bool used)
{
    struct rgi_slot *slot = rgi_slot_at(slots, index);

    if (used && slot->generation == RGI_GENERATION_MAX) {
        slot->state = RGI_SLOT_SPENT;
        slot->generation = 0; /* no address has it */
        return;
    }
    if (used)
        slot->generation++;
    slot->state = RGI_SLOT_FREE;
    slot->u.next_free = slots->first_free;
    slots->first_free = index;
}
