/* SPDX-License-Identifier: MIT */

/*
 * half.c - how does one direction of a stream begin, refuse and end?
 *
 * This is the only file that writes `life`.
 */

#include "actors/half.h"

#include <errno.h>

#include "actors/runtime.h"
#include "capabilities/operation.h"

int
rgi_half_check(const struct rgm_actor *self, const struct rgm_stream *stream)
{
    struct rgm_worker *worker = self->worker;
    int status;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest || stream == NULL)
        return -EINVAL;
    status = rgi_transfer_check(worker, &stream->socket);
    if (status == -EBADF && stream->socket.open == 1)
        return -EINVAL; /* open, and no stream */
    return status;
}

void
rgi_half_init(struct rgi_half *half, struct rgm_actor *self,
              struct rgm_stream *stream, struct rgm_request *transfer,
              struct rgm_link *all)
{
    half->worker = self->worker;
    half->stream = stream;
    half->transfer = transfer;
    half->opener = self->address;
    half->life = RGI_HALF_OPEN;
    rgi_list_init(&half->line);
    rgi_list_init(&half->closers);
    rgi_list_push_back(all, &half->all);
    stream->socket.busy++;
}

void
rgi_half_free(struct rgi_half *half)
{
    rgi_assert(half->out == 0 && rgi_list_empty(&half->line));
    half->stream->socket.busy--;
    rgi_list_remove(&half->all);
}

struct rgm_actor *
rgi_half_asker(const struct rgi_half *half)
{
    struct rgm_actor *opener = rgi_actor_live(half->worker, half->opener);

    return opener != NULL && opener->life == RGI_LIFE_RUNNING ? opener : NULL;
}

/* ------------------------------------------------------------------- the line */

void
rgi_half_answer(struct rgi_half *half, struct rgm_operation *operation,
                int status)
{
    half->worker->attention = true;
    rgm_operation_complete(operation, status, &half->worker->turn);
}

void
rgi_half_answer_line(struct rgi_half *half, int status)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&half->line)) != NULL)
        rgi_half_answer(half, rgi_half_linked(link), status);
}

int
rgi_half_line_up(struct rgi_half *half, struct rgm_operation *operation)
{
    int status = rgi_operation_begin(operation, half->worker->provider);

    if (status == 0)
        rgi_list_push_back(&half->line, &operation->link);
    return status;
}

bool
rgi_half_give_up(struct rgm_operation *operation)
{
    if (rgi_operation_is_cleanup(&operation->request.message) ||
        !rgi_list_is_linked(&operation->link) || !rgi_operation_stop(operation))
        return false;
    rgi_list_remove(&operation->link);
    return true;
}

/* -------------------------------------------------------------------- the end */

void
rgi_half_cancel(struct rgi_half *half)
{
    struct rgm_actor *opener = rgi_actor_live(half->worker, half->opener);

    if (opener != NULL && half->worker->failure == 0 &&
        !rgi_request_is_home(half->transfer))
        rgm_cancel_request(opener, half->transfer);
}

int
rgi_half_close(struct rgi_half *half, struct rgm_operation *operation)
{
    int status = rgi_operation_begin(operation, half->worker->provider);

    if (status != 0)
        return status;
    rgi_list_push_back(&half->closers, &operation->link);
    if (half->life == RGI_HALF_CLOSING)
        return 0;
    if (half->out > 0 && half->worker->failure == 0) {
        half->life = RGI_HALF_CLOSING;
        rgi_half_cancel(half);
        return 0;
    }
    half->life = RGI_HALF_CLOSED;
    return 1;
}

void
rgi_half_close_end(struct rgi_half *half)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&half->closers)) != NULL) {
        int status = half->told ? 0 : rgi_half_tell_end(half);

        rgi_half_answer(half, rgi_half_linked(link), status);
    }
}

enum rgi_half_life
rgi_half_come_home(struct rgi_half *half)
{
    enum rgi_half_life life = (enum rgi_half_life)half->life;

    rgi_assert(half->out == 0);
    if (life == RGI_HALF_CLOSING)
        half->life = RGI_HALF_CLOSED;
    return life;
}

bool
rgi_half_drop(struct rgi_half *half)
{
    rgi_half_answer_line(half, -EPIPE);
    if (half->out == 0)
        return true;
    half->life = RGI_HALF_LEAVING;
    rgi_half_cancel(half);
    return false;
}

void
rgi_half_lose(struct rgi_half *half)
{
    half->ended = half->worker->failure;
    half->told = true;
    rgi_half_answer_line(half, half->ended);
    rgi_half_close_end(half);
    if (half->life == RGI_HALF_CLOSING)
        half->life = RGI_HALF_CLOSED;
}
