/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_ABANDON_H
#define RINGMAIL_ABANDON_H

/*
 * abandon.h - give a request up: no answer, and its memory goes by itself.
 *
 * A cancel waits for the record, because it is the asker's. A record that
 * somebody else may release needs nobody to wait: it is given up, nothing is
 * told to its asker any more, what was begun goes on, and when the record is
 * home it is released, once, on the asker's worker. A worker that drains
 * cancels what was given up, except clean-up, and waits for it.
 *
 * Who has no use either for what was begun leaves it instead: it is given up and
 * asked to stop, in one call, so that its memory comes home early. A write or a
 * sync that goes to its end (`to_the_end`), and clean-up, are carried out all
 * the same.
 *
 * Who may release it is said by its type (RGM_REQUEST_RELEASED) or in the call.
 *
 * A timeout is made of that: a request that is given up when its time is over.
 *
 * Thread: owner, everywhere on this page; not for guests (-EINVAL).
 */

#include <ringmail/actor.h>
#include <ringmail/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Declare a request type with a function that releases its records: as
 * RGM_REQUEST, and `static void f(struct t *request, int status)`, called for
 * an abandoned one when it is home; its memory is given back after that if it
 * came from t_take.
 */
#define RGM_REQUEST_RELEASED(t, f)                                            \
    static void f(struct t *request, int status);                             \
    static inline void t##_released_(void *record, int status)                \
    {                                                                         \
        f((struct t *)record, status);                                        \
    }                                                                         \
    static RGM_TYPE_OBJECT_(t, offsetof(struct rgm_request, message),         \
                            RGM_KIND_REQUEST, 0, t##_released_)               \
    RGM_PREPARE_(t)                                                           \
    RGM_TYPE_HELPERS_(t, request)

/* Declares `static void f(struct t *record)`, a function that may be named in
 * RGM_RELEASE_BY: t is a request or an operation of any type. */
#define RGM_RELEASE(t, f)                                                     \
    static void f(struct t *record);                                          \
    static void rgm_release_##t##_##f(struct rgm_actor *self,                 \
                                      struct rgm_request *request)            \
    {                                                                         \
        (void)self;                                                           \
        f((struct t *)(void *)request);                                       \
    }                                                                         \
    union rgm_release_of_##t##_##f {                                          \
        rgm_answer_function *function;                                        \
        struct t *record;                                                     \
    }
#define RGM_RELEASE_BY(t, f)                                                  \
    RGM_UNION_(rgm_release_of_##t##_##f, rgm_release_##t##_##f)

/*
 * Give up a request of one's own that is out. Its record is nobody's but the
 * release function's from here on.
 *
 * Returns: 0
 *          -EINVAL    its type has no release function; or it was asked in an
 *                     order or a gather, where its answer has a place
 *          -EALREADY  it is at home, or went with a provider that failed:
 *                     there is nothing to give up
 *          On an error nothing happened.
 */
#define rgm_abandon(self, record)                                             \
    rgm_abandon_request(&(self)->actor, &(record)->request)
RGM_API RGM_MUST_USE int rgm_abandon_request(struct rgm_actor *self,
                                             struct rgm_request *request);

/* The same for one of any type; `by` names the function. */
#define rgm_abandon_to(self_, record_, by)                                    \
    rgm_abandon_request_to(&(self_)->actor,                                   \
                           (RGM_SAME_TYPE((record_), (by).record),            \
                            &(record_)->request),                             \
                           (by).function)
RGM_API RGM_MUST_USE int rgm_abandon_request_to(struct rgm_actor *self,
                                                struct rgm_request *request,
                                                rgm_answer_function *release);

/*
 * Leave a request of one's own that is out: give it up, and cancel it wherever
 * it has got to. Of a timeout, both that and what it waits for.
 *
 * Returns: as rgm_abandon; on an error it is not cancelled either.
 */
#define rgm_leave(self, record)                                               \
    rgm_leave_request(&(self)->actor, &(record)->request)
RGM_API RGM_MUST_USE int rgm_leave_request(struct rgm_actor *self,
                                           struct rgm_request *request);

/* The same for one of any type; `by` names the function. */
#define rgm_leave_to(self_, record_, by)                                      \
    rgm_leave_request_to(&(self_)->actor,                                     \
                         (RGM_SAME_TYPE((record_), (by).record),              \
                          &(record_)->request),                               \
                         (by).function)
RGM_API RGM_MUST_USE int rgm_leave_request_to(struct rgm_actor *self,
                                              struct rgm_request *request,
                                              rgm_answer_function *release);

/*
 * A request with a timeout, as a request of its own:
 *
 *     rgm_timeout(&timeout, self, &call->write, RGM_NS_PER_S,
 *                 RGM_RELEASE_BY(rgm_write, call_release));
 *     rgm_ask(self, &timeout, RGM_REPLY(client, rgm_timeout, on_written));
 *
 * Asked, it asks the request. Whichever is over first, the other is withdrawn
 * before the answer goes out: a request that is home disarms the clock, and one
 * whose time is over is given up. Ready at once it reads no clock. What is
 * finished beats an expiry that comes with it.
 *
 * Answer:  what the request was answered, with `request` still set and the
 *          record home; or -ETIMEDOUT, with `inner` NULL: the record is given
 *          up; or, likewise given up, what the clock failed with: -EINVAL when
 *          the duration overflows it, -EPIPE when the worker's has gone.
 *          A cancel cancels the request; abandoning this abandons both.
 */
struct rgm_timeout {
    RGM_OPERATION_HEAD;
    struct rgm_request *inner; /* when home: NULL if it was given up */
    rgm_answer_function *release;
    uint64_t duration_ns; /* counts from when the request has to wait */
    uint64_t timer[4];    /* the worker's */
};

#define rgm_timeout(timeout, self_, record_, duration_ns, by)                 \
    rgm_timeout_prepare((timeout), &(self_)->actor,                           \
                        (RGM_SAME_TYPE((record_), (by).record),               \
                         &(record_)->request),                                \
                        (duration_ns), (by).function)
RGM_API void rgm_timeout_prepare(struct rgm_timeout *timeout,
                                 struct rgm_actor *self,
                                 struct rgm_request *request,
                                 uint64_t duration_ns,
                                 rgm_answer_function *release);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_ABANDON_H */
