/* SPDX-License-Identifier: MIT */

/* send_file.c - how is a file sent over a stream: prepared, and moved? */

#include "capabilities/send_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <time.h>

#include "capabilities/operation.h"

/* Late: it waits for a peer, for as long as that likes. */
const struct rgm_message_type rgi_type_send_file = {
    .name = "rgm_send_file",
    .size_bytes = sizeof(struct rgm_send_file),
    .header_offset = offsetof(struct rgm_request, message),
    .kind = RGM_KIND_OPERATION,
    .late = 1,
};

#define OFFSET_MAX_BYTES ((uint64_t)INT64_MAX)

void
rgm_stream_send_file(struct rgm_send_file *send, struct rgm_stream *stream,
                     struct rgm_file *file, uint64_t offset_bytes,
                     uint64_t length_bytes)
{
    struct rgm_address where = {0};

    if (stream != NULL)
        where = stream->socket.worker;
    rgi_operation_prepare(&send->operation, RGM_OP_SEND_FILE,
                          &rgi_type_send_file, where);
    send->stream = stream;
    send->file = file;
    send->offset_bytes = offset_bytes;
    send->length_bytes = length_bytes;
    if (stream == NULL || file == NULL || offset_bytes > OFFSET_MAX_BYTES ||
        length_bytes > OFFSET_MAX_BYTES - offset_bytes)
        rgi_operation_refuse(&send->operation, -EINVAL);
    else if (where.bits == 0)
        rgi_operation_refuse(&send->operation, -EBADF);
}

struct rgm_socket *
rgi_send_file_source(const struct rgm_operation *operation)
{
    return &((const struct rgm_send_file *)(const void *)operation)
                ->file->handle;
}

/* ------------------------------------------------------------------ moving */

/* What has to be undone after a call. */
struct quiet {
    int flags; /* of the descriptor before */
    bool was_pending;
    sigset_t before;
};

static void
pipe_signal(sigset_t *ret_set)
{
    sigemptyset(ret_set);
    sigaddset(ret_set, SIGPIPE);
}

static bool
pipe_signal_is_pending(void)
{
    sigset_t pending;

    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
}

/* Returns: 0 or a negative errno, and nothing was changed. */
static int
quiet_begin(struct quiet *quiet, int socket)
{
    sigset_t pipe;

    quiet->flags = fcntl(socket, F_GETFL);
    if (quiet->flags < 0)
        return -errno;
    if ((quiet->flags & O_NONBLOCK) == 0 &&
        fcntl(socket, F_SETFL, quiet->flags | O_NONBLOCK) < 0)
        return -errno;
    pipe_signal(&pipe);
    quiet->was_pending = pipe_signal_is_pending();
    pthread_sigmask(SIG_BLOCK, &pipe, &quiet->before);
    return 0;
}

/* A SIGPIPE that was pending before stays: it is somebody else's. */
static void
quiet_end(const struct quiet *quiet, int socket, bool raised,
          enum rgi_send_mode mode)
{
    const struct timespec at_once = {0, 0};
    sigset_t pipe;

    pipe_signal(&pipe);
    if (raised && !quiet->was_pending)
        while (sigtimedwait(&pipe, NULL, &at_once) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &quiet->before, NULL);
    if (mode == RGI_SEND_RESTORE && (quiet->flags & O_NONBLOCK) == 0)
        (void)fcntl(socket, F_SETFL, quiet->flags);
}

int64_t
rgi_send_from_pipe(int socket, int pipe, size_t length_bytes,
                   enum rgi_send_mode mode)
{
    struct quiet quiet;
    int64_t sent = quiet_begin(&quiet, socket);
    bool raised;

    if (sent < 0)
        return sent;
    sent = splice(pipe, NULL, socket, NULL, length_bytes, SPLICE_F_NONBLOCK);
    if (sent < 0)
        sent = -errno;
    raised = sent == -EPIPE;
    quiet_end(&quiet, socket, raised, mode);
    return sent;
}

int64_t
rgi_send_from_file(int socket, int file, uint64_t offset_bytes,
                   size_t length_bytes, enum rgi_send_mode mode)
{
    struct quiet quiet;
    int64_t sent = quiet_begin(&quiet, socket);
    off_t offset = (off_t)offset_bytes;
    bool raised;

    if (sent < 0)
        return sent;
    sent = sendfile(socket, file, &offset, length_bytes);
    if (sent < 0)
        sent = -errno;
    raised = sent == -EPIPE;
    quiet_end(&quiet, socket, raised, mode);
    return sent;
}
