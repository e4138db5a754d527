/* SPDX-License-Identifier: MIT */

/*
 * threads_test.c - does the plain provider keep what it is trusted for?
 *
 * The system calls it makes are defined here, in front of libc's: they are
 * counted, one descriptor's can be held at a gate, and errors can be put in.
 * So a test decides when an attempt is running, instead of hoping.
 */

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/memory.h"
#include "capabilities/desk.h"

#define CLASS (&rgm_provider_threads)

/* -------------------------------------------------- in front of the kernel */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int fd;          /* calls on it are held; 0: none */
    unsigned inside; /* calls that are held now */
} gate = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0};

static uint64_t receives; /* atomic: calls of recv so far */
static uint64_t polls;    /* atomic: calls of ppoll so far */
static uint64_t clocks;   /* atomic: looks at the clock by other threads */
static uint64_t closes;   /* atomic: calls of close so far */
static int receive_error; /* atomic: given once instead of the next recv */
static int send_error;    /* atomic: given once instead of the next sendmsg */
static int close_error;   /* atomic: given by the next close after closing */
static int thread_fails;  /* atomic: the nth pthread_create from now fails */
static uint32_t living;   /* atomic: threads created and not joined */

#define COUNT(counter) __atomic_add_fetch(&(counter), 1, __ATOMIC_SEQ_CST)
#define LOOK(counter) __atomic_load_n(&(counter), __ATOMIC_SEQ_CST)
#define SET(variable, value)                                                  \
    __atomic_store_n(&(variable), value, __ATOMIC_SEQ_CST)
#define TAKE(variable) __atomic_exchange_n(&(variable), 0, __ATOMIC_SEQ_CST)

static void
gate_shut(int fd)
{
    pthread_mutex_lock(&gate.lock);
    gate.fd = fd;
    pthread_mutex_unlock(&gate.lock);
}

static void
gate_open(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.fd = 0;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static void
gate_await(unsigned inside)
{
    pthread_mutex_lock(&gate.lock);
    while (gate.inside < inside)
        pthread_cond_wait(&gate.changed, &gate.lock);
    pthread_mutex_unlock(&gate.lock);
}

static void
gate_pass(int fd)
{
    pthread_mutex_lock(&gate.lock);
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    while (gate.fd == fd)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.inside--;
    pthread_mutex_unlock(&gate.lock);
}

ssize_t recv(int fd, void *memory, size_t size, int flags);
ssize_t sendmsg(int fd, const struct msghdr *header, int flags);
int ppoll(struct pollfd *entries, nfds_t count, const struct timespec *pause,
          const sigset_t *mask);
int close(int fd);
int clock_gettime(clockid_t clock, struct timespec *ret_now);
int pthread_create(pthread_t *restrict thread,
                   const pthread_attr_t *restrict attributes,
                   void *(*run)(void *), void *restrict argument);
int pthread_join(pthread_t thread, void **result);

ssize_t
recv(int fd, void *memory, size_t size, int flags)
{
    int error;

    gate_pass(fd);
    COUNT(receives);
    error = TAKE(receive_error);
    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_recvfrom, fd, memory, size, flags, NULL, NULL);
}

ssize_t
sendmsg(int fd, const struct msghdr *header, int flags)
{
    int error = TAKE(send_error);

    if (error != 0) {
        errno = error;
        return -1;
    }
    return syscall(SYS_sendmsg, fd, header, flags);
}

int
ppoll(struct pollfd *entries, nfds_t count, const struct timespec *pause,
      const sigset_t *mask)
{
    struct timespec copy = {0, 0};

    COUNT(polls);
    if (pause != NULL)
        copy = *pause; /* the kernel writes what is left into it */
    return (int)syscall(SYS_ppoll, entries, count, pause ? &copy : NULL, mask,
                        (size_t)8);
}

