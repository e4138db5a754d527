/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_RESOLVER_SHIM_H
#define CONFORMANCE_RESOLVER_SHIM_H

/*
 * resolver_shim.h - what does the process ask of the resolver?
 *
 * resolver_shim.c stands in front of getaddrinfo and freeaddrinfo. Without a
 * script it counts and passes on. Thread of all of them: any.
 */

#include <netdb.h>

/* The next look-ups get this list, or (list NULL) this code with this errno;
 * shim_resolver_real ends that. */
void shim_resolver_says(struct addrinfo *list, int code, int system_errno);
void shim_resolver_real(void);

/* Look-ups wait inside until the gate opens. */
void shim_resolver_gate_shut(void);
void shim_resolver_gate_open(void);
void shim_resolver_gate_await(unsigned inside);

unsigned shim_resolver_lookups(void);
/* Lists that were freed, ours and the library's. */
unsigned shim_resolver_frees(void);

#endif /* CONFORMANCE_RESOLVER_SHIM_H */
