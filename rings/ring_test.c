/* SPDX-License-Identifier: MIT */

/* ring_test.c - does a ring get made, filled, emptied and stopped as ring.h
 * says, also when the kernel is in a bad mood? */

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "base/bell.h"
#include "base/cases.h"
#include "rings/ring.h"

/* ---------------------------------------------------- a kernel that refuses */

/* What the next calls are to do; the rest goes to the real kernel. */
static struct {
    unsigned setup_flags[16]; /* of every setup that was asked for */
    unsigned setup_entries[16];
    unsigned setups;
    unsigned refuse_flags; /* EINVAL if one of them is asked for */
    unsigned refuse_above; /* ENOMEM for more entries; 0: none */
    int refuse_all;        /* this error for every setup; 0: none */
    unsigned refuse_first; /* ENOMEM for so many setups */
    unsigned hide_feature; /* a bit */
    int hide_opcode;       /* -1: none */
    int enter_error;       /* for the next `enter_errors` calls */
    unsigned enter_errors;
    unsigned enters;
    unsigned blocking_enters;
} fake = {.hide_opcode = -1};

static int
fake_setup(unsigned entries, struct io_uring_params *params)
{
    int fd;

    if (fake.setups < 16) {
        fake.setup_flags[fake.setups] = params->flags;
        fake.setup_entries[fake.setups] = entries;
    }
    fake.setups++;
    if (fake.refuse_all != 0)
        return fake.refuse_all;
    if (params->flags & fake.refuse_flags)
        return -EINVAL;
    if (fake.setups <= fake.refuse_first)
        return -ENOMEM;
    if (fake.refuse_above != 0 && entries > fake.refuse_above)
        return -ENOMEM;
    fd = rgi_ring_kernel.setup(entries, params);
    params->features &= ~fake.hide_feature;
    return fd;
}

static int
fake_enter(unsigned fd, unsigned to_submit, unsigned min_complete,
           unsigned flags, void *argument, size_t argument_bytes)
{
    fake.enters++;
    fake.blocking_enters += min_complete > 0;
    if (fake.enter_errors > 0) {
        fake.enter_errors--;
        return fake.enter_error;
    }
    return rgi_ring_kernel.enter(fd, to_submit, min_complete, flags, argument,
                                 argument_bytes);
}

static int
fake_enroll(unsigned fd, unsigned opcode, void *argument, unsigned count)
{
    int status = rgi_ring_kernel.enroll(fd, opcode, argument, count);

    if (opcode == IORING_REGISTER_PROBE && fake.hide_opcode >= 0)
        ((struct io_uring_probe *)argument)->ops[fake.hide_opcode].flags = 0;
    return status;
}

static const struct rgi_ring_calls fake_calls = {fake_setup, fake_enter,
                                                 fake_enroll};

static char why[512];

static int
try_open(struct rgi_ring *ring, const struct rgi_ring_options *options)
{
    struct rgi_ring_options with = *options;

    with.calls = &fake_calls;
    fake.setups = 0;
    fake.enters = 0;
    why[0] = '\0';
    return rgi_ring_open(&with, ring, why, sizeof(why));
}

static void
open_ring(struct rgi_ring *ring, unsigned entries)
{
    struct rgi_ring_options options = {.entries = entries};

    if (try_open(ring, &options) < 0) {
        fprintf(stderr, "ring: %s\n", why);
        abort();
    }
}

/* --------------------------------------------------------------- beginning */

