/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_DATAGRAM_H
#define RINGMAIL_DATAGRAM_H

/*
 * datagram.h - a packet that is read into a slot of a pool, and what may be done
 * with it.
 *
 *     rgm_packet_read_pooled --> at home: a datagram
 *           look: rgm_datagram_bytes, rgm_datagram_address
 *         change: rgm_datagram_edit --> rgm_datagram_edited
 *           take: rgm_datagram_extract --> struct rgm_lease
 *         forget: rgm_datagram_drop
 *
 * A socket on which nothing arrives holds no slot: a read takes one, tries once,
 * and gives it back before it waits. What has come stays in the record, with
 * where it came from and whether it was cut, until it is taken out or dropped.
 * Taken out it is a lease of exactly the bytes that came: the rest of the slot
 * cannot be reached by it, and what is known of the sender ends.
 *
 * Thread: owner of the record, everywhere on this page.
 */

#include <ringmail/packet.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_packet_read_pooled {
    RGM_OPERATION_HEAD;
    struct rgm_packet *packet;
    struct rgm_pool *pool;
    uint32_t flags;      /* enum rgm_packet_flag */
    bool truncated;      /* when home: it was longer than the slot */
    bool edited;         /* private */
    uint32_t serial;     /* private: of what is in the record; 0: nothing */
    size_t count;        /* when home: bytes that are there */
    size_t length_bytes; /* when home: of the whole datagram */
    struct rgm_lease lease; /* private: none of an empty datagram */
    /* The provider's. */
    struct rgm_vector single;
    uint32_t source_length_bytes;
    uint64_t source[RGM_PACKET_ADDRESS_BYTES / 8];
    uint64_t header[8];
};

/*
 * Prepare: receive one datagram into a slot of the pool.
 *
 * Owns:   what has come is the record's. Asked again, it must have been taken
 *         out or dropped before.
 * Answer: as rgm_packet_read; -EINVAL without a pool; -EBUSY when a datagram is
 *         in the record yet, which stays; -EPIPE when the pool is closed. A pool
 *         without a free slot makes the read wait once there is something to be
 *         read.
 * Cost:   one attempt when something is there; else it waits without a slot.
 */
RGM_API void rgm_packet_read_pooled(struct rgm_packet_read_pooled *read,
                                    struct rgm_packet *packet,
                                    struct rgm_pool *pool, uint32_t flags);

/*
 * Some of the bytes that came, to look at: they stay the record's, and what is
 * said here ends when it is extracted, dropped or asked again.
 *
 * Returns: 0        *ret_data is set
 *          -EINVAL  the range is not inside `count`
 *          -ENODATA nothing is in the record (any more)
 *          -EBUSY   it is being edited
 */
RGM_API RGM_MUST_USE int
rgm_datagram_bytes(const struct rgm_packet_read_pooled *read,
                   size_t offset_bytes, size_t length_bytes,
                   const void **ret_data);

/* The one who may write to the bytes of a datagram. Zero: nobody. */
struct rgm_datagram_edit {
    void *data;
    size_t length_bytes; /* exactly those that came */
    struct rgm_packet_read_pooled *read; /* private */
    uint32_t serial;                     /* private */
};

/*
 * Begin to change the bytes where they are. Until rgm_datagram_edited nobody else
 * gets at them: not to look, to edit or to extract.
 *
 * Returns: 0; -ENODATA when there is no byte; -EBUSY when it is being edited.
 */
RGM_API RGM_MUST_USE int
rgm_datagram_edit(struct rgm_packet_read_pooled *read,
                  struct rgm_datagram_edit *ret_edit);

/* Done; *edit is nobody. Returns: 0; -EINVAL for one that is over, which in
 * builds with slow assertions ends the program. */
RGM_API int rgm_datagram_edited(struct rgm_datagram_edit *edit);

/*
 * Take the bytes out: *ret_lease is exactly `count` bytes long.
 *
 * Owns:    the lease is the caller's, to freeze or to drop. The record is empty,
 *          and knows no sender any more.
 * Returns: 0; -ENODATA when there is no byte; -EBUSY while it is edited. On
 *          failure *ret_lease is untouched.
 */
RGM_API RGM_MUST_USE int
rgm_datagram_extract(struct rgm_packet_read_pooled *read,
                     struct rgm_lease *ret_lease);

/* Give what is in the record back, if anything is, an edit of it included. */
RGM_API void rgm_datagram_drop(struct rgm_packet_read_pooled *read);

/* Where a datagram came from, without a copy: good as long as it is in its
 * record. */
struct rgm_datagram_address {
    const struct rgm_packet_read_pooled *read; /* private */
    uint32_t serial;                           /* private */
};

/* Returns: 0; -ENODATA when it has no name (an unnamed Unix socket), or nothing
 * is in the record. */
RGM_API RGM_MUST_USE int
rgm_datagram_address(const struct rgm_packet_read_pooled *read,
                     struct rgm_datagram_address *ret_address);

/*
 * The address as an endpoint.
 *
 * Returns: 0; -EINVAL when its datagram was extracted or dropped, which in builds
 *          with slow assertions ends the program. *ret_endpoint is untouched then.
 */
RGM_API RGM_MUST_USE int
rgm_datagram_endpoint(const struct rgm_datagram_address *address,
                      struct rgm_endpoint *ret_endpoint);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_DATAGRAM_H */
