/* SPDX-License-Identifier: MIT */
#ifndef RINGS_RING_H
#define RINGS_RING_H

/*
 * ring.h - what does a worker need of io_uring?
 *
 *     entry, entry, cancel ... --> enter --> the kernel
 *              copies of completions <-- reap
 *
 * One ring belongs to one thread, the one that opened it. Nothing here calls
 * back: completions are copied out, and what they mean is decided above.
 *
 * Invariants:
 *   - every entry is zeroed and carries an identity (identity.h) before anybody
 *     fills it in;
 *   - every entry to the kernel asks for events, so deferred work and
 *     overflowed completions come forward whenever it is entered;
 *   - what the queues hold is read from the queues, never from the return value
 *     of an enter.
 */

#include <liburing.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <threads.h>

#include <ringmail/base.h>

#include "rings/identity.h"

/* A completion, copied out of the ring. */
struct rgi_completion {
    uint64_t identity;
    int32_t result;
    uint32_t flags; /* IORING_CQE_F_* */
};

/* The three system calls, so that a test can be the kernel. Each returns what
 * the kernel does: a count, or a negative errno. */
struct rgi_ring_calls {
    int (*setup)(unsigned entries, struct io_uring_params *params);
    int (*enter)(unsigned fd, unsigned to_submit, unsigned min_complete,
                 unsigned flags, void *argument, size_t argument_bytes);
    int (*enroll)(unsigned fd, unsigned opcode, void *argument,
                  unsigned count); /* io_uring_register */
};

extern const struct rgi_ring_calls rgi_ring_kernel;

/* How completions come, best first. */
enum rgi_ring_mode {
    RGI_RING_DEFER, /* one issuer; completions only when it enters */
    RGI_RING_COOP,  /* completions at any entry to the kernel */
    RGI_RING_PLAIN, /* completions may interrupt */
    RGI_RING_MODES
};

#define RGI_RING_ENTRIES 256      /* with its completions about 36 KiB */
#define RGI_RING_ENTRIES_LEAST 64 /* what lack of memory may bring it down to */
#define RGI_RING_ENTRIES_MOST 32768 /* as many as the kernel makes */
#define RGI_RING_COMPLETIONS_PER_ENTRY 4

struct rgi_ring_options {
    uint32_t entries; /* 0: RGI_RING_ENTRIES; a power of two; more: _MOST */
    bool strict;      /* refuse everything below RGI_RING_DEFER */
    const char *mode; /* "defer", "coop", "plain": that one only; NULL: any */
    bool sleeps_outside; /* in poll(2), and never in the ring; see outside.c */
    const struct rgi_ring_calls *calls; /* NULL: rgi_ring_kernel */
};

struct rgi_ring {
    struct io_uring uring; /* its queues; mapped and unmapped in map.c */
    size_t queues_bytes;
    size_t entries_bytes;
    const struct rgi_ring_calls *calls;
    thrd_t owner;
    unsigned enter_fd;    /* the ring, or its index in the thread's table */
    unsigned enter_flags; /* of every enter */
    unsigned wait_flags;  /* more, of one that may block */
    bool lets_go; /* a file taken from its table goes when its own are over */
    bool refused; /* the last enter would not take more for the moment */
    int outside;  /* the eventfd to sleep on instead; -1: none */
    int watched;  /* with it: the bell; -1: none */
    enum rgi_ring_mode mode;
    uint64_t opcodes; /* bit i: the kernel has opcode i (of the first 64) */
    uint64_t kernel_entries;
    uint64_t entries_submitted;
    uint64_t overflows; /* completions brought out of the overflow list */
};

/*
 * Make a ring in the best mode this kernel grants.
 *
 * Thread:  the caller becomes the owner.
 * Owns:    the caller, until rgi_ring_close.
 * Returns: 0; or a negative errno, and in `why` what is missing and what to do
 *          about it: -EPERM, -ENOSYS, -EACCES (io_uring is forbidden here),
 *          -ENOMEM (locked memory), -EMFILE, -ENFILE, -EINVAL (the mode),
 *          -ENOTSUP (a feature or an opcode).
 */
RGM_MUST_USE int
rgi_ring_open(const struct rgi_ring_options *options, struct rgi_ring *ring,
              char *why, size_t why_size);

/* Map the queues of a ring that was set up as `params`, and unmap them. Not
 * liburing's: a checker of threads must see memory come and go.
 * Thread: setup. Returns: 0 or a negative errno. */
RGM_MUST_USE int rgi_ring_map(struct rgi_ring *ring, int fd,
                              const struct io_uring_params *params);
void rgi_ring_unmap(struct rgi_ring *ring);

/* Thread: owner; nothing of value is in the kernel any more. */
void rgi_ring_close(struct rgi_ring *ring);

