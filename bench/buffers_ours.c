/* SPDX-License-Identifier: MIT */

/*
 * buffers_ours.c - what does it cost how bytes are held while they move?
 *
 *     bench_buffers N [ring|epoll|threads]
 *
 * On each provider, one worker; N rounds of each, after N / 4 to get warm.
 *
 * Copies of 1 MiB from one file in memory to another, 64 KiB at a time:
 *   serial      read, then write, then the next piece
 *   joined      a piece is written while the next one is read
 *   submitted   the same through lanes: handed over, and collected later
 *   vectors     serial, each piece in 16 parts
 *
 * Receives of 4 KiB from a Unix socket, which this thread has just sent:
 *   borrowed    a stream: one try, into memory on the stack
 *   memory      into memory of the caller's
 *   pooled      into a slot of a pool, which is dropped
 *   view        the same, frozen; two views of it are dropped
 *
 * Everything else is the same: offsets, sizes, numbers. Reported is CPU time of
 * the process, per KiB of a copy, and for each receive; with the sending.
 */

#include "bench/ours.h"

#include <ringmail/file_lane.h>
#include <ringmail/import.h>
#include <ringmail/transfer.h>

#include <sys/mman.h>
#include <sys/socket.h>

#define PIECE_BYTES ((size_t)64 << 10)
#define PIECES 16
#define PARTS 16
#define MESSAGE_BYTES ((size_t)4096)

struct mover;

static void copy_serial(struct mover *self);
static void copy_joined(struct mover *self);
static void copy_submitted(struct mover *self);
static void copy_vectors(struct mover *self);
static void receive_stream(struct mover *self);
static void receive_datagram(struct mover *self);

enum hold { BORROWED, MEMORY, POOLED, VIEW };

static const struct mode {
    const char *name;
    void (*begin)(struct mover *self); /* a round */
    enum hold hold;
    int socket; /* 0: none; else its type */
} modes[] = {
    {"copy_serial", copy_serial, MEMORY, 0},
    {"copy_joined", copy_joined, MEMORY, 0},
    {"copy_submitted", copy_submitted, POOLED, 0},
    {"copy_vectors", copy_vectors, MEMORY, 0},
    {"stream_borrowed", receive_stream, BORROWED, SOCK_STREAM},
    {"stream_memory", receive_stream, MEMORY, SOCK_STREAM},
    {"stream_pooled", receive_stream, POOLED, SOCK_STREAM},
    {"stream_view", receive_stream, VIEW, SOCK_STREAM},
    {"datagram_memory", receive_datagram, MEMORY, SOCK_DGRAM},
    {"datagram_pooled", receive_datagram, POOLED, SOCK_DGRAM},
    {"datagram_view", receive_datagram, VIEW, SOCK_DGRAM},
};
#define MODES_COUNT (sizeof(modes) / sizeof(modes[0]))

static const struct mode *mode;
static uint64_t rounds_count;
static struct rgm_pool *pool;
static char memory[2][PIECE_BYTES];
static int near_end;
static double result_ns;

struct mover {
    struct rgm_actor actor;
    struct rgm_file from, to;
    struct rgm_file_share *shares[2];
    struct rgm_file_lane reader, writer;
    struct rgm_stream stream;
    struct rgm_packet packet;
    struct rgm_file_open opens[2];
    struct rgm_connect import_stream;
    struct rgm_packet_open import_packet;
    struct rgm_file_read read;
    struct rgm_file_write write;
    struct rgm_collect collect_read, collect_write;
    struct rgm_completion *reading, *writing;
    struct rgm_vector parts[PARTS];
    struct rgm_read receive;
    struct rgm_read_pooled receive_pooled;
    struct rgm_packet_read receive_packet;
    struct rgm_lease lease;
    uint32_t opened;
    uint32_t piece;   /* of a copy: the next one to read */
    uint32_t written; /* and how many are */
    uint32_t out;     /* halves of a step that are not answered */
    uint64_t round, begin_ns;
};

RGM_HOOK(mover, mover_started);
RGM_HOOK(mover, mover_stopped);
RGM_ANSWER(mover, rgm_file_open, on_opened);
RGM_ANSWER(mover, rgm_connect, on_stream);
RGM_ANSWER(mover, rgm_packet_open, on_packet);
RGM_ANSWER(mover, rgm_file_read, on_read);
RGM_ANSWER(mover, rgm_file_write, on_write);
RGM_ANSWER(mover, rgm_file_read, on_half_read);
RGM_ANSWER(mover, rgm_file_write, on_half_written);
RGM_ANSWER(mover, rgm_collect, on_read_collected);
RGM_ANSWER(mover, rgm_collect, on_write_collected);
RGM_ANSWER(mover, rgm_read, on_received);
RGM_ANSWER(mover, rgm_read_pooled, on_received_pooled);
RGM_ANSWER(mover, rgm_packet_read, on_received_packet);

