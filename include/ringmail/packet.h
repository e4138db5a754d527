/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_PACKET_H
#define RINGMAIL_PACKET_H

/*
 * packet.h - UDP and Unix datagram sockets, as requests to the worker that
 * holds them.
 *
 *     rgm_packet_open --> rgm_packet_read, rgm_packet_write --> rgm_packet_close
 *
 * Boundaries are kept: a read is one datagram, a write is one. A datagram
 * without a byte is a datagram; there is no end. One that is longer than the
 * memory is cut, and the read says so and how long it was.
 *
 * Everything else is as for streams (stream.h): preparing has no effect,
 * memory is the operation's until its answer, reads and writes may be out
 * together, and a datagram that raced a cancel is delivered.
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_packet {
    struct rgm_socket socket;
};

struct rgm_packet_open {
    RGM_OPERATION_HEAD;
    struct rgm_packet *packet;
    struct rgm_endpoint local; /* when home: as bound, with its port */
    struct rgm_endpoint peer;  /* family 0: none */
    bool shared_port;          /* several sockets on one port */
    bool imports;              /* import.h: the socket is there */
    int given;                 /* of an import */
};

/*
 * Prepare: open a packet socket on the worker `where`, bind it to `local`
 * (NULL, or a Unix endpoint with an empty path: not bound by us) and connect
 * it to `peer` (NULL: datagrams from and to anybody). At least one of them says
 * the family. An IPv6 socket is for IPv6 alone.
 *
 * Answer: 0 and *packet open; -EINVAL for bad or different families;
 *         -EADDRINUSE, -EACCES, -EMFILE, ... as socket(2), bind(2),
 *         connect(2); -ENOTSUP for a shared port of a Unix socket; -EBUSY when
 *         *packet is open already; *packet untouched on failure.
 */
RGM_API void rgm_packet_open(struct rgm_packet_open *open,
                             struct rgm_address where,
                             struct rgm_packet *packet,
                             const struct rgm_endpoint *local,
                             const struct rgm_endpoint *peer);

enum rgm_packet_flag {
    RGM_PACKET_PEEK = 0x1 /* the datagram stays where it is */
};

#define RGM_PACKET_ADDRESS_BYTES 128 /* sizeof(struct sockaddr_storage) */
#define RGM_PACKET_VECTORS_MAX 1024  /* IOV_MAX, sendmsg(2) */

struct rgm_packet_read {
    RGM_OPERATION_HEAD;
    struct rgm_packet *packet;
    const struct rgm_vector *vectors;
    size_t vectors_count;
    uint32_t flags;      /* enum rgm_packet_flag */
    bool truncated;      /* when home: it was longer than the memory */
    size_t count;        /* when home: bytes in the memory */
    size_t length_bytes; /* when home: of the whole datagram */
    struct rgm_vector single;
    /* The provider's. */
    uint32_t source_length_bytes;
    uint64_t source[RGM_PACKET_ADDRESS_BYTES / 8];
    uint64_t header[8];
};

/*
 * Prepare: receive one datagram into memory, or into several pieces in order.
 *
 * Owns:   the memory is the operation's until the answer.
 * Answer: 0 with count, length_bytes and truncated; -EINVAL for an unknown
 *         flag or more than RGM_PACKET_VECTORS_MAX pieces; -ECONNREFUSED and
 *         the like, for an earlier datagram of a connected socket, recv(2);
 *         -EBADF when it is not open, or no packet socket.
 */
RGM_API void rgm_packet_read(struct rgm_packet_read *read,
                             struct rgm_packet *packet, void *memory,
                             size_t capacity_bytes, uint32_t flags);
RGM_API void rgm_packet_read_vectors(struct rgm_packet_read *read,
                                     struct rgm_packet *packet,
                                     const struct rgm_vector *vectors,
                                     size_t vectors_count, uint32_t flags);

/*
 * Where the datagram of a read that is home came from. The address stays in the
 * record, in the kernel's form, until this is asked.
 *
 * Thread:  owner of the record.
 * Returns: 0; -ENODATA when it has no name: from an unnamed Unix socket.
 */
RGM_API int rgm_packet_source(const struct rgm_packet_read *read,
                              struct rgm_endpoint *ret_endpoint);

struct rgm_packet_write {
    RGM_OPERATION_HEAD;
    struct rgm_packet *packet;
    const struct rgm_vector *vectors;
    size_t vectors_count;
    size_t count; /* when home: bytes sent; all, or none */
    struct rgm_endpoint to; /* family 0: the connected peer */
    struct rgm_vector single;
    /* The provider's. */
    uint64_t address[RGM_PACKET_ADDRESS_BYTES / 8];
    uint64_t header[8];
};

/*
 * Prepare: send one datagram, to `to` or (NULL) to the connected peer.
 *
 * Owns:   data and vectors are the operation's until the answer.
 * Answer: 0; -EMSGSIZE when it is too long; -EDESTADDRREQ or -ENOTCONN without
 *         a peer; -ECONNREFUSED, ... as sendmsg(2); -EINVAL for a bad endpoint.
 *         That it was sent says nothing of its arrival.
 */
RGM_API void rgm_packet_write(struct rgm_packet_write *write,
                              struct rgm_packet *packet, const void *data,
                              size_t length_bytes,
                              const struct rgm_endpoint *to);
RGM_API void rgm_packet_write_vectors(struct rgm_packet_write *write,
                                      struct rgm_packet *packet,
                                      const struct rgm_vector *vectors,
                                      size_t vectors_count,
                                      const struct rgm_endpoint *to);

/* Prepare: close. As rgm_stream_close. */
RGM_API void rgm_packet_close(struct rgm_close *close,
                              struct rgm_packet *packet);

/* Close without an answer. As rgm_stream_drop. */
#define rgm_packet_drop(self, packet)                                         \
    rgm_socket_drop(&(self)->actor, &(packet)->socket)

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_PACKET_H */
