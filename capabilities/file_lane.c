/* SPDX-License-Identifier: MIT */

/*
 * file_lane.c - what happens to a lane when its transfer ends?
 *
 * 1. The provider completes the transfer: nothing touches file and lease now.
 * 2. A close that waits is answered, whether anybody wants the outcome or not.
 * 3. A collect that waits gets the outcome, unless it wants what is left, too:
 *    then the worker submits that when the record is home.
 * 4. Without a collect the outcome stays in the record.
 */

#include "capabilities/file_lane.h"

#include <errno.h>

#include "base/assert.h"
#include "capabilities/operation.h"

#define LANE_TYPE(t, record)                                                   \
    const struct rgm_message_type rgi_type_##t = {                             \
        .name = #record,                                                       \
        .size_bytes = sizeof(struct record),                                   \
        .header_offset = offsetof(struct rgm_request, message),                \
        .kind = RGM_KIND_OPERATION,                                            \
    }

LANE_TYPE(lane_transfer, rgm_completion);
LANE_TYPE(collect, rgm_collect);
LANE_TYPE(lane_close, rgm_lane_close);

/* ------------------------------------------------------------- preparation */

void
rgm_collect(struct rgm_collect *collect, struct rgm_address where,
            struct rgm_completion *completion)
{
    rgi_operation_prepare(&collect->operation, RGM_OP_COLLECT,
                          &rgi_type_collect, where);
    collect->completion = completion;
    if (completion == NULL)
        rgi_operation_refuse(&collect->operation, -EINVAL);
}

void
rgm_lane_close(struct rgm_lane_close *close, struct rgm_file_lane *lane)
{
    struct rgm_address where = {0};

    if (lane != NULL && lane->share != NULL)
        where = lane->share->file.handle.worker;
    rgi_operation_prepare(&close->operation, RGM_OP_LANE_CLOSE,
                          &rgi_type_lane_close, where);
    close->lane = lane;
    if (where.bits == 0)
        rgi_operation_refuse(&close->operation, -EBADF);
}

/* What the public functions prepare, with our type: the record is longer. */
static void
prepare(struct rgm_completion *completion, enum rgm_operation_kind kind,
        void *memory, size_t length_bytes, uint64_t offset_bytes)
{
    struct rgm_file_transfer *transfer = &completion->transfer;
    struct rgm_message *message = &transfer->request.message;
    uint32_t charged_bytes = message->charged_bytes;
    uint8_t flags = message->flags;
    struct rgm_lease lease = transfer->lease;
    struct rgm_file *file = &completion->share->file;

    rgi_transfer_prepare(transfer, kind, file, memory, length_bytes,
                         offset_bytes);
    message->type = &rgi_type_lane_transfer;
    message->charged_bytes = charged_bytes;
    message->flags = flags;
    transfer->lease = lease;
    completion->over = false;
    completion->home = false;
}

void
rgi_lane_prepare(struct rgm_completion *completion,
                 enum rgm_operation_kind kind, const struct rgm_lease *lease,
                 size_t length_bytes, uint64_t offset_bytes)
{
    completion->transfer.lease = *lease;
    prepare(completion, kind, lease->data, length_bytes, offset_bytes);
}

void
rgi_lane_prepare_rest(struct rgm_completion *completion)
{
    const struct rgm_file_transfer *transfer = &completion->transfer;
    struct rgm_vector piece = transfer->single;
    size_t count = transfer->count;
    uint64_t offset_bytes = transfer->offset_bytes;

    completion->before_bytes += count;
    if (offset_bytes != RGM_FILE_CURSOR)
        offset_bytes += count;
    prepare(completion, (enum rgm_operation_kind)transfer->operation.kind,
            (char *)(uintptr_t)piece.data + count, piece.length_bytes - count,
            offset_bytes);
}

/* ---------------------------------------------------------------- the end */

bool
rgi_lane_has_rest(const struct rgm_completion *completion)
{
    const struct rgm_file_transfer *transfer = &completion->transfer;

    return rgm_status(transfer) == 0 && !transfer->end &&
           transfer->count < transfer->single.length_bytes;
}

void
rgi_lane_free(struct rgm_completion *completion)
{
    if (completion->lane == NULL)
        return;
    rgi_assert(completion->lane->out == completion);
    completion->lane->out = NULL;
    completion->lane = NULL;
}

void
rgi_lane_settle(struct rgm_completion *completion, int status,
                struct rgm_turn *turn)
{
    struct rgm_collect *collect = completion->collector;
    struct rgm_file_transfer *transfer = &completion->transfer;

    completion->collector = NULL;
    completion->settled = true;
    rgi_lane_free(completion);
    collect->completion = NULL;
    collect->count = completion->before_bytes + transfer->count;
    collect->end = transfer->end;
    collect->lease = transfer->lease;
    transfer->lease = (struct rgm_lease){0};
    rgm_operation_complete(&collect->operation, status, turn);
}

void
rgi_lane_access_ends(struct rgm_operation *operation, struct rgm_turn *turn)
{
    struct rgm_completion *completion = rgi_completion_of(operation);
    struct rgm_lane_close *closer = completion->closer;
    struct rgm_collect *collect = completion->collector;

    completion->over = true;
    if (closer != NULL) {
        completion->closer = NULL;
        rgm_operation_complete(&closer->operation, 0, turn);
    }
    if (completion->settled) /* dropped: the lane waited for the access only */
        rgi_lane_free(completion);
    if (collect == NULL ||
        (collect->all && rgi_lane_has_rest(completion) &&
         !rgi_operation_is_stopping(&collect->operation)))
        return;
    rgi_lane_settle(completion, rgm_status(&completion->transfer), turn);
}
