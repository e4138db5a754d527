/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_FAULTS_H
#define RGI_ACTORS_FAULTS_H

/*
 * faults.h - how does a test let the nth system call of a kind fail?
 *
 * These stand in front of the C library for everything that is linked into the
 * test program; the program's other libraries do not see them. A plan names the
 * calls that count, which of them fails, and with what. One plan at a time;
 * calls are counted over all threads.
 *
 * For tests; once per program.
 */

#include <dlfcn.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum fault_call {
    FAULT_RING_SETUP,
    FAULT_RING_ENTER,
    FAULT_RING_REGISTER,
    FAULT_MMAP,
    FAULT_EVENTFD,
    FAULT_THREAD,
    FAULT_SOCKET,
    FAULT_BIND,
    FAULT_LISTEN,
    FAULT_ACCEPT,
    FAULT_CONNECT,
    FAULT_RECEIVE,
    FAULT_SEND,
    FAULT_POLL,
    FAULT_CALLS_COUNT
};

static const char *const fault_names[FAULT_CALLS_COUNT] = {
    "io_uring_setup", "io_uring_enter", "io_uring_register", "mmap",
    "eventfd",        "pthread_create", "socket",            "bind",
    "listen",         "accept4",        "connect",           "recv",
    "sendmsg",        "ppoll"};

static struct {
    atomic_uint calls;  /* bits: which calls count */
    atomic_long left;   /* up to the one that fails; 0: it has */
    atomic_int error;   /* a positive errno */
    atomic_bool late;   /* it does what it should, and then fails */
} fault;

#define FAULT_BIT(call) (1u << (call))

static void
fault_plan(unsigned calls, long nth, int error, bool late)
{
    atomic_store(&fault.left, nth);
    atomic_store(&fault.error, error);
    atomic_store(&fault.late, late);
    atomic_store(&fault.calls, calls);
}

/* Returns: whether the call that was to fail has been made. */
static bool
fault_end(void)
{
    atomic_store(&fault.calls, 0);
    return atomic_load(&fault.left) <= 0;
}

/* The error of this call, or 0. */
static int
fault_hits(enum fault_call call)
{
    if ((atomic_load(&fault.calls) & FAULT_BIT(call)) == 0)
        return 0;
    return atomic_fetch_sub(&fault.left, 1) == 1 ? atomic_load(&fault.error)
                                                 : 0;
}

/* ------------------------------------------------------------------ the ring */

int
io_uring_setup(unsigned entries, struct io_uring_params *params)
{
    int error = fault_hits(FAULT_RING_SETUP);
    long fd = error != 0 ? -1 : syscall(SYS_io_uring_setup, entries, params);

    return error != 0 ? -error : fd < 0 ? -errno : (int)fd;
}

/* Late, it has submitted and waited, and says that it was interrupted. */
int
io_uring_enter2(unsigned fd, unsigned to_submit, unsigned min_complete,
                unsigned flags, sigset_t *argument, size_t argument_bytes)
{
    int error = fault_hits(FAULT_RING_ENTER);
    long result;

    if (error != 0 && !atomic_load(&fault.late))
        return -error;
    result = syscall(SYS_io_uring_enter, fd, to_submit, min_complete, flags,
                     argument, argument_bytes);
    if (error != 0)
        return -error;
    return result < 0 ? -errno : (int)result;
}

int
io_uring_register(unsigned fd, unsigned opcode, const void *argument,
                  unsigned count)
{
    int error = fault_hits(FAULT_RING_REGISTER);
    long result = error != 0 ? -1
                             : syscall(SYS_io_uring_register, fd, opcode,
                                       argument, count);

    return error != 0 ? -error : result < 0 ? -errno : (int)result;
}

/* -------------------------------------------------------------- the C library */

#define FAULT_OR(call, failed, otherwise)                                      \
    do {                                                                       \
        int fault_error_ = fault_hits(call);                                   \
        if (fault_error_ == 0)                                                 \
            return (otherwise);                                                \
        errno = fault_error_;                                                  \
        return (failed);                                                       \
    } while (0)

#if !defined(__SANITIZE_THREAD__) /* it must see every mapping */
void *
mmap(void *where, size_t size, int protection, int flags, int fd, off_t offset)
{
    FAULT_OR(FAULT_MMAP, MAP_FAILED,
             (void *)syscall(SYS_mmap, where, size, protection, flags, fd,
                             offset));
}
#endif

int
eventfd(unsigned count, int flags)
{
    FAULT_OR(FAULT_EVENTFD, -1, (int)syscall(SYS_eventfd2, count, flags));
}

int
socket(int domain, int type, int protocol)
{
    FAULT_OR(FAULT_SOCKET, -1,
             (int)syscall(SYS_socket, domain, type, protocol));
}

int
bind(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
    FAULT_OR(FAULT_BIND, -1,
             (int)syscall(SYS_bind, fd, address.__sockaddr__, length));
}

int
listen(int fd, int backlog)
{
    FAULT_OR(FAULT_LISTEN, -1, (int)syscall(SYS_listen, fd, backlog));
}

int
accept4(int fd, __SOCKADDR_ARG address, socklen_t *length, int flags)
{
    FAULT_OR(FAULT_ACCEPT, -1,
             (int)syscall(SYS_accept4, fd, address.__sockaddr__, length,
                          flags));
}

int
connect(int fd, __CONST_SOCKADDR_ARG address, socklen_t length)
{
    FAULT_OR(
        FAULT_CONNECT, -1,
        (int)syscall(SYS_connect, fd, address.__sockaddr__, length));
}

ssize_t
recv(int fd, void *memory, size_t size, int flags)
{
    FAULT_OR(FAULT_RECEIVE, -1,
             syscall(SYS_recvfrom, fd, memory, size, flags, NULL, NULL));
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    FAULT_OR(FAULT_SEND, -1, syscall(SYS_sendmsg, fd, message, flags));
}

int
ppoll(struct pollfd *list, nfds_t count, const struct timespec *timeout,
      const sigset_t *mask)
{
    struct timespec copy;

    if (timeout != NULL)
        copy = *timeout;
    FAULT_OR(FAULT_POLL, -1,
             (int)syscall(SYS_ppoll, list, count,
                          timeout != NULL ? &copy : NULL, mask, _NSIG / 8));
}

int
pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
               void *(*run)(void *), void *argument)
{
    typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *),
                       void *);
    int error = fault_hits(FAULT_THREAD);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");
    create *real;

    if (error != 0)
        return error;
    memcpy(&real, &symbol, sizeof(real));
    return real(thread, attributes, run, argument);
}

#endif /* RGI_ACTORS_FAULTS_H */
