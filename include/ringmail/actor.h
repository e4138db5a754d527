/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_ACTOR_H
#define RINGMAIL_ACTOR_H

/*
 * actor.h - state that one worker owns, and the verbs that reach it.
 *
 * An actor is a struct of yours whose first member is `struct rgm_actor
 * actor`, with a constant behaviour that says which function handles which
 * message type. Its handlers run to completion on the worker it lives on, one
 * at a time; they never block.
 *
 *     struct counter { struct rgm_actor actor; long value; };
 *
 *     RGM_HANDLER(counter, add, counter_add);
 *     RGM_HANDLER(counter, get, counter_get);
 *
 *     static const struct rgm_handler counter_handlers[] = {
 *         RGM_ON(counter, add, counter_add),
 *         RGM_ON(counter, get, counter_get),
 *     };
 *     static const struct rgm_behaviour counter_behaviour = {
 *         .name = "counter",
 *         .size_bytes = sizeof(struct counter),
 *         RGM_HANDLERS(counter_handlers),
 *     };
 *
 *     static void counter_add(struct counter *self, struct add *add)
 *     {
 *         self->value += add->amount;
 *     }
 *     static void counter_get(struct counter *self, struct get *get)
 *     {
 *         get->value = self->value;
 *         rgm_reply(self, get, 0);
 *     }
 *
 * A handler does exactly one of: rgm_reply, rgm_forward, rgm_keep, or nothing.
 * After nothing a one-way message goes home, and a request left unanswered
 * goes home with -EPROTO. What nobody can handle is a dead letter: it is
 * counted and goes home, with -ENOSYS when the actor has no handler for its
 * type, with -ESRCH when there is no such actor (any more), with -EPIPE when
 * that is because the worker stops.
 *
 * In all verbs below `self` is a pointer to the calling actor's struct (or to
 * a struct rgm_guest), and the calling thread is its worker's ("owner").
 * Using a struct of the wrong type is an error at compile time.
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/message.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_worker;
struct rgm_behaviour;
struct rgi_dispatch;

/* Fields are the runtime's; see actors/actor.c. */
struct rgm_actor {
    struct rgm_address address;
    struct rgm_worker *worker;
    const struct rgi_dispatch *dispatch;
    struct rgm_message *mail_first; /* deliveries waiting, oldest first */
    struct rgm_message *mail_last;
    struct rgm_actor *ready_next;
    struct rgm_link scope;   /* requests that a stop has to reach */
    struct rgm_scope *scopes; /* open, likewise */
    uint32_t out_count;      /* requests out */
    uint32_t kept_first;     /* first token of a kept request, 0 none */
    uint8_t life;            /* enum rgi_life */
    uint8_t ready;
    uint8_t flags;
    uint8_t end_kind;        /* enum rgm_end_kind, once it is decided */
    int32_t end_status;
};

/* Message type to function; made by RGM_ON. */
struct rgm_handler {
    const struct rgm_message_type *type;
    void (*handle)(struct rgm_actor *self, void *record);
};

typedef void rgm_hook_function(struct rgm_actor *self);

/*
 * What an actor does: constant, shared by all actors of the kind. Hooks left
 * NULL are skipped.
 */
struct rgm_behaviour {
    const char *name;
    size_t size_bytes; /* of the actor's struct */
    const struct rgm_handler *handlers;
    size_t handlers_count;
    /* Runs inside spawn, on the spawning thread, on zeroed memory; no verb may
     * be used. A negative result refuses the spawn and is what it returns;
     * then nothing else of the actor runs. */
    int (*factory)(struct rgm_actor *self, const void *argument);
    /* First thing on the owner, before any mail. */
    rgm_hook_function *started;
    /* Once after the last delivery of a batch: the place for one write. */
    rgm_hook_function *settled;
    /* The runtime is stopping or the worker retiring (rgm_worker_retiring says
     * which): bring your work to an end, hand over what you keep, and call
     * rgm_stop. The worker lives until you do; it spawns nothing any more.
     * Without this hook the actor is stopped at once. */
    rgm_hook_function *retiring;
    /* When its worker retires it moves to another one instead of stopping:
     * without a `retiring` hook by itself, else when that (or what it begins)
     * calls rgm_move. See rgm_move. */
    bool movable;
    /* What it has out stays where it was accepted when it moves, instead of
     * ending before: see rgm_move. */
    bool operations_stay;
    /* First thing after a move, on its new worker. */
    rgm_hook_function *moved;
    /* A kept request was withdrawn and is about to go home. */
    void (*withdrawn)(struct rgm_actor *self, struct rgm_request *request);
    /* Last: nothing of the actor's is out, its memory goes after this, so
     * nothing may be asked in it. */
    rgm_hook_function *stopped;
    /* Its state belongs to one thread (a library with thread-local state): it
     * is spawned only where its worker is named, never "on any". */
    bool thread_bound;
};

