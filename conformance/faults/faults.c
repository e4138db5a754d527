/* SPDX-License-Identifier: MIT */

/* faults.c - how does a fault stand between a worker and its provider? What it
 * spoils is in the groups, ..._faults.c. */

#include "conformance/faults/faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ringmail/stream.h>

#include "base/cases.h"

#define NOTES_MAX 256
#define SHADOWS_MAX 64

struct note {
    const struct rgm_operation *operation;
    uintptr_t note;
};

/* A read in the memory of a record that the right one has for its own. */
struct shadow {
    struct rgm_operation *original; /* NULL: was answered already */
    struct rgm_operation *copy;
};

/* Of one worker. */
struct post {
    const struct rgm_provider_ops *real;
    struct rgm_provider *provider;
    struct rgm_turn done; /* answered here */
    struct rgm_turn held;
    struct note notes[NOTES_MAX];
    struct shadow shadows[SHADOWS_MAX];
};

static const struct fault *fault;
static const struct rgm_provider_class *right;
static uint64_t kinds_seen;
static const struct rgm_provider_ops *right_ops; /* of all of them */
static __thread struct post *mine;

/* -------------------------------------------------------------------- notes */

void
fault_mark(const struct rgm_operation *operation, uintptr_t note)
{
    for (size_t i = 0; i < NOTES_MAX; i++)
        if (mine->notes[i].operation == NULL ||
            mine->notes[i].operation == operation) {
            mine->notes[i] = (struct note){operation, note};
            return;
        }
    abort();
}

uintptr_t
fault_unmark(const struct rgm_operation *operation)
{
    for (size_t i = 0; i < NOTES_MAX; i++)
        if (mine->notes[i].operation == operation) {
            uintptr_t note = mine->notes[i].note;

            mine->notes[i] = (struct note){NULL, 0};
            return note;
        }
    return 0;
}

void
fault_answer(struct rgm_operation *operation, int status)
{
    rgm_operation_complete(operation, status, &mine->done);
}

/* In front of the library's own, which looks whether the record is as it was. */
void
rgm_operation_complete(struct rgm_operation *operation, int status,
                       struct rgm_turn *turn)
{
    void (*own)(struct rgm_operation *, int, struct rgm_turn *);
    void *found = dlsym(RTLD_NEXT, "rgm_operation_complete");

    memcpy(&own, &found, sizeof(own));
    if (fault->restore != NULL)
        fault->restore(operation);
    own(operation, status, turn);
}

/* ------------------------------------------------------------------- shadows */

/* The socket of a read is used by two records for a while. */
static uint32_t *
busy_of(struct rgm_operation *operation)
{
    return &((struct rgm_read *)(void *)operation)->stream->socket.busy;
}

static void
shadow_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    struct rgm_operation *copy = malloc(sizeof(struct rgm_read));

    rgi_check(copy != NULL);
    memcpy(copy, operation, sizeof(struct rgm_read));
    for (size_t i = 0; i < SHADOWS_MAX; i++)
        if (mine->shadows[i].copy == NULL) {
            mine->shadows[i] = (struct shadow){operation, copy};
            mine->real->submit(provider, copy);
            return;
        }
    abort();
}

/* What was asked for is over when the cancel is, so it says. */
static bool
shadow_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    for (size_t i = 0; i < SHADOWS_MAX; i++)
        if (mine->shadows[i].copy != NULL &&
            mine->shadows[i].original == operation) {
            mine->shadows[i].original = NULL;
            mine->real->cancel(provider, mine->shadows[i].copy);
            ++*busy_of(operation);
            fault_answer(operation, -ECANCELED);
            return true;
        }
    return false;
}

/* Whether it was one. */
static bool
shadow_complete(struct rgm_operation *copy, struct rgm_turn *turn)
{
    for (size_t i = 0; i < SHADOWS_MAX; i++) {
        struct rgm_operation *original = mine->shadows[i].original;

        if (mine->shadows[i].copy != copy)
            continue;
        mine->shadows[i] = (struct shadow){NULL, NULL};
        if (original != NULL) {
            ++*busy_of(original);
            memcpy((char *)original + sizeof(*original),
                   (char *)copy + sizeof(*copy),
                   sizeof(struct rgm_read) - sizeof(*copy));
            rgm_operation_complete(original, copy->request.message.status,
                                   turn);
        }
        free(copy);
        return true;
    }
    return false;
}

/* -------------------------------------------------------------------- cancels */

#define NOTE_OUT 1
#define NOTE_CANCELLED 2

/* Whether the fault has this flag, and means operations like this one. */
static bool
spoils(bool flag, const struct rgm_operation *operation)
{
    return flag && operation->kind == fault->kind;
}

/* Those that were asked to stop, whether or not the right one has heard of it. */
static void
look_for_cancels(void)
{
    for (size_t i = 0; i < NOTES_MAX; i++)
        if (mine->notes[i].operation != NULL &&
            mine->notes[i].operation->state == RGM_OPERATION_CANCELLING)
            mine->notes[i].note = NOTE_CANCELLED;
}

/* ---------------------------------------------------------------- the entries */

static uint64_t
post_now(struct rgm_provider *provider)
{
    uint64_t now_ns = mine->real->now(provider);

    return fault->now != NULL ? fault->now(now_ns) : now_ns;
}

