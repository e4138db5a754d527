/* SPDX-License-Identifier: MIT */

/* detach_cases.c - what must every provider show of sockets that move? */

#include "conformance/detach_cases.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

STEP(detach_step, rgm_detach);
STEP(attach_step, rgm_attach);

static int
detach(struct stage *stage, struct rgm_stream *stream,
       struct rgm_detached *ret_detached)
{
    struct rgm_detach record;
    int status;

    rgm_stream_detach(&record, stream);
    status = rgm_call(stage->runtime, &record);
    *ret_detached = record.detached;
    return status;
}

/* With an error *detached is what is left of it. */
static int
attach_on(struct stage *stage, uint32_t worker, struct rgm_stream *stream,
          struct rgm_detached *detached)
{
    struct rgm_attach record;
    int status;

    rgm_stream_attach(&record, rgm_worker_address(worker), stream, detached);
    rgi_check(detached->serial == 0);
    status = rgm_call(stage->runtime, &record);
    *detached = record.detached;
    return status;
}

static bool
is_empty(const struct rgm_stream *stream)
{
    static const struct rgm_stream empty;

    return memcmp(stream, &empty, sizeof(empty)) == 0;
}

/* Both directions work. */
static void
talk(struct stage *stage, struct rgm_stream *near, int peer)
{
    char bytes[4];

    peer_send(peer, "ping", 4);
    stage_read_all(stage, near, bytes, 4);
    rgi_check(memcmp(bytes, "ping", 4) == 0);
    rgi_check(stage_write(stage, near, "pong", 4) == 0);
    peer_receive(peer, bytes, 4);
    rgi_check(memcmp(bytes, "pong", 4) == 0);
}

static void
open_two(struct stage *stage)
{
    stage->options.workers = 2;
    stage_open(stage);
}

/* ------------------------------------------------------------------- moving */

/* Some of it was read by the program and not used, some nobody has read. */
void
connection_moves_with_what_is_unread(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct rgm_stream near, far = {0};
    struct rgm_read_pooled read;
    struct rgm_detached detached;
    struct rgm_view unread;
    char bytes[16];
    int peer;

    open_two(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "in a pool's slot", 16);
    rgm_stream_read_pooled(&read, &near, pool);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 16);
    peer_send(peer, "in the kernel", 13);
    rgi_check(detach(stage, &near, &detached) == 0);
    rgi_check(is_empty(&near));
    rgi_check(rgm_lease_freeze(&read.lease, &detached.unread) == 0);
    rgi_check(attach_on(stage, 1, &far, &detached) == 0);
    rgi_check(rgm_address_worker(far.socket.worker) == 1);
    rgi_check(detached.serial == 0);
    unread = detached.unread;
    rgi_check(unread.length_bytes == 16 &&
              memcmp(unread.data, "in a pool's slot", 16) == 0);
    rgm_view_drop(&unread);
    stage_read_all(stage, &far, bytes, 13);
    rgi_check(memcmp(bytes, "in the kernel", 13) == 0);
    talk(stage, &far, peer);
    rgi_check(stage_close_stream(stage, &near) == -EBADF);
    rgi_check(stage_close_stream(stage, &far) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(pool) == 1);
    rgm_pool_destroy(pool);
}

static int
attach_listener_on(struct stage *stage, uint32_t worker,
                   struct rgm_detached *detached)
{
    struct rgm_attach record;
    int status;

    rgm_listener_attach(&record, rgm_worker_address(worker), &stage->listener,
                        detached);
    status = rgm_call(stage->runtime, &record);
    *detached = record.detached;
    return status;
}

