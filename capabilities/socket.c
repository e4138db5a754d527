/* SPDX-License-Identifier: MIT */

/* socket.c - which system calls on sockets do the kernel providers share? */

#include "capabilities/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "capabilities/import.h"

static int
family_of(const struct rgm_endpoint *endpoint)
{
    if (endpoint->family == RGM_IPV4)
        return AF_INET;
    return endpoint->family == RGM_IPV6 ? AF_INET6 : AF_UNIX;
}

int
rgi_socket_open(const struct rgm_endpoint *endpoint,
                enum rgi_socket_mode mode, int *ret_fd)
{
    return rgi_socket_open_type(endpoint, SOCK_STREAM, mode, ret_fd);
}

int
rgi_socket_open_type(const struct rgm_endpoint *endpoint, int type,
                     enum rgi_socket_mode mode, int *ret_fd)
{
    int fd;

    type |= SOCK_CLOEXEC;
    if (mode == RGI_SOCKET_NON_BLOCKING)
        type |= SOCK_NONBLOCK;
    fd = socket(family_of(endpoint), type, 0);
    if (fd < 0)
        return -errno;
    *ret_fd = fd;
    return 0;
}

static int
set_int(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof(value)) < 0 ? -errno : 0;
}

/* A restarted server must not wait for the connections of its last life. An
 * IPv6 listener is for IPv6 alone: what it means shall not hang on a sysctl. */
static int
listen_options(const struct rgm_listen *record, int fd)
{
    int status;

    if (record->endpoint.family == RGM_UNIX)
        return record->shared_port ? -ENOTSUP : 0;
    status = set_int(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (status == 0 && record->shared_port)
        status = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    if (status == 0 && record->endpoint.family == RGM_IPV6)
        status = set_int(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    return status;
}

static int
name_of(int fd, int (*call)(int, struct sockaddr *, socklen_t *),
        struct rgm_endpoint *ret_endpoint)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    if (call(fd, (struct sockaddr *)&address, &length) < 0)
        return -errno;
    rgi_endpoint_from_kernel(&address, length, ret_endpoint);
    return 0;
}

/* listen(2) itself cuts a backlog that is larger than the system's largest. */
static int
listen_bind(const struct rgm_listen *record, int fd,
            struct rgm_endpoint *ret_bound)
{
    struct sockaddr_storage address;
    socklen_t length = rgi_endpoint_to_kernel(&record->endpoint, &address);
    bool largest = record->backlog == 0 || record->backlog > INT_MAX;
    int status = listen_options(record, fd);

    if (status < 0)
        return status;
    if (bind(fd, (const struct sockaddr *)&address, length) < 0)
        return -errno;
    if (listen(fd, largest ? INT_MAX : (int)record->backlog) < 0)
        return -errno;
    return name_of(fd, getsockname, ret_bound);
}

/* What it accepts from now on is like what any other accepts. */
static int
listen_import(struct rgm_listen *record,
              const struct rgm_stream_defaults *defaults, int *ret_fd)
{
    int status = rgi_import_listener(record);

    if (status < 0)
        return status;
    rgi_socket_defaults(record->given, defaults);
    *ret_fd = record->given;
    return 0;
}

int
rgi_socket_listen(struct rgm_listen *record, enum rgi_socket_mode mode,
                  const struct rgm_stream_defaults *defaults, int *ret_fd)
{
    int fd = -1;
    int status;

    if (record->imports)
        return listen_import(record, defaults, ret_fd);
    status = rgi_socket_open(&record->endpoint, mode, &fd);
    if (status < 0)
        return status;
    rgi_socket_defaults(fd, defaults); /* accepted sockets inherit them */
    status = listen_bind(record, fd, &record->endpoint);
    if (status < 0) {
        close(fd);
        return status;
    }
    *ret_fd = fd;
    return 0;
}

/* In ms, not early; 0: it is to be left. */
static int
transfer_timeout_ms(const struct rgm_stream_defaults *defaults)
{
    uint64_t timeout_ns = defaults->transfer_timeout_ns;
    uint64_t timeout_ms = timeout_ns / RGM_NS_PER_MS +
                          (timeout_ns % RGM_NS_PER_MS != 0);

    if (timeout_ns == RGM_NEVER)
        return 0;
    return timeout_ms < INT_MAX ? (int)timeout_ms : INT_MAX;
}

static bool
is_set(uint8_t setting)
{
    return setting == RGM_SETTING_ON || setting == RGM_SETTING_OFF;
}

void
rgi_socket_defaults(int fd, const struct rgm_stream_defaults *defaults)
{
    struct linger linger = {defaults->zero_linger == RGM_SETTING_ON, 0};
    int timeout_ms = transfer_timeout_ms(defaults);

    if (is_set(defaults->no_delay))
        (void)set_int(fd, IPPROTO_TCP, TCP_NODELAY,
                      defaults->no_delay == RGM_SETTING_ON);
    if (is_set(defaults->zero_linger))
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    if (timeout_ms != 0)
        (void)set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, timeout_ms);
}

