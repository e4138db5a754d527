/* SPDX-License-Identifier: MIT */

/*
 * script.c - what can a test know and decide of its providers?
 *
 * Everything happens under the script's lock and becomes visible to a worker
 * only by its provider's wait (scripted.c), which is told by a bell.
 */

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/bell.h"
#include "base/memory.h"
#include "capabilities/scripted/parts.h"
#include "capabilities/stream.h"

int
rgm_script_create(struct rgm_script **ret_script)
{
    struct rgm_script *script = rgi_alloc(sizeof(*script));

    if (script == NULL)
        return -ENOMEM;
    if (pthread_mutex_init(&script->lock, NULL) != 0) {
        rgi_free(script);
        return -ENOMEM;
    }
    script->now_ns = RGM_NS_PER_S;
    script->kinds = rgm_provider_scripted.kinds;
    rgi_list_init(&script->waiting);
    rgi_list_init(&script->providers);
    *ret_script = script;
    return 0;
}

void
rgm_script_destroy(struct rgm_script *script)
{
    if (script == NULL)
        return;
    rgi_assert(rgi_list_empty(&script->providers));
    pthread_mutex_destroy(&script->lock);
    rgi_free(script);
}

static void
lock(struct rgm_script *script)
{
    rgi_assert(pthread_mutex_lock(&script->lock) == 0);
}

static void
unlock(struct rgm_script *script)
{
    rgi_assert(pthread_mutex_unlock(&script->lock) == 0);
}

void
rgm_script_kinds(struct rgm_script *script, uint64_t kinds)
{
    lock(script);
    script->kinds = kinds & rgm_provider_scripted.kinds;
    unlock(script);
}

/* ---- time ---- */

void
rgm_script_follow_clock(struct rgm_script *script)
{
    script->follows_clock = true;
}

static uint64_t
machine_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

uint64_t
rgm_script_now(const struct rgm_script *script)
{
    if (script->follows_clock)
        return machine_now();
    /* script-now: nothing but the time. */
    return __atomic_load_n(&script->now_ns, __ATOMIC_RELAXED);
}

#define provider_at(place) rgi_container_of(place, struct rgi_scripted, link)

/* Under the lock. */
static void
set_time(struct rgm_script *script, uint64_t now_ns)
{
    struct rgm_link *link = script->providers.next;

    /* script-now: the wait it ends is told by the bell. */
    __atomic_store_n(&script->now_ns, now_ns, __ATOMIC_RELAXED);
    for (; link != &script->providers; link = link->next)
        if (provider_at(link)->deadline_ns <= now_ns)
            rgi_bell_ring((void *)(intptr_t)provider_at(link)->news);
}

void
rgm_script_advance(struct rgm_script *script, uint64_t ns)
{
    if (script->follows_clock)
        return;
    lock(script);
    set_time(script, script->now_ns + ns);
    unlock(script);
}

bool
rgm_script_jump(struct rgm_script *script)
{
    uint64_t nearest_ns = RGM_NEVER;
    struct rgm_link *link;

    if (script->follows_clock)
        return false;
    lock(script);
    for (link = script->providers.next; link != &script->providers;
         link = link->next)
        if (provider_at(link)->deadline_ns < nearest_ns)
            nearest_ns = provider_at(link)->deadline_ns;
    if (nearest_ns != RGM_NEVER && nearest_ns > script->now_ns)
        set_time(script, nearest_ns);
    unlock(script);
    return nearest_ns != RGM_NEVER;
}

/* ---- what has been submitted ---- */

#define operation_at(place) rgi_container_of(place, struct rgm_operation, link)

static bool
is_of(const struct rgm_operation *operation, enum rgm_operation_kind kind)
{
    return kind == RGM_SCRIPT_ANY || operation->kind == kind;
}

size_t
rgm_script_count(struct rgm_script *script, enum rgm_operation_kind kind)
{
    struct rgm_link *link;
    size_t count = 0;

    lock(script);
    for (link = script->waiting.next; link != &script->waiting;
         link = link->next)
        count += is_of(operation_at(link), kind);
    unlock(script);
    return count;
}

struct rgm_operation *
rgm_script_find(struct rgm_script *script, enum rgm_operation_kind kind,
                size_t skip)
{
    struct rgm_operation *found = NULL;
    struct rgm_link *link;

    lock(script);
    for (link = script->waiting.next;
         link != &script->waiting && found == NULL; link = link->next)
        if (is_of(operation_at(link), kind) && skip-- == 0)
            found = operation_at(link);
    unlock(script);
    return found;
}

static struct rgi_scripted_note *
note_of(const struct rgm_operation *operation)
{
    return rgi_scripted_note_of((struct rgm_operation *)(uintptr_t)operation);
}

uint32_t
rgm_script_worker(const struct rgm_operation *operation)
{
    return note_of(operation)->provider->worker;
}

