/* SPDX-License-Identifier: MIT */

/*
 * endpoint.c - how are socket addresses written, read and given to the kernel?
 *
 * Only numbers and paths: names are for a resolver, which may block.
 */

#include "capabilities/endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

_Static_assert(sizeof(((struct rgm_endpoint *)0)->path) ==
                   sizeof(((struct sockaddr_un *)0)->sun_path),
               "an endpoint holds every path the kernel can");

static bool
path_is_valid(const struct rgm_endpoint *endpoint)
{
    return endpoint->path[0] != '\0' &&
           memchr(endpoint->path, '\0', sizeof(endpoint->path)) != NULL;
}

bool
rgi_endpoint_is_valid(const struct rgm_endpoint *endpoint)
{
    if (endpoint == NULL)
        return false;
    switch (endpoint->family) {
    case RGM_IPV4:
    case RGM_IPV6:
        return true;
    case RGM_UNIX:
        return path_is_valid(endpoint);
    default:
        return false;
    }
}

/* ----------------------------------------------------------------- as text */

static int
parse_path(const char *text, struct rgm_endpoint *endpoint)
{
    size_t length = strlen(text);

    if (length >= sizeof(endpoint->path))
        return -EINVAL;
    endpoint->family = RGM_UNIX;
    memcpy(endpoint->path, text, length + 1);
    return 0;
}

/* The number of an interface behind '%', which inet_pton does not know. */
static int
parse_scope(const char *digits, uint32_t *ret_scope)
{
    char *end = NULL;
    unsigned long scope;

    if (digits[0] < '0' || digits[0] > '9')
        return -EINVAL;
    errno = 0;
    scope = strtoul(digits, &end, 10);
    if (errno != 0 || *end != '\0' || scope > UINT32_MAX)
        return -EINVAL;
    *ret_scope = (uint32_t)scope;
    return 0;
}

static int
parse_ipv6(const char *text, struct rgm_endpoint *endpoint)
{
    char address[INET6_ADDRSTRLEN];
    const char *percent = strchr(text, '%');
    size_t length = percent != NULL ? (size_t)(percent - text) : strlen(text);

    if (length >= sizeof(address))
        return -EINVAL;
    memcpy(address, text, length);
    address[length] = '\0';
    if (inet_pton(AF_INET6, address, endpoint->address) != 1)
        return -EINVAL;
    endpoint->family = RGM_IPV6;
    return percent != NULL ? parse_scope(percent + 1, &endpoint->scope) : 0;
}

static int
parse_number(const char *text, uint16_t port, struct rgm_endpoint *endpoint)
{
    endpoint->port = port;
    if (inet_pton(AF_INET, text, endpoint->address) != 1)
        return parse_ipv6(text, endpoint);
    endpoint->family = RGM_IPV4;
    return 0;
}

int
rgm_endpoint_parse(const char *text, uint16_t port,
                   struct rgm_endpoint *ret_endpoint)
{
    struct rgm_endpoint endpoint = {0};
    int saved = errno;
    int status;

    if (text == NULL)
        return -EINVAL;
    status = text[0] == '/' ? parse_path(text, &endpoint)
                            : parse_number(text, port, &endpoint);
    errno = saved;
    if (status == 0)
        *ret_endpoint = endpoint;
    return status;
}

static int
format_ipv6(const struct rgm_endpoint *endpoint, const char *number,
            char *ret_text, size_t size_bytes)
{
    if (endpoint->scope != 0)
        return snprintf(ret_text, size_bytes, "[%s%%%u]:%u", number,
                        (unsigned)endpoint->scope, (unsigned)endpoint->port);
    return snprintf(ret_text, size_bytes, "[%s]:%u", number,
                    (unsigned)endpoint->port);
}

static int
format_any(const struct rgm_endpoint *endpoint, char *ret_text,
           size_t size_bytes)
{
    char number[INET6_ADDRSTRLEN] = "";

    switch (endpoint->family) {
    case RGM_IPV4:
        inet_ntop(AF_INET, endpoint->address, number, sizeof(number));
        return snprintf(ret_text, size_bytes, "%s:%u", number,
                        (unsigned)endpoint->port);
    case RGM_IPV6:
        inet_ntop(AF_INET6, endpoint->address, number, sizeof(number));
        return format_ipv6(endpoint, number, ret_text, size_bytes);
    case RGM_UNIX:
        return snprintf(ret_text, size_bytes, "%.*s",
                        (int)sizeof(endpoint->path), endpoint->path);
    default:
        return snprintf(ret_text, size_bytes, "none");
    }
}

