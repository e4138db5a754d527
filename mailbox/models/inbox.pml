/* SPDX-License-Identifier: MIT */
/*
 * inbox.pml - can a message, a wake or a close be lost between two threads?
 *
 * The mailbox, the way a worker parks on it, draining, quiet and close, and the
 * reuse of a worker slot.  One model, three scenarios:
 *
 *   (none)    shutdown: two workers and a guest, two messages each; main stops
 *             both workers; nobody closes before all are quiet; main frees the
 *             runtime, eventfds included.
 *   RETIRE    slot 1 retires alone while worker 0 and the guest go on sending
 *             to it, is closed, and is opened again by a second incarnation;
 *             then shutdown as above.  With FORWARD the guest's message goes to
 *             worker 0, which forwards it to slot 1.  With PATIENT all mail has
 *             to come home before that shutdown, whose stops are wakes too.
 *   OUTSIDE   the guest is replaced by a thread that is neither worker nor
 *             guest and gives back a worker lease; then shutdown.
 *
 * The bell is heard by edge (a ring's multishot poll on an eventfd that is never
 * read) or, with LEVEL, by level (a poll that reads it when it ends the wait).
 *
 * What is checked, and how:
 *
 *   no lost mail, none twice     assertion in came_home(), main's last lines
 *   no worker parked with mail,  no invalid end state: main waits for every
 *   everyone closes after stop   worker, a sleeper that nobody wakes stops it
 *   termination                  the -DNP run has no progress label at all, so
 *                                *any* cycle is an error: every run is finite
 *   one bell per park            assertion in publish(), on `rung_for`
 *   no bell that is not owed     assertion in ring(), on `owed`
 *   one cause per park           assertion at the two ends of park
 *   closed means closed          assertion in publish(), on the ghost `shut`
 *   stale bell stays in slot     assertion in ring(), on the descriptor table
 *   order per sender             assertion in serve()
 *
 * Each MUT_ switch breaks one rule, and each must be caught; the README beside
 * this file says what each breaks.  A CLAIM_ switch adds an assertion that is
 * stronger than what the design can keep.
 *
 * A d_step is one atomic instruction on shared memory together with work on
 * memory that no other thread can see before or after it; everything else
 * interleaves.  A compare-and-swap loop is one step: it succeeds when the head
 * is what its node links to, whenever it was loaded (an A-B-A is harmless on a
 * list that is only pushed to and taken whole), and it retries only when
 * somebody else has made progress.  -DSPLIT takes load and CAS apart to show
 * that nothing hides there.  Spin is sequentially consistent: nothing here
 * speaks for memory order.
 */

/* The head word: five meanings in one word.  A node m is written m + 4. */
#define AWAKE   0           /* empty, owner awake */
#define ASLEEP  1           /* empty, owner asleep: who replaces it rings */
#define CLOSING 2           /* nobody may push; look again, do not park */
#define CLOSED  3           /* nobody may push; take your mail home */
#define NODE(m) ((m) + 4)   /* the newest message */
#define MAIL(h) ((h) > CLOSED)
#define MSG(h)  ((h) - 4)

/* Inboxes: worker slots 0 and 1, the guest's 2. */
#define GUEST   2

/* Messages 0..5: two of each home.  Even ones are one-way and come home as a
 * return, odd ones are requests and come home as their own reply.  The others
 * are nodes that belong to the slot (stop, close order) or to a lease. */
#define HOME(m) ((m) / 2)
#define STOP    6           /* 6, 7: stop or retire, for slot 0 and 1 */
#define CLOSE   8           /* 8, 9: close order, for slot 0 and 1 */
#define LEASE  10
#define BIT(m)  (1 << (m))

#ifdef RETIRE
#ifdef FORWARD              /* the guest's by way of worker 0, else straight */
#define TO(m)   (HOME(m) == 0 -> 1 : 0)
#else
#define TO(m)   (HOME(m) == 1 -> 0 : 1)
#endif
#ifdef FULL                 /* slot 1 sends one, the guest two */
#define SENT    (BIT(0) | BIT(1) | BIT(2) | BIT(4) | BIT(5))
#define GUEST_SENDS 2
#else                       /* and the guest one */
#define SENT    (BIT(0) | BIT(1) | BIT(2) | BIT(4))
#define GUEST_SENDS 1
#endif
#elif defined(OUTSIDE)
#define TO(m)   (HOME(m) == 0 -> 1 : 0)
#define SENT    (BIT(0) | BIT(1) | BIT(2) | BIT(3))
#else                       /* the guest sends one to each */
#define TO(m)   (HOME(m) == 2 -> (m) - 4 : 1 - HOME(m))
#define GUEST_SENDS 2
#define SENT    (BIT(0) | BIT(1) | BIT(2) | BIT(3) | BIT(4) | BIT(5))
#endif

