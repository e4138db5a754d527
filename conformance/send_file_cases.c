/* SPDX-License-Identifier: MIT */

/* send_file_cases.c - what must every provider show of files that are sent, and
 * of paths that stay within a directory? */

#include "conformance/send_file_cases.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

STEP(send_step, rgm_send_file);

#define HERE rgm_worker_address(0)
#define MIB ((size_t)1 << 20)

/* A file of the case's own, in a directory of its own, filled with a pattern
 * and open for reading; a connection. */
struct play {
    struct stage *stage;
    char directory[64];
    char path[96];
    struct rgm_file file;
    struct rgm_stream near;
    int peer;
};

static void
fill_file(const char *path, size_t length_bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    char piece[16384];

    rgi_check(fd >= 0);
    for (size_t at = 0; at < length_bytes; at += sizeof(piece)) {
        size_t count = length_bytes - at < sizeof(piece) ? length_bytes - at
                                                         : sizeof(piece);

        pattern_fill(piece, count, at);
        rgi_check(write(fd, piece, count) == (ssize_t)count);
    }
    close(fd);
}

static int
open_file(struct stage *stage, struct rgm_file *file, const char *path,
          uint32_t flags)
{
    struct rgm_file_open record;

    rgm_file_open(&record, HERE, file, path, flags, 0600);
    return rgm_call(stage->runtime, &record);
}

static int
close_file(struct stage *stage, struct rgm_file *file)
{
    struct rgm_close close_record;

    rgm_file_close(&close_record, file);
    return rgm_call(stage->runtime, &close_record);
}

static void
play_open(struct play *play, struct stage *stage, size_t length_bytes)
{
    memset(play, 0, sizeof(*play));
    play->stage = stage;
    stage_open(stage);
    snprintf(play->directory, sizeof(play->directory),
             "/tmp/ringmail-send-XXXXXX");
    rgi_check(mkdtemp(play->directory) != NULL);
    snprintf(play->path, sizeof(play->path), "%s/file", play->directory);
    fill_file(play->path, length_bytes);
    rgi_check(open_file(stage, &play->file, play->path, RGM_FILE_READ) == 0);
    play->peer = stage_pair(stage, &play->near);
}

static void
play_close(struct play *play)
{
    rgi_check(close_file(play->stage, &play->file) == 0);
    rgi_check(stage_close_stream(play->stage, &play->near) == 0);
    peer_close(play->peer);
    (void)unlink(play->path);
    rgi_check(rmdir(play->directory) == 0);
    stage_close(play->stage);
}

static void
play_prepare(struct play *play, struct send_step *send, uint64_t offset_bytes,
             uint64_t length_bytes)
{
    memset(send, 0, sizeof(*send));
    rgm_stream_send_file(&send->op, &play->near, &play->file, offset_bytes,
                         length_bytes);
}

static void
play_begin(struct play *play, struct send_step *send, uint64_t offset_bytes,
           uint64_t length_bytes)
{
    play_prepare(play, send, offset_bytes, length_bytes);
    stage_begin(play->stage, send);
}

/* The peer gets so many bytes of the file, from a place on, as they are. */
static void
expect_pattern(int peer, uint64_t offset, size_t length_bytes, size_t at_once)
{
    char bytes[65536];

    rgi_check(at_once <= sizeof(bytes));
    while (length_bytes > 0) {
        ssize_t count = recv(peer, bytes,
                             length_bytes < at_once ? length_bytes : at_once,
                             0);

        rgi_check(count > 0);
        rgi_check(pattern_holds(bytes, (size_t)count, offset));
        offset += (uint64_t)count;
        length_bytes -= (size_t)count;
    }
}

/* Until the socket is full: the peer's queue does not grow any more. */
static void
await_stall(struct stage *stage, int peer)
{
    int before = -1, now = 0;

    while (now == 0 || now != before) {
        before = now;
        for (int i = 0; i < 20; i++)
            (void)stage_counters(stage);
        rgi_check(ioctl(peer, FIONREAD, &now) == 0);
    }
}

static void
set_send_buffer(struct play *play, int32_t bytes)
{
    struct rgm_socket_option record;

    rgm_socket_set(&record, &play->near.socket, RGM_OPTION_SEND_BUFFER, bytes);
    rgi_check(rgm_call(play->stage->runtime, &record) == 0);
}

