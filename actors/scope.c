/* SPDX-License-Identifier: MIT */

/*
 * scope.c - a tree of tokens over all workers.
 *
 * 1. Whoever cancels sets the flag by one exchange, and is the first or not. On
 *    the scope's own worker the rest is done at once; from elsewhere the node in
 *    the scope is pushed there. Exactly one push for a scope's life, so the node
 *    is enough, and a close waits for it.
 * 2. Done: all that was asked in it is cancelled, and so is what is under it,
 *    one after the other through a list and never by recursion. A cancelled
 *    scope has nothing under it any more.
 * 3. Under a scope of another worker: the child's tie node travels there and
 *    stays in the parent's list. It comes home when the parent is cancelled
 *    (and says so), or closed. A child that closes sends a second node after it.
 *    They take the same road in the same order, so the tie is there first.
 * 4. Closing hands requests to the parent or the actor, and children to the
 *    parent. One that is tied elsewhere waits until nothing is under it.
 *
 * Nothing here calls anybody: answers are delivered in their askers' turns.
 */

#include "actors/runtime.h"

#include <string.h>

#include <ringmail/scope.h>

#include "capabilities/operation.h"

enum scope_state {
    SCOPE_CLOSED,
    SCOPE_OPEN,
    SCOPE_CLOSING /* by a request, or by the end of its actor */
};

static const struct rgm_message_type node_type = {
    "scope", sizeof(struct rgm_message), 0, RGM_KIND_CONTROL, 0, NULL};
struct rgm_scope rgm_scope_never;

/* scope-flag: publishes what the first canceller did before; observes it, when
 * somebody else was first. */
static inline bool
flag_set(struct rgm_scope *scope)
{
    return __atomic_exchange_n(&scope->cancelled, 1, __ATOMIC_ACQ_REL) == 0;
}

static inline struct rgm_scope *
tied(struct rgm_link *tie)
{
    return rgi_container_of(tie, struct rgm_scope, tie);
}

static void
node_init(struct rgm_scope *scope, struct rgm_message *node,
          enum rgi_control control)
{
    memset(node, 0, sizeof(*node));
    node->type = &node_type;
    node->control = (uint8_t)control;
    node->flags = RGI_MESSAGE_URGENT;
    node->lane = RGI_LANE_NONE;
    node->from = rgm_worker_address(scope->number);
}

static void
node_send(struct rgm_worker *worker, struct rgm_message *node, uint32_t number)
{
    worker->messages_out++;
    rgi_post(worker, node, number);
}

/* ---- cancelling: the scope's worker ---- */

/* Its tie leaves the list of a parent on this worker. */
static void
reach_child(struct rgm_worker *worker, struct rgm_scope *child,
            struct rgm_link *work)
{
    if (child->number != worker->number) {
        rgi_send_home(worker, &child->tie_node, -ECANCELED);
        return;
    }
    child->parent = NULL;
    if (flag_set(child))
        rgi_list_push_back(work, &child->tie);
}

static void
apply_one(struct rgm_worker *worker, struct rgm_scope *scope,
          struct rgm_link *work)
{
    struct rgm_link *tie;

    scope->applied = 1;
    rgi_requests_cancel(worker, &scope->requests);
    while ((tie = rgi_list_pop_front(&scope->children)) != NULL)
        reach_child(worker, tied(tie), work);
}

static void try_finish(struct rgm_worker *worker, struct rgm_scope *scope);

static void
apply(struct rgm_worker *worker, struct rgm_scope *scope)
{
    struct rgm_link work;
    struct rgm_link *tie;

    rgi_list_init(&work);
    apply_one(worker, scope, &work);
    while ((tie = rgi_list_pop_front(&work)) != NULL) {
        apply_one(worker, tied(tie), &work);
        try_finish(worker, tied(tie));
    }
    try_finish(worker, scope);
}

/* ---- closing ---- */

/* Who was under it is under its parent. */
static void
hand_children_on(struct rgm_worker *worker, struct rgm_scope *scope)
{
    struct rgm_scope *parent = scope->parent;
    struct rgm_link *tie;

    while ((tie = rgi_list_pop_front(&scope->children)) != NULL) {
        bool here = tied(tie)->number == worker->number;

        if (here)
            tied(tie)->parent = parent;
        if (parent != NULL)
            rgi_list_push_back(&parent->children, tie);
        else if (!here)
            rgi_send_home(worker, &tied(tie)->tie_node, 0);
    }
}

