/* SPDX-License-Identifier: MIT */

/*
 * soak_test.c - everything at once, for as long as you like: is anything lost,
 * left or overslept?
 *
 * RGM_SOAK_SECONDS: how long each case takes, 4 unless given. `./dev soak` runs
 * a minute, or as said. RGM_SEED repeats what the agents want; the machine
 * decides what comes of it.
 *
 * The last question is asked from outside as well: descriptors and resident
 * memory by /proc, allocations by whatever sanitizer is built in.
 */

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "soak/soak.h"

#define SECONDS_DEFAULT 4
#define STOP_LIMIT_NS (60 * RGM_NS_PER_S)
/* Growth of resident memory after the first third that nobody has to explain. */
#define GROWTH_BYTES ((size_t)24 << 20)
#define DESCRIPTORS_OF_OURS (16 * SOAK_WORKERS_MAX)
#define GUESTS 3
#define PINGS 40

static uint64_t
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * RGM_NS_PER_S + (uint64_t)time.tv_nsec;
}

static void
pause_ms(uint32_t pause)
{
    const struct timespec time = {0, (long)pause * 1000000};

    nanosleep(&time, NULL);
}

/* ------------------------------------------------------------- from outside */

static unsigned
descriptors(void)
{
    DIR *table = opendir("/proc/self/fd");
    unsigned count = 0;

    rgi_check(table != NULL);
    while (readdir(table) != NULL)
        count++;
    closedir(table);
    return count;
}

static size_t
resident_bytes(void)
{
    FILE *file = fopen("/proc/self/statm", "re");
    unsigned long size, resident;

    rgi_check(file != NULL);
    rgi_check(fscanf(file, "%lu %lu", &size, &resident) == 2);
    fclose(file);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

static bool
memory_is_our_own(void)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false; /* a sanitizer keeps what was freed */
#else
    return true;
#endif
}

/* ------------------------------------------------------------- the director */

static void
give_birth(struct soak *soak, uint32_t index)
{
    struct agent_argument argument = {soak, index};
    struct rgm_address address;
    int status;

    /* Its place is taken until it stops, also before it has started. */
    __atomic_store_n(&soak->addresses[index], SOAK_UNBORN, __ATOMIC_RELEASE);
    status = rgm_runtime_spawn(soak->runtime, RGM_ANY_WORKER, &agent_behaviour,
                               &argument, &address);
    if (status == 0)
        return;
    rgi_check(status == -EPIPE || status == -EAGAIN);
    __atomic_store_n(&soak->addresses[index], 0, __ATOMIC_RELEASE);
}

static void
give_births(struct soak *soak)
{
    for (uint32_t i = 0; i < SOAK_AGENTS; i++)
        if (__atomic_load_n(&soak->addresses[i], __ATOMIC_ACQUIRE) == 0)
            give_birth(soak, i);
}

