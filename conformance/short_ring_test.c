/* SPDX-License-Identifier: MIT */

/*
 * short_ring_test.c - do streams and files pass where every transfer of a ring
 * is one byte?
 *
 * 1. A ring is set up and mapped on the thread of its owner; where its entries
 *    lie is seen on the way.
 * 2. Whenever the owner enters the kernel, the entries that are new are cut to
 *    the first byte. The kernel copies arrays of vectors and headers before it
 *    returns, so one place for each entry is enough, and the program's own are
 *    left as they are.
 *
 * What reads of several completions (multishot) bring is not cut: their entries
 * have no length.
 */

#include <errno.h>
#include <linux/io_uring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cases.h"
#include "conformance/short.h"
#include "conformance/short_cases.h"

/* What an entry points to, for the time of one call. */
struct place {
    struct iovec one;
    struct msghdr header;
};

/* The ring of this thread. */
static __thread struct {
    struct io_uring_params params;
    char *queues;
    struct io_uring_sqe *entries;
    struct place *places;
} mine;

static void
cut_message(struct io_uring_sqe *entry, struct place *place)
{
    const struct msghdr *header = (void *)(uintptr_t)entry->addr;

    if (!short_is_stream(entry->fd))
        return;
    place->header = *header;
    place->header.msg_iovlen =
        (size_t)short_vectors(header->msg_iov, header->msg_iovlen, &place->one);
    place->header.msg_iov = &place->one;
    entry->addr = (uint64_t)(uintptr_t)&place->header;
}

static void
cut_vectors(struct io_uring_sqe *entry, struct place *place)
{
    entry->len = (uint32_t)short_vectors((void *)(uintptr_t)entry->addr,
                                         entry->len, &place->one);
    entry->addr = (uint64_t)(uintptr_t)&place->one;
}

static void
cut(struct io_uring_sqe *entry, struct place *place)
{
    switch (entry->opcode) {
    case IORING_OP_RECV:
        if (entry->ioprio & IORING_RECV_MULTISHOT)
            break;
        if (entry->flags & IOSQE_BUFFER_SELECT)
            entry->len = 1; /* no length is all of the buffer */
        entry->len = (uint32_t)short_length(entry->len);
        break;
    case IORING_OP_SEND:
    case IORING_OP_READ:
    case IORING_OP_WRITE:
    case IORING_OP_SPLICE:
        entry->len = (uint32_t)short_length(entry->len);
        break;
    case IORING_OP_READV:
    case IORING_OP_WRITEV:
        if (entry->len > 0)
            cut_vectors(entry, place);
        break;
    case IORING_OP_RECVMSG:
    case IORING_OP_SENDMSG:
        cut_message(entry, place);
        break;
    default:
        break;
    }
}

static unsigned
word_at(uint32_t offset)
{
    return __atomic_load_n((unsigned *)(void *)(mine.queues + offset),
                           __ATOMIC_RELAXED);
}

static void
cut_new_entries(void)
{
    unsigned mask = mine.params.sq_entries - 1;

    for (unsigned i = word_at(mine.params.sq_off.head);
         i != word_at(mine.params.sq_off.tail); i++)
        cut(&mine.entries[i & mask], &mine.places[i & mask]);
}

/* ---------------------------------------------------- in front of the libraries */

#pragma GCC visibility push(default)

int io_uring_setup(unsigned entries, struct io_uring_params *params);
int io_uring_enter2(unsigned fd, unsigned to_submit, unsigned min_complete,
                    unsigned flags, void *argument, size_t argument_bytes);

int
io_uring_setup(unsigned entries, struct io_uring_params *params)
{
    long fd = syscall(SYS_io_uring_setup, entries, params);

    if (fd < 0)
        return -errno;
    mine.params = *params;
    mine.queues = NULL;
    mine.entries = NULL;
    free(mine.places);
    mine.places = calloc(params->sq_entries, sizeof(*mine.places));
    rgi_check(mine.places != NULL);
    return (int)fd;
}

void *
mmap(void *where, size_t length, int protection, int flags, int fd,
     off_t offset)
{
    void *memory =
        (void *)syscall(SYS_mmap, where, length, protection, flags, fd, offset);

    if (fd >= 0 && offset == IORING_OFF_SQ_RING && mine.places != NULL &&
        mine.queues == NULL)
        mine.queues = memory;
    if (fd >= 0 && (uint64_t)offset == IORING_OFF_SQES)
        mine.entries = memory;
    return memory;
}

int
io_uring_enter2(unsigned fd, unsigned to_submit, unsigned min_complete,
                unsigned flags, void *argument, size_t argument_bytes)
{
    long result;

    if (short_is_on() && mine.queues != NULL && mine.entries != NULL)
        cut_new_entries();
    result = syscall(SYS_io_uring_enter, fd, to_submit, min_complete, flags,
                     argument, argument_bytes);
    return result < 0 ? -errno : (int)result;
}

#pragma GCC visibility pop

/* ------------------------------------------------------------------ the suites */

static const struct stage_fixture shortened = {.class = &rgm_provider_ring,
                                               .set_up = short_set_up,
                                               .clean_up = short_clean_up};

#define SUITES(X) SHORT_CASES(X, short_ring)

CONFORM_FIXTURE(shortened, SUITES)
