/* SPDX-License-Identifier: MIT */

/*
 * misuse.c - does the compiler refuse a struct in the wrong place?
 *
 * Correct as it is; with any one WRONG_... defined it must not compile, whatever
 * warnings are turned off. See tools/must_not_compile.sh.
 */

#include <ringmail/runtime.h>

#ifdef WRONG_MESSAGE_NOT_FIRST
struct add {
    long amount;
    struct rgm_message message;
};
#else
struct add {
    struct rgm_message message;
    long amount;
};
#endif
RGM_MESSAGE(add);

#ifdef WRONG_REQUEST_NOT_FIRST
struct get {
    long value;
    struct rgm_request request;
};
#else
struct get {
    struct rgm_request request;
    long value;
};
#endif
RGM_REQUEST(get);

struct other_get {
    struct rgm_request request;
    long value;
};
RGM_REQUEST(other_get);

struct setup {
    long start;
};

#ifdef WRONG_ACTOR_NOT_FIRST
struct counter {
    long value;
    struct rgm_actor actor;
    struct rgm_token token;
};
#else
struct counter {
    struct rgm_actor actor;
    long value;
    struct rgm_token token;
};
#endif

struct other_counter {
    struct rgm_actor actor;
    long value;
};

RGM_HANDLER(counter, add, counter_add);
RGM_HANDLER(counter, get, counter_get);
RGM_HANDLER(other_counter, add, other_counter_add);
RGM_HOOK(counter, counter_started);
RGM_HOOK(other_counter, other_counter_started);
RGM_FACTORY(counter, setup, counter_make);
RGM_ANSWER(counter, get, counter_answer);
RGM_ANSWER(counter, other_get, counter_other_answer);
RGM_ANSWER(other_counter, get, other_counter_answer);

static const struct rgm_handler handlers[] = {
    RGM_ON(counter, add, counter_add),
#if defined(WRONG_HANDLER_FOR_MESSAGE)
    RGM_ON(counter, get, counter_add),
#elif defined(WRONG_HANDLER_OF_ACTOR)
    RGM_ON(counter, get, other_counter_add),
#else
    RGM_ON(counter, get, counter_get),
#endif
};

const struct rgm_behaviour counter_behaviour = {
    .name = "counter",
    .size_bytes = sizeof(struct counter),
    RGM_HANDLERS(handlers),
#ifdef WRONG_FACTORY_OF_ACTOR
    .factory = RGM_MAKE(other_counter, counter_make),
#else
    .factory = RGM_MAKE(counter, counter_make),
#endif
#ifdef WRONG_HOOK_OF_ACTOR
    .started = RGM_DO(counter, other_counter_started),
#else
    .started = RGM_DO(counter, counter_started),
#endif
};

static const struct rgm_handler other_handlers[] = {
    RGM_ON(other_counter, add, other_counter_add),
};

const struct rgm_behaviour other_behaviour = {
    .name = "other counter",
    .size_bytes = sizeof(struct other_counter),
    RGM_HANDLERS(other_handlers),
    .started = RGM_DO(other_counter, other_counter_started),
};

#ifdef WRONG_FACTORY_ARGUMENT
static int
counter_make(struct counter *self, const struct get *setup)
#else
static int
counter_make(struct counter *self, const struct setup *setup)
#endif
{
    (void)setup;
    self->value = 0;
    return 0;
}

#ifdef WRONG_HANDLER_BODY
static void
counter_add(struct counter *self, struct get *add)
#else
static void
counter_add(struct counter *self, struct add *add)
#endif
{
#if defined(WRONG_REPLY_TO_MESSAGE)
    rgm_reply(self, add, 0);
#elif defined(WRONG_KEEP_OF_MESSAGE)
    (void)!rgm_keep(self, add, &self->token);
#elif defined(WRONG_FORWARD_OF_MESSAGE)
    (void)rgm_forward(self, add, rgm_self(self));
#else
    (void)rgm_forward_one_way(self, add, rgm_self(self));
#endif
}

static void
other_counter_add(struct other_counter *self, struct add *add)
{
    self->value += add->amount;
}

static void
counter_get(struct counter *self, struct get *get)
{
#ifdef WRONG_FORWARD_OF_REQUEST
    (void)rgm_forward_one_way(self, get, rgm_self(self));
#endif
    get->value = self->value;
    rgm_reply(self, get, 0);
}

static void
counter_answer(struct counter *self, struct get *get)
{
    self->value = get->value;
}

static void
counter_other_answer(struct counter *self, struct other_get *get)
{
    self->value = get->value;
}

static void
other_counter_answer(struct other_counter *self, struct get *get)
{
    self->value = get->value;
}

static void
other_counter_started(struct other_counter *self)
{
    struct get *get = get_take(&self->actor, 0);

    rgm_ask(self, get, RGM_REPLY(other_counter, get, other_counter_answer));
}

static void
counter_started(struct counter *self)
{
    struct rgm_address to = rgm_self(self);
    struct add *add = add_take(&self->actor, 0);
    struct get *get = get_take(&self->actor, 0);
    struct other_get *other = other_get_take(&self->actor, 0);
    static struct rgm_order order;

#if defined(WRONG_SEND_OF_REQUEST)
    (void)!rgm_send(self, to, get);
#elif defined(WRONG_SEND_OF_ANYTHING)
    (void)!rgm_send(self, to, &order);
#elif defined(WRONG_SELF_IN_SEND)
    (void)!rgm_send(&order, to, add);
#else
    (void)!rgm_send(self, to, add);
#endif

#if defined(WRONG_ASK_OF_MESSAGE)
    rgm_ask(self, add, RGM_REPLY(counter, get, counter_answer));
#elif defined(WRONG_ANSWER_FOR_RECORD)
    rgm_ask(self, get, RGM_REPLY(counter, other_get, counter_other_answer));
#elif defined(WRONG_ANSWER_OF_ACTOR)
    rgm_ask(self, get, RGM_REPLY(other_counter, get, other_counter_answer));
#elif defined(WRONG_ANSWER_UNDECLARED)
    rgm_ask(self, get, RGM_REPLY(counter, get, counter_get));
#else
    rgm_ask(self, get, RGM_REPLY(counter, get, counter_answer));
#endif

#if defined(WRONG_ANSWER_IN_ORDER)
    rgm_ask_in(self, &order, other, RGM_REPLY(counter, get, counter_answer));
#elif defined(WRONG_ANSWER_IN_TRY)
    (void)!rgm_try_ask(self, other, RGM_REPLY(counter, get, counter_answer));
#elif defined(WRONG_ANSWER_ON_THE_SPOT)
    rgm_answered_in(self, &order, other, 0,
                    RGM_REPLY(counter, get, counter_answer));
#elif defined(WRONG_ORDER)
    rgm_ask_in(self, order, other,
               RGM_REPLY(counter, other_get, counter_other_answer));
#else
    rgm_ask_in(self, &order, other,
               RGM_REPLY(counter, other_get, counter_other_answer));
#endif
}
