/* SPDX-License-Identifier: MIT */

/* stream_test.c - do stream operations on a ring do what stream.h says, also
 * when the kernel interrupts them, cuts them short and changes its mind? */

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <ringmail/package.h>

#include "base/memory.h"
#include "capabilities/ring/shim.h"

static void
write_all(struct world *world, struct rgm_stream *stream, const void *data,
          size_t length_bytes)
{
    struct rgm_write write;

    rgm_stream_write(&write, stream, data, length_bytes);
    rgi_check(world_do(world, &write.operation) == 0);
    rgi_check(write.count == length_bytes);
}

static void
read_exactly(struct world *world, struct rgm_stream *stream, void *memory,
             size_t length_bytes)
{
    struct rgm_read read;
    size_t got = 0;

    while (got < length_bytes) {
        rgm_stream_read(&read, stream, (char *)memory + got,
                        length_bytes - got);
        rgi_check(world_do(world, &read.operation) == 0);
        rgi_check(read.count > 0 && !read.end);
        got += read.count;
    }
}

/* ---------------------------------------------------------------- lifecycle */

static void
soc_01_family(struct world *world, const char *where)
{
    struct rgm_endpoint endpoint;
    struct rgm_listener listener = {{{0}, 0, 0, 0, 0, 0}};
    struct rgm_stream near = {{{0}, 0, 0, 0, 0, 0}};
    struct rgm_stream far = {{{0}, 0, 0, 0, 0, 0}};
    struct rgm_listen listen;
    struct rgm_accept accept;
    struct rgm_connect connect;
    struct rgm_names names;
    struct rgm_shutdown shutdown;
    struct rgm_read read;
    struct rgm_close close;
    char memory[8];

    rgi_check(rgm_endpoint_parse(where, 0, &endpoint) == 0);
    rgm_stream_listen(&listen, world_here, &listener, &endpoint, false);
    rgi_check(world_do(world, &listen.operation) == 0);
    rgm_stream_accept(&accept, &listener, &far);
    accept.want_peer = true;
    world_start(world, &accept.operation);
    rgm_stream_connect(&connect, world_here, &near, &listen.endpoint);
    rgi_check(world_do(world, &connect.operation) == 0);
    rgi_check(world_finish(world, &accept.operation) == 0);
    rgm_socket_names(&names, &near.socket);
    rgi_check(world_do(world, &names.operation) == 0);
    rgi_check(accept.peer.family == endpoint.family);
    rgi_check(names.local.port == accept.peer.port);
    rgi_check(names.peer.port == listen.endpoint.port);
    rgi_check(fcntl(world_fd(world, &far.socket), F_GETFD) == FD_CLOEXEC);
    rgi_check(fcntl(world_fd(world, &near.socket), F_GETFD) == FD_CLOEXEC);

    write_all(world, &near, "hello", 5);
    read_exactly(world, &far, memory, 5);
    rgi_check(memcmp(memory, "hello", 5) == 0);
    rgm_stream_shutdown(&shutdown, &near);
    for (int i = 0; i < 2; i++)
        rgi_check(world_do(world, &shutdown.operation) == 0);
    rgm_stream_read(&read, &far, memory, 8);
    for (int i = 0; i < 2; i++) {
        rgi_check(world_do(world, &read.operation) == 0);
        rgi_check(read.count == 0 && read.end);
    }
    write_all(world, &far, "bye", 3); /* the other half is open */
    read_exactly(world, &near, memory, 3);
    world_close_stream(world, &near);
    world_close_stream(world, &far);
    rgm_listener_close(&close, &listener);
    rgi_check(world_do(world, &close.operation) == 0);
}

static void
soc_01_lifecycle(void)
{
    struct world world = {0};
    char path[64];

    snprintf(path, sizeof(path), "/tmp/ringmail-%d.socket", (int)getpid());
    unlink(path);
    world_open(&world);
    soc_01_family(&world, "127.0.0.1");
    soc_01_family(&world, "::1");
    soc_01_family(&world, path);
    unlink(path);
    world_close(&world);
}

static int
lowest_free_fd(void)
{
    int fd = dup(0);

    close(fd);
    return fd;
}

