/* SPDX-License-Identifier: MIT */

/*
 * epoll.c - how does an epoll set become a provider?
 *
 * For kernels and containers without io_uring. Sockets need no thread but their
 * worker's:
 *
 * 1. submit tries the operation, or puts it in line (line.c); what may block goes to
 *    the threads, and what never waits for anybody is made.
 * 2. wait takes what the kernel has to tell (watch.c), tries whoever that is for,
 *    and hands over what is over. It sleeps in the set, which has both bells in it:
 *    the worker's, and that of the threads.
 * 3. Handles are filled in there, and descriptors let go of.
 * 4. close closes what nobody has.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <ringmail/provider.h>

#include "base/assert.h"
#include "base/bell.h"
#include "base/memory.h"
#include "capabilities/detach.h"
#include "capabilities/epoll/parts.h"
#include "capabilities/file.h"
#include "capabilities/send_file.h"
#include "capabilities/socket.h"

#define THREADS_DEFAULT 4

#define BIT(kind) (UINT64_C(1) << (kind))
#define EPOLL_KINDS                                                            \
    (BIT(RGM_OP_SEND_FILE) | BIT(RGM_OP_LISTEN) | BIT(RGM_OP_ACCEPT) |         \
     BIT(RGM_OP_CONNECT) | BIT(RGM_OP_READ) | BIT(RGM_OP_READ_POOLED) |        \
     BIT(RGM_OP_WRITE) | BIT(RGM_OP_SHUTDOWN) | BIT(RGM_OP_CLOSE) |            \
     BIT(RGM_OP_SET_OPTION) | BIT(RGM_OP_GET_OPTION) | BIT(RGM_OP_NAMES) |     \
     BIT(RGM_OP_DETACH) | BIT(RGM_OP_ATTACH) | RGI_FILE_KIND_BITS |            \
     BIT(RGM_OP_PACKET_OPEN) | BIT(RGM_OP_PACKET_READ) |                       \
     BIT(RGM_OP_PACKET_WRITE) | BIT(RGM_OP_PACKET_READ_POOLED) |               \
     BIT(RGM_OP_CHILD_WAIT) | BIT(RGM_OP_AWAIT) | BIT(RGM_OP_RECEIPT))

static uint64_t
epoll_now(struct rgm_provider *provider)
{
    struct timespec now;

    (void)provider;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------------------------- submit */

/* Returns: false when there is no memory for what it would make. */
static bool
prepare(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);
    struct rgi_watch *watch = rgi_line_watch_of(operation);

    rgi_attempt_prepare(operation, &p->streams);
    attempt->uses = watch != NULL ? watch->fd : -1;
    if (operation->kind == RGM_OP_SEND_FILE)
        attempt->source =
            ((struct rgi_watch *)(uintptr_t)rgi_send_file_source(operation)
                 ->resource)
                ->fd;
    if (!rgi_line_makes_one(operation))
        return true;
    attempt->owner = rgi_watch_take(p);
    return attempt->owner != NULL;
}

/* A close that has to send what is left would keep the worker. */
static bool
lingers(int fd)
{
    int32_t seconds;

    return rgi_socket_option_get(fd, RGM_OPTION_LINGER_SECONDS, &seconds) ==
               0 &&
           seconds > 0;
}

static void
submit_close(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    struct rgi_watch *watch = rgi_line_watch_of(operation);
    bool blocks = watch->file || lingers(watch->fd);

    rgi_watch_release(p, watch);
    if (blocks)
        rgi_line_lend(p, operation);
    else
        rgi_line_try_once(p, operation);
}

static void
submit_connect(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    const struct rgm_connect *connect = rgi_connect_of(operation);
    struct rgi_watch *used = rgi_line_watch_of(operation);

    if (connect->imports)
        rgi_line_try_once(p, operation);
    else if (used != NULL)
        rgi_line_submit(p, used, operation);
    else
        rgi_line_submit(p, rgi_attempt_of(operation)->owner, operation);
}

/* Without room a read tells of the connection, and waits for nothing. */
static void
submit_read(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    if (rgi_read_of(operation)->capacity_bytes == 0)
        rgi_line_try_once(p, operation);
    else
        rgi_line_submit(p, rgi_line_watch_of(operation), operation);
}

