/* SPDX-License-Identifier: MIT */

/*
 * shards_test.c - do slots move without a request that is lost, doubled, or
 * overtaken by a later one, whatever fails on the way?
 *
 * The keepers of shards_test.h see each of these at once. Most cases have one
 * root that does one thing after another; the last ones have clients on all
 * workers that go on while slots move.
 */

#include "actors/shards_test.h"

struct shards_case {
    void (*steps[8])(struct robot *self); /* what is next */
    uint32_t step;
    uint32_t workers;
    struct rgm_reshard reshard, second;
    struct op ops[64];
    struct late_op late;
    struct rgm_address others[8];
    uint32_t answered;
    int status;
    int second_status;
    char order[64]; /* in which answers came */
};

#define case_of(self) ((struct shards_case *)test_of(self))

RGM_ANSWER(robot, rgm_reshard, on_reshard);
RGM_ANSWER(robot, rgm_reshard, on_second);
RGM_ANSWER(robot, op, on_op);
RGM_ANSWER(robot, late_op, on_late_op);
RGM_ANSWER(robot, rgm_sleep, on_slept);

static void
next(struct robot *self)
{
    struct shards_case *test = case_of(self);

    test->steps[test->step++](self);
}

static void
on_reshard(struct robot *self, struct rgm_reshard *reshard)
{
    case_of(self)->status = rgm_status(reshard);
    next(self);
}

static void
on_second(struct robot *self, struct rgm_reshard *reshard)
{
    case_of(self)->second_status = rgm_status(reshard);
}

static void
deal(struct robot *self, uint32_t members, uint32_t owners)
{
    stage_prepare(&case_of(self)->reshard, members, owners);
    rgm_ask(self, &case_of(self)->reshard,
            RGM_REPLY(robot, rgm_reshard, on_reshard));
}

/* The map of the root's worker, which is worker 0. */
static struct rgm_shard *
map(void)
{
    return &stage.keepers[0]->shard;
}

static struct op *
op_prepared(struct robot *self, uint32_t at, uint32_t slot, long write)
{
    struct op *op = &case_of(self)->ops[at];

    op_init(op);
    op->hash = stage_hash(slot);
    op->write = write != 0;
    op->value = write;
    op->about = op;
    return op;
}

static void
ask_op(struct robot *self, uint32_t at, uint32_t slot, long write)
{
    struct op *op = op_prepared(self, at, slot, write);

    rgm_shard_ask(self, map(), op, RGM_REPLY(robot, op, on_op));
}

static void
on_op(struct robot *self, struct op *op)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->answered < sizeof(test->order));
    test->order[test->answered++] = (char)('a' + (op - test->ops));
    if (test->answered == self->number)
        next(self);
}

static void
on_late_op(struct robot *self, struct late_op *op)
{
    struct shards_case *test = case_of(self);

    rgi_check(rgm_status(op) == 0);
    test->order[test->answered++] = 'L';
    if (test->answered == self->number)
        next(self);
}

static void
stop_all(struct robot *self)
{
    rgm_runtime_stop(self->actor.worker->runtime);
}

static void
run_with(struct shards_case *test, const struct rgm_runtime_options *limits)
{
    struct rgm_runtime_options options = *limits;
    struct script root = {.started = next, .test = test};

    options.workers = test->workers;
    options.provider = &fake_class;
    rig_run_with(&options, &root);
    rgi_check(atomic_load(&stage.chunks_now) == atomic_load(&stage.dropped));
}

static void
run(struct shards_case *test)
{
    struct rgm_runtime_options options = {0};

    run_with(test, &options);
}

/* ---- dealing out ---- */

static void
deal_to_three_of_four(struct robot *self)
{
    stage_spawn(self);
    deal(self, 4, 3);
}

static uint32_t
roads_to(uint32_t worker)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < STAGE_SLOTS; i++)
        count += rgm_shard_owner(map(), stage_hash(i)) == worker;
    return count;
}

static void
check_three(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0);
    rgi_check(test->reshard.moved_count == 0 && test->reshard.left_count == 0);
    rgi_check(roads_to(0) == 6 && roads_to(1) == 5 && roads_to(2) == 5);
    rgi_check(rgm_shard_owned(map()) == 6);
    deal(self, 4, 4);
}

