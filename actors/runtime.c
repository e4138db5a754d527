/* SPDX-License-Identifier: MIT */

/*
 * runtime.c - workers are made, started, stopped and joined.
 *
 *   create   places (inbox, bell), workers, loans: all memory, no thread
 *   start    one thread per worker; each opens its provider on its own thread
 *            and reports; when all have, they are released together, or, when
 *            one could not, all are sent home
 *   stop     one control node, pushed to worker 0 once, which tells the others;
 *            the outside count says that somebody is still between his push and
 *            his bell
 *   resize   numbers come and go: resize.c
 *   end      each worker leaves when its inbox is closed; whoever waits first
 *            joins the threads
 *   destroy  only when nobody can push any more
 *
 * Worker 0 may be the calling thread (rgm_runtime_run). Threads of ours block
 * all signals; the caller's keeps its own mask, except SIGPIPE.
 */

#include "actors/names.h"
#include "actors/runtime.h"

#include <ringmail/lease.h>

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ringmail/resolve.h>

#include "base/baton.h"
#include "base/bell.h"
#include "base/memory.h"
#include "capabilities/transit.h"

__thread struct rgm_worker *rgi_current
    __attribute__((tls_model("initial-exec")));

#ifdef RGI_SLOW_ASSERTS
struct rgm_worker *
rgi_here(void)
{
    struct rgm_worker *worker = rgi_current;

    return worker == NULL || worker->runtime->nobody_is_here ? NULL : worker;
}

static bool
locality_is_off(void)
{
    const char *locality = getenv("RGM_LOCALITY");

    return locality != NULL && strcmp(locality, "off") == 0;
}
#endif

/* ---- options ---- */

#define DEFAULT_LANE_MESSAGES 4096u
#define DEFAULT_LANE_BYTES (UINT64_C(4) << 20)
#define DEFAULT_QUOTA 1024u
#define DEFAULT_LENT_SLOTS 64u
#define DEFAULT_SPIN_US 50u
#define LEAST_SPIN_NS 5000u
#define LENT_SLOTS_MAX 65536u
#define DEFAULT_CLEANUPS 65536u
#define CLEANUPS_MAX (UINT32_C(1) << 20)
#define DEFAULT_DEADLINE_TICK_US 5000u
#define DEFAULT_READ_SLOTS 64u
#define DEFAULT_READ_SLOT_BYTES 16384u
#define READ_SLOT_BYTES_MAX (UINT32_C(1) << 30)

static int
options_check(const struct rgm_runtime_options *options)
{
    if (options->workers > RGM_WORKERS_MAX ||
        options->workers_max > RGM_WORKERS_MAX ||
        (options->workers_max != 0 &&
         options->workers > options->workers_max) ||
        options->lane_messages > INT32_MAX ||
        options->lane_bytes > (UINT64_C(1) << 40) ||
        options->lent_slots > LENT_SLOTS_MAX ||
        options->job_threads > RGM_JOB_THREADS_MAX ||
        options->resolve_threads > RGM_JOB_THREADS_MAX ||
        options->jobs_max > RGM_JOBS_MAX ||
        options->cleanups_max > CLEANUPS_MAX ||
        options->timers_max > RGM_TIMERS_MAX ||
        options->deadline_tick_us > RGM_DEADLINE_TICK_MAX_US ||
        options->streams.no_delay > RGM_SETTING_UNSET ||
        options->streams.zero_linger > RGM_SETTING_UNSET ||
        options->read_slots > RGM_POOL_SLOTS_MAX ||
        options->read_slot_bytes > READ_SLOT_BYTES_MAX ||
        (options->spin_us > 1000000 && options->spin_us != RGM_SPIN_OFF))
        return -EINVAL;
    return 0;
}

#define DEFAULT(field, value)                                                 \
    do {                                                                      \
        if (options->field == 0)                                              \
            options->field = (value);                                         \
    } while (0)

