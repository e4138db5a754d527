/* SPDX-License-Identifier: MIT */

/*
 * stream_test.c - is preparing free of effects, and admission strict?
 *
 * There is no provider here that could do anything: only one that counts what
 * it is given.
 */

#include "capabilities/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ringmail/detach.h>

#include "base/cases.h"
#include "base/memory.h"
#include "capabilities/operation.h"

static const struct rgm_address here = {(UINT64_C(5) << 54) | 1};
static const struct rgm_address elsewhere = {(UINT64_C(6) << 54) | 1};

static unsigned calls; /* of any function of the provider */

static void
count_operation(struct rgm_provider *provider, struct rgm_operation *operation)
{
    (void)provider;
    (void)operation;
    calls++;
}

static const struct rgm_provider_ops ops = {
    .version = RGM_PROVIDER_VERSION,
    .submit = count_operation,
    .cancel = count_operation,
};
static struct rgm_provider provider = {.ops = &ops, .kinds = UINT64_MAX};

#define START(record) rgi_operation_start(&(record)->operation, &provider)

static void
complete(struct rgm_operation *operation)
{
    struct rgm_turn turn = {0};

    rgm_operation_complete(operation, 0, &turn);
    rgi_operation_home(operation);
}

static struct rgm_socket
socket_open(enum rgi_socket_kind kind, uint64_t resource)
{
    return (struct rgm_socket){.worker = here,
                               .resource = resource,
                               .open = 1,
                               .kind = (uint8_t)kind};
}

struct records {
    struct rgm_listen listen;
    struct rgm_accept accept;
    struct rgm_connect connect;
    struct rgm_read read;
    struct rgm_read_pooled read_pooled;
    struct rgm_write write;
    struct rgm_write vectors;
    struct rgm_shutdown shutdown;
    struct rgm_close close;
    struct rgm_close close_listener;
    struct rgm_socket_option set;
    struct rgm_socket_option get;
    struct rgm_names names;
    struct rgm_sleep sleep;
    struct rgm_sleep sleep_until;
};

/* One of each, in memory that held something else before. */
static void
prepare_all(struct records *records, struct rgm_listener *listener,
            struct rgm_stream *stream, struct rgm_stream *fresh,
            struct rgm_pool *pool)
{
    static char memory[8];
    static const struct rgm_vector pieces[2] = {{memory, 3}, {memory, 5}};
    struct rgm_endpoint endpoint = {.family = RGM_IPV4};

    memset(records, 0xa5, sizeof(*records));
    rgm_stream_listen(&records->listen, here, (struct rgm_listener *)fresh,
                      &endpoint, true);
    rgm_stream_accept(&records->accept, listener, fresh);
    rgm_stream_connect(&records->connect, here, fresh, &endpoint);
    rgm_stream_read(&records->read, stream, memory, sizeof(memory));
    rgm_stream_read_pooled(&records->read_pooled, stream, pool);
    rgm_stream_write(&records->write, stream, memory, sizeof(memory));
    rgm_stream_write_vectors(&records->vectors, stream, pieces, 2);
    rgm_stream_shutdown(&records->shutdown, stream);
    rgm_stream_close(&records->close, stream);
    rgm_listener_close(&records->close_listener, listener);
    rgm_socket_set(&records->set, &stream->socket, RGM_OPTION_NO_DELAY, 0);
    rgm_socket_get(&records->get, &stream->socket, RGM_OPTION_NO_DELAY);
    rgm_socket_names(&records->names, &stream->socket);
    rgm_sleep_for(&records->sleep, here, 1);
    rgm_sleep_until(&records->sleep_until, here, 1);
}

/*
 * Discarding what was prepared leaves everything as it was: the provider was
 * not called, the sockets are the same byte for byte, their descriptors have
 * their modes, no slot was taken and nothing allocated.
 */
