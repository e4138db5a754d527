/* SPDX-License-Identifier: MIT */

/*
 * server_limit.c - how fast can one thread serve sockets over io_uring?
 *
 *     bench_server_limit PORT [REQUEST_BYTES REPLY]
 *
 * Written by hand for this one purpose: multishot accept into the fixed-file
 * table, multishot receive out of a ring of provided buffers, sends straight
 * from the received buffer, one system call per turn. Without further arguments
 * it echoes; with them it sends REPLY for every REQUEST_BYTES received, the
 * least any key-value server could do ("\r" and "\n" in REPLY stand for those
 * characters).
 *
 * Per connection at most one send is out; what arrives meanwhile waits: buffers
 * when it echoes, a number of owed replies otherwise.
 */

#include "bench/bench.h"

#include <arpa/inet.h>
#include <liburing.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/socket.h>

#define CONNECTIONS_MAX 4096
#define BUFFERS 512u
#define BUFFER_BYTES 65536u
#define NO_BUFFER BUFFERS
#define BUFFER_GROUP 1
#define WAITING_MAX 64u
#define REPLIES_AT_ONCE 1024u

enum what { ACCEPTED, RECEIVED, SENT, CLOSED };

struct connection {
    uint64_t received_bytes; /* of a request that is not complete */
    uint64_t owed;           /* replies */
    bool sending;
    uint32_t first, count; /* of `waiting`, a ring */
    struct {
        uint32_t buffer;
        uint32_t length;
    } waiting[WAITING_MAX];
};

static struct io_uring ring;
static struct io_uring_buf_ring *buffer_ring;
static char *buffers;
static int buffers_given; /* and not yet published to the kernel */
static int listener;
static struct connection connections[CONNECTIONS_MAX];
static uint64_t request_bytes; /* 0: echo */
static char *replies;          /* REPLIES_AT_ONCE of them in a row */
static uint64_t reply_bytes;

static struct io_uring_sqe *
entry(void)
{
    struct io_uring_sqe *sqe;

    while ((sqe = io_uring_get_sqe(&ring)) == NULL)
        io_uring_submit(&ring);
    return sqe;
}

static void
name_entry(struct io_uring_sqe *sqe, enum what what, uint32_t connection,
           uint32_t buffer)
{
    sqe->user_data = (uint64_t)what | (uint64_t)connection << 8 |
                     (uint64_t)buffer << 32;
}

static void
arm_accept(void)
{
    struct io_uring_sqe *sqe = entry();

    io_uring_prep_multishot_accept_direct(sqe, listener, NULL, NULL, 0);
    name_entry(sqe, ACCEPTED, 0, 0);
}

static void
arm_receive(uint32_t connection)
{
    struct io_uring_sqe *sqe = entry();

    io_uring_prep_recv_multishot(sqe, (int)connection, NULL, 0, 0);
    sqe->flags |= IOSQE_FIXED_FILE | IOSQE_BUFFER_SELECT;
    sqe->buf_group = BUFFER_GROUP;
    name_entry(sqe, RECEIVED, connection, 0);
}

static void
close_connection(uint32_t connection)
{
    struct io_uring_sqe *sqe = entry();

    io_uring_prep_close_direct(sqe, connection);
    name_entry(sqe, CLOSED, connection, 0);
}

static void
give_buffer(uint32_t buffer)
{
    io_uring_buf_ring_add(buffer_ring, buffers + (size_t)buffer * BUFFER_BYTES,
                          BUFFER_BYTES, (unsigned short)buffer,
                          io_uring_buf_ring_mask(BUFFERS), buffers_given++);
}

static void
send_bytes(uint32_t connection, const char *bytes, size_t length,
           uint32_t buffer)
{
    struct io_uring_sqe *sqe = entry();

    io_uring_prep_send(sqe, (int)connection, bytes, length,
                       MSG_WAITALL | MSG_NOSIGNAL);
    sqe->flags |= IOSQE_FIXED_FILE;
    name_entry(sqe, SENT, connection, buffer);
    connections[connection].sending = true;
}

static void
send_buffer(uint32_t connection, uint32_t buffer, uint32_t length)
{
    send_bytes(connection, buffers + (size_t)buffer * BUFFER_BYTES, length,
               buffer);
}

static void
send_replies(uint32_t number)
{
    struct connection *c = &connections[number];
    uint64_t count = c->owed < REPLIES_AT_ONCE ? c->owed : REPLIES_AT_ONCE;

    c->owed -= count;
    send_bytes(number, replies, count * reply_bytes, NO_BUFFER);
}

static void
take_requests(uint32_t number, uint32_t buffer, uint32_t length)
{
    struct connection *c = &connections[number];

    c->received_bytes += length;
    c->owed += c->received_bytes / request_bytes;
    c->received_bytes %= request_bytes;
    give_buffer(buffer);
    if (c->owed != 0 && !c->sending)
        send_replies(number);
}

static void
take_bytes(uint32_t number, uint32_t buffer, uint32_t length)
{
    struct connection *c = &connections[number];
    uint32_t place = (c->first + c->count) % WAITING_MAX;

    if (!c->sending) {
        send_buffer(number, buffer, length);
        return;
    }
    if (c->count == WAITING_MAX)
        bench_fail("waiting buffers", ENOBUFS);
    c->count++;
    c->waiting[place].buffer = buffer;
    c->waiting[place].length = length;
}

