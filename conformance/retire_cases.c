/* SPDX-License-Identifier: MIT */

/*
 * retire_cases.c - what must every provider show when a worker goes, and its
 * actors do not?
 *
 * The actor here is a nomad: movable, and it does what it is told. What it asks
 * is answered to it wherever it is by then, and it says where that was.
 */

#include "conformance/retire_cases.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include <ringmail/detach.h>

#include "conformance/order.h"

#define LONG_NS (3600 * RGM_NS_PER_S)
#define FAR_NS (RGM_NEVER / 2) /* of the clock */

/* What a nomad has seen; its own, and read by the test when it may. */
struct diary {
    struct rgm_stream *stream; /* that it reads from */
    struct rgm_read read;
    struct rgm_sleep sleep;
    struct rgm_identity sleep_identity;
    char byte;
    atomic_uint read_at;  /* 1 + the worker where it heard the end of a read */
    atomic_uint slept_at; /* likewise, of a sleep */
    atomic_int read_status;
    atomic_int slept_status;
    atomic_uint arrived_at; /* 1 + the worker where it has attached */
    struct rgm_detach detach;
    struct rgm_attach attach;
    struct rgm_stream own; /* a connection of its own */
    bool has_connection;
    atomic_uint been; /* bit: a worker it has come to */
};

struct nomad {
    struct rgm_actor actor;
    struct diary *diary;
};

enum wish { READ, SLEEP, SLEEP_AT_0, IDENTIFY, WHERE };

struct wish_request {
    struct rgm_request request;
    enum wish wish;
    uint32_t worker; /* when home: where it was */
};
RGM_REQUEST(wish_request);

RGM_FACTORY(nomad, diary, nomad_make);
RGM_HOOK(nomad, nomad_retiring);
RGM_HOOK(nomad, nomad_moved);
RGM_HANDLER(nomad, wish_request, nomad_wish);
RGM_ANSWER(nomad, rgm_read, on_read);
RGM_ANSWER(nomad, rgm_sleep, on_slept);
RGM_ANSWER(nomad, rgm_detach, on_detached);
RGM_ANSWER(nomad, rgm_attach, on_attached);

static const struct rgm_handler nomad_handlers[] = {
    RGM_ON(nomad, wish_request, nomad_wish),
};

static const struct rgm_behaviour nomad_behaviour = {
    .name = "nomad",
    .size_bytes = sizeof(struct nomad),
    RGM_HANDLERS(nomad_handlers),
    .factory = RGM_MAKE(nomad, nomad_make),
    .retiring = RGM_DO(nomad, nomad_retiring),
    .movable = true,
    .moved = RGM_DO(nomad, nomad_moved),
};

/* The same, and what it has out stays. */
static const struct rgm_behaviour settler_behaviour = {
    .name = "settler",
    .size_bytes = sizeof(struct nomad),
    RGM_HANDLERS(nomad_handlers),
    .factory = RGM_MAKE(nomad, nomad_make),
    .retiring = RGM_DO(nomad, nomad_retiring),
    .movable = true,
    .operations_stay = true,
    .moved = RGM_DO(nomad, nomad_moved),
};

static int
nomad_make(struct nomad *self, const struct diary *diary)
{
    self->diary = (struct diary *)(uintptr_t)diary;
    return 0;
}

/* Its connection goes first, and waits for it in the diary. */
static void
nomad_retiring(struct nomad *self)
{
    struct diary *diary = self->diary;

    if (!rgm_worker_retiring(&self->actor)) {
        rgm_stop(self);
    } else if (diary->has_connection) {
        rgm_stream_detach(&diary->detach, &diary->own);
        rgm_ask(self, &diary->detach,
                RGM_REPLY(nomad, rgm_detach, on_detached));
    } else {
        rgi_check(rgm_move(self) == 0);
    }
}

static void
on_detached(struct nomad *self, struct rgm_detach *detach)
{
    rgi_check(rgm_status(detach) == 0);
    rgi_check(rgm_move(self) == 0);
}

static void
nomad_moved(struct nomad *self)
{
    struct diary *diary = self->diary;

    atomic_fetch_or(&diary->been, 1u << rgm_worker_number(&self->actor));
    if (!diary->has_connection)
        return;
    rgm_stream_attach(&diary->attach, rgm_here(self), &diary->own,
                      &diary->detach.detached);
    rgm_ask(self, &diary->attach, RGM_REPLY(nomad, rgm_attach, on_attached));
}

