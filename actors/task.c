/* SPDX-License-Identifier: MIT */

/*
 * task.c - a handle on an actor, for any thread and any time.
 *
 * A task is a watcher that is nobody's request: it goes to the actor's worker
 * before the actor does, stays in the table of watchers, and is told like all
 * others. Telling writes the end into the task and sets ENDED in `state`, which
 * is what a thread sleeps on.
 *
 * Its references: the handle's, the table's, and one for the stop order while
 * that is in an inbox. The last one frees it, on any thread; the runtime is not
 * touched for that.
 *
 * A stop from any thread pushes the task's own node, once. The runtime may be
 * gone by then: the pusher sets PUSHING, unless ENDED is there, in one step; as
 * long as ENDED is not there the actor lives, and so does the runtime. Whoever
 * sets ENDED over PUSHING counts the pusher as one that is outside; the pusher
 * leaves there if he finds ENDED when he is done.
 */

#include <ringmail/task.h>

#include "actors/runtime.h"

#include "base/memory.h"

#define ENDED 1u
#define STOPPED 2u
#define PUSHING 4u

struct rgm_task {
    struct rgm_message watch; /* to the table */
    struct rgm_watcher watcher;
    struct rgm_message stop;
    struct rgm_runtime *runtime;
    struct rgm_address who; /* constant; `watch.to` is the table's */
    uint32_t state;      /* task-state; futex word */
    uint32_t references; /* task-references */
    struct rgm_end end;  /* once ENDED */
    bool detached;       /* the handle's */
};

