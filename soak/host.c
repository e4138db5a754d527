/* SPDX-License-Identifier: MIT */

/* host.c - who is at the other end of the agents' connections? */

#include <string.h>

#include "soak/soak.h"

/* ------------------------------------------------------------- a connection */

/* Sends back what it gets, from where it lies, until the end. */
struct echo {
    struct rgm_actor actor;
    struct soak *soak;
    struct rgm_stream stream;
    struct rgm_read_pooled read;
    struct rgm_write write;
};

struct echo_argument {
    struct soak *soak;
    struct rgm_stream stream;
};

RGM_FACTORY(echo, echo_argument, echo_make);
RGM_HOOK(echo, echo_read);
RGM_HOOK(echo, echo_stopped);
RGM_ANSWER(echo, rgm_read_pooled, echo_has_read);
RGM_ANSWER(echo, rgm_write, echo_written);

static const struct rgm_behaviour echo_behaviour = {
    .name = "echo",
    .size_bytes = sizeof(struct echo),
    .factory = RGM_MAKE(echo, echo_make),
    .started = RGM_DO(echo, echo_read),
    .stopped = RGM_DO(echo, echo_stopped),
};

static int
echo_make(struct echo *self, const struct echo_argument *argument)
{
    self->soak = argument->soak;
    self->stream = argument->stream;
    return 0;
}

static void
echo_read(struct echo *self)
{
    rgm_stream_read_pooled(&self->read, &self->stream, self->soak->pool);
    rgm_ask(self, &self->read, RGM_REPLY(echo, rgm_read_pooled,
                                         echo_has_read));
}

static void
echo_has_read(struct echo *self, struct rgm_read_pooled *read)
{
    if (rgm_status(read) != 0 || read->end) {
        rgm_stop(self);
        return;
    }
    rgm_stream_write(&self->write, &self->stream, read->lease.data,
                     read->count);
    rgm_ask(self, &self->write, RGM_REPLY(echo, rgm_write, echo_written));
}

static void
echo_written(struct echo *self, struct rgm_write *write)
{
    (void)rgm_lease_drop(&self->read.lease);
    if (rgm_status(write) == 0)
        echo_read(self);
    else
        rgm_stop(self);
}

static void
echo_stopped(struct echo *self)
{
    (void)rgm_lease_drop(&self->read.lease);
    rgi_check(rgm_socket_drop(&self->actor, &self->stream.socket) == 0);
    soak_count(self->soak->counts.served);
}

/* ----------------------------------------------------------------- the host */

struct host {
    struct rgm_actor actor;
    struct soak *soak;
    struct rgm_listener listener;
    struct rgm_listen listen;
    struct rgm_accept accept;
    struct rgm_stream fresh;
};

RGM_FACTORY(host, host_argument, host_make);
RGM_HOOK(host, host_started);
RGM_HOOK(host, host_stopped);
RGM_ANSWER(host, rgm_listen, host_listens);
RGM_ANSWER(host, rgm_accept, host_accepted);

const struct rgm_behaviour host_behaviour = {
    .name = "host",
    .size_bytes = sizeof(struct host),
    .factory = RGM_MAKE(host, host_make),
    .started = RGM_DO(host, host_started),
    .stopped = RGM_DO(host, host_stopped),
};

static int
host_make(struct host *self, const struct host_argument *argument)
{
    self->soak = argument->soak;
    return 0;
}

static void
host_started(struct host *self)
{
    struct rgm_endpoint endpoint;

    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &endpoint) == 0);
    rgm_stream_listen(&self->listen, rgm_here(self), &self->listener,
                      &endpoint, false);
    rgm_ask(self, &self->listen, RGM_REPLY(host, rgm_listen, host_listens));
}

static void
accept_one(struct host *self)
{
    memset(&self->fresh, 0, sizeof(self->fresh));
    rgm_stream_accept(&self->accept, &self->listener, &self->fresh);
    rgm_ask(self, &self->accept, RGM_REPLY(host, rgm_accept, host_accepted));
}

static void
host_listens(struct host *self, struct rgm_listen *listen)
{
    rgi_check(rgm_status(listen) == 0);
    self->soak->endpoint = listen->endpoint;
    soak_set(&self->soak->listens, true);
    accept_one(self);
}

static void
host_accepted(struct host *self, struct rgm_accept *accept)
{
    struct echo_argument argument = {self->soak, self->fresh};
    struct rgm_address address;

    if (rgm_status(accept) == -ECANCELED)
        return; /* it stops */
    if (rgm_status(accept) == 0 &&
        rgm_spawn(self, &echo_behaviour, &argument, &address) != 0)
        rgi_check(rgm_socket_drop(&self->actor, &self->fresh.socket) == 0);
    accept_one(self);
}

static void
host_stopped(struct host *self)
{
    rgi_check(rgm_socket_drop(&self->actor, &self->listener.socket) == 0);
}