static uint64_t
cpu_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------------------------- rounds */

/* Returns: whether there is another one. */
static bool
round_ends(struct mover *self)
{
    uint64_t warm = rounds_count / 4 + 1;
    double units = mode->socket == 0 ? PIECES * (double)(PIECE_BYTES >> 10) : 1;

    if (++self->round == warm) {
        self->begin_ns = cpu_ns();
    } else if (self->round == warm + rounds_count) {
        result_ns = (double)(cpu_ns() - self->begin_ns) /
                    ((double)rounds_count * units);
        rgm_runtime_stop(ours_runtime);
        return false;
    }
    return true;
}

static void
round_over(struct mover *self)
{
    if (round_ends(self))
        mode->begin(self);
}

static void
check_bytes(const char *what, int status, size_t count, size_t expected)
{
    ours_check(what, status);
    if (count != expected)
        bench_fail(what, EIO);
}

/* ------------------------------------------------------- copies, one by one */

static void
read_piece(struct mover *self)
{
    uint64_t offset_bytes = self->piece * PIECE_BYTES;

    if (mode->begin == copy_vectors)
        rgm_file_read_vectors(&self->read, &self->from, self->parts, PARTS,
                              offset_bytes);
    else
        rgm_file_read_at(&self->read, &self->from, memory[0], PIECE_BYTES,
                         offset_bytes);
    rgm_ask(self, &self->read, RGM_REPLY(mover, rgm_file_read, on_read));
}

static void
copy_serial(struct mover *self)
{
    self->piece = 0;
    read_piece(self);
}

static void
copy_vectors(struct mover *self)
{
    size_t part_bytes = PIECE_BYTES / PARTS;

    for (size_t i = 0; i < PARTS; i++)
        self->parts[i] =
            (struct rgm_vector){memory[0] + i * part_bytes, part_bytes};
    copy_serial(self);
}

static void
on_read(struct mover *self, struct rgm_file_read *read)
{
    uint64_t offset_bytes = self->piece * PIECE_BYTES;

    check_bytes("read", rgm_status(read), read->count, PIECE_BYTES);
    if (mode->begin == copy_vectors)
        rgm_file_write_vectors(&self->write, &self->to, self->parts, PARTS,
                               offset_bytes);
    else
        rgm_file_write_at(&self->write, &self->to, memory[0], PIECE_BYTES,
                          offset_bytes);
    rgm_ask(self, &self->write, RGM_REPLY(mover, rgm_file_write, on_write));
}

static void
on_write(struct mover *self, struct rgm_file_write *write)
{
    check_bytes("write", rgm_status(write), write->count, PIECE_BYTES);
    if (++self->piece < PIECES)
        read_piece(self);
    else
        round_over(self);
}

/* ---------------------------------------------------------- copies, joined */

/* One piece is read while the one before it is written. */
static void
joined_step(struct mover *self)
{
    self->out = 0;
    if (self->written == PIECES) {
        round_over(self);
        return;
    }
    if (self->piece > self->written) {
        self->out++;
        rgm_file_write_at(&self->write, &self->to, memory[self->written % 2],
                          PIECE_BYTES, self->written * PIECE_BYTES);
        rgm_ask(self, &self->write,
                RGM_REPLY(mover, rgm_file_write, on_half_written));
    }
    if (self->piece < PIECES) {
        self->out++;
        rgm_file_read_at(&self->read, &self->from, memory[self->piece % 2],
                         PIECE_BYTES, self->piece * PIECE_BYTES);
        rgm_ask(self, &self->read,
                RGM_REPLY(mover, rgm_file_read, on_half_read));
    }
}

static void
copy_joined(struct mover *self)
{
    self->piece = 0;
    self->written = 0;
    joined_step(self);
}

static void
on_half_read(struct mover *self, struct rgm_file_read *read)
{
    check_bytes("read", rgm_status(read), read->count, PIECE_BYTES);
    self->piece++;
    if (--self->out == 0)
        joined_step(self);
}

static void
on_half_written(struct mover *self, struct rgm_file_write *write)
{
    check_bytes("write", rgm_status(write), write->count, PIECE_BYTES);
    self->written++;
    if (--self->out == 0)
        joined_step(self);
}

/* ------------------------------------------------------- copies, submitted */

