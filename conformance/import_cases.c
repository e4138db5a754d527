/* SPDX-License-Identifier: MIT */

/* import_cases.c - what must a provider with descriptors show of those that
 * somebody else has opened, and of its own when somebody else uses them? */

#include "conformance/import_cases.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <unistd.h>

#include <ringmail/detach.h>
#include <ringmail/raw.h>

#include "conformance/scratch.h"

STEP(await_step, rgm_await);

#define HERE rgm_worker_address(0)

/* ------------------------------------------------------- somebody else's side */

static int
family_of(const struct rgm_endpoint *endpoint)
{
    if (endpoint->family == RGM_IPV4)
        return AF_INET;
    return endpoint->family == RGM_IPV6 ? AF_INET6 : AF_UNIX;
}

/* As a program would that knows nothing of us: inherited by whatever it starts,
 * and blocking. */
static int
their_socket(const struct rgm_endpoint *endpoint, int type)
{
    int fd = socket(family_of(endpoint), type, 0);

    rgi_check(fd >= 0);
    return fd;
}

static int
their_bound(const struct rgm_endpoint *endpoint, int type)
{
    struct sockaddr_storage address;
    socklen_t length = peer_to_kernel(endpoint, &address);
    int fd = their_socket(endpoint, type);

    rgi_check(bind(fd, (const struct sockaddr *)&address, length) == 0);
    return fd;
}

static void
their_connect(int fd, int to)
{
    struct sockaddr_storage address;
    socklen_t length = sizeof(address);

    rgi_check(getsockname(to, (struct sockaddr *)&address, &length) == 0);
    rgi_check(connect(fd, (const struct sockaddr *)&address, length) == 0);
}

/* A connection; *ret_peer is its other end. */
static int
their_connection(int listener, const struct rgm_endpoint *endpoint,
                 int *ret_peer)
{
    int fd = their_socket(endpoint, SOCK_STREAM);

    their_connect(fd, listener);
    *ret_peer = peer_accept(listener);
    return fd;
}

static bool
is_non_blocking(int fd)
{
    return (fcntl(fd, F_GETFL) & O_NONBLOCK) != 0;
}

static bool
is_closed_on_exec(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

static bool
same_name(int fd, int (*call)(int, struct sockaddr *, socklen_t *),
          const struct rgm_endpoint *endpoint)
{
    struct sockaddr_storage theirs = {0}, ours = {0};
    socklen_t length = sizeof(theirs), our_length;

    rgi_check(call(fd, (struct sockaddr *)&theirs, &length) == 0);
    if (theirs.ss_family == AF_UNIX &&
        length == offsetof(struct sockaddr, sa_data))
        return endpoint->family == RGM_UNIX && endpoint->path[0] == 0;
    our_length = peer_to_kernel(endpoint, &ours);
    return our_length <= sizeof(ours) && memcmp(&theirs, &ours, length) == 0;
}

static void
names_are_the_sockets(struct stage *stage, struct rgm_socket *socket, int fd)
{
    struct rgm_names names;

    rgm_socket_names(&names, socket);
    rgi_check(rgm_call(stage->runtime, &names) == 0);
    rgi_check(same_name(fd, getsockname, &names.local));
    rgi_check(same_name(fd, getpeername, &names.peer));
}

/* -------------------------------------------------------------------- imports */

static int
import_stream(struct stage *stage, struct rgm_stream *stream, int fd)
{
    struct rgm_connect import;

    *stream = (struct rgm_stream){0};
    rgm_stream_import(&import, HERE, stream, fd);
    return rgm_call(stage->runtime, &import);
}

static int
import_listener(struct stage *stage, struct rgm_listener *listener, int fd)
{
    struct rgm_listen import;

    *listener = (struct rgm_listener){0};
    rgm_listener_import(&import, HERE, listener, fd);
    return rgm_call(stage->runtime, &import);
}

static int
import_packet(struct stage *stage, struct rgm_packet *packet, int fd)
{
    struct rgm_packet_open import;

    *packet = (struct rgm_packet){0};
    rgm_packet_import(&import, HERE, packet, fd);
    return rgm_call(stage->runtime, &import);
}

static int
packet_close(struct stage *stage, struct rgm_packet *packet)
{
    struct rgm_close close;

    rgm_packet_close(&close, packet);
    return rgm_call(stage->runtime, &close);
}

static void
exchange(struct stage *stage, struct rgm_stream *stream, int peer)
{
    char bytes[4];

    rgi_check(stage_write(stage, stream, "ping", 4) == 0);
    peer_receive(peer, bytes, 4);
    rgi_check(memcmp(bytes, "ping", 4) == 0);
    peer_send(peer, "pong", 4);
    stage_read_all(stage, stream, bytes, 4);
    rgi_check(memcmp(bytes, "pong", 4) == 0);
}

static void
goes_on(struct stage *stage, const struct rgm_endpoint *at)
{
    int listener = their_bound(at, SOCK_STREAM);
    struct rgm_stream stream = {0};
    struct rgm_connect import;
    int fd, peer, on = 1;
    char bytes[6];

    rgi_check(listen(listener, 4) == 0);
    fd = their_connection(listener, at, &peer);
    rgi_check(setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on)) == 0);
    peer_send(peer, "before", 6);
    rgi_check(!is_non_blocking(fd) && !is_closed_on_exec(fd));
    rgm_stream_import(&import, HERE, &stream, fd);
    rgi_check(rgm_call(stage->runtime, &import) == 0);
    rgi_check(same_name(fd, getpeername, &import.endpoint));
    rgi_check(is_non_blocking(fd) && is_closed_on_exec(fd));
    names_are_the_sockets(stage, &stream.socket, fd);
    stage_read_all(stage, &stream, bytes, 6);
    rgi_check(memcmp(bytes, "before", 6) == 0);
    exchange(stage, &stream, peer);
    {
        struct rgm_socket_option option;

        rgm_socket_get(&option, &stream.socket, RGM_OPTION_KEEP_ALIVE);
        rgi_check(rgm_call(stage->runtime, &option) == 0 && option.value == 1);
    }
    rgi_check(stage_close_stream(stage, &stream) == 0);
    rgi_check(fcntl(fd, F_GETFD) < 0); /* it was the handle's */
    peer_expect_end(peer);
    peer_close(peer);
    close(listener);
}

