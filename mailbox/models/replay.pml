/* SPDX-License-Identifier: MIT */

/*
 * replay.pml - does a cancel by identity find what it names, whichever queue it
 * and the submit went through?
 *
 * Operations are named by identity, submitted through one queue of a worker and
 * cancelled through the same or the other one.
 *
 * A worker has two queues: a local FIFO and an inbox. The inbox is a list that senders publish to and a
 * private remainder that the owner has taken and not served yet; its order is remainder first, then what is
 * published. In a turn both queues are served, the first of them alternating, with one bound for both.
 *
 * An identity is a slot and a generation. Operations 0 and 1 have the same slot, one after the other;
 * operation 2 has a slot of its own. A cancel is asked only when its submit has been published; which of the
 * two queues either goes through is open, and so is whether, and when, an operation completes by itself.
 *
 * A cancel whose identity is not in the table is replayed once, at the tail of the opposite FIFO. At its second
 * miss it is returned. What is claimed: at that moment the operation has completed.
 *
 * Submit and cancel are commands of one class, applied in queue order. M_SUBMIT_IS_MAIL is the other reading
 * of the design, in which a submit is user mail (it joins the ready list) and a cancel is control.
 *
 * The library applies what the worker's own actors ask for at once (OWN), without
 * a queue: actors/commands.c. It counts as local all the same, so a cancel of
 * theirs that finds nothing goes behind what the inbox has. With OWN only replays
 * are in the local FIFO; a submit in it and a cancel applied at once would miss
 * each other for good, so it is all of a side or nothing.
 *
 * Switches:  OWN   the local side is applied at once
 *            BOUND commands a turn
 *            REUSE operations 0 and 1 in one slot, up to two cancels for 0 and one for 1
 *            TWO   operations 0 and 2 in two slots, up to one cancel each
 *            FLOOD both queues are filled without end (such a run never ends, so it is no test of ending)
 * Mutants:   every M_... below; each must fail.
 */

#ifndef BOUND
#define BOUND 2
#endif

#define OPS  3
#define ROOM 8                               /* more than all that is ever under way: a push never waits */
#define slot_of(op) ((op) / 2)               /* 0 and 1 share slot 0, in this order */
#define FREE    255

mtype = { SUBMIT, CANCEL, NOTHING };
mtype = { LOCAL, INBOX };

/* command, operation, how often it has been replayed */
chan local_fifo = [ROOM] of { mtype, byte, byte };
chan published  = [ROOM] of { mtype, byte, byte };
chan remainder  = [ROOM] of { mtype, byte, byte };
chan ready      = [OPS] of { byte };         /* M_SUBMIT_IS_MAIL */

byte table[2] = FREE;                        /* which operation, generation included, a slot holds */
bit  submitted[OPS], cancel_seen[OPS], done[OPS];
bit  endless[OPS];                           /* will not complete unless it is cancelled */
bit  asked[OPS];                             /* ghost: some cancel has been published */
byte cancels_out;

/* Scratch of one atomic step. */
hidden mtype kind, kind2;
hidden byte  op, op2, replays, replays2, count;

inline take_published()
{
	do
	:: published?kind2, op2, replays2 -> remainder!kind2, op2, replays2
	:: empty(published) -> break
	od
}

inline push_head(queue)
{
	count = len(queue);
	queue!CANCEL, op, 1;
	do
	:: count > 0 -> queue?kind2, op2, replays2; queue!kind2, op2, replays2; count--
	:: else -> break
	od
}

inline replay(from)
{
#ifndef M_UNBOUNDED
	assert(replays == 0);                    /* once */
#endif
	if
#if defined(M_SAME_HEAD)
	:: from == LOCAL -> push_head(local_fifo)
	:: from == INBOX -> push_head(remainder)
#elif defined(M_SAME_TAIL)
	:: from == LOCAL -> local_fifo!CANCEL, op, 1
	:: from == INBOX -> take_published(); remainder!CANCEL, op, 1
#elif defined(M_NO_TAKE)
	:: from == LOCAL -> remainder!CANCEL, op, 1
	:: from == INBOX -> local_fifo!CANCEL, op, 1
#else
	:: from == LOCAL -> take_published(); remainder!CANCEL, op, 1
	:: from == INBOX -> local_fifo!CANCEL, op, 1
#endif
	fi
}

inline start(which)
{
	assert(table[slot_of(which)] == FREE && !done[which]);
	table[slot_of(which)] = which
}

inline apply(from)
{
	if
	:: kind == NOTHING
	:: kind == SUBMIT ->
#ifdef M_SUBMIT_IS_MAIL
		ready!op
#else
		start(op)
#endif
	:: kind == CANCEL ->
		if
#ifdef M_IGNORE_GENERATION
		:: table[slot_of(op)] != FREE ->
#else
		:: table[slot_of(op)] == op ->
#endif
			assert(table[slot_of(op)] == op);
			cancel_seen[op] = 1;
			cancels_out--
		:: else ->
			if
#if defined(M_NO_REPLAY)
#elif defined(M_UNBOUNDED)
			:: replay(from)
#else
			:: replays == 0 -> replay(from)
#endif
#ifndef M_UNBOUNDED
			:: else ->               /* missed for good: returned, nothing is remembered */
				assert(done[op]);
#ifdef M_TOMBSTONE
				if
				:: table[slot_of(op)] == FREE -> table[slot_of(op)] = op
				:: else
				fi;
#endif
				cancels_out--
#endif
			fi
		fi
	fi
}

