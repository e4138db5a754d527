/* SPDX-License-Identifier: MIT */

/*
 * worker_lease_cases.c - leases on workers, and workers that retire.
 *
 * The puppet of a worker outlives the order to retire; the cases let it go
 * when they are done with it.
 */

#include "conformance/worker_lease_cases.h"

#include <sched.h>
#include <stdatomic.h>

/* ------------------------------------------------------------------ errands */

/* What an errand was told, and found. */
struct visit {
    struct rgm_worker_lease *lease;
    int status;
    pthread_t thread;
    uint64_t sent;
};

static uint64_t
messages_sent(struct puppet *puppet)
{
    struct rgm_counters counters;

    rgi_check(rgm_runtime_counters(puppet->stage->runtime, puppet->number,
                                   &counters) == 0);
    return counters.sent_local + counters.sent_remote;
}

static void
take(struct puppet *puppet, void *argument)
{
    struct visit *visit = argument;
    uint64_t before = messages_sent(puppet);

    visit->status = rgm_worker_lease_take(puppet, visit->lease);
    visit->thread = pthread_self();
    visit->sent = messages_sent(puppet) - before;
}

static void
look(struct puppet *puppet, void *argument)
{
    (void)puppet;
    ((struct visit *)argument)->thread = pthread_self();
}

static int
take_on(struct stage *stage, uint32_t worker, struct rgm_worker_lease *lease)
{
    struct visit visit = {.lease = lease};

    stage_do_on(stage, worker, take, &visit);
    return visit.status;
}

static pthread_t
thread_of(struct stage *stage, uint32_t worker)
{
    struct visit visit = {.lease = NULL};

    stage_do_on(stage, worker, look, &visit);
    return visit.thread;
}

static void
let_go(struct stage *stage, uint32_t worker)
{
    rgi_check(rgm_runtime_stop_actor(stage->runtime,
                                     stage->puppets[worker]) == 0);
}

static void
resize(struct stage *stage, uint32_t workers)
{
    rgi_check(rgm_runtime_resize(stage->runtime, workers) == 0);
    rgi_check(rgm_runtime_workers(stage->runtime) == workers);
}

/* Returns when all that retire have ended. */
static void
await_gone(struct stage *stage)
{
    struct rgm_resize request;

    rgm_resize_to(&request, rgm_runtime_workers(stage->runtime));
    request.until_gone = true;
    rgi_check(rgm_call(stage->runtime, &request) == 0);
    rgi_check(rgm_runtime_threads(stage->runtime) ==
              rgm_runtime_workers(stage->runtime));
}

static void
open_two(struct stage *stage)
{
    stage->options.workers = 2;
    stage->options.workers_max = 2;
    stage_open(stage);
}

static uint32_t
holders_of(struct stage *stage, uint32_t worker,
           struct rgm_lease_holder *holders, uint32_t capacity)
{
    struct rgm_lease_holders question;

    rgm_lease_holders_of(&question, rgm_worker_address(worker), holders,
                         capacity);
    rgi_check(rgm_call(stage->runtime, &question) == 0);
    return question.count;
}

/* ------------------------------------------------------------------- taking */

void
lse_01_taking_is_a_call_and_sends_nothing(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct visit visit = {.lease = &lease};

    stage_open(stage);
    stage_do(stage, take, &visit);
    rgi_check(visit.status == 0 && visit.sent == 0);
    rgi_check(rgm_worker_lease_active(&lease));
    rgm_worker_lease_release(&lease);
    stage_close(stage);
}

void
lse_02_outside_a_worker_and_after_the_end_it_is_refused(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct rgm_lease_holders question;
    struct rgm_guest guest;

    open_two(stage);
    rgm_lease_holders_of(&question, rgm_worker_address(1), NULL, 1);
    rgi_check(rgm_call(stage->runtime, &question) == -EINVAL);
    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    rgi_check(rgm_worker_lease_take(&guest, &lease) == -EINVAL);
    rgm_guest_close(&guest);
    resize(stage, 1);
    rgi_check(take_on(stage, 1, &lease) == -EPIPE);
    rgi_check(!rgm_worker_lease_active(&lease));
    rgi_check(holders_of(stage, 1, NULL, 0) == 0);
    let_go(stage, 1);
    await_gone(stage);
    stage_stop(stage);
    rgi_check(take_on(stage, 0, &lease) == -EPIPE);
    stage_wait(stage);
}

/* Takes when it is told, which races with the order to retire. */
struct taker {
    struct rgm_actor actor;
    struct rgm_worker_lease *lease;
    atomic_int *outcome;
};

