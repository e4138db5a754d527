/* SPDX-License-Identifier: MIT */

/*
 * end.c - how does an actor end, and where is what it leaves meanwhile?
 *
 * Why an actor ends stands in it from the moment that is decided; what it hands
 * over is a parcel of its own memory, in the worker's list until the actor has
 * ended. Then all who watch are told the same, and each gets a reference. An
 * output nobody is told of is destroyed. A fault is kept instead: its destroy
 * function may be what is broken, and somebody may still ask.
 */

#include <ringmail/end.h>

#include "actors/runtime.h"

const char *
rgm_end_text(enum rgm_end_kind kind)
{
    switch (kind) {
    case RGM_END_STOPPED:
        return "stopped";
    case RGM_END_DONE:
        return "done";
    case RGM_END_FAULT:
        return "fault";
    case RGM_END_RETIRED:
        return "retired";
    case RGM_END_LOST:
        return "lost";
    case RGM_END_GONE:
        return "gone";
    default:
        return "unknown";
    }
}

/* ---- parcels ---- */

/* Whether nobody else has a reference any more. */
static bool
parcel_let_go(struct rgm_parcel *parcel)
{
    /* parcel-references: publishes all use of it; the last one observes. */
    ck_pr_fence_release();
    if (ck_pr_faa_32(&parcel->references, UINT32_MAX) != 1)
        return false;
    ck_pr_fence_acquire();
    return true;
}

void
rgm_parcel_drop(struct rgm_parcel *parcel)
{
    if (parcel != NULL && parcel_let_go(parcel) && parcel->destroy != NULL)
        parcel->destroy(parcel);
}

static void
parcel_put(struct rgm_actor *actor, struct rgm_parcel *parcel)
{
    parcel->owner = actor;
    rgi_list_push_back(&actor->worker->parcels, &parcel->link);
    actor->flags |= RGI_ACTOR_PARCEL;
}

/* There are few: of actors that have finished and not ended yet. */
static struct rgm_parcel *
parcel_take(struct rgm_actor *actor)
{
    struct rgm_link *link = actor->worker->parcels.next;
    struct rgm_parcel *parcel;

    if (!(actor->flags & RGI_ACTOR_PARCEL))
        return NULL;
    for (;; link = link->next) {
        rgi_assert(link != &actor->worker->parcels);
        parcel = rgi_container_of(link, struct rgm_parcel, link);
        if (parcel->owner == actor)
            break;
    }
    rgi_list_remove(link);
    actor->flags &= (uint8_t)~RGI_ACTOR_PARCEL;
    return parcel;
}

/* ---- faults nobody has heard of ---- */

void
rgi_fault_keep(struct rgm_runtime *runtime, struct rgm_parcel *fault)
{
    struct rgm_parcel *first = ck_pr_load_ptr(&runtime->faults);
    bool done;

    fault->references = 1;
    do {
        fault->next = first;
        /* runtime-faults: publishes the fault to whoever takes the list. */
        ck_pr_fence_release();
        done = ck_pr_cas_ptr_value(&runtime->faults, first, fault, &first);
    } while (!done);
}

struct rgm_parcel *
rgm_runtime_faults(struct rgm_runtime *runtime)
{
    struct rgm_parcel *first = ck_pr_fas_ptr(&runtime->faults, NULL);

    /* runtime-faults: observes all faults of the list. */
    ck_pr_fence_acquire();
    return first;
}

void
rgi_faults_destroy(struct rgm_runtime *runtime)
{
    struct rgm_parcel *fault = rgm_runtime_faults(runtime);

    while (fault != NULL) {
        struct rgm_parcel *next = fault->next;

        rgm_parcel_drop(fault);
        fault = next;
    }
}

void
rgi_end_unheard(struct rgm_runtime *runtime, const struct rgm_end *end)
{
    if (end->parcel == NULL)
        return;
    if (end->kind != RGM_END_FAULT)
        rgm_parcel_drop(end->parcel);
    else if (parcel_let_go(end->parcel))
        rgi_fault_keep(runtime, end->parcel);
}

/* ---- deciding ---- */

void
rgm_stop_self_with(struct rgm_actor *self, int32_t status)
{
    rgi_assert(rgi_is_owner(self->worker));
    rgi_end_decide(self, RGM_END_DONE, status);
    rgi_actor_stop(self->worker, self);
}

int
rgm_finish_self(struct rgm_actor *self, struct rgm_parcel *output)
{
    rgi_assert(rgi_is_owner(self->worker));
    if (self->life != RGI_LIFE_RUNNING)
        return -EALREADY;
    parcel_put(self, output);
    rgm_stop_self_with(self, 0);
    return 0;
}

void
rgm_fail_self(struct rgm_actor *self, struct rgm_parcel *fault)
{
    struct rgm_end before = {.kind = (enum rgm_end_kind)self->end_kind};

    rgi_assert(rgi_is_owner(self->worker));
    before.parcel = parcel_take(self);
    if (before.kind == RGM_END_FAULT) { /* the first one counts */
        parcel_put(self, before.parcel);
        before.parcel = fault;
    } else {
        parcel_put(self, fault);
        self->end_kind = RGM_END_FAULT;
        self->end_status = 0;
    }
    rgi_end_unheard(self->worker->runtime, &before);
    rgi_actor_stop(self->worker, self);
}

/* ---- telling ---- */

void
rgi_end_tell(struct rgm_worker *worker, struct rgm_actor *actor)
{
    uint32_t index = rgi_address_slot(actor->address);
    struct rgi_slot *slot = rgi_slot_at(&worker->slots, index);
    struct rgm_end end;

    if (!slot->watched && !(actor->flags & RGI_ACTOR_PARCEL))
        return;
    end.kind = (enum rgm_end_kind)actor->end_kind;
    end.status = actor->end_status;
    end.parcel = parcel_take(actor);
    if ((actor->flags & RGI_ACTOR_LOST) && end.kind != RGM_END_FAULT) {
        rgi_end_unheard(worker->runtime, &end);
        end = (struct rgm_end){RGM_END_LOST, worker->failure, NULL};
    }
    if (!slot->watched || rgi_watch_tell(worker, actor->address, &end) == 0)
        rgi_end_unheard(worker->runtime, &end);
}
