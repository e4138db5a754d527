/* SPDX-License-Identifier: MIT */

/*
 * main.c - ringmail-kv: a key-value server that redis-cli can use.
 *
 * 1. Read the options; start the workers in the background.
 * 2. Ask every worker to listen, all on one port: the kernel deals the
 *    connections out.
 * 3. Spawn a shard on every worker, deal the slots out, then spawn an acceptor
 *    on every worker, and on worker 0 the sequencer, the manager and the server.
 * 4. Say where it listens, and wait. SIGTERM and SIGINT stop it: what was
 *    received is answered, then all actors end, then the exit status is 0.
 */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ringmail/ringmail.h>

#include "samples/kv/acceptor.h"
#include "samples/kv/commands.h"
#include "samples/kv/manager.h"
#include "samples/kv/output.h"
#include "samples/kv/resp.h"
#include "samples/kv/server.h"
#include "samples/kv/shard.h"
#include "samples/kv/transaction.h"
#include "samples/provider_name.h"

struct options {
    const char *bind;
    uint16_t port;
    struct rgm_runtime_options runtime;
    struct limits limits;
};

static struct roster roster;
static struct cluster cluster = {.roster = &roster};
static struct rgm_runtime *runtime;

/* -------------------------------------------------------------------- options */

static void
usage(FILE *file)
{
    fprintf(file,
            "usage: ringmail-kv [options]\n"
            "  --port N             port to listen on (6379; 0: any)\n"
            "  --bind ADDRESS       address to listen on (127.0.0.1)\n"
            "  --workers N          worker threads (one per usable CPU)\n"
            "  --provider NAME      ring, epoll or threads (ring, if possible)\n"
            "  --pin                a CPU of its own for each worker\n"
            "  --spin-us N          look for work so long before sleeping\n"
            "  --pipeline N         commands of a connection at once (%d)\n"
            "  --output-bytes N     replies that may wait for it (%d)\n"
            "  --grace-ms N         for replies to leave when stopping (%d)\n"
            "  --help\n",
            LIMIT_PIPELINE, LIMIT_OUTPUT_BYTES,
            (int)(LIMIT_GRACE_NS / RGM_NS_PER_MS));
}

static bool
parse_number(const char *text, uint64_t most, uint64_t *ret_number)
{
    int64_t number = 0;

    if (!bytes_to_number((struct bytes){text, strlen(text)}, &number) ||
        number < 0 || (uint64_t)number > most)
        return false;
    *ret_number = (uint64_t)number;
    return true;
}

