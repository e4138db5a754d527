/* SPDX-License-Identifier: MIT */

/*
 * zero_copy.c - who holds the bytes that the kernel sends from where they are?
 *
 *     attempt --result--> answered, or the rest is another attempt
 *        '---- notice holds a view of its own ---- the kernel tells --> dropped
 *
 * 1. An attempt without a copy takes a notice: a view of the same bytes, and the
 *    identity of the entry. So whatever becomes of the write, its record and its
 *    asker, nobody writes to the bytes before the kernel has let go of them.
 * 2. The result comes first and says whether a second completion follows. If not,
 *    the notice is over at once.
 * 3. The second one ends it. The view is dropped when nothing is reaped any more
 *    and the wait is about to return, for a release function may do anything.
 *
 * The second completion also says whether the kernel has copied the bytes after
 * all, as it does on loopback; both are counted. A kernel that cannot say so (before
 * 6.2) refuses to be asked, and is not asked again: nothing is counted as copied.
 *
 * Notices are bounded: without one the attempt is an ordinary one, which copies.
 * So it is where the socket cannot (Unix), from then on, and where memory cannot
 * be locked, for this write.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/assert.h"
#include "base/memory.h"

#define NOTICES_DEFAULT 64u

struct rgi_notice {
    struct rgm_link link; /* in `over`, or unused: in `spare` */
    struct rgm_operation *operation; /* until the result has come */
    struct rgm_view held;
};

void
rgi_notices_init(struct rgi_notices *notices, uint32_t max)
{
    notices->max = max == 0 ? NOTICES_DEFAULT : max == UINT32_MAX ? 0 : max;
    rgi_list_init(&notices->over);
    rgi_list_init(&notices->spare);
}

static struct rgi_notice *
linked(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgi_notice, link);
}

static struct rgi_notice *
notice_take(struct rgi_notices *notices)
{
    struct rgm_link *link;

    if (notices->out >= notices->max)
        return NULL;
    link = rgi_list_pop_front(&notices->spare);
    return link != NULL ? linked(link) : rgi_alloc(sizeof(struct rgi_notice));
}

bool
rgi_notice_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgm_write *write = rgi_write_of(operation);
    struct rgi_task *task = rgi_task_of(operation);

    if (!write->zero_copy || write->owned.block == NULL || task->copies ||
        task->channel->copies ||
        (p->ring.opcodes >> IORING_OP_SEND_ZC & 1) == 0)
        return false;
    task->notice = notice_take(&p->notices);
    if (task->notice == NULL)
        return false;
    task->noticed = true;
    p->notices.out++;
    *task->notice = (struct rgi_notice){
        .operation = operation, .held = rgm_view_clone(&write->owned)};
    return true;
}

uint64_t
rgi_notice_identity(const struct rgi_notice *notice, uint32_t serial)
{
    return rgi_identity_of(notice, serial) | RGI_IDENTITY_MONITOR;
}

uint16_t
rgi_notice_asks(const struct rgi_ring_provider *p)
{
    return p->notices.silent ? 0 : RGI_SEND_TELLS_USAGE;
}

static void
count_let_go(struct rgi_ring_provider *p,
             const struct rgi_completion *completion)
{
    uint32_t usage = (uint32_t)completion->result;

    p->head.zero_copies++;
    if (!p->notices.silent && (usage & RGI_SEND_WAS_COPIED))
        p->head.zero_copies_copied++;
}

struct rgm_operation *
rgi_notice_result(struct rgi_ring_provider *p,
                  const struct rgi_completion *completion)
{
    struct rgi_notice *notice =
        rgi_identity_record(completion->identity & ~RGI_IDENTITY_MONITOR);
    struct rgm_operation *operation = notice->operation;

    notice->operation = NULL;
    if (completion->flags & IORING_CQE_F_NOTIF)
        count_let_go(p, completion);
    if (operation != NULL)
        rgi_task_of(operation)->noticed = false;
    if (!(completion->flags & IORING_CQE_F_MORE))
        rgi_list_push_back(&p->notices.over, &notice->link);
    return operation;
}

bool
rgi_notice_copies(struct rgi_ring_provider *p, struct rgi_task *task,
                  int result)
{
    if (result == -EINVAL && !p->notices.silent)
        p->notices.silent = true;
    else if (result == -EOPNOTSUPP)
        task->channel->copies = true;
    else if (result == -ENOMEM || result == -ENOBUFS)
        task->copies = true;
    else
        return false;
    return true;
}

void
rgi_notices_drop(struct rgi_ring_provider *p)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&p->notices.over)) != NULL) {
        struct rgm_view held = linked(link)->held;

        p->notices.out--;
        rgi_list_push_back(&p->notices.spare, link);
        rgm_view_drop(&held);
    }
}

void
rgi_notices_close(struct rgi_notices *notices)
{
    struct rgm_link *link;

    rgi_assert(notices->out == 0);
    while ((link = rgi_list_pop_front(&notices->spare)) != NULL)
        rgi_free(linked(link));
}
