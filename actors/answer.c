/* SPDX-License-Identifier: MIT */

/*
 * answer.c - what a handler does with what it got: reply, forward, keep.
 *
 * Whether the delivery in progress is answered is kept in the worker
 * (`handling`), not in the record: the record may be on its way by then, and
 * belongs to somebody else. A second answer finds `handling` moved on and is
 * refused.
 *
 * A kept request stands in the worker's token table; a token is an index and a
 * generation in it, and is judged by the table alone. It is spent before
 * `withdrawn` runs, and before the request goes home.
 */

#include "actors/worker.h"

#include "actors/waits.h"

#include <string.h>

#include "base/memory.h"

#define KEPT_START 64u

/* A token names the worker in whose table it was made, and its place there. */
#define TOKEN_INDEX_BITS 26
#define KEPT_MAX (1u << TOKEN_INDEX_BITS)
_Static_assert(RGM_WORKERS_MAX <= 1u << (32 - TOKEN_INDEX_BITS),
               "a token has room for its worker's number");

/* Claim the delivery in progress; false when it has been claimed. */
static inline bool
claim(struct rgm_worker *worker, const struct rgm_message *message)
{
    if (worker->handling != message || message == NULL)
        return false;
    worker->handling = NULL;
    return true;
}

int
rgm_reply_request(struct rgm_actor *self, struct rgm_request *request,
                  int status)
{
    struct rgm_worker *worker = self->worker;

    if (!claim(worker, &request->message))
        return -EALREADY;
    rgi_send_answer(worker, request, status);
    return 0;
}

static void
forward(struct rgm_worker *worker, struct rgm_message *message,
        struct rgm_address to)
{
    uint32_t destination = rgm_address_worker(to);

    if (__builtin_expect(message->flags & RGI_MESSAGE_PARENT, 0))
        rgi_family_ends(worker, message);
    if (message->flags & RGI_MESSAGE_CANCELLED) {
        rgi_send_home(worker, message, -ECANCELED);
        return;
    }
    if (message->hops == RGM_FORWARDS_MAX) {
        rgi_send_home(worker, message, -ELOOP);
        return;
    }
    if (destination >= worker->workers_count &&
        !rgi_number_learn(worker, destination)) {
        rgi_send_home(worker, message, -ESRCH);
        return;
    }
    message->hops++;
    message->to = to;
    rgi_count(worker, forwarded);
    rgi_post(worker, message, destination);
}

int
rgm_forward_message(struct rgm_actor *self, struct rgm_message *message,
                    struct rgm_address to)
{
    if (!claim(self->worker, message))
        return -EALREADY;
    forward(self->worker, message, to);
    return 0;
}

/* ---- the token table ---- */

static int
table_grow(struct rgm_worker *worker)
{
    uint32_t size = worker->kept_size == 0 ? KEPT_START : worker->kept_size * 2;
    struct rgi_kept *table;

    if (size > KEPT_MAX)
        return -ENOMEM;
    table = rgi_alloc(size * sizeof(*table));
    if (table == NULL)
        return -ENOMEM;
    if (worker->kept != NULL)
        memcpy(table, worker->kept, worker->kept_size * sizeof(*table));
    for (uint32_t i = size - 1; i >= worker->kept_size && i > 0; i--) {
        table[i].next = worker->kept_free;
        worker->kept_free = i;
    }
    rgi_free(worker->kept);
    worker->kept = table;
    worker->kept_size = size;
    return 0;
}

static int
table_take(struct rgm_worker *worker, uint32_t *ret_index)
{
    if (worker->kept_free == 0) {
        int status = table_grow(worker);

        if (status != 0)
            return status;
    }
    *ret_index = worker->kept_free;
    worker->kept_free = worker->kept[*ret_index].next;
    return 0;
}

static void
keeper_link(struct rgm_worker *worker, struct rgm_actor *keeper,
            uint32_t index)
{
    struct rgi_kept *kept = &worker->kept[index];

    kept->keeper = keeper;
    kept->previous = 0;
    kept->next = keeper->kept_first;
    if (kept->next != 0)
        worker->kept[kept->next].previous = index;
    keeper->kept_first = index;
}

/* Spend a token: the request is nobody's but the caller's afterwards. */
static struct rgm_request *
table_release(struct rgm_worker *worker, uint32_t index)
{
    struct rgi_kept *kept = &worker->kept[index];
    struct rgm_request *request = kept->request;

    rgi_waits_release(worker, kept);
    if (kept->previous != 0)
        worker->kept[kept->previous].next = kept->next;
    else
        kept->keeper->kept_first = kept->next;
    if (kept->next != 0)
        worker->kept[kept->next].previous = kept->previous;
    kept->request = NULL;
    kept->keeper = NULL;
    kept->alias.index = 0;
    kept->generation++;
    kept->next = worker->kept_free;
    worker->kept_free = index;
    worker->kept_count--;
    request->message.state = RGI_AT_ROAD;
    return request;
}

static inline struct rgm_token
token_make(const struct rgm_worker *worker, uint32_t index)
{
    struct rgm_token token = {worker->number << TOKEN_INDEX_BITS | index,
                              worker->kept[index].generation};

    return token;
}

/* Its keeper has moved since: what he has kept knows the tokens of then. */
static struct rgi_kept *
table_find_moved(struct rgm_worker *worker, const struct rgm_actor *self,
                 struct rgm_token token)
{
    uint32_t index = self->kept_first;

    while (index != 0 &&
           (worker->kept[index].alias.index != token.index ||
            worker->kept[index].alias.generation != token.generation))
        index = worker->kept[index].next;
    return index != 0 ? &worker->kept[index] : NULL;
}