static void
on_attached(struct nomad *self, struct rgm_attach *attach)
{
    rgi_check(rgm_status(attach) == 0);
    atomic_store(&self->diary->arrived_at, 1 + rgm_worker_number(&self->actor));
}

static void
sleep_at(struct nomad *self, struct rgm_address where)
{
    struct diary *diary = self->diary;

    rgm_sleep_for(&diary->sleep, where, LONG_NS);
    rgm_ask(self, &diary->sleep, RGM_REPLY(nomad, rgm_sleep, on_slept));
    rgi_check(rgm_identify(self, &diary->sleep, &diary->sleep_identity) == 0);
}

static void
nomad_wish(struct nomad *self, struct wish_request *wish)
{
    struct diary *diary = self->diary;

    wish->worker = rgm_worker_number(&self->actor);
    if (wish->wish == READ) {
        rgm_stream_read(&diary->read, diary->stream, &diary->byte, 1);
        rgm_ask(self, &diary->read, RGM_REPLY(nomad, rgm_read, on_read));
    } else if (wish->wish == SLEEP) {
        sleep_at(self, rgm_here(self));
    } else if (wish->wish == SLEEP_AT_0) {
        sleep_at(self, rgm_worker_address(0));
    } else if (wish->wish == IDENTIFY) {
        rgi_check(rgm_identify(self, &diary->sleep, &diary->sleep_identity) ==
                  0);
    }
    rgm_reply(self, wish, 0);
}

static void
on_read(struct nomad *self, struct rgm_read *read)
{
    atomic_store(&self->diary->read_status, rgm_status(read));
    atomic_store(&self->diary->read_at, 1 + rgm_worker_number(&self->actor));
}

static void
on_slept(struct nomad *self, struct rgm_sleep *sleep)
{
    atomic_store(&self->diary->slept_status, rgm_status(sleep));
    atomic_store(&self->diary->slept_at, 1 + rgm_worker_number(&self->actor));
}

static struct rgm_address
nomad_on(struct stage *stage, uint32_t worker, struct diary *diary)
{
    struct rgm_address nomad;

    rgi_check(rgm_runtime_spawn(stage->runtime, worker, &nomad_behaviour, diary,
                                &nomad) == 0);
    return nomad;
}

static struct rgm_address
settler_on(struct stage *stage, uint32_t worker, struct diary *diary)
{
    struct rgm_address settler;

    rgi_check(rgm_runtime_spawn(stage->runtime, worker, &settler_behaviour,
                                diary, &settler) == 0);
    return settler;
}

/* Returns: where it was. */
static uint32_t
tell(struct stage *stage, struct rgm_address nomad, enum wish wish)
{
    struct wish_request request;

    wish_request_prepare(&request, nomad);
    request.wish = wish;
    rgi_check(rgm_call(stage->runtime, &request) == 0);
    return request.worker;
}

static void
await(atomic_uint *word)
{
    while (atomic_load(word) == 0)
        sched_yield();
}

static void
puppet_stop(struct puppet *puppet, void *argument)
{
    (void)argument;
    rgm_stop(puppet);
}

/* The last worker goes, and has gone when this returns, if that is waited for. */
static void
shrink(struct stage *stage, uint32_t workers, bool until_gone)
{
    struct rgm_resize resize;

    stage_do_on(stage, workers, puppet_stop, NULL);
    rgm_resize_to(&resize, workers);
    resize.until_gone = until_gone;
    rgi_check(rgm_call(stage->runtime, &resize) == 0);
}

/* ---------------------------------------------------------------- operations */

struct count {
    uint64_t submits;
    uint32_t in_flight;
};

static void
look(struct puppet *puppet, void *argument)
{
    struct spy *spy = spy_of(puppet->number);
    struct count *count = argument;

    count->submits = spy->submits[RGM_OP_READ];
    count->in_flight = spy->provider->in_flight;
}

static struct count
reads_at(struct stage *stage, uint32_t worker)
{
    struct count count = {0};

    stage_do_on(stage, worker, look, &count);
    return count;
}

/* The nomad of worker 2 reads from a stream of worker 0, and is to move. As long
 * as the read is out there it stays, and hears its end before it has moved; the
 * next read is accepted at worker 0 too, where its stream is. */
