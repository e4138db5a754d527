/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_RUNTIME_H
#define RINGMAIL_RUNTIME_H

/*
 * runtime.h - workers: how many, on what, started, stopped, counted.
 *
 *     struct rgm_runtime *runtime;
 *     struct rgm_runtime_options options = {0};     // all defaults
 *
 *     status = rgm_runtime_create(&options, &runtime);
 *     status = rgm_runtime_run(runtime, &root_behaviour, NULL);
 *     rgm_runtime_destroy(runtime);
 *
 * A worker is a thread with a provider (a ring), a timer queue and a mailbox.
 * Stopping is graceful and loses nothing: every message is home, every
 * operation complete, every `stopped` hook has run before the workers end.
 *
 * Thread: as each declaration says.
 */

#include <ringmail/actor.h>
#include <ringmail/counters.h>
#include <ringmail/stream_defaults.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_runtime;
struct rgm_provider_class;

#define RGM_WORKERS_MAX 64
#define RGM_GUESTS_MAX 960

/* Zero in a field means its default. */
struct rgm_runtime_options {
    /* To start with, 1 .. 64. Default: the CPUs this process may really use:
     * affinity and cgroup quota (rounded up), whichever is smaller. */
    uint32_t workers;
    /* Up to how many resize may go, at least `workers`. Default: 64. A number
     * that is never used costs about half a kilobyte, and as much again in
     * each worker. */
    uint32_t workers_max;
    /* Default: ring; when the machine refuses it, epoll, and
     * rgm_runtime_provider says which and why. */
    const struct rgm_provider_class *provider;
    void *provider_argument; /* handed to it; scripted: its script */
    /* Passed to the provider; see provider.h. */
    uint32_t ring_entries;
    uint32_t in_flight_max;
    uint32_t pool_slots_max;
    uint32_t fixed_files_max;
    uint32_t zero_copy_max;
    bool strict;
    bool pin; /* worker i on the i-th usable CPU */
    /* How long a worker looks for work before it sleeps, at most, in us; up
     * to 1,000,000. Default 50 (about one wake); 0 in effect when workers
     * outnumber usable CPUs. RGM_SPIN_OFF: never. */
    uint32_t spin_us;
    /* Allowance of each pair of workers: messages and bytes that may be out at
     * once. Defaults 4,096, to 2^31 - 1, and 4 MiB, to 1 TiB. */
    uint32_t lane_messages;
    uint64_t lane_bytes;
    /* Deliveries of one kind (own mail, other workers' mail, completions) per
     * turn. Default 1,024. */
    uint32_t quota;
    /* Reserved slots each worker lends each other one at a time. Default 64,
     * up to 65,536. */
    uint32_t lent_slots;
    /* Of the pool that runs jobs (job.h): threads, default 4, up to 256, and
     * how many jobs are admitted at once, default 512, up to 2^20. */
    uint32_t job_threads;
    uint32_t jobs_max;
    /* Clean-up without an answer (rgm_stream_drop, rgm_submit_cleanup) that may
     * be out at once, on each worker. Default 65,536, up to 2^20. */
    uint32_t cleanups_max;
    /* Of the pool a worker makes for reads that name none (stream.h), when the
     * first of them begins: slots, default 64, up to 2^20, of so many bytes each,
     * default 16,384, up to 2^30. */
    uint32_t read_slots;
    uint32_t read_slot_bytes;
    /* For programs under development. Told that actors wait for each other: each
     * of them has nothing out but asks that others of them keep, and their
     * workers sleep, so only somebody else could still end that. Asks with a
     * deadline and of types that are answered late do not count. In libraries
     * built with RGI_SLOW_ASSERTS only (the dev, asan and tsan presets); NULL:
     * nobody looks. Thread: a worker's, about to sleep; no verbs. */
    void (*on_circle)(const char *text);
    /* Threads of look-ups of names (resolve.h), and so how many run at once.
     * Default 4, up to 256. */
    uint32_t resolve_threads;
    /* How much may wait for time at once, on each worker (timer.h). Default
     * RGM_TIMERS_DEFAULT, up to RGM_TIMERS_MAX. */
    uint32_t timers_max;
    /* Deadlines of requests (deadline.h) that are further away than
     * RGM_DEADLINE_EXACT_TICKS of these end at the next multiple of it, so that
     * those of many idle connections come in one wake. In us. Default 5,000, up to
     * 1,000,000; 1: each at its own moment. */
    uint32_t deadline_tick_us;
    /* What accepted and connected streams get, and how long is dialled. */
    struct rgm_stream_defaults streams;
};

