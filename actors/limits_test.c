/* SPDX-License-Identifier: MIT */

/*
 * limits_test.c - what is it like to start with little?
 *
 * A program begins with so many descriptors, threads or so much locked memory, a
 * little more each time: it makes a runtime, subscribes to a signal, starts it, runs
 * a job, opens a file, listens, gets one more worker, stops. Whatever cannot be had is
 * told as the error that says so, in words where it is the start; whatever could be
 * had works; and nothing is left: no memory, no descriptor, no thread. In the end
 * there is enough for all.
 *
 * Each walk is a process of its own, for limits are the process's; those of threads
 * and memory are tried as a user whom nobody else is.
 */

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ringmail/ringmail.h>

#include "base/cases.h"
#include "base/memory.h"

#define NOT_TRIED 77

struct walk {
    const struct rgm_provider_class *provider; /* NULL: the default */
    const char *name;
    int resource;     /* as setrlimit(2) */
    const char *what; /* in the words of an error */
    rlim_t first, last, step;
    int error;        /* what says that there is none left */
    unsigned refused; /* in this round */
};

/* ------------------------------------------------------------ what is left */

static unsigned
descriptors(void)
{
    unsigned count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static unsigned
threads(void)
{
    FILE *status = fopen("/proc/self/status", "re");
    unsigned count = 0;
    char line[128];

    rgi_check(status != NULL);
    while (count == 0 && fgets(line, sizeof(line), status) != NULL)
        (void)sscanf(line, "Threads: %u", &count);
    fclose(status);
    return count;
}

/* ---------------------------------------------------------------- one step */

/* Returns: whether it was done; if not, for the one good reason. */
static bool
done(struct walk *walk, int status)
{
    if (status != 0 && status != walk->error) {
        fprintf(stderr, "# %s, %s: %s\n", walk->name, walk->what,
                strerror(-status));
        rgi_check(false);
    }
    walk->refused += status != 0;
    return status == 0;
}

static int64_t
nothing_much(struct rgm_job *job)
{
    (void)job;
    return 7;
}

static void
close_call(struct rgm_runtime *runtime, struct rgm_close *close)
{
    rgi_check(rgm_call(runtime, close) == 0);
}

static void
use(struct walk *walk, struct rgm_runtime *runtime)
{
    struct rgm_address where = rgm_worker_address(0);
    struct rgm_endpoint any;
    struct rgm_listener listener = {.socket.resource = 0};
    struct rgm_file file = {.append = 0};
    struct rgm_file_open open;
    struct rgm_listen listen;
    struct rgm_close close;
    struct rgm_job job;

    memset(&job, 0, sizeof(job));
    rgm_job_run(&job, where, nothing_much);
    if (done(walk, rgm_call(runtime, &job)))
        rgi_check(job.ran && job.result == 7);
    rgm_file_open(&open, where, &file, "/dev/null", RGM_FILE_READ, 0);
    if (done(walk, rgm_call(runtime, &open))) {
        rgm_file_close(&close, &file);
        close_call(runtime, &close);
    }
    rgi_check(rgm_endpoint_parse("127.0.0.1", 0, &any) == 0);
    rgm_stream_listen(&listen, where, &listener, &any, false);
    if (done(walk, rgm_call(runtime, &listen))) {
        rgm_listener_close(&close, &listener);
        close_call(runtime, &close);
    }
    (void)done(walk, rgm_runtime_resize(runtime, 3));
    rgi_check(rgm_runtime_threads(runtime) == rgm_runtime_workers(runtime));
    (void)done(walk, rgm_runtime_resize(runtime, 2));
}

static void
live(struct walk *walk)
{
    struct rgm_runtime_options options = {.workers = 2,
                                          .workers_max = 3,
                                          .job_threads = 2,
                                          .provider = walk->provider};
    struct rgm_signal_guard guard = {NULL};
    struct rgm_runtime *runtime = NULL;
    const char *words;
    bool started;

    if (!done(walk, rgm_runtime_create(&options, &runtime))) {
        rgi_check(runtime == NULL);
        return;
    }
    (void)done(walk, rgm_signal_stop(runtime, SIGUSR1, &guard));
    started = done(walk, rgm_runtime_start(runtime));
    /* Why it did not, or is not on a ring; to the last word. */
    words = rgm_runtime_error(runtime);
    rgi_check(words[0] == '\0' ? started : strstr(words, walk->what) != NULL);
    if (started)
        use(walk, runtime);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    rgm_signal_drop(&guard);
}

static void
live_with(struct walk *walk, rlim_t count)
{
    unsigned open = descriptors();
    unsigned running = threads();
    struct rlimit before, tight;

    rgi_check(getrlimit(walk->resource, &before) == 0);
    tight = (struct rlimit){count, before.rlim_max};
    rgi_check(setrlimit(walk->resource, &tight) == 0);
    walk->refused = 0;
    live(walk);
    rgi_check(setrlimit(walk->resource, &before) == 0);
    rgi_check(rgi_memory_live() == 0);
    rgi_check(descriptors() == open);
    while (threads() > running)
        sched_yield(); /* one that was joined, and is not gone to the last */
}

/* ---------------------------------------------------------------- the walks */

static void
walk_here(struct walk *walk)
{
    for (rlim_t count = walk->first; count <= walk->last; count += walk->step) {
        live_with(walk, count);
        rgi_check(count > walk->first || walk->refused > 0 ||
                  walk->resource == RLIMIT_MEMLOCK);
    }
    /* What a ring had locked is the user's again some time after its close. */
    while (walk->refused > 0 && walk->resource == RLIMIT_MEMLOCK)
        live_with(walk, walk->last);
    rgi_check(walk->refused == 0);
}

/* A user nobody else is: all processes of one count together. */
static void
become_nobody(void)
{
    uid_t user = 100000 + (uid_t)getpid();

    if (setgid(user) != 0 || setuid(user) != 0)
        _exit(NOT_TRIED);
}

static void
walk_apart(struct walk walk, bool as_nobody)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        for (int fd = 3; fd < 1024; fd++)
            (void)close(fd);
        if (as_nobody)
            become_nobody();
        walk_here(&walk);
        _exit(0);
    }
    rgi_check(child > 0 && waitpid(child, &status, 0) == child);
    rgi_check(WIFEXITED(status));
    if (as_nobody && WEXITSTATUS(status) == NOT_TRIED)
        fprintf(stderr, "# %s: not tried: no right to be somebody else\n",
                walk.name);
    else
        rgi_check(WEXITSTATUS(status) == 0);
}

