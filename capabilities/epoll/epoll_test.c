/* SPDX-License-Identifier: MIT */

/*
 * epoll_test.c - does the epoll provider keep what its set is trusted for?
 *
 * Its calls go through shim.h; recv and waitid are defined here, in front of libc's.
 */

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capabilities/child.h"
#include "capabilities/epoll/shim.h"
#include "capabilities/file.h"
#include "capabilities/packet.h"
#include "capabilities/send_file.h"

/* -------------------------------------------------- in front of the kernel */

static unsigned receives;      /* calls of recv so far, by the owner */
static uint32_t looks;         /* atomic: calls of waitid so far */
static uint32_t looks_in_vain; /* atomic: so many find nothing */
static uint32_t off_worker;    /* atomic: waitid by another thread */

ssize_t recv(int fd, void *memory, size_t size, int flags);
int waitid(idtype_t type, id_t id, siginfo_t *info, int options);

ssize_t
recv(int fd, void *memory, size_t size, int flags)
{
    receives++;
    return syscall(SYS_recvfrom, fd, memory, size, flags, NULL, NULL);
}

int
waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
    __atomic_add_fetch(&looks, 1, __ATOMIC_SEQ_CST);
    if (syscall(SYS_gettid) != getpid())
        __atomic_add_fetch(&off_worker, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&looks_in_vain, __ATOMIC_SEQ_CST) > 0) {
        __atomic_sub_fetch(&looks_in_vain, 1, __ATOMIC_SEQ_CST);
        return 0; /* nothing in *info: nothing has changed */
    }
    return (int)syscall(SYS_waitid, type, id, info, options, NULL);
}

static unsigned
descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void
begin_read(struct world *world, struct rgm_read *read,
           struct rgm_stream *stream, void *memory, size_t size)
{
    rgm_stream_read(read, stream, memory, size);
    desk_start(&world->desk, read);
}

/* --------------------------------------------------------------- lifecycle */

static void
nothing_is_left(void)
{
    size_t memory = rgi_memory_live();
    unsigned before = descriptors();
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, &byte, 1);
    say(peer, "x");
    rgi_check(desk_await(&world.desk, &read) == 0 && byte == 'x');
    close(peer); /* the handle is open yet: the provider closes it */
    world_close(&world);
    rgi_check(rgi_memory_live() == memory && descriptors() == before);
    rgm_provider_epoll.close(NULL);
}

static void
without_memory_nothing_is_made(void)
{
    struct rgm_packet packet = {0};
    struct rgm_packet_open open;
    struct rgm_endpoint any;
    struct world world;
    unsigned before;

    world_open(&world);
    before = descriptors();
    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &any) == 0);
    rgm_packet_open(&open, desk_here, &packet, &any, NULL);
    rgi_memory_fail_nth(1);
    rgi_check(desk_run(&world.desk, &open) == -ENOMEM);
    rgi_check(rgi_memory_fail_off() && descriptors() == before);
    rgi_check(packet.socket.open == 0);
    rgi_check(desk_run(&world.desk, &open) == 0);
    world_close(&world);
}

/* ------------------------------------------------------------ registrations */

