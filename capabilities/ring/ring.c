/* SPDX-License-Identifier: MIT */

/*
 * ring.c - how does a worker's ring carry operations from submit to answer?
 *
 * 1. submit: the kind makes the operation ready; it gets an entry, or it stands
 *    in line for one.
 * 2. wait: cancels, then operations in line, then the bell get entries; one
 *    call into the kernel submits them all and sleeps; completions are copied
 *    out and each operation is answered or tries again.
 * 3. What was answered is handed over when wait returns. Nothing is called back
 *    but release functions of what was sent without a copy, last.
 *
 * A call of wait that must not block costs a few loads when there is nothing to
 * submit and the kernel has nothing to say.
 *
 * If the ring fails, what had not reached the kernel is answered with the
 * error, and what is in the kernel stays out: it may still be written to.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/bell.h"
#include "base/memory.h"

/* Idle connections are operations in the kernel, so this is large. */
#define IN_FLIGHT_DEFAULT (UINT32_C(1) << 16)

#define REAP_AT_ONCE 32

/* How long a close waits for the kernel to let go of what it sends. */
#define NOTICES_LINGER_NS RGM_NS_PER_S

#define CACHE_LINE_BYTES 64

static struct rgi_ring_provider *
self(struct rgm_provider *provider)
{
    return rgi_container_of(provider, struct rgi_ring_provider, head);
}

static uint64_t
ring_now(struct rgm_provider *provider)
{
    struct timespec now;

    (void)provider;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ------------------------------------------------- the life of an operation */

static uint64_t
identity(const struct rgm_operation *operation)
{
    const struct rgi_task *task =
        (const struct rgi_task *)(const void *)operation->scratch;

    if (task->noticed)
        return rgi_notice_identity(task->notice, operation->serial);
    return rgi_identity_of(operation, operation->serial);
}

static void
answer(struct rgi_ring_provider *p, struct rgm_operation *operation, int status)
{
    const struct rgi_ring_kind *kind = rgi_ring_kind_of(operation);
    struct rgi_task *task = rgi_task_of(operation);

    if (rgi_list_is_linked(&operation->link)) /* its cancel is not needed */
        rgi_list_remove(&operation->link);
    if (status < 0 && task->step != 0 && kind->undo != NULL)
        kind->undo(p, operation);
    if (task->started)
        p->started--;
    p->head.in_flight--;
    p->head.completions++;
    rgm_operation_complete(operation, status, &p->done);
}

static void
prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
        struct io_uring_sqe *entry)
{
    struct rgi_task *task = rgi_task_of(operation);

    switch (task->step) {
    case RGI_STEP_INPUT:
        rgi_ring_poll(entry, task->fd, POLLIN);
        break;
    case RGI_STEP_OUTPUT:
        rgi_ring_poll(entry, task->fd, POLLOUT);
        break;
    case RGI_STEP_PAUSE:
        rgi_ring_pause(entry);
        return;
    default:
        rgi_ring_kind_of(operation)->prepare(p, operation, entry);
    }
    if (task->fixed)
        entry->flags |= IOSQE_FIXED_FILE;
}

/* Gives it an entry. Returns: false when there is none. */
static bool
launch(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_task *task = rgi_task_of(operation);
    struct io_uring_sqe *entry;

    if (!task->started && p->started >= p->started_max)
        return false;
    entry = rgi_ring_entry(&p->ring, identity(operation));
    if (entry == NULL)
        return false;
    if (!task->started)
        p->started++;
    task->started = true;
    task->entry = p->ring.uring.sq.sqe_tail;
    prepare(p, operation, entry);
    entry->user_data = identity(operation); /* its notice's, if it took one */
    return true;
}

void
rgi_ring_enqueue(struct rgi_ring_provider *p, struct rgm_link *list,
                 struct rgm_operation *operation)
{
    rgi_task_of(operation)->queued = true;
    p->head.waiting++;
    rgi_list_push_back(list, &operation->link);
}

