/* SPDX-License-Identifier: MIT */
#ifndef RGI_MAILBOX_OUTBOX_H
#define RGI_MAILBOX_OUTBOX_H

/*
 * outbox.h - what a worker has collected for one other, not yet pushed.
 *
 * The chain is built newest first, so that the receiver's reversal restores
 * the order of sending, and is pushed with one compare-and-swap and at most
 * one bell. When to push is the worker's turn's affair (actors/turn.c).
 *
 * The sender's alone.
 */

#include <ringmail/message.h>

#include "base/prefetch.h"
#include "mailbox/inbox.h"
#include "mailbox/mail.h"

#define RGI_OUTBOX_FLUSH_AT 64 /* messages; then it is pushed at once */

/*
 * A chain is a list through memory that its receiver's cache does not have:
 * followed link by link, each message costs a whole line transfer. So every
 * message says where the one eight before it is, and the receiver, who walks
 * the chain from its newest end, has eight transfers under way at a time.
 *
 * The hint is a distance in cache lines and lies in a field that means nothing
 * on that part of the road: `status` on the way out, `from` on the way home,
 * which is where it goes. It is only ever prefetched, never followed.
 */
#define RGI_OUTBOX_AHEAD 8u
#define RGI_LINE_BITS 6

struct rgi_outbox {
    _Alignas(RGI_CACHE_PAIR) struct rgm_message *newest;
    struct rgm_message *oldest;
    uint32_t count; /* messages, also those that travel with another */
    struct rgm_message *recent[RGI_OUTBOX_AHEAD];
};

static inline void
rgi_ahead_set_home(struct rgm_message *message, int32_t lines)
{
    message->from.bits = (uint32_t)lines;
}

static inline int32_t
rgi_ahead(const struct rgm_message *message)
{
    if (!(message->flags & RGI_MESSAGE_URGENT))
        return message->status;
    return (int32_t)(uint32_t)message->from.bits;
}

/* Thread: the receiver. Wherever it points, it is an address and no object. */
static inline void
rgi_ahead_prefetch(const struct rgm_message *message)
{
    intptr_t bytes = (intptr_t)rgi_ahead(message) * (1 << RGI_LINE_BITS);

    rgi_prefetch_write((const void *)((uintptr_t)message + (uintptr_t)bytes));
}

static inline int32_t
rgi_lines_between(const struct rgm_message *from, const struct rgm_message *to)
{
    return (int32_t)((uint32_t)((uintptr_t)to >> RGI_LINE_BITS) -
                     (uint32_t)((uintptr_t)from >> RGI_LINE_BITS));
}

/* Where the message that many before this one is; this one is remembered. A
 * message with which others travel leaves gaps, and hints that are old. */
static inline int32_t
rgi_outbox_distance(struct rgi_outbox *outbox, struct rgm_message *message)
{
    struct rgm_message **place =
        &outbox->recent[outbox->count % RGI_OUTBOX_AHEAD];
    int32_t lines = outbox->count < RGI_OUTBOX_AHEAD
                        ? 0
                        : rgi_lines_between(message, *place);

    *place = message;
    return lines;
}

/* First of two steps: the last that is written to the message itself. */
static inline void
rgi_outbox_hint(struct rgi_outbox *outbox, struct rgm_message *message)
{
    int32_t lines;

    if (message->type->kind == RGM_KIND_CONTROL)
        return;
    lines = rgi_outbox_distance(outbox, message);
    if (message->flags & RGI_MESSAGE_URGENT)
        rgi_ahead_set_home(message, lines);
    else
        message->status = lines;
}

/* Second step: only the link is written. With the message travel `count`,
 * itself included. */
static inline void
rgi_outbox_link_many(struct rgi_outbox *outbox, struct rgm_message *message,
                     uint32_t count)
{
    message->next = outbox->newest;
    if (outbox->newest == NULL)
        outbox->oldest = message;
    outbox->newest = message;
    outbox->count += count;
}

static inline void
rgi_outbox_link(struct rgi_outbox *outbox, struct rgm_message *message)
{
    rgi_outbox_link_many(outbox, message, 1);
}

static inline void
rgi_outbox_add(struct rgi_outbox *outbox, struct rgm_message *message)
{
    rgi_outbox_hint(outbox, message);
    rgi_outbox_link(outbox, message);
}

/* Take one back that has not been pushed. Returns: whether it was there. */
static inline bool
rgi_outbox_remove(struct rgi_outbox *outbox, struct rgm_message *message)
{
    struct rgm_message *newer = NULL, *seen = outbox->newest;

    while (seen != message) {
        if (seen == NULL || seen == outbox->oldest)
            return false;
        newer = seen;
        seen = seen->next;
    }
    if (newer == NULL)
        outbox->newest = message == outbox->oldest ? NULL : message->next;
    else
        newer->next = message->next;
    if (message == outbox->oldest)
        outbox->oldest = newer;
    outbox->count--;
    return true;
}

/* Give up the chain, newest first. */
static inline struct rgm_message *
rgi_outbox_empty(struct rgi_outbox *outbox)
{
    struct rgm_message *newest = outbox->newest;

    outbox->newest = NULL;
    outbox->oldest = NULL;
    outbox->count = 0;
    return newest;
}

/*
 * Push the whole chain. Afterwards the outbox is empty, unless it failed.
 *
 * Returns: as rgi_inbox_push.
 */
static inline int
rgi_outbox_flush(struct rgi_outbox *outbox, struct rgi_inbox *inbox)
{
    int status = rgi_inbox_push(inbox, outbox->newest, outbox->oldest);

    if (status >= 0)
        (void)rgi_outbox_empty(outbox);
    return status;
}

#endif /* RGI_MAILBOX_OUTBOX_H */