static void
options_complete(struct rgm_runtime_options *options, uint32_t cpus)
{
    DEFAULT(workers_max, RGM_WORKERS_MAX);
    DEFAULT(workers, cpus < options->workers_max ? cpus
                                                 : options->workers_max);
    DEFAULT(lane_messages, DEFAULT_LANE_MESSAGES);
    DEFAULT(lane_bytes, DEFAULT_LANE_BYTES);
    DEFAULT(quota, DEFAULT_QUOTA);
    DEFAULT(lent_slots, DEFAULT_LENT_SLOTS);
    DEFAULT(spin_us, DEFAULT_SPIN_US);
    DEFAULT(job_threads, RGM_JOB_THREADS_DEFAULT);
    DEFAULT(resolve_threads, RGM_RESOLVE_THREADS_DEFAULT);
    DEFAULT(jobs_max, RGM_JOBS_DEFAULT);
    DEFAULT(cleanups_max, DEFAULT_CLEANUPS);
    DEFAULT(timers_max, RGM_TIMERS_DEFAULT);
    DEFAULT(deadline_tick_us, DEFAULT_DEADLINE_TICK_US);
    DEFAULT(streams.no_delay, RGM_SETTING_ON);
    DEFAULT(streams.zero_linger, RGM_SETTING_UNSET);
    DEFAULT(streams.transfer_timeout_ns, RGM_TRANSFER_TIMEOUT_NS);
    DEFAULT(streams.dial_timeout_ns, RGM_DIAL_TIMEOUT_NS);
    DEFAULT(read_slots, DEFAULT_READ_SLOTS);
    DEFAULT(read_slot_bytes, DEFAULT_READ_SLOT_BYTES);
    if (options->spin_us == RGM_SPIN_OFF || rgi_baton != NULL)
        options->spin_us = 0;
    if (rgi_baton != NULL)
        options->pin = false;
}

/* ---- places ---- */

static const struct rgm_message_type place_type = {
    "place", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};

static void
place_node(struct rgm_message *node, enum rgi_control control)
{
    node->type = &place_type;
    node->control = (uint8_t)control;
    node->flags = RGI_MESSAGE_URGENT;
    node->lane = RGI_LANE_NONE;
}

/*
 * The bell of a number is made when the number is first used; the inbox names
 * the place, so that what a sender reads of it before its push is constant.
 */
static void
place_ring(void *argument)
{
    struct rgi_place *place = argument;

    /* place-bell: observes what was made before the inbox was opened. */
    ck_pr_fence_acquire();
    rgi_bell_ring((void *)(intptr_t)ck_pr_load_int(&place->bell));
}

static void
place_init(struct rgi_place *place, uint32_t number)
{
    place->bell = -1;
    rgi_inbox_init(&place->inbox, place_ring, place);
    place_node(&place->stop, RGI_CONTROL_STOP);
    place_node(&place->close, RGI_CONTROL_CLOSE);
    place_node(&place->force, RGI_CONTROL_FORCE);
    place_node(&place->order, RGI_CONTROL_RETIRE);
    place_node(&place->report, RGI_CONTROL_CAME);
    place->order.from = rgm_worker_address(0);
    place->order.to = rgm_worker_address(number);
    place->report.from = rgm_worker_address(number);
    place->report.to = rgm_worker_address(0);
}

static int
place_bell(struct rgi_place *place)
{
    int bell = -1, status;

    if (place->bell >= 0)
        return 0;
    status = rgi_bell_open(&bell);
    if (status == 0)
        ck_pr_store_int(&place->bell, bell); /* place-bell */
    return status;
}

