/* SPDX-License-Identifier: MIT */

/*
 * nap.c - how does a sleep end in time?
 *
 * 1. Where the kernel has epoll_pwait2 it is told the time in nanoseconds.
 * 2. Else a timer is in the set, armed before a sleep with an end and disarmed
 *    after it, however it ended; that also clears what it has not told. Sleeps
 *    without an end and looks without a sleep leave it alone.
 * 3. Else it is milliseconds, rounded up: late, but never early.
 *
 * Which of them is found out before anything is registered. A timer that cannot be
 * set any more ends the provider: it would sleep too long.
 */

#include <errno.h>
#include <limits.h>
#include <time.h>
#include <unistd.h>

#include "base/assert.h"
#include "capabilities/epoll/parts.h"

static struct timespec
timespec_of(uint64_t pause_ns)
{
    return (struct timespec){.tv_sec = (time_t)(pause_ns / RGM_NS_PER_S),
                             .tv_nsec = (long)(pause_ns % RGM_NS_PER_S)};
}

static bool
kernel_is_exact(const struct rgi_epoll_provider *p)
{
    struct epoll_event event;
    struct timespec none = {0, 0};

    return p->calls->wait_exactly(p->set, &event, 1, &none) >= 0;
}

/* Returns: as struct rgi_epoll_calls; the timer is in the set. */
static int
timer_add(struct rgi_epoll_provider *p)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &p->timer};
    int timer = p->calls->timer_open();
    int status;

    if (timer < 0)
        return timer;
    status = p->calls->control(p->set, EPOLL_CTL_ADD, timer, &event);
    if (status == 0)
        return timer;
    close(timer);
    return status;
}

void
rgi_nap_open(struct rgi_epoll_provider *p)
{
    p->timer = -1;
    p->nap = RGI_NAP_EXACT;
    if (kernel_is_exact(p))
        return;
    p->timer = timer_add(p);
    p->nap = p->timer >= 0 ? RGI_NAP_TIMER : RGI_NAP_MILLISECONDS;
}

void
rgi_nap_close(struct rgi_epoll_provider *p)
{
    if (p->timer >= 0)
        close(p->timer);
}

const char *
rgi_nap_text(const struct rgi_epoll_provider *p)
{
    if (p->nap == RGI_NAP_EXACT)
        return "sleeps to the nanosecond";
    return p->nap == RGI_NAP_TIMER ? "sleeps by a timer"
                                   : "sleeps by milliseconds";
}

static int
nap_by_timer(struct rgi_epoll_provider *p, uint64_t left_ns)
{
    struct timespec pause = timespec_of(left_ns);
    struct timespec none = {0, 0};
    int status = p->calls->timer_set(p->timer, &pause);
    int count;

    if (status < 0)
        return status;
    count = p->calls->wait(p->set, p->events, RGI_EPOLL_EVENTS, -1);
    status = p->calls->timer_set(p->timer, &none);
    return status < 0 ? status : count;
}

static int
nap_by_milliseconds(struct rgi_epoll_provider *p, uint64_t left_ns)
{
    uint64_t left_ms = left_ns / RGM_NS_PER_MS + 1;

    return p->calls->wait(p->set, p->events, RGI_EPOLL_EVENTS,
                          left_ms > INT_MAX ? INT_MAX : (int)left_ms);
}

static int
nap_for(struct rgi_epoll_provider *p, uint64_t left_ns)
{
    struct timespec pause = timespec_of(left_ns);

    switch (p->nap) {
    case RGI_NAP_EXACT:
        return p->calls->wait_exactly(p->set, p->events, RGI_EPOLL_EVENTS,
                                      &pause);
    case RGI_NAP_TIMER:
        return nap_by_timer(p, left_ns);
    case RGI_NAP_MILLISECONDS:
        return nap_by_milliseconds(p, left_ns);
    default:
        rgi_unreachable();
    }
}

int
rgi_nap(struct rgi_epoll_provider *p, uint64_t until_ns)
{
    uint64_t now_ns =
        until_ns == 0 || until_ns == RGM_NEVER ? 0 : rgi_epoll_now(p);
    int count;

    p->provider.kernel_entries++;
    if (until_ns == RGM_NEVER)
        count = p->calls->wait(p->set, p->events, RGI_EPOLL_EVENTS, -1);
    else if (until_ns <= now_ns)
        count = p->calls->wait(p->set, p->events, RGI_EPOLL_EVENTS, 0);
    else
        count = nap_for(p, until_ns - now_ns);
    return count == -EINTR ? 0 : count;
}
