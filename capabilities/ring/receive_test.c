/* SPDX-License-Identifier: MIT */

/* receive_test.c - does one request fill a pool, and is the pool the kernel's
 * exactly as long as that request is? */

#include <pthread.h>

#include <ringmail/import.h>

#include "capabilities/receiver.h"
#include "capabilities/ring/shim.h"

#define SLOT_BYTES 4

/* A receiver on the far end of a connection; what is sent goes behind the ring's
 * back. */
struct play {
    struct world world;
    struct pair pair;
    struct rgm_pool *pool;
    struct rgm_receiver receiver;
};

static void
play_open(struct play *play, uint32_t slots_count)
{
    struct rgm_pool_options options = {.name = "received",
                                       .slots_count = slots_count,
                                       .slot_size_bytes = SLOT_BYTES};

    shim_open(&play->world);
    pair_open(&play->world, &play->pair);
    rgi_check(rgm_pool_create(&options, &play->pool) == 0);
}

static void
play_receive(struct play *play)
{
    rgm_stream_receive(&play->receiver, &play->pair.far, play->pool);
    world_start(&play->world, &play->receiver.operation);
    world_settle(&play->world);
}

static void
play_start(struct play *play, uint32_t slots_count)
{
    memset(play, 0, sizeof(*play));
    play_open(play, slots_count);
    play_receive(play);
}

static int
play_cancel(struct play *play)
{
    world_cancel(&play->world, &play->receiver.operation);
    return world_finish(&play->world, &play->receiver.operation);
}

/* All slots are home. */
static void
play_close(struct play *play)
{
    if (!is_home(&play->receiver.operation))
        rgi_check(play_cancel(play) == -ECANCELED);
    rgi_check(play->receiver.source == NULL);
    rgi_check(rgm_pool_free_count(play->pool) == rgm_pool_capacity(play->pool));
    rgi_check(rgi_pool_valid(play->pool));
    rgm_pool_destroy(play->pool);
    pair_close(&play->world, &play->pair);
    world_close(&play->world);
}

static void
play_send(struct play *play, const char *text)
{
    int fd = world_fd(&play->world, &play->pair.near.socket);

    rgi_check(send(fd, text, strlen(text), MSG_NOSIGNAL) ==
              (ssize_t)strlen(text));
}

/* The peer sends no more. */
static void
play_end(struct play *play)
{
    rgi_check(shutdown(world_fd(&play->world, &play->pair.near.socket),
                       SHUT_WR) == 0);
}

static void
next_start(struct play *play, struct rgm_received *next)
{
    rgm_receiver_next(next, &play->receiver);
    world_start(&play->world, &next->operation);
}

static void
next_expect(struct play *play, struct rgm_received *next, const char *text)
{
    rgi_check(world_finish(&play->world, &next->operation) == 0);
    rgi_check(next->count == strlen(text) && !next->end);
    rgi_check(next->view.length_bytes == next->count);
    rgi_check(memcmp(next->view.data, text, next->count) == 0);
}

static void
take(struct play *play, struct rgm_received *next, const char *text)
{
    next_start(play, next);
    next_expect(play, next, text);
}

static void
take_and_drop(struct play *play, const char *text)
{
    struct rgm_received next;

    take(play, &next, text);
    rgm_view_drop(&next.view);
}

static void
count_lent(void *argument, const struct rgm_pool_holder *holder)
{
    *(uint32_t *)argument += holder->state == RGM_SLOT_LENT;
}

static uint32_t
lent(struct play *play)
{
    uint32_t count = 0;

    (void)rgm_pool_report(play->pool, count_lent, &count);
    return count;
}

/* ------------------------------------------------------------------- MSH-01 */

/* Views in order, and one entry for all of them: a slot is the kernel's again
 * before the last one is taken. */
static void
msh_01_views_come_in_order_from_one_entry(void)
{
    struct play play;
    char text[SLOT_BYTES + 1] = "0000";

    play_start(&play, 4);
    for (int i = 0; i < 100; i++) {
        text[0] = (char)('a' + i % 26);
        text[3] = (char)('a' + i % 7);
        play_send(&play, text);
        take_and_drop(&play, text);
    }
    rgi_check(shim.seen[IORING_OP_RECV] == 1);
    rgi_check(shim.multishots == 1);
    play_close(&play);
}

