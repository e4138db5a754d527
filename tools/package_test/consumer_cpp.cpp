/* SPDX-License-Identifier: MIT */
/*
 * consumer_cpp.cpp - can a C++ program outside the tree run an actor and ask it?
 *
 * A plain thread spawns an actor on a background worker and asks it to double
 * a number.
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

int
main()
{
    rgm_behaviour behaviour = {};
    rgm_runtime_options options = {};
    rgm_runtime *runtime;
    rgm_address address;
    struct twice twice = {};

    behaviour.name = "doubler";
    behaviour.size_bytes = sizeof(struct doubler);
    behaviour.handlers = doubler_handlers;
    behaviour.handlers_count = 1;
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
