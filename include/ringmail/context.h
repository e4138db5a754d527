/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_CONTEXT_H
#define RINGMAIL_CONTEXT_H

/*
 * context.h - a named place under an actor, and the program as one call.
 *
 *     status = rgm_context_derive(self, &self->ingest, "ingest");
 *     status = rgm_spawn_in(self, &self->ingest, RGM_ANY_WORKER, &reader, NULL,
 *                           RGM_REPLY(root, rgm_context, root_ingest_ended),
 *                           &address);
 *     ...
 *     status = rgm_run(&root, &options, &end);      in main
 *
 * An actor spawned in a context is a child (supervisor.h) with a name: what it
 * derives is called "ingest.parser", and so on. The answer is its end. How many
 * live under each name is told by rgm_runtime_metrics (metrics.h).
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/runtime.h>
#include <ringmail/supervisor.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGM_CONTEXT_NAME_MAX 63 /* bytes of a whole name, dots included */
#define RGM_CONTEXTS_MAX 1024   /* names of one runtime, ever */

struct rgi_name;

/* The fields are the runtime's, but for the end. */
struct rgm_context {
    union {
        struct rgm_request request;
        struct rgm_down down; /* in the answer: down.end */
    };
    struct rgi_name *named;
    rgm_answer_function *answer;
};

/*
 * Give a context its name, under the caller's own. May be done again when nobody
 * lives in it.
 *
 * Returns: 0
 *          -EINVAL        not a letter or underscore, then letters, digits and
 *                         underscores
 *          -ENAMETOOLONG  the whole name has more than RGM_CONTEXT_NAME_MAX bytes
 *          -ENOSPC        the runtime has RGM_CONTEXTS_MAX names
 *          -ENOMEM
 */
#define rgm_context_derive(self, context, name)                               \
    rgm_context_derive_actor(&(self)->actor, (context), (name))
RGM_API RGM_MUST_USE int rgm_context_derive_actor(struct rgm_actor *self,
                                                  struct rgm_context *context,
                                                  const char *name);

/*
 * Spawn a child in the context: as rgm_spawn_child. One at a time.
 *
 * Owns:    the context is the runtime's until its answer is delivered.
 * Returns: as rgm_spawn_child; -EINVAL when the context was not derived.
 */
#define rgm_spawn_in(self_, context, worker, behaviour, argument, reply,      \
                     ret_address)                                             \
    (RGM_SAME_TYPE((self_), (reply).self),                                    \
     RGM_SAME_TYPE((context), (reply).record),                                \
     rgm_spawn_in_context(&(self_)->actor, (context), (worker), (behaviour),  \
                          (argument), (reply).function, (ret_address)))
RGM_API RGM_MUST_USE int rgm_spawn_in_context(
    struct rgm_actor *self, struct rgm_context *context, uint32_t worker,
    const struct rgm_behaviour *behaviour, const void *argument,
    rgm_answer_function *answer, struct rgm_address *ret_address);

/* The context's whole name, or "" before it was derived. Thread: any. */
RGM_API const char *rgm_context_name(const struct rgm_context *context);

/* The calling actor's whole name; "" when it was not spawned in a context. Good
 * as long as the runtime is. */
#define rgm_own_name(self) rgm_own_name_actor(&(self)->actor)
RGM_API const char *rgm_own_name_actor(struct rgm_actor *self);

/* What the calling actor may ask of its worker: bit k is the kind k of enum
 * rgm_operation_kind (provider.h). A guest: 0. */
#define rgm_own_kinds(self) rgm_own_kinds_actor(&(self)->actor)
RGM_API uint64_t rgm_own_kinds_actor(const struct rgm_actor *self);

/*
 * As rgm_runtime_run, and how the root ended.
 *
 * Owns:    on 0 the caller has the end's parcel, and drops it.
 * Returns: as rgm_runtime_run; -ENOMEM. *ret_end is written when it is 0.
 */
RGM_API RGM_MUST_USE int
rgm_runtime_run_to_end(struct rgm_runtime *runtime,
                       const struct rgm_behaviour *root, const void *argument,
                       struct rgm_end *ret_end);

/*
 * A whole program: a runtime with all defaults is made, runs the root, and is
 * destroyed.
 *
 * Thread:  any but a worker's.
 * Owns:    on 0 the caller has the end's parcel, and drops it.
 * Returns: as rgm_runtime_create, rgm_runtime_run_to_end.
 */
RGM_API RGM_MUST_USE int rgm_run(const struct rgm_behaviour *root,
                                 const void *argument, struct rgm_end *ret_end);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_CONTEXT_H */
