/* SPDX-License-Identifier: MIT */

/*
 * resp.c - which command do these bytes say?
 *
 * 1. resp_next() looks at the command from its first byte: in the piece that
 *    was fed, or in the tail when an earlier piece ended inside of it. Most lie
 *    whole in one piece: all_at_once() finds those in one go, and leaves
 *    everything else to the steps.
 * 2. step() goes through its elements and remembers how far it came, in bytes
 *    from the command's beginning. So nothing is looked at twice, and nothing
 *    needs to be told when the command moves from the piece to the tail.
 * 3. When the piece ends first, what there is of the command becomes the tail.
 *    From then on the tail is given exactly what the element at hand lacks, so
 *    it ends where the command ends.
 * 4. An inline command is always moved to the tail, where its quoted words are
 *    replaced by what they mean.
 *
 * What can fail: the bytes (the error is final) and memory (an error too).
 */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "samples/kv/resp.h"

enum resp_state {
    RESP_AT_START, /* the first byte of a command is next */
    RESP_AT_COUNT, /* "*3\r\n" */
    RESP_AT_SIZE,  /* "$5\r\n" */
    RESP_AT_BULK,  /* its bytes and two more, which may be anything */
    RESP_AT_LINE,  /* an inline command */
    RESP_FOUND,
    RESP_FAILED
};

enum resp_fault {
    RESP_FAULT_NONE,
    RESP_FAULT_COUNT,
    RESP_FAULT_COUNT_LONG,
    RESP_FAULT_SIZE,
    RESP_FAULT_SIZE_LONG,
    RESP_FAULT_DOLLAR,
    RESP_FAULT_LINE_LONG,
    RESP_FAULT_QUOTES,
    RESP_FAULT_COMMAND_LONG,
    RESP_FAULT_MEMORY
};

/* A command that does not lie in one piece. */
struct resp_tail {
    struct rgm_block block;
    uint32_t length;
    uint32_t capacity;
    char bytes[];
};

#define TAIL_MIN 256

void
resp_init(struct resp *resp, uint32_t bulk_max)
{
    memset(resp, 0, sizeof(*resp));
    resp->spans = resp->few;
    resp->spans_capacity = RESP_FEW;
    resp->bulk_max = bulk_max;
}

void
resp_move(struct resp *resp, struct resp *ret_resp)
{
    *ret_resp = *resp;
    if (resp->spans == resp->few)
        ret_resp->spans = ret_resp->few;
    resp_init(resp, resp->bulk_max);
}

static void
tail_release(struct rgm_block *block)
{
    free((char *)block - offsetof(struct resp_tail, block));
}

static void
tail_drop(struct resp *resp)
{
    if (resp->tail != NULL)
        rgm_block_drop(&resp->tail->block);
    resp->tail = NULL;
}

static void
spans_drop(struct resp *resp)
{
    if (resp->spans != resp->few)
        free(resp->spans);
    resp->spans = resp->few;
    resp->spans_capacity = RESP_FEW;
    resp->arguments_count = 0;
}

void
resp_close(struct resp *resp)
{
    tail_drop(resp);
    spans_drop(resp);
    rgm_view_drop(&resp->input);
    resp->input_at = 0;
    resp->state = RESP_FAILED;
}

bool
resp_is_cut(const struct resp *resp)
{
    return resp->tail != NULL && resp->state != RESP_FOUND;
}

void
resp_feed(struct resp *resp, struct rgm_view piece)
{
    rgm_view_drop(&resp->input);
    resp->input = piece;
    resp->input_at = 0;
}

static enum resp_result
fail(struct resp *resp, enum resp_fault fault)
{
    resp_close(resp);
    resp->error = (uint8_t)fault;
    return RESP_ERROR;
}

/* ------------------------------------------------------------- the elements */

static bool
spans_grow(struct resp *resp)
{
    uint32_t capacity = resp->spans_capacity * 4;
    bool few = resp->spans == resp->few;
    struct resp_span *spans;

    spans = realloc(few ? NULL : resp->spans, capacity * sizeof(*spans));
    if (spans == NULL)
        return false;
    if (few)
        memcpy(spans, resp->few, sizeof(resp->few));
    resp->spans = spans;
    resp->spans_capacity = capacity;
    return true;
}

static bool
spans_add(struct resp *resp, uint32_t at, uint32_t length_bytes)
{
    struct resp_span *span;

    if (resp->arguments_count == resp->spans_capacity && !spans_grow(resp))
        return false;
    span = &resp->spans[resp->arguments_count++];
    span->at = at;
    span->length_bytes = length_bytes;
    return true;
}

