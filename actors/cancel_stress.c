/* SPDX-License-Identifier: MIT */

/*
 * cancel_stress.c - is each ask answered once, whatever cancels do meanwhile?
 *
 * 1. Actors on three workers ask each other, at random. Who is asked replies,
 *    forwards, keeps or does nothing; what is kept is answered, forwarded, or
 *    left for a cancel.
 * 2. Everybody cancels requests of his own, at any moment: in a line, in an
 *    outbox, kept, on the way there or back, and at home.
 * 3. Who has asked enough goes on cancelling until all is home, then stops;
 *    some stop in the middle, with everything out.
 * 4. At the end each record was answered as often as it was asked, and the
 *    runtime has lost nothing.
 */

#include <stdatomic.h>

#include "actors/rig.h"

#define WORKERS 3u
#define ACTORS 4u /* on each */
#define RECORDS 6u
#define KEPT 8u

struct job {
    struct rgm_request request;
    unsigned asked, answered;
};
RGM_REQUEST(job);

struct kick {
    struct rgm_message message;
};
RGM_MESSAGE(kick);

struct world {
    struct rgm_address all[WORKERS * ACTORS];
    atomic_uint ready, gone;
    uint64_t rounds;
    uint64_t seed;
    atomic_ullong asked, answered, cancelled, done, stopped_early;
};

struct part {
    struct world *world;
    uint32_t number;
};

struct asker {
    struct rgm_actor actor;
    struct world *world;
    uint32_t number;
    uint64_t random;
    uint64_t left;
    struct job jobs[RECORDS];
    struct rgm_sleep tick;
    struct rgm_token kept[KEPT];
    unsigned kept_count, out;
    bool leaves; /* stops with everything out */
};

RGM_HANDLER(asker, job, asker_job);
RGM_HANDLER(asker, kick, asker_kick);
RGM_HOOK(asker, asker_settled);
RGM_HOOK(asker, asker_stopped);
RGM_FACTORY(asker, part, asker_make);
RGM_ANSWER(asker, job, asker_answer);
RGM_ANSWER(asker, rgm_sleep, asker_tick);

static const struct rgm_handler asker_handlers[] = {
    RGM_ON(asker, job, asker_job),
    RGM_ON(asker, kick, asker_kick),
};

static const struct rgm_behaviour asker_behaviour = {
    .name = "asker",
    .size_bytes = sizeof(struct asker),
    RGM_HANDLERS(asker_handlers),
    .factory = RGM_MAKE(asker, asker_make),
    .settled = RGM_DO(asker, asker_settled),
    .stopped = RGM_DO(asker, asker_stopped),
};

static uint32_t
dice(uint64_t *random, uint32_t count)
{
    *random += UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)((*random ^ *random >> 31) *
                          UINT64_C(0xbf58476d1ce4e5b9) >> 33) %
           count;
}

static uint32_t
any(struct asker *self, uint32_t count)
{
    return dice(&self->random, count);
}

static int
asker_make(struct asker *self, const struct part *part)
{
    self->world = part->world;
    self->number = part->number;
    self->random = part->world->seed + part->number;
    self->left = part->world->rounds;
    self->leaves = part->number % ACTORS == 1;
    for (unsigned i = 0; i < RECORDS; i++)
        job_init(&self->jobs[i]);
    return 0;
}

static struct rgm_address
anybody(struct asker *self)
{
    return self->world->all[any(self, WORKERS * ACTORS)];
}

static void
ask(struct asker *self, struct job *job)
{
    rgm_request_to(&job->request, anybody(self));
    job->asked++;
    self->out++;
    self->left--;
    rgm_ask(self, job, RGM_REPLY(asker, job, asker_answer));
}

static void
cancel_some(struct asker *self)
{
    if (any(self, 3) == 0)
        rgm_cancel(self, &self->jobs[any(self, RECORDS)]);
    if (self->left == 0)
        for (unsigned i = 0; i < RECORDS; i++)
            rgm_cancel(self, &self->jobs[i]);
}

static void
asker_answer(struct asker *self, struct job *job)
{
    int status = rgm_status(job);

    job->answered++;
    self->out--;
    rgi_check(job->answered == job->asked);
    rgi_check(status == 0 || status == -ECANCELED || status == -EPROTO ||
              status == -ELOOP || status == -ESRCH || status == -EPIPE);
    atomic_fetch_add(status == -ECANCELED ? &self->world->cancelled
                                          : &self->world->done, 1);
    if (self->actor.life != RGI_LIFE_RUNNING)
        return;
    if (self->left > 0)
        ask(self, job);
    cancel_some(self);
}

static void
asker_job(struct asker *self, struct job *job)
{
    switch (any(self, 5)) {
    case 0:
        rgm_reply(self, job, 0);
        break;
    case 1:
    case 2:
        rgm_forward(self, job, anybody(self));
        break;
    case 3:
        if (self->kept_count < KEPT &&
            rgm_keep(self, job, &self->kept[self->kept_count]) == 0)
            self->kept_count++;
        break;
    default:
        break; /* -EPROTO */
    }
    cancel_some(self);
}

/* Answer or forward one of the kept, or find its token spent. */
static void
use_a_token(struct asker *self)
{
    unsigned place = any(self, self->kept_count);
    struct rgm_token token = self->kept[place];
    int status;

    self->kept[place] = self->kept[--self->kept_count];
    if (any(self, 2) == 0)
        status = rgm_answer(self, token, 0);
    else
        status = rgm_forward_kept(self, token, anybody(self));
    rgi_check(status == 0 || status == -EALREADY);
}

