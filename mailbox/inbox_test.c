/* SPDX-License-Identifier: MIT */

/*
 * inbox_test.c - does each of the five meanings of the word hold?
 *
 * One thread plays owner and senders in turn, so every step is exact: which
 * push rings, what a take finds, and what closing leaves to whom.
 */

#include "mailbox/letter.h"

struct counted_bell {
    unsigned rung;
};

static void
ring(void *argument)
{
    struct counted_bell *bell = argument;

    bell->rung++;
}

struct box {
    struct rgi_inbox inbox;
    struct counted_bell bell;
};

static void
box_open(struct box *box)
{
    box->bell.rung = 0;
    rgi_inbox_init(&box->inbox, ring, &box->bell);
    rgi_inbox_open(&box->inbox);
}

static int
push_one(struct box *box, struct letter *letter)
{
    return rgi_inbox_push(&box->inbox, &letter->message, &letter->message);
}

static void
a_new_inbox_is_closed(void)
{
    struct box box;
    struct letter letter;

    rgi_inbox_init(&box.inbox, ring, &box.bell);
    letter_init(&letter, 0, 0);
    rgi_check(push_one(&box, &letter) == -EPIPE);
    rgi_check(!rgi_inbox_has_mail(&box.inbox));
    rgi_check(rgi_inbox_take(&box.inbox) == NULL);
    rgi_inbox_open(&box.inbox);
    rgi_check(push_one(&box, &letter) == RGI_PUSHED);
}

static void
an_awake_owner_is_not_rung(void)
{
    struct box box;
    struct letter letters[2];

    box_open(&box);
    for (unsigned i = 0; i < 2; i++) {
        letter_init(&letters[i], 0, i);
        rgi_check(push_one(&box, &letters[i]) == RGI_PUSHED);
    }
    rgi_check(box.bell.rung == 0);
    rgi_check(rgi_inbox_has_mail(&box.inbox));
    rgi_check(rgi_inbox_take(&box.inbox) == &letters[1].message);
    rgi_check(letters[1].message.next == &letters[0].message);
    rgi_check(rgi_chain_ends(letters[0].message.next));
    rgi_check(rgi_inbox_take(&box.inbox) == NULL);
}

/* Whoever replaces "asleep" rings; those behind him do not. */
static void
wkr_09_a_burst_rings_once(void)
{
    struct box box;
    struct letter letters[100];

    box_open(&box);
    rgi_check(rgi_inbox_sleep(&box.inbox));
    for (unsigned i = 0; i < 100; i++) {
        letter_init(&letters[i], 0, i);
        rgi_check(push_one(&box, &letters[i]) ==
                  (i == 0 ? RGI_PUSHED_AND_RANG : RGI_PUSHED));
    }
    rgi_check(box.bell.rung == 1);
    rgi_check(!rgi_inbox_sleep(&box.inbox));
    rgi_check(rgi_inbox_take(&box.inbox) == &letters[99].message);
    rgi_check(rgi_inbox_sleep(&box.inbox));
    rgi_check(push_one(&box, &letters[0]) == RGI_PUSHED_AND_RANG);
    rgi_check(box.bell.rung == 2);
}

static void
sleeping_needs_an_empty_open_inbox(void)
{
    struct box box;
    struct letter letter;

    box_open(&box);
    letter_init(&letter, 0, 0);
    rgi_check(push_one(&box, &letter) == RGI_PUSHED);
    rgi_check(!rgi_inbox_sleep(&box.inbox));
    (void)rgi_inbox_take(&box.inbox);
    rgi_check(rgi_inbox_close_begin(&box.inbox) == NULL);
    rgi_check(!rgi_inbox_sleep(&box.inbox));
    rgi_inbox_close_end(&box.inbox);
    rgi_check(!rgi_inbox_sleep(&box.inbox));
}

/* Awake again for another reason than a bell: nobody needs to ring. */
static void
waking_by_oneself_saves_the_bell(void)
{
    struct box box;
    struct letter letter;

    box_open(&box);
    letter_init(&letter, 0, 0);
    rgi_check(rgi_inbox_sleep(&box.inbox));
    rgi_inbox_wake(&box.inbox);
    rgi_check(push_one(&box, &letter) == RGI_PUSHED);
    rgi_inbox_wake(&box.inbox); /* leaves mail alone */
    rgi_check(rgi_inbox_take(&box.inbox) == &letter.message);
    rgi_check(box.bell.rung == 0);
}

/* A take of a sleeping owner is awake afterwards. */
static void
taking_wakes(void)
{
    struct box box;
    struct letter letter;

    box_open(&box);
    letter_init(&letter, 0, 0);
    rgi_check(rgi_inbox_sleep(&box.inbox));
    rgi_check(rgi_inbox_take(&box.inbox) == NULL);
    rgi_check(push_one(&box, &letter) == RGI_PUSHED);
    rgi_check(box.bell.rung == 0);
}

