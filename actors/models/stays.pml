/* SPDX-License-Identifier: MIT */
/*
 * stays.pml - does the answer of an operation find an asker that has moved meanwhile?
 *
 * X, on W1, has an operation out: at W1's own provider, or at A, another worker. W1 retires, X moves to W2
 * without it, and from there, since W2 retires, too, on to W3. At any moment the operation ends, and X, where
 * it is then, cancels it.
 *
 * The protocol modelled, beside that of move.pml:
 *   - the record's home is W1, whatever becomes of X: it is credited there, and W1 does not close before
 *   - once home it goes on to X as mail does: down the road X took, behind its state, relayed by who X has
 *     left, and by the table where that one has closed; its `holder` says HOME all the while
 *   - a cancel begins where X is; its node goes to whom `holder` names, and home to there
 *   - X does not move while such a node is out; its answer is delivered when record and node are with it
 *
 * Checked: X gets its answer once, where it is; nothing is told to stop that has ended; no node comes home to
 * a worker that X has left; both workers close.
 *
 * Mutants, one -D each; all must fail:
 *   MUT_CLOSE_OUT   W1 closes while the operation is out
 *   MUT_URGENT      the answer goes on as answers go home: before mail, so before X's state
 *   MUT_NAMED       on its way on, `holder` names the worker it goes to
 *   MUT_CHASED      X moves while a node is out
 *   MUT_NO_FOLLOW   an answer that meets W2 closed is dropped
 *   MUT_EARLY       an answer is delivered though its node is out
 *   MUT_TO_HOME     a node goes home to where the operation was asked
 */
mtype = { STATE, ANSWER };
mtype = { OPEN, CLOSED };

#define W_A 4
#define HOME 9

chan in2 = [2] of { mtype };            /* mail, in push order */
chan in3 = [3] of { mtype };
#ifdef MUT_URGENT
chan urgent2 = [1] of { mtype };        /* may be taken before mail */
#endif
chan home1 = [1] of { mtype };          /* the record, from A */
chan node1 = [1] of { byte };           /* a node, and its home */
chan node4 = [1] of { byte };
chan back1 = [1] of { mtype };          /* a node at home */
chan back2 = [1] of { mtype };
chan back3 = [1] of { mtype };
chan out12 = [2] of { mtype };
chan out13 = [2] of { mtype };
chan out23 = [2] of { mtype };

mtype word1 = OPEN, word2 = OPEN;
byte  at = 1;                           /* where X is; 0: on its way */
byte  left_to1, left_to2;               /* where X went from there */
byte  holder;
bool  running = true;                   /* the operation has not ended */
bool  told;                             /* it was, to stop */
bool  cancelled, chased, awaiting;      /* X's view */
byte  answers;
byte  out1 = 1, out2;                   /* of W1 and W2, not home */

/* The record is with X. */
inline arrive(me)
{
        assert(at == me);
        if
#ifndef MUT_EARLY
        :: chased -> awaiting = true
        :: !chased -> answers++
#else
        :: answers++; assert(!chased)
#endif
        fi
}

inline node_home(me)
{
        assert(at == me && chased);
        chased = false;
        if :: awaiting -> awaiting = false; answers++ :: !awaiting fi
}

inline tell(me)
{
        assert(running);                /* what has ended is told nothing */
        told = true
}

/* X asks for its end. */
inline cancel(me, back)
{
        cancelled = true;
        if
        :: holder == HOME
        :: holder == me -> tell(me)
        :: holder != me && holder == 1 -> chased = true; back++; node1!me
        :: holder != me && holder != 1 && holder != HOME -> chased = true; back++; node4!me
        fi
}

inline send_node_home(to)
{
        if
#ifdef MUT_TO_HOME
        :: back1!ANSWER
#else
        :: to == 1 -> back1!ANSWER
        :: to == 2 -> back2!ANSWER
        :: to == 3 -> back3!ANSWER
#endif
        fi
}

inline goes_on()
{
#ifdef MUT_NAMED
        holder = left_to1;
#else
        holder = HOME;
#endif
        if
        :: left_to1 == 2 -> out12!ANSWER
        :: left_to1 == 3 -> out13!ANSWER
        fi
}

#ifdef MUT_CHASED
#define MAY_LEAVE true
#else
#define MAY_LEAVE (!chased && !awaiting)
#endif
#ifdef MUT_CLOSE_OUT
#define QUIET1 true
#else
#define QUIET1 (out1 == 0)
#endif

