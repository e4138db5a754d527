/* SPDX-License-Identifier: MIT */

/*
 * connection.c - how does a client get its answers, in order, and no more
 * than it takes?
 *
 * `settled` runs after each batch of what reached the connection, and calls
 * four functions:
 *
 * 1. take_commands: while there is room and the parser has a command, ask the
 *    command's owner, in order.
 * 2. start_write: when replies are there and no write is out, one write of all.
 * 3. start_read: when there is room and nothing is left to parse, one read.
 * 4. wind_up: when nothing is left to do and no more can come, close.
 *
 * "Room" is a place in the order and less than a limit of replies that wait.
 * A client that does not read its replies is not read from, and that is all:
 * its memory is bounded, the others do not notice.
 *
 * A command for the shard of the connection's own worker is not asked while nothing
 * is out before it, but carried out at once, some together (`batch`).
 *
 * A command of keys on several workers takes the road through the sequencer,
 * and so does every command of several keys while slots move; everything else
 * goes straight to its shard. Each road keeps the order, also while its slot
 * moves (<ringmail/shards.h>), but between the two there is none: so a command
 * that takes another road than those that are out waits for their answers, and
 * what is behind it waits, too.
 *
 * How it ends:
 *   the peer sends no more   what it sent is answered, then closed
 *   QUIT, a protocol error   that is answered; then it lingers: it says that it
 *                            sends no more and reads on to the peer's end, or for
 *                            a while, because a close with unread bytes destroys
 *                            replies on their way
 *   an error, no memory      closed as soon as nothing is out (`broken`)
 *   the server stops         no more is read; what was read is answered, within
 *                            a time. If it was busy, it lingers.
 *   its worker goes          no more is read or begun. When nothing is out its
 *                            stream is detached, and another connection goes on
 *                            with it, and with all that is not parsed or not
 *                            written yet (`leaving`).
 */

#include <errno.h>
#include <stdlib.h>

#include "samples/kv/command.h"
#include "samples/kv/commands.h"
#include "samples/kv/connection.h"
#include "samples/kv/output.h"
#include "samples/kv/reply.h"
#include "samples/kv/resp.h"
#include "samples/kv/route.h"
#include "samples/kv/shard.h"

/* Below this it is not worth it to read a bulk string to its place. */
#define READ_TO_PLACE_MIN POOL_SLOT_BYTES

/* How long a peer has to notice that we send no more. */
#define LINGER_NS (500 * RGM_NS_PER_MS)

/* The end of a connection, in this order. */
enum phase {
    PHASE_SERVING,
    PHASE_LINGERING,
    PHASE_CLOSING, /* or leaving */
    PHASE_GONE,
    PHASE_ARRIVING /* from another worker, before all others */
};

struct connection {
    struct rgm_actor actor;
    struct kv_worker *worker;
    struct rgm_stream stream;
    struct rgm_order order;
    struct output output;
    struct resp resp;
    struct rgm_request *waiting; /* a command or group, for its road */
    struct rgm_sleep *grace;     /* when stopping and busy, or lingering */
    uint64_t id;
    uint32_t sequenced; /* groups that are out by the sequencer */
    uint8_t phase;
    bool operating;    /* `operation` is out */
    bool input_ended;  /* no more is read */
    bool input_done;   /* no more is parsed */
    bool input_pooled; /* what is being parsed is a pool's slot */
    bool broken;       /* nothing is written any more */
    bool cancelled;    /* what is out has been asked to stop */
    bool busy;         /* had something to do when the server stopped */
    bool leaving;      /* its worker goes */
    bool recalled;     /* the write has been asked to stop */
    bool told;         /* to stop, while it was arriving */
    bool resp3;        /* what is parsed next is answered in it */
    union {            /* one at a time */
        struct rgm_read read;
        struct rgm_read_pooled pooled;
        struct rgm_shutdown shutdown;
        struct rgm_close close;
        struct emptied emptied;
        struct rgm_detach detach;
        struct rgm_attach attach;
        struct handover handover;
    } operation;
};