#define RGM_DEADLINE_EXACT_TICKS 64
#define RGM_DEADLINE_TICK_MAX_US 1000000

#define RGM_TIMERS_DEFAULT (UINT32_C(1) << 22)
#define RGM_TIMERS_MAX (UINT32_C(1) << 30)

#define RGM_SPIN_OFF UINT32_MAX

/*
 * Make a runtime; starts nothing.
 *
 * Thread:  any.
 * Owns:    the caller owns *ret_runtime and destroys it.
 * Returns: 0, -EINVAL for an option outside its range, -ENOMEM, -EMFILE,
 *          -ENFILE.
 */
RGM_API RGM_MUST_USE int
rgm_runtime_create(const struct rgm_runtime_options *options,
                   struct rgm_runtime **ret_runtime);

/*
 * Start all workers in the background and return when each has its provider.
 *
 * Thread:  the one that created it, not a worker's.
 * Returns: 0; -EALREADY when started before; -EDEADLK on a worker; or why a
 *          worker could not start (rgm_runtime_error has a sentence): then none
 *          is left running, and the runtime has ended.
 */
RGM_API RGM_MUST_USE int rgm_runtime_start(struct rgm_runtime *runtime);

/*
 * Start with worker 0 on the calling thread, spawn the root actor there, and
 * return when the runtime has stopped: after rgm_runtime_stop, or when the
 * root actor has stopped.
 *
 * Returns: as rgm_runtime_start, what spawning the root gave, or the error
 *          that ended the first provider that failed.
 */
RGM_API RGM_MUST_USE int
rgm_runtime_run(struct rgm_runtime *runtime,
                const struct rgm_behaviour *root, const void *argument);

/*
 * Ask for a graceful stop; returns at once. Actors are told by `retiring`.
 * Calling it again does nothing. More about the end: stop.h.
 *
 * Thread: any, signal handlers included.
 */
RGM_API void rgm_runtime_stop(struct rgm_runtime *runtime);

/*
 * Wait until all workers have ended; not at all when none was ever started.
 *
 * Thread:  any but the runtime's own.
 * Returns: 0; -EDEADLK on a worker of this runtime; or the error that ended
 *          the first provider that failed.
 */
RGM_API int rgm_runtime_wait(struct rgm_runtime *runtime);

/*
 * Free a runtime that never started, or that has ended: rgm_runtime_run or
 * rgm_runtime_wait has returned. NULL does nothing.
 *
 * Thread:  any but the runtime's own; the last call that is given the runtime.
 * Returns: 0; -EBUSY before that, or while guests are open (nothing is freed).
 */
RGM_API int rgm_runtime_destroy(struct rgm_runtime *runtime);

/* Spawn from a plain thread, on a worker or (RGM_ANY_WORKER) on the next in
 * turn. Before start it waits for the start. Returns as rgm_spawn, but -EAGAIN
 * when no guest is free; -EDEADLK on a worker. Thread: any but a worker's. */
#define RGM_ANY_WORKER UINT32_MAX
/* A thread of its own, see dedicated.h; for rgm_runtime_spawn, rgm_runtime_task
 * and a supervisor's children. It is waited for while all numbers of workers
 * (workers_max) are in use. */
#define RGM_OWN_THREAD (UINT32_MAX - 1)
RGM_API RGM_MUST_USE int rgm_runtime_spawn(
    struct rgm_runtime *runtime, uint32_t worker,
    const struct rgm_behaviour *behaviour, const void *argument,
    struct rgm_address *ret_address);

/* Stop the actor at the address; returns when the order has arrived. Before
 * start it waits for the start. Returns 0, -ENOMEM, -EAGAIN when no guest is
 * free, -EPIPE when the runtime has ended, -EDEADLK on a worker.
 * Thread: any but a worker's. */
