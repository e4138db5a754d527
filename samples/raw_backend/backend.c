/* SPDX-License-Identifier: MIT */

/*
 * backend.c - somebody else's reads and writes of a ring's handles.
 *
 * 1. The ring's provider is opened, and its table replaced by one that hands four
 *    kinds of operations to a thread and all else to the ring.
 * 2. The thread tries what it has been given, and sleeps in poll(2) until one can
 *    be tried again or there is something new.
 * 3. What is over goes into a list, and the ring is woken; the owner takes the list
 *    in its next wait.
 *
 * One lock, and a file's transfer is made under it: plain, and not fast.
 */

#include "samples/raw_backend/backend.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <ringmail/file.h>

#define WAITS 1 /* of an attempt: not yet */
#define VECTORS_MAX 64
#define AT_ONCE_MAX 4096 /* descriptors that are waited for; more wait in line */

struct backend {
    struct rgm_provider *ring;
    const struct rgm_provider_ops *ops; /* the ring's */
    pthread_t thread;
    int news; /* an eventfd: something was given, cancelled, or it is the end */
    struct backend *next;
    pthread_mutex_t lock;
    /* Under the lock. */
    struct rgm_operation *given; /* oldest first */
    struct rgm_operation *over;  /* likewise */
    bool ends;
    struct pollfd polled[AT_ONCE_MAX]; /* the thread's */
};

/* Whoever wakes a provider is on any thread, so they are found in a list. */
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct backend *backends;

/* What an operation's scratch holds meanwhile. */
struct work {
    struct rgm_operation *next;
    int descriptor;
    int status;
    bool cancelled;
};

_Static_assert(sizeof(struct work) <=
                   sizeof(((struct rgm_operation *)0)->scratch),
               "the work fits");

static struct work *
work_of(struct rgm_operation *operation)
{
    return (struct work *)(void *)operation->scratch;
}

static void
append(struct rgm_operation **list, struct rgm_operation *operation)
{
    while (*list != NULL)
        list = &work_of(*list)->next;
    work_of(operation)->next = NULL;
    *list = operation;
}

static struct backend *
backend_of(const struct rgm_provider *provider)
{
    struct backend *backend;

    pthread_mutex_lock(&list_lock);
    backend = backends;
    while (backend != NULL && backend->ring != provider)
        backend = backend->next;
    pthread_mutex_unlock(&list_lock);
    return backend;
}

static void
ring_the(int bell)
{
    const uint64_t one = 1;

    (void)!write(bell, &one, sizeof(one));
}

/* ------------------------------------------------------------------- attempts */

/* What is left of the pieces. Returns: how many pieces that is. */
static size_t
rest_of(const struct rgm_vector *vectors, size_t vectors_count, size_t done,
        struct iovec *ret_rest)
{
    size_t count = 0;

    for (size_t i = 0; i < vectors_count && count < VECTORS_MAX; i++) {
        size_t length = vectors[i].length_bytes;

        if (done >= length) {
            done -= length;
            continue;
        }
        ret_rest[count++] = (struct iovec){
            (char *)(uintptr_t)vectors[i].data + done, length - done};
        done = 0;
    }
    return count;
}

static int
result_of(ssize_t count)
{
    if (count >= 0)
        return 0;
    return errno == EAGAIN ? WAITS : -errno;
}

static int
try_read(struct rgm_read *read, int descriptor)
{
    ssize_t count;

    do
        count = recv(descriptor, read->memory, read->capacity_bytes,
                     MSG_DONTWAIT);
    while (count < 0 && errno == EINTR);
    if (count >= 0) {
        read->count = (size_t)count;
        read->end = count == 0 && read->capacity_bytes > 0;
    }
    return result_of(count);
}

