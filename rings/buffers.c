/* SPDX-License-Identifier: MIT */

/*
 * buffers.c - which of a pool's slots are lent to a ring?
 *
 * A buffer's number is a place in two tables of ours: `slots` says which slot
 * lies behind it, `free_ids` which numbers name nothing at the moment. The
 * kernel takes buffers in the order they were lent and gives them back in any.
 *
 * The queue belongs to the kernel, which alone knows how far it has read, so a
 * buffer cannot be taken out of it. Taking them back is taking the whole queue
 * back: a receive that comes later finds no queue, which is as good as an empty
 * one. What receives had taken by then is in completions, posted before the
 * call returned, because receives choose a buffer when they are carried out, on
 * the ring's own thread, and not while they wait.
 */

#include "rings/buffers.h"

#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"

#define NO_SLOT UINT32_MAX
#define PLACES_MAX 32768u           /* the kernel's own limit */
#define LENGTH_MAX_BYTES (1u << 30) /* a result must fit an int */

static uint32_t
power_of_two_from(uint32_t value)
{
    uint32_t power = 1;

    while (power < value)
        power *= 2;
    return power;
}

static bool
allocate(struct rgi_buffers *buffers)
{
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);

    buffers->queue = rgi_alloc_aligned(
        page_bytes, buffers->places * sizeof(struct io_uring_buf));
    buffers->slots = rgi_alloc(buffers->places * sizeof(*buffers->slots));
    buffers->free_ids = rgi_alloc(buffers->places * sizeof(*buffers->free_ids));
    return buffers->queue != NULL && buffers->slots != NULL &&
           buffers->free_ids != NULL;
}

static void
release(struct rgi_buffers *buffers)
{
    rgi_free(buffers->queue);
    rgi_free(buffers->slots);
    rgi_free(buffers->free_ids);
    buffers->queue = NULL;
    buffers->slots = NULL;
    buffers->free_ids = NULL;
}

static int
enroll(struct rgi_ring *ring, struct rgi_buffers *buffers)
{
    struct io_uring_buf_reg request;

    memset(&request, 0, sizeof(request));
    request.ring_addr = (uint64_t)(uintptr_t)buffers->queue;
    request.ring_entries = buffers->places;
    request.bgid = buffers->group;
    return ring->calls->enroll((unsigned)ring->uring.ring_fd,
                               IORING_REGISTER_PBUF_RING, &request, 1);
}

static void
withdraw(struct rgi_ring *ring, const struct rgi_buffers *buffers)
{
    struct io_uring_buf_reg request;

    memset(&request, 0, sizeof(request));
    request.bgid = buffers->group;
    (void)ring->calls->enroll((unsigned)ring->uring.ring_fd,
                              IORING_UNREGISTER_PBUF_RING, &request, 1);
}

/* No number names anything, and the kernel finds an empty queue. */
static void
reset(struct rgi_buffers *buffers)
{
    memset(buffers->queue, 0, buffers->places * sizeof(struct io_uring_buf));
    buffers->tail = 0;
    buffers->lent = 0;
    for (uint32_t i = 0; i < buffers->places; i++) {
        buffers->slots[i] = NO_SLOT;
        buffers->free_ids[i] = (uint16_t)i;
    }
}

void
rgi_buffers_open(struct rgi_ring *ring, struct rgm_pool *pool, uint16_t group,
                 uint32_t lent_max, struct rgi_buffers *buffers)
{
    size_t length_bytes = rgm_pool_slot_size(pool);

    memset(buffers, 0, sizeof(*buffers));
    buffers->pool = pool;
    buffers->group = group;
    buffers->lent_max = lent_max < PLACES_MAX ? lent_max : PLACES_MAX;
    buffers->places = power_of_two_from(buffers->lent_max);
    buffers->length_bytes = length_bytes < LENGTH_MAX_BYTES
                                ? (uint32_t)length_bytes
                                : LENGTH_MAX_BYTES;
    if (lent_max == 0)
        return;
    if (!allocate(buffers)) {
        release(buffers);
        return;
    }
    reset(buffers);
    if (!rgi_buffers_enroll(ring, buffers))
        release(buffers);
}

bool
rgi_buffers_enroll(struct rgi_ring *ring, struct rgi_buffers *buffers)
{
    if (!buffers->enrolled && buffers->queue != NULL && buffers->lent == 0)
        buffers->enrolled = enroll(ring, buffers) >= 0;
    return buffers->enrolled;
}

void
rgi_buffers_recall(struct rgi_ring *ring, struct rgi_buffers *buffers)
{
    if (buffers->enrolled)
        withdraw(ring, buffers);
    buffers->enrolled = false;
}

void
rgi_buffers_collect(struct rgi_buffers *buffers)
{
    rgi_assert(!buffers->enrolled);
    if (buffers->queue == NULL)
        return;
    for (uint32_t i = 0; i < buffers->places; i++)
        if (buffers->slots[i] != NO_SLOT)
            rgi_pool_put_slot(buffers->pool, buffers->slots[i]);
    reset(buffers);
}

void
rgi_buffers_close(struct rgi_ring *ring, struct rgi_buffers *buffers)
{
    rgi_buffers_recall(ring, buffers);
    rgi_buffers_collect(buffers);
    release(buffers);
}

static const struct rgi_holder the_ring = {.name = "ring", .who = 0};

static void
lend_one(struct rgi_buffers *buffers, uint32_t slot)
{
    uint16_t id = buffers->free_ids[buffers->places - ++buffers->lent];
    struct io_uring_buf *place =
        &buffers->queue->bufs[buffers->tail & (buffers->places - 1)];

    rgi_assert(buffers->slots[id] == NO_SLOT);
    rgi_pool_note(buffers->pool, slot, &the_ring, RGM_SLOT_LENT);
    buffers->slots[id] = slot;
    place->addr =
        (uint64_t)(uintptr_t)rgi_pool_slot_memory(buffers->pool, slot);
    place->len = buffers->length_bytes;
    place->bid = id;
    buffers->tail++;
}

static void
publish(struct rgi_buffers *buffers)
{
    /* buffers-tail: publishes the places to the kernel. */
    __atomic_store_n(&buffers->queue->tail, buffers->tail, __ATOMIC_RELEASE);
}

void
rgi_buffers_lend(struct rgi_buffers *buffers, uint32_t wanted)
{
    uint16_t tail = buffers->tail;
    uint32_t slot;

    if (!buffers->enrolled)
        return;
    if (wanted > buffers->lent_max)
        wanted = buffers->lent_max;
    while (buffers->lent < wanted &&
           rgi_pool_take_slot(buffers->pool, &slot) == 0)
        lend_one(buffers, slot);
    if (tail != buffers->tail)
        publish(buffers);
}

void
rgi_buffers_give(struct rgi_buffers *buffers, uint32_t slot)
{
    rgi_assert(buffers->enrolled && buffers->lent < buffers->lent_max);
    lend_one(buffers, slot);
    publish(buffers);
}

uint32_t
rgi_buffers_take(struct rgi_buffers *buffers, uint32_t id)
{
    uint32_t slot;

    rgi_assert(id < buffers->places && buffers->slots[id] != NO_SLOT);
    slot = buffers->slots[id];
    buffers->slots[id] = NO_SLOT;
    buffers->free_ids[buffers->places - buffers->lent--] = (uint16_t)id;
    return slot;
}
