/* SPDX-License-Identifier: MIT */

/* vector_cases.c - what must every provider show of many pieces at once? */

#include "conformance/vector_cases.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "conformance/scratch.h"
#include "conformance/shim.h"

/* ------------------------------------------------------------- an abandoning */

#define OWNERS 8
#define OWNER_BYTES (1u << 20) /* more of them than any socket holds */
#define FAULTY 3

static char bytes_of_all[OWNER_BYTES];

/* Something whose release is counted; that of one goes wrong inside. */
struct owner {
    struct rgm_block block;
    struct rgm_lease stale;
    uint32_t releases; /* atomic: looked at while they are out */
    int fault;
};

struct parcel {
    union {
        struct rgm_write stream;
        struct rgm_file_write file;
    } write;
    struct rgm_package *package;
    struct owner owners[OWNERS];
    struct rgm_stream near;
    struct rgm_file file;
    uint32_t released; /* atomic: by the worker, for the case */
};

static struct parcel *parcel_here;

static void
owner_release(struct rgm_block *block)
{
    struct owner *owner = (struct owner *)(void *)block;

    (void)__atomic_add_fetch(&owner->releases, 1, __ATOMIC_RELAXED);
    if (owner->stale.block != NULL)
        owner->fault = rgm_lease_drop(&owner->stale);
}

static uint32_t
owner_releases(const struct owner *owner)
{
    return __atomic_load_n(&owner->releases, __ATOMIC_RELAXED);
}

static void
parcel_release(void)
{
    rgm_package_drop(&parcel_here->package);
    __atomic_store_n(&parcel_here->released, 1, __ATOMIC_RELEASE);
}

RGM_RELEASE(rgm_write, stream_write_release);
RGM_RELEASE(rgm_file_write, file_write_release);

static void
stream_write_release(struct rgm_write *write)
{
    rgi_check(write == &parcel_here->write.stream);
    parcel_release();
}

static void
file_write_release(struct rgm_file_write *write)
{
    rgi_check(write == &parcel_here->write.file);
    parcel_release();
}

static void
parcel_make(struct parcel *parcel, struct rgm_pool *pool)
{
    struct rgm_view views[OWNERS];
    struct rgm_lease lease;

    memset(parcel, 0, sizeof(*parcel));
    parcel_here = parcel;
    for (int i = 0; i < OWNERS; i++) {
        rgm_block_init(&parcel->owners[i].block, owner_release);
        views[i] = rgm_view_of(&parcel->owners[i].block, bytes_of_all,
                               sizeof(bytes_of_all));
        rgm_block_drop(&parcel->owners[i].block);
    }
    rgi_check(rgm_pool_try_acquire(pool, &lease) == 0);
    parcel->owners[FAULTY].stale = lease; /* a copy of one that is gone */
    rgi_check(rgm_lease_drop(&lease) == 0);
    rgi_check(rgm_package_of_views(views, OWNERS, &parcel->package) == 0);
}

static void
not_told(struct rgm_actor *self, struct rgm_request *request)
{
    (void)self;
    (void)request;
    rgi_check(false);
}

static void
do_stream_write(struct puppet *puppet, void *argument)
{
    struct parcel *parcel = argument;
    size_t count;
    const struct rgm_vector *vectors =
        rgm_package_vectors(parcel->package, &count);

    rgm_stream_write_vectors(&parcel->write.stream, &parcel->near, vectors,
                             count);
    rgm_ask_request(&puppet->actor, &parcel->write.stream.request, not_told);
}

static void
do_file_write(struct puppet *puppet, void *argument)
{
    struct parcel *parcel = argument;
    size_t count;
    const struct rgm_vector *vectors =
        rgm_package_vectors(parcel->package, &count);

    rgm_file_write_vectors(&parcel->write.file, &parcel->file, vectors, count,
                           RGM_FILE_CURSOR);
    parcel->write.file.all = true;
    rgm_ask_request(&puppet->actor, &parcel->write.file.request, not_told);
}

