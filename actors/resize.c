/* SPDX-License-Identifier: MIT */

/*
 * resize.c - workers come and go while the program runs.
 *
 * Worker 0, which never retires, carries resizes out one after the other: it
 * alone changes which numbers are in use, so nothing here needs a lock.
 *
 *   grow    for each number: bell and worker (made once, or renewed), a thread.
 *           The thread opens its provider and its inbox, and reports (CAME).
 *           When all have come, each is ordered to meet the others (MEET): they
 *           lend each other slot numbers. When all have met, the numbers take
 *           placements, and the resize is answered. If one could not come, those
 *           that have are retired, and the resize is answered with the reason.
 *   shrink  the highest numbers take no placements any more, and are ordered to
 *           retire (RETIRE). When all have admitted it the resize is answered.
 *           A retiring worker drains by itself (turn.c), and recalls what it has
 *           lent (spawn.c). It closes when it is quiet, and its thread reports as
 *           the last thing it does (GONE). Then it is joined here, which takes
 *           no longer than a return from a function.
 *   dedicate  a worker that is one actor's (dedicated.c) comes as any other, but
 *           takes no placements: it lends a single number, with which the request
 *           is answered. It goes by itself.
 *
 * A stop that comes while orders are out waits for them, so all who have to
 * stop together are known; who retires meanwhile is not among them, and worker 0
 * is not quiet before they are gone. Models: actors/models/lease.pml, spawn.pml.
 */

#include "actors/runtime.h"

#include <ringmail/dedicated.h>
#include <ringmail/resize.h>

#include "capabilities/operation.h"

static inline struct rgm_operation *
operation_of(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_operation, link);
}

static inline struct rgm_resize *
resize_of(struct rgm_operation *operation)
{
    rgi_assert(operation->kind == RGM_OP_RESIZE);
    return rgi_container_of(operation, struct rgm_resize, operation);
}

/* The first of those that wait, or NULL; it is the one that is under way, if any
 * is. */
static inline struct rgm_operation *
first_of(const struct rgi_steward *steward)
{
    struct rgm_link *link = rgi_list_first(&steward->waiting);

    return link != NULL ? operation_of(link) : NULL;
}

static inline uint32_t
count_of(uint64_t numbers)
{
    return (uint32_t)__builtin_popcountll(numbers);
}

/* ---- what everybody may know ---- */

bool
rgi_number_learn(struct rgm_worker *worker, uint32_t number)
{
    /* runtime-numbers: publishes nothing to the one who only compares. */
    uint32_t used = ck_pr_load_32(&worker->runtime->numbers_used);

    worker->workers_count = used;
    return number < used;
}

uint64_t
rgi_live(const struct rgm_worker *worker)
{
    /* runtime-live: publishes nothing; what a number is comes by its inbox. */
    return ck_pr_load_64(&worker->runtime->live);
}

static void
live_set(struct rgm_runtime *runtime, uint64_t numbers)
{
    ck_pr_store_64(&runtime->live, numbers);
}

static void
open_set(struct rgm_runtime *runtime, uint64_t numbers)
{
    ck_pr_store_64(&runtime->open, numbers);
}

/* ---- a thread that comes and goes ---- */

/* Worker 0 is open as long as anybody has to report. */
static void
report(struct rgm_worker *worker, enum rgi_control what, int status)
{
    struct rgm_runtime *runtime = worker->runtime;
    struct rgm_message *node = &runtime->places[worker->number].report;
    int pushed;

    node->control = (uint8_t)what;
    node->status = status;
    pushed = rgi_inbox_push(&runtime->places[0].inbox, node, node);
    rgi_assert(pushed >= 0);
}

void
rgi_worker_gone(struct rgm_worker *worker)
{
    report(worker, RGI_CONTROL_GONE, 0);
}

