/* SPDX-License-Identifier: MIT */

/* packet.c - how are operations on packet sockets prepared, and what do the
 * kernel providers share? */

#include "capabilities/packet.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#include "capabilities/import.h"
#include "capabilities/operation.h"

RGI_OPERATION_TYPE(packet_open, rgm_packet_open, 0);
RGI_OPERATION_TYPE(packet_read, rgm_packet_read, 1);
RGI_OPERATION_TYPE(packet_write, rgm_packet_write, 1);

_Static_assert(sizeof(struct sockaddr_storage) == RGM_PACKET_ADDRESS_BYTES,
               "a record has room for any address");
_Static_assert(sizeof(struct msghdr) <=
                   sizeof(((struct rgm_packet_read *)0)->header),
               "a record has room for a message header");

/* ------------------------------------------------------------- preparation */

static void
refuse_if(struct rgm_operation *operation, bool bad)
{
    if (bad)
        rgi_operation_refuse(operation, -EINVAL);
}

static void
prepare_on(struct rgm_operation *operation, enum rgm_operation_kind kind,
           const struct rgm_message_type *type,
           const struct rgm_packet *packet)
{
    rgi_operation_prepare_on(operation, kind, type,
                             packet != NULL ? &packet->socket.worker : NULL,
                             type->size_bytes);
}

/* A Unix socket may stay unnamed; it says its family by an empty path. */
static bool
is_unnamed(const struct rgm_endpoint *endpoint)
{
    return endpoint->family == RGM_UNIX && endpoint->path[0] == 0;
}

static bool
ends_are_valid(const struct rgm_endpoint *local,
               const struct rgm_endpoint *peer)
{
    if (local == NULL && peer == NULL)
        return false;
    if (local != NULL && !is_unnamed(local) && !rgi_endpoint_is_valid(local))
        return false;
    if (peer != NULL && !rgi_endpoint_is_valid(peer))
        return false;
    return local == NULL || peer == NULL || local->family == peer->family;
}

void
rgm_packet_open(struct rgm_packet_open *open, struct rgm_address where,
                struct rgm_packet *packet, const struct rgm_endpoint *local,
                const struct rgm_endpoint *peer)
{
    rgi_operation_prepare(&open->operation, RGM_OP_PACKET_OPEN,
                          &rgi_type_packet_open, where);
    open->packet = packet;
    refuse_if(&open->operation, packet == NULL || !ends_are_valid(local, peer));
    if (local != NULL)
        open->local = *local;
    if (peer != NULL)
        open->peer = *peer;
}

static bool
vectors_are_valid(const struct rgm_vector *vectors, size_t vectors_count)
{
    size_t left_bytes = SIZE_MAX / 2;

    if (vectors_count > RGM_PACKET_VECTORS_MAX ||
        (vectors == NULL && vectors_count > 0))
        return false;
    for (size_t i = 0; i < vectors_count; i++) {
        if (vectors[i].data == NULL && vectors[i].length_bytes > 0)
            return false;
        if (vectors[i].length_bytes > left_bytes)
            return false;
        left_bytes -= vectors[i].length_bytes;
    }
    return true;
}

void
rgm_packet_read_vectors(struct rgm_packet_read *read,
                        struct rgm_packet *packet,
                        const struct rgm_vector *vectors, size_t vectors_count,
                        uint32_t flags)
{
    prepare_on(&read->operation, RGM_OP_PACKET_READ, &rgi_type_packet_read,
               packet);
    read->packet = packet;
    read->vectors = vectors;
    read->vectors_count = vectors_count;
    read->flags = flags;
    refuse_if(&read->operation, !vectors_are_valid(vectors, vectors_count) ||
                                    (flags & ~(uint32_t)RGM_PACKET_PEEK) != 0);
}

void
rgm_packet_read(struct rgm_packet_read *read, struct rgm_packet *packet,
                void *memory, size_t capacity_bytes, uint32_t flags)
{
    struct rgm_vector piece = {memory, capacity_bytes};

    rgm_packet_read_vectors(read, packet, &piece, 1, flags);
    read->single = piece;
    read->vectors = NULL; /* `single`: the record may still be moved */
}

void
rgm_packet_write_vectors(struct rgm_packet_write *write,
                         struct rgm_packet *packet,
                         const struct rgm_vector *vectors,
                         size_t vectors_count, const struct rgm_endpoint *to)
{
    prepare_on(&write->operation, RGM_OP_PACKET_WRITE, &rgi_type_packet_write,
               packet);
    write->packet = packet;
    write->vectors = vectors;
    write->vectors_count = vectors_count;
    refuse_if(&write->operation,
              !vectors_are_valid(vectors, vectors_count) ||
                  (to != NULL && !rgi_endpoint_is_valid(to)));
    if (to != NULL)
        write->to = *to;
}

void
rgm_packet_write(struct rgm_packet_write *write, struct rgm_packet *packet,
                 const void *data, size_t length_bytes,
                 const struct rgm_endpoint *to)
{
    struct rgm_vector piece = {data, length_bytes};

    rgm_packet_write_vectors(write, packet, &piece, 1, to);
    write->single = piece;
    write->vectors = NULL;
}

void
rgm_packet_close(struct rgm_close *close, struct rgm_packet *packet)
{
    prepare_on(&close->operation, RGM_OP_CLOSE, &rgi_type_close, packet);
    close->socket = packet == NULL ? NULL : &packet->socket;
}

