/* SPDX-License-Identifier: MIT */

/*
 * holder.c - under which name does a pool note who takes a slot?
 *
 * Under that of the actor whose handler runs, with its address; under "worker"
 * when none does, and "thread" where there is no worker.
 */

#include "actors/runtime.h"

#include "leases/pool.h"

static void
holder_of_thread(struct rgi_holder *ret_holder)
{
    const struct rgm_worker *worker = rgi_current;

    if (worker == NULL) {
        *ret_holder = (struct rgi_holder){"thread", 0};
    } else if (worker->running == NULL) {
        *ret_holder = (struct rgi_holder){
            "worker", rgm_worker_address(worker->number).bits};
    } else {
        rgi_holder_of_actor(worker->running, ret_holder);
    }
}

void
rgi_holder_of_actor(const struct rgm_actor *actor,
                    struct rgi_holder *ret_holder)
{
    const struct rgi_dispatch *dispatch = actor->dispatch;

    ret_holder->name = dispatch != NULL && dispatch->behaviour->name != NULL
                           ? dispatch->behaviour->name
                           : "actor";
    ret_holder->who = actor->address.bits;
}

void
rgi_holders_name(void)
{
    static const struct rgi_registry registry = {holder_of_thread};

    rgi_pool_holders_by(&registry);
}