/* --------------------------------------------------------------- transfers */

/* The cursor is a bystander. Twice, so that what is kept between two sends is
 * as good as new. */
void
files_are_sent_whole_and_in_parts(struct stage *stage)
{
    const size_t whole_bytes = 3 * MIB + 17;
    struct rgm_file_read read;
    struct send_step send;
    struct play play;
    char byte[2];

    play_open(&play, stage, whole_bytes);
    for (int round = 0; round < 2; round++) {
        play_begin(&play, &send, 0, whole_bytes);
        expect_pattern(play.peer, 0, whole_bytes, 65536);
        rgi_check(stage_end(stage, &send) == 0);
        rgi_check(send.op.count == whole_bytes);
        play_begin(&play, &send, 12345, 70001);
        expect_pattern(play.peer, 12345, 70001, 65536);
        rgi_check(stage_end(stage, &send) == 0 && send.op.count == 70001);
        play_begin(&play, &send, whole_bytes - 1, 1);
        expect_pattern(play.peer, whole_bytes - 1, 1, 1);
        rgi_check(stage_end(stage, &send) == 0 && send.op.count == 1);
    }
    peer_expect_nothing(play.peer);
    rgm_file_read(&read, &play.file, byte, 2);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 2);
    rgi_check(pattern_holds(byte, 2, 0));
    play_close(&play);
}

/* The socket takes a little at a time, and the peer still less. */
void
sent_file_gets_through_a_small_buffer(struct stage *stage)
{
    const size_t length_bytes = 300000;
    uint64_t random = rgi_seed();
    struct send_step send;
    struct play play;
    size_t got = 0;

    play_open(&play, stage, length_bytes);
    set_send_buffer(&play, 4096);
    play_begin(&play, &send, 0, length_bytes);
    while (got < length_bytes) {
        size_t piece = 1 + next_random(&random) % 20000;

        if (piece > length_bytes - got)
            piece = length_bytes - got;
        expect_pattern(play.peer, got, piece, piece);
        got += piece;
    }
    rgi_check(stage_end(stage, &send) == 0 && send.op.count == length_bytes);
    peer_expect_nothing(play.peer);
    play_close(&play);
}

struct slow {
    struct rgm_stream near;
    struct send_step send;
    int peer;
};

/* Forty peers read nothing: their transfers hold nothing but what is kept for
 * the next one. Then they read, and each gets all of it. */
void
sent_files_of_slow_peers_hold_no_descriptor(struct stage *stage)
{
    enum { PEERS = 40, KEPT = 2 * 8 };
    const size_t length_bytes = 6 * MIB;
    struct slow *slow = calloc(PEERS, sizeof(*slow));
    unsigned before;
    struct play play;

    rgi_check(slow != NULL);
    play_open(&play, stage, length_bytes);
    for (int i = 0; i < PEERS; i++)
        slow[i].peer = stage_pair(stage, &slow[i].near);
    before = descriptors_open();
    for (int i = 0; i < PEERS; i++) {
        rgm_stream_send_file(&slow[i].send.op, &slow[i].near, &play.file, 0,
                             length_bytes);
        stage_begin(stage, &slow[i].send);
    }
    for (int i = 0; i < PEERS; i++)
        await_stall(stage, slow[i].peer);
    for (int i = 0; i < PEERS; i++)
        rgi_check(stage_is_out(stage, &slow[i].send));
    while (descriptors_open() > before + KEPT) /* the last ones stall */
        (void)stage_counters(stage);
    for (int i = 0; i < PEERS; i++) {
        if (i % 8 == 0) {
            expect_pattern(slow[i].peer, 0, length_bytes, 65536);
            rgi_check(stage_end(stage, &slow[i].send) == 0);
        } else {
            stage_cancel(stage, &slow[i].send);
            rgi_check(stage_end(stage, &slow[i].send) == -ECANCELED);
        }
        rgi_check(stage_close_stream(stage, &slow[i].near) == 0);
        peer_close(slow[i].peer);
    }
    play_close(&play);
    free(slow);
}

