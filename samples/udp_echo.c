/* SPDX-License-Identifier: MIT */

/*
 * udp_echo.c - what does a datagram server look like?
 *
 *     udp_echo [PORT]
 *
 * One actor, one packet socket: every datagram goes back to where it came from.
 * SIGTERM and SIGINT end it well.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringmail/ringmail.h>

struct echo {
    struct rgm_actor actor;
    struct rgm_packet packet;
    struct rgm_packet_open open;
    struct rgm_packet_read read;
    struct rgm_packet_write write;
    struct rgm_endpoint from;
    char bytes[65536];
};
RGM_FACTORY(echo, rgm_endpoint, echo_make);
RGM_HOOK(echo, echo_started);
RGM_HOOK(echo, echo_retiring);
RGM_HOOK(echo, echo_stopped);
RGM_ANSWER(echo, rgm_packet_open, on_open);
RGM_ANSWER(echo, rgm_packet_read, on_read);
RGM_ANSWER(echo, rgm_packet_write, on_written);

static int
echo_make(struct echo *self, const struct rgm_endpoint *local)
{
    self->from = *local;
    return 0;
}

static void
echo_started(struct echo *self)
{
    rgm_packet_open(&self->open, rgm_here(self), &self->packet, &self->from,
                    NULL);
    rgm_ask(self, &self->open, RGM_REPLY(echo, rgm_packet_open, on_open));
}

static void
read_next(struct echo *self)
{
    rgm_packet_read(&self->read, &self->packet, self->bytes,
                    sizeof(self->bytes), 0);
    rgm_ask(self, &self->read, RGM_REPLY(echo, rgm_packet_read, on_read));
}

static void
on_open(struct echo *self, struct rgm_packet_open *open)
{
    char text[128];

    if (rgm_status(open) != 0) {
        fprintf(stderr, "open: %s\n", strerror(-rgm_status(open)));
        rgm_stop_with(self, rgm_status(open));
        return;
    }
    (void)rgm_endpoint_format(&open->local, text, sizeof(text));
    printf("listening on %s\n", text);
    fflush(stdout);
    read_next(self);
}

/* An error of a read is that of an earlier datagram: the socket is sound. */
static void
on_read(struct echo *self, struct rgm_packet_read *read)
{
    if (rgm_status(read) == -ECANCELED) {
        rgm_stop(self);
    } else if (rgm_status(read) != 0 || read->truncated ||
               rgm_packet_source(read, &self->from) != 0) {
        read_next(self);
    } else {
        rgm_packet_write(&self->write, &self->packet, self->bytes,
                         read->count, &self->from);
        rgm_ask(self, &self->write,
                RGM_REPLY(echo, rgm_packet_write, on_written));
    }
}

static void
on_written(struct echo *self, struct rgm_packet_write *write)
{
    if (rgm_status(write) == -ECANCELED)
        rgm_stop(self);
    else
        read_next(self);
}

static void
echo_retiring(struct echo *self)
{
    rgm_stop(self);
}

static void
echo_stopped(struct echo *self)
{
    (void)rgm_packet_drop(self, &self->packet);
}

static const struct rgm_behaviour echo_behaviour = {
    .name = "echo",
    .size_bytes = sizeof(struct echo),
    .factory = RGM_MAKE(echo, echo_make),
    .started = RGM_DO(echo, echo_started),
    .retiring = RGM_DO(echo, echo_retiring),
    .stopped = RGM_DO(echo, echo_stopped),
};

/* Whatever has begun is cleaned up. Returns: how the echo ended. */
static int
serve(struct rgm_runtime *runtime, const struct rgm_endpoint *local)
{
    struct rgm_signal_guard guards[2] = {{NULL}, {NULL}};
    struct rgm_end end;
    int status = rgm_signal_stop(runtime, SIGTERM, &guards[0]);

    if (status == 0)
        status = rgm_signal_stop(runtime, SIGINT, &guards[1]);
    if (status == 0 || status == -EPIPE) /* the first has come */
        status = rgm_runtime_run_to_end(runtime, &echo_behaviour, local, &end);
    if (status != 0)
        fprintf(stderr, "%s: %s\n", strerror(-status),
                rgm_runtime_error(runtime));
    else
        status = end.status;
    for (int i = 0; i < 2; i++)
        rgm_signal_drop(&guards[i]);
    return status;
}

int
main(int argc, char **argv)
{
    const struct rgm_runtime_options options = {.workers = 1};
    char *rest = "";
    unsigned long port = argc > 1 ? strtoul(argv[1], &rest, 10) : 0;
    struct rgm_runtime *runtime;
    struct rgm_endpoint local;
    int status;

    if (argc > 2 || *rest != '\0' || port > UINT16_MAX ||
        rgm_endpoint_parse("127.0.0.1", (uint16_t)port, &local) != 0) {
        fprintf(stderr, "usage: udp_echo [PORT]\n");
        return 2;
    }
    status = rgm_runtime_create(&options, &runtime);
    if (status != 0) {
        fprintf(stderr, "no runtime: %s\n", strerror(-status));
        return 1;
    }
    status = serve(runtime, &local);
    (void)rgm_runtime_destroy(runtime);
    return status == 0 ? 0 : 1;
}
