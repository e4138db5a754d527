/* SPDX-License-Identifier: MIT */

/*
 * pool_stress.c - do slots, bytes, wakes and the end survive many threads?
 *
 * How it works:
 * 1. stamping   16 threads write their number all over each slot they get, hand
 *               some on as views, and look whether anybody else wrote there.
 * 2. litmus     a lessee must find the last lessee's bytes, whole.
 * 3. lost wake  two threads hand one slot to and fro; the one that waits does
 *               nothing else, so a single lost wake stops the case for ever
 *               and the runner's time limit ends it. Again with waits that are
 *               given up at any moment.
 * 4. crowd      more takers than slots, passers-by that steal, and every taker
 *               gets its share.
 * 5. ending     a pool is destroyed while its last slots come home elsewhere.
 */

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

#include "base/cases.h"
#include "base/list.h"
#include "base/memory.h"
#include "leases/parts.h"

#define THREADS 16
#define SLOT_BYTES 256

static struct rgm_pool *
make_pool(uint32_t slots_count)
{
    struct rgm_pool_options options = {.slots_count = slots_count,
                                       .slot_size_bytes = SLOT_BYTES};
    struct rgm_pool *pool;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    return pool;
}

static void
finish(struct rgm_pool *pool)
{
    rgi_check(rgi_pool_valid(pool));
    rgi_check(rgm_pool_free_count(pool) == rgm_pool_capacity(pool));
    rgm_pool_destroy(pool);
    rgi_check(rgi_memory_live() == 0);
}

static uint64_t
random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A few instructions, or a chance for the other thread. */
static void
dawdle(uint64_t *random)
{
    uint64_t choice = random_next(random) % 64;

    if (choice == 0)
        sched_yield();
    else
        for (volatile uint64_t i = 0; i < choice; i++)
            ;
}

/* ---------------------------------------------------------------- stamping */

struct stamper {
    struct rgm_pool *pool;
    struct stamper *all;
    struct rgm_view box; /* a view from the thread before */
    atomic_bool box_full;
    unsigned number;
    uint64_t random;
    uint64_t rounds;
    uint64_t acquired;
};

