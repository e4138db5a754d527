/* SPDX-License-Identifier: MIT */

/* fixed_test.c - which transfers go by a place in the ring's table? */

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>

#include <ringmail/detach.h>

#include "capabilities/file.h"
#include "capabilities/ring/shim.h"

#define FILES 10

/* So many that what counts transfers in a byte has come round. */
#define MANY 320

static char bytes[64];

/* A file of some bytes; the caller's descriptor is another description. */
static int
file_make(struct world *world, struct rgm_file *file)
{
    struct rgm_file_open import;
    char path[64];
    int fd = memfd_create("fixed", MFD_CLOEXEC);
    int other;

    rgi_check(fd >= 0 && write(fd, bytes, sizeof(bytes)) == sizeof(bytes));
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    other = open(path, O_RDWR | O_CLOEXEC);
    memset(file, 0, sizeof(*file));
    rgm_file_import(&import, world_here, file, fd);
    rgi_check(world_do(world, &import.operation) == 0);
    return other;
}

static void
file_close(struct world *world, struct rgm_file *file, int expected)
{
    struct rgm_close close;

    rgm_file_close(&close, file);
    rgi_check(world_do(world, &close.operation) == expected);
}

static void
read_times(struct world *world, struct rgm_file *file, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct rgm_file_read read;
        char in[sizeof(bytes)];

        rgm_file_read_at(&read, file, in, sizeof(in), 0);
        rgi_check(world_do(world, &read.operation) == 0);
        rgi_check(read.count == sizeof(in));
    }
}

/* Whether the last read named a place. */
static bool
is_fixed(void)
{
    return (shim.last[IORING_OP_READ].flags & IOSQE_FIXED_FILE) != 0;
}

static bool
read_is_fixed(struct world *world, struct rgm_file *file)
{
    read_times(world, file, 1);
    return is_fixed();
}

/* How often the kernel was asked to change the table. */
static unsigned
updates(void)
{
    return shim.enrolled[IORING_REGISTER_FILES_UPDATE];
}

/* A lock goes with the last reference to what was open. */
static void
lock(struct world *world, struct rgm_file *file)
{
    rgi_check(flock(world_fd(world, &file->handle), LOCK_EX | LOCK_NB) == 0);
}

static bool
is_locked(int other)
{
    if (flock(other, LOCK_EX | LOCK_NB) != 0)
        return true;
    rgi_check(flock(other, LOCK_UN) == 0);
    return false;
}

static void
ffc_01_file_enters_the_table_a_single_time(void)
{
    unsigned rounds = (unsigned)rgi_scale(10000);
    struct world world = {0};
    struct rgm_file file;
    int other;

    shim_open(&world);
    other = file_make(&world, &file);
    read_times(&world, &file, RGI_FIXED_AFTER - 1);
    rgi_check(shim.enrolled[IORING_REGISTER_FILES2] == 0); /* not needed yet */
    rgi_check(!is_fixed());
    read_times(&world, &file, rounds);
    rgi_check(shim.enrolled[IORING_REGISTER_FILES2] == 1);
    rgi_check(updates() == 1);
    file_close(&world, &file, 0);
    rgi_check(updates() == 2);
    close(other);
    world_close(&world);
}

static void
ffc_02_what_cannot_be_entered_is_not_tried_again(void)
{
    static const struct {
        unsigned opcode;
        int result;
        uint32_t max;
    } causes[] = {
        {0, 0, RGI_FIXED_NONE},                        /* disabled */
        {IORING_REGISTER_FILES2, -EINVAL, 0},          /* unsupported */
        {IORING_REGISTER_FILES2, -EMFILE, 0},          /* fails */
        {IORING_REGISTER_FILES_UPDATE, -ENOMEM, 0},    /* fails later */
    };

    for (unsigned i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        struct world world = {.options = {.fixed_files_max = causes[i].max}};
        struct rgm_file files[2];
        unsigned asked;

        shim_open(&world);
        shim.refuse_opcode = causes[i].opcode;
        shim.refuse_result = causes[i].result;
        close(file_make(&world, &files[0]));
        close(file_make(&world, &files[1]));
        read_times(&world, &files[0], MANY);
        rgi_check(!is_fixed());
        asked = shim.enrolled[causes[i].opcode];
        rgi_check(asked == (causes[i].opcode != 0));
        shim.refuse_result = 0;
        read_times(&world, &files[0], MANY);
        rgi_check(!is_fixed());
        rgi_check(shim.enrolled[causes[i].opcode] == asked);
        /* A file that could not be entered says nothing of the next one. */
        read_times(&world, &files[1], RGI_FIXED_AFTER);
        rgi_check(is_fixed() ==
                  (causes[i].opcode == IORING_REGISTER_FILES_UPDATE));
        file_close(&world, &files[0], 0);
        file_close(&world, &files[1], 0);
        world_close(&world);
    }
}

