/* SPDX-License-Identifier: MIT */

/* runner.c - how does a case run, and what if it does not end well? */

#include "conformance/runner.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ringmail/stop.h>

#include "conformance/harness.h"
#include "conformance/peers.h"
#include "conformance/shim.h"

#define LAST_MOMENT_MS 2000U /* for what has its gates opened */

enum phase { SET_UP, BODY, CLEAN_UP, OVER };

/* On the heap: the thread of a case that failed is there for ever. */
struct performance {
    const struct stage_fixture *fixture;
    const struct conform_case *which;
    struct stage stage;
    pthread_t thread;
    pthread_mutex_t lock; /* of everything below */
    pthread_cond_t changed;
    enum phase phase;
    bool failed;
    bool skipped;
};

static bool hurries;
static __thread struct performance *mine; /* on the thread of a case */

static const char *
phase_name(enum phase phase)
{
    return phase == SET_UP ? "set-up" : phase == BODY ? "body" : "clean-up";
}

/* ------------------------------------------------------ the case's own thread */

static void
go_on(struct performance *performance, enum phase phase)
{
    pthread_mutex_lock(&performance->lock);
    performance->phase = phase;
    pthread_cond_broadcast(&performance->changed);
    pthread_mutex_unlock(&performance->lock);
}

static void
open_all_gates(void)
{
    shim_gate_open();
    spy_let_go();
}

static void *
perform(void *argument)
{
    struct performance *performance = argument;
    struct stage *stage = &performance->stage;

    mine = performance;
    stage_init(stage);
    peers_use(performance->fixture->peers);
    if (performance->fixture->set_up != NULL)
        performance->fixture->set_up(stage);
    go_on(performance, BODY);
    performance->which->run(stage);
    go_on(performance, CLEAN_UP);
    open_all_gates();
    if (stage->runtime != NULL)
        stage_close(stage);
    if (performance->fixture->clean_up != NULL)
        performance->fixture->clean_up(stage);
    stage_deinit(stage);
    go_on(performance, OVER);
    return NULL;
}

/* See base/cases.h. What the case has asked for points into its stack. */
void
rgi_case_failed(void)
{
    if (mine == NULL)
        return;
    pthread_mutex_lock(&mine->lock);
    mine->failed = true;
    pthread_cond_broadcast(&mine->changed);
    pthread_mutex_unlock(&mine->lock);
    for (;;)
        pause();
}

void
stage_skip(struct stage *stage, const char *why)
{
    rgi_check(mine != NULL && stage->runtime == NULL);
    fprintf(stderr, "# skipped %s/%s: %s\n", mine->which->suite,
            mine->which->name, why);
    if (mine->fixture->clean_up != NULL)
        mine->fixture->clean_up(stage);
    mine->skipped = true;
    go_on(mine, OVER);
    pthread_exit(NULL);
}

/* ---------------------------------------------------------------- the runner */

/* Until it is over or has failed, or so long. Returns: whether it came. */
static bool
await_end(struct performance *performance, unsigned limit_ms)
{
    struct timespec until;
    int status = 0;
    bool came;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += limit_ms / 1000;
    until.tv_nsec += (long)(limit_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&performance->lock);
    while (performance->phase != OVER && !performance->failed && status == 0)
        status = pthread_cond_timedwait(&performance->changed,
                                        &performance->lock, &until);
    came = performance->phase == OVER || performance->failed;
    pthread_mutex_unlock(&performance->lock);
    return came;
}

static enum conform_verdict
drain(struct performance *performance)
{
    const struct rgm_stop_options options = {
        .timeout_ns = RGM_NS_PER_S, .grace_ns = LAST_MOMENT_MS * RGM_NS_PER_MS};
    struct rgm_stop_report report = {0};
    struct stage *stage = &performance->stage;
    int status = 0;

    fprintf(stderr, "# %s/%s failed in its %s\n", performance->which->suite,
            performance->which->name, phase_name(performance->phase));
    open_all_gates();
    if (stage->runtime != NULL)
        status = rgm_runtime_stop_and_wait(stage->runtime, &options, &report);
    if (status == -EBUSY) {
        fprintf(stderr, "# not drained: %u are left behind\n",
                report.left_count);
        return CONFORM_LOST;
    }
    fprintf(stderr, "# drained%s\n", report.forced ? ", by force" : "");
    if (performance->fixture->clean_up != NULL && stage->runtime != NULL)
        performance->fixture->clean_up(stage);
    return CONFORM_FAILED;
}

