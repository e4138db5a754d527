/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_REQUEST_H
#define RGI_ACTORS_REQUEST_H

/*
 * request.h - what states does a request pass through, and who may write it?
 *
 *              .--> WAITING --.          in line for allowance
 *     HOME ----+--------------+--> OUT ------------.
 *      ^                           | cancel        |
 *      |                           +--> CANCELLING-+   told where it was
 *      |                           |      ^        |
 *      |                           '--> CHASED     |   a node is after it
 *      |                                  |        |
 *      |                               AWAITING    |   home before its node
 *      |                                  '--------+
 *      '---------------- ANSWERED <----------------'
 *
 * That is its asker's view: `life`, in the asker's part, changed by the
 * functions below and nowhere else. LOST is the end of one that went with its
 * provider.
 *
 * The travelling part belongs to one worker at a time, the one that `holder`
 * names: it is there, or on its way there. Only that worker may write it (the
 * link excepted, which is whose list it is in); it hands the right on by
 * storing the next name as its last write, before it passes the record on. So a
 * cancel that finds its own worker named may mark the record at once, whether
 * it has arrived or not. `state` says where at its holder a request is.
 */

#include <ringmail/message.h>

#include "base/assert.h"
#include "base/list.h"
#include "capabilities/operation.h"

/* Flags of a message; RGI_MESSAGE_URGENT is in mailbox/mail.h. */
#define RGI_MESSAGE_ANSWER 0x02   /* home; on its way after its asker: stays.c */
#define RGI_MESSAGE_TAKEN 0x04    /* from the slab, given back when home */
#define RGI_MESSAGE_LOST 0x08     /* home, but its record is not: see fail */
#define RGI_MESSAGE_CANCELLED 0x10 /* marked: goes home unhandled */
/* 0x20 is RGI_MESSAGE_DEADLINE, in capabilities/operation.h */
#define RGI_MESSAGE_PARENT 0x40   /* others were asked for it */
#define RGI_MESSAGE_BUNDLE 0x80   /* others travel with it: bundle.h */

/* Flags of the asker's; at home only what the next ask is to have. */
#define RGI_ASKED_ORDERED 0x001
#define RGI_ASKED_ARRIVED 0x002 /* waits for its turn in the order */
#define RGI_ASKED_GATHERED 0x004
#define RGI_ASKED_CHILD 0x008
#define RGI_ASKED_TIMED 0x010   /* its timer is armed, or about to be */
#define RGI_ASKED_EXPIRED 0x020 /* the deadline was why it was cancelled */
#define RGI_ASKED_AFTER 0x040   /* deadline_ns is a duration still */
#define RGI_ASKED_AT 0x080      /* deadline_ns is a deadline */
#define RGI_ASKED_SCOPED 0x100  /* scope.named is where to ask it */
/* Flags with which there is more to do than to deliver the answer. */
#define RGI_ASKED_SPECIAL                                                     \
    (RGI_ASKED_CHILD | RGI_ASKED_TIMED | RGI_ASKED_EXPIRED)
#define RGI_ASKED_SHARDED 0x200 /* through a shard: has a hash */
#define RGI_ASKED_STAYS 0x400   /* the library's own: no stop cancels it */
#define RGI_ASKED_ABANDONED 0x800 /* nobody is told: its asker is the janitor */

enum rgi_request_life {
    RGI_REQUEST_HOME,       /* the user's */
    RGI_REQUEST_WAITING,    /* in line for allowance */
    RGI_REQUEST_OUT,        /* with somebody, or on its way there or back */
    RGI_REQUEST_CANCELLING, /* out; was told so, and no node is out */
    RGI_REQUEST_CHASED,     /* out, and so is its node */
    RGI_REQUEST_AWAITING,   /* home; its node is out */
    RGI_REQUEST_ANSWERED,   /* home; in its asker's line, or in an order */
    RGI_REQUEST_LOST
};

/* What becomes of an operation whose asker moves to another worker: stays.c. */
enum rgi_request_bond {
    RGI_BOND_NONE,  /* it may stay, if its asker lets it */
    RGI_BOND_ASKER, /* its answer is of the library's, and of this worker */
    RGI_BOND_LEFT   /* its asker has moved, and it has stayed */
};

