/* SPDX-License-Identifier: MIT */

/*
 * load.c - how many requests does a TCP server answer, how fast, at what cost?
 *
 *     bench_load -m echo|ping|set|get|http -p PORT [-c CONNECTIONS] [-d DEPTH]
 *                [-s SIZE_BYTES] [-t MILLISECONDS] [-k KEYS] [-S SERVER_PID]
 *                [-C CORE] [-x] -n SERIES
 *
 * A closed loop in one thread that never sleeps: every connection keeps DEPTH
 * requests in flight. SIZE_BYTES is that of the message or the value, keys are
 * random out of KEYS; before `get` all are set, unless -x. Replies of one kind
 * have one length, learnt from the first: content is not looked at, only
 * counted.
 *
 * It reports requests per second, 50th and 99th percentile of the time to the
 * answer, and, with -S, the server's CPU time per request and how busy it was,
 * from the kernel's own accounting of its threads. A server that was far from
 * busy waited for this program, or was kept from its core.
 */

#include "bench/bench.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define RECEIVE_BYTES (1u << 18)
#define EVENTS_MAX 512
#define KEY_DIGITS 12
#define PRELOAD_BATCH 100u
#define WARM_UP_NS UINT64_C(120000000)
#define HANG_NS UINT64_C(10000000000)
#define DIAL_TRIES 300
#define DIAL_PAUSE_MS 10

/* Histogram of times: 64 steps to the octave. */
#define STEPS_BITS 6
#define STEPS (1u << STEPS_BITS)
#define BUCKETS 4096u

struct connection {
    int fd;
    bool wants_room; /* polled for EPOLLOUT too */
    uint64_t have_bytes;
    uint64_t out_bytes, out_sent;
    char *out;
    uint64_t sent_count, answered_count; /* their difference is in flight */
    uint64_t *sent_ns;                   /* of those, a ring of DEPTH */
};

static const char *mode = "echo", *series = "load";
static uint16_t port;
static uint64_t connections_count = 1, depth = 1, size_bytes = 64;
static uint64_t duration_ms = 300, keys = 100000;
static unsigned core = 1;
static int server;
static bool preloaded;

static char *request;
static uint64_t request_bytes, reply_bytes;
static uint64_t key_offset; /* of its digits; 0: no key */
static char receive_buffer[RECEIVE_BYTES];
static int poller;

static uint64_t histogram[BUCKETS], answered;

/* -- small things --------------------------------------------------------- */