static void
start(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_CLOSE:
        submit_close(p, operation);
        return;
    case RGM_OP_CONNECT:
        submit_connect(p, operation);
        return;
    case RGM_OP_READ:
        submit_read(p, operation);
        return;
    case RGM_OP_CHILD_WAIT:
        rgi_epoll_child_submit(p, operation);
        return;
    case RGM_OP_ACCEPT:
    case RGM_OP_READ_POOLED:
    case RGM_OP_WRITE:
    case RGM_OP_SEND_FILE:
    case RGM_OP_PACKET_READ:
    case RGM_OP_PACKET_READ_POOLED:
    case RGM_OP_PACKET_WRITE:
    case RGM_OP_AWAIT:
        rgi_line_submit(p, rgi_line_watch_of(operation), operation);
        return;
    default:
        if (RGI_FILE_KIND_BITS & BIT(operation->kind))
            rgi_line_lend(p, operation);
        else
            rgi_line_try_once(p, operation);
    }
}

static void
epoll_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct rgi_epoll_provider *p = rgi_epoll_of(provider);

    provider->in_flight++;
    if (!prepare(p, operation)) {
        rgi_line_finish(p, operation, -ENOMEM);
    } else if (rgi_stream_is_empty(operation)) {
        rgi_line_finish(p, operation, 0);
    } else {
        provider->entries_submitted++;
        start(p, operation);
    }
}

/* ------------------------------------------------------------------- cancel */

/* What the threads have is theirs to stop, and its phase under their lock. */
static bool
is_with_threads(const struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_SEND_FILE:
        return rgi_line_watch_of(operation)->out.lent == operation;
    case RGM_OP_CHILD_WAIT:
        return !rgi_epoll_child_is_watched(operation);
    default:
        return (RGI_FILE_KIND_BITS & BIT(operation->kind)) != 0;
    }
}

static void
epoll_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct rgi_epoll_provider *p = rgi_epoll_of(provider);

    if (rgi_attempt_is_cleanup(operation))
        return;
    if (is_with_threads(operation)) {
        rgi_jobs_cancel(&p->jobs, operation);
        return;
    }
    if (rgi_attempt_of(operation)->phase != RGI_PHASE_WAITING)
        return; /* it is over already */
    rgi_line_leave(p, operation);
    if (operation->kind == RGM_OP_CHILD_WAIT)
        rgi_epoll_child_end(p, operation);
    rgi_line_finish(p, operation, -ECANCELED);
}

/* --------------------------------------------------------------------- wait */

static int
let_go(struct rgi_epoll_provider *p, struct rgm_operation *operation)
{
    struct rgi_watch *watch = rgi_line_watch_of(operation);
    int status;

    (void)rgi_watch_unregister(p, watch);
    status = rgi_detach_let_go(operation, watch->fd);
    if (status == 0)
        rgi_watch_release(p, watch);
    return status;
}

static void
fill(struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);
    struct rgi_watch *watch = attempt->owner;
    uint64_t resource = (uint64_t)(uintptr_t)watch;

    if (operation->kind == RGM_OP_FILE_OPEN) {
        watch->file = true;
        rgi_file_fill(operation, resource, watch->fd);
    } else {
        rgi_stream_fill(operation, resource);
    }
}

static void
complete(struct rgi_epoll_provider *p, struct rgm_operation *operation,
         struct rgm_turn *turn)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);

    if (operation->kind == RGM_OP_DETACH && attempt->status == 0)
        attempt->status = let_go(p, operation);
    if (rgi_line_makes_one(operation) && attempt->status == 0)
        fill(operation);
    p->provider.in_flight--;
    p->provider.completions++;
    rgm_operation_complete(operation, attempt->status, turn);
}

/* What the threads are done with joins what is done here. */
static void
collect_jobs(struct rgi_epoll_provider *p)
{
    struct rgm_link list;
    struct rgm_link *link;

    if (p->in_pool == 0 || !rgi_jobs_has_done(&p->jobs))
        return;
    rgi_list_init(&list);
    (void)rgi_jobs_fetch(&p->jobs, &list);
    while ((link = rgi_list_pop_front(&list)) != NULL) {
        struct rgm_operation *operation =
            rgi_container_of(link, struct rgm_operation, link);

        p->in_pool--;
        if (operation->kind != RGM_OP_SEND_FILE ||
            rgi_line_returned(p, operation))
            rgi_line_finish(p, operation, rgi_attempt_of(operation)->status);
    }
}

