/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_WATCH_H
#define RINGMAIL_WATCH_H

/*
 * watch.h - being told that an actor has ended.
 *
 *     struct boss { struct rgm_actor actor; struct rgm_down down; };
 *     RGM_ANSWER(boss, rgm_down, boss_down);
 *
 *     rgm_monitor(self, &self->down, worker, RGM_REPLY(boss, rgm_down, boss_down));
 *
 * A monitor is a request that is answered by an end. Like every request it is
 * answered exactly once: when the actor ends, however it does; at once, when
 * nobody is at the address (any more); with -ECANCELED, when the watcher has
 * changed its mind or stops. The actor may be on any worker, and still on its
 * way there. The answer comes after everything the dead actor sent to the
 * watcher.
 *
 * The record is the watcher's, so telling needs no memory and cannot fail; it
 * is charged to no allowance.
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/end.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A place among those who watch one actor; the fields are the runtime's. */
struct rgm_watcher {
    struct rgm_link others;   /* who watch the same one */
    struct rgm_watcher *next; /* the first watcher of another one */
    struct rgm_message *message;
};

struct rgi_name;

/* One monitor. */
struct rgm_down {
    struct rgm_request request;
    struct rgm_end end; /* how it ended: in the answer, when its status is 0 */
    struct rgm_watcher watcher;
    bool is_child; /* see supervisor.h: a cancel stops the watched one */
    struct rgi_name *named; /* the runtime's: see context.h */
};

/* Whom it watched. For a record at home, and in its answer: while it is out the
 * name is written by the watched one's worker. */
static inline struct rgm_address
rgm_down_who(const struct rgm_down *down)
{
    return down->request.message.to;
}

/*
 * Watch an actor.
 *
 * Answer:  status 0 and down->end; -ECANCELED after rgm_demonitor, or when the
 *          watcher stops. An end's parcel is the watcher's to drop.
 * Owns:    the record is the runtime's until its answer is delivered.
 * Cost:    no allocation that could fail it, no system call.
 */
#define rgm_monitor(self_, down, who, reply)                                  \
    (RGM_SAME_TYPE((self_), (reply).self),                                    \
     RGM_SAME_TYPE((down), (reply).record),                                   \
     rgm_monitor_actor(&(self_)->actor, (down), (who), (reply).function))
RGM_API void rgm_monitor_actor(struct rgm_actor *self, struct rgm_down *down,
                               struct rgm_address who,
                               rgm_answer_function *answer);

/*
 * Watch no longer. The answer still comes, once: -ECANCELED, or the end, when
 * that was quicker. It is rgm_cancel by another name.
 */
#define rgm_demonitor(self, down)                                             \
    rgm_cancel_request(&(self)->actor, &(down)->request)

/*
 * Spawn and watch in one step, so that also the end of one that ends at once is
 * told as it was. As rgm_spawn_on, or with RGM_ANY_WORKER as rgm_spawn_next.
 *
 * Returns: as rgm_spawn_on; on an error there will be no answer.
 */
#define rgm_spawn_watched(self_, worker, behaviour, argument, down, reply,    \
                          ret_address)                                        \
    (RGM_SAME_TYPE((self_), (reply).self),                                    \
     RGM_SAME_TYPE((down), (reply).record),                                   \
     rgm_spawn_watched_actor(&(self_)->actor, (worker), (behaviour),          \
                             (argument), (down), (reply).function,            \
                             (ret_address)))
RGM_API RGM_MUST_USE int rgm_spawn_watched_actor(
    struct rgm_actor *self, uint32_t worker,
    const struct rgm_behaviour *behaviour, const void *argument,
    struct rgm_down *down, rgm_answer_function *answer,
    struct rgm_address *ret_address);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_WATCH_H */
