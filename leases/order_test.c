/* SPDX-License-Identifier: MIT */

/*
 * order_test.c - is there any order of events in which a wake is lost or a
 * pool freed too early?
 *
 * How it works:
 * 1. This file includes the sources, with a step before each atomic access.
 * 2. A few tasks, each a thread, run by turns: one has the turn, and only at a
 *    step may another get it. So an execution is a list of choices.
 * 3. The list is counted through like a number: first nobody is interrupted, in
 *    the end every task was at every step, up to a bound of interruptions in one
 *    execution. Nothing is left to chance, and a failure prints its list.
 * 4. A task that sleeps has no turn until its bell rings. All asleep means that
 *    a wake was lost.
 *
 * What this cannot show is an order that only a weakly ordered machine has. The
 * sources argue those, fence by fence.
 */

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/ck.h"

#define RGI_POOL_TAKERS_MAX 64 /* one word: fewer steps, the same questions */

/* Diagnosis: no order of it matters, so it has no steps. */
#include "leases/report.c"

static void step(const void *address);
static void touch(const void *address);

#undef ck_pr_load_32
#undef ck_pr_load_64
#undef ck_pr_load_ptr
#undef ck_pr_store_32
#undef ck_pr_store_ptr
#define ck_pr_load_64(from) (step(from), ck_pr_md_load_64(from))
/* Stamps and hints: nothing is decided by when they are read or written. */
#define ck_pr_load_32(from) (touch(from), ck_pr_md_load_32(from))
#define ck_pr_store_32(to, value) (touch(to), ck_pr_md_store_32(to, value))
#define ck_pr_load_ptr(from) (step(from), ck_pr_md_load_ptr(from))
#define ck_pr_store_ptr(to, value) (step(to), ck_pr_md_store_ptr(to, value))
#define ck_pr_cas_ptr(to, old, new) (step(to), ck_pr_cas_ptr(to, old, new))
#define ck_pr_faa_64(to, value) (touch(to), ck_pr_faa_64(to, value))
#define ck_pr_faa_32(to, value) (step(to), ck_pr_faa_32(to, value))
#define ck_pr_cas_64_value(to, old, new, ret)                                  \
    (step(to), ck_pr_cas_64_value(to, old, new, ret))

#include "leases/feed.c"
#include "leases/lease.c"
#include "leases/pool.c"
#include "leases/storage.c"
#include "leases/view.c"

#include "base/cases.h"

/* ------------------------------------------------------------------- memory */

/* A pool's memory lies here, so that a step into it after its end is seen. */
static alignas(4096) char arena[1 << 16];
static size_t arena_used;
static unsigned arena_released;

static void *
arena_allocate(size_t alignment, size_t size_bytes)
{
    size_t from = (arena_used + alignment - 1) & ~(alignment - 1);

    rgi_check(from + size_bytes <= sizeof(arena));
    arena_used = from + size_bytes;
    return memset(arena + from, 0, size_bytes);
}

static void
arena_release(void *memory)
{
    (void)memory;
    arena_released++;
}

static bool
is_gone(const void *address)
{
    const char *byte = address;

    return arena_released > 0 && byte >= arena && byte < arena + sizeof(arena);
}

/* ------------------------------------------------------------------ choices */

#define CHOICES_MAX 4096

struct choice {
    unsigned char count; /* how many there were */
    unsigned char taken;
};

static struct choice choices[CHOICES_MAX];
static unsigned choices_known; /* these are replayed; later ones are new */
static unsigned choices_made;
static unsigned interruptions;
static unsigned interruptions_max;

static unsigned
choose(unsigned count)
{
    struct choice *choice = &choices[choices_made];

    rgi_check(choices_made < CHOICES_MAX);
    if (choices_made++ == choices_known) {
        *choice = (struct choice){(unsigned char)count, 0};
        choices_known++;
    }
    rgi_check(choice->count == count); /* the same past, the same present */
    return choice->taken;
}

