/* SPDX-License-Identifier: MIT */

/*
 * file_calls.c - which system call is behind each operation on a file?
 *
 * Nothing of here knows a worker or a provider. A transfer is one preadv2 or
 * pwritev2 of the pieces that are left; at the cursor readv or writev.
 */

#include "capabilities/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/assert.h"

_Static_assert(RGI_STATX_MASK == STATX_BASIC_STATS, "what statx is asked for");

/* --------------------------------------------------------------------- open */

int
rgi_file_flags(const struct rgm_file_open *open)
{
    static const struct {
        uint32_t ours;
        int system;
    } table[] = {
        {RGM_FILE_CREATE, O_CREAT},        {RGM_FILE_EXCLUSIVE, O_EXCL},
        {RGM_FILE_TRUNCATE, O_TRUNC},      {RGM_FILE_APPEND, O_APPEND},
        {RGM_FILE_DIRECT, O_DIRECT},       {RGM_FILE_SYNC, O_SYNC},
        {RGM_FILE_DIRECTORY, O_DIRECTORY}, {RGM_FILE_NO_FOLLOW, O_NOFOLLOW},
    };
    int flags = O_CLOEXEC | O_NOCTTY;

    if ((open->flags & RGM_FILE_WRITE) == 0)
        flags |= O_RDONLY;
    else
        flags |= open->flags & RGM_FILE_READ ? O_RDWR : O_WRONLY;
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (open->flags & table[i].ours)
            flags |= table[i].system;
    return flags;
}

size_t
rgi_file_how(struct rgm_file_open *open, int more_flags)
{
    const struct open_how how = {
        .flags = (uint32_t)(rgi_file_flags(open) | more_flags),
        .mode = open->flags & RGM_FILE_CREATE ? open->mode : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
    };

    _Static_assert(sizeof(how) == sizeof(open->how), "the room is enough");
    memcpy(open->how, &how, sizeof(how));
    return sizeof(how);
}

int
rgi_file_check_import(int descriptor)
{
    struct stat about;
    int flags = fcntl(descriptor, F_GETFL);

    if (flags < 0 || fstat(descriptor, &about) < 0)
        return -errno;
    if ((flags & (O_APPEND | O_PATH)) != 0)
        return -EINVAL;
    if (!S_ISREG(about.st_mode) && !S_ISBLK(about.st_mode) &&
        !S_ISDIR(about.st_mode))
        return -EINVAL;
    return 0;
}

/* ---------------------------------------------------------------- transfers */

struct rgi_file_attempt
rgi_file_next(struct rgm_file_transfer *transfer,
              const struct rgi_write_place *place)
{
    struct rgi_file_attempt next = {.offset_bytes = -1};

    if (transfer->offset_bytes != RGM_FILE_CURSOR)
        next.offset_bytes = (int64_t)(transfer->offset_bytes + transfer->count);
    next.pieces = rgi_vectors_next(transfer->vectors, transfer->vectors_count,
                                   place, transfer->window);
    return next;
}

int
rgi_file_judge(struct rgm_operation *operation, struct rgi_write_place *place,
               int64_t result)
{
    struct rgm_file_transfer *transfer = rgi_transfer_of(operation);
    bool over;

    if (result < 0)
        return (int)result;
    if (result == 0 && operation->kind == RGM_OP_FILE_WRITE)
        return -ENODATA; /* would go on like that for ever */
    transfer->count += (size_t)result;
    transfer->end = result == 0;
    over = rgi_vectors_advance(transfer->vectors, transfer->vectors_count,
                               place, (size_t)result);
    return transfer->all && !over && result > 0 ? 1 : 0;
}

static int64_t
call_transfer(struct rgm_operation *operation, int fd,
              const struct rgi_write_place *place)
{
    struct rgm_file_transfer *transfer = rgi_transfer_of(operation);
    struct rgi_file_attempt next = rgi_file_next(transfer, place);
    const struct iovec *pieces = (const void *)next.pieces.first;
    int count = (int)next.pieces.count;
    bool reads = operation->kind == RGM_OP_FILE_READ;

    if (next.offset_bytes < 0)
        return reads ? readv(fd, pieces, count) : writev(fd, pieces, count);
    return reads ? preadv(fd, pieces, count, next.offset_bytes)
                 : pwritev(fd, pieces, count, next.offset_bytes);
}

/* ---------------------------------------------------------------- metadata */

