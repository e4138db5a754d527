/* SPDX-License-Identifier: MIT */

/*
 * timer.c - which timers have a place at a worker, and what is sent later?
 *
 * A place is a line of the worker's table: a generation, and whether somebody
 * waits. It is taken by a timer's first wait, in the order: whose runtime, room,
 * memory; so what is refused has changed nothing. The timer keeps its number and
 * generation; the table knows no timer. With the worker's end all places end, and
 * its address, which no other worker ever has, says so.
 *
 * Sleeps and messages to be sent later have no place, but are counted among them
 * while they are out.
 *
 * A message to be sent later is a sleep of the library's, asked in the actor's
 * name: whatever ends the actor's requests ends it. Its answer sends the message,
 * which was charged from the beginning, or turns it home.
 */

#include <ringmail/timer.h>

#include <string.h>

#include "actors/lane.h"
#include "actors/runtime.h"
#include "base/memory.h"
#include "capabilities/operation.h"

/* ---- places ---- */

#define PLACES_START 16u

struct rgi_timer_place_entry {
    uint32_t generation;
    uint32_t next_free; /* 1 + number; 0 ends; of a free one */
    bool used;
    bool waiting;
};

static inline struct rgm_timer *
timer_of(struct rgm_operation *operation)
{
    return rgi_container_of(operation, struct rgm_timer, operation);
}

bool
rgi_timer_has_room(const struct rgm_worker *worker)
{
    return worker->timers_held < worker->runtime->options.timers_max;
}

void
rgi_timer_places_forget(struct rgm_worker *worker)
{
    rgi_free(worker->timer_places.entries);
    memset(&worker->timer_places, 0, sizeof(worker->timer_places));
    worker->timers_held = 0;
}

static int
places_grow(struct rgi_timer_places *places)
{
    uint32_t size = places->size == 0 ? PLACES_START : 2 * places->size;
    struct rgi_timer_place_entry *entries =
        rgi_alloc(size * sizeof(*entries));

    if (entries == NULL)
        return -ENOMEM;
    if (places->size > 0)
        memcpy(entries, places->entries, places->size * sizeof(*entries));
    for (uint32_t i = size; i > places->size; i--) {
        entries[i - 1].next_free = places->first_free;
        places->first_free = i;
    }
    rgi_free(places->entries);
    places->entries = entries;
    places->size = size;
    return 0;
}

static struct rgi_timer_place_entry *
place_of(struct rgm_worker *worker, const struct rgm_timer *timer)
{
    struct rgi_timer_place_entry *entry;

    if (timer->place >= worker->timer_places.size)
        return NULL;
    entry = &worker->timer_places.entries[timer->place];
    return entry->used && entry->generation == timer->generation ? entry
                                                                 : NULL;
}

static int
place_take(struct rgm_worker *worker, struct rgm_timer *timer)
{
    struct rgi_timer_places *places = &worker->timer_places;
    struct rgi_timer_place_entry *entry;

    if (!rgi_timer_has_room(worker))
        return -EAGAIN;
    if (places->first_free == 0 && places_grow(places) != 0)
        return -ENOMEM;
    timer->place = places->first_free - 1;
    entry = &places->entries[timer->place];
    places->first_free = entry->next_free;
    entry->used = true;
    entry->waiting = false;
    timer->generation = ++entry->generation;
    timer->owner = timer->request.message.to;
    worker->timers_held++;
    return 0;
}

/* The timer is at home, or ours. Returns: 0, or -EBUSY while a copy waits. */
static int
place_give(struct rgm_worker *worker, struct rgm_timer *timer)
{
    struct rgi_timer_place_entry *entry = place_of(worker, timer);

    if (entry != NULL && entry->waiting)
        return -EBUSY;
    timer->owner.bits = 0;
    if (entry == NULL)
        return 0;
    entry->used = false;
    entry->next_free = worker->timer_places.first_free;
    worker->timer_places.first_free = timer->place + 1;
    worker->timers_held--;
    return 0;
}

