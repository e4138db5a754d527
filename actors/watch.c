/* SPDX-License-Identifier: MIT */

/*
 * watch.c - who is told that an actor has ended?
 *
 * A monitor is a request to the worker of the watched one: it goes there as
 * ordinary mail, charged to nothing, and stays there until there is an answer:
 *
 *     ask ----WATCH---> linked under the actor's slot, its spawn come or not
 *      '<----DOWN------ the actor has ended, or nobody is there, or a cancel
 *                       has found it (cancel.c)
 *
 * DOWN is ordinary mail: it takes the road of everything the dead actor sent,
 * behind it. What cannot arrive comes home as any message does, urgently, and
 * has met nobody.
 *
 * The table is a hash of slot numbers whose nodes are the watchers themselves:
 * the first one of an actor stands in the bucket, the others in a ring with it.
 * Growing it may fail, and then its chains get longer; nothing else in here
 * needs memory.
 *
 * Model: actors/models/watch.pml.
 */

#include <ringmail/supervisor.h>

#include "actors/names.h"
#include "actors/runtime.h"

#include "base/memory.h"

static const struct rgm_message_type down_type = {
    "down", sizeof(struct rgm_down), offsetof(struct rgm_request, message),
    RGM_KIND_CONTROL, 0, NULL};

static const struct rgm_end gone = {RGM_END_GONE, -ESRCH, NULL};

static struct rgm_down *
down_of(struct rgm_message *message)
{
    return rgi_container_of(message, struct rgm_down, request.message);
}

static struct rgm_watcher *
watcher_of(struct rgm_message *message)
{
    return rgi_is_task(message) ? rgi_task_watcher(message)
                                : &down_of(message)->watcher;
}

static struct rgm_watcher *
watcher_of_link(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_watcher, others);
}

/* ---- the table ---- */

static struct rgm_watcher **
buckets_of(struct rgi_watchers *watch, uint32_t *ret_size)
{
    *ret_size = watch->size != 0 ? watch->size : RGI_WATCH_START;
    return watch->size != 0 ? watch->buckets : watch->start;
}

/* Where the first watcher of an address is linked, or would be. */
static struct rgm_watcher **
place_of(struct rgi_watchers *watch, struct rgm_address who)
{
    uint32_t size;
    struct rgm_watcher **buckets = buckets_of(watch, &size);
    struct rgm_watcher **place = &buckets[rgi_address_slot(who) & (size - 1)];

    while (*place != NULL && !rgm_address_same((*place)->message->to, who))
        place = &(*place)->next;
    return place;
}

static void
grow(struct rgi_watchers *watch)
{
    uint32_t size;
    struct rgm_watcher **before = buckets_of(watch, &size);
    struct rgm_watcher **buckets = rgi_alloc(2 * size * sizeof(*buckets));

    if (buckets == NULL)
        return; /* it works as it is */
    for (uint32_t i = 0; i < size; i++) {
        while (before[i] != NULL) {
            struct rgm_watcher *first = before[i];
            uint32_t slot = rgi_address_slot(first->message->to);

            before[i] = first->next;
            first->next = buckets[slot & (2 * size - 1)];
            buckets[slot & (2 * size - 1)] = first;
        }
    }
    rgi_free(watch->buckets);
    watch->buckets = buckets;
    watch->size = 2 * size;
}

static void
table_put(struct rgi_watchers *watch, struct rgm_watcher *watcher)
{
    struct rgm_watcher **place;
    uint32_t size;

    (void)buckets_of(watch, &size);
    if (++watch->count > 2 * size && size < RGI_SLOTS_MAX)
        grow(watch);
    place = place_of(watch, watcher->message->to);
    if (*place == NULL) {
        rgi_list_init(&watcher->others);
        watcher->next = NULL;
        *place = watcher;
    } else {
        rgi_list_push_back(&(*place)->others, &watcher->others);
    }
}

/* Whether it was the last watcher of the address. */
static bool
table_remove(struct rgi_watchers *watch, struct rgm_watcher *watcher)
{
    struct rgm_watcher **place = place_of(watch, watcher->message->to);
    bool alone = watcher->others.next == &watcher->others;

    watch->count--;
    if (*place == watcher) {
        struct rgm_watcher *heir = watcher_of_link(watcher->others.next);

        *place = alone ? watcher->next : heir;
        if (!alone)
            heir->next = watcher->next;
    }
    rgi_list_remove(&watcher->others);
    return alone;
}

void
rgi_watch_deinit(struct rgm_worker *worker)
{
    rgi_assert(worker->watchers.count == 0);
    rgi_free(worker->watchers.buckets);
    worker->watchers.buckets = NULL;
    worker->watchers.size = 0;
}

/* ---- at the worker of the watched one ---- */

/* Who was watched is told by its name, wherever it has been last. */
static void
name_set(struct rgm_worker *worker, struct rgm_message *message)
{
    const struct rgi_slot *slot =
        rgm_address_worker(message->to) == worker->number
            ? rgi_slot_find(&worker->slots, message->to)
            : NULL;

    if (slot != NULL && slot->state == RGI_SLOT_LIVE)
        message->to = rgi_name_of(slot->u.actor);
}

