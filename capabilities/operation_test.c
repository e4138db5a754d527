/* SPDX-License-Identifier: MIT */

/*
 * operation_test.c - does an operation pass through its states once, in order?
 *
 * The provider here keeps what it is given in a list and ends it when the test
 * says so.
 */

#include "capabilities/operation.h"

#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cases.h"
#include "base/list.h"
#include "capabilities/datagram.h"
#include "capabilities/stream.h"

static const struct rgm_address here = {(UINT64_C(5) << 54) | 1};

static unsigned submits;
static unsigned cancels;

static void
count_submit(struct rgm_provider *provider, struct rgm_operation *operation)
{
    (void)provider;
    (void)operation;
    submits++;
}

static void
count_cancel(struct rgm_provider *provider, struct rgm_operation *operation)
{
    (void)provider;
    (void)operation;
    cancels++;
}

static const struct rgm_provider_ops ops = {
    .version = RGM_PROVIDER_VERSION,
    .submit = count_submit,
    .cancel = count_cancel,
};

static struct rgm_provider
provider_of(uint64_t kinds)
{
    submits = 0;
    cancels = 0;
    return (struct rgm_provider){.ops = &ops, .kinds = kinds};
}

#define ALL_KINDS (~RGI_OWN_KIND_BITS)

static struct rgm_stream
stream_open(void)
{
    return (struct rgm_stream){{.worker = here,
                                .resource = 7,
                                .open = 1,
                                .kind = RGI_SOCKET_STREAM}};
}

static void
passes_through_its_states(void)
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_read read;
    char byte;

    rgm_stream_read(&read, &stream, &byte, 1);
    rgi_check(read.operation.state == RGM_OPERATION_HOME);
    rgi_check(rgi_operation_start(&read.operation, &provider) == 0);
    rgi_check(read.operation.state == RGM_OPERATION_SUBMITTED);
    rgi_check(submits == 1 && stream.socket.busy == 1);
    rgm_operation_complete(&read.operation, -ECONNRESET, &turn);
    rgi_check(read.operation.state == RGM_OPERATION_COMPLETED);
    rgi_check(turn.count == 1 && turn.first == &read.request.message);
    rgi_check(turn.last == turn.first);
    rgi_check(stream.socket.busy == 0);
    rgi_operation_home(&read.operation);
    rgi_check(read.operation.state == RGM_OPERATION_HOME);
    rgi_check(rgm_status(&read) == -ECONNRESET);
}

/* The type leads from the message to the record, and says how large it is. */
static void
types_describe_their_records(void)
{
    const struct rgm_message_type *types[] = {
        &rgi_type_timer, &rgi_type_sleep,
        &rgi_type_listen,      &rgi_type_accept,
        &rgi_type_connect, &rgi_type_read,      &rgi_type_read_pooled,
        &rgi_type_write, &rgi_type_send_file,
        &rgi_type_shutdown, &rgi_type_close,
        &rgi_type_set_option, &rgi_type_get_option, &rgi_type_names,
        &rgi_type_resize, &rgi_type_dedicate, &rgi_type_drain, &rgi_type_acquire, &rgi_type_lease_holders,
        &rgi_type_cancellation, &rgi_type_retiming,
        &rgi_type_timeout, &rgi_type_scope_close,
        &rgi_type_collect, &rgi_type_lane_close,
        &rgi_type_file_open, &rgi_type_file_read, &rgi_type_file_write,
        &rgi_type_file_sync, &rgi_type_file_stat, &rgi_type_file_seek,
        &rgi_type_file_truncate, &rgi_type_file_allocate,
        &rgi_type_file_advise, &rgi_type_path, &rgi_type_directory_read,
        &rgi_type_packet_open, &rgi_type_packet_read, &rgi_type_packet_write,
        &rgi_type_packet_read_pooled,
        &rgi_type_job, &rgi_type_file_job,
        &rgi_type_child_wait, &rgi_type_await,
        &rgi_type_receipt, &rgi_type_submit, &rgi_type_flush,
        &rgi_type_writer_close, &rgi_type_next, &rgi_type_exact,
        &rgi_type_reader_close,
        &rgi_type_detach, &rgi_type_attach,
        &rgi_type_receiver, &rgi_type_received};

    rgi_check(sizeof(types) / sizeof(types[0]) == RGM_OP_KINDS_COUNT);
    for (int i = 0; i < RGM_OP_KINDS_COUNT; i++) {
        rgi_check(types[i]->kind == RGM_KIND_OPERATION);
        rgi_check(types[i]->header_offset ==
                  offsetof(struct rgm_request, message));
        rgi_check(types[i]->size_bytes >= sizeof(struct rgm_operation));
        rgi_check(types[i]->name != NULL && types[i]->returned == NULL);
    }
    rgi_check(rgi_type_write.size_bytes == sizeof(struct rgm_write));
}

