/* SPDX-License-Identifier: MIT */

/*
 * reentrancy_cases.c - may a callback end whatever it stands on?
 *
 * An actor has everything out at once: reads, one of them pooled, an accept, a
 * long sleep, an acquire. Then one of its callbacks runs, of each type in turn,
 * and does the worst there is, of each kind in turn: it closes or drops what it
 * was called for, cancels the timers, lets its worker retire, closes the pool,
 * stops its actor, or has somebody else do so. Each operation is answered once
 * all the same, and nothing is left. A use of what is gone is AddressSanitizer's
 * to find.
 */

#include "conformance/reentrancy_cases.h"

#include <sched.h>

/* Which callback acts. */
enum type {
    ON_READ,
    ON_POOLED,
    ON_WRITE,
    ON_ACCEPT,
    ON_SLEEP,
    ON_ANSWER,
    ON_DOWN,
    IN_HANDLER,
    IN_SETTLED,
    IN_RETURNED,
    IN_WITHDRAWN,
    IN_RETIRING,
    TYPES_COUNT
};

/* What it does. */
enum deed {
    CLOSE_SOCKETS,
    DROP_SOCKETS,
    CANCEL_TIMERS,
    RETIRE_WORKER,
    CLOSE_POOL,
    STOP,
    HAVE_IT_STOPPED,
    ALL_OF_IT,
    DEEDS_COUNT
};

struct scene {
    struct stage *stage;
    enum type type;
    enum deed deed;
    struct rgm_pool *pool;
    struct rgm_address victim, helper;
    struct rgm_listener listener;
    struct rgm_endpoint endpoint;
    unsigned ready;   /* atomic, all of these */
    unsigned acted;
    unsigned stopped;
};

/* ------------------------------------------------------------------ messages */

enum order_kind { PROVOKE, KEEP_ME, CLEAN_UP };

struct order { /* of a plain thread; and what the helper answers */
    struct rgm_request request;
    enum order_kind kind;
};
RGM_REQUEST(order);

struct poke { /* comes home to its maker's hook */
    struct rgm_message message;
    struct victim *victim;
};
static void poke_home(struct poke *poke, int status);
RGM_MESSAGE_RETURNED(poke, poke_home);

struct stop_it {
    struct rgm_message message;
    struct rgm_address whom;
};
RGM_MESSAGE(stop_it);

/* -------------------------------------------------------------------- actors */

struct victim {
    struct rgm_actor actor;
    struct scene *scene;
    struct rgm_stream streams[3]; /* the last one is never accepted, or late */
    struct rgm_listen listen;
    struct rgm_accept accepts[3];
    unsigned accepted;
    struct rgm_read read;
    struct rgm_read_pooled pooled;
    struct rgm_write write;
    struct rgm_sleep naps[2]; /* a long one, and the one that ends */
    struct rgm_acquire acquire;
    struct rgm_close closes[4];
    struct rgm_resize resize;
    struct order ask; /* of the helper */
    struct rgm_down down;
    struct rgm_token kept;
    bool settles; /* the next `settled` acts */
    bool acted;
    unsigned out; /* asked and not answered */
    char bytes[16];
};

struct helper {
    struct rgm_actor actor;
};

RGM_HOOK(victim, victim_started);
RGM_HOOK(victim, victim_settled);
RGM_HOOK(victim, victim_retiring);
RGM_HOOK(victim, victim_stopped);
RGM_HANDLER(victim, order, victim_order);
RGM_ANSWER(victim, rgm_listen, on_listen);
RGM_ANSWER(victim, rgm_accept, on_accept);
RGM_ANSWER(victim, rgm_read, on_read);
RGM_ANSWER(victim, rgm_read_pooled, on_pooled);
RGM_ANSWER(victim, rgm_write, on_write);
RGM_ANSWER(victim, rgm_sleep, on_sleep);
RGM_ANSWER(victim, rgm_acquire, on_acquire);
RGM_ANSWER(victim, rgm_close, on_close);
RGM_ANSWER(victim, rgm_resize, on_resize);
RGM_ANSWER(victim, order, on_answer);
RGM_ANSWER(victim, rgm_down, on_down);
RGM_FACTORY(victim, scene, victim_make);
RGM_HANDLER(helper, order, helper_order);
RGM_HANDLER(helper, poke, helper_poke);
RGM_HANDLER(helper, stop_it, helper_stop_it);
RGM_HOOK(helper, brief_started);

static void victim_withdrawn(struct rgm_actor *self,
                             struct rgm_request *request);

