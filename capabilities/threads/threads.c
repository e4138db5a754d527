/* SPDX-License-Identifier: MIT */

/*
 * threads.c - how does a pool of threads become a provider?
 *
 * The reference: what it does should be plain enough to be believed. An
 * operation is tried by calls that do not block, in a few threads, again and
 * again until it succeeds (attempt.c, jobs.c). This file is the owner's side:
 *
 * 1. submit puts the operation in line.
 * 2. wait looks whether something is done; if not, it sleeps in poll until the
 *    worker's bell or the jobs' own one rings, or the deadline has come.
 * 3. What is done gets its handle and its status here, on the owner's thread.
 * 4. close closes what nobody has.
 */

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ringmail/provider.h>

#include "base/bell.h"
#include "base/memory.h"
#include "capabilities/detach.h"
#include "capabilities/socket.h"
#include "capabilities/file.h"
#include "capabilities/threads/jobs.h"

#define THREADS_DEFAULT 4

struct threads {
    struct rgm_provider provider;
    struct rgi_jobs jobs;
    int bell; /* the worker's */
    struct rgm_stream_defaults streams; /* what those that are opened get */
    char mode[64];
    uint64_t *open; /* bit i: descriptor i is some handle's */
    size_t open_words;
};

#define THREADS_KINDS                                                         \
    ((UINT64_C(1) << RGM_OP_SEND_FILE) |                                      \
     (UINT64_C(1) << RGM_OP_LISTEN) | (UINT64_C(1) << RGM_OP_ACCEPT) |        \
     (UINT64_C(1) << RGM_OP_CONNECT) | (UINT64_C(1) << RGM_OP_READ) |         \
     (UINT64_C(1) << RGM_OP_READ_POOLED) | (UINT64_C(1) << RGM_OP_WRITE) |    \
     (UINT64_C(1) << RGM_OP_SHUTDOWN) | (UINT64_C(1) << RGM_OP_CLOSE) |       \
     (UINT64_C(1) << RGM_OP_SET_OPTION) |                                     \
     (UINT64_C(1) << RGM_OP_GET_OPTION) | (UINT64_C(1) << RGM_OP_NAMES) |     \
     (UINT64_C(1) << RGM_OP_DETACH) | (UINT64_C(1) << RGM_OP_ATTACH) |        \
     RGI_FILE_KIND_BITS | (UINT64_C(1) << RGM_OP_PACKET_OPEN) |              \
     (UINT64_C(1) << RGM_OP_PACKET_READ) |                                    \
     (UINT64_C(1) << RGM_OP_PACKET_WRITE) |                                   \
     (UINT64_C(1) << RGM_OP_PACKET_READ_POOLED) |                             \
     (UINT64_C(1) << RGM_OP_CHILD_WAIT) | (UINT64_C(1) << RGM_OP_AWAIT) | \
     (UINT64_C(1) << RGM_OP_RECEIPT))

static struct threads *
threads_of(struct rgm_provider *provider)
{
    return rgi_container_of(provider, struct threads, provider);
}

static uint64_t
threads_now(struct rgm_provider *provider)
{
    struct timespec now;

    (void)provider;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ----------------------------------------------------- what handles have open */

static bool
open_reserve(struct threads *threads, size_t words)
{
    uint64_t *open;

    if (words <= threads->open_words)
        return true;
    words *= 2;
    open = rgi_alloc(words * sizeof(*open));
    if (open == NULL)
        return false;
    if (threads->open_words > 0)
        memcpy(open, threads->open, threads->open_words * sizeof(*open));
    rgi_free(threads->open);
    threads->open = open;
    threads->open_words = words;
    return true;
}

/* Without memory it is only forgotten: nobody closes it for its owner. */
static void
open_add(struct threads *threads, int fd)
{
    if (open_reserve(threads, (size_t)fd / 64 + 1))
        threads->open[fd / 64] |= UINT64_C(1) << fd % 64;
}

static void
open_remove(struct threads *threads, int fd)
{
    if ((size_t)fd / 64 < threads->open_words)
        threads->open[fd / 64] &= ~(UINT64_C(1) << fd % 64);
}

static void
open_close_all(struct threads *threads)
{
    for (size_t i = 0; i < threads->open_words; i++)
        for (int bit = 0; bit < 64; bit++)
            if (threads->open[i] >> bit & 1)
                close((int)i * 64 + bit);
    rgi_free(threads->open);
}

static void
threads_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_CLOSE)
        open_remove(threads_of(provider),
                    (int)rgi_stream_uses(operation)->resource);
    provider->in_flight++;
    rgi_attempt_prepare(operation, &threads_of(provider)->streams);
    if (rgi_jobs_add(&threads_of(provider)->jobs, operation))
        provider->entries_submitted++;
}

