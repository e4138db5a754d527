/* SPDX-License-Identifier: MIT */

/*
 * drop.c - who closes what an actor leaves behind?
 *
 * An actor that is stopped from outside has no answer left in which it could
 * close its streams. It drops them in `stopped`: the handle is emptied there
 * and then, and a close of the library's own is asked by the worker's janitor,
 * an actor that is in no slot, gets no mail and never ends. The worker is not
 * quiet before such a close is home.
 */

#include <ringmail/stream.h>

#include <string.h>

#include "actors/worker.h"

struct drop {
    struct rgm_close close;
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
    struct drop *drop = rgi_container_of(request, struct drop, close.request);

    rgi_slab_give(&janitor->worker->slab, drop, sizeof(*drop));
}

int
rgm_socket_drop(struct rgm_actor *self, struct rgm_socket *socket)
{
    struct rgm_worker *worker = self->worker;
    struct drop *drop;

    rgi_assert(rgi_is_owner(worker));
    if (!socket->open)
        return 0;
    if (socket->busy > 0)
        return -EBUSY;
    if (worker->is_guest)
        return -EINVAL;
    drop = rgi_slab_take(&worker->slab, sizeof(*drop));
    if (drop == NULL)
        return -ENOMEM;
    memset(drop, 0, sizeof(*drop));
    drop->stream.socket = *socket;
    memset(socket, 0, sizeof(*socket));
    rgm_stream_close(&drop->close, &drop->stream);
    rgm_ask_request(&worker->janitor, &drop->close.request, dropped);
    return 0;
}
