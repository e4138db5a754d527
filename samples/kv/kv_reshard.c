/* SPDX-License-Identifier: MIT */

/*
 * kv_reshard.c - does anybody notice that the keys move to other workers?
 *
 *     kv_reshard [KEYS] SERVER [its arguments ...]
 *
 * 1. Start the server, and give it keys.
 * 2. Clients write increasing values, pipelined, and read back: what they read
 *    of their own keys is what they wrote last; what they read of others' is no
 *    less than what had been acknowledged when they asked. Now and then they set
 *    and read several keys at once. Meanwhile connections come and go.
 * 3. The number of workers goes 4, 1, 6, 2, each time after everybody has done
 *    so much. Threads go with them; the connections of a worker that goes go on
 *    elsewhere, those in the middle of a command and of unread replies, too.
 * 4. In the end every key is there, with its last value and its time to live;
 *    SIGTERM, and the exit status is 0.
 *
 * Any reset, refusal, error reply or wrong number ends it. Prints the longest
 * time between a request and its reply, before slots move and while they do, and
 * the longest time a worker held requests back for one. How many keys if it is
 * not said: rgi_scale(1000000).
 */

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "samples/kv/kv_driver.h"

#define CLIENTS 8
#define PIPELINE 16
#define ROW 4 /* keys of one MSET */

static uint64_t keys_count;
static uint64_t per_phase;             /* pipelines of each client */
static _Atomic uint32_t *acknowledged; /* by key */
static _Atomic uint64_t done[CLIENTS]; /* pipelines */
static _Atomic uint64_t longest_ns;
static _Atomic uint64_t connections;
static atomic_bool running = true;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER;

static uint64_t
clock_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void
note_time(uint64_t begin_ns)
{
    uint64_t took_ns = clock_ns() - begin_ns;
    uint64_t longest = atomic_load(&longest_ns);

    while (took_ns > longest &&
           !atomic_compare_exchange_weak(&longest_ns, &longest, took_ns))
        continue;
}

static redisReply *
reply_of(redisContext *client, int type)
{
    void *reply = NULL;

    if (redisGetReply(client, &reply) != REDIS_OK) {
        fprintf(stderr, "connection: %s\n", client->errstr);
        rgi_check(!"a connection ended");
    }
    if (((redisReply *)reply)->type != type)
        fprintf(stderr, "reply: %s\n", ((redisReply *)reply)->str);
    rgi_check(((redisReply *)reply)->type == type);
    return reply;
}

static void
expect_ok(redisContext *client)
{
    redisReply *reply = reply_of(client, REDIS_REPLY_STATUS);

    rgi_check(strcmp(reply->str, "OK") == 0);
    freeReplyObject(reply);
}

static uint32_t
value_in(const redisReply *reply)
{
    return (uint32_t)number_of(reply);
}

/* ---------------------------------------------------------------------- clients */

struct client {
    redisContext *context;
    uint64_t number;
    uint64_t state; /* of the random numbers */
};

/* A client writes the keys whose number leaves its own, divided by CLIENTS. */
static uint64_t
own_key(struct client *self)
{
    uint64_t key = random_next(&self->state) % (keys_count / CLIENTS);

    return key * CLIENTS + self->number;
}

/* Each SET is read back at once, without waiting for its answer. */
static void
write_and_read(struct client *self)
{
    uint64_t keys[PIPELINE];
    uint32_t values[PIPELINE];
    uint64_t begin_ns = clock_ns();

    for (int i = 0; i < PIPELINE; i++) {
        keys[i] = own_key(self);
        values[i] = atomic_load(&acknowledged[keys[i]]) + 1;
        for (int at = 0; at < i; at++)
            if (keys[at] == keys[i])
                values[i] = values[at] + 1;
        redisAppendCommand(self->context, "SET key:%llu %u KEEPTTL",
                           (unsigned long long)keys[i], values[i]);
        redisAppendCommand(self->context, "GET key:%llu",
                           (unsigned long long)keys[i]);
    }
    for (int i = 0; i < PIPELINE; i++) {
        redisReply *reply;

        expect_ok(self->context);
        atomic_store(&acknowledged[keys[i]], values[i]);
        reply = reply_of(self->context, REDIS_REPLY_STRING);
        rgi_check(value_in(reply) == values[i]);
        freeReplyObject(reply);
    }
    note_time(begin_ns);
}

