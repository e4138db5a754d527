/* SPDX-License-Identifier: MIT */

/* harness_test.c - does what the cases stand on keep its own promises? Cases
 * that go wrong on purpose run in a child process, and what it says is read. */

#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conformance/child_cases.h"
#include "conformance/clock_cases.h"
#include "conformance/harness.h"
#include "conformance/peers.h"
#include "conformance/shim.h"
#include "conformance/signal_cases.h"

static const struct stage_fixture plain = {.class = &rgm_provider_threads};

/* --------------------------------------------------- in a process of its own */

struct told {
    enum conform_verdict verdict;
    enum conform_verdict after; /* of a good case, in the same process */
    char text[8192];
};

static void good(struct stage *stage);

static void
tell(const struct stage_fixture *fixture, stage_case_function *run,
     unsigned limit_ms, int to)
{
    const struct conform_case bad = {"harness", "bad", run};
    const struct conform_case fine = {"harness", "good", good};
    int verdict;

    rgi_check(dup2(to, STDERR_FILENO) >= 0);
    verdict = (int)conform_run(fixture, &bad, limit_ms);
    if (verdict != CONFORM_LOST)
        verdict |= (int)conform_run(&plain, &fine, 60000) << 4;
    /* Past a sanitizer that has heard of the thread that stays behind. */
    (void)syscall(SYS_exit_group, verdict);
    abort();
}

static struct told
told_by(const struct stage_fixture *fixture, stage_case_function *run,
        unsigned limit_ms)
{
    struct told told = {0};
    size_t length = 0;
    ssize_t count;
    int ends[2];
    int status;
    pid_t child;

    rgi_check(pipe(ends) == 0);
    child = fork();
    rgi_check(child >= 0);
    if (child == 0)
        tell(fixture, run, limit_ms, ends[1]);
    rgi_check(close(ends[1]) == 0);
    while ((count = read(ends[0], told.text + length,
                         sizeof(told.text) - 1 - length)) > 0)
        length += (size_t)count;
    rgi_check(close(ends[0]) == 0);
    rgi_check(waitpid(child, &status, 0) == child && WIFEXITED(status));
    told.verdict = (enum conform_verdict)(WEXITSTATUS(status) & 15);
    told.after = (enum conform_verdict)(WEXITSTATUS(status) >> 4);
    return told;
}

static bool
says(const struct told *told, const char *words)
{
    return strstr(told->text, words) != NULL;
}

/* ------------------------------------------------------------------ the cases */

