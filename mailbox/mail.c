/* SPDX-License-Identifier: MIT */

/*
 * mail.c - sorting what came from the inbox.
 *
 * The inbox hands over its list newest first. One walk reverses it and splits
 * it in two: prepending each message to the front of its kind's list leaves
 * both lists oldest first. They go behind what is there from earlier takes.
 */

#include "mailbox/mail.h"

#include <string.h>

#include "mailbox/outbox.h"

void
rgi_mail_init(struct rgi_mail *mail, struct rgi_inbox *inbox)
{
    memset(mail, 0, sizeof(*mail));
    mail->inbox = inbox;
}

static void
chain_join(struct rgi_chain *chain, const struct rgi_chain *more)
{
    if (more->first == NULL)
        return;
    if (chain->first == NULL)
        chain->first = more->first;
    else
        chain->last->next = more->first;
    chain->last = more->last;
}

static inline void
chain_prepend(struct rgi_chain *chain, struct rgm_message *message)
{
    if (chain->first == NULL)
        chain->last = message;
    message->next = chain->first;
    chain->first = message;
}

void
rgi_mail_sort(struct rgi_mail *mail, struct rgm_message *newest)
{
    struct rgi_chain urgent = {NULL, NULL};
    struct rgi_chain plain = {NULL, NULL};
    struct rgm_message *message = newest;

    while (!rgi_chain_ends(message)) {
        struct rgm_message *older = message->next;

        rgi_ahead_prefetch(message);
        if (message->flags & RGI_MESSAGE_URGENT)
            chain_prepend(&urgent, message);
        else
            chain_prepend(&plain, message);
        message = older;
    }
    chain_join(&mail->urgent[RGI_REMOTE], &urgent);
    chain_join(&mail->mail[RGI_REMOTE], &plain);
}
