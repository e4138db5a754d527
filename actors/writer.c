/* SPDX-License-Identifier: MIT */

/*
 * writer.c - what becomes of output that was handed over?
 *
 *               submit: all out at once
 *                 ,----.
 *                 |    v      rest      both home
 *     open -----> IDLE -------> WRITING -------> IDLE, or ENDED if it failed
 *                  |               |               |
 *                  |  close        | close         | close
 *                  v               v               v
 *                CLOSED <------ CLOSING          CLOSED
 *                      both home
 *
 * 1. A submit whose turn it is tries one transfer at once. What is left is one
 *    write, asked by the actor that opened the writer, and behind it a receipt:
 *    the provider says when the kernel has seen the write's first entry. That,
 *    or the end of the write, is the answer to the submit.
 * 2. Everything else stands in line: submits and flushes in their order. The line
 *    goes on when write and receipt are both home, in whichever order they come.
 * 3. A failed write ends the output: the line is told, and all that comes later.
 * 4. A close empties the line, cancels the write, and is answered when both are
 *    home. A drop does the same and waits for nobody: state LEAVING, and whoever
 *    comes home last frees the output.
 *
 * The output lies in the worker's slab and not in the handle, so that nothing
 * that is out points to memory of the program's. The write points to the stream,
 * and counts there; the opener's stop cancels it and waits for it before
 * `stopped`, so the stream's handle, too, is still there.
 *
 * This is the only file that writes `state`.
 */

#include "actors/writer.h"

#include <errno.h>
#include <string.h>

#include "actors/runtime.h"
#include "capabilities/operation.h"
#include "capabilities/stream.h"
#include "capabilities/writer.h"

enum output_state {
    OUTPUT_IDLE,    /* nothing is unfinished */
    OUTPUT_WRITING, /* the write is out, or its receipt */
    OUTPUT_ENDED,   /* by `ended` */
    OUTPUT_CLOSING, /* as WRITING; nothing new is taken */
    OUTPUT_CLOSED,
    OUTPUT_LEAVING /* as CLOSING; nobody has the handle any more */
};

struct rgi_output {
    struct rgm_write write;     /* the one unfinished piece */
    struct rgm_receipt receipt; /* that the kernel has seen it */
    struct rgm_worker *worker;
    struct rgm_stream *stream;
    struct rgm_address opener;
    struct rgm_link all;       /* in the worker's `outputs` */
    struct rgm_link line;      /* submits and flushes, in order */
    struct rgm_link closers;   /* closes that wait */
    struct rgm_submit *taking; /* taken, and not yet answered */
    uint8_t state;             /* enum output_state */
    uint8_t out;               /* of write and receipt */
    bool told;                 /* somebody knows what ended it */
    int ended;                 /* a negative errno; 0: nothing did */
};

static struct rgm_operation *
linked(struct rgm_link *link)
{
    return rgi_container_of(link, struct rgm_operation, link);
}

static void
done(struct rgi_output *output, struct rgm_operation *operation, int status)
{
    output->worker->attention = true;
    rgm_operation_complete(operation, status, &output->worker->turn);
}

static struct rgm_actor *
opener_of(const struct rgi_output *output)
{
    return rgi_actor_live(output->worker, output->opener);
}

static void
line_refuse(struct rgi_output *output, int status)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&output->line)) != NULL)
        done(output, linked(link), status);
}

static void
output_free(struct rgi_output *output)
{
    struct rgm_worker *worker = output->worker;

    rgi_assert(output->out == 0 && output->taking == NULL);
    output->stream->socket.busy--;
    rgi_list_remove(&output->all);
    rgi_slab_give(&worker->slab, output, sizeof(*output));
}

/* ------------------------------------------------------------ taking a piece */

/* Whether a transfer that was refused may go later. */
static bool
may_go_later(int64_t status)
{
    return status == -EAGAIN || status == -ENOBUFS || status == -ENOMEM ||
           status == -ENOTSUP;
}

