/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_EPOLL_PARTS_H
#define CAPABILITIES_EPOLL_PARTS_H

/*
 * parts.h - what do the files of the epoll provider share?
 *
 * An operation on a socket is tried at once, on its worker's thread, by the same
 * call that the plain provider makes. One that comes too early stands in a line of
 * its socket and direction until the kernel says that there is something. Whatever
 * may block goes to the threads of jobs.h.
 *
 * Everything here is the owner's alone.
 */

#include <sys/epoll.h>

#include "base/list.h"
#include "capabilities/threads/jobs.h"

#define RGI_EPOLL_EVENTS 256             /* taken from the kernel at once */
#define RGI_EPOLL_PAUSE_NS RGM_NS_PER_MS /* when nothing tells when */
#define RGI_EPOLL_LOOK_NS (4 * RGM_NS_PER_US) /* between looks without sleep */
#define RGI_EPOLL_STARVED_MAX 64              /* of them tried again at once */

/* The kernel, so that tests may stand in front of it. All of them return what
 * they made or found, or a negative errno. */
struct rgi_epoll_calls {
    int (*set_open)(void);
    int (*control)(int set, int operation, int fd, struct epoll_event *event);
    int (*wait)(int set, struct epoll_event *events, int count, int pause_ms);
    int (*wait_exactly)(int set, struct epoll_event *events, int count,
                        const struct timespec *pause);
    int (*timer_open)(void);
    int (*timer_set)(int timer, const struct timespec *pause); /* 0: disarms */
    int (*process_open)(int process);
};

extern const struct rgi_epoll_calls rgi_epoll_kernel;

/* One direction of a descriptor. */
struct rgi_side {
    struct rgm_link line;       /* operations that wait for it, oldest first */
    struct rgm_operation *lent; /* to the threads; the line waits for it */
    uint32_t generation;        /* of what the kernel has told; counts up */
    uint32_t lent_generation;   /* when it was lent */
    bool ready;                 /* try; until EAGAIN says otherwise */
};

/* A descriptor of ours, and what the kernel has said of it. The resource of every
 * handle is the address of one; an event carries it, too. */
struct rgi_watch {
    struct rgi_side in;
    struct rgi_side out;
    struct rgm_link link; /* runnable, paused or idle */
    int fd;               /* -1: none yet */
    bool open;            /* to be closed with the provider */
    bool file;            /* never in the set */
    bool registered;
    bool short_is_all; /* a read that ends before its room does took all */
    bool lasting;      /* not so any more: an end or urgent data was told */
};

struct rgi_watch_chunk;

/* How a sleep ends in time. */
enum rgi_nap {
    RGI_NAP_EXACT,       /* the call takes nanoseconds */
    RGI_NAP_TIMER,       /* a timer of the set does */
    RGI_NAP_MILLISECONDS /* late by one at most, never early */
};

struct rgi_epoll_provider {
    struct rgm_provider provider;
    const struct rgi_epoll_calls *calls;
    int set;
    int bell;  /* the worker's */
    int timer; /* -1: none */
    enum rgi_nap nap;
    struct rgi_jobs jobs;
    struct rgm_stream_defaults streams; /* what those that are opened get */

    struct rgm_link done;     /* operations, for the next wait */
    struct rgm_link runnable; /* watches with something to try */
    struct rgm_link paused;   /* watches that are tried again after a pause */
    uint64_t pause_end_ns;
    uint64_t looked_ns; /* when the kernel was asked last */
    uint32_t lined;     /* operations that stand in a line */
    uint32_t in_pool;   /* with the threads, or done by them */

    struct rgm_link idle; /* watches that nobody has */
    struct rgi_watch_chunk *chunks;
    uint32_t quarantined; /* watches that the kernel may still name */

    struct epoll_event events[RGI_EPOLL_EVENTS];
    char mode[96];
};

static inline struct rgi_epoll_provider *
rgi_epoll_of(struct rgm_provider *provider)
{
    return rgi_container_of(provider, struct rgi_epoll_provider, provider);
}

static inline uint64_t
rgi_epoll_now(struct rgi_epoll_provider *p)
{
    return p->provider.ops->now(&p->provider);
}

/* As rgm_provider_epoll.open, on other calls than the kernel's. */
int rgi_epoll_provider_open(const struct rgm_provider_options *options,
                            const struct rgi_epoll_calls *calls,
                            struct rgm_provider **ret_provider, char *why,
                            size_t why_size);

