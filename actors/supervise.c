/* SPDX-License-Identifier: MIT */

/*
 * supervise.c - a parent that starts its children again.
 *
 * 1. start    all children in order; one that cannot be spawned now (no number
 *             at hand) is tried again in a later turn; one with a thread of its
 *             own when there is one, and those behind it wait for that
 * 2. down     a child has ended: is it to be started again, and may it?
 * 3. bring    who has to go with it is stopped, the last one first, each after
 *    down     the one behind it is gone; then all of these are started again
 * 4. end      the same with all of them, and nobody is started again
 *
 * `floor` says how far down 3 has to go: everybody from that place on. A stop
 * from outside reaches a supervisor through a monitor of itself, which is
 * cancelled then; the children's are not (RGI_ASKED_STAYS), because their end
 * is to be seen in order.
 */

#include <ringmail/dedicated.h>
#include <ringmail/supervisor.h>

#include "actors/runtime.h"

#include "base/memory.h"

#define DEFAULT_RESTARTS 3u
#define RESTARTS_MAX 1024u
#define DEFAULT_PERIOD_NS (5 * RGM_NS_PER_S)

/* To itself: an answer in a later turn. */
struct later {
    struct rgm_request request;
};
static const struct rgm_message_type later_type = {
    "later", sizeof(struct later), offsetof(struct rgm_request, message),
    RGM_KIND_REQUEST, 0, NULL};

struct child {
    struct rgm_down down;
    struct rgm_address address; /* 0: it is not up */
    bool finished;              /* is not to be started any more */
    bool ordered;               /* to stop */
    bool seating;               /* its thread has been asked for */
    struct rgm_dedicate dedicate;
};

struct supervisor {
    struct rgm_actor actor;
    struct rgm_supervisor_options options;
    struct child *children;
    uint64_t *restarted_ns; /* the last restarts_max of them, as a ring */
    uint64_t restarts;
    uint32_t count;
    uint32_t floor; /* count: nobody has to go down */
    bool ending;
    bool later_out;
    struct rgm_down self_watch;
    struct later later;
    struct rgm_end last; /* why it gave up */
};

RGM_HANDLER(supervisor, later, supervisor_later);
RGM_HANDLER(supervisor, rgm_child_where, supervisor_where);
RGM_ANSWER(supervisor, rgm_down, child_down);
RGM_ANSWER(supervisor, rgm_down, stop_seen);
RGM_ANSWER(supervisor, later, it_is_later);
RGM_ANSWER(supervisor, rgm_dedicate, child_seated);
RGM_HOOK(supervisor, supervisor_started);
RGM_HOOK(supervisor, supervisor_retiring);
RGM_HOOK(supervisor, supervisor_stopped);
RGM_FACTORY(supervisor, rgm_supervisor_options, supervisor_make);

static void advance(struct supervisor *self);

/* ---- options ---- */

static bool
options_valid(const struct rgm_supervisor_options *options)
{
    if (options == NULL || options->children == NULL ||
        options->children_count == 0 ||
        options->children_count > RGM_CHILDREN_MAX ||
        options->strategy > RGM_REST_FOR_ONE ||
        (options->restarts_max > RESTARTS_MAX &&
         options->restarts_max != RGM_NO_RESTARTS))
        return false;
    for (size_t i = 0; i < options->children_count; i++)
        if (options->children[i].behaviour == NULL)
            return false;
    return true;
}

static int
supervisor_make(struct supervisor *self,
                const struct rgm_supervisor_options *options)
{
    if (!options_valid(options))
        return -EINVAL;
    self->options = *options;
    self->count = (uint32_t)options->children_count;
    self->floor = self->count;
    if (options->restarts_max == 0)
        self->options.restarts_max = DEFAULT_RESTARTS;
    if (options->restarts_max == RGM_NO_RESTARTS)
        self->options.restarts_max = 0;
    if (options->period_ns == 0)
        self->options.period_ns = DEFAULT_PERIOD_NS;
    return 0;
}

/* ---- ending ---- */

static void
end_now(struct supervisor *self)
{
    struct rgm_end end = self->last;

    self->last = (struct rgm_end){.kind = RGM_END_DONE};
    if (end.kind == RGM_END_FAULT) {
        rgm_fail(self, end.parcel);
        return;
    }
    rgm_parcel_drop(end.parcel);
    if (end.kind == RGM_END_RETIRED)
        rgi_end_decide(&self->actor, RGM_END_RETIRED, -ESHUTDOWN);
    rgm_stop_with(self, end.status);
}