RGM_FACTORY(taker, taker, taker_make);
RGM_HOOK(taker, taker_started);

static const struct rgm_behaviour taker_behaviour = {
    .name = "taker",
    .size_bytes = sizeof(struct taker),
    .factory = RGM_MAKE(taker, taker_make),
    .started = RGM_DO(taker, taker_started),
};

static int
taker_make(struct taker *self, const struct taker *argument)
{
    self->lease = argument->lease;
    self->outcome = argument->outcome;
    return 0;
}

static void
taker_started(struct taker *self)
{
    atomic_store(self->outcome, rgm_worker_lease_take(self, self->lease));
}

/* One round: 1 when the lease was granted. */
static int
race_once(struct stage *stage, bool first)
{
    struct rgm_worker_lease lease = {0};
    atomic_int outcome = 1;
    struct taker argument = {.lease = &lease, .outcome = &outcome};
    struct rgm_address address;
    int status;

    if (!first)
        sched_yield();
    status = rgm_runtime_spawn(stage->runtime, 1, &taker_behaviour, &argument,
                               &address);
    rgi_check(status == 0);
    resize(stage, 1);
    while (atomic_load(&outcome) == 1)
        sched_yield();
    rgi_check(atomic_load(&outcome) == 0 || atomic_load(&outcome) == -EPIPE);
    rgi_check(rgm_worker_lease_active(&lease) == (atomic_load(&outcome) == 0));
    if (atomic_load(&outcome) == 0) {
        rgi_check(rgm_runtime_threads(stage->runtime) == 2);
        rgi_check(holders_of(stage, 1, NULL, 0) == 1);
    }
    rgm_worker_lease_release(&lease);
    await_gone(stage);
    resize(stage, 2);
    return atomic_load(&outcome) == 0;
}

void
lse_03_taken_before_the_retirement_or_refused(struct stage *stage)
{
    open_two(stage);
    let_go(stage, 1);
    for (uint64_t i = 0; i < rgi_scale(100000); i++)
        (void)race_once(stage, i % 2 == 0);
    stage_close(stage);
}

/* ------------------------------------------------------------------ holding */

void
lse_04_the_thread_stays_while_a_lease_is_held(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    pthread_t thread;

    open_two(stage);
    thread = thread_of(stage, 1);
    rgi_check(take_on(stage, 1, &lease) == 0);
    resize(stage, 1);
    for (unsigned i = 0; i < 100; i++)
        rgi_check(pthread_equal(thread_of(stage, 1), thread));
    rgi_check(rgm_runtime_threads(stage->runtime) == 2);
    let_go(stage, 1); /* nobody is there, only the promise */
    rgi_check(holders_of(stage, 1, NULL, 0) == 1);
    rgi_check(rgm_runtime_threads(stage->runtime) == 2);
    rgm_worker_lease_release(&lease);
    await_gone(stage);
    stage_close(stage);
}

/* An actor that says where it is, and asks others where they are. */
struct teller {
    struct rgm_actor actor;
    atomic_uint *seen; /* answers */
    pthread_t home;
    struct rgm_address other;
    struct tell *question;
    unsigned rounds;
};

struct tell {
    struct rgm_request request;
    pthread_t thread;
};
RGM_REQUEST(tell);

RGM_FACTORY(teller, teller, teller_make);
RGM_HANDLER(teller, tell, teller_tell);
RGM_HOOK(teller, teller_retiring);

static const struct rgm_handler teller_handlers[] = {
    RGM_ON(teller, tell, teller_tell),
};

static const struct rgm_behaviour teller_behaviour = {
    .name = "teller",
    .size_bytes = sizeof(struct teller),
    RGM_HANDLERS(teller_handlers),
    .factory = RGM_MAKE(teller, teller_make),
    .retiring = RGM_DO(teller, teller_retiring),
};

static int
teller_make(struct teller *self, const struct teller *argument)
{
    self->seen = argument->seen;
    return 0;
}

static void
teller_tell(struct teller *self, struct tell *tell)
{
    tell->thread = pthread_self();
    rgm_reply(self, tell, 0);
}

/* Goes on until it is let go. */
static void
teller_retiring(struct teller *self)
{
    if (!rgm_worker_retiring(&self->actor))
        rgm_stop(self);
}

static struct rgm_address
teller_on(struct stage *stage, uint32_t worker)
{
    struct teller argument = {.seen = NULL};
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(stage->runtime, worker, &teller_behaviour,
                                &argument, &address) == 0);
    return address;
}

