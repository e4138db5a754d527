/* SPDX-License-Identifier: MIT */
/*
 * moves.pml - does an actor that moves twice, while two workers retire at once, lose or overtake anything?
 *
 * move.pml has one move in full. This is what it leaves out: X, on W1, moves to a slot that W2 has lent, or
 * to W3; W2 retires at any moment, before X comes, while it is on its way, or when it is there; then X moves
 * on, and the slot it had on W2 is handed over a second time, to W3. W3, where it ends, is also the worker of
 * S, which writes to X by its first address all the time. G is a guest thread that writes without an outbox.
 * Kept requests and asks are move.pml's.
 *
 * The protocol modelled, beside that of move.pml:
 *   - the entry of each slot says where its actor went from there, and is never changed: a sender that finds
 *     W1 closed goes to W2, and if that is closed too, on to W3
 *   - W1 relays; if it finds W2 closed meanwhile, what it relays follows the entry of that one
 *   - a lent number is a promise: W2 does not close before it is back, or X has come and gone
 *   - who finds X on his own worker puts its mail behind what his inbox has, not into his local line:
 *     relayed mail may be there still
 *
 * Checked: messages of S and of G are handled exactly once and in order; both workers close; X ends on W3.
 *
 * Mutants, one -D each; all must fail:
 *   MUT_LOCAL        mail for X on one's own worker goes into the local line
 *   MUT_REWRITE      a second move changes the first entry, too
 *   MUT_LENT_CLOSES  W2 closes while its number is lent
 *   MUT_CLOSED_EARLY no CLOSING of W2: senders go the new way while it still relays
 *   MUT_NO_FOLLOW    what W1 relays and finds W2 closed goes home
 *   MUT_STATE_FIRST  X leaves W2 before what has collected there
 */
#ifndef MAILS
#define MAILS 4
#endif
#ifndef GUESTS
#define GUESTS 2                        /* messages of G, numbered from GUEST + 1 */
#endif
#define GUEST 10
#define ALL (MAILS + GUESTS)

mtype = { MAIL, STATE };
mtype = { OPEN, CLOSING, CLOSED };
mtype = { RUN, FROZEN, RELAYING };

chan in1 = [ALL] of { mtype, byte };
chan in2 = [ALL + 1] of { mtype, byte };
chan in3 = [ALL + 1] of { mtype, byte };
chan local3 = [MAILS] of { byte };
chan out12 = [ALL + 1] of { mtype, byte };
chan out13 = [ALL + 1] of { mtype, byte };
chan out23 = [ALL + 1] of { mtype, byte };
chan out31 = [MAILS] of { byte };
chan out32 = [MAILS] of { byte };
chan collected1 = [ALL] of { byte };
chan collected2 = [ALL] of { byte };

mtype word1 = OPEN, word2 = OPEN;
mtype phase1 = RUN, phase2 = RUN;
byte  entry1, entry2;                   /* where X went from there: 0, 2, 3 */
byte  at = 1;                           /* 0: on its way */
bool  retires2;
bool  lent = true;                      /* W1 has a number of W2 */
bool  coming;                           /* it is spent, and X not there yet */
bool  state_out1, state_out2;           /* the node of a move is not home */
byte  handled, handled_g;

inline handle(me, q)
{
        assert(at == me);
        if
        :: q > GUEST -> handled_g++; assert(q == GUEST + handled_g)
        :: else -> handled++; assert(q == handled)
        fi
}

inline relay1(k, q)
{
        if :: entry1 == 2 -> out12!k(q) :: entry1 == 3 -> out13!k(q) fi
}

active proctype W1()
{
        byte q;
end_idle:
        do
        :: atomic { word1 != CLOSED && nempty(in1) -> in1?MAIL(q);
                if
                :: phase1 == RUN -> handle(1, q)
                :: phase1 == FROZEN -> collected1!q
                :: phase1 == RELAYING -> relay1(MAIL, q)
                fi; q = 0 }
        :: atomic { phase1 == RUN -> phase1 = FROZEN }
        :: atomic { phase1 == FROZEN && empty(out12) && empty(out13) ->
                if
                :: lent -> lent = false; coming = true; entry1 = 2
                :: entry1 = 3
                fi;
                at = 0; state_out1 = true; phase1 = RELAYING;
                relay1(STATE, 0);
                do :: collected1?q -> relay1(MAIL, q) :: empty(collected1) -> break od; q = 0 }
        /* recalled */
        :: atomic { lent && retires2 -> lent = false }
        /* outboxes */
        :: atomic { nempty(out12) && word2 == OPEN ->
                if :: out12?STATE(q) -> in2!STATE(q) :: out12?MAIL(q) -> in2!MAIL(q) fi; q = 0 }
        :: atomic { nempty(out12) && word2 == CLOSED -> out12?MAIL(q);
#ifdef MUT_NO_FOLLOW
                assert(at != 3);        /* it comes home though X lives */
#endif
                assert(entry2 == 3); out13!MAIL(q); q = 0 }
        :: atomic { nempty(out13) ->
                if :: out13?STATE(q) -> in3!STATE(q) :: out13?MAIL(q) -> in3!MAIL(q) fi; q = 0 }
        /* the end */
        :: atomic { phase1 == RELAYING && word1 == OPEN && !state_out1 && !lent &&
                    empty(out12) && empty(out13) -> word1 = CLOSING }
        :: atomic { word1 == CLOSING && empty(in1) && empty(out12) && empty(out13) -> word1 = CLOSED }
        od
}

