/* SPDX-License-Identifier: MIT */

/*
 * endurance_cases.c - does anything grow when an operation is repeated a million
 * times?
 *
 * Every kind of operation has a row: a function that carries it out once, with
 * what belongs to it (a close to an open), and the kinds it covers. Each row is
 * repeated, a few times to get warm and then for the count; in between nothing
 * may be added to the descriptors and to the allocated memory of the process.
 */

#include "conformance/endurance_cases.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/shim.h"

#define HERE rgm_worker_address(0)
#define WARM_ROUNDS 40

/* What a leak of a few bytes each time could not hide under. */
#define GROWTH_MAX_BYTES 8192

/* What the rows work on; everything is open all the time. */
struct world {
    struct stage *stage;
    char directory[64];
    char path[96];
    char other[96];
    struct rgm_file file;
    struct rgm_file root;
    struct rgm_stream near;
    struct rgm_stream far;
    struct rgm_packet packet;
    struct rgm_endpoint packet_endpoint;
    struct rgm_pool *pool;
};

#define RUN(record) rgi_check(rgm_call(w->stage->runtime, &(record)) == 0)

/* ------------------------------------------------------------------- streams */

static void
listen_once(struct world *w)
{
    struct rgm_endpoint endpoint = loopback();
    struct rgm_listener listener = {0};
    struct rgm_listen record;
    struct rgm_close close_record;

    rgm_stream_listen(&record, HERE, &listener, &endpoint, false);
    RUN(record);
    rgm_listener_close(&close_record, &listener);
    RUN(close_record);
}

static void
connect_once(struct world *w)
{
    struct rgm_stream one = {0}, other = {0};
    struct rgm_connect connect;
    struct rgm_accept accept;
    struct rgm_shutdown shutdown;
    struct rgm_close close_record;

    rgm_stream_connect(&connect, HERE, &one, &w->stage->endpoint);
    RUN(connect);
    rgm_stream_accept(&accept, &w->stage->listener, &other);
    accept.want_peer = true;
    RUN(accept);
    rgm_stream_shutdown(&shutdown, &one);
    RUN(shutdown);
    rgm_stream_close(&close_record, &one);
    RUN(close_record);
    rgm_stream_close(&close_record, &other);
    RUN(close_record);
}

static void
transfer_once(struct world *w)
{
    struct rgm_vector pieces[2] = {{"ab", 2}, {"c", 1}};
    struct rgm_write write;
    struct rgm_read read;
    char bytes[4];

    rgm_stream_write_vectors(&write, &w->near, pieces, 2);
    RUN(write);
    rgm_stream_read(&read, &w->far, bytes, sizeof(bytes));
    RUN(read);
    rgi_check(read.count == 3 && memcmp(bytes, "abc", 3) == 0);
}

static void
pooled_once(struct world *w)
{
    struct rgm_read_pooled read;
    struct rgm_write write;

    rgm_stream_write(&write, &w->near, "x", 1);
    RUN(write);
    rgm_stream_read_pooled(&read, &w->far, w->pool);
    RUN(read);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
}

static void
send_file_once(struct world *w)
{
    struct rgm_send_file send;
    struct rgm_read read;
    char bytes[8];

    rgm_stream_send_file(&send, &w->near, &w->file, 0, 5);
    RUN(send);
    rgm_stream_read(&read, &w->far, bytes, sizeof(bytes));
    RUN(read);
    rgi_check(read.count == 5);
}

static void
await_once(struct world *w)
{
    struct rgm_await await;

    rgm_socket_await(&await, &w->near.socket, RGM_WRITABLE);
    RUN(await);
}

static void
option_once(struct world *w)
{
    struct rgm_socket_option option;
    struct rgm_names names;

    rgm_socket_set(&option, &w->near.socket, RGM_OPTION_KEEP_ALIVE, 1);
    RUN(option);
    rgm_socket_get(&option, &w->near.socket, RGM_OPTION_KEEP_ALIVE);
    RUN(option);
    rgi_check(option.value == 1);
    rgm_socket_names(&names, &w->near.socket);
    RUN(names);
}

