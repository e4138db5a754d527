/* SPDX-License-Identifier: MIT */

/*
 * resize.c - how is a change of the number of workers prepared?
 *
 * It is a request to worker 0, which carries it out itself: actors/resize.c.
 */

#include <ringmail/resize.h>

#include <errno.h>

#include "capabilities/operation.h"

/* Late: a number whose last worker still retires is waited for. */
const struct rgm_message_type rgi_type_resize = {
    .name = "rgm_resize",
    .size_bytes = sizeof(struct rgm_resize),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

void
rgm_resize_to(struct rgm_resize *resize, uint32_t workers_count)
{
    rgi_operation_prepare(&resize->operation, RGM_OP_RESIZE, &rgi_type_resize,
                          rgm_worker_address(0));
    resize->workers_count = workers_count;
    if (workers_count == 0 || workers_count > RGM_WORKERS_MAX)
        rgi_operation_refuse(&resize->operation, -EINVAL);
}