static bool
all_bytes_are(const void *memory, size_t length, unsigned char value)
{
    const unsigned char *bytes = memory;

    for (size_t i = 0; i < length; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* Gives a view to the neighbour, who drops it: the slot goes home elsewhere. */
static void
hand_on(struct stamper *stamper, struct rgm_view *view)
{
    struct stamper *next = &stamper->all[(stamper->number + 1) % THREADS];

    if (atomic_load_explicit(&next->box_full, memory_order_acquire)) {
        rgm_view_drop(view);
        return;
    }
    next->box = *view;
    atomic_store_explicit(&next->box_full, true, memory_order_release);
}

static void
look_into_box(struct stamper *stamper)
{
    unsigned before = (stamper->number + THREADS - 1) % THREADS;

    if (!atomic_load_explicit(&stamper->box_full, memory_order_acquire))
        return;
    rgi_check(all_bytes_are(stamper->box.data, stamper->box.length_bytes,
                            (unsigned char)(before + 1)));
    rgm_view_drop(&stamper->box);
    atomic_store_explicit(&stamper->box_full, false, memory_order_release);
}

static void
stamp_once(struct stamper *stamper)
{
    unsigned char value = (unsigned char)(stamper->number + 1);
    struct rgm_lease lease;
    struct rgm_view view, part;

    if (rgm_pool_try_acquire(stamper->pool, &lease) != 0) {
        sched_yield();
        return;
    }
    stamper->acquired++;
    memset(lease.data, value, lease.length_bytes);
    dawdle(&stamper->random);
    rgi_check(all_bytes_are(lease.data, lease.length_bytes, value));
    if (random_next(&stamper->random) % 2) {
        rgi_check(rgm_lease_drop(&lease) == 0);
        return;
    }
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgi_check(rgm_view_range(&view, 1, 100, &part) == 0);
    hand_on(stamper, &part);
    rgi_check(all_bytes_are(view.data, view.length_bytes, value));
    rgm_view_drop(&view);
}

static void *
stamp(void *argument)
{
    struct stamper *stamper = argument;

    for (uint64_t i = 0; i < stamper->rounds; i++) {
        stamp_once(stamper);
        look_into_box(stamper);
    }
    return NULL;
}

/* Returns how many leases the 16 threads had. */
static uint64_t
run_stampers(struct rgm_pool *pool, uint64_t rounds)
{
    static struct stamper stampers[THREADS];
    pthread_t threads[THREADS];
    uint64_t acquired = 0;

    memset(stampers, 0, sizeof(stampers));
    for (unsigned i = 0; i < THREADS; i++) {
        stampers[i].pool = pool;
        stampers[i].all = stampers;
        stampers[i].number = i;
        stampers[i].random = rgi_seed() + i + 1;
        stampers[i].rounds = rounds;
        pthread_create(&threads[i], NULL, stamp, &stampers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++) {
        look_into_box(&stampers[i]);
        acquired += stampers[i].acquired;
    }
    return acquired;
}

/* No two of 16 threads ever write to one slot at the same time. */
static void
bpl_04_sixteen_threads_never_overlap(void)
{
    struct rgm_pool *pool = make_pool(40);

    rgi_check(run_stampers(pool, rgi_scale(2000000)) > 0);
    finish(pool);
}

/* The same with two thirds of the slots leaked: those stay as they are. */
static void
bpl_15_leaks_never_lead_to_sharing(void)
{
    struct rgm_pool *pool = make_pool(36);
    struct rgm_lease leaked[24];

    for (unsigned i = 0; i < 24; i++) {
        rgi_check(rgm_pool_try_acquire(pool, &leaked[i]) == 0);
        memset(leaked[i].data, 0xee, SLOT_BYTES);
    }
    rgi_check(run_stampers(pool, rgi_scale(1000000)) > 0);
    rgi_check(rgm_pool_free_count(pool) == 12);
    for (unsigned i = 0; i < 24; i++) {
        rgi_check(all_bytes_are(leaked[i].data, SLOT_BYTES, 0xee));
        rgi_check(rgm_lease_drop(&leaked[i]) == 0);
    }
    finish(pool);
}

/* ------------------------------------------------------------------ litmus */

struct litmus {
    struct rgm_pool *pool;
    uint64_t random;
    uint64_t rounds;
    uint64_t added;
};

/* Adds one to every word of the slot it gets: a number that is not the same in
 * all of them, or a sum that does not come out, is a write that was not seen. */
static void *
count_in_slots(void *argument)
{
    struct litmus *litmus = argument;
    struct rgm_lease lease;

    while (litmus->added < litmus->rounds) {
        uint64_t *words, before;

        if (rgm_pool_try_acquire(litmus->pool, &lease) != 0) {
            sched_yield();
            continue;
        }
        words = lease.data;
        before = words[0];
        for (size_t i = 0; i < SLOT_BYTES / sizeof(*words); i++) {
            rgi_check(words[i] == before);
            words[i] = before + 1;
        }
        rgi_check(rgm_lease_drop(&lease) == 0);
        litmus->added++;
        dawdle(&litmus->random);
    }
    return NULL;
}

/* Checkout acquires and return releases: a lessee sees all its forerunner did.
 * The slots are plain memory, so ThreadSanitizer judges the same question. */
static void
bpl_11_next_lessee_sees_the_last_writer(void)
{
    struct rgm_pool *pool = make_pool(3);
    struct litmus litmus[4];
    pthread_t threads[4];
    struct rgm_lease leases[3];
    uint64_t sum = 0;

    for (unsigned i = 0; i < 4; i++) {
        litmus[i] = (struct litmus){pool, rgi_seed() + i, rgi_scale(2000000), 0};
        pthread_create(&threads[i], NULL, count_in_slots, &litmus[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 3; i++) {
        rgi_check(rgm_pool_try_acquire(pool, &leases[i]) == 0);
        sum += *(uint64_t *)leases[i].data;
    }
    rgi_check(sum == 4 * rgi_scale(2000000));
    for (unsigned i = 0; i < 3; i++)
        rgi_check(rgm_lease_drop(&leases[i]) == 0);
    finish(pool);
}

/* --------------------------------------------------------------- lost wake */

struct player {
    struct rgi_taker taker;
    struct rgm_pool *pool;
    struct player *other;
    uint32_t slot; /* that it was handed */
    sem_t wake;    /* remembers a slot that comes early */
    sem_t my_turn; /* the other has waited for us, and has what it waited for */
    unsigned number;
    uint64_t random;
    uint64_t rounds;
    uint64_t slept;
    uint64_t left; /* without a slot */
    bool impatient;
};

static void
handed(struct rgi_taker *taker, uint32_t slot)
{
    struct player *player = rgi_container_of(taker, struct player, taker);

    player->slot = slot;
    sem_post(&player->wake);
}

/* Some lose patience, and may be too late with it. */
static struct rgm_lease
acquire_waiting(struct player *player)
{
    struct rgm_lease lease;
    uint32_t slot;
    int status;

    while ((status = rgi_pool_wait(player->pool, &player->taker, &slot)) ==
           -EAGAIN) {
        dawdle(&player->random);
        if (player->impatient && random_next(&player->random) % 4 == 0 &&
            rgi_pool_leave(player->pool, &player->taker)) {
            player->left++;
            continue;
        }
        player->slept++;
        sem_wait(&player->wake);
        slot = player->slot;
        break;
    }
    rgi_check(status == 0 || status == -EAGAIN);
    rgi_check(slot != RGI_NO_SLOT);
    rgi_pool_lease_of(player->pool, slot, SLOT_BYTES, &lease);
    return lease;
}

/* Bring the slot home once, then do nothing until the other has it: what is
 * lost here nobody makes good. */
static void *
play(void *argument)
{
    struct player *player = argument;
    struct rgm_lease lease;

    for (uint64_t i = 0; i < player->rounds; i++) {
        lease = acquire_waiting(player);
        sem_post(&player->other->my_turn); /* it may begin to wait */
        dawdle(&player->random);
        dawdle(&player->random);
        rgi_check(rgm_lease_drop(&lease) == 0);
        sem_wait(&player->my_turn); /* it has the slot */
    }
    return NULL;
}

static void
player_init(struct player *player, struct rgm_pool *pool, unsigned number,
            uint64_t rounds)
{
    memset(player, 0, sizeof(*player));
    player->pool = pool;
    player->number = number;
    player->random = rgi_seed() + number + 1;
    player->rounds = rounds;
    sem_init(&player->wake, 0, 0);
    sem_init(&player->my_turn, 0, 0);
    player->taker.hand = handed;
}

static void
play_two(bool impatient)
{
    struct rgm_pool *pool = make_pool(1);
    static struct player players[2];
    pthread_t threads[2];

    for (unsigned i = 0; i < 2; i++) {
        player_init(&players[i], pool, i, rgi_scale(2000000));
        players[i].other = &players[1 - i];
        players[i].impatient = impatient;
    }
    for (unsigned i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, play, &players[i]);
    for (unsigned i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < 2; i++)
        rgi_check(players[i].slept <= players[i].rounds);
    finish(pool);
}

static void
no_wake_is_lost_between_two(void)
{
    play_two(false);
}

/* A wait that is given up while the slot is handed over. */
static void
bpl_03_no_wake_is_lost_to_a_cancel(void)
{
    play_two(true);
}

/* ------------------------------------------------------------------- crowd */

#define SLOTS_OF_CROWD 3

static atomic_bool crowd_is_done;

static void *
queue_up(void *argument)
{
    struct player *player = argument;

    for (uint64_t i = 0; i < player->rounds; i++) {
        struct rgm_lease lease = acquire_waiting(player);

        dawdle(&player->random);
        rgi_check(rgm_lease_drop(&lease) == 0);
    }
    return NULL;
}

/* Takes without waiting, and so often finds what was meant for another. */
static void *
pass_by(void *argument)
{
    struct player *player = argument;
    struct rgm_lease lease;

    while (!atomic_load(&crowd_is_done)) {
        if (rgm_pool_try_acquire(player->pool, &lease) == 0) {
            dawdle(&player->random);
            rgi_check(rgm_lease_drop(&lease) == 0);
        }
        sched_yield();
    }
    return NULL;
}

/* Every one of 14 takers gets its share of 3 slots, two thieves at work. */
static void
every_taker_gets_its_share(void)
{
    struct rgm_pool *pool = make_pool(SLOTS_OF_CROWD);
    static struct player players[THREADS];
    pthread_t threads[THREADS];

    atomic_store(&crowd_is_done, false);
    for (unsigned i = 0; i < THREADS; i++) {
        player_init(&players[i], pool, i, rgi_scale(500000));
        players[i].impatient = i % 2;
    }
    for (unsigned i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, i < 14 ? queue_up : pass_by,
                       &players[i]);
    for (unsigned i = 0; i < 14; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&crowd_is_done, true);
    for (unsigned i = 14; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    finish(pool);
}

/* ------------------------------------------------------------------ ending */

#define ENDERS 4

struct ender {
    struct rgm_pool *pool;
    struct rgm_view view;
    pthread_barrier_t *barrier;
    uint64_t rounds;
    uint64_t random;
};

static void *
drop_at_the_end(void *argument)
{
    struct ender *ender = argument;

    for (uint64_t i = 0; i < ender->rounds; i++) {
        pthread_barrier_wait(ender->barrier);
        dawdle(&ender->random);
        rgm_view_drop(&ender->view);
        pthread_barrier_wait(ender->barrier);
    }
    return NULL;
}

struct sleeper {
    struct rgi_taker taker;
    unsigned number;
};

/* The pool must not be used here, so the slot goes home afterwards. */
static _Atomic uint32_t slot_of_sleeper[2];

static void
keep_for_later(struct rgi_taker *taker, uint32_t slot)
{
    struct sleeper *sleeper = rgi_container_of(taker, struct sleeper, taker);

    atomic_store(&slot_of_sleeper[sleeper->number], slot);
}

static void
sleepers_drop(struct rgm_pool *pool, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        uint32_t slot = atomic_load(&slot_of_sleeper[i]);

        if (slot != RGI_NO_SLOT)
            rgi_pool_put_slot(pool, slot);
    }
}

/* A slot comes home, wakes a taker, or retires, while the pool is destroyed
 * under it; the memory goes once, after the last. */
static void
bpl_14_destroy_races_with_returns(void)
{
    static struct ender enders[ENDERS];
    pthread_barrier_t barrier;
    pthread_t threads[ENDERS];
    uint64_t rounds = rgi_scale(300000), random = rgi_seed();

    pthread_barrier_init(&barrier, NULL, ENDERS + 1);
    for (unsigned i = 0; i < ENDERS; i++) {
        enders[i].barrier = &barrier;
        enders[i].rounds = rounds;
        enders[i].random = random + i + 1;
        pthread_create(&threads[i], NULL, drop_at_the_end, &enders[i]);
    }
    for (uint64_t round = 0; round < rounds; round++) {
        struct rgm_pool *pool = make_pool(ENDERS);
        struct sleeper sleepers[2] = {{{keep_for_later, 0}, 0},
                                      {{keep_for_later, 0}, 1}};
        uint32_t slot;

        for (unsigned i = 0; i < ENDERS; i++) {
            struct rgm_lease lease;

            rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
            rgi_check(rgm_lease_freeze(&lease, &enders[i].view) == 0);
        }
        for (unsigned i = 0; i < round % 3; i++)
            rgi_check(rgi_pool_wait(pool, &sleepers[i].taker, &slot) ==
                      -EAGAIN);
        pthread_barrier_wait(&barrier);
        dawdle(&random);
        rgm_pool_destroy(pool);
        pthread_barrier_wait(&barrier);
        sleepers_drop(pool, (unsigned)(round % 3));
        rgi_check(rgi_memory_live() == 0);
    }
    for (unsigned i = 0; i < ENDERS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
}

#define CASES(X)                                     \
    X(pool, bpl_04_sixteen_threads_never_overlap)    \
    X(pool, bpl_11_next_lessee_sees_the_last_writer) \
    X(pool, bpl_15_leaks_never_lead_to_sharing)      \
    X(pool, bpl_14_destroy_races_with_returns)       \
    X(pool, bpl_03_no_wake_is_lost_to_a_cancel)      \
    X(leases, no_wake_is_lost_between_two)           \
    X(leases, every_taker_gets_its_share)

RGI_CASES(CASES)