static void
do_abandon_stream(struct puppet *puppet, void *argument)
{
    struct parcel *parcel = argument;

    rgi_check(rgm_abandon_to(puppet, &parcel->write.stream,
                             RGM_RELEASE_BY(rgm_write,
                                            stream_write_release)) == 0);
}

static void
do_abandon_file(struct puppet *puppet, void *argument)
{
    struct parcel *parcel = argument;

    rgi_check(rgm_abandon_to(puppet, &parcel->write.file,
                             RGM_RELEASE_BY(rgm_file_write,
                                            file_write_release)) == 0);
}

/* Given up, and in the kernel's hands all the same: nothing is released. */
static void
parcel_is_kept(struct stage *stage, struct parcel *parcel)
{
    (void)stage_counters(stage); /* turns pass */
    rgi_check(__atomic_load_n(&parcel->released, __ATOMIC_ACQUIRE) == 0);
    for (int i = 0; i < OWNERS; i++)
        rgi_check(owner_releases(&parcel->owners[i]) == 0);
}

/* `fd` is emptied until the package has been let go of. */
static void
parcel_comes_home(struct parcel *parcel, int fd)
{
    static char sink[1 << 16];
    struct timespec now;
    time_t end;

    rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
    end = now.tv_sec + GUARD_S;
    while (__atomic_load_n(&parcel->released, __ATOMIC_ACQUIRE) == 0) {
        if (read(fd, sink, sizeof(sink)) <= 0)
            sched_yield();
        rgi_check(clock_gettime(CLOCK_MONOTONIC, &now) == 0);
        rgi_check(now.tv_sec < end);
    }
    for (int i = 0; i < OWNERS; i++) {
        rgi_check(owner_releases(&parcel->owners[i]) == 1);
        rgi_check(parcel->owners[i].fault == (i == FAULTY ? -EINVAL : 0));
    }
}

void
vec_10_abandoned_package_goes_as_a_whole_on_a_stream(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 64);
    struct parcel parcel;
    int peer;

    parcel_make(&parcel, pool);
    stage_open(stage);
    peer = stage_pair(stage, &parcel.near);
    stage_do(stage, do_stream_write, &parcel);
    stage_do(stage, do_abandon_stream, &parcel);
    parcel_is_kept(stage, &parcel);
    rgi_check(fcntl(peer, F_SETFL, O_NONBLOCK) == 0);
    parcel_comes_home(&parcel, peer);
    rgi_check(stage_close_stream(stage, &parcel.near) == 0);
    peer_close(peer);
    stage_close(stage);
    rgm_pool_destroy(pool);
}

