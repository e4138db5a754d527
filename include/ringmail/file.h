/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_FILE_H
#define RINGMAIL_FILE_H

/*
 * file.h - files and directories, as requests to the worker that holds them.
 *
 *     rgm_file_open, rgm_file_import --> read, write, sync, stat, seek, ...
 *                                    '--> rgm_file_close
 *     rgm_path_*                         rename, unlink, make, remove, stat
 *
 * Preparing (all functions of this page but rgm_directory_next) has no effect;
 * rgm_ask starts. Paths, memory and arrays an operation points to stay the
 * operation's until its answer is delivered. A handle (struct rgm_file) is
 * yours, is filled in by the open, and lives on one worker of one runtime, which
 * may be another than the asker's (stream.h).
 *
 * Positioned transfers say where, leave the cursor alone, and any number of
 * them may be out at once. The others move the descriptor's own cursor, which
 * every alias of it shares (lseek(2)); of a handle at most one of them is out.
 *
 * A transfer is one call unless it is one of the `_all` forms, and may be
 * short: `count` says how much. An end of file is told apart from an empty
 * read: `end` is set by a read of at least one byte that found none.
 *
 * A write that is answered is in the system's cache and no more; rgm_file_sync
 * makes it durable, if it is asked after that answer. An error of write-back is
 * told by the system once and remembered by the handle: every later sync of it
 * says so again, until rgm_file_acknowledge.
 *
 * Readers and writers that share a file and are closed one by one, and transfers
 * that are handed over now and collected later, are in file_lane.h.
 *
 * A cancel of a transfer that has reached the disk is too late: its answer is
 * what happened. Beside what each declaration lists, any answer may be what
 * stream.h lists for all operations.
 *
 * Thread: owner, unless a declaration says otherwise.
 */

#include <ringmail/job.h>
#include <ringmail/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_file {
    struct rgm_socket handle;
    int32_t sync_status; /* the first error of a sync; 0: none */
    uint8_t append;      /* every write goes to the end */
    uint8_t cursor_busy; /* a transfer or seek that uses the cursor is out */
    uint16_t reserved;
    int32_t descriptor; /* of the system, as long as it is open */
};

/* How a file is opened; as the O_ flags of open(2). */
enum rgm_file_flag {
    RGM_FILE_READ = 0x1,
    RGM_FILE_WRITE = 0x2,
    RGM_FILE_CREATE = 0x4,
    RGM_FILE_EXCLUSIVE = 0x8, /* with CREATE: it must not be there */
    RGM_FILE_TRUNCATE = 0x10,
    RGM_FILE_APPEND = 0x20,
    RGM_FILE_DIRECT = 0x40, /* past the cache; memory must be aligned */
    RGM_FILE_SYNC = 0x80,   /* every write is durable when answered */
    RGM_FILE_DIRECTORY = 0x100,
    RGM_FILE_NO_FOLLOW = 0x200 /* a symbolic link is an error */
};

struct rgm_file_open {
    RGM_OPERATION_HEAD;
    struct rgm_file *file;
    const char *path; /* NULL: import */
    uint32_t flags;   /* enum rgm_file_flag */
    uint32_t mode;    /* permissions of a file that is created */
    int descriptor;   /* of an import */
    struct rgm_file *within; /* NULL: anywhere */
    uint64_t how[3];  /* the provider's */
};

/*
 * Prepare: open a file on the worker `where`. The descriptor is close-on-exec.
 *
 * Owns:   `path` is the operation's until the answer.
 * Answer: 0 and *file open; -EINVAL for flags that say nothing or contradict
 *         each other; -EBUSY when *file is open or being opened; -ENOENT,
 *         -EEXIST, -EACCES, -EISDIR, -ELOOP, -EMFILE, ... as open(2);
 *         *file untouched on failure.
 */
RGM_API void rgm_file_open(struct rgm_file_open *open, struct rgm_address where,
                           struct rgm_file *file, const char *path,
                           uint32_t flags, uint32_t mode);