/* Two, one and one slot leave the three; nothing else moves. */
static void
check_four(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0);
    rgi_check(test->reshard.moved_count == 4 && test->reshard.left_count == 0);
    for (uint32_t i = 0; i < 4; i++)
        rgi_check(roads_to(i) == 4);
    test->reshard.moves_max = 0;
    stage_prepare(&test->reshard, 4, 1);
    test->reshard.moves_max = 1;
    rgm_ask(self, &test->reshard, RGM_REPLY(robot, rgm_reshard, on_reshard));
}

static void
check_one_move(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0);
    rgi_check(test->reshard.moved_count == 2 && test->reshard.left_count == 10);
    rgi_check(roads_to(0) == 6);
    deal(self, 1, 1);
}

static void
check_all_home(struct robot *self)
{
    struct shards_case *test = case_of(self);
    struct rgm_shard_counters counters;

    rgi_check(test->status == 0 && test->reshard.moved_count == 10);
    rgi_check(roads_to(0) == STAGE_SLOTS);
    rgi_check(rgm_shard_address(map(), 1).bits == 0); /* no member any more */
    rgm_shard_counters(map(), &counters);
    rgi_check(counters.moved_in == 12 && counters.moved_out == 2);
    stop_all(self);
}

static void
slots_are_dealt_equally_and_no_more_move_than_must(void)
{
    struct shards_case test = {
        .workers = 4,
        .steps = {deal_to_three_of_four, check_three, check_four,
                  check_one_move, check_all_home},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- who goes and comes again ---- */

static void
spawn_and_deal_two(struct robot *self)
{
    stage_spawn(self);
    deal(self, case_of(self)->workers, 2);
}

/* Worker 2's actor: by its map, straight to the owner. */
static void
third_asks(struct robot *self)
{
    struct rgm_shard *shard = &stage.keepers[2]->shard;

    for (uint32_t i = 0; i < STAGE_SLOTS; i++)
        rgi_check(rgm_shard_owner(shard, stage_hash(i)) ==
                  rgm_shard_owner(map(), stage_hash(i)));
    stop_all(self);
}

/* It hears of these moves, and leaves after them. */
static void
deal_and_leave(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    deal(self, 2, 1);
}

static void
deal_without_the_third(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    deal(self, 2, 2);
}

static void
deal_with_the_third(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    deal(self, 3, 2);
}

static void
ask_by_the_third(struct robot *self)
{
    static struct script asker;
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0);
    asker = (struct script){.started = third_asks, .test = test};
    (void)robot_spawn_on(self, 2, &asker);
}

static void
who_comes_again_knows_what_has_moved_meanwhile(void)
{
    struct shards_case test = {
        .workers = 3,
        .steps = {spawn_and_deal_two, deal_and_leave, deal_without_the_third,
                  deal_with_the_third, ask_by_the_third},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- what is refused ---- */

static void
ask_badly(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0);
    stage_prepare(&test->reshard, 2, 0);
    rgm_ask(self, &test->reshard, RGM_REPLY(robot, rgm_reshard, on_reshard));
}

static void
ask_for_too_many(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == -EINVAL);
    stage_prepare(&test->reshard, 2, 3);
    rgm_ask(self, &test->reshard, RGM_REPLY(robot, rgm_reshard, on_reshard));
}

static void
ask_for_twice_the_same(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == -EINVAL);
    stage_prepare(&test->reshard, 2, 2);
    test->reshard.members[1] = test->reshard.members[0];
    rgm_ask(self, &test->reshard, RGM_REPLY(robot, rgm_reshard, on_reshard));
}

static void
ask_another(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == -EINVAL);
    stage_prepare(&test->reshard, 2, 2);
    rgm_reshard_by(&test->reshard, stage.addresses[1]);
    rgm_ask(self, &test->reshard, RGM_REPLY(robot, rgm_reshard, on_reshard));
}

static void
ask_twice_at_once(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == -EINVAL);
    stage_prepare(&test->second, 2, 2);
    deal(self, 2, 1);
    rgm_ask(self, &test->second, RGM_REPLY(robot, rgm_reshard, on_second));
}

static void
check_busy(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    rgi_check(case_of(self)->second_status == -EBUSY);
    stop_all(self);
}

static void
a_reshard_that_makes_no_sense_or_comes_second_is_refused(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, ask_badly, ask_for_too_many,
                  ask_for_twice_the_same, ask_another, ask_twice_at_once,
                  check_busy},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

