/* SPDX-License-Identifier: MIT */

/*
 * home.c - how does a message leave a worker, and how does it come home?
 *
 *     rgi_post -------> local FIFO, or the outbox of its destination
 *     rgi_flush_all --> each outbox becomes one chain in one inbox
 *     rgi_send_home --> the same roads, to the worker that made the message
 *     rgi_come_home --> credited, then its asker's callback or `returned`
 *
 * What can fail: a flush may meet a closed inbox. Its chain is then turned
 * home message by message: mail with -EPIPE, our own through the local FIFO.
 * Nothing urgent can be in it but control, since a worker closes only when
 * nothing of its is out. A flush that meets a closing inbox leaves the outbox
 * as it is; the worker looks again and does not park meanwhile.
 *
 * Home is where the address in `from` says: a worker, or a guest, whose mail
 * is pushed singly.
 */

#include "actors/lane.h"
#include "actors/reader.h"
#include "actors/runtime.h"

#include <string.h>

#include "base/memory.h"

struct rgi_inbox *
rgi_runtime_inbox(struct rgm_runtime *runtime, uint32_t number)
{
    if (number < RGM_WORKERS_MAX)
        return &runtime->places[number].inbox;
    return &runtime->guests[number - RGM_WORKERS_MAX]->inbox;
}

int
rgi_home_init(struct rgm_worker *worker, struct rgm_runtime *runtime,
              uint32_t number, struct rgi_inbox *inbox)
{
    const struct rgm_runtime_options *options = &runtime->options;
    size_t lanes_count = (size_t)2 * runtime->places_count;
    struct rgi_lane *lanes;

    memset(worker, 0, sizeof(*worker));
    lanes = rgi_alloc((1 + lanes_count) * sizeof(*lanes));
    if (lanes == NULL)
        return -ENOMEM;
    worker->lanes = lanes + 1;
    worker->runtime = runtime;
    worker->number = number;
    worker->here = number < RGM_WORKERS_MAX ? number : UINT32_MAX;
    worker->inbox = inbox;
    worker->workers_count = runtime->workers_count;
    worker->quota = options->quota;
    worker->lane_messages = options->lane_messages;
    worker->lane_bytes = options->lane_bytes;
    worker->slab.store = &runtime->slabs;
    rgi_mail_init(&worker->mail, inbox);
    rgi_list_init(&worker->due);
    rgi_list_init(&worker->deadlines);
    rgi_list_init(&worker->distant);
    rgi_list_init(&worker->remote);
    rgi_list_init(&worker->strays);
    rgi_list_init(&worker->movers);
    rgi_list_init(&worker->acquires);
    rgi_list_init(&worker->outputs);
    rgi_list_init(&worker->inputs);
    rgi_worker_leases_init(worker);
    rgi_list_init(&worker->parcels);
    return 0;
}

void
rgi_home_deinit(struct rgm_worker *worker)
{
    rgi_readers_forget(worker);
    rgi_watch_deinit(worker);
    if (worker->lanes != NULL)
        rgi_free(worker->lanes - 1);
    worker->lanes = NULL;
}

/* ---- leaving ---- */

/* It has moved to us. What was sent to it before, and relayed, came by the inbox
 * and may be there still: this is put behind, not into a road of its own. */
static void
behind_what_came(struct rgm_worker *worker, struct rgm_message *message)
{
    worker->attention = true;
    rgi_holder_set(message, worker->number); /* a cancel finds it here */
    if (message->flags & RGI_MESSAGE_URGENT)
        rgi_mail_post_local(&worker->mail, message);
    else
        rgi_mail_append(&worker->mail, RGI_REMOTE, message);
}

/* Whom it is for may have moved before his worker closed. */
static bool
follow(struct rgm_worker *worker, struct rgm_message *message)
{
    uint8_t marks = RGI_MESSAGE_CANCELLED;
    struct rgm_address to;

    if (message->type->kind == RGM_KIND_OPERATION || message->flags & marks)
        return false;
    to = rgi_forward_find(worker->runtime, message->to);
    if (to.bits == 0)
        return false;
    message->to = to;
    if (rgm_address_worker(to) == worker->number)
        behind_what_came(worker, message);
    else
        rgi_post(worker, message, rgm_address_worker(to));
    return true;
}

