/* SPDX-License-Identifier: MIT */
/*
 * pool.pml - does whoever waits for a slot get one, whatever races?
 *
 * What leases/feed.c and the words of leases/pool.c do together: SLOTS slots,
 * each in a word of its own when TWO_WORDS is set, else all in one. WAITERS wait
 * for a slot (join the crowd, mark every word, look once more), may give up at
 * any moment, and put what they got. Each slot that is not free at the start has
 * a HOLDER that puts it once. A thief takes what it finds, once, and puts it.
 *
 *   - A word changes in one step: free bits, the mark and "closed" together.
 *   - A taker is claimed, or leaves, in one step, and only one of those happens.
 *   - Handing over is a step after claiming: the slot is on its way meanwhile.
 *
 * Switches: LEND: a lender has the first slot, and brings it home when it is
 * recalled; there is no holder for it. CLOSE: somebody closes the pool. STAYS_OUT:
 * the first slot is out and does not come home, so that with two words what comes
 * is in another word than the one that is looked at first.
 *
 * Checked: a slot has one owner; nobody is handed two; at the end nobody waits
 * (a lost wake is an end in which a waiter still stands), every slot is free, or
 * retired once when the pool was closed, and the crowd is empty.
 * Mutants are explained in the README beside this file.
 */

#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef SLOTS
#define SLOTS 1
#endif
#ifdef TWO_WORDS
#define WORDS SLOTS
#define WORD(s) (s)
#else
#define WORDS 1
#define WORD(s) 0
#endif
#ifndef ROUNDS
#define ROUNDS 1
#endif
#if defined(LEND) || defined(STAYS_OUT)
#define FIRST_HELD 1
#else
#define FIRST_HELD 0
#endif
#ifdef STAYS_OUT
#define FIRST_BACK 1
#else
#define FIRST_BACK 0
#endif

#define NOBODY 255
#define NO_SLOT 254

/* The pool. */
bool is_free[SLOTS];
bool mark[WORDS];
bool closed[WORDS];
bool here[WAITERS];         /* in the crowd */
bool lends;                 /* the lender, in the other crowd */

/* In the memory of those who wait. */
byte handed[WAITERS] = NOBODY;
bool recalled;

/* Ghosts. */
bool owned[SLOTS];          /* by a thread, or on its way to one */
byte retired;
byte ended;                 /* waits that are over */

#define become_owner(s) assert(!owned[s]); owned[s] = true

/* rgi_pool_take_slot: slot, or NOBODY, or NO_SLOT when the pool is closed. Word
 * after word; the lowest of a word. */
#ifdef TWO_WORDS
#define TAKE_OF_WORD \
    if \
    :: is_free[k] -> is_free[k] = false; become_owner(k); slot = k \
    :: else \
    fi
#else
#define TAKE_OF_WORD \
    if \
    :: is_free[0] -> is_free[0] = false; become_owner(0); slot = 0 \
    :: !is_free[0] && is_free[SLOTS - 1] -> \
        is_free[SLOTS - 1] = false; \
        become_owner(SLOTS - 1); \
        slot = SLOTS - 1 \
    :: else \
    fi
#endif

inline take(slot)
{
    slot = NOBODY;
    do
    :: d_step { k < WORDS && slot == NOBODY ->
            if
            :: closed[k] -> slot = NO_SLOT
            :: else -> TAKE_OF_WORD
            fi;
            k++
        }
    :: d_step { else -> k = 0 }; break
    od
}

/* crowd_claim: who, or NOBODY. A scan is one step: a taker that joins behind it
 * is one that joined after it. */
inline claim(who)
{
    d_step {
        who = NOBODY;
        k = 0;
        do
        :: k < WAITERS && who == NOBODY ->
            if
            :: here[k] -> here[k] = false; who = k
            :: else
            fi;
            k++
        :: else -> break
        od;
        k = 0
    }
}

inline hand(who, slot)
{
    atomic {
        assert(handed[who] == NOBODY);
        handed[who] = slot;
        who = NOBODY
    }
}

inline look_for_crowd(seen)
{
    d_step {
        seen = false;
        k = 0;
        do
        :: k < WAITERS -> seen = seen || here[k]; k++
        :: else -> break
        od;
        k = 0
    }
}

