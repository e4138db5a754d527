/* SPDX-License-Identifier: MIT */

/*
 * cpus_test.c - is a quota found wherever a container may have put it?
 *
 * A folder plays the cgroup file system, a file the process's membership.
 */

#include <sys/stat.h>
#include <unistd.h>

#include "actors/rig.h"

#define PATH_BYTES 256

struct tree {
    char root[64];
    char membership[PATH_BYTES];
};

static void
path_of(const struct tree *tree, const char *name, char *ret_path)
{
    rgi_check(snprintf(ret_path, PATH_BYTES, "%s/%s", tree->root, name) <
              PATH_BYTES);
}

static void
put(const struct tree *tree, const char *name, const char *text)
{
    char path[PATH_BYTES];
    FILE *file;

    path_of(tree, name, path);
    file = fopen(path, "w");
    rgi_check(file != NULL);
    rgi_check(fputs(text, file) >= 0);
    rgi_check(fclose(file) == 0);
}

static void
folder(const struct tree *tree, const char *name)
{
    char path[PATH_BYTES];

    path_of(tree, name, path);
    rgi_check(mkdir(path, 0700) == 0);
}

static void
drop(const struct tree *tree, const char *name)
{
    char path[PATH_BYTES];

    path_of(tree, name, path);
    (void)remove(path);
}

static void
tree_make(struct tree *tree, const char *membership)
{
    char *made;

    (void)snprintf(tree->root, sizeof(tree->root), "%s",
                   "/tmp/rgm-cpus-XXXXXX");
    made = mkdtemp(tree->root);
    rgi_check(made != NULL);
    put(tree, "membership", membership);
    path_of(tree, "membership", tree->membership);
}

static void
tree_drop(const struct tree *tree)
{
    drop(tree, "membership");
    rgi_check(rmdir(tree->root) == 0);
}

static uint32_t
cpus(const struct tree *tree)
{
    return rgi_cgroup_cpus(tree->root, tree->membership);
}

static void
no_quota_limits_nothing(void)
{
    struct tree tree;

    tree_make(&tree, "0::/\n");
    rgi_check(cpus(&tree) == UINT32_MAX);
    put(&tree, "cpu.max", "max 100000\n");
    rgi_check(cpus(&tree) == UINT32_MAX);
    put(&tree, "cpu.max", "rubbish\n");
    rgi_check(cpus(&tree) == UINT32_MAX);
    put(&tree, "cpu.max", "-1 100000\n");
    rgi_check(cpus(&tree) == UINT32_MAX);
    put(&tree, "cpu.max", "100000 0\n");
    rgi_check(cpus(&tree) == UINT32_MAX);
    put(&tree, "membership", "no colons at all\n");
    rgi_check(cpus(&tree) == UINT32_MAX);
    drop(&tree, "membership");
    rgi_check(cpus(&tree) == UINT32_MAX);
    drop(&tree, "cpu.max");
    tree_drop(&tree);
}

static void
field_b83_part_of_a_cpu_counts_as_a_whole_one(void)
{
    struct tree tree;

    tree_make(&tree, "0::/\n");
    put(&tree, "cpu.max", "50000 100000\n");
    rgi_check(cpus(&tree) == 1);
    put(&tree, "cpu.max", "150000 100000\n");
    rgi_check(cpus(&tree) == 2);
    put(&tree, "cpu.max", "400000 100000\n");
    rgi_check(cpus(&tree) == 4);
    drop(&tree, "cpu.max");
    tree_drop(&tree);
}

/* The smallest on the way up to the root counts. */
static void
field_b83_the_smallest_quota_on_the_way_up_counts(void)
{
    struct tree tree;

    tree_make(&tree, "0::/a/b\n");
    folder(&tree, "a");
    folder(&tree, "a/b");
    put(&tree, "a/b/cpu.max", "800000 100000\n");
    put(&tree, "a/cpu.max", "300000 100000\n");
    put(&tree, "cpu.max", "600000 100000\n");
    rgi_check(cpus(&tree) == 3);
    drop(&tree, "a/cpu.max");
    rgi_check(cpus(&tree) == 6);
    drop(&tree, "cpu.max");
    rgi_check(cpus(&tree) == 8);
    drop(&tree, "a/b/cpu.max");
    drop(&tree, "a/b");
    drop(&tree, "a");
    tree_drop(&tree);
}

/* The older kind: one line per controller, another pair of files. */
static void
field_b83_the_older_kind_is_read_too(void)
{
    struct tree tree;

    tree_make(&tree, "5:cpuset:/x\n4:cpu,cpuacct:/y\n1:name=systemd:/z\n");
    folder(&tree, "cpu");
    folder(&tree, "cpu/y");
    put(&tree, "cpu/y/cpu.cfs_quota_us", "250000\n");
    put(&tree, "cpu/y/cpu.cfs_period_us", "100000\n");
    rgi_check(cpus(&tree) == 3);
    put(&tree, "cpu/y/cpu.cfs_quota_us", "-1\n");
    rgi_check(cpus(&tree) == UINT32_MAX);
    drop(&tree, "cpu/y/cpu.cfs_quota_us");
    drop(&tree, "cpu/y/cpu.cfs_period_us");
    drop(&tree, "cpu/y");
    drop(&tree, "cpu");
    tree_drop(&tree);
}

static void
the_number_is_never_zero_and_never_more_than_the_machine_has(void)
{
    long machine = sysconf(_SC_NPROCESSORS_CONF);

    rgi_check(rgm_usable_cpus() >= 1);
    rgi_check(rgm_usable_cpus() <= (uint32_t)machine);
}

#define CASES(X)                                                               \
    X(cpus, no_quota_limits_nothing)                                           \
    X(cpus, field_b83_part_of_a_cpu_counts_as_a_whole_one)                     \
    X(cpus, field_b83_the_smallest_quota_on_the_way_up_counts)                 \
    X(cpus, field_b83_the_older_kind_is_read_too)                              \
    X(cpus, the_number_is_never_zero_and_never_more_than_the_machine_has)

RGI_CASES(CASES)
