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

#include "mailbox/inbox.h"

#define RGI_OUTBOX_FLUSH_AT 64 /* messages; then it is pushed at once */

struct rgi_outbox {
    struct rgm_message *newest;
    struct rgm_message *oldest;
    uint32_t count;
};

static inline void
rgi_outbox_add(struct rgi_outbox *outbox, struct rgm_message *message)
{
    message->next = outbox->newest;
    if (outbox->newest == NULL)
        outbox->oldest = message;
    outbox->newest = message;
    outbox->count++;
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