int
close(int fd)
{
    int error;

    COUNT(closes);
    if (syscall(SYS_close, fd) < 0)
        return -1;
    error = TAKE(close_error);
    if (error == 0)
        return 0;
    errno = error;
    return -1;
}

int
clock_gettime(clockid_t clock, struct timespec *ret_now)
{
    if (syscall(SYS_gettid) != getpid()) /* the owner is the first thread */
        COUNT(clocks);
    return (int)syscall(SYS_clock_gettime, clock, ret_now);
}

int
pthread_create(pthread_t *restrict thread,
               const pthread_attr_t *restrict attributes,
               void *(*run)(void *), void *restrict argument)
{
    int (*real)(pthread_t *restrict, const pthread_attr_t *restrict,
                void *(*)(void *), void *restrict);
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");

    memcpy(&real, &symbol, sizeof(real));
    if (LOOK(thread_fails) > 0 &&
        __atomic_sub_fetch(&thread_fails, 1, __ATOMIC_SEQ_CST) == 0)
        return EAGAIN;
    COUNT(living);
    return real(thread, attributes, run, argument);
}

int
pthread_join(pthread_t thread, void **result)
{
    int (*real)(pthread_t, void **);
    void *symbol = dlsym(RTLD_NEXT, "pthread_join");

    memcpy(&real, &symbol, sizeof(real));
    __atomic_sub_fetch(&living, 1, __ATOMIC_SEQ_CST);
    return real(thread, result);
}

/* ------------------------------------------------------------------ helpers */

static unsigned
descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void
stream_adopt(struct rgm_stream *stream, int fd)
{
    *stream = (struct rgm_stream){{.worker = desk_here,
                                   .resource = (uint64_t)fd,
                                   .open = 1,
                                   .kind = RGI_SOCKET_STREAM}};
}

/* Two connected streams without asking the provider. */
static void
streams_pair(struct rgm_stream *near, struct rgm_stream *far)
{
    int fds[2];

    rgi_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    stream_adopt(near, fds[0]);
    stream_adopt(far, fds[1]);
}

static int
fd_of(const struct rgm_stream *stream)
{
    return (int)stream->socket.resource;
}

static void
streams_close(struct desk *desk, struct rgm_stream *near,
              struct rgm_stream *far)
{
    rgi_check(desk_close_socket(desk, &near->socket) == 0);
    rgi_check(desk_close_socket(desk, &far->socket) == 0);
}

