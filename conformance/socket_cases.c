/* SPDX-License-Identifier: MIT */

/* socket_cases.c - what must every provider show of a socket's life? */

#include "conformance/socket_cases.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "conformance/shim.h"

/* --------------------------------------------------------------------- life */

static void
own_listen(struct stage *stage, const char *text)
{
    struct rgm_listen listen;

    rgi_check(rgm_endpoint_parse(text, 0, &stage->endpoint) == 0);
    memset(&stage->listener, 0, sizeof(stage->listener));
    rgm_stream_listen(&listen, rgm_worker_address(0), &stage->listener,
                      &stage->endpoint, false);
    rgi_check(rgm_call(stage->runtime, &listen) == 0);
    rgi_check(listen.endpoint.family == stage->endpoint.family);
    rgi_check((listen.endpoint.port != 0) ==
              (listen.endpoint.family != RGM_UNIX));
    stage->endpoint = listen.endpoint;
}

static bool
endpoint_same(const struct rgm_endpoint *a, const struct rgm_endpoint *b)
{
    return a->family == b->family && a->port == b->port &&
           memcmp(a->address, b->address, sizeof(a->address)) == 0 &&
           strcmp(a->path, b->path) == 0;
}

static void
names_of(struct stage *stage, struct rgm_socket *socket,
         struct rgm_names *names)
{
    rgm_socket_names(names, socket);
    rgi_check(rgm_call(stage->runtime, names) == 0);
}

static void
names_agree(struct stage *stage, struct rgm_stream *near,
            struct rgm_stream *far)
{
    struct rgm_names of_near, of_far, of_listener;

    names_of(stage, &near->socket, &of_near);
    names_of(stage, &far->socket, &of_far);
    names_of(stage, &stage->listener.socket, &of_listener);
    rgi_check(endpoint_same(&of_listener.local, &stage->endpoint));
    rgi_check(of_listener.peer.family == 0);
    rgi_check(endpoint_same(&of_near.peer, &stage->endpoint));
    rgi_check(endpoint_same(&of_far.local, &stage->endpoint));
    rgi_check(endpoint_same(&of_far.peer, &of_near.local));
}

static void
life(struct stage *stage, const char *text)
{
    struct rgm_stream near, far;
    char bytes[4];
    bool end;

    own_listen(stage, text);
    stage_pair_own(stage, &near, &far);
    names_agree(stage, &near, &far);
    rgi_check(stage_write(stage, &near, "ping", 4) == 0);
    stage_read_all(stage, &far, bytes, 4);
    rgi_check(memcmp(bytes, "ping", 4) == 0);
    rgi_check(stage_shutdown(stage, &near) == 0);
    rgi_check(stage_read(stage, &far, bytes, 4, &end) == 0 && end);
    rgi_check(stage_write(stage, &far, "pong", 4) == 0);
    stage_read_all(stage, &near, bytes, 4);
    rgi_check(memcmp(bytes, "pong", 4) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &far) == 0);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
}

void
soc_01_life_of_sockets_of_each_family(struct stage *stage)
{
    char path[64];

    snprintf(path, sizeof(path), "/tmp/ringmail-soc01-%ld", (long)getpid());
    (void)unlink(path);
    stage_open(stage);
    life(stage, "127.0.0.1");
    if (access("/proc/net/if_inet6", R_OK) == 0)
        life(stage, "::1");
    life(stage, path);
    rgi_check(unlink(path) == 0);
    stage_close(stage);
}

