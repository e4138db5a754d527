/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_ENDPOINT_H
#define CAPABILITIES_ENDPOINT_H

/*
 * endpoint.h - how does an endpoint become the kernel's address, and back?
 * For the providers that have a kernel. Thread of all of them: any.
 */

#include <sys/socket.h>

#include <ringmail/stream.h>

/* Whether it can be listened on or connected to; NULL cannot. */
bool rgi_endpoint_is_valid(const struct rgm_endpoint *endpoint);

/* Returns: the length of the address. The endpoint is valid. */
socklen_t rgi_endpoint_to_kernel(const struct rgm_endpoint *endpoint,
                                 struct sockaddr_storage *ret_address);

/* An address of another family, or of none, becomes family 0. A Unix socket
 * without a path has an empty one. */
void rgi_endpoint_from_kernel(const struct sockaddr_storage *address,
                              socklen_t length_bytes,
                              struct rgm_endpoint *ret_endpoint);

#endif /* CAPABILITIES_ENDPOINT_H */
