/* SPDX-License-Identifier: MIT */

/*
 * send.c - one-way messages, asks and their answers at the asker's side.
 *
 * An ask: check the record, join the asker's scope, then either start the
 * operation (a capability of the own worker) or charge the lane and post. From
 * then on its one answer comes through rgi_request_answered, whatever happens;
 * an ask that cannot be sent at all comes home at once through the local FIFO,
 * so that callbacks never run inside the ask.
 */

#include "actors/lane.h"
#include "actors/runtime.h"

#include <string.h>

#include <ringmail/scope.h>

#include "capabilities/operation.h"

/* ---- records ---- */

/* What of a record must be zero: of a request, all but its first part, which
 * says nothing unless a flag of another says so. */
static inline size_t
bare_bytes(const struct rgm_message_type *type)
{
    return type->kind == RGM_KIND_MESSAGE
               ? 0
               : offsetof(struct rgm_request, answer);
}

static inline struct rgm_message *
header_init(const struct rgm_message_type *type, void *record,
            uint32_t size_bytes)
{
    struct rgm_message *message =
        (struct rgm_message *)(void *)((char *)record + type->header_offset);

    message->type = type;
    message->charged_bytes = size_bytes;
    message->lane = RGI_LANE_NONE;
    message->holder = RGI_HOLDER_HOME;
    return message;
}

void
rgm_init(const struct rgm_message_type *type, void *record)
{
    size_t head = type->header_offset + sizeof(struct rgm_message);
    size_t bare = bare_bytes(type);

    memset((char *)record + bare, 0, head - bare);
    (void)header_init(type, record, type->size_bytes);
}

/* The blocks of small types are cleared line by line: that many in place. What is
 * behind the end of the type is in the block, too, and undefined. */
#define CLEAR_LINES_MAX 4u
_Static_assert(offsetof(struct rgm_request, answer) == RGI_SLAB_STEP,
               "what must be zero begins with a line");

static inline void
clear_lines(char *from, size_t size_bytes)
{
    for (char *line = from; line < from + size_bytes; line += RGI_SLAB_STEP)
        memset(line, 0, RGI_SLAB_STEP);
}

static inline void
clear(char *from, size_t size_bytes)
{
    if (size_bytes > CLEAR_LINES_MAX * RGI_SLAB_STEP)
        memset(from, 0, size_bytes);
    else
        clear_lines(from, size_bytes);
}

/* Something long, the last of its size, or by a guest. */
__attribute__((noinline)) static void *
take_other(struct rgm_worker *worker, const struct rgm_message_type *type,
           size_t trailing_bytes)
{
    size_t size_bytes = type->size_bytes + trailing_bytes;
    size_t bare = bare_bytes(type);
    char *record;

    rgi_assert(rgi_is_owner(worker));
    if (trailing_bytes > UINT32_MAX - type->size_bytes)
        return NULL;
    record = rgi_slab_take(&worker->slab, size_bytes);
    if (record == NULL)
        return NULL;
    clear(record + bare, type->size_bytes - bare);
    header_init(type, record, (uint32_t)size_bytes)->flags = RGI_MESSAGE_TAKEN;
    return record;
}

/* What has a size class, of one's own worker, is made without a call. */
void *
rgm_take(struct rgm_actor *self, const struct rgm_message_type *type,
         size_t trailing_bytes)
{
    const size_t most_bytes = (size_t)RGI_SLAB_CLASSES * RGI_SLAB_STEP;
    struct rgm_worker *worker = self->worker;
    size_t bare = bare_bytes(type);
    char *record;

    if (rgi_current != worker || trailing_bytes > most_bytes ||
        type->size_bytes + trailing_bytes > most_bytes ||
        type->size_bytes - bare > CLEAR_LINES_MAX * RGI_SLAB_STEP ||
        (record = rgi_slab_take_small(
             &worker->slab, type->size_bytes + trailing_bytes)) == NULL)
        return take_other(worker, type, trailing_bytes);
    clear_lines(record + bare, type->size_bytes - bare);
    header_init(type, record, (uint32_t)(type->size_bytes + trailing_bytes))
        ->flags = RGI_MESSAGE_TAKEN;
    return record;
}