RGM_FACTORY(connection, connected, connection_make);
RGM_HOOK(connection, connection_started);
RGM_HOOK(connection, connection_settled);
RGM_HOOK(connection, connection_retiring);
RGM_HOOK(connection, connection_stopped);
RGM_ANSWER(connection, command, on_command);
RGM_ANSWER(connection, group, on_group);
RGM_ANSWER(connection, rgm_read, on_read);
RGM_ANSWER(connection, rgm_read_pooled, on_read_pooled);
RGM_ANSWER(connection, rgm_write, on_written);
RGM_ANSWER(connection, rgm_shutdown, on_shutdown);
RGM_ANSWER(connection, rgm_close, on_closed);
RGM_ANSWER(connection, rgm_sleep, on_grace_over);
RGM_ANSWER(connection, emptied, on_emptied);
RGM_ANSWER(connection, drained, on_drained);
RGM_ANSWER(connection, rgm_detach, on_detached);
RGM_ANSWER(connection, rgm_attach, on_attached);
RGM_ANSWER(connection, handover, on_handed_over);

const struct rgm_behaviour connection_behaviour = {
    .name = "connection",
    .size_bytes = sizeof(struct connection),
    .factory = RGM_MAKE(connection, connection_make),
    .started = RGM_DO(connection, connection_started),
    .settled = RGM_DO(connection, connection_settled),
    .retiring = RGM_DO(connection, connection_retiring),
    .stopped = RGM_DO(connection, connection_stopped),
};

_Static_assert(sizeof(struct connection) <= 768,
               "an idle connection is less than 1 KiB");

/* All that the other one has but its order, in which nothing is. */
static void
take_over(struct connection *self, struct handover *handover)
{
    struct connection *other = handover->connection;

    resp_move(&other->resp, &self->resp);
    self->output = other->output;
    other->output = (struct output){0};
    self->id = other->id;
    self->resp3 = other->resp3;
    self->input_pooled = other->input_pooled;
    self->phase = PHASE_ARRIVING;
    self->operating = true;
    rgm_stream_attach(&self->operation.attach,
                      rgm_worker_address(self->worker->number), &self->stream,
                      &handover->detached);
}

static int
connection_make(struct connection *self, const struct connected *connected)
{
    struct kv_worker *worker = connected->worker;
    const struct limits *limits = &worker->cluster->limits;

    self->worker = worker;
    rgm_order_init(&self->order, limits->pipeline);
    worker->connections_count++;
    if (connected->handover != NULL) {
        take_over(self, connected->handover);
        return 0;
    }
    self->stream = *connected->stream;
    resp_init(&self->resp, limits->bulk_bytes);
    worker->connections_total++;
    worker->received_total++;
    self->id = worker->connections_total * RGM_WORKERS_MAX + worker->number;
    return 0;
}

static void
connection_started(struct connection *self)
{
    if (self->phase == PHASE_ARRIVING)
        rgm_ask(self, &self->operation.attach,
                RGM_REPLY(connection, rgm_attach, on_attached));
}

static void
connection_stopped(struct connection *self)
{
    free(self->grace);
}

static bool
has_room(const struct connection *self)
{
    return !rgm_order_full(&self->order) && self->waiting == NULL &&
           output_bytes(&self->output) <
               self->worker->cluster->limits.output_bytes;
}

/* ------------------------------------------------------------------ the end */

/* Nothing more is written or read: only what is out is waited for. */
static void
break_off(struct connection *self)
{
    self->broken = true;
    self->input_ended = true;
    self->input_done = true;
    output_drop(&self->output, self->worker);
    if (output_is_out(&self->output))
        rgm_cancel(self, output_operation(&self->output));
}

/* ----------------------------------------------------------------- at once */

/* Commands that are not asked, until there are some: the memory that they need is
 * on its way meanwhile. Full, or before anything else is begun, they are carried
 * out, in order. */
#define BATCH_MAX 16
struct batch {
    uint32_t count;
    struct command *commands[BATCH_MAX];
};

static void
finish_command(struct connection *self, struct command *command, int status)
{
    if (!self->broken)
        reply_command(&self->output, self->worker, command, status);
    rgm_view_drop(&command->view);
    command_give(&self->actor, command);
}

