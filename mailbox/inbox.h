/* SPDX-License-Identifier: MIT */
#ifndef RGI_MAILBOX_INBOX_H
#define RGI_MAILBOX_INBOX_H

/*
 * inbox.h - how does a message reach another thread, and wake it if need be?
 *
 *     senders --CAS--> [ head ] --exchange--> owner, who reverses the list
 *
 * One word decides everything. It says one of five things:
 *
 *     AWAKE    empty, the owner is running
 *     ASLEEP   empty, the owner sleeps (or is about to): whoever replaces
 *              this word rings, and nobody else does
 *     CLOSING  the owner has closed and is still turning mail home
 *     CLOSED   nothing may be pushed
 *     other    the newest message; its `next` leads to older ones and ends in
 *              what the word said before (any of the first two)
 *
 * A sender pushes a chain with one compare-and-swap. Falling asleep is a
 * compare-and-swap from AWAKE, so no message can slip in between "is it
 * empty?" and "I sleep": publication, sleep and wake are decided in the same
 * atomic step, on one location, and no store-load fence exists to get wrong.
 * CLOSING and CLOSED are written by the owner alone, and the owner never takes
 * over either.
 *
 * The inbox belongs to a slot of the runtime and outlives the worker or guest
 * that owns it at a time. After its compare-and-swap a sender touches nothing
 * of the inbox: bell and argument are read before. Ringing late is harmless.
 *
 * Models: mailbox/models/inbox.pml. Atomics: docs/THREADS.md, rows inbox-*.
 */

#include <errno.h>
#include <stdint.h>

#include <ringmail/message.h>

#include "base/assert.h"
#include "base/baton.h"
#include "base/ck.h"

#define RGI_CACHE_PAIR 128 /* two lines: the adjacent-line prefetcher's unit */

#define RGI_INBOX_AWAKE ((void *)0)
#define RGI_INBOX_ASLEEP ((void *)1)
#define RGI_INBOX_CLOSING ((void *)2)
#define RGI_INBOX_CLOSED ((void *)3)

struct rgi_inbox {
    /* Everybody's. Alone in its pair of cache lines. */
    _Alignas(RGI_CACHE_PAIR) void *head;
    /* Set while nobody can reach the inbox, constant afterwards. */
    _Alignas(RGI_CACHE_PAIR) void (*bell)(void *argument);
    void *bell_argument;
};

/* What a push did, when it did not fail. */
#define RGI_PUSHED 0
#define RGI_PUSHED_AND_RANG 1

/*
 * The word as it is now, without order. ThreadSanitizer takes the primitive's
 * load for a plain one and forgets where it was made before it can suppress it.
 */
static inline void *
rgi_inbox_word(struct rgi_inbox *inbox)
{
#if defined(__SANITIZE_THREAD__)
    return __atomic_load_n(&inbox->head, __ATOMIC_RELAXED);
#else
    return ck_pr_load_ptr(&inbox->head);
#endif
}

/* Whether a link ends a chain: it holds a state of the word, no message. */
static inline bool
rgi_chain_ends(const struct rgm_message *link)
{
    return (uintptr_t)link <= (uintptr_t)RGI_INBOX_CLOSED;
}

/* Make an inbox that is closed. Thread: setup. */
static inline void
rgi_inbox_init(struct rgi_inbox *inbox, void (*bell)(void *argument),
               void *bell_argument)
{
    inbox->head = RGI_INBOX_CLOSED;
    inbox->bell = bell;
    inbox->bell_argument = bell_argument;
}

/*
 * Open a closed inbox, awake. Thread: the new owner, after everything that can
 * fail.
 */
static inline void
rgi_inbox_open(struct rgi_inbox *inbox)
{
    rgi_assert(rgi_inbox_word(inbox) == RGI_INBOX_CLOSED);
    /* inbox-open: publishes the owner's set-up to every sender. */
    ck_pr_fence_release();
    ck_pr_store_ptr(&inbox->head, RGI_INBOX_AWAKE);
}

/*
 * Push a chain, newest message first, oldest last.
 *
 * Thread:  any that may push; also inside a signal handler.
 * Returns: RGI_PUSHED or RGI_PUSHED_AND_RANG
 *          -EPIPE   closed; the chain is the caller's still
 *          -EAGAIN  closing; it will be closed in a moment, look again
 */
