/* SPDX-License-Identifier: MIT */

/*
 * reader.c - where are the bytes between a stream and who asks for them?
 *
 *     stream --one pooled read at a time--> [ pieces ] --> [ line ] --> answers
 *
 * 1. Requests stand in line. The first takes what is there: a next the first
 *    piece, an exact receive as many bytes as it still wants.
 * 2. While somebody waits, or the window has room, one pooled read is out, asked
 *    by the actor that opened the reader. What it brings goes behind the others.
 * 3. A cancel takes a request out of line. Without a window, the read that nobody
 *    waits for any more is cancelled, too; if it is too late its piece is kept.
 *    An exact receive that had taken bytes has lost them: the input is spoilt.
 * 4. A close cancels the read, gives what came all the same to the first in line,
 *    sends the others away and is answered when the read is home. A drop is the
 *    same without an answer, and frees.
 *
 * How an input begins and ends, and what it has in common with an output, is
 * half.h.
 */

#include "actors/reader.h"

#include <errno.h>
#include <string.h>

#include "actors/half.h"
#include "actors/runtime.h"
#include "capabilities/operation.h"
#include "capabilities/reader.h"

struct piece {
    struct rgm_lease lease;
    const char *data; /* not yet taken */
    size_t length_bytes;
};

struct rgi_input {
    struct rgi_half half;
    struct rgm_read_pooled read; /* the one that is out, if one is */
    struct rgm_pool *pool;
    bool unwanted; /* it was cancelled because nobody waited */
    bool end;      /* the peer sends no more */
    bool begun;    /* somebody has asked: the window may fill */
    uint32_t window;
    uint32_t capacity; /* of `pieces`, a circle */
    uint32_t first;
    uint32_t count;
    struct piece pieces[];
};

static size_t
bytes_of(uint32_t capacity)
{
    return sizeof(struct rgi_input) + capacity * sizeof(struct piece);
}

/* -------------------------------------------------------------------- pieces */

static struct piece *
piece_first(struct rgi_input *input)
{
    return &input->pieces[input->first];
}

static void
piece_leave(struct rgi_input *input)
{
    *piece_first(input) = (struct piece){0};
    input->first = (input->first + 1) % input->capacity;
    input->count--;
}

static void
piece_add(struct rgi_input *input, struct rgm_read_pooled *read)
{
    uint32_t at = (input->first + input->count) % input->capacity;

    rgi_assert(input->count < input->capacity);
    input->pieces[at] =
        (struct piece){read->lease, read->lease.data, read->count};
    read->lease = (struct rgm_lease){0};
    input->count++;
}

static void
pieces_drop(struct rgi_input *input)
{
    while (input->count > 0) {
        rgi_assert(rgm_lease_drop(&piece_first(input)->lease) == 0);
        piece_leave(input);
    }
}

/* Bytes of a frame are lost: nobody may take what comes for a beginning. */
static void
spoil(struct rgi_input *input)
{
    pieces_drop(input);
    input->half.ended = -EPIPE;
}

static size_t
copy_some(char *memory, size_t length_bytes, const struct piece *piece)
{
    size_t count = piece->length_bytes < length_bytes ? piece->length_bytes
                                                      : length_bytes;

    memcpy(memory, piece->data, count);
    return count;
}

static void
exact_take(struct rgi_input *input, struct rgm_exact *exact)
{
    while (input->count > 0 && exact->count < exact->length_bytes) {
        struct piece *piece = piece_first(input);
        size_t count =
            copy_some((char *)exact->memory + exact->count,
                      exact->length_bytes - exact->count, piece);

        exact->count += count;
        piece->data += count;
        piece->length_bytes -= count;
        if (piece->length_bytes > 0)
            return;
        rgi_assert(rgm_lease_drop(&piece->lease) == 0);
        piece_leave(input);
    }
}

static void
exact_peek(struct rgi_input *input, struct rgm_exact *exact)
{
    exact->count = 0;
    for (uint32_t i = 0;
         i < input->count && exact->count < exact->length_bytes; i++)
        exact->count += copy_some(
            (char *)exact->memory + exact->count,
            exact->length_bytes - exact->count,
            &input->pieces[(input->first + i) % input->capacity]);
}

/* ---------------------------------------------------------------- serving them */

/* Nothing more comes. Returns: the answer to whoever wants more. */
static int
answer_of_end(struct rgi_input *input, bool *ret_end, size_t got)
{
    if (!input->end)
        return input->half.ended;
    *ret_end = got == 0;
    return got == 0 ? 0 : -ENODATA;
}

