/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_DETACH_H
#define CAPABILITIES_DETACH_H

/*
 * detach.h - what do all providers do alike with a detach and an attach?
 *
 * Thread: the owner of the worker that carries the operation out; of
 * rgi_attach_claim: whoever carries it out.
 */

#include <ringmail/detach.h>

#include "capabilities/operation.h"

#define rgi_detach_of(operation) ((struct rgm_detach *)(void *)(operation))
#define rgi_attach_of(operation) ((struct rgm_attach *)(void *)(operation))

/* What is behind a handle of a script. */
#define RGI_DETACH_NOTHING (-1)

/* Called by rgi_stream_admit: nothing is detached, but for where it is from. */
void rgi_detach_clear(struct rgm_operation *operation);

/*
 * The admitted detach lets go of its socket's descriptor. To be called just
 * before it is completed with what this returns.
 * Returns: 0, or as rgi_transit_enter: the descriptor is still the worker's.
 */
RGM_MUST_USE int rgi_detach_let_go(struct rgm_operation *operation,
                                   int descriptor);

/* Returns: the descriptor that an attach was asked for, now the caller's; or
 * -EBADF. */
RGM_MUST_USE int rgi_attach_claim(const struct rgm_operation *operation);

/* Called by rgi_stream_fill: the value is used up, but for what is unread.
 * Returns: the kind of socket that it was. */
uint8_t rgi_attach_filled(struct rgm_operation *operation);

#endif /* CAPABILITIES_DETACH_H */
