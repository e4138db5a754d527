/* SPDX-License-Identifier: MIT */

/* serve.c - options, runtime, signals: the frame around a small server. */

#include "samples/serve.h"
#include "samples/acceptor.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rgm_pool *
serve_pool(void)
{
    struct rgm_pool_options options = {
        .slots_count = 512, .slot_size_bytes = 16384, .name = "connections"};
    struct rgm_pool *pool;

    if (rgm_pool_create(&options, &pool) != 0)
        exit(1);
    return pool;
}

static const struct rgm_provider_class *
provider_named(const char *name)
{
    return strcmp(name, "threads") == 0 ? &rgm_provider_threads
                                        : &rgm_provider_ring;
}

int
serve(int argc, char **argv, const struct rgm_behaviour *connection)
{
    struct rgm_runtime_options options = {0};
    struct acceptor_options accept = {.connection = connection, .first = true};
    struct rgm_signal_guard guards[2] = {{NULL}, {NULL}};
    struct rgm_runtime *runtime = NULL;
    int status;

    if (argc > 2)
        options.workers = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc > 3)
        options.provider = provider_named(argv[3]);
    status = rgm_endpoint_parse(
        "127.0.0.1", argc > 1 ? (uint16_t)strtoul(argv[1], NULL, 10) : 0,
        &accept.endpoint);
    if (status == 0)
        status = rgm_runtime_create(&options, &runtime);
    if (status == 0)
        status = rgm_signal_stop(runtime, SIGTERM, &guards[0]);
    if (status == 0)
        status = rgm_signal_stop(runtime, SIGINT, &guards[1]);
    if (status != 0) {
        fprintf(stderr, "cannot start: error %d\n", -status);
        rgm_signal_drop(&guards[0]);
        (void)rgm_runtime_destroy(runtime);
        return 2;
    }
    status = rgm_runtime_run(runtime, &acceptor_behaviour, &accept);
    if (status != 0)
        fprintf(stderr, "stopped: error %d %s\n", -status,
                rgm_runtime_error(runtime));
    for (int i = 0; i < 2; i++)
        rgm_signal_drop(&guards[i]);
    (void)rgm_runtime_destroy(runtime);
    return status == 0 ? 0 : 1;
}
