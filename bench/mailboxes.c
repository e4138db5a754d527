/* SPDX-License-Identifier: MIT */

/*
 * mailboxes.c - which structure should carry messages between two workers?
 *
 *     bench_mailboxes ordered|scattered SLICES COUNT [NAME]
 *
 * Every candidate does the whole job of an inbox: messages of one cache line
 * from a pool of 4,096 go to the other core, are read in order there, and come
 * home through a second structure of the same kind, to be used again. They lie
 * in memory in the order of sending, or scattered, as after long use.
 *
 * Two figures each, in slices: ns per message against a batched ring of one
 * producer and one consumer (which brings nothing home), and the round trip of
 * a single message in round trips of a bare cache line.
 *
 * docs/decisions/0002-mailbox-structure.md draws the conclusion.
 */

#include "bench/duet.h"

#include <ck_ring.h>
#include <pthread.h>

#define POOL_MESSAGES 4096u
#define HOME_CHAIN 64u
#define RING_SLOTS 8192u /* holds the whole pool: a put never waits */
#define TAKE_MAX 256u
#define AHEAD 8u /* messages; a power of two */
#define SCATTER 1597u /* odd: visits the whole pool */

struct message {
    _Alignas(64) struct message *_Atomic next; /* in the structure */
    struct message *inner;                     /* in an ordered chain */
    struct message *ahead; /* the one AHEAD before it in its chain */
    uint64_t header[3];
    uint64_t value[2];
};

/* A list being built or read: oldest first, linked by `inner`. */
struct chain {
    struct message *first, *last;
    uint32_t count;
};

/* What an outbox remembers of the messages put last. */
static _Thread_local struct message *recent[AHEAD];

/* One structure; each candidate uses what it needs. */
struct queue {
    _Alignas(BENCH_CACHE_LINES) struct message *_Atomic head; /* senders' */
    _Alignas(BENCH_CACHE_LINES) struct message *oldest;       /* owner's */
    struct message stub;
    _Alignas(BENCH_CACHE_LINES) ck_ring_t ring;
    ck_ring_buffer_t slots[RING_SLOTS];
};

/* How the sender links what it puts at once. */
enum order {
    BY_INNER,     /* oldest first, by `inner` */
    OLDEST_FIRST, /* by `next` */
    NEWEST_FIRST, /* by `next`: the owner's reversal restores the order */
    WITH_HINTS,   /* the same, and each says where the one AHEAD is */
};

struct candidate {
    const char *name;
    enum order order;
    uint32_t chain_messages; /* how many are put at once */
    void (*put)(struct queue *, struct chain *);
    void (*take)(struct queue *, struct chain *ret_chain);
};

static inline void
chain_append(struct chain *chain, struct message *message)
{
    message->inner = NULL;
    if (chain->first == NULL)
        chain->first = message;
    else
        chain->last->inner = message;
    chain->last = message;
    chain->count++;
}

static inline struct message *
chain_pop(struct chain *chain)
{
    struct message *message = chain->first;

    chain->first = message->inner;
    chain->count--;
    return message;
}

static inline struct message *
next_of(struct message *message)
{
    return atomic_load_explicit(&message->next, memory_order_relaxed);
}

static inline void
set_next(struct message *message, struct message *next)
{
    atomic_store_explicit(&message->next, next, memory_order_relaxed);
}

/* -- one head word, pushed with compare-and-swap, taken with exchange ----- */

static void
word_push(struct queue *queue, struct message *newest, struct message *oldest)
{
    struct message *head =
        atomic_load_explicit(&queue->head, memory_order_relaxed);

    do
        set_next(oldest, head);
    /* Publishes the messages to the owner. */
    while (!atomic_compare_exchange_weak_explicit(&queue->head, &head, newest,
                                                  memory_order_release,
                                                  memory_order_relaxed));
}

static void
word_put(struct queue *queue, struct chain *chain)
{
    word_push(queue, chain->first, chain->last);
    *chain = (struct chain){0};
}

static struct message *
word_take_all(struct queue *queue)
{
    if (atomic_load_explicit(&queue->head, memory_order_relaxed) == NULL)
        return NULL;
    /* Observes all messages from their senders. */
    return atomic_exchange_explicit(&queue->head, NULL, memory_order_acquire);
}

