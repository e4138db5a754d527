/* SPDX-License-Identifier: MIT */

/*
 * drop.c - who closes what an actor leaves behind?
 *
 * An actor that is stopped from outside has no answer left in which it could
 * close its streams. It drops them in `stopped`: the handle is emptied there
 * and then, and a close of the library's own is asked by the worker's janitor,
 * an actor that is in no slot, gets no mail and never ends. The worker is not
 * quiet before such a close is home. Any other clean-up that nobody wants to hear
 * of goes the same way; how many are out is bounded.
 */

#include <ringmail/file.h>
#include <ringmail/stream.h>

#include <string.h>

#include "actors/runtime.h"
#include "capabilities/operation.h"

struct drop {
    union {
        struct rgm_request request;
        struct rgm_close close;
        struct rgm_shutdown shutdown;
        struct rgm_file_advise advise;
    } what;
    struct rgm_stream stream; /* or a listener: a close knows no difference */
};

static const struct rgm_behaviour janitor_behaviour = {
    .name = "janitor", .size_bytes = sizeof(struct rgm_actor)};

/* Nothing is ever looked up in it: a janitor has answers only. */
static const struct rgi_dispatch janitor_dispatch = {
    .behaviour = &janitor_behaviour};

void
rgi_janitor_init(struct rgm_worker *worker)
{
    struct rgm_actor *janitor = &worker->janitor;

    janitor->address = rgi_address_make(worker->number, 0, 2);
    janitor->worker = worker;
    janitor->dispatch = &janitor_dispatch;
    rgi_list_init(&janitor->scope);
}

static void
dropped(struct rgm_actor *janitor, struct rgm_request *request)
{
    struct drop *drop = rgi_container_of(request, struct drop, what.request);

    janitor->worker->cleanups_out--;
    rgi_slab_give(&janitor->worker->slab, drop, sizeof(*drop));
}

/* Room for one more. Returns: 0, -EINVAL for a guest, -EAGAIN, -ENOMEM. */
static int
drop_take(struct rgm_worker *worker, struct drop **ret_drop)
{
    struct drop *drop;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest)
        return -EINVAL;
    if (worker->cleanups_out >= worker->runtime->options.cleanups_max)
        return -EAGAIN;
    drop = rgi_slab_take(&worker->slab, sizeof(*drop));
    if (drop == NULL)
        return -ENOMEM;
    memset(drop, 0, sizeof(*drop));
    worker->cleanups_out++;
    *ret_drop = drop;
    return 0;
}

int
rgm_socket_drop(struct rgm_actor *self, struct rgm_socket *socket)
{
    struct rgm_worker *worker = self->worker;
    struct drop *drop;
    int status;

    if (!socket->open)
        return 0;
    if (socket->busy > 0)
        return -EBUSY;
    status = drop_take(worker, &drop);
    if (status < 0)
        return status;
    drop->stream.socket = *socket;
    memset(socket, 0, sizeof(*socket));
    rgm_stream_close(&drop->what.close, &drop->stream);
    rgm_ask_request(&worker->janitor, &drop->what.request, dropped);
    return 0;
}

static const struct rgm_operation *
operation_of(const struct rgm_request *request)
{
    return rgi_container_of((struct rgm_request *)(uintptr_t)request,
                            struct rgm_operation, request);
}

/* The handle a shutdown or an advice is for. */
static const struct rgm_socket *
handle_of(const struct rgm_request *request)
{
    const struct rgm_file_advise *advise = (const void *)request;
    const struct rgm_shutdown *shutdown = (const void *)request;

    return request->message.type == &rgi_type_shutdown
               ? &shutdown->stream->socket
               : &advise->file->handle;
}

static int
submit_close(struct rgm_actor *self, const struct rgm_close *close)
{
    return close->socket->open ? rgm_socket_drop(self, close->socket) : -EBADF;
}

int
rgm_submit_cleanup_request(struct rgm_actor *self,
                           const struct rgm_request *request)
{
    const struct rgm_message_type *type = request->message.type;
    struct drop *drop;
    int status;

    if (type != &rgi_type_close && type != &rgi_type_shutdown &&
        type != &rgi_type_file_advise)
        return -EINVAL;
    status = rgi_operation_refused(operation_of(request));
    if (status < 0)
        return status;
    if (type == &rgi_type_close)
        return submit_close(self, (const void *)request);
    if (!handle_of(request)->open)
        return -EBADF;
    status = drop_take(self->worker, &drop);
    if (status < 0)
        return status;
    memcpy(&drop->what, request, type->size_bytes);
    rgm_ask_request(&self->worker->janitor, &drop->what.request, dropped);
    return 0;
}
