/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_SUPERVISOR_H
#define RINGMAIL_SUPERVISOR_H

/*
 * supervisor.h - actors that end with the one that spawned them, and actors
 * that are spawned again when they end.
 *
 *     static const struct rgm_child children[] = {
 *         {.name = "store", .behaviour = &store, .worker = RGM_ANY_WORKER},
 *         {.name = "front", .behaviour = &front, .worker = 0},
 *     };
 *     static const struct rgm_supervisor_options options = {
 *         .strategy = RGM_REST_FOR_ONE, RGM_CHILDREN(children)};
 *
 *     status = rgm_spawn(self, &rgm_supervisor, &options, &address);
 *
 * A child is watched by its parent (watch.h). A parent that stops, however,
 * first stops its children and waits for their ends; so whole trees go, over
 * any number of workers, and `stopped` of a parent runs after its children's.
 *
 * A supervisor is a ready-made parent: it starts its children in the order of
 * the list, stops them in the reverse order, one after the other, and starts
 * again what ends too early. When that happens too often it gives up: it stops
 * the others and ends itself, with the fault or status of the last one to end,
 * for its own supervisor to see.
 *
 * Thread: owner.
 */

#include <ringmail/runtime.h>
#include <ringmail/watch.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * As rgm_spawn_watched, and the actor is a child: rgm_demonitor, or a stop of
 * the parent, stops it, and the answer is its end.
 */
#define rgm_spawn_child(self_, worker, behaviour, argument, down, reply,      \
                        ret_address)                                          \
    (RGM_SAME_TYPE((self_), (reply).self),                                    \
     RGM_SAME_TYPE((down), (reply).record),                                   \
     rgm_spawn_child_actor(&(self_)->actor, (worker), (behaviour),            \
                           (argument), (down), (reply).function,              \
                           (ret_address)))
RGM_API RGM_MUST_USE int rgm_spawn_child_actor(
    struct rgm_actor *self, uint32_t worker,
    const struct rgm_behaviour *behaviour, const void *argument,
    struct rgm_down *down, rgm_answer_function *answer,
    struct rgm_address *ret_address);

/* When a child is started again. */
enum rgm_restart {
    RGM_RESTART_ALWAYS,
    RGM_RESTART_FAILED, /* unless it is done with status 0 */
    RGM_RESTART_NEVER
};

/* Which others are stopped and started again with it. */
enum rgm_strategy {
    RGM_ONE_FOR_ONE,
    RGM_ONE_FOR_ALL,
    RGM_REST_FOR_ONE /* those behind it in the list */
};

struct rgm_child {
    const char *name;
    const struct rgm_behaviour *behaviour;
    const void *argument; /* for each of its factory's runs */
    uint32_t worker;      /* or RGM_ANY_WORKER, or RGM_OWN_THREAD */
    enum rgm_restart restart;
};

#define RGM_CHILDREN_MAX 1024
#define RGM_CHILDREN(table)                                                   \
    .children = (table), .children_count = sizeof(table) / sizeof((table)[0])

/* The children, and what they name, must outlive the supervisor. */
struct rgm_supervisor_options {
    enum rgm_strategy strategy;
    const struct rgm_child *children;
    size_t children_count; /* 1 .. RGM_CHILDREN_MAX */
    /* So many restarts in so long are allowed: one more, and it gives up. A
     * child whose worker has retired is not counted. */
    uint32_t restarts_max; /* default 3, up to 1,024; RGM_NO_RESTARTS */
    uint64_t period_ns;    /* default 5 s */
};

#define RGM_NO_RESTARTS UINT32_MAX

/*
 * The behaviour; the argument is a struct rgm_supervisor_options. Refuses bad
 * options with -EINVAL. A child that cannot be spawned, or has no thread of its
 * own, ends the supervisor with that status (-ENOMEM, what the factory gave, ...).
 */
RGM_API extern const struct rgm_behaviour rgm_supervisor;

/*
 * Ask a supervisor where a child is now.
 *
 * Answer:  0 and `address`, -ESRCH while it is not up, -EINVAL no such child.
 */
struct rgm_child_where {
    struct rgm_request request;
    uint32_t child; /* place in the list */
    struct rgm_address address;
    uint64_t restarts; /* of all children so far */
};
RGM_REQUEST(rgm_child_where);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_SUPERVISOR_H */