/* Leavers go when the others are in full swing. */
static void
asker_settled(struct asker *self)
{
    if (self->kept_count > 0 && any(self, 3) == 0)
        use_a_token(self);
    if (self->leaves && self->left < self->world->rounds / 2) {
        atomic_fetch_add(&self->world->stopped_early, self->out);
        rgm_stop(self);
    }
}

static void
tick(struct asker *self)
{
    rgm_sleep_for(&self->tick, rgm_here(self), RGM_NS_PER_US);
    rgm_ask(self, &self->tick, RGM_REPLY(asker, rgm_sleep, asker_tick));
}

/* All are there: begin. */
static void
asker_kick(struct asker *self, struct kick *kick)
{
    (void)kick;
    for (unsigned i = 0; i < RECORDS; i++)
        ask(self, &self->jobs[i]);
    tick(self);
}

/* Whatever is kept and forgotten is fetched by a cancel. */
static void
asker_tick(struct asker *self, struct rgm_sleep *done)
{
    if (rgm_status(done) != 0)
        return;
    cancel_some(self);
    if (self->left > 0 || self->out > 0)
        tick(self);
    else
        rgm_stop(self);
}

static void
asker_stopped(struct asker *self)
{
    struct world *world = self->world;

    rgi_check(self->out == 0);
    for (unsigned i = 0; i < RECORDS; i++) {
        rgi_check(self->jobs[i].answered == self->jobs[i].asked);
        atomic_fetch_add(&world->asked, self->jobs[i].asked);
        atomic_fetch_add(&world->answered, self->jobs[i].answered);
    }
    if (atomic_fetch_add(&world->gone, 1) + 1 == WORKERS * ACTORS)
        rgm_runtime_stop(self->actor.worker->runtime);
}

static void
begin(struct robot *self)
{
    struct world *world = test_of(self);

    for (uint32_t i = 0; i < WORKERS * ACTORS; i++) {
        struct part part = {.world = world, .number = i};

        rgi_check(rgm_spawn_on(self, i % WORKERS, &asker_behaviour, &part,
                               &world->all[i]) == 0);
    }
    for (uint32_t i = 0; i < WORKERS * ACTORS; i++) {
        struct kick *kick = kick_take(&self->actor, 0);

        rgi_check(rgm_send(self, world->all[i], kick) == 0);
    }
}

static void
run_world(uint32_t lane_messages)
{
    struct world world = {.rounds = 20 * rgi_scale(10000),
                          .seed = rgi_seed()};
    struct script root = {.started = begin, .test = &world};
    struct rgm_runtime_options options = {.workers = WORKERS,
                                          .provider = &fake_class,
                                          .lane_messages = lane_messages};

    fake_reset();
    rig_run_with(&options, &root);
    rgi_check(world.asked > 0 && world.asked == world.answered);
    rgi_check(world.asked == world.done + world.cancelled);
    rgi_check(world.cancelled > 0 && world.done > 0);
}

static void
can_17_each_ask_is_answered_once_among_cancels(void)
{
    run_world(0);
}

/* Most requests wait in line: a lane takes four, and twenty-four want to use it. */
static void
opl_02_each_ask_is_answered_once_though_it_waits_in_line(void)
{
    run_world(ACTORS);
}

/* ------------------------------------------------------------ the end of all */

static void
keep_or_pass(struct robot *self, struct question *question)
{
    if (question->value-- > 0) {
        rgm_forward(self, question, *(struct rgm_address *)test_of(self));
        return;
    }
    if (rgm_keep(self, question, &self->token) != 0)
        rgm_reply(self, question, 0);
}

static void
answered(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

/* Workers close while nodes are after requests that are forwarded to them. */
static void
mbx_12_nodes_come_home_from_workers_that_close(void)
{
    static struct script scripts[WORKERS];
    static struct rgm_address addresses[WORKERS];
    uint64_t random = rgi_seed();

    for (uint64_t round = rgi_scale(10000) + 20; round > 0; round--) {
        struct rgm_runtime *runtime;
        struct question questions[4];
        struct rgm_guest guest;

        fake_reset();
        runtime = rig_make(WORKERS);
        rgi_check(rgm_runtime_start(runtime) == 0);
        for (uint32_t i = 0; i < WORKERS; i++) {
            scripts[i] = (struct script){.question = keep_or_pass,
                                         .test = &addresses[(i + 1) % WORKERS]};
            rgi_check(rgm_runtime_spawn(runtime, i, &robot_behaviour,
                                        &scripts[i], &addresses[i]) == 0);
        }
        rgi_check(rgm_guest_open(runtime, &guest) == 0);
        for (unsigned i = 0; i < 4; i++) {
            question_prepare(&questions[i],
                             addresses[dice(&random, WORKERS)]);
            questions[i].value = (long)dice(&random, 4);
            rgm_ask_request(&guest.actor, &questions[i].request, answered);
        }
        rgm_runtime_stop(runtime);
        for (unsigned i = 0; i < 4; i++)
            rgm_cancel(&guest, &questions[i]);
        rgm_guest_close(&guest);
        rgi_check(rgm_runtime_wait(runtime) == 0);
        rig_destroy(runtime);
    }
}

#define CASES(X)                                                               \
    X(cancel_stress, can_17_each_ask_is_answered_once_among_cancels)           \
    X(cancel_stress, opl_02_each_ask_is_answered_once_though_it_waits_in_line) \
    X(cancel_stress, mbx_12_nodes_come_home_from_workers_that_close)

RGI_CASES(CASES)
