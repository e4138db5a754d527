/* SPDX-License-Identifier: MIT */

/* watchdog.c - does any worker sleep with mail? */

#include <inttypes.h>
#include <pthread.h>
#include <time.h>

#include "soak/soak.h"

/* Far beyond what a busy machine may take to schedule a thread. */
#define OVERSLEPT_NS (5 * RGM_NS_PER_S)
#define LOOK_NS (20 * 1000 * 1000)

struct watchdog {
    struct soak *soak;
    pthread_t thread;
    bool stop; /* shared */
    uint64_t looks;
    struct {
        uint64_t since_ns; /* of the park that was seen with mail */
        uint64_t first_ns; /* when that was seen first */
    } workers[SOAK_WORKERS_MAX];
};

static uint64_t
now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * RGM_NS_PER_S + (uint64_t)time.tv_nsec;
}

static void
look_at(struct watchdog *watchdog, uint32_t number)
{
    struct rgm_park park;

    if (rgm_runtime_park(watchdog->soak->runtime, number, &park) != 0)
        return;
    if (!park.has_mail) {
        watchdog->workers[number].since_ns = 0;
        return;
    }
    if (park.since_ns != watchdog->workers[number].since_ns) {
        watchdog->workers[number].since_ns = park.since_ns;
        watchdog->workers[number].first_ns = now();
        return;
    }
    if (now() - watchdog->workers[number].first_ns < OVERSLEPT_NS)
        return;
    fprintf(stderr, "worker %" PRIu32 " sleeps, and has had mail for %" PRIu64
            " ms\n", number,
            (uint64_t)((now() - watchdog->workers[number].first_ns) /
                       RGM_NS_PER_MS));
    rgi_check(!"a wake was lost");
}

static void *
watch(void *argument)
{
    struct watchdog *watchdog = argument;
    const struct timespec pause = {0, LOOK_NS};

    while (!soak_flag(&watchdog->stop)) {
        for (uint32_t i = 0; i < SOAK_WORKERS_MAX; i++)
            look_at(watchdog, i);
        watchdog->looks++;
        nanosleep(&pause, NULL);
    }
    return NULL;
}

struct watchdog *
watchdog_start(struct soak *soak)
{
    struct watchdog *watchdog = calloc(1, sizeof(*watchdog));

    rgi_check(watchdog != NULL);
    watchdog->soak = soak;
    rgi_check(pthread_create(&watchdog->thread, NULL, watch, watchdog) == 0);
    return watchdog;
}

uint64_t
watchdog_stop(struct watchdog *watchdog)
{
    uint64_t looks;

    soak_set(&watchdog->stop, true);
    pthread_join(watchdog->thread, NULL);
    looks = watchdog->looks;
    free(watchdog);
    return looks;
}