/* The next list of choices; false after the last. */
static bool
choices_advance(void)
{
    while (choices_known > 0) {
        struct choice *last = &choices[choices_known - 1];

        if (++last->taken < last->count)
            return true;
        choices_known--;
    }
    return false;
}

static void
choices_print(void)
{
    fprintf(stderr, "choices:");
    for (unsigned i = 0; i < choices_made; i++)
        fprintf(stderr, " %u", choices[i].taken);
    fprintf(stderr, "\n");
}

/* -------------------------------------------------------------------- tasks */

#define TASKS_MAX 4

struct task {
    void (*run)(struct task *task);
    pthread_t thread;
    sem_t turn;
    bool ended;
    bool asleep;
    unsigned bell; /* rings not yet heard */
    unsigned number;
    struct rgi_taker taker;
    uint32_t slot; /* handed to it */
};

static struct task tasks[TASKS_MAX];
static unsigned tasks_count;
static sem_t all_done;
static bool no_more;
static _Thread_local struct task *myself; /* NULL in the case itself */

static bool
is_ready(const struct task *task)
{
    return !task->ended && !(task->asleep && task->bell == 0);
}

/* Who has the next turn? The present task is the first choice, if it can go on;
 * any other is an interruption. */
static struct task *
choose_task(struct task *present)
{
    struct task *ready[TASKS_MAX];
    unsigned count = 0, taken;
    bool can_go_on = present != NULL && is_ready(present);

    if (can_go_on)
        ready[count++] = present;
    for (unsigned i = 0; i < tasks_count; i++)
        if (&tasks[i] != present && is_ready(&tasks[i]))
            ready[count++] = &tasks[i];
    if (count == 0)
        return NULL;
    if (can_go_on && interruptions == interruptions_max)
        count = 1;
    taken = count > 1 ? choose(count) : 0;
    interruptions += can_go_on && taken != 0;
    return ready[taken];
}

static void
give_turn(struct task *present)
{
    struct task *next = choose_task(present);
    bool comes_back = present != NULL && !present->ended;

    if (next == present)
        return;
    sem_post(next != NULL ? &next->turn : &all_done);
    if (comes_back)
        sem_wait(&present->turn);
}

static void
touch(const void *address)
{
    if (is_gone(address))
        choices_print();
    rgi_check(!is_gone(address));
}

static void
step(const void *address)
{
    if (myself != NULL)
        give_turn(myself);
    touch(address);
}

static void
sleep_until_rung(struct task *task)
{
    task->asleep = true;
    give_turn(task);
    task->asleep = false;
    task->bell--;
}

static void
handed(struct rgi_taker *taker, uint32_t slot)
{
    struct task *task = rgi_container_of(taker, struct task, taker);

    task->slot = slot;
    task->bell++;
}

static void *
task_thread(void *argument)
{
    struct task *task = argument;

    for (;;) {
        sem_wait(&task->turn);
        if (no_more)
            return NULL;
        (void)search_begins();
        search_hint = task->number; /* no step: it would be one only once */
        myself = task;
        task->run(task);
        task->ended = true;
        give_turn(task);
        myself = NULL;
    }
}

static bool
all_ended(void)
{
    for (unsigned i = 0; i < tasks_count; i++)
        if (!tasks[i].ended)
            return false;
    return true;
}

/* One execution, from a fresh world to its end. */
static void
run_once(void (*begin)(void), void (*end)(void))
{
    arena_used = 0;
    arena_released = 0;
    choices_made = 0;
    interruptions = 0;
    (void)search_begins();
    search_hint = 0;
    for (unsigned i = 0; i < tasks_count; i++) {
        tasks[i].ended = false;
        tasks[i].bell = 0;
    }
    begin();
    give_turn(NULL);
    sem_wait(&all_done);
    if (!all_ended())
        choices_print();
    rgi_check(all_ended()); /* somebody sleeps for ever */
    end();
}

