/* SPDX-License-Identifier: MIT */

/* bell_test.c - is every ring an edge, and does a full counter not swallow it? */

#include "base/bell.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/cases.h"

static void
ring(int fd)
{
    rgi_bell_ring((void *)(intptr_t)fd);
}

static int
polls(int fd)
{
    struct pollfd entry = {fd, POLLIN, 0};

    return poll(&entry, 1, 0);
}

static void
rings_until_taken(void)
{
    int fd = -1;

    rgi_check(rgi_bell_open(&fd) == 0);
    rgi_check(polls(fd) == 0);
    rgi_check(!rgi_bell_take(fd));
    ring(fd);
    ring(fd);
    rgi_check(polls(fd) == 1);
    rgi_check(polls(fd) == 1);
    rgi_check(rgi_bell_take(fd));
    rgi_check(polls(fd) == 0);
    rgi_bell_close(fd);
}

static void
keeps_errno(void)
{
    int fd = -1;

    rgi_check(rgi_bell_open(&fd) == 0);
    errno = ELOOP;
    ring(fd);
    rgi_check(errno == ELOOP);
    rgi_bell_close(fd);
}

/* The counter is full: a plain write would fail and wake nobody. */
static void
full_counter_is_still_an_edge(void)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    uint64_t almost_full = UINT64_MAX - 1;
    int edges = epoll_create1(EPOLL_CLOEXEC);
    int fd = -1;

    rgi_check(rgi_bell_open(&fd) == 0);
    rgi_check(epoll_ctl(edges, EPOLL_CTL_ADD, fd, &event) == 0);
    rgi_check(write(fd, &almost_full, sizeof(almost_full)) == 8);
    rgi_check(epoll_wait(edges, &event, 1, 0) == 1);
    rgi_check(epoll_wait(edges, &event, 1, 0) == 0);
    for (int i = 0; i < 3; i++) {
        ring(fd);
        rgi_check(epoll_wait(edges, &event, 1, 0) == 1);
    }
    rgi_bell_close(fd);
    close(edges);
}

/* Rung before, rung by another thread, and not at all. */
static void *
ring_late(void *argument)
{
    sched_yield();
    ring(*(int *)argument);
    return NULL;
}

static void
awaiting_hears_every_ring_and_silences_it(void)
{
    pthread_t thread;
    int fd = -1;

    rgi_check(rgi_bell_open(&fd) == 0);
    rgi_check(!rgi_bell_await(fd, 0));
    rgi_check(!rgi_bell_await(fd, 1000));
    ring(fd);
    rgi_check(rgi_bell_await(fd, RGM_NEVER));
    rgi_check(!rgi_bell_await(fd, 0));
    rgi_check(pthread_create(&thread, NULL, ring_late, &fd) == 0);
    rgi_check(rgi_bell_await(fd, RGM_NEVER));
    pthread_join(thread, NULL);
    rgi_bell_close(fd);
}

#define CASES(X)                                                              \
    X(bell, rings_until_taken)                                                \
    X(bell, keeps_errno)                                                      \
    X(bell, full_counter_is_still_an_edge)                                    \
    X(bell, awaiting_hears_every_ring_and_silences_it)

RGI_CASES(CASES)
