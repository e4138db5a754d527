/* SPDX-License-Identifier: MIT */

/* scripted_test.c - does the script decide, and nobody else? */

#include <pthread.h>

#include <ringmail/scripted.h>

#include "base/memory.h"
#include "capabilities/desk.h"

/* A desk whose provider has a script, a listener and a stream. */
struct play {
    struct rgm_script *script;
    struct desk desk;
    struct rgm_listener listener;
    struct rgm_stream stream;
};

static void
play_begin(struct play *play)
{
    struct rgm_provider_options options = {.worker = 5};
    char why[100] = "";

    memset(play, 0, sizeof(*play));
    rgi_check(rgm_script_create(&play->script) == 0);
    rgi_check(rgi_bell_open(&play->desk.bell) == 0);
    options.bell = play->desk.bell;
    options.argument = play->script;
    rgi_check(rgm_provider_scripted.open(&options, &play->desk.provider, why,
                                         sizeof(why)) == 0);
}

static void
play_end(struct play *play)
{
    desk_close(&play->desk, &rgm_provider_scripted);
    rgm_script_destroy(play->script);
    rgi_check(rgi_memory_live() == 0);
}

static uint32_t
look(struct play *play)
{
    return desk_take(&play->desk, 0);
}

static struct rgm_operation *
found(struct play *play, enum rgm_operation_kind kind)
{
    struct rgm_operation *operation = rgm_script_find(play->script, kind, 0);

    rgi_check(operation != NULL);
    return operation;
}

static void
open_stream(struct play *play)
{
    struct rgm_endpoint endpoint;
    struct rgm_connect connect;

    rgi_check(rgm_endpoint_parse("127.0.0.1", 7, &endpoint) == 0);
    rgm_stream_connect(&connect, desk_here, &play->stream, &endpoint);
    desk_start(&play->desk, &connect);
    rgm_script_complete(play->script, &connect.operation, 0);
    rgi_check(look(play) == 1 && rgm_status(&connect) == 0);
    rgi_check(play->stream.socket.open == 1);
}

static void
nothing_ends_before_it_is_decided(void)
{
    struct play play;
    struct rgm_read read;
    char byte = 0;

    play_begin(&play);
    open_stream(&play);
    rgm_stream_read(&read, &play.stream, &byte, 1);
    desk_start(&play.desk, &read);
    rgi_check(look(&play) == 0 && !desk_is_home(&read));
    rgi_check(rgm_script_count(play.script, RGM_SCRIPT_ANY) == 1);
    rgi_check(rgm_script_count(play.script, RGM_OP_WRITE) == 0);
    rgi_check(found(&play, RGM_OP_READ) == &read.operation);
    rgi_check(rgm_script_worker(&read.operation) == 5);
    rgi_check(rgm_script_complete_read(play.script, &read.operation, "ab", 2,
                                       false) == -EINVAL);
    rgi_check(look(&play) == 0);
    rgi_check(rgm_script_complete_read(play.script, &read.operation, "x", 1,
                                       true) == 0);
    rgi_check(!desk_is_home(&read)); /* until its worker looks */
    rgi_check(rgm_script_count(play.script, RGM_SCRIPT_ANY) == 0);
    rgi_check(look(&play) == 1 && desk_is_home(&read));
    rgi_check(byte == 'x' && read.count == 1 && read.end);
    play_end(&play);
}

/* Each result a write can have; the order is the test's. */
static void
results_and_their_order_are_the_tests(void)
{
    struct rgm_write write[4];
    struct play play;
    struct rgm_turn turn = {0};
    int statuses[4] = {0, -EPIPE, -EINTR, -ECONNRESET};
    unsigned order[4] = {2, 0, 3, 1};

    play_begin(&play);
    open_stream(&play);
    for (unsigned i = 0; i < 4; i++) {
        rgm_stream_write(&write[i], &play.stream, "abcd", 4);
        desk_start(&play.desk, &write[i]);
    }
    for (unsigned i = 0; i < 4; i++)
        rgi_check(rgm_script_find(play.script, RGM_OP_WRITE, i) ==
                  &write[i].operation);
    for (unsigned i = 0; i < 4; i++) {
        struct rgm_operation *operation = &write[order[i]].operation;

        if (order[i] == 3)
            rgm_script_complete_write(play.script, operation, 3,
                                      statuses[order[i]]);
        else
            rgm_script_complete(play.script, operation, statuses[order[i]]);
    }
    rgi_check(play.desk.provider->ops->wait(play.desk.provider, 0, &turn) == 0);
    for (unsigned i = 0; i < 4; i++) {
        struct rgm_message *message = turn.first;

        turn.first = message->next;
        rgi_check(rgm_operation_of(message) == &write[order[i]].operation);
        rgi_check(message->status == statuses[order[i]]);
        rgi_operation_home(rgm_operation_of(message));
    }
    rgi_check(write[0].count == 4 && write[1].count == 0);
    rgi_check(write[3].count == 3);
    play_end(&play);
}

