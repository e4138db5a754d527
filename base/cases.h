/* SPDX-License-Identifier: MIT */
#ifndef RGI_BASE_CASES_H
#define RGI_BASE_CASES_H

/*
 * cases.h - how is one list of test cases run by more than one runner?
 *
 *     static void mbx_01_per_sender_order(void) { ... rgi_check(...); ... }
 *
 *     #define CASES(X)                                \
 *         X(mailbox, mbx_01_per_sender_order)         \
 *         X(mailbox, close_twice_is_close_once)
 *
 *     RGI_CASES(CASES)                 (no semicolon)
 *
 * Normally every line becomes a Criterion test: its own process, a time limit,
 * parallel to the others. Built with -DRGI_PLAIN_MAIN=1 the same lines become
 * one plain program, which ThreadSanitizer needs (it and Criterion do not work
 * together) and a debugger likes. Its first argument keeps only the cases whose
 * "suite/name" contains it.
 *
 * RGM_SCALE   quick (default): rgi_scale(n) is n / 100 (200 under ASan, 500 under
 *             TSan); full: n
 * RGM_SEED    the seed of randomised cases; printed when used
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A generous guard against hanging, never a measure of speed. */
#ifndef RGI_CASE_LIMIT_S
#define RGI_CASE_LIMIT_S 300
#endif
#define RGI_CASE_LIMIT_FULL_S 3600 /* with RGM_SCALE=full */

static uint64_t rgi_seed_in_use; /* 0 until rgi_seed() was called */

/* A runner may define it, to clean up behind a failed check on a thread of its
 * own; there it does not return. */
__attribute__((weak)) void rgi_case_failed(void);

__attribute__((noreturn, noinline, cold, unused)) static void
rgi_check_failed(const char *file, int line, const char *expression)
{
    fprintf(stderr, "%s:%d: check failed: %s\n", file, line, expression);
    if (rgi_seed_in_use != 0)
        fprintf(stderr, "replay with RGM_SEED=%" PRIu64 "\n", rgi_seed_in_use);
    fflush(stderr);
    if (rgi_case_failed != NULL)
        rgi_case_failed();
    abort();
}

/* Legal in any thread, unlike Criterion's own assertions. */
#define rgi_check(expression)                                                  \
    ((expression) ? (void)0                                                    \
                  : rgi_check_failed(__FILE__, __LINE__, #expression))

__attribute__((unused)) static int
rgi_scale_is_full(void)
{
    const char *scale = getenv("RGM_SCALE");

    return scale != NULL && strcmp(scale, "full") == 0;
}

__attribute__((unused)) static unsigned
rgi_case_limit_s(void)
{
    return rgi_scale_is_full() ? RGI_CASE_LIMIT_FULL_S : RGI_CASE_LIMIT_S;
}

/* A hundredth when it is to be quick, and less where a sanitizer is slow. */
#if defined(__SANITIZE_ADDRESS__)
#define RGI_QUICKER 200
#elif defined(__SANITIZE_THREAD__)
#define RGI_QUICKER 500
#else
#define RGI_QUICKER 100
#endif

/* How often to repeat what the contract wants repeated `count` times. */
__attribute__((unused)) static uint64_t
rgi_scale(uint64_t count)
{
    if (rgi_scale_is_full())
        return count;
    return count < RGI_QUICKER ? (count > 0) : count / RGI_QUICKER;
}

/*
 * The seed of this run: RGM_SEED, or one taken from the clock so that each run
 * looks somewhere new. Call it before the case starts threads.
 */
__attribute__((unused)) static uint64_t
rgi_seed(void)
{
    const char *text = getenv("RGM_SEED");
    struct timespec now;

    if (rgi_seed_in_use != 0)
        return rgi_seed_in_use;
    if (text != NULL) {
        rgi_seed_in_use = strtoull(text, NULL, 0);
    } else {
        clock_gettime(CLOCK_REALTIME, &now);
        rgi_seed_in_use = (uint64_t)now.tv_sec * UINT64_C(1000000007) ^
                          (uint64_t)now.tv_nsec;
    }
    if (rgi_seed_in_use == 0)
        rgi_seed_in_use = 1;
    fprintf(stderr, "# RGM_SEED=%" PRIu64 "\n", rgi_seed_in_use);
    return rgi_seed_in_use;
}

#if defined(RGI_PLAIN_MAIN) && RGI_PLAIN_MAIN

#include <unistd.h>

struct rgi_case {
    const char *name; /* "suite/name" */
    void (*run)(void);
};

static inline int
rgi_cases_main(const struct rgi_case *cases, size_t case_count, int argc,
               char **argv)
{
    const char *filter = argc > 1 && argv[1][0] != '-' ? argv[1] : "";
    unsigned limit_s = rgi_case_limit_s() * 5; /* sanitizers are slow */
    unsigned passed = 0;

    setvbuf(stdout, NULL, _IOLBF, 0);
    for (size_t i = 0; i < case_count; i++) {
        if (strstr(cases[i].name, filter) == NULL)
            continue;
        alarm(limit_s); /* a hang ends as a signal, not as silence */
        cases[i].run();
        alarm(0);
        printf("ok %s\n", cases[i].name);
        passed++;
    }
    printf("%u passed, 0 failed\n", passed);
    return passed == 0; /* a filter that matches nothing proves nothing */
}

#define RGI_CASE_LISTED(suite, name) {#suite "/" #name, name},
#define RGI_CASES(list)                                                        \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        static const struct rgi_case cases[] = {list(RGI_CASE_LISTED)};        \
                                                                               \
        return rgi_cases_main(cases, sizeof(cases) / sizeof(cases[0]), argc,   \
                              argv);                                           \
    }

#else

#include <criterion/criterion.h>

#define RGI_CASE_LISTED(suite, name)                                           \
    Test(suite, name, .timeout = RGI_CASE_LIMIT_S)                             \
    {                                                                          \
        name();                                                                \
    }
#define RGI_CASES(list) list(RGI_CASE_LISTED)

#endif

#endif /* RGI_BASE_CASES_H */