/*
 * Find `end` in the line that begins at `scanned`, in the `available` bytes of
 * the command. A line that is too long is one whose first RESP_LINE_MAX + 1
 * bytes have no end, so that it does not matter how much there is.
 */
static enum resp_result
line_end(struct resp *resp, const char *base, size_t available, char end,
         enum resp_fault too_long, uint32_t *ret_at)
{
    size_t limit = (size_t)resp->scanned + RESP_LINE_MAX + 1;
    size_t stop = available < limit ? available : limit;
    size_t at = resp->searched;

    while (at < stop && base[at] != end)
        at++;
    resp->searched = (uint32_t)at;
    if (at < stop) {
        *ret_at = (uint32_t)at;
        return RESP_COMMAND;
    }
    return available >= limit ? fail(resp, too_long) : RESP_MORE;
}

/* The number between a line's first byte and its CR; the byte after the CR
 * belongs to the line, whatever it is. */
static enum resp_result
line_number(struct resp *resp, const char *base, size_t available,
            enum resp_fault bad, enum resp_fault too_long, int64_t *ret_number)
{
    enum resp_result result;
    struct bytes text;
    uint32_t at;

    result = line_end(resp, base, available, '\r', too_long, &at);
    if (result != RESP_COMMAND)
        return result;
    if (at + 1 >= available)
        return RESP_MORE;
    text.data = base + resp->scanned + 1;
    text.length_bytes = at - resp->scanned - 1;
    if (!bytes_to_number(text, ret_number))
        return fail(resp, bad);
    resp->scanned = at + 2;
    resp->searched = at + 2;
    return RESP_COMMAND;
}

static enum resp_result
step_count(struct resp *resp, const char *base, size_t available)
{
    enum resp_result result;
    int64_t count = 0;

    result = line_number(resp, base, available, RESP_FAULT_COUNT,
                         RESP_FAULT_COUNT_LONG, &count);
    if (result != RESP_COMMAND)
        return result;
    if (count > RESP_ARGUMENTS_MAX)
        return fail(resp, RESP_FAULT_COUNT);
    resp->awaited = count > 0 ? (uint32_t)count : 0;
    resp->state = count > 0 ? RESP_AT_SIZE : RESP_FOUND;
    return RESP_COMMAND;
}

static enum resp_result
step_size(struct resp *resp, const char *base, size_t available)
{
    enum resp_result result;
    int64_t size = 0;

    if (resp->scanned >= available)
        return RESP_MORE;
    resp->got = base[resp->scanned];
    if (resp->got != '$')
        return fail(resp, RESP_FAULT_DOLLAR);
    result = line_number(resp, base, available, RESP_FAULT_SIZE,
                         RESP_FAULT_SIZE_LONG, &size);
    if (result != RESP_COMMAND)
        return result;
    if (size < 0 || size > resp->bulk_max)
        return fail(resp, RESP_FAULT_SIZE);
    if ((uint64_t)size + resp->scanned + 2 > RESP_COMMAND_MAX)
        return fail(resp, RESP_FAULT_COMMAND_LONG);
    resp->bulk_bytes = (uint32_t)size;
    resp->state = RESP_AT_BULK;
    return RESP_COMMAND;
}

static enum resp_result
step_bulk(struct resp *resp, size_t available)
{
    uint32_t end = resp->scanned + resp->bulk_bytes + 2;

    if (available < end)
        return RESP_MORE;
    if (!spans_add(resp, resp->scanned, resp->bulk_bytes))
        return fail(resp, RESP_FAULT_MEMORY);
    resp->scanned = end;
    resp->searched = end;
    resp->state = --resp->awaited > 0 ? RESP_AT_SIZE : RESP_FOUND;
    return RESP_COMMAND;
}

/* As far as it goes: RESP_COMMAND when the state says found, or a line is
 * complete and is to be split. */
static enum resp_result
step(struct resp *resp, const char *base, size_t available)
{
    enum resp_result result = RESP_COMMAND;
    uint32_t at;

    while (result == RESP_COMMAND && resp->state != RESP_FOUND) {
        switch ((enum resp_state)resp->state) {
        case RESP_AT_START:
            if (available == 0)
                return RESP_MORE;
            resp->state = *base == '*' ? RESP_AT_COUNT : RESP_AT_LINE;
            break;
        case RESP_AT_COUNT:
            result = step_count(resp, base, available);
            break;
        case RESP_AT_SIZE:
            result = step_size(resp, base, available);
            break;
        case RESP_AT_BULK:
            result = step_bulk(resp, available);
            break;
        case RESP_AT_LINE:
            return line_end(resp, base, available, '\n', RESP_FAULT_LINE_LONG,
                            &at);
        case RESP_FOUND:
        case RESP_FAILED:
            return RESP_ERROR;
        }
    }
    return result;
}