/* ---- watch.c: what is known of a descriptor */

/* Returns: a watch without a descriptor, or NULL: no memory. */
struct rgi_watch *rgi_watch_take(struct rgi_epoll_provider *p);

/* The descriptor is the watch's from now on. */
void rgi_watch_own(struct rgi_watch *watch, int fd);

/* Events come from now on. Returns: 0, or the kernel's error. */
RGM_MUST_USE int
rgi_watch_register(struct rgi_epoll_provider *p, struct rgi_watch *watch);

/* No event comes any more; whoever finds nothing then registers it anew.
 * Returns: false when the kernel would not have it. */
bool
rgi_watch_unregister(struct rgi_epoll_provider *p, struct rgi_watch *watch);

/* Nobody waits for it; its descriptor is the caller's again, and open. */
void rgi_watch_release(struct rgi_epoll_provider *p, struct rgi_watch *watch);

/* What the kernel says of it. Puts it among the runnable if somebody waits. */
void rgi_watch_note(struct rgi_epoll_provider *p, struct rgi_watch *watch,
                    uint32_t events);

/* It is tried at the end of the next wait, or after a pause. */
void rgi_watch_run_later(struct rgi_epoll_provider *p, struct rgi_watch *watch);
void rgi_watch_pause(struct rgi_epoll_provider *p, struct rgi_watch *watch);

/* Closes all descriptors and frees all watches. */
void rgi_watch_close_all(struct rgi_epoll_provider *p);

/* ---- line.c: who waits for it */

/* Tries it, if it is its turn; it stands in line otherwise, and afterwards if it
 * is not over. */
void rgi_line_submit(struct rgi_epoll_provider *p, struct rgi_watch *watch,
                     struct rgm_operation *operation);

/* Tries it, whatever stands in line. It is over. */
void rgi_line_try_once(struct rgi_epoll_provider *p,
                       struct rgm_operation *operation);

/* Its turn is over; whoever stands behind it may be tried. */
void
rgi_line_leave(struct rgi_epoll_provider *p, struct rgm_operation *operation);

/* The threads have had one that waits for its socket. Returns: whether it is
 * over; otherwise it stands in line again. */
bool rgi_line_returned(struct rgi_epoll_provider *p,
                       struct rgm_operation *operation);

/* One look at everything that is runnable, or whose pause is over. */
void rgi_line_serve(struct rgi_epoll_provider *p);

/* It is over: for the next wait. */
void rgi_line_finish(struct rgi_epoll_provider *p,
                     struct rgm_operation *operation, int status);

/* Whether it makes a descriptor, whose watch is its attempt's `owner`. A connection
 * over an open socket makes none. */
bool rgi_line_makes_one(const struct rgm_operation *operation);

/* The watch of the socket or file an operation is about, or NULL. */
struct rgi_watch *rgi_line_watch_of(const struct rgm_operation *operation);

/* To the threads. */
void
rgi_line_lend(struct rgi_epoll_provider *p, struct rgm_operation *operation);

/* ---- child.c: waits for children */

void rgi_epoll_child_submit(struct rgi_epoll_provider *p,
                            struct rgm_operation *operation);

/* Whether a descriptor tells of it; the threads look now and then otherwise. */
bool rgi_epoll_child_is_watched(const struct rgm_operation *operation);

/* The descriptor of its process goes. */
void rgi_epoll_child_end(struct rgi_epoll_provider *p,
                         struct rgm_operation *operation);

/* Its process has told and cannot be reaped: from here on there are looks. */
void rgi_epoll_child_look_on(struct rgi_epoll_provider *p,
                             struct rgm_operation *operation);

/* ---- nap.c: how long it sleeps */

/* Finds out how. */
void rgi_nap_open(struct rgi_epoll_provider *p);
void rgi_nap_close(struct rgi_epoll_provider *p);
const char *rgi_nap_text(const struct rgi_epoll_provider *p);

/* Until there is an event or that time has come; 0: no sleep.
 * Returns: how many events there are, or a negative errno but for -EINTR. */
RGM_MUST_USE int rgi_nap(struct rgi_epoll_provider *p, uint64_t until_ns);

#endif /* CAPABILITIES_EPOLL_PARTS_H */