static struct rgi_kept *
table_find(struct rgm_worker *worker, const struct rgm_actor *self,
           struct rgm_token token)
{
    uint32_t index = token.index - (worker->number << TOKEN_INDEX_BITS);
    struct rgi_kept *kept;

    if (token.index == 0)
        return NULL;
    if (index != 0 && index < worker->kept_size) {
        kept = &worker->kept[index];
        if (kept->request != NULL && kept->generation == token.generation &&
            kept->keeper == self && kept->alias.index == 0)
            return kept;
    }
    return __builtin_expect(self->flags & RGI_ACTOR_MOVED, 0)
               ? table_find_moved(worker, self, token)
               : NULL;
}

static inline uint32_t
index_of(const struct rgm_worker *worker, const struct rgi_kept *kept)
{
    return (uint32_t)(kept - worker->kept);
}

int
rgm_keep_request(struct rgm_actor *self, struct rgm_request *request,
                 struct rgm_token *ret_token)
{
    struct rgm_worker *worker = self->worker;
    uint32_t index;
    int status;

    if (worker->handling != &request->message)
        return -EALREADY;
    if (request->message.flags & RGI_MESSAGE_CANCELLED)
        return -ECANCELED;
    status = table_take(worker, &index);
    if (status != 0)
        return status;
    worker->handling = NULL;
    worker->kept[index].request = request;
    request->message.state = RGI_AT_KEEPER;
    request->message.status = (int32_t)index;
    keeper_link(worker, self, index);
    rgi_waits_keep(worker, &worker->kept[index]);
    worker->kept_count++;
    *ret_token = token_make(worker, index);
    return 0;
}

struct rgm_request *
rgm_kept_request(struct rgm_actor *self, struct rgm_token token)
{
    struct rgi_kept *kept = table_find(self->worker, self, token);

    return kept != NULL ? kept->request : NULL;
}

int
rgm_answer_kept(struct rgm_actor *self, struct rgm_token token, int status)
{
    struct rgm_worker *worker = self->worker;
    const struct rgi_kept *kept = table_find(worker, self, token);
    struct rgm_request *request;

    if (kept == NULL)
        return -EALREADY;
    request = table_release(worker, index_of(worker, kept));
    rgi_send_home(worker, &request->message, status);
    return 0;
}

int
rgm_forward_kept_request(struct rgm_actor *self, struct rgm_token token,
                         struct rgm_address to)
{
    struct rgm_worker *worker = self->worker;
    const struct rgi_kept *kept = table_find(worker, self, token);

    if (kept == NULL)
        return -EALREADY;
    forward(worker, &table_release(worker, index_of(worker, kept))->message,
            to);
    return 0;
}

struct rgm_actor *
rgi_keeper_of(const struct rgm_worker *worker,
              const struct rgm_message *message)
{
    return worker->kept[(uint32_t)message->status].keeper;
}

struct rgm_request *
rgi_unkeep(struct rgm_actor *self, struct rgm_token token)
{
    const struct rgi_kept *kept = table_find(self->worker, self, token);

    if (kept == NULL)
        return NULL;
    return table_release(self->worker, index_of(self->worker, kept));
}

void
rgi_withdraw_all(struct rgm_worker *worker, struct rgm_actor *actor)
{
    const struct rgm_behaviour *behaviour = actor->dispatch->behaviour;

    while (actor->kept_first != 0) {
        struct rgm_request *request = table_release(worker,
                                                    actor->kept_first);

        if (behaviour->withdrawn != NULL)
            behaviour->withdrawn(actor, request);
        rgi_send_home(worker, &request->message, -ESRCH);
    }
}

/* ---- withdrawn by a cancel ---- */

void
rgi_withdraw_one(struct rgm_worker *worker, struct rgm_message *message)
{
    uint32_t index = (uint32_t)message->status;
    struct rgm_actor *keeper = worker->kept[index].keeper;
    struct rgm_request *request = table_release(worker, index);

    rgi_assert(&request->message == message);
    message->state = RGI_AT_WITHDRAWN;
    rgi_actor_push(worker, keeper, message);
}

void
rgi_deliver_cancelled(struct rgm_worker *worker, struct rgm_actor *actor,
                      struct rgm_message *message)
{
    const struct rgm_behaviour *behaviour = actor->dispatch->behaviour;

    if (actor->life == RGI_LIFE_FROZEN)
        rgi_move_spoke(actor);
    if (message->state == RGI_AT_WITHDRAWN && behaviour->withdrawn != NULL)
        behaviour->withdrawn(actor, rgi_request_of(message));
    rgi_send_home(worker, message, -ECANCELED);
}

/* ---- of an actor that moves ---- */

uint32_t
rgi_kept_count(const struct rgm_worker *worker, const struct rgm_actor *actor)
{
    uint32_t count = 0;

    for (uint32_t index = actor->kept_first; index != 0;
         index = worker->kept[index].next)
        count++;
    return count;
}

struct rgm_request *
rgi_kept_remove(struct rgm_worker *worker, struct rgm_actor *actor,
                struct rgm_token *ret_token)
{
    uint32_t index = actor->kept_first;
    const struct rgi_kept *kept = &worker->kept[index];

    *ret_token = kept->alias.index != 0 ? kept->alias
                                        : token_make(worker, index);
    return table_release(worker, index);
}

int
rgi_keep_moved(struct rgm_worker *worker, struct rgm_actor *actor,
               struct rgm_message *message, struct rgm_token token)
{
    uint32_t index;
    int status = table_take(worker, &index);

    if (status != 0)
        return status;
    message->state = RGI_AT_KEEPER;
    message->status = (int32_t)index;
    worker->kept[index].request = rgi_request_of(message);
    keeper_link(worker, actor, index);
    worker->kept[index].alias = token;
    rgi_waits_keep(worker, &worker->kept[index]);
    worker->kept_count++;
    return 0;
}
