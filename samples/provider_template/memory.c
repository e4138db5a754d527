/* SPDX-License-Identifier: MIT */

/*
 * memory.c - the five entries of a provider, and how it is made.
 *
 * 1. submit tries the operation at once; what has to wait goes into a line.
 * 2. wait tries the line again, and sleeps until the bell rings, the world has
 *    changed or the deadline has come.
 * 3. cancel takes an operation out of the line. What is not there any more is
 *    complete, and the cancel came too late.
 */

#include "samples/provider_template/memory.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "samples/provider_template/parts.h"

struct memory {
    struct rgm_provider head; /* first */
    struct memory_world *world;
    struct memory_waker waker;
    int bell;
    struct rgm_turn done;
    struct rgm_link waiting; /* operations, oldest first */
};

#define BIT(kind) (UINT64_C(1) << (kind))
#define FILE_KINDS                                                             \
    (BIT(RGM_OP_FILE_OPEN) | BIT(RGM_OP_FILE_READ) | BIT(RGM_OP_FILE_WRITE) |  \
     BIT(RGM_OP_FILE_SYNC) | BIT(RGM_OP_FILE_STAT) | BIT(RGM_OP_FILE_SEEK) |   \
     BIT(RGM_OP_FILE_TRUNCATE) | BIT(RGM_OP_PATH))
#define STREAM_KINDS                                                           \
    (BIT(RGM_OP_LISTEN) | BIT(RGM_OP_ACCEPT) | BIT(RGM_OP_CONNECT) |           \
     BIT(RGM_OP_READ) | BIT(RGM_OP_WRITE) | BIT(RGM_OP_SHUTDOWN) |             \
     BIT(RGM_OP_NAMES))

static struct memory *
memory_of(struct rgm_provider *provider)
{
    return (struct memory *)(void *)provider;
}

static struct rgm_operation *
operation_at(struct rgm_link *link)
{
    return (
        struct rgm_operation *)(void *)((char *)link -
                                        offsetof(struct rgm_operation, link));
}

/* --------------------------------------------------------- submit and cancel */

static int
attempt(struct memory *memory, struct rgm_operation *operation)
{
    struct memory_world *world = memory->world;
    const struct rgm_close *close = (const void *)operation;
    struct memory_handle *newest;
    int status;

    pthread_mutex_lock(&world->lock);
    newest = world->handles;
    if (operation->kind == RGM_OP_CLOSE) {
        memory_handle_free(world, memory_handle_at(close->socket), false);
        status = 0;
    } else if ((FILE_KINDS >> operation->kind & 1) != 0) {
        status = memory_attempt_file(world, operation);
    } else {
        status = memory_attempt_stream(world, operation);
    }
    if (operation->kind != RGM_OP_CLOSE && world->handles != newest)
        world->handles->owner = &memory->head;
    pthread_mutex_unlock(&world->lock);
    return status;
}

static void
finish(struct memory *memory, struct rgm_operation *operation, int status)
{
    memory->head.in_flight--;
    memory->head.completions++;
    rgm_operation_complete(operation, status, &memory->done);
}

static void
memory_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct memory *memory = memory_of(provider);
    int status;

    provider->in_flight++;
    provider->entries_submitted++;
    status = attempt(memory, operation);
    if (status != MEMORY_WAITS) {
        finish(memory, operation, status);
        return;
    }
    operation->link.next = &memory->waiting;
    operation->link.previous = memory->waiting.previous;
    memory->waiting.previous->next = &operation->link;
    memory->waiting.previous = &operation->link;
}

static void
leave_the_line(struct rgm_operation *operation)
{
    operation->link.previous->next = operation->link.next;
    operation->link.next->previous = operation->link.previous;
    operation->link = (struct rgm_link){NULL, NULL};
}

static void
memory_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    if (operation->link.next == NULL)
        return;
    leave_the_line(operation);
    finish(memory_of(provider), operation, -ECANCELED);
}

/* ----------------------------------------------------------------------- wait */