static int
init_with(uint32_t slots, uint32_t slots_per_move, uint32_t chunks)
{
    struct rgm_shards_options options = stage.options;
    struct rgm_shard shard;
    int status;

    options.slots = slots;
    options.slots_per_move = slots_per_move;
    options.chunks = chunks;
    status = rgm_shard_init(&shard, &options);
    if (status == 0)
        rgm_shard_close(&shard);
    return status;
}

static void
the_limits_of_the_options_are_where_they_say(void)
{
    stage_reset();
    rgi_check(init_with(0, 0, 0) == 0);
    rgi_check(init_with(2, 1, 1) == 0);
    rgi_check(init_with(RGM_SHARD_SLOTS_MAX, RGM_SHARD_SLOTS_PER_MOVE_MAX,
                        RGM_SHARD_CHUNKS_MAX) == 0);
    rgi_check(init_with(1, 0, 0) == -EINVAL);
    rgi_check(init_with(1000, 0, 0) == -EINVAL);
    rgi_check(init_with(2 * RGM_SHARD_SLOTS_MAX, 0, 0) == -EINVAL);
    rgi_check(init_with(0, RGM_SHARD_SLOTS_PER_MOVE_MAX + 1, 0) == -EINVAL);
    rgi_check(init_with(0, 0, RGM_SHARD_CHUNKS_MAX + 1) == -EINVAL);
    for (unsigned long nth = 1;; nth++) {
        rgi_memory_fail_nth(nth);
        if (init_with(0, 0, 0) == 0) {
            rgi_check(!rgi_memory_fail_off());
            break;
        }
        rgi_check(rgi_memory_fail_off());
        rgi_check(rgi_memory_live() == 0);
    }
}

/* ---- one move, step by step ---- */

/* Slot 15 is on worker 1 and moves to worker 0. */
#define MOVING 15

static void
write_first(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    self->number = 1;
    ask_op(self, 0, MOVING, 1);
}

static void
pause_for(struct robot *self, uint64_t duration_ns)
{
    rgm_sleep_for(&self->sleep, rgm_here(self), duration_ns);
    rgm_ask(self, &self->sleep, RGM_REPLY(robot, rgm_sleep, on_slept));
}

static void
on_slept(struct robot *self, struct rgm_sleep *sleep)
{
    if (rgm_status(sleep) == 0)
        next(self);
}

/* The step is made once more. */
static void
again_later(struct robot *self)
{
    case_of(self)->step--;
    pause_for(self, RGM_NS_PER_MS);
}

/* Whether a chunk has come and was refused; if not, again. */
static bool
was_refused(struct robot *self)
{
    if (atomic_load(&stage.refused) > 0)
        return true;
    again_later(self);
    return false;
}

static void
move_blocked(struct robot *self)
{
    atomic_store(&stage.blocked, true);
    stage_prepare(&case_of(self)->reshard, 2, 1);
    rgm_ask(self, &case_of(self)->reshard,
            RGM_REPLY(robot, rgm_reshard, on_reshard));
    ask_op(self, 1, MOVING, 2); /* on its way before the order */
    pause_for(self, RGM_NS_PER_MS);
}

static void
ask_while_blocked(struct robot *self)
{
    struct shards_case *test = case_of(self);

    if (!was_refused(self))
        return;
    ask_op(self, 2, MOVING, 0);
    ask_op(self, 3, MOVING, 3);
    late_op_init(&test->late);
    test->late.hash = stage_hash(MOVING);
    rgm_shard_ask(self, map(), &test->late,
                  RGM_REPLY(robot, late_op, on_late_op));
    ask_op(self, 4, 0, 1); /* another slot is not concerned */
    pause_for(self, RGM_NS_PER_MS);
}

static void
unblock(struct robot *self)
{
    struct shards_case *test = case_of(self);
    struct rgm_shard_counters counters;

    rgm_shard_counters(map(), &counters);
    if (test->answered + counters.kept < 6) { /* not all has come */
        again_later(self);
        return;
    }
    rgi_check(strcmp(test->order, "abe") == 0 && counters.kept == 3);
    atomic_store(&stage.blocked, false);
}

static void
check_served_in_order(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0);
    rgi_check(strcmp(test->order, "abecdL") == 0);
    rgi_check(test->ops[2].value == 2 && test->late.value == 3);
    rgi_check(rgm_shard_owned(map()) == STAGE_SLOTS);
    stop_all(self);
}

