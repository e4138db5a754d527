/* SPDX-License-Identifier: MIT */

/*
 * worker_lease.c - how is the question prepared who holds leases on a worker?
 *
 * The worker answers it itself: actors/worker_lease.c.
 */

#include <ringmail/worker_lease.h>

#include <errno.h>

#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_lease_holders = {
    .name = "rgm_lease_holders",
    .size_bytes = sizeof(struct rgm_lease_holders),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
};

void
rgm_lease_holders_of(struct rgm_lease_holders *question,
                     struct rgm_address worker,
                     struct rgm_lease_holder *holders, uint32_t capacity)
{
    rgi_operation_prepare(&question->operation, RGM_OP_LEASE_HOLDERS,
                          &rgi_type_lease_holders, worker);
    question->holders = holders;
    question->capacity = capacity;
    if (holders == NULL && capacity > 0)
        rgi_operation_refuse(&question->operation, -EINVAL);
}
