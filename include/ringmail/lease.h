/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_LEASE_H
#define RINGMAIL_LEASE_H

/*
 * lease.h - who may touch a piece of memory, and until when.
 *
 *     pool --acquire--> lease --freeze--> view --clone, range--> view ...
 *      ^                  |                |                      |
 *      +------drop--------+------drop------+---------drop---------+
 *
 * A pool is an exact number of equal slots, made at its creation. A lease is
 * one slot with one writer. Freezing gives up writing for good: what comes out
 * is a view, immutable and shared, that can be cloned and narrowed without
 * copying a byte. The slot goes home when the last view of it dies, on
 * whichever thread that happens, and even a view of one byte holds all of it.
 *
 * Views are not only for pools. Whatever has a struct rgm_block can be viewed:
 * embed one in your own object and its release function runs exactly once, when
 * the last view and your own hold are gone.
 *
 *     struct value { struct rgm_block block; size_t length; char bytes[]; };
 *
 *     rgm_block_init(&value->block, value_release);       // you hold it
 *     view = rgm_view_of(&value->block, value->bytes, value->length);
 *     rgm_block_drop(&value->block);                      // the view holds it
 *     ...
 *     rgm_view_drop(&view);                               // value_release runs
 *
 * A lease or a view is a plain struct that is moved by assignment: after the
 * move the old copy must not be used. To have two, clone.
 *
 * Between two threads a lease or a view travels as a message, which is also what
 * makes the bytes behind it visible to the receiver.
 */

#include <ringmail/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The most slots one pool can have. */
#define RGM_POOL_SLOTS_MAX (UINT32_C(1) << 20)

/* The largest alignment that can be asked for: a huge page. */
#define RGM_POOL_ALIGNMENT_MAX (UINT32_C(1) << 21)

/* ------------------------------------------------------------------ views */

/*
 * What keeps viewed memory alive: a count of those who hold it, and what to do
 * when nobody does any more. Embed it; touch it only by the calls below.
 */
struct rgm_block {
    uint32_t references;                       /* private, atomic */
    void (*release)(struct rgm_block *block);  /* runs once, on any thread */
};

/*
 * Immutable bytes and the block that keeps them. All zero is the empty view.
 * A view whose block is NULL is of memory that lives for ever.
 */
struct rgm_view {
    const void *data;
    size_t length_bytes;
    struct rgm_block *block;
};

/*
 * Make a block with one holder, the caller. `release` runs once, when the last
 * holder lets go, on the thread that did so; it may free the block and may call
 * anything in this header.
 *
 * Thread:  setup.
 * Owns:    the caller holds the block until rgm_block_drop().
 */
RGM_API
void rgm_block_init(struct rgm_block *block,
                    void (*release)(struct rgm_block *block));

/*
 * Let go of the hold that rgm_block_init() gave. The caller may not touch the
 * block any more, except through views that it still has. NULL does nothing.
 *
 * Thread:  any.
 */
RGM_API
void rgm_block_drop(struct rgm_block *block);

/*
 * A view of `length_bytes` bytes at `data`, which live as long as `block` does.
 * With NULL for a block the bytes must live for ever, as a string constant's do.
 *
 * Thread:  any that holds the block, by its own hold or by a view.
 * Owns:    the caller owns the view and must drop it. The caller's own hold on
 *          the block is unchanged.
 * Cost:    one atomic addition; no allocation.
 */
RGM_API RGM_MUST_USE
struct rgm_view rgm_view_of(struct rgm_block *block, const void *data,
                            size_t length_bytes);

/*
 * A second view of the same bytes. Cloning the empty view gives an empty view.
 *
 * Thread:  any that owns `view`.
 * Owns:    the caller owns both.
 * Cost:    one atomic addition; nothing is copied or allocated.
 */
RGM_API RGM_MUST_USE
struct rgm_view rgm_view_clone(const struct rgm_view *view);

/*
 * A view of a part of a view. Ranges of ranges compose, and each keeps the
 * whole block alive. A length of zero is a range too.
 *
 * Thread:  any that owns `view`.
 * Owns:    on 0 the caller owns *ret_view as well as `view`.
 * Returns: 0        *ret_view is set
 *          -EINVAL  the range is not inside the view, or ret_view is `view`
 *                   (use rgm_view_narrow())
 * Cost:    one atomic addition; nothing is copied or allocated.
 */
RGM_API RGM_MUST_USE
int rgm_view_range(const struct rgm_view *view, size_t offset_bytes,
                   size_t length_bytes, struct rgm_view *ret_view);

/*
 * Shrink a view in place to a part of itself, for instance to what is left
 * after a short write.
 *
 * Thread:  any that owns `view`.
 * Returns: 0        the view is narrower now
 *          -EINVAL  the range is not inside the view, which is unchanged
 * Cost:    two stores.
 */