static void
requests_for_a_slot_wait_for_its_last_chunk_and_keep_their_order(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, write_first, move_blocked,
                  ask_while_blocked, unblock, check_served_in_order},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- a slot travels in chunks, as many at a time as may be ---- */

static void
fill_and_move(struct robot *self)
{
    deal(self, 2, 1);
}

static void
check_chunks(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    rgi_check(atomic_load(&stage.chunks_most) == 3);
    stop_all(self);
}

static void
no_more_chunks_are_on_their_way_than_may_be(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, fill_and_move, check_chunks},
    };

    fake_reset();
    stage_reset();
    stage.options.chunks = 3;
    run(&test);
}

static void
check_moved_after_errors(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0 && test->reshard.moved_count == 8);
    rgi_check(atomic_load(&stage.take_in_errors) == 0);
    rgi_check(atomic_load(&stage.hand_out_errors) == 0);
    self->number = 2;
    ask_op(self, 1, MOVING, 2); /* after the 1 of write_first */
}

static void
stop_after_op(struct robot *self)
{
    stop_all(self);
}

static void
write_then_move(struct robot *self)
{
    atomic_store(&stage.take_in_errors, 5);
    atomic_store(&stage.hand_out_errors, 3);
    deal(self, 2, 1);
}

static void
a_chunk_that_cannot_be_made_or_taken_comes_again(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, write_first, write_then_move,
                  check_moved_after_errors, stop_after_op},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- requests that the owner keeps ---- */

static void
keep_then_move(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    atomic_store(&stage.keeps, true);
    ask_op(self, 0, MOVING, 0);
    deal(self, 2, 1);
}

/* It is kept again, by the new owner. */
static void
check_kept_moved(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0 && test->answered == 0);
    rgi_check(
        rgm_kept_request(&stage.keepers[0]->actor, stage.keepers[0]->kept) ==
        &test->ops[0].request);
    self->number = 1;
    rgi_check(rgm_answer(stage.keepers[0], stage.keepers[0]->kept, 0) == 0);
}

static void
what_the_old_owner_keeps_follows_the_slot(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, keep_then_move, check_kept_moved,
                  stop_after_op},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- who has no map ---- */

static void
ask_the_wrong_one(struct robot *self)
{
    struct op *op = op_prepared(self, 0, MOVING, 1);

    rgi_check(case_of(self)->status == 0);
    self->number = 1;
    rgm_request_to(&op->request, stage.addresses[0]); /* not the owner */
    rgm_ask(self, op, RGM_REPLY(robot, op, on_op));
}

static void
check_it_found_its_way(struct robot *self)
{
    rgi_check(rgm_status(&case_of(self)->ops[0]) == 0);
    stop_all(self);
}

static void
a_request_to_any_shard_finds_the_owner(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, ask_the_wrong_one,
                  check_it_found_its_way},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

static void
ask_before_the_deal(struct robot *self)
{
    if (stage.addresses[0].bits == 0)
        stage_spawn(self);
    if (stage.keepers[0] == NULL) { /* not started yet */
        again_later(self);
        return;
    }
    self->number = 1;
    ask_op(self, 0, MOVING, 1);
}

static void
check_nobody(struct robot *self)
{
    rgi_check(rgm_status(&case_of(self)->ops[0]) == -ESRCH);
    stop_all(self);
}

static void
before_the_first_deal_there_is_nobody_to_ask(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {ask_before_the_deal, check_nobody},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- what is held ---- */

static void
move_by_one_that_spins(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == 0);
    atomic_store(&stage.spins, true);
    stage_prepare(&test->second, 2, 1);
    rgm_ask(self, &test->second, RGM_REPLY(robot, rgm_reshard, on_second));
    pause_for(self, RGM_NS_PER_MS);
}

/* The mark cannot pass the old owner, so what is asked now is held. */
static void
ask_held(struct robot *self)
{
    struct shards_case *test = case_of(self);

    if (rgm_shard_owner(map(), stage_hash(MOVING)) < RGM_WORKERS_MAX) {
        again_later(self);
        return;
    }
    ask_op(self, 0, MOVING, 1);
    ask_op(self, 1, MOVING, 7);
    ask_op(self, 2, MOVING, 2);
    self->number = 1;
    rgm_cancel(self, &test->ops[1]);
}

