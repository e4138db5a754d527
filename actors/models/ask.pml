/* SPDX-License-Identifier: MIT */
/*
 * ask.pml - does each request come home exactly once, and only when it is over?
 *
 * One request record.  An actor on worker 0 asks it, of an actor on any worker
 * (one lives on each) or of its own worker: an operation.  Who has it replies,
 * forwards, keeps or forgets it; actors stop, workers close.  The same record
 * is asked ASKS times, again as soon as its answer is delivered, also from its
 * own callback.
 *
 * What is atomic here: one worker's step between two looks at something another
 * worker can write.  A step holds at most one publication (flush) or one take;
 * everything else in it is private to the worker, so finer steps would add
 * states and no behaviour.
 *
 *   outbox[s,d]  collected by s for d, seen by s alone
 *   lane[s,d]    published, first in first out; d takes all lanes of other
 *                workers at once (one exchange), its own (local FIFO) by itself
 *   control[d]   taken, and applied before any user mail: what comes home
 *   ready[d]     taken user mail, not handled yet
 *
 * The protocol:
 *   - A handler ends with one of reply, forward, keep, or nothing: then the
 *     request goes home with -EPROTO.  A second verb is refused; whether this
 *     delivery has had its verb is known to the worker, not to the record,
 *     which may be on its way again.
 *   - `holder` names the worker the record is at or on its way to, or HOME.
 *     Only that worker may write the record; it hands the right on by storing
 *     the next name before it passes the record on.  (Here only the assertion
 *     reads it; the cancel that follows it is in cancel.pml.)
 *   - A token is judged by the keeper's own table and spent before anything
 *     else happens to the request, `withdrawn` included.
 *   - A stopping actor gets nothing more, gives back what it keeps, asks its
 *     own operation to stop, and has stopped when nothing of its own is out.
 *   - A cancel is a request to an operation; its one completion ends it, and
 *     what it had achieved wins.  (Cancels of asks: cancel.pml.)
 *   - A push refused by a closed worker gives the record back to the pusher,
 *     who sends it home.
 *   - The lane is credited first, then the answer is delivered.
 *
 * Switches:  N workers (2), ASKS, MAXFWD bounds; CLOSING workers other than the
 *            asker's may close; TOKENS a spent token is tried; SECOND a handler
 *            tries a second verb, after a flush too.
 * Mutants:   MUT_..., see the README beside this file.  The W_ switch claims
 *            that something interesting never happens and must fail too: a
 *            result that wins over a cancel which had reached the operation.
 */

#ifndef N
#define N 2
#endif
#ifndef MAXFWD
#define MAXFWD 2
#endif
#ifndef ASKS
#define ASKS 2
#endif

#define ASKER 0
#define HOME  N             /* not a worker: on its way home, or there */
#define OPERATION N         /* as a target: the asker's own worker */
#define L(s, d) ((s) * N + (d))

#if N == 2
#define any_worker(v)   if :: v = 0 :: v = 1 fi
#define OTHERS_OUT(w)   (len(outbox[L(w, 1 - (w))]) > 0)
#define LANES(w)        (len(lane[L(1 - (w), w)]) > 0)
#else
#define any_worker(v)   if :: v = 0 :: v = 1 :: v = 2 fi
#define OTHERS_OUT(w)   (len(outbox[L(w, ((w) + 1) % N)]) > 0 || \
                         len(outbox[L(w, ((w) + 2) % N)]) > 0)
#define LANES(w)        (len(lane[L(((w) + 1) % N, w)]) > 0 || \
                         len(lane[L(((w) + 2) % N, w)]) > 0)
#endif

mtype = { REQUEST, REPLY };
mtype = { NONE, OK, ECANCELED, EPROTO, ESRCH, ELOOP, EPIPE };
mtype = { OFF, ARMED, DUE };

chan outbox[N * N] = [2] of { mtype };
chan lane[N * N]   = [2] of { mtype };
chan control[N]    = [2] of { mtype };
chan ready[N]      = [1] of { mtype };

/* The record. */
byte  holder = HOME;
bit   marked;               /* an operation was asked to stop */
mtype status = NONE;
byte  hops;
byte  charged;              /* the lane of its first send */
#ifdef MUT_FLAG_IN_RECORD
bit   verb_had;
#endif

/* The asker's side; touched by worker 0 alone. */
byte  asked, answered;
bit   request_out, cancel_asked;
bit   cancel_plan;          /* the user will cancel, some time */
bit   stopped;              /* its `stopped` hook has run, its memory is gone */
mtype deadline = OFF;       /* DUE: collected, not yet acted on */
byte  deadline_of;
byte  out[N];               /* lanes of worker 0: charged and not credited */

