/* SPDX-License-Identifier: MIT */

/* short.c - what if no transfer moves more than one byte? What shim.c has in
 * front of the C library asks here, too. */

#include "conformance/short.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BULK_BYTES 400

static bool on;
static uint64_t cuts;

void
short_begin(void)
{
    __atomic_store_n(&cuts, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&on, true, __ATOMIC_SEQ_CST);
}

void
short_end(void)
{
    __atomic_store_n(&on, false, __ATOMIC_SEQ_CST);
}

bool
short_is_on(void)
{
    return __atomic_load_n(&on, __ATOMIC_SEQ_CST);
}

uint64_t
short_count(void)
{
    return __atomic_load_n(&cuts, __ATOMIC_SEQ_CST);
}

size_t
short_bulk(size_t length_bytes)
{
    return short_is_on() && length_bytes > BULK_BYTES ? BULK_BYTES
                                                      : length_bytes;
}

size_t
short_length(size_t length_bytes)
{
    if (length_bytes <= 1 || !short_is_on())
        return length_bytes;
    (void)__atomic_add_fetch(&cuts, 1, __ATOMIC_SEQ_CST);
    return 1;
}

int
short_vectors(const struct iovec *vectors, size_t count, struct iovec *ret_one)
{
    size_t all = 0;

    *ret_one = (struct iovec){0};
    for (size_t i = 0; i < count; i++) {
        if (all == 0)
            *ret_one = vectors[i];
        all += vectors[i].iov_len;
    }
    ret_one->iov_len = short_length(all);
    return 1;
}

bool
short_is_stream(int fd)
{
    socklen_t size = sizeof(int);
    int type = 0;

    return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &size) ==
               0 &&
           type == SOCK_STREAM;
}

/* ---------------------------------------------------- in front of the library */

#pragma GCC visibility push(default)

ssize_t
readv(int fd, const struct iovec *vectors, int count)
{
    struct iovec one;

    if (short_is_on() && count > 0) {
        count = short_vectors(vectors, (size_t)count, &one);
        vectors = &one;
    }
    return syscall(SYS_readv, fd, vectors, count);
}

ssize_t
writev(int fd, const struct iovec *vectors, int count)
{
    struct iovec one;

    if (short_is_on() && count > 0) {
        count = short_vectors(vectors, (size_t)count, &one);
        vectors = &one;
    }
    return syscall(SYS_writev, fd, vectors, count);
}

ssize_t
sendfile(int to, int from, off_t *offset, size_t count)
{
    return syscall(SYS_sendfile, to, from, offset, short_length(count));
}

ssize_t
splice(int from, off64_t *from_offset, int to, off64_t *to_offset, size_t count,
       unsigned flags)
{
    return syscall(SYS_splice, from, from_offset, to, to_offset,
                   short_length(count), flags);
}

#pragma GCC visibility pop
