/* SPDX-License-Identifier: MIT */

/*
 * stepper.c - how does one thread play all workers?
 *
 *   1. Each player is a fiber (base/fiber.h) around the function a thread would
 *      have run; nothing else of the runtime knows that it is played.
 *   2. Where a thread would sleep, or at a gate, the player tells the baton
 *      (base/baton.h) what it waits for, and yields.
 *   3. The test steps players by number, or lets the stepper pick among those
 *      whose wait is over.
 *   4. The thread itself is no player. A call of its that blocks steps the
 *      others until its own wait is over.
 *
 * Which worker the thread is (rgi_current) changes with the player.
 */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <ringmail/stepper.h>

#include "actors/worker.h"
#include "base/baton.h"
#include "base/fiber.h"
#include "base/memory.h"

struct player {
    char name[32];
    struct rgi_fiber *fiber; /* NULL: over */
    const char *at;
    bool (*ready)(void *argument); /* NULL: always */
    void *ready_argument;
    void *(*run)(void *argument); /* one of the two */
    void (*play)(void *argument);
    void *argument;
    struct rgm_worker *current;
    bool counted; /* was ready when that was looked at last */
};

struct rgm_stepper {
    struct rgi_baton baton;
    struct player **players;
    uint32_t count;
    uint32_t capacity;
    uint32_t turn; /* who is asked first */
    uint32_t last; /* who went last */
    struct player *running; /* NULL: the thread itself */
    uint32_t (*choose)(void *argument, uint32_t count);
    void *choose_argument;
    bool (*idle)(void *argument);
    void *idle_argument;
    uint64_t digest;
};

static inline struct rgm_stepper *
stepper_of(struct rgi_baton *baton)
{
    return rgi_container_of(baton, struct rgm_stepper, baton);
}

/* ---- stepping ---- */

static bool
is_ready(const struct player *player)
{
    return player->fiber != NULL &&
           (player->ready == NULL || player->ready(player->ready_argument));
}

/* FNV-1a. */
static void
digest_add(struct rgm_stepper *stepper, const char *text)
{
    do
        stepper->digest = (stepper->digest ^ (uint8_t)*text) *
                          UINT64_C(0x100000001b3);
    while (*text++ != '\0');
}

static void
go_on(struct rgm_stepper *stepper, struct player *player)
{
    struct rgm_worker *current = rgi_current;

    rgi_assert(stepper->running == NULL);
    stepper->running = player;
    rgi_current = player->current;
    rgi_fiber_enter(player->fiber);
    player->current = rgi_current;
    rgi_current = current;
    stepper->running = NULL;
    if (rgi_fiber_is_over(player->fiber)) {
        rgi_fiber_destroy(player->fiber);
        player->fiber = NULL;
        player->at = "over";
    }
    digest_add(stepper, player->name);
    digest_add(stepper, player->at);
}

/* Each is asked once: it may cost a system call. */
static uint32_t
count_ready(const struct rgm_stepper *stepper)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < stepper->count; i++) {
        stepper->players[i]->counted = is_ready(stepper->players[i]);
        count += stepper->players[i]->counted;
    }
    return count;
}

/* The one of those that were counted, by their order from `first` on. */
static uint32_t
nth_counted(const struct rgm_stepper *stepper, uint32_t first, uint32_t nth)
{
    for (uint32_t i = first;; i++)
        if (stepper->players[i % stepper->count]->counted && nth-- == 0)
            return i % stepper->count;
}

static bool
step_anyone(struct rgm_stepper *stepper)
{
    uint32_t ready = count_ready(stepper);
    uint32_t picked;

    if (ready == 0)
        return false;
    if (stepper->choose == NULL)
        picked = nth_counted(stepper, stepper->turn, 0);
    else if (ready == 1)
        picked = nth_counted(stepper, stepper->last, 0);
    else
        picked = nth_counted(stepper, stepper->last,
                             stepper->choose(stepper->choose_argument, ready) %
                                 ready);
    stepper->last = picked;
    stepper->turn = picked + 1;
    go_on(stepper, stepper->players[picked]);
    return true;
}

/* The thread itself lets others go on; it has to wait for one of them. */
static void
step_or_stall(struct rgm_stepper *stepper)
{
    char text[1000];

    if (step_anyone(stepper) ||
        (stepper->idle != NULL && stepper->idle(stepper->idle_argument)))
        return;
    rgm_stepper_describe(stepper, text, sizeof(text));
    rgi_assert_failed("stalled", 0, text);
}

/* ---- the baton ---- */

static void
player_stop(struct player *player, const char *at,
            bool (*ready)(void *argument), void *argument)
{
    player->at = at;
    player->ready = ready;
    player->ready_argument = argument;
    rgi_fiber_yield();
    player->ready = NULL;
}

static void
await(struct rgi_baton *baton, const char *at, bool (*ready)(void *argument),
      void *argument)
{
    struct rgm_stepper *stepper = stepper_of(baton);

    if (stepper->running != NULL)
        player_stop(stepper->running, at, ready, argument);
    else if (ready != NULL)
        while (!ready(argument))
            step_or_stall(stepper);
}

static void
relax(struct rgi_baton *baton, const char *at)
{
    struct rgm_stepper *stepper = stepper_of(baton);

    if (stepper->running != NULL)
        player_stop(stepper->running, at, NULL, NULL);
    else
        (void)step_anyone(stepper);
}

static void
begin(void *argument)
{
    struct player *player = argument;

    if (player->run != NULL)
        (void)player->run(player->argument);
    else
        player->play(player->argument);
}

