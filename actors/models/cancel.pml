/* SPDX-License-Identifier: MIT */
/*
 * cancel.pml - does a cancel find its request, and does the answer wait for
 * both?
 *
 * One request record and its one cancel node, travelling between three workers.
 * Worker 0 asks; any worker may receive, because a request may be forwarded to
 * any actor, the asker's own worker included.  One actor lives on each worker.
 * The same record is asked ASKS times, again as soon as its answer has been
 * delivered.  Code: actors/cancel.c, actors/request.h, actors/home.c.
 *
 * What is atomic here: one worker's step between two looks at something another
 * worker can write.  A step holds at most one access to the shared word
 * (`holder`), one publication (flush) or one take; everything else in it is
 * private to the worker, so finer steps would add states and no behaviour.
 *
 *   outbox[s,d]  collected by s for d, seen by s alone
 *   lane[s,d]    published, first in first out; d takes all lanes of other
 *                workers at once (one exchange), its own by itself
 *   control[d]   taken, and applied before any user mail: replies, cancels,
 *                cancel nodes going home
 *   ready[d]     taken user mail, not handled yet; and what is to be withdrawn
 *
 * The protocol:
 *   - `holder` names the worker a request is AT OR ON ITS WAY TO, or HOME.  Only
 *     the worker it names may write the record; it hands that right on by
 *     storing the next name, before it passes the record on.
 *   - The asker's worker reaches by itself what it holds, and takes back what is
 *     in one of its own outboxes.  Otherwise the node goes to the holder.
 *   - A cancel at a worker that `holder` names is applied there and then,
 *     whether the request has arrived or not: it is marked; a kept one is
 *     unlinked and its token spent, `withdrawn` runs in the keeper's turn, and
 *     then it goes home.  The node goes home at once.  The mark is read when the
 *     request comes up; a marked request goes home unhandled.
 *   - A cancel at any other worker goes on to `holder`; at HOME it goes home.
 *   - A push refused by a closed worker gives the message back to the pusher: a
 *     request goes home (-EPIPE), a cancel reads `holder` again and goes home if
 *     that still names the closed worker.
 *   - The answer is delivered when request and cancel node are both home.
 *
 * Switches:  MAXFWD, ASKS bounds; CLOSING workers 1 and 2 may close; TOKENS a
 *            spent token is tried.
 * Mutants:   MUT_..., see the README beside this file.  The W_ switches claim
 *            that something interesting never happens and must fail too: a
 *            cancel applied before its request arrived, a withdrawal after the
 *            last possible forward, a result that wins over a cancel which had
 *            reached the operation, one taken back out of an outbox.
 */

#ifndef MAXFWD
#define MAXFWD 2
#endif
#ifndef ASKS
#define ASKS 2
#endif

#define N     3
#define ASKER 0
#define HOME  3             /* not a worker: on its way home, or there */
#define L(s, d) ((s) * N + (d))

#if defined(MUT_NO_HOLDER) || defined(MUT_HOLDER_LATE)
#define may_write(w)    skip /* let the consequence show, not the broken rule */
#else
#define may_write(w)    assert(holder == (w))
#endif

#define any_worker(v)   if :: v = 0 :: v = 1 :: v = 2 fi

mtype = { REQUEST, REPLY, CANCEL, CANCEL_HOME, WITHDRAWN };
mtype = { NONE, OK, ECANCELED, EPROTO, ESRCH, ELOOP, EPIPE };
mtype = { OFF, ARMED, DUE };

chan outbox[9]  = [2] of { mtype };
chan lane[9]    = [2] of { mtype };
chan control[N] = [2] of { mtype };
chan ready[N]   = [1] of { mtype };

/* The record. */
byte  holder = HOME;
bit   marked;               /* cancelled; written by the holder */
mtype status = NONE;
byte  hops;

/* The asker's side; touched by worker 0 alone. */
byte  asked, answered;
bit   request_out, node_out, cancel_asked;
bit   scope_plan;           /* it will be cancelled, some time */
mtype deadline = OFF;       /* DUE: collected, not yet acted on */
byte  deadline_of;

/* Receivers: one actor a worker, and one operation slot a worker. */
bit   alive[N], kept[N], busy[N];
bit   lazy[N];              /* never answers or completes by its own will */
bit   stop_plan[N], close_plan[N], closed[N];
#ifdef TOKENS
byte  token_of[N], old_token_of[N]; /* the ask the last two were given for */
bit   stale_try = 1;        /* one answer with a spent token in a run */
#endif

/* Scratch of one atomic step. */
hidden mtype m;
hidden mtype result;
hidden byte  via;

/* Ghosts. */
byte  request_links, node_links; /* lists the request, the node is in */
byte  node_for;             /* the ask the node was sent for */
#ifdef MUT_HOLDER_LATE
byte  late[N];              /* store still to be made, plus one */
#endif

inline link_request()   { assert(request_links == 0); request_links++ }
inline unlink_request() { assert(request_links == 1); request_links-- }
inline link_node()      { assert(node_links == 0); node_links++ }
inline unlink_node()    { assert(node_links == 1); node_links-- }

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
    put(w, ASKER, REPLY)
}