/* Returns: how much has gone out, or why none ever will. */
static int64_t
send_now(struct rgi_output *output, const struct rgm_view *view)
{
    struct rgm_vector piece = {view->data, view->length_bytes};
    struct rgm_transfer transfer = {
        .vectors = &piece,
        .vectors_count = 1,
        .flags = RGM_TRANSFER_NO_SIGNAL,
        .writes = true,
    };
    int64_t count =
        rgi_transfer(output->worker, &output->stream->socket, &transfer);

    return may_go_later(count) ? 0 : count;
}

static void written(struct rgm_actor *actor, struct rgm_request *request);
static void received(struct rgm_actor *actor, struct rgm_request *request);

/* The view is the write's from here on, and the rest of its bytes are written. */
static void
write_rest(struct rgi_output *output, struct rgm_actor *opener,
           struct rgm_submit *submit, size_t sent_bytes)
{
    const struct rgm_view *view = &submit->owned;
    struct rgm_address where = output->stream->socket.worker;

    output->state = OUTPUT_WRITING;
    output->taking = submit;
    output->out = 2;
    rgm_stream_write(&output->write, output->stream,
                     (const char *)view->data + sent_bytes,
                     view->length_bytes - sent_bytes);
    output->write.owned = *view;
    submit->owned = (struct rgm_view){0};
    if (submit->scope != NULL)
        rgm_request_in_scope(&output->write.request, submit->scope);
    rgi_receipt_prepare(&output->receipt, &output->write.operation, where);
    rgm_ask_request(opener, &output->write.request, written);
    rgm_ask_request(opener, &output->receipt.request, received);
}

/* Whoever may be taken at all. */
static int
check_opener(const struct rgm_actor *opener, const struct rgm_submit *submit)
{
    if (opener == NULL || opener->life != RGI_LIFE_RUNNING)
        return -EPIPE;
    if (submit->scope == NULL)
        return 0;
    return rgi_scope_check(opener, submit->scope);
}

/* Its turn has come. Returns: 1: all is out; 0: the rest is being written; or
 * why nothing of it was, and will be. */
static int
take(struct rgi_output *output, struct rgm_submit *submit)
{
    struct rgm_actor *opener = opener_of(output);
    int64_t count = check_opener(opener, submit);

    if (count < 0)
        return (int)count;
    if (submit->owned.length_bytes > 0)
        count = send_now(output, &submit->owned);
    if (count < 0) {
        output->state = OUTPUT_ENDED;
        output->ended = (int)count;
        output->told = true;
        return (int)count;
    }
    if ((size_t)count == submit->owned.length_bytes) {
        rgm_view_drop(&submit->owned);
        return 1;
    }
    write_rest(output, opener, submit, (size_t)count);
    return 0;
}

static int
tell_end(struct rgi_output *output)
{
    output->told = true;
    return output->ended;
}

/* The line goes on until somebody's write is out. */
static void
advance(struct rgi_output *output)
{
    struct rgm_link *link;

    while (output->state == OUTPUT_IDLE &&
           (link = rgi_list_pop_front(&output->line)) != NULL) {
        struct rgm_operation *operation = linked(link);
        int status = operation->kind == RGM_OP_SUBMIT
                         ? take(output, rgi_submit_of(operation))
                         : 1;

        if (status != 0)
            done(output, operation, status < 0 ? status : 0);
    }
    if (output->state == OUTPUT_ENDED && !rgi_list_empty(&output->line))
        line_refuse(output, tell_end(output));
}

/* --------------------------------------------------------------- coming home */

static void
closers_answer(struct rgi_output *output)
{
    struct rgm_link *link;

    while ((link = rgi_list_pop_front(&output->closers)) != NULL) {
        int status = output->told ? 0 : tell_end(output);

        done(output, linked(link), status);
    }
}

/* Write and receipt are home. */
static void
settle(struct rgi_output *output)
{
    switch ((enum output_state)output->state) {
    case OUTPUT_WRITING:
        output->state = output->ended != 0 ? OUTPUT_ENDED : OUTPUT_IDLE;
        advance(output);
        return;
    case OUTPUT_CLOSING:
        output->state = OUTPUT_CLOSED;
        closers_answer(output);
        return;
    case OUTPUT_LEAVING:
        closers_answer(output);
        output_free(output);
        return;
    default: /* the provider has ended meanwhile, and all were told */
        return;
    }
}