/*
 * Prepare: the same, of a path that leads from an open directory to something
 * in it, on the directory's worker. Nothing outside it is ever opened, whatever
 * the path or symbolic links on the way say (RESOLVE_BENEATH, openat2(2)).
 *
 * Answer: as above; -EXDEV when the path would lead outside, or is absolute;
 *         -EINVAL when *file is the directory; -EBADF when the directory is not
 *         open; -ENOTDIR when it is none.
 */
RGM_API void
rgm_file_open_within(struct rgm_file_open *open, struct rgm_file *directory,
                     struct rgm_file *file, const char *path, uint32_t flags,
                     uint32_t mode);

/*
 * Prepare: take over a descriptor that somebody else has opened: a regular
 * file, a block device or a directory.
 *
 * Owns:   the descriptor is the handle's from an answer of 0; otherwise it
 *         stays the caller's.
 * Answer: 0; -EINVAL when it is in append mode (its positioned writes would go
 *         elsewhere) or not such a file; -EBADF.
 */
RGM_API void
rgm_file_import(struct rgm_file_open *import, struct rgm_address where,
                struct rgm_file *file, int descriptor);

#define RGM_FILE_CURSOR UINT64_MAX /* as an offset: where the cursor is */

/* What reads and writes have in common. */
#define RGM_FILE_TRANSFER                                                      \
    RGM_OPERATION_HEAD;                                                        \
    struct rgm_file *file;                                                     \
    uint64_t offset_bytes; /* or RGM_FILE_CURSOR */                            \
    const struct rgm_vector *vectors;                                          \
    size_t vectors_count;                                                      \
    size_t count;             /* when home: bytes transferred */               \
    bool all;                 /* goes on after a short transfer */             \
    bool to_the_end;          /* of a write: see rgm_file_write */             \
    bool end;                 /* when home: a read met the end of the file */  \
    struct rgm_lease lease;   /* of the owned form: comes back with it */      \
    struct rgm_vector single; /* of the one-piece form */                      \
    struct rgm_vector window[RGM_WRITE_WINDOW] /* the provider's */

struct rgm_file_read {
    RGM_FILE_TRANSFER;
};

struct rgm_file_write {
    RGM_FILE_TRANSFER;
    struct rgm_view view; /* of the owned form: comes back with it */
};

/*
 * Prepare: read into memory, at an offset or at the cursor (which RGM_FILE_CURSOR
 * as an offset means, too). rgm_file_read_all_at goes on until the memory is full or
 * the file ends.
 *
 * Owns:   `memory` is the operation's until the answer.
 * Answer: 0 with count and end; -EINVAL when offset_bytes (or the end of the
 *         range) is not a signed 64-bit number; -EAGAIN when a transfer at the
 *         cursor is out already; -EBADF when the file is not open for reading;
 *         -EISDIR, -EIO, ... as read(2), with what was read before in count.
 */
RGM_API void rgm_file_read(struct rgm_file_read *read, struct rgm_file *file,
                           void *memory, size_t capacity_bytes);
RGM_API void
rgm_file_read_at(struct rgm_file_read *read, struct rgm_file *file,
                 void *memory, size_t capacity_bytes, uint64_t offset_bytes);
RGM_API void rgm_file_read_all_at(struct rgm_file_read *read,
                                  struct rgm_file *file, void *memory,
                                  size_t capacity_bytes, uint64_t offset_bytes);

/*
 * Prepare: the same into a lease, which moves into the record and is in
 * read->lease when it is home, whatever the answer. With RGM_FILE_CURSOR for an
 * offset at the cursor.
 *
 * Owns:   the record has the lease from this call on, *lease is empty; when the
 *         record is at home, drop read->lease, freeze it or move it elsewhere.
 */
RGM_API void
rgm_file_read_lease(struct rgm_file_read *read, struct rgm_file *file,
                    struct rgm_lease *lease, uint64_t offset_bytes);

/* Prepare: read into several pieces, in order, in one call of the system, of
 * which at most RGM_VECTORS_MAX (the pieces' memory is written to although the
 * type says const). With `all` set afterwards in as many as it takes. */
RGM_API void
rgm_file_read_vectors(struct rgm_file_read *read, struct rgm_file *file,
                      const struct rgm_vector *vectors, size_t vectors_count,
                      uint64_t offset_bytes);