static int
places_create(struct rgm_runtime *runtime)
{
    uint32_t count = runtime->places_count;

    runtime->places = rgi_alloc_aligned(RGI_CACHE_PAIR,
                                        count * sizeof(*runtime->places));
    if (runtime->places == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        place_init(&runtime->places[i], i);
    return 0;
}

static void
places_destroy(struct rgm_runtime *runtime)
{
    if (runtime->places == NULL)
        return;
    for (uint32_t i = 0; i < runtime->places_count; i++)
        rgi_forwards_free(runtime, i);
    for (uint32_t i = 0; i < runtime->places_count; i++)
        if (runtime->places[i].bell >= 0)
            rgi_bell_close(runtime->places[i].bell);
    rgi_free(runtime->places);
}

/* ---- workers ---- */

void
rgi_spin_allow(struct rgm_worker *worker, uint32_t workers_count)
{
    const struct rgm_runtime *runtime = worker->runtime;
    uint32_t spin_ns = workers_count > runtime->cpus
                           ? 0
                           : runtime->options.spin_us * 1000;

    if (worker->spinner.maximum_ns == spin_ns)
        return;
    (void)rgi_spinner_init(&worker->spinner,
                           spin_ns < LEAST_SPIN_NS ? spin_ns : LEAST_SPIN_NS,
                           spin_ns, spin_ns);
}

static int
worker_init(struct rgm_worker *worker, struct rgm_runtime *runtime,
            uint32_t number)
{
    int status = rgi_home_init(worker, runtime, number,
                               &runtime->places[number].inbox);

    if (status != 0)
        return status;
    status = rgi_slots_init(&worker->slots);
    if (status != 0)
        return status;
    worker->timers = rgi_alloc(sizeof(*worker->timers));
    if (worker->timers == NULL)
        return -ENOMEM;
    status = rgi_names_init(worker);
    if (status != 0)
        return status;
    rgi_janitor_init(worker);
    worker->spawn_turn = number;
    rgi_identity_take(worker);
    rgi_spin_allow(worker, runtime->workers_count);
    return rgi_loans_init(worker);
}

static void
worker_destroy(struct rgm_worker *worker)
{
    if (worker == NULL)
        return;
    rgi_abroad_close(worker); /* it never ran */
    rgi_loans_deinit(worker);
    rgi_worker_leases_deinit(worker);
    rgi_slots_deinit(&worker->slots);
    rgi_free(worker->timers);
    rgi_names_deinit(worker);
    rgi_timer_places_forget(worker);
    rgi_free(worker->kept);
    rgi_home_deinit(worker);
    rgi_free(worker);
}

static int
worker_make(struct rgm_runtime *runtime, uint32_t number)
{
    struct rgm_worker *worker =
        rgi_alloc_aligned(RGI_CACHE_PAIR, sizeof(*worker));
    int status;

    if (worker == NULL)
        return -ENOMEM;
    status = worker_init(worker, runtime, number);
    if (status != 0) {
        worker_destroy(worker);
        return status;
    }
    runtime->workers[number] = worker;
    /* runtime-numbers: publishes the worker to who reads its counters. */
    ck_pr_fence_release();
    (void)ck_pr_fas_32(&runtime->numbers_used, number + 1);
    return 0;
}

/* Whoever had the number has closed: nothing of his is out. What goes on is
 * what no two of them may have in common: generations, tokens, counters. */
static void
worker_renew(struct rgm_worker *worker)
{
    rgi_assert(worker->actors_count == 0 && worker->messages_out == 0 &&
               worker->operations_out == 0 && worker->slots.lent == 0);
    rgi_identity_take(worker);
    worker->provider = NULL;
    rgi_timer_places_forget(worker);
    worker->turn = (struct rgm_turn){.count = 0};
    worker->draining = false;
    worker->retiring = false;
    worker->dedicated = false;
    worker->seated = false;
    worker->stays = false;
    for (uint32_t i = 1; i <= worker->slots.last; i++)
        if (rgi_slot_at(&worker->slots, i)->state == RGI_SLOT_MOVED)
            rgi_slots_release(&worker->slots, i, true);
    worker->counted_quiet = false;
    worker->close_ordered = false;
    worker->finished = false;
    worker->failure = 0;
    rgi_blockers_renew(worker);
}

int
rgi_worker_prepare(struct rgm_runtime *runtime, uint32_t number)
{
    int status = place_bell(&runtime->places[number]);

    if (status != 0)
        return status;
    if (runtime->workers[number] == NULL)
        return worker_make(runtime, number);
    worker_renew(runtime->workers[number]);
    return 0;
}

static int
loans_fill(struct rgm_runtime *runtime)
{
    uint32_t count = runtime->workers_count;
    int status = 0;

    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < count && status == 0; j++)
            if (i != j)
                status = rgi_loans_fill(runtime->workers[i],
                                        runtime->workers[j]);
    return status;
}

static int
workers_create(struct rgm_runtime *runtime)
{
    uint32_t count = runtime->places_count;
    int status = 0;

    runtime->workers = rgi_alloc(count * sizeof(*runtime->workers));
    runtime->threads = rgi_alloc(count * sizeof(*runtime->threads));
    if (runtime->workers == NULL || runtime->threads == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < runtime->workers_count && status == 0; i++) {
        status = rgi_worker_prepare(runtime, i);
        runtime->live |= rgi_bit(i);
    }
    runtime->open = runtime->live;
    return status == 0 ? loans_fill(runtime) : status;
}

