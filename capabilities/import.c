/* SPDX-License-Identifier: MIT */

/* import.c - how does somebody else's socket become a handle? The operation that
 * would have opened one finds a descriptor in its record instead of a name. */

#include "capabilities/import.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

#include "capabilities/operation.h"
#include "capabilities/socket.h"

/* ------------------------------------------------------------- preparation */

static void
refuse_without(struct rgm_operation *operation, const void *handle,
               int descriptor)
{
    if (handle == NULL)
        rgi_operation_refuse(operation, -EINVAL);
    if (descriptor < 0)
        rgi_operation_refuse(operation, -EBADF);
}

void
rgm_stream_import(struct rgm_connect *import, struct rgm_address where,
                  struct rgm_stream *stream, int descriptor)
{
    rgi_operation_prepare(&import->operation, RGM_OP_CONNECT,
                          &rgi_type_connect, where);
    import->stream = stream;
    import->imports = true;
    import->given = descriptor;
    refuse_without(&import->operation, stream, descriptor);
}

void
rgm_listener_import(struct rgm_listen *import, struct rgm_address where,
                    struct rgm_listener *listener, int descriptor)
{
    rgi_operation_prepare(&import->operation, RGM_OP_LISTEN, &rgi_type_listen,
                          where);
    import->listener = listener;
    import->imports = true;
    import->given = descriptor;
    refuse_without(&import->operation, listener, descriptor);
}

void
rgm_packet_import(struct rgm_packet_open *import, struct rgm_address where,
                  struct rgm_packet *packet, int descriptor)
{
    rgi_operation_prepare(&import->operation, RGM_OP_PACKET_OPEN,
                          &rgi_type_packet_open, where);
    import->packet = packet;
    import->imports = true;
    import->given = descriptor;
    refuse_without(&import->operation, packet, descriptor);
}

/* --------------------------------------------------------------- the kernel */

static int
option_of(int descriptor, int name, int *ret_value)
{
    socklen_t length = sizeof(*ret_value);

    if (getsockopt(descriptor, SOL_SOCKET, name, ret_value, &length) < 0)
        return errno == ENOTSOCK ? -EINVAL : -errno;
    return 0;
}

/* Of the type, of a family that endpoints have, and listening or not. */
static int
check(int descriptor, int type, bool listens)
{
    int is_type = 0, is_family = 0, is_listening = 0;
    int status = option_of(descriptor, SO_TYPE, &is_type);

    if (status == 0)
        status = option_of(descriptor, SO_DOMAIN, &is_family);
    if (status == 0)
        status = option_of(descriptor, SO_ACCEPTCONN, &is_listening);
    if (status < 0)
        return status;
    if (is_type != type || (is_listening != 0) != listens)
        return -EINVAL;
    return is_family == AF_INET || is_family == AF_INET6 ||
                   is_family == AF_UNIX
               ? 0
               : -EINVAL;
}

static int
set_mode(int descriptor)
{
    int of_number = fcntl(descriptor, F_GETFD);
    int of_socket = fcntl(descriptor, F_GETFL);

    if (of_number < 0 || of_socket < 0 ||
        fcntl(descriptor, F_SETFL, of_socket | O_NONBLOCK) < 0 ||
        fcntl(descriptor, F_SETFD, of_number | FD_CLOEXEC) < 0)
        return -errno;
    return 0;
}

static int
take_over(int descriptor, int type, bool listens,
          struct rgm_endpoint *ret_local, struct rgm_endpoint *ret_peer)
{
    int status = check(descriptor, type, listens);

    if (status == 0)
        status = rgi_socket_names(descriptor, ret_local, ret_peer);
    return status == 0 ? set_mode(descriptor) : status;
}

int
rgi_import_stream(struct rgm_connect *record)
{
    struct rgm_endpoint local;

    return take_over(record->given, SOCK_STREAM, false, &local,
                     &record->endpoint);
}

int
rgi_import_listener(struct rgm_listen *record)
{
    struct rgm_endpoint peer;

    return take_over(record->given, SOCK_STREAM, true, &record->endpoint,
                     &peer);
}

int
rgi_import_packet(struct rgm_packet_open *record)
{
    return take_over(record->given, SOCK_DGRAM, false, &record->local,
                     &record->peer);
}