static void
good(struct stage *stage)
{
    struct rgm_stream near;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    peer_send(peer, "x", 1);
    stage_read_all(stage, &near, &byte, 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

/* With a read out, into its own stack. */
static void
fails(struct stage *stage)
{
    struct read_step read = {0};
    struct rgm_stream near;
    char bytes[64];

    stage_open(stage);
    (void)stage_pair(stage, &near);
    rgm_stream_read(&read.op, &near, bytes, sizeof(bytes));
    stage_begin(stage, &read);
    rgi_check(stage->runtime == NULL);
}

static void
leaks(struct stage *stage)
{
    stage_open(stage);
    rgi_check(dup(STDERR_FILENO) >= 0);
    stage_close(stage);
}

static void
hangs(struct stage *stage)
{
    (void)stage;
    for (;;)
        pause();
}

/* In a read that the shim holds back. */
static void
hangs_at_a_gate(struct stage *stage)
{
    struct rgm_stream near;
    bool end = false;
    char byte;
    int peer;

    stage_open(stage);
    peer = stage_pair(stage, &near);
    shim_gate_shut(descriptor_of_peer(peer));
    peer_send(peer, "x", 1);
    rgi_check(stage_read(stage, &near, &byte, 1, &end) == 1);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    stage_close(stage);
}

static void
leaves_gates_shut(struct stage *stage)
{
    static struct read_step read;
    static struct rgm_stream near;
    static char byte;
    int peer;

    stage->spied = true;
    stage_open(stage);
    peer = stage_pair(stage, &near);
    shim_gate_shut(descriptor_of_peer(peer));
    rgm_stream_read(&read.op, &near, &byte, 1);
    stage_begin(stage, &read);
    peer_send(peer, "x", 1);
    shim_gate_await(1);
    peer_close(peer);
}

static void
skips(struct stage *stage)
{
    stage_skip(stage, "no such thing here");
}

/* ------------------------------------------------------------------ the tests */

static void
cnf_02_a_provider_with_time_alone_passes_the_clock_suite(void)
{
    static const struct {
        const char *name;
        stage_case_function *run;
    } cases[] = {
        {"clk_01", clk_01_time_never_steps_back},
        {"clk_04", clk_04_sleep_counts_from_the_ask},
        {"clk_05", clk_05_what_wins_when_both_have_come},
        {"clk_06", clk_06_withdrawn_sleep_leaves_nothing},
        {"tmr_17", tmr_17_sleep_is_asked_from_a_wake},
    };
    struct rgm_provider_class bare = rgm_provider_threads;
    const struct stage_fixture fixture = {.class = &bare};

    bare.kinds = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct conform_case which = {"bare_clock", cases[i].name, cases[i].run};

        rgi_check(conform_run(&fixture, &which, 60000) == CONFORM_PASSED);
    }
}

static void
cnf_05_what_cases_assert_can_be_called_by_hand(void)
{
    char bytes[300];
    int ends[2];

    rgi_check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    pattern_fill(bytes, sizeof(bytes), 7);
    rgi_check(pattern_holds(bytes, sizeof(bytes), 7));
    rgi_check(!pattern_holds(bytes, sizeof(bytes), 8));
    peer_send(ends[0], bytes, sizeof(bytes));
    memset(bytes, 0, sizeof(bytes));
    peer_receive(ends[1], bytes, sizeof(bytes));
    rgi_check(pattern_holds(bytes, sizeof(bytes), 7));
    peer_expect_nothing(ends[1]);
    peer_shutdown(ends[0]);
    peer_expect_end(ends[1]);
    peer_close(ends[0]);
    peer_close(ends[1]);
}

static void
cnf_06_a_failed_case_is_drained_and_the_next_one_runs(void)
{
    struct told told = told_by(&plain, fails, 60000);

    rgi_check(told.verdict == CONFORM_FAILED);
    rgi_check(says(&told, "check failed: stage->runtime == NULL"));
    rgi_check(says(&told, "failed in its body"));
    rgi_check(says(&told, "# drained"));
    rgi_check(told.after == CONFORM_PASSED);
}

static void
cnf_06_a_leak_is_told_and_the_next_one_runs(void)
{
    struct told told = told_by(&plain, leaks, 60000);

    rgi_check(told.verdict == CONFORM_FAILED);
    rgi_check(says(&told, "descriptors_open() == stage->descriptors"));
    rgi_check(told.after == CONFORM_PASSED);
}

/* One that is kept from running does not come so far in time, and gets more. */
static void
hangs_in_its(const char *phase, const struct stage_fixture *fixture,
             stage_case_function *run, unsigned limit_ms)
{
    char words[64];
    struct told told;

    do {
        snprintf(words, sizeof(words), "not over after %u ms, in its %s",
                 limit_ms, phase);
        told = told_by(fixture, run, limit_ms);
        limit_ms *= 2;
    } while (!says(&told, words) && limit_ms <= 60000);
    rgi_check(told.verdict == CONFORM_LOST && says(&told, words));
}

static void
cnf_06_the_deadline_is_for_set_up_body_and_clean_up(void)
{
    const struct stage_fixture slow_up = {.class = &rgm_provider_threads,
                                          .set_up = hangs};
    const struct stage_fixture slow_down = {.class = &rgm_provider_threads,
                                            .clean_up = hangs};

    hangs_in_its("body", &plain, hangs, 1000);
    hangs_in_its("set-up", &slow_up, good, 50);
    hangs_in_its("clean-up", &slow_down, good, 3000);
}

static void
a_case_that_cannot_be_run_here_is_skipped(void)
{
    struct told told = told_by(&plain, skips, 60000);

    rgi_check(told.verdict == CONFORM_SKIPPED);
    rgi_check(says(&told, "skipped harness/bad: no such thing here"));
    rgi_check(told.after == CONFORM_PASSED);
}

static void
cnf_08_a_gate_that_holds_a_case_is_opened_at_its_deadline(void)
{
    struct told told = told_by(&plain, hangs_at_a_gate, 700);

    rgi_check(told.verdict == CONFORM_FAILED);
    rgi_check(says(&told, "not over after 700 ms, in its body"));
    rgi_check(told.after == CONFORM_PASSED);
}

static void
cnf_08_gates_left_shut_are_opened_by_the_clean_up(void)
{
    struct told told = told_by(&plain, leaves_gates_shut, 60000);

    rgi_check(told.verdict == CONFORM_PASSED);
    rgi_check(told.after == CONFORM_PASSED);
}

static void
run_child_cases(void)
{
#define ROW(suite, name) {#suite, #name, name},
    static const struct conform_case cases[] = {CHILD_CASES(ROW, some_child)};
#undef ROW

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (conform_run_apart(&plain, &cases[i], 60000) != CONFORM_PASSED)
            _exit(1);
    _exit(0);
}

/* Any child is waited for, in each of them. */
static void
cnf_13_suites_of_children_run_beside_each_other(void)
{
    pid_t runners[3];
    int status;

    rgi_check(conform_is_apart("threads_child"));
    rgi_check(!conform_is_apart("threads_file"));
    for (int i = 0; i < 3; i++) {
        runners[i] = fork();
        rgi_check(runners[i] >= 0);
        if (runners[i] == 0)
            run_child_cases();
    }
    for (int i = 0; i < 3; i++) {
        rgi_check(waitpid(runners[i], &status, 0) == runners[i]);
        rgi_check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

/* ------------------------------------------------------- a fixture that is hosted */

/* The process has a runtime that goes on in the background, and a dispatch of
 * signals that is not the case's. */
static struct {
    struct rgm_runtime *runtime;
    struct sigaction before;
    unsigned set_up;
    unsigned cleaned_up;
} host;

static void
host_hears(int number)
{
    (void)number;
}

static void
host_answers(void)
{
    struct rgm_sleep sleep;

    rgm_sleep_for(&sleep, rgm_worker_address(0), 0);
    rgi_check(rgm_call(host.runtime, &sleep) == 0);
}

static void
host_set_up(struct stage *stage)
{
    const struct rgm_runtime_options options = {.provider = stage->class,
                                                .workers = 1};

    rgi_check(rgm_runtime_create(&options, &host.runtime) == 0);
    rgi_check(rgm_runtime_start(host.runtime) == 0);
    rgi_check(sigaction(SIGUSR2, NULL, &host.before) == 0);
    (void)signal(SIGUSR2, host_hears);
    host_answers();
    host.set_up++;
}

static void
host_clean_up(struct stage *stage)
{
    struct sigaction now;

    (void)stage;
    rgi_check(sigaction(SIGUSR2, &host.before, &now) == 0);
    rgi_check(now.sa_handler == host_hears);
    host_answers();
    rgm_runtime_stop(host.runtime);
    rgi_check(rgm_runtime_wait(host.runtime) == 0);
    rgi_check(rgm_runtime_destroy(host.runtime) == 0);
    host.cleaned_up++;
}

static bool
is_listed(const struct conform_case *cases, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(cases[i].name, name) == 0)
            return true;
    return false;
}

static void
cnf_12_a_hosted_fixture_runs_the_base_list_only(void)
{
#define ROW(suite, name) {#suite, #name, name},
    static const struct conform_case all[] = {SIGNAL_CASES(ROW, all_signal)};
    static const struct conform_case base[] = {
        SIGNAL_BASE_CASES(ROW, hosted_signal)};
    static const struct conform_case live[] = {SIGNAL_LIVE_CASES(
        ROW, live_signal) SIGNAL_ACTOR_CASES(ROW, live_signal)};
#undef ROW
    static const struct stage_fixture hosted = {.class = &rgm_provider_threads,
                                                .set_up = host_set_up,
                                                .clean_up = host_clean_up};
    const size_t base_count = sizeof(base) / sizeof(base[0]);
    const size_t live_count = sizeof(live) / sizeof(live[0]);

#if defined(__SANITIZE_ADDRESS__)
    /* The base cases fork while the host's threads run, and a child may find the
     * locks of AddressSanitizer's allocator taken. */
    fprintf(stderr, "# not under AddressSanitizer\n");
    if (base_count > 0)
        return;
#endif
    rgi_check(base_count + live_count == sizeof(all) / sizeof(all[0]));
    for (size_t i = 0; i < live_count; i++)
        rgi_check(!is_listed(base, base_count, live[i].name));
    for (size_t i = 0; i < base_count; i++)
        rgi_check(conform_run(&hosted, &base[i], 60000) == CONFORM_PASSED);
    rgi_check(host.set_up == base_count && host.cleaned_up == base_count);
}

#define CASES(X)                                                               \
    X(harness, cnf_02_a_provider_with_time_alone_passes_the_clock_suite)       \
    X(harness, cnf_05_what_cases_assert_can_be_called_by_hand)                 \
    X(harness, cnf_06_a_failed_case_is_drained_and_the_next_one_runs)          \
    X(harness, cnf_06_a_leak_is_told_and_the_next_one_runs)                    \
    X(harness, cnf_06_the_deadline_is_for_set_up_body_and_clean_up)            \
    X(harness, a_case_that_cannot_be_run_here_is_skipped)                      \
    X(harness, cnf_08_a_gate_that_holds_a_case_is_opened_at_its_deadline)      \
    X(harness, cnf_08_gates_left_shut_are_opened_by_the_clean_up)              \
    X(harness, cnf_12_a_hosted_fixture_runs_the_base_list_only)                \
    X(harness, cnf_13_suites_of_children_run_beside_each_other)

RGI_CASES(CASES)
