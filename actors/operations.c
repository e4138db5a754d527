/* SPDX-License-Identifier: MIT */

/*
 * operations.c - a worker carries out what it is asked: capabilities.
 *
 * 1. An operation reaches its worker: at once when asked there, else as mail.
 * 2. A sleep is armed in the worker's timer queue, an acquire stands in line
 *    (acquire.c); everything else is handed to the provider. A refusal is an
 *    answer like any other.
 * 3. What has completed is collected in `turn`: by the provider's wait, and
 *    from the due timers. Nothing of the user's runs meanwhile.
 * 4. Then the list is delivered: an asker on this worker gets its answer in
 *    its line, one elsewhere gets the request home.
 *
 * Cancelling marks the operation and tells the provider, or takes the sleep
 * back; the answer comes by the same road. What was asked from elsewhere is
 * cancelled when the worker drains, and told -EPIPE. What is for a handle of
 * another runtime goes there (abroad.c).
 */

#include "actors/reader.h"
#include "actors/runtime.h"
#include "actors/writer.h"

#include <ringmail/job.h>

#include <ringmail/scope.h>

#include "capabilities/detach.h"
#include "capabilities/operation.h"
#include "capabilities/stream.h"

#define LATE_NS RGM_NS_PER_MS

static inline struct rgm_sleep *
sleep_of(struct rgm_operation *operation)
{
    return rgi_container_of(operation, struct rgm_sleep, operation);
}

/* Of a sleep or a reusable timer. */
static inline struct rgi_timer *
timer_of(struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_TIMER)
        return rgi_timer_armed(
            rgi_container_of(operation, struct rgm_timer, operation));
    _Static_assert(sizeof(struct rgi_timer) <=
                       sizeof(((struct rgm_sleep *)0)->timer),
                   "a sleep has room for its timer");
    return (struct rgi_timer *)(void *)sleep_of(operation)->timer;
}

static int
sleep_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    /* Not the turn's time: a sleep counts from its ask, and is never early. */
    uint64_t now_ns = worker->provider->ops->now(worker->provider);
    uint64_t deadline_ns;
    int status = rgi_sleep_deadline(sleep_of(operation), now_ns,
                                    &deadline_ns);

    if (status != 0)
        return status;
    if (!rgi_timer_has_room(worker))
        return -EAGAIN;
    status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    worker->timers_held++;
    *timer_of(operation) = (struct rgi_timer){.deadline_ns = 0};
    rgi_timers_arm(worker->timers, timer_of(operation), deadline_ns);
    return 0;
}

static inline bool
waits_for_time(const struct rgm_operation *operation)
{
    return operation->kind == RGM_OP_SLEEP || operation->kind == RGM_OP_TIMER;
}

static inline bool
asked_here(const struct rgm_worker *worker, const struct rgm_message *message)
{
    return rgm_address_worker(message->from) == worker->number;
}

bool
rgi_operation_is_cleanup(const struct rgm_message *message)
{
    const struct rgm_operation *operation =
        rgi_container_of((struct rgm_message *)(uintptr_t)message,
                         struct rgm_operation, request.message);

    return operation->kind == RGM_OP_CLOSE ||
           operation->kind == RGM_OP_SHUTDOWN ||
           operation->kind == RGM_OP_SCOPE_CLOSE ||
           operation->kind == RGM_OP_WRITER_CLOSE ||
           operation->kind == RGM_OP_READER_CLOSE ||
           operation->kind == RGM_OP_LANE_CLOSE ||
           operation->kind == RGM_OP_CANCEL ||
           operation->kind == RGM_OP_RETIME ||
           operation->kind == RGM_OP_FILE_ADVISE ||
           (operation->kind == RGM_OP_TIMER &&
            ((const struct rgm_timer *)(const void *)operation)->releases) ||
           (rgi_operation_is_job(operation) &&
            ((const struct rgm_job *)(const void *)operation)->cleanup);
}

/* A handle remembers the worker it is of, in the address it was opened at: not
 * the number alone, but whoever had it then. An address that anybody can make
 * names whoever is asked. */
static bool
is_of_this_worker(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t identity = worker->identity;
    uint32_t named = rgi_address_generation(message->to);

    if (named == rgi_address_generation(rgm_worker_address(0)))
        message->to = rgi_address_make(worker->number, 0, identity);
    return rgi_address_generation(message->to) == identity;
}

