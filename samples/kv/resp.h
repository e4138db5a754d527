/* SPDX-License-Identifier: MIT */
#ifndef KV_RESP_H
#define KV_RESP_H

/*
 * resp.h - which command do these bytes say?
 *
 *     resp_feed(&resp, view);
 *     while ((result = resp_next(&resp)) == RESP_COMMAND) {
 *         ... resp.arguments_count, resp_argument(&resp, 0) ...
 *         resp_consume(&resp);
 *     }
 *
 * Reads RESP2 arrays of bulk strings and Redis's inline commands, fed in
 * pieces cut anywhere. A command that lies whole in one piece is not copied:
 * its arguments point into the piece. Only one that is cut is collected in
 * memory of its own, and no more than that one command.
 *
 * The same bytes give the same commands and the same error however they are
 * cut. Limits and error texts are Redis's; after an error nothing more is read.
 */

#include <ringmail/lease.h>

#include "samples/kv/bytes.h"

/* The longest line that is not a bulk string. */
#define RESP_LINE_MAX 65536
/* The most arguments, and the most bytes, of one command. */
#define RESP_ARGUMENTS_MAX (1024 * 1024)
#define RESP_COMMAND_MAX (UINT32_C(1) << 30)
/* The longest bulk string, unless told otherwise. */
#define RESP_BULK_MAX (UINT32_C(512) * 1024 * 1024)

#define RESP_FEW 4 /* arguments that need no memory of their own */

enum resp_result {
    RESP_MORE,    /* nothing until more is fed */
    RESP_COMMAND, /* there is one; the same one until resp_consume() */
    RESP_ERROR    /* for good; resp_error() is the text */
};

/* Where an argument is, from the first byte of its command. */
struct resp_span {
    uint32_t at;
    uint32_t length_bytes;
};

struct resp_tail;

/* All zero is not a parser; see resp_init(). Read arguments_count only. */
struct resp {
    struct rgm_view input;  /* the piece, empty when read */
    size_t input_at;        /* read so far */
    struct resp_tail *tail; /* the cut command, NULL: none is */
    const char *base;       /* first byte of the command found */
    struct resp_span *spans;
    uint32_t arguments_count;
    uint32_t spans_capacity;
    uint32_t scanned;    /* of the command, up to an element's beginning */
    uint32_t searched;   /* of the line at `scanned`, without its end */
    uint32_t bulk_bytes; /* of the bulk string at `scanned` */
    uint32_t awaited;    /* bulk strings still to come */
    uint32_t bulk_max;
    uint8_t state; /* enum resp_state, resp.c */
    uint8_t error; /* enum resp_fault, resp.c */
    char got;      /* the byte an error text names */
    struct resp_span few[RESP_FEW];
};

/* Thread: owner, as all below. */
void resp_init(struct resp *resp, uint32_t bulk_max);

/* Frees what it holds. Closing twice is the same as once. */
void resp_close(struct resp *resp);

/* The parser goes on as *ret_resp, from any thread; `resp` has nothing. */
void resp_move(struct resp *resp, struct resp *ret_resp);

/* Is all that was fed read? Only then may more be fed. */
static inline bool
resp_hungry(const struct resp *resp)
{
    return resp->input.length_bytes == resp->input_at;
}

/* Is a command begun and not complete? */
bool resp_is_cut(const struct resp *resp);

/*
 * Read on in these bytes.
 *
 * Owns: the view is the parser's.
 */
void resp_feed(struct resp *resp, struct rgm_view piece);

/*
 * Find the next command. Its arguments are valid until resp_consume(), or as
 * long as a view from resp_hold() lives.
 */
enum resp_result resp_next(struct resp *resp);
void resp_consume(struct resp *resp);

static inline struct bytes
resp_argument(const struct resp *resp, uint32_t index)
{
    struct bytes argument = {resp->base + resp->spans[index].at,
                             resp->spans[index].length_bytes};

    return argument;
}

/*
 * A view of the whole command, for who needs the arguments longer.
 *
 * Owns: the caller owns the view. *ret_own_bytes: how much memory it keeps
 *       that nobody else needs, 0 when it keeps the piece that was fed.
 */
RGM_MUST_USE struct rgm_view
resp_hold(const struct resp *resp, size_t *ret_own_bytes);

/*
 * While a long bulk string is being collected: the memory where its missing
 * bytes go, so that they need not be fed but can be read to where they belong.
 *
 * Returns: how many bytes are missing, at least `minimum`; or 0, and
 *          *ret_memory is untouched.
 */
size_t resp_room(struct resp *resp, size_t minimum, void **ret_memory);
/* `count` of those bytes are there now. */
void resp_filled(struct resp *resp, size_t count);

/*
 * Copy what is not read yet, so that the piece may go home.
 *
 * Returns: 0, or -ENOMEM and nothing happened.
 */
RGM_MUST_USE int resp_spill(struct resp *resp);

/* The error as Redis says it, without "-" and line end. Returns the length. */
size_t resp_error(const struct resp *resp, char *ret_text, size_t size_bytes);

#endif /* KV_RESP_H */