/* All executions with at most `bound` interruptions, or one more at full scale. */
static void
run_all(unsigned bound, void (*begin)(void), void (*end)(void), unsigned count,
        void (*const *runs)(struct task *))
{
    static const struct rgi_allocator arena_allocator = {arena_allocate,
                                                         arena_release};
    uint64_t executions = 0;

    rgi_memory_use(&arena_allocator);
    sem_init(&all_done, 0, 0);
    no_more = false;
    tasks_count = count;
    choices_known = 0;
    interruptions_max = bound + (rgi_scale_is_full() ? 1 : 0);
    for (unsigned i = 0; i < count; i++) {
        tasks[i] = (struct task){
            .run = runs[i], .number = i, .taker.hand = handed};
        sem_init(&tasks[i].turn, 0, 0);
        pthread_create(&tasks[i].thread, NULL, task_thread, &tasks[i]);
    }
    do {
        run_once(begin, end);
        executions++;
    } while (choices_advance());
    no_more = true;
    for (unsigned i = 0; i < count; i++) {
        sem_post(&tasks[i].turn);
        pthread_join(tasks[i].thread, NULL);
    }
    rgi_memory_use(NULL);
    fprintf(stderr, "# %llu executions\n", (unsigned long long)executions);
}

/* -------------------------------------------------------------------- worlds */

static struct rgm_pool *pool;
static struct rgm_lease held[TASKS_MAX]; /* at the start, by task */
static struct rgm_view views[TASKS_MAX];
static struct rgm_lease kept[2];

static void
make_pool(uint32_t slots_count)
{
    struct rgm_pool_options options = {.slots_count = slots_count,
                                       .slot_size_bytes = 8};

    rgi_check(rgm_pool_create(&options, &pool) == 0);
}

/* What an earlier wait leaves behind: marked words, and nobody in the crowd. */
static void
leave_mark(void)
{
    for (uint32_t i = 0; i < pool->words_count; i++)
        pool->words[i].bits |= RGI_WORD_HUNGRY;
}

static void
finish(void)
{
    rgi_check(rgi_pool_valid(pool));
    rgi_check(pool->hungry.ready[0] == 0 && pool->hungry.taken[0] == 0);
    rgi_check(pool->lenders.ready[0] == 0 && pool->lenders.taken[0] == 0);
    rgi_check(rgm_pool_free_count(pool) == rgm_pool_capacity(pool));
    rgi_check(pool->references == rgm_pool_capacity(pool) + 1);
    rgm_pool_destroy(pool);
    rgi_check(arena_released == 4);
}

static void
acquire_waiting(struct task *task, struct rgm_lease *ret_lease)
{
    uint32_t slot;
    int status = rgi_pool_wait(pool, &task->taker, &slot);

    if (status == -EAGAIN) {
        sleep_until_rung(task);
        slot = task->slot;
    }
    rgi_check(slot != RGI_NO_SLOT);
    rgi_pool_lease_of(pool, slot, 8, ret_lease);
}

static void
task_drops(struct task *task)
{
    rgi_check(rgm_lease_drop(&held[task->number]) == 0);
}

static void
task_waits_and_drops(struct task *task)
{
    struct rgm_lease lease;

    acquire_waiting(task, &lease);
    rgi_check(rgm_lease_drop(&lease) == 0);
}

/* Waits, and loses interest: what it is handed then is for the next. */
static void
task_gives_up(struct task *task)
{
    uint32_t slot;
    int status = rgi_pool_wait(pool, &task->taker, &slot);

    if (status == -EAGAIN) {
        if (rgi_pool_leave(pool, &task->taker))
            return;
        sleep_until_rung(task);
        slot = task->slot;
    }
    rgi_pool_put_slot(pool, slot);
}

/* Takes what it finds, waits for nothing. */
static void
task_passes_by(struct task *task)
{
    struct rgm_lease lease;

    (void)task;
    if (rgm_pool_try_acquire(pool, &lease) == 0)
        rgi_check(rgm_lease_drop(&lease) == 0);
}