void
rgi_ring_unqueue(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    rgi_task_of(operation)->queued = false;
    p->head.waiting--;
    rgi_list_remove(&operation->link);
}

struct rgm_operation *
rgi_ring_dequeue(struct rgi_ring_provider *p, struct rgm_link *list)
{
    struct rgm_operation *operation = rgi_ring_linked(rgi_list_first(list));

    rgi_ring_unqueue(p, operation);
    return operation;
}

void
rgi_ring_go_on(struct rgi_ring_provider *p, struct rgm_operation *operation,
               int step)
{
    struct rgi_task *task = rgi_task_of(operation);

    if (step == RGI_STEP_NONE) /* and perhaps over, too */
        return;
    if (step > 0 && rgi_operation_is_stopping(operation))
        step = -ECANCELED;
    else if (step > 0 && task->started &&
             rgi_operation_is_late(operation, &p->head))
        step = -ETIMEDOUT;
    if (step <= 0) {
        answer(p, operation, step);
        return;
    }
    task->step = (uint8_t)step;
    if (step == RGI_STEP_SLOT)
        rgi_pooled_starve(p, operation);
    else if (step == RGI_STEP_RECEIPT)
        rgi_ring_enqueue(p, &p->receipts, operation);
    else if (!rgi_list_empty(&p->waiting) || !launch(p, operation))
        rgi_ring_enqueue(p, &p->waiting, operation);
}

static void
ring_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct rgi_ring_provider *p = self(provider);
    int step = p->failed;

    rgi_assert_slow(rgi_identity_fits(operation));
    memset(operation->scratch, 0, sizeof(operation->scratch));
    p->head.in_flight++;
    if (step == 0)
        step = rgi_ring_kind_of(operation)->begin(p, operation);
    rgi_ring_go_on(p, operation, step);
}

/* Sends a cancel, or keeps it for the next turn. */
void
rgi_ring_stop(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    bool sent = rgi_ring_cancel(&p->ring, identity(operation));

    rgi_list_push_back(sent ? &p->stopped : &p->stopping, &operation->link);
}

/* A close is clean-up: it goes on. What is in line ends here; what is in the
 * kernel ends there. */
static void
ring_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct rgi_ring_provider *p = self(provider);

    if (operation->kind == RGM_OP_CLOSE)
        return;
    if (rgi_receive_cancel(p, operation))
        return;
    if (rgi_task_of(operation)->queued) {
        rgi_ring_unqueue(p, operation);
        answer(p, operation, -ECANCELED);
    } else {
        rgi_ring_stop(p, operation);
    }
}

/* ----------------------------------------------------------------- the turn */

static void
pump_cancels(struct rgi_ring_provider *p)
{
    struct rgm_link unsent;
    struct rgm_link *link;

    rgi_list_init(&unsent);
    rgi_list_splice_back(&unsent, &p->stopping);
    while ((link = rgi_list_pop_front(&unsent)) != NULL)
        rgi_ring_stop(p, rgi_ring_linked(link));
}

static void
pump_waiting(struct rgi_ring_provider *p)
{
    struct rgm_link *link;

    while ((link = rgi_list_first(&p->waiting)) != NULL) {
        struct rgm_operation *operation = rgi_ring_linked(link);

        if (!launch(p, operation))
            break;
        rgi_ring_unqueue(p, operation);
    }
}

static void
pump_pause(struct rgi_ring_provider *p)
{
    struct io_uring_sqe *entry = rgi_ring_entry(&p->ring, RGI_IDENTITY_PAUSE);

    if (entry == NULL)
        return;
    rgi_ring_pause(entry);
    p->cancel_again = false;
    p->pausing = true;
}

