/* SPDX-License-Identifier: MIT */

/*
 * writes_ours.c - what does output to a stream cost, in system calls,
 * allocations and wakes?
 *
 *     bench_writes N [ring|epoll|threads]
 *
 * Of each provider: N pieces of 64 bytes over a Unix socket, whose other end is
 * emptied in between by the same thread, past everything that is counted.
 *
 *   ready       the socket has room: written as a request, handed over to a
 *               writer, and borrowed for one try
 *   stalled     the socket is full when it is asked, and emptied afterwards: as a
 *               request, and handed over
 *   pipelined   16 pieces handed over in a row, then a flush
 *
 * Reported for each piece: time; system calls, which are entries into a ring and
 * calls of sendmsg, recvmsg, poll and ppoll; allocations; wakes of the worker from its
 * sleep. Of `stalled` the piece that is waited for is counted, not those that fill
 * the socket.
 */

#define BENCH_COUNTS_CALLS
#include "bench/counted.h"

#include "bench/ours.h"

#include <ringmail/import.h>
#include <ringmail/transfer.h>
#include <ringmail/writer.h>

#define PIECE_BYTES 64
#define PIPELINE 16
#define SMALL_BUFFER 4096 /* what a socket is asked to hold, so that it fills */

enum form { REQUEST, WRITER, BORROWED };

static const struct mode {
    const char *name;
    enum form form;
    bool stalls;
    uint32_t pieces; /* of a round */
} modes[] = {
    {"ready_request", REQUEST, false, 1},
    {"ready_writer", WRITER, false, 1},
    {"ready_borrowed", BORROWED, false, 1},
    {"stalled_request", REQUEST, true, 1},
    {"stalled_writer", WRITER, true, 1},
    {"pipelined_writer", WRITER, false, PIPELINE},
};
#define MODES_COUNT (sizeof(modes) / sizeof(modes[0]))

static const struct mode *mode;
static uint64_t rounds_count;
static struct rgm_pool *pool;
static int far_end;
static char piece[PIECE_BYTES];

struct tally {
    uint64_t ns, calls, allocations;
};

/* Behind what was asked: by the time it comes the kernel has been asked, too. */
struct kick {
    struct rgm_message message;
};
RGM_MESSAGE(kick);

struct sender {
    struct rgm_actor actor;
    struct rgm_stream stream;
    struct rgm_writer writer;
    struct rgm_connect import;
    struct rgm_write write;
    struct rgm_submit submits[PIPELINE];
    struct rgm_flush flush;
    struct rgm_view view; /* of a piece */
    uint32_t awaited;     /* answers, and the kick */
    uint64_t round;
    struct tally before;
    struct tally filling; /* is not counted */
};

RGM_HOOK(sender, sender_started);
RGM_HOOK(sender, sender_stopped);
RGM_HANDLER(sender, kick, on_kick);
RGM_ANSWER(sender, rgm_connect, on_import);
RGM_ANSWER(sender, rgm_write, on_written);
RGM_ANSWER(sender, rgm_submit, on_taken);
RGM_ANSWER(sender, rgm_flush, on_flushed);

static struct tally result;

static struct tally
tally_now(void)
{
    return (struct tally){bench_now_ns(), counted(&counted_calls),
                          counted(&counted_allocations)};
}

static struct tally
tally_since(struct tally now, struct tally before)
{
    return (struct tally){now.ns - before.ns, now.calls - before.calls,
                          now.allocations - before.allocations};
}

/* Past the C library, so that it is not counted. */
static void
empty(void)
{
    char bytes[65536];

    while (syscall(SYS_recvfrom, far_end, bytes, sizeof(bytes), MSG_DONTWAIT,
                   NULL, NULL) > 0)
        continue;
}

static void
fill(struct sender *self)
{
    struct tally before = tally_now(), spent;
    size_t sent;

    while (rgm_stream_try_write(self, &self->stream, piece, sizeof(piece), 0,
                                &sent) == 0)
        continue;
    spent = tally_since(tally_now(), before);
    self->filling.ns += spent.ns;
    self->filling.calls += spent.calls;
}

/* Returns: whether there is another one. */
static bool
round_over(struct sender *self)
{
    uint64_t warm = rounds_count / 4 + 1;

    empty();
    if (++self->round == warm) {
        self->before = tally_now();
        self->filling = (struct tally){0, 0, 0};
    } else if (self->round == warm + rounds_count) {
        result = tally_since(tally_since(tally_now(), self->before),
                             self->filling);
        rgm_runtime_stop(ours_runtime);
        return false;
    }
    return true;
}

static void
borrow(struct sender *self)
{
    size_t sent;

    do
        ours_check("try", rgm_stream_try_write(self, &self->stream, piece,
                                               sizeof(piece), 0, &sent));
    while (round_over(self));
}

static void
hand_over(struct sender *self)
{
    for (uint32_t i = 0; i < mode->pieces; i++) {
        struct rgm_view view = rgm_view_clone(&self->view);

        rgm_writer_submit(&self->submits[i], &self->writer, &view);
        rgm_ask(self, &self->submits[i],
                RGM_REPLY(sender, rgm_submit, on_taken));
    }
    rgm_writer_flush(&self->flush, &self->writer);
    rgm_ask(self, &self->flush, RGM_REPLY(sender, rgm_flush, on_flushed));
    self->awaited = mode->pieces + 1;
}

