/* SPDX-License-Identifier: MIT */
/*
 * spawn.pml - can an address be told before its actor exists, and never lie?
 *
 * Spawning an actor on another worker with lent slot numbers.
 *
 * W2 lends slot numbers (with their generation) to W1.  W1 spawns on W2 by
 * taking one, without an atomic and without asking, and may tell the address to
 * W3 at once, so W3's mail, or W3's stop, may reach W2 before the spawn does.
 * W2 may retire or shut down: it first asks for its lent slots back (RECALL)
 * and goes on as usual until none is lent; only then does it drain and close.
 * Its worker slot is opened again by a second incarnation, which goes on with
 * the generations.
 *
 * With SHUTDOWN both workers are told to stop, in either order, and nothing is
 * recalled: W2 drains at once, but lent numbers stay good, and the actor of a
 * spawn that arrives is told of the stop at once; W1 gives back what it has not
 * used; W2 closes when none is lent.
 *
 * Every pair of workers has a FIFO for user mail and another for control, and
 * the receiver may look at any of them first.  That contains all orders that
 * outboxes, the shared inbox and "control first" can produce, and a few more.
 *
 * Checked: each mail ends exactly once, delivered or home; it is sent home only
 * when its actor has ended; it is never delivered before `started` nor out of
 * its sender's order; no (slot, generation) names two actors; a stop is never
 * lost; all lent slots come back; a retiring W2 closes.
 *
 * Mutants, one -D each, are explained in the README beside this file.
 */
#ifndef NSLOT
#define NSLOT  2                            /* slot numbers of W2 */
#endif
#ifndef NGEN
#define NGEN   2              /* generations of a slot before it is exhausted */
#endif
#define NADDR  (NSLOT * NGEN)
#ifndef MAILS
#define MAILS  2                   /* mails of W3 for each address it is told */
#endif
#ifndef SPAWNS
#define SPAWNS 2
#endif
#ifndef LENDS
#define LENDS  3
#endif
#define ADDR(s, g)  ((s) * NGEN + (g))
#define SLOT(a)     ((a) / NGEN)
#define GEN(a)      ((a) % NGEN)

mtype = { LEND, RECALL, BACK, SPAWN, MAIL, STOP };
mtype = { FREE, LENT, LIVE, SPENT };        /* a slot as its owner sees it */
mtype = { RUN, RECALLING, DRAINING, CLOSED };  /* W2 */

chan k21 = [4] of { mtype, byte };          /* control W2 -> W1: LEND, RECALL */
chan k12 = [4] of { mtype, byte };          /* control W1 -> W2: BACK */
chan u12 = [4] of { mtype, byte, byte };    /* user    W1 -> W2: SPAWN, MAIL */
chan u13 = [2] of { byte };                 /* user    W1 -> W3: an address */
chan k32 = [2] of { mtype, byte };          /* control W3 -> W2: STOP */
chan u32 = [4] of { mtype, byte, byte };    /* user    W3 -> W2: MAIL */

/* W2's table */
mtype state[NSLOT];
byte  gen[NSLOT];
bool  stop_waits[NSLOT];                 /* a stop that came before the spawn */
chan  waiting[NSLOT] = [4] of { byte };     /* mail that came before it */
mtype phase = RUN;
byte  incarnation = 1;
bool  retires, leaves;           /* do W2 and W1 retire?  Chosen at the start */

/* what really happened; no protocol step reads these */
bool taken[NADDR], started[NADDR], ended[NADDR], stop_sent[NADDR];
byte sent[NADDR], delivered[NADDR], home[NADDR], last_seen[NADDR];
bool held[NSLOT];                           /* W1's borrowed numbers ... */
byte held_gen[NSLOT];

inline take(a) { assert(!taken[a]); taken[a] = true }

inline deliver(a, q)
{
    assert(started[a] && !ended[a]);
    assert(q > last_seen[a]);               /* in the sender's order */
    last_seen[a] = q;
    delivered[a]++
}

inline send_home(a) { assert(ended[a]); home[a]++ }

/* Its address is spent; the slot goes on or is exhausted. */
inline end_actor(s)
{
    ended[ADDR(s, gen[s])] = true;
    gen[s]++;
    if
    :: gen[s] == NGEN ->
#ifdef MUT_GEN_WRAP
        gen[s] = 0; state[s] = FREE
#else
        gen[s] = NGEN - 1; state[s] = SPENT
#endif
    :: else -> state[s] = FREE
    fi
}