static void
check_cancelled(struct robot *self)
{
    struct shards_case *test = case_of(self);
    struct rgm_shard_counters counters;

    rgi_check(strcmp(test->order, "b") == 0);
    rgi_check(rgm_status(&test->ops[1]) == -ECANCELED);
    rgm_shard_counters(map(), &counters);
    rgi_check(counters.held == 3 && counters.longest_hold_ns == 0);
    atomic_store(&stage.spins, false);
    self->number = 3;
}

static void
check_the_others(struct robot *self)
{
    struct rgm_shard_counters counters;

    rgi_check(strcmp(case_of(self)->order, "bac") == 0);
    rgm_shard_counters(map(), &counters);
    rgi_check(counters.longest_hold_ns > 0);
    stop_all(self);
}

static void
a_held_request_is_cancelled_at_once_and_the_others_keep_their_order(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, move_by_one_that_spins, ask_held,
                  check_cancelled, check_the_others},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

static void
asker_asks(struct robot *self)
{
    ask_op(self, 3, MOVING, 1);
    ask_op(self, 4, MOVING, 2);
    rgm_stop(self);
}

static void
asker_stopped(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(rgm_status(&test->ops[3]) == -ECANCELED);
    rgi_check(rgm_status(&test->ops[4]) == -ECANCELED);
    atomic_store(&stage.spins, false);
}

static void
check_asker_gone(struct robot *self)
{
    stop_all(self);
}

/* It stops, and is gone before the road is free again. */
static void
spawn_an_asker(struct robot *self)
{
    static struct script asker;
    struct shards_case *test = case_of(self);

    if (rgm_shard_owner(map(), stage_hash(MOVING)) < RGM_WORKERS_MAX) {
        again_later(self);
        return;
    }
    asker = (struct script){
        .started = asker_asks, .stopped = asker_stopped, .test = test};
    (void)robot_spawn(self, &asker);
    self->number = 3;
    ask_op(self, 0, MOVING, 1);
}

static void
who_stops_takes_back_what_is_held(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_two, move_by_one_that_spins, spawn_an_asker,
                  check_asker_gone},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- any allocation may fail ---- */

static unsigned long failing;
static bool failed;

static void
move_without_memory(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    rgi_memory_fail_nth(failing);
    deal(self, 2, 1);
    ask_op(self, 1, MOVING, 2);
    ask_op(self, 2, MOVING, 3);
}

/* Refused before anything happened: again. */
static void
move_again(struct robot *self)
{
    struct shards_case *test = case_of(self);

    failed = rgi_memory_fail_off() || failed;
    if (test->status != 0) {
        rgi_check(test->status == -ENOMEM);
        test->step--;
        deal(self, 2, 1);
        return;
    }
    rgi_check(rgm_shard_owned(map()) == STAGE_SLOTS);
    if (test->answered == 3)
        next(self);
    else
        self->number = 3;
}

/* A request is refused for lack of memory, or handled. */
static void
check_values(struct robot *self)
{
    struct shards_case *test = case_of(self);
    long value = 1;

    for (int i = 1; i < 3; i++)
        if (rgm_status(&test->ops[i]) == 0)
            value++;
        else
            rgi_check(rgm_status(&test->ops[i]) == -ENOMEM);
    rgi_check(stage.keepers[0]->cells[MOVING][0] == value);
    stop_all(self);
}

static void
any_allocation_of_a_move_may_fail(void)
{
    for (failing = 1;; failing++) {
        struct shards_case test = {
            .workers = 2,
            .steps = {spawn_and_deal_two, write_first, move_without_memory,
                      move_again, check_values},
        };

        fake_reset();
        stage_reset();
        failed = false;
        run(&test);
        if (!failed)
            break;
    }
    rgi_check(failing > 1);
}

/* ---- ends in the middle ---- */

static void
stop_the_new_owner(struct robot *self)
{
    if (!was_refused(self))
        return;
    rgi_check(rgm_stop_actor(self, stage.addresses[1]) == 0);
}

static void
move_blocked_to_one(struct robot *self)
{
    rgi_check(case_of(self)->status == 0);
    atomic_store(&stage.blocked, true);
    stage_prepare(&case_of(self)->reshard, 2, 2);
    rgm_ask(self, &case_of(self)->reshard,
            RGM_REPLY(robot, rgm_reshard, on_reshard));
    pause_for(self, RGM_NS_PER_MS);
}

static void
was_blocked(struct robot *self)
{
    (void)was_refused(self);
}