int
rgm_packet_source(const struct rgm_packet_read *read,
                  struct rgm_endpoint *ret_endpoint)
{
    struct rgm_endpoint endpoint = {0};
    struct sockaddr_storage address;

    memcpy(&address, read->source, sizeof(address));
    if (read->source_length_bytes > 0)
        rgi_endpoint_from_kernel(&address, read->source_length_bytes,
                                 &endpoint);
    if (endpoint.family == 0 || is_unnamed(&endpoint))
        return -ENODATA;
    *ret_endpoint = endpoint;
    return 0;
}

/* --------------------------------------------------------------- the kernel */

static int
bind_to(const struct rgm_packet_open *record, int fd)
{
    struct sockaddr_storage address;
    socklen_t length = rgi_endpoint_to_kernel(&record->local, &address);

    return bind(fd, (const struct sockaddr *)&address, length) < 0 ? -errno
                                                                   : 0;
}

static int
connect_to(const struct rgm_packet_open *record, int fd)
{
    struct sockaddr_storage address;
    socklen_t length = rgi_endpoint_to_kernel(&record->peer, &address);

    return connect(fd, (const struct sockaddr *)&address, length) < 0 ? -errno
                                                                      : 0;
}

static int
set_up(struct rgm_packet_open *record, uint8_t family, int fd)
{
    struct rgm_endpoint peer;
    const int on = 1;
    int status = 0;

    if (family == RGM_UNIX && record->shared_port)
        return -ENOTSUP;
    if (family == RGM_IPV6 &&
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) < 0)
        return -errno;
    if (record->shared_port &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) < 0)
        return -errno;
    if (record->local.family != 0 && !is_unnamed(&record->local))
        status = bind_to(record, fd);
    if (status == 0 && record->peer.family != 0)
        status = connect_to(record, fd);
    return status == 0 ? rgi_socket_names(fd, &record->local, &peer) : status;
}

int
rgi_packet_open(struct rgm_packet_open *record, enum rgi_socket_mode mode,
                int *ret_fd)
{
    const struct rgm_endpoint *either =
        record->local.family != 0 ? &record->local : &record->peer;
    int fd = -1;
    int status;

    if (record->imports) {
        status = rgi_import_packet(record);
        if (status == 0)
            *ret_fd = record->given;
        return status;
    }
    status = rgi_socket_open_type(either, SOCK_DGRAM, mode, &fd);
    if (status < 0)
        return status;
    status = set_up(record, either->family, fd);
    if (status < 0) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    return 0;
}

static void
lay_out(struct msghdr *header, const struct rgm_vector *vectors,
        const struct rgm_vector *single, size_t vectors_count)
{
    const struct rgm_vector *pieces = vectors != NULL ? vectors : single;

    memset(header, 0, sizeof(*header));
    header->msg_iov = (struct iovec *)(uintptr_t)(const void *)pieces;
    header->msg_iovlen = vectors_count;
}

static struct msghdr *
header_of_read(struct rgm_packet_read *read)
{
    struct msghdr *header = (void *)read->header;

    lay_out(header, read->vectors, &read->single, read->vectors_count);
    header->msg_name = read->source;
    header->msg_namelen = sizeof(read->source);
    return header;
}

static struct msghdr *
header_of_write(struct rgm_packet_write *write)
{
    struct msghdr *header = (void *)write->header;
    struct sockaddr_storage address;

    lay_out(header, write->vectors, &write->single, write->vectors_count);
    if (write->to.family != 0) {
        header->msg_name = write->address;
        header->msg_namelen = rgi_endpoint_to_kernel(&write->to, &address);
        memcpy(write->address, &address, header->msg_namelen);
    }
    return header;
}

struct msghdr *
rgi_packet_header(struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_PACKET_READ)
        return header_of_read(rgi_packet_read_of(operation));
    return header_of_write(rgi_packet_write_of(operation));
}

int
rgi_packet_flags(const struct rgm_operation *operation)
{
    const struct rgm_packet_read *read = (const void *)operation;

    if (operation->kind == RGM_OP_PACKET_WRITE)
        return MSG_NOSIGNAL;
    return MSG_TRUNC | (read->flags & RGM_PACKET_PEEK ? MSG_PEEK : 0);
}

static size_t
capacity_of(const struct rgm_packet_read *read)
{
    const struct rgm_vector *vectors =
        read->vectors != NULL ? read->vectors : &read->single;
    size_t capacity_bytes = 0;

    for (size_t i = 0; i < read->vectors_count; i++)
        capacity_bytes += vectors[i].length_bytes;
    return capacity_bytes;
}

void
rgi_packet_done(struct rgm_operation *operation, size_t count)
{
    struct rgm_packet_read *read = rgi_packet_read_of(operation);
    size_t capacity_bytes;

    if (operation->kind == RGM_OP_PACKET_WRITE) {
        rgi_packet_write_of(operation)->count = count;
        return;
    }
    capacity_bytes = capacity_of(read);
    read->length_bytes = count;
    read->count = count < capacity_bytes ? count : capacity_bytes;
    read->truncated = count > capacity_bytes;
    read->source_length_bytes = ((struct msghdr *)(void *)read->header)
                                    ->msg_namelen;
}
