/* SPDX-License-Identifier: MIT */

/*
 * ring.c - how is a ring made, and what does it say when it cannot be?
 *
 * 1. Walk down the ladder: deferred, cooperative, plain. EINVAL means that the
 *    kernel does not know a flag of this rung; anything else ends the walk.
 * 2. ENOMEM means locked memory. What other rings of this user gave back comes
 *    free some milliseconds later, so wait a little, then ask for half.
 * 3. Map the queues, see that nothing needed is missing, and put the ring into
 *    the thread's table, which saves a look-up per enter.
 *
 * No kernel thread polls for us and no ring is set up here for another thread:
 * the thread that opens it owns it.
 */

#include "rings/ring.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Newer than liburing 2.3's header. */
#define FEATURE_NO_IOWAIT (1u << 17)
#define ENTER_NO_IOWAIT (1u << 7)

#define MEMORY_PAUSE_NS (4 * RGM_NS_PER_MS)
#define MEMORY_TRIES 12

/* Of each of the two kinds that io_uring knows, for the owner's thread. */
#define KERNEL_THREADS_MAX 4

/* As many opcodes as a probe can report. */
#define PROBE_OPCODES 256

/* ------------------------------------------------------------ the kernel */

static int
kernel_setup(unsigned entries, struct io_uring_params *params)
{
    return io_uring_setup(entries, params);
}

static int
kernel_enter(unsigned fd, unsigned to_submit, unsigned min_complete,
             unsigned flags, void *argument, size_t argument_bytes)
{
    return io_uring_enter2(fd, to_submit, min_complete, flags, argument,
                           argument_bytes);
}

static int
kernel_enroll(unsigned fd, unsigned opcode, void *argument, unsigned count)
{
    return io_uring_register(fd, opcode, argument, count);
}

const struct rgi_ring_calls rgi_ring_kernel = {kernel_setup, kernel_enter,
                                               kernel_enroll};

/* ------------------------------------------------------------ the ladder */

static const struct rung {
    const char *name;
    unsigned flags;
} ladder[RGI_RING_MODES] = {
    [RGI_RING_DEFER] = {"defer", IORING_SETUP_SINGLE_ISSUER |
                                     IORING_SETUP_DEFER_TASKRUN |
                                     IORING_SETUP_TASKRUN_FLAG},
    [RGI_RING_COOP] = {"coop",
                       IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG},
    [RGI_RING_PLAIN] = {"plain", 0},
};

const char *
rgi_ring_mode_name(enum rgi_ring_mode mode)
{
    return ladder[mode].name;
}

