/* SPDX-License-Identifier: MIT */

/*
 * watch.c - what is known of a descriptor?
 *
 * 1. Every handle has a watch, taken when its operation is submitted: nothing is
 *    allocated where somebody has to wait.
 * 2. Its descriptor is put into the set when the first operation finds nothing
 *    there, with edges of both directions, and stays until it is closed or
 *    detached.
 * 3. An edge marks a direction ready and counts; whoever then finds nothing takes
 *    the mark away, if nothing has been counted since.
 * 4. It is taken out of the set before the descriptor goes: another one of the same
 *    file, in a child of ours, say, would keep the kernel telling of it. When it
 *    cannot be taken out, the watch is nobody's again.
 *
 * An event carries the address of its watch. Events only mark: no descriptor is
 * closed and no watch changes hands while the rest of them is looked at. What is
 * marked on one that nobody has is forgotten when it is taken.
 */

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "capabilities/epoll/parts.h"

#define CHUNK_WATCHES 64
#define WATCHED (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLPRI | EPOLLET)
#define BOTH (EPOLLERR | EPOLLHUP)

struct rgi_watch_chunk {
    struct rgi_watch_chunk *next;
    struct rgi_watch watches[CHUNK_WATCHES];
};

static bool
chunk_add(struct rgi_epoll_provider *p)
{
    struct rgi_watch_chunk *chunk = rgi_alloc(sizeof(*chunk));

    if (chunk == NULL)
        return false;
    chunk->next = p->chunks;
    p->chunks = chunk;
    for (int i = 0; i < CHUNK_WATCHES; i++)
        rgi_list_push_back(&p->idle, &chunk->watches[i].link);
    return true;
}

static void
side_init(struct rgi_side *side)
{
    *side = (struct rgi_side){.ready = true};
    rgi_list_init(&side->line);
}

struct rgi_watch *
rgi_watch_take(struct rgi_epoll_provider *p)
{
    struct rgm_link *link;
    struct rgi_watch *watch;

    if (rgi_list_empty(&p->idle) && !chunk_add(p))
        return NULL;
    link = rgi_list_pop_front(&p->idle);
    watch = rgi_container_of(link, struct rgi_watch, link);
    *watch = (struct rgi_watch){.fd = -1};
    side_init(&watch->in);
    side_init(&watch->out);
    return watch;
}

void
rgi_watch_own(struct rgi_watch *watch, int fd)
{
    rgi_assert(watch->fd < 0 || watch->fd == fd);
    watch->fd = fd;
    watch->open = true;
}

/* Where a read ends before its room does only because nothing is left. On a Unix
 * socket it also ends where descriptors were passed or the sender changes. */
static bool
reads_all_there_is(int fd)
{
    int domain = AF_UNSPEC;
    socklen_t length = sizeof(domain);

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) == 0 &&
           (domain == AF_INET || domain == AF_INET6);
}

/* One that was left in the set when its number was closed goes to the new watch. */
int
rgi_watch_register(struct rgi_epoll_provider *p, struct rgi_watch *watch)
{
    struct epoll_event event = {.events = WATCHED, .data.ptr = watch};
    int status = p->calls->control(p->set, EPOLL_CTL_ADD, watch->fd, &event);

    if (status == -EEXIST)
        status = p->calls->control(p->set, EPOLL_CTL_MOD, watch->fd, &event);
    if (status < 0)
        return status;
    watch->registered = true;
    watch->short_is_all = reads_all_there_is(watch->fd);
    return 0;
}

bool
rgi_watch_unregister(struct rgi_epoll_provider *p, struct rgi_watch *watch)
{
    struct epoll_event none = {0};

    if (!watch->registered)
        return true;
    if (p->calls->control(p->set, EPOLL_CTL_DEL, watch->fd, &none) < 0)
        return false;
    watch->registered = false;
    watch->in.ready = true; /* nobody tells of it now */
    watch->out.ready = true;
    return true;
}

void
rgi_watch_release(struct rgi_epoll_provider *p, struct rgi_watch *watch)
{
    bool reusable = rgi_watch_unregister(p, watch);

    rgi_assert(rgi_list_empty(&watch->in.line));
    rgi_assert(rgi_list_empty(&watch->out.line));
    rgi_assert(watch->out.lent == NULL);
    if (rgi_list_is_linked(&watch->link))
        rgi_list_remove(&watch->link);
    watch->open = false;
    watch->fd = -1;
    if (reusable)
        rgi_list_push_front(&p->idle, &watch->link);
    else
        p->quarantined++;
}

void
rgi_watch_run_later(struct rgi_epoll_provider *p, struct rgi_watch *watch)
{
    if (rgi_list_is_linked(&watch->link))
        rgi_list_remove(&watch->link);
    rgi_list_push_back(&p->runnable, &watch->link);
}

void
rgi_watch_pause(struct rgi_epoll_provider *p, struct rgi_watch *watch)
{
    if (rgi_list_is_linked(&watch->link))
        return;
    if (rgi_list_empty(&p->paused))
        p->pause_end_ns = rgi_epoll_now(p) + RGI_EPOLL_PAUSE_NS;
    rgi_list_push_back(&p->paused, &watch->link);
}

static void
side_note(struct rgi_epoll_provider *p, struct rgi_watch *watch,
          struct rgi_side *side)
{
    side->generation++;
    if (side->ready)
        return; /* whoever waits waits for something else */
    side->ready = true;
    if (!rgi_list_empty(&side->line))
        rgi_watch_run_later(p, watch);
}

void
rgi_watch_note(struct rgi_epoll_provider *p, struct rgi_watch *watch,
               uint32_t events)
{
    if (events & (EPOLLRDHUP | EPOLLPRI | BOTH))
        watch->lasting = true;
    if (events & (EPOLLIN | EPOLLRDHUP | EPOLLPRI | BOTH))
        side_note(p, watch, &watch->in);
    if (events & (EPOLLOUT | BOTH))
        side_note(p, watch, &watch->out);
}

void
rgi_watch_close_all(struct rgi_epoll_provider *p)
{
    struct rgi_watch_chunk *chunk;

    while ((chunk = p->chunks) != NULL) {
        p->chunks = chunk->next;
        for (int i = 0; i < CHUNK_WATCHES; i++)
            if (chunk->watches[i].open)
                close(chunk->watches[i].fd);
        rgi_free(chunk);
    }
}
