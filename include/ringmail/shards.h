/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_SHARDS_H
#define RINGMAIL_SHARDS_H

/*
 * shards.h - state dealt out to workers by a key's hash, and moved while it is
 * in use.
 *
 *     key --hash--> slot --> worker --> the actor that owns it there
 *
 * An actor per worker has a `struct rgm_shard` as a member: its worker's own
 * copy of the map, and what of the state is here. Requests are asked through
 * it and judged by it; neither needs an atomic or a further message.
 *
 *     struct get { struct rgm_request request; uint64_t hash; long value; };
 *     RGM_REQUEST(get);
 *     RGM_SHARDED(get);
 *
 *     struct store { struct rgm_actor actor; struct rgm_shard shard; ... };
 *     RGM_SHARD(store, shard);
 *
 *     static const struct rgm_handler store_handlers[] = {
 *         RGM_ON(store, get, store_get),
 *         RGM_SHARD_ON(store),
 *     };
 *
 *     static void store_get(struct store *self, struct get *get)
 *     {
 *         if (!rgm_shard_admit(self, &self->shard, get))
 *             return;                          // somebody else's, or not yet
 *         get->value = look_up(self, get->hash);
 *         rgm_reply(self, get, 0);
 *     }
 *
 *     rgm_shard_ask(client, shard, get, RGM_REPLY(client, get, on_get));
 *
 * `struct rgm_reshard` says which workers there are and which of them own
 * slots. The first one deals the slots out; each later one moves slots until it
 * is so, and is home when it is. Meanwhile everything goes on: per asking actor
 * and key, requests are handled in the order they were asked. A slot in
 * movement is the old owner's, then nobody's for the time its state travels,
 * then the new owner's; requests wait for that, they are never refused.
 *
 * How a slot moves: docs/ARCHITECTURE.md. Model: actors/models/shards.pml.
 *
 * Thread: owner (of the actor the shard is in), unless a declaration says
 * otherwise. Actors of the same worker may ask through its shard.
 */

#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_shard;
struct rgm_shard_chunk;

#define RGM_SHARD_SLOTS 1024
#define RGM_SHARD_SLOTS_MAX 65536
#define RGM_SHARD_SLOTS_PER_MOVE 8
#define RGM_SHARD_SLOTS_PER_MOVE_MAX 64
#define RGM_SHARD_CHUNKS 4
#define RGM_SHARD_CHUNKS_MAX 64
/* After an error of `take_in` or `hand_out` it is tried again so much later. */
#define RGM_SHARD_RETRY_NS (5 * RGM_NS_PER_MS)

/* What hand_out says of the slot. */
#define RGM_SHARD_DONE 0
#define RGM_SHARD_MORE 1

/* Constant, the same for all workers. Zero in a number means its default. */
struct rgm_shards_options {
    /* A power of two. Default RGM_SHARD_SLOTS. */
    uint32_t slots;
    /* Slots that travel together: fewer means less to wait for, more means
     * fewer messages. Default RGM_SHARD_SLOTS_PER_MOVE. */
    uint32_t slots_per_move;
    /* Chunks on their way at once, which bounds what a move holds in memory.
     * Default RGM_SHARD_CHUNKS. */
    uint32_t chunks;
    /*
     * At the old owner: put some of the slot's state into the chunk; what is
     * put there is not the slot's any more. A chunk left empty is not sent.
     * Requests of the slot that the actor keeps are to be passed on with
     * rgm_shard_forward_kept here.
     *
     * Returns: RGM_SHARD_MORE, RGM_SHARD_DONE after the slot's last, or a
     *          negative errno, the chunk being empty: tried again later.
     */
    int (*hand_out)(struct rgm_actor *self, uint32_t slot,
                    struct rgm_shard_chunk *chunk);
    /*
     * At the new owner: make it the slot's. Chunks of a slot arrive in the
     * order they were made.
     *
     * Owns:    on 0 the state is the callee's.
     * Returns: 0, or a negative errno: the chunk will come again, as it is.
     */
    int (*take_in)(struct rgm_actor *self, uint32_t slot,
                   struct rgm_shard_chunk *chunk);
    /* Free the state of a chunk that nobody takes any more: the new owner's
     * actor has stopped, or ours stops. Runs at the old owner. */
    void (*drop)(struct rgm_actor *self, struct rgm_shard_chunk *chunk);
};

