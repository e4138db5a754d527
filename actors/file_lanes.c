/* SPDX-License-Identifier: MIT */

/*
 * file_lanes.c - how is a transfer handed over now and collected later?
 *
 * 1. A submission takes a record from the worker's slab and asks it, in the
 *    name of the actor, with an answer of our own. What cannot begin is home at
 *    once: that is the refusal, and the lease goes back.
 * 2. The provider's completion ends the access (capabilities/file_lane.c).
 * 3. Our answer comes: the record is ours again. It goes on with the rest if
 *    somebody waits for all; it is given back if it was settled; else it stays.
 * 4. A collect takes the outcome, now or when there is one. A drop gives the
 *    record up: on a ring it is cancelled, and what is home is released.
 *
 * A record is given back when it is both home and settled. It has a reference to
 * the share from its submission until then, as every lane has one.
 */

#include "actors/runtime.h"

#include <ringmail/abandon.h>

#include "base/memory.h"
#include "capabilities/file_lane.h"
#include "capabilities/operation.h"

static inline struct rgm_completion *
completion_of(struct rgm_request *request)
{
    return rgi_completion_of(rgm_operation_of(&request->message));
}

static inline struct rgm_request *
request_of(struct rgm_completion *completion)
{
    return &completion->transfer.request;
}

/* ---- shares ---- */

int
rgm_file_share_of(struct rgm_actor *self, struct rgm_file *file,
                  struct rgm_file_share **ret_share)
{
    struct rgm_worker *worker = self->worker;
    struct rgm_file_share *share;

    rgi_assert(rgi_is_owner(worker));
    if (!file->handle.open)
        return -EBADF;
    if (file->handle.busy > 0 || file->cursor_busy)
        return -EBUSY;
    if (worker->is_guest || !rgi_handle_is_here(worker, file->handle.worker))
        return -EINVAL;
    share = rgi_alloc(sizeof(*share));
    if (share == NULL)
        return -ENOMEM;
    share->file = *file;
    share->references = 1;
    *file = (struct rgm_file){0};
    *ret_share = share;
    return 0;
}

struct rgm_file *
rgm_share_file(struct rgm_file_share *share)
{
    return &share->file;
}

/* A close that is refused, for lack of memory or because there are too many, is
 * the worker's when it ends: whoever was last is not told. */
static void
let_go(struct rgm_worker *worker, struct rgm_file_share *share)
{
    if (--share->references > 0)
        return;
    rgi_assert(share->file.handle.busy == 0);
    (void)rgm_socket_drop(&worker->janitor, &share->file.handle);
    rgi_free(share);
}

int
rgm_file_share_drop(struct rgm_actor *self, struct rgm_file_share **share)
{
    int status = 0;

    rgi_assert(rgi_is_owner(self->worker));
    if (*share == NULL)
        return 0;
    if ((*share)->references == 1)
        status = (*share)->file.handle.busy > 0
                     ? -EBUSY /* also with a close, when it is not open */
                     : rgm_socket_drop(self, &(*share)->file.handle);
    if (status != 0)
        return status;
    let_go(self->worker, *share);
    *share = NULL;
    return 0;
}

/* ---- lanes ---- */

int
rgm_lane_open(struct rgm_file_lane *lane, struct rgm_file_share *share,
              enum rgm_lane_direction direction)
{
    if (direction != RGM_LANE_READER && direction != RGM_LANE_WRITER)
        return -EINVAL;
    if (lane->share != NULL)
        return -EBUSY;
    if (!share->file.handle.open)
        return -EBADF;
    share->references++;
    share->file.handle.busy++; /* so that nobody closes it: FIL-17 */
    *lane = (struct rgm_file_lane){.share = share,
                                   .direction = (uint8_t)direction};
    return 0;
}

/* The lane is not open any more. Returns: what it had out, whose access goes on;
 * NULL: nothing touches the file through it. */
static struct rgm_completion *
detach(struct rgm_worker *worker, struct rgm_file_lane *lane)
{
    struct rgm_completion *out = lane->out;
    struct rgm_file_share *share = lane->share;

    *lane = (struct rgm_file_lane){.share = NULL};
    share->file.handle.busy--;
    if (out != NULL)
        out->lane = NULL;
    let_go(worker, share);
    return out == NULL || out->over ? NULL : out;
}