bool
rgm_script_is_cancelled(struct rgm_script *script,
                        const struct rgm_operation *operation)
{
    bool cancelled;

    lock(script);
    cancelled = note_of(operation)->cancelled;
    unlock(script);
    return cancelled;
}

/* ---- deciding ---- */

static void
write_all(struct rgm_write *write)
{
    write->count = 0;
    for (size_t i = 0; i < write->vectors_count; i++)
        write->count += write->vectors[i].length_bytes;
}

void
rgm_script_complete(struct rgm_script *script,
                    struct rgm_operation *operation, int status)
{
    if (status == 0 && operation->kind == RGM_OP_WRITE)
        write_all(rgi_write_of(operation));
    lock(script);
    rgi_scripted_decide(operation, status);
    unlock(script);
}

void
rgm_script_complete_open(struct rgm_script *script,
                         struct rgm_operation *operation, uint64_t resource)
{
    note_of(operation)->resource = resource;
    rgm_script_complete(script, operation, 0);
}

void
rgm_script_complete_write(struct rgm_script *script,
                          struct rgm_operation *operation, size_t count,
                          int status)
{
    rgi_assert(operation->kind == RGM_OP_WRITE);
    rgi_write_of(operation)->count = count;
    lock(script);
    rgi_scripted_decide(operation, status);
    unlock(script);
}

static int
fill_plain(struct rgm_read *read, const void *bytes, size_t count, bool end)
{
    if (count > read->capacity_bytes)
        return -EINVAL;
    if (count > 0)
        memcpy(read->memory, bytes, count);
    read->count = count;
    read->end = end;
    return 0;
}

static int
fill_pooled(struct rgm_read_pooled *read, const void *bytes, size_t count,
            bool end)
{
    struct rgm_lease lease = {0};
    int status = count > 0 ? rgm_pool_try_acquire(read->pool, &lease) : 0;

    if (status != 0)
        return status;
    if (count > lease.length_bytes) {
        (void)rgm_lease_drop(&lease);
        return -EINVAL;
    }
    if (count > 0) {
        memcpy(lease.data, bytes, count);
        rgi_assert(rgm_lease_truncate(&lease, count) == 0);
        read->lease = lease;
    }
    read->count = count;
    read->end = end;
    return 0;
}

int
rgm_script_complete_read(struct rgm_script *script,
                         struct rgm_operation *operation, const void *bytes,
                         size_t count, bool end)
{
    int status;

    rgi_assert(operation->kind == RGM_OP_READ ||
               operation->kind == RGM_OP_READ_POOLED);
    status = operation->kind == RGM_OP_READ
                 ? fill_plain(rgi_read_of(operation), bytes, count, end)
                 : fill_pooled(rgi_read_pooled_of(operation), bytes, count,
                               end);
    if (status != 0)
        return status;
    lock(script);
    rgi_scripted_decide(operation, 0);
    unlock(script);
    return 0;
}

void
rgm_script_hold_cancels(struct rgm_script *script, bool hold)
{
    lock(script);
    script->hold_cancels = hold;
    unlock(script);
}

void
rgm_script_refuse_nth(struct rgm_script *script, uint64_t nth, int status)
{
    lock(script);
    script->refuse_in = nth;
    script->refuse_status = status;
    unlock(script);
}

void
rgm_script_on_submit(struct rgm_script *script, rgm_script_function *function,
                     void *argument)
{
    script->on_submit = function;
    script->on_submit_argument = argument;
}

/* ---- what the waits see ---- */

/* Under the lock; NULL: none of that worker is open. */
static struct rgi_scripted *
provider_of(struct rgm_script *script, uint32_t worker)
{
    struct rgm_link *link = script->providers.next;

    for (; link != &script->providers; link = link->next)
        if (provider_at(link)->worker == worker)
            return provider_at(link);
    return NULL;
}

void
rgm_script_ring(struct rgm_script *script, uint32_t worker)
{
    struct rgi_scripted *scripted;

    lock(script);
    scripted = provider_of(script, worker);
    if (scripted != NULL)
        rgi_bell_ring((void *)(intptr_t)scripted->bell);
    unlock(script);
}

void
rgm_script_interrupt(struct rgm_script *script, uint32_t worker)
{
    struct rgi_scripted *scripted;

    lock(script);
    scripted = provider_of(script, worker);
    if (scripted != NULL) {
        scripted->interrupted = true;
        rgi_bell_ring((void *)(intptr_t)scripted->news);
    }
    unlock(script);
}

void
rgm_script_fail(struct rgm_script *script, uint32_t worker, int error)
{
    struct rgi_scripted *scripted;

    rgi_assert(error < 0);
    lock(script);
    scripted = provider_of(script, worker);
    if (scripted != NULL) {
        scripted->failure = error;
        rgi_bell_ring((void *)(intptr_t)scripted->news);
    }
    unlock(script);
}

void
rgm_script_refuse_open(struct rgm_script *script, uint32_t worker, int error)
{
    lock(script);
    script->refuse_open_from = worker;
    script->refuse_open_error = error;
    unlock(script);
}
