/* SPDX-License-Identifier: MIT */

/*
 * acceptor.c - how does a connection come in, and when is it too many?
 *
 * 1. One accept is out at a time. Its connection becomes an actor here.
 * 2. When the process has no descriptor or memory left, the connection stays
 *    in the backlog: wait a little and try again.
 * 3. When the server stops, the accept is cancelled. The listener is closed,
 *    and when the worker's last connection has gone the server is told.
 * 4. When the worker is to go, the accept is cancelled and the listener is given
 *    to the manager, who asked (`evacuate`): what waits in its backlog goes
 *    along. When the last connection is elsewhere, both are told.
 * 5. A connection that comes from such a worker goes on as an actor here.
 */

#include <errno.h>

#include <ringmail/clock.h>

#include "samples/kv/acceptor.h"
#include "samples/kv/connection.h"

#define BACK_OFF_NS (50 * RGM_NS_PER_MS)

struct acceptor {
    struct rgm_actor actor;
    struct kv_worker *worker;
    struct rgm_listener listener;
    struct rgm_stream stream; /* the connection that comes in */
    bool spare;
    bool retiring;
    bool evacuating; /* for `evacuation` */
    bool closed;  /* the listener, or it is elsewhere */
    bool telling; /* the server */
    struct rgm_token evacuation;
    struct retired retired;
    union { /* one at a time */
        struct rgm_accept accept;
        struct rgm_sleep sleep;
        struct rgm_close close;
        struct rgm_detach detach;
        struct emptied emptied;
    } operation;
};

RGM_FACTORY(acceptor, listening, acceptor_make);
RGM_HOOK(acceptor, acceptor_started);
RGM_HOOK(acceptor, acceptor_retiring);
RGM_HANDLER(acceptor, emptied, acceptor_emptied);
RGM_HANDLER(acceptor, evacuate, acceptor_evacuate);
RGM_HANDLER(acceptor, handover, acceptor_handover);
RGM_ANSWER(acceptor, rgm_accept, on_accepted);
RGM_ANSWER(acceptor, rgm_sleep, on_backed_off);
RGM_ANSWER(acceptor, rgm_close, on_refused);
RGM_ANSWER(acceptor, rgm_close, on_listener_closed);
RGM_ANSWER(acceptor, rgm_detach, on_detached);
RGM_ANSWER(acceptor, emptied, on_emptied);
RGM_ANSWER(acceptor, retired, on_told);
RGM_ANSWER(acceptor, retired, on_manager_told);

static const struct rgm_handler acceptor_handlers[] = {
    RGM_ON(acceptor, emptied, acceptor_emptied),
    RGM_ON(acceptor, evacuate, acceptor_evacuate),
    RGM_ON(acceptor, handover, acceptor_handover),
};

const struct rgm_behaviour acceptor_behaviour = {
    .name = "acceptor",
    .size_bytes = sizeof(struct acceptor),
    RGM_HANDLERS(acceptor_handlers),
    .factory = RGM_MAKE(acceptor, acceptor_make),
    .started = RGM_DO(acceptor, acceptor_started),
    .retiring = RGM_DO(acceptor, acceptor_retiring),
};

static int
acceptor_make(struct acceptor *self, const struct listening *listening)
{
    self->worker = listening->worker;
    self->listener = *listening->listener;
    self->spare = listening->spare;
    return 0;
}

static void refuse_evacuation(struct acceptor *self, int status);
static void listener_gone(struct acceptor *self);
static void tell_when_empty(struct acceptor *self);

/* Accept the next, or let go of the listener when that is over. */
static void
go_on(struct acceptor *self)
{
    if (self->retiring) {
        refuse_evacuation(self, -EPIPE);
        rgm_listener_close(&self->operation.close, &self->listener);
        rgm_ask(self, &self->operation.close,
                RGM_REPLY(acceptor, rgm_close, on_listener_closed));
        return;
    }
    if (self->evacuating) {
        rgm_listener_detach(&self->operation.detach, &self->listener);
        rgm_ask(self, &self->operation.detach,
                RGM_REPLY(acceptor, rgm_detach, on_detached));
        return;
    }
    rgm_stream_accept(&self->operation.accept, &self->listener, &self->stream);
    rgm_ask(self, &self->operation.accept,
            RGM_REPLY(acceptor, rgm_accept, on_accepted));
}

static void
acceptor_started(struct acceptor *self)
{
    self->worker->listeners_count++;
    if (!self->spare)
        self->worker->acceptor = rgm_self(self);
    go_on(self);
}

/* ---------------------------------------------------------------- connections */

static void
back_off(struct acceptor *self)
{
    rgm_sleep_for(&self->operation.sleep, rgm_here(self), BACK_OFF_NS);
    rgm_ask(self, &self->operation.sleep,
            RGM_REPLY(acceptor, rgm_sleep, on_backed_off));
}

static void
on_backed_off(struct acceptor *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    go_on(self);
}

