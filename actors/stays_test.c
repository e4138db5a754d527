/* SPDX-License-Identifier: MIT */

/*
 * stays_test.c - does an operation go on where it is while its actor moves, and
 * does its answer find him?
 */

#include <sched.h>

#include <ringmail/abandon.h>
#include <ringmail/deadline.h>
#include <ringmail/identity.h>
#include <ringmail/resize.h>
#include <ringmail/timer.h>

#include "actors/orders.h"
#include "actors/stepped.h"

/* -------------------------------------------------------------- the traveller */

#define WORKERS 4
#define FAR_NS (3600 * RGM_NS_PER_S)

/* What one has seen. */
struct travel {
    atomic_uint route; /* bit: a worker it has come to */
    atomic_uint moved;
    atomic_uint answers;
    atomic_uint answered_at; /* 1 + the worker */
    atomic_int status;
    atomic_uint released;
    atomic_uint stopped;
};

enum wish {
    SLEEP,   /* where it is */
    OPERATE, /* at worker `at` */
    OPERATE_LIMITED,
    IDENTIFY,
    CANCEL,
    ABANDON,
    SEND_LATER,
    WHERE,
    SHRINK, /* said to the director: likewise */
    FINISH
};

struct wish_request {
    struct rgm_request request;
    enum wish wish;
    uint32_t at;                  /* home: where it was */
    int status;                   /* home */
    struct rgm_identity identity; /* home */
};
RGM_REQUEST(wish_request);

struct traveller {
    struct rgm_actor actor;
    struct travel *travel;
    struct rgm_sleep sleep;
    struct rgm_listen listen;
    struct rgm_listener listener;
    struct rgm_request *out;
};

RGM_FACTORY(traveller, travel, traveller_make);
RGM_HOOK(traveller, traveller_moved);
RGM_HOOK(traveller, traveller_stopped);
RGM_HANDLER(traveller, wish_request, traveller_wish);
RGM_ANSWER(traveller, rgm_sleep, on_slept);
RGM_ANSWER(traveller, rgm_listen, on_done);
RGM_RELEASE(rgm_listen, on_released);

static const struct rgm_handler traveller_handlers[] = {
    RGM_ON(traveller, wish_request, traveller_wish),
};

static const struct rgm_behaviour traveller_behaviour = {
    .name = "traveller",
    .size_bytes = sizeof(struct traveller),
    RGM_HANDLERS(traveller_handlers),
    .factory = RGM_MAKE(traveller, traveller_make),
    .movable = true,
    .operations_stay = true,
    .moved = RGM_DO(traveller, traveller_moved),
    .stopped = RGM_DO(traveller, traveller_stopped),
};

static int
traveller_make(struct traveller *self, const struct travel *travel)
{
    self->travel = (struct travel *)(uintptr_t)travel;
    return 0;
}

static void
traveller_moved(struct traveller *self)
{
    atomic_fetch_or(&self->travel->route,
                    1u << rgm_worker_number(&self->actor));
    atomic_fetch_add(&self->travel->moved, 1);
}

static void
traveller_stopped(struct traveller *self)
{
    atomic_fetch_add(&self->travel->stopped, 1);
}

static void
answered(struct traveller *self, int status)
{
    self->out = NULL;
    atomic_store(&self->travel->status, status);
    /* The thread says where it runs; the actor says only where it should. */
    rgi_check(rgi_current == self->actor.worker);
    atomic_store(&self->travel->answered_at, 1 + rgi_current->number);
    atomic_fetch_add(&self->travel->answers, 1);
}

static void
on_slept(struct traveller *self, struct rgm_sleep *sleep)
{
    answered(self, rgm_status(sleep));
}

static void
on_done(struct traveller *self, struct rgm_listen *listen)
{
    answered(self, rgm_status(listen));
}

static struct travel *travel_released;

static void
on_released(struct rgm_listen *listen)
{
    (void)listen;
    atomic_fetch_add(&travel_released->released, 1);
}

static void
operate(struct traveller *self, const struct wish_request *wish)
{
    fake_prepare(&self->listen, &self->listener, rgm_worker_address(wish->at));
    if (wish->wish == OPERATE_LIMITED)
        rgm_request_expire_after(&self->listen.request, FAR_NS);
    rgm_ask(self, &self->listen, RGM_REPLY(traveller, rgm_listen, on_done));
    self->out = &self->listen.request;
}