void
vec_10_abandoned_package_goes_as_a_whole_on_a_file(struct stage *stage)
{
    struct rgm_pool *pool = pool_of(1, 64);
    struct scratch scratch;
    struct parcel parcel;
    int gate;

    parcel_make(&parcel, pool);
    scratch_open(stage, &scratch);
    rgi_check(mkfifo(scratch.path, 0600) == 0);
    gate = open(scratch.path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    rgi_check(gate >= 0);
    rgi_check(file_open(stage, &parcel.file, scratch.path,
                        RGM_FILE_READ | RGM_FILE_WRITE) == 0);
    stage_do(stage, do_file_write, &parcel);
    stage_do(stage, do_abandon_file, &parcel);
    parcel_is_kept(stage, &parcel);
    parcel_comes_home(&parcel, gate);
    rgi_check(file_close(stage, &parcel.file) == 0);
    close(gate);
    scratch_close(stage, &scratch);
    rgm_pool_destroy(pool);
}

/* ------------------------------------------------------------------ batches */

#define PIECES 5000
#define PIECE_MAX_BYTES 7

struct many {
    struct rgm_vector pieces[PIECES];
    unsigned char bytes[PIECES * PIECE_MAX_BYTES];
    size_t length_bytes;
};

/* Of different lengths, empty ones among them. */
static void
many_make(struct many *many)
{
    many->length_bytes = 0;
    pattern_fill(many->bytes, sizeof(many->bytes), 0);
    for (size_t i = 0; i < PIECES; i++) {
        size_t length_bytes = i * 7919 % (PIECE_MAX_BYTES + 1);

        many->pieces[i].data = many->bytes + many->length_bytes;
        many->pieces[i].length_bytes = length_bytes;
        many->length_bytes += length_bytes;
    }
}

static void
is_the_flat_write(const char *path, const struct many *many)
{
    static unsigned char seen[sizeof(many->bytes)];
    int fd = open(path, O_RDONLY);
    ssize_t count;

    rgi_check(fd >= 0);
    count = pread(fd, seen, sizeof(seen), 0);
    close(fd);
    rgi_check(count == (ssize_t)many->length_bytes);
    rgi_check(memcmp(seen, many->bytes, many->length_bytes) == 0);
}

void
vec_11_more_pieces_than_a_call_takes_are_sent_in_batches(struct stage *stage)
{
    static struct many many;
    struct rgm_file_write write;
    struct rgm_file_read read;
    struct scratch scratch;
    struct rgm_file file;

    many_make(&many);
    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    rgm_file_write_vectors(&write, &file, many.pieces, PIECES, 0);
    write.all = true;
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(write.count == many.length_bytes);
    is_the_flat_write(scratch.path, &many);
    memset(many.bytes, 0, sizeof(many.bytes));
    rgm_file_read_vectors(&read, &file, many.pieces, PIECES, 0);
    read.all = true;
    rgi_check(rgm_call(stage->runtime, &read) == 0);
    rgi_check(read.count == many.length_bytes && !read.end);
    is_the_flat_write(scratch.path, &many);
    rgi_check(pattern_holds(many.bytes, many.length_bytes, 0));
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}

/* -------------------------------------------------------------- as they are */

void
vec_09_arrays_reach_the_call_as_they_are(struct stage *stage)
{
    char in[4];
    const struct rgm_vector into[] = {{in, 2}, {in + 2, 2}};
    const struct rgm_vector from[] = {{"ab", 2}, {"", 0}, {"cd", 2}};
    struct rgm_file_write file_write;
    struct rgm_file_read file_read;
    struct rgm_package *package;
    struct rgm_view views[2];
    struct rgm_write write;
    struct rgm_stream near;
    struct scratch scratch;
    struct rgm_file file;
    size_t count;
    int peer;

    scratch_open(stage, &scratch);
    file_open_both(stage, &scratch, &file);
    rgm_file_write_vectors(&file_write, &file, from, 3, 0);
    rgi_check(rgm_call(stage->runtime, &file_write) == 0);
    rgi_check(shim_last_vectors() == from);
    rgm_file_read_vectors(&file_read, &file, into, 2, 0);
    rgi_check(rgm_call(stage->runtime, &file_read) == 0);
    rgi_check(shim_last_vectors() == into && memcmp(in, "abcd", 4) == 0);
    peer = stage_pair(stage, &near);
    rgm_stream_write_vectors(&write, &near, from, 3);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(shim_last_vectors() == from);
    views[0] = rgm_view_of(NULL, "12", 2);
    views[1] = rgm_view_of(NULL, "34", 2);
    rgi_check(rgm_package_of_views(views, 2, &package) == 0);
    rgm_stream_write_vectors(&write, &near,
                             rgm_package_vectors(package, &count), 2);
    rgi_check(rgm_call(stage->runtime, &write) == 0);
    rgi_check(shim_last_vectors() == rgm_package_vectors(package, &count));
    rgm_package_drop(&package);
    peer_receive(peer, in, 4);
    rgi_check(stage_close_stream(stage, &near) == 0);
    peer_close(peer);
    rgi_check(file_close(stage, &file) == 0);
    scratch_close(stage, &scratch);
}
