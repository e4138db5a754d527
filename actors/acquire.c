/* SPDX-License-Identifier: MIT */

/*
 * acquire.c - who on this worker waits for a slot of a pool?
 *
 * 1. An acquire that finds a free slot, and nobody of this worker's before it,
 *    is answered at once.
 * 2. Otherwise it stands in line. The first of each pool's line stands in the
 *    pool's own as well, as a taker (leases/pool.h); the others are behind it.
 * 3. A slot that comes home is handed to the first, on whatever thread that
 *    happens: it is written into the record, and the node in the record is
 *    pushed to the worker. That is a message like any other, so it ends a sleep.
 * 4. The node arrives: the first has its lease, and the next becomes the first.
 *
 * Nothing is allocated: line, taker and node lie in the records that wait.
 *
 * A cancel takes an acquire out of line. The first may be too late for that: its
 * slot is on its way, and what happened is told. Either way no slot is lost: it
 * is in the pool, or handed to another, or in the answer.
 */

#include "actors/runtime.h"

#include <errno.h>

#include <ringmail/acquire.h>

#include "capabilities/operation.h"
#include "leases/pool.h"

/* The worker's part of an acquire that waits. */
struct place {
    struct rgm_message node; /* brings the slot here */
    struct rgi_taker taker;
    struct rgm_worker *worker;
    struct rgm_link followers; /* of the first: those behind it, in order */
    uint32_t slot;             /* handed over: pool-slot */
    bool first;
};

_Static_assert(sizeof(struct place) <=
                   sizeof(((struct rgm_acquire *)0)->place),
               "an acquire has room for its place in line");

