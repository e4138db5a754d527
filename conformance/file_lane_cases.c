/* SPDX-License-Identifier: MIT */

/* file_lane_cases.c - what must every provider show of lanes of files? */

#include "conformance/file_lane_cases.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conformance/order.h"
#include "conformance/scratch.h"
#include "conformance/shim.h"

STEP(collect_step, rgm_collect);
STEP(lane_close_step, rgm_lane_close);

#define SLOT_BYTES 16384
#define SLOTS 4

/* A shared file, its lanes, and what errands are to do with them. */
struct play {
    struct scratch scratch;
    struct rgm_pool *pool;
    struct rgm_file_share *share;
    struct rgm_file_lane reader;
    struct rgm_file_lane writer;
    int gate; /* the other end, of a named pipe; else -1 */

    struct rgm_file file;
    struct rgm_file_lane *lane;
    struct rgm_lease lease;
    size_t length_bytes;
    uint64_t offset_bytes;
    struct rgm_scope *scope;
    struct rgm_completion *completion;
    struct rgm_identity identity;
    int status;
    bool ended;
};

/* ------------------------------------------------------------------ errands */

static void
do_share(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    rgi_check(rgm_file_share(puppet, &play->file, &play->share) == 0);
    rgi_check(play->file.handle.open == 0);
    rgi_check(rgm_lane_open(&play->reader, play->share, RGM_LANE_READER) == 0);
    rgi_check(rgm_lane_open(&play->writer, play->share, RGM_LANE_WRITER) == 0);
}

static void
do_drop_share(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    rgi_check(rgm_share_drop(puppet, &play->share) == 0);
    rgi_check(play->share == NULL);
}

static void
do_drop_lanes(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    rgm_lane_drop(puppet, &play->reader);
    rgm_lane_drop(puppet, &play->writer);
}

static void
do_submit(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    if (play->lane->direction == RGM_LANE_READER)
        play->status = rgm_lane_read_at(puppet, play->lane, &play->lease,
                                        play->offset_bytes, play->scope,
                                        &play->completion);
    else
        play->status = rgm_lane_write_at(puppet, play->lane, &play->lease,
                                         play->length_bytes, play->offset_bytes,
                                         play->scope, &play->completion);
}

static void
do_drop(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    play->status = rgm_completion_drop(puppet, &play->completion);
}

static void
do_look(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    (void)puppet;
    play->ended = rgm_completion_has_ended(play->completion);
}

static void
do_identify(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    play->status =
        rgm_completion_identify(puppet, play->completion, &play->identity);
}

/* --------------------------------------------------------------- short forms */

static void
play_take(struct play *play)
{
    rgi_check(rgm_pool_try_acquire(play->pool, &play->lease) == 0);
}

/* Submits with a fresh lease. */
static struct rgm_completion *
play_submit(struct stage *stage, struct play *play, struct rgm_file_lane *lane,
            uint64_t offset_bytes)
{
    play_take(play);
    play->lane = lane;
    play->offset_bytes = offset_bytes;
    play->length_bytes = SLOT_BYTES;
    stage_do(stage, do_submit, play);
    rgi_check(play->status == 0 && play->lease.data == NULL);
    return play->completion;
}

static void
play_write(struct stage *stage, struct play *play, const char *text,
           uint64_t offset_bytes)
{
    play_take(play);
    play->lane = &play->writer;
    play->offset_bytes = offset_bytes;
    play->length_bytes = strlen(text);
    memcpy(play->lease.data, text, strlen(text));
    stage_do(stage, do_submit, play);
    rgi_check(play->status == 0);
}

static void
play_collect_begin(struct stage *stage, struct play *play,
                   struct collect_step *collect)
{
    rgm_collect(&collect->op, HERE, play->completion);
    stage_begin(stage, collect);
}

/* What was submitted last is this, and its lease goes home. */
static void
play_collect(struct stage *stage, struct play *play, const char *text)
{
    struct collect_step collect = {0};

    play_collect_begin(stage, play, &collect);
    rgi_check(stage_end(stage, &collect) == 0);
    rgi_check(collect.op.completion == NULL);
    rgi_check(collect.op.count == strlen(text));
    rgi_check(memcmp(collect.op.lease.data, text, strlen(text)) == 0);
    rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
}

static time_t
guard_end(void)
{
    struct timespec now;

    rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    return now.tv_sec + GUARD_S;
}

static void
guard_check(time_t end)
{
    struct timespec now;

    rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0 && now.tv_sec < end);
    sched_yield();
}

