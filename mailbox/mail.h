/* SPDX-License-Identifier: MIT */
#ifndef RGI_MAILBOX_MAIL_H
#define RGI_MAILBOX_MAIL_H

/*
 * mail.h - in which order does a worker serve what has reached it?
 *
 *     own sends ----------------> [local]  urgent | mail --.
 *                                                          +--> next
 *     inbox --take, reverse-----> [remote] urgent | mail --'
 *
 * Urgent messages (control, replies, returns) are served first, so that a stop
 * does not queue behind a hundred thousand messages. Then mail, the two sides
 * in turn, each side first every other time, so that neither can starve the
 * other. Within a side the order is that of sending.
 *
 * Owner's alone, except for the inbox behind it.
 */

#include <ringmail/message.h>

#include "mailbox/inbox.h"

/* A message of this flag is served before any mail. */
#define RGI_MESSAGE_URGENT 0x01

/* Messages in order, oldest first. */
struct rgi_chain {
    struct rgm_message *first;
    struct rgm_message *last;
};

static inline void
rgi_chain_append(struct rgi_chain *chain, struct rgm_message *message)
{
    message->next = NULL;
    if (chain->first == NULL)
        chain->first = message;
    else
        chain->last->next = message;
    chain->last = message;
}

static inline struct rgm_message *
rgi_chain_pop(struct rgi_chain *chain)
{
    struct rgm_message *message = chain->first;

    if (message != NULL)
        chain->first = message->next;
    return message;
}

/* The two sides; used as indices. */
enum rgi_side { RGI_LOCAL, RGI_REMOTE };

struct rgi_mail {
    struct rgi_inbox *inbox;
    struct rgi_chain urgent[2];
    struct rgi_chain mail[2];
    enum rgi_side first_side; /* whose mail is served next */
};

void rgi_mail_init(struct rgi_mail *mail, struct rgi_inbox *inbox);

/* Post to oneself: no atomic, no bell. Thread: owner. */
static inline void
rgi_mail_post_local(struct rgi_mail *mail, struct rgm_message *message)
{
    if (message->flags & RGI_MESSAGE_URGENT)
        rgi_chain_append(&mail->urgent[RGI_LOCAL], message);
    else
        rgi_chain_append(&mail->mail[RGI_LOCAL], message);
}

/* Put a list that is newest first (as taken) behind what is there. */
void rgi_mail_sort(struct rgi_mail *mail, struct rgm_message *newest);

/* Take what the inbox has. Thread: owner. */
static inline void
rgi_mail_refill(struct rgi_mail *mail)
{
    struct rgm_message *newest = rgi_inbox_take(mail->inbox);

    if (newest != NULL)
        rgi_mail_sort(mail, newest);
}

/* Put a message behind all mail of a side; of the inbox's, behind what has been
 * published by now. Thread: owner. */
static inline void
rgi_mail_append(struct rgi_mail *mail, enum rgi_side side,
                struct rgm_message *message)
{
    if (side == RGI_REMOTE)
        rgi_mail_refill(mail);
    rgi_chain_append(&mail->mail[side], message);
}

/* The next urgent message, or NULL. Thread: owner. */
static inline struct rgm_message *
rgi_mail_next_urgent(struct rgi_mail *mail)
{
    if (mail->urgent[RGI_REMOTE].first != NULL)
        return rgi_chain_pop(&mail->urgent[RGI_REMOTE]);
    return rgi_chain_pop(&mail->urgent[RGI_LOCAL]);
}

/* The next mail, the sides in turn, or NULL. Thread: owner. */
static inline struct rgm_message *
rgi_mail_next(struct rgi_mail *mail)
{
    enum rgi_side side = mail->first_side;

    mail->first_side = (enum rgi_side)!side;
    if (mail->mail[side].first == NULL)
        side = (enum rgi_side)!side;
    return rgi_chain_pop(&mail->mail[side]);
}

/* The chain of the only side that has mail; NULL when none or both have. What
 * is taken from it counts as a turn of its side. Thread: owner. */
static inline struct rgi_chain *
rgi_mail_one_side(struct rgi_mail *mail)
{
    enum rgi_side side =
        mail->mail[RGI_LOCAL].first != NULL ? RGI_LOCAL : RGI_REMOTE;

    if (mail->mail[!side].first != NULL || mail->mail[side].first == NULL)
        return NULL;
    mail->first_side = (enum rgi_side)!side;
    return &mail->mail[side];
}

/* Whether anything taken or posted is unserved: such a worker may not sleep. */
static inline bool
rgi_mail_pending(const struct rgi_mail *mail)
{
    /* One test instead of four: it is made between any two batches. */
    return ((uintptr_t)mail->urgent[RGI_LOCAL].first |
            (uintptr_t)mail->mail[RGI_LOCAL].first |
            (uintptr_t)mail->urgent[RGI_REMOTE].first |
            (uintptr_t)mail->mail[RGI_REMOTE].first) != 0;
}

#endif /* RGI_MAILBOX_MAIL_H */