/*
 * Prepare: write memory, at an offset or at the cursor; in append mode at the
 * end. rgm_file_write_all_at goes on until all is written.
 *
 * With `to_the_end` set afterwards a write, or a sync, is carried out once its
 * worker has begun it, also while it waits in line: no cancel, no deadline, no end
 * of its asker's and no stop of the worker's takes it back, and each of these waits
 * for it. (A stop by force does not.) It costs them time, so it is for what must
 * not be left half done.
 *
 * Owns:   data and vectors are the operation's until the answer.
 * Answer: 0 with count; -EINVAL as above, and for an offset in append mode;
 *         -ENODATA when the system would write nothing; -ENOSPC, -EDQUOT,
 *         -EFBIG, -EIO, ... as write(2), with what was written in count. No
 *         SIGPIPE, and no SIGXFSZ unless the process asks for it.
 */
RGM_API void rgm_file_write(struct rgm_file_write *write, struct rgm_file *file,
                            const void *data, size_t length_bytes);
RGM_API void
rgm_file_write_at(struct rgm_file_write *write, struct rgm_file *file,
                  const void *data, size_t length_bytes, uint64_t offset_bytes);
RGM_API void rgm_file_write_all_at(struct rgm_file_write *write,
                                   struct rgm_file *file, const void *data,
                                   size_t length_bytes, uint64_t offset_bytes);

/*
 * Prepare: the same from a lease, its first length_bytes; or from a view. They
 * move into the record, are in write->lease or write->view when it is home, and
 * are its owner's again then.
 *
 * Owns:   as rgm_file_read_lease.
 * Answer: -EINVAL also when the lease is shorter than length_bytes.
 */
RGM_API void
rgm_file_write_lease(struct rgm_file_write *write, struct rgm_file *file,
                     struct rgm_lease *lease, size_t length_bytes,
                     uint64_t offset_bytes);
RGM_API void
rgm_file_write_view(struct rgm_file_write *write, struct rgm_file *file,
                    struct rgm_view *view, uint64_t offset_bytes);

RGM_API void
rgm_file_write_vectors(struct rgm_file_write *write, struct rgm_file *file,
                       const struct rgm_vector *vectors, size_t vectors_count,
                       uint64_t offset_bytes);

struct rgm_file_sync {
    RGM_OPERATION_HEAD;
    struct rgm_file *file;
    bool data_only;
    bool to_the_end; /* see rgm_file_write */
};

/*
 * Prepare: make what was written durable; everything (fsync(2)), or the data
 * and what is needed to read it again (fdatasync). A directory that was opened
 * can be synced like a file.
 *
 * Answer: 0; -EIO, -ENOSPC, ...: from now on the same for every sync of this
 *         handle, without asking the system again: which of the earlier writes
 *         are lost cannot be known.
 */
RGM_API void rgm_file_sync(struct rgm_file_sync *sync, struct rgm_file *file);
RGM_API void
rgm_file_datasync(struct rgm_file_sync *sync, struct rgm_file *file);

/*
 * Take note of a remembered error: the next sync asks the system again. What was
 * written before the error may be lost all the same; write it again first.
 *
 * Returns: the error; 0: there was none.
 */
RGM_API int rgm_file_acknowledge(struct rgm_file *file);

/*
 * Write the name of an open file, as the system knows it now, for people: what
 * an error was about. Always ends the string.
 *
 * Returns: its length; -EBADF when the file is not open, -ENOSPC when the room
 *          is too small, or as readlink(2) of /proc/self/fd, proc(5).
 */
RGM_API int rgm_file_name(const struct rgm_file *file, char *ret_text,
                          size_t size_bytes);

enum rgm_file_kind {
    RGM_FILE_KIND_OTHER,
    RGM_FILE_KIND_REGULAR,
    RGM_FILE_KIND_DIRECTORY,
    RGM_FILE_KIND_LINK
};