static bool
is_at_home(const struct rgm_message *message)
{
    return message->type->kind == RGM_KIND_MESSAGE
               ? message->state == RGI_MESSAGE_HOME
               : rgi_request_is_home(rgi_request_of(
                     (struct rgm_message *)(uintptr_t)message));
}

void
rgm_give(struct rgm_actor *self, const struct rgm_message_type *type,
         void *record)
{
    struct rgm_message *message =
        (struct rgm_message *)(void *)((char *)record + type->header_offset);

    rgi_assert(rgi_is_owner(self->worker));
    rgi_assert(message->type == type);
    rgi_assert(is_at_home(message));
    rgi_assert(message->flags & RGI_MESSAGE_TAKEN);
    rgi_slab_give(&self->worker->slab, record, message->charged_bytes);
}

void
rgm_request_to(struct rgm_request *request, struct rgm_address to)
{
    rgi_assert(rgi_request_is_home(request));
    request->message.to = to;
}

/* ---- sending ---- */

static inline void
count_sent(struct rgm_worker *worker, uint32_t destination)
{
    worker->messages_out++;
    if (__builtin_expect(destination == worker->here, 1))
        rgi_count(worker, sent_local);
    else
        rgi_count(worker, sent_remote);
}

/* Set what every message gets when it leaves. A request has lost its flags when its
 * answer was delivered. */
static inline void
header_set(struct rgm_message *message, const struct rgm_actor *self,
           uint8_t state)
{
    message->from = self->address;
    message->status = 0;
    message->hops = 0;
    if (state == RGI_MESSAGE_OUT)
        message->flags &= RGI_MESSAGE_TAKEN;
    rgi_assert_slow((message->flags & ~RGI_MESSAGE_TAKEN) == 0);
    message->state = state;
}

static inline bool
nobody(struct rgm_worker *worker, struct rgm_address to)
{
    uint32_t destination = rgm_address_worker(to);

    if (destination >= worker->workers_count &&
        !rgi_number_learn(worker, destination))
        return true;
    return destination == worker->number && !worker->is_guest &&
           rgi_slot_find(&worker->slots, to) == NULL;
}

static inline bool
may_send(const struct rgm_message *message)
{
    return message->state == RGI_MESSAGE_HOME &&
           message->type->kind == RGM_KIND_MESSAGE;
}

static int
send_status(struct rgm_worker *worker, struct rgm_address to,
            struct rgm_message *message)
{
    if (!may_send(message))
        return -EINVAL;
    if (nobody(worker, to))
        return -ESRCH;
    return rgi_lane_charge(worker, message, rgm_address_worker(to));
}

/* To this worker, to nobody, or from a guest. */
__attribute__((noinline)) static int
send_other(struct rgm_actor *self, struct rgm_address to,
           struct rgm_message *message)
{
    struct rgm_worker *worker = self->worker;
    int status;

    rgi_assert(rgi_is_owner(worker));
    status = send_status(worker, to, message);
    if (status != 0) {
        rgi_count(worker, refused);
        return status;
    }
    message->to = to;
    header_set(message, self, RGI_MESSAGE_OUT);
    count_sent(worker, rgm_address_worker(to));
    rgi_post(worker, message, rgm_address_worker(to));
    return 0;
}

int
rgm_send_message(struct rgm_actor *self, struct rgm_address to,
                 struct rgm_message *message)
{
    struct rgm_worker *worker = self->worker;
    uint32_t destination = rgm_address_worker(to);
    int status;

    if (destination == worker->number || destination >= worker->workers_count ||
        rgi_current != worker)
        return send_other(self, to, message);
    status = may_send(message) ? rgi_lane_charge(worker, message, destination)
                               : -EINVAL;
    if (status != 0) {
        rgi_count(worker, refused);
        return status;
    }
    message->to = to;
    header_set(message, self, RGI_MESSAGE_OUT);
    count_sent(worker, destination);
    rgi_post_one_way(worker, message, destination);
    return 0;
}

