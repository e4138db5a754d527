/* SPDX-License-Identifier: MIT */
#ifndef BENCH_FAR_H
#define BENCH_FAR_H

/*
 * far.h - who is at the far end of a stream, and what does a piece cost the worker
 * at this one?
 *
 *     one actor, on a ring of one worker ---- TCP ---- a plain thread: far_serve
 *
 * The actor connects to far_target, warms up, calls far_begin, and far_end when it
 * has had its pieces and stops the runtime.
 */

#include "bench/ours.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <sys/socket.h>

static struct rgm_endpoint far_target;

/* What the far end does with a connection, which is closed afterwards. */
static void far_serve(int connection);

/* Listens at the port, or with 0 at one of this machine's alone: then that is the
 * target. */
static inline int
far_listen(uint16_t port)
{
    struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t size = sizeof(name);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    name.sin_addr.s_addr = htonl(port != 0 ? INADDR_ANY : INADDR_LOOPBACK);
    if (listener < 0 ||
        bind(listener, (struct sockaddr *)&name, sizeof(name)) < 0 ||
        listen(listener, 8) < 0 ||
        getsockname(listener, (struct sockaddr *)&name, &size) < 0)
        bench_fail("far end", errno);
    ours_check("target", rgm_endpoint_parse("127.0.0.1", ntohs(name.sin_port),
                                            &far_target));
    return listener;
}

/* One connection after the other, until the listener is shut. */
static inline void *
far_main(void *listener)
{
    for (;;) {
        int connection = accept4(*(int *)listener, NULL, NULL, SOCK_CLOEXEC);

        if (connection < 0)
            return NULL; /* shut: nobody comes any more */
        far_serve(connection);
        close(connection);
    }
}

/* Runs `play` with a far end on this machine. */
static inline void
far_here(void (*play)(void))
{
    int listener = far_listen(0);
    pthread_t thread;

    if (pthread_create(&thread, NULL, far_main, &listener) != 0)
        bench_fail("far end", EAGAIN);
    play();
    shutdown(listener, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(listener);
}

/* ------------------------------------------------------------- what it costs */

static uint64_t far_ns, far_cpu_ns; /* of the worker's thread */

static inline void
far_begin(void)
{
    far_ns = bench_now_ns();
    far_cpu_ns = bench_cpu_now_ns();
}

static inline void
far_end(void)
{
    far_ns = bench_now_ns() - far_ns;
    far_cpu_ns = bench_cpu_now_ns() - far_cpu_ns;
}

/* Plays the actor's part to its end, and reports what each of its pieces cost. */
static inline void
far_play(const char *name, const struct rgm_behaviour *actor, double pieces,
         struct rgm_counters *ret_counters)
{
    const struct rgm_runtime_options options = {
        .workers = 1, .provider = &rgm_provider_ring, .spin_us = RGM_SPIN_OFF};

    ours_check("create", rgm_runtime_create(&options, &ours_runtime));
    ours_check("start", rgm_runtime_start(ours_runtime));
    ours_spawn(0, actor, NULL);
    ours_check("run", rgm_runtime_wait(ours_runtime));
    ours_check("counters",
               rgm_runtime_counters(ours_runtime, 0, ret_counters));
    ours_check("destroy", rgm_runtime_destroy(ours_runtime));
    bench_report(name, "ns", (double)far_ns / pieces, "ns");
    bench_report(name, "cpu_ns", (double)far_cpu_ns / pieces, "ns");
}

#endif /* BENCH_FAR_H */
