/* SPDX-License-Identifier: MIT */
/*
 * lease.pml - can a worker close while somebody still needs its thread?
 *
 * A lease is taken by a call on the worker's own thread; retirement is admitted
 * by the same thread, when it handles the RETIRE message, so the two are
 * serialised by being on one thread.  A release from any thread claims the
 * lease's record (one exchange) and pushes it home as a message.  The worker
 * closes when retirement is admitted, no lease, operation or message of its own
 * is out and its inbox is empty.  A resize up into the slot waits for CLOSED and
 * starts the next incarnation.
 *
 * With FORCED the worker may end by force: it gives its records up, each by one
 * compare-and-swap, and a release that finds that frees the record itself.  One
 * that was claimed before is awaited.
 *
 * Checked: never "granted yet retired"; nothing is pushed home to a closed
 * worker; the worker closes after the last release; two incarnations never
 * overlap; a second release changes nothing; a record is freed once, by one of
 * the two.
 *
 * Mutants, one -D each:
 *   MUT_NO_SERIAL   retirement is admitted by the resizing thread: taking looks,
 *                   then counts
 *   MUT_NO_BELL     the release does not ring a parked owner
 *   MUT_SLEEP_RACE  going to sleep is not one step with looking for mail
 *   MUT_TWICE       a second release sends a second message
 *   MUT_GROW_NOW    growing does not wait for the old incarnation
 *   MUT_CLOSE_OPS   closing waits for leases only
 *   MUT_GIVE_BLIND  (FORCED) a record that is being released is given up, too
 *   MUT_CLAIM_LATE  (FORCED) the release looks first and claims afterwards
 */

mtype = { RETIRE, RELEASE, RETURN, COMPLETION };

#define LEASES 2

chan inbox = [6] of { mtype, byte };            /* kind, incarnation it belongs to */
bool asleep, bell, closed;
byte incarnation = 1;
byte running;                                   /* incarnations alive */
bool token[LEASES];                             /* active tokens, each in the hands of one thread */
byte token_of[LEASES];                          /* snapshot for diagnosis only */
byte obligations;                               /* ghost: granted and not yet released by the application */
bool admitted_outside;                          /* MUT_NO_SERIAL: the flag the resizer sets */
byte leases, ops, out;
mtype = { HELD, CLAIMED, GIVEN };
mtype record[LEASES];                           /* whose the record is: the worker's, a releaser's */
byte freed[LEASES];                             /* ghost: home, or freed by the token's holder */
bool forced;

inline push(m, i)                               /* one step: publish, and learn whether to ring */
{
        atomic {
                assert(!closed);
                inbox!m, i;
                if :: asleep -> asleep = false; bell = true :: else fi
        }
}

inline push_silently(m, i) { atomic { assert(!closed); inbox!m, i } }

#ifdef MUT_CLOSE_OPS
#define HOME (leases == 0)
#else
#define HOME (leases == 0 && ops == 0 && out == 0)
#endif

inline home_one()                               /* which of them it is does not matter */
{
        if
        :: record[0] == CLAIMED && freed[0] == 0 -> freed[0]++
        :: else -> assert(freed[1] == 0); freed[1]++
        fi
}