static void
kind_the_provider_has_not_is_refused(void)
{
    struct rgm_provider provider = provider_of(UINT64_C(1) << RGM_OP_WRITE);
    struct rgm_stream stream = stream_open();
    struct rgm_read read;
    char byte;

    rgm_stream_read(&read, &stream, &byte, 1);
    rgi_check(rgi_operation_start(&read.operation, &provider) == -ENOTSUP);
    rgi_check(rgm_status(&read) == -ENOTSUP);
    rgi_check(read.operation.state == RGM_OPERATION_HOME);
    rgi_check(submits == 0 && stream.socket.busy == 0);
}

/* A kind of the worker's own needs no bit, and is told apart by its serial. */
static void
worker_carries_out_its_own(void)
{
    struct rgm_provider provider = provider_of(0);
    struct rgm_sleep first, second;
    struct rgm_turn turn = {0};

    rgm_sleep_for(&first, here, 1);
    rgm_sleep_for(&second, here, 1);
    rgi_check(rgi_operation_begin(&first.operation, &provider) == 0);
    rgi_check(rgi_operation_begin(&second.operation, &provider) == 0);
    rgi_check(first.operation.serial != second.operation.serial);
    rgi_check(rgi_operation_stop(&first.operation));
    rgi_check(!rgi_operation_stop(&first.operation));
    rgi_check(submits == 0 && cancels == 0);
    rgm_operation_complete(&first.operation, -ECANCELED, &turn);
    rgm_operation_complete(&second.operation, 0, &turn);
    rgi_check(turn.count == 2);
    rgi_check(turn.first == &first.request.message);
    rgi_check(turn.first->next == &second.request.message);
    rgi_check(turn.last->next == NULL);
}

/* Only a submitted operation can be asked to stop, and only once. */
static void
cancel_is_told_once(void)
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_read read;
    char byte;

    rgm_stream_read(&read, &stream, &byte, 1);
    rgi_operation_cancel(&read.operation, &provider);
    rgi_check(cancels == 0);
    rgi_check(rgi_operation_start(&read.operation, &provider) == 0);
    rgi_operation_cancel(&read.operation, &provider);
    rgi_operation_cancel(&read.operation, &provider);
    rgi_check(cancels == 1);
    rgi_check(read.operation.state == RGM_OPERATION_CANCELLING);
    rgm_operation_complete(&read.operation, -ECANCELED, &turn);
    rgi_operation_cancel(&read.operation, &provider);
    rgi_check(cancels == 1);
    rgi_operation_home(&read.operation);
}

/* What an operation that was asked to stop reports, and what is answered. */
static void
progress_wins_over_cancel(void)
{
    const int table[][2] = {{0, 0},
                            {-ECANCELED, -ECANCELED},
                            {-EINTR, -ECANCELED},
                            {-EAGAIN, -ECANCELED},
                            {-EPIPE, -EPIPE}};
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_read read;
    char byte;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        rgm_stream_read(&read, &stream, &byte, 1);
        rgi_check(rgi_operation_start(&read.operation, &provider) == 0);
        rgi_operation_cancel(&read.operation, &provider);
        rgm_operation_complete(&read.operation, table[i][0], &turn);
        rgi_check(rgm_status(&read) == table[i][1]);
    }
}

