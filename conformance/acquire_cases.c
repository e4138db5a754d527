/* SPDX-License-Identifier: MIT */

/*
 * acquire_cases.c - what must every provider show of waits for a buffer?
 *
 * No provider sees them: the worker waits by itself, whatever it stands on. That
 * it does so on each is the point.
 */

#include "conformance/acquire_cases.h"

#include <sched.h>
#include <stdlib.h>

static void
begin_on(struct stage *stage, uint32_t worker, struct acquire_step *step,
         struct rgm_pool *pool)
{
    step_clear(step);
    rgm_pool_acquire(&step->op, rgm_worker_address(worker), pool);
    stage_begin_on(stage, worker, step);
}

static void
end_with_slot(struct stage *stage, struct acquire_step *step)
{
    rgi_check(stage_end(stage, step) == 0);
    rgi_check(rgm_lease_active(&step->op.lease));
    rgi_check(step->op.lease.length_bytes ==
              rgm_pool_slot_size(step->op.pool));
}

static void
drop(struct rgm_lease *lease)
{
    rgi_check(rgm_lease_drop(lease) == 0);
}

/* It may have been dropped by now. */
static void
end_with_slot_dropped(struct stage *stage, struct acquire_step *step)
{
    rgi_check(stage_end(stage, step) == 0);
    if (step->op.lease.block != NULL)
        drop(&step->op.lease);
}

static void
take(struct rgm_pool *pool, struct rgm_lease *ret_lease)
{
    rgi_check(rgm_pool_try_acquire(pool, ret_lease) == 0);
}

static void
finish(struct stage *stage, struct rgm_pool *pool)
{
    stage_close(stage);
    rgi_check(rgm_pool_free_count(pool) == rgm_pool_capacity(pool));
    rgm_pool_destroy(pool);
}

/* Five workers that want four of ten slots each get ten together. */
void
bpl_02_workers_share_one_budget(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(10, 16);
    struct acquire_step steps[20];
    unsigned got = 0;

    stage->options.workers = 5;
    stage_open(stage);
    for (uint32_t i = 0; i < 20; i++)
        begin_on(stage, i % 5, &steps[i], pool);
    (void)stage_counters(stage);
    for (unsigned i = 0; i < 20; i++)
        got += !stage_is_out(stage, &steps[i]);
    rgi_check(got == 10 && rgm_pool_free_count(pool) == 0);
    for (unsigned round = 0; round < 2; round++)
        for (unsigned i = 0; i < 20; i++)
            if (!stage_is_out(stage, &steps[i]) &&
                rgm_lease_active(&steps[i].op.lease))
                drop(&steps[i].op.lease);
    for (unsigned i = 0; i < 20; i++)
        if (stage_end(stage, &steps[i]) == 0 &&
            rgm_lease_active(&steps[i].op.lease))
            drop(&steps[i].op.lease);
    finish(stage, pool);
}

void
bpl_03_acquire_waits_and_try_does_not(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step first, second;
    struct rgm_lease none;

    stage_open(stage);
    begin_on(stage, 0, &first, pool);
    end_with_slot(stage, &first);
    begin_on(stage, 0, &second, pool);
    (void)stage_counters(stage);
    rgi_check(stage_is_out(stage, &second));
    rgi_check(rgm_pool_try_acquire(pool, &none) == -EAGAIN);
    drop(&first.op.lease);
    rgi_check(rgm_pool_try_acquire(pool, &none) == -EAGAIN);
    end_with_slot(stage, &second);
    rgi_check(stage_counters(stage).acquire_waits == 1);
    drop(&second.op.lease);
    finish(stage, pool);
}

/* The one in front is cancelled, one behind it, and one in between. */
void
bpl_03_cancel_leaves_the_slot_to_the_next(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step steps[5];
    struct rgm_lease lease;

    stage_open(stage);
    take(pool, &lease);
    for (unsigned i = 0; i < 5; i++)
        begin_on(stage, 0, &steps[i], pool);
    for (unsigned i = 0; i < 5; i += 2) {
        stage_cancel(stage, &steps[i]);
        rgi_check(stage_end(stage, &steps[i]) == -ECANCELED);
        rgi_check(!rgm_lease_active(&steps[i].op.lease));
    }
    rgi_check(stage_is_out(stage, &steps[1]) && stage_is_out(stage, &steps[3]));
    drop(&lease);
    end_with_slot(stage, &steps[1]);
    rgi_check(stage_is_out(stage, &steps[3]));
    drop(&steps[1].op.lease);
    end_with_slot(stage, &steps[3]);
    drop(&steps[3].op.lease);
    for (unsigned i = 0; i < 5; i++)
        rgi_check(stage_answers(stage, &steps[i]) == 1);
    finish(stage, pool);
}