static uint64_t
random_next(void)
{
    static uint64_t state = UINT64_C(88172645463325252);

    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

static unsigned
bucket_of(uint64_t ns)
{
    unsigned octave, bucket;

    if (ns < STEPS)
        return (unsigned)ns;
    octave = 63u - (unsigned)__builtin_clzll(ns);
    bucket = (octave - STEPS_BITS + 1) * STEPS +
             (unsigned)(ns >> (octave - STEPS_BITS)) % STEPS;
    return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static double
bucket_us(unsigned bucket)
{
    uint64_t ns = bucket;

    if (bucket >= STEPS)
        ns = (STEPS + (uint64_t)(bucket % STEPS)) << (bucket / STEPS - 1);
    return (double)ns / 1e3;
}

static double
quantile_us(double quantile)
{
    uint64_t seen = 0;

    for (unsigned i = 0; i < BUCKETS; i++) {
        seen += histogram[i];
        if ((double)seen >= quantile * (double)answered)
            return bucket_us(i);
    }
    return 0;
}

/* CPU time of one thread of the server, exact, in ns. */
static uint64_t
thread_cpu_ns(const char *thread)
{
    char path[96];
    unsigned long long ns = 0;
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/task/%.20s/schedstat", server,
             thread);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%llu", &ns) != 1)
        ns = 0;
    fclose(file);
    return ns;
}

static uint64_t
server_cpu_ns(void)
{
    char path[64];
    struct dirent *thread;
    uint64_t sum_ns = 0;
    DIR *threads;

    snprintf(path, sizeof(path), "/proc/%d/task", server);
    threads = opendir(path);
    if (threads == NULL)
        return 0;
    while ((thread = readdir(threads)) != NULL)
        if (isdigit((unsigned char)thread->d_name[0]))
            sum_ns += thread_cpu_ns(thread->d_name);
    closedir(threads);
    return sum_ns;
}

/* -- requests ------------------------------------------------------------- */

static void
write_key(char *digits, uint64_t key)
{
    for (int i = KEY_DIGITS - 1; i >= 0; i--, key /= 10)
        digits[i] = (char)('0' + key % 10);
}

static void
write_request(char *out)
{
    memcpy(out, request, request_bytes);
    if (key_offset != 0)
        write_key(out + key_offset, random_next() % keys);
}

static void
make_command(const char *command, const char *value)
{
    size_t capacity = size_bytes + 256;
    char *key;
    int length;

    if (strcmp(command, "echo") == 0)
        length = snprintf(request, capacity, "%s", value);
    else if (strcmp(command, "ping") == 0)
        length = snprintf(request, capacity, "*1\r\n$4\r\nPING\r\n");
    else if (strcmp(command, "set") == 0)
        length = snprintf(request, capacity,
                          "*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000000\r\n"
                          "$%zu\r\n%s\r\n",
                          strlen(value), value);
    else if (strcmp(command, "get") == 0)
        length = snprintf(request, capacity,
                          "*2\r\n$3\r\nGET\r\n$16\r\nkey:000000000000\r\n");
    else if (strcmp(command, "http") == 0)
        length = snprintf(request, capacity,
                          "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n");
    else
        bench_fail(command, EINVAL);
    request_bytes = (uint64_t)length;
    key = strstr(request, "key:");
    key_offset = key == NULL ? 0 : (uint64_t)(key - request) + 4;
}

static void
make_request(const char *command)
{
    char *value = malloc(size_bytes + 1);

    free(request);
    request = malloc(size_bytes + 256);
    if (value == NULL || request == NULL)
        bench_fail("request", ENOMEM);
    memset(value, 'x', size_bytes);
    value[size_bytes] = '\0';
    make_command(command, value);
    free(value);
}

/* -- connecting and learning ---------------------------------------------- */

static int
try_dial(void)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons(port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;

    if (fd < 0)
        bench_fail("socket", errno);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

static int
dial(void)
{
    int fd = -1;

    for (int i = 0; i < DIAL_TRIES && (fd = try_dial()) < 0; i++)
        poll(NULL, 0, DIAL_PAUSE_MS); /* the server may still be starting */
    if (fd < 0)
        bench_fail("connect", ETIMEDOUT);
    return fd;
}

static void
write_all(int fd, const char *bytes, uint64_t length)
{
    while (length > 0) {
        ssize_t written = send(fd, bytes, length, MSG_NOSIGNAL);

        if (written < 0)
            bench_fail("send", errno);
        bytes += written;
        length -= (uint64_t)written;
    }
}

/* Read `wanted` bytes, or what comes until it is quiet for so long. */
static uint64_t
read_until(int fd, uint64_t wanted, int quiet_ms)
{
    struct pollfd poll_fd = {fd, POLLIN, 0};
    uint64_t count = 0;

    while (count < wanted && poll(&poll_fd, 1, quiet_ms) > 0) {
        ssize_t got = read(fd, receive_buffer, RECEIVE_BYTES);

        if (got <= 0)
            break;
        count += (uint64_t)got;
    }
    return count;
}

/* Set every key once. */
static void
preload(void)
{
    static const char reply[] = "+OK\r\n";
    uint64_t replies_bytes = PRELOAD_BATCH * (sizeof(reply) - 1);
    char *batch;
    int fd = dial();

    make_request("set");
    batch = malloc(request_bytes * PRELOAD_BATCH);
    if (batch == NULL)
        bench_fail("preload", ENOMEM);
    for (uint64_t key = 0; key < keys; key += PRELOAD_BATCH) {
        for (uint64_t i = 0; i < PRELOAD_BATCH; i++) {
            char *out = batch + i * request_bytes;

            memcpy(out, request, request_bytes);
            write_key(out + key_offset, key + i);
        }
        write_all(fd, batch, request_bytes * PRELOAD_BATCH);
        if (read_until(fd, replies_bytes, 2000) != replies_bytes)
            bench_fail("preload", EPROTO);
    }
    free(batch);
    close(fd);
}

static void
learn_reply(void)
{
    char *out = malloc(request_bytes);
    int fd = dial();

    if (out == NULL)
        bench_fail("request", ENOMEM);
    write_request(out);
    write_all(fd, out, request_bytes);
    reply_bytes = read_until(fd, RECEIVE_BYTES, 100);
    if (reply_bytes == 0)
        bench_fail("no reply", EPROTO);
    free(out);
    close(fd);
}

/* -- the loop ------------------------------------------------------------- */

static void
watch(struct connection *c, int operation)
{
    struct epoll_event event = {
        .events = EPOLLIN | (c->wants_room ? (uint32_t)EPOLLOUT : 0u),
        .data.ptr = c,
    };

    epoll_ctl(poller, operation, c->fd, &event);
}

static void
flush(struct connection *c)
{
    while (c->out_sent < c->out_bytes) {
        ssize_t sent = send(c->fd, c->out + c->out_sent,
                            c->out_bytes - c->out_sent,
                            MSG_DONTWAIT | MSG_NOSIGNAL);

        if (sent < 0 && errno == EAGAIN)
            break;
        if (sent < 0)
            bench_fail("send", errno);
        c->out_sent += (uint64_t)sent;
    }
    if (c->out_sent == c->out_bytes)
        c->out_sent = c->out_bytes = 0;
    if (c->wants_room != (c->out_bytes > 0)) {
        c->wants_room = !c->wants_room;
        watch(c, EPOLL_CTL_MOD);
    }
}

static void
ask(struct connection *c, uint64_t count, uint64_t now_ns)
{
    if (c->out_bytes + count * request_bytes > depth * request_bytes) {
        c->out_bytes -= c->out_sent;
        memmove(c->out, c->out + c->out_sent, c->out_bytes);
        c->out_sent = 0;
    }
    for (uint64_t i = 0; i < count; i++) {
        write_request(c->out + c->out_bytes);
        c->out_bytes += request_bytes;
        c->sent_ns[c->sent_count++ % depth] = now_ns;
    }
    flush(c);
}

static void
receive(struct connection *c, bool counting)
{
    ssize_t got = recv(c->fd, receive_buffer, RECEIVE_BYTES, MSG_DONTWAIT);
    uint64_t now_ns, count = 0;

    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0)
        bench_fail("the server has closed", got < 0 ? errno : EPIPE);
    c->have_bytes += (uint64_t)got;
    if (c->have_bytes < reply_bytes)
        return;
    now_ns = bench_now_ns();
    for (; c->have_bytes >= reply_bytes; c->have_bytes -= reply_bytes, count++) {
        uint64_t ns = now_ns - c->sent_ns[c->answered_count++ % depth];

        if (counting) {
            histogram[bucket_of(ns)]++;
            answered++;
        }
    }
    ask(c, count, now_ns);
}

static void
serve_events(bool counting)
{
    struct epoll_event events[EVENTS_MAX];
    int count = epoll_wait(poller, events, EVENTS_MAX, 0);

    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;

        if (events[i].events & EPOLLOUT)
            flush(c);
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR))
            receive(c, counting);
    }
}