static void
hand_requests_on(struct rgm_scope *scope)
{
    struct rgm_scope *parent = scope->parent;
    bool to_parent = parent != NULL && parent->actor == scope->actor;

    rgi_list_splice_back(to_parent ? &parent->requests : &scope->actor->scope,
                         &scope->requests);
}

static void
finish(struct rgm_worker *worker, struct rgm_scope *scope)
{
    struct rgm_scope *parent = scope->parent;
    struct rgm_scope_close *closer = scope->closer;

    hand_requests_on(scope);
    hand_children_on(worker, scope);
    if (parent != NULL)
        rgi_list_remove(&scope->tie);
    *scope->previous = scope->next;
    if (scope->next != NULL)
        scope->next->previous = scope->previous;
    scope->state = SCOPE_CLOSED;
    if (closer != NULL) {
        worker->attention = true;
        rgm_operation_complete(&closer->operation, 0, &worker->turn);
    } else if (scope->actor->life == RGI_LIFE_STOPPING) {
        rgi_actor_wake(worker, scope->actor);
    }
    if (parent != NULL)
        try_finish(worker, parent);
}

/* Nobody but this worker knows of it, or will come to know of it. */
static bool
is_alone(const struct rgm_scope *scope)
{
    bool ordered = rgm_scope_is_cancelled(scope) && !scope->applied;

    return !ordered && !scope->tie_out && !scope->untie_out;
}

static void
try_finish(struct rgm_worker *worker, struct rgm_scope *scope)
{
    if (scope->state != SCOPE_CLOSING)
        return;
    if (is_alone(scope)) {
        finish(worker, scope);
        return;
    }
    if (!scope->tie_out || scope->untie_out ||
        !rgi_list_empty(&scope->children))
        return;
    scope->untie_out = 1;
    node_init(scope, &scope->untie_node, RGI_CONTROL_SCOPE_UNTIE);
    node_send(worker, &scope->untie_node, scope->far->number);
}

static bool
may_close(const struct rgm_actor *self, const struct rgm_scope *scope)
{
    return scope->runtime != NULL && scope->actor == self &&
           scope->state == SCOPE_OPEN;
}

int
rgm_scope_close_now(struct rgm_actor *self, struct rgm_scope *scope)
{
    rgi_assert(rgi_is_owner(self->worker));
    rgi_assert(may_close(self, scope));
    if (!is_alone(scope))
        return -EBUSY;
    finish(self->worker, scope);
    return 0;
}

int
rgi_scope_close_start(struct rgm_worker *worker,
                      struct rgm_operation *operation)
{
    struct rgm_scope_close *close =
        rgi_container_of(operation, struct rgm_scope_close, operation);
    struct rgm_request *request = &operation->request;
    int status;

    if (rgm_address_worker(request->message.from) != worker->number ||
        !may_close(request->asker, close->scope))
        return -EINVAL;
    status = rgi_operation_begin(operation, worker->provider);
    if (status != 0)
        return status;
    close->scope->state = SCOPE_CLOSING;
    close->scope->closer = close;
    try_finish(worker, close->scope);
    return 0;
}

/* Its actor stops. What is not finished by this wakes it when it is. */
void
rgi_scopes_end(struct rgm_worker *worker, struct rgm_actor *actor)
{
    struct rgm_scope *scope = actor->scopes;

    while (scope != NULL) {
        bool first = flag_set(scope);

        if (first)
            apply(worker, scope);
        scope = first ? actor->scopes : scope->next; /* some may have gone */
    }
    scope = actor->scopes;
    while (scope != NULL) {
        bool open = scope->state == SCOPE_OPEN;

        if (open) {
            scope->state = SCOPE_CLOSING;
            try_finish(worker, scope);
        }
        scope = open ? actor->scopes : scope->next;
    }
}

/* ---- opening ---- */

static void
open_under(struct rgm_worker *worker, struct rgm_scope *scope,
           struct rgm_scope *parent)
{
    if (rgm_scope_is_cancelled(parent)) {
        scope->cancelled = 1;
        scope->applied = 1;
    } else if (parent->number == worker->number) {
        scope->parent = parent;
        rgi_list_push_back(&parent->children, &scope->tie);
    } else {
        scope->far = parent;
        scope->tie_out = 1;
        node_init(scope, &scope->tie_node, RGI_CONTROL_SCOPE_TIE);
        node_send(worker, &scope->tie_node, parent->number);
    }
}

int
rgm_scope_open_under(struct rgm_actor *self, struct rgm_scope *scope,
                     struct rgm_scope *parent)
{
    struct rgm_worker *worker = self->worker;