static void
packet_once(struct world *w)
{
    struct rgm_endpoint local = loopback();
    struct rgm_packet packet = {0};
    struct rgm_packet_open open;
    struct rgm_packet_write write;
    struct rgm_packet_read read;
    struct rgm_close close_record;
    char bytes[8];

    rgm_packet_open(&open, HERE, &packet, &local, NULL);
    RUN(open);
    rgm_packet_write(&write, &packet, "ping", 4, &w->packet_endpoint);
    RUN(write);
    rgm_packet_read(&read, &w->packet, bytes, sizeof(bytes), 0);
    RUN(read);
    rgi_check(read.count == 4);
    rgm_packet_close(&close_record, &packet);
    RUN(close_record);
}

static void
datagram_once(struct world *w)
{
    struct rgm_packet_write write;
    struct rgm_packet_read_pooled read;

    rgm_packet_write(&write, &w->packet, "ping", 4, &w->packet_endpoint);
    RUN(write);
    rgm_packet_read_pooled(&read, &w->packet, w->pool, 0);
    RUN(read);
    rgi_check(read.count == 4);
    rgm_datagram_drop(&read);
}

/* --------------------------------------------------------------------- files */

static void
file_open_once(struct world *w)
{
    struct rgm_file one = {0}, other = {0};
    struct rgm_file_open open;
    struct rgm_file_stat stat;
    struct rgm_close close_record;

    rgm_file_open(&open, HERE, &one, w->path, RGM_FILE_READ, 0);
    RUN(open);
    rgm_file_open_within(&open, &w->root, &other, "file", RGM_FILE_READ, 0);
    RUN(open);
    rgm_path_stat(&stat, HERE, w->path, false);
    RUN(stat);
    rgm_file_close(&close_record, &one);
    RUN(close_record);
    rgm_file_close(&close_record, &other);
    RUN(close_record);
}

static void
file_transfer_once(struct world *w)
{
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file_seek seek;
    char bytes[5];

    rgm_file_write_at(&write, &w->file, "12345", 5, 0);
    RUN(write);
    rgm_file_seek(&seek, &w->file, 0, RGM_FILE_FROM_START);
    RUN(seek);
    rgm_file_read(&read, &w->file, bytes, sizeof(bytes));
    RUN(read);
    rgi_check(read.count == 5 && memcmp(bytes, "12345", 5) == 0);
}

static void
file_size_once(struct world *w)
{
    struct rgm_file_truncate truncate;
    struct rgm_file_allocate allocate;
    struct rgm_file_advise advise;

    rgm_file_truncate(&truncate, &w->file, 5);
    RUN(truncate);
    rgm_file_allocate(&allocate, &w->file, RGM_FILE_ALLOCATE_KEEP_SIZE, 0, 5);
    RUN(allocate);
    rgm_file_advise(&advise, &w->file, RGM_FILE_ADVISE_WILL_NEED, 0, 0);
    RUN(advise);
}

static void
file_sync_once(struct world *w)
{
    struct rgm_file_sync sync;

    rgm_file_datasync(&sync, &w->file);
    RUN(sync);
}

static void
path_once(struct world *w)
{
    struct rgm_path path;

    rgm_path_make_directory(&path, HERE, w->other, 0700);
    RUN(path);
    rgm_path_remove_directory(&path, HERE, w->other);
    RUN(path);
    rgm_path_rename(&path, HERE, w->path, w->other, true);
    RUN(path);
    rgm_path_rename(&path, HERE, w->other, w->path, false);
    RUN(path);
}

static void
directory_once(struct world *w)
{
    _Alignas(8) char memory[RGM_DIRECTORY_ROOM_LEAST];
    struct rgm_directory_read read;
    struct rgm_file directory = {0};
    struct rgm_file_open open;
    struct rgm_close close_record;

    rgm_file_open(&open, HERE, &directory, w->directory,
                  RGM_FILE_READ | RGM_FILE_DIRECTORY, 0);
    RUN(open);
    rgm_directory_read(&read, &directory, memory, sizeof(memory));
    RUN(read);
    rgm_file_close(&close_record, &directory);
    RUN(close_record);
}

/* ------------------------------------------------------- the worker's own, jobs */

static void
sleep_once(struct world *w)
{
    struct rgm_sleep sleep;

    rgm_sleep_for(&sleep, HERE, 0);
    RUN(sleep);
}

static void
acquire_once(struct world *w)
{
    struct rgm_acquire acquire;

    rgm_pool_acquire(&acquire, HERE, w->pool);
    RUN(acquire);
    rgi_check(rgm_lease_drop(&acquire.lease) == 0);
}

