/* SPDX-License-Identifier: MIT */

/* file_base_cases.c - what must every provider of files show, wherever they
 * lie? */

#include "conformance/file_base_cases.h"

#include <stdio.h>

#include "conformance/store.h"

STEP(base_read_step, rgm_file_read);
STEP(base_write_step, rgm_file_write);

#define HERE rgm_worker_address(0)
#define BOTH (RGM_FILE_READ | RGM_FILE_WRITE)

/* A stage with one file, which holds "0123456789" and is open both ways. */
struct play {
    char path[128];
    struct rgm_file file;
};

static int
open_file(struct stage *stage, struct rgm_file *file, const char *path,
          uint32_t flags)
{
    struct rgm_file_open open;

    *file = (struct rgm_file){0};
    rgm_file_open(&open, HERE, file, path, flags, 0600);
    return rgm_call(stage->runtime, &open);
}

static int
close_file(struct stage *stage, struct rgm_file *file)
{
    struct rgm_close close;

    rgm_file_close(&close, file);
    return rgm_call(stage->runtime, &close);
}

static void
play_open(struct stage *stage, struct play *play)
{
    const struct store_ops *store = store_of(stage);

    stage_open(stage);
    store->path(stage, "digits", play->path, sizeof(play->path));
    store->put(stage, play->path, "0123456789", 10);
    rgi_check(open_file(stage, &play->file, play->path, BOTH) == 0);
}

static void
play_close(struct stage *stage, struct play *play)
{
    rgi_check(close_file(stage, &play->file) == 0);
    store_of(stage)->empty(stage);
    stage_close(stage);
}

/* All of it, in as many transfers as it takes. Returns: 0 or the error. */
static int
write_at(struct stage *stage, struct rgm_file *file, const char *text,
         uint64_t offset_bytes)
{
    struct rgm_file_write write;
    int status;

    rgm_file_write_all_at(&write, file, text, strlen(text), offset_bytes);
    status = rgm_call(stage->runtime, &write);
    rgi_check(status < 0 || write.count == strlen(text));
    return status;
}

static bool
reads_at(struct stage *stage, struct rgm_file *file, const char *text,
         uint64_t offset_bytes)
{
    struct rgm_file_read read;
    char bytes[64];

    rgm_file_read_all_at(&read, file, bytes, strlen(text), offset_bytes);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    return read.count == strlen(text) && memcmp(bytes, text, read.count) == 0;
}

void
cnf_10_what_was_written_is_in_the_store(struct stage *stage)
{
    struct rgm_vector pieces[2] = {{"ab", 2}, {"cde", 3}};
    struct rgm_file_write write;
    struct play play;

    play_open(stage, &play);
    rgi_check(write_at(stage, &play.file, "XYZ", 3) == 0);
    rgi_check(store_holds(stage, play.path, "012XYZ6789", 10));
    rgi_check(write_at(stage, &play.file, "!", 12) == 0);
    rgi_check(store_holds(stage, play.path, "012XYZ6789\0\0!", 13));
    rgm_file_write_vectors(&write, &play.file, pieces, 2, 0);
    write.all = true;
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 5);
    rgi_check(store_holds(stage, play.path, "abcdeZ6789\0\0!", 13));
    rgi_check(pieces[0].length_bytes == 2 && pieces[1].length_bytes == 3);
    play_close(stage, &play);
}

void
cnf_10_what_is_in_the_store_is_read(struct stage *stage)
{
    char one[3] = {0}, two[4] = {0};
    struct rgm_vector pieces[2] = {{one, 3}, {two, 4}};
    struct rgm_file_read read;
    struct play play;

    play_open(stage, &play);
    rgi_check(reads_at(stage, &play.file, "345", 3));
    store_of(stage)->put(stage, play.path, "abcdefg", 7);
    rgi_check(reads_at(stage, &play.file, "abcdefg", 0));
    rgm_file_read_vectors(&read, &play.file, pieces, 2, 0);
    read.all = true;
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 7);
    rgi_check(memcmp(one, "abc", 3) == 0 && memcmp(two, "defg", 4) == 0);
    play_close(stage, &play);
}

void
cnf_16_file_owners_come_back(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 64);
    struct rgm_lease lease = {0};
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct play play;
    const char *memory;

    play_open(stage, &play);
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    memory = lease.data;
    rgm_file_read_lease(&read, &play.file, &lease, 2);
    rgi_check(!rgm_lease_active(&lease));
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count > 0);
    rgi_check((const char *)read.lease.data == memory && memory[0] == '2');
    rgm_file_write_lease(&write, &play.file, &read.lease, 1, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(store_holds(stage, play.path, "2123456789", 10));
    rgm_file_read_lease(&read, &play.file, &write.lease, UINT64_MAX - 1);
    rgi_check(rgm_call(stage->runtime, &read) == -EINVAL);
    rgi_check((const char *)read.lease.data == memory);
    rgi_check(rgm_lease_drop(&read.lease) == 0);
    rgi_check(rgm_pool_free_count(pool) == 1);
    play_close(stage, &play);
    rgm_pool_destroy(pool);
}

