/* SPDX-License-Identifier: MIT */

/*
 * move_test.c - does an actor whose worker retires go on elsewhere, under its
 * name, with all it has, and in order?
 */

#include <pthread.h>
#include <sched.h>

#include <ringmail/resize.h>
#include <ringmail/watch.h>
#include <ringmail/worker_lease.h>

#include "actors/rig.h"

/* ---------------------------------------------------------------- the nomad */

struct seen {
    atomic_uint started, moved, stopped, withdrawn, retired, answered;
    atomic_int answer_status;
    atomic_uint worker; /* where it was last seen, plus one */
    atomic_ulong last[4]; /* number of the last letter, by sender */
};

struct letter {
    struct rgm_message message;
    uint32_t sender;
    unsigned long number;
};
RGM_MESSAGE(letter);

enum order { COUNT, KEEP, ANSWER_KEPT, ASK_FOR_EVER, LEASE, UNLEASE, WHERE };

struct order_request {
    struct rgm_request request;
    enum order order;
    unsigned long value; /* when home */
    uint32_t worker;     /* when home: where it was handled */
};
RGM_REQUEST(order_request);

struct nomad {
    struct rgm_actor actor;
    struct seen *seen;
    unsigned long count;
    struct rgm_token tokens[4];
    uint32_t tokens_count;
    struct rgm_sleep sleep;
    struct order_request again;
    struct rgm_worker_lease lease;
    struct rgm_address other; /* whom it asks while it is frozen */
    bool asks_when_cancelled;
    bool uses_hook;
};

RGM_FACTORY(nomad, nomad, nomad_make);
RGM_HANDLER(nomad, letter, nomad_letter);
RGM_HANDLER(nomad, order_request, nomad_order);
RGM_HOOK(nomad, nomad_started);
RGM_HOOK(nomad, nomad_moved);
RGM_HOOK(nomad, nomad_stopped);
RGM_HOOK(nomad, nomad_retiring);
RGM_ANSWER(nomad, rgm_sleep, nomad_woken);
RGM_ANSWER(nomad, order_request, nomad_answered);

static void
nomad_withdrawn(struct rgm_actor *self, struct rgm_request *request)
{
    (void)request;
    atomic_fetch_add(&((struct nomad *)(void *)self)->seen->withdrawn, 1);
}

static const struct rgm_handler nomad_handlers[] = {
    RGM_ON(nomad, letter, nomad_letter),
    RGM_ON(nomad, order_request, nomad_order),
};

static const struct rgm_behaviour nomad_behaviour = {
    .name = "nomad",
    .size_bytes = sizeof(struct nomad),
    RGM_HANDLERS(nomad_handlers),
    .factory = RGM_MAKE(nomad, nomad_make),
    .started = RGM_DO(nomad, nomad_started),
    .movable = true,
    .moved = RGM_DO(nomad, nomad_moved),
    .withdrawn = nomad_withdrawn,
    .stopped = RGM_DO(nomad, nomad_stopped),
};

/* The same, with a word of its own when its worker retires. */
static const struct rgm_behaviour careful_behaviour = {
    .name = "careful nomad",
    .size_bytes = sizeof(struct nomad),
    RGM_HANDLERS(nomad_handlers),
    .factory = RGM_MAKE(nomad, nomad_make),
    .started = RGM_DO(nomad, nomad_started),
    .retiring = RGM_DO(nomad, nomad_retiring),
    .movable = true,
    .moved = RGM_DO(nomad, nomad_moved),
    .stopped = RGM_DO(nomad, nomad_stopped),
};

static int
nomad_make(struct nomad *self, const struct nomad *argument)
{
    self->seen = argument->seen;
    self->other = argument->other;
    self->asks_when_cancelled = argument->asks_when_cancelled;
    return 0;
}

static void
nomad_started(struct nomad *self)
{
    rgi_check(rgm_move(self) == -EINVAL); /* nobody retires */
    atomic_fetch_add(&self->seen->started, 1);
}

static void
nomad_moved(struct nomad *self)
{
    atomic_store(&self->seen->worker, 1 + rgm_worker_number(&self->actor));
    atomic_fetch_add(&self->seen->moved, 1);
}

static void
nomad_stopped(struct nomad *self)
{
    atomic_fetch_add(&self->seen->stopped, 1);
}

static void
nomad_retiring(struct nomad *self)
{
    atomic_fetch_add(&self->seen->retired, 1);
    if (!rgm_worker_retiring(&self->actor)) {
        rgm_stop(self);
        return;
    }
    rgi_check(rgm_move(self) == 0);
    rgi_check(rgm_move(self) == -EINVAL);
}