inline retire(slot)
{
    owned[slot] = false;
    retired++;
    slot = NOBODY
}

/* rgi_pool_put_slot; `slot` is NOBODY afterwards. */
inline put(slot)
{
    atomic {
        if
        :: closed[WORD(slot)] -> retire(slot)
        :: !closed[WORD(slot)] && !mark[WORD(slot)] ->
            owned[slot] = false;
            is_free[slot] = true;
            slot = NOBODY
        :: else
        fi
    };
    do
    :: slot == NOBODY -> break
    :: else -> /* rgi_pool_feed */
        claim(who);
        if
        :: who != NOBODY -> hand(who, slot); slot = NOBODY
        :: else ->
            atomic {
                word = WORD(slot);
                if
                :: closed[word] -> retire(slot)
                :: else ->
                    owned[slot] = false;
                    is_free[slot] = true;
                    slot = NOBODY;
                    mark[word] = false;
                    look = true
                fi
            };
            if
            :: look ->
                look = false;
#ifdef MUT_NO_SECOND_LOOK
                seen = false;
#else
                look_for_crowd(seen);
#endif
                if
                :: seen ->
#ifndef MUT_MARK_STAYS_OFF
                    mark[word] = true;
#endif
                    do
                    :: take(slot);
                        if
                        :: slot == NOBODY || slot == NO_SLOT ->
                            slot = NOBODY;
                            break
                        :: else
                        fi;
                        claim(who);
                        if
                        :: who != NOBODY -> hand(who, slot); slot = NOBODY
                        :: else -> break /* publish it again */
                        fi
                    od
                :: else
                fi;
                seen = false;
                word = 0
            :: else
            fi
        fi
    od
}

#define LOCALS byte slot = NOBODY; byte who = NOBODY; byte k, word; bool look, seen

proctype waiter(byte me)
{
    LOCALS;
    byte round;
    bool left;

    do
    :: round == ROUNDS -> break
    :: else ->
        take(slot);
        if
        :: slot == NOBODY ->
#ifdef MUT_RECALL_BEFORE_JOIN
            atomic { if :: lends -> lends = false; recalled = true :: else fi };
#endif
#ifndef MUT_MARK_BEFORE_JOIN
            here[me] = true;
#endif
            k = 0;
            do
            :: k < WORDS -> mark[k] = true; k++
            :: else -> break
            od;
            k = 0;
#ifdef MUT_MARK_BEFORE_JOIN
            here[me] = true;
#endif
#ifndef MUT_NO_LOOK
            take(slot);
#endif
            if
            :: slot == NOBODY
            :: else ->
                atomic { left = here[me]; here[me] = false };
                if
                :: left
#ifdef MUT_KEEPS_BOTH
                :: !left -> left = true
#else
                :: !left ->
                    if
                    :: slot == NO_SLOT -> slot = NOBODY
                    :: else -> put(slot)
                    fi
#endif
                fi
            fi;
#ifndef MUT_RECALL_BEFORE_JOIN
            if
            :: slot == NOBODY ->
                atomic { if :: lends -> lends = false; recalled = true :: else fi }
            :: else
            fi;
#endif
            if
            :: slot == NOBODY && !left ->
                if
                :: handed[me] != NOBODY ->
                    atomic { slot = handed[me]; handed[me] = NOBODY }
                :: true -> /* gives up */
                    atomic { left = here[me]; here[me] = false };
                    if
                    :: left
                    :: else ->
                        handed[me] != NOBODY;
                        atomic { slot = handed[me]; handed[me] = NOBODY }
#ifdef MUT_CANCEL_DROPS
                        ; slot = NOBODY
#endif
                    fi
                fi
            :: else
            fi;
            left = false
        :: else
        fi;
        if
        :: slot == NOBODY || slot == NO_SLOT -> slot = NOBODY
        :: else -> put(slot)
        fi;
        round++
    od;
    ended++
}