static const struct rgm_handler victim_handlers[] = {
    RGM_ON(victim, order, victim_order),
};
static const struct rgm_behaviour victim_behaviour = {
    .name = "victim",
    .size_bytes = sizeof(struct victim),
    RGM_HANDLERS(victim_handlers),
    .factory = RGM_MAKE(victim, victim_make),
    .started = RGM_DO(victim, victim_started),
    .settled = RGM_DO(victim, victim_settled),
    .retiring = RGM_DO(victim, victim_retiring),
    .withdrawn = victim_withdrawn,
    .stopped = RGM_DO(victim, victim_stopped),
};
static const struct rgm_handler helper_handlers[] = {
    RGM_ON(helper, order, helper_order),
    RGM_ON(helper, poke, helper_poke),
    RGM_ON(helper, stop_it, helper_stop_it),
};
static const struct rgm_behaviour helper_behaviour = {
    .name = "helper",
    .size_bytes = sizeof(struct helper),
    RGM_HANDLERS(helper_handlers),
};
static const struct rgm_behaviour brief_behaviour = {
    .name = "brief",
    .size_bytes = sizeof(struct helper),
    .started = RGM_DO(helper, brief_started),
};

static void
helper_order(struct helper *self, struct order *order)
{
    rgm_reply(self, order, 0);
}

static void
helper_poke(struct helper *self, struct poke *poke)
{
    (void)self;
    (void)poke;
}

static void
helper_stop_it(struct helper *self, struct stop_it *stop)
{
    rgi_check(rgm_stop_address(&self->actor, stop->whom) == 0);
}

static void
brief_started(struct helper *self)
{
    rgm_stop(self);
}

/* ---------------------------------------------------------------- the deeds */

#define VICTIM_ASKS(self, record, reply)                                       \
    ((self)->out++, rgm_ask((self), (record), (reply)))

/* What is busy with something else stays open: -EBUSY is the answer then. */
static void
close_sockets(struct victim *self)
{
    for (unsigned i = 0; i < self->accepted; i++) {
        rgm_stream_close(&self->closes[i], &self->streams[i]);
        VICTIM_ASKS(self, &self->closes[i],
                    RGM_REPLY(victim, rgm_close, on_close));
    }
    rgm_listener_close(&self->closes[3], &self->scene->listener);
    VICTIM_ASKS(self, &self->closes[3], RGM_REPLY(victim, rgm_close, on_close));
}

static void
drop_sockets(struct victim *self)
{
    for (unsigned i = 0; i < self->accepted; i++)
        (void)rgm_stream_drop(self, &self->streams[i]);
    (void)rgm_listener_drop(self, &self->scene->listener);
}

static void
have_it_stopped(struct victim *self)
{
    struct stop_it *stop = stop_it_take(&self->actor, 0);

    rgi_check(stop != NULL);
    stop->whom = rgm_self(self);
    rgi_check(rgm_send(self, self->scene->helper, stop) == 0);
}

static void
retire_worker(struct victim *self)
{
    rgm_resize_to(&self->resize, 1);
    VICTIM_ASKS(self, &self->resize, RGM_REPLY(victim, rgm_resize, on_resize));
}

static void
do_it(struct victim *self, enum deed deed)
{
    switch (deed) {
    case CLOSE_SOCKETS:
        close_sockets(self);
        break;
    case DROP_SOCKETS:
        drop_sockets(self);
        break;
    case CANCEL_TIMERS:
        for (unsigned i = 0; i < 2; i++)
            rgm_cancel(self, &self->naps[i]);
        rgm_cancel(self, &self->acquire);
        break;
    case RETIRE_WORKER:
        retire_worker(self);
        break;
    case CLOSE_POOL:
        rgm_pool_close(self->scene->pool);
        break;
    case STOP:
        rgm_stop(self);
        break;
    case HAVE_IT_STOPPED:
        have_it_stopped(self);
        break;
    case ALL_OF_IT:
        have_it_stopped(self);
        retire_worker(self);
        do_it(self, CANCEL_TIMERS);
        rgm_pool_close(self->scene->pool);
        close_sockets(self);
        drop_sockets(self);
        rgm_stop(self);
        break;
    case DEEDS_COUNT:
        break;
    }
}

static void
act(struct victim *self, enum type type)
{
    struct scene *scene = self->scene;

    if (self->acted || scene->type != type)
        return;
    self->acted = true;
    do_it(self, scene->deed);
    __atomic_fetch_add(&scene->acted, 1, __ATOMIC_SEQ_CST);
}

/* --------------------------------------------------------------- callbacks */

static int
victim_make(struct victim *self, const struct scene *scene)
{
    self->scene = (struct scene *)(uintptr_t)scene;
    return 0;
}

static void
victim_started(struct victim *self)
{
    struct rgm_endpoint any = loopback();

    rgm_stream_listen(&self->listen, rgm_here(self), &self->scene->listener,
                      &any, false);
    VICTIM_ASKS(self, &self->listen, RGM_REPLY(victim, rgm_listen, on_listen));
}