void
soc_01_accept_and_connect_can_be_cancelled(struct stage *stage)
{
    struct rgm_stream untouched = {0}, stream = {0};
    struct rgm_endpoint busy = loopback();
    struct accept_step accept = {0};
    struct connect_step connect = {0};
    int listener, first;

    stage_open(stage);
    listener = peer_listen(&busy, 0);
    first = peer_connect(&busy); /* the backlog is full now */
    stage_listen(stage);
    rgm_stream_accept(&accept.op, &stage->listener, &stream);
    stage_begin(stage, &accept);
    stage_cancel(stage, &accept);
    rgi_check(stage_end(stage, &accept) == -ECANCELED);
    rgm_stream_connect(&connect.op, rgm_worker_address(0), &stream, &busy);
    stage_begin(stage, &connect);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &connect));
    stage_cancel(stage, &connect);
    rgi_check(stage_end(stage, &connect) == -ECANCELED);
    rgi_check(memcmp(&stream, &untouched, sizeof(stream)) == 0);
    peer_close(first);
    peer_close(listener);
    stage_close(stage);
}

struct cleanup {
    struct shutdown_step shutdown;
    struct close_step close;
};

static void
cleanup_and_cancel(struct puppet *puppet, void *argument)
{
    struct cleanup *cleanup = argument;

    puppet_begin(puppet, &cleanup->shutdown);
    rgm_cancel_request(&puppet->actor, &cleanup->shutdown.op.request);
}

static void
close_and_cancel(struct puppet *puppet, void *argument)
{
    struct cleanup *cleanup = argument;

    puppet_begin(puppet, &cleanup->close);
    rgm_cancel_request(&puppet->actor, &cleanup->close.op.request);
}

void
soc_01_shutdown_and_close_cannot(struct stage *stage)
{
    struct cleanup cleanup = {0};
    struct rgm_stream near;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_shutdown(&cleanup.shutdown.op, &near);
    rgm_stream_close(&cleanup.close.op, &near);
    stage_do(stage, cleanup_and_cancel, &cleanup);
    rgi_check(stage_end(stage, &cleanup.shutdown) == 0);
    stage_do(stage, close_and_cancel, &cleanup);
    rgi_check(stage_end(stage, &cleanup.close) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage_close(stage);
}

/* ------------------------------------------------------------------ options */

static int
option_set(struct stage *stage, struct rgm_socket *socket,
           enum rgm_option option, int32_t value)
{
    struct rgm_socket_option record;

    rgm_socket_set(&record, socket, option, value);
    return rgm_call(stage->runtime, &record);
}

static int32_t
option_get(struct stage *stage, struct rgm_socket *socket,
           enum rgm_option option)
{
    struct rgm_socket_option record;

    rgm_socket_get(&record, socket, option);
    rgi_check(rgm_call(stage->runtime, &record) == 0);
    return record.value;
}

static int
kernel_says(int fd, int level, int name)
{
    int value = -1;
    socklen_t length = sizeof(value);

    rgi_check(getsockopt(fd, level, name, &value, &length) == 0);
    return value;
}

static void
count_submits(struct puppet *puppet, void *argument)
{
    const struct spy *spy = spy_of(puppet->number);
    uint64_t *sum = argument;

    *sum = spy->submits[RGM_OP_SET_OPTION] + spy->submits[RGM_OP_GET_OPTION];
}

/* Wrong ones are refused before the provider hears of them. */
static void
options_refused(struct stage *stage, struct rgm_socket *socket)
{
    static const struct {
        enum rgm_option option;
        int32_t value;
    } wrong[] = {
        {(enum rgm_option)0, 1},      {(enum rgm_option)99, 1},
        {RGM_OPTION_NO_DELAY, 2},     {RGM_OPTION_NO_DELAY, -1},
        {RGM_OPTION_KEEP_ALIVE, 7},   {RGM_OPTION_RECEIVE_BUFFER, 0},
        {RGM_OPTION_SEND_BUFFER, -5}, {RGM_OPTION_LINGER_SECONDS, -2},
    };
    struct rgm_socket_option record;
    uint64_t before, after;

    stage_do(stage, count_submits, &before);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        rgi_check(option_set(stage, socket, wrong[i].option, wrong[i].value) ==
                  -EINVAL);
    rgm_socket_get(&record, socket, (enum rgm_option)99);
    rgi_check(rgm_call(stage->runtime, &record) == -EINVAL);
    stage_do(stage, count_submits, &after);
    rgi_check(before == after);
}

void
soc_02_options_are_typed(struct stage *stage)
{
    struct rgm_socket *socket;
    struct rgm_stream near, far;
    char path[64];
    int peer, ours;

    snprintf(path, sizeof(path), "/tmp/ringmail-soc02-%ld", (long)getpid());
    (void)unlink(path);
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    ours = descriptor_of_peer(peer);
    socket = &near.socket;
    for (int32_t on = 0; on < 2; on++) {
        rgi_check(option_set(stage, socket, RGM_OPTION_NO_DELAY, on) == 0);
        rgi_check(kernel_says(ours, IPPROTO_TCP, TCP_NODELAY) == on);
        rgi_check(option_get(stage, socket, RGM_OPTION_NO_DELAY) == on);
        rgi_check(option_set(stage, socket, RGM_OPTION_KEEP_ALIVE, on) == 0);
        rgi_check(kernel_says(ours, SOL_SOCKET, SO_KEEPALIVE) == on);
        rgi_check(option_get(stage, socket, RGM_OPTION_KEEP_ALIVE) == on);
    }
    rgi_check(option_set(stage, socket, RGM_OPTION_RECEIVE_BUFFER, 20000) == 0);
    rgi_check(option_get(stage, socket, RGM_OPTION_RECEIVE_BUFFER) == 40000);
    rgi_check(option_set(stage, socket, RGM_OPTION_SEND_BUFFER, 30000) == 0);
    rgi_check(option_get(stage, socket, RGM_OPTION_SEND_BUFFER) == 60000);
    rgi_check(option_get(stage, socket, RGM_OPTION_LINGER_SECONDS) == -1);
    rgi_check(option_set(stage, socket, RGM_OPTION_LINGER_SECONDS, 7) == 0);
    rgi_check(option_get(stage, socket, RGM_OPTION_LINGER_SECONDS) == 7);
    rgi_check(option_set(stage, socket, RGM_OPTION_LINGER_SECONDS, -1) == 0);
    rgi_check(option_get(stage, socket, RGM_OPTION_LINGER_SECONDS) == -1);
    options_refused(stage, socket);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    peer_close(peer);
    /* The kernel's own refusal is passed through. */
    own_listen(stage, path);
    stage_pair_own(stage, &near, &far);
    rgi_check(option_set(stage, &near.socket, RGM_OPTION_NO_DELAY, 1) ==
              -EOPNOTSUPP);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &far) == 0);
    rgi_check(unlink(path) == 0);
    stage_close(stage);
}

