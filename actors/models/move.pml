/* SPDX-License-Identifier: MIT */
/*
 * move.pml - does an actor that moves lose, double or overtake anything?
 *
 * An actor X moves from the retiring W1 to W2 and keeps its address.
 *
 * W3 hosts S, which sends X four messages (the first is a request that X keeps until it has handled
 * the third, as a blocking pop would be), and T, which receives what X sends.  G is a guest thread that
 * sends X messages without an outbox and never reads its own inbox meanwhile.  Each worker has one inbox
 * for user mail, in push order over all senders, one for replies and returns (which go first, in any
 * order here), and one outbox per destination, flushed one message at a time at any moment.
 *
 * The protocol modelled:
 *   - frozen: X gets no mail, asks nothing, its open requests are waited for; new mail collects behind it
 *   - W1 pushes its outboxes, enters old -> new address in the forwarding table, then pushes to a lent
 *     slot of W2: X's kept requests, X's state, the mail that collected
 *   - W1 relays mail for the old address until nothing of its own is out, then closes in two steps:
 *     CLOSING (nobody can push; a sender leaves its outbox as it is and looks again), relay what had been
 *     pushed before, flush, CLOSED
 *   - a sender looks into the table only when it finds CLOSED, and then sends to the new address: all it
 *     sent by the old road is in W2's inbox by then, so order holds without counting anything
 *   - entries go when X ends; W1's slot is opened again only when none of its moved actors lives
 *
 * Checked: S's messages are handled exactly once and in order; one comes home unhandled only when X has
 * ended; none reaches the next tenant of X's slot; X's own messages reach T in order across the move;
 * answers to X's requests find it; nothing comes home to a closed worker; W1 closes.
 *
 * Mutants, one -D each; all must fail:
 *   MUT_COUNT_ROUTE  the route is changed when nothing of ours is out on the old lane
 *   MUT_ROUTE_EARLY  route changed while messages are out: as soon as the table has an entry
 *   MUT_CLOSED_EARLY no CLOSING: senders go the new way while W1 still relays
 *   MUT_STATE_FIRST  state pushed before other outboxes
 *   MUT_KEPT_LAST    kept requests pushed behind the state
 *   MUT_PENDING_LAST state leaves without the mail that had collected; it follows after the next relay
 *   MUT_ASK_OUT      X moves while one of its requests is out
 *   MUT_FORGET       the entry goes with the old incarnation
 *   MUT_REUSE        the slot is opened again while a moved actor lives; the new incarnation relays
 *   MUT_GEN_RESTART  the next incarnation starts generations from zero
 *   MUT_CLOSE_OUT    W1 closes while something of its own is out
 */
#ifndef MAILS
#define MAILS 4
#endif
#ifndef GUESTS
#define GUESTS 2                        /* messages of G, numbered from GUEST + 1 */
#endif
#define GUEST 10
#define NEEDED 3                        /* X may end once it has handled these */

mtype = { MAIL, KEPT, STATE, OUT, ASK };
mtype = { OPEN, CLOSING, CLOSED };
mtype = { RUN, FROZEN, RELAYING };

chan in1 = [MAILS + GUESTS] of { mtype, byte };
chan in2 = [MAILS + GUESTS + 2] of { mtype, byte };
chan in3 = [MAILS + 1] of { mtype, byte, byte };        /* OUT or ASK, number, home */
chan home1 = [MAILS + 1] of { mtype };                  /* replies and returns */
chan home2 = [MAILS + 1] of { mtype };
chan home3 = [MAILS] of { byte };

chan collected = [MAILS + GUESTS] of { byte };   /* on W1: mail for X while it is frozen */
chan waiting = [MAILS + GUESTS] of { byte };     /* on W2: mail for the lent slot before X is there */

chan out12 = [MAILS + GUESTS + 2] of { mtype, byte };
chan out13 = [MAILS + 1] of { mtype, byte };
chan out23 = [MAILS + 1] of { mtype, byte };
chan out31 = [MAILS] of { byte };
chan out32 = [MAILS] of { byte };

mtype word = OPEN;                      /* the head word of W1's inbox */
mtype phase = RUN;                      /* W1 */
byte  incarnation = 1;
bool  entry;                            /* forwarding table: X's old address -> its slot on W2 */

/* X; touched by the worker it is on */
byte  at = 1;                           /* 1, 2; 0 on the way; 3 ended */
byte  handled, said, kept_at;
bool  asking, asked;

/* ghosts and counters of what is out */
byte  of1, of2, of3, ofg;               /* messages of W1, W2, S, G not home yet */
bool  was_handled[MAILS + 1];
byte  heard, handled_g;

#define ENDED (at == 3)

