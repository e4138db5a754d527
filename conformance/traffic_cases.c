/* SPDX-License-Identifier: MIT */

/* traffic_cases.c - do the counters say what has happened? */

#include "conformance/traffic_cases.h"

#include <stdlib.h>

#include "conformance/scratch.h"

/* What is done, each once or so, and counted here as well. */
struct traffic {
    struct scratch scratch;
    struct rgm_file file;
    struct rgm_stream near, far;
    struct rgm_packet packet;
    struct rgm_endpoint packet_at;
    struct rgm_pool *pool;
    struct rgm_counters want; /* more than before */
};

static void
streams(struct stage *stage, struct traffic *t)
{
    struct rgm_counters *want = &t->want;
    struct rgm_read_pooled pooled;
    char bytes[16];
    bool end;

    stage_pair_own(stage, &t->near, &t->far);
    want->network_accepts++;
    want->network_connects++;
    for (int i = 0; i < 3; i++) {
        rgi_check(stage_write(stage, &t->near, "12345", 5) == 0);
        want->network_writes++;
        want->network_write_bytes += 5;
        rgi_check(stage_read(stage, &t->far, bytes, 5, &end) == 5);
        want->network_reads++;
        want->network_read_bytes += 5;
    }
    rgi_check(stage_write(stage, &t->near, "123", 3) == 0);
    rgm_stream_read_pooled(&pooled, &t->far, t->pool);
    rgi_check(rgm_call(stage->runtime, &pooled) == 0 && pooled.count == 3);
    rgi_check(rgm_lease_drop(&pooled.lease) == 0);
    want->network_writes++;
    want->network_write_bytes += 3;
    want->network_reads++;
    want->network_read_bytes += 3;
}

/* Without an operation; a look ahead takes nothing. */
static void
at_once(struct puppet *puppet, void *argument)
{
    struct traffic *t = argument;
    char bytes[8];
    size_t count;
    bool end;

    rgi_check(rgm_transfer_write(&puppet->actor, &t->near, "12", 2, 0,
                                 &count) == 0 && count == 2);
    while (rgm_transfer_read(&puppet->actor, &t->far, bytes, sizeof(bytes),
                             RGM_TRANSFER_PEEK, &count, &end) == -EAGAIN)
        continue;
    rgi_check(count == 2);
    rgi_check(rgm_transfer_read(&puppet->actor, &t->far, bytes, sizeof(bytes),
                                0, &count, &end) == 0 && count == 2);
    t->want.network_writes++;
    t->want.network_write_bytes += 2;
    t->want.network_reads++;
    t->want.network_read_bytes += 2;
}

static void
packets(struct stage *stage, struct traffic *t)
{
    struct rgm_endpoint local = loopback();
    struct rgm_packet_read_pooled pooled;
    struct rgm_packet_open open;
    struct rgm_packet_write write;
    struct rgm_packet_read read;
    struct rgm_close close;
    char bytes[64];

    rgm_packet_open(&open, HERE, &t->packet, &local, NULL);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    memset(bytes, 'x', sizeof(bytes));
    for (int i = 0; i < 2; i++) { /* to itself */
        rgm_packet_write(&write, &t->packet, bytes, 40, &open.local);
        rgi_check(rgm_call(stage->runtime, &write) == 0);
        t->want.network_writes++;
        t->want.network_write_bytes += 40;
    }
    rgm_packet_read(&read, &t->packet, bytes, sizeof(bytes), 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 40);
    rgm_packet_read_pooled(&pooled, &t->packet, t->pool, 0);
    rgi_check(rgm_call(stage->runtime, &pooled) == 0 && pooled.truncated);
    t->want.network_reads += 2;
    t->want.network_read_bytes += 40 + pooled.count;
    t->want.pool_oversized++;
    rgm_datagram_drop(&pooled);
    rgm_packet_close(&close, &t->packet);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
}

