/* SPDX-License-Identifier: MIT */

/*
 * info.c - what does INFO say? Only what is true of this server, under the
 * names Redis has for it.
 */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "samples/kv/info.h"

struct text {
    char *bytes;
    size_t length;
    size_t size;
};

__attribute__((format(printf, 2, 3))) static void
text_add(struct text *text, const char *format, ...)
{
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(text->bytes + text->length, text->size - text->length,
                       format, arguments);
    va_end(arguments);
    if (length > 0 && (size_t)length < text->size - text->length)
        text->length += (size_t)length;
}

uint8_t
info_section(struct bytes name)
{
    static const char *const names[] = {"server", "clients", "memory", "stats",
                                        "keyspace"};

    for (unsigned i = 0; i < 5; i++)
        if (bytes_is(name, names[i]))
            return (uint8_t)(1u << i);
    if (bytes_is(name, "all") || bytes_is(name, "everything") ||
        bytes_is(name, "default"))
        return INFO_ALL;
    return 0;
}

/* The process's resident memory, 0 when it cannot be told. */
static uint64_t
resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    uint64_t pages = 0;

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*u %" SCNu64, &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void
server(struct text *text, const struct kv_worker *worker, uint64_t now_ns)
{
    const struct cluster *cluster = worker->cluster;

    text_add(text,
             "# Server\r\nredis_version:%s\r\nserver_name:ringmail-kv\r\n"
             "redis_mode:standalone\r\nmultiplexing_api:%s\r\n"
             "process_id:%ld\r\ntcp_port:%u\r\nworkers:%" PRIu32 "\r\n"
             "worker_threads:%" PRIu32 "\r\nuptime_in_seconds:%" PRIu64 "\r\n",
             INFO_REDIS_VERSION, cluster->provider, (long)getpid(),
             cluster->endpoint.port, worker->owners_count,
             worker->members_count,
             (now_ns - cluster->started_ns) / RGM_NS_PER_S);
}

static void
keyspace(struct text *text, const uint64_t *sums)
{
    text_add(text, "# Keyspace\r\n");
    if (sums[SUM_DONE] > 0)
        text_add(text, "db0:keys=%" PRIu64 ",expires=%" PRIu64 ",avg_ttl=0\r\n",
                 sums[SUM_DONE], sums[SUM_EXPIRES]);
}

size_t
info_write(const struct kv_worker *worker, uint64_t now_ns,
           const uint64_t *sums, uint8_t sections, char *ret_text,
           size_t size_bytes)
{
    struct text text = {ret_text, 0, size_bytes};

    for (unsigned section = 1; section < INFO_ALL; section <<= 1) {
        if (!(sections & section))
            continue;
        if (text.length > 0)
            text_add(&text, "\r\n");
        if (section == INFO_SERVER)
            server(&text, worker, now_ns);
        if (section == INFO_CLIENTS)
            text_add(&text,
                     "# Clients\r\nconnected_clients:%" PRIu64
                     "\r\nblocked_clients:0\r\n",
                     sums[SUM_CONNECTIONS]);
        if (section == INFO_MEMORY)
            text_add(&text,
                     "# Memory\r\nused_memory:%" PRIu64
                     "\r\nused_memory_rss:%" PRIu64 "\r\nmaxmemory:0\r\n",
                     resident_bytes(), resident_bytes());
        if (section == INFO_STATS)
            text_add(&text,
                     "# Stats\r\ntotal_connections_received:%" PRIu64
                     "\r\ntotal_commands_processed:%" PRIu64
                     "\r\nexpired_keys:%" PRIu64 "\r\nslots_moved:%" PRIu64
                     "\r\nslot_longest_hold_us:%" PRIu64
                     "\r\nslots_moving:%d\r\n",
                     sums[SUM_RECEIVED], sums[SUM_COMMANDS], sums[SUM_EXPIRED],
                     sums[SUM_SLOTS_MOVED], sums[SUM_HELD_NS] / RGM_NS_PER_US,
                     worker->direct ? 0 : 1);
        if (section == INFO_KEYSPACE)
            keyspace(&text, sums);
    }
    return text.length;
}