void
cnf_16_file_transfers_begin_with_the_ask(struct stage *stage)
{
    struct rgm_file_truncate truncate;
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file_open open;
    struct rgm_file other = {0};
    struct play play;
    char bytes[4] = "----";
    char path[128];

    play_open(stage, &play);
    store_of(stage)->path(stage, "other", path, sizeof(path));
    rgm_file_write_at(&write, &play.file, "XYZ", 3, 0);
    rgm_file_truncate(&truncate, &play.file, 1);
    rgm_file_read(&read, &play.file, bytes, sizeof(bytes));
    rgm_file_open(&open, HERE, &other, path, BOTH | RGM_FILE_CREATE, 0600);
    rgi_check(store_holds(stage, play.path, "0123456789", 10));
    rgi_check(!store_has(stage, path) && other.handle.open == 0);
    rgi_check(memcmp(bytes, "----", 4) == 0);
    rgi_check(reads_at(stage, &play.file, "0", RGM_FILE_CURSOR));
    play_close(stage, &play);
}

static void
open_scope(struct puppet *puppet, void *argument)
{
    rgi_check(rgm_scope_open(puppet, (struct rgm_scope *)argument, NULL) == 0);
}

static void
close_scope(struct puppet *puppet, void *argument)
{
    rgi_check(rgm_scope_try_close(puppet, (struct rgm_scope *)argument) == 0);
}

void
cnf_16_file_transfers_in_a_cancelled_scope_do_nothing(struct stage *stage)
{
    struct base_write_step write = {0};
    struct base_read_step read = {0};
    struct rgm_scope scope;
    struct play play;
    char bytes[4] = "----";

    play_open(stage, &play);
    stage_do(stage, open_scope, &scope);
    rgi_check(rgm_scope_cancel(&scope) == 1);
    rgm_file_write_at(&write.op, &play.file, "XYZ", 3, 0);
    rgm_in_scope(&write.op, &scope);
    rgi_check(stage_run(stage, &write) == -ECANCELED && write.op.count == 0);
    rgm_file_read(&read.op, &play.file, bytes, sizeof(bytes));
    rgm_in_scope(&read.op, &scope);
    rgi_check(stage_run(stage, &read) == -ECANCELED && read.op.count == 0);
    rgi_check(memcmp(bytes, "----", 4) == 0);
    rgi_check(store_holds(stage, play.path, "0123456789", 10));
    rgi_check(reads_at(stage, &play.file, "0", RGM_FILE_CURSOR));
    stage_do(stage, close_scope, &scope);
    play_close(stage, &play);
}

void
cnf_16_file_cursor_and_offsets_are_apart(struct stage *stage)
{
    struct rgm_file_seek seek;
    struct play play;

    play_open(stage, &play);
    rgi_check(reads_at(stage, &play.file, "01", RGM_FILE_CURSOR));
    rgi_check(reads_at(stage, &play.file, "789", 7));
    rgi_check(reads_at(stage, &play.file, "23", RGM_FILE_CURSOR));
    rgi_check(write_at(stage, &play.file, "X", 9) == 0);
    rgi_check(write_at(stage, &play.file, "Y", RGM_FILE_CURSOR) == 0);
    rgi_check(store_holds(stage, play.path, "0123Y5678X", 10));
    rgm_file_seek(&seek, &play.file, -1, RGM_FILE_FROM_END);
    rgi_check(rgm_call(stage->runtime, &seek) == 0 && seek.position_bytes == 9);
    rgi_check(reads_at(stage, &play.file, "X", RGM_FILE_CURSOR));
    rgm_file_seek(&seek, &play.file, -3, RGM_FILE_FROM_CURSOR);
    rgi_check(rgm_call(stage->runtime, &seek) == 0 && seek.position_bytes == 7);
    rgm_file_seek(&seek, &play.file, -1, RGM_FILE_FROM_START);
    rgi_check(rgm_call(stage->runtime, &seek) == -EINVAL);
    rgi_check(reads_at(stage, &play.file, "78", RGM_FILE_CURSOR));
    play_close(stage, &play);
}

void
cnf_16_file_ends_and_empty_reads_are_told_apart(struct stage *stage)
{
    struct rgm_file_read read;
    struct play play;
    char bytes[8];

    play_open(stage, &play);
    rgm_file_read_all_at(&read, &play.file, bytes, sizeof(bytes), 7);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 3);
    rgi_check(memcmp(bytes, "789", 3) == 0);
    rgm_file_read_at(&read, &play.file, bytes, sizeof(bytes), 10);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 0 && read.end);
    rgm_file_read_at(&read, &play.file, bytes, 0, 10);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 0 && !read.end);
    rgm_file_read_at(&read, &play.file, bytes, 1, 9);
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == 1 && !read.end && bytes[0] == '9');
    play_close(stage, &play);
}

