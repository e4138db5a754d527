/* SPDX-License-Identifier: MIT */

/*
 * detach.c - how does a socket get from one worker to another?
 *
 * 1. A detach is admitted like a close: nothing else may use the socket, and
 *    nothing more is admitted. Its provider forgets the descriptor, which is in
 *    transit from then on (transit.h); the handle is emptied when it completes.
 * 2. The value says which descriptor, and by which serial it is to be claimed.
 * 3. An attach fills a handle like an accept: its provider claims the
 *    descriptor and remembers it as one of its own.
 */

#include "capabilities/detach.h"

#include <errno.h>
#include <string.h>

#include "capabilities/stream.h"
#include "capabilities/transit.h"

const struct rgm_message_type rgi_type_detach = {
    .name = "rgm_detach",
    .size_bytes = sizeof(struct rgm_detach),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
};

const struct rgm_message_type rgi_type_attach = {
    .name = "rgm_attach",
    .size_bytes = sizeof(struct rgm_attach),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
};

static void
detach_prepare(struct rgm_detach *detach, struct rgm_socket *socket)
{
    struct rgm_address where = {0};

    if (socket != NULL)
        where = socket->worker;
    rgi_operation_prepare(&detach->operation, RGM_OP_DETACH, &rgi_type_detach,
                          where);
    detach->socket = socket;
    if (socket == NULL)
        rgi_operation_refuse(&detach->operation, -EINVAL);
    else if (where.bits == 0)
        rgi_operation_refuse(&detach->operation, -EBADF);
}

void
rgm_stream_detach(struct rgm_detach *detach, struct rgm_stream *stream)
{
    detach_prepare(detach, stream == NULL ? NULL : &stream->socket);
}

void
rgm_listener_detach(struct rgm_detach *detach, struct rgm_listener *listener)
{
    detach_prepare(detach, listener == NULL ? NULL : &listener->socket);
}

static void
attach_prepare(struct rgm_attach *attach, struct rgm_address where,
               struct rgm_socket *socket, struct rgm_detached *detached,
               enum rgi_socket_kind kind)
{
    static const struct rgm_detached nothing;
    struct rgm_detached taken = detached != NULL ? *detached : nothing;

    rgi_operation_prepare(&attach->operation, RGM_OP_ATTACH, &rgi_type_attach,
                          where);
    attach->socket = socket;
    attach->detached = taken;
    if (detached != NULL)
        *detached = nothing;
    if (socket == NULL || detached == NULL)
        rgi_operation_refuse(&attach->operation, -EINVAL);
    else if (taken.serial == 0)
        rgi_operation_refuse(&attach->operation, -EBADF);
    else if (taken.kind != kind)
        rgi_operation_refuse(&attach->operation, -EINVAL);
}

void
rgm_stream_attach(struct rgm_attach *attach, struct rgm_address where,
                  struct rgm_stream *stream, struct rgm_detached *detached)
{
    attach_prepare(attach, where, stream == NULL ? NULL : &stream->socket,
                   detached, RGI_SOCKET_STREAM);
}

void
rgm_listener_attach(struct rgm_attach *attach, struct rgm_address where,
                    struct rgm_listener *listener,
                    struct rgm_detached *detached)
{
    attach_prepare(attach, where, listener == NULL ? NULL : &listener->socket,
                   detached, RGI_SOCKET_LISTENER);
}

void
rgi_detach_clear(struct rgm_operation *operation)
{
    struct rgm_detached *detached = &rgi_detach_of(operation)->detached;
    struct rgm_detached nothing = {.origin = detached->origin};

    *detached = nothing;
}

int
rgi_detach_let_go(struct rgm_operation *operation, int descriptor)
{
    struct rgm_detach *detach = rgi_detach_of(operation);
    struct rgm_detached *detached = &detach->detached;
    int status = 0;

    if (descriptor == RGI_DETACH_NOTHING)
        detached->serial = RGI_TRANSIT_SCRIPTED;
    else
        status = rgi_transit_enter(detached->origin, descriptor,
                                   &detached->serial);
    detached->resource = descriptor;
    detached->kind = detach->socket->kind;
    return status;
}

int
rgi_attach_claim(const struct rgm_operation *operation)
{
    const struct rgm_detached *detached =
        &((const struct rgm_attach *)(const void *)operation)->detached;

    return rgi_transit_claim(detached->resource, detached->serial)
               ? detached->resource
               : -EBADF;
}

uint8_t
rgi_attach_filled(struct rgm_operation *operation)
{
    struct rgm_detached *detached = &rgi_attach_of(operation)->detached;
    struct rgm_detached rest = {.unread = detached->unread};
    uint8_t kind = detached->kind;

    *detached = rest;
    return kind;
}
