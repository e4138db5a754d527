/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_BUNDLE_H
#define RGI_ACTORS_BUNDLE_H

/*
 * bundle.h - how do many messages come home for the price of one?
 *
 *     head --> second --next--> third --next--> ... --next--> last <-- head
 *
 * A plain return is a one-way message that was handled, is from its home's
 * slab, and has no `returned` hook: nobody looks at it again, and all that is
 * left to do is to credit its lane and to give its memory back. Plain returns
 * of one type, size and lane that are on their way to the same worker are tied
 * into a bundle. One of them, the head, travels: home credits the lane by count
 * and bytes, and puts the whole list behind its free blocks, without a look at
 * the others.
 *
 * What is tied is free memory already, linked as the slab links it, oldest
 * first, so that blocks go round in the order in which they lie in memory.
 * Each also says where the one RGI_SLAB_AHEAD behind it is: slab.h says why.
 *
 * A bundle is open in the sender's hands until its outbox is pushed, or until
 * a plain return comes that does not fit. It never meets a closed inbox: a
 * worker that has messages out does not close.
 */

#include <string.h>

#include <ringmail/message.h>

#include "actors/request.h"
#include "actors/slab.h"
#include "base/assert.h"
#include "mailbox/mail.h"
#include "mailbox/outbox.h"

#define RGI_BUNDLE_MAX RGI_OUTBOX_FLUSH_AT /* messages */

struct rgi_bundle {
    const struct rgm_message_type *type; /* NULL: none is open */
    uint32_t each_bytes;
    uint32_t marks; /* see rgi_bundle_marks */
    uint32_t count; /* 0: none is open */
    struct rgm_message *head;
    struct rgi_slab_block *last;
    struct rgi_slab_block *recent[RGI_SLAB_AHEAD];
};

/* What the head says: where there are messages to be tied, there is room. Its
 * `status` is how many, and its size and lane are everybody's. */
struct rgi_bundle_head {
    struct rgm_message message;
    struct rgi_slab_block *second;
    struct rgi_slab_block *last;
};

_Static_assert(sizeof(struct rgi_bundle_head) <= RGI_SLAB_STEP,
               "the smallest block holds a head");

static inline struct rgi_bundle_head *
rgi_bundle_head_of(struct rgm_message *message)
{
    return rgi_container_of(message, struct rgi_bundle_head, message);
}

/* Lane, state and flags, side by side. */
static inline uint32_t
rgi_bundle_marks(const struct rgm_message *message)
{
    uint32_t marks;

    _Static_assert(offsetof(struct rgm_message, flags) + 1 -
                           offsetof(struct rgm_message, lane) ==
                       sizeof(marks),
                   "lane, state and flags are one word");
    memcpy(&marks, &message->lane, sizeof(marks));
    return marks;
}

/* Nobody wants to see it again, and its home's slab takes it back. */
static inline bool
rgi_bundle_takes(const struct rgm_message *message)
{
    return message->type->kind == RGM_KIND_MESSAGE &&
           message->type->returned == NULL &&
           (message->flags & RGI_MESSAGE_TAKEN) != 0 &&
           rgi_slab_class(message->charged_bytes) != RGI_SLAB_LARGE;
}

/* Like those that are in it, and there is room. */
static inline bool
rgi_bundle_fits(const struct rgi_bundle *bundle,
                const struct rgm_message *message)
{
    return bundle->type == message->type &&
           bundle->each_bytes == message->charged_bytes &&
           bundle->marks == rgi_bundle_marks(message) &&
           bundle->count < RGI_BUNDLE_MAX;
}

static inline void
rgi_bundle_open(struct rgi_bundle *bundle, struct rgm_message *message)
{
    rgi_assert_slow(message->type->header_offset == 0);
    bundle->type = message->type;
    bundle->each_bytes = message->charged_bytes;
    bundle->marks = rgi_bundle_marks(message);
    bundle->count = 1;
    bundle->head = message;
    bundle->last = (struct rgi_slab_block *)(void *)message;
}

/* Afterwards it is a free block of its home's, and no message. */
static inline void
rgi_bundle_add(struct rgi_bundle *bundle, struct rgm_message *message)
{
    struct rgi_slab_block *block = (struct rgi_slab_block *)(void *)message;
    struct rgi_slab_block **place =
        &bundle->recent[bundle->count % RGI_SLAB_AHEAD];

    bundle->last->next = block;
    bundle->last = block;
    block->ahead = block; /* the last ones do not know better */
    if (bundle->count > RGI_SLAB_AHEAD)
        (*place)->ahead = block;
    *place = block;
    bundle->count++;
}

/* Ready to travel. Returns: the head; one alone stays what it was. */
static inline struct rgm_message *
rgi_bundle_close(struct rgi_bundle *bundle)
{
    struct rgm_message *message = bundle->head;
    struct rgi_slab_block *block = (struct rgi_slab_block *)(void *)message;
    struct rgi_bundle_head *head = rgi_bundle_head_of(message);

    message->flags |= RGI_MESSAGE_URGENT;
    message->status = 0;
    if (bundle->count > 1) {
        message->flags |= RGI_MESSAGE_BUNDLE;
        message->status = (int32_t)bundle->count;
        head->second = block->next;
        head->last = bundle->last;
        head->last->next = NULL;
    }
    bundle->type = NULL;
    bundle->count = 0;
    return message;
}

/* At home. Returns: the first block of the list, which the head is now. */
static inline struct rgi_slab_block *
rgi_bundle_untie(struct rgi_bundle_head *head)
{
    struct rgi_slab_block *second = head->second;
    struct rgi_slab_block *block = (struct rgi_slab_block *)(void *)head;

    block->next = second;
    block->ahead = block;
    return block;
}

#endif /* RGI_ACTORS_BUNDLE_H */
