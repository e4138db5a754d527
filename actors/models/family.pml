/* SPDX-License-Identifier: MIT */
/*
 * family.pml - does what was asked on behalf of a request end with it?
 *
 * Three workers: 0 asks the parent of 1, whose actor keeps it and asks the child
 * of 2 for it.  The parent ends by an answer, by a cancel of its asker, or by a
 * stop of its keeper; the child by an answer, or only when it is cancelled.  The
 * keeper may ask the child again, from its answer.  Code: actors/family.c; how a
 * cancel finds its request is in cancel.pml and is one message here.
 *
 * Mutants:   MUT_..., see the README beside this file.  The W_ switch claims that
 *            a child is never answered while its cancel is out, and must fail.
 */

mtype = { PARENT, CHILD, CANCEL, NODE, REPLY };

chan to_keeper = [4] of { mtype };  /* from 0 and 2; order does not matter here */
chan to_far    = [4] of { mtype };
chan to_asker  = [4] of { mtype };

bit parent_out, parent_kept, linked, ends_planned;
bit child_out, node_out, far_has, far_lazy;
byte asks, answers;
bit parent_home;

inline child_ask()
{
    asks++;
    child_out = 1;
    linked = 1;
    to_far!CHILD
}

/* Whatever ends the parent's stay. */
inline parent_ends()
{
    parent_kept = 0;
#ifndef MUT_NOT_CANCELLED
    if
    :: linked ->
        assert(child_out);          /* what is linked is out */
        linked = 0;
        if
        :: !node_out -> node_out = 1; to_far!CANCEL
        :: else
        fi
    :: else
    fi;
#endif
    to_asker!REPLY
}

inline child_deliver()
{
    if
    :: !child_out && !node_out && answers < asks ->
        answers++;
        assert(answers == asks);
#ifndef MUT_STAYS_LINKED
        linked = 0;
#endif
        if
        :: parent_kept && asks < 2 -> child_ask()
        :: parent_kept -> parent_ends()
        :: else
        fi
    :: else
    fi
}

active proctype asker()
{
    bit planned;

end:
    do
    :: atomic { !parent_out && !parent_home -> parent_out = 1; planned = 1;
        to_keeper!PARENT }
    :: atomic { planned -> planned = 0; if :: to_keeper!CANCEL :: true fi }
    :: atomic { to_asker?REPLY -> assert(parent_out); parent_out = 0;
        parent_home = 1 }
    od
}

active proctype keeper()
{
end:
    do
    :: atomic { to_keeper?PARENT -> parent_kept = 1; ends_planned = 1; child_ask() }
    :: atomic { to_keeper?CANCEL ->
        if
        :: parent_kept -> parent_ends()
        :: else                     /* it is over; the node goes home */
        fi }
    :: atomic { parent_kept && ends_planned -> ends_planned = 0; parent_ends() }
    :: atomic { to_keeper?REPLY -> child_out = 0;
#ifdef W_BOTH
        assert(!node_out);
#endif
        child_deliver() }
    :: atomic { to_keeper?NODE -> node_out = 0; child_deliver() }
    od
}

active proctype far()
{
end:
    do
    :: atomic { to_far?CHILD -> far_has = 1; if :: far_lazy = 0 :: far_lazy = 1 fi }
    :: atomic { to_far?CANCEL ->
        if
        :: far_has -> far_has = 0; to_keeper!REPLY
        :: else
        fi;
        to_keeper!NODE }
    :: atomic { far_has && !far_lazy -> far_has = 0; to_keeper!REPLY }
    od
}

/* Nothing can move: all is home. */
active proctype watch()
{
    timeout;
    assert(parent_home && !parent_kept);
    assert(!child_out && !node_out && !linked && answers == asks)
}
