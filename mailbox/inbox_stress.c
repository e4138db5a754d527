/* SPDX-License-Identifier: MIT */

/*
 * inbox_stress.c - does the word lose nothing, whoever pushes, sleeps, closes?
 *
 * How it works:
 * 1. producers  16 threads push, singly and in chains. The owner checks every
 *               sender's order, counts, and accounts for each of its parks.
 * 2. ping-pong  two owners that do nothing but sleep and wake each other: one
 *               lost wake stops the case for ever, and its time limit ends it.
 * 3. gate       a sender is held between its push and its bell; what it would
 *               ring for is long over when it rings.
 * 4. closing    senders race with the owner's closing; each letter is the
 *               owner's or its sender's afterwards, never both and never lost.
 *
 * A bell is a semaphore here: its value is the number of bells not yet heard.
 */

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>

#include "mailbox/letter.h"

static void
sem_bell(void *argument)
{
    rgi_check(sem_post(argument) == 0);
}

static void
sem_await(sem_t *semaphore)
{
    while (sem_wait(semaphore) != 0)
        rgi_check(errno == EINTR);
}

static uint64_t
random_next(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static pthread_t
thread_start(void *(*run)(void *), void *argument)
{
    pthread_t thread;

    rgi_check(pthread_create(&thread, NULL, run, argument) == 0);
    return thread;
}

/* --------------------------------------------------------------- producers */

#define PRODUCERS 16
#define POOL 64

/* One letter of a producer's pool. */
struct slip {
    struct letter letter;
    uint64_t text[2]; /* plain memory: written before the push */
    atomic_bool home;
};

struct office {
    struct rgi_inbox inbox;
    sem_t bell;
    uint64_t each; /* letters per producer */
    uint64_t seed;
    atomic_uint_fast64_t rung;
};

struct producer {
    struct office *office;
    uint32_t number;
    struct slip pool[POOL];
};

static uint64_t
text_of(uint32_t sender, uint64_t number)
{
    return (number + 1) * UINT64_C(0x9E3779B97F4A7C15) + sender;
}

static struct slip *
slip_await(struct producer *producer, uint64_t number)
{
    struct slip *slip = &producer->pool[number % POOL];

    while (!atomic_load_explicit(&slip->home, memory_order_acquire))
        sched_yield();
    atomic_store_explicit(&slip->home, false, memory_order_relaxed);
    letter_init(&slip->letter, producer->number, number);
    slip->text[0] = text_of(producer->number, number);
    slip->text[1] = ~slip->text[0];
    return slip;
}

static void *
produce(void *argument)
{
    struct producer *producer = argument;
    struct office *office = producer->office;
    struct rgi_outbox outbox = {.count = 0};
    uint64_t random = office->seed + producer->number + 1;
    uint64_t sent = 0;

    while (sent < office->each) {
        uint64_t length = producer->number % 2 == 0
                              ? 1
                              : random_next(&random) % (POOL / 2) + 1;
        int status;

        for (; length > 0 && sent < office->each; length--, sent++)
            rgi_outbox_add(&outbox,
                           &slip_await(producer, sent)->letter.message);
        status = rgi_outbox_flush(&outbox, &office->inbox);
        rgi_check(status >= 0 && outbox.count == 0);
        if (status == RGI_PUSHED_AND_RANG)
            atomic_fetch_add(&office->rung, 1);
    }
    return NULL;
}

struct reader {
    uint64_t next[PRODUCERS];
    uint64_t read;
    uint64_t parks, by_bell, by_other;
};

static void
read_one(struct reader *reader, struct rgm_message *message)
{
    struct slip *slip = (struct slip *)(void *)message;
    uint32_t sender = slip->letter.sender;

    rgi_check(sender < PRODUCERS);
    rgi_check(slip->letter.number == reader->next[sender]);
    rgi_check(slip->text[0] == text_of(sender, slip->letter.number));
    rgi_check(slip->text[1] == ~slip->text[0]);
    reader->next[sender]++;
    reader->read++;
    atomic_store_explicit(&slip->home, true, memory_order_release);
}

/* Sleep until rung; or, sometimes, only a moment, as if a deadline came. */
static void
park(struct office *office, struct reader *reader, uint64_t choice)
{
    if (!rgi_inbox_sleep(&office->inbox))
        return;
    reader->parks++;
    if (choice % 4 == 0) {
        sched_yield();
        if (sem_trywait(&office->bell) == 0)
            reader->by_bell++;
        else
            reader->by_other++;
    } else {
        sem_await(&office->bell);
        reader->by_bell++;
    }
    rgi_inbox_wake(&office->inbox);
}

static void
read_all(struct office *office, struct reader *reader)
{
    uint64_t random = office->seed;
    struct rgm_message *message;
    struct rgi_mail mail;

    rgi_mail_init(&mail, &office->inbox);
    while (reader->read < PRODUCERS * office->each) {
        rgi_mail_refill(&mail);
        while ((message = rgi_mail_next(&mail)) != NULL)
            read_one(reader, message);
        if (reader->read < PRODUCERS * office->each)
            park(office, reader, random_next(&random));
    }
}

static void
mbx_01_each_senders_order_among_sixteen(void)
{
    static struct producer producers[PRODUCERS];
    pthread_t threads[PRODUCERS];
    struct office office = {.each = rgi_scale(1000000), .seed = rgi_seed()};
    struct reader reader = {.read = 0};
    int left;

    sem_init(&office.bell, 0, 0);
    rgi_inbox_init(&office.inbox, sem_bell, &office.bell);
    rgi_inbox_open(&office.inbox);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        producers[i].office = &office;
        producers[i].number = i;
        for (unsigned j = 0; j < POOL; j++)
            atomic_init(&producers[i].pool[j].home, true);
        threads[i] = thread_start(produce, &producers[i]);
    }
    read_all(&office, &reader);
    for (uint32_t i = 0; i < PRODUCERS; i++) {
        pthread_join(threads[i], NULL);
        rgi_check(reader.next[i] == office.each);
    }
    /* Every park has one cause, every bell ended a park or is left over, and
     * no park was rung for twice. */
    rgi_check(sem_getvalue(&office.bell, &left) == 0);
    rgi_check(reader.parks == reader.by_bell + reader.by_other);
    rgi_check(atomic_load(&office.rung) == reader.by_bell + (uint64_t)left);
    rgi_check(atomic_load(&office.rung) <= reader.parks);
    rgi_check(rgi_inbox_take(&office.inbox) == NULL);
    sem_destroy(&office.bell);
}