static void
urg_01_what_is_missing_is_named(void)
{
    static const struct {
        unsigned feature;
        int opcode;
        const char *name;
    } needs[] = {
        {IORING_FEAT_SINGLE_MMAP, -1, "SINGLE_MMAP"},
        {IORING_FEAT_NODROP, -1, "NODROP"},
        {IORING_FEAT_SUBMIT_STABLE, -1, "SUBMIT_STABLE"},
        {IORING_FEAT_FAST_POLL, -1, "FAST_POLL"},
        {IORING_FEAT_EXT_ARG, -1, "EXT_ARG"},
        {0, IORING_OP_READ, "read"},
        {0, IORING_OP_WRITE, "write"},
        {0, IORING_OP_RECV, "receive"},
        {0, IORING_OP_SEND, "send"},
        {0, IORING_OP_RECVMSG, "message receive"},
        {0, IORING_OP_SENDMSG, "message send"},
        {0, IORING_OP_ACCEPT, "accept"},
        {0, IORING_OP_CONNECT, "connect"},
        {0, IORING_OP_CLOSE, "close"},
        {0, IORING_OP_POLL_ADD, "poll"},
        {0, IORING_OP_TIMEOUT, "timeout"},
        {0, IORING_OP_ASYNC_CANCEL, "cancel"},
    };
    struct rgi_ring_options options = {.entries = 8};
    struct rgi_ring ring;

    for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
        fake.hide_feature = needs[i].feature;
        fake.hide_opcode = needs[i].opcode;
        rgi_check(try_open(&ring, &options) == -ENOTSUP);
        rgi_check(strstr(why, needs[i].name) != NULL);
        rgi_check(strstr(why, "Linux 6.1") != NULL);
    }
    fake.hide_feature = 0;
    fake.hide_opcode = -1;
    rgi_check(try_open(&ring, &options) == 0);
    rgi_ring_close(&ring);
}

static void
ladder_step(unsigned refuse, enum rgi_ring_mode mode, unsigned flags)
{
    struct rgi_ring_options options = {.entries = 8};
    unsigned always =
        IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP | IORING_SETUP_CQSIZE;
    struct rgi_ring ring;

    fake.refuse_flags = refuse;
    rgi_check(try_open(&ring, &options) == 0);
    rgi_check(ring.mode == mode);
    rgi_check(fake.setups == (unsigned)mode + 1);
    rgi_check(fake.setup_flags[mode] == (flags | always));
    rgi_check(ring.uring.cq.ring_entries == 4 * ring.uring.sq.ring_entries);
    rgi_ring_close(&ring);
    fake.refuse_flags = 0;
}

static void
urg_02_ladder(void)
{
    ladder_step(0, RGI_RING_DEFER,
                IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
                    IORING_SETUP_TASKRUN_FLAG);
    ladder_step(IORING_SETUP_DEFER_TASKRUN, RGI_RING_COOP,
                IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG);
    ladder_step(IORING_SETUP_TASKRUN_FLAG, RGI_RING_PLAIN, 0);
}

static void
urg_04_strict_refuses_weaker_rings(void)
{
    struct rgi_ring_options options = {.entries = 8, .strict = true};
    struct rgi_ring ring;

    fake.refuse_flags = IORING_SETUP_SINGLE_ISSUER;
    rgi_check(try_open(&ring, &options) == -EINVAL);
    rgi_check(fake.setups == 1);
    rgi_check(strstr(why, "Linux 6.1") != NULL);
    fake.refuse_flags = IORING_SETUP_DEFER_TASKRUN;
    rgi_check(try_open(&ring, &options) == -EINVAL);
    fake.refuse_flags = 0;
    rgi_check(try_open(&ring, &options) == 0);
    rgi_check(ring.mode == RGI_RING_DEFER);
    rgi_ring_close(&ring);
}

static void
mode_can_be_forced(void)
{
    struct rgi_ring_options options = {.entries = 8};
    struct rgi_ring ring;

    for (int mode = 0; mode < RGI_RING_MODES; mode++) {
        options.mode = rgi_ring_mode_name((enum rgi_ring_mode)mode);
        rgi_check(try_open(&ring, &options) == 0);
        rgi_check(ring.mode == (enum rgi_ring_mode)mode);
        rgi_check(fake.setups == 1);
        rgi_ring_close(&ring);
    }
    options.mode = "sideways";
    rgi_check(try_open(&ring, &options) == -EINVAL);
    rgi_check(strstr(why, "sideways") != NULL);
    rgi_check(fake.setups == 0);
}

