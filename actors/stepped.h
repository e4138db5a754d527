/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_STEPPED_H
#define RGI_ACTORS_STEPPED_H

/*
 * stepped.h - how does a test play the workers of a runtime itself?
 *
 *     struct stepped play;
 *
 *     stepped_begin(&play, 2);                  two workers, asleep
 *     a = stepped_spawn(&play, 0, &script);     robots, as in rig.h
 *     stepped_open(&play, &guest);
 *     stepped_tell(&guest, a, 1);                a note in its inbox; nobody moves
 *     rgi_check(stepped_to(&play, 0, "bell"));  pushed, and not yet rung
 *     stepped_settle(&play);
 *     stepped_close(&guest);
 *     stepped_end(&play);                       stops; nothing is left
 *
 * Nothing runs but what is stepped, so between two lines of a test the world
 * stands still. Calls that block (spawn, stop and wait) play all.
 *
 * The stops are those of <ringmail/stepper.h> and the gates: "turn" (before
 * the inbox is taken), "run" (all is sorted), "take", "push" (before the
 * compare-and-swap), "bell" (a
 * sleeper's word was replaced, and he was not woken), "abroad" (before the push to, or
 * from, another runtime's worker), "flushed", "sleep"
 * (looked, and about to fall asleep), "wake", "quiet", "close", "closing".
 */

#include <ringmail/scripted.h>
#include <ringmail/stepper.h>

#include "actors/rig.h"

#define STEPPED_WORKERS_MAX 8
#define STEPPED_NOTES_MAX 64 /* of one guest */

struct stepped {
    struct rgm_stepper *stepper;
    struct rgm_script *script;
    struct rgm_runtime *runtime;
    uint32_t workers;
    bool chosen; /* rgm_stepper_choose says who goes next */
    uint32_t players[STEPPED_WORKERS_MAX];
};

/* Until nobody would go on; who goes on for ever is found. */
#define STEPPED_STEPS_MAX UINT64_C(20000000)

static bool
stepped_anyone(struct stepped *play)
{
    bool any = false;

    for (uint32_t i = 0; i < rgm_stepper_count(play->stepper); i++)
        any |= rgm_stepper_step(play->stepper, i);
    return any;
}

static void
stepped_settle(struct stepped *play)
{
    uint64_t rounds = 0;

    if (play->chosen) {
        (void)rgm_stepper_settle(play->stepper);
        return;
    }
    while (stepped_anyone(play))
        rgi_check(++rounds < STEPPED_STEPS_MAX);
}

static bool
stepped_idle(void *argument)
{
    return rgm_script_jump(((struct stepped *)argument)->script);
}

static void
stepped_begin_with(struct stepped *play,
                   const struct rgm_runtime_options *options)
{
    struct rgm_runtime_options all = *options;

    memset(play, 0, sizeof(*play));
    rgi_check(rgm_stepper_create(&play->stepper) == 0);
    rgi_check(rgm_script_create(&play->script) == 0);
    rgm_stepper_on_idle(play->stepper, stepped_idle, play);
    all.provider = &rgm_provider_scripted;
    all.provider_argument = play->script;
    play->workers = options->workers;
    play->runtime = rig_make_with(&all);
    rgi_check(rgm_runtime_start(play->runtime) == 0);
    for (uint32_t i = 0; i < play->workers; i++) {
        char name[32];
        int player;

        snprintf(name, sizeof(name), "worker %u", (unsigned)i);
        player = rgm_stepper_find(play->stepper, name);
        rgi_check(player >= 0);
        play->players[i] = (uint32_t)player;
    }
    stepped_settle(play);
}

__attribute__((unused)) static void
stepped_begin(struct stepped *play, uint32_t workers)
{
    struct rgm_runtime_options options = {.workers = workers};

    stepped_begin_with(play, &options);
}

/* The runtime has ended. */
__attribute__((unused)) static void
stepped_leave(struct stepped *play)
{
    rgi_check(rgm_runtime_destroy(play->runtime) == 0);
    rgm_stepper_destroy(play->stepper);
    rgm_script_destroy(play->script);
    rgi_check(rgi_memory_live() == 0);
}

__attribute__((unused)) static void
stepped_end(struct stepped *play)
{
    rgm_runtime_stop(play->runtime);
    rgi_check(rgm_runtime_wait(play->runtime) == 0);
    stepped_leave(play);
}

__attribute__((unused)) static bool
stepped_step(struct stepped *play, uint32_t worker)
{
    return rgm_stepper_step(play->stepper, play->players[worker]);
}

/* On to the next stop of that name. Returns: whether it came there. */
__attribute__((unused)) static bool
stepped_to(struct stepped *play, uint32_t worker, const char *place)
{
    return rgm_stepper_step_to(play->stepper, play->players[worker], place);
}

/* Where it has stopped. */
__attribute__((unused)) static bool
stepped_is_at(struct stepped *play, uint32_t worker, const char *place)
{
    return strcmp(rgm_stepper_at(play->stepper, play->players[worker]),
                  place) == 0;
}

/* As long as it goes: until it sleeps, and nothing has come for it. */
__attribute__((unused)) static void
stepped_rest(struct stepped *play, uint32_t worker)
{
    while (stepped_step(play, worker))
        continue;
}

__attribute__((unused)) static struct rgm_counters
stepped_counters(struct stepped *play, uint32_t worker)
{
    struct rgm_counters counters;

    rgi_check(rgm_runtime_counters(play->runtime, worker, &counters) == 0);
    return counters;
}

__attribute__((unused)) static struct rgm_address
stepped_spawn(struct stepped *play, uint32_t worker,
              const struct script *script)
{
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(play->runtime, worker, &robot_behaviour,
                                script, &address) == 0);
    stepped_settle(play);
    return address;
}

/* A note for an actor, in its inbox when this returns; nobody has moved. Its
 * script's `note` is called with the value, on its worker, when that is
 * stepped. The guest stays open until stepped_close. */
struct stepped_guest {
    struct rgm_guest guest;
    struct note notes[STEPPED_NOTES_MAX];
    unsigned used;
};

__attribute__((unused)) static void
stepped_open(struct stepped *play, struct stepped_guest *guest)
{
    memset(guest, 0, sizeof(*guest));
    rgi_check(rgm_guest_open(play->runtime, &guest->guest) == 0);
}

__attribute__((unused)) static void
stepped_tell(struct stepped_guest *guest, struct rgm_address to, long value)
{
    struct note *note = &guest->notes[guest->used++];

    rgi_check(guest->used <= STEPPED_NOTES_MAX);
    note_init(note);
    note->value = value;
    rgi_check(rgm_send(&guest->guest, to, note) == 0);
}

/* Waits until its notes are home. */
__attribute__((unused)) static void
stepped_close(struct stepped_guest *guest)
{
    rgm_guest_close(&guest->guest);
}

#endif /* RGI_ACTORS_STEPPED_H */