int
rgi_file_statx_flags(const struct rgm_file_stat *stat)
{
    if (stat->path == NULL)
        return AT_EMPTY_PATH;
    return stat->no_follow ? AT_SYMLINK_NOFOLLOW : 0;
}

static uint8_t
kind_of(uint32_t mode)
{
    if (S_ISREG(mode))
        return RGM_FILE_KIND_REGULAR;
    if (S_ISDIR(mode))
        return RGM_FILE_KIND_DIRECTORY;
    return S_ISLNK(mode) ? RGM_FILE_KIND_LINK : RGM_FILE_KIND_OTHER;
}

static int64_t
time_ns(const struct statx_timestamp *time)
{
    return time->tv_sec * (int64_t)RGM_NS_PER_S + time->tv_nsec;
}

#define SECTOR_BYTES 512 /* what stx_blocks counts, statx(2) */

void
rgi_file_stat_fill(struct rgm_file_stat *stat, const struct statx *from)
{
    stat->kind = kind_of(from->stx_mode);
    stat->mode = from->stx_mode & 07777U;
    stat->size_bytes = from->stx_size;
    stat->stored_bytes = from->stx_blocks * SECTOR_BYTES;
    stat->links = from->stx_nlink;
    stat->inode = from->stx_ino;
    stat->device = (uint64_t)from->stx_dev_major << 32 | from->stx_dev_minor;
    stat->accessed_ns = time_ns(&from->stx_atime);
    stat->modified_ns = time_ns(&from->stx_mtime);
    stat->changed_ns = time_ns(&from->stx_ctime);
}

static int64_t
call_stat(struct rgm_file_stat *stat, int fd)
{
    struct statx about;
    const char *path = stat->path == NULL ? "" : stat->path;

    if (statx(stat->path == NULL ? fd : AT_FDCWD, path,
              rgi_file_statx_flags(stat), RGI_STATX_MASK, &about) < 0)
        return -1;
    rgi_file_stat_fill(stat, &about);
    return 0;
}

/* ------------------------------------------------------------------- others */

static int64_t
call_seek(struct rgm_file_seek *seek, int fd)
{
    static const int whence[] = {SEEK_SET, SEEK_CUR, SEEK_END};
    off_t position = lseek(fd, seek->offset_bytes, whence[seek->whence]);

    if (position < 0)
        return -1;
    seek->position_bytes = (uint64_t)position;
    return 0;
}

int
rgi_file_allocate_mode(uint32_t allocation)
{
    static const int modes[] = {
        [RGM_FILE_ALLOCATE] = 0,
        [RGM_FILE_ALLOCATE_KEEP_SIZE] = FALLOC_FL_KEEP_SIZE,
        [RGM_FILE_PUNCH_HOLE] = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
        [RGM_FILE_ZERO_RANGE] = FALLOC_FL_ZERO_RANGE,
        [RGM_FILE_COLLAPSE_RANGE] = FALLOC_FL_COLLAPSE_RANGE,
        [RGM_FILE_INSERT_RANGE] = FALLOC_FL_INSERT_RANGE,
    };

    return modes[allocation];
}

int
rgi_file_advice(uint32_t advice)
{
    static const int advices[] = {
        [RGM_FILE_ADVISE_NORMAL] = POSIX_FADV_NORMAL,
        [RGM_FILE_ADVISE_SEQUENTIAL] = POSIX_FADV_SEQUENTIAL,
        [RGM_FILE_ADVISE_RANDOM] = POSIX_FADV_RANDOM,
        [RGM_FILE_ADVISE_WILL_NEED] = POSIX_FADV_WILLNEED,
        [RGM_FILE_ADVISE_DONT_NEED] = POSIX_FADV_DONTNEED,
        [RGM_FILE_ADVISE_ONCE] = POSIX_FADV_NOREUSE,
    };

    return advices[advice];
}

static int64_t
call_advise(const struct rgm_file_advise *advise, int fd)
{
    errno = posix_fadvise(fd, (off_t)advise->offset_bytes,
                          (off_t)advise->length_bytes,
                          rgi_file_advice(advise->advice));
    return errno == 0 ? 0 : -1;
}

