/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_PROVIDER_TEST_H
#define CAPABILITIES_PROVIDER_TEST_H

/*
 * provider_test.h - does a provider carry streams as stream.h promises?
 *
 * The same cases for every provider that has a kernel below it; a test program
 * names the provider and expands the list:
 *
 *     #define STREAM_CLASS (&rgm_provider_threads)
 *     #include "capabilities/provider_test.h"
 *
 *     #define CASES(X) STREAM_CASES(X, threads_stream)
 *     RGI_CASES(CASES)
 *
 * One side of a connection is the provider's, the other (the peer) a plain
 * blocking socket of the test's: so a case decides what is on the wire.
 */

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include "base/memory.h"
#include "capabilities/desk.h"
#include "capabilities/endpoint.h"

/* ------------------------------------------------------------------ the set */

/* A desk with a listener on the loopback. */
struct hall {
    struct desk desk;
    struct rgm_listener listener;
    struct rgm_endpoint endpoint;
    unsigned descriptors; /* before it was opened */
};

/* Below the limit of a full run; the test runner's own are in it too. */
#define DESCRIPTORS_SEEN 30000

static unsigned
descriptors_open(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < DESCRIPTORS_SEEN; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void
hall_open(struct hall *hall)
{
    *hall = (struct hall){.descriptors = descriptors_open()};
    desk_open(&hall->desk, STREAM_CLASS, 2);
    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &hall->endpoint) == 0);
    rgi_check(desk_listen(&hall->desk, &hall->listener, &hall->endpoint) == 0);
    rgi_check(hall->endpoint.port != 0);
}

/* All descriptors that were ever made are closed again. */
static void
hall_close(struct hall *hall)
{
    rgi_check(desk_close_socket(&hall->desk, &hall->listener.socket) == 0);
    desk_close(&hall->desk, STREAM_CLASS);
    rgi_check(descriptors_open() == hall->descriptors);
}

static int
peer_dial(const struct hall *hall, int flags)
{
    struct sockaddr_storage address;
    socklen_t length = rgi_endpoint_to_kernel(&hall->endpoint, &address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);

    rgi_check(fd >= 0);
    if (connect(fd, (const struct sockaddr *)&address, length) < 0)
        rgi_check(errno == EINPROGRESS);
    return fd;
}

/* An accepted stream. Returns: its peer. */
static int
hall_stream(struct hall *hall, struct rgm_stream *stream)
{
    struct rgm_accept accept;
    int peer = peer_dial(hall, 0);

    *stream = (struct rgm_stream){0};
    rgm_stream_accept(&accept, &hall->listener, stream);
    rgi_check(desk_run(&hall->desk, &accept) == 0);
    rgi_check(stream->socket.open == 1);
    return peer;
}

static void
hall_hang_up(struct hall *hall, struct rgm_stream *stream, int peer)
{
    rgi_check(desk_close_socket(&hall->desk, &stream->socket) == 0);
    close(peer);
}

static void
peer_send(int peer, const void *data, size_t length)
{
    rgi_check(send(peer, data, length, MSG_NOSIGNAL) == (ssize_t)length);
}

/* Resets the connection instead of ending it. */
static void
peer_reset(int peer)
{
    struct linger now = {1, 0};

    rgi_check(setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
    close(peer);
}

static uint64_t
stream_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static struct rgm_pool *
slots_of(uint32_t count, size_t slot_bytes)
{
    struct rgm_pool_options options = {.slots_count = count,
                                       .slot_size_bytes = slot_bytes};
    struct rgm_pool *pool = NULL;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

/* Lets the provider work for a while, whatever comes. */
static void
hall_pass(struct hall *hall, uint64_t duration_ns)
{
    struct rgm_provider *provider = hall->desk.provider;

    (void)desk_take(&hall->desk, provider->ops->now(provider) + duration_ns);
}

/* ---------------------------------------------------------------- lifecycle */

static void
lifecycle_names(struct desk *desk, struct rgm_stream *near,
                struct rgm_stream *far, struct rgm_listener *listener,
                const struct rgm_endpoint *endpoint)
{
    struct rgm_names names, other;

    rgm_socket_names(&names, &near->socket);
    rgi_check(desk_run(desk, &names) == 0);
    rgi_check(memcmp(&names.peer, endpoint, sizeof(*endpoint)) == 0);
    rgm_socket_names(&other, &far->socket);
    rgi_check(desk_run(desk, &other) == 0);
    rgi_check(memcmp(&names.local, &other.peer, sizeof(names.local)) == 0);
    rgm_socket_names(&other, &listener->socket);
    rgi_check(desk_run(desk, &other) == 0);
    rgi_check(memcmp(&other.local, endpoint, sizeof(*endpoint)) == 0);
    rgi_check(other.peer.family == 0);
}

/* Both directions, then half of it is closed and the other half goes on. */
static void
lifecycle_exchange(struct desk *desk, struct rgm_stream *near,
                   struct rgm_stream *far)
{
    struct rgm_shutdown shutdown;
    char bytes[16];
    bool over = true;

    rgi_check(desk_write(desk, near, "ask", 3) == 0);
    rgi_check(desk_read(desk, far, bytes, sizeof(bytes), &over) == 3);
    rgi_check(!over && memcmp(bytes, "ask", 3) == 0);
    rgm_stream_shutdown(&shutdown, near);
    rgi_check(desk_run(desk, &shutdown) == 0);
    rgi_check(desk_run(desk, &shutdown) == 0);
    rgi_check(desk_read(desk, far, bytes, sizeof(bytes), &over) == 0 && over);
    rgi_check(desk_write(desk, near, "late", 4) == -EPIPE);
    rgi_check(desk_write(desk, far, "answer", 6) == 0);
    rgi_check(desk_read(desk, near, bytes, sizeof(bytes), &over) == 6);
    rgi_check(!over && memcmp(bytes, "answer", 6) == 0);
}

static void
lifecycle_on(struct rgm_endpoint *endpoint)
{
    unsigned before = descriptors_open();
    struct rgm_listener listener = {0};
    struct rgm_stream near = {0}, far = {0};
    struct desk desk;

    desk_open(&desk, STREAM_CLASS, 2);
    rgi_check(desk_listen(&desk, &listener, endpoint) == 0);
    desk_connect(&desk, &listener, endpoint, &near, &far);
    lifecycle_names(&desk, &near, &far, &listener, endpoint);
    lifecycle_exchange(&desk, &near, &far);
    rgi_check(desk_close_socket(&desk, &near.socket) == 0);
    rgi_check(desk_close_socket(&desk, &far.socket) == 0);
    rgi_check(desk_close_socket(&desk, &listener.socket) == 0);
    rgi_check(desk_close_socket(&desk, &listener.socket) == -EBADF);
    desk_close(&desk, STREAM_CLASS);
    rgi_check(descriptors_open() == before);
}

static void
lifecycle_on_ipv4(void)
{
    struct rgm_endpoint endpoint;

    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &endpoint) == 0);
    lifecycle_on(&endpoint);
    rgi_check(endpoint.port != 0);
}

