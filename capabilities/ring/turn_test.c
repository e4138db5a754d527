/* SPDX-License-Identifier: MIT */

/* turn_test.c - does the ring provider submit, sleep, wake, cancel and fail as
 * provider.h says? */

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/memory.h"
#include "capabilities/ring/shim.h"

/* --------------------------------------------------------------- the table */

static void
table_is_complete(void)
{
    struct world world = {0};

    world_open(&world);
    rgi_check(world.provider->ops->version == RGM_PROVIDER_VERSION);
    rgi_check(world.provider->kinds == rgm_provider_ring.kinds);
    for (int kind = 0; kind < RGM_OP_KINDS_COUNT; kind++) {
        bool has = (world.provider->kinds >> kind & 1) != 0;
        struct rgm_directory_read record = {.operation.kind = (uint8_t)kind};
        bool lent = kind == RGM_OP_DIRECTORY_READ; /* the runtime's pool has it */

        rgi_check(has == (!lent && !rgi_operation_is_own(&record.operation)));
        rgi_check(has ==
                  (rgi_ring_kind_at((unsigned)kind)->begin != NULL));
    }
    rgi_check(strcmp(rgm_provider_ring.name, "ring") == 0);
    rgi_check(world.provider->mode != NULL);
    world_close(&world);
}

static void
mode_is_reported_and_forced(void)
{
    static const char *const modes[] = {"defer", "coop", "plain"};

    for (int i = 0; i < 3; i++) {
        struct world world = {0};
        struct pair pair;

        rgi_check(setenv("RGM_RING_MODE", modes[i], 1) == 0);
        world_open(&world);
        rgi_check(strcmp(world.provider->mode, modes[i]) == 0);
        pair_open(&world, &pair);
        pair_close(&world, &pair);
        world_close(&world);
    }
    unsetenv("RGM_RING_MODE");
}

static void
failure_to_open_is_explained(void)
{
    struct rgm_provider_options options = {0};
    struct rgm_provider *provider = NULL;
    size_t live = rgi_memory_live();
    char why[256] = "";

    rgi_check(setenv("RGM_RING_MODE", "upside-down", 1) == 0);
    rgi_check(rgm_provider_ring.open(&options, &provider, why, sizeof(why)) ==
              -EINVAL);
    rgi_check(provider == NULL && strstr(why, "upside-down") != NULL);
    unsetenv("RGM_RING_MODE");
    rgi_memory_fail_nth(1);
    rgi_check(rgm_provider_ring.open(&options, &provider, why, sizeof(why)) ==
              -ENOMEM);
    rgi_check(rgi_memory_fail_off());
    rgi_check(provider == NULL && rgi_memory_live() == live);
}

/* ------------------------------------------------------------ kernel entries */

