/* SPDX-License-Identifier: MIT */

/*
 * scoped_ours.c - what do a scope and a deadline add to an ask?
 *
 *     bench_scoped local|busy DEPTH SLICES COUNT
 *
 *   local   both actors on one worker; limit: a plain ask, and 1.7 times what a
 *           bare wheel takes to insert and cancel a timer
 *   busy    on two workers, default options; limit: a plain ask
 *
 * DEPTH asks are out at a time, each in a scope and with a minute to be answered
 * in. Slices of COUNT such asks alternate with slices of plain ones.
 */

#include "bench/ours.h"
#include "bench/wheel.h"

#define DEPTH_MAX 1024
#define WHEEL_SHARE 1.7

struct ball {
    struct rgm_request request;
    uint64_t value;
};
RGM_REQUEST(ball);

static bool is_local;
static uint64_t depth, count;
static struct bench_slices slices;

/* ---- the wheel ---- */

static struct wheel wheel;
static struct wheel_timer *wheel_timers;

static void
wheel_make(void)
{
    wheel_timers = calloc(count, sizeof(*wheel_timers));
    if (wheel_timers == NULL)
        bench_fail("timers", ENOMEM);
    wheel.tick = bench_now_ns() / RGM_NS_PER_MS;
}

/* As many as there are asks in a slice. Returns: ns for one. */
static double
wheel_play(void)
{
    uint64_t begin_ns = bench_now_ns();

    for (uint64_t i = 0; i < count; i++) {
        wheel_timers[i].due_tick = wheel.tick + 60000 + i * 7919 % 60000;
        wheel_insert(&wheel, &wheel_timers[i]);
    }
    for (uint64_t i = 0; i < count; i++)
        wheel_cancel(&wheel, &wheel_timers[i]);
    return (double)(bench_now_ns() - begin_ns) / (double)count;
}

/* ---- the one who answers ---- */

struct wall {
    struct rgm_actor actor;
};

RGM_HANDLER(wall, ball, wall_ball);

static void
wall_ball(struct wall *self, struct ball *ball)
{
    ball->value++;
    rgm_reply(self, ball, 0);
}

static const struct rgm_handler wall_handlers[] = {
    RGM_ON(wall, ball, wall_ball),
};
static const struct rgm_behaviour wall_behaviour = {
    .name = "wall",
    .size_bytes = sizeof(struct wall),
    RGM_HANDLERS(wall_handlers),
};

/* ---- the one who asks, and measures ---- */

struct player {
    struct rgm_actor actor;
    struct rgm_address wall;
    struct rgm_scope scope;
    struct ball balls[DEPTH_MAX];
    uint64_t asked, answered; /* in this slice */
    uint64_t begin_ns;
    size_t slice;
    bool scoped; /* this slice */
};

RGM_FACTORY(player, rgm_address, player_make);
RGM_HOOK(player, player_started);
RGM_ANSWER(player, ball, player_answered);

static int
player_make(struct player *self, const struct rgm_address *wall)
{
    self->wall = *wall;
    return 0;
}

static void
player_ask(struct player *self, struct ball *ball)
{
    self->asked++;
    if (self->scoped) {
        rgm_in_scope(ball, &self->scope);
        rgm_expire_after(ball, 60 * RGM_NS_PER_S);
    }
    rgm_ask(self, ball, RGM_REPLY(player, ball, player_answered));
}

static void
player_serve(struct player *self, bool scoped)
{
    self->scoped = scoped;
    self->asked = 0;
    self->answered = 0;
    self->begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < depth; i++)
        player_ask(self, &self->balls[i]);
}

static void
player_started(struct player *self)
{
    ours_check("scope", rgm_scope_open(self, &self->scope, NULL));
    for (uint64_t i = 0; i < depth; i++)
        ball_prepare(&self->balls[i], self->wall);
    player_serve(self, false);
}

static void
player_slice_taken(struct player *self)
{
    double ns = (double)(bench_now_ns() - self->begin_ns) / (double)count;

    if (self->scoped) {
        slices.ours[self->slice++] = ns;
        player_serve(self, false);
        return;
    }
    slices.limit[self->slice] = is_local ? ns + WHEEL_SHARE * wheel_play() : ns;
    if (self->slice < slices.count) {
        player_serve(self, true);
        return;
    }
    ours_check("close", rgm_scope_try_close(self, &self->scope));
    rgm_runtime_stop(ours_runtime);
}

static void
player_answered(struct player *self, struct ball *ball)
{
    ours_check("ask", rgm_status(ball));
    if (self->asked < count)
        player_ask(self, ball);
    if (++self->answered == count)
        player_slice_taken(self);
}

static const struct rgm_behaviour player_behaviour = {
    .name = "player",
    .size_bytes = sizeof(struct player),
    .factory = RGM_MAKE(player, player_make),
    .started = RGM_DO(player, player_started),
};

int
main(int argc, char **argv)
{
    struct rgm_address wall;
    uint32_t workers;
    char series[64];

    is_local = argc == 5 && strcmp(argv[1], "local") == 0;
    if (argc != 5 || (!is_local && strcmp(argv[1], "busy") != 0)) {
        fputs("usage: bench_scoped local|busy DEPTH SLICES COUNT\n", stderr);
        return 2;
    }
    depth = bench_number(argv[2], DEPTH_MAX);
    slices.count = bench_number(argv[3], BENCH_SLICES_MAX);
    count = bench_number(argv[4], UINT64_C(1) << 24);
    if (depth > count)
        depth = count;
    wheel_make();
    workers = is_local ? 1 : 2;
    ours_start(workers, 0);
    wall = ours_spawn(workers - 1, &wall_behaviour, NULL);
    ours_spawn(0, &player_behaviour, &wall);
    ours_wait();
    free(wheel_timers);
    snprintf(series, sizeof(series), "%s_%u", argv[1], (unsigned)depth);
    bench_slices_report(&slices, series, 0);
    return 0;
}