static void
unix_path(struct rgm_endpoint *endpoint, const char *what)
{
    *endpoint = (struct rgm_endpoint){.family = RGM_UNIX};
    snprintf(endpoint->path, sizeof(endpoint->path), "/tmp/ringmail-%s-%ld",
             what, (long)getpid());
    (void)unlink(endpoint->path);
}

void
soc_03_imported_connections_go_on(struct stage *stage)
{
    struct rgm_endpoint at = loopback();

    stage_open(stage);
    goes_on(stage, &at);
    if (access("/proc/net/if_inet6", R_OK) == 0) {
        rgi_check(rgm_endpoint_parse("::1", 0, &at) == 0);
        goes_on(stage, &at);
    }
    unix_path(&at, "soc03");
    goes_on(stage, &at);
    rgi_check(unlink(at.path) == 0);
    stage_close(stage);
}

void
soc_03_imported_listeners_keep_their_backlog(struct stage *stage)
{
    struct rgm_endpoint at = loopback();
    struct rgm_socket_option option;
    int early, late, fd = their_bound(&at, SOCK_STREAM);
    struct rgm_stream first = {0}, second = {0};
    struct accept_step accept = {0};
    struct rgm_listen import;

    rgi_check(listen(fd, 4) == 0);
    early = their_socket(&at, SOCK_STREAM);
    their_connect(early, fd); /* in the backlog when it is taken over */
    stage_open(stage);
    rgm_listener_import(&import, HERE, &stage->listener, fd);
    rgi_check(rgm_call(stage->runtime, &import) == 0);
    rgi_check(same_name(fd, getsockname, &import.endpoint));
    rgi_check(is_non_blocking(fd) && is_closed_on_exec(fd));
    rgm_stream_accept(&accept.op, &stage->listener, &first);
    rgi_check(stage_run(stage, &accept) == 0);
    exchange(stage, &first, early);
    rgm_socket_get(&option, &first.socket, RGM_OPTION_NO_DELAY);
    rgi_check(rgm_call(stage->runtime, &option) == 0 && option.value == 1);
    rgm_stream_accept(&accept.op, &stage->listener, &second);
    stage_begin(stage, &accept); /* and waits */
    (void)stage_counters(stage);
    late = their_socket(&at, SOCK_STREAM);
    their_connect(late, fd);
    rgi_check(stage_end(stage, &accept) == 0);
    exchange(stage, &second, late);
    rgi_check(stage_close_stream(stage, &first) == 0);
    rgi_check(stage_close_stream(stage, &second) == 0);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    close(early);
    close(late);
    stage->descriptors -= 2; /* both were open before */
    stage_close(stage);
}

