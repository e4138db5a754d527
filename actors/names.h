/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_NAMES_H
#define RGI_ACTORS_NAMES_H

/*
 * names.h - the names that actors of a runtime live under.
 *
 * A list that only grows until the runtime is freed, so that whoever has a name
 * may keep it; and how many live under it.
 */

#include <ringmail/context.h>

struct rgi_name {
    struct rgi_name *next; /* name-list */
    uint64_t running;      /* name-counts */
    uint64_t spawned;
    char text[RGM_CONTEXT_NAME_MAX + 1];
};

/* The newest name of a runtime; the others by `next`. Thread: any. */
const struct rgi_name *rgi_names_first(struct rgm_runtime *runtime);
void rgi_names_free(struct rgm_runtime *runtime);
/* One that lived under it does no more, and its parent will not hear of it. */
void rgi_name_unheard(struct rgi_name *named);

#endif /* RGI_ACTORS_NAMES_H */