/* What was read stays what it was, whoever drops what he shares of it. */
static void
msh_01_pieces_are_views(void)
{
    struct rgm_received first, second;
    struct rgm_view part, clone;
    struct play play;

    play_start(&play, 2);
    play_send(&play, "abcdefgh");
    take(&play, &first, "abcd");
    take(&play, &second, "efgh");
    rgi_check(rgm_view_range(&first.view, 1, 2, &part) == 0);
    clone = rgm_view_clone(&second.view);
    rgm_view_drop(&first.view);
    rgm_view_drop(&second.view);
    play_send(&play, "ijkl");
    world_settle(&play.world);
    rgi_check(memcmp(part.data, "bc", 2) == 0);
    rgi_check(memcmp(clone.data, "efgh", 4) == 0);
    rgm_view_drop(&part);
    take_and_drop(&play, "ijkl");
    rgm_view_drop(&clone);
    play_close(&play);
}

/* Reads, into memory and into a pool, beside a receiver of another stream. */
static void
msh_01_ordinary_readers_never_use_it(void)
{
    struct rgm_read_pooled pooled;
    struct rgm_read read;
    struct play play;
    struct pair other;
    struct rgm_pool *pool;
    char memory[8];

    play_start(&play, 4);
    rgi_check(rgm_pool_create(&(struct rgm_pool_options){.slots_count = 16,
                                                         .slot_size_bytes = 8},
                              &pool) == 0);
    pair_open(&play.world, &other);
    for (int i = 0; i < 40; i++) {
        int fd = world_fd(&play.world, &other.near.socket);

        rgm_stream_read(&read, &other.far, memory, sizeof(memory));
        world_start(&play.world, &read.operation);
        world_settle(&play.world);
        rgi_check(send(fd, "x", 1, MSG_NOSIGNAL) == 1);
        rgi_check(world_finish(&play.world, &read.operation) == 0);
        rgm_stream_read_pooled(&pooled, &other.far, pool);
        world_start(&play.world, &pooled.operation);
        world_settle(&play.world);
        rgi_check(send(fd, "y", 1, MSG_NOSIGNAL) == 1);
        rgi_check(world_finish(&play.world, &pooled.operation) == 0);
        rgi_check(rgm_lease_drop(&pooled.lease) == 0);
    }
    rgi_check(shim.seen[IORING_OP_RECV] > 40);
    rgi_check(shim.multishots == 1); /* the receiver's */
    pair_close(&play.world, &other);
    play_close(&play);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------------- MSH-02 */

#define ENROLLED shim.enrolled[IORING_REGISTER_PBUF_RING]
#define WITHDRAWN shim.enrolled[IORING_UNREGISTER_PBUF_RING]

/* The kernel says that it has ended the request, and has not: the queue and its
 * slots stay its own. What ends it at last is the peer. */
static void
msh_02_queue_is_the_kernels_to_the_last_completion(void)
{
    struct play play;

    play_start(&play, 4);
    rgi_check(ENROLLED == 1);
    shim_expect(IORING_OP_ASYNC_CANCEL, 0, 1); /* and does nothing */
    world_cancel(&play.world, &play.receiver.operation);
    world_settle(&play.world);
    rgi_check(shim.seen[IORING_OP_ASYNC_CANCEL] == 1);
    rgi_check(!is_home(&play.receiver.operation));
    play_send(&play, "late"); /* one that is not the last */
    world_settle(&play.world);
    rgi_check(!is_home(&play.receiver.operation));
    rgi_check(WITHDRAWN == 0 && rgm_pool_free_count(play.pool) == 0);
    play_end(&play);
    rgi_check(world_finish(&play.world, &play.receiver.operation) ==
              -ECANCELED);
    rgi_check(WITHDRAWN == 1);
    rgi_check(rgm_pool_free_count(play.pool) == 4);
    play_close(&play);
}

/* The other order: the last completion is there before the cancel is sent, and
 * the cancel finds nothing. */
static void
msh_02_cancel_that_comes_after_the_last_completion(void)
{
    struct play play;

    play_start(&play, 4);
    shim.holds = true; /* the cancel stays in the queue */
    world_cancel(&play.world, &play.receiver.operation);
    play_end(&play);
    rgi_check(world_finish(&play.world, &play.receiver.operation) ==
              -ECANCELED);
    rgi_check(WITHDRAWN == 1);
    shim.holds = false;
    play_receive(&play); /* with the same identity but for its serial */
    play_end(&play);
    play_close(&play);
}

/* A stream cannot be closed under its receiver; when that is home it can. */
static void
msh_02_close_waits_for_the_receiver(void)
{
    struct rgm_close close;
    struct play play;

    play_start(&play, 4);
    play_send(&play, "abcd");
    rgm_stream_close(&close, &play.pair.far);
    rgi_check(rgi_operation_start(&close.operation, play.world.provider) ==
              -EBUSY);
    rgi_check(WITHDRAWN == 0);
    rgi_check(play_cancel(&play) == -ECANCELED);
    rgi_check(WITHDRAWN == 1);
    play_close(&play);
}

/* Every completion is the last: the request is made again each time, never
 * beside another, and nothing is lost or repeated. */
static void
msh_02_made_again_after_the_last_completion_alone(void)
{
    char text[SLOT_BYTES + 1] = "0000";
    struct play play;

    memset(&play, 0, sizeof(play));
    play_open(&play, 4);
    shim.receives_end = true;
    play_receive(&play);
    for (unsigned i = 0; i < 50; i++) {
        text[1] = (char)('a' + i % 26);
        rgi_check(shim.seen[IORING_OP_RECV] == 1 + i);
        play_send(&play, text);
        take_and_drop(&play, text);
        world_settle(&play.world);
    }
    shim.receives_end = false;
    play_close(&play);
}

/* The worker gives up: what the kernel may write to stays where it is. */
static void
msh_02_given_up_the_queue_stays(void)
{
    struct rgm_received next;
    struct play play;
    int fd;

    play_start(&play, 4);
    next_start(&play, &next);
    fd = world_fd(&play.world, &play.pair.near.socket);
    play.world.provider->abandoned = true;
    world_close(&play.world);
    rgi_check(WITHDRAWN == 0);
    rgi_check(send(fd, "abcd", 4, MSG_NOSIGNAL) == 4);
    rgi_check(lent(&play) == 4);
    rgm_pool_destroy(play.pool);
}

/* ------------------------------------------------------------------- MSH-03 */

static void
msh_03_dormant_costs_nothing_until_a_slot_is_home(void)
{
    struct rgm_received held[2], third;
    unsigned enters, entries;
    struct play play;

    play_start(&play, 2);
    play_send(&play, "aaaabbbbccccdddd");
    take(&play, &held[0], "aaaa");
    take(&play, &held[1], "bbbb");
    next_start(&play, &third);
    world_settle(&play.world);
    enters = shim.enters;
    entries = shim.seen[IORING_OP_RECV];
    for (int i = 0; i < 1000; i++)
        rgi_check(world_turn(&play.world, 0) == 0);
    rgi_check(shim.enters == enters);
    rgi_check(!is_home(&third.operation));
    rgi_check(rgm_pool_capacity(play.pool) == 2);
    rgm_view_drop(&held[0].view);
    next_expect(&play, &third, "cccc");
    rgi_check(shim.seen[IORING_OP_RECV] == entries + 1);
    rgm_view_drop(&held[1].view);
    rgm_view_drop(&third.view);
    take_and_drop(&play, "dddd");
    play_close(&play);
}

/* A cancel of one that is dormant is answered at once: nothing is out. */
static void
msh_03_dormant_receiver_and_its_waits_are_cancelled_at_once(void)
{
    struct rgm_received held, waits;
    struct play play;
    unsigned enters;

    play_start(&play, 1);
    play_send(&play, "aaaabbbb");
    take(&play, &held, "aaaa");
    next_start(&play, &waits);
    world_settle(&play.world);
    enters = shim.enters;
    world_cancel(&play.world, &waits.operation);
    rgi_check(world_finish(&play.world, &waits.operation) == -ECANCELED);
    next_start(&play, &waits);
    rgi_check(play_cancel(&play) == -ECANCELED);
    rgi_check(world_finish(&play.world, &waits.operation) == -EPIPE);
    rgi_check(shim.enters == enters);
    rgm_view_drop(&held.view);
    play_close(&play);
}

/* A kernel that says there is no slot where there is one is not asked without
 * end. */
static void
msh_03_refused_for_no_reason_it_pauses(void)
{
    struct play play;

    memset(&play, 0, sizeof(play));
    play_open(&play, 4);
    shim_expect(IORING_OP_RECV, -ENOBUFS, 3);
    play_send(&play, "abcd");
    play_receive(&play);
    take_and_drop(&play, "abcd");
    rgi_check(shim.seen[IORING_OP_RECV] == 4);
    rgi_check(shim.seen[IORING_OP_TIMEOUT] == 3);
    play_close(&play);
}

/* ------------------------------------------------------------------- MSH-04 */

static void *
drop_elsewhere(void *view)
{
    rgm_view_drop(view);
    return NULL;
}

static void
on_a_thread(struct rgm_view *view)
{
    pthread_t thread;

    rgi_check(pthread_create(&thread, NULL, drop_elsewhere, view) == 0);
    rgi_check(pthread_join(thread, NULL) == 0);
}

/* On the ring's thread the slot is the kernel's in the next turn, which is told
 * nothing and asks the kernel nothing. */
static void
msh_04_slot_given_back_here_is_lent_at_once(void)
{
    struct rgm_received next;
    struct play play;
    unsigned enters;

    play_start(&play, 4);
    play_send(&play, "abcd");
    take(&play, &next, "abcd");
    world_settle(&play.world);
    rgi_check(lent(&play) == 3);
    enters = shim.enters;
    rgm_view_drop(&next.view);
    rgi_check(rgm_pool_free_count(play.pool) == 0); /* in our hand */
    rgi_check(world_turn(&play.world, 0) == 0);
    rgi_check(lent(&play) == 4);
    rgi_check(shim.enters == enters && !play.world.rang);
    play_close(&play);
}

/* From another thread it comes by the bell; dormant or not. */
static void
msh_04_slot_given_back_elsewhere_comes_by_the_bell(void)
{
    struct rgm_received next, second;
    struct play play;

    play_start(&play, 2);
    play_send(&play, "abcd");
    take(&play, &next, "abcd");
    world_settle(&play.world);
    on_a_thread(&next.view);
    while (!play.world.rang)
        rgi_check(world_turn(&play.world,
                             world_now(&play.world) + WORLD_LIMIT_NS) == 0);
    world_settle(&play.world);
    rgi_check(lent(&play) == 2);
    play_send(&play, "efghijklmnop");
    take(&play, &next, "efgh");
    take(&play, &second, "ijkl");
    world_settle(&play.world); /* dormant */
    on_a_thread(&second.view);
    take_and_drop(&play, "mnop"); /* sleeps until the bell */
    rgm_view_drop(&next.view);
    play_close(&play);
}

/* Threads drop views while the ring goes on, and goes. */
static void
msh_04_slots_come_home_from_threads_while_it_ends(void)
{
    for (int round = 0; round < 50; round++) {
        struct rgm_received next[3];
        pthread_t threads[3];
        struct play play;

        play_start(&play, 4);
        play_send(&play, "aaaabbbbcccc");
        take(&play, &next[0], "aaaa");
        take(&play, &next[1], "bbbb");
        take(&play, &next[2], "cccc");
        if (round % 2 == 0)
            world_settle(&play.world);
        for (int i = 0; i < 3; i++)
            rgi_check(pthread_create(&threads[i], NULL, drop_elsewhere,
                                     &next[i].view) == 0);
        rgi_check(play_cancel(&play) == -ECANCELED);
        for (int i = 0; i < 3; i++)
            rgi_check(pthread_join(threads[i], NULL) == 0);
        play_close(&play);
    }
}

/* ------------------------------------------------------------------- MSH-05 */

static struct {
    const struct rgm_operation *waits; /* and was cancelled */
    uint64_t identity;                 /* of the request */
    unsigned last;                     /* last completions of it, so far */
    bool early;                        /* it was answered before */
} order;

static void
look_for_the_last(void)
{
    struct io_uring_cq *cq = &shim.ring->uring.cq;

    for (unsigned i = *cq->khead; i != *cq->ktail; i++) {
        const struct io_uring_cqe *cqe = &cq->cqes[i & cq->ring_mask];

        if (cqe->user_data == order.identity &&
            !(cqe->flags & IORING_CQE_F_MORE))
            order.last++;
    }
    if (order.last == 0 && order.waits->state != RGM_OPERATION_CANCELLING)
        order.early = true;
}

static void
order_begin(struct play *play, const struct rgm_received *waits)
{
    order.waits = &waits->operation;
    order.identity = rgi_identity_of(&play->receiver.operation,
                                     play->receiver.operation.serial);
    order.last = 0;
    order.early = false;
    shim.after = look_for_the_last;
}

/* The kernel says twice that it cannot end the request now; then it does. */
static void
msh_05_cancelled_wait_is_answered_after_the_last_completion(void)
{
    struct rgm_received first, second;
    struct play play;

    play_start(&play, 4);
    shim_expect(IORING_OP_ASYNC_CANCEL, -EALREADY, 2); /* and does nothing */
    next_start(&play, &first);
    next_start(&play, &second);
    world_cancel(&play.world, &first.operation);
    order_begin(&play, &first);
    rgi_check(world_finish(&play.world, &first.operation) == -ECANCELED);
    rgi_check(shim.seen[IORING_OP_ASYNC_CANCEL] == 3);
    rgi_check(order.last == 1 && !order.early);
    rgi_check(first.count == 0 && first.view.block == NULL);
    rgi_check(!is_home(&second.operation)); /* for whom it is made again */
    play_send(&play, "abcd");
    next_expect(&play, &second, "abcd");
    rgm_view_drop(&second.view);
    rgi_check(shim.seen[IORING_OP_RECV] == 2);
    play_close(&play);
}

/* A piece that comes before the request has ended is his who waited. */
static void
msh_05_piece_that_came_first_wins(void)
{
    struct rgm_received next;
    struct play play;

    play_start(&play, 4);
    next_start(&play, &next);
    shim.holds = true; /* the cancel stays in the queue */
    world_cancel(&play.world, &next.operation);
    world_settle(&play.world);
    rgi_check(!is_home(&next.operation));
    play_send(&play, "abcd");
    next_expect(&play, &next, "abcd");
    rgm_view_drop(&next.view);
    shim.holds = false;
    play_close(&play);
}

/* Cancelled, it receives for nobody; who asks next has it go on. */
static void
msh_05_after_a_cancel_the_next_ask_goes_on(void)
{
    struct rgm_received next;
    struct play play;

    play_start(&play, 4);
    next_start(&play, &next);
    world_settle(&play.world);
    world_cancel(&play.world, &next.operation);
    rgi_check(world_finish(&play.world, &next.operation) == -ECANCELED);
    world_settle(&play.world);
    rgi_check(shim.seen[IORING_OP_RECV] == 1);
    play_send(&play, "abcd");
    world_settle(&play.world);
    rgi_check(play.receiver.queued_max == 0);
    take_and_drop(&play, "abcd");
    rgi_check(shim.seen[IORING_OP_RECV] == 2);
    play_close(&play);
}

/* ------------------------------------------------------------------- MSH-06 */

/* Of two places it has one; another read has the other, and a third waits. */
static void
expect_one_place_left(struct play *play)
{
    struct rgm_read reads[2];
    char memory[2];

    for (int i = 0; i < 2; i++) {
        rgm_stream_read(&reads[i], &play->pair.near, &memory[i], 1);
        world_start(&play->world, &reads[i].operation);
    }
    world_settle(&play->world);
    rgi_check(play->world.provider->waiting == 1);
    for (int i = 0; i < 2; i++) {
        world_cancel(&play->world, &reads[i].operation);
        rgi_check(world_finish(&play->world, &reads[i].operation) ==
                  -ECANCELED);
    }
}

static void
msh_06_one_place_from_start_to_end(void)
{
    struct rgm_received held, waits;
    struct play play;

    memset(&play, 0, sizeof(play));
    play.world.options.in_flight_max = 2;
    play_open(&play, 1);
    rgi_check(play.world.provider->in_flight == 0);
    play_receive(&play);
    rgi_check(play.world.provider->in_flight == 1);
    next_start(&play, &waits); /* takes none */
    expect_one_place_left(&play);
    play_send(&play, "aaaabbbb");
    next_expect(&play, &waits, "aaaa");
    held = waits;
    next_start(&play, &waits);
    world_settle(&play.world); /* dormant */
    expect_one_place_left(&play);
    rgi_check(play.world.provider->in_flight == 2);
    rgm_view_drop(&held.view);
    next_expect(&play, &waits, "bbbb");
    rgm_view_drop(&waits.view);
    expect_one_place_left(&play);
    play_end(&play);
    world_settle(&play.world); /* its end is not told yet */
    expect_one_place_left(&play);
    next_start(&play, &waits);
    rgi_check(world_finish(&play.world, &waits.operation) == 0 && waits.end);
    rgi_check(world_finish(&play.world, &play.receiver.operation) == 0);
    rgi_check(play.world.provider->in_flight == 0);
    play_close(&play);
}

/* The queue has a place for each slot, and no more come than that. */
static void
msh_06_queue_has_a_place_for_each_slot(void)
{
    static const char text[] = "aaaabbbbccccddddeeeeffffgggghhhh";
    struct rgm_received next;
    struct play play;

    play_start(&play, 5);
    play_send(&play, text);
    world_settle(&play.world);
    rgi_check(play.receiver.queued_max == 5);
    for (const char *at = text; *at != '\0'; at += 4) {
        char piece[SLOT_BYTES + 1] = {at[0], at[1], at[2], at[3], '\0'};

        take_and_drop(&play, piece);
    }
    rgi_check(play.receiver.queued_max == 5);
    play_end(&play);
    next_start(&play, &next);
    rgi_check(world_finish(&play.world, &next.operation) == 0 && next.end);
    rgi_check(world_finish(&play.world, &play.receiver.operation) == 0);
    rgi_check(play.receiver.queued_max == 5);
    play_close(&play);
}

/* -------------------------------------------------------------------- endings */

static void
the_end_is_told_behind_the_pieces(void)
{
    struct rgm_received next[3];
    struct play play;

    play_start(&play, 4);
    play_send(&play, "abcdef");
    play_end(&play);
    world_settle(&play.world);
    rgi_check(!is_home(&play.receiver.operation));
    take_and_drop(&play, "abcd");
    take_and_drop(&play, "ef");
    for (int i = 0; i < 3; i++)
        rgm_receiver_next(&next[i], &play.receiver);
    world_start(&play.world, &next[0].operation);
    rgi_check(world_finish(&play.world, &next[0].operation) == 0);
    rgi_check(next[0].end && next[0].count == 0);
    rgi_check(world_finish(&play.world, &play.receiver.operation) == 0);
    world_start(&play.world, &next[1].operation);
    rgi_check(world_finish(&play.world, &next[1].operation) == -EPIPE);
    play_close(&play);
}

/* The peer resets the connection. */
static void
play_reset(struct play *play)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    int fd = world_fd(&play->world, &play->pair.near.socket);

    rgi_check(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)) == 0);
    world_close_stream(&play->world, &play->pair.near);
}