static void
threads_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    rgi_jobs_cancel(&threads_of(provider)->jobs, operation);
}

/* -------------------------------------------------------------------- wait */

static int
let_go(struct threads *threads, struct rgm_operation *operation)
{
    int descriptor = rgi_attempt_of(operation)->uses;
    int status = rgi_detach_let_go(operation, descriptor);

    if (status == 0)
        open_remove(threads, descriptor);
    return status;
}

static void
collect_one(struct threads *threads, struct rgm_operation *operation,
            struct rgm_turn *turn)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);

    if (operation->kind == RGM_OP_DETACH && attempt->status == 0)
        attempt->status = let_go(threads, operation);
    if (attempt->made >= 0) { /* nothing is, unless it succeeded */
        if (operation->kind == RGM_OP_FILE_OPEN)
            rgi_file_fill(operation, (uint64_t)attempt->made, attempt->made);
        else
            rgi_stream_fill(operation, (uint64_t)attempt->made);
        open_add(threads, attempt->made);
    }
    threads->provider.in_flight--;
    threads->provider.completions++;
    rgm_operation_complete(operation, attempt->status, turn);
}

static void
collect(struct threads *threads, struct rgm_turn *turn)
{
    struct rgm_link list;
    struct rgm_link *link;

    if (!rgi_jobs_has_done(&threads->jobs))
        return;
    rgi_list_init(&list);
    threads->provider.pool_waits = rgi_jobs_fetch(&threads->jobs, &list);
    while ((link = rgi_list_pop_front(&list)) != NULL)
        collect_one(threads,
                    rgi_container_of(link, struct rgm_operation, link), turn);
}

/* Sets *ret_pause to what is left; NULL is for ever. */
static const struct timespec *
pause_until(uint64_t deadline_ns, uint64_t now_ns, struct timespec *ret_pause)
{
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

    if (deadline_ns == RGM_NEVER)
        return NULL;
    ret_pause->tv_sec = (time_t)(left_ns / RGM_NS_PER_S);
    ret_pause->tv_nsec = (long)(left_ns % RGM_NS_PER_S);
    return ret_pause;
}

/* Sleeps once. Returns: as poll(2), or a negative errno. The worker's bell is
 * silenced before the worker looks at its inbox, so no ring is lost. */
static int
sleep_once(struct threads *threads, uint64_t deadline_ns,
           struct rgm_turn *turn)
{
    struct pollfd bells[2] = {{threads->bell, POLLIN, 0},
                              {threads->jobs.bell, POLLIN, 0}};
    struct timespec pause;
    int count;

    threads->provider.kernel_entries++;
    count = ppoll(bells, 2,
                  pause_until(deadline_ns, threads_now(&threads->provider),
                              &pause),
                  NULL);
    if (count < 0)
        return errno == EINTR ? 1 : -errno;
    if (((bells[0].revents | bells[1].revents) & POLLNVAL) != 0)
        return -EBADF; /* somebody closed a bell: no wake can come any more */
    if (bells[0].revents != 0 && rgi_bell_take(threads->bell))
        turn->rang = true;
    return count;
}

