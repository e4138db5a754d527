/* SPDX-License-Identifier: MIT */

/*
 * datagram.c - when does a packet socket get a slot for what it reads?
 *
 * 1. It takes one, if one is free, just before it tries, once.
 * 2. Nothing there: the slot goes back, and only then is waited.
 * 3. Something there: it takes one again, or stands in line for it (pooled.c).
 *
 * None is lent to the kernel: where it chose a slot it would have to lay header
 * and address in it, in front of the bytes.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <poll.h>

#include "base/assert.h"
#include "capabilities/datagram.h"

static int
pooled_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    return rgi_pooled_begin(p, operation, rgi_datagram_of(operation)->pool);
}

static void
pooled_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
               struct io_uring_sqe *entry)
{
    struct rgm_packet_read_pooled *read = rgi_datagram_of(operation);
    struct rgi_task *task = rgi_task_of(operation);
    const struct rgi_buffers *buffers = &task->pool->buffers;

    (void)p;
    if (!rgi_pooled_may_try(task)) {
        rgi_ring_poll(entry, task->fd, POLLIN);
        return;
    }
    entry->opcode = IORING_OP_RECVMSG;
    entry->fd = task->fd;
    entry->addr = (uint64_t)(uintptr_t)rgi_datagram_header(
        read, rgi_pool_slot_memory(buffers->pool, task->slot),
        buffers->length_bytes);
    entry->len = 1;
    entry->msg_flags = (uint32_t)rgi_datagram_flags(read);
}

static void
deliver(struct rgm_packet_read_pooled *read, struct rgi_task *task,
        size_t length_bytes)
{
    rgi_datagram_done(read, length_bytes);
    if (read->count == 0) {
        rgi_pooled_drop_slot(task);
        return;
    }
    rgi_pooled_hand_over(task, &read->operation, read->count, &read->lease);
}

static int
pooled_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
           int result, uint32_t flags)
{
    struct rgi_task *task = rgi_task_of(operation);

    (void)p;
    (void)flags;
    if (!task->has_slot) { /* it was a look */
        if (result == -EINTR || result == -EAGAIN)
            return RGI_STEP_ATTEMPT;
        return result < 0 ? result : rgi_pooled_fetch(task);
    }
    switch (result) {
    case -EAGAIN:
        task->probes = false;
        rgi_pooled_drop_slot(task);
        return RGI_STEP_ATTEMPT;
    case -EINTR:
        return RGI_STEP_ATTEMPT;
    case -ENOBUFS: /* the machine's trouble, for the moment */
    case -ENOMEM:
        rgi_pooled_drop_slot(task);
        return RGI_STEP_PAUSE;
    default:
        break;
    }
    if (result < 0)
        return result;
    deliver(rgi_datagram_of(operation), task, (size_t)result);
    return 0;
}

const struct rgi_ring_kind rgi_ring_packet_pooled = {
    pooled_begin, pooled_prepare, pooled_end, rgi_pooled_undo};