static pthread_t
told_by(struct stage *stage, struct rgm_address teller)
{
    struct tell tell;

    tell_prepare(&tell, teller);
    rgi_check(rgm_call(stage->runtime, &tell) == 0);
    return tell.thread;
}

/* Asks a teller again and again; every answer must come on this thread. */
struct chain {
    struct tell tell;
    struct rgm_address teller;
    pthread_t home, there;
    uint32_t left;
    atomic_bool done;
};

static void
chain_answered(struct rgm_actor *actor, struct rgm_request *request)
{
    struct chain *chain = (struct chain *)(void *)request;

    rgi_check(rgm_status(&chain->tell) == 0);
    rgi_check(pthread_equal(pthread_self(), chain->home));
    rgi_check(pthread_equal(chain->tell.thread, chain->there));
    if (--chain->left == 0)
        atomic_store(&chain->done, true);
    else
        rgm_ask_request(actor, request, chain_answered);
}

static void
chain_begin(struct puppet *puppet, void *argument)
{
    struct chain *chain = argument;

    chain->home = pthread_self();
    tell_prepare(&chain->tell, chain->teller);
    rgm_ask_request(&puppet->actor, &chain->tell.request, chain_answered);
}

static void
chain_run(struct stage *stage, uint32_t worker, struct rgm_address teller)
{
    struct chain chain = {.teller = teller, .left = 100};

    atomic_init(&chain.done, false);
    chain.there = told_by(stage, teller);
    stage_do_on(stage, worker, chain_begin, &chain);
    while (!atomic_load(&chain.done))
        sched_yield();
}

static void
spawn_four(struct puppet *puppet, void *argument)
{
    struct rgm_address *addresses = argument;
    struct teller child = {.seen = NULL};

    for (unsigned i = 0; i < 4; i++)
        rgi_check(rgm_spawn_next(puppet, &teller_behaviour, &child,
                                 &addresses[i]) == 0);
}

void
lse_05_nested_calls_stay_children_spread(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct rgm_address children[4];
    uint32_t on_zero = 0;
    pthread_t thread;

    open_two(stage);
    thread = thread_of(stage, 1);
    rgi_check(take_on(stage, 1, &lease) == 0);
    stage_do_on(stage, 1, spawn_four, children);
    for (unsigned i = 0; i < 4; i++)
        on_zero += rgm_address_worker(children[i]) == 0;
    rgi_check(on_zero == 2);
    resize(stage, 1);
    for (unsigned i = 0; i < 4; i++) {
        chain_run(stage, 1, children[i]);
        rgi_check(pthread_equal(thread_of(stage, 1), thread));
    }
    for (unsigned i = 0; i < 4; i++)
        rgi_check(rgm_runtime_stop_actor(stage->runtime, children[i]) == 0);
    rgm_worker_lease_release(&lease);
    let_go(stage, 1);
    await_gone(stage);
    stage_close(stage);
}

struct foreigner {
    struct stage *stage;
    pthread_t expected;
    struct rgm_address teller;
};

static void *
foreigner_asks(void *argument)
{
    struct foreigner *foreigner = argument;

    for (unsigned i = 0; i < 100; i++)
        rgi_check(pthread_equal(told_by(foreigner->stage, foreigner->teller),
                                foreigner->expected));
    return NULL;
}

/* A guest of the first runtime, in the hands of an actor of the second. */
static void
wake_from_afar(struct puppet *puppet, void *argument)
{
    struct rgm_worker_lease *lease = argument;

    (void)puppet;
    rgm_worker_lease_release(lease);
}

void
lse_06_foreign_threads_reach_it_on_its_worker(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct stage other = {.class = stage->class};
    struct foreigner foreigner = {.stage = stage};
    pthread_t threads[8];

    stage_init(&other);
    stage_open(&other);
    open_two(stage);
    foreigner.teller = teller_on(stage, 1);
    foreigner.expected = thread_of(stage, 1);
    rgi_check(take_on(stage, 1, &lease) == 0);
    resize(stage, 1);
    for (unsigned i = 0; i < 8; i++)
        rgi_check(pthread_create(&threads[i], NULL, foreigner_asks,
                                 &foreigner) == 0);
    for (unsigned i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, foreigner.teller) == 0);
    let_go(stage, 1);
    stage_do(&other, wake_from_afar, &lease); /* another runtime's worker */
    await_gone(stage);
    stage_close(stage);
    stage_close(&other);
    stage_deinit(&other);
}

