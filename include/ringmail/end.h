/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_END_H
#define RINGMAIL_END_H

/*
 * end.h - how an actor ends, and what it leaves to whoever waits for that.
 *
 *     rgm_stop(self)                it is done; status 0
 *     rgm_stop_with(self, status)   it is done, with a status of its own
 *     rgm_finish(self, parcel)      it is done, with an output
 *     rgm_fail(self, parcel)        it is at fault: the parcel says how
 *
 * Every waiter (watch.h, task.h) is told the same end. A fault is never turned
 * into a number: what the actor handed over arrives, the very same pointer.
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/actor.h>

#ifdef __cplusplus
extern "C" {
#endif

enum rgm_end_kind {
    RGM_END_STOPPED, /* somebody else stopped it; status -ECANCELED */
    RGM_END_DONE,    /* it stopped itself; its status, perhaps an output */
    RGM_END_FAULT,   /* it reported a fault: the parcel; status 0 */
    RGM_END_RETIRED, /* the worker or runtime stopped; -ESHUTDOWN */
    RGM_END_LOST,    /* its provider failed; why: a negative errno */
    RGM_END_GONE     /* nobody is there: -ESRCH any more, -EPIPE closed */
};

/*
 * Something that is handed from one who ends to those who wait: yours, the
 * first member of a struct of yours, or embedded anywhere. The runtime looks at
 * nothing else in it. `destroy` frees it, on whichever thread drops it last.
 */
struct rgm_parcel {
    void (*destroy)(struct rgm_parcel *parcel); /* NULL: nothing to free */
    /* The runtime's. */
    struct rgm_link link;
    void *owner;
    struct rgm_parcel *next; /* in the list of rgm_runtime_faults */
    uint32_t references;
};

static inline void
rgm_parcel_init(struct rgm_parcel *parcel,
                void (*destroy)(struct rgm_parcel *parcel))
{
    parcel->destroy = destroy;
    parcel->link.next = NULL;
    parcel->link.previous = NULL;
    parcel->owner = NULL;
    parcel->next = NULL;
    parcel->references = 1;
}

/* Let go of a parcel one was given; NULL does nothing. The last one destroys
 * it. Thread: any. */
RGM_API void rgm_parcel_drop(struct rgm_parcel *parcel);

/* How an actor ended. */
struct rgm_end {
    enum rgm_end_kind kind;
    int32_t status;
    /* FAULT: the fault. DONE: the output, or NULL. Everybody who is told has a
     * reference of his own, and drops it. */
    struct rgm_parcel *parcel;
};

/* A word for the kind: "done", "fault", ... Thread: any. */
RGM_API const char *rgm_end_text(enum rgm_end_kind kind);

/*
 * As rgm_stop, with a status for those who wait. Who stops already ends as was
 * decided then.
 */
#define rgm_stop_with(self, status)                                           \
    rgm_stop_self_with(&(self)->actor, (status))
RGM_API void rgm_stop_self_with(struct rgm_actor *self, int32_t status);

/*
 * Stop, and leave an output. When nobody waits for it, it is destroyed when
 * the actor has ended.
 *
 * Owns:    on 0 the runtime has the parcel.
 * Returns: 0, or -EALREADY when the end is decided already.
 */
#define rgm_finish(self, parcel) rgm_finish_self(&(self)->actor, (parcel))
RGM_API RGM_MUST_USE int rgm_finish_self(struct rgm_actor *self,
                                         struct rgm_parcel *output);

/*
 * Stop, because something went wrong that no status can tell. Legal wherever
 * the actor's code runs, in `stopped` too; it replaces whatever end was decided
 * before. The worker and its other actors go on. A fault nobody waits for is
 * kept (rgm_runtime_faults), not destroyed.
 *
 * Owns:    the runtime has the parcel.
 */
#define rgm_fail(self, parcel) rgm_fail_self(&(self)->actor, (parcel))
RGM_API void rgm_fail_self(struct rgm_actor *self, struct rgm_parcel *fault);

/*
 * Take the faults that nobody waited for: a list by `next`, the newest first,
 * or NULL. What is never taken is destroyed with the runtime.
 *
 * Owns:    the caller, each of them: to be dropped.
 * Thread:  any.
 */
struct rgm_runtime;
RGM_API struct rgm_parcel *rgm_runtime_faults(struct rgm_runtime *runtime);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_END_H */
