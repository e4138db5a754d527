/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_DRAIN_H
#define RINGMAIL_DRAIN_H

/*
 * drain.h - wait until a worker has run empty, without stopping anything.
 *
 *     rgm_drain_worker(&drain, rgm_worker_address(2));
 *     status = rgm_call(runtime, &drain);
 *
 * A worker is empty when it owns no actor and nothing is queued on it: no mail
 * that has reached it, no actor that is ready, nothing it has still to send. The
 * two are counted apart, and both have to be zero at once: mail for an actor that
 * has ended is still something to be turned home. What is on its way from others
 * is not seen; nothing keeps anybody from spawning there the next moment.
 *
 * Any number may wait, on one worker and on all; each may give up by a cancel or
 * a deadline, and the others do not notice.
 */

#include <ringmail/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_drain {
    RGM_OPERATION_HEAD;
};

/*
 * Prepare a wait until the worker `where` is empty.
 *
 * Thread: owner; the record is at home.
 * Answer: 0; -EDEADLK when an actor asks that lives there; -ECANCELED,
 *         -ETIMEDOUT; -EPIPE when the worker or the runtime stops; -ESRCH when
 *         there is no such worker.
 * Cost:   while nobody has ever waited, a branch per turn.
 */
RGM_API void rgm_drain_worker(struct rgm_drain *drain,
                              struct rgm_address where);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_DRAIN_H */
