/* SPDX-License-Identifier: MIT */

/*
 * lane.c - how much may one worker have out with another?
 *
 * 1. A message is charged, in messages and bytes, to the lane of its sender
 *    with the destination of its first send, and credited when it is home.
 *    All of that happens at the sender's: no atomic, and memory is bounded by
 *    what senders may have out.
 * 2. A send that does not fit is refused. An ask waits in the lane's line,
 *    first in, first out; while anybody waits, nobody is let past.
 * 3. Credit lets the first in line go, as long as it fits.
 * 4. Who is cancelled leaves its line, and those behind it move up.
 *
 * A message larger than the whole limit passes when its lane is empty.
 * Forwards, replies, returns and control are charged nothing: they cannot be
 * refused, which is what keeps bounded lanes free of deadlock.
 *
 * Model: actors/models/lane.pml.
 */

#include "actors/lane.h"

void
rgi_lane_wait(struct rgm_worker *worker, struct rgm_message *message,
              uint32_t destination)
{
    uint16_t name;
    struct rgi_lane *lane = rgi_lane_of(worker, message, destination, &name);

    rgi_request_waits(rgi_request_of(message));
    rgi_chain_append(&lane->waiting, message);
    rgi_count(worker, lane_waits);
}

static inline uint32_t
destination_of(uint16_t name)
{
    return (name - 1u) / 2;
}

void
rgi_lane_advance(struct rgm_worker *worker, uint16_t name)
{
    struct rgi_lane *lane = &worker->lanes[name - 1];
    struct rgm_message *message = lane->waiting.first;

    while (message != NULL &&
           (lane->count == 0 || rgi_lane_fits(worker, lane, message))) {
        (void)rgi_chain_pop(&lane->waiting);
        rgi_lane_put(lane, message, name);
        rgi_request_goes(rgi_request_of(message));
        rgi_post(worker, message, destination_of(name));
        message = lane->waiting.first;
    }
}

static void
waiting_leave(struct rgm_worker *worker, struct rgi_chain *line)
{
    struct rgi_chain waiting = *line;
    struct rgm_message *message;

    line->first = NULL;
    while ((message = rgi_chain_pop(&waiting)) != NULL) {
        if (!(message->flags & RGI_MESSAGE_CANCELLED)) {
            rgi_chain_append(line, message);
            continue;
        }
        rgi_request_goes(rgi_request_of(message));
        rgi_send_home(worker, message, -ECANCELED);
    }
}

void
rgi_lanes_leave(struct rgm_worker *worker)
{
    for (struct rgi_hold *hold = worker->holds; hold != NULL; hold = hold->next)
        waiting_leave(worker, &hold->waiting);
    for (uint32_t i = 0; i < 2 * worker->workers_count; i++) {
        struct rgi_lane *lane = &worker->lanes[i];

        if (lane->waiting.first == NULL)
            continue;
        waiting_leave(worker, &lane->waiting);
        rgi_lane_advance(worker, (uint16_t)(i + 1)); /* may fit now */
    }
}

static void
lane_pull(struct rgi_lane *lane,
          bool (*wanted)(struct rgm_message *message, const void *context),
          const void *context, struct rgi_chain *ret_pulled)
{
    struct rgi_chain waiting = lane->waiting;
    struct rgm_message *message;

    lane->waiting.first = NULL;
    while ((message = rgi_chain_pop(&waiting)) != NULL)
        rgi_chain_append(wanted(message, context) ? ret_pulled : &lane->waiting,
                         message);
}

void
rgi_lanes_pull(struct rgm_worker *worker, uint32_t destination,
               bool (*wanted)(struct rgm_message *message,
                              const void *context),
               const void *context, struct rgi_chain *ret_pulled)
{
    for (uint32_t place = 2 * destination; place < 2 * destination + 2;
         place++) {
        struct rgi_lane *lane = &worker->lanes[place];

        if (lane->waiting.first == NULL)
            continue;
        lane_pull(lane, wanted, context, ret_pulled);
        rgi_lane_advance(worker, (uint16_t)(place + 1));
    }
}

void
rgi_hold_open(struct rgm_worker *worker, struct rgi_hold *hold)
{
    rgi_assert(hold->waiting.first == NULL);
    hold->next = worker->holds;
    worker->holds = hold;
}

static void
hold_close(struct rgm_worker *worker, struct rgi_hold *hold)
{
    struct rgi_hold **link = &worker->holds;

    while (*link != hold)
        link = &(*link)->next;
    *link = hold->next;
}

void
rgi_hold_release(struct rgm_worker *worker, struct rgi_hold *hold,
                 struct rgm_address to)
{
    uint32_t destination = rgm_address_worker(to);
    struct rgm_message *message;

    hold_close(worker, hold);
    while ((message = rgi_chain_pop(&hold->waiting)) != NULL) {
        message->to = to;
        rgi_request_goes(rgi_request_of(message));
        if (rgi_lane_enter(worker, message, destination))
            rgi_post(worker, message, destination); /* else on in that line */
    }
}

void
rgi_lane_credit_many(struct rgm_worker *worker, uint16_t name, uint32_t count,
                     uint32_t each_bytes)
{
    uint64_t bytes = (uint64_t)count * each_bytes;
    struct rgi_lane *lane;

    if (name == RGI_LANE_NONE)
        return;
    lane = &worker->lanes[name - 1];
    rgi_assert_slow(lane->count >= count && lane->bytes >= bytes);
    lane->count -= count;
    lane->bytes -= bytes;
    if (lane->waiting.first != NULL)
        rgi_lane_advance(worker, name);
}