static inline bool
is_of_a_writer(const struct rgm_operation *operation)
{
    return operation->kind >= RGM_OP_SUBMIT &&
           operation->kind <= RGM_OP_WRITER_CLOSE;
}

static inline bool
is_of_a_reader(const struct rgm_operation *operation)
{
    return operation->kind >= RGM_OP_NEXT &&
           operation->kind <= RGM_OP_READER_CLOSE;
}

/* Returns: 0: it is out. Positive: it was done at once. */
static int
start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_SLEEP)
        return sleep_start(worker, operation);
    if (operation->kind == RGM_OP_TIMER)
        return rgi_timer_start(worker, operation);
    if (operation->kind == RGM_OP_RESIZE)
        return rgi_resize_start(worker, operation);
    if (operation->kind == RGM_OP_DEDICATE)
        return rgi_dedicate_start(worker, operation);
    if (operation->kind == RGM_OP_DRAIN)
        return rgi_drain_start(worker, operation);
    if (operation->kind == RGM_OP_ACQUIRE)
        return rgi_acquire_start(worker, operation);
    if (operation->kind == RGM_OP_LEASE_HOLDERS)
        return rgi_lease_holders_start(worker, operation);
    if (rgi_job_lend(worker->provider, operation))
        return rgi_job_start(worker, operation);
    if (operation->kind == RGM_OP_TIMEOUT)
        return rgi_timeout_start(worker, operation);
    if (operation->kind == RGM_OP_SCOPE_CLOSE)
        return rgi_scope_close_start(worker, operation);
    if (is_of_a_writer(operation))
        return rgi_writer_start(worker, operation);
    if (is_of_a_reader(operation))
        return rgi_reader_start(worker, operation);
    if (operation->kind == RGM_OP_COLLECT)
        return rgi_collect_start(worker, operation);
    if (operation->kind == RGM_OP_LANE_CLOSE)
        return rgi_lane_close_start(worker, operation);
    if (operation->kind == RGM_OP_DETACH)
        rgi_detach_of(operation)->detached.origin = rgi_origin(worker->runtime);
    if (worker->failure != 0)
        return worker->failure;
    if (operation->kind == RGM_OP_READ_POOLED &&
        rgi_read_pooled_of(operation)->pool == NULL)
        return rgi_storage_start(worker, operation);
    return rgi_operation_start(operation, worker->provider);
}

/* Not to be done here; by another runtime's worker, perhaps. */
static void
leave_or_refuse(struct rgm_worker *worker, struct rgm_message *message,
                int status)
{
    if (!rgi_abroad_leaves(worker, message))
        rgi_send_home(worker, message, status);
}

void
rgi_operate(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_operation *operation = rgm_operation_of(message);
    bool here = asked_here(worker, message);
    int status;

    if (message->flags & RGI_MESSAGE_CANCELLED) {
        rgi_send_home(worker, message, -ECANCELED);
        return;
    }
    if (rgi_command(worker, message, here))
        return;
    if (!here && worker->draining &&
        (operation->kind != RGM_OP_LEASE_HOLDERS || worker->counted_quiet)) {
        leave_or_refuse(worker, message, -EPIPE);
        return;
    }
    if (!here && rgi_deadline_has_come(worker, message)) {
        rgi_send_home(worker, message, -ETIMEDOUT);
        return;
    }
    if (!is_of_this_worker(worker, message)) {
        leave_or_refuse(worker, message, -EINVAL);
        return;
    }
    rgi_count(worker, operations);
    status = start(worker, operation);
    if (status != 0) {
        rgi_send_home(worker, message, status < 0 ? status : 0);
        return;
    }
    message->state = RGI_AT_PROVIDER;
    worker->operations_out++;
    worker->entries_new = true;
    worker->attention = true;
    if (here) {
        operation->number = 0;
    } else {
        rgi_name_add(worker, operation);
        rgi_list_push_back(&worker->remote, &operation->remote);
        worker->remote_count++;
    }
}

bool
rgi_operate_here(struct rgm_worker *worker, struct rgm_message *message)
{
    int refused = rgi_operation_refused(rgm_operation_of(message));

    if (refused != 0)
        rgi_send_home(worker, message, refused);
    else if (rgm_address_worker(message->to) == worker->number)
        rgi_operate(worker, message);
    else
        return false;
    return true;
}