static void
received(const struct io_uring_cqe *cqe, uint32_t number)
{
    if (cqe->res > 0) {
        uint32_t buffer = cqe->flags >> IORING_CQE_BUFFER_SHIFT;

        if (request_bytes != 0)
            take_requests(number, buffer, (uint32_t)cqe->res);
        else
            take_bytes(number, buffer, (uint32_t)cqe->res);
    }
    if (cqe->res <= 0 && cqe->res != -ENOBUFS)
        close_connection(number);
    else if (!(cqe->flags & IORING_CQE_F_MORE))
        arm_receive(number);
}

static void
sent(uint32_t number, uint32_t buffer)
{
    struct connection *c = &connections[number];
    uint32_t place = c->first;

    c->sending = false;
    if (buffer != NO_BUFFER)
        give_buffer(buffer);
    if (c->count != 0) {
        c->first = (place + 1) % WAITING_MAX;
        c->count--;
        send_buffer(number, c->waiting[place].buffer, c->waiting[place].length);
    } else if (c->owed != 0) {
        send_replies(number);
    }
}

static void
accepted(const struct io_uring_cqe *cqe)
{
    if (cqe->res >= 0) {
        memset(&connections[cqe->res], 0, sizeof(connections[0]));
        arm_receive((uint32_t)cqe->res);
    }
    if (!(cqe->flags & IORING_CQE_F_MORE))
        arm_accept();
}

static void
completed(const struct io_uring_cqe *cqe)
{
    uint32_t number = (uint32_t)(cqe->user_data >> 8) & 0xffffff;
    uint32_t buffer = (uint32_t)(cqe->user_data >> 32);

    switch ((enum what)(cqe->user_data & 255)) {
    case ACCEPTED:
        accepted(cqe);
        break;
    case RECEIVED:
        received(cqe, number);
        break;
    case SENT:
        sent(number, buffer);
        break;
    case CLOSED:
        break;
    }
}

static void
serve(void)
{
    for (;;) {
        struct io_uring_cqe *cqe;
        unsigned head, count = 0;

        io_uring_submit_and_wait(&ring, 1);
        io_uring_for_each_cqe(&ring, head, cqe) {
            completed(cqe);
            count++;
        }
        io_uring_cq_advance(&ring, count);
        io_uring_buf_ring_advance(buffer_ring, buffers_given);
        buffers_given = 0;
    }
}

static void
check(const char *what, int status)
{
    if (status < 0)
        bench_fail(what, status);
}

static void
open_ring(void)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                 IORING_SETUP_TASKRUN_FLAG | IORING_SETUP_CQSIZE |
                 IORING_SETUP_SUBMIT_ALL,
        .cq_entries = 8192,
    };

    check("ring", io_uring_queue_init_params(2048, &ring, &params));
    check("ring descriptor", io_uring_register_ring_fd(&ring));
    check("files", io_uring_register_files_sparse(&ring, CONNECTIONS_MAX));
}

static void
open_buffers(void)
{
    struct io_uring_buf_reg reg = {.ring_entries = BUFFERS,
                                   .bgid = BUFFER_GROUP};

    buffers = mmap(NULL, (size_t)BUFFERS * BUFFER_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    buffer_ring = mmap(NULL, BUFFERS * sizeof(struct io_uring_buf),
                       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                       0);
    if (buffers == MAP_FAILED || buffer_ring == MAP_FAILED)
        bench_fail("buffers", ENOMEM);
    reg.ring_addr = (uintptr_t)buffer_ring;
    check("buffer ring", io_uring_register_buf_ring(&ring, &reg, 0));
    io_uring_buf_ring_init(buffer_ring);
    for (uint32_t i = 0; i < BUFFERS; i++)
        give_buffer(i);
    io_uring_buf_ring_advance(buffer_ring, buffers_given);
    buffers_given = 0;
}

static void
open_listener(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int one = 1;

    listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    /* Accepted sockets inherit it. */
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (bind(listener, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(listener, 1024) != 0)
        bench_fail("listen", errno);
}

/* The reply with \r and \n put in, REPLIES_AT_ONCE times. */
static void
make_replies(const char *text)
{
    char *reply = malloc(strlen(text) + 1);

    replies = malloc(REPLIES_AT_ONCE * (strlen(text) + 1));
    if (reply == NULL || replies == NULL)
        bench_fail("replies", ENOMEM);
    for (; *text != '\0'; text++) {
        char next = *text;

        if (next == '\\' && (text[1] == 'r' || text[1] == 'n'))
            next = *++text == 'r' ? '\r' : '\n';
        reply[reply_bytes++] = next;
    }
    for (uint64_t i = 0; i < REPLIES_AT_ONCE; i++)
        memcpy(replies + i * reply_bytes, reply, reply_bytes);
    free(reply);
}

int
main(int argc, char **argv)
{
    if (argc != 2 && argc != 4) {
        fputs("usage: bench_server_limit PORT [REQUEST_BYTES REPLY]\n", stderr);
        return 2;
    }
    if (argc == 4) {
        request_bytes = bench_number(argv[2], UINT64_C(1) << 30);
        make_replies(argv[3]);
    }
    bench_pin(0);
    open_listener((uint16_t)bench_number(argv[1], 65535));
    open_ring();
    open_buffers();
    arm_accept();
    serve();
}