static int
option_try(struct stage *stage, struct rgm_socket *socket,
           enum rgm_option option)
{
    struct rgm_socket_option record;

    rgm_socket_get(&record, socket, option);
    return rgm_call(stage->runtime, &record);
}

/* Those of TCP's that a packet socket has not are found out without the
 * provider; what an address family has not, by the system. */
void
soc_02_options_of_every_kind_of_socket(struct stage *stage)
{
    struct rgm_endpoint at = loopback();
    struct rgm_stream near, far;
    struct rgm_packet packet = {0};
    struct rgm_packet_open open;
    struct rgm_socket *socket;
    uint64_t before, after;

    stage->spied = true;
    stage_open(stage);
    stage_pair_own(stage, &near, &far);
    socket = &stage->listener.socket;
    rgi_check(option_get(stage, socket, RGM_OPTION_REUSE_ADDRESS) == 1);
    rgi_check(option_get(stage, socket, RGM_OPTION_REUSE_PORT) == 0);
    rgi_check(option_set(stage, socket, RGM_OPTION_REUSE_PORT, 1) == 0);
    rgi_check(option_get(stage, socket, RGM_OPTION_REUSE_PORT) == 1);
    socket = &near.socket;
    rgi_check(option_set(stage, socket, RGM_OPTION_REUSE_ADDRESS, 2) ==
              -EINVAL);
    rgi_check(option_set(stage, socket, RGM_OPTION_TRANSFER_TIMEOUT_MS, -1) ==
              -EINVAL);
    rgi_check(option_set(stage, socket, RGM_OPTION_TRANSFER_TIMEOUT_MS, 1234) ==
              0);
    rgi_check(option_get(stage, socket, RGM_OPTION_TRANSFER_TIMEOUT_MS) ==
              1234);
    rgi_check(option_try(stage, socket, RGM_OPTION_IPV6_ONLY) == -ENOTSUP);
    rgi_check(option_set(stage, socket, RGM_OPTION_IPV6_ONLY, 1) == -ENOTSUP);
    rgm_packet_open(&open, rgm_worker_address(0), &packet, &at, NULL);
    rgi_check(rgm_call(stage->runtime, &open) == 0);
    socket = &packet.socket;
    stage_do(stage, count_submits, &before);
    rgi_check(option_set(stage, socket, RGM_OPTION_NO_DELAY, 1) == -ENOTSUP);
    rgi_check(option_try(stage, socket, RGM_OPTION_NO_DELAY) == -ENOTSUP);
    rgi_check(option_try(stage, socket, RGM_OPTION_TRANSFER_TIMEOUT_MS) ==
              -ENOTSUP);
    stage_do(stage, count_submits, &after);
    rgi_check(before == after);
    rgi_check(option_get(stage, socket, RGM_OPTION_REUSE_ADDRESS) == 0);
    rgi_check(socket->open == 1 && socket->busy == 0);
    {
        struct rgm_close close;

        rgm_packet_close(&close, &packet);
        rgi_check(rgm_call(stage->runtime, &close) == 0);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &far) == 0);
    if (access("/proc/net/if_inet6", R_OK) == 0) {
        rgi_check(stage_close_listener(stage, &stage->listener) == 0);
        own_listen(stage, "::1");
        socket = &stage->listener.socket;
        rgi_check(option_get(stage, socket, RGM_OPTION_IPV6_ONLY) == 1);
        rgi_check(option_set(stage, socket, RGM_OPTION_IPV6_ONLY, 0) ==
                  -EINVAL); /* it is bound */
    }
    stage_close(stage);
}