static void
refused_and_cancelled_connects(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_stream stream = {{{0}, 0, 0, 0, 0, 0}};
    struct rgm_connect connect;
    struct rgm_close close;
    struct rgm_endpoint nowhere;
    int lowest;

    world_open(&world);
    pair_open(&world, &pair);
    rgm_listener_close(&close, &pair.listener);
    rgi_check(world_do(&world, &close.operation) == 0);
    lowest = lowest_free_fd();
    rgm_stream_connect(&connect, world_here, &stream, &pair.endpoint);
    rgi_check(world_do(&world, &connect.operation) == -ECONNREFUSED);
    rgi_check(stream.socket.open == 0);

    rgi_check(rgm_endpoint_parse("192.0.2.1", 9, &nowhere) == 0);
    rgm_stream_connect(&connect, world_here, &stream, &nowhere);
    world_start(&world, &connect.operation);
    rgi_check(world_turn(&world, 0) == 0);
    if (!is_home(&connect.operation)) { /* a route may be missing */
        world_cancel(&world, &connect.operation);
        rgi_check(world_finish(&world, &connect.operation) < 0);
    }
    rgi_check(stream.socket.open == 0 && stream.socket.busy == 0);
    rgi_check(lowest_free_fd() == lowest);
    world_close_stream(&world, &pair.near);
    world_close_stream(&world, &pair.far);
    world_close(&world);
}

static void
soc_06_close_is_never_repeated(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_close close_near;
    int fd;

    shim_open(&world);
    pair_open(&world, &pair);
    fd = world_fd(&world, &pair.near.socket);
    shim_expect(IORING_OP_CLOSE, -EINTR, 1);
    rgm_stream_close(&close_near, &pair.near);
    rgi_check(world_do(&world, &close_near.operation) == -EINTR);
    world_settle(&world);
    rgi_check(shim.seen[IORING_OP_CLOSE] == 1);
    rgi_check(rgi_operation_start(&close_near.operation, world.provider) ==
              -EBADF);
    close(fd); /* the shim did not */
    pair.near.socket.open = 0;
    world_close_stream(&world, &pair.far);
    world_close(&world);
}

static void
soc_08_close_while_a_read_is_out(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    struct rgm_close close;
    char memory[8];

    world_open(&world);
    pair_open(&world, &pair);
    rgm_stream_read(&read, &pair.far, memory, 8);
    world_start(&world, &read.operation);
    rgm_stream_close(&close, &pair.far);
    rgi_check(rgi_operation_start(&close.operation, world.provider) == -EBUSY);
    write_all(&world, &pair.near, "still", 5);
    rgi_check(world_finish(&world, &read.operation) == 0);
    rgi_check(read.count == 5);
    pair_close(&world, &pair);
    world_close(&world);
}

/* A copy of a handle that was closed, and whose record lives again. */
static void
stale_handles_find_nothing(void)
{
    struct world world = {0};
    struct pair pair;
    struct pair other;
    struct rgm_stream copy;
    struct rgm_read read;
    char memory[8];

    world_open(&world);
    pair_open(&world, &pair);
    copy = pair.far;
    pair_close(&world, &pair);
    pair_open(&world, &other);
    rgm_stream_read(&read, &copy, memory, 8);
    rgi_check(world_do(&world, &read.operation) == -EBADF);
    copy.socket.resource = 12345;
    rgi_check(world_do(&world, &read.operation) == -EBADF);
    copy.socket.resource = UINT64_MAX;
    rgi_check(world_do(&world, &read.operation) == -EBADF);
    pair_close(&world, &other);
    world_close(&world);
}

/* Whichever wins, the connection is delivered or nobody's. */
static void
soc_05_accept_races_with_cancel(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_accept accept;
    struct rgm_connect connect;
    struct rgm_stream near = {{{0}, 0, 0, 0, 0, 0}};
    struct rgm_stream far = {{{0}, 0, 0, 0, 0, 0}};
    int lowest;

    world_open(&world);
    pair_open(&world, &pair);
    lowest = lowest_free_fd();
    for (uint64_t i = 0; i < rgi_scale(10000); i++) {
        rgm_stream_accept(&accept, &pair.listener, &far);
        world_start(&world, &accept.operation);
        rgm_stream_connect(&connect, world_here, &near, &pair.endpoint);
        world_start(&world, &connect.operation);
        for (uint64_t turns = i % 4; turns > 0; turns--)
            rgi_check(world_turn(&world, 0) == 0);
        world_cancel(&world, &accept.operation);
        rgi_check(world_finish(&world, &connect.operation) == 0);
        if (world_finish(&world, &accept.operation) == 0) {
            world_close_stream(&world, &far);
        } else { /* it is in the backlog still */
            rgi_check(rgm_status(&accept) == -ECANCELED);
            rgi_check(far.socket.open == 0);
            rgi_check(world_do(&world, &accept.operation) == 0);
            world_close_stream(&world, &far);
        }
        world_close_stream(&world, &near);
    }
    world_settle(&world);
    rgi_check(lowest_free_fd() == lowest);
    pair_close(&world, &pair);
    world_close(&world);
}

/* ------------------------------------------------------------------ moods */