static void
pause_a_little(void)
{
    struct timespec pause = {0, (long)MEMORY_PAUSE_NS};

    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

static int
set_up_once(const struct rgi_ring_calls *calls, unsigned flags,
            unsigned entries, struct io_uring_params *ret_params)
{
    memset(ret_params, 0, sizeof(*ret_params));
    ret_params->flags = flags | IORING_SETUP_SUBMIT_ALL | IORING_SETUP_CLAMP |
                        IORING_SETUP_CQSIZE;
    ret_params->cq_entries = entries * RGI_RING_COMPLETIONS_PER_ENTRY;
    return calls->setup(entries, ret_params);
}

/* The same, as small as memory makes it. */
static int
set_up(const struct rgi_ring_calls *calls, unsigned flags, unsigned entries,
       struct io_uring_params *ret_params)
{
    int fd = set_up_once(calls, flags, entries, ret_params);

    for (int i = 0; fd == -ENOMEM && i < MEMORY_TRIES; i++) {
        pause_a_little();
        fd = set_up_once(calls, flags, entries, ret_params);
    }
    while (fd == -ENOMEM && entries / 2 >= RGI_RING_ENTRIES_LEAST) {
        entries /= 2;
        fd = set_up_once(calls, flags, entries, ret_params);
    }
    return fd;
}

static bool
rung_is_wanted(const struct rgi_ring_options *options, enum rgi_ring_mode mode)
{
    if (options->strict && mode != RGI_RING_DEFER)
        return false;
    return options->mode == NULL ||
           strcmp(options->mode, ladder[mode].name) == 0;
}

static int
climb_down(const struct rgi_ring_options *options, struct rgi_ring *ring,
           struct io_uring_params *ret_params)
{
    unsigned entries =
        options->entries != 0 ? options->entries : RGI_RING_ENTRIES;
    int fd = -EINVAL;

    if (entries > RGI_RING_ENTRIES_MOST)
        entries = RGI_RING_ENTRIES_MOST; /* completions are counted in 32 bits */
    for (int mode = 0; fd == -EINVAL && mode < RGI_RING_MODES; mode++) {
        if (!rung_is_wanted(options, (enum rgi_ring_mode)mode))
            continue;
        ring->mode = (enum rgi_ring_mode)mode;
        fd = set_up(ring->calls, ladder[mode].flags, entries, ret_params);
    }
    return fd;
}

/* ----------------------------------------------------------- explanations */

/* kernel.io_uring_disabled, or -1 where there is none. */
static int
disabled_sysctl(void)
{
    FILE *file = fopen("/proc/sys/kernel/io_uring_disabled", "re");
    int value = -1;

    if (file == NULL)
        return -1;
    if (fscanf(file, "%d", &value) != 1)
        value = -1;
    fclose(file);
    return value;
}

static void
explain_memory(char *why, size_t why_size)
{
    struct rlimit limit = {0, 0};

    (void)getrlimit(RLIMIT_MEMLOCK, &limit);
    snprintf(why, why_size,
             "no locked memory left for a ring of %u entries: RLIMIT_MEMLOCK "
             "is %llu KiB for all processes of this user; raise it (ulimit -l, "
             "LimitMEMLOCK=) or run fewer workers",
             RGI_RING_ENTRIES_LEAST, (unsigned long long)limit.rlim_cur / 1024);
}

static void
explain_mode(const struct rgi_ring_options *options, char *why, size_t why_size)
{
    if (options->mode != NULL)
        snprintf(why, why_size,
                 "RGM_RING_MODE=%s: this kernel has no such ring; it is one of "
                 "defer, coop, plain, and strict allows defer only",
                 options->mode);
    else if (options->strict)
        snprintf(why, why_size,
                 "this kernel has no ring with a single issuer and deferred "
                 "task work; `strict` needs Linux 6.1");
    else
        snprintf(why, why_size,
                 "io_uring refuses every way of setting a ring up; ringmail "
                 "needs Linux 6.1");
}

static void
explain(const struct rgi_ring_options *options, int status, char *why,
        size_t why_size)
{
    const char *advice = "; use the `epoll` or `threads` provider, or allow it";

    switch (status) {
    case -EPERM:
    case -EACCES:
        snprintf(why, why_size,
                 "io_uring is forbidden here (%s): a container's seccomp "
                 "profile, a security module, or the sysctl "
                 "kernel.io_uring_disabled, which is %d%s",
                 strerror(-status), disabled_sysctl(), advice);
        break;
    case -ENOSYS:
        snprintf(why, why_size,
                 "this kernel or sandbox has no io_uring (%s): it may hide "
                 "behind a seccomp profile%s",
                 strerror(-status), advice);
        break;
    case -ENOMEM:
        explain_memory(why, why_size);
        break;
    case -EINVAL:
        explain_mode(options, why, why_size);
        break;
    default:
        snprintf(why, why_size, "io_uring cannot be set up: %s",
                 strerror(-status));
    }
}

/* ---------------------------------------------------------- open and close */

static int
check_probe(struct rgi_ring *ring, int fd, unsigned features, char *why,
            size_t why_size)
{
    _Alignas(struct io_uring_probe) unsigned char
        room[sizeof(struct io_uring_probe) +
             PROBE_OPCODES * sizeof(struct io_uring_probe_op)] = {0};
    struct io_uring_probe *probe = (void *)room;
    int status = ring->calls->enroll((unsigned)fd, IORING_REGISTER_PROBE, probe,
                                     PROBE_OPCODES);
    const char *missing = status < 0 ? "asking for opcodes (REGISTER_PROBE)"
                                     : rgi_probe_missing(features, probe);

    ring->opcodes = rgi_probe_opcodes(probe);
    if (missing == NULL)
        return 0;
    if (status == -ENOMEM || status == -EINTR)
        return status; /* it could not say, which is not a no */
    snprintf(why, why_size,
             "this kernel's io_uring lacks: %s; ringmail needs Linux 6.1",
             missing);
    return -ENOTSUP;
}

/* Should the kernel ever use threads for us (it does when a request was woken
 * very often for nothing), then few. Failing is allowed. */
static void
limit_kernel_threads(struct rgi_ring *ring)
{
    unsigned limits[2] = {KERNEL_THREADS_MAX, KERNEL_THREADS_MAX};

    (void)ring->calls->enroll((unsigned)ring->uring.ring_fd,
                              IORING_REGISTER_IOWQ_MAX_WORKERS, limits, 2);
}

/* Failing is allowed: the ring's own descriptor always works. */
static void
enter_table(struct rgi_ring *ring)
{
    struct io_uring_rsrc_update update;

    memset(&update, 0, sizeof(update));
    update.offset = ~0u; /* any free index */
    update.data = (__u64)ring->uring.ring_fd;
    if (ring->calls->enroll((unsigned)ring->uring.ring_fd,
                            IORING_REGISTER_RING_FDS, &update, 1) != 1)
        return;
    ring->enter_fd = update.offset;
    ring->enter_flags |= IORING_ENTER_REGISTERED_RING;
}

static void
leave_table(struct rgi_ring *ring)
{
    struct io_uring_rsrc_update update;

    if ((ring->enter_flags & IORING_ENTER_REGISTERED_RING) == 0)
        return;
    memset(&update, 0, sizeof(update));
    update.offset = ring->enter_fd;
    (void)ring->calls->enroll((unsigned)ring->uring.ring_fd,
                              IORING_UNREGISTER_RING_FDS, &update, 1);
}

int
rgi_ring_open(const struct rgi_ring_options *options, struct rgi_ring *ring,
              char *why, size_t why_size)
{
    struct io_uring_params params;
    int status;
    int fd;

    memset(ring, 0, sizeof(*ring));
    ring->calls = options->calls != NULL ? options->calls : &rgi_ring_kernel;
    ring->owner = thrd_current();
    ring->outside = -1;
    ring->watched = -1;
    fd = climb_down(options, ring, &params);
    if (fd < 0) {
        explain(options, fd, why, why_size);
        return fd;
    }
    status = check_probe(ring, fd, params.features, why, why_size);
    if (status == 0 && options->sleeps_outside)
        status = rgi_ring_outside_open(ring, fd);
    if (status == 0)
        status = rgi_ring_map(ring, fd, &params);
    if (status < 0) {
        rgi_ring_outside_close(ring);
        if (status != -ENOTSUP)
            explain(options, status, why, why_size);
        close(fd);
        return status;
    }
    ring->enter_fd = (unsigned)fd;
    ring->enter_flags = IORING_ENTER_GETEVENTS;
    if (params.features & FEATURE_NO_IOWAIT)
        ring->wait_flags = ENTER_NO_IOWAIT;
    /* So since Linux 6.13, of which no feature tells; this is one of 6.15. */
    ring->lets_go = (params.features & FEATURE_NO_IOWAIT) != 0;
    limit_kernel_threads(ring);
    enter_table(ring);
    return 0;
}

void
rgi_ring_close(struct rgi_ring *ring)
{
    leave_table(ring);
    rgi_ring_outside_close(ring);
    rgi_ring_unmap(ring);
    close(ring->uring.ring_fd);
}