/* ----------------------------------------------------------------- defaults */

static void
has_defaults(struct stage *stage, struct rgm_socket *socket, int32_t no_delay,
             int32_t linger, int32_t timeout_ms)
{
    rgi_check(option_get(stage, socket, RGM_OPTION_NO_DELAY) == no_delay);
    rgi_check(option_get(stage, socket, RGM_OPTION_LINGER_SECONDS) == linger);
    rgi_check(option_get(stage, socket, RGM_OPTION_TRANSFER_TIMEOUT_MS) ==
              timeout_ms);
}

void
soc_13_defaults_are_on_both_sides(struct stage *stage)
{
    static const struct {
        struct rgm_stream_defaults set;
        int32_t no_delay, linger, timeout_ms;
    } table[] = {
        {{0}, 1, -1, 60000},
        {{.no_delay = RGM_SETTING_OFF,
          .zero_linger = RGM_SETTING_ON,
          .transfer_timeout_ns = 1500 * RGM_NS_PER_MS + 1},
         0, 0, 1501},
        {{.no_delay = RGM_SETTING_UNSET,
          .zero_linger = RGM_SETTING_OFF,
          .transfer_timeout_ns = RGM_NEVER},
         0, -1, 0},
        {{.no_delay = RGM_SETTING_ON, .zero_linger = RGM_SETTING_UNSET},
         1, -1, 60000},
    };
    struct rgm_runtime_options wrong = {.streams = {.no_delay = 4}};
    struct rgm_runtime *none = NULL;
    struct rgm_stream near, far;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        stage->options.streams = table[i].set;
        stage_open(stage);
        stage_pair_own(stage, &near, &far);
        has_defaults(stage, &near.socket, table[i].no_delay, table[i].linger,
                     table[i].timeout_ms);
        has_defaults(stage, &far.socket, table[i].no_delay, table[i].linger,
                     table[i].timeout_ms);
        rgi_check(stage_close_stream(stage, &near) == 0);
        rgi_check(stage_close_stream(stage, &far) == 0);
        stage_close(stage);
        memset(&stage->listener, 0, sizeof(stage->listener));
    }
    rgi_check(rgm_runtime_create(&wrong, &none) == -EINVAL && none == NULL);
    wrong.streams = (struct rgm_stream_defaults){.zero_linger = 9};
    rgi_check(rgm_runtime_create(&wrong, &none) == -EINVAL && none == NULL);
}

