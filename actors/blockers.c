/* SPDX-License-Identifier: MIT */

/*
 * blockers.c - what keeps a worker from ending, for any thread to read.
 *
 * A worker that drains says in every turn what is still out, kind by kind, and
 * since when; one of each by name. It looks for the name at a few actors per
 * turn, from where it found one the last time, so that ten thousand that end
 * one after the other cost no more than one each.
 *
 * A worker that has not heard of the stop, or has not come back from a turn,
 * is in somebody's code: the reader sees that by the clock.
 *
 * Numbers are read without order, each as of the worker's last turn.
 */

#include <stdio.h>
#include <string.h>

#include "actors/runtime.h"

/* How far to look for a name. */
#define ACTORS_PER_TURN 256u
#define REQUESTS_PER_TURN 16u

/* ---- on the worker ---- */

static struct rgm_actor *
actor_from(const struct rgm_worker *worker, uint32_t index)
{
    const struct rgi_slot *slot = rgi_slot_at(&worker->slots, index);

    return slot->state == RGI_SLOT_LIVE ? slot->u.actor : NULL;
}

/* An actor that is still there; NULL: none was found this time. */
static struct rgm_actor *
actor_find(struct rgm_worker *worker)
{
    struct rgi_stop_watch *watch = &worker->watch;
    uint32_t left = ACTORS_PER_TURN;

    if (worker->actors_count == 0)
        return NULL;
    for (; left > 0; left--) {
        struct rgm_actor *actor;

        if (watch->cursor == 0 || watch->cursor > worker->slots.last)
            watch->cursor = 1;
        if (watch->cursor > worker->slots.last)
            return NULL;
        actor = actor_from(worker, watch->cursor);
        if (actor != NULL)
            return actor;
        watch->cursor++;
    }
    return NULL;
}

struct names {
    const char *operation;
    const char *request;
};

/* What the actor has out. The type of a request is nobody's to change. */
static void
names_of(const struct rgm_actor *actor, struct names *names)
{
    const struct rgm_link *link = actor->scope.next;
    uint32_t left = REQUESTS_PER_TURN;

    for (; link != &actor->scope && left > 0; link = link->next, left--) {
        const struct rgm_request *request = rgi_container_of(
            (struct rgm_link *)(uintptr_t)link, struct rgm_request, scope.link);
        const struct rgm_message *message = &request->message;

        if (message->type->kind == RGM_KIND_OPERATION &&
            rgi_holder(message) == actor->worker->number)
            names->operation = request->message.type->name;
        else
            names->request = request->message.type->name;
    }
}

static void
name_remote(const struct rgm_worker *worker, struct names *names)
{
    if (names->operation != NULL || worker->remote.next == &worker->remote)
        return;
    names->operation = rgi_container_of(worker->remote.next,
                                        struct rgm_operation, remote)
                           ->request.message.type->name;
}

/* stop-watch: each word says how it is at the moment and orders nothing. */
static void
say(struct rgi_blocker *blocker, uint64_t count, const char *name,
    uint64_t now_ns)
{
    if (count != 0 && blocker->count == 0)
        ck_pr_store_64(&blocker->since_ns, now_ns);
    if (name != NULL || count == 0)
        ck_pr_store_ptr(&blocker->name, name);
    ck_pr_store_64(&blocker->count, count);
}

static uint64_t
slots_out(const struct rgm_worker *worker)
{
    uint64_t count = worker->slots.lent;

    for (uint32_t i = 0; worker->loans != NULL && i < worker->workers_count;
         i++)
        count += worker->loans[i].out;
    return count;
}

/* Operations asked here are messages of ours, too. */
static uint64_t
requests_out(const struct rgm_worker *worker)
{
    uint64_t here = worker->operations_out - worker->remote_count;

    return worker->messages_out > here ? worker->messages_out - here : 0;
}

void
rgi_blockers_publish(struct rgm_worker *worker)
{
    struct rgi_stop_watch *watch = &worker->watch;
    uint64_t now_ns = rgi_clock_now();
    struct rgm_actor *actor = actor_find(worker);
    struct names names = {NULL, NULL};

    if (actor != NULL)
        names_of(actor, &names);
    name_remote(worker, &names);
    ck_pr_store_64(&watch->actor, actor != NULL ? actor->address.bits : 0);
    say(&watch->now[RGM_BLOCKER_ACTOR], worker->actors_count,
        actor != NULL ? actor->dispatch->behaviour->name : NULL, now_ns);
    say(&watch->now[RGM_BLOCKER_OPERATION], worker->operations_out,
        names.operation, now_ns);
    say(&watch->now[RGM_BLOCKER_REQUEST], requests_out(worker), names.request,
        now_ns);
    say(&watch->now[RGM_BLOCKER_KEPT], worker->kept_count, NULL, now_ns);
    say(&watch->now[RGM_BLOCKER_SLOT], slots_out(worker), NULL, now_ns);
    say(&watch->now[RGM_BLOCKER_LEASE], worker->leases_count,
        rgi_worker_lease_name(worker), now_ns);
    ck_pr_store_64(&watch->turn_ns, now_ns);
}