struct rgm_file_stat {
    RGM_OPERATION_HEAD;
    struct rgm_file *file;
    const char *path;
    bool no_follow;
    /* When home: */
    uint8_t kind;  /* enum rgm_file_kind */
    uint32_t mode; /* permissions */
    uint64_t size_bytes;
    uint64_t stored_bytes; /* that the file system has given it */
    uint64_t links;
    uint64_t inode;
    uint64_t device;
    int64_t accessed_ns; /* since 1970, UTC */
    int64_t modified_ns;
    int64_t changed_ns;
};

/* Prepare: what the system knows of a file, by handle or by path.
 * Answer: 0; -ENOENT, -EACCES, ... as stat(2), and nothing is set. */
RGM_API void rgm_file_stat(struct rgm_file_stat *stat, struct rgm_file *file);
RGM_API void rgm_path_stat(struct rgm_file_stat *stat, struct rgm_address where,
                           const char *path, bool no_follow);

enum rgm_file_whence {
    RGM_FILE_FROM_START,
    RGM_FILE_FROM_CURSOR,
    RGM_FILE_FROM_END
};

struct rgm_file_seek {
    RGM_OPERATION_HEAD;
    struct rgm_file *file;
    int64_t offset_bytes;
    uint32_t whence;
    uint64_t position_bytes; /* when home: where the cursor is */
};

/* Prepare: move the cursor. Answer: 0; -EINVAL for a place before the start;
 * -EAGAIN when a transfer at the cursor is out. */
RGM_API void rgm_file_seek(struct rgm_file_seek *seek, struct rgm_file *file,
                           int64_t offset_bytes, enum rgm_file_whence whence);

struct rgm_file_truncate {
    RGM_OPERATION_HEAD;
    struct rgm_file *file;
    uint64_t size_bytes;
};

/* Prepare: make the file that long; what is new reads as zeros.
 * Answer: 0; -EINVAL, -EFBIG, ... as ftruncate(2). */
RGM_API void rgm_file_truncate(struct rgm_file_truncate *truncate,
                               struct rgm_file *file, uint64_t size_bytes);

/* What becomes of a range; as fallocate(2). */
enum rgm_file_allocation {
    RGM_FILE_ALLOCATE,           /* give it room; the file may grow */
    RGM_FILE_ALLOCATE_KEEP_SIZE, /* give it room, the size stays */
    RGM_FILE_PUNCH_HOLE,         /* take its room away; it reads as zeros */
    RGM_FILE_ZERO_RANGE,         /* it reads as zeros; the file may grow */
    RGM_FILE_COLLAPSE_RANGE,     /* remove it, what follows moves up */
    RGM_FILE_INSERT_RANGE        /* make room, what follows moves down */
};

struct rgm_file_allocate {
    RGM_OPERATION_HEAD;
    struct rgm_file *file;
    uint32_t allocation; /* enum rgm_file_allocation */
    uint64_t offset_bytes;
    uint64_t length_bytes;
};

/* Prepare. Answer: 0; -EOPNOTSUPP when the file system has no such thing;
 * -EINVAL, -ENOSPC, -ENODEV, ... as fallocate(2). */
RGM_API void
rgm_file_allocate(struct rgm_file_allocate *allocate, struct rgm_file *file,
                  enum rgm_file_allocation allocation, uint64_t offset_bytes,
                  uint64_t length_bytes);

/* What is going to happen to a range; as posix_fadvise(2). */
enum rgm_file_advice {
    RGM_FILE_ADVISE_NORMAL,
    RGM_FILE_ADVISE_SEQUENTIAL,
    RGM_FILE_ADVISE_RANDOM,
    RGM_FILE_ADVISE_WILL_NEED,
    RGM_FILE_ADVISE_DONT_NEED,
    RGM_FILE_ADVISE_ONCE
};

struct rgm_file_advise {
    RGM_OPERATION_HEAD;
    struct rgm_file *file;
    uint32_t advice; /* enum rgm_file_advice */
    uint64_t offset_bytes;
    uint64_t length_bytes; /* 0: to the end of the file */
};

/* Prepare: advice changes nothing but speed. It is clean-up: an actor that
 * stops may still ask it, and it waits behind no transfer.
 * Answer: 0; -EINVAL, -ESPIPE as posix_fadvise(2). */
RGM_API void rgm_file_advise(struct rgm_file_advise *advise,
                             struct rgm_file *file, enum rgm_file_advice advice,
                             uint64_t offset_bytes, uint64_t length_bytes);