void
soc_03_imported_packet_sockets_keep_their_ends(struct stage *stage)
{
    struct rgm_endpoint at = loopback();
    struct rgm_packet packet = {0};
    struct rgm_packet_open import;
    struct rgm_packet_write write;
    struct rgm_packet_read read;
    int fd, peer;
    char byte;

    stage_open(stage);
    fd = their_bound(&at, SOCK_DGRAM);
    peer = their_bound(&at, SOCK_DGRAM);
    their_connect(fd, peer);
    their_connect(peer, fd);
    rgi_check(send(peer, "b", 1, 0) == 1);
    rgm_packet_import(&import, HERE, &packet, fd);
    rgi_check(rgm_call(stage->runtime, &import) == 0);
    rgi_check(same_name(fd, getsockname, &import.local));
    rgi_check(same_name(fd, getpeername, &import.peer));
    rgi_check(is_non_blocking(fd) && is_closed_on_exec(fd));
    names_are_the_sockets(stage, &packet.socket, fd);
    rgm_packet_read(&read, &packet, &byte, 1, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && byte == 'b');
    rgm_packet_write(&write, &packet, "a", 1, NULL);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(recv(peer, &byte, 1, 0) == 1 && byte == 'a');
    rgi_check(packet_close(stage, &packet) == 0);
    rgi_check(fcntl(fd, F_GETFD) < 0);
    close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------------- refusals */

static void
refused_as_stream(struct stage *stage, int fd, int status)
{
    int of_number = fcntl(fd, F_GETFD), of_socket = fcntl(fd, F_GETFL);
    struct rgm_stream stream;

    rgi_check(import_stream(stage, &stream, fd) == status);
    rgi_check(stream.socket.open == 0 && stream.socket.busy == 0);
    rgi_check(fcntl(fd, F_GETFD) == of_number);
    rgi_check(fcntl(fd, F_GETFL) == of_socket);
}

void
soc_03_what_is_refused_stays_as_it_was(struct stage *stage)
{
    struct rgm_endpoint at = loopback();
    struct rgm_listener listener;
    struct rgm_connect import;
    struct rgm_stream stream;
    int fds[2], fd, closed;

    stage_open(stage);
    rgi_check(pipe(fds) == 0);
    closed = fcntl(fds[0], F_DUPFD_CLOEXEC, 100);
    rgi_check(closed >= 0 && close(closed) == 0);
    refused_as_stream(stage, fds[0], -EINVAL);
    refused_as_stream(stage, closed, -EBADF);
    refused_as_stream(stage, -1, -EBADF);
    close(fds[0]);
    close(fds[1]);
    rgi_check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, fds) == 0);
    refused_as_stream(stage, fds[0], -EINVAL);
    close(fds[0]);
    close(fds[1]);
    fd = their_bound(&at, SOCK_STREAM);
    rgi_check(import_listener(stage, &listener, fd) == -EINVAL);
    rgi_check(listen(fd, 1) == 0);
    refused_as_stream(stage, fd, -EINVAL);
    rgm_stream_import(&import, HERE, NULL, fd);
    rgi_check(rgm_call(stage->runtime, &import) == -EINVAL);
    rgi_check(import_listener(stage, &listener, fd) == 0);
    rgi_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    rgi_check(import_stream(stage, &stream, fds[0]) == 0);
    rgm_stream_import(&import, HERE, &stream, fds[1]);
    rgi_check(rgm_call(stage->runtime, &import) == -EBUSY);
    rgi_check(!is_non_blocking(fds[1]));
    close(fds[1]);
    rgi_check(stage_close_stream(stage, &stream) == 0);
    rgi_check(stage_close_listener(stage, &listener) == 0);
    stage_close(stage);
}

