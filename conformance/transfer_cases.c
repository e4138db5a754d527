/* SPDX-License-Identifier: MIT */

/* transfer_cases.c - what must transfers at once show, and waiting for them? */

#include "conformance/transfer_cases.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "conformance/shim.h"

STEP(await_step, rgm_await);

/* A try, as an errand. */
struct attempt {
    struct rgm_stream *stream;
    struct rgm_vector vectors[2];
    size_t vectors_count; /* 0: the scalar form, of the first */
    uint32_t flags;
    size_t count; /* these are set by a success alone */
    bool end;
    int status;
    uint64_t repeats;     /* of a write */
    uint64_t allocations; /* during them */
};

#define UNTOUCHED 77

static void
read_now(struct puppet *puppet, void *argument)
{
    struct attempt *attempt = argument;

    attempt->count = UNTOUCHED;
    attempt->end = true;
    if (attempt->vectors_count > 0)
        attempt->status = rgm_stream_try_read_vectors(
            puppet, attempt->stream, attempt->vectors, attempt->vectors_count,
            &attempt->count, &attempt->end);
    else
        attempt->status = rgm_stream_try_read(
            puppet, attempt->stream, (void *)(uintptr_t)attempt->vectors[0].data,
            attempt->vectors[0].length_bytes, attempt->flags, &attempt->count,
            &attempt->end);
    rgi_check(attempt->status == 0 ||
              (attempt->count == UNTOUCHED && attempt->end));
}

static void
write_now(struct puppet *puppet, void *argument)
{
    struct attempt *attempt = argument;

    attempt->count = UNTOUCHED;
    if (attempt->vectors_count > 0)
        attempt->status = rgm_stream_try_write_vectors(
            puppet, attempt->stream, attempt->vectors, attempt->vectors_count,
            &attempt->count);
    else
        attempt->status = rgm_stream_try_write(
            puppet, attempt->stream, attempt->vectors[0].data,
            attempt->vectors[0].length_bytes, attempt->flags, &attempt->count);
    rgi_check(attempt->status == 0 || attempt->count == UNTOUCHED);
}

static int
try_read(struct stage *stage, struct attempt *attempt)
{
    stage_do(stage, read_now, attempt);
    return attempt->status;
}

static int
try_write(struct stage *stage, struct attempt *attempt)
{
    stage_do(stage, write_now, attempt);
    return attempt->status;
}

static struct attempt
attempt_on(struct rgm_stream *stream, const void *memory, size_t length_bytes)
{
    struct attempt attempt = {.stream = stream, .repeats = 1};

    attempt.vectors[0].data = memory;
    attempt.vectors[0].length_bytes = length_bytes;
    return attempt;
}

static int
await(struct stage *stage, struct rgm_stream *stream, enum rgm_moment moment)
{
    struct rgm_await record;

    rgm_socket_await(&record, &stream->socket, moment);
    return rgm_call(stage->runtime, &record);
}

/* Whether every byte is at the peer and known to be, or still in our queue: then
 * no more room comes by itself. tcp(7): TIOCOUTQ, FIONREAD. */
static bool
is_settled(int peer, int ours, size_t total)
{
    int sent = 0, got = 0;

    rgi_check(ioctl(ours, TIOCOUTQ, &sent) == 0);
    rgi_check(ioctl(peer, FIONREAD, &got) == 0);
    return (size_t)sent + (size_t)got == total;
}

/* Until nothing more goes. Returns how much went. */
static size_t
fill(struct stage *stage, struct rgm_stream *stream, int peer)
{
    static const char bytes[65536];
    struct attempt attempt = attempt_on(stream, bytes, sizeof(bytes));
    int ours = descriptor_of_peer(peer);
    size_t total = 0;
    bool settled;

    do {
        settled = is_settled(peer, ours, total);
        while (try_write(stage, &attempt) == 0) {
            total += attempt.count;
            settled = false;
        }
        rgi_check(attempt.status == -EAGAIN);
    } while (!settled);
    return total;
}