void
opl_09_an_operation_ends_where_it_was_accepted(struct stage *stage)
{
    struct diary diary = {.has_connection = false};
    struct rgm_stream near;
    struct rgm_address nomad;
    uint32_t there;
    int peer;

    stage->options.workers = 3;
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    diary.stream = &near;
    nomad = nomad_on(stage, 2, &diary);
    rgi_check(tell(stage, nomad, READ) == 2);
    while (reads_at(stage, 0).submits == 0)
        continue;
    stage_do_on(stage, 0, order_hold_cancels, NULL);
    shrink(stage, 2, false);
    rgi_check(rgm_runtime_threads(stage->runtime) == 3);
    rgi_check(reads_at(stage, 0).in_flight > 0);
    rgi_check(atomic_load(&diary.read_at) == 0);
    peer_send(peer, "x", 1); /* what has happened wins over the cancel */
    await(&diary.read_at);
    rgi_check(atomic_load(&diary.read_status) == 0 && diary.byte == 'x');
    rgi_check(atomic_load(&diary.read_at) == 1 + 2);
    there = tell(stage, nomad, WHERE);
    rgi_check(there != 2);
    atomic_store(&diary.read_at, 0);
    rgi_check(tell(stage, nomad, READ) == there);
    peer_send(peer, "y", 1);
    await(&diary.read_at);
    rgi_check(atomic_load(&diary.read_at) == 1 + there && diary.byte == 'y');
    rgi_check(reads_at(stage, 0).submits == 2);
    rgi_check(reads_at(stage, 1).submits == 0);
    rgi_check(spy_of(2)->submits[RGM_OP_READ] == 0);
    stage_do_on(stage, 0, order_release_cancels, NULL);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage->options.workers = 2; /* of which there are puppets */
    stage_close(stage);
}

/* The settler of worker 2 reads from a stream of worker 0, and moves meanwhile:
 * the provider that was given the read is the one that ends it, and the settler
 * hears of it where it is then. */
void
opl_09_an_operation_stays_while_its_actor_moves(struct stage *stage)
{
    struct diary diary = {.has_connection = false};
    struct rgm_stream near;
    struct rgm_address settler;
    int peer;

    stage->options.workers = 3;
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    diary.stream = &near;
    settler = settler_on(stage, 2, &diary);
    rgi_check(tell(stage, settler, READ) == 2);
    while (reads_at(stage, 0).submits == 0)
        continue;
    shrink(stage, 2, false);
    await(&diary.been);
    rgi_check(tell(stage, settler, WHERE) != 2);
    rgi_check(reads_at(stage, 0).in_flight > 0);
    rgi_check(spy_of(0)->cancels == 0);
    rgi_check(atomic_load(&diary.read_at) == 0);
    peer_send(peer, "x", 1);
    await(&diary.read_at);
    rgi_check(atomic_load(&diary.read_status) == 0 && diary.byte == 'x');
    rgi_check(atomic_load(&diary.read_at) ==
              1 + tell(stage, settler, WHERE));
    rgi_check(reads_at(stage, 0).submits == 1);
    rgi_check(reads_at(stage, 1).submits == 0);
    rgi_check(spy_of(2)->submits[RGM_OP_READ] == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage->options.workers = 2; /* of which there are puppets */
    stage_close(stage);
}

/* --------------------------------------------------------------------- sleeps */

static int
retime(struct stage *stage, struct rgm_identity identity, uint64_t deadline_ns)
{
    struct rgm_retiming retiming;

    rgm_retime_identity(&retiming, identity, deadline_ns);
    return rgm_call(stage->runtime, &retiming);
}

/* The nomad of the worker that goes. Its sleep ends there before it moves; its
 * next one is where it is then, and the old identity names nothing. */
static void
sleep_and_move(struct stage *stage, uint32_t leaves)
{
    struct diary diary = {.has_connection = false};
    struct rgm_address nomad = nomad_on(stage, leaves, &diary);
    struct rgm_identity old;
    uint32_t here;

    rgi_check(tell(stage, nomad, SLEEP) == leaves);
    old = diary.sleep_identity;
    rgi_check(rgm_address_worker(old.where) == leaves);
    rgi_check(retime(stage, old, FAR_NS) == 0);
    shrink(stage, leaves, true);
    rgi_check(atomic_load(&diary.slept_status) == -ECANCELED);
    rgi_check(atomic_load(&diary.slept_at) == 1 + leaves);
    atomic_store(&diary.slept_at, 0);
    here = tell(stage, nomad, SLEEP);
    rgi_check(here < leaves);
    rgi_check(rgm_address_worker(diary.sleep_identity.where) == here);
    rgi_check(rgm_runtime_cancel(stage->runtime, old) < 0);
    rgi_check(retime(stage, old, 0) < 0);
    (void)stage_counters(stage);
    rgi_check(atomic_load(&diary.slept_at) == 0); /* that was not for it */
    rgi_check(rgm_runtime_cancel(stage->runtime, diary.sleep_identity) == 0);
    await(&diary.slept_at);
    rgi_check(atomic_load(&diary.slept_at) == 1 + here);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, nomad) == 0);
}

