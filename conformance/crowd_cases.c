/* SPDX-License-Identifier: MIT */

/* crowd_cases.c - what must every provider show under many connections? */

#include "conformance/crowd_cases.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "conformance/hall.h"
#include "conformance/shim.h"

static void
exchange(int peer, const char *bytes, size_t length_bytes)
{
    char answer[HALL_BUFFER_BYTES];

    peer_send(peer, bytes, length_bytes);
    peer_receive(peer, answer, length_bytes);
    rgi_check(memcmp(answer, bytes, length_bytes) == 0);
}

static size_t
mapped(void)
{
    return (size_t)(uintptr_t)sbrk(0);
}

/* The hall's actors are written once, and know nothing of who carries them out. */
void
opl_23_one_source_of_a_protocol(struct stage *stage)
{
    enum { PEERS = 3, ROUNDS = 10, BYTES = 1000 };
    char out[BYTES], in[BYTES];
    struct hall hall;
    int peers[PEERS];

    stage_open(stage);
    hall_open(&hall, stage);
    for (int i = 0; i < PEERS; i++)
        peers[i] = peer_connect(&stage->endpoint);
    hall_await_accepted(&hall, PEERS);
    for (int i = 0; i < PEERS * ROUNDS; i++) {
        pattern_fill(out, BYTES, (uint64_t)i);
        peer_send(peers[i % PEERS], out, BYTES);
        peer_receive(peers[i % PEERS], in, BYTES);
        rgi_check(pattern_holds(in, BYTES, (uint64_t)i));
    }
    for (int i = 0; i < PEERS; i++) {
        peer_shutdown(peers[i]);
        peer_expect_end(peers[i]);
        peer_close(peers[i]);
    }
    hall_await_closed(&hall, PEERS);
    hall_close(&hall);
}

/* Over the whole process: the workers, their helpers, and this thread. */
void
echo_round_trips_allocate_nothing(struct stage *stage)
{
    enum { CONNECTIONS = 50 };
    const uint64_t rounds = 20 + rgi_scale(20000);
    int peers[CONNECTIONS];
    uint64_t allocations;
    struct hall hall;
    size_t brk_before;

    stage->options.workers = 2;
    stage_open(stage);
    hall_open(&hall, stage);
    for (int i = 0; i < CONNECTIONS; i++)
        peers[i] = peer_connect(&stage->endpoint);
    hall_await_accepted(&hall, CONNECTIONS);
    for (int i = 0; i < CONNECTIONS; i++)
        exchange(peers[i], "warm", 4);
    allocations = shim_allocations();
    brk_before = mapped();
    for (uint64_t round = 0; round < rounds; round++) {
        char answer[10];

        for (int i = 0; i < CONNECTIONS; i++)
            peer_send(peers[i], "round trip", 10);
        for (int i = 0; i < CONNECTIONS; i++)
            peer_receive(peers[i], answer, 10);
    }
    rgi_check(shim_allocations() == allocations);
    rgi_check(mapped() == brk_before);
    rgi_check(!SHIM_COUNTS_ALLOCATIONS || allocations > 0);
    for (int i = 0; i < CONNECTIONS; i++)
        peer_close(peers[i]);
    hall_await_closed(&hall, CONNECTIONS);
    hall_close(&hall);
}