static void
connect_once(struct world *world, struct pair *pair, struct rgm_accept *accept)
{
    struct rgm_stream near = {{{0}, 0, 0, 0, 0, 0}};
    struct rgm_stream far = {{{0}, 0, 0, 0, 0, 0}};
    struct rgm_connect connect;

    rgm_stream_accept(accept, &pair->listener, &far);
    world_start(world, &accept->operation);
    rgm_stream_connect(&connect, world_here, &near, &pair->endpoint);
    rgi_check(world_do(world, &connect.operation) == 0);
    rgi_check(world_finish(world, &accept->operation) == 0);
    world_close_stream(world, &near);
    world_close_stream(world, &far);
}

/* EINTR in any completion is another attempt. */
static void
field_b61_interrupted_completions(void)
{
    struct rgm_vector vectors[2] = {{"ab", 2}, {"cd", 2}};
    struct world world = {0};
    struct pair pair;
    struct rgm_accept accept;
    struct rgm_write write;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    shim_expect(IORING_OP_ACCEPT, -EINTR, 2);
    shim_expect(IORING_OP_CONNECT, -EINTR, 1);
    shim_expect(IORING_OP_SEND, -EINTR, 2);
    shim_expect(IORING_OP_SENDMSG, -EINTR, 2);
    shim_expect(IORING_OP_RECV, -EINTR, 2);
    connect_once(&world, &pair, &accept);
    write_all(&world, &pair.near, "xy", 2);
    read_exactly(&world, &pair.far, memory, 2);
    rgm_stream_write_vectors(&write, &pair.near, vectors, 2);
    rgi_check(world_do(&world, &write.operation) == 0 && write.count == 4);
    read_exactly(&world, &pair.far, memory, 4);
    rgi_check(memcmp(memory, "abcd", 4) == 0);
    for (unsigned i = 0; i < shim.script_length; i++)
        rgi_check(shim.script[i].times == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
field_b61_shutdown_after_reset(void)
{
    struct linger abrupt = {1, 0};
    struct world world = {0};
    struct pair pair;
    struct rgm_shutdown shutdown;
    int first;

    world_open(&world);
    pair_open(&world, &pair);
    rgi_check(setsockopt(world_fd(&world, &pair.far.socket), SOL_SOCKET,
                         SO_LINGER, &abrupt, sizeof(abrupt)) == 0);
    world_close_stream(&world, &pair.far);
    rgm_stream_shutdown(&shutdown, &pair.near);
    first = world_do(&world, &shutdown.operation);
    rgi_check(first == 0 || first == -ENOTCONN);
    rgi_check(world_do(&world, &shutdown.operation) == first);
    world_close_stream(&world, &pair.near);
    world_close(&world);
}

/* The second one says what the first one did, though nobody is there now. */
static void
shutdown_twice_around_a_reset(void)
{
    struct linger abrupt = {1, 0};
    struct world world = {0};
    struct pair pair;
    struct rgm_shutdown shutdown;

    world_open(&world);
    pair_open(&world, &pair);
    rgm_stream_shutdown(&shutdown, &pair.near);
    rgi_check(world_do(&world, &shutdown.operation) == 0);
    rgi_check(setsockopt(world_fd(&world, &pair.far.socket), SOL_SOCKET,
                         SO_LINGER, &abrupt, sizeof(abrupt)) == 0);
    world_close_stream(&world, &pair.far);
    rgi_check(world_do(&world, &shutdown.operation) == 0);
    world_close_stream(&world, &pair.near);
    world_close(&world);
}

/* EAGAIN from a socket: a poll on this ring, then another attempt there. */
static void
urg_17_unready_socket_is_polled(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_accept accept;
    char memory[8];
    unsigned polls;

    shim_open(&world);
    pair_open(&world, &pair);
    polls = shim.seen[IORING_OP_POLL_ADD]; /* the bell's */
    shim_expect(IORING_OP_SEND, -EAGAIN, 1);
    write_all(&world, &pair.near, "xy", 2);
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == polls + 1);
    rgi_check(shim.last[IORING_OP_POLL_ADD].poll32_events == POLLOUT);
    rgi_check(shim.seen[IORING_OP_SEND] == 2);
    shim_expect(IORING_OP_RECV, -EAGAIN, 1);
    read_exactly(&world, &pair.far, memory, 2);
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == polls + 2);
    rgi_check(shim.last[IORING_OP_POLL_ADD].poll32_events == POLLIN);
    rgi_check(shim.seen[IORING_OP_RECV] == 2);
    shim_expect(IORING_OP_ACCEPT, -EAGAIN, 1);
    connect_once(&world, &pair, &accept);
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == polls + 3);
    pair_close(&world, &pair);
    world_close(&world);
}

/* As a worker's with a deadline: the test is the worker. */
static void
start_until(struct world *world, struct rgm_operation *operation,
            uint64_t deadline_ns)
{
    operation->request.message.flags |= RGI_MESSAGE_DEADLINE;
    operation->request.deadline_ns = deadline_ns;
    world_start(world, operation);
}

/* The rest of a write, and what was interrupted or came too early, is for those
 * who still have time. */