static void
nomad_letter(struct nomad *self, struct letter *letter)
{
    unsigned long last =
        atomic_exchange(&self->seen->last[letter->sender], letter->number);

    rgi_check(letter->number == last + 1);
    self->count++;
}

static void
nomad_keep(struct nomad *self, struct order_request *order)
{
    rgi_check(rgm_keep(self, order, &self->tokens[self->tokens_count]) == 0);
    self->tokens_count++;
}

static void
nomad_answer_kept(struct nomad *self)
{
    while (self->tokens_count > 0) {
        struct rgm_token token = self->tokens[--self->tokens_count];
        int status = rgm_answer(self, token, 0);

        rgi_check(status == 0 || status == -EALREADY);
        rgi_check(rgm_answer(self, token, 0) == -EALREADY);
    }
}

static void
nomad_order(struct nomad *self, struct order_request *order)
{
    order->worker = rgm_worker_number(&self->actor);
    order->value = self->count;
    switch (order->order) {
    case KEEP:
        nomad_keep(self, order);
        return;
    case ANSWER_KEPT:
        nomad_answer_kept(self);
        break;
    case ASK_FOR_EVER:
        rgm_sleep_for(&self->sleep, rgm_here(self), 3600 * RGM_NS_PER_S);
        rgm_ask(self, &self->sleep, RGM_REPLY(nomad, rgm_sleep, nomad_woken));
        break;
    case LEASE:
        rgi_check(rgm_worker_lease_take(self, &self->lease) == 0);
        break;
    case UNLEASE:
        rgm_worker_lease_release(&self->lease);
        break;
    case COUNT:
    case WHERE:
        break;
    }
    rgm_reply(self, order, 0);
}

/* Cancelled by the freeze: what is asked now is asked from the new worker. */
static void
nomad_woken(struct nomad *self, struct rgm_sleep *sleep)
{
    rgi_check(rgm_status(sleep) == -ECANCELED);
    if (!self->asks_when_cancelled)
        return;
    order_request_prepare(&self->again, self->other);
    self->again.order = WHERE;
    rgm_ask(self, &self->again,
            RGM_REPLY(nomad, order_request, nomad_answered));
}

static void
nomad_answered(struct nomad *self, struct order_request *again)
{
    atomic_store(&self->seen->answer_status, rgm_status(again));
    rgi_check(atomic_load(&self->seen->moved) == 1);
    atomic_fetch_add(&self->seen->answered, 1);
}

/* ------------------------------------------------------------------ the stage */

static struct rgm_runtime *
begin(uint32_t workers, uint32_t workers_max)
{
    struct rgm_runtime_options options = {.workers = workers,
                                          .workers_max = workers_max,
                                          .provider = &fake_class};
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(runtime) == 0);
    return runtime;
}

static void
end(struct rgm_runtime *runtime)
{
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

static void
shrink(struct rgm_runtime *runtime, uint32_t workers)
{
    struct rgm_resize request;

    rgm_resize_to(&request, workers);
    request.until_gone = true;
    rgi_check(rgm_call(runtime, &request) == 0);
}

static struct rgm_address
nomad_on(struct rgm_runtime *runtime, uint32_t worker, struct seen *seen)
{
    struct nomad argument = {.seen = seen};
    struct rgm_address address;

    rgi_check(rgm_runtime_spawn(runtime, worker, &nomad_behaviour, &argument,
                                &address) == 0);
    return address;
}

static int
order_status(struct rgm_runtime *runtime, struct rgm_address to,
             enum order what, struct order_request *ret_order)
{
    order_request_prepare(ret_order, to);
    ret_order->order = what;
    return rgm_call(runtime, ret_order);
}

static struct order_request
order(struct rgm_runtime *runtime, struct rgm_address to, enum order what)
{
    struct order_request request;

    rgi_check(order_status(runtime, to, what, &request) == 0);
    return request;
}

static void
send_letters(struct rgm_guest *guest, struct rgm_address to, uint32_t sender,
             unsigned long from, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        struct letter *letter = letter_take(&guest->actor, 0);

        rgi_check(letter != NULL);
        letter->sender = sender;
        letter->number = from + i;
        while (rgm_send(guest, to, letter) == -EAGAIN)
            (void)rgm_guest_wait(guest);
    }
}

/* ---------------------------------------------------------------------- cases */