static void
batch_run(struct connection *self, struct batch *batch)
{
    const struct store *store = self->worker->store;

    for (uint32_t i = 0; i < batch->count; i++)
        store_fetch_first(store, batch->commands[i]->hash);
    for (uint32_t i = 0; i < batch->count; i++)
        store_fetch_next(store, batch->commands[i]->hash);
    for (uint32_t i = 0; i < batch->count; i++)
        finish_command(self, batch->commands[i],
                       shard_run(self->worker, batch->commands[i]));
    batch->count = 0;
}

static void
batch_add(struct connection *self, struct batch *batch, struct command *command)
{
    store_fetch_bucket(self->worker->store, command->hash);
    batch->commands[batch->count++] = command;
    if (batch->count == BATCH_MAX)
        batch_run(self, batch);
}

/* Behind what is out it would overtake. */
static bool
may_run_at_once(const struct connection *self, const struct command *command)
{
    return self->order.count == 0 && shard_may_run(self->worker, command);
}

/* ------------------------------------------------------------------- asking */

/* A reply that is known: at once if it is its turn, else in its turn. */
static void
answer_raw(struct connection *self, const char *bytes, size_t length)
{
    struct command *command;

    if (self->order.count == 0) {
        self->output.resp3 = self->resp3;
        output_add(&self->output, self->worker, bytes, length);
        return;
    }
    command = command_take(&self->actor, length);
    if (command == NULL) {
        break_off(self);
        return;
    }
    memcpy(command->bytes, bytes, length);
    command->number = self->resp3;
    command->reply = REPLY_RAW;
    command->value = (struct bytes){command->bytes, length};
    rgm_answered_in(self, &self->order, command, 0,
                    RGM_REPLY(connection, command, on_command));
}

/* Bytes of the command, as a bulk string. They are copied, unless they have memory
 * of their own: a client may leave us with them for long, and the slots of the pool
 * are for all. */
static void
answer_echo(struct connection *self, struct bytes bytes)
{
    struct command *command;
    size_t own_bytes = 0;
    struct rgm_view whole = resp_hold(&self->resp, &own_bytes);
    bool copied = own_bytes == 0 || bytes.length_bytes <= OUTPUT_COPY_MAX;

    if (self->order.count == 0 && copied) {
        rgm_view_drop(&whole);
        reply_bulk(&self->output, self->worker, bytes);
        return;
    }
    command = command_take(&self->actor, copied ? bytes.length_bytes : 0);
    if (command == NULL) {
        rgm_view_drop(&whole);
        break_off(self);
        return;
    }
    if (copied) {
        memcpy(command->bytes, bytes.data, bytes.length_bytes);
        command->reply = REPLY_BYTES;
        command->value = (struct bytes){command->bytes, bytes.length_bytes};
    } else {
        command->reply = REPLY_VIEW;
        command->view =
            rgm_view_of(whole.block, bytes.data, bytes.length_bytes);
    }
    rgm_view_drop(&whole);
    rgm_answered_in(self, &self->order, command, 0,
                    RGM_REPLY(connection, command, on_command));
}

static void
ask_command(struct connection *self, struct command *command)
{
    struct kv_worker *worker = self->worker;

    if (self->sequenced > 0) {
        self->waiting = &command->request;
        return;
    }
    if (rgm_shard_owner(worker->slots, command->hash) == worker->number)
        store_look_ahead(worker->store, &worker->ahead, command->hash);
    rgm_shard_ask_in(self, worker->slots, &self->order, command,
                     RGM_REPLY(connection, command, on_command));
}

static void
ask_group(struct connection *self, struct group *group)
{
    group_route(group, self->worker);
    /* Is anything out by the other road? */
    if (group->sequenced ? self->order.count > self->sequenced
                         : self->sequenced > 0) {
        self->waiting = &group->request;
        return;
    }
    if (group->sequenced)
        self->sequenced++;
    else
        self->worker->direct_out++;
    rgm_ask_in(self, &self->order, group,
               RGM_REPLY(connection, group, on_group));
}

/* Try again; it waits on if it must. */
static void
ask_waiting(struct connection *self)
{
    struct rgm_request *request = self->waiting;

    self->waiting = NULL;
    if (request == NULL)
        return;
    if (request->message.type == &command_type)
        ask_command(self, (struct command *)(void *)request);
    else
        ask_group(self, (struct group *)(void *)request);
}

