/* SPDX-License-Identifier: MIT */

/*
 * hello.c - what is the least a ringmail program consists of?
 *
 * One actor on another worker, one request to it, one answer.
 */

#include <ringmail/ringmail.h>

#include <stdio.h>

/* A message type: the request's fields travel with it and come home. */
struct greet {
    struct rgm_request request;
    const char *name;
    char text[64];
};
RGM_REQUEST(greet);

/* An actor: state that one worker owns, and what it does with a greet. */
struct greeter {
    struct rgm_actor actor;
    int greeted;
};
RGM_HANDLER(greeter, greet, greeter_greet);

static void
greeter_greet(struct greeter *self, struct greet *greet)
{
    snprintf(greet->text, sizeof(greet->text), "hello, %s (number %d)",
             greet->name, ++self->greeted);
    rgm_reply(self, greet, 0);
}

static const struct rgm_handler greeter_handlers[] = {
    RGM_ON(greeter, greet, greeter_greet),
};
static const struct rgm_behaviour greeter_behaviour = {
    .name = "greeter",
    .size_bytes = sizeof(struct greeter),
    RGM_HANDLERS(greeter_handlers),
};

/* The root actor: the program ends when it stops. */
struct root {
    struct rgm_actor actor;
    struct greet greet;
};
RGM_HOOK(root, root_started);
RGM_ANSWER(root, greet, root_greeted);

static void
root_started(struct root *self)
{
    struct rgm_address greeter;
    int status = rgm_spawn_next(self, &greeter_behaviour, NULL, &greeter);

    if (status != 0) {
        fprintf(stderr, "spawn: %d\n", status);
        rgm_stop(self);
        return;
    }
    greet_prepare(&self->greet, greeter);
    self->greet.name = "world";
    rgm_ask(self, &self->greet, RGM_REPLY(root, greet, root_greeted));
}

static void
root_greeted(struct root *self, struct greet *greet)
{
    printf("%s\n", greet->text);
    rgm_stop(self);
}

static const struct rgm_behaviour root_behaviour = {
    .name = "root",
    .size_bytes = sizeof(struct root),
    .started = RGM_DO(root, root_started),
};

int
main(void)
{
    struct rgm_runtime *runtime;
    int status = rgm_runtime_create(NULL, &runtime);

    if (status == 0) {
        status = rgm_runtime_run(runtime, &root_behaviour, NULL);
        if (status != 0)
            fprintf(stderr, "run: %s\n", rgm_runtime_error(runtime));
        (void)rgm_runtime_destroy(runtime);
    }
    return status == 0 ? 0 : 1;
}