static void
opl_01_preparing_has_no_effect(void)
{
    struct rgm_pool_options options = {.slots_count = 2, .slot_size_bytes = 8};
    struct rgm_pool *pool = NULL;
    struct rgm_listener listener = {socket_open(RGI_SOCKET_LISTENER, 8)};
    struct rgm_stream stream, fresh = {0};
    struct rgm_stream stream_before, fresh_before = fresh;
    struct rgm_listener listener_before = listener;
    struct records records;
    size_t memory;
    int fds[2];
    int mode;
    char byte;

    rgi_check(rgm_pool_create(&options, &pool) == 0);
    rgi_check(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
    rgi_check(write(fds[1], "x", 1) == 1);
    stream.socket = socket_open(RGI_SOCKET_STREAM, (uint64_t)fds[0]);
    stream_before = stream;
    mode = fcntl(fds[0], F_GETFL);
    memory = rgi_memory_live();
    calls = 0;
    prepare_all(&records, &listener, &stream, &fresh, pool);
    rgi_check(calls == 0);
    rgi_check(memcmp(&listener, &listener_before, sizeof(listener)) == 0);
    rgi_check(memcmp(&stream, &stream_before, sizeof(stream)) == 0);
    rgi_check(memcmp(&fresh, &fresh_before, sizeof(fresh)) == 0);
    rgi_check(fcntl(fds[0], F_GETFL) == mode);
    rgi_check(rgm_pool_free_count(pool) == 2);
    rgi_check(rgi_memory_live() == memory);
    rgi_check(read(fds[0], &byte, 1) == 1 && byte == 'x');
    close(fds[0]);
    close(fds[1]);
    rgm_pool_destroy(pool);
}

/* Whatever memory a record is made of, it is ready, and says where it goes. */
static void
prepared_record_is_at_home(void)
{
    struct rgm_listener listener = {socket_open(RGI_SOCKET_LISTENER, 8)};
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_stream fresh = {0};
    struct rgm_pool *pool = (struct rgm_pool *)(void *)&fresh;
    struct records records;
    struct rgm_operation *all[] = {
        &records.listen.operation,   &records.accept.operation,
        &records.connect.operation,  &records.read.operation,
        &records.read_pooled.operation, &records.write.operation,
        &records.vectors.operation,  &records.shutdown.operation,
        &records.close.operation,    &records.close_listener.operation,
        &records.set.operation,      &records.get.operation,
        &records.names.operation,    &records.sleep.operation,
        &records.sleep_until.operation};

    prepare_all(&records, &listener, &stream, &fresh, pool);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const struct rgm_message *message = &all[i]->request.message;

        rgi_check(rgi_operation_refused(all[i]) == 0);
        rgi_check(all[i]->state == RGM_OPERATION_HOME);
        rgi_check(rgm_address_same(message->to, here));
        rgi_check(message->charged_bytes == message->type->size_bytes);
        rgi_check(message->next == NULL && message->state == 0);
        rgi_check(all[i]->request.scope.link.next == NULL);
    }
}

/* -------------------------------------------------------------- arguments */

#define REFUSED(record, error)                                                \
    rgi_check(rgi_operation_refused(&(record)->operation) == (error) &&       \
              START(record) == (error) && calls == 0)

