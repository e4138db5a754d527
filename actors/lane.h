/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_LANE_H
#define RGI_ACTORS_LANE_H

/*
 * lane.h - may this message go?
 *
 * What every send asks and every return gives back, in place; who waits is in
 * lane.c.
 */

#include <errno.h>

#include "actors/worker.h"

/* The lanes with a destination lie side by side: the ordinary one, and that of
 * types answered late. A lane's name is its place, from 1. */
static inline struct rgi_lane *
rgi_lane_of(struct rgm_worker *worker, const struct rgm_message *message,
            uint32_t destination, uint16_t *ret_name)
{
    uint32_t place = 2 * destination + message->type->late;

    *ret_name = (uint16_t)(place + 1);
    return &worker->lanes[place];
}

/* Behind what is out; where nothing is, everything passes. */
static inline bool
rgi_lane_fits(const struct rgm_worker *worker, const struct rgi_lane *lane,
              const struct rgm_message *message)
{
    return lane->count < worker->lane_messages &&
           lane->bytes + message->charged_bytes <= worker->lane_bytes;
}

static inline void
rgi_lane_put(struct rgi_lane *lane, struct rgm_message *message, uint16_t name)
{
    lane->count++;
    lane->bytes += message->charged_bytes;
    message->lane = name;
}

static inline int
rgi_lane_charge_on(struct rgm_worker *worker, struct rgi_lane *lane,
                   struct rgm_message *message, uint16_t name)
{
    /* Nobody waits where nothing is out. */
    if (lane->count != 0 &&
        (lane->waiting.first != NULL || !rgi_lane_fits(worker, lane, message)))
        return -EAGAIN;
    rgi_assert_slow(lane->waiting.first == NULL);
    rgi_lane_put(lane, message, name);
    return 0;
}

/* Charge, or say why not: -EAGAIN. */
static inline int
rgi_lane_charge(struct rgm_worker *worker, struct rgm_message *message,
                uint32_t destination)
{
    uint16_t name;
    struct rgi_lane *lane = rgi_lane_of(worker, message, destination, &name);

    return rgi_lane_charge_on(worker, lane, message, name);
}

/* The same, to the lane of what is answered late, whatever its type. */
static inline int
rgi_lane_charge_late(struct rgm_worker *worker, struct rgm_message *message,
                     uint32_t destination)
{
    uint32_t place = 2 * destination + 1;

    return rgi_lane_charge_on(worker, &worker->lanes[place], message,
                              (uint16_t)(place + 1));
}

/* Charge an ask, or let it wait in line: false. */
static inline bool
rgi_lane_enter(struct rgm_worker *worker, struct rgm_message *message,
               uint32_t destination)
{
    if (__builtin_expect(rgi_lane_charge(worker, message, destination) == 0, 1))
        return true;
    rgi_lane_wait(worker, message, destination);
    return false;
}

/* Credit what came home, and send on those who waited for it. */
static inline void
rgi_lane_credit(struct rgm_worker *worker, struct rgm_message *message)
{
    uint16_t name = message->lane;
    struct rgi_lane *lane = &worker->lanes[name - 1];

    if (name == RGI_LANE_NONE)
        return;
    message->lane = RGI_LANE_NONE;
    rgi_assert_slow(lane->count > 0 && lane->bytes >= message->charged_bytes);
    lane->count--;
    lane->bytes -= message->charged_bytes;
    if (__builtin_expect(lane->waiting.first != NULL, 0))
        rgi_lane_advance(worker, name);
}

#endif /* RGI_ACTORS_LANE_H */