static void
home(struct rgi_output *output)
{
    struct rgm_submit *taken = output->taking;

    output->out--;
    output->taking = NULL;
    if (taken != NULL)
        done(output, &taken->operation, 0);
    if (output->out == 0)
        settle(output);
}

/* A close or a drop wanted it cancelled, so that is no failure. */
static void
written(struct rgm_actor *actor, struct rgm_request *request)
{
    struct rgi_output *output =
        rgi_container_of(request, struct rgi_output, write.request);
    int status = rgm_request_status(request);

    (void)actor;
    rgm_view_drop(&output->write.owned); /* if it was never asked at all */
    if (status < 0 &&
        (output->state == OUTPUT_WRITING || status != -ECANCELED))
        output->ended = status;
    home(output);
}

static void
received(struct rgm_actor *actor, struct rgm_request *request)
{
    (void)actor;
    home(rgi_container_of(request, struct rgi_output, receipt.request));
}

/* ------------------------------------------------------- what a worker is asked */

static int
begin_in_line(struct rgi_output *output, struct rgm_operation *operation)
{
    int status = rgi_operation_begin(operation, output->worker->provider);

    if (status == 0)
        rgi_list_push_back(&output->line, &operation->link);
    return status;
}

/* Nobody is before an idle output. What is all sent at once was never out. */
static int
submit_start(struct rgi_output *output, struct rgm_operation *operation)
{
    int status;

    if (output->state == OUTPUT_WRITING)
        return begin_in_line(output, operation);
    status = take(output, rgi_submit_of(operation));
    if (status != 0)
        return status;
    return rgi_operation_begin(operation, output->worker->provider);
}

static void
write_cancel(struct rgi_output *output)
{
    struct rgm_actor *opener = opener_of(output);

    if (opener != NULL && output->worker->failure == 0 &&
        !rgi_request_is_home(&output->write.request))
        rgm_cancel_request(opener, &output->write.request);
}

static int
close_start(struct rgi_output *output, struct rgm_operation *operation)
{
    int status = rgi_operation_begin(operation, output->worker->provider);

    if (status != 0)
        return status;
    rgi_list_push_back(&output->closers, &operation->link);
    switch ((enum output_state)output->state) {
    case OUTPUT_WRITING:
        output->state = OUTPUT_CLOSING;
        line_refuse(output, -EPIPE);
        write_cancel(output);
        return 0;
    case OUTPUT_CLOSING:
        return 0;
    default:
        output->state = OUTPUT_CLOSED;
        closers_answer(output);
        return 0;
    }
}

_Static_assert(offsetof(struct rgm_submit, writer) ==
                       offsetof(struct rgm_flush, writer) &&
                   offsetof(struct rgm_writer_close, writer) ==
                       offsetof(struct rgm_flush, writer),
               "all of them name their writer at one place");

/* The handle may have been dropped since, or made anew. */
static struct rgi_output *
output_of(const struct rgm_worker *worker, struct rgm_operation *operation)
{
    const struct rgm_writer *writer = rgi_flush_of(operation)->writer;
    struct rgm_address here =
        rgi_address_make(worker->number, 0, worker->identity);

    return rgm_address_same(writer->worker, here) ? writer->output : NULL;
}

int
rgi_writer_start(struct rgm_worker *worker, struct rgm_operation *operation)
{
    int status = rgi_operation_refused(operation);
    struct rgi_output *output;

    if (status != 0)
        return status;
    output = output_of(worker, operation);
    if (output == NULL)
        return -EBADF;
    if (operation->kind == RGM_OP_WRITER_CLOSE)
        return close_start(output, operation);
    if (output->state >= OUTPUT_CLOSING)
        return -EPIPE;
    if (worker->failure != 0)
        return worker->failure;
    if (output->state == OUTPUT_ENDED)
        return tell_end(output);
    if (operation->kind == RGM_OP_SUBMIT)
        return submit_start(output, operation);
    return output->state == OUTPUT_IDLE ? 1 : begin_in_line(output, operation);
}

