/* SPDX-License-Identifier: MIT */

/*
 * worker_lease.c - how does a thread that is still needed outlive a shrink?
 *
 *     worker_lease [early]
 *
 * A clerk on the second of two workers owns a queue that only its thread may
 * touch, as the completion queue of a foreign library would be. A plain thread
 * fills it. While the clerk waits, a boss on the first worker reduces the pool
 * to one. The clerk's lease keeps its thread: it drains the queue in short
 * turns, destroys it, releases the lease, and only then its worker ends.
 *
 * With `early` it releases first, which is the mistake; the sample says so.
 */

#include <ringmail/ringmail.h>

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMANDS 100
#define COMMANDS_PER_TURN 8

/* ------------------------------------- the foreign queue, bound to a thread */

struct foreign_queue {
    pthread_mutex_t lock; /* the library's own */
    int commands[COMMANDS];
    int first, last;
    pthread_t owner;
};

static void
must(bool condition, const char *what)
{
    if (condition)
        return;
    fprintf(stderr, "worker_lease: %s\n", what);
    exit(1);
}

static void
queue_put(struct foreign_queue *queue, int command)
{
    pthread_mutex_lock(&queue->lock);
    queue->commands[queue->last++] = command;
    pthread_mutex_unlock(&queue->lock);
}

/* On its owner's thread only. */
static bool
queue_get(struct foreign_queue *queue, int *ret_command)
{
    bool there;

    must(pthread_equal(pthread_self(), queue->owner), "not the owner's thread");
    pthread_mutex_lock(&queue->lock);
    there = queue->first < queue->last;
    if (there)
        *ret_command = queue->commands[queue->first++];
    pthread_mutex_unlock(&queue->lock);
    return there;
}

/* ------------------------------------------------------------------ the clerk */

struct nudge {
    struct rgm_message message;
};
RGM_MESSAGE(nudge);

struct are_you_there {
    struct rgm_request request;
};
RGM_REQUEST(are_you_there);

struct clerk {
    struct rgm_actor actor;
    struct foreign_queue queue;
    struct rgm_worker_lease lease;
    int served, turns;
    bool retiring;
};

static struct {
    bool early;
    struct foreign_queue *queue;
    pthread_t clerks_thread;
    struct rgm_runtime *runtime;
    struct rgm_address clerk;
    pthread_t filler;
} all;

RGM_HOOK(clerk, clerk_started);
RGM_HOOK(clerk, clerk_retiring);
RGM_HOOK(clerk, clerk_stopped);
RGM_HANDLER(clerk, nudge, clerk_nudge);
RGM_HANDLER(clerk, are_you_there, clerk_are_you_there);

static void
clerk_started(struct clerk *self)
{
    must(rgm_worker_lease_take(self, &self->lease) == 0, "no lease");
    pthread_mutex_init(&self->queue.lock, NULL);
    self->queue.owner = pthread_self();
    all.queue = &self->queue;
    all.clerks_thread = pthread_self();
    printf("clerk: on worker %u, with a lease\n",
           rgm_worker_number(&self->actor));
}

static void
clerk_are_you_there(struct clerk *self, struct are_you_there *question)
{
    rgm_reply(self, question, 0);
}

static void
clerk_destroy_queue(struct clerk *self)
{
    must(rgm_worker_lease_active(&self->lease),
         "the lease was released before the queue was destroyed");
    pthread_mutex_destroy(&self->queue.lock);
    printf("clerk: queue destroyed\n");
}

/* A short turn: so much and no more, then the worker may do something else. */
static void
clerk_nudge(struct clerk *self, struct nudge *nudge)
{
    int command;

    (void)nudge;
    self->turns++;
    for (int i = 0; i < COMMANDS_PER_TURN; i++)
        if (queue_get(&self->queue, &command))
            self->served++;
    if (self->served < COMMANDS)
        return;
    must(self->retiring, "the pool was not reduced");
    printf("clerk: %d commands drained, the thread is %s\n", self->served,
           pthread_equal(pthread_self(), all.clerks_thread) ? "the same"
                                                            : "another");
    rgm_stop(self);
}

