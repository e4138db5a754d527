/* SPDX-License-Identifier: MIT */

/*
 * watch_stress.c - is every monitor answered once, whatever races with it?
 *
 * 1. On each of four workers a keeper holds monitors of mortals anywhere: of
 *    some it spawned, watched from the start or not, of some that other keepers
 *    told it of, of some that ended long ago.
 * 2. At random it demonitors, ends a mortal, lets one end itself, watches again.
 * 3. Every answer is checked against what the mortal's end was to be; a record
 *    that is answered twice, or never, is found.
 */

#include <pthread.h>

#include <ringmail/watch.h>

#include "actors/rig.h"

#define KEEPERS 4
#define RECORDS 64
#define BOARD 256

struct board {
    atomic_ullong places[BOARD]; /* addresses anybody may watch */
    atomic_ullong asked, told, ends;
    atomic_uint keepers_left;
    uint64_t rounds;
    struct rgm_runtime *runtime;
};

struct record {
    struct rgm_down down;
    struct rgm_address who; /* it watches; the record is not ours to read */
    bool out;
    bool from_start; /* its true end will be told */
};

struct keeper {
    struct rgm_actor actor;
    struct board *board;
    uint64_t source;
    uint64_t rounds;
    struct record records[RECORDS];
    unsigned out;
    bool leaves;
};

struct nudge {
    struct rgm_message message;
    int status;
};
RGM_MESSAGE(nudge);

RGM_HANDLER(keeper, nudge, keeper_nudge);
RGM_ANSWER(keeper, rgm_down, keeper_down);
RGM_HOOK(keeper, keeper_started);
RGM_HOOK(keeper, keeper_stopped);

static uint64_t
next(struct keeper *self)
{
    self->source ^= self->source << 13;
    self->source ^= self->source >> 7;
    self->source ^= self->source << 17;
    return self->source;
}

/* ---- mortals: end when nudged, with the status of the nudge ---- */

struct mortal { struct rgm_actor actor; };
RGM_HANDLER(mortal, nudge, mortal_nudge);

static void
mortal_nudge(struct mortal *self, struct nudge *nudge)
{
    rgm_stop_with(self, nudge->status);
}

static const struct rgm_handler mortal_handlers[] = {
    RGM_ON(mortal, nudge, mortal_nudge)};
static const struct rgm_behaviour mortal_behaviour = {
    .name = "mortal", .size_bytes = sizeof(struct mortal),
    RGM_HANDLERS(mortal_handlers)};

/* ---- keepers ---- */

static void
nudge(struct keeper *self, struct rgm_address who, int status)
{
    struct nudge *nudge = nudge_take(&self->actor, 0);

    rgi_check(nudge != NULL);
    nudge->status = status;
    if (rgm_send(self, who, nudge) != 0)
        nudge_give(&self->actor, nudge);
}

static void
check_end(const struct keeper *self, const struct record *record)
{
    const struct rgm_end *end = &record->down.end;

    switch (end->kind) {
    case RGM_END_DONE:
        rgi_check(end->status == 17);
        break;
    case RGM_END_STOPPED:
        rgi_check(end->status == -ECANCELED);
        break;
    case RGM_END_RETIRED:
        rgi_check(self->leaves || end->status == -ESHUTDOWN);
        break;
    case RGM_END_GONE:
        rgi_check(!record->from_start);
        rgi_check(end->status == -ESRCH);
        break;
    default:
        rgi_check(false);
    }
}

static void
keeper_down(struct keeper *self, struct rgm_down *down)
{
    struct record *record = rgi_container_of(down, struct record, down);

    rgi_check(record->out);
    record->out = false;
    self->out--;
    atomic_fetch_add(&self->board->told, 1);
    if (rgm_status(down) == 0)
        check_end(self, record);
    else
        rgi_check(rgm_status(down) == -ECANCELED);
}

static void
went_out(struct keeper *self, struct record *record, bool from_start)
{
    record->out = true;
    record->from_start = from_start;
    self->out++;
    atomic_fetch_add(&self->board->asked, 1);
}

