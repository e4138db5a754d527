/* SPDX-License-Identifier: MIT */

/*
 * fetch.c - how does a file become known?
 *
 * 1. It is opened within the directory, so that no link leads out of it.
 * 2. It is looked at: a directory is somewhere else, what is no regular file is
 *    nothing for a client.
 * 3. If it is small its bytes are read; if not all of them are there, it has
 *    just changed, and it is sent from the file this once.
 *
 * Several connections may fetch the same file at once; the first to be done is
 * listed. A file that makes us wait, as a pipe does, ends at a deadline.
 */

#include "samples/static_http/connection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FETCH_NS (10 * RGM_NS_PER_S)

struct fetch {
    struct file_entry *entry;
    char *body;
    union { /* one at a time */
        struct rgm_file_open open;
        struct rgm_file_stat stat;
        struct rgm_file_read read;
    } operation;
};

RGM_ANSWER(connection, rgm_file_open, on_file_opened);
RGM_ANSWER(connection, rgm_file_stat, on_file_known);
RGM_ANSWER(connection, rgm_file_read, on_file_read);

static void
fetch_end(struct connection *self)
{
    free(self->fetch->body);
    free(self->fetch);
    self->fetch = NULL;
}

/* There is no such file, or it is somewhere else. */
static void
finish(struct connection *self, int status)
{
    struct file_entry *entry = self->fetch->entry;

    fetch_end(self);
    connection_fetched(self, NULL, status, entry->path);
    entry_release(&self->actor, self->site, entry);
}

static void
fail(struct connection *self, int error)
{
    int status = 500;

    if (error == -ENOENT || error == -ENOTDIR || error == -ENAMETOOLONG ||
        error == -EXDEV || error == -ELOOP)
        status = 404;
    else if (error == -EACCES || error == -EPERM || error == -ENXIO)
        status = 403;
    else if (error == -EMFILE || error == -ENFILE || error == -ENOMEM ||
             error == -ECANCELED || error == -ETIMEDOUT)
        status = 503;
    if (status == 404)
        cache_forget(&self->actor, self->site, self->fetch->entry->path);
    finish(self, status);
}

/* What was fetched may be gone once it has been listed. */
static void
found(struct connection *self)
{
    struct file_entry *entry = self->fetch->entry;

    entry->body = self->fetch->body;
    self->fetch->body = NULL;
    fetch_end(self);
    entry = cache_put(&self->actor, self->site, entry, rgm_now(&self->actor));
    connection_fetched(self, entry, 0, entry->path);
}

bool
fetch_begin(struct connection *self, const char *path)
{
    struct fetch *fetch = calloc(1, sizeof(*fetch));

    if (fetch == NULL)
        return false;
    fetch->entry = entry_make(path);
    if (fetch->entry == NULL) {
        free(fetch);
        return false;
    }
    self->fetch = fetch;
    rgm_file_open_within(&fetch->operation.open, &self->site->root,
                         &fetch->entry->file, fetch->entry->path,
                         RGM_FILE_READ, 0);
    rgm_expire_after(&fetch->operation.open, FETCH_NS);
    rgm_ask(self, &fetch->operation.open,
            RGM_REPLY(connection, rgm_file_open, on_file_opened));
    return true;
}

void
fetch_cancel(struct connection *self)
{
    if (self->fetch != NULL)
        rgm_cancel(self, &self->fetch->operation.open); /* whichever is out */
}

static void
on_file_opened(struct connection *self, struct rgm_file_open *open)
{
    struct fetch *fetch = self->fetch;
    int status = rgm_status(open);

    if (status != 0) {
        fail(self, status);
        return;
    }
    rgm_file_stat(&fetch->operation.stat, &fetch->entry->file);
    rgm_ask(self, &fetch->operation.stat,
            RGM_REPLY(connection, rgm_file_stat, on_file_known));
}

static void
on_file_known(struct connection *self, struct rgm_file_stat *stat)
{
    struct fetch *fetch = self->fetch;
    int status = rgm_status(stat);

    if (status != 0) {
        fail(self, status);
        return;
    }
    if (stat->kind != RGM_FILE_KIND_REGULAR) {
        finish(self, stat->kind == RGM_FILE_KIND_DIRECTORY ? 301 : 403);
        return;
    }
    entry_describe(fetch->entry, stat);
    if (stat->size_bytes > server.limits.cached_bytes || stat->size_bytes == 0)
        found(self);
    else {
        size_t size_bytes = (size_t)stat->size_bytes;

        fetch->body = malloc(size_bytes);
        if (fetch->body == NULL) {
            fail(self, -ENOMEM);
            return;
        }
        rgm_file_read_all_at(&fetch->operation.read, &fetch->entry->file,
                             fetch->body, size_bytes, 0);
        rgm_ask(self, &fetch->operation.read,
                RGM_REPLY(connection, rgm_file_read, on_file_read));
    }
}

static void
on_file_read(struct connection *self, struct rgm_file_read *read)
{
    struct fetch *fetch = self->fetch;
    int status = rgm_status(read);

    if (status != 0) {
        fail(self, status);
        return;
    }
    if (read->count < fetch->entry->size_bytes) {
        free(fetch->body); /* it has become shorter */
        fetch->body = NULL;
    }
    found(self);
}
