/* SPDX-License-Identifier: MIT */
#ifndef CONFORMANCE_STORE_H
#define CONFORMANCE_STORE_H

/*
 * store.h - where do a provider's files lie, and how does a case look at them
 * by a road that does not use the provider?
 *
 * Unless the fixture has a store of its own: in a directory of the case's own,
 * and by open, pread and write.
 *
 * Thread of all of them: the case's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct stage;

struct store_ops {
    /* A path for this name that nobody else uses. */
    void (*path)(struct stage *stage, const char *name, char *ret_path,
                 size_t size_bytes);
    /* Make the file hold these bytes and no more. */
    void (*put)(struct stage *stage, const char *path, const void *bytes,
                size_t length_bytes);
    /* Returns: the file's length, of which at most `capacity_bytes` from the
     * start are in *memory; -ENOENT when there is none. */
    ssize_t (*look)(struct stage *stage, const char *path, void *memory,
                    size_t capacity_bytes);
    /* Nothing is left of what the case has made. */
    void (*empty)(struct stage *stage);
};

/* The stage's, or the one described above. */
const struct store_ops *store_of(struct stage *stage);

/* Whether the file holds these bytes and no more, looked at by the other road. */
bool store_holds(struct stage *stage, const char *path, const void *bytes,
                 size_t length_bytes);
bool store_has(struct stage *stage, const char *path);

#endif /* CONFORMANCE_STORE_H */
