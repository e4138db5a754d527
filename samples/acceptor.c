/* SPDX-License-Identifier: MIT */

/*
 * acceptor.c - how do connections come in on every worker?
 *
 * One accept is out at a time. When the process has no descriptor or memory
 * left, the connection stays in the backlog, and we try again a little later.
 */

#include "samples/acceptor.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define BACK_OFF_NS (50 * RGM_NS_PER_MS)

struct acceptor {
    struct rgm_actor actor;
    struct acceptor_options options;
    struct rgm_listener listener;
    struct rgm_stream stream; /* of the connection to come */
    struct rgm_listen listen;
    struct rgm_accept accept;
    struct rgm_sleep sleep;
    struct rgm_close close;
    bool retiring;
};
RGM_FACTORY(acceptor, acceptor_options, make);
RGM_HOOK(acceptor, start);
RGM_HOOK(acceptor, retire);
RGM_ANSWER(acceptor, rgm_listen, on_listening);
RGM_ANSWER(acceptor, rgm_accept, on_accepted);
RGM_ANSWER(acceptor, rgm_sleep, on_rested);
RGM_ANSWER(acceptor, rgm_close, on_refused);
RGM_ANSWER(acceptor, rgm_close, on_closed);

const struct rgm_behaviour acceptor_behaviour = {
    "acceptor", sizeof(struct acceptor),
    .factory = RGM_MAKE(acceptor, make),
    .started = RGM_DO(acceptor, start),
    .retiring = RGM_DO(acceptor, retire)};

static int
make(struct acceptor *self, const struct acceptor_options *options)
{
    self->options = *options;
    return 0;
}

static void
start(struct acceptor *self)
{
    rgm_stream_listen(&self->listen, rgm_here(self), &self->listener,
                      &self->options.endpoint, true);
    rgm_ask(self, &self->listen, RGM_REPLY(acceptor, rgm_listen, on_listening));
}

static void finish(struct acceptor *self);

static void
accept_next(struct acceptor *self)
{
    memset(&self->stream, 0, sizeof(self->stream));
    rgm_stream_accept(&self->accept, &self->listener, &self->stream);
    rgm_ask(self, &self->accept, RGM_REPLY(acceptor, rgm_accept, on_accepted));
}

static void
on_listening(struct acceptor *self, struct rgm_listen *listen)
{
    struct acceptor_options others = self->options;
    struct rgm_address ignored;
    int status = 0;

    others.endpoint = listen->endpoint;
    others.first = false;
    if (rgm_status(listen) != 0) {
        fprintf(stderr, "cannot listen: %s\n", strerror(-rgm_status(listen)));
        rgm_stop_with(self, rgm_status(listen));
        return;
    }
    for (uint32_t i = 1; self->options.first && status != -EPIPE &&
                         i < rgm_workers_count(&self->actor);
         i++) {
        status = rgm_spawn_on(self, i, &acceptor_behaviour, &others, &ignored);
        if (status != 0 && status != -EPIPE) /* the runtime is stopping */
            fprintf(stderr, "worker %u does not accept: %s\n", i,
                    strerror(-status));
    }
    if (self->options.first)
        printf("listening on port %u\n", listen->endpoint.port);
    fflush(stdout);
    if (self->retiring)
        finish(self);
    else
        accept_next(self);
}

static void
rest(struct acceptor *self)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), BACK_OFF_NS);
    rgm_ask(self, &self->sleep, RGM_REPLY(acceptor, rgm_sleep, on_rested));
}

static void
on_accepted(struct acceptor *self, struct rgm_accept *accept)
{
    struct rgm_address connection;

    if (rgm_status(accept) != 0) {
        if (self->retiring)
            finish(self);
        else
            rest(self);
    } else if (rgm_spawn(self, self->options.connection, &self->stream,
                         &connection) == 0) {
        accept_next(self);
    } else { /* no memory, or the runtime is stopping */
        rgm_stream_close(&self->close, &self->stream);
        rgm_ask(self, &self->close, RGM_REPLY(acceptor, rgm_close, on_refused));
    }
}

static void
on_refused(struct acceptor *self, struct rgm_close *close)
{
    (void)close;
    if (self->retiring)
        finish(self);
    else
        rest(self);
}

/* Whatever is out ends with -ECANCELED, and then the listener closes. */
static void
retire(struct acceptor *self)
{
    self->retiring = true;
    rgm_cancel(self, &self->accept);
    rgm_cancel(self, &self->sleep);
}

static void
finish(struct acceptor *self)
{
    rgm_listener_close(&self->close, &self->listener);
    rgm_ask(self, &self->close, RGM_REPLY(acceptor, rgm_close, on_closed));
}

static void
on_closed(struct acceptor *self, struct rgm_close *close)
{
    (void)close;
    rgm_stop(self);
}

static void
on_rested(struct acceptor *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    if (self->retiring)
        finish(self);
    else
        accept_next(self);
}
