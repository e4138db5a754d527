/* SPDX-License-Identifier: MIT */

/* bell.c - how does one thread wake another that sleeps in the kernel? */

#include "base/bell.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/baton.h"

/* Raw calls: those of libc are cancellation points, and a thread that is
 * cancelled between its push and its bell would leave the sleeper asleep. */

static long
bell_write(int fd)
{
    uint64_t one = 1;

    return syscall(SYS_write, fd, &one, sizeof(one));
}

static long
bell_read(int fd)
{
    uint64_t count;

    return syscall(SYS_read, fd, &count, sizeof(count));
}

int
rgi_bell_open(int *ret_fd)
{
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (fd < 0)
        return -errno;
    *ret_fd = fd;
    return 0;
}

void
rgi_bell_ring(void *argument)
{
    int fd = (int)(intptr_t)argument;
    int saved = errno;

    while (bell_write(fd) < 0) {
        /* Anything else, EBADF above all, would ring nobody for ever. */
        rgi_assert(errno == EAGAIN || errno == EINTR);
        if (errno == EAGAIN)
            (void)bell_read(fd);
    }
    errno = saved;
}

bool
rgi_bell_take(int fd)
{
    return bell_read(fd) == (long)sizeof(uint64_t);
}

bool
rgi_bell_is_rung(int fd)
{
    struct pollfd bell = {fd, POLLIN, 0};

    return poll(&bell, 1, 0) > 0;
}

static bool
is_rung(void *argument)
{
    return rgi_bell_is_rung((int)(intptr_t)argument);
}

bool
rgi_bell_await(int fd, uint64_t pause_ns)
{
    struct pollfd bell = {fd, POLLIN, 0};
    struct timespec pause = {(time_t)(pause_ns / RGM_NS_PER_S),
                             (long)(pause_ns % RGM_NS_PER_S)};

    if (rgi_baton != NULL) { /* no time passes: a pause is none */
        rgi_baton->await(rgi_baton, "bell",
                         pause_ns == RGM_NEVER ? is_rung : NULL,
                         (void *)(intptr_t)fd);
        return rgi_bell_take(fd);
    }
    return ppoll(&bell, 1, pause_ns == RGM_NEVER ? NULL : &pause, NULL) > 0 &&
           rgi_bell_take(fd);
}

void
rgi_bell_close(int fd)
{
    close(fd);
}