struct rgm_file_job {
    RGM_JOB_HEAD;
    struct rgm_file *file;
    int descriptor; /* for the function, while it runs; not to be closed */
};

/*
 * Prepare: run a function on one of the runtime's threads, with the descriptor:
 * for what there is no operation for, as flock(2), ioctl(2), fsetxattr(2) or
 * copy_file_range(2). It is a job (job.h) like any other, its fault included;
 * until it is home the file is in use and not closed.
 *
 * Answer: as rgm_job_run; -EBADF when the file is not open.
 */
RGM_API void rgm_file_job(struct rgm_file_job *job, struct rgm_file *file,
                          rgm_job_function *run);

/* Prepare: close. As rgm_stream_close. A ring keeps a file that is used again and
 * again in a table of its own; if the kernel will not take it out of there, the
 * descriptor is closed, the answer is that error, and the file stays open until
 * the worker's end. */
RGM_API void rgm_file_close(struct rgm_close *close, struct rgm_file *file);

/* Close without an answer. As rgm_stream_drop. */
#define rgm_file_drop(self, file)                                              \
    rgm_socket_drop(&(self)->actor, &(file)->handle)

/* ---- paths ---- */

enum rgm_path_act {
    RGM_PATH_RENAME,           /* to's file, if any, is replaced */
    RGM_PATH_RENAME_EXCLUSIVE, /* -EEXIST when `to` is there */
    RGM_PATH_UNLINK,
    RGM_PATH_MAKE_DIRECTORY,
    RGM_PATH_REMOVE_DIRECTORY
};

struct rgm_path {
    RGM_OPERATION_HEAD;
    const char *from;
    const char *to; /* of a rename */
    uint32_t act;   /* enum rgm_path_act */
    uint32_t mode;  /* of a directory that is made */
};

/* Prepare: what has a name only. Answer: 0 or as rename(2), unlink(2),
 * mkdir(2), rmdir(2). */
RGM_API void rgm_path_rename(struct rgm_path *path, struct rgm_address where,
                             const char *from, const char *to, bool exclusive);
RGM_API void rgm_path_unlink(struct rgm_path *path, struct rgm_address where,
                             const char *name);
RGM_API void
rgm_path_make_directory(struct rgm_path *path, struct rgm_address where,
                        const char *name, uint32_t mode);
RGM_API void
rgm_path_remove_directory(struct rgm_path *path, struct rgm_address where,
                          const char *name);

/* ---- directories ---- */

#define RGM_DIRECTORY_ROOM_LEAST 512 /* bytes; one entry of any name fits */

struct rgm_directory_read {
    RGM_JOB_HEAD;
    struct rgm_file *directory;
    void *memory;
    size_t capacity_bytes;
    size_t count; /* when home: bytes of `memory` that are entries */
    bool end;     /* when home: there are no more */
    size_t next;  /* of rgm_directory_next */
};

/*
 * Prepare: read the next entries of a directory that was opened with
 * RGM_FILE_DIRECTORY into memory, aligned to 8 bytes. It moves the cursor;
 * rgm_file_seek to 0 begins anew. An entry that is made or removed meanwhile
 * may or may not be seen, as getdents64(2).
 *
 * Answer: 0 with count, or with end; -EINVAL for too little or unaligned room;
 *         -ENOTDIR; -EAGAIN when the cursor is in use.
 * Cost:   there is no ring operation for it: on the ring one of the runtime's
 *         threads makes the call (job.h).
 */
RGM_API void
rgm_directory_read(struct rgm_directory_read *read, struct rgm_file *directory,
                   void *memory, size_t capacity_bytes);

struct rgm_directory_entry {
    const char *name; /* in the memory of the read */
    uint64_t inode;
    uint8_t kind; /* enum rgm_file_kind; OTHER when the system does not say */
};

/* The next entry of a read that is home; "." and ".." are left out. Thread:
 * owner of the record. Returns: false: no more in this read. */
RGM_API bool rgm_directory_next(struct rgm_directory_read *read,
                                struct rgm_directory_entry *ret_entry);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_FILE_H */
