/* SPDX-License-Identifier: MIT */

/*
 * commands.c - how is an operation found by a value, and what if it is not?
 *
 * 1. An operation that is asked of another worker gets a number as it sets out;
 *    one that is begun here, when its identity is asked for. A number is the
 *    asker's count and the asker's own number: it is never used twice.
 * 2. The worker that carries an operation out has those with a number in its
 *    table until they are delivered. A link of the table lies in the record.
 * 3. A command is applied when it is reached, like a submission: what comes
 *    from other workers in the order of the inbox, our own at once. It names a
 *    number; no record is looked at but those in the table.
 * 4. One that finds nothing may have overtaken its submission, which came by
 *    the other road. It goes behind all that has come there by now, once: an
 *    identity is given away only after the submission was pushed. What finds
 *    nothing then is told that there is nothing, and forgotten.
 *
 * What can fail: nothing. The table has a fixed size and keeps no place for
 * what has ended.
 *
 * Model: mailbox/models/replay.pml.
 */

#include "actors/runtime.h"

#include <ringmail/identity.h>

#include "base/memory.h"
#include "capabilities/operation.h"

/* ---- the table ---- */

#define BUCKET_BITS 9
#define BUCKETS (1u << BUCKET_BITS)

struct rgi_names {
    struct rgm_link buckets[BUCKETS];
};

int
rgi_names_init(struct rgm_worker *worker)
{
    worker->names = rgi_alloc(sizeof(*worker->names));
    if (worker->names == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < BUCKETS; i++)
        rgi_list_init(&worker->names->buckets[i]);
    return 0;
}

void
rgi_names_deinit(struct rgm_worker *worker)
{
    rgi_free(worker->names);
    worker->names = NULL;
}

/* Fibonacci hashing: counts in a row spread over all buckets. */
static struct rgm_link *
bucket_of(const struct rgm_worker *worker, uint64_t number)
{
    uint64_t hash = number * UINT64_C(0x9e3779b97f4a7c15);

    return &worker->names->buckets[hash >> (64 - BUCKET_BITS)];
}

void
rgi_name_add(struct rgm_worker *worker, struct rgm_operation *operation)
{
    rgi_list_push_front(bucket_of(worker, operation->number),
                        &operation->named);
}

uint32_t
rgi_names_count(const struct rgm_worker *worker)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < BUCKETS; i++) {
        const struct rgm_link *bucket = &worker->names->buckets[i];

        for (const struct rgm_link *link = bucket->next; link != bucket;
             link = link->next)
            count++;
    }
    return count;
}

/* Its number is of another runtime, and may be one of ours, too. */
static bool
is_visitor(const struct rgm_operation *operation)
{
    return operation->request.message.control == RGI_CONTROL_ABROAD;
}

struct rgm_operation *
rgi_name_find(const struct rgm_worker *worker, uint64_t number)
{
    const struct rgm_link *bucket = bucket_of(worker, number);

    for (struct rgm_link *link = bucket->next; link != bucket;
         link = link->next) {
        struct rgm_operation *operation =
            rgi_container_of(link, struct rgm_operation, named);

        if (operation->number == number && !is_visitor(operation))
            return operation;
    }
    return NULL;
}

/* ---- numbers ---- */

#define COUNT_BITS 54 /* at ten million a second, for fifty years */

static uint64_t
number_next(struct rgm_worker *worker)
{
    uint64_t count = ++worker->names_last & ((UINT64_C(1) << COUNT_BITS) - 1);

    return (uint64_t)(worker->number + 1) << COUNT_BITS | count;
}

bool
rgi_operation_leaves(struct rgm_worker *worker, struct rgm_message *message)
{
    struct rgm_operation *operation = rgm_operation_of(message);

    operation->number = number_next(worker);
    return rgi_is_command(operation);
}

void
rgi_name_give(struct rgm_worker *worker, struct rgm_operation *operation)
{
    if (operation->number != 0)
        return;
    operation->number = number_next(worker);
    rgi_name_add(worker, operation);
}

/* ---- whose identity is asked for ---- */

