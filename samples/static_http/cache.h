/* SPDX-License-Identifier: MIT */
#ifndef STATIC_HTTP_CACHE_H
#define STATIC_HTTP_CACHE_H

/*
 * cache.h - which files does a worker know, and are they still what they were?
 *
 * An entry is an open file, what a header says of it, and its bytes if they are
 * few. It is shared by all connections of its worker; who holds it may use it
 * also when the file has been replaced meanwhile, and answers from one version.
 * Once in a while (limits.fresh_ns) the first who wants it looks again.
 */

#include <uthash.h>

#include "samples/static_http/fields.h"
#include "samples/static_http/path.h"
#include "samples/static_http/server.h"

struct file_entry {
    struct rgm_file file;
    uint64_t size_bytes;
    uint64_t inode;
    int64_t modified_ns;
    int64_t changed_ns;
    uint64_t checked_ns;
    char *body; /* NULL: sent from the file */
    uint32_t held;
    bool listed;
    char tag[40];
    char modified[DATE_BYTES];
    char fields[320]; /* of every answer that is about this file */
    size_t fields_bytes;
    char head[448]; /* of the plain answer with everything, without the date */
    size_t head_bytes;
    char *whole; /* NULL, or that answer as it goes out, date and body included */
    size_t whole_bytes;
    uint64_t whole_until_ns; /* whose date it has: date_until_ns of the site */
    UT_hash_handle hh;
    char path[PATH_MAX_BYTES];
};

/* One for a path, held once and not listed. Returns: NULL without memory. */
struct file_entry *entry_make(const char *path);

/* What is known of the file: fills in all that follows from it. */
void entry_describe(struct file_entry *entry, const struct rgm_file_stat *stat);

void entry_hold(struct file_entry *entry);

/* The last one closes the file and frees the entry, if it is not listed. */
void entry_release(struct rgm_actor *self, struct site *site,
                   struct file_entry *entry);

/* Returns: the entry, held, or NULL: open the file and look. */
struct file_entry *
cache_find(struct site *site, const char *path, uint64_t now_ns);

/* The same by a request's target, without reading that: only if it is the one that
 * was found last. Clients ask for the same thing again and again, and a pipeline
 * does in one breath. */
struct file_entry *cache_find_again(struct site *site, const char *target,
                                    size_t target_bytes, uint64_t now_ns);

/* The entry was found by this target. */
void cache_remember(struct site *site, const char *target, size_t target_bytes,
                    struct file_entry *entry);

/* Lists what was fetched, in the place of what is there under the path: if that
 * is the same version, the one that is there stays. Gives up what has not been
 * used for longest when there is too much.
 * Returns: the one that is listed, held instead of the other. */
struct file_entry *cache_put(struct rgm_actor *self, struct site *site,
                             struct file_entry *entry, uint64_t now_ns);

/* The file is not there any more. */
void cache_forget(struct rgm_actor *self, struct site *site, const char *path);

/* Frees all entries; their files close with their worker. */
void cache_free(struct site *site);

#endif /* STATIC_HTTP_CACHE_H */
