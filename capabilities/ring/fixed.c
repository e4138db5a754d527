/* SPDX-License-Identifier: MIT */

/*
 * fixed.c - which files and sockets does the ring know by a number of its own?
 *
 * An entry that names a descriptor makes the kernel look it up and count a
 * reference, for each transfer. One that names a place in the ring's table of
 * files does neither. So what is used again and again gets a place:
 *
 * 1. With its RGI_FIXED_AFTER-th transfer. Those before cost less than putting a
 *    file in and taking it out, which a handle for one read would pay for nothing.
 * 2. The table, of empty places, is made for the first of them.
 * 3. The close takes it out, before the descriptor goes: a place holds the file.
 *    So does the detach of a connection that moves to another worker.
 *
 * What does not work (no table on this kernel, none wanted, no place left, a file
 * the kernel does not put there) is tried once for each file, which then stays
 * with its descriptor; a table once. A place that the kernel would not empty is
 * not used again: its file is open until the ring's end, and the close says so.
 *
 * An operation keeps what it began with, a place or a descriptor, to its end.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"

static int
enroll(struct rgi_ring_provider *p, unsigned opcode, void *argument,
       unsigned count)
{
    return p->ring.calls->enroll((unsigned)p->ring.uring.ring_fd, opcode,
                                 argument, count);
}

void
rgi_fixed_init(struct rgi_fixed *fixed, uint32_t files_max)
{
    memset(fixed, 0, sizeof(*fixed));
    fixed->max = files_max == 0 ? RGI_FIXED_DEFAULT : files_max;
    if (files_max == RGI_FIXED_NONE)
        fixed->max = 0;
    else if (fixed->max > RGI_FIXED_MOST)
        fixed->max = RGI_FIXED_MOST;
}

/* A table of empty places, once. */
static bool
has_table(struct rgi_ring_provider *p)
{
    struct rgi_fixed *fixed = &p->fixed;
    struct io_uring_rsrc_register table;

    if (fixed->made || fixed->max == 0)
        return fixed->made;
    memset(&table, 0, sizeof(table));
    table.nr = fixed->max;
    table.flags = IORING_RSRC_REGISTER_SPARSE;
    if (enroll(p, IORING_REGISTER_FILES2, &table, sizeof(table)) < 0) {
        fixed->max = 0;
        return false;
    }
    fixed->made = true;
    for (uint32_t i = 0; i < fixed->max; i++)
        fixed->empty[i / 64] |= UINT64_C(1) << i % 64;
    return true;
}

/* Puts a descriptor, or nothing (-1), into a place. Returns: 0 or an error. */
static int
put(struct rgi_ring_provider *p, uint32_t place, int fd)
{
    struct io_uring_rsrc_update update;
    int result;

    memset(&update, 0, sizeof(update));
    update.offset = place;
    update.data = (__u64)(uintptr_t)&fd;
    result = enroll(p, IORING_REGISTER_FILES_UPDATE, &update, 1);
    if (result < 0)
        return result;
    return result == 1 ? 0 : -EIO;
}

/* Returns: fixed->max when there is none. */
static uint32_t
empty_place(const struct rgi_fixed *fixed)
{
    for (uint32_t word = 0; word * 64 < fixed->max; word++)
        if (fixed->empty[word] != 0)
            return word * 64 + (uint32_t)__builtin_ctzll(fixed->empty[word]);
    return fixed->max;
}

void
rgi_fixed_put(struct rgi_ring_provider *p, struct rgi_channel *channel)
{
    struct rgi_fixed *fixed = &p->fixed;
    uint32_t place;

    channel->place = RGI_FIXED_NONE; /* whatever happens: not tried again */
    if (!has_table(p))
        return;
    place = empty_place(fixed);
    if (place == fixed->max || put(p, place, channel->fd) < 0)
        return;
    fixed->empty[place / 64] &= ~(UINT64_C(1) << place % 64);
    channel->place = place + 1;
}

/* Sooner than the kernel would, which takes a ring apart when it comes to it. */
void
rgi_fixed_close(struct rgi_ring_provider *p)
{
    if (p->fixed.made)
        (void)enroll(p, IORING_UNREGISTER_FILES, NULL, 0);
}

int
rgi_fixed_take_out(struct rgi_ring_provider *p, struct rgi_channel *channel)
{
    uint32_t place = channel->place - 1;
    int status;

    if (channel->place == 0 || channel->place == RGI_FIXED_NONE)
        return 0;
    channel->place = 0;
    channel->transfers = 0;
    status = put(p, place, -1);
    rgi_assert((p->fixed.empty[place / 64] >> place % 64 & 1) == 0);
    if (status == 0)
        p->fixed.empty[place / 64] |= UINT64_C(1) << place % 64;
    return status;
}