static void *
come(void *argument)
{
    struct rgm_worker *worker = argument;
    char why[160];
    int status = rgi_worker_open(worker, why, sizeof(why));

    if (status != 0) {
        rgi_report_ended(worker->runtime);
        report(worker, RGI_CONTROL_CAME, status);
        return NULL;
    }
    rgi_inbox_open(worker->inbox);
    rgi_abroad_open(worker);
    report(worker, RGI_CONTROL_CAME, 0);
    rgi_worker_live(worker);
    return NULL;
}

/* ---- orders, at the worker that gets one ---- */

void
rgi_worker_met(struct rgm_worker *worker)
{
    struct rgm_message *order = worker->meeting;

    if (order == NULL || worker->notices_out > 0)
        return;
    for (uint32_t i = 0; i < worker->workers_count; i++)
        if (worker->loans[i].out)
            return;
    worker->meeting = NULL;
    rgi_post(worker, order, 0);
}

static void
meet(struct rgm_worker *worker, struct rgm_message *order)
{
    uint64_t peers = worker->runtime->places[worker->number].peers;

    worker->meeting = order;
    order->status = 0;
    if (worker->dedicated) {
        struct rgi_place *place = &worker->runtime->places[worker->number];

        rgi_spin_allow(worker, count_of(peers) + 1);
        order->status = rgi_dedicated_sit(worker, &place->seat);
        rgi_loans_borrow(worker, peers);
    } else {
        rgi_spin_allow(worker, count_of(peers));
        rgi_loans_meet(worker, peers);
    }
    rgi_worker_met(worker);
}

static void
retire(struct rgm_worker *worker, struct rgm_message *order)
{
    /* runtime-live: whoever may have borrowed is there since before. */
    uint64_t peers = ck_pr_load_64(&worker->runtime->open);

    worker->retiring = true;
    rgi_worker_drain(worker);
    rgi_loans_recall(worker, peers);
    rgi_post(worker, order, 0);
}

static void
order_send(struct rgm_worker *worker, uint32_t number, enum rgi_control what)
{
    struct rgm_message *order = &worker->runtime->places[number].order;

    worker->runtime->steward.orders++;
    order->control = (uint8_t)what;
    rgi_post(worker, order, number);
}

/* ---- answers ---- */

static void
answer(struct rgm_worker *worker, struct rgm_operation *operation, int status)
{
    rgi_list_remove(&operation->link);
    worker->attention = true;
    rgm_operation_complete(operation, status, &worker->turn);
}

/* The first of those that wait is in effect. */
static void
in_effect(struct rgm_worker *worker, struct rgm_resize *resize)
{
    struct rgi_steward *steward = &worker->runtime->steward;

    resize->numbers = steward->draining;
    if (!resize->until_gone || resize->numbers == 0) {
        answer(worker, &resize->operation, 0);
        return;
    }
    rgi_list_remove(&resize->operation.link);
    rgi_list_push_back(&steward->lingering, &resize->operation.link);
}

static void
answer_lingering(struct rgm_worker *worker)
{
    struct rgi_steward *steward = &worker->runtime->steward;
    struct rgm_link *link = steward->lingering.next;

    while (link != &steward->lingering) {
        struct rgm_resize *resize = resize_of(operation_of(link));

        link = link->next;
        if ((resize->numbers & steward->draining) == 0)
            answer(worker, &resize->operation, 0);
    }
}

static void
answer_waiting(struct rgm_worker *worker, int status)
{
    struct rgm_operation *operation;

    while ((operation = first_of(&worker->runtime->steward)) != NULL)
        answer(worker, operation, status);
}

/* ---- growing ---- */

static int
thread_make(struct rgm_runtime *runtime, uint32_t number, bool dedicated)
{
    int status = rgi_worker_prepare(runtime, number);

    if (status != 0)
        return status;
    runtime->workers[number]->dedicated = dedicated;
    /* runtime-running: one more, before there is a thread that could end. */
    ck_pr_inc_32(&runtime->running);
    open_set(runtime, runtime->open | rgi_bit(number));
    status = rgi_thread_create(runtime, number, come);
    if (status != 0) {
        open_set(runtime, runtime->open & ~rgi_bit(number));
        ck_pr_dec_32(&runtime->running); /* it was not the last */
    }
    return status;
}