/* One that sleeps at a worker that does not go: its commands reach it there, and
 * it is awaited there, whatever becomes of its actor's worker. */
static void
sleep_elsewhere_and_move(struct stage *stage)
{
    struct diary diary = {.has_connection = false};
    struct rgm_address nomad = nomad_on(stage, 3, &diary);

    rgi_check(tell(stage, nomad, SLEEP_AT_0) == 3);
    rgi_check(rgm_address_worker(diary.sleep_identity.where) == 0);
    rgi_check(retime(stage, diary.sleep_identity, FAR_NS) == 0);
    rgi_check(rgm_runtime_cancel(stage->runtime, diary.sleep_identity) == 0);
    await(&diary.slept_at);
    rgi_check(atomic_load(&diary.slept_at) == 1 + 3);
    atomic_store(&diary.slept_at, 0);
    rgi_check(tell(stage, nomad, SLEEP_AT_0) == 3);
    rgi_check(rgm_address_worker(diary.sleep_identity.where) == 0);
    sleep_and_move(stage, 3);
    rgi_check(atomic_load(&diary.slept_status) == -ECANCELED);
    rgi_check(atomic_load(&diary.slept_at) == 1 + 3);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, nomad) == 0);
}

/* Among four workers. A sleep is at the worker that took it from its ask to its
 * end, and commands by its identity reach it there, from wherever. */
void
tmr_24_a_sleep_stays_with_the_worker_that_took_it(struct stage *stage)
{
    stage->options.workers = 4;
    stage_open(stage);
    sleep_elsewhere_and_move(stage);
    sleep_and_move(stage, 2);
    sleep_and_move(stage, 1);
    stage->options.workers = 1;
    stage_close(stage);
}

#define SETTLERS 12

/* Whoever is on a worker that goes is elsewhere when this returns; its sleep is
 * where it was. */
static void
settlers_go_on(struct stage *stage, uint32_t workers,
               const struct rgm_address *settlers, struct diary *diaries)
{
    shrink(stage, workers, false);
    for (unsigned i = 0; i < SETTLERS; i++) {
        struct rgm_identity before = diaries[i].sleep_identity;

        while (tell(stage, settlers[i], IDENTIFY) >= workers)
            sched_yield();
        rgi_check(diaries[i].sleep_identity.where.bits == before.where.bits);
        rgi_check(diaries[i].sleep_identity.number == before.number);
    }
}

/* Its old sleep hears commands; the next one is where it is, and does not. */
static void
settler_wakes(struct stage *stage, struct rgm_address settler,
              struct diary *diary)
{
    struct rgm_identity old = diary->sleep_identity;

    rgi_check(rgm_address_worker(old.where) == 3);
    rgi_check(retime(stage, old, FAR_NS) == 0);
    rgi_check(atomic_load(&diary->slept_at) == 0);
    rgi_check(rgm_runtime_cancel(stage->runtime, old) == 0);
    await(&diary->slept_at);
    rgi_check(atomic_load(&diary->slept_status) == -ECANCELED);
    rgi_check(atomic_load(&diary->slept_at) == 1 + 0);
    atomic_store(&diary->slept_at, 0);
    rgi_check(tell(stage, settler, SLEEP) == 0);
    rgi_check(rgm_address_worker(diary->sleep_identity.where) == 0);
    rgi_check(rgm_runtime_cancel(stage->runtime, old) < 0);
    rgi_check(retime(stage, old, 0) < 0);
    (void)stage_counters(stage);
    rgi_check(atomic_load(&diary->slept_at) == 0);
    rgi_check(rgm_runtime_cancel(stage->runtime, diary->sleep_identity) == 0);
    await(&diary->slept_at);
    rgi_check(rgm_runtime_stop_actor(stage->runtime, settler) == 0);
}

