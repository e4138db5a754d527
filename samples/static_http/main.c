/* SPDX-License-Identifier: MIT */

/*
 * main.c - static_http: the files of a directory, by HTTP/1.1.
 *
 * 1. Read the options; start the workers in the background.
 * 2. Open the directory on every worker: handles belong to one.
 * 3. Spawn the acceptor, which spawns its like on the other workers: one
 *    listener each on one port, and the kernel deals the connections out.
 * 4. Wait. SIGTERM and SIGINT stop it: requests that were received are answered,
 *    then the connections close; after --grace-ms what is left is cut off.
 */

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "samples/acceptor.h"
#include "samples/provider_name.h"
#include "samples/static_http/connection.h"

struct server server;

struct options {
    const char *bind;
    const char *root;
    uint16_t port;
    uint64_t grace_ns;
    struct rgm_runtime_options runtime;
};

/* The Date field; it is composed four times a second at most. */
void
site_date(struct site *site, uint64_t now_ns)
{
    char text[DATE_BYTES];

    if (now_ns < site->date_until_ns)
        return;
    site->date_until_ns = now_ns + RGM_NS_PER_S / 4;
    date_write((int64_t)time(NULL), text);
    site->date_bytes = (uint32_t)snprintf(site->date, sizeof(site->date),
                                          "Date: %s\r\n", text);
}

/* ------------------------------------------------------------------ options */

static void
usage(FILE *file)
{
    fprintf(file,
            "usage: static_http [options] DIRECTORY\n"
            "  --port N            port to listen on (8080; 0: any)\n"
            "  --bind ADDRESS      address to listen on (127.0.0.1)\n"
            "  --workers N         worker threads (one per usable CPU)\n"
            "  --provider NAME     ring, epoll or threads (ring, if possible)\n"
            "  --idle-ms N         between two requests (60000)\n"
            "  --header-ms N       for a request's header to arrive (10000)\n"
            "  --stall-ms N        in which a client takes something (30000)\n"
            "  --grace-ms N        for answers to leave when stopping (10000)\n"
            "  --fresh-ms N        in which a file is not looked at again (1000)\n"
            "  --cached-bytes N    files kept in memory, up to this (65536)\n"
            "  --cache-bytes N     so much of them per worker (67108864)\n"
            "  --cache-files N     files known per worker (1024)\n"
            "  --help\n");
}

static const struct option long_options[] = {
    {"port", required_argument, NULL, 'p'},
    {"bind", required_argument, NULL, 'b'},
    {"workers", required_argument, NULL, 'w'},
    {"provider", required_argument, NULL, 'P'},
    {"idle-ms", required_argument, NULL, 'i'},
    {"header-ms", required_argument, NULL, 'H'},
    {"stall-ms", required_argument, NULL, 's'},
    {"grace-ms", required_argument, NULL, 'g'},
    {"fresh-ms", required_argument, NULL, 'f'},
    {"cached-bytes", required_argument, NULL, 'c'},
    {"cache-bytes", required_argument, NULL, 'C'},
    {"cache-files", required_argument, NULL, 'F'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

#define NUMBER_MAX 1000000000u

static bool
parse_number(const char *text, uint64_t least, uint64_t *ret_number)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    if (*text < '0' || *text > '9' || *end != '\0' || number < least ||
        number > NUMBER_MAX)
        return false;
    *ret_number = number;
    return true;
}

/* Those that are a number; false when it is none, or not such an option. */
static bool
take_number(struct options *options, int option, const char *value)
{
    struct limits *limits = &server.limits;
    uint64_t number;

    if (!parse_number(value, option == 'p' || option == 'f' ? 0 : 1, &number))
        return false;
    switch (option) {
    case 'p':
        options->port = (uint16_t)number;
        return number <= UINT16_MAX;
    case 'w':
        options->runtime.workers = (uint32_t)number;
        return number <= RGM_WORKERS_MAX;
    case 'i':
        limits->idle_ns = number * RGM_NS_PER_MS;
        return true;
    case 'H':
        limits->header_ns = number * RGM_NS_PER_MS;
        return true;
    case 's':
        limits->stall_ns = number * RGM_NS_PER_MS;
        return true;
    case 'g':
        options->grace_ns = number * RGM_NS_PER_MS;
        return true;
    case 'f':
        limits->fresh_ns = number * RGM_NS_PER_MS;
        return true;
    case 'c':
        limits->cached_bytes = (size_t)number;
        return true;
    case 'C':
        limits->cache_bytes = (size_t)number;
        return true;
    case 'F':
        limits->cache_files = (uint32_t)number;
        return true;
    default:
        return false;
    }
}

static bool
take_option(struct options *options, int option, const char *value)
{
    if (option == 'b') {
        options->bind = value;
        return true;
    }
    if (option != 'P')
        return take_number(options, option, value);
    options->runtime.provider = provider_named(value);
    return options->runtime.provider != NULL;
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
        if (option != '?' && take_option(options, option, optarg))
            continue;
        if (option != '?')
            fprintf(stderr, "static_http: bad value '%s'\n", optarg);
        usage(stderr);
        return 2;
    }
    if (optind + 1 != argc) {
        usage(stderr);
        return 2;
    }
    options->root = argv[optind];
    return -1;
}