/* After that. */
static void
play_close_rest(struct play *play)
{
    struct rgm_close close;

    world_close_stream(&play->world, &play->pair.far);
    rgm_listener_close(&close, &play->pair.listener);
    rgi_check(world_do(&play->world, &close.operation) == 0);
    rgi_check(rgm_pool_free_count(play->pool) == rgm_pool_capacity(play->pool));
    rgm_pool_destroy(play->pool);
    world_close(&play->world);
}

static void
expect_reset(struct play *play)
{
    struct rgm_received next;

    next_start(play, &next);
    rgi_check(world_finish(&play->world, &next.operation) == -ECONNRESET);
    rgi_check(world_finish(&play->world, &play->receiver.operation) ==
              -ECONNRESET);
}

static void
an_error_is_told_to_all_who_wait(void)
{
    struct rgm_received next[2];
    struct play play;

    play_start(&play, 4);
    for (int i = 0; i < 2; i++)
        next_start(&play, &next[i]);
    world_settle(&play.world);
    play_reset(&play);
    for (int i = 0; i < 2; i++)
        rgi_check(world_finish(&play.world, &next[i].operation) == -ECONNRESET);
    rgi_check(world_finish(&play.world, &play.receiver.operation) ==
              -ECONNRESET);
    play_close_rest(&play);
}