/* Nothing to do: no system call. Something: one, that submits and sleeps. */
static void
urg_10_one_entry_per_turn(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;
    struct rgm_read read;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    world_settle(&world);
    for (int i = 0; i < 100; i++) {
        unsigned before = shim.enters;

        rgi_check(world_turn(&world, 0) == 0);
        rgi_check(shim.enters == before);
        rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
        rgm_stream_write(&write, &pair.near, "ping", 4);
        world_start(&world, &read.operation);
        world_start(&world, &write.operation);
        rgi_check(shim.enters == before);
        rgi_check(world_turn(&world, RGM_NEVER) == 0);
        rgi_check(shim.enters == before + 1);
        world_finish(&world, &read.operation);
        world_finish(&world, &write.operation);
        rgi_check(shim.enters <= before + 2);
        world_settle(&world);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

/* A busy worker never blocks; what the kernel announces comes all the same, in
 * every mode. */
/* Nothing is submitted before a turn; an idle one submits and waits in one call,
 * one that does not wait submits all the same, and only then. */
static void
urg_12_prepared_batch_goes_with_the_next_turn(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read reads[2];
    struct rgm_write write;
    char bytes[2];

    shim_open(&world);
    pair_open(&world, &pair);
    world_settle(&world);
    for (int i = 0; i < 100; i++) {
        unsigned before = shim.enters;
        struct rgi_ring *ring = &world.parts->ring;

        rgm_stream_read(&reads[0], &pair.far, &bytes[0], 1);
        rgm_stream_read(&reads[1], &pair.far, &bytes[1], 1);
        world_start(&world, &reads[0].operation);
        world_start(&world, &reads[1].operation);
        rgi_check(shim.enters == before && rgi_ring_pending(ring) == 2);
        rgi_check(world_turn(&world, 0) == 0);
        rgi_check(shim.enters == before + 1 && rgi_ring_pending(ring) == 0);
        rgi_check(world_turn(&world, 0) == 0);
        rgi_check(shim.enters == before + 1); /* nothing new: no call */
        rgm_stream_write(&write, &pair.near, "ab", 2);
        world_start(&world, &write.operation);
        rgi_check(shim.enters == before + 1 && rgi_ring_pending(ring) == 1);
        rgi_check(world_turn(&world, RGM_NEVER) == 0);
        rgi_check(shim.enters == before + 2 && rgi_ring_pending(ring) == 0);
        world_finish(&world, &write.operation);
        world_finish(&world, &reads[0].operation);
        world_finish(&world, &reads[1].operation);
        world_settle(&world);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

static unsigned released;

static void
count_release(struct rgm_block *block)
{
    (void)block;
    released++;
}

/* Whoever owns the bytes has nothing that preparing could call: where they are is
 * known from the start. So each kind is prepared, submitted and waited for in one
 * turn, also one that had to stand in line. */
static void
urg_13_preparing_calls_nobody(void)
{
    struct world world = {0};
    struct rgm_block block;
    struct rgm_view view;
    struct rgm_write first, second;
    struct rgm_read read;
    struct pair pair;
    char bytes[8];

    shim_open(&world);
    pair_open(&world, &pair);
    world_settle(&world);
    world.parts->started_max = 1;
    released = 0;
    for (unsigned i = 0; i < 100; i++) {
        unsigned before;

        rgm_block_init(&block, count_release);
        view = rgm_view_of(&block, "second", 6);
        rgm_block_drop(&block);
        rgm_stream_write(&first, &pair.near, "1", 1);
        rgm_stream_write_view(&second, &pair.near, &view);
        before = shim.enters;
        world_start(&world, &first.operation);
        world_start(&world, &second.operation); /* in line */
        rgi_check(world_turn(&world, RGM_NEVER) == 0);
        rgi_check(is_home(&first.operation) && !is_home(&second.operation));
        rgi_check(shim.enters == before + 1 && released == i);
        rgi_check(world_turn(&world, RGM_NEVER) == 0);
        rgi_check(is_home(&second.operation) && released == i + 1);
        rgi_check(shim.enters == before + 2);
        rgm_stream_read(&read, &pair.far, bytes, 7);
        world_start(&world, &read.operation);
        rgi_check(world_turn(&world, RGM_NEVER) == 0);
        rgi_check(shim.enters == before + 3);
        rgi_check(is_home(&read.operation));
        world_settle(&world);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

static void
urg_11_results_appear_while_busy(void)
{
    static const char *const modes[] = {"defer", "coop", "plain"};

    for (int i = 0; i < 3; i++) {
        struct world world = {0};
        struct pair pair;
        struct rgm_read read;
        char memory[8];
        uint64_t limit_ns;

        rgi_check(setenv("RGM_RING_MODE", modes[i], 1) == 0);
        world_open(&world);
        pair_open(&world, &pair);
        rgm_stream_read(&read, &pair.far, memory, 8);
        world_start(&world, &read.operation);
        world_settle(&world);
        rgi_check(write(world_fd(&world, &pair.near.socket), "x", 1) == 1);
        limit_ns = world_now(&world) + WORLD_LIMIT_NS;
        while (!is_home(&read.operation)) {
            rgi_check(world_turn(&world, 0) == 0);
            rgi_check(world_now(&world) < limit_ns);
        }
        rgi_check(read.count == 1);
        pair_close(&world, &pair);
        world_close(&world);
    }
    unsetenv("RGM_RING_MODE");
}

/* Each kind goes to the kernel under its own opcode, and only those that can
 * wait or are worth a batch go there at all. */
static void
urg_31_opcode_of_each_kind(void)
{
    struct rgm_pool_options options = {.name = "audit",
                                       .slots_count = 64,
                                       .slot_size_bytes = 64};
    struct rgm_vector vectors[2] = {{"ab", 2}, {"cd", 2}};
    struct world world = {0};
    struct pair pair;
    struct rgm_pool *pool;
    struct rgm_write write;
    struct rgm_read read;
    struct rgm_read_pooled pooled;
    struct rgm_socket_option option;
    struct rgm_names names;
    char memory[8];

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    shim_open(&world);
    pair_open(&world, &pair);
    rgi_check(shim.seen[IORING_OP_ACCEPT] == 1);
    rgi_check(shim.last[IORING_OP_ACCEPT].accept_flags & SOCK_CLOEXEC);
    rgi_check(shim.seen[IORING_OP_CONNECT] == 1);

    rgm_stream_write(&write, &pair.near, "xy", 2);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(shim.seen[IORING_OP_SEND] == 1);
    rgm_stream_read(&read, &pair.far, memory, sizeof(memory));
    rgi_check(world_do(&world, &read.operation) == 0);
    rgi_check(shim.seen[IORING_OP_RECV] == 1);
    rgi_check(shim.last[IORING_OP_RECV].ioprio == IORING_RECVSEND_POLL_FIRST);

    rgm_stream_write_vectors(&write, &pair.near, vectors, 2);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(shim.seen[IORING_OP_SENDMSG] == 1);
    rgm_stream_read_pooled(&pooled, &pair.far, pool);
    rgi_check(world_do(&world, &pooled.operation) == 0);
    rgi_check(pooled.count == 4);
    rgi_check(rgm_lease_drop(&pooled.lease) == 0);
    rgi_check(shim.last[IORING_OP_RECV].flags & IOSQE_BUFFER_SELECT);

    rgm_socket_get(&option, &pair.near.socket, RGM_OPTION_NO_DELAY);
    rgi_check(world_do(&world, &option.operation) == 0 && option.value == 1);
    rgm_socket_get(&option, &pair.far.socket, RGM_OPTION_NO_DELAY);
    rgi_check(world_do(&world, &option.operation) == 0 && option.value == 1);
    rgm_socket_names(&names, &pair.near.socket);
    rgi_check(world_do(&world, &names.operation) == 0);
    rgi_check(names.peer.port == pair.endpoint.port);
    pair_close(&world, &pair);
    rgi_check(shim.seen[IORING_OP_CLOSE] == 3);
    world_close(&world);
    rgm_pool_destroy(pool);
}

static void
swr_19_whole_length_and_no_signal(void)
{
    struct rgm_vector vectors[2] = {{"ab", 2}, {"cd", 2}};
    struct world world = {0};
    struct pair pair;
    struct rgm_write write;

    shim_open(&world);
    pair_open(&world, &pair);
    rgm_stream_write(&write, &pair.near, "xy", 2);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(shim.last[IORING_OP_SEND].msg_flags ==
              (MSG_WAITALL | MSG_NOSIGNAL));
    rgm_stream_write_vectors(&write, &pair.near, vectors, 2);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(shim.last[IORING_OP_SENDMSG].msg_flags ==
              (MSG_WAITALL | MSG_NOSIGNAL));
    rgm_stream_write(&write, &pair.near, "xy", 2);
    write.some = true;
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(shim.last[IORING_OP_SEND].msg_flags == MSG_NOSIGNAL);
    pair_close(&world, &pair);
    world_close(&world);
}

/* --------------------------------------------------------------------- bell */

static struct world *hooked;
static unsigned hook_countdown;

static void
wake_when_counted(void)
{
    if (hook_countdown > 0 && --hook_countdown == 0)
        world_ring(hooked);
}

static void *
wake_often(void *argument)
{
    struct rgm_provider *provider = argument;

    for (uint64_t i = rgi_scale(100000); i > 0; i--)
        provider->ops->wake(provider);
    return NULL;
}

/* A wake of one's own is a flag: it outlives what is there to hand over, ends one
 * wait, and makes no system call. */
static void
wkr_10_a_wake_of_ones_own_waits_for_the_wait(void)
{
    struct world world = {0};
    struct rgm_write write;
    struct pair pair;
    uint64_t deadline_ns;
    unsigned writes;

    shim_open(&world);
    pair_open(&world, &pair);
    world_settle(&world);
    world.rang = false;
    for (int i = 0; i < 3; i++) /* three are one */
        world.provider->ops->wake(world.provider);
    for (int i = 0; i < 3; i++) {
        rgm_stream_write(&write, &pair.near, "x", 1);
        world_start(&world, &write.operation);
        while (!is_home(&write.operation))
            rgi_check(world_turn(&world, 0) == 0);
        rgi_check(!world.rang);
    }
    writes = shim.enters;
    rgi_check(world_turn(&world, RGM_NEVER) == 0); /* would wait for ever */
    rgi_check(world.rang && world.answered > 0);
    rgi_check(shim.enters == writes);
    world.rang = false;
    do { /* and this one waits, unless it comes too late */
        deadline_ns = world_now(&world) + RGM_NS_PER_MS;
        rgi_check(world_turn(&world, deadline_ns) == 0);
        rgi_check(!world.rang && world_now(&world) >= deadline_ns);
    } while (shim.enters == writes);
    world.provider->ops->wake(world.provider); /* a deadline that has come */
    rgi_check(world_turn(&world, deadline_ns) == 0); /* is no wait */
    rgi_check(!world.rang);
    rgi_check(world_turn(&world, RGM_NEVER) == 0);
    rgi_check(world.rang);
    pair_close(&world, &pair);
    world_close(&world);
}

/* Two rings of one thread, and one of another's. */
static void
wkr_11_a_sibling_is_rung_and_not_flagged(void)
{
    struct world world = {0};
    struct pollfd bell;
    pthread_t thread;

    world_open(&world);
    bell = (struct pollfd){.fd = world.options.bell, .events = POLLIN};
    world.provider->ops->wake(world.provider);
    rgi_check(poll(&bell, 1, 0) == 0); /* nothing was written */
    rgi_check(pthread_create(&thread, NULL, wake_often, world.provider) == 0);
    rgi_check(pthread_join(thread, NULL) == 0);
    rgi_check(poll(&bell, 1, 0) == 1);
    rgi_check(world_turn(&world, RGM_NEVER) == 0);
    rgi_check(world.rang);
    world_close(&world);
}

/* A ring before the provider is open, before its first wait, inside the entry
 * that arms the poll, on the way out of it, and while it sleeps. */
static void
urg_08_no_ring_is_lost(void)
{
    for (int point = 0; point < 5; point++) {
        struct world world = {0};
        uint64_t limit_ns;

        hooked = &world;
        shim_open(&world);
        hook_countdown = 0;
        if (point == 0) {
            rgi_bell_ring((void *)(intptr_t)world.options.bell);
        } else if (point == 1) {
            world_ring(&world);
        } else if (point == 4) {
            rgi_check(world_turn(&world, 0) == 0); /* arms it */
            world_ring(&world);
        } else {
            hook_countdown = 1;
            shim.before = point == 2 ? wake_when_counted : NULL;
            shim.after = point == 3 ? wake_when_counted : NULL;
        }
        if (point == 3)
            rgi_check(world_turn(&world, 0) == 0);
        limit_ns = world_now(&world) + WORLD_LIMIT_NS;
        while (!world.rang) {
            rgi_check(world_turn(&world, limit_ns) == 0);
            rgi_check(world_now(&world) < limit_ns);
        }
        shim.before = shim.after = NULL;
        world_close(&world);
    }
}

static void
field_b56_poll_that_ends_is_armed_again(void)
{
    struct world world = {0};

    shim_open(&world);
    shim.polls_end = true;
    for (unsigned i = 1; i <= 100; i++) {
        world.rang = false;
        world_ring(&world);
        rgi_check(world_turn(&world, RGM_NEVER) == 0);
        rgi_check(world.rang);
        rgi_check(world.provider->bell_rearms == i);
    }
    /* Once each, never twice at a time. The first is the one of open. */
    rgi_check(shim.seen[IORING_OP_POLL_ADD] <= 101);
    world_close(&world);
}

/* One entry, wakes without end, payload all the same. */
static void
urg_09_payload_before_bell(void)
{
    struct world world = {.options = {.entries = 1}};
    struct pair pair;
    struct rgm_write write;
    struct rgm_read read;
    pthread_t thread;
    char byte;

    world_open(&world);
    rgi_check(world.parts->ring.uring.sq.ring_entries == 1);
    pair_open(&world, &pair);
    rgi_check(pthread_create(&thread, NULL, wake_often, world.provider) == 0);
    for (int i = 0; i < 200; i++) {
        rgm_stream_read(&read, &pair.far, &byte, 1);
        rgm_stream_write(&write, &pair.near, "x", 1);
        world_start(&world, &read.operation);
        world_start(&world, &write.operation);
        rgi_check(world_finish(&world, &read.operation) == 0);
        rgi_check(world_finish(&world, &write.operation) == 0);
    }
    rgi_check(pthread_join(thread, NULL) == 0);
    world_settle(&world);
    world.rang = false;
    world_ring(&world);
    rgi_check(world_turn(&world, RGM_NEVER) == 0);
    rgi_check(world.rang);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
deadlines_are_never_early(void)
{
    static const uint64_t sleeps_ns[] = {RGM_NS_PER_MS, 1000, 1,
                                         3 * RGM_NS_PER_MS};
    struct world world = {0};

    world_open(&world);
    for (int i = 0; i < 4; i++) {
        uint64_t deadline_ns = world_now(&world) + sleeps_ns[i];

        rgi_check(world_turn(&world, deadline_ns) == 0);
        rgi_check(world_now(&world) >= deadline_ns);
    }
    rgi_check(world_turn(&world, 1) == 0); /* long ago */
    rgi_check(world.answered == 0 && !world.rang);
    world_close(&world);
}

/* ---------------------------------------------------------------- admission */

/* A ring is heard once, although its counter stays as it is. */
static void
urg_07_unread_bell_rings_once(void)
{
    struct world world = {0};

    world_open(&world);
    world_ring(&world);
    rgi_check(world_turn(&world, RGM_NEVER) == 0);
    rgi_check(world.rang);
    world.rang = false;
    for (int i = 0; i < 10; i++)
        rgi_check(world_turn(&world, world_now(&world) + RGM_NS_PER_MS) == 0);
    rgi_check(!world.rang);
    world_close(&world);
}

/* One place: the second read waits, until the first is home, not until it is
 * asked to stop. */
static void
urg_14_place_is_held_to_the_end(void)
{
    struct world world = {.options = {.in_flight_max = 1}};
    struct pair pair;
    struct rgm_read first;
    struct rgm_read second;
    struct rgm_write write;
    char memory[2][8];

    world_open(&world);
    world.parts->started_max = 8; /* for the connection alone */
    pair_open(&world, &pair);
    world.parts->started_max = 1;
    rgm_stream_read(&first, &pair.far, memory[0], 8);
    rgm_stream_read(&second, &pair.near, memory[1], 8);
    world_start(&world, &first.operation);
    world_start(&world, &second.operation);
    world_settle(&world);
    rgi_check(world.provider->in_flight == 2 && world.provider->waiting == 1);
    world_cancel(&world, &first.operation);
    rgi_check(world.provider->in_flight == 2 && world.provider->waiting == 1);
    rgi_check(world_finish(&world, &first.operation) == -ECANCELED);
    world_settle(&world);
    rgi_check(world.provider->in_flight == 1 && world.provider->waiting == 0);
    world.parts->started_max = 2;
    rgm_stream_write(&write, &pair.far, "x", 1);
    world_start(&world, &write.operation);
    rgi_check(world_finish(&world, &second.operation) == 0);
    rgi_check(world_finish(&world, &write.operation) == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

/* The wait for admission is in order, and a cancel ends it without a trace. */
static void
opl_02_waiting_admission_can_be_cancelled(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read reads[4];
    char memory[4][8];
    uint64_t submitted;

    shim_open(&world);
    pair_open(&world, &pair);
    world.parts->started_max = 1;
    for (int i = 0; i < 4; i++) {
        memset(memory[i], i, 8);
        rgm_stream_read(&reads[i], &pair.far, memory[i], 8);
        world_start(&world, &reads[i].operation);
    }
    world_settle(&world);
    submitted = world.parts->ring.entries_submitted;
    world_cancel(&world, &reads[2].operation);
    rgi_check(world_finish(&world, &reads[2].operation) == -ECANCELED);
    rgi_check(world.parts->ring.entries_submitted == submitted);
    rgi_check(reads[2].count == 0 && reads[2].memory == memory[2]);
    for (int i = 0; i < 8; i++)
        rgi_check(memory[2][i] == 2);
    rgi_check(world.provider->waiting == 2);
    world_cancel(&world, &reads[0].operation);
    rgi_check(world_finish(&world, &reads[0].operation) == -ECANCELED);
    world_settle(&world);
    rgi_check(world.provider->waiting == 1); /* the second has gone in */
    rgi_check(!rgi_task_of(&reads[1].operation)->queued);
    world_cancel(&world, &reads[1].operation);
    world_cancel(&world, &reads[3].operation);
    rgi_check(world_finish(&world, &reads[1].operation) == -ECANCELED);
    rgi_check(world_finish(&world, &reads[3].operation) == -ECANCELED);
    pair_close(&world, &pair);
    world_close(&world);
}

/* A place that is free belongs to the first in line, not to who comes now. */
static void
opl_02_newcomer_stands_in_line(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read reads[3];
    char memory[3][8];

    world_open(&world);
    pair_open(&world, &pair);
    world.parts->started_max = 1;
    for (int i = 0; i < 2; i++) {
        rgm_stream_read(&reads[i], &pair.far, memory[i], 8);
        world_start(&world, &reads[i].operation);
    }
    world_cancel(&world, &reads[0].operation);
    rgi_check(world_finish(&world, &reads[0].operation) == -ECANCELED);
    rgm_stream_read(&reads[2], &pair.far, memory[2], 8);
    world_start(&world, &reads[2].operation);
    world_settle(&world);
    rgi_check(!rgi_task_of(&reads[1].operation)->queued);
    rgi_check(rgi_task_of(&reads[2].operation)->queued);
    for (int i = 1; i < 3; i++) {
        world_cancel(&world, &reads[i].operation);
        rgi_check(world_finish(&world, &reads[i].operation) == -ECANCELED);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

/* Two reads hold both places and wait for the writes behind them. */
static void
urg_26_last_places_held_by_reads(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read reads[2];
    struct rgm_write writes[2];
    char memory[2][8];

    world_open(&world);
    pair_open(&world, &pair);
    world.parts->started_max = 2;
    rgm_stream_read(&reads[0], &pair.far, memory[0], 8);
    rgm_stream_read(&reads[1], &pair.near, memory[1], 8);
    rgm_stream_write(&writes[0], &pair.near, "a", 1);
    rgm_stream_write(&writes[1], &pair.far, "b", 1);
    for (int i = 0; i < 2; i++)
        world_start(&world, &reads[i].operation);
    for (int i = 0; i < 2; i++)
        world_start(&world, &writes[i].operation);
    rgi_check(world_turn(&world, world_now(&world) + 20 * RGM_NS_PER_MS) == 0);
    rgi_check(world.provider->in_flight == 4); /* stuck */
    world_cancel(&world, &reads[0].operation);
    rgi_check(world_finish(&world, &reads[0].operation) == -ECANCELED);
    rgi_check(world_finish(&world, &writes[0].operation) == 0);
    rgi_check(world_finish(&world, &writes[1].operation) == 0);
    rgi_check(world_finish(&world, &reads[1].operation) == 0);
    world.parts->started_max = 8;
    pair_close(&world, &pair);
    world_close(&world);
}

/* Clean-up has an admission of its own. */
static void
soc_10_clean_up_when_all_places_are_taken(void)
{
    struct world world = {0};
    struct pair pair;
    struct pair other;
    struct rgm_read read;
    struct rgm_shutdown shutdown;
    char memory[8];

    world_open(&world);
    pair_open(&world, &pair);
    pair_open(&world, &other);
    world.parts->started_max = 1;
    rgm_stream_read(&read, &pair.far, memory, 8);
    world_start(&world, &read.operation);
    rgm_stream_shutdown(&shutdown, &other.near);
    rgi_check(world_do(&world, &shutdown.operation) == 0);
    pair_close(&world, &other);
    rgi_check(!is_home(&read.operation));
    world_cancel(&world, &read.operation);
    rgi_check(world_finish(&world, &read.operation) == -ECANCELED);
    pair_close(&world, &pair);
    world_close(&world);
}

/* ------------------------------------------------------------------ cancels */

/* The read is answered with data while its cancel is on the way, and the same
 * record is asked again at once. The cancel must not find it. */
static void
urg_16_late_cancel_finds_nobody(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    struct rgm_write write;
    char memory[8];

    world_open(&world);
    pair_open(&world, &pair);
    rgm_stream_read(&read, &pair.far, memory, 1);
    for (uint64_t i = 0; i < rgi_scale(100000); i++) {
        world_start(&world, &read.operation);
        rgm_stream_write(&write, &pair.near, "x", 1);
        rgi_check(world_do(&world, &write.operation) == 0);
        world_cancel(&world, &read.operation);
        rgi_check(world_finish(&world, &read.operation) == 0);
        rgi_check(read.count == 1);
        world_start(&world, &read.operation);
        rgi_check(world_turn(&world, 0) == 0);
        rgi_check(world_turn(&world, 0) == 0);
        rgi_check(!is_home(&read.operation));
        rgm_stream_write(&write, &pair.near, "y", 1);
        rgi_check(world_do(&world, &write.operation) == 0);
        rgi_check(world_finish(&world, &read.operation) == 0);
        rgi_check(memory[0] == 'y');
    }
    pair_close(&world, &pair);
    world_close(&world);
}

#define STUCK 1000

static struct rgm_read stuck[STUCK];
static char stuck_memory[STUCK];

static void
start_stuck(struct world *world, struct pair *pair, int count)
{
    for (int i = 0; i < count; i++) {
        rgm_stream_read(&stuck[i], &pair->far, &stuck_memory[i], 1);
        world_start(world, &stuck[i].operation);
    }
}

static void
cancel_stuck(struct world *world, int count)
{
    for (int i = 0; i < count; i++)
        world_cancel(world, &stuck[i].operation);
    for (int i = 0; i < count; i++)
        rgi_check(world_finish(world, &stuck[i].operation) == -ECANCELED);
}

/* Far more cancels than entries; each read is answered once. */
static void
urg_27_cancels_in_stages(void)
{
    struct world world = {.options = {.entries = 8}};
    struct pair pair;
    unsigned before;

    world_open(&world);
    pair_open(&world, &pair);
    start_stuck(&world, &pair, STUCK);
    rgi_check(world_turn(&world, 0) == 0);
    before = world.answered;
    cancel_stuck(&world, STUCK);
    rgi_check(world.answered - before == STUCK);
    pair_close(&world, &pair);
    world_close(&world);
}

/* The kernel takes nothing for a while: cancels are kept, none is lost. */
static void
cancels_wait_for_entries(void)
{
    struct world world = {.options = {.entries = 8}};
    struct pair pair;

    shim_open(&world);
    pair_open(&world, &pair);
    start_stuck(&world, &pair, 100);
    rgi_check(world_turn(&world, 0) == 0);
    for (int i = 0; i < 100; i++) {
        shim.enter_error = i % 2 ? -EBUSY : -EAGAIN;
        world_cancel(&world, &stuck[i].operation);
    }
    shim.enter_error = 0;
    for (int i = 0; i < 100; i++)
        rgi_check(world_finish(&world, &stuck[i].operation) == -ECANCELED);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
urg_23_close_turns_until_all_is_home(void)
{
    struct world world = {0};
    struct pair pair;
    int answered = 0;

    world_open(&world);
    pair_open(&world, &pair);
    start_stuck(&world, &pair, 100);
    world_settle(&world);
    for (int i = 0; i < 100; i++) {
        world_cancel(&world, &stuck[i].operation);
        answered += is_home(&stuck[i].operation);
    }
    rgi_check(answered == 0 && world.provider->in_flight == 100);
    while (world.provider->in_flight > 0)
        rgi_check(world_turn(&world, RGM_NEVER) == 0);
    for (int i = 0; i < 100; i++)
        rgi_check(is_home(&stuck[i].operation));
    pair_close(&world, &pair);
    world_close(&world);
}

/* A cancel's own completion lets go of nothing. */
static void
opl_03_target_ends_after_its_own_completion(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    rgm_stream_read(&read, &pair.far, memory, 8);
    world_start(&world, &read.operation);
    world_settle(&world);
    shim_expect(IORING_OP_ASYNC_CANCEL, 0, 1); /* says 0 and does nothing */
    world_cancel(&world, &read.operation);
    world_settle(&world);
    rgi_check(shim.seen[IORING_OP_ASYNC_CANCEL] == 1);
    rgi_check(!is_home(&read.operation) && world.provider->in_flight == 1);
    rgi_check(rgi_ring_cancel(
        &world.parts->ring,
        rgi_identity_of(&read.operation, read.operation.serial)));
    rgi_check(world_finish(&world, &read.operation) == -ECANCELED);
    pair_close(&world, &pair);
    world_close(&world);
}

/* The kernel had the target in hand, or just not where it looks: the cancel is
 * repeated, after a pause, until the target is home. */
static void
cancels_that_missed_are_repeated(void)
{
    static const int misses[] = {-EALREADY, -ENOENT};

    for (int i = 0; i < 2; i++) {
        struct world world = {0};
        struct pair pair;
        struct rgm_read read;
        char memory[8];

        shim_open(&world);
        pair_open(&world, &pair);
        rgm_stream_read(&read, &pair.far, memory, 8);
        world_start(&world, &read.operation);
        world_settle(&world);
        shim_expect(IORING_OP_ASYNC_CANCEL, misses[i], 2);
        world_cancel(&world, &read.operation);
        rgi_check(world_finish(&world, &read.operation) == -ECANCELED);
        rgi_check(shim.seen[IORING_OP_ASYNC_CANCEL] == 3);
        rgi_check(shim.seen[IORING_OP_TIMEOUT] == 2);
        pair_close(&world, &pair);
        world_close(&world);
    }
}

/* ------------------------------------------------------------------ failure */

/* Reachable to the end: what is leaked on purpose is no leak to a checker. */
static struct world lost;
static struct pair lost_pair;
static struct rgm_read lost_read;

static void
urg_24_lost_ring(void)
{
    struct rgm_pool_options options = {.name = "empty",
                                       .slots_count = 1,
                                       .slot_size_bytes = 64};
    struct rgm_read_pooled starved;
    struct rgm_read waiting;
    struct rgm_read late;
    struct rgm_lease lease;
    struct rgm_pool *pool;
    size_t live;
    char memory[3][8];

    shim_open(&lost);
    pair_open(&lost, &lost_pair);
    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    rgm_stream_read_pooled(&starved, &lost_pair.near, pool);
    world_start(&lost, &starved.operation);
    rgi_check(write(world_fd(&lost, &lost_pair.far.socket), "x", 1) == 1);
    while (lost.provider->pool_waits == 0)
        rgi_check(world_turn(&lost, 0) == 0);
    lost.parts->started_max = 2; /* one of them the starved read's */
    rgm_stream_read(&lost_read, &lost_pair.far, memory[0], 8);
    rgm_stream_read(&waiting, &lost_pair.far, memory[1], 8);
    rgm_stream_read(&late, &lost_pair.far, memory[2], 8);
    world_start(&lost, &lost_read.operation);
    world_start(&lost, &waiting.operation);
    world_settle(&lost);
    shim.enter_error = -EBADR;
    rgi_check(world_turn(&lost, RGM_NEVER) == -EBADR);
    rgi_check(is_home(&waiting.operation));
    rgi_check(rgm_status(&waiting) == -EBADR);
    rgi_check(is_home(&starved.operation));
    rgi_check(rgm_status(&starved) == -EBADR);
    rgi_check(!is_home(&lost_read.operation));
    world_start(&lost, &late.operation);
    rgi_check(world_turn(&lost, 0) == -EBADR);
    rgi_check(is_home(&late.operation) && rgm_status(&late) == -EBADR);
    rgi_check(lost.provider->in_flight == 1);
    live = rgi_memory_live();
    rgm_provider_ring.close(lost.provider);
    rgi_check(rgi_memory_live() == live);
}

/* What ended the ring is told together with, not instead of, the completions
 * that came first. */
static struct world lost_late;
static struct rgm_read lost_reads[10];

static void
urg_07_completions_before_the_error(void)
{
    static struct pair pair;
    static char memory[10][1];
    int answered = 0;

    shim_open(&lost_late);
    pair_open(&lost_late, &pair);
    rgi_check(
        write(world_fd(&lost_late, &pair.near.socket), "0123456789", 10) == 10);
    for (int i = 0; i < 10; i++) {
        rgm_stream_read(&lost_reads[i], &pair.far, memory[i], 1);
        world_start(&lost_late, &lost_reads[i].operation);
    }
    shim.late_error = -EBADF;
    rgi_check(world_turn(&lost_late, RGM_NEVER) == -EBADF);
    for (int i = 0; i < 10; i++)
        if (is_home(&lost_reads[i].operation)) {
            rgi_check(rgm_status(&lost_reads[i]) == 0);
            answered++;
        }
    rgi_check(answered == 10);
    rgi_check(world_turn(&lost_late, 0) == -EBADF);
}

static void
urg_30_entry_errors(void)
{
    static const int passing[] = {-EINTR, -EAGAIN, -EBUSY};
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    struct rgm_write write;
    char memory[8];

    shim_open(&world);
    pair_open(&world, &pair);
    for (int i = 0; i < 30; i++) {
        rgm_stream_read(&read, &pair.far, memory, 8);
        rgm_stream_write(&write, &pair.near, "x", 1);
        world_start(&world, &read.operation);
        world_start(&world, &write.operation);
        shim.enter_error = passing[i % 3];
        rgi_check(world_finish(&world, &write.operation) == 0);
        rgi_check(world_finish(&world, &read.operation) == 0);
    }
    pair_close(&world, &pair);
    world_close(&world);
}

static void *
wait_elsewhere(void *argument)
{
    rgi_check(world_turn(argument, 0) == -EPERM);
    return NULL;
}

static void
field_b64_wait_on_another_thread(void)
{
    struct world world = {0};
    struct pair pair;
    struct rgm_read read;
    pthread_t thread;
    char memory[8];

    world_open(&world);
    pair_open(&world, &pair);
    rgm_stream_read(&read, &pair.far, memory, 8);
    world_start(&world, &read.operation);
    rgi_check(pthread_create(&thread, NULL, wait_elsewhere, &world) == 0);
    rgi_check(pthread_join(thread, NULL) == 0);
    world_cancel(&world, &read.operation);
    rgi_check(world_finish(&world, &read.operation) == -ECANCELED);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
urg_03_ring_stays_with_its_thread(void)
{
    struct world world = {0};
    struct pair pair;
    pthread_t thread;
    int fd;

    world_open(&world);
    fd = world.parts->ring.uring.ring_fd;
    pair_open(&world, &pair);
    world_settle(&world);
    rgm_stream_read(&stuck[0], &pair.far, stuck_memory, 1);
    world_start(&world, &stuck[0].operation);
    rgi_check(pthread_create(&thread, NULL, wait_elsewhere, &world) == 0);
    rgi_check(pthread_join(thread, NULL) == 0);
    cancel_stuck(&world, 1);
    rgi_check(world.parts->ring.uring.ring_fd == fd);
    pair_close(&world, &pair);
    world_close(&world);
}

/* -------------------------------------------------------------- separation */

static int
threads_count(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    char line[256];
    int count = 0;

    rgi_check(status != NULL);
    while (fgets(line, sizeof(line), status) != NULL)
        if (strncmp(line, "Threads:", 8) == 0)
            count = (int)strtol(line + 8, NULL, 10);
    fclose(status);
    rgi_check(count > 0);
    return count;
}

static void
urg_05_no_thread_is_started(void)
{
    int before = threads_count();
    struct world world = {0};
    struct pair pair;

    world_open(&world);
    rgi_check(threads_count() == before);
    pair_open(&world, &pair);
    start_stuck(&world, &pair, 100);
    world_settle(&world);
    rgi_check(threads_count() == before);
    cancel_stuck(&world, 100);
    pair_close(&world, &pair);
    rgi_check(threads_count() == before);
    world_close(&world);
}

/* Everything that is there comes out of one call, as a list. */
static void
urg_32_hands_over_what_it_sees(void)
{
    struct rgm_turn turn = {NULL, NULL, 0, false};
    struct world world = {0};
    struct pair pair;
    unsigned count = 0;

    world_open(&world);
    pair_open(&world, &pair);
    rgi_check(write(world_fd(&world, &pair.near.socket), "0123456789", 10) ==
              10);
    start_stuck(&world, &pair, 10);
    rgi_check(world.provider->ops->wait(world.provider, RGM_NEVER, &turn) == 0);
    rgi_check(turn.count == 10 && turn.last->next == NULL);
    for (struct rgm_message *message = turn.first; message != NULL;
         message = message->next) {
        rgi_check(rgm_operation_of(message)->state == RGM_OPERATION_COMPLETED);
        rgi_operation_home(rgm_operation_of(message));
        count++;
    }
    rgi_check(count == 10);
    pair_close(&world, &pair);
    world_close(&world);
}

#define RECORDS 40

/* Started, answered and cancelled in any order: as many answers as starts. */
static void
opl_08_one_answer_each(void)
{
    unsigned short seed[3] = {(unsigned short)rgi_seed(), 2, 3};
    struct world world = {.options = {.entries = 8}};
    struct pair pair;
    static struct rgm_read reads[RECORDS];
    static char memory[RECORDS];
    uint64_t starts;

    world_open(&world);
    pair_open(&world, &pair);
    world.parts->started_max = RECORDS / 2;
    for (int i = 0; i < RECORDS; i++)
        rgm_stream_read(&reads[i], &pair.far, &memory[i], 1);
    starts = world.answered;
    for (uint64_t i = 0; i < rgi_scale(1000000); i++) {
        int chosen = (int)(nrand48(seed) % RECORDS);

        if (is_home(&reads[chosen].operation)) {
            world_start(&world, &reads[chosen].operation);
            starts++;
        } else if (nrand48(seed) % 2) {
            world_cancel(&world, &reads[chosen].operation);
        } else {
            rgi_check(write(world_fd(&world, &pair.near.socket), "x", 1) == 1);
        }
        if (nrand48(seed) % 3 == 0)
            rgi_check(world_turn(&world, 0) == 0);
    }
    for (int i = 0; i < RECORDS; i++)
        if (!is_home(&reads[i].operation))
            world_cancel(&world, &reads[i].operation);
    for (int i = 0; i < RECORDS; i++)
        (void)world_finish(&world, &reads[i].operation);
    rgi_check(world.answered == starts);
    rgi_check(world.provider->in_flight == 0 && world.provider->waiting == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

static void *
live_alone(void *argument)
{
    struct world world = {.options = {.worker = *(uint32_t *)argument}};
    struct pair pair;
    struct rgm_read read;
    struct rgm_write write;
    char memory[8];

    world_open(&world);
    rgi_check((uintptr_t)world.parts % 64 == 0);
    pair_open(&world, &pair);
    for (int i = 0; i < 200; i++) {
        rgm_stream_read(&read, &pair.far, memory, 8);
        rgm_stream_write(&write, &pair.near, "x", 1);
        world_start(&world, &read.operation);
        world_start(&world, &write.operation);
        rgi_check(world_finish(&world, &write.operation) == 0);
        rgi_check(world_finish(&world, &read.operation) == 0);
    }
    /* listen, accept, connect and 400 transfers: its own and no others */
    rgi_check(world.provider->completions == 403 && world.answered == 403);
    pair_close(&world, &pair);
    world_close(&world);
    return NULL;
}

static void
urg_22_rings_share_nothing(void)
{
    uint32_t workers[4] = {0, 1, 2, 3};
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        rgi_check(pthread_create(&threads[i], NULL, live_alone, &workers[i]) ==
                  0);
    for (int i = 0; i < 4; i++)
        rgi_check(pthread_join(threads[i], NULL) == 0);
}

static void
close_leaves_nothing_open(void)
{
    struct world world = {0};
    struct pair pair;
    size_t live = rgi_memory_live();
    int lowest = dup(0);
    int again;

    rgi_check(lowest >= 0);
    close(lowest);
    for (int i = 0; i < 20; i++) {
        memset(&world, 0, sizeof(world));
        world_open(&world);
        pair_open(&world, &pair);
        world_close(&world); /* with three sockets still open */
    }
    again = dup(0);
    rgi_check(again == lowest);
    close(again);
    rgi_check(rgi_memory_live() == live);
}

#define CASES(X)                                                               \
    X(uring, table_is_complete)                                                \
    X(uring, mode_is_reported_and_forced)                                      \
    X(uring, failure_to_open_is_explained)                                     \
    X(uring, urg_10_one_entry_per_turn)                                        \
    X(uring, urg_11_results_appear_while_busy)                                 \
    X(uring, urg_12_prepared_batch_goes_with_the_next_turn)                    \
    X(uring, urg_13_preparing_calls_nobody)                                    \
    X(uring, urg_31_opcode_of_each_kind)                                       \
    X(uring, swr_19_whole_length_and_no_signal)                                \
    X(uring, urg_08_no_ring_is_lost)                                           \
    X(uring, wkr_10_a_wake_of_ones_own_waits_for_the_wait)                     \
    X(uring, wkr_11_a_sibling_is_rung_and_not_flagged)                         \
    X(uring, urg_07_unread_bell_rings_once)                                    \
    X(uring, field_b56_poll_that_ends_is_armed_again)                          \
    X(uring, urg_09_payload_before_bell)                                       \
    X(uring, deadlines_are_never_early)                                        \
    X(uring, urg_14_place_is_held_to_the_end)                                  \
    X(uring, opl_02_waiting_admission_can_be_cancelled)                        \
    X(uring, opl_02_newcomer_stands_in_line)                                   \
    X(uring, urg_26_last_places_held_by_reads)                                 \
    X(uring, soc_10_clean_up_when_all_places_are_taken)                        \
    X(uring, urg_16_late_cancel_finds_nobody)                                  \
    X(uring, urg_27_cancels_in_stages)                                         \
    X(uring, cancels_wait_for_entries)                                         \
    X(uring, urg_23_close_turns_until_all_is_home)                             \
    X(uring, opl_03_target_ends_after_its_own_completion)                      \
    X(uring, cancels_that_missed_are_repeated)                                 \
    X(uring, urg_24_lost_ring)                                                 \
    X(uring, urg_07_completions_before_the_error)                              \
    X(uring, urg_30_entry_errors)                                              \
    X(uring, field_b64_wait_on_another_thread)                                 \
    X(uring, urg_03_ring_stays_with_its_thread)                                \
    X(uring, urg_05_no_thread_is_started)                                      \
    X(uring, urg_32_hands_over_what_it_sees)                                   \
    X(uring, opl_08_one_answer_each)                                           \
    X(uring, urg_22_rings_share_nothing)                                       \
    X(uring, close_leaves_nothing_open)

RGI_CASES(CASES)