void
cancelled_send_file_says_how_much_went_out(struct stage *stage)
{
    const size_t length_bytes = 8 * MIB;
    struct send_step send;
    struct play play;
    char byte;

    play_open(&play, stage, length_bytes);
    play_begin(&play, &send, 0, length_bytes);
    await_stall(stage, play.peer);
    stage_cancel(stage, &send);
    rgi_check(stage_end(stage, &send) == -ECANCELED);
    rgi_check(send.op.count > 0 && send.op.count < length_bytes);
    rgi_check(stage_shutdown(stage, &play.near) == 0);
    expect_pattern(play.peer, 0, (size_t)send.op.count, 65536);
    rgi_check(recv(play.peer, &byte, 1, 0) == 0); /* and not one more */
    play_close(&play);
}

/* ------------------------------------------------------------ the file ends */

void
send_file_ends_where_the_file_does(struct stage *stage)
{
    struct send_step send;
    struct play play;

    play_open(&play, stage, 1000);
    play_begin(&play, &send, 400, 601);
    rgi_check(stage_end(stage, &send) == -ENODATA && send.op.count == 600);
    expect_pattern(play.peer, 400, 600, 600);
    play_begin(&play, &send, 1000, 1);
    rgi_check(stage_end(stage, &send) == -ENODATA && send.op.count == 0);
    play_begin(&play, &send, 5000000000, 1);
    rgi_check(stage_end(stage, &send) == -ENODATA && send.op.count == 0);
    play_begin(&play, &send, 1000, 0);
    rgi_check(stage_end(stage, &send) == 0 && send.op.count == 0);
    peer_expect_nothing(play.peer);
    rgi_check(stage_write(stage, &play.near, "z", 1) == 0);
    rgi_check(recv(play.peer, play.path, 1, 0) == 1 && play.path[0] == 'z');
    play.path[0] = '/';
    play_close(&play);
}

void
send_file_that_shrinks_under_way_says_what_went_out(struct stage *stage)
{
    const size_t length_bytes = 8 * MIB;
    struct send_step send;
    struct play play;
    uint64_t got = 0;
    char bytes[65536];
    ssize_t count;

    play_open(&play, stage, length_bytes);
    play_begin(&play, &send, 0, length_bytes);
    await_stall(stage, play.peer);
    rgi_check(truncate(play.path, 1000) == 0);
    while (stage_is_out(stage, &send)) {
        count = recv(play.peer, bytes, sizeof(bytes), MSG_DONTWAIT);
        got += count > 0 ? (uint64_t)count : 0;
    }
    rgi_check(stage_end(stage, &send) == -ENODATA);
    rgi_check(send.op.count >= 1000 && send.op.count < length_bytes);
    rgi_check(stage_shutdown(stage, &play.near) == 0);
    while ((count = recv(play.peer, bytes, sizeof(bytes), 0)) > 0)
        got += (uint64_t)count;
    rgi_check(count == 0 && got == send.op.count);
    play_close(&play);
}

/* ----------------------------------------------------------------- refusals */

static int
send_of(struct play *play, struct rgm_stream *stream, struct rgm_file *file,
        uint64_t offset_bytes, uint64_t length_bytes)
{
    struct rgm_send_file send;
    int status;

    rgm_stream_send_file(&send, stream, file, offset_bytes, length_bytes);
    status = rgm_call(play->stage->runtime, &send);
    rgi_check(status == 0 || send.count == 0);
    return status;
}

void
send_file_refuses_what_it_cannot_send(struct stage *stage)
{
    const uint64_t most = INT64_MAX;
    struct rgm_file other = {0};
    struct rgm_stream nothing = {0};
    struct play play;

    play_open(&play, stage, 1000);
    rgi_check(send_of(&play, NULL, &play.file, 0, 1) == -EINVAL);
    rgi_check(send_of(&play, &play.near, NULL, 0, 1) == -EINVAL);
    rgi_check(send_of(&play, &play.near, &play.file, most + 1, 0) == -EINVAL);
    rgi_check(send_of(&play, &play.near, &play.file, most, 1) == -EINVAL);
    rgi_check(send_of(&play, &nothing, &play.file, 0, 1) == -EBADF);
    rgi_check(send_of(&play, &play.near, &other, 0, 1) == -EBADF);
    rgi_check(open_file(stage, &other, play.directory,
                        RGM_FILE_READ | RGM_FILE_DIRECTORY) == 0);
    rgi_check(send_of(&play, &play.near, &other, 0, 1) == -EINVAL);
    rgi_check(close_file(stage, &other) == 0);
    rgi_check(open_file(stage, &other, play.path, RGM_FILE_WRITE) == 0);
    rgi_check(send_of(&play, &play.near, &other, 0, 1) == -EBADF);
    rgi_check(close_file(stage, &other) == 0);
    rgi_check(send_of(&play, &play.near, &other, 0, 1) == -EBADF);
    peer_expect_nothing(play.peer);
    rgi_check(play.near.socket.busy == 0 && play.file.handle.busy == 0);
    play_close(&play);
}

