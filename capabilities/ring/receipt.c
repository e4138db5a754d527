/* SPDX-License-Identifier: MIT */

/*
 * receipt.c - has the kernel seen the first entry of an operation?
 *
 * An operation remembers where the queue stood behind its entry. The kernel
 * moves the queue's head past it, perhaps one entry at a time: then it has it.
 * Until an operation has an entry at all its receipt waits with it; when it is
 * over, nothing is to be waited for. The head moves in our own system calls
 * alone, for the ring has one issuer and no thread of the kernel's looks at it.
 */

#include "capabilities/ring/parts.h"

static const struct rgm_operation *
of(struct rgm_operation *operation)
{
    return ((const struct rgm_receipt *)(const void *)operation)->of;
}

static bool
is_over(const struct rgm_operation *operation)
{
    return operation->state == RGM_OPERATION_HOME ||
           operation->state == RGM_OPERATION_COMPLETED;
}

static const struct rgi_task *
task_of(const struct rgm_operation *operation)
{
    return (const struct rgi_task *)(const void *)operation->scratch;
}

/* In the queue, and behind its head? */
static bool
is_pending(const struct rgi_ring_provider *p,
           const struct rgm_operation *operation)
{
    uint32_t taken = *p->ring.uring.sq.khead;

    return task_of(operation)->started &&
           (int32_t)(task_of(operation)->entry - taken) > 0;
}

static bool
has_come(const struct rgi_ring_provider *p,
         const struct rgm_operation *operation)
{
    return is_over(operation) ||
           (task_of(operation)->started && !is_pending(p, operation));
}

static int
receipt_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    return has_come(p, of(operation)) ? 0 : RGI_STEP_RECEIPT;
}

void
rgi_receipts_look(struct rgi_ring_provider *p)
{
    struct rgm_link *link = p->receipts.next;

    while (link != &p->receipts) {
        struct rgm_operation *operation = rgi_ring_linked(link);

        link = link->next;
        if (!has_come(p, of(operation)))
            continue;
        rgi_ring_unqueue(p, operation);
        rgi_ring_go_on(p, operation, 0);
    }
}

bool
rgi_receipts_press(const struct rgi_ring_provider *p)
{
    const struct rgm_link *link = p->receipts.next;

    for (; link != &p->receipts; link = link->next) {
        struct rgm_operation *operation =
            rgi_ring_linked((struct rgm_link *)(uintptr_t)link);

        if (is_over(of(operation)) || is_pending(p, of(operation)))
            return true;
    }
    return false;
}

const struct rgi_ring_kind rgi_ring_receipt = {receipt_begin, NULL, NULL, NULL};