static void
ping_answered(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

static void
keep_longest(uint64_t *longest_ns, uint64_t took_ns)
{
    uint64_t seen_ns = soak_see(longest_ns);

    while (took_ns > seen_ns &&
           !__atomic_compare_exchange_n(longest_ns, &seen_ns, took_ns, false,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}

/* One ask after the other, to workers that sleep: each has to wake one. */
static void *
ping(void *argument)
{
    struct soak *soak = argument;
    uint64_t random = soak->seed | 1;
    struct rgm_guest guest;
    uint64_t start_ns;
    struct job job;

    rgi_check(rgm_guest_open(soak->runtime, &guest) == 0);
    for (int i = 0; i < PINGS; i++) {
        struct rgm_address to =
            soak_address(soak, soak_pick(&random, SOAK_AGENTS));

        if (to.bits == 0)
            continue;
        job_prepare(&job, to);
        job.number = 0;
        start_ns = now();
        rgm_ask_request(&guest.actor, &job.request, ping_answered);
        (void)rgm_guest_wait(&guest);
        keep_longest(&soak->counts.longest_ping_ns, now() - start_ns);
    }
    rgm_guest_close(&guest);
    return NULL;
}

static void
wake_all(struct soak *soak)
{
    struct rgm_guest guest;

    rgi_check(rgm_guest_open(soak->runtime, &guest) == 0);
    for (uint32_t i = 0; i < SOAK_AGENTS; i++) {
        struct wake *wake;

        if (soak_address(soak, i).bits == 0)
            continue;
        wake = wake_take(&guest.actor, 0);
        rgi_check(wake != NULL);
        if (rgm_send(&guest, soak_address(soak, i), wake) != 0)
            wake_give(&guest.actor, wake);
    }
    rgm_guest_close(&guest);
}

/* No timer, no traffic: workers sleep without a limit, and only a bell ends
 * that. Several plain threads ring, each waiting for its answer. */
static void
lull(struct soak *soak)
{
    pthread_t guests[GUESTS];

    soak_set(&soak->lull, true);
    pause_ms(12);
    for (int i = 0; i < GUESTS; i++)
        rgi_check(pthread_create(&guests[i], NULL, ping, soak) == 0);
    for (int i = 0; i < GUESTS; i++)
        pthread_join(guests[i], NULL);
    soak_set(&soak->lull, false);
    wake_all(soak);
}

/* Each agent has one connection at most; some of the last ones are still on
 * their way out. */
static void
check_descriptors(unsigned before)
{
    rgi_check(descriptors() < before + 3 * SOAK_AGENTS + DESCRIPTORS_OF_OURS);
}

static void
direct(struct soak *soak, uint64_t seconds, unsigned descriptors_before)
{
    uint64_t start_ns = now(), end_ns = start_ns + seconds * RGM_NS_PER_S;
    uint64_t random = soak->seed | 1;
    size_t before_bytes = 0;
    unsigned resizes = 0, lulls = 0;

    while (now() < end_ns) {
        uint32_t workers = 1 + soak_pick(&random, SOAK_WORKERS_MAX);

        give_births(soak);
        pause_ms(1 + soak_pick(&random, 30));
        if (soak_pick(&random, 3) == 0) {
            rgi_check(rgm_runtime_resize(soak->runtime, workers) == 0);
            resizes++;
        } else if (soak_pick(&random, 8) == 0) {
            lull(soak);
            lulls++;
        }
        if (before_bytes == 0 && now() - start_ns > (end_ns - start_ns) / 3)
            before_bytes = resident_bytes();
    }
    fprintf(stderr, "# %u resizes, %u lulls; resident %zu, then %zu KiB\n",
            resizes, lulls, before_bytes / 1024, resident_bytes() / 1024);
    check_descriptors(descriptors_before);
    if (memory_is_our_own())
        rgi_check(resident_bytes() < before_bytes + GROWTH_BYTES);
}

/* ------------------------------------------------------------------ the end */

static void
print_counts(const struct soak_counts *counts)
{
    fprintf(stderr,
            "# %" PRIu64 " lives, %" PRIu64 " asked, %" PRIu64
            " forwarded, %" PRIu64 " kept, %" PRIu64 " withdrawn, %" PRIu64
            " cancels, %" PRIu64 " unanswered\n"
            "# %" PRIu64 " parcels, %" PRIu64 " views, %" PRIu64
            " acquired, %" PRIu64 " worked, %" PRIu64 " told, %" PRIu64
            " worker leases, %" PRIu64
            " ticks, %" PRIu64 " connections, %" PRIu64 " bytes echoed\n"
            "# longest answer of a worker that slept: %" PRIu64 " us\n",
            counts->lives, counts->asked, counts->forwarded, counts->kept,
            counts->withdrawn, counts->cancelled, counts->unanswered,
            counts->parcels_sent, counts->views, counts->acquired,
            counts->worked, counts->told, counts->leases, counts->ticks,
            counts->connected, counts->echoed,
            (uint64_t)(counts->longest_ping_ns / RGM_NS_PER_US));
}

/* Exactly nothing, or what was counted on the other side. */
static void
check_counts(struct soak *soak)
{
    const struct soak_counts *counts = &soak->counts;
    struct rgm_counters all;

    rgi_check(counts->lives == counts->deaths);
    rgi_check(counts->asked == counts->answered);
    rgi_check(counts->parcels_sent == counts->parcels_home);
    rgi_check(counts->asked > 0 && counts->views > 0 && counts->ticks > 0);
    rgi_check(rgm_runtime_counters(soak->runtime, RGM_ANY_WORKER, &all) == 0);
    rgi_check(all.actors == 0 && all.messages_out == 0);
    rgi_check(all.kept == 0 && all.in_flight == 0);
    rgi_check(all.home == all.sent_local + all.sent_remote);
    rgi_check(all.spawned == all.stopped);
    rgi_check(rgm_pool_free_count(soak->pool) ==
              rgm_pool_capacity(soak->pool));
}

static void
stop(struct soak *soak)
{
    struct rgm_stop_options options = {.timeout_ns = STOP_LIMIT_NS};
    struct rgm_stop_report report;
    int status = rgm_runtime_stop_and_wait(soak->runtime, &options, &report);
    char text[160];

    for (uint32_t i = 0;
         i < report.blockers_count && i < RGM_STOP_REPORT_MAX; i++) {
        rgm_blocker_describe(&report.blockers[i], text, sizeof(text));
        fprintf(stderr, "# %s\n", text);
    }
    rgi_check(status == 0);
}

/* -------------------------------------------------------------------- cases */

static uint64_t
seconds_wanted(void)
{
    const char *text = getenv("RGM_SOAK_SECONDS");

    return text != NULL && strtoull(text, NULL, 10) > 0
               ? strtoull(text, NULL, 10)
               : SECONDS_DEFAULT;
}

static void
open_all(struct soak *soak, const struct rgm_provider_class *provider)
{
    struct rgm_runtime_options options = {
        .workers = 4, .workers_max = SOAK_WORKERS_MAX, .provider = provider};
    struct rgm_pool_options pool = {.name = "soak",
                                    .slots_count = SOAK_SLOTS,
                                    .slot_size_bytes = SOAK_SLOT_BYTES};

    rgi_check(rgm_pool_create(&pool, &soak->pool) == 0);
    rgi_check(rgm_runtime_create(&options, &soak->runtime) == 0);
    rgi_check(rgm_runtime_start(soak->runtime) == 0);
}

static void
spawn_host(struct soak *soak)
{
    struct host_argument host = {soak};
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(soak->runtime, 0, &host_behaviour, &host,
                                &address) == 0);
}

static void
soak_on(const struct rgm_provider_class *provider)
{
    static struct soak soak;
    unsigned before = descriptors();
    struct watchdog *watchdog;
    uint64_t looks;

    memset(&soak, 0, sizeof(soak));
    soak.seed = rgi_seed();
    open_all(&soak, provider);
    watchdog = watchdog_start(&soak);
    spawn_host(&soak);
    direct(&soak, seconds_wanted(), before);
    stop(&soak);
    looks = watchdog_stop(watchdog);
    rgi_check(looks > 0);
    print_counts(&soak.counts);
    check_counts(&soak);
    rgi_check(rgm_runtime_destroy(soak.runtime) == 0);
    rgm_pool_destroy(soak.pool);
    rgi_check(descriptors() == before);
}

static void
nothing_is_lost_left_or_overslept_on_ring(void)
{
    soak_on(&rgm_provider_ring);
}

static void
nothing_is_lost_left_or_overslept_on_epoll(void)
{
    soak_on(&rgm_provider_epoll);
}

static void
nothing_is_lost_left_or_overslept_on_threads(void)
{
    soak_on(&rgm_provider_threads);
}

#define CASES(X)                                                               \
    X(soak, nothing_is_lost_left_or_overslept_on_ring)                         \
    X(soak, nothing_is_lost_left_or_overslept_on_epoll)                        \
    X(soak, nothing_is_lost_left_or_overslept_on_threads)

RGI_CASES(CASES)