void
handles_are_busy_while_a_file_is_sent(struct stage *stage)
{
    const size_t length_bytes = 8 * MIB;
    struct rgm_close record;
    struct send_step send;
    struct play play;

    play_open(&play, stage, length_bytes);
    play_begin(&play, &send, 0, length_bytes);
    await_stall(stage, play.peer);
    rgm_file_close(&record, &play.file);
    rgi_check(rgm_call(stage->runtime, &record) == -EBUSY);
    rgm_stream_close(&record, &play.near);
    rgi_check(rgm_call(stage->runtime, &record) == -EBUSY);
    expect_pattern(play.peer, 0, length_bytes, 65536);
    rgi_check(stage_end(stage, &send) == 0);
    play_close(&play);
}

/* ------------------------------------------------------- modes and signals */

/* The descriptor may be in either mode; while it is sent, and afterwards, what
 * else goes on with the connection does so. */
void
field_b73_send_file_in_either_descriptor_mode(struct stage *stage)
{
    const size_t length_bytes = 6 * MIB;
    struct read_step read = {0};
    struct send_step send;
    struct play play;
    char byte = 0;
    int fd;

    play_open(&play, stage, length_bytes);
    fd = descriptor_of_peer(play.peer);
    for (int mode = 0; mode < 2; mode++) {
        int flags = fcntl(fd, F_GETFL) & ~O_NONBLOCK;

        rgi_check(fcntl(fd, F_SETFL, mode == 0 ? flags : flags | O_NONBLOCK) ==
                  0);
        rgm_stream_read(&read.op, &play.near, &byte, 1);
        stage_begin(stage, &read);
        play_begin(&play, &send, 0, length_bytes);
        await_stall(stage, play.peer);
        peer_send(play.peer, "r", 1);
        rgi_check(stage_end(stage, &read) == 0 && byte == 'r');
        expect_pattern(play.peer, 0, length_bytes, 65536);
        rgi_check(stage_end(stage, &send) == 0);
        rgi_check(stage->class != &rgm_provider_ring ||
                  ((fcntl(fd, F_GETFL) & O_NONBLOCK) != 0) == (mode == 1));
    }
    play_close(&play);
}

static void
no_pipe_signal_is_pending(struct puppet *puppet, void *argument)
{
    sigset_t pending;

    (void)puppet;
    (void)argument;
    rgi_check(sigpending(&pending) == 0);
    rgi_check(sigismember(&pending, SIGPIPE) == 0);
}

/* To a peer that has gone, with the signal at its default, which would end the
 * process: the error comes, the signal does not and is not kept back either. */
