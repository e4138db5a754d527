/* SPDX-License-Identifier: MIT */

/* files.c - files that are arrays of bytes with a path. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "samples/provider_template/parts.h"

#define FILE_BYTES_MAX ((uint64_t)1 << 26) /* -EFBIG beyond it */

static struct memory_file *
file_at(struct memory_world *world, const char *path)
{
    struct memory_file *file = world->files;

    while (file != NULL && (file->unlinked || strcmp(file->path, path) != 0))
        file = file->next;
    return file;
}

static struct memory_file *
file_new(struct memory_world *world, const char *path, uint32_t mode)
{
    struct memory_file *file = calloc(1, sizeof(*file));

    if (file == NULL)
        return NULL;
    snprintf(file->path, sizeof(file->path), "%s", path);
    file->mode = mode;
    file->inode = ++world->last_inode;
    file->next = world->files;
    world->files = file;
    return file;
}

static void
file_free(struct memory_world *world, struct memory_file *file)
{
    struct memory_file **link = &world->files;

    while (*link != file)
        link = &(*link)->next;
    *link = file->next;
    free(file->bytes);
    free(file);
}

void
memory_file_close(struct memory_world *world, struct memory_file *file)
{
    if (--file->opened == 0 && file->unlinked)
        file_free(world, file);
}

/* What is new reads as zeros. */
static int
resize(struct memory_file *file, uint64_t size_bytes)
{
    unsigned char *bytes;

    if (size_bytes > FILE_BYTES_MAX)
        return -EFBIG;
    bytes = realloc(file->bytes, size_bytes + 1);
    if (bytes == NULL)
        return -ENOMEM;
    file->bytes = bytes;
    if (size_bytes > file->size_bytes)
        memset(bytes + file->size_bytes, 0, size_bytes - file->size_bytes);
    file->size_bytes = size_bytes;
    return 0;
}

/* --------------------------------------------------------------- operations */

/* Ends with a handle, or not at all. */
static int
open_to(struct memory_world *world, struct rgm_file_open *open,
        struct memory_file *file)
{
    struct memory_handle *handle = memory_handle_new(world, MEMORY_FILE);

    if (handle == NULL)
        return -ENOMEM;
    if ((open->flags & RGM_FILE_TRUNCATE) != 0)
        file->size_bytes = 0;
    file->opened++;
    handle->file = file;
    handle->flags = open->flags;
    rgm_operation_open(&open->operation, (uintptr_t)handle);
    return 0;
}

static int
do_open(struct memory_world *world, struct rgm_file_open *open)
{
    const uint32_t fresh = RGM_FILE_CREATE | RGM_FILE_EXCLUSIVE;
    struct memory_file *file;

    if (open->path == NULL)
        return -ENOTSUP; /* there are no descriptors to import */
    if (strlen(open->path) >= sizeof(file->path))
        return -ENAMETOOLONG;
    file = file_at(world, open->path);
    if (file != NULL && (open->flags & fresh) == fresh)
        return -EEXIST;
    if (file == NULL && (open->flags & RGM_FILE_CREATE) == 0)
        return -ENOENT;
    if (file == NULL)
        file = file_new(world, open->path, open->mode);
    return file != NULL ? open_to(world, open, file) : -ENOMEM;
}

/* Where a transfer is, and whether it moves the cursor. */
static uint64_t
place_of(const struct memory_handle *handle, uint64_t offset_bytes)
{
    if ((handle->flags & RGM_FILE_APPEND) != 0)
        return handle->file->size_bytes;
    return offset_bytes == RGM_FILE_CURSOR ? handle->cursor : offset_bytes;
}

static void
moved(struct memory_handle *handle, uint64_t offset_bytes, uint64_t place,
      size_t count)
{
    if (offset_bytes == RGM_FILE_CURSOR)
        handle->cursor = place + count;
}

static int
do_read(struct rgm_file_read *read)
{
    struct memory_handle *handle = memory_handle_at(&read->file->handle);
    const struct memory_file *file = handle->file;
    uint64_t place = read->offset_bytes == RGM_FILE_CURSOR ? handle->cursor
                                                           : read->offset_bytes;
    size_t wanted = 0;

    if ((handle->flags & RGM_FILE_READ) == 0)
        return -EBADF;
    for (size_t i = 0; i < read->vectors_count; i++) {
        uint64_t at = place + read->count;
        size_t left = at < file->size_bytes ? file->size_bytes - at : 0;
        size_t room = read->vectors[i].length_bytes;
        size_t count = room < left ? room : left;

        if (count > 0)
            memcpy((void *)(uintptr_t)read->vectors[i].data, file->bytes + at,
                   count);
        wanted += room;
        read->count += count;
    }
    read->end = wanted > 0 && read->count == 0;
    moved(handle, read->offset_bytes, place, read->count);
    return 0;
}