int
rgi_sleep_retime(struct rgm_worker *worker, struct rgm_operation *operation,
                 uint64_t deadline_ns)
{
    if (!waits_for_time(operation))
        return -EINVAL;
    if (operation->state != RGM_OPERATION_SUBMITTED ||
        timer_of(operation)->deadline_ns <=
            worker->provider->ops->now(worker->provider) ||
        !rgi_timers_cancel(worker->timers, timer_of(operation)))
        return -ESRCH;
    worker->attention = true;
    rgi_timers_arm(worker->timers, timer_of(operation), deadline_ns);
    return 0;
}

/* The state belongs to the worker that carries the operation out. */
static void
cancel_here(struct rgm_worker *worker, struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_RESIZE ||
        operation->kind == RGM_OP_DEDICATE) {
        rgi_resize_cancel(worker, operation);
        return;
    }
    if (operation->kind == RGM_OP_DRAIN) {
        rgi_drain_cancel(worker, operation);
        return;
    }
    if (operation->kind == RGM_OP_ACQUIRE) {
        rgi_acquire_cancel(worker, operation);
        return;
    }
    if (operation->kind == RGM_OP_TIMEOUT) {
        rgi_timeout_cancel(worker, operation);
        return;
    }
    if (operation->kind == RGM_OP_SCOPE_CLOSE ||
        operation->kind == RGM_OP_LANE_CLOSE)
        return; /* clean-up */
    if (is_of_a_writer(operation)) {
        rgi_writer_cancel(worker, operation);
        return;
    }
    if (is_of_a_reader(operation)) {
        rgi_reader_cancel(worker, operation);
        return;
    }
    if (operation->kind == RGM_OP_COLLECT) {
        rgi_collect_cancel(worker, operation);
        return;
    }
    if (rgi_operation_is_job(operation)) {
        rgi_job_cancel(worker, operation);
        return;
    }
    if (!waits_for_time(operation)) {
        if (worker->failure != 0)
            return;
        worker->entries_new = true;
        worker->attention = true;
        rgi_operation_cancel(operation, worker->provider);
        return;
    }
    if (timer_of(operation)->deadline_ns <=
        worker->provider->ops->now(worker->provider))
        return; /* its time had come before: that is what will be told */
    if (rgi_operation_stop(operation) &&
        rgi_timers_cancel(worker->timers, timer_of(operation))) {
        worker->attention = true;
        rgm_operation_complete(operation, -ECANCELED, &worker->turn);
    }
}

void
rgi_operate_cancel(struct rgm_worker *worker, struct rgm_message *message)
{
    cancel_here(worker, rgm_operation_of(message));
}

/* ---- a provider that has ended ---- */

/* Whether the provider has one of ours: what it had to hand over was
 * completed. */
static bool
provider_has(const struct rgm_operation *operation)
{
    const struct rgm_message *message = &operation->request.message;

    return message->type->kind == RGM_KIND_OPERATION &&
           message->state == RGI_AT_PROVIDER &&
           !rgi_operation_is_own(operation) &&
           (operation->state == RGM_OPERATION_SUBMITTED ||
            operation->state == RGM_OPERATION_CANCELLING);
}

/* What `holder` does not say is ours is not looked at. */
static bool
is_at_provider(const struct rgm_worker *worker,
               const struct rgm_operation *operation)
{
    return rgi_holder(&operation->request.message) == worker->number &&
           provider_has(operation);
}

static void
lose_asked_in(struct rgm_worker *worker, struct rgm_link *list)
{
    struct rgm_link *link = list->next;

    while (link != list) {
        struct rgm_request *request =
            rgi_container_of(link, struct rgm_request, scope.link);

        link = link->next;
        if (!is_at_provider(
                worker,
                rgi_container_of(request, struct rgm_operation, request)))
            continue;
        rgi_lane_lost(worker, rgm_operation_of(&request->message));
        rgi_name_remove(rgm_operation_of(&request->message));
        worker->operations_out--;
        worker->messages_out--;
        rgi_request_lost(worker, request);
        link = list->next; /* others may have left with it */
    }
}

static void
lose_asked_by(struct rgm_worker *worker, struct rgm_actor *actor)
{
    lose_asked_in(worker, &actor->scope);
    for (struct rgm_scope *scope = actor->scopes; scope != NULL;
         scope = scope->next)
        lose_asked_in(worker, &scope->requests);
}

