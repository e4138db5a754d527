/* SPDX-License-Identifier: MIT */

/*
 * submit.c - how do entries get to the kernel, and how does a worker sleep?
 *
 * 1. rgi_ring_entry hands out the next place of the queue, cleared and named.
 *    A full queue is submitted first.
 * 2. rgi_ring_enter publishes the tail and makes the one system call that
 *    submits, runs deferred work, flushes overflow and, if asked, sleeps.
 *
 * The return value of that call cannot tell a time-out from a submission, so
 * nobody looks at it except for errors. EINTR and ETIME are the end of a sleep.
 * EAGAIN and EBUSY mean that the kernel takes nothing more just now; the next
 * sleep then submits nothing and is short, instead of asking again at once.
 */

#include "rings/ring.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

/* How long to wait for completions when nothing can be submitted. */
#define REFUSED_PAUSE_NS RGM_NS_PER_MS

/* What the kernel wants to see where no argument is given. */
#define SIGNALS_BYTES (_NSIG / 8)

struct io_uring_sqe *
rgi_ring_entry(struct rgi_ring *ring, uint64_t identity)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring->uring);

    if (entry == NULL) {
        if (rgi_ring_enter(ring, false, 0) < 0)
            return NULL;
        entry = io_uring_get_sqe(&ring->uring);
        if (entry == NULL)
            return NULL;
    }
    memset(entry, 0, sizeof(*entry));
    entry->user_data = identity;
    return entry;
}

bool
rgi_ring_cancel(struct rgi_ring *ring, uint64_t identity)
{
    struct io_uring_sqe *entry =
        rgi_ring_entry(ring, identity | RGI_IDENTITY_CANCEL);

    if (entry == NULL)
        return false;
    entry->opcode = IORING_OP_ASYNC_CANCEL;
    entry->fd = -1;
    entry->addr = identity;
    return true;
}

void
rgi_ring_poll(struct io_uring_sqe *entry, int fd, uint32_t events)
{
    entry->opcode = IORING_OP_POLL_ADD;
    entry->fd = fd;
    /* The kernel wants the halves of this word as a little endian has them. */
    entry->poll32_events = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
                               ? events << 16 | events >> 16
                               : events;
}

void
rgi_ring_pause(struct io_uring_sqe *entry)
{
    static const struct __kernel_timespec millisecond = {0, 1000000};

    entry->opcode = IORING_OP_TIMEOUT;
    entry->fd = -1;
    entry->addr = (uint64_t)(uintptr_t)&millisecond;
    entry->len = 1;
}

bool
rgi_ring_watch(struct rgi_ring *ring, int fd, uint64_t identity)
{
    struct io_uring_sqe *entry = rgi_ring_entry(ring, identity);

    if (entry == NULL)
        return false;
    rgi_ring_poll(entry, fd, POLLIN);
    entry->len = IORING_POLL_ADD_MULTI;
    if (ring->outside >= 0)
        ring->watched = fd;
    return true;
}

/* One entry to the kernel. Returns nothing but errors. */
static int
enter_kernel(struct rgi_ring *ring, unsigned to_submit, bool wait,
             uint64_t timeout_ns)
{
    struct __kernel_timespec timeout;
    struct io_uring_getevents_arg argument;
    unsigned flags = ring->enter_flags | (wait ? ring->wait_flags : 0);
    bool timed = wait && timeout_ns != RGM_NEVER;
    int result;

    if (timed) {
        timeout.tv_sec = (long long)(timeout_ns / RGM_NS_PER_S);
        timeout.tv_nsec = (long long)(timeout_ns % RGM_NS_PER_S);
        memset(&argument, 0, sizeof(argument));
        argument.ts = (uint64_t)(uintptr_t)&timeout;
        flags |= IORING_ENTER_EXT_ARG;
    }
    /* ring-entries: publishes the entries to the kernel. */
    __atomic_store_n(ring->uring.sq.ktail, ring->uring.sq.sqe_tail,
                     __ATOMIC_RELEASE);
    ring->kernel_entries++;
    result = ring->calls->enter(ring->enter_fd, to_submit, wait ? 1 : 0, flags,
                                timed ? &argument : NULL,
                                timed ? sizeof(argument) : SIGNALS_BYTES);
    return result < 0 ? result : 0;
}

static int
judge(struct rgi_ring *ring, int result)
{
    switch (result) {
    case 0:
    case -EINTR:
    case -ETIME:
        return 0;
    case -EAGAIN:
    case -EBUSY:
        ring->refused = true;
        return 0;
    default:
        return result;
    }
}

int
rgi_ring_enter(struct rgi_ring *ring, bool wait, uint64_t timeout_ns)
{
    unsigned pending = rgi_ring_pending(ring);
    unsigned before = *ring->uring.sq.khead;
    bool overflowed = (*ring->uring.sq.kflags & IORING_SQ_CQ_OVERFLOW) != 0;
    unsigned visible = io_uring_cq_ready(&ring->uring);
    int result;

    if (!rgi_ring_is_mine(ring))
        return -EPERM;
    if (ring->refused && wait) {
        pending = 0;
        if (timeout_ns > REFUSED_PAUSE_NS)
            timeout_ns = REFUSED_PAUSE_NS;
    }
    ring->refused = false;
    result = enter_kernel(ring, pending, wait && ring->outside < 0, timeout_ns);
    if (result == 0 && wait && ring->outside >= 0 &&
        io_uring_cq_ready(&ring->uring) == 0) {
        rgi_ring_outside_sleep(ring, timeout_ns);
        result = enter_kernel(ring, 0, false, 0);
    }
    ring->entries_submitted += *ring->uring.sq.khead - before;
    if (overflowed)
        ring->overflows += io_uring_cq_ready(&ring->uring) - visible;
    return judge(ring, result);
}