/* A piece of a slot's state on its way. */
struct rgm_shard_chunk {
    struct rgm_request request;
    void *state; /* the application's; NULL: empty */
    uint64_t count; /* likewise: how much it is */
    /* The library's. */
    struct rgm_shard *shard;
    const struct rgi_move *move;
    uint32_t slot;
    uint8_t phase;
    bool waits; /* to be asked again */
};
RGM_REQUEST(rgm_shard_chunk);

/* The library's own messages between shards. */
struct rgm_shard_note {
    struct rgm_request request;
    struct rgm_shard *shard;
    const struct rgi_move *move;
    const struct rgi_deal *deal;
    uint32_t what;
    bool failed;
    bool newcomer;
};
RGM_REQUEST(rgm_shard_note);

/* Fields are the library's; see actors/shards.h. The first ones are what each
 * ask and each admission looks at. */
struct rgm_shard {
    uint16_t *roads; /* by slot: the worker to ask, or held */
    uint8_t *here;   /* by slot: enum rgi_shard_slot */
    const struct rgm_address *members; /* by worker */
    uint32_t shift;
    uint32_t owned_count;
    struct rgi_shard *parts;
};

#define RGM_SHARD_OWNED_ 1

/* What a shard has seen. Durations in ns, of the actor's worker. */
struct rgm_shard_counters {
    uint64_t moved_in;  /* slots taken in */
    uint64_t moved_out; /* slots handed over */
    uint64_t held;      /* asks that were held back for a slot on the move */
    uint64_t kept;      /* arrived before the slot's last chunk */
    uint64_t forwarded; /* arrived behind the slot */
    uint64_t retries;   /* of chunks and announcements */
    uint64_t longest_hold_ns; /* from hearing of a move to the new road */
};

/*
 * Make a shard, in the factory of its actor: a copy of an empty map. The
 * options must outlive it.
 *
 * Thread:  setup.
 * Owns:    the caller closes it, in the actor's `stopped`.
 * Returns: 0, -EINVAL for options outside their range, -ENOMEM.
 */
RGM_API RGM_MUST_USE int
rgm_shard_init(struct rgm_shard *shard,
               const struct rgm_shards_options *options);
RGM_API void rgm_shard_close(struct rgm_shard *shard);