static void
start_command(struct connection *self, struct batch *batch)
{
    struct plan plan;

    plan.self = &self->actor;
    plan.worker = self->worker;
    plan.resp = &self->resp;
    plan.id = self->id;
    plan.resp3 = self->resp3;
    self->worker->commands_total++;
    plan_make(&plan);
    self->resp3 = plan.resp3;
    if (plan.kind == PLAN_COMMAND && may_run_at_once(self, plan.command)) {
        batch_add(self, batch, plan.command);
        return;
    }
    batch_run(self, batch);
    switch (plan.kind) {
    case PLAN_COMMAND:
        ask_command(self, plan.command);
        break;
    case PLAN_GROUP:
        ask_group(self, plan.group);
        break;
    case PLAN_ECHO:
        answer_echo(self, plan.echo);
        break;
    case PLAN_QUIT:
        self->input_done = true;
        answer_raw(self, plan.raw, plan.raw_bytes);
        break;
    case PLAN_RAW:
        answer_raw(self, plan.raw, plan.raw_bytes);
        break;
    case PLAN_FAILED:
        break_off(self);
        break;
    }
}

static void
answer_protocol_error(struct connection *self)
{
    char text[128];
    size_t length = resp_error(&self->resp, text + 1, sizeof(text) - 3);

    text[0] = '-';
    memcpy(text + 1 + length, "\r\n", 2);
    self->input_done = true;
    answer_raw(self, text, length + 3);
}

static void
take_commands(struct connection *self)
{
    struct batch batch = {.count = 0};
    enum resp_result result = RESP_COMMAND;

    ask_waiting(self);
    while (!self->input_done && !self->leaving && has_room(self)) {
        result = resp_next(&self->resp);
        if (result != RESP_COMMAND)
            break;
        start_command(self, &batch);
        resp_consume(&self->resp);
    }
    batch_run(self, &batch);
    if (result == RESP_ERROR)
        answer_protocol_error(self);
}

static void
on_command(struct connection *self, struct command *command)
{
    finish_command(self, command, rgm_status(command));
}

/* Slots are to move, and wait for this. */
static void
tell_drained(struct connection *self)
{
    struct kv_worker *worker = self->worker;

    drained_prepare(&worker->drained,
                    rgm_shard_address(worker->slots, worker->number));
    rgm_ask(self, &worker->drained, RGM_REPLY(connection, drained, on_drained));
}

static void
on_drained(struct connection *self, struct drained *drained)
{
    (void)self;
    (void)drained;
}

static void
on_group(struct connection *self, struct group *group)
{
    struct kv_worker *worker = self->worker;

    if (!self->broken)
        reply_group(&self->output, self->worker, group, rgm_now(&self->actor));
    if (group->sequenced)
        self->sequenced--;
    else if (--worker->direct_out == 0 && worker->gated)
        tell_drained(self);
    group_clear(group);
    group_give(&self->actor, group);
}

/* ------------------------------------------------------------------ writing */

static void
start_write(struct connection *self)
{
    struct rgm_write *write;

    if (self->output.failed)
        break_off(self);
    if (self->broken || self->leaving || output_is_out(&self->output) ||
        !output_is_waiting(&self->output))
        return;
    write = output_start(&self->output, &self->stream);
    if (write != NULL)
        rgm_ask(self, write, RGM_REPLY(connection, rgm_write, on_written));
    else
        break_off(self);
}

static void
on_written(struct connection *self, struct rgm_write *write)
{
    int status = rgm_status(write);

    if (status == -ECANCELED && self->recalled && !self->broken) {
        self->recalled = false;
        output_recall(&self->output);
        return;
    }
    output_finish(&self->output, self->worker);
    if (status != 0)
        break_off(self);
}

/* ------------------------------------------------------------------ reading */

static void
ask_read(struct connection *self)
{
    void *memory = NULL;
    size_t missing = resp_room(&self->resp, READ_TO_PLACE_MIN, &memory);

    self->operating = true;
    if (missing > 0) {
        rgm_stream_read(&self->operation.read, &self->stream, memory, missing);
        rgm_ask(self, &self->operation.read,
                RGM_REPLY(connection, rgm_read, on_read));
        return;
    }
    rgm_stream_read_pooled(&self->operation.pooled, &self->stream,
                           self->worker->pool);
    rgm_ask(self, &self->operation.pooled,
            RGM_REPLY(connection, rgm_read_pooled, on_read_pooled));
}

