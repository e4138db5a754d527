/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_FILE_LANE_H
#define CAPABILITIES_FILE_LANE_H

/*
 * file_lane.h - what is a completion, and when does it let go of its file?
 *
 *     submit --> OUT --access ends--> over --> settled: collected or dropped
 *                                       '--> home: its hidden answer has come
 *
 * When the provider completes the transfer, two separate slots are looked at,
 * before the outcome is published: who waits for the lane's close, and who for
 * the outcome. Submission, sharing and memory are the worker's:
 * actors/file_lanes.c.
 *
 * Thread of everything: the worker's.
 */

#include <ringmail/file_lane.h>

#include "capabilities/file.h"

struct rgm_file_share {
    struct rgm_file file;
    uint32_t references; /* the user's, one per lane, one per completion */
};

struct rgm_completion {
    struct rgm_file_transfer transfer; /* its record; has the lease */
    struct rgm_file_share *share;
    struct rgm_file_lane *lane;    /* that it occupies; NULL: closed, settled */
    struct rgm_collect *collector; /* waits for the outcome */
    struct rgm_lane_close *closer; /* waits for the end of access */
    size_t before_bytes;           /* by transfers of it before this one */
    bool over;                     /* nothing touches file and memory */
    bool home;                     /* the record is ours again */
    bool settled;                  /* nobody will ask any more */
};

#define rgi_completion_of(operation)                                           \
    ((struct rgm_completion *)(void *)(operation))
#define rgi_collect_of(operation) ((struct rgm_collect *)(void *)(operation))
#define rgi_lane_close_of(operation)                                           \
    ((struct rgm_lane_close *)(void *)(operation))

extern const struct rgm_message_type rgi_type_lane_transfer;

static inline bool
rgi_is_lane_transfer(const struct rgm_operation *operation)
{
    return operation->request.message.type == &rgi_type_lane_transfer;
}

/* The first transfer of a completion, of memory that is zero but for what
 * rgm_take set. The lease is copied, not moved. */
void rgi_lane_prepare(struct rgm_completion *completion,
                      enum rgm_operation_kind kind,
                      const struct rgm_lease *lease, size_t length_bytes,
                      uint64_t offset_bytes);

/* Prepares what the last transfer has left. */
void rgi_lane_prepare_rest(struct rgm_completion *completion);

/* Whether a collect that wants all would go on. */
bool rgi_lane_has_rest(const struct rgm_completion *completion);

/* Called when the provider completes a lane's transfer, and before it is in the
 * list: ends the close that waits, and the collect if that is all. */
void
rgi_lane_access_ends(struct rgm_operation *operation, struct rgm_turn *turn);

/* Gives the outcome to the collector and ends it with `status`. */
void rgi_lane_settle(struct rgm_completion *completion, int status,
                     struct rgm_turn *turn);

/* The lane may be used again. */
void rgi_lane_free(struct rgm_completion *completion);

#endif /* CAPABILITIES_FILE_LANE_H */