static struct rgm_pool *
pool_of(uint32_t slots, size_t slot_bytes)
{
    struct rgm_pool_options options = {.slots_count = slots,
                                       .slot_size_bytes = slot_bytes};
    struct rgm_pool *pool = NULL;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

/* Turns until recv was called `count` times more than before. */
static void
await_receives(struct desk *desk, uint64_t before, uint64_t count)
{
    while (LOOK(receives) < before + count)
        (void)desk_take(desk,
                        desk->provider->ops->now(desk->provider) + 1000000);
}

static void
start(struct desk *desk, uint32_t threads)
{
    desk_open(desk, CLASS, threads);
}

static void
end(struct desk *desk)
{
    desk_close(desk, CLASS);
}

/* ---------------------------------------------------------------- the table */

/* No thread, no descriptor and no memory is left of a provider. */
static void
nothing_is_left(void)
{
    size_t memory = rgi_memory_live();
    unsigned open_before = descriptors();
    uint32_t threads_before = LOOK(living);
    struct desk desk;

    start(&desk, 2);
    rgi_check(LOOK(living) == threads_before + 4);
    end(&desk);
    rgi_check(LOOK(living) == threads_before);
    rgi_check(descriptors() == open_before);
    rgi_check(rgi_memory_live() == memory);
    CLASS->close(NULL);
}

static void
bad_options_are_refused(void)
{
    struct rgm_provider_options no_bell = {.bell = -1};
    struct rgm_provider_options crowd = {.bell = 0, .threads = 65};
    struct rgm_provider *provider = NULL;
    char why[64] = "";

    rgi_check(CLASS->open(&no_bell, &provider, why, sizeof(why)) == -EINVAL);
    rgi_check(CLASS->open(&crowd, &provider, why, sizeof(why)) == -EINVAL);
    rgi_check(why[0] != '\0');
    rgi_check(provider == NULL);
}

static void
no_memory_is_an_error(void)
{
    struct rgm_provider_options options = {0};
    struct rgm_provider *provider = NULL;
    char why[64] = "";

    rgi_check(rgi_bell_open(&options.bell) == 0);
    rgi_memory_fail_nth(1);
    rgi_check(CLASS->open(&options, &provider, why, sizeof(why)) == -ENOMEM);
    rgi_check(rgi_memory_fail_off());
    rgi_bell_close(options.bell);
}

/* Without a deadline to wait for there is no system call, done or not. */
static void
wait_without_blocking_makes_no_call(void)
{
    struct rgm_stream near, far;
    struct rgm_write write;
    struct desk desk;
    uint64_t before;

    start(&desk, 1);
    streams_pair(&near, &far);
    before = LOOK(polls);
    rgi_check(desk_take(&desk, 0) == 0);
    rgm_stream_write(&write, &near, "x", 0);
    desk_start(&desk, &write);
    rgi_check(desk_take(&desk, 0) == 1);
    rgi_check(LOOK(polls) == before);
    rgi_check(desk.provider->kernel_entries == 0);
    streams_close(&desk, &near, &far);
    end(&desk);
}

static void
wait_ends_by_its_deadline(void)
{
    struct rgm_turn turn = {0};
    struct desk desk;
    struct rgm_provider *provider;
    uint64_t deadline_ns;

    start(&desk, 1);
    provider = desk.provider;
    deadline_ns = provider->ops->now(provider) + 3 * RGM_NS_PER_MS;
    rgi_check(provider->ops->wait(provider, deadline_ns, &turn) == 0);
    rgi_check(turn.count == 0 && !turn.rang);
    rgi_check(provider->ops->now(provider) >= deadline_ns);
    rgi_check(provider->ops->wait(provider, 1, &turn) == 0); /* long ago */
    end(&desk);
}

static void *
wake_main(void *argument)
{
    struct rgm_provider *provider = argument;

    provider->ops->wake(provider);
    return NULL;
}

/* Before the wait or during it: one wait ends, and it says by what. */
static void
wake_ends_one_wait(void)
{
    struct rgm_turn turn = {0};
    struct rgm_turn empty = {0};
    struct desk desk;
    struct rgm_provider *provider;
    pthread_t thread;

    start(&desk, 1);
    provider = desk.provider;
    provider->ops->wake(provider);
    rgi_check(provider->ops->wait(provider, RGM_NEVER, &turn) == 0);
    rgi_check(turn.rang);
    rgi_check(provider->ops->wait(provider, 1, &empty) == 0);
    rgi_check(!empty.rang);
    for (int i = 0; i < 100; i++) {
        turn = empty;
        rgi_check(pthread_create(&thread, NULL, wake_main, provider) == 0);
        rgi_check(provider->ops->wait(provider, RGM_NEVER, &turn) == 0);
        rgi_check(turn.rang && turn.count == 0);
        rgi_check(pthread_join(thread, NULL) == 0);
    }
    end(&desk);
}

/* A completion is not mistaken for the worker's bell. */
static void
completion_does_not_ring_the_bell(void)
{
    struct rgm_stream near, far;
    struct rgm_turn turn = {0};
    struct rgm_read read;
    struct desk desk;
    char byte;

    start(&desk, 1);
    streams_pair(&near, &far);
    rgm_stream_read(&read, &near, &byte, 1);
    desk_start(&desk, &read);
    rgi_check(write(fd_of(&far), "x", 1) == 1);
    rgi_check(desk.provider->ops->wait(desk.provider, RGM_NEVER, &turn) == 0);
    rgi_check(turn.count == 1 && !turn.rang);
    rgi_operation_home(rgm_operation_of(turn.first));
    streams_close(&desk, &near, &far);
    end(&desk);
}

static void
missing_kind_is_not_supported(void)
{
    struct rgm_sleep sleep;
    struct desk desk;

    start(&desk, 1);
    rgm_sleep_for(&sleep, desk_here, 1);
    rgi_check(desk_run(&desk, &sleep) == -ENOTSUP);
    rgi_check(desk_is_home(&sleep));
    end(&desk);
}

/* ---------------------------------------------------------- DIR: the pool */

/* One thread and one slot: a read that waits keeps neither. */
static void
dir_02_waiting_read_stops_nobody(void)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct rgm_stream near, far;
    struct rgm_read_pooled read;
    struct rgm_lease lease;
    struct desk desk;
    uint64_t before = LOOK(receives);

    start(&desk, 1);
    streams_pair(&near, &far);
    rgm_stream_read_pooled(&read, &near, pool);
    desk_start(&desk, &read);
    await_receives(&desk, before, 1);
    while (rgm_pool_try_acquire(pool, &lease) != 0)
        (void)desk_take(&desk, 1); /* an attempt has it for a moment */
    rgi_check(desk_write(&desk, &near, "there", 5) == 0);
    rgi_check(desk_write(&desk, &far, "here", 4) == 0);
    rgi_check(!desk_is_home(&read)); /* it has no slot */
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(desk_await(&desk, &read) == 0);
    rgi_check(read.count == 4 && memcmp(read.lease.data, "here", 4) == 0);
    rgi_check(read.lease.length_bytes == 4);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
    streams_close(&desk, &near, &far);
    end(&desk);
    rgm_pool_destroy(pool);
}