void
lse_07_a_child_elsewhere_ends_and_the_parent_goes_on_at_home(
    struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct rgm_address child;
    pthread_t thread;

    open_two(stage);
    thread = thread_of(stage, 1);
    rgi_check(take_on(stage, 1, &lease) == 0);
    child = teller_on(stage, 0);
    resize(stage, 1);
    chain_run(stage, 1, child);
    rgi_check(!pthread_equal(told_by(stage, child), thread));
    rgi_check(rgm_runtime_stop_actor(stage->runtime, child) == 0);
    rgi_check(pthread_equal(thread_of(stage, 1), thread));
    rgm_worker_lease_release(&lease);
    let_go(stage, 1);
    await_gone(stage);
    stage_close(stage);
}

/* Consumers are puppets, producers are tellers: each with and without. */
void
lse_08_producer_and_consumer_stay_where_they_are(struct stage *stage)
{
    struct rgm_worker_lease leases[2] = {{0}, {0}};

    open_two(stage);
    for (uint32_t leased = 0; leased < 4; leased++) {
        struct rgm_address far = teller_on(stage, 1),
                           near = teller_on(stage, 0);

        if (leased & 1)
            rgi_check(take_on(stage, 0, &leases[0]) == 0);
        if (leased & 2)
            rgi_check(take_on(stage, 1, &leases[1]) == 0);
        chain_run(stage, 0, far);
        chain_run(stage, 1, near);
        chain_run(stage, 1, far);
        rgi_check(rgm_runtime_stop_actor(stage->runtime, far) == 0);
        rgi_check(rgm_runtime_stop_actor(stage->runtime, near) == 0);
        rgm_worker_lease_release(&leases[0]);
        rgm_worker_lease_release(&leases[1]);
    }
    stage_close(stage);
}

/* ------------------------------------------------------- an actor that holds */

/* Takes a lease when it starts, and releases it in `stopped`. */
struct holder {
    struct rgm_actor actor;
    struct rgm_worker_lease lease;
    struct rgm_sleep sleep;
    struct hold *facts;
};

struct hold {
    pthread_t started, stopped;
    atomic_uint notes, ended, yields, ticks, retired;
    bool yields_for_ever;
};

struct poke {
    struct rgm_message message;
    bool go;
};
RGM_MESSAGE(poke);

struct holder_argument {
    struct hold *facts;
};

RGM_FACTORY(holder, holder_argument, holder_make);
RGM_HOOK(holder, holder_started);
RGM_HOOK(holder, holder_retiring);
RGM_HOOK(holder, holder_stopped);
RGM_HANDLER(holder, poke, holder_poke);
RGM_ANSWER(holder, rgm_sleep, holder_ticked);

static const struct rgm_handler holder_handlers[] = {
    RGM_ON(holder, poke, holder_poke),
};

static const struct rgm_behaviour holder_behaviour = {
    .name = "holder",
    .size_bytes = sizeof(struct holder),
    RGM_HANDLERS(holder_handlers),
    .factory = RGM_MAKE(holder, holder_make),
    .started = RGM_DO(holder, holder_started),
    .retiring = RGM_DO(holder, holder_retiring),
    .stopped = RGM_DO(holder, holder_stopped),
};

static int
holder_make(struct holder *self, const struct holder_argument *argument)
{
    self->facts = argument->facts;
    return 0;
}

static void
holder_yield(struct holder *self)
{
    struct poke *poke = poke_take(&self->actor, 0);

    rgi_check(poke != NULL);
    poke->go = false;
    rgi_check(rgm_send(self, rgm_self(self), poke) == 0);
}

static void
holder_ticked(struct holder *self, struct rgm_sleep *tick)
{
    if (rgm_status(tick) != 0)
        return;
    atomic_fetch_add(&self->facts->ticks, 1);
    rgm_sleep_for(tick, rgm_here(self), RGM_NS_PER_MS / 10);
    rgm_ask(self, tick, RGM_REPLY(holder, rgm_sleep, holder_ticked));
}

static void
holder_started(struct holder *self)
{
    self->facts->started = pthread_self();
    rgi_check(rgm_worker_lease_take(self, &self->lease) == 0);
    if (!self->facts->yields_for_ever)
        return;
    holder_yield(self);
    rgm_sleep_for(&self->sleep, rgm_here(self), RGM_NS_PER_MS / 10);
    rgm_ask(self, &self->sleep, RGM_REPLY(holder, rgm_sleep, holder_ticked));
}

static void
holder_retiring(struct holder *self)
{
    atomic_fetch_add(&self->facts->retired, 1);
}