static void
read_others(struct client *self)
{
    uint32_t least[PIPELINE];

    for (int i = 0; i < PIPELINE; i++) {
        uint64_t key = random_next(&self->state) % keys_count;

        least[i] = atomic_load(&acknowledged[key]);
        redisAppendCommand(self->context, "GET key:%llu",
                           (unsigned long long)key);
    }
    for (int i = 0; i < PIPELINE; i++) {
        redisReply *reply = reply_of(self->context, REDIS_REPLY_STRING);

        rgi_check(value_in(reply) >= least[i]);
        freeReplyObject(reply);
    }
}

/* A row of one's own: all of it has one number at any time. */
static void
write_row(struct client *self)
{
    unsigned long long number = self->number;
    unsigned value = (unsigned)atomic_load(&done[self->number]) + 1;
    redisReply *reply;

    redisAppendCommand(self->context,
                       "MSET row:%llu:0 %u row:%llu:1 %u row:%llu:2 %u "
                       "row:%llu:3 %u",
                       number, value, number, value, number, value, number,
                       value);
    redisAppendCommand(self->context,
                       "MGET row:%llu:3 row:%llu:2 row:%llu:1 row:%llu:0",
                       number, number, number, number);
    expect_ok(self->context);
    reply = reply_of(self->context, REDIS_REPLY_ARRAY);
    rgi_check(reply->elements == ROW);
    for (int i = 0; i < ROW; i++)
        rgi_check(value_in(reply->element[i]) == value);
    freeReplyObject(reply);
}

static void
read_row(struct client *self)
{
    unsigned long long number = random_next(&self->state) % CLIENTS;
    redisReply *reply;

    redisAppendCommand(self->context,
                       "MGET row:%llu:0 row:%llu:1 row:%llu:2 row:%llu:3",
                       number, number, number, number);
    reply = reply_of(self->context, REDIS_REPLY_ARRAY);
    rgi_check(reply->elements == ROW);
    for (int i = 1; i < ROW; i++)
        rgi_check(reply->element[i]->type == reply->element[0]->type &&
                  (reply->element[0]->type == REDIS_REPLY_NIL ||
                   value_in(reply->element[i]) == value_in(reply->element[0])));
    freeReplyObject(reply);
}

static void *
run_client(void *argument)
{
    struct client self = {.number = (uint64_t)(uintptr_t)argument};

    self.context = connected();
    self.state = (rgi_seed() ^ (self.number + 1) * 7919) | 1;
    while (atomic_load(&running)) {
        write_and_read(&self);
        read_others(&self);
        write_row(&self);
        read_row(&self);
        pthread_mutex_lock(&mutex);
        atomic_fetch_add(&done[self.number], 1);
        pthread_cond_signal(&progress);
        pthread_mutex_unlock(&mutex);
    }
    redisFree(self.context);
    return NULL;
}

static void *
come_and_go(void *argument)
{
    (void)argument;
    while (atomic_load(&running)) {
        uint64_t begin_ns = clock_ns();
        redisContext *client = connected();
        redisReply *reply;

        redisAppendCommand(client, "GET key:0");
        reply = reply_of(client, REDIS_REPLY_STRING);
        freeReplyObject(reply);
        redisFree(client);
        atomic_fetch_add(&connections, 1);
        note_time(begin_ns);
    }
    return NULL;
}

/* ----------------------------------------------------------------------- phases */

/* Half of the keys have a time to live, long after the end. */
static void
load(redisContext *client)
{
    uint64_t asked = 0;
    uint64_t answered = 0;

    while (answered < keys_count) {
        while (asked < keys_count && asked < answered + 512) {
            redisAppendCommand(client,
                               asked % 2 ? "SET key:%llu 0 EX 90000"
                                         : "SET key:%llu 0",
                               (unsigned long long)asked);
            asked++;
        }
        expect_ok(client);
        answered++;
    }
}