static void
on_accepted(struct acceptor *self, struct rgm_accept *accept)
{
    struct connected connected = {self->worker, &self->stream, NULL};
    struct rgm_address address;

    if (rgm_status(accept) != 0) {
        if (self->retiring || self->evacuating)
            go_on(self);
        else
            back_off(self);
        return;
    }
    if (rgm_spawn(self, &connection_behaviour, &connected, &address) == 0) {
        self->stream = (struct rgm_stream){0}; /* it is the connection's */
        go_on(self);
        return;
    }
    /* No memory, or no new actors since the server stops. */
    rgm_stream_close(&self->operation.close, &self->stream);
    rgm_ask(self, &self->operation.close,
            RGM_REPLY(acceptor, rgm_close, on_refused));
}

static void
on_refused(struct acceptor *self, struct rgm_close *close)
{
    (void)close;
    go_on(self);
}

/* On the new worker; it answers when all of the other's is this one's. */
static void
acceptor_handover(struct acceptor *self, struct handover *handover)
{
    struct connected connected = {self->worker, NULL, handover};
    struct rgm_address address;

    rgm_reply(self, handover,
              rgm_spawn(self, &connection_behaviour, &connected, &address));
}

/* ---------------------------------------------------------- the listener leaves */

static void
refuse_evacuation(struct acceptor *self, int status)
{
    if (self->evacuating)
        (void)rgm_answer(self, self->evacuation, status);
    self->evacuating = false;
}

static void
take_refuges(struct kv_worker *worker, const struct evacuate *evacuate)
{
    worker->leaving = evacuate->refuges_count > 0;
    worker->refuges = evacuate->refuges;
    worker->refuges_count = evacuate->refuges_count;
}

static void
acceptor_evacuate(struct acceptor *self, struct evacuate *evacuate)
{
    int status = -EPIPE;

    if (!self->retiring && !self->closed && !self->evacuating)
        status = rgm_keep(self, evacuate, &self->evacuation);
    else if (!self->retiring && self->closed)
        status = 0; /* it is elsewhere since before */
    if (status != 0 || self->closed) {
        take_refuges(self->worker, evacuate);
        rgm_reply(self, evacuate, status);
        return;
    }
    self->evacuating = true;
    rgm_cancel(self, &self->operation.accept);
}

static void
on_detached(struct acceptor *self, struct rgm_detach *detach)
{
    struct kv_worker *worker = self->worker;
    struct evacuate *evacuate = RGM_KEPT(self, self->evacuation, evacuate);

    if (rgm_status(detach) != 0) {
        refuse_evacuation(self, rgm_status(detach));
        go_on(self);
        return;
    }
    self->evacuating = false;
    if (evacuate == NULL) { /* nobody waits for it: the server stops */
        (void)rgm_detached_close(&detach->detached);
    } else {
        evacuate->listener = detach->detached;
        take_refuges(worker, evacuate);
        (void)rgm_answer(self, self->evacuation, 0);
    }
    listener_gone(self);
}

/* ------------------------------------------- the worker goes, or the server stops */

static void
acceptor_retiring(struct acceptor *self)
{
    self->retiring = true;
    if (self->closed)
        tell_when_empty(self);
    else /* Whichever of the union is out: all begin with the request. */
        rgm_cancel(self, &self->operation.accept);
}

/* The listeners are closed and the connections are gone, in whichever order. */
static void
tell_when_empty(struct acceptor *self)
{
    struct kv_worker *worker = self->worker;

    if (!self->closed || !self->retiring || self->telling)
        return;
    worker->retiring = true; /* who comes to be the last tells me */
    if (worker->connections_count > 0 || worker->listeners_count > 0)
        return;
    self->telling = true;
    retired_prepare(&self->retired, worker->cluster->server);
    self->retired.left = worker->leaving && rgm_worker_retiring(&self->actor);
    rgm_ask(self, &self->retired, RGM_REPLY(acceptor, retired, on_told));
}

/* A spare one has nothing else to do. */
static void
listener_gone(struct acceptor *self)
{
    struct kv_worker *worker = self->worker;
    bool last = --worker->listeners_count == 0 &&
                worker->connections_count == 0 && worker->retiring;

    self->closed = true;
    if (!self->spare) {
        tell_when_empty(self);
    } else if (last) {
        emptied_prepare(&self->operation.emptied, worker->acceptor);
        rgm_ask(self, &self->operation.emptied,
                RGM_REPLY(acceptor, emptied, on_emptied));
    } else {
        rgm_stop(self);
    }
}

static void
on_emptied(struct acceptor *self, struct emptied *emptied)
{
    (void)emptied;
    rgm_stop(self);
}

static void
on_listener_closed(struct acceptor *self, struct rgm_close *close)
{
    (void)close;
    listener_gone(self);
}

static void
acceptor_emptied(struct acceptor *self, struct emptied *emptied)
{
    rgm_reply(self, emptied, 0);
    tell_when_empty(self);
}

static void
on_told(struct acceptor *self, struct retired *retired)
{
    if (!retired->left) {
        rgm_stop(self);
        return;
    }
    retired_prepare(&self->retired, self->worker->cluster->manager);
    rgm_ask(self, &self->retired,
            RGM_REPLY(acceptor, retired, on_manager_told));
}

static void
on_manager_told(struct acceptor *self, struct retired *retired)
{
    (void)retired;
    rgm_stop(self);
}
