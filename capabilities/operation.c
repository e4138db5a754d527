/* SPDX-License-Identifier: MIT */

/*
 * operation.c - what states does an operation pass through?
 *
 * 1. prepare   HOME; bad arguments are remembered, nothing else happens.
 * 2. start     SUBMITTED, once everything that can be refused was.
 * 3. stop      CANCELLING: a wish. The operation goes on being the provider's.
 * 4. complete  COMPLETED: status and list, once, on the owner's thread.
 * 5. home      HOME: the record is the asker's again.
 *
 * This is the only file that writes `state`; a step from a state it cannot
 * leave from is a bug of ours and aborts.
 */

#include "capabilities/operation.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "capabilities/file.h"
#include "capabilities/owners.h"
#include "capabilities/stream.h"

void
rgi_operation_prepare_front(struct rgm_operation *operation,
                            enum rgm_operation_kind kind,
                            const struct rgm_message_type *type,
                            struct rgm_address where, size_t front_bytes)
{
    size_t bare = offsetof(struct rgm_request, answer); /* says nothing yet */

    memset((char *)operation + bare, 0, front_bytes - bare);
    operation->request.message.type = type;
    operation->request.message.to = where;
    operation->request.message.charged_bytes = type->size_bytes;
    operation->kind = (uint8_t)kind;
    operation->state = RGM_OPERATION_HOME;
}

void
rgi_operation_prepare(struct rgm_operation *operation,
                      enum rgm_operation_kind kind,
                      const struct rgm_message_type *type,
                      struct rgm_address where)
{
    rgi_operation_prepare_front(operation, kind, type, where, type->size_bytes);
}

void
rgi_operation_prepare_on(struct rgm_operation *operation,
                         enum rgm_operation_kind kind,
                         const struct rgm_message_type *type,
                         const struct rgm_address *where, size_t front_bytes)
{
    static const struct rgm_address nobody;

    rgi_operation_prepare_front(operation, kind, type,
                                where != NULL ? *where : nobody, front_bytes);
    if (where == NULL)
        rgi_operation_refuse(operation, -EINVAL);
    else if (where->bits == 0)
        rgi_operation_refuse(operation, -EBADF);
}

void
rgi_operation_refuse(struct rgm_operation *operation, int error)
{
    rgi_assert(operation->state == RGM_OPERATION_HOME);
    if (operation->refused == 0)
        operation->refused = (uint16_t)-error;
}

static int
start_check(struct rgm_operation *operation, uint64_t kinds)
{
    rgi_assert(operation->state == RGM_OPERATION_HOME);
    if (operation->refused != 0)
        return rgi_operation_refused(operation);
    if ((kinds >> operation->kind & 1) == 0)
        return -ENOTSUP;
    return rgi_stream_admit(operation);
}

/* Everything before the provider's part. */
static int
start_admit(struct rgm_operation *operation, struct rgm_provider *provider,
            uint64_t kinds)
{
    int status = start_check(operation, kinds);

    operation->request.message.status = status;
    if (status < 0)
        return status;
    operation->serial = ++provider->serial;
    operation->state = RGM_OPERATION_SUBMITTED;
#ifdef RGI_SLOW_ASSERTS
    rgi_owners_note(operation);
#endif
    return 0;
}

int
rgi_operation_start(struct rgm_operation *operation,
                    struct rgm_provider *provider)
{
    int status = start_admit(operation, provider, provider->kinds);

    if (status == 0)
        provider->ops->submit(provider, operation);
    return status;
}

int
rgi_operation_begin(struct rgm_operation *operation,
                    struct rgm_provider *provider)
{
    return start_admit(operation, provider, UINT64_MAX);
}

bool
rgi_operation_stop(struct rgm_operation *operation)
{
    if (operation->state != RGM_OPERATION_SUBMITTED)
        return false;
    operation->state = RGM_OPERATION_CANCELLING;
    return true;
}

/* Not even marked: it would begin no other attempt. */
static bool
goes_to_the_end(const struct rgm_operation *operation)
{
    const struct rgm_file_write *write = (const void *)operation;
    const struct rgm_file_sync *sync = (const void *)operation;

    return (operation->kind == RGM_OP_FILE_WRITE && write->to_the_end) ||
           (operation->kind == RGM_OP_FILE_SYNC && sync->to_the_end);
}

void
rgi_operation_cancel(struct rgm_operation *operation,
                     struct rgm_provider *provider)
{
    if (!goes_to_the_end(operation) && rgi_operation_stop(operation))
        provider->ops->cancel(provider, operation);
}

/* EINTR and EAGAIN say "not yet", and after a cancel there is no later; any
 * other result is what really happened and is worth more than the wish. */
static int
complete_status(const struct rgm_operation *operation, int status)
{
    bool not_yet = status == -EINTR || status == -EAGAIN;
    bool may_be = operation->kind != RGM_OP_CLOSE;

    return rgi_operation_is_stopping(operation) && not_yet && may_be
               ? -ECANCELED
               : status;
}

void
rgm_operation_complete(struct rgm_operation *operation, int status,
                       struct rgm_turn *turn)
{
    rgi_assert(operation->state == RGM_OPERATION_SUBMITTED ||
               operation->state == RGM_OPERATION_CANCELLING);
    rgi_assert(status <= 0);
    rgi_assert_slow(rgi_owners_hold(operation));
    operation->request.message.status = complete_status(operation, status);
    operation->state = RGM_OPERATION_COMPLETED;
    rgi_stream_retire(operation, turn);
    rgm_turn_append(turn, &operation->request.message);
}

void
rgi_operation_home(struct rgm_operation *operation)
{
    rgi_assert(operation->state == RGM_OPERATION_COMPLETED);
    operation->state = RGM_OPERATION_HOME;
    /* Only now: no ring is being reaped, and a release may be anybody's. */
    if (operation->kind == RGM_OP_WRITE)
        rgm_view_drop(&rgi_write_of(operation)->owned);
    if (operation->kind == RGM_OP_READ_POOLED &&
        rgi_read_pooled_of(operation)->unnamed) {
        rgi_read_pooled_of(operation)->unnamed = false;
        rgi_read_pooled_of(operation)->pool = NULL; /* as it was asked */
    }
    rgi_file_home(operation);
}