/* -------------------------------------------------------------- all at once */

/* What the digits of "*3" or "$128" may be here; longer ones take the steps. */
#define QUICK_DIGITS_MAX 4

/* Read `first`, a number without leading zeros, CR and a byte that may be anything,
 * and move *at behind them. Returns false for all else, and what is cut. */
static inline bool
quick_number(const char **at, const char *end, char first, uint32_t *ret_number)
{
    const char *byte = *at;
    const char *stop;
    uint32_t digit;
    uint32_t number;

    if (end - byte < 1 + QUICK_DIGITS_MAX + 2 || *byte++ != first)
        return false;
    stop = byte + QUICK_DIGITS_MAX;
    number = (unsigned char)*byte++ - (uint32_t)'0';
    if (number > 9 || (number == 0 && *byte != '\r'))
        return false;
    while (byte < stop && (digit = (unsigned char)*byte - (uint32_t)'0') <= 9) {
        number = number * 10 + digit;
        byte++;
    }
    if (*byte != '\r')
        return false;
    *at = byte + 2;
    *ret_number = number;
    return true;
}

/*
 * A short command that lies whole in these bytes is found in one go, and the
 * state is as after its last step. Returns false, and nothing has changed, for
 * anything else, also for what is an error: the steps say which.
 */
static bool
all_at_once(struct resp *resp, const char *base, size_t available)
{
    const char *at = base;
    const char *end = base + available;
    uint32_t count;

    if (resp->state != RESP_AT_START || !quick_number(&at, end, '*', &count) ||
        count == 0 || count > RESP_FEW)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        struct resp_span *span = &resp->spans[i];
        uint32_t size;

        if (!quick_number(&at, end, '$', &size) || size > resp->bulk_max ||
            (size_t)(end - at) < (size_t)size + 2)
            return false;
        span->at = (uint32_t)(at - base);
        span->length_bytes = size;
        at += size + 2;
    }
    resp->arguments_count = count;
    resp->scanned = (uint32_t)(at - base);
    resp->searched = resp->scanned;
    resp->state = RESP_FOUND;
    return true;
}

/* ------------------------------------------------------------------ the tail */

static bool
tail_reserve(struct resp *resp, size_t needed)
{
    struct resp_tail *tail = resp->tail;
    size_t capacity = tail != NULL ? (size_t)tail->capacity * 2 : TAIL_MIN;

    if (tail != NULL && tail->capacity >= needed)
        return true;
    if (capacity < needed)
        capacity = needed;
    /* Nobody else holds a tail that still grows, so it may move. */
    tail = realloc(tail, sizeof(*tail) + capacity);
    if (tail == NULL)
        return false;
    if (resp->tail == NULL) {
        rgm_block_init(&tail->block, tail_release);
        tail->length = 0;
    }
    tail->capacity = (uint32_t)capacity;
    resp->tail = tail;
    return true;
}

/* How much of the piece the element at hand lacks. */
static size_t
tail_lacks(const struct resp *resp, const char *piece, size_t available)
{
    const struct resp_tail *tail = resp->tail;
    const char *end;

    if (resp->state == RESP_AT_BULK)
        return (size_t)resp->scanned + resp->bulk_bytes + 2 - tail->length;
    if (resp->state != RESP_AT_LINE && resp->searched < tail->length)
        return 1; /* the CR is there, the byte after it is not */
    if (available > RESP_LINE_MAX + 1)
        available = RESP_LINE_MAX + 1;
    end = memchr(piece, resp->state == RESP_AT_LINE ? '\n' : '\r', available);
    if (end == NULL)
        return available;
    return (size_t)(end - piece) + (resp->state == RESP_AT_LINE ? 1 : 2);
}

/* Moves bytes of the piece to the tail, `lacking` of them or all. */
static bool
tail_take(struct resp *resp, size_t lacking)
{
    const char *piece = (const char *)resp->input.data + resp->input_at;
    size_t available = resp->input.length_bytes - resp->input_at;
    size_t length = resp->tail != NULL ? resp->tail->length : 0;
    size_t count = lacking < available ? lacking : available;
    size_t needed = length + count;

    /* A bulk string gets its memory at once and does not move any more. */
    if (resp->state == RESP_AT_BULK)
        needed = (size_t)resp->scanned + resp->bulk_bytes + 2;
    if (!tail_reserve(resp, needed))
        return false;
    memcpy(resp->tail->bytes + length, piece, count);
    resp->tail->length += (uint32_t)count;
    resp->input_at += count;
    return true;
}