/* Where a request is at its holder; one-way messages are HOME or OUT. */
enum rgi_message_state {
    RGI_MESSAGE_HOME,     /* one-way: its maker's */
    RGI_MESSAGE_OUT,      /* one-way: sent and not home */
    RGI_AT_ROAD = 0,      /* a request on its way, in a line, or handled */
    RGI_AT_KEEPER = 2,    /* kept; `status` is its place in the table */
    RGI_AT_SLOT = 3,      /* waits for the actor to be spawned */
    RGI_AT_PROVIDER = 4,  /* an operation that has begun */
    RGI_AT_WATCH = 6,     /* a monitor in the table of watchers */
    RGI_AT_WITHDRAWN = 5, /* in its keeper's line, no longer kept */
    RGI_AT_MOVING = 7     /* kept, on its way to where its keeper goes */
};

static inline struct rgm_request *
rgi_request_of(struct rgm_message *message)
{
    return rgi_container_of(message, struct rgm_request, message);
}

/* ---- the holder ---- */

#define RGI_HOLDER_HOME UINT16_MAX
#define RGI_HOLDER_ABROAD (UINT16_MAX - 1) /* a worker of another runtime */

/* Hand on the right to write. Thread: whoever has it. */
static inline void
rgi_holder_set(struct rgm_message *message, uint32_t holder)
{
    /* holder: publishes what was written to the record to the worker named,
     * which may write it from now on. */
    __atomic_store_n(&message->holder, (uint16_t)holder, __ATOMIC_RELEASE);
}

/* Thread: any that knows that the record is not the user's. */
static inline uint32_t
rgi_holder(const struct rgm_message *message)
{
    /* holder: observes, if it names us, what its last holder wrote. */
    return __atomic_load_n(&message->holder, __ATOMIC_ACQUIRE);
}

/* ---- its life: the asker's worker ---- */

/* Whether its answer is here, or on its way and cannot be stopped any more. */
static inline bool
rgi_request_is_over(const struct rgm_request *request)
{
    return request->life == RGI_REQUEST_ANSWERED ||
           rgi_holder(&request->message) == RGI_HOLDER_HOME;
}

static inline bool
rgi_request_is_home(const struct rgm_request *request)
{
    return request->life == RGI_REQUEST_HOME;
}

static inline void
rgi_request_goes(struct rgm_request *request)
{
    rgi_assert_slow(request->life == RGI_REQUEST_HOME ||
                    request->life == RGI_REQUEST_WAITING);
    request->life = RGI_REQUEST_OUT;
}

static inline void
rgi_request_waits(struct rgm_request *request)
{
    rgi_assert_slow(request->life == RGI_REQUEST_OUT);
    request->life = RGI_REQUEST_WAITING;
}

/* A cancel has reached it without a node, or its node is back before it. */
static inline void
rgi_request_told(struct rgm_request *request)
{
    rgi_assert(request->life == RGI_REQUEST_OUT ||
               request->life == RGI_REQUEST_CHASED);
    request->life = RGI_REQUEST_CANCELLING;
}

static inline void
rgi_request_chased(struct rgm_request *request)
{
    rgi_assert(request->life == RGI_REQUEST_OUT);
    request->life = RGI_REQUEST_CHASED;
}

/* Whether its home is not where its asker is: written as that leaves, and not
 * before it is answered. Thread: the asker's worker; its home. */
static inline bool
rgi_request_is_stray(const struct rgm_request *request)
{
    return request->bond == RGI_BOND_LEFT;
}

/* The library asks in an actor's name, for something of this worker's. */
static inline void
rgi_request_bind(struct rgm_request *request)
{
    request->bond = RGI_BOND_ASKER;
}

/* The travelling part is home. Returns: whether that is all of it. */
static inline bool
rgi_request_arrives(struct rgm_request *request)
{
    if (__builtin_expect(request->life == RGI_REQUEST_CHASED, 0)) {
        request->life = RGI_REQUEST_AWAITING;
        return false;
    }
    rgi_assert_slow(request->life == RGI_REQUEST_OUT ||
                    request->life == RGI_REQUEST_CANCELLING ||
                    request->life == RGI_REQUEST_AWAITING);
    request->life = RGI_REQUEST_ANSWERED;
    return true;
}

/* Its answer is delivered: the record is the user's. */
static inline void
rgi_request_ends(struct rgm_request *request)
{
    rgi_assert_slow(request->life == RGI_REQUEST_ANSWERED);
    request->life = RGI_REQUEST_HOME;
}

static inline void
rgi_request_loses(struct rgm_request *request)
{
    request->life = RGI_REQUEST_LOST;
}

#endif /* RGI_ACTORS_REQUEST_H */
