/* SPDX-License-Identifier: MIT */
/*
 * consumer.c - can a C program outside the tree run an actor?
 *
 * The root actor sends itself one number and stops when it has arrived.
 */

#include <ringmail/ringmail.h>
#include <stdio.h>

struct number {
    struct rgm_message message;
    long value;
};
RGM_MESSAGE(number);

struct root {
    struct rgm_actor actor;
};

static long seen;

RGM_HOOK(root, root_started);
RGM_HANDLER(root, number, root_number);

static void
root_started(struct root *self)
{
    struct number *number = number_take(&self->actor, 0);

    if (number == NULL) {
        rgm_stop(self);
        return;
    }
    number->value = 42;
    if (rgm_send(self, rgm_self(self), number) < 0) {
        number_give(&self->actor, number);
        rgm_stop(self);
    }
}

static void
root_number(struct root *self, struct number *number)
{
    seen = number->value;
    rgm_stop(self);
}

static const struct rgm_handler root_handlers[] = {
    RGM_ON(root, number, root_number),
};
static const struct rgm_behaviour root_behaviour = {
    .name = "root",
    .size_bytes = sizeof(struct root),
    RGM_HANDLERS(root_handlers),
    .started = RGM_DO(root, root_started),
};

int
main(void)
{
    struct rgm_runtime_options options = {.workers = 1};
    struct rgm_runtime *runtime;
    int status = rgm_runtime_create(&options, &runtime);

    if (status < 0)
        return 1;
    status = rgm_runtime_run(runtime, &root_behaviour, NULL);
    printf("%ld on %s, status %d\n", seen, rgm_runtime_provider(runtime),
           status);
    return rgm_runtime_destroy(runtime) < 0 || status < 0 || seen != 42;
}
