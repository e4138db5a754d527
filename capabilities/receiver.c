/* SPDX-License-Identifier: MIT */

/* receiver.c - how are a receiver and the requests to it prepared? */

#include "capabilities/receiver.h"

#include <errno.h>

#include "capabilities/operation.h"

RGI_OPERATION_TYPE(receiver, rgm_receiver, 1);
RGI_OPERATION_TYPE(received, rgm_received, 1);

void
rgm_stream_receive(struct rgm_receiver *receiver, struct rgm_stream *stream,
                   struct rgm_pool *pool)
{
    rgi_operation_prepare_on(
        &receiver->operation, RGM_OP_RECEIVE, &rgi_type_receiver,
        stream != NULL ? &stream->socket.worker : NULL, sizeof(*receiver));
    receiver->stream = stream;
    receiver->pool = pool;
    receiver->worker = receiver->request.message.to;
    if (pool == NULL)
        rgi_operation_refuse(&receiver->operation, -EINVAL);
}

void
rgm_receiver_next(struct rgm_received *received, struct rgm_receiver *receiver)
{
    rgi_operation_prepare_on(
        &received->operation, RGM_OP_RECEIVE_NEXT, &rgi_type_received,
        receiver != NULL ? &receiver->worker : NULL, sizeof(*received));
    received->receiver = receiver;
}

void
rgi_receiver_clear(struct rgm_operation *operation)
{
    struct rgm_received *received = rgi_received_of(operation);

    if (operation->kind == RGM_OP_RECEIVE) {
        rgi_receiver_of(operation)->queued_max = 0;
        return;
    }
    received->view = (struct rgm_view){NULL, 0, NULL};
    received->count = 0;
    received->end = false;
}
