/* SPDX-License-Identifier: MIT */
/*
 * watch.pml - is a monitor answered once, truly, and behind the dead's mail?
 *
 * A watches an actor on B. The actor is spawned by C, and A may have learned of
 * the address before the spawn has arrived; with SPAWN_FIRST A spawns it and
 * watches it on the same road. The actor sends mail to A and ends at any time;
 * A may cancel its monitor at any time, and the node goes after the record as
 * cancel.c says: to the worker that `holder` names. B may close when its actor
 * has ended, and refuses what comes later.
 *
 * Each pair of workers has a FIFO for mail and another for what is urgent, and
 * a receiver may look at either first, which contains all orders of batches.
 *
 * Checked: A is answered exactly once; an end is told only when the actor has
 * ended, with all its mail before it; "gone" only of one that is not there; the
 * record is nobody's but A's when the answer is delivered; nobody waits for
 * ever.
 *
 * Mutants, one -D each, are explained in the README beside this file.
 */
#ifndef MAILS
#define MAILS 2
#endif

mtype = { WATCH, SPAWN, MAIL, DOWN, CANCEL, NODE };
mtype = { END, GONE, CANCELED };         /* what is told */
mtype = { LENT, LIVE, DEAD };            /* the slot */
mtype = { NOWHERE, ROAD, TABLE, HOME };  /* the record */

chan ab = [3] of { mtype };              /* mail   A -> B: WATCH, SPAWN */
chan cb = [1] of { mtype };              /* mail   C -> B: SPAWN */
chan xab = [1] of { mtype };             /* urgent A -> B: CANCEL */
chan ba = [4] of { mtype, mtype };       /* mail   B -> A: MAIL, DOWN */
chan xba = [2] of { mtype, mtype };      /* urgent B -> A: NODE */

mtype slot = LENT, at = NOWHERE;
bool closed, cancelled, node_out, record_home, answered;
bool holder_is_b;                        /* else HOME, once it was asked */
byte sent, seen, answers;
mtype told;

inline tell(what)
{
    assert(at != HOME && !answered);
    at = HOME;
    holder_is_b = false;
#ifdef MUT_URGENT
    xba!DOWN, what
#else
    ba!DOWN, what
#endif
}

inline answer()
{
    assert(!answered);
    answered = true;
    answers++
}

inline down_home(what)
{
    told = what;
    record_home = true;
    if
    :: told == END -> assert(slot == DEAD && seen == sent)
    :: told == GONE -> assert(slot == DEAD)
    :: else -> assert(cancelled)
    fi;
    if
#ifndef MUT_NODE_FORGOTTEN
    :: node_out -> skip                  /* it is still after the record */
#endif
    :: else -> answer()
    fi
}

inline watch_arrived()
{
    if
    :: cancelled -> tell(CANCELED)
    :: !cancelled && slot == DEAD ->
#ifdef MUT_DEAD_WAITS
        at = TABLE
#else
        tell(GONE)
#endif
    :: !cancelled && slot == LENT ->
#ifdef MUT_LENT_GONE
        tell(GONE)
#else
        at = TABLE
#endif
    :: !cancelled && slot == LIVE -> at = TABLE
    fi
}

inline cancel_arrived()
{
    assert(!answered);                   /* the record may be looked at */
    if
    :: holder_is_b ->
        cancelled = true;
        if
        :: at == TABLE ->
            tell(CANCELED)
#ifdef MUT_STAYS_LISTED
            ; at = TABLE
#endif
        :: else -> skip                  /* on its way: the mark is read */
        fi
    :: else -> skip
    fi;
    xba!NODE, CANCELED
}

active proctype B()
{
end:
    do
    :: atomic { ab?WATCH -> watch_arrived() }
    :: atomic { ab?SPAWN -> slot = LIVE }
    :: atomic { cb?SPAWN -> slot = LIVE }
    :: atomic { xab?CANCEL -> cancel_arrived() }
    :: atomic { slot == LIVE && sent < MAILS -> sent++; ba!MAIL, END }
    :: atomic { slot == LIVE ->
        slot = DEAD;
        if
#ifndef MUT_DEATH_SILENT
        :: at == TABLE -> tell(END)
#endif
        :: else -> skip
        fi }
    :: atomic { slot == DEAD && !closed && empty(ab) && empty(xab) &&
        at != TABLE -> closed = true }
    od
}

active proctype C()
{
#ifndef SPAWN_FIRST
    cb!SPAWN
#endif
    skip
}

active proctype A()
{
    mtype what;
    bool asked, tried;

#ifdef SPAWN_FIRST
    ab!SPAWN;
#endif
    if
    :: tried = true                      /* it never changes its mind */
    :: skip
    fi;
    do
    :: atomic { !asked ->
        asked = true;
        at = ROAD;
        if
        :: closed -> at = HOME; down_home(GONE)
        :: else -> holder_is_b = true; ab!WATCH
        fi }
    :: atomic { asked && !tried && !answered ->
        tried = true;
        if
        :: !holder_is_b -> skip          /* on its way home: that wins */
        :: holder_is_b && closed -> skip
        :: holder_is_b && !closed -> node_out = true; xab!CANCEL
        fi }
    :: atomic { ba?MAIL, what -> seen++ }
    :: atomic { ba?DOWN, what -> down_home(what) }
#ifdef MUT_URGENT
    :: atomic { xba?DOWN, what -> down_home(what) }
#endif
    :: atomic { xba?NODE, what ->
        node_out = false;
        if
#ifndef MUT_NODE_FORGOTTEN
        :: record_home -> answer()
#endif
        :: else -> skip
        fi }
    :: atomic { answered && !node_out && slot == DEAD && empty(ba) -> break }
    od;
    assert(answers == 1)
}
