/* SPDX-License-Identifier: MIT */

/*
 * shards.pml - is every request answered, and does none overtake another, while its slot moves?
 *
 * A slot moves while clients go on; MOVES times, there and back.
 *
 * actors/shards.c and shards_move.c.  Two workers, 0 and 1; the slot is 0's, then 1's, then 0's again.
 * The old owner hands it over on its own thread: FIRST, then LAST, and what arrives for it from then on
 * is forwarded behind them.  The new owner keeps requests for it until LAST, in order of arrival, and
 * tells all client workers at FIRST.  A client's worker that hears of it sends a MARK down the old road,
 * holds its later requests, and lets them go by the new road when the new owner has sent the mark home,
 * which it does at once.  The next move is ordered when LAST is in and all marks are home.
 *
 * Client 0 writes 1, writes 2 and reads, without waiting for an answer.  Client 1 lives on worker 0 and
 * reads what has been acknowledged, at any time; for worker 1 it needs the allowance of the lane between
 * the two.  Chunks, news and marks need none.
 *
 * Checked: a read sees every write acknowledged before it was asked, and its own client's earlier
 * writes; every request is answered; the slot arrives; nobody finds it somewhere else.
 *
 * Mutants: MUT_NO_KEEP      the new owner serves before LAST
 *          MUT_OLD_ANSWERS  the old owner answers reads from what it had
 *          MUT_OLD_SERVES   it serves until LAST has left
 *          MUT_LATE_FIRST   it forwards before FIRST
 *          MUT_OVERTAKE     a read does not wait behind kept requests
 *          MUT_NO_MARK      clients change roads as soon as they hear
 *          MUT_NO_HOLD      they send the mark, and go on by the old road until it is home
 *          MUT_EARLY_ORDER  the next move does not wait for the marks
 *          MUT_ONE_LANE     chunks need the allowance that requests need
 */

#ifndef MOVES
#define MOVES 2
#endif

mtype = { GET, SET, FIRST, LAST, MARK };
mtype = { AWAY, OWNED, ARRIVING, LEAVING };

chan ask[4] = [3] of { mtype, byte };           /* client c to worker w at 2 * c + w: kind, need */
chan between[2] = [10] of { mtype, byte, byte };/* to worker w from the other: kind, need or value, who */
chan kept[2] = [6] of { mtype, byte, byte };
chan answers[2] = [4] of { mtype, byte, byte }; /* kind, value, need */
chan news[2] = [1] of { byte };                 /* to a client's worker: who has it now */

mtype here[2] = AWAY;
byte key;                                       /* lives in the first chunk or in the last */
byte value[4];                                  /* worker w's chunks at 2 * w; versions, 0 is absent */
byte acked;                                     /* ghost: newest version acknowledged */
byte moves;                                     /* settled */
byte marks_home;
bool ordered, all_sent, complete;
byte lane_free = 1;

byte road[2];
bool held[2];

#ifdef MUT_ONE_LANE
#define CHUNK_MAY (lane_free > 0)
#define CHUNK_OUT lane_free--
#define CHUNK_HOME lane_free++
#else
#define CHUNK_MAY true
#define CHUNK_OUT skip
#define CHUNK_HOME skip
#endif

inline serve(w, k, need, who)
{
        if
        :: k == SET -> value[2 * w + key] = need; answers[who]!SET(need, 0)
        :: k == GET -> answers[who]!GET(value[2 * w + key], need)
        :: k == MARK -> answers[who]!MARK(0, 0)
        fi
}

#ifdef MUT_OLD_SERVES
#define GIVES(w) (here[w] == LEAVING && all_sent)
#define SERVES(w) (here[w] == OWNED || (here[w] == LEAVING && !all_sent))
#else
#define GIVES(w) (here[w] == LEAVING)
#define SERVES(w) (here[w] == OWNED)
#endif

inline admit(w, k, need, who)
{
        if
        :: SERVES(w) -> serve(w, k, need, who)
        :: GIVES(w) ->
#ifdef MUT_OLD_ANSWERS
                if
                :: k == GET -> serve(w, k, need, who)
                :: else -> between[1 - w]!k(need, who)
                fi
#else
                between[1 - w]!k(need, who)
#endif
        :: here[w] == ARRIVING ->
#ifdef MUT_NO_KEEP
                serve(w, k, need, who)
#else
                if
                :: k == MARK -> serve(w, k, need, who)
#ifdef MUT_OVERTAKE
                :: k == GET && who == 0 && len(kept[w]) > 0 -> serve(w, k, need, who)
                :: k != MARK && !(k == GET && who == 0 && len(kept[w]) > 0) -> kept[w]!k(need, who)
#else
                :: k != MARK -> kept[w]!k(need, who)
#endif
                fi
#endif
        :: here[w] == AWAY -> assert(false)     /* nobody is on an old road */
        fi
}