int
rgm_endpoint_format(const struct rgm_endpoint *endpoint, char *ret_text,
                    size_t size_bytes)
{
    int length = format_any(endpoint, ret_text, size_bytes);

    return length < 0 || (size_t)length >= size_bytes ? -ENOSPC : length;
}

/* ----------------------------------------------------------- for the kernel */

static socklen_t
to_ipv4(const struct rgm_endpoint *endpoint, struct sockaddr_storage *storage)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(endpoint->port)};

    memcpy(&address.sin_addr, endpoint->address, sizeof(address.sin_addr));
    memcpy(storage, &address, sizeof(address));
    return sizeof(address);
}

static socklen_t
to_ipv6(const struct rgm_endpoint *endpoint, struct sockaddr_storage *storage)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_port = htons(endpoint->port),
                                   .sin6_scope_id = endpoint->scope};

    memcpy(&address.sin6_addr, endpoint->address, sizeof(address.sin6_addr));
    memcpy(storage, &address, sizeof(address));
    return sizeof(address);
}

static socklen_t
to_unix(const struct rgm_endpoint *endpoint, struct sockaddr_storage *storage)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strnlen(endpoint->path, sizeof(address.sun_path) - 1);

    memcpy(address.sun_path, endpoint->path, length);
    memcpy(storage, &address, sizeof(address));
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

socklen_t
rgi_endpoint_to_kernel(const struct rgm_endpoint *endpoint,
                       struct sockaddr_storage *ret_address)
{
    memset(ret_address, 0, sizeof(*ret_address));
    if (endpoint->family == RGM_IPV4)
        return to_ipv4(endpoint, ret_address);
    if (endpoint->family == RGM_IPV6)
        return to_ipv6(endpoint, ret_address);
    return to_unix(endpoint, ret_address);
}

static void
from_ipv4(const struct sockaddr_storage *storage, struct rgm_endpoint *endpoint)
{
    struct sockaddr_in address;

    memcpy(&address, storage, sizeof(address));
    endpoint->family = RGM_IPV4;
    endpoint->port = ntohs(address.sin_port);
    memcpy(endpoint->address, &address.sin_addr, sizeof(address.sin_addr));
}

static void
from_ipv6(const struct sockaddr_storage *storage, struct rgm_endpoint *endpoint)
{
    struct sockaddr_in6 address;

    memcpy(&address, storage, sizeof(address));
    endpoint->family = RGM_IPV6;
    endpoint->port = ntohs(address.sin6_port);
    endpoint->scope = address.sin6_scope_id;
    memcpy(endpoint->address, &address.sin6_addr, sizeof(address.sin6_addr));
}

/* The kernel may fill sun_path without ending it, and gives no path at all for
 * a socket that is bound to none. */
static void
from_unix(const struct sockaddr_storage *storage, socklen_t length_bytes,
          struct rgm_endpoint *endpoint)
{
    size_t head_bytes = offsetof(struct sockaddr_un, sun_path);
    size_t path_bytes = length_bytes > head_bytes ? length_bytes - head_bytes
                                                  : 0;

    if (path_bytes > sizeof(endpoint->path) - 1)
        path_bytes = sizeof(endpoint->path) - 1;
    endpoint->family = RGM_UNIX;
    memcpy(endpoint->path, (const char *)storage + head_bytes, path_bytes);
}

void
rgi_endpoint_from_kernel(const struct sockaddr_storage *address,
                         socklen_t length_bytes,
                         struct rgm_endpoint *ret_endpoint)
{
    struct rgm_endpoint endpoint = {0};

    if (length_bytes >= sizeof(sa_family_t)) {
        if (address->ss_family == AF_INET)
            from_ipv4(address, &endpoint);
        else if (address->ss_family == AF_INET6)
            from_ipv6(address, &endpoint);
        else if (address->ss_family == AF_UNIX)
            from_unix(address, length_bytes, &endpoint);
    }
    *ret_endpoint = endpoint;
}