int
rgi_send_uncharged(struct rgm_actor *self, struct rgm_address to,
                   struct rgm_message *message)
{
    struct rgm_worker *worker = self->worker;

    rgi_assert(rgi_is_owner(worker));
    if (!may_send(message))
        return -EINVAL;
    if (nobody(worker, to))
        return -ESRCH;
    message->to = to;
    header_set(message, self, RGI_MESSAGE_OUT);
    count_sent(worker, rgm_address_worker(to));
    rgi_post(worker, message, rgm_address_worker(to));
    return 0;
}

int
rgi_send_begin(struct rgm_actor *self, struct rgm_address to,
               struct rgm_message *message)
{
    struct rgm_worker *worker = self->worker;
    int status;

    if (!may_send(message))
        return -EINVAL;
    if (nobody(worker, to))
        return -ESRCH;
    status = rgi_lane_charge_late(worker, message, rgm_address_worker(to));
    if (status != 0)
        return status;
    message->to = to;
    header_set(message, self, RGI_MESSAGE_OUT);
    count_sent(worker, rgm_address_worker(to));
    return 0;
}

/* Undo the charges of the first `count` messages. */
static void
uncharge(struct rgm_worker *worker, struct rgm_message *const *messages,
         size_t count)
{
    for (size_t i = 0; i < count; i++)
        rgi_lane_credit(worker, messages[i]);
}

int
rgm_broadcast_messages(struct rgm_actor *self,
                       const struct rgm_address *addresses,
                       struct rgm_message *const *messages, size_t count)
{
    struct rgm_worker *worker = self->worker;

    rgi_assert(rgi_is_owner(worker));
    for (size_t i = 0; i < count; i++) {
        bool twice = messages[i]->lane != RGI_LANE_NONE;
        int status =
            twice ? -EINVAL : send_status(worker, addresses[i], messages[i]);

        if (status != 0) {
            uncharge(worker, messages, i);
            rgi_count(worker, refused);
            return status;
        }
    }
    for (size_t i = 0; i < count; i++) {
        uint32_t destination = rgm_address_worker(addresses[i]);

        messages[i]->to = addresses[i];
        header_set(messages[i], self, RGI_MESSAGE_OUT);
        count_sent(worker, destination);
        rgi_post(worker, messages[i], destination);
    }
    return 0;
}

/* ---- asking ---- */

void
rgi_request_fail(struct rgm_worker *worker, struct rgm_request *request,
                 int status)
{
    rgi_send_home(worker, &request->message, status);
}

/* Who is stopping starts nothing any more, except to clean up; who is frozen
 * starts it elsewhere. */
static inline bool
may_ask(const struct rgm_actor *self, const struct rgm_message *message)
{
    return self->life == RGI_LIFE_RUNNING ||
           (self->life < RGI_LIFE_STOPPED && rgi_is_cleanup(message));
}

#define HELD 1 /* until its asker has moved */

/* Not an ask of another actor: a watch, or an operation. Returns: whether that
 * is done, and nothing is left to be charged and posted. */
static bool
ask_went(struct rgm_worker *worker, struct rgm_message *message)
{
    if (message->type->kind == RGM_KIND_CONTROL) {
        rgi_watch_ask(worker, message);
        return true;
    }
    if (rgi_operate_here(worker, message))
        return true;
    if (rgi_operation_leaves(worker, message)) {
        rgi_post(worker, message, rgm_address_worker(message->to));
        return true;
    }
    return false;
}

/* The record is out, at its own worker so far; send it on its way, or home. */
static void
ask_go(struct rgm_worker *worker, struct rgm_actor *self,
       struct rgm_request *request, int status)
{
    struct rgm_message *message = &request->message;
    uint32_t destination = rgm_address_worker(message->to);