static void
runtime_free(struct rgm_runtime *runtime)
{
    for (uint32_t i = 0; i < runtime->numbers_used; i++)
        worker_destroy(runtime->workers[i]);
    for (uint32_t i = 0; i < RGM_GUESTS_MAX; i++) {
        if (runtime->guests[i] == NULL)
            continue;
        rgi_free(runtime->guests[i]->worker.timers);
        rgi_home_deinit(&runtime->guests[i]->worker);
        rgi_free(runtime->guests[i]);
    }
    rgi_job_pool_deinit(&runtime->jobs);
    rgi_faults_destroy(runtime);
    rgi_names_free(runtime);
    rgi_dispatch_free_all(runtime->dispatches);
    if (ck_pr_load_32(&runtime->lost) != 0)
        rgi_slab_store_lose(&runtime->slabs);
    rgi_slab_store_free(&runtime->slabs);
    places_destroy(runtime);
    rgi_free(runtime->workers);
    rgi_free(runtime->threads);
    rgi_free(runtime);
}

int
rgm_runtime_create(const struct rgm_runtime_options *options,
                   struct rgm_runtime **ret_runtime)
{
    static const struct rgm_runtime_options all_defaults;
    struct rgm_runtime *runtime;
    int status;

    if (options == NULL)
        options = &all_defaults;
    status = options_check(options);
    if (status != 0)
        return status;
    runtime = rgi_alloc_aligned(RGI_CACHE_PAIR, sizeof(*runtime));
    if (runtime == NULL)
        return -ENOMEM;
    rgi_holders_name();
#ifdef RGI_SLOW_ASSERTS
    runtime->nobody_is_here = locality_is_off();
#endif
    runtime->options = *options;
    runtime->cpus = rgm_usable_cpus();
    options_complete(&runtime->options, runtime->cpus);
    runtime->workers_count = runtime->options.workers;
    runtime->places_count = runtime->options.workers_max;
    rgi_list_init(&runtime->steward.waiting);
    rgi_list_init(&runtime->steward.lingering);
    rgi_signals_init(&runtime->signals);
    status = rgi_job_pool_init(&runtime->jobs, runtime->options.job_threads,
                               runtime->options.resolve_threads,
                               runtime->options.jobs_max);
    if (status == 0)
        status = places_create(runtime);
    if (status == 0)
        status = workers_create(runtime);
    if (status != 0) {
        runtime_free(runtime);
        return status;
    }
    for (uint32_t i = 0; i < runtime->workers_count; i++) {
        rgi_inbox_open(&runtime->places[i].inbox);
        rgi_abroad_open(runtime->workers[i]);
    }
    *ret_runtime = runtime;
    return 0;
}

/* ---- a worker's thread ---- */

enum { WAIT, GO, GO_HOME }; /* values of `released` */

static void
options_for(const struct rgm_runtime *runtime, uint32_t number,
            struct rgm_provider_options *ret_options)
{
    const struct rgm_runtime_options *options = &runtime->options;

    *ret_options = (struct rgm_provider_options){
        .bell = runtime->places[number].bell,
        .worker = number,
        .entries = options->ring_entries,
        .in_flight_max = options->in_flight_max,
        .pool_slots_max = options->pool_slots_max,
        .zero_copy_max = options->zero_copy_max,
        .fixed_files_max = options->fixed_files_max,
        .strict = options->strict,
        .streams = options->streams,
        .argument = options->provider_argument,
    };
}

/* Of a provider without words to peek at, these say: always something. */
static const uint32_t nothing_seen, something_there = 1;

static void
provider_meet(struct rgm_worker *worker)
{
    struct rgm_provider *provider = worker->provider;

    worker->peek = provider->peek;
    if (worker->peek.tail == NULL)
        worker->peek = (struct rgm_peek){.tail = &something_there,
                                         .head = &nothing_seen,
                                         .flags = &nothing_seen};
    /* Deadlines are of the provider's clock. */
    rgi_timers_init(worker->timers, provider->ops->now(provider));
}

static int
provider_open(struct rgm_worker *worker, char *ret_why, size_t size)
{
    struct rgm_provider_options options;
    int status;

    options_for(worker->runtime, worker->number, &options);
    status = worker->runtime->provider->open(&options, &worker->provider,
                                             ret_why, size);
    if (status == 0)
        provider_meet(worker);
    return status;
}

/* Only the first reason counts; there is always a sentence. */
static void
start_fails(struct rgm_runtime *runtime, int status, const char *why)
{
    char reason[100];

    /* runtime-started: the first error is published with its text. */
    if (!ck_pr_cas_32((uint32_t *)&runtime->start_error, 0, (uint32_t)status))
        return;
    if (why[0] == '\0')
        why = strerror_r(-status, reason, sizeof(reason));
    snprintf(runtime->error_text, sizeof(runtime->error_text), "%s", why);
}

