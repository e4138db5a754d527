/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_HALF_H
#define RGI_ACTORS_HALF_H

/*
 * half.h - what have the input and the output of a stream in common?
 *
 *     OPEN --close--> CLOSING --home--> CLOSED        nothing out: at once
 *       |                |
 *       '-----drop-------'--> LEAVING --home--> freed      likewise
 *
 * A half lies in the worker's slab and not in the program's handle, so nothing
 * that is out points to memory of the program's but the stream's handle. The
 * actor that opened it asks what has to be asked of the stream, so its stop
 * cancels that and waits for it before `stopped`: the handle is still there.
 *
 * Requests to it stand in `line`, closes in `closers`. What ended it is told to
 * all who come later. reader.c and writer.c say what the requests are, and what
 * happens when they are home. half.c alone writes `life`.
 *
 * Thread of all of them: the worker.
 */

#include "actors/worker.h"
#include "capabilities/stream.h"

enum rgi_half_life {
    RGI_HALF_OPEN,
    RGI_HALF_CLOSING, /* what is out was cancelled; nothing new is taken */
    RGI_HALF_CLOSED,
    RGI_HALF_LEAVING /* as CLOSING; nobody has the handle any more */
};

struct rgi_half {
    struct rgm_worker *worker;
    struct rgm_stream *stream;
    struct rgm_request *transfer; /* the one that a cancel is for */
    struct rgm_address opener;
    struct rgm_link all;     /* in the worker's list of its kind */
    struct rgm_link line;    /* who waits, in order */
    struct rgm_link closers; /* closes that wait */
    uint8_t life;            /* enum rgi_half_life */
    uint8_t out;             /* requests of ours that are out */
    bool told;               /* nobody has to be told by a close */
    int ended;               /* a negative errno; 0: nothing did */
};

/* Whether this actor may have a half of this stream. Returns: 0 or a negative
 * errno, as rgm_reader_open says. */
RGM_MUST_USE int rgi_half_check(const struct rgm_actor *self,
                                const struct rgm_stream *stream);

/* Makes zeroed memory an open one: counts in the stream, is in `all`. */
void rgi_half_init(struct rgi_half *half, struct rgm_actor *self,
                   struct rgm_stream *stream, struct rgm_request *transfer,
                   struct rgm_link *all);

/* Takes one of which nothing is out from stream and list. The memory is the
 * caller's to give back. */
void rgi_half_free(struct rgi_half *half);

/* The actor that asks for it, or NULL: it takes no new requests. */
struct rgm_actor *rgi_half_asker(const struct rgi_half *half);

static inline struct rgm_operation *
rgi_half_linked(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_operation, link);
}

/* Answers one that is in no list. */
void rgi_half_answer(struct rgi_half *half, struct rgm_operation *operation,
                     int status);

/* Answers all who stand in line. */
void rgi_half_answer_line(struct rgi_half *half, int status);

/* Takes a request into the line. Returns: 0, or why it was not. */
RGM_MUST_USE int rgi_half_line_up(struct rgi_half *half,
                                  struct rgm_operation *operation);

/* Takes one that waits and is to end out of the line, unanswered. Returns:
 * whether that was so: a close, or what was taken already, stays. */
bool rgi_half_give_up(struct rgm_operation *operation);

/* What ended it, for whoever asks. */
static inline int
rgi_half_tell_end(struct rgi_half *half)
{
    half->told = true;
    return half->ended;
}

/* Cancels the transfer, if that is out. */
void rgi_half_cancel(struct rgi_half *half);

/* A close is asked. Returns: 1: nothing is out, and the caller ends it by
 * rgi_half_close_end; 0: it waits; or why it was refused. */
RGM_MUST_USE int rgi_half_close(struct rgi_half *half,
                                struct rgm_operation *operation);

/* Answers the closes: the first with what nobody was told. */
void rgi_half_close_end(struct rgi_half *half);

/* Nothing is out any more. Returns: what it was until now; CLOSING has become
 * CLOSED, and the caller ends it, or frees one that is LEAVING. */
enum rgi_half_life rgi_half_come_home(struct rgi_half *half);

/* The handle is let go of: the line is sent away. Returns: whether it is the
 * caller's to free now; if not, then when it comes home. */
bool rgi_half_drop(struct rgi_half *half);

/* The provider has ended: all are told, and what is out comes no more. */
void rgi_half_lose(struct rgi_half *half);

#endif /* RGI_ACTORS_HALF_H */