static const struct rgm_message_type task_type = {
    "task", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

static struct rgm_task *
task_of(struct rgm_message *watch)
{
    return rgi_container_of(watch, struct rgm_task, watch);
}

void
rgi_task_begin(struct rgm_message *watch, struct rgm_address who)
{
    task_of(watch)->who = who;
    watch->to = who;
}

bool
rgi_is_task(const struct rgm_message *message)
{
    return message->type == &task_type;
}

struct rgm_watcher *
rgi_task_watcher(struct rgm_message *watch)
{
    return &task_of(watch)->watcher;
}

/* ---- references ---- */

static void
let_go(struct rgm_task *task)
{
    /* task-references: publishes all use of it; the last one observes. */
    ck_pr_fence_release();
    if (ck_pr_faa_32(&task->references, UINT32_MAX) != 1)
        return;
    ck_pr_fence_acquire();
    rgm_parcel_drop(task->end.parcel);
    rgi_free(task);
}

static uint32_t
state_of(const struct rgm_task *task)
{
    /* task-state: observes the end behind ENDED. */
    uint32_t state = ck_pr_faa_32((uint32_t *)(uintptr_t)&task->state, 0);

    ck_pr_fence_acquire();
    return state;
}

/* Set bits unless one of `unless` is set. Returns: whether it did. */
static bool
state_add(struct rgm_task *task, uint32_t bits, uint32_t unless)
{
    uint32_t state = ck_pr_load_32(&task->state);

    while ((state & unless) == 0) {
        /* task-state: publishes the end with ENDED. */
        ck_pr_fence_release();
        if (ck_pr_cas_32_value(&task->state, state, state | bits, &state))
            return true;
    }
    return false;
}

/* ---- the end ---- */

void
rgi_task_told(struct rgm_message *watch, const struct rgm_end *end)
{
    struct rgm_task *task = task_of(watch);
    uint32_t state;

    task->end = *end;
    /* task-state: publishes the end; observes whether somebody pushes. */
    ck_pr_fence_release();
    state = ck_pr_load_32(&task->state);
    while (!ck_pr_cas_32_value(&task->state, state, state | ENDED, &state))
        ;
    if (state & PUSHING) /* runtime-outside: counted for him */
        ck_pr_inc_32(&task->runtime->outside);
    rgi_futex_wake(&task->state);
    let_go(task);
}

const struct rgm_end *
rgm_task_end(const struct rgm_task *task)
{
    return state_of(task) & ENDED ? &task->end : NULL;
}

int
rgm_task_wait(struct rgm_task *task)
{
    uint32_t state;

    while (((state = state_of(task)) & ENDED) == 0) {
        if (rgi_current != NULL)
            return -EDEADLK;
        rgi_futex_wait(&task->state, state);
    }
    return 0;
}

int
rgm_task_join(struct rgm_task *task, struct rgm_end *ret_end)
{
    int status = rgm_task_wait(task);

    if (status != 0)
        return status;
    *ret_end = task->end;
    task->end.parcel = NULL;
    let_go(task);
    return 0;
}

struct rgm_address
rgm_task_who(const struct rgm_task *task)
{
    return task->who;
}

/* ---- stopping ---- */

/* The order has come, or found nobody. */
void
rgi_task_control(struct rgm_worker *worker, struct rgm_message *stop)
{
    struct rgm_task *task = rgi_container_of(stop, struct rgm_task, stop);

    rgi_actor_stop_at(worker, stop->to);
    let_go(task);
}

static void
push(struct rgm_task *task)
{
    struct rgm_message *stop = &task->stop;
    uint32_t number = rgm_address_worker(task->who);
    struct rgi_inbox *inbox = &task->runtime->places[number].inbox;

    stop->type = &task_type;
    stop->control = RGI_CONTROL_TASK;
    stop->flags = RGI_MESSAGE_URGENT;
    stop->lane = RGI_LANE_NONE;
    stop->to = task->who;
    /* task-references: before the push, which publishes it. */
    ck_pr_inc_32(&task->references);
    if (rgi_inbox_push(inbox, stop, stop) < 0)
        let_go(task); /* closed: it is ending */
}

void
rgm_task_stop(struct rgm_task *task)
{
    uint32_t state;

    if (!state_add(task, STOPPED | PUSHING, ENDED | STOPPED))
        return;
    push(task);
    /* task-state: the runtime is not touched any more, unless it counts us. */
    state = ck_pr_load_32(&task->state);
    while (!ck_pr_cas_32_value(&task->state, state, state & ~PUSHING, &state))
        ;
    if (state & ENDED) {
        /* runtime-outside: publishes that we have left. */
        ck_pr_fence_release();
        ck_pr_dec_32(&task->runtime->outside);
    }
}

void
rgm_task_drop(struct rgm_task *task)
{
    if (task == NULL)
        return;
    rgm_task_stop(task);
    let_go(task);
}

void
rgm_task_detach(struct rgm_task *task)
{
    let_go(task);
}

/* ---- spawning ---- */

static struct rgm_task *
task_make(struct rgm_runtime *runtime, uint32_t home)
{
    struct rgm_task *task = rgi_alloc(sizeof(*task));

    if (task == NULL)
        return NULL;
    task->runtime = runtime;
    task->references = 2; /* the handle's and the table's */
    task->watch.type = &task_type;
    task->watch.lane = RGI_LANE_NONE;
    task->watch.from = rgm_worker_address(home);
    return task;
}

struct rgm_message *
rgi_task_make(struct rgm_runtime *runtime, struct rgm_task **ret_task)
{
    struct rgm_task *task = task_make(runtime, 0);

    *ret_task = task;
    return task != NULL ? &task->watch : NULL;
}

void
rgi_task_unmake(struct rgm_task *task)
{
    rgi_free(task);
}

int
rgm_spawn_task_actor(struct rgm_actor *self, uint32_t worker,
                     const struct rgm_behaviour *behaviour,
                     const void *argument, struct rgm_task **ret_task)
{
    struct rgm_worker *home = self->worker;
    struct rgm_task *task = task_make(home->runtime, home->number);
    struct rgm_address who;
    int status;

    if (task == NULL)
        return -ENOMEM;
    status = rgi_spawn_watched(self, worker, behaviour, argument,
                               &task->watch, &who);
    if (status != 0) {
        rgi_free(task);
        return status;
    }
    *ret_task = task;
    return 0;
}

int
rgm_runtime_task(struct rgm_runtime *runtime, uint32_t worker,
                 const struct rgm_behaviour *behaviour, const void *argument,
                 struct rgm_task **ret_task)
{
    struct rgm_guest guest;
    int status = rgm_guest_open(runtime, &guest);

    if (status != 0)
        return status;
    status = rgm_spawn_task_actor(&guest.actor, worker, behaviour, argument,
                                  ret_task);
    rgm_guest_close(&guest);
    return status;
}
