/* SPDX-License-Identifier: MIT */
/*
 * abroad.pml - does an operation get to another runtime and home, whoever stops?
 *
 * J and K are workers of the asker's runtime, T one of another. J asks for a handle of T's; by way of K, which
 * has T's number, or (no such number) by itself. The operation ends when it likes. J may cancel it at any
 * moment, T's runtime may stop at any moment, and J's does as soon as it can.
 *
 * The protocol modelled, of actors/abroad.c and actors/cancel.c:
 *   - T is in a table of the process. Who looks there is counted before he looks, and until he has pushed
 *   - T, about to close, hides itself in the table, then waits until nobody is counted; so no push meets it
 *     closing, and what was pushed is caught at the latest by its closing exchange
 *   - `holder` says ABROAD from before the record is pushed to T until T sends it home, where it says HOME
 *     before it is pushed; so T, which alone ends that, may write to it whenever it reads ABROAD
 *   - a cancel's node goes to whom `holder` names; ABROAD: to T, if that is found; if not, home
 *   - record and node count as out at J, which answers when both are home, and closes after that
 *   - whoever pushes to J from outside is counted at its runtime, which is freed when nobody is
 *
 * Checked: nothing is pushed to a worker that closes or is freed; only its owner writes to the record; J has
 * its answer once and its node back; both end.
 *
 * Mutants, one -D each; all must fail:
 *   MUT_NO_WAIT       T does not wait for who has found it
 *   MUT_HIDE_LATE     T waits first, and hides then
 *   MUT_COUNT_LATE    who looks is counted when he has found it
 *   MUT_BLIND         T does not look at `holder` before it marks
 *   MUT_ABROAD_LATE   the record is pushed to T before `holder` says so
 *   MUT_HOME_LATE     and home before it says HOME
 *   MUT_EARLY         J answers though its node is out
 *   MUT_NO_OUTSIDE    J's runtime is freed under who has pushed to it
 *   MUT_NODE_DROPPED  a node that does not find T is dropped
 *   MUT_CAUGHT        what the close has caught is dropped
 */
mtype = { RECORD, NODE };
mtype = { OPEN, CLOSED };
mtype = { FOUND, HIDDEN };

#define AT_J   0
#define AT_K   1
#define ABROAD 2
#define HOME   3

chan in_k  = [1] of { mtype };
chan node_k = [1] of { mtype };
chan in_t  = [1] of { mtype };
chan node_t = [1] of { mtype };
chan in_j  = [1] of { mtype };
chan node_j = [1] of { mtype };

mtype entry = FOUND, word_t = OPEN;
byte  visitors, outside;
byte  holder = AT_J;
byte  owner = AT_J;                     /* who may really write to the record */
bool  marked, begun;
bool  draining;
bool  freed_t, freed_j;
bool  chased, awaiting, asked;          /* J's view */
byte  answers, out;

/* Who has found T pushes to it. */
inline push_t(where, what)
{
        atomic { assert(!freed_t && word_t == OPEN); where!what }
}

inline count()
{
        visitors++
}

inline uncount()
{
        visitors--
}

/* seen: whether T was found; then the caller pushes, and uncounts. */
inline look(seen)
{
#ifndef MUT_COUNT_LATE
        count();
#endif
        atomic { seen = (entry == FOUND); assert(!seen || !freed_t) }
#ifdef MUT_COUNT_LATE
        ;
        count()
#endif
}

/* The record is the caller's, and for T. */
inline leave(seen)
{
        look(seen);
        if
        :: seen ->
#ifdef MUT_ABROAD_LATE
                owner = ABROAD;
                push_t(in_t, RECORD);
                holder = ABROAD;
#else
                atomic { owner = ABROAD; holder = ABROAD };
                push_t(in_t, RECORD);
#endif
                uncount()
        :: !seen ->
                uncount();
                atomic { owner = HOME; holder = HOME };
                in_j!RECORD
        fi
}