/* It is there with the last bytes when the request is made: the first time, or
 * after a dormant time. */
static void
an_error_that_is_there_already_is_told_behind_the_pieces(void)
{
    struct rgm_received held;
    struct play play;

    memset(&play, 0, sizeof(play));
    play_open(&play, 2);
    play_send(&play, "abcd");
    play_reset(&play);
    play_receive(&play);
    take_and_drop(&play, "abcd");
    expect_reset(&play);
    play_close_rest(&play);

    play_start(&play, 1);
    play_send(&play, "abcdefgh");
    take(&play, &held, "abcd");
    world_settle(&play.world);
    play_reset(&play);
    rgm_view_drop(&held.view);
    take_and_drop(&play, "efgh");
    expect_reset(&play);
    play_close_rest(&play);
}

/* One end of a pair of Unix sockets, and a receiver on it. Returns: the other. */
static int
unix_open(struct play *play, struct rgm_stream *stream)
{
    struct rgm_connect import;
    int ends[2];

    rgi_check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    memset(stream, 0, sizeof(*stream));
    rgm_stream_import(&import, world_here, stream, ends[0]);
    rgi_check(world_do(&play->world, &import.operation) == 0);
    rgm_stream_receive(&play->receiver, stream, play->pool);
    return ends[1];
}

