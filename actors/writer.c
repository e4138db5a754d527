/* SPDX-License-Identifier: MIT */

/*
 * writer.c - what becomes of output that was handed over?
 *
 *     idle --submit: some is left--> writing --both home--> idle
 *      ^  |                            |
 *      '--'                            '----one has failed--> ended
 *     all out at once
 *
 * 1. A submit whose turn it is tries one transfer at once. What is left is one
 *    write, asked by the actor that opened the writer, and behind it a receipt:
 *    the provider says when the kernel has seen the write's first entry. That,
 *    or the end of the write, is the answer to the submit.
 * 2. Everything else stands in line: submits and flushes in their order. The line
 *    goes on when write and receipt are both home, in whichever order they come.
 * 3. A failed write ends the output: the line is told, and all that comes later.
 * 4. A close sends the line away and cancels the write. A drop does the same and
 *    waits for nobody.
 *
 * That much is the output's own: writing is that something is out. How it begins
 * and ends, and what it has in common with an input, is half.h.
 */

#include "actors/writer.h"

#include <errno.h>
#include <string.h>

#include "actors/half.h"
#include "actors/runtime.h"
#include "capabilities/operation.h"
#include "capabilities/writer.h"

struct rgi_output {
    struct rgi_half half;
    struct rgm_write write;     /* the one unfinished piece */
    struct rgm_receipt receipt; /* that the kernel has seen it */
    struct rgm_submit *taking;  /* taken, and not yet answered */
    size_t zero_copy_least;     /* bytes; 0: everything is copied */
};

static bool
goes_without_copy(const struct rgi_output *output, size_t length_bytes)
{
    return output->zero_copy_least > 0 &&
           length_bytes >= output->zero_copy_least;
}

/* After a failure of the provider nothing that is out is waited for. */
static bool
has_ended(const struct rgi_output *output)
{
    return output->half.ended != 0 &&
           (output->half.out == 0 || output->half.worker->failure != 0);
}

static void
output_free(struct rgi_output *output)
{
    struct rgm_worker *worker = output->half.worker;

    rgi_assert(output->taking == NULL);
    rgi_half_free(&output->half);
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
        rgi_transfer(output->half.worker, &output->half.stream->socket,
                     &transfer);

    return may_go_later(count) ? 0 : count;
}

static void written(struct rgm_actor *actor, struct rgm_request *request);
static void received(struct rgm_actor *actor, struct rgm_request *request);

/* The view is the write's from here on, and the rest of its bytes are written. */
static void
write_rest(struct rgi_output *output, struct rgm_actor *asker,
           struct rgm_submit *submit, size_t sent_bytes)
{
    const struct rgm_view *view = &submit->owned;
    struct rgm_address where = output->half.stream->socket.worker;

    output->taking = submit;
    output->half.out = 2;
    rgm_stream_write(&output->write, output->half.stream,
                     (const char *)view->data + sent_bytes,
                     view->length_bytes - sent_bytes);
    output->write.owned = *view;
    output->write.zero_copy = goes_without_copy(output, view->length_bytes);
    submit->owned = (struct rgm_view){0};
    if (submit->scope != NULL)
        rgm_request_in_scope(&output->write.request, submit->scope);
    rgi_receipt_prepare(&output->receipt, &output->write.operation, where);
    rgi_request_bind(&output->write.request);
    rgi_request_bind(&output->receipt.request);
    rgm_ask_request(asker, &output->write.request, written);
    rgm_ask_request(asker, &output->receipt.request, received);
}

/* Its turn has come. Returns: 1: all is out; 0: the rest is being written; or
 * why nothing of it was, and will be. */
static int
take(struct rgi_output *output, struct rgm_submit *submit)
{
    struct rgm_actor *asker = rgi_half_asker(&output->half);
    int64_t count = 0;

    if (asker == NULL)
        return -EPIPE;
    if (submit->scope != NULL)
        count = rgi_scope_check(asker, submit->scope);
    if (count < 0)
        return (int)count;
    if (submit->owned.length_bytes > 0 &&
        !goes_without_copy(output, submit->owned.length_bytes))
        count = send_now(output, &submit->owned);
    if (count < 0) {
        output->half.ended = (int)count;
        return rgi_half_tell_end(&output->half);
    }
    if ((size_t)count == submit->owned.length_bytes) {
        rgm_view_drop(&submit->owned);
        return 1;
    }
    write_rest(output, asker, submit, (size_t)count);
    return 0;
}

/* The line goes on until somebody's write is out. */
static void
advance(struct rgi_output *output)
{
    struct rgi_half *half = &output->half;
    struct rgm_link *link;

    while (half->out == 0 && half->ended == 0 &&
           (link = rgi_list_pop_front(&half->line)) != NULL) {
        struct rgm_operation *operation = rgi_half_linked(link);
        int status = operation->kind == RGM_OP_SUBMIT
                         ? take(output, rgi_submit_of(operation))
                         : 1;

        if (status != 0)
            rgi_half_answer(half, operation, status < 0 ? status : 0);
    }
    if (half->ended != 0 && !rgi_list_empty(&half->line))
        rgi_half_answer_line(half, rgi_half_tell_end(half));
}

/* --------------------------------------------------------------- coming home */