static void
provider_open_first(struct rgm_worker *worker)
{
    struct rgm_runtime *runtime = worker->runtime;
    char why[sizeof(runtime->error_text)] = "";
    int status = provider_open(worker, why, sizeof(why));

    if (status != 0)
        start_fails(runtime, status, why);
}

/*
 * The value, and whatever was published with it. Adding nothing instead of
 * loading shows a sanitizer, too, that the one comes before the other.
 */
static uint32_t
observe(uint32_t *word)
{
    uint32_t value = ck_pr_faa_32(word, 0);

    ck_pr_fence_acquire();
    return value;
}

/* Say that this worker is there (or is not going to be). */
static void
report_started(struct rgm_runtime *runtime)
{
    /* runtime-started: publishes the provider to the starter. */
    ck_pr_fence_release();
    (void)ck_pr_faa_32(&runtime->started, 1);
    rgi_futex_wake(&runtime->started);
}

static uint32_t
await_release(struct rgm_runtime *runtime)
{
    uint32_t released;

    /* runtime-released: observes what the starter did before. */
    while ((released = observe(&runtime->released)) == WAIT)
        rgi_futex_wait(&runtime->released, WAIT);
    return released;
}

void
rgi_report_ended(struct rgm_runtime *runtime)
{
    /* runtime-running: publishes the worker's last writes to whoever waits. */
    ck_pr_fence_release();
    if (ck_pr_faa_32(&runtime->running, UINT32_MAX) == 1)
        rgi_futex_wake(&runtime->running);
}

void
rgi_worker_live(struct rgm_worker *worker)
{
    struct rgm_runtime *runtime = worker->runtime;

    rgi_current = worker;
    if (await_release(runtime) == GO)
        rgi_worker_loop(worker);
    if (worker->provider != NULL)
        runtime->provider->close(worker->provider);
    worker->provider = NULL;
    rgi_storage_close(worker);
    rgi_current = NULL;
    rgi_report_ended(runtime);
    if (worker->retiring || worker->dedicated)
        rgi_worker_gone(worker); /* the last thing: worker 0 joins us now */
}

/* The i-th usable CPU; best effort, as pinning is. */
static void
pin(const struct rgm_runtime *runtime, uint32_t number)
{
    cpu_set_t usable, one;
    uint32_t left = number % runtime->cpus;

    if (sched_getaffinity(0, sizeof(usable), &usable) != 0)
        return;
    for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &usable) || left-- > 0)
            continue;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        (void)sched_setaffinity(0, sizeof(one), &one);
        return;
    }
}

int
rgi_worker_open(struct rgm_worker *worker, char *ret_why, size_t size)
{
    if (worker->runtime->options.pin)
        pin(worker->runtime, worker->number);
    return provider_open(worker, ret_why, size);
}

static void *
worker_thread(void *argument)
{
    struct rgm_worker *worker = argument;

    if (worker->runtime->options.pin)
        pin(worker->runtime, worker->number);
    provider_open_first(worker);
    report_started(worker->runtime);
    rgi_worker_live(worker);
    return NULL;
}

/* ---- start ---- */

/* Which provider, when the program has not said: the ring, if the machine
 * lets us have one; readiness is allowed everywhere. */
static void
provider_choose(struct rgm_runtime *runtime)
{
    struct rgm_provider_options options;
    struct rgm_provider *probe;
    char why[sizeof(runtime->error_text) - sizeof("no ring: ")] = "";
    int status;

    runtime->provider = runtime->options.provider;
    if (runtime->provider != NULL)
        return;
    runtime->provider = &rgm_provider_ring;
    options_for(runtime, 0, &options);
    status = rgm_provider_ring.open(&options, &probe, why, sizeof(why));
    if (status == 0) {
        rgm_provider_ring.close(probe);
        return;
    }
    runtime->provider = &rgm_provider_epoll;
    snprintf(runtime->error_text, sizeof(runtime->error_text),
             "no ring: %s", why);
}

static void
provider_describe(struct rgm_runtime *runtime)
{
    const struct rgm_provider *provider = runtime->workers[0]->provider;

    snprintf(runtime->provider_text, sizeof(runtime->provider_text),
             "%s (%s)", runtime->provider->name,
             provider->mode != NULL ? provider->mode : "default");
}