/* A close that was interrupted has closed. */
static void
close_is_never_called_cancelled(void)
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_close close;

    rgm_stream_close(&close, &stream);
    rgi_check(rgi_operation_start(&close.operation, &provider) == 0);
    rgi_operation_cancel(&close.operation, &provider);
    rgm_operation_complete(&close.operation, -EINTR, &turn);
    rgi_check(rgm_status(&close) == -EINTR);
}

/* The first reason stays; nothing is looked at any more. */
static void
refused_at_preparation_is_answered_at_start(void)
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_read read;

    rgm_stream_read(&read, &stream, NULL, 1);
    rgi_check(rgi_operation_refused(&read.operation) == -EINVAL);
    rgi_operation_refuse(&read.operation, -EIO);
    rgi_check(rgi_operation_start(&read.operation, &provider) == -EINVAL);
    rgi_check(rgi_operation_start(&read.operation, &provider) == -EINVAL);
    rgi_check(rgm_status(&read) == -EINVAL);
    rgi_check(submits == 0 && stream.socket.busy == 0);
}

/* Runs `broken` in a child: it must abort. */
static bool
aborts(void (*broken)(void))
{
    int status = 0;
    pid_t child = fork();

    rgi_check(child >= 0);
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* the runner's handler would report it */
        broken();
        _exit(0);
    }
    rgi_check(waitpid(child, &status, 0) == child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
complete_twice(void)
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_shutdown shutdown;

    rgm_stream_shutdown(&shutdown, &stream);
    rgi_check(rgi_operation_start(&shutdown.operation, &provider) == 0);
    rgm_operation_complete(&shutdown.operation, 0, &turn);
    rgm_operation_complete(&shutdown.operation, 0, &turn);
}

static void
start_twice(void)
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_shutdown shutdown;

    rgm_stream_shutdown(&shutdown, &stream);
    rgi_check(rgi_operation_start(&shutdown.operation, &provider) == 0);
    _exit(rgi_operation_start(&shutdown.operation, &provider)); /* too far */
}

static void
complete_what_was_not_submitted(void)
{
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_shutdown shutdown;

    rgm_stream_shutdown(&shutdown, &stream);
    rgm_operation_complete(&shutdown.operation, 0, &turn);
}

static void
broken_order_aborts(void)
{
    rgi_check(aborts(complete_twice));
    rgi_check(aborts(start_twice));
    rgi_check(aborts(complete_what_was_not_submitted));
}

/* ------------------------------------------------------------------- owners */

/* Reads into `memory`; while that is out, `moves` does something to it. */
static void
read_while(void (*moves)(struct rgm_read *read))
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_read read;
    static char memory[8];

    rgm_stream_read(&read, &stream, memory, sizeof(memory));
    rgi_check(rgi_operation_start(&read.operation, &provider) == 0);
    moves(&read);
    rgm_operation_complete(&read.operation, 0, &turn);
}

/* The bytes lie in what has them, and go where that goes. */
struct inline_bytes {
    size_t length_bytes;
    char bytes[8];
};

static void
moving_owner(struct rgm_read *read)
{
    static struct inline_bytes moved;

    read->memory = moved.bytes;
}

static void
shrinking_owner(struct rgm_read *read)
{
    read->capacity_bytes--;
}

static void
owner_that_stays(struct rgm_read *read)
{
    ((char *)read->memory)[0] = 'x'; /* contents are another matter */
    read->count = 1;
}

static void
read_while_it_moves(void)
{
    read_while(moving_owner);
}

static void
read_while_it_shrinks(void)
{
    read_while(shrinking_owner);
}