static bool
is_for_an_actor(const struct rgm_message *message)
{
    return message->type->kind != RGM_KIND_CONTROL ||
           message->control == RGI_CONTROL_STOP_ACTOR ||
           message->control == RGI_CONTROL_WATCH;
}

/* A message refused by a closed inbox: its road ends here, or goes on. */
static void
refused(struct rgm_worker *worker, struct rgm_message *message,
        uint32_t destination)
{
    bool control = message->type->kind == RGM_KIND_CONTROL;

    rgi_assert((message->flags & RGI_MESSAGE_BUNDLE) == 0);
    if (message->flags & RGI_MESSAGE_ANSWER) {
        rgi_stray_refused(worker, message);
        return;
    }
    if (is_for_an_actor(message) && follow(worker, message))
        return;
    if (rgi_abroad_leaves(worker, message))
        return; /* whoever had the number here is not who has the handle */
    rgi_count(worker, refused);
    if (control && message->control == RGI_CONTROL_SPAWN)
        rgi_spawn_home(worker, message);
    else if (control && message->control == RGI_CONTROL_CANCEL)
        rgi_cancel_refused(worker, message, destination);
    else if (control && message->control == RGI_CONTROL_WATCH)
        rgi_watch_refused(worker, message);
    else
        rgi_send_home(worker, message, -EPIPE);
}

static void
turn_chain_home(struct rgm_worker *worker, struct rgm_message *newest,
                uint32_t destination)
{
    struct rgm_message *ordered = NULL;

    while (newest != NULL) {
        struct rgm_message *older = newest->next;

        newest->next = ordered;
        ordered = newest;
        newest = older;
    }
    while (ordered != NULL) {
        struct rgm_message *next = ordered->next;

        refused(worker, ordered, destination);
        ordered = next;
    }
}

/* The bundle that is open for a destination takes its place in the chain. */
static void
bundle_end(struct rgm_worker *worker, uint32_t destination)
{
    struct rgi_bundle *bundle = &worker->bundles[destination];
    struct rgi_outbox *outbox = &worker->outboxes[destination];

    struct rgm_message *head;
    uint32_t count = bundle->count;

    if (count == 0)
        return;
    head = rgi_bundle_close(bundle);
    rgi_outbox_hint(outbox, head);
    rgi_outbox_link_many(outbox, head, count);
}

/* The end of a chain still links to what the inbox's word said. */
static void
flush_one(struct rgm_worker *worker, uint32_t destination)
{
    struct rgi_outbox *outbox = &worker->outboxes[destination];
    struct rgi_inbox *inbox = &worker->runtime->places[destination].inbox;
    int status;

    bundle_end(worker, destination);
    if (outbox->count == 0)
        return; /* flushed since somebody looked at `dirty` */
    if (!rgi_list_empty(&worker->deadlines))
        rgi_deadlines_arm(worker); /* they travel with their records */
    status = rgi_outbox_flush(outbox, inbox);
    if (status == -EAGAIN)
        return; /* it stays dirty, and so the worker awake */
    worker->dirty &= ~(UINT64_C(1) << destination);
    if (status == -EPIPE) {
        rgi_inbox_observe_close(inbox);
        outbox->oldest->next = NULL;
        turn_chain_home(worker, rgi_outbox_empty(outbox), destination);
        return;
    }
    rgi_count(worker, flushes);
    if (status == RGI_PUSHED_AND_RANG)
        rgi_count(worker, bells);
}

void
rgi_flush_all(struct rgm_worker *worker)
{
    uint64_t dirty = worker->dirty;

    while (dirty != 0) {
        uint32_t destination = (uint32_t)__builtin_ctzll(dirty);

        dirty &= dirty - 1;
        flush_one(worker, destination);
    }
}

