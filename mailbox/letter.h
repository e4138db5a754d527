/* SPDX-License-Identifier: MIT */
#ifndef RGI_MAILBOX_LETTER_H
#define RGI_MAILBOX_LETTER_H

/*
 * letter.h - what do the tests of the mailbox send?
 *
 * A letter says who wrote it and which of his it is.
 */

#include <string.h>

#include "base/cases.h"
#include "mailbox/mail.h"
#include "mailbox/outbox.h"

struct letter {
    struct rgm_message message;
    uint32_t sender;
    uint64_t number;
};

static const struct rgm_message_type letter_type = {
    "letter", sizeof(struct letter), 0, RGM_KIND_MESSAGE, 0, NULL};

__attribute__((unused)) static void
letter_init(struct letter *letter, uint32_t sender, uint64_t number)
{
    memset(letter, 0, sizeof(*letter));
    letter->message.type = &letter_type;
    letter->sender = sender;
    letter->number = number;
}

__attribute__((unused)) static struct letter *
letter_of(struct rgm_message *message)
{
    return (struct letter *)(void *)message;
}

#endif /* RGI_MAILBOX_LETTER_H */
