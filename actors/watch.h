/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_WATCH_H
#define RGI_ACTORS_WATCH_H

/*
 * watch.h - how does an actor's end become known? Part of worker.h.
 */

#include "actors/worker.h"

/* ---- end.c ---- */

/* An actor stops: why, unless that is decided already. */
static inline void
rgi_end_decide(struct rgm_actor *actor, enum rgm_end_kind kind,
               int32_t status)
{
    if (actor->life != RGI_LIFE_RUNNING)
        return;
    actor->end_kind = (uint8_t)kind;
    actor->end_status = status;
}

/* It has ended, or its memory goes unused: tell whoever watches. */
void rgi_end_tell(struct rgm_worker *worker, struct rgm_actor *actor);
/* Nobody heard of an end: an output is destroyed, a fault kept. */
void rgi_end_unheard(struct rgm_runtime *runtime, const struct rgm_end *end);
/* Faults that nobody took go with the runtime. */
void rgi_faults_destroy(struct rgm_runtime *runtime);

/* ---- watch.c ---- */

/* A monitor is asked. */
void rgi_watch_ask(struct rgm_worker *worker, struct rgm_message *message);
/* Let a watcher's message go to an address whose spawn is sent after it, or
 * has just happened here. */
void rgi_watch_begin(struct rgm_worker *worker, struct rgm_message *message,
                     struct rgm_address who);
/* It is cancelled where it waits for the end. */
void rgi_watch_withdraw(struct rgm_worker *worker,
                        struct rgm_message *message);
bool rgi_is_watch(const struct rgm_request *request);
/* Spawn a child that lives under a name; the name of one that does, or NULL. */
int rgi_spawn_named(struct rgm_actor *self, uint32_t worker,
                    const struct rgm_behaviour *behaviour,
                    const void *argument, struct rgm_down *down,
                    struct rgi_name *named, rgm_answer_function *answer,
                    struct rgm_address *ret_address);
const struct rgi_name *rgi_watch_name(struct rgm_worker *worker,
                                      struct rgm_address who);
/* Whether a cancel of it stops the watched one. */
bool rgi_is_child(const struct rgm_request *request);
/* A closed inbox has refused a watcher. */
void rgi_watch_refused(struct rgm_worker *worker, struct rgm_message *message);
/* The asker will not hear what it was told. */
void rgi_watch_unheard(struct rgm_worker *worker, struct rgm_request *request);
/* Whether the actor is a task's, whose handle names the worker. */
bool rgi_watch_by_task(const struct rgm_worker *worker, struct rgm_address who);
/* An actor moves: so do its watchers. */
void rgi_watch_move(struct rgm_worker *worker, struct rgm_address who,
                    struct rgm_address to);
/* Control of this file, at the watched one's worker or at home. */
void rgi_watch_control(struct rgm_worker *worker, struct rgm_message *message);
/* Tell all who watch an address; how many. Each gets a reference. */
uint32_t rgi_watch_tell(struct rgm_worker *worker, struct rgm_address who,
                        const struct rgm_end *end);
/* The end is forced: no spawn is waited for any more. */
void rgi_watch_give_up(struct rgm_worker *worker, uint32_t slot);
void rgi_watch_deinit(struct rgm_worker *worker);

/* ---- task.c ---- */

struct rgm_task;

/* A handle whose actor is still to be spawned on worker 0, with this watcher;
 * NULL: no memory. Without an actor it is unmade. */
struct rgm_message *rgi_task_make(struct rgm_runtime *runtime,
                                  struct rgm_task **ret_task);
void rgi_task_unmake(struct rgm_task *task);

bool rgi_is_task(const struct rgm_message *message);
struct rgm_watcher *rgi_task_watcher(struct rgm_message *watch);
/* It has got its actor's address. */
void rgi_task_begin(struct rgm_message *watch, struct rgm_address who);
/* Its actor has ended; the table has no claim on it any more. */
void rgi_task_told(struct rgm_message *watch, const struct rgm_end *end);
/* Somebody has ordered that its actor stop. */
void rgi_task_control(struct rgm_worker *worker, struct rgm_message *stop);

#endif /* RGI_ACTORS_WATCH_H */
