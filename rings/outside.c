/* SPDX-License-Identifier: MIT */

/*
 * outside.c - how does an owner sleep where it must not block in the ring?
 *
 * A checker that lets one thread run at a time, and knows of no ring, waits for
 * ever in a ring's own sleep with everybody else. poll(2) it knows.
 *
 * 1. The ring has an eventfd of its own, which the kernel rings for each
 *    completion, and for work that would bring one when the owner enters.
 * 2. What is pending is submitted without a wait. If that brings something, or
 *    has brought it before, nobody sleeps.
 * 3. Otherwise the owner sleeps in poll until it rings or the time is over,
 *    takes the ring, and enters once more, which runs the work.
 *
 * What rings between 2 and 3 is still in the eventfd's count when poll looks;
 * what has rung before ends a sleep for nothing, once.
 *
 * The bell that the ring watches is an eventfd, too, and the kernel does not
 * ring one from within the other: it puts that off, and on Linux 6.18 it does so
 * once and never again. So the bell is in the poll beside it, and is emptied.
 */

#include "rings/ring.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

int
rgi_ring_outside_open(struct rgi_ring *ring, int fd)
{
    int bell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    int status;

    if (bell < 0)
        return -errno;
    status =
        ring->calls->enroll((unsigned)fd, IORING_REGISTER_EVENTFD, &bell, 1);
    if (status < 0) {
        close(bell);
        return status;
    }
    ring->outside = bell;
    return 0;
}

void
rgi_ring_outside_close(struct rgi_ring *ring)
{
    if (ring->outside >= 0)
        close(ring->outside);
    ring->outside = -1;
}

static void
empty(int bell)
{
    uint64_t count;

    if (bell >= 0 && read(bell, &count, sizeof(count)) < 0)
        return; /* it has not rung */
}

void
rgi_ring_outside_sleep(struct rgi_ring *ring, uint64_t timeout_ns)
{
    struct pollfd bells[2] = {{.fd = ring->outside, .events = POLLIN},
                              {.fd = ring->watched, .events = POLLIN}};
    struct timespec timeout = {
        .tv_sec = (time_t)(timeout_ns / RGM_NS_PER_S),
        .tv_nsec = (long)(timeout_ns % RGM_NS_PER_S),
    };

    /* Whatever ends it, somebody looks. */
    (void)ppoll(bells, 2, timeout_ns == RGM_NEVER ? NULL : &timeout, NULL);
    empty(ring->outside);
    empty(ring->watched);
}