static int
try_write(struct rgm_write *write, int descriptor)
{
    for (;;) {
        struct iovec rest[VECTORS_MAX];
        struct msghdr message = {.msg_iov = rest};
        ssize_t count;

        message.msg_iovlen = rest_of(write->vectors, write->vectors_count,
                                     write->count, rest);
        if (message.msg_iovlen == 0)
            return 0;
        count = sendmsg(descriptor, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return result_of(count);
        write->count += (size_t)count;
        if (write->some)
            return 0;
    }
}

static ssize_t
move(int descriptor, bool writes, const struct iovec *rest, size_t rest_count,
     uint64_t offset_bytes, size_t done)
{
    off_t at = (off_t)(offset_bytes + done);
    int count = (int)rest_count;

    if (offset_bytes == RGM_FILE_CURSOR)
        return writes ? writev(descriptor, rest, count)
                      : readv(descriptor, rest, count);
    return writes ? pwritev(descriptor, rest, count, at)
                  : preadv(descriptor, rest, count, at);
}

/* The same of a file, whose two records begin alike. */
static int
try_file(struct rgm_file_read *transfer, int descriptor, bool writes)
{
    for (;;) {
        struct iovec rest[VECTORS_MAX];
        size_t rest_count =
            rest_of(transfer->vectors, transfer->vectors_count,
                    transfer->count, rest);
        ssize_t count;

        if (rest_count == 0 && transfer->count > 0)
            return 0;
        count = move(descriptor, writes, rest, rest_count,
                     transfer->offset_bytes, transfer->count);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return -errno;
        transfer->count += (size_t)count;
        transfer->end = !writes && rest_count > 0 && transfer->count == 0;
        if (count == 0 || !transfer->all)
            return 0;
    }
}

static int
attempt(struct rgm_operation *operation)
{
    int descriptor = work_of(operation)->descriptor;
    void *record = operation;

    switch (operation->kind) {
    case RGM_OP_READ:
        return try_read(record, descriptor);
    case RGM_OP_WRITE:
        return try_write(record, descriptor);
    default:
        return try_file(record, descriptor,
                        operation->kind == RGM_OP_FILE_WRITE);
    }
}

/* ----------------------------------------------------------------- the thread */

/* Under the lock. Returns: how many are waited for; *ret_over: one is over. */
static nfds_t
try_all(struct backend *backend, bool *ret_over)
{
    struct rgm_operation *operation = backend->given;
    nfds_t count = 1;

    backend->given = NULL;
    backend->polled[0] = (struct pollfd){backend->news, POLLIN, 0};
    while (operation != NULL) {
        struct work *work = work_of(operation);
        struct rgm_operation *next = work->next;

        work->status = attempt(operation);
        if (work->status == WAITS && work->cancelled)
            work->status = -ECANCELED;
        if (work->status != WAITS) {
            append(&backend->over, operation);
            *ret_over = true;
        } else {
            append(&backend->given, operation);
            if (count < AT_ONCE_MAX)
                backend->polled[count++] = (struct pollfd){
                    work->descriptor,
                    operation->kind == RGM_OP_READ ? POLLIN : POLLOUT, 0};
        }
        operation = next;
    }
    return count;
}

static void *
thread_main(void *argument)
{
    struct backend *backend = argument;
    uint64_t count;
    bool ends;

    do {
        bool over = false;
        nfds_t waited;

        (void)!read(backend->news, &count, sizeof(count)); /* before the look */
        pthread_mutex_lock(&backend->lock);
        waited = try_all(backend, &over);
        ends = backend->ends;
        pthread_mutex_unlock(&backend->lock);
        if (over)
            backend->ops->wake(backend->ring);
        if (!ends)
            (void)poll(backend->polled, waited, -1);
    } while (!ends);
    return NULL;
}

/* ------------------------------------------------------------------ the owner */

static const struct rgm_socket *
handle_of(const struct rgm_operation *operation)
{
    const void *record = operation;

    switch (operation->kind) {
    case RGM_OP_READ:
        return &((const struct rgm_read *)record)->stream->socket;
    case RGM_OP_WRITE:
        return &((const struct rgm_write *)record)->stream->socket;
    case RGM_OP_FILE_READ:
        return &((const struct rgm_file_read *)record)->file->handle;
    case RGM_OP_FILE_WRITE:
        return &((const struct rgm_file_write *)record)->file->handle;
    default:
        return NULL;
    }
}

static void
backend_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    const struct rgm_socket *handle = handle_of(operation);
    struct backend *backend = backend_of(provider);
    int descriptor;

    if (handle == NULL) {
        backend->ops->submit(provider, operation);
        return;
    }
    descriptor = backend->ops->descriptor(provider, handle->resource);
    provider->in_flight++;
    pthread_mutex_lock(&backend->lock);
    *work_of(operation) =
        (struct work){.descriptor = descriptor, .status = descriptor};
    append(descriptor < 0 ? &backend->over : &backend->given, operation);
    pthread_mutex_unlock(&backend->lock);
    ring_the(backend->news);
}

static void
backend_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct backend *backend = backend_of(provider);

    if (handle_of(operation) == NULL) {
        backend->ops->cancel(provider, operation);
        return;
    }
    pthread_mutex_lock(&backend->lock);
    work_of(operation)->cancelled = true;
    pthread_mutex_unlock(&backend->lock);
    ring_the(backend->news);
}