    if (!may_ask(self, message) && status == 0)
        status = self->life == RGI_LIFE_FROZEN ? HELD : -ECANCELED;
    if (__builtin_expect(status != 0, 0)) {
        if (status == HELD)
            rgi_move_hold(self, request);
        else
            rgi_request_fail(worker, request, status);
        return;
    }
    if (destination >= worker->workers_count &&
        !rgi_number_learn(worker, destination)) {
        if (!rgi_abroad_leaves(worker, message))
            rgi_request_fail(worker, request, -ESRCH);
        return;
    }
    if (message->type->kind != RGM_KIND_REQUEST && ask_went(worker, message))
        return;
    if (rgi_lane_enter(worker, message, destination))
        rgi_post(worker, message, destination);
}

/* A record that is out already cannot be asked, nor answered with an error:
 * its one answer is still to come. That is a broken program. */
static inline void
check_at_home(const struct rgm_request *request)
{
    rgi_assert(rgi_request_is_home(request));
    rgi_assert_slow(request->message.type != NULL &&
                    request->message.type->kind != RGM_KIND_MESSAGE);
}

/* What was set on the record for its next ask: 0, or why it is refused. */
__attribute__((always_inline)) static inline int
special_check(const struct rgm_actor *self, const struct rgm_request *request)
{
    uint32_t flags = request->asker_flags;
    int status = 0;

    if (flags & RGI_ASKED_SCOPED && !rgi_is_cleanup(&request->message))
        status = rgi_scope_check(self, request->scope.named);
    /* A worker's duration cannot be refused. */
    if (status == 0 && (flags & RGI_ASKED_AT ||
                        (flags & RGI_ASKED_AFTER && self->worker->is_guest)))
        status = rgi_deadline_check(self->worker, request);
    return status;
}

/* The scope it is to be in, or the actor's own. The name gives way to a link. */
static struct rgm_link *
scope_of(struct rgm_actor *self, struct rgm_request *request, int status)
{
    struct rgm_link *list = &self->scope;

    if (!(request->asker_flags & RGI_ASKED_SCOPED))
        return list;
    if (status == 0 && request->scope.named->runtime != NULL &&
        !rgi_is_cleanup(&request->message))
        list = &request->scope.named->requests;
    request->scope.link = (struct rgm_link){NULL, NULL};
    request->asker_flags &= ~(uint32_t)RGI_ASKED_SCOPED;
    return list;
}

static int
special_begin(struct rgm_actor *self, struct rgm_request *request,
              struct rgm_link **ret_list)
{
    int status = special_check(self, request);

    *ret_list = scope_of(self, request, status);
    if (status != 0)
        request->asker_flags = 0;
    else if (request->asker_flags & (RGI_ASKED_AT | RGI_ASKED_AFTER) &&
             request->deadline_ns != RGM_NEVER)
        rgi_deadline_begin(self->worker, request);
    return status;
}

/* Everything an actor has out is in a list of its, for its end to reach. */
static inline void
scope_join(struct rgm_actor *self, struct rgm_request *request,
           rgm_answer_function *answer, struct rgm_link *list)
{
    request->asker = self;
    request->answer = answer;
    rgi_list_push_known(list, &request->scope.link); /* it was at home */
    self->out_count++;
}

/* The record goes out; it is in no list yet. */
static inline void
ask_leave(struct rgm_worker *worker, struct rgm_actor *self,
          struct rgm_request *request, uint32_t destination)
{
    rgi_assert_slow(rgi_is_owner(worker));
    rgi_assert_slow(self->life != RGI_LIFE_STOPPED); /* nobody to answer to */
    check_at_home(request);
    header_set(&request->message, self, RGI_AT_ROAD);
    request->message.holder =
        (uint16_t)(destination == worker->here ? destination : worker->number);
    count_sent(worker, destination);
    rgi_request_goes(request);
}

/* Returns: 0, or what it is to be answered with at once. */
static int
ask_begin(struct rgm_actor *self, struct rgm_request *request,
          rgm_answer_function *answer)
{
    struct rgm_link *list = &self->scope;
    int status = 0;

    if (request->message.type->kind == RGM_KIND_OPERATION)
        rgi_deadline_default(self->worker, request);
    ask_leave(self->worker, self, request,
              rgm_address_worker(request->message.to));
    if (request->asker_flags != 0)
        status = special_begin(self, request, &list);
    scope_join(self, request, answer, list);
    return status;
}

