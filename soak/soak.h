/* SPDX-License-Identifier: MIT */
#ifndef SOAK_SOAK_H
#define SOAK_SOAK_H

/*
 * soak.h - what do the agents of a soak, its director and its watchdog share?
 *
 *     director (a plain thread) --- resize, respawn, lulls, guests ---> runtime
 *     agents   (100 actors)     --- ask, cancel, forward, keep, parcels, sockets
 *     host     (worker 0)       --- accepts, one echoing actor per connection
 *     watchdog (a plain thread) --- looks for a worker that sleeps with mail
 *
 * Everything an agent does follows from the seed, its index and its count of
 * lives; what happens in which order does not. What must hold is exact all the
 * same: whatever was asked is answered, whatever was sent is home, whatever was
 * taken is given back.
 *
 * Public headers only. Fields marked shared are atomic.
 */

#include <errno.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"

enum {
    SOAK_AGENTS = 100,
    SOAK_WORKERS_MAX = 8,
    SOAK_JOBS = 4,    /* requests per agent */
    SOAK_TOKENS = 4,  /* kept at once, per agent */
    SOAK_SLOTS = 64,  /* of the pool */
    SOAK_SLOT_BYTES = 512
};

#define SOAK_UNBORN UINT64_MAX

/* What happened, all agents together; shared. */
struct soak_counts {
    uint64_t lives;        /* agents that have started */
    uint64_t deaths;       /* and stopped */
    uint64_t asked, answered;
    uint64_t cancelled;    /* cancels asked for */
    uint64_t forwarded, kept, withdrawn, unanswered;
    uint64_t parcels_sent, parcels_home;
    uint64_t views;        /* delivered, and found to be what was sent */
    uint64_t acquired;     /* slots that were waited for, or not */
    uint64_t worked;       /* jobs of the pool's threads */
    uint64_t told;         /* of ends, or that a watch is over */
    uint64_t leases;       /* of workers */
    uint64_t ticks;        /* timers that fired */
    uint64_t connected, served; /* connections: dialled, accepted */
    uint64_t echoed;       /* bytes that came back as they were */
    uint64_t longest_ping_ns; /* in a lull; told, not judged */
};

#define soak_count(counter) soak_add(&(counter), 1)

static inline void
soak_add(uint64_t *counter, uint64_t count)
{
    (void)__atomic_add_fetch(counter, count, __ATOMIC_RELAXED);
}

static inline uint64_t
soak_see(const uint64_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_RELAXED);
}

struct soak {
    struct rgm_runtime *runtime;
    struct rgm_pool *pool;
    uint64_t seed;
    bool lull;   /* shared: agents arm no timer and begin nothing */
    bool listens;  /* shared: `endpoint` is valid */
    struct rgm_endpoint endpoint;
    /* Shared; 0: nobody at the moment; SOAK_UNBORN: somebody who has not
     * started. */
    uint64_t addresses[SOAK_AGENTS];
    struct soak_counts counts;
};

static inline bool
soak_flag(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

static inline void
soak_set(bool *flag, bool value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

/* xorshift; never zero. */
static inline uint64_t
soak_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static inline uint32_t
soak_pick(uint64_t *random, uint32_t count)
{
    return (uint32_t)(soak_random(random) >> 32) % count;
}

/* What agents ask each other. */
struct job {
    struct rgm_request request;
    uint64_t number; /* to be answered with its successor */
};
RGM_REQUEST(job);

/* The end of a lull. */
struct wake {
    struct rgm_message message;
};
RGM_MESSAGE(wake);

struct agent_argument {
    struct soak *soak;
    uint32_t index;
};

extern const struct rgm_behaviour agent_behaviour;

struct host_argument {
    struct soak *soak;
};

extern const struct rgm_behaviour host_behaviour;

/* An agent's address, or zero: nobody to talk to. */
struct rgm_address soak_address(const struct soak *soak, uint32_t index);

/* Looks until it is stopped; ends the program when a worker has slept with
 * mail for longer than anything can excuse. */
struct watchdog;
struct watchdog *watchdog_start(struct soak *soak);
/* Returns: how many looks it took. */
uint64_t watchdog_stop(struct watchdog *watchdog);

#endif /* SOAK_SOAK_H */