static void
send_later(struct traveller *self)
{
    struct note *note = note_take(&self->actor, 0);

    rgi_check(note != NULL);
    rgi_check(rgm_send_after(self, rgm_self(self), note, FAR_NS, NULL) == 0);
}

static void
traveller_wish(struct traveller *self, struct wish_request *wish)
{
    switch (wish->wish) {
    case SLEEP:
        rgm_sleep_for(&self->sleep, rgm_here(self), FAR_NS);
        rgm_ask(self, &self->sleep, RGM_REPLY(traveller, rgm_sleep, on_slept));
        self->out = &self->sleep.request;
        break;
    case OPERATE:
    case OPERATE_LIMITED:
        operate(self, wish);
        break;
    case IDENTIFY:
        wish->status = self->out == NULL
                           ? -ESRCH
                           : rgm_identify_request(&self->actor, self->out,
                                                  &wish->identity);
        break;
    case CANCEL:
        if (self->out != NULL)
            rgm_cancel_request(&self->actor, self->out);
        break;
    case ABANDON:
        wish->status = rgm_abandon_to(self, &self->listen,
                                      RGM_RELEASE_BY(rgm_listen, on_released));
        self->out = NULL;
        break;
    case SEND_LATER:
        send_later(self);
        break;
    case WHERE:
    case SHRINK:
    case FINISH:
        break;
    }
    wish->at = rgm_worker_number(&self->actor);
    rgm_reply(self, wish, 0);
}

/* ------------------------------------------------------------------ the stage */

static struct {
    atomic_uint complete[FAKES_MAX]; /* so many are to end */
    atomic_uint submitted[FAKES_MAX];
    atomic_uint ended[FAKES_MAX];
    _Atomic uint64_t ahead_ns; /* of the clock */
} world;

/* In every turn of a worker. */
static void
on_wait(struct fake *fake, uint64_t deadline_ns)
{
    (void)deadline_ns;
    atomic_store(&world.submitted[fake->worker],
                 (unsigned)fake->head.entries_submitted);
    while (atomic_load(&world.complete[fake->worker]) > 0 &&
           fake_complete_first(fake, 0))
        atomic_fetch_sub(&world.complete[fake->worker], 1);
    atomic_store(&world.ended[fake->worker], (unsigned)fake->head.completions);
}

static uint64_t
world_now(struct fake *fake)
{
    (void)fake;
    return fake_clock() + atomic_load(&world.ahead_ns);
}

static struct rgm_runtime *
begin(uint32_t workers)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = &fake_class};
    struct rgm_runtime *runtime;

    fake_reset();
    memset(&world, 0, sizeof(world));
    fake_plan.on_wait = on_wait;
    fake_plan.now = world_now;
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(runtime) == 0);
    return runtime;
}