/* Another actor is asked, nothing is set, and nobody is stopping. */
static inline bool
is_plain(const struct rgm_worker *worker, const struct rgm_actor *self,
         const struct rgm_request *request, uint32_t destination)
{
    return request->asker_flags == 0 && self->life == RGI_LIFE_RUNNING &&
           request->message.type->kind == RGM_KIND_REQUEST &&
           (destination == worker->here || destination < worker->workers_count);
}

/*
 * A scope is set on it, or a time, or both, and nothing else keeps it from being
 * a plain ask: then what could refuse it is looked at first, and the rest is the
 * same with a list of the scope's and a timer. Returns: false, and nothing has
 * happened: it goes the long way.
 */
static inline bool
ask_light(struct rgm_worker *worker, struct rgm_actor *self,
          struct rgm_request *request, rgm_answer_function *answer)
{
    const uint32_t timed = RGI_ASKED_AT | RGI_ASKED_AFTER;
    uint32_t destination = rgm_address_worker(request->message.to);
    uint32_t flags = request->asker_flags;
    struct rgm_link *list = &self->scope;

    if ((flags & ~(timed | RGI_ASKED_SCOPED)) != 0 || worker->is_guest ||
        self->life != RGI_LIFE_RUNNING ||
        destination >= worker->workers_count ||
        request->message.type->kind != RGM_KIND_REQUEST ||
        special_check(self, request) != 0)
        return false;
    ask_leave(worker, self, request, destination);
    if (flags & RGI_ASKED_SCOPED) {
        if (request->scope.named->runtime != NULL)
            list = &request->scope.named->requests;
        request->scope.link = (struct rgm_link){NULL, NULL};
        request->asker_flags = flags ^ RGI_ASKED_SCOPED;
    }
    if (flags & timed && request->deadline_ns != RGM_NEVER)
        rgi_deadline_begin(worker, request);
    scope_join(self, request, answer, list);
    if (!rgi_lane_enter(worker, &request->message, destination))
        return true;
    if (destination == worker->here)
        rgi_post_here(worker, &request->message);
    else
        rgi_post_far(worker, &request->message, destination);
    return true;
}

__attribute__((noinline)) static void
ask_special(struct rgm_actor *self, struct rgm_request *request,
            rgm_answer_function *answer)
{
    int status;

    if (ask_light(self->worker, self, request, answer))
        return;
    status = ask_begin(self, request, answer);

    ask_go(self->worker, self, request, status);
}

/* To another worker: out of line, so that an ask of the own one saves no registers
 * for it. */
__attribute__((noinline)) static void
ask_far(struct rgm_actor *self, struct rgm_request *request,
        rgm_answer_function *answer)
{
    struct rgm_worker *worker = self->worker;
    uint32_t destination = rgm_address_worker(request->message.to);

    ask_leave(worker, self, request, destination);
    scope_join(self, request, answer, &self->scope);
    if (rgi_lane_enter(worker, &request->message, destination))
        rgi_post_far(worker, &request->message, destination);
}

void
rgm_ask_request(struct rgm_actor *self, struct rgm_request *request,
                rgm_answer_function *answer)
{
    struct rgm_worker *worker = self->worker;
    uint32_t destination = rgm_address_worker(request->message.to);

    check_at_home(request);
    if (__builtin_expect(!is_plain(worker, self, request, destination), 0)) {
        ask_special(self, request, answer);
        return;
    }
    if (__builtin_expect(destination != worker->here, 0)) {
        ask_far(self, request, answer);
        return;
    }
    ask_leave(worker, self, request, destination);
    scope_join(self, request, answer, &self->scope);
    if (rgi_lane_enter(worker, &request->message, destination))
        rgi_post_here(worker, &request->message);
}