inline chase(seen)
{
        look(seen);
        if
        :: seen -> push_t(node_t, NODE); uncount()
        :: !seen -> uncount();
#ifndef MUT_NODE_DROPPED
                node_j!NODE
#endif
        fi
}

inline arrive()
{
        if
#ifdef MUT_EARLY
        :: answers++
#else
        :: chased -> awaiting = true
        :: !chased -> answers++
#endif
        fi
}

active proctype J()
{
        byte h;
        bool seen, cancels;

        if
        :: atomic { asked = true; out++; owner = AT_K; holder = AT_K; in_k!RECORD }
        :: atomic { asked = true; out++ }; leave(seen)
        fi;
        do
        :: atomic { in_j?RECORD -> out--; arrive() }
        :: atomic { node_j?NODE -> out--; chased = false;
                if :: awaiting -> awaiting = false; answers++ :: !awaiting fi }
        :: !cancels && answers == 0 && !awaiting ->
                cancels = true;
                h = holder;
                if
                :: h == HOME
                :: h == AT_K -> atomic { chased = true; out++; node_k!NODE }
                :: h == ABROAD -> atomic { chased = true; out++ }; chase(seen)
                fi
#ifdef MUT_EARLY
        :: answers > 0 -> break
#else
        :: answers > 0 && out == 0 -> break
#endif
        od;
        holder = AT_J;                  /* the record is asked again */
        /* Its runtime is freed. */
#ifndef MUT_NO_OUTSIDE
        atomic { outside == 0 -> freed_j = true }
#else
        freed_j = true
#endif
}

active proctype K()
{
        byte h;
        bool seen;

end_idle:
        do
        :: in_k?RECORD ->
                if
                :: atomic { marked -> assert(owner == AT_K); owner = HOME; holder = HOME; in_j!RECORD }
                :: !marked -> leave(seen)
                fi
        :: node_k?NODE ->
                h = holder;
                if
                :: h == AT_K -> atomic { assert(owner == AT_K); marked = true }; node_j!NODE
                :: h == HOME -> node_j!NODE
                :: h == ABROAD -> chase(seen)
                fi
        od
}

/* From outside: counted while it pushes and rings. */
inline push_j(where, what)
{
        atomic { assert(!freed_j); outside++ };
        where!what;
        atomic { assert(!freed_j); outside-- }
}

inline returns()
{
#ifdef MUT_HOME_LATE
        owner = HOME;
        push_j(in_j, RECORD);
        holder = HOME
#else
        atomic { begun = false; owner = HOME; holder = HOME };
        push_j(in_j, RECORD)
#endif
}

inline visited()
{
        if
#ifdef MUT_BLIND
        :: atomic { true -> assert(owner == ABROAD); marked = true }
#else
        :: atomic { holder == ABROAD -> assert(owner == ABROAD); marked = true }
#endif
        :: holder == HOME
        fi;
        push_j(node_j, NODE)
}

active proctype T()
{
end_idle:
        do
        :: in_t?RECORD ->
                if
                :: marked || draining -> returns()
                :: !marked && !draining -> begun = true
                fi
        :: node_t?NODE -> visited()
        :: begun -> begun = false; returns()    /* it ends, told to or not */
        :: !draining -> draining = true
        :: draining && !begun -> break
        od;
#ifdef MUT_HIDE_LATE
        visitors == 0;
        entry = HIDDEN;
#else
        entry = HIDDEN;
#ifndef MUT_NO_WAIT
        visitors == 0;
#endif
#endif
        word_t = CLOSED;
        /* What the closing exchange has caught. */
        do
        :: in_t?RECORD ->
#ifndef MUT_CAUGHT
                returns()
#else
                skip
#endif
        :: node_t?NODE -> visited()
        :: empty(in_t) && empty(node_t) -> break
        od;
        freed_t = true
}

active proctype Check()
{
        timeout ->
        d_step {
                assert(answers == 1 && !chased && !awaiting && out == 0);
                assert(holder == AT_J);
                assert(freed_j && freed_t);
                assert(visitors == 0 && outside == 0 && empty(in_j) && empty(node_j))
        }
}