void
soc_13_zero_linger_resets(struct stage *stage)
{
    struct rgm_stream near;
    char byte;
    int peer;

    stage->options.streams.zero_linger = RGM_SETTING_ON;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgi_check(stage_write(stage, &near, "x", 1) == 0);
    peer_receive(peer, &byte, 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(recv(peer, &byte, 1, 0) == -1 && errno == ECONNRESET);
    peer_close(peer);
    stage_close(stage);
}

void
soc_13_dialling_has_an_end(struct stage *stage)
{
    struct rgm_stream first_stream = {0}, second_stream = {0};
    struct connect_step first = {0}, second = {0};
    struct rgm_endpoint busy = loopback();
    int listener, full;

    stage->options.streams.dial_timeout_ns = 20 * RGM_NS_PER_MS;
    stage_open(stage);
    listener = peer_listen(&busy, 0);
    full = peer_connect(&busy); /* the backlog is full now */
    rgm_stream_connect(&first.op, rgm_worker_address(0), &first_stream, &busy);
    rgm_expire_after(&first.op, 3600 * RGM_NS_PER_S); /* its own counts */
    stage_begin(stage, &first);
    rgm_stream_connect(&second.op, rgm_worker_address(0), &second_stream,
                       &busy);
    rgi_check(stage_run(stage, &second) == -ETIMEDOUT);
    rgi_check(second_stream.socket.open == 0);
    rgm_stream_connect(&second.op, rgm_worker_address(0), &second_stream,
                       &busy); /* by a plain thread, too */
    rgi_check(rgm_call(stage->runtime, &second.op) == -ETIMEDOUT);
    rgi_check(stage_is_out(stage, &first));
    stage_cancel(stage, &first);
    rgi_check(stage_end(stage, &first) == -ECANCELED);
    peer_close(full);
    peer_close(listener);
    stage_close(stage);
}

/* It reads nothing, so its window closes; the system gives it up. */
void
soc_13_peer_that_takes_nothing_is_given_up(struct stage *stage)
{
    enum { LENGTH_BYTES = 8 << 20 };
    char *bytes = calloc(1, LENGTH_BYTES);
    struct write_step write = {0};
    struct rgm_stream near;
    int peer, status;

    rgi_check(bytes != NULL);
    stage->options.streams.transfer_timeout_ns = 10 * RGM_NS_PER_MS;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_write(&write.op, &near, bytes, LENGTH_BYTES);
    stage_begin(stage, &write);
    status = stage_end(stage, &write);
    rgi_check(status == -ETIMEDOUT ||
              (status == -EPIPE && stage_is_on(stage, "ring")));
    rgi_check(write.op.count < LENGTH_BYTES);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
    free(bytes);
}

void
accepted_streams_have_no_delay(struct stage *stage)
{
    struct rgm_stream near, far;

    stage_open(stage);
    stage_pair_own(stage, &near, &far);
    rgi_check(option_get(stage, &near.socket, RGM_OPTION_NO_DELAY) == 1);
    rgi_check(option_get(stage, &far.socket, RGM_OPTION_NO_DELAY) == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &far) == 0);
    stage_close(stage);
}

/* ------------------------------------------------------------------- accept */

struct racer {
    pthread_t thread;
    pthread_barrier_t gate;
    const struct rgm_endpoint *endpoint;
    unsigned rounds;
};