static void
walk_all(struct walk walk, bool as_nobody)
{
#if defined(__SANITIZE_THREAD__)
    fprintf(stderr,
            "# not tried: this sanitizer needs a program to name what it "
            "is not to mind\n");
    return;
#endif
    walk.provider = &rgm_provider_threads;
    walk.name = "threads";
    walk_apart(walk, as_nobody);
    walk.provider = &rgm_provider_epoll;
    walk.name = "epoll";
    walk_apart(walk, as_nobody);
    walk.provider = &rgm_provider_ring;
    walk.name = "ring";
    walk_apart(walk, as_nobody);
    walk.provider = NULL;
    walk.name = "whichever";
    walk_apart(walk, as_nobody);
}

static void
every_count_of_descriptors(void)
{
    walk_all((struct walk){.resource = RLIMIT_NOFILE,
                           .what = "Too many open files",
                           .first = 3,
                           .last = 60,
                           .step = 1,
                           .error = -EMFILE},
             false);
}

static void
every_count_of_threads(void)
{
    walk_all((struct walk){.resource = RLIMIT_NPROC,
                           .what = "Resource temporarily unavailable",
                           .first = 1,
                           .last = 40,
                           .step = 1,
                           .error = -EAGAIN},
             true);
}

/* Nothing but rings is locked, nor is it counted everywhere. */
static void
every_amount_of_locked_memory(void)
{
    walk_all((struct walk){.resource = RLIMIT_MEMLOCK,
                           .what = "or run fewer workers",
                           .first = 0,
                           .last = 128 << 10,
                           .step = 4 << 10,
                           .error = -ENOMEM},
             true);
}

/* -------------------------------------------------------- what is forbidden */

/* As a container's profile does it. */
static bool
forbid_rings(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(rules) / sizeof(rules[0]), rules};

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

static void
live_without_rings(void)
{
    struct walk walk = {.name = "forbidden", .what = "none", .error = -EPERM};
    struct rgm_runtime_options options = {.workers = 1};
    struct rgm_runtime *runtime;

    rgi_check(rgm_runtime_create(&options, &runtime) == 0);
    rgi_check(rgm_runtime_start(runtime) == 0);
    rgi_check(strncmp(rgm_runtime_provider(runtime), "epoll (", 7) == 0);
    rgi_check(strstr(rgm_runtime_error(runtime), "seccomp") != NULL);
    use(&walk, runtime);
    rgi_check(walk.refused == 0);
    rgm_runtime_stop(runtime);
    rgi_check(rgm_runtime_wait(runtime) == 0);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
    options.provider = &rgm_provider_ring;
    rgi_check(rgm_runtime_create(&options, &runtime) == 0);
    rgi_check(rgm_runtime_start(runtime) == -EPERM);
    rgi_check(strstr(rgm_runtime_error(runtime), "seccomp") != NULL);
    rgi_check(rgm_runtime_destroy(runtime) == 0);
}

static void
where_rings_are_forbidden_it_is_epoll(void)
{
    pid_t child = fork();
    int status;

    if (child == 0) {
        if (!forbid_rings())
            _exit(NOT_TRIED);
        live_without_rings();
        _exit(0);
    }
    rgi_check(child > 0 && waitpid(child, &status, 0) == child);
    rgi_check(WIFEXITED(status));
    if (WEXITSTATUS(status) == NOT_TRIED)
        fprintf(stderr, "# not tried: there are no filters here\n");
    else
        rgi_check(WEXITSTATUS(status) == 0);
}

#define CASES(X)                                                               \
    X(limits, every_count_of_descriptors)                                      \
    X(limits, every_count_of_threads)                                          \
    X(limits, every_amount_of_locked_memory)                                   \
    X(limits, where_rings_are_forbidden_it_is_epoll)

RGI_CASES(CASES)