/* The last bytes and the end, together. */
static void
unix_end(struct play *play, struct rgm_stream *stream, int peer)
{
    struct rgm_received next;

    take_and_drop(play, "last");
    next_start(play, &next);
    rgi_check(world_finish(&play->world, &next.operation) == 0 && next.end);
    rgi_check(world_finish(&play->world, &play->receiver.operation) == 0);
    world_close_stream(&play->world, stream);
    rgi_check(close(peer) == 0);
}

/* The kernel would not tell the end of a Unix socket that it has found with the
 * last bytes: each piece is asked for. */
static void
msh_01_unix_stream_is_asked_for_each_piece(void)
{
    enum { PIECES = 20 };
    struct rgm_stream stream;
    struct play play;
    int peer;

    memset(&play, 0, sizeof(play));
    play_open(&play, 4);
    peer = unix_open(&play, &stream);
    world_start(&play.world, &play.receiver.operation);
    for (unsigned i = 0; i < PIECES; i++) {
        world_settle(&play.world);
        rgi_check(shim.seen[IORING_OP_RECV] == i + 1);
        rgi_check(send(peer, "abcd", 4, MSG_NOSIGNAL) == 4);
        take_and_drop(&play, "abcd");
    }
    rgi_check(shim.multishots == 0);
    rgi_check(send(peer, "last", 4, MSG_NOSIGNAL) == 4);
    rgi_check(shutdown(peer, SHUT_WR) == 0);
    unix_end(&play, &stream, peer);

    peer = unix_open(&play, &stream);
    rgi_check(send(peer, "last", 4, MSG_NOSIGNAL) == 4);
    rgi_check(shutdown(peer, SHUT_WR) == 0);
    world_start(&play.world, &play.receiver.operation);
    unix_end(&play, &stream, peer);
    play_close(&play);
}

