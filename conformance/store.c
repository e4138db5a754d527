/* SPDX-License-Identifier: MIT */

/* store.c - where do a provider's files lie? In a directory, unless the fixture
 * has something else. */

#include "conformance/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "conformance/harness.h"

static char directory[64]; /* of the case that runs; empty: none yet */

static void
directory_path(struct stage *stage, const char *name, char *ret_path,
               size_t size_bytes)
{
    (void)stage;
    if (directory[0] == 0) {
        scratch_path(directory, sizeof(directory), "store");
        rgi_check(mkdtemp(directory) != NULL);
    }
    snprintf(ret_path, size_bytes, "%s/%s", directory, name);
}

static void
directory_put(struct stage *stage, const char *path, const void *bytes,
              size_t length_bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    (void)stage;
    rgi_check(fd >= 0);
    rgi_check(pwrite(fd, bytes, length_bytes, 0) == (ssize_t)length_bytes);
    rgi_check(close(fd) == 0);
}

static ssize_t
directory_look(struct stage *stage, const char *path, void *memory,
               size_t capacity_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t length;

    (void)stage;
    if (fd < 0)
        return -errno;
    rgi_check(pread(fd, memory, capacity_bytes, 0) >= 0);
    length = lseek(fd, 0, SEEK_END);
    rgi_check(close(fd) == 0);
    return length;
}

static void
directory_empty(struct stage *stage)
{
    struct dirent *entry;
    DIR *listing;

    (void)stage;
    if (directory[0] == 0)
        return;
    listing = opendir(directory);
    rgi_check(listing != NULL);
    while ((entry = readdir(listing)) != NULL)
        if (entry->d_name[0] != '.')
            rgi_check(unlinkat(dirfd(listing), entry->d_name, 0) == 0);
    rgi_check(closedir(listing) == 0);
    rgi_check(rmdir(directory) == 0);
    directory[0] = 0;
}

static const struct store_ops in_a_directory = {
    .path = directory_path,
    .put = directory_put,
    .look = directory_look,
    .empty = directory_empty,
};

const struct store_ops *
store_of(struct stage *stage)
{
    return stage->store != NULL ? stage->store : &in_a_directory;
}

bool
store_holds(struct stage *stage, const char *path, const void *bytes,
            size_t length_bytes)
{
    char memory[4096];

    rgi_check(length_bytes <= sizeof(memory));
    return store_of(stage)->look(stage, path, memory, sizeof(memory)) ==
               (ssize_t)length_bytes &&
           memcmp(memory, bytes, length_bytes) == 0;
}

bool
store_has(struct stage *stage, const char *path)
{
    char byte;

    return store_of(stage)->look(stage, path, &byte, 0) >= 0;
}