static void
word_take(struct queue *queue, struct chain *ret_chain)
{
    struct message *message = word_take_all(queue), *next;

    *ret_chain = (struct chain){0};
    if (message != NULL)
        ret_chain->last = message;
    for (; message != NULL; message = next) {
        next = next_of(message);
        message->inner = ret_chain->first;
        ret_chain->first = message;
        ret_chain->count++;
    }
}

static void
hinted_take(struct queue *queue, struct chain *ret_chain)
{
    struct message *message = word_take_all(queue), *next;

    *ret_chain = (struct chain){0};
    if (message != NULL)
        ret_chain->last = message;
    for (; message != NULL; message = next) {
        next = next_of(message);
        __builtin_prefetch(message->ahead, 1);
        message->inner = ret_chain->first;
        ret_chain->first = message;
        ret_chain->count++;
    }
}

/* One message stands for the ordered chain behind it. */
static void
carrier_put(struct queue *queue, struct chain *chain)
{
    chain->first->header[0] = chain->count;
    chain->first->header[1] = (uint64_t)(uintptr_t)chain->last;
    word_push(queue, chain->first, chain->first);
    *chain = (struct chain){0};
}

static void
carrier_take(struct queue *queue, struct chain *ret_chain)
{
    struct message *carrier = word_take_all(queue), *next;

    *ret_chain = (struct chain){0};
    for (; carrier != NULL; carrier = next) {
        struct message *last =
            (struct message *)(uintptr_t)carrier->header[1];

        next = next_of(carrier);
        last->inner = ret_chain->first;
        if (ret_chain->first == NULL)
            ret_chain->last = last;
        ret_chain->first = carrier;
        ret_chain->count += (uint32_t)carrier->header[0];
    }
}

/* -- Vyukov's queue: the tail is exchanged, then linked to ---------------- */

static void
vyukov_push(struct queue *queue, struct message *first, struct message *last)
{
    struct message *before;

    set_next(last, NULL);
    /* Orders this push behind all earlier ones; observes `before`. */
    before = atomic_exchange_explicit(&queue->head, last,
                                      memory_order_acq_rel);
    /* Publishes the messages to the owner. */
    atomic_store_explicit(&before->next, first, memory_order_release);
}

static void
vyukov_put(struct queue *queue, struct chain *chain)
{
    vyukov_push(queue, chain->first, chain->last);
    *chain = (struct chain){0};
}

static struct message *
vyukov_next(struct message *message)
{
    /* Observes the message from its sender. */
    return atomic_load_explicit(&message->next, memory_order_acquire);
}

static struct message *
vyukov_get(struct queue *queue)
{
    struct message *oldest = queue->oldest, *next = vyukov_next(oldest);

    if (oldest == &queue->stub) {
        if (next == NULL)
            return NULL;
        queue->oldest = next;
        oldest = next;
        next = vyukov_next(next);
    }
    if (next == NULL) {
        /* The last one may only leave when something is behind it. */
        if (atomic_load_explicit(&queue->head, memory_order_relaxed) != oldest)
            return NULL;
        vyukov_push(queue, &queue->stub, &queue->stub);
        next = vyukov_next(oldest);
        if (next == NULL)
            return NULL;
    }
    queue->oldest = next;
    return oldest;
}

static void
vyukov_take(struct queue *queue, struct chain *ret_chain)
{
    struct message *message;

    *ret_chain = (struct chain){0};
    while (ret_chain->count < TAKE_MAX &&
           (message = vyukov_get(queue)) != NULL)
        chain_append(ret_chain, message);
}

/* -- ck_ring ------------------------------------------------------------- */

static void
spsc_put(struct queue *queue, struct chain *chain)
{
    while (chain->first != NULL)
        while (!ck_ring_enqueue_spsc(&queue->ring, queue->slots,
                                     chain_pop(chain)))
            bench_fail("ring", ENOSPC);
}

static void
spsc_take(struct queue *queue, struct chain *ret_chain)
{
    void *message;

    *ret_chain = (struct chain){0};
    while (ret_chain->count < TAKE_MAX &&
           ck_ring_dequeue_spsc(&queue->ring, queue->slots, &message))
        chain_append(ret_chain, message);
}

