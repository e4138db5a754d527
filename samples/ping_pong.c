/* SPDX-License-Identifier: MIT */

/*
 * ping_pong.c - how fast does a request go to another worker and back?
 *
 *     ping_pong [ROUNDS]
 */

#include <ringmail/ringmail.h>

#include <stdio.h>
#include <stdlib.h>

struct ping {
    struct rgm_request request;
    unsigned long round;
};
RGM_REQUEST(ping);

struct ponger {
    struct rgm_actor actor;
};
RGM_HANDLER(ponger, ping, ponger_ping);

static void
ponger_ping(struct ponger *self, struct ping *ping)
{
    ping->round++;
    rgm_reply(self, ping, 0);
}

static const struct rgm_handler ponger_handlers[] = {
    RGM_ON(ponger, ping, ponger_ping),
};
static const struct rgm_behaviour ponger_behaviour = {
    .name = "ponger",
    .size_bytes = sizeof(struct ponger),
    RGM_HANDLERS(ponger_handlers),
};

static unsigned long rounds = 100000;

struct pinger {
    struct rgm_actor actor;
    struct ping ping;
    uint64_t begin_ns;
};
RGM_HOOK(pinger, pinger_started);
RGM_ANSWER(pinger, ping, pinger_ponged);

static void
pinger_started(struct pinger *self)
{
    struct rgm_address ponger;

    if (rgm_spawn_on(self, 1, &ponger_behaviour, NULL, &ponger) != 0)
        exit(1);
    self->begin_ns = rgm_now(&self->actor);
    ping_prepare(&self->ping, ponger);
    rgm_ask(self, &self->ping, RGM_REPLY(pinger, ping, pinger_ponged));
}

static void
pinger_ponged(struct pinger *self, struct ping *ping)
{
    double ns;

    if (ping->round < rounds) {
        rgm_ask(self, ping, RGM_REPLY(pinger, ping, pinger_ponged));
        return;
    }
    ns = (double)(rgm_now(&self->actor) - self->begin_ns);
    printf("%lu rounds, %.0f ns each\n", ping->round, ns / (double)rounds);
    rgm_stop(self);
}

static const struct rgm_behaviour pinger_behaviour = {
    .name = "pinger",
    .size_bytes = sizeof(struct pinger),
    .started = RGM_DO(pinger, pinger_started),
};

int
main(int argc, char **argv)
{
    struct rgm_runtime_options options = {.workers = 2};
    struct rgm_runtime *runtime;

    if (argc > 1)
        rounds = strtoul(argv[1], NULL, 10);
    if (rgm_runtime_create(&options, &runtime) != 0 ||
        rgm_runtime_run(runtime, &pinger_behaviour, NULL) != 0)
        return 1;
    return rgm_runtime_destroy(runtime);
}
