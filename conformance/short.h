/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_SHORT_H
#define CONFORMANCE_SHORT_H

/*
 * short.h - what if no transfer moves more than one byte?
 *
 * While it is so, each transfer of a stream or a file that the process asks of
 * the C library is cut to its first byte; short_ring_test.c does the same to
 * what is asked of a ring. Datagrams are left whole, and so are the other ends
 * (peers.h).
 *
 * Thread of all of them: any.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

void short_begin(void);
void short_end(void);
bool short_is_on(void);

/* How many were cut since it began. */
uint64_t short_count(void);

/* So much, or as much as can be moved byte by byte. */
size_t short_bulk(size_t length_bytes);

/* ------------------------------------------------------------ for the cutters */

/* The length that is left of it. */
size_t short_length(size_t length_bytes);

/* *ret_one is the first byte of it. Returns: how many vectors are left. */
int
short_vectors(const struct iovec *vectors, size_t count, struct iovec *ret_one);

/* Whether this is a socket whose transfers have no boundaries. */
bool short_is_stream(int fd);

#endif /* CONFORMANCE_SHORT_H */