/* Each has sent something and is sent something when half of them reset. */
void
half_of_a_crowd_reset_and_the_others_go_on(struct stage *stage)
{
    uint32_t count = hall_descriptors(rgi_scale_is_full() ? 10000 : 1000);
    int *peers = calloc(count, sizeof(*peers));
    struct hall hall;
    char bytes[HALL_BUFFER_BYTES];

    rgi_check(peers != NULL && count % 2 == 0);
    pattern_fill(bytes, sizeof(bytes), 0);
    stage_open(stage);
    hall_open(&hall, stage);
    for (uint32_t i = 0; i < count; i++)
        peers[i] = peer_connect(&stage->endpoint);
    hall_await_accepted(&hall, count);
    for (uint32_t i = 0; i < count; i++)
        peer_send(peers[i], bytes, sizeof(bytes) / 2);
    for (uint32_t i = 0; i < count; i += 2)
        peer_reset(peers[i]);
    for (uint32_t i = 1; i < count; i += 2) {
        char answer[HALL_BUFFER_BYTES];

        peer_receive(peers[i], answer, sizeof(answer) / 2);
        rgi_check(memcmp(answer, bytes, sizeof(answer) / 2) == 0);
        exchange(peers[i], bytes, sizeof(bytes));
    }
    for (uint32_t i = 1; i < count; i += 2)
        peer_close(peers[i]);
    hall_await_closed(&hall, count);
    hall_close(&hall);
    free(peers);
}

/* ---------------------------------------------------------- short transfers */

struct client {
    pthread_t thread;
    const struct rgm_endpoint *endpoint;
    uint64_t random;
    size_t total_bytes;
};

/* Sends and receives in pieces of any size, never far ahead. */
static void *
client_main(void *argument)
{
    struct client *client = argument;
    int peer = peer_connect(client->endpoint);
    size_t sent = 0, received = 0;
    char bytes[5000];

    while (received < client->total_bytes) {
        size_t piece = 1 + next_random(&client->random) % sizeof(bytes);

        if (next_random(&client->random) % 2 && sent - received < 20000) {
            pattern_fill(bytes, piece, sent);
            peer_send(peer, bytes, piece);
            sent += piece;
        } else if (sent > received) {
            ssize_t count = recv(peer, bytes, piece, 0);

            rgi_check(count > 0);
            rgi_check(pattern_holds(bytes, (size_t)count, received));
            received += (size_t)count;
        }
    }
    peer_close(peer);
    return NULL;
}

void
short_transfers_everywhere(struct stage *stage)
{
    enum { CLIENTS = 8 };
    struct client clients[CLIENTS];
    uint64_t random = rgi_seed();
    struct hall hall;

    stage_open(stage);
    hall_open(&hall, stage);
    for (int i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.endpoint = &stage->endpoint,
                                     .random = next_random(&random),
                                     .total_bytes =
                                         200000 + (size_t)rgi_scale(20000000)};
        rgi_check(pthread_create(&clients[i].thread, NULL, client_main,
                                 &clients[i]) == 0);
    }
    for (int i = 0; i < CLIENTS; i++)
        rgi_check(pthread_join(clients[i].thread, NULL) == 0);
    hall_await_closed(&hall, CLIENTS);
    hall_close(&hall);
}

/* ------------------------------------------------------------- descriptors */

/* An acceptor that asks again after a while, as stream.h says to. */
struct stubborn {
    struct puppet *puppet;
    struct rgm_listener *listener;
    struct rgm_stream streams[40];
    struct rgm_accept accept;
    struct rgm_sleep sleep;
    uint32_t accepted; /* atomic, and the next two */
    uint32_t refused;
    bool over;
};

static struct stubborn *stubborn_now;

static void
stubborn_answered(struct rgm_actor *self, struct rgm_request *request);

static void
stubborn_accept(struct stubborn *stubborn)
{
    rgm_stream_accept(&stubborn->accept, stubborn->listener,
                      &stubborn->streams[stubborn->accepted]);
    rgm_ask_request(&stubborn->puppet->actor, &stubborn->accept.request,
                    stubborn_answered);
}

static void
stubborn_answered(struct rgm_actor *self, struct rgm_request *request)
{
    struct stubborn *stubborn = stubborn_now;
    int status = rgm_request_status(request);

    if (status == -ECANCELED) {
        __atomic_store_n(&stubborn->over, true, __ATOMIC_SEQ_CST);
        return;
    }
    if (request == &stubborn->accept.request && status != 0) {
        rgi_check(status == -EMFILE);
        (void)__atomic_add_fetch(&stubborn->refused, 1, __ATOMIC_SEQ_CST);
        rgm_sleep_for(&stubborn->sleep, rgm_here(stubborn->puppet), 100000);
        rgm_ask_request(self, &stubborn->sleep.request, stubborn_answered);
        return;
    }
    if (request == &stubborn->accept.request)
        (void)__atomic_add_fetch(&stubborn->accepted, 1, __ATOMIC_SEQ_CST);
    stubborn_accept(stubborn);
}