RGM_API int rgm_runtime_stop_actor(struct rgm_runtime *runtime,
                                   struct rgm_address address);

/*
 * Ask and block for the answer: any prepared request, capabilities included.
 *
 * Thread:  any but a worker's.
 * Returns: the request's status; -EDEADLK on a worker, -EAGAIN when no guest
 *          is free, -ENOMEM, -EPIPE when the runtime has ended (in these the
 *          request was not asked). When the provider fails that carries it out,
 *          the record is nobody's and there is nobody to tell: the program ends.
 */
#define rgm_call(runtime, record)                                             \
    rgm_call_request((runtime), &(record)->request)
RGM_API RGM_MUST_USE int rgm_call_request(struct rgm_runtime *runtime,
                                          struct rgm_request *request);

/*
 * The address of one of the workers that take placements, each in its turn: where
 * a plain thread may ask for what any worker can do. Thread: any.
 */
RGM_API struct rgm_address rgm_runtime_any(struct rgm_runtime *runtime);

/* How many workers take placements, and which (bit i is worker i); how many
 * threads there are, those of retiring workers included. Thread: any. */
RGM_API uint32_t rgm_runtime_workers(const struct rgm_runtime *runtime);
RGM_API uint64_t rgm_runtime_live(const struct rgm_runtime *runtime);
RGM_API uint32_t rgm_runtime_threads(const struct rgm_runtime *runtime);

/* Which provider and how it was set up; what went wrong, or "". Thread: any,
 * once rgm_runtime_start has returned or an actor has run. */
RGM_API const char *rgm_runtime_provider(const struct rgm_runtime *runtime);
RGM_API const char *rgm_runtime_error(const struct rgm_runtime *runtime);

/*
 * The CPUs this process may really use: affinity and cgroup quota.
 * Thread: any. Source: sched_getaffinity(2), cgroups(7).
 */
RGM_API uint32_t rgm_usable_cpus(void);

/* Copy one worker's counters, or the sum (RGM_ANY_WORKER). Thread: any; a
 * running worker's gauges, `home` and what its provider counts are as of its
 * last park, or of a thousand turns ago.
 * Returns 0 or -EINVAL. */
RGM_API int rgm_runtime_counters(const struct rgm_runtime *runtime,
                                 uint32_t worker,
                                 struct rgm_counters *ret_counters);

/* Whether a worker sleeps, and whether there is mail for it. */
struct rgm_park {
    uint64_t since_ns; /* CLOCK_MONOTONIC with ring and threads; 0: awake */
    bool has_mail;     /* it sleeps, or is about to wake, and there is some */
};

/*
 * Look at a worker from outside, for a watchdog. Mail for one that sleeps is
 * in order for as long as it takes to wake; the same park with mail a second
 * later means that a wake was lost, which must not happen.
 *
 * Thread:  any.
 * Returns: 0, or -EINVAL when no worker ever had the number.
 */
RGM_API int rgm_runtime_park(struct rgm_runtime *runtime, uint32_t worker,
                             struct rgm_park *ret_park);

/*
 * A plain thread that sends and asks: an inbox of its own, home of what it
 * sends. Use it as `self` in the verbs. Its struct must not move while open.
 */
struct rgm_guest {
    struct rgm_actor actor;
    void *home; /* the runtime's */
};

/*
 * Thread:  any but a worker's; it becomes the guest's owner.
 * Returns: 0, -EAGAIN (RGM_GUESTS_MAX are open), -ENOMEM, -EPIPE (stopped),
 *          -EDEADLK on a worker.
 */
RGM_API RGM_MUST_USE int rgm_guest_open(struct rgm_runtime *runtime,
                                        struct rgm_guest *guest);

/* Deliver what has come home; when nothing has, block until something does or
 * nothing is out. Returns deliveries made (answers and returns); 0 when nothing
 * is out. Thread: owner. */
RGM_API uint32_t rgm_guest_wait(struct rgm_guest *guest);

/* Wait until everything is home, then close. Thread: owner. */
RGM_API void rgm_guest_close(struct rgm_guest *guest);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_RUNTIME_H */