static void
wait_for_everybody(void)
{
    uint64_t goals[CLIENTS];

    for (int i = 0; i < CLIENTS; i++)
        goals[i] = atomic_load(&done[i]) + per_phase;
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < CLIENTS; i++)
        while (atomic_load(&done[i]) < goals[i])
            pthread_cond_wait(&progress, &mutex);
    pthread_mutex_unlock(&mutex);
}

static void
change_workers(redisContext *client, unsigned count)
{
    uint64_t begin_ns = clock_ns();
    char text[16];
    redisReply *reply;

    redisAppendCommand(client, "CONFIG SET workers %u", count);
    expect_ok(client);
    redisAppendCommand(client, "CONFIG GET workers");
    reply = reply_of(client, REDIS_REPLY_ARRAY);
    snprintf(text, sizeof(text), "%u", count);
    rgi_check(reply->elements == 2 &&
              strcmp(reply->element[1]->str, text) == 0);
    freeReplyObject(reply);
    printf("%u workers after %.1f ms, longest reply so far %.1f ms\n", count,
           (double)(clock_ns() - begin_ns) / 1e6,
           (double)atomic_load(&longest_ns) / 1e6);
    redisAppendCommand(client, "DBSIZE");
    reply = reply_of(client, REDIS_REPLY_INTEGER);
    rgi_check((uint64_t)reply->integer >= keys_count &&
              (uint64_t)reply->integer <= keys_count + CLIENTS * ROW + 1);
    freeReplyObject(reply);
}

static void
check_all(redisContext *client)
{
    for (uint64_t key = 0; key < keys_count; key++) {
        redisReply *reply;

        redisAppendCommand(client, "GET key:%llu", (unsigned long long)key);
        if (key % 64 == 0)
            redisAppendCommand(client, "TTL key:%llu",
                               (unsigned long long)(key + key / 64 % 2));
        reply = reply_of(client, REDIS_REPLY_STRING);
        rgi_check(value_in(reply) == atomic_load(&acknowledged[key]));
        freeReplyObject(reply);
        if (key % 64 != 0)
            continue;
        reply = reply_of(client, REDIS_REPLY_INTEGER);
        rgi_check(key / 64 % 2 ? reply->integer > 0 : reply->integer == -1);
        freeReplyObject(reply);
    }
}

/* What the server says of itself. */
static uint64_t
info_number(redisContext *client, const char *name)
{
    redisReply *reply;
    const char *at;
    uint64_t number;

    redisAppendCommand(client, "INFO");
    reply = reply_of(client, REDIS_REPLY_STRING);
    at = strstr(reply->str, name);
    rgi_check(at != NULL);
    number = strtoull(at + strlen(name) + 1, NULL, 10);
    freeReplyObject(reply);
    return number;
}

/* Threads of the server, as the machine says: proc(5). */
static unsigned
threads_count(pid_t pid)
{
    char line[128];
    unsigned count = 0;
    FILE *file;

    snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
    file = fopen(line, "r");
    rgi_check(file != NULL);
    while (count == 0 && fgets(line, sizeof(line), file) != NULL)
        (void)sscanf(line, "Threads: %u", &count);
    fclose(file);
    rgi_check(count > 0);
    return count;
}

/* Until as many workers as said are there, and the others' threads are not. */
static void
await_threads(redisContext *client, pid_t pid, unsigned workers,
              unsigned threads_max)
{
    while (info_number(client, "worker_threads") != workers ||
           threads_count(pid) > threads_max)
        sched_yield();
}

/* ------------------------------------------------------- connections that move */

#define SLOW 16 /* in the middle of a command whenever workers change */
#define LARGE_BYTES 65536
#define LARGE_READS 256 /* more than sockets and server keep */

static redisContext *slow[SLOW];
static redisContext *lazy; /* has asked, and does not read */

static void
say(redisContext *client, const char *text)
{
    size_t length = strlen(text);

    rgi_check(write(client->fd, text, length) == (ssize_t)length);
}

static void
slow_begin(void)
{
    for (int i = 0; i < SLOW; i++) {
        slow[i] = connected();
        say(slow[i], "*2\r\n$4\r\nECHO\r\n$6\r\nsl");
    }
}