inline send_if_over(w)
{
    if
    :: result != NONE -> send_home(w, result)
    :: else
    fi
}

inline unkeep(w) { kept[w] = 0; lazy[w] = 0; unlink_request() }

/* Pass it on, or leave ELOOP in `result`. */
inline forward(w, d)
{
    may_write(w);
    if
    :: hops == MAXFWD -> result = ELOOP
    :: hops < MAXFWD ->
        hops++;
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

/* The holder is told, wherever in its hands the request is. */
inline apply(w)
{
#ifndef MUT_NO_MARK
    marked = 1;
#endif
#ifdef W_AHEAD
    assert(kept[w] || busy[w] || nempty(ready[w]) || nempty(lane[L(w, w)]));
#endif
#ifdef W_WITHDRAWN
    assert(!(kept[w] && hops == MAXFWD));
#endif
    if
    :: kept[w] ->
        unkeep(w);
        link_request();
        ready[w]!WITHDRAWN
    :: else
    fi
}

inline node_goes_home(w)
{
    link_node();
    put(w, ASKER, CANCEL_HOME)
}

/* The cancel node is at w and in no list. */
inline route_cancel(w)
{
    assert(node_for == asked && answered < asked);
    if
    :: holder == w -> apply(w); node_goes_home(w)
    :: holder == HOME -> node_goes_home(w)
#ifdef MUT_FORWARD_LOSES
    :: holder != w && holder != HOME -> node_goes_home(w)
#else
    :: holder != w && holder != HOME ->
        link_node();
        outbox[L(w, holder)]!CANCEL
#endif
    fi
}

/* Both parts home: the one callback, after which it may be asked again. */
inline deliver_if_home()
{
    if
#ifdef MUT_EARLY_DELIVERY
    :: !request_out && answered < asked ->
#else
    :: !request_out && !node_out ->
#endif
        assert(request_links == 0 && node_links == 0);
        assert(holder == HOME && status != NONE);
        assert(status != ECANCELED || cancel_asked);
#ifdef W_PROGRESS
        assert(!(cancel_asked && marked && status == OK));
#endif
        answered++;
        assert(answered == asked);
        hops = 0;
        marked = 0;
        deadline_of = 0;
        scope_plan = 0;             /* left the scope */
#ifdef MUT_STALE_TIMER
        if
        :: deadline == ARMED -> deadline = OFF
        :: else
        fi
#else
        deadline = OFF  /* out of the queue, and of the collected list too */
#endif
    :: else
    fi
}

inline apply_control(w)
{
    if
    :: m == CANCEL -> unlink_node(); route_cancel(w)
    :: m == CANCEL_HOME ->
        assert(w == ASKER);
        unlink_node();
        node_out = 0;
        node_for = 0;
        deliver_if_home()
    :: m == REPLY ->
        assert(w == ASKER);
        unlink_request();
        request_out = 0;
        deliver_if_home()
    fi
}

inline handle(w)
{
    unlink_request();
    may_write(w);
    result = NONE;
    if
    :: m == WITHDRAWN -> result = ECANCELED
    :: m == REQUEST && marked -> result = ECANCELED
    :: m == REQUEST && !marked && !alive[w] -> result = ESRCH
    :: m == REQUEST && !marked && alive[w] ->
        if
        :: result = OK
        :: result = EPROTO          /* the handler did nothing */
        :: true -> any_worker(via); forward(w, via)
        :: kept[w] = 1;
            link_request();
#ifdef TOKENS
            old_token_of[w] = token_of[w];
            token_of[w] = asked;
#endif
            if :: lazy[w] = 0 :: lazy[w] = 1 fi
        :: busy[w] = 1;             /* an operation: only its end ends it */
            link_request();
            if :: lazy[w] = 0 :: lazy[w] = 1 fi
        fi
    fi;
    send_if_over(w)
}

/* Publish all of one outbox in one step, or learn that the other is closed. */
inline flush(w, d)
{
    do
    :: outbox[L(w, d)]?m ->
        if
        :: !closed[d] -> lane[L(w, d)]!m
        :: closed[d] && m == REQUEST ->
            unlink_request();
            assert(holder == d);
            send_home(w, EPIPE)
        :: closed[d] && m == CANCEL ->
            unlink_node();
            if
#ifdef MUT_CLOSED_DROP
            :: true -> node_goes_home(w)
#else
            :: holder == d -> node_goes_home(w) /* the request is refused, too */
            :: else -> route_cancel(w)
#endif
            fi
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
    marked = 0;
    status = NONE;
    cancel_asked = 0;
    any_worker(via);
    holder = via;
    request_out = 1;
    if :: scope_plan = 0 :: scope_plan = 1 fi;
    if
    :: true
#ifdef MUT_STALE_TIMER
    :: deadline == OFF ->
#else
    :: true ->
#endif
        deadline = ARMED;
        deadline_of = asked
    fi;
    link_request();
    put(ASKER, via, REQUEST)
}

/* At most one for an ask: the first reason stands.  Home: what happened wins. */
inline cancel()
{
    if
#ifndef MUT_TWO_CANCELS
    :: cancel_asked
#endif
    :: !request_out || holder == HOME
#ifdef MUT_TWO_CANCELS
    :: request_out && holder != HOME ->
#else
    :: !cancel_asked && request_out && holder != HOME ->
#endif
        cancel_asked = 1;
        if
        :: holder == ASKER -> apply(ASKER)
#ifndef MUT_NO_UNPOST
        :: holder != ASKER && outbox[L(ASKER, holder)]??[REQUEST] ->
            outbox[L(ASKER, holder)]??REQUEST;
            unlink_request();
#ifdef W_UNPOST
            assert(hops == 0);      /* also what was forwarded from here */
#endif
            send_home(ASKER, ECANCELED)
        :: holder != ASKER && !outbox[L(ASKER, holder)]??[REQUEST] ->
#else
        :: holder != ASKER ->
            marked = 1;             /* whoever has it by now */
            may_write(ASKER);
#endif
            node_out = 1;
            node_for = asked;
            link_node();
            put(ASKER, holder, CANCEL)
        fi
    fi
}

proctype worker(byte w)
{
end:
    do
    :: atomic { nempty(outbox[L(w, (w + 1) % N)]) ||
            nempty(outbox[L(w, (w + 2) % N)]) ->
        if
        :: nempty(outbox[L(w, (w + 1) % N)]) -> via = (w + 1) % N
        :: nempty(outbox[L(w, (w + 2) % N)]) -> via = (w + 2) % N
        fi;
        flush(w, via) }

    :: atomic { nempty(lane[L((w + 1) % N, w)]) ||
            nempty(lane[L((w + 2) % N, w)]) ->
        take((w + 1) % N, w);
        take((w + 2) % N, w) }
    :: atomic { nempty(lane[L(w, w)]) -> take(w, w) }

    :: atomic { control[w]?m -> apply_control(w) }
    :: atomic { empty(control[w]) && nempty(ready[w]) -> ready[w]?m; handle(w) }

    /* The newest token, used in time: an answer, or a forward. */
    :: atomic { kept[w] && !lazy[w] ->
        unkeep(w);
        may_write(w);
        result = NONE;
        if
        :: result = OK
        :: true -> any_worker(via); forward(w, via)
        fi;
        send_if_over(w) }

    /* An operation completes: by itself, or because it was cancelled; progress
     * wins, so both results. */
    :: atomic { busy[w] && (!lazy[w] || marked) ->
        busy[w] = 0;
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
        }
#endif

    :: atomic { stop_plan[w] && alive[w] ->
        alive[w] = 0;
        if
        :: kept[w] -> unkeep(w); may_write(w); send_home(w, ESRCH)
        :: else
        fi }
    :: atomic { close_plan[w] && !closed[w] && !alive[w] && !kept[w] &&
            !busy[w] && empty(control[w]) && empty(ready[w]) &&
            empty(lane[L(0, w)]) && empty(lane[L(1, w)]) &&
            empty(lane[L(2, w)]) && empty(outbox[L(w, 0)]) &&
            empty(outbox[L(w, 1)]) && empty(outbox[L(w, 2)]) -> closed[w] = 1 }

#ifdef MUT_HOLDER_LATE
    :: atomic { late[w] != 0 -> holder = late[w] - 1; late[w] = 0 }
#endif

    :: atomic { w == ASKER && answered == asked && asked < ASKS -> ask() }
    :: atomic { w == ASKER && scope_plan -> scope_plan = 0; cancel() }
    :: atomic { w == ASKER && deadline == ARMED -> deadline = DUE }
    :: atomic { w == ASKER && deadline == DUE ->
        deadline = OFF;
        if
        :: answered < asked -> assert(deadline_of == asked); cancel()
        :: else
        fi }
    od
}

/* Nothing can move any more: every ask has been answered, or one is rightly
 * still being kept and nobody asked for it back. */
active proctype watch()
{
    timeout;
    if
    :: answered == ASKS ->
        assert(asked == ASKS && !request_out && !node_out);
        assert(request_links == 0 && node_links == 0)
    :: else ->
        assert(answered + 1 == asked && !node_out && node_links == 0);
        assert(!cancel_asked);
        assert((kept[0] && alive[0] && lazy[0]) ||
            (kept[1] && alive[1] && lazy[1]) ||
            (kept[2] && alive[2] && lazy[2]) ||
            (busy[0] && lazy[0]) || (busy[1] && lazy[1]) ||
            (busy[2] && lazy[2]))
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
        if                          /* at most one actor is stopped, any time */
        :: true
        :: stop_plan[0] = 1
        :: stop_plan[1] = 1
        :: stop_plan[2] = 1
#ifdef CLOSING
        :: stop_plan[1] = 1; close_plan[1] = 1
        :: stop_plan[1] = 1; close_plan[1] = 1; stop_plan[2] = 1; close_plan[2] = 1
#endif
        fi
    }
}