static void
rsz_02_a_movable_actor_goes_on_under_its_name(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address nomad = nomad_on(runtime, 1, &seen);
    struct rgm_guest guest;

    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    send_letters(&guest, nomad, 0, 1, 10);
    rgi_check(order(runtime, nomad, COUNT).worker == 1);
    shrink(runtime, 1);
    rgi_check(atomic_load(&seen.moved) == 1 && atomic_load(&seen.worker) == 1);
    send_letters(&guest, nomad, 0, 11, 10); /* finds the number closed */
    rgm_guest_close(&guest);
    rgi_check(order(runtime, nomad, COUNT).value == 20);
    rgi_check(order(runtime, nomad, COUNT).worker == 0);
    rgi_check(atomic_load(&seen.started) == 1);
    end(runtime);
    rgi_check(atomic_load(&seen.stopped) == 1);
}

struct writer {
    struct rgm_runtime *runtime;
    struct rgm_address nomad;
    uint32_t number;
    atomic_bool *enough;
    unsigned long written;
};

static void *
write_on(void *argument)
{
    struct writer *writer = argument;
    struct rgm_guest guest;

    rgi_check(rgm_guest_open(writer->runtime, &guest) == 0);
    while (!atomic_load(writer->enough)) {
        send_letters(&guest, writer->nomad, writer->number,
                     writer->written + 1, 16);
        writer->written += 16;
    }
    rgm_guest_close(&guest);
    return NULL;
}

/* Guests write all the time; workers come and go; each letter arrives once and
 * in its order. */
static void
rsz_06_letters_arrive_once_and_in_order_whatever_moves(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(4, 64);
    atomic_bool enough = false;
    struct writer writers[3];
    pthread_t threads[3];
    struct rgm_address nomad = nomad_on(runtime, 3, &seen);
    unsigned long sum = 0;

    for (uint32_t i = 0; i < 3; i++) {
        writers[i] = (struct writer){runtime, nomad, i, &enough, 0};
        rgi_check(pthread_create(&threads[i], NULL, write_on, &writers[i]) ==
                  0);
    }
    for (unsigned i = 0; i < rgi_scale(2000); i++) {
        rgi_check(rgm_runtime_resize(runtime, 1 + i % 4) == 0);
        (void)order(runtime, nomad, COUNT);
    }
    shrink(runtime, 1);
    atomic_store(&enough, true);
    for (uint32_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        rgi_check(atomic_load(&seen.last[i]) == writers[i].written);
        sum += writers[i].written;
    }
    rgi_check(order(runtime, nomad, COUNT).value == sum);
    rgi_check(order(runtime, nomad, COUNT).worker == 0);
    end(runtime);
}

/* Writes to two readers, one on its worker and one elsewhere, in every delivery
 * and when it has moved; its neighbours keep the local FIFO busy. */
struct talker {
    struct rgm_actor actor;
    struct seen *seen;
    struct rgm_address readers[2];
    unsigned long number[2];
    struct rgm_sleep sleep;
    bool moved;
};

RGM_FACTORY(talker, talker, talker_make);
RGM_HANDLER(talker, letter, talker_letter);
RGM_HOOK(talker, talker_started);
RGM_HOOK(talker, talker_moved);
RGM_ANSWER(talker, rgm_sleep, talker_woken);

static const struct rgm_handler talker_handlers[] = {
    RGM_ON(talker, letter, talker_letter),
};

static const struct rgm_behaviour talker_behaviour = {
    .name = "talker",
    .size_bytes = sizeof(struct talker),
    RGM_HANDLERS(talker_handlers),
    .factory = RGM_MAKE(talker, talker_make),
    .started = RGM_DO(talker, talker_started),
    .movable = true,
    .moved = RGM_DO(talker, talker_moved),
};

static int
talker_make(struct talker *self, const struct talker *argument)
{
    self->seen = argument->seen;
    self->readers[0] = argument->readers[0];
    self->readers[1] = argument->readers[1];
    return 0;
}

static void
talker_speaks(struct talker *self, unsigned long count)
{
    for (unsigned long i = 0; i < 2 * count; i++) {
        struct letter *letter = letter_take(&self->actor, 0);

        rgi_check(letter != NULL);
        letter->sender = 0;
        letter->number = ++self->number[i % 2];
        rgi_check(rgm_send(self, self->readers[i % 2], letter) == 0);
    }
}

static void
talker_started(struct talker *self)
{
    talker_speaks(self, 1);
    rgm_sleep_for(&self->sleep, rgm_here(self), 3600 * RGM_NS_PER_S);
    rgm_ask(self, &self->sleep, RGM_REPLY(talker, rgm_sleep, talker_woken));
}

/* The last thing it says on the old worker. */
static void
talker_woken(struct talker *self, struct rgm_sleep *sleep)
{
    (void)sleep;
    talker_speaks(self, 100);
}