RGM_API RGM_MUST_USE
int rgm_view_narrow(struct rgm_view *view, size_t offset_bytes,
                    size_t length_bytes);

/*
 * Give a view back and empty it. NULL and the empty view do nothing, so a
 * second drop does nothing.
 *
 * Thread:  any that owns `view`.
 * Cost:    one atomic subtraction; the last one also runs the block's release.
 */
RGM_API
void rgm_view_drop(struct rgm_view *view);

/* ------------------------------------------------------------------ pools */

struct rgm_pool; /* opaque; lives in leases/pool.c */

/* What a slot that is not free is being used for. */
enum rgm_slot_state {
    RGM_SLOT_LEASED = 1,
    RGM_SLOT_VIEWED, /* frozen: somebody holds views of it */
    RGM_SLOT_LENT    /* to a ring: data that arrives finds it there */
};

/* Who has a slot. */
struct rgm_pool_holder {
    uint32_t slot;             /* its number */
    enum rgm_slot_state state;
    uint32_t views;            /* how many, when viewed */
    const char *name;          /* of the actor's behaviour, "thread", "ring" */
    uint64_t actor;            /* bits of its address (message.h); 0: none */
    uint64_t age_ns;           /* since it was leased or lent */
};

/* Told of one slot that is out. It may not use the pool. */
typedef void rgm_pool_report_function(void *argument,
                                      const struct rgm_pool_holder *holder);

/*
 * Where the memory of a pool's slots comes from, when it is not one slab that the
 * pool makes for itself: embed it in an object of your own and fill it in. The
 * pool counts the slots, hands them out, keeps those who wait in line and tells
 * who has what; a storage only provides bytes, a slot at a time. Whatever takes a
 * pool (readers, acquires, rings that lend slots) takes one with a storage.
 *
 * `obtain` and `release` are called by turns for each slot: by whoever takes it,
 * and by whoever brings it home while nobody waits for it (a slot that is handed
 * over keeps its memory). So any thread may call them, several at the same moment
 * for different slots. They must neither block nor use the pool.
 */
struct rgm_pool_storage {
    /* Memory for slot `slot`: size_bytes of it, aligned, initialised, the pool's
     * until `release`. Returns 0 and sets *ret_memory; or a negative errno, and
     * whoever wanted the slot is told -ENOMEM. */
    int (*obtain)(struct rgm_pool_storage *storage, uint32_t slot,
                  size_t size_bytes, size_t alignment_bytes, void **ret_memory);
    /* The slot is free, or has retired: its memory is yours again. */
    void (*release)(struct rgm_pool_storage *storage, uint32_t slot,
                    void *memory);
    /* The pool's memory has gone: the storage is asked nothing any more, and may
     * free itself. NULL: does not want to know. */
    void (*ended)(struct rgm_pool_storage *storage);
};

struct rgm_pool_options {
    const char *name;         /* for diagnosis, copied; NULL is "" */
    uint32_t slots_count;     /* 1 .. RGM_POOL_SLOTS_MAX */
    size_t slot_size_bytes;   /* 1 and more: the usable size of every slot */
    uint32_t alignment_bytes; /* a power of two; 0 means 64, a cache line */
    /* NULL: one slab, allocated by rgm_pool_create. Otherwise `obtain` and
     * `release` are set; it stays until `ended`. */
    struct rgm_pool_storage *storage;
    /* Told by rgm_pool_destroy of every slot that is still out: leaked, or about
     * to come home. NULL: nobody is. */
    rgm_pool_report_function *leaked;
    void *leaked_argument;
};

/*
 * A buffer with exactly one writer. All zero is no lease. Read `data` and
 * `length_bytes`; change the length by rgm_lease_truncate() only.
 */
struct rgm_lease {
    void *data;
    size_t length_bytes;
    struct rgm_block *block; /* private */
    uint32_t stamp;          /* private: tells a stale copy from the lease */
};

/*
 * Make a pool. All of its memory is allocated here, initialised to zero, and
 * never grows; with a storage that of the slots comes from there, when they are
 * taken. A pool belongs to no thread: however many workers use it, it has
 * `slots_count` slots.
 *
 * Thread:  any.
 * Owns:    the caller owns *ret_pool and must destroy it. The storage is the
 *          pool's to call from 0 until `ended`.
 * Returns: 0           *ret_pool is set
 *          -EINVAL     an option is outside its range, the alignment is not a
 *                      power of two, or the storage lacks a function
 *          -EOVERFLOW  the sizes multiply to more than memory can be
 *          -ENOMEM     no memory
 *          On error *ret_pool is untouched.
 */
RGM_API RGM_MUST_USE
int rgm_pool_create(const struct rgm_pool_options *options,
                    struct rgm_pool **ret_pool);

