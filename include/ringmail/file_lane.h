/* SPDX-License-Identifier: MIT */
#ifndef RINGMAIL_FILE_LANE_H
#define RINGMAIL_FILE_LANE_H

/*
 * file_lane.h - readers and writers of one open file, and transfers that are
 * handed over now and collected later.
 *
 *     file --share--> share --open--> lane --submit--> completion
 *                       |               |                  |
 *                      drop        close, drop       collect, drop
 *
 * A share is an open file with a count. Lanes are made of it, readers and
 * writers, as many as you like; they overlap, and each is closed by itself. The
 * file is closed when the share, its lanes and what was submitted through them
 * are gone, in whichever order.
 *
 * A submission says at once whether it was accepted. If it was, the transfer
 * goes on by itself and there is a completion, which is to be collected or
 * dropped: it needs neither the lane, nor the scope it was submitted in, nor
 * the share. If it was not, the lease is where it was. A lane has one
 * completion at a time; until that is collected the next submission is refused.
 *
 * Lanes keep no position. Those without an offset move the file's own cursor,
 * as rgm_file_read does, and of a file at most one such transfer is out.
 *
 * For transfers asked and answered in one go use file.h, also on a share's file
 * (rgm_share_file).
 *
 * Thread: owner, the worker the file was opened on; not for guests. `self` is
 * any actor there.
 */

#include <ringmail/actor.h>
#include <ringmail/file.h>
#include <ringmail/identity.h>
#include <ringmail/scope.h>

#ifdef __cplusplus
extern "C" {
#endif

struct rgm_file_share; /* opaque; lives in actors/file_lanes.c */
struct rgm_completion; /* opaque: one transfer that was accepted */

/* ---- shares ---- */

/*
 * Share an open file. The handle moves into the share, *file is empty.
 *
 * Owns:    on 0 the caller has one reference to *ret_share.
 * Returns: 0
 *          -EBADF   the file is not open
 *          -EBUSY   operations on it are out
 *          -EINVAL  it lives on another worker or runtime, or the caller is a guest
 *          -ENOMEM  no memory; the file is as it was
 * Cost:    one allocation, the only one of this page once warm.
 */
#define rgm_file_share(self, file, ret_share)                                  \
    rgm_file_share_of(&(self)->actor, (file), (ret_share))
RGM_API RGM_MUST_USE int rgm_file_share_of(struct rgm_actor *self,
                                           struct rgm_file *file,
                                           struct rgm_file_share **ret_share);

/*
 * The file, for everything in file.h, while the caller has a reference. An
 * rgm_file_close of it is refused with -EBUSY while there are lanes, or
 * operations on it are out.
 */
RGM_API struct rgm_file *rgm_share_file(struct rgm_file_share *share);

/*
 * Let go of the share; the last to do so closes the file, unless it was closed.
 * May be called in `stopped`.
 *
 * Owns:    *share is NULL on 0.
 * Returns: 0; or, when nobody else has it, as rgm_file_drop and nothing changed:
 *          -EBUSY when operations that were asked of rgm_share_file are out.
 */
#define rgm_share_drop(self, share)                                            \
    rgm_file_share_drop(&(self)->actor, (share))
RGM_API int
rgm_file_share_drop(struct rgm_actor *self, struct rgm_file_share **share);

/* ---- lanes ---- */

enum rgm_lane_direction { RGM_LANE_READER = 1, RGM_LANE_WRITER };

/* Yours; stays where it is while it is open. Zero: not open. */
struct rgm_file_lane {
    struct rgm_file_share *share;
    struct rgm_completion *out; /* what was submitted and not collected */
    uint8_t direction;          /* enum rgm_lane_direction */
};

/*
 * Make a lane. It has a reference of its own: the share may be dropped.
 *
 * Returns: 0; -EINVAL for a direction that is none; -EBUSY when it is open;
 *          -EBADF when the share's file has been closed.
 */
RGM_API RGM_MUST_USE int rgm_lane_open(struct rgm_file_lane *lane,
                                       struct rgm_file_share *share,
                                       enum rgm_lane_direction direction);

struct rgm_lane_close {
    RGM_OPERATION_HEAD;
    struct rgm_file_lane *lane;
};

/*
 * Prepare: close a lane. From its ask on the lane is not open; the answer comes
 * when nothing touches the file through it any more. What was submitted is not
 * cancelled, and stays to be collected. It is clean-up: an actor that stops may
 * ask it, and it is not cancelled.
 *
 * Answer: 0; -EBADF when it is not open.
 */
RGM_API void rgm_lane_close(struct rgm_lane_close *close,
                            struct rgm_file_lane *lane);

/* The same without waiting. One that is not open: nothing happens. May be
 * called in `stopped`. */
#define rgm_lane_drop(self, lane) rgm_file_lane_drop(&(self)->actor, (lane))
RGM_API void
rgm_file_lane_drop(struct rgm_actor *self, struct rgm_file_lane *lane);

/* ---- submitting ---- */

/*
 * Submit one transfer into a lease, or of its first length_bytes: at the cursor
 * or at an offset. With a scope, cancelling that cancels the transfer; NULL: it
 * is in the actor's own. Like any operation it is cancelled when its actor
 * stops.
 *
 * Owns:    on 0 the completion has the lease, *lease is empty, and *completion
 *          is to be collected or dropped. Otherwise nothing has changed.
 * Returns: 0
 *          -EAGAIN     the lane's last completion is not collected, or a
 *                      transfer at the cursor is out; or the actor is moving
 *          -EINVAL     no lease, longer than it is, an offset that is none, an
 *                      offset in append mode, the lane of the other direction
 *          -EBADF      the lane, or its file, is not open
 *          -ECANCELED  the actor is stopping, or the scope is cancelled
 *          -ENOMEM     no memory for the record
 *          -ENOTSUP    the provider has no files
 * Cost:    no allocation once warm.
 */
#define rgm_lane_read(self, lane, lease, scope, ret_completion)                \
    rgm_lane_read_at(self, lane, lease, RGM_FILE_CURSOR, scope, ret_completion)
#define rgm_lane_read_at(self, lane, lease, offset_bytes, scope,               \
                         ret_completion)                                       \
    rgm_lane_submit_read(&(self)->actor, (lane), (lease), (offset_bytes),      \
                         (scope), (ret_completion))