static int
do_write(struct rgm_file_write *write)
{
    struct memory_handle *handle = memory_handle_at(&write->file->handle);
    struct memory_file *file = handle->file;
    uint64_t place = place_of(handle, write->offset_bytes);

    if ((handle->flags & RGM_FILE_WRITE) == 0)
        return -EBADF;
    for (size_t i = 0; i < write->vectors_count; i++) {
        uint64_t at = place + write->count;
        size_t count = write->vectors[i].length_bytes;

        if (at + count > file->size_bytes) {
            int status = resize(file, at + count);

            if (status < 0)
                return status;
        }
        if (count > 0)
            memcpy(file->bytes + at, write->vectors[i].data, count);
        write->count += count;
    }
    moved(handle, write->offset_bytes, place, write->count);
    return 0;
}

static int
do_seek(struct rgm_file_seek *seek)
{
    struct memory_handle *handle = memory_handle_at(&seek->file->handle);
    int64_t from = 0;

    if (seek->whence == RGM_FILE_FROM_CURSOR)
        from = (int64_t)handle->cursor;
    else if (seek->whence == RGM_FILE_FROM_END)
        from = (int64_t)handle->file->size_bytes;
    if (from + seek->offset_bytes < 0)
        return -EINVAL;
    handle->cursor = (uint64_t)(from + seek->offset_bytes);
    seek->position_bytes = handle->cursor;
    return 0;
}

static int
do_stat(struct memory_world *world, struct rgm_file_stat *stat)
{
    const struct memory_file *file =
        stat->path != NULL ? file_at(world, stat->path)
                           : memory_handle_at(&stat->file->handle)->file;

    if (file == NULL)
        return -ENOENT;
    stat->kind = RGM_FILE_KIND_REGULAR;
    stat->mode = file->mode;
    stat->size_bytes = file->size_bytes;
    stat->stored_bytes = file->size_bytes;
    stat->links = file->unlinked ? 0 : 1;
    stat->inode = file->inode;
    return 0;
}

static int
do_truncate(struct rgm_file_truncate *truncate)
{
    struct memory_handle *handle = memory_handle_at(&truncate->file->handle);

    if ((handle->flags & RGM_FILE_WRITE) == 0)
        return -EINVAL; /* as ftruncate(2) */
    return resize(handle->file, truncate->size_bytes);
}

static void
unlink_file(struct memory_world *world, struct memory_file *file)
{
    file->unlinked = true;
    if (file->opened == 0)
        file_free(world, file);
}

static int
do_path(struct memory_world *world, struct rgm_path *path)
{
    struct memory_file *from = file_at(world, path->from);
    struct memory_file *to;

    if (path->act == RGM_PATH_MAKE_DIRECTORY ||
        path->act == RGM_PATH_REMOVE_DIRECTORY)
        return -ENOTSUP;
    if (from == NULL)
        return -ENOENT;
    if (path->act == RGM_PATH_UNLINK) {
        unlink_file(world, from);
        return 0;
    }
    to = file_at(world, path->to);
    if (to != NULL && path->act == RGM_PATH_RENAME_EXCLUSIVE)
        return -EEXIST;
    if (to != NULL && to != from)
        unlink_file(world, to);
    snprintf(from->path, sizeof(from->path), "%s", path->to);
    return 0;
}

int
memory_attempt_file(struct memory_world *world, struct rgm_operation *operation)
{
    switch (operation->kind) {
    case RGM_OP_FILE_OPEN:
        return do_open(world, (void *)operation);
    case RGM_OP_FILE_READ:
        return do_read((void *)operation);
    case RGM_OP_FILE_WRITE:
        return do_write((void *)operation);
    case RGM_OP_FILE_SEEK:
        return do_seek((void *)operation);
    case RGM_OP_FILE_STAT:
        return do_stat(world, (void *)operation);
    case RGM_OP_FILE_TRUNCATE:
        return do_truncate((void *)operation);
    case RGM_OP_PATH:
        return do_path(world, (void *)operation);
    default:
        return 0; /* a sync: memory is as durable as it gets */
    }
}

/* --------------------------------------------------------------- for a test */

ssize_t
memory_file_look(struct memory_world *world, const char *path, void *memory,
                 size_t capacity_bytes)
{
    const struct memory_file *file;
    ssize_t length = -ENOENT;

    pthread_mutex_lock(&world->lock);
    file = file_at(world, path);
    if (file != NULL) {
        size_t count = file->size_bytes < capacity_bytes ? file->size_bytes
                                                         : capacity_bytes;

        if (count > 0)
            memcpy(memory, file->bytes, count);
        length = (ssize_t)file->size_bytes;
    }
    pthread_mutex_unlock(&world->lock);
    return length;
}

int
memory_file_put(struct memory_world *world, const char *path, const void *bytes,
                size_t length_bytes)
{
    struct memory_file *file;
    int status = -ENOMEM;

    pthread_mutex_lock(&world->lock);
    file = file_at(world, path);
    if (file == NULL)
        file = file_new(world, path, 0600);
    if (file != NULL)
        status = resize(file, length_bytes);
    if (status == 0 && length_bytes > 0)
        memcpy(file->bytes, bytes, length_bytes);
    pthread_mutex_unlock(&world->lock);
    return status;
}