/* The spawn has arrived: started, then what waited, in order. */
inline install(s)
{
    started[ADDR(s, gen[s])] = true;
    state[s] = LIVE;
    if
    :: stop_waits[s] ->     /* stopped before its first mail, which goes home */
        ended[ADDR(s, gen[s])] = true;
        do
        :: waiting[s]?q -> send_home(ADDR(s, gen[s]))
        :: empty(waiting[s]) -> break
        od;
        stop_waits[s] = false;
        end_actor(s)
    :: else ->
#ifndef MUT_LIFO
        do
        :: waiting[s]?q -> deliver(ADDR(s, gen[s]), q)
        :: empty(waiting[s]) -> break
        od
#else
        skip
#endif
    fi
}

inline take_mail(a, q)
{
    s = SLOT(a);
    if
    :: state[s] == LENT && gen[s] == GEN(a) ->
#if defined(MUT_DROP)
        send_home(a)
#elif defined(MUT_EAGER)
        deliver(a, q)
#else
        waiting[s]!q
#endif
    :: state[s] == LIVE && gen[s] == GEN(a) -> deliver(a, q)
#ifdef MUT_LIFO
        ; do
        :: waiting[s]?q -> deliver(a, q)
        :: empty(waiting[s]) -> break
        od
#endif
    :: else -> send_home(a)
    fi;
    s = 0; q = 0
}

inline take_stop(a)
{
    s = SLOT(a);
    if
    :: state[s] == LENT && gen[s] == GEN(a) ->
#ifndef MUT_STOP_LOST
        stop_waits[s] = true
#else
        skip
#endif
    :: state[s] == LIVE && gen[s] == GEN(a) -> end_actor(s)
    :: else -> assert(ended[a])
    fi;
    s = 0
}

#define NO_LENT   (state[0] != LENT && (NSLOT < 2 || state[NSLOT-1] != LENT))
#define HAS_FREE  (state[0] == FREE || state[NSLOT-1] == FREE)
#define NO_LIVE   (state[0] != LIVE && (NSLOT < 2 || state[NSLOT-1] != LIVE))