static void
holders_once(struct world *w)
{
    struct rgm_lease_holders question;
    struct rgm_lease_holder holders[1];

    rgm_lease_holders_of(&question, HERE, holders, 1);
    RUN(question);
}

static int64_t
nothing(struct rgm_job *job)
{
    (void)job;
    return 7;
}

static void
job_once(struct world *w)
{
    struct rgm_job job;

    rgm_job_run(&job, HERE, nothing);
    RUN(job);
    rgi_check(job.result == 7);
}

static void
child_once(struct world *w)
{
    struct rgm_child_wait wait;
    pid_t child = vfork();

    if (child == 0)
        _exit(3);
    rgi_check(child > 0);
    rgm_child_wait(&wait, HERE, RGM_CHILD_PROCESS, child, 0);
    RUN(wait);
    rgi_check(wait.event == RGM_CHILD_HAS_EXITED && wait.status == 3);
}

/* A read that waits, in a scope, is named, moved nowhere, and cancelled by its
 * name; a sleep that is named ends at another time. */
struct orders {
    struct read_step read;
    struct sleep_step sleep;
    struct rgm_scope scope;
    struct rgm_identity read_identity;
    struct rgm_identity sleep_identity;
    char byte;
};

static void
orders_give(struct puppet *puppet, void *argument)
{
    struct orders *orders = argument;

    rgi_check(rgm_scope_open(puppet, &orders->scope, NULL) == 0);
    rgm_in_scope(&orders->read.op, &orders->scope);
    puppet_begin(puppet, &orders->read);
    puppet_begin(puppet, &orders->sleep);
    rgi_check(rgm_identify(puppet, &orders->read.op,
                           &orders->read_identity) == 0);
    rgi_check(rgm_identify(puppet, &orders->sleep.op,
                           &orders->sleep_identity) == 0);
}

static void
orders_end(struct puppet *puppet, void *argument)
{
    struct orders *orders = argument;

    rgi_check(rgm_scope_try_close(puppet, &orders->scope) == 0);
}

static void
orders_once(struct world *w)
{
    struct rgm_cancellation cancellation;
    struct rgm_retiming retiming;
    struct orders orders;

    memset(&orders, 0, sizeof(orders));
    rgm_stream_read(&orders.read.op, &w->far, &orders.byte, 1);
    rgm_sleep_for(&orders.sleep.op, HERE, 3600 * RGM_NS_PER_S);
    stage_do(w->stage, orders_give, &orders);
    rgm_cancel_identity(&cancellation, orders.read_identity);
    RUN(cancellation);
    rgm_retime_identity(&retiming, orders.sleep_identity, 1);
    RUN(retiming);
    rgi_check(stage_end(w->stage, &orders.read) == -ECANCELED);
    rgi_check(stage_end(w->stage, &orders.sleep) == 0);
    stage_do(w->stage, orders_end, &orders);
}

/* A writer and a reader on a connection: a piece handed over and read as it
 * comes, three more bytes read exactly, and both closed. */
struct pair {
    struct world *world;
    struct rgm_writer writer;
    struct rgm_reader reader;
};

static void
pair_open(struct puppet *puppet, void *argument)
{
    struct pair *pair = argument;
    const struct rgm_reader_options options = {.pool = pair->world->pool};

    rgi_check(rgm_writer_open(puppet, &pair->world->near, &pair->writer) == 0);
    rgi_check(rgm_reader_open(puppet, &pair->world->far, &options,
                              &pair->reader) == 0);
}

static void
pair_drop(struct puppet *puppet, void *argument)
{
    struct pair *pair = argument;

    (void)rgm_writer_drop(puppet, &pair->writer);
    (void)rgm_reader_drop(puppet, &pair->reader);
}

STEP(submit_step, rgm_submit);
STEP(flush_step, rgm_flush);
STEP(writer_close_step, rgm_writer_close);
STEP(next_step, rgm_next);
STEP(exact_step, rgm_exact);
STEP(reader_close_step, rgm_reader_close);

static void
pair_submit(struct pair *pair)
{
    struct stage *stage = pair->world->stage;
    struct submit_step submit = {0};
    struct flush_step flush = {0};
    struct rgm_lease lease;
    struct rgm_view view;

    rgi_check(rgm_pool_try_acquire(pair->world->pool, &lease) == 0);
    memcpy(lease.data, "abc", 3);
    rgi_check(rgm_lease_truncate(&lease, 3) == 0);
    rgi_check(rgm_lease_freeze(&lease, &view) == 0);
    rgm_writer_submit(&submit.op, &pair->writer, &view);
    rgi_check(stage_run(stage, &submit) == 0);
    rgm_writer_flush(&flush.op, &pair->writer);
    rgi_check(stage_run(stage, &flush) == 0);
}

