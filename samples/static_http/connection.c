/* SPDX-License-Identifier: MIT */

/*
 * connection.c - how does a client get its answers, in order, and no more than
 * it takes?
 *
 * `settled` runs after each batch of what reached the connection:
 *
 * 1. take_requests: while there is room for an answer and something was read,
 *    parse on; a request that is complete is answered at once if its file is
 *    known, else nothing further is parsed until it is.
 * 2. start_write: one write of all answers that wait.
 * 3. start_send: behind them, if the last one's body is sent from the file, the
 *    next piece of that.
 * 4. start_read: when all that was read is parsed and there is room, one read.
 * 5. wind_up: when nothing is left to do and no more can come, close.
 *
 * A client that does not read its answers is not read from; one that takes
 * nothing for limits.stall_ns is given up. So is one that sends its header more
 * slowly than limits.header_ns (408), or nothing for limits.idle_ns.
 *
 * How it ends:
 *   the peer sends no more     what it sent is answered, then closed
 *   "close", a bad request     that is answered, then the output is ended and
 *                              the peer is read from, for a while, to its end:
 *                              a close with unread bytes would destroy answers
 *   an error, no memory        closed as soon as nothing is out (`broken`)
 *   the server stops           no more is read; what was read is answered
 */

#include "samples/static_http/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

RGM_FACTORY(connection, rgm_stream, connection_make);
RGM_HOOK(connection, connection_started);
RGM_HOOK(connection, connection_settled);
RGM_HOOK(connection, connection_retiring);
RGM_HOOK(connection, connection_stopped);
RGM_ANSWER(connection, rgm_read_pooled, on_read);
RGM_ANSWER(connection, rgm_write, on_written);
RGM_ANSWER(connection, rgm_send_file, on_sent);
RGM_ANSWER(connection, rgm_shutdown, on_shutdown);
RGM_ANSWER(connection, rgm_close, on_closed);

const struct rgm_behaviour connection_behaviour = {
    .name = "connection",
    .size_bytes = sizeof(struct connection),
    .factory = RGM_MAKE(connection, connection_make),
    .started = RGM_DO(connection, connection_started),
    .settled = RGM_DO(connection, connection_settled),
    .retiring = RGM_DO(connection, connection_retiring),
    .stopped = RGM_DO(connection, connection_stopped),
};

_Static_assert(sizeof(struct connection) <= 1024,
               "an idle connection is about 1 KiB");

static int
connection_make(struct connection *self, const struct rgm_stream *stream)
{
    self->stream = *stream;
    request_parser_init(&self->parser);
    return 0;
}

static void
connection_started(struct connection *self)
{
    self->site = &server.sites[rgm_worker_number(&self->actor)];
    connection_settled(self);
}

/* -------------------------------------------------------------------- input */

static size_t
input_left(const struct connection *self)
{
    return self->input.length_bytes - self->input_at;
}

static void
input_drop(struct connection *self)
{
    if (self->spilled == NULL)
        rgm_view_drop(&self->input);
    free(self->spilled);
    self->spilled = NULL;
    self->input = (struct rgm_view){0};
    self->input_at = 0;
}

/* The client may leave us with it for long: the pool's slot is for others. */
static void
input_spill(struct connection *self)
{
    size_t left = input_left(self);
    char *memory;

    if (left == 0 || self->spilled != NULL)
        return;
    memory = malloc(left);
    if (memory == NULL)
        return;
    memcpy(memory, (const char *)self->input.data + self->input_at, left);
    input_drop(self);
    self->spilled = memory;
    self->input = (struct rgm_view){.data = memory, .length_bytes = left};
}

/* ------------------------------------------------------------------ the end */

static void
entry_done(struct connection *self)
{
    if (self->entry != NULL)
        entry_release(&self->actor, self->site, self->entry);
    self->entry = NULL;
    self->part.length_bytes = 0;
}

static void
request_done(struct connection *self)
{
    if (self->request != NULL)
        request_give(self->site, self->request);
    self->request = NULL;
    self->header_deadline = (struct rgm_deadline){0, 0};
}

static void
output_done(struct connection *self, struct output **output)
{
    if (*output != NULL)
        output_give(&self->actor, self->site, *output);
    *output = NULL;
}

/* Nothing more is written or read: only what is out is waited for. */
static void
break_off(struct connection *self)
{
    self->broken = true;
    self->last = true;
    input_drop(self);
    output_done(self, &self->filling);
    if (self->flying != NULL)
        rgm_cancel(self, &self->flying->write);
    if (self->sending)
        rgm_cancel(self, &self->send);
    else
        entry_done(self);
    if (self->fetch != NULL)
        fetch_cancel(self);
    else
        request_done(self);
}

/* ----------------------------------------------------------------- answering */

/* Room for one answer, in its turn. */
static bool
can_answer(const struct connection *self)
{
    return !self->last && self->fetch == NULL && self->entry == NULL &&
           (self->filling == NULL || output_has_room(self->filling));
}