/* ---- waits ---- */

static int
wait_start(struct rgm_worker *worker, struct rgm_timer *timer)
{
    struct rgi_timer_place_entry *entry;
    int status = 0;

    if (timer->domain != rgi_domain(worker))
        return -EINVAL;
    if (timer->owner.bits == 0)
        status = place_take(worker, timer);
    if (status != 0)
        return status;
    entry = place_of(worker, timer);
    if (entry == NULL)
        return -EINVAL; /* a copy of it was released */
    if (entry->waiting)
        return -EBUSY;
    status = rgi_operation_begin(&timer->operation, worker->provider);
    if (status != 0)
        return status;
    entry->waiting = true;
    *rgi_timer_armed(timer) =
        (struct rgi_timer){.kind = RGI_TIMER_REUSED};
    rgi_timers_arm(worker->timers, rgi_timer_armed(timer),
                   timer->deadline_ns);
    return 0;
}

int
rgi_timer_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_timer *timer = timer_of(operation);
    int status;

    if (!timer->releases)
        return wait_start(worker, timer);
    status = place_give(worker, timer);
    return status != 0 ? status : 1; /* done */
}

void
rgi_timer_home(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgi_timer_place_entry *entry;

    if (operation->kind == RGM_OP_SLEEP) {
        worker->timers_held--;
    } else if (operation->kind == RGM_OP_TIMER) {
        entry = place_of(worker, timer_of(operation));
        entry->waiting = false;
    }
}

/* ---- preparing ---- */

void
rgm_timer_init(struct rgm_timer *timer, const struct rgm_runtime *runtime)
{
    memset(timer, 0, sizeof(*timer));
    timer->domain = rgi_domain(runtime->workers[0]);
}

/* Everything but what it keeps. */
static int
prepare(struct rgm_timer *timer, struct rgm_address where, bool releases)
{
    if (!rgi_request_is_home(&timer->request))
        return -EBUSY;
    if (timer->owner.bits != 0)
        where = timer->owner;
    rgi_operation_prepare_front(&timer->operation, RGM_OP_TIMER, &rgi_type_timer,
                                where, offsetof(struct rgm_timer, domain));
    timer->releases = releases;
    return 0;
}

int
rgm_timer_wait(struct rgm_timer *timer, struct rgm_address where,
               uint64_t deadline_ns)
{
    int status = prepare(timer, where, false);

    if (status == 0)
        timer->deadline_ns = deadline_ns;
    return status;
}

int
rgm_timer_release(struct rgm_timer *timer)
{
    return prepare(timer, rgm_worker_address(0), true);
}

/* ---- letting go ---- */

static void
dropped(struct rgm_actor *janitor, struct rgm_request *request)
{
    rgi_slab_give(&janitor->worker->slab,
                  rgi_container_of(request, struct rgm_timer, request),
                  sizeof(struct rgm_timer));
}

/* Another worker's: its place is given back by a copy. */
static int
drop_far(struct rgm_worker *worker, struct rgm_timer *timer)
{
    struct rgm_timer *copy = rgi_slab_take(&worker->slab, sizeof(*copy));

    if (copy == NULL)
        return -ENOMEM;
    *copy = *timer;
    timer->owner.bits = 0;
    (void)prepare(copy, copy->owner, true);
    rgm_ask_request(&worker->janitor, &copy->request, dropped);
    return 0;
}

static int
drop(struct rgm_worker *worker, struct rgm_timer *timer)
{
    if (!rgi_request_is_home(&timer->request))
        return -EBUSY;
    if (timer->owner.bits == 0)
        return 0;
    if (worker->is_guest)
        return -EINVAL;
    if (rgm_address_worker(timer->owner) != worker->number)
        return drop_far(worker, timer);
    if (rgi_address_generation(timer->owner) == worker->identity)
        return place_give(worker, timer);
    timer->owner.bits = 0;
    return 0;
}