static void
pair_once(struct world *w)
{
    struct pair pair = {.world = w};
    struct writer_close_step writer_close = {0};
    struct reader_close_step reader_close = {0};
    struct exact_step exact = {0};
    struct next_step next = {0};
    char bytes[3];

    stage_do(w->stage, pair_open, &pair);
    pair_submit(&pair);
    rgm_reader_next(&next.op, &pair.reader);
    rgi_check(stage_run(w->stage, &next) == 0 && next.op.count == 3);
    rgi_check(rgm_lease_drop(&next.op.lease) == 0);
    pair_submit(&pair);
    rgm_reader_exact(&exact.op, &pair.reader, bytes, sizeof(bytes));
    rgi_check(stage_run(w->stage, &exact) == 0 && bytes[2] == 'c');
    rgm_writer_close(&writer_close.op, &pair.writer);
    rgi_check(stage_run(w->stage, &writer_close) == 0);
    rgm_reader_close(&reader_close.op, &pair.reader);
    rgi_check(stage_run(w->stage, &reader_close) == 0);
    stage_do(w->stage, pair_drop, &pair);
}

/* --------------------------------------------------------------------- rows */

#define BIT(kind) (UINT64_C(1) << (kind))

struct row {
    const char *name;
    void (*once)(struct world *w);
    uint64_t kinds;
    uint32_t rarer; /* by what its count is divided: what takes long by nature */
};

static const struct row rows[] = {
    {"listen", listen_once, BIT(RGM_OP_LISTEN) | BIT(RGM_OP_CLOSE), 1},
    {"connect", connect_once,
     BIT(RGM_OP_CONNECT) | BIT(RGM_OP_ACCEPT) | BIT(RGM_OP_SHUTDOWN), 1},
    {"transfer", transfer_once, BIT(RGM_OP_READ) | BIT(RGM_OP_WRITE), 1},
    {"pooled read", pooled_once, BIT(RGM_OP_READ_POOLED), 1},
    {"send file", send_file_once, BIT(RGM_OP_SEND_FILE), 1},
    {"await", await_once, BIT(RGM_OP_AWAIT), 1},
    {"options", option_once,
     BIT(RGM_OP_SET_OPTION) | BIT(RGM_OP_GET_OPTION) | BIT(RGM_OP_NAMES), 1},
    {"packets", packet_once,
     BIT(RGM_OP_PACKET_OPEN) | BIT(RGM_OP_PACKET_READ) |
         BIT(RGM_OP_PACKET_WRITE),
     1},
    {"datagrams", datagram_once, BIT(RGM_OP_PACKET_READ_POOLED), 1},
    {"open", file_open_once, BIT(RGM_OP_FILE_OPEN) | BIT(RGM_OP_FILE_STAT), 1},
    {"file transfer", file_transfer_once,
     BIT(RGM_OP_FILE_READ) | BIT(RGM_OP_FILE_WRITE) | BIT(RGM_OP_FILE_SEEK), 1},
    {"file size", file_size_once,
     BIT(RGM_OP_FILE_TRUNCATE) | BIT(RGM_OP_FILE_ALLOCATE) |
         BIT(RGM_OP_FILE_ADVISE),
     1},
    {"sync", file_sync_once, BIT(RGM_OP_FILE_SYNC), 10},
    {"paths", path_once, BIT(RGM_OP_PATH), 2},
    {"directory", directory_once, BIT(RGM_OP_DIRECTORY_READ), 1},
    {"sleep", sleep_once, BIT(RGM_OP_SLEEP), 1},
    {"acquire", acquire_once, BIT(RGM_OP_ACQUIRE), 1},
    {"lease holders", holders_once, BIT(RGM_OP_LEASE_HOLDERS), 1},
    {"job", job_once, BIT(RGM_OP_JOB), 1},
    {"child", child_once, BIT(RGM_OP_CHILD_WAIT), 10},
    {"reader and writer", pair_once,
     BIT(RGM_OP_SUBMIT) | BIT(RGM_OP_FLUSH) | BIT(RGM_OP_WRITER_CLOSE) |
         BIT(RGM_OP_NEXT) | BIT(RGM_OP_EXACT) | BIT(RGM_OP_READER_CLOSE) |
         BIT(RGM_OP_RECEIPT),
     1},
    {"orders", orders_once, BIT(RGM_OP_CANCEL) | BIT(RGM_OP_RETIME), 1},
};