/* Returns: where the answer goes, or NULL: no memory, and that was the end. */
static struct output *
answer_begin(struct connection *self)
{
    if (self->filling == NULL)
        self->filling = output_take(self->site);
    if (self->filling == NULL) {
        break_off(self);
        return NULL;
    }
    if (self->stopping && input_left(self) == 0)
        self->request->keep_alive = false;
    site_date(self->site, rgm_now(&self->actor));
    return self->filling;
}

static void
answer_end(struct connection *self)
{
    self->answered = true;
    if (!self->request->keep_alive)
        self->last = true;
    request_done(self);
}

static void
answer_status(struct connection *self, int status, const char *path)
{
    struct output *output = answer_begin(self);

    if (output == NULL)
        return;
    respond_status(output, self->site, self->request, status, path);
    answer_end(self);
}

/* A bad request is the last one: where the next begins is not known. */
static void
answer_bad(struct connection *self, int status)
{
    self->request->keep_alive = false;
    answer_status(self, status, "");
}

/* Takes the entry over. */
static void
answer_file(struct connection *self, struct file_entry *entry)
{
    struct output *output = answer_begin(self);

    if (output == NULL) {
        entry_release(&self->actor, self->site, entry);
        return;
    }
    self->part = respond_file(output, self->site, self->request, entry);
    if (self->part.length_bytes > 0)
        self->entry = entry;
    else
        entry_release(&self->actor, self->site, entry);
    answer_end(self);
}

static void
answer(struct connection *self)
{
    struct request *request = self->request;
    char path[PATH_MAX_BYTES];
    uint64_t now_ns = rgm_now(&self->actor);
    struct file_entry *entry = cache_find_again(
        self->site, request->target, request->target_bytes, now_ns);
    int status;

    if (entry != NULL) {
        answer_file(self, entry);
        return;
    }
    status = path_from_target(request->target, request->target_bytes, path);
    if (status != 0) {
        answer_status(self, status, "");
        return;
    }
    entry = cache_find(self->site, path, now_ns);
    if (entry != NULL) {
        cache_remember(self->site, request->target, request->target_bytes,
                       entry);
        answer_file(self, entry);
    } else if (!fetch_begin(self, path)) {
        answer_status(self, 503, "");
    }
}

void
connection_fetched(struct connection *self, struct file_entry *entry,
                   int status, const char *path)
{
    if (self->broken) {
        if (entry != NULL)
            entry_release(&self->actor, self->site, entry);
        request_done(self);
    } else if (entry != NULL) {
        answer_file(self, entry);
    } else {
        answer_status(self, status, path);
    }
}

/* Its time begins with its first byte. */
static void
request_goes_on(struct connection *self)
{
    if (self->header_deadline.at_ns == 0)
        self->header_deadline =
            rgm_deadline_from_now(&self->actor, server.limits.header_ns);
}

static void
take_requests(struct connection *self)
{
    while (can_answer(self) && input_left(self) > 0) {
        if (self->request == NULL)
            self->request = request_take(self->site);
        if (self->request == NULL) {
            break_off(self);
            return;
        }
        self->input_at += request_feed(
            &self->parser, self->request,
            (const char *)self->input.data + self->input_at, input_left(self));
        if (self->request->status != 0)
            answer_bad(self, self->request->status);
        else if (self->request->complete)
            answer(self);
        else
            request_goes_on(self);
    }
    if (input_left(self) == 0 || self->last)
        input_drop(self);
}

/* ------------------------------------------------------------------ writing */

static void
start_write(struct connection *self)
{
    if (self->broken || self->flying != NULL || self->sending ||
        self->filling == NULL)
        return;
    self->flying = self->filling;
    self->filling = NULL;
    rgm_stream_write_vectors(&self->flying->write, &self->stream,
                             self->flying->vectors,
                             self->flying->vectors_count);
    rgm_expire_after(&self->flying->write, server.limits.stall_ns);
    rgm_ask(self, &self->flying->write,
            RGM_REPLY(connection, rgm_write, on_written));
}

static void
on_written(struct connection *self, struct rgm_write *write)
{
    int status = rgm_status(write);

    output_done(self, &self->flying);
    if (status != 0)
        break_off(self);
}

static void
start_send(struct connection *self)
{
    uint64_t length_bytes = self->part.length_bytes;

    if (self->broken || self->entry == NULL || self->sending ||
        self->flying != NULL)
        return;
    self->sending = true;
    rgm_stream_send_file(&self->send, &self->stream, &self->entry->file,
                         self->part.first,
                         length_bytes < LIMIT_PIECE_BYTES ? length_bytes
                                                          : LIMIT_PIECE_BYTES);
    rgm_expire_after(&self->send, server.limits.stall_ns);
    rgm_ask(self, &self->send,
            RGM_REPLY(connection, rgm_send_file, on_sent));
}

/* Slow is not stalled: what has taken something may take more. */
static void
on_sent(struct connection *self, struct rgm_send_file *send)
{
    int status = rgm_status(send);

    self->sending = false;
    self->part.first += send->count;
    self->part.length_bytes -= send->count;
    if (status == -ETIMEDOUT && send->count > 0 && !self->broken)
        status = 0;
    if (self->broken || self->part.length_bytes == 0)
        entry_done(self);
    if (status != 0 && !self->broken)
        break_off(self);
}