static void
thread_join(struct rgm_runtime *runtime, uint32_t number)
{
    rgi_thread_join(runtime, number);
    open_set(runtime, runtime->open & ~rgi_bit(number));
}

static void
retire_all(struct rgm_worker *worker, uint64_t numbers)
{
    worker->runtime->steward.draining |= numbers;
    for (; numbers != 0; numbers &= numbers - 1)
        order_send(worker, (uint32_t)__builtin_ctzll(numbers),
                   RGI_CONTROL_RETIRE);
}

static void
grow_failed(struct rgm_worker *worker)
{
    struct rgi_steward *steward = &worker->runtime->steward;
    uint64_t numbers = steward->growing;

    steward->growing = 0;
    steward->seating = NULL;
    retire_all(worker, numbers);
    answer(worker, first_of(steward), steward->status);
}

static void
grow_all_came(struct rgm_worker *worker)
{
    struct rgm_runtime *runtime = worker->runtime;
    uint64_t numbers = runtime->steward.growing;

    if (runtime->steward.status != 0) {
        grow_failed(worker);
        return;
    }
    for (; numbers != 0; numbers &= numbers - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(numbers);

        runtime->places[number].peers =
            runtime->steward.seating != NULL
                ? runtime->live
                : runtime->live | runtime->steward.growing;
        order_send(worker, number, RGI_CONTROL_MEET);
    }
}

static void
grow(struct rgm_worker *worker, uint64_t numbers)
{
    struct rgi_steward *steward = &worker->runtime->steward;
    bool dedicated = steward->seating != NULL;

    steward->status = 0;
    for (; numbers != 0 && steward->status == 0; numbers &= numbers - 1) {
        uint32_t number = (uint32_t)__builtin_ctzll(numbers);

        steward->status = thread_make(worker->runtime, number, dedicated);
        if (steward->status != 0)
            break;
        steward->growing |= rgi_bit(number);
        if (dedicated)
            steward->dedicated |= rgi_bit(number);
        steward->to_come++;
    }
    if (steward->to_come == 0)
        grow_failed(worker);
}

static void
came(struct rgm_worker *worker, uint32_t number, int status)
{
    struct rgi_steward *steward = &worker->runtime->steward;

    if (status != 0) {
        steward->status = status;
        steward->growing &= ~rgi_bit(number);
        steward->dedicated &= ~rgi_bit(number);
        thread_join(worker->runtime, number);
    }
    if (--steward->to_come == 0)
        grow_all_came(worker);
}

/* The lowest numbers that are free; none while one of them still retires, or
 * too few are without actors that live elsewhere. */
static uint64_t
choose(const struct rgm_runtime *runtime, uint32_t count)
{
    uint64_t chosen = 0;

    for (uint32_t i = 0; i < runtime->places_count && count > 0; i++) {
        if ((runtime->live | runtime->steward.dedicated) & rgi_bit(i))
            continue;
        if (runtime->steward.draining & rgi_bit(i))
            return 0;
        if (runtime->steward.named & rgi_bit(i))
            continue;
        chosen |= rgi_bit(i);
        count--;
    }
    return count == 0 ? chosen : 0;
}

/* ---- shrinking ---- */

static uint64_t
highest(uint64_t numbers, uint32_t count)
{
    while (count_of(numbers) > count)
        numbers &= numbers - 1;
    return numbers;
}

static void
shrink(struct rgm_worker *worker, uint64_t numbers)
{
    struct rgm_runtime *runtime = worker->runtime;

    live_set(runtime, runtime->live & ~numbers);
    rgi_spin_allow(worker, count_of(runtime->live));
    retire_all(worker, numbers);
}

static void
forget(struct rgm_worker *worker, uint32_t number)
{
    rgi_forwards_free(worker->runtime, number);
    worker->runtime->steward.named &= ~rgi_bit(number);
}