static void
stop_in_the_middle(struct robot *self)
{
    if (was_refused(self))
        stop_all(self);
}

static void
check_dropped(struct robot *self)
{
    struct shards_case *test = case_of(self);

    rgi_check(test->status == -ESRCH);
    rgi_check(atomic_load(&stage.dropped) > 0);
    self->number = 1;
    ask_op(self, 0, MOVING, 0);
}

static void
check_gone(struct robot *self)
{
    rgi_check(rgm_status(&case_of(self)->ops[0]) == -ESRCH);
    stop_all(self);
}

static void
spawn_and_deal_one(struct robot *self)
{
    stage_spawn(self);
    deal(self, 2, 1);
}

static void
a_new_owner_that_stops_ends_the_move_and_is_told(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_one, move_blocked_to_one, stop_the_new_owner,
                  check_dropped, check_gone},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* One chunk waits to be asked again when the others learn that nobody is there. */
static void
what_waits_when_the_new_owner_stops_is_no_other_reason(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_one, move_blocked_to_one, was_blocked,
                  check_dropped, check_gone},
    };

    fake_reset();
    stage_reset();
    atomic_store(&stage.stops, true);
    run(&test);
}

static void
check_unmoved(struct robot *self)
{
    rgi_check(case_of(self)->status != 0);
}

static void
a_stop_in_the_middle_of_a_move_leaves_nothing(void)
{
    struct shards_case test = {
        .workers = 2,
        .steps = {spawn_and_deal_one, move_blocked_to_one, stop_in_the_middle,
                  check_unmoved},
    };

    fake_reset();
    stage_reset();
    run(&test);
}

/* ---- clients that go on ---- */

#define CLIENTS 8
#define CLIENT_CELLS 4
#define WINDOW 16

static struct crowd {
    uint32_t workers;
    uint32_t clients_left;
    uint64_t ops_each;
    uint32_t deals;
    bool over;
} crowd;

struct client {
    struct rgm_actor actor;
    struct rgm_order order;
    struct op ops[WINDOW];
    uint32_t number;
    uint32_t next; /* op to use */
    uint64_t asked;
    long written[CLIENT_CELLS]; /* asked for */
    struct rgm_address root;
    struct question over;
};
RGM_HOOK(client, client_started);
RGM_FACTORY(client, client, client_make);
RGM_ANSWER(client, op, client_on_op);
RGM_ANSWER(client, question, client_on_over);

static const struct rgm_behaviour client_behaviour = {
    .name = "client",
    .size_bytes = sizeof(struct client),
    .factory = RGM_MAKE(client, client_make),
    .started = RGM_DO(client, client_started),
};

static int
client_make(struct client *self, const struct client *like)
{
    self->number = like->number;
    self->root = like->root;
    for (uint32_t i = 0; i < WINDOW; i++)
        op_init(&self->ops[i]);
    rgm_order_init(&self->order, WINDOW);
    return 0;
}

/* Each of a client's cells is its alone: slots by turns, cells by client. */
static void
client_ask(struct client *self)
{
    struct op *op = &self->ops[self->next];
    uint32_t which = (uint32_t)(self->asked / 3 % CLIENT_CELLS);
    uint32_t worker = rgm_worker_number(&self->actor);

    self->next = (self->next + 1) % WINDOW;
    op->hash = stage_hash((self->number + which * 4) % STAGE_SLOTS);
    op->cell = self->number / 4 % STAGE_CELLS + (self->number >= 16);
    op->write = self->asked++ % 3 != 2;
    if (op->write)
        self->written[which]++;
    op->value = self->written[which];
    op->wanted = self->written[which];
    rgm_shard_ask_in(self, &stage.keepers[worker]->shard, &self->order, op,
                     RGM_REPLY(client, op, client_on_op));
}

static void
client_started(struct client *self)
{
    while (!rgm_order_full(&self->order))
        client_ask(self);
}

static void
client_on_op(struct client *self, struct op *op)
{
    rgi_check(rgm_status(op) == 0);
    rgi_check(op->value == op->wanted);
    if (self->asked < crowd.ops_each) {
        client_ask(self);
        return;
    }
    if (self->order.count > 0)
        return;
    question_prepare(&self->over, self->root);
    rgm_ask(self, &self->over, RGM_REPLY(client, question, client_on_over));
}

static void
client_on_over(struct client *self, struct question *over)
{
    (void)over;
    rgm_stop(self);
}

