/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_SEND_FILE_H
#define CAPABILITIES_SEND_FILE_H

/*
 * send_file.h - what do the kernel providers share of sending files?
 *
 * The calls that move pages into a socket. Neither of them has a flag against
 * waiting or against SIGPIPE as sends do, so the descriptor is made
 * non-blocking around the call, and a SIGPIPE it raised is taken back.
 */

#include <ringmail/send_file.h>

#include "capabilities/stream.h"

#define rgi_send_file_of(operation)                                           \
    ((struct rgm_send_file *)(void *)(operation))

/* The socket of the file an admitted one sends. */
struct rgm_socket *rgi_send_file_source(const struct rgm_operation *operation);

/* What is left to go out. */
static inline uint64_t
rgi_send_file_left(const struct rgm_send_file *send)
{
    return send->length_bytes - send->count;
}

enum rgi_send_mode {
    RGI_SEND_RESTORE, /* the descriptor's mode afterwards is as before */
    RGI_SEND_LEAVE    /* it stays non-blocking */
};

/*
 * Move up to length_bytes from a pipe, or from a place of a file, into the
 * socket, as far as it takes them without waiting. Thread: any.
 * Returns: how many (0: the file ends there), or a negative errno; -EAGAIN: the
 * socket takes nothing now.
 */
int64_t rgi_send_from_pipe(int socket, int pipe, size_t length_bytes,
                           enum rgi_send_mode mode);
int64_t rgi_send_from_file(int socket, int file, uint64_t offset_bytes,
                           size_t length_bytes, enum rgi_send_mode mode);

#endif /* CAPABILITIES_SEND_FILE_H */
