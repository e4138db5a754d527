/* SPDX-License-Identifier: MIT */

/*
 * receive_ours.c - what does a receiver save beside reads into a pool?
 *
 *     bench_receive N
 *
 * A plain thread sends without a pause over loopback; an actor takes N pieces of
 * a slot each and drops them: by reads into a pool, one out at a time, and by a
 * receiver with eight who wait for a piece. Slots of 512 bytes and of 16 KiB.
 *
 * Reported for each piece: time, CPU time of the worker's thread, and how many
 * entries the kernel was given.
 */

#include "bench/far.h"

#include <ringmail/receiver.h>

#define AT_ONCE 8
#define SLOTS 64
#define SLOT_MOST 16384

static const struct mode {
    const char *name;
    uint32_t slot_bytes;
    bool receives;
} modes[] = {
    {"pooled_512", 512, false},
    {"receiver_512", 512, true},
    {"pooled_16k", SLOT_MOST, false},
    {"receiver_16k", SLOT_MOST, true},
};
#define MODES_COUNT (sizeof(modes) / sizeof(modes[0]))

static const struct mode *mode;
static uint64_t pieces_count, bytes_count; /* those that are measured */
static struct rgm_pool *pool;

/* Sends until nobody takes it in any more. */
static void
far_serve(int connection)
{
    static const char bytes[65536];

    while (send(connection, bytes, sizeof(bytes), MSG_NOSIGNAL) > 0)
        continue;
}

/* ----------------------------------------------------------------- the taker */

struct taker {
    struct rgm_actor actor;
    struct rgm_stream stream;
    struct rgm_connect connect;
    struct rgm_read_pooled read;
    struct rgm_receiver receiver;
    struct rgm_received received[AT_ONCE];
    uint64_t taken_bytes;
    bool warm;
    bool over;
};

RGM_HOOK(taker, taker_started);
RGM_HOOK(taker, taker_stopped);
RGM_ANSWER(taker, rgm_connect, on_connected);
RGM_ANSWER(taker, rgm_read_pooled, on_read);
RGM_ANSWER(taker, rgm_receiver, on_over);
RGM_ANSWER(taker, rgm_received, on_received);

static void
read_next(struct taker *self)
{
    rgm_stream_read_pooled(&self->read, &self->stream, pool);
    rgm_ask(self, &self->read, RGM_REPLY(taker, rgm_read_pooled, on_read));
}

static void
receive_next(struct taker *self, struct rgm_received *received)
{
    rgm_receiver_next(received, &self->receiver);
    rgm_ask(self, received, RGM_REPLY(taker, rgm_received, on_received));
}

/* The first quarter warms up. Returns: whether there is more to take. */
static bool
count(struct taker *self, size_t bytes)
{
    uint64_t warm = bytes_count / 4;

    self->taken_bytes += bytes;
    if (!self->warm && self->taken_bytes >= warm) {
        self->warm = true;
        far_begin();
    }
    if (self->taken_bytes < bytes_count + warm || self->over)
        return !self->over;
    self->over = true;
    far_end();
    rgm_stop(self);
    rgm_runtime_stop(ours_runtime);
    return false;
}

static void
on_read(struct taker *self, struct rgm_read_pooled *read)
{
    ours_check("read", rgm_status(read));
    ours_check("drop", rgm_lease_drop(&read->lease));
    if (count(self, read->count))
        read_next(self);
}

static void
on_received(struct taker *self, struct rgm_received *received)
{
    if (rgm_status(received) < 0 && self->over)
        return; /* it was cancelled with all others */
    ours_check("next", rgm_status(received));
    rgm_view_drop(&received->view);
    if (count(self, received->count))
        receive_next(self, received);
}

static void
on_over(struct taker *self, struct rgm_receiver *receiver)
{
    if (!self->over)
        ours_check("receiver", rgm_status(receiver));
}

static void
on_connected(struct taker *self, struct rgm_connect *connect)
{
    ours_check("connect", rgm_status(connect));
    if (!mode->receives) {
        read_next(self);
        return;
    }
    rgm_stream_receive(&self->receiver, &self->stream, pool);
    rgm_ask(self, &self->receiver, RGM_REPLY(taker, rgm_receiver, on_over));
    for (int i = 0; i < AT_ONCE; i++)
        receive_next(self, &self->received[i]);
}

static void
taker_started(struct taker *self)
{
    rgm_stream_connect(&self->connect, rgm_here(self), &self->stream,
                       &far_target);
    rgm_ask(self, &self->connect, RGM_REPLY(taker, rgm_connect, on_connected));
}

static void
taker_stopped(struct taker *self)
{
    (void)rgm_stream_drop(self, &self->stream);
}

static const struct rgm_behaviour taker_behaviour = {
    .name = "taker",
    .size_bytes = sizeof(struct taker),
    .started = RGM_DO(taker, taker_started),
    .stopped = RGM_DO(taker, taker_stopped),
};

static void
play(void)
{
    const struct rgm_pool_options slots = {.name = "pieces",
                                           .slots_count = SLOTS,
                                           .slot_size_bytes = mode->slot_bytes};
    struct rgm_counters counters;

    bytes_count = pieces_count * mode->slot_bytes;
    ours_check("pool", rgm_pool_create(&slots, &pool));
    far_play(mode->name, &taker_behaviour, (double)pieces_count, &counters);
    rgm_pool_destroy(pool);
    bench_report(mode->name, "entries",
                 (double)counters.entries_submitted /
                     ((double)pieces_count * 5 / 4),
                 "entries");
}

static void
play_all(void)
{
    for (mode = modes; mode < modes + MODES_COUNT; mode++)
        play();
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fputs("usage: bench_receive N\n", stderr);
        return 2;
    }
    pieces_count = bench_number(argv[1], UINT64_C(1) << 24);
    far_here(play_all);
    return 0;
}