/* Write and receipt are home. */
static void
settle(struct rgi_output *output)
{
    switch (rgi_half_come_home(&output->half)) {
    case RGI_HALF_OPEN:
        advance(output);
        return;
    case RGI_HALF_CLOSING:
        rgi_half_close_end(&output->half);
        return;
    case RGI_HALF_LEAVING:
        rgi_half_close_end(&output->half);
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

    output->half.out--;
    output->taking = NULL;
    if (taken != NULL)
        rgi_half_answer(&output->half, &taken->operation, 0);
    if (output->half.out == 0)
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
        (output->half.life == RGI_HALF_OPEN || status != -ECANCELED))
        output->half.ended = status;
    home(output);
}

static void
received(struct rgm_actor *actor, struct rgm_request *request)
{
    (void)actor;
    home(rgi_container_of(request, struct rgi_output, receipt.request));
}

/* ------------------------------------------------------- what a worker is asked */

/* Nobody is before an idle output. What is all sent at once was never out. */
static int
submit_start(struct rgi_output *output, struct rgm_operation *operation)
{
    int status;

    if (output->half.out > 0)
        return rgi_half_line_up(&output->half, operation);
    status = take(output, rgi_submit_of(operation));
    if (status != 0)
        return status;
    return rgi_operation_begin(operation, output->half.worker->provider);
}

static int
close_start(struct rgi_output *output, struct rgm_operation *operation)
{
    int status = rgi_half_close(&output->half, operation);

    if (status < 0)
        return status;
    rgi_half_answer_line(&output->half, -EPIPE);
    if (status == 1)
        rgi_half_close_end(&output->half);
    return 0;
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

    return rgi_handle_is_here(worker, writer->worker) ? writer->output : NULL;
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
    if (output->half.life != RGI_HALF_OPEN)
        return -EPIPE;
    if (worker->failure != 0)
        return worker->failure;
    if (has_ended(output))
        return rgi_half_tell_end(&output->half);
    if (operation->kind == RGM_OP_SUBMIT)
        return submit_start(output, operation);
    return output->half.out == 0 ? 1
                                 : rgi_half_line_up(&output->half, operation);
}

/* One whose piece was taken is in no line. */
void
rgi_writer_cancel(struct rgm_worker *worker, struct rgm_operation *operation)
{
    if (rgi_half_give_up(operation))
        rgi_half_answer(&output_of(worker, operation)->half, operation,
                        -ECANCELED);
}

void
rgi_writers_lose(struct rgm_worker *worker)
{
    for (struct rgm_link *link = worker->outputs.next;
         link != &worker->outputs; link = link->next) {
        struct rgi_output *output =
            rgi_container_of(link, struct rgi_output, half.all);

        if (output->taking != NULL)
            rgi_half_answer(&output->half, &output->taking->operation,
                            worker->failure);
        output->taking = NULL;
        rgi_half_lose(&output->half);
    }
}

/* ------------------------------------------------------------------- handles */

int
rgm_output_open(struct rgm_actor *self, struct rgm_stream *stream,
                struct rgm_writer *ret_writer)
{
    struct rgm_worker *worker = self->worker;
    struct rgi_output *output;
    int status = rgi_half_check(self, stream);

    if (status != 0)
        return status;
    output = rgi_slab_take(&worker->slab, sizeof(*output));
    if (output == NULL)
        return -ENOMEM;
    memset(output, 0, sizeof(*output));
    rgi_half_init(&output->half, self, stream, &output->write.request,
                  &worker->outputs);
    ret_writer->worker = stream->socket.worker;
    ret_writer->output = output;
    return 0;
}

int
rgm_output_drop(struct rgm_actor *self, struct rgm_writer *writer)
{
    struct rgi_output *output = writer->output;

    rgi_assert(rgi_is_owner(self->worker));
    if (output == NULL)
        return 0;
    if (!rgi_handle_is_here(self->worker, writer->worker))
        return -EXDEV;
    *writer = (struct rgm_writer){0};
    if (rgi_half_drop(&output->half))
        output_free(output);
    return 0;
}

void
rgm_output_zero_copy(struct rgm_actor *self, struct rgm_writer *writer,
                     size_t least_bytes)
{
    rgi_assert(rgi_is_owner(self->worker));
    if (writer->output != NULL &&
        rgi_handle_is_here(self->worker, writer->worker))
        writer->output->zero_copy_least = least_bytes;
}

/* Whether borrowed bytes may go now. Returns: 0, or why not. */
static int
check_turn(const struct rgm_actor *self, const struct rgm_writer *writer)
{
    const struct rgi_output *output = writer->output;

    if (output == NULL)
        return -EBADF;
    if (!rgi_handle_is_here(self->worker, writer->worker))
        return -EXDEV;
    if (output->half.life != RGI_HALF_OPEN)
        return -EPIPE;
    if (has_ended(output))
        return output->half.ended;
    return output->half.out == 0 ? 0 : -EAGAIN;
}

int
rgm_output_write(struct rgm_actor *self, struct rgm_writer *writer,
                 const void *data, size_t length_bytes, uint32_t flags,
                 size_t *ret_count)
{
    int status = check_turn(self, writer);

    if (status != 0)
        return status;
    return rgm_transfer_write(self, writer->output->half.stream, data, length_bytes,
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
    return rgm_transfer_write_vectors(self, writer->output->half.stream, vectors,
                                      vectors_count, ret_count);
}
