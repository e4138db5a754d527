/* SPDX-License-Identifier: MIT */

/*
 * zero_copy_ours.c - what does a send from where the bytes are save?
 *
 *     bench_zero_copy N            over TCP on loopback
 *     bench_zero_copy N HOST PORT  to whoever takes it in there
 *     bench_zero_copy sink PORT    take in what connections to the port bring
 *
 * N pieces of 4 KiB, then of 64 KiB, eight out at a time, by one writer: sent
 * plainly, and without a copy. The kernel copies on loopback all the same, when
 * the bytes are delivered; what that costs is seen here, and what is saved only
 * over a real link. The bytes are taken in unseen (MSG_TRUNC, tcp(7)).
 *
 * Reported for each piece: time; CPU time of the worker's thread, which on
 * loopback does the receiver's part of the network, too; and the share of those
 * without a copy that the kernel says it has copied after all.
 */

#include "bench/far.h"

#include <ringmail/writer.h>

#define AT_ONCE 8
#define PIECE_MOST 65536

static const struct mode {
    const char *name;
    uint32_t piece_bytes;
    size_t zero_copy_least; /* 0: plain */
} modes[] = {
    {"plain_4k", 4096, 0},
    {"zero_copy_4k", 4096, 1},
    {"plain_64k", PIECE_MOST, 0},
    {"zero_copy_64k", PIECE_MOST, 1},
};
#define MODES_COUNT (sizeof(modes) / sizeof(modes[0]))

static const struct mode *mode;
static uint64_t pieces_count;
static struct rgm_pool *pool;

/* Takes in what comes, unseen. */
static void
far_serve(int connection)
{
    static char nowhere[PIECE_MOST];

    while (recv(connection, nowhere, sizeof(nowhere), MSG_TRUNC) > 0)
        continue;
}

/* ---------------------------------------------------------------- the sender */

struct sender {
    struct rgm_actor actor;
    struct rgm_stream stream;
    struct rgm_writer writer;
    struct rgm_connect connect;
    struct rgm_submit submits[AT_ONCE];
    struct rgm_flush flush;
    struct rgm_view view;
    uint64_t asked, taken;
};

RGM_HOOK(sender, sender_started);
RGM_HOOK(sender, sender_stopped);
RGM_ANSWER(sender, rgm_connect, on_connected);
RGM_ANSWER(sender, rgm_submit, on_taken);
RGM_ANSWER(sender, rgm_flush, on_flushed);

static void
send_piece(struct sender *self, struct rgm_submit *submit)
{
    struct rgm_view view = rgm_view_clone(&self->view);

    self->asked++;
    rgm_writer_submit(submit, &self->writer, &view);
    rgm_ask(self, submit, RGM_REPLY(sender, rgm_submit, on_taken));
}

static void
on_taken(struct sender *self, struct rgm_submit *submit)
{
    ours_check("submit", rgm_status(submit));
    if (++self->taken == pieces_count / 4) /* warm */
        far_begin();
    if (self->asked < pieces_count + pieces_count / 4) {
        send_piece(self, submit);
    } else if (self->taken == self->asked) {
        rgm_writer_flush(&self->flush, &self->writer);
        rgm_ask(self, &self->flush, RGM_REPLY(sender, rgm_flush, on_flushed));
    }
}

static void
on_flushed(struct sender *self, struct rgm_flush *flush)
{
    (void)self;
    ours_check("flush", rgm_status(flush));
    far_end();
    rgm_runtime_stop(ours_runtime);
}

static void
on_connected(struct sender *self, struct rgm_connect *connect)
{
    struct rgm_lease lease;

    ours_check("connect", rgm_status(connect));
    ours_check("lease", rgm_pool_try_acquire(pool, &lease));
    ours_check("length", rgm_lease_truncate(&lease, mode->piece_bytes));
    ours_check("freeze", rgm_lease_freeze(&lease, &self->view));
    ours_check("writer", rgm_writer_open(self, &self->stream, &self->writer));
    rgm_writer_zero_copy(self, &self->writer, mode->zero_copy_least);
    far_begin();
    for (int i = 0; i < AT_ONCE; i++)
        send_piece(self, &self->submits[i]);
}

static void
sender_started(struct sender *self)
{
    rgm_stream_connect(&self->connect, rgm_here(self), &self->stream,
                       &far_target);
    rgm_ask(self, &self->connect, RGM_REPLY(sender, rgm_connect, on_connected));
}

static void
sender_stopped(struct sender *self)
{
    rgm_view_drop(&self->view);
    (void)rgm_writer_drop(self, &self->writer);
    (void)rgm_stream_drop(self, &self->stream);
}

static const struct rgm_behaviour sender_behaviour = {
    .name = "sender",
    .size_bytes = sizeof(struct sender),
    .started = RGM_DO(sender, sender_started),
    .stopped = RGM_DO(sender, sender_stopped),
};

static void
play(void)
{
    struct rgm_counters counters;
    double sent;

    far_play(mode->name, &sender_behaviour, (double)pieces_count, &counters);
    sent = (double)counters.zero_copies;
    if (mode->zero_copy_least > 0)
        bench_report(mode->name, "copied",
                     sent > 0 ? (double)counters.zero_copies_copied / sent : 0,
                     "share");
}

static void
play_all(void)
{
    const struct rgm_pool_options options = {
        .name = "pieces", .slots_count = 1, .slot_size_bytes = PIECE_MOST};

    ours_check("pool", rgm_pool_create(&options, &pool));
    for (mode = modes; mode < modes + MODES_COUNT; mode++)
        play();
    rgm_pool_destroy(pool);
}

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "sink") == 0) {
        int listener = far_listen((uint16_t)bench_number(argv[2], 65535));

        (void)far_main(&listener);
        return 1;
    }
    if (argc != 2 && argc != 4) {
        fputs("usage: bench_zero_copy N [HOST PORT], or sink PORT\n", stderr);
        return 2;
    }
    pieces_count = bench_number(argv[1], UINT64_C(1) << 24);
    if (argc == 2) {
        far_here(play_all);
        return 0;
    }
    ours_check("host", rgm_endpoint_parse(
                           argv[2], (uint16_t)bench_number(argv[3], 65535),
                           &far_target));
    play_all();
    return 0;
}
