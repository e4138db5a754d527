/* SPDX-License-Identifier: MIT */
#ifndef RGI_ACTORS_RIG_H
#define RGI_ACTORS_RIG_H

/*
 * rig.h - how does a test put actors on a stage?
 *
 * A robot is an actor that does what its script says; a script is a handful of
 * functions and a pointer to the case's own state. rig_run makes a runtime on
 * the fake provider, runs a robot as its root, and checks that nothing is left
 * of it afterwards.
 */

#include "actors/fake.h"
#include "actors/runtime.h"

struct note {
    struct rgm_message message;
    long value;
    void *about;
};
RGM_MESSAGE(note);

struct question {
    struct rgm_request request;
    long value;
    void *about;
};
RGM_REQUEST(question);

struct robot;

struct script {
    void (*started)(struct robot *self);
    void (*note)(struct robot *self, struct note *note);
    void (*question)(struct robot *self, struct question *question);
    void (*settled)(struct robot *self);
    void (*retiring)(struct robot *self); /* NULL: stops */
    void (*withdrawn)(struct robot *self, struct question *question);
    void (*stopped)(struct robot *self);
    void *test;
};

struct robot {
    struct rgm_actor actor;
    const struct script *script;
    long number; /* the case's own */
    struct rgm_token token;
    struct question question;
    struct rgm_sleep sleep;
    struct rgm_listen listen;
    struct rgm_listener listener;
};

RGM_HANDLER(robot, note, robot_note);
RGM_HANDLER(robot, question, robot_question);
RGM_HOOK(robot, robot_started);
RGM_HOOK(robot, robot_settled);
RGM_HOOK(robot, robot_retiring);
RGM_HOOK(robot, robot_stopped);
RGM_FACTORY(robot, script, robot_make);

static void
robot_withdrawn(struct rgm_actor *self, struct rgm_request *request)
{
    struct robot *robot = (struct robot *)(void *)self;

    if (robot->script->withdrawn != NULL)
        robot->script->withdrawn(robot, (struct question *)(void *)request);
}

static const struct rgm_handler robot_handlers[] = {
    RGM_ON(robot, note, robot_note),
    RGM_ON(robot, question, robot_question),
};

static const struct rgm_behaviour robot_behaviour = {
    .name = "robot",
    .size_bytes = sizeof(struct robot),
    RGM_HANDLERS(robot_handlers),
    .factory = RGM_MAKE(robot, robot_make),
    .started = RGM_DO(robot, robot_started),
    .settled = RGM_DO(robot, robot_settled),
    .retiring = RGM_DO(robot, robot_retiring),
    .withdrawn = robot_withdrawn,
    .stopped = RGM_DO(robot, robot_stopped),
};

static int
robot_make(struct robot *self, const struct script *script)
{
    self->script = script;
    return 0;
}

static void
robot_note(struct robot *self, struct note *note)
{
    if (self->script->note != NULL)
        self->script->note(self, note);
}

/* Without a line in the script it goes unanswered. */
static void
robot_question(struct robot *self, struct question *question)
{
    if (self->script->question != NULL)
        self->script->question(self, question);
}

static void
robot_started(struct robot *self)
{
    if (self->script->started != NULL)
        self->script->started(self);
}

static void
robot_settled(struct robot *self)
{
    if (self->script->settled != NULL)
        self->script->settled(self);
}

static void
robot_retiring(struct robot *self)
{
    if (self->script->retiring != NULL)
        self->script->retiring(self);
    else
        rgm_stop(self);
}

static void
robot_stopped(struct robot *self)
{
    if (self->script->stopped != NULL)
        self->script->stopped(self);
}

/* The state of the case. */
#define test_of(self) ((self)->script->test)

__attribute__((unused)) static struct rgm_address
robot_spawn(struct robot *self, const struct script *script)
{
    struct rgm_address address;

    rgi_check(rgm_spawn(self, &robot_behaviour, script, &address) == 0);
    return address;
}

__attribute__((unused)) static struct rgm_address
robot_spawn_on(struct robot *self, uint32_t worker, const struct script *script)
{
    struct rgm_address address;

    rgi_check(rgm_spawn_on(self, worker, &robot_behaviour, script, &address) ==
              0);
    return address;
}

/* Send a note from the slab. Returns: what the send gave. */
__attribute__((unused)) static int
robot_send(struct robot *self, struct rgm_address to, long value)
{
    struct note *note = note_take(&self->actor, 0);
    int status;

    rgi_check(note != NULL);
    note->value = value;
    status = rgm_send(self, to, note);
    if (status != 0)
        note_give(&self->actor, note);
    return status;
}

__attribute__((unused)) static struct rgm_runtime *
rig_make_with(const struct rgm_runtime_options *options)
{
    struct rgm_runtime *runtime;

    rgi_check(rgm_runtime_create(options, &runtime) == 0);
    return runtime;
}

__attribute__((unused)) static struct rgm_runtime *
rig_make(uint32_t workers)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = &fake_class};

    return rig_make_with(&options);
}

__attribute__((unused)) static void
rig_destroy(struct rgm_runtime *runtime)
{
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgi_check(rgi_memory_live() == 0);
}

__attribute__((unused)) static void
rig_run_with(const struct rgm_runtime_options *options,
             const struct script *root)
{
    struct rgm_runtime *runtime = rig_make_with(options);

    rgi_check(rgm_runtime_run(runtime, &robot_behaviour, root) == 0);
    rig_destroy(runtime);
}

__attribute__((unused)) static void
rig_run(uint32_t workers, const struct script *root)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .provider = &fake_class};

    fake_reset();
    rig_run_with(&options, root);
}

#endif /* RGI_ACTORS_RIG_H */
