/* SPDX-License-Identifier: MIT */

/* shim.c - what does the process ask of the C library? */

#include "conformance/shim.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "conformance/short.h"

#define ADD(counter) (void)__atomic_add_fetch(&(counter), 1, __ATOMIC_SEQ_CST)
#define LOOK(counter) __atomic_load_n(&(counter), __ATOMIC_SEQ_CST)

/* --------------------------------------------------------------- the lock's */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int gate_fd; /* -1: none, in all of these */
    unsigned inside;
    int receive_fd;
    int receive_error;
    int close_fd;
    int close_error;
    unsigned closes;
} shim = {PTHREAD_MUTEX_INITIALIZER,
          PTHREAD_COND_INITIALIZER,
          -1,
          0,
          -1,
          0,
          -1,
          0,
          0};

void
shim_gate_shut(int fd)
{
    pthread_mutex_lock(&shim.lock);
    shim.gate_fd = fd;
    pthread_mutex_unlock(&shim.lock);
}

void
shim_gate_open(void)
{
    pthread_mutex_lock(&shim.lock);
    shim.gate_fd = -1;
    pthread_cond_broadcast(&shim.changed);
    pthread_mutex_unlock(&shim.lock);
}

void
shim_gate_await(unsigned inside)
{
    pthread_mutex_lock(&shim.lock);
    while (shim.inside < inside)
        pthread_cond_wait(&shim.changed, &shim.lock);
    pthread_mutex_unlock(&shim.lock);
}

void
shim_receive_fail(int fd, int error)
{
    pthread_mutex_lock(&shim.lock);
    shim.receive_fd = fd;
    shim.receive_error = error;
    pthread_mutex_unlock(&shim.lock);
}

bool
shim_receive_failed(void)
{
    bool failed;

    pthread_mutex_lock(&shim.lock);
    failed = shim.receive_fd < 0;
    pthread_mutex_unlock(&shim.lock);
    return failed;
}

void
shim_close_fail(int fd, int error)
{
    pthread_mutex_lock(&shim.lock);
    shim.close_fd = fd;
    shim.close_error = error;
    shim.closes = 0;
    pthread_mutex_unlock(&shim.lock);
}

unsigned
shim_closes(void)
{
    unsigned closes;

    pthread_mutex_lock(&shim.lock);
    closes = shim.closes;
    pthread_mutex_unlock(&shim.lock);
    return closes;
}

/* Returns: the error to give, or 0. */
static int
receive_passes(int fd)
{
    int error = 0;

    pthread_mutex_lock(&shim.lock);
    if (fd == shim.gate_fd) {
        shim.inside++;
        pthread_cond_broadcast(&shim.changed);
        while (fd == shim.gate_fd)
            pthread_cond_wait(&shim.changed, &shim.lock);
        shim.inside--;
    }
    if (fd == shim.receive_fd) {
        error = shim.receive_error;
        shim.receive_fd = -1;
    }
    pthread_mutex_unlock(&shim.lock);
    return error;
}

static int
close_passes(int fd)
{
    int error = 0;

    pthread_mutex_lock(&shim.lock);
    if (fd == shim.close_fd) {
        shim.closes++;
        error = shim.close_error;
    }
    pthread_mutex_unlock(&shim.lock);
    return error;
}

/* ---------------------------------------------------- in front of the library */

/* The library, when it is a shared one, must find these. */
#pragma GCC visibility push(default)

ssize_t
recv(int fd, void *memory, size_t size, int flags)
{
    int error = receive_passes(fd);

    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_recvfrom, fd, memory, short_length(size), flags, NULL,
                   NULL);
}

