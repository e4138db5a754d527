/* SPDX-License-Identifier: MIT */
/*
 * consumer_cpp.cpp - can a C++ program outside the tree run an actor and ask it?
 *
 * A plain thread spawns an actor on a background worker and asks it to double
 * a number. The actor waits for a moment and asks another one.
 */

#include <cstdio>
#include <ringmail/ringmail.h>

struct twice {
    struct rgm_request request;
    long value;
};
RGM_REQUEST(twice);

struct doubler {
    struct rgm_actor actor;
};

RGM_HANDLER(doubler, twice, doubler_twice);

static void
doubler_twice(struct doubler *self, struct twice *twice)
{
    twice->value *= 2;
    rgm_reply(self, twice, 0);
}

static const struct rgm_handler doubler_handlers[] = {
    RGM_ON(doubler, twice, doubler_twice),
};
static rgm_behaviour doubler_behaviour;

/* Asks a doubler what it is asked itself. */
struct relay {
    struct rgm_actor actor;
    struct rgm_address doubler;
    struct rgm_token token;
    struct twice twice;
    struct rgm_sleep sleep;
    struct rgm_down down;
};

RGM_HOOK(relay, relay_started);
RGM_HANDLER(relay, twice, relay_twice);
RGM_ANSWER(relay, twice, relay_doubled);
RGM_ANSWER(relay, rgm_sleep, relay_rested);
RGM_ANSWER(relay, rgm_down, relay_told);

static void
relay_started(struct relay *self)
{
    if (rgm_spawn_watched(self, RGM_ANY_WORKER, &doubler_behaviour, nullptr,
                          &self->down, RGM_REPLY(relay, rgm_down, relay_told),
                          &self->doubler) != 0)
        rgm_stop(self);
}

static void
relay_twice(struct relay *self, struct twice *twice)
{
    if (rgm_keep(self, twice, &self->token) != 0)
        return;
    self->twice.value = twice->value;
    rgm_sleep_for(&self->sleep, rgm_here(self), 1000);
    rgm_ask_for(self, twice, &self->sleep,
                RGM_REPLY(relay, rgm_sleep, relay_rested));
}

static void
relay_rested(struct relay *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    long value = self->twice.value;

    twice_prepare(&self->twice, self->doubler);
    self->twice.value = value;
    rgm_ask(self, &self->twice, RGM_REPLY(relay, twice, relay_doubled));
}

static void
relay_doubled(struct relay *self, struct twice *doubled)
{
    struct twice *asked = RGM_KEPT(self, self->token, twice);

    if (asked != nullptr)
        asked->value = doubled->value;
    (void)rgm_answer(self, self->token, rgm_status(doubled));
}

static void
relay_told(struct relay *self, struct rgm_down *down)
{
    (void)self;
    (void)down;
}

static const struct rgm_handler relay_handlers[] = {
    RGM_ON(relay, twice, relay_twice),
};

int
main()
{
    rgm_behaviour behaviour = {};
    rgm_runtime_options options = {};
    rgm_runtime *runtime;
    rgm_address address;
    struct twice twice = {};

    doubler_behaviour.name = "doubler";
    doubler_behaviour.size_bytes = sizeof(struct doubler);
    doubler_behaviour.handlers = doubler_handlers;
    doubler_behaviour.handlers_count = 1;
    behaviour.name = "relay";
    behaviour.size_bytes = sizeof(struct relay);
    behaviour.handlers = relay_handlers;
    behaviour.handlers_count = 1;
    behaviour.started = RGM_DO(relay, relay_started);
    options.workers = 2;
    if (rgm_runtime_create(&options, &runtime) < 0 ||
        rgm_runtime_start(runtime) < 0 ||
        rgm_runtime_spawn(runtime, RGM_ANY_WORKER, &behaviour, nullptr,
                          &address) < 0)
        return 1;
    twice_prepare(&twice, address);
    twice.value = 21;
    int status = rgm_call(runtime, &twice);
    rgm_runtime_stop(runtime);
    std::printf("%ld, status %d\n", twice.value, status);
    return rgm_runtime_wait(runtime) < 0 || rgm_runtime_destroy(runtime) < 0 ||
           status < 0 || twice.value != 42;
}
