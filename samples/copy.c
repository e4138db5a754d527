/* SPDX-License-Identifier: MIT */

/*
 * copy.c - how is a file copied with two buffers, both of them always busy?
 *
 *     copy [--verify] [--threads] SOURCE TARGET
 *
 * One actor. Each buffer goes round: filled from the source, emptied into the
 * target, at the next place that nobody has taken. So a read and a write are out
 * at the same time, and no more memory is used however long the file is.
 *
 * A file that grows meanwhile is copied as far as it went when its end was met
 * first: what the other buffer has found behind that is cut off.
 *
 * The target is synced before the copy is called good; with --verify it is also
 * read again and compared. Holes are not preserved. Without io_uring use
 * --threads.
 */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ringmail/ringmail.h>

#define CHUNK_BYTES ((size_t)1 << 18)
#define BAR_WIDTH 40

struct wish {
    const char *from;
    const char *to;
    bool verify;
    bool threads;
};

struct slot {
    struct rgm_lease lease; /* while neither record has it */
    struct rgm_file_read read;
    struct rgm_file_write write;
    bool filled; /* verifying: its read is home */
};

struct copier {
    struct rgm_actor actor;
    struct wish wish;
    struct rgm_pool *pool;
    struct rgm_file source;
    struct rgm_file target;
    struct rgm_file_open open;
    struct rgm_file_stat source_stat;
    struct rgm_file_stat target_stat;
    struct rgm_file_truncate truncate;
    struct rgm_file_sync sync;
    struct rgm_close close;
    struct slot slots[2];
    uint64_t next_bytes; /* the first place nobody has taken */
    uint64_t end_bytes;  /* the first end of the source that was met */
    uint64_t done_bytes;
    unsigned turning; /* slots that go round */
    unsigned shown;   /* percent on the terminal; 101: nothing yet */
    bool failing;     /* what is out ends because of that */
};

static int result = 1;

RGM_FACTORY(copier, wish, copier_make);
RGM_HOOK(copier, copier_started);
RGM_HOOK(copier, copier_stopped);
RGM_ANSWER(copier, rgm_file_open, on_source);
RGM_ANSWER(copier, rgm_file_open, on_target);
RGM_ANSWER(copier, rgm_file_stat, on_source_stat);
RGM_ANSWER(copier, rgm_file_stat, on_target_stat);
RGM_ANSWER(copier, rgm_file_truncate, on_truncated);
RGM_ANSWER(copier, rgm_file_read, on_read);
RGM_ANSWER(copier, rgm_file_write, on_written);
RGM_ANSWER(copier, rgm_file_truncate, on_cut);
RGM_ANSWER(copier, rgm_file_sync, on_synced);
RGM_ANSWER(copier, rgm_file_read, on_compared);
RGM_ANSWER(copier, rgm_close, on_closed);

/* ------------------------------------------------------------------ people */

/* Says what went wrong first; the actor ends, and takes back all it has out. */
static void
fail(struct copier *self, const char *what, const char *name, const char *why)
{
    if (self->failing)
        return;
    self->failing = true;
    if (self->shown <= 100)
        fputc('\n', stderr);
    self->shown = 101;
    fprintf(stderr, "copy: cannot %s '%s': %s\n", what, name, why);
    rgm_stop(self);
}

static bool
failed(struct copier *self, int status, const char *what, const char *name)
{
    if (status != 0)
        fail(self, what, name, strerror(-status));
    return status != 0;
}

/* On a terminal only, and only when it would look different. */
static void
show(struct copier *self, const char *what)
{
    uint64_t size_bytes = self->source_stat.size_bytes;
    unsigned percent =
        size_bytes == 0 ? 100
                        : (unsigned)(self->done_bytes * 100 / size_bytes);
    char bar[BAR_WIDTH + 1];

    if (percent > 100) /* it has grown */
        percent = 100;
    if (!isatty(STDERR_FILENO) || percent == self->shown)
        return;
    self->shown = percent;
    for (unsigned i = 0; i < BAR_WIDTH; i++)
        bar[i] = i < percent * BAR_WIDTH / 100 ? '#' : ' ';
    bar[BAR_WIDTH] = '\0';
    fprintf(stderr, "\r%-9s [%s] %3u %%", what, bar, percent);
}

static void
show_end(struct copier *self)
{
    if (self->shown <= 100)
        fputc('\n', stderr);
    self->shown = 101;
}

/* ----------------------------------------------------------------- opening */

static int
copier_make(struct copier *self, const struct wish *wish)
{
    const struct rgm_pool_options options = {
        .name = "copy", .slots_count = 2, .slot_size_bytes = CHUNK_BYTES};
    int status = rgm_pool_create(&options, &self->pool);

    self->wish = *wish;
    self->shown = 101;
    self->end_bytes = UINT64_MAX;
    return status;
}

static void
copier_started(struct copier *self)
{
    rgm_file_open(&self->open, rgm_here(self), &self->source, self->wish.from,
                  RGM_FILE_READ, 0);
    rgm_ask(self, &self->open, RGM_REPLY(copier, rgm_file_open, on_source));
}