static void
holder_poke(struct holder *self, struct poke *poke)
{
    rgi_check(pthread_equal(pthread_self(), self->facts->started));
    atomic_fetch_add(&self->facts->notes, 1);
    if (poke->go) {
        rgm_stop(self);
    } else if (self->facts->yields_for_ever) {
        atomic_fetch_add(&self->facts->yields, 1);
        holder_yield(self);
    }
}

static void
holder_stopped(struct holder *self)
{
    self->facts->stopped = pthread_self();
    rgm_worker_lease_release(&self->lease);
    atomic_fetch_add(&self->facts->ended, 1);
}

static struct rgm_address
holder_on(struct stage *stage, uint32_t worker, struct hold *facts)
{
    struct holder_argument argument = {.facts = facts};
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(stage->runtime, worker, &holder_behaviour,
                                &argument, &address) == 0);
    return address;
}

/* From a plain thread: the hand-off is a message. Returns when it is home. */
static void
poke_from_outside(struct stage *stage, struct rgm_address holder, bool go)
{
    struct rgm_guest guest;
    struct poke *poke;

    rgi_check(rgm_guest_open(stage->runtime, &guest) == 0);
    poke = poke_take(&guest.actor, 0);
    rgi_check(poke != NULL);
    poke->go = go;
    rgi_check(rgm_send(&guest, holder, poke) == 0);
    rgm_guest_close(&guest);
}

void
lse_09_the_end_of_a_holder_runs_on_its_worker(struct stage *stage)
{
    struct hold facts = {.yields_for_ever = false};
    struct rgm_address holder;

    open_two(stage);
    holder = holder_on(stage, 1, &facts);
    let_go(stage, 1);
    resize(stage, 1);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, holder) == 0);
    await_gone(stage);
    rgi_check(atomic_load(&facts.ended) == 1);
    rgi_check(pthread_equal(facts.started, facts.stopped));
    stage_close(stage);
}

static void *
poke_it(void *argument)
{
    struct foreigner *foreigner = argument;

    for (unsigned i = 0; i < 50; i++)
        poke_from_outside(foreigner->stage, foreigner->teller, false);
    return NULL;
}

/* The handler checks that it runs on the holder's thread. */
void
lse_10_a_foreign_thread_hands_over_by_message(struct stage *stage)
{
    struct hold facts = {.yields_for_ever = false};
    struct foreigner foreigner = {.stage = stage};
    pthread_t threads[4];

    open_two(stage);
    foreigner.teller = holder_on(stage, 1, &facts);
    resize(stage, 1);
    for (unsigned i = 0; i < 4; i++)
        rgi_check(pthread_create(&threads[i], NULL, poke_it, &foreigner) == 0);
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    rgi_check(atomic_load(&facts.notes) == 200);
    poke_from_outside(stage, foreigner.teller, true);
    let_go(stage, 1);
    await_gone(stage);
    stage_close(stage);
}

/* ------------------------------------------------------------------- tokens */

void
lse_11_tokens_move_and_know_whether_they_hold(struct stage *stage)
{
    struct rgm_worker_lease first = {0}, second = {0};

    stage_open(stage);
    rgm_worker_lease_release(&first);
    rgi_check(!rgm_worker_lease_active(&first));
    rgi_check(take_on(stage, 0, &first) == 0);
    rgi_check(holders_of(stage, 0, NULL, 0) == 1);
    rgm_worker_lease_move(&second, &first);
    rgi_check(!rgm_worker_lease_active(&first));
    rgi_check(rgm_worker_lease_active(&second));
    rgm_worker_lease_move(&second, &second);
    rgi_check(rgm_worker_lease_active(&second));
    rgi_check(holders_of(stage, 0, NULL, 0) == 1);
    rgi_check(take_on(stage, 0, &first) == 0);
    rgi_check(holders_of(stage, 0, NULL, 0) == 2);
    rgm_worker_lease_move(&second, &first); /* the old one of it goes */
    rgi_check(holders_of(stage, 0, NULL, 0) == 1);
    rgi_check(take_on(stage, 0, &second) == 0); /* likewise */
    rgi_check(holders_of(stage, 0, NULL, 0) == 1);
    rgm_worker_lease_move(&second, &first); /* nothing moves in */
    rgi_check(!rgm_worker_lease_active(&second));
    rgi_check(holders_of(stage, 0, NULL, 0) == 0);
    stage_close(stage);
}