void
rgi_ask_checked(struct rgm_actor *self, struct rgm_request *request,
                rgm_answer_function *answer, int status)
{
    int special = ask_begin(self, request, answer);

    ask_go(self->worker, self, request, status != 0 ? status : special);
}

void
rgi_ask_again(struct rgm_worker *worker, struct rgm_actor *actor,
              struct rgm_request *request)
{
    rgi_request_goes(request);
    request->message.from = actor->address;
    request->message.holder = (uint16_t)worker->number;
    if (request->message.flags & RGI_MESSAGE_CANCELLED)
        rgi_request_fail(worker, request, -ECANCELED);
    else
        ask_go(worker, actor, request, 0);
}

void
rgi_ask_uncharged(struct rgm_actor *self, struct rgm_request *request,
                  rgm_answer_function *answer)
{
    struct rgm_worker *worker = self->worker;
    uint32_t destination = rgm_address_worker(request->message.to);

    (void)ask_begin(self, request, answer); /* nothing is set on ours */
    request->asker_flags |= RGI_ASKED_STAYS;
    if (!may_ask(self, &request->message))
        rgi_request_fail(worker, request, -ECANCELED);
    else if (destination >= worker->workers_count &&
             !rgi_number_learn(worker, destination))
        rgi_request_fail(worker, request, -ESRCH);
    else
        rgi_post(worker, &request->message, destination);
}

#define CHARGED_NOTHING 1

static int
try_ask_status(struct rgm_actor *self, struct rgm_request *request)
{
    struct rgm_worker *worker = self->worker;
    struct rgm_message *message = &request->message;
    uint32_t destination = rgm_address_worker(message->to);
    int status;

    if (!rgi_request_is_home(request) || message->type == NULL ||
        message->type->kind == RGM_KIND_MESSAGE ||
        message->type->kind == RGM_KIND_CONTROL)
        return -EINVAL;
    if (!may_ask(self, message))
        return self->life == RGI_LIFE_FROZEN ? -EAGAIN : -ECANCELED;
    if (request->asker_flags != 0) {
        status = special_check(self, request);
        if (status != 0)
            return status;
    }
    if (message->type->kind != RGM_KIND_OPERATION) {
        if (nobody(worker, message->to))
            return -ESRCH;
    } else if (destination == worker->number ||
               rgi_operation_refused(rgm_operation_of(message)) != 0 ||
               rgi_is_command(rgm_operation_of(message))) {
        return CHARGED_NOTHING;
    } else if (destination >= worker->workers_count &&
               !rgi_number_learn(worker, destination)) {
        return rgi_is_of_a_handle(message->to) ? CHARGED_NOTHING : -ESRCH;
    }
    return rgi_lane_charge(worker, message, destination);
}

int
rgm_try_ask_request(struct rgm_actor *self, struct rgm_request *request,
                    rgm_answer_function *answer)
{
    int status;

    rgi_assert(rgi_is_owner(self->worker));
    status = try_ask_status(self, request);
    if (status == CHARGED_NOTHING) {
        rgm_ask_request(self, request, answer);
        return 0;
    }
    if (status != 0) {
        rgi_count(self->worker, refused);
        return status;
    }
    (void)ask_begin(self, request, answer); /* it was checked */
    if (request->message.type->kind == RGM_KIND_OPERATION)
        (void)rgi_operation_leaves(self->worker, &request->message);
    rgi_post(self->worker, &request->message,
             rgm_address_worker(request->message.to));
    return 0;
}

/* ---- orders ---- */

static void
order_append(struct rgm_order *order, struct rgm_request *request)
{
    request->asker_flags |= RGI_ASKED_ORDERED;
    request->with.line.order = order;
    request->with.line.next = NULL;
    if (order->first == NULL)
        order->first = request;
    else
        order->last->with.line.next = request;
    order->last = request;
    order->count++;
}

__attribute__((noinline)) static void
ask_special_in(struct rgm_actor *self, struct rgm_order *order,
               struct rgm_request *request, rgm_answer_function *answer)
{
    bool full = rgm_order_full(order);
    int status = ask_begin(self, request, answer);

