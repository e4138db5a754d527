/* SPDX-License-Identifier: MIT */

/*
 * drain.c - who waits for this worker to run empty?
 *
 * 1. A wait is put into a list, and the first one ever arms the look: from then
 *    on the worker looks once in each turn, after its batch and its flush.
 * 2. It owns no actor, and nothing is queued: all that wait are answered.
 * 3. A cancel takes one out. The look stays armed.
 *
 * Ownership (`actors_count`) and what is queued are counted where they change,
 * and nowhere together. The other way round than at a stop nothing has to be home:
 * what the worker has out elsewhere is not its own.
 */

#include "actors/runtime.h"

#include <ringmail/drain.h>

#include "capabilities/operation.h"

static struct rgm_operation *
operation_of(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_operation, link);
}

/* A guest, or an actor of another worker, may wait; who lives here would wait for
 * itself. */
int
rgi_drain_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    int status;

    if (rgm_address_worker(operation->request.message.from) == worker->number)
        return -EDEADLK;
    status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    if (!worker->drains_armed)
        rgi_list_init(&worker->drains);
    worker->drains_armed = true;
    rgi_list_push_back(&worker->drains, &operation->link);
    return 0;
}

static void
answer(struct rgm_worker *worker, struct rgm_operation *operation, int status)
{
    rgi_list_remove(&operation->link);
    worker->attention = true;
    rgm_operation_complete(operation, status, &worker->turn);
}

void
rgi_drain_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    if (rgi_operation_stop(operation))
        answer(worker, operation, -ECANCELED);
}

void
rgi_drains_look(struct rgm_worker *worker, bool queued)
{
    bool empty = worker->actors_count == 0 && !queued;
    struct rgm_link *link;

    if (empty && !worker->drained)
        rgi_count(worker, drained);
    worker->drained = empty;
    while (empty && (link = rgi_list_first(&worker->drains)) != NULL)
        answer(worker, operation_of(link), 0);
}