/* Receivers: one actor a worker. */
bit   alive[N], kept[N];
bit   lazy[N];              /* never answers or completes by its own will */
bit   lingers[N];           /* still in the handler, which has had its verb */
bit   stop_plan[N], close_plan[N], closed[N];
bit   busy;                 /* the operation is the kernel's */
#ifdef TOKENS
byte  token_of[N], old_token_of[N]; /* the ask the last two were given for */
bit   stale_try = 1;        /* one answer with a spent token in a run */
#endif
#ifdef SECOND
bit   second_try = 1;       /* one second verb in a run */
#endif

/* Scratch of one atomic step. */
hidden mtype m;
hidden mtype result;
hidden byte  via;

/* Ghosts. */
byte  request_links;        /* lists, tables, kernels the request is in */
#ifdef MUT_HOLDER_LATE
byte  late[N];              /* store still to be made, plus one */
#endif

inline link_request()
{
    assert(!stopped);
    assert(request_links == 0);
    request_links++
}

inline unlink_request()
{
    assert(request_links == 1);
    request_links--
}

#define may_write(w)    assert(holder == (w))

/* What a worker sends itself bypasses the outbox. */
inline put(from, to, what)
{
    if
    :: from == to -> lane[L(from, to)]!what
    :: else -> outbox[L(from, to)]!what
    fi
}

/* The request has been unlinked by worker w, who may write it. */
inline send_home(w, s)
{
    status = s;
    holder = HOME;
    link_request();
#ifdef MUT_EARLY_DELIVERY
    if
    :: w != ASKER -> deliver()      /* the answer is in: why wait for it? */
    :: else
    fi;
#endif
    put(w, ASKER, REPLY)
}

inline send_if_over(w)
{
    if
    :: result != NONE -> send_home(w, result)
    :: else
    fi
}

inline unkeep(w)
{
    kept[w] = 0;
    lazy[w] = 0;
    unlink_request()
}

/* Pass it on, or leave ELOOP in `result`. */
inline forward(w, d)
{
    may_write(w);
    if
    :: hops == MAXFWD -> result = ELOOP
    :: hops < MAXFWD ->
#ifndef MUT_HOPS_UNCOUNTED
        hops++;
#endif
#if defined(MUT_NO_HOLDER)
        skip;
#elif defined(MUT_HOLDER_LATE)
        late[w] = d + 1;
#else
        holder = d;
#endif
        link_request();
        put(w, d, REQUEST)
    fi
}

/* The one callback, after which the record may be asked again at once. */
inline deliver()
{
    assert(request_links == 0);
    assert(!stopped);
    assert(holder == HOME && status != NONE);
    assert(status != ECANCELED || cancel_asked);
#ifdef W_PROGRESS
    assert(!(cancel_asked && marked && status == OK));
#endif
    request_out = 0;
    answered++;
    assert(answered == asked);
    hops = 0;
    marked = 0;
    deadline_of = 0;
    cancel_plan = 0;                /* nothing left to cancel */
#ifdef MUT_STALE_TIMER
    if
    :: deadline == ARMED -> deadline = OFF
    :: else
    fi;
#else
    deadline = OFF;     /* out of the queue, and of the collected list too */
#endif
    if
    :: alive[ASKER] && asked < ASKS -> ask()
    :: true
    fi
}

inline credit()
{
    if
    :: charged != ASKER ->
        assert(out[charged] > 0);
        out[charged]--
    :: else
    fi
}

inline come_home()
{
    unlink_request();
#ifdef MUT_CREDIT_AFTER
    deliver();
    credit()
#else
    credit();
    deliver()
#endif
}

inline handle(w)
{
    unlink_request();
    may_write(w);
    result = NONE;
#ifdef MUT_FLAG_IN_RECORD
    verb_had = 0;
#endif
    if
    :: !alive[w] -> result = ESRCH
    :: alive[w] ->
        if
        :: result = OK
#ifdef MUT_UNANSWERED
        :: skip                     /* the handler did nothing, nor do we */
#else
        :: result = EPROTO          /* the handler did nothing */
#endif
        :: true -> any_worker(via); forward(w, via)
        :: kept[w] = 1;
            link_request();
#ifdef TOKENS
            old_token_of[w] = token_of[w];
            token_of[w] = asked;
#endif
            if :: lazy[w] = 0 :: lazy[w] = 1 fi
        fi;
#ifdef SECOND
        if
        :: second_try -> second_try = 0; lingers[w] = 1
        :: true
        fi;
#endif
#ifdef MUT_FLAG_IN_RECORD
        verb_had = 1
#endif
    fi;
    send_if_over(w)
}

