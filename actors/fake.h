/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_FAKE_H
#define RGI_ACTORS_FAKE_H

/*
 * fake.h - how does a test hold a worker's provider in its hands?
 *
 * A provider that carries nothing out. What is submitted waits in a list until
 * the test completes it, on the worker's thread; waits and wakes are real, by
 * poll on the bell, and counted. A plan, set before the runtime starts, says
 * what fails and may look at every wait.
 *
 * A `listen` is the operation of choice: it needs no socket.
 */

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include <ringmail/stream.h>

#include "base/bell.h"
#include "base/cases.h"
#include "base/list.h"
#include "base/memory.h"

#define FAKES_MAX 64

struct fake {
    struct rgm_provider head;
    int bell;
    uint32_t worker;
    struct rgm_link submitted;
    struct rgm_turn done;
    uint64_t waits;  /* that may block */
    uint64_t blocks; /* that did: polls */
    uint64_t looks;  /* that may not */
    uint64_t cancels;
};

/* What happens; zero: everything works. */
struct fake_plan {
    int open_error;         /* of the worker below, or of */
    uint32_t open_error_at; /* all from this one on */
    bool deaf;              /* a cancel changes nothing */
    bool never_beckons;     /* there is never anything to peek at */
    _Atomic int wait_error[FAKES_MAX];
    void (*on_wait)(struct fake *fake, uint64_t deadline_ns);
    uint64_t (*now)(struct fake *fake); /* NULL: the monotonic clock */
    /* what was seen */
    atomic_uint opened, closed, closed_in_flight;
    struct fake *of[FAKES_MAX];
};

static struct fake_plan fake_plan;

__attribute__((unused)) static struct fake *
fake_of(struct rgm_provider *provider)
{
    return (struct fake *)(void *)provider;
}

static uint64_t
fake_clock(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t
fake_now(struct rgm_provider *provider)
{
    return fake_plan.now != NULL ? fake_plan.now(fake_of(provider))
                                 : fake_clock();
}

static void
fake_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    provider->in_flight++;
    provider->entries_submitted++;
    rgi_list_push_back(&fake_of(provider)->submitted, &operation->link);
}

/* Thread: the worker's. */
__attribute__((unused)) static void
fake_complete(struct fake *fake, struct rgm_operation *operation, int status)
{
    rgi_list_remove(&operation->link);
    fake->head.in_flight--;
    fake->head.completions++;
    rgm_operation_complete(operation, status, &fake->done);
}

/* Completes the oldest. Returns: whether there was one. */
__attribute__((unused)) static bool
fake_complete_first(struct fake *fake, int status)
{
    struct rgm_link *link = rgi_list_first(&fake->submitted);

    if (link == NULL)
        return false;
    fake_complete(fake, rgi_container_of(link, struct rgm_operation, link),
                  status);
    return true;
}

static void
fake_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct fake *fake = fake_of(provider);

    fake->cancels++;
    if (!fake_plan.deaf)
        fake_complete(fake, operation, -ECANCELED);
}

static void
fake_hand_over(struct fake *fake, struct rgm_turn *turn)
{
    struct rgm_message *message = fake->done.first;

    while (message != NULL) {
        struct rgm_message *next = message->next;

        rgm_turn_append(turn, message);
        message = next;
    }
    fake->done = (struct rgm_turn){.count = 0};
}

static void
fake_poll(struct fake *fake, uint64_t deadline_ns, struct rgm_turn *turn)
{
    uint64_t now_ns = fake_now(&fake->head);
    uint64_t pause_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;

    fake->blocks++;
    fake->head.kernel_entries++;
    if (deadline_ns == RGM_NEVER)
        pause_ns = RGM_NEVER;
    turn->rang |= rgi_bell_await(fake->bell, pause_ns);
}

static int
fake_wait(struct rgm_provider *provider, uint64_t deadline_ns,
          struct rgm_turn *turn)
{
    struct fake *fake = fake_of(provider);
    int error;

    if (deadline_ns == 0)
        fake->looks++;
    else
        fake->waits++;
    if (fake_plan.on_wait != NULL)
        fake_plan.on_wait(fake, deadline_ns);
    fake_hand_over(fake, turn);
    error = atomic_load(&fake_plan.wait_error[fake->worker]);
    if (error != 0)
        return error;
    if (deadline_ns == 0 || turn->first != NULL)
        return 0;
    fake_poll(fake, deadline_ns, turn);
    return atomic_load(&fake_plan.wait_error[fake->worker]);
}

static void
fake_wake(struct rgm_provider *provider)
{
    rgi_bell_ring((void *)(intptr_t)fake_of(provider)->bell);
}

static const struct rgm_provider_ops fake_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = fake_now,
    .submit = fake_submit,
    .cancel = fake_cancel,
    .wait = fake_wait,
    .wake = fake_wake,
};

#define FAKE_KINDS UINT64_MAX

static uint32_t fake_nothing;

static int
fake_open(const struct rgm_provider_options *options,
          struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    struct fake *fake;

    if (fake_plan.open_error != 0 &&
        options->worker >= fake_plan.open_error_at) {
        snprintf(why, why_size, "fake: worker %u was told to fail",
                 options->worker);
        return fake_plan.open_error;
    }
    fake = rgi_alloc(sizeof(*fake));
    if (fake == NULL) {
        snprintf(why, why_size, "fake: no memory");
        return -ENOMEM;
    }
    fake->head.ops = &fake_ops;
    fake->head.kinds = FAKE_KINDS;
    fake->head.mode = "fake";
    if (fake_plan.never_beckons)
        fake->head.peek = (struct rgm_peek){.tail = &fake_nothing,
                                            .head = &fake_nothing,
                                            .flags = &fake_nothing};
    fake->bell = options->bell;
    fake->worker = options->worker;
    rgi_list_init(&fake->submitted);
    fake_plan.of[options->worker] = fake;
    atomic_fetch_add(&fake_plan.opened, 1);
    *ret_provider = &fake->head;
    return 0;
}

static void
fake_close(struct rgm_provider *provider)
{
    if (provider->in_flight > 0) {
        rgi_check(
            atomic_load(&fake_plan.wait_error[fake_of(provider)->worker]) != 0 ||
            provider->abandoned);
        atomic_fetch_add(&fake_plan.closed_in_flight, 1);
    }
    atomic_fetch_add(&fake_plan.closed, 1);
    rgi_free(provider);
}

static const struct rgm_provider_class fake_class = {
    .name = "fake",
    .open = fake_open,
    .close = fake_close,
    .kinds = FAKE_KINDS,
};

/* Before each case: cases share the process when run plainly. */
__attribute__((unused)) static void
fake_reset(void)
{
    memset(&fake_plan, 0, sizeof(fake_plan));
}

/* An operation that only the test ends. */
__attribute__((unused)) static void
fake_prepare(struct rgm_listen *listen, struct rgm_listener *listener,
             struct rgm_address where)
{
    struct rgm_endpoint endpoint;

    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &endpoint) == 0);
    rgm_stream_listen(listen, where, listener, &endpoint, false);
}

#endif /* RGI_ACTORS_FAKE_H */
