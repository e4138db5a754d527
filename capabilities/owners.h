/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_OWNERS_H
#define CAPABILITIES_OWNERS_H

/*
 * owners.h - is the memory an operation holds still where it was?
 *
 * What a provider was given to read into or to write from stays where it is, and
 * as long as it is, until the operation ends: the kernel was told an address,
 * not a name. A buffer that grows by moving, or an array of vectors that is used
 * for something else, breaks that without a trace. So builds with slow assertions
 * note where everything is, and look again at the end.
 *
 * Thread of both: the owner of the worker that carries the operation out.
 */

#include <stdbool.h>

#include <ringmail/provider.h>

/* Notes it. Called when the operation is admitted. */
void rgi_owners_note(struct rgm_operation *operation);

/* Whether it is what was noted. Called before it is completed. */
bool rgi_owners_hold(const struct rgm_operation *operation);

#endif /* CAPABILITIES_OWNERS_H */