/* The handler's second verb, some time after the first: refused. */
inline second_verb(w)
{
#ifdef MUT_FLAG_IN_RECORD
#define ACCEPTED (!verb_had)
#else
#define ACCEPTED true
#endif
    if
    :: true                         /* it had none */
#if defined(MUT_SECOND_REPLY) || defined(MUT_FLAG_IN_RECORD)
    :: ACCEPTED -> send_home(w, OK)
#endif
#if defined(MUT_SECOND_FORWARD)
    :: ACCEPTED ->
        result = NONE;
        any_worker(via);
        holder = via;
        link_request();
        put(w, via, REQUEST)
#endif
#if defined(MUT_SECOND_KEEP)
    :: ACCEPTED -> link_request(); kept[w] = 1
#endif
    fi;
    lingers[w] = 0
}

/* Publish all of one outbox in one step, or learn that the other is closed. */
inline flush(w, d)
{
    do
    :: outbox[L(w, d)]?m ->
        if
        :: !closed[d] -> lane[L(w, d)]!m
        :: closed[d] ->
            assert(m == REQUEST);   /* home is where it was asked: open */
            unlink_request();
            assert(holder == d);
#ifndef MUT_REFUSED_DROPPED
            send_home(w, EPIPE)
#endif
        fi
    :: empty(outbox[L(w, d)]) -> break
    od
}

inline take(from, to)
{
    do
    :: lane[L(from, to)]?m ->
        if
        :: m == REQUEST -> ready[to]!m
        :: else -> control[to]!m
        fi
    :: empty(lane[L(from, to)]) -> break
    od
}

inline ask()
{
    asked++;
    status = NONE;
    cancel_asked = 0;
    request_out = 1;
    link_request();
    if
    :: true ->                      /* of an actor */
        any_worker(via);
        charged = via;
        holder = via;
        if
        :: via != ASKER -> out[via]++
        :: else
        fi;
        put(ASKER, via, REQUEST)
    :: true ->                      /* an operation: the kernel has it */
        charged = ASKER;
        holder = ASKER;
        busy = 1;
        if :: lazy[ASKER] = 0 :: lazy[ASKER] = 1 fi;
        if :: cancel_plan = 0 :: cancel_plan = 1 fi;
        if
        :: true
#ifdef MUT_STALE_TIMER
        :: deadline == OFF ->
#else
        :: true ->
#endif
            deadline = ARMED;
            deadline_of = asked
        fi
    fi
}

/* The first reason stands.  At home, or in the list of completions: nothing
 * happens. */
inline cancel()
{
    if
    :: busy && !cancel_asked ->
        cancel_asked = 1;
#ifdef MUT_CANCEL_ENDS
        unlink_request();
        send_home(ASKER, ECANCELED)
#else
        marked = 1
#endif
    :: else
    fi
}

/* The actor of worker w: no deliveries from here. */
inline stop(w)
{
    alive[w] = 0;
    if
#ifdef MUT_STOP_FORGETS
    :: kept[w] -> kept[w] = 0; lazy[w] = 0
#else
    :: kept[w] ->
        may_write(w);
#ifdef MUT_WITHDRAWN_TOKEN
        if                          /* `withdrawn` answers, and is believed */
        :: true -> unkeep(w); send_home(w, OK)
        :: true
        fi;
#endif
        unkeep(w);
        send_home(w, ESRCH)
#endif
    :: else
    fi;
#ifndef MUT_STOP_NO_CANCEL
    if
    :: w == ASKER -> cancel()       /* its own scope */
    :: else
    fi
#endif
}

#ifdef MUT_STOPPED_EARLY
#define ALL_HOME (!busy)
#else
#define ALL_HOME (!request_out)
#endif

#define NOTHING(w) (!alive[w] && !kept[w] && !lingers[w] && \
    len(control[w]) == 0 && len(ready[w]) == 0 && len(lane[L(w, w)]) == 0 && \
    !LANES(w) && !OTHERS_OUT(w))