/* That many deliveries may pass before the clock is looked at. */
#define DELIVERIES_TO_LOOK 4u

/* The first message of an outbox: it is to be flushed. */
static inline void
outbox_begin(struct rgm_worker *worker, uint32_t destination)
{
    if (worker->dirty == 0) {
        worker->dirty_since_ns = 0; /* the next look at the clock says */
        worker->next_look = worker->counters.deliveries + DELIVERIES_TO_LOOK;
    }
    worker->attention = true;
    worker->dirty |= UINT64_C(1) << destination;
}

/* A message was added: is it time to push? */
static inline void
outbox_end(struct rgm_worker *worker, uint32_t destination)
{
    if (worker->outboxes[destination].count >= RGI_OUTBOX_FLUSH_AT ||
        worker->is_guest)
        flush_one(worker, destination);
}

/* `holder` is the worker the message is on its way to, or HOME. */
static inline void
outbox_put(struct rgm_worker *worker, struct rgm_message *message,
           uint32_t destination, uint32_t holder)
{
    struct rgi_outbox *outbox = &worker->outboxes[destination];

    if (outbox->count == 0)
        outbox_begin(worker, destination);
    rgi_outbox_hint(outbox, message);
    rgi_holder_set(message, holder);
    rgi_outbox_link(outbox, message);
    outbox_end(worker, destination);
}

void
rgi_post_one_way(struct rgm_worker *worker, struct rgm_message *message,
                 uint32_t destination)
{
    struct rgi_outbox *outbox = &worker->outboxes[destination];

    if (outbox->count == 0)
        outbox_begin(worker, destination);
    message->status = rgi_outbox_distance(outbox, message);
    rgi_outbox_link(outbox, message);
    if (outbox->count >= RGI_OUTBOX_FLUSH_AT)
        flush_one(worker, destination);
}

void
rgi_post_far(struct rgm_worker *worker, struct rgm_message *message,
             uint32_t destination)
{
    outbox_put(worker, message, destination, destination);
}

void
rgi_post_answer(struct rgm_worker *worker, struct rgm_message *message,
                uint32_t destination)
{
    struct rgi_outbox *outbox = &worker->outboxes[destination];

    if (outbox->count == 0)
        outbox_begin(worker, destination);
    rgi_holder_set(message, RGI_HOLDER_HOME);
    rgi_outbox_link(outbox, message); /* without a hint: `status` is its own */
    outbox_end(worker, destination);
}

bool
rgi_unpost(struct rgm_worker *worker, struct rgm_message *message,
           uint32_t destination)
{
    struct rgi_outbox *outbox = &worker->outboxes[destination];

    if (!rgi_outbox_remove(outbox, message))
        return false;
    if (outbox->count == 0 && worker->bundles[destination].count == 0)
        worker->dirty &= ~(UINT64_C(1) << destination);
    return true;
}

/* ---- at home ---- */

static void
give_back(struct rgm_worker *worker, struct rgm_message *message)
{
    if (message->flags & RGI_MESSAGE_TAKEN)
        rgi_slab_give(&worker->slab, rgi_record_of(message),
                      message->charged_bytes);
}

static void
one_way_home(struct rgm_worker *worker, struct rgm_message *message)
{
    const struct rgm_message_type *type = message->type;

    message->state = RGI_MESSAGE_HOME;
    if (type->returned != NULL)
        type->returned(rgi_record_of(message), message->status);
    /* The hook may have sent it again. */
    if (message->state == RGI_MESSAGE_HOME)
        give_back(worker, message);
}

/* An answer goes into its asker's line, unless its cancel node is still out. */
static inline void
answer_home(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_request *request = rgi_request_of(message);

    message->flags =
        (uint8_t)((message->flags & RGI_MESSAGE_TAKEN) | RGI_MESSAGE_ANSWER);
    if (rgi_request_arrives(request))
        rgi_actor_push(worker, request->asker, message);
}

static inline void
credit(struct rgm_worker *worker, struct rgm_message *message)
{
    worker->messages_out--;
    rgi_lane_credit(worker, message);
}