static enum conform_verdict
give_a_last_moment(struct performance *performance, unsigned limit_ms)
{
    fprintf(stderr, "# %s/%s: not over after %u ms, in its %s\n",
            performance->which->suite, performance->which->name, limit_ms,
            phase_name(performance->phase));
    open_all_gates();
    if (!await_end(performance,
                   limit_ms < LAST_MOMENT_MS ? limit_ms : LAST_MOMENT_MS))
        return CONFORM_LOST;
    return performance->failed ? drain(performance) : CONFORM_FAILED;
}

static struct performance *
performance_new(const struct stage_fixture *fixture,
                const struct conform_case *which)
{
    struct performance *performance = calloc(1, sizeof(*performance));
    pthread_condattr_t monotonic;

    rgi_check(performance != NULL);
    performance->fixture = fixture;
    performance->which = which;
    performance->stage.class = fixture->class;
    performance->stage.store = fixture->store;
    pthread_mutex_init(&performance->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&performance->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return performance;
}

void
conform_hurry(void)
{
    hurries = true;
}

enum conform_verdict
conform_run(const struct stage_fixture *fixture,
            const struct conform_case *which, unsigned limit_ms)
{
    struct performance *performance = performance_new(fixture, which);
    bool skipped;

    rgi_check(
        pthread_create(&performance->thread, NULL, perform, performance) == 0);
    if (!await_end(performance, limit_ms) && !hurries)
        return give_a_last_moment(performance, limit_ms);
    if (performance->phase != OVER && hurries)
        return CONFORM_LOST;
    if (performance->failed)
        return drain(performance);
    rgi_check(pthread_join(performance->thread, NULL) == 0);
    skipped = performance->skipped;
    pthread_cond_destroy(&performance->changed);
    pthread_mutex_destroy(&performance->lock);
    free(performance);
    return skipped ? CONFORM_SKIPPED : CONFORM_PASSED;
}

/* --------------------------------------------------------------- child, main */

enum conform_verdict
conform_run_apart(const struct stage_fixture *fixture,
                  const struct conform_case *which, unsigned limit_ms)
{
    int status;
    pid_t child;

    fflush(NULL);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0)
        _exit((int)conform_run(fixture, which, limit_ms));
    while (waitpid(child, &status, 0) < 0)
        rgi_check(errno == EINTR);
    if (!WIFEXITED(status) || WEXITSTATUS(status) > CONFORM_LOST)
        return CONFORM_FAILED; /* a crash is the child's own */
    return WEXITSTATUS(status) == CONFORM_LOST
               ? CONFORM_FAILED
               : (enum conform_verdict)WEXITSTATUS(status);
}

bool
conform_is_apart(const char *suite)
{
    return strstr(suite, "_child") != NULL || strstr(suite, "_signal") != NULL;
}

static int
list_all(const struct conform_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%s/%s\n", cases[i].suite, cases[i].name);
    return 0;
}

int
conform_main(const struct stage_fixture *fixture,
             const struct conform_case *cases, size_t count, int argc,
             char **argv)
{
    static const char *const words[] = {"ok", "skipped", "not ok", "not ok"};
    const char *filter = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
    unsigned limit_ms = rgi_case_limit_s() * 5000U; /* sanitizers are slow */
    unsigned counts[CONFORM_LOST + 1] = {0};
    char name[256];

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc > 1 && strcmp(argv[1], "--list") == 0)
        return list_all(cases, count);
    for (size_t i = 0; i < count && counts[CONFORM_LOST] == 0; i++) {
        enum conform_verdict verdict;

        snprintf(name, sizeof(name), "%s/%s", cases[i].suite, cases[i].name);
        if (strstr(name, filter) == NULL)
            continue;
        verdict = conform_is_apart(cases[i].suite)
                      ? conform_run_apart(fixture, &cases[i], limit_ms)
                      : conform_run(fixture, &cases[i], limit_ms);
        counts[verdict]++;
        printf("%s %s\n", words[verdict], name);
    }
    printf("%u passed, %u failed\n",
           counts[CONFORM_PASSED] + counts[CONFORM_SKIPPED],
           counts[CONFORM_FAILED] + counts[CONFORM_LOST]);
    /* A filter that matches nothing proves nothing. */
    return counts[CONFORM_PASSED] + counts[CONFORM_SKIPPED] == 0 ||
           counts[CONFORM_FAILED] + counts[CONFORM_LOST] > 0;
}
