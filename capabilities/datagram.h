/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_DATAGRAM_H
#define CAPABILITIES_DATAGRAM_H

/*
 * datagram.h - what do all providers do alike with packets read into a pool?
 *
 * Thread of all of them: whoever makes the attempt, or the owner.
 */

#include <sys/socket.h>

#include <ringmail/datagram.h>

#define rgi_datagram_of(operation)                                            \
    ((struct rgm_packet_read_pooled *)(void *)(operation))

/* Whether it may be asked: -EINVAL without a pool, -EBUSY when what it has
 * brought is in it yet. */
RGM_MUST_USE int rgi_datagram_admit(const struct rgm_operation *operation);

/* What an ask before this one left in the record. */
void rgi_datagram_clear(struct rgm_packet_read_pooled *read);

/* Lays the header of an attempt out. Returns: it, in the record. */
struct msghdr *rgi_datagram_header(struct rgm_packet_read_pooled *read,
                                   void *memory, size_t capacity_bytes);

/* The flags of the call; always with the real length. */
int rgi_datagram_flags(const struct rgm_packet_read_pooled *read);

/* A call gave `length_bytes`: it is in the record but for the slot. */
void rgi_datagram_done(struct rgm_packet_read_pooled *read,
                       size_t length_bytes);

#endif /* CAPABILITIES_DATAGRAM_H */