static void
post_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    (void)__atomic_or_fetch(&kinds_seen, UINT64_C(1) << operation->kind,
                            __ATOMIC_RELAXED);
    if (fault->submit != NULL && fault->submit(operation))
        return;
    if (spoils(fault->does_nothing, operation)) {
        fault_answer(operation, 0);
        return;
    }
    if (spoils(fault->cancel_wins, operation))
        fault_mark(operation, NOTE_OUT);
    if (fault->frees_at_cancel && operation->kind == RGM_OP_READ)
        shadow_submit(provider, operation);
    else
        mine->real->submit(provider, operation);
}

static void
post_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    if (fault->cancel != NULL && fault->cancel(operation))
        return;
    if (spoils(fault->loses_cancels, operation))
        return;
    if (fault->frees_at_cancel && shadow_cancel(provider, operation))
        return;
    mine->real->cancel(provider, operation);
}

static void
splice(struct rgm_turn *to, struct rgm_turn *from)
{
    struct rgm_message *message = from->first;

    from->first = NULL;
    from->last = NULL;
    from->count = 0;
    while (message != NULL) {
        struct rgm_message *next = message->next;

        rgm_turn_append(to, message);
        message = next;
    }
}

/* Returns: whether one of them is held back. */
static bool
pass(struct rgm_turn *fresh, struct rgm_turn *turn)
{
    struct rgm_message *message = fresh->first;
    bool holds = false;

    while (message != NULL) {
        struct rgm_operation *operation = rgm_operation_of(message);
        struct rgm_message *next = message->next;

        if (!shadow_complete(operation, turn)) {
            bool held = spoils(fault->holds_completions, operation);

            if (fault->complete != NULL)
                fault->complete(operation);
            if (spoils(fault->cancel_wins, operation) &&
                fault_unmark(operation) == NOTE_CANCELLED)
                message->status = -ECANCELED;
            rgm_turn_append(held ? &mine->held : turn, message);
            holds = holds || held;
        }
        message = next;
    }
    return holds;
}

/* What is held back goes on with whatever comes after it: another answer, the
 * bell, a deadline. A look that waits for nothing and finds nothing, as a worker
 * has that spins, is none of these. */
static int
post_wait(struct rgm_provider *provider, uint64_t deadline_ns,
          struct rgm_turn *turn)
{
    struct rgm_turn held = mine->held;
    struct rgm_turn came = {0};
    bool holds;
    int status;

    mine->held = (struct rgm_turn){0};
    if (mine->done.first != NULL)
        deadline_ns = 0;
    if (fault->sleeps_through && deadline_ns != 0)
        deadline_ns = RGM_NEVER;
    do {
        struct rgm_turn fresh = {0};

        if (fault->cancel_wins)
            look_for_cancels();
        status = mine->real->wait(provider, deadline_ns, &fresh);
        holds = pass(&fresh, &came);
        turn->rang = turn->rang || (fresh.rang && !fault->is_deaf);
        holds = holds || (fault->is_deaf && fresh.rang);
    } while (holds && status == 0 && deadline_ns != 0 && came.first == NULL &&
             !turn->rang && mine->real->now(provider) < deadline_ns);
    if (came.first != NULL || turn->rang || deadline_ns != 0) {
        splice(turn, &held);
    } else {
        splice(&held, &mine->held);
        mine->held = held;
    }
    splice(turn, &came);
    splice(turn, &mine->done);
    return status;
}

static void
post_wake(struct rgm_provider *provider)
{
    __atomic_load_n(&right_ops, __ATOMIC_ACQUIRE)->wake(provider);
}

int64_t
fault_transfer(const struct rgm_transfer *transfer)
{
    return mine->real->transfer(mine->provider, transfer);
}

static int64_t
post_transfer(struct rgm_provider *provider,
              const struct rgm_transfer *transfer)
{
    (void)provider;
    (void)__atomic_or_fetch(&kinds_seen, UINT64_C(1) << FAULT_OF_TRANSFERS,
                            __ATOMIC_RELAXED);
    return fault->transfer != NULL ? fault->transfer(transfer)
                                   : fault_transfer(transfer);
}

static int
post_descriptor(struct rgm_provider *provider, uint64_t resource)
{
    return mine->real->descriptor(provider, resource);
}

static const struct rgm_provider_ops post_ops = {
    .version = RGM_PROVIDER_VERSION,
    .now = post_now,
    .submit = post_submit,
    .cancel = post_cancel,
    .wait = post_wait,
    .wake = post_wake,
    .transfer = post_transfer,
    .descriptor = post_descriptor,
};

static int
post_open(const struct rgm_provider_options *options,
          struct rgm_provider **ret_provider, char *why, size_t why_size)
{
    int status = right->open(options, ret_provider, why, why_size);

    if (status != 0)
        return status;
    mine = calloc(1, sizeof(*mine));
    rgi_check(mine != NULL);
    mine->real = (*ret_provider)->ops;
    mine->provider = *ret_provider;
    __atomic_store_n(&right_ops, mine->real, __ATOMIC_RELEASE);
    (*ret_provider)->ops = &post_ops;
    (*ret_provider)->peek = (struct rgm_peek){NULL, NULL, NULL, 0};
    return 0;
}

static void
post_close(struct rgm_provider *provider)
{
    provider->ops = mine->real;
    free(mine);
    mine = NULL;
    right->close(provider);
}

uint64_t
fault_kinds_seen(void)
{
    return __atomic_load_n(&kinds_seen, __ATOMIC_RELAXED);
}

const struct rgm_provider_class *
fault_class(const struct fault *chosen, const struct rgm_provider_class *real)
{
    static struct rgm_provider_class class;

    class = *real;
    class.open = post_open;
    class.close = post_close;
    fault = chosen;
    right = real;
    return &class;
}