void
pkt_07_imports_refuse_the_other_kind(struct stage *stage)
{
    struct rgm_endpoint at = loopback();
    struct rgm_listener listener;
    struct rgm_packet packet;
    int streams[2], packets[2], udp;

    stage_open(stage);
    rgi_check(socketpair(AF_UNIX, SOCK_STREAM, 0, streams) == 0);
    rgi_check(socketpair(AF_UNIX, SOCK_DGRAM, 0, packets) == 0);
    udp = their_bound(&at, SOCK_DGRAM);
    refused_as_stream(stage, packets[0], -EINVAL);
    refused_as_stream(stage, udp, -EINVAL);
    rgi_check(import_listener(stage, &listener, udp) == -EINVAL);
    rgi_check(import_packet(stage, &packet, streams[0]) == -EINVAL);
    rgi_check(packet.socket.open == 0);
    rgi_check(import_packet(stage, &packet, packets[0]) == 0);
    rgi_check(packet_close(stage, &packet) == 0);
    close(streams[0]);
    close(streams[1]);
    close(packets[1]);
    close(udp);
    stage_close(stage);
}

/* -------------------------------------------------------------------- connect */

static int
tcp_state(int fd)
{
    struct tcp_info about = {0};
    socklen_t length = sizeof(about);

    rgi_check(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &about, &length) == 0);
    return about.tcpi_state;
}

static void
over(struct stage *stage, struct connect_step *connect,
     struct rgm_stream *stream, const struct rgm_endpoint *to)
{
    rgm_stream_connect_over(&connect->op, stream, to);
    stage_begin(stage, connect);
}

void
soc_04_connects_are_not_rolled_back(struct stage *stage)
{
    struct rgm_endpoint nobody = loopback(), busy = loopback();
    struct rgm_endpoint there = loopback();
    struct connect_step connect = {0};
    struct rgm_stream stream;
    int fd, listener, full, first, peer;

    stage_open(stage);
    listener = peer_listen(&nobody, 1);
    peer_close(listener); /* its port is nobody's now */
    full = peer_listen(&busy, 0);
    first = peer_connect(&busy); /* the backlog is full */
    listener = peer_listen(&there, 4);
    fd = their_socket(&there, SOCK_STREAM);
    rgi_check(import_stream(stage, &stream, fd) == 0);
    over(stage, &connect, &stream, &nobody);
    rgi_check(stage_end(stage, &connect) == -ECONNREFUSED);
    rgi_check(stream.socket.open == 1 && stream.socket.busy == 0);
    rgi_check(tcp_state(fd) == TCP_CLOSE);
    over(stage, &connect, &stream, &there); /* the same socket */
    rgi_check(stage_end(stage, &connect) == 0);
    peer = peer_accept(listener);
    exchange(stage, &stream, peer);
    over(stage, &connect, &stream, &there);
    rgi_check(stage_end(stage, &connect) == -EISCONN);
    exchange(stage, &stream, peer);
    rgi_check(stage_close_stream(stage, &stream) == 0);
    peer_close(peer);
    fd = their_socket(&busy, SOCK_STREAM);
    rgi_check(import_stream(stage, &stream, fd) == 0);
    for (int i = 0; i < 2; i++) { /* the second waits for the same one */
        over(stage, &connect, &stream, &busy);
        while (tcp_state(fd) != TCP_SYN_SENT)
            (void)stage_counters(stage);
        rgi_check(stage_is_out(stage, &connect));
        stage_cancel(stage, &connect);
        rgi_check(stage_end(stage, &connect) == -ECANCELED);
        rgi_check(stream.socket.open == 1 && stream.socket.busy == 0);
        rgi_check(tcp_state(fd) == TCP_SYN_SENT); /* it goes on */
    }
    rgi_check(stage_close_stream(stage, &stream) == 0);
    peer_close(first);
    peer_close(full);
    peer_close(listener);
    stage_close(stage);
}

/* What a poll says of a socket that is not connected yet (a hang-up) is no
 * news once it is: nobody goes round and round. */