static void
end(struct rgm_runtime *runtime)
{
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

static void
shrink(struct rgm_runtime *runtime, uint32_t workers, bool until_gone)
{
    struct rgm_resize resize;

    rgm_resize_to(&resize, workers);
    resize.until_gone = until_gone;
    rgi_check(rgm_call(runtime, &resize) == 0);
}

static struct rgm_address
traveller_on(struct rgm_runtime *runtime, uint32_t worker,
             struct travel *travel)
{
    struct rgm_address address;

    memset(travel, 0, sizeof(*travel));
    rgi_check(rgm_runtime_spawn(runtime, worker, &traveller_behaviour, travel,
                                &address) == 0);
    return address;
}

static struct wish_request
tell_at(struct rgm_runtime *runtime, struct rgm_address to, enum wish wish,
        uint32_t at)
{
    struct wish_request request;

    wish_request_prepare(&request, to);
    request.wish = wish;
    request.at = at;
    request.status = 0;
    rgi_check(rgm_call(runtime, &request) == 0);
    return request;
}

static struct wish_request
tell(struct rgm_runtime *runtime, struct rgm_address to, enum wish wish)
{
    return tell_at(runtime, to, wish, 0);
}

static void
await(atomic_uint *word, unsigned least)
{
    while (atomic_load(word) < least)
        sched_yield();
}

/* One thing happens on that worker: it looks at its provider. */
static void
nudge(struct rgm_runtime *runtime, uint32_t worker)
{
    rgi_check(worker < WORKERS);
    rgi_bell_ring((void *)(intptr_t)runtime->places[worker].bell);
}

static void
complete_one(struct rgm_runtime *runtime, uint32_t worker)
{
    atomic_fetch_add(&world.complete[worker], 1);
    nudge(runtime, worker);
}

/* ---------------------------------------------------------------------- cases */

/* Those of the last worker go on to the others, and from there, as these retire
 * one after the other, until all are on worker 0. */
#define TRAVELLERS 12

static bool
identity_same(struct rgm_identity one, struct rgm_identity other)
{
    return one.where.bits == other.where.bits && one.number == other.number;
}

static void
all_sleep(struct rgm_runtime *runtime, const struct rgm_address *all,
          struct rgm_identity *ret_identities)
{
    for (unsigned i = 0; i < TRAVELLERS; i++) {
        rgi_check(tell(runtime, all[i], SLEEP).at == WORKERS - 1);
        ret_identities[i] = tell(runtime, all[i], IDENTIFY).identity;
        rgi_check(rgm_address_worker(ret_identities[i].where) == WORKERS - 1);
    }
}

/* Whoever is on a worker that goes leaves it, asleep at the last. */
static void
all_go_on(struct rgm_runtime *runtime, uint32_t workers,
          const struct rgm_address *all, const struct rgm_identity *identities)
{
    shrink(runtime, workers, false);
    for (unsigned i = 0; i < TRAVELLERS; i++) {
        struct wish_request seen;

        do
            seen = tell(runtime, all[i], IDENTIFY);
        while (seen.at >= workers);
        rgi_check(seen.status == 0);
        rgi_check(identity_same(seen.identity, identities[i]));
    }
}

static int
retime(struct rgm_runtime *runtime, struct rgm_identity identity)
{
    struct rgm_retiming retiming;

    rgm_retime_identity(&retiming, identity, RGM_NEVER / 2);
    return rgm_call(runtime, &retiming);
}

static void
wakes_and_sleeps_here(struct rgm_runtime *runtime, struct rgm_address traveller,
                      struct travel *travel, struct rgm_identity old)
{
    struct wish_request seen;

    rgi_check(retime(runtime, old) == 0);
    rgi_check(atomic_load(&travel->answers) == 0);
    rgi_check(rgm_runtime_cancel(runtime, old) == 0);
    await(&travel->answers, 1);
    rgi_check(atomic_load(&travel->status) == -ECANCELED);
    rgi_check(atomic_load(&travel->answered_at) == 1 + 0);
    rgi_check(tell(runtime, traveller, SLEEP).at == 0);
    seen = tell(runtime, traveller, IDENTIFY);
    rgi_check(seen.status == 0 && rgm_address_worker(seen.identity.where) == 0);
    rgi_check(rgm_runtime_cancel(runtime, old) < 0);
    rgi_check(atomic_load(&travel->answers) == 1); /* that was not for it */
}

static void
tmr_24_a_sleep_stays_with_its_worker_while_its_actor_goes_on(void)
{
    struct rgm_runtime *runtime = begin(WORKERS);
    static struct travel travels[TRAVELLERS];
    struct rgm_address all[TRAVELLERS];
    struct rgm_identity identities[TRAVELLERS];
    bool by_all = false;

    for (unsigned i = 0; i < TRAVELLERS; i++)
        all[i] = traveller_on(runtime, WORKERS - 1, &travels[i]);
    all_sleep(runtime, all, identities);
    for (uint32_t workers = WORKERS - 1; workers > 0; workers--)
        all_go_on(runtime, workers, all, identities);
    for (unsigned i = 0; i < TRAVELLERS; i++)
        by_all |= atomic_load(&travels[i].route) == 7;
    rgi_check(by_all); /* one at least has been on each of them */
    rgi_check(rgm_runtime_threads(runtime) >= 2); /* the sleeps' is there */
    for (unsigned i = 0; i < TRAVELLERS; i++)
        wakes_and_sleeps_here(runtime, all[i], &travels[i], identities[i]);
    shrink(runtime, 1, true);
    rgi_check(rgm_runtime_threads(runtime) == 1);
    end(runtime);
    for (unsigned i = 0; i < TRAVELLERS; i++)
        rgi_check(atomic_load(&travels[i].answers) == 2 &&
                  atomic_load(&travels[i].stopped) == 1);
}

/* At a worker of its own; at another; and at the one it comes to. */
static void
opl_09_stays_at(uint32_t at)
{
    struct rgm_runtime *runtime = begin(3);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 2, &travel);
    uint32_t came;

    rgi_check(tell_at(runtime, traveller, OPERATE, at).at == 2);
    await(&world.submitted[at], 1);
    shrink(runtime, 2, false);
    await(&travel.moved, 1);
    came = tell(runtime, traveller, WHERE).at;
    rgi_check(came != 2 && atomic_load(&travel.answers) == 0);
    complete_one(runtime, at);
    await(&travel.answers, 1);
    rgi_check(atomic_load(&travel.status) == 0);
    rgi_check(atomic_load(&travel.answered_at) == 1 + came);
    for (uint32_t i = 0; i < 3; i++) {
        rgi_check(atomic_load(&world.submitted[i]) == (i == at));
        rgi_check(atomic_load(&world.ended[i]) == (i == at));
    }
    shrink(runtime, 2, true);
    end(runtime);
    rgi_check(atomic_load(&travel.answers) == 1);
}