static void
mbx_12_a_closed_inbox_refuses_and_the_chain_stays_its_senders(void)
{
    struct box box;
    struct letter letters[3];
    struct rgi_outbox outbox = {.count = 0};

    box_open(&box);
    rgi_check(rgi_inbox_close_begin(&box.inbox) == NULL);
    for (unsigned i = 0; i < 3; i++) {
        letter_init(&letters[i], 7, i);
        rgi_outbox_add(&outbox, &letters[i].message);
    }
    rgi_check(rgi_outbox_flush(&outbox, &box.inbox) == -EAGAIN);
    rgi_inbox_close_end(&box.inbox);
    rgi_check(rgi_outbox_flush(&outbox, &box.inbox) == -EPIPE);
    rgi_check(outbox.count == 3 && outbox.newest == &letters[2].message);
    rgi_check(outbox.oldest == &letters[0].message);
    rgi_check(letters[2].message.next == &letters[1].message);
    rgi_check(letters[1].message.next == &letters[0].message);
    rgi_check(box.bell.rung == 0);
}

/* What the closing exchange catches was accepted, and is the owner's. */
static void
closing_catches_what_was_accepted(void)
{
    struct box box;
    struct letter letters[2];
    struct rgm_message *caught;

    box_open(&box);
    for (unsigned i = 0; i < 2; i++) {
        letter_init(&letters[i], 0, i);
        rgi_check(push_one(&box, &letters[i]) == RGI_PUSHED);
    }
    caught = rgi_inbox_close_begin(&box.inbox);
    rgi_check(caught == &letters[1].message);
    rgi_check(caught->next == &letters[0].message);
    rgi_check(push_one(&box, &letters[1]) == -EAGAIN);
    rgi_inbox_close_end(&box.inbox);
    rgi_check(push_one(&box, &letters[1]) == -EPIPE);
}

static void
a_sleeper_may_close(void)
{
    struct box box;

    box_open(&box);
    rgi_check(rgi_inbox_sleep(&box.inbox));
    rgi_check(rgi_inbox_close_begin(&box.inbox) == NULL);
    rgi_inbox_close_end(&box.inbox);
    rgi_check(box.bell.rung == 0);
}

/* Neither a take nor a wake writes over closing or closed. */
static void
nothing_reopens_a_closed_inbox_but_its_next_owner(void)
{
    struct box box;
    struct letter letter;

    box_open(&box);
    letter_init(&letter, 0, 0);
    rgi_check(rgi_inbox_close_begin(&box.inbox) == NULL);
    rgi_check(rgi_inbox_take(&box.inbox) == NULL);
    rgi_inbox_wake(&box.inbox);
    rgi_check(push_one(&box, &letter) == -EAGAIN);
    rgi_inbox_close_end(&box.inbox);
    rgi_check(rgi_inbox_take(&box.inbox) == NULL);
    rgi_inbox_wake(&box.inbox);
    rgi_check(push_one(&box, &letter) == -EPIPE);
    rgi_inbox_open(&box.inbox);
    rgi_check(push_one(&box, &letter) == RGI_PUSHED);
}

static void
an_outbox_restores_the_order_of_sending(void)
{
    struct box box;
    struct rgi_mail mail;
    struct rgi_outbox outbox = {.count = 0};
    struct letter letters[10];
    struct rgm_message *message;
    uint64_t expected = 0;

    box_open(&box);
    rgi_mail_init(&mail, &box.inbox);
    rgi_check(rgi_inbox_sleep(&box.inbox));
    for (unsigned i = 0; i < 10; i++) {
        letter_init(&letters[i], 0, i);
        rgi_outbox_add(&outbox, &letters[i].message);
        if (i % 4 == 3)
            rgi_check(rgi_outbox_flush(&outbox, &box.inbox) >= 0);
    }
    rgi_check(outbox.count == 2);
    rgi_check(rgi_outbox_flush(&outbox, &box.inbox) == RGI_PUSHED);
    rgi_check(outbox.count == 0 && outbox.newest == NULL);
    rgi_check(box.bell.rung == 1);
    rgi_mail_refill(&mail);
    while ((message = rgi_mail_next(&mail)) != NULL)
        rgi_check(letter_of(message)->number == expected++);
    rgi_check(expected == 10);
}

#define CASES(X)                                                               \
    X(mailbox, a_new_inbox_is_closed)                                          \
    X(mailbox, an_awake_owner_is_not_rung)                                     \
    X(mailbox, wkr_09_a_burst_rings_once)                                      \
    X(mailbox, sleeping_needs_an_empty_open_inbox)                             \
    X(mailbox, waking_by_oneself_saves_the_bell)                               \
    X(mailbox, taking_wakes)                                                   \
    X(mailbox, mbx_12_a_closed_inbox_refuses_and_the_chain_stays_its_senders)  \
    X(mailbox, closing_catches_what_was_accepted)                              \
    X(mailbox, a_sleeper_may_close)                                            \
    X(mailbox, nothing_reopens_a_closed_inbox_but_its_next_owner)              \
    X(mailbox, an_outbox_restores_the_order_of_sending)

RGI_CASES(CASES)