static void
accept_next(struct victim *self)
{
    unsigned i = self->accepted;

    rgm_stream_accept(&self->accepts[i], &self->scene->listener,
                      &self->streams[i]);
    VICTIM_ASKS(self, &self->accepts[i],
                RGM_REPLY(victim, rgm_accept, on_accept));
}

static void
say_ready(struct victim *self)
{
    __atomic_fetch_add(&self->scene->ready, 1, __ATOMIC_SEQ_CST);
}

static void
on_listen(struct victim *self, struct rgm_listen *listen)
{
    self->out--;
    rgi_check(rgm_status(listen) == 0);
    self->scene->endpoint = listen->endpoint;
    accept_next(self);
    say_ready(self);
}

/* Two connections are there: everything goes out. */
static void
begin_all(struct victim *self)
{
    rgm_stream_read(&self->read, &self->streams[0], self->bytes,
                    sizeof(self->bytes));
    VICTIM_ASKS(self, &self->read, RGM_REPLY(victim, rgm_read, on_read));
    rgm_stream_read_pooled(&self->pooled, &self->streams[1],
                           self->scene->pool);
    VICTIM_ASKS(self, &self->pooled,
                RGM_REPLY(victim, rgm_read_pooled, on_pooled));
    rgm_sleep_for(&self->naps[0], rgm_here(self), 3600 * RGM_NS_PER_S);
    VICTIM_ASKS(self, &self->naps[0], RGM_REPLY(victim, rgm_sleep, on_sleep));
    rgm_pool_acquire(&self->acquire, rgm_here(self), self->scene->pool);
    VICTIM_ASKS(self, &self->acquire,
                RGM_REPLY(victim, rgm_acquire, on_acquire));
}

static void
on_accept(struct victim *self, struct rgm_accept *accept)
{
    self->out--;
    if (rgm_status(accept) != 0)
        return;
    if (++self->accepted < 3)
        accept_next(self);
    if (self->accepted == 2)
        begin_all(self);
    if (self->accepted == 3)
        act(self, ON_ACCEPT);
    say_ready(self);
}

static void
on_read(struct victim *self, struct rgm_read *read)
{
    (void)read;
    self->out--;
    act(self, ON_READ);
}

static void
on_pooled(struct victim *self, struct rgm_read_pooled *pooled)
{
    self->out--;
    if (rgm_status(pooled) == 0) {
        act(self, ON_POOLED);
        (void)rgm_lease_drop(&pooled->lease);
    }
}

static void
on_write(struct victim *self, struct rgm_write *write)
{
    (void)write;
    self->out--;
    act(self, ON_WRITE);
}

static void
on_sleep(struct victim *self, struct rgm_sleep *sleep)
{
    self->out--;
    if (sleep == &self->naps[1])
        act(self, ON_SLEEP);
}

static void
on_acquire(struct victim *self, struct rgm_acquire *acquire)
{
    self->out--;
    if (rgm_status(acquire) == 0)
        (void)rgm_lease_drop(&acquire->lease);
}

static void
on_close(struct victim *self, struct rgm_close *close)
{
    (void)close;
    self->out--;
}

static void
on_resize(struct victim *self, struct rgm_resize *resize)
{
    (void)resize;
    self->out--;
}

static void
on_answer(struct victim *self, struct order *order)
{
    (void)order;
    self->out--;
    act(self, ON_ANSWER);
}

static void
on_down(struct victim *self, struct rgm_down *down)
{
    (void)down;
    self->out--;
    act(self, ON_DOWN);
}

static void
poke_home(struct poke *poke, int status)
{
    (void)status;
    act(poke->victim, IN_RETURNED);
}

static void
victim_settled(struct victim *self)
{
    if (self->settles)
        act(self, IN_SETTLED);
}

static void
victim_withdrawn(struct rgm_actor *self, struct rgm_request *request)
{
    (void)request;
    act((struct victim *)(void *)self, IN_WITHDRAWN);
}

static void
victim_retiring(struct victim *self)
{
    act(self, IN_RETIRING);
    rgm_stop(self);
}

static void
victim_stopped(struct victim *self)
{
    rgi_check(self->out == 0); /* each was answered, and once */
    drop_sockets(self);
    __atomic_fetch_add(&self->scene->stopped, 1, __ATOMIC_SEQ_CST);
}