size_t
resp_room(struct resp *resp, size_t minimum, void **ret_memory)
{
    struct resp_tail *tail = resp->tail;
    size_t missing;

    if (tail == NULL || resp->state != RESP_AT_BULK || !resp_hungry(resp))
        return 0;
    missing = (size_t)resp->scanned + resp->bulk_bytes + 2 - tail->length;
    if (missing < minimum)
        return 0;
    *ret_memory = tail->bytes + tail->length;
    return missing;
}

void
resp_filled(struct resp *resp, size_t count)
{
    resp->tail->length += (uint32_t)count;
}

int
resp_spill(struct resp *resp)
{
    size_t count = resp->input.length_bytes - resp->input_at;
    struct resp_tail *copy;

    if (count == 0)
        return 0;
    copy = malloc(sizeof(*copy) + count);
    if (copy == NULL)
        return -ENOMEM;
    rgm_block_init(&copy->block, tail_release);
    memcpy(copy->bytes, (const char *)resp->input.data + resp->input_at, count);
    resp_feed(resp, rgm_view_of(&copy->block, copy->bytes, count));
    rgm_block_drop(&copy->block);
    if (resp->tail == NULL)
        resp->base = copy->bytes; /* of a command that was found already */
    return 0;
}

/* ----------------------------------------------------------- inline commands */

static bool
is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

