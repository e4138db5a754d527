/* SPDX-License-Identifier: MIT */

/* order.c - in which order do an operation's end and its cancel come? */

#include "conformance/order.h"

void
order_hold_cancels(struct puppet *puppet, void *argument)
{
    (void)argument;
    spy_of(puppet->number)->holds_cancels = true;
}

void
order_hold_completions(struct puppet *puppet, void *argument)
{
    (void)argument;
    spy_of(puppet->number)->holds_completions = true;
}

void
order_release_cancels(struct puppet *puppet, void *argument)
{
    (void)argument;
    spy_release_cancels(spy_of(puppet->number));
}

void
order_let_go(struct puppet *puppet, void *argument)
{
    order_release_cancels(puppet, argument);
    spy_release_completions(spy_of(puppet->number));
}

static void
count_held(struct puppet *puppet, void *argument)
{
    *(uint32_t *)argument = spy_of(puppet->number)->done.count;
}

void
order_await(struct stage *stage, uint32_t count)
{
    uint32_t held = 0;

    while (held < count)
        stage_do(stage, count_held, &held);
}
