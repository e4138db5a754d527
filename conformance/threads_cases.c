/* SPDX-License-Identifier: MIT */

/* threads_cases.c - what must the threads provider show besides? */

#include "conformance/threads_cases.h"

#include "conformance/shim.h"

/* A read that is inside recv, and is cancelled there. */
static void
cancel_inside(struct stage *stage, struct read_step *read,
              struct rgm_stream *near, int peer, char *byte)
{
    shim_gate_shut(descriptor_of_peer(peer));
    rgm_stream_read(&read->op, near, byte, 1);
    stage_begin(stage, read);
    shim_gate_await(1);
    stage_cancel(stage, read);
    (void)stage_counters(stage); /* turns pass; the cancel is long over */
    rgi_check(stage_is_out(stage, read) && stage_busy(stage, near) == 1);
}

void
opl_03_all_is_kept_until_the_call_has_returned(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    cancel_inside(stage, &read, &near, peer, &byte);
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    rgi_check(read.op.memory == &byte && read.op.stream == &near);
    shim_gate_open(); /* finds nothing, and does not try again */
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
opl_20_call_that_has_begun_runs_on(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    cancel_inside(stage, &read, &near, peer, &byte);
    peer_send(peer, "x", 1);
    shim_gate_open();
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(read.op.count == 1 && byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
field_b61_interrupted_call_is_made_again(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    shim_receive_fail(descriptor_of_peer(peer), EINTR);
    rgm_stream_read(&read.op, &near, &byte, 1);
    rgi_check(stage_run(stage, &read) == 0);
    rgi_check(shim_receive_failed());
    rgi_check(read.op.count == 1 && byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}
