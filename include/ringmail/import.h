/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_IMPORT_H
#define RINGMAIL_IMPORT_H

/*
 * import.h - sockets that somebody else has opened.
 *
 *     descriptor --> rgm_stream_import ---> struct rgm_stream
 *                    rgm_listener_import -> struct rgm_listener
 *                    rgm_packet_import ---> struct rgm_packet
 *
 * A descriptor comes from a parent process, over a Unix socket, or from a
 * library with ideas of its own. Taken over it is a handle like any other: its
 * connection, its names, its options and what the kernel has received for it
 * stay what they are. (Files have the same: rgm_file_import.)
 *
 * What is changed is its mode: it becomes close-on-exec, and non-blocking. The
 * second is a property of the open socket and not of the number: whoever has
 * another descriptor of the same socket (dup(2), fork(2), SCM_RIGHTS) must not
 * undo it.
 *
 * Kernel providers have these; others answer -ENOTSUP. The records are those of
 * the operations that would have opened the handle.
 *
 * Thread: owner; the record is at home.
 */

#include <ringmail/packet.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Prepare: take over a TCP or Unix stream socket, on the worker `where`. It may
 * be connected, on its way, or neither; rgm_stream_connect_over connects it.
 *
 * Owns:   the descriptor is the handle's from an answer of 0; otherwise it
 *         stays the caller's, as it was.
 * Answer: 0, and import->endpoint is the peer's name (family 0: not connected,
 *         or the peer has gone); -EBADF when it is no descriptor; -EINVAL when it
 *         is no socket, a listener, or of another type or family; -EBUSY when
 *         *stream is open already or being opened; -ENOTSUP.
 */
RGM_API void rgm_stream_import(struct rgm_connect *import,
                               struct rgm_address where,
                               struct rgm_stream *stream, int descriptor);

/*
 * Prepare: take over a stream socket that listens, with the connections that
 * wait in its backlog.
 *
 * Owns:   as above.
 * Answer: 0, and import->endpoint is where it listens; -EINVAL when it does not;
 *         the others as above.
 */
RGM_API void rgm_listener_import(struct rgm_listen *import,
                                 struct rgm_address where,
                                 struct rgm_listener *listener, int descriptor);

/*
 * Prepare: take over a UDP or Unix datagram socket.
 *
 * Owns:   as above.
 * Answer: 0, and import->local and import->peer are its names; the others as
 *         above.
 */
RGM_API void rgm_packet_import(struct rgm_packet_open *import,
                               struct rgm_address where,
                               struct rgm_packet *packet, int descriptor);

/*
 * Prepare: connect a stream that is open and not connected, which only an
 * import makes. A connect cannot be taken back: whatever the answer, the handle
 * is open, and its socket in the state the system has left it in. After a cancel
 * that may be "on its way": asked again, this waits for the same connect.
 *
 * Answer: 0; -EISCONN; -ECONNREFUSED, ... as connect(2); -ECANCELED;
 *         -EINVAL for a bad endpoint; -EBADF when it is not open.
 */
RGM_API void rgm_stream_connect_over(struct rgm_connect *connect,
                                     struct rgm_stream *stream,
                                     const struct rgm_endpoint *endpoint);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_IMPORT_H */