/* A number is not used again while somebody lives whose name it is in. */
static void
gone(struct rgm_worker *worker, uint32_t number)
{
    thread_join(worker->runtime, number);
    worker->runtime->steward.draining &= ~rgi_bit(number);
    worker->runtime->steward.dedicated &= ~rgi_bit(number);
    worker->runtime->steward.named |= rgi_bit(number);
    if (rgi_forwards_worker_gone(worker->runtime, number))
        forget(worker, number);
    answer_lingering(worker);
}

/* ---- one after the other ---- */

static bool
is_busy(const struct rgi_steward *steward)
{
    return steward->growing != 0 || steward->orders > 0;
}

/* Whoever asks may not wait for the end of his own worker. */
static bool
waits_for_itself(const struct rgm_resize *resize, uint64_t retiring)
{
    uint32_t asker =
        rgm_address_worker(resize->operation.request.message.from);

    return resize->until_gone && asker < RGM_WORKERS_MAX &&
           (retiring & rgi_bit(asker)) != 0;
}

/* Every number is somebody's, who does not go to let another one come. */
static bool
is_full(const struct rgm_runtime *runtime)
{
    return count_of(runtime->live | runtime->steward.dedicated) ==
           runtime->places_count;
}

static void
begin_seating(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_runtime *runtime = worker->runtime;
    uint64_t number = choose(runtime, 1);

    if (number == 0)
        return;
    runtime->steward.seating =
        rgi_container_of(operation, struct rgm_dedicate, operation);
    grow(worker, number);
}

/* Whose turn it is, brought to the front. One that asks for a number where there
 * is none lets resizes pass. */
static struct rgm_operation *
next_in_line(struct rgm_runtime *runtime)
{
    struct rgm_link *list = &runtime->steward.waiting;
    struct rgm_link *link = list->next;

    while (link != list && operation_of(link)->kind == RGM_OP_DEDICATE &&
           is_full(runtime))
        link = link->next;
    if (link == list)
        return NULL;
    if (link != list->next) {
        rgi_list_remove(link);
        rgi_list_push_front(list, link);
    }
    return operation_of(link);
}

/* Begin a resize, as far as it can be begun. */
static void
begin_resize(struct rgm_worker *worker, struct rgm_resize *resize)
{
    struct rgm_runtime *runtime = worker->runtime;
    uint32_t count = count_of(runtime->live);
    uint32_t wanted = resize->workers_count;
    uint64_t to_go = wanted < count ? highest(runtime->live, count - wanted)
                                    : 0;
    uint64_t to_come = wanted > count ? choose(runtime, wanted - count) : 0;

    if (waits_for_itself(resize, to_go | runtime->steward.draining)) {
        answer(worker, &resize->operation, -EDEADLK);
    } else if (wanted == count) {
        in_effect(worker, resize);
    } else if (to_go != 0) {
        resize->in_effect = true;
        shrink(worker, to_go);
    } else if (to_come != 0) {
        resize->in_effect = true;
        grow(worker, to_come);
    }
}

static void
stop_now(struct rgm_worker *worker)
{
    answer_waiting(worker, -EPIPE);
    rgi_stop_distribute(worker->runtime);
}

static void
step(struct rgm_worker *worker)
{
    struct rgi_steward *steward = &worker->runtime->steward;
    struct rgm_operation *first;

    if (is_busy(steward))
        return;
    if (steward->stop_waits) {
        steward->stop_waits = false;
        stop_now(worker);
        rgi_worker_drain(worker);
        return;
    }
    while (!is_busy(steward) &&
           (first = next_in_line(worker->runtime)) != NULL) {
        if (first->kind == RGM_OP_DEDICATE)
            begin_seating(worker, first);
        else
            begin_resize(worker, resize_of(first));
        if (first == first_of(steward))
            return; /* under way, or it waits for a number */
    }
}

