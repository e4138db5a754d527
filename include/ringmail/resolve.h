/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_RESOLVE_H
#define RINGMAIL_RESOLVE_H

/*
 * resolve.h - names of hosts and services become addresses: getaddrinfo(3), as
 * a job (job.h): it blocks a thread and no worker. Look-ups have threads of their
 * own (the option resolve_threads) and places of their own, as many as jobs have:
 * a name server that does not answer delays other look-ups, and nothing else.
 *
 *     rgm_resolve_name(&resolve, rgm_here(self), "example.org", "https", NULL);
 *     rgm_ask(self, &resolve, RGM_REPLY(client, rgm_resolve, on_resolved));
 *     ...
 *     struct rgm_resolved_entry entry = {0};
 *
 *     while (rgm_resolved_next(&resolve->resolved, &entry))
 *         if (rgm_resolved_endpoint(&entry, &endpoint) == 0)
 *             ...
 *     rgm_resolved_drop(&resolve->resolved);
 *
 * A result is a list as the system gave it: order, duplicates, scopes, types
 * and protocols are kept, nothing is copied, and it is freed when the last who
 * has it lets go.
 */

#include <ringmail/job.h>
#include <ringmail/lease.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Addresses, and who keeps them. All zero is none. A plain struct that is moved
 * by assignment; to have two, clone. An array of your own (block NULL, it lives
 * as long as it is used) is one as well.
 */
struct rgm_resolved {
    struct rgm_block *block;
    const void *native;                /* struct addrinfo, or NULL */
    const struct rgm_endpoint *array;  /* or NULL */
    size_t array_count;
};

/* One address, borrowed from its list. Zero at first, and not made by hand. */
struct rgm_resolved_entry {
    const void *native;                 /* struct addrinfo; NULL: of an array */
    const struct rgm_endpoint *element; /* of an array */
    int family;   /* AF_; socket(2) */
    int type;     /* SOCK_; 0 when the list does not say */
    int protocol; /* IPPROTO_; likewise */
};

/* The next entry of a list; begin with a zeroed one. Thread: any that has the
 * list, several at once. Returns: false at the end, and the entry is zero. */
RGM_API bool rgm_resolved_next(const struct rgm_resolved *resolved,
                               struct rgm_resolved_entry *entry);

/* The entry as an endpoint. Returns: 0; -EAFNOSUPPORT for a family that is
 * neither IPv4 nor IPv6. Thread: as above. */
RGM_API RGM_MUST_USE int
rgm_resolved_endpoint(const struct rgm_resolved_entry *entry,
                      struct rgm_endpoint *ret_endpoint);

/* A second holder of the same list. Thread: any that has it.
 * Cost: one atomic addition. */
RGM_API RGM_MUST_USE struct rgm_resolved
rgm_resolved_clone(const struct rgm_resolved *resolved);

/* Let go; the last frees the list. Empties it, so twice is fine. Thread: any. */
RGM_API void rgm_resolved_drop(struct rgm_resolved *resolved);

/* A list of endpoints of your own. Thread: any. */
RGM_API struct rgm_resolved
rgm_resolved_of(const struct rgm_endpoint *array, size_t count);

/* What is asked for; all zero: anything. */
struct rgm_resolve_hints {
    uint8_t family;      /* enum rgm_family; 0: IPv4 and IPv6 */
    bool datagram;       /* of packet sockets; else of streams */
    bool any_type;       /* one entry for each type of socket */
    bool numeric_host;   /* never ask a name server */
    bool numeric_service;
    bool passive;        /* no host: any address, to listen on */
    bool configured;     /* families this machine has addresses of */
};

#define RGM_RESOLVE_THREADS_DEFAULT 4 /* and at most RGM_JOB_THREADS_MAX */

enum rgm_resolve_code {
    RGM_RESOLVE_OK,
    RGM_RESOLVE_NO_NAME,    /* no such host, or none of that family */
    RGM_RESOLVE_NO_SERVICE, /* no such service for that type, or no port */
    RGM_RESOLVE_AGAIN,      /* the name server does not answer now */
    RGM_RESOLVE_FAIL,       /* it does, with a failure */
    RGM_RESOLVE_BAD_HINTS,
    RGM_RESOLVE_MEMORY,
    RGM_RESOLVE_SYSTEM,     /* see system_errno */
    RGM_RESOLVE_OTHER       /* see native_code */
};

/* A sentence; never NULL. Thread: any. */
RGM_API const char *rgm_resolve_text(enum rgm_resolve_code code);

struct rgm_resolve {
    union {
        struct rgm_request request;
        struct rgm_operation operation;
        struct rgm_job job;
    };
    const char *host;
    const char *service;
    struct rgm_resolve_hints hints;
    /* When home with 0: */
    uint8_t code;        /* enum rgm_resolve_code */
    int native_code;     /* EAI_ of getaddrinfo(3); 0 */
    int system_errno;    /* with RGM_RESOLVE_SYSTEM: the positive errno */
    struct rgm_resolved resolved; /* yours to drop; empty unless code is 0 */
};

/*
 * Prepare a look-up, to be carried out by the pool of the runtime. host or
 * service may be NULL, not both; both stay the operation's until its answer.
 *
 * Thread: owner; the record is at home, and its last result dropped.
 * Answer: 0: it was looked up, see code; or as rgm_job_run: it never was.
 */
RGM_API void rgm_resolve_name(struct rgm_resolve *resolve,
                              struct rgm_address where, const char *host,
                              const char *service,
                              const struct rgm_resolve_hints *hints);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_RESOLVE_H */