static void
missing_objects_are_invalid(void)
{
    struct rgm_listener listener = {socket_open(RGI_SOCKET_LISTENER, 8)};
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_endpoint endpoint = {.family = RGM_IPV4};
    struct records r;

    calls = 0;
    rgm_stream_listen(&r.listen, here, NULL, &endpoint, false);
    REFUSED(&r.listen, -EINVAL);
    rgm_stream_listen(&r.listen, here, &listener, NULL, false);
    REFUSED(&r.listen, -EINVAL);
    rgm_stream_accept(&r.accept, NULL, &stream);
    REFUSED(&r.accept, -EINVAL);
    rgm_stream_accept(&r.accept, &listener, NULL);
    REFUSED(&r.accept, -EINVAL);
    rgm_stream_connect(&r.connect, here, NULL, &endpoint);
    REFUSED(&r.connect, -EINVAL);
    rgm_stream_connect(&r.connect, here, &stream, NULL);
    REFUSED(&r.connect, -EINVAL);
    rgm_stream_read(&r.read, NULL, &r, 1);
    REFUSED(&r.read, -EINVAL);
    rgm_stream_write(&r.write, NULL, &r, 1);
    REFUSED(&r.write, -EINVAL);
    rgm_stream_shutdown(&r.shutdown, NULL);
    REFUSED(&r.shutdown, -EINVAL);
    rgm_stream_close(&r.close, NULL);
    REFUSED(&r.close, -EINVAL);
    rgm_listener_close(&r.close, NULL);
    REFUSED(&r.close, -EINVAL);
    rgm_socket_names(&r.names, NULL);
    REFUSED(&r.names, -EINVAL);
}

/* Before the first attempt, which would have taken or sent something. */
static void
opl_18_arguments_come_before_the_attempt(void)
{
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_vector huge[2] = {{&stream, SIZE_MAX / 2}, {&stream, 1}};
    struct rgm_vector hole[2] = {{&stream, 1}, {NULL, 1}};
    struct rgm_vector odd[2] = {{&stream, SIZE_MAX / 2}, {NULL, 0}};
    struct rgm_endpoint endpoint = {.family = 77};
    struct rgm_stream fresh = {0};
    struct records r;

    calls = 0;
    rgm_stream_connect(&r.connect, here, &fresh, &endpoint);
    REFUSED(&r.connect, -EINVAL);
    rgm_stream_read(&r.read, &stream, NULL, 1);
    REFUSED(&r.read, -EINVAL);
    rgm_stream_write(&r.write, &stream, NULL, 1);
    REFUSED(&r.write, -EINVAL);
    rgm_stream_write_vectors(&r.write, &stream, NULL, 1);
    REFUSED(&r.write, -EINVAL);
    rgm_stream_write_vectors(&r.write, &stream, huge, 2);
    REFUSED(&r.write, -EINVAL);
    rgm_stream_write_vectors(&r.write, &stream, hole, 2);
    REFUSED(&r.write, -EINVAL);
    rgm_stream_write_vectors(&r.write, &stream, odd, 2);
    rgi_check(rgi_operation_refused(&r.write.operation) == 0);
    rgm_stream_read(&r.read, &stream, NULL, 0);
    rgi_check(rgi_operation_refused(&r.read.operation) == 0);
}

static void
options_are_typed(void)
{
    const struct {
        enum rgm_option option;
        int32_t value;
        int status;
    } table[] = {
        {RGM_OPTION_NO_DELAY, 0, 0},
        {RGM_OPTION_NO_DELAY, 1, 0},
        {RGM_OPTION_NO_DELAY, 2, -EINVAL},
        {RGM_OPTION_KEEP_ALIVE, -1, -EINVAL},
        {RGM_OPTION_RECEIVE_BUFFER, 1, 0},
        {RGM_OPTION_RECEIVE_BUFFER, 0, -EINVAL},
        {RGM_OPTION_SEND_BUFFER, -1, -EINVAL},
        {RGM_OPTION_LINGER_SECONDS, -1, 0},
        {RGM_OPTION_LINGER_SECONDS, 0, 0},
        {RGM_OPTION_LINGER_SECONDS, -2, -EINVAL},
        {(enum rgm_option)0, 1, -EINVAL},
        {RGM_OPTION_REUSE_ADDRESS, 1, 0},
        {RGM_OPTION_REUSE_PORT, 2, -EINVAL},
        {RGM_OPTION_IPV6_ONLY, -1, -EINVAL},
        {RGM_OPTION_TRANSFER_TIMEOUT_MS, 0, 0},
        {RGM_OPTION_TRANSFER_TIMEOUT_MS, -1, -EINVAL},
        {(enum rgm_option)(RGM_OPTION_TRANSFER_TIMEOUT_MS + 1), 1, -EINVAL},
    };
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_socket_option option;

    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        rgm_socket_set(&option, &stream.socket, table[i].option,
                       table[i].value);
        rgi_check(rgi_operation_refused(&option.operation) ==
                  table[i].status);
    }
    rgm_socket_get(&option, &stream.socket, (enum rgm_option)99);
    rgi_check(rgi_operation_refused(&option.operation) == -EINVAL);
}