/* A thread, or the player of a stepper. Returns as pthread_create. */
static int
thread_start(struct rgm_runtime *runtime, uint32_t number,
             void *(*function)(void *worker))
{
    char name[32];

    if (rgi_baton == NULL)
        return pthread_create(&runtime->threads[number], NULL, function,
                              runtime->workers[number]);
    snprintf(name, sizeof(name), "worker %u", (unsigned)number);
    return rgi_baton->start(rgi_baton, name, &runtime->threads[number],
                            function, runtime->workers[number]);
}

void
rgi_thread_join(struct rgm_runtime *runtime, uint32_t number)
{
    if (rgi_baton == NULL)
        pthread_join(runtime->threads[number], NULL);
    else
        rgi_baton->join(rgi_baton, runtime->threads[number]);
}

/* Threads of ours take no signals. */
int
rgi_thread_create(struct rgm_runtime *runtime, uint32_t number,
                  void *(*function)(void *worker))
{
    sigset_t all, before;
    int error;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = thread_start(runtime, number, function);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return -error;
}

/* Returns how many were made. */
static uint32_t
threads_create(struct rgm_runtime *runtime, uint32_t first)
{
    uint32_t i;

    for (i = first; i < runtime->workers_count; i++) {
        int status = rgi_thread_create(runtime, i, worker_thread);

        if (status != 0) {
            char why[100], reason[64];

            snprintf(why, sizeof(why), "no thread for worker %u: %s",
                     (unsigned)i, strerror_r(-status, reason, sizeof(reason)));
            start_fails(runtime, status, why);
            break;
        }
    }
    return i - first;
}

static void
await_started(struct rgm_runtime *runtime, uint32_t count)
{
    uint32_t started;

    /* runtime-started: observes each worker's provider, or its error. */
    while ((started = observe(&runtime->started)) < count)
        rgi_futex_wait(&runtime->started, started);
}

static void
release(struct rgm_runtime *runtime, uint32_t how)
{
    /* runtime-released: publishes the start to the workers. */
    ck_pr_fence_release();
    (void)ck_pr_fas_32(&runtime->released, how);
    rgi_futex_wake(&runtime->released);
}

static void
join_threads(struct rgm_runtime *runtime, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        if (runtime->open & rgi_bit(i)) /* others were joined when they left */
            rgi_thread_join(runtime, i);
}

static void
state_set(struct rgm_runtime *runtime, enum rgi_runtime_state state)
{
    /* runtime-state: publishes what happened before to those who wait. */
    ck_pr_fence_release();
    (void)ck_pr_fas_32(&runtime->state, state);
    rgi_futex_wake(&runtime->state);
}

/* Until the state is a later one. */
static void
await_state_after(struct rgm_runtime *runtime, enum rgi_runtime_state before)
{
    uint32_t state;

    /* runtime-state: observes what the one who set it did before. */
    while ((state = observe(&runtime->state)) <= before)
        rgi_futex_wait(&runtime->state, state);
}

/* Not all could start: nobody is left running, and nobody left waiting. */
static void
start_failed(struct rgm_runtime *runtime, uint32_t first, uint32_t count)
{
    release(runtime, GO_HOME);
    join_threads(runtime, first, count);
    if (first == 1 && runtime->workers[0]->provider != NULL) {
        runtime->provider->close(runtime->workers[0]->provider);
        runtime->workers[0]->provider = NULL;
    }
    for (uint32_t i = 0; i < runtime->workers_count; i++)
        rgi_worker_close(runtime->workers[i]);
    rgi_signals_end(runtime);
    ck_pr_store_32(&runtime->running, 0);
    state_set(runtime, RGI_RUNTIME_ENDED);
}

/* Make the threads from `first` on; when `first` is 1, the caller is worker 0
 * and has its provider opened here. All start or none does. */
static int
start(struct rgm_runtime *runtime, uint32_t first)
{
    uint32_t count, wanted = runtime->workers_count - first;
    int status;

    if (rgi_current != NULL)
        return -EDEADLK;
    if (!ck_pr_cas_32(&runtime->state, RGI_RUNTIME_NEW, RGI_RUNTIME_STARTING))
        return -EALREADY;
    provider_choose(runtime);
    /* runtime-running: a thread that tells signals may be there already. */
    ck_pr_add_32(&runtime->running, runtime->workers_count);
    count = threads_create(runtime, first);
    if (first == 1 && count == wanted) {
        if (runtime->options.pin)
            pin(runtime, 0); /* only now: a new thread inherits it */
        provider_open_first(runtime->workers[0]);
    }
    await_started(runtime, count);
    status = (int)ck_pr_load_32((uint32_t *)&runtime->start_error);
    if (status == 0) {
        provider_describe(runtime);
        runtime->first_is_caller = first == 1;
        state_set(runtime, RGI_RUNTIME_RUNNING);
        release(runtime, GO);
        return 0;
    }
    start_failed(runtime, first, count);
    return status;
}