/* Writes pieces; one of them is changed, or the array is somewhere else. */
static void
write_while(bool elsewhere)
{
    struct rgm_vector pieces[3] = {{"a", 1}, {"bc", 2}, {"d", 1}};
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_vector other[3];
    struct rgm_turn turn = {0};
    struct rgm_write write;

    memcpy(other, pieces, sizeof(pieces));
    rgm_stream_write_vectors(&write, &stream, pieces, 3);
    rgi_check(rgi_operation_start(&write.operation, &provider) == 0);
    if (elsewhere)
        write.vectors = other;
    else
        pieces[1].length_bytes = 1;
    rgm_operation_complete(&write.operation, 0, &turn);
}

static void
write_while_the_array_moves(void)
{
    write_while(true);
}

static void
write_while_a_piece_shrinks(void)
{
    write_while(false);
}

static void
buf_01_an_owner_stays_where_it_is(void)
{
    read_while(owner_that_stays);
#ifdef RGI_SLOW_ASSERTS
    rgi_check(aborts(read_while_it_moves));
    rgi_check(aborts(read_while_it_shrinks));
    rgi_check(aborts(write_while_the_array_moves));
    rgi_check(aborts(write_while_a_piece_shrinks));
#else
    rgi_check(!aborts(read_while_it_moves));
    rgi_check(!aborts(read_while_it_shrinks));
    rgi_check(!aborts(write_while_the_array_moves));
    rgi_check(!aborts(write_while_a_piece_shrinks));
#endif
}

/* The same record again, with other memory: what counts is each ask. */
static void
buf_01_another_ask_may_have_another_owner(void)
{
    struct rgm_provider provider = provider_of(ALL_KINDS);
    struct rgm_stream stream = stream_open();
    struct rgm_turn turn = {0};
    struct rgm_read read;
    char first[4], second[8];

    rgm_stream_read(&read, &stream, first, sizeof(first));
    rgi_check(rgi_operation_start(&read.operation, &provider) == 0);
    rgi_operation_cancel(&read.operation, &provider);
    rgm_operation_complete(&read.operation, -ECANCELED, &turn);
    rgi_operation_home(&read.operation);
    read.memory = second;
    read.capacity_bytes = sizeof(second);
    rgi_check(rgi_operation_start(&read.operation, &provider) == 0);
    rgm_operation_complete(&read.operation, 0, &turn);
    rgi_operation_home(&read.operation);
}

/* Counts from the ask; "for ever" is refused, and so is the end of time. */
static void
clk_04_sleep_counts_from_its_start(void)
{
    struct rgm_provider provider = provider_of(0);
    struct rgm_sleep sleep;
    uint64_t deadline_ns = 1;

    rgm_sleep_for(&sleep, here, 100);
    rgi_check(rgi_sleep_deadline(&sleep, 1000, &deadline_ns) == 0);
    rgi_check(deadline_ns == 1100);
    rgi_check(rgi_sleep_deadline(&sleep, 5000, &deadline_ns) == 0);
    rgi_check(deadline_ns == 5100);
    rgi_check(rgi_sleep_deadline(&sleep, RGM_NEVER - 101, &deadline_ns) == 0);
    deadline_ns = 1;
    rgi_check(rgi_sleep_deadline(&sleep, RGM_NEVER - 100, &deadline_ns) ==
              -EINVAL);
    rgi_check(deadline_ns == 1);
    rgm_sleep_for(&sleep, here, RGM_NEVER - 1);
    rgi_check(rgi_sleep_deadline(&sleep, 0, &deadline_ns) == 0);
    rgi_check(rgi_sleep_deadline(&sleep, 1, &deadline_ns) == -EINVAL);
    rgm_sleep_for(&sleep, here, RGM_NEVER);
    rgi_check(rgi_operation_begin(&sleep.operation, &provider) == -EINVAL);
    rgm_sleep_until(&sleep, here, 7);
    rgi_check(rgi_sleep_deadline(&sleep, 1000, &deadline_ns) == 0);
    rgi_check(deadline_ns == 7);
    rgm_sleep_until(&sleep, here, RGM_NEVER);
    rgi_check(rgi_operation_begin(&sleep.operation, &provider) == 0);
}

/* ------------------------------------------------------------------ datagrams */