/* What the threads share. */
byte head[3];               /* AWAKE at start */
byte next[11];              /* the links; a terminator is AWAKE or ASLEEP */
bool edge[2];               /* a bell completion is visible on the ring */
bool poke[2];               /* an I/O completion or a due deadline is */
bool written[2];            /* eventfd count is not zero: it is never read */
bool guest_waits;           /* guest is inside futex wait */
byte quiet;                 /* workers that reached quiet */
bool ended[2];              /* worker thread has ended; main joins it */
bool guest_gone;            /* guest closed: its memory may be a dead stack */
#ifdef MUT_STOP_WORD
bool stop_word[2];
#endif
byte outside;               /* threads from outside between entry and exit */

#ifdef LEVEL
#define RUNG(d) written[d]
#else
#define RUNG(d) edge[d]
#endif

/* Who has the descriptor that the slot's number names. */
#define SLOT    0
#define NOBODY  1
byte descriptor[2];

/* Ghosts: for assertions only. */
short came;                 /* messages home, or refused at once */
short answered;             /* past their turn: served, caught or refused */
bool shut[3];               /* nobody may push any more */
bool rung_for[2];           /* this park's ASLEEP was replaced by a sender */
byte owed[2];               /* senders between replacing ASLEEP and the bell */
bool parked[2];
#ifdef CLAIM_STRICT_BELL
byte heard[2];              /* bells that arrived during this park */
#endif

inline came_home(m)
{
    assert(!(came & BIT(m)));
    came = came | BIT(m)
}

/* The bell.  It is rung by number, which the sender read before its CAS: after
 * it, nothing of the inbox is touched any more.  A worker's bell is an edge on
 * the eventfd; several writes before the owner looks are one completion.  The
 * guest's is a futex wake, nothing at all when it does not wait. */
inline ring(d)
{
    if
    :: d == GUEST ->
#ifdef MUT_GUEST_TOUCH
        assert(!guest_gone);
#endif
        guest_waits = false
    :: else ->
        assert(descriptor[d] == SLOT);
#if !defined(MUT_BELL_BEFORE_CAS) && !defined(MUT_STOP_WORD)
        assert(owed[d] > 0);
        owed[d]--;
#endif
#ifdef CLAIM_STRICT_BELL
        if
        :: parked[d] -> heard[d]++; assert(heard[d] <= 1)
        :: else
        fi;
#endif
#ifdef MUT_EAGAIN
        if
        :: !written[d] -> edge[d] = true    /* else full: no edge */
        :: else
        fi;
#else
        RUNG(d) = true;
#endif
#if defined(RETIRE) || defined(MUT_EAGAIN)
        written[d] = true
#endif
    fi
}

/* The step that publishes: from here the message is the receiver's.  Whoever
 * replaced ASLEEP owes the bell, and nobody else does. */
inline publish(d, f, l)
{
    assert(!shut[d]);
    next[l] = seen;
    head[d] = NODE(f);
    if
    :: seen == ASLEEP && d != GUEST ->
        assert(!rung_for[d]);
        rung_for[d] = true;
#if !defined(MUT_BELL_BEFORE_CAS) && !defined(MUT_STOP_WORD)
        owed[d]++
#endif
    :: else
    fi
}

#ifdef MUT_BELL_ALWAYS
#define RINGS(h) ((h) == ASLEEP || (h) == AWAKE)
#else
#define RINGS(h) ((h) == ASLEEP)
#endif

/* Push a chain f .. l (one message: f == l), built newest first, with one
 * compare-and-swap.  The bell is a step of its own, and the sender may be held
 * up before it for any time.  What does not go in leaves `refused` (CLOSED) or
 * `closing` set. */