/*
 * Close the pool: free slots retire now, later ones as they come home, and
 * nothing can be acquired any more. Leases and views that are out stay valid.
 * Closing twice is the same as closing once.
 *
 * Thread:  any that may use the pool.
 */
RGM_API
void rgm_pool_close(struct rgm_pool *pool);

/*
 * Close the pool and let go of it. The caller may not use `pool` again; its
 * memory is freed with the last slot that is still out, here if there is none.
 * NULL does nothing.
 *
 * Thread:  any, once no other thread uses the pool by this pointer. Leases and
 *          views may be dropped by other threads at the same moment.
 */
RGM_API
void rgm_pool_destroy(struct rgm_pool *pool);

/*
 * How many slots the pool has, wherever they are at the moment. Never changes.
 *
 * Thread:  any.
 */
RGM_API RGM_MUST_USE
uint32_t rgm_pool_capacity(const struct rgm_pool *pool);

/*
 * The usable size of every slot, as it was asked for.
 *
 * Thread:  any.
 */
RGM_API RGM_MUST_USE
size_t rgm_pool_slot_size(const struct rgm_pool *pool);

/*
 * The name it was given, cut after 31 bytes.
 *
 * Thread:  any.
 */
RGM_API RGM_MUST_USE
const char *rgm_pool_name(const struct rgm_pool *pool);

/*
 * How many slots are free. Other threads may have changed that before the call
 * returns, so it serves for diagnosis only.
 *
 * Thread:  any.
 */
RGM_API RGM_MUST_USE
uint32_t rgm_pool_free_count(const struct rgm_pool *pool);

/*
 * Tell who has the slots that are not free: which actor or thread leased each of
 * them, and when. Others may take and drop slots meanwhile, so it serves for
 * diagnosis only; what has been out for long is told rightly. `tell` may be
 * NULL. When a runtime has ended, whatever its actors have not given back is
 * told with their names and addresses.
 *
 * Thread:  any that may use the pool.
 * Returns: how many slots were out.
 * Cost:    a look at every slot; nothing is taken from those who use the pool.
 */
RGM_API
uint32_t rgm_pool_report(const struct rgm_pool *pool,
                         rgm_pool_report_function *tell, void *argument);

/* ----------------------------------------------------------------- leases */

/*
 * Take a free slot, if there is one. The lease is as long as the slot. Its
 * bytes are initialised, but not cleared: they are what the last writer left.
 *
 * Thread:  any.
 * Owns:    on 0 the caller owns *ret_lease and must drop or freeze it.
 * Returns: 0        *ret_lease is set
 *          -EAGAIN  all slots are out
 *          -EPIPE   the pool is closed
 *          -ENOMEM  the pool's storage has no memory for the slot, which is free
 *                   again; never without a storage
 *          On error *ret_lease is untouched.
 * Cost:    one compare-and-swap when undisturbed; no allocation, no system call;
 *          what its storage costs, if it has one.
 */
RGM_API RGM_MUST_USE
int rgm_pool_try_acquire(struct rgm_pool *pool, struct rgm_lease *ret_lease);

/*
 * Is this a lease, and not an empty one or a copy left behind by a move?
 *
 * Thread:  any that owns `lease`, while the pool's memory lives.
 */
RGM_API RGM_MUST_USE
bool rgm_lease_active(const struct rgm_lease *lease);

/*
 * Shorten a lease to its first bytes. The memory stays where it is.
 *
 * Thread:  any that owns `lease`.
 * Returns: 0        length_bytes is the new length
 *          -EINVAL  that would lengthen it, or the lease is not active
 */
RGM_API RGM_MUST_USE
int rgm_lease_truncate(struct rgm_lease *lease, size_t length_bytes);

/*
 * Give up writing: the lease becomes a view of its bytes, and is emptied.
 *
 * Thread:  any that owns `lease`.
 * Owns:    on 0 the caller owns *ret_view, and no lease.
 * Returns: 0        *ret_view is set
 *          -EINVAL  the lease is not active; nothing changed
 * Cost:    two stores; nothing is copied or allocated.
 */
RGM_API RGM_MUST_USE
int rgm_lease_freeze(struct rgm_lease *lease, struct rgm_view *ret_view);

/*
 * Give the slot back and empty the lease. NULL and the empty lease do nothing,
 * so a second drop does nothing. A stale copy is emptied and reported; the slot
 * is left to whoever has it now.
 *
 * Thread:  any that owns `lease`.
 * Returns: 0        the lease is empty
 *          -EINVAL  it was a copy of a lease that has ended; it is empty now
 * Cost:    one compare-and-swap when undisturbed and nobody waits.
 */
RGM_API
int rgm_lease_drop(struct rgm_lease *lease);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_LEASE_H */