/* --------------------------------------------------------------- admission */

static void
socket_must_be_open_and_here(void)
{
    struct rgm_stream never = {0};
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_listener listener = {socket_open(RGI_SOCKET_LISTENER, 8)};
    struct rgm_stream fresh = {0};
    struct records r;

    calls = 0;
    rgm_stream_shutdown(&r.shutdown, &never); /* it has no address either */
    REFUSED(&r.shutdown, -EBADF);
    rgm_stream_shutdown(&r.shutdown, &stream);
    stream.socket.open = 0;
    rgi_check(START(&r.shutdown) == -EBADF);
    stream.socket.open = 1;
    stream.socket.worker = elsewhere;
    rgi_check(START(&r.shutdown) == -EBADF);
    stream.socket.worker = here;
    rgm_stream_accept(&r.accept, (struct rgm_listener *)&stream, &fresh);
    rgi_check(START(&r.accept) == -EBADF);
    rgm_stream_shutdown(&r.shutdown, (struct rgm_stream *)&listener);
    rgi_check(START(&r.shutdown) == -EBADF);
    rgi_check(calls == 0 && stream.socket.busy == 0);
    rgi_check(listener.socket.busy == 0 && fresh.socket.busy == 0);
}

static void
detach_empties_the_handle_or_leaves_it(void)
{
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_stream before = stream, empty = {0};
    struct rgm_turn turn = {0};
    struct rgm_detach detach;
    struct rgm_shutdown late;

    rgm_stream_detach(&detach, &stream);
    rgm_stream_shutdown(&late, &stream);
    rgi_check(START(&detach) == 0 && stream.socket.open == 0);
    rgi_check(START(&late) == -EBADF);
    rgm_operation_complete(&detach.operation, -ENOMEM, &turn);
    rgi_operation_home(&detach.operation);
    rgi_check(memcmp(&stream, &before, sizeof(stream)) == 0);
    rgm_stream_detach(&detach, &stream);
    rgi_check(START(&detach) == 0);
    complete(&detach.operation);
    rgi_check(memcmp(&stream, &empty, sizeof(stream)) == 0);
}

/* A handle that is open, or being opened, is not opened over. */
static void
handle_is_filled_once(void)
{
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_stream fresh = {0};
    struct rgm_endpoint endpoint = {.family = RGM_IPV4};
    struct rgm_connect first, second;

    calls = 0;
    rgm_stream_connect(&first, here, &stream, &endpoint);
    rgi_check(START(&first) == -EBUSY && calls == 0);
    rgm_stream_connect(&first, here, &fresh, &endpoint);
    rgm_stream_connect(&second, here, &fresh, &endpoint);
    rgi_check(START(&first) == 0);
    rgi_check(START(&second) == -EBUSY);
    rgi_stream_fill(&first.operation, 42);
    complete(&first.operation);
    rgi_check(fresh.socket.open == 1 && fresh.socket.resource == 42);
    rgi_check(fresh.socket.kind == RGI_SOCKET_STREAM);
    rgi_check(rgm_address_same(fresh.socket.worker, here));
    rgi_check(fresh.socket.busy == 0);
    rgi_check(START(&second) == -EBUSY);
}

/* The operation goes on; the handle stays open; later the close goes through,
 * and from its ask on the handle is not open. */