static void
refusals_say_what_to_do(void)
{
    static const struct {
        int error;
        const char *words[3];
    } refusals[] = {
        {-EPERM, {"seccomp", "kernel.io_uring_disabled", "`epoll`"}},
        {-EACCES, {"seccomp", "kernel.io_uring_disabled", "`epoll`"}},
        {-ENOSYS, {"no io_uring", "seccomp", "`epoll`"}},
        {-EMFILE, {"open files", "", ""}},
        {-EINVAL, {"Linux 6.1", "", ""}},
    };
    struct rgi_ring_options options = {.entries = 8};
    struct rgi_ring ring;

    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        fake.refuse_all = refusals[i].error;
        rgi_check(try_open(&ring, &options) == refusals[i].error);
        for (int word = 0; word < 3; word++)
            rgi_check(strstr(why, refusals[i].words[word]) != NULL);
    }
    fake.refuse_all = 0;
}

static void
lack_of_memory_waits_then_halves(void)
{
    struct rgi_ring_options options = {.entries = 1024};
    struct rgi_ring ring;

    fake.refuse_first = 3; /* what others gave back is not free at once */
    rgi_check(try_open(&ring, &options) == 0);
    rgi_check(fake.setups == 4);
    rgi_check(ring.uring.sq.ring_entries == 1024);
    rgi_ring_close(&ring);

    fake.refuse_first = 0;
    fake.refuse_above = 64;
    rgi_check(try_open(&ring, &options) == 0);
    rgi_check(ring.uring.sq.ring_entries == 64);
    rgi_check(ring.uring.cq.ring_entries == 256);
    rgi_ring_close(&ring);

    fake.refuse_above = 32;
    rgi_check(try_open(&ring, &options) == -ENOMEM);
    rgi_check(strstr(why, "RLIMIT_MEMLOCK") != NULL);
    rgi_check(strstr(why, "64 entries") != NULL);
    fake.refuse_above = 0;
}

/* So many that their completions would be none: nothing of it is this kernel's
 * fault. */
static void
more_entries_than_there_can_be_are_as_many_as_can_be(void)
{
    static const uint32_t counts[] = {32769, UINT32_C(1) << 30,
                                      UINT32_C(1) << 31, UINT32_MAX};
    struct rgi_ring_options options = {.entries = 0};
    struct rgi_ring ring;

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        options.entries = counts[i];
        fake.refuse_above = 64;
        rgi_check(try_open(&ring, &options) == 0);
        rgi_check(ring.uring.sq.ring_entries == 64);
        rgi_check(ring.uring.cq.ring_entries == 256);
        rgi_ring_close(&ring);
    }
    fake.refuse_above = 0;
}

static void
default_ring_is_small(void)
{
    struct rgi_ring_options options = {.entries = 0};
    struct rgi_ring ring;
    size_t bytes;

    rgi_check(try_open(&ring, &options) == 0);
    bytes = ring.queues_bytes + ring.entries_bytes;
    rgi_check(bytes < 64 * 1024);
    rgi_ring_close(&ring);
}

/* -------------------------------------------------------------- identities */

static void
urg_15_identities(void)
{
    static uint64_t record[2];
    uintptr_t high = (UINT64_C(1) << RGI_IDENTITY_ADDRESS_BITS) - 16;

    rgi_check(rgi_identity_fits(record));
    rgi_check(rgi_identity_fits((void *)high));
    rgi_check(!rgi_identity_fits((void *)(high + 32)));
    rgi_check(!rgi_identity_fits((char *)record + 1));
    for (uint32_t serial = 0; serial < 200000; serial += 7) {
        uint64_t identity = rgi_identity_of(record, serial);

        rgi_check(rgi_identity_record(identity) == record);
        rgi_check((identity & RGI_IDENTITY_CANCEL) == 0);
        rgi_check((identity & RGI_IDENTITY_MONITOR) == 0);
        rgi_check(rgi_identity_record(identity | RGI_IDENTITY_CANCEL) ==
                  record);
        rgi_check(identity != rgi_identity_of(record, serial + 1));
    }
    rgi_check(rgi_identity_record(rgi_identity_of((void *)high, 1)) ==
              (void *)high);
    rgi_check(RGI_IDENTITY_BELL & RGI_IDENTITY_MONITOR);
}