void
lse_12_number_and_identity_open_no_door(struct stage *stage)
{
    struct rgm_worker_lease lease = {0}, kept;
    struct rgm_address old;
    struct tell tell;

    open_two(stage);
    old = teller_on(stage, 1);
    rgi_check(take_on(stage, 1, &lease) == 0);
    kept = lease;
    resize(stage, 1);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, old) == 0);
    let_go(stage, 1);
    rgm_worker_lease_release(&lease);
    rgi_check(lease.worker == 0 && lease.identity == 0);
    resize(stage, 2);
    tell_prepare(&tell, old);
    rgi_check(rgm_call(stage->runtime, &tell) == -ESRCH);
    stage->puppets[1] = teller_on(stage, 1);
    rgi_check(kept.worker == rgm_address_worker(stage->puppets[1]));
    rgi_check(holders_of(stage, 1, NULL, 0) == 0);
    stage_close(stage);
}

void
lse_13_a_release_from_outside_wakes_a_sleeping_owner(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct rgm_counters counters;

    open_two(stage);
    rgi_check(take_on(stage, 1, &lease) == 0);
    let_go(stage, 1);
    resize(stage, 1);
    do { /* until it sleeps, without a deadline */
        sched_yield();
        rgi_check(rgm_runtime_counters(stage->runtime, 1, &counters) == 0);
    } while (counters.actors > 0 || counters.leases != 1);
    rgm_worker_lease_release(&lease);
    rgm_worker_lease_release(&lease);
    await_gone(stage);
    stage_close(stage);
}

void
lse_14_who_took_it_is_its_holder_whoever_has_the_token(struct stage *stage)
{
    struct rgm_worker_lease taken = {0}, moved = {0};
    struct rgm_lease_holder holders[2];

    stage_open(stage);
    rgi_check(take_on(stage, 0, &taken) == 0);
    rgm_worker_lease_move(&moved, &taken);
    rgi_check(holders_of(stage, 0, holders, 2) == 1);
    rgi_check(holders[0].actor.bits == stage->puppets[0].bits);
    rgi_check(strcmp(holders[0].behaviour, "puppet") == 0);
    rgm_worker_lease_release(&moved);
    stage_close(stage);
}

void
lse_15_inactive_tokens_outlive_the_runtime(struct stage *stage)
{
    struct rgm_worker_lease released = {0}, moved_from = {0}, never = {0};
    struct rgm_worker_lease other = {0};

    stage_open(stage);
    rgi_check(take_on(stage, 0, &released) == 0);
    rgi_check(take_on(stage, 0, &moved_from) == 0);
    rgm_worker_lease_move(&other, &moved_from);
    rgm_worker_lease_release(&released);
    rgm_worker_lease_release(&other);
    stage_close(stage);
    rgm_worker_lease_release(&released);
    rgm_worker_lease_release(&moved_from);
    rgm_worker_lease_release(&never);
    rgm_worker_lease_move(&never, &released);
    rgi_check(!rgm_worker_lease_active(&never));
}

/* ----------------------------------------------------------------- draining */

void
lse_16_a_lease_counts_where_nothing_else_is_out(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct rgm_counters counters;

    open_two(stage);
    rgi_check(take_on(stage, 1, &lease) == 0);
    rgi_check(stage_counters(stage).leases == 1);
    resize(stage, 1);
    let_go(stage, 1);
    for (unsigned i = 0; i < 50; i++)
        rgi_check(holders_of(stage, 1, NULL, 0) == 1);
    rgi_check(rgm_runtime_counters(stage->runtime, 1, &counters) == 0);
    rgi_check(rgm_runtime_threads(stage->runtime) == 2);
    rgm_worker_lease_release(&lease);
    await_gone(stage);
    stage_close(stage);
}

void
lse_17_a_draining_worker_serves_those_who_yield_for_ever(struct stage *stage)
{
    struct hold facts = {.yields_for_ever = true};
    struct rgm_address holder;
    unsigned yields, ticks;

    open_two(stage);
    holder = holder_on(stage, 1, &facts);
    let_go(stage, 1);
    resize(stage, 1);
    yields = atomic_load(&facts.yields);
    ticks = atomic_load(&facts.ticks);
    while (atomic_load(&facts.yields) < yields + 1000 ||
           atomic_load(&facts.ticks) < ticks + 10)
        sched_yield();
    rgi_check(rgm_runtime_threads(stage->runtime) == 2);
    poke_from_outside(stage, holder, true);
    await_gone(stage);
    rgi_check(pthread_equal(facts.started, facts.stopped));
    stage_close(stage);
}