struct caller {
    struct stage *stage;
    struct rgm_pool *pool;
    uint32_t worker;
    int status;
    struct rgm_lease lease;
};

static void *
call(void *argument)
{
    struct caller *caller = argument;
    struct rgm_acquire acquire;

    rgm_pool_acquire(&acquire, rgm_worker_address(caller->worker),
                     caller->pool);
    caller->status = rgm_call(caller->stage->runtime, &acquire);
    caller->lease = acquire.lease;
    return NULL;
}

/* Until that many operations are out. */
static void
await_out(struct stage *stage, uint64_t count)
{
    while (stage_in_flight(stage) != count)
        sched_yield();
}

void
bpl_03_plain_thread_waits(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct caller caller = {.stage = stage, .pool = pool, .worker = 1};
    pthread_t thread;

    stage->options.workers = 2;
    stage_open(stage);
    for (unsigned i = 0; i < 20; i++) {
        struct rgm_lease lease;

        take(pool, &lease);
        rgi_check(pthread_create(&thread, NULL, call, &caller) == 0);
        await_out(stage, 1);
        drop(&lease);
        rgi_check(pthread_join(thread, NULL) == 0);
        rgi_check(caller.status == 0);
        drop(&caller.lease);
    }
    finish(stage, pool);
}

static void
drop_errand(struct puppet *puppet, void *lease)
{
    (void)puppet;
    drop(lease);
}

void
bpl_05_freed_anywhere_wakes_any_worker(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step step;
    struct rgm_lease lease;

    stage->options.workers = 3;
    stage->options.spin_us = RGM_SPIN_OFF;
    stage_open(stage);
    for (uint32_t waiter = 0; waiter < 3; waiter++)
        for (uint32_t freer = 0; freer < 3; freer++) {
            take(pool, &lease);
            begin_on(stage, waiter, &step, pool);
            (void)stage_counters(stage);
            stage_do_on(stage, freer, drop_errand, &lease);
            end_with_slot(stage, &step);
            drop(&step.op.lease);
        }
    finish(stage, pool);
}

static void
view_errand(struct puppet *puppet, void *view)
{
    (void)puppet;
    rgm_view_drop(view);
}

/* The last view of a slot dies on a worker that never had the lease. */
void
bpl_05_view_that_dies_elsewhere_wakes_the_waiter(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step step;
    struct rgm_lease lease;
    struct rgm_view whole, part;

    stage->options.workers = 3;
    stage_open(stage);
    for (unsigned i = 0; i < 10; i++) {
        take(pool, &lease);
        rgi_check(rgm_lease_freeze(&lease, &whole) == 0);
        rgi_check(rgm_view_range(&whole, 3, 1, &part) == 0);
        begin_on(stage, 0, &step, pool);
        stage_do_on(stage, 1, view_errand, &whole);
        (void)stage_counters(stage);
        rgi_check(stage_is_out(stage, &step));
        stage_do_on(stage, 2, view_errand, &part);
        end_with_slot(stage, &step);
        drop(&step.op.lease);
    }
    finish(stage, pool);
}

