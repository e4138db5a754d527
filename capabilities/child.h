/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_CHILD_H
#define CAPABILITIES_CHILD_H

/* child.h - how does a wait for a child become waitid(2), and its answer? */

#include <sys/wait.h>

#include <ringmail/child.h>

#define rgi_child_of(operation) ((struct rgm_child_wait *)(void *)(operation))

idtype_t rgi_child_idtype(const struct rgm_child_wait *wait);

/* The options of waitid, without WNOHANG. */
int rgi_child_options(const struct rgm_child_wait *wait);

/* Fills the record from wait->info. Returns: whether there was a change. */
bool rgi_child_fill(struct rgm_child_wait *wait);

/* One look. Returns: 0; -EAGAIN when nothing has changed; -ECHILD, ... */
RGM_MUST_USE int rgi_child_look(struct rgm_child_wait *wait);

#endif /* CAPABILITIES_CHILD_H */