static void
can_15_cancel_is_honoured_or_loses(void)
{
    struct rgm_read first, second;
    struct play play;
    char byte;

    play_begin(&play);
    open_stream(&play);
    rgm_stream_read(&first, &play.stream, &byte, 1);
    rgm_stream_read(&second, &play.stream, &byte, 1);
    desk_start(&play.desk, &first);
    desk_cancel(&play.desk, &first);
    rgi_check(rgm_script_count(play.script, RGM_SCRIPT_ANY) == 0);
    rgi_check(desk_await(&play.desk, &first) == -ECANCELED);
    rgm_script_hold_cancels(play.script, true);
    desk_start(&play.desk, &first);
    desk_start(&play.desk, &second);
    desk_cancel(&play.desk, &first);
    desk_cancel(&play.desk, &second);
    rgi_check(look(&play) == 0);
    rgi_check(rgm_script_is_cancelled(play.script, &first.operation));
    rgi_check(rgm_script_complete_read(play.script, &first.operation, "z", 1,
                                       false) == 0);
    rgm_script_complete(play.script, &second.operation, -EINTR);
    rgi_check(look(&play) == 2);
    rgi_check(rgm_status(&first) == 0 && first.count == 1);
    rgi_check(rgm_status(&second) == -ECANCELED);
    play_end(&play);
}

/* The cancel is over, and the operation is not: all it uses stays with it. */
static void
opl_03_all_is_kept_until_the_operation_ends(void)
{
    struct rgm_close close;
    struct rgm_read read;
    struct play play;
    char byte = 'a';

    play_begin(&play);
    open_stream(&play);
    rgm_script_hold_cancels(play.script, true);
    rgm_stream_read(&read, &play.stream, &byte, 1);
    desk_start(&play.desk, &read);
    desk_cancel(&play.desk, &read);
    rgi_check(look(&play) == 0 && play.stream.socket.busy == 1);
    rgi_check(read.operation.state == RGM_OPERATION_CANCELLING);
    rgm_stream_close(&close, &play.stream);
    rgi_check(desk_run(&play.desk, &close) == -EBUSY);
    rgi_check(read.memory == &byte && byte == 'a');
    rgm_script_complete(play.script, &read.operation, -EINTR);
    rgi_check(play.stream.socket.busy == 1); /* nobody has looked */
    rgi_check(look(&play) == 1 && play.stream.socket.busy == 0);
    rgi_check(rgm_status(&read) == -ECANCELED);
    play_end(&play);
}

static void
the_scripts_time_may_be_the_machines(void)
{
    struct rgm_turn turn = {0};
    struct play play;
    uint64_t before_ns;

    play_begin(&play);
    rgm_script_follow_clock(play.script);
    before_ns = rgm_script_now(play.script);
    rgm_script_advance(play.script, RGM_NS_PER_S);
    rgi_check(!rgm_script_jump(play.script));
    rgi_check(play.desk.provider->ops->wait(play.desk.provider,
                                            before_ns + RGM_NS_PER_MS,
                                            &turn) == 0);
    rgi_check(turn.count == 0 && !turn.rang);
    rgi_check(rgm_script_now(play.script) >= before_ns + RGM_NS_PER_MS);
    play_end(&play);
}

/* Decided, and cancelled before its worker has looked. */
static void
what_is_decided_beats_a_cancel(void)
{
    struct rgm_write write;
    struct play play;

    play_begin(&play);
    open_stream(&play);
    rgm_stream_write(&write, &play.stream, "a", 1);
    desk_start(&play.desk, &write);
    rgm_script_complete(play.script, &write.operation, 0);
    desk_cancel(&play.desk, &write);
    rgi_check(desk_await(&play.desk, &write) == 0 && write.count == 1);
    play_end(&play);
}

static void
the_nth_submission_is_refused(void)
{
    struct rgm_write write;
    struct play play;

    play_begin(&play);
    open_stream(&play);
    rgm_stream_write(&write, &play.stream, "a", 1);
    rgm_script_refuse_nth(play.script, 2, -ENOBUFS);
    for (unsigned i = 0; i < 3; i++) {
        desk_start(&play.desk, &write);
        if (i != 1)
            rgm_script_complete(play.script, &write.operation, 0);
        rgi_check(desk_await(&play.desk, &write) == (i == 1 ? -ENOBUFS : 0));
        rgi_check(write.count == (i == 1 ? 0 : 1));
    }
    play_end(&play);
}