/* Its messages are free blocks already: see bundle.h. */
static void
bundle_home(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgi_bundle_head *head = rgi_bundle_head_of(message);
    uint32_t count = (uint32_t)message->status;
    uint32_t each_bytes = message->charged_bytes;
    uint16_t lane = message->lane;
    struct rgi_slab_block *last = head->last;

    rgi_slab_give_list(&worker->slab, rgi_bundle_untie(head), last, each_bytes);
    worker->messages_out -= count;
    rgi_lane_credit_many(worker, lane, count, each_bytes);
}

void
rgi_come_home(struct rgm_worker *worker, struct rgm_message *message)
{
    if (message->flags & RGI_MESSAGE_BUNDLE) {
        bundle_home(worker, message);
        return;
    }
    credit(worker, message);
    if (__builtin_expect(worker->strays_out != 0, 0) &&
        rgi_stray_home(worker, message))
        return;
    if (__builtin_expect(message->flags & RGI_MESSAGE_LOST, 0)) {
        rgi_request_lost(worker, rgi_request_of(message));
    } else if (message->type->kind != RGM_KIND_MESSAGE) {
        answer_home(worker, message);
    } else {
        message->flags &= (uint8_t)~RGI_MESSAGE_URGENT;
        one_way_home(worker, message);
    }
}

/* ---- going home ---- */

/* A guest has no outbox of ours: it is pushed to at once. It stays open as
 * long as anything of its is out, so this cannot be refused. What is not of this
 * runtime has a number like that, too. */
static void
push_to_guest(struct rgm_worker *worker, struct rgm_message *message,
              uint32_t number)
{
    struct rgi_inbox *inbox;
    int status;

    if (message->control == RGI_CONTROL_ABROAD) {
        rgi_abroad_returns(worker, message);
        return;
    }
    inbox = rgi_runtime_inbox(worker->runtime, number);
    rgi_holder_set(message, RGI_HOLDER_HOME);
    status = rgi_inbox_push(inbox, message, message);

    rgi_assert(status >= 0);
    rgi_count(worker, flushes);
    if (status == RGI_PUSHED_AND_RANG)
        rgi_count(worker, bells);
}

/*
 * An answer is home at once: it goes into its asker's line. Likewise a return
 * that nobody wants to see. The rest waits for the next sort, because user
 * code does not run inside a handler, and the running actor's line stays
 * finite. A guest sorts all of it: it counts what arrives, and its credits
 * must not send, be refused, and credit again inside each other.
 */
static inline bool
may_come_home(const struct rgm_worker *worker, struct rgm_message *message)
{
    const struct rgm_message_type *type = message->type;

    if (worker->is_guest || worker->mail.urgent[RGI_LOCAL].first != NULL)
        return false;
    return type->kind == RGM_KIND_MESSAGE
               ? type->returned == NULL
               : type->kind == RGM_KIND_REQUEST &&
                     rgi_request_of(message)->asker != worker->running;
}

static inline void
home_here(struct rgm_worker *worker, struct rgm_message *message)
{
    if (may_come_home(worker, message)) {
        rgi_come_home(worker, message);
        return;
    }
    message->flags |= RGI_MESSAGE_URGENT;
    worker->attention = true;
    rgi_holder_set(message, RGI_HOLDER_HOME);
    rgi_mail_post_local(&worker->mail, message);
}

/*
 * The common case, first and in one piece: an answer for another actor of this
 * worker, of which nobody was told otherwise, and for whose allowance nobody
 * waits. The message is a request. Returns: whether it was that.
 */
