/* SPDX-License-Identifier: MIT */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

/*
 * bench.h - what does every program of bench/ do in the same way?
 *
 * Read its arguments, take its core, look at the clock, and print results in
 * one shape, `RESULT series value unit`, which run.py collects.
 *
 * A figure that crosses cores means little by itself, since the distance of
 * two virtual CPUs changes within a second. It is therefore measured in
 * slices: limit, ours, limit, ours, ..., limit, in one process. A slice of ours
 * is compared with the mean of its two neighbours, and the median of these
 * ratios is what is reported.
 */

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BENCH_SLICES_MAX 1024
#define BENCH_CACHE_LINES 128 /* two lines: the neighbour is prefetched */

static inline uint64_t
bench_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

/* CPU time of the calling thread. */
static inline uint64_t
bench_cpu_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

_Noreturn static inline void
bench_fail(const char *what, int status)
{
    fprintf(stderr, "bench: %s: %s\n", what,
            strerror(status < 0 ? -status : status));
    exit(1);
}

/* The number in text, 1 .. maximum; anything else ends the program. */
static inline uint64_t
bench_number(const char *text, uint64_t maximum)
{
    char *end;
    unsigned long long number = strtoull(text, &end, 10);

    if (*text == '\0' || *end != '\0' || number == 0 || number > maximum) {
        fprintf(stderr, "bench: '%s' is not in 1 .. %llu\n", text,
                (unsigned long long)maximum);
        exit(2);
    }
    return number;
}

/* Runs the calling thread on one core from now on. */
static inline void
bench_pin(unsigned cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set) != 0)
        fprintf(stderr, "bench: core %u is not ours; running unpinned\n", cpu);
}

/* Memory of the process that is in RAM now. */
static inline double
bench_resident_bytes(void)
{
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL)
        return 0;
    if (fscanf(file, "%ld %ld", &total, &resident) != 2)
        resident = 0;
    fclose(file);
    return (double)resident * (double)sysconf(_SC_PAGESIZE);
}

static inline void
bench_report(const char *series, const char *part, double value,
             const char *unit)
{
    printf("RESULT %s.%s %.6g %s\n", series, part, value, unit);
    fflush(stdout);
}

static inline int
bench_compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts the values. */
static inline double
bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), bench_compare);
    return count % 2 ? values[count / 2]
                     : (values[count / 2 - 1] + values[count / 2]) / 2;
}

/* Times of alternating slices, each in ns per unit of work. */
struct bench_slices {
    size_t count;                       /* slices of ours */
    double limit[BENCH_SLICES_MAX + 1]; /* before each, and after the last */
    double ours[BENCH_SLICES_MAX];
};

/*
 * Reports `ns` (ours), `limit_ns` and `ratio`: ours in units of the limit, for
 * times; or, with `speed`, how much of the limit's speed ours reaches.
 */
static inline void
bench_slices_report(struct bench_slices *slices, const char *series, int speed)
{
    static double ratio[BENCH_SLICES_MAX];

    for (size_t i = 0; i < slices->count; i++) {
        double limit = (slices->limit[i] + slices->limit[i + 1]) / 2;

        ratio[i] = speed ? limit / slices->ours[i] : slices->ours[i] / limit;
    }
    bench_report(series, "ns", bench_median(slices->ours, slices->count), "ns");
    bench_report(series, "limit_ns",
                 bench_median(slices->limit, slices->count + 1), "ns");
    bench_report(series, "ratio", bench_median(ratio, slices->count), "x");
}

#endif /* BENCH_BENCH_H */