void
soc_04_hang_up_of_the_unconnected_is_forgotten(struct stage *stage)
{
    const uint32_t rounds = 100 + (uint32_t)rgi_scale(1000);
    struct rgm_endpoint there = loopback();
    struct connect_step connect = {0};
    struct await_step await = {0};
    struct rgm_counters before, after;
    struct rgm_stream stream;
    int listener, peer;
    char bytes[4];

    stage_open(stage);
    listener = peer_listen(&there, 4);
    rgi_check(import_stream(stage, &stream,
                            their_socket(&there, SOCK_STREAM)) == 0);
    for (int i = 0; i < 2; i++) {
        rgm_socket_await(&await.op, &stream.socket, RGM_READABLE);
        rgi_check(stage_run(stage, &await) == 0);
    }
    over(stage, &connect, &stream, &there);
    rgi_check(stage_end(stage, &connect) == 0);
    peer = peer_accept(listener);
    before = stage_counters(stage);
    for (uint32_t i = 0; i < rounds; i++) {
        rgm_socket_await(&await.op, &stream.socket, RGM_READABLE);
        stage_begin(stage, &await);
        rgi_check(stage_write(stage, &stream, "ping", 4) == 0);
        peer_receive(peer, bytes, 4);
        peer_send(peer, bytes, 4);
        rgi_check(stage_end(stage, &await) == 0);
        stage_read_all(stage, &stream, bytes, 4);
    }
    after = stage_counters(stage);
    rgi_check(after.kernel_entries - before.kernel_entries < 32 * rounds);
    rgi_check(after.turns - before.turns < 64 * rounds);
    rgi_check(after.entries_submitted - before.entries_submitted < 16 * rounds);
    rgi_check(stage_close_stream(stage, &stream) == 0);
    peer_close(peer);
    peer_close(listener);
    stage_close(stage);
}

/* ---------------------------------------------------------------- either mode */

struct sender {
    int fd;
    size_t length_bytes;
};

static void *
sender_main(void *argument)
{
    struct sender *sender = argument;
    char bytes[16384];

    for (size_t at = 0; at < sender->length_bytes; at += sizeof(bytes)) {
        pattern_fill(bytes, sizeof(bytes), at);
        peer_send(sender->fd, bytes, sizeof(bytes));
    }
    return NULL;
}

static void
moves(struct stage *stage, int mode, size_t length_bytes)
{
    struct sender sender = {.length_bytes = length_bytes};
    char *bytes = malloc(length_bytes);
    struct rgm_stream stream;
    pthread_t thread;
    int fds[2];

    rgi_check(bytes != NULL);
    rgi_check(socketpair(AF_UNIX, SOCK_STREAM | mode, 0, fds) == 0);
    rgi_check(fcntl(fds[1], F_SETFL, 0) == 0);
    sender.fd = fds[1];
    rgi_check(import_stream(stage, &stream, fds[0]) == 0);
    rgi_check(pthread_create(&thread, NULL, sender_main, &sender) == 0);
    for (size_t at = 0; at < length_bytes;) {
        bool end = false;
        long count = stage_read(stage, &stream, bytes + at, length_bytes - at,
                                &end);

        rgi_check(count > 0 && !end);
        at += (size_t)count;
    }
    rgi_check(pthread_join(thread, NULL) == 0);
    rgi_check(pattern_holds(bytes, length_bytes, 0));
    {
        struct write_step write = {0};

        rgm_stream_write(&write.op, &stream, bytes, length_bytes);
        stage_begin(stage, &write); /* more than a socket takes at once */
        for (size_t at = 0; at < length_bytes;) {
            char piece[16384];

            peer_receive(fds[1], piece, sizeof(piece));
            rgi_check(pattern_holds(piece, sizeof(piece), at));
            at += sizeof(piece);
        }
        rgi_check(stage_end(stage, &write) == 0);
        rgi_check(write.op.count == length_bytes);
    }
    rgi_check(stage_close_stream(stage, &stream) == 0);
    close(fds[1]);
    free(bytes);
}

void
field_b73_imported_in_either_mode(struct stage *stage)
{
    size_t length_bytes = ((size_t)1 << 20) + (rgi_scale(64) << 20);

    stage_open(stage);
    moves(stage, 0, length_bytes);
    moves(stage, SOCK_NONBLOCK, length_bytes);
    stage_close(stage);
}

/* ------------------------------------------------------------------ lent out */

struct loan {
    struct rgm_socket *handle;
    struct rgm_raw raw;
    int status;
};

static void
do_borrow(struct puppet *puppet, void *argument)
{
    struct loan *loan = argument;

    loan->status = rgm_raw_borrow(puppet, loan->handle, &loan->raw);
}

