/* SPDX-License-Identifier: MIT */

/*
 * receive.c - how does one request of the kernel's fill a pool, again and again?
 *
 * 1. A receiver makes a source: a queue of slots that only its request chooses
 *    from, filled with what the pool has free, and a circle of pieces with as many
 *    places as the pool has slots. So a piece that comes always has one.
 * 2. Its request is a receive that ends with no completion but the last. Each says
 *    which slot it filled: a piece, for the first who waits, or for the circle.
 * 3. Whoever asks for a piece never reaches the kernel: he has one, or stands in
 *    line.
 * 4. A slot that comes home goes to the kernel in the next turn: the source takes
 *    what is free, and stands in the pool's line while not all slots are lent. So
 *    whoever drops the last view hands the slot over, and rings when he is another
 *    thread.
 * 5. The last completion, and nothing else, lets the request be made again, or
 *    the queue be taken from the kernel. Which it is is F_MORE's to say, whatever
 *    the result. Without slots the source rests, in no list that a turn looks at,
 *    until 4 wakes it.
 *
 * Who waits and is cancelled has the request ended: until its last completion a
 * piece may come, and that is his. Nobody asks it anew for one who is gone.
 */

#include "capabilities/ring/parts.h"

#include <errno.h>
#include <sched.h>

#include "base/assert.h"
#include "base/memory.h"
#include "capabilities/receiver.h"

struct piece {
    uint32_t slot;
    uint32_t length_bytes;
};

/* A receiver that is out. */
struct rgi_source {
    struct rgi_ring_provider *provider;
    struct rgm_receiver *receiver;
    struct rgm_link all;    /* in `sources` */
    struct rgm_link hungry; /* in `hungry`, if not all slots may be lent */
    struct rgm_link line;   /* those who wait for a piece */
    struct rgi_buffers buffers;
    struct rgi_taker taker;
    int hunger;      /* why the pool has not even a place in line; 0: it has */
    int ended;       /* what ended the input; 0: nothing, or its end */
    bool end;        /* the peer sends no more */
    bool told;       /* somebody has been told how it ended */
    bool in_line;    /* `taker` waits, or `handed` is on its way */
    bool in_kernel;  /* the request; its last completion has not come */
    bool rests;      /* it is to be made again, but not now */
    bool repeats;    /* the kernel makes the request again by itself */
    bool cut;        /* it was ended for one who waits no more */
    bool barren;     /* it had slots, and has filled none */
    bool pauses;     /* before it is made again */
    uint64_t handed; /* atomic: source-handed: 1 + a slot; 0: nothing */
    uint32_t capacity; /* of `pieces`, a circle */
    uint32_t first;
    uint32_t count;
    struct piece pieces[];
};

static struct rgi_source *
source_of(struct rgm_operation *operation)
{
    return rgi_receiver_of(operation)->source;
}

static struct rgm_operation *
request_of(struct rgi_source *source)
{
    return &source->receiver->operation;
}

static struct rgm_pool *
pool_of(struct rgi_source *source)
{
    return source->buffers.pool;
}

/* -------------------------------------------------------------------- slots */

/* Thread: any. */
static void
source_handed(struct rgi_taker *taker, uint32_t slot)
{
    struct rgi_source *source =
        rgi_container_of(taker, struct rgi_source, taker);
    struct rgi_ring_provider *p = source->provider;

    if (rgi_ring_is_mine(&p->ring))
        p->receive_look = true; /* else whoever hears the bell looks */
    rgi_ring_hand(p, &source->handed, UINT64_C(1) + slot);
}

static bool
lends_all(const struct rgi_source *source)
{
    return source->buffers.lent == source->buffers.lent_max;
}

/* A slot is not the kernel's any more. */
static void
note_hungry(struct rgi_source *source)
{
    struct rgi_ring_provider *p = source->provider;

    p->receive_look = true;
    if (!rgi_list_is_linked(&source->hungry))
        rgi_list_push_back(&p->hungry, &source->hungry);
}

/* Lends what is free, and gets in line for more. */
static void
restock(struct rgi_source *source)
{
    uint32_t slot;
    int status;

    while (!source->in_line && !lends_all(source) && source->hunger != -EPIPE) {
        status = rgi_pool_wait(pool_of(source), &source->taker, &slot);
        source->in_line = status == -EAGAIN;
        source->hunger = status == -EAGAIN ? 0 : status;
        if (status == 0)
            rgi_buffers_give(&source->buffers, slot);
        else if (status != -EAGAIN)
            return;
    }
}

/* What was handed over goes to the kernel. */
static void
take_handed(struct rgi_source *source, uint32_t slot)
{
    source->in_line = false;
    source->hunger = rgi_handed_status(slot);
    if (source->hunger == 0)
        rgi_buffers_give(&source->buffers, slot);
}