static void
files(struct stage *stage, struct traffic *t)
{
    struct rgm_file_write write;
    struct rgm_file_sync sync;
    struct rgm_file_read read;
    struct rgm_send_file send;
    char bytes[8];

    rgm_file_write_at(&write, &t->file, "written", 7, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgm_file_sync(&sync, &t->file);
    rgi_check(rgm_call(stage->runtime, &sync) == 0);
    rgm_file_read_at(&read, &t->file, bytes, sizeof(bytes), 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 7);
    rgm_stream_send_file(&send, &t->near, &t->file, 0, 4);
    rgi_check(rgm_call(stage->runtime, &send) == 0);
    t->want.storage_writes++;
    t->want.storage_write_bytes += 7;
    t->want.storage_syncs++;
    t->want.storage_reads += 2;
    t->want.storage_read_bytes += 7 + 4;
    t->want.network_writes++;
    t->want.network_write_bytes += 4;
}

/* Counters that have grown by something else, or in the text are another
 * number, are told by name. */
#define COMPARED(X)                                                            \
    X(storage_reads)                                                           \
    X(storage_read_bytes)                                                      \
    X(storage_writes)                                                          \
    X(storage_write_bytes)                                                     \
    X(storage_syncs)                                                           \
    X(network_accepts)                                                         \
    X(network_connects)                                                        \
    X(network_reads)                                                           \
    X(network_read_bytes)                                                      \
    X(network_writes)                                                          \
    X(network_write_bytes)                                                     \
    X(pool_oversized)                                                          \
    X(spawned)                                                                 \
    X(stopped)

static void
scraped_is(struct stage *stage, const char *name, uint64_t value)
{
    static char text[131072];
    char line[128];

    rgi_check(rgm_runtime_metrics(stage->runtime, NULL, text, sizeof(text)) <
              (long)sizeof(text));
    snprintf(line, sizeof(line), "\nringmail_%s_total{worker=\"0\"} %llu\n",
             name, (unsigned long long)value);
    if (strstr(text, line) == NULL) {
        fprintf(stderr, "not scraped:%s", line);
        rgi_check(!"the text says another number");
    }
}

static void
one_is(const char *name, uint64_t before, uint64_t after, uint64_t want)
{
    if (after - before == want)
        return;
    fprintf(stderr, "%s: %llu, not %llu\n", name,
            (unsigned long long)(after - before), (unsigned long long)want);
    rgi_check(!"a counter says something else");
}

void
met_03_counters_equal_the_workload(struct stage *stage)
{
    struct traffic t = {.pool = pool_of(2, 16)};
    struct rgm_counters before, after;

    scratch_open(stage, &t.scratch);
    file_open_both(stage, &t.scratch, &t.file);
    stage_listen(stage);
    before = stage_counters(stage);
    streams(stage, &t);
    stage_do(stage, at_once, &t);
    packets(stage, &t);
    files(stage, &t);
    after = stage_counters(stage);
#define ONE(name) one_is(#name, before.name, after.name, t.want.name);
    COMPARED(ONE)
#undef ONE
    rgi_check(after.deliveries > before.deliveries);
    rgi_check(after.turns > before.turns && after.actors == before.actors);
    rgi_check(after.operations > before.operations);
#define ONE(name) scraped_is(stage, #name, after.name);
    COMPARED(ONE)
#undef ONE
    rgi_check(stage_close_stream(stage, &t.near) == 0);
    rgi_check(stage_close_stream(stage, &t.far) == 0);
    rgi_check(file_close(stage, &t.file) == 0);
    scratch_close(stage, &t.scratch);
    rgm_pool_destroy(t.pool);
}

void
met_03_process_counts_its_pools_and_memory(struct stage *stage)
{
    struct rgm_process_counters before, after;
    struct rgm_lease first, second;
    struct rgm_pool *pool;

    stage_open(stage);
    rgm_process_look(&before);
    pool = pool_of(1, 16);
    rgi_check(rgm_pool_try_acquire(pool, &first) == 0);
    for (int i = 0; i < 3; i++)
        rgi_check(rgm_pool_try_acquire(pool, &second) == -EAGAIN);
    rgm_process_look(&after);
    rgi_check(after.pools_created == before.pools_created + 1);
    rgi_check(after.pool_exhausted == before.pool_exhausted + 3);
    rgi_check(after.resident_bytes > 0);
    rgi_check(after.virtual_bytes >= after.resident_bytes);
    rgi_check(rgm_lease_drop(&first) == 0);
    rgm_pool_destroy(pool);
    stage_close(stage);
}
