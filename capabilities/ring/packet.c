/* SPDX-License-Identifier: MIT */

/*
 * packet.c - how does a ring carry out operations on packet sockets?
 *
 * One entry for a datagram, tried at once: polling first would cost as much
 * again whenever one is there already. What comes is delivered; nothing is
 * repeated after a byte of it was taken.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>

#include "capabilities/packet.h"

static int
open_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    int fd = -1;
    int status;

    task->channel = rgi_channel_take(&p->channels);
    if (task->channel == NULL)
        return -ENOMEM;
    status = rgi_packet_open(rgi_packet_open_of(operation),
                             RGI_SOCKET_BLOCKING, &fd);
    if (status < 0) {
        rgi_channel_give(&p->channels, task->channel);
        return status;
    }
    task->channel->fd = fd;
    rgi_stream_fill(operation, rgi_channel_resource(task->channel));
    return 0;
}

static int
message_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    rgi_fixed_choose_socket(p, rgi_task_of(operation));
    return RGI_STEP_ATTEMPT;
}

static void
message_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                struct io_uring_sqe *entry)
{
    (void)p;
    entry->opcode = operation->kind == RGM_OP_PACKET_READ ? IORING_OP_RECVMSG
                                                          : IORING_OP_SENDMSG;
    entry->fd = rgi_task_of(operation)->fd;
    entry->addr = (uint64_t)(uintptr_t)rgi_packet_header(operation);
    entry->len = 1;
    entry->msg_flags = (uint32_t)rgi_packet_flags(operation);
}

static int
message_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
            int result, uint32_t flags)
{
    bool reads = operation->kind == RGM_OP_PACKET_READ;

    (void)p;
    (void)flags;
    if (result >= 0) {
        rgi_packet_done(operation, (size_t)result);
        return 0;
    }
    switch (result) {
    case -EINTR:
        return RGI_STEP_ATTEMPT;
    case -EAGAIN:
        return reads ? RGI_STEP_INPUT : RGI_STEP_OUTPUT;
    case -ENOBUFS: /* the machine's trouble, for the moment */
    case -ENOMEM:
        return RGI_STEP_PAUSE;
    default:
        return result;
    }
}

const struct rgi_ring_kind rgi_ring_packet_kinds[RGI_PACKET_KINDS] = {
    {open_begin, NULL, NULL, NULL},
    {message_begin, message_prepare, message_end, NULL},
    {message_begin, message_prepare, message_end, NULL},
};