active proctype worker()
{
	mtype first = INBOX, side;
	byte  budget, sides;
	bit   taken, local_waits, inbox_waits, local_served, inbox_served;
	byte  local_missed, inbox_missed;        /* turns in a row in which a waiting queue was not served */
end:
	do
	:: atomic { nempty(local_fifo) || nempty(published) || nempty(remainder) || nempty(ready) ->
#ifndef M_NO_ALTERNATION
		first = (first == LOCAL -> INBOX : LOCAL);
#endif
		side = first; sides = 2; budget = BOUND;
		local_waits = nempty(local_fifo); inbox_waits = nempty(published) || nempty(remainder);
		local_served = 0; inbox_served = 0 }
		do
		:: atomic { sides > 0 && side == INBOX && !taken -> take_published(); taken = 1 }
		:: atomic { sides > 0 && budget > 0 &&
			((side == INBOX && taken && nempty(remainder)) || (side == LOCAL && nempty(local_fifo))) ->
			if
			:: side == INBOX -> remainder?kind, op, replays; inbox_served = 1
			:: side == LOCAL -> local_fifo?kind, op, replays; local_served = 1
			fi;
			budget--;
			apply(side) }
		:: atomic { sides > 0 && side == INBOX && taken && (budget == 0 || empty(remainder)) ->
			side = LOCAL; sides-- }
		:: atomic { sides > 0 && side == LOCAL && (budget == 0 || empty(local_fifo)) ->
			side = INBOX; sides-- }
		:: atomic { sides == 0 -> taken = 0; break }
		od;
		atomic {
			local_missed = (local_waits && !local_served -> local_missed + 1 : 0);
			inbox_missed = (inbox_waits && !inbox_served -> inbox_missed + 1 : 0);
			assert(local_missed <= 1 && inbox_missed <= 1);
			side = first; budget = 0;
			local_waits = 0; inbox_waits = 0; local_served = 0; inbox_served = 0;
#ifdef M_SUBMIT_IS_MAIL
			do                       /* the ready list runs after both queues were served */
			:: ready?op -> start(op)
			:: empty(ready) -> break
			od
#endif
		}
	od
}

/* The kernel: an operation may complete at any moment. */
active proctype completer()
{
	byte slot;
end:
	do
	:: atomic { table[0] != FREE && (!endless[table[0]] || cancel_seen[table[0]]) ->
		done[table[0]] = 1; table[0] = FREE }
	:: atomic { table[1] != FREE && (!endless[table[1]] || cancel_seen[table[1]]) ->
		done[table[1]] = 1; table[1] = FREE }
	od
}

proctype submitter(byte which)
{
#ifdef M_UNFLUSHED
	atomic { true -> submitted[which] = 1 }; /* known to others while it is still in an outbox */
#endif
end:	atomic { which != 1 || done[0] ->        /* the slot is free again; a new generation */
		if
#ifdef OWN
		:: start(which)
#else
		:: local_fifo!SUBMIT, which, 0
#endif
		:: published!SUBMIT, which, 0
		fi;
		submitted[which] = 1 }
}

proctype canceller(byte which)
{
end:	atomic { submitted[which] ->
		cancels_out++; asked[which] = 1;
		if
#ifdef OWN
		:: kind = CANCEL; op = which; replays = 0; apply(LOCAL)
#else
		:: local_fifo!CANCEL, which, 0
#endif
		:: published!CANCEL, which, 0
		fi }
}

proctype other_work()
{
#ifdef FLOOD
end:
	do
	:: atomic { len(local_fifo) < 3 -> local_fifo!NOTHING, 0, 0 }
	:: atomic { len(published) + len(remainder) < 3 -> published!NOTHING, 0, 0 }
	od
#else
	atomic { true -> if :: local_fifo!NOTHING, 0, 0 :: published!NOTHING, 0, 0 fi }
#endif
}

#define settled(x)   (done[x] || (endless[x] && !asked[x]) || !submitted[x])

/* Nothing can move any more. */
active proctype watch()
{
	timeout;
	assert(empty(local_fifo) && empty(published) && empty(remainder) && empty(ready));
	assert(cancels_out == 0);
	assert(settled(0) && settled(1) && settled(2));
	assert(submitted[0]);
#ifdef REUSE
	assert(submitted[1] == done[0]);
#endif
	/* no tombstone: a slot is taken exactly if a submitted operation has not completed */
	assert((table[0] == FREE) == !((submitted[0] && !done[0]) || (submitted[1] && !done[1])));
	assert((table[1] == FREE) == !(submitted[2] && !done[2]))
}

init
{
	atomic {
		if :: endless[0] = 1 :: true fi;
#ifdef REUSE
		if :: endless[1] = 1 :: true fi;
#endif
#ifdef TWO
		if :: endless[2] = 1 :: true fi;
#endif
		run other_work();
		run submitter(0);
		if :: run canceller(0) :: true fi;
#if defined(REUSE)
		run submitter(1);
		if :: run canceller(0) :: true fi;
		if :: run canceller(1) :: true fi;
#endif
#ifdef TWO
		run submitter(2);
		if :: run canceller(2) :: true fi
#endif
	}
}
