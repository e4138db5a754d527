/* SPDX-License-Identifier: MIT */

/*
 * w9_ours.c - what do datagrams and bulk bytes cost beside the bare calls?
 *
 *     bench_w9 datagrams|stream SLICES BURSTS
 *
 * One thread, ours the worker's: it sends to a socket of its own on loopback and
 * receives what it has sent. datagrams: bursts of 32 with 64 bytes each, against
 * sendmmsg and recvmmsg, and against as many entries of a bare ring. stream:
 * 256 KiB out and in over TCP, against a bare ring. Each slice of ours lies
 * between two of each limit, all in the same handler's thread, and what is
 * compared is the thread's CPU time.
 */

#include "bench/ours.h"

#include <liburing.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#define BURST 32
#define DATAGRAM_BYTES 64
#define BULK_BYTES ((size_t)256 << 10)
#define RING_ENTRIES 128

enum limit { LIMIT_CALLS, LIMIT_RING, LIMITS };

static uint64_t slices_count, bursts_count;
static bool bulk;

/* ---------------------------------------------------------------- the limits */

static struct io_uring ring;
static int from, to; /* bare sockets, connected */
static char out_bytes[BURST][DATAGRAM_BYTES], in_bytes[BURST][DATAGRAM_BYTES];
static struct mmsghdr out_headers[BURST], in_headers[BURST];
static struct iovec out_pieces[BURST], in_pieces[BURST];
static char *bulk_out, *bulk_in;

static int
bare_socket(int type, struct sockaddr_in *address)
{
    socklen_t length = sizeof(*address);
    int fd = socket(AF_INET, type, 0);

    memset(address, 0, sizeof(*address));
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)address, length) != 0 ||
        getsockname(fd, (struct sockaddr *)address, &length) != 0)
        bench_fail("socket", errno);
    return fd;
}