/* The worker for one actor is there: its order brings the seat. */
static void
seated(struct rgm_worker *worker, uint32_t number, int status)
{
    struct rgi_steward *steward = &worker->runtime->steward;
    struct rgm_dedicate *dedicate = steward->seating;

    steward->seating = NULL;
    steward->growing = 0;
    dedicate->seat = worker->runtime->places[number].seat;
    if (status != 0)
        retire_all(worker, rgi_bit(number));
    answer(worker, &dedicate->operation, status);
    step(worker);
}

static void
order_home(struct rgm_worker *worker, const struct rgm_message *order)
{
    struct rgm_runtime *runtime = worker->runtime;
    struct rgi_steward *steward = &runtime->steward;
    struct rgm_operation *first = first_of(steward);

    if (--steward->orders > 0)
        return;
    if (steward->seating != NULL) {
        seated(worker, rgm_address_worker(order->to), order->status);
        return;
    }
    live_set(runtime, runtime->live | steward->growing);
    rgi_spin_allow(worker, count_of(runtime->live));
    steward->growing = 0;
    if (first != NULL && first->kind == RGM_OP_RESIZE &&
        resize_of(first)->in_effect)
        in_effect(worker, resize_of(first));
    step(worker);
}

void
rgi_resize_control(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t number = rgm_address_worker(message->from);

    if (message->control == RGI_CONTROL_CAME) {
        came(worker, number, message->status);
        step(worker);
    } else if (message->control == RGI_CONTROL_GONE) {
        gone(worker, number);
        step(worker);
    } else if (worker->number == 0) {
        order_home(worker, message);
    } else if (message->control == RGI_CONTROL_MEET) {
        meet(worker, message);
    } else {
        retire(worker, message);
    }
}

void
rgi_resize_forget(struct rgm_worker *worker, struct rgm_message *message)
{
    forget(worker, rgm_address_worker(message->from));
    step(worker);
}

bool
rgi_resize_stop(struct rgm_worker *worker)
{
    struct rgi_steward *steward = &worker->runtime->steward;

    steward->stop_waits = is_busy(steward);
    if (steward->stop_waits)
        return false;
    stop_now(worker);
    return true;
}

bool
rgi_resize_idle(const struct rgm_worker *worker)
{
    const struct rgi_steward *steward = &worker->runtime->steward;

    return worker->number != 0 ||
           (steward->draining == 0 && steward->named == 0 &&
            steward->dedicated == 0 && !is_busy(steward));
}

/* ---- the request ---- */

/* Stand in line, at worker 0. */
static int
line_up(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgi_steward *steward = &worker->runtime->steward;
    int status;

    if (worker->draining || steward->stop_waits)
        return -EPIPE;
    status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    rgi_list_push_back(&steward->waiting, &operation->link);
    step(worker);
    return 0;
}

int
rgi_resize_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgm_resize *resize = resize_of(operation);

    if (worker->number != 0 ||
        resize->workers_count > worker->runtime->places_count)
        return -EINVAL;
    resize->in_effect = false;
    resize->numbers = 0;
    return line_up(worker, operation);
}

int
rgi_dedicate_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    rgi_assert(worker->number == 0); /* it is asked of nobody else */
    return line_up(worker, operation);
}

/* One that waits is taken out; one that is under way is not undone; one that
 * only waits for the end of others need not. */
void
rgi_resize_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgi_steward *steward = &worker->runtime->steward;
    bool begun = operation->kind == RGM_OP_DEDICATE
                     ? steward->seating != NULL
                     : resize_of(operation)->in_effect;

    if ((begun && first_of(steward) == operation) ||
        !rgi_operation_stop(operation))
        return;
    answer(worker, operation, -ECANCELED);
    step(worker);
}

int
rgm_runtime_resize(struct rgm_runtime *runtime, uint32_t workers_count)
{
    struct rgm_resize resize;

    rgm_resize_to(&resize, workers_count);
    return rgm_call(runtime, &resize);
}