inline push(d, f, l)
{
#if defined(SPLIT) || defined(MUT_BELL_BEFORE_CAS)
    won = false;
    do
    :: won -> break
    :: !won ->
        seen = head[d];
        if
        :: seen == CLOSED -> refused = true; break
        :: seen == CLOSING -> closing = true; break
        :: else
        fi;
#ifdef MUT_BELL_BEFORE_CAS
        if
        :: seen == ASLEEP -> d_step { ring(d) }
        :: else
        fi;
#endif
        d_step {
            if
            :: head[d] == seen -> publish(d, f, l); won = true
            :: else
            fi
        }
    od;
    won = false;
#else
    d_step {
        seen = head[d];
        if
        :: seen == CLOSED -> refused = true
        :: seen == CLOSING -> closing = true
        :: else -> publish(d, f, l)
        fi;
        seen = (RINGS(seen) -> ASLEEP : AWAKE)
    }
#endif
    if
    :: seen == ASLEEP ->
#if !defined(MUT_NO_BELL) && !defined(MUT_BELL_BEFORE_CAS)
        d_step { ring(d); seen = AWAKE }
#endif
    :: else
    fi;
    seen = AWAKE
}

/* Collect m in the outbox for d: newest first, so that the receiver's reversal
 * restores the order. */
inline collect(d, m)
{
    if
    :: first[d] == 0 -> last[d] = m; next[m] = 0
    :: else -> next[m] = first[d]
    fi;
    first[d] = NODE(m)
}

/* Flush one outbox: one atomic and at most one bell.  CLOSING leaves it as it
 * is.  At CLOSED the flusher turns the chain home message by message: its own
 * through the local FIFO, what it had forwarded to the outbox of its home.
 * Nothing of the closed worker's can be in it: that had nothing out. */
inline flush(d)
{
    if
    :: first[d] != 0 ->
        push(d, MSG(first[d]), last[d]);
        d_step {
            if
            :: refused ->
#ifndef RETIRE
                assert(false);      /* all were quiet: nobody is refused */
#endif
                h = first[d];
                do
                :: MAIL(h) ->
                    m = MSG(h);
                    h = next[m];
                    next[m] = 0;
#ifdef FORWARD
                    if
#ifdef MUT_FORWARD_TO_FIFO
                    :: true -> fifo = fifo | BIT(m)
#else
                    :: HOME(m) == me -> fifo = fifo | BIT(m)
#ifdef MUT_FORWARD_DROPPED
                    :: else
#else
                    :: else -> collect(HOME(m), m)
#endif
#endif
                    fi
#else
                    assert(HOME(m) == me);
#ifndef MUT_REFUSED_DROPPED
                    fifo = fifo | BIT(m)
#endif
#endif
                :: else -> break
                od
            :: else
            fi;
            if
#ifdef MUT_CLOSING_LOSES
            :: true -> first[d] = 0; last[d] = 0
#else
            :: !closing -> first[d] = 0; last[d] = 0
#endif
            :: else
            fi;
            h = 0; m = 0; refused = false; closing = false
        }
    :: else
    fi
}

/* Put the list h, newest first, into the order it was sent, in `rev`. */
inline reverse()
{
    rev = 0;
    do
    :: MAIL(h) -> m = MSG(h); h = next[m]; next[m] = rev; rev = NODE(m)
    :: else -> break        /* AWAKE or ASLEEP: both end the list */
    od
}

/* A message is dealt with: served, kept, forwarded, or (draining, stale,
 * unlinked) turned round with a status.  Whatever the reason, it goes home. */
inline serve(m)
{
    /* In order: nothing overtakes its predecessor from the same sender. */
    assert(!(m & 1) || TO(m) != TO(m - 1) || (answered & BIT(m - 1)));
    answered = answered | BIT(m);
    if
#ifdef FORWARD
    :: me == 0 && HOME(m) == GUEST && !draining -> collect(1, m)
#else
    :: m == 5 && !draining && life == 0 -> kept = true
#endif
    :: else -> collect(HOME(m), m)
    fi
}

/* One of ours is home.  Its callback is user code and may send again, also
 * while the worker drains. */
inline home()
{
    assert(HOME(m) == me);
    came_home(m);
    out--;
#if defined(RETIRE) || defined(LATE)
    if
    :: m == 0 -> collect(1, 1); out++
    :: else
    fi
#endif
}

#ifdef MUT_PARK_UNFLUSHED
#define FLUSHED true
#else
#define FLUSHED (first[0] == 0 && first[1] == 0 && first[2] == 0)
#endif
#define IDLE    (nready == 0 && fifo == 0 && FLUSHED)
#define QUIET   (draining && !counted && out == 0 && IDLE && !kept && !leased)