/* There is none when it begins: it rests, and nothing is asked of the kernel. */
static void
msh_03_begun_without_a_slot_it_rests(void)
{
    struct rgm_received next;
    struct rgm_lease lease;
    struct play play;

    memset(&play, 0, sizeof(play));
    play_open(&play, 1);
    rgi_check(rgm_pool_try_acquire(play.pool, &lease) == 0);
    play_receive(&play);
    next_start(&play, &next);
    play_send(&play, "abcd");
    world_settle(&play.world);
    rgi_check(shim.seen[IORING_OP_RECV] == 0 && !is_home(&next.operation));
    rgi_check(play.world.provider->in_flight == 2);
    rgi_check(rgm_lease_drop(&lease) == 0);
    next_expect(&play, &next, "abcd");
    rgm_view_drop(&next.view);

    rgi_check(play_cancel(&play) == -ECANCELED);
    rgi_check(rgm_pool_try_acquire(play.pool, &lease) == 0);
    play_receive(&play); /* and is cancelled as it is */
    rgi_check(play_cancel(&play) == -ECANCELED);
    rgi_check(rgm_lease_drop(&lease) == 0);
    play_close(&play);
}

/* What has come already is told; the pool goes with its last view. */
static void
a_destroyed_pool_ends_it(void)
{
    struct rgm_received held, waits;
    struct play play;

    play_start(&play, 2);
    play_send(&play, "aaaabbbb");
    take(&play, &held, "aaaa");
    world_settle(&play.world);
    rgm_pool_destroy(play.pool);
    rgm_view_drop(&held.view);
    take_and_drop(&play, "bbbb");
    next_start(&play, &waits);
    rgi_check(world_finish(&play.world, &waits.operation) == -EPIPE);
    rgi_check(world_finish(&play.world, &play.receiver.operation) == -EPIPE);
    pair_close(&play.world, &play.pair);
    world_close(&play.world);
}