/* Declares `static void f(struct a *self, struct t *message)`. */
#define RGM_HANDLER(a, t, f)                                                  \
    static void f(struct a *self, struct t *message);                         \
    static void rgm_on_##a##_##t##_##f(struct rgm_actor *self, void *record)  \
    {                                                                         \
        f((struct a *)(void *)self, (struct t *)record);                      \
    }                                                                         \
    RGM_ACTOR_CHECK_(a)

/* One entry of a behaviour's handler table. */
#define RGM_ON(a, t, f)                                                       \
    {                                                                         \
        &t##_type, rgm_on_##a##_##t##_##f                                     \
    }

#define RGM_HANDLERS(table)                                                   \
    .handlers = (table), .handlers_count = sizeof(table) / sizeof((table)[0])

/* Declares `static void f(struct a *self)`; RGM_DO(a, f) goes in a hook. */
#define RGM_HOOK(a, f)                                                        \
    static void f(struct a *self);                                            \
    static void rgm_do_##a##_##f(struct rgm_actor *self)                      \
    {                                                                         \
        f((struct a *)(void *)self);                                          \
    }                                                                         \
    RGM_ACTOR_CHECK_(a)
#define RGM_DO(a, f) rgm_do_##a##_##f

/* Declares `static int f(struct a *self, const struct p *argument)`. */
#define RGM_FACTORY(a, p, f)                                                  \
    static int f(struct a *self, const struct p *argument);                   \
    static int rgm_make_##a##_##f(struct rgm_actor *self,                     \
                                  const void *argument)                       \
    {                                                                         \
        return f((struct a *)(void *)self, (const struct p *)argument);       \
    }                                                                         \
    RGM_ACTOR_CHECK_(a)
#define RGM_MAKE(a, f) rgm_make_##a##_##f

/* Declares `static void f(struct a *self, struct t *request)`, a function
 * that may be named in RGM_REPLY. */
#define RGM_ANSWER(a, t, f)                                                   \
    static void f(struct a *self, struct t *request);                         \
    static void rgm_answer_##a##_##t##_##f(struct rgm_actor *self,            \
                                           struct rgm_request *request)       \
    {                                                                         \
        f((struct a *)(void *)self, (struct t *)(void *)request);             \
    }                                                                         \
    union rgm_answer_of_##a##_##t##_##f {                                     \
        rgm_answer_function *function;                                        \
        struct a *self;                                                       \
        struct t *record;                                                     \
    };                                                                        \
    RGM_ACTOR_CHECK_(a)