static void
stubborn_begin(struct puppet *puppet, void *argument)
{
    stubborn_now = argument;
    stubborn_now->puppet = puppet;
    stubborn_accept(stubborn_now);
}

static void
stubborn_stop(struct puppet *puppet, void *argument)
{
    struct stubborn *stubborn = argument;

    rgm_cancel_request(&puppet->actor, &stubborn->accept.request);
    rgm_cancel_request(&puppet->actor, &stubborn->sleep.request);
}

/* Twenty peers, ten descriptors; then there are enough. */
void
descriptors_run_out_and_come_back(struct stage *stage)
{
    enum { PEERS = 20, ROOM = 10 };
    struct stubborn *stubborn = calloc(1, sizeof(*stubborn));
    struct rlimit before, tight;
    int peers[PEERS];

    rgi_check(stubborn != NULL);
    stage_open(stage);
    stage_listen(stage);
    stubborn->listener = &stage->listener;
    for (int i = 0; i < PEERS; i++)
        peers[i] = peer_connect(&stage->endpoint);
    rgi_check(getrlimit(RLIMIT_NOFILE, &before) == 0);
    tight = before;
    tight.rlim_cur = (rlim_t)peers[PEERS - 1] + 1 + ROOM;
    rgi_check(setrlimit(RLIMIT_NOFILE, &tight) == 0);
    stage_do(stage, stubborn_begin, stubborn);
    while (__atomic_load_n(&stubborn->refused, __ATOMIC_SEQ_CST) < 3)
        sched_yield();
    rgi_check(__atomic_load_n(&stubborn->accepted, __ATOMIC_SEQ_CST) == ROOM);
    rgi_check(setrlimit(RLIMIT_NOFILE, &before) == 0);
    while (__atomic_load_n(&stubborn->accepted, __ATOMIC_SEQ_CST) < PEERS)
        sched_yield();
    while (!__atomic_load_n(&stubborn->over, __ATOMIC_SEQ_CST))
        stage_do(stage, stubborn_stop, stubborn);
    for (int i = 0; i < PEERS; i++) {
        rgi_check(stage_write(stage, &stubborn->streams[i], "x", 1) == 0);
        rgi_check(stage_close_stream(stage, &stubborn->streams[i]) == 0);
    }
    for (int i = 0; i < PEERS; i++) {
        char byte;

        peer_receive(peers[i], &byte, 1);
        peer_close(peers[i]);
    }
    stage_close(stage);
    free(stubborn);
}

/* ------------------------------------------------------------------- idling */

static uint64_t
cpu_ns(void)
{
    struct timespec now;

    rgi_check(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now) == 0);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

struct idler {
    struct rgm_stream stream;
    struct read_step read;
    char byte;
};

/* The peers are another process: a process has not descriptors for both ends
 * of ten thousand connections everywhere. */
struct peers {
    pid_t process;
    int orders;
};

struct peers_order {
    struct rgm_endpoint endpoint;
    uint32_t count;
};

/* Connects as ordered; sends a byte on each when the next order comes; leaves
 * when the one after that does. */
static void
peers_main(int orders)
{
    struct peers_order order;
    char go;
    int *peers;

    rgi_check(read(orders, &order, sizeof(order)) == (ssize_t)sizeof(order));
    peers = calloc(order.count, sizeof(*peers));
    rgi_check(peers != NULL);
    for (uint32_t i = 0; i < order.count; i++)
        peers[i] = peer_connect(&order.endpoint);
    rgi_check(read(orders, &go, 1) == 1);
    for (uint32_t i = 0; i < order.count; i++)
        peer_send(peers[i], "x", 1);
    rgi_check(read(orders, &go, 1) == 0);
    _exit(0);
}