static void
one_receiver_of_a_stream_at_a_time(void)
{
    struct rgm_receiver second;
    struct rgm_received next;
    struct play play;

    memset(&next, 0, sizeof(next));
    play_start(&play, 4);
    rgm_stream_receive(&second, &play.pair.far, play.pool);
    rgi_check(world_do(&play.world, &second.operation) == -EBUSY);
    rgm_receiver_next(&next, &second);
    rgi_check(world_do(&play.world, &next.operation) == -EPIPE);
    rgm_stream_receive(&second, &play.pair.far, NULL);
    rgi_check(rgi_operation_start(&second.operation, play.world.provider) ==
              -EINVAL);
    rgm_receiver_next(&next, NULL);
    rgi_check(rgi_operation_start(&next.operation, play.world.provider) ==
              -EINVAL);
    rgi_check(play_cancel(&play) == -ECANCELED);
    play_receive(&play); /* again, with the same record */
    play_send(&play, "abcd");
    take_and_drop(&play, "abcd");
    play_close(&play);
}

/* Several on one ring, from one pool even, and each has its own. */
static void
receivers_of_several_streams(void)
{
    struct rgm_receiver receivers[3];
    struct rgm_received next;
    struct pair pairs[3];
    struct play play;

    memset(&play, 0, sizeof(play));
    play_open(&play, 3);
    for (int i = 0; i < 3; i++) {
        pair_open(&play.world, &pairs[i]);
        rgm_stream_receive(&receivers[i], &pairs[i].far, play.pool);
        world_start(&play.world, &receivers[i].operation);
    }
    for (int i = 0; i < 3; i++) {
        int fd = world_fd(&play.world, &pairs[i].near.socket);

        rgi_check(send(fd, "abc", 3, MSG_NOSIGNAL) == 3);
        rgm_receiver_next(&next, &receivers[i]);
        if (i > 0) /* whose slots the first one has */
            world_settle(&play.world);
        world_start(&play.world, &next.operation);
        next_expect(&play, &next, "abc");
        rgm_view_drop(&next.view);
        world_cancel(&play.world, &receivers[i].operation);
        rgi_check(world_finish(&play.world, &receivers[i].operation) ==
                  -ECANCELED);
    }
    for (int i = 0; i < 3; i++)
        pair_close(&play.world, &pairs[i]);
    play_close(&play);
}

