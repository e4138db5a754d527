/* SPDX-License-Identifier: MIT */
#ifndef BENCH_COUNTED_H
#define BENCH_COUNTED_H

/*
 * counted.h - what does the whole process ask of malloc, and of the kernel for a
 * transfer? For one file of a program, before anything is counted.
 *
 * The C library's functions are defined here, count, and go on to the real ones.
 * What the kernel is asked for past the C library (entries of a ring) is in the
 * counters of a runtime. A sanitizer has functions of its own in front of these:
 * then nothing is counted.
 */

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static uint64_t counted_allocations;

/* sendmsg, recvmsg, poll, ppoll; nothing unless BENCH_COUNTS_CALLS is defined. */
__attribute__((unused)) static uint64_t counted_calls;

static inline uint64_t
counted(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* glibc's own names for its functions. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static inline void
count(uint64_t *counter)
{
    (void)__atomic_add_fetch(counter, 1, __ATOMIC_RELAXED);
}

#pragma GCC visibility push(default)

void *
malloc(size_t size)
{
    count(&counted_allocations);
    return __libc_malloc(size);
}

void *
calloc(size_t number, size_t size)
{
    count(&counted_allocations);
    return __libc_calloc(number, size);
}

void *
realloc(void *memory, size_t size)
{
    count(&counted_allocations);
    return __libc_realloc(memory, size);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    count(&counted_allocations);
    return __libc_memalign(alignment, size);
}

#pragma GCC visibility pop

#ifdef BENCH_COUNTS_CALLS

#pragma GCC visibility push(default)

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    count(&counted_calls);
    return syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
    count(&counted_calls);
    return syscall(SYS_recvmsg, fd, message, flags);
}

int
poll(struct pollfd *fds, nfds_t number, int timeout_ms)
{
    struct timespec timeout = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

    count(&counted_calls);
    return (int)syscall(SYS_ppoll, fds, number,
                        timeout_ms < 0 ? NULL : &timeout, NULL, 0);
}

int
ppoll(struct pollfd *fds, nfds_t number, const struct timespec *timeout,
      const sigset_t *signals)
{
    struct timespec left;

    count(&counted_calls);
    if (timeout != NULL)
        left = *timeout; /* the kernel writes to it */
    return (int)syscall(SYS_ppoll, fds, number,
                        timeout == NULL ? NULL : &left, signals,
                        sizeof(uint64_t));
}

#pragma GCC visibility pop

#endif

#endif

#endif /* BENCH_COUNTED_H */