active proctype W2()
{
    byte s, a, q, lends;
    bool local_done;
    d_step {
        s = 0;
        do
        :: s < NSLOT -> state[s] = FREE; s++
        :: else -> break
        od;
        s = 0
    };
#ifdef SHUTDOWN
    retires = true;
#else
    if :: retires = true :: retires = false fi;
#endif
end_idle:
    do
    /* what arrives; in CLOSED this is the sender finding the inbox closed */
    :: atomic { u12?SPAWN(a, q) ->
        assert(phase != CLOSED);
        s = SLOT(a);
        assert(state[s] == LENT && gen[s] == GEN(a));
        install(s); s = 0; a = 0; q = 0 }
    :: atomic { u12?MAIL(a, q) -> take_mail(a, q); a = 0 }
    :: atomic { u32?MAIL(a, q) -> take_mail(a, q); a = 0 }
    :: atomic { k32?STOP(a) -> take_stop(a); a = 0 }
    :: atomic { k12?BACK(a) ->      /* never told to anybody: same generation */
        assert(phase != CLOSED && !taken[a]);
        s = SLOT(a);
        assert(state[s] == LENT && gen[s] == GEN(a));
        state[s] = FREE; s = 0; a = 0 }
    /* lending, and a local spawn from the same table */
#ifdef MUT_LEND_RECALLED
    :: atomic { phase != CLOSED && lends < LENDS && HAS_FREE ->
#else
    :: atomic { phase == RUN && lends < LENDS && HAS_FREE ->
#endif
        select(s : 0 .. NSLOT - 1);
        if
        :: state[s] == FREE ->
            state[s] = LENT; lends++; k21!LEND(ADDR(s, gen[s]))
        :: else -> skip
        fi; s = 0 }
    :: atomic { phase == RUN && !local_done ->
        select(s : 0 .. NSLOT - 1);
        if
        :: state[s] == FREE ->
            take(ADDR(s, gen[s])); local_done = true; install(s)
        :: else -> skip
        fi; s = 0; q = 0 }
    :: atomic { phase == RUN && !local_done -> local_done = true }
#ifdef SHUTDOWN
    :: atomic { phase == RUN -> phase = DRAINING }
#else
    /* retirement; done twice, so that the second incarnation is recalled too */
    :: atomic { retires && phase == RUN ->
        phase = RECALLING; k21!RECALL(0) }
#endif
#ifdef MUT_CLOSE_LENT
    :: atomic { phase == RECALLING -> phase = DRAINING }
#else
    :: atomic { phase == RECALLING && NO_LENT -> phase = DRAINING }
#endif
    :: atomic { phase == DRAINING && !NO_LIVE ->
        if
        :: state[0] == LIVE -> end_actor(0)
        :: state[NSLOT-1] == LIVE -> end_actor(NSLOT-1)
        fi }
#if defined(SHUTDOWN) && !defined(MUT_CLOSE_LENT)
    :: atomic { phase == DRAINING && NO_LIVE && NO_LENT -> phase = CLOSED }
#else
    :: atomic { phase == DRAINING && NO_LIVE -> phase = CLOSED }
#endif
#ifndef SHUTDOWN
    :: atomic { phase == CLOSED && incarnation == 1 ->
        incarnation = 2; phase = RUN;
#if defined(MUT_CLOSE_LENT) || defined(MUT_GEN_RESTART)
        s = 0;
        do                   /* a fresh table: nobody remembers what was lent */
        :: s < NSLOT ->
            if :: state[s] == LENT -> state[s] = FREE :: else fi;
#ifdef MUT_GEN_RESTART
            gen[s] = 0; if :: state[s] == SPENT -> state[s] = FREE :: else fi;
#endif
            s++
        :: else -> break
        od;
        s = 0
#endif
        }
#endif
    od
}

active proctype W1()
{
    byte a, s, spawns;
    bool leaving;
#ifdef SHUTDOWN
    leaves = true;
#else
    if :: leaves = true :: leaves = false fi;
#endif
end_idle:
    do
    :: atomic { k21?LEND(a) ->
        if
#ifndef MUT_LEAVER_KEEPS
        :: leaving -> k12!BACK(a)
#endif
        :: else -> held[SLOT(a)] = true; held_gen[SLOT(a)] = GEN(a)
        fi; a = 0 }
    :: atomic { k21?RECALL(_) ->
#ifndef MUT_NO_BACK
        s = 0;
        do
        :: s < NSLOT ->
            if
            :: held[s] ->
                held[s] = false;
                k12!BACK(ADDR(s, held_gen[s]));
                held_gen[s] = 0
            :: else
            fi; s++
        :: else -> break
        od; s = 0
#else
        skip
#endif
        }
    :: atomic { spawns < SPAWNS && (held[0] || held[NSLOT-1]) ->
        select(s : 0 .. NSLOT - 1);
        if
        :: held[s] ->
            a = ADDR(s, held_gen[s]);
            take(a);
            held[s] = false; held_gen[s] = 0; spawns++;
            u12!SPAWN(a, 0);
            if              /* who hears of it first: W3, or W1 itself writes */
            :: u13!a
            :: sent[a]++; u12!MAIL(a, 1)
            fi
        :: else -> skip
        fi; s = 0; a = 0 }
    :: atomic { leaves && !leaving ->       /* W1 retires itself */
        leaving = true; spawns = SPAWNS;
        s = 0;
        do
        :: s < NSLOT ->
            if
            :: held[s] ->
                held[s] = false;
                k12!BACK(ADDR(s, held_gen[s]));
                held_gen[s] = 0
            :: else
            fi; s++
        :: else -> break
        od; s = 0 }
    od
}

active proctype W3()
{
    byte a, n;
end_idle:
    do
    :: u13?a ->
        do
        :: n < MAILS -> atomic { n++; sent[a]++; u32!MAIL(a, n) }
        :: n == MAILS -> break
        :: n > 0 && !stop_sent[a] -> atomic { stop_sent[a] = true; k32!STOP(a) }
        od;
        atomic { a = 0; n = 0 }
    od
}

active proctype Check()
{
    byte a;
    timeout ->
    d_step {
        assert(!retires || phase == CLOSED);
        assert(!leaves || NO_LENT);     /* every number is back */
        do
        :: a < NADDR ->
            assert(sent[a] == delivered[a] + home[a]);
            assert(!stop_sent[a] || ended[a]);
            assert(!taken[a] || started[a]);
            a++
        :: else -> break
        od
    }
}
