/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_RING_SHIM_H
#define CAPABILITIES_RING_SHIM_H

/*
 * shim.h - how do tests see and change what passes between a ring and the
 * kernel? For tests, one world per program.
 *
 * Every enter goes through the shim. It counts the entries by opcode, keeps the
 * last one of each, and follows a script: the next entries of an opcode become
 * no-ops whose completions carry the result the test wants. So an interrupted
 * send, say, really sends nothing.
 */

#include "capabilities/ring/world.h"

struct shim_line {
    uint8_t opcode;
    int result;
    unsigned skip;  /* entries to leave alone first */
    unsigned times; /* then, so many to change */
};

static struct {
    struct rgi_ring *ring;
    unsigned enters;
    unsigned seen[IORING_OP_LAST + 1];
    struct io_uring_sqe last[IORING_OP_LAST + 1];
    struct shim_line script[32];
    unsigned script_length;
    struct {
        uint64_t identity;
        int result;
    } changed[256];
    unsigned changed_count;
    unsigned audited; /* the first entry not seen yet */
    bool polls_end;   /* multishot polls end after one event */
    bool receives_end;   /* likewise receives */
    unsigned multishots; /* receives that were to go on */
    int enter_error;  /* of the next enter, which does nothing; 0: none */
    int late_error;   /* of the next enter, which does all it should */
    bool holds;       /* no entry gets to the kernel */
    bool one_by_one;  /* one at a time does */
    unsigned sleeps;  /* enters that may have slept */
    bool changes_promise; /* changed completions say that more follows */
    uint64_t first_zero_copy; /* the identity of the first such entry */
    bool keeps_notices; /* notifications of the kernel's do not get through */
    int notice_result;  /* what those say that do get through; 0: what they said */
    uint64_t kept[64];  /* their identities */
    unsigned kept_count;
    unsigned enrolled[64];  /* registrations asked for, by opcode */
    unsigned refuse_opcode; /* of registrations that end with ... */
    int refuse_result;      /* ... this; 0: none do */
    void (*before)(void);
    void (*after)(void);
} shim;

static int
shim_rewrite(struct io_uring_sqe *entry)
{
    for (unsigned i = 0; i < shim.script_length; i++) {
        struct shim_line *line = &shim.script[i];
        uint64_t identity = entry->user_data;

        if (line->opcode != entry->opcode || line->times == 0)
            continue;
        if (line->skip > 0) {
            line->skip--;
            return 0;
        }
        line->times--;
        memset(entry, 0, sizeof(*entry));
        entry->opcode = IORING_OP_NOP;
        entry->user_data = identity;
        rgi_check(shim.changed_count < 256);
        shim.changed[shim.changed_count].identity = identity;
        shim.changed[shim.changed_count++].result = line->result;
        return 1;
    }
    return 0;
}

static void
shim_audit(struct rgi_ring *ring)
{
    struct io_uring_sq *sq = &ring->uring.sq;

    for (; shim.audited != *sq->ktail; shim.audited++) {
        struct io_uring_sqe *entry = &sq->sqes[shim.audited & sq->ring_mask];

        shim.seen[entry->opcode]++;
        shim.last[entry->opcode] = *entry;
        if (entry->opcode == IORING_OP_SEND_ZC && shim.first_zero_copy == 0)
            shim.first_zero_copy = entry->user_data;
        if (entry->opcode == IORING_OP_POLL_ADD && shim.polls_end)
            entry->len = 0;
        if (entry->opcode == IORING_OP_RECV &&
            entry->ioprio & IORING_RECV_MULTISHOT) {
            shim.multishots++;
            if (shim.receives_end)
                entry->ioprio &= (uint16_t)~IORING_RECV_MULTISHOT;
        }
        (void)shim_rewrite(entry);
    }
}

/* What the ring gets to see instead is a cancel of nobody. */
static void
shim_keep(struct io_uring_cqe *cqe)
{
    if (!shim.keeps_notices || !(cqe->flags & IORING_CQE_F_NOTIF))
        return;
    rgi_check(shim.kept_count < 64);
    shim.kept[shim.kept_count++] = cqe->user_data;
    *cqe = (struct io_uring_cqe){.user_data = RGI_IDENTITY_CANCEL};
}

static void
shim_patch(struct rgi_ring *ring)
{
    struct io_uring_cq *cq = &ring->uring.cq;

    for (unsigned i = *cq->khead; i != *cq->ktail; i++) {
        struct io_uring_cqe *cqe = &cq->cqes[i & cq->ring_mask];

        shim_keep(cqe);
        if (cqe->flags & IORING_CQE_F_NOTIF && shim.notice_result != 0)
            cqe->res = shim.notice_result;
        for (unsigned c = 0; c < shim.changed_count; c++) {
            if (shim.changed[c].identity != cqe->user_data)
                continue;
            cqe->res = shim.changed[c].result;
            if (shim.changes_promise)
                cqe->flags |= IORING_CQE_F_MORE;
            shim.changed[c] = shim.changed[--shim.changed_count];
            break;
        }
    }
}

static int
shim_enter(unsigned fd, unsigned to_submit, unsigned min_complete,
           unsigned flags, void *argument, size_t argument_bytes)
{
    int result;

    shim.enters++;
    if (shim.enter_error != 0) {
        result = shim.enter_error;
        shim.enter_error = 0;
        return result;
    }
    shim_audit(shim.ring);
    if (shim.before != NULL)
        shim.before();
    if (shim.holds)
        to_submit = 0;
    else if (shim.one_by_one && to_submit > 1)
        to_submit = 1;
    shim.sleeps += min_complete > 0;
    result = rgi_ring_kernel.enter(fd, to_submit, min_complete, flags, argument,
                                   argument_bytes);
    shim_patch(shim.ring);
    if (shim.after != NULL)
        shim.after();
    if (shim.late_error != 0)
        return shim.late_error;
    return result;
}

static int
shim_setup(unsigned entries, struct io_uring_params *params)
{
    return rgi_ring_kernel.setup(entries, params);
}

static int
shim_enroll(unsigned fd, unsigned opcode, void *argument, unsigned count)
{
    if (opcode < sizeof(shim.enrolled) / sizeof(shim.enrolled[0]))
        shim.enrolled[opcode]++;
    if (shim.refuse_result != 0 && opcode == shim.refuse_opcode)
        return shim.refuse_result;
    return rgi_ring_kernel.enroll(fd, opcode, argument, count);
}

static const struct rgi_ring_calls shim_calls = {shim_setup, shim_enter,
                                                 shim_enroll};

__attribute__((unused)) static void
shim_open(struct world *world)
{
    world->calls = &shim_calls;
    world_open(world);
    memset(&shim, 0, sizeof(shim));
    shim.ring = &world->parts->ring;
}

/* The next `times` entries of this opcode end with this result. */
__attribute__((unused)) static void
shim_expect(uint8_t opcode, int result, unsigned times)
{
    struct shim_line line = {opcode, result, 0, times};

    rgi_check(shim.script_length < 32);
    shim.script[shim.script_length++] = line;
}

#endif /* CAPABILITIES_RING_SHIM_H */
