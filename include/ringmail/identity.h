/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_IDENTITY_H
#define RINGMAIL_IDENTITY_H

/*
 * identity.h - commands for an operation that somebody else has out.
 *
 * An asker cancels its own by rgm_cancel. Whoever else is to be able to gets an
 * identity: a value that names one submission of one operation, for ever. It is
 * never followed, so it may be kept, copied and used after the operation has
 * ended, and its record asked again or freed: then it names nothing.
 *
 *     status = rgm_identify(self, &self->read, &identity);      the asker
 *     ...                                     gives it away, in any manner
 *     rgm_cancel_identity(&self->cancellation, identity);       somebody
 *     rgm_ask(self, &self->cancellation,
 *             RGM_REPLY(guard, rgm_cancellation, on_told));
 *
 *     status = rgm_runtime_cancel(runtime, identity);           a plain thread
 *
 * A command is a request to the worker that carries the operation out. It needs
 * no memory but its record and no allowance, so it cannot fail for lack of
 * either. A worker applies submissions and commands in the order they reach it.
 * A command that comes through another queue than what it names, and first, is
 * put behind what the other queue holds, once; what is not there then has ended.
 */

#include <ringmail/provider.h>
#include <ringmail/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Names one submission of an operation. Zero names nothing. */
struct rgm_identity {
    struct rgm_address where;
    uint64_t number;
};

/* Ask that an operation stops. */
struct rgm_cancellation {
    RGM_OPERATION_HEAD;
    struct rgm_identity identity;
    bool replayed; /* the runtime's */
};

/* Change when a sleep ends. */
struct rgm_retiming {
    RGM_OPERATION_HEAD;
    struct rgm_identity identity;
    bool replayed; /* the runtime's */
    uint64_t deadline_ns;
};

/*
 * Make out the identity of an operation of one's own that is out. What is
 * collected for other workers is pushed first, so that no command can get there
 * before the operation has set out.
 *
 * Thread:  owner of the asker (or guest).
 * Returns: 0 and *ret_identity set
 *          -ESRCH   it is at home
 *          -EAGAIN  it waits in line for allowance, or for a shard that moves
 *          -EINVAL  it is no operation, or it is in another runtime, whose handle
 *                   it is for
 */
#define rgm_identify(self, record, ret_identity)                              \
    rgm_identify_request(&(self)->actor, &(record)->request, (ret_identity))
RGM_API RGM_MUST_USE int
rgm_identify_request(struct rgm_actor *self, struct rgm_request *request,
                     struct rgm_identity *ret_identity);

/*
 * Prepare: cancel what the identity names. Says nothing about it having
 * stopped: its own answer says how it ended.
 *
 * Thread: owner; the record is at home.
 * Answer: 0: it was out, and has been asked to stop; -ESRCH: it has ended;
 *         -EPIPE: so has its worker; -EINVAL: the identity is zero.
 */
RGM_API void rgm_cancel_identity(struct rgm_cancellation *cancellation,
                                 struct rgm_identity identity);

/*
 * Prepare: let the sleep that the identity names end at deadline_ns instead,
 * sooner or later than it would have. A deadline that has passed ends it now.
 *
 * Thread: owner; the record is at home.
 * Answer: 0: it will; -ESRCH: it has ended, or its time has come; -EPIPE;
 *         -EINVAL: what is named is no sleep, or nothing, or deadline_ns is
 *         RGM_NEVER.
 */
RGM_API void rgm_retime_identity(struct rgm_retiming *retiming,
                                 struct rgm_identity identity,
                                 uint64_t deadline_ns);

/*
 * Cancel by identity, and wait for the answer.
 *
 * Thread:  any but a worker's.
 * Returns: as rgm_cancel_identity; or as rgm_call.
 */
RGM_API RGM_MUST_USE int rgm_runtime_cancel(struct rgm_runtime *runtime,
                                            struct rgm_identity identity);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_IDENTITY_H */