/* --- a slot comes home, is stolen, and comes home again, as a taker goes to bed */

static void
begin_stolen(void)
{
    make_pool(1);
    rgi_check(rgm_pool_try_acquire(pool, &held[1]) == 0);
    leave_mark();
}

static void
no_wake_is_lost_to_a_thief(void)
{
    static void (*const runs[])(struct task *) = {
        task_waits_and_drops, task_drops, task_passes_by};

    run_all(2, begin_stolen, finish, 3, runs);
}

/* --- a second slot comes home while the first one removes the mark */

static void
task_takes_one_and_waits_for_another(struct task *task)
{
    if (rgm_pool_try_acquire(pool, &kept[0]) != 0)
        acquire_waiting(task, &kept[0]);
    acquire_waiting(task, &kept[1]);
    for (unsigned i = 0; i < 2; i++)
        rgi_check(rgm_lease_drop(&kept[i]) == 0);
}

static void
begin_two_slots(void)
{
    make_pool(2);
    rgi_check(rgm_pool_try_acquire(pool, &held[1]) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &held[2]) == 0);
    leave_mark();
}

static void
no_wake_is_lost_while_the_mark_goes(void)
{
    static void (*const runs[])(struct task *) = {
        task_takes_one_and_waits_for_another, task_drops, task_drops};

    /* Under a sanitizer for what each step does, not for all the orders. */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    run_all(2, begin_two_slots, finish, 3, runs);
#else
    run_all(3, begin_two_slots, finish, 3, runs);
#endif
}

/* --- two takers, and the slot must get to both, one after the other */

static void
begin_two_takers(void)
{
    make_pool(1);
    rgi_check(rgm_pool_try_acquire(pool, &held[2]) == 0);
    leave_mark();
}

static void
one_slot_feeds_two_takers(void)
{
    static void (*const runs[])(struct task *) = {
        task_waits_and_drops, task_waits_and_drops, task_drops};

    run_all(2, begin_two_takers, finish, 3, runs);
}

/* --- one of two takers gives up as the slot is handed over */

static void
bpl_03_no_wake_is_lost_to_a_cancel(void)
{
    static void (*const runs[])(struct task *) = {
        task_gives_up, task_waits_and_drops, task_drops};

    run_all(2, begin_two_takers, finish, 3, runs);
}

/* --- a lender has the last slot, and somebody waits for it */

/* Lends one slot while it may, and brings it home when it is recalled. */
static void
task_lends(struct task *task)
{
    uint32_t slot;

    rgi_check(rgi_pool_lend(pool, &task->taker) == 0);
    if (rgi_pool_is_hungry(pool)) {
        if (!rgi_pool_unlend(pool, &task->taker))
            sleep_until_rung(task);
    } else if (rgi_pool_take_slot(pool, &slot) == 0) {
        sleep_until_rung(task); /* for ever, if nobody asks for it */
        rgi_pool_put_slot(pool, slot);
    } else if (!rgi_pool_unlend(pool, &task->taker)) {
        sleep_until_rung(task);
    }
    rgi_pool_unlent(pool);
}

/* Keeps its slot until it has another, so that somebody has to wait. */
static void
task_wants_both(struct task *task)
{
    struct rgm_lease lease;

    acquire_waiting(task, &lease);
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgm_pool_close(pool); /* who lends what nobody asks for hears of it */
}

static void
begin_lending(void)
{
    make_pool(1);
}

static void
end_lending(void)
{
    rgi_check(pool->references == 1);
    rgm_pool_destroy(pool);
    rgi_check(arena_released == 4);
}

static void
lent_slot_is_recalled_in_every_order(void)
{
    static void (*const runs[])(struct task *) = {task_lends, task_wants_both};

    run_all(3, begin_lending, end_lending, 2, runs);
}

/* --- two words, each with a slot of its own */

static struct rgm_lease filling[RGI_WORD_SLOTS - 1];