static void
a_failed_ring_ends_who_waits(void)
{
    struct rgm_received next;
    struct play play;
    struct rgm_read read;
    char byte;

    play_start(&play, 4);
    next_start(&play, &next);
    world_settle(&play.world);
    shim.late_error = -EBADF;
    world_ring(&play.world);
    rgm_stream_read(&read, &play.pair.near, &byte,
                    1); /* so there is an enter */
    world_start(&play.world, &read.operation);
    rgi_check(world_turn(&play.world,
                         world_now(&play.world) + WORLD_LIMIT_NS) == -EBADF);
    rgi_check(is_home(&next.operation) && rgm_status(&next) == -EBADF);
    rgi_check(!is_home(&play.receiver.operation)); /* it is in the kernel */
    world_close(&play.world);
    rgm_pool_destroy(play.pool);
}

#define CASES(X)                                                               \
    X(ring_receive, msh_01_views_come_in_order_from_one_entry)                 \
    X(ring_receive, msh_01_pieces_are_views)                                   \
    X(ring_receive, msh_01_unix_stream_is_asked_for_each_piece)                \
    X(ring_receive, msh_01_ordinary_readers_never_use_it)                      \
    X(ring_receive, msh_02_queue_is_the_kernels_to_the_last_completion)        \
    X(ring_receive, msh_02_cancel_that_comes_after_the_last_completion)        \
    X(ring_receive, msh_02_close_waits_for_the_receiver)                       \
    X(ring_receive, msh_02_made_again_after_the_last_completion_alone)         \
    X(ring_receive, msh_02_given_up_the_queue_stays)                           \
    X(ring_receive, msh_03_begun_without_a_slot_it_rests)                      \
    X(ring_receive, msh_03_dormant_costs_nothing_until_a_slot_is_home)         \
    X(ring_receive,                                                            \
      msh_03_dormant_receiver_and_its_waits_are_cancelled_at_once)             \
    X(ring_receive, msh_03_refused_for_no_reason_it_pauses)                    \
    X(ring_receive, msh_04_slot_given_back_here_is_lent_at_once)               \
    X(ring_receive, msh_04_slot_given_back_elsewhere_comes_by_the_bell)        \
    X(ring_receive, msh_04_slots_come_home_from_threads_while_it_ends)         \
    X(ring_receive,                                                            \
      msh_05_cancelled_wait_is_answered_after_the_last_completion)             \
    X(ring_receive, msh_05_piece_that_came_first_wins)                         \
    X(ring_receive, msh_05_after_a_cancel_the_next_ask_goes_on)                \
    X(ring_receive, msh_06_one_place_from_start_to_end)                        \
    X(ring_receive, msh_06_queue_has_a_place_for_each_slot)                    \
    X(ring_receive, the_end_is_told_behind_the_pieces)                         \
    X(ring_receive, an_error_is_told_to_all_who_wait)                          \
    X(ring_receive, an_error_that_is_there_already_is_told_behind_the_pieces)  \
    X(ring_receive, a_destroyed_pool_ends_it)                                  \
    X(ring_receive, one_receiver_of_a_stream_at_a_time)                        \
    X(ring_receive, receivers_of_several_streams)                              \
    X(ring_receive, a_failed_ring_ends_who_waits)

RGI_CASES(CASES)
