/* SPDX-License-Identifier: MIT */

/* serve.c - options, runtime, signals: the frame around a small server. */

#include "samples/provider_name.h"
#include "samples/serve.h"
#include "samples/acceptor.h"

#include <errno.h>
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

/* False: it is no number, or too large. */
static bool
number_of(const char *text, unsigned long most, unsigned long *ret_number)
{
    char *end;

    *ret_number = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && *ret_number <= most;
}

static bool
understand(int argc, char **argv, unsigned long *ret_port,
           struct rgm_runtime_options *options)
{
    unsigned long workers = 0;

    if (argc > 4 || (argc > 1 && !number_of(argv[1], UINT16_MAX, ret_port)) ||
        (argc > 2 && !number_of(argv[2], RGM_WORKERS_MAX, &workers)))
        return false;
    options->workers = (uint32_t)workers;
    if (argc > 3)
        options->provider = provider_named(argv[3]);
    return argc <= 3 || options->provider != NULL;
}

int
serve(int argc, char **argv, const struct rgm_behaviour *connection)
{
    struct rgm_runtime_options options = {0};
    struct acceptor_options accept = {.connection = connection, .first = true};
    struct rgm_signal_guard guards[2] = {{NULL}, {NULL}};
    struct rgm_runtime *runtime = NULL;
    struct rgm_end end;
    unsigned long port = 0;
    int status;

    if (!understand(argc, argv, &port, &options)) {
        fprintf(stderr, "usage: %s [PORT [WORKERS [ring|epoll|threads]]]\n",
                argv[0]);
        return 2;
    }
    status = rgm_endpoint_parse("127.0.0.1", (uint16_t)port, &accept.endpoint);
    if (status == 0)
        status = rgm_runtime_create(&options, &runtime);
    if (status == 0)
        status = rgm_signal_stop(runtime, SIGTERM, &guards[0]);
    if (status == 0)
        status = rgm_signal_stop(runtime, SIGINT, &guards[1]);
    if (status == -EPIPE) /* the first has come */
        status = 0;
    if (status != 0) {
        fprintf(stderr, "cannot start: %s\n", strerror(-status));
        rgm_signal_drop(&guards[0]);
        (void)rgm_runtime_destroy(runtime);
        return 2;
    }
    status =
        rgm_runtime_run_to_end(runtime, &acceptor_behaviour, &accept, &end);
    if (status != 0)
        fprintf(stderr, "stopped: %s: %s\n", strerror(-status),
                rgm_runtime_error(runtime));
    else
        status = end.status;
    for (int i = 0; i < 2; i++)
        rgm_signal_drop(&guards[i]);
    (void)rgm_runtime_destroy(runtime);
    return status == 0 ? 0 : 1;
}