void
field_b74_no_signal_from_a_sent_file(struct stage *stage)
{
    struct rgm_send_file send;
    struct rgm_stream near;
    struct play play;
    int status = 0;

    rgi_check(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    play_open(&play, stage, MIB);
    peer_reset(stage_pair(stage, &near));
    for (int i = 0; i < 1000 && status == 0; i++)
        status = send_of(&play, &near, &play.file, 0, MIB);
    rgi_check(status == -ECONNRESET || status == -EPIPE);
    rgm_stream_send_file(&send, &near, &play.file, 0, MIB);
    rgi_check(rgm_call(stage->runtime, &send) == -EPIPE && send.count == 0);
    stage_do(stage, no_pipe_signal_is_pending, NULL);
    rgi_check(stage_close_stream(stage, &near) == 0);
    play_close(&play);
}

/* ------------------------------------------------------------------- limits */

/* No descriptor is left: it says so, nothing goes out, and later it does. */
void
send_file_without_a_pipe_says_so(struct stage *stage)
{
    struct rlimit before, tight;
    struct send_step send;
    struct play play;

    play_open(&play, stage, 1000);
    rgi_check(getrlimit(RLIMIT_NOFILE, &before) == 0);
    tight = before;
    tight.rlim_cur = 3;
    rgi_check(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    play_begin(&play, &send, 0, 1000);
    rgi_check(stage_end(stage, &send) == -EMFILE && send.op.count == 0);
    rgi_check(setrlimit(RLIMIT_NOFILE, &before) == 0);
    peer_expect_nothing(play.peer);
    play_begin(&play, &send, 0, 1000);
    rgi_check(stage_end(stage, &send) == 0);
    expect_pattern(play.peer, 0, 1000, 1000);
    play_close(&play);
}

/* -------------------------------------------------------- within a directory */

static int
open_within(struct play *play, struct rgm_file *directory,
            struct rgm_file *file, const char *path, uint32_t flags)
{
    struct rgm_file_open record;

    rgm_file_open_within(&record, directory, file, path, flags, 0600);
    return rgm_call(play->stage->runtime, &record);
}

/* What leads outside does not, by whatever road; what comes back inside does. */
static void
look_within(struct play *play, struct rgm_file *directory)
{
    static const struct {
        const char *path;
        int status;
    } roads[] = {
        {"inner", 0},           {"./inner", 0},
        {"sub/../inner", 0},    {"link_in", 0},
        {"../file", -EXDEV},    {"sub/../../file", -EXDEV},
        {"/etc/passwd", -EXDEV}, {"link_out", -EXDEV},
        {"link_up", -EXDEV},    {"none", -ENOENT},
        {"inner/x", -ENOTDIR},  {"", -ENOENT},
    };
    struct rgm_file file = {0};

    for (size_t i = 0; i < sizeof(roads) / sizeof(roads[0]); i++) {
        rgi_check(open_within(play, directory, &file, roads[i].path,
                              RGM_FILE_READ) == roads[i].status);
        rgi_check(file.handle.open == (roads[i].status == 0));
        if (roads[i].status == 0)
            rgi_check(close_file(play->stage, &file) == 0);
    }
    rgi_check(open_within(play, directory, &file, "made",
                          RGM_FILE_WRITE | RGM_FILE_CREATE) == 0);
    rgi_check(open_within(play, directory, directory, "inner",
                          RGM_FILE_READ) == -EINVAL);
    rgi_check(close_file(play->stage, &file) == 0);
    rgi_check(open_within(play, directory, &file, "pipe", RGM_FILE_READ) == 0);
    rgi_check(close_file(play->stage, &file) == 0); /* nobody waited for it */
    rgi_check(open_within(play, NULL, &file, "inner", RGM_FILE_READ) ==
              -EINVAL);
    rgi_check(open_within(play, &play->file, &file, "inner", RGM_FILE_READ) ==
              -ENOTDIR);
}

void
paths_within_a_directory_stay_there(struct stage *stage)
{
    struct rgm_file directory = {0};
    struct rgm_file file = {0};
    struct play play;
    char root[128];
    char command[160];

    play_open(&play, stage, 10);
    snprintf(root, sizeof(root), "%s/root", play.directory);
    rgi_check(mkdir(root, 0700) == 0 && chdir(root) == 0);
    rgi_check(mkdir("sub", 0700) == 0);
    fill_file("inner", 10);
    rgi_check(symlink("inner", "link_in") == 0);
    rgi_check(symlink("/etc/passwd", "link_out") == 0);
    rgi_check(symlink("../file", "link_up") == 0);
    rgi_check(mkfifo("pipe", 0600) == 0);
    rgi_check(open_within(&play, &directory, &file, "inner", RGM_FILE_READ) ==
              -EBADF);
    rgi_check(open_file(stage, &directory, root,
                        RGM_FILE_READ | RGM_FILE_DIRECTORY) == 0);
    look_within(&play, &directory);
    rgi_check(directory.handle.busy == 0);
    rgi_check(close_file(stage, &directory) == 0);
    rgi_check(chdir("/") == 0);
    snprintf(command, sizeof(command), "rm -r %s", root);
    rgi_check(system(command) == 0);
    play_close(&play);
}