static void
mpsc_put(struct queue *queue, struct chain *chain)
{
    while (chain->first != NULL)
        while (!ck_ring_enqueue_mpsc(&queue->ring, queue->slots,
                                     chain_pop(chain)))
            bench_fail("ring", ENOSPC);
}

static void
mpsc_take(struct queue *queue, struct chain *ret_chain)
{
    void *message;

    *ret_chain = (struct chain){0};
    while (ret_chain->count < TAKE_MAX &&
           ck_ring_dequeue_mpsc(&queue->ring, queue->slots, &message))
        chain_append(ret_chain, message);
}

/* -- the two sides -------------------------------------------------------- */

static const struct candidate candidates[] = {
    {"word-1", NEWEST_FIRST, 1, word_put, word_take},
    {"word-16", NEWEST_FIRST, 16, word_put, word_take},
    {"word-64", NEWEST_FIRST, 64, word_put, word_take},
    {"word-256", NEWEST_FIRST, 256, word_put, word_take},
    {"hints-64", WITH_HINTS, 64, word_put, hinted_take},
    {"hints-256", WITH_HINTS, 256, word_put, hinted_take},
    {"carrier-16", BY_INNER, 16, carrier_put, carrier_take},
    {"carrier-64", BY_INNER, 64, carrier_put, carrier_take},
    {"carrier-256", BY_INNER, 256, carrier_put, carrier_take},
    {"vyukov-1", OLDEST_FIRST, 1, vyukov_put, vyukov_take},
    {"vyukov-64", OLDEST_FIRST, 64, vyukov_put, vyukov_take},
    {"ck_ring_spsc", BY_INNER, 64, spsc_put, spsc_take},
    {"ck_ring_mpsc", BY_INNER, 64, mpsc_put, mpsc_take},
};

static const struct candidate *candidate;
static struct duet duet;
static struct queue queues[2]; /* towards that side */
static struct message pool[POOL_MESSAGES];
static struct chain home; /* side 0's messages that are not out */
static uint64_t sums[2];
static struct bench_slices flow, bounce;
static uint64_t count;
static bool scattered;

static inline void
hint_set(struct chain *chain, struct message *message)
{
    struct message **place = &recent[chain->count % AHEAD];

    message->ahead = chain->count < AHEAD ? message : *place;
    *place = message;
}

/* Add a message to a chain that will be put. */
static inline void
outbox_add(struct chain *chain, struct message *message)
{
    if (candidate->order == BY_INNER) {
        chain_append(chain, message);
        return;
    }
    if (candidate->order == WITH_HINTS)
        hint_set(chain, message);
    if (chain->first == NULL)
        chain->last = message;
    if (candidate->order == OLDEST_FIRST && chain->first != NULL) {
        set_next(chain->last, message);
        chain->last = message;
    } else {
        set_next(message, chain->first);
        chain->first = message;
    }
    chain->count++;
}

static void
take_home(void)
{
    struct chain chain;

    candidate->take(&queues[0], &chain);
    while (chain.first != NULL)
        chain_append(&home, chain_pop(&chain));
}

/* Only whole chains are sent: the pool is a multiple of every length. */
static void
send_all(uint64_t messages)
{
    for (uint64_t i = 0; i < messages;) {
        struct chain chain = {0};

        while (home.count < candidate->chain_messages)
            take_home();
        while (chain.count < candidate->chain_messages) {
            struct message *message = chain_pop(&home);

            message->value[0] = i++;
            outbox_add(&chain, message);
        }
        candidate->put(&queues[1], &chain);
    }
}

/* Read every message and send it home: in chains, whatever it came in, and
 * when nothing more is there, as a worker does at the end of its work. */
static void
receive_all(uint64_t messages)
{
    struct chain back = {0}, chain;
    uint64_t expected = 0;

    while (expected < messages) {
        candidate->take(&queues[1], &chain);
        if (chain.first == NULL && back.count != 0)
            candidate->put(&queues[0], &back);
        while (chain.first != NULL) {
            struct message *message = chain_pop(&chain);

            if (message->value[0] != expected++)
                bench_fail("order", EPROTO);
            sums[1] += message->value[0];
            outbox_add(&back, message);
            if (back.count == HOME_CHAIN)
                candidate->put(&queues[0], &back);
        }
    }
    if (back.count != 0)
        candidate->put(&queues[0], &back);
}