void
bpl_12_eight_returns_wake_eight_workers(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(8, 16);
    struct acquire_step steps[8];
    struct rgm_lease leases[8];

    stage->options.workers = 8;
    stage_open(stage);
    for (unsigned i = 0; i < 8; i++)
        take(pool, &leases[i]);
    for (uint32_t i = 0; i < 8; i++)
        begin_on(stage, i, &steps[i], pool);
    await_out(stage, 8);
    for (unsigned i = 0; i < 8; i++) {
        unsigned answered = 0;

        drop(&leases[i]);
        do {
            answered = 0;
            for (unsigned k = 0; k < 8; k++)
                answered += !stage_is_out(stage, &steps[k]);
            rgi_check(answered <= i + 1); /* one each, and not more */
        } while (answered < i + 1);
        (void)stage_counters(stage);
        rgi_check(rgm_pool_free_count(pool) == 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        end_with_slot(stage, &steps[i]);
        for (unsigned k = 0; k < i; k++)
            rgi_check(steps[k].op.lease.data != steps[i].op.lease.data);
    }
    for (unsigned i = 0; i < 8; i++)
        drop(&steps[i].op.lease);
    finish(stage, pool);
}

void
bpl_14_closed_pool_ends_every_wait(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(2, 16);
    struct acquire_step steps[9], late;
    struct rgm_lease leases[2];

    stage->options.workers = 3;
    stage_open(stage);
    for (unsigned i = 0; i < 2; i++)
        take(pool, &leases[i]);
    for (uint32_t i = 0; i < 9; i++)
        begin_on(stage, i % 3, &steps[i], pool);
    await_out(stage, 9);
    rgm_pool_close(pool);
    for (unsigned i = 0; i < 9; i++) {
        rgi_check(stage_end(stage, &steps[i]) == -EPIPE);
        rgi_check(!rgm_lease_active(&steps[i].op.lease));
    }
    begin_on(stage, 1, &late, pool);
    rgi_check(stage_end(stage, &late) == -EPIPE);
    memset(leases[0].data, 7, leases[0].length_bytes); /* stays valid */
    for (unsigned i = 0; i < 2; i++)
        drop(&leases[i]);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

/* Leases and views live on when the workers that had them are gone; then the
 * pool serves another runtime. */
void
bpl_14_pool_outlives_its_runtime(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(2, 16);
    struct acquire_step steps[2];
    struct stage again = {.class = stage->class};
    struct rgm_view view;

    stage_open(stage);
    for (unsigned i = 0; i < 2; i++) {
        begin_on(stage, 0, &steps[i], pool);
        end_with_slot(stage, &steps[i]);
    }
    memcpy(steps[0].op.lease.data, "kept", 4);
    rgi_check(rgm_lease_freeze(&steps[0].op.lease, &view) == 0);
    stage_close(stage);
    rgi_check(memcmp(view.data, "kept", 4) == 0);
    memset(steps[1].op.lease.data, 1, 16);
    rgi_check(rgm_pool_free_count(pool) == 0);

    stage_init(&again);
    stage_open(&again);
    begin_on(&again, 0, &steps[0], pool);
    (void)stage_counters(&again);
    rgi_check(stage_is_out(&again, &steps[0]));
    rgm_view_drop(&view);
    end_with_slot(&again, &steps[0]);
    drop(&steps[0].op.lease);
    drop(&steps[1].op.lease);
    finish(&again, pool);
    stage_deinit(&again);
}

/* ----------------------------------------------------------------- leaks */

struct told {
    struct rgm_pool_holder holders[4];
    unsigned count;
};

static void
write_down(void *argument, const struct rgm_pool_holder *holder)
{
    struct told *told = argument;

    rgi_check(told->count < 4);
    told->holders[told->count++] = *holder;
}

static void
take_errand(struct puppet *puppet, void *argument)
{
    struct caller *caller = argument;

    (void)puppet;
    take(caller->pool, &caller->lease);
}

/* Actors that have ended with their runtime are still named: the one that took
 * a slot in a handler, the one that waited for it, and one that read into it. */
void
bpl_15_leak_is_told_with_its_holder(struct stage *stage)
{
    struct told told = {.count = 0};
    struct rgm_pool_options options = {.slots_count = 4,
                                       .slot_size_bytes = 16,
                                       .leaked = write_down,
                                       .leaked_argument = &told};
    struct caller caller = {.stage = stage};
    struct acquire_step step;
    struct pooled_step read;
    struct rgm_stream near;
    struct rgm_lease mine;
    uint64_t puppet;
    int peer;

    rgi_check(rgm_pool_create(&options, &caller.pool) == 0);
    stage->options.workers = 2;
    stage_open(stage);
    puppet = stage->puppets[1].bits;
    stage_do_on(stage, 1, take_errand, &caller);
    begin_on(stage, 1, &step, caller.pool);
    end_with_slot(stage, &step);
    take(caller.pool, &mine);
    peer = stage_pair(stage, &near);
    peer_send(peer, "data", 4);
    step_clear(&read);
    rgm_stream_read_pooled(&read.op, &near, caller.pool);
    stage_begin(stage, &read);
    rgi_check(stage_end(stage, &read) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);

    rgi_check(rgm_pool_report(caller.pool, write_down, &told) == 4);
    for (unsigned i = 0; i < 4; i++)
        rgi_check(told.holders[i].state == RGM_SLOT_LEASED &&
                  told.holders[i].age_ns < (uint64_t)GUARD_S * RGM_NS_PER_S);
    for (unsigned i = 0; i < 4; i++) {
        const char *name = told.holders[i].name;

        if (told.holders[i].actor == puppet)
            rgi_check(strcmp(name, "puppet") == 0);
        else
            rgi_check(strcmp(name, "thread") == 0 || strcmp(name, "read") == 0 ||
                      strcmp(name, "worker") == 0);
    }
    rgi_check((told.holders[0].actor == puppet) +
                  (told.holders[1].actor == puppet) +
                  (told.holders[2].actor == puppet) +
                  (told.holders[3].actor == puppet) ==
              2);
    told.count = 0;
    rgm_pool_destroy(caller.pool);
    rgi_check(told.count == 4);
    drop(&mine);
    drop(&caller.lease);
    drop(&step.op.lease);
    drop(&read.op.lease);
}

/* ------------------------------------------------------------ bad arguments */

/* Refused before anything is touched: no slot moves. */
void
can_14_bad_acquires_are_answers(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step step;

    stage_open(stage);
    begin_on(stage, 0, &step, NULL);
    rgi_check(stage_end(stage, &step) == -EINVAL);
    step_clear(&step);
    rgm_pool_acquire(&step.op, rgm_worker_address(63), pool);
    stage_begin(stage, &step);
    rgi_check(stage_end(stage, &step) == -ESRCH);
    rgi_check(rgm_pool_free_count(pool) == 1);
    finish(stage, pool);
}

void
acquires_of_a_worker_come_in_order(struct stage *stage)
{
    enum { COUNT = 300 }; /* more than can stand in the pool's own line */
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step *steps = calloc(COUNT, sizeof(*steps));
    struct rgm_lease lease;

    rgi_check(steps != NULL);
    stage_open(stage);
    take(pool, &lease);
    for (unsigned i = 0; i < COUNT; i++)
        begin_on(stage, 0, &steps[i], pool);
    drop(&lease);
    for (unsigned i = 0; i < COUNT; i++) {
        end_with_slot(stage, &steps[i]);
        if (i + 1 < COUNT)
            rgi_check(stage_is_out(stage, &steps[i + 1]));
        drop(&steps[i].op.lease);
    }
    free(steps);
    finish(stage, pool);
}

/* A read that has data, and an acquire, want the one slot: both get it. */
void
acquires_and_reads_share_a_slot(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step step;
    struct pooled_step read;
    struct rgm_stream near;
    struct rgm_lease lease;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (unsigned i = 0; i < 20; i++) {
        while (rgm_pool_try_acquire(pool, &lease) != 0)
            continue; /* an attempt may have it for a moment */
        step_clear(&read);
        rgm_stream_read_pooled(&read.op, &near, pool);
        stage_begin(stage, &read);
        peer_send(peer, "data", 4);
        begin_on(stage, 0, &step, pool);
        (void)stage_counters(stage);
        rgi_check(stage_is_out(stage, &read) && stage_is_out(stage, &step));
        drop(&lease);
        while (stage_is_out(stage, &step) && stage_is_out(stage, &read))
            sched_yield();
        if (!stage_is_out(stage, &step)) { /* whichever was served first */
            end_with_slot(stage, &step);
            drop(&step.op.lease);
        }
        rgi_check(stage_end(stage, &read) == 0 && read.op.count == 4);
        drop(&read.op.lease);
        end_with_slot_dropped(stage, &step);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    finish(stage, pool);
}

struct two_waits {
    struct pooled_step *read;
    struct acquire_step *acquire;
};

static void
begin_both(struct puppet *puppet, void *argument)
{
    struct two_waits *waits = argument;

    puppet_begin(puppet, waits->read);
    puppet_begin(puppet, waits->acquire);
}

/* The read's attempt may have the slot when the acquire begins. It gives it back
 * in the provider's turn, and nothing else is about to happen. */
static void
slot_is_freed_by_an_attempt(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step acquire;
    struct pooled_step read = {0};
    struct two_waits waits = {&read, &acquire};
    struct rgm_stream near;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    for (unsigned i = 0; i < 20; i++) {
        step_clear(&acquire);
        rgm_stream_read_pooled(&read.op, &near, pool);
        rgm_pool_acquire(&acquire.op, rgm_worker_address(0), pool);
        stage_do(stage, begin_both, &waits);
        end_with_slot(stage, &acquire);
        rgi_check(stage_is_out(stage, &read));
        drop(&acquire.op.lease);
        peer_send(peer, "data", 4);
        rgi_check(stage_end(stage, &read) == 0);
        drop(&read.op.lease);
    }
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    finish(stage, pool);
}

void
bpl_05_slot_freed_in_a_wait_of_the_provider_ends_it(struct stage *stage)
{
    stage->options.spin_us = RGM_SPIN_OFF;
    slot_is_freed_by_an_attempt(stage);
}

void
bpl_05_slot_freed_while_the_worker_spins_is_seen(struct stage *stage)
{
    slot_is_freed_by_an_attempt(stage);
}

/* Likewise with slots that a provider has borrowed for reads that wait. */
void
bpl_05_what_is_lent_comes_back_to_its_own_worker(struct stage *stage)
{
    enum { SLOTS = 64, READS = 8 };
    struct rgm_pool *pool = pool_of(SLOTS, 16);
    struct pooled_step reads[READS] = {0};
    struct acquire_step acquires[READS];
    struct rgm_stream near[READS];
    struct rgm_lease leases[SLOTS];
    int peers[READS];
    unsigned taken = 0;

    stage->options.spin_us = RGM_SPIN_OFF;
    stage_open(stage);
    for (unsigned i = 0; i < READS; i++) {
        peers[i] = stage_pair(stage, &near[i]);
        rgm_stream_read_pooled(&reads[i].op, &near[i], pool);
        stage_begin(stage, &reads[i]);
    }
    (void)stage_counters(stage);
    while (taken < SLOTS - READS)
        taken += rgm_pool_try_acquire(pool, &leases[taken]) == 0;
    for (unsigned i = 0; i < READS; i++)
        begin_on(stage, 0, &acquires[i], pool);
    for (unsigned i = 0; i < READS; i++)
        end_with_slot(stage, &acquires[i]);
    for (unsigned i = 0; i < READS; i++)
        drop(&acquires[i].op.lease);
    while (taken > 0)
        drop(&leases[--taken]);
    for (unsigned i = 0; i < READS; i++) {
        peer_send(peers[i], "data", 4);
        rgi_check(stage_end(stage, &reads[i]) == 0);
        drop(&reads[i].op.lease);
        rgi_check(stage_close_stream(stage, &near[i]) == 0);
        peer_close(peers[i]);
    }
    finish(stage, pool);
}

/* Waits that nobody will end do not hold up the end: an actor's are cancelled,
 * another worker's get -EPIPE. */
void
stop_ends_the_waits(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step own, remote;
    struct caller caller = {.stage = stage, .pool = pool, .worker = 0};
    struct rgm_lease lease;
    pthread_t thread;

    stage->options.workers = 2;
    stage_open(stage);
    take(pool, &lease);
    begin_on(stage, 0, &own, pool);
    step_clear(&remote);
    rgm_pool_acquire(&remote.op, rgm_worker_address(1), pool);
    stage_begin_on(stage, 0, &remote);
    rgi_check(pthread_create(&thread, NULL, call, &caller) == 0);
    await_out(stage, 3);
    stage_stop(stage);
    rgi_check(pthread_join(thread, NULL) == 0);
    rgi_check(caller.status == -EPIPE);
    rgi_check(stage_end(stage, &remote) == -EPIPE);
    rgi_check(stage_is_out(stage, &own));
    stage_wait(stage); /* which stops the puppets */
    rgi_check(stage_end(stage, &own) == -ECANCELED);
    drop(&lease);
    rgi_check(rgm_pool_free_count(pool) == 1);
    rgm_pool_destroy(pool);
}

void
waits_for_several_pools_are_apart(struct stage *stage)
{
    struct rgm_pool *pools[5];
    struct rgm_lease leases[5];
    struct acquire_step steps[15];

    stage_open(stage);
    for (unsigned i = 0; i < 5; i++) {
        pools[i] = pool_of(1, 16 + i);
        take(pools[i], &leases[i]);
    }
    for (unsigned i = 0; i < 15; i++)
        begin_on(stage, 0, &steps[i], pools[i % 5]);
    for (unsigned i = 5; i-- > 0;)
        drop(&leases[i]);
    for (unsigned i = 0; i < 15; i++) {
        end_with_slot(stage, &steps[i]);
        drop(&steps[i].op.lease);
    }
    stage_close(stage);
    for (unsigned i = 0; i < 5; i++) {
        rgi_check(rgm_pool_free_count(pools[i]) == 1);
        rgm_pool_destroy(pools[i]);
    }
}

struct drop_and_cancel {
    struct rgm_lease lease;
    struct acquire_step *step;
};

/* The slot is handed to the acquire before the cancel, and arrives after it. */
static void
drop_then_cancel(struct puppet *puppet, void *argument)
{
    struct drop_and_cancel *both = argument;

    drop(&both->lease);
    rgm_cancel(puppet, &both->step->op);
}

void
can_15_slot_on_its_way_beats_a_cancel(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step first, second;
    struct drop_and_cancel both = {.step = &first};

    stage_open(stage);
    take(pool, &both.lease);
    begin_on(stage, 0, &first, pool);
    begin_on(stage, 0, &second, pool);
    stage_do(stage, drop_then_cancel, &both);
    end_with_slot(stage, &first);
    rgi_check(stage_is_out(stage, &second));
    drop(&first.op.lease);
    end_with_slot(stage, &second);
    drop(&second.op.lease);
    finish(stage, pool);
}

/* The record waits on worker 1; its asker, on worker 0, cancels it there. */
void
can_17_wait_on_another_worker_is_cancelled(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step step, behind;
    struct rgm_lease lease;

    stage->options.workers = 2;
    stage_open(stage);
    for (unsigned i = 0; i < 20; i++) {
        take(pool, &lease);
        step_clear(&step);
        rgm_pool_acquire(&step.op, rgm_worker_address(1), pool);
        stage_begin_on(stage, 0, &step);
        begin_on(stage, 1, &behind, pool);
        if (i % 2)
            (void)stage_counters(stage);
        stage_cancel_on(stage, 0, &step);
        rgi_check(stage_end(stage, &step) == -ECANCELED);
        rgi_check(step.op.lease.block == NULL);
        drop(&lease);
        end_with_slot(stage, &behind);
        drop(&behind.op.lease);
    }
    finish(stage, pool);
}

struct racer {
    struct rgm_lease lease;
    uint64_t pause;
};

static void *
drop_after(void *argument)
{
    struct racer *racer = argument;

    for (volatile uint64_t i = 0; i < racer->pause; i++)
        ;
    drop(&racer->lease);
    return NULL;
}

/* Of two waits the first is cancelled while the slot comes home: one of them
 * has it in the end, whichever. */
void
cancel_races_with_the_slot(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 16);
    struct acquire_step first, second;
    uint64_t random = rgi_seed();

    stage->options.workers = 2;
    stage_open(stage);
    for (uint64_t i = 0; i < rgi_scale(20000); i++) {
        struct racer racer = {.pause = next_random(&random) % 20000};
        pthread_t thread;
        int status;

        take(pool, &racer.lease);
        begin_on(stage, 0, &first, pool);
        begin_on(stage, i % 2, &second, pool);
        rgi_check(pthread_create(&thread, NULL, drop_after, &racer) == 0);
        stage_cancel(stage, &first);
        status = stage_end(stage, &first);
        rgi_check(status == 0 || status == -ECANCELED);
        if (status == 0)
            drop(&first.op.lease);
        end_with_slot(stage, &second);
        drop(&second.op.lease);
        rgi_check(pthread_join(thread, NULL) == 0);
    }
    finish(stage, pool);
}