static void
on_source(struct copier *self, struct rgm_file_open *open)
{
    if (failed(self, rgm_status(open), "open", self->wish.from))
        return;
    rgm_file_stat(&self->source_stat, &self->source);
    rgm_ask(self, &self->source_stat,
            RGM_REPLY(copier, rgm_file_stat, on_source_stat));
}

static void
on_source_stat(struct copier *self, struct rgm_file_stat *stat)
{
    if (failed(self, rgm_status(stat), "look at", self->wish.from))
        return;
    if (stat->kind != RGM_FILE_KIND_REGULAR) {
        fail(self, "copy", self->wish.from, "not a regular file");
        return;
    }
    /* Not truncated yet: it could be the same file. */
    rgm_file_open(&self->open, rgm_here(self), &self->target, self->wish.to,
                  RGM_FILE_READ | RGM_FILE_WRITE | RGM_FILE_CREATE,
                  stat->mode & 0777);
    rgm_ask(self, &self->open, RGM_REPLY(copier, rgm_file_open, on_target));
}

static void
on_target(struct copier *self, struct rgm_file_open *open)
{
    if (failed(self, rgm_status(open), "create", self->wish.to))
        return;
    rgm_file_stat(&self->target_stat, &self->target);
    rgm_ask(self, &self->target_stat,
            RGM_REPLY(copier, rgm_file_stat, on_target_stat));
}

static void
on_target_stat(struct copier *self, struct rgm_file_stat *stat)
{
    if (failed(self, rgm_status(stat), "look at", self->wish.to))
        return;
    if (stat->device == self->source_stat.device &&
        stat->inode == self->source_stat.inode) {
        fail(self, "copy to", self->wish.to, "it is the source");
        return;
    }
    if (stat->kind != RGM_FILE_KIND_REGULAR) {
        fail(self, "copy to", self->wish.to, "not a regular file");
        return;
    }
    rgm_file_truncate(&self->truncate, &self->target, 0);
    rgm_ask(self, &self->truncate,
            RGM_REPLY(copier, rgm_file_truncate, on_truncated));
}

/* ----------------------------------------------------------------- copying */

static void
read_next(struct copier *self, struct slot *slot)
{
    rgm_file_read_lease(&slot->read, &self->source, &slot->lease,
                        self->next_bytes);
    slot->read.all = true;
    self->next_bytes += CHUNK_BYTES;
    rgm_ask(self, &slot->read, RGM_REPLY(copier, rgm_file_read, on_read));
}

static void
on_truncated(struct copier *self, struct rgm_file_truncate *truncate)
{
    if (failed(self, rgm_status(truncate), "truncate", self->wish.to))
        return;
    for (unsigned i = 0; i < 2; i++) {
        int status = rgm_pool_try_acquire(self->pool, &self->slots[i].lease);

        if (failed(self, status, "buffer", self->wish.from))
            return;
    }
    self->turning = 2;
    for (unsigned i = 0; i < 2; i++)
        read_next(self, &self->slots[i]);
}

/* The slot whose read or write is home. */
#define SLOT_OF(self, member, record)                                          \
    (&(self)->slots[(record) != &(self)->slots[0].member])

/* A record gives its lease back, and keeps no copy of it. */
static struct rgm_lease
take(struct rgm_lease *lease)
{
    struct rgm_lease taken = *lease;

    *lease = (struct rgm_lease){0};
    return taken;
}

/* It goes round no more. After the last one the target ends where the source did. */
static void
slot_done(struct copier *self)
{
    if (--self->turning > 0)
        return;
    show_end(self);
    rgm_file_truncate(&self->truncate, &self->target, self->end_bytes);
    rgm_ask(self, &self->truncate,
            RGM_REPLY(copier, rgm_file_truncate, on_cut));
}

static void
on_cut(struct copier *self, struct rgm_file_truncate *truncate)
{
    if (failed(self, rgm_status(truncate), "truncate", self->wish.to))
        return;
    rgm_file_sync(&self->sync, &self->target);
    rgm_ask(self, &self->sync, RGM_REPLY(copier, rgm_file_sync, on_synced));
}

static void
on_read(struct copier *self, struct rgm_file_read *read)
{
    struct slot *slot = SLOT_OF(self, read, read);

    slot->lease = take(&read->lease);
    if (failed(self, rgm_status(read), "read", self->wish.from))
        return;
    if (read->count < CHUNK_BYTES &&
        read->offset_bytes + read->count < self->end_bytes)
        self->end_bytes = read->offset_bytes + read->count;
    if (read->offset_bytes >= self->end_bytes) {
        slot_done(self);
        return;
    }
    rgm_file_write_lease(&slot->write, &self->target, &slot->lease, read->count,
                         read->offset_bytes);
    slot->write.all = true;
    rgm_ask(self, &slot->write, RGM_REPLY(copier, rgm_file_write, on_written));
}