/* accept(2): errors of the connection that was waiting are reported by the
 * call that would have returned it. */
bool
rgi_socket_accept_goes_on(int error)
{
    switch (-error) {
    case ECONNABORTED:
    case EHOSTDOWN:
    case EHOSTUNREACH:
    case ENETDOWN:
    case ENETUNREACH:
    case ENONET:
    case ENOPROTOOPT:
    case EPROTO:
        return true;
    default:
        return false;
    }
}

struct option_name {
    int level;
    int name;
};

static struct option_name
option_name_of(uint32_t option)
{
    switch (option) {
    case RGM_OPTION_NO_DELAY:
        return (struct option_name){IPPROTO_TCP, TCP_NODELAY};
    case RGM_OPTION_KEEP_ALIVE:
        return (struct option_name){SOL_SOCKET, SO_KEEPALIVE};
    case RGM_OPTION_RECEIVE_BUFFER:
        return (struct option_name){SOL_SOCKET, SO_RCVBUF};
    case RGM_OPTION_SEND_BUFFER:
        return (struct option_name){SOL_SOCKET, SO_SNDBUF};
    case RGM_OPTION_REUSE_ADDRESS:
        return (struct option_name){SOL_SOCKET, SO_REUSEADDR};
    case RGM_OPTION_REUSE_PORT:
        return (struct option_name){SOL_SOCKET, SO_REUSEPORT};
    case RGM_OPTION_IPV6_ONLY:
        return (struct option_name){IPPROTO_IPV6, IPV6_V6ONLY};
    case RGM_OPTION_TRANSFER_TIMEOUT_MS:
        return (struct option_name){IPPROTO_TCP, TCP_USER_TIMEOUT};
    default:
        return (struct option_name){SOL_SOCKET, SO_LINGER};
    }
}

/* Families say in two ways that they have no such option. */
static int
option_status(int status)
{
    return status == -ENOPROTOOPT ? -ENOTSUP : status;
}

int
rgi_socket_option_set(int fd, uint32_t option, int32_t value)
{
    struct option_name name = option_name_of(option);
    struct linger linger = {value >= 0, value >= 0 ? value : 0};

    if (option != RGM_OPTION_LINGER_SECONDS)
        return option_status(set_int(fd, name.level, name.name, value));
    if (setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)) < 0)
        return -errno;
    return 0;
}

static int
linger_get(int fd, int32_t *ret_value)
{
    struct linger linger = {0, 0};
    socklen_t length = sizeof(linger);

    if (getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &length) < 0)
        return -errno;
    *ret_value = linger.l_onoff ? linger.l_linger : -1;
    return 0;
}

int
rgi_socket_option_get(int fd, uint32_t option, int32_t *ret_value)
{
    struct option_name name = option_name_of(option);
    int value = 0;
    socklen_t length = sizeof(value);

    if (option == RGM_OPTION_LINGER_SECONDS)
        return linger_get(fd, ret_value);
    if (getsockopt(fd, name.level, name.name, &value, &length) < 0)
        return option_status(-errno);
    *ret_value = value;
    return 0;
}

int
rgi_socket_names(int fd, struct rgm_endpoint *ret_local,
                 struct rgm_endpoint *ret_peer)
{
    struct rgm_endpoint local;
    int status = name_of(fd, getsockname, &local);

    if (status < 0)
        return status;
    *ret_local = local;
    if (name_of(fd, getpeername, ret_peer) < 0)
        *ret_peer = (struct rgm_endpoint){0};
    return 0;
}

int
rgi_socket_condition(int fd)
{
    char nothing;

    if (recv(fd, &nothing, 0, MSG_DONTWAIT) >= 0)
        return 0;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0
                                                                     : -errno;
}

int
rgi_socket_error(int fd)
{
    int error = 0;
    socklen_t length = sizeof(error);

    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
        return -errno;
    return -error;
}

int
rgi_socket_make_blocking(int fd)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0)
        return -errno;
    return 0;
}

static int
transfer_flags(const struct rgm_transfer *transfer)
{
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL;

    if (transfer->flags & RGM_TRANSFER_PEEK)
        flags |= MSG_PEEK;
    if (transfer->flags & RGM_TRANSFER_WAIT_ALL)
        flags |= MSG_WAITALL;
    return flags;
}

int64_t
rgi_socket_transfer(int fd, const struct rgm_transfer *transfer)
{
    struct msghdr header = {
        .msg_iov = (struct iovec *)(uintptr_t)transfer->vectors,
        .msg_iovlen = transfer->vectors_count,
    };
    int flags = transfer_flags(transfer);
    ssize_t count;

    do
        count = transfer->writes ? sendmsg(fd, &header, flags)
                                 : recvmsg(fd, &header, flags);
    while (count < 0 && errno == EINTR);
    return count < 0 ? -errno : count;
}

short
rgi_socket_moment(const struct rgm_await *await)
{
    return await->moment == RGM_READABLE ? POLLIN : POLLOUT;
}