    order_append(order, request);
    if (full)
        rgi_request_fail(self->worker, request, -ENOBUFS);
    else
        ask_go(self->worker, self, request, status);
}

void
rgm_ask_request_in(struct rgm_actor *self, struct rgm_order *order,
                   struct rgm_request *request, rgm_answer_function *answer)
{
    struct rgm_worker *worker = self->worker;
    uint32_t destination = rgm_address_worker(request->message.to);

    check_at_home(request);
    if (__builtin_expect(!is_plain(worker, self, request, destination), 0) ||
        __builtin_expect(rgm_order_full(order), 0)) {
        ask_special_in(self, order, request, answer);
        return;
    }
    ask_leave(worker, self, request, destination);
    scope_join(self, request, answer, &self->scope);
    order_append(order, request);
    if (rgi_lane_enter(worker, &request->message, destination))
        rgi_post(worker, &request->message, destination);
}

void
rgi_ask_held(struct rgm_actor *self, struct rgm_order *order,
             struct rgm_request *request, rgm_answer_function *answer,
             struct rgi_hold *hold)
{
    bool full = order != NULL && rgm_order_full(order);

    int status = ask_begin(self, request, answer);

    if (order != NULL)
        order_append(order, request);
    if (!may_ask(self, &request->message))
        status = -ECANCELED;
    if (full || status != 0) {
        rgi_request_fail(self->worker, request, full ? -ENOBUFS : status);
        return;
    }
    rgi_request_waits(request);
    rgi_chain_append(&hold->waiting, &request->message);
}

void
rgm_answered_request_in(struct rgm_actor *self, struct rgm_order *order,
                        struct rgm_request *request, int status,
                        rgm_answer_function *answer)
{
    (void)ask_begin(self, request, answer);
    order_append(order, request);
    rgi_request_fail(self->worker, request, status);
}

/* ---- answers ---- */

static void
special_end(struct rgm_worker *worker, struct rgm_request *request)
{
    rgi_deadline_disarm(worker, request);
    if (request->asker_flags & RGI_ASKED_CHILD)
        rgi_family_leave(request);
    if (request->asker_flags & RGI_ASKED_EXPIRED &&
        request->message.status == -ECANCELED)
        request->message.status = -ETIMEDOUT;
}

static void
scope_leave(struct rgm_actor *actor, struct rgm_request *request)
{
    if (request->asker_flags & RGI_ASKED_SPECIAL)
        special_end(actor->worker, request);
    request->asker_flags = 0;
    rgi_scope_unlink(actor, request);
}

/* Deliver those at the head of the order that are home. A callback may ask
 * its own record again: it is out of the order by then. */
static void
order_advance(struct rgm_actor *actor, struct rgm_order *order)
{
    struct rgm_request *request = order->first;

    while (request != NULL &&
           (request->asker_flags & RGI_ASKED_ARRIVED) != 0) {
        order->first = request->with.line.next;
        order->count--;
        scope_leave(actor, request);
        request->answer(actor, request);
        request = order->first;
    }
}

static void
gather_one(struct rgm_actor *actor, struct rgm_request *request)
{
    struct rgm_gather *gather = request->gather;

    scope_leave(actor, request);
    if (request->message.status != 0)
        gather->failed++;
    if (--gather->out == 0)
        gather->done(actor, gather);
}

/* Answers that have come, but wait in an order behind one that is lost. */
static void
drop_ordered_in(struct rgm_actor *actor, struct rgm_link *list)
{
    struct rgm_link *link = list->next;

    while (link != list) {
        struct rgm_request *request =
            rgi_container_of(link, struct rgm_request, scope.link);

        link = link->next;
        if (request->asker_flags & RGI_ASKED_ARRIVED)
            scope_leave(actor, request);
    }
}

static void
drop_ordered(struct rgm_actor *actor)
{
    drop_ordered_in(actor, &actor->scope);
    for (struct rgm_scope *scope = actor->scopes; scope != NULL;
         scope = scope->next)
        drop_ordered_in(actor, &scope->requests);
}

