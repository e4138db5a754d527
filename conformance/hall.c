/* SPDX-License-Identifier: MIT */

/* hall.c - a crowd of connections, each an actor that echoes what it reads. */

#include "conformance/hall.h"

#include <sched.h>
#include <sys/resource.h>

#define ADD(counter) (void)__atomic_add_fetch(&(counter), 1, __ATOMIC_SEQ_CST)
#define LOOK(counter) __atomic_load_n(&(counter), __ATOMIC_SEQ_CST)

struct echo {
    struct rgm_actor actor;
    struct hall *hall;
    struct rgm_stream stream;
    union {
        struct rgm_accept accept;
        struct rgm_read read;
        struct rgm_write write;
        struct rgm_close close;
    } op; /* one at a time */
    char bytes[HALL_BUFFER_BYTES];
};

struct echo_argument {
    struct hall *hall;
};

RGM_FACTORY(echo, echo_argument, echo_make);
RGM_HOOK(echo, echo_started);
RGM_ANSWER(echo, rgm_accept, echo_accepted);
RGM_ANSWER(echo, rgm_read, echo_has_read);
RGM_ANSWER(echo, rgm_write, echo_has_written);
RGM_ANSWER(echo, rgm_close, echo_closed);

static const struct rgm_behaviour echo_behaviour = {
    .name = "echo",
    .size_bytes = sizeof(struct echo),
    .factory = RGM_MAKE(echo, echo_make),
    .started = RGM_DO(echo, echo_started),
};

static int
echo_make(struct echo *self, const struct echo_argument *argument)
{
    self->hall = argument->hall;
    return 0;
}

static void
echo_started(struct echo *self)
{
    rgm_stream_accept(&self->op.accept, &self->hall->stage->listener,
                      &self->stream);
    rgm_ask(self, &self->op.accept, RGM_REPLY(echo, rgm_accept, echo_accepted));
}

static void
echo_read(struct echo *self)
{
    rgm_stream_read(&self->op.read, &self->stream, self->bytes,
                    sizeof(self->bytes));
    rgm_ask(self, &self->op.read, RGM_REPLY(echo, rgm_read, echo_has_read));
}

static void
echo_close(struct echo *self)
{
    rgm_stream_close(&self->op.close, &self->stream);
    rgm_ask(self, &self->op.close, RGM_REPLY(echo, rgm_close, echo_closed));
}

static void
echo_accepted(struct echo *self, struct rgm_accept *accept)
{
    struct echo_argument argument = {self->hall};
    struct rgm_address next;
    int status = rgm_status(accept);

    if (status == -ECANCELED) {
        rgm_stop(self);
        return;
    }
    rgi_check(status == 0);
    status = rgm_spawn(self, &echo_behaviour, &argument, &next);
    rgi_check(status == 0 || status == -EPIPE);
    ADD(self->hall->accepted);
    echo_read(self);
}

static void
echo_has_read(struct echo *self, struct rgm_read *read)
{
    size_t count = read->count;

    if (rgm_status(read) != 0 || read->end) {
        if (rgm_status(read) == 0)
            ADD(self->hall->ended);
        else if (rgm_status(read) != -ECANCELED)
            ADD(self->hall->broken);
        echo_close(self);
        return;
    }
    rgm_stream_write(&self->op.write, &self->stream, self->bytes, count);
    rgm_ask(self, &self->op.write,
            RGM_REPLY(echo, rgm_write, echo_has_written));
}

static void
echo_has_written(struct echo *self, struct rgm_write *write)
{
    if (rgm_status(write) == 0) {
        echo_read(self);
        return;
    }
    if (rgm_status(write) != -ECANCELED)
        ADD(self->hall->broken);
    echo_close(self);
}

static void
echo_closed(struct echo *self, struct rgm_close *close)
{
    rgi_check(rgm_status(close) == 0);
    ADD(self->hall->closed);
    rgm_stop(self);
}

void
hall_open(struct hall *hall, struct stage *stage)
{
    struct echo_argument argument = {hall};
    struct rgm_address first;

    memset(hall, 0, sizeof(*hall));
    hall->stage = stage;
    if (!stage->listener.socket.open)
        stage_listen(stage);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &echo_behaviour, &argument,
                                &first) == 0);
}

void
hall_await_accepted(struct hall *hall, uint32_t count)
{
    while (LOOK(hall->accepted) < count)
        sched_yield();
    rgi_check(LOOK(hall->accepted) == count);
}

void
hall_await_closed(struct hall *hall, uint32_t count)
{
    while (LOOK(hall->closed) < count)
        sched_yield();
    rgi_check(LOOK(hall->closed) == count);
}

/* The listener is busy with an accept until the stop has cancelled that. */
void
hall_close(struct hall *hall)
{
    stage_stop(hall->stage);
    stage_wait(hall->stage);
    rgi_check(LOOK(hall->closed) == LOOK(hall->accepted));
}

uint32_t
hall_descriptors(uint32_t connections)
{
    const rlim_t spare = 100;
    struct rlimit limit;
    rlim_t wanted = (rlim_t)connections * 2 + spare;

    rgi_check(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < wanted)
        wanted = limit.rlim_max;
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = wanted;
        rgi_check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    }
    return (uint32_t)((wanted - spare) / 2);
}