#ifdef MUT_ASK_OUT
#define ASKS_HOME true
#else
#define ASKS_HOME (!asking)
#endif
#ifdef MUT_STATE_FIRST
#define PUSHED true
#else
#define PUSHED (empty(out12) && empty(out13))
#endif
#ifdef MUT_CLOSE_OUT
#define QUIET true
#else
#define QUIET (of1 == 0)
#endif
#if defined(MUT_FORGET) || defined(MUT_REUSE)
#define MAY_REOPEN true
#else
#define MAY_REOPEN ENDED
#endif

inline handle(me, q)
{
        assert(at == me);
        if
        :: q > GUEST -> handled_g++; assert(q == GUEST + handled_g); ofg--
        :: else -> handle_s(me, q)
        fi
}

inline handle_s(me, q)
{
        assert(q == handled + 1);               /* once, in order */
        handled = q;
        was_handled[q] = true;
        if
        :: q == 1 -> kept_at = me
        :: q == 3 -> home3!q;
                assert(kept_at == me);          /* the token still finds its request */
                kept_at = 0; home3!1
        :: else -> home3!q
        fi;
        said++;
        if
        :: me == 1 -> out13!OUT(said); of1++
        :: else -> out23!OUT(said); of2++
        fi;
        if
        :: q == 2 -> asking = true; asked = true;
                if
                :: me == 1 -> out13!ASK(0); of1++
                :: else -> out23!ASK(0); of2++
                fi
        :: else
        fi
}

inline unhandled(q)                     /* comes home with -ESRCH */
{
        assert(ENDED);
        if
        :: q > GUEST -> assert(q > GUEST + handled_g); ofg--
        :: else -> assert(!was_handled[q]); home3!q
        fi
}

active proctype W1()
{
        byte q;
end_idle:
        do
        /* inbox */
        :: atomic { word != CLOSED && nempty(in1) ->
                in1?MAIL(q);
                if
                :: incarnation == 2 ->
#if defined(MUT_GEN_RESTART)
                        assert(false)           /* the address fits the new tenant */
#elif defined(MUT_REUSE)
                        if :: entry -> out12!MAIL(q) :: else -> unhandled(q) fi
#else
                        unhandled(q)            /* an older generation */
#endif
                :: else ->
                        if
                        :: phase == RELAYING && entry -> out12!MAIL(q)
                        :: phase == RELAYING && !entry -> unhandled(q)
                        :: phase != RELAYING && ENDED -> unhandled(q)
                        :: phase == RUN && !ENDED -> handle(1, q)
                        :: phase == FROZEN && !ENDED -> collected!q
                        fi
                fi; q = 0 }
        :: atomic { home1?OUT -> assert(word == OPEN); of1-- }
        :: atomic { home1?ASK -> assert(word == OPEN && at == 1 && asking); of1--; asking = false }
        /* outboxes */
        :: atomic { out12?[MAIL, _] || out12?[STATE, _] || out12?[KEPT, _] ->
                if
                :: out12?MAIL(q) -> in2!MAIL(q)
                :: out12?STATE(q) -> in2!STATE(q)
                :: out12?KEPT(q) -> in2!KEPT(q)
                fi; q = 0 }
        :: atomic { out13?OUT(q) -> in3!OUT(q, 1); q = 0 }
        :: atomic { out13?ASK(q) -> in3!ASK(q, 1); q = 0 }
        /* X may end here too, when nothing of it is out */
        :: atomic { at == 1 && phase == RUN && handled >= NEEDED && !asking && of1 == 0 -> at = 3 }
        /* retirement */
        :: atomic { incarnation == 1 && phase == RUN -> phase = FROZEN }
        :: atomic { phase == FROZEN && ENDED -> phase = RELAYING }
        :: atomic { phase == FROZEN && at == 1 && ASKS_HOME && PUSHED ->
                entry = true; at = 0;
#ifndef MUT_KEPT_LAST
                if :: kept_at == 1 -> kept_at = 0; out12!KEPT(0) :: else fi;
#endif
                out12!STATE(0);
#ifndef MUT_PENDING_LAST
                do :: collected?q -> out12!MAIL(q) :: empty(collected) -> break od;
#endif
#ifdef MUT_KEPT_LAST
                if :: kept_at == 1 -> kept_at = 0; out12!KEPT(0) :: else fi;
#endif
                q = 0;
                phase = RELAYING }
#ifdef MUT_PENDING_LAST
        :: atomic { phase == RELAYING && nempty(collected) -> collected?q; out12!MAIL(q); q = 0 }
#endif
        :: atomic { phase == RELAYING && incarnation == 1 && word == OPEN && QUIET &&
                    empty(out12) && empty(out13) && empty(collected) ->
#ifdef MUT_CLOSED_EARLY
                word = CLOSED }
        :: atomic { word == CLOSED && incarnation == 1 && nempty(in1) -> in1?MAIL(q);
                if :: entry -> out12!MAIL(q) :: else -> unhandled(q) fi; q = 0 }
#else
                word = CLOSING }
        :: atomic { word == CLOSING && empty(in1) && empty(out12) -> word = CLOSED }
