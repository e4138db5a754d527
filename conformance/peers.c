/* SPDX-License-Identifier: MIT */

/* peers.c - the other end of a connection: plain blocking sockets, unless the
 * fixture has others. */

#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <arpa/inet.h>

#include "conformance/harness.h"
#include "conformance/peers.h"

/* Also the guard: a peer that waits too long is a failure. */
static int
guarded(int fd)
{
    const struct timeval limit = {stage_guard_s(), 0};

    rgi_check(fd >= 0);
    rgi_check(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) ==
              0);
    rgi_check(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) ==
              0);
    return fd;
}

socklen_t
peer_to_kernel(const struct rgm_endpoint *endpoint,
               struct sockaddr_storage *ret_address)
{
    struct sockaddr_in *four = (void *)ret_address;
    struct sockaddr_in6 *six = (void *)ret_address;
    struct sockaddr_un *path = (void *)ret_address;

    memset(ret_address, 0, sizeof(*ret_address));
    if (endpoint->family == RGM_IPV4) {
        four->sin_family = AF_INET;
        four->sin_port = htons(endpoint->port);
        memcpy(&four->sin_addr, endpoint->address, 4);
        return sizeof(*four);
    }
    if (endpoint->family == RGM_IPV6) {
        six->sin6_family = AF_INET6;
        six->sin6_port = htons(endpoint->port);
        memcpy(&six->sin6_addr, endpoint->address, 16);
        return sizeof(*six);
    }
    path->sun_family = AF_UNIX;
    memcpy(path->sun_path, endpoint->path, sizeof(path->sun_path));
    return sizeof(*path);
}

static int
family_of(const struct rgm_endpoint *endpoint)
{
    if (endpoint->family == RGM_IPV4)
        return AF_INET;
    return endpoint->family == RGM_IPV6 ? AF_INET6 : AF_UNIX;
}