/* Only a closing peer keeps this worker busy. */
#define HELD_UP (nready == 0 && fifo == 0 && first[GUEST] == 0 && \
    first[1 - me] != 0 && head[1 - me] == CLOSING)

/* A worker: its turn, as far as mail goes.  `life` is 0 for the first
 * incarnation on a slot and 1 for the second. */
proctype worker(byte me; bit life)
{
    chan ready = [4] of { byte };   /* the ready list */
    byte first[3], last[3];         /* outboxes */
    byte fifo;                      /* own mail turned home by a flush */
    byte nready;                    /* its length */
    byte out;                       /* own messages that are not home */
    bool draining, counted, ordered, kept, leased, retiring;
    byte h, m, rev, seen;
    bool won, refused, closing;

#ifdef RETIRE
    retiring = (me == 1 && life == 0);
    if
    :: life == 1 ->
        /* The new owner opens the slot, after everything that can fail, and
         * it opens it awake.  Arming the poll on an eventfd that is never
         * read shows an old bell at once: one spurious wake. */
        d_step {
            assert(head[me] == CLOSED);
            RUNG(me) = written[me];
            shut[me] = false;
            head[me] = AWAKE
        }
    :: else
    fi;
#endif
#ifdef OUTSIDE
    leased = (me == 0);
#endif
    /* Worker 0 sends its two as one chain (RETIRE, LATE: the second when the
     * first is home, so that it may meet a closed slot), worker 1 singly. */
    if
    :: me == 0 ->
#if defined(RETIRE) || defined(LATE)
        d_step { collect(1, 0); out = 1 }
#else
        d_step { collect(1, 0); collect(1, 1); out = 2 }
#endif
    :: me == 1 && life == 0 ->
        d_step { collect(0, 2); out = 1 }
#ifndef RETIRE
        flush(0);
        d_step { collect(0, 3); out = 2 }
#endif
    :: else
    fi;

    do
    ::  /* 1. Sort.  Take all with one exchange; ASLEEP is empty and becomes
         * AWAKE; CLOSING and CLOSED are never written over.  Control, replies
         * and returns are applied at once, user mail joins the ready list in
         * order. */
        d_step {
            h = head[me];
            if
            :: h == AWAKE -> h = 0
            :: else ->
                assert(h != CLOSING && h != CLOSED);
                head[me] = AWAKE;
                rung_for[me] = false
            fi;
            reverse();
            do
            :: MAIL(rev) ->
                m = MSG(rev);
                rev = next[m];
                next[m] = 0;
                if
                :: m == STOP + me -> draining = true
                :: m == CLOSE + me -> ordered = true
                :: m == LEASE -> leased = false
                :: m < STOP && HOME(m) == me ->
#ifdef MUT_DRAIN_DROPS
                    if
                    :: draining -> skip
                    :: else -> home()
                    fi
#else
                    home()
#endif
                :: else -> ready!m; nready++
                fi
            :: else -> break
            od;
            m = 0;
            do
            :: m < STOP && (fifo & BIT(m)) ->
                home();
                fifo = fifo - BIT(m);
                m++
            :: m < STOP && !(fifo & BIT(m)) -> m++
            :: else -> break
            od;
#ifdef MUT_STOP_WORD
            draining = draining || stop_word[me];
#endif

            /* 3. Run.  A batch is bounded: worker 1 takes one at a time, so
             * that there are leftovers, worker 0 all.  Draining withdraws what
             * is kept. */
            if
            :: nready != 0 -> ready?m; nready--; serve(m)
            :: else
            fi;
            do
            :: nready != 0 && me == 0 -> ready?m; nready--; serve(m)
            :: else -> break
            od;
            if
            :: kept && draining -> kept = false; collect(GUEST, 5)
            :: else
            fi;
            h = 0; m = 0; rev = 0
        }

        /* 4. Flush, always before parking.  The guest's first, so that what a
         * refused flush turns home is left over. */
#ifndef OUTSIDE
        flush(GUEST);
#endif
        flush(1 - me);

        /* Quiet: draining, and nothing of ours is out, kept, ready or
         * unflushed.  It is counted once and not taken back: what can still
         * arrive is other people's mail, and that goes home.  The one that
         * completes the count orders the close. */
        if
#ifdef MUT_CLOSE_OUT
        :: draining -> goto close
#endif
#ifdef RETIRE
        :: QUIET && retiring -> goto close
#endif
        :: QUIET && !retiring ->
#ifdef MUT_CLOSE_ALONE
            goto close;
#endif
            d_step { counted = true; quiet++; won = (quiet == 2) }
            if
            :: won ->
#ifndef MUT_NO_ORDER
                push(1 - me, CLOSE + 1 - me, CLOSE + 1 - me);
                assert(!refused && !closing);
#endif
                goto close
            :: else
            fi
        :: ordered && FLUSHED -> goto close
        :: else
        fi;

        /* 5. Park: a last look at what only we can see, after the flush, then
         * the CAS from awake-empty to asleep; if mail came in between, the CAS
         * fails and the turn goes round. */
        if
#ifdef MUT_PARK_BLIND
        :: true ->
#else
        :: IDLE ->
#endif
            d_step {
#ifdef MUT_PARK_STORE
                head[me] = ASLEEP;
                won = true;
#else
                won = (head[me] == AWAKE);
                head[me] = (won -> ASLEEP : head[me]);
#endif
                if
                :: won ->
                    assert(!parked[me]);
                    assert(!rung_for[me]);
                    parked[me] = true
                :: else
                fi
            }
            if
            :: won ->
#ifdef MUT_READ_ASLEEP
                RUNG(me) = false;       /* start with a clean bell */
#endif
                /* Submit and wait, in one call: back when any completion is
                 * visible, or the deadline. */
                d_step {
                    (RUNG(me) || poke[me]) ->
                    assert(parked[me]);
                    parked[me] = false;
#ifdef CLAIM_STRICT_BELL
                    heard[me] = 0;
#endif
                    won = false;
                    if
                    :: RUNG(me) -> RUNG(me) = false     /* cause: bell */
                    :: else -> poke[me] = false         /* I/O, deadline */
                    fi
                }
            :: else
            fi
#ifdef RETIRE
        :: !IDLE && HELD_UP ->
            /* Busy turns until the peer has closed, or mail comes: one wait
             * here, so that every run stays finite. */
            head[1 - me] != CLOSING || head[me] != AWAKE
#endif
        :: else ->
            /* Work is left: a turn without a wait.  6. It may or may not reap,
             * and a bell seen awake means nothing. */
            if
#ifndef LEVEL
            :: edge[me] = false
#endif
            :: skip
            fi
        fi
    od;

close:
    /* Closed, in two steps.  One exchange: from here nobody can push.  What it
     * caught was accepted, so it goes home like the rest, and is flushed; then
     * a plain store, for nobody else writes over CLOSING. */
    won = false;
    d_step {
        h = head[me];
        head[me] = CLOSING;
        shut[me] = true;
#ifdef MUT_CATCH_DROPPED
        h = 0;
#endif
        reverse();
        do
        :: MAIL(rev) ->
            m = MSG(rev);
            rev = next[m];
            next[m] = 0;
#ifndef MUT_CLOSE_OUT
            assert(HOME(m) != me && m < STOP);
#ifndef RETIRE
            assert(HOME(m) == GUEST);       /* all were quiet */
#endif
#endif
            if
            :: m < STOP ->
                answered = answered | BIT(m);
                collect(HOME(m), m)
            :: else
            fi
        :: !MAIL(rev) -> break
        od;
        do
        :: nready != 0 -> ready?m; nready--; collect(HOME(m), m)
        :: else -> break
        od;
        h = 0; m = 0; rev = 0
    }
#ifdef MUT_TAKE_REOPENS
    /* The loop goes round once more to flush, and takes. */
    d_step { h = head[me]; head[me] = AWAKE }
#endif
#if defined(RETIRE) || defined(MUT_CLOSE_OUT)
    flush(1 - me);                  /* else all were quiet: no worker's mail */
#endif
#ifndef OUTSIDE
    flush(GUEST);
#endif
    assert(FLUSHED);                /* no two workers wait at CLOSING */
    d_step {
#ifndef MUT_TAKE_REOPENS
        assert(head[me] == CLOSING);
#endif
#ifndef MUT_STAYS_CLOSING
        head[me] = CLOSED;
#endif
        edge[me] = false;           /* the ring goes, and its completions */
        poke[me] = false;
#ifdef MUT_FD_INCARNATION
        descriptor[me] = NOBODY;
#endif
        ended[me] = true
    }
}

