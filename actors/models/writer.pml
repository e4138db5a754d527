/* SPDX-License-Identifier: MIT */
/*
 * writer.pml - in which order can the parts of a handed-over write end?
 *
 * One output, as in actors/writer.c, whose steps are each one step of its
 * worker.  A submit whose turn has come sends all at once, or makes a write and
 * a receipt, which the provider ends in any order; the submit is answered by the
 * first of the two.  Meanwhile others submit, cancel, flush, close and drop, and
 * the actor that opened it may be stopped, which cancels write and receipt.
 *
 * Checked: at most one write is out; every piece has one owner, its submit or
 * the write, or is gone, once; a submit that is answered 0 gave its piece away,
 * one that is refused has it; a close is answered with nothing out; the output
 * is freed once, with nothing out, nobody in line and nobody waiting; everything
 * asked is answered once (or the run ends with it out).
 *
 * Mutants, one -D each:
 *   MUT_EARLY      the line goes on when the write is home, its receipt is out
 *   MUT_FREE       a drop frees at once
 *   MUT_FREE_ONE   the first of the two to come home after a drop frees
 *   MUT_NO_LINE    a submit does not look whether one is unfinished
 *   MUT_CLOSE      a close is answered when it has asked for the cancel
 *   MUT_LINE_KEPT  a close leaves the line where it is
 *   MUT_ENDED      after a failure the line goes on
 *   MUT_BY_RECEIPT a submit is answered by its receipt alone, which a write that
 *                  has failed before does not wait for
 */

#define PIECES 3

mtype = { IDLE, WRITING, ENDED, CLOSING, CLOSED, LEAVING, FREED };
mtype state = IDLE;

mtype = { NONE, SUBMITS, WRITES, GONE };
mtype owner[PIECES];                            /* whose the piece is */
bool asked[PIECES], in_line[PIECES], answered[PIECES], refused[PIECES];

byte line[PIECES], line_count;                  /* numbers of submits, in order */
byte out;                                       /* of write and receipt */
bool write_out, receipt_out, write_stops;
byte taking = 255, writing = 255;
bool failed, dropped, stopped;
bool close_asked, close_waits, close_answered;
bool flush_asked, flush_in_line, flush_answered;
byte flush_behind;                              /* submits in line before it */

inline answer(p, ok)
{
        assert(!answered[p]);
        answered[p] = true;
        refused[p] = !ok;
        in_line[p] = false;
        assert(ok -> owner[p] != SUBMITS : owner[p] == SUBMITS)
}

inline answer_flush()
{
        assert(!flush_answered);
        flush_answered = true;
        flush_in_line = false
}

inline refuse_line()
{
        do
        :: line_count > 0 ->
                line_count--;
                answer(line[line_count], false)
        :: else -> break
        od;
        if :: flush_in_line -> answer_flush() :: else fi
}

inline free_it()
{
        assert(state != FREED && out == 0 && line_count == 0 && !flush_in_line && !close_waits);
        state = FREED
}

/* its turn: all at once, not at all, or the rest is written */
inline take(p)
{
        if
        :: stopped -> answer(p, false)
        :: !stopped -> owner[p] = GONE; answer(p, true)
        :: !stopped -> state = ENDED; failed = true; answer(p, false)
        :: !stopped ->
                assert(!write_out && !receipt_out && out == 0);
                state = WRITING;
                owner[p] = WRITES;
                taking = p; writing = p;
                write_out = true; receipt_out = true; write_stops = false;
                out = 2
        fi
}

inline advance()
{
        do
#ifdef MUT_ENDED
        :: (state == IDLE || state == ENDED) && line_count > 0 ->
#else
        :: state == IDLE && line_count > 0 && !(flush_in_line && flush_behind == 0) ->
#endif
                i = line[0];
                line[0] = line[1]; line[1] = line[2]; line[2] = 0;
                line_count--;
                if :: flush_behind > 0 -> flush_behind-- :: else fi;
                in_line[i] = false;
#ifdef MUT_ENDED
                assert(!failed);
#endif
                take(i); i = 0
        :: state == IDLE && flush_in_line && flush_behind == 0 -> answer_flush()
        :: else -> break
        od;
        if :: state == ENDED -> refuse_line() :: else fi
}

inline answer_close()
{
        if :: close_waits ->
                assert(out == 0 && line_count == 0 && !flush_in_line);
                close_waits = false; close_answered = true
        :: else fi
}

