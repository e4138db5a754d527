/* SPDX-License-Identifier: MIT */

/*
 * child.c - how does a ring wait for a child?
 *
 * With an entry of its own where the kernel has one (Linux 6.7). Else: a single
 * process is watched by a descriptor of it, which can be read when it has
 * ended; anything else is looked at every millisecond. An attempt is then an
 * entry that does nothing, and the look comes with its completion: it never
 * waits.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "capabilities/child.h"

#define OP_WAITID 50 /* not in every libc's headers */

static bool
has_entry(const struct rgi_ring_provider *p)
{
    return (p->ring.opcodes >> OP_WAITID & 1) != 0;
}

/* Its end alone can be told by a descriptor. */
static bool
can_be_watched(const struct rgm_child_wait *wait)
{
    return wait->select == RGM_CHILD_PROCESS && wait->flags == 0;
}

static int
child_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgm_child_wait *wait = rgi_child_of(operation);
    struct rgi_task *task = rgi_task_of(operation);

    task->fd = -1;
    wait->watched = false;
    memset(wait->info, 0, sizeof(wait->info));
    if (!has_entry(p) && can_be_watched(wait)) {
        task->fd = (int)syscall(SYS_pidfd_open, wait->id, 0);
        if (task->fd < 0 && errno == ESRCH)
            return -ECHILD;
    }
    return RGI_STEP_ATTEMPT;
}

static void
child_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
              struct io_uring_sqe *entry)
{
    struct rgm_child_wait *wait = rgi_child_of(operation);

    if (!has_entry(p)) {
        entry->opcode = IORING_OP_NOP;
        return;
    }
    entry->opcode = OP_WAITID;
    entry->fd = wait->id;
    entry->len = rgi_child_idtype(wait);
    entry->file_index = (uint32_t)rgi_child_options(wait);
    entry->addr2 = (uint64_t)(uintptr_t)wait->info;
}

static void
child_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);

    (void)p;
    if (task->fd >= 0)
        close(task->fd);
    task->fd = -1;
}

static int
look(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgm_child_wait *wait = rgi_child_of(operation);
    int status = rgi_child_look(wait);

    if (status == -EAGAIN && rgi_task_of(operation)->fd >= 0 &&
        !wait->watched) {
        wait->watched = true;
        return RGI_STEP_INPUT;
    }
    /* What its descriptor says is advice: a child that is traced, say, has ended
     * and cannot be reaped yet. It would say so again at once, so from here on
     * there are looks. */
    if (status == -EAGAIN) {
        child_undo(p, operation);
        return RGI_STEP_PAUSE;
    }
    if (status == 0)
        child_undo(p, operation);
    return status == -EINTR ? RGI_STEP_ATTEMPT : status;
}

static int
child_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
          int result, uint32_t flags)
{
    (void)flags;
    if (result == -EINTR)
        return RGI_STEP_ATTEMPT;
    if (result < 0)
        return result;
    if (!has_entry(p))
        return look(p, operation);
    return rgi_child_fill(rgi_child_of(operation)) ? 0 : -ECHILD;
}

const struct rgi_ring_kind rgi_ring_child_wait = {child_begin, child_prepare,
                                                  child_end, child_undo};