/* --------------------------------------------------------------- ping-pong */

struct player {
    struct rgi_inbox inbox;
    sem_t bell;
    struct player *other;
    struct letter *ball; /* at hand, or NULL */
    uint64_t rounds;
};

static void
player_init(struct player *player, struct player *other, uint64_t rounds)
{
    sem_init(&player->bell, 0, 0);
    rgi_inbox_init(&player->inbox, sem_bell, &player->bell);
    rgi_inbox_open(&player->inbox);
    player->other = other;
    player->ball = NULL;
    player->rounds = rounds;
}

static struct letter *
receive(struct player *player)
{
    struct rgm_message *message;

    while ((message = rgi_inbox_take(&player->inbox)) == NULL) {
        if (!rgi_inbox_sleep(&player->inbox))
            continue;
        sem_await(&player->bell);
        rgi_inbox_wake(&player->inbox);
    }
    rgi_check(rgi_chain_ends(message->next));
    return letter_of(message);
}

static void *
play(void *argument)
{
    struct player *player = argument;

    for (uint64_t i = 0; i < player->rounds; i++) {
        struct letter *ball =
            player->ball != NULL ? player->ball : receive(player);

        player->ball = NULL;
        ball->number++;
        rgi_check(rgi_inbox_push(&player->other->inbox, &ball->message,
                                 &ball->message) >= 0);
    }
    return NULL;
}