static void
epo_01_one_set_and_one_registration_by_edges(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    for (int i = 0; i < 100; i++) {
        begin_read(&world, &read, &stream, &byte, 1);
        rgi_check(!desk_is_home(&read) && world.p->lined == 1);
        say(peer, "x");
        rgi_check(desk_await(&world.desk, &read) == 0);
        rgi_check(look(&world) == 0);
    }
    rgi_check(shim.sets == 1 && shim.adds == 1 && shim.changes == 0);
    rgi_check(shim.last_events ==
              (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET));
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

static void
epo_02_what_is_always_ready_is_never_registered(void)
{
    struct rgm_stream stream;
    struct world world;
    char bytes[4];
    bool end;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    for (int i = 0; i < 10; i++) {
        say(peer, "x");
        rgi_check(desk_read(&world.desk, &stream, bytes, 4, &end) == 1);
        rgi_check(desk_write(&world.desk, &stream, "y", 1) == 0);
    }
    rgi_check(shim.adds == 0 && shim.removals == 0);
    world_hang_up(&world, &stream, peer);
    rgi_check(shim.removals == 0);
    world_close(&world);
}

static void
epo_02_who_would_have_to_wait_is_told(void)
{
    struct rgm_stream stream;
    struct world world;
    char byte;
    bool end;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    shim.refuse_add = -ENOSPC;
    rgi_check(desk_read(&world.desk, &stream, &byte, 1, &end) == -ENOSPC);
    rgi_check(world.p->lined == 0);
    say(peer, "x"); /* who need not wait is not */
    rgi_check(desk_read(&world.desk, &stream, &byte, 1, &end) == 1);
    shim.refuse_add = 0;
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

static void
epo_16_ready_ones_stand_in_no_line(void)
{
    struct rgm_stream stream;
    struct rgm_write write;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    say(peer, "x");
    begin_read(&world, &read, &stream, &byte, 1);
    rgm_stream_write(&write, &stream, "y", 1);
    desk_start(&world.desk, &write);
    rgi_check(world.p->lined == 0 && shim.waits == 0 && shim.adds == 0);
    rgi_check(desk_take(&world.desk, 0) == 2 && shim.waits == 0);
    rgi_check(desk_is_home(&read) && desk_is_home(&write));
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* The one list it is in is the line of its direction. */
static void
can_19a_who_waits_stands_in_one_line_only(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, &byte, 1);
    rgi_check(rgi_list_first(&watch_of(&stream)->in.line) ==
              &read.operation.link);
    rgi_check(world.p->lined == 1 && world.p->in_pool == 0);
    rgi_check(rgi_list_empty(&world.p->runnable));
    rgi_check(rgi_list_empty(&world.p->paused));
    desk_cancel(&world.desk, &read);
    rgi_check(desk_await(&world.desk, &read) == -ECANCELED);
    rgi_check(world.p->lined == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* -------------------------------------------------------------------- marks */

static void
fill(struct rgm_stream *stream)
{
    static const char much[4096];

    while (send(watch_of(stream)->fd, much, sizeof(much),
                MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
        continue;
}

static void
empty(int peer)
{
    char much[65536];

    while (syscall(SYS_recvfrom, peer, much, sizeof(much), MSG_DONTWAIT, NULL,
                   NULL) > 0)
        continue;
}

/* A file to be sent, of so many bytes. */
static void
file_open(struct world *world, struct rgm_file *file, size_t length)
{
    char path[] = "/tmp/ringmail-epoll-XXXXXX";
    struct rgm_file_open open;
    int fd = mkstemp(path);

    rgi_check(fd >= 0 && ftruncate(fd, (off_t)length) == 0);
    close(fd);
    *file = (struct rgm_file){0};
    rgm_file_open(&open, desk_here, file, path, RGM_FILE_READ, 0);
    rgi_check(desk_run(&world->desk, &open) == 0);
    unlink(path);
}

static void
file_close(struct world *world, struct rgm_file *file)
{
    struct rgm_close close;

    rgm_file_close(&close, file);
    rgi_check(desk_run(&world->desk, &close) == 0);
}

static void
await_threads(struct world *world)
{
    while (!rgi_jobs_has_done(&world->p->jobs))
        continue;
}

/* The threads have found nothing, and their answer lies there: now there is an edge.
 * So it is tried again, and only then waits. */
static void
epo_04_edge_between_call_and_clear_is_not_lost(void)
{
    struct rgm_send_file send;
    struct rgm_stream stream;
    struct world world;
    struct rgm_file file;
    int peer;

    world_open(&world);
    peer = world_pair(&world, &stream);
    file_open(&world, &file, 10);
    fill(&stream);
    rgm_stream_send_file(&send, &stream, &file, 0, 10);
    desk_start(&world.desk, &send);
    rgi_check(watch_of(&stream)->out.lent == &send.operation);
    await_threads(&world);
    rgi_watch_note(world.p, watch_of(&stream), EPOLLOUT);
    (void)desk_take(&world.desk, 0);
    rgi_check(watch_of(&stream)->out.lent_generation == 1);
    while (world.p->lined == 0)
        (void)desk_take(&world.desk, rgi_epoll_now(world.p) + RGM_NS_PER_MS);
    rgi_check(!watch_of(&stream)->out.ready);
    empty(peer);
    rgi_check(desk_await(&world.desk, &send) == 0 && send.count == 10);
    file_close(&world, &file);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* Of the same generation it is cleared. */
static void
mon_06_only_the_generation_seen_is_cleared(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    uint32_t seen;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, &byte, 1);
    rgi_check(!watch_of(&stream)->in.ready);
    seen = watch_of(&stream)->in.generation;
    tell(watch_of(&stream), EPOLLIN); /* and nothing is there */
    rgi_check(look(&world) == 0 && !watch_of(&stream)->in.ready);
    rgi_check(watch_of(&stream)->in.generation == seen + 1);
    rgi_check(!desk_is_home(&read));
    say(peer, "x");
    rgi_check(desk_await(&world.desk, &read) == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

static void
epo_05_only_a_mark_that_is_new_wakes(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    unsigned before;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, &byte, 1);
    rgi_check(look(&world) == 0); /* it can be written to, says the kernel */
    before = receives;
    for (int i = 0; i < 10; i++) {
        tell(watch_of(&stream), EPOLLOUT);
        rgi_check(look(&world) == 0);
    }
    rgi_check(receives == before); /* no news for a reader */
    rgi_watch_note(world.p, watch_of(&stream), EPOLLIN | EPOLLOUT);
    rgi_watch_note(world.p, watch_of(&stream), EPOLLIN | EPOLLOUT);
    rgi_check(look(&world) == 0 && receives == before + 1);
    say(peer, "x");
    rgi_check(desk_await(&world.desk, &read) == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* Who waits for a slot is marked ready all the time. */
static void
epo_05_edges_wake_nobody_who_waits_for_a_slot(void)
{
    struct rgm_pool_options options = {.slots_count = 1, .slot_size_bytes = 64};
    struct rgm_lease lease = {0};
    struct rgm_read_pooled read;
    struct rgm_stream stream;
    struct rgm_pool *pool;
    struct world world;
    int peer;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    world_open(&world);
    peer = world_stream(&world, &stream);
    rgm_stream_read_pooled(&read, &stream, pool);
    desk_start(&world.desk, &read);
    world.p->pause_end_ns = RGM_NEVER; /* so it is not that which wakes */
    for (int i = 0; i < 10; i++) {
        tell(watch_of(&stream), EPOLLIN);
        rgi_check(look(&world) == 0);
    }
    rgi_check(world.desk.provider->pool_waits == 1);
    desk_cancel(&world.desk, &read);
    rgi_check(desk_await(&world.desk, &read) == -ECANCELED);
    rgi_check(rgm_lease_drop(&lease) == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
    rgm_pool_destroy(pool);
}

static void
epo_06_who_leaves_takes_no_wake_along(void)
{
    for (int leaves = 0; leaves < 3; leaves++) {
        char bytes[3] = "...";
        struct rgm_read reads[3];
        struct rgm_stream stream;
        struct world world;
        int peer;

        world_open(&world);
        peer = world_stream(&world, &stream);
        for (int i = 0; i < 3; i++)
            begin_read(&world, &reads[i], &stream, &bytes[i], 1);
        say(peer, "ab");
        rgi_watch_note(world.p, watch_of(&stream), EPOLLIN); /* its wake */
        desk_cancel(&world.desk, &reads[leaves]);
        for (int i = 0; i < 3; i++)
            rgi_check(desk_await(&world.desk, &reads[i]) ==
                      (i == leaves ? -ECANCELED : 0));
        bytes[leaves] = bytes[2];
        if (leaves < 2)
            rgi_check(bytes[0] + bytes[1] == 'a' + 'b');
        world_hang_up(&world, &stream, peer);
        world_close(&world);
    }
}

static void
mon_01_reader_and_writer_wait_side_by_side(void)
{
    static char much[1 << 20];
    struct rgm_stream stream;
    struct rgm_write write;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_pair(&world, &stream);
    fill(&stream);
    begin_read(&world, &read, &stream, &byte, 1);
    rgm_stream_write(&write, &stream, much, sizeof(much));
    desk_start(&world.desk, &write);
    rgi_check(world.p->lined == 2 && shim.adds == 1);
    say(peer, "x");
    rgi_check(desk_await(&world.desk, &read) == 0 && !desk_is_home(&write));
    while (!desk_is_home(&write)) {
        empty(peer);
        (void)desk_take(&world.desk, rgi_epoll_now(world.p) + RGM_NS_PER_MS);
    }
    rgi_check(write.count == sizeof(much) && shim.adds == 1);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

static void
mon_07_withdrawn_wait_leaves_the_registration(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    for (int i = 0; i < 3; i++) {
        begin_read(&world, &read, &stream, &byte, 1);
        desk_cancel(&world.desk, &read);
        rgi_check(desk_await(&world.desk, &read) == -ECANCELED);
    }
    rgi_check(shim.adds == 1 && shim.removals == 0);
    say(peer, "x");
    begin_read(&world, &read, &stream, &byte, 1);
    rgi_check(desk_await(&world.desk, &read) == 0);
    rgi_check(shim.adds == 1);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* As by a detach that fails at its last step. */
static void
who_waits_after_a_removal_registers_anew(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    for (unsigned i = 1; i <= 2; i++) {
        begin_read(&world, &read, &stream, &byte, 1);
        desk_cancel(&world.desk, &read);
        rgi_check(desk_await(&world.desk, &read) == -ECANCELED);
        rgi_check(shim.adds == i);
        rgi_check(rgi_watch_unregister(world.p, watch_of(&stream)));
    }
    begin_read(&world, &read, &stream, &byte, 1);
    say(peer, "x");
    rgi_check(desk_await(&world.desk, &read) == 0 && shim.adds == 3);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* --------------------------------------------------------- watches and events */

/* In one batch with the event that has it closed, or in a later one. */
static void
epo_08_event_of_what_is_closed_is_nobodys(void)
{
    struct rgm_stream one, other;
    struct rgm_read read, last;
    struct rgi_watch *watch;
    struct world world;
    char byte;
    int near, far;

    world_open(&world);
    near = world_stream(&world, &one);
    far = world_stream(&world, &other);
    begin_read(&world, &read, &one, &byte, 1);
    begin_read(&world, &last, &other, &byte, 1);
    watch = watch_of(&one);
    say(near, "x");
    rgi_check(desk_await(&world.desk, &read) == 0);
    world_hang_up(&world, &one, near);
    tell(watch, EPOLLIN | EPOLLOUT | EPOLLHUP);
    tell(watch, EPOLLERR);
    rgi_check(look(&world) == 0);
    rgi_check(rgi_list_empty(&world.p->runnable));
    near = world_stream(&world, &one); /* the same watch, another socket */
    rgi_check(watch_of(&one) == watch && !watch->lasting);
    begin_read(&world, &read, &one, &byte, 1);
    tell(watch, EPOLLIN);
    rgi_check(look(&world) == 0 && !desk_is_home(&read));
    desk_cancel(&world.desk, &read);
    rgi_check(desk_await(&world.desk, &read) == -ECANCELED);
    say(far, "y");
    rgi_check(desk_await(&world.desk, &last) == 0);
    world_hang_up(&world, &one, near);
    world_hang_up(&world, &other, far);
    world_close(&world);
}

static void
epo_09_what_cannot_be_removed_is_never_used_again(void)
{
    struct rgi_watch *watches[3];
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    for (int i = 0; i < 3; i++) {
        peer = world_stream(&world, &stream);
        watches[i] = watch_of(&stream);
        begin_read(&world, &read, &stream, &byte, 1);
        say(peer, "x");
        rgi_check(desk_await(&world.desk, &read) == 0);
        shim.refuse_removal = i == 0 ? -ENOMEM : 0;
        world_hang_up(&world, &stream, peer);
    }
    rgi_check(world.p->quarantined == 1);
    rgi_check(watches[1] != watches[0] && watches[2] == watches[1]);
    world_close(&world);
}

/* Somebody has a copy of the descriptor, whose number is free again. */
static void
soc_09_used_again_a_number_gets_no_old_event(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    int copy, peer, old_peer, fd;
    char byte;

    world_open(&world);
    for (int i = 0; i < 10; i++) {
        old_peer = world_stream(&world, &stream);
        begin_read(&world, &read, &stream, &byte, 1);
        say(old_peer, "x");
        rgi_check(desk_await(&world.desk, &read) == 0);
        fd = watch_of(&stream)->fd;
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 500);
        rgi_check(copy >= 500);
        shim.removed_open = false;
        rgi_check(desk_close_socket(&world.desk, &stream.socket) == 0);
        rgi_check(shim.removed_open && fcntl(fd, F_GETFD) < 0);
        peer = world_stream(&world, &stream);
        begin_read(&world, &read, &stream, &byte, 1);
        (void)look(&world);
        say(old_peer, "y"); /* comes to the copy */
        receives = 0;
        rgi_check(look(&world) == 0 && receives == 0);
        rgi_check(!desk_is_home(&read));
        say(peer, "z");
        rgi_check(desk_await(&world.desk, &read) == 0 && byte == 'z');
        close(copy);
        close(old_peer);
        world_hang_up(&world, &stream, peer);
    }
    world_close(&world);
}

/* Input, output, error and end in one report: each who waits is told once, and what
 * is closed then hears no more of it. */
static void
field_b47_one_report_for_reader_and_writer(void)
{
    struct linger now = {1, 0};
    int small = 65536;
    struct rgm_stream stream;
    struct rgm_write write;
    static char much[1 << 22];
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    rgi_check(setsockopt(watch_of(&stream)->fd, SOL_SOCKET, SO_SNDBUF, &small,
                         sizeof(small)) == 0);
    rgi_check(setsockopt(peer, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)) ==
              0);
    begin_read(&world, &read, &stream, &byte, 1);
    rgm_stream_write(&write, &stream, much, sizeof(much));
    desk_start(&world.desk, &write);
    while (world.p->lined < 2 || watch_of(&stream)->out.ready)
        (void)look(&world); /* until the peer's room is used up */
    rgi_check(setsockopt(peer, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
    close(peer); /* a reset */
    rgi_check(desk_await(&world.desk, &read) < 0);
    rgi_check(desk_await(&world.desk, &write) < 0);
    rgi_check(world.p->lined == 0 && stream.socket.busy == 0);
    rgi_check(desk_close_socket(&world.desk, &stream.socket) == 0);
    rgi_check(desk_take(&world.desk, 0) == 0);
    world_close(&world);
}

static bool
hears(struct world *world, uint64_t deadline_ns)
{
    struct rgm_turn turn = {0};

    rgi_check(world->desk.provider->ops->wait(world->desk.provider, deadline_ns,
                                              &turn) == 0);
    return turn.rang;
}

/* However many rings come before it looks, also when the counter is full. */
static void
field_b11_rings_that_come_fast_are_heard(void)
{
    uint64_t nearly_full = UINT64_MAX - 1;
    struct world world;

    world_open(&world);
    for (int i = 0; i < 1000; i++)
        world.desk.provider->ops->wake(world.desk.provider);
    rgi_check(hears(&world, RGM_NEVER));
    rgi_check(!hears(&world, rgi_epoll_now(world.p) + 1)); /* they were one */
    rgi_check(write(world.desk.bell, &nearly_full, sizeof(nearly_full)) ==
              (ssize_t)sizeof(nearly_full));
    world.desk.provider->ops->wake(world.desk.provider);
    rgi_check(hears(&world, RGM_NEVER));
    for (int i = 0; i < 100; i++) {
        world.desk.provider->ops->wake(world.desk.provider);
        rgi_check(hears(&world, RGM_NEVER));
    }
    world_close(&world);
}

/* ------------------------------------------------------------------- sleeping */

static void
sleeps_in_time(struct world *world)
{
    uint64_t end_ns = rgi_epoll_now(world->p) + 250 * RGM_NS_PER_US;

    rgi_check(desk_take(&world->desk, end_ns) == 0);
    rgi_check(rgi_epoll_now(world->p) >= end_ns);
}

static void
rings_and_streams_are_heard(struct world *world)
{
    struct rgm_stream stream;
    struct rgm_read read;
    char byte;
    int peer;

    peer = world_stream(world, &stream);
    begin_read(world, &read, &stream, &byte, 1);
    rgi_bell_ring((void *)(intptr_t)world->desk.bell);
    rgi_check(desk_take(&world->desk, RGM_NEVER) == 0);
    say(peer, "x");
    rgi_check(desk_await(&world->desk, &read) == 0);
    world_hang_up(world, &stream, peer);
}

static void
epo_12_timer_is_set_for_sleeps_with_an_end_alone(void)
{
    struct world world;

    shim.refuse_exact = true;
    world_open(&world);
    rgi_check(world.p->nap == RGI_NAP_TIMER);
    while (shim.arms == 0) /* where a thread is slow, it is late before */
        sleeps_in_time(&world);
    rgi_check(shim.arms == 1 && shim.disarms == 1);
    rgi_bell_ring((void *)(intptr_t)world.desk.bell); /* it ends early */
    rgi_check(desk_take(&world.desk, rgi_epoll_now(world.p) + DESK_GUARD_NS) ==
              0);
    rgi_check(shim.arms == 2 && shim.disarms == 2);
    rgi_bell_ring((void *)(intptr_t)world.desk.bell);
    rgi_check(desk_take(&world.desk, RGM_NEVER) == 0);
    rgi_check(desk_take(&world.desk, 0) == 0);
    rgi_check(desk_take(&world.desk, 1) == 0); /* long over */
    rgi_check(shim.arms == 2 && shim.disarms == 2);
    world_close(&world);
}

static void
epo_13_tokens_are_told_apart_in_any_order(void)
{
    static const char orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};

    for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
        struct rgm_turn turn = {0};
        struct rgm_stream stream;
        struct world world;
        struct rgm_read read;
        char byte;
        int peer;

        shim.refuse_exact = true;
        world_open(&world);
        peer = world_stream(&world, &stream);
        begin_read(&world, &read, &stream, &byte, 1);
        rgi_bell_ring((void *)(intptr_t)world.desk.bell);
        tell(&world.p->timer, EPOLLIN); /* the bell is not in this batch */
        world.p->looked_ns = 0;
        rgi_check(
            world.desk.provider->ops->wait(world.desk.provider, 0, &turn) == 0);
        rgi_check(!turn.rang && rgi_bell_is_rung(world.desk.bell));
        say(peer, "x");
        for (int k = 0; k < 3; k++) {
            void *about[] = {&world.p->bell, &world.p->timer,
                             watch_of(&stream)};

            tell(about[(int)orders[i][k]], EPOLLIN);
        }
        world.p->looked_ns = 0;
        rgi_check(
            world.desk.provider->ops->wait(world.desk.provider, 0, &turn) == 0);
        rgi_check(turn.rang && turn.count == 1 && byte == 'x');
        rgi_check(!rgi_bell_is_rung(world.desk.bell));
        rgi_operation_home(&read.operation);
        world_hang_up(&world, &stream, peer);
        world_close(&world);
    }
}

static int
wait_status(struct world *world, uint64_t deadline_ns)
{
    struct rgm_turn turn = {0};

    return world->desk.provider->ops->wait(world->desk.provider, deadline_ns,
                                           &turn);
}

static void
epo_14_timer_that_fails_ends_the_provider(void)
{
    struct world world;

    shim.refuse_exact = true;
    world_open(&world);
    shim.refuse_disarm = -EIO;
    rgi_bell_ring((void *)(intptr_t)world.desk.bell);
    rgi_check(wait_status(&world, rgi_epoll_now(world.p) + DESK_GUARD_NS) ==
              -EIO);
    shim.refuse_disarm = 0;
    shim.refuse_arm = -EBADF;
    rgi_check(wait_status(&world, rgi_epoll_now(world.p) + DESK_GUARD_NS) ==
              -EBADF);
    rgi_check(shim.disarms == 1); /* there was nothing to disarm */
    world_close(&world);
}

static void
epo_15_any_way_to_sleep_will_do(void)
{
    struct world world;

    world_open(&world);
    sleeps_in_time(&world);
    rings_and_streams_are_heard(&world);
    world_close(&world);

    shim.refuse_exact = true;
    world_open(&world);
    rgi_check(world.p->nap == RGI_NAP_TIMER);
    while (shim.arms == 0)
        sleeps_in_time(&world);
    rings_and_streams_are_heard(&world);
    world_close(&world);

    shim.refuse_exact = true;
    shim.refuse_timer = true;
    world_open(&world);
    rgi_check(world.p->nap == RGI_NAP_MILLISECONDS);
    sleeps_in_time(&world);
    rings_and_streams_are_heard(&world);
    rgi_check(shim.arms == 0);
    world_close(&world);

    shim.refuse_exact = true;
    shim.refuse_timer = true;
    rgi_check(world_try(&world, true) == -ENOTSUP); /* too weak for strict */
    shim.refuse_exact = false;
    shim.refuse_timer = false;
}

static void
epo_18_turns_allocate_nothing(void)
{
    struct rgm_stream streams[4];
    struct rgm_read reads[4];
    struct world world;
    char bytes[4];
    int peers[4];

    world_open(&world);
    for (int i = 0; i < 4; i++) {
        peers[i] = world_stream(&world, &streams[i]);
        begin_read(&world, &reads[i], &streams[i], &bytes[i], 1);
    }
    rgi_memory_fail_nth(1);
    for (int round = 0; round < 100; round++)
        for (int i = 0; i < 4; i++) {
            say(peers[i], "x");
            rgi_check(desk_await(&world.desk, &reads[i]) == 0);
            begin_read(&world, &reads[i], &streams[i], &bytes[i], 1);
        }
    rgi_check(!rgi_memory_fail_off());
    for (int i = 0; i < 4; i++) {
        close(peers[i]);
        rgi_check(desk_await(&world.desk, &reads[i]) == 0 && reads[i].end);
        rgi_check(desk_close_socket(&world.desk, &streams[i].socket) == 0);
    }
    world_close(&world);
}

/* ---------------------------------------------------------------------- reads */

static void
epo_20_an_end_stays_told(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char bytes[8];
    bool end = false;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, bytes, 1);
    say(peer, "abc");
    rgi_check(shutdown(peer, SHUT_WR) == 0);
    rgi_check(desk_await(&world.desk, &read) == 0);
    rgi_check(look(&world) == 0 && watch_of(&stream)->lasting);
    /* Short, and the mark stays: behind it there is the end. */
    rgi_check(desk_read(&world.desk, &stream, bytes, 8, &end) == 2 && !end);
    for (int i = 0; i < 3; i++)
        rgi_check(desk_read(&world.desk, &stream, bytes, 8, &end) == 0 && end);
    rgi_check(watch_of(&stream)->lasting);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

static void
srd_08_one_receive_for_each_message(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char bytes[8];
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, bytes, sizeof(bytes));
    receives = 0;
    for (int i = 0; i < 100; i++) {
        say(peer, "ping");
        rgi_check(desk_await(&world.desk, &read) == 0 && read.count == 4);
        begin_read(&world, &read, &stream, bytes, sizeof(bytes));
    }
    rgi_check(receives == 100);
    say(peer, "12345678"); /* full: there may be more, so it asks */
    rgi_check(desk_await(&world.desk, &read) == 0 && read.count == 8);
    begin_read(&world, &read, &stream, bytes, sizeof(bytes));
    rgi_check(receives == 102);
    close(peer);
    rgi_check(desk_await(&world.desk, &read) == 0 && read.end);
    rgi_check(desk_close_socket(&world.desk, &stream.socket) == 0);
    world_close(&world);
}

/* An urgent byte parts what is there: the short read in front of it is not all. */
static void
srd_11_reads_go_on_behind_an_urgent_byte(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char bytes[8];
    bool end;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, bytes, 1);
    say(peer, "xab");
    rgi_check(send(peer, "!", 1, MSG_OOB) == 1);
    say(peer, "cd");
    rgi_check(desk_await(&world.desk, &read) == 0);
    rgi_check(look(&world) == 0 && watch_of(&stream)->lasting);
    rgi_check(desk_read(&world.desk, &stream, bytes, 8, &end) == 2);
    rgi_check(desk_read(&world.desk, &stream, bytes, 8, &end) == 2);
    rgi_check(memcmp(bytes, "cd", 2) == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* Support of urgent bytes comes and goes with a read, and nothing else does. */
static void
srd_12_switching_urgent_support_keeps_all_else(void)
{
    struct rgm_stream stream;
    struct world world;
    struct rgm_read read;
    char bytes[4];
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    for (int i = 0; i < 20; i++) {
        bool over = i >= 10;

        rgm_stream_read(&read, &stream, bytes, sizeof(bytes));
        read.urgent = i % 2 == 1;
        desk_start(&world.desk, &read);
        if (i == 10)
            rgi_check(shutdown(peer, SHUT_WR) == 0);
        else if (!over)
            say(peer, "x");
        rgi_check(desk_await(&world.desk, &read) == 0 && read.end == over);
        /* Short, and yet the next one has to ask. */
        rgi_check(watch_of(&stream)->in.ready == (over || read.urgent));
    }
    rgi_check(shim.adds == 1 && shim.changes == 0 && shim.removals == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

static void
srd_19_waking_for_one_repeats_no_other(void)
{
    enum { STREAMS = 20 };
    struct rgm_stream streams[STREAMS];
    struct rgm_read reads[STREAMS];
    char bytes[STREAMS];
    struct world world;
    int peers[STREAMS];

    world_open(&world);
    receives = 0;
    for (int i = 0; i < STREAMS; i++) {
        peers[i] = world_stream(&world, &streams[i]);
        begin_read(&world, &reads[i], &streams[i], &bytes[i], 1);
    }
    rgi_check(look(&world) == 0 && receives == STREAMS);
    for (unsigned i = 0; i < 100; i++) {
        struct rgm_read *read = &reads[i % 3];

        say(peers[i % 3], "x");
        rgi_check(desk_await(&world.desk, read) == 0);
        begin_read(&world, read, &streams[i % 3], &bytes[i % 3], 1);
        rgi_check(receives == STREAMS + 2 * (i + 1));
    }
    for (int i = 0; i < STREAMS; i++) {
        close(peers[i]);
        rgi_check(desk_await(&world.desk, &reads[i]) == 0 && reads[i].end);
        rgi_check(desk_close_socket(&world.desk, &streams[i].socket) == 0);
    }
    world_close(&world);
}

/* An end that is told is told to a later turn. */
static void
opl_03_all_is_kept_until_it_is_handed_over(void)
{
    struct rgm_stream stream;
    struct rgm_close close_it;
    struct world world;
    struct rgm_read read;
    char byte;
    int peer;

    world_open(&world);
    peer = world_stream(&world, &stream);
    begin_read(&world, &read, &stream, &byte, 1);
    desk_cancel(&world.desk, &read);
    rgi_check(!desk_is_home(&read) && stream.socket.busy == 1);
    rgi_check(read.memory == &byte && read.stream == &stream);
    rgm_stream_close(&close_it, &stream);
    rgi_check(desk_run(&world.desk, &close_it) == -EBUSY);
    rgi_check(desk_await(&world.desk, &read) == -ECANCELED);
    rgi_check(stream.socket.busy == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* What a peer takes between the write that was too early and its registration. */
static struct {
    struct world *world;
    struct rgm_stream *stream;
    int peer;
} between;

static void
take_in_between(int fd)
{
    (void)fd;
    empty(between.peer);
    rgi_watch_note(between.world->p, watch_of(between.stream), EPOLLOUT);
    shim.before_add = NULL;
}

static void
swr_16_edge_between_write_and_clear_is_not_lost(void)
{
    struct rgm_stream stream;
    struct rgm_write write;
    struct world world;
    int peer;

    world_open(&world);
    peer = world_pair(&world, &stream);
    between.world = &world;
    between.stream = &stream;
    between.peer = peer;
    shim.before_add = take_in_between;
    fill(&stream);
    rgm_stream_write(&write, &stream, "x", 1);
    desk_start(&world.desk, &write);
    rgi_check(watch_of(&stream)->out.ready && !desk_is_home(&write));
    tell(&world.p->timer, EPOLLIN); /* no other news */
    rgi_check(look(&world) == 1 && desk_is_home(&write) && write.count == 1);
    fill(&stream); /* registered, and kept */
    rgm_stream_write(&write, &stream, "x", 1);
    desk_start(&world.desk, &write);
    rgi_check(!watch_of(&stream)->out.ready);
    empty(peer);
    rgi_check(desk_await(&world.desk, &write) == 0 && shim.adds == 1);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* Readiness or not, these ask the kernel each time they are begun. */
static void
srd_24_pooled_reads_ask_first(void)
{
    struct rgm_pool_options options = {.slots_count = 1, .slot_size_bytes = 64};
    struct rgm_read_pooled read;
    struct rgm_stream stream;
    struct rgm_pool *pool;
    struct world world;
    int peer;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    world_open(&world);
    peer = world_stream(&world, &stream);
    rgm_stream_read_pooled(&read, &stream, pool);
    desk_start(&world.desk, &read);
    receives = 0;
    for (unsigned i = 0; i < 10; i++) {
        say(peer, "short");
        rgi_check(desk_await(&world.desk, &read) == 0 && read.count == 5);
        rgi_check(rgm_lease_drop(&read.lease) == 0);
        rgi_check(watch_of(&stream)->in.ready);
        desk_start(&world.desk, &read);
        rgi_check(receives == 2 * (i + 1) && !watch_of(&stream)->in.ready);
    }
    desk_cancel(&world.desk, &read);
    rgi_check(desk_await(&world.desk, &read) == -ECANCELED);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
    rgm_pool_destroy(pool);
}

/* Whoever finds no slot waits for no event, and the next in line for him. */
static void
starved_reads_are_tried_again(void)
{
    struct rgm_pool_options options = {.slots_count = 1, .slot_size_bytes = 64};
    struct rgm_lease lease = {0};
    struct rgm_read_pooled read;
    struct rgm_stream stream;
    struct rgm_pool *pool;
    struct world world;
    int peer;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    world_open(&world);
    peer = world_stream(&world, &stream);
    say(peer, "data");
    rgm_stream_read_pooled(&read, &stream, pool);
    desk_start(&world.desk, &read);
    rgi_check(world.desk.provider->pool_waits == 1);
    while (world.desk.provider->pool_waits < 3)
        (void)desk_take(&world.desk,
                        rgi_epoll_now(world.p) + RGI_EPOLL_PAUSE_NS);
    rgi_check(!desk_is_home(&read));
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(desk_await(&world.desk, &read) == 0 && read.count == 4);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------- what blocks */

static void
epo_17_what_blocks_is_with_the_threads(void)
{
    struct linger linger = {1, 1};
    struct rgm_stream stream;
    struct rgm_file_read read;
    struct rgm_close close_it;
    struct rgm_file file;
    struct world world;
    char bytes[4];
    int peer;

    world_open(&world);
    file_open(&world, &file, 4);
    rgm_file_read(&read, &file, bytes, 4);
    desk_start(&world.desk, &read);
    rgi_check(world.p->in_pool == 1);
    rgi_check(desk_await(&world.desk, &read) == 0 && read.count == 4);
    rgi_check(world.p->in_pool == 0);
    file_close(&world, &file);
    peer = world_stream(&world, &stream);
    rgi_check(setsockopt(watch_of(&stream)->fd, SOL_SOCKET, SO_LINGER, &linger,
                         sizeof(linger)) == 0);
    rgm_stream_close(&close_it, &stream);
    desk_start(&world.desk, &close_it);
    rgi_check(world.p->in_pool == 1);
    rgi_check(desk_await(&world.desk, &close_it) == 0);
    close(peer);
    world_close(&world);
}

/* The threads come back with nothing, after the cancel. */
static void
cancelled_send_file_stands_in_no_line(void)
{
    struct rgm_send_file send;
    struct rgm_stream stream;
    struct world world;
    struct rgm_file file;
    int peer;

    world_open(&world);
    peer = world_pair(&world, &stream);
    file_open(&world, &file, 10);
    fill(&stream);
    rgm_stream_send_file(&send, &stream, &file, 0, 10);
    desk_start(&world.desk, &send);
    await_threads(&world);
    desk_cancel(&world.desk, &send);
    rgi_check(desk_await(&world.desk, &send) == -ECANCELED);
    rgi_check(world.p->lined == 0 && send.count == 0);
    desk_start(&world.desk, &send); /* now while it stands there */
    while (world.p->lined == 0)
        (void)desk_take(&world.desk, rgi_epoll_now(world.p) + RGM_NS_PER_MS);
    desk_cancel(&world.desk, &send);
    rgi_check(desk_await(&world.desk, &send) == -ECANCELED);
    file_close(&world, &file);
    world_hang_up(&world, &stream, peer);
    world_close(&world);
}

/* The sender's own socket can be written to all the while. */
static void
packets_for_a_full_unix_socket_are_tried_again(void)
{
    char directory[] = "/tmp/ringmail-epoll-XXXXXX";
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    struct rgm_packet packet = {0};
    struct rgm_packet_open open;
    struct rgm_packet_write write;
    struct rgm_endpoint here, there;
    struct world world;
    char path[64];
    char byte;
    int peer;

    rgi_check(mkdtemp(directory) != NULL);
    snprintf(name.sun_path, sizeof(name.sun_path), "%s/peer", directory);
    peer = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    rgi_check(bind(peer, (struct sockaddr *)&name, sizeof(name)) == 0);
    snprintf(path, sizeof(path), "%s/mine", directory);
    rgi_check(rgm_endpoint_parse(path, 0, &here) == 0);
    rgi_check(rgm_endpoint_parse(name.sun_path, 0, &there) == 0);
    world_open(&world);
    rgm_packet_open(&open, desk_here, &packet, &here, NULL);
    rgi_check(desk_run(&world.desk, &open) == 0);
    do {
        rgm_packet_write(&write, &packet, "x", 1, &there);
        desk_start(&world.desk, &write);
        (void)desk_take(&world.desk, 0);
    } while (desk_is_home(&write));
    rgi_check(!rgi_list_empty(&world.p->paused));
    rgi_check(syscall(SYS_recvfrom, peer, &byte, 1, 0, NULL, NULL) == 1);
    rgi_check(desk_await(&world.desk, &write) == 0);
    unlink(name.sun_path);
    unlink(path);
    rmdir(directory);
    close(peer);
    world_close(&world);
}

/* ------------------------------------------------------------------- children */

/* One that lives until its end of the pipe is closed. */
static pid_t
child_start(int *ret_gate)
{
    int gate[2];
    char byte;
    pid_t child;

    rgi_check(pipe2(gate, O_CLOEXEC) == 0);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0) {
        close(gate[1]);
        _exit(read(gate[0], &byte, 1) == 0 ? 7 : 8);
    }
    close(gate[0]);
    *ret_gate = gate[1];
    return child;
}

static void
child_counts_begin(void)
{
    __atomic_store_n(&looks, 0, __ATOMIC_SEQ_CST);
    __atomic_store_n(&off_worker, 0, __ATOMIC_SEQ_CST);
    shim.processes = 0;
}

static void
child_end(struct world *world, struct rgm_child_wait *wait, pid_t child,
          int gate)
{
    close(gate);
    rgi_check(desk_await(&world->desk, wait) == 0);
    rgi_check(wait->process == child && wait->status == 7);
}

static void
prw_04_one_process_is_told_by_its_descriptor(void)
{
    struct rgm_child_wait wait;
    struct world world;
    unsigned before;
    pid_t child;
    int gate;

    world_open(&world);
    before = descriptors();
    child = child_start(&gate);
    child_counts_begin();
    rgm_child_wait(&wait, desk_here, RGM_CHILD_PROCESS, child, 0);
    desk_start(&world.desk, &wait);
    rgi_check(shim.processes == 1 && shim.adds == 1 && world.p->in_pool == 0);
    child_end(&world, &wait, child, gate);
    rgi_check(looks == 2 && off_worker == 0);
    rgi_check(descriptors() == before);
    world_close(&world);
}

/* It has told, and cannot be reaped yet. */
static void
prw_04_told_too_early_it_is_looked_at_by_the_threads(void)
{
    struct rgm_child_wait wait;
    struct world world;
    pid_t child;
    int gate;

    world_open(&world);
    child = child_start(&gate);
    child_counts_begin();
    rgm_child_wait(&wait, desk_here, RGM_CHILD_PROCESS, child, 0);
    desk_start(&world.desk, &wait);
    __atomic_store_n(&looks_in_vain, 3, __ATOMIC_SEQ_CST);
    child_end(&world, &wait, child, gate);
    rgi_check(looks == 5 && off_worker == 3 && world.p->in_pool == 0);
    world_close(&world);
}

static void
prw_04_anything_else_goes_to_the_threads(void)
{
    static const struct {
        enum rgm_child_select select;
        uint32_t flags;
    } roads[] = {{RGM_CHILD_ANY, 0},
                 {RGM_CHILD_GROUP, 0},
                 {RGM_CHILD_PROCESS, RGM_CHILD_STOPPED},
                 {RGM_CHILD_PROCESS, RGM_CHILD_CONTINUED},
                 {RGM_CHILD_PROCESS, 0}};
    struct world world;

    world_open(&world);
    for (size_t i = 0; i < sizeof(roads) / sizeof(roads[0]); i++) {
        struct rgm_child_wait wait;
        pid_t child;
        int gate;

        child = child_start(&gate);
        child_counts_begin();
        shim.refuse_process = i == 4 ? -ENOSYS : 0; /* an older kernel */
        rgm_child_wait(&wait, desk_here, roads[i].select,
                       roads[i].select == RGM_CHILD_PROCESS ? child : 0,
                       roads[i].flags);
        desk_start(&world.desk, &wait);
        rgi_check(shim.processes == (i == 4) && world.p->in_pool == 1);
        child_end(&world, &wait, child, gate);
        rgi_check(looks == off_worker && shim.adds == 0);
    }
    world_close(&world);
}

static void
prw_05_cancelled_wait_leaves_no_descriptor(void)
{
    struct rgm_child_wait wait;
    struct world world;
    unsigned before;
    pid_t child;
    int gate, status;

    world_open(&world);
    child = child_start(&gate);
    before = descriptors();
    rgm_child_wait(&wait, desk_here, RGM_CHILD_PROCESS, child, 0);
    desk_start(&world.desk, &wait);
    rgi_check(descriptors() == before + 1);
    desk_cancel(&world.desk, &wait);
    rgi_check(desk_await(&world.desk, &wait) == -ECANCELED);
    rgi_check(descriptors() == before && shim.removals == 1);
    close(gate);
    rgi_check(waitpid(child, &status, 0) == child);
    world_close(&world);
}

#define CASES(X)                                                               \
    X(epoll, nothing_is_left)                                                  \
    X(epoll, without_memory_nothing_is_made)                                   \
    X(epoll, epo_01_one_set_and_one_registration_by_edges)                     \
    X(epoll, epo_02_what_is_always_ready_is_never_registered)                  \
    X(epoll, epo_02_who_would_have_to_wait_is_told)                            \
    X(epoll, epo_04_edge_between_call_and_clear_is_not_lost)                   \
    X(epoll, epo_05_only_a_mark_that_is_new_wakes)                             \
    X(epoll, epo_05_edges_wake_nobody_who_waits_for_a_slot)                    \
    X(epoll, epo_06_who_leaves_takes_no_wake_along)                            \
    X(epoll, epo_08_event_of_what_is_closed_is_nobodys)                        \
    X(epoll, epo_09_what_cannot_be_removed_is_never_used_again)                \
    X(epoll, epo_12_timer_is_set_for_sleeps_with_an_end_alone)                 \
    X(epoll, epo_13_tokens_are_told_apart_in_any_order)                        \
    X(epoll, epo_14_timer_that_fails_ends_the_provider)                        \
    X(epoll, epo_15_any_way_to_sleep_will_do)                                  \
    X(epoll, epo_16_ready_ones_stand_in_no_line)                               \
    X(epoll, epo_17_what_blocks_is_with_the_threads)                           \
    X(epoll, epo_18_turns_allocate_nothing)                                    \
    X(epoll, epo_20_an_end_stays_told)                                         \
    X(epoll, can_19a_who_waits_stands_in_one_line_only)                        \
    X(epoll, mon_01_reader_and_writer_wait_side_by_side)                       \
    X(epoll, mon_06_only_the_generation_seen_is_cleared)                       \
    X(epoll, mon_07_withdrawn_wait_leaves_the_registration)                    \
    X(epoll, who_waits_after_a_removal_registers_anew)                         \
    X(epoll, srd_08_one_receive_for_each_message)                              \
    X(epoll, srd_11_reads_go_on_behind_an_urgent_byte)                         \
    X(epoll, srd_12_switching_urgent_support_keeps_all_else)                   \
    X(epoll, srd_19_waking_for_one_repeats_no_other)                           \
    X(epoll, opl_03_all_is_kept_until_it_is_handed_over)                       \
    X(epoll, swr_16_edge_between_write_and_clear_is_not_lost)                  \
    X(epoll, srd_24_pooled_reads_ask_first)                                    \
    X(epoll, starved_reads_are_tried_again)                                    \
    X(epoll, soc_09_used_again_a_number_gets_no_old_event)                     \
    X(epoll, field_b11_rings_that_come_fast_are_heard)                         \
    X(epoll, field_b47_one_report_for_reader_and_writer)                       \
    X(epoll, cancelled_send_file_stands_in_no_line)                            \
    X(epoll, packets_for_a_full_unix_socket_are_tried_again)                   \
    X(epoll, prw_04_one_process_is_told_by_its_descriptor)                     \
    X(epoll, prw_04_told_too_early_it_is_looked_at_by_the_threads)             \
    X(epoll, prw_04_anything_else_goes_to_the_threads)                         \
    X(epoll, prw_05_cancelled_wait_leaves_no_descriptor)

RGI_CASES(CASES)