static void
submit_read(struct mover *self)
{
    struct rgm_lease lease;

    ours_check("lease", rgm_pool_try_acquire(pool, &lease));
    ours_check("submit",
               rgm_lane_read_at(self, &self->reader, &lease,
                                self->piece * PIECE_BYTES, NULL,
                                &self->reading));
    rgm_collect(&self->collect_read, rgm_here(self), self->reading);
    rgm_ask(self, &self->collect_read,
            RGM_REPLY(mover, rgm_collect, on_read_collected));
}

/* The lease goes from the read that was collected to the write. */
static void
submit_write(struct mover *self)
{
    ours_check("submit",
               rgm_lane_write_at(self, &self->writer, &self->lease,
                                 PIECE_BYTES, self->written * PIECE_BYTES,
                                 NULL, &self->writing));
    rgm_collect(&self->collect_write, rgm_here(self), self->writing);
    rgm_ask(self, &self->collect_write,
            RGM_REPLY(mover, rgm_collect, on_write_collected));
}

static void
submitted_step(struct mover *self)
{
    if (self->written == PIECES) {
        round_over(self);
        return;
    }
    self->out = 0;
    self->out += self->piece > self->written;
    self->out += self->piece < PIECES;
    if (self->piece > self->written)
        submit_write(self);
    if (self->piece < PIECES)
        submit_read(self);
}

static void
copy_submitted(struct mover *self)
{
    self->piece = 0;
    self->written = 0;
    submitted_step(self);
}

static void
on_read_collected(struct mover *self, struct rgm_collect *collect)
{
    check_bytes("read", rgm_status(collect), collect->count, PIECE_BYTES);
    self->piece++;
    self->lease = collect->lease;
    if (--self->out == 0)
        submitted_step(self);
}

static void
on_write_collected(struct mover *self, struct rgm_collect *collect)
{
    check_bytes("write", rgm_status(collect), collect->count, PIECE_BYTES);
    self->written++;
    ours_check("drop", rgm_lease_drop(&collect->lease));
    if (--self->out == 0)
        submitted_step(self);
}

/* ------------------------------------------------------------------ receives */

static void
send_message(void)
{
    if (send(near_end, memory[0], MESSAGE_BYTES, 0) != (ssize_t)MESSAGE_BYTES)
        bench_fail("send", errno);
}

/* It was received: into whom goes it, and how does it end? */
static void
let_go(struct rgm_lease *lease)
{
    struct rgm_view view, other;

    if (mode->hold != VIEW) {
        ours_check("drop", rgm_lease_drop(lease));
        return;
    }
    ours_check("freeze", rgm_lease_freeze(lease, &view));
    other = rgm_view_clone(&view);
    rgm_view_drop(&view);
    rgm_view_drop(&other);
}

static void
borrow(struct mover *self)
{
    char bytes[MESSAGE_BYTES];
    size_t count;
    bool end;

    do {
        send_message();
        ours_check("try",
                   rgm_stream_try_read(self, &self->stream, bytes,
                                       sizeof(bytes), 0, &count, &end));
        check_bytes("try", 0, count, MESSAGE_BYTES);
    } while (round_ends(self));
}

static void
receive_stream(struct mover *self)
{
    if (mode->hold == BORROWED) {
        borrow(self);
        return;
    }
    send_message();
    if (mode->hold == MEMORY) {
        rgm_stream_read(&self->receive, &self->stream, memory[1],
                        MESSAGE_BYTES);
        rgm_ask(self, &self->receive, RGM_REPLY(mover, rgm_read, on_received));
        return;
    }
    rgm_stream_read_pooled(&self->receive_pooled, &self->stream, pool);
    rgm_ask(self, &self->receive_pooled,
            RGM_REPLY(mover, rgm_read_pooled, on_received_pooled));
}

static void
on_received(struct mover *self, struct rgm_read *read)
{
    check_bytes("receive", rgm_status(read), read->count, MESSAGE_BYTES);
    round_over(self);
}

static void
on_received_pooled(struct mover *self, struct rgm_read_pooled *read)
{
    check_bytes("receive", rgm_status(read), read->count, MESSAGE_BYTES);
    let_go(&read->lease);
    round_over(self);
}

static void
receive_datagram(struct mover *self)
{
    void *where = memory[1];

    send_message();
    if (mode->hold != MEMORY) {
        ours_check("lease", rgm_pool_try_acquire(pool, &self->lease));
        where = self->lease.data;
    }
    rgm_packet_read(&self->receive_packet, &self->packet, where, MESSAGE_BYTES,
                    0);
    rgm_ask(self, &self->receive_packet,
            RGM_REPLY(mover, rgm_packet_read, on_received_packet));
}

static void
on_received_packet(struct mover *self, struct rgm_packet_read *read)
{
    check_bytes("receive", rgm_status(read), read->count, MESSAGE_BYTES);
    if (mode->hold != MEMORY)
        let_go(&self->lease);
    round_over(self);
}

