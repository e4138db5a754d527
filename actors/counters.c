/* SPDX-License-Identifier: MIT */

/*
 * counters.c - what workers count, for any thread to read.
 *
 * Each counter is written by one worker, word by word, and read without order:
 * a reader sees each number as it was at some recent moment, not all of the
 * same one. Gauges and the provider's counters are copied in by the worker
 * when it goes to sleep and every thousand turns.
 */

#include "actors/runtime.h"

#include <string.h>

#define COUNTERS_WORDS (sizeof(struct rgm_counters) / sizeof(uint64_t))

/* What was sent and is not out; nothing is counted twice on the hot path. */
static uint64_t
home_count(const struct rgm_worker *worker)
{
    uint64_t sent =
        worker->counters.sent_local + worker->counters.sent_remote;

    return sent > worker->messages_out ? sent - worker->messages_out : 0;
}

static uint64_t
ready_count(const struct rgm_worker *worker)
{
    const struct rgm_actor *actor = worker->ready_first;
    uint64_t count = 0;

    for (; actor != NULL; actor = actor->ready_next)
        count++;
    return count;
}

void
rgi_counters_publish(struct rgm_worker *worker)
{
    const struct rgm_provider *provider = worker->provider;

    rgi_gauge(worker, actors, worker->actors_count);
    rgi_gauge(worker, messages_out, worker->messages_out);
    rgi_gauge(worker, home, home_count(worker));
    rgi_gauge(worker, kept, worker->kept_count);
    rgi_gauge(worker, in_flight, worker->operations_out);
    rgi_gauge(worker, ready, ready_count(worker));
    rgi_gauge(worker, leases, worker->leases_count);
    rgi_gauge(worker, timers, worker->timers_held);
    if (provider == NULL)
        return;
    rgi_gauge(worker, kernel_entries, provider->kernel_entries);
    rgi_gauge(worker, entries_submitted, provider->entries_submitted);
    rgi_gauge(worker, completions, provider->completions);
    rgi_gauge(worker, overflows, provider->overflows);
    rgi_gauge(worker, pool_waits, provider->pool_waits);
    rgi_gauge(worker, pool_recalls, provider->pool_recalls);
    rgi_gauge(worker, zero_copies, provider->zero_copies);
    rgi_gauge(worker, zero_copies_copied, provider->zero_copies_copied);
}

static void
add(const struct rgm_worker *worker, struct rgm_counters *sum)
{
    uint64_t *to = (uint64_t *)(void *)sum;
    const uint64_t *from = (const uint64_t *)(const void *)&worker->counters;

    for (size_t i = 0; i < COUNTERS_WORDS; i++)
        to[i] += ck_pr_load_64(&from[i]);
}

/* Adding nothing instead of loading shows a sanitizer, too, that the one comes
 * before the other. */
uint32_t
rgi_numbers_known(struct rgm_runtime *runtime)
{
    uint32_t count = ck_pr_faa_32(&runtime->numbers_used, 0);

    /* runtime-numbers: observes the workers below it. */
    ck_pr_fence_acquire();
    return count;
}

int
rgm_runtime_park(struct rgm_runtime *runtime, uint32_t number,
                 struct rgm_park *ret_park)
{
    uint32_t count = rgi_numbers_known(runtime);
    struct rgm_worker *worker;

    if (number >= count)
        return -EINVAL;
    worker = runtime->workers[number];
    ret_park->since_ns = ck_pr_load_64(&worker->parked_ns);
    ret_park->has_mail =
        ret_park->since_ns != 0 && rgi_inbox_has_mail(worker->inbox);
    return 0;
}

int
rgm_runtime_counters(const struct rgm_runtime *runtime, uint32_t worker,
                     struct rgm_counters *ret_counters)
{
    struct rgm_counters sum;

    uint32_t count = ck_pr_load_32(&runtime->numbers_used);

    /* runtime-numbers: observes the workers below it. */
    ck_pr_fence_acquire();
    if (worker != RGM_ANY_WORKER && worker >= count)
        return -EINVAL;
    memset(&sum, 0, sizeof(sum));
    for (uint32_t i = 0; i < count; i++)
        if (worker == RGM_ANY_WORKER || worker == i)
            add(runtime->workers[i], &sum);
    *ret_counters = sum;
    return 0;
}