/* It waits and does not give up: what is lost is lost for it. */
proctype patient(byte me)
{
    LOCALS;
    bool left;

    take(slot);
    if
    :: slot == NOBODY ->
#ifdef MUT_RECALL_BEFORE_JOIN
        atomic { if :: lends -> lends = false; recalled = true :: else fi };
#endif
#ifndef MUT_MARK_BEFORE_JOIN
        here[me] = true;
#endif
        k = 0;
        do
        :: k < WORDS -> mark[k] = true; k++
        :: else -> break
        od;
        k = 0;
#ifdef MUT_MARK_BEFORE_JOIN
        here[me] = true;
#endif
#ifndef MUT_NO_LOOK
        take(slot);
#endif
        if
        :: slot == NOBODY
        :: else ->
            atomic { left = here[me]; here[me] = false };
            if
            :: left
            :: !left && slot != NO_SLOT -> put(slot)
            :: else -> slot = NOBODY
            fi
        fi;
        if
        :: slot == NOBODY ->
#ifndef MUT_RECALL_BEFORE_JOIN
            atomic { if :: lends -> lends = false; recalled = true :: else fi };
#endif
            handed[me] != NOBODY;
            atomic { slot = handed[me]; handed[me] = NOBODY }
        :: else
        fi
    :: else
    fi;
    if
    :: slot == NO_SLOT -> slot = NOBODY
    :: else -> put(slot)
    fi;
    ended++
}

proctype holder(byte mine)
{
    LOCALS;

    slot = mine;
    put(slot)
}

proctype thief()
{
    LOCALS;

    take(slot);
    if
    :: slot == NOBODY || slot == NO_SLOT
    :: else -> put(slot)
    fi
}

#ifdef LEND
/* Joins, looks for those who wait, and only then lends; gives back what it has
 * when it is recalled, or after a while. */
proctype lender()
{
    LOCALS;
    bool left;

    lends = true;
#ifdef MUT_LEND_BLIND
    seen = false;
#else
    look_for_crowd(seen);
#endif
    seen = seen || closed[0];
    if
    :: !seen -> take(slot)
    :: else -> skip
    fi;
    seen = false;
    if
    :: slot == NOBODY || slot == NO_SLOT -> /* leaves */
        slot = NOBODY;
        atomic { left = lends; lends = false };
        if
        :: left
        :: else -> recalled
        fi
    :: else ->
        recalled || (ended == WAITERS && timeout);
        atomic { lends = false };
        put(slot)
    fi
}
#endif

#ifdef CLOSE
proctype closer()
{
    LOCALS;

#ifdef MUT_CLOSE_TELLS_FIRST
    do
    :: claim(who);
        if
        :: who != NOBODY -> hand(who, NO_SLOT)
        :: else -> break
        fi
    od;
#endif
    do
    :: word < WORDS ->
        atomic {
            closed[word] = true;
            k = 0;
            do
            :: k < SLOTS ->
                if
                :: WORD(k) == word && is_free[k] ->
                    is_free[k] = false;
                    retired++
                :: else
                fi;
                k++
            :: else -> break
            od;
            k = 0
        };
        word++
    :: else -> break
    od;
    word = 0;
#ifndef MUT_CLOSE_TELLS_FIRST
    do
    :: claim(who);
        if
        :: who != NOBODY -> hand(who, NO_SLOT)
        :: else -> break
        fi
    od;
#endif
    atomic { if :: lends -> lends = false; recalled = true :: else fi }
}
#endif

init {
    byte i;
    atomic {
        do
        :: i < WORDS -> mark[i] = true; i++ /* an earlier wait left it */
        :: else -> break
        od;
        i = FIRST_HELD;
        do
        :: i < SLOTS -> owned[i] = true; run holder(i); i++
        :: else -> break
        od;
#ifdef LEND
        is_free[0] = true;
        run lender();
#endif
        run patient(0);
        i = 1;
        do
        :: i < WAITERS -> run waiter(i); i++
        :: else -> break
        od;
#ifdef THIEF
        run thief();
#endif
#ifdef CLOSE
        run closer();
#endif
        i = 0
    };
    _nr_pr == 1;
    i = FIRST_BACK;
    do
    :: i < SLOTS ->
        assert(!owned[i]);
#ifndef CLOSE
        assert(is_free[i]);
#endif
        i++
    :: else -> break
    od;
#ifdef CLOSE
    assert(retired == SLOTS);
#endif
    i = 0;
    do
    :: i < WAITERS -> assert(!here[i] && handed[i] == NOBODY); i++
    :: else -> break
    od;
    assert(!lends)
}