static inline int
rgi_inbox_push(struct rgi_inbox *inbox, struct rgm_message *newest,
               struct rgm_message *oldest)
{
    void (*bell)(void *) = inbox->bell;
    void *argument = inbox->bell_argument;
    void *head = rgi_inbox_word(inbox);
    void *seen;

    for (;;) {
        if (head == RGI_INBOX_CLOSED)
            return -EPIPE;
        if (head == RGI_INBOX_CLOSING)
            return -EAGAIN;
        oldest->next = head;
        RGI_GATE("push");
        /* inbox-push: publishes the chain, and whatever its sender did
         * before (loads from it included), to the owner's take. */
        ck_pr_fence_release();
        if (ck_pr_cas_ptr_value(&inbox->head, head, newest, &seen))
            break;
        head = seen;
    }
    if (head != RGI_INBOX_ASLEEP)
        return RGI_PUSHED;
    RGI_GATE("bell");
    bell(argument);
    return RGI_PUSHED_AND_RANG;
}

/* Whether a take would find something. Thread: owner. Cost: one load. */
static inline bool
rgi_inbox_has_mail(struct rgi_inbox *inbox)
{
    return !rgi_chain_ends(rgi_inbox_word(inbox));
}

/*
 * Take everything, newest first; NULL when there is nothing. The owner is
 * awake afterwards.
 *
 * Thread:  owner.
 */
static inline struct rgm_message *
rgi_inbox_take(struct rgi_inbox *inbox)
{
    void *head = rgi_inbox_word(inbox);

    if (head == RGI_INBOX_AWAKE || head == RGI_INBOX_CLOSING ||
        head == RGI_INBOX_CLOSED)
        return NULL;
    RGI_GATE("take");
    head = ck_pr_fas_ptr(&inbox->head, RGI_INBOX_AWAKE);
    /* inbox-take: observes what every sender in the chain published. */
    ck_pr_fence_acquire();
    return rgi_chain_ends(head) ? NULL : head;
}

/*
 * Fall asleep, if nothing has come. After true the next sender rings.
 *
 * Thread:  owner.
 * Returns: false when there is mail (or the inbox is closed).
 */
static inline bool
rgi_inbox_sleep(struct rgi_inbox *inbox)
{
    RGI_GATE("sleep");
    /* inbox-sleep: publishes that a bell is needed; decided on the same word
     * as every push, so that one of the two sees the other. */
    return ck_pr_cas_ptr(&inbox->head, RGI_INBOX_AWAKE, RGI_INBOX_ASLEEP);
}

/* Be awake again, whoever ended the sleep. Thread: owner. */
static inline void
rgi_inbox_wake(struct rgi_inbox *inbox)
{
    RGI_GATE("wake");
    (void)ck_pr_cas_ptr(&inbox->head, RGI_INBOX_ASLEEP, RGI_INBOX_AWAKE);
}

/*
 * Close, first step: nobody can push any more. What the exchange caught was
 * accepted; the caller turns it home, flushes, and then closes for good.
 *
 * Thread:  owner; the inbox is open.
 * Returns: what was caught, newest first, or NULL.
 */
static inline struct rgm_message *
rgi_inbox_close_begin(struct rgi_inbox *inbox)
{
    void *head = ck_pr_fas_ptr(&inbox->head, RGI_INBOX_CLOSING);

    ck_pr_fence_acquire();
    return rgi_chain_ends(head) ? NULL : head;
}

/* Close, second step. Thread: owner. */
static inline void
rgi_inbox_close_end(struct rgi_inbox *inbox)
{
    RGI_GATE("closing");
    rgi_assert(rgi_inbox_word(inbox) == RGI_INBOX_CLOSING);
    /* inbox-close: publishes the owner's last writes to the next owner, and to
     * whoever is refused. */
    __atomic_store_n(&inbox->head, RGI_INBOX_CLOSED, __ATOMIC_RELEASE);
}

/*
 * After a push was refused because the inbox is closed: what its last owner
 * wrote, also to messages on their way to it, is seen.
 *
 * Thread:  any.
 */
static inline void
rgi_inbox_observe_close(struct rgi_inbox *inbox)
{
    /* inbox-close: observes the owner's last writes. */
    (void)__atomic_load_n(&inbox->head, __ATOMIC_ACQUIRE);
}

#endif /* RGI_MAILBOX_INBOX_H */