/* Connects once per round, and goes away when it has read the end. */
static void *
racer_main(void *argument)
{
    struct racer *racer = argument;

    for (unsigned i = 0; i < racer->rounds; i++) {
        int peer;

        pthread_barrier_wait(&racer->gate);
        peer = peer_connect(racer->endpoint);
        peer_expect_end(peer);
        peer_close(peer);
        pthread_barrier_wait(&racer->gate);
    }
    return NULL;
}

static void
spin_a_little(uint64_t steps)
{
    struct timespec now;

    while (steps-- > 0)
        clock_gettime(CLOCK_MONOTONIC, &now);
}

void
soc_05_accept_in_a_race_is_never_leaked(struct stage *stage)
{
    uint64_t random = rgi_seed();
    struct racer racer = {.rounds = 50 + (unsigned)rgi_scale(10000)};
    struct accept_step accept = {0};
    unsigned won = 0;

    stage_open(stage);
    stage_listen(stage);
    racer.endpoint = &stage->endpoint;
    rgi_check(pthread_barrier_init(&racer.gate, NULL, 2) == 0);
    rgi_check(pthread_create(&racer.thread, NULL, racer_main, &racer) == 0);
    for (unsigned i = 0; i < racer.rounds; i++) {
        struct rgm_stream stream = {0};

        rgm_stream_accept(&accept.op, &stage->listener, &stream);
        stage_begin(stage, &accept);
        pthread_barrier_wait(&racer.gate);
        spin_a_little(next_random(&random) % 400);
        stage_cancel(stage, &accept);
        if (stage_end(stage, &accept) == 0) {
            won++;
        } else { /* it is in the backlog still */
            rgi_check(rgm_request_status(&accept.op.request) == -ECANCELED);
            rgi_check(stream.socket.open == 0);
            rgm_stream_accept(&accept.op, &stage->listener, &stream);
            rgi_check(stage_run(stage, &accept) == 0);
        }
        rgi_check(stream.socket.open == 1);
        rgi_check(stage_close_stream(stage, &stream) == 0);
        pthread_barrier_wait(&racer.gate);
    }
    fprintf(stderr, "# %u of %u accepts won\n", won, racer.rounds);
    rgi_check(pthread_join(racer.thread, NULL) == 0);
    pthread_barrier_destroy(&racer.gate);
    stage_close(stage);
}