int
rgm_runtime_start(struct rgm_runtime *runtime)
{
    return start(runtime, 0);
}

/* ---- run ---- */

static int
root_spawn(struct rgm_runtime *runtime, const struct rgm_behaviour *root,
           const void *argument, struct rgm_message *watch)
{
    struct rgm_worker *first = runtime->workers[0];
    struct rgm_actor *actor;
    int status = rgi_spawn_local(first, root, argument, &actor);

    if (status != 0)
        return status;
    actor->flags |= RGI_ACTOR_ROOT;
    if (watch != NULL)
        rgi_watch_begin(first, watch, actor->address);
    return 0;
}

/* runtime-outside: one who waits, or runs it, is inside; nobody frees under him. */
static void
await_begin(struct rgm_runtime *runtime)
{
    ck_pr_inc_32(&runtime->outside);
    ck_pr_inc_32(&runtime->awaited);
}

static void
await_over(struct rgm_runtime *runtime)
{
    ck_pr_dec_32(&runtime->awaited);
    ck_pr_fence_release();
    ck_pr_dec_32(&runtime->outside);
}

int
rgi_runtime_run(struct rgm_runtime *runtime, const struct rgm_behaviour *root,
                const void *argument, struct rgm_message *watch)
{
    sigset_t pipe, before;
    cpu_set_t cpus;
    bool pins = runtime->options.pin &&
                sched_getaffinity(0, sizeof(cpus), &cpus) == 0;
    int status, spawned;

    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before);
    await_begin(runtime); /* others may see the end before we do */
    status = start(runtime, 1);
    if (status == 0) {
        spawned = root_spawn(runtime, root, argument, watch);
        if (spawned != 0)
            rgm_runtime_stop(runtime);
        rgi_worker_live(runtime->workers[0]);
        status = rgm_runtime_wait(runtime);
        status = spawned != 0 ? spawned : status;
    }
    await_over(runtime);
    if (pins)
        (void)sched_setaffinity(0, sizeof(cpus), &cpus);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status;
}

int
rgm_runtime_run(struct rgm_runtime *runtime, const struct rgm_behaviour *root,
                const void *argument)
{
    return rgi_runtime_run(runtime, root, argument, NULL);
}

/* ---- stop, wait, destroy ---- */

int
rgi_push_outside(struct rgm_runtime *runtime, struct rgi_inbox *inbox,
                 struct rgm_message *node)
{
    int status;

    /* runtime-outside: publishes, before the push, that somebody is inside. */
    ck_pr_inc_32(&runtime->outside);
    status = rgi_inbox_push(inbox, node, node);
    ck_pr_fence_release();
    ck_pr_dec_32(&runtime->outside);
    return status;
}

void
rgm_runtime_stop(struct rgm_runtime *runtime)
{
    struct rgi_place *first = &runtime->places[0];

    /* runtime-outside: publishes, before anything is pushed, that somebody is
     * inside; the one who frees observes that all have left. */
    ck_pr_inc_32(&runtime->outside);
    if (ck_pr_fas_32(&runtime->stop_requested, 1) == 0) {
        /* runtime-stop: tells readers of blockers since when. */
        ck_pr_store_64(&runtime->stop_ns, rgi_clock_now());
        (void)rgi_inbox_push(&first->inbox, &first->stop, &first->stop);
    }
    ck_pr_fence_release();
    ck_pr_dec_32(&runtime->outside);
}

/* Worker 0 has the stop and tells the others: who they are changes on worker 0
 * alone. Who retires has been told to go already. */
void
rgi_stop_distribute(struct rgm_runtime *runtime)
{
    /* To stay, if not gone; to go. */
    uint64_t others = runtime->steward.draining | runtime->steward.dedicated;

    runtime->members = runtime->live;
    for (uint32_t i = 1; i < runtime->places_count; i++) {
        struct rgi_place *place = &runtime->places[i];

        if ((runtime->members | others) & rgi_bit(i))
            (void)rgi_inbox_push(&place->inbox, &place->stop, &place->stop);
    }
}

