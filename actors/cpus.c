/* SPDX-License-Identifier: MIT */

/*
 * cpus.c - how many CPUs may this process really use?
 *
 * The smaller of its affinity mask and its cgroup quota, rounded up, at least
 * one. The quota is the smallest on the way from the process's cgroup to the
 * root: "cpu.max" (v2: "quota period" or "max period"), or "cpu.cfs_quota_us"
 * and "cpu.cfs_period_us" (v1). Sources: sched_getaffinity(2), cgroups(7),
 * the kernel's cgroup-v2 document. What cannot be read does not limit.
 */

#include "actors/worker.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NO_QUOTA UINT32_MAX
#define PATH_BYTES 1024
#define MASK_CPUS_MAX (1 << 16)

uint64_t
rgi_clock_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * RGM_NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint32_t
round_up(long long quota, long long period)
{
    long long cpus;

    if (quota <= 0 || period <= 0)
        return NO_QUOTA;
    cpus = (quota + period - 1) / period;
    return cpus > INT32_MAX ? NO_QUOTA : (uint32_t)cpus;
}

/* First line of a small file; false when there is none. */
static bool
read_line(const char *folder, const char *name, char *ret_line, int size)
{
    char path[PATH_BYTES];
    FILE *file;
    bool read;

    if (snprintf(path, sizeof(path), "%s/%s", folder, name) >=
        (int)sizeof(path))
        return false;
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    read = fgets(ret_line, size, file) != NULL;
    fclose(file);
    return read;
}

static uint32_t
quota_v2(const char *folder)
{
    char line[64];
    long long quota, period;

    if (!read_line(folder, "cpu.max", line, sizeof(line)) ||
        sscanf(line, "%lld %lld", &quota, &period) != 2)
        return NO_QUOTA;
    return round_up(quota, period);
}

static uint32_t
quota_v1(const char *folder)
{
    char quota[64], period[64];

    if (!read_line(folder, "cpu.cfs_quota_us", quota, sizeof(quota)) ||
        !read_line(folder, "cpu.cfs_period_us", period, sizeof(period)))
        return NO_QUOTA;
    return round_up(strtoll(quota, NULL, 10), strtoll(period, NULL, 10));
}

/* The smallest quota from `top` + `path` up to `top`. */
static uint32_t
quota_upward(const char *top, const char *path,
             uint32_t (*quota)(const char *folder))
{
    char folder[PATH_BYTES];
    size_t top_length = strlen(top);
    uint32_t least = NO_QUOTA;

    if (snprintf(folder, sizeof(folder), "%s%s", top, path) >=
        (int)sizeof(folder))
        return quota(top);
    for (;;) {
        uint32_t here = quota(folder);
        char *slash = strrchr(folder, '/');

        if (here < least)
            least = here;
        if (slash == NULL || (size_t)(slash - folder) < top_length)
            return least;
        *slash = '\0';
    }
}

static bool
names_cpu(const char *controllers)
{
    const char *found = strstr(controllers, "cpu");

    while (found != NULL) {
        bool starts = found == controllers || found[-1] == ',';

        if (starts && (found[3] == '\0' || found[3] == ','))
            return true;
        found = strstr(found + 3, "cpu");
    }
    return false;
}

/* One line of the membership file: "id:controllers:path". */
static uint32_t
quota_of_line(const char *root, char *line)
{
    char top[PATH_BYTES];
    char *controllers = strchr(line, ':');
    char *path = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
    uint32_t least;

    if (path == NULL)
        return NO_QUOTA;
    *controllers++ = '\0';
    *path++ = '\0';
    path[strcspn(path, "\n")] = '\0';
    if (controllers[0] == '\0') {
        least = quota_upward(root, path, quota_v2);
        snprintf(top, sizeof(top), "%s/unified", root);
        return least != NO_QUOTA ? least : quota_upward(top, path, quota_v2);
    }
    if (!names_cpu(controllers))
        return NO_QUOTA;
    snprintf(top, sizeof(top), "%s/cpu", root);
    least = quota_upward(top, path, quota_v1);
    snprintf(top, sizeof(top), "%s/%s", root, controllers);
    return least != NO_QUOTA ? least : quota_upward(top, path, quota_v1);
}

uint32_t
rgi_cgroup_cpus(const char *root, const char *membership)
{
    char line[PATH_BYTES];
    uint32_t least = NO_QUOTA;
    FILE *file = fopen(membership, "re");

    if (file == NULL)
        return NO_QUOTA;
    while (fgets(line, sizeof(line), file) != NULL) {
        uint32_t here = quota_of_line(root, line);

        if (here < least)
            least = here;
    }
    fclose(file);
    return least;
}

/* The mask of a large machine needs more room than the fixed type has. */
static uint32_t
affinity_cpus(void)
{
    uint32_t count = 1;

    for (int cpus = 1024; cpus <= MASK_CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        int failed;

        if (set == NULL)
            return count;
        failed = sched_getaffinity(0, size, set);
        if (failed == 0)
            count = (uint32_t)CPU_COUNT_S(size, set);
        CPU_FREE(set);
        if (failed == 0)
            break;
    }
    return count == 0 ? 1 : count;
}

uint32_t
rgm_usable_cpus(void)
{
    uint32_t affinity = affinity_cpus();
    uint32_t quota = rgi_cgroup_cpus("/sys/fs/cgroup", "/proc/self/cgroup");

    return quota < affinity ? quota : affinity;
}
