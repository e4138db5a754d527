/* SPDX-License-Identifier: MIT */

/*
 * resolve.c - how does a name become addresses?
 *
 * A look-up is a job whose function calls getaddrinfo(3). The list it gives is
 * kept behind a block, so that it is freed once, by freeaddrinfo(3), when the
 * last who has it lets go.
 */

#include <ringmail/resolve.h>

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/list.h"
#include "base/memory.h"
#include "capabilities/endpoint.h"
#include "capabilities/operation.h"

static const struct rgm_message_type resolve_type = {
    .name = "rgm_resolve",
    .size_bytes = sizeof(struct rgm_resolve),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

/* ---------------------------------------------------------------- the lists */

struct keeper {
    struct rgm_block block;
    struct addrinfo *list;
};

static void
keeper_release(struct rgm_block *block)
{
    struct keeper *keeper = rgi_container_of(block, struct keeper, block);

    freeaddrinfo(keeper->list);
    rgi_free(keeper);
}

static void
enter_native(struct rgm_resolved_entry *entry, const struct addrinfo *info)
{
    *entry = (struct rgm_resolved_entry){0};
    if (info == NULL)
        return;
    entry->native = info;
    entry->family = info->ai_family;
    entry->type = info->ai_socktype;
    entry->protocol = info->ai_protocol;
}

static bool
next_native(const struct rgm_resolved *resolved,
            struct rgm_resolved_entry *entry)
{
    const struct addrinfo *here = entry->native;

    enter_native(entry, here != NULL ? here->ai_next : resolved->native);
    return entry->native != NULL;
}

static int
family_of(const struct rgm_endpoint *endpoint)
{
    if (endpoint->family == RGM_IPV4)
        return AF_INET;
    return endpoint->family == RGM_IPV6 ? AF_INET6 : AF_UNIX;
}

bool
rgm_resolved_next(const struct rgm_resolved *resolved,
                  struct rgm_resolved_entry *entry)
{
    size_t index = 0;

    if (resolved->native != NULL)
        return next_native(resolved, entry);
    if (entry->element != NULL)
        index = (size_t)(entry->element - resolved->array) + 1;
    *entry = (struct rgm_resolved_entry){0};
    if (index >= resolved->array_count)
        return false;
    entry->element = &resolved->array[index];
    entry->family = family_of(entry->element);
    return true;
}

int
rgm_resolved_endpoint(const struct rgm_resolved_entry *entry,
                      struct rgm_endpoint *ret_endpoint)
{
    const struct addrinfo *info = entry->native;
    struct sockaddr_storage address;
    struct rgm_endpoint endpoint;

    if (entry->element != NULL) {
        *ret_endpoint = *entry->element;
        return 0;
    }
    if (info == NULL ||
        (info->ai_family != AF_INET && info->ai_family != AF_INET6) ||
        info->ai_addrlen > sizeof(address))
        return -EAFNOSUPPORT;
    memset(&address, 0, sizeof(address));
    memcpy(&address, info->ai_addr, info->ai_addrlen);
    rgi_endpoint_from_kernel(&address, info->ai_addrlen, &endpoint);
    *ret_endpoint = endpoint;
    return 0;
}

struct rgm_resolved
rgm_resolved_clone(const struct rgm_resolved *resolved)
{
    /* A view holds the block; its bytes are not looked at. */
    struct rgm_view view = rgm_view_of(resolved->block, NULL, 0);

    (void)view;
    return *resolved;
}

void
rgm_resolved_drop(struct rgm_resolved *resolved)
{
    rgm_block_drop(resolved->block);
    *resolved = (struct rgm_resolved){0};
}

struct rgm_resolved
rgm_resolved_of(const struct rgm_endpoint *array, size_t count)
{
    return (struct rgm_resolved){.array = array, .array_count = count};
}

/* -------------------------------------------------------------- the look-up */

static enum rgm_resolve_code
code_of(int native_code)
{
    switch (native_code) {
    case 0:
        return RGM_RESOLVE_OK;
    case EAI_NONAME:
    case EAI_NODATA:
    case EAI_ADDRFAMILY:
        return RGM_RESOLVE_NO_NAME;
    case EAI_SERVICE:
        return RGM_RESOLVE_NO_SERVICE;
    case EAI_AGAIN:
        return RGM_RESOLVE_AGAIN;
    case EAI_FAIL:
        return RGM_RESOLVE_FAIL;
    case EAI_BADFLAGS:
    case EAI_FAMILY:
    case EAI_SOCKTYPE:
        return RGM_RESOLVE_BAD_HINTS;
    case EAI_MEMORY:
        return RGM_RESOLVE_MEMORY;
    case EAI_SYSTEM:
        return RGM_RESOLVE_SYSTEM;
    default:
        return RGM_RESOLVE_OTHER;
    }
}

const char *
rgm_resolve_text(enum rgm_resolve_code code)
{
    static const char *const texts[] = {
        [RGM_RESOLVE_OK] = "found",
        [RGM_RESOLVE_NO_NAME] = "there is no such host",
        [RGM_RESOLVE_NO_SERVICE] = "there is no such service",
        [RGM_RESOLVE_AGAIN] = "the name server does not answer for now",
        [RGM_RESOLVE_FAIL] = "the name server has failed",
        [RGM_RESOLVE_BAD_HINTS] = "the hints contradict each other",
        [RGM_RESOLVE_MEMORY] = "no memory",
        [RGM_RESOLVE_SYSTEM] = "the system has failed",
        [RGM_RESOLVE_OTHER] = "the resolver has failed",
    };

    if (code < RGM_RESOLVE_OK || code > RGM_RESOLVE_OTHER)
        return texts[RGM_RESOLVE_OTHER];
    return texts[code];
}

static void
hints_for(const struct rgm_resolve_hints *from, struct addrinfo *ret_hints)
{
    memset(ret_hints, 0, sizeof(*ret_hints));
    ret_hints->ai_family = AF_UNSPEC;
    if (from->family != 0)
        ret_hints->ai_family = from->family == RGM_IPV4 ? AF_INET : AF_INET6;
    if (!from->any_type)
        ret_hints->ai_socktype = from->datagram ? SOCK_DGRAM : SOCK_STREAM;
    ret_hints->ai_flags = (from->numeric_host ? AI_NUMERICHOST : 0) |
                          (from->numeric_service ? AI_NUMERICSERV : 0) |
                          (from->passive ? AI_PASSIVE : 0) |
                          (from->configured ? AI_ADDRCONFIG : 0);
}

static void
keep(struct rgm_resolve *resolve, struct keeper *keeper)
{
    rgm_block_init(&keeper->block, keeper_release);
    resolve->resolved.block = &keeper->block;
    resolve->resolved.native = keeper->list;
}

/* The C library reads a number and keeps its lower 16 bits. */
static bool
is_no_port(const char *service)
{
    char *end = NULL;

    return service != NULL && strtoul(service, &end, 10) > UINT16_MAX &&
           end != service && *end == '\0';
}

/* On a thread of the pool. */
static int64_t
look_up(struct rgm_job *job)
{
    struct rgm_resolve *resolve = (struct rgm_resolve *)(void *)job;
    struct keeper *keeper = rgi_alloc(sizeof(*keeper));
    struct addrinfo hints;
    int code = EAI_MEMORY;

    hints_for(&resolve->hints, &hints);
    errno = 0;
    if (is_no_port(resolve->service))
        code = EAI_SERVICE;
    else if (keeper != NULL)
        code = getaddrinfo(resolve->host, resolve->service, &hints,
                           &keeper->list);
    resolve->native_code = code;
    resolve->system_errno = code == EAI_SYSTEM ? errno : 0;
    resolve->code = (uint8_t)code_of(code);
    if (code == 0)
        keep(resolve, keeper);
    else
        rgi_free(keeper);
    return code;
}

void
rgm_resolve_name(struct rgm_resolve *resolve, struct rgm_address where,
                 const char *host, const char *service,
                 const struct rgm_resolve_hints *hints)
{
    rgi_operation_prepare(&resolve->operation, RGM_OP_JOB, &resolve_type,
                          where);
    resolve->job.run = look_up;
    resolve->job.lookup = true;
    resolve->host = host;
    resolve->service = service;
    if (hints != NULL)
        resolve->hints = *hints;
    if ((host == NULL && service == NULL) || resolve->hints.family > RGM_IPV6)
        rgi_operation_refuse(&resolve->operation, -EINVAL);
}