static void
round_begin(struct sender *self)
{
    if (mode->stalls)
        fill(self);
    if (mode->form == WRITER) {
        hand_over(self);
    } else {
        rgm_stream_write(&self->write, &self->stream, piece, sizeof(piece));
        rgm_ask(self, &self->write, RGM_REPLY(sender, rgm_write, on_written));
        self->awaited = 1;
    }
    if (mode->stalls) {
        struct kick *kick = kick_take(&self->actor, 0);

        if (kick == NULL)
            bench_fail("kick", ENOMEM);
        ours_check("kick", rgm_send(self, rgm_self(self), kick));
        self->awaited++;
    }
}

static void
answered(struct sender *self, const char *what, int status)
{
    ours_check(what, status);
    if (--self->awaited == 0 && round_over(self))
        round_begin(self);
}

static void
on_kick(struct sender *self, struct kick *kick)
{
    (void)kick;
    empty();
    answered(self, "kick", 0);
}

static void
on_written(struct sender *self, struct rgm_write *write)
{
    answered(self, "write", rgm_status(write));
}

static void
on_taken(struct sender *self, struct rgm_submit *submit)
{
    answered(self, "submit", rgm_status(submit));
}

static void
on_flushed(struct sender *self, struct rgm_flush *flush)
{
    answered(self, "flush", rgm_status(flush));
}

static void
on_import(struct sender *self, struct rgm_connect *import)
{
    struct rgm_lease lease;

    ours_check("import", rgm_status(import));
    ours_check("lease", rgm_pool_try_acquire(pool, &lease));
    memcpy(lease.data, piece, sizeof(piece));
    ours_check("length", rgm_lease_truncate(&lease, sizeof(piece)));
    ours_check("freeze", rgm_lease_freeze(&lease, &self->view));
    ours_check("writer", rgm_writer_open(self, &self->stream, &self->writer));
    if (mode->form == BORROWED)
        borrow(self);
    else
        round_begin(self);
}

static void
sender_started(struct sender *self)
{
    int small = SMALL_BUFFER, ends[2];

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0 ||
        (mode->stalls && setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &small,
                                    sizeof(small)) != 0))
        bench_fail("sockets", errno);
    far_end = ends[1];
    rgm_stream_import(&self->import, rgm_here(self), &self->stream, ends[0]);
    rgm_ask(self, &self->import, RGM_REPLY(sender, rgm_connect, on_import));
}

static void
sender_stopped(struct sender *self)
{
    rgm_view_drop(&self->view);
    (void)rgm_writer_drop(self, &self->writer);
    (void)rgm_stream_drop(self, &self->stream);
    close(far_end);
}

static const struct rgm_handler sender_handlers[] = {
    RGM_ON(sender, kick, on_kick),
};
static const struct rgm_behaviour sender_behaviour = {
    .name = "sender",
    .size_bytes = sizeof(struct sender),
    .started = RGM_DO(sender, sender_started),
    .stopped = RGM_DO(sender, sender_stopped),
    RGM_HANDLERS(sender_handlers),
};

/* The counters are those of a runtime's whole life; its set-up is little beside
 * the rounds, of which there are a quarter more than were timed. */
static void
report(const char *provider, const struct rgm_counters *counters)
{
    double pieces = (double)(rounds_count * mode->pieces);
    double all = (double)((rounds_count + rounds_count / 4 + 1) * mode->pieces);
    double wakes = (double)(counters->park_bell + counters->park_io +
                            counters->park_deadline);
    char series[64];

    snprintf(series, sizeof(series), "%s_%s", provider, mode->name);
    bench_report(series, "ns", (double)result.ns / pieces, "ns");
    bench_report(series, "syscalls",
                 (double)result.calls / pieces +
                     (double)counters->kernel_entries / all,
                 "calls");
    bench_report(series, "allocations", (double)result.allocations / pieces,
                 "allocations");
    bench_report(series, "wakes", wakes / all, "wakes");
}

/* Returns: false when the provider is not there. */
static bool
play(const struct rgm_provider_class *provider)
{
    const struct rgm_runtime_options options = {
        .workers = 1, .provider = provider, .spin_us = RGM_SPIN_OFF};
    struct rgm_counters counters;

    ours_check("create", rgm_runtime_create(&options, &ours_runtime));
    if (rgm_runtime_start(ours_runtime) < 0) {
        fprintf(stderr, "bench: %s\n", rgm_runtime_error(ours_runtime));
        (void)rgm_runtime_destroy(ours_runtime);
        return false;
    }
    ours_spawn(0, &sender_behaviour, NULL);
    ours_check("run", rgm_runtime_wait(ours_runtime));
    ours_check("counters", rgm_runtime_counters(ours_runtime, 0, &counters));
    ours_check("destroy", rgm_runtime_destroy(ours_runtime));
    report(provider->name, &counters);
    return true;
}

static void
play_all(const struct rgm_provider_class *provider)
{
    for (mode = modes; mode < modes + MODES_COUNT; mode++)
        if (!play(provider))
            return;
}

int
main(int argc, char **argv)
{
    const struct rgm_pool_options options = {
        .name = "writes", .slots_count = 1, .slot_size_bytes = PIECE_BYTES};

    if (argc != 2 && argc != 3) {
        fputs("usage: bench_writes N [ring|epoll|threads]\n", stderr);
        return 2;
    }
    rounds_count = bench_number(argv[1], UINT64_C(1) << 24);
    ours_check("pool", rgm_pool_create(&options, &pool));
    if (argc == 2 || strcmp(argv[2], "ring") == 0)
        play_all(&rgm_provider_ring);
    if (argc == 3 && strcmp(argv[2], "epoll") == 0)
        play_all(&rgm_provider_epoll);
    if (argc == 2 || strcmp(argv[2], "threads") == 0)
        play_all(&rgm_provider_threads);
    rgm_pool_destroy(pool);
    return 0;
}