static void
talker_moved(struct talker *self)
{
    talker_speaks(self, 100);
    atomic_fetch_add(&self->seen->moved, 1);
}

static void
talker_letter(struct talker *self, struct letter *letter)
{
    (void)letter;
    talker_speaks(self, 1);
}

/* Writes to itself, a hundred letters a turn, until it is told to go. */
static void
chatter_starts(struct robot *self)
{
    for (unsigned i = 0; i < 100; i++)
        rgi_check(robot_send(self, rgm_self(self), (long)i) == 0);
}

static void
chatter_goes_on(struct robot *self, struct note *note)
{
    if (self->number == 0)
        rgi_check(robot_send(self, rgm_self(self), note->value) == 0);
}

static void
chatter_stays(struct robot *self)
{
    (void)self;
}

static void
what_it_said_before_is_heard_before(void)
{
    for (unsigned i = 0; i < rgi_scale(3000); i++) {
        struct seen readers[2] = {{.started = 0}, {.started = 0}};
        struct seen seen = {.started = 0};
        struct script chatter = {.started = chatter_starts,
                                 .note = chatter_goes_on,
                                 .retiring = chatter_stays};
        struct rgm_runtime *runtime = begin(3, 3);
        struct talker argument = {.seen = &seen};
        struct nomad reader = {.seen = &readers[0]};
        struct rgm_address talker, chatterer;

        rgi_check(rgm_runtime_spawn(runtime, 2, &careful_behaviour, &reader,
                                    &argument.readers[0]) == 0);
        argument.readers[1] = nomad_on(runtime, 0, &readers[1]);
        rgi_check(rgm_runtime_spawn(runtime, 2, &robot_behaviour, &chatter,
                                    &chatterer) == 0);
        rgi_check(rgm_runtime_spawn(runtime, 2, &talker_behaviour, &argument,
                                    &talker) == 0);
        rgi_check(rgm_runtime_resize(runtime, 2) == 0);
        while (atomic_load(&seen.moved) == 0)
            sched_yield();
        rgi_check(rgm_runtime_stop_actor(runtime, chatterer) == 0);
        shrink(runtime, 2);
        while (atomic_load(&readers[0].last[0]) != 201 ||
               atomic_load(&readers[1].last[0]) != 201)
            sched_yield(); /* they check the order */
        end(runtime);
    }
}

struct asker {
    struct rgm_guest guest;
    struct order_request request;
    int status;
};

static void
asker_answered(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
}

static void
asker_asks(struct rgm_runtime *runtime, struct asker *asker,
           struct rgm_address nomad)
{
    rgi_check(rgm_guest_open(runtime, &asker->guest) == 0);
    order_request_prepare(&asker->request, nomad);
    asker->request.order = KEEP;
    rgm_ask_request(&asker->guest.actor, &asker->request.request,
                    asker_answered);
}

static void
kept_requests_and_their_tokens_move_along(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(3, 3);
    struct rgm_address nomad = nomad_on(runtime, 2, &seen);
    struct asker askers[3];

    for (unsigned i = 0; i < 3; i++)
        asker_asks(runtime, &askers[i], nomad);
    (void)order(runtime, nomad, COUNT);
    shrink(runtime, 1);
    rgi_check(atomic_load(&seen.moved) == 1 || atomic_load(&seen.moved) == 2);
    rgm_cancel(&askers[1].guest, &askers[1].request); /* kept, far away */
    rgm_guest_close(&askers[1].guest);
    rgi_check(rgm_status(&askers[1].request) == -ECANCELED);
    rgi_check(atomic_load(&seen.withdrawn) == 1);
    (void)order(runtime, nomad, ANSWER_KEPT);
    rgm_guest_close(&askers[0].guest);
    rgm_guest_close(&askers[2].guest);
    rgi_check(rgm_status(&askers[0].request) == 0);
    rgi_check(rgm_status(&askers[2].request) == 0);
    end(runtime);
}

static void
what_it_keeps_goes_home_when_it_ends_elsewhere(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address nomad = nomad_on(runtime, 1, &seen);
    struct asker asker;

    asker_asks(runtime, &asker, nomad);
    (void)order(runtime, nomad, COUNT);
    shrink(runtime, 1);
    rgi_check(rgm_runtime_stop_actor(runtime, nomad) == 0); /* by its name */
    rgm_guest_close(&asker.guest);
    rgi_check(rgm_status(&asker.request) == -ESRCH);
    rgi_check(atomic_load(&seen.withdrawn) == 1);
    end(runtime);
    rgi_check(atomic_load(&seen.stopped) == 1);
}