#define MORE 1 /* no answer yet */

static int
serve_next(struct rgi_input *input, struct rgm_next *next)
{
    if (input->count > 0) {
        next->lease = piece_first(input)->lease;
        next->data = piece_first(input)->data;
        next->count = piece_first(input)->length_bytes;
        piece_leave(input);
        return 0;
    }
    if (input->end || input->half.ended != 0)
        return answer_of_end(input, &next->end, 0);
    return MORE;
}

static int
serve_exact(struct rgi_input *input, struct rgm_exact *exact)
{
    size_t got;
    int status;

    if (exact->peek)
        exact_peek(input, exact);
    else
        exact_take(input, exact);
    if (exact->count == exact->length_bytes)
        return 0;
    if (!input->end && input->half.ended == 0)
        return exact->peek && input->count == input->capacity ? -ENOBUFS : MORE;
    got = exact->count;
    status = answer_of_end(input, &exact->end, got);
    if (got > 0 && !exact->peek)
        spoil(input);
    return status;
}

static void
serve(struct rgi_input *input)
{
    struct rgm_link *link;

    while ((link = rgi_list_first(&input->half.line)) != NULL) {
        struct rgm_operation *operation = rgi_half_linked(link);
        int status = operation->kind == RGM_OP_NEXT
                         ? serve_next(input, rgi_next_of(operation))
                         : serve_exact(input, rgi_exact_of(operation));

        if (status == MORE)
            return;
        rgi_list_remove(&operation->link);
        rgi_half_answer(&input->half, operation, status);
    }
}

static void arrived(struct rgm_actor *actor, struct rgm_request *request);

/* Whether a read is to be out that is not. */
static bool
wants_read(const struct rgi_input *input)
{
    const struct rgi_half *half = &input->half;
    bool room = input->begun && input->count < input->window;

    return half->life == RGI_HALF_OPEN && half->out == 0 && !input->end &&
           half->ended == 0 && input->count < input->capacity &&
           (room || !rgi_list_empty(&half->line));
}

/* Gives those in line what there is, and sees to it that more comes. */
static void
go_on(struct rgi_input *input)
{
    struct rgm_actor *asker;

    serve(input);
    if (!wants_read(input))
        return;
    asker = rgi_half_asker(&input->half);
    if (asker == NULL) {
        input->half.ended = -EPIPE;
        serve(input);
        return;
    }
    input->half.out = 1;
    input->unwanted = false;
    rgm_stream_read_pooled(&input->read, input->half.stream, input->pool);
    rgi_request_bind(&input->read.request);
    rgm_ask_request(asker, &input->read.request, arrived);
}

/* ----------------------------------------------------------------- coming home */

static void
input_free(struct rgi_input *input)
{
    struct rgm_worker *worker = input->half.worker;

    rgi_half_free(&input->half);
    pieces_drop(input);
    rgi_slab_give(&worker->slab, input, bytes_of(input->capacity));
}

/* The read is home, or there was none. */
static void
close_end(struct rgi_input *input)
{
    serve(input); /* what won the race */
    rgi_half_answer_line(&input->half, -EPIPE);
    rgi_half_close_end(&input->half);
    pieces_drop(input);
}

static void
keep(struct rgi_input *input, struct rgm_read_pooled *read)
{
    int status = rgm_status(read);
    bool wished = input->unwanted || input->half.life != RGI_HALF_OPEN;

    if (input->half.ended != 0) { /* spoilt while it was out */
        rgi_assert(rgm_lease_drop(&read->lease) == 0);
        return;
    }
    if (status == 0 && read->count > 0)
        piece_add(input, read);
    else if (status == 0)
        input->end = read->end;
    else if (status != -ECANCELED || !wished)
        input->half.ended = status;
}

static void
arrived(struct rgm_actor *actor, struct rgm_request *request)
{
    struct rgi_input *input =
        rgi_container_of(request, struct rgi_input, read.request);

    (void)actor;
    input->half.out = 0;
    keep(input, &input->read);
    switch (rgi_half_come_home(&input->half)) {
    case RGI_HALF_OPEN:
        go_on(input);
        return;
    case RGI_HALF_CLOSING:
        close_end(input);
        return;
    case RGI_HALF_LEAVING:
        close_end(input);
        input_free(input);
        return;
    default: /* the provider has ended meanwhile, and all were told */
        return;
    }
}

/* -------------------------------------------------------- what a worker is asked */