/* Told that its worker goes: its work does not end for that. */
static void
clerk_retiring(struct clerk *self)
{
    self->retiring = true;
    printf("clerk: the worker retires, %u of 2 take work\n",
           rgm_workers_count(&self->actor));
}

static void
clerk_stopped(struct clerk *self)
{
    if (all.early)
        rgm_worker_lease_release(&self->lease);
    clerk_destroy_queue(self);
    rgm_worker_lease_release(&self->lease);
    printf("clerk: lease released\n");
}

static const struct rgm_handler clerk_handlers[] = {
    RGM_ON(clerk, nudge, clerk_nudge),
    RGM_ON(clerk, are_you_there, clerk_are_you_there),
};
static const struct rgm_behaviour clerk_behaviour = {
    .name = "clerk",
    .size_bytes = sizeof(struct clerk),
    RGM_HANDLERS(clerk_handlers),
    .started = RGM_DO(clerk, clerk_started),
    .retiring = RGM_DO(clerk, clerk_retiring),
    .stopped = RGM_DO(clerk, clerk_stopped),
};

/* ----------------------------------------- a plain thread with commands for it */

static void *
fill(void *argument)
{
    struct rgm_guest guest;
    struct nudge *nudge;

    (void)argument;
    must(rgm_guest_open(all.runtime, &guest) == 0, "no guest");
    for (int i = 0; i < COMMANDS; i++) {
        queue_put(all.queue, i);
        nudge = nudge_take(&guest.actor, 0);
        must(nudge != NULL && rgm_send(&guest, all.clerk, nudge) == 0,
             "no nudge");
    }
    rgm_guest_close(&guest);
    return NULL;
}

/* ------------------------------------------------------------------- the boss */

struct boss {
    struct rgm_actor actor;
    struct rgm_resize resize;
    struct are_you_there question;
    bool shrunk;
};
RGM_HOOK(boss, boss_started);
RGM_ANSWER(boss, are_you_there, boss_heard);
RGM_ANSWER(boss, rgm_resize, boss_resized);

static void
boss_resize(struct boss *self, bool until_gone)
{
    rgm_resize_to(&self->resize, 1);
    self->resize.until_gone = until_gone;
    rgm_ask(self, &self->resize, RGM_REPLY(boss, rgm_resize, boss_resized));
}

static void
boss_started(struct boss *self)
{
    must(rgm_spawn_on(self, 1, &clerk_behaviour, NULL, &all.clerk) == 0,
         "no clerk");
    are_you_there_prepare(&self->question, all.clerk);
    rgm_ask(self, &self->question, RGM_REPLY(boss, are_you_there, boss_heard));
}

/* The clerk waits for commands now. */
static void
boss_heard(struct boss *self, struct are_you_there *question)
{
    must(rgm_status(question) == 0, "no answer");
    boss_resize(self, false);
}

static void
boss_resized(struct boss *self, struct rgm_resize *resize)
{
    must(rgm_status(resize) == 0, "no resize");
    if (self->shrunk) {
        printf("boss: the second worker has ended\n");
        rgm_stop(self);
        return;
    }
    self->shrunk = true;
    printf("boss: %u worker, %u threads\n", rgm_runtime_workers(all.runtime),
           rgm_runtime_threads(all.runtime));
    must(pthread_create(&all.filler, NULL, fill, NULL) == 0, "no thread");
    boss_resize(self, true);
}

static const struct rgm_behaviour boss_behaviour = {
    .name = "boss",
    .size_bytes = sizeof(struct boss),
    .started = RGM_DO(boss, boss_started),
};

int
main(int argc, char **argv)
{
    struct rgm_runtime_options options = {.workers = 2};

    all.early = argc > 1 && strcmp(argv[1], "early") == 0;
    must(rgm_runtime_create(&options, &all.runtime) == 0 &&
             rgm_runtime_run(all.runtime, &boss_behaviour, NULL) == 0,
         "no runtime");
    pthread_join(all.filler, NULL);
    printf("shut down\n");
    return rgm_runtime_destroy(all.runtime);
}