static bool
machine_has_ipv6(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6,
                                   .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (const struct sockaddr *)&address,
                               sizeof(address)) == 0;

    if (fd >= 0)
        close(fd);
    return has;
}

static void
lifecycle_on_ipv6(void)
{
    struct rgm_endpoint endpoint;

    if (!machine_has_ipv6()) {
        fprintf(stderr, "# no IPv6 here\n");
        return;
    }
    rgi_check(rgm_endpoint_parse("::1", 0, &endpoint) == 0);
    lifecycle_on(&endpoint);
}

static void
lifecycle_on_unix(void)
{
    struct rgm_endpoint endpoint;
    char path[64];

    snprintf(path, sizeof(path), "/tmp/ringmail-%s-%ld", STREAM_CLASS->name,
             (long)getpid());
    unlink(path);
    rgi_check(rgm_endpoint_parse(path, 0, &endpoint) == 0);
    lifecycle_on(&endpoint);
    unlink(path);
}

/* ---------------------------------------------------- listen, accept, connect */

static void
failed_listen_and_connect_touch_nothing(void)
{
    struct rgm_endpoint nowhere = {.family = RGM_UNIX, .path = "/none/there"};
    struct rgm_listener other = {0};
    struct rgm_stream stream = {0};
    struct rgm_connect connect;
    struct rgm_listen listen;
    struct hall hall;
    unsigned before;

    hall_open(&hall);
    before = descriptors_open();
    rgm_stream_listen(&listen, desk_here, &other, &hall.endpoint, false);
    rgi_check(desk_run(&hall.desk, &listen) == -EADDRINUSE);
    rgm_stream_listen(&listen, desk_here, &other, &nowhere, false);
    rgi_check(desk_run(&hall.desk, &listen) == -ENOENT);
    rgm_stream_connect(&connect, desk_here, &stream, &nowhere);
    rgi_check(desk_run(&hall.desk, &connect) == -ENOENT);
    nowhere = hall.endpoint;
    rgi_check(desk_close_socket(&hall.desk, &hall.listener.socket) == 0);
    rgm_stream_connect(&connect, desk_here, &stream, &nowhere);
    rgi_check(desk_run(&hall.desk, &connect) == -ECONNREFUSED);
    rgi_check(other.socket.open == 0 && stream.socket.open == 0);
    rgi_check(other.socket.busy == 0 && stream.socket.busy == 0);
    rgi_check(descriptors_open() == before - 1);
    hall.endpoint.port = 0;
    rgi_check(desk_listen(&hall.desk, &hall.listener, &hall.endpoint) == 0);
    hall_close(&hall);
}

static void
shared_port_is_shared(void)
{
    struct rgm_listener first = {0}, second = {0};
    struct rgm_listen listen;
    struct hall hall;

    hall_open(&hall);
    hall.endpoint.port = 0;
    rgm_stream_listen(&listen, desk_here, &first, &hall.endpoint, true);
    rgi_check(desk_run(&hall.desk, &listen) == 0);
    hall.endpoint = listen.endpoint;
    rgm_stream_listen(&listen, desk_here, &second, &hall.endpoint, true);
    rgi_check(desk_run(&hall.desk, &listen) == 0);
    rgi_check(listen.endpoint.port == hall.endpoint.port);
    rgi_check(desk_close_socket(&hall.desk, &first.socket) == 0);
    rgi_check(desk_close_socket(&hall.desk, &second.socket) == 0);
    hall_close(&hall);
}

