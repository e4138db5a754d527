/* SPDX-License-Identifier: MIT */

/*
 * worker_lease.c - who still needs this worker's thread?
 *
 * 1. Taking makes a record in the worker's list, on its thread. Retirement is
 *    admitted by the same thread (resize.c), so one of the two is first.
 * 2. Releasing claims the record by an exchange and, elsewhere than on the
 *    worker, pushes it home. A worker is not quiet while the list is not empty
 *    (turn.c), so its inbox is open for that.
 * 3. A worker that ends by force gives up its records: whoever has the token
 *    frees it. A record that was claimed before is awaited instead, because its
 *    releaser is about to push; it has entered the outside count by then, so the
 *    runtime outlives its bell.
 *
 * Model: actors/models/lease.pml.
 */

#include "actors/runtime.h"

#include <ringmail/worker_lease.h>

#include "base/memory.h"
#include "capabilities/operation.h"

enum { HELD, RELEASED, GIVEN_UP };

/* The worker's list is of these; token->obligation points to one. */
struct rgi_obligation {
    struct rgm_message message; /* the way home */
    struct rgm_link link;       /* the worker's: held, or spare */
    struct rgm_worker *worker;
    struct rgm_address holder;
    const char *behaviour;
    uint64_t taken_ns;
    uint32_t state; /* lease-state */
};

static const struct rgm_message_type lease_type = {
    "worker lease", sizeof(struct rgi_obligation), 0, RGM_KIND_CONTROL, 0,
    NULL};

static inline struct rgi_obligation *
obligation_of(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgi_obligation, link);
}

void
rgi_worker_leases_init(struct rgm_worker *worker)
{
    rgi_list_init(&worker->leases);
    rgi_list_init(&worker->leases_spare);
}

void
rgi_worker_leases_deinit(struct rgm_worker *worker)
{
    struct rgm_link *link;

    while ((link = rgi_list_first(&worker->leases_spare)) != NULL) {
        rgi_list_remove(link);
        rgi_free(obligation_of(link));
    }
}

/* ---- taking ---- */

static struct rgi_obligation *
obligation_make(struct rgm_worker *worker)
{
    struct rgm_link *spare = rgi_list_first(&worker->leases_spare);
    struct rgi_obligation *obligation;

    if (spare != NULL) {
        rgi_list_remove(spare);
        return obligation_of(spare);
    }
    obligation = rgi_alloc(sizeof(*obligation));
    if (obligation == NULL)
        return NULL;
    obligation->worker = worker;
    obligation->message.type = &lease_type;
    obligation->message.control = RGI_CONTROL_LEASE;
    obligation->message.flags = RGI_MESSAGE_URGENT;
    return obligation;
}

int
rgm_take_worker_lease(struct rgm_actor *self, struct rgm_worker_lease *lease)
{
    struct rgm_worker *worker = self->worker;
    struct rgi_obligation *obligation;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest)
        return -EINVAL;
    if (worker->draining)
        return -EPIPE;
    obligation = obligation_make(worker);
    if (obligation == NULL)
        return -ENOMEM;
    obligation->holder = rgi_name_of(self);
    obligation->behaviour = self->dispatch->behaviour->name;
    obligation->taken_ns = rgi_now(worker);
    ck_pr_store_32(&obligation->state, HELD); /* lease-state: ours alone yet */
    rgi_list_push_back(&worker->leases, &obligation->link);
    worker->leases_count++;
    rgm_worker_lease_release(lease);
    *lease = (struct rgm_worker_lease){
        .obligation = obligation,
        .worker = worker->number,
        .identity = worker->identity,
    };
    return 0;
}

/* ---- releasing ---- */

static void
lease_home(struct rgm_worker *worker, struct rgi_obligation *obligation)
{
    rgi_list_remove(&obligation->link);
    rgi_list_push_back(&worker->leases_spare, &obligation->link);
    worker->leases_count--;
    if (worker->retiring)
        rgi_moves_look_again(worker);
}

void
rgi_worker_lease_control(struct rgm_worker *worker,
                         struct rgm_message *message)
{
    lease_home(worker,
               rgi_container_of(message, struct rgi_obligation, message));
}

/* The worker is there until the record is: it waits for it. */
static void
push_home(struct rgi_obligation *obligation)
{
    struct rgm_worker *worker = obligation->worker;
    int status = rgi_push_outside(worker->runtime, worker->inbox,
                                  &obligation->message);

    rgi_assert(status >= 0);
}

void
rgm_worker_lease_release(struct rgm_worker_lease *lease)
{
    struct rgi_obligation *obligation = lease->obligation;
    uint32_t before;

    *lease = (struct rgm_worker_lease){.obligation = NULL};
    if (obligation == NULL)
        return;
    /* lease-state: claims the record, or observes that it was given up. */
    before = ck_pr_fas_32(&obligation->state, RELEASED);
    ck_pr_fence_acquire();
    if (before == GIVEN_UP)
        rgi_free(obligation);
    else if (rgi_here() == obligation->worker)
        lease_home(obligation->worker, obligation);
    else
        push_home(obligation);
}

void
rgm_worker_lease_move(struct rgm_worker_lease *to,
                      struct rgm_worker_lease *from)
{
    struct rgm_worker_lease moved = *from;

    if (to == from)
        return;
    *from = (struct rgm_worker_lease){.obligation = NULL};
    rgm_worker_lease_release(to);
    *to = moved;
}

bool
rgi_worker_leases_give_up(struct rgm_worker *worker)
{
    struct rgm_link *link = worker->leases.next;

    while (link != &worker->leases) {
        struct rgi_obligation *obligation = obligation_of(link);

        link = link->next;
        /* A claim may free it at once: it is out of the list before. */
        rgi_list_remove(&obligation->link);
        /* lease-state: publishes that the record is the token's alone. */
        ck_pr_fence_release();
        if (ck_pr_cas_32(&obligation->state, HELD, GIVEN_UP)) {
            worker->leases_count--;
            continue;
        }
        rgi_list_insert_before(link, &obligation->link);
    }
    return worker->leases_count == 0;
}

/* ---- who holds one ---- */

const char *
rgi_worker_lease_name(const struct rgm_worker *worker)
{
    struct rgm_link *first = rgi_list_first(&worker->leases);

    return first != NULL ? obligation_of(first)->behaviour : NULL;
}

bool
rgi_worker_has_lease_of(const struct rgm_worker *worker,
                        const struct rgm_actor *actor)
{
    struct rgm_link *link = worker->leases.next;

    for (; link != &worker->leases; link = link->next)
        if (obligation_of(link)->holder.bits == rgi_name_of(actor).bits)
            return true;
    return false;
}

int
rgi_lease_holders_start(struct rgm_worker *worker,
                        struct rgm_operation *operation)
{
    struct rgm_lease_holders *question =
        rgi_container_of(operation, struct rgm_lease_holders, operation);
    uint64_t now_ns = rgi_now(worker);
    struct rgm_link *link = worker->leases.next;
    int status = rgi_operation_begin(operation, worker->provider);

    if (status != 0)
        return status;
    for (uint32_t i = 0; i < question->capacity && link != &worker->leases;
         i++, link = link->next) {
        const struct rgi_obligation *obligation = obligation_of(link);

        question->holders[i] = (struct rgm_lease_holder){
            .actor = obligation->holder,
            .behaviour = obligation->behaviour,
            .age_ns = now_ns - obligation->taken_ns,
        };
    }
    question->count = worker->leases_count;
    question->identity = worker->identity;
    rgm_operation_complete(operation, 0, &worker->turn);
    return 0;
}