static int
close_start(struct rgi_input *input, struct rgm_operation *operation)
{
    int status = rgi_half_close(&input->half, operation);

    if (status != 1)
        return status;
    pieces_drop(input);
    close_end(input);
    return 0;
}

static void
clear_outputs(struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_NEXT) {
        struct rgm_next *next = rgi_next_of(operation);

        next->lease = (struct rgm_lease){0};
        next->data = NULL;
        next->count = 0;
        next->end = false;
        return;
    }
    rgi_exact_of(operation)->count = 0;
    rgi_exact_of(operation)->end = false;
}

_Static_assert(offsetof(struct rgm_next, reader) ==
                       offsetof(struct rgm_exact, reader) &&
                   offsetof(struct rgm_reader_close, reader) ==
                       offsetof(struct rgm_next, reader),
               "all of them name their reader at one place");

static struct rgi_input *
input_of(const struct rgm_worker *worker, struct rgm_operation *operation)
{
    const struct rgm_reader *reader = rgi_next_of(operation)->reader;

    return rgi_handle_is_here(worker, reader->worker) ? reader->input : NULL;
}

int
rgi_reader_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    int status = rgi_operation_refused(operation);
    struct rgi_input *input;

    if (status != 0)
        return status;
    input = input_of(worker, operation);
    if (input == NULL)
        return -EBADF;
    if (operation->kind == RGM_OP_READER_CLOSE)
        return close_start(input, operation);
    if (input->half.life != RGI_HALF_OPEN)
        return -EPIPE;
    status = rgi_half_line_up(&input->half, operation);
    if (status != 0)
        return status;
    clear_outputs(operation);
    input->begun = true;
    go_on(input);
    return 0;
}

void
rgi_reader_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    struct rgi_input *input = input_of(worker, operation);

    if (!rgi_half_give_up(operation))
        return;
    if (operation->kind == RGM_OP_EXACT &&
        rgi_exact_of(operation)->count > 0 && !rgi_exact_of(operation)->peek)
        spoil(input);
    rgi_half_answer(&input->half, operation, -ECANCELED);
    go_on(input);
    if (input->half.out > 0 && input->window == 0 &&
        rgi_list_empty(&input->half.line)) {
        input->unwanted = true;
        rgi_half_cancel(&input->half);
    }
}

static struct rgi_input *
listed(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgi_input, half.all);
}

void
rgi_readers_lose(struct rgm_worker *worker)
{
    for (struct rgm_link *link = worker->inputs.next; link != &worker->inputs;
         link = link->next)
        rgi_half_lose(&listed(link)->half);
}

/* The streams' handles may be gone. What is still out was lost. */
void
rgi_readers_forget(struct rgm_worker *worker)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&worker->inputs)) != NULL) {
        struct rgi_input *input = listed(link);

        pieces_drop(input);
        if (input->half.out == 0)
            rgi_slab_give(&worker->slab, input, bytes_of(input->capacity));
    }
}

/* -------------------------------------------------------------------- handles */

int
rgm_input_open(struct rgm_actor *self, struct rgm_stream *stream,
               const struct rgm_reader_options *options,
               struct rgm_reader *ret_reader)
{
    struct rgm_worker *worker = self->worker;
    struct rgi_input *input;
    uint32_t capacity;
    int status;

    if (options == NULL || options->window > RGM_READER_WINDOW_MAX)
        return -EINVAL;
    status = rgi_half_check(self, stream);
    if (status != 0)
        return status;
    capacity = options->window + RGM_READER_PEEK_PIECES;
    input = rgi_slab_take(&worker->slab, bytes_of(capacity));
    if (input == NULL)
        return -ENOMEM;
    memset(input, 0, bytes_of(capacity));
    rgi_half_init(&input->half, self, stream, &input->read.request,
                  &worker->inputs);
    input->half.told = true; /* by next and exact; a close says nothing */
    input->pool = options->pool;
    input->window = options->window;
    input->capacity = capacity;
    ret_reader->worker = stream->socket.worker;
    ret_reader->input = input;
    return 0;
}

int
rgm_input_drop(struct rgm_actor *self, struct rgm_reader *reader)
{
    struct rgi_input *input = reader->input;

    rgi_assert(rgi_is_owner(self->worker));
    if (input == NULL)
        return 0;
    if (!rgi_handle_is_here(self->worker, reader->worker))
        return -EXDEV;
    *reader = (struct rgm_reader){0};
    if (rgi_half_drop(&input->half))
        input_free(input);
    return 0;
}
