/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_PACKET_H
#define CAPABILITIES_PACKET_H

/*
 * packet.h - what do all providers do alike with operations on packets?
 *
 * The message header of an attempt is laid out in the record just before it is
 * made: until then the record may still be moved.
 */

#include <sys/socket.h>

#include <ringmail/packet.h>

#include "capabilities/socket.h"

#define rgi_packet_open_of(operation)                                         \
    ((struct rgm_packet_open *)(void *)(operation))
#define rgi_packet_read_of(operation)                                         \
    ((struct rgm_packet_read *)(void *)(operation))
#define rgi_packet_write_of(operation)                                        \
    ((struct rgm_packet_write *)(void *)(operation))

/* Opens, binds, connects, or imports; record->local is what it is bound to. */
RGM_MUST_USE int rgi_packet_open(struct rgm_packet_open *record,
                                 enum rgi_socket_mode mode, int *ret_fd);

/* Lays the header of a read or a write out. Returns: it, in the record. */
struct msghdr *rgi_packet_header(struct rgm_operation *operation);

/* The flags of the call; of a read always with the real length. */
int rgi_packet_flags(const struct rgm_operation *operation);

/* A call gave `count` bytes; 0 is a datagram, too. */
void rgi_packet_done(struct rgm_operation *operation, size_t count);

#endif /* CAPABILITIES_PACKET_H */