static void
begin_end(struct supervisor *self)
{
    self->ending = true;
    self->floor = 0;
    advance(self);
}

/* ---- starting ---- */

/* In a later turn, when numbers have come. */
static void
try_later(struct supervisor *self)
{
    if (self->later_out)
        return;
    self->later_out = true;
    rgm_init(&later_type, &self->later);
    rgm_request_to(&self->later.request, rgm_self(self));
    rgm_ask(self, &self->later, RGM_REPLY(supervisor, later, it_is_later));
}

/* Returns: as rgm_spawn_on. */
static int
spawn_one(struct supervisor *self, uint32_t i, uint32_t worker)
{
    const struct rgm_child *spec = &self->options.children[i];
    struct child *child = &self->children[i];
    int status = rgm_spawn_child(
        self, worker, spec->behaviour, spec->argument, &child->down,
        RGM_REPLY(supervisor, rgm_down, child_down), &child->address);

    if (status != 0)
        return status;
    child->down.request.asker_flags |= RGI_ASKED_STAYS;
    child->ordered = false;
    return 0;
}

/* It could not be spawned: those behind it wait, or all is over. */
static void
start_failed(struct supervisor *self, int status)
{
    if (status == -EAGAIN) {
        try_later(self);
        return;
    }
    self->last = (struct rgm_end){RGM_END_DONE, status, NULL};
    begin_end(self);
}

/* Returns: whether those behind it may be started now. */
static bool
start_one(struct supervisor *self, uint32_t i)
{
    struct child *child = &self->children[i];
    uint32_t worker = self->options.children[i].worker;
    int status;

    if (child->seating)
        return false;
    if (worker == RGM_OWN_THREAD) {
        child->seating = true;
        rgm_dedicate(self, &child->dedicate,
                     RGM_REPLY(supervisor, rgm_dedicate, child_seated));
        return false;
    }
    status = spawn_one(self, i, worker);
    if (status != 0)
        start_failed(self, status);
    return status == 0;
}

static bool
is_up(const struct child *child)
{
    return child->address.bits != 0;
}

static void
start_all(struct supervisor *self)
{
    for (uint32_t i = 0; i < self->count && !self->ending; i++) {
        if (is_up(&self->children[i]) || self->children[i].finished)
            continue;
        if (!start_one(self, i))
            return;
    }
}

/* There is a thread, or none: what has become of us meanwhile? One that is not
 * used now goes away. */
static void
child_seated(struct supervisor *self, struct rgm_dedicate *dedicate)
{
    struct child *child = rgi_container_of(dedicate, struct child, dedicate);
    int status = rgm_status(dedicate);

    child->seating = false;
    if (self->ending || self->floor != self->count ||
        self->actor.life != RGI_LIFE_RUNNING)
        return; /* whoever brings them up again asks anew */
    if (status == 0)
        status = spawn_one(self, (uint32_t)(child - self->children),
                           dedicate->worker);
    if (status == 0) {
        start_all(self);
        return;
    }
    self->last = (struct rgm_end){RGM_END_DONE, status, NULL};
    begin_end(self); /* -EAGAIN, too: it is not a matter of the next turn */
}

/* ---- down ---- */

static bool
wants_restart(const struct rgm_child *spec, const struct rgm_end *end)
{
    if (spec->restart == RGM_RESTART_FAILED)
        return end->kind != RGM_END_DONE || end->status != 0;
    return spec->restart == RGM_RESTART_ALWAYS;
}

/* The ring holds the last restarts; the oldest of them says. */
static bool
may_restart(struct supervisor *self)
{
    uint32_t most = self->options.restarts_max;
    uint64_t now_ns = rgm_now(&self->actor);
    uint64_t *place;

    if (most == 0)
        return false;
    place = &self->restarted_ns[self->restarts % most];
    if (self->restarts >= most &&
        now_ns - *place <= self->options.period_ns)
        return false;
    *place = now_ns;
    self->restarts++;
    return true;
}