static void
collect(struct rgi_epoll_provider *p, struct rgm_turn *turn)
{
    struct rgm_link *link;

    collect_jobs(p);
    while ((link = rgi_list_pop_front(&p->done)) != NULL)
        complete(p, rgi_container_of(link, struct rgm_operation, link), turn);
}

/* The bells are silenced before anybody looks at what they rang for. What an event
 * points to is known from the address alone until it is known to be a watch. */
static void
note_events(struct rgi_epoll_provider *p, int count, struct rgm_turn *turn)
{
    for (int i = 0; i < count; i++) {
        void *about = p->events[i].data.ptr;

        if (about == &p->bell) {
            if (rgi_bell_take(p->bell))
                turn->rang = true;
        } else if (about == &p->jobs) {
            (void)rgi_bell_take(p->jobs.bell);
        } else if (about != &p->timer) {
            rgi_watch_note(p, about, p->events[i].events);
        }
    }
}

/* Sleeps once, if there is nothing to do. Returns: as rgi_nap. */
static int
sleep_once(struct rgi_epoll_provider *p, uint64_t deadline_ns)
{
    bool listens;
    int count;

    if (!rgi_list_empty(&p->runnable))
        deadline_ns = 0;
    if (!rgi_list_empty(&p->paused) && p->pause_end_ns < deadline_ns)
        deadline_ns = p->pause_end_ns;
    listens = deadline_ns != 0 && p->in_pool > 0;
    if (listens && !rgi_jobs_sleep(&p->jobs))
        deadline_ns = 0;
    count = rgi_nap(p, deadline_ns);
    if (listens)
        rgi_jobs_awake(&p->jobs);
    return count;
}

/* Returns: whether the wait is over; *ret_status is 0 or the error. */
static bool
wait_round(struct rgi_epoll_provider *p, uint64_t deadline_ns,
           struct rgm_turn *turn, int *ret_status)
{
    int count = sleep_once(p, deadline_ns);

    note_events(p, count, turn);
    rgi_line_serve(p);
    collect(p, turn);
    *ret_status = count < 0 ? count : 0;
    if (count < 0 || turn->rang || turn->count > 0 || deadline_ns == 0)
        return true;
    return deadline_ns != RGM_NEVER && epoll_now(&p->provider) >= deadline_ns;
}

/* A worker that has always something to do never sleeps: whoever waits for the kernel
 * is looked after all the same, but not in every call. It is a system call, and a
 * worker that spins makes many. */
static bool
look_is_due(struct rgi_epoll_provider *p)
{
    uint64_t now_ns;

    if (p->lined == 0)
        return false;
    if (!rgi_list_empty(&p->runnable))
        return true;
    now_ns = epoll_now(&p->provider);
    if (now_ns - p->looked_ns < RGI_EPOLL_LOOK_NS)
        return false;
    p->looked_ns = now_ns;
    return true;
}

static int
epoll_wait_for(struct rgm_provider *provider, uint64_t deadline_ns,
               struct rgm_turn *turn)
{
    struct rgi_epoll_provider *p = rgi_epoll_of(provider);
    int status = 0;

    collect(p, turn);
    if (turn->count > 0)
        deadline_ns = 0;
    if (deadline_ns == 0 && !look_is_due(p))
        return 0;
    while (!wait_round(p, deadline_ns, turn, &status))
        continue;
    return status;
}

static void
epoll_wake(struct rgm_provider *provider)
{
    rgi_bell_ring((void *)(intptr_t)rgi_epoll_of(provider)->bell);
}

static int64_t
epoll_transfer(struct rgm_provider *provider,
               const struct rgm_transfer *transfer)
{
    const struct rgi_watch *watch =
        (struct rgi_watch *)(uintptr_t)transfer->resource;

    (void)provider;
    return rgi_socket_transfer(watch->fd, transfer);
}

static int
epoll_descriptor(struct rgm_provider *provider, uint64_t resource)
{
    (void)provider;
    return ((struct rgi_watch *)(uintptr_t)resource)->fd;
}

/* ----------------------------------------------------------- open and close */

static const struct rgm_provider_ops epoll_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = epoll_now,
    .submit = epoll_submit,
    .cancel = epoll_cancel,
    .wait = epoll_wait_for,
    .wake = epoll_wake,
    .transfer = epoll_transfer,
    .descriptor = epoll_descriptor,
};