/* The other half of the command, and half of the next. */
static void
slow_go_on(void)
{
    for (int i = 0; i < SLOW; i++)
        say(slow[i], "owly\r\n*2\r\n$4\r\nECHO\r\n$6\r\nsl");
    for (int i = 0; i < SLOW; i++) {
        redisReply *reply = reply_of(slow[i], REDIS_REPLY_STRING);

        rgi_check(strcmp(reply->str, "slowly") == 0);
        freeReplyObject(reply);
    }
}

static void
lazy_begin(void)
{
    char *large = malloc(LARGE_BYTES);
    int sent = 0;

    rgi_check(large != NULL);
    memset(large, 'x', LARGE_BYTES);
    lazy = connected();
    redisAppendCommand(lazy, "SET large %b", large, (size_t)LARGE_BYTES);
    expect_ok(lazy);
    free(large);
    for (int i = 0; i < LARGE_READS; i++)
        redisAppendCommand(lazy, "GET large");
    while (sent == 0)
        rgi_check(redisBufferWrite(lazy, &sent) == REDIS_OK);
}

static void
lazy_end(void)
{
    for (int i = 0; i < LARGE_READS; i++) {
        redisReply *reply = reply_of(lazy, REDIS_REPLY_STRING);

        rgi_check(reply->len == LARGE_BYTES);
        for (size_t at = 0; at < reply->len; at++)
            rgi_check(reply->str[at] == 'x');
        freeReplyObject(reply);
    }
    redisAppendCommand(lazy, "DEL large");
    freeReplyObject(reply_of(lazy, REDIS_REPLY_INTEGER));
    redisFree(lazy);
}

/* As bench/workloads.py wants it. */
static void
report(redisContext *client, uint64_t before_ns)
{
    uint64_t moving_ns = atomic_load(&longest_ns);

    printf("%" PRIu64 " keys, %" PRIu64 " connections, %" PRIu64
           " slots moved\n",
           keys_count, (uint64_t)atomic_load(&connections),
           info_number(client, "slots_moved"));
    printf("RESULT reshard.reply_before %.3f ms\n", (double)before_ns / 1e6);
    printf("RESULT reshard.reply_moving %.3f ms\n", (double)moving_ns / 1e6);
    printf("RESULT reshard.hold %.3f ms\n",
           (double)info_number(client, "slot_longest_hold_us") / 1e3);
}

int
main(int argc, char **argv)
{
    static const unsigned workers[] = {1, 6, 2};
    pthread_t threads[CLIENTS + 1];
    uint64_t before_ns;
    redisContext *client;
    char **server = argv + 1;
    pid_t pid;

    rgi_check(argc > 1);
    keys_count = strtoull(argv[1], NULL, 10);
    if (keys_count > 0)
        server++;
    else
        keys_count = rgi_scale(1000000);
    keys_count = keys_count / CLIENTS * CLIENTS;
    per_phase = keys_count / 200;
    rgi_check(keys_count > 0 && *server != NULL);
    acknowledged = calloc(keys_count, sizeof(*acknowledged));
    rgi_check(acknowledged != NULL);
    pid = start_server(server);
    client = connected();
    (void)rgi_seed();
    load(client);
    slow_begin();
    lazy_begin();
    for (uintptr_t i = 0; i < CLIENTS; i++)
        rgi_check(pthread_create(&threads[i], NULL, run_client, (void *)i) ==
                  0);
    rgi_check(pthread_create(&threads[CLIENTS], NULL, come_and_go, NULL) == 0);
    wait_for_everybody();
    before_ns = atomic_exchange(&longest_ns, 0);
    for (unsigned i = 0; i < sizeof(workers) / sizeof(workers[0]); i++) {
        unsigned before = threads_count(pid);
        unsigned had = (unsigned)info_number(client, "worker_threads");

        change_workers(client, workers[i]);
        if (workers[i] < had)
            await_threads(client, pid, workers[i], before - (had - workers[i]));
        wait_for_everybody();
        slow_go_on();
    }
    atomic_store(&running, false);
    for (unsigned i = 0; i < CLIENTS + 1; i++)
        pthread_join(threads[i], NULL);
    lazy_end();
    for (int i = 0; i < SLOW; i++)
        redisFree(slow[i]);
    check_all(client);
    report(client, before_ns);
    redisFree(client);
    stop_server(pid);
    free(acknowledged);
    return 0;
}