struct watcher {
    struct rgm_guest guest;
    struct rgm_down down;
    unsigned downs;
};

static void
watcher_hears(struct rgm_actor *self, struct rgm_request *request)
{
    (void)request;
    ((struct watcher *)(void *)self)->downs++;
}

/* Watched before it moves, while nobody knows, and after its worker has gone. */
static void
whoever_watches_it_hears_of_its_end(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address nomad = nomad_on(runtime, 1, &seen);
    struct watcher watchers[3];

    for (unsigned i = 0; i < 3; i++) {
        if (i == 2)
            shrink(runtime, 1);
        watchers[i].downs = 0;
        rgi_check(rgm_guest_open(runtime, &watchers[i].guest) == 0);
        rgm_monitor_actor(&watchers[i].guest.actor, &watchers[i].down, nomad,
                          watcher_hears);
    }
    rgi_check(order(runtime, nomad, WHERE).worker == 0);
    rgi_check(rgm_runtime_stop_actor(runtime, nomad) == 0);
    for (unsigned i = 0; i < 3; i++) {
        rgm_guest_close(&watchers[i].guest);
        rgi_check(watchers[i].downs == 1);
        rgi_check(rgm_status(&watchers[i].down) == 0);
        rgi_check(watchers[i].down.end.kind == RGM_END_STOPPED);
        rgi_check(rgm_address_same(rgm_down_who(&watchers[i].down), nomad));
    }
    end(runtime);
}

static void
what_it_has_out_is_cancelled_and_awaited(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct nomad argument = {.seen = &seen, .asks_when_cancelled = true};
    struct rgm_address nomad;

    argument.other = nomad_on(runtime, 0, &(struct seen){.started = 0});
    rgi_check(rgm_runtime_spawn(runtime, 1, &nomad_behaviour, &argument,
                                &nomad) == 0);
    (void)order(runtime, nomad, ASK_FOR_EVER);
    shrink(runtime, 1);
    while (atomic_load(&seen.answered) == 0)
        sched_yield();
    rgi_check(atomic_load(&seen.answer_status) == 0);
    rgi_check(rgm_runtime_stop_actor(runtime, argument.other) == 0);
    rgi_check(order(runtime, nomad, WHERE).worker == 0);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rig_destroy(runtime);
}

static void
lse_14_a_lease_holds_the_actor_that_took_it(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address nomad = nomad_on(runtime, 1, &seen);

    (void)order(runtime, nomad, LEASE);
    rgi_check(rgm_runtime_resize(runtime, 1) == 0);
    for (unsigned i = 0; i < 20; i++)
        rgi_check(rgm_runtime_threads(runtime) == 2);
    rgi_check(atomic_load(&seen.moved) == 0);
    /* Frozen, it hears nothing; it is released by somebody else's hand. */
    {
        struct rgm_worker_lease moved = {0};
        struct rgi_slot *slot =
            rgi_slot_find(&runtime->workers[1]->slots, nomad);
        struct nomad *self = (struct nomad *)(void *)slot->u.actor;

        rgm_worker_lease_move(&moved, &self->lease);
        rgi_check(atomic_load(&seen.moved) == 0);
        rgm_worker_lease_release(&moved);
    }
    shrink(runtime, 1);
    rgi_check(order(runtime, nomad, WHERE).worker == 0);
    end(runtime);
}

static void
a_number_waits_for_the_last_actor_named_by_it(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 3);
    struct rgm_address nomad = nomad_on(runtime, 1, &seen);
    struct order_request request;

    shrink(runtime, 1);
    rgi_check(rgm_runtime_resize(runtime, 2) == 0);
    rgi_check(rgm_runtime_live(runtime) == 0x5); /* not 1: that is its name */
    rgi_check(rgm_runtime_stop_actor(runtime, nomad) == 0);
    rgi_check(rgm_runtime_resize(runtime, 3) == 0);
    rgi_check(rgm_runtime_live(runtime) == 0x7);
    rgi_check(order_status(runtime, nomad, COUNT, &request) == -ESRCH);
    end(runtime);
}

static void
it_moves_again_and_again(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(8, 8);
    struct rgm_address nomad = nomad_on(runtime, 7, &seen);
    struct rgm_guest guest;
    unsigned long sent = 0;

    rgi_check(rgm_guest_open(runtime, &guest) == 0);
    for (uint32_t workers = 7; workers > 0; workers--) {
        send_letters(&guest, nomad, 0, sent + 1, 5);
        shrink(runtime, workers);
        sent += 5;
        rgi_check(order(runtime, nomad, COUNT).worker < workers);
    }
    rgm_guest_close(&guest);
    rgi_check(order(runtime, nomad, COUNT).value == sent);
    rgi_check(rgm_runtime_stop_actor(runtime, nomad) == 0);
    rgi_check(rgm_runtime_resize(runtime, 8) == 0); /* all numbers are free */
    end(runtime);
}

