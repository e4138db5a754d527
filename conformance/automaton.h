/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_AUTOMATON_H
#define CONFORMANCE_AUTOMATON_H

/*
 * automaton.h - how does a script carry streams out by itself?
 *
 *     worker --submit--> script <--find, decide-- automaton --> sockets
 *
 * With the scripted provider the test decides how everything ends. A case that
 * knows nothing of scripts needs somebody who decides for it: a thread that
 * looks through what waits, oldest first, and tries each at real sockets. What
 * cannot be done yet waits for the next look; one that was cancelled ends, when
 * it has come to its turn, with what it has achieved. Nothing but streams.
 */

#include <ringmail/scripted.h>

struct automaton;

/* Thread of all: the test's. */
struct automaton *automaton_start(struct rgm_script *script);

/* Closes what its workers have left open: they have ended. NULL: nothing. */
void automaton_close_all(struct automaton *automaton);

void automaton_stop(struct automaton *automaton);

#endif /* CONFORMANCE_AUTOMATON_H */