/* Threads that come and go, or that take records of their own along, are other
 * tests' business: resize, dedicate, timeout, scope close. So are receivers, which
 * not every provider has. */
#define KINDS_ELSEWHERE                                                        \
    (BIT(RGM_OP_RESIZE) | BIT(RGM_OP_DEDICATE) | BIT(RGM_OP_TIMEOUT) |         \
     BIT(RGM_OP_SCOPE_CLOSE) | BIT(RGM_OP_RECEIVE) |                           \
     BIT(RGM_OP_RECEIVE_NEXT))

static void
world_open(struct world *w, struct stage *stage)
{
    struct rgm_endpoint local = loopback();
    struct rgm_packet_open packet_open;
    struct rgm_file_open open;

    memset(w, 0, sizeof(*w));
    w->stage = stage;
    snprintf(w->directory, sizeof(w->directory), "/tmp/ringmail-long-XXXXXX");
    rgi_check(mkdtemp(w->directory) != NULL);
    snprintf(w->path, sizeof(w->path), "%s/file", w->directory);
    snprintf(w->other, sizeof(w->other), "%s/other", w->directory);
    stage_open(stage);
    w->pool = pool_of(4, 64);
    stage_pair_own(stage, &w->near, &w->far);
    rgm_file_open(&open, HERE, &w->file, w->path,
                  RGM_FILE_READ | RGM_FILE_WRITE | RGM_FILE_CREATE, 0600);
    RUN(open);
    rgm_file_open(&open, HERE, &w->root, w->directory,
                  RGM_FILE_READ | RGM_FILE_DIRECTORY, 0);
    RUN(open);
    rgm_packet_open(&packet_open, HERE, &w->packet, &local, NULL);
    RUN(packet_open);
    w->packet_endpoint = packet_open.local;
    file_transfer_once(w); /* it has five bytes from now on */
}

static void
world_close(struct world *w)
{
    struct rgm_close record;

    rgm_file_close(&record, &w->file);
    RUN(record);
    rgm_file_close(&record, &w->root);
    RUN(record);
    rgm_packet_close(&record, &w->packet);
    RUN(record);
    rgi_check(stage_close_stream(w->stage, &w->near) == 0);
    rgi_check(stage_close_stream(w->stage, &w->far) == 0);
    stage_close(w->stage);
    rgm_pool_destroy(w->pool);
    rgi_check(unlink(w->path) == 0 && rmdir(w->directory) == 0);
}

/* The bytes that are allocated, in all arenas. */
static size_t
allocated_bytes(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static void
repeat(struct world *w, const struct row *row, uint64_t count)
{
    unsigned descriptors;
    size_t bytes;

    for (int i = 0; i < WARM_ROUNDS; i++)
        row->once(w);
    descriptors = descriptors_open();
    bytes = allocated_bytes();
    for (uint64_t i = 0; i < count / row->rarer; i++)
        row->once(w);
    if (descriptors_open() > descriptors ||
        (SHIM_COUNTS_ALLOCATIONS &&
         allocated_bytes() > bytes + GROWTH_MAX_BYTES)) {
        fprintf(stderr, "%s: %u descriptors, then %u; %zu bytes, then %zu\n",
                row->name, descriptors, descriptors_open(), bytes,
                allocated_bytes());
        rgi_check(false);
    }
}

/* A few hundred times in the quick run, a million in the full one. */
void
no_kind_of_operation_grows(struct stage *stage)
{
    const uint64_t count = rgi_scale_is_full() ? 1000000 : 150;
    uint64_t seen = KINDS_ELSEWHERE;
    struct world world;

    world_open(&world, stage);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        seen |= rows[i].kinds;
        repeat(&world, &rows[i], count);
    }
    for (unsigned kind = 0; kind < RGM_OP_KINDS_COUNT; kind++)
        if ((seen >> kind & 1) == 0)
            fprintf(stderr, "# operations of kind %u have no row\n", kind);
    rgi_check(stage_in_flight(stage) == 0);
    world_close(&world);
}