inline settle()
{
        if
        :: state == WRITING ->
                state = (failed -> ENDED : IDLE);
                advance()
        :: state == CLOSING -> state = CLOSED; answer_close()
        :: state == LEAVING -> answer_close(); free_it()
        fi
}

inline home(by_receipt)
{
        out--;
        assert(state != FREED);
#ifdef MUT_BY_RECEIPT
        if :: taking != 255 && by_receipt && !failed -> answer(taking, true); taking = 255 :: else fi;
#else
        if :: taking != 255 -> answer(taking, true); taking = 255 :: else fi;
#endif
        if
#ifdef MUT_EARLY
        :: !by_receipt || out == 0 -> settle()
#else
        :: out == 0 -> settle()
#endif
#ifdef MUT_FREE_ONE
        :: out == 1 && state == LEAVING -> state = FREED
#endif
        :: else
        fi
}

/* the provider: ends come in any order, each once */
active proctype Provider()
{
        byte i;
end_provider:
        do
        :: atomic { receipt_out ->
                receipt_out = false; home(true) }
        :: atomic { write_out ->                /* all is out */
                write_out = false; owner[writing] = GONE; writing = 255; home(false) }
        :: atomic { write_out ->                /* an error, or the cancel */
                write_out = false; owner[writing] = GONE; writing = 255;
                if
                :: state == WRITING -> failed = true
                :: state != WRITING && !write_stops -> failed = true
                :: state != WRITING && write_stops
                fi;
                home(false) }
        od
}

inline submit(p)
{
                asked[p] = true; owner[p] = SUBMITS;
                if
                :: state == CLOSING || state == CLOSED || state == LEAVING -> answer(p, false)
                :: state == ENDED -> answer(p, false)
#ifdef MUT_NO_LINE
                :: state == WRITING || state == IDLE -> take(p)
#else
                :: state == WRITING -> line[line_count] = p; line_count++; in_line[p] = true
                :: state == IDLE -> assert(line_count == 0); take(p)
#endif
                fi
}

active proctype Submitter()
{
        byte p;
        do
        :: atomic { p < PIECES && !dropped -> submit(p); p++ }
        :: else -> break
        od
}

/* a submit that stands in line is cancelled */
active proctype Canceller()
{
        byte i;
        if
        :: atomic { in_line[1] ->
                do
                :: i < line_count && line[i] != 1 -> i++
                :: else -> break
                od;
                assert(i < line_count);
                if :: flush_in_line && flush_behind > i -> flush_behind-- :: else fi;
                do
                :: i + 1 < line_count -> line[i] = line[i + 1]; i++
                :: else -> break
                od;
                line_count--; line[line_count] = 0; i = 0;
                answer(1, false) }
        :: true
        fi
}

active proctype Flusher()
{
        if
        :: atomic { !dropped ->
                flush_asked = true;
                if
                :: state == WRITING -> flush_in_line = true; flush_behind = line_count
                :: else -> answer_flush()
                fi }
        :: true
        fi
}

active proctype Closer()
{
        if
        :: atomic { !dropped ->
                close_asked = true;
                if
                :: state == WRITING ->
                        state = CLOSING; close_waits = true; write_stops = true;
#ifndef MUT_LINE_KEPT
                        refuse_line();
#endif
#ifdef MUT_CLOSE
                        answer_close()
#endif
                :: else -> state = CLOSED; close_answered = true
                fi }
        :: true
        fi
}

active proctype Stopper()
{
        if
        :: atomic { stopped = true; write_stops = true }
        :: true
        fi
}

active proctype Dropper()
{
        atomic { !dropped ->
                dropped = true;
                refuse_line();
#ifdef MUT_FREE
                free_it()
#else
                if
                :: out == 0 -> free_it()
                :: else -> state = LEAVING; write_stops = true
                fi
#endif
        }
}

active proctype Check()
{
        byte i;
        timeout -> d_step {
                assert(state == FREED && !write_out && !receipt_out);
                do
                :: i < PIECES ->
                        assert(asked[i] == answered[i]);
                        assert(!asked[i] || owner[i] == (refused[i] -> SUBMITS : GONE));
                        i++
                :: else -> break
                od;
                assert(flush_asked == flush_answered);
                assert(close_asked == close_answered)
        }
}