#define rgm_lane_write(self, lane, lease, length_bytes, scope, ret_completion) \
    rgm_lane_write_at(self, lane, lease, length_bytes, RGM_FILE_CURSOR, scope, \
                      ret_completion)
#define rgm_lane_write_at(self, lane, lease, length_bytes, offset_bytes,       \
                          scope, ret_completion)                               \
    rgm_lane_submit_write(&(self)->actor, (lane), (lease), (length_bytes),     \
                          (offset_bytes), (scope), (ret_completion))

RGM_API RGM_MUST_USE int
rgm_lane_submit_read(struct rgm_actor *self, struct rgm_file_lane *lane,
                     struct rgm_lease *lease, uint64_t offset_bytes,
                     struct rgm_scope *scope,
                     struct rgm_completion **ret_completion);
RGM_API RGM_MUST_USE int
rgm_lane_submit_write(struct rgm_actor *self, struct rgm_file_lane *lane,
                      struct rgm_lease *lease, size_t length_bytes,
                      uint64_t offset_bytes, struct rgm_scope *scope,
                      struct rgm_completion **ret_completion);

/* ---- completions ---- */

struct rgm_collect {
    RGM_OPERATION_HEAD;
    struct rgm_completion *completion;
    bool all; /* set after preparing: finish what was short */
    /* When home: */
    bool end;     /* a read met the end of the file */
    size_t count; /* bytes transferred */
    struct rgm_lease lease;
};

/*
 * Prepare: collect a completion: wait for its transfer to end, and take it over.
 * With `all` what a short transfer has left is submitted as well, again and
 * again, while the collect is out; not before, and not after.
 *
 * A cancel of the collect, by whatever means, cancels the transfer, and the
 * answer says what happened. Only a collect that ends has collected anything:
 * one that could not begin, because its actor was stopping, has not.
 *
 * Owns:   with any answer but the four below, the lease is in the record, and
 *         the completion is gone.
 * Answer: as the transfer's, with count, end and lease; -EBADF also when `all`
 *         finds the file closed.
 *         -EINVAL for no completion, or one of another worker; -EBUSY when it
 *         is being collected; and, when it never began, -ECANCELED or -EPIPE
 *         with `completion` still set in the record (it is NULL otherwise).
 */
RGM_API void rgm_collect(struct rgm_collect *collect, struct rgm_address where,
                         struct rgm_completion *completion);

/*
 * Give a completion up: nobody wants to know, and the lease is released when
 * nothing touches its memory any more. On a ring the transfer is cancelled; a
 * provider with threads carries it out all the same. May be called in
 * `stopped`. NULL does nothing.
 *
 * Owns:    *completion is NULL on 0.
 * Returns: 0; -EBUSY: it is being collected.
 */
#define rgm_completion_drop(self, completion)                                  \
    rgm_lane_completion_drop(&(self)->actor, (completion))
RGM_API int rgm_lane_completion_drop(struct rgm_actor *self,
                                     struct rgm_completion **completion);

/*
 * Whether its transfer has ended. It is found so by a collect, too, in time; to
 * wait for it is not needed for the transfer to go on.
 */
RGM_API bool rgm_completion_has_ended(const struct rgm_completion *completion);

/*
 * The identity of its transfer (identity.h): who has it can cancel this one,
 * and never one that the lane is given later.
 *
 * Returns: 0; -ESRCH: the transfer has ended.
 */
#define rgm_completion_identify(self, completion, ret_identity)                \
    rgm_lane_completion_identify(&(self)->actor, (completion), (ret_identity))
RGM_API RGM_MUST_USE int
rgm_lane_completion_identify(struct rgm_actor *self,
                             struct rgm_completion *completion,
                             struct rgm_identity *ret_identity);

#ifdef __cplusplus
}
#endif

#endif /* RINGMAIL_FILE_LANE_H */