/* What was given up may still keep the provider from closing. */
void
rgi_blockers_clear(struct rgm_worker *worker)
{
    const struct rgi_blocker *given =
        &worker->watch.given_up[RGM_BLOCKER_OPERATION];

    for (unsigned kind = 0; kind < RGM_BLOCKER_KINDS_COUNT; kind++)
        say(&worker->watch.now[kind], 0, NULL, 0);
    if (worker->gave_up)
        say(&worker->watch.now[RGM_BLOCKER_OPERATION], given->count,
            given->name, rgi_clock_now());
}

void
rgi_blockers_renew(struct rgm_worker *worker)
{
    rgi_blockers_clear(worker);
    ck_pr_store_64(&worker->watch.turn_ns, 0);
}

static void
give_up(struct rgm_worker *worker, enum rgm_blocker_kind kind, uint64_t count)
{
    const struct rgi_blocker *from = &worker->watch.now[kind];
    struct rgi_blocker *to = &worker->watch.given_up[kind];

    ck_pr_store_64(&to->since_ns, rgi_clock_now() - from->since_ns); /* an age */
    ck_pr_store_ptr(&to->name, from->name);
    ck_pr_store_64(&to->count, count);
}

static uint64_t
actors_lost(const struct rgm_worker *worker)
{
    uint64_t count = 0;

    for (uint32_t i = 1; i <= worker->slots.last; i++) {
        const struct rgm_actor *actor = actor_from(worker, i);

        count += actor != NULL && (actor->flags & RGI_ACTOR_LOST) != 0;
    }
    return count;
}

/* Operations that were at the provider, and the actors that wait for them; by
 * the names of the last look. */
void
rgi_blockers_give_up(struct rgm_worker *worker, uint32_t operations)
{
    give_up(worker, RGM_BLOCKER_ACTOR, actors_lost(worker));
    give_up(worker, RGM_BLOCKER_OPERATION, operations);
}

void
rgi_blockers_give_up_leases(struct rgm_worker *worker)
{
    rgi_blockers_publish(worker);
    give_up(worker, RGM_BLOCKER_LEASE, worker->leases_count);
}

/* ---- for any thread ---- */

/* A list that counts more than it can hold. */
struct list {
    struct rgm_blocker *entries;
    uint32_t room;
    uint32_t count;
};

static void
add(struct list *list, const struct rgm_blocker *blocker)
{
    if (list->count < list->room)
        list->entries[list->count] = *blocker;
    list->count++;
}

