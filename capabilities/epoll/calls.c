/* SPDX-License-Identifier: MIT */

/*
 * calls.c - which system calls does the epoll provider make for itself?
 *
 * Those of its set; the ones on sockets and files are those of all providers.
 * epoll_pwait2 is made by number: it is not in every libc, and its caller looks
 * first whether the kernel has it.
 */

#include <errno.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "capabilities/epoll/parts.h"

#define CALL_EPOLL_PWAIT2 441 /* the same on every machine */

static int
set_open(void)
{
    int set = epoll_create1(EPOLL_CLOEXEC);

    return set < 0 ? -errno : set;
}

static int
control(int set, int operation, int fd, struct epoll_event *event)
{
    return epoll_ctl(set, operation, fd, event) < 0 ? -errno : 0;
}

static int
wait_for_events(int set, struct epoll_event *events, int count, int pause_ms)
{
    int found = epoll_pwait(set, events, count, pause_ms, NULL);

    return found < 0 ? -errno : found;
}

static int
wait_exactly(int set, struct epoll_event *events, int count,
             const struct timespec *pause)
{
    long found = syscall(CALL_EPOLL_PWAIT2, set, events, count, pause, NULL, 0);

    return found < 0 ? -errno : (int)found;
}

static int
timer_open(void)
{
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    return timer < 0 ? -errno : timer;
}

static int
timer_set(int timer, const struct timespec *pause)
{
    struct itimerspec when = {.it_value = *pause};

    return timerfd_settime(timer, 0, &when, NULL) < 0 ? -errno : 0;
}

static int
process_open(int process)
{
    int fd = (int)syscall(SYS_pidfd_open, process, 0);

    return fd < 0 ? -errno : fd;
}

const struct rgi_epoll_calls rgi_epoll_kernel = {
    .set_open = set_open,
    .control = control,
    .wait = wait_for_events,
    .wait_exactly = wait_exactly,
    .timer_open = timer_open,
    .timer_set = timer_set,
    .process_open = process_open,
};