static void
crowd_end(struct robot *self)
{
    if (crowd.clients_left == 0 && crowd.over)
        stop_all(self);
}

static void
crowd_question(struct robot *self, struct question *question)
{
    rgm_reply(self, question, 0);
    crowd.clients_left--;
    crowd_end(self);
}

static void
crowd_spawn(struct robot *self)
{
    for (uint32_t i = 0; i < CLIENTS; i++) {
        struct client like = {.number = i, .root = rgm_self(self)};
        struct rgm_address address;

        rgi_check(rgm_spawn_on(self, i % crowd.workers, &client_behaviour,
                               &like, &address) == 0);
    }
    crowd.clients_left = CLIENTS;
}

/* Again and again, to one, to all, to some. */
static void
crowd_deal(struct robot *self)
{
    struct shards_case *test = case_of(self);
    uint32_t owners;

    rgi_check(test->status == 0 && test->reshard.left_count == 0);
    if (crowd.deals++ == 0)
        crowd_spawn(self);
    if (crowd.clients_left == 0) {
        crowd.over = true;
        crowd_end(self);
        return;
    }
    test->step--;
    owners = crowd.deals % 3 == 0   ? 1
             : crowd.deals % 3 == 1 ? crowd.workers
                                    : 1 + crowd.deals % crowd.workers;
    deal(self, crowd.workers, owners);
}

static void
crowd_run(uint32_t workers, uint64_t ops, uint32_t lane_messages)
{
    struct rgm_runtime_options options = {
        .workers = workers,
        .lane_messages = lane_messages,
        .provider = &fake_class,
    };
    struct shards_case test = {
        .workers = workers,
        .steps = {spawn_and_deal_two, crowd_deal},
    };
    struct script root = {
        .started = next, .question = crowd_question, .test = &test};

    fake_reset();
    crowd = (struct crowd){.workers = workers, .ops_each = ops};
    rig_run_with(&options, &root);
    rgi_check(atomic_load(&stage.chunks_now) == 0);
    rgi_check(crowd.deals > 1);
}

static void
pipelines_on_all_workers_go_on_while_slots_move(void)
{
    stage_reset();
    crowd_run(4, rgi_scale(2000000), 0);
}

/* The lanes hold two: nearly all that is asked waits in line for the old owner
 * when the news comes. */
static void
what_waits_in_line_for_the_old_owner_is_not_overtaken(void)
{
    stage_reset();
    crowd_run(4, rgi_scale(400000), 2);
}

static void
one_slot_and_one_chunk_at_a_time(void)
{
    stage_reset();
    stage.options.slots_per_move = 1;
    stage.options.chunks = 1;
    crowd_run(3, rgi_scale(400000), 1);
}

#define CASES(X)                                                               \
    X(shards, slots_are_dealt_equally_and_no_more_move_than_must)              \
    X(shards, who_comes_again_knows_what_has_moved_meanwhile)                  \
    X(shards, a_reshard_that_makes_no_sense_or_comes_second_is_refused)        \
    X(shards, the_limits_of_the_options_are_where_they_say)                    \
    X(shards,                                                                  \
      requests_for_a_slot_wait_for_its_last_chunk_and_keep_their_order)        \
    X(shards, no_more_chunks_are_on_their_way_than_may_be)                     \
    X(shards, a_chunk_that_cannot_be_made_or_taken_comes_again)                \
    X(shards, what_the_old_owner_keeps_follows_the_slot)                       \
    X(shards, a_request_to_any_shard_finds_the_owner)                          \
    X(shards, before_the_first_deal_there_is_nobody_to_ask)                    \
    X(shards, a_new_owner_that_stops_ends_the_move_and_is_told)                \
    X(shards, what_waits_when_the_new_owner_stops_is_no_other_reason)          \
    X(shards, a_stop_in_the_middle_of_a_move_leaves_nothing)                   \
    X(shards,                                                                  \
      a_held_request_is_cancelled_at_once_and_the_others_keep_their_order)     \
    X(shards, who_stops_takes_back_what_is_held)                               \
    X(shards, any_allocation_of_a_move_may_fail)                               \
    X(shards, pipelines_on_all_workers_go_on_while_slots_move)                 \
    X(shards, what_waits_in_line_for_the_old_owner_is_not_overtaken)           \
    X(shards, one_slot_and_one_chunk_at_a_time)

RGI_CASES(CASES)
