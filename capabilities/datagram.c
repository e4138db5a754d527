/* SPDX-License-Identifier: MIT */

/*
 * datagram.c - how is a packet read into a pool, and what may be done with it?
 *
 * 1. Prepared as any read of a packet socket; the slot is the provider's to find.
 * 2. At home the record has the datagram: a lease of its bytes, unless there are
 *    none, and its source.
 * 3. What points into the record (an edit, an address) has the serial of the ask
 *    that brought it. Taking the datagram out, dropping it or preparing the record
 *    anew ends that: what pointed to it is stale, and is told so.
 */

#include "capabilities/datagram.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "capabilities/endpoint.h"
#include "capabilities/operation.h"

const struct rgm_message_type rgi_type_packet_read_pooled = {
    .name = "rgm_packet_read_pooled",
    .size_bytes = sizeof(struct rgm_packet_read_pooled),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

void
rgm_packet_read_pooled(struct rgm_packet_read_pooled *read,
                       struct rgm_packet *packet, struct rgm_pool *pool,
                       uint32_t flags)
{
    struct rgm_address where = {0};

    if (packet != NULL)
        where = packet->socket.worker;
    rgi_operation_prepare(&read->operation, RGM_OP_PACKET_READ_POOLED,
                          &rgi_type_packet_read_pooled, where);
    read->packet = packet;
    read->pool = pool;
    read->flags = flags;
    if (packet == NULL || (flags & ~(uint32_t)RGM_PACKET_PEEK) != 0)
        rgi_operation_refuse(&read->operation, -EINVAL);
    if (where.bits == 0)
        rgi_operation_refuse(&read->operation, -EBADF);
}

int
rgi_datagram_admit(const struct rgm_operation *operation)
{
    const struct rgm_packet_read_pooled *read = (const void *)operation;

    if (read->pool == NULL)
        return -EINVAL;
    return read->lease.block != NULL ? -EBUSY : 0;
}

void
rgi_datagram_clear(struct rgm_packet_read_pooled *read)
{
    read->serial = 0;
    read->edited = false;
    read->truncated = false;
    read->count = 0;
    read->length_bytes = 0;
    read->source_length_bytes = 0;
}

/* ------------------------------------------------------------ the attempts */

struct msghdr *
rgi_datagram_header(struct rgm_packet_read_pooled *read, void *memory,
                    size_t capacity_bytes)
{
    struct msghdr *header = (void *)read->header;

    _Static_assert(sizeof(*header) <= sizeof(read->header),
                   "a record has room for a message header");
    read->single = (struct rgm_vector){memory, capacity_bytes};
    memset(header, 0, sizeof(*header));
    header->msg_iov = (struct iovec *)(void *)&read->single;
    header->msg_iovlen = 1;
    header->msg_name = read->source;
    header->msg_namelen = sizeof(read->source);
    return header;
}

int
rgi_datagram_flags(const struct rgm_packet_read_pooled *read)
{
    return MSG_TRUNC | MSG_DONTWAIT |
           (read->flags & RGM_PACKET_PEEK ? MSG_PEEK : 0);
}

void
rgi_datagram_done(struct rgm_packet_read_pooled *read, size_t length_bytes)
{
    const struct msghdr *header = (const void *)read->header;
    size_t capacity_bytes = read->single.length_bytes;

    read->length_bytes = length_bytes;
    read->truncated = length_bytes > capacity_bytes;
    read->count = read->truncated ? capacity_bytes : length_bytes;
    read->source_length_bytes = header->msg_namelen;
    read->serial = read->operation.serial;
}

/* ---------------------------------------------------------- what has come */

static bool
has_bytes(const struct rgm_packet_read_pooled *read)
{
    return rgm_lease_active(&read->lease);
}

int
rgm_datagram_bytes(const struct rgm_packet_read_pooled *read,
                   size_t offset_bytes, size_t length_bytes,
                   const void **ret_data)
{
    if (!has_bytes(read))
        return -ENODATA;
    if (read->edited)
        return -EBUSY;
    if (offset_bytes > read->count ||
        length_bytes > read->count - offset_bytes)
        return -EINVAL;
    *ret_data = (const char *)read->lease.data + offset_bytes;
    return 0;
}

int
rgm_datagram_edit(struct rgm_packet_read_pooled *read,
                  struct rgm_datagram_edit *ret_edit)
{
    if (!has_bytes(read))
        return -ENODATA;
    if (read->edited)
        return -EBUSY;
    read->edited = true;
    *ret_edit = (struct rgm_datagram_edit){read->lease.data, read->count, read,
                                           read->serial};
    return 0;
}

int
rgm_datagram_edited(struct rgm_datagram_edit *edit)
{
    struct rgm_packet_read_pooled *read = edit->read;
    bool stale = read == NULL || edit->serial == 0 ||
                 read->serial != edit->serial || !read->edited;

    rgi_assert_slow(!stale);
    *edit = (struct rgm_datagram_edit){0};
    if (stale)
        return -EINVAL;
    read->edited = false;
    return 0;
}

int
rgm_datagram_extract(struct rgm_packet_read_pooled *read,
                     struct rgm_lease *ret_lease)
{
    if (!has_bytes(read))
        return -ENODATA;
    if (read->edited)
        return -EBUSY;
    *ret_lease = read->lease;
    read->lease = (struct rgm_lease){0};
    rgi_datagram_clear(read);
    return 0;
}

void
rgm_datagram_drop(struct rgm_packet_read_pooled *read)
{
    (void)rgm_lease_drop(&read->lease);
    rgi_datagram_clear(read);
}

/* --------------------------------------------------------------- addresses */

static int
endpoint_of(const struct rgm_packet_read_pooled *read,
            struct rgm_endpoint *ret_endpoint)
{
    struct sockaddr_storage address;

    memcpy(&address, read->source, sizeof(address));
    if (read->source_length_bytes == 0)
        return -ENODATA;
    rgi_endpoint_from_kernel(&address, read->source_length_bytes,
                             ret_endpoint);
    return ret_endpoint->family == 0 || (ret_endpoint->family == RGM_UNIX &&
                                         ret_endpoint->path[0] == 0)
               ? -ENODATA
               : 0;
}

int
rgm_datagram_address(const struct rgm_packet_read_pooled *read,
                     struct rgm_datagram_address *ret_address)
{
    struct rgm_endpoint endpoint;

    if (endpoint_of(read, &endpoint) < 0)
        return -ENODATA;
    *ret_address = (struct rgm_datagram_address){read, read->serial};
    return 0;
}

int
rgm_datagram_endpoint(const struct rgm_datagram_address *address,
                      struct rgm_endpoint *ret_endpoint)
{
    bool stale = address->read == NULL || address->serial == 0 ||
                 address->read->serial != address->serial;
    struct rgm_endpoint endpoint;
    int status;

    rgi_assert_slow(!stale);
    if (stale)
        return -EINVAL;
    status = endpoint_of(address->read, &endpoint);
    if (status == 0)
        *ret_endpoint = endpoint;
    return status;
}
