/* SPDX-License-Identifier: MIT */

/* epoll_cases.c - what must the epoll provider show besides? */

#include "conformance/epoll_cases.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
puppet_stop(struct puppet *puppet, void *argument)
{
    (void)argument;
    rgm_stop(puppet);
}

/* The last worker goes, and has gone when this returns. */
static void
shrink(struct stage *stage, uint32_t workers)
{
    struct rgm_resize resize;

    stage_do_on(stage, workers, puppet_stop, NULL);
    rgm_resize_to(&resize, workers);
    resize.until_gone = true;
    rgi_check(rgm_call(stage->runtime, &resize) == 0);
}

/* A stream of that worker's. Returns: its peer. */
static int
pair_at(struct stage *stage, uint32_t worker, struct rgm_stream *stream)
{
    struct rgm_attach attach;
    struct rgm_detach detach;
    struct rgm_stream near;
    int peer = stage_pair(stage, &near);

    *stream = (struct rgm_stream){0};
    rgm_stream_detach(&detach, &near);
    rgi_check(rgm_call(stage->runtime, &detach) == 0);
    rgm_stream_attach(&attach, rgm_worker_address(worker), stream,
                      &detach.detached);
    rgi_check(rgm_call(stage->runtime, &attach) == 0);
    return peer;
}

/* Without a scope nothing but the line of its direction knows of it. */
void
can_19b_end_of_the_worker_ends_the_wait(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream far;
    char byte;
    int peer;

    stage->options.workers = 2;
    stage_open(stage);
    peer = pair_at(stage, 1, &far);
    rgm_stream_read(&read.op, &far, &byte, 1);
    stage_begin(stage, &read);
    (void)stage_counters(stage);
    shrink(stage, 1);
    rgi_check(stage_end(stage, &read) == -EPIPE);
    peer_expect_end(peer);
    peer_close(peer);
    stage->options.workers = 1;
    stage_close(stage);
}

/* Some of them have been told by the kernel, and it is in the middle of that. */
void
epo_11_all_who_wait_at_a_worker_that_closes_are_told(struct stage *stage)
{
    enum { STREAMS = 8 };
    struct read_step reads[STREAMS];
    struct rgm_stream streams[STREAMS], here;
    struct read_step other = {0};
    char bytes[STREAMS];
    int peers[STREAMS];
    char byte;
    int peer;

    memset(reads, 0, sizeof(reads));
    stage->options.workers = 4;
    stage_open(stage);
    peer = stage_pair(stage, &here);
    rgm_stream_read(&other.op, &here, &byte, 1);
    stage_begin(stage, &other);
    for (int i = 0; i < STREAMS; i++) {
        peers[i] = pair_at(stage, 3, &streams[i]);
        rgm_stream_read(&reads[i].op, &streams[i], &bytes[i], 1);
        stage_begin(stage, &reads[i]);
    }
    for (int i = 0; i < STREAMS; i += 2)
        peer_send(peers[i], "x", 1);
    shrink(stage, 3);
    for (int i = 0; i < STREAMS; i++) {
        int status = stage_end(stage, &reads[i]);

        rgi_check(status == -EPIPE || (status == 0 && i % 2 == 0));
        peer_close(peers[i]);
    }
    rgi_check(stage_is_out(stage, &other)); /* of another worker */
    peer_send(peer, "y", 1);
    rgi_check(stage_end(stage, &other) == 0 && byte == 'y');
    rgi_check(stage_close_stream(stage, &here) == 0);
    peer_close(peer);
    stage->options.workers = 3;
    stage_close(stage);
}

static unsigned
descriptors_like(const char *what)
{
    DIR *directory = opendir("/proc/self/fd");
    struct dirent *entry;
    unsigned count = 0;
    char path[300];
    char name[64];

    rgi_check(directory != NULL);
    while ((entry = readdir(directory)) != NULL) {
        ssize_t length;

        snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
        length = readlink(path, name, sizeof(name) - 1);
        name[length > 0 ? length : 0] = '\0';
        count += strstr(name, what) != NULL;
    }
    closedir(directory);
    return count;
}

/* One set for each worker and none beside them, with waits or without. */
void
epo_01_sets_and_bells_are_all_it_has(struct stage *stage)
{
    unsigned sets = descriptors_like("[eventpoll]");
    unsigned rings = descriptors_like("[io_uring]");
    struct read_step read = {0};
    struct rgm_stream near;
    char byte;
    int peer;

    stage->options.workers = 3;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin(stage, &read);
    (void)stage_counters(stage);
    rgi_check(descriptors_like("[eventpoll]") == sets + 3);
    rgi_check(descriptors_like("[io_uring]") == rings);
    peer_send(peer, "x", 1);
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgi_check(descriptors_like("[eventpoll]") == sets);
}
