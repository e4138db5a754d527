/* SPDX-License-Identifier: MIT */

/*
 * kv_stress.c - is a command of several workers one moment for everybody?
 *
 *     kv_stress SERVER [its arguments ...]
 *
 * 1. Start the server on a port of the kernel's choosing.
 * 2. One client sets a row of keys to 1, 2, 3 ... by MSET, which also sets one
 *    more key thousands of times: so one worker is done long after the others.
 * 3. Readers of single keys, one after the other, must never see an older
 *    number than they saw before. Readers of all keys must see one number.
 * 4. Meanwhile counters are incremented in pipelines by clients that do not
 *    know of each other; in the end the sums are right.
 * 5. SIGTERM, and the exit status is 0.
 *
 * How long: the MSETs of step 2, rgi_scale(20000).
 */

#include <pthread.h>
#include <stdbool.h>

#include "samples/kv/kv_driver.h"

#define KEYS 8
#define BALLAST 10000
#define COUNTERS 64
#define PIPELINE 32
#define READERS 2

static uint64_t rounds;
static uint64_t increments;
static int running = 1;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static bool
still_running(void)
{
    bool result;

    pthread_mutex_lock(&mutex);
    result = running != 0;
    pthread_mutex_unlock(&mutex);
    return result;
}

static void *
write_rows(void *argument)
{
    static char names[KEYS][16];
    static const char *words[1 + 2 * KEYS + 2 * BALLAST];
    char text[32];
    redisContext *client = connected();

    (void)argument;
    words[0] = "MSET";
    for (int i = 0; i < KEYS; i++) {
        snprintf(names[i], sizeof(names[i]), "row:%d", i);
        words[1 + 2 * i] = names[i];
        words[2 + 2 * i] = text;
    }
    for (int i = 0; i < BALLAST; i++) {
        words[1 + 2 * KEYS + 2 * i] = "ballast";
        words[2 + 2 * KEYS + 2 * i] = "b";
    }
    for (uint64_t round = 1; round <= rounds; round++) {
        redisReply *reply;

        snprintf(text, sizeof(text), "%" PRIu64, round);
        reply = redisCommandArgv(client, sizeof(words) / sizeof(words[0]),
                                 words, NULL);
        rgi_check(reply != NULL && reply->type == REDIS_REPLY_STATUS);
        freeReplyObject(reply);
    }
    redisFree(client);
    pthread_mutex_lock(&mutex);
    running = 0;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void *
read_one_by_one(void *argument)
{
    uint64_t state = (uint64_t)(uintptr_t)argument * 7919 + 1;
    redisContext *client = connected();
    long long seen = 0;

    while (still_running()) {
        unsigned key = (unsigned)(random_next(&state) % KEYS);
        redisReply *reply = redisCommand(client, "GET row:%u", key);
        long long number = number_of(reply);

        rgi_check(number >= seen);
        seen = number;
        freeReplyObject(reply);
    }
    redisFree(client);
    return NULL;
}

static void *
read_all(void *argument)
{
    redisContext *client = connected();

    (void)argument;
    while (still_running()) {
        redisReply *reply = redisCommand(
            client, "MGET row:3 row:0 row:7 row:1 row:5 row:2 row:6 row:4");

        rgi_check(reply != NULL && reply->type == REDIS_REPLY_ARRAY);
        rgi_check(reply->elements == KEYS);
        for (int i = 1; i < KEYS; i++)
            rgi_check(number_of(reply->element[i]) ==
                      number_of(reply->element[0]));
        freeReplyObject(reply);
    }
    redisFree(client);
    return NULL;
}

/* Pipelines of INCRs; the answers to one key only grow. */
static void *
increment(void *argument)
{
    uint64_t state = (uint64_t)(uintptr_t)argument * 104729 + 1;
    redisContext *client = connected();
    long long seen[COUNTERS] = {0};
    uint64_t count = 0;

    while (still_running()) {
        unsigned keys[PIPELINE];

        for (int i = 0; i < PIPELINE; i++) {
            keys[i] = (unsigned)(random_next(&state) % COUNTERS);
            redisAppendCommand(client, "INCR counter:%u", keys[i]);
        }
        for (int i = 0; i < PIPELINE; i++) {
            void *reply = NULL;

            rgi_check(redisGetReply(client, &reply) == REDIS_OK);
            rgi_check(((redisReply *)reply)->integer > seen[keys[i]]);
            seen[keys[i]] = ((redisReply *)reply)->integer;
            freeReplyObject(reply);
        }
        count += PIPELINE;
    }
    redisFree(client);
    pthread_mutex_lock(&mutex);
    increments += count;
    pthread_mutex_unlock(&mutex);
    return NULL;
}

static void
check_counters(void)
{
    redisContext *client = connected();
    uint64_t total = 0;

    for (unsigned i = 0; i < COUNTERS; i++) {
        redisReply *reply = redisCommand(client, "GET counter:%u", i);

        if (reply->type == REDIS_REPLY_STRING)
            total += (uint64_t)number_of(reply);
        freeReplyObject(reply);
    }
    rgi_check(total == increments);
    redisFree(client);
}

static void
set_first_row(void)
{
    redisContext *client = connected();
    redisReply *reply = redisCommand(
        client, "MSET row:0 0 row:1 0 row:2 0 row:3 0 row:4 0 row:5 0 row:6 0 "
                "row:7 0");

    rgi_check(reply != NULL && reply->type == REDIS_REPLY_STATUS);
    freeReplyObject(reply);
    redisFree(client);
}

int
main(int argc, char **argv)
{
    void *(*const work[])(void *) = {write_rows, read_one_by_one, read_all,
                                     increment};
    pthread_t threads[1 + 3 * READERS];
    size_t count = 0;
    pid_t pid;

    rgi_check(argc > 1);
    rounds = rgi_scale(20000);
    pid = start_server(argv + 1);
    set_first_row();
    for (size_t i = 0; i < sizeof(work) / sizeof(work[0]); i++)
        for (uintptr_t at = 0; at < (i == 0 ? 1 : READERS); at++)
            rgi_check(pthread_create(&threads[count++], NULL, work[i],
                                     (void *)(at + 1)) == 0);
    for (size_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    check_counters();
    stop_server(pid);
    printf("%" PRIu64 " rows, %" PRIu64 " increments\n", rounds, increments);
    return 0;
}