/* ------------------------------------------------------- filling, emptying */

static uint64_t
name(uint64_t number)
{
    return number << 3;
}

static void
nop(struct rgi_ring *ring, uint64_t number)
{
    struct io_uring_sqe *entry = rgi_ring_entry(ring, name(number));

    rgi_check(entry != NULL);
    entry->opcode = IORING_OP_NOP;
}

/* Enters and reaps until `count` completions, each name once, have come. */
static void
collect(struct rgi_ring *ring, unsigned count)
{
    unsigned char *seen = calloc(count, 1);
    struct rgi_completion some[7];
    unsigned got = 0;

    rgi_check(seen != NULL);
    while (got < count) {
        unsigned more;

        rgi_check(rgi_ring_enter(ring, !rgi_ring_has_completions(ring),
                                 10 * RGM_NS_PER_S) == 0);
        while ((more = rgi_ring_reap(ring, some, 7)) > 0) {
            for (unsigned i = 0; i < more; i++)
                rgi_check(seen[some[i].identity >> 3]++ == 0);
            got += more;
        }
    }
    rgi_check(got == count);
    free(seen);
}

static void
entries_are_clean_and_named(void)
{
    static const char zero[64];
    struct rgi_completion completion;
    struct rgi_ring ring;

    open_ring(&ring, 4);
    for (uint64_t i = 1; i < 20; i++) {
        struct io_uring_sqe *entry = rgi_ring_entry(&ring, name(i));
        struct io_uring_sqe copy = *entry;

        rgi_check(entry->user_data == name(i));
        copy.user_data = 0;
        rgi_check(memcmp(&copy, zero, sizeof(zero)) == 0);
        memset(entry, 0xff, sizeof(*entry)); /* for who comes next */
        memset(entry, 0, offsetof(struct io_uring_sqe, user_data));
        entry->user_data = name(i);
        rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == 0);
        rgi_check(rgi_ring_reap(&ring, &completion, 1) == 1);
        rgi_check(completion.identity == name(i));
    }
    rgi_ring_close(&ring);
}

static void
full_queue_is_submitted_first(void)
{
    unsigned count = 1000;
    struct rgi_ring ring;

    open_ring(&ring, 8);
    for (unsigned i = 0; i < count; i++)
        nop(&ring, i);
    collect(&ring, count);
    rgi_check(ring.entries_submitted == count);
    rgi_check(rgi_ring_pending(&ring) == 0);
    rgi_ring_close(&ring);
}

/* Two completions per entry fit: the rest goes through the overflow list. */
static void
urg_11_overflow_loses_nothing(void)
{
    for (int mode = 0; mode < RGI_RING_MODES; mode++) {
        struct rgi_ring_options options = {
            .entries = 2, .mode = rgi_ring_mode_name((enum rgi_ring_mode)mode)};
        unsigned count = 1000;
        struct rgi_ring ring;

        rgi_check(try_open(&ring, &options) == 0);
        for (unsigned i = 0; i < count; i++)
            nop(&ring, i);
        rgi_check(rgi_ring_enter(&ring, false, 0) == 0);
        rgi_check(rgi_ring_beckons(&ring)); /* CQ_OVERFLOW */
        collect(&ring, count);
        rgi_check(ring.overflows > 0);
        rgi_ring_close(&ring);
    }
}

static void
submit_poll(struct rgi_ring *ring, int fd, uint64_t number)
{
    struct io_uring_sqe *entry = rgi_ring_entry(ring, name(number));

    rgi_check(entry != NULL);
    rgi_ring_poll(entry, fd, POLLIN);
}

/* Many requests become ready at once on a small ring. One enter does not bring
 * them all, in the weaker modes they overflow, and none may stay behind. */