static inline bool
answer_is_home(struct rgm_worker *worker, struct rgm_message *message,
               int status)
{
    struct rgm_request *request = rgi_request_of(message);
    uint8_t flags = message->flags;
    struct rgi_lane *lane = &worker->lanes[message->lane - 1]; /* or none's */

    if (flags & RGI_MESSAGE_PARENT ||
        rgm_address_worker(message->from) != worker->here ||
        worker->mail.urgent[RGI_LOCAL].first != NULL ||
        request->asker == worker->running || request->life != RGI_REQUEST_OUT ||
        lane->waiting.first != NULL)
        return false;
    message->status = status;
    message->lane = RGI_LANE_NONE;
    message->flags =
        (uint8_t)((flags & RGI_MESSAGE_TAKEN) | RGI_MESSAGE_ANSWER);
    worker->messages_out--;
    lane->count--;
    lane->bytes -= message->charged_bytes;
    (void)rgi_request_arrives(request);
    rgi_actor_push(worker, request->asker, message);
    return true;
}

/* The first of its bundle, or nothing for a bundle. */
static void
send_back_first(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t home = rgm_address_worker(message->from);

    if (home >= RGM_WORKERS_MAX || home == worker->number ||
        !rgi_bundle_takes(message)) {
        rgi_send_home(worker, message, 0);
        return;
    }
    bundle_end(worker, home);
    if (worker->outboxes[home].count == 0)
        outbox_begin(worker, home);
    rgi_bundle_open(&worker->bundles[home], message);
}

void
rgi_send_back(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t home = rgm_address_worker(message->from);
    struct rgi_bundle *bundle = &worker->bundles[home % RGM_WORKERS_MAX];

    /* Of a guest's messages none is ever in a bundle. */
    if (home >= RGM_WORKERS_MAX || !rgi_bundle_fits(bundle, message)) {
        send_back_first(worker, message);
        return;
    }
    rgi_bundle_add(bundle, message);
    if (bundle->count + worker->outboxes[home].count >= RGI_OUTBOX_FLUSH_AT)
        flush_one(worker, home);
}

/* Out of line, so that the common case saves no registers for it. */
__attribute__((noinline)) static void
send_home_other(struct rgm_worker *worker, struct rgm_message *message,
                int status)
{
    uint32_t home = rgm_address_worker(message->from);

    /* Others were asked for it: their worker is told first. */
    if (__builtin_expect(message->flags & RGI_MESSAGE_PARENT, 0))
        rgi_family_ends(worker, message);
    message->status = status;
    if (home == worker->number) {
        home_here(worker, message);
        return;
    }
    message->flags |= RGI_MESSAGE_URGENT;
    if (home < RGM_WORKERS_MAX)
        outbox_put(worker, message, home, RGI_HOLDER_HOME);
    else
        push_to_guest(worker, message, home);
}

void
rgi_send_home(struct rgm_worker *worker, struct rgm_message *message,
              int status)
{
    if (message->type->kind != RGM_KIND_REQUEST ||
        !answer_is_home(worker, message, status))
        send_home_other(worker, message, status);
}

void
rgi_send_answer(struct rgm_worker *worker, struct rgm_request *request,
                int status)
{
    rgi_assert_slow(request->message.type->kind == RGM_KIND_REQUEST);
    if (!answer_is_home(worker, &request->message, status))
        send_home_other(worker, &request->message, status);
}

void
rgi_send_home_in_line(struct rgm_worker *worker, struct rgm_message *message,
                      int status)
{
    uint32_t home = rgm_address_worker(message->from);

    message->status = status;
    if (home >= RGM_WORKERS_MAX) { /* a guest gets no ordinary mail */
        rgi_send_home(worker, message, status);
    } else if (home != worker->number) {
        outbox_put(worker, message, home, RGI_HOLDER_HOME);
    } else if (worker->mail.mail[RGI_LOCAL].first == NULL &&
               rgi_request_of(message)->asker != worker->running) {
        rgi_come_home(worker, message);
    } else {
        worker->attention = true;
        rgi_holder_set(message, RGI_HOLDER_HOME);
        rgi_mail_post_local(&worker->mail, message);
    }
}

uint64_t
rgi_now(struct rgm_worker *worker)
{
    if (worker->is_guest)
        return rgi_clock_now();
    if (!worker->now_fresh) {
        worker->now_ns = worker->provider->ops->now(worker->provider);
        worker->now_fresh = true;
    }
    return worker->now_ns;
}
