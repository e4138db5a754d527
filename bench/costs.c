/* SPDX-License-Identifier: MIT */

/*
 * costs.c - what does each operation allocate?
 *
 *     bench_costs N
 *
 * Every operation is called N times by this thread, on the ring and on the
 * threads provider, after N / 4 to get warm. Counted is what the whole process
 * asks of malloc and its like. That is the price of the interface, not of the
 * driver: what a request needs is in its record, so the table is of zeros. Of a
 * provider that is not there no line is printed.
 */

#include "bench/ours.h"

#include "bench/counted.h"

#include <sys/mman.h>

/* -------------------------------------------------------------- operations */

static struct rgm_listener listener;
static struct rgm_endpoint where;
static struct rgm_stream near, far;
static struct rgm_file file;
static struct rgm_pool *pool;
static char bytes[4096];

#define HERE rgm_worker_address(0)
#define CALL(what, record) ours_check(what, rgm_call(ours_runtime, record))

static void
open_and_close(void)
{
    struct rgm_file_open open;
    struct rgm_file other = {0};
    struct rgm_close close;

    rgm_file_open(&open, HERE, &other, "/dev/null", RGM_FILE_READ, 0);
    CALL("open", &open);
    rgm_file_close(&close, &other);
    CALL("close", &close);
}

static void
file_write(void)
{
    struct rgm_file_write write;

    rgm_file_write_at(&write, &file, bytes, sizeof(bytes), 0);
    CALL("write", &write);
}

static void
file_read(void)
{
    struct rgm_file_read read;

    rgm_file_read_at(&read, &file, bytes, sizeof(bytes), 0);
    CALL("read", &read);
}

static void
file_stat(void)
{
    struct rgm_file_stat stat;

    rgm_file_stat(&stat, &file);
    CALL("stat", &stat);
}

static void
connect_accept_close(void)
{
    struct rgm_stream ends[2] = {{{.open = 0}}, {{.open = 0}}};
    struct rgm_connect connect;
    struct rgm_accept accept;
    struct rgm_close close;

    rgm_stream_connect(&connect, HERE, &ends[0], &where);
    CALL("connect", &connect);
    rgm_stream_accept(&accept, &listener, &ends[1]);
    CALL("accept", &accept);
    for (int i = 0; i < 2; i++) {
        rgm_stream_close(&close, &ends[i]);
        CALL("close", &close);
    }
}

static void
stream_write(void)
{
    struct rgm_write write;

    rgm_stream_write(&write, &near, bytes, 64);
    CALL("send", &write);
}

static void
stream_write_read(void)
{
    struct rgm_read read;

    stream_write();
    rgm_stream_read(&read, &far, bytes, 64);
    CALL("receive", &read);
}

static void
stream_write_read_pooled(void)
{
    struct rgm_read_pooled read;

    stream_write();
    rgm_stream_read_pooled(&read, &far, pool);
    CALL("pooled", &read);
    ours_check("drop", rgm_lease_drop(&read.lease));
}

static void
acquire(void)
{
    struct rgm_acquire acquire;

    rgm_pool_acquire(&acquire, HERE, pool);
    CALL("acquire", &acquire);
    ours_check("drop", rgm_lease_drop(&acquire.lease));
}

static void
sleep_one_us(void)
{
    struct rgm_sleep sleep;

    rgm_sleep_for(&sleep, HERE, 1000);
    CALL("sleep", &sleep);
}

static int64_t
nothing(struct rgm_job *job)
{
    (void)job;
    return 0;
}

static void
job(void)
{
    struct rgm_job job;

    rgm_job_run(&job, HERE, nothing);
    CALL("job", &job);
}

static const struct {
    const char *name;
    void (*run)(void);
} table[] = {
    {"sleep", sleep_one_us},
    {"job", job},
    {"acquire", acquire},
    {"connect_accept_close", connect_accept_close},
    {"write_read", stream_write_read},
    {"write_read_pooled", stream_write_read_pooled},
    {"file_open_close", open_and_close},
    {"file_write", file_write},
    {"file_read", file_read},
    {"file_stat", file_stat},
};

/* ------------------------------------------------------------------ a round */

static void
world_open(void)
{
    const struct rgm_pool_options options = {
        .name = "costs", .slots_count = 4, .slot_size_bytes = 4096};
    struct rgm_file_open open;
    struct rgm_connect connect;
    struct rgm_accept accept;
    struct rgm_listen listen;

    ours_check("pool", rgm_pool_create(&options, &pool));
    ours_check("endpoint", rgm_endpoint_parse("127.0.0.1", 0, &where));
    rgm_stream_listen(&listen, HERE, &listener, &where, false);
    CALL("listen", &listen);
    where = listen.endpoint;
    rgm_stream_connect(&connect, HERE, &near, &where);
    CALL("connect", &connect);
    rgm_stream_accept(&accept, &listener, &far);
    CALL("accept", &accept);
    rgm_file_import(&open, HERE, &file,
                    memfd_create("costs", MFD_CLOEXEC));
    CALL("import", &open);
}

static void
play(const struct rgm_provider_class *provider, uint64_t rounds)
{
    const struct rgm_runtime_options options = {.workers = 1,
                                                .provider = provider};
    double most = 0;

    ours_check("create", rgm_runtime_create(&options, &ours_runtime));
    if (rgm_runtime_start(ours_runtime) < 0) {
        fprintf(stderr, "bench: %s\n", rgm_runtime_error(ours_runtime));
        (void)rgm_runtime_destroy(ours_runtime);
        return;
    }
    listener = (struct rgm_listener){{.open = 0}};
    near = far = (struct rgm_stream){{.open = 0}};
    file = (struct rgm_file){.handle = {.open = 0}};
    world_open();
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        uint64_t before;
        double each;

        for (uint64_t round = 0; round <= rounds / 4; round++)
            table[i].run();
        before = counted(&counted_allocations);
        for (uint64_t round = 0; round < rounds; round++)
            table[i].run();
        each = (double)(counted(&counted_allocations) - before) /
               (double)rounds;
        most = each > most ? each : most;
        bench_report(provider->name, table[i].name, each, "allocations");
    }
    bench_report(provider->name, "most", most, "allocations");
    rgm_runtime_stop(ours_runtime);
    ours_wait();
    rgm_pool_destroy(pool);
}

int
main(int argc, char **argv)
{
    uint64_t rounds;

    if (argc != 2) {
        fputs("usage: bench_costs N\n", stderr);
        return 2;
    }
    rounds = bench_number(argv[1], UINT64_C(1) << 24);
    play(&rgm_provider_ring, rounds);
    play(&rgm_provider_threads, rounds);
    return 0;
}