static void
answer_it(struct rgm_script *script, struct rgm_operation *operation,
          void *argument)
{
    ++*(unsigned *)argument;
    rgm_script_complete(script, operation, 0);
}

static void
a_rule_answers_at_once(void)
{
    struct rgm_shutdown shutdown;
    struct rgm_close close;
    struct play play;
    unsigned calls = 0;

    play_begin(&play);
    rgm_script_on_submit(play.script, answer_it, &calls);
    {
        struct rgm_endpoint endpoint;
        struct rgm_accept accept;

        rgi_check(rgm_endpoint_parse("127.0.0.1", 7, &endpoint) == 0);
        rgi_check(desk_listen(&play.desk, &play.listener, &endpoint) == 0);
        rgm_stream_accept(&accept, &play.listener, &play.stream);
        rgi_check(desk_run(&play.desk, &accept) == 0);
    }
    rgm_stream_shutdown(&shutdown, &play.stream);
    rgi_check(desk_run(&play.desk, &shutdown) == 0);
    rgm_stream_close(&close, &play.stream);
    rgi_check(desk_run(&play.desk, &close) == 0);
    rgi_check(play.stream.socket.open == 0);
    rgm_listener_close(&close, &play.listener);
    rgi_check(desk_run(&play.desk, &close) == 0);
    rgi_check(calls == 5);
    play_end(&play);
}

static void
pooled_read_gets_a_slot_of_its_pool(void)
{
    struct rgm_pool_options options = {.slots_count = 1, .slot_size_bytes = 8};
    struct rgm_read_pooled read, other;
    struct rgm_pool *pool;
    struct play play;

    play_begin(&play);
    rgi_check(rgm_pool_create(&options, &pool) == 0);
    open_stream(&play);
    rgm_stream_read_pooled(&read, &play.stream, pool);
    rgm_stream_read_pooled(&other, &play.stream, pool);
    desk_start(&play.desk, &read);
    desk_start(&play.desk, &other);
    rgi_check(rgm_script_complete_read(play.script, &read.operation,
                                       "123456789", 9, false) == -EINVAL);
    rgi_check(rgm_script_complete_read(play.script, &read.operation, "abc", 3,
                                       false) == 0);
    rgi_check(rgm_script_complete_read(play.script, &other.operation, "d", 1,
                                       false) == -EAGAIN);
    rgi_check(rgm_script_complete_read(play.script, &other.operation, NULL, 0,
                                       true) == 0);
    rgi_check(look(&play) == 2 && other.end && other.count == 0);
    rgi_check(read.lease.length_bytes == 3 && read.count == 3);
    rgi_check(memcmp(read.lease.data, "abc", 3) == 0);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
    rgm_pool_destroy(pool);
    play_end(&play);
}

/* ---- waiting, on a thread of its own ---- */

struct waiter {
    struct play *play;
    pthread_t thread;
    uint64_t deadline_ns;
    int status;
    struct rgm_turn turn;
};

static void *
wait_once(void *argument)
{
    struct waiter *waiter = argument;
    struct rgm_provider *provider = waiter->play->desk.provider;

    waiter->status = provider->ops->wait(provider, waiter->deadline_ns,
                                         &waiter->turn);
    return NULL;
}

static void
waiter_begin(struct waiter *waiter, struct play *play, uint64_t deadline_ns)
{
    *waiter = (struct waiter){.play = play, .deadline_ns = deadline_ns};
    rgi_check(pthread_create(&waiter->thread, NULL, wait_once, waiter) == 0);
}

static void
waiter_end(struct waiter *waiter)
{
    rgi_check(pthread_join(waiter->thread, NULL) == 0);
}

static void
time_passes_when_it_is_told_to(void)
{
    struct waiter waiter;
    struct play play;
    uint64_t begin_ns;

    play_begin(&play);
    begin_ns = rgm_script_now(play.script);
    rgi_check(!rgm_script_jump(play.script)); /* nobody waits for a time */
    waiter_begin(&waiter, &play, begin_ns + 10);
    while (!rgm_script_jump(play.script))
        continue;
    waiter_end(&waiter);
    rgi_check(waiter.status == 0 && waiter.turn.count == 0);
    rgi_check(!waiter.turn.rang);
    rgi_check(rgm_script_now(play.script) == begin_ns + 10);
    waiter_begin(&waiter, &play, begin_ns + 20);
    rgm_script_advance(play.script, 9);
    rgm_script_advance(play.script, 1);
    waiter_end(&waiter);
    rgi_check(play.desk.provider->ops->now(play.desk.provider) ==
              begin_ns + 20);
    play_end(&play);
}