/* Asked from elsewhere, or from here by who has left. The header is ours, whoever
 * writes to the rest: it tells the asker. Returns: how many. */
static uint32_t
lose_listed(struct rgm_worker *worker, struct rgm_link *list)
{
    struct rgm_link *link = list->next;
    uint32_t count = 0;

    while (link != list) {
        struct rgm_operation *operation =
            rgi_container_of(link, struct rgm_operation, remote);

        link = link->next;
        if (!provider_has(operation))
            continue;
        rgi_name_remove(operation);
        rgi_list_remove(&operation->remote);
        worker->operations_out--;
        count++;
        operation->request.message.flags |= RGI_MESSAGE_LOST;
        rgi_send_home(worker, &operation->request.message, worker->failure);
    }
    return count;
}

void
rgi_operations_lose(struct rgm_worker *worker)
{
    for (uint32_t i = 1; i <= worker->slots.last; i++) {
        struct rgi_slot *slot = rgi_slot_at(&worker->slots, i);

        if (slot->state == RGI_SLOT_LIVE)
            lose_asked_by(worker, slot->u.actor);
    }
    worker->remote_count -= lose_listed(worker, &worker->remote);
    (void)lose_listed(worker, &worker->strays); /* those are not counted */
    lose_asked_in(worker, &worker->janitor.scope);
    rgi_writers_lose(worker);
    rgi_readers_lose(worker);
}

void
rgi_operate_close(struct rgm_worker *worker)
{
    struct rgm_link *link = worker->remote.next;

    while (link != &worker->remote) {
        struct rgm_link *next = link->next;

        cancel_here(worker,
                    rgi_container_of(link, struct rgm_operation, remote));
        link = next;
    }
}

static inline struct rgm_operation *
operation_of(struct rgi_timer *timer)
{
    uint64_t *words = (uint64_t *)(void *)timer;

    return timer->kind == RGI_TIMER_REUSED
               ? &rgi_container_of(words, struct rgm_timer, armed)->operation
               : &rgi_container_of(words, struct rgm_sleep, timer)->operation;
}

void
rgi_timers_turn(struct rgm_worker *worker)
{
    struct rgi_timer *timer;
    uint64_t now_ns = rgi_now(worker);
    bool waits = false;

    rgi_timers_collect(worker->timers, now_ns, worker->quota, &worker->due);
    while ((timer = rgi_timers_pop(&worker->due)) != NULL) {
        if (timer->kind == RGI_TIMER_DEADLINE) {
            waits |= rgi_deadline_expired(worker, timer);
            continue;
        }
        if (timer->kind == RGI_TIMER_TIMEOUT) {
            rgi_timeout_expired(worker, timer);
            continue;
        }
        rgi_count(worker, timers_fired);
        if (now_ns - timer->deadline_ns > LATE_NS)
            rgi_count(worker, timers_late);
        rgm_operation_complete(operation_of(timer), 0, &worker->turn);
    }
    if (waits)
        rgi_lanes_leave(worker);
}

static void
deliver(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_operation *operation = rgm_operation_of(message);

    rgi_traffic_count(worker, operation);
    rgi_operation_home(operation);
    rgi_name_remove(operation);
    worker->operations_out--;
    if (waits_for_time(operation))
        rgi_timer_home(worker, operation);
    if (asked_here(worker, message)) {
        if (__builtin_expect(worker->strays_out != 0, 0) &&
            rgi_request_is_stray(&operation->request))
            rgi_list_remove(&operation->remote);
        rgi_come_home(worker, message);
        return;
    }
    rgi_list_remove(&operation->remote);
    worker->remote_count--;
    if (worker->draining && message->status == -ECANCELED &&
        !(message->flags & RGI_MESSAGE_CANCELLED))
        message->status = -EPIPE; /* not its asker's wish: we close */
    rgi_send_home(worker, message, message->status);
}

void
rgi_completions_deliver(struct rgm_worker *worker)
{
    struct rgm_message *message = worker->turn.first;

    worker->turn.first = NULL;
    worker->turn.last = NULL;
    worker->turn.count = 0;
    while (message != NULL) {
        struct rgm_message *next = message->next;

        deliver(worker, message);
        message = next;
    }
}
