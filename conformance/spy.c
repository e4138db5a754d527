/* SPDX-License-Identifier: MIT */

/* spy.c - what passes between a worker and its provider? */

#include "conformance/spy.h"

#include <errno.h>
#include <string.h>

#include <ringmail/runtime.h>

#include "base/cases.h"

static struct spy spies[RGM_WORKERS_MAX];
static __thread struct spy *mine; /* of this worker's thread */
static const struct rgm_provider_class *real_class;

/* Set by a runner that gives a case up. */
static bool lets_go;

static bool
gives_up(void)
{
    return __atomic_load_n(&lets_go, __ATOMIC_ACQUIRE);
}

void
spy_let_go(void)
{
    __atomic_store_n(&lets_go, true, __ATOMIC_RELEASE);
}

static uint64_t
spy_now(struct rgm_provider *provider)
{
    return mine->real->now(provider);
}

static void
spy_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    mine->submits[operation->kind]++;
    if (!mine->answers) {
        mine->real->submit(provider, operation);
        return;
    }
    mine->answers = false;
    rgm_operation_complete(operation, mine->answer, &mine->done);
}

static void
spy_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    mine->cancels++;
    if (!mine->holds_cancels || gives_up()) {
        mine->real->cancel(provider, operation);
        return;
    }
    rgi_check(mine->held_count < sizeof(mine->held) / sizeof(mine->held[0]));
    mine->held[mine->held_count++] = operation;
}

static void
splice(struct rgm_turn *to, struct rgm_turn *from)
{
    struct rgm_message *message = from->first;

    while (message != NULL) {
        struct rgm_message *next = message->next;

        rgm_turn_append(to, message);
        message = next;
    }
    from->first = NULL;
    from->last = NULL;
    from->count = 0;
}

static int
spy_wait(struct rgm_provider *provider, uint64_t deadline_ns,
         struct rgm_turn *turn)
{
    struct rgm_turn fresh = {0};
    int status;

    if (gives_up()) {
        spy_release_cancels(mine);
        spy_release_completions(mine);
    }
    mine->waits++;
    if (mine->done.first != NULL && !mine->holds_completions)
        deadline_ns = 0;
    if (deadline_ns != 0)
        mine->waits_blocking++;
    status = mine->real->wait(provider, deadline_ns, &fresh);
    splice(&mine->done, &fresh);
    if (!mine->holds_completions || gives_up())
        splice(turn, &mine->done);
    turn->rang = turn->rang || fresh.rang;
    return status;
}

/* Thread: any. */
static void
spy_wake(struct rgm_provider *provider)
{
    for (uint32_t i = 0; i < RGM_WORKERS_MAX; i++)
        if (spies[i].provider == provider)
            spies[i].real->wake(provider);
}

static int64_t
spy_transfer(struct rgm_provider *provider, const struct rgm_transfer *transfer)
{
    mine->transfers++;
    return mine->real->transfer(provider, transfer);
}

static int
spy_descriptor(struct rgm_provider *provider, uint64_t resource)
{
    return mine->real->descriptor != NULL
               ? mine->real->descriptor(provider, resource)
               : -ENOTSUP;
}

static const struct rgm_provider_ops spy_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = spy_now,
    .submit = spy_submit,
    .cancel = spy_cancel,
    .wait = spy_wait,
    .wake = spy_wake,
    .transfer = spy_transfer,
    .descriptor = spy_descriptor,
};

static int
spy_open(const struct rgm_provider_options *options,
         struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    int status = real_class->open(options, ret_provider, why, why_size);

    if (status != 0)
        return status;
    mine = &spies[options->worker];
    memset(mine, 0, sizeof(*mine));
    mine->provider = *ret_provider;
    mine->real = (*ret_provider)->ops;
    mine->opened = true;
    (*ret_provider)->ops = &spy_ops;
    return 0;
}

static void
spy_close(struct rgm_provider *provider)
{
    provider->ops = mine->real;
    mine->left = provider->in_flight;
    mine->closed = true;
    mine = NULL;
    real_class->close(provider);
}

const struct rgm_provider_class *
spy_class(const struct rgm_provider_class *real)
{
    static struct rgm_provider_class class;

    class = *real;
    class.open = spy_open;
    class.close = spy_close;
    real_class = real;
    __atomic_store_n(&lets_go, false, __ATOMIC_RELEASE);
    return &class;
}

struct spy *
spy_of(uint32_t worker)
{
    return &spies[worker];
}

void
spy_release_cancels(struct spy *spy)
{
    spy->holds_cancels = false;
    for (uint32_t i = 0; i < spy->held_count; i++)
        if (spy->held[i]->state == RGM_OPERATION_CANCELLING)
            spy->real->cancel(spy->provider, spy->held[i]);
    spy->held_count = 0;
}

void
spy_release_completions(struct spy *spy)
{
    spy->holds_completions = false;
}