#ifndef OUTSIDE
/* A plain thread with an inbox of its own.  Its bell is a futex on the head
 * word: the kernel compares before it sleeps, and a change of the word wakes
 * nobody, only the call does. */
proctype guest()
{
    byte h, m, rev, seen, out, to;
    bool won, refused, closing;

    m = 4;
    do
    :: m < 4 + GUEST_SENDS ->
        to = TO(m);
        push(to, m, m);
        if
        :: closing ->               /* look again; nothing else to do */
            atomic { head[to] != CLOSING -> closing = false }
        :: else ->
            d_step {
                if
                :: refused ->       /* -EPIPE */
                    came_home(m);
                    answered = answered | BIT(m)
                :: else -> out++
                fi;
                refused = false;
                m++
            }
        fi
    :: else -> break
    od;
    atomic { m = 0; to = 0 }
    do
    ::  d_step {
            h = head[GUEST];
            head[GUEST] = AWAKE;
            reverse();
            do
            :: MAIL(rev) ->
                m = MSG(rev);
                rev = next[m];
                next[m] = 0;
                came_home(m);
                out--
            :: else -> break
            od;
            h = 0; m = 0; rev = 0
        }
        if
        :: out == 0 -> break
        :: else
        fi;
        d_step {
            won = (head[GUEST] == AWAKE);
            head[GUEST] = (won -> ASLEEP : head[GUEST])
        }
        if
        :: won ->
#ifdef MUT_FUTEX_NO_COMPARE
            d_step { guest_waits = true; won = false }
#else
            d_step { guest_waits = (head[GUEST] == ASLEEP); won = false }
#endif
            !guest_waits
        :: else
        fi
    od;
    won = false;
    d_step {
        assert(head[GUEST] == AWAKE);
        head[GUEST] = CLOSED;
        shut[GUEST] = true;
        guest_gone = true
    }
}
#else
/* Gives back a worker lease: allowed from any thread, so this one is neither
 * worker nor guest, and nothing that it sends comes home to it. */