proctype worker(byte w)
{
end:
    do
    :: atomic { OTHERS_OUT(w) ->
#if N == 2
        via = 1 - w;
#else
        if
        :: nempty(outbox[L(w, (w + 1) % N)]) -> via = (w + 1) % N
        :: nempty(outbox[L(w, (w + 2) % N)]) -> via = (w + 2) % N
        fi;
#endif
        flush(w, via) }

    :: atomic { !lingers[w] && LANES(w) ->
        take((w + 1) % N, w);
#if N == 3
        take((w + 2) % N, w)
#endif
        }
    :: atomic { !lingers[w] && len(lane[L(w, w)]) > 0 -> take(w, w) }

    :: atomic { !lingers[w] && len(control[w]) > 0 ->
        control[w]?_;
        assert(w == ASKER);
        come_home() }
    :: atomic { !lingers[w] && len(control[w]) == 0 && len(ready[w]) > 0 ->
        ready[w]?_;
        handle(w) }
#ifdef SECOND
    :: atomic { lingers[w] -> second_verb(w) }
#endif

    /* The newest token, used in time: an answer, or a forward. */
    :: atomic { !lingers[w] && kept[w] && !lazy[w] ->
        unkeep(w);
        may_write(w);
        result = NONE;
        if
        :: result = OK
        :: true -> any_worker(via); forward(w, via)
        fi;
        send_if_over(w) }

    /* The operation completes: by itself, or because it was asked to; progress
     * wins, so both results. */
    :: atomic { w == ASKER && busy && (!lazy[w] || marked) ->
        busy = 0;
        lazy[w] = 0;
        unlink_request();
        may_write(w);
        if
        :: result = OK
        :: marked -> result = ECANCELED
        fi;
        send_home(w, result) }

#ifdef TOKENS
    /* A spent token: judged by the keeper's own table, the record is not looked
     * at.  Refused: no effect. */
    :: atomic { stale_try && alive[w] &&
            (kept[w] -> old_token_of[w] : token_of[w]) != 0 ->
        stale_try = 0;
#ifdef MUT_SPENT_TOKEN
        if
        :: !kept[w] -> send_home(w, OK)
        :: else
        fi
#endif
#ifdef MUT_TOKEN_BY_ADDRESS
        if
        :: kept[w] ->
            assert(old_token_of[w] == asked);
            unkeep(w);
            send_home(w, OK)
        :: else
        fi
#endif
        }
#endif

    :: atomic { stop_plan[w] && alive[w] -> stop(w) }
    :: atomic { w == ASKER && !alive[w] && !stopped && ALL_HOME ->
        stopped = 1 }
    :: atomic { close_plan[w] && !closed[w] && NOTHING(w) -> closed[w] = 1 }

#ifdef MUT_HOLDER_LATE
    :: atomic { late[w] != 0 -> holder = late[w] - 1; late[w] = 0 }
#endif

    :: atomic { w == ASKER && !lingers[w] && alive[w] && !request_out &&
            asked < ASKS -> ask() }
    :: atomic { w == ASKER && cancel_plan -> cancel_plan = 0; cancel() }
    :: atomic { w == ASKER && deadline == ARMED -> deadline = DUE }
    :: atomic { w == ASKER && deadline == DUE ->
        deadline = OFF;
        if
        :: request_out -> assert(deadline_of == asked); cancel()
        :: else
        fi }
    od
}

/* Nothing can move any more: every ask has been answered, or one is rightly
 * still being kept, or is an operation that nobody asked to stop. */
active proctype watch()
{
    timeout;
    if
    :: !request_out ->
        assert(answered == asked && request_links == 0);
        assert(asked == ASKS || !alive[ASKER]);
        assert(alive[ASKER] || stopped);
        assert(out[1] == 0 && out[N - 1] == 0)
    :: else ->
        assert(answered + 1 == asked && request_links == 1 && !stopped);
        assert((kept[0] && alive[0] && lazy[0]) ||
            (kept[1] && alive[1] && lazy[1]) ||
            (kept[N - 1] && alive[N - 1] && lazy[N - 1]) ||
            (busy && lazy[ASKER] && alive[ASKER] && !cancel_asked));
        assert(out[1] + (N == 3 -> out[N - 1] : 0) <= 1)
    fi
}

init
{
    byte w;
    atomic {
        do
        :: w < N ->
            alive[w] = 1;
            run worker(w);
            w++
        :: else -> w = 0; break
        od;
        if                          /* who is stopped, at any time */
        :: true
        :: stop_plan[0] = 1
        :: stop_plan[1] = 1
        :: stop_plan[0] = 1; stop_plan[1] = 1
#ifdef CLOSING
        :: stop_plan[1] = 1; close_plan[1] = 1
#if N == 3
        :: stop_plan[2] = 1; close_plan[2] = 1
        :: stop_plan[1] = 1; close_plan[1] = 1;
            stop_plan[2] = 1; close_plan[2] = 1
#endif
#endif
        fi
    }
}