/* Nobody hands us anything after this. What has been claimed for us is on its
 * way, on a thread that does nothing in between. */
static void
leave_line(struct rgi_source *source)
{
    uint64_t handed;

    if (!source->in_line)
        return;
    source->in_line = false;
    if (rgi_pool_leave(pool_of(source), &source->taker))
        return;
    /* source-handed: observes that the slot has come and nothing more is
     * touched. */
    while ((handed = __atomic_load_n(&source->handed, __ATOMIC_ACQUIRE)) == 0)
        sched_yield();
    if (rgi_handed_status((uint32_t)(handed - 1)) == 0)
        rgi_pool_put_slot(pool_of(source), (uint32_t)(handed - 1));
}

/* ------------------------------------------------------------------- pieces */

static void
piece_add(struct rgi_source *source, uint32_t slot, uint32_t length_bytes)
{
    uint32_t at = (source->first + source->count) % source->capacity;

    rgi_assert(source->count < source->capacity);
    source->pieces[at] = (struct piece){slot, length_bytes};
    source->count++;
}

static struct piece
piece_take(struct rgi_source *source)
{
    struct piece piece = source->pieces[source->first];

    source->first = (source->first + 1) % source->capacity;
    source->count--;
    return piece;
}

/* His is the slot now, frozen. */
static void
deliver(struct rgi_source *source, struct rgm_received *received)
{
    struct piece piece = piece_take(source);
    struct rgm_lease lease;

    rgi_pool_lease_of(pool_of(source), piece.slot, piece.length_bytes, &lease);
    rgi_pool_note(
        pool_of(source), piece.slot,
        &(struct rgi_holder){"receiver",
                             received->operation.request.message.from.bits},
        RGM_SLOT_LEASED);
    rgi_assert(rgm_lease_freeze(&lease, &received->view) == 0);
    received->count = piece.length_bytes;
}

static bool
is_over(const struct rgi_source *source)
{
    return source->end || source->ended != 0;
}

/* Gives those in line what there is; what is left over waits. */
static void
serve(struct rgi_source *source)
{
    struct rgi_ring_provider *p = source->provider;

    while (!rgi_list_empty(&source->line) &&
           (source->count > 0 || is_over(source))) {
        struct rgm_operation *operation =
            rgi_ring_linked(rgi_list_first(&source->line));
        struct rgm_received *received = rgi_received_of(operation);
        int status = 0;

        if (source->count > 0) {
            deliver(source, received);
        } else {
            received->end = source->end;
            source->told = true;
            status = source->ended;
        }
        rgi_ring_go_on(p, operation, status);
    }
    if (source->count > source->receiver->queued_max)
        source->receiver->queued_max = source->count;
}

static void
line_fail(struct rgi_source *source, int status)
{
    while (!rgi_list_empty(&source->line))
        rgi_ring_go_on(source->provider,
                       rgi_ring_linked(rgi_list_first(&source->line)), status);
}

/* Those who were cancelled, and to whom nothing has come. */
static void
line_give_up(struct rgi_source *source)
{
    struct rgm_link *link = source->line.next;

    while (link != &source->line) {
        struct rgm_operation *operation = rgi_ring_linked(link);

        link = link->next;
        if (rgi_operation_is_stopping(operation))
            rgi_ring_go_on(source->provider, operation, -ECANCELED);
    }
}

/* ---------------------------------------------------------- beginning, ending */

/* Groups of pools are below, of sources from here. */
#define GROUPS 32768u

static bool
group_is_taken(const struct rgi_ring_provider *p, uint16_t group)
{
    for (struct rgm_link *link = p->sources.next; link != &p->sources;
         link = link->next)
        if (rgi_container_of(link, struct rgi_source, all)->buffers.group ==
            group)
            return true;
    return false;
}

/* Returns: a number that no queue of slots has, or 0: all are taken. */
static uint16_t
group_find(struct rgi_ring_provider *p)
{
    for (uint32_t tries = 0; tries < GROUPS; tries++) {
        uint16_t group = (uint16_t)(GROUPS + p->groups_given++ % GROUPS);

        if (!group_is_taken(p, group))
            return group;
    }
    return 0;
}

static struct rgi_source *
source_make(struct rgi_ring_provider *p, struct rgm_receiver *receiver)
{
    uint32_t capacity = rgm_pool_capacity(receiver->pool);
    uint16_t group = group_find(p);
    struct rgi_source *source;

    source = group != 0
                 ? rgi_alloc(sizeof(*source) + capacity * sizeof(struct piece))
                 : NULL;
    if (source == NULL)
        return NULL;
    source->provider = p;
    source->receiver = receiver;
    source->capacity = capacity;
    source->taker.hand = source_handed;
    rgi_list_init(&source->line);
    rgi_buffers_open(&p->ring, receiver->pool, group, capacity,
                     &source->buffers);
    if (source->buffers.queue == NULL) {
        rgi_free(source);
        return NULL;
    }
    return source;
}