static bool
reserve(struct rgm_stepper *stepper)
{
    uint32_t capacity = stepper->capacity == 0 ? 8 : stepper->capacity * 2;
    struct player **players;

    if (stepper->count < stepper->capacity)
        return true;
    players = rgi_alloc(capacity * sizeof(struct player *));
    if (players == NULL)
        return false;
    if (stepper->count > 0)
        memcpy(players, stepper->players,
               stepper->count * sizeof(struct player *));
    rgi_free(stepper->players);
    stepper->players = players;
    stepper->capacity = capacity;
    return true;
}

static struct player *
player_make(struct rgm_stepper *stepper, const char *name, void *argument)
{
    struct player *player;

    if (!reserve(stepper))
        return NULL;
    player = rgi_alloc(sizeof(*player));
    if (player == NULL)
        return NULL;
    player->fiber = rgi_fiber_create(begin, player);
    if (player->fiber == NULL) {
        rgi_free(player);
        return NULL;
    }
    snprintf(player->name, sizeof(player->name), "%s", name);
    player->argument = argument;
    player->at = "begin";
    stepper->players[stepper->count++] = player;
    return player;
}

static int
start(struct rgi_baton *baton, const char *name, pthread_t *ret_thread,
      void *(*run)(void *argument), void *argument)
{
    struct rgm_stepper *stepper = stepper_of(baton);
    struct player *player = player_make(stepper, name, argument);

    if (player == NULL)
        return EAGAIN;
    player->run = run;
    *ret_thread = (pthread_t)(stepper->count - 1);
    return 0;
}

static bool
is_over(void *argument)
{
    return ((const struct player *)argument)->fiber == NULL;
}

static void
join(struct rgi_baton *baton, pthread_t thread)
{
    await(baton, "join", is_over,
          stepper_of(baton)->players[(uint32_t)thread]);
}

/* ---- the test's side ---- */

int
rgm_stepper_create(struct rgm_stepper **ret_stepper)
{
    struct rgm_stepper *stepper;

    if (rgi_baton != NULL || rgi_current != NULL)
        return -EDEADLK;
    stepper = rgi_alloc(sizeof(*stepper));
    if (stepper == NULL)
        return -ENOMEM;
    stepper->baton = (struct rgi_baton){
        .await = await, .relax = relax, .start = start, .join = join};
    stepper->digest = UINT64_C(0xcbf29ce484222325);
    rgi_baton = &stepper->baton;
    *ret_stepper = stepper;
    return 0;
}

void
rgm_stepper_destroy(struct rgm_stepper *stepper)
{
    if (stepper == NULL)
        return;
    rgi_assert(rgi_baton == &stepper->baton && stepper->running == NULL);
    for (uint32_t i = 0; i < stepper->count; i++) {
        rgi_assert(stepper->players[i]->fiber == NULL);
        rgi_free(stepper->players[i]);
    }
    rgi_baton = NULL;
    rgi_free(stepper->players);
    rgi_free(stepper);
}

int
rgm_stepper_play(struct rgm_stepper *stepper, const char *name,
                 void (*run)(void *argument), void *argument)
{
    struct player *player = player_make(stepper, name, argument);

    if (player == NULL)
        return -ENOMEM;
    player->play = run;
    return (int)stepper->count - 1;
}

uint32_t
rgm_stepper_count(const struct rgm_stepper *stepper)
{
    return stepper->count;
}

int
rgm_stepper_find(const struct rgm_stepper *stepper, const char *name)
{
    for (uint32_t i = stepper->count; i-- > 0;)
        if (strcmp(stepper->players[i]->name, name) == 0)
            return (int)i;
    return -ENOENT;
}

static struct player *
player_of(const struct rgm_stepper *stepper, uint32_t number)
{
    rgi_assert(number < stepper->count);
    return stepper->players[number];
}

const char *
rgm_stepper_at(const struct rgm_stepper *stepper, uint32_t player)
{
    return player_of(stepper, player)->at;
}

bool
rgm_stepper_is_ready(const struct rgm_stepper *stepper, uint32_t player)
{
    return is_ready(player_of(stepper, player));
}

bool
rgm_stepper_step(struct rgm_stepper *stepper, uint32_t player)
{
    if (!is_ready(player_of(stepper, player)))
        return false;
    go_on(stepper, player_of(stepper, player));
    return true;
}

bool
rgm_stepper_step_to(struct rgm_stepper *stepper, uint32_t player,
                    const char *place)
{
    do
        if (!rgm_stepper_step(stepper, player))
            return false;
    while (strcmp(rgm_stepper_at(stepper, player), place) != 0);
    return true;
}

uint64_t
rgm_stepper_settle(struct rgm_stepper *stepper)
{
    uint64_t steps = 0;

    while (step_anyone(stepper))
        steps++;
    return steps;
}

void
rgm_stepper_choose(struct rgm_stepper *stepper,
                   uint32_t (*choose)(void *argument, uint32_t count),
                   void *argument)
{
    stepper->choose = choose;
    stepper->choose_argument = argument;
}

void
rgm_stepper_on_idle(struct rgm_stepper *stepper, bool (*idle)(void *argument),
                    void *argument)
{
    stepper->idle = idle;
    stepper->idle_argument = argument;
}

uint64_t
rgm_stepper_digest(const struct rgm_stepper *stepper)
{
    return stepper->digest;
}

void
rgm_stepper_describe(const struct rgm_stepper *stepper, char *ret_text,
                     size_t size_bytes)
{
    size_t length = 0;

    if (size_bytes > 0)
        ret_text[0] = '\0';
    for (uint32_t i = 0; i < stepper->count && length < size_bytes; i++) {
        int written = snprintf(ret_text + length, size_bytes - length,
                               "%s%s: %s", i > 0 ? ", " : "",
                               stepper->players[i]->name,
                               stepper->players[i]->at);

        length += written > 0 ? (size_t)written : 0;
    }
}