/* Returns: whether the wait is over; *ret_status is 0 or the error. */
static bool
wait_round(struct threads *threads, uint64_t deadline_ns,
           struct rgm_turn *turn, int *ret_status)
{
    int count = 1;

    if (rgi_jobs_sleep(&threads->jobs)) {
        count = sleep_once(threads, deadline_ns, turn);
        rgi_jobs_awake(&threads->jobs);
        (void)rgi_bell_take(threads->jobs.bell);
    }
    collect(threads, turn);
    *ret_status = count < 0 ? count : 0;
    return count <= 0 || turn->rang || turn->count > 0;
}

static int
threads_wait(struct rgm_provider *provider, uint64_t deadline_ns,
             struct rgm_turn *turn)
{
    struct threads *threads = threads_of(provider);
    int status = 0;

    collect(threads, turn);
    if (deadline_ns == 0 || turn->count > 0)
        return 0;
    while (!wait_round(threads, deadline_ns, turn, &status))
        continue;
    return status;
}

static void
threads_wake(struct rgm_provider *provider)
{
    rgi_bell_ring((void *)(intptr_t)threads_of(provider)->bell);
}

/* On the caller's thread: it is he who must not wait, and it does not. */
static int64_t
threads_transfer(struct rgm_provider *provider,
                 const struct rgm_transfer *transfer)
{
    (void)provider;
    return rgi_socket_transfer((int)transfer->resource, transfer);
}

static int
threads_descriptor(struct rgm_provider *provider, uint64_t resource)
{
    (void)provider;
    return (int)resource;
}

/* ----------------------------------------------------------- open and close */

static const struct rgm_provider_ops threads_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = threads_now,
    .submit = threads_submit,
    .cancel = threads_cancel,
    .wait = threads_wait,
    .wake = threads_wake,
    .transfer = threads_transfer,
    .descriptor = threads_descriptor,
};

static int
open_fail(int status, const char *what, char *why, size_t why_size)
{
    char reason[64];

    if (why_size > 0)
        snprintf(why, why_size, "threads: %s: %s", what,
                 strerror_r(-status, reason, sizeof(reason)));
    return status;
}

static int
threads_open(const struct rgm_provider_options *options,
             struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    uint32_t count = options->threads != 0 ? options->threads
                                           : THREADS_DEFAULT;
    struct threads *threads;
    int status;

    if (count > RGI_JOBS_THREADS_MAX || options->bell < 0)
        return open_fail(-EINVAL, "options", why, why_size);
    threads = rgi_alloc(sizeof(*threads));
    if (threads == NULL)
        return open_fail(-ENOMEM, "no memory", why, why_size);
    status = rgi_jobs_open(&threads->jobs, count);
    if (status < 0) {
        rgi_free(threads);
        return open_fail(status, "cannot be started", why, why_size);
    }
    snprintf(threads->mode, sizeof(threads->mode),
             "threads: %u for attempts, retried every %u ms", (unsigned)count,
             (unsigned)(RGI_PULSE_NS / RGM_NS_PER_MS));
    threads->provider.ops = &threads_ops;
    threads->provider.kinds = THREADS_KINDS;
    threads->provider.carries_on = true; /* FIL-10 */
    threads->provider.mode = threads->mode;
    threads->bell = options->bell;
    threads->streams = options->streams;
    *ret_provider = &threads->provider;
    return 0;
}

static void
threads_close(struct rgm_provider *provider)
{
    struct threads *threads;

    if (provider == NULL)
        return;
    threads = threads_of(provider);
    if (provider->abandoned)
        rgi_jobs_abandon(&threads->jobs);
    rgi_jobs_close(&threads->jobs);
    open_close_all(threads);
    rgi_free(threads);
}

const struct rgm_provider_class rgm_provider_threads = {
    .name = "threads",
    .open = threads_open,
    .close = threads_close,
    .kinds = THREADS_KINDS,
};