static void
bare_open(void)
{
    struct sockaddr_in address, own;
    int type = bulk ? SOCK_STREAM : SOCK_DGRAM, one = 1;

    to = bare_socket(type, &address);
    from = bare_socket(type, &own);
    if (bulk && listen(to, 1) != 0)
        bench_fail("listen", errno);
    if (connect(from, (struct sockaddr *)&address, sizeof(address)) != 0)
        bench_fail("connect", errno);
    if (bulk) {
        int listener = to;

        to = accept(listener, NULL, NULL);
        if (to < 0)
            bench_fail("accept", errno);
        close(listener);
        setsockopt(from, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    }
    for (int i = 0; i < BURST; i++) {
        out_pieces[i] = (struct iovec){out_bytes[i], DATAGRAM_BYTES};
        in_pieces[i] = (struct iovec){in_bytes[i], DATAGRAM_BYTES};
        out_headers[i].msg_hdr.msg_iov = &out_pieces[i];
        out_headers[i].msg_hdr.msg_iovlen = 1;
        in_headers[i].msg_hdr.msg_iov = &in_pieces[i];
        in_headers[i].msg_hdr.msg_iovlen = 1;
    }
}

static void
ring_open(void)
{
    unsigned flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
    int status = io_uring_queue_init(RING_ENTRIES, &ring, flags);

    if (status < 0)
        bench_fail("ring", status);
}

static void
calls_burst(void)
{
    if (sendmmsg(from, out_headers, BURST, 0) != BURST ||
        recvmmsg(to, in_headers, BURST, 0, NULL) != BURST)
        bench_fail("burst", errno != 0 ? errno : EPROTO);
}

/* Submits all and takes so many results, which are not to be errors.
 * Returns: their sum for entries that were told by `which`. */
static size_t
ring_turn(unsigned count, uint64_t which)
{
    struct io_uring_cqe *cqe;
    size_t sum = 0;
    unsigned head, seen = 0;
    int status = io_uring_submit_and_wait(&ring, count);

    if (status < 0)
        bench_fail("submit", status);
    io_uring_for_each_cqe(&ring, head, cqe)
    {
        if (cqe->res <= 0)
            bench_fail("transfer", cqe->res != 0 ? cqe->res : EPROTO);
        if (cqe->user_data == which)
            sum += (size_t)cqe->res;
        seen++;
    }
    io_uring_cq_advance(&ring, seen);
    return sum;
}

static void
ring_burst(void)
{
    for (int i = 0; i < BURST; i++)
        io_uring_prep_sendmsg(io_uring_get_sqe(&ring), from,
                              &out_headers[i].msg_hdr, 0);
    (void)ring_turn(BURST, 0);
    for (int i = 0; i < BURST; i++)
        io_uring_prep_recvmsg(io_uring_get_sqe(&ring), to,
                              &in_headers[i].msg_hdr, 0);
    (void)ring_turn(BURST, 0);
}

/* One send of everything, and receives until all of it is there. */
static void
ring_bulk(void)
{
    struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
    size_t received = 0, sent = 0;

    io_uring_prep_send(sqe, from, bulk_out, BULK_BYTES, MSG_WAITALL);
    sqe->user_data = 1;
    while (received < BULK_BYTES || sent < BULK_BYTES) {
        struct io_uring_cqe *cqe;

        if (received < BULK_BYTES) {
            sqe = io_uring_get_sqe(&ring);
            io_uring_prep_recv(sqe, to, bulk_in, BULK_BYTES - received, 0);
            sqe->user_data = 2;
        }
        do {
            int status = io_uring_submit_and_wait(&ring, 1);

            if (status < 0 || io_uring_peek_cqe(&ring, &cqe) != 0 ||
                cqe->res <= 0)
                bench_fail("bulk", status < 0 ? status : EPROTO);
            if (cqe->user_data == 1)
                sent += (size_t)cqe->res;
            else
                received += (size_t)cqe->res;
            status = cqe->user_data == 1 && received < BULK_BYTES;
            io_uring_cqe_seen(&ring, cqe);
            if (!status)
                break;
        } while (true);
    }
}

/* Returns: CPU time per datagram, or per KiB. */
static double
limit_slice(enum limit limit)
{
    uint64_t begin_ns = bench_cpu_now_ns();
    uint64_t units = bursts_count * (bulk ? BULK_BYTES >> 10 : BURST);

    for (uint64_t i = 0; i < bursts_count; i++) {
        if (bulk)
            ring_bulk();
        else if (limit == LIMIT_CALLS)
            calls_burst();
        else
            ring_burst();
    }
    return (double)(bench_cpu_now_ns() - begin_ns) / (double)units;
}

/* ------------------------------------------------------------------- ours */

static struct bench_slices slices[LIMITS];

struct mover {
    struct rgm_actor actor;
    struct rgm_packet packet_from, packet_to;
    struct rgm_stream stream_from, stream_to;
    struct rgm_listener listener;
    union { /* one at a time */
        struct rgm_packet_open packet;
        struct rgm_listen listen;
        struct rgm_connect connect;
        struct rgm_accept accept;
    } setup;
    struct rgm_packet_write writes[BURST];
    struct rgm_packet_read reads[BURST];
    struct rgm_write write;
    struct rgm_read read;
    size_t received_bytes;
    bool written;
    uint32_t answered;
    uint64_t bursts, slice, begin_ns;
};

RGM_HOOK(mover, mover_started);
RGM_ANSWER(mover, rgm_packet_open, on_to_open);
RGM_ANSWER(mover, rgm_packet_open, on_from_open);
RGM_ANSWER(mover, rgm_listen, on_listening);
RGM_ANSWER(mover, rgm_connect, on_connected);
RGM_ANSWER(mover, rgm_accept, on_accepted);
RGM_ANSWER(mover, rgm_packet_write, on_packet_written);
RGM_ANSWER(mover, rgm_packet_read, on_packet_read);
RGM_ANSWER(mover, rgm_write, on_written);
RGM_ANSWER(mover, rgm_read, on_read);

static void
limits_measure(uint64_t slice)
{
    for (int limit = bulk ? LIMIT_RING : 0; limit < LIMITS; limit++)
        slices[limit].limit[slice] = limit_slice((enum limit)limit);
}

static void
bulk_read(struct mover *self)
{
    rgm_stream_read(&self->read, &self->stream_to, bulk_in,
                    BULK_BYTES - self->received_bytes);
    rgm_ask(self, &self->read, RGM_REPLY(mover, rgm_read, on_read));
}

static void
burst_begin(struct mover *self)
{
    if (bulk) {
        self->received_bytes = 0;
        self->written = false;
        rgm_stream_write(&self->write, &self->stream_from, bulk_out,
                         BULK_BYTES);
        rgm_ask(self, &self->write, RGM_REPLY(mover, rgm_write, on_written));
        bulk_read(self);
        return;
    }
    self->answered = 0;
    for (int i = 0; i < BURST; i++) {
        rgm_packet_write(&self->writes[i], &self->packet_from, out_bytes[i],
                         DATAGRAM_BYTES, NULL);
        rgm_ask(self, &self->writes[i],
                RGM_REPLY(mover, rgm_packet_write, on_packet_written));
    }
}

static void
slice_begin(struct mover *self)
{
    limits_measure(self->slice);
    if (self->slice == slices_count) {
        rgm_runtime_stop(ours_runtime);
        return;
    }
    self->bursts = 0;
    self->begin_ns = bench_cpu_now_ns();
    burst_begin(self);
}

static void
burst_end(struct mover *self)
{
    uint64_t units = bursts_count * (bulk ? BULK_BYTES >> 10 : BURST);
    double ns;

    if (++self->bursts < bursts_count) {
        burst_begin(self);
        return;
    }
    ns = (double)(bench_cpu_now_ns() - self->begin_ns) / (double)units;
    for (int limit = 0; limit < LIMITS; limit++)
        slices[limit].ours[self->slice] = ns;
    self->slice++;
    slice_begin(self);
}

/* -- datagrams -- */

static void
on_packet_written(struct mover *self, struct rgm_packet_write *write)
{
    ours_check("write", rgm_status(write));
    if (++self->answered < BURST)
        return;
    self->answered = 0;
    for (int i = 0; i < BURST; i++) {
        rgm_packet_read(&self->reads[i], &self->packet_to, in_bytes[i],
                        DATAGRAM_BYTES, 0);
        rgm_ask(self, &self->reads[i],
                RGM_REPLY(mover, rgm_packet_read, on_packet_read));
    }
}

static void
on_packet_read(struct mover *self, struct rgm_packet_read *read)
{
    ours_check("read", rgm_status(read));
    if (++self->answered == BURST)
        burst_end(self);
}

static void
on_to_open(struct mover *self, struct rgm_packet_open *open)
{
    struct rgm_endpoint peer = open->local;

    ours_check("open", rgm_status(open));
    rgm_packet_open(open, rgm_here(self), &self->packet_from, NULL, &peer);
    rgm_ask(self, open, RGM_REPLY(mover, rgm_packet_open, on_from_open));
}

static void
on_from_open(struct mover *self, struct rgm_packet_open *open)
{
    ours_check("open", rgm_status(open));
    slice_begin(self);
}

/* -- stream -- */

static void
on_listening(struct mover *self, struct rgm_listen *listen)
{
    struct rgm_endpoint endpoint = listen->endpoint;

    ours_check("listen", rgm_status(listen));
    rgm_stream_connect(&self->setup.connect, rgm_here(self),
                       &self->stream_from, &endpoint);
    rgm_ask(self, &self->setup.connect,
            RGM_REPLY(mover, rgm_connect, on_connected));
}

static void
on_connected(struct mover *self, struct rgm_connect *connect)
{
    ours_check("connect", rgm_status(connect));
    rgm_stream_accept(&self->setup.accept, &self->listener, &self->stream_to);
    rgm_ask(self, &self->setup.accept,
            RGM_REPLY(mover, rgm_accept, on_accepted));
}

static void
on_accepted(struct mover *self, struct rgm_accept *accept)
{
    ours_check("accept", rgm_status(accept));
    slice_begin(self);
}

static void
bulk_look(struct mover *self)
{
    if (self->written && self->received_bytes == BULK_BYTES)
        burst_end(self);
}

static void
on_written(struct mover *self, struct rgm_write *write)
{
    ours_check("write", rgm_status(write));
    self->written = true;
    bulk_look(self);
}

static void
on_read(struct mover *self, struct rgm_read *read)
{
    ours_check("read", rgm_status(read));
    self->received_bytes += read->count;
    if (self->received_bytes < BULK_BYTES)
        bulk_read(self);
    else
        bulk_look(self);
}

static void
mover_started(struct mover *self)
{
    struct rgm_endpoint here;

    ours_check("endpoint", rgm_endpoint_parse("127.0.0.1", 0, &here));
    bare_open();
    ring_open();
    if (bulk) {
        rgm_stream_listen(&self->setup.listen, rgm_here(self), &self->listener,
                          &here, false);
        rgm_ask(self, &self->setup.listen,
                RGM_REPLY(mover, rgm_listen, on_listening));
        return;
    }
    rgm_packet_open(&self->setup.packet, rgm_here(self), &self->packet_to,
                    &here, NULL);
    rgm_ask(self, &self->setup.packet,
            RGM_REPLY(mover, rgm_packet_open, on_to_open));
}

static const struct rgm_behaviour mover_behaviour = {
    .name = "mover",
    .size_bytes = sizeof(struct mover),
    .started = RGM_DO(mover, mover_started),
};

int
main(int argc, char **argv)
{
    if (argc != 4) {
        fputs("usage: bench_w9 datagrams|stream SLICES BURSTS\n", stderr);
        return 2;
    }
    bulk = strcmp(argv[1], "stream") == 0;
    slices_count = bench_number(argv[2], BENCH_SLICES_MAX);
    bursts_count = bench_number(argv[3], UINT64_C(1) << 20);
    bulk_out = calloc(1, BULK_BYTES);
    bulk_in = calloc(1, BULK_BYTES);
    if (bulk_out == NULL || bulk_in == NULL)
        bench_fail("memory", ENOMEM);
    for (int i = 0; i < LIMITS; i++)
        slices[i].count = slices_count;
    ours_start(1, 0);
    ours_spawn(0, &mover_behaviour, NULL);
    ours_wait();
    if (!bulk)
        bench_slices_report(&slices[LIMIT_CALLS], "datagrams_mmsg", 1);
    bench_slices_report(&slices[LIMIT_RING],
                        bulk ? "stream_ring" : "datagrams_ring", 1);
    return 0;
}