static void
opl_09_an_operation_ends_where_it_began_and_its_actor_hears(void)
{
    for (uint32_t at = 0; at < 3; at++)
        opl_09_stays_at(at);
}

/* From where its asker has come to. */
static void
a_cancel_reaches_it_from_there(void)
{
    for (uint32_t at = 0; at < 3; at++) {
        struct rgm_runtime *runtime = begin(3);
        struct travel travel;
        struct rgm_address traveller = traveller_on(runtime, 2, &travel);

        (void)tell_at(runtime, traveller, OPERATE, at);
        await(&world.submitted[at], 1);
        shrink(runtime, 2, false);
        await(&travel.moved, 1);
        (void)tell(runtime, traveller, CANCEL);
        await(&travel.answers, 1);
        rgi_check(atomic_load(&travel.status) == -ECANCELED);
        shrink(runtime, 2, true);
        rgi_check(fake_plan.of[at == 2 ? 0 : at]->cancels == (at != 2));
        end(runtime);
        rgi_check(atomic_load(&travel.answers) == 1);
    }
}

static void
its_deadline_goes_along(void)
{
    struct rgm_runtime *runtime = begin(2);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 1, &travel);

    (void)tell_at(runtime, traveller, OPERATE_LIMITED, 1);
    shrink(runtime, 1, false);
    await(&travel.moved, 1);
    rgi_check(tell(runtime, traveller, WHERE).at == 0);
    rgi_check(atomic_load(&travel.answers) == 0);
    atomic_store(&world.ahead_ns, 2 * FAR_NS);
    nudge(runtime, 0);
    await(&travel.answers, 1);
    rgi_check(atomic_load(&travel.status) == -ETIMEDOUT);
    shrink(runtime, 1, true);
    end(runtime);
}

static void
one_that_is_given_up_there_is_released_once(void)
{
    struct rgm_runtime *runtime = begin(2);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 1, &travel);

    travel_released = &travel;
    (void)tell_at(runtime, traveller, OPERATE, 1);
    await(&world.submitted[1], 1);
    shrink(runtime, 1, false);
    await(&travel.moved, 1);
    rgi_check(tell(runtime, traveller, ABANDON).status == 0);
    rgi_check(atomic_load(&travel.released) == 0);
    complete_one(runtime, 1);
    await(&travel.released, 1);
    shrink(runtime, 1, true);
    end(runtime);
    rgi_check(atomic_load(&travel.answers) == 0);
    rgi_check(atomic_load(&travel.released) == 1);
}

/* Nobody had asked for its name before. */
static void
one_that_stays_is_found_by_name(void)
{
    struct rgm_runtime *runtime = begin(2);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 1, &travel);
    struct wish_request seen;

    (void)tell_at(runtime, traveller, OPERATE, 1);
    shrink(runtime, 1, false);
    await(&travel.moved, 1);
    seen = tell(runtime, traveller, IDENTIFY);
    rgi_check(seen.at == 0 && seen.status == 0);
    rgi_check(rgm_address_worker(seen.identity.where) == 1);
    rgi_check(rgm_runtime_cancel(runtime, seen.identity) == 0);
    await(&travel.answers, 1);
    rgi_check(atomic_load(&travel.status) == -ECANCELED);
    rgi_check(tell(runtime, traveller, IDENTIFY).status == -ESRCH);
    shrink(runtime, 1, true);
    end(runtime);
}

