/* SPDX-License-Identifier: MIT */

/* cache.c - which files does a worker know, and are they still what they were? */

#include "samples/static_http/cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file_entry *
entry_make(const char *path)
{
    struct file_entry *entry = calloc(1, sizeof(*entry));

    if (entry == NULL)
        return NULL;
    entry->held = 1;
    snprintf(entry->path, sizeof(entry->path), "%s", path);
    return entry;
}

void
entry_describe(struct file_entry *entry, const struct rgm_file_stat *stat)
{
    entry->size_bytes = stat->size_bytes;
    entry->inode = stat->inode;
    entry->modified_ns = stat->modified_ns;
    entry->changed_ns = stat->changed_ns;
    snprintf(entry->tag, sizeof(entry->tag), "\"%llx-%llx\"",
             (unsigned long long)stat->modified_ns,
             (unsigned long long)stat->size_bytes);
    date_write(stat->modified_ns / (int64_t)RGM_NS_PER_S, entry->modified);
    entry->fields_bytes = (size_t)snprintf(
        entry->fields, sizeof(entry->fields),
        "Server: static_http\r\nContent-Type: %s\r\nLast-Modified: %s\r\n"
        "ETag: %s\r\nAccept-Ranges: bytes\r\n",
        path_media_type(entry->path), entry->modified, entry->tag);
    entry->head_bytes = (size_t)snprintf(
        entry->head, sizeof(entry->head),
        "HTTP/1.1 200 OK\r\n%sContent-Length: %llu\r\n", entry->fields,
        (unsigned long long)entry->size_bytes);
}

void
entry_hold(struct file_entry *entry)
{
    entry->held++;
}

static void
entry_free(struct file_entry *entry)
{
    free(entry->whole);
    free(entry->body);
    free(entry);
}

void
entry_release(struct rgm_actor *self, struct site *site,
              struct file_entry *entry)
{
    (void)site;
    if (--entry->held > 0 || entry->listed)
        return;
    (void)rgm_socket_drop(self, &entry->file.handle);
    entry_free(entry);
}

static size_t
body_bytes(const struct file_entry *entry)
{
    return entry->body != NULL ? (size_t)entry->size_bytes : 0;
}

static void
list(struct site *site, struct file_entry *entry)
{
    HASH_ADD_STR(site->files, path, entry);
    entry->listed = true;
    site->files_count++;
    site->files_bytes += body_bytes(entry);
}

/* It goes when nobody holds it any more, which may be now. */
static void
unlist(struct rgm_actor *self, struct site *site, struct file_entry *entry)
{
    if (site->recent == entry)
        site->recent = NULL;
    HASH_DEL(site->files, entry);
    site->files_count--;
    site->files_bytes -= body_bytes(entry);
    entry->listed = false;
    entry_hold(entry);
    entry_release(self, site, entry);
}

/* To the end of the table, which is in the order of listing. */
static void
used(struct site *site, struct file_entry *entry)
{
    if (entry->hh.next == NULL)
        return;
    HASH_DEL(site->files, entry);
    HASH_ADD_STR(site->files, path, entry);
}

struct file_entry *
cache_find(struct site *site, const char *path, uint64_t now_ns)
{
    struct file_entry *entry;

    HASH_FIND_STR(site->files, path, entry);
    if (entry == NULL)
        return NULL;
    if (now_ns - entry->checked_ns >= server.limits.fresh_ns) {
        entry->checked_ns = now_ns; /* the others need not look, too */
        return NULL;
    }
    used(site, entry);
    entry_hold(entry);
    return entry;
}

struct file_entry *
cache_find_again(struct site *site, const char *target, size_t target_bytes,
                 uint64_t now_ns)
{
    struct file_entry *entry = site->recent;

    if (entry == NULL || target_bytes != site->recent_bytes ||
        memcmp(target, site->recent_target, target_bytes) != 0 ||
        now_ns - entry->checked_ns >= server.limits.fresh_ns)
        return NULL;
    used(site, entry);
    entry_hold(entry);
    return entry;
}

void
cache_remember(struct site *site, const char *target, size_t target_bytes,
               struct file_entry *entry)
{
    if (target_bytes > sizeof(site->recent_target))
        return;
    memcpy(site->recent_target, target, target_bytes);
    site->recent_bytes = (uint32_t)target_bytes;
    site->recent = entry;
}

static bool
same_version(const struct file_entry *one, const struct file_entry *other)
{
    return one->inode == other->inode && one->size_bytes == other->size_bytes &&
           one->modified_ns == other->modified_ns &&
           one->changed_ns == other->changed_ns;
}

static void
make_room(struct rgm_actor *self, struct site *site)
{
    while (site->files_count > server.limits.cache_files ||
           site->files_bytes > server.limits.cache_bytes)
        unlist(self, site, site->files);
}

struct file_entry *
cache_put(struct rgm_actor *self, struct site *site, struct file_entry *entry,
          uint64_t now_ns)
{
    struct file_entry *before;

    HASH_FIND_STR(site->files, entry->path, before);
    if (before != NULL && same_version(before, entry)) {
        entry_hold(before);
        entry_release(self, site, entry);
        before->checked_ns = now_ns;
        used(site, before);
        return before;
    }
    if (before != NULL)
        unlist(self, site, before);
    entry->checked_ns = now_ns;
    list(site, entry);
    make_room(self, site);
    return entry;
}

void
cache_forget(struct rgm_actor *self, struct site *site, const char *path)
{
    struct file_entry *entry;

    HASH_FIND_STR(site->files, path, entry);
    if (entry != NULL)
        unlist(self, site, entry);
}

void
cache_free(struct site *site)
{
    struct file_entry *entry, *next;

    HASH_ITER(hh, site->files, entry, next)
    {
        HASH_DEL(site->files, entry);
        entry_free(entry);
    }
}