static uint64_t
memory_now(struct rgm_provider *provider)
{
    struct timespec now;

    (void)provider;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

static bool
take(int bell)
{
    uint64_t count;

    return read(bell, &count, sizeof(count)) == (ssize_t)sizeof(count);
}

static void
try_again(struct memory *memory)
{
    struct rgm_link *link = memory->waiting.next;

    while (link != &memory->waiting) {
        struct rgm_operation *operation = operation_at(link);
        int status = attempt(memory, operation);

        link = link->next;
        if (status == MEMORY_WAITS)
            continue;
        leave_the_line(operation);
        finish(memory, operation, status);
    }
}

static void
sleep_until(struct memory *memory, uint64_t deadline_ns)
{
    struct pollfd bells[2] = {{memory->bell, POLLIN, 0},
                              {memory->waker.news, POLLIN, 0}};
    uint64_t now_ns = memory_now(&memory->head);
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    const struct timespec pause = {(time_t)(left_ns / RGM_NS_PER_S),
                                   (long)(left_ns % RGM_NS_PER_S)};

    memory->head.kernel_entries++;
    (void)ppoll(bells, 2, deadline_ns == RGM_NEVER ? NULL : &pause, NULL);
}

static void
hand_over(struct memory *memory, struct rgm_turn *turn)
{
    struct rgm_message *message = memory->done.first;

    memory->done = (struct rgm_turn){NULL, NULL, 0, false};
    while (message != NULL) {
        struct rgm_message *next = message->next;

        rgm_turn_append(turn, message);
        message = next;
    }
}

static int
memory_wait(struct rgm_provider *provider, uint64_t deadline_ns,
            struct rgm_turn *turn)
{
    struct memory *memory = memory_of(provider);

    for (;;) {
        if (take(memory->waker.news)) /* before the look */
            try_again(memory);
        if (deadline_ns == 0 || memory->done.first != NULL)
            break;
        turn->rang = take(memory->bell);
        if (turn->rang || memory_now(provider) >= deadline_ns)
            break;
        sleep_until(memory, deadline_ns);
    }
    hand_over(memory, turn);
    return 0;
}

static void
memory_wake(struct rgm_provider *provider)
{
    const uint64_t one = 1;

    (void)!write(memory_of(provider)->bell, &one, sizeof(one));
}

/* ------------------------------------------------------------ open and close */

static const struct rgm_provider_ops memory_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = memory_now,
    .submit = memory_submit,
    .cancel = memory_cancel,
    .wait = memory_wait,
    .wake = memory_wake,
};

static int
memory_open(const struct rgm_provider_options *options,
            struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    struct memory *memory = calloc(1, sizeof(*memory));

    if (memory == NULL || options->argument == NULL) {
        snprintf(why, why_size, "memory: %s",
                 memory == NULL ? "no memory" : "no world");
        free(memory);
        return memory == NULL ? -ENOMEM : -EINVAL;
    }
    memory->waker.news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (memory->waker.news < 0) {
        int error = errno;

        snprintf(why, why_size, "memory: no eventfd");
        free(memory);
        return -error;
    }
    memory->head.ops = &memory_ops;
    memory->head.kinds = memory_provider.kinds;
    memory->head.mode = "memory";
    memory->world = options->argument;
    memory->bell = options->bell;
    memory->waiting = (struct rgm_link){&memory->waiting, &memory->waiting};
    pthread_mutex_lock(&memory->world->lock);
    memory->waker.next = memory->world->wakers;
    memory->world->wakers = &memory->waker;
    pthread_mutex_unlock(&memory->world->lock);
    *ret_provider = &memory->head;
    return 0;
}

static void
close_what_is_open(struct memory *memory)
{
    struct memory_handle *handle = memory->world->handles;

    while (handle != NULL) {
        struct memory_handle *next = handle->next;

        if (handle->owner == &memory->head)
            memory_handle_free(memory->world, handle, false);
        handle = next;
    }
}

static void
memory_close(struct rgm_provider *provider)
{
    struct memory *memory = memory_of(provider);
    struct memory_waker **waker = &memory->world->wakers;

    pthread_mutex_lock(&memory->world->lock);
    close_what_is_open(memory);
    while (*waker != &memory->waker)
        waker = &(*waker)->next;
    *waker = memory->waker.next;
    pthread_mutex_unlock(&memory->world->lock);
    close(memory->waker.news);
    free(memory);
}

const struct rgm_provider_class memory_provider = {
    .name = "memory",
    .open = memory_open,
    .close = memory_close,
    .kinds = STREAM_KINDS | FILE_KINDS | BIT(RGM_OP_CLOSE),
};