static void
field_b53_no_silent_completions(void)
{
    unsigned count = (unsigned)rgi_scale(100000);

    for (int mode = 0; mode < RGI_RING_MODES; mode++) {
        struct rgi_ring_options options = {
            .entries = 16,
            .mode = rgi_ring_mode_name((enum rgi_ring_mode)mode)};
        struct rgi_ring ring;
        int bell;

        rgi_check(try_open(&ring, &options) == 0);
        rgi_check(rgi_bell_open(&bell) == 0);
        for (unsigned i = 0; i < count; i++)
            submit_poll(&ring, bell, i);
        rgi_check(rgi_ring_enter(&ring, false, 0) == 0);
        rgi_check(!rgi_ring_has_completions(&ring));
        rgi_bell_ring((void *)(intptr_t)bell);
        collect(&ring, count);
        rgi_check(mode == RGI_RING_DEFER || ring.overflows > 0);
        rgi_ring_close(&ring);
        rgi_bell_close(bell);
    }
}

/* A kernel in memory whose queues start just before their numbers wrap. */
static struct {
    unsigned sq_head, sq_tail, sq_flags, cq_head, cq_tail;
    unsigned array[8];
    struct io_uring_sqe sqes[8];
    uint64_t taken; /* entries so far, and the name the next one must have */
} wrapping;

static int
wrapping_enter(unsigned fd, unsigned to_submit, unsigned min_complete,
               unsigned flags, void *argument, size_t argument_bytes)
{
    (void)fd;
    (void)min_complete;
    (void)argument;
    (void)argument_bytes;
    rgi_check(flags & IORING_ENTER_GETEVENTS);
    rgi_check(to_submit == wrapping.sq_tail - wrapping.sq_head);
    for (unsigned i = 0; i < to_submit; i++) {
        unsigned place = wrapping.array[wrapping.sq_head & 7];

        rgi_check(wrapping.sqes[place].user_data == name(wrapping.taken));
        wrapping.taken++;
        wrapping.sq_head++;
    }
    return (int)to_submit;
}

static void
field_b55_full_and_wrapping(void)
{
    static const struct rgi_ring_calls calls = {NULL, wrapping_enter, NULL};
    struct rgi_ring ring = {
        .calls = &calls, .owner = thrd_current(), .outside = -1};
    unsigned start = UINT32_MAX - 20;

    wrapping.sq_head = wrapping.sq_tail = start;
    ring.enter_flags = IORING_ENTER_GETEVENTS;
    ring.uring.sq = (struct io_uring_sq){.khead = &wrapping.sq_head,
                                         .ktail = &wrapping.sq_tail,
                                         .kflags = &wrapping.sq_flags,
                                         .array = wrapping.array,
                                         .sqes = wrapping.sqes,
                                         .sqe_head = start,
                                         .sqe_tail = start,
                                         .ring_mask = 7,
                                         .ring_entries = 8};
    ring.uring.cq = (struct io_uring_cq){.khead = &wrapping.cq_head,
                                         .ktail = &wrapping.cq_tail};
    for (unsigned i = 0; i < 8; i++)
        wrapping.array[i] = i;
    for (uint64_t i = 0; i < 100; i++) {
        nop(&ring, i);
        rgi_check(rgi_ring_pending(&ring) <= 8);
        if (i % 13 == 0)
            rgi_check(rgi_ring_enter(&ring, false, 0) == 0);
    }
    rgi_check(rgi_ring_enter(&ring, false, 0) == 0);
    rgi_check(wrapping.taken == 100 && ring.entries_submitted == 100);
    rgi_check(wrapping.sq_head < start); /* it has wrapped */
}

/* ------------------------------------------------------------------ errors */

static void
urg_30_which_errors_end_a_ring(void)
{
    static const int passing[] = {-EINTR, -EAGAIN, -EBUSY, -ETIME};
    static const int final[] = {-EBADF, -EINVAL, -EBADR, -EFAULT};
    struct rgi_ring ring;

    open_ring(&ring, 8);
    for (unsigned i = 0; i < 4; i++) {
        fake.enter_error = passing[i];
        fake.enter_errors = 1;
        nop(&ring, i);
        rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == 0);
        rgi_check(!rgi_ring_has_completions(&ring));
    }
    collect(&ring, 4);
    for (unsigned i = 0; i < 4; i++) {
        fake.enter_error = final[i];
        fake.enter_errors = 1;
        rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == final[i]);
    }
    rgi_ring_close(&ring);
}

