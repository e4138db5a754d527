/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_DEADLINE_H
#define RINGMAIL_DEADLINE_H

/*
 * deadline.h - how long is a request waited for?
 *
 *     rgm_expire_after(&read, 5 * RGM_NS_PER_S);
 *     rgm_ask(self, &read, RGM_REPLY(client, rgm_read, on_read));
 *
 * A deadline is set on a prepared record and holds for its next ask only. When
 * it comes the request is cancelled, wherever it has got to; its one answer
 * comes when it is home, with -ETIMEDOUT, or with what was achieved before. So
 * the record is waited for. (A timeout, which does not wait, is for records
 * that can be given up: see abandon.h.)
 *
 * An operation (a read, a sleep) whose deadline has passed when it is asked is
 * not begun: it is answered -ETIMEDOUT, and costs the kernel nothing. One that is
 * under way when its deadline comes is cancelled; had it to be tried once more,
 * for the rest of a write, say, it is not. What is complete beats a deadline that
 * has come meanwhile. Clean-up (a close) has no use for a deadline, and goes on.
 *
 * A deadline is exact when it is near; those further away may be late by up to
 * rgm_runtime_options.deadline_tick_us, so that many of them end in one wake.
 *
 * A request without a deadline pays nothing. One with a duration reads no clock
 * and arms no timer when it is answered before its worker has done what it is
 * at: the duration counts from when the request first has to wait.
 *
 * Thread: owner, everywhere on this page. A guest's requests have deadlines, too,
 * by CLOCK_MONOTONIC, which is the clock of ring and threads: they are looked at
 * while the guest waits, and so rgm_call has a time limit. (Under a stepper they
 * are answered -EINVAL; -ENOMEM when there is no memory for a guest's first.)
 */

#include <ringmail/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A moment of a runtime's clock. It means nothing to another runtime: a request
 * asked there with it is answered -EINVAL. */
struct rgm_deadline {
    uint64_t at_ns;
    uint64_t domain;
};

/*
 * The deadline that is duration_ns from now, by the clock and not by the turn.
 * RGM_NEVER, or anything the clock does not reach: never.
 */
#define rgm_deadline_in(self, duration_ns)                                    \
    rgm_deadline_from_now(&(self)->actor, (duration_ns))
RGM_API struct rgm_deadline rgm_deadline_from_now(struct rgm_actor *self,
                                                  uint64_t duration_ns);

/* The next ask of the record expires then. The record is at home. */
#define rgm_expire_at(record, deadline)                                       \
    rgm_request_expire_at(&(record)->request, (deadline))
RGM_API void rgm_request_expire_at(struct rgm_request *request,
                                   struct rgm_deadline deadline);

/* The next ask of the record expires so long after it has begun to wait. */
#define rgm_expire_after(record, duration_ns)                                 \
    rgm_request_expire_after(&(record)->request, (duration_ns))
RGM_API void rgm_request_expire_after(struct rgm_request *request,
                                      uint64_t duration_ns);

/*
 * Ask on behalf of a request that is being handled, or kept, by this actor. The
 * new one inherits the deadline of the other, if that is the earlier. When the
 * other is answered, forwarded or withdrawn, what is still out for it is
 * cancelled: its answers come as always, with -ECANCELED if nobody had answered.
 *
 * Answer:  as of rgm_ask; or -EINVAL when the parent is neither handled nor kept
 *          here; -ECANCELED when it has been cancelled.
 */
#define rgm_ask_for(self_, parent, record_, reply)                             \
    (RGM_SAME_TYPE((self_), (reply).self),                                     \
     RGM_SAME_TYPE((record_), (reply).record),                                 \
     rgm_ask_request_for(&(self_)->actor, &(parent)->request,                  \
                         &(record_)->request, (reply).function))
RGM_API void rgm_ask_request_for(struct rgm_actor *self,
                                 struct rgm_request *parent,
                                 struct rgm_request *request,
                                 rgm_answer_function *answer);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_DEADLINE_H */