/* Three words: whose it is, and two numbers for people. */
void
lse_18_a_token_gives_access_to_nothing(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};

    _Static_assert(sizeof(lease) == sizeof(void *) + 2 * sizeof(uint32_t),
                   "a token has no ring in it");
    stage_open(stage);
    rgi_check(take_on(stage, 0, &lease) == 0);
    rgi_check(lease.worker == 0 && lease.identity != 0);
    rgm_worker_lease_release(&lease);
    stage_close(stage);
}

struct ender {
    struct stage *stage;
    atomic_bool ended;
};

static void *
await_the_end(void *argument)
{
    struct ender *ender = argument;

    rgi_check(rgm_runtime_wait(ender->stage->runtime) == 0);
    atomic_store(&ender->ended, true);
    return NULL;
}

void
lse_19_a_graceful_stop_waits_for_leases(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct ender ender = {.stage = stage};
    pthread_t thread;

    open_two(stage);
    rgi_check(take_on(stage, 1, &lease) == 0);
    stage_stop(stage);
    rgi_check(pthread_create(&thread, NULL, await_the_end, &ender) == 0);
    let_go(stage, 1);
    for (unsigned i = 0; i < 50; i++) {
        rgi_check(holders_of(stage, 1, NULL, 0) == 1);
        rgi_check(!atomic_load(&ender.ended));
    }
    let_go(stage, 0);
    rgi_check(!atomic_load(&ender.ended));
    rgm_worker_lease_release(&lease);
    pthread_join(thread, NULL);
    stage_wait(stage);
}

/* The token outlives the runtime, and its release does nothing then. */
void
lse_19_a_stop_with_a_limit_gives_leases_up(struct stage *stage)
{
    struct rgm_stop_options options = {.timeout_ns = RGM_NS_PER_MS,
                                       .linger_ns = RGM_NS_PER_MS,
                                       .grace_ns = RGM_NEVER};
    struct rgm_stop_report report;
    struct rgm_worker_lease lease = {0};

    open_two(stage);
    rgi_check(take_on(stage, 1, &lease) == 0);
    rgi_check(rgm_runtime_stop_and_wait(stage->runtime, &options, &report) ==
              -ETIMEDOUT);
    rgi_check(report.forced && report.left_count == 1);
    rgi_check(report.left[0].kind == RGM_BLOCKER_LEASE &&
              report.left[0].worker == 1 && report.left[0].count == 1);
    rgi_check(strcmp(report.left[0].name, "puppet") == 0);
    stage_wait(stage);
    rgi_check(rgm_worker_lease_active(&lease));
    rgm_worker_lease_release(&lease);
    rgi_check(!rgm_worker_lease_active(&lease));
}

/* Also on a worker that retires. */
void
lse_19_a_forced_stop_gives_leases_up(struct stage *stage)
{
    struct rgm_worker_lease leases[2] = {{0}, {0}};

    open_two(stage);
    rgi_check(take_on(stage, 0, &leases[0]) == 0);
    rgi_check(take_on(stage, 1, &leases[1]) == 0);
    resize(stage, 1);
    rgm_runtime_force(stage->runtime, RGM_NS_PER_MS);
    stage_wait(stage);
    rgm_worker_lease_release(&leases[0]);
    rgm_worker_lease_release(&leases[1]);
}

/* A sleep that is out holds its worker, without any lease. */
void
lse_20_capabilities_count_by_themselves(struct stage *stage)
{
    struct sleep_step step = {.track = {0, 0}};

    open_two(stage);
    rgm_sleep_for(&step.op, rgm_worker_address(1), 3600 * RGM_NS_PER_S);
    stage_begin_on(stage, 1, &step);
    resize(stage, 1);
    for (unsigned i = 0; i < 50; i++)
        (void)thread_of(stage, 1);
    rgi_check(rgm_runtime_threads(stage->runtime) == 2);
    rgi_check(stage_is_out(stage, &step));
    stage_cancel_on(stage, 1, &step);
    rgi_check(stage_end(stage, &step) == -ECANCELED);
    let_go(stage, 1);
    await_gone(stage);
    stage_close(stage);
}

struct shrinker {
    struct rgm_resize resize;
    atomic_int status;
};

static void
shrunk(struct rgm_actor *actor, struct rgm_request *request)
{
    struct shrinker *shrinker = (struct shrinker *)(void *)request;

    (void)actor;
    atomic_store(&shrinker->status, rgm_status(&shrinker->resize));
}

static void
shrink_to_one(struct puppet *puppet, void *argument)
{
    struct shrinker *shrinker = argument;

    rgm_resize_to(&shrinker->resize, 1);
    rgm_ask_request(&puppet->actor, &shrinker->resize.request, shrunk);
}