/* It is not in the kernel: all slots go home, and nobody knows it any more. */
static void
source_end(struct rgi_source *source)
{
    struct rgi_ring_provider *p = source->provider;
    struct rgm_pool *pool = pool_of(source);

    rgi_assert(!source->in_kernel);
    leave_line(source);
    rgi_buffers_close(&p->ring, &source->buffers);
    while (source->count > 0)
        rgi_pool_put_slot(pool, piece_take(source).slot);
    line_fail(source, p->failed != 0 ? p->failed : -EPIPE);
    if (rgi_list_is_linked(&source->hungry))
        rgi_list_remove(&source->hungry);
    rgi_list_remove(&source->all);
    rgi_task_of(request_of(source))->channel->receives = false;
    source->receiver->source = NULL;
    rgi_free(source);
    rgi_pool_unlent(pool);
}

static int what_follows(struct rgi_source *source);

/*
 * A request that goes on by itself looks for more where the socket says that
 * something is left. An end is something to TCP, and nothing to a Unix socket: what
 * comes with the last bytes would never be told. There it is made again for each
 * piece.
 */
static bool
may_repeat(int fd)
{
    socklen_t size = sizeof(int);
    int family;

    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &size) == 0 &&
           family != AF_UNIX;
}

static int
receive_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgm_receiver *receiver = rgi_receiver_of(operation);
    struct rgi_source *source;
    int status = rgi_ring_use(p, operation);

    if (status < 0)
        return status;
    if (rgi_task_of(operation)->channel->receives)
        return -EBUSY;
    source = source_make(p, receiver);
    if (source == NULL)
        return -ENOMEM;
    rgi_pool_hold(receiver->pool);
    rgi_list_push_back(&p->sources, &source->all);
    rgi_task_of(operation)->channel->receives = true;
    receiver->source = source;
    source->repeats = may_repeat(rgi_task_of(operation)->channel->fd);
    restock(source);
    if (source->buffers.lent == 0 && source->hunger < 0) {
        status = source->hunger;
        source_end(source);
        return status;
    }
    if (!lends_all(source))
        note_hungry(source);
    return what_follows(source);
}

static void
receive_undo(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    (void)p;
    if (source_of(operation) != NULL)
        source_end(source_of(operation));
}

/* -------------------------------------------------------------- the request */

/* It tries before it waits. One that waited first, and found the last bytes with
 * the error behind them, would hand out the bytes and wait for more. */
static void
receive_prepare(struct rgi_ring_provider *p, struct rgm_operation *operation,
                struct io_uring_sqe *entry)
{
    struct rgi_source *source = source_of(operation);

    (void)p;
    rgi_assert(source->buffers.lent > 0);
    source->in_kernel = true;
    source->barren = true;
    entry->fd = rgi_task_of(operation)->fd;
    entry->opcode = IORING_OP_RECV;
    entry->flags = IOSQE_BUFFER_SELECT;
    entry->buf_group = source->buffers.group;
    if (source->repeats)
        entry->ioprio = IORING_RECV_MULTISHOT;
}

/* Nothing of it is in the kernel. Returns: what follows for the receiver; after
 * an answer the source is gone. */
static int
what_follows(struct rgi_source *source)
{
    int step = source->pauses ? RGI_STEP_PAUSE : RGI_STEP_ATTEMPT;

    if (source->buffers.lent == 0 && source->hunger < 0 && !is_over(source)) {
        source->ended = source->hunger;
        serve(source);
    }
    if (rgi_operation_is_stopping(request_of(source)))
        step = -ECANCELED;
    else if (is_over(source))
        step = source->told ? source->ended : RGI_STEP_NONE;
    else if (source->buffers.lent == 0 ||
             (source->cut && rgi_list_empty(&source->line)))
        step = RGI_STEP_NONE;
    source->rests = step == RGI_STEP_NONE;
    if (step <= 0)
        source_end(source);
    else if (!source->rests)
        source->cut = false;
    return step;
}

/* The request is to end; its receiver is not. */
static void
cut(struct rgi_source *source)
{
    source->cut = true;
    if (!rgi_list_is_linked(&request_of(source)->link))
        rgi_ring_stop(source->provider, request_of(source));
}

/* Something has changed for one that rests. */
static void
wake(struct rgi_source *source)
{
    struct rgi_ring_provider *p = source->provider;
    struct rgm_operation *operation = request_of(source);

    if (source->rests)
        rgi_ring_go_on(p, operation, what_follows(source));
}