static bool
await_workers(struct rgm_runtime *runtime, uint64_t deadline_ns)
{
    uint32_t running;

    /* runtime-running: observes the last writes of each worker. */
    while ((running = observe(&runtime->running)) != 0)
        if (!rgi_futex_wait_until(&runtime->running, running, deadline_ns))
            return false;
    return true;
}

static int
failure_of(const struct rgm_runtime *runtime)
{
    return (int)ck_pr_load_32((const uint32_t *)&runtime->failure);
}

static void
join_workers(struct rgm_runtime *runtime)
{
    uint32_t first = runtime->first_is_caller ? 1 : 0;
    char reason[64];

    join_threads(runtime, first, runtime->places_count - first);
    rgi_job_pool_close(&runtime->jobs);
    rgi_signals_end(runtime);
    if (failure_of(runtime) != 0)
        snprintf(runtime->failure_text, sizeof(runtime->failure_text),
                 "the provider %s has failed: %s", runtime->provider->name,
                 strerror_r(-failure_of(runtime), reason, sizeof(reason)));
    state_set(runtime, RGI_RUNTIME_ENDED);
}

static int
await_end(struct rgm_runtime *runtime, uint64_t deadline_ns)
{
    if (ck_pr_load_32(&runtime->state) == RGI_RUNTIME_NEW)
        return 0;
    await_state_after(runtime, RGI_RUNTIME_STARTING);
    if (ck_pr_load_32(&runtime->state) == RGI_RUNTIME_RUNNING) {
        if (!await_workers(runtime, deadline_ns))
            return -ETIMEDOUT;
        /* runtime-joining: the first to come joins, others wait for him. */
        if (ck_pr_fas_32(&runtime->joining, 1) == 0)
            join_workers(runtime);
        else
            await_state_after(runtime, RGI_RUNTIME_RUNNING);
    }
    return failure_of(runtime);
}

int
rgi_runtime_await_end(struct rgm_runtime *runtime, uint64_t deadline_ns)
{
    int status;

    await_begin(runtime);
    status = await_end(runtime, deadline_ns);
    await_over(runtime);
    return status;
}

int
rgm_runtime_wait(struct rgm_runtime *runtime)
{
    if (rgi_is_inside(runtime))
        return -EDEADLK;
    return rgi_runtime_await_end(runtime, RGM_NEVER);
}

bool
rgi_guests_open(struct rgm_runtime *runtime)
{
    /* runtime-guests: observes what the last guest of each number left. */
    for (uint32_t i = 0; i < RGM_GUESTS_MAX / 64; i++)
        if (ck_pr_faa_64(&runtime->guests_taken[i], 0) != 0)
            return true;
    ck_pr_fence_acquire();
    return false;
}

int
rgm_runtime_destroy(struct rgm_runtime *runtime)
{
    uint32_t state;

    if (runtime == NULL)
        return 0;
    state = observe(&runtime->state);
    if ((state != RGI_RUNTIME_NEW && state != RGI_RUNTIME_ENDED) ||
        rgi_guests_open(runtime))
        return -EBUSY;
    rgi_signals_end(runtime);
    /* runtime-outside: observes that whoever entered has rung and left. */
    while (observe(&runtime->outside) != 0)
        rgi_relax(); /* somebody is between his push and his bell */
    (void)rgi_transit_sweep(rgi_origin(runtime));
    runtime_free(runtime);
    return 0;
}

/* ---- small things ---- */

uint32_t
rgm_runtime_workers(const struct rgm_runtime *runtime)
{
    /* runtime-live: publishes nothing; what a number is comes by its inbox. */
    return (uint32_t)__builtin_popcountll(ck_pr_load_64(&runtime->live));
}

uint32_t
rgm_runtime_threads(const struct rgm_runtime *runtime)
{
    return (uint32_t)__builtin_popcountll(ck_pr_load_64(&runtime->open));
}

uint64_t
rgm_runtime_live(const struct rgm_runtime *runtime)
{
    return ck_pr_load_64(&runtime->live);
}

const char *
rgm_runtime_provider(const struct rgm_runtime *runtime)
{
    return runtime->provider_text;
}

const char *
rgm_runtime_error(const struct rgm_runtime *runtime)
{
    /* runtime-state: observes the text, and is constant for all but this. */
    uint32_t state = observe((uint32_t *)(uintptr_t)&runtime->state);

    return state == RGI_RUNTIME_ENDED && failure_of(runtime) != 0
               ? runtime->failure_text
               : runtime->error_text;
}