/* No descriptor is left for the connection; then one is. */
void
field_b67_accept_fails_and_the_listener_lives(struct stage *stage)
{
    struct accept_step accept = {0};
    struct rgm_stream stream = {0};
    struct rlimit before, tight;
    int peer, next_fd;

    stage_open(stage);
    stage_listen(stage);
    peer = peer_connect(&stage->endpoint);
    rgi_check(getrlimit(RLIMIT_NOFILE, &before) == 0);
    next_fd = fcntl(peer, F_DUPFD_CLOEXEC, 0);
    rgi_check(next_fd >= 0 && close(next_fd) == 0);
    tight = before;
    tight.rlim_cur = (rlim_t)next_fd; /* that number is one too high */
    rgi_check(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    for (int i = 0; i < 3; i++) {
        rgm_stream_accept(&accept.op, &stage->listener, &stream);
        rgi_check(stage_run(stage, &accept) == -EMFILE);
        rgi_check(stream.socket.open == 0);
    }
    rgi_check(setrlimit(RLIMIT_NOFILE, &before) == 0);
    rgm_stream_accept(&accept.op, &stage->listener, &stream);
    rgi_check(stage_run(stage, &accept) == 0);
    rgi_check(stage_write(stage, &stream, "x", 1) == 0);
    peer_receive(peer, &(char){0}, 1);
    rgi_check(stage_close_stream(stage, &stream) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* One listener per worker on one port, and the kernel deals out. */
void
shared_port_is_dealt_out(struct stage *stage)
{
    enum { WORKERS = 2, CONNECTIONS = 64 };
    struct rgm_listener listeners[WORKERS] = {0};
    struct rgm_stream streams[CONNECTIONS] = {0};
    struct accept_step accepts[CONNECTIONS] = {0};
    struct rgm_endpoint endpoint = loopback();
    uint32_t on_each[WORKERS] = {0, 0};
    int peers[CONNECTIONS];
    uint32_t accepted = 0;

    stage->options.workers = WORKERS;
    stage_open(stage);
    for (uint32_t i = 0; i < WORKERS; i++) {
        struct rgm_listen listen;

        rgm_stream_listen(&listen, rgm_worker_address(i), &listeners[i],
                          &endpoint, true);
        rgi_check(rgm_call(stage->runtime, &listen) == 0);
        endpoint = listen.endpoint;
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        rgm_stream_accept(&accepts[i].op, &listeners[i % WORKERS], &streams[i]);
        stage_begin_on(stage, (uint32_t)i % WORKERS, &accepts[i]);
    }
    for (int i = 0; i < CONNECTIONS / 2; i++)
        peers[i] = peer_connect(&endpoint);
    while (accepted < CONNECTIONS / 2) {
        accepted = 0;
        for (int i = 0; i < CONNECTIONS; i++)
            accepted += !stage_is_out(stage, &accepts[i]);
    }
    for (int i = 0; i < CONNECTIONS; i++) {
        if (!stage_is_out(stage, &accepts[i])) {
            on_each[i % WORKERS]++;
            rgi_check(stage_close_stream(stage, &streams[i]) == 0);
        }
    }
    for (int i = 0; i < CONNECTIONS / 2; i++)
        peer_close(peers[i]);
    rgi_check(on_each[0] > 0 && on_each[1] > 0);
    for (int i = 0; i < CONNECTIONS; i++)
        if (stage_is_out(stage, &accepts[i]))
            stage_cancel_on(stage, (uint32_t)i % WORKERS, &accepts[i]);
    for (int i = 0; i < CONNECTIONS; i++)
        (void)stage_end(stage, &accepts[i]);
    for (int i = 0; i < WORKERS; i++)
        rgi_check(stage_close_listener(stage, &listeners[i]) == 0);
    stage_close(stage);
}

/* -------------------------------------------------------------------- close */

struct waiting_reads {
    struct read_step *reads;
    uint32_t count;
    struct rgm_stream *stream;
    char byte;
};

static void
begin_reads(struct puppet *puppet, void *argument)
{
    struct waiting_reads *waiting = argument;

    for (uint32_t i = 0; i < waiting->count; i++) {
        rgm_stream_read(&waiting->reads[i].op, waiting->stream, &waiting->byte,
                        1);
        puppet_begin(puppet, &waiting->reads[i]);
    }
}

static void
cancel_reads(struct puppet *puppet, void *argument)
{
    struct waiting_reads *waiting = argument;

    for (uint32_t i = 0; i < waiting->count; i++)
        rgm_cancel_request(&puppet->actor, &waiting->reads[i].op.request);
}

static void
close_failing(struct stage *stage, struct rgm_stream *near, int peer, int error)
{
    int ours = descriptor_of_peer(peer);
    struct close_step close = {0};
    int other;

    shim_close_fail(ours, error);
    rgm_stream_close(&close.op, near);
    rgi_check(stage_run(stage, &close) == -error);
    rgi_check(shim_closes() == 1 && near->socket.open == 0);
    other = fcntl(peer, F_DUPFD_CLOEXEC, ours); /* whose number it is now */
    rgi_check(other == ours);
    rgi_check(stage_run(stage, &close) == -EBADF);
    rgi_check(shim_closes() == 1 && fcntl(ours, F_GETFD) >= 0);
    shim_close_fail(-1, 0);
    peer_close(other);
    peer_close(peer);
}

/* With its one place taken a ring, too, closes by a plain call, which can be
 * made to fail. */
void
soc_06_close_is_exclusive_and_once(struct stage *stage)
{
    struct read_step read = {0};
    struct waiting_reads waiting = {.reads = &read, .count = 1};
    const int errors[2] = {EINTR, EIO};
    struct rgm_stream busy, streams[2];
    int peer, peers[2];

    stage->options.in_flight_max = 1;
    stage_open(stage);
    for (int i = 0; i < 2; i++)
        peers[i] = stage_pair(stage, &streams[i]);
    peer = stage_pair(stage, &busy);
    waiting.stream = &busy;
    stage_do(stage, begin_reads, &waiting);
    rgi_check(stage_close_stream(stage, &busy) == -EBUSY);
    for (int i = 0; i < 2; i++)
        close_failing(stage, &streams[i], peers[i], errors[i]);
    stage_do(stage, cancel_reads, &waiting);
    rgi_check(stage_end(stage, &read) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &busy) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* The record is dropped; the stream is released as any that is left open. */
void
soc_07_close_that_is_not_asked_closes_nothing_twice(struct stage *stage)
{
    struct rgm_stream near;
    struct rgm_close close;
    int peer, ours, other;
    char byte;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    ours = descriptor_of_peer(peer);
    rgm_stream_close(&close, &near);
    memset(&close, 0, sizeof(close));
    rgi_check(stage_write(stage, &near, "x", 1) == 0); /* as if nothing was */
    peer_receive(peer, &byte, 1);
    rgi_check(stage_close_listener(stage, &stage->listener) == 0);
    shim_close_fail(ours, 0); /* counts */
    stage_stop(stage);
    (void)rgm_runtime_stop_actor(stage->runtime, stage->puppets[0]);
    rgi_check(rgm_runtime_wait(stage->runtime) == 0);
    peer_expect_end(peer);
    rgi_check(shim_closes() == 1);
    other = fcntl(peer, F_DUPFD_CLOEXEC, ours);
    rgi_check(other == ours); /* somebody else's now, and left alone */
    rgi_check(rgm_runtime_destroy(stage->runtime) == 0);
    stage->runtime = NULL;
    rgi_check(fcntl(other, F_GETFD) >= 0 && shim_closes() == 1);
    shim_close_fail(-1, 0);
    peer_close(other);
    peer_close(peer);
    rgi_check(descriptors_open() == stage->descriptors);
}

void
soc_08_close_leaves_operations_running(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char byte = 0;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin(stage, &read);
    for (int i = 0; i < 3; i++)
        rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    peer_send(peer, "x", 1);
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(read.op.count == 1 && byte == 'x');
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* All that is for ordinary operations is taken: places in a ring, threads in a
 * pool (held inside recv). */
void
soc_10_cleanup_has_its_own_admission(struct stage *stage)
{
    enum { READS = 8 };
    struct read_step reads[READS] = {0};
    struct waiting_reads waiting = {.reads = reads, .count = READS};
    struct rgm_stream busy, near;
    int busy_peer, peer;

    stage->options.in_flight_max = READS;
    stage_open(stage);
    busy_peer = stage_pair(stage, &busy);
    peer = stage_pair(stage, &near);
    if (stage_can_be_gated(stage))
        shim_gate_shut(descriptor_of_peer(busy_peer));
    waiting.stream = &busy;
    stage_do(stage, begin_reads, &waiting);
    if (stage_is_on(stage, "threads"))
        shim_gate_await(4);
    rgi_check(stage_shutdown(stage, &near) == 0);
    peer_expect_end(peer);
    rgi_check(stage_close_stream(stage, &near) == 0);
    shim_gate_open();
    stage_do(stage, cancel_reads, &waiting);
    for (int i = 0; i < READS; i++)
        rgi_check(stage_end(stage, &reads[i]) == -ECANCELED);
    rgi_check(stage_close_stream(stage, &busy) == 0);
    peer_close(busy_peer);
    peer_close(peer);
    stage_close(stage);
}