static int
identify_here(struct rgm_worker *worker, struct rgm_operation *operation)
{
    if (operation->request.message.state != RGI_AT_PROVIDER)
        return -ESRCH;
    rgi_name_give(worker, operation);
    return 0;
}

/* Of the record, only `holder` and what we wrote before it left is ours to
 * read. */
static int
identify(struct rgm_worker *worker, struct rgm_operation *operation,
         uint32_t holder)
{
    if (holder == RGI_HOLDER_HOME)
        return -ESRCH;
    if (holder == RGI_HOLDER_ABROAD)
        return -EINVAL;
    if (holder == worker->number)
        return identify_here(worker, operation);
    rgi_flush_all(worker);
    return 0;
}

static bool
is_out(const struct rgm_request *request)
{
    return request->life == RGI_REQUEST_OUT ||
           request->life == RGI_REQUEST_CANCELLING ||
           request->life == RGI_REQUEST_CHASED;
}

int
rgm_identify_request(struct rgm_actor *self, struct rgm_request *request,
                     struct rgm_identity *ret_identity)
{
    struct rgm_operation *operation =
        rgm_operation_of(&request->message);
    uint32_t holder;
    int status;

    rgi_assert(rgi_is_owner(self->worker));
    if (request->message.type == NULL ||
        request->message.type->kind != RGM_KIND_OPERATION ||
        rgi_is_command(operation))
        return -EINVAL;
    if (request->life == RGI_REQUEST_WAITING)
        return -EAGAIN;
    if (!is_out(request))
        return -ESRCH;
    holder = rgi_holder(&request->message);
    status = identify(self->worker, operation, holder);
    if (status == 0)
        *ret_identity = (struct rgm_identity){rgm_worker_address(holder),
                                              operation->number};
    return status;
}

/* ---- commands ---- */

/* Both kinds begin like this. */
static struct rgm_cancellation *
command_of(struct rgm_operation *operation)
{
    return rgi_container_of(operation, struct rgm_cancellation, operation);
}

_Static_assert(offsetof(struct rgm_cancellation, identity) ==
                       offsetof(struct rgm_retiming, identity) &&
                   offsetof(struct rgm_cancellation, replayed) ==
                       offsetof(struct rgm_retiming, replayed),
               "a command is one of either kind");

static int
apply(struct rgm_worker *worker, struct rgm_operation *command,
      struct rgm_operation *operation)
{
    if (command->kind == RGM_OP_RETIME)
        return rgi_sleep_retime(
            worker, operation,
            rgi_container_of(command, struct rgm_retiming, operation)
                ->deadline_ns);
    operation->request.message.flags |= RGI_MESSAGE_CANCELLED;
    rgi_operate_cancel(worker, &operation->request.message);
    return 0;
}

/* Behind everything of the other side. */
static void
replay(struct rgm_worker *worker, struct rgm_message *message, bool local)
{
    command_of(rgm_operation_of(message))->replayed = true;
    rgi_count(worker, commands_replayed);
    worker->attention = true;
    rgi_mail_append(&worker->mail, local ? RGI_REMOTE : RGI_LOCAL, message);
}

/* A command is no operation of the worker's: it is answered at once, and a
 * worker that drains needs it. */
bool
rgi_command(struct rgm_worker *worker, struct rgm_message *message, bool local)
{
    struct rgm_operation *command = rgm_operation_of(message);
    struct rgm_operation *operation;

    if (!rgi_is_command(command))
        return false;
    operation = rgi_name_find(worker, command_of(command)->identity.number);
    if (operation == NULL && !command_of(command)->replayed) {
        replay(worker, message, local);
        return true;
    }
    command_of(command)->replayed = false;
    rgi_send_home(worker, message,
                  operation == NULL ? -ESRCH
                                    : apply(worker, command, operation));
    return true;
}

int
rgm_runtime_cancel(struct rgm_runtime *runtime, struct rgm_identity identity)
{
    struct rgm_cancellation cancellation;

    rgm_cancel_identity(&cancellation, identity);
    return rgm_call(runtime, &cancellation);
}