static void
watch_a_new_one(struct keeper *self, struct record *record)
{
    uint64_t random = next(self);
    struct rgm_address who;
    uint32_t worker = (uint32_t)random % rgm_workers_count(&self->actor);
    int status = rgm_spawn_watched(
        self, worker, &mortal_behaviour, NULL, &record->down,
        RGM_REPLY(keeper, rgm_down, keeper_down), &who);

    if (status != 0) {
        rgi_check(status == -EAGAIN || status == -EPIPE);
        return;
    }
    record->who = who;
    went_out(self, record, true);
    atomic_store(&self->board->places[random / 64 % BOARD], who.bits);
    if (random % 3 == 0) /* it may end before anybody looks */
        nudge(self, who, 17);
}

static void
watch_one_of_the_board(struct keeper *self, struct record *record)
{
    struct rgm_address who = {
        atomic_load(&self->board->places[next(self) % BOARD])};

    record->who = who;
    rgm_monitor(self, &record->down, who,
                RGM_REPLY(keeper, rgm_down, keeper_down));
    went_out(self, record, false);
}

static void
do_something(struct keeper *self)
{
    uint64_t random = next(self);
    struct record *record = &self->records[random / 16 % RECORDS];
    struct rgm_address who = {
        atomic_load(&self->board->places[random / 65536 % BOARD])};

    if (!record->out) {
        if (random % 2 == 0)
            watch_a_new_one(self, record);
        else
            watch_one_of_the_board(self, record);
        return;
    }
    switch (random % 4) {
    case 0:
        rgm_demonitor(self, &record->down);
        break;
    case 1:
        nudge(self, record->who, 17);
        break;
    case 2:
        rgi_check(rgm_stop_actor(self, who) == 0);
        break;
    default:
        nudge(self, who, 17);
        break;
    }
}

static void
leave(struct keeper *self)
{
    self->leaves = true;
    if (atomic_fetch_sub(&self->board->keepers_left, 1) == 1)
        rgm_runtime_stop(self->board->runtime);
    else
        rgm_stop(self); /* with its monitors out */
}

static void
keeper_nudge(struct keeper *self, struct nudge *message)
{
    (void)message;
    for (unsigned i = 0; i < 8; i++)
        do_something(self);
    if (--self->rounds == 0)
        leave(self);
    else
        nudge(self, rgm_self(self), 0);
}

static void
keeper_started(struct keeper *self)
{
    nudge(self, rgm_self(self), 0);
}

static void
keeper_stopped(struct keeper *self)
{
    rgi_check(self->out == 0);
    for (unsigned i = 0; i < RECORDS; i++)
        rgi_check(!self->records[i].out);
    atomic_fetch_add(&self->board->ends, 1);
}

static int
keeper_make(struct rgm_actor *actor, const void *argument)
{
    struct keeper *self = (struct keeper *)(void *)actor;
    struct board *board = (struct board *)(uintptr_t)argument;

    self->board = board;
    self->source = rgi_seed() * 2862933555777941757u +
                   atomic_load(&board->keepers_left) + 1;
    self->rounds = board->rounds;
    return 0;
}

static const struct rgm_handler keeper_handlers[] = {
    RGM_ON(keeper, nudge, keeper_nudge)};
static const struct rgm_behaviour keeper_behaviour = {
    .name = "keeper", .size_bytes = sizeof(struct keeper),
    RGM_HANDLERS(keeper_handlers), .factory = keeper_make,
    .started = RGM_DO(keeper, keeper_started),
    .stopped = RGM_DO(keeper, keeper_stopped)};

static void
tsk_17_every_monitor_is_answered_once_whatever_races(void)
{
    struct board board = {.rounds = rgi_scale(200000)};
    struct rgm_address ignored;

    (void)rgi_seed();
    fake_reset();
    board.runtime = rig_make(KEEPERS);
    atomic_store(&board.keepers_left, KEEPERS);
    rgi_check(rgm_runtime_start(board.runtime) == 0);
    for (uint32_t i = 0; i < KEEPERS; i++)
        rgi_check(rgm_runtime_spawn(board.runtime, i, &keeper_behaviour,
                                    &board, &ignored) == 0);
    rgi_check(rgm_runtime_wait(board.runtime) == 0);
    rgi_check(atomic_load(&board.ends) == KEEPERS);
    rgi_check(atomic_load(&board.asked) == atomic_load(&board.told));
    rgi_check(atomic_load(&board.told) > 0);
    rig_destroy(board.runtime);
}

#define CASES(X)                                                              \
    X(watch, tsk_17_every_monitor_is_answered_once_whatever_races)

RGI_CASES(CASES)