static void
drain(int peer, size_t length_bytes)
{
    char *bytes = malloc(length_bytes);

    rgi_check(bytes != NULL);
    peer_receive(peer, bytes, length_bytes);
    free(bytes);
}

static void
end(struct stage *stage, struct rgm_stream *near, int peer)
{
    rgi_check(stage_close_stream(stage, near) == 0);
    peer_close(peer);
    stage_close(stage);
}

void
srd_03_one_short_transfer_leaves_the_vectors(struct stage *stage)
{
    char first[5] = "----", second[5] = "----";
    struct rgm_stream near;
    struct attempt attempt;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "12345", 5);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    attempt = attempt_on(&near, first, 4);
    attempt.vectors[1] = (struct rgm_vector){second, 4};
    attempt.vectors_count = 2;
    rgi_check(try_read(stage, &attempt) == 0);
    rgi_check(attempt.count == 5 && !attempt.end);
    rgi_check(memcmp(first, "1234", 5) == 0 && memcmp(second, "5---", 5) == 0);
    rgi_check(attempt.vectors[0].data == first &&
              attempt.vectors[0].length_bytes == 4);
    rgi_check(attempt.vectors[1].data == second &&
              attempt.vectors[1].length_bytes == 4);
    rgi_check(try_write(stage, &attempt) == 0 && attempt.count == 8);
    peer_receive(peer, first, 4);
    peer_receive(peer, second, 4);
    rgi_check(memcmp(first, "1234", 4) == 0 && memcmp(second, "5---", 4) == 0);
    end(stage, &near, peer);
}

/* ------------------------------------------------------------ waiting, SRD-04 */

struct pages {
    char *memory;
    size_t size_bytes;
};

