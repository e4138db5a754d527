/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_RESIZE_H
#define RINGMAIL_RESIZE_H

/*
 * resize.h - workers come and go while the program runs.
 *
 *     status = rgm_runtime_resize(runtime, 6);            // a plain thread
 *
 *     rgm_resize_to(&self->resize, 6);                    // an actor
 *     rgm_ask(self, &self->resize, RGM_REPLY(boss, rgm_resize, on_resized));
 *
 * A resize is a request to worker 0, which never retires. Resizes are carried
 * out one after the other, in the order they arrive.
 *
 * Growing answers when the new workers run and every worker can spawn on them.
 * To be there on each of them, spawn there when the answer has come: nothing
 * else is placed on one before that.
 *
 * Shrinking answers when the workers with the highest numbers have been told:
 * from then on they take no placements, and rgm_runtime_workers says the
 * smaller count. Each tells its actors (`retiring`), goes on serving them until
 * they have stopped, until what it has out is home and its worker leases are
 * released, and then closes; mail that reaches it later comes home with -EPIPE.
 * rgm_runtime_threads says how many have not closed yet. With `until_gone` set
 * the answer waits for that, too.
 *
 * Growing takes the lowest numbers that are not in use. One whose last worker
 * still retires is waited for, and so is one that is an actor's own (see
 * dedicated.h) when there are too few others. Generations go on: an address, a
 * handle or a token of the last worker of a number is stale for the next one.
 */

#include <ringmail/provider.h>
#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_resize {
    RGM_OPERATION_HEAD;
    uint32_t workers_count;
    /* Answer when all workers that retire, now or since before, have ended. Not
     * for an actor that lives on one of them: it is waited for. */
    bool until_gone;
    bool in_effect;   /* the runtime's */
    uint64_t numbers; /* the runtime's: that are to be gone */
};

/*
 * Prepare a change of the number of workers. `until_gone` may be set afterwards.
 *
 * Thread: owner; the record is at home.
 * Answer: 0; -EINVAL when workers_count is 0 or more than the runtime's
 *         workers_max; -ENOMEM, -EAGAIN, -EMFILE, ... when a worker or its
 *         provider could not be made (the number is what it was before);
 *         -EPIPE when the runtime is stopping; -EDEADLK for `until_gone` asked
 *         from a worker that retires; -ECANCELED, and nothing changed, or
 *         (with until_gone) the rest not waited for.
 */
RGM_API void rgm_resize_to(struct rgm_resize *resize, uint32_t workers_count);

/*
 * The same from a plain thread: returns when the new number is in effect.
 *
 * Thread:  any but a worker's.
 * Returns: the answer, or as rgm_call.
 */
RGM_API RGM_MUST_USE int rgm_runtime_resize(struct rgm_runtime *runtime,
                                            uint32_t workers_count);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_RESIZE_H */
