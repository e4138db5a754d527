/* SPDX-License-Identifier: MIT */

/* short_cases.c - is every transfer one byte, while it is said to be? */

#include "conformance/short_cases.h"

#include "conformance/scratch.h"
#include "conformance/short.h"

void
short_set_up(struct stage *stage)
{
    (void)stage;
    short_begin();
}

void
short_clean_up(struct stage *stage)
{
    (void)stage;
    short_end();
}

static void
stream_moves_one(struct stage *stage)
{
    const struct rgm_vector pieces[] = {{"ab", 2}, {"cd", 2}};
    struct rgm_pool *pool = pool_of(1, 64);
    struct rgm_read_pooled pooled;
    struct rgm_stream near;
    struct rgm_write write;
    char bytes[8];
    bool end;
    int peer = stage_pair(stage, &near);

    rgm_stream_write(&write, &near, "abc", 3);
    write.some = true;
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 1);
    rgm_stream_write_vectors(&write, &near, pieces, 2);
    write.some = true;
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 1);
    peer_receive(peer, bytes, 2);
    rgi_check(memcmp(bytes, "aa", 2) == 0);
    peer_send(peer, "12345", 5);
    rgi_check(stage_read(stage, &near, bytes, 8, &end) == 1 && !end);
    rgm_stream_read_pooled(&pooled, &near, pool);
    rgi_check(rgm_call(stage->runtime, &pooled) == 0 && pooled.count == 1);
    rgi_check(rgm_lease_drop(&pooled.lease) == 0);
    rgi_check(stage_write(stage, &near, "all of it", 9) == 0);
    peer_receive(peer, bytes, 8);
    rgi_check(memcmp(bytes, "all of i", 8) == 0);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgm_pool_destroy(pool);
}

static void
file_moves_one(struct stage *stage)
{
    const struct rgm_vector pieces[] = {{"ab", 2}, {"cd", 2}};
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct rgm_file file;
    struct scratch scratch;
    char bytes[8];

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    rgm_file_write_at(&write, &file, "abc", 3, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 1);
    rgm_file_write_vectors(&write, &file, pieces, 2, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 1);
    rgm_file_write_all_at(&write, &file, "whole", 5, 0);
    rgi_check(rgm_call(stage->runtime, &write) == 0 && write.count == 5);
    rgm_file_read_at(&read, &file, bytes, 8, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 1);
    rgm_file_read_all_at(&read, &file, bytes, 5, 0);
    rgi_check(rgm_call(stage->runtime, &read) == 0 && read.count == 5);
    rgi_check(memcmp(bytes, "whole", 5) == 0);
    rgi_check(file_close(stage, &file) == 0);
    rgi_check(short_count() > 0);
    scratch_close(stage, &scratch);
}

void
cnf_07_every_transfer_is_one_byte(struct stage *stage)
{
    rgi_check(short_is_on() && short_count() == 0);
    stage_open(stage);
    stream_moves_one(stage);
    stage_close(stage);
    file_moves_one(stage);
}