static int
open_fail(int status, const char *what, char *why, size_t why_size)
{
    char reason[64];

    if (why_size > 0)
        snprintf(why, why_size, "epoll: %s: %s", what,
                 strerror_r(-status, reason, sizeof(reason)));
    return status;
}

static int
bell_add(struct rgi_epoll_provider *p, int bell, void *token)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = token};

    return p->calls->control(p->set, EPOLL_CTL_ADD, bell, &event);
}

/* The set with the bells in it, and how it sleeps. */
static int
set_open(struct rgi_epoll_provider *p, bool strict, const char **ret_what)
{
    int status;

    *ret_what = "cannot make a set";
    p->set = p->calls->set_open();
    if (p->set < 0)
        return p->set;
    *ret_what = "cannot watch the bells";
    status = bell_add(p, p->bell, &p->bell);
    if (status == 0)
        status = bell_add(p, p->jobs.bell, &p->jobs);
    if (status == 0) {
        *ret_what = "cannot sleep to the nanosecond";
        rgi_nap_open(p);
        if (strict && p->nap == RGI_NAP_MILLISECONDS)
            status = -ENOTSUP;
    }
    if (status < 0)
        close(p->set);
    return status;
}

static void
provider_init(struct rgi_epoll_provider *p,
              const struct rgm_provider_options *options,
              const struct rgi_epoll_calls *calls)
{
    p->provider.ops = &epoll_ops;
    p->provider.kinds = EPOLL_KINDS;
    p->provider.carries_on = true; /* FIL-10 */
    p->provider.mode = p->mode;
    p->calls = calls;
    p->bell = options->bell;
    p->streams = options->streams;
    rgi_list_init(&p->done);
    rgi_list_init(&p->runnable);
    rgi_list_init(&p->paused);
    rgi_list_init(&p->idle);
}

static int
provider_start(struct rgi_epoll_provider *p,
               const struct rgm_provider_options *options, uint32_t threads,
               const char **ret_what)
{
    int status;

    *ret_what = "cannot start threads";
    status = rgi_jobs_open(&p->jobs, threads);
    if (status < 0)
        return status;
    p->jobs.hands_back = true;
    status = set_open(p, options->strict, ret_what);
    if (status < 0)
        rgi_jobs_close(&p->jobs);
    return status;
}

int
rgi_epoll_provider_open(const struct rgm_provider_options *options,
                        const struct rgi_epoll_calls *calls,
                        struct rgm_provider **ret_provider, char *why,
                        size_t why_size)
{
    uint32_t threads =
        options->threads != 0 ? options->threads : THREADS_DEFAULT;
    struct rgi_epoll_provider *p;
    const char *what;
    int status;

    if (threads > RGI_JOBS_THREADS_MAX || options->bell < 0)
        return open_fail(-EINVAL, "options", why, why_size);
    p = rgi_alloc(sizeof(*p));
    if (p == NULL)
        return open_fail(-ENOMEM, "no memory", why, why_size);
    provider_init(p, options, calls);
    status = provider_start(p, options, threads, &what);
    if (status < 0) {
        rgi_free(p);
        return open_fail(status, what, why, why_size);
    }
    snprintf(p->mode, sizeof(p->mode), "epoll: %s; %u threads for what blocks",
             rgi_nap_text(p), (unsigned)threads);
    *ret_provider = &p->provider;
    return 0;
}

static int
epoll_open(const struct rgm_provider_options *options,
           struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    return rgi_epoll_provider_open(options, &rgi_epoll_kernel, ret_provider,
                                   why, why_size);
}

static void
epoll_close(struct rgm_provider *provider)
{
    struct rgi_epoll_provider *p;

    if (provider == NULL)
        return;
    p = rgi_epoll_of(provider);
    if (provider->abandoned)
        rgi_jobs_abandon(&p->jobs);
    rgi_jobs_close(&p->jobs);
    rgi_watch_close_all(p);
    rgi_nap_close(p);
    close(p->set);
    rgi_free(p);
}

const struct rgm_provider_class rgm_provider_epoll = {
    .name = "epoll",
    .open = epoll_open,
    .close = epoll_close,
    .kinds = EPOLL_KINDS,
};
