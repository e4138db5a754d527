/* SPDX-License-Identifier: MIT */

/* dedicated.c - what kind of request is that for a thread of one's own? It is
 * prepared and carried out by the actors' folder: actors/dedicated.c. */

#include <ringmail/dedicated.h>

#include "capabilities/operation.h"

/* Late: it stands in line with resizes. */
const struct rgm_message_type rgi_type_dedicate = {
    .name = "rgm_dedicate",
    .size_bytes = sizeof(struct rgm_dedicate),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};