active proctype W1()
{
        byte q;
        atomic { if :: holder = 1 :: holder = W_A fi }
end_idle:
        do
        /* its own provider */
        :: atomic { running && holder == 1 -> assert(word1 == OPEN); running = false; out1--;
                if
                :: at == 1 -> holder = HOME; arrive(1)
                :: at != 1 -> goes_on()
                fi }
        :: atomic { home1?ANSWER -> assert(word1 == OPEN); out1--;
                if
                :: at == 1 -> arrive(1)
                :: at != 1 -> goes_on()
                fi }
        :: atomic { back1?ANSWER -> out1--; node_home(1) }
        :: atomic { node1?q ->                  /* or W1 has closed, and who sent it reads this */
                if
                :: holder == 1 -> tell(1)
                :: else -> assert(holder == HOME)
                fi;
                send_node_home(q); q = 0 }
        /* X */
        :: atomic { at == 1 && !cancelled && answers == 0 -> cancel(1, out1) }
        :: atomic { at == 1 && left_to1 == 0 && MAY_LEAVE ->
                at = 0; out1++;
                if
                :: left_to1 = 2; out12!STATE
                :: left_to1 = 3; out13!STATE
                fi }
        /* outboxes */
        :: atomic { word2 == OPEN && out12?[STATE] -> out12?STATE; in2!STATE }
        :: atomic { word2 == OPEN && out12?[ANSWER] -> out12?ANSWER;
#ifdef MUT_URGENT
                urgent2!ANSWER
#else
                in2!ANSWER
#endif
                }
        :: atomic { word2 == CLOSED && out12?[ANSWER] -> out12?ANSWER;
#ifndef MUT_NO_FOLLOW
                assert(left_to2 == 3); out13!ANSWER
#endif
                }
        :: atomic { out13?STATE -> in3!STATE }
        :: atomic { out13?ANSWER -> in3!ANSWER }
        /* the end */
        :: atomic { word1 == OPEN && left_to1 != 0 && QUIET1 && empty(out12) && empty(out13) ->
                word1 = CLOSED }
        od
}

/* What has come for the number that X has, or had, on W2. */
inline mail2()
{
        if
        :: at == 2 -> arrive(2)
        :: at != 2 && left_to2 == 3 -> out23!ANSWER
        :: at != 2 && left_to2 == 0 -> assert(at == 2)  /* before X itself */
        fi
}

active proctype W2()
{
        byte q;
end_idle:
        do
        :: atomic { in2?STATE -> at = 2; out1-- }
        :: atomic { in2?ANSWER -> mail2() }
#ifdef MUT_URGENT
        :: atomic { urgent2?ANSWER -> mail2() }
#endif
        :: atomic { back2?ANSWER -> out2--; node_home(2) }
        :: atomic { at == 2 && !cancelled && answers == 0 -> cancel(2, out2) }
        :: atomic { at == 2 && left_to2 == 0 && MAY_LEAVE ->
                at = 0; left_to2 = 3; out2++; out23!STATE }
        :: atomic { out23?STATE -> in3!STATE }
        :: atomic { out23?ANSWER -> in3!ANSWER }
        :: atomic { word2 == OPEN && left_to2 != 0 && out2 == 0 && empty(in2) && empty(out23) ->
                word2 = CLOSED }
        od
}

active proctype W3()
{
        byte out3;
end_idle:
        do
        :: atomic { in3?STATE -> at = 3;
                if
                :: left_to2 == 3 -> out2--
                :: left_to2 != 3 -> out1--
                fi }
        :: atomic { in3?ANSWER -> arrive(3) }
        :: atomic { back3?ANSWER -> out3--; node_home(3) }
        :: atomic { at == 3 && !cancelled && answers == 0 -> cancel(3, out3) }
        od
}

active proctype A()
{
        byte q;
end_idle:
        do
        :: atomic { running && holder == W_A -> running = false; holder = HOME;
                assert(word1 == OPEN); home1!ANSWER }
        :: atomic { node4?q ->
                if
                :: holder == W_A -> tell(4)
                :: else -> assert(holder == HOME)
                fi;
                send_node_home(q); q = 0 }
        od
}

active proctype Check()
{
        timeout ->
        d_step {
                assert(answers == 1 && !chased && !awaiting);
                assert(word1 == CLOSED);
                assert(left_to1 == 3 || word2 == CLOSED)
        }
}