static struct rgm_operation *
take_over(struct backend *backend)
{
    struct rgm_operation *operation;

    pthread_mutex_lock(&backend->lock);
    operation = backend->over;
    backend->over = NULL;
    pthread_mutex_unlock(&backend->lock);
    return operation;
}

static bool
hand_over(struct backend *backend, struct rgm_turn *turn)
{
    struct rgm_operation *operation = take_over(backend);
    bool any = operation != NULL;

    while (operation != NULL) {
        struct work work = *work_of(operation);

        backend->ring->in_flight--;
        backend->ring->completions++;
        memset(operation->scratch, 0, sizeof(operation->scratch));
        rgm_operation_complete(operation, work.status, turn);
        operation = work.next;
    }
    return any;
}

/* What is over later wakes the ring, in this wait or the next one. */
static int
backend_wait(struct rgm_provider *provider, uint64_t deadline_ns,
             struct rgm_turn *turn)
{
    struct backend *backend = backend_of(provider);
    int status;

    if (hand_over(backend, turn))
        deadline_ns = 0;
    status = backend->ops->wait(provider, deadline_ns, turn);
    (void)hand_over(backend, turn);
    return status;
}

static uint64_t
backend_now(struct rgm_provider *provider)
{
    return backend_of(provider)->ops->now(provider);
}

static void
backend_wake(struct rgm_provider *provider)
{
    backend_of(provider)->ops->wake(provider);
}

static const struct rgm_provider_ops backend_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = backend_now,
    .submit = backend_submit,
    .cancel = backend_cancel,
    .wait = backend_wait,
    .wake = backend_wake,
};

/* -------------------------------------------------------------- open and close */

static int
begin(struct backend *backend)
{
    int status;

    backend->news = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (backend->news < 0)
        return -errno;
    pthread_mutex_init(&backend->lock, NULL);
    status = pthread_create(&backend->thread, NULL, thread_main, backend);
    if (status != 0)
        close(backend->news);
    return -status;
}

static void
enlist(struct backend *backend)
{
    pthread_mutex_lock(&list_lock);
    backend->next = backends;
    backends = backend;
    pthread_mutex_unlock(&list_lock);
}

static int
backend_open(const struct rgm_provider_options *options,
             struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    struct backend *backend = calloc(1, sizeof(*backend));
    struct rgm_provider *ring;
    int status;

    if (backend == NULL)
        return -ENOMEM;
    status = rgm_provider_ring.open(options, &ring, why, why_size);
    if (status < 0) {
        free(backend);
        return status;
    }
    backend->ring = ring;
    backend->ops = ring->ops;
    status = begin(backend);
    if (status < 0) {
        snprintf(why, why_size, "backend: no thread");
        rgm_provider_ring.close(ring);
        free(backend);
        return status;
    }
    ring->ops = &backend_ops;
    enlist(backend);
    *ret_provider = ring;
    return 0;
}

static void
backend_close(struct rgm_provider *provider)
{
    struct backend *backend = backend_of(provider);
    struct backend **link = &backends;

    pthread_mutex_lock(&backend->lock);
    backend->ends = true;
    pthread_mutex_unlock(&backend->lock);
    ring_the(backend->news);
    pthread_join(backend->thread, NULL);
    close(backend->news);
    provider->ops = backend->ops;
    rgm_provider_ring.close(provider);
    pthread_mutex_lock(&list_lock);
    while (*link != backend)
        link = &(*link)->next;
    *link = backend->next;
    pthread_mutex_unlock(&list_lock);
    free(backend);
}

#define BIT(kind) (UINT64_C(1) << (kind))

const struct rgm_provider_class backend_provider = {
    .name = "backend",
    .open = backend_open,
    .close = backend_close,
    .kinds = BIT(RGM_OP_LISTEN) | BIT(RGM_OP_ACCEPT) | BIT(RGM_OP_CONNECT) |
             BIT(RGM_OP_READ) | BIT(RGM_OP_WRITE) | BIT(RGM_OP_SHUTDOWN) |
             BIT(RGM_OP_CLOSE) | BIT(RGM_OP_FILE_OPEN) |
             BIT(RGM_OP_FILE_READ) | BIT(RGM_OP_FILE_WRITE) |
             BIT(RGM_OP_FILE_SYNC) | BIT(RGM_OP_FILE_STAT) |
             BIT(RGM_OP_FILE_SEEK) | BIT(RGM_OP_FILE_TRUNCATE),
};