/* --------------------------------------------------------------- setting up */

__attribute__((noreturn)) static void
die(const char *what, int status)
{
    fprintf(stderr, "static_http: %s: %s\n", what, strerror(-status));
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

/* A descriptor for each connection and each file that is known. */
static void
descriptors_setup(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void
hear_signals(struct rgm_runtime *runtime)
{
    static const int numbers[] = {SIGTERM, SIGINT};

    for (int i = 0; i < 2; i++) {
        int status = rgm_signal_stop(runtime, numbers[i], &guards[i]);

        if (status != 0 && status != -EPIPE) /* the first has come */
            die("cannot hear signals", status);
    }
}

static struct rgm_runtime *
start_runtime(const struct options *options)
{
    struct rgm_runtime *runtime;
    int status = rgm_runtime_create(&options->runtime, &runtime);

    if (status != 0)
        die("cannot make the workers", status);
    status = rgm_runtime_start(runtime);
    if (status != 0) {
        fprintf(stderr, "static_http: %s\n", rgm_runtime_error(runtime));
        die("cannot start the workers", status);
    }
    return runtime;
}

static void
open_sites(const struct options *options, struct rgm_runtime *runtime)
{
    const size_t size = RGM_WORKERS_MAX * sizeof(*server.sites);
    /* What is read is parsed at once: the reads of a batch, and some that
     * wait for a file. */
    const struct rgm_pool_options pool = {
        .slots_count = 1024, .slot_size_bytes = 8192, .name = "requests"};
    int status = rgm_pool_create(&pool, &server.pool);

    server.sites = aligned_alloc(64, size);
    if (status != 0 || server.sites == NULL)
        die("no memory", -ENOMEM);
    memset(server.sites, 0, size);
    for (uint32_t i = 0; i < rgm_runtime_workers(runtime); i++) {
        struct rgm_file_open open;

        rgm_file_open(&open, rgm_worker_address(i), &server.sites[i].root,
                      options->root, RGM_FILE_READ | RGM_FILE_DIRECTORY, 0);
        status = rgm_call(runtime, &open);
        if (status != 0)
            die(options->root, status);
    }
}

static void
close_sites(void)
{
    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++) {
        cache_free(&server.sites[i]);
        outputs_free(&server.sites[i]);
        requests_free(&server.sites[i]);
    }
    free(server.sites);
    rgm_pool_destroy(server.pool);
}

/* Until a signal stops it, or it cannot listen. Returns: the exit status. */
static int
run_acceptor(struct rgm_runtime *runtime, const struct options *options,
             const struct acceptor_options *accept)
{
    const struct rgm_stop_options stop = {.timeout_ns = options->grace_ns};
    struct rgm_stop_report report;
    struct rgm_task *acceptor;
    struct rgm_end end;
    int status =
        rgm_runtime_task(runtime, 0, &acceptor_behaviour, accept, &acceptor);

    if (status != 0)
        die("cannot spawn an actor", status);
    hear_signals(runtime);
    status = rgm_task_join(acceptor, &end);
    if (status != 0)
        die("cannot wait", status);
    status = rgm_runtime_stop_and_wait(runtime, &stop, &report);
    if (status != 0)
        fprintf(stderr, "static_http: stopped: %s\n", strerror(-status));
    return status == 0 && end.status == 0 ? 0 : 1;
}

int
main(int argc, char **argv)
{
    struct options options = {.bind = "127.0.0.1",
                              .port = 8080,
                              .grace_ns = 10 * RGM_NS_PER_S};
    struct acceptor_options accept = {.connection = &connection_behaviour,
                                      .first = true};
    struct rgm_runtime *runtime;
    int status;

    server.limits = (struct limits){
        60 * RGM_NS_PER_S, 10 * RGM_NS_PER_S, 30 * RGM_NS_PER_S,
        RGM_NS_PER_S,      65536,             64u << 20,
        1024};
    status = parse_options(argc, argv, &options);
    if (status >= 0)
        return status;
    status = rgm_endpoint_parse(options.bind, options.port, &accept.endpoint);
    if (status != 0)
        die("not an address", status);
    requests_setup();
    descriptors_setup();
    signals_block();
    runtime = start_runtime(&options);
    open_sites(&options, runtime);
    status = run_acceptor(runtime, &options, &accept);
    for (int i = 0; i < 2; i++)
        rgm_signal_drop(&guards[i]);
    (void)rgm_runtime_destroy(runtime);
    close_sites();
    return status;
}