/* ------------------------------------------------------------------ reading */

static void
ask_read(struct connection *self)
{
    struct rgm_read_pooled *read = &self->operation.read;

    self->operating = true;
    rgm_stream_read_pooled(read, &self->stream, server.pool);
    if (self->header_deadline.at_ns != 0) /* or that of lingering */
        rgm_expire_at(read, self->header_deadline);
    else
        rgm_expire_after(read, server.limits.idle_ns);
    rgm_ask(self, read, RGM_REPLY(connection, rgm_read_pooled, on_read));
}

static void
start_read(struct connection *self)
{
    if (self->operating || self->input_ended || self->last)
        return;
    if (!can_answer(self))
        input_spill(self);
    else if (input_left(self) == 0)
        ask_read(self);
}

static void
read_timed_out(struct connection *self)
{
    if (self->phase == PHASE_LINGERING)
        self->input_ended = true;
    else if (self->request != NULL && self->fetch == NULL && !self->last)
        answer_bad(self, 408);
    else if (self->flying == NULL && self->entry == NULL &&
             self->fetch == NULL)
        self->input_ended = true;
}

static void
on_read(struct connection *self, struct rgm_read_pooled *read)
{
    int status = rgm_status(read);

    self->operating = false;
    self->cancelled = false;
    if (read->end) {
        self->input_ended = true;
        self->peer_ended = true;
    }
    if (status == -ETIMEDOUT && !rgm_lease_active(&read->lease))
        read_timed_out(self);
    else if (status != 0 && status != -ECANCELED && status != -ETIMEDOUT)
        break_off(self);
    if (!rgm_lease_active(&read->lease))
        return;
    if (self->phase != PHASE_SERVING || self->last ||
        rgm_lease_freeze(&read->lease, &self->input) != 0)
        rgm_lease_drop(&read->lease);
}

/* --------------------------------------------------------------- winding up */

static bool
is_done(const struct connection *self)
{
    if (self->flying != NULL || self->filling != NULL || self->sending ||
        self->entry != NULL || self->fetch != NULL)
        return false;
    return self->last || (self->input_ended && input_left(self) == 0);
}

static void
start_close(struct connection *self)
{
    self->phase = PHASE_CLOSING;
    self->operating = true;
    rgm_stream_close(&self->operation.close, &self->stream);
    rgm_ask(self, &self->operation.close,
            RGM_REPLY(connection, rgm_close, on_closed));
}

static void
start_lingering(struct connection *self)
{
    self->phase = PHASE_LINGERING;
    self->operating = true;
    self->input_ended = false;
    self->header_deadline =
        rgm_deadline_from_now(&self->actor, LIMIT_LINGER_NS);
    rgm_stream_shutdown(&self->operation.shutdown, &self->stream);
    rgm_ask(self, &self->operation.shutdown,
            RGM_REPLY(connection, rgm_shutdown, on_shutdown));
}

static void
on_shutdown(struct connection *self, struct rgm_shutdown *shutdown)
{
    self->operating = false;
    if (rgm_status(shutdown) != 0)
        break_off(self);
}

static void
wind_up(struct connection *self)
{
    bool done = is_done(self);

    if (self->phase >= PHASE_CLOSING)
        return;
    if (self->operating) {
        if ((self->broken || (self->phase == PHASE_SERVING && done)) &&
            !self->cancelled) {
            self->cancelled = true;
            rgm_cancel(self, &self->operation.read);
        }
        return;
    }
    if (self->phase == PHASE_LINGERING) {
        if (self->input_ended || self->broken)
            start_close(self);
        else
            ask_read(self);
    } else if (done && self->answered && !self->peer_ended && !self->broken) {
        start_lingering(self);
    } else if (done) {
        start_close(self);
    }
}

static void
connection_settled(struct connection *self)
{
    if (self->phase == PHASE_SERVING) {
        take_requests(self);
        start_write(self);
        start_send(self);
        start_read(self);
    }
    wind_up(self);
}

static void
on_closed(struct connection *self, struct rgm_close *close)
{
    (void)close;
    self->phase = PHASE_GONE;
    rgm_stop(self);
}

/* ------------------------------------------------------ the server is stopping */

static void
connection_retiring(struct connection *self)
{
    self->stopping = true;
    self->input_ended = self->phase == PHASE_SERVING || self->input_ended;
    connection_settled(self);
    if (self->operating && self->phase == PHASE_SERVING && !self->cancelled) {
        self->cancelled = true;
        rgm_cancel(self, &self->operation.read);
    }
}

/* Also of one that was stopped by force, at whatever it was. */
static void
connection_stopped(struct connection *self)
{
    input_drop(self);
    output_done(self, &self->filling);
    output_done(self, &self->flying);
    entry_done(self);
    request_done(self);
    (void)rgm_stream_drop(self, &self->stream);
}