/* A kernel that takes nothing is waited for, not asked without end. */
static void
refused_ring_does_not_spin(void)
{
    struct timespec before;
    struct timespec after;
    struct rgi_ring ring;
    long passed_ms;

    open_ring(&ring, 8);
    nop(&ring, 0);
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < 20; i++) {
        fake.enter_error = -EAGAIN;
        fake.enter_errors = 1;
        rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == 0);
        fake.enter_errors = 0;
        rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == 0);
    }
    clock_gettime(CLOCK_MONOTONIC, &after);
    passed_ms = (after.tv_sec - before.tv_sec) * 1000 +
                (after.tv_nsec - before.tv_nsec) / 1000000;
    rgi_check(passed_ms >= 19);
    rgi_check(rgi_ring_pending(&ring) == 1);
    collect(&ring, 1);
    rgi_ring_close(&ring);
}

static void *
enter_elsewhere(void *ring)
{
    rgi_check(rgi_ring_enter(ring, false, 0) == -EPERM);
    return NULL;
}

static void
field_b64_ring_of_another_thread(void)
{
    struct rgi_ring ring;
    pthread_t thread;

    open_ring(&ring, 8);
    nop(&ring, 0);
    rgi_check(pthread_create(&thread, NULL, enter_elsewhere, &ring) == 0);
    rgi_check(pthread_join(thread, NULL) == 0);
    collect(&ring, 1);
    rgi_ring_close(&ring);
}

/* ----------------------------------------------------------------- cancels */

static void
submit_timeout(struct rgi_ring *ring, uint64_t number)
{
    static const struct __kernel_timespec hour = {3600, 0};
    struct io_uring_sqe *entry = rgi_ring_entry(ring, name(number));

    rgi_check(entry != NULL);
    entry->opcode = IORING_OP_TIMEOUT;
    entry->fd = -1;
    entry->addr = (uint64_t)(uintptr_t)&hour;
    entry->len = 1;
}

/* Every target once, with -ECANCELED; every cancel once. */
static void
urg_27_burst_of_cancels(void)
{
    unsigned count = 1000;
    unsigned targets = 0;
    unsigned cancels = 0;
    struct rgi_completion some[16];
    struct rgi_ring ring;
    unsigned got;

    open_ring(&ring, 8);
    for (unsigned i = 0; i < count; i++)
        submit_timeout(&ring, i);
    for (unsigned i = 0; i < count; i++)
        rgi_check(rgi_ring_cancel(&ring, name(i)));
    while (targets + cancels < 2 * count) {
        rgi_check(rgi_ring_enter(&ring, !rgi_ring_has_completions(&ring),
                                 10 * RGM_NS_PER_S) == 0);
        got = rgi_ring_reap(&ring, some, 16);
        rgi_check(got > 0);
        for (unsigned i = 0; i < got; i++) {
            if (some[i].identity & RGI_IDENTITY_CANCEL) {
                rgi_check(some[i].result == 0);
                cancels++;
            } else {
                rgi_check(some[i].result == -ECANCELED);
                targets++;
            }
        }
    }
    rgi_check(targets == count && cancels == count);
    rgi_ring_close(&ring);
}

static void
cancel_finds_nothing(void)
{
    struct rgi_completion completion;
    struct rgi_ring ring;

    open_ring(&ring, 8);
    rgi_check(rgi_ring_cancel(&ring, name(1)));
    rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == 0);
    rgi_check(rgi_ring_reap(&ring, &completion, 1) == 1);
    rgi_check(completion.identity == (name(1) | RGI_IDENTITY_CANCEL));
    rgi_check(completion.result == -ENOENT);
    rgi_ring_close(&ring);
}

/* -------------------------------------------------------------------- bell */

static unsigned
hear(struct rgi_ring *ring, uint64_t timeout_ns)
{
    struct rgi_completion some[8];
    unsigned heard = 0;
    unsigned got;

    rgi_check(rgi_ring_enter(ring, true, timeout_ns) == 0);
    while ((got = rgi_ring_reap(ring, some, 8)) > 0)
        for (unsigned i = 0; i < got; i++) {
            rgi_check(some[i].identity == RGI_IDENTITY_BELL);
            rgi_check(some[i].flags & IORING_CQE_F_MORE);
            heard++;
        }
    return heard;
}