proctype Worker(byte me)
{
        mtype k;
        byte need, who;
end_idle:
        do
        :: atomic { ask[me]?k(need) -> admit(me, k, need, 0); k = 0; need = 0 }
        :: atomic { ask[2 + me]?k(need) -> admit(me, k, need, 1); k = 0; need = 0 }
        :: atomic { between[me]?k(need, who) ->
                if
                :: k == FIRST ->
                        assert(here[me] == AWAY);
                        value[2 * me] = need; here[me] = ARRIVING; CHUNK_HOME;
                        news[0]!me; news[1]!me
                :: k == LAST ->
                        value[2 * me + 1] = need; here[me] = OWNED; complete = true; CHUNK_HOME;
                        do
                        :: kept[me]?k(need, who) -> serve(me, k, need, who)
                        :: empty(kept[me]) -> break
                        od
                :: k != FIRST && k != LAST -> admit(me, k, need, who)
                fi; k = 0; need = 0; who = 0 }
        /* the order to hand over */
#ifdef MUT_LATE_FIRST
        :: atomic { ordered && here[me] == OWNED && !complete -> here[me] = LEAVING; ordered = false }
        :: atomic { here[me] == LEAVING && here[1 - me] == AWAY && !all_sent && CHUNK_MAY &&
                        empty(between[1 - me]) ->
                CHUNK_OUT; between[1 - me]!FIRST(value[2 * me], 0); who = 9 }
        :: atomic { who == 9 && CHUNK_MAY -> who = 0; all_sent = true; CHUNK_OUT;
                between[1 - me]!LAST(value[2 * me + 1], 0) }
#else
        :: atomic { ordered && here[me] == OWNED && CHUNK_MAY ->
                ordered = false; here[me] = LEAVING; CHUNK_OUT;
                between[1 - me]!FIRST(value[2 * me], 0) }
        :: atomic { here[me] == LEAVING && !all_sent && CHUNK_MAY ->
                all_sent = true; CHUNK_OUT; between[1 - me]!LAST(value[2 * me + 1], 0) }
#endif
        od
}

/* The coordinator: one move after the other. */
#ifdef MUT_EARLY_ORDER
#define SETTLED complete
#else
#define SETTLED (complete && marks_home == 2)
#endif

active proctype Coordinator()
{
        if :: key = 0 :: key = 1 fi;
        atomic { here[0] = OWNED; run Worker(0); run Worker(1) };
        do
        :: atomic { moves < MOVES && !ordered && here[moves % 2] == OWNED ->
                ordered = true; complete = false; all_sent = false; marks_home = 0 };
                atomic { SETTLED && !ordered ->
                        here[moves % 2] = AWAY; moves++ }
        :: moves == MOVES -> break
        od
}

/* The client's worker: which road, and is it held? */
inline ask_by_road(c, k, need) { ask[2 * c + road[c]]!k(need) }

inline hear(c)
{
        news[c]?new;
#ifdef MUT_NO_MARK
        road[c] = new; marks_home++
#else
        assert(!held[c]);
        held[c] = true;
        ask[2 * c + road[c]]!MARK(0)
#endif
}

inline hear_answer(c, left)
{
        answers[c]?k(v, need);
        if
        :: k == MARK -> held[c] = false; road[c] = 1 - road[c]; marks_home++
        :: k == SET -> if :: v > acked -> acked = v :: else fi; left--
        :: k == GET -> assert(v >= need); left--        /* no read misses it */
        fi
}

#ifdef MUT_NO_HOLD
#define FREE(c) true
#else
#define FREE(c) (!held[c])
#endif

active proctype Client0()
{
        mtype k;
        byte v, need, n, new, left = 3;
end_idle:
        do
        :: atomic { n < 3 && FREE(0) ->
                if
                :: n == 0 -> ask_by_road(0, SET, 1)
                :: n == 1 -> ask_by_road(0, SET, 2)
                :: n == 2 -> ask_by_road(0, GET, 2)
                fi; n++ }
        :: atomic { nempty(news[0]) -> hear(0); new = 0 }
        :: atomic { nempty(answers[0]) -> hear_answer(0, left); k = 0; v = 0; need = 0 }
        od
}

active proctype Client1()
{
        mtype k;
        byte v, need, n, new, left = 1;
        bool charged;
end_idle:
        do
        :: atomic { n < 1 && FREE(1) && (road[1] == 0 || lane_free > 0) ->
                if :: road[1] == 1 -> lane_free--; charged = true :: else fi;
                ask_by_road(1, GET, acked); n++ }
        :: atomic { nempty(news[1]) -> hear(1); new = 0 }
        :: atomic { nempty(answers[1]) ->
                if
                :: answers[1]??[GET] && charged -> lane_free++; charged = false
                :: else
                fi;
                hear_answer(1, left); k = 0; v = 0; need = 0 }
        od
}

active proctype Check()
{
        timeout -> assert(moves == MOVES && here[MOVES % 2] == OWNED &&
                          Client0:left == 0 && Client1:left == 0)
}
