/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_FILE_H
#define CAPABILITIES_FILE_H

/*
 * file.h - what do all providers do alike with operations on files?
 *
 * Admission and its undoing (file.c), and the plain system call behind each
 * kind (file_calls.c): what the threads provider does for all of them, and a
 * ring for those that it has no entry for.
 */

#include <ringmail/file.h>

#include "capabilities/stream.h"

/* Any transfer, as both records begin. */
struct rgm_file_transfer {
    RGM_FILE_TRANSFER;
};

#define rgi_open_of(operation) ((struct rgm_file_open *)(void *)(operation))
#define rgi_transfer_of(operation)                                             \
    ((struct rgm_file_transfer *)(void *)(operation))
#define rgi_sync_of(operation) ((struct rgm_file_sync *)(void *)(operation))
#define rgi_stat_of(operation) ((struct rgm_file_stat *)(void *)(operation))
#define rgi_seek_of(operation) ((struct rgm_file_seek *)(void *)(operation))
#define rgi_truncate_of(operation)                                             \
    ((struct rgm_file_truncate *)(void *)(operation))
#define rgi_allocate_of(operation)                                             \
    ((struct rgm_file_allocate *)(void *)(operation))
#define rgi_advise_of(operation) ((struct rgm_file_advise *)(void *)(operation))
#define rgi_path_of(operation) ((struct rgm_path *)(void *)(operation))
#define rgi_directory_of(operation)                                            \
    ((struct rgm_directory_read *)(void *)(operation))

/*
 * Called by rgi_stream_admit for a kind of file once its handle is found open
 * and before it is counted: the cursor's one user, positioned writes in append
 * mode, the remembered error of a sync; clears the outputs of an earlier ask.
 * Returns: 0, or the refusal and nothing changed.
 */
RGM_MUST_USE int rgi_file_admit(struct rgm_operation *operation);

/* Called when it is completed: remembers a failed sync, tells a lane. */
void rgi_file_retire(struct rgm_operation *operation, struct rgm_turn *turn);

/* Called when the completion is taken up: gives the cursor back. */
void rgi_file_home(struct rgm_operation *operation);

/* Called when an open is completed with 0, with its handle. */
void
rgi_file_filled(struct rgm_operation *operation, struct rgm_socket *handle);

/* rgi_stream_fill of a file, which knows its descriptor as well. */
void rgi_file_fill(struct rgm_operation *operation, uint64_t resource,
                   int descriptor);

/* ---- plain calls: file_calls.c. Thread: any. ---- */

/* The O_ flags of an open. */
int rgi_file_flags(const struct rgm_file_open *open);

/* What openat2(2) is to do for an open within a directory, laid out in its
 * record; with more O_ flags. Returns: the size to tell it. */
size_t rgi_file_how(struct rgm_file_open *open, int more_flags);

/* Whether a descriptor may be imported: 0 or a negative errno. */
RGM_MUST_USE int rgi_file_check_import(int descriptor);

/* Prepares one piece at an offset or the cursor, in a record that only begins
 * like those of reads and writes; its type is the caller's to set. */
void
rgi_transfer_prepare(struct rgm_file_transfer *transfer,
                     enum rgm_operation_kind kind, struct rgm_file *file,
                     const void *memory, size_t length_bytes,
                     uint64_t offset_bytes);

/* Where and how much the next attempt of a transfer is. */
struct rgi_file_attempt {
    int64_t offset_bytes; /* -1: the cursor */
    struct rgi_pieces pieces;
};
struct rgi_file_attempt rgi_file_next(struct rgm_file_transfer *transfer,
                                      const struct rgi_write_place *place);

/*
 * Judge what an attempt brought: a count, or a negative errno.
 * Returns: 1: attempt the rest; otherwise the answer.
 */
int rgi_file_judge(struct rgm_operation *operation,
                   struct rgi_write_place *place, int64_t result);

/*
 * Make the call of any kind but open, on a descriptor (or none, for paths).
 * Returns: as the call: 0 or more, or a negative errno.
 */
int64_t rgi_file_call(struct rgm_operation *operation, int descriptor,
                      const struct rgi_write_place *place);

/* The call of a directory read as a job's function; returns what it gave. */
int64_t rgi_directory_run(struct rgm_job *job);

/* What the operation gets from a call that gave `result`: 0 or an errno; not
 * for transfers. */
int rgi_file_call_status(int64_t result);

struct statx;

/* What statx(2) is asked for, and the record filled from what it says. */
#define RGI_STATX_MASK 0x7ffU
int rgi_file_statx_flags(const struct rgm_file_stat *stat);
void rgi_file_stat_fill(struct rgm_file_stat *stat, const struct statx *from);

/* fallocate(2)'s mode. */
int rgi_file_allocate_mode(uint32_t allocation);

/* posix_fadvise(2)'s advice. */
int rgi_file_advice(uint32_t advice);

#endif /* CAPABILITIES_FILE_H */
