/* SPDX-License-Identifier: MIT */

/*
 * mail_test.c - in which order is served what was posted and what was taken?
 */

#include "mailbox/letter.h"

enum { FAR = 1, NEAR = 2 }; /* senders: another thread, the owner itself */

struct desk {
    struct rgi_inbox inbox;
    struct rgi_mail mail;
    unsigned rung;
};

static void
ring(void *argument)
{
    ++*(unsigned *)argument;
}

static void
desk_init(struct desk *desk)
{
    desk->rung = 0;
    rgi_inbox_init(&desk->inbox, ring, &desk->rung);
    rgi_inbox_open(&desk->inbox);
    rgi_mail_init(&desk->mail, &desk->inbox);
}

static void
push(struct desk *desk, struct letter *letter, uint64_t number, bool urgent)
{
    letter_init(letter, FAR, number);
    letter->message.flags = urgent ? RGI_MESSAGE_URGENT : 0;
    rgi_check(
        rgi_inbox_push(&desk->inbox, &letter->message, &letter->message) >= 0);
}

static void
post(struct desk *desk, struct letter *letter, uint64_t number, bool urgent)
{
    letter_init(letter, NEAR, number);
    letter->message.flags = urgent ? RGI_MESSAGE_URGENT : 0;
    rgi_mail_post_local(&desk->mail, &letter->message);
}

static void
expect(struct rgm_message *message, uint32_t sender, uint64_t number)
{
    rgi_check(message != NULL);
    rgi_check(letter_of(message)->sender == sender);
    rgi_check(letter_of(message)->number == number);
}

static void
mbx_02_the_two_sides_are_served_in_turn(void)
{
    struct desk desk;
    struct letter far[100], near[100];
    uint32_t first = 0;

    desk_init(&desk);
    for (unsigned i = 0; i < 100; i++)
        post(&desk, &near[i], i, false);
    for (unsigned i = 0; i < 100; i++)
        push(&desk, &far[i], i, false);
    rgi_mail_refill(&desk.mail);
    for (unsigned i = 0; i < 100; i++) {
        struct rgm_message *one = rgi_mail_next(&desk.mail);
        struct rgm_message *two = rgi_mail_next(&desk.mail);

        if (i == 0)
            first = letter_of(one)->sender;
        expect(one, first, i);
        expect(two, first == FAR ? NEAR : FAR, i);
    }
    rgi_check(rgi_mail_next(&desk.mail) == NULL);
}

/* A flood on one side does not keep the other waiting. */
static void
mbx_02_a_flood_leaves_room_for_the_other_side(void)
{
    struct desk desk;
    struct letter near[1000], far;
    unsigned before = 0;

    desk_init(&desk);
    for (unsigned i = 0; i < 1000; i++)
        post(&desk, &near[i], i, false);
    for (unsigned i = 0; i < 10; i++)
        expect(rgi_mail_next(&desk.mail), NEAR, i);
    push(&desk, &far, 0, false);
    rgi_mail_refill(&desk.mail);
    while (letter_of(rgi_mail_next(&desk.mail))->sender != FAR)
        before++;
    rgi_check(before <= 1);
}

static void
mbx_06_posting_to_oneself_touches_neither_word_nor_bell(void)
{
    struct desk desk;
    struct letter letters[10];

    desk_init(&desk);
    rgi_check(rgi_inbox_sleep(&desk.inbox));
    for (unsigned i = 0; i < 10; i++)
        post(&desk, &letters[i], i, i % 2 == 0);
    rgi_check(desk.inbox.head == RGI_INBOX_ASLEEP);
    rgi_check(desk.rung == 0);
    rgi_check(!rgi_inbox_has_mail(&desk.inbox));
    rgi_check(rgi_mail_pending(&desk.mail));
}

static void
urgent_messages_come_first_and_in_order(void)
{
    struct desk desk;
    struct letter far[10], near[10];
    struct rgm_message *message;
    unsigned mail = 0;

    desk_init(&desk);
    for (unsigned i = 0; i < 10; i++) {
        push(&desk, &far[i], i, i >= 5);
        post(&desk, &near[i], i, i >= 5);
    }
    rgi_mail_refill(&desk.mail);
    for (unsigned i = 5; i < 10; i++)
        expect(rgi_mail_next_urgent(&desk.mail), FAR, i);
    for (unsigned i = 5; i < 10; i++)
        expect(rgi_mail_next_urgent(&desk.mail), NEAR, i);
    rgi_check(rgi_mail_next_urgent(&desk.mail) == NULL);
    while ((message = rgi_mail_next(&desk.mail)) != NULL) {
        rgi_check(letter_of(message)->number < 5);
        mail++;
    }
    rgi_check(mail == 10);
    rgi_check(!rgi_mail_pending(&desk.mail));
}

/* What is taken later goes behind what was left over from before. */
static void
left_over_mail_stays_first(void)
{
    struct desk desk;
    struct letter letters[6];

    desk_init(&desk);
    for (unsigned i = 0; i < 3; i++)
        push(&desk, &letters[i], i, false);
    rgi_mail_refill(&desk.mail);
    expect(rgi_mail_next(&desk.mail), FAR, 0);
    for (unsigned i = 3; i < 6; i++)
        push(&desk, &letters[i], i, false);
    rgi_mail_refill(&desk.mail);
    rgi_mail_refill(&desk.mail); /* nothing new: changes nothing */
    for (unsigned i = 1; i < 6; i++)
        expect(rgi_mail_next(&desk.mail), FAR, i);
    rgi_check(!rgi_mail_pending(&desk.mail));
}

static void
each_of_the_four_lines_is_pending(void)
{
    for (unsigned line = 0; line < 4; line++) {
        struct desk desk;
        struct letter letter;

        desk_init(&desk);
        rgi_check(!rgi_mail_pending(&desk.mail));
        if (line & 1)
            push(&desk, &letter, 0, line & 2);
        else
            post(&desk, &letter, 0, line & 2);
        rgi_mail_refill(&desk.mail);
        rgi_check(rgi_mail_pending(&desk.mail));
        if (line & 2)
            rgi_check(rgi_mail_next_urgent(&desk.mail) == &letter.message);
        else
            rgi_check(rgi_mail_next(&desk.mail) == &letter.message);
        rgi_check(!rgi_mail_pending(&desk.mail));
    }
}

#define CASES(X)                                                               \
    X(mailbox, mbx_02_the_two_sides_are_served_in_turn)                        \
    X(mailbox, mbx_02_a_flood_leaves_room_for_the_other_side)                  \
    X(mailbox, mbx_06_posting_to_oneself_touches_neither_word_nor_bell)        \
    X(mailbox, urgent_messages_come_first_and_in_order)                        \
    X(mailbox, left_over_mail_stays_first)                                     \
    X(mailbox, each_of_the_four_lines_is_pending)

RGI_CASES(CASES)