/* For a ring that was set up as `fd`: an eventfd to sleep on, its end, and the
 * sleep. Thread: owner. Returns: 0 or a negative errno. */
RGM_MUST_USE int rgi_ring_outside_open(struct rgi_ring *ring, int fd);
void rgi_ring_outside_close(struct rgi_ring *ring);
void rgi_ring_outside_sleep(struct rgi_ring *ring, uint64_t timeout_ns);

/* "defer", "coop", "plain". Thread: any. */
const char *rgi_ring_mode_name(enum rgi_ring_mode mode);

/*
 * What is missing for the ring to be used, by name; NULL: nothing.
 * Thread: any.
 */
const char *
rgi_probe_missing(unsigned features, const struct io_uring_probe *probe);

/* Which of the first 64 opcodes there are, as bits. Thread: any. */
uint64_t rgi_probe_opcodes(const struct io_uring_probe *probe);

/*
 * The next entry to fill in: zeroed, and with this identity. When the queue is
 * full what is in it is submitted first.
 *
 * Thread:  owner.
 * Returns: NULL when the kernel takes nothing at the moment: keep the operation
 *          and try again after the next reap.
 */
RGM_MUST_USE struct io_uring_sqe *
rgi_ring_entry(struct rgi_ring *ring, uint64_t identity);

/*
 * Ask the kernel to stop the request with this identity. Its completion comes
 * as always. The cancel's own one matters only when it is -EALREADY: a thread
 * of the kernel had the request in hand and may have put it back to sleep, so
 * if the request is still out after a while it must be asked again.
 *
 * Thread:  owner.
 * Returns: false when there is no entry, as above.
 */
RGM_MUST_USE bool rgi_ring_cancel(struct rgi_ring *ring, uint64_t identity);

/* Make a fresh entry a poll, once, for events of poll(2). Thread: owner. */
void rgi_ring_poll(struct io_uring_sqe *entry, int fd, uint32_t events);

/* Make a fresh entry a pause of a millisecond, which ends with -ETIME.
 * Thread: owner. */
void rgi_ring_pause(struct io_uring_sqe *entry);

/* Watch an eventfd for edges, for as long as completions say F_MORE.
 * Thread: owner. Returns: false when there is no entry. */
RGM_MUST_USE bool
rgi_ring_watch(struct rgi_ring *ring, int fd, uint64_t identity);

/*
 * Submit what was prepared and let completions come forward; if `wait`, sleep
 * until there is one or timeout_ns (RGM_NEVER: none) has passed.
 *
 * Thread:  owner.
 * Returns: 0: look at the queues. Interruption, lack of memory for the moment
 *          and a full completion queue are no errors. Otherwise what ended the
 *          ring; -EPERM when the caller is not its owner.
 */
RGM_MUST_USE int
rgi_ring_enter(struct rgi_ring *ring, bool wait, uint64_t timeout_ns);

/* Copy out up to `room` completions and give their places back to the kernel.
 * Thread: owner. Returns: how many. */
RGM_MUST_USE unsigned
rgi_ring_reap(struct rgi_ring *ring, struct rgi_completion *ret_completions,
              unsigned room);

/* Whether the calling thread is the owner. Thread: any. */
static inline bool
rgi_ring_is_mine(const struct rgi_ring *ring)
{
    return thrd_equal(ring->owner, thrd_current()) != 0;
}

/* Entries the kernel has not taken yet. It takes them inside our own calls, so
 * its index is as good as ours. Thread: owner. */
static inline unsigned
rgi_ring_pending(const struct rgi_ring *ring)
{
    return ring->uring.sq.sqe_tail - *ring->uring.sq.khead;
}

/* Whether the kernel says that entering it would bring something forward.
 * ring-flags: observes a hint of the kernel; the queues are the truth. */
static inline bool
rgi_ring_beckons(const struct rgi_ring *ring)
{
    return (__atomic_load_n(ring->uring.sq.kflags, __ATOMIC_RELAXED) &
            (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

/* Whether completions lie beyond the queue, for an enter to bring.
 * ring-flags: observes what the kernel said when it last returned to us. */
static inline bool
rgi_ring_has_overflow(const struct rgi_ring *ring)
{
    return (__atomic_load_n(ring->uring.sq.kflags, __ATOMIC_RELAXED) &
            IORING_SQ_CQ_OVERFLOW) != 0;
}

/* Whether there is a completion to reap. */
static inline bool
rgi_ring_has_completions(const struct rgi_ring *ring)
{
    /* ring-completions: observes that the kernel has published one; reap
     * orders the reading of it. */
    return __atomic_load_n(ring->uring.cq.ktail, __ATOMIC_RELAXED) !=
           *ring->uring.cq.khead;
}

#endif /* RINGS_RING_H */