/* Before there are threads. */
static void
peers_fork(struct peers *peers)
{
    int pipes[2];

    rgi_check(pipe2(pipes, O_CLOEXEC) == 0);
    fflush(NULL);
    peers->process = fork();
    rgi_check(peers->process >= 0);
    if (peers->process == 0) {
        close(pipes[1]);
        peers_main(pipes[0]);
    }
    close(pipes[0]);
    peers->orders = pipes[1];
}

static void
peers_order(struct peers *peers, const void *order, size_t length_bytes)
{
    rgi_check(write(peers->orders, order, length_bytes) ==
              (ssize_t)length_bytes);
}

static void
peers_end(struct peers *peers)
{
    int how;

    close(peers->orders);
    rgi_check(waitpid(peers->process, &how, 0) == peers->process);
    rgi_check(WIFEXITED(how) && WEXITSTATUS(how) == 0);
}

/* Nothing comes for a while: no turn is made and no time is used. The guard
 * allows for the machine's own business, not for work. */
static bool
nothing_has_happened(struct stage *stage)
{
    const struct timespec while_ns = {0, 300 * 1000 * 1000};
    struct rgm_counters before, after;
    uint64_t used_ns;

    rgi_check(rgm_runtime_counters(stage->runtime, 0, &before) == 0);
    used_ns = cpu_ns();
    nanosleep(&while_ns, NULL);
    used_ns = cpu_ns() - used_ns;
    rgi_check(rgm_runtime_counters(stage->runtime, 0, &after) == 0);
    return after.turns == before.turns &&
           after.kernel_entries == before.kernel_entries &&
           used_ns < 10 * RGM_NS_PER_MS;
}

/* As soon as what was under way is over: on a busy machine that takes a while. */
static void
nothing_happens(struct stage *stage)
{
    unsigned left = 100;

    (void)stage_counters(stage);
    while (!nothing_has_happened(stage))
        rgi_check(--left > 0);
}

static void
idler_begin(struct stage *stage, struct idler *idler)
{
    struct rgm_accept accept;

    rgm_stream_accept(&accept, &stage->listener, &idler->stream);
    rgi_check(rgm_call(stage->runtime, &accept) == 0);
    rgm_stream_read(&idler->read.op, &idler->stream, &idler->byte, 1);
    stage_begin(stage, &idler->read);
}

void
idle_connections_cost_no_time_and_little_memory(struct stage *stage)
{
    const uint32_t count = rgi_scale_is_full() ? 10000 : 1000;
    struct peers_order order = {.count = count};
    struct idler *idlers;
    uint64_t before_bytes, each_bytes;
    struct peers peers;

    rgi_check(hall_descriptors(count / 2) >= count / 2);
    peers_fork(&peers);
    stage_open(stage);
    stage_listen(stage);
    order.endpoint = stage->endpoint;
    peers_order(&peers, &order, sizeof(order));
    before_bytes = shim_allocated_bytes();
    idlers = calloc(count, sizeof(*idlers)); /* counted, as a user's actor is */
    rgi_check(idlers != NULL);
    for (uint32_t i = 0; i < count; i++)
        idler_begin(stage, &idlers[i]);
    each_bytes = (shim_allocated_bytes() - before_bytes) / count;
    fprintf(stderr, "# %u idle connections, %llu bytes each\n", count,
            (unsigned long long)each_bytes);
    rgi_check(!SHIM_COUNTS_ALLOCATIONS || each_bytes < 1024);
    nothing_happens(stage);
    peers_order(&peers, "x", 1);
    for (uint32_t i = 0; i < count; i++) {
        rgi_check(stage_end(stage, &idlers[i].read) == 0);
        rgi_check(idlers[i].byte == 'x');
        rgi_check(stage_close_stream(stage, &idlers[i].stream) == 0);
    }
    stage_close(stage);
    peers_end(&peers);
    free(idlers);
}