int
rgi_lane_close_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_lane_close *close = rgi_lane_close_of(operation);
    struct rgm_completion *out;
    int status;

    if (close->lane->share == NULL)
        return -EBADF;
    status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    out = detach(worker, close->lane);
    if (out != NULL) {
        out->closer = close;
        return 0;
    }
    worker->attention = true;
    rgm_operation_complete(operation, 0, &worker->turn);
    return 0;
}

void
rgm_file_lane_drop(struct rgm_actor *self, struct rgm_file_lane *lane)
{
    rgi_assert(rgi_is_owner(self->worker));
    if (lane->share != NULL)
        (void)detach(self->worker, lane);
}

/* ---- the record ---- */

static void
give_back(struct rgm_worker *worker, struct rgm_completion *completion)
{
    uint32_t size_bytes = completion->transfer.request.message.charged_bytes;

    rgi_lane_free(completion);
    let_go(worker, completion->share);
    (void)rgm_lease_drop(&completion->transfer.lease);
    rgi_slab_give(&worker->slab, completion, size_bytes);
}

/* Asks it. Returns: 0, or why it did not begin; its answer comes in any case. */
static int
ask(struct rgm_actor *self, struct rgm_completion *completion,
    struct rgm_scope *scope, rgm_answer_function *answer)
{
    struct rgm_operation *operation = &completion->transfer.operation;

    if (scope != NULL)
        rgm_request_in_scope(&operation->request, scope);
    rgi_request_bind(&operation->request);
    rgm_ask_request(self, &operation->request, answer);
    if (operation->state != RGM_OPERATION_HOME)
        return 0;
    completion->over = true;
    return operation->request.message.status;
}

static void transfer_answered(struct rgm_actor *self,
                              struct rgm_request *request);

/* Somebody waits for all, and this is what is left. */
static void
go_on(struct rgm_actor *self, struct rgm_completion *completion)
{
    struct rgm_worker *worker = self->worker;
    int status;

    rgi_lane_prepare_rest(completion);
    status = ask(self, completion, NULL, transfer_answered);
    if (status == 0)
        return;
    worker->attention = true;
    rgi_lane_settle(completion, status, &worker->turn);
}

/* In the turn of whoever submitted it. */
static void
transfer_answered(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_completion *completion = completion_of(request);

    completion->home = true;
    if (completion->settled)
        give_back(self->worker, completion);
    else if (completion->collector != NULL)
        go_on(self, completion);
}

/* ---- submitting ---- */

static int
submit_check(const struct rgm_actor *self, const struct rgm_file_lane *lane,
             const struct rgm_lease *lease, enum rgm_lane_direction direction,
             size_t length_bytes)
{
    const struct rgm_worker *worker = self->worker;

    if (lane->share == NULL)
        return -EBADF;
    if (lane->direction != direction || worker->is_guest ||
        !rgi_handle_is_here(worker, lane->share->file.handle.worker))
        return -EINVAL;
    if (lane->out != NULL)
        return -EAGAIN;
    if (!rgm_lease_active(lease) || length_bytes > lease->length_bytes)
        return -EINVAL;
    if (self->life != RGI_LIFE_RUNNING)
        return self->life == RGI_LIFE_FROZEN ? -EAGAIN : -ECANCELED;
    return 0;
}

/* A transfer that did not begin: its answer gives it back. */
static void
take_back(struct rgm_completion *completion)
{
    completion->transfer.lease = (struct rgm_lease){0};
    completion->settled = true;
}

static int
submit(struct rgm_actor *self, struct rgm_file_lane *lane,
       enum rgm_lane_direction direction, struct rgm_lease *lease,
       size_t length_bytes, uint64_t offset_bytes, struct rgm_scope *scope,
       struct rgm_completion **ret_completion)
{
    struct rgm_completion *completion;
    int status = submit_check(self, lane, lease, direction, length_bytes);

    rgi_assert(rgi_is_owner(self->worker));
    if (status != 0)
        return status;
    completion = rgm_take(self, &rgi_type_lane_transfer, 0);
    if (completion == NULL)
        return -ENOMEM;
    completion->share = lane->share;
    completion->share->references++;
    rgi_lane_prepare(completion,
                     direction == RGM_LANE_READER ? RGM_OP_FILE_READ
                                                  : RGM_OP_FILE_WRITE,
                     lease, length_bytes, offset_bytes);
    status = ask(self, completion, scope, transfer_answered);
    if (status != 0) {
        take_back(completion);
        return status;
    }
    completion->lane = lane;
    lane->out = completion;
    *lease = (struct rgm_lease){0};
    *ret_completion = completion;
    return 0;
}