void
lse_21_a_parked_holder_is_served_by_its_thread(struct stage *stage)
{
    struct hold facts = {.yields_for_ever = false};
    struct shrinker shrinker = {.status = 1};
    struct rgm_address holder;

    open_two(stage);
    holder = holder_on(stage, 1, &facts);
    let_go(stage, 1);
    poke_from_outside(stage, holder, false);
    stage_do(stage, shrink_to_one, &shrinker); /* another actor */
    while (atomic_load(&shrinker.status) == 1)
        sched_yield();
    rgi_check(atomic_load(&shrinker.status) == 0);
    rgi_check(rgm_runtime_workers(stage->runtime) == 1);
    poke_from_outside(stage, holder, false); /* it checks the thread */
    rgi_check(atomic_load(&facts.notes) == 2);
    poke_from_outside(stage, holder, true);
    await_gone(stage);
    rgi_check(pthread_equal(facts.started, facts.stopped));
    stage_close(stage);
}

/* The application's queue, which belongs to one thread, in short turns. */
struct foreign_queue {
    struct rgm_worker_lease lease;
    pthread_t owner;
    unsigned left;
    const char *log[4];
    unsigned logged;
};

static void
foreign_begin(struct puppet *puppet, void *argument)
{
    struct foreign_queue *queue = argument;

    rgi_check(rgm_worker_lease_take(puppet, &queue->lease) == 0);
    queue->owner = pthread_self();
    queue->left = 100;
}

static void
foreign_turn(struct puppet *puppet, void *argument)
{
    struct foreign_queue *queue = argument;

    (void)puppet;
    rgi_check(pthread_equal(pthread_self(), queue->owner));
    rgi_check(rgm_worker_lease_active(&queue->lease));
    queue->left -= queue->left < 8 ? queue->left : 8;
    if (queue->left > 0)
        return;
    queue->log[queue->logged++] = "drained";
    queue->log[queue->logged++] = "destroyed";
    rgm_worker_lease_release(&queue->lease);
    queue->log[queue->logged++] = "released";
}

void
lse_22_drained_destroyed_released_then_shut_down(struct stage *stage)
{
    struct foreign_queue queue = {.logged = 0};

    open_two(stage);
    stage_do_on(stage, 1, foreign_begin, &queue);
    resize(stage, 1);
    while (queue.logged == 0) {
        rgi_check(rgm_runtime_threads(stage->runtime) == 2);
        stage_do_on(stage, 1, foreign_turn, &queue);
    }
    let_go(stage, 1);
    await_gone(stage);
    stage_close(stage);
    queue.log[queue.logged++] = "shut down";
    rgi_check(queue.left == 0 && queue.logged == 4);
    rgi_check(strcmp(queue.log[2], "released") == 0);
}

/* ------------------------------------------------------------------- counts */

void
rsz_03_counts_include_who_retires(struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    struct hold facts = {.yields_for_ever = false};
    struct rgm_address holder;
    struct rgm_counters one, all;

    open_two(stage);
    holder = holder_on(stage, 1, &facts);
    rgi_check(take_on(stage, 1, &lease) == 0);
    resize(stage, 1);
    do {
        (void)thread_of(stage, 1);
        rgi_check(rgm_runtime_counters(stage->runtime, 1, &one) == 0);
    } while (one.leases != 2 || one.actors != 2);
    rgi_check(rgm_runtime_counters(stage->runtime, RGM_ANY_WORKER, &all) == 0);
    rgi_check(all.leases == 2 && all.actors >= one.actors);
    rgm_worker_lease_release(&lease);
    poke_from_outside(stage, holder, true);
    let_go(stage, 1);
    await_gone(stage);
    rgi_check(rgm_runtime_counters(stage->runtime, 1, &one) == 0);
    rgi_check(one.leases == 0 && one.actors == 0 && one.stopped >= 2);
    stage_close(stage);
}

void
met_04_leases_and_workers_have_identities_that_never_repeat(
    struct stage *stage)
{
    struct rgm_worker_lease lease = {0};
    uint32_t last;

    open_two(stage);
    rgi_check(take_on(stage, 0, &lease) == 0);
    last = lease.identity;
    for (unsigned i = 0; i < 20; i++) {
        rgi_check(take_on(stage, 1, &lease) == 0);
        rgi_check(lease.worker == 1 && lease.identity > last);
        last = lease.identity;
        rgm_worker_lease_release(&lease);
        let_go(stage, 1);
        resize(stage, 1);
        resize(stage, 2);
        stage_renew_puppet(stage, 1);
    }
    stage_close(stage);
}