int
rgm_timer_drop_by(struct rgm_actor *self, struct rgm_timer *timer)
{
    rgi_assert(rgi_is_owner(self->worker));
    return drop(self->worker, timer);
}

/* Given up: nobody is left who could release it. In the janitor's line. */
static void
given_up(struct rgm_actor *janitor, struct rgm_request *request)
{
    struct rgm_timer *timer =
        rgi_container_of(request, struct rgm_timer, request);

    (void)drop(janitor->worker, timer); /* no memory: it costs a place */
    timer->release(janitor, request);
}

void
rgi_timer_abandoned(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgm_timer *timer =
        rgi_container_of(request, struct rgm_timer, request);

    if (request->message.type != &rgi_type_timer)
        return;
    timer->release = request->answer;
    request->answer = given_up;
    if (rgi_request_is_over(request))
        return;
    rgi_request_cancel(worker, request, 0);
    if (request->life == RGI_REQUEST_WAITING)
        rgi_lanes_leave(worker);
}

/* ---- sending later ---- */

struct later {
    struct rgm_sleep sleep;
    struct rgm_message *message;
};

/* In the actor's turn. */
static void
later_over(struct rgm_actor *self, struct rgm_request *request)
{
    struct later *later =
        rgi_container_of(request, struct later, sleep.request);
    struct rgm_worker *worker = self->worker;
    struct rgm_message *message = later->message;
    int status = request->message.status;

    rgi_slab_give(&worker->slab, later, sizeof(*later));
    if (status == 0)
        rgi_post(worker, message, rgm_address_worker(message->to));
    else
        rgi_send_home(worker, message, -ECANCELED);
}

static int
later_check(const struct rgm_actor *self, uint64_t duration_ns)
{
    struct rgm_worker *worker = self->worker;

    if (worker->is_guest)
        return -EINVAL;
    if (self->life != RGI_LIFE_RUNNING)
        return -ECANCELED;
    if (duration_ns >=
        RGM_NEVER - worker->provider->ops->now(worker->provider))
        return -EINVAL;
    return rgi_timer_has_room(worker) ? 0 : -EAGAIN;
}

int
rgm_send_message_after(struct rgm_actor *self, struct rgm_address to,
                       struct rgm_message *message, uint64_t duration_ns,
                       struct rgm_identity *ret_identity)
{
    struct rgm_worker *worker = self->worker;
    struct later *later;
    int status;

    rgi_assert(rgi_is_owner(worker));
    status = later_check(self, duration_ns);
    if (status != 0)
        return status;
    later = rgi_slab_take(&worker->slab, sizeof(*later));
    if (later == NULL)
        return -ENOMEM;
    status = rgi_send_begin(self, to, message);
    if (status != 0) {
        rgi_slab_give(&worker->slab, later, sizeof(*later));
        return status;
    }
    later->message = message;
    rgm_sleep_for(&later->sleep, rgm_worker_address(worker->number),
                  duration_ns);
    rgi_request_bind(&later->sleep.request);
    rgm_ask_request(self, &later->sleep.request, later_over);
    if (ret_identity != NULL) {
        status = rgm_identify_request(self, &later->sleep.request,
                                      ret_identity);
        rgi_assert(status == 0);
    }
    return 0;
}

int
rgm_send_cancel_by(struct rgm_actor *self, struct rgm_identity identity)
{
    struct rgm_worker *worker = self->worker;
    struct rgm_operation *operation;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest ||
        rgm_address_worker(identity.where) != worker->number)
        return -EINVAL;
    operation = rgi_name_find(worker, identity.number);
    if (operation == NULL || operation->state != RGM_OPERATION_SUBMITTED)
        return -ESRCH;
    if (operation->request.answer != later_over)
        return -EINVAL;
    rgi_operate_cancel(worker, &operation->request.message);
    return operation->state == RGM_OPERATION_COMPLETED ? 0 : -ESRCH;
}