static int
open_socket(const struct rgm_endpoint *endpoint)
{
    return guarded(socket(family_of(endpoint), SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int
socket_connect(const struct rgm_endpoint *endpoint)
{
    struct sockaddr_storage address;
    socklen_t length = peer_to_kernel(endpoint, &address);
    int fd = open_socket(endpoint);

    rgi_check(connect(fd, (struct sockaddr *)&address, length) == 0);
    return fd;
}

static int
socket_listen(struct rgm_endpoint *endpoint, int backlog)
{
    struct sockaddr_storage address;
    socklen_t length = peer_to_kernel(endpoint, &address);
    int fd = open_socket(endpoint);

    rgi_check(bind(fd, (struct sockaddr *)&address, length) == 0);
    rgi_check(listen(fd, backlog) == 0);
    rgi_check(getsockname(fd, (struct sockaddr *)&address, &length) == 0);
    if (endpoint->family == RGM_IPV4)
        endpoint->port =
            ntohs(((struct sockaddr_in *)(void *)&address)->sin_port);
    else if (endpoint->family == RGM_IPV6)
        endpoint->port =
            ntohs(((struct sockaddr_in6 *)(void *)&address)->sin6_port);
    return fd;
}

static int
socket_accept(int listener)
{
    return guarded(accept4(listener, NULL, NULL, SOCK_CLOEXEC));
}

static ssize_t
socket_send(int peer, const void *data, size_t length_bytes)
{
    ssize_t count = send(peer, data, length_bytes, MSG_NOSIGNAL);

    return count < 0 ? -errno : count;
}

static ssize_t
socket_receive(int peer, void *memory, size_t capacity_bytes, bool waits)
{
    ssize_t count =
        recvfrom(peer, memory, capacity_bytes, waits ? 0 : MSG_DONTWAIT, NULL,
                 NULL); /* past the shim */

    return count < 0 ? -errno : count;
}

static int
socket_shutdown(int peer)
{
    return shutdown(peer, SHUT_WR) == 0 ? 0 : -errno;
}

static int
socket_close(int peer)
{
    return close(peer) == 0 ? 0 : -errno;
}

static int
socket_reset(int peer)
{
    const struct linger at_once = {1, 0};

    rgi_check(setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once,
                         sizeof(at_once)) == 0);
    return socket_close(peer);
}

static const struct peer_ops sockets = {
    .connect = socket_connect,
    .listen = socket_listen,
    .accept = socket_accept,
    .send = socket_send,
    .receive = socket_receive,
    .shutdown = socket_shutdown,
    .close = socket_close,
    .reset = socket_reset,
};

/* ----------------------------------------------------------- whatever it is */

static const struct peer_ops *ops = &sockets;

void
peers_use(const struct peer_ops *others)
{
    ops = others != NULL ? others : &sockets;
}

int
peer_connect(const struct rgm_endpoint *endpoint)
{
    int peer = ops->connect(endpoint);

    rgi_check(peer >= 0);
    return peer;
}

int
peer_listen(struct rgm_endpoint *endpoint, int backlog)
{
    int listener = ops->listen(endpoint, backlog);

    rgi_check(listener >= 0);
    return listener;
}

int
peer_accept(int listener)
{
    int peer = ops->accept(listener);

    rgi_check(peer >= 0);
    return peer;
}

void
peer_send(int peer, const void *data, size_t length_bytes)
{
    size_t sent = 0;

    while (sent < length_bytes) {
        ssize_t count =
            ops->send(peer, (const char *)data + sent, length_bytes - sent);

        rgi_check(count > 0);
        sent += (size_t)count;
    }
}

size_t
peer_receive_some(int peer, void *memory, size_t capacity_bytes)
{
    ssize_t count = ops->receive(peer, memory, capacity_bytes, true);

    rgi_check(count >= 0);
    return (size_t)count;
}

void
peer_receive(int peer, void *memory, size_t length_bytes)
{
    size_t received = 0;

    while (received < length_bytes) {
        size_t count = peer_receive_some(peer, (char *)memory + received,
                                         length_bytes - received);

        rgi_check(count > 0);
        received += count;
    }
}

void
peer_expect_end(int peer)
{
    char byte;

    rgi_check(peer_receive_some(peer, &byte, 1) == 0);
}

void
peer_expect_nothing(int peer)
{
    char byte;

    rgi_check(ops->receive(peer, &byte, 1, false) == -EAGAIN);
}

void
peer_shutdown(int peer)
{
    rgi_check(ops->shutdown(peer) == 0);
}

void
peer_close(int peer)
{
    rgi_check(ops->close(peer) == 0);
}

void
peer_reset(int peer)
{
    rgi_check(ops->reset(peer) == 0);
}

/* ------------------------------------------------------- our end, from below */

static bool
is_peer_of(int fd, const struct sockaddr_storage *name, socklen_t name_length)
{
    struct sockaddr_storage other;
    socklen_t length = sizeof(other);

    memset(&other, 0, sizeof(other));
    return getpeername(fd, (struct sockaddr *)&other, &length) == 0 &&
           length == name_length && memcmp(&other, name, length) == 0;
}

int
descriptor_of_peer(int peer)
{
    struct sockaddr_storage name;
    socklen_t length = sizeof(name);
    int found = -1;

    memset(&name, 0, sizeof(name));
    rgi_check(getsockname(peer, (struct sockaddr *)&name, &length) == 0);
    for (int fd = 0; fd < 1024 && found < 0; fd++)
        if (fd != peer && is_peer_of(fd, &name, length))
            found = fd;
    rgi_check(found >= 0);
    return found;
}

/* ------------------------------------------------------------------ patterns */

uint64_t
next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static uint8_t
pattern_at(uint64_t offset)
{
    return (uint8_t)(offset * 167 + (offset >> 8) * 13 + (offset >> 16));
}

void
pattern_fill(void *memory, size_t length_bytes, uint64_t offset)
{
    uint8_t *bytes = memory;

    for (size_t i = 0; i < length_bytes; i++)
        bytes[i] = pattern_at(offset + i);
}

bool
pattern_holds(const void *memory, size_t length_bytes, uint64_t offset)
{
    const uint8_t *bytes = memory;

    for (size_t i = 0; i < length_bytes; i++)
        if (bytes[i] != pattern_at(offset + i))
            return false;
    return true;
}