static void
two_retire_at_once(void)
{
    struct seen seens[2] = {{.started = 0}, {.started = 0}};
    struct rgm_runtime *runtime = begin(3, 3);
    struct rgm_address nomads[2];

    for (uint32_t i = 0; i < 2; i++)
        nomads[i] = nomad_on(runtime, 1 + i, &seens[i]);
    shrink(runtime, 1);
    for (uint32_t i = 0; i < 2; i++) {
        rgi_check(order(runtime, nomads[i], COUNT).worker == 0);
        rgi_check(atomic_load(&seens[i].moved) == 1);
    }
    end(runtime);
}

static void
a_hook_may_say_when(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct nomad argument = {.seen = &seen};
    struct rgm_address nomad;

    rgi_check(rgm_runtime_spawn(runtime, 1, &careful_behaviour, &argument,
                                &nomad) == 0);
    shrink(runtime, 1);
    rgi_check(atomic_load(&seen.retired) == 1 && atomic_load(&seen.moved) == 1);
    rgi_check(order(runtime, nomad, WHERE).worker == 0);
    end(runtime);
    rgi_check(atomic_load(&seen.retired) == 2);
}

static void
a_thousand_move_and_few_numbers_are_lent(void)
{
    struct rgm_runtime_options options = {.workers = 2,
                                          .workers_max = 2,
                                          .lent_slots = 4,
                                          .provider = &fake_class};
    struct seen seen = {.started = 0};
    struct rgm_address nomads[1000];
    struct rgm_runtime *runtime;

    fake_reset();
    runtime = rig_make_with(&options);
    rgi_check(rgm_runtime_start(runtime) == 0);
    for (unsigned i = 0; i < 1000; i++)
        nomads[i] = nomad_on(runtime, 1, &seen);
    shrink(runtime, 1);
    rgi_check(atomic_load(&seen.moved) == 1000);
    for (unsigned i = 0; i < 1000; i++)
        rgi_check(order(runtime, nomads[i], WHERE).worker == 0);
    end(runtime);
}

static void
without_memory_it_stops_or_waits(void)
{
    unsigned nth = 0;
    bool failed;

    do {
        struct seen seen = {.started = 0};
        struct rgm_runtime *runtime = begin(2, 2);
        struct rgm_address nomad = nomad_on(runtime, 1, &seen);
        struct order_request request;
        int status;

        (void)order(runtime, nomad, COUNT);
        rgi_memory_fail_nth(++nth);
        status = rgm_runtime_resize(runtime, 1);
        rgi_check(status == 0 || status == -ENOMEM);
        shrink(runtime, 1);
        failed = rgi_memory_fail_off();
        if (atomic_load(&seen.moved) == 1)
            rgi_check(order(runtime, nomad, WHERE).worker == 0);
        else
            rgi_check(order_status(runtime, nomad, WHERE, &request) == -EPIPE);
        end(runtime);
        rgi_check(atomic_load(&seen.stopped) == 1);
    } while (failed);
}

static void *
stop_it(void *argument)
{
    rgm_runtime_stop(argument);
    return NULL;
}

static void
a_stop_may_come_while_it_moves(void)
{
    for (unsigned i = 0; i < rgi_scale(5000); i++) {
        struct seen seen = {.started = 0};
        struct rgm_runtime *runtime = begin(3, 3);
        struct rgm_address nomad = nomad_on(runtime, 2, &seen);
        pthread_t thread;
        int status;

        (void)order(runtime, nomad, ASK_FOR_EVER);
        rgi_check(pthread_create(&thread, NULL, stop_it, runtime) == 0);
        status = rgm_runtime_resize(runtime, 1 + i % 2);
        rgi_check(status == 0 || status == -EPIPE);
        pthread_join(thread, NULL);
        end(runtime);
        rgi_check(atomic_load(&seen.stopped) == 1);
    }
}

/* ------------------------------------------------ onto the worker of who writes */

/* Its lease keeps its worker open when all else has gone. */
struct keeper {
    struct rgm_actor actor;
};

static struct rgm_worker_lease kept_open; /* worker 1 */

RGM_HOOK(keeper, keeper_started);

static const struct rgm_behaviour keeper_behaviour = {
    .name = "keeper",
    .size_bytes = sizeof(struct keeper),
    .started = RGM_DO(keeper, keeper_started),
};