void
cnf_16_file_size_is_what_the_store_says(struct stage *stage)
{
    struct rgm_file_stat stat;
    struct play play;

    play_open(stage, &play);
    rgm_file_stat(&stat, &play.file);
    rgi_check(rgm_call(stage->runtime, &stat) == 0);
    rgi_check(stat.size_bytes == 10 && stat.kind == RGM_FILE_KIND_REGULAR);
    rgi_check(write_at(stage, &play.file, "ab", 10) == 0);
    rgm_path_stat(&stat, HERE, play.path, false);
    rgi_check(rgm_call(stage->runtime, &stat) == 0 && stat.size_bytes == 12);
    play_close(stage, &play);
}

void
cnf_16_file_truncation_cuts_and_fills(struct stage *stage)
{
    struct rgm_file_truncate truncate;
    struct play play;

    play_open(stage, &play);
    rgm_file_truncate(&truncate, &play.file, 4);
    rgi_check(rgm_call(stage->runtime, &truncate) == 0);
    rgi_check(store_holds(stage, play.path, "0123", 4));
    rgm_file_truncate(&truncate, &play.file, 7);
    rgi_check(rgm_call(stage->runtime, &truncate) == 0);
    rgi_check(store_holds(stage, play.path, "0123\0\0\0", 7));
    play_close(stage, &play);
}

void
cnf_16_file_sync_answers(struct stage *stage)
{
    struct rgm_file_sync sync;
    struct play play;

    play_open(stage, &play);
    rgi_check(write_at(stage, &play.file, "X", 0) == 0);
    rgm_file_sync(&sync, &play.file);
    rgi_check(rgm_call(stage->runtime, &sync) == 0);
    rgm_file_datasync(&sync, &play.file);
    rgi_check(rgm_call(stage->runtime, &sync) == 0);
    rgi_check(store_holds(stage, play.path, "X123456789", 10));
    play_close(stage, &play);
}

void
cnf_16_file_errors_have_their_numbers(struct stage *stage)
{
    struct rgm_file other;
    struct rgm_path unlink;
    struct play play;
    char path[128];

    play_open(stage, &play);
    store_of(stage)->path(stage, "other", path, sizeof(path));
    rgi_check(open_file(stage, &other, path, BOTH) == -ENOENT);
    rgi_check(other.handle.open == 0);
    rgi_check(open_file(stage, &other, play.path,
                        BOTH | RGM_FILE_CREATE | RGM_FILE_EXCLUSIVE) ==
              -EEXIST);
    rgi_check(open_file(stage, &other, play.path, RGM_FILE_READ) == 0);
    rgi_check(write_at(stage, &other, "X", 0) == -EBADF);
    rgi_check(close_file(stage, &other) == 0);
    rgi_check(close_file(stage, &other) == -EBADF);
    rgi_check(write_at(stage, &other, "X", 0) == -EBADF);
    rgm_path_unlink(&unlink, HERE, path);
    rgi_check(rgm_call(stage->runtime, &unlink) == -ENOENT);
    rgi_check(store_holds(stage, play.path, "0123456789", 10));
    play_close(stage, &play);
}

void
cnf_16_file_flags_mean_what_they_say(struct stage *stage)
{
    struct rgm_file_stat stat;
    struct rgm_file other;
    struct rgm_path path;
    struct play play;
    char name[128];

    play_open(stage, &play);
    store_of(stage)->path(stage, "other", name, sizeof(name));
    rgi_check(open_file(stage, &other, name,
                        BOTH | RGM_FILE_CREATE | RGM_FILE_EXCLUSIVE) == 0);
    rgi_check(store_holds(stage, name, "", 0));
    rgm_file_stat(&stat, &other);
    rgi_check(rgm_call(stage->runtime, &stat) == 0 && stat.mode == 0600);
    rgi_check(write_at(stage, &other, "ab", 0) == 0);
    rgi_check(close_file(stage, &other) == 0);
    rgi_check(
        open_file(stage, &other, name, RGM_FILE_WRITE | RGM_FILE_APPEND) == 0);
    rgi_check(write_at(stage, &other, "cd", RGM_FILE_CURSOR) == 0);
    rgi_check(store_holds(stage, name, "abcd", 4));
    rgi_check(close_file(stage, &other) == 0);
    rgi_check(open_file(stage, &other, name,
                        RGM_FILE_WRITE | RGM_FILE_TRUNCATE) == 0);
    rgi_check(store_holds(stage, name, "", 0));
    rgi_check(close_file(stage, &other) == 0);
    rgm_path_rename(&path, HERE, play.path, name, true);
    rgi_check(rgm_call(stage->runtime, &path) == -EEXIST);
    rgm_path_rename(&path, HERE, play.path, name, false);
    rgi_check(rgm_call(stage->runtime, &path) == 0);
    rgi_check(store_holds(stage, name, "0123456789", 10));
    rgi_check(!store_has(stage, play.path));
    rgm_path_unlink(&path, HERE, name);
    rgi_check(rgm_call(stage->runtime, &path) == 0);
    rgi_check(!store_has(stage, name));
    play_close(stage, &play);
}
