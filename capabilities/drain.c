/* SPDX-License-Identifier: MIT */

/* drain.c - how is a wait for an empty worker prepared? It is carried out by the
 * worker itself: actors/drain.c. */

#include <ringmail/drain.h>

#include "capabilities/operation.h"

/* Late: it lasts as long as the worker's actors. */
const struct rgm_message_type rgi_type_drain = {
    .name = "rgm_drain",
    .size_bytes = sizeof(struct rgm_drain),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

void
rgm_drain_worker(struct rgm_drain *drain, struct rgm_address where)
{
    rgi_operation_prepare(&drain->operation, RGM_OP_DRAIN, &rgi_type_drain,
                          where);
}