/* The asker is stopped by force: it hears of nothing any more, and its memory
 * stays, because the record may lie in it. Of what was given up nobody is to
 * hear, and the janitor does not end. A plain thread cannot be stopped, and may
 * neither wait for ever nor go on with a record that is not its: that ends the
 * program. */
void
rgi_request_lost(struct rgm_worker *worker, struct rgm_request *request)
{
    struct rgm_actor *actor = request->asker;

    rgi_assert(!worker->is_guest); /* waits for what went with its provider */
    special_end(worker, request);
    rgi_list_remove(&request->scope.link);
    rgi_request_loses(request);
    rgi_timeout_lost(worker, request);
    actor->out_count--;
    /* runtime-lost: publishes to the one who frees that memory must stay. */
    ck_pr_store_32(&worker->runtime->lost, 1);
    if (actor == &worker->janitor)
        return;
    rgi_end_decide(actor, RGM_END_LOST, 0);
    actor->flags |= RGI_ACTOR_LOST;
    drop_ordered(actor);
    rgi_actor_stop(worker, actor);
    rgi_actor_wake(worker, actor);
}

/* Something was set on it, or its asker has lost another. A time that has not
 * come, and nothing else, is what most have. */
void
rgi_special_answered(struct rgm_worker *worker, struct rgm_actor *actor,
                     struct rgm_request *request)
{
    const uint32_t light = RGI_ASKED_TIMED | RGI_ASKED_AT | RGI_ASKED_AFTER;

    if ((request->asker_flags & ~light) == 0 &&
        !(actor->flags & RGI_ACTOR_LOST)) {
        rgi_deadline_disarm(worker, request);
        request->asker_flags = 0;
        rgi_scope_unlink(actor, request);
        request->answer(actor, request);
        return;
    }
    if (request->asker_flags & RGI_ASKED_ABANDONED)
        actor = &worker->janitor; /* it was home when it was given up */
    if (actor->flags & RGI_ACTOR_LOST) {
        if (rgi_is_watch(request))
            rgi_watch_unheard(worker, request);
        else if (rgi_is_dedicate(request))
            rgi_dedicated_unheard(worker, request);
        scope_leave(actor, request);
        return;
    }
    if (request->asker_flags & RGI_ASKED_ORDERED) {
        request->asker_flags |= RGI_ASKED_ARRIVED;
        order_advance(actor, request->with.line.order);
    } else if (request->asker_flags & RGI_ASKED_GATHERED) {
        gather_one(actor, request);
    } else {
        scope_leave(actor, request);
        request->answer(actor, request);
    }
}

void
rgm_gather_requests(struct rgm_actor *self, struct rgm_gather *gather,
                    struct rgm_request *const *requests, size_t count,
                    void (*done)(struct rgm_actor *self,
                                 struct rgm_gather *gather))
{
    rgi_assert(count > 0 && count <= UINT32_MAX);
    gather->done = done;
    gather->out = (uint32_t)count;
    gather->failed = 0;
    for (size_t i = 0; i < count; i++) {
        int status = ask_begin(self, requests[i], NULL);

        requests[i]->asker_flags |= RGI_ASKED_GATHERED;
        requests[i]->gather = gather;
        ask_go(self->worker, self, requests[i], status);
    }
}

/* ---- small things ---- */

void
rgm_flush_worker(struct rgm_actor *self)
{
    rgi_assert(rgi_is_owner(self->worker));
    rgi_flush_all(self->worker);
}

uint32_t
rgm_worker_number(const struct rgm_actor *self)
{
    return self->worker->number;
}

uint32_t
rgm_workers_count(const struct rgm_actor *self)
{
    return (uint32_t)__builtin_popcountll(rgi_live(self->worker));
}

uint64_t
rgm_workers_live(const struct rgm_actor *self)
{
    return rgi_live(self->worker);
}

bool
rgm_worker_retiring(const struct rgm_actor *self)
{
    return self->worker->retiring;
}

uint64_t
rgm_now(const struct rgm_actor *self)
{
    return rgi_now(self->worker);
}
