/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_RUNNER_H
#define CONFORMANCE_RUNNER_H

/*
 * runner.h - how does a case run, and what if it does not end well?
 *
 *     thread of the runner --- waits, with a deadline ---------- verdict
 *          '---> thread of the case: set_up, body, clean_up --------'
 *
 * A case has a stage, and a thread, of its own. When one of its checks fails
 * that thread stays where it is, so that everything the case has asked for
 * keeps its memory, and the runner opens all gates and ends the runtime: what
 * was accepted is drained. What does not end by the deadline has its gates
 * opened and a moment more.
 *
 * A failed check on another thread, and a failed assertion of the library, end
 * the process as before. Criterion's tests have one each anyway.
 */

#include <stdbool.h>
#include <stddef.h>

#include <ringmail/provider.h>

#include "base/cases.h"

struct stage;
struct peer_ops;
struct store_ops;

typedef void stage_case_function(struct stage *stage);

/* What a provider brings along. All but the class may be left out. */
struct stage_fixture {
    const struct rgm_provider_class *class;
    /* Around each case, on its thread; set_up may change stage->options. */
    void (*set_up)(struct stage *stage);
    void (*clean_up)(struct stage *stage);
    /* The other ends of its streams; NULL: plain sockets. See peers.h. */
    const struct peer_ops *peers;
    /* Where its files lie; NULL: in a directory. See store.h. */
    const struct store_ops *store;
};

struct conform_case {
    const char *suite;
    const char *name;
    stage_case_function *run;
};

enum conform_verdict {
    CONFORM_PASSED,
    CONFORM_SKIPPED, /* stage_skip has said why */
    CONFORM_FAILED,  /* all it had accepted is drained: others may follow */
    CONFORM_LOST     /* it is not: this process has nothing more to tell */
};

/* Run one case, which has so long for everything. One at a time in a process.
 * What went wrong is said on stderr. */
enum conform_verdict
conform_run(const struct stage_fixture *fixture,
            const struct conform_case *which, unsigned limit_ms);

/* From now on what goes wrong is CONFORM_LOST at once: for a process that does
 * not go on anyway. */
void conform_hurry(void);

/* The same in a child process, for cases that touch what a process has one of:
 * signals, children. */
enum conform_verdict
conform_run_apart(const struct stage_fixture *fixture,
                  const struct conform_case *which, unsigned limit_ms);

/* Whether the cases of a suite run apart in a program that has several. */
bool conform_is_apart(const char *suite);

/*
 * The plain program:
 *
 *     program [filter]     the cases whose "suite/name" contains it
 *     program --list       all their names
 */
int conform_main(const struct stage_fixture *fixture,
                 const struct conform_case *cases, size_t count, int argc,
                 char **argv);

/* Called by a case before it opens its stage: this machine cannot do it. */
__attribute__((noreturn)) void stage_skip(struct stage *stage, const char *why);

/*
 * CONFORM_FIXTURE(fixture, SUITES) makes all cases of SUITES(X), each
 * X(suite, name), into tests with that fixture: Criterion's, or one plain
 * program. CONFORM(class, SUITES) is for a provider that needs no more.
 */
#if defined(RGI_PLAIN_MAIN) && RGI_PLAIN_MAIN

#define CONFORM_ROW(suite, name) {#suite, #name, name},
#define CONFORM_FIXTURE(fixture, SUITES)                                       \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        static const struct conform_case cases[] = {SUITES(CONFORM_ROW)};      \
                                                                               \
        return conform_main(&(fixture), cases,                                 \
                            sizeof(cases) / sizeof(cases[0]), argc, argv);     \
    }

#else

/* Longer than the runner's own limit, which says more. */
#define CONFORM_TEST(suite, name)                                              \
    Test(suite, name, .timeout = RGI_CASE_LIMIT_FULL_S + 30)                   \
    {                                                                          \
        const struct conform_case which = {#suite, #name, name};               \
        enum conform_verdict verdict =                                         \
            conform_run(conform_fixture, &which, rgi_case_limit_s() * 1000U);  \
                                                                               \
        if (verdict == CONFORM_SKIPPED)                                        \
            cr_skip_test("skipped");                                           \
        if (verdict != CONFORM_PASSED)                                         \
            abort();                                                           \
    }
#define CONFORM_FIXTURE(fixture, SUITES)                                       \
    static const struct stage_fixture *const conform_fixture = &(fixture);     \
    SUITES(CONFORM_TEST)

#endif

#define CONFORM(provider, SUITES)                                              \
    static const struct stage_fixture conform_own_fixture = {.class =          \
                                                                 &(provider)}; \
    CONFORM_FIXTURE(conform_own_fixture, SUITES)

/* Declares the cases of a list, each X(suite, name). */
#define CONFORM_DECLARE(suite, name) void name(struct stage *stage);

#endif /* CONFORMANCE_RUNNER_H */