/* Among four workers, in mid-sleep: from the last one to each of the others, as
 * these retire in turn. */
void
tmr_24_a_sleep_goes_on_while_its_actor_moves(struct stage *stage)
{
    static struct diary diaries[SETTLERS];
    struct rgm_address settlers[SETTLERS];
    bool by_all = false;

    memset(diaries, 0, sizeof(diaries));
    stage->options.workers = 4;
    stage_open(stage);
    for (unsigned i = 0; i < SETTLERS; i++) {
        settlers[i] = settler_on(stage, 3, &diaries[i]);
        rgi_check(tell(stage, settlers[i], SLEEP) == 3);
    }
    for (uint32_t workers = 3; workers > 0; workers--)
        settlers_go_on(stage, workers, settlers, diaries);
    for (unsigned i = 0; i < SETTLERS; i++)
        by_all |= atomic_load(&diaries[i].been) == 7;
    rgi_check(by_all);
    for (unsigned i = 0; i < SETTLERS; i++)
        settler_wakes(stage, settlers[i], &diaries[i]);
    stage->options.workers = 1;
    stage_close(stage);
}

/* ---------------------------------------------------------------- the end of one */

/* Asked from worker 0, at worker 1: nothing of it is at worker 0, nothing of it
 * keeps worker 1, and each is told. */
void
urg_33_what_waits_at_a_worker_that_closes_gets_an_error(struct stage *stage)
{
    struct rgm_stream near, far = {0};
    struct read_step read = {0};
    struct sleep_step sleep = {0};
    struct rgm_attach attach;
    struct rgm_detach detach;
    char byte;
    int peer;

    stage->options.workers = 2;
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_detach(&detach, &near);
    rgi_check(rgm_call(stage->runtime, &detach) == 0);
    rgm_stream_attach(&attach, rgm_worker_address(1), &far, &detach.detached);
    rgi_check(rgm_call(stage->runtime, &attach) == 0);
    rgm_stream_read(&read.op, &far, &byte, 1);
    stage_begin(stage, &read);
    rgm_sleep_for(&sleep.op, rgm_worker_address(1), LONG_NS);
    stage_begin(stage, &sleep);
    while (reads_at(stage, 1).submits == 0)
        continue;
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &read) && stage_is_out(stage, &sleep));
    rgi_check(reads_at(stage, 0).submits == 0);
    shrink(stage, 1, true);
    rgi_check(stage_end(stage, &read) == -EPIPE);
    rgi_check(stage_end(stage, &sleep) == -EPIPE);
    rgi_check(spy_of(1)->closed && spy_of(1)->left == 0);
    rgi_check(spy_of(1)->submits[RGM_OP_READ] == 1);
    rgi_check(reads_at(stage, 0).submits == 0);
    peer_expect_end(peer); /* what is left open is closed with its worker */
    peer_close(peer);
    stage->options.workers = 1;
    stage_close(stage);
}

/* --------------------------------------------------------- a whole connection */

void
an_actor_moves_with_its_connection(struct stage *stage)
{
    struct diary diary = {.has_connection = true};
    struct rgm_stream near;
    struct rgm_attach attach;
    struct rgm_detach detach;
    struct rgm_address nomad;
    int peer;

    stage->options.workers = 2;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_stream_detach(&detach, &near);
    rgi_check(rgm_call(stage->runtime, &detach) == 0);
    rgm_stream_attach(&attach, rgm_worker_address(1), &diary.own,
                      &detach.detached);
    rgi_check(rgm_call(stage->runtime, &attach) == 0);
    nomad = nomad_on(stage, 1, &diary);
    peer_send(peer, "z", 1);
    shrink(stage, 1, true);
    await(&diary.arrived_at);
    rgi_check(atomic_load(&diary.arrived_at) == 1 + 0);
    diary.stream = &diary.own;
    rgi_check(tell(stage, nomad, READ) == 0);
    await(&diary.read_at);
    rgi_check(diary.byte == 'z' && atomic_load(&diary.read_status) == 0);
    rgi_check(stage_close_stream(stage, &diary.own) == 0);
    peer_expect_end(peer);
    peer_close(peer);
    stage->options.workers = 1;
    stage_close(stage);
}
