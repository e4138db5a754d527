/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_TASK_H
#define RINGMAIL_TASK_H

/*
 * task.h - an actor and a handle that owns it.
 *
 *     struct rgm_task *task;
 *     struct rgm_end end;
 *
 *     status = rgm_runtime_task(runtime, RGM_ANY_WORKER, &job, &input, &task);
 *     status = rgm_task_join(task, &end);     blocks; end.parcel is the output
 *
 * The one who has the handle has the actor: he gives it on, waits for it from
 * any thread, during the runtime's life or after it, or drops it, which stops
 * the actor. A handle is used by one thread at a time; it may be handed on.
 *
 * An actor does not block: it monitors rgm_task_who(task), and when it is told,
 * rgm_task_end(task) is there.
 */

#include <ringmail/runtime.h>
#include <ringmail/watch.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_task; /* opaque; actors/task.c */

/*
 * Spawn with a handle. worker: a number, or RGM_ANY_WORKER. The first form is
 * for an actor or a guest, the second for a plain thread, which may say
 * RGM_OWN_THREAD, too (a guest may, and gets its other answers meanwhile).
 *
 * Thread:  owner; any but a worker's.
 * Owns:    on 0 the caller has *ret_task, and joins, drops or detaches it.
 * Returns: as rgm_spawn_on; as rgm_runtime_spawn. -ENOMEM also for the handle.
 */
#define rgm_spawn_task(self, worker, behaviour, argument, ret_task)           \
    rgm_spawn_task_actor(&(self)->actor, (worker), (behaviour), (argument),   \
                         (ret_task))
RGM_API RGM_MUST_USE int rgm_spawn_task_actor(
    struct rgm_actor *self, uint32_t worker,
    const struct rgm_behaviour *behaviour, const void *argument,
    struct rgm_task **ret_task);
RGM_API RGM_MUST_USE int
rgm_runtime_task(struct rgm_runtime *runtime, uint32_t worker,
                 const struct rgm_behaviour *behaviour, const void *argument,
                 struct rgm_task **ret_task);

/* The actor's address; stale when it has ended. Thread: any. */
RGM_API struct rgm_address rgm_task_who(const struct rgm_task *task);

/*
 * How it ended, or NULL while it has not. The parcel is the handle's.
 * Thread: any.
 */
RGM_API const struct rgm_end *rgm_task_end(const struct rgm_task *task);

/*
 * Wait for the end. Legal after the runtime has ended, too.
 *
 * Thread:  any but a worker's.
 * Returns: 0, or -EDEADLK on a worker whose actor has not ended.
 */
RGM_API RGM_MUST_USE int rgm_task_wait(struct rgm_task *task);

/*
 * Wait, take the end and give the handle back.
 *
 * Thread:  as rgm_task_wait.
 * Owns:    the caller, the end's parcel. On an error he has the handle still.
 * Returns: as rgm_task_wait.
 */
RGM_API RGM_MUST_USE int rgm_task_join(struct rgm_task *task,
                                       struct rgm_end *ret_end);

/* Ask the actor to stop, when its current delivery has returned. Never blocks,
 * cannot fail; after the end it does nothing. Thread: any. */
RGM_API void rgm_task_stop(struct rgm_task *task);

/* Stop the actor, if it has not ended, and give the handle back; nobody waits
 * any more. NULL does nothing. Thread: any. */
RGM_API void rgm_task_drop(struct rgm_task *task);

/* Give the handle back and let the actor live. Thread: any. */
RGM_API void rgm_task_detach(struct rgm_task *task);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_TASK_H */
