/* SPDX-License-Identifier: MIT */
/*
 * lane.pml - does the allowance bound what is out, and never stop for ever?
 *
 * Two workers, each with a lane to the other and K messages for it, which it
 * asks (they wait when the allowance is used up) or tries (they are refused).
 * Sizes are small, or larger than the whole limit.
 *
 *   - A message is charged, count and bytes, to the lane of its first send, and
 *     credited when it is home.  Forwarding charges nothing.
 *   - It passes when nobody waits and it fits; one that is larger than the
 *     whole limit fits an empty lane.
 *   - While anyone waits, tries are refused.  Waiters start first in, first
 *     out, and only the first is looked at: a small one behind a large one
 *     waits, else the large one might wait for ever.
 *   - Replies need no allowance.
 *   - A waiting request may be withdrawn (its asker stops); it was never
 *     charged.
 *
 * Credit and the look at the waiters are two steps, so that the callback of an
 * answer may ask or try between them.  Handlers reply or forward and do not
 * themselves wait for anything: an answer that waits for another ask is the
 * application's affair, and late types have lanes of their own, which work like
 * these.
 *
 * Checked: what is really out never exceeds the limit, except for one large
 * message alone; messages start in the order in which they were issued; when
 * nothing moves any more, everything is home, nobody waits and the lanes are
 * empty (so two workers that fill each other's lanes do not stop each other).
 *
 * Switches: K, LIMIT (messages), BYTES; CLOSING: worker 1 may close once it has
 * nothing out; what is sent to it after that comes home at once.
 * Mutants are explained in the README beside this file.
 */

#ifndef K
#define K 3
#endif
#ifndef LIMIT
#define LIMIT 2
#endif
#ifndef BYTES
#define BYTES 3
#endif
#define SMALL 1
#define MIDDLE 2
#define LARGE (BYTES + 1)

#define HOME(m) ((m) / K)
#define OTHER   (1 - me)
#define ALL     (2 * K)

chan mail[2] = [ALL] of { byte };   /* requests on their way to a handler */
chan home[2] = [ALL] of { byte };   /* on their way home */
#ifdef MUT_REPLY_CHARGED
chan replies[2] = [ALL] of { byte };    /* wait for allowance */
#endif
#ifdef MUT_FORWARD_WAITS
chan forwards[2] = [ALL] of { byte };
#endif

/* The lane of worker w to the other: what is charged. */
byte count[2], bytes[2];
bool look[2];                       /* something was credited, look */
bool closed;                        /* worker 1 */

/* The messages. */
byte size[ALL];
bool forwarded[ALL];
bool waits[ALL];                    /* in its lane; the lowest is the oldest */
byte waiting[2];                    /* their number, each lane */
bool may_withdraw[2] = true;

/* Ghosts. */
byte issued[2];                     /* of this worker, so far */
byte really[2];                     /* out: started and not home */
byte really_bytes[2];
byte last[2];                       /* the number of the last started, plus 1 */
byte finished[2];                   /* home, refused or withdrawn */

#ifdef MUT_LARGE_NEVER
#define FITS(s) (count[me] < LIMIT && bytes[me] + (s) <= BYTES)
#elif defined(MUT_LARGE_ALWAYS)
#define FITS(s) (count[me] < LIMIT && ((s) > BYTES || bytes[me] + (s) <= BYTES))
#elif defined(MUT_COUNT_OFF_BY_ONE)
#define FITS(s) (count[me] == 0 || \
    (count[me] <= LIMIT && bytes[me] + (s) <= BYTES))
#else
#define FITS(s) (count[me] == 0 || \
    (count[me] < LIMIT && bytes[me] + (s) <= BYTES))
#endif

#ifdef MUT_TRY_OVERTAKES
#define NOBODY_WAITS true
#else
#define NOBODY_WAITS (waiting[me] == 0)
#endif

/* Charge the first send of m and pass it on. */
inline start(m)
{
    assert(m + 1 > last[me]);       /* as issued: nobody was overtaken */
    last[me] = m + 1;
    count[me]++;
    bytes[me] = bytes[me] + size[m];
    really[me]++;
    really_bytes[me] = really_bytes[me] + size[m];
    assert(really[me] <= LIMIT);
    assert(really_bytes[me] <= BYTES || really[me] == 1);
    if
    :: me == 0 && closed -> home[0]!m   /* turned home by the flush */
    :: else -> mail[OTHER]!m
    fi
}