/* The watch is one entry, holds the descriptor only, and is never read. */
static void
urg_06_bell_is_one_poll(void)
{
    struct rgi_ring ring;
    uint64_t rung;
    int bell;

    open_ring(&ring, 8);
    rgi_check(rgi_bell_open(&bell) == 0);
    rgi_check(rgi_ring_watch(&ring, bell, RGI_IDENTITY_BELL));
    for (int i = 0; i < 100; i++) {
        rgi_bell_ring((void *)(intptr_t)bell);
        rgi_check(hear(&ring, RGM_NEVER) >= 1);
    }
    rgi_check(ring.entries_submitted == 1);
    rgi_check(read(bell, &rung, sizeof(rung)) == sizeof(rung) && rung == 100);
    rgi_ring_close(&ring); /* the poll is pending */
    rgi_bell_close(bell);
}

static void *
ring_many_times(void *argument)
{
    for (uint64_t i = rgi_scale(1000000); i > 0; i--)
        rgi_bell_ring(argument);
    return NULL;
}

/* Faster than they are heard; after the last one there is at least one more
 * wake, also when the counter is full. */
static void
field_b11_bell_counter(void)
{
    uint64_t nearly_full = UINT64_MAX - 1;
    struct rgi_ring ring;
    pthread_t ringer;
    int bell;

    open_ring(&ring, 8);
    rgi_check(rgi_bell_open(&bell) == 0);
    rgi_check(rgi_ring_watch(&ring, bell, RGI_IDENTITY_BELL));
    rgi_check(write(bell, &nearly_full, 8) == 8);
    rgi_check(hear(&ring, RGM_NEVER) >= 1);
    for (int i = 0; i < 3; i++) {
        rgi_bell_ring((void *)(intptr_t)bell);
        rgi_check(hear(&ring, RGM_NEVER) >= 1);
    }
    rgi_check(pthread_create(&ringer, NULL, ring_many_times,
                             (void *)(intptr_t)bell) == 0);
    for (int i = 0; i < 100; i++)
        (void)hear(&ring, RGM_NS_PER_MS);
    rgi_check(pthread_join(ringer, NULL) == 0);
    while (hear(&ring, RGM_NS_PER_MS) > 0)
        ;
    rgi_bell_ring((void *)(intptr_t)bell);
    rgi_check(hear(&ring, RGM_NEVER) >= 1);
    rgi_ring_close(&ring);
    rgi_bell_close(bell);
}

/* ------------------------------------------------------------------- sleep */

static uint64_t
now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* A long wait that ended early leaves nothing behind that ends another one. */
static void
field_b65_waits_leave_nothing_behind(void)
{
    struct rgi_completion completion;
    struct rgi_ring ring;

    open_ring(&ring, 8);
    for (uint64_t i = 0; i < 50; i++) {
        uint64_t before_ns;

        nop(&ring, i);
        rgi_check(rgi_ring_enter(&ring, true, 10 * RGM_NS_PER_S) == 0);
        rgi_check(rgi_ring_reap(&ring, &completion, 1) == 1);
        rgi_check(completion.identity == name(i));
        before_ns = now_ns();
        rgi_check(rgi_ring_enter(&ring, true, RGM_NS_PER_MS) == 0);
        rgi_check(now_ns() - before_ns >= RGM_NS_PER_MS);
        rgi_check(rgi_ring_reap(&ring, &completion, 1) == 0);
    }
    rgi_ring_close(&ring);
}

/* In every mode: a time that is over, a bell that somebody else rings while it
 * sleeps, and a pause whose end is work that only an enter brings forward. */
static void *
ring_later(void *bell)
{
    const struct timespec a_while = {0, 2000000};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &a_while, NULL);
    rgi_bell_ring((void *)(intptr_t) * (int *)bell);
    return NULL;
}

