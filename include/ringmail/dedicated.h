/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_DEDICATED_H
#define RINGMAIL_DEDICATED_H

/*
 * dedicated.h - an actor with a thread and a ring of its own.
 *
 *     RGM_ANSWER(root, rgm_dedicate, root_seated);
 *
 *     rgm_dedicate(self, &self->dedicate, RGM_REPLY(root, rgm_dedicate, root_seated));
 *     ...
 *     static void root_seated(struct root *self, struct rgm_dedicate *dedicate)
 *     {
 *         if (rgm_status(dedicate) == 0)
 *             status = rgm_spawn_child(self, dedicate->worker, &indexer, NULL,
 *                                      &self->down, ..., &address);
 *     }
 *
 * For work that may block, or that must not wait for others. A thread, a
 * provider and a worker's number are made for one actor; the answer names the
 * number, and in the answer, and nowhere else, one actor can be spawned on it:
 * plainly, watched, as a child or as a task. A number that nobody has used when
 * the answer's function returns goes back at once. When the actor has ended so
 * does its worker, and the thread.
 *
 * It is an actor as any other: it is asked, watched, stopped, told of the
 * runtime's end, waited for. Nothing else is placed on its worker, and a resize
 * neither counts nor retires it (rgm_runtime_threads counts it). What it spawns
 * itself, also with rgm_spawn, lives on the other workers.
 *
 * A handler of it may block, and holds up whoever waits for it: its askers, the
 * end of the runtime, the end of a worker that retires (it may have slot numbers
 * of that), but no other actor's handlers.
 *
 * A supervisor's child and rgm_runtime_spawn, rgm_runtime_task are given
 * RGM_OWN_THREAD instead of a number. rgm_spawn and its kin are not: -EINVAL.
 */

#include <ringmail/provider.h>
#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_dedicate {
    RGM_OPERATION_HEAD;
    uint32_t worker; /* in the answer: the number */
    /* The runtime's. */
    struct rgm_address seat;
    rgm_answer_function *answer;
    void *spawn;
};

/*
 * Ask for a thread: prepares and asks the record.
 *
 * Thread:  owner.
 *          It waits in line with resizes, and while all numbers (workers_max)
 *          are in use; rgm_cancel ends that.
 * Answer:  0, and `worker` says where to spawn. -ENOMEM, -EAGAIN, -EMFILE, ...
 *          when the worker, its thread or its provider could not be made; -EPIPE
 *          when the runtime is stopping; -ECANCELED.
 * Owns:    the record is the runtime's until its answer is delivered.
 */
#define rgm_dedicate(self_, record_, reply)                                   \
    (RGM_SAME_TYPE((self_), (reply).self),                                    \
     RGM_SAME_TYPE((record_), (reply).record),                                \
     rgm_dedicate_actor(&(self_)->actor, (record_), (reply).function))
RGM_API void rgm_dedicate_actor(struct rgm_actor *self,
                                struct rgm_dedicate *dedicate,
                                rgm_answer_function *answer);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_DEDICATED_H */
