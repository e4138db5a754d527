/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_ORDER_H
#define CONFORMANCE_ORDER_H

/*
 * order.h - in which order do an operation's end and its cancel come?
 *
 * Errands for a stage that is spied on; the spy of the puppet's worker holds
 * back what it is told to.
 *
 *     stage_do(stage, order_hold_completions, NULL);
 *     stage_begin(stage, &read);
 *     peer_send(peer, "a", 1);
 *     order_await(stage, 1);         the provider has completed it
 *     stage_cancel(stage, &read);    too late
 *     stage_do(stage, order_let_go, NULL);
 */

#include "conformance/harness.h"

void order_hold_cancels(struct puppet *puppet, void *argument);
void order_hold_completions(struct puppet *puppet, void *argument);
void order_release_cancels(struct puppet *puppet, void *argument);
void order_let_go(struct puppet *puppet, void *argument); /* of both */

/* Until the provider has completed so many that are being held back. */
void order_await(struct stage *stage, uint32_t count);

#endif /* CONFORMANCE_ORDER_H */