static void
ring_that_sleeps_outside_never_blocks_inside(void)
{
    static const char *const modes[] = {"defer", "coop", "plain"};
    struct rgi_completion seen[4];
    struct io_uring_sqe *entry;
    struct rgi_ring ring;
    pthread_t thread;
    int bell;

    fake.blocking_enters = 0;
    for (int i = 0; i < 3; i++) {
        struct rgi_ring_options options = {
            .mode = modes[i], .sleeps_outside = true, .calls = &fake_calls};

        rgi_check(rgi_bell_open(&bell) == 0);
        rgi_check(try_open(&ring, &options) == 0);
        rgi_check(ring.outside >= 0);
        rgi_check(rgi_ring_watch(&ring, bell, 1));
        rgi_check(rgi_ring_enter(&ring, true, RGM_NS_PER_MS) == 0);
        rgi_check(!rgi_ring_has_completions(&ring));
        for (int rings = 0; rings < 5; rings++) {
            rgi_check(pthread_create(&thread, NULL, ring_later, &bell) == 0);
            while (!rgi_ring_has_completions(&ring))
                rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == 0);
            rgi_check(rgi_ring_reap(&ring, seen, 4) == 1);
            rgi_check(seen[0].identity == 1);
            rgi_check(pthread_join(thread, NULL) == 0);
        }
        entry = rgi_ring_entry(&ring, 2);
        rgi_check(entry != NULL);
        rgi_ring_pause(entry);
        while (!rgi_ring_has_completions(&ring))
            rgi_check(rgi_ring_enter(&ring, true, RGM_NEVER) == 0);
        rgi_check(rgi_ring_reap(&ring, seen, 4) == 1 && seen[0].identity == 2);
        rgi_check(seen[0].result == -ETIME);
        rgi_ring_close(&ring);
        rgi_bell_close(bell);
    }
    rgi_check(fake.enters > 0 && fake.blocking_enters == 0);
}

static void
field_b13_first_sleep_of_a_ring(void)
{
    static const uint64_t sleeps_ns[] = {RGM_NS_PER_MS, 1000, 1, 0};

    for (unsigned i = 0; i < 4; i++) {
        uint64_t before_ns;
        struct rgi_ring ring;

        open_ring(&ring, 8);
        before_ns = now_ns();
        rgi_check(rgi_ring_enter(&ring, true, sleeps_ns[i]) == 0);
        rgi_check(now_ns() - before_ns >= sleeps_ns[i]);
        rgi_check(now_ns() - before_ns < 30 * RGM_NS_PER_S);
        rgi_ring_close(&ring);
    }
}

#define CASES(X)                                                               \
    X(rings, urg_01_what_is_missing_is_named)                                  \
    X(rings, urg_02_ladder)                                                    \
    X(rings, urg_04_strict_refuses_weaker_rings)                               \
    X(rings, mode_can_be_forced)                                               \
    X(rings, refusals_say_what_to_do)                                          \
    X(rings, lack_of_memory_waits_then_halves)                                 \
    X(rings, more_entries_than_there_can_be_are_as_many_as_can_be)             \
    X(rings, default_ring_is_small)                                            \
    X(rings, urg_15_identities)                                                \
    X(rings, entries_are_clean_and_named)                                      \
    X(rings, full_queue_is_submitted_first)                                    \
    X(rings, urg_11_overflow_loses_nothing)                                    \
    X(rings, field_b53_no_silent_completions)                                  \
    X(rings, field_b55_full_and_wrapping)                                      \
    X(rings, urg_30_which_errors_end_a_ring)                                   \
    X(rings, refused_ring_does_not_spin)                                       \
    X(rings, field_b64_ring_of_another_thread)                                 \
    X(rings, urg_27_burst_of_cancels)                                          \
    X(rings, cancel_finds_nothing)                                             \
    X(rings, urg_06_bell_is_one_poll)                                          \
    X(rings, field_b11_bell_counter)                                           \
    X(rings, field_b65_waits_leave_nothing_behind)                             \
    X(rings, ring_that_sleeps_outside_never_blocks_inside)                     \
    X(rings, field_b13_first_sleep_of_a_ring)

RGI_CASES(CASES)