static void
start_read(struct connection *self)
{
    if (self->operating || self->input_ended || self->input_done ||
        self->leaving)
        return;
    if (!has_room(self)) {
        /* The client may leave us so for long: the slot is for others. */
        if (self->input_pooled && output_is_out(&self->output) &&
            resp_spill(&self->resp) == 0)
            self->input_pooled = false;
        return;
    }
    if (resp_hungry(&self->resp))
        ask_read(self);
}

/* What both kinds of read do with how they ended. */
static void
read_ended(struct connection *self, int status, bool end)
{
    self->operating = false;
    self->cancelled = false;
    if (end)
        self->input_ended = true;
    if (status != 0 && status != -ECANCELED)
        break_off(self);
}

static void
on_read(struct connection *self, struct rgm_read *read)
{
    resp_filled(&self->resp, read->count);
    read_ended(self, rgm_status(read), read->end);
}

static void
on_read_pooled(struct connection *self, struct rgm_read_pooled *read)
{
    struct rgm_view piece;

    read_ended(self, rgm_status(read), read->end);
    if (!rgm_lease_active(&read->lease))
        return;
    if (self->phase != PHASE_SERVING || self->input_done ||
        rgm_lease_freeze(&read->lease, &piece) != 0) {
        rgm_lease_drop(&read->lease);
        return;
    }
    resp_feed(&self->resp, piece);
    self->input_pooled = true;
}

/* ------------------------------------------------------------------ winding up */

static bool
has_nothing_to_do(const struct connection *self)
{
    if (self->order.count > 0 || self->waiting != NULL ||
        output_is_out(&self->output) || output_is_waiting(&self->output))
        return false;
    return self->input_done || (self->input_ended && resp_hungry(&self->resp));
}

static void end(struct connection *self);

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
ask_grace(struct connection *self, uint64_t duration_ns)
{
    rgm_sleep_for(self->grace, rgm_here(self), duration_ns);
    rgm_ask(self, self->grace, RGM_REPLY(connection, rgm_sleep, on_grace_over));
}

/* When stopping it has the grace for its replies; now that they are out, not so
 * long. */
static void
start_lingering(struct connection *self)
{
    bool has_grace = self->grace != NULL;

    if (!has_grace)
        self->grace = malloc(sizeof(*self->grace));
    if (self->grace == NULL) {
        start_close(self);
        return;
    }
    self->phase = PHASE_LINGERING;
    self->operating = true;
    if (has_grace)
        rgm_cancel(self, self->grace);
    else
        ask_grace(self, LINGER_NS);
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
    else
        self->input_ended = self->broken; /* else read on, to the peer's end */
}

/* What is read now is for nobody. */
static void
linger(struct connection *self)
{
    if (self->input_ended)
        start_close(self);
    else
        ask_read(self);
}

/* Is there, or may there be, something that nobody will read? */
static bool
must_linger(const struct connection *self)
{
    return !self->broken &&
           (self->busy || (self->input_done && !self->input_ended));
}

static void
wind_up(struct connection *self)
{
    if (self->operating) {
        if ((self->broken ||
             (self->phase == PHASE_SERVING && has_nothing_to_do(self))) &&
            self->phase < PHASE_CLOSING && !self->cancelled) {
            self->cancelled = true;
            rgm_cancel_request(&self->actor, &self->operation.read.request);
        }
        return;
    }
    if (self->phase == PHASE_LINGERING)
        linger(self);
    else if (self->phase == PHASE_SERVING && has_nothing_to_do(self) &&
             must_linger(self))
        start_lingering(self);
    else if (self->phase == PHASE_SERVING && has_nothing_to_do(self))
        start_close(self);
}

/* ------------------------------------------------------------ the worker goes */

static void
leave(struct connection *self, bool reads)
{
    self->leaving = true;
    if (reads && !self->cancelled) {
        self->cancelled = true;
        rgm_cancel_request(&self->actor, &self->operation.read.request);
    }
    if (output_is_out(&self->output)) {
        self->recalled = true;
        rgm_cancel(self, output_operation(&self->output));
    }
}

