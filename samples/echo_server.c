/* SPDX-License-Identifier: MIT */

/*
 * echo_server.c - what does a TCP server on workers look like?
 *
 *     echo_server [PORT [WORKERS [ring|threads]]]
 *
 * A connection is an actor, and holds no buffer while it waits (acceptor.c).
 */

#include "samples/acceptor.h"
#include "samples/serve.h"

static struct rgm_pool *pool;

struct connection {
    struct rgm_actor actor;
    struct rgm_stream stream;
    struct rgm_read_pooled read;
    struct rgm_write write;
    struct rgm_close close;
    bool retiring;
};
RGM_FACTORY(connection, rgm_stream, make);
RGM_HOOK(connection, read_some);
RGM_HOOK(connection, retire);
RGM_ANSWER(connection, rgm_read_pooled, on_read);
RGM_ANSWER(connection, rgm_write, on_written);
RGM_ANSWER(connection, rgm_close, on_closed);

static int
make(struct connection *self, const struct rgm_stream *stream)
{
    self->stream = *stream;
    return 0;
}

static void
read_some(struct connection *self)
{
    rgm_stream_read_pooled(&self->read, &self->stream, pool);
    rgm_ask(self, &self->read, RGM_REPLY(connection, rgm_read_pooled, on_read));
}

static void
retire(struct connection *self)
{
    self->retiring = true; /* it may be writing, and would read again */
    rgm_cancel(self, &self->read);
}

static void
finish(struct connection *self)
{
    rgm_stream_close(&self->close, &self->stream);
    rgm_ask(self, &self->close, RGM_REPLY(connection, rgm_close, on_closed));
}

static void
on_read(struct connection *self, struct rgm_read_pooled *read)
{
    if (rgm_status(read) != 0 || read->end) {
        finish(self);
        return;
    }
    rgm_stream_write(&self->write, &self->stream, read->lease.data,
                     read->count);
    rgm_ask(self, &self->write, RGM_REPLY(connection, rgm_write, on_written));
}

static void
on_written(struct connection *self, struct rgm_write *write)
{
    (void)rgm_lease_drop(&self->read.lease);
    if (rgm_status(write) == 0 && !self->retiring)
        read_some(self);
    else
        finish(self);
}

static void
on_closed(struct connection *self, struct rgm_close *close)
{
    (void)close;
    rgm_stop(self);
}

static const struct rgm_behaviour connection_behaviour = {
    "connection", sizeof(struct connection),
    .factory = RGM_MAKE(connection, make),
    .started = RGM_DO(connection, read_some),
    .retiring = RGM_DO(connection, retire)};

int
main(int argc, char **argv)
{
    pool = serve_pool();
    return serve(argc, argv, &connection_behaviour);
}