static void
soc_08_close_is_busy_while_operations_are_out(void)
{
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_close close;
    struct rgm_read read;
    char byte;

    calls = 0;
    rgm_stream_read(&read, &stream, &byte, 1);
    rgm_stream_close(&close, &stream);
    rgi_check(START(&read) == 0);
    rgi_check(START(&close) == -EBUSY);
    rgi_check(calls == 1 && stream.socket.open == 1);
    rgi_check(read.operation.state == RGM_OPERATION_SUBMITTED);
    complete(&read.operation);
    rgi_check(START(&close) == 0);
    rgi_check(stream.socket.open == 0);
    rgi_check(START(&read) == -EBADF);
    complete(&close.operation);
    rgi_check(START(&close) == -EBADF);
}

/* Asked again without being prepared again: no trace of the first time. */
static void
asking_again_clears_the_outputs(void)
{
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_pool *pool = (struct rgm_pool *)(void *)&stream;
    struct rgm_read_pooled pooled;
    struct rgm_read read;
    struct rgm_write write;
    char byte;

    rgm_stream_read(&read, &stream, &byte, 1);
    read.count = 1;
    read.end = true;
    rgi_check(START(&read) == 0);
    rgi_check(read.count == 0 && !read.end);
    rgm_stream_read_pooled(&pooled, &stream, pool);
    pooled.count = 1;
    pooled.end = true;
    pooled.lease.data = &byte;
    rgi_check(START(&pooled) == 0);
    rgi_check(pooled.count == 0 && !pooled.end && pooled.lease.data == NULL);
    rgm_stream_write(&write, &stream, &byte, 1);
    write.count = 1;
    rgi_check(START(&write) == 0);
    rgi_check(write.count == 0);
}

/* --------------------------------------------------------------- transfers */

static void
empty_transfers_are_seen(void)
{
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgm_vector nothing[3] = {{"", 0}, {NULL, 0}, {"x", 0}};
    struct rgm_vector something[2] = {{"", 0}, {"x", 1}};
    struct records r;

    rgm_stream_read(&r.read, &stream, &r, 0);
    rgi_check(!rgi_stream_is_empty(&r.read.operation));
    rgm_stream_write(&r.write, &stream, NULL, 0);
    rgi_check(rgi_stream_is_empty(&r.write.operation));
    rgm_stream_write_vectors(&r.write, &stream, NULL, 0);
    rgi_check(rgi_stream_is_empty(&r.write.operation));
    rgm_stream_write_vectors(&r.write, &stream, nothing, 3);
    rgi_check(rgi_stream_is_empty(&r.write.operation));
    rgm_stream_write_vectors(&r.write, &stream, something, 2);
    rgi_check(!rgi_stream_is_empty(&r.write.operation));
    rgm_stream_shutdown(&r.shutdown, &stream);
    rgi_check(!rgi_stream_is_empty(&r.shutdown.operation));
}

static uint64_t
next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Takes up to `most` bytes out of the pieces, as the kernel would. */
static size_t
pieces_take(struct rgi_pieces pieces, size_t most, char *ret_bytes)
{
    size_t taken = 0;

    rgi_check(pieces.first->length_bytes > 0);
    for (uint32_t i = 0; i < pieces.count && taken < most; i++) {
        size_t length = pieces.first[i].length_bytes;

        if (length > most - taken)
            length = most - taken;
        memcpy(ret_bytes + taken, pieces.first[i].data, length);
        taken += length;
    }
    return taken;
}

#define PIECES_MAX 40
#define PIECE_MAX_BYTES 9

/* One write of random pieces by random short transfers: each byte once, in
 * order, and the caller's vectors as they were. */
