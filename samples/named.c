/* SPDX-License-Identifier: MIT */

/*
 * named.c - whose child is it, and how does its result reach main?
 *
 * The root derives a context, spawns a child in it, and joins it by its answer.
 * From the child's sum it makes its own output, which rgm_run hands to main.
 */

#include <ringmail/ringmail.h>

#include <stdio.h>
#include <stdlib.h>

struct sum { struct rgm_parcel parcel; long value; };
struct adder { struct rgm_actor actor; long until; };
struct root { struct rgm_actor actor; struct rgm_context context; };

RGM_HOOK(adder, adder_started);
RGM_FACTORY(adder, rgm_label, adder_make);
RGM_HOOK(root, root_started);
RGM_ANSWER(root, rgm_context, root_joined);

static void
sum_free(struct rgm_parcel *parcel)
{
    free(parcel);
}

static struct rgm_parcel *
sum_make(long value)
{
    struct sum *sum = malloc(sizeof(*sum));

    if (sum == NULL)
        abort();
    rgm_parcel_init(&sum->parcel, sum_free);
    sum->value = value;
    return &sum->parcel;
}

static long
sum_of(const struct rgm_parcel *parcel)
{
    return ((const struct sum *)(const void *)parcel)->value;
}

static int
adder_make(struct adder *self, const struct rgm_label *label)
{
    self->until = strtol(label->value, NULL, 10);
    return 0;
}

static void
adder_started(struct adder *self)
{
    struct rgm_parcel *sum = sum_make(self->until * (self->until + 1) / 2);

    printf("%s adds up to %ld\n", rgm_own_name(self), self->until);
    if (rgm_finish(self, sum) != 0)
        rgm_parcel_drop(sum);
}

static const struct rgm_behaviour adder_behaviour = {
    .name = "adder",
    .size_bytes = sizeof(struct adder),
    .factory = RGM_MAKE(adder, adder_make),
    .started = RGM_DO(adder, adder_started),
};

static void
root_started(struct root *self)
{
    static const struct rgm_label until = {"until", "100"};
    struct rgm_address address;
    int status = rgm_context_derive(self, &self->context, "adder");

    if (status == 0)
        status = rgm_spawn_in(self, &self->context, RGM_ANY_WORKER,
                              &adder_behaviour, &until,
                              RGM_REPLY(root, rgm_context, root_joined),
                              &address);
    if (status != 0)
        rgm_stop_with(self, status);
}

static void
root_joined(struct root *self, struct rgm_context *context)
{
    struct rgm_parcel *child = context->down.end.parcel, *own;

    if (rgm_status(context) != 0 || child == NULL) {
        rgm_stop_with(self, -1);
        return;
    }
    own = sum_make(sum_of(child));
    rgm_parcel_drop(child);
    if (rgm_finish(self, own) != 0)
        rgm_parcel_drop(own);
}

static const struct rgm_behaviour root_behaviour = {
    .name = "root",
    .size_bytes = sizeof(struct root),
    .started = RGM_DO(root, root_started),
};

int
main(void)
{
    struct rgm_end end;
    int status = rgm_run(&root_behaviour, NULL, &end);

    if (status != 0 || end.parcel == NULL)
        return 1;
    printf("the sum is %ld\n", sum_of(end.parcel));
    rgm_parcel_drop(end.parcel);
    return 0;
}
