/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_TIMER_H
#define RINGMAIL_TIMER_H

/*
 * timer.h - waits for time that are sure of their place, and messages sent later.
 *
 *     rgm_timer_init(&self->timer, runtime);
 *     ...
 *     status = rgm_timer_wait(&self->timer, rgm_here(self), deadline_ns);
 *     rgm_ask(self, &self->timer, RGM_REPLY(client, rgm_timer, on_time));
 *
 * Of what waits for time a worker takes so much at once (the option timers_max):
 * sleeps (clock.h) while they are out, messages to be sent later, and timers that
 * are registered. A timer is registered by its first wait, at the worker that is
 * asked, and keeps its place from then on: between two waits, when one was
 * cancelled, and when its time came. So whoever has waited once can wait again,
 * and only the first wait is answered -EAGAIN. A release gives the place back.
 *
 * The place is the worker's, and a timer names it by a value. A timer that is
 * forgotten costs its place until its worker ends, and nothing ever reaches the
 * memory it was in.
 *
 * Thread: owner, everywhere on this page, unless a declaration says otherwise.
 */

#include <ringmail/identity.h>
#include <ringmail/provider.h>
#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A timer, which is the request of its one wait at a time as well. Its answer's
 * status: 0 when the time has come; -ECANCELED when it was cancelled, or its
 * actor stopped, before; -EAGAIN when the worker has no place (others may have);
 * -EPIPE when it was asked of another worker and that one stops, -ESRCH when
 * there is no such worker; -EINVAL when the timer is of another runtime, or of a
 * worker that has retired; -EBUSY when a copy of it waits; -ENOMEM.
 */
struct rgm_timer {
    RGM_OPERATION_HEAD;
    uint64_t deadline_ns;
    rgm_answer_function *release; /* the runtime's, for one that is given up */
    uint64_t armed[6];            /* the worker's */
    bool releases;                /* what is asked is its release */
    /* Kept from one wait to the next; the runtime's. */
    uint64_t domain;
    struct rgm_address owner; /* where it is registered; zero: nowhere */
    uint32_t place;
    uint32_t generation;
};

/*
 * Make memory into a timer of that runtime. Registers nothing, reserves nothing,
 * and cannot fail; the runtime may have ended (then its waits are refused). To
 * change the runtime, release it and make it anew.
 *
 * Thread: any, as long as the runtime is not freed.
 */
RGM_API void rgm_timer_init(struct rgm_timer *timer,
                            const struct rgm_runtime *runtime);

/*
 * Prepare a wait until deadline_ns. The first one registers the timer at the
 * worker `where`; later ones go to that worker, whatever `where` says. Never
 * early. A wait that was cancelled before it was asked, or is not asked at all,
 * changes nothing.
 *
 * Returns: 0, or -EBUSY when it is out: nothing happens.
 * Cost:    of a wait on its own worker, no allocation but what the worker's table
 *          of places grows by, now and then, with the first one.
 */
RGM_API RGM_MUST_USE int rgm_timer_wait(struct rgm_timer *timer,
                                        struct rgm_address where,
                                        uint64_t deadline_ns);

/*
 * Prepare its release; answered 0 also when it is not registered. It is clean-up:
 * an actor that stops may ask for it.
 *
 * Returns: 0, or -EBUSY when it is out: nothing happens.
 */
RGM_API RGM_MUST_USE int rgm_timer_release(struct rgm_timer *timer);

/*
 * Let go of it without an answer, in `stopped` too; one that is not registered:
 * nothing happens. It may be waited with again, and is registered anew then.
 *
 * Returns: 0; -EBUSY when it is out; -EINVAL a guest's: it asks for the release;
 *          -ENOMEM when it is another worker's and there is no memory to tell it:
 *          nothing has happened.
 */
#define rgm_timer_drop(self, timer) rgm_timer_drop_by(&(self)->actor, (timer))
RGM_API RGM_MUST_USE int rgm_timer_drop_by(struct rgm_actor *self,
                                           struct rgm_timer *timer);

/*
 * Send a one-way message when so much time is over. It is charged now, to the lane
 * of types that are answered late, and goes out in a turn of this actor's, behind
 * what that sent before. If the actor stops, or moves, or its worker ends before
 * that, the message comes home with -ECANCELED. It comes home once in any case.
 *
 * ret_identity: what rgm_send_cancel takes; NULL: nobody wants to.
 *
 * Owns:    on 0 the runtime has the message. On error the caller has it still.
 * Returns: 0
 *          -EAGAIN     the allowance is used up, or there is no place for a timer
 *          -ESRCH      the address names nobody
 *          -ECANCELED  the actor is stopping
 *          -EINVAL     as rgm_send; or the time is after the end of the clock; or
 *                      a guest's, which have no timers
 *          -ENOMEM
 * Cost:    a block of the worker's slab.
 */
#define rgm_send_after(self, to, record, duration_ns, ret_identity)           \
    rgm_send_message_after(&(self)->actor, (to), &(record)->message,          \
                           (duration_ns), (ret_identity))
RGM_API RGM_MUST_USE int
rgm_send_message_after(struct rgm_actor *self, struct rgm_address to,
                       struct rgm_message *message, uint64_t duration_ns,
                       struct rgm_identity *ret_identity);

/*
 * Do not send it: it comes home with -ECANCELED. By the same actor, or another
 * of its worker; others cancel by identity.h.
 *
 * Returns: 0; -ESRCH when its time has come; -EINVAL when the identity is another
 *          worker's.
 */
#define rgm_send_cancel(self, identity)                                       \
    rgm_send_cancel_by(&(self)->actor, (identity))
RGM_API RGM_MUST_USE int rgm_send_cancel_by(struct rgm_actor *self,
                                            struct rgm_identity identity);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_TIMER_H */