static struct pages
pages_map(void)
{
    struct pages pages = {NULL, (size_t)sysconf(_SC_PAGESIZE)};

    pages.memory = mmap(NULL, pages.size_bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rgi_check(pages.memory != MAP_FAILED);
    return pages;
}

static void
pages_guard(const struct pages *pages, int protection)
{
    rgi_check(mprotect(pages->memory, pages->size_bytes, protection) == 0);
}

/* Waits, and is forgotten the first time: the record is all that is left. */
static void
wait_without_memory(struct stage *stage, struct rgm_stream *near,
                    enum rgm_moment moment, struct await_step *step)
{
    struct await_step forgotten = {0};
    uint64_t allocations;

    rgm_socket_await(&forgotten.op, &near->socket, moment);
    stage_begin(stage, &forgotten);
    stage_cancel(stage, &forgotten);
    rgi_check(stage_end(stage, &forgotten) == -ECANCELED);
    allocations = shim_allocations();
    rgm_socket_await(&step->op, &near->socket, moment);
    stage_begin(stage, step);
    rgi_check(shim_allocations() == allocations);
    (void)stage_counters(stage); /* turns pass */
    rgi_check(stage_is_out(stage, step));
}

void
srd_04_waiting_read_holds_no_memory(struct stage *stage)
{
    struct pages pages = pages_map();
    struct await_step step = {0};
    struct rgm_stream near;
    struct attempt attempt;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    attempt = attempt_on(&near, pages.memory, 16);
    rgi_check(try_read(stage, &attempt) == -EAGAIN);
    pages_guard(&pages, PROT_NONE);
    wait_without_memory(stage, &near, RGM_READABLE, &step);
    peer_send(peer, "hello", 5);
    rgi_check(stage_end(stage, &step) == 0);
    (void)stage_counters(stage); /* turns pass; nobody touches the pages */
    pages_guard(&pages, PROT_READ | PROT_WRITE);
    rgi_check(pages.memory[0] == 0);
    rgi_check(try_read(stage, &attempt) == 0 && attempt.count == 5);
    rgi_check(memcmp(pages.memory, "hello", 5) == 0);
    rgi_check(munmap(pages.memory, pages.size_bytes) == 0);
    end(stage, &near, peer);
}

void
srd_04_waiting_write_holds_no_memory(struct stage *stage)
{
    struct pages pages = pages_map();
    struct await_step step = {0};
    struct rgm_stream near;
    struct attempt attempt;
    size_t before;
    char bytes[5];
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    memcpy(pages.memory, "wrong", 5);
    before = fill(stage, &near, peer);
    attempt = attempt_on(&near, pages.memory, 5);
    rgi_check(try_write(stage, &attempt) == -EAGAIN);
    pages_guard(&pages, PROT_NONE);
    wait_without_memory(stage, &near, RGM_WRITABLE, &step);
    drain(peer, before);
    rgi_check(stage_end(stage, &step) == 0);
    pages_guard(&pages, PROT_READ | PROT_WRITE);
    memcpy(pages.memory, "right", 5); /* what goes out is what is there then */
    rgi_check(try_write(stage, &attempt) == 0 && attempt.count == 5);
    peer_receive(peer, bytes, 5);
    rgi_check(memcmp(bytes, "right", 5) == 0);
    rgi_check(munmap(pages.memory, pages.size_bytes) == 0);
    end(stage, &near, peer);
}

/* Somebody else takes what the wait was about. */
void
srd_18_false_readiness_leads_back_to_waiting(struct stage *stage)
{
    struct await_step step = {0};
    struct rgm_stream near;
    struct attempt attempt;
    char byte, other;
    bool is_end;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    rgm_socket_await(&step.op, &near.socket, RGM_READABLE);
    stage_begin(stage, &step);
    peer_send(peer, "1", 1);
    rgi_check(stage_end(stage, &step) == 0);
    rgi_check(stage_read(stage, &near, &other, 1, &is_end) == 1);
    attempt = attempt_on(&near, &byte, 1);
    rgi_check(try_read(stage, &attempt) == -EAGAIN);
    stage_begin(stage, &step);
    rgi_check(try_read(stage, &attempt) == -EAGAIN);
    peer_send(peer, "2", 1);
    rgi_check(stage_end(stage, &step) == 0);
    rgi_check(try_read(stage, &attempt) == 0 && attempt.count == 1);
    rgi_check(byte == '2' && other == '1');
    end(stage, &near, peer);
}

/* --------------------------------------------------------------------- flags */

void
srd_23_flags_are_checked_before_any_attempt(struct stage *stage)
{
    const uint32_t known = RGM_TRANSFER_PEEK | RGM_TRANSFER_WAIT_ALL |
                           RGM_TRANSFER_NO_SIGNAL;
    struct rgm_stream near;
    struct attempt attempt;
    uint64_t transfers;
    char byte = '-';
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    transfers = spy_of(0)->transfers;
    attempt = attempt_on(&near, &byte, 1);
    for (int i = 0; i < 32; i++) {
        attempt.flags = UINT32_C(1) << i;
        if ((attempt.flags & known) != 0)
            continue;
        rgi_check(try_read(stage, &attempt) == -EINVAL);
        rgi_check(try_write(stage, &attempt) == -EINVAL);
        attempt.flags |= RGM_TRANSFER_NO_SIGNAL;
        rgi_check(try_read(stage, &attempt) == -EINVAL);
    }
    attempt.flags = RGM_TRANSFER_PEEK; /* there is nothing to peek at */
    rgi_check(try_write(stage, &attempt) == -EINVAL);
    rgi_check(spy_of(0)->transfers == transfers && byte == '-');
    peer_expect_nothing(peer);
    attempt.flags = 0;
    rgi_check(try_read(stage, &attempt) == 0 && byte == 'x');
    attempt.vectors[0].data = NULL;
    rgi_check(try_read(stage, &attempt) == -EINVAL);
    rgi_check(try_write(stage, &attempt) == -EINVAL);
    end(stage, &near, peer);
}

void
srd_23_peek_wait_all_and_no_signal(struct stage *stage)
{
    struct rgm_stream near;
    struct attempt attempt;
    char bytes[8] = "-------";
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "abcd", 4);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    attempt = attempt_on(&near, bytes, 4);
    attempt.flags = RGM_TRANSFER_PEEK;
    for (int i = 0; i < 3; i++) {
        memset(bytes, '-', 4);
        rgi_check(try_read(stage, &attempt) == 0 && attempt.count == 4);
        rgi_check(memcmp(bytes, "abcd", 4) == 0);
    }
    attempt.flags = RGM_TRANSFER_WAIT_ALL | RGM_TRANSFER_NO_SIGNAL;
    rgi_check(try_read(stage, &attempt) == 0 && attempt.count == 4);
    rgi_check(memcmp(bytes, "abcd", 4) == 0);
    rgi_check(try_read(stage, &attempt) == -EAGAIN);
    rgi_check(try_write(stage, &attempt) == 0 && attempt.count == 4);
    peer_receive(peer, bytes, 4);
    peer_reset(peer);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    attempt.flags = 0;
    rgi_check(try_write(stage, &attempt) == -ECONNRESET);
    for (int i = 0; i < 2; i++) {
        attempt.flags = i == 0 ? 0 : RGM_TRANSFER_NO_SIGNAL;
        rgi_check(try_write(stage, &attempt) == -EPIPE); /* and we are alive */
    }
    rgi_check(shim_sends_with_signal() == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    stage_close(stage);
}

/* --------------------------------------------------------------- what it costs */

static void
write_repeatedly(struct puppet *puppet, void *argument)
{
    struct attempt *attempt = argument;
    uint64_t allocations = shim_allocations();

    for (uint64_t i = 0; i < attempt->repeats; i++) {
        write_now(puppet, attempt);
        rgi_check(attempt->status == 0 && attempt->count == 1);
    }
    attempt->allocations = shim_allocations() - allocations;
}

static uint64_t
submits_of_all(const struct spy *spy)
{
    uint64_t total = 0;

    for (int i = 0; i < RGM_OP_KINDS_COUNT; i++)
        total += spy->submits[i];
    return total;
}

/* Bursts that fit the socket, 100,000 writes in all. */
void
swr_15_ready_write_asks_nothing(struct stage *stage)
{
    enum { BURST = 100 };
    uint64_t bursts = rgi_scale(100000) / BURST, submits;
    struct rgm_stream near;
    struct attempt attempt;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    attempt = attempt_on(&near, "x", 1);
    attempt.repeats = BURST;
    submits = submits_of_all(spy_of(0));
    for (uint64_t i = 0; i < bursts; i++) {
        stage_do(stage, write_repeatedly, &attempt);
        rgi_check(attempt.allocations == 0);
        drain(peer, BURST);
    }
    rgi_check(submits_of_all(spy_of(0)) == submits);
    rgi_check(spy_of(0)->transfers == bursts * BURST);
    rgi_check(stage_in_flight(stage) == 0);
    end(stage, &near, peer);
}

/* An owned read stands in line at the worker it is of, although nothing can be
 * admitted; a borrowed one that is ready is over by then, and was nowhere. */
void
mbx_08_ready_borrowed_transfer_takes_no_route(struct stage *stage)
{
    struct read_step first = {0}, second = {0};
    struct rgm_stream near, other;
    struct attempt attempt;
    char bytes[3];
    int peer, other_peer;

    stage->options.in_flight_max = 1;
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    other_peer = stage_pair(stage, &other);
    rgm_stream_read(&first.op, &near, &bytes[0], 1);
    rgm_stream_read(&second.op, &near, &bytes[1], 1);
    stage_begin(stage, &first);
    stage_begin(stage, &second);
    rgi_check(spy_of(0)->submits[RGM_OP_READ] == 2); /* both have a provider */
    peer_send(other_peer, "z", 1);
    attempt = attempt_on(&other, &bytes[2], 1);
    while (try_read(stage, &attempt) == -EAGAIN)
        continue;
    rgi_check(attempt.status == 0 && bytes[2] == 'z');
    rgi_check(spy_of(0)->submits[RGM_OP_READ] == 2);
    rgi_check(spy_of(0)->submits[RGM_OP_AWAIT] == 0);
    peer_send(peer, "ab", 2);
    rgi_check(stage_end(stage, &first) == 0);
    rgi_check(stage_end(stage, &second) == 0);
    rgi_check(stage_close_stream(stage, &other) == 0);
    peer_close(other_peer);
    end(stage, &near, peer);
}

/* ----------------------------------------------------------------- readiness */

void
soc_11_readiness_uses_nothing_up(struct stage *stage)
{
    struct await_step accept = {0};
    struct rgm_stream near, fresh = {0};
    struct rgm_await record;
    struct rgm_accept taken;
    bool is_end = true;
    char byte = 0;
    int peer, second;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "1", 1);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    rgi_check(stage_read(stage, &near, &byte, 1, &is_end) == 1 && byte == '1');
    rgi_check(await(stage, &near, RGM_WRITABLE) == 0);
    rgm_socket_await(&record, &near.socket, (enum rgm_moment)3);
    rgi_check(rgm_call(stage->runtime, &record) == -EINVAL);
    rgm_socket_await(&record, &near.socket, (enum rgm_moment)0);
    rgi_check(rgm_call(stage->runtime, &record) == -EINVAL);
    /* A listener is readable when there is a connection, and keeps it. */
    rgm_socket_await(&accept.op, &stage->listener.socket, RGM_READABLE);
    stage_begin(stage, &accept);
    rgi_check(stage_is_out(stage, &accept));
    second = peer_connect(&stage->endpoint);
    rgi_check(stage_end(stage, &accept) == 0);
    rgm_stream_accept(&taken, &stage->listener, &fresh);
    rgi_check(rgm_call(stage->runtime, &taken) == 0);
    peer_close(second);
    rgi_check(await(stage, &fresh, RGM_READABLE) == 0); /* the end */
    rgi_check(stage_read(stage, &fresh, &byte, 1, &is_end) == 0 && is_end);
    rgi_check(stage_close_stream(stage, &fresh) == 0);
    rgi_check(await(stage, &fresh, RGM_READABLE) == -EBADF);
    end(stage, &near, peer);
}