static const struct rgm_message_type node_type = {
    "slot", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

static inline struct rgm_acquire *
acquire_of(struct rgm_operation *operation)
{
    return rgi_container_of(operation, struct rgm_acquire, operation);
}

static inline struct place *
place_of(struct rgm_acquire *acquire)
{
    return (struct place *)(void *)acquire->place;
}

static inline struct rgm_acquire *
linked(struct rgm_link *link)
{
    return acquire_of(rgi_container_of(link, struct rgm_operation, link));
}

static void
done(struct rgm_worker *worker, struct rgm_acquire *acquire, int status)
{
    worker->attention = true;
    rgm_operation_complete(&acquire->operation, status, &worker->turn);
}

/* The asker has it from now on, not whoever brought it. */
static void
note_asker(const struct rgm_worker *worker, struct rgm_acquire *acquire,
           uint32_t slot)
{
    const struct rgm_request *request = &acquire->operation.request;
    struct rgi_holder holder = {"asker", request->message.from.bits};

    if (rgm_address_worker(request->message.from) == worker->number)
        rgi_holder_of_actor(request->asker, &holder);
    rgi_pool_note(acquire->pool, slot, &holder, RGM_SLOT_LEASED);
}

static void
lease_slot(struct rgm_worker *worker, struct rgm_acquire *acquire,
           uint32_t slot)
{
    rgi_pool_lease_of(acquire->pool, slot, rgm_pool_slot_size(acquire->pool),
                      &acquire->lease);
    note_asker(worker, acquire, slot);
}

static void
got(struct rgm_worker *worker, struct rgm_acquire *acquire, uint32_t slot)
{
    lease_slot(worker, acquire, slot);
    done(worker, acquire, 0);
}

/* Thread: any. The worker has an operation out, this one, so it does not close
 * before the push; what comes after it is counted outside. */
static void
handed(struct rgi_taker *taker, uint32_t slot)
{
    struct place *place = rgi_container_of(taker, struct place, taker);
    struct rgm_worker *worker = place->worker;
    int status;

    place->slot = slot;
    if (rgi_here() == worker) {
        worker->attention = true;
        rgi_mail_post_local(&worker->mail, &place->node);
        if (worker->parked_ns != 0) /* by its provider, which sleeps on */
            worker->provider->ops->wake(worker->provider);
        return;
    }
    status = rgi_push_outside(worker->runtime, worker->inbox, &place->node);
    rgi_assert(status >= 0);
}

static void
place_init(struct rgm_worker *worker, struct place *place)
{
    *place = (struct place){
        .node = {.type = &node_type,
                 .control = RGI_CONTROL_SLOT,
                 .flags = RGI_MESSAGE_URGENT,
                 .lane = RGI_LANE_NONE},
        .taker.hand = handed,
        .worker = worker,
    };
}

/* Whoever has nobody of this worker's before it. Returns: whether it waits. */
static bool
try_as_first(struct rgm_worker *worker, struct rgm_acquire *acquire)
{
    struct place *place = place_of(acquire);
    uint32_t slot;
    int status = rgi_pool_wait(acquire->pool, &place->taker, &slot);

    if (status == 0)
        got(worker, acquire, slot);
    else if (status != -EAGAIN)
        done(worker, acquire, status);
    return status == -EAGAIN;
}

static void
stand_first(struct rgm_worker *worker, struct rgm_acquire *acquire)
{
    place_of(acquire)->first = true;
    rgi_list_push_back(&worker->acquires, &acquire->operation.link);
}

static struct rgm_acquire *
first_for(const struct rgm_worker *worker, const struct rgm_pool *pool)
{
    struct rgm_link *link = worker->acquires.next;

    while (link != &worker->acquires && linked(link)->pool != pool)
        link = link->next;
    return link != &worker->acquires ? linked(link) : NULL;
}

/* A free slot, and nobody before it: no line, no turn of the provider. */
static bool
is_done_at_once(struct rgm_worker *worker, struct rgm_acquire *acquire)
{
    uint32_t slot;

    if (first_for(worker, acquire->pool) != NULL ||
        rgi_pool_take_slot(acquire->pool, &slot) != 0)
        return false;
    lease_slot(worker, acquire, slot);
    return true;
}

int
rgi_acquire_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_acquire *acquire = acquire_of(operation);
    struct rgm_acquire *first;
    int status = rgi_operation_refused(operation);

    if (status == 0 && is_done_at_once(worker, acquire))
        return 1;
    status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    acquire->lease = (struct rgm_lease){NULL, 0, NULL, 0};
    place_init(worker, place_of(acquire));
    rgi_list_init(&place_of(acquire)->followers);
    first = first_for(worker, acquire->pool);
    if (first != NULL)
        rgi_list_push_back(&place_of(first)->followers, &operation->link);
    else if (try_as_first(worker, acquire))
        stand_first(worker, acquire);
    else
        return 0;
    rgi_count(worker, acquire_waits);
    return 0;
}

/* The first has left: the next one is, unless there is a slot for it. */
static void
advance(struct rgm_worker *worker, struct rgm_acquire *first)
{
    struct rgm_link line;
    struct rgm_link *link;

    rgi_list_init(&line);
    rgi_list_splice_back(&line, &place_of(first)->followers);
    while ((link = rgi_list_pop_front(&line)) != NULL) {
        struct rgm_acquire *next = linked(link);

        if (!try_as_first(worker, next))
            continue;
        rgi_list_splice_back(&place_of(next)->followers, &line);
        stand_first(worker, next);
        return;
    }
}

void
rgi_acquire_arrived(struct rgm_worker *worker, struct rgm_message *message)
{
    struct place *place = rgi_container_of(message, struct place, node);
    struct rgm_acquire *acquire =
        rgi_container_of((uint64_t *)(void *)place, struct rgm_acquire, place);
    int status = rgi_handed_status(place->slot);

    rgi_list_remove(&acquire->operation.link);
    if (status < 0)
        done(worker, acquire, status);
    else
        got(worker, acquire, place->slot);
    advance(worker, acquire);
}

void
rgi_acquire_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_acquire *acquire = acquire_of(operation);
    struct place *place = place_of(acquire);

    if (!rgi_operation_stop(operation))
        return;
    if (place->first && !rgi_pool_leave(acquire->pool, &place->taker))
        return; /* its slot is on its way, and will be told */
    rgi_list_remove(&operation->link);
    done(worker, acquire, -ECANCELED);
    if (place->first)
        advance(worker, acquire);
}
