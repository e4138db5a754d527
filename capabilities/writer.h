/* SPDX-License-Identifier: MIT */
#ifndef CAPABILITIES_WRITER_H
#define CAPABILITIES_WRITER_H

/* writer.h - how are the requests to a writer prepared? */

#include <ringmail/writer.h>

#define rgi_submit_of(operation) ((struct rgm_submit *)(void *)(operation))
#define rgi_flush_of(operation) ((struct rgm_flush *)(void *)(operation))
#define rgi_writer_close_of(operation)                                         \
    ((struct rgm_writer_close *)(void *)(operation))

/* Makes a record the one that says when the kernel has seen another's first
 * entry; where: the worker that both are of. */
void rgi_receipt_prepare(struct rgm_receipt *receipt,
                         struct rgm_operation *of, struct rgm_address where);

#endif /* CAPABILITIES_WRITER_H */