/* Gives entries to what has none, in the order of URG-09. */
static void
pump(struct rgi_ring_provider *p)
{
    if (rgi_pooled_is_fed(p))
        rgi_pooled_feed(p);
    if (p->receive_look)
        rgi_receive_feed(p);
    if (!rgi_list_empty(&p->stopping))
        pump_cancels(p);
    pump_waiting(p);
    if (p->cancel_again && !p->pausing)
        pump_pause(p);
    if (!p->bell_armed)
        p->bell_armed = rgi_ring_watch(&p->ring, p->bell, RGI_IDENTITY_BELL);
}

static void
hear_bell(struct rgi_ring_provider *p, const struct rgi_completion *completion)
{
    p->rang = true;
    if (!rgi_list_empty(&p->hungry))
        p->receive_look = true; /* a slot may have come */
    if (completion->flags & IORING_CQE_F_MORE)
        return;
    p->bell_armed = false;
    p->head.bell_rearms++;
}

/* What came of an entry of an operation. */
static void
take_result(struct rgi_ring_provider *p, struct rgm_operation *operation,
            const struct rgi_completion *completion)
{
    int step = RGI_STEP_ATTEMPT;

    if (rgi_task_of(operation)->step == RGI_STEP_ATTEMPT)
        step = rgi_ring_kind_of(operation)->end(
            p, operation, completion->result, completion->flags);
    rgi_ring_go_on(p, operation, step);
}

/* What the ring watches for itself, and what was sent without a copy. */
static void
take_monitor(struct rgi_ring_provider *p,
             const struct rgi_completion *completion)
{
    struct rgm_operation *operation;

    if (completion->identity == RGI_IDENTITY_BELL) {
        hear_bell(p, completion);
        return;
    }
    if (completion->identity != RGI_IDENTITY_PAUSE) {
        operation = rgi_notice_result(p, completion);
        if (operation != NULL)
            take_result(p, operation, completion);
        return;
    }
    p->pausing = false;
    rgi_list_splice_back(&p->stopping, &p->stopped);
}

/* Is this one still out, after its cancel has come back? The kernel looks for
 * it where requests wait. One that has just been woken is not there: it is not
 * found, finds nothing to do, and waits again. */
static bool
is_stopped(const struct rgi_ring_provider *p, uint64_t target)
{
    struct rgm_link *link = p->stopped.next;

    while (link != &p->stopped && identity(rgi_ring_linked(link)) != target)
        link = link->next;
    return link != &p->stopped;
}

static void
take(struct rgi_ring_provider *p, const struct rgi_completion *completion)
{
    struct rgm_operation *operation;

    if (completion->identity & RGI_IDENTITY_CANCEL) {
        /* Never looks at the target, which may be gone. */
        if (completion->result == -EALREADY ||
            (completion->result == -ENOENT &&
             is_stopped(p, completion->identity & ~RGI_IDENTITY_CANCEL)))
            p->cancel_again = true;
        return;
    }
    if (completion->identity & RGI_IDENTITY_MONITOR) {
        take_monitor(p, completion);
        return;
    }
    operation = rgi_identity_record(completion->identity);
    rgi_assert(identity(operation) == completion->identity);
    take_result(p, operation, completion);
}

/* At most a queue full, so that the worker gets to see them. */
static void
reap(struct rgi_ring_provider *p)
{
    struct rgi_completion completions[REAP_AT_ONCE];
    unsigned budget = p->ring.uring.cq.ring_entries;
    unsigned count;

    do {
        count = rgi_ring_reap(&p->ring, completions, REAP_AT_ONCE);
        for (unsigned i = 0; i < count; i++)
            take(p, &completions[i]);
        budget -= count < budget ? count : budget;
    } while (count == REAP_AT_ONCE && budget > 0);
}

static void
fail(struct rgi_ring_provider *p, int status)
{
    p->failed = status;
    while (!rgi_list_empty(&p->waiting))
        rgi_ring_go_on(p, rgi_ring_dequeue(p, &p->waiting), status);
    while (!rgi_list_empty(&p->receipts))
        rgi_ring_go_on(p, rgi_ring_dequeue(p, &p->receipts), status);
    rgi_pooled_fail(p, status);
    rgi_receive_fail(p, status);
}