void
listener_moves_with_its_backlog(struct stage *stage)
{
    struct rgm_stream near = {0};
    struct rgm_detached detached;
    struct rgm_detach record;
    struct rgm_accept accept;
    int peer, second;

    open_two(stage);
    stage_listen(stage);
    peer = peer_connect(&stage->endpoint);
    rgm_listener_detach(&record, &stage->listener);
    rgi_check(rgm_call(stage->runtime, &record) == 0);
    second = peer_connect(&stage->endpoint); /* while it is nobody's */
    detached = record.detached;
    rgi_check(attach_listener_on(stage, 1, &detached) == 0);
    for (int i = 0; i < 2; i++) {
        rgm_stream_accept(&accept, &stage->listener, &near);
        rgi_check(rgm_call(stage->runtime, &accept) == 0);
        rgi_check(rgm_address_worker(near.socket.worker) == 1);
        talk(stage, &near, i == 0 ? peer : second);
        rgi_check(stage_close_stream(stage, &near) == 0);
    }
    peer_close(peer);
    peer_close(second);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    stage_close(stage);
}

/* ------------------------------------------------------------------ refusals */

void
detach_needs_the_handle_alone(struct stage *stage)
{
    struct rgm_stream near, copy, none = {0};
    struct rgm_detached detached;
    struct rgm_detach refused;
    struct read_step read = {0};
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin(stage, &read);
    rgi_check(stage_busy(stage, &near) == 1);
    rgi_check(detach(stage, &near, &detached) == -EBUSY);
    rgi_check(detached.serial == 0 && near.socket.open == 1);
    peer_send(peer, "x", 1); /* the read goes on as if nothing had been */
    rgi_check(stage_end(stage, &read) == 0 && byte == 'x');
    copy = near;
    rgi_check(detach(stage, &near, &detached) == 0);
    rgi_check(detach(stage, &near, &(struct rgm_detached){0}) == -EBADF);
    rgi_check(detach(stage, &none, &(struct rgm_detached){0}) == -EBADF);
    rgm_stream_detach(&refused, NULL);
    rgi_check(rgm_call(stage->runtime, &refused) == -EINVAL);
    rgi_check(stage_read(stage, &near, &byte, 1, &(bool){false}) == -EBADF);
    near = copy; /* nobody closes for it what has left */
    memset(&near, 0, sizeof(near));
    rgi_check(rgm_detached_close(&detached) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
}

void
refused_attach_hands_back(struct stage *stage)
{
    struct rgm_stream near, other, far = {0};
    struct rgm_detached detached, nothing = {0};
    struct rgm_attach record;
    struct rgm_listener listener = {0};
    int peer, peer_of_other;

    open_two(stage);
    peer = stage_pair(stage, &near);
    peer_of_other = stage_pair(stage, &other);
    rgi_check(detach(stage, &near, &detached) == 0);
    rgi_check(attach_on(stage, 0, &other, &detached) == -EBUSY);
    rgi_check(detached.serial != 0 && other.socket.open == 1);
    rgm_listener_attach(&record, rgm_worker_address(0), &listener, &detached);
    rgi_check(rgm_call(stage->runtime, &record) == -EINVAL);
    detached = record.detached;
    rgm_stream_attach(&record, rgm_worker_address(0), NULL, &detached);
    rgi_check(rgm_call(stage->runtime, &record) == -EINVAL);
    detached = record.detached;
    rgi_check(attach_on(stage, 60, &far, &detached) == -ESRCH);
    rgi_check(detached.serial != 0 && is_empty(&far));
    rgi_check(attach_on(stage, 0, &far, &nothing) == -EBADF);
    rgi_check(attach_on(stage, 1, &far, &detached) == 0);
    talk(stage, &far, peer);
    talk(stage, &other, peer_of_other);
    rgi_check(stage_close_stream(stage, &far) == 0);
    rgi_check(stage_close_stream(stage, &other) == 0);
    peer_close(peer);
    peer_close(peer_of_other);
    stage_close(stage);
}

/* Also when its descriptor's number is in transit again, for another. */
void
stale_copy_attaches_nothing(struct stage *stage)
{
    struct rgm_stream near, far = {0}, late = {0};
    struct rgm_detached detached, copy, stale;
    int peer;

    open_two(stage);
    peer = stage_pair(stage, &near);
    rgi_check(detach(stage, &near, &detached) == 0);
    copy = detached;
    stale = detached;
    rgi_check(attach_on(stage, 1, &far, &detached) == 0);
    rgi_check(attach_on(stage, 0, &late, &copy) == -EBADF);
    rgi_check(rgm_detached_close(&copy) == -EBADF);
    rgi_check(rgm_detached_close(&copy) == 0); /* it is empty by now */
    talk(stage, &far, peer);
    rgi_check(detach(stage, &far, &detached) == 0);
    rgi_check(detached.resource == stale.resource);
    rgi_check(attach_on(stage, 0, &late, &stale) == -EBADF);
    rgi_check(rgm_detached_close(&stale) == -EBADF);
    rgi_check(attach_on(stage, 0, &far, &detached) == 0);
    talk(stage, &far, peer);
    rgi_check(stage_close_stream(stage, &far) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* -------------------------------------------------------------- lost transfers */

struct parcel {
    struct rgm_request request;
    struct rgm_detached detached;
};
RGM_REQUEST(parcel);

void
undelivered_message_has_it_still(struct stage *stage)
{
    struct rgm_stream near;
    struct parcel parcel;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    parcel_prepare(&parcel, rgm_worker_address(60));
    rgi_check(detach(stage, &near, &parcel.detached) == 0);
    rgi_check(rgm_call(stage->runtime, &parcel) == -ESRCH);
    rgi_check(attach_on(stage, 0, &near, &parcel.detached) == 0);
    talk(stage, &near, peer);
    parcel_prepare(&parcel, stage->puppets[0]);
    rgi_check(detach(stage, &near, &parcel.detached) == 0);
    rgi_check(rgm_call(stage->runtime, &parcel) == -ENOSYS); /* not for it */
    rgi_check(rgm_detached_close(&parcel.detached) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
}

static void
puppet_stop(struct puppet *puppet, void *argument)
{
    (void)argument;
    rgm_stop(puppet);
}

void
detached_outlives_its_worker(struct stage *stage)
{
    struct rgm_stream near = {0}, far = {0};
    struct rgm_detached detached;
    struct rgm_resize resize;
    int peer;

    open_two(stage);
    peer = stage_pair(stage, &near);
    rgi_check(detach(stage, &near, &detached) == 0);
    rgi_check(attach_on(stage, 1, &far, &detached) == 0);
    rgi_check(detach(stage, &far, &detached) == 0);
    stage_do_on(stage, 1, puppet_stop, NULL);
    rgm_resize_to(&resize, 1);
    resize.until_gone = true;
    rgi_check(rgm_call(stage->runtime, &resize) == 0);
    rgi_check(attach_on(stage, 1, &far, &detached) == -EPIPE);
    rgi_check(attach_on(stage, 0, &far, &detached) == 0);
    talk(stage, &far, peer);
    rgi_check(stage_close_stream(stage, &far) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
what_nobody_attached_is_closed_with_its_runtime(struct stage *stage)
{
    struct stage other = {.class = stage->class};
    struct rgm_detached detached, far;
    struct rgm_stream near, remote;
    int peer, far_peer;

    stage_init(&other);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(detach(stage, &near, &detached) == 0);
    stage_open(&other);
    far_peer = stage_pair(&other, &remote);
    rgi_check(detach(&other, &remote, &far) == 0);
    other.descriptors++; /* the peer's */
    stage_close(&other);
    peer_expect_end(far_peer);
    peer_close(far_peer);
    rgi_check(rgm_detached_close(&far) == -EBADF);
    stage_deinit(&other);
    rgi_check(attach_on(stage, 0, &near, &detached) == 0); /* not of that one */
    talk(stage, &near, peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------------ cancelling */

struct both {
    struct detach_step detach;
    struct attach_step attach;
};

static void
detach_and_cancel(struct puppet *puppet, void *argument)
{
    struct both *both = argument;

    puppet_begin(puppet, &both->detach);
    rgm_cancel_request(&puppet->actor, &both->detach.op.request);
}

static void
attach_and_cancel(struct puppet *puppet, void *argument)
{
    struct both *both = argument;

    puppet_begin(puppet, &both->attach);
    rgm_cancel_request(&puppet->actor, &both->attach.op.request);
}

/* Whichever it is, the socket is in one place. */
void
cancelled_detach_is_all_or_nothing(struct stage *stage)
{
    struct both *both = calloc(1, sizeof(*both));
    struct rgm_stream near, far = {0};
    struct rgm_detached detached;
    int peer, status;

    rgi_check(both != NULL);
    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (uint64_t i = 0; i < 20 + rgi_scale(2000); i++) {
        rgm_stream_detach(&both->detach.op, &near);
        stage_do(stage, detach_and_cancel, both);
        status = stage_end(stage, &both->detach);
        rgi_check(status == 0 || status == -ECANCELED);
        rgi_check((near.socket.open == 1) == (status != 0));
        rgi_check((both->detach.op.detached.serial == 0) == (status != 0));
        if (status != 0)
            continue;
        detached = both->detach.op.detached;
        rgm_stream_attach(&both->attach.op, rgm_worker_address(0), &far,
                          &detached);
        stage_do(stage, attach_and_cancel, both);
        status = stage_end(stage, &both->attach);
        rgi_check(status == 0 || status == -ECANCELED);
        if (status != 0)
            rgi_check(attach_on(stage, 0, &far, &both->attach.op.detached) ==
                      0);
        near = far;
        memset(&far, 0, sizeof(far));
    }
    talk(stage, &near, peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    free(both);
}

/* -------------------------------------------------------------- two instances */

static void
import(struct stage *stage, struct rgm_file *file, int descriptor)
{
    struct rgm_file_open record;

    rgm_file_import(&record, rgm_worker_address(0), file, descriptor);
    rgi_check(rgm_call(stage->runtime, &record) == 0);
}

static void
close_file(struct stage *stage, struct rgm_file *file)
{
    struct rgm_close close;

    rgm_file_close(&close, file);
    rgi_check(rgm_call(stage->runtime, &close) == 0);
}

static void
write_at(struct stage *stage, struct rgm_file *file, uint64_t offset)
{
    struct rgm_file_write write;

    rgm_file_write_at(&write, file, "abcd", 4, offset);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
}

/* One file, which two instances have at once, each a handle of its own. */
static void
share_a_file(struct stage *stage, struct stage *other)
{
    char path[] = "/tmp/ringmail-soc12-XXXXXX";
    struct rgm_file here = {0}, there = {0};
    int descriptor = mkostemp(path, O_CLOEXEC);
    char bytes[8];
    int again;

    rgi_check(descriptor >= 0 && unlink(path) == 0);
    again = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
    import(stage, &here, descriptor);
    import(other, &there, again);
    write_at(stage, &here, 0);
    write_at(other, &there, 4);
    close_file(stage, &here); /* the other's is its own */
    rgi_check(pread(again, bytes, 8, 0) == 8);
    rgi_check(memcmp(bytes, "abcdabcd", 8) == 0);
    close_file(other, &there);
}

/* A socket is of one instance after the other, to and fro. */
void
soc_12_what_is_detached_is_of_no_runtime(struct stage *stage)
{
    struct stage other = {.class = stage->class};
    struct rgm_stream near, far = {0};
    struct rgm_detached detached;
    int peer;

    stage_init(&other);
    stage_open(stage);
    stage_open(&other);
    peer = stage_pair(stage, &near);
    rgi_check(detach(stage, &near, &detached) == 0);
    rgi_check(attach_on(&other, 0, &far, &detached) == 0);
    talk(&other, &far, peer);
    rgi_check(detach(&other, &far, &detached) == 0);
    rgi_check(attach_on(stage, 0, &near, &detached) == 0);
    talk(stage, &near, peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    share_a_file(stage, &other);
    stage_close(&other);
    stage_deinit(&other);
    stage_close(stage);
}