void
rgi_writer_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    if (operation->kind == RGM_OP_WRITER_CLOSE ||
        !rgi_list_is_linked(&operation->link) || /* its piece was taken */
        !rgi_operation_stop(operation))
        return;
    rgi_list_remove(&operation->link);
    worker->attention = true;
    rgm_operation_complete(operation, -ECANCELED, &worker->turn);
}

void
rgi_writers_lose(struct rgm_worker *worker)
{
    for (struct rgm_link *link = worker->outputs.next;
         link != &worker->outputs; link = link->next) {
        struct rgi_output *output =
            rgi_container_of(link, struct rgi_output, all);

        if (output->taking != NULL)
            done(output, &output->taking->operation, worker->failure);
        output->taking = NULL;
        line_refuse(output, worker->failure);
        output->told = true;
        closers_answer(output);
        if (output->state <= OUTPUT_ENDED)
            output->state = OUTPUT_ENDED;
        output->ended = worker->failure;
    }
}

/* ------------------------------------------------------------------- handles */

int
rgm_output_open(struct rgm_actor *self, struct rgm_stream *stream,
                struct rgm_writer *ret_writer)
{
    struct rgm_worker *worker = self->worker;
    struct rgi_output *output;
    int status;

    rgi_assert(rgi_is_owner(worker));
    if (worker->is_guest || stream == NULL)
        return -EINVAL;
    status = rgi_transfer_check(worker, &stream->socket);
    if (status == -EBADF && stream->socket.open == 1)
        return -EINVAL; /* open, and no stream */
    if (status != 0)
        return status;
    output = rgi_slab_take(&worker->slab, sizeof(*output));
    if (output == NULL)
        return -ENOMEM;
    memset(output, 0, sizeof(*output));
    output->worker = worker;
    output->stream = stream;
    output->opener = self->address;
    rgi_list_init(&output->line);
    rgi_list_init(&output->closers);
    rgi_list_push_back(&worker->outputs, &output->all);
    stream->socket.busy++;
    ret_writer->worker = stream->socket.worker;
    ret_writer->output = output;
    return 0;
}

int
rgm_output_drop(struct rgm_actor *self, struct rgm_writer *writer)
{
    struct rgm_worker *worker = self->worker;
    struct rgi_output *output = writer->output;
    struct rgm_address here =
        rgi_address_make(worker->number, 0, worker->identity);

    rgi_assert(rgi_is_owner(worker));
    if (output == NULL)
        return 0;
    if (!rgm_address_same(writer->worker, here))
        return -EXDEV;
    *writer = (struct rgm_writer){0};
    line_refuse(output, -EPIPE);
    if (output->out == 0) {
        output_free(output);
        return 0;
    }
    output->state = OUTPUT_LEAVING;
    write_cancel(output);
    return 0;
}

/* Returns: the stream whose turn it is, or NULL and why not. */
static int
check_turn(const struct rgm_actor *self, const struct rgm_writer *writer)
{
    const struct rgm_worker *worker = self->worker;
    const struct rgi_output *output = writer->output;
    struct rgm_address here =
        rgi_address_make(worker->number, 0, worker->identity);

    if (output == NULL)
        return -EBADF;
    if (!rgm_address_same(writer->worker, here))
        return -EXDEV;
    if (output->state >= OUTPUT_CLOSING)
        return -EPIPE;
    if (output->state == OUTPUT_ENDED)
        return output->ended;
    return output->state == OUTPUT_IDLE ? 0 : -EAGAIN;
}

int
rgm_output_write(struct rgm_actor *self, struct rgm_writer *writer,
                 const void *data, size_t length_bytes, uint32_t flags,
                 size_t *ret_count)
{
    int status = check_turn(self, writer);

    if (status != 0)
        return status;
    return rgm_transfer_write(self, writer->output->stream, data, length_bytes,
                              flags, ret_count);
}

int
rgm_output_write_vectors(struct rgm_actor *self, struct rgm_writer *writer,
                         const struct rgm_vector *vectors, size_t vectors_count,
                         size_t *ret_count)
{
    int status = check_turn(self, writer);

    if (status != 0)
        return status;
    return rgm_transfer_write_vectors(self, writer->output->stream, vectors,
                                      vectors_count, ret_count);
}