/* Whether this call may sleep, and how long. */
static bool
may_sleep(struct rgi_ring_provider *p, uint64_t *deadline_ns,
          uint64_t *ret_timeout_ns)
{
    uint64_t now_ns;

    if (*deadline_ns == 0 || p->done.first != NULL || !p->bell_armed ||
        rgi_pooled_is_fed(p) || /* by ourselves, with no bell */
        p->receive_look ||
        rgi_receipts_press(p) ||
        rgi_ring_has_completions(&p->ring))
        return false;
    *ret_timeout_ns = RGM_NEVER;
    if (*deadline_ns != RGM_NEVER) {
        now_ns = ring_now(&p->head);
        if (now_ns >= *deadline_ns) {
            *deadline_ns = 0; /* it has come: one look and no more */
            return false;
        }
        *ret_timeout_ns = *deadline_ns - now_ns;
    }
    if (p->woken) {
        p->rang = p->woken;
        p->woken = false; /* this is what it was for */
        return false;
    }
    return true;
}

/* One look, or as many as it takes until there is something to hand over. */
static void
turn_until(struct rgi_ring_provider *p, uint64_t deadline_ns)
{
    uint64_t timeout_ns = 0;
    int status = 0;

    do {
        bool sleep;

        pump(p);
        sleep = may_sleep(p, &deadline_ns, &timeout_ns);
        if (sleep || rgi_ring_pending(&p->ring) > 0 ||
            rgi_ring_beckons(&p->ring))
            status = rgi_ring_enter(&p->ring, sleep, timeout_ns);
        if (!rgi_list_empty(&p->receipts))
            rgi_receipts_look(p);
        reap(p);
        if (status < 0)
            fail(p, status);
    } while (deadline_ns != 0 && status == 0 && p->done.first == NULL &&
             !p->rang && rgi_list_empty(&p->notices.over));
}

static void
hand_over(struct rgi_ring_provider *p, struct rgm_turn *turn)
{
    if (p->done.first != NULL) {
        if (turn->last != NULL)
            turn->last->next = p->done.first;
        else
            turn->first = p->done.first;
        turn->last = p->done.last;
        turn->count += p->done.count;
        p->done = (struct rgm_turn){NULL, NULL, 0, false};
    }
    turn->rang = turn->rang || p->rang;
    p->rang = false;
    p->head.kernel_entries = p->ring.kernel_entries;
    p->head.entries_submitted = p->ring.entries_submitted;
    p->head.overflows = p->ring.overflows;
}

static bool
nothing_to_do(const struct rgi_ring_provider *p)
{
    return p->done.first == NULL && rgi_list_empty(&p->waiting) &&
           rgi_ring_pending(&p->ring) == 0 &&
           !rgi_ring_has_completions(&p->ring) && !rgi_ring_beckons(&p->ring) &&
           !rgi_pooled_is_fed(p) && !p->receive_look;
}

static int
ring_wait(struct rgm_provider *provider, uint64_t deadline_ns,
          struct rgm_turn *turn)
{
    struct rgi_ring_provider *p = self(provider);

    if (deadline_ns == 0 && nothing_to_do(p))
        return p->failed;
    if (!rgi_ring_is_mine(&p->ring))
        return -EPERM;
    if (p->failed == 0)
        turn_until(p, deadline_ns);
    rgi_notices_drop(p);
    hand_over(p, turn);
    return p->failed;
}

/* Nobody sleeps whose own thread this is: a flag, which stays until he would.
 * Another ring of the same thread's group is not this one. */
static void
ring_wake(struct rgm_provider *provider)
{
    struct rgi_ring_provider *p = self(provider);

    if (rgi_ring_is_mine(&p->ring))
        p->woken = true;
    else
        rgi_bell_ring((void *)(intptr_t)p->bell);
}

static int64_t
ring_transfer(struct rgm_provider *provider,
              const struct rgm_transfer *transfer)
{
    return rgi_ring_transfer(self(provider), transfer);
}

