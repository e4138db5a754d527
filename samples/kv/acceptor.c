/* SPDX-License-Identifier: MIT */

/*
 * acceptor.c - how does a connection come in, and when is it too many?
 *
 * 1. One accept is out at a time. Its connection becomes an actor here.
 * 2. When the process has no descriptor or memory left, the connection stays
 *    in the backlog: wait a little and try again.
 * 3. When the server stops, the accept is cancelled. The listener is closed,
 *    and when the worker's last connection has gone the server is told.
 */

#include <ringmail/clock.h>

#include "samples/kv/acceptor.h"
#include "samples/kv/connection.h"

#define BACK_OFF_NS (50 * RGM_NS_PER_MS)

struct acceptor {
    struct rgm_actor actor;
    struct kv_worker *worker;
    struct rgm_listener listener;
    struct rgm_stream stream; /* the connection that comes in */
    bool retiring;
    bool closed;  /* the listener */
    bool telling; /* the server */
    struct retired retired;
    union { /* one at a time */
        struct rgm_accept accept;
        struct rgm_sleep sleep;
        struct rgm_close close;
    } operation;
};

RGM_FACTORY(acceptor, listening, acceptor_make);
RGM_HOOK(acceptor, acceptor_started);
RGM_HOOK(acceptor, acceptor_retiring);
RGM_HANDLER(acceptor, emptied, acceptor_emptied);
RGM_ANSWER(acceptor, rgm_accept, on_accepted);
RGM_ANSWER(acceptor, rgm_sleep, on_backed_off);
RGM_ANSWER(acceptor, rgm_close, on_refused);
RGM_ANSWER(acceptor, rgm_close, on_listener_closed);
RGM_ANSWER(acceptor, retired, on_told);

static const struct rgm_handler acceptor_handlers[] = {
    RGM_ON(acceptor, emptied, acceptor_emptied),
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
    return 0;
}

/* Accept the next, or close the listener when that is over. */
static void
go_on(struct acceptor *self)
{
    if (self->retiring) {
        rgm_listener_close(&self->operation.close, &self->listener);
        rgm_ask(self, &self->operation.close,
                RGM_REPLY(acceptor, rgm_close, on_listener_closed));
        return;
    }
    rgm_stream_accept(&self->operation.accept, &self->listener, &self->stream);
    rgm_ask(self, &self->operation.accept,
            RGM_REPLY(acceptor, rgm_accept, on_accepted));
}

static void
acceptor_started(struct acceptor *self)
{
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
    struct connected connected = {self->worker, &self->stream};
    struct rgm_address address;

    if (rgm_status(accept) != 0) {
        if (self->retiring)
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

/* ------------------------------------------------------- the server is stopping */

static void
acceptor_retiring(struct acceptor *self)
{
    self->retiring = true;
    /* Whichever of the union is out: all of them begin with the request. */
    rgm_cancel(self, &self->operation.accept);
}

/* The listener is closed and the connections are gone, in whichever order. */
static void
tell_when_empty(struct acceptor *self)
{
    if (!self->closed || self->worker->connections_count > 0 || self->telling)
        return;
    self->telling = true;
    retired_prepare(&self->retired, self->worker->cluster->server);
    rgm_ask(self, &self->retired, RGM_REPLY(acceptor, retired, on_told));
}

static void
on_listener_closed(struct acceptor *self, struct rgm_close *close)
{
    (void)close;
    self->closed = true;
    self->worker->retiring = true;
    tell_when_empty(self);
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
    (void)retired;
    rgm_stop(self);
}