static void
ffc_03_warm_transfers_name_a_place(void)
{
    struct world world = {0};
    struct rgm_file_write write;
    struct rgm_file file;
    struct rgm_vector pieces[2] = {{bytes, 8}, {bytes + 8, 8}};

    shim_open(&world);
    close(file_make(&world, &file));
    read_times(&world, &file, RGI_FIXED_AFTER);
    rgi_check(is_fixed() && shim.last[IORING_OP_READ].fd == 0);
    rgm_file_write_at(&write, &file, bytes, 8, 0);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(shim.last[IORING_OP_WRITE].flags & IOSQE_FIXED_FILE);
    rgm_file_write_vectors(&write, &file, pieces, 2, 0);
    rgi_check(world_do(&world, &write.operation) == 0);
    rgi_check(shim.last[IORING_OP_WRITEV].flags & IOSQE_FIXED_FILE);
    /* A step after the first is by the same name. */
    shim_expect(IORING_OP_READ, -EINTR, 1);
    rgi_check(read_is_fixed(&world, &file));
    file_close(&world, &file, 0);
    world_close(&world);
}

static void
ffc_04_bound_on_places_is_one_of_its_own(void)
{
    struct world world = {
        .options = {.fixed_files_max = 2, .in_flight_max = 64}};
    struct rgm_file files[FILES];
    unsigned fixed = 0;

    shim_open(&world);
    for (unsigned i = 0; i < FILES; i++) {
        close(file_make(&world, &files[i]));
        read_times(&world, &files[i], 2 * RGI_FIXED_AFTER);
        fixed += is_fixed();
    }
    rgi_check(fixed == 2);
    rgi_check(read_is_fixed(&world, &files[0]));
    rgi_check(read_is_fixed(&world, &files[1]));
    rgi_check(!read_is_fixed(&world, &files[2]));
    /* A place that was given back is the next file's. */
    file_close(&world, &files[0], 0);
    close(file_make(&world, &files[0]));
    read_times(&world, &files[0], RGI_FIXED_AFTER);
    rgi_check(is_fixed() && shim.last[IORING_OP_READ].fd == 0);
    for (unsigned i = 0; i < FILES; i++)
        file_close(&world, &files[i], 0);
    world_close(&world);
}

static void
ffc_07_place_that_was_not_emptied_is_not_used_again(void)
{
    struct world world = {.options = {.fixed_files_max = 2}};
    struct rgm_file files[3];
    int others[3];

    shim_open(&world);
    for (unsigned i = 0; i < 2; i++) {
        others[i] = file_make(&world, &files[i]);
        lock(&world, &files[i]);
        read_times(&world, &files[i], RGI_FIXED_AFTER);
        rgi_check(is_fixed());
    }
    shim.refuse_opcode = IORING_REGISTER_FILES_UPDATE;
    shim.refuse_result = -ENOMEM;
    file_close(&world, &files[0], -ENOMEM); /* reported */
    shim.refuse_result = 0;
    file_close(&world, &files[1], 0);
    rgi_check(!is_locked(others[1]));
    rgi_check(is_locked(others[0]));
    /* Of two places there is one, until the ring's end. */
    others[2] = file_make(&world, &files[2]);
    read_times(&world, &files[2], RGI_FIXED_AFTER);
    rgi_check(is_fixed() && shim.last[IORING_OP_READ].fd == 1);
    close(file_make(&world, &files[1]));
    read_times(&world, &files[1], RGI_FIXED_AFTER);
    rgi_check(!is_fixed());
    file_close(&world, &files[1], 0);
    file_close(&world, &files[2], 0);
    world_close(&world);
    while (is_locked(others[0])) /* the kernel takes a ring apart later */
        (void)sched_yield();
    for (unsigned i = 0; i < 3; i++)
        close(others[i]);
}

/* A close is the end of the file, whatever the ring knew it by. */
static void
closed_file_is_open_nowhere(void)
{
    struct world world = {.options = {.in_flight_max = 1}};
    struct rgm_file file;
    int other;

    shim_open(&world);
    other = file_make(&world, &file);
    lock(&world, &file);
    read_times(&world, &file, RGI_FIXED_AFTER);
    rgi_check(is_fixed() && is_locked(other));
    file_close(&world, &file, 0);
    rgi_check(!is_locked(other));
    close(other);
    world_close(&world);
}

/* ------------------------------------------------------------------ sockets */

/* So many bytes from one end to the other, one by one. */
static void
talk(struct world *world, struct pair *pair, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct rgm_write write;
        struct rgm_read read;
        char byte;

        rgm_stream_write(&write, &pair->near, "x", 1);
        rgi_check(world_do(world, &write.operation) == 0);
        rgm_stream_read(&read, &pair->far, &byte, 1);
        rgi_check(world_do(world, &read.operation) == 0 && read.count == 1);
    }
}

/* Whether the last of them went by places. */
static bool
talk_is_fixed(void)
{
    bool sends = (shim.last[IORING_OP_SEND].flags & IOSQE_FIXED_FILE) != 0;
    bool receives = (shim.last[IORING_OP_RECV].flags & IOSQE_FIXED_FILE) != 0;

    rgi_check(sends == receives);
    return sends;
}