static void
write_once(uint64_t *random)
{
    static char text[PIECES_MAX * PIECE_MAX_BYTES];
    char out[sizeof(text)];
    struct rgm_vector pieces[PIECES_MAX], before[PIECES_MAX];
    size_t count = 1 + next_random(random) % PIECES_MAX;
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgi_write_place place = {0};
    struct rgm_write write;
    size_t total = 0;
    struct rgi_pieces next;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)next_random(random);
    for (size_t i = 0; i < count; i++) {
        pieces[i].data = text + total;
        pieces[i].length_bytes = next_random(random) % (PIECE_MAX_BYTES + 1);
        total += pieces[i].length_bytes;
    }
    memcpy(before, pieces, sizeof(before));
    rgm_stream_write_vectors(&write, &stream, pieces, count);
    while ((next = rgi_write_next(&write, &place)).count > 0) {
        size_t sent = write.count;
        size_t most = 1 + next_random(random) % 60;
        size_t bytes = pieces_take(next, most, out + sent);

        rgi_check(next.first == write.window
                      ? next.count <= RGM_WRITE_WINDOW
                      : next.first >= pieces && next.first < pieces + count);
        rgi_check(rgi_write_advance(&write, &place, bytes) ==
                  (sent + bytes == total &&
                   rgi_write_next(&write, &place).count == 0));
    }
    rgi_check(write.count == total);
    rgi_check(memcmp(out, text, total) == 0);
    rgi_check(memcmp(before, pieces, count * sizeof(pieces[0])) == 0);
}

/* Short writes lose and repeat nothing, however the pieces are cut. */
static void
swr_21_write_all_advances_over_short_writes(void)
{
    uint64_t random = rgi_seed();
    uint64_t rounds = rgi_scale(100000);

    for (uint64_t i = 0; i < rounds; i++)
        write_once(&random);
}

/* With `some`, one transfer is all there is. */
static void
some_is_one_transfer(void)
{
    struct rgm_stream stream = {socket_open(RGI_SOCKET_STREAM, 7)};
    struct rgi_write_place place = {0};
    struct rgm_write write;

    rgm_stream_write(&write, &stream, "text", 4);
    write.some = true;
    rgi_check(rgi_write_next(&write, &place).count == 1);
    rgi_check(rgi_write_advance(&write, &place, 1));
    rgi_check(write.count == 1);
}

/* Whatever was in the record: all of it is as told or zero, but for what the
 * provider lays out before it looks at it, which is most of a write. */
static void
a_write_is_prepared_over_anything(void)
{
    struct rgm_stream stream = {
        .socket = socket_open(RGI_SOCKET_STREAM, 1)};
    struct rgm_write write, clean;
    size_t bare = offsetof(struct rgm_request, answer);
    size_t front = offsetof(struct rgm_write, window);

    memset(&write, 0xA5, sizeof(write));
    memset(&clean, 0, sizeof(clean));
    rgm_stream_write(&write, &stream, "abc", 3);
    rgm_stream_write(&clean, &stream, "abc", 3);
    rgi_check(write.vectors == &write.single);
    write.vectors = clean.vectors;
    rgi_check(memcmp((char *)&write + bare, (char *)&clean + bare,
                     front - bare) == 0);
    rgi_check(write.operation.request.message.charged_bytes == sizeof(write));
    rgi_check((uintptr_t)write.window[0].data == (uintptr_t)-1 / 255 * 0xA5);
}

#define CASES(X)                                                              \
    X(stream, opl_01_preparing_has_no_effect)                                 \
    X(stream, prepared_record_is_at_home)                                     \
    X(stream, a_write_is_prepared_over_anything)                              \
    X(stream, missing_objects_are_invalid)                                    \
    X(stream, opl_18_arguments_come_before_the_attempt)                       \
    X(stream, options_are_typed)                                              \
    X(stream, socket_must_be_open_and_here)                                   \
    X(stream, handle_is_filled_once)                                          \
    X(stream, detach_empties_the_handle_or_leaves_it)                         \
    X(stream, soc_08_close_is_busy_while_operations_are_out)                  \
    X(stream, asking_again_clears_the_outputs)                                \
    X(stream, empty_transfers_are_seen)                                       \
    X(stream, swr_21_write_all_advances_over_short_writes)                    \
    X(stream, some_is_one_transfer)

RGI_CASES(CASES)