    rgi_assert(rgi_is_owner(worker));
    if (self->life != RGI_LIFE_RUNNING)
        return -ECANCELED;
    if (parent != NULL && parent->runtime == NULL)
        parent = NULL; /* never cancelled */
    if (parent != NULL &&
        (parent->runtime != worker->runtime ||
         ((worker->is_guest || parent->number >= RGM_WORKERS_MAX) &&
          parent->number != worker->number)))
        return -EINVAL;
    memset(scope, 0, sizeof(*scope));
    scope->number = worker->number;
    scope->runtime = worker->runtime;
    scope->actor = self;
    scope->state = SCOPE_OPEN;
    rgi_list_init(&scope->requests);
    rgi_list_init(&scope->children);
    node_init(scope, &scope->order, RGI_CONTROL_SCOPE_ORDER);
    scope->next = self->scopes;
    scope->previous = &self->scopes;
    if (scope->next != NULL)
        scope->next->previous = &scope->next;
    self->scopes = scope;
    if (parent != NULL)
        open_under(worker, scope, parent);
    return 0;
}

/* ---- from anywhere ---- */

static void
order_push(struct rgm_runtime *runtime, uint32_t number,
           struct rgm_message *order)
{
    struct rgi_inbox *inbox = rgi_runtime_inbox(runtime, number);

    (void)rgi_push_outside(runtime, inbox, order);
}

int
rgm_scope_cancel(struct rgm_scope *scope)
{
    struct rgm_runtime *runtime = scope->runtime;
    struct rgm_worker *worker = rgi_here();

    if (runtime == NULL)
        return -EINVAL;
    if (!flag_set(scope))
        return 0;
    /* Until its order is there, the scope is not closed: it is ours to read. */
    if (worker != NULL && worker->runtime == runtime &&
        worker->number == scope->number)
        apply(worker, scope);
    else
        order_push(runtime, scope->number, &scope->order);
    return 1;
}

void
rgm_request_in_scope(struct rgm_request *request, struct rgm_scope *scope)
{
    rgi_assert(rgi_request_is_home(request));
    request->asker_flags |= RGI_ASKED_SCOPED;
    request->scope.named = scope;
}

int
rgi_scope_check(const struct rgm_actor *self, const struct rgm_scope *scope)
{
    if (scope->runtime == NULL)
        return 0;
    if (scope->actor != self || scope->state != SCOPE_OPEN)
        return -EINVAL;
    return rgm_scope_is_cancelled(scope) ? -ECANCELED : 0;
}

/* ---- nodes that arrive ---- */

static void
tie_arrived(struct rgm_worker *worker, struct rgm_scope *child)
{
    struct rgm_scope *parent = child->far;

    if (rgm_scope_is_cancelled(parent))
        rgi_send_home(worker, &child->tie_node, -ECANCELED);
    else if (parent->state == SCOPE_CLOSED)
        rgi_send_home(worker, &child->tie_node, 0);
    else
        rgi_list_push_back(&parent->children, &child->tie);
}

static void
untie_arrived(struct rgm_worker *worker, struct rgm_scope *child)
{
    if (rgi_list_is_linked(&child->tie)) {
        rgi_list_remove(&child->tie);
        rgi_send_home(worker, &child->tie_node, 0);
    }
    rgi_send_home(worker, &child->untie_node, 0);
}

static void
tie_is_home(struct rgm_worker *worker, struct rgm_scope *scope)
{
    worker->messages_out--;
    scope->tie_out = 0;
    if (scope->tie_node.status == -ECANCELED && flag_set(scope))
        apply(worker, scope);
    else
        try_finish(worker, scope);
}

static void
untie_is_home(struct rgm_worker *worker, struct rgm_scope *scope)
{
    worker->messages_out--;
    scope->untie_out = 0;
    try_finish(worker, scope);
}

void
rgi_scope_control(struct rgm_worker *worker, struct rgm_message *node)
{
    bool ours = rgm_address_worker(node->from) == worker->number;
    struct rgm_scope *scope;

    if (node->control == RGI_CONTROL_SCOPE_ORDER) {
        apply(worker, rgi_container_of(node, struct rgm_scope, order));
    } else if (node->control == RGI_CONTROL_SCOPE_TIE) {
        scope = rgi_container_of(node, struct rgm_scope, tie_node);
        if (ours)
            tie_is_home(worker, scope);
        else
            tie_arrived(worker, scope);
    } else {
        scope = rgi_container_of(node, struct rgm_scope, untie_node);
        if (ours)
            untie_is_home(worker, scope);
        else
            untie_arrived(worker, scope);
    }
}
