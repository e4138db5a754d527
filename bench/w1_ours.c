/* SPDX-License-Identifier: MIT */

/*
 * w1_ours.c - how long does an ask take until its answer is there?
 *
 *     bench_w1 local|busy|parked DEPTH SLICES COUNT
 *
 *   local   both actors on one worker; limit: two bare actors on one thread
 *   busy    on two workers, default options; limit: the cache line
 *   parked  on two workers that never spin, each of which works a little before
 *           it answers, so that the other is asleep; limit: a futex, likewise
 *
 * DEPTH asks are out at a time. Slices of COUNT asks alternate with slices of
 * the limit, played by the same two threads inside a handler. Handlers must not
 * block, and here they do on purpose: nothing else is on these workers.
 */

#include "bench/duet.h"
#include "bench/ours.h"
#include "bench/solo.h"

#define DEPTH_MAX 1024

struct ball {
    struct rgm_request request;
    uint64_t value;
};
RGM_REQUEST(ball);

/* Play the limit's other side, as often as `count` says. */
struct play {
    struct rgm_request request;
    uint64_t count;
};
RGM_REQUEST(play);

static const struct mode {
    const char *name;
    uint32_t workers;
    uint32_t spin_us;
    enum duet_piece limit;
    bool works;
} modes[] = {
    {"local", 1, 0, DUET_LINE, false},
    {"busy", 2, 0, DUET_LINE, false},
    {"parked", 2, RGM_SPIN_OFF, DUET_FUTEX, true},
};

static const struct mode *mode;
static uint64_t depth, count;
static struct duet duet;
static struct bench_slices slices;

/* The one who answers. */
struct wall {
    struct rgm_actor actor;
};

RGM_HANDLER(wall, ball, wall_ball);
RGM_HANDLER(wall, play, wall_play);

__attribute__((noinline)) static void
work_a_little(void)
{
    duet_work();
}

static void
wall_ball(struct wall *self, struct ball *ball)
{
    if (mode->works)
        work_a_little();
    ball->value++;
    rgm_reply(self, ball, 0);
}

static void
wall_play(struct wall *self, struct play *play)
{
    duet_play(&duet, mode->limit, 1, play->count);
    rgm_reply(self, play, 0);
}

static const struct rgm_handler wall_handlers[] = {
    RGM_ON(wall, ball, wall_ball),
    RGM_ON(wall, play, wall_play),
};
static const struct rgm_behaviour wall_behaviour = {
    .name = "wall",
    .size_bytes = sizeof(struct wall),
    RGM_HANDLERS(wall_handlers),
};

/* The one who asks, and measures. */
struct player {
    struct rgm_actor actor;
    struct rgm_address wall;
    struct play play;
    struct ball balls[DEPTH_MAX];
    uint64_t asked, answered; /* in this slice */
    uint64_t begin_ns;
    size_t slice;
};

RGM_FACTORY(player, rgm_address, player_make);
RGM_HOOK(player, player_started);
RGM_ANSWER(player, play, player_played);
RGM_ANSWER(player, ball, player_answered);

static int
player_make(struct player *self, const struct rgm_address *wall)
{
    self->wall = *wall;
    return 0;
}

static void
player_serve(struct player *self)
{
    self->asked = depth;
    self->answered = 0;
    self->begin_ns = bench_now_ns();
    for (uint64_t i = 0; i < depth; i++)
        rgm_ask(self, &self->balls[i], RGM_REPLY(player, ball, player_answered));
}

static void
player_limit_taken(struct player *self, uint64_t ns)
{
    slices.limit[self->slice] = (double)ns / (double)count;
}

/* Take a slice of the limit, then one of ours, or end. */
static void
player_next(struct player *self)
{
    if (mode->workers == 1) {
        player_limit_taken(self, solo_bounce(count));
        if (self->slice == slices.count)
            rgm_runtime_stop(ours_runtime);
        else
            player_serve(self);
        return;
    }
    self->play.count = count;
    rgm_ask(self, &self->play, RGM_REPLY(player, play, player_played));
    rgm_flush(self);
    player_limit_taken(self, duet_play(&duet, mode->limit, 0, count));
}

static void
player_started(struct player *self)
{
    play_prepare(&self->play, self->wall);
    for (uint64_t i = 0; i < depth; i++)
        ball_prepare(&self->balls[i], self->wall);
    player_next(self);
}

static void
player_played(struct player *self, struct play *play)
{
    ours_check("play", rgm_status(play));
    if (self->slice == slices.count)
        rgm_runtime_stop(ours_runtime);
    else
        player_serve(self);
}

static void
player_slice_taken(struct player *self, uint64_t ns)
{
    if (mode->works)
        ns -= 2 * count * DUET_WORK_NS;
    slices.ours[self->slice++] = (double)ns / (double)count;
}

/* Out of line, like the work: an ask saves no registers for them. */
__attribute__((noinline)) static void
player_served(struct player *self)
{
    player_slice_taken(self, bench_now_ns() - self->begin_ns);
    player_next(self);
}

static void
player_answered(struct player *self, struct ball *ball)
{
    ours_check("ask", rgm_status(ball));
    if (mode->works)
        work_a_little();
    if (self->asked < count) {
        self->asked++;
        rgm_ask(self, ball, RGM_REPLY(player, ball, player_answered));
    }
    if (++self->answered == count)
        player_served(self);
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
    char series[64];

    for (size_t i = 0; argc == 5 && i < sizeof(modes) / sizeof(*modes); i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            mode = &modes[i];
    if (mode == NULL) {
        fputs("usage: bench_w1 local|busy|parked DEPTH SLICES COUNT\n", stderr);
        return 2;
    }
    depth = bench_number(argv[2], DEPTH_MAX);
    slices.count = bench_number(argv[3], BENCH_SLICES_MAX);
    count = bench_number(argv[4], UINT64_C(1) << 40);
    if (depth > count)
        depth = count;
    ours_start(mode->workers, mode->spin_us);
    wall = ours_spawn(mode->workers - 1, &wall_behaviour, NULL);
    ours_spawn(0, &player_behaviour, &wall);
    ours_wait();
    snprintf(series, sizeof(series), "%s_%u", mode->name, (unsigned)depth);
    bench_slices_report(&slices, series, 0);
    return 0;
}