/* ------------------------------------------------------------------- set-up */

static void
lanes_open(struct mover *self)
{
    if (mode->begin != copy_submitted)
        return;
    ours_check("share", rgm_file_share(self, &self->from, &self->shares[0]));
    ours_check("share", rgm_file_share(self, &self->to, &self->shares[1]));
    ours_check("lane", rgm_lane_open(&self->reader, self->shares[0],
                                     RGM_LANE_READER));
    ours_check("lane", rgm_lane_open(&self->writer, self->shares[1],
                                     RGM_LANE_WRITER));
}

static void
on_opened(struct mover *self, struct rgm_file_open *open)
{
    ours_check("import", rgm_status(open));
    if (++self->opened < 2)
        return;
    lanes_open(self);
    mode->begin(self);
}

static void
on_stream(struct mover *self, struct rgm_connect *import)
{
    ours_check("import", rgm_status(import));
    mode->begin(self);
}

static void
on_packet(struct mover *self, struct rgm_packet_open *import)
{
    ours_check("import", rgm_status(import));
    mode->begin(self);
}

static int
file_make(bool full)
{
    int fd = memfd_create("buffers", MFD_CLOEXEC);

    for (int i = 0; full && i < PIECES; i++)
        if (write(fd, memory[0], PIECE_BYTES) != (ssize_t)PIECE_BYTES)
            bench_fail("file", errno);
    if (fd < 0)
        bench_fail("file", errno);
    return fd;
}

static void
files_open(struct mover *self)
{
    rgm_file_import(&self->opens[0], rgm_here(self), &self->from,
                    file_make(true));
    rgm_file_import(&self->opens[1], rgm_here(self), &self->to,
                    file_make(false));
    for (int i = 0; i < 2; i++)
        rgm_ask(self, &self->opens[i],
                RGM_REPLY(mover, rgm_file_open, on_opened));
}

static void
mover_started(struct mover *self)
{
    int ends[2];

    if (mode->socket == 0) {
        files_open(self);
        return;
    }
    if (socketpair(AF_UNIX, mode->socket | SOCK_CLOEXEC, 0, ends) != 0)
        bench_fail("sockets", errno);
    near_end = ends[0];
    if (mode->socket == SOCK_STREAM) {
        rgm_stream_import(&self->import_stream, rgm_here(self), &self->stream,
                          ends[1]);
        rgm_ask(self, &self->import_stream,
                RGM_REPLY(mover, rgm_connect, on_stream));
        return;
    }
    rgm_packet_import(&self->import_packet, rgm_here(self), &self->packet,
                      ends[1]);
    rgm_ask(self, &self->import_packet,
            RGM_REPLY(mover, rgm_packet_open, on_packet));
}

static void
mover_stopped(struct mover *self)
{
    if (mode->socket != 0)
        close(near_end);
    if (mode->begin == copy_submitted) {
        rgm_lane_drop(self, &self->reader);
        rgm_lane_drop(self, &self->writer);
        (void)rgm_share_drop(self, &self->shares[0]);
        (void)rgm_share_drop(self, &self->shares[1]);
    }
    (void)rgm_file_drop(self, &self->from);
    (void)rgm_file_drop(self, &self->to);
    (void)rgm_stream_drop(self, &self->stream);
    (void)rgm_packet_drop(self, &self->packet);
}

static const struct rgm_behaviour mover_behaviour = {
    .name = "mover",
    .size_bytes = sizeof(struct mover),
    .started = RGM_DO(mover, mover_started),
    .stopped = RGM_DO(mover, mover_stopped),
};

/* Returns: false when the provider is not there. */
static bool
play(const struct rgm_provider_class *provider)
{
    const struct rgm_runtime_options options = {.workers = 1,
                                                .provider = provider};
    char series[64];

    ours_check("create", rgm_runtime_create(&options, &ours_runtime));
    if (rgm_runtime_start(ours_runtime) < 0) {
        fprintf(stderr, "bench: %s\n", rgm_runtime_error(ours_runtime));
        (void)rgm_runtime_destroy(ours_runtime);
        return false;
    }
    ours_spawn(0, &mover_behaviour, NULL);
    ours_wait();
    snprintf(series, sizeof(series), "%s_%s", provider->name, mode->name);
    bench_report(series, mode->socket == 0 ? "ns_per_kib" : "ns", result_ns,
                 "ns");
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
        .name = "buffers", .slots_count = 8, .slot_size_bytes = PIECE_BYTES};

    if (argc != 2 && argc != 3) {
        fputs("usage: bench_buffers N [ring|epoll|threads]\n", stderr);
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