void
transfers_are_made_where_the_handle_is(struct stage *stage)
{
    struct rgm_stream near, closed = {0};
    struct attempt attempt;
    char byte;
    int peer;

    stage->options.workers = 2;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    attempt = attempt_on(&near, &byte, 1);
    stage_do_on(stage, 1, read_now, &attempt);
    rgi_check(attempt.status == -EXDEV);
    stage_do_on(stage, 1, write_now, &attempt);
    rgi_check(attempt.status == -EXDEV);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    rgi_check(try_read(stage, &attempt) == 0 && byte == 'x');
    attempt.stream = &closed;
    rgi_check(try_read(stage, &attempt) == -EBADF);
    attempt.stream = (struct rgm_stream *)(void *)&stage->listener;
    rgi_check(try_read(stage, &attempt) == -EBADF);
    attempt.stream = NULL;
    rgi_check(try_read(stage, &attempt) == -EINVAL);
    end(stage, &near, peer);
}

void
data_end_and_nothing_are_three_answers(struct stage *stage)
{
    struct rgm_stream near;
    struct attempt attempt;
    char bytes[4];
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    attempt = attempt_on(&near, bytes, 4);
    rgi_check(try_read(stage, &attempt) == -EAGAIN);
    attempt = attempt_on(&near, NULL, 0);
    rgi_check(try_read(stage, &attempt) == 0);
    rgi_check(attempt.count == 0 && !attempt.end);
    rgi_check(try_write(stage, &attempt) == 0 && attempt.count == 0);
    peer_send(peer, "ab", 2);
    peer_shutdown(peer);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    attempt = attempt_on(&near, bytes, 4);
    rgi_check(try_read(stage, &attempt) == 0);
    rgi_check(attempt.count == 2 && !attempt.end);
    rgi_check(await(stage, &near, RGM_READABLE) == 0);
    for (int i = 0; i < 2; i++) {
        rgi_check(try_read(stage, &attempt) == 0);
        rgi_check(attempt.count == 0 && attempt.end);
    }
    end(stage, &near, peer);
}