#endif
        /* the next incarnation */
        :: atomic { word == CLOSED && incarnation == 1 && empty(in1) && empty(out12) && MAY_REOPEN ->
#ifdef MUT_FORGET
                entry = false;
#endif
                incarnation = 2; word = OPEN }
        od
}

active proctype W2()
{
        byte q;
end_idle:
        do
        :: atomic { in2?KEPT(q) -> kept_at = 2; q = 0 }
        :: atomic { in2?STATE(q) -> at = 2;
                do :: waiting?q -> handle(2, q) :: empty(waiting) -> break od; q = 0 }
        :: atomic { in2?MAIL(q) ->
                if
                :: at == 2 -> handle(2, q)
                :: at == 3 -> unhandled(q)
                :: else -> waiting!q
                fi; q = 0 }
        :: atomic { home2?OUT -> of2-- }
        :: atomic { home2?ASK -> assert(at == 2 && asking); of2--; asking = false }
        :: atomic { out23?OUT(q) -> in3!OUT(q, 2); q = 0 }
        :: atomic { out23?ASK(q) -> in3!ASK(q, 2); q = 0 }
        :: atomic { at == 2 && handled >= NEEDED && !asking && of2 == 0 -> at = 3; entry = false }
        od
}

active proctype W3()
{
        byte q, n, h;
#ifdef MUT_COUNT_ROUTE
        byte old;                               /* messages out on the lane to W1 */
        bool by_old[MAILS + 1];
#endif
end_idle:
        do
        /* S */
        :: atomic { n < MAILS -> n++; of3++; out31!n }
        :: atomic { home3?q -> of3--;
#ifdef MUT_COUNT_ROUTE
                if :: by_old[q] -> old-- :: else fi;
#endif
                q = 0 }
        /* outboxes */
#if defined(MUT_COUNT_ROUTE)
        :: atomic { nempty(out31) && (!entry || old > 0) && word == OPEN ->
                out31?q; by_old[q] = true; old++; in1!MAIL(q); q = 0 }
        :: atomic { nempty(out31) && entry && old == 0 -> out31?q; out32!q; q = 0 }
        :: atomic { nempty(out31) && !entry && word == CLOSED -> out31?q; unhandled(q); q = 0 }
#elif defined(MUT_ROUTE_EARLY)
        :: atomic { nempty(out31) && entry -> out31?q; out32!q; q = 0 }
        :: atomic { nempty(out31) && !entry && word == OPEN -> out31?q; in1!MAIL(q); q = 0 }
        :: atomic { nempty(out31) && !entry && word == CLOSED -> out31?q; unhandled(q); q = 0 }
#else
        :: atomic { nempty(out31) && word == OPEN -> out31?q; in1!MAIL(q); q = 0 }
        :: atomic { nempty(out31) && word == CLOSED && entry -> out31?q; out32!q; q = 0 }
        :: atomic { nempty(out31) && word == CLOSED && !entry -> out31?q; unhandled(q); q = 0 }
#endif
        :: atomic { out32?q -> in2!MAIL(q); q = 0 }
        /* T */
        :: atomic { in3?OUT(q, h) -> assert(q == heard + 1); heard = q;
                if :: h == 1 -> home1!OUT :: else -> home2!OUT fi; q = 0; h = 0 }
        :: atomic { in3?ASK(q, h) -> if :: h == 1 -> home1!ASK :: else -> home2!ASK fi; q = 0; h = 0 }
        od
}

active proctype G()                     /* at CLOSED it reads the table, and may sleep before it pushes */
{
        byte n;
        do
        :: n == GUESTS -> break
        :: atomic { n < GUESTS && word == OPEN -> n++; ofg++; in1!MAIL(GUEST + n) }
        :: atomic { n < GUESTS && word == CLOSED && !entry -> n++; ofg++; unhandled(GUEST + n) }
        :: atomic { n < GUESTS && word == CLOSED && entry -> n++; ofg++ }
                in2!MAIL(GUEST + n)
        od
}

active proctype Check()
{
        timeout ->
        d_step {
                assert(incarnation == 2 || word == CLOSED);     /* W1 closed */
                assert(of1 + of2 + of3 + ofg == 0);             /* everything came home */
                assert(was_handled[1] && was_handled[2] && was_handled[3]);
                assert(!asked || !asking)
        }
}