int
rgm_lane_submit_read(struct rgm_actor *self, struct rgm_file_lane *lane,
                     struct rgm_lease *lease, uint64_t offset_bytes,
                     struct rgm_scope *scope,
                     struct rgm_completion **ret_completion)
{
    return submit(self, lane, RGM_LANE_READER, lease, lease->length_bytes,
                  offset_bytes, scope, ret_completion);
}

int
rgm_lane_submit_write(struct rgm_actor *self, struct rgm_file_lane *lane,
                      struct rgm_lease *lease, size_t length_bytes,
                      uint64_t offset_bytes, struct rgm_scope *scope,
                      struct rgm_completion **ret_completion)
{
    return submit(self, lane, RGM_LANE_WRITER, lease, length_bytes,
                  offset_bytes, scope, ret_completion);
}

/* ---- completions ---- */

bool
rgm_completion_has_ended(const struct rgm_completion *completion)
{
    return completion->over;
}

int
rgm_lane_completion_identify(struct rgm_actor *self,
                             struct rgm_completion *completion,
                             struct rgm_identity *ret_identity)
{
    return rgm_identify_request(self, request_of(completion), ret_identity);
}

static int
collect_check(const struct rgm_worker *worker,
              const struct rgm_operation *operation,
              const struct rgm_completion *completion)
{
    const struct rgm_file *file = &completion->share->file;

    if (rgm_address_worker(file->handle.worker) != worker->number ||
        rgm_address_worker(operation->request.message.from) != worker->number)
        return -EINVAL;
    return completion->collector != NULL ? -EBUSY : 0;
}

int
rgi_collect_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_collect *collect = rgi_collect_of(operation);
    struct rgm_completion *completion = collect->completion;
    int status = collect_check(worker, operation, completion);

    if (status == 0)
        status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    completion->collector = collect;
    if (!completion->over)
        return 0;
    if (collect->all && rgi_lane_has_rest(completion)) {
        if (completion->home)
            go_on(operation->request.asker, completion);
        return 0;
    }
    worker->attention = true;
    rgi_lane_settle(completion, rgm_status(&completion->transfer),
                    &worker->turn);
    if (completion->home)
        give_back(worker, completion);
    return 0;
}

/* What it waits for is told to stop; between two transfers it is over. */
void
rgi_collect_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_completion *completion = rgi_collect_of(operation)->completion;

    if (!rgi_operation_stop(operation))
        return;
    if (!completion->over) {
        rgi_request_cancel(worker, request_of(completion), 0);
        return;
    }
    worker->attention = true;
    rgi_lane_settle(completion, -ECANCELED, &worker->turn);
}

/* The janitor's turn: nobody wanted to know. */
static void
dropped(struct rgm_actor *janitor, struct rgm_request *request)
{
    give_back(janitor->worker, completion_of(request));
}

int
rgm_lane_completion_drop(struct rgm_actor *self, struct rgm_completion **drop)
{
    struct rgm_worker *worker = self->worker;
    struct rgm_completion *completion = *drop;
    struct rgm_request *request;
    int status;

    rgi_assert(rgi_is_owner(worker));
    if (completion == NULL)
        return 0;
    if (completion->collector != NULL)
        return -EBUSY;
    *drop = NULL;
    completion->settled = true;
    if (completion->over)
        rgi_lane_free(completion);
    if (completion->home) {
        give_back(worker, completion);
        return 0;
    }
    request = request_of(completion);
    if (!worker->provider->carries_on)
        rgi_request_cancel(worker, request, 0);
    status = rgm_abandon_request_to(request->asker, request, dropped);
    rgi_assert(status == 0);
    return 0;
}

/* ---- a provider that has ended ---- */

void
rgi_lane_lost(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_completion *completion = rgi_completion_of(operation);
    int status = worker->failure != 0 ? worker->failure : -ECANCELED;

    if (!rgi_is_lane_transfer(operation))
        return;
    worker->attention = true;
    if (completion->closer != NULL)
        rgm_operation_complete(&completion->closer->operation, status,
                               &worker->turn);
    completion->closer = NULL;
    rgi_lane_free(completion);
    if (completion->collector != NULL) {
        completion->collector->completion = NULL;
        rgm_operation_complete(&completion->collector->operation, status,
                               &worker->turn);
    }
    completion->collector = NULL;
}