static void
bounce_side(unsigned side, uint64_t round_trips)
{
    struct chain chain = {0};

    if (side == 0)
        chain_append(&chain, chain_pop(&home));
    for (uint64_t i = 0; i < round_trips; i++) {
        if (side == 0)
            candidate->put(&queues[1], &chain);
        do
            candidate->take(&queues[side], &chain);
        while (chain.first == NULL);
        sums[side] += chain.first->value[0];
        if (side == 1)
            candidate->put(&queues[0], &chain);
    }
    if (side == 0)
        chain_append(&home, chain_pop(&chain));
}

static void
flow_side(unsigned side, uint64_t messages)
{
    if (side == 1) {
        receive_all(messages);
        return;
    }
    send_all(messages);
    while (home.count < POOL_MESSAGES)
        take_home();
}

static double
timed(void (*play)(unsigned, uint64_t), unsigned side, uint64_t units)
{
    uint64_t begin_ns;

    duet_meet(&duet, side);
    begin_ns = bench_now_ns();
    play(side, units);
    duet_meet(&duet, side);
    return (double)(bench_now_ns() - begin_ns) / (double)units;
}

static void
run_side(unsigned side, size_t slices)
{
    uint64_t trips = count / 64, messages = count / 256 * 256;

    for (size_t i = 0; i <= slices; i++) {
        double limit, ours = 0;

        limit = (double)duet_play(&duet, DUET_ONE_WAY, side, messages) /
                (double)messages;
        if (i < slices)
            ours = timed(flow_side, side, messages);
        if (side == 0)
            flow.limit[i] = limit;
        if (side == 0 && i < slices)
            flow.ours[i] = ours;
        limit = (double)duet_play(&duet, DUET_LINE, side, trips) /
                (double)trips;
        if (i < slices)
            ours = timed(bounce_side, side, trips);
        if (side == 0)
            bounce.limit[i] = limit;
        if (side == 0 && i < slices)
            bounce.ours[i] = ours;
    }
}

static void *
other_side(void *unused)
{
    bench_pin(1);
    run_side(1, flow.count);
    return unused;
}

static void
queue_reset(struct queue *queue)
{
    memset(queue, 0, sizeof(*queue));
    ck_ring_init(&queue->ring, RING_SLOTS);
    queue->oldest = &queue->stub;
    if (candidate->take == vyukov_take)
        atomic_store(&queue->head, &queue->stub);
}

static void
measure(size_t slices)
{
    char series[64];
    pthread_t thread;
    int status;

    queue_reset(&queues[0]);
    queue_reset(&queues[1]);
    home = (struct chain){0};
    for (uint32_t i = 0; i < POOL_MESSAGES; i++)
        chain_append(&home, &pool[scattered ? i * SCATTER % POOL_MESSAGES : i]);
    flow.count = bounce.count = slices;
    status = pthread_create(&thread, NULL, other_side, NULL);
    if (status != 0)
        bench_fail("thread", status);
    run_side(0, slices);
    pthread_join(thread, NULL);
    snprintf(series, sizeof(series), "%s.flow", candidate->name);
    bench_slices_report(&flow, series, 1);
    snprintf(series, sizeof(series), "%s.bounce", candidate->name);
    bench_slices_report(&bounce, series, 0);
}

int
main(int argc, char **argv)
{
    size_t slices;

    if (argc < 4 || (strcmp(argv[1], "ordered") != 0 &&
                     strcmp(argv[1], "scattered") != 0)) {
        fputs("usage: bench_mailboxes ordered|scattered SLICES COUNT [NAME]\n",
              stderr);
        return 2;
    }
    scattered = argv[1][0] == 's';
    slices = bench_number(argv[2], BENCH_SLICES_MAX);
    count = bench_number(argv[3], UINT64_C(1) << 40);
    bench_pin(0);
    for (size_t i = 0; i < sizeof(candidates) / sizeof(*candidates); i++) {
        candidate = &candidates[i];
        if (argc == 4 || strcmp(argv[4], candidate->name) == 0)
            measure(slices);
    }
    return 0;
}