static int
hex_digit(char c)
{
    c = bytes_lower(c);
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte that a backslash and what follows mean; moves *at behind it. */
static char
unescape(const char *line, size_t length, size_t *at)
{
    static const char plain[] = "nrtba";
    static const char meant[] = "\n\r\t\b\a";
    char c = line[*at];
    const char *found;

    if (c == 'x' && *at + 2 < length && hex_digit(line[*at + 1]) >= 0 &&
        hex_digit(line[*at + 2]) >= 0) {
        c = (char)(hex_digit(line[*at + 1]) * 16 + hex_digit(line[*at + 2]));
        *at += 3;
        return c;
    }
    *at += 1;
    found = c != '\0' ? strchr(plain, c) : NULL;
    return found != NULL ? meant[found - plain] : c;
}

/*
 * Replace the quoted part at *at by what it means, at *to. Returns false when
 * it does not end, or something other than a blank follows its end.
 */
static bool
unquote(char *line, size_t length, char quote, size_t *at, size_t *to)
{
    while (*at < length) {
        char c = line[(*at)++];

        if (c == quote)
            return *at == length || is_blank(line[*at]);
        if (c == '\\' && *at < length && (quote == '"' || line[*at] == '\''))
            c = quote == '"' ? unescape(line, length, at) : line[(*at)++];
        line[(*to)++] = c;
    }
    return false;
}

/* Splits the line in the tail into words. What a word means is never longer
 * than how it is written, so it is replaced in place. */
static enum resp_result
split_line(struct resp *resp, size_t length)
{
    char *line = resp->tail->bytes;
    size_t at = 0;

    for (;;) {
        size_t from;
        size_t to;

        while (at < length && is_blank(line[at]))
            at++;
        if (at == length)
            return RESP_COMMAND;
        from = to = at;
        while (at < length && !is_blank(line[at])) {
            char c = line[at++];

            if (c != '"' && c != '\'')
                line[to++] = c;
            else if (!unquote(line, length, c, &at, &to))
                return fail(resp, RESP_FAULT_QUOTES);
        }
        if (!spans_add(resp, (uint32_t)from, (uint32_t)(to - from)))
            return fail(resp, RESP_FAULT_MEMORY);
    }
}

/* The line ends at `searched`: in the tail, or in the piece, from where it is
 * moved to a tail. */
static enum resp_result
take_line(struct resp *resp)
{
    size_t length = resp->searched;

    if (resp->tail == NULL && !tail_take(resp, length + 1))
        return fail(resp, RESP_FAULT_MEMORY);
    if (length > 0 && resp->tail->bytes[length - 1] == '\r')
        length--;
    resp->state = RESP_FOUND;
    return split_line(resp, length);
}

/* ------------------------------------------------------------------ commands */

void
resp_consume(struct resp *resp)
{
    if (resp->tail == NULL)
        resp->input_at += resp->scanned;
    tail_drop(resp);
    if (resp->spans != resp->few)
        spans_drop(resp);
    resp->arguments_count = 0;
    resp->scanned = 0;
    resp->searched = 0;
    resp->state = RESP_AT_START;
    if (resp_hungry(resp))
        resp_feed(resp, (struct rgm_view){NULL, 0, NULL});
}

/* The piece ended inside a command, which becomes the tail. */
static enum resp_result
cut(struct resp *resp)
{
    size_t available = resp->input.length_bytes - resp->input_at;

    if (available > 0 && !tail_take(resp, available))
        return fail(resp, RESP_FAULT_MEMORY);
    resp_feed(resp, (struct rgm_view){NULL, 0, NULL});
    return RESP_MORE;
}

static enum resp_result
next_in_piece(struct resp *resp)
{
    const char *base = (const char *)resp->input.data + resp->input_at;
    enum resp_result result = RESP_COMMAND;
    size_t available;

    if (resp_hungry(resp))
        return cut(resp);
    available = resp->input.length_bytes - resp->input_at;
    if (!all_at_once(resp, base, available)) {
        result = step(resp, base, available);
        if (result == RESP_MORE)
            return cut(resp);
    }
    resp->base = base;
    return result;
}

static enum resp_result
next_in_tail(struct resp *resp)
{
    enum resp_result result;

    /* First without more: what was read to resp_room() is there already. */
    for (;;) {
        const char *piece;
        size_t available;

        result = step(resp, resp->tail->bytes, resp->tail->length);
        if (result != RESP_MORE)
            break;
        if (resp_hungry(resp))
            return cut(resp);
        piece = (const char *)resp->input.data + resp->input_at;
        available = resp->input.length_bytes - resp->input_at;
        if (!tail_take(resp, tail_lacks(resp, piece, available)))
            return fail(resp, RESP_FAULT_MEMORY);
    }
    if (result == RESP_COMMAND)
        resp->base = resp->tail->bytes;
    return result;
}

enum resp_result
resp_next(struct resp *resp)
{
    enum resp_result result;

    while (resp->state < RESP_FOUND) {
        result = resp->tail == NULL ? next_in_piece(resp) : next_in_tail(resp);
        if (result == RESP_COMMAND && resp->state == RESP_AT_LINE) {
            result = take_line(resp);
            if (result == RESP_COMMAND)
                resp->base = resp->tail->bytes;
        }
        if (result != RESP_COMMAND)
            return result;
        if (resp->arguments_count == 0)
            resp_consume(resp); /* an empty line, or an array of nothing */
    }
    return resp->state == RESP_FOUND ? RESP_COMMAND : RESP_ERROR;
}

struct rgm_view
resp_hold(const struct resp *resp, size_t *ret_own_bytes)
{
    if (resp->tail != NULL) {
        *ret_own_bytes = sizeof(*resp->tail) + resp->tail->capacity;
        return rgm_view_of(&resp->tail->block, resp->tail->bytes,
                           resp->tail->length);
    }
    *ret_own_bytes = 0;
    return rgm_view_of(resp->input.block, resp->base, resp->scanned);
}

size_t
resp_error(const struct resp *resp, char *ret_text, size_t size_bytes)
{
    static const char *const texts[] = {
        [RESP_FAULT_NONE] = "none",
        [RESP_FAULT_COUNT] = "invalid multibulk length",
        [RESP_FAULT_COUNT_LONG] = "too big mbulk count string",
        [RESP_FAULT_SIZE] = "invalid bulk length",
        [RESP_FAULT_SIZE_LONG] = "too big bulk count string",
        [RESP_FAULT_DOLLAR] = "expected '$', got '?'",
        [RESP_FAULT_LINE_LONG] = "too big inline request",
        [RESP_FAULT_QUOTES] = "unbalanced quotes in request",
        [RESP_FAULT_COMMAND_LONG] = "too big request",
        [RESP_FAULT_MEMORY] = "out of memory",
    };
    char got = resp->got;
    int length;

    if (resp->error != RESP_FAULT_DOLLAR)
        length = snprintf(ret_text, size_bytes, "ERR Protocol error: %s",
                          texts[resp->error]);
    else
        length = snprintf(ret_text, size_bytes,
                          "ERR Protocol error: expected '$', got '%c'",
                          got == '\r' || got == '\n' ? ' ' : got);
    if (length < 0)
        return 0;
    return (size_t)length < size_bytes ? (size_t)length : size_bytes - 1;
}
