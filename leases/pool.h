/* SPDX-License-Identifier: MIT */
#ifndef LEASES_POOL_H
#define LEASES_POOL_H

/*
 * pool.h - what do rings and workers need of a pool that users do not?
 *
 * Slots by number, for memory that is lent to the kernel; takers, who wait
 * until a slot comes home; and lenders, who have slots they could do without.
 * leases/ does not know what a worker is: a taker is a record and a function.
 *
 *     taker --rgi_pool_wait--> in line --> hand(taker, slot)
 *               |     |          '------> rgi_pool_leave
 *               |     '--> every lender is recalled, and brings its slots home
 *               '--> a slot at once
 *
 * A slot that comes home while somebody waits is not free in between: it is
 * handed to one taker, who has it from then on. So nobody can be faster than a
 * taker that waits, each returned slot ends one wait, and a taker that has lost
 * interest cannot lose a wake: what it was handed is a slot, which it brings
 * home like any other, to the next in line.
 */

#include <errno.h>

#include <ringmail/lease.h>

/* Takers that can wait for one pool at a time, and its lenders: two for each
 * worker of two runtimes of the largest size. */
#ifndef RGI_POOL_TAKERS_MAX
#define RGI_POOL_TAKERS_MAX 256
#endif

#define RGI_NO_SLOT UINT32_MAX
#define RGI_NO_MEMORY (UINT32_MAX - 1)

/* Whoever waits. Lies in the memory of the one that waits. */
struct rgi_taker {
    /*
     * The wait is over: `slot` is the taker's, or RGI_NO_SLOT: the pool is
     * closed, or RGI_NO_MEMORY: its storage has none for the slot that came
     * home, which goes to the next. Runs once per wait, on the thread that brings the slot home or
     * closes the pool, so it may be any; must neither block nor use the pool.
     * The pool touches the record no more.
     */
    void (*hand)(struct rgi_taker *taker, uint32_t slot);
    uint32_t place; /* the pool's, while it waits */
};

/*
 * Takes a free slot, or gets in line for one; `hand` is set.
 * Thread: any that owns the taker, which does not wait yet.
 * Returns: 0        *ret_slot is set, and the taker does not wait
 *          -EAGAIN  `hand` is called, or has been
 *          -EPIPE   the pool is closed, and the taker does not wait
 *          -ENOMEM  its storage has none for a free slot; it does not wait
 *          -ENOBUFS RGI_POOL_TAKERS_MAX wait already; it does not
 * Cost:    when it has to wait, one compare-and-swap per 32 slots.
 */
RGM_MUST_USE int rgi_pool_wait(struct rgm_pool *pool, struct rgi_taker *taker,
                               uint32_t *ret_slot);

/*
 * Leaves the line. Thread: the taker's owner, after -EAGAIN.
 * Returns: true: `hand` will not be called. false: a slot is, or was, on its
 * way: `hand` is called, or has been, and the record must live until then.
 */
RGM_MUST_USE bool rgi_pool_leave(struct rgm_pool *pool,
                                 struct rgi_taker *taker);

/* Whether somebody waits for its slots, or for the end of all of them: the pool
 * is closed. Thread: any that may use the pool or has a slot of it. */
bool rgi_pool_is_hungry(const struct rgm_pool *pool);

/*
 * Becomes a lender: whoever has to wait from now on, or closes the pool, calls
 * `hand`, once, with RGI_NO_SLOT, on any thread; the lender then brings its slots
 * home. It looks at rgi_pool_is_hungry() afterwards: who waited before does not
 * call. The pool stays until rgi_pool_unlent().
 * Thread: the owner of the record, which is no lender yet. Returns: 0 or
 * -ENOBUFS as above.
 */
RGM_MUST_USE int rgi_pool_lend(struct rgm_pool *pool,
                               struct rgi_taker *lender);

/*
 * The pool stays, whoever destroys it, until rgi_pool_unlent().
 * Thread: any that may use the pool.
 */
void rgi_pool_hold(struct rgm_pool *pool);

/* Is a lender no more. Returns: as rgi_pool_leave(). Thread: as above. */
RGM_MUST_USE bool rgi_pool_unlend(struct rgm_pool *pool,
                                  struct rgi_taker *lender);

/* The lender has been recalled, or has left, and has brought everything home; or
 * who held the pool has done with it.
 * The pool may be gone when this returns. Thread: as above. */
void rgi_pool_unlent(struct rgm_pool *pool);

/*
 * Takes a slot to lend its memory. Under AddressSanitizer the memory stays
 * poisoned: it is not the program's until rgi_pool_lease_of().
 * Thread: any. Returns: 0, -EAGAIN (all are out), -EPIPE (closed) or -ENOMEM
 * (its storage has none).
 */
/* How many pools were made so far, and how often a slot was wanted of one that
 * had none. Thread: any. */
uint64_t rgi_pools_created(void);
uint64_t rgi_pools_exhausted(void);

RGM_MUST_USE int rgi_pool_take_slot(struct rgm_pool *pool,
                                    uint32_t *ret_index);

/* Where slot `index` lies. Thread: any that took the slot. */
RGM_MUST_USE void *rgi_pool_slot_memory(const struct rgm_pool *pool,
                                        uint32_t index);

/* What a taker was handed instead of a slot, as an error; 0 for a slot. */
static inline int
rgi_handed_status(uint32_t slot)
{
    return slot == RGI_NO_SLOT ? -EPIPE : slot == RGI_NO_MEMORY ? -ENOMEM : 0;
}

/* Turns a slot taken by number into a lease of its first bytes. The caller does
 * not have the slot by number any more.
 * Thread: any that took the slot. */
void rgi_pool_lease_of(struct rgm_pool *pool, uint32_t index,
                       size_t length_bytes, struct rgm_lease *ret_lease);

/* Who takes a slot, for reports: leases/report.c. */
struct rgi_holder {
    const char *name; /* stays for ever */
    uint64_t who;     /* bits of an address; 0: a thread */
};

/* Says who the calling thread works for. Stays for ever. */
struct rgi_registry {
    void (*holder_of_thread)(struct rgi_holder *ret_holder);
};

/* From now on that is asked for every lease, in place of "thread".
 * Thread: any; it is the same one whoever says so. */
void rgi_pool_holders_by(const struct rgi_registry *registry);

/* Notes somebody else, after the slot was leased, or for one that is lent.
 * Thread: any that took the slot. */
void rgi_pool_note(struct rgm_pool *pool, uint32_t index,
                   const struct rgi_holder *holder, enum rgm_slot_state state);

/*
 * Brings home a slot taken by number. Bringing a free one home aborts. The pool
 * may be gone when this returns, if it was destroyed and this was its last slot.
 * Thread: any that took the slot.
 */
void rgi_pool_put_slot(struct rgm_pool *pool, uint32_t index);

/*
 * Which pool and slot is this block, taken from a lease or a view?
 * Thread: any that holds the block. Returns: false for a block of the user's.
 */
bool rgi_pool_slot_of(struct rgm_block *block, struct rgm_pool **ret_pool,
                      uint32_t *ret_index);

/* No other pool of the process has it, also where this one was. Thread: any. */
uint64_t rgi_pool_identity(const struct rgm_pool *pool);

/* Whether the numbers agree with each other; for slow assertions and tests.
 * Thread: any that may use the pool. */
bool rgi_pool_valid(const struct rgm_pool *pool);

#endif /* LEASES_POOL_H */
