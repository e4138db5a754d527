/* SPDX-License-Identifier: MIT */

/*
 * w8_ours.c - what does a random read of a file cost beside a bare ring?
 *
 *     bench_w8 cache|direct SLICES N    4 KiB reads, 16 out at a time
 *     bench_w8 handles|handles-epoll|handles-threads SLICES N
 *                                       on one handle, or a new one for each, and
 *                                       on that provider
 *     bench_w8 job SLICES N             a job there and back, one at a time
 *
 * The file, of 64 MiB, is made in TMPDIR (/var/tmp) and removed.
 *
 * In slices on one core: the limit in this thread, while the worker sleeps; ours
 * on the worker, while this thread waits. Limit of reads: the same reads on a
 * ring written by hand. Of `handles`: ours, with the handle reused: the same
 * offsets, numbers and memory. Of jobs: two threads, a mutex and two conditions.
 * Writes and durability are not measured, and nothing here says a word of them.
 */

#include "bench/ours.h"

#include <fcntl.h>
#include <liburing.h>
#include <pthread.h>

#define DEPTH 16
#define PAGE_BYTES 4096
#define FILE_BYTES (UINT64_C(64) << 20)
#define RANDOM_SEED UINT64_C(88172645463325252)

static char path[4096];
static uint64_t count; /* reads, or jobs, of a slice */
static bool direct;
static bool waits; /* for a disk, or another thread */
static bool again; /* each slice does what the one before did */
static const struct rgm_provider_class *provider; /* NULL: the usual one */
static char *memory; /* a page for each that is out */

static uint64_t
slice_clock(void)
{
    struct timespec now;

    clock_gettime(waits ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

static uint64_t
pick(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random % (FILE_BYTES / PAGE_BYTES) * PAGE_BYTES;
}

/* A file of its size, all of it in the cache. */
static int
file_make(void)
{
    const char *directory = getenv("TMPDIR");
    int fd;

    snprintf(path, sizeof(path), "%s/bench-w8-XXXXXX",
             directory != NULL ? directory : "/var/tmp");
    fd = mkstemp(path);
    if (fd < 0)
        bench_fail(path, errno);
    for (uint64_t at = 0; at < FILE_BYTES; at += PAGE_BYTES * DEPTH)
        if (pwrite(fd, memory, PAGE_BYTES * DEPTH, (off_t)at) !=
            PAGE_BYTES * DEPTH)
            bench_fail(path, errno);
    if (direct && fsync(fd) != 0)
        bench_fail(path, errno);
    close(fd);
    fd = open(path, O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
    if (fd < 0) {
        int error = errno; /* a file system without direct access */

        (void)unlink(path);
        bench_fail(path, error);
    }
    return fd;
}

/* ------------------------------------------------------------- the bare ring */

static struct io_uring ring;
static uint64_t ring_random = RANDOM_SEED;

static void
ring_open(void)
{
    struct io_uring_params params = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN};

    ours_check("ring", io_uring_queue_init_params(2 * DEPTH, &ring, &params));
}

static void
ring_read(int fd, unsigned place)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&ring);

    io_uring_prep_read(entry, fd, memory + (size_t)place * PAGE_BYTES,
                       PAGE_BYTES, pick(&ring_random));
    entry->user_data = place;
}

static double
ring_slice(int fd)
{
    uint64_t begin_ns = slice_clock();
    uint64_t asked = 0, done = 0;

    for (; asked < DEPTH && asked < count; asked++)
        ring_read(fd, (unsigned)asked);
    while (done < count) {
        struct io_uring_cqe *completion;
        unsigned head, seen = 0;

        ours_check("submit", io_uring_submit_and_wait(&ring, 1));
        io_uring_for_each_cqe(&ring, head, completion)
        {
            if (completion->res != PAGE_BYTES)
                bench_fail("read", EIO);
            seen++;
            if (asked++ < count)
                ring_read(fd, (unsigned)completion->user_data);
        }
        io_uring_cq_advance(&ring, seen);
        done += seen;
    }
    return (double)(slice_clock() - begin_ns) / (double)count;
}

/* -------------------------------------------------------------------- ours */

/* Answered when a slice is over. */
struct slice {
    struct rgm_request request;
    bool fresh; /* a handle of its own for each read */
};
RGM_REQUEST(slice);

struct reader {
    struct rgm_actor actor;
    struct rgm_file file;
    struct rgm_file_open open;
    struct rgm_file_read reads[DEPTH];
    struct rgm_file_open opens[DEPTH];
    struct rgm_file files[DEPTH];
    struct rgm_close closes[DEPTH];
    struct rgm_job job;
    struct rgm_token token;
    uint64_t random;
    uint64_t asked, done;
};
RGM_HANDLER(reader, slice, reader_slice);
RGM_HANDLER(reader, slice, jobber_slice);
RGM_ANSWER(reader, rgm_file_open, reader_opened);
RGM_ANSWER(reader, rgm_file_read, reader_told);
RGM_ANSWER(reader, rgm_file_open, fresh_opened);
RGM_ANSWER(reader, rgm_file_read, fresh_told);
RGM_ANSWER(reader, rgm_close, fresh_closed);
RGM_ANSWER(reader, rgm_job, job_told);
RGM_HOOK(reader, reader_stopped);

