/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_EPOLL_SHIM_H
#define CAPABILITIES_EPOLL_SHIM_H

/*
 * shim.h - how do tests see and change what passes between an epoll provider and its
 * set? For tests, one world per program.
 *
 * Every call of the provider's own goes through the shim. It counts them, can refuse
 * one, and can tell events that the kernel has not told.
 */

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/memory.h"
#include "capabilities/desk.h"
#include "capabilities/epoll/parts.h"

static struct {
    unsigned sets;
    unsigned adds, changes, removals; /* that the kernel was asked for */
    void (*before_add)(int fd);
    uint32_t last_events;             /* of the last one added */
    bool removed_open; /* the last one removed was a descriptor then */
    int refuse_add, refuse_removal; /* errors given instead; 0: none */
    bool refuse_exact, refuse_timer;
    unsigned arms, disarms;
    int refuse_arm, refuse_disarm;
    unsigned waits;
    unsigned naps;              /* of those, that might sleep */
    struct epoll_event told[8]; /* by the next wait, instead of the kernel's */
    int told_count;
    unsigned processes; /* watched so far */
    int refuse_process;
} shim;

static int
shim_set_open(void)
{
    shim.sets++;
    return rgi_epoll_kernel.set_open();
}

static int
shim_control(int set, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD) {
        if (shim.refuse_add != 0)
            return shim.refuse_add;
        shim.adds++;
        if (shim.before_add != NULL)
            shim.before_add(fd);
        shim.last_events = event->events;
    } else if (operation == EPOLL_CTL_DEL) {
        if (shim.refuse_removal != 0)
            return shim.refuse_removal;
        shim.removals++;
        shim.removed_open = fcntl(fd, F_GETFD) >= 0;
    } else {
        shim.changes++;
    }
    return rgi_epoll_kernel.control(set, operation, fd, event);
}

/* Returns: whether the test has something to tell. */
static bool
shim_tells(struct epoll_event *events, int *ret_count)
{
    if (shim.told_count == 0)
        return false;
    memcpy(events, shim.told, (size_t)shim.told_count * sizeof(*events));
    *ret_count = shim.told_count;
    shim.told_count = 0;
    return true;
}

static int
shim_wait(int set, struct epoll_event *events, int count, int pause_ms)
{
    shim.waits++;
    shim.naps += pause_ms != 0;
    if (shim_tells(events, &count))
        return count;
    return rgi_epoll_kernel.wait(set, events, count, pause_ms);
}

static int
shim_wait_exactly(int set, struct epoll_event *events, int count,
                  const struct timespec *pause)
{
    if (shim.refuse_exact)
        return -ENOSYS;
    shim.waits++;
    shim.naps++;
    if (shim_tells(events, &count))
        return count;
    return rgi_epoll_kernel.wait_exactly(set, events, count, pause);
}

static int
shim_timer_open(void)
{
    return shim.refuse_timer ? -EMFILE : rgi_epoll_kernel.timer_open();
}

static int
shim_timer_set(int timer, const struct timespec *pause)
{
    bool arms = pause->tv_sec != 0 || pause->tv_nsec != 0;
    int refusal = arms ? shim.refuse_arm : shim.refuse_disarm;

    shim.arms += arms;
    shim.disarms += !arms;
    return refusal != 0 ? refusal : rgi_epoll_kernel.timer_set(timer, pause);
}

static int
shim_process_open(int process)
{
    shim.processes++;
    return shim.refuse_process != 0 ? shim.refuse_process
                                    : rgi_epoll_kernel.process_open(process);
}

static const struct rgi_epoll_calls shim_calls = {
    .set_open = shim_set_open,
    .control = shim_control,
    .wait = shim_wait,
    .wait_exactly = shim_wait_exactly,
    .timer_open = shim_timer_open,
    .timer_set = shim_timer_set,
    .process_open = shim_process_open,
};

/* A desk whose provider goes through the shim. */
struct world {
    struct desk desk;
    struct rgi_epoll_provider *p;
};

static int
world_try(struct world *world, bool strict)
{
    struct rgm_provider_options options = {.threads = 1, .strict = strict};
    char why[128] = "";
    int status;

    *world = (struct world){0};
    rgi_check(rgi_bell_open(&world->desk.bell) == 0);
    options.bell = world->desk.bell;
    status = rgi_epoll_provider_open(&options, &shim_calls,
                                     &world->desk.provider, why, sizeof(why));
    if (status == 0)
        world->p = rgi_epoll_of(world->desk.provider);
    else
        rgi_bell_close(world->desk.bell);
    rgi_check((status < 0) == (why[0] != '\0'));
    return status;
}

static void
world_open(struct world *world)
{
    rgi_check(world_try(world, false) == 0);
    shim.adds = 0;
    shim.waits = 0;
    shim.naps = 0;
}

/* The next one begins anew. */
static void
world_close(struct world *world)
{
    desk_close(&world->desk, &rgm_provider_epoll);
    memset(&shim, 0, sizeof(shim));
}

static void
world_adopt(struct world *world, struct rgm_stream *stream, int fd)
{
    struct rgi_watch *watch = rgi_watch_take(world->p);

    rgi_check(fd >= 0);
    rgi_watch_own(watch, fd);
    *stream = (struct rgm_stream){{.worker = desk_here,
                                   .resource = (uint64_t)(uintptr_t)watch,
                                   .open = 1,
                                   .kind = RGI_SOCKET_STREAM}};
}

/* What the peer has not read fills it to the byte. Returns: the peer. */
static int
world_pair(struct world *world, struct rgm_stream *stream)
{
    int fds[2];

    rgi_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    world_adopt(world, stream, fds[0]);
    return fds[1];
}

/* A connection over the loopback, of which one end is the provider's. Returns: the
 * other. */
static int
world_stream(struct world *world, struct rgm_stream *stream)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(here);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int peer = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    rgi_check(bind(listener, (struct sockaddr *)&here, length) == 0);
    rgi_check(listen(listener, 1) == 0);
    rgi_check(getsockname(listener, (struct sockaddr *)&here, &length) == 0);
    rgi_check(connect(peer, (struct sockaddr *)&here, length) == 0);
    world_adopt(world, stream, accept4(listener, NULL, NULL, SOCK_CLOEXEC));
    close(listener);
    return peer;
}

static struct rgi_watch *
watch_of(const struct rgm_stream *stream)
{
    return (struct rgi_watch *)(uintptr_t)stream->socket.resource;
}

static void
world_hang_up(struct world *world, struct rgm_stream *stream, int peer)
{
    rgi_check(desk_close_socket(&world->desk, &stream->socket) == 0);
    close(peer);
}

static void
say(int peer, const char *text)
{
    rgi_check(send(peer, text, strlen(text), MSG_NOSIGNAL) ==
              (ssize_t)strlen(text));
}

/* What the next wait hears, whatever the kernel has to say. */
static void
tell(void *about, uint32_t events)
{
    shim.told[shim.told_count++] =
        (struct epoll_event){.events = events, .data.ptr = about};
}

/* One look at the set, however short ago the last one was. */
static uint32_t
look(struct world *world)
{
    world->p->looked_ns = 0;
    return desk_take(&world->desk, 0);
}

#endif /* CAPABILITIES_EPOLL_SHIM_H */
