/* SPDX-License-Identifier: MIT */
#ifndef KV_OUTPUT_H
#define KV_OUTPUT_H

/*
 * output.h - the replies of a connection, until the kernel has them.
 *
 * Short pieces are copied one behind the other, long ones stay where they are
 * and are held by a view; all that has collected leaves as one vectored write.
 * What a write needs (its record, its vectors, the bytes) is a flight. An idle
 * connection has none.
 *
 *     filling: flight -> flight -> ...      what comes is added to the last
 *     flying:  flight -> flight -> ...      one write is out for all of them
 */

#include <ringmail/stream.h>

#include "samples/kv/cluster.h"

/* Views shorter than this are copied: a vector costs more than the copy. */
#define OUTPUT_COPY_MAX 4096

struct output {
    struct flight *filling_first;
    struct flight *filling_last;
    struct flight *flying;
    size_t filling_bytes;
    size_t flying_bytes;
    bool failed; /* no memory: something is missing */
    bool resp3;  /* what is added next is said in it */
};

/* Everything that is in it and not out. */
static inline bool
output_is_waiting(const struct output *output)
{
    return output->filling_first != NULL;
}

static inline bool
output_is_out(const struct output *output)
{
    return output->flying != NULL;
}

static inline size_t
output_bytes(const struct output *output)
{
    return output->filling_bytes + output->flying_bytes;
}

/* At least `size_bytes` bytes to write to, in one piece, or NULL. Then say how
 * many there are. size_bytes is at most OUTPUT_COPY_MAX. Thread: owner, as all
 * below. */
char *
output_room(struct output *output, struct kv_worker *worker, size_t size_bytes);
void output_wrote(struct output *output, size_t size_bytes);

void output_add(struct output *output, struct kv_worker *worker,
                const void *bytes, size_t length_bytes);

/* Owns: the view is the output's. */
void output_add_view(struct output *output, struct kv_worker *worker,
                     struct rgm_view view);

/*
 * Prepare a write of everything that waits.
 *
 * Returns: the operation to ask; NULL when there is no memory, and
 *          output->failed is set.
 */
struct rgm_write *
output_start(struct output *output, struct rgm_stream *stream);

/* The operation that is out, to cancel it. */
struct rgm_write *output_operation(const struct output *output);

/* The write is home: let go of what was written. */
void output_finish(struct output *output, struct kv_worker *worker);

/* The write is home and was cancelled: what of it is not written waits again. */
void output_recall(struct output *output);

/* Let go of what waits. */
void output_drop(struct output *output, struct kv_worker *worker);

/* Free the worker's spare flights. */
void output_close(struct kv_worker *worker);

#endif /* KV_OUTPUT_H */