static void
slice_over(struct reader *self)
{
    ours_check("answer", rgm_answer(self, self->token, 0));
}

static uint32_t
flags(void)
{
    return RGM_FILE_READ | (direct ? (uint32_t)RGM_FILE_DIRECT : 0);
}

static void
reader_read(struct reader *self, struct rgm_file_read *read)
{
    size_t place = (size_t)(read - self->reads);

    rgm_file_read_at(read, &self->file, memory + place * PAGE_BYTES,
                     PAGE_BYTES, pick(&self->random));
    rgm_ask(self, read, RGM_REPLY(reader, rgm_file_read, reader_told));
}

static void
reader_told(struct reader *self, struct rgm_file_read *read)
{
    if (rgm_status(read) != 0 || read->count != PAGE_BYTES)
        bench_fail("read", rgm_status(read));
    if (self->asked++ < count)
        reader_read(self, read);
    if (++self->done == count)
        slice_over(self);
}

static void
reader_opened(struct reader *self, struct rgm_file_open *open)
{
    ours_check(path, rgm_status(open));
    for (unsigned i = 0; i < DEPTH && self->asked < count; i++) {
        self->asked++;
        reader_read(self, &self->reads[i]);
    }
}

static void
fresh_begin(struct reader *self, size_t place)
{
    rgm_file_open(&self->opens[place], rgm_here(self), &self->files[place],
                  path, flags(), 0);
    rgm_ask(self, &self->opens[place],
            RGM_REPLY(reader, rgm_file_open, fresh_opened));
}

static void
fresh_opened(struct reader *self, struct rgm_file_open *open)
{
    size_t place = (size_t)(open - self->opens);

    ours_check(path, rgm_status(open));
    rgm_file_read_at(&self->reads[place], &self->files[place],
                     memory + place * PAGE_BYTES, PAGE_BYTES,
                     pick(&self->random));
    rgm_ask(self, &self->reads[place],
            RGM_REPLY(reader, rgm_file_read, fresh_told));
}

static void
fresh_told(struct reader *self, struct rgm_file_read *read)
{
    size_t place = (size_t)(read - self->reads);

    ours_check("read", rgm_status(read));
    rgm_file_close(&self->closes[place], &self->files[place]);
    rgm_ask(self, &self->closes[place],
            RGM_REPLY(reader, rgm_close, fresh_closed));
}

static void
fresh_closed(struct reader *self, struct rgm_close *close)
{
    ours_check("close", rgm_status(close));
    if (self->asked++ < count)
        fresh_begin(self, (size_t)(close - self->closes));
    if (++self->done == count)
        slice_over(self);
}

static void
reader_slice(struct reader *self, struct slice *slice)
{
    bool fresh = slice->fresh;

    ours_check("keep", rgm_keep(self, slice, &self->token));
    if (self->random == 0 || again)
        self->random = RANDOM_SEED; /* the same offsets in each slice */
    self->asked = 0;
    self->done = 0;
    if (fresh) {
        for (; self->asked < DEPTH && self->asked < count; self->asked++)
            fresh_begin(self, self->asked);
    } else if (self->file.handle.open) {
        reader_opened(self, &self->open);
    } else {
        rgm_file_open(&self->open, rgm_here(self), &self->file, path, flags(),
                      0);
        rgm_ask(self, &self->open,
                RGM_REPLY(reader, rgm_file_open, reader_opened));
    }
}

static void
reader_stopped(struct reader *self)
{
    (void)rgm_file_drop(self, &self->file);
}

static const struct rgm_handler reader_handlers[] = {
    RGM_ON(reader, slice, reader_slice),
};
static const struct rgm_behaviour reader_behaviour = {
    .name = "reader",
    .size_bytes = sizeof(struct reader),
    .stopped = RGM_DO(reader, reader_stopped),
    RGM_HANDLERS(reader_handlers),
};

/* -------------------------------------------------------------------- jobs */

static int64_t
nothing(struct rgm_job *job)
{
    (void)job;
    return 0;
}

static void
job_ask(struct reader *self)
{
    rgm_job_run(&self->job, rgm_here(self), nothing);
    rgm_ask(self, &self->job, RGM_REPLY(reader, rgm_job, job_told));
}

static void
job_told(struct reader *self, struct rgm_job *job)
{
    ours_check("job", rgm_status(job));
    if (++self->done < count)
        job_ask(self);
    else
        slice_over(self);
}

static void
jobber_slice(struct reader *self, struct slice *slice)
{
    ours_check("keep", rgm_keep(self, slice, &self->token));
    self->done = 0;
    job_ask(self);
}

static const struct rgm_handler jobber_handlers[] = {
    RGM_ON(reader, slice, jobber_slice),
};
static const struct rgm_behaviour jobber_behaviour = {
    .name = "jobber",
    .size_bytes = sizeof(struct reader),
    RGM_HANDLERS(jobber_handlers),
};