static void
tell(struct rgm_worker *worker, struct rgm_message *message,
     const struct rgm_end *end)
{
    if (rgi_is_task(message)) {
        rgi_task_told(message, end);
        return;
    }
    name_set(worker, message);
    message->state = RGI_AT_ROAD;
    message->control = RGI_CONTROL_DOWN;
    if (end != NULL)
        down_of(message)->end = *end;
    rgi_send_home_in_line(worker, message, end != NULL ? 0 : -ECANCELED);
}

uint32_t
rgi_watch_tell(struct rgm_worker *worker, struct rgm_address who,
               const struct rgm_end *end)
{
    struct rgm_watcher *first = *place_of(&worker->watchers, who);
    struct rgm_link *link;
    uint32_t count = 1;

    rgi_assert(first != NULL);
    for (link = first->others.next; link != &first->others; link = link->next)
        count++;
    if (end->parcel != NULL)
        end->parcel->references = count; /* nobody else has it yet */
    for (uint32_t i = 0; i < count; i++) {
        struct rgm_watcher *watcher = *place_of(&worker->watchers, who);

        (void)table_remove(&worker->watchers, watcher);
        tell(worker, watcher->message, end);
    }
    rgi_slot_at(&worker->slots, rgi_address_slot(who))->watched = 0;
    return count;
}

bool
rgi_watch_by_task(const struct rgm_worker *worker, struct rgm_address who)
{
    const struct rgi_slot *slot =
        rgi_slot_at(&worker->slots, rgi_address_slot(who));
    struct rgm_watcher *first;
    struct rgm_link *link;
    bool found;

    if (!slot->watched)
        return false;
    first = *place_of((struct rgi_watchers *)(uintptr_t)&worker->watchers, who);
    found = rgi_is_task(first->message);
    for (link = first->others.next; link != &first->others; link = link->next)
        found = found || rgi_is_task(watcher_of_link(link)->message);
    return found;
}

void
rgi_watch_move(struct rgm_worker *worker, struct rgm_address who,
               struct rgm_address to)
{
    struct rgi_slot *slot =
        rgi_slot_at(&worker->slots, rgi_address_slot(who));

    while (slot->watched) {
        struct rgm_watcher *watcher = *place_of(&worker->watchers, who);
        struct rgm_message *message = watcher->message;

        slot->watched = !table_remove(&worker->watchers, watcher);
        message->state = RGI_AT_ROAD;
        message->to = to;
        rgi_post(worker, message, rgm_address_worker(to));
    }
}

void
rgi_watch_give_up(struct rgm_worker *worker, uint32_t index)
{
    struct rgi_slot *slot = rgi_slot_at(&worker->slots, index);

    if (slot->watched)
        (void)rgi_watch_tell(
            worker, rgi_address_make(worker->number, index, slot->generation),
            &gone);
}

/* There is an end to wait for. */
static bool
is_awaited(const struct rgm_worker *worker, const struct rgi_slot *slot)
{
    return slot->state == RGI_SLOT_LIVE ||
           (slot->state == RGI_SLOT_LENT && !worker->forced);
}

static bool
is_child(struct rgm_message *message)
{
    return message->type == &down_type && down_of(message)->is_child;
}

static void
watch_arrived(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_slot *slot = rgi_slot_find(&worker->slots, message->to);
    struct rgm_watcher *watcher = watcher_of(message);
    bool cancelled = (message->flags & RGI_MESSAGE_CANCELLED) != 0;

    if (cancelled && !is_child(message)) {
        tell(worker, message, NULL);
    } else if (slot != NULL && slot->state == RGI_SLOT_MOVED) {
        rgi_move_relay(worker, slot, message);
    } else if (slot == NULL || !is_awaited(worker, slot)) {
        tell(worker, message, &gone);
    } else {
        message->state = RGI_AT_WATCH;
        watcher->message = message;
        table_put(&worker->watchers, watcher);
        slot->watched = 1;
        if (cancelled)
            rgi_actor_stop_at(worker, message->to);
    }
}

void
rgi_watch_withdraw(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t index = rgi_address_slot(message->to);

    if (is_child(message)) { /* it is told of the end that this brings */
        rgi_actor_stop_at(worker, message->to);
        return;
    }
    if (table_remove(&worker->watchers, &down_of(message)->watcher))
        rgi_slot_at(&worker->slots, index)->watched = 0;
    tell(worker, message, NULL);
}

/* The record is home. What did not arrive has met nobody. */
static void
down_home(struct rgm_worker *worker, struct rgm_message *message)
{
    if (message->status == -ESRCH || message->status == -EPIPE) {
        down_of(message)->end =
            (struct rgm_end){RGM_END_GONE, message->status, NULL};
        message->status = 0;
    }
    rgi_come_home(worker, message);
}