/* ------------------------------------------------------------- the ring's own */

/* Two workers: whoever asks, the wait is one poll on the ring of the handle's
 * worker, each time. */
void
urg_18_borrowed_transfers_wait_by_one_poll(struct stage *stage)
{
    struct rgm_counters before, after;
    struct await_step step = {0};
    struct rgm_stream near;
    struct attempt attempt;
    char byte;
    int peer;

    stage->options.workers = 2;
    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    attempt = attempt_on(&near, &byte, 1);
    before = stage_counters(stage);
    peer_send(peer, "x", 1);
    while (try_read(stage, &attempt) == -EAGAIN)
        continue;
    after = stage_counters(stage);
    rgi_check(after.entries_submitted == before.entries_submitted);
    rgi_check(after.operations == before.operations);
    for (uint32_t i = 0; i < 6; i++) {
        rgi_check(try_read(stage, &attempt) == -EAGAIN);
        before = stage_counters(stage);
        rgm_socket_await(&step.op, &near.socket, RGM_READABLE);
        stage_begin_on(stage, i % 2, &step);
        peer_send(peer, "y", 1);
        rgi_check(stage_end(stage, &step) == 0);
        after = stage_counters(stage);
        rgi_check(after.entries_submitted == before.entries_submitted + 1);
        rgi_check(spy_of(0)->submits[RGM_OP_AWAIT] == i + 1);
        rgi_check(spy_of(1)->submits[RGM_OP_AWAIT] == 0);
        rgi_check(try_read(stage, &attempt) == 0 && byte == 'y');
    }
    end(stage, &near, peer);
}

