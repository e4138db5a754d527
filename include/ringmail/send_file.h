/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_SEND_FILE_H
#define RINGMAIL_SEND_FILE_H

/*
 * send_file.h - part of a file, out over a stream, without passing through the
 * program's memory.
 *
 *     rgm_file_open ---.
 *     rgm_accept ------+--> rgm_stream_send_file
 *
 * The pages of the file go to the socket as they are (splice(2) through a pipe,
 * or sendfile(2)), so what the peer gets of bytes that are changed or cut off
 * while they are on their way may be old or new. How many it gets is exact.
 *
 * While the peer reads nothing, a transfer holds neither memory nor a
 * descriptor of its own.
 */

#include <ringmail/file.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_send_file {
    RGM_OPERATION_HEAD;
    struct rgm_stream *stream;
    struct rgm_file *file;
    uint64_t offset_bytes;
    uint64_t length_bytes;
    uint64_t count; /* when home: bytes that went out */
};

/*
 * Prepare: send `length_bytes` of the file, from `offset_bytes` on, all of
 * them; both handles live on the same worker. The cursor of the file is neither
 * used nor moved. It is a write of the stream: at most one is asked at a time.
 *
 * Thread: owner; the record is at home.
 * Answer: 0 and count is everything; -ENODATA when the file ends before that
 *         (it has become shorter, or always was); -EPIPE, -ECONNRESET, ... as
 *         the socket says; -EIO, ... as the file says; -EINVAL when the range is
 *         none, or the file cannot be sent (a directory); -EBADF when a handle
 *         is not open, not on this worker, or the file not for reading;
 *         -EMFILE, -ENFILE when there is no descriptor for a pipe; -ECANCELED.
 *         With each of them count says how much went out before. No SIGPIPE is
 *         raised.
 */
RGM_API void
rgm_stream_send_file(struct rgm_send_file *send, struct rgm_stream *stream,
                     struct rgm_file *file, uint64_t offset_bytes,
                     uint64_t length_bytes);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_SEND_FILE_H */