static void
keeper_started(struct keeper *self)
{
    rgi_check(rgm_worker_lease_take(self, &kept_open) == 0);
}

/* On worker 0, to which the nomad of worker 1 has moved by now. */
struct friend {
    struct rgm_actor actor;
    struct seen *seen;
    struct order_request order;
    struct rgm_down down;
};

struct errand {
    struct rgm_request request;
    struct rgm_address nomad;
    struct seen *seen;
    enum { WRITES, STOPS, ASKS_AND_CANCELS, WATCHES, STOPS_BEFORE } what;
    bool done;  /* when home: else ask again */
};
RGM_REQUEST(errand);

/* What was asked last. */
struct cancel_errand {
    struct rgm_request request;
};
RGM_REQUEST(cancel_errand);

RGM_HANDLER(friend, errand, friend_errand);
RGM_HANDLER(friend, cancel_errand, friend_cancel);
RGM_ANSWER(friend, order_request, friend_answered);
RGM_ANSWER(friend, rgm_down, friend_told);

static const struct rgm_handler friend_handlers[] = {
    RGM_ON(friend, errand, friend_errand),
    RGM_ON(friend, cancel_errand, friend_cancel),
};

static const struct rgm_behaviour friend_behaviour = {
    .name = "friend",
    .size_bytes = sizeof(struct friend),
    RGM_HANDLERS(friend_handlers),
};

static void
friend_writes(struct friend *self, struct rgm_address nomad, unsigned long from)
{
    for (unsigned long number = from; number < from + 3; number++) {
        struct letter *letter = letter_take(&self->actor, 0);

        rgi_check(letter != NULL);
        letter->number = number;
        rgi_check(rgm_send(self, nomad, letter) == 0);
    }
    rgm_flush(self);
}

static void
friend_answered(struct friend *self, struct order_request *order)
{
    atomic_store(&self->seen->answer_status, rgm_status(order));
    atomic_fetch_add(&self->seen->answered, 1);
}

static void
friend_told(struct friend *self, struct rgm_down *down)
{
    rgi_check(rgm_status(down) == 0);
    atomic_fetch_add(&self->seen->answered, 1);
}

/* By the nomad's old address, whose number is closed. */
static void
friend_goes_on(struct friend *self, const struct errand *errand)
{
    self->seen = errand->seen;
    if (errand->what == STOPS)
        rgm_stop_actor(self, errand->nomad);
    if (errand->what == WATCHES) {
        rgm_monitor(self, &self->down, errand->nomad,
                    RGM_REPLY(friend, rgm_down, friend_told));
        rgm_flush(self);
        rgm_stop_actor(self, errand->nomad);
    }
    if (errand->what == ASKS_AND_CANCELS) {
        order_request_prepare(&self->order, errand->nomad);
        self->order.order = KEEP;
        rgm_ask(self, &self->order,
                RGM_REPLY(friend, order_request, friend_answered));
        rgm_flush(self);
    }
}

static void
friend_cancel(struct friend *self, struct cancel_errand *errand)
{
    rgm_cancel(self, &self->order);
    rgm_reply(self, errand, 0);
}

/* The first letters are relayed into our inbox, in which nobody looks before we
 * return; the others find the old number closed. It closes when its lease is
 * released, and needs nothing of us any more once what it borrowed is back. */
static void
friend_errand(struct friend *self, struct errand *errand)
{
    struct rgm_runtime *runtime = self->actor.worker->runtime;

    errand->done = self->actor.worker->slots.lent == 0;
    if (!errand->done) {
        rgm_reply(self, errand, 0);
        return;
    }
    if (errand->what == STOPS_BEFORE) {
        rgm_stop_actor(self, errand->nomad);
        rgm_reply(self, errand, 0);
        return;
    }
    friend_writes(self, errand->nomad, 1);
    rgm_worker_lease_release(&kept_open);
    while (rgi_inbox_word(&runtime->places[1].inbox) != RGI_INBOX_CLOSED)
        sched_yield();
    friend_writes(self, errand->nomad, 4);
    friend_goes_on(self, errand);
    rgm_reply(self, errand, 0);
}

/* With the friend on worker 0, and nobody but the keeper on worker 1. */
static struct errand
errand_prepared(struct rgm_runtime *runtime, struct seen *seen,
                struct rgm_address *ret_friend)
{
    struct rgm_address keeper;
    struct errand errand;