int
close(int fd)
{
    int error = close_passes(fd);

    if (syscall(SYS_close, fd) < 0)
        return -1;
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

static unsigned syncs;
static int sync_fd = -1;
static int sync_error;

unsigned
shim_syncs(void)
{
    return __atomic_load_n(&syncs, __ATOMIC_RELAXED);
}

void
shim_sync_fail(int fd, int error)
{
    pthread_mutex_lock(&shim.lock);
    sync_fd = fd;
    sync_error = error;
    pthread_mutex_unlock(&shim.lock);
}

/* Returns: the error to give, or 0. */
static int
sync_passes(int fd)
{
    int error = 0;

    ADD(syncs);
    pthread_mutex_lock(&shim.lock);
    if (fd == sync_fd) {
        error = sync_error;
        sync_fd = -1;
    }
    pthread_mutex_unlock(&shim.lock);
    return error;
}

int
fsync(int fd)
{
    int error = sync_passes(fd);

    if (error == 0)
        return (int)syscall(SYS_fsync, fd);
    errno = error;
    return -1;
}

int
fdatasync(int fd)
{
    int error = sync_passes(fd);

    if (error == 0)
        return (int)syscall(SYS_fdatasync, fd);
    errno = error;
    return -1;
}

static const void *last_vectors;

static void
keep_vectors(const void *vectors)
{
    __atomic_store_n(&last_vectors, vectors, __ATOMIC_SEQ_CST);
}

const void *
shim_last_vectors(void)
{
    return LOOK(last_vectors);
}

ssize_t
preadv(int fd, const struct iovec *vectors, int count, off_t offset)
{
    struct iovec one;

    keep_vectors(vectors);
    if (short_is_on() && count > 0) {
        count = short_vectors(vectors, (size_t)count, &one);
        vectors = &one;
    }
    return syscall(SYS_preadv, fd, vectors, count, offset, 0);
}

ssize_t
pwritev(int fd, const struct iovec *vectors, int count, off_t offset)
{
    struct iovec one;

    keep_vectors(vectors);
    if (short_is_on() && count > 0) {
        count = short_vectors(vectors, (size_t)count, &one);
        vectors = &one;
    }
    return syscall(SYS_pwritev, fd, vectors, count, offset, 0);
}

static int message_thread;

static void
keep_thread(void)
{
    __atomic_store_n(&message_thread, (int)syscall(SYS_gettid),
                     __ATOMIC_SEQ_CST);
}

int
shim_message_thread(void)
{
    return LOOK(message_thread);
}

static unsigned message_receives;

unsigned
shim_message_receives(void)
{
    return __atomic_load_n(&message_receives, __ATOMIC_RELAXED);
}

/* Of a stream only its first byte is asked for. Returns: what to ask with. */
static struct msghdr
cut_header(int fd, const struct msghdr *header, struct iovec *one)
{
    struct msghdr cut = *header;

    if (short_is_on() && short_is_stream(fd)) {
        cut.msg_iovlen =
            (size_t)short_vectors(header->msg_iov, header->msg_iovlen, one);
        cut.msg_iov = one;
    }
    return cut;
}

ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
    struct iovec one;
    struct msghdr cut = cut_header(fd, message, &one);
    ssize_t count;

    ADD(message_receives);
    keep_thread();
    count = syscall(SYS_recvmsg, fd, &cut, flags);
    message->msg_namelen = cut.msg_namelen;
    message->msg_controllen = cut.msg_controllen;
    message->msg_flags = cut.msg_flags;
    return count;
}

static unsigned sends_with_signal;

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
    struct iovec one;
    struct msghdr cut = cut_header(fd, message, &one);

    if ((flags & MSG_NOSIGNAL) == 0)
        ADD(sends_with_signal);
    keep_vectors(message->msg_iov);
    keep_thread();
    return syscall(SYS_sendmsg, fd, &cut, flags);
}

unsigned
shim_sends_with_signal(void)
{
    return LOOK(sends_with_signal);
}

static int64_t wall_seconds;

void
shim_wall_clock_step(int64_t seconds)
{
    __atomic_store_n(&wall_seconds, seconds, __ATOMIC_SEQ_CST);
}

int
clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    if (syscall(SYS_clock_gettime, clock, ret_now) < 0)
        return -1;
    if (clock == CLOCK_REALTIME)
        ret_now->tv_sec += (time_t)LOOK(wall_seconds);
    return 0;
}

#pragma GCC visibility pop

/* --------------------------------------------------------------- allocations */

#if SHIM_COUNTS_ALLOCATIONS

static uint64_t allocations;
static uint64_t allocated_bytes;

uint64_t
shim_allocations(void)
{
    return LOOK(allocations);
}

uint64_t
shim_allocated_bytes(void)
{
    return LOOK(allocated_bytes);
}

static void
count_allocation(size_t size)
{
    ADD(allocations);
    (void)__atomic_add_fetch(&allocated_bytes, size, __ATOMIC_SEQ_CST);
}

#pragma GCC visibility push(default)

/* glibc's own names for its functions. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **ret_memory, size_t alignment, size_t size);

void *
malloc(size_t size)
{
    count_allocation(size);
    return __libc_malloc(size);
}

void *
calloc(size_t count, size_t size)
{
    count_allocation(count * size);
    return __libc_calloc(count, size);
}

void *
realloc(void *memory, size_t size)
{
    count_allocation(size);
    return __libc_realloc(memory, size);
}

void *
aligned_alloc(size_t alignment, size_t size)
{
    count_allocation(size);
    return __libc_memalign(alignment, size);
}

int
posix_memalign(void **ret_memory, size_t alignment, size_t size)
{
    void *memory;

    count_allocation(size);
    memory = __libc_memalign(alignment, size);
    if (memory == NULL)
        return ENOMEM;
    *ret_memory = memory;
    return 0;
}

#pragma GCC visibility pop

#else

uint64_t
shim_allocations(void)
{
    return 0;
}

uint64_t
shim_allocated_bytes(void)
{
    return 0;
}

#endif