static int
ring_descriptor(struct rgm_provider *provider, uint64_t resource)
{
    const struct rgi_channel *channel =
        rgi_channel_find(&self(provider)->channels, resource);

    return channel == NULL ? -EBADF : channel->fd;
}

/* ---------------------------------------------------------- open and close */

static const struct rgm_provider_ops ring_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = ring_now,
    .submit = ring_submit,
    .cancel = ring_cancel,
    .wait = ring_wait,
    .wake = ring_wake,
    .transfer = ring_transfer,
    .descriptor = ring_descriptor,
};

#define BIT(kind) (UINT64_C(1) << (kind))
#define RECEIVER_KINDS (BIT(RGM_OP_RECEIVE) | BIT(RGM_OP_RECEIVE_NEXT))
#define RING_KINDS                                                             \
    (BIT(RGM_OP_SEND_FILE) | BIT(RGM_OP_LISTEN) |                              \
     BIT(RGM_OP_ACCEPT) | BIT(RGM_OP_CONNECT) |                                \
     BIT(RGM_OP_READ) | BIT(RGM_OP_READ_POOLED) | BIT(RGM_OP_WRITE) |          \
     BIT(RGM_OP_SHUTDOWN) | BIT(RGM_OP_CLOSE) | BIT(RGM_OP_SET_OPTION) |       \
     BIT(RGM_OP_GET_OPTION) | BIT(RGM_OP_NAMES) | BIT(RGM_OP_DETACH) |      \
     BIT(RGM_OP_ATTACH) |                                                       \
     (RGI_FILE_KIND_BITS & ~BIT(RGM_OP_DIRECTORY_READ)) |                      \
     BIT(RGM_OP_PACKET_OPEN) | BIT(RGM_OP_PACKET_READ) |                       \
     BIT(RGM_OP_PACKET_WRITE) | BIT(RGM_OP_PACKET_READ_POOLED) |               \
     BIT(RGM_OP_CHILD_WAIT) | BIT(RGM_OP_AWAIT) |                              \
     BIT(RGM_OP_RECEIPT) | RECEIVER_KINDS)

static void
fill_in(struct rgi_ring_provider *p, const struct rgm_provider_options *options)
{
    p->head.ops = &ring_ops;
    p->head.kinds = RING_KINDS;
    /* Both came with Linux 6.0; a flag of an entry cannot be asked for. */
    if ((p->ring.opcodes >> IORING_OP_SEND_ZC & 1) == 0)
        p->head.kinds &= ~RECEIVER_KINDS;
    p->head.mode = rgi_ring_mode_name(p->ring.mode);
    p->head.peek = (struct rgm_peek){
        .tail = p->ring.uring.cq.ktail,
        .head = p->ring.uring.cq.khead,
        .flags = p->ring.uring.sq.kflags,
        .flags_mask = IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW,
    };
    p->started_max = options->in_flight_max != 0 ? options->in_flight_max
                                                 : IN_FLIGHT_DEFAULT;
    p->lent_max = options->pool_slots_max;
    p->streams = options->streams;
    rgi_notices_init(&p->notices, options->zero_copy_max);
    p->worker = options->worker;
    p->bell = options->bell;
    rgi_list_init(&p->waiting);
    rgi_list_init(&p->receipts);
    rgi_list_init(&p->stopping);
    rgi_list_init(&p->stopped);
    rgi_list_init(&p->sources);
    rgi_list_init(&p->hungry);
    rgi_channels_init(&p->channels);
    rgi_fixed_init(&p->fixed, options->fixed_files_max);
    /* In the queue before the first wait, so no first ring is missed. */
    p->bell_armed = rgi_ring_watch(&p->ring, p->bell, RGI_IDENTITY_BELL);
}