static void
do_give_back(struct puppet *puppet, void *argument)
{
    struct loan *loan = argument;

    rgm_raw_give_back(puppet, &loan->raw);
    rgi_check(loan->raw.handle == NULL && loan->raw.descriptor == 0);
    rgm_raw_give_back(puppet, &loan->raw); /* of nothing */
}

static struct loan
borrow(struct stage *stage, struct rgm_socket *handle)
{
    struct loan loan = {.handle = handle};

    stage_do(stage, do_borrow, &loan);
    return loan;
}

/* What somebody else does with it, knowing nothing of us, on a thread of his. */
static void
use_beside_us(int fd, int peer)
{
    char byte = 0;

    rgi_check(is_closed_on_exec(fd));
    rgi_check(send(fd, "r", 1, MSG_NOSIGNAL) == 1);
    peer_receive(peer, &byte, 1);
    rgi_check(byte == 'r');
    peer_send(peer, "w", 1);
    while (recv(fd, &byte, 1, MSG_DONTWAIT) < 0)
        rgi_check(errno == EAGAIN || errno == EINTR);
    rgi_check(byte == 'w');
}

/* Lent twice: the handle goes on, and is nobody's to close or to move before both
 * are back. */
static void
lend_a_stream(struct stage *stage)
{
    struct rgm_stream near;
    struct rgm_detach detach;
    struct loan first, second;
    char byte;
    int peer = stage_pair(stage, &near);

    first = borrow(stage, &near.socket);
    second = borrow(stage, &near.socket);
    rgi_check(first.status == 0 && second.status == 0);
    rgi_check(first.raw.descriptor == second.raw.descriptor);
    use_beside_us(first.raw.descriptor, peer);
    peer_send(peer, "x", 1);
    rgi_check(stage_read(stage, &near, &byte, 1, &(bool){false}) == 1);
    rgi_check(byte == 'x');
    stage_do(stage, do_give_back, &first);
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    rgm_stream_detach(&detach, &near);
    rgi_check(rgm_call(stage->runtime, &detach) == -EBUSY);
    stage_do(stage, do_give_back, &second);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(borrow(stage, &near.socket).status == -EBADF);
    peer_close(peer);
}

static void
lend_a_file(struct stage *stage, struct scratch *scratch)
{
    struct rgm_file file;
    struct loan loan;

    file_open_both(stage, scratch, &file);
    loan = borrow(stage, &file.handle);
    rgi_check(loan.status == 0 && loan.raw.descriptor == file.descriptor);
    rgi_check(pwrite(loan.raw.descriptor, "lent", 4, 0) == 4);
    rgi_check(file_close(stage, &file) == -EBUSY);
    stage_do(stage, do_give_back, &loan);
    rgi_check(file_close(stage, &file) == 0);
    rgi_check(scratch_holds(scratch->path, "lent"));
}

void
cmp_08_a_lent_descriptor_is_used_beside_us(struct stage *stage)
{
    struct scratch scratch;

    scratch_open(stage, &scratch);
    lend_a_stream(stage);
    lend_a_file(stage, &scratch);
    scratch_close(stage, &scratch);
}

static void
do_borrow_elsewhere(struct puppet *puppet, void *argument)
{
    struct loan *loan = argument;

    loan->status = rgm_raw_borrow(puppet, NULL, &loan->raw);
    rgi_check(loan->status == -EINVAL);
    loan->status = rgm_raw_borrow(puppet, loan->handle, &loan->raw);
}

void
cmp_08_what_is_not_here_is_not_lent(struct stage *stage)
{
    struct rgm_socket none = {0};
    struct rgm_stream near;
    struct loan loan = {.handle = &near.socket, .raw = {.descriptor = 7}};
    int peer;

    stage->options.workers = 2;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    stage_do_on(stage, 1, do_borrow_elsewhere, &loan);
    rgi_check(loan.status == -EXDEV && loan.raw.descriptor == 7);
    rgi_check(borrow(stage, &none).status == -EBADF);
    near.socket.worker.bits ^= UINT64_C(1) << 34; /* of another runtime */
    rgi_check(borrow(stage, &near.socket).status == -EINVAL);
    near.socket.worker.bits ^= UINT64_C(1) << 34;
    rgi_check(stage_busy(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}