static const struct option long_options[] = {
    {"port", required_argument, NULL, 'p'},
    {"bind", required_argument, NULL, 'b'},
    {"workers", required_argument, NULL, 'w'},
    {"provider", required_argument, NULL, 'P'},
    {"pin", no_argument, NULL, 'n'},
    {"spin-us", required_argument, NULL, 's'},
    {"pipeline", required_argument, NULL, 'l'},
    {"output-bytes", required_argument, NULL, 'o'},
    {"grace-ms", required_argument, NULL, 'g'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* One option; false when its value is none. */
static bool
take_option(struct options *options, int option, const char *value)
{
    uint64_t number = 0;

    switch (option) {
    case 'p':
        if (!parse_number(value, UINT16_MAX, &number))
            return false;
        options->port = (uint16_t)number;
        return true;
    case 'b':
        options->bind = value;
        return true;
    case 'w':
        if (!parse_number(value, RGM_WORKERS_MAX, &number))
            return false;
        options->runtime.workers = (uint32_t)number;
        return true;
    case 'P':
        options->runtime.provider = provider_named(value);
        return options->runtime.provider != NULL;
    case 'n':
        options->runtime.pin = true;
        return true;
    case 's':
        if (!parse_number(value, 1000000, &number))
            return false;
        options->runtime.spin_us = number > 0 ? (uint32_t)number : RGM_SPIN_OFF;
        return true;
    case 'l':
        if (!parse_number(value, UINT32_C(1) << 20, &number) || number == 0)
            return false;
        options->limits.pipeline = (uint32_t)number;
        return true;
    case 'o':
        if (!parse_number(value, UINT32_C(1) << 30, &number) || number == 0)
            return false;
        options->limits.output_bytes = (uint32_t)number;
        return true;
    case 'g':
        if (!parse_number(value, 3600000, &number))
            return false;
        options->limits.grace_ns = number * RGM_NS_PER_MS;
        return true;
    default:
        return false;
    }
}

/* Returns -1 to go on, or the exit status. */
static int
parse_options(int argc, char **argv, struct options *options)
{
    int option;

    while ((option = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
        if (option == 'h') {
            usage(stdout);
            return 0;
        }
        if (take_option(options, option, optarg))
            continue;
        if (option != '?')
            fprintf(stderr, "ringmail-kv: bad value '%s'\n", optarg);
        usage(stderr);
        return 2;
    }
    if (optind == argc)
        return -1;
    usage(stderr);
    return 2;
}

/* -------------------------------------------------------------------- setting up */

__attribute__((noreturn)) static void
die(const char *what, int status)
{
    fprintf(stderr, "ringmail-kv: %s: %s\n", what, strerror(-status));
    exit(1);
}

static struct rgm_signal_guard guards[2];

/* A signal that comes before all is there waits. */
static void
signals_block(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void
hear_signals(void)
{
    static const int numbers[] = {SIGTERM, SIGINT};

    for (int i = 0; i < 2; i++) {
        int status = rgm_signal_stop(runtime, numbers[i], &guards[i]);

        if (status != 0 && status != -EPIPE) /* the first has come */
            die("cannot hear signals", status);
    }
}

static void
start_runtime(const struct options *options)
{
    int status = rgm_runtime_create(&options->runtime, &runtime);

    if (status != 0)
        die("cannot make the workers", status);
    status = rgm_runtime_start(runtime);
    if (status != 0) {
        fprintf(stderr, "ringmail-kv: %s\n", rgm_runtime_error(runtime));
        die("cannot start the workers", status);
    }
}

static void
make_cluster(const struct options *options)
{
    const size_t size = RGM_WORKERS_MAX * sizeof(*cluster.workers);
    uint32_t count = rgm_runtime_workers(runtime);
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    cluster.started_ns =
        (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
    cluster.limits = options->limits;
    cluster.provider = rgm_runtime_provider(runtime);
    cluster.workers = aligned_alloc(64, size);
    if (cluster.workers == NULL)
        die("no memory for the workers", -ENOMEM);
    memset(cluster.workers, 0, size);
    for (uint32_t i = 0; i < count; i++) {
        int status = kv_worker_open(&cluster, i);

        if (status != 0)
            die("no memory for the pools", status);
        cluster.workers[i].direct = true;
        cluster.workers[i].owners_count = count;
        cluster.workers[i].members_count = count;
    }
    roster.members_count = count;
    roster.acceptors_count = count;
}

/* The first decides the port, if that is to be chosen. */
static void
listen_on(const struct options *options, struct rgm_listener *listeners)
{
    struct rgm_listen listen;
    int status =
        rgm_endpoint_parse(options->bind, options->port, &cluster.endpoint);

    if (status != 0)
        die("not an address", status);
    for (uint32_t i = 0; i < roster.members_count; i++) {
        rgm_stream_listen(&listen, rgm_worker_address(i), &listeners[i],
                          &cluster.endpoint, true);
        status = rgm_call(runtime, &listen);
        if (status != 0)
            die("cannot listen", status);
        cluster.endpoint.port = listen.endpoint.port;
    }
}

static void
spawn(uint32_t worker, const struct rgm_behaviour *behaviour,
      const void *argument, struct rgm_address *ret_address)
{
    int status =
        rgm_runtime_spawn(runtime, worker, behaviour, argument, ret_address);

    if (status != 0)
        die("cannot spawn an actor", status);
}

/* Which shard owns which slots. */
static void
deal_out(void)
{
    struct rgm_reshard reshard;
    int status;

    rgm_reshard_by(&reshard, roster.shards[0]);
    memcpy(reshard.members, roster.shards, sizeof(reshard.members));
    reshard.members_count = roster.members_count;
    reshard.owners_count = roster.members_count;
    reshard.moves_max = 0;
    status = rgm_call(runtime, &reshard);
    if (status != 0)
        die("cannot deal the slots out", status);
}

static void
spawn_all(const struct rgm_listener *listeners)
{
    struct rgm_address acceptor;

    for (uint32_t i = 0; i < roster.members_count; i++)
        spawn(i, &shard_behaviour, &cluster.workers[i], &roster.shards[i]);
    deal_out();
    spawn(0, &sequencer_behaviour, &cluster, &cluster.sequencer);
    spawn(0, &manager_behaviour, &cluster, &cluster.manager);
    spawn(0, &server_behaviour, &cluster, &cluster.server);
    /* From here on they may change in number. */
    for (uint32_t i = 0, count = roster.members_count; i < count; i++) {
        struct listening listening = {&cluster.workers[i], &listeners[i],
                                      false};

        spawn(i, &acceptor_behaviour, &listening, &acceptor);
    }
}

static void
say_where(uint32_t workers_count)
{
    char text[128];

    if (rgm_endpoint_format(&cluster.endpoint, text, sizeof(text)) > 0)
        printf("listening on %s\n", text);
    printf("%u workers, %s\n", workers_count, cluster.provider);
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    struct options options = {
        .bind = "127.0.0.1",
        .port = 6379,
        .limits = {LIMIT_PIPELINE, RESP_BULK_MAX, LIMIT_OUTPUT_BYTES,
                   LIMIT_GRACE_NS},
    };
    struct rgm_listener listeners[RGM_WORKERS_MAX] = {0};
    int status = parse_options(argc, argv, &options);
    uint32_t workers_count;

    if (status >= 0)
        return status;
    plan_setup();
    signals_block();
    start_runtime(&options);
    make_cluster(&options);
    workers_count = roster.members_count;
    listen_on(&options, listeners);
    spawn_all(listeners);
    hear_signals();
    say_where(workers_count);

    status = rgm_runtime_wait(runtime);
    for (int i = 0; i < 2; i++)
        rgm_signal_drop(&guards[i]);
    rgm_runtime_destroy(runtime);
    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++) {
        output_close(&cluster.workers[i]);
        kv_worker_close(&cluster.workers[i]);
    }
    free(cluster.workers);
    if (status != 0)
        die("a worker failed", status);
    return 0;
}