/* A thread that does nothing when it is told to. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t told;
    pthread_cond_t done;
    int state; /* 0: idle, 1: told, 2: done, 3: over */
} bare = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER,
          PTHREAD_COND_INITIALIZER, 0};

static void *
bare_main(void *argument)
{
    pthread_mutex_lock(&bare.lock);
    while (bare.state != 3) {
        if (bare.state == 1) {
            bare.state = 2;
            pthread_cond_signal(&bare.done);
        }
        pthread_cond_wait(&bare.told, &bare.lock);
    }
    pthread_mutex_unlock(&bare.lock);
    return argument;
}

static double
bare_slice(void)
{
    uint64_t begin_ns = slice_clock();

    pthread_mutex_lock(&bare.lock);
    for (uint64_t i = 0; i < count; i++) {
        bare.state = 1;
        pthread_cond_signal(&bare.told);
        while (bare.state != 2)
            pthread_cond_wait(&bare.done, &bare.lock);
    }
    bare.state = 0;
    pthread_mutex_unlock(&bare.lock);
    return (double)(slice_clock() - begin_ns) / (double)count;
}

static void
bare_end(void)
{
    pthread_mutex_lock(&bare.lock);
    bare.state = 3;
    pthread_cond_signal(&bare.told);
    pthread_mutex_unlock(&bare.lock);
}

/* ------------------------------------------------------------------ slices */

static double
ours_slice(struct rgm_address to, bool fresh)
{
    struct slice slice;
    uint64_t begin_ns;

    slice_prepare(&slice, to);
    slice.fresh = fresh;
    begin_ns = slice_clock();
    ours_check("slice", rgm_call(ours_runtime, &slice));
    return (double)(slice_clock() - begin_ns) / (double)count;
}

static const char *
series_of_handles(void)
{
    if (provider == NULL)
        return "fresh_handles";
    return provider == &rgm_provider_epoll ? "fresh_handles_epoll"
                                           : "fresh_handles_threads";
}

static void
run_reads(uint64_t slices_count, bool handles)
{
    static struct bench_slices slices;
    struct rgm_address reader;
    int fd = file_make();

    bench_pin(0);
    ours_start_on(provider, 1, 0);
    reader = ours_spawn(0, &reader_behaviour, NULL);
    ring_open();
    (void)ours_slice(reader, handles); /* warm */
    slices.count = slices_count;
    for (size_t i = 0; i <= slices_count; i++) {
        slices.limit[i] = handles ? ours_slice(reader, false) : ring_slice(fd);
        if (i < slices_count)
            slices.ours[i] = ours_slice(reader, handles);
    }
    if (handles)
        bench_slices_report(&slices, series_of_handles(), 0);
    else
        bench_slices_report(&slices, direct ? "direct" : "cache", 1);
    io_uring_queue_exit(&ring);
    close(fd);
    (void)unlink(path);
}

static void
run_jobs(uint64_t slices_count)
{
    static struct bench_slices slices;
    struct rgm_address jobber;
    pthread_t thread;

    ours_start(1, 0);
    jobber = ours_spawn(0, &jobber_behaviour, NULL);
    if (pthread_create(&thread, NULL, bare_main, NULL) != 0)
        bench_fail("thread", EAGAIN);
    (void)ours_slice(jobber, false);
    slices.count = slices_count;
    for (size_t i = 0; i <= slices_count; i++) {
        slices.limit[i] = bare_slice();
        if (i < slices_count)
            slices.ours[i] = ours_slice(jobber, false);
    }
    bare_end();
    pthread_join(thread, NULL);
    bench_slices_report(&slices, "job", 0);
}

int
main(int argc, char **argv)
{
    const char *what = argc == 4 ? argv[1] : "";
    bool job = strcmp(what, "job") == 0;
    bool threads = strcmp(what, "handles-threads") == 0;
    bool epoll = strcmp(what, "handles-epoll") == 0;
    bool handles = threads || epoll || strcmp(what, "handles") == 0;
    uint64_t slices_count;

    direct = strcmp(what, "direct") == 0;
    waits = direct || job;
    again = handles;
    if (threads)
        provider = &rgm_provider_threads;
    if (epoll)
        provider = &rgm_provider_epoll;
    if (!job && !handles && !direct && strcmp(what, "cache") != 0) {
        fputs("usage: bench_w8 cache|direct|handles|handles-epoll|"
              "handles-threads|job SLICES N\n",
              stderr);
        return 2;
    }
    slices_count = bench_number(argv[2], BENCH_SLICES_MAX);
    count = bench_number(argv[3], UINT64_C(1) << 32);
    memory = aligned_alloc(PAGE_BYTES, DEPTH * PAGE_BYTES);
    if (memory == NULL)
        bench_fail("memory", ENOMEM);
    memset(memory, 1, DEPTH * PAGE_BYTES);
    if (job)
        run_jobs(slices_count);
    else
        run_reads(slices_count, handles);
    rgm_runtime_stop(ours_runtime);
    ours_wait();
    free(memory);
    return 0;
}