/* What must come from the victim itself. */
static void
provoke(struct victim *self)
{
    struct rgm_address brief;
    struct poke *poke;

    switch (self->scene->type) {
    case ON_WRITE:
        rgm_stream_write(&self->write, &self->streams[0], "w", 1);
        VICTIM_ASKS(self, &self->write, RGM_REPLY(victim, rgm_write, on_write));
        break;
    case ON_SLEEP:
        rgm_sleep_for(&self->naps[1], rgm_here(self), 1000);
        VICTIM_ASKS(self, &self->naps[1],
                    RGM_REPLY(victim, rgm_sleep, on_sleep));
        break;
    case ON_ANSWER:
        order_prepare(&self->ask, self->scene->helper);
        VICTIM_ASKS(self, &self->ask, RGM_REPLY(victim, order, on_answer));
        break;
    case ON_DOWN:
        rgi_check(rgm_spawn_watched(self, 0, &brief_behaviour, NULL,
                                    &self->down,
                                    RGM_REPLY(victim, rgm_down, on_down),
                                    &brief) == 0);
        self->out++;
        break;
    case IN_HANDLER:
        act(self, IN_HANDLER);
        break;
    case IN_SETTLED:
        self->settles = true;
        break;
    case IN_RETURNED:
        poke = poke_take(&self->actor, 0);
        rgi_check(poke != NULL);
        poke->victim = self;
        rgi_check(rgm_send(self, self->scene->helper, poke) == 0);
        break;
    default:
        break;
    }
}

static void
victim_order(struct victim *self, struct order *order)
{
    if (order->kind == KEEP_ME) {
        rgi_check(rgm_keep(self, order, &self->kept) == 0);
        return;
    }
    if (order->kind == PROVOKE) {
        provoke(self);
    } else {
        rgm_stop(self);
    }
    rgm_reply(self, order, 0);
}

/* ------------------------------------------------------------------ a scene */

static void
await(const unsigned *count, unsigned wanted)
{
    while (__atomic_load_n(count, __ATOMIC_SEQ_CST) < wanted)
        sched_yield();
}

static void
tell(struct scene *scene, enum order_kind kind)
{
    struct order order;
    int status;

    order_prepare(&order, scene->victim);
    order.kind = kind;
    if (kind == KEEP_ME)
        rgm_expire_after(&order, RGM_NS_PER_MS);
    status = rgm_call(scene->stage->runtime, &order);
    rgi_check(status == (kind == KEEP_ME ? -ETIMEDOUT : 0) ||
              status == -ESRCH || status == -EPIPE);
}

/* Let the callback run. */
static void
trigger(struct scene *scene, int *peers)
{
    switch (scene->type) {
    case ON_READ:
        peer_send(peers[0], "r", 1);
        break;
    case ON_POOLED:
        peer_send(peers[1], "p", 1);
        break;
    case ON_ACCEPT:
        peers[2] = peer_connect(&scene->endpoint);
        break;
    case IN_WITHDRAWN: /* an ask may expire before it is kept: once more */
        do
            tell(scene, KEEP_ME);
        while (__atomic_load_n(&scene->acted, __ATOMIC_SEQ_CST) == 0);
        break;
    case IN_RETIRING:
        rgi_check(rgm_runtime_resize(scene->stage->runtime, 1) == 0);
        break;
    default:
        tell(scene, PROVOKE);
    }
}

static void
play(struct stage *stage, enum type type, enum deed deed)
{
    struct scene scene = {.stage = stage, .type = type, .deed = deed};
    struct rgm_lease held;
    int peers[3] = {-1, -1, -1};

    if (rgm_runtime_workers(stage->runtime) == 1)
        rgi_check(rgm_runtime_resize(stage->runtime, 2) == 0);
    scene.pool = pool_of(2, 256);
    rgi_check(rgm_pool_try_acquire(scene.pool, &held) == 0);
    rgi_check(rgm_runtime_spawn(stage->runtime, 0, &helper_behaviour, NULL,
                                &scene.helper) == 0);
    rgi_check(rgm_runtime_spawn(stage->runtime, 1, &victim_behaviour, &scene,
                                &scene.victim) == 0);
    await(&scene.ready, 1);
    for (unsigned i = 0; i < 2; i++) {
        peers[i] = peer_connect(&scene.endpoint);
        await(&scene.ready, i + 2);
    }
    trigger(&scene, peers);
    await(&scene.acted, 1);
    tell(&scene, CLEAN_UP);
    await(&scene.stopped, 1);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, scene.helper) == 0);
    for (unsigned i = 0; i < 3; i++)
        if (peers[i] >= 0)
            peer_close(peers[i]);
    (void)rgm_lease_drop(&held);
    rgm_pool_destroy(scene.pool);
}

static void
play_types(struct stage *stage, int first, int last)
{
    stage->options.workers = 1;
    stage_open(stage);
    for (int type = first; type <= last; type++)
        for (int deed = 0; deed < DEEDS_COUNT; deed++)
            play(stage, (enum type)type, (enum deed)deed);
    stage_close(stage);
}

void
field_b47_answers_end_what_they_stand_on(struct stage *stage)
{
    play_types(stage, ON_READ, ON_DOWN);
}

void
field_b47_hooks_end_what_they_stand_on(struct stage *stage)
{
    play_types(stage, IN_HANDLER, IN_RETIRING);
}