int
rgi_ring_provider_open(const struct rgm_provider_options *options,
                       const struct rgi_ring_calls *calls,
                       struct rgm_provider **ret_provider, char *why,
                       size_t why_size)
{
    const char *how = getenv("RGM_RING_WAIT");
    struct rgi_ring_options ring_options = {
        .entries = options->entries,
        .strict = options->strict,
        .mode = getenv("RGM_RING_MODE"),
        .sleeps_outside = how != NULL && strcmp(how, "poll") == 0,
        .calls = calls,
    };
    /* Whole lines: nobody else's data shares one with a ring. */
    struct rgi_ring_provider *p =
        rgi_alloc_aligned(CACHE_LINE_BYTES, sizeof(*p));
    int status;

    if (p == NULL) {
        snprintf(why, why_size, "no memory for a ring provider");
        return -ENOMEM;
    }
    status = rgi_ring_open(&ring_options, &p->ring, why, why_size);
    if (status < 0) {
        rgi_free(p);
        return status;
    }
    fill_in(p, options);
    *ret_provider = &p->head;
    return 0;
}

static int
ring_open(const struct rgm_provider_options *options,
          struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    return rgi_ring_provider_open(options, NULL, ret_provider, why, why_size);
}

/* The kernel lets go of descriptors long after a ring is closed with a poll on
 * them; so the poll is ended first. */
static void
disarm(struct rgi_ring_provider *p)
{
    if (!p->bell_armed || !rgi_ring_cancel(&p->ring, RGI_IDENTITY_BELL))
        return;
    while (p->bell_armed && rgi_ring_enter(&p->ring, true, RGM_NS_PER_S) == 0)
        reap(p);
}

/* Not forgotten, only never freed. */
static struct rgi_ring_provider *left_behind;

static void
leave(struct rgi_ring_provider *p)
{
    struct rgi_ring_provider *first =
        __atomic_load_n(&left_behind, __ATOMIC_RELAXED);

    if (p->failed == 0)
        fail(p, -ECANCELED);
    rgi_receive_leave(p);
    rgi_pooled_leave(p); /* no slot that comes home is to ring its bell */
    rgi_ring_await_ringers(p);
    /* left-behind: publishes the provider to nobody; the list only grows. */
    do
        p->left_before = first;
    while (!__atomic_compare_exchange_n(&left_behind, &first, p, false,
                                        __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* The network may take its time with what was sent: some of it we have. Longer
 * than that the ring is left behind, and the bytes are nobody's. */
static void
notices_await(struct rgi_ring_provider *p)
{
    uint64_t until_ns = ring_now(&p->head) + NOTICES_LINGER_NS;

    while (p->notices.out > 0 && p->failed == 0 && !p->head.abandoned &&
           ring_now(&p->head) < until_ns) {
        if (rgi_ring_enter(&p->ring, true, NOTICES_LINGER_NS / 10) < 0)
            return;
        reap(p);
        rgi_notices_drop(p);
    }
}

static void
ring_close(struct rgm_provider *provider)
{
    struct rgi_ring_provider *p = self(provider);
    struct rgi_room *room;

    notices_await(p);
    /* After a failure, or a forced end, the kernel may still write to what was
     * in it, so that and all of ours it could reach is left as it is. */
    if (((p->failed != 0 || p->head.abandoned) && p->head.in_flight > 0) ||
        p->notices.out > 0) {
        leave(p);
        return;
    }
    rgi_assert(p->head.in_flight == 0);
    disarm(p);
    rgi_pooled_close(p);
    rgi_fixed_close(p);
    rgi_ring_close(&p->ring);
    rgi_ring_await_ringers(p);
    rgi_channels_close(&p->channels);
    rgi_notices_close(&p->notices);
    rgi_ring_pipes_close(p);
    while ((room = p->rooms) != NULL) {
        p->rooms = room->next;
        rgi_free(room);
    }
    rgi_free(p);
}

const struct rgm_provider_class rgm_provider_ring = {
    .name = "ring",
    .open = ring_open,
    .close = ring_close,
    .kinds = RING_KINDS,
};