static void
tmr_23_progress_after_the_deadline_is_no_further_entry(void)
{
    static const int not_yet[] = {-EINTR, -EAGAIN};
    struct world world = {0};
    struct rgm_write write;
    struct rgm_read read;
    struct pair pair;
    char memory[8];
    unsigned polls;

    shim_open(&world);
    pair_open(&world, &pair);
    polls = shim.seen[IORING_OP_POLL_ADD];
    shim_expect(IORING_OP_SEND, 3, 1);
    rgm_stream_write(&write, &pair.near, "0123456789", 10);
    start_until(&world, &write.operation, 1);
    rgi_check(world_finish(&world, &write.operation) == -ETIMEDOUT);
    rgi_check(write.count == 3 && shim.seen[IORING_OP_SEND] == 1);
    for (unsigned i = 0; i < 2; i++) {
        shim_expect(IORING_OP_RECV, not_yet[i], 1);
        rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
        start_until(&world, &read.operation, 1);
        rgi_check(world_finish(&world, &read.operation) == -ETIMEDOUT);
        rgi_check(shim.seen[IORING_OP_RECV] == i + 1);
    }
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == polls);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
tmr_23_what_is_complete_wins(void)
{
    struct world world = {0};
    struct rgm_write write;
    struct rgm_read read;
    struct pair pair;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    rgm_stream_write(&write, &pair.near, "0123", 4);
    start_until(&world, &write.operation, 1);
    rgi_check(world_finish(&world, &write.operation) == 0 && write.count == 4);
    rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
    start_until(&world, &read.operation, 1);
    rgi_check(world_finish(&world, &read.operation) == 0 && read.count == 4);
    /* In time it is tried as often as it takes. */
    shim_expect(IORING_OP_SEND, -EINTR, 3);
    rgm_stream_write(&write, &pair.near, "0123", 4);
    start_until(&world, &write.operation, RGM_NEVER - 1);
    rgi_check(world_finish(&world, &write.operation) == 0 && write.count == 4);
    pair_close(&world, &pair);
    world_close(&world);
}

/* What a gathering entry points to. */
static const void *
array_of(uint8_t opcode)
{
    const struct msghdr *message =
        (const void *)(uintptr_t)shim.last[opcode].addr;

    return opcode == IORING_OP_SENDMSG ? message->msg_iov
                                       : (const void *)message;
}

static void
file_of_nothing(struct world *world, struct rgm_file *file)
{
    struct rgm_file_open import;
    int fd = memfd_create("vec_09", MFD_CLOEXEC);

    rgi_check(fd >= 0);
    *file = (struct rgm_file){0};
    rgm_file_import(&import, world_here, file, fd);
    rgi_check(world_do(world, &import.operation) == 0);
}