    rgi_check(rgm_runtime_spawn(runtime, 0, &friend_behaviour, NULL,
                                ret_friend) == 0);
    errand_prepare(&errand, *ret_friend);
    errand.nomad = nomad_on(runtime, 1, seen);
    errand.seen = seen;
    errand.what = WRITES;
    rgi_check(rgm_runtime_spawn(runtime, 1, &keeper_behaviour, NULL,
                                &keeper) == 0);
    rgi_check(rgm_runtime_resize(runtime, 1) == 0);
    while (atomic_load(&seen->moved) == 0)
        sched_yield();
    return errand;
}

static void
errand_run(struct rgm_runtime *runtime, struct errand *errand)
{
    do
        rgi_check(rgm_call(runtime, errand) == 0);
    while (!errand->done);
}

static void
who_moves_to_the_writers_worker_hears_him_in_order(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address friend;
    struct errand errand = errand_prepared(runtime, &seen, &friend);

    errand_run(runtime, &errand);
    shrink(runtime, 1);
    rgi_check(order(runtime, errand.nomad, COUNT).value == 6);
    end(runtime);
}

static void
who_moves_to_the_writers_worker_is_stopped_from_there(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address friend;
    struct errand errand = errand_prepared(runtime, &seen, &friend);

    errand.what = STOPS;
    errand_run(runtime, &errand);
    while (atomic_load(&seen.stopped) == 0)
        sched_yield();
    end(runtime);
    rgi_check(atomic_load(&seen.stopped) == 1);
}

static void
who_moves_to_the_watchers_worker_is_watched_there(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address friend;
    struct errand errand = errand_prepared(runtime, &seen, &friend);

    errand.what = WATCHES;
    errand_run(runtime, &errand);
    while (atomic_load(&seen.answered) == 0)
        sched_yield();
    rgi_check(atomic_load(&seen.stopped) == 1);
    end(runtime);
    rgi_check(atomic_load(&seen.answered) == 1);
}

/* The cancel finds the request where it is kept, at its asker's own worker. */
static void
who_moves_to_the_askers_worker_gives_back_what_is_cancelled(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address friend;
    struct errand errand = errand_prepared(runtime, &seen, &friend);
    struct cancel_errand cancel;

    errand.what = ASKS_AND_CANCELS;
    errand_run(runtime, &errand);
    rgi_check(order(runtime, errand.nomad, COUNT).value == 6); /* it is kept */
    cancel_errand_prepare(&cancel, friend);
    rgi_check(rgm_call(runtime, &cancel) == 0);
    while (atomic_load(&seen.answered) == 0)
        sched_yield();
    rgi_check(atomic_load(&seen.answer_status) == -ECANCELED);
    rgi_check(atomic_load(&seen.withdrawn) == 1);
    end(runtime);
}

/* While its old worker is open, and relays. */
static void
a_stop_that_is_relayed_to_its_senders_worker_stops(void)
{
    struct seen seen = {.started = 0};
    struct rgm_runtime *runtime = begin(2, 2);
    struct rgm_address friend;
    struct errand errand = errand_prepared(runtime, &seen, &friend);

    errand.what = STOPS_BEFORE;
    errand_run(runtime, &errand);
    while (atomic_load(&seen.stopped) == 0)
        sched_yield();
    rgm_worker_lease_release(&kept_open);
    end(runtime);
}

#define CASES(X)                                                               \
    X(move, rsz_02_a_movable_actor_goes_on_under_its_name)                     \
    X(move, rsz_06_letters_arrive_once_and_in_order_whatever_moves)            \
    X(move, what_it_said_before_is_heard_before)                               \
    X(move, kept_requests_and_their_tokens_move_along)                         \
    X(move, what_it_keeps_goes_home_when_it_ends_elsewhere)                    \
    X(move, whoever_watches_it_hears_of_its_end)                               \
    X(move, what_it_has_out_is_cancelled_and_awaited)                          \
    X(move, lse_14_a_lease_holds_the_actor_that_took_it)                       \
    X(move, a_number_waits_for_the_last_actor_named_by_it)                     \
    X(move, it_moves_again_and_again)                                          \
    X(move, two_retire_at_once)                                                \
    X(move, who_moves_to_the_writers_worker_hears_him_in_order)                \
    X(move, who_moves_to_the_writers_worker_is_stopped_from_there)             \
    X(move, who_moves_to_the_watchers_worker_is_watched_there)                 \
    X(move, who_moves_to_the_askers_worker_gives_back_what_is_cancelled)       \
    X(move, a_stop_that_is_relayed_to_its_senders_worker_stops)                \
    X(move, a_hook_may_say_when)                                               \
    X(move, a_thousand_move_and_few_numbers_are_lent)                          \
    X(move, without_memory_it_stops_or_waits)                                  \
    X(move, a_stop_may_come_while_it_moves)

RGI_CASES(CASES)
