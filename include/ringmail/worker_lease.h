/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_WORKER_LEASE_H
#define RINGMAIL_WORKER_LEASE_H

/*
 * worker_lease.h - "this worker is still needed": a promise that is counted.
 *
 *     struct rgm_worker_lease lease = {0};          // inactive
 *
 *     status = rgm_worker_lease_take(self, &lease);  // on the worker
 *     ... a queue of the application's lives on this thread ...
 *     rgm_worker_lease_release(&lease);              // from anywhere
 *
 * An application may own what is bound to a thread: another library's queue, a
 * device, a handle that only its maker may use. While a lease is held on a
 * worker, that worker's thread stays: it may have been told to retire, and take
 * no placements any more, but it goes on serving its actors and its provider
 * until the last lease is released. So does a runtime that stops.
 *
 *   1  Taking is a call on the worker's own thread, and so is the admission of
 *      its retirement: either the lease counts, or it is refused.
 *   2  The obligation is the worker's; the token only points to it. A token is
 *      moved, not copied: rgm_worker_lease_move. Zero is an inactive token.
 *   3  Releasing is allowed on any thread and wakes the worker. A second release
 *      does nothing.
 *   4  The actor that took the lease does not move to another worker while it is
 *      held, whoever has the token. Actors it spawns are free to live anywhere.
 *   5  Worker and identity in a token are for people to read. They give no
 *      right to anything, least of all to a later worker of that number.
 *   6  A lease is no way to the worker's ring and drives none; it never makes
 *      blocking a worker right, nor a cancel an end. What the application has
 *      bound to the thread it drains and destroys itself, in short turns, on
 *      the worker, before the release, and the release comes before the runtime
 *      is freed. Capabilities of this library count by themselves: who uses
 *      only them needs no lease.
 *
 * After a stop by force a token may be left over. Releasing it is harmless, at
 * any time, also when the runtime is freed; what it stood for may not be.
 *
 * One token is one thread's at a time.
 */

#include <ringmail/provider.h>
#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_worker_lease {
    void *obligation;  /* the worker's; NULL: inactive */
    uint32_t worker;   /* its number, when it was taken */
    uint32_t identity; /* and who it was: no other worker ever has the same */
};

/*
 * Take a lease on the caller's worker. What the token held before is released.
 *
 * Thread:  owner.
 * Owns:    on 0 the caller owns *lease.
 * Returns: 0        the worker stays until it is released
 *          -EINVAL  the caller is a guest: it has no worker
 *          -EPIPE   the worker retires or the runtime stops: admission is over
 *          -ENOMEM  no memory
 *          On error *lease is as it was.
 * Cost:    no message and no system call; allocates until as many records are
 *          there as were ever held at once.
 */
#define rgm_worker_lease_take(self, lease)                                    \
    rgm_take_worker_lease(&(self)->actor, (lease))
RGM_API RGM_MUST_USE int rgm_take_worker_lease(struct rgm_actor *self,
                                               struct rgm_worker_lease *lease);

/*
 * Release it and make the token inactive. An inactive token: nothing happens.
 *
 * Thread: any that owns the token, also after the runtime's end.
 * Cost:   on its worker, a few stores; elsewhere one push, and a bell when the
 *         worker sleeps.
 */
RGM_API void rgm_worker_lease_release(struct rgm_worker_lease *lease);

/* Move: `to` holds what `from` held, which is inactive then. What `to` held is
 * released. Thread: any that owns both. */
RGM_API void rgm_worker_lease_move(struct rgm_worker_lease *to,
                                   struct rgm_worker_lease *from);

/* Whether the token holds a lease. Thread: any that owns it. */
static inline bool
rgm_worker_lease_active(const struct rgm_worker_lease *lease)
{
    return lease->obligation != NULL;
}

/* ------------------------------------------------------------ who holds one */

struct rgm_lease_holder {
    struct rgm_address actor; /* that took it; it may have ended */
    const char *behaviour;    /* its behaviour's name, or "" */
    uint64_t age_ns;
};

/* The leases of one worker, oldest first. */
struct rgm_lease_holders {
    RGM_OPERATION_HEAD;
    struct rgm_lease_holder *holders;
    uint32_t capacity;
    uint32_t count;    /* when home: how many there are; maybe more than fit */
    uint32_t identity; /* when home: of the worker */
};

/*
 * Prepare the question who holds leases on a worker, that of
 * rgm_worker_address(number). A retiring worker answers it, too.
 *
 * Thread: owner; the record is at home.
 * Answer: 0; -EPIPE when that worker has closed, or is about to; -ESRCH when there
 *         was none; -EINVAL when there is a capacity and no array.
 */
RGM_API void rgm_lease_holders_of(struct rgm_lease_holders *question,
                                  struct rgm_address worker,
                                  struct rgm_lease_holder *holders,
                                  uint32_t capacity);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_WORKER_LEASE_H */
