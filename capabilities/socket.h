/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_SOCKET_H
#define CAPABILITIES_SOCKET_H

/*
 * socket.h - which system calls on sockets do the kernel providers share?
 *
 * Those that never wait: each is one or a few calls, made and over. Errors are
 * negative errno values. Thread of all of them: any.
 */

#include <ringmail/transfer.h>

#include "capabilities/endpoint.h"

/* How the provider wants its descriptors. They are close-on-exec anyway. */
enum rgi_socket_mode { RGI_SOCKET_BLOCKING, RGI_SOCKET_NON_BLOCKING };

/* A socket of the endpoint's family and a type, SOCK_STREAM or SOCK_DGRAM.
 * Owns: the caller. */
RGM_MUST_USE int rgi_socket_open_type(const struct rgm_endpoint *endpoint,
                                      int type, enum rgi_socket_mode mode,
                                      int *ret_fd);

/* A stream socket of the endpoint's family. Owns: the caller. */
RGM_MUST_USE int rgi_socket_open(const struct rgm_endpoint *endpoint,
                                 enum rgi_socket_mode mode, int *ret_fd);

/*
 * Opens, binds, listens; or imports what does. record->endpoint says where, and
 * on success what it is bound to, with the port that the kernel chose. Owns: the
 * caller.
 */
RGM_MUST_USE int rgi_socket_listen(struct rgm_listen *record,
                                   enum rgi_socket_mode mode,
                                   const struct rgm_stream_defaults *defaults,
                                   int *ret_fd);

/* What every accepted or connected stream gets, where there is such a thing: a
 * Unix socket has less. Failing is no failure of the connection: it has been reset
 * already. */
void rgi_socket_defaults(int fd, const struct rgm_stream_defaults *defaults);

/* Whether an error of accept is that one connection's, not the listener's. */
bool rgi_socket_accept_goes_on(int error);

/* Typed options; the arguments were checked at preparation. */
RGM_MUST_USE int rgi_socket_option_set(int fd, uint32_t option, int32_t value);
RGM_MUST_USE int rgi_socket_option_get(int fd, uint32_t option,
                                       int32_t *ret_value);

/* Both names. A peer that there is none of (a listener has none, and a peer
 * that has reset is gone) has family 0. */
RGM_MUST_USE int rgi_socket_names(int fd, struct rgm_endpoint *ret_local,
                                  struct rgm_endpoint *ret_peer);

/* What the next receive would say, with nothing taken and nothing waited for: 0,
 * also when there is nothing yet, or the connection's error, recv(2). */
RGM_MUST_USE int rgi_socket_condition(int fd);

/* How a connect that was begun has ended: 0 or its error. */
RGM_MUST_USE int rgi_socket_error(int fd);

/* The transfer on that descriptor: one call, which does not wait and raises no
 * signal. Returns: bytes, or a negative errno. */
RGM_MUST_USE int64_t rgi_socket_transfer(int fd,
                                         const struct rgm_transfer *transfer);

/* Of poll(2): what an await waits for. */
short rgi_socket_moment(const struct rgm_await *await);

/* For a descriptor that was made non-blocking only to connect. */
RGM_MUST_USE int rgi_socket_make_blocking(int fd);

#endif /* CAPABILITIES_SOCKET_H */