proctype W(byte me)
{
        bool admitted, saw;
        byte tries;
        mtype m;
        byte i;
        atomic { running++; assert(running == 1); ops = 1; out = 1; run Peer(me); run Kernel(me) }
        do
        :: inbox?m, i ->
                atomic {
                        if
                        :: m == RETIRE -> admitted = true
                        :: m == RELEASE -> assert(i == me && leases > 0); leases--; home_one()
                        :: m == RETURN -> assert(i == me); out--
                        :: m == COMPLETION -> assert(i == me); ops--
                        fi; m = 0; i = 0
                }
        /* an actor of this worker takes a lease: a plain call on this thread */
#ifdef MUT_NO_SERIAL
        :: tries < LEASES && !admitted_outside ->
                atomic { leases++; obligations++; token[tries] = true; record[tries] = HELD; token_of[tries] = me; tries++;
                        assert(!closed) }
        :: closed -> goto gone
#else
        :: atomic { tries < LEASES && me == 1 ->
                if
                :: admitted                     /* -EPIPE: no obligation */
                :: else -> leases++; obligations++; token[tries] = true; record[tries] = HELD; token_of[tries] = me
                fi; tries++ }
        :: atomic { admitted && HOME && empty(inbox) ->
                closed = true;
                assert((forced || obligations == 0) && leases == 0 && ops == 0 && out == 0);
                goto gone }
#endif
#ifdef FORCED
        /* by force, after it was told to go: a compare-and-swap for each record */
        :: atomic { admitted && !forced && me == 1 && tries == LEASES -> forced = true }
        :: atomic { forced && leases > 0 && record[0] == HELD -> record[0] = GIVEN; leases-- }
        :: atomic { forced && leases > 0 && record[1] == HELD -> record[1] = GIVEN; leases-- }
#ifdef MUT_GIVE_BLIND
        :: atomic { forced && leases > 0 && record[0] == CLAIMED && freed[0] == 0 -> record[0] = GIVEN; leases-- }
#endif
#endif
        /* park: asleep only if nothing is there, in one step */
#ifdef MUT_SLEEP_RACE
        :: atomic { empty(inbox) && !(admitted && HOME) && tries == LEASES -> saw = true }
                asleep = true; saw = false;
                atomic { bell -> bell = false }
#else
        :: atomic { empty(inbox) && !(admitted && HOME) && !closed && (tries == LEASES || me == 2) ->
                asleep = true }
end_parked:
                atomic { bell -> bell = false }
#endif
        od;
gone:   running--
}

proctype Peer(byte i) { push(RETURN, i) }
proctype Kernel(byte i) { push(COMPLETION, i) }

/* the application's threads: each has been given one token and releases it twice */
inline release(k)
{
#ifdef MUT_TWICE
        if
        :: token[k] -> obligations--; token[k] = false
        :: else
        fi;
        push(RELEASE, token_of[k])
#else
        if
        :: atomic { token[k] -> token[k] = false; obligations--;
#ifdef MUT_CLAIM_LATE
                if :: record[k] == GIVEN -> freed[k]++ :: else -> skip fi }
                if :: record[k] != GIVEN -> record[k] = CLAIMED; push(RELEASE, token_of[k]) :: else -> skip fi
#else
                if
                :: record[k] == GIVEN -> freed[k]++; assert(freed[k] == 1)
                :: else -> record[k] = CLAIMED
                fi }
                if
                :: record[k] == CLAIMED ->
#ifdef MUT_NO_BELL
                        push_silently(RELEASE, token_of[k])
#else
                        push(RELEASE, token_of[k])
#endif
                :: else -> skip
                fi
#endif
        :: atomic { !token[k] -> skip }
        fi
#endif
}

active proctype T0() { end_none: token[0]; release(0); release(0) }
active proctype T1() { end_none: token[1]; release(1); release(1) }

/* shrink, then grow into the same slot */
active proctype Resizer()
{
        run W(1);
        running == 1;
#ifdef MUT_NO_SERIAL
        admitted_outside = true;                /* the flag, then a look at the counts */
        atomic { HOME && empty(inbox) -> closed = true; bell = true }
#else
        push(RETIRE, 1);
#endif
#ifdef MUT_GROW_NOW
        incarnation = 2;
#else
        atomic { closed && running == 0 -> closed = false; asleep = false; incarnation = 2 }
#endif
        run W(2)
}

active proctype Check()
{
        timeout -> d_step {
                assert(incarnation == 2 && running == 1 && obligations == 0);
                assert(freed[0] <= 1 && freed[1] <= 1)
        }
}