static void
dir_02_eintr_is_too_early_and_no_error(void)
{
    struct rgm_stream near, far;
    struct desk desk;
    char bytes[4];
    bool over = true;

    start(&desk, 1);
    streams_pair(&near, &far);
    rgi_check(desk_write(&desk, &far, "word", 4) == 0);
    SET(receive_error, EINTR);
    rgi_check(desk_read(&desk, &near, bytes, 4, &over) == 4);
    rgi_check(!over && LOOK(receive_error) == 0);
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* A shortage passes; the connection need not. */
static void
field_b68_send_retries_what_is_transient(void)
{
    const int errors[] = {ENOBUFS, ENOMEM, EAGAIN, EINTR};
    struct rgm_stream near, far;
    struct desk desk;
    char byte;

    start(&desk, 1);
    streams_pair(&near, &far);
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        SET(send_error, errors[i]);
        rgi_check(desk_write(&desk, &near, "x", 1) == 0);
        rgi_check(LOOK(send_error) == 0);
        rgi_check(read(fd_of(&far), &byte, 1) == 1);
    }
    SET(send_error, EHOSTUNREACH);
    rgi_check(desk_write(&desk, &near, "x", 1) == -EHOSTUNREACH);
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* Attempts of a waiting operation are a pulse apart, whatever else happens. */
static void
dir_03_pulse_is_no_faster_than_it_says(void)
{
    struct rgm_stream near, far;
    struct rgm_read read;
    struct desk desk;
    uint64_t before = LOOK(receives);
    uint64_t begin_ns;
    char byte;

    start(&desk, 1);
    streams_pair(&near, &far);
    rgm_stream_read(&read, &near, &byte, 1);
    begin_ns = desk.provider->ops->now(desk.provider);
    desk_start(&desk, &read);
    await_receives(&desk, before, 5);
    rgi_check(desk.provider->ops->now(desk.provider) >=
              begin_ns + 4 * 2 * RGM_NS_PER_MS);
    desk_cancel(&desk, &read);
    rgi_check(desk_await(&desk, &read) == -ECANCELED);
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* Lets the time of some pulses pass. Returns: how often a thread that is not the
 * owner looked at the clock, which only the pulse does. */
static uint64_t
pulses_in_window(struct desk *desk)
{
    uint64_t before = LOOK(clocks);
    struct rgm_provider *provider = desk->provider;

    (void)desk_take(desk, provider->ops->now(provider) + 20 * RGM_NS_PER_MS);
    return LOOK(clocks) - before;
}

/* While a read waits there are pulses; when nothing waits any more they end, after
 * the one that may have begun, however late that one is. */
static void
dir_03_pulse_sleeps_when_nothing_waits(void)
{
    struct rgm_stream near, far;
    struct rgm_read read;
    struct desk desk;
    uint64_t pulses;
    char byte;

    start(&desk, 2);
    streams_pair(&near, &far);
    rgi_check(pulses_in_window(&desk) == 0);
    rgm_stream_read(&read, &near, &byte, 1);
    desk_start(&desk, &read);
    while (pulses_in_window(&desk) == 0)
        continue;
    rgi_check(write(fd_of(&far), "x", 1) == 1);
    rgi_check(desk_await(&desk, &read) == 0);
    pulses = pulses_in_window(&desk);
    pulses += pulses_in_window(&desk);
    rgi_check(pulses <= 1);
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* Any number of operations may wait, whatever the pool has: a limit is one on
 * attempts. All of them read from one stream, a byte each. */
static void
dir_04_limits_are_on_attempts(void)
{
    uint32_t count = (uint32_t)rgi_scale(10000);
    struct rgm_read_pooled *reads = rgi_alloc(count * sizeof(*reads));
    struct rgm_pool *pool = pool_of(4, 1);
    struct rgm_stream near, far;
    struct desk desk;
    char *bytes = rgi_alloc(count);
    uint32_t done = 0;

    rgi_check(reads != NULL && bytes != NULL);
    start(&desk, 4);
    streams_pair(&near, &far);
    for (uint32_t i = 0; i < count; i++) {
        rgm_stream_read_pooled(&reads[i], &near, pool);
        desk_start(&desk, &reads[i]);
    }
    rgi_check(desk.provider->in_flight == count);
    rgi_check(near.socket.busy == count);
    rgi_check(desk_write(&desk, &far, bytes, count) == 0);
    while (done < count) {
        for (uint32_t i = 0; i < count; i++) {
            if (desk_is_home(&reads[i]) && reads[i].count == 1) {
                rgi_check(rgm_lease_drop(&reads[i].lease) == 0);
                reads[i].count = 0;
                done++;
            }
        }
        if (done < count && desk.provider->in_flight > 0)
            desk_turn(&desk);
    }
    rgi_check(near.socket.busy == 0);
    rgi_check(rgm_pool_free_count(pool) == 4);
    streams_close(&desk, &near, &far);
    end(&desk);
    rgm_pool_destroy(pool);
    rgi_free(bytes);
    rgi_free(reads);
}

/* Cancelled in line, while it runs, and while it waits. The one that runs
 * keeps socket and memory to the end of its call, and its result is true. */
static void
dir_05_running_attempt_keeps_what_it_uses(void)
{
    struct rgm_stream near, far;
    struct rgm_read running, in_line;
    struct rgm_close close;
    struct desk desk;
    char bytes[4] = "";
    char other;

    start(&desk, 1);
    streams_pair(&near, &far);
    rgi_check(desk_write(&desk, &far, "word", 4) == 0);
    gate_shut(fd_of(&near));
    rgm_stream_read(&running, &near, bytes, sizeof(bytes));
    desk_start(&desk, &running);
    gate_await(1);
    rgm_stream_read(&in_line, &near, &other, 1);
    desk_start(&desk, &in_line);
    desk_cancel(&desk, &in_line);
    desk_cancel(&desk, &running);
    rgi_check(desk_await(&desk, &in_line) == -ECANCELED);
    rgi_check(desk_take(&desk, 0) == 0);
    rgm_stream_close(&close, &near);
    rgi_check(desk_run(&desk, &close) == -EBUSY);
    rgi_check(near.socket.open == 1);
    gate_open();
    rgi_check(desk_await(&desk, &running) == 0);
    rgi_check(running.count == 4 && memcmp(bytes, "word", 4) == 0);
    streams_close(&desk, &near, &far);
    end(&desk);
}

static void
dir_05_between_attempts_cancel_ends_at_once(void)
{
    struct rgm_stream near, far;
    struct rgm_read waiting;
    struct desk desk;
    uint64_t before = LOOK(receives);
    uint64_t after;
    char byte;

    start(&desk, 1);
    streams_pair(&near, &far);
    rgm_stream_read(&waiting, &near, &byte, 1);
    desk_start(&desk, &waiting);
    await_receives(&desk, before, 3);
    desk_cancel(&desk, &waiting);
    rgi_check(desk_await(&desk, &waiting) == -ECANCELED);
    rgi_check(waiting.count == 0 && !waiting.end);
    after = LOOK(receives);
    (void)desk_take(&desk, desk.provider->ops->now(desk.provider) +
                               10 * RGM_NS_PER_MS);
    rgi_check(LOOK(receives) == after);
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* The descriptor is in blocking mode and the one thread is not held up by it:
 * each attempt is non-blocking by its own flag. */
static void
srd_18_attempts_are_non_blocking_by_flag(void)
{
    struct rgm_stream near, far;
    struct rgm_read read;
    struct desk desk;
    uint64_t before = LOOK(receives);
    char byte = 0;

    start(&desk, 1);
    streams_pair(&near, &far);
    rgi_check((fcntl(fd_of(&near), F_GETFL) & O_NONBLOCK) == 0);
    rgm_stream_read(&read, &near, &byte, 1);
    desk_start(&desk, &read);
    await_receives(&desk, before, 2);
    rgi_check(desk_write(&desk, &far, "x", 1) == 0);
    rgi_check(desk_await(&desk, &read) == 0 && byte == 'x');
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* Connecting needs the other mode for a while; afterwards descriptors are as
 * any other provider, or whoever gets them one day, expects them. */
static void
connected_descriptors_are_blocking(void)
{
    struct rgm_stream near = {0}, far = {0};
    struct rgm_listener listener = {0};
    struct rgm_endpoint endpoint;
    struct desk desk;

    start(&desk, 1);
    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &endpoint) == 0);
    rgi_check(desk_listen(&desk, &listener, &endpoint) == 0);
    desk_connect(&desk, &listener, &endpoint, &near, &far);
    rgi_check((fcntl(fd_of(&near), F_GETFL) & O_NONBLOCK) == 0);
    rgi_check((fcntl(fd_of(&far), F_GETFL) & O_NONBLOCK) == 0);
    rgi_check((fcntl(fd_of(&near), F_GETFD) & FD_CLOEXEC) != 0);
    rgi_check((fcntl(fd_of(&far), F_GETFD) & FD_CLOEXEC) != 0);
    rgi_check(desk_close_socket(&desk, &listener.socket) == 0);
    streams_close(&desk, &near, &far);
    end(&desk);
}

#define TRANSFER_BYTES (UINT64_C(64) << 20)

/* One write of everything against reads, through one thread: no attempt that
 * blocks, no EAGAIN that anybody sees. */
static void
transfer(struct desk *desk, struct rgm_stream *near, struct rgm_stream *far)
{
    static char sent[1 << 16], got[1 << 16];
    uint64_t rounds = rgi_scale(TRANSFER_BYTES / sizeof(sent));
    struct rgm_write write;
    uint64_t total = 0;
    bool over = false;

    for (uint64_t i = 0; i < rounds; i++) {
        rgm_stream_write(&write, near, sent, sizeof(sent));
        desk_start(desk, &write);
        while (total < (i + 1) * sizeof(sent)) {
            long count = desk_read(desk, far, got, sizeof(got), &over);

            rgi_check(count > 0 && !over);
            total += (uint64_t)count;
        }
        rgi_check(desk_await(desk, &write) == 0);
    }
}

static void
field_b73_descriptor_mode_does_not_matter(void)
{
    struct rgm_stream near, far;
    struct desk desk;
    int modes = 0;

    start(&desk, 1);
    for (; modes < 4; modes++) {
        streams_pair(&near, &far);
        rgi_check(fcntl(fd_of(&near), F_SETFL, modes & 1 ? O_NONBLOCK : 0) ==
                  0);
        rgi_check(fcntl(fd_of(&far), F_SETFL, modes & 2 ? O_NONBLOCK : 0) ==
                  0);
        transfer(&desk, &near, &far);
        streams_close(&desk, &near, &far);
    }
    end(&desk);
}

/* A call that has begun runs on after a cancel; the asker sees its result. */
static void
opl_20_started_call_runs_on(void)
{
    struct rgm_stream near, far;
    struct rgm_read read;
    struct desk desk;
    char bytes[8];

    start(&desk, 1);
    streams_pair(&near, &far);
    gate_shut(fd_of(&near));
    rgm_stream_read(&read, &near, bytes, sizeof(bytes));
    desk_start(&desk, &read);
    gate_await(1);
    desk_cancel(&desk, &read);
    rgi_check(write(fd_of(&far), "count", 5) == 5); /* after the cancel */
    gate_open();
    rgi_check(desk_await(&desk, &read) == 0 && read.count == 5);
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* All threads exist when open returns; one that cannot start is open's error,
 * and the ones before it are gone. */
static void
dir_08_threads_start_with_the_provider(void)
{
    struct rgm_provider_options options = {.threads = 3};
    struct rgm_provider *provider = NULL;
    uint32_t threads_before = LOOK(living);
    unsigned open_before;
    char why[100];

    rgi_check(rgi_bell_open(&options.bell) == 0);
    open_before = descriptors();
    for (int nth = 1; nth <= 5; nth++) {
        why[0] = '\0';
        SET(thread_fails, nth);
        rgi_check(CLASS->open(&options, &provider, why, sizeof(why)) ==
                  -EAGAIN);
        rgi_check(provider == NULL && why[0] != '\0');
        rgi_check(LOOK(living) == threads_before);
        rgi_check(descriptors() == open_before);
    }
    rgi_check(CLASS->open(&options, &provider, why, sizeof(why)) == 0);
    rgi_check(LOOK(living) == threads_before + 5);
    CLASS->close(provider);
    rgi_bell_close(options.bell);
}

/* The one thread of one instance is held; the other does not notice. */
static void
dir_09_instances_share_nothing(void)
{
    struct rgm_stream near, far, near_too, far_too;
    uint32_t threads_before = LOOK(living);
    struct rgm_read read;
    struct desk held, free_one;
    char byte;

    start(&held, 1);
    start(&free_one, 1);
    rgi_check(LOOK(living) == threads_before + 6);
    streams_pair(&near, &far);
    streams_pair(&near_too, &far_too);
    gate_shut(fd_of(&near));
    rgm_stream_read(&read, &near, &byte, 1);
    desk_start(&held, &read);
    gate_await(1);
    rgi_check(desk_write(&free_one, &near_too, "x", 1) == 0);
    rgi_check(free_one.provider->completions == 1);
    rgi_check(held.provider->completions == 0);
    gate_open();
    rgi_check(desk_write(&held, &far, "x", 1) == 0);
    rgi_check(desk_await(&held, &read) == 0);
    streams_close(&held, &near, &far);
    streams_close(&free_one, &near_too, &far_too);
    end(&held);
    end(&free_one);
}

/* All ordinary threads are held; clean-up has one of its own. */
static void
soc_10_cleanup_has_its_own_admission(void)
{
    struct rgm_stream near, far, other, peer;
    struct rgm_shutdown shutdown;
    struct rgm_read reads[2];
    struct desk desk;
    char bytes[2];

    start(&desk, 2);
    streams_pair(&near, &far);
    streams_pair(&other, &peer);
    gate_shut(fd_of(&near));
    for (int i = 0; i < 2; i++) {
        rgm_stream_read(&reads[i], &near, &bytes[i], 1);
        desk_start(&desk, &reads[i]);
    }
    gate_await(2);
    rgm_stream_shutdown(&shutdown, &other);
    rgi_check(desk_run(&desk, &shutdown) == 0);
    streams_close(&desk, &other, &peer);
    gate_open();
    rgi_check(desk_write(&desk, &far, "xy", 2) == 0);
    rgi_check(desk_await(&desk, &reads[0]) == 0);
    rgi_check(desk_await(&desk, &reads[1]) == 0);
    streams_close(&desk, &near, &far);
    end(&desk);
}

/* The number may be somebody else's the moment close returns, with an error
 * too. Cancelling it does nothing: it is clean-up. */
static void
soc_06_close_is_called_once(void)
{
    const int errors[] = {EINTR, EIO};
    struct rgm_stream near, far;
    struct rgm_close record;
    struct desk desk;
    uint64_t before;

    start(&desk, 1);
    for (int i = 0; i < 2; i++) {
        streams_pair(&near, &far);
        before = LOOK(closes);
        SET(close_error, errors[i]);
        rgm_stream_close(&record, &near);
        desk_start(&desk, &record);
        rgi_check(near.socket.open == 0);
        desk_cancel(&desk, &record);
        rgi_check(desk_await(&desk, &record) == -errors[i]);
        rgi_check(LOOK(closes) == before + 1);
        rgi_check(desk_run(&desk, &record) == -EBADF);
        rgi_check(LOOK(closes) == before + 1);
        rgi_check(desk_close_socket(&desk, &far.socket) == 0);
    }
    end(&desk);
}

#define CASES(X)                                                              \
    X(threads, nothing_is_left)                                               \
    X(threads, bad_options_are_refused)                                       \
    X(threads, no_memory_is_an_error)                                         \
    X(threads, wait_without_blocking_makes_no_call)                           \
    X(threads, wait_ends_by_its_deadline)                                     \
    X(threads, wake_ends_one_wait)                                            \
    X(threads, completion_does_not_ring_the_bell)                             \
    X(threads, missing_kind_is_not_supported)                                 \
    X(threads_direct, dir_02_waiting_read_stops_nobody)                       \
    X(threads_direct, dir_02_eintr_is_too_early_and_no_error)                 \
    X(threads_direct, field_b68_send_retries_what_is_transient)               \
    X(threads_direct, dir_03_pulse_is_no_faster_than_it_says)                 \
    X(threads_direct, dir_03_pulse_sleeps_when_nothing_waits)                 \
    X(threads_direct, dir_04_limits_are_on_attempts)                          \
    X(threads_direct, dir_05_running_attempt_keeps_what_it_uses)              \
    X(threads_direct, dir_05_between_attempts_cancel_ends_at_once)            \
    X(threads_direct, dir_08_threads_start_with_the_provider)                 \
    X(threads_direct, dir_09_instances_share_nothing)                         \
    X(threads_direct, srd_18_attempts_are_non_blocking_by_flag)               \
    X(threads_direct, connected_descriptors_are_blocking)                     \
    X(threads_direct, field_b73_descriptor_mode_does_not_matter)              \
    X(threads_direct, opl_20_started_call_runs_on)                            \
    X(threads_direct, soc_06_close_is_called_once)                            \
    X(threads_direct, soc_10_cleanup_has_its_own_admission)

RGI_CASES(CASES)