void
rgi_watch_control(struct rgm_worker *worker, struct rgm_message *message)
{
    if (message->control == RGI_CONTROL_DOWN ||
        message->flags & RGI_MESSAGE_URGENT)
        down_home(worker, message);
    else
        watch_arrived(worker, message);
}

void
rgi_watch_refused(struct rgm_worker *worker, struct rgm_message *message)
{
    static const struct rgm_end closed = {RGM_END_GONE, -EPIPE, NULL};

    if (rgi_is_task(message))
        rgi_task_told(message, &closed);
    else
        rgi_send_home(worker, message, -EPIPE);
}

/* ---- at the watcher's ---- */

void
rgi_watch_ask(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t destination = rgm_address_worker(message->to);

    message->control = RGI_CONTROL_WATCH;
    if (destination == worker->number)
        watch_arrived(worker, message);
    else
        rgi_post_far(worker, message, destination);
}

static void
down_init(struct rgm_down *down, struct rgm_address who)
{
    rgm_init(&down_type, down);
    down->watcher = (struct rgm_watcher){.message = NULL};
    down->request.message.control = RGI_CONTROL_DOWN; /* while at home */
    rgm_request_to(&down->request, who);
    down->is_child = false;
    down->named = NULL;
}

void
rgm_monitor_actor(struct rgm_actor *self, struct rgm_down *down,
                  struct rgm_address who, rgm_answer_function *answer)
{
    down_init(down, who);
    rgm_ask_request(self, &down->request, answer);
}

void
rgi_watch_begin(struct rgm_worker *worker, struct rgm_message *message,
                struct rgm_address who)
{
    struct rgm_request *request = rgi_request_of(message);

    if (rgi_is_task(message)) {
        rgi_task_begin(message, who);
        rgi_watch_ask(worker, message);
        return;
    }
    rgi_assert_slow(request->asker->worker == worker);
    rgm_request_to(request, who);
    rgm_ask_request(request->asker, request, request->answer);
}

static int
spawn_watched(struct rgm_actor *self, uint32_t worker,
              const struct rgm_behaviour *behaviour, const void *argument,
              struct rgm_down *down, rgm_answer_function *answer,
              struct rgm_address *ret_address)
{
    if (self->life != RGI_LIFE_RUNNING)
        return -ECANCELED;
    down->request.asker = self;
    down->request.answer = answer;
    return rgi_spawn_watched(self, worker, behaviour, argument,
                             &down->request.message, ret_address);
}

int
rgm_spawn_watched_actor(struct rgm_actor *self, uint32_t worker,
                        const struct rgm_behaviour *behaviour,
                        const void *argument, struct rgm_down *down,
                        rgm_answer_function *answer,
                        struct rgm_address *ret_address)
{
    down_init(down, (struct rgm_address){0});
    return spawn_watched(self, worker, behaviour, argument, down, answer,
                         ret_address);
}

int
rgm_spawn_child_actor(struct rgm_actor *self, uint32_t worker,
                      const struct rgm_behaviour *behaviour,
                      const void *argument, struct rgm_down *down,
                      rgm_answer_function *answer,
                      struct rgm_address *ret_address)
{
    down_init(down, (struct rgm_address){0});
    down->is_child = true;
    return spawn_watched(self, worker, behaviour, argument, down, answer,
                         ret_address);
}

int
rgi_spawn_named(struct rgm_actor *self, uint32_t worker,
                const struct rgm_behaviour *behaviour, const void *argument,
                struct rgm_down *down, struct rgi_name *named,
                rgm_answer_function *answer, struct rgm_address *ret_address)
{
    down_init(down, (struct rgm_address){0});
    down->is_child = true;
    down->named = named;
    return spawn_watched(self, worker, behaviour, argument, down, answer,
                         ret_address);
}

static const struct rgi_name *
name_in(struct rgm_watcher *watcher)
{
    struct rgm_message *message = watcher->message;

    return message->type == &down_type ? down_of(message)->named : NULL;
}

const struct rgi_name *
rgi_watch_name(struct rgm_worker *worker, struct rgm_address who)
{
    const struct rgi_slot *slot =
        rgi_slot_at(&worker->slots, rgi_address_slot(who));
    const struct rgi_name *named;
    struct rgm_watcher *first;
    struct rgm_link *link;

    if (!slot->watched)
        return NULL;
    first = *place_of(&worker->watchers, who);
    named = name_in(first);
    for (link = first->others.next; link != &first->others && named == NULL;
         link = link->next)
        named = name_in(watcher_of_link(link));
    return named;
}

bool
rgi_is_child(const struct rgm_request *request)
{
    return rgi_is_watch(request) &&
           rgi_container_of((struct rgm_request *)(uintptr_t)request,
                            struct rgm_down, request)
               ->is_child;
}

bool
rgi_is_watch(const struct rgm_request *request)
{
    return request->message.type == &down_type;
}

void
rgi_watch_unheard(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgm_down *down = down_of(&request->message);

    if (down->named != NULL)
        rgi_name_unheard(down->named);
    if (request->message.status == 0)
        rgi_end_unheard(worker->runtime, &down->end);
}