/* All of a pair but its near end, which is closed. */
static void
pair_close_rest(struct world *world, struct pair *pair)
{
    struct rgm_close close;

    world_close_stream(world, &pair->far);
    rgm_listener_close(&close, &pair->listener);
    rgi_check(world_do(world, &close.operation) == 0);
}

/* The other end is told of an end. */
static void
check_end(struct world *world, struct rgm_stream *stream)
{
    struct rgm_read read;
    char byte;

    rgm_stream_read(&read, stream, &byte, 1);
    rgi_check(world_do(world, &read.operation) == 0 && read.end);
}

static void
close_tells_the_peer_while_others_are_idle(void)
{
    struct world world = {0};
    struct pair idle, pair;
    struct rgm_read read;
    char byte;

    shim_open(&world);
    world.parts->ring.lets_go = true; /* where it does not this would hang */
    pair_open(&world, &idle);
    pair_open(&world, &pair);
    talk(&world, &idle, RGI_FIXED_AFTER);
    rgm_stream_read(&read, &idle.far, &byte, 1);
    world_start(&world, &read.operation);
    world_settle(&world);
    rgi_check(shim.last[IORING_OP_RECV].flags & IOSQE_FIXED_FILE);
    talk(&world, &pair, RGI_FIXED_AFTER);
    rgi_check(talk_is_fixed());
    world_close_stream(&world, &pair.near);
    check_end(&world, &pair.far);
    pair_close_rest(&world, &pair);
    world_cancel(&world, &read.operation);
    rgi_check(world_finish(&world, &read.operation) == -ECANCELED);
    pair_close(&world, &idle);
    world_close(&world);
}

/* Made to wait for room, or for data, a transfer polls what it was begun with. */
static void
waits_for_room_go_by_the_same_name(void)
{
    struct world world = {0};
    struct pair pair;

    shim_open(&world);
    world.parts->ring.lets_go = true;
    pair_open(&world, &pair);
    talk(&world, &pair, RGI_FIXED_AFTER);
    rgi_check(talk_is_fixed());
    shim_expect(IORING_OP_SEND, -EAGAIN, 1);
    shim_expect(IORING_OP_RECV, -EAGAIN, 1);
    talk(&world, &pair, 1);
    rgi_check(shim.last[IORING_OP_POLL_ADD].flags & IOSQE_FIXED_FILE);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
socket_keeps_its_descriptor_where_rings_hold_on(void)
{
    struct world world = {0};
    struct pair pair;

    shim_open(&world);
    world.parts->ring.lets_go = false;
    pair_open(&world, &pair);
    talk(&world, &pair, RGI_FIXED_AFTER);
    rgi_check(!talk_is_fixed() && updates() == 0);
    pair_close(&world, &pair);
    world_close(&world);
}

static void
detached_connection_is_in_no_table(void)
{
    struct world world = {0};
    struct rgm_detach detach;
    struct pair pair;

    shim_open(&world);
    world.parts->ring.lets_go = true;
    pair_open(&world, &pair);
    talk(&world, &pair, RGI_FIXED_AFTER);
    rgi_check(talk_is_fixed());
    shim.refuse_opcode = IORING_REGISTER_FILES_UPDATE;
    shim.refuse_result = -ENOMEM;
    rgm_stream_detach(&detach, &pair.near);
    rgi_check(world_do(&world, &detach.operation) == -ENOMEM);
    shim.refuse_result = 0;
    talk(&world, &pair, RGI_FIXED_AFTER); /* as it was, in another place */
    rgi_check(talk_is_fixed());
    world_close_stream(&world, &pair.near);
    pair_close_rest(&world, &pair);
    pair_open(&world, &pair);
    talk(&world, &pair, RGI_FIXED_AFTER);
    rgm_stream_detach(&detach, &pair.near);
    rgi_check(world_do(&world, &detach.operation) == 0);
    rgi_check(rgm_detached_close(&detach.detached) == 0);
    check_end(&world, &pair.far);
    pair_close_rest(&world, &pair);
    world_close(&world);
}

#define CASES(X)                                                              \
    X(ring_fixed, ffc_01_file_enters_the_table_a_single_time)                 \
    X(ring_fixed, ffc_02_what_cannot_be_entered_is_not_tried_again)           \
    X(ring_fixed, ffc_03_warm_transfers_name_a_place)                         \
    X(ring_fixed, ffc_04_bound_on_places_is_one_of_its_own)                   \
    X(ring_fixed, ffc_07_place_that_was_not_emptied_is_not_used_again)        \
    X(ring_fixed, closed_file_is_open_nowhere)                                \
    X(ring_fixed, close_tells_the_peer_while_others_are_idle)                 \
    X(ring_fixed, waits_for_room_go_by_the_same_name)                         \
    X(ring_fixed, socket_keeps_its_descriptor_where_rings_hold_on)            \
    X(ring_fixed, detached_connection_is_in_no_table)

RGI_CASES(CASES)