static bool
is_passing(struct rgi_source *source, int result)
{
    return result == -ENOBUFS || result == -EINTR || result == -EAGAIN ||
           (result == -ECANCELED &&
            (source->cut || rgi_operation_is_stopping(request_of(source))));
}

static void
keep(struct rgi_source *source, int result, uint32_t flags)
{
    uint32_t slot;

    rgi_assert(result <= 0 || (flags & IORING_CQE_F_BUFFER) != 0);
    if (flags & IORING_CQE_F_BUFFER) {
        slot = rgi_buffers_take(&source->buffers,
                                flags >> IORING_CQE_BUFFER_SHIFT);
        source->barren = false;
        note_hungry(source);
        if (result > 0)
            piece_add(source, slot, (uint32_t)result);
        else
            rgi_pool_put_slot(pool_of(source), slot);
    }
    if (result == 0)
        source->end = true;
    else if (result < 0 && !is_passing(source, result))
        source->ended = result;
}

static int
receive_end(struct rgi_ring_provider *p, struct rgm_operation *operation,
            int result, uint32_t flags)
{
    struct rgi_source *source = source_of(operation);

    (void)p;
    rgi_task_of(operation)->channel->more =
        (flags & IORING_CQE_F_SOCK_NONEMPTY) != 0;
    source->in_kernel = (flags & IORING_CQE_F_MORE) != 0;
    keep(source, result, flags);
    serve(source);
    if (source->in_kernel)
        return RGI_STEP_NONE;
    source->pauses = result == -ENOBUFS && source->barren;
    if (rgi_list_is_linked(&operation->link)) /* its cancel is not needed */
        rgi_list_remove(&operation->link);
    line_give_up(source);
    return what_follows(source);
}

/* Its last completion is awaited, whatever a cancel says. */
static bool
receive_cancel(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_source *source = source_of(operation);

    if (rgi_task_of(operation)->queued)
        return false;
    if (source->rests)
        wake(source);
    else if (!rgi_list_is_linked(&operation->link))
        rgi_ring_stop(p, operation);
    return true;
}

const struct rgi_ring_kind rgi_ring_receive = {
    .begin = receive_begin,
    .prepare = receive_prepare,
    .end = receive_end,
    .undo = receive_undo,
};

/* --------------------------------------------------------------- those who ask */

static int
next_begin(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_source *source = rgi_received_of(operation)->receiver->source;

    if (source == NULL || source->provider != p)
        return -EPIPE;
    rgi_list_push_back(&source->line, &operation->link);
    serve(source);
    wake(source);
    return RGI_STEP_NONE;
}

static void
next_cancel(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    struct rgi_source *source = rgi_received_of(operation)->receiver->source;

    if (source->in_kernel)
        cut(source);
    else
        rgi_ring_go_on(p, operation, -ECANCELED);
}

const struct rgi_ring_kind rgi_ring_receive_next = {
    .begin = next_begin,
};

bool
rgi_receive_cancel(struct rgi_ring_provider *p, struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_RECEIVE:
        return receive_cancel(p, operation);
    case RGM_OP_RECEIVE_NEXT:
        next_cancel(p, operation);
        return true;
    default:
        return false;
    }
}

/* ----------------------------------------------------------------- the turn */

static void
feed_one(struct rgi_source *source)
{
    uint64_t handed = 0;

    if (source->in_line)
        /* source-handed: observes the slot, and what its last holder did. */
        handed = __atomic_exchange_n(&source->handed, 0, __ATOMIC_ACQUIRE);
    if (handed != 0)
        take_handed(source, (uint32_t)(handed - 1));
    restock(source);
    if (lends_all(source))
        rgi_list_remove(&source->hungry);
    if (source->in_kernel && source->buffers.lent == 0 &&
        source->hunger == -EPIPE)
        cut(source); /* it would wait for data that nothing can take in */
    wake(source);
}

void
rgi_receive_feed(struct rgi_ring_provider *p)
{
    struct rgm_link *link = p->hungry.next;

    p->receive_look = false;
    while (link != &p->hungry) {
        struct rgi_source *source =
            rgi_container_of(link, struct rgi_source, hungry);

        link = link->next;
        feed_one(source);
    }
}

/* What is in the kernel stays out, and its source with it. */
void
rgi_receive_fail(struct rgi_ring_provider *p, int status)
{
    struct rgm_link *link = p->sources.next;

    while (link != &p->sources) {
        struct rgi_source *source =
            rgi_container_of(link, struct rgi_source, all);

        link = link->next;
        line_fail(source, status);
        if (source->rests)
            rgi_ring_go_on(p, request_of(source), status);
    }
}

void
rgi_receive_leave(struct rgi_ring_provider *p)
{
    for (struct rgm_link *link = p->sources.next; link != &p->sources;
         link = link->next)
        leave_line(rgi_container_of(link, struct rgi_source, all));
}
