/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_SCOPE_H
#define RINGMAIL_SCOPE_H

/*
 * scope.h - cancel many requests at once, also those that others ask for you.
 *
 *        root ---- on worker 0
 *        /  \
 *     read   call ---- on worker 1, linked by messages
 *             |
 *            step
 *
 * A scope is a token that is cancelled or not; once it is, it stays so. It
 * belongs to the actor that opens it. Requests are asked in it, scopes are
 * opened under it, also by actors of other workers. Cancelling reaches all of
 * them and everything under them, never what is above or beside. Anybody may
 * ask whether it is cancelled, and may cancel it, from any thread.
 *
 * What is asked in a cancelled scope is answered -ECANCELED and reaches nobody.
 * Close and half-close belong to no scope: cleaning up is always possible.
 *
 * Every actor has a scope of its own that all its requests are in, and that its
 * stop cancels; so an actor that needs no more never opens one.
 */

#include <ringmail/actor.h>
#include <ringmail/provider.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_scope_close;

/* Fields are the runtime's; see actors/scope.c. Yours is the memory, from open
 * until the close is over. */
struct rgm_scope {
    /* Everybody's. */
    uint32_t cancelled;
    /* Constant while it is open. */
    uint32_t number; /* of its worker, or guest */
    struct rgm_runtime *runtime; /* NULL: the one that is never cancelled */
    struct rgm_actor *actor;
    struct rgm_scope *far; /* its parent, if that is another worker's */
    /* Its worker's. */
    struct rgm_link requests;
    struct rgm_link children; /* ties of scopes under it */
    struct rgm_scope *parent; /* on the same worker, or NULL */
    struct rgm_scope *next;   /* of the same actor */
    struct rgm_scope **previous;
    struct rgm_scope_close *closer;
    uint8_t state;
    uint8_t applied; /* what a cancel does was done, or is not needed */
    uint8_t tie_out; /* tied to a parent elsewhere, or about to be */
    uint8_t untie_out;
    /* The parent's worker's. */
    struct rgm_link tie;
    /* Nodes that travel. */
    struct rgm_message tie_node;
    struct rgm_message untie_node;
    struct rgm_message order; /* pushed by whoever cancels elsewhere */
};

/* A scope that is never cancelled. As a parent: none at all. */
RGM_API extern struct rgm_scope rgm_scope_never;

/*
 * Open a scope under `parent`; NULL: under none. Under one that is cancelled it
 * is, too. The parent may be another worker's: then it stays open at least until
 * the request that brought its address here is answered, so open first and
 * answer afterwards.
 *
 * Thread:  owner.
 * Owns:    the caller's memory, until a close is over; a stop of the actor
 *          cancels and closes all it has open.
 * Returns: 0
 *          -EINVAL     the parent is of another runtime, or a guest's is to be
 *                      under one of somebody else
 *          -ECANCELED  the actor is stopping
 * Cost:    no allocation; one message if the parent is another worker's.
 */
#define rgm_scope_open(self, scope, parent)                                   \
    rgm_scope_open_under(&(self)->actor, (scope), (parent))
RGM_API RGM_MUST_USE int rgm_scope_open_under(struct rgm_actor *self,
                                              struct rgm_scope *scope,
                                              struct rgm_scope *parent);

/*
 * Whether it is cancelled. One under it on another worker may learn it later.
 *
 * Thread: any. Cost: one load.
 */
static inline bool
rgm_scope_is_cancelled(const struct rgm_scope *scope)
{
    return __atomic_load_n(&scope->cancelled, __ATOMIC_ACQUIRE) != 0;
}

/*
 * Cancel it. The flag is set in the call; everything else is done by the worker
 * it belongs to, and says nothing about anything having stopped.
 *
 * Thread:  any; the scope is open.
 * Returns: 1        it was not before
 *          0        it was; nothing happened
 *          -EINVAL  it is the one that never is
 * Cost:    no allocation, and cannot fail; one message from another thread.
 */
RGM_API int rgm_scope_cancel(struct rgm_scope *scope);

/*
 * The next ask of the record is in that scope, which is the asker's own; else
 * it is answered -EINVAL. The record is at home.
 *
 * Thread: owner.
 */
#define rgm_in_scope(record, scope)                                           \
    rgm_request_in_scope(&(record)->request, (scope))
RGM_API void rgm_request_in_scope(struct rgm_request *request,
                                  struct rgm_scope *scope);

/*
 * Close it. That cancels nothing: what was asked in it stays its actor's, and
 * what was opened under it is under its parent from here on.
 *
 * Thread:  owner.
 * Returns: 0        it is closed; its memory is the caller's
 *          -EBUSY   something of it is with another thread: ask for the close.
 *                   Nothing happened.
 */
#define rgm_scope_try_close(self, scope)                                      \
    rgm_scope_close_now(&(self)->actor, (scope))
RGM_API RGM_MUST_USE int rgm_scope_close_now(struct rgm_actor *self,
                                             struct rgm_scope *scope);

/*
 * The same as a request, for scopes that other workers have to do with. One that
 * is under another worker's is closed when nothing is open under it any more; a
 * cancel from above still reaches what is.
 *
 * Thread: owner.
 * Answer: 0; -EINVAL: it is not open, or not the asker's, or is being closed.
 */
struct rgm_scope_close {
    RGM_OPERATION_HEAD;
    struct rgm_scope *scope;
};
#define rgm_scope_close(close, self, scope)                                   \
    rgm_scope_close_prepare((close), &(self)->actor, (scope))
RGM_API void rgm_scope_close_prepare(struct rgm_scope_close *close,
                                     struct rgm_actor *self,
                                     struct rgm_scope *scope);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_SCOPE_H */