/* What is to be sent later is the library's sleep, of this worker: it ends, and
 * the message is home before its sender goes. */
static void
what_is_to_be_sent_later_does_not_stay(void)
{
    struct rgm_runtime *runtime = begin(2);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 1, &travel);

    (void)tell(runtime, traveller, SEND_LATER);
    shrink(runtime, 1, true); /* or it would wait for the hour */
    rgi_check(tell(runtime, traveller, WHERE).at == 0);
    end(runtime);
}

/* The worker that has it goes, too, while its asker is somewhere else. */
static void
who_has_it_may_go_after_its_asker(void)
{
    struct rgm_runtime *runtime = begin(WORKERS);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 3, &travel);

    (void)tell_at(runtime, traveller, OPERATE, 2);
    shrink(runtime, 3, false);
    await(&travel.moved, 1);
    shrink(runtime, 2, false);
    await(&travel.answers, 1);
    rgi_check(atomic_load(&travel.status) == -EPIPE);
    shrink(runtime, 2, true);
    rgi_check(tell(runtime, traveller, WHERE).at < 2);
    end(runtime);
    rgi_check(atomic_load(&travel.answers) == 1);
}

static void
the_end_of_all_ends_it(void)
{
    struct rgm_runtime *runtime = begin(2);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 1, &travel);

    (void)tell_at(runtime, traveller, OPERATE, 1);
    shrink(runtime, 1, false);
    await(&travel.moved, 1);
    end(runtime);
    rgi_check(atomic_load(&travel.answers) == 1);
    rgi_check(atomic_load(&travel.status) == -ECANCELED);
    rgi_check(atomic_load(&travel.stopped) == 1);
}

/* The provider of the worker that has it fails: the memory is lost, and so its
 * asker stops, wherever he is. */
static void
one_that_is_lost_stops_its_asker(void)
{
    struct rgm_runtime *runtime = begin(2);
    struct travel travel;
    struct rgm_address traveller = traveller_on(runtime, 1, &travel);

    (void)tell_at(runtime, traveller, OPERATE, 1);
    await(&world.submitted[1], 1);
    shrink(runtime, 1, false);
    await(&travel.moved, 1);
    atomic_store(&fake_plan.wait_error[1], -EIO);
    nudge(runtime, 1);
    rgi_check(rgm_runtime_wait(runtime) == -EIO);
    rgi_check(atomic_load(&travel.answers) == 0);
    rgi_check(atomic_load(&travel.stopped) == 0); /* it is not told */
    rgi_check(rgm_runtime_destroy(runtime) == 0);
}

/* ---- in each order ---- */

#define DRAWN 3

struct crossing {
    struct stepped play;
    struct stepped_guest guest;
    struct travel travel;
    struct rgm_address director, traveller;
    struct rgm_resize resize;
    struct script script;
    struct wish_request wishes[2];
    uint32_t at;
};

RGM_ANSWER(robot, rgm_resize, on_resized);

static void
on_resized(struct robot *self, struct rgm_resize *resize)
{
    (void)self;
    rgi_check(rgm_status(resize) == 0 || rgm_status(resize) == -EPIPE);
}

static void
on_wished(struct rgm_actor *actor, struct rgm_request *request)
{
    (void)actor;
    (void)request;
}

static void
crossing_finish(struct crossing *crossing)
{
    struct rgm_operation *operation =
        rgm_script_find(crossing->play.script, RGM_OP_LISTEN, 0);

    if (operation != NULL)
        rgm_script_complete(crossing->play.script, operation, 0);
}

#define LATER 100 /* and so many turns */

/* The director, on worker 0: lets the last worker retire; has the traveller
 * operate, or cancel; ends the operation. */
static void
direct(struct robot *self, struct note *note)
{
    struct crossing *crossing = test_of(self);
    struct wish_request *wish = &crossing->wishes[note->value == CANCEL];

    if (note->value >= LATER) {
        rgi_check(robot_send(self, rgm_self(self), note->value - LATER) == 0);
        return;
    }
    if (note->value == FINISH) {
        crossing_finish(crossing);
        return;
    }
    if (note->value == SHRINK) {
        rgm_resize_to(&crossing->resize, DRAWN - 1);
        rgm_ask(self, &crossing->resize,
                RGM_REPLY(robot, rgm_resize, on_resized));
        return;
    }
    wish_request_prepare(wish, crossing->traveller);
    wish->wish = (enum wish)note->value;
    wish->at = crossing->at;
    rgm_ask_request(&self->actor, &wish->request, on_wished);
}