static uint64_t
since(uint64_t now_ns, uint64_t then_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

/* User code that does not come back. A worker that sleeps is in none. */
static void
add_handler(struct list *list, struct rgm_worker *worker, uint64_t now_ns)
{
    uint64_t turn_ns = ck_pr_load_64(&worker->watch.turn_ns);
    uint64_t stop_ns = ck_pr_load_64(&worker->runtime->stop_ns);
    const struct rgi_dispatch *dispatch =
        ck_pr_load_ptr(&worker->running_dispatch);
    struct rgm_blocker blocker = {
        .worker = worker->number, .kind = RGM_BLOCKER_HANDLER, .count = 1};
    void *word = rgi_inbox_word(worker->inbox);

    if (word == RGI_INBOX_ASLEEP || word == RGI_INBOX_CLOSED)
        return;
    blocker.age_ns = since(now_ns, turn_ns != 0 ? turn_ns : stop_ns);
    if (blocker.age_ns < RGM_BLOCKER_HANDLER_NS)
        return;
    /* dispatch-list: it stays until the runtime is freed. */
    blocker.name = dispatch != NULL ? dispatch->behaviour->name : NULL;
    add(list, &blocker);
}

static void
add_worker(struct list *list, struct rgm_worker *worker, bool stops,
           uint64_t now_ns)
{
    if (stops)
        add_handler(list, worker, now_ns);
    for (unsigned kind = 0; kind < RGM_BLOCKER_KINDS_COUNT; kind++) {
        const struct rgi_blocker *now = &worker->watch.now[kind];
        struct rgm_blocker blocker = {
            .worker = worker->number, .kind = (enum rgm_blocker_kind)kind};

        blocker.count = ck_pr_load_64(&now->count);
        if (blocker.count == 0)
            continue;
        blocker.age_ns = since(now_ns, ck_pr_load_64(&now->since_ns));
        blocker.name = ck_pr_load_ptr(&now->name);
        if (kind == RGM_BLOCKER_ACTOR)
            blocker.actor.bits = ck_pr_load_64(&worker->watch.actor);
        add(list, &blocker);
    }
}

static void
add_guests(struct list *list, struct rgm_runtime *runtime, uint64_t now_ns)
{
    struct rgm_blocker blocker = {.worker = RGM_ANY_WORKER,
                                  .kind = RGM_BLOCKER_GUEST};

    for (uint32_t i = 0; i < RGM_GUESTS_MAX / 64; i++)
        blocker.count += (uint64_t)__builtin_popcountll(
            ck_pr_load_64(&runtime->guests_taken[i]));
    blocker.age_ns = since(now_ns, ck_pr_load_64(&runtime->stop_ns));
    if (blocker.count != 0)
        add(list, &blocker);
}

static void
add_signal(struct list *list, struct rgm_runtime *runtime, uint64_t now_ns)
{
    struct rgm_blocker blocker = {
        .worker = RGM_ANY_WORKER, .kind = RGM_BLOCKER_SIGNAL, .count = 1};
    /* signal-busy: publishes nothing. */
    uint64_t busy_ns = ck_pr_load_64(&runtime->signals.busy_ns);

    if (busy_ns == 0)
        return;
    if (busy_ns < ck_pr_load_64(&runtime->stop_ns))
        busy_ns = ck_pr_load_64(&runtime->stop_ns);
    blocker.age_ns = since(now_ns, busy_ns);
    add(list, &blocker);
}

uint32_t
rgm_runtime_blockers(struct rgm_runtime *runtime,
                     struct rgm_blocker *ret_blockers, uint32_t room)
{
    struct list list = {ret_blockers, room, 0};
    uint64_t now_ns = rgi_clock_now();
    bool stops = ck_pr_load_32(&runtime->stop_requested) != 0;
    bool runs = ck_pr_load_32(&runtime->state) == RGI_RUNTIME_RUNNING;
    uint32_t count = runs ? rgi_numbers_known(runtime) : 0;
    /* runtime-live: publishes nothing. */
    uint64_t open = ck_pr_load_64(&runtime->open);

    for (uint32_t i = 0; i < count; i++)
        if (open & rgi_bit(i))
            add_worker(&list, runtime->workers[i], stops, now_ns);
    if (stops)
        add_guests(&list, runtime, now_ns);
    if (stops)
        add_signal(&list, runtime, now_ns);
    return list.count;
}

static void
add_given_up(struct list *list, const struct rgm_worker *worker)
{
    for (unsigned kind = 0; kind < RGM_BLOCKER_KINDS_COUNT; kind++) {
        const struct rgi_blocker *given = &worker->watch.given_up[kind];
        struct rgm_blocker blocker = {
            .worker = worker->number,
            .kind = (enum rgm_blocker_kind)kind,
            .count = ck_pr_load_64(&given->count),
            .age_ns = ck_pr_load_64(&given->since_ns),
            .name = ck_pr_load_ptr(&given->name)};

        if (blocker.count != 0)
            add(list, &blocker);
    }
}

uint32_t
rgi_blockers_given_up(struct rgm_runtime *runtime,
                      struct rgm_blocker *ret_blockers, uint32_t room)
{
    struct list list = {ret_blockers, room, 0};
    uint32_t count = rgi_numbers_known(runtime);

    for (uint32_t i = 0; i < count; i++)
        add_given_up(&list, runtime->workers[i]);
    return list.count;
}

void
rgm_blocker_describe(const struct rgm_blocker *blocker, char *text,
                     size_t size_bytes)
{
    static const char *const nouns[RGM_BLOCKER_KINDS_COUNT] = {
        "handler that does not return", "actor", "operation", "request",
        "kept request", "lent slot", "lease", "guest",
        "function called for a signal"};
    const char *noun = blocker->kind < RGM_BLOCKER_KINDS_COUNT
                           ? nouns[blocker->kind]
                           : "?";
    const char *plural = blocker->count == 1 ? "" : "s";
    char where[24] = "runtime";
    char which[64] = "";

    if (blocker->worker != RGM_ANY_WORKER)
        snprintf(where, sizeof(where), "worker %u", (unsigned)blocker->worker);
    if (blocker->name != NULL)
        snprintf(which, sizeof(which), " (%s)", blocker->name);
    snprintf(text, size_bytes, "%s: %llu %s%s%s, for %llu.%03llu s", where,
             (unsigned long long)blocker->count, noun, plural, which,
             (unsigned long long)(blocker->age_ns / RGM_NS_PER_S),
             (unsigned long long)(blocker->age_ns % RGM_NS_PER_S /
                                  RGM_NS_PER_MS));
}