static void
on_written(struct copier *self, struct rgm_file_write *write)
{
    struct slot *slot = SLOT_OF(self, write, write);

    slot->lease = take(&write->lease);
    if (failed(self, rgm_status(write), "write", self->wish.to))
        return;
    self->done_bytes += write->count;
    show(self, "copying");
    if (self->next_bytes < self->end_bytes)
        read_next(self, slot);
    else
        slot_done(self);
}

/* --------------------------------------------------------------- verifying */

static void
close_target(struct copier *self)
{
    rgm_file_close(&self->close, &self->target);
    rgm_ask(self, &self->close, RGM_REPLY(copier, rgm_close, on_closed));
}

/* The same piece of both files, one in each buffer. */
static void
compare_next(struct copier *self)
{
    struct rgm_file *files[2] = {&self->source, &self->target};

    for (unsigned i = 0; i < 2; i++) {
        struct slot *slot = &self->slots[i];

        slot->filled = false;
        rgm_file_read_lease(&slot->read, files[i], &slot->lease,
                            self->done_bytes);
        slot->read.all = true;
        rgm_ask(self, &slot->read,
                RGM_REPLY(copier, rgm_file_read, on_compared));
    }
}

static void
on_synced(struct copier *self, struct rgm_file_sync *sync)
{
    if (failed(self, rgm_status(sync), "sync", self->wish.to))
        return;
    self->done_bytes = 0;
    if (self->wish.verify)
        compare_next(self);
    else
        close_target(self);
}

/* What counts of a piece. */
static size_t
compared_bytes(const struct copier *self, const struct rgm_file_read *read)
{
    uint64_t left = self->end_bytes - self->done_bytes;

    return read->count < left ? read->count : (size_t)left;
}

static void
on_compared(struct copier *self, struct rgm_file_read *read)
{
    struct slot *slot = SLOT_OF(self, read, read);
    const struct slot *first = &self->slots[0];
    const struct slot *second = &self->slots[1];
    size_t count;

    slot->lease = take(&read->lease);
    slot->filled = true;
    if (failed(self, rgm_status(read), "read",
               slot == first ? self->wish.from : self->wish.to))
        return;
    if (!first->filled || !second->filled)
        return;
    count = compared_bytes(self, &first->read);
    if (count != compared_bytes(self, &second->read) ||
        memcmp(first->lease.data, second->lease.data, count) != 0) {
        fail(self, "verify", self->wish.to, "it differs from the source");
        return;
    }
    self->done_bytes += count;
    show(self, "verifying");
    if (count > 0) {
        compare_next(self);
        return;
    }
    show_end(self);
    close_target(self);
}

/* ------------------------------------------------------------------ the end */

static void
on_closed(struct copier *self, struct rgm_close *close)
{
    if (failed(self, rgm_status(close), "close", self->wish.to))
        return;
    result = 0;
    rgm_stop(self);
}

/* Nothing is out any more: what is left is here. */
static void
copier_stopped(struct copier *self)
{
    for (unsigned i = 0; i < 2; i++) {
        struct slot *slot = &self->slots[i];

        (void)rgm_lease_drop(&slot->lease);
        (void)rgm_lease_drop(&slot->read.lease);
        (void)rgm_lease_drop(&slot->write.lease);
    }
    (void)rgm_file_drop(self, &self->source);
    (void)rgm_file_drop(self, &self->target);
    rgm_pool_destroy(self->pool);
}

static const struct rgm_behaviour copier_behaviour = {
    .name = "copier",
    .size_bytes = sizeof(struct copier),
    .factory = RGM_MAKE(copier, copier_make),
    .started = RGM_DO(copier, copier_started),
    .stopped = RGM_DO(copier, copier_stopped),
};

static bool
understand(int argc, char **argv, struct wish *wish)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--verify") == 0)
            wish->verify = true;
        else if (strcmp(argv[i], "--threads") == 0)
            wish->threads = true;
        else if (argv[i][0] == '-' || wish->to != NULL)
            return false;
        else if (wish->from == NULL)
            wish->from = argv[i];
        else
            wish->to = argv[i];
    }
    return wish->to != NULL;
}

int
main(int argc, char **argv)
{
    struct rgm_runtime_options options = {.workers = 1};
    struct rgm_runtime *runtime;
    struct wish wish = {0};
    int status;

    if (!understand(argc, argv, &wish)) {
        fprintf(stderr, "usage: copy [--verify] [--threads] SOURCE TARGET\n");
        return 2;
    }
    if (wish.threads)
        options.provider = &rgm_provider_threads;
    status = rgm_runtime_create(&options, &runtime);
    if (status != 0) {
        fprintf(stderr, "copy: no runtime: %s\n", strerror(-status));
        return 1;
    }
    status = rgm_runtime_run(runtime, &copier_behaviour, &wish);
    if (status != 0)
        fprintf(stderr, "copy: %s: %s\n", strerror(-status),
                rgm_runtime_error(runtime));
    (void)rgm_runtime_destroy(runtime);
    return result;
}
