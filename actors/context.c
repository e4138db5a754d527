/* SPDX-License-Identifier: MIT */

/*
 * context.c - a named place under an actor, and the program as one call.
 *
 * A context is a child's monitor with a name. An actor has no room for a name of
 * its own and needs none: its parent's record lies in the table of watchers of
 * its worker as long as it lives, and says how it is called.
 */

#include <ringmail/context.h>
#include <ringmail/task.h>

#include "actors/names.h"
#include "actors/runtime.h"

#include <string.h>

#include "base/memory.h"
#include "capabilities/operation.h"

/* ---- names ---- */

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
name_valid(const char *name)
{
    if (name == NULL || !is_letter(*name))
        return false;
    while (is_letter(*name) || (*name >= '0' && *name <= '9'))
        name++;
    return *name == '\0';
}

const struct rgi_name *
rgi_names_first(struct rgm_runtime *runtime)
{
    /* name-list: observes the names behind it. */
    return __atomic_load_n(&runtime->contexts, __ATOMIC_ACQUIRE);
}

static struct rgi_name *
find(struct rgi_name *first, const char *text)
{
    while (first != NULL && strcmp(first->text, text) != 0)
        first = first->next;
    return first;
}

/* Put a new one into the list, unless somebody else has, meanwhile. */
static struct rgi_name *
list_add(struct rgm_runtime *runtime, struct rgi_name *name)
{
    struct rgi_name *first =
        __atomic_load_n(&runtime->contexts, __ATOMIC_ACQUIRE);
    struct rgi_name *same;

    for (;;) {
        same = find(first, name->text);
        if (same != NULL) {
            rgi_free(name);
            return same;
        }
        name->next = first;
        /* name-list: publishes the name; observes those before it. */
        if (__atomic_compare_exchange_n(&runtime->contexts, &first, name, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return name;
    }
}

static bool
is_full(const struct rgi_name *first)
{
    uint32_t count = 0;

    for (; first != NULL; first = first->next)
        count++;
    return count >= RGM_CONTEXTS_MAX;
}

static int
name_get(struct rgm_runtime *runtime, const char *text,
         struct rgi_name **ret_name)
{
    struct rgi_name *first =
        __atomic_load_n(&runtime->contexts, __ATOMIC_ACQUIRE);
    struct rgi_name *name = find(first, text);

    if (name == NULL) {
        if (is_full(first))
            return -ENOSPC;
        name = rgi_alloc(sizeof(*name));
        if (name == NULL)
            return -ENOMEM;
        memcpy(name->text, text, strlen(text) + 1);
        name = list_add(runtime, name);
    }
    *ret_name = name;
    return 0;
}

void
rgi_names_free(struct rgm_runtime *runtime)
{
    while (runtime->contexts != NULL) {
        struct rgi_name *name = runtime->contexts;

        runtime->contexts = name->next;
        rgi_free(name);
    }
}

/* name-counts: a count, publishes nothing. */
static void
count(uint64_t *word, uint64_t by)
{
    (void)__atomic_fetch_add(word, by, __ATOMIC_RELAXED);
}

void
rgi_name_unheard(struct rgi_name *named)
{
    count(&named->running, UINT64_MAX);
}

/* ---- contexts ---- */

const char *
rgm_own_name_actor(struct rgm_actor *self)
{
    struct rgm_worker *worker = self->worker;
    const struct rgi_name *named = NULL;

    rgi_assert(rgi_is_owner(worker));
    if (!worker->is_guest)
        named = rgi_watch_name(worker, self->address);
    return named != NULL ? named->text : "";
}

uint64_t
rgm_own_kinds_actor(const struct rgm_actor *self)
{
    const struct rgm_worker *worker = self->worker;

    if (worker->is_guest || worker->provider == NULL)
        return 0;
    return worker->provider->kinds | RGI_OWN_KIND_BITS;
}

int
rgm_context_derive_actor(struct rgm_actor *self, struct rgm_context *context,
                         const char *name)
{
    const char *own = rgm_own_name_actor(self);
    char text[RGM_CONTEXT_NAME_MAX + 1] = "";
    size_t own_length = strlen(own), length;
    struct rgi_name *named;
    int status;

    if (!name_valid(name))
        return -EINVAL;
    length = strlen(name);
    if (own_length + (own_length > 0) + length > RGM_CONTEXT_NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(text, own, own_length);
    if (own_length > 0)
        text[own_length++] = '.';
    memcpy(text + own_length, name, length + 1);
    status = name_get(self->worker->runtime, text, &named);
    if (status == 0) {
        memset(context, 0, sizeof(*context));
        context->named = named;
    }
    return status;
}

const char *
rgm_context_name(const struct rgm_context *context)
{
    return context->named != NULL ? context->named->text : "";
}

static void
context_ended(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_context *context =
        rgi_container_of(request, struct rgm_context, request);

    rgi_name_unheard(context->named);
    context->answer(self, request);
}

int
rgm_spawn_in_context(struct rgm_actor *self, struct rgm_context *context,
                     uint32_t worker, const struct rgm_behaviour *behaviour,
                     const void *argument, rgm_answer_function *answer,
                     struct rgm_address *ret_address)
{
    struct rgi_name *named = context->named;
    int status;

    if (named == NULL)
        return -EINVAL;
    context->answer = answer;
    status = rgi_spawn_named(self, worker, behaviour, argument,
                             &context->down, named, context_ended,
                             ret_address);
    if (status == 0) {
        count(&named->running, 1);
        count(&named->spawned, 1);
    }
    return status;
}

/* ---- a program ---- */

int
rgm_runtime_run_to_end(struct rgm_runtime *runtime,
                       const struct rgm_behaviour *root, const void *argument,
                       struct rgm_end *ret_end)
{
    struct rgm_task *task;
    struct rgm_message *watch = rgi_task_make(runtime, &task);
    int status;

    if (watch == NULL)
        return -ENOMEM;
    status = rgi_runtime_run(runtime, root, argument, watch);
    if (rgm_task_who(task).bits == 0)
        rgi_task_unmake(task); /* it has never lived */
    else if (status == 0)
        status = rgm_task_join(task, ret_end);
    else
        rgm_task_drop(task);
    return status;
}

int
rgm_run(const struct rgm_behaviour *root, const void *argument,
        struct rgm_end *ret_end)
{
    struct rgm_runtime *runtime;
    int status = rgm_runtime_create(NULL, &runtime);

    if (status != 0)
        return status;
    status = rgm_runtime_run_to_end(runtime, root, argument, ret_end);
    (void)rgm_runtime_destroy(runtime);
    return status;
}