static uint32_t
floor_of(const struct supervisor *self, uint32_t i)
{
    if (self->options.strategy == RGM_ONE_FOR_ALL)
        return 0;
    return self->options.strategy == RGM_REST_FOR_ONE ? i : self->count;
}

static void
ended_by_itself(struct supervisor *self, uint32_t i, struct rgm_end *end)
{
    if (!wants_restart(&self->options.children[i], end)) {
        self->children[i].finished = true;
        rgm_parcel_drop(end->parcel);
    } else if (end->kind != RGM_END_RETIRED && !may_restart(self)) {
        self->last = *end;
        begin_end(self);
        return;
    } else {
        uint32_t floor = floor_of(self, i);

        rgm_parcel_drop(end->parcel);
        if (floor < self->floor)
            self->floor = floor;
    }
    advance(self);
}

static void
child_down(struct supervisor *self, struct rgm_down *down)
{
    struct child *child = rgi_container_of(down, struct child, down);
    bool ordered = child->ordered;

    child->address.bits = 0;
    if (ordered || self->ending || self->actor.worker->draining) {
        rgm_parcel_drop(down->end.parcel);
        if (!self->ending && self->actor.worker->draining)
            begin_end(self);
        else
            advance(self);
        return;
    }
    ended_by_itself(self, (uint32_t)(child - self->children), &down->end);
}

/* One step: the next one down, or everybody up again. */
static void
advance(struct supervisor *self)
{
    for (uint32_t i = self->count; i > self->floor; i--) {
        struct child *child = &self->children[i - 1];

        if (!is_up(child))
            continue;
        if (!child->ordered) {
            child->ordered = true;
            rgm_cancel_request(&self->actor, &child->down.request);
        }
        return;
    }
    self->floor = self->count;
    if (self->ending)
        end_now(self);
    else
        start_all(self);
}

/* ---- the actor ---- */

static void
stop_seen(struct supervisor *self, struct rgm_down *down)
{
    (void)down;
    if (self->children != NULL && !self->ending)
        begin_end(self);
}

static void
supervisor_started(struct supervisor *self)
{
    rgm_monitor(self, &self->self_watch, rgm_self(self),
                RGM_REPLY(supervisor, rgm_down, stop_seen));
    self->last.kind = RGM_END_DONE;
    self->children = rgi_alloc(self->count * sizeof(*self->children));
    self->restarted_ns = rgi_alloc((self->options.restarts_max + 1) *
                                   sizeof(*self->restarted_ns));
    if (self->children == NULL || self->restarted_ns == NULL) {
        rgi_free(self->children);
        self->children = NULL;
        rgm_stop_with(self, -ENOMEM);
        return;
    }
    start_all(self);
}

static void
supervisor_later(struct supervisor *self, struct later *later)
{
    rgm_reply(self, later, 0);
}

static void
it_is_later(struct supervisor *self, struct later *later)
{
    self->later_out = false;
    if (rgm_status(later) == 0 && !self->ending && self->floor == self->count)
        start_all(self);
}

static void
supervisor_where(struct supervisor *self, struct rgm_child_where *where)
{
    where->restarts = self->restarts;
    if (where->child >= self->count) {
        rgm_reply(self, where, -EINVAL);
        return;
    }
    where->address = self->children[where->child].address;
    rgm_reply(self, where, where->address.bits != 0 ? 0 : -ESRCH);
}

static void
supervisor_retiring(struct supervisor *self)
{
    if (self->ending)
        return;
    self->last = (struct rgm_end){RGM_END_RETIRED, -ESHUTDOWN, NULL};
    begin_end(self);
}

static void
supervisor_stopped(struct supervisor *self)
{
    rgi_free(self->children);
    rgi_free(self->restarted_ns);
}

static const struct rgm_handler supervisor_handlers[] = {
    RGM_ON(supervisor, later, supervisor_later),
    RGM_ON(supervisor, rgm_child_where, supervisor_where),
};

const struct rgm_behaviour rgm_supervisor = {
    .name = "supervisor",
    .size_bytes = sizeof(struct supervisor),
    RGM_HANDLERS(supervisor_handlers),
    .factory = RGM_MAKE(supervisor, supervisor_make),
    .started = RGM_DO(supervisor, supervisor_started),
    .retiring = RGM_DO(supervisor, supervisor_retiring),
    .stopped = RGM_DO(supervisor, supervisor_stopped),
};