/* The peer's name when it is wanted; no delay is on. */
static void
accepted_stream_is_set_up(void)
{
    struct rgm_stream stream = {0};
    struct rgm_socket_option option;
    struct sockaddr_in name;
    socklen_t length = sizeof(name);
    struct rgm_accept accept;
    struct hall hall;
    int peer;

    hall_open(&hall);
    rgm_stream_accept(&accept, &hall.listener, &stream);
    accept.want_peer = true;
    desk_start(&hall.desk, &accept);
    peer = peer_dial(&hall, 0);
    rgi_check(desk_await(&hall.desk, &accept) == 0);
    rgi_check(getsockname(peer, (struct sockaddr *)&name, &length) == 0);
    rgi_check(accept.peer.family == RGM_IPV4);
    rgi_check(accept.peer.port == ntohs(name.sin_port));
    rgm_socket_get(&option, &stream.socket, RGM_OPTION_NO_DELAY);
    rgi_check(desk_run(&hall.desk, &option) == 0 && option.value != 0);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

/* Cancelled at random moments around the arrival of a connection: it was
 * delivered and is closed, or it is the next accept's. No descriptor leaks. */
static void
soc_05_accept_that_raced_a_cancel_leaks_nothing(void)
{
    uint64_t random = rgi_seed();
    uint64_t rounds = rgi_scale(10000);
    struct rgm_stream stream;
    struct rgm_accept accept;
    struct hall hall;
    unsigned before;

    hall_open(&hall);
    before = descriptors_open();
    for (uint64_t i = 0; i < rounds; i++) {
        int peer;

        stream = (struct rgm_stream){0};
        rgm_stream_accept(&accept, &hall.listener, &stream);
        desk_start(&hall.desk, &accept);
        if (stream_random(&random) % 2 == 0)
            (void)desk_take(&hall.desk, 1);
        peer = peer_dial(&hall, 0);
        if (stream_random(&random) % 2 == 0)
            (void)desk_take(&hall.desk, 1);
        desk_cancel(&hall.desk, &accept);
        if (desk_await(&hall.desk, &accept) < 0) {
            rgi_check(rgm_status(&accept) == -ECANCELED);
            rgi_check(stream.socket.open == 0);
            rgi_check(desk_run(&hall.desk, &accept) == 0);
        }
        hall_hang_up(&hall, &stream, peer);
    }
    rgi_check(descriptors_open() == before);
    hall_close(&hall);
}

/* No descriptor is free: the answer says so, the connection stays in the
 * backlog, and the listener goes on. */
static void
listener_survives_emfile(void)
{
    struct rlimit limit, tight;
    struct rgm_stream stream = {0};
    struct rgm_accept accept;
    struct hall hall;
    int peer, probe;

    hall_open(&hall);
    peer = peer_dial(&hall, 0);
    probe = dup(peer);
    rgi_check(probe >= 0 && close(probe) == 0);
    rgi_check(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    tight = limit;
    tight.rlim_cur = (rlim_t)probe;
    rgi_check(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    rgm_stream_accept(&accept, &hall.listener, &stream);
    for (int i = 0; i < 3; i++)
        rgi_check(desk_run(&hall.desk, &accept) == -EMFILE);
    rgi_check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    rgi_check(desk_run(&hall.desk, &accept) == 0);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

/* A connect that cannot finish: the listener's queue is full. The last of
 * these may find a place at once, so any of both outcomes is right for it. */
static void
cancelled_connect_leaks_nothing(void)
{
    struct rgm_endpoint endpoint;
    struct rgm_listener full = {0};
    struct rgm_stream streams[4];
    struct rgm_connect connects[4];
    struct rgm_listen listen;
    struct hall hall;
    unsigned before;

    hall_open(&hall);
    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &endpoint) == 0);
    rgm_stream_listen(&listen, desk_here, &full, &endpoint, false);
    listen.backlog = 1;
    memset(streams, 0, sizeof(streams));
    before = descriptors_open();
    rgi_check(desk_run(&hall.desk, &listen) == 0);
    for (int i = 0; i < 4; i++) {
        rgm_stream_connect(&connects[i], desk_here, &streams[i],
                           &listen.endpoint);
        desk_start(&hall.desk, &connects[i]);
        if (i == 0) /* it finds room; of the others nobody knows who does */
            rgi_check(desk_await(&hall.desk, &connects[0]) == 0);
    }
    for (int i = 1; i < 4; i++)
        desk_cancel(&hall.desk, &connects[i]);
    for (int i = 0; i < 4; i++) {
        int status = desk_await(&hall.desk, &connects[i]);

        rgi_check(status == 0 || status == -ECANCELED);
        rgi_check((status == 0) == (streams[i].socket.open == 1));
        if (status == 0)
            rgi_check(desk_close_socket(&hall.desk, &streams[i].socket) == 0);
    }
    rgi_check(desk_close_socket(&hall.desk, &full.socket) == 0);
    rgi_check(descriptors_open() == before);
    hall_close(&hall);
}

/* ------------------------------------------------------------------ options */

static void
option_round_trip(struct desk *desk, struct rgm_socket *socket,
                  enum rgm_option which, int32_t value, int32_t reported)
{
    struct rgm_socket_option option;

    rgm_socket_set(&option, socket, which, value);
    rgi_check(desk_run(desk, &option) == 0);
    rgm_socket_get(&option, socket, which);
    rgi_check(desk_run(desk, &option) == 0);
    rgi_check(option.value == reported);
}

/* Get returns what the kernel reports: it doubles buffer sizes, socket(7). */
static void
soc_02_options_are_what_the_kernel_reports(void)
{
    struct rgm_stream stream;
    struct rgm_socket *socket = &stream.socket;
    struct hall hall;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    option_round_trip(&hall.desk, socket, RGM_OPTION_NO_DELAY, 0, 0);
    option_round_trip(&hall.desk, socket, RGM_OPTION_NO_DELAY, 1, 1);
    option_round_trip(&hall.desk, socket, RGM_OPTION_KEEP_ALIVE, 1, 1);
    option_round_trip(&hall.desk, socket, RGM_OPTION_KEEP_ALIVE, 0, 0);
    option_round_trip(&hall.desk, socket, RGM_OPTION_RECEIVE_BUFFER, 20000,
                      40000);
    option_round_trip(&hall.desk, socket, RGM_OPTION_SEND_BUFFER, 30000,
                      60000);
    option_round_trip(&hall.desk, socket, RGM_OPTION_LINGER_SECONDS, 0, 0);
    option_round_trip(&hall.desk, socket, RGM_OPTION_LINGER_SECONDS, 7, 7);
    option_round_trip(&hall.desk, socket, RGM_OPTION_LINGER_SECONDS, -1, -1);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

/* -------------------------------------------------------------------- reads */

static void
srd_02_pooled_read_yields_a_chunk_then_the_end(void)
{
    struct rgm_pool *pool = slots_of(1, 64);
    struct rgm_read_pooled read;
    struct rgm_stream stream;
    struct rgm_view view;
    struct hall hall;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    peer_send(peer, "chunk", 5);
    close(peer);
    rgm_stream_read_pooled(&read, &stream, pool);
    rgi_check(desk_run(&hall.desk, &read) == 0);
    rgi_check(read.count == 5 && !read.end);
    rgi_check(read.lease.length_bytes == 5);
    rgi_check(rgm_lease_freeze(&read.lease, &view) == 0);
    rgi_check(memcmp(view.data, "chunk", 5) == 0);
    rgm_view_drop(&view);
    for (int i = 0; i < 2; i++) {
        rgi_check(desk_run(&hall.desk, &read) == 0);
        rgi_check(read.count == 0 && read.end);
        rgi_check(!rgm_lease_active(&read.lease));
        rgi_check(rgm_pool_free_count(pool) == 1);
    }
    rgi_check(desk_close_socket(&hall.desk, &stream.socket) == 0);
    hall_close(&hall);
    rgm_pool_destroy(pool);
}

/* Three different answers. */
static void
empty_read_is_not_the_end(void)
{
    struct rgm_stream stream;
    struct hall hall;
    char bytes[4];
    bool over;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    over = true;
    rgi_check(desk_read(&hall.desk, &stream, bytes, 0, &over) == 0 && !over);
    peer_send(peer, "x", 1);
    over = true;
    rgi_check(desk_read(&hall.desk, &stream, bytes, 0, &over) == 0 && !over);
    rgi_check(desk_read(&hall.desk, &stream, bytes, 4, &over) == 1 && !over);
    close(peer);
    rgi_check(desk_read(&hall.desk, &stream, NULL, 0, &over) == 0 && !over);
    rgi_check(desk_read(&hall.desk, &stream, bytes, 4, &over) == 0 && over);
    rgi_check(desk_close_socket(&hall.desk, &stream.socket) == 0);
    hall_close(&hall);
}

static void
opl_07_read_is_one_transfer(void)
{
    struct rgm_stream stream;
    struct hall hall;
    char bytes[10];
    bool over;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    memset(bytes, '-', sizeof(bytes));
    peer_send(peer, "abc", 3);
    rgi_check(desk_read(&hall.desk, &stream, bytes, 10, &over) == 3);
    rgi_check(memcmp(bytes, "abc-------", 10) == 0);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

/* The descriptor at the other end of the peer's connection. */
static int
descriptor_across(int peer)
{
    struct sockaddr_in name, other;
    socklen_t length = sizeof(name);

    rgi_check(getsockname(peer, (struct sockaddr *)&name, &length) == 0);
    for (int fd = 3; fd < 4096; fd++) {
        length = sizeof(other);
        if (getpeername(fd, (struct sockaddr *)&other, &length) == 0 &&
            other.sin_family == AF_INET && other.sin_port == name.sin_port)
            return fd;
    }
    return -1;
}

/* What the peer sent stays in the kernel: before anybody reads, and after a
 * read of a part of it. */
static void
srd_05_reception_is_on_demand(void)
{
    static const char sent[65536];
    struct rgm_stream stream;
    struct hall hall;
    char bytes[16];
    bool over;
    int peer, fd, queued = 0;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    fd = descriptor_across(peer);
    peer_send(peer, sent, sizeof(sent));
    while (queued != (int)sizeof(sent)) {
        hall_pass(&hall, 5 * RGM_NS_PER_MS);
        rgi_check(ioctl(fd, FIONREAD, &queued) == 0);
    }
    rgi_check(desk_read(&hall.desk, &stream, bytes, 16, &over) == 16);
    hall_pass(&hall, 5 * RGM_NS_PER_MS);
    rgi_check(ioctl(fd, FIONREAD, &queued) == 0);
    rgi_check(queued == (int)sizeof(sent) - 16);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

#define READERS 2

/* Readers wait; somebody else can have the only slot, and they have to go on
 * waiting until it is back. */
static void
srd_06_waiting_read_gives_its_slot_back(void)
{
    struct rgm_pool *pool = slots_of(1, 64);
    struct rgm_stream streams[READERS];
    struct rgm_read_pooled reads[READERS];
    struct rgm_lease lease = {0};
    struct hall hall;
    int peers[READERS];

    hall_open(&hall);
    for (int i = 0; i < READERS; i++) {
        peers[i] = hall_stream(&hall, &streams[i]);
        rgm_stream_read_pooled(&reads[i], &streams[i], pool);
        desk_start(&hall.desk, &reads[i]);
    }
    while (rgm_pool_try_acquire(pool, &lease) != 0)
        hall_pass(&hall, RGM_NS_PER_MS / 10);
    for (int i = 0; i < READERS; i++)
        peer_send(peers[i], "data", 4);
    hall_pass(&hall, 5 * RGM_NS_PER_MS);
    rgi_check(!desk_is_home(&reads[0]) && !desk_is_home(&reads[1]));
    rgi_check(rgm_lease_drop(&lease) == 0);
    for (int done = 0; done < READERS;) {
        desk_turn(&hall.desk);
        for (int i = 0; i < READERS; i++) {
            if (!desk_is_home(&reads[i]) || reads[i].count == 0)
                continue;
            rgi_check(rgm_status(&reads[i]) == 0 && reads[i].count == 4);
            rgi_check(rgm_lease_drop(&reads[i].lease) == 0);
            reads[i].count = 0;
            done++;
        }
    }
    for (int i = 0; i < READERS; i++)
        hall_hang_up(&hall, &streams[i], peers[i]);
    hall_close(&hall);
    rgm_pool_destroy(pool);
}

/* Many connections wait for data they may never get; a new one does not
 * notice. They hold neither slots nor places. */
static void
srd_07_idle_connections_hold_nothing(void)
{
    uint32_t count = (uint32_t)rgi_scale(10000);
    struct rgm_stream *streams = rgi_alloc(count * sizeof(*streams));
    struct rgm_read_pooled *reads = rgi_alloc(count * sizeof(*reads));
    int *peers = rgi_alloc(count * sizeof(*peers));
    struct rgm_pool *pool = slots_of(4, 64);
    struct rlimit limit;
    struct rgm_read_pooled read;
    struct rgm_stream stream;
    struct hall hall;
    int peer;

    rgi_check(streams != NULL && reads != NULL && peers != NULL);
    rgi_check(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    limit.rlim_cur = limit.rlim_max;
    rgi_check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    if (limit.rlim_max < 2 * count + 100)
        count = ((uint32_t)limit.rlim_max - 100) / 2;
    hall_open(&hall);
    for (uint32_t i = 0; i < count; i++) {
        peers[i] = hall_stream(&hall, &streams[i]);
        rgm_stream_read_pooled(&reads[i], &streams[i], pool);
        desk_start(&hall.desk, &reads[i]);
    }
    peer = hall_stream(&hall, &stream);
    for (int i = 0; i < 10; i++) {
        rgm_stream_read_pooled(&read, &stream, pool);
        desk_start(&hall.desk, &read);
        peer_send(peer, "data", 4);
        rgi_check(desk_await(&hall.desk, &read) == 0 && read.count == 4);
        rgi_check(rgm_lease_drop(&read.lease) == 0);
    }
    rgi_check(hall.desk.provider->in_flight == count);
    for (uint32_t i = 0; i < count; i++)
        desk_cancel(&hall.desk, &reads[i]);
    for (uint32_t i = 0; i < count; i++) {
        rgi_check(desk_await(&hall.desk, &reads[i]) == -ECANCELED);
        hall_hang_up(&hall, &streams[i], peers[i]);
    }
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
    rgi_check(rgm_pool_free_count(pool) == 4);
    rgm_pool_destroy(pool);
    rgi_free(peers);
    rgi_free(reads);
    rgi_free(streams);
}

/* Data and end arrive together: all of the data comes first. */
static void
srd_09_all_data_comes_before_the_end(void)
{
    struct rgm_stream stream;
    struct hall hall;
    char bytes[7];
    size_t total = 0;
    bool over = false;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    peer_send(peer, "0123456789012345678901234567890123456789", 40);
    close(peer);
    while (!over) {
        long count = desk_read(&hall.desk, &stream, bytes, 7, &over);

        rgi_check(count >= 0 && over == (count == 0));
        for (long i = 0; i < count; i++)
            rgi_check(bytes[i] == '0' + (char)(total++ % 10));
    }
    rgi_check(total == 40);
    rgi_check(desk_close_socket(&hall.desk, &stream.socket) == 0);
    hall_close(&hall);
}

/* Reads cancelled while their data arrives: every byte is read once, by this
 * read or by the next. */
static void
srd_13_cancel_loses_no_bytes(void)
{
    uint64_t random = rgi_seed();
    uint64_t rounds = rgi_scale(100000);
    struct rgm_stream stream;
    struct rgm_read read;
    struct hall hall;
    unsigned char byte, next = 0;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    for (uint64_t i = 0; i < rounds; i++) {
        unsigned char got[1] = {0};

        byte = (unsigned char)i;
        rgm_stream_read(&read, &stream, got, 1);
        desk_start(&hall.desk, &read);
        if (stream_random(&random) % 2 == 0)
            (void)desk_take(&hall.desk, 1);
        peer_send(peer, &byte, 1);
        desk_cancel(&hall.desk, &read);
        if (desk_await(&hall.desk, &read) < 0) {
            rgi_check(rgm_status(&read) == -ECANCELED && read.count == 0);
            rgi_check(desk_run(&hall.desk, &read) == 0);
        }
        rgi_check(read.count == 1 && !read.end && got[0] == next++);
    }
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

static void
reset_is_an_error_of_the_read(void)
{
    struct rgm_stream stream;
    struct rgm_read read;
    struct hall hall;
    char byte;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    rgm_stream_read(&read, &stream, &byte, 1);
    desk_start(&hall.desk, &read);
    peer_reset(peer);
    rgi_check(desk_await(&hall.desk, &read) == -ECONNRESET);
    rgi_check(read.count == 0 && !read.end);
    rgi_check(desk_close_socket(&hall.desk, &stream.socket) == 0);
    hall_close(&hall);
}

static void
closed_pool_ends_the_read(void)
{
    struct rgm_pool *pool = slots_of(1, 8);
    struct rgm_read_pooled read;
    struct rgm_stream stream;
    struct hall hall;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    rgm_pool_close(pool);
    peer_send(peer, "x", 1);
    rgm_stream_read_pooled(&read, &stream, pool);
    rgi_check(desk_run(&hall.desk, &read) == -EPIPE);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------------- writes */

static char
byte_of(size_t position)
{
    return (char)(position * 7 + position / 251);
}

/* Reads all that has arrived: each byte must be the one of its position.
 * Returns: how many there were so far. */
static size_t
peer_drain(int peer, size_t total)
{
    char bytes[5000];
    ssize_t count;

    while ((count = recv(peer, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
        for (ssize_t i = 0; i < count; i++)
            rgi_check(bytes[i] == byte_of(total++));
    rgi_check(count == 0 || errno == EAGAIN);
    return total;
}

/* A write that the peer reads at the same time, in no hurry. */
static void
write_to_reader(struct hall *hall, struct rgm_write *write, int peer,
                size_t expected)
{
    uint64_t begin_ns = hall->desk.provider->ops->now(hall->desk.provider);
    size_t total = 0;

    desk_start(&hall->desk, write);
    while (total < expected || !desk_is_home(write)) {
        hall_pass(hall, RGM_NS_PER_MS / 10);
        total = peer_drain(peer, total);
        rgi_check(hall->desk.provider->ops->now(hall->desk.provider) <
                  begin_ns + DESK_GUARD_NS);
    }
    rgi_check(rgm_status(write) == 0);
    rgi_check(write->count == expected && total == expected);
}

static char *
text_of(size_t length)
{
    char *text = rgi_alloc(length);

    rgi_check(text != NULL);
    for (size_t i = 0; i < length; i++)
        text[i] = byte_of(i);
    return text;
}

#define LARGE_BYTES (8u << 20)

/* Far more than the sockets hold, in one ask and without another call. */
static void
swr_04_large_write_advances_by_itself(void)
{
    char *text = text_of(LARGE_BYTES);
    struct rgm_stream stream;
    struct rgm_write write;
    struct hall hall;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    rgm_stream_write(&write, &stream, text, LARGE_BYTES);
    write_to_reader(&hall, &write, peer, LARGE_BYTES);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
    rgi_free(text);
}

/* More pieces than one system call takes, empty ones among them. */
static void
vectored_write_keeps_its_order(void)
{
    char *text = text_of(100000);
    struct rgm_vector pieces[3 * RGM_WRITE_WINDOW + 5];
    size_t count = sizeof(pieces) / sizeof(pieces[0]);
    struct rgm_stream stream;
    struct rgm_write write;
    struct hall hall;
    size_t total = 0;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    for (size_t i = 0; i < count; i++) {
        pieces[i].data = i % 5 == 3 ? NULL : text + total;
        pieces[i].length_bytes = i % 5 == 3 ? 0 : 37 * i;
        total += pieces[i].length_bytes;
    }
    rgm_stream_write_vectors(&write, &stream, pieces, count);
    write_to_reader(&hall, &write, peer, total);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
    rgi_free(text);
}

/* It succeeds and does not end the output. */
static void
swr_07_empty_write_is_no_shutdown(void)
{
    struct rgm_stream stream;
    struct hall hall;
    char byte;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    rgi_check(desk_write(&hall.desk, &stream, "x", 0) == 0);
    rgi_check(recv(peer, &byte, 1, MSG_DONTWAIT) == -1 && errno == EAGAIN);
    rgi_check(desk_write(&hall.desk, &stream, "x", 1) == 0);
    rgi_check(recv(peer, &byte, 1, 0) == 1 && byte == 'x');
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

/* What went out is in count, and is exactly what the peer gets. */
static void
swr_09_cancelled_write_says_how_much_went_out(void)
{
    char *text = text_of(LARGE_BYTES);
    struct rgm_stream stream;
    struct rgm_write write;
    struct hall hall;
    size_t total = 0;
    int peer, queued = 0;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    rgm_stream_write(&write, &stream, text, LARGE_BYTES);
    desk_start(&hall.desk, &write);
    while (queued == 0) {
        hall_pass(&hall, RGM_NS_PER_MS);
        rgi_check(ioctl(peer, FIONREAD, &queued) == 0);
    }
    desk_cancel(&hall.desk, &write);
    rgi_check(desk_await(&hall.desk, &write) == -ECANCELED);
    rgi_check(write.count > 0 && write.count < LARGE_BYTES);
    while (total < write.count)
        total = peer_drain(peer, total);
    rgi_check(desk_close_socket(&hall.desk, &stream.socket) == 0);
    rgi_check(peer_drain(peer, total) == write.count);
    close(peer);
    hall_close(&hall);
    rgi_free(text);
}

/* With `some` a full socket makes it short, not waiting. */
static void
some_may_be_short(void)
{
    char *text = text_of(LARGE_BYTES);
    struct rgm_stream stream;
    struct rgm_write write;
    struct hall hall;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    rgm_stream_write(&write, &stream, text, LARGE_BYTES);
    write.some = true;
    rgi_check(desk_run(&hall.desk, &write) == 0);
    rgi_check(write.count > 0 && write.count < LARGE_BYTES);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
    rgi_free(text);
}

/* Writes until the reset has arrived. Returns: the error. */
static int
write_until_error(struct desk *desk, struct rgm_write *write)
{
    int status = 0;

    for (int i = 0; i < 100000 && status == 0; i++)
        status = desk_run(desk, write);
    return status;
}

/* Errors, with SIGPIPE at its default, which would end the process: one piece
 * and several. */
static void
field_b74_write_to_a_gone_peer_raises_no_signal(void)
{
    struct rgm_vector pieces[2] = {{"x", 1}, {"y", 1}};
    struct rgm_stream stream;
    struct rgm_write write;
    struct hall hall;
    int peer, status;

    hall_open(&hall);
    for (int form = 0; form < 2; form++) {
        peer = hall_stream(&hall, &stream);
        peer_reset(peer);
        if (form == 0)
            rgm_stream_write(&write, &stream, "x", 1);
        else
            rgm_stream_write_vectors(&write, &stream, pieces, 2);
        status = write_until_error(&hall.desk, &write);
        rgi_check(status == -ECONNRESET || status == -EPIPE);
        rgi_check(desk_run(&hall.desk, &write) == -EPIPE);
        rgi_check(desk_close_socket(&hall.desk, &stream.socket) == 0);
    }
    hall_close(&hall);
}

#define HALF_BYTES (1u << 20)

/* The peer sends, says that this was all, and goes on reading; the answer is
 * written before anything is read. Both get every byte and then the end. */
static void
field_b71_both_sides_get_every_byte(void)
{
    char *text = text_of(HALF_BYTES);
    char *got = rgi_alloc(HALF_BYTES + 1);
    struct rgm_shutdown half;
    struct rgm_stream stream;
    struct rgm_write write;
    struct hall hall;
    size_t sent = 0, count = 0;
    bool over = false;
    int peer;

    rgi_check(got != NULL);
    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    while (sent < HALF_BYTES) { /* what fits now; the rest between reads */
        ssize_t part = send(peer, text + sent, HALF_BYTES - sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        if (part < 0)
            break;
        sent += (size_t)part;
    }
    rgm_stream_write(&write, &stream, text, HALF_BYTES);
    write_to_reader(&hall, &write, peer, HALF_BYTES);
    rgm_stream_shutdown(&half, &stream);
    rgi_check(desk_run(&hall.desk, &half) == 0);
    while (!over) {
        ssize_t part = send(peer, text + sent, HALF_BYTES - sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);
        long bytes;

        sent += part > 0 ? (size_t)part : 0;
        if (sent == HALF_BYTES)
            shutdown(peer, SHUT_WR);
        bytes = desk_read(&hall.desk, &stream, got + count,
                          HALF_BYTES + 1 - count, &over);
        rgi_check(bytes >= 0);
        count += (size_t)bytes;
    }
    rgi_check(count == HALF_BYTES && memcmp(got, text, HALF_BYTES) == 0);
    rgi_check(recv(peer, got, 1, 0) == 0);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
    rgi_free(got);
    rgi_free(text);
}

/* --------------------------------------------------------------- operations */

#define STORM 8

/* Reads and writes on several connections, cancelled, finished and reset at
 * random: what was started comes home once (a second completion of a record
 * would abort), and with it the socket is free again. */
static void
storm_round(struct hall *hall, uint64_t *random)
{
    struct rgm_stream streams[STORM];
    struct rgm_read reads[STORM];
    struct rgm_write writes[STORM];
    char bytes[STORM];
    int peers[STORM];
    uint64_t before = hall->desk.completed;

    for (int i = 0; i < STORM; i++)
        peers[i] = hall_stream(hall, &streams[i]);
    before = hall->desk.completed;
    for (int i = 0; i < STORM; i++) {
        rgm_stream_read(&reads[i], &streams[i], &bytes[i], 1);
        rgm_stream_write(&writes[i], &streams[i], "written", 7);
        desk_start(&hall->desk, &reads[i]);
        desk_start(&hall->desk, &writes[i]);
        if (stream_random(random) % 2 == 0)
            peer_send(peers[i], "x", 1);
        if (stream_random(random) % 4 == 0)
            (void)desk_take(&hall->desk, 1);
        if (stream_random(random) % 2 == 0)
            desk_cancel(&hall->desk, &writes[i]);
        desk_cancel(&hall->desk, &reads[i]);
    }
    for (int i = 0; i < STORM; i++) {
        int status = desk_await(&hall->desk, &reads[i]);

        rgi_check(status == 0 ? reads[i].count == 1 : status == -ECANCELED);
        status = desk_await(&hall->desk, &writes[i]);
        rgi_check(status == 0 ? writes[i].count == 7 : status == -ECANCELED);
        rgi_check(streams[i].socket.busy == 0);
        hall_hang_up(hall, &streams[i], peers[i]);
    }
    rgi_check(hall->desk.completed == before + 3 * STORM);
    rgi_check(hall->desk.provider->in_flight == 0);
}

static void
opl_08_every_operation_ends_once(void)
{
    uint64_t random = rgi_seed();
    uint64_t rounds = rgi_scale(10000);
    struct hall hall;

    hall_open(&hall);
    for (uint64_t i = 0; i < rounds; i++)
        storm_round(&hall, &random);
    hall_close(&hall);
}

/* Once warm: every allocation would fail, and nothing notices. */
static void
opl_22_no_operation_allocates(void)
{
    struct rgm_pool *pool = slots_of(1, 8);
    struct rgm_read_pooled read;
    struct rgm_stream stream;
    struct hall hall;
    char byte;
    int peer;

    hall_open(&hall);
    peer = hall_stream(&hall, &stream);
    for (int i = 0; i < 100; i++) {
        if (i == 10)
            rgi_memory_fail_nth(1);
        rgi_check(desk_write(&hall.desk, &stream, "x", 1) == 0);
        rgi_check(recv(peer, &byte, 1, 0) == 1);
        peer_send(peer, "y", 1);
        rgm_stream_read_pooled(&read, &stream, pool);
        rgi_check(desk_run(&hall.desk, &read) == 0);
        rgi_check(rgm_lease_drop(&read.lease) == 0);
    }
    rgi_check(!rgi_memory_fail_off());
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------- no runtime */

static uint64_t
machine_now(void)
{
    struct timespec now;

    rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* This program has no worker, no actor and no runtime linked into it. What is
 * out is asked to stop, which waits for nothing, and ends by and by. */
static void
cmp_01_a_driver_works_with_no_runtime_at_all(void)
{
    const struct rgm_provider *provider;
    struct rgm_stream stream;
    struct rgm_read read;
    struct hall hall;
    uint64_t before_ns, now_ns;
    char byte = 0;
    int peer;

    hall_open(&hall);
    provider = hall.desk.provider;
    before_ns = machine_now();
    now_ns = provider->ops->now(hall.desk.provider);
    rgi_check(now_ns >= before_ns && now_ns <= machine_now());
    peer = hall_stream(&hall, &stream);
    peer_send(peer, "x", 1);
    rgm_stream_read(&read, &stream, &byte, 1);
    rgi_check(desk_run(&hall.desk, &read) == 0 && byte == 'x');
    desk_start(&hall.desk, &read);
    rgi_check(provider->in_flight == 1);
    desk_cancel(&hall.desk, &read);
    rgi_check(!desk_is_home(&read));
    rgi_check(desk_await(&hall.desk, &read) == -ECANCELED);
    rgi_check(provider->in_flight == 0);
    hall_hang_up(&hall, &stream, peer);
    hall_close(&hall);
}

#define STREAM_CASES(X, suite)                                                \
    X(suite, cmp_01_a_driver_works_with_no_runtime_at_all)                    \
    X(suite, lifecycle_on_ipv4)                                               \
    X(suite, lifecycle_on_ipv6)                                               \
    X(suite, lifecycle_on_unix)                                               \
    X(suite, failed_listen_and_connect_touch_nothing)                         \
    X(suite, shared_port_is_shared)                                           \
    X(suite, accepted_stream_is_set_up)                                       \
    X(suite, soc_02_options_are_what_the_kernel_reports)                      \
    X(suite, soc_05_accept_that_raced_a_cancel_leaks_nothing)                 \
    X(suite, listener_survives_emfile)                                        \
    X(suite, cancelled_connect_leaks_nothing)                                 \
    X(suite, srd_02_pooled_read_yields_a_chunk_then_the_end)                  \
    X(suite, empty_read_is_not_the_end)                                       \
    X(suite, opl_07_read_is_one_transfer)                                     \
    X(suite, srd_05_reception_is_on_demand)                                   \
    X(suite, srd_06_waiting_read_gives_its_slot_back)                         \
    X(suite, srd_07_idle_connections_hold_nothing)                            \
    X(suite, srd_09_all_data_comes_before_the_end)                            \
    X(suite, srd_13_cancel_loses_no_bytes)                                    \
    X(suite, reset_is_an_error_of_the_read)                                   \
    X(suite, closed_pool_ends_the_read)                                       \
    X(suite, swr_04_large_write_advances_by_itself)                           \
    X(suite, vectored_write_keeps_its_order)                                  \
    X(suite, swr_07_empty_write_is_no_shutdown)                               \
    X(suite, swr_09_cancelled_write_says_how_much_went_out)                   \
    X(suite, some_may_be_short)                                               \
    X(suite, field_b71_both_sides_get_every_byte)                             \
    X(suite, field_b74_write_to_a_gone_peer_raises_no_signal)                 \
    X(suite, opl_08_every_operation_ends_once)                                \
    X(suite, opl_22_no_operation_allocates)

#endif /* CAPABILITIES_PROVIDER_TEST_H */
