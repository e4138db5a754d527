/* SPDX-License-Identifier: MIT */

/*
 * acquire.c - how is a wait for a slot prepared?
 *
 * Who waits where is the worker's own business, as with a sleep: no provider
 * sees it.
 */

#include <ringmail/acquire.h>

#include <errno.h>

#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_acquire = {
    .name = "rgm_acquire",
    .size_bytes = sizeof(struct rgm_acquire),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

void
rgm_pool_acquire(struct rgm_acquire *acquire, struct rgm_address where,
                 struct rgm_pool *pool)
{
    rgi_operation_prepare(&acquire->operation, RGM_OP_ACQUIRE,
                          &rgi_type_acquire, where);
    acquire->pool = pool;
    if (pool == NULL)
        rgi_operation_refuse(&acquire->operation, -EINVAL);
}