proctype outsider()
{
    byte seen;
    bool won, refused, closing;

    push(0, LEASE, LEASE);
    assert(!refused && !closing);
    d_step { outside-- }
}
#endif

/* I/O and deadlines: one wake of either kind, for one of the slots, at any
 * time, or never.  Never is what shows a lost bell.  Without -DFULL the big
 * scenarios have it for slot 1 only (RETIRE) or not at all (shutdown). */
proctype world()
{
    if
#if defined(RETIRE) || defined(OUTSIDE) || defined(FULL)
    :: poke[1] = true
#endif
#if defined(OUTSIDE) || defined(FULL)
    :: poke[0] = true
#endif
    :: skip
    fi
}

/* Main: starts, stops, joins, frees. */
init
{
    byte seen;
    bool won, refused, closing;

#ifdef OUTSIDE
    outside = 1;            /* counted on entry, before anything is pushed */
#endif
    atomic {
        run worker(0, 0);
        run worker(1, 0);
#ifdef OUTSIDE
        run outsider();
#else
        run guest();
#endif
        run world()
    }
#ifdef RETIRE
    push(1, STOP + 1, STOP + 1);
    ended[1];
    atomic { ended[1] = false; run worker(1, 1) }
    !shut[1];               /* the new owner has opened its slot */
#endif
#ifdef PATIENT
    came == SENT;           /* no stop wakes whoever sleeps on his mail */
#endif
#ifdef MUT_STOP_WORD
    stop_word[0] = true;
    if
    :: d_step { head[0] == ASLEEP -> ring(0) }
    :: head[0] != ASLEEP
    fi;
    stop_word[1] = true;
    if
    :: d_step { head[1] == ASLEEP -> ring(1) }
    :: head[1] != ASLEEP
    fi;
#else
    push(0, STOP + 0, STOP + 0);
    push(1, STOP + 1, STOP + 1);
#endif
    assert(!refused && !closing);

    /* Free: all workers joined, guests closed, and nobody from outside is
     * between its push and its bell. */
    ended[0] && ended[1];
#ifndef MUT_FREE_EARLY
#ifdef OUTSIDE
    outside == 0;
#else
    guest_gone;
#endif
#endif
    d_step { descriptor[0] = NOBODY; descriptor[1] = NOBODY }
#ifdef MUT_FREE_EARLY
#ifdef OUTSIDE
    outside == 0;
#else
    guest_gone;
#endif
#endif
    assert(came == SENT);
    assert(head[0] == CLOSED && head[1] == CLOSED);
    assert(!parked[0] && !parked[1])
}