#define RGM_REPLY(a, t, f)                                                    \
    RGM_UNION_(rgm_answer_of_##a##_##t##_##f, rgm_answer_##a##_##t##_##f)

#define RGM_ACTOR_CHECK_(a)                                                   \
    RGM_STATIC_ASSERT_(offsetof(struct a, actor) == 0,                        \
                       #a " must begin with its actor")

/*
 * Send a one-way message to an actor.
 *
 * Owns:    on 0 the runtime has the message; it comes home once, also when it
 *          turns out undeliverable (its status says why). On error the caller
 *          has it still.
 * Returns: 0
 *          -EAGAIN  the allowance of this pair of workers is used up, or
 *                   somebody waits for it
 *          -ESRCH   the address names nobody (seen on the own worker; on
 *                   another one the message comes home with -ESRCH)
 *          -EINVAL  the message is not at home, or is a request
 *          (a destination worker that has closed sends it home with -EPIPE)
 * Cost:    no allocation, no system call, at most one atomic per flush.
 */
#define rgm_send(self, to, record)                                            \
    rgm_send_message(&(self)->actor, (to), &(record)->message)
RGM_API RGM_MUST_USE int rgm_send_message(struct rgm_actor *self,
                                          struct rgm_address to,
                                          struct rgm_message *message);

/*
 * Ask: send a prepared request; exactly one answer comes, in the function
 * named by RGM_REPLY, on this worker, unless the actor's own worker stops by
 * force (its provider has failed). Every failure arrives there too. While the
 * allowance is used up the request waits in line, and counts as sent when it
 * leaves it. Asking again from its own answer is legal; look at the status
 * first, for an actor that stops is answered -ECANCELED as often as it asks.
 *
 * Answer:  what rgm_reply said; or -ESRCH, -ENOSYS, -EPROTO, -EPIPE as above,
 *          -ELOOP after 16 forwards, -ECANCELED when it was cancelled or the
 *          asker is stopping.
 * Owns:    the record is the runtime's until its answer is delivered.
 * Cost:    no allocation, no system call.
 */
#define rgm_ask(self_, record_, reply)                                          \
    (RGM_SAME_TYPE((self_), (reply).self),                                     \
     RGM_SAME_TYPE((record_), (reply).record),                                 \
     rgm_ask_request(&(self_)->actor, &(record_)->request, (reply).function))
RGM_API void rgm_ask_request(struct rgm_actor *self,
                             struct rgm_request *request,
                             rgm_answer_function *answer);

/*
 * The same, refused at once instead of waiting.
 *
 * Returns: 0, or as rgm_send with the record untouched; -EINVAL also for one
 *          that was never prepared; -ECANCELED when the caller is stopping.
 */
#define rgm_try_ask(self_, record_, reply)                                      \
    (RGM_SAME_TYPE((self_), (reply).self),                                     \
     RGM_SAME_TYPE((record_), (reply).record),                                 \
     rgm_try_ask_request(&(self_)->actor, &(record_)->request,                  \
                         (reply).function))
RGM_API RGM_MUST_USE int rgm_try_ask_request(struct rgm_actor *self,
                                             struct rgm_request *request,
                                             rgm_answer_function *answer);

/*
 * Answers in the order asked: what a pipelined protocol needs. The answers of
 * requests asked through one order are delivered in the order they were asked,
 * whichever came home first.
 */
struct rgm_order {
    struct rgm_request *first;
    struct rgm_request *last;
    uint32_t count; /* asked and not yet delivered */
    uint32_t capacity;
};

/* capacity: how many may be out at once, 1 .. 2^31. Thread: owner. */
static inline void
rgm_order_init(struct rgm_order *order, uint32_t capacity)
{
    order->first = NULL;
    order->last = NULL;
    order->count = 0;
    order->capacity = capacity;
}

static inline bool
rgm_order_full(const struct rgm_order *order)
{
    return order->count >= order->capacity;
}

/*
 * Ask through an order. The caller looks at rgm_order_full first; asking
 * through a full one is answered with -ENOBUFS, in its turn.
 */
#define rgm_ask_in(self_, order, record_, reply)                                \
    (RGM_SAME_TYPE((self_), (reply).self),                                     \
     RGM_SAME_TYPE((record_), (reply).record),                                 \
     rgm_ask_request_in(&(self_)->actor, (order), &(record_)->request,          \
                        (reply).function))
RGM_API void rgm_ask_request_in(struct rgm_actor *self,
                                struct rgm_order *order,
                                struct rgm_request *request,
                                rgm_answer_function *answer);

/*
 * Put a record that needs nobody else into an order, already answered: its
 * callback runs in its turn. For commands that can be answered on the spot.
 */
#define rgm_answered_in(self_, order, record_, status, reply)                   \
    (RGM_SAME_TYPE((self_), (reply).self),                                     \
     RGM_SAME_TYPE((record_), (reply).record),                                 \
     rgm_answered_request_in(&(self_)->actor, (order), &(record_)->request,     \
                             (status), (reply).function))
RGM_API void rgm_answered_request_in(struct rgm_actor *self,
                                     struct rgm_order *order,
                                     struct rgm_request *request, int status,
                                     rgm_answer_function *answer);

/*
 * Answer the request being handled. status is 0 or a negative errno.
 *
 * Returns: 0, or -EALREADY when this delivery has been answered, forwarded or
 *          kept already (nothing happens then).
 */
#define rgm_reply(self, record, status)                                       \
    ((void)rgm_reply_request(&(self)->actor, &(record)->request, (status)))
#define rgm_try_reply(self, record, status)                                   \
    rgm_reply_request(&(self)->actor, &(record)->request, (status))
RGM_API int rgm_reply_request(struct rgm_actor *self,
                              struct rgm_request *request, int status);

/*
 * Pass the request (or message) being handled on to another actor. It is
 * charged nothing and cannot be refused; whatever fails, the asker is told.
 * After 16 forwards it goes home with -ELOOP.
 *
 * Returns: 0, or -EALREADY as rgm_reply.
 */
#define rgm_forward(self, record, to)                                         \
    rgm_forward_message(&(self)->actor, &(record)->request.message, (to))
#define rgm_forward_one_way(self, record, to)                                 \
    rgm_forward_message(&(self)->actor, &(record)->message, (to))
RGM_API int rgm_forward_message(struct rgm_actor *self,
                                struct rgm_message *message,
                                struct rgm_address to);
#define RGM_FORWARDS_MAX 16

/* Names a kept request in its keeper's worker; by value, never followed. */
struct rgm_token {
    uint32_t index;
    uint32_t generation;
};

/*
 * Keep the request being handled, to answer it later. A stop of the keeper
 * withdraws it: `withdrawn` runs and it goes home with -ESRCH; so does a cancel
 * by its asker, with -ECANCELED. The token is spent by then.
 *
 * Returns: 0 and *ret_token set
 *          -EALREADY  answered, forwarded or kept already
 *          -ECANCELED it was cancelled while it is handled; nothing happened,
 *                     and unanswered it goes home with that
 *          -ENOMEM    no room in the token table; nothing happened
 */
#define rgm_keep(self, record, ret_token)                                     \
    rgm_keep_request(&(self)->actor, &(record)->request, (ret_token))
RGM_API RGM_MUST_USE int rgm_keep_request(struct rgm_actor *self,
                                          struct rgm_request *request,
                                          struct rgm_token *ret_token);

/* The kept request as a struct t, or NULL when the token is spent. */
#define RGM_KEPT(self, token, t)                                              \
    ((struct t *)(void *)rgm_kept_request(&(self)->actor, (token)))
RGM_API struct rgm_request *rgm_kept_request(struct rgm_actor *self,
                                             struct rgm_token token);

/*
 * Answer a kept request. The token is spent by it.
 *
 * Returns: 0, or -EALREADY when the token is spent (answered or withdrawn).
 */
#define rgm_answer(self, token, status)                                       \
    rgm_answer_kept(&(self)->actor, (token), (status))
RGM_API int rgm_answer_kept(struct rgm_actor *self, struct rgm_token token,
                            int status);

/* Forward a kept request. Returns: 0, or -EALREADY. */
#define rgm_forward_kept(self, token, to)                                     \
    rgm_forward_kept_request(&(self)->actor, (token), (to))
RGM_API int rgm_forward_kept_request(struct rgm_actor *self,
                                     struct rgm_token token,
                                     struct rgm_address to);

/*
 * Ask that a request of one's own comes home, wherever it has got to: in line,
 * on its way, kept by whoever got it, begun by a worker, forwarded by then.
 * Says nothing about anything having stopped: its one answer comes as always,
 * with -ECANCELED if nobody had answered, or with what was achieved before. Who
 * keeps it is told by `withdrawn`; a handler that is running on it goes on. At
 * home, or cancelled before: nothing happens. Cannot fail.
 *
 * Cost: no allocation. At most one message to each worker the request was on.
 */
#define rgm_cancel(self, record)                                              \
    rgm_cancel_request(&(self)->actor, &(record)->request)
RGM_API void rgm_cancel_request(struct rgm_actor *self,
                                struct rgm_request *request);

/*
 * Stop an actor: no more deliveries, its mail and what it keeps go home with
 * -ESRCH, and all it has asked is cancelled, except clean-up; the answers
 * still arrive, and in their callbacks it may still ask for
 * clean-up: rgm_shutdown and rgm_close. Anything else it asks is answered with
 * -ECANCELED. A stop overtakes mail that was sent before it. `stopped` runs when
 * nothing of its is out. Stopping twice, or an address that is stale, does
 * nothing.
 *
 * rgm_stop stops the caller itself, rgm_stop_actor any address.
 *
 * Returns: (rgm_stop_actor) 0, or -ENOMEM when the order for another worker
 *          found no memory; nothing was stopped then.
 */
#define rgm_stop(self) rgm_stop_self(&(self)->actor)
RGM_API void rgm_stop_self(struct rgm_actor *self);
#define rgm_stop_actor(self, address)                                         \
    rgm_stop_address(&(self)->actor, (address))
RGM_API int rgm_stop_address(struct rgm_actor *self,
                             struct rgm_address address);

/*
 * Spawn an actor here, on a given worker, on the next worker in turn, or one
 * on every worker. Synchronous: its address is valid at once, and whatever is
 * sent to it waits for it. `argument` is read by the factory only, inside the
 * call. A guest waits for the worker's word; "here" is for it the next in turn.
 *
 * Returns: 0 and *ret_address set
 *          -EINVAL  bad worker number or behaviour: a struct that is too small,
 *                   a handler without a type or a function, a type twice
 *          -ENOMEM  no memory for the actor, or no slot for it
 *          -EAGAIN  no reserved slot of that worker at hand: try again in a
 *                   later turn
 *          -EPIPE   the runtime is stopping, or that worker retires or has
 *                   retired
 *          or what the factory returned
 */
#define rgm_spawn(self, behaviour, argument, ret_address)                     \
    rgm_spawn_here(&(self)->actor, (behaviour), (argument), (ret_address))
RGM_API RGM_MUST_USE int rgm_spawn_here(struct rgm_actor *self,
                                        const struct rgm_behaviour *behaviour,
                                        const void *argument,
                                        struct rgm_address *ret_address);
#define rgm_spawn_on(self, worker, behaviour, argument, ret_address)          \
    rgm_spawn_there(&(self)->actor, (worker), (behaviour), (argument),        \
                    (ret_address))
RGM_API RGM_MUST_USE int rgm_spawn_there(struct rgm_actor *self,
                                         uint32_t worker,
                                         const struct rgm_behaviour *behaviour,
                                         const void *argument,
                                         struct rgm_address *ret_address);
#define rgm_spawn_next(self, behaviour, argument, ret_address)                \
    rgm_spawn_in_turn(&(self)->actor, (behaviour), (argument), (ret_address))
RGM_API RGM_MUST_USE int rgm_spawn_in_turn(
    struct rgm_actor *self, const struct rgm_behaviour *behaviour,
    const void *argument, struct rgm_address *ret_address);

/*
 * One on every worker that takes placements, in order of their numbers (which
 * have no gaps unless workers have retired). On an error those already spawned
 * are stopped.
 *
 * Returns: the number of workers, -ENOSPC when capacity is smaller than that,
 *          or as above.
 */
#define rgm_spawn_each(self, behaviour, argument, ret_addresses, capacity)    \
    rgm_spawn_everywhere(&(self)->actor, (behaviour), (argument),             \
                         (ret_addresses), (capacity))
RGM_API RGM_MUST_USE int rgm_spawn_everywhere(
    struct rgm_actor *self, const struct rgm_behaviour *behaviour,
    const void *argument, struct rgm_address *ret_addresses, size_t capacity);

/*
 * Send one message to each address: all are sent or none is.
 * records[i] goes to addresses[i]; each comes home by itself.
 *
 * Returns: 0, or as rgm_send (then no message was sent); -EINVAL also when a
 *          message is named twice.
 */
RGM_API RGM_MUST_USE int rgm_broadcast_messages(
    struct rgm_actor *self, const struct rgm_address *addresses,
    struct rgm_message *const *messages, size_t count);

/*
 * Ask several actors (count > 0), be told once. Each request is prepared (has
 * its address); when all are home `done` runs once on this worker. Its answers
 * are in the records.
 */
struct rgm_gather {
    void (*done)(struct rgm_actor *self, struct rgm_gather *gather);
    uint32_t out; /* not home yet */
    uint32_t failed; /* came home with a status other than 0 */
};
RGM_API void rgm_gather_requests(
    struct rgm_actor *self, struct rgm_gather *gather,
    struct rgm_request *const *requests, size_t count,
    void (*done)(struct rgm_actor *self, struct rgm_gather *gather));

/* Publish what this worker has collected for others, now. */
#define rgm_flush(self) rgm_flush_worker(&(self)->actor)
RGM_API void rgm_flush_worker(struct rgm_actor *self);

/* The caller's own address. */
#define rgm_self(self) rgm_actor_address(&(self)->actor)
#define RGM_ACTOR_HAS_MOVED 0x80
RGM_API struct rgm_address
rgm_address_of_moved(const struct rgm_actor *actor);
static inline struct rgm_address
rgm_actor_address(const struct rgm_actor *actor)
{
    return (actor->flags & RGM_ACTOR_HAS_MOVED) != 0
               ? rgm_address_of_moved(actor)
               : actor->address;
}

/* Where the caller runs, how many workers take placements, and which: bit i is
 * worker i. Cost: a load. */
RGM_API uint32_t rgm_worker_number(const struct rgm_actor *self);
RGM_API uint32_t rgm_workers_count(const struct rgm_actor *self);
RGM_API uint64_t rgm_workers_live(const struct rgm_actor *self);

/* Whether the caller's worker retires while the others go on: in `retiring` it
 * tells that from the stop of the runtime. */
RGM_API bool rgm_worker_retiring(const struct rgm_actor *self);

/*
 * Leave a worker that retires: the actor goes on on another one, under the same
 * address. For actors whose behaviour is movable.
 *
 * From now on its mail collects, what it asks waits, and what it has out is
 * cancelled; answers still arrive here. When nothing is out any more, and no
 * worker lease that it took is held, it moves: with its struct (which stays
 * where it is in memory), the requests it keeps, its mail, in order. On the new
 * worker `moved` runs, the asks start, the mail follows. Tokens stay good.
 * Its connections it detaches before (detach.h), and attaches in `moved`; other
 * things that are bound to a worker it closes, and opens anew.
 *
 * With `operations_stay` in its behaviour, what it has out of sleeps, timers,
 * jobs and transfers is not cancelled, and not waited for: each stays with the
 * worker that accepted it, in its queue or ring, until it ends, and its answer
 * comes to where the actor runs then. Cancels, deadlines and re-timings reach it
 * there. The worker that retires does not end before, so whoever waits for a peer
 * cancels that first. Requests to other actors, operations of readers, writers and
 * lanes of files, and what was asked in an order, a gather, a timeout or on
 * behalf of another end before the move all the same. An abandoned one counts as
 * the actor's own until it is home.
 *
 * When the runtime stops before it has moved, it is stopped.
 *
 * Returns: 0        it will move
 *          -EINVAL  not movable, or its worker does not retire, or it is
 *                   moving or stopping already
 *          -EPIPE   the runtime stops
 *          -EBUSY   it is a task's, whose handle names its worker, or has
 *                   scopes of its own open; without a `retiring` hook such an
 *                   actor stops
 *          -ENOMEM  no memory; nothing has changed
 */
#define rgm_move(self) rgm_move_self(&(self)->actor)
RGM_API RGM_MUST_USE int rgm_move_self(struct rgm_actor *self);

/* The time of this turn, in ns; read once per turn. Cost: a load; the first
 * in a turn reads the clock. */
RGM_API uint64_t rgm_now(const struct rgm_actor *self);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_ACTOR_H */