static void
crossing_open(struct crossing *crossing, uint32_t at)
{
    memset(crossing, 0, sizeof(*crossing));
    crossing->at = at;
    crossing->script = (struct script){.note = direct, .test = crossing};
    stepped_begin(&crossing->play, DRAWN);
    crossing->director = stepped_spawn(&crossing->play, 0, &crossing->script);
    rgi_check(rgm_runtime_spawn(crossing->play.runtime, DRAWN - 1,
                                &traveller_behaviour, &crossing->travel,
                                &crossing->traveller) == 0);
    stepped_settle(&crossing->play);
    stepped_open(&crossing->play, &crossing->guest);
    stepped_tell(&crossing->guest, crossing->director, OPERATE);
    stepped_settle(&crossing->play);
}

/* How many in one run: a second one takes seconds. One thread plays all, so a
 * sanitizer sees little of it, and is slow. */
static unsigned
interruptions(void)
{
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    return 0;
#else
    return rgi_scale_is_full() ? 2 : 1;
#endif
}

/* It moves, it cancels, and the operation ends, in each order of what the workers
 * do: one answer, where it is then, and the worker it has left goes. */
static void
crossing_in_each_order(uint32_t at, long cancel, long finish, unsigned most)
{
    static struct orders orders;
    uint64_t cancelled = 0, finished = 0, elsewhere = 0;

    orders_begin(&orders, most);
    do {
        struct crossing crossing;

        crossing_open(&crossing, at);
        stepped_tell(&crossing.guest, crossing.director, SHRINK);
        stepped_tell(&crossing.guest, crossing.director, cancel);
        stepped_tell(&crossing.guest, crossing.director, finish);
        rgm_stepper_choose(crossing.play.stepper, orders_choose, &orders);
        (void)rgm_stepper_settle(crossing.play.stepper);
        rgm_stepper_choose(crossing.play.stepper, NULL, NULL);
        orders_check(atomic_load(&crossing.travel.answers) == 1);
        orders_check(atomic_load(&crossing.travel.moved) == 1);
        elsewhere += atomic_load(&crossing.travel.answered_at) != DRAWN;
        cancelled += atomic_load(&crossing.travel.status) == -ECANCELED;
        finished += atomic_load(&crossing.travel.status) == 0;
        stepped_close(&crossing.guest);
        stepped_end(&crossing.play);
    } while (orders_next(&orders));
    fprintf(stderr,
            "# %" PRIu64 " orders, %" PRIu64 " elsewhere, %" PRIu64
            " cancelled\n",
            orders.runs, elsewhere, cancelled);
    rgi_check(elsewhere > 0 || most == 0);
    rgi_check(cancelled + finished == orders.runs);
}

static void
opl_09_a_cancel_crosses_the_move_in_each_order(void)
{
    for (uint32_t at = 1; at < DRAWN; at++)
        crossing_in_each_order(at, CANCEL, FINISH + 6 * LATER, interruptions());
}

static void
opl_09_an_answer_crosses_the_move_in_each_order(void)
{
    for (uint32_t at = 1; at < DRAWN; at++)
        crossing_in_each_order(at, CANCEL + 5 * LATER, FINISH + 4 * LATER,
                               interruptions());
}

/* The last one leaves memory behind: it may still be written to. */
#define CASES(X)                                                               \
    X(stays, tmr_24_a_sleep_stays_with_its_worker_while_its_actor_goes_on)     \
    X(stays, opl_09_an_operation_ends_where_it_began_and_its_actor_hears)      \
    X(stays, a_cancel_reaches_it_from_there)                                   \
    X(stays, its_deadline_goes_along)                                          \
    X(stays, one_that_is_given_up_there_is_released_once)                      \
    X(stays, one_that_stays_is_found_by_name)                                  \
    X(stays, what_is_to_be_sent_later_does_not_stay)                           \
    X(stays, who_has_it_may_go_after_its_asker)                                \
    X(stays, the_end_of_all_ends_it)                                           \
    X(stays, opl_09_a_cancel_crosses_the_move_in_each_order)                   \
    X(stays, opl_09_an_answer_crosses_the_move_in_each_order)                  \
    X(stays, one_that_is_lost_stops_its_asker)

RGI_CASES(CASES)