static void
ask_and_cancel(struct puppet *puppet, void *argument)
{
    struct await_step *step = argument;

    puppet_begin(puppet, step);
    rgm_cancel_request(&puppet->actor, &step->op.request);
}

/* In line, in the kernel, being cancelled: a close is refused until the wait is
 * home, and nothing else of ours is kept. */
void
urg_19_readiness_keeps_only_the_socket(struct stage *stage)
{
    struct await_step step = {0}, blocker = {0};
    struct rgm_stream near, other;
    int peer, other_peer;

    stage->options.in_flight_max = 1;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    other_peer = stage_pair(stage, &other);
    rgm_socket_await(&step.op, &near.socket, RGM_READABLE);
    stage_do(stage, ask_and_cancel, &step);
    rgi_check(stage_end(stage, &step) == -ECANCELED);
    rgi_check(stage_busy(stage, &near) == 0);
    rgm_socket_await(&blocker.op, &other.socket, RGM_READABLE);
    stage_begin(stage, &blocker); /* has the only place */
    stage_begin(stage, &step);    /* in line */
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    rgi_check(stage_close_stream(stage, &other) == -EBUSY);
    stage_cancel(stage, &blocker);
    rgi_check(stage_end(stage, &blocker) == -ECANCELED);
    (void)stage_counters(stage); /* in the kernel by now */
    rgi_check(stage_close_stream(stage, &near) == -EBUSY);
    peer_send(peer, "x", 1);
    rgi_check(stage_end(stage, &step) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    rgi_check(stage_close_stream(stage, &other) == 0);
    peer_close(other_peer);
    peer_close(peer);
    stage_close(stage);
}
