/* SPDX-License-Identifier: MIT */

/*
 * command.c - how is a command for somebody else's operation prepared?
 *
 * It is a request to the worker that carries the operation out, which applies
 * it itself: actors/commands.c.
 */

#include <ringmail/identity.h>

#include <errno.h>

#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_cancellation = {
    .name = "rgm_cancellation",
    .size_bytes = sizeof(struct rgm_cancellation),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
};

const struct rgm_message_type rgi_type_retiming = {
    .name = "rgm_retiming",
    .size_bytes = sizeof(struct rgm_retiming),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
};

void
rgm_cancel_identity(struct rgm_cancellation *cancellation,
                    struct rgm_identity identity)
{
    rgi_operation_prepare(&cancellation->operation, RGM_OP_CANCEL,
                          &rgi_type_cancellation, identity.where);
    cancellation->identity = identity;
    if (identity.number == 0)
        rgi_operation_refuse(&cancellation->operation, -EINVAL);
}

void
rgm_retime_identity(struct rgm_retiming *retiming,
                    struct rgm_identity identity, uint64_t deadline_ns)
{
    rgi_operation_prepare(&retiming->operation, RGM_OP_RETIME,
                          &rgi_type_retiming, identity.where);
    retiming->identity = identity;
    retiming->deadline_ns = deadline_ns;
    if (identity.number == 0 || deadline_ns == RGM_NEVER)
        rgi_operation_refuse(&retiming->operation, -EINVAL);
}