/* One of ours is home. */
inline credit(m)
{
    assert(HOME(m) == me);
    really[me]--;
    really_bytes[me] = really_bytes[me] - size[m];
    finished[me]++;
#if defined(MUT_CREDITED_TWICE)
    count[me] = (count[me] > 2 -> count[me] - 2 : 0);
    bytes[me] = (bytes[me] > 2 * size[m] -> bytes[me] - 2 * size[m] : 0);
#elif !defined(MUT_NEVER_CREDITED)
    count[me]--;
    bytes[me] = bytes[me] - size[m];
#endif
#ifdef MUT_BYTES_KEPT
    bytes[me] = bytes[me] + size[m];
#endif
#ifndef MUT_NO_LOOK
    look[me] = true;
#endif
    size[m] = 0;
    forwarded[m] = false
}

inline leave_line(m)
{
    assert(waits[m]);
    waits[m] = false;
    waiting[me]--
}

/* Start who may start now: the first, as long as it fits. */
inline serve_waiters()
{
    m = me * K;
    do
    :: m < me * K + issued[me] && waits[m] && FITS(size[m]) ->
        leave_line(m);
        start(m);
        m++
    :: m < me * K + issued[me] && waits[m] && !FITS(size[m]) ->
#ifdef MUT_SMALL_FIRST
        m++                         /* the next may be smaller */
#else
        break
#endif
    :: m < me * K + issued[me] && !waits[m] -> m++
    :: m == me * K + issued[me] -> break
    od;
    m = 0
}

proctype worker(bit me)
{
    byte m;
end:
    do
    /* the user asks or tries the next one */
    :: atomic { issued[me] < K && !(me == 1 && closed) ->
        m = me * K + issued[me];
        issued[me]++;
        if
        :: size[m] = SMALL
        :: size[m] = MIDDLE
        :: size[m] = LARGE
        fi;
        if
        :: NOBODY_WAITS && FITS(size[m]) -> start(m)
        :: !(NOBODY_WAITS && FITS(size[m])) -> waits[m] = true; waiting[me]++
        :: !(NOBODY_WAITS && FITS(size[m])) ->
            size[m] = 0;
            finished[me]++          /* a try: -EAGAIN, it is the caller's */
        fi;
        m = 0 }

    /* a handler: reply or forward, once */
    :: atomic { mail[me]?m ->
        if
        :: true ->
#ifdef MUT_REPLY_CHARGED
            if
            :: HOME(m) != me -> replies[me]!m
            :: else -> home[me]!m
            fi
#else
            home[HOME(m)]!m
#endif
        :: !forwarded[m] && !(me == 0 && closed) ->
            forwarded[m] = true;
#ifdef MUT_FORWARD_CHARGED
            count[me]++;
            bytes[me] = bytes[me] + size[m];
#endif
#ifdef MUT_FORWARD_WAITS
            forwards[me]!m
#else
            mail[OTHER]!m
#endif
        fi;
        m = 0 }
#ifdef MUT_REPLY_CHARGED
    :: atomic { len(replies[me]) > 0 && count[me] < LIMIT ->
        replies[me]?m; home[HOME(m)]!m; m = 0 }
#endif
#ifdef MUT_FORWARD_WAITS
    :: atomic { len(forwards[me]) > 0 && count[me] < LIMIT ->
        forwards[me]?m; mail[OTHER]!m; m = 0 }
#endif

    :: atomic { home[me]?m -> credit(m); m = 0 }
    :: atomic { look[me] -> look[me] = false; serve_waiters() }

    /* once, one that waits is withdrawn: its asker stops.  Whether anybody
     * looks at the others then does not matter: something is out, and its
     * coming home is a look. */
    :: atomic { may_withdraw[me] ->
        may_withdraw[me] = false;
        select(m : 0 .. ALL - 1);
        if
        :: HOME(m) == me && waits[m] ->
            leave_line(m);
            size[m] = 0;
            finished[me]++;
#ifdef MUT_WITHDRAWN_CREDITED
            count[me] = (count[me] > 0 -> count[me] - 1 : 0);
            look[me] = true
#else
            if
            :: look[me] = true
            :: skip
            fi
#endif
        :: else
        fi;
        m = 0 }

#ifdef CLOSING
    :: atomic { me == 1 && !closed && issued[1] == finished[1] &&
            len(mail[1]) == 0 -> closed = true }
#endif
    od
}

/* Nothing can move any more. */
active proctype watch()
{
    timeout;
    assert(finished[0] == issued[0] && finished[1] == issued[1]);
    assert(issued[0] == K && (issued[1] == K || closed));
    assert(waiting[0] == 0 && waiting[1] == 0);
    assert(count[0] == 0 && count[1] == 0 && bytes[0] == 0 && bytes[1] == 0)
}

init
{
    atomic {
        run worker(0);
        run worker(1)
    }
}