/* A sharded request has its key's hash right behind its header. */
#define RGM_SHARDED(t)                                                        \
    RGM_STATIC_ASSERT_(offsetof(struct t, hash) ==                            \
                           sizeof(struct rgm_request),                        \
                       #t " must have its hash behind its request")

/* The slot of a hash: its upper bits. */
static inline uint32_t
rgm_shard_slot(const struct rgm_shard *shard, uint64_t hash)
{
    return (uint32_t)(hash >> shard->shift);
}

/*
 * The worker whose shard owns the hash's slot, as far as is known here: what is
 * asked now goes there or is on its way to go there. RGM_WORKERS_MAX or more
 * while the slot is held, and before the first deal.
 */
static inline uint32_t
rgm_shard_owner(const struct rgm_shard *shard, uint64_t hash)
{
    return shard->roads[rgm_shard_slot(shard, hash)];
}

/* The shard actor of a worker; nobody (zero) when it has none. worker is less
 * than RGM_WORKERS_MAX. */
static inline struct rgm_address
rgm_shard_address(const struct rgm_shard *shard, uint32_t worker)
{
    return shard->members[worker];
}

/* How many slots are owned here, and complete. */
static inline uint32_t
rgm_shard_owned(const struct rgm_shard *shard)
{
    return shard->owned_count;
}

/*
 * Ask the owner of record->hash: as rgm_ask and rgm_ask_in, but the address is
 * found here. While the slot is on the move the request is held, in the order
 * asked, and then sent; it is not charged meanwhile.
 *
 * Answer:  as rgm_ask; -ESRCH when no slot has been dealt out yet.
 * Cost:    two loads more than rgm_ask.
 */
#define rgm_shard_ask(self_, shard, record_, reply)                             \
    rgm_shard_ask_in_(self_, shard, NULL, record_, reply)
#define rgm_shard_ask_in(self_, shard, order, record_, reply)                   \
    rgm_shard_ask_in_(self_, shard, order, record_, reply)
#define rgm_shard_ask_in_(self_, shard, order, record_, reply)                  \
    (RGM_SAME_TYPE((self_), (reply).self),                                     \
     RGM_SAME_TYPE((record_), (reply).record),                                 \
     rgm_shard_ask_request(&(self_)->actor, (shard), (order),                   \
                           (record_)->hash, &(record_)->request,                \
                           (reply).function))
RGM_API void rgm_shard_ask_request(struct rgm_actor *self,
                                   struct rgm_shard *shard,
                                   struct rgm_order *order, uint64_t hash,
                                   struct rgm_request *request,
                                   rgm_answer_function *answer);

/*
 * Is the hash's slot owned here, and complete? What an actor of the same worker
 * does with its state then, without asking, lies between two of the shard's
 * handlers. It must have nothing out that was asked for the slot: that it would
 * overtake.
 *
 * Thread:  owner, and actors of the same worker.
 * Returns: what holds until the handler or hook that runs returns.
 * Cost:    a load and a compare.
 */
static inline bool
rgm_shard_owns(const struct rgm_shard *shard, uint64_t hash)
{
    return shard->here[rgm_shard_slot(shard, hash)] == RGM_SHARD_OWNED_;
}

/*
 * Is the request being handled to be handled here and now? If not, it has been
 * passed on to whom the slot belongs to, or kept until the slot is complete:
 * then it is handled again. A request kept so that is withdrawn runs the
 * actor's `withdrawn` as any.
 *
 * Returns: true: handle it. false: return from the handler.
 * Cost:    a load and a compare, when it is to be handled.
 */
#define rgm_shard_admit(self, shard, record)                                   \
    (__builtin_expect(rgm_shard_owns((shard), (record)->hash), 1) ||           \
     rgm_shard_admit_request(&(self)->actor, (shard), (record)->hash,          \
                             &(record)->request))
RGM_API bool rgm_shard_admit_request(struct rgm_actor *self,
                                     struct rgm_shard *shard, uint64_t hash,
                                     struct rgm_request *request);

/* In hand_out: pass a request that the actor keeps to the slot's new owner.
 * Returns: 0, or -EALREADY. */
#define rgm_shard_forward_kept(self, shard, token)                            \
    rgm_shard_forward_kept_request(&(self)->actor, (shard), (token))
RGM_API int rgm_shard_forward_kept_request(struct rgm_actor *self,
                                           const struct rgm_shard *shard,
                                           struct rgm_token token);

RGM_API void rgm_shard_counters(const struct rgm_shard *shard,
                                struct rgm_shard_counters *ret_counters);

/*
 * Which workers there are and who owns slots: asked of one and the same shard
 * each time, which sees to it. The first owners_count members own slots, as
 * equally as can be and with the fewest moves; the others only ask. Who is a
 * member no more has no slot and is not told of moves: nothing may be asked
 * through its shard from then on.
 */
struct rgm_reshard {
    struct rgm_request request;
    struct rgm_address members[RGM_WORKERS_MAX]; /* shard actors, one a worker */
    uint32_t members_count;
    uint32_t owners_count; /* 1 .. members_count */
    /* Stop after so many moves; 0: go on to the end. */
    uint32_t moves_max;
    /* Answered: slots moved by this one, and those that are still to move. */
    uint32_t moved_count;
    uint32_t left_count;
};
RGM_REQUEST(rgm_reshard);

/*
 * Prepare a reshard by the shard actor `coordinator`, which must be a member
 * and the same one each time. Fill in members and counts afterwards.
 *
 * Answer: 0
 *         -EINVAL  counts, members twice on a worker, another coordinator
 *         -EBUSY   one is in progress
 *         -ENOMEM  no memory to keep a request; what has moved has moved
 *         -ESRCH, -EPIPE  an old or new owner has stopped in the middle: its
 *                  slots are lost
 */
#define rgm_reshard_by(reshard, coordinator)                                  \
    rgm_reshard_prepare((reshard), (coordinator))

/* The handler of the library's messages; made by RGM_SHARD. */
RGM_API void rgm_shard_handle(struct rgm_actor *self, struct rgm_shard *shard,
                              void *record);

/* Declares that actor struct `a` has its shard in `member`. */
#define RGM_SHARD(a, member)                                                  \
    static void rgm_shard_handle_##a(struct rgm_actor *self, void *record)    \
    {                                                                         \
        rgm_shard_handle(self, &((struct a *)(void *)self)->member, record);  \
    }                                                                         \
    RGM_ACTOR_CHECK_(a)

/* Entries of a behaviour's handler table: those messages. */
#define RGM_SHARD_ON(a)                                                       \
    {&rgm_shard_chunk_type, rgm_shard_handle_##a},                            \
        {&rgm_shard_note_type, rgm_shard_handle_##a},                         \
        {&rgm_reshard_type, rgm_shard_handle_##a}

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_SHARDS_H */