/* A record into which a datagram has come, in a pool of one slot. */
static struct rgm_pool *
datagram_has_come(struct rgm_packet_read_pooled *read)
{
    const struct rgm_pool_options options = {.slots_count = 1,
                                             .slot_size_bytes = 16};
    static struct rgm_packet packet = {{.worker = {1}, .open = 1}};
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_port = 77};
    struct rgm_pool *pool;
    struct msghdr *header;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgm_packet_read_pooled(read, &packet, pool, 0);
    read->operation.serial = 5;
    rgi_check(rgm_pool_try_acquire(pool, &read->lease) == 0);
    header = rgi_datagram_header(read, read->lease.data, 16);
    memcpy(header->msg_name, &from, sizeof(from));
    header->msg_namelen = sizeof(from);
    rgi_datagram_done(read, 3);
    rgi_check(rgm_lease_truncate(&read->lease, 3) == 0);
    return pool;
}

static int last_status; /* of what should have ended the program */

static void
use_address_of_what_was_taken(void)
{
    struct rgm_packet_read_pooled read;
    struct rgm_datagram_address address;
    struct rgm_endpoint endpoint;
    struct rgm_lease lease;

    (void)datagram_has_come(&read);
    rgi_check(rgm_datagram_address(&read, &address) == 0);
    rgi_check(rgm_datagram_endpoint(&address, &endpoint) == 0);
    rgi_check(rgm_datagram_extract(&read, &lease) == 0);
    last_status = rgm_datagram_endpoint(&address, &endpoint);
}

static void
end_an_edit_of_what_was_dropped(void)
{
    struct rgm_packet_read_pooled read;
    struct rgm_datagram_edit edit;

    (void)datagram_has_come(&read);
    rgi_check(rgm_datagram_edit(&read, &edit) == 0);
    rgm_datagram_drop(&read);
    last_status = rgm_datagram_edited(&edit);
}

static void
use_address_of_an_earlier_one(void)
{
    struct rgm_packet_read_pooled read;
    struct rgm_datagram_address address;
    struct rgm_endpoint endpoint;

    (void)datagram_has_come(&read);
    rgi_check(rgm_datagram_address(&read, &address) == 0);
    rgm_datagram_drop(&read);
    (void)datagram_has_come(&read);
    read.serial = 6; /* another ask brought it */
    last_status = rgm_datagram_endpoint(&address, &endpoint);
}

/* Under slow assertions it is a trap, else an error. */
static void
pkt_06_stale_views_are_trapped(void)
{
    struct rgm_packet_read_pooled read;
    struct rgm_pool *pool = datagram_has_come(&read);

    rgm_datagram_drop(&read);
    rgm_pool_destroy(pool);
#ifdef RGI_SLOW_ASSERTS
    rgi_check(aborts(use_address_of_what_was_taken));
    rgi_check(aborts(end_an_edit_of_what_was_dropped));
    rgi_check(aborts(use_address_of_an_earlier_one));
#else
    use_address_of_what_was_taken();
    rgi_check(last_status == -EINVAL);
    end_an_edit_of_what_was_dropped();
    rgi_check(last_status == -EINVAL);
    use_address_of_an_earlier_one();
    rgi_check(last_status == -EINVAL);
#endif
}

#define CASES(X)                                                              \
    X(operation, pkt_06_stale_views_are_trapped)                              \
    X(operation, passes_through_its_states)                                   \
    X(operation, types_describe_their_records)                                \
    X(operation, kind_the_provider_has_not_is_refused)                        \
    X(operation, worker_carries_out_its_own)                                  \
    X(operation, cancel_is_told_once)                                         \
    X(operation, progress_wins_over_cancel)                                   \
    X(operation, close_is_never_called_cancelled)                             \
    X(operation, refused_at_preparation_is_answered_at_start)                 \
    X(operation, broken_order_aborts)                                         \
    X(operation, buf_01_an_owner_stays_where_it_is)                           \
    X(operation, buf_01_another_ask_may_have_another_owner)                   \
    X(operation, clk_04_sleep_counts_from_its_start)

RGI_CASES(CASES)