/* It is read when the entry is submitted, by when whoever filled it in is gone. */
static void
field_b46_a_gathering_writes_header_is_the_records(void)
{
    const struct rgm_vector from[] = {{"ab", 2}, {"cd", 2}};
    struct world world = {0};
    struct rgm_write write;
    struct pair pair;
    uintptr_t header;
    char memory[4];

    shim_open(&world);
    pair_open(&world, &pair);
    rgm_stream_write_vectors(&write, &pair.near, from, 2);
    rgi_check(world_do(&world, &write.operation) == 0);
    header = (uintptr_t)shim.last[IORING_OP_SENDMSG].addr;
    rgi_check(header >= (uintptr_t)&write &&
              header + sizeof(struct msghdr) <= (uintptr_t)(&write + 1));
    read_exactly(&world, &pair.far, memory, 4);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
vec_09_arrays_reach_the_entry_as_they_are(void)
{
    const struct rgm_vector from[] = {{"ab", 2}, {"", 0}, {"cd", 2}};
    struct world world = {0};
    struct rgm_file_write file_write;
    struct rgm_package *package;
    struct rgm_view views[2];
    struct rgm_write write;
    struct rgm_close close;
    struct rgm_file file;
    struct pair pair;
    size_t count;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    rgm_stream_write_vectors(&write, &pair.near, from, 3);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(array_of(IORING_OP_SENDMSG) == from);
    views[0] = rgm_view_of(NULL, "12", 2);
    views[1] = rgm_view_of(NULL, "34", 2);
    rgi_check(rgm_package_of_views(views, 2, &package) == 0);
    rgm_stream_write_vectors(&write, &pair.near,
                             rgm_package_vectors(package, &count), 2);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(array_of(IORING_OP_SENDMSG) ==
              rgm_package_vectors(package, &count));
    read_exactly(&world, &pair.far, memory, 8);
    rgi_check(memcmp(memory, "abcd1234", 8) == 0);
    file_of_nothing(&world, &file);
    rgm_file_write_vectors(&file_write, &file, from, 3, 0);
    rgi_check(world_do(&world, &file_write.operation) == 0);
    rgi_check(array_of(IORING_OP_WRITEV) == from && file_write.count == 4);
    rgm_package_drop(&package);
    rgm_file_close(&close, &file);
    rgi_check(world_do(&world, &close.operation) == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

/* A cancel finds an operation between its attempts, too. */
static void
cancel_while_polling(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    char memory[8];
    unsigned polls;

    shim_open(&world);
    pair_open(&world, &pair);
    polls = shim.seen[IORING_OP_POLL_ADD]; /* the bell's */
    shim_expect(IORING_OP_RECV, -EAGAIN, 1);
    rgm_stream_read(&read, &pair.far, memory, 8);
    world_start(&world, &read.operation);
    world_settle(&world);
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == polls + 1);
    world_cancel(&world, &read.operation);
    rgi_check(world_finish(&world, &read.operation) == -ECANCELED);
    rgi_check(shim.seen[IORING_OP_RECV] == 1);
    pair_close(&world, &pair);
    world_close(&world);
}

/* Errors of one connection are not the listener's; those of the machine are
 * told, and the listener goes on. */
static void
field_b67_listener_survives(void)
{
    static const int passing[] = {-ECONNABORTED, -EPROTO, -ENETDOWN,
                                  -EHOSTUNREACH};
    static const int told[] = {-EMFILE, -ENFILE, -ENOBUFS, -ENOMEM};
    struct world world = {0};
    struct pair pair;
    struct rgm_accept accept;
    struct rgm_stream far = {{{0}, 0, 0, 0, 0, 0}};

    shim_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 4; i++) {
        shim_expect(IORING_OP_ACCEPT, passing[i], 1);
        connect_once(&world, &pair, &accept);
    }
    for (int i = 0; i < 4; i++) {
        shim_expect(IORING_OP_ACCEPT, told[i], 1);
        rgm_stream_accept(&accept, &pair.listener, &far);
        rgi_check(world_do(&world, &accept.operation) == told[i]);
        rgi_check(far.socket.open == 0 && far.socket.busy == 0);
        connect_once(&world, &pair, &accept);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

static void
field_b62_descriptor_that_is_none(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_accept accept;
    struct rgm_stream far = {{{0}, 0, 0, 0, 0, 0}};

    shim_open(&world);
    pair_open(&world, &pair);
    shim_expect(IORING_OP_ACCEPT, 1 << 20, 1);
    rgm_stream_accept(&accept, &pair.listener, &far);
    rgi_check(world_do(&world, &accept.operation) == -EIO);
    rgi_check(far.socket.open == 0);
    connect_once(&world, &pair, &accept);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
field_b68_lack_of_buffers_is_waited_for(void)
{
    struct world world = {0};
    struct pair pair;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    shim_expect(IORING_OP_SEND, -ENOBUFS, 2);
    shim_expect(IORING_OP_SEND, -ENOMEM, 1);
    write_all(&world, &pair.near, "xy", 2);
    rgi_check(shim.seen[IORING_OP_TIMEOUT] == 3);
    read_exactly(&world, &pair.far, memory, 2);
    pair_close(&world, &pair);
    world_close(&world);
}

/* ---------------------------------------------------------------- transfers */

static void
empty_transfers(void)
{
    struct rgm_vector nothing[2] = {{"", 0}, {NULL, 0}};
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    struct rgm_write write;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    write_all(&world, &pair.near, "data", 4);
    rgm_stream_read(&read, &pair.far, memory, 0);
    rgi_check(world_do(&world, &read.operation) == 0);
    rgi_check(read.count == 0 && !read.end);
    rgi_check(shim.seen[IORING_OP_RECV] == 0);
    rgm_stream_write_vectors(&write, &pair.near, nothing, 2);
    rgi_check(world_do(&world, &write.operation) == 0 && write.count == 0);
    rgi_check(shim.seen[IORING_OP_SENDMSG] == 0);
    read_exactly(&world, &pair.far, memory, 4);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
swr_07_empty_write_shuts_nothing_down(void)
{
    struct world world = {0};
    struct pair pair;
    char memory[8];

    world_open(&world);
    pair_open(&world, &pair);
    write_all(&world, &pair.near, "", 0);
    write_all(&world, &pair.near, "later", 5);
    read_exactly(&world, &pair.far, memory, 5);
    rgi_check(memcmp(memory, "later", 5) == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

/* Pieces of every size, more of them than a window holds. */
static void
vectors_arrive_in_order(void)
{
    struct rgm_vector vectors[100];
    char data[5050];
    char memory[5050];
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;
    size_t offset = 0;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (char)(i * 7 + i / 256);
    for (size_t i = 0; i < 100; i++) {
        vectors[i].data = data + offset;
        vectors[i].length_bytes = i;
        offset += i;
    }
    world_open(&world);
    pair_open(&world, &pair);
    rgm_stream_write_vectors(&write, &pair.near, vectors, 100);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(write.count == offset);
    read_exactly(&world, &pair.far, memory, offset);
    rgi_check(memcmp(memory, data, offset) == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

/* Progress is kept over short, interrupted and refused attempts; the real
 * kernel sees what is left. */
static void
urg_29_progress_is_kept(void)
{
    struct rgm_vector vectors[3] = {{"abc", 3}, {"def", 3}, {"ghi", 3}};
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    shim_expect(IORING_OP_SENDMSG, 1, 1);
    shim_expect(IORING_OP_SENDMSG, -EINTR, 1);
    shim_expect(IORING_OP_SENDMSG, 3, 1);
    shim_expect(IORING_OP_SENDMSG, -EAGAIN, 1);
    rgm_stream_write_vectors(&write, &pair.near, vectors, 3);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(write.count == 9);
    read_exactly(&world, &pair.far, memory, 5);
    rgi_check(memcmp(memory, "efghi", 5) == 0);
    rgi_check(shim.seen[IORING_OP_SENDMSG] == 5);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
swr_21_no_progress_is_an_error(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;

    shim_open(&world);
    pair_open(&world, &pair);
    shim_expect(IORING_OP_SEND, 1, 1);
    shim_expect(IORING_OP_SEND, 0, 1);
    rgm_stream_write(&write, &pair.near, "abc", 3);
    rgi_check(world_do(&world, &write.operation) == -ENODATA);
    rgi_check(write.count == 1);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
some_is_one_transfer(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;

    shim_open(&world);
    pair_open(&world, &pair);
    shim_expect(IORING_OP_SEND, -EINTR, 1);
    shim_expect(IORING_OP_SEND, 1, 1);
    rgm_stream_write(&write, &pair.near, "abc", 3);
    write.some = true;
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(write.count == 1 && shim.seen[IORING_OP_SEND] == 2);
    pair_close(&world, &pair);
    world_close(&world);
}

#define LARGE ((size_t)8 << 20)

/* More than the socket takes. What the answer counts is what the peer gets. */
static void
swr_09_cancelled_half_way(void)
{
    char *data = calloc(1, LARGE);
    char *memory = malloc(LARGE);
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;
    struct rgm_read read;
    size_t got = 0;

    rgi_check(data != NULL && memory != NULL);
    world_open(&world);
    pair_open(&world, &pair);
    rgm_stream_write(&write, &pair.near, data, LARGE);
    world_start(&world, &write.operation);
    world_settle(&world);
    rgi_check(!is_home(&write.operation));
    world_cancel(&world, &write.operation);
    rgi_check(world_finish(&world, &write.operation) == -ECANCELED);
    rgi_check(write.count > 0 && write.count < LARGE);
    world_close_stream(&world, &pair.near);
    do {
        rgm_stream_read(&read, &pair.far, memory, LARGE);
        rgi_check(world_do(&world, &read.operation) == 0);
        got += read.count;
    } while (!read.end);
    rgi_check(got == write.count);
    world_close_stream(&world, &pair.far);
    world_close(&world);
    free(data);
    free(memory);
}

static void
srd_05_nothing_is_read_ahead(void)
{
    static char data[65536];
    struct world world = {0};
    struct pair pair;
    char memory[10];
    int queued = 0;

    world_open(&world);
    pair_open(&world, &pair);
    write_all(&world, &pair.near, data, sizeof(data));
    do {
        world_settle(&world);
        rgi_check(
            ioctl(world_fd(&world, &pair.far.socket), FIONREAD, &queued) == 0);
    } while (queued < (int)sizeof(data));
    read_exactly(&world, &pair.far, memory, sizeof(memory));
    rgi_check(ioctl(world_fd(&world, &pair.far.socket), FIONREAD, &queued) ==
              0);
    rgi_check(queued == (int)sizeof(data) - 10);
    pair_close(&world, &pair);
    world_close(&world);
}

/* A read that took all there was waits first, and is one entry; one that left
 * something tries first. */
static void
srd_08_short_read_waits_and_a_full_one_probes(void)
{
    struct world world = {0};
    struct rgm_read read;
    struct pair pair;
    unsigned receives;
    char memory[4];

    shim_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 20; i++) {
        receives = shim.seen[IORING_OP_RECV];
        rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
        world_start(&world, &read.operation);
        world_settle(&world);
        write_all(&world, &pair.near, "x", 1);
        rgi_check(world_finish(&world, &read.operation) == 0);
        rgi_check(read.count == 1);
        rgi_check(shim.seen[IORING_OP_RECV] == receives + 1);
        rgi_check(shim.last[IORING_OP_RECV].ioprio ==
                  IORING_RECVSEND_POLL_FIRST);
    }
    write_all(&world, &pair.near, "0123456789", 10);
    for (size_t left = 10; left > 0; left -= read.count) {
        rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
        rgi_check(world_do(&world, &read.operation) == 0);
        rgi_check(read.count == (left < 4 ? left : 4));
        rgi_check(left == 10 || shim.last[IORING_OP_RECV].ioprio == 0);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

/* A read of each kind in turn: the bytes are one stream, its end is its end, and
 * nothing is registered or waited for besides the entry of the read itself. */
static void
srd_12_switching_urgent_support_keeps_all_else(void)
{
    struct world world = {0};
    struct rgm_shutdown shutdown;
    struct rgm_read read;
    struct pair pair;
    uint64_t resource;
    unsigned polls;
    char byte;

    shim_open(&world);
    pair_open(&world, &pair);
    resource = pair.far.socket.resource;
    polls = shim.seen[IORING_OP_POLL_ADD];
    for (unsigned i = 0; i < 20; i++) {
        unsigned receives = shim.seen[IORING_OP_RECV];
        bool urgent = i % 2 == 1;
        bool over = i >= 10;
        char sent = (char)('a' + i);

        rgm_stream_read(&read, &pair.far, &byte, 1);
        read.urgent = urgent;
        world_start(&world, &read.operation);
        world_settle(&world);
        if (!over)
            write_all(&world, &pair.near, &sent, 1);
        if (i == 10) {
            rgm_stream_shutdown(&shutdown, &pair.near);
            rgi_check(world_do(&world, &shutdown.operation) == 0);
        }
        rgi_check(world_finish(&world, &read.operation) == 0);
        rgi_check(read.end == over && (over || byte == sent));
        rgi_check(shim.seen[IORING_OP_RECV] == receives + 1);
        if (urgent)
            rgi_check(shim.last[IORING_OP_RECV].ioprio == 0);
        else if (i == 0)
            rgi_check(shim.last[IORING_OP_RECV].ioprio != 0);
    }
    rgi_check(pair.far.socket.resource == resource);
    rgi_check(shim.seen[IORING_OP_POLL_ADD] == polls);
    pair_close(&world, &pair);
    world_close(&world);
}

/* One answer per read, and no gap in the numbers, however the race ends. */
static void
srd_13_cancelled_reads_lose_nothing(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    struct rgm_write write;
    uint8_t sent = 0;
    uint8_t expected = 0;
    uint8_t memory[16];

    world_open(&world);
    pair_open(&world, &pair);
    for (uint64_t i = 0; i < rgi_scale(200000); i++) {
        uint8_t piece[2] = {sent, (uint8_t)(sent + 1)};

        sent = (uint8_t)(sent + 2);
        rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
        world_start(&world, &read.operation);
        rgm_stream_write(&write, &pair.near, piece, 2);
        world_start(&world, &write.operation);
        for (uint64_t turns = i % 3; turns > 0; turns--)
            rgi_check(world_turn(&world, 0) == 0);
        world_cancel(&world, &read.operation);
        if (world_finish(&world, &read.operation) < 0)
            rgi_check(rgm_status(&read) == -ECANCELED && read.count == 0);
        for (size_t n = 0; n < read.count; n++)
            rgi_check(memory[n] == expected++);
        rgi_check(world_finish(&world, &write.operation) == 0);
    }
    while (expected != sent) {
        rgi_check(world_do(&world, &read.operation) == 0);
        for (size_t n = 0; n < read.count; n++)
            rgi_check(memory[n] == expected++);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

/* Both ways at once, with descriptors somebody made non-blocking. */
static void
field_b73_non_blocking_descriptors(void)
{
    size_t length_bytes = (size_t)rgi_scale(100) * 655360;
    char *data = malloc(length_bytes);
    char *memory = malloc(length_bytes);
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;

    rgi_check(data != NULL && memory != NULL);
    for (size_t i = 0; i < length_bytes; i++)
        data[i] = (char)(i % 251);
    world_open(&world);
    pair_open(&world, &pair);
    rgi_check(fcntl(world_fd(&world, &pair.near.socket), F_SETFL, O_NONBLOCK) ==
              0);
    rgi_check(fcntl(world_fd(&world, &pair.far.socket), F_SETFL, O_NONBLOCK) ==
              0);
    rgm_stream_write(&write, &pair.near, data, length_bytes);
    world_start(&world, &write.operation);
    read_exactly(&world, &pair.far, memory, length_bytes);
    rgi_check(world_finish(&world, &write.operation) == 0);
    rgi_check(write.count == length_bytes);
    rgi_check(memcmp(data, memory, length_bytes) == 0);
    pair_close(&world, &pair);
    world_close(&world);
    free(data);
    free(memory);
}

static void
field_b74_no_signal_from_any_write(void)
{
    struct rgm_vector vectors[2] = {{"ab", 2}, {"cd", 2}};
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;
    int status = 0;

    signal(SIGPIPE, SIG_DFL);
    world_open(&world);
    pair_open(&world, &pair);
    world_close_stream(&world, &pair.far);
    for (int i = 0; status == 0 && i < 100; i++) {
        rgm_stream_write(&write, &pair.near, "x", 1);
        status = world_do(&world, &write.operation);
    }
    rgi_check(status == -EPIPE || status == -ECONNRESET);
    rgm_stream_write(&write, &pair.near, "x", 1);
    rgi_check(world_do(&world, &write.operation) == -EPIPE);
    rgm_stream_write_vectors(&write, &pair.near, vectors, 2);
    rgi_check(world_do(&world, &write.operation) == -EPIPE);
    world_close_stream(&world, &pair.near);
    world_close(&world);
}

static void
no_allocation_once_warm(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_accept accept;
    char memory[8];

    world_open(&world);
    pair_open(&world, &pair);
    connect_once(&world, &pair, &accept);
    rgi_memory_fail_nth(1);
    for (int i = 0; i < 1000; i++) {
        if (i % 10 == 0)
            connect_once(&world, &pair, &accept);
        write_all(&world, &pair.near, "xy", 2);
        read_exactly(&world, &pair.far, memory, 2);
    }
    rgi_check(!rgi_memory_fail_off());
    pair_close(&world, &pair);
    world_close(&world);
}

/* Every allocation of setting up and connecting fails once. */
static void
lack_of_memory_is_an_answer(void)
{
    bool failed = true;

    for (unsigned long nth = 1; failed; nth++) {
        struct world world = {0};
        struct pair pair = {0};
        struct rgm_listen listen;
        struct rgm_connect connect;
        struct rgm_endpoint any;

        world_open(&world);
        rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &any) == 0);
        rgi_memory_fail_nth(nth);
        rgm_stream_listen(&listen, world_here, &pair.listener, &any, false);
        if (world_do(&world, &listen.operation) == 0) {
            rgm_stream_connect(&connect, world_here, &pair.near,
                               &listen.endpoint);
            rgi_check(world_do(&world, &connect.operation) == 0 ||
                      rgm_status(&connect) == -ENOMEM);
        } else {
            rgi_check(rgm_status(&listen) == -ENOMEM);
        }
        failed = rgi_memory_fail_off();
        world_close(&world);
        rgi_check(rgi_memory_live() == 0);
    }
}

#define CASES(X)                                                               \
    X(ring_stream, soc_01_lifecycle)                                           \
    X(ring_stream, refused_and_cancelled_connects)                             \
    X(ring_stream, soc_06_close_is_never_repeated)                             \
    X(ring_stream, soc_08_close_while_a_read_is_out)                           \
    X(ring_stream, stale_handles_find_nothing)                                 \
    X(ring_stream, soc_05_accept_races_with_cancel)                            \
    X(ring_stream, field_b61_interrupted_completions)                          \
    X(ring_stream, field_b61_shutdown_after_reset)                             \
    X(ring_stream, shutdown_twice_around_a_reset)                              \
    X(ring_stream, urg_17_unready_socket_is_polled)                            \
    X(ring_stream, tmr_23_progress_after_the_deadline_is_no_further_entry)     \
    X(ring_stream, tmr_23_what_is_complete_wins)                               \
    X(ring_stream, field_b46_a_gathering_writes_header_is_the_records)         \
    X(ring_stream, vec_09_arrays_reach_the_entry_as_they_are)                  \
    X(ring_stream, cancel_while_polling)                                       \
    X(ring_stream, field_b67_listener_survives)                                \
    X(ring_stream, field_b62_descriptor_that_is_none)                          \
    X(ring_stream, field_b68_lack_of_buffers_is_waited_for)                    \
    X(ring_stream, empty_transfers)                                            \
    X(ring_stream, swr_07_empty_write_shuts_nothing_down)                      \
    X(ring_stream, vectors_arrive_in_order)                                    \
    X(ring_stream, urg_29_progress_is_kept)                                    \
    X(ring_stream, swr_21_no_progress_is_an_error)                             \
    X(ring_stream, some_is_one_transfer)                                       \
    X(ring_stream, swr_09_cancelled_half_way)                                  \
    X(ring_stream, srd_05_nothing_is_read_ahead)                               \
    X(ring_stream, srd_08_short_read_waits_and_a_full_one_probes)              \
    X(ring_stream, srd_12_switching_urgent_support_keeps_all_else)             \
    X(ring_stream, srd_13_cancelled_reads_lose_nothing)                        \
    X(ring_stream, field_b73_non_blocking_descriptors)                         \
    X(ring_stream, field_b74_no_signal_from_any_write)                         \
    X(ring_stream, no_allocation_once_warm)                                    \
    X(ring_stream, lack_of_memory_is_an_answer)

RGI_CASES(CASES)