static void
wkr_06_no_wake_is_lost_between_two_that_only_sleep(void)
{
    uint64_t rounds = rgi_scale(10000000);
    struct player players[2];
    struct letter ball;
    pthread_t thread;

    letter_init(&ball, 0, 0);
    player_init(&players[0], &players[1], rounds);
    player_init(&players[1], &players[0], rounds);
    players[0].ball = &ball;
    thread = thread_start(play, &players[0]);
    play(&players[1]);
    pthread_join(thread, NULL);
    rgi_check(receive(&players[0])->number == 2 * rounds);
    sem_destroy(&players[0].bell);
    sem_destroy(&players[1].bell);
}

/* -------------------------------------------------------------------- gate */

struct gated {
    struct rgi_inbox inbox;
    sem_t bell;
    sem_t at_gate; /* posted by a sender that has pushed and not yet rung */
    sem_t gate;
};

static __thread bool stops_at_gate;

static void
gated_bell(void *argument)
{
    struct gated *gated = argument;

    if (stops_at_gate) {
        sem_post(&gated->at_gate);
        sem_await(&gated->gate);
    }
    sem_post(&gated->bell);
}

static void
gated_init(struct gated *gated)
{
    sem_init(&gated->bell, 0, 0);
    sem_init(&gated->at_gate, 0, 0);
    sem_init(&gated->gate, 0, 0);
    rgi_inbox_init(&gated->inbox, gated_bell, gated);
    rgi_inbox_open(&gated->inbox);
}

struct held_push {
    struct gated *gated;
    struct letter letter;
};

static void *
push_and_stop(void *argument)
{
    struct held_push *push = argument;

    stops_at_gate = true;
    rgi_check(rgi_inbox_push(&push->gated->inbox, &push->letter.message,
                             &push->letter.message) == RGI_PUSHED_AND_RANG);
    return NULL;
}

/* The owner drains and sleeps again while the first sender stands between push
 * and bell. The second sender's bell is its own; the late one is a wake for
 * nothing. */
static void
field_b04_a_stale_bell_is_harmless(void)
{
    struct gated gated;
    struct held_push first = {.gated = &gated};
    struct letter second;
    pthread_t thread;

    gated_init(&gated);
    letter_init(&first.letter, 1, 0);
    letter_init(&second, 2, 0);
    rgi_check(rgi_inbox_sleep(&gated.inbox));
    thread = thread_start(push_and_stop, &first);
    sem_await(&gated.at_gate);

    rgi_check(rgi_inbox_take(&gated.inbox) == &first.letter.message);
    rgi_check(rgi_inbox_sleep(&gated.inbox));
    rgi_check(rgi_inbox_push(&gated.inbox, &second.message, &second.message) ==
              RGI_PUSHED_AND_RANG);
    sem_await(&gated.bell);
    rgi_check(rgi_inbox_take(&gated.inbox) == &second.message);

    rgi_check(rgi_inbox_sleep(&gated.inbox));
    sem_post(&gated.gate);
    sem_await(&gated.bell); /* for nothing: the first one's */
    rgi_check(!rgi_inbox_has_mail(&gated.inbox));
    rgi_inbox_wake(&gated.inbox);
    pthread_join(thread, NULL);
    rgi_check(rgi_inbox_push(&gated.inbox, &second.message, &second.message) ==
              RGI_PUSHED);
}

/* The same while the owner closes, and its successor opens: the sender touches
 * nothing of the inbox after its push, and its bell finds the successor. */
static void
field_b49_a_bell_may_outlive_the_owner(void)
{
    struct gated gated;
    struct held_push push = {.gated = &gated};
    pthread_t thread;

    gated_init(&gated);
    letter_init(&push.letter, 1, 0);
    rgi_check(rgi_inbox_sleep(&gated.inbox));
    thread = thread_start(push_and_stop, &push);
    sem_await(&gated.at_gate);
    rgi_check(rgi_inbox_close_begin(&gated.inbox) == &push.letter.message);
    rgi_inbox_close_end(&gated.inbox);
    rgi_inbox_open(&gated.inbox);
    rgi_check(rgi_inbox_sleep(&gated.inbox));
    sem_post(&gated.gate);
    sem_await(&gated.bell);
    pthread_join(thread, NULL);
    rgi_check(rgi_inbox_take(&gated.inbox) == NULL);
}

