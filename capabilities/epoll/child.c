/* SPDX-License-Identifier: MIT */

/*
 * child.c - how does an epoll set wait for a child?
 *
 * A single process is watched by a descriptor of it, which can be read when it has
 * ended. What that says is advice: a child that is traced, say, has ended and cannot
 * be reaped yet, and says so once. From there on, and for anything else (groups, any
 * child, one that stops or continues, a system without such descriptors), the
 * threads look now and then. No look waits.
 */

#include <errno.h>
#include <unistd.h>

#include "capabilities/child.h"
#include "capabilities/epoll/parts.h"

/* Its end alone can be told by a descriptor. */
static bool
can_be_watched(const struct rgm_child_wait *wait)
{
    return wait->select == RGM_CHILD_PROCESS && wait->flags == 0;
}

/* Returns: a watch of the process, or NULL: it cannot be had. */
static struct rgi_watch *
watch_process(struct rgi_epoll_provider *p, int process)
{
    struct rgi_watch *watch;
    int fd = p->calls->process_open(process);

    if (fd < 0)
        return NULL;
    watch = rgi_watch_take(p);
    if (watch == NULL)
        close(fd);
    else
        rgi_watch_own(watch, fd);
    return watch;
}

void
rgi_epoll_child_end(struct rgi_epoll_provider *p,
                    struct rgm_operation *operation)
{
    struct rgi_attempt *attempt = rgi_attempt_of(operation);
    struct rgi_watch *watch = attempt->owner;
    int fd = watch->fd;

    attempt->owner = NULL;
    rgi_watch_release(p, watch);
    close(fd);
}

bool
rgi_epoll_child_is_watched(const struct rgm_operation *operation)
{
    return rgi_attempt_of((struct rgm_operation *)(uintptr_t)operation)
               ->owner != NULL;
}

void
rgi_epoll_child_look_on(struct rgi_epoll_provider *p,
                        struct rgm_operation *operation)
{
    rgi_epoll_child_end(p, operation);
    rgi_line_lend(p, operation);
}

void
rgi_epoll_child_submit(struct rgi_epoll_provider *p,
                       struct rgm_operation *operation)
{
    const struct rgm_child_wait *wait = rgi_child_of(operation);
    struct rgi_watch *watch =
        can_be_watched(wait) ? watch_process(p, wait->id) : NULL;

    if (watch == NULL) {
        rgi_line_lend(p, operation);
        return;
    }
    rgi_attempt_of(operation)->owner = watch;
    rgi_line_submit(p, watch, operation);
}