static void
each_way_a_wait_can_end(void)
{
    struct waiter waiter;
    struct rgm_write write;
    struct play play;

    play_begin(&play);
    open_stream(&play);
    waiter_begin(&waiter, &play, RGM_NEVER);
    rgm_script_ring(play.script, 5);
    waiter_end(&waiter);
    rgi_check(waiter.status == 0 && waiter.turn.rang);
    waiter_begin(&waiter, &play, RGM_NEVER);
    rgm_script_interrupt(play.script, 5);
    waiter_end(&waiter);
    rgi_check(waiter.status == 0 && !waiter.turn.rang);
    rgi_check(waiter.turn.count == 0);
    rgm_stream_write(&write, &play.stream, "a", 1);
    desk_start(&play.desk, &write);
    waiter_begin(&waiter, &play, RGM_NEVER);
    rgm_script_complete(play.script, &write.operation, 0);
    waiter_end(&waiter);
    rgi_check(waiter.turn.count == 1);
    rgi_operation_home(&write.operation);
    waiter_begin(&waiter, &play, RGM_NEVER);
    play.desk.provider->ops->wake(play.desk.provider);
    waiter_end(&waiter);
    rgi_check(waiter.turn.rang);
    play_end(&play);
}

static void
a_failure_ends_the_provider(void)
{
    struct waiter waiter;
    struct rgm_write write;
    struct play play;

    play_begin(&play);
    open_stream(&play);
    rgm_stream_write(&write, &play.stream, "a", 1);
    desk_start(&play.desk, &write);
    waiter_begin(&waiter, &play, RGM_NEVER);
    rgm_script_fail(play.script, 5, -EIO);
    waiter_end(&waiter);
    rgi_check(waiter.status == -EIO && !desk_is_home(&write));
    rgm_provider_scripted.close(play.desk.provider);
    rgi_check(rgm_script_count(play.script, RGM_SCRIPT_ANY) == 0);
    rgi_bell_close(play.desk.bell);
    rgm_script_destroy(play.script);
    rgi_check(rgi_memory_live() == 0);
}

static void
opening_can_be_refused(void)
{
    struct rgm_provider_options options = {.worker = 1, .bell = 0};
    struct rgm_provider *provider = NULL;
    struct rgm_script *script;
    char why[100] = "";

    rgi_check(rgm_provider_scripted.open(&options, &provider, why,
                                         sizeof(why)) == -EINVAL);
    rgi_check(rgm_script_create(&script) == 0);
    options.argument = script;
    rgm_script_refuse_open(script, 1, -EPERM);
    rgi_check(rgm_provider_scripted.open(&options, &provider, why,
                                         sizeof(why)) == -EPERM);
    rgi_check(provider == NULL && strstr(why, "script") != NULL);
    rgm_script_refuse_open(script, 2, -EPERM);
    for (unsigned long nth = 1;; nth++) {
        int status;

        rgi_memory_fail_nth(nth);
        status = rgm_provider_scripted.open(&options, &provider, why,
                                            sizeof(why));
        if (!rgi_memory_fail_off()) {
            rgi_check(status == 0);
            break;
        }
        rgi_check(status == -ENOMEM);
    }
    rgm_provider_scripted.close(provider);
    rgm_provider_scripted.close(NULL);
    rgm_script_kinds(script, UINT64_C(1) << RGM_OP_READ);
    rgi_check(rgm_provider_scripted.open(&options, &provider, why,
                                         sizeof(why)) == 0);
    rgi_check(provider->kinds == UINT64_C(1) << RGM_OP_READ);
    rgm_provider_scripted.close(provider);
    rgm_script_destroy(script);
    rgm_script_destroy(NULL);
    rgi_check(rgi_memory_live() == 0);
}

#define CASES(X)                                                               \
    X(scripted, nothing_ends_before_it_is_decided)                             \
    X(scripted, results_and_their_order_are_the_tests)                         \
    X(scripted, can_15_cancel_is_honoured_or_loses)                            \
    X(scripted, opl_03_all_is_kept_until_the_operation_ends)                   \
    X(scripted, the_scripts_time_may_be_the_machines)                          \
    X(scripted, what_is_decided_beats_a_cancel)                                \
    X(scripted, the_nth_submission_is_refused)                                 \
    X(scripted, a_rule_answers_at_once)                                        \
    X(scripted, pooled_read_gets_a_slot_of_its_pool)                           \
    X(scripted, time_passes_when_it_is_told_to)                                \
    X(scripted, each_way_a_wait_can_end)                                       \
    X(scripted, a_failure_ends_the_provider)                                   \
    X(scripted, opening_can_be_refused)

RGI_CASES(CASES)