static void
open_connections(void)
{
    struct connection *all = calloc(connections_count, sizeof(*all));

    poller = epoll_create1(0);
    if (all == NULL || poller < 0)
        bench_fail("connections", ENOMEM);
    for (uint64_t i = 0; i < connections_count; i++) {
        all[i].fd = dial();
        all[i].sent_ns = calloc(depth, sizeof(uint64_t));
        all[i].out = malloc(request_bytes * depth);
        if (all[i].sent_ns == NULL || all[i].out == NULL)
            bench_fail("connections", ENOMEM);
        watch(&all[i], EPOLL_CTL_ADD);
    }
    for (uint64_t i = 0; i < connections_count; i++)
        ask(&all[i], depth, bench_now_ns());
}

static void
report(uint64_t ns, uint64_t server_ns)
{
    double requests = (double)answered;

    if (answered == 0)
        bench_fail("no answers", EPROTO);
    bench_report(series, "rps", requests * 1e9 / (double)ns, "req/s");
    bench_report(series, "p50", quantile_us(0.5), "us");
    bench_report(series, "p99", quantile_us(0.99), "us");
    if (server != 0) {
        bench_report(series, "cpu", (double)server_ns / 1e3 / requests,
                     "us/req");
        bench_report(series, "busy", 100 * (double)server_ns / (double)ns, "%");
    }
}

static void
run(void)
{
    uint64_t begin_ns = bench_now_ns(), server_ns;

    while (bench_now_ns() < begin_ns + WARM_UP_NS)
        serve_events(false);
    server_ns = server_cpu_ns();
    begin_ns = bench_now_ns();
    while (bench_now_ns() < begin_ns + duration_ms * 1000000)
        serve_events(true);
    report(bench_now_ns() - begin_ns, server_cpu_ns() - server_ns);
}

static void
read_options(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "m:p:c:d:s:t:k:S:n:xC:")) != -1) {
        switch (option) {
        case 'm': mode = optarg; break;
        case 'p': port = (uint16_t)bench_number(optarg, 65535); break;
        case 'c': connections_count = bench_number(optarg, 100000); break;
        case 'd': depth = bench_number(optarg, 4096); break;
        case 's': size_bytes = bench_number(optarg, RECEIVE_BYTES / 2); break;
        case 't': duration_ms = bench_number(optarg, 3600000); break;
        case 'k': keys = bench_number(optarg, UINT64_C(1) << 32); break;
        case 'S': server = (int)bench_number(optarg, INT32_MAX); break;
        case 'C': core = (unsigned)bench_number(optarg, 1023); break;
        case 'n': series = optarg; break;
        case 'x': preloaded = true; break;
        default: exit(2);
        }
    }
    if (port == 0) {
        fputs("usage: bench_load -m echo|ping|set|get -p PORT ...\n", stderr);
        exit(2);
    }
}

int
main(int argc, char **argv)
{
    read_options(argc, argv);
    bench_pin(core);
    if (strcmp(mode, "get") == 0 && !preloaded)
        preload();
    make_request(mode);
    if (strcmp(mode, "echo") == 0)
        reply_bytes = request_bytes;
    else
        learn_reply();
    open_connections();
    run();
    return 0;
}