static int64_t
call_path(const struct rgm_path *path)
{
    switch ((enum rgm_path_act)path->act) {
    case RGM_PATH_RENAME:
        return rename(path->from, path->to);
    case RGM_PATH_RENAME_EXCLUSIVE:
        return renameat2(AT_FDCWD, path->from, AT_FDCWD, path->to,
                         RENAME_NOREPLACE);
    case RGM_PATH_UNLINK:
        return unlink(path->from);
    case RGM_PATH_MAKE_DIRECTORY:
        return mkdir(path->from, path->mode);
    case RGM_PATH_REMOVE_DIRECTORY:
        return rmdir(path->from);
    }
    rgi_unreachable();
}

static int64_t
call_directory_read(struct rgm_directory_read *read, int fd)
{
    long count =
        syscall(SYS_getdents64, fd, read->memory, read->capacity_bytes);

    if (count < 0)
        return -1;
    read->count = (size_t)count;
    read->end = count == 0;
    return 0;
}

static int64_t
call_any(struct rgm_operation *operation, int fd,
         const struct rgi_write_place *place)
{
    switch (operation->kind) {
    case RGM_OP_FILE_READ:
    case RGM_OP_FILE_WRITE:
        return call_transfer(operation, fd, place);
    case RGM_OP_FILE_SYNC:
        return rgi_sync_of(operation)->data_only ? fdatasync(fd) : fsync(fd);
    case RGM_OP_FILE_STAT:
        return call_stat(rgi_stat_of(operation), fd);
    case RGM_OP_FILE_SEEK:
        return call_seek(rgi_seek_of(operation), fd);
    case RGM_OP_FILE_TRUNCATE:
        return ftruncate(fd, (off_t)rgi_truncate_of(operation)->size_bytes);
    case RGM_OP_FILE_ALLOCATE: {
        const struct rgm_file_allocate *allocate = rgi_allocate_of(operation);

        return fallocate(fd, rgi_file_allocate_mode(allocate->allocation),
                         (off_t)allocate->offset_bytes,
                         (off_t)allocate->length_bytes);
    }
    case RGM_OP_FILE_ADVISE:
        return call_advise(rgi_advise_of(operation), fd);
    case RGM_OP_PATH:
        return call_path(rgi_path_of(operation));
    case RGM_OP_DIRECTORY_READ:
        return call_directory_read(rgi_directory_of(operation), fd);
    default:
        rgi_unreachable();
    }
}

int64_t
rgi_file_call(struct rgm_operation *operation, int fd,
              const struct rgi_write_place *place)
{
    int64_t result = call_any(operation, fd, place);

    return result < 0 ? -errno : result;
}

int64_t
rgi_directory_run(struct rgm_job *job)
{
    struct rgm_directory_read *read = rgi_directory_of(&job->operation);

    return rgi_file_call(&job->operation, read->directory->descriptor, NULL);
}

int
rgi_file_call_status(int64_t result)
{
    return result < 0 ? (int)result : 0;
}

int
rgm_file_name(const struct rgm_file *file, char *ret_text, size_t size_bytes)
{
    char link[32];
    ssize_t length;

    if (size_bytes > 0)
        ret_text[0] = '\0';
    if (!file->handle.open)
        return -EBADF;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", file->descriptor);
    length = readlink(link, ret_text, size_bytes);
    if (length < 0)
        return -errno;
    if ((size_t)length >= size_bytes) {
        ret_text[0] = '\0';
        return -ENOSPC;
    }
    ret_text[length] = '\0';
    return (int)length;
}

/* -------------------------------------------------------------- directories */

/* As getdents64(2) lays it out. */
struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length_bytes;
    uint8_t type;
    char name[];
};

static bool
is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static uint8_t
kind_of_type(uint8_t type)
{
    if (type == DT_REG)
        return RGM_FILE_KIND_REGULAR;
    if (type == DT_DIR)
        return RGM_FILE_KIND_DIRECTORY;
    return type == DT_LNK ? RGM_FILE_KIND_LINK : RGM_FILE_KIND_OTHER;
}

bool
rgm_directory_next(struct rgm_directory_read *read,
                   struct rgm_directory_entry *ret_entry)
{
    while (read->next < read->count) {
        const struct entry *entry =
            (const void *)((const char *)read->memory + read->next);

        read->next += entry->length_bytes;
        if (is_dots(entry->name))
            continue;
        ret_entry->name = entry->name;
        ret_entry->inode = entry->inode;
        ret_entry->kind = kind_of_type(entry->type);
        return true;
    }
    return false;
}