/* Nothing of it is out: the stream goes first. */
static void
leave_when_idle(struct connection *self)
{
    if (self->operating || self->order.count > 0 || self->waiting != NULL ||
        output_is_out(&self->output))
        return;
    self->operating = true;
    self->phase = PHASE_CLOSING;
    rgm_stream_detach(&self->operation.detach, &self->stream);
    rgm_ask(self, &self->operation.detach,
            RGM_REPLY(connection, rgm_detach, on_detached));
}

static void
on_detached(struct connection *self, struct rgm_detach *detach)
{
    struct kv_worker *worker = self->worker;
    struct rgm_detached detached = detach->detached;
    struct handover *handover = &self->operation.handover;

    if (rgm_status(detach) != 0) {
        start_close(self);
        return;
    }
    handover_prepare(handover, worker->refuges[worker->refuge_turn++ %
                                               worker->refuges_count]);
    handover->detached = detached;
    handover->connection = self;
    rgm_ask(self, handover, RGM_REPLY(connection, handover, on_handed_over));
}

/* Nobody has taken it in if there was no memory, or the server stops. */
static void
on_handed_over(struct connection *self, struct handover *handover)
{
    (void)rgm_detached_close(&handover->detached);
    end(self);
}

/* Who is at his end does not leave before it: he will not be long. */
static bool
may_leave(const struct connection *self)
{
    return !self->input_ended && !self->input_done && !self->broken;
}

static void
connection_settled(struct connection *self)
{
    self->leaving = self->leaving && may_leave(self);
    if (self->phase == PHASE_SERVING) {
        take_commands(self);
        start_write(self);
        start_read(self);
    }
    if (self->leaving && self->phase == PHASE_SERVING)
        leave_when_idle(self);
    wind_up(self);
}

/* The acceptor waits for the last one; the last one tells it. */
static void
end(struct connection *self)
{
    struct kv_worker *worker = self->worker;

    self->phase = PHASE_GONE;
    resp_close(&self->resp);
    output_drop(&self->output, worker);
    if (--worker->connections_count > 0 || worker->listeners_count > 0 ||
        !worker->retiring) {
        rgm_stop(self);
        return;
    }
    emptied_prepare(&self->operation.emptied, worker->acceptor);
    rgm_ask(self, &self->operation.emptied,
            RGM_REPLY(connection, emptied, on_emptied));
}

static void
on_closed(struct connection *self, struct rgm_close *close)
{
    (void)close;
    end(self);
}

static void
on_emptied(struct connection *self, struct emptied *emptied)
{
    (void)emptied;
    rgm_stop(self);
}

/* -------------------------------------------------------- the server is stopping */

static void
connection_retiring(struct connection *self)
{
    bool reads = self->operating && self->phase == PHASE_SERVING;

    self->told = self->phase == PHASE_ARRIVING;
    if (self->phase != PHASE_SERVING)
        return;
    if (self->worker->leaving && rgm_worker_retiring(&self->actor) &&
        may_leave(self)) {
        leave(self, reads);
        return;
    }
    self->input_ended = true;
    self->busy = !reads || self->order.count > 0 || self->waiting != NULL ||
                 output_bytes(&self->output) > 0;
    if (reads && !self->cancelled) {
        self->cancelled = true;
        rgm_cancel_request(&self->actor, &self->operation.read.request);
    }
    if (!self->busy)
        return;
    self->grace = malloc(sizeof(*self->grace));
    if (self->grace == NULL) {
        break_off(self);
        return;
    }
    ask_grace(self, self->worker->cluster->limits.grace_ns);
}

static void
on_grace_over(struct connection *self, struct rgm_sleep *sleep)
{
    if (rgm_status(sleep) == 0)
        break_off(self);
    else if (self->phase == PHASE_LINGERING)
        ask_grace(self, LINGER_NS);
}

/* ------------------------------------------------------------------ arriving */

static void
on_attached(struct connection *self, struct rgm_attach *attach)
{
    self->operating = false;
    if (rgm_status(attach) != 0) {
        (void)rgm_detached_close(&attach->detached);
        end(self);
        return;
    }
    self->phase = PHASE_SERVING;
    if (self->told)
        connection_retiring(self);
}
