/* SPDX-License-Identifier: MIT */

/*
 * asking.c - how are a timeout and the close of a scope prepared?
 *
 * Both are about other requests; the worker carries them out itself:
 * actors/abandon.c, actors/scope.c.
 */

#include <ringmail/abandon.h>
#include <ringmail/clock.h>
#include <ringmail/scope.h>

#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_timeout = {
    .name = "rgm_timeout",
    .size_bytes = sizeof(struct rgm_timeout),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

const struct rgm_message_type rgi_type_scope_close = {
    .name = "rgm_scope_close",
    .size_bytes = sizeof(struct rgm_scope_close),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

static struct rgm_address
here(const struct rgm_actor *self)
{
    return rgm_worker_address(rgm_address_worker(self->address));
}

void
rgm_timeout_prepare(struct rgm_timeout *timeout, struct rgm_actor *self,
                    struct rgm_request *request, uint64_t duration_ns,
                    rgm_answer_function *release)
{
    rgi_operation_prepare(&timeout->operation, RGM_OP_TIMEOUT,
                          &rgi_type_timeout, here(self));
    timeout->inner = request;
    timeout->release = release;
    timeout->duration_ns = duration_ns;
}

void
rgm_scope_close_prepare(struct rgm_scope_close *close, struct rgm_actor *self,
                        struct rgm_scope *scope)
{
    rgi_operation_prepare(&close->operation, RGM_OP_SCOPE_CLOSE,
                          &rgi_type_scope_close, here(self));
    close->scope = scope;
}