static void
play_await_end(struct stage *stage, struct play *play)
{
    time_t end = guard_end();

    for (play->ended = false; !play->ended; guard_check(end))
        stage_do(stage, do_look, play);
}

static void
play_await_free(struct play *play, uint32_t slots)
{
    time_t end = guard_end();

    while (rgm_pool_free_count(play->pool) != slots)
        guard_check(end);
}

static void
gate_write(struct play *play, const char *text)
{
    rgi_check(write(play->gate, text, strlen(text)) == (ssize_t)strlen(text));
}

static void
play_begin(struct stage *stage, struct play *play, bool gated)
{
    memset(play, 0, sizeof(*play));
    play->gate = -1;
    scratch_open(stage, &play->scratch);
    play->pool = pool_of(SLOTS, SLOT_BYTES);
    if (gated) {
        rgi_check(mkfifo(play->scratch.path, 0600) == 0);
        play->gate = open(play->scratch.path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
        rgi_check(play->gate >= 0);
        rgi_check(file_open(stage, &play->file, play->scratch.path,
                            RGM_FILE_READ | RGM_FILE_WRITE) == 0);
    } else {
        file_open_both(stage, &play->scratch, &play->file);
    }
    stage_do(stage, do_share, play);
}

/* All leases are home, and the file is closed by whoever is last. */
static void
play_end(struct stage *stage, struct play *play)
{
    time_t end = guard_end();

    stage_do(stage, do_drop_lanes, play);
    if (play->share != NULL)
        stage_do(stage, do_drop_share, play);
    if (play->gate >= 0)
        close(play->gate);
    while (scratch_descriptor(play->scratch.path) >= 0)
        guard_check(end);
    rgi_check(rgm_pool_free_count(play->pool) == SLOTS);
    rgm_pool_destroy(play->pool);
    scratch_close(stage, &play->scratch);
}

/* -------------------------------------------------------------------- lanes */

struct two {
    struct play *play;
    struct rgm_completion *read;
    struct rgm_completion *write;
};

static void
do_submit_both(struct puppet *puppet, void *argument)
{
    struct two *two = argument;
    struct play *play = two->play;
    struct rgm_lease lease;

    rgi_check(rgm_pool_try_acquire(play->pool, &lease) == 0);
    rgi_check(rgm_lane_read_at(puppet, &play->reader, &lease, 0, NULL,
                               &two->read) == 0);
    rgi_check(rgm_pool_try_acquire(play->pool, &lease) == 0);
    memcpy(lease.data, "WXYZ", 4);
    rgi_check(rgm_lane_write_at(puppet, &play->writer, &lease, 4, 4, NULL,
                                &two->write) == 0);
}

void
fil_04_lanes_overlap_and_outlive_the_share(struct stage *stage)
{
    struct play play;
    struct two two = {.play = &play};

    play_begin(stage, &play, false);
    play_write(stage, &play, "abcd", 0);
    play_collect(stage, &play, "abcd");
    stage_do(stage, do_drop_share, &play);
    stage_do(stage, do_submit_both, &two); /* both are out at once */
    play.completion = two.write;
    play_collect(stage, &play, "WXYZ");
    play.completion = two.read;
    play_await_end(stage, &play);
    {
        struct collect_step collect = {0};

        play_collect_begin(stage, &play, &collect);
        rgi_check(stage_end(stage, &collect) == 0);
        rgi_check(collect.op.count == 4 || collect.op.count == 8);
        rgi_check(memcmp(collect.op.lease.data, "abcd", 4) == 0);
        rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
    }
    rgi_check(scratch_holds(play.scratch.path, "abcdWXYZ"));
    (void)play_submit(stage, &play, &play.reader, 2);
    play_collect(stage, &play, "cdWXYZ");
    rgi_check(scratch_descriptor(play.scratch.path) >= 0);
    play_end(stage, &play);
}

void
fil_05_lane_takes_one_until_it_is_collected(struct stage *stage)
{
    struct rgm_completion *first;
    struct play play;
    void *data;

    play_begin(stage, &play, true);
    first = play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    play_take(&play);
    data = play.lease.data;
    for (int round = 0; round < 2; round++) { /* out; over, not collected */
        stage_do(stage, do_submit, &play);
        rgi_check(play.status == -EAGAIN && play.lease.data == data);
        rgi_check(play.completion == first);
        if (round == 0)
            gate_write(&play, "x");
        play_await_end(stage, &play);
    }
    play_collect(stage, &play, "x");
    gate_write(&play, "y");
    stage_do(stage, do_submit, &play);
    rgi_check(play.status == 0);
    play_collect(stage, &play, "y");
    play_end(stage, &play);
}

static void
do_four_forms(struct puppet *puppet, void *argument)
{
    struct play *play = argument;
    struct rgm_completion **ret = &play->completion;

    switch (play->offset_bytes) {
    case 0:
        play->status =
            rgm_lane_write(puppet, &play->writer, &play->lease, 3, NULL, ret);
        break;
    case 1:
        play->status = rgm_lane_write_at(puppet, &play->writer, &play->lease, 3,
                                         3, NULL, ret);
        break;
    case 2:
        play->status =
            rgm_lane_read(puppet, &play->reader, &play->lease, NULL, ret);
        break;
    default:
        play->status =
            rgm_lane_read_at(puppet, &play->reader, &play->lease, 1, NULL, ret);
    }
}

void
fil_06_four_forms_answer_with_admission(struct stage *stage)
{
    static const char *const texts[] = {"abc", "DEF", "DEF", "bcDEF"};
    struct play play;

    play_begin(stage, &play, false);
    for (uint64_t form = 0; form < 4; form++) {
        play_take(&play);
        memcpy(play.lease.data, texts[form], 3);
        play.offset_bytes = form;
        stage_do(stage, do_four_forms, &play);
        rgi_check(play.status == 0 && play.lease.data == NULL);
        play_collect(stage, &play, texts[form]);
    }
    rgi_check(scratch_holds(play.scratch.path, "abcDEF"));
    play_end(stage, &play);
}

static void
do_open_scope(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    rgi_check(rgm_scope_open(puppet, play->scope, NULL) == 0);
}

static void
do_close_scope(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    rgi_check(rgm_scope_try_close(puppet, play->scope) == 0);
    memset(play->scope, 0xee, sizeof(*play->scope));
}

void
fil_06_completion_outlives_lane_scope_and_share(struct stage *stage)
{
    struct rgm_scope scope;
    struct play play;

    play_begin(stage, &play, true);
    play.scope = &scope;
    stage_do(stage, do_open_scope, &play);
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    stage_do(stage, do_close_scope, &play);
    stage_do(stage, do_drop_lanes, &play);
    memset(&play.reader, 0, sizeof(play.reader));
    stage_do(stage, do_drop_share, &play);
    rgi_check(stage_in_flight(stage) == 1);
    gate_write(&play, "late");
    play_await_end(stage, &play);
    play_collect(stage, &play, "late");
    play_end(stage, &play);
}

void
fil_07_accepted_work_goes_on_uncollected(struct stage *stage)
{
    time_t end = guard_end();
    struct play play;

    play_begin(stage, &play, false);
    play_write(stage, &play, "by itself", 0);
    while (!scratch_holds(play.scratch.path, "by itself"))
        guard_check(end);
    play_collect(stage, &play, "by itself");
    play_end(stage, &play);
}

/* ------------------------------------------------------------------ closing */

void
fil_08_close_waits_for_access_not_for_collection(struct stage *stage)
{
    struct lane_close_step close = {0};
    struct play play;

    play_begin(stage, &play, true);
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    rgm_lane_close(&close.op, &play.reader);
    stage_begin(stage, &close);
    stage_cancel(stage, &close); /* clean-up: it is not cancelled */
    (void)stage_counters(stage); /* turns pass */
    rgi_check(stage_is_out(stage, &close));
    gate_write(&play, "z");
    rgi_check(stage_end(stage, &close) == 0);
    stage_do(stage, do_look, &play);
    rgi_check(play.ended && play.reader.share == NULL);
    play_collect(stage, &play, "z");
    rgm_lane_close(&close.op, &play.reader); /* once */
    rgi_check(stage_run(stage, &close) == -EBADF);
    rgm_lane_close(&close.op, &play.writer); /* with nothing out */
    rgi_check(stage_run(stage, &close) == 0);
    play_end(stage, &play);
}

void
fil_17_live_lane_keeps_the_file_open(struct stage *stage)
{
    struct lane_close_step lane_close = {0};
    struct play play;
    struct rgm_file *file;

    play_begin(stage, &play, false);
    file = rgm_share_file(play.share);
    stage_do(stage, do_drop, &play); /* of nothing */
    rgi_check(play.status == 0);
    rgi_check(file_close(stage, file) == -EBUSY);
    rgm_lane_close(&lane_close.op, &play.reader);
    rgi_check(stage_run(stage, &lane_close) == 0);
    rgi_check(file_close(stage, file) == -EBUSY);
    play_write(stage, &play, "still", 0);
    rgm_lane_close(&lane_close.op, &play.writer);
    rgi_check(stage_run(stage, &lane_close) == 0);
    rgi_check(file_close(stage, file) == 0); /* not collected, and sole user */
    rgi_check(rgm_lane_open(&play.reader, play.share, RGM_LANE_READER) ==
              -EBADF);
    play_collect(stage, &play, "still");
    rgi_check(scratch_holds(play.scratch.path, "still"));
    play_end(stage, &play);
}

void
fil_19_lane_is_free_before_the_outcome_is_read(struct stage *stage)
{
    struct lane_close_step close = {0};
    struct collect_step collect = {0};
    struct play play;
    const void *data;

    play_begin(stage, &play, true);
    play_take(&play);
    data = play.lease.data;
    play.lane = &play.reader;
    play.offset_bytes = RGM_FILE_CURSOR;
    stage_do(stage, do_submit, &play);
    rgi_check(play.status == 0);
    gate_write(&play, "q");
    rgm_lane_close(&close.op, &play.reader);
    rgi_check(stage_run(stage, &close) == 0);
    rgi_check(rgm_pool_free_count(play.pool) == SLOTS - 1); /* it is inside */
    play_collect_begin(stage, &play, &collect);
    rgi_check(stage_end(stage, &collect) == 0);
    rgi_check(collect.op.lease.data == data && collect.op.count == 1);
    rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
    play_end(stage, &play);
}

void
fil_20_close_and_collect_wait_side_by_side(struct stage *stage)
{
    for (int order = 0; order < 2; order++) {
        struct lane_close_step close = {0};
        struct collect_step collect = {0};
        struct play play;

        play_begin(stage, &play, true);
        (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
        rgm_lane_close(&close.op, &play.reader);
        if (order == 0)
            stage_begin(stage, &close);
        play_collect_begin(stage, &play, &collect);
        if (order == 1)
            stage_begin(stage, &close);
        rgi_check(stage_is_out(stage, &close));
        rgi_check(stage_is_out(stage, &collect));
        gate_write(&play, "both");
        rgi_check(stage_end(stage, &close) == 0);
        rgi_check(stage_end(stage, &collect) == 0);
        rgi_check(collect.op.count == 4);
        rgi_check(stage_answers(stage, &close) == 1);
        rgi_check(stage_answers(stage, &collect) == 1);
        rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
        play_end(stage, &play);
    }
}

/* ------------------------------------------------------------------ dropping */

void
fil_10_dropped_while_gated_it_is_kept_until_the_end(struct stage *stage)
{
    bool carries_on = stage_is_shimmed(stage);
    struct play play;
    char byte = 0;

    stage->spied = true;
    play_begin(stage, &play, true);
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    stage_do(stage, order_hold_cancels, NULL);
    stage_do(stage, do_drop, &play);
    rgi_check(play.status == 0 && play.completion == NULL);
    (void)stage_counters(stage);
    rgi_check(rgm_pool_free_count(play.pool) == SLOTS - 1);
    play_take(&play); /* the lane is in use as long as the transfer is */
    stage_do(stage, do_submit, &play);
    rgi_check(play.status == -EAGAIN);
    rgi_check(rgm_lease_drop(&play.lease) == 0);
    if (carries_on)
        gate_write(&play, "k");
    stage_do(stage, order_release_cancels, NULL);
    play_await_free(&play, SLOTS);
    gate_write(&play, "l");
    rgi_check(read(play.gate, &byte, 1) == 1 && byte == 'l');
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    gate_write(&play, "m");
    play_collect(stage, &play, "m");
    play_end(stage, &play);
}

static uint64_t
cancels_of(struct stage *stage)
{
    (void)stage_counters(stage);
    return spy_of(0)->cancels;
}

static void
do_cancel_scope(struct puppet *puppet, void *argument)
{
    struct play *play = argument;

    (void)puppet;
    (void)rgm_scope_cancel(play->scope);
}

void
fil_11_cancel_is_noticed_and_a_drop_asks_for_one(struct stage *stage)
{
    struct collect_step collect = {0};
    struct rgm_scope scope;
    struct play play;

    stage->spied = true;
    play_begin(stage, &play, true);
    /* While it is waited on: the collect is cancelled. */
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    play_collect_begin(stage, &play, &collect);
    stage_cancel(stage, &collect);
    rgi_check(stage_end(stage, &collect) == -ECANCELED);
    rgi_check(collect.op.count == 0 && collect.op.lease.data != NULL);
    rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
    rgi_check(cancels_of(stage) == 1);
    /* While it is not: its scope is cancelled; and it is collected later. */
    play.scope = &scope;
    stage_do(stage, do_open_scope, &play);
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    stage_do(stage, do_cancel_scope, &play);
    play_await_end(stage, &play);
    play_collect_begin(stage, &play, &collect);
    rgi_check(stage_end(stage, &collect) == -ECANCELED);
    rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
    stage_do(stage, do_close_scope, &play);
    rgi_check(cancels_of(stage) == 2);
    /* Nobody waits: the drop is one cancel, and the lease comes home. */
    play.scope = NULL;
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    rgi_check(rgm_pool_free_count(play.pool) == SLOTS - 1);
    stage_do(stage, do_drop, &play);
    play_await_free(&play, SLOTS);
    rgi_check(cancels_of(stage) == 3);
    play_end(stage, &play);
}

void
dropped_completion_keeps_no_runtime(struct stage *stage)
{
    struct play play;

    play_begin(stage, &play, true);
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    stage_do(stage, do_drop, &play);
    stage_do(stage, do_drop_lanes, &play);
    stage_do(stage, do_drop_share, &play);
    close(play.gate);
    (void)unlink(play.scratch.path);
    rgi_check(rmdir(play.scratch.directory) == 0);
    stage_close(stage);
    rgi_check(rgm_pool_free_count(play.pool) == SLOTS);
    rgm_pool_destroy(play.pool);
}

/* -------------------------------------------------------------------- others */

#define PIPE_BYTES 4096

static size_t
drain(struct play *play, uint64_t offset)
{
    static char bytes[2 * SLOT_BYTES];
    ssize_t count = read(play->gate, bytes, sizeof(bytes));

    if (count < 0) {
        rgi_check(errno == EAGAIN);
        return 0;
    }
    rgi_check(pattern_holds(bytes, (size_t)count, offset));
    return (size_t)count;
}

void
fil_12_rest_is_written_while_somebody_drives(struct stage *stage)
{
    struct collect_step collect = {0};
    time_t end = guard_end();
    struct play play;
    size_t seen;

    play_begin(stage, &play, true);
    rgi_check(fcntl(play.gate, F_SETPIPE_SZ, PIPE_BYTES) == PIPE_BYTES);
    play_take(&play);
    pattern_fill(play.lease.data, SLOT_BYTES, 0);
    play.lane = &play.writer;
    play.length_bytes = SLOT_BYTES;
    play.offset_bytes = RGM_FILE_CURSOR;
    stage_do(stage, do_submit, &play);
    rgi_check(play.status == 0);
    play_await_end(stage, &play);
    seen = drain(&play, 0);
    rgi_check(seen == PIPE_BYTES);
    (void)stage_counters(stage); /* turns pass, and nobody drives */
    rgi_check(drain(&play, seen) == 0);
    rgm_collect(&collect.op, HERE, play.completion);
    collect.op.all = true;
    stage_begin(stage, &collect);
    while (stage_is_out(stage, &collect)) {
        seen += drain(&play, seen);
        guard_check(end);
    }
    rgi_check(stage_end(stage, &collect) == 0);
    seen += drain(&play, seen);
    rgi_check(seen == SLOT_BYTES && collect.op.count == SLOT_BYTES);
    rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
    /* Cancelled while it is driven: what went out is told. */
    (void)play_submit(stage, &play, &play.writer, RGM_FILE_CURSOR);
    rgm_collect(&collect.op, HERE, play.completion);
    collect.op.all = true;
    stage_begin(stage, &collect);
    stage_cancel(stage, &collect);
    rgi_check(stage_end(stage, &collect) == -ECANCELED ||
              rgm_status(&collect.op) == 0);
    rgi_check(collect.op.count <= PIPE_BYTES);
    rgi_check(rgm_lease_drop(&collect.op.lease) == 0);
    play_end(stage, &play);
}

void
fil_21_late_cancel_names_nobody(struct stage *stage)
{
    const struct rgm_completion *first;
    struct play play;

    play_begin(stage, &play, true);
    first = play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    stage_do(stage, do_identify, &play);
    rgi_check(play.status == 0);
    gate_write(&play, "1");
    play_collect(stage, &play, "1");
    /* The same lane, and the same record. */
    rgi_check(play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR) ==
              first);
    rgi_check(rgm_runtime_cancel(stage->runtime, play.identity) == -ESRCH);
    (void)stage_counters(stage);
    stage_do(stage, do_look, &play);
    rgi_check(!play.ended);
    gate_write(&play, "2");
    play_await_end(stage, &play);
    stage_do(stage, do_identify, &play);
    rgi_check(play.status == -ESRCH);
    play_collect(stage, &play, "2");
    /* One in time does what it says. */
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    stage_do(stage, do_identify, &play);
    rgi_check(play.status == 0);
    rgi_check(rgm_runtime_cancel(stage->runtime, play.identity) == 0);
    play_await_end(stage, &play);
    stage_do(stage, do_drop, &play);
    rgi_check(play.status == 0);
    play_end(stage, &play);
}

void
fil_22_steady_state_allocates_nothing(struct stage *stage)
{
    uint64_t allocations = 0;
    struct play play;

    play_begin(stage, &play, false);
    for (int round = 0; round < 64; round++) {
        if (round == 32)
            allocations = shim_allocations();
        play_write(stage, &play, "again", 0);
        play_collect(stage, &play, "again");
        (void)play_submit(stage, &play, &play.reader, 1);
        play_collect(stage, &play, "gain");
    }
    rgi_check(shim_allocations() == allocations);
    play_end(stage, &play);
}

static void
do_refusals(struct puppet *puppet, void *argument)
{
    struct play *play = argument;
    struct rgm_file_lane closed = {0};
    struct rgm_lease none = {0};
    struct rgm_completion *completion = NULL;
    const void *data = play->lease.data;

    rgi_check(rgm_lane_read(puppet, &closed, &play->lease, NULL, &completion) ==
              -EBADF);
    rgi_check(rgm_lane_read(puppet, &play->writer, &play->lease, NULL,
                            &completion) == -EINVAL);
    rgi_check(rgm_lane_write(puppet, &play->reader, &play->lease, 1, NULL,
                             &completion) == -EINVAL);
    rgi_check(rgm_lane_write(puppet, &play->writer, &play->lease,
                             SLOT_BYTES + 1, NULL, &completion) == -EINVAL);
    rgi_check(rgm_lane_read(puppet, &play->reader, &none, NULL, &completion) ==
              -EINVAL);
    rgi_check(rgm_lane_read_at(puppet, &play->reader, &play->lease,
                               (uint64_t)INT64_MAX + 1, NULL,
                               &completion) == -EINVAL);
    rgi_check(play->lease.data == data && completion == NULL);
    rgi_check(play->reader.out == NULL && play->writer.out == NULL);
    rgi_check(rgm_lane_open(&play->reader, play->share, RGM_LANE_READER) ==
              -EBUSY);
    rgi_check(rgm_lane_open(&closed, play->share, (enum rgm_lane_direction)3) ==
              -EINVAL);
    rgi_check(rgm_file_share(puppet, &play->file, &play->share) == -EBADF);
}

void
lanes_refuse_what_they_cannot_do(struct stage *stage)
{
    struct collect_step first = {0};
    struct collect_step second = {0};
    struct rgm_scope scope;
    struct play play;

    play_begin(stage, &play, true);
    play_take(&play);
    stage_do(stage, do_refusals, &play);
    play.scope = &scope; /* of a cancelled scope */
    stage_do(stage, do_open_scope, &play);
    stage_do(stage, do_cancel_scope, &play);
    play.lane = &play.reader;
    play.offset_bytes = RGM_FILE_CURSOR;
    stage_do(stage, do_submit, &play);
    rgi_check(play.status == -ECANCELED && play.reader.out == NULL);
    stage_do(stage, do_close_scope, &play);
    play.scope = NULL;
    rgi_check(rgm_lease_drop(&play.lease) == 0);
    rgm_collect(&first.op, HERE, NULL);
    rgi_check(stage_run(stage, &first) == -EINVAL);
    (void)play_submit(stage, &play, &play.reader, RGM_FILE_CURSOR);
    play_collect_begin(stage, &play, &first);
    rgm_collect(&second.op, HERE, play.completion);
    rgi_check(stage_run(stage, &second) == -EBUSY);
    stage_do(stage, do_drop, &play);
    rgi_check(play.status == -EBUSY);
    gate_write(&play, "!");
    rgi_check(stage_end(stage, &first) == 0 && first.op.count == 1);
    rgi_check(rgm_lease_drop(&first.op.lease) == 0);
    play_end(stage, &play);
}