/* ----------------------------------------------------------------- closing */

#define CLOSERS 8
#define LETTERS 16

struct writer {
    struct rgi_inbox *inbox;
    pthread_barrier_t *start;
    struct letter letters[LETTERS];
    bool kept[LETTERS]; /* refused: still the writer's */
    uint64_t random;
};

static void *
write_letters(void *argument)
{
    struct writer *writer = argument;

    pthread_barrier_wait(writer->start);
    for (unsigned i = 0; i < LETTERS; i++) {
        struct rgm_message *message = &writer->letters[i].message;
        int status;

        for (uint64_t j = random_next(&writer->random) % 64; j > 0; j--)
            atomic_signal_fence(memory_order_seq_cst);
        while ((status = rgi_inbox_push(writer->inbox, message, message)) ==
               -EAGAIN)
            sched_yield();
        writer->kept[i] = status == -EPIPE;
        rgi_check(status >= 0 || writer->kept[i]);
    }
    return NULL;
}

static uint64_t
mark_read(struct rgm_message *newest)
{
    uint64_t count = 0;

    while (!rgi_chain_ends(newest)) {
        struct rgm_message *older = newest->next;

        rgi_check(letter_of(newest)->number == 0);
        letter_of(newest)->number = 1;
        newest = older;
        count++;
    }
    return count;
}

static void
silent_bell(void *argument)
{
    (void)argument;
}

static void
mbx_12_a_race_with_closing_loses_and_doubles_nothing(void)
{
    static struct writer writers[CLOSERS];
    pthread_t threads[CLOSERS];
    pthread_barrier_t start;
    uint64_t random = rgi_seed();

    pthread_barrier_init(&start, NULL, CLOSERS + 1);
    for (uint64_t round = rgi_scale(20000); round > 0; round--) {
        struct rgi_inbox inbox;
        uint64_t read = 0, kept = 0;

        rgi_inbox_init(&inbox, silent_bell, NULL);
        rgi_inbox_open(&inbox);
        for (unsigned i = 0; i < CLOSERS; i++) {
            writers[i].inbox = &inbox;
            writers[i].start = &start;
            writers[i].random = random_next(&random) | 1;
            for (unsigned j = 0; j < LETTERS; j++)
                letter_init(&writers[i].letters[j], i, 0);
            threads[i] = thread_start(write_letters, &writers[i]);
        }
        pthread_barrier_wait(&start);
        for (uint64_t takes = random_next(&random) % 8; takes > 0; takes--) {
            struct rgm_message *newest = rgi_inbox_take(&inbox);

            read += newest != NULL ? mark_read(newest) : 0;
            sched_yield();
        }
        read += mark_read(rgi_inbox_close_begin(&inbox));
        rgi_inbox_close_end(&inbox);
        for (unsigned i = 0; i < CLOSERS; i++) {
            pthread_join(threads[i], NULL);
            for (unsigned j = 0; j < LETTERS; j++) {
                kept += writers[i].kept[j];
                rgi_check(writers[i].kept[j] ==
                          (writers[i].letters[j].number == 0));
            }
        }
        rgi_check(read + kept == CLOSERS * LETTERS);
    }
    pthread_barrier_destroy(&start);
}

#define CASES(X)                                                               \
    X(mailbox, mbx_01_each_senders_order_among_sixteen)                        \
    X(mailbox, wkr_06_no_wake_is_lost_between_two_that_only_sleep)             \
    X(mailbox, field_b04_a_stale_bell_is_harmless)                             \
    X(mailbox, field_b49_a_bell_may_outlive_the_owner)                         \
    X(mailbox, mbx_12_a_race_with_closing_loses_and_doubles_nothing)

RGI_CASES(CASES)
