/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_RECEIVER_H
#define CAPABILITIES_RECEIVER_H

/* receiver.h - how are a receiver and the requests to it prepared? */

#include <ringmail/receiver.h>

#define rgi_receiver_of(operation) ((struct rgm_receiver *)(void *)(operation))
#define rgi_received_of(operation) ((struct rgm_received *)(void *)(operation))

/* Clears what an ask before this one left in the record. */
void rgi_receiver_clear(struct rgm_operation *operation);

#endif /* CAPABILITIES_RECEIVER_H */
