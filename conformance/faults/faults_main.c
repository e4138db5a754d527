/* SPDX-License-Identifier: MIT */

/*
 * faults_main.c - does a case notice a fault?
 *
 *     faults --faults              the faults there are, and what they spoil
 *     faults --cases               the cases there are
 *     faults none case             prints what the case submits, as a mask
 *     faults fault case [patient]  0: it does not; 2: no such; else: it does
 *
 * faults.py asks for many at once.
 */

#include <signal.h>
#include <unistd.h>

#include "conformance/conformance.h"
#include "conformance/faults/faults.h"

/* What hangs is meant to; but some cases take their time. */
#define LIMIT_MS 4000
#define GUARD_S_SHORT 1
#define PATIENT_LIMIT_MS 15000
#define PATIENT_GUARD_S 5

#define ROW(suite, name) {#suite, #name, name},
static const struct conform_case cases[] = {CONFORM_ALL_CASES(ROW, faulty)};

static const struct fault *const groups[] = {read_faults, stream_faults,
                                             file_faults, other_faults};

/* The i-th of all, or NULL. */
static const struct fault *
fault_at(size_t i)
{
    for (size_t k = 0; k < sizeof(groups) / sizeof(groups[0]); k++)
        for (const struct fault *fault = groups[k]; fault->name != NULL;
             fault++)
            if (i-- == 0)
                return fault;
    return NULL;
}

static const struct fault *
find_fault(const char *name)
{
    const struct fault *fault;

    for (size_t i = 0; (fault = fault_at(i)) != NULL; i++)
        if (strcmp(fault->name, name) == 0)
            break;
    return fault;
}

static const struct conform_case *
find_case(const char *name)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        if (strcmp(cases[i].name, name) == 0)
            return &cases[i];
    return NULL;
}

static int
list_cases(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        printf("%s %s\n", strchr(cases[i].suite, '_') + 1, cases[i].name);
    return 0;
}

static int
list_faults(void)
{
    const struct fault *fault;

    for (size_t i = 0; (fault = fault_at(i)) != NULL; i++)
        printf("%s %u %u\n", fault->name, fault->kind, fault->is_coarse);
    return 0;
}

int
main(int argc, char **argv)
{
    static const struct fault none = {.name = "none"};
    const char *on = getenv("FAULTS_ON");
    const struct rgm_provider_class *real =
        on != NULL && strcmp(on, "ring") == 0 ? &rgm_provider_ring
                                              : &rgm_provider_threads;
    struct stage_fixture fixture = {0};
    const struct conform_case *which;
    const struct fault *fault;

    if (argc == 2 && strcmp(argv[1], "--faults") == 0)
        return list_faults();
    if (argc == 2 && strcmp(argv[1], "--cases") == 0)
        return list_cases();
    if (argc != 3 && argc != 4)
        return 2;
    fault = strcmp(argv[1], "none") == 0 ? &none : find_fault(argv[1]);
    which = find_case(argv[2]);
    if (fault == NULL || which == NULL)
        return 2;
    stage_guard_set(argc == 4 ? PATIENT_GUARD_S : GUARD_S_SHORT);
    conform_hurry();
    fixture.class = fault_class(fault, real);
    if (conform_run(&fixture, which, argc == 4 ? PATIENT_LIMIT_MS : LIMIT_MS) !=
        CONFORM_PASSED)
        _exit(1);
    printf("%" PRIu64 "\n", fault_kinds_seen());
    fflush(stdout);
    _exit(0);
}