#ifdef MUT_LENT_CLOSES
#define PROMISED false
#else
#define PROMISED (lent || coming)
#endif

active proctype W2()
{
        byte q;
end_idle:
        do
        :: atomic { word2 != CLOSED && nempty(in2) ->
                if
                :: in2?STATE(q) -> at = 2; coming = false; state_out1 = false
                :: in2?MAIL(q) ->
                        if
                        :: phase2 == RELAYING -> out23!MAIL(q)
                        :: phase2 == FROZEN -> collected2!q
                        :: phase2 == RUN -> handle(2, q)
                        fi
                fi; q = 0 }
        :: atomic { !retires2 -> retires2 = true }
        :: atomic { retires2 && at == 2 && phase2 == RUN -> phase2 = FROZEN }
        :: atomic { phase2 == FROZEN && empty(out23) ->
                entry2 = 3; at = 0; state_out2 = true; phase2 = RELAYING;
#ifdef MUT_REWRITE
                entry1 = 3;
#endif
                out23!STATE(0)
#ifndef MUT_STATE_FIRST
                ; do :: collected2?q -> out23!MAIL(q) :: empty(collected2) -> break od; q = 0
#endif
                }
#ifdef MUT_STATE_FIRST
        :: atomic { phase2 == RELAYING && nempty(collected2) -> collected2?q; out23!MAIL(q); q = 0 }
#endif
        :: atomic { nempty(out23) ->
                if :: out23?STATE(q) -> in3!STATE(q) :: out23?MAIL(q) -> in3!MAIL(q) fi; q = 0 }
        :: atomic { retires2 && word2 == OPEN && !PROMISED && at != 2 && !state_out2 &&
                    empty(out23) && empty(collected2) ->
#ifdef MUT_CLOSED_EARLY
                word2 = CLOSED }
        :: atomic { word2 == CLOSED && nempty(in2) -> in2?MAIL(q); out23!MAIL(q); q = 0 }
#else
                word2 = CLOSING }
        :: atomic { word2 == CLOSING && empty(in2) && empty(out23) -> word2 = CLOSED }
#endif
        od
}

#ifdef MUT_LOCAL
#define OWN(q) local3!q
#else
#define OWN(q) in3!MAIL(q)
#endif

active proctype W3()
{
        byte q, n;
end_idle:
        do
        :: atomic { n < MAILS -> n++; out31!n }
        :: atomic { nempty(out31) && word1 == OPEN -> out31?q; in1!MAIL(q); q = 0 }
        :: atomic { nempty(out31) && word1 == CLOSED -> out31?q;
                if :: entry1 == 2 -> out32!q :: entry1 == 3 -> OWN(q) fi; q = 0 }
        :: atomic { nempty(out32) && word2 == OPEN -> out32?q; in2!MAIL(q); q = 0 }
        :: atomic { nempty(out32) && word2 == CLOSED -> out32?q; assert(entry2 == 3); OWN(q); q = 0 }
        :: atomic { nempty(in3) ->
                if
                :: in3?STATE(q) ->
                        at = 3; state_out1 = state_out1 && entry1 != 3; state_out2 = false
                :: in3?MAIL(q) -> handle(3, q)
                fi; q = 0 }
#ifdef MUT_LOCAL
        :: atomic { local3?q -> handle(3, q); q = 0 }
#endif
        od
}

active proctype G()                     /* at CLOSED it reads the table, and may sleep before it pushes */
{
        byte n, to;
        do
        :: n == GUESTS -> break
        :: n < GUESTS ->
                n++; to = 1;
                do
                :: atomic { to == 1 && word1 == OPEN -> in1!MAIL(GUEST + n) }; break
                :: atomic { to == 1 && word1 == CLOSED -> to = entry1 }
                :: atomic { to == 2 && word2 == OPEN -> in2!MAIL(GUEST + n) }; break
                :: atomic { to == 2 && word2 == CLOSED -> assert(entry2 == 3); to = 3 }
                :: atomic { to == 3 -> in3!MAIL(GUEST + n) }; break
                od
        od
}

active proctype Check()
{
        timeout ->
        assert(word1 == CLOSED && word2 == CLOSED && at == 3 && handled == MAILS && handled_g == GUESTS)
}