static void
begin_two_words(void)
{
    make_pool(RGI_WORD_SLOTS + 1);
    for (unsigned i = 0; i < RGI_WORD_SLOTS - 1; i++)
        rgi_check(rgm_pool_try_acquire(pool, &filling[i]) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &held[1]) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &held[2]) == 0);
}

static void
end_two_words(void)
{
    for (unsigned i = 0; i < RGI_WORD_SLOTS - 1; i++)
        rgi_check(rgm_lease_drop(&filling[i]) == 0);
    finish();
}

static void
no_wake_is_lost_between_words(void)
{
    static void (*const runs[])(struct task *) = {
        task_takes_one_and_waits_for_another, task_drops, task_drops};

    run_all(2, begin_two_words, end_two_words, 3, runs);
}

/* --- the pool is destroyed while its last slots come home and a taker waits */

static void
task_drops_view(struct task *task)
{
    rgm_view_drop(&views[task->number]);
}

static void
task_destroys(struct task *task)
{
    (void)task;
    rgm_pool_destroy(pool);
}

static void
begin_ending(void)
{
    uint32_t slot;

    make_pool(2);
    for (unsigned i = 0; i < 2; i++) {
        rgi_check(rgm_pool_try_acquire(pool, &held[i]) == 0);
        rgi_check(rgm_lease_freeze(&held[i], &views[i]) == 0);
    }
    /* A third view is on the second slot, so one slot has two last holders. */
    views[3] = rgm_view_clone(&views[1]);
    rgi_check(rgi_pool_wait(pool, &tasks[2].taker, &slot) == -EAGAIN);
}

static void
end_ending(void)
{
    rgi_check(tasks[2].bell == 1); /* by a slot or by the end, but once */
    if (tasks[2].slot != RGI_NO_SLOT) {
        rgi_check(arena_released == 0);
        rgi_pool_put_slot(pool, tasks[2].slot);
    }
    rgi_check(arena_released == 4);
}

static void
bpl_14_no_order_of_the_end_is_wrong(void)
{
    static void (*const runs[])(struct task *) = {
        task_drops_view, task_drops_view, task_destroys, task_drops_view};

    run_all(2, begin_ending, end_ending, 4, runs);
}

/* --- a taker that waits while the pool is closed learns of it */

static void
task_waits_for_the_end(struct task *task)
{
    uint32_t slot;
    int status = rgi_pool_wait(pool, &task->taker, &slot);

    if (status == -EAGAIN) {
        sleep_until_rung(task);
        rgi_check(task->slot == RGI_NO_SLOT);
    } else {
        rgi_check(status == -EPIPE);
    }
}

static void
task_closes(struct task *task)
{
    (void)task;
    rgm_pool_close(pool);
}

static void
begin_closing(void)
{
    make_pool(1);
    rgi_check(rgm_pool_try_acquire(pool, &held[2]) == 0);
}

static void
end_closing(void)
{
    rgm_pool_destroy(pool);
    rgi_check(arena_released == 0);
    rgi_check(rgm_lease_drop(&held[2]) == 0);
    rgi_check(arena_released == 4);
}

static void
close_is_never_slept_through(void)
{
    static void (*const runs[])(struct task *) = {task_waits_for_the_end,
                                                  task_closes};

    run_all(4, begin_closing, end_closing, 2, runs);
}

#define CASES(X)                                    \
    X(leases, no_wake_is_lost_to_a_thief)           \
    X(leases, no_wake_is_lost_while_the_mark_goes)  \
    X(leases, one_slot_feeds_two_takers)            \
    X(leases, no_wake_is_lost_between_words)        \
    X(pool, bpl_03_no_wake_is_lost_to_a_cancel)     \
    X(leases, lent_slot_is_recalled_in_every_order) \
    X(pool, bpl_14_no_order_of_the_end_is_wrong)    \
    X(leases, close_is_never_slept_through)

RGI_CASES(CASES)
